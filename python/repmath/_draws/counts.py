"""Poisson and binomial numbers by the ratio of uniforms (Stadlober, "The ratio of uniforms approach for generating discrete random variates", J. Comput. Appl.
Math. 31, 1990), with exact decisions.

With the mean mu, f the probabilities and m a mode: an attempt has U = (k+1) 2^-53 and V = l 2^-53, W = mu + 1/2 + h (V - 1/2)/U and K = floor(W), which is
accepted if U^2 <= f(K)/f(m). That is right if |W - mu - 1/2| sqrt(f(K)/f(m)) <= h/2 for all K <= W <= K + 1. Stadlober's h is
2 sqrt(2/e) sqrt(variance + 1/2) + 3 - 2 sqrt(3/e); here both constants are rounded up to four digits, by more than the steps below round, and h is the binary64
number that these give. All numbers are rational then, and so are f(K)/f(m)."""

import functools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from .. import _core
from .._dtypes import F64
from . import pairs
from .enclosures import Arithmetic, Enclosure, precisions
from .sequences import CHUNK, Sequences, attempts

_A = np.ndarray[Any, Any]

SLOPE, REST = 1.7156, 0.899
"""2 sqrt(2/e) = 1.71552... and 3 - 2 sqrt(3/e) = 0.89891..., rounded up."""


def width(variance: Any) -> Any:
    """h, by four rounded operations in this order."""
    return SLOPE * np.sqrt(variance + 0.5) + REST


# ------------------------------------------------------------------------------------------------- logarithms of factorials

_TABLE = 256


@functools.cache
def _table() -> _A:
    """log n! for n < 256: rounded to the nearest, as lgamma is."""
    return np.asarray(_core.ufuncs["lgamma"](np.arange(1.0, _TABLE + 1.0)))


def _rest(y: _A) -> _A:
    """What log y! has beside (y + 1/2) log y - y + log(2 pi)/2: Stirling's series, short by less than 1/(1260 y^5) < 2^-50 from 256 on."""
    inverse = 1.0 / y
    return inverse * (1.0 / 12.0 - inverse * inverse / 360.0)


def difference(k: _A, m: _A) -> tuple[_A, _A, _A]:
    """log k! - log m!, a bound on its error, and where both numbers are from 256 on: there it is short by (k - m) log m, and so of the size of k - m.

    Below, factorials are within 2^-53 of themselves, or 2^-50 beyond the table, where the largest part of the series, below 1.3 log k!, rounds three times.
    From 256 on it is (k + 1/2) log(1 + x) - (k - m) + rest(k) - rest(m) with x = (k - m)/m: the quotient's rounding moves the product by less than 2^-52 |k -
    m|, and the product and the sum round by less than 2^-51 of their terms; the rests are within 2^-50."""
    far = (k >= _TABLE) & (m >= _TABLE)
    if not far.any():
        a, b = log_factorial(k), log_factorial(m)
        return a - b, (a + b) * 2.0**-50 + 2.0**-48, far
    y, start, steps = (
        (k, m, k - m) if far.all() else (np.where(far, v, w) for v, w in ((k, _TABLE), (m, _TABLE), (k - m, 0.0)))
    )
    product = (y + 0.5) * _core.ufuncs["log1p"](steps / start)
    long = (product - steps) + (_rest(y) - _rest(start))
    size = np.abs(product) + np.abs(steps)
    if not far.all():
        a, b = log_factorial(np.where(far, 0.0, k)), log_factorial(np.where(far, 0.0, m))
        long, size = np.where(far, long, a - b), np.where(far, size, a + b)
    return long, size * 2.0**-50 + 2.0**-48, far


def log_factorial(n: _A) -> _A:
    """Within 2^-50 of itself, for whole numbers from 0 on."""
    far = n >= _TABLE
    if not far.any():
        return _table()[n.astype(np.int64)]
    y = np.where(far, n, _TABLE)
    long = (y + 0.5) * _core.ufuncs["log"](y) - y + (0.9189385332046728 + _rest(y))
    return np.where(far, long, _table()[np.where(far, 0, n).astype(np.int64)])


def _log_factorial_within(n: int, by: Arithmetic) -> Enclosure:
    """By the same series, of more terms, at a place that is so far that what it leaves out, less than its first term, is beyond the digits."""
    digits = by.near.prec
    y, product = n, Fraction(1)
    least = 3 * digits
    if n < least:
        return by.of(math.factorial(n)).ln() if n > 1 else by.of(0)
    x = by.of(y)
    half = by.of(Fraction(1, 2))
    total = (x + half) * x.ln() - x + half * (by.of(2) * _pi(by)).ln()
    for j in range(1, digits + 2):
        product = _bernoulli(2 * j) / (2 * j * (2 * j - 1) * Fraction(y) ** (2 * j - 1))
        if abs(product) < Fraction(1, 10 ** (digits + 2)):
            break
        total = total + by.of(product)
    slack = by.of(abs(product))
    return Enclosure(by, (total - slack).low, (total + slack).high)


@functools.cache
def _bernoulli(n: int) -> Fraction:
    if n == 0:
        return Fraction(1)
    if n % 2 and n > 1:
        return Fraction(0)
    return -sum((math.comb(n + 1, k) * _bernoulli(k) for k in range(n)), Fraction(0)) / (n + 1)


@functools.cache
def _pi_digits(digits: int) -> Fraction:
    """pi short by less than 10^-digits (Machin)."""
    one = 10 ** (digits + 10)

    def inverse_tangent(k: int) -> int:
        power: int = one // k
        total, j, sign = power, 1, 1
        while power:
            power //= k * k
            j, sign = j + 2, -sign
            total += sign * (power // j)
        return total

    return Fraction(4 * (4 * inverse_tangent(5) - inverse_tangent(239)), one) - Fraction(1, 10 ** (digits + 1))


def _pi(by: Arithmetic) -> Enclosure:
    low = _pi_digits(by.near.prec)
    return Enclosure(by, by.of(low).low, by.of(low + Fraction(1, 10**by.near.prec)).high)


# --------------------------------------------------------------------------------------------------------------- the loops

_RATIONAL = 300  # factors of f(K)/f(m) up to which it is computed as a rational number at once


class _Poisson:
    """Of means: the place mu + 1/2 in a whole part and a fraction, h, the mode, and f(K)/f(m)."""

    def __init__(self, mean: _A) -> None:
        self.mean = mean
        self.whole = np.floor(mean)
        self.part = (mean - self.whole) + 0.5
        self.h, self.mode = width(mean), self.whole
        self.log = _core.ufuncs["log"](mean)
        self.far = _core.ufuncs["log1p"]((mean - self.mode) / np.maximum(self.mode, 1.0))

    def rejected(self, k: _A, at: _A) -> _A:
        return k < 0.0

    def log_ratio(self, k: _A, at: _A) -> tuple[_A, _A]:
        """log f(K)/f(m) and a bound on its error: with K - m = s, s log mean - log K! + log m!, or s log(mean/m) and the short difference.

        Of the logarithms, the second one's quotient is within 2^-52 of itself."""
        steps = k - self.mode[at]
        less, error, far = difference(k, self.mode[at])
        power = steps * np.where(far, self.far[at], self.log[at])
        return power - less, (np.abs(power) + np.abs(less)) * 2.0**-50 + error

    def exact(self, at: int) -> tuple[Fraction, int]:
        return Fraction(float(self.mean[at])), int(self.mode[at])

    def possible(self, k: int, at: int) -> bool:
        return k >= 0

    def ratio(self, k: int, at: int) -> Fraction:
        mean, m = self.exact(at)
        if k >= m:
            return mean ** (k - m) / math.prod(range(m + 1, k + 1))
        return math.prod(range(k + 1, m + 1)) / mean ** (m - k)

    def log_ratio_within(self, k: int, at: int, by: Arithmetic) -> Enclosure:
        mean, m = self.exact(at)
        return by.of(k - m) * by.of(mean).ln() + _log_factorial_within(m, by) - _log_factorial_within(k, by)


class _Binomial:
    """The same of numbers of trials and their chances, 0 < p < 1."""

    def __init__(self, n: _A, p: _A) -> None:
        self.n, self.p = n, p
        high, low = pairs.two_product(n, p)
        self.whole = np.floor(high)
        self.part = ((high - self.whole) + low) + 0.5
        self.h = width((n * p) * (1.0 - p))
        high, low = pairs.two_product(n + 1.0, p)
        floor = np.floor(high)
        self.mode = np.minimum(floor - ((floor == high) & (low < 0.0)), n)
        with np.errstate(under="ignore"):
            log = _core.ufuncs["log"]
            self.logs = (
                log(p),
                _core.ufuncs["log1p"](-p),
                log(np.maximum(self.mode, 1.0)),
                log(np.maximum(n - self.mode, 1.0)),
            )
            high, low = pairs.two_product(n, p)
            far = np.minimum(self.mode, n - self.mode) >= _TABLE
            self.short = np.where(far, self.mode * (1.0 - p), 1.0)
            self.far = _core.ufuncs["log1p"](np.where(far, ((high - self.mode) + low) / self.short, 0.0))

    def rejected(self, k: _A, at: _A) -> _A:
        return (k < 0.0) | (k > self.n[at])

    def log_ratio(self, k: _A, at: _A) -> tuple[_A, _A]:
        """As above: with s = K - m, s log(p/(1 - p)) less two differences of logarithms of factorials. What these are short by, s log m and -s log(n - m), is
        added to the factor of s. Where both are, that is the logarithm of p (n - m)/((1 - p) m) = 1 + (np - m)/((1 - p) m). np - m is between -p and 1 - p
        and loses 2^-53, and (1 - p) m is above 100 and within 2^-52 of itself, since m and n - m are at least 256: the error is below 2^-50 of the
        logarithm and 2^-52/((1 - p) m)."""
        m, n = self.mode[at], self.n[at]
        steps = k - m
        a, error, far = difference(k, m)
        b, more, beyond = difference(n - k, n - m)
        terms = [
            self.logs[0][at],
            -self.logs[1][at],
            np.where(far, -self.logs[2][at], 0.0),
            np.where(beyond, self.logs[3][at], 0.0),
        ]
        factor, size = sum(terms), sum(np.abs(t) for t in terms)
        both = far & beyond
        factor = np.where(both, self.far[at], factor)
        size = np.where(both, np.abs(factor) + 0.25 / self.short[at], size)
        power = steps * factor
        return power - (a + b), (np.abs(steps) * size + np.abs(a) + np.abs(b)) * 2.0**-49 + error + more

    def exact(self, at: int) -> tuple[Fraction, int]:
        return int(self.n[at]) * Fraction(float(self.p[at])), int(self.mode[at])

    def possible(self, k: int, at: int) -> bool:
        return 0 <= k <= int(self.n[at])

    def ratio(self, k: int, at: int) -> Fraction:
        n, m, p = int(self.n[at]), int(self.mode[at]), Fraction(float(self.p[at]))
        odds = p / (1 - p)
        if k >= m:
            return odds ** (k - m) * math.prod(range(n - k + 1, n - m + 1)) / math.prod(range(m + 1, k + 1))
        return math.prod(range(k + 1, m + 1)) / (odds ** (m - k) * math.prod(range(n - m + 1, n - k + 1)))

    def log_ratio_within(self, k: int, at: int, by: Arithmetic) -> Enclosure:
        n, m, p = int(self.n[at]), int(self.mode[at]), Fraction(float(self.p[at]))
        parts = [_log_factorial_within(j, by) for j in (m, n - m, k, n - k)]
        return by.of(k - m) * (by.of(p).ln() - by.of(1 - p).ln()) + parts[0] + parts[1] - parts[2] - parts[3]


def _accepted_exactly(law: Any, k: int, u: Fraction, at: int) -> bool:
    """Whether U^2 <= f(K)/f(m). Only where many digits leave it undecided are long products made."""
    if not law.possible(k, at):
        return False
    if abs(k - law.exact(at)[1]) > _RATIONAL:
        for by in precisions():
            decided = law.log_ratio_within(k, at, by).below(by.of(2) * by.of(u).ln())
            if decided is not None:
                return not decided
    return bool(u * u <= law.ratio(k, at))


def _fill(place: tuple[int, int, int], out: _A, law_of: Callable[[_A], Any]) -> None:
    sequences = Sequences(place)
    for start in range(0, out.size, CHUNK):
        chunk = np.arange(start, min(start + CHUNK, out.size))
        law = law_of(chunk)

        def once(t: int, index: _A, law: Any = law, start: int = start) -> tuple[_A, _A, _A]:
            """K - floor(mu) is the floor of a number that is within 2^-51 of the quotient, and 2^-52 of the sum and of 1, of itself."""
            at = index - start
            u = (sequences.integers(2 * t - 1, index) + 1.0) * 2.0**-53
            v = sequences.integers(2 * t, index) * 2.0**-53
            steps = law.h[at] * (v - 0.5) / u
            w = law.part[at] + steps
            error = (np.abs(steps) + np.abs(w) + 1.0) * 2.0**-51
            k = law.whole[at] + np.floor(w)
            accepted = k == law.mode[at]  # U is at most 1
            undecided = np.abs(w - np.rint(w)) <= error
            open_ = np.nonzero(~(law.rejected(k, at) | accepted))[0]
            right, error = law.log_ratio(k[open_], at[open_])
            left = 2.0 * _core.ufuncs["log"](u[open_])
            accepted[open_] = left <= right
            undecided[open_] |= np.abs(right - left) <= error + np.abs(left) * 2.0**-51
            return np.where(accepted, k, 0.0).astype(np.int64), accepted, undecided

        def exactly(t: int, element: int, law: Any = law, start: int = start) -> tuple[bool, int]:
            at = np.array([element])
            u = Fraction(int(sequences.integers(2 * t - 1, at)[0]) + 1, 2**53)
            v = Fraction(int(sequences.integers(2 * t, at)[0]), 2**53)
            place = law.exact(element - start)[0] + Fraction(1, 2)
            k = math.floor(place + Fraction(float(law.h[element - start])) * (v - Fraction(1, 2)) / u)
            return _accepted_exactly(law, k, u, element - start), k

        made = np.empty(chunk.size, np.int64)
        attempts(chunk, once, exactly, made)
        out[chunk] = made


def poisson(place: tuple[int, int, int], mean: _A, out: _A) -> None:
    """Fills out, one axis of int64. mean, at most 2^52, has its shape; a mean of 0 gives 0."""
    zero = mean == 0.0
    mean = np.where(zero, 1.0, mean)
    _fill(place, out, lambda chunk: _Poisson(mean[chunk]))
    out[zero] = 0


def binomial(place: tuple[int, int, int], n: _A, p: _A, out: _A) -> None:
    """Fills out, one axis of int64. n, whole numbers up to 2^52, and p, from 0 to 1, have its shape; chances of 0 and 1 give 0 and n."""
    sure = (p == 0.0) | (p == 1.0)
    chances = np.where(sure, 0.5, p)
    _fill(place, out, lambda chunk: _Binomial(n[chunk].astype(F64), chances[chunk]))
    out[sure] = np.where(p == 1.0, n, 0).astype(np.int64)[sure]
