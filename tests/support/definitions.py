"""What MPFR has under another name, and what it does not have: functions composed of MPFR's at growing precision until the
rounding is certain, family by family.

A definition is a function of (args, raised): args are exact MPFR numbers, and raised(flag, value) returns a value at once,
noting an exception. It answers special arguments and those with an exact or nearly exact result itself, by `exact`, `near` or
`raised`; otherwise it returns an MPFR number computed at the precision of the current context with a relative error below
2^-(precision - LOST)."""

import array
import functools
import itertools
import operator
import statistics
from collections.abc import Callable

import gmpy2
from gmpy2 import mpfr

LOST = 60  # bits that a composition may lose
FIRST, LAST = 200, 8000
INVALID, DIVBYZERO, OVERFLOW = 1, 2, 4
NAN, INF, ZERO = mpfr("nan"), mpfr("inf"), mpfr(0)
NORMAL = statistics.NormalDist()

# What gmpy2 calls otherwise.
MPFR = {
    "subtract": gmpy2.sub,
    "multiply": gmpy2.mul,
    "divide": gmpy2.div,
    "rsqrt": lambda x: gmpy2.div(1, x) if x == 0 else gmpy2.rec_sqrt(x),  # of -0, MPFR has +inf, IEEE 754 -inf
    "pow": operator.pow,
    "lgamma": lambda x: gmpy2.lgamma(x)[0],
}


class Exact(Exception):
    """The result is this MPFR number, rounded."""

    def __init__(self, value, flag=0):
        self.value, self.flag = value, flag


def exact(value, flag: int = 0):
    raise Exact(value, flag)


@functools.lru_cache(maxsize=16)
def beside(value, above: bool):
    with gmpy2.context(wide(), precision=int(value.precision) + 4000):
        hair = abs(value) * mpfr(2) ** -3900
        return value + hair * (1 if above == (value > 0) else -1)


def near(value, above: bool):
    """The result is a hair above or below this number in magnitude: far less than any format's least unit at it."""
    raise Exact(beside(value, above))


def wide(precision: int = FIRST) -> gmpy2.context:
    return gmpy2.context(precision=precision, emax=2**40, emin=-(2**40))


def is_nan(*args) -> bool:
    return any(gmpy2.is_nan(a) for a in args)


def to_format(value, target: gmpy2.context) -> tuple[float, int]:
    """An exact MPFR number rounded once, and the overflow flag."""
    with gmpy2.context(target) as ctx:
        ctx.clear_flags()
        result = gmpy2.mul(value, 1)
        return float(result), OVERFLOW * bool(ctx.overflow)


def evaluate(f: Callable, args: tuple[float, ...], target: gmpy2.context) -> tuple[float, int]:
    """The rounded result and the exceptions."""
    precision = FIRST
    while True:
        with wide(precision):
            x = [mpfr(a, 53) for a in args]
            try:
                value = f(*x)
            except Exact as e:
                if e.flag or not gmpy2.is_finite(e.value):
                    return float(e.value), e.flag
                return to_format(e.value, target)
            if is_nan(value):
                raise AssertionError(f"a definition gave NaN at {args}")
            spread = abs(value) * mpfr(2) ** (LOST - precision)
            low, high = to_format(value - spread, target), to_format(value + spread, target)
        if low == high:
            return low
        if precision > LAST:
            raise AssertionError(f"undecided at {args}: a definition must answer exact results itself")
        precision *= 2


def value(function: str, *args):
    """The function at exact MPFR numbers, with the precision of the current context but for LOST bits."""
    f = DEFINITIONS.get(function) or MPFR.get(function) or getattr(gmpy2, function)
    return f(*args)


_first: dict[tuple[Callable, bytes], list] = {}


def first_values(f: Callable, rows: list[tuple[float, ...]]) -> list:
    """f at FIRST bits for each row of arguments, or the Exact that it raises. Those of a few sets of rows are kept: the same set comes with
    each rounding mode, and for the exceptions."""
    key = f, array.array("d", itertools.chain.from_iterable(rows)).tobytes()
    if key not in _first:
        if len(_first) > 3:
            _first.clear()
        found: list = []
        with wide():
            for row in rows:
                try:
                    found.append(f(*[mpfr(a, 53) for a in row]))
                except Exact as e:
                    found.append(Exact(e.value, e.flag))  # without the frames that the one raised refers to
        _first[key] = found
    return _first[key]


def rounded(f: Callable, rows: list[tuple[float, ...]], target: gmpy2.context) -> list[float]:
    """The rounded results for many rows of arguments: as `evaluate`, with one context for all."""
    out, context = [], gmpy2.context(target)
    with wide():
        down, up = 1 - mpfr(2) ** (LOST - FIRST), 1 + mpfr(2) ** (LOST - FIRST)
        for row, value in zip(rows, first_values(f, rows), strict=True):
            if isinstance(value, Exact):
                special = value.flag or not gmpy2.is_finite(value.value)
                out.append(float(value.value if special else context.mul(value.value, 1)))
                continue
            low = context.mul(value, down)
            decided = gmpy2.is_finite(value) and low == context.mul(value, up)
            out.append(float(low) if decided else evaluate(f, row, target)[0])
    return out


def exceptions(f: Callable, rows: list[tuple[float, ...]], target: gmpy2.context) -> list[int]:
    """The exceptions of many rows of arguments, none of which is a NaN."""
    values = first_values(f, rows)
    with wide():
        down, up = 1 - mpfr(2) ** (LOST - FIRST), 1 + mpfr(2) ** (LOST - FIRST)
        ends = [None if isinstance(v, Exact) else (v * down, v * up) for v in values]
    out = []
    with gmpy2.context(target) as context:

        def overflow(value):
            context.clear_flags()
            return gmpy2.mul(value, 1), OVERFLOW * bool(context.overflow)

        for row, value, pair in zip(rows, values, ends, strict=True):
            if pair is None:
                special = value.flag or not gmpy2.is_finite(value.value)
                out.append(value.flag if special else overflow(value.value)[1])
                continue
            low, high = map(overflow, pair)
            out.append(low[1] if low == high and not gmpy2.is_nan(value) else evaluate(f, row, target)[1])
    return out


# --- Exponentials and logarithms ---


def power_less_one(base, log_of_base, low, high):
    """b^x - 1; of whole numbers it is rational, and a boundary of rounding only if x is between low and high, or b = 2."""

    def f(x):
        if is_nan(x) or x == 0 or gmpy2.is_infinite(x):
            exact(mpfr(-1) if x < 0 and gmpy2.is_infinite(x) else x)
        if x < -150:
            near(mpfr(-1), False)
        if gmpy2.is_integer(x) and low <= x <= high:
            exact(mpfr(base) ** int(x) - 1)
        if gmpy2.is_integer(x) and base == 2:
            near(mpfr(2) ** int(min(x, mpfr(2) ** 20)), False)
        return gmpy2.expm1(min(x, mpfr(100000)) * log_of_base())

    return f


def log_of_ten():
    return gmpy2.log(mpfr(10))


def log_of_one_more(log_of_base, is_power):
    """log(1 + x) to a base; is_power(x) is k where 1 + x is its k-th power, or a pair of k and that the result is a hair above."""

    def f(x):
        if is_nan(x) or x == 0 or x == INF:
            exact(x)
        if x <= -1:
            exact(*((-INF, DIVBYZERO) if x == -1 else (NAN, INVALID)))
        k = is_power(x)
        if isinstance(k, tuple):
            near(mpfr(k[0]), True)
        if k is not None:
            exact(mpfr(k))
        return gmpy2.log1p(x) / log_of_base()

    return f


def power_of_two_less_one(x):
    y = 1 + x if 2**-60 < abs(x) < 2**54 else x
    k = gmpy2.get_exp(y) - 1
    if y > 0 and y == mpfr(2) ** k and abs(x) > 2**-60:
        return k if x < 2**53 else (k, True) if k >= 100 else None
    return None


def power_of_ten_less_one(x):
    return next((k for k in range(1, 16) if x == 10**k - 1), None) if 9 <= x < 10**15 else None


# --- Products with a logarithm ---


def factor_times_log(pole, log):
    """x log(y), log being defined above the pole; 0 for x = 0."""

    def f(x, y):
        if is_nan(x, y):
            exact(NAN)
        if x == 0:
            exact(ZERO)
        d = y - (1 + pole)  # has the sign of the logarithm
        if y < pole or (gmpy2.is_infinite(x) and d == 0):
            exact(NAN, INVALID)
        if gmpy2.is_infinite(x) or gmpy2.is_infinite(y):
            exact(INF if (x < 0) == (d < 0) else -INF)
        if y == pole:
            exact(-INF if x > 0 else INF, DIVBYZERO)
        if d == 0:
            exact(x * 0 if pole == 0 else gmpy2.copy_sign(ZERO, x) * y)
        return x * log(y)

    return f


def entr(x):
    """-x log(x)."""
    if x == 0:
        exact(ZERO)
    if x < 0 or gmpy2.is_infinite(x):
        exact(-INF)
    if x == 1:
        exact(-ZERO)
    return -x * gmpy2.log(x)


# --- The second derivative of lgamma ---


@functools.cache
def bernoulli(j: int):
    """B_2j, by the recurrence that binomial coefficients give."""
    n = 2 * j
    before = sum((gmpy2.bincoef(n + 1, 2 * i) * bernoulli(i) for i in range(1, j)), gmpy2.mpq(1) - gmpy2.mpq(n + 1, 2))
    return -before / (n + 1)


@functools.cache
def bernoulli_at(j: int, precision: int):
    with gmpy2.context(wide(), precision=precision):
        return mpfr(bernoulli(j))


def trigamma(x):
    """The sum of (x + k)**-2, by Euler's and Maclaurin's formula from some k on; of negative numbers by reflection."""
    if x == 0:
        exact(INF, DIVBYZERO)
    if gmpy2.is_infinite(x):
        exact(ZERO) if x > 0 else exact(NAN, INVALID)
    whole = gmpy2.rint(x)
    if x < 0 and x == whole:
        exact(INF, DIVBYZERO)
    power = abs(gmpy2.frexp(x)[1]) == 0.5
    if power and (abs(x) < 2**-65 or x > 2**130):
        near(1 / x if x > 1 else 1 / (x * x), True)  # powers of two
    if x < -0.5:
        sine = gmpy2.sin(gmpy2.const_pi() * (x - whole))
        return (gmpy2.const_pi() / sine) ** 2 - trigamma(1 - x)
    precision, total, a = gmpy2.get_context().precision, mpfr(0), x
    while a < precision // 6:
        total += 1 / (a * a)
        a += 1
    v = 1 / a
    square = v * v
    term, series, j = v, v + square / 2, 0
    least = mpfr(2) ** -precision * v
    while abs(term) > least:
        j += 1
        v *= square
        term = v * bernoulli_at(j, precision)
        series += term
    return total + series


# --- The logarithm of the beta function ---


@functools.cache
def zeta_over(k: int, precision: int):
    with gmpy2.context(wide(), precision=precision):
        return gmpy2.zeta(mpfr(k)) / k


def log_gamma(x):
    """lgamma x for x > 0, up to 2^-precision: beside 0, where MPFR is slow, by Taylor's series of lgamma(1 + x)."""
    if x > 2**-20:
        return gmpy2.lgamma(x)[0]
    precision, total, term, k = gmpy2.get_context().precision, -gmpy2.log(x) - gmpy2.const_euler() * x, x, 2
    while x and gmpy2.frexp(term)[0] > -precision:
        term *= -x
        total -= term * zeta_over(k, precision)
        k += 1
    return total


def betaln(x, y):
    """The sum of lgamma x, lgamma y and -lgamma(x + y), with as many more bits as cancel. Where b > a is so large that its terms of Stirling's series are below the
    last bit, the difference of the latter two is a - (b - 1/2) log1p(a/b) - a log(a + b)."""
    if is_nan(x, y):
        exact(NAN)
    a, b = min(x, y), max(x, y)
    if a < 0 or (a == 0 and gmpy2.is_infinite(b)):
        exact(NAN, INVALID)
    if a == 0 or gmpy2.is_infinite(b):
        exact(-INF, 0) if a != 0 else exact(INF, DIVBYZERO)
    if a == b == 1:
        exact(ZERO)
    precision, more = gmpy2.get_context().precision, 30
    far = b > mpfr(2) ** (precision // 2 + 40)
    while True:
        with gmpy2.context(wide(), precision=precision + more):
            a, b = mpfr(a), mpfr(b)
            parts = [log_gamma(a)]
            if far:
                parts += [a, -(b - mpfr(0.5)) * gmpy2.log1p(a / b), -a * gmpy2.log(a + b)]
            else:
                parts += [log_gamma(b), -log_gamma(a + b)]
            total, size = sum(parts), max(mpfr(1), *map(abs, parts))
        lost = gmpy2.frexp(size)[0] - gmpy2.frexp(total)[0] if total else more
        if lost < more - 10:
            return total
        more = lost + 40


# --- Trigonometric functions of half-turns ---


def of_half_turns(at_zero, of_part):
    """of_part(quarter, r) with |x| = quarter/2 + r, |r| <= 1/4, exactly; quarter modulo 4, at x of which r is 0 by at_zero(quarter, x)."""

    def f(x):
        if is_nan(x):
            exact(x)
        if gmpy2.is_infinite(x):
            exact(NAN, INVALID)
        a = abs(x) if x == 0 else gmpy2.fmod(abs(x), 2)
        quarter = int(gmpy2.rint(2 * a))
        r = a - mpfr(quarter) / 2
        if r == 0:
            at_zero(quarter % 4, x)
        return of_part(quarter % 4, r, gmpy2.is_signed(x))

    return f


def signed(value, negative: bool):
    return -value if negative else value


def exact_sinpi(quarter, x):
    size = mpfr(quarter % 2)
    exact(signed(size, gmpy2.is_signed(x) != (quarter == 3)))


def sinpi_part(quarter, r, negative):
    t = gmpy2.const_pi() * r
    if quarter == 0 and abs(t) < 2**-600:
        value = t
    else:
        value = gmpy2.cos(t) if quarter % 2 else gmpy2.sin(t)
    return signed(value, negative != (quarter > 1))


def exact_cospi(quarter, x):
    exact(mpfr((1, 0, -1, 0)[quarter]))


def cospi_part(quarter, r, negative):
    if quarter == 0 and abs(r) < 2**-100:
        near(mpfr(1), False)
    t = gmpy2.const_pi() * r
    return signed(gmpy2.sin(t) if quarter % 2 else gmpy2.cos(t), quarter in (1, 2))


def exact_tanpi(quarter, x):
    negative = gmpy2.is_signed(x) != (quarter > 1)
    exact(signed(INF if quarter % 2 else ZERO, negative), DIVBYZERO * (quarter % 2))


def tanpi_part(quarter, r, negative):
    if abs(r) == 0.25:
        exact(signed(mpfr(1), negative ^ (r < 0) ^ (quarter % 2 == 1)))
    t = gmpy2.tan(gmpy2.const_pi() * r)
    return signed(-1 / t if quarter % 2 else t, negative)


# --- Inverse trigonometric functions in half-turns ---


def over_pi(f, limit, at_one):
    """f(x)/pi for |x| < limit; at_one: for whole x and infinities that it knows."""

    def g(x):
        if is_nan(x):
            exact(x)
        if x == 0 and f is not gmpy2.acos:
            exact(x)
        if float(x) in at_one:
            exact(mpfr(at_one[float(x)]))
        if abs(x) > limit:
            exact(NAN, INVALID)
        if f is gmpy2.acos and abs(x) < 2**-100:
            near(mpfr(0.5), x < 0)
        if f is gmpy2.atan and abs(x) > 2**100:
            near(signed(mpfr(0.5), x < 0), False)
        return f(x) / gmpy2.const_pi()

    return g


# --- Activations ---


def logistic(t):
    """1/(1 + exp(-t)), finite t; a hair from 1/2 and 1 as (that, is it above in magnitude?)."""
    if abs(t) < 2**-100:
        return mpfr(0.5), t > 0
    if t > 3000:
        return mpfr(1), False
    return 1 / (1 + gmpy2.exp(-max(t, mpfr(-100000))))


def cubic(x):
    """The argument of gelu_tanh and its derivative, as functions of x."""
    c, e = gmpy2.sqrt(8 / gmpy2.const_pi()), mpfr(44715) / 1000000
    return c * x * (1 + e * x * x), c * (1 + 3 * e * x * x)


def times(g, f):
    """g f, f as logistic gives it."""
    if isinstance(f, tuple):
        near(g * f[0], f[1])
    return g * f


def sigmoid(x):
    if is_nan(x):
        exact(NAN)
    if gmpy2.is_infinite(x) or x == 0:
        exact(mpfr(0.5) if x == 0 else mpfr(x > 0))
    return times(mpfr(1), logistic(x))


def swish(argument):
    """x sigmoid(argument(x)); the limit at -inf is 0 from below."""

    def f(x):
        if is_nan(x) or x == 0:
            exact(x)
        if gmpy2.is_infinite(x):
            exact(x if x > 0 else mpfr("-0"))
        return times(x, logistic(argument(x)))

    return f


# --- Activations by the logarithm ---


def log_of_sum(big, small):
    """log(exp(big) + exp(small)), big >= small and finite."""
    d = big - small
    if big != 0 and d > 60 - gmpy2.get_exp(big):  # exp(-d) < 2^(-1.44 d)
        near(big, big > 0)
    if big >= 0:
        return big + gmpy2.log1p(gmpy2.exp(-min(d, mpfr(100000))))
    with gmpy2.context(gmpy2.get_context(), precision=gmpy2.get_context().precision + 400):  # the sum may cancel
        return big + gmpy2.log1p(gmpy2.exp(small - big))


def softplus(x):
    if is_nan(x) or gmpy2.is_infinite(x):
        exact(x if is_nan(x) or x > 0 else ZERO)
    return log_of_sum(max(x, ZERO), min(x, ZERO))


def log_sigmoid(x):
    try:
        return -softplus(-x)
    except Exact as e:
        with gmpy2.context(wide(), precision=int(e.value.precision)):
            exact(-e.value)


def logaddexp(x, y):
    if is_nan(x, y):
        exact(NAN)
    big, small = max(x, y), min(x, y)
    if gmpy2.is_infinite(big) or gmpy2.is_infinite(small):
        exact(big if big != 0 else ZERO)
    return log_of_sum(big, small)


# --- Activations by the error function ---


def gelu(x):
    """x/2 erfc(-x/sqrt 2); the limit at -inf is 0 from below."""
    if is_nan(x) or x == 0:
        exact(x)
    if gmpy2.is_infinite(x):
        exact(x if x > 0 else mpfr("-0"))
    if abs(x) < 2**-100:
        near(x / 2, x > 0)
    if x > 60:
        near(x, False)
    if x < -1000:  # so small that it does not matter
        exact(-(mpfr(2) ** -100000))
    return x / 2 * twice_phi(x, gmpy2.get_context().precision)


# --- The normal distribution ---


@functools.lru_cache(maxsize=1024)
def scaled_tail(c, precision):
    """Taylor coefficients of W(y) = exp(y^2) erfc(y) at c >= 2: W' = 2 y W - 2/sqrt(pi). W is completely monotone, and
    |W^(n)(y)|/n! < 1/(sqrt(pi) y^(n+1)) (exp(-s^2) left out of 2/sqrt(pi) integral of exp(-s^2 - 2 y s) over s > 0): for |y - c|
    <= 1/16, precision/4.9 of them are enough. The recurrence loses fewer than 350 + 3 precision bits for c < 28."""
    with wide(4 * precision + 400):
        w = [gmpy2.exp(c * c) * gmpy2.erfc(c)]
        w.append(2 * c * w[0] - 2 / gmpy2.sqrt(gmpy2.const_pi()))
        for n in range(1, precision // 4 + 8):
            w.append(2 * (c * w[n] + w[n - 1]) / (n + 1))
    with wide(precision):
        return [+v for v in reversed(w)]


def erfc(y):
    """MPFR's where that is quick, else by scaled_tail: 10 to 50 times as fast."""
    return gmpy2.exp(-y * y) * scaled_erfc(y) if 2 <= y < 28 else gmpy2.erfc(y)


def scaled_erfc(y):
    """exp(y^2) erfc(y): from 2 on without erfc, by scaled_tail, and from 28 on by the asymptotic series where its least term, near e^(-y^2), is small
    enough."""
    precision = gmpy2.get_context().precision
    if 2 <= y < 28:
        c = gmpy2.rint(8 * y) / 8
        t, w = y - c, ZERO
        for v in scaled_tail(c, precision):
            w = w * t + v
        return w
    if y < 28 or y * y < precision:
        return gmpy2.exp(y * y) * gmpy2.erfc(y)
    h, term, total, k = 1 / (2 * y * y), mpfr(1), mpfr(1), 1
    while abs(term) > mpfr(2) ** -precision:
        term *= -k * h
        total += term
        k += 2
    return total / (gmpy2.sqrt(gmpy2.const_pi()) * y)


def erfcx(x):
    if is_nan(x):
        exact(x)
    if gmpy2.is_infinite(x):
        exact(ZERO if x > 0 else INF)
    if x == 0:
        exact(mpfr(1))
    if abs(x) < 2**-100:
        near(mpfr(1), x < 0)
    if x < -1000:  # so large that it does not matter
        exact(mpfr(2) ** 100000)
    return scaled_erfc(x)


def log_ndtr(x):
    """Of numbers below 0 by a scaled erfc; the limit at infinity is 0 from below."""
    if is_nan(x):
        exact(x)
    if gmpy2.is_infinite(x):
        exact(x if x < 0 else mpfr("-0"))
    if x > 1000:  # so small that it does not matter
        exact(-(mpfr(2) ** -100000))
    if x < -(2**100):
        near(-x * x / 2, True)
    y = -x / gmpy2.sqrt(mpfr(2))
    return gmpy2.log(scaled_erfc(y) / 2) - x * x / 2 if x < 0 else gmpy2.log1p(-erfc(-y) / 2)


@functools.lru_cache(maxsize=1 << 17)  # the same arguments come with every rule and build
def twice_phi(x, precision):
    """2 Phi(x), at the precision of the current context."""
    return erfc(-x / gmpy2.sqrt(mpfr(2)))


def ndtr(x):
    if is_nan(x):
        exact(x)
    if gmpy2.is_infinite(x) or x == 0:
        exact((1 + mpfr(gmpy2.sign(x))) / 2)
    if abs(x) < 2**-70:
        near(mpfr(0.5), x > 0)
    if x > 12:
        near(mpfr(1), False)
    if x < -1000:  # so small that it does not matter
        exact(mpfr(2) ** -100000)
    return twice_phi(x, gmpy2.get_context().precision) / 2


@functools.lru_cache(maxsize=1 << 17)
def erfinv_of(u, v, precision):
    """erfinv(u) for 0 < u < 1, v = 1 - u, of which the smaller is exact. By Taylor's series of the inverse about y, r and the
    factors being its terms: an error of 2^-50 becomes one of 2^-240. The first y comes from Python's statistics, or near 0 from the
    first two terms at 0; how near it is shows in the step."""
    y = mpfr(-NORMAL.inv_cdf(float(v) / 2)) / gmpy2.sqrt(mpfr(2))
    half_root = gmpy2.sqrt(gmpy2.const_pi()) / 2
    if u < 0.01:
        y = half_root * u * (1 + gmpy2.const_pi() / 12 * u * u)
    digits = 53  # a short y is quick; one that is as near as its digits allow gets more
    while True:
        y = mpfr(y, digits)
        r = half_root * gmpy2.exp(y * y) * ((u - gmpy2.erf(y)) if u <= 0.5 else (erfc(y) - v))
        y2 = y * y
        step = r * (1 + r * (y + r * ((1 + 4 * y2) / 3 + r * (7 + 12 * y2) * y / 6)))
        y += step
        if abs(step) < y * mpfr(2) ** (-precision // 5):
            return y
        if abs(step) < y * mpfr(2) ** (8 - digits):
            digits *= 4


def erfinv(x):
    if is_nan(x) or x == 0:
        exact(x)
    if abs(x) >= 1:
        exact(*((x * INF, DIVBYZERO) if abs(x) == 1 else (NAN, INVALID)))
    y = erfinv_of(abs(x), 1 - abs(x), gmpy2.get_context().precision)
    return y if x > 0 else -y


def ndtri(p):
    if is_nan(p):
        exact(p)
    if not 0 < p < 1:
        exact(*((NAN, INVALID) if not 0 <= p <= 1 else (INF if p else -INF, DIVBYZERO)))
    if p == 0.5:
        exact(ZERO)
    q = min(p, 1 - p)
    z = gmpy2.sqrt(mpfr(2)) * erfinv_of(1 - 2 * q, 2 * q, gmpy2.get_context().precision)
    return z if p > 0.5 else -z


# --- Gradients ---


def gradient(f, least, most, middle):
    """g f(x), f with these values at -inf, inf and 0; f(x) as logistic gives it. Products as IEEE 754 has them."""

    def product(g, x):
        if is_nan(g, x):
            exact(NAN)
        if x == 0:
            exact(g * middle)
        if gmpy2.is_infinite(x):
            value = g * (most if x > 0 else least)
            exact(value, INVALID * is_nan(value))
        value = f(x)
        if g == 0 or gmpy2.is_infinite(g):
            exact(g if isinstance(value, tuple) or value > 0 else -g)
        return times(g, value)

    return product


def slope(t):
    """sigmoid'(t)."""
    if abs(t) < 2**-100:
        return mpfr(0.25), False
    w = gmpy2.exp(-min(abs(t), mpfr(100000)))
    return w / ((1 + w) * (1 + w))


def tanh_slope(x):
    value = slope(2 * x)
    return (4 * value[0], value[1]) if isinstance(value, tuple) else 4 * value


def swish_slope(argument):
    """(x sigmoid(t(x)))' for argument(x) = t(x), t'(x)."""

    def f(x):
        t, derivative = argument(x)
        if abs(t) < 2**-100:
            return mpfr(0.5), x > 0
        if t > 3000:
            return mpfr(1), True
        if t < -100000:  # so small that it does not matter
            return -gmpy2.exp(mpfr(-100000))
        s = 1 / (1 + gmpy2.exp(-t))
        return s * (1 + x * derivative / (1 + gmpy2.exp(t)))

    return f


# --- Gradients by the error function ---


def times_slope(f, least, most):
    """g f(x), f with these limits at -inf and inf, as IEEE 754 has products. f(x) may be a pair: a number, and whether the value
    is a hair above it (1), a hair below (-1) or exactly that (0)."""

    def product(g, x):
        if is_nan(g, x):
            exact(NAN)
        if gmpy2.is_infinite(x):
            value = g * (most if x > 0 else least)
            exact(value, INVALID * is_nan(value))
        value = f(x)
        value, side = value if isinstance(value, tuple) else (value, None)
        if g == 0 or gmpy2.is_infinite(g) or side == 0:
            exact(g * value)
        if side is not None:
            near(g * value, side > 0)
        return g * value

    return product


def erf_slope(x):
    return 2 / gmpy2.sqrt(gmpy2.const_pi()) * gmpy2.exp(-x * x) if abs(x) < 1000 else mpfr(2) ** -1000000


def gelu_slope(x):
    if abs(x) < 2**-100:
        return mpfr(0.5), gmpy2.sign(x)
    if abs(x) > 60:
        return (mpfr(1), 1) if x > 0 else -(mpfr(2) ** -1000000)
    return twice_phi(x, gmpy2.get_context().precision) / 2 + x * gmpy2.exp(-x * x / 2) / gmpy2.sqrt(2 * gmpy2.const_pi())


DEFINITIONS: dict[str, Callable] = {
    # Exponentials and logarithms.
    "exp2m1": power_less_one(2, gmpy2.const_log2, -150, 150),
    "exp10m1": power_less_one(10, log_of_ten, 1, 25),
    "log2p1": log_of_one_more(gmpy2.const_log2, power_of_two_less_one),
    "log10p1": log_of_one_more(log_of_ten, power_of_ten_less_one),
    # Products with a logarithm.
    "xlogy": factor_times_log(0, gmpy2.log),
    "xlog1py": factor_times_log(-1, gmpy2.log1p),
    "entr": entr,
    # The second derivative of lgamma, and a sum of three of its values.
    "trigamma": trigamma,
    "betaln": betaln,
    # Trigonometric functions of half-turns.
    "sinpi": of_half_turns(exact_sinpi, sinpi_part),
    "cospi": of_half_turns(exact_cospi, cospi_part),
    "tanpi": of_half_turns(exact_tanpi, tanpi_part),
    # Inverse trigonometric functions in half-turns.
    "asinpi": over_pi(gmpy2.asin, 1, {1.0: 0.5, -1.0: -0.5}),
    "acospi": over_pi(gmpy2.acos, 1, {1.0: 0, 0.0: 0.5, -1.0: 1}),
    "atanpi": over_pi(gmpy2.atan, INF, {1.0: 0.25, -1.0: -0.25, INF: 0.5, -INF: -0.5}),
    # Activations.
    "sigmoid": sigmoid,
    "silu": swish(lambda x: x),
    "gelu_tanh": swish(lambda x: cubic(x)[0]),
    # Activations by the logarithm.
    "softplus": softplus,
    "log_sigmoid": log_sigmoid,
    # Activations by the error function.
    "gelu": gelu,
    # The normal distribution.
    "erfinv": erfinv,
    "erfcx": erfcx,
    "ndtr": ndtr,
    "log_ndtr": log_ndtr,
    "ndtri": ndtri,
    # Gradients.
    "tanh_backward": gradient(tanh_slope, mpfr(0), mpfr(0), mpfr(1)),
    "sigmoid_backward": gradient(slope, mpfr(0), mpfr(0), mpfr(0.25)),
    "silu_backward": gradient(swish_slope(lambda x: (x, mpfr(1))), mpfr("-0"), mpfr(1), mpfr(0.5)),
    "gelu_tanh_backward": gradient(swish_slope(cubic), mpfr("-0"), mpfr(1), mpfr(0.5)),
    "softplus_backward": gradient(logistic, mpfr(0), mpfr(1), mpfr(0.5)),
    "log_sigmoid_backward": gradient(lambda x: logistic(-x), mpfr(1), mpfr(0), mpfr(0.5)),
    # Gradients by the error function.
    "erf_backward": times_slope(erf_slope, ZERO, ZERO),
    "gelu_backward": times_slope(gelu_slope, mpfr("-0"), mpfr(1)),
    # Powers.
    "logaddexp": logaddexp,
}
