"""Special functions: RN of the value at numbers of binary64, enclosed by series, asymptotic expansions and formulas of Euler and Maclaurin.

Whether a value is a boundary of rounding is unknown for most of these functions, so one that enclosures.BITS bits do not decide raises. f is a precision in
bits behind the point, p one in significant bits.
"""

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from .. import _core
from .._dtypes import F64, NAMES
from .._narrow import convert_array
from . import enclosures as en
from .enclosures import Interval, Undecided, decided

Array: TypeAlias = np.ndarray[Any, Any]

ORDER = 1 << 20  # the largest first argument of igamma whose values are not known at once


def _scaled(a: Interval, k: int) -> Interval:
    return (a[0], a[1], a[2] + k)


def _alternating(
    x: Interval, f: int, above: Callable[[int], int], below: Callable[[int], int], odd: bool
) -> tuple[Interval, Interval] | None:
    """The sums with alternating signs of the terms t[k] of even k, and of odd k, where t[k] is above(k)/(below(k) x) times t[k - 1] in magnitude, t[0] = 1;
    the rest of each is at most the first term that is left out. `odd` 0: of all k, in the first. None if the terms grow before they are below 2**-f.

    """
    low, high = en.fixed(en.div(en.ONE, x, f + 8 + max(0, -en.top(x))), f)  # 1/x
    term_low = term_high = 1 << f
    sums = [[0, 0], [0, 0]]
    k = 0
    while True:
        sign = (k // 2 if odd else k) % 2
        to = sums[k % 2 if odd else 0]
        to[0] += -term_high if sign else term_low
        to[1] += -term_low if sign else term_high
        if k >= 2 and term_high <= 4:
            break
        k += 1
        a, b = above(k), below(k)
        term_low, before = term_low * low * a // (b << f), term_high
        term_high = -(-term_high * high * a // (b << f))
        if term_high >= before and term_high > 4:
            return None
    for to in sums:
        to[0], to[1] = to[0] - 5, to[1] + 5
    return (sums[0][0], sums[0][1], -f), (sums[1][0], sums[1][1], -f)


def _hankel(x: Interval, nu: int, f: int, odd: bool) -> tuple[Interval, Interval] | None:
    """P and Q of Hankel's expansions (DLMF 10.17), or the sum with all terms' signs alternating, for x above 0: 4 nu**2 - (2 k - 1)**2 over 8 k x. The rest
    has the bound for orders 0 and 1: 10.17(iii), 10.40(ii). Of order 1 the first factor, 3, is positive and all others are negative."""
    made = _alternating(x, f, lambda k: abs(4 * nu - (2 * k - 1) ** 2), lambda k: 8 * k, odd)
    if made is None:
        return None
    # t[k] has the sign of (-1)**k for order 0, and that of (-1)**(k - 1) for k above 0 of order 1.
    return (en.sub((2, 2, 0), made[0], f), made[1]) if nu else (made[0], en.neg(made[1]))


def _bessel_sums(x: float, nu: int, sign: int, f: int) -> tuple[Interval, Interval]:
    """The sums of y**k/(k! (k + nu)!) and of h[k] times this, y = sign x**2/4, where h[k] is H[k] for order 0, 2 H[k] + 1/(k + 1) for order 1.

    H[k] is cut by at most k units, and 1/(k + 1) by one. Beyond the last term each one is less than a third of the one before.
    """
    m, q = x.as_integer_ratio()
    a, b = m * m, 4 * q * q
    low = high = 1 << f
    plain, weighted = [low, high], ([low, high] if nu else [0, 0])
    harmonic = k = 0
    while True:
        k += 1
        c = b * k * (k + nu)
        low, high = low * a // c, -(-high * a // c)
        harmonic += (1 << f) // k
        h = 2 * harmonic + (1 << f) // (k + 1) if nu else harmonic
        up = -(-high * (h + 2 * k + 1) >> f)
        down = low * h >> f
        if sign < 0 and k % 2:
            plain[0], plain[1] = plain[0] - high, plain[1] - low
            weighted[0], weighted[1] = weighted[0] - up, weighted[1] - down
        else:
            plain[0], plain[1] = plain[0] + low, plain[1] + high
            weighted[0], weighted[1] = weighted[0] + down, weighted[1] + up
        if 6 * a < c and k > 1 and high <= 1:
            break
    for to, rest in ((plain, high), (weighted, up)):
        to[0], to[1] = to[0] - rest, to[1] + rest
    return (plain[0], plain[1], -f), (weighted[0], weighted[1], -f)


def _bessel_second(x: float, nu: int, sign: int, p: int) -> Interval:
    """K (sign 1), or pi/2 Y (sign -1), by DLMF 10.8.2 and 10.31."""
    size = int(3 * x)
    f = p + 2 * size + 16
    plain, weighted = _bessel_sums(x, nu, sign, f)
    q = f + size
    exact = en.dyadic(x)
    factor = en.add(en.log(_scaled(exact, -1), q), en.euler(q), q)
    if nu == 0:
        made = en.sub(weighted, en.mul(factor, plain, q), q)
        return made if sign > 0 else en.neg(made)
    made = en.sub(en.mul(factor, plain, q), _scaled(weighted, -1), q)
    made = en.mul(made, _scaled(exact, -1), q)
    inverse = en.div(en.ONE, exact, q)
    return en.add(made, inverse if sign > 0 else en.neg(inverse), q)


def modified_k(x: float, nu: int, scaled: bool, p: int) -> Interval:
    q = p + 16
    exact = en.dyadic(x)
    far = _hankel(exact, nu, q, False) if x > 0.35 * q else None
    if far is None:
        made = _bessel_second(x, nu, 1, p)
        return en.mul(made, en.exp(exact, q), p) if scaled else made
    made = en.mul(far[0], en.sqrt(en.div(_scaled(en.pi(q), -1), exact, q), q), q)
    return made if scaled else en.mul(made, en.exp(en.neg(exact), q), p)


def _waves(exact: Interval, nu: int, far: tuple[Interval, Interval], second: bool, p: int) -> Interval:
    """J, or Y where `second`, of the sums P and Q (DLMF 10.17.3 and 4), where sines and cosines of x - pi/4 and of x - 3 pi/4 are sums of those of x."""
    s, c = en.sin_cos(exact, p)
    less, more = en.sub(s, c, p), en.add(s, c, p)
    if nu:
        less, more = en.neg(more), less
    if second:
        made = en.add(en.mul(less, far[0], p), en.mul(more, far[1], p), p)
    else:
        made = en.sub(en.mul(more, far[0], p), en.mul(less, far[1], p), p)
    return en.div(made, en.sqrt(en.mul(en.pi(p), exact, p), p), p)


def bessel_y(x: float, nu: int, p: int) -> Interval:
    q = p + 16
    exact = en.dyadic(x)
    far = _hankel(exact, nu, q, True) if x > 0.35 * q else None
    if far is None:
        return en.div(_scaled(_bessel_second(x, nu, -1, p), 1), en.pi(q), q)
    return _waves(exact, nu, far, True, q)


def bessel_j(x: float, nu: int, p: int) -> Interval:
    """J by its expansion, which has bits enough where x is above 0.35 times their number."""
    q = p + 16
    exact = en.dyadic(x)
    far = _hankel(exact, nu, q, True)
    if far is None:
        raise en.TooWide
    return _waves(exact, nu, far, False, q)


def scaled_bessel_i(x: float, nu: int, p: int) -> Interval:
    """exp(-x) I for x of 4096 and more, by DLMF 10.40.5, whose second sum is imaginary.

    By DLMF 10.34.2, pi i I(x) is exp(-nu pi i) K(x) - K(x exp(pi i)), and the first of these is real times 1 or -1: the real part of I comes from the second
    alone. With 10.40(iii) at a phase of pi, what k terms leave of its sum is at most 2 chi(k) |t[k]| exp(|nu**2 - 1/4| chi(1)/x) in magnitude. chi(1) = pi/2,
    so that the exponential is below 1.0003, and chi(k) <= k + 1: what is left is at most 3 (k + 1) |t[k]|.
    """
    q = p + 16
    exact = en.dyadic(x)
    term = total = en.ONE
    k = 0
    while en.top(term) > -q:
        k += 1
        c = (2 * k - 1) ** 2 - 4 * nu  # of nu = 1 the first one is negative: all further terms are
        following = en.div(en.mul(term, (c, c, 0), q), en.mul((8 * k, 8 * k, 0), exact, q), q)
        if k > 1 and en.top(following) >= en.top(term) + 1:
            raise en.TooWide
        term = following
        total = en.add(total, term, q)
    rest = 4 * (k + 1) * max(abs(term[0]), abs(term[1]))  # |t[k]| itself is in the sum, and is left again
    total = en.add(total, (-rest, rest, term[2]), q)
    return en.div(total, en.sqrt(en.mul(_scaled(en.pi(q), 1), exact, q), q), q)


def spherical_j0(x: float, p: int) -> Interval:
    """sin(x)/x; for small numbers between 1 - x**2/6 and that plus x**4/120."""
    exact = en.dyadic(x)
    if x < 2.0**-20 and 4 * -math.frexp(x)[1] > p:
        square = en.mul(exact, exact, p)
        low = en.sub(en.ONE, en.div(square, (6, 6, 0), p), 8 * p)
        return en.add(low, (0, 1, 4 * math.frexp(x)[1] - 6), 8 * p)
    return en.div(en.sin_cos(exact, p + max(0, -math.frexp(x)[1]))[0], exact, p)


def _airy_series(x: float, p: int) -> Interval:
    """c1 f - c2 g (DLMF 9.4.1), c1 = 3**(-2/3)/Gamma(2/3) = Gamma(1/3) 3**(-1/6)/(2 pi), c2 = 3**(-1/3)/Gamma(1/3)."""
    m, q = x.as_integer_ratio()
    size = int(1.5 * abs(x) ** 1.5) + 4
    f = p + 2 * size + 16
    cube, below = abs(m) ** 3, q**3
    sums = []
    for first in (0, 1):
        if first:
            low, high = (abs(m) << f) // q, -((-abs(m) << f) // q)
        else:
            low = high = 1 << f
        total, k, sign = [low, high], 0, 1
        while True:
            k, sign = k + 3, sign if m > 0 else -sign
            c = below * (k + first) * (k + first - 1)
            low, high = low * cube // c, -(-high * cube // c)
            total[0] += low if sign > 0 else -high
            total[1] += high if sign > 0 else -low
            if high <= 1 and 2 * cube < c:
                break
        total = [total[0] - high, total[1] + high]
        sums.append((total[0], total[1], -f))
    w = f + size
    third = en.div(en.log((3, 3, 0), w), (6, 6, 0), w)
    gamma = en.gamma_third(w)
    first_factor = en.div(en.mul(gamma, en.exp(en.neg(third), w), w), _scaled(en.pi(w), 1), w)
    second_factor = en.div(en.exp(en.neg(_scaled(third, 1)), w), gamma, w)
    second = en.mul(second_factor, sums[1], w)
    return en.add(en.mul(first_factor, sums[0], w), second if m < 0 else en.neg(second), w)


def airy_ai(x: float, p: int) -> Interval:
    """By its series, or by DLMF 9.7.5 and 9.7.9, whose rests are at most the first term left out (9.7(iii)): u[k]/u[k - 1] = (6 k - 5) (6 k - 1)/(72 k)."""
    size = abs(x)
    q = p + 16
    far = None
    if size > 4 and size**1.5 > 0.5 * p:
        exact = en.dyadic(size)
        w = q + 3 * max(0, en.top(exact))
        root = en.sqrt(exact, w)
        zeta = en.div(_scaled(en.mul(exact, root, w), 1), (3, 3, 0), w)
        far = _alternating(zeta, q, lambda k: (6 * k - 5) * (6 * k - 1), lambda k: 72 * k, x < 0)
    if far is None:
        return _airy_series(x, p)
    fourth = en.sqrt(root, q)
    if x > 0:
        below = _scaled(en.mul(en.sqrt(en.pi(q), q), fourth, q), 1)
        return en.div(en.mul(en.exp(en.neg(zeta), q), far[0], q), below, q)
    s, c = en.sin_cos(zeta, q)
    made = en.add(en.mul(en.add(c, s, q), far[0], q), en.mul(en.sub(s, c, q), far[1], q), q)
    return en.div(made, en.mul(en.sqrt(_scaled(en.pi(q), 1), q), fourth, q), q)


def _power(a: Interval, s: float, p: int) -> Interval:
    """a**-s of an exact number a above 0."""
    if s == int(s) and s <= 64:
        made, base, n = en.ONE, a, int(s)
        while n:
            if n & 1:
                made = en.mul(made, base, p)
            base, n = en.mul(base, base, p), n >> 1
        return en.div(en.ONE, made, p)
    return en.exp(
        en.neg(en.mul(en.dyadic(s), en.log(a, p + 12 + max(0, math.frexp(s)[1])), p + 64 + max(0, math.frexp(s)[1]))), p
    )


def _zeta_above(s: float, q: Interval, p: int) -> Interval:
    """Of q above 0: terms to a = q + n, then Euler's and Maclaurin's formula at a, whose rest is below the first term left out since all derivatives of
    x**-s have one sign."""
    w = p + 32
    exact, order = en.dyadic(s), en.dyadic(s)
    n = 0 if en.top(q) > 62 else max(0, p // 6 + 8 + int(min(s, 64.0)) - en.fixed(q, 0)[0])
    total, first = en.ZERO, None
    digits = w + 64 + abs(q[2])
    for k in range(n):
        term = _power(en.add(q, (k, k, 0), digits), s, w)
        total = en.add(total, term, w)
        first = term if first is None else first
        # The rest from a = q + k + 1 on is at most a**-s (1 + a/(s - 1)).
        if s > 40 and en.top(term) < en.top(first) - w - 70 - max(0, en.top(q)):
            return en.add(total, (0, 1, en.top(term) + max(0, en.top(q)) + 16), w)
    a = en.add(q, (n, n, 0), digits)
    inverse = en.div(en.ONE, a, w)
    power = _power(a, s, w)
    total = en.add(total, en.mul(power, en.add(en.div(a, en.sub(exact, en.ONE, 2100), w), (1, 1, -1), w), w), w)
    rising = en.mul(order, inverse, w)
    last = None
    for j in range(1, 4 * p):
        scale = en.bernoulli(j)
        term = en.mul(en.mul(en.rational(scale.numerator, scale.denominator, w), rising, w), power, w)
        size = en.top(term)
        if size < en.top(total) - p - 8 or (last is not None and size > last):
            return en.add(total, (min(term[0], 0), max(term[1], 0), term[2]), w)
        total, last = en.add(total, term, w), size
        for i in (2 * j - 1, 2 * j):
            rising = en.mul(en.mul(rising, en.add(exact, (i, i, 0), 2100), w), inverse, w)
    raise en.TooWide


def hurwitz_zeta(s: float, q: float, p: int) -> Interval:
    """Of s above 1; of q below 0 s is a whole number: all terms from the fractional part on, and those before it."""
    if q > 0:
        return _zeta_above(s, en.dyadic(q), p)
    exact = en.dyadic(q)
    floor = math.floor(q)
    w = p + 64 + abs(exact[2])
    part = en.sub(exact, (floor, floor, 0), w)
    rest = en.sub(en.ONE, part, w)
    w = p + 32
    below = en.sub(_zeta_above(s, rest, w), _zeta_above(s, en.add(rest, (-floor, -floor, 0), w + 64 + abs(exact[2])), w), w)
    return en.add(_zeta_above(s, part, w), below if s % 2 == 0 else en.neg(below), w)


def gamma_lower(a: float, x: float, p: int) -> Interval:
    """P(a, x) = x**a e**-x/Gamma(a + 1) times the sum of x**k/((a + 1) ... (a + k)) (DLMF 8.7.1)."""
    m, d = x.as_integer_ratio()
    b, c = a.as_integer_ratio()
    f = p + 16
    low = high = total_low = total_high = 1 << f
    k = 0
    while True:
        k += 1
        above, below = m * c, d * (b + k * c)
        low, high = low * above // below, -(-high * above // below)
        total_low, total_high = total_low + low, total_high + high
        if high <= 2 and 2 * above < below:
            break
    size = max(0, math.frexp(a)[1]) + 12
    w = p + size + 16
    ea, ex = en.dyadic(a), en.dyadic(x)
    exponent = en.sub(en.mul(ea, en.log(ex, w + 16), w + 16), ex, w + 16)
    factor = en.mul(en.exp(exponent, w), en.gamma_inverse(en.add(ea, en.ONE, 2200), p + size), w)
    return en.mul(factor, (total_low, total_high + high, -f), p)


def gamma_known(a: float, x: float) -> float | None:
    """P(a, x) where it is 0 or 1 up to e**-760. With d = (x - a)/a the smaller one of P and Q is below exp(-a (d - log(1 + d))) (Chernoff), which is
    at most exp(-a d**2/(2 (1 + max(d, 0))))."""
    if x == 0 or a == math.inf:
        return 0.0
    if a == 0 or x == math.inf:
        return 1.0
    d = (x - a) / a
    bound = a * d * d / (2 * (1 + max(d, 0.0))) if d < 1e100 else x / 4
    if not bound > 770:
        return None
    return 0.0 if x < a else 1.0


def gamma(x: float, p: int) -> Interval:
    """Gamma(x) = Gamma(x + n)/(x (x + 1) ... (x + n - 1)) of a number that is no integer; x + n is above 0."""
    exact = en.dyadic(x)
    digits = p + 64 + abs(exact[2])
    below = en.ONE
    n = max(0, -math.floor(x))
    for k in range(n):
        below = en.mul(below, en.add(exact, (k, k, 0), digits), p + 16)
    return en.div(en.ONE, en.mul(below, en.gamma_inverse(en.add(exact, (n, n, 0), digits), p + 16), p + 16), p)


def _gamma(x: float, dtype: Any) -> float:
    """As SciPy: NaN at the poles below 0, infinite at 0 with its sign."""
    if x == 0:
        return math.copysign(math.inf, x)
    if x != x or x == -math.inf or (x < 0 and x == math.floor(x)):
        return math.nan
    if x > 172:
        return math.inf
    if x < -192:  # pi over Gamma(1 - x) and the sine of the distance to an integer, at least 2**-45: below 2**-1090
        return -0.0 if math.floor(x) % 2 else 0.0
    if x == math.floor(x):
        whole = math.factorial(int(x) - 1)
        return decided(lambda p: (whole, whole, 0), dtype, "a factorial")
    return decided(lambda p: gamma(x, p), dtype, f"gamma({x})")


def beta(a: float, b: float, p: int) -> Interval:
    """B(a, b) = Gamma(a) Gamma(b)/Gamma(a + b) of positive numbers."""
    q = p + 16
    x, y = en.dyadic(a), en.dyadic(b)
    w = q + 64 + abs(x[2] - y[2]) + max(0, en.top(x), en.top(y))
    parts = [en.gamma_parts(v, q) for v in (x, y, en.add(x, y, w + abs(x[2]) + abs(y[2])))]
    total = en.sub(en.add(parts[0][1], parts[1][1], w), parts[2][1], w)
    below = en.mul(parts[0][0], parts[1][0], q)
    return en.mul(en.div(parts[2][0], below, q), en.exp(total, q), p)


def _beta(a: float, b: float, dtype: Any) -> float:
    """As betaln. Where one argument is a whole number n, the value is the quotient of (n - 1)! by a (a + 1) ... (a + n - 1). For n above 1 that is no
    boundary of rounding: of an integer a >= n, n times the binomial coefficient has a prime above n (Sylvester); of another number, with the
    denominator 2**k, the product of the odd numbers 2**k (a + j) is larger than (n - 1)! and divides no part of it."""
    if a != a or b != b:
        return math.nan
    a, b = min(a, b), max(a, b)
    if a < 0 or (a == 0 and b == math.inf):
        return math.nan
    if a == 0:
        return math.inf
    if b == math.inf:
        return 0.0
    if a == 1 or b == 1:
        above, below = (b if a == 1 else a).as_integer_ratio()  # 1/b is exact or no boundary
        return decided(lambda p: en.rational(below, above, p), dtype, f"beta({a}, {b})")
    if a > 1:  # the integral is below the largest value of what is integrated, at (a - 1)/(a + b - 2)
        largest = (a - 1) * math.log((a - 1) / (a - 1 + (b - 1))) + (b - 1) * math.log1p(-(a - 1) / (a - 1 + (b - 1)))
        if largest < -800:  # far more than these logarithms are off
            return 0.0
    return decided(lambda p: beta(a, b, p), dtype, f"beta({a}, {b})")


def _igamma(a: float, x: float, upper: bool, dtype: Any) -> float:
    if not (a >= 0 and x >= 0) or (a == 0 and x == 0) or (a == math.inf and x == math.inf):
        return math.nan
    known = gamma_known(a, x)
    if known is not None:
        return 1.0 - known if upper else known
    if a > ORDER:
        raise Undecided(f"a={a} above {ORDER} with x near to it")

    def value(p: int) -> Interval:
        made = gamma_lower(a, x, p)
        return en.sub(en.ONE, made, p) if upper else made

    return decided(value, dtype, f"igamma({a}, {x})")


def _zeta(s: float, q: float, dtype: Any) -> float:
    """As PyTorch: infinite at s = 1 and at the poles, NaN for s below 1 and where q is below 0 and s not a whole number."""
    if s != s or q != q or s < 1:
        return math.nan
    if s == 1:
        return math.inf
    if -math.inf < q <= 0 and q == math.floor(q):
        return math.inf
    if q == math.inf:
        return 0.0
    if q == -math.inf or (q < 0 and (s == math.inf or s != math.floor(s))):
        return math.nan
    if s == math.inf:
        return math.inf if q < 1 else 1.0 if q == 1 else 0.0
    if q == 1 and s > 64:
        return 1.0  # less than 2**-62 is missing, and to odd that makes no difference to a narrower format
    if q > 1 and s * math.log2(q) - math.log2(1 + q / (s - 1)) > 1110:
        return 0.0  # it is at most q**-s (1 + q/(s - 1)), and the logarithms are off by far less than 35 bits
    return decided(lambda p: hurwitz_zeta(s, q, p), dtype, f"zeta({s}, {q})")


def _pointwise(value: Callable[[float, int], Interval], at_zero: float, at_infinity: float) -> Callable[[float, Any], float]:
    """NaN below 0."""

    def one(x: float, dtype: Any) -> float:
        if x != x or x < 0:
            return math.nan
        if x == 0 or x == math.inf:
            return at_infinity if x else at_zero
        return decided(lambda p: value(x, p), dtype, f"the function at {x}")

    return one


def _airy(x: float, dtype: Any) -> float:
    if x != x:
        return math.nan
    if math.isinf(x):
        return 0.0
    if x > 110:  # below e**-769
        return 0.0
    return decided(lambda p: airy_ai(x, p), dtype, f"airy_ai({x})")


def _k(nu: int, scaled: bool) -> Callable[[float, Any], float]:
    inner = _pointwise(lambda x, p: modified_k(x, nu, scaled, p), math.inf, 0.0)
    return inner if scaled else lambda x, dtype: 0.0 if x > 760 else inner(x, dtype)


def _spherical(x: float, dtype: Any) -> float:
    x = abs(x)
    if not 2.0**-32 <= x < math.inf:
        return 1.0 if x < 1 else 0.0 if x > 1 else math.nan  # near 0 less than 2**-66 is missing
    return decided(lambda p: spherical_j0(x, p), dtype, f"spherical_bessel_j0({x})")


FUNCTIONS: dict[str, Callable[..., float]] = {
    "y0": _pointwise(lambda x, p: bessel_y(x, 0, p), -math.inf, 0.0),
    "y1": _pointwise(lambda x, p: bessel_y(x, 1, p), -math.inf, 0.0),
    "k0": _k(0, False),
    "k1": _k(1, False),
    "k0e": _k(0, True),
    "k1e": _k(1, True),
    "spherical_j0": _spherical,
    "airy": _airy,
    "zeta": _zeta,
    "igamma": lambda a, x, dtype: _igamma(a, x, False, dtype),
    "igammac": lambda a, x, dtype: _igamma(a, x, True, dtype),
    "gamma": _gamma,
    "beta": _beta,
}
NUMBERS = {name: k for k, name in enumerate(FUNCTIONS)}  # those of repmath/special.h


def values(name: str, target: np.dtype[Any], *points: Array) -> Array:
    """The function of arrays of binary64 with one axis, rounded once to the format: in double-double (src/special/balls.c), and what this leaves undecided
    once for each tuple of arguments."""
    made, undecided = np.empty(points[0].shape, target), np.empty(points[0].shape, np.uint8)
    first = points[0] if len(points) > 1 else None
    if made.size and _core.special_values(NUMBERS[name], NAMES[target], first, points[-1], made, undecided):
        left = np.flatnonzero(undecided)
        bits = np.stack([v[left].view(np.int64) for v in points])
        tuples, back = np.unique(bits, axis=1, return_inverse=True)
        columns = [v.view(F64).tolist() for v in np.ascontiguousarray(tuples)]
        one = FUNCTIONS[name]
        found = np.array([one(*v, target) for v in zip(*columns, strict=True)], F64)
        made[left] = convert_array(found, target)[back.reshape(-1)]
    return made
