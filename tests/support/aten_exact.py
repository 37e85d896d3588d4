"""The exact value of each operator of the table of reproducible() that rounds once, as its line defines it, independent of the library.

A definition takes a call and returns, for each tensor that the operator returns, what some of its elements (`SAMPLE`) are before they are
rounded: rational numbers; real ones, by MPFR with PRECISION bits; or, of functions of definitions.py, the rounded number. What is linear in
an argument is the sum of products of its numbers and of the numbers that PyTorch returns, in binary64, for unit vectors: these are exact
where they are 0 or 1, the numbers of another argument, or 1/n. Where PyTorch's own result in binary64 is infinite or NaN, the result must
be so too. Signs of zeros are not looked at here.
"""

import functools
import itertools
import math
import random
from collections import Counter

import definitions
import gmpy2
import numpy as np
import oracle
import torch
from exact_oracle import number, round_rational
from gmpy2 import mpfr, mpq
from opinfo_cases import tensors, to

from repmath import _core
from repmath.torch import _mode
from repmath.torch._aten import layers
from repmath.torch._aten.table import FUNCTIONS, OPERATORS

SAMPLE = 12
PRECISION = 1400
NAMES = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64"}
NUMPY = {"f16": np.dtype(np.float16), "f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}
CONTEXTS = {name: oracle.context(name) for name in NAMES.values()}
DEFINITIONS = {}


def recognised(value):
    """A real number as a rational one: PRECISION bits, or a shorter number beside which it is, since then it is that one."""
    if value == 0 or not gmpy2.is_finite(value):
        return mpq(0) if value == 0 else value
    exact = mpq(value)
    with gmpy2.context(precision=PRECISION // 2, emax=2**40, emin=-(2**40)):
        near = mpq(mpfr(value) * 1)
    return near if abs(near - exact) < abs(exact) / mpq(2) ** (PRECISION - 200) else exact


def rn(value, dtype):
    """The value rounded to a format, as a Python float."""
    if isinstance(value, float):
        return value
    if not isinstance(value, type(mpq())):
        value = recognised(value)
        if not isinstance(value, type(mpq())):
            return float(value)
    name = NAMES[dtype]
    if abs(value) < mpq(2) ** -1200:
        return 0.0
    code = round_rational(value, name)
    if name == "bf16":
        return float(np.array(code << 16, np.uint32).view(np.float32))
    return float(number(code, NUMPY[name]))


class Call:
    """A call of an operator, with what its arguments were before, and what it returned."""

    def __init__(self, overload, args, keywords, results):
        self.overload, self.args, self.keywords = overload, args, keywords
        self.values = {a.name: (a.default_value if a.has_default_value() else None) for a in overload._schema.arguments}
        self.values |= dict(zip((a.name for a in overload._schema.arguments), args, strict=False)) | keywords
        self.outs = [t for t in results if isinstance(t, torch.Tensor)]
        self.dtype = self.outs[0].dtype
        self.wide = None

    def __getitem__(self, name):
        return self.values[name]

    def run(self, changes=None):
        """PyTorch's own operator in binary64, with other arguments of some names."""
        changes = changes or {}
        names = [a.name for a in self.overload._schema.arguments]
        if self.wide is None:
            self.wide = to(self.args, torch.float64), to(self.keywords, torch.float64)
        if self.overload._schema.is_mutable:
            self.wide, wide, changes = None, self.wide, kept(changes)
        else:
            wide = self.wide
        args = [changes.get(n, a) for n, a in zip(names, wide[0], strict=False)]
        return tensors(self.overload(*args, **{n: changes.get(n, v) for n, v in wide[1].items()}))

    def places(self, out):
        chosen = random.Random(out.numel()).sample(range(out.numel()), min(SAMPLE, out.numel()))
        return sorted(chosen)

    def column(self, name, shape, places):
        """The elements of an argument beside those of the result; a number is beside all."""
        value = self.values[name]
        if not isinstance(value, torch.Tensor):
            return [value] * len(places)
        return value.expand(shape).reshape(-1)[torch.tensor(places, dtype=torch.long)].tolist()

    def flat(self, name):
        return [exact(v) for v in self.values[name].reshape(-1).tolist()]


def exact(v):
    """A number of an argument, exactly; None where it is not finite."""
    if isinstance(v, (bool, int)):
        return mpq(int(v))
    return mpq(v) if math.isfinite(v) else None


def define(*names):
    """Enter a definition under the names that the table has."""

    def enter(function):
        for name in names:
            assert name not in DEFINITIONS, name
            DEFINITIONS[name] = function
        return function

    return enter


def each(names, function, *arguments):
    """Elementwise: the function of exact numbers of the arguments, which are broadcast."""

    @define(*names.split())
    def of(call):
        out = call.outs[0]
        at = call.places(out)
        rows = zip(*(call.column(a, out.shape, at) for a in arguments), strict=True)
        made = {}
        for i, row in zip(at, rows, strict=True):
            numbers = [v if v is None or isinstance(v, str) else exact(v) for v in row]
            finite = all(n is not None or v is None for n, v in zip(numbers, row, strict=True))
            made[i] = function(*numbers) if finite else None
        return [made]

    return of


# --- elementwise functions, by MPFR


def by_mpfr(function, *row, dtype):
    """A function of definitions.py, rounded."""
    f = definitions.DEFINITIONS.get(function) or definitions.MPFR.get(function) or getattr(gmpy2, function)
    if function not in definitions.DEFINITIONS:
        with gmpy2.context(CONTEXTS[NAMES[dtype]]):
            return float(f(*(mpfr(v, 53) for v in row)))
    return definitions.rounded(f, [row], CONTEXTS[NAMES[dtype]])[0]


def function_of(name, *arguments, called=None):
    @define(name)
    def of(call):
        out = call.outs[0]
        at = call.places(out)
        rows = zip(*(call.column(a, out.shape, at) for a in arguments), strict=True)
        which = called(call) if called else name
        return [
            {
                i: by_mpfr(which, *map(float, row), dtype=out.dtype) if all(map(math.isfinite, row)) else None
                for i, row in zip(at, rows, strict=True)
            }
        ]


for _name in (
    "acos acosh asin asinh atan atanh cos cosh erf erfc erfinv exp exp2 expm1 log log10 log1p log2 ndtri rsqrt sigmoid silu sin sinh sqrt tan "
    "tanh lgamma digamma erfcx log_ndtr entr"
).split():
    function_of(_name, "self")
function_of("hypot", "self", "other")
function_of("atan2", "self", "other")
function_of("logaddexp", "self", "other")
function_of("xlogy", "self", "other")
function_of("xlog1py", "self", "other")


function_of("silu_backward", "grad_output", "self")
function_of("log_sigmoid_backward", "grad_output", "self")
function_of("log_sigmoid_forward", "self", called=lambda call: "log_sigmoid")


def _gelu(suffix):
    return lambda call: ("gelu_tanh" if call["approximate"] == "tanh" else "gelu") + suffix


function_of("gelu", "self", called=_gelu(""))
function_of("gelu_backward", "grad_output", "self", called=_gelu("_backward"))


def power(x, y):
    """Of whole exponents the rational number, else MPFR's at high precision."""
    if y.denominator == 1 and abs(y) < 64:
        return None if x == 0 and y < 0 else x ** int(y)
    if x < 0 or (x == 0 and y < 0):
        return None
    with gmpy2.context(precision=PRECISION, emax=2**40, emin=-(2**40)):
        return mpfr(x) ** mpfr(y)


@define("power")
def _power(call):
    out = call.outs[0]
    at = call.places(out)
    names = ("self", "exponent")
    rows = zip(*(call.column(a, out.shape, at) for a in names), strict=True)
    pairs = [(exact(x), exact(y)) for x, y in rows]
    return [{i: None if None in pair else power(*pair) for i, pair in zip(at, pairs, strict=True)}]


def derivative(n, x):
    """The n-th derivative of digamma, n above 0: a difference of MPFR's, so near that the rest is below 2**-180 of the value, or of those beside it."""
    pole = mpq(min(gmpy2.rint(mpfr(x)), 0))
    if x == pole:
        return None
    with gmpy2.context(precision=100 * (n + 4), emax=2**40, emin=-(2**40)):
        h = mpfr(abs(x - pole) if x < 1 else mpq(1)) * mpfr(2) ** -100
        middle = mpfr(x)
        terms = ((-1) ** k * math.comb(n, k) * gmpy2.digamma(middle + (mpfr(n) / 2 - k) * h) for k in range(n + 1))
        return mpq(gmpy2.fsum(list(terms)) / h**n)


@define("polygamma")
def _polygamma(call):
    out, n = call.outs[0], call["n"]
    at = call.places(out)
    rows = zip(at, call.column("self", out.shape, at), strict=True)
    if n == 0:
        return [{i: by_mpfr("digamma", float(v), dtype=out.dtype) for i, v in rows}]
    return [{i: derivative(n, exact(v)) if math.isfinite(v) else None for i, v in rows}]


# --- functions that MPFR has not, by mpmath at 300 bits


def by_mpmath(function):
    """An exact number for a function of mpmath's numbers, None where it is not defined or infinite."""

    def of(*row):
        import mpmath

        with mpmath.workprec(300):
            value = function(mpmath, *(mpmath.mpf(int(v.numerator)) / int(v.denominator) for v in row))
            if value is None or not mpmath.isfinite(value):
                return None
            sign, m, e, _ = value._mpf_
            return (-1) ** sign * mpq(int(m)) * mpq(2) ** e

    return of


def hurwitz(m, s, q):
    """Above 1; of q below 0 by terms up to 0, s a whole number."""
    if s <= 1 or (q <= 0 and (q == m.floor(q) or s != m.floor(s))):
        return None
    first = [(q + k) ** (-s if s != m.floor(s) else -int(s)) for k in range(max(0, -int(m.floor(q))))]
    return m.fsum([*first, m.zeta(s, q + len(first))])


function_of("y0", "self")
function_of("y1", "self")
function_of("airy", "x", called=lambda call: "ai")
each("k0", by_mpmath(lambda m, x: m.besselk(0, x) if x > 0 else None), "self")
each("k1", by_mpmath(lambda m, x: m.besselk(1, x) if x > 0 else None), "self")
each("k0e", by_mpmath(lambda m, x: m.besselk(0, x) * m.exp(x) if x > 0 else None), "x")
each("k1e", by_mpmath(lambda m, x: m.besselk(1, x) * m.exp(x) if x > 0 else None), "x")
each("spherical_j0", by_mpmath(lambda m, x: m.sin(x) / x if x else m.mpf(1)), "x")
each(
    "igamma", by_mpmath(lambda m, a, x: m.gammainc(a, 0, x, regularized=True) if a > 0 and x >= 0 else None), "self", "other"
)
each(
    "igammac",
    by_mpmath(lambda m, a, x: m.gammainc(a, x, m.inf, regularized=True) if a > 0 and x >= 0 else None),
    "self",
    "other",
)
each("zeta", by_mpmath(hurwitz), "self", "other")


# --- Bessel functions: of I the mean of exp(x cos(t)) cos(order t) over a circle, whose points are enough for 2**-400


@functools.cache
def circle(points):
    with gmpy2.context(precision=500):
        return [gmpy2.cos(2 * gmpy2.const_pi() * k / points) for k in range(points)]


def modified(order, x, scaled):
    points = 128 + 8 * math.ceil(abs(x))
    with gmpy2.context(precision=500):
        terms = [gmpy2.exp(mpfr(x) * c - (abs(mpfr(x)) if scaled else 0)) * (c if order else 1) for c in circle(points)]
        return mpq(gmpy2.fsum(terms) / points)


for _order in (0, 1):
    each(f"i{_order}", lambda x, n=_order: mpq(modified(n, x, False)), "self")
    each(f"i{_order}e", lambda x, n=_order: mpq(modified(n, x, True)), "self")
    function_of(f"j{_order}", "self")


# --- orthogonal polynomials, by their coefficients


def first_kind(n, x):
    return sum((math.comb(n, 2 * k) * x ** (n - 2 * k) * (x * x - 1) ** k for k in range(n // 2 + 1)), mpq(0))


def second_kind(n, x):
    return sum((math.comb(n + 1, 2 * k + 1) * x ** (n - 2 * k) * (x * x - 1) ** k for k in range(n // 2 + 1)), mpq(0))


def hermite(n, x, scale):
    """Of the weight exp(-x**2/scale)."""
    parts = (
        mpq((-1) ** k * math.factorial(n), math.factorial(k) * math.factorial(n - 2 * k))
        * (2 * x / scale) ** (n - 2 * k)
        / mpq(scale) ** k
        for k in range(n // 2 + 1)
    )
    return sum(parts, mpq(0))


POLYNOMIALS = {
    "chebyshev_polynomial_t": first_kind,
    "chebyshev_polynomial_u": second_kind,
    "chebyshev_polynomial_v": lambda n, x: second_kind(n, x) - second_kind(n - 1, x),
    "chebyshev_polynomial_w": lambda n, x: second_kind(n, x) + second_kind(n - 1, x),
    "hermite_polynomial_h": lambda n, x: hermite(n, x, 1),
    "hermite_polynomial_he": lambda n, x: hermite(n, x, 2),
    "laguerre_polynomial_l": lambda n, x: sum(
        (mpq((-1) ** k * math.comb(n, k), math.factorial(k)) * x**k for k in range(n + 1)), mpq(0)
    ),
    "legendre_polynomial_p": lambda n, x: (
        sum((math.comb(n, k) ** 2 * (x - 1) ** (n - k) * (x + 1) ** k for k in range(n + 1)), mpq(0)) / mpq(2) ** n
    ),
}
POLYNOMIALS |= {
    f"shifted_{name}": lambda n, x, f=f: f(n, 2 * x - 1) for name, f in POLYNOMIALS.items() if name.startswith("chebyshev")
}


def polynomial(name, x, n):
    """At a rational number, of the whole part of n."""
    n = math.trunc(n)
    return mpq(n == 0) if n <= 0 else POLYNOMIALS[name](n, x)


for _name in POLYNOMIALS:
    each(_name, lambda x, n, name=_name: polynomial(name, x, n), "x", "n")


# --- elementwise operators of rational numbers


def held(x, low=None, high=None):
    """Between two ends; the upper one last."""
    x = x if low is None else max(x, low)
    return x if high is None else min(x, high)


def quotient(x, y):
    return None if y == 0 else x / y


def modulo(x, y):
    """Less the multiple of y below it."""
    return None if y == 0 else x - y * gmpy2.floor(x / y)


def toward_zero(q):
    return mpq(int(q.numerator) // int(q.denominator)) if q >= 0 else -mpq(int(-q.numerator) // int(q.denominator))


def divided(x, y, mode):
    if y == 0:
        return None
    return {None: lambda q: q, "floor": lambda q: mpq(math.floor(q)), "trunc": toward_zero}[mode](x / y)


def floor(q):
    return mpq(int(q.numerator) // int(q.denominator))


each("add", lambda x, y, a: x + a * y, "self", "other", "alpha")
each("subtract", lambda x, y, a: x - a * y, "self", "other", "alpha")
each("rsub", lambda x, y, a: y - a * x, "self", "other", "alpha")
each("multiply", lambda x, y: x * y, "self", "other")
each("divide", quotient, "self", "other")
each("divide_by_mode", divided, "self", "other", "rounding_mode")
each("floor_divide", lambda x, y: divided(x, y, "floor"), "self", "other")
each("remainder", lambda x, y: None if y == 0 else x - y * floor(x / y), "self", "other")
each("fmod", lambda x, y: None if y == 0 else x - y * toward_zero(x / y), "self", "other")
each("frac", lambda x: x - toward_zero(x), "self")
each("reciprocal", lambda x: quotient(mpq(1), x), "self")
each("magnitude", abs, "self")
each("direction", lambda x: mpq((x > 0) - (x < 0)), "self")
each("degrees", lambda x: x * mpq(57.29577951308232), "self")
each("radians", lambda x: x * mpq(0.017453292519943295), "self")
each("lerp", lambda x, y, w: (1 - w) * x + w * y, "self", "end", "weight")
each("addcmul", lambda x, y, z, v: x + v * y * z, "self", "tensor1", "tensor2", "value")
each("addcdiv", lambda x, y, z, v: None if z == 0 else x + v * y / z, "self", "tensor1", "tensor2", "value")
each("clamp", held, "self", "min", "max")
each("clamp_min", held, "self", "min")
each("clamp_max", lambda x, high: min(x, high), "self", "max")
each("hardtanh", held, "self", "min_val", "max_val")
each("maximum fmax", max, "self", "other")
each("minimum fmin", min, "self", "other")
each("relu", lambda x: max(x, mpq(0)), "self")
each("threshold_backward", lambda g, x, t: g if x > t else mpq(0), "grad_output", "self", "threshold")
each("hardtanh_backward", lambda g, x, a, b: g if a < x < b else mpq(0), "grad_output", "self", "min_val", "max_val")
each("leaky_relu", lambda x, a: x if x > 0 else a * x, "self", "negative_slope")
each("leaky_relu_backward", lambda g, x, a: g if x > 0 else a * g, "grad_output", "self", "negative_slope")
each("prelu", lambda x, w: x if x > 0 else w * x, "self", "weight")
each("hardsigmoid", lambda x: held((x + 3) / 6, mpq(0), mpq(1)), "self")
each("hardsigmoid_backward", lambda g, x: g / 6 if -3 < x < 3 else mpq(0), "grad_output", "self")
each("hardswish", lambda x: x * held(x + 3, mpq(0), mpq(6)) / 6, "self")
each(
    "hardswish_backward",
    lambda g, x: mpq(0) if x < -3 else g if x > 3 else g * (x / 3 + mpq(1, 2)),
    "grad_output",
    "self",
)
each("softshrink", lambda x, a: x - a if x > a else x + a if x < -a else mpq(0), "self", "lambd")
each("softshrink_backward", lambda g, x, a: mpq(0) if -a <= x <= a else g, "grad_output", "self", "lambd")
each("tanh_backward", lambda g, y: g * (1 - y * y), "grad_output", "output")
each("sigmoid_backward", lambda g, y: g * y * (1 - y), "grad_output", "output")
each("native_dropout_backward", lambda g, kept, a: g * a if kept else mpq(0), "grad_output", "mask", "scale")
each("to_copy", lambda x: x, "self")
each("copy", lambda x: x, "src")
each("angle", lambda x: mpq(0) if x >= 0 else mpq(math.pi), "self")


def _rrelu(g, x, noise, a, b, trained):
    if trained and b - a > mpq(1e-6):
        return g * noise
    return g if x > 0 else g * mpq((float(a) + float(b)) / 2)


each("rrelu_with_noise_backward", _rrelu, "grad_output", "self", "noise", "lower", "upper", "training")


@define("prelu_backward")
def _prelu_backward(call):
    out = call.outs[0]
    at = call.places(out)
    rows = [
        tuple(map(exact, r))
        for r in zip(*(call.column(a, out.shape, at) for a in ("grad_output", "self", "weight")), strict=True)
    ]
    of_x = {i: None if None in r else r[0] if r[1] > 0 else r[2] * r[0] for i, r in zip(at, rows, strict=True)}
    of_w = {i: None if None in r else mpq(0) if r[1] > 0 else r[1] * r[0] for i, r in zip(at, rows, strict=True)}
    return [of_x, of_w]


@define("arange", "arange_step", "linspace")
def _range(call):
    out = call.outs[0]
    start, end, n = (exact(float(call.values.get(k) or 0)) for k in ("start", "end", "steps"))
    if "steps" in call.values:
        step = (end - start) / (n - 1) if n > 1 else mpq(0)
    else:
        step = exact(call.values.get("step", 1) if call.values.get("step") is not None else 1)
    return [{i: start + i * step for i in call.places(out)}]


@define("histc")
def _histc(call):
    """How many numbers are in each part of the range; the last part has its upper end."""
    numbers = [n for n in call.flat("self") if n is not None]
    low, high, bins = mpq(call["min"]), mpq(call["max"]), call["bins"]
    if low == high and numbers:
        low, high = min(numbers), max(numbers)
    if low == high:
        low, high = low - 1, high + 1
    found = Counter(min(math.floor((n - low) * bins / (high - low)), bins - 1) for n in numbers if low <= n <= high)
    return [{i: mpq(found[i]) for i in call.places(call.outs[0])}]


# --- what is linear


def share(entry):
    """An entry of the matrix: the number itself, or 1/n, of which it is the rounded one."""
    whole = mpq(entry)
    near = mpq(*_simple(entry))
    return near if near != whole and float(near) == entry else whole


def _simple(entry):
    n = round(1 / entry) if entry and abs(1 / entry) < 1e6 else 0
    return (1, n) if n else (0, 1)


def matrix(call, slot, zeros, made):
    """Of what is linear in a slot: (input, result, element, entry) of the matrix for the elements that `made` has, but for those that are 0."""
    n = zeros[slot].numel()
    if n > 40 and not call.overload._schema.is_mutable:
        leaf = zeros[slot].clone().requires_grad_()
        results = call.run({**zeros, slot: leaf})
        if all(r.requires_grad for r in results):
            for k, (m, r) in enumerate(zip(made, results, strict=True)):
                for i in m:
                    (row,) = torch.autograd.grad(r.reshape(-1)[i], leaf, retain_graph=True)
                    row = row.reshape(-1)
                    yield from ((j, k, i, float(row[j])) for j in row.nonzero().reshape(-1).tolist())
            return
    for j in range(n):
        unit = zeros[slot].clone()
        unit.view(-1)[j] = 1
        for k, column in enumerate(call.run({**zeros, slot: unit})):
            entries = column.reshape(-1)
            yield from ((j, k, i, float(entries[i])) for i in made[k] if entries[i])


def linear(names, *slots):
    """The sum over the slots of what is linear in each: see above."""

    @define(*names.split())
    def of(call):
        given = [s for s in slots if isinstance(call.values.get(s), torch.Tensor)]
        zeros = {s: torch.zeros_like(call[s], dtype=torch.float64) for s in given}
        made = [dict.fromkeys(call.places(o), mpq(0)) for o in call.outs]
        for slot in given:
            numbers = call.flat(slot)
            if names == "nansum":
                numbers = [mpq(0) if v is None else v for v in numbers]
            for j, k, i, entry in matrix(call, slot, zeros, made):
                made[k][i] = None if numbers[j] is None or made[k][i] is None else made[k][i] + numbers[j] * share(entry)
        return made

    return of


linear("nansum", "self")
linear("sum mean cumsum trace", "self")
linear("avg_pool2d avg_pool3d adaptive_avg_pool2d adaptive_avg_pool3d col2im linalg_cross", "self")
linear("max_pool2d_backward max_pool3d_backward avg_pool2d_backward avg_pool3d_backward", "grad_output")
linear(
    "adaptive_avg_pool2d_backward adaptive_avg_pool3d_backward embedding_dense_backward convolution_backward", "grad_output"
)
linear(" ".join(f"{kind}_pad{d}d_backward" for kind in ("reflection", "replication") for d in (1, 2, 3)), "grad_output")
linear(
    " ".join(f"{kind}{d}d_backward" for kind in ("upsample_nearest", "_upsample_nearest_exact") for d in (1, 2, 3)),
    "grad_output",
)
linear("fractional_max_pool2d_backward fractional_max_pool3d_backward", "grad_output")
linear("unfold_backward", "grad_in")
linear("scatter_add", "self", "src")
linear("index_add index_copy put", "self", "source")
linear("index_put", "self", "values")
linear("convolution", "input", "bias")
linear("trilinear", "i2")
linear("embedding_bag_weights_backward", "grad")


def chosen(names):
    """Numbers that are chosen among the arguments: PyTorch's in binary64 are these."""

    @define(*names.split())
    def of(call):
        return [
            {i: exact(float(w.reshape(-1)[i])) for i in call.places(o)} if o.is_floating_point() else None
            for o, w in zip(call.outs, call.run(), strict=True)
        ]


chosen(
    "fractional_max_pool2d fractional_max_pool3d max_pool2d max_pool3d adaptive_max_pool2d adaptive_max_pool3d amax amin aminmax"
)


# --- products


def rows_of(t):
    return [[exact(v) for v in r] for r in t.double().tolist()]


def dot(a, b):
    return None if None in a or None in b else sum((x * y for x, y in zip(a, b, strict=True)), mpq(0))


def product(names, matrices):
    """``beta c + alpha`` times the sum over the middle axis, of stacks of matrices that `matrices` makes of the call: c, a, b."""

    @define(*names.split())
    def of(call):
        out = call.outs[0]
        c, a, b = matrices(call)
        batch, m, n = max(a.shape[0], 1), a.shape[-2], b.shape[-1]
        alpha, beta = (exact(call.values.get(k, 1)) for k in ("alpha", "beta"))
        made = {}
        for i in call.places(out):
            z, rest = divmod(i, m * n)
            total = dot(
                [exact(v) for v in a[z % batch, rest // n].tolist()], [exact(v) for v in b[z % batch, :, rest % n].tolist()]
            )
            if names == "addbmm":
                total = sum(
                    dot([exact(v) for v in a[z, rest // n].tolist()], [exact(v) for v in b[z, :, rest % n].tolist()])
                    for z in range(a.shape[0])
                )
            old = exact(c.expand(out.shape).reshape(-1)[i].item()) if c is not None and beta else mpq(0)
            made[i] = None if total is None or old is None else alpha * total + beta * old
        return [made]


product("mm", lambda c: (None, c["self"][None], c["mat2"][None]))
product("bmm", lambda c: (None, c["self"], c["mat2"]))
product("mv", lambda c: (None, c["self"][None], c["vec"][None, :, None]))
product("dot", lambda c: (None, c["self"][None, None], (c.values.get("tensor", c.values.get("other")))[None, :, None]))
product("addmm", lambda c: (c["self"], c["mat1"][None], c["mat2"][None]))
product("addmv", lambda c: (c["self"], c["mat"][None], c["vec"][None, :, None]))
product("addr", lambda c: (c["self"], c["vec1"][None, :, None], c["vec2"][None, None]))
product("baddbmm", lambda c: (c["self"], c["batch1"], c["batch2"]))
product("addbmm", lambda c: (c["self"], c["batch1"], c["batch2"]))


# --- comparing

# Calls that PyTorch's own cannot make: it reads the logarithms of sums, which attention does not return here.
WITHOUT_PLAIN = {"_scaled_dot_product_flash_attention_for_cpu_backward"}


def names_of(overload):
    return overload.overloadpacket.__name__


def check(definition, overload, args, keywords, made):
    """Compare a call's results with the definition; how many elements were compared."""
    results = tensors(made)
    stored = keywords.pop("stored eps", None)
    call = Call(overload, args, keywords, results)
    call.values["stored eps"] = stored
    expected = definition(call)
    if expected is None:
        return 0
    changes = {}
    if call.values.get("buffer") is not None:  # what log_sigmoid keeps, of which there is nothing here
        changes["buffer"] = call["self"].double().abs().neg().exp()
    plain = itertools.repeat(None) if names_of(overload) in WITHOUT_PLAIN else call.run(changes)
    compared = 0
    for out, wanted, wide in zip(results, expected, plain, strict=False):
        if wanted is None or not out.is_floating_point():
            continue
        ours, wide = out.reshape(-1), None if wide is None else wide.reshape(-1)
        for i, value in wanted.items():
            a, w = float(ours[i]), 0.0 if wide is None else float(wide[i])
            compared += 1
            if math.isnan(w) or math.isinf(w) or value is None:
                want = w if not math.isfinite(w) else rn(mpq(w), out.dtype)
            else:
                want = rn(value, out.dtype)
            assert a == want or (math.isnan(a) and math.isnan(want)), (
                f"{overload}: element {i} is {a!r}, {want!r} is the rounded value; PyTorch has {w!r} in binary64"
            )
    return compared


def kept(value):
    """What it is before an operator writes into it."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, dict):
        return {k: kept(v) for k, v in value.items()}
    return type(value)(map(kept, value)) if isinstance(value, (list, tuple)) else value


CONTROLS = 2  # for each name


def beside(t):
    """The next number of the format, for each that is finite."""
    if not t.is_floating_point():
        return t
    made = t.clone()
    if t.dtype.itemsize == 8:
        return torch.nextafter(made, torch.full_like(made, torch.inf))
    bits = made.view(torch.int16 if t.dtype.itemsize == 2 else torch.int32)
    return torch.where(made.isfinite(), (bits + 1).view(t.dtype), made)


class Calls:
    """Calls of operators of the table that round, made inside of the context; `check` compares them with their definitions.

    Attributes
    ----------
    counts : Counter
        How many elements were compared, by the name that the table has.
    missing : Counter
        Calls that have no definition.
    found : Counter
        In how many calls it was found that each number had been replaced by the one beside it, of the first few.
    """

    def __init__(self):
        self.pending, self.counts, self.missing, self.found = [], Counter(), Counter(), Counter()
        self.table = {o: self._wrapped(o, f) for o, f in FUNCTIONS.items()}

    def _wrapped(self, overload, function):
        line = OPERATORS[overload]
        if function is None or line.way not in ("rounds", "composes"):
            return function

        def recorded(function):
            def call(*args, **keywords):
                before = kept(args), kept(keywords)
                if line.function in (
                    "layer_norm_backward",
                    "group_norm_backward",
                ):  # ATen's take no eps: the table keeps it beside their rstd
                    before[1]["stored eps"] = layers._eps(args[4 if line.function.startswith("layer") else 3])
                prepared = self.prepared.get(overload)  # as the mode does, the table's function takes what this does not know
                made = NotImplemented if prepared is None else prepared(*args, **keywords)
                if made is NotImplemented:
                    made = function(*args, **keywords)
                self.pending.append((line.function, overload, *before, kept(made)))
                return made

            return call

        call = recorded(function)
        vars(call).update(vars(function))
        if hasattr(function, "of_floats"):
            call.of_floats = recorded(function.of_floats)
        return call

    def __enter__(self):
        _mode.FUNCTIONS = self.table
        self.functions = _core.prepare_functions(self.table)
        self.prepared = {o: _core.prepare_call(o, None) for o, f in self.table.items() if f is not FUNCTIONS[o]}
        return self

    def __exit__(self, *exception):
        _mode.FUNCTIONS = FUNCTIONS
        _core.prepare_functions(self.functions)
        for overload, prepared in self.prepared.items():
            _core.prepare_call(overload, prepared)

    def check(self):
        pending, self.pending = self.pending, []
        for name, overload, args, keywords, made in pending:
            if not any(t.is_floating_point() and t.numel() for t in tensors(made)):
                continue
            if name not in DEFINITIONS:
                self.missing[name] += 1
                continue
            compared = check(DEFINITIONS[name], overload, args, dict(keywords), made)
            self.counts[name] += compared
            if compared and self.found[name] < CONTROLS:
                self.control(name, overload, args, dict(keywords), made)

    def control(self, name, overload, args, keywords, made):
        """The number beside each number is found to be wrong."""
        try:
            check(DEFINITIONS[name], overload, args, keywords, [beside(t) for t in tensors(made)])
        except AssertionError:
            self.found[name] += 1
