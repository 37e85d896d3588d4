"""Gamma numbers by the method of Marsaglia and Tsang ("A simple method for generating gamma variables", ACM TOMS 26(3), 2000), with exact decisions.

With b = a, or a + 1 where a < 1, and S = 9b - 3, an attempt has a binary64 number x and u = m 2^-53. z = x/sqrt(S) is accepted if z > -1 and
    log u < R(z) = S/3 (log(1 + z) - z + z^2/2 - z^3/3),
which is x^2/2 + d - d v + d log v of the paper, d = S/9, v = (1 + z)^3. The number is d v, times U^(1/a) where a < 1.

Decisions and values are never undecided for ever. log u = R(z) would make u/(1 + z)^(S/3) = exp(S/3 (-z + z^2/2 - z^3/3)), where S is rational, so that the left
side and the exponent are algebraic: the exponent is 0 (Lindemann), which has no root but z = 0, and x is never 0. And S = 3 (3p - 2^k)/2^k for b = p 2^-k has one
factor 3 more than a square: sqrt(S) is irrational. So d v = A + B sqrt(S), with rational A > 0 and B = x (3S + x^2)/(9S), not 0, is irrational, and so are
its powers, but for A = 0; hence neither it nor its product with U^(1/a), some power of which is rational, is a rational number, as boundaries are."""

import functools
from fractions import Fraction
from typing import Any

import numpy as np

from .. import _core
from .._dtypes import F64
from .._narrow import narrow
from . import pairs
from .enclosures import Arithmetic, Enclosure, precisions, round_enclosure
from .pairs import Pair
from .sequences import CHUNK, Sequences, attempts

_A = np.ndarray[Any, Any]


# ------------------------------------------------------------------------------------------------------------ the decision


def _right_side(z: _A, d: _A) -> tuple[_A, _A]:
    """R(z), and a bound on its error, of z within 2^-51 and d within 2^-50 of themselves, 1 + z >= 2^-40.

    Beyond 1/8 by its terms: each rounds by less than 2^-51 of itself with what follows, and R has the slope -3d z^3/(1 + z). Within it by the series
    -3d z^4 (1/4 - z/5 + ...) of 13 terms, which leaves out less than 2^-40.6 of R; z, d and the roundings change it by less than 2^-47."""
    far = np.abs(z) > 0.125
    series = np.full_like(z, 1.0 / 16.0)
    for k in range(15, 3, -1):
        series = 1.0 / k - z * series
    square = z * z
    right = -3.0 * d * square * square * series
    error = np.abs(right) * 2.0**-40
    if far.any():
        y, w, c = z[far], square[far], 3.0 * d[far]
        log = _core.ufuncs["log1p"](y)
        right[far] = c * (((log - y) + 0.5 * w) - w * y / 3.0)
        size = np.abs(log) + np.abs(y) + w + np.abs(w * y) + w * w / (1.0 + y)
        error[far] = c * size * 2.0**-49
    return right, error


def _decide(x: _A, m: _A, d: _A, s: _A) -> tuple[_A, _A]:
    """Which attempts are accepted, and which are undecided: of x/s and u = m 2^-53.

    -R is at most 3d/4 z^4/(1 - |z|), since the series of log(1 + z) goes on with terms of at most |z|^k/4, and at most b = 3d/2 z^4 where |z| <= 1/2; u < 1 - b is
    accepted, for log(1 - b) <= -b. b is within 2^-46 of itself, and below 1 there. R may have lost 2^-60 where its products were subnormal."""
    z = x / s
    size, u = np.abs(z), m * 2.0**-53
    square = z * z
    accepted = (size < 0.5) & (u + 1.5 * d * square * square < 1.0 - 2.0**-40)
    undecided = np.zeros(x.shape, bool)
    rest = np.nonzero(~accepted & (z > -1.0 - 2.0**-39))[0]
    z, d, u = z[rest], d[rest], u[rest]
    inside = z > -1.0 + 2.0**-39
    with np.errstate(divide="ignore"):
        log = _core.ufuncs["log"](u)
    right, error = _right_side(np.where(inside, z, 0.0), d)
    with np.errstate(invalid="ignore"):
        gap = right - log  # inf where u is 0
        near = ~(np.abs(gap) > error + np.where(np.isinf(log), 0.0, np.abs(log)) * 2.0**-51 + 2.0**-60)
    accepted[rest], undecided[rest] = inside & (gap > 0.0), ~inside | near
    return accepted, undecided


def _shape_of(a: float) -> Fraction:
    """S."""
    return 9 * (Fraction(a) + (a < 1)) - 3


def _accepted_exactly(x: float, m: int, a: float) -> bool:
    s, y = _shape_of(a), Fraction(x)
    if x < 0 and y * y >= s:
        return False
    if m == 0:
        return True
    for by in precisions():
        z = by.of(x) / by.of(s).sqrt()
        w = by.of(1) + z
        if w.low <= 0:
            continue
        square = z * z
        right = by.of(s / 3) * (w.ln() - z + square * by.of(Fraction(1, 2)) - square * z / by.of(3))
        decided = by.of(Fraction(m, 2**53)).ln().below(right)
        if decided is not None:
            return decided
    raise ArithmeticError("a decision that is never equality takes more than 3,000 digits")


# --------------------------------------------------------------------------------------------------------------- the value


class _Numbers:
    """What a chunk of gamma numbers has: the accepted x; S, its root and d in binary64; for a < 1 the logarithm of U, divided by a."""

    def __init__(self, sequences: Sequences, index: _A, a: _A) -> None:
        self.a, self.small = a, a < 1.0
        self.b = np.where(self.small, a + 1.0, a)
        self.d = (9.0 * self.b - 3.0) / 9.0
        self.s = np.sqrt(9.0 * self.b - 3.0)
        start = int(index[0])

        def once(t: int, which: _A) -> tuple[_A, _A, _A]:
            at = which - start
            x = sequences.normals(2 * t - 1, which)
            return x, *_decide(x, sequences.integers(2 * t, which), self.d[at], self.s[at])

        def exactly(t: int, element: int) -> tuple[bool, float]:
            at = np.array([element])
            x = float(sequences.normals(2 * t - 1, at)[0])
            return _accepted_exactly(x, int(sequences.integers(2 * t, at)[0]), float(a[element - start])), x

        self.x = np.empty(index.size)
        attempts(index, once, exactly, self.x)
        self.draws = sequences.draws(0, index) if self.small.any() else np.zeros(index.size, np.uint64)

    def roughly(self) -> tuple[_A, _A, _A, _A]:
        """d v and log(U)/a in binary64, with bounds on the relative error of the one and the error of the other.

        z is within 2^-51 of itself, 1 + z rounds by 2^-53, three factors and d, which is within 2^-50. U and its logarithm are within 2^-53 each: 2^-52 of an
        error of the logarithm, and 2^-52 of itself and of the quotient's rounding."""
        z = self.x / self.s
        w = 1.0 + z
        error = np.where(w > 2.0**-30, 3.0 * np.abs(z) / np.maximum(w, 2.0**-30) * 2.0**-51 + 2.0**-49, 1.0)
        power, lost = np.zeros_like(z), np.zeros_like(z)
        if self.small.any():
            log = _core.ufuncs["log"]((self.draws[self.small].astype(F64) + 0.5) * 2.0**-64)
            a = self.a[self.small]
            power[self.small] = log / a
            lost[self.small] = 2.0**-51 / a + np.abs(log / a) * 2.0**-51
        return self.d * w * w * w, power, error, lost

    def closely(self) -> tuple[Pair, Pair, _A, _A]:
        """The same in two parts.

        S is exact up to 2^-98, since 9b and 9b - 3 >= 6 round once; z is within 2^-96 of itself; three factors 1 + z, their products and d round by less than
        2^-95 together. The logarithm is within 2^-86; the quotient rounds by 2^-98 of itself."""
        nothing = np.zeros_like(self.x)
        b = pairs.two_sum(self.a, np.where(self.small, 1.0, 0.0))
        square = pairs.plus(pairs.times(b, (nothing + 9.0, nothing)), (nothing - 3.0, nothing))
        z = pairs.over((self.x, nothing), pairs.root(square))
        w = pairs.plus((nothing + 1.0, nothing), z)
        d = pairs.over(square, (nothing + 9.0, nothing))
        value = pairs.times(pairs.times(d, w), pairs.times(w, w))
        error = np.where(w[0] > 2.0**-30, np.abs(z[0]) / np.maximum(w[0], 2.0**-30) * 2.0**-90 + 2.0**-90, 1.0)
        power, lost = (nothing.copy(), nothing.copy()), nothing.copy()
        if self.small.any():
            small = self.small
            high, low = (
                (self.draws[small] >> np.uint64(32)).astype(F64),
                (self.draws[small] & np.uint64(0xFFFFFFFF)).astype(F64),
            )
            log = pairs.log(pairs.fast_two_sum(high * 2.0**-32, (low + 0.5) * 2.0**-64))
            a = self.a[small]
            quotient = pairs.over(log, (a, np.zeros_like(a)))
            power[0][small], power[1][small] = quotient
            lost[small] = 2.0**-85 / a + np.abs(quotient[0]) * 2.0**-95
        return value, power, error, lost

    def enclose(self, at: int, by: Arithmetic) -> Enclosure:
        """One of the numbers. (Where the digits do not tell it from 0, it is from 0 to d.)"""
        s, a = _shape_of(float(self.a[at])), float(self.a[at])
        d = by.of(s / 9)
        w = by.of(1) + by.of(float(self.x[at])) / by.of(s).sqrt()
        value = d * (w * w * w) if w.low > 0 else Enclosure(by, by.of(0).low, (d * by.of(8)).high)
        if self.small[at]:
            u = by.of(Fraction(2 * int(self.draws[at]) + 1, 2**65))
            value = value * (u.ln() / by.of(a)).exp()
        return value


# ---------------------------------------------------------------------------------------------------------------- rounding

_LEAST, _MOST = 2.0**-900, 2.0**900


def _rounded(x: _A, dtype: np.dtype[Any]) -> _A:
    """float64 numbers rounded once to a narrower format, which NumPy does but for bfloat16."""
    made: _A = x.astype(dtype) if dtype.kind == "f" else narrow(x, dtype, lambda at: np.zeros(at[0].shape))
    return made


def _test(high: _A, low: _A, error: _A, dtype: np.dtype[Any]) -> tuple[_A, _A]:
    """The number high + low, within error of itself, rounded to the format, and where that is undecided: also beyond the range in which no step is subnormal,
    and for errors beyond 2^-10, of which products would count."""
    with np.errstate(all="ignore"):
        outside = ~((high > _LEAST) & (high < _MOST) & (error < 2.0**-10))
        if dtype == F64:
            width = high * error * (1.0 + 2.0**-40) + np.abs(low) * 2.0**-51
            below, above = high + (low - width), high + (low + width)
            return high + low, outside | (below != above)
        width = high * error * (1.0 + 2.0**-40) + high * 2.0**-51
        below, above = (_rounded(v, dtype) for v in (high - width, high + width))
        return below, outside | ~(below == above)


_FAR = 500.0  # exp(-500) is above 2^-722


def _exp(t: Any, close: bool) -> Any:
    """The exponential of t, NaN beyond +-500."""
    inside = np.abs(t[0]) < _FAR
    if not close:
        return np.where(inside, _core.ufuncs["exp"](np.where(inside, t[0], 0.0)), np.nan), t[1]
    high, low = pairs.exp((np.where(inside, t[0], 0.0), np.where(inside, t[1], 0.0)))
    return np.where(inside, high, np.nan), low


def _product(parts: Any, close: bool) -> tuple[_A, _A, _A]:
    """value exp(power): high, low, and a bound on the relative error. The exponential rounds by 2^-88, or by 2^-53."""
    value, power, error, lost = parts
    if not close:
        return value * _exp((power, power), False)[0], np.zeros_like(value), error + 2.0 * lost + 2.0**-50
    if power[0].any():
        value = pairs.times(value, _exp(power, True))
    return value[0], value[1], error + 2.0 * lost + 2.0**-86


def _scaled(numbers: _Numbers, at: int, factor: float, by: Arithmetic) -> Enclosure:
    return by.of(factor) * numbers.enclose(at, by)


def part_of(v: Any, index: _A) -> Any:
    """Elements of an array or of a pair of them."""
    return (v[0][index], v[1][index]) if isinstance(v, tuple) else v[index]


def _vanish(parts: Any, factor: _A, dtype: np.dtype[Any]) -> _A:
    """Where the number rounds to 0, by its logarithm: below -750 it is less than 2^-1081, below -110 for narrow formats less than 2^-158. Where the errors that
    are known are below 2^-10, the power is below 2^41, and the sum of three logarithms is within 2^-8."""
    value, power, error, lost = parts
    first, exponent = (value[0], power[0]) if dtype == F64 else (value, power)
    with np.errstate(divide="ignore", invalid="ignore"):
        logarithm = np.log(first) + exponent + np.log(factor)
        small: _A = (logarithm < (-750.0 if dtype == F64 else -110.0)) & (error + 2.0 * lost < 2.0**-10)
    return small


def gamma(place: tuple[int, int, int], a: _A, scale: _A, out: _A) -> None:
    """Fills out, one axis: RN(scale X). a and scale have its shape."""
    sequences = Sequences(place)
    for start in range(0, out.size, CHUNK):
        index = np.arange(start, min(start + CHUNK, out.size))
        numbers, factor = _Numbers(sequences, index, a[index]), scale[index]
        close = out.dtype == F64
        parts = numbers.closely() if close else numbers.roughly()
        high, low, error = _product(parts, close)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            if close:
                high, low = pairs.times((high, low), (factor, np.zeros_like(factor)))
            else:
                high = high * factor
        made, undecided = _test(high, low, error, out.dtype)
        rest = np.nonzero(undecided)[0]
        gone = _vanish([part_of(v, rest) for v in parts], factor[rest], out.dtype)
        made[rest[gone]] = 0
        for at in rest[~gone].tolist():
            made[at] = round_enclosure(functools.partial(_scaled, numbers, at, float(factor[at])), out.dtype)
        out[index] = made


# --------------------------------------------------------------------------------------------------------------- Dirichlet


def _shares(parts: Any, rows: int, dtype: np.dtype[Any]) -> tuple[_A, _A, _A, _A]:
    """Each number of a row divided by the row's sum: high, low, a bound on the relative error, and which ones round to 0.

    Powers are taken from that of the row's largest number. A number whose logarithm is less by 800, for narrow formats 120, is below 2^-1150, or 2^-170, of the
    sum: it rounds to 0. What is below 2^-280 of the sum is left out of it. The difference of two powers rounds by 2^-98, or 2^-53, of itself, which is below
    500."""
    value, power, error, lost = parts
    close = dtype == F64
    if not close:
        value, power = (value, np.zeros_like(value)), (power, np.zeros_like(value))
    with np.errstate(divide="ignore"):
        logarithm = power[0] + np.log(value[0])
    each = logarithm.size // rows
    pick = np.arange(rows), np.argmax(logarithm.reshape(rows, each), axis=1)

    def largest(v: _A) -> _A:
        return np.repeat(v.reshape(rows, each)[pick], each)

    lost = 2.0 * (lost + largest(lost))
    difference = pairs.plus(power, (-largest(power[0]), -largest(power[1])))
    error = error + lost + (2.0**-86 if close else np.abs(difference[0]) * 2.0**-52 + 2.0**-50)
    known = error < 2.0**-10
    less = largest(logarithm) - logarithm
    gone, tiny = known & (less > (800.0 if close else 120.0)), known & (less > 200.0)
    weight = _exp(difference, close)
    weight = pairs.times(value, weight) if close else (value[0] * weight[0], value[1])
    parts = [np.where(tiny, 0.0, w).reshape(rows, each) for w in weight]
    total: Any = parts[0][:, 0], parts[1][:, 0]
    for k in range(1, each):
        term = parts[0][:, k], parts[1][:, k]
        total = pairs.plus(total, term) if close else (total[0] + term[0], total[1])
    whole = np.repeat(total[0], each), np.repeat(total[1], each)
    worst = np.repeat(np.where(tiny, 0.0, error).reshape(rows, each).max(axis=1), each)
    error = (error + worst + (each + 2) * (2.0**-96 if close else 2.0**-52)) * (1.0 + 2.0**-8)
    high, low = pairs.over(weight, whole) if close else (weight[0] / whole[0], weight[1])
    return high, low, error, gone & (worst < 2.0**-10)


def shares(place: tuple[int, int, int], a: _A, out: _A, asked: int) -> None:
    """Fills out, rows of numbers: RN(X_c/(X_0 + X_1 + ...)), of as many gamma numbers. a has its shape. Only the first of a row, as many as are asked for,
    are made whatever it takes."""
    sequences, (rows, each) = Sequences(place), out.shape
    step = max(CHUNK // max(each, 1), 1)
    close = out.dtype == F64
    for start in range(0, rows, step):
        count = min(step, rows - start)
        index = np.arange(start * each, (start + count) * each)
        numbers = _Numbers(sequences, index, a[start : start + count].ravel())
        with np.errstate(invalid="ignore", over="ignore", under="ignore"):
            high, low, error, gone = _shares(numbers.closely() if close else numbers.roughly(), count, out.dtype)
            made, undecided = _test(high, low, error, out.dtype)
        made[gone] = 0
        undecided &= ~gone
        undecided.reshape(count, each)[:, asked:] = False
        for at in np.nonzero(undecided)[0].tolist():
            made[at] = round_enclosure(functools.partial(_share, numbers, at, each), out.dtype)
        out[start : start + count] = made.reshape(count, each)


def _share(numbers: _Numbers, at: int, each: int, by: Arithmetic) -> Enclosure:
    """1/(1 + the others over this one); from 0 to 1 where this one is not told from 0."""
    row = at - at % each
    this = numbers.enclose(at, by)
    others = by.of(0)
    for k in range(row, row + each):
        if k != at:
            others = others + numbers.enclose(k, by)
    if not this.low > 0:
        return Enclosure(by, by.of(0).low, by.of(1).high)
    return by.of(1) / (by.of(1) + others / this)
