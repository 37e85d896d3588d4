"""Intervals with ends m * 2**e, and enclosures of pi, log 2, Euler's constant, exp, log, sin, cos and the gamma function, of any precision p.

An interval is a tuple (low, high, e) of whole numbers, low <= high, that stands for every real number from low * 2**e to high * 2**e. An operation
keeps about p bits of the larger end: low is cut downwards, high upwards. So every step is right whatever p is, and a larger p only makes the
interval narrower. `decided` lets p grow until both ends of an interval round to one number.
"""

import functools
import math
import threading
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

from .._dtypes import F64
from .._narrow import ratio, ratio_to_odd

Interval: TypeAlias = tuple[int, int, int]
ZERO: Interval = (0, 0, 0)
ONE: Interval = (1, 1, 0)
BITS = 1 << 14  # the largest precision of `decided`


class Undecided(ValueError):
    """A value is beside a boundary of rounding nearer than can be told, or would take too long."""


class TooWide(ArithmeticError):
    """An interval holds a number at which the function is not defined: more bits may help."""


def cut(a: Interval, p: int) -> Interval:
    low, high, e = a
    more = max(low.bit_length(), high.bit_length()) - p
    return a if more <= 0 else (low >> more, -(-high >> more), e + more)


def dyadic(x: float) -> Interval:
    """A finite number, exactly."""
    m, q = x.as_integer_ratio()
    return (m, m, 1 - q.bit_length())


def rational(a: int, b: int, p: int) -> Interval:
    """a/b, b above 0."""
    s = max(0, p + b.bit_length() - a.bit_length())
    low, rest = divmod(a << s, b)
    return (low, low + (rest != 0), -s)


def neg(a: Interval) -> Interval:
    return (-a[1], -a[0], a[2])


def add(a: Interval, b: Interval, p: int) -> Interval:
    if a[0] == a[1] == 0:
        return b
    if b[0] == b[1] == 0:
        return a
    if a[2] < b[2]:
        a, b = b, a
    tops = (max(abs(v[0]), abs(v[1])).bit_length() + v[2] for v in (a, b))
    e = max(b[2], max(tops) - 2 * p - 8)  # so that numbers far apart make no long sums
    low, high = b[0] >> (e - b[2]), -(-b[1] >> (e - b[2]))
    if a[2] >= e:
        return cut((low + (a[0] << (a[2] - e)), high + (a[1] << (a[2] - e)), e), p)
    return cut((low + (a[0] >> (e - a[2])), high - (-a[1] >> (e - a[2])), e), p)


def sub(a: Interval, b: Interval, p: int) -> Interval:
    return add(a, neg(b), p)


def mul(a: Interval, b: Interval, p: int) -> Interval:
    if a[0] >= 0 and b[0] >= 0:
        return cut((a[0] * b[0], a[1] * b[1], a[2] + b[2]), p)
    ends = [x * y for x in a[:2] for y in b[:2]]
    return cut((min(ends), max(ends), a[2] + b[2]), p)


def div(a: Interval, b: Interval, p: int) -> Interval:
    if b[1] < 0:
        a, b = neg(a), neg(b)
    if b[0] <= 0:
        raise TooWide
    s = max(0, p + 2 + b[1].bit_length() - max(abs(a[0]), abs(a[1])).bit_length())
    low = (a[0] << s) // (b[1] if a[0] >= 0 else b[0])
    high = -((-a[1] << s) // (b[0] if a[1] >= 0 else b[1]))
    return cut((low, high, a[2] - b[2] - s), p)


def sqrt(a: Interval, p: int) -> Interval:
    if a[0] < 0:
        raise TooWide
    s = max(0, 2 * p + 2 - a[1].bit_length())
    s += (a[2] - s) & 1
    low, high = math.isqrt(a[0] << s), math.isqrt(a[1] << s)
    return cut((low, high + (high * high != a[1] << s), (a[2] - s) // 2), p)


def fixed(a: Interval, f: int) -> tuple[int, int]:
    """The ends as whole multiples of 2**-f."""
    s = a[2] + f
    return (a[0] << s, a[1] << s) if s >= 0 else (a[0] >> -s, -(-a[1] >> -s))


def top(a: Interval) -> int:
    """The whole interval is below 2**top in magnitude."""
    return max(abs(a[0]), abs(a[1])).bit_length() + a[2]


def _arctangent(n: int, f: int) -> tuple[int, int]:
    """atan(1/n) in units of 2**-f, n above 1: a term is cut by less than one unit, and the rest is below the last."""
    term, total, k = (1 << f) // n, 0, 0
    while term:
        total += (-1) ** k * (term // (2 * k + 1))
        term, k = term // (n * n), k + 1
    return total - 2 * k - 2, total + 2 * k + 2


def growing(f: Callable[[int], Interval]) -> Callable[[int], Interval]:
    """A constant of a precision, which is kept for few precisions, each a power of two."""
    kept = functools.cache(f)

    def value(p: int) -> Interval:
        return kept(1 << max(7, (p - 1).bit_length()))

    return value


@growing
def pi(p: int) -> Interval:
    """Machin's formula."""
    f = p + 16
    a, b = _arctangent(5, f), _arctangent(239, f)
    return (16 * a[0] - 4 * b[1], 16 * a[1] - 4 * b[0], -f)


@growing
def log2(p: int) -> Interval:
    """The sum of 2/((2 k + 1) 3**(2 k + 1)): a term is cut by less than two units, and the rest is below two."""
    f = p + 16
    term, low, k = (2 << f) // 3, 0, 0
    while term:
        low += term // (2 * k + 1)
        term, k = term // 9, k + 1
    return (low, low + 2 * k + 2, -f)


@growing
def euler(p: int) -> Interval:
    """Brent's and McMillan's formula, 1980: gamma = S/I - log n, less than pi exp(-4 n) of which is wrong, where I is the sum of t[k] = (n**k/k!)**2, and
    S that of H[k] t[k]."""
    n = p // 5 + 8  # 4 n/log 2 is above p
    f = p + 6 * n  # the sums are below exp(2 n) < 2**(3 n)
    term = total = 1 << f
    harmonic = weighted = k = 0
    while k < 2 * n or term:  # beyond, a term is at most a quarter of the one before, and H[k] at most grows by a half
        k += 1
        term = term * n * n // (k * k)
        harmonic += (1 << f) // k
        total += term
        weighted += term * harmonic >> f
    # A term t[k] is cut by less than the sum of t[k]/t[j] over j up to k, at most k (t[k] + 1) units, which H[k] multiplies, below the bits of k; H[k] is
    # cut by k units. t is below 2**(3 n), and the rest of both sums below the last cut.
    off = (k * k * (k.bit_length() + 2) + 8) << (3 * n)
    made = div((weighted - off, weighted + off, 0), (total - off, total + off, 0), p + 16)
    made = sub(made, log((n, n, 0), p + 16), p + 16)
    width = -(5 * n) - 2  # pi exp(-4 n) < 2**(2 - 5.77 n)
    return add(made, (-1, 1, width), p + 16)


def exp(a: Interval, p: int) -> Interval:
    """e**low by its series after n halvings, and e**d <= 1 + 2 d for the width d <= 1."""
    size = top(a)
    if size > 64:
        if a[1] < 0:
            return (0, 1, -(1 << 62))
        raise TooWide
    n = 4 + math.isqrt(p) // 2
    w = p + n + max(0, size) + 16
    low, high = fixed(a, w)
    width = high - low + 1
    if width >> w:
        raise TooWide
    two = fixed(log2(w + max(0, size)), w)
    k = low // two[0]
    rest = low - k * two[0]  # of log 2 the error is abs(k) units at most
    y = rest >> n
    total = term = 1 << w
    j = 1
    while term:
        term = term * y >> (w + j.bit_length() - 1) if j & (j - 1) == 0 else (term * y >> w) // j
        total += term
        j += 1
    # Every term is cut by less than 2 units and what it had lost before, times y/j < 1/8; the rest is below the last term that is not 0, and y is cut
    # by one unit, times e**y < 2.
    off = 3 * j + 4
    low, high = total - 1, total + off
    for _ in range(n):
        low, high = low * low >> w, -(-high * high >> w)
    width += 2 * abs(k) + 2
    more = 2 * width
    return cut(((low << w) - low * more, (high << w) + high * more, k - 2 * w), p)


def _log_near(m: int, e: int, p: int) -> Interval:
    """log(m * 2**e) of 1/2 <= m * 2**e < 1: y and log(1 + t), where t = m * 2**e * exp(-y) - 1 is small; any y is right."""
    y = math.log(m / (1 << -e)) if -e < 1000 else math.log((m >> (-e - 900)) / (1 << 900))
    whole = int(y * 2**48)
    near: Interval = (whole, whole, -48)
    t = sub(mul((m, m, e), exp(neg(near), p + 8), p + 8), ONE, p + 60)
    low, high = fixed(t, p + 8)
    if top(t) > -30:
        raise TooWide
    total_low = total_high = 0
    power, k, s = (low, high), 1, 1
    one = 1 << (p + 8)
    while True:  # the rest is below the last term
        a, b = power
        total_low, total_high = (
            (total_low + a // k, total_high - (-b // k)) if s > 0 else (total_low + -b // k, total_high - a // k)
        )
        if max(abs(a), abs(b)) <= 2:
            break
        ends = [x * v for x in power for v in (low, high)]
        power, k, s = (min(ends) // one, -(-max(ends) // one)), k + 1, -s
    return add(near, (total_low - 4, total_high + 4, -(p + 8)), p + 8)


def log(a: Interval, p: int) -> Interval:
    """Of the lower end, and log(high/low) <= (high - low)/low."""
    low, high, e = a
    if low <= 0:
        raise TooWide
    k = low.bit_length()
    made = _log_near(low, -k, p + 8) if low & (low - 1) else ZERO
    if low & (low - 1) == 0:
        k -= 1
    made = add(made, mul((k + e, k + e, 0), log2(p + 16), p + 16), p + 16)
    if high > low:
        wide = rational(high - low, low, p)
        made = add(made, (0, wide[1], wide[2]), p + 16)
    return cut(made, p + 8)


def sin_cos(a: Interval, p: int) -> tuple[Interval, Interval]:
    """Of the lower end less a multiple of pi/2, and the width, which changes neither by more."""
    size = max(0, top(a))
    w = p + 16
    half = pi(p + size + 24)
    half = (half[0], half[1], half[2] - 1)
    low, high = fixed(a, w)
    width = high - low + 2
    point: Interval = (a[0], a[0], a[2])
    quotient = div(point, half, size + 32)
    n = fixed(quotient, 1)[0] + 1 >> 1
    reduced = fixed(sub(point, mul((n, n, 0), half, p + size + 32), p + size + 32), w)
    x, width = reduced[0], width + reduced[1] - reduced[0] + 1
    values = []
    for term, j in ((x, 1), (1 << w, 0)):
        total = 0
        while term:
            total += term
            j += 2
            term = -(term * x * x) // (j * (j - 1) << 2 * w) if term > 0 or term < -1 else 0
        # abs(x) < 0.9 (checked): every term is cut by less than a unit and half of what was lost before, and the rest is below the last one.
        off = 2 * j + 4 + width
        values.append((total - off, total + off, -w))
    if not -0.9 < x / (1 << w) < 0.9:
        raise TooWide
    s, c = values
    for _ in range(n % 4):
        s, c = c, neg(s)
    return s, c


@functools.cache
def bernoulli(j: int) -> Fraction:
    """B[2 j]/(2 j)!, j above 0, by the series of x/(exp(x) - 1)."""
    made = -Fraction(1, math.factorial(2 * j + 1)) + Fraction(1, 2 * math.factorial(2 * j))
    for i in range(1, j):
        made -= bernoulli(i) / math.factorial(2 * j - 2 * i + 1)
    return made


def gamma_parts(x: Interval, p: int) -> tuple[Interval, Interval]:
    """The product x (x + 1) ... (z - 1) and log Gamma(z) of an exact number x above 0: z = x + n, by Stirling's series at z, whose rest is below the
    first term left out and has its sign. The logarithm is within some units of 2**-p."""
    n = max(0, p // 5 + 8 - (fixed(x, 0)[0] if top(x) < 64 else p))
    q = p + 32 + max(0, top(x))
    product: Interval = ONE
    for k in range(n):
        product = mul(product, add(x, (k, k, 0), q + 64 + abs(x[2])), q)
    z = add(x, (n, n, 0), q + 64 + abs(x[2]))
    total = sub(mul(sub(z, (1, 1, -1), q), log(z, q), q), z, q)
    two_pi = pi(q)
    half = log((two_pi[0], two_pi[1], two_pi[2] + 1), q)
    total = add(total, (half[0], half[1], half[2] - 1), q)
    inverse = div(ONE, z, q)
    square, power = mul(inverse, inverse, q), inverse
    last = None
    for k in range(1, 4 * p):
        scale = bernoulli(k) * math.factorial(2 * k - 2)  # B[2 k]/(2 k (2 k - 1))
        term = mul(rational(scale.numerator, scale.denominator, q), power, q)
        size = top(term)
        if size < -p - 8 or (last is not None and size > last):
            total = add(total, (min(term[0], 0), max(term[1], 0), term[2]), q)
            break
        total, power, last = add(total, term, q), mul(power, square, q), size
    else:
        raise TooWide
    return product, total


def gamma_inverse(x: Interval, p: int) -> Interval:
    """1/Gamma(x) of an exact number x above 0."""
    product, total = gamma_parts(x, p)
    return mul(product, exp(neg(total), p + 16), p + 16)


@growing
def gamma_third(p: int) -> Interval:
    """Gamma(1/3): its third power is 2**(7/3) 3**(-1/4) pi K(sin(pi/12)), K = pi/(2 M), with M the arithmetic-geometric mean of 1 and cos(pi/12) = (sqrt 6 +
    sqrt 2)/4, which lies between the two."""
    q = p + 40
    a: Interval = ONE
    b = add(sqrt((6, 6, 0), q), sqrt((2, 2, 0), q), q)
    b = (b[0], b[1], b[2] - 2)
    for _ in range(p.bit_length() + 4):
        s = add(a, b, q)
        a, b = (s[0], s[1], s[2] - 1), sqrt(mul(a, b, q), q)
    low, high = fixed(b, q), fixed(a, q)
    mean: Interval = (min(low[0], high[0]), max(low[1], high[1]), -q)
    k = div(pi(q), mean, q)
    total = add(log(mul(pi(q), (k[0], k[1], k[2] - 1), q), q), mul(log2(q), rational(7, 3, q), q), q)
    total = sub(total, div(log((3, 3, 0), q), (4, 4, 0), q), q)
    return exp(div(total, (3, 3, 0), q), q)


def _end(m: int, e: int, round_one: Callable[[int, int], float]) -> float:
    if m and m.bit_length() + e > 1030:
        return -math.inf if m < 0 else math.inf
    return round_one(m << e, 1) if e >= 0 else round_one(m, 1 << -e)


_asked = threading.local()


def enclosed(function: Callable[..., float], *values: float) -> Callable[[int], Interval] | None:
    """What a function of numbers gives to `decided`, with the sign that it gives the result; None where it does not ask for one."""
    _asked.value = None
    _asked.here = True
    try:
        sign = function(*values, F64)
    finally:
        _asked.here = False
    value: Callable[[int], Interval] | None = _asked.value
    return value if value is None or sign > 0 else lambda p: neg(value(p))


def decided(value: Callable[[int], Interval], dtype: Any, what: str) -> float:
    """RN of a value that value(p) encloses, in binary64; for a narrower format to odd."""
    if getattr(_asked, "here", False):
        _asked.value = value
        return 1.0
    round_one, p = ratio if dtype == F64 else ratio_to_odd, 96
    while p <= BITS:
        try:
            a = value(p)
        except TooWide:
            p *= 2
            continue
        if top(a) < -1100 and (a[0] >= 0 or a[1] <= 0):  # in every format
            return 0.0 if a[0] >= 0 else -0.0
        if top(a) >= -1100:
            low, high = (_end(m, a[2], round_one) for m in a[:2])
            if low == high and math.copysign(1.0, low) == math.copysign(1.0, high):
                return low
        p *= 2
    raise Undecided(f"a value of {what} that {BITS} bits do not decide")
