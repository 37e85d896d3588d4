# Functions of R's numeric arrays over the C library. Call them as repmath::exp(x): their names are those of base R.

double_of <- function(x) {
  if (!is.numeric(x) && !is.logical(x)) stop("an argument must be numeric, not ", typeof(x))
  storage.mode(x) <- "double"
  x
}

one <- function(name) {
  force(name)
  function(x) .Call(name, double_of(x), PACKAGE = "repmath")
}

# Arrays of equal length, or a single number beside an array.
two <- function(name) {
  force(name)
  function(x, y) .Call(name, double_of(x), double_of(y), PACKAGE = "repmath")
}

for (name in c(
  "acos", "acosh", "acospi", "asin", "asinh", "asinpi", "atan", "atanh", "atanpi", "cbrt", "cos", "cosh", "cospi", "digamma", "entr",
  "erf", "erfc", "erfcx", "erfinv", "exp", "exp10", "exp10m1", "exp2", "exp2m1", "expm1", "gelu", "gelu_tanh", "lgamma", "log",
  "log10", "log10p1", "log1p", "log2", "log2p1", "log_ndtr", "log_sigmoid", "ndtr", "ndtri", "rsqrt", "sigmoid", "silu", "sin",
  "sinh", "sinpi", "softplus", "sqrt", "tan", "tanh", "tanpi", "trigamma"
)) assign(name, one(name))
for (name in c(
  "add", "atan2", "betaln", "divide", "hypot", "logaddexp", "multiply", "pow", "subtract", "xlog1py", "xlogy"
)) assign(name, two(name))
rm(name)

# The exact sum of all elements, their exact mean, and the root of their exact sum of squares, rounded once.
sum <- one("sum")
mean <- one("mean")
norm <- one("norm")

# The exact sum of products of vectors of equal length, rounded once.
dot <- two("dot")

# The product of matrices, each element rounded once.
matmul <- two("matmul")
