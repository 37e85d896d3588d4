"""What the kernels compute, as maps of power series over ball arithmetic.

FLINT's series lack some functions, or lose the relative accuracy of the constant term near a zero of the function: there the
constant term is replaced by that of the function of numbers."""

from flint import arb, arb_series, ctx


def with_constant(s: arb_series, c: arb) -> arb_series:
    coefficients = s.coeffs()
    return arb_series([c, *coefficients[1:]], prec=s.prec)


def constant(s: arb_series) -> arb:
    coefficients = s.coeffs()
    return coefficients[0] if coefficients else arb(0)


def expm1(x):
    return with_constant(x.exp(), constant(x).expm1())


def log1p(x):
    return with_constant((1 + x).log(), constant(x).log1p())


def sigmoid(x):
    return 1 / (1 + (-x).exp())


def sinh(x):
    e = expm1(x)
    return (e + e / (e + 1)) / 2


def cosh(x):
    return (x.exp() + (-x).exp()) / 2


def tanh(x):
    e = expm1(2 * x)
    return e / (e + 2)


def asinh(x):
    """Of x > 0."""
    return log1p(x + x * x / (1 + (1 + x * x).sqrt()))


def acosh(x):
    u = x - 1
    return log1p(u + (u * (u + 2)).sqrt())


def atanh(x):
    return (log1p(x) - log1p(-x)) / 2


def acos(x):
    """Without the cancellation of pi/2 - asin x near 1."""
    u = (1 - x) / 2
    return 2 * u.sqrt().asin() if constant(x) > 0 else x.acos()


def ndtr(x):
    return (-x / arb(2).sqrt()).erfc() / 2


def erfcx(x):
    """From 16 on by the asymptotic series of each coefficient at c: (-1)^n/(sqrt(pi) c^(n+1)) times the sum over k of (-1)^k (n+2k)!/(n! k!
    (2c)^(2k)). It comes from 2/sqrt(pi) times the integral of exp(-s^2 - 2 c s) (-2s)^n/n! over s > 0, with the series of exp(-s^2) cut where each
    rest has the sign and a part of the size of the next term."""
    c = constant(x)
    if not c > 16:
        return (x * x).exp() * x.erfc()
    coefficients = []
    for n in range(x.prec):
        total, term, k = arb(0), arb(1), 0
        while not abs(term) < pow(arb(2), -ctx.prec - 10) and k < 200:
            total += term
            k += 1
            term = -term * ((n + 2 * k) * (n + 2 * k - 1)) / (4 * k * c * c)
        total += arb(0, abs(term).upper())
        coefficients.append((-1) ** n * total / (arb.pi().sqrt() * c ** (n + 1)))
    out = arb_series([coefficients[-1]], prec=x.prec)
    for a in reversed(coefficients[:-1]):
        out = out * (x - c) + a
    return out


def log_ndtr(x):
    c = constant(x)
    if c > 0:
        return log1p(-ndtr(-x))
    if not c < -20:
        return ndtr(x).log()
    return (erfcx(-x / arb(2).sqrt()) / 2).log() - x * x / 2


def cubic(x):
    """The argument of gelu_tanh: sqrt(8/pi) (x + 0.044715 x^3)."""
    return (8 / arb.pi()).sqrt() * (x + arb(44715) / 1000000 * x * x * x)


def cubic_slope(x):
    return (8 / arb.pi()).sqrt() * (1 + 3 * arb(44715) / 1000000 * x * x)


def softplus(x):
    return log1p(x.exp())


def swish_slope(x, t, slope):
    """The derivative of x sigmoid(t(x))."""
    s = sigmoid(t)
    return s * (1 + x * slope * sigmoid(-t))


def monotone(f, c: arb) -> arb:
    """An enclosure of f over the ball, by its ends."""
    return f(c) if c.rad() == 0 else f(c.lower()).union(f(c.upper()))


def inverse_of_erf(x, start, sign):
    """y(x) with constant term `start`, y' = sign sqrt(pi)/2 exp(y^2) x': Picard's iteration, a term at a time."""
    y, slope = arb_series([start], prec=x.prec), x.derivative() * (sign * arb.pi().sqrt() / 2)
    for _ in range(x.prec):
        y = with_constant(((y * y).exp() * slope).integral(), start)
    return y


def erfinv(x):
    return inverse_of_erf(x, monotone(arb.erfinv, constant(x)), 1)


def ndtri(p):
    """sqrt(2) erfinv(2 p - 1), near 0 by the complement."""
    u = 2 * p
    if constant(p) < arb(1) / 4:
        return -arb(2).sqrt() * inverse_of_erf(u, monotone(arb.erfcinv, constant(u)), -1)
    return arb(2).sqrt() * erfinv(u - 1)


def magnitude_of_gelu(x):
    g = x * ndtr(x)
    return g if constant(x) > 0 else -g


def atan2(y, x):
    """One of the two is 1 or -1, or x is 0; 0 for y counts as positive."""
    if not isinstance(x, int):
        return y * (arb.pi() / 2 - x.atan())
    half_turn = arb.pi() if constant(y) >= 0 else -arb.pi()
    if x == 0:
        return 0 * y + half_turn / 2
    return y.atan() if x > 0 else half_turn - y.atan()


def log_gamma_terms(c: arb, count: int) -> list[arb]:
    """Of lgamma around c > 0. Over a ball by its ends: lgamma is convex, all its derivatives are monotone."""
    if c.rad() == 0:
        return arb_series([c, 1], prec=count).lgamma().coeffs()
    first, last = (arb_series([end, 1], prec=count).lgamma().coeffs() for end in (c.lower(), c.upper()))
    terms = [a.union(b) for a, b in zip(first, last, strict=True)]
    if c.overlaps(arb("1.4616 +/- 0.0001")):
        terms[0] = terms[0].union(arb("-0.12149"))
    return terms


def log_gamma(x, derivatives: int):
    """lgamma of x > 0, or one of its derivatives, of a number and one term."""
    c, *rest = x.coeffs()
    terms = arb_series(log_gamma_terms(c, x.prec + derivatives), prec=x.prec + derivatives)
    for _ in range(derivatives):
        terms = terms.derivative()
    scale = rest[0] if rest else arb(0)
    return arb_series([t * scale**k for k, t in enumerate(terms.coeffs()[: x.prec])], prec=x.prec)


def lgamma(x):
    """Of x > -1; near 0 and below it is that of 1 + x less log |x|."""
    c = constant(x)
    return log_gamma(x, 0) if c > 0.25 else log_gamma(1 + x, 0) - (x if c > 0 else -x).log()


def digamma(x):
    return log_gamma(x, 1) if constant(x) > 0.25 else log_gamma(1 + x, 1) - 1 / x


# By kernel: eval and dd alike. Where the kernel takes |x| and the loop gives the sign back, positive x are the domain.
DEFINITIONS = {
    "exp": lambda x: x.exp(),
    "exp2": lambda x: (x * arb(2).log()).exp(),
    "exp10": lambda x: (x * arb(10).log()).exp(),
    "expm1": expm1,
    "exp2m1": lambda x: expm1(x * arb(2).log()),
    "exp10m1": lambda x: expm1(x * arb(10).log()),
    "log": lambda x: x.log(),
    "log2": lambda x: x.log() / arb(2).log(),
    "log10": lambda x: x.log() / arb(10).log(),
    "log1p": log1p,
    "log2p1": lambda x: log1p(x) / arb(2).log(),
    "log10p1": lambda x: log1p(x) / arb(10).log(),
    "sin": lambda x: x.sin(),
    "cos": lambda x: x.cos(),
    "tan": lambda x: x.sin() / x.cos(),
    "sinpi": lambda x: (arb.pi() * x).sin(),
    "cospi": lambda x: (arb.pi() * x).cos(),
    "tanpi": lambda x: (arb.pi() * x).sin() / (arb.pi() * x).cos(),
    "sinh": sinh,
    "cosh": cosh,
    "tanh": tanh,
    "asinh": asinh,
    "acosh": acosh,
    "atanh": atanh,
    "asin": lambda x: x.asin(),
    "acos": acos,
    "atan": lambda x: x.atan(),
    "asinpi": lambda x: x.asin() / arb.pi(),
    "acospi": lambda x: acos(x) / arb.pi(),
    "atanpi": lambda x: x.atan() / arb.pi(),
    "erf": lambda x: x.erf(),
    "erfc": lambda x: x.erfc(),
    "erfcx": erfcx,
    "ndtr": ndtr,
    "log_ndtr": log_ndtr,
    "cbrt": lambda x: (x.log() / 3).exp(),
    "rsqrt": lambda x: x.rsqrt(),
    "sigmoid": sigmoid,
    "silu": lambda x: x * sigmoid(x),
    "gelu_tanh": lambda x: x * sigmoid(cubic(x)),
    "softplus": softplus,
    "log_sigmoid": lambda x: -softplus(-x),
    "erfinv": erfinv,
    "ndtri": ndtri,
    "gelu": magnitude_of_gelu,
    "lgamma": lgamma,
    "digamma": digamma,
    "hypot": lambda x, y: (x * x + y * y).sqrt(),
    "atan2": atan2,
    "pow": lambda x, y: (y * x.log()).exp(),
    "logaddexp": lambda x, y: x + log1p((y - x).exp()),
    # The factor g is 1 here.
    "xlogy": lambda x: x.log(),
    "xlog1py": log1p,
    "tanh_backward": lambda x: 4 * sigmoid(2 * x) * sigmoid(-2 * x),
    "sigmoid_backward": lambda x: sigmoid(x) * sigmoid(-x),
    "softplus_backward": sigmoid,
    "log_sigmoid_backward": lambda x: sigmoid(-x),
    "erf_backward": lambda x: 2 / arb.pi().sqrt() * (-x * x).exp(),
    "gelu_backward": lambda x: ndtr(x) + x * (-x * x / 2).exp() / (2 * arb.pi()).sqrt(),
    "silu_backward": lambda x: swish_slope(x, x, 1),
    "gelu_tanh_backward": lambda x: swish_slope(x, cubic(x), cubic_slope(x)),
}
