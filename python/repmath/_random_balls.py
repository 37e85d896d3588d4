"""Two of the three arithmetics for one formula: binary64 with a radius for each element, and enclosures by rationals for what the others leave undecided.

A formula of stochastic() is written once, over arrays that have + - * /, exp, log, sqrt and total. `Balls` evaluates it on whole arrays;
an element whose ball rounds to one number, with its word, is decided. For the others `_random_doubles` evaluates it in double-double on their rows; for the few
that are left, which are boundaries of rounding or lie beside one, `Enclosures` does, at a growing
precision; values that are rational stay exact there.

Radii. Each operation of Balls adds what its own rounding lost, which is known: the error of a sum is the second part of a two-sum, that of a
product fma(a, b, -p), that of a quotient fma(-q, b, a)/b, that of a root fma(-s, s, a)/(s + sqrt(a)) ≤ |fma(-s, s, a)|/s. These remainders are
binary64 numbers where nothing underflows; where a part may have underflowed (magnitudes below 2^-900), 2^-1074 and its image under the
operation are added. exp and log are correctly rounded: half a last place, 2^-53 |v| + 2^-1074. So operations that are exact keep a radius of 0.
A radius is itself computed in binary64 in at most 16 operations of positive numbers, each with a relative error of at most 2^-53 but underflow, and is then
multiplied by 1 + 2^-48 and, if it is not 0, enlarged by 2^-1060: it is an upper bound. A radius that is not a number counts as infinite."""

from collections.abc import Callable
from fractions import Fraction
from math import isfinite, isqrt
from typing import Any, TypeAlias

import numpy as np

import repmath

from . import _core, _random_modes
from ._random_bounds import above as _above
from ._random_bounds import exp_bounds as _exp
from ._random_bounds import log_bounds as _log
from ._random_doubles import evaluate
from ._scope import DIRECTED_MODES

_Array: TypeAlias = np.ndarray
_SMALL, _TINY = 2.0**-900, 2.0**-1074


class Balls:
    """Elements that lie within `radius` of `middle`."""

    def __init__(self, middle: Any, radius: Any = 0.0) -> None:
        self.middle = np.asarray(middle, np.float64)
        self.radius = np.broadcast_to(np.asarray(radius, np.float64), self.middle.shape)

    def _lift(self, other: Any) -> "Balls":
        return other if isinstance(other, Balls) else Balls(other)

    def __neg__(self) -> "Balls":
        return Balls(-self.middle, self.radius)

    def __add__(self, other: Any) -> "Balls":
        other = self._lift(other)
        a, b = self.middle, other.middle
        s = a + b
        t = s - a
        lost = np.abs((a - (s - t)) + (b - t))  # Knuth's two-sum; NaN where s is infinite
        return Balls(s, _above(lost + self.radius + other.radius))

    def __sub__(self, other: Any) -> "Balls":
        return self + -self._lift(other)

    def __mul__(self, other: Any) -> "Balls":
        other = self._lift(other)
        a, b = self.middle, other.middle
        p = a * b
        lost = np.abs(repmath.fma(a, b, -p)) + np.where((np.abs(p) < _SMALL) & (a != 0) & (b != 0), _TINY, 0.0)
        r, s = self.radius, other.radius
        spread = np.where(r > 0, np.abs(b) * r, 0.0) + np.where(s > 0, np.abs(a) * s, 0.0) + r * s
        return Balls(p, _above(np.where(np.isfinite(p), lost, np.inf) + spread))

    def __truediv__(self, other: Any) -> "Balls":
        other = self._lift(other)
        a, b = self.middle, other.middle
        q = a / b
        small = (a != 0) & ((np.abs(a) < _SMALL) | (np.abs(q) < _SMALL))
        lost = np.abs(repmath.fma(-q, b, a) / b) + np.where(small, _TINY + _TINY / np.abs(b), 0.0)
        least = np.abs(b) - other.radius
        moved = self.radius + np.where(other.radius > 0, (np.abs(q) + lost) * other.radius, 0.0)
        spread = np.where(moved > 0, np.where(least > 0, moved / (least * (1 - 2.0**-50)), np.inf), 0.0)
        return Balls(q, _above(np.where(np.isfinite(q), lost, np.inf) + spread))

    def __radd__(self, other: Any) -> "Balls":
        return self._lift(other) + self

    def __rsub__(self, other: Any) -> "Balls":
        return self._lift(other) - self

    def __rmul__(self, other: Any) -> "Balls":
        return self._lift(other) * self

    def __rtruediv__(self, other: Any) -> "Balls":
        return self._lift(other) / self

    def at(self, index: Any) -> "Balls":
        """Elements by NumPy's index."""
        return Balls(self.middle[index], self.radius[index])

    def sqrt(self) -> "Balls":
        a = self.middle
        s = np.asarray(repmath.sqrt(a))
        lost = np.where(s > 0, np.abs(repmath.fma(-s, s, a)) / s + np.where(a < _SMALL, _TINY / s, 0.0), 0.0)
        least = np.sqrt((a - self.radius) * (1 - 2.0**-50))  # |√A - √a| ≤ |A - a|/√min(A, a)
        spread = np.where(self.radius > 0, np.where(a > self.radius, self.radius / least, np.inf), 0.0)
        return Balls(s, _above(lost + spread))

    def exp(self) -> "Balls":
        v = np.asarray(repmath.exp(self.middle))
        lost = np.where(self.middle == 0, 0.0, 2.0**-53 * v + _TINY)
        r = self.radius  # e^r - 1 ≤ r(1 + r) for 0 ≤ r ≤ 1
        spread = np.where(r > 0, np.where(r <= 1, (v + lost) * r * (1 + r), np.inf), 0.0)
        return Balls(v, _above(lost + spread))

    def log(self) -> "Balls":
        a = self.middle
        v = np.asarray(repmath.log(a))
        lost = np.where(a == 1, 0.0, 2.0**-53 * np.abs(v) + _TINY)
        least = (a - self.radius) * (1 - 2.0**-50)
        spread = np.where(self.radius > 0, np.where(least > 0, self.radius / least, np.inf), 0.0)
        return Balls(v, _above(lost + spread))

    def dot(self, other: "Balls") -> "Balls":
        return (self * other).total()

    def total(self, axis: int = -1) -> "Balls":
        """The sum over an axis, which stays with length 1. Sums of middles are exact and rounded once; so is what that lost."""
        s = np.asarray(repmath.sum(self.middle, axis=axis, keepdims=True))
        rest = np.asarray(repmath.sum(np.concatenate((self.middle, -s), axis), axis=axis, keepdims=True))
        spread = np.asarray(repmath.sum(self.radius, axis=axis, keepdims=True))
        return Balls(s, _above(np.abs(rest) + spread))


def _floor(x: Fraction, bits: int) -> Fraction:
    """x rounded down to so many bits."""
    n, d = x.numerator, x.denominator
    if n == 0:
        return x
    shift = bits - (abs(n).bit_length() - d.bit_length())
    return Fraction((n << shift) // d) / (1 << shift) if shift >= 0 else Fraction((n // (d << -shift)) << -shift)


class Interval:
    """low ≤ value ≤ high, to about `bits` bits; equal ends are the value."""

    __slots__ = ("bits", "high", "low")

    def __init__(self, low: Fraction, high: Fraction, bits: int) -> None:
        if low != high:
            low, high = _floor(low, bits), -_floor(-high, bits)
        self.low, self.high, self.bits = low, high, bits

    def _lift(self, other: Any) -> "Interval":
        if isinstance(other, Interval):
            return other
        value = Fraction(float(other))
        return Interval(value, value, self.bits)

    def __neg__(self) -> "Interval":
        return Interval(-self.high, -self.low, self.bits)

    def __add__(self, other: Any) -> "Interval":
        other = self._lift(other)
        return Interval(self.low + other.low, self.high + other.high, self.bits)

    def __sub__(self, other: Any) -> "Interval":
        return self + -self._lift(other)

    def __mul__(self, other: Any) -> "Interval":
        other = self._lift(other)
        ends = [a * b for a in {self.low, self.high} for b in {other.low, other.high}]
        return Interval(min(ends), max(ends), self.bits)

    def __truediv__(self, other: Any) -> "Interval":
        other = self._lift(other)
        if other.low <= 0 <= other.high:
            raise ZeroDivisionError("a divisor that is not told from 0")
        ends = [a / b for a in {self.low, self.high} for b in {other.low, other.high}]
        return Interval(min(ends), max(ends), self.bits)

    def __radd__(self, other: Any) -> "Interval":
        return self._lift(other) + self

    def __rsub__(self, other: Any) -> "Interval":
        return self._lift(other) - self

    def __rmul__(self, other: Any) -> "Interval":
        return self._lift(other) * self

    def __rtruediv__(self, other: Any) -> "Interval":
        return self._lift(other) / self

    def exp(self) -> "Interval":
        if self.low == self.high == 0:
            return Interval(Fraction(1), Fraction(1), self.bits)
        return Interval(_exp(self.low, self.bits)[0], _exp(self.high, self.bits)[1], self.bits)

    def log(self) -> "Interval":
        if self.low == self.high == 1:
            return Interval(Fraction(0), Fraction(0), self.bits)
        one = Fraction(0), Fraction(0)
        low, high = (one if v == 1 else _log(v, self.bits) for v in (self.low, self.high))
        return Interval(low[0], high[1], self.bits)

    def sqrt(self) -> "Interval":
        ends = []
        for v, up in ((self.low, 0), (self.high, 1)):
            n, d = isqrt(v.numerator), isqrt(v.denominator)
            if n * n == v.numerator and d * d == v.denominator:
                ends.append(Fraction(n, d))
                continue
            shift = 2 * max(self.bits - (v.numerator.bit_length() - v.denominator.bit_length()) // 2 + 8, 0)
            ends.append(Fraction(isqrt((v.numerator << shift) // v.denominator) + up, 1 << (shift // 2)))
        return Interval(ends[0], ends[1], self.bits)


_NONE = Fraction(0)


def _root(square: Fraction) -> Fraction | None:
    """The root, if it is rational."""
    n, d = isqrt(square.numerator), isqrt(square.denominator)
    return Fraction(n, d) if n * n == square.numerator and d * d == square.denominator else None


def _over_roots(parts: list[Interval], squares: list[Interval]) -> Fraction | None:
    """The sum of a/√b over pairs of exact numbers, if it is rational.

    Terms whose b have rational roots of their ratios, b/c = r², are one: a/√b = (a/r)/√c. The roots of numbers no two of which have such a ratio are linearly
    independent over the rational numbers (Besicovitch, 1940), so that a sum of them is rational only where the factors of all but that of a square are 0."""
    if any(v.low != v.high for v in (*parts, *squares)):
        return None
    classes: list[list[Fraction]] = []  # a number, and the factor of its root's inverse
    for a, b in ((v.low, w.low) for v, w in zip(parts, squares, strict=True)):
        for held in classes if a else ():
            ratio = _root(b / held[0])
            if ratio is not None:
                held[1] += a / ratio
                break
        else:
            if a:
                classes.append([b, a])
    total = Fraction(0)
    for square, factor in classes:
        root = _root(square)
        if factor and root is None:
            return None
        total += factor / root if root else 0
    return total


class Enclosures:
    """Arrays of intervals, with the operations of Balls."""

    def __init__(self, values: Any, bits: int = 0) -> None:
        values = np.asarray(values)
        if values.dtype != object:
            flat = [Interval(f, f, bits) for f in map(Fraction, values.reshape(-1).tolist())]
            made = np.empty(len(flat), object)
            made[:] = flat
            values = made.reshape(values.shape)
        self.values, self.bits = values, bits

    def _pair(self, other: Any) -> Any:
        return other.values if isinstance(other, Enclosures) else Enclosures(np.asarray(other, np.float64), self.bits).values

    def _made(self, values: Any) -> "Enclosures":
        if not isinstance(values, np.ndarray):
            held = np.empty((), object)
            held[()] = values
            values = held
        return Enclosures(values, self.bits)

    def _each(self, name: str) -> "Enclosures":
        made = np.empty(self.values.shape, object)
        known: dict[tuple[Fraction, Fraction], Interval] = {}
        for i in np.ndindex(*made.shape):
            v = self.values[i]
            key = v.low, v.high
            if key not in known:
                known[key] = getattr(v, name)()
            made[i] = known[key]
        return self._made(made)

    def __neg__(self) -> "Enclosures":
        return self._made(-self.values)

    def __add__(self, other: Any) -> "Enclosures":
        return self._made(self.values + self._pair(other))

    def __sub__(self, other: Any) -> "Enclosures":
        return self._made(self.values - self._pair(other))

    def __mul__(self, other: Any) -> "Enclosures":
        return self._made(self.values * self._pair(other))

    def __truediv__(self, other: Any) -> "Enclosures":
        return self._made(self.values / self._pair(other))

    def __radd__(self, other: Any) -> "Enclosures":
        return self._made(self._pair(other) + self.values)

    def __rsub__(self, other: Any) -> "Enclosures":
        return self._made(self._pair(other) - self.values)

    def __rmul__(self, other: Any) -> "Enclosures":
        return self._made(self._pair(other) * self.values)

    def __rtruediv__(self, other: Any) -> "Enclosures":
        return self._made(self._pair(other) / self.values)

    def at(self, index: Any) -> "Enclosures":
        return self._made(self.values[index])

    def exp(self) -> "Enclosures":
        return self._each("exp")

    def log(self) -> "Enclosures":
        return self._each("log")

    def sqrt(self) -> "Enclosures":
        return self._each("sqrt")

    def dot(self, other: "Enclosures") -> "Enclosures":
        return (self * other).total()

    def over_roots(self, squares: "Enclosures") -> "Enclosures":
        """Sums of the elements over the roots of others, over the last axis, which stays with length 1. Where all are exact, and such a sum is rational, it is exact."""
        if self.bits < 512:  # few sums need to know
            return (self / squares.sqrt()).total()
        a, b = np.broadcast_arrays(self.values, squares.values)
        made = np.empty((*a.shape[:-1], 1), object)
        for i in np.ndindex(*a.shape[:-1]):
            exact = _over_roots(a[i].tolist(), b[i].tolist())
            value = None if exact is None else Interval(exact, exact, self.bits)
            made[(*i, 0)] = (
                sum((v / w.sqrt() for v, w in zip(a[i], b[i], strict=True)), Interval(_NONE, _NONE, self.bits))
                if value is None
                else value
            )
        return self._made(made)

    def total(self, axis: int = -1) -> "Enclosures":
        return self._made(np.add.reduce(self.values, axis=axis, keepdims=True))


def over_roots(a: Any, squares: Any) -> Any:
    """The sum of a/√b over the last axis, in each of the arithmetics."""
    return a.over_roots(squares) if isinstance(a, Enclosures) else (a / squares.sqrt()).total()


# Bits of a significand, exponent of the smallest number, and of the first power of two that is too large.
_FORMATS = {"float16": (11, -24, 16), "bfloat16": (8, -133, 128), "float32": (24, -149, 128), "float64": (53, -1074, 1024)}


def rounded(value: Fraction, kind: str, mode: str, word: int) -> float:
    """An exact value under a mode of section 1a of the specification with this word, as a Python number; +0 for 0."""
    if value == 0:
        return 0.0
    bits, least, most = _FORMATS[kind]
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < (Fraction(2) ** exponent)
    quantum = Fraction(2) ** max(exponent - bits + 1, least)
    k, rest = divmod(size, quantum)
    fraction = rest / quantum
    directed = mode in DIRECTED_MODES
    outwards = mode == ("down" if value < 0 else "up") if directed else bool(word >> 31)
    away = fraction > Fraction(2 * word + 1, 2**33) if mode == "stochastic" else fraction != 0 and outwards
    made = (k + away) * quantum
    if directed and not outwards:
        made = min(made, Fraction(2) ** most - Fraction(2) ** (most - bits))
    large = float("inf") if made >= Fraction(2) ** most else float(made)
    return -large if value < 0 else large


def _rounded_parts(high: Any, low: Any, radius: Any, words: Any, kind: str) -> tuple[Any, Any]:
    """Numbers within their radii of high + low, rounded under the mode stochastic to a format below binary64, and where that is decided.

    In units of the last place of |high|, whose last d bits the format has not, the value is a multiple of 2^d plus these bits, f, and p = low/unit, within
    r = radius/unit. It rounds away where f + p > (w + 1/2) 2^(d-32), all of which are numbers of at most 46 bits. f + p, as computed, has its sign and is off by
    2^-53 of it, and r by that of itself. The values stay between two numbers of the format where 0 <= f + p - r and f + p + r <= 2^d."""
    bits, least, most = _FORMATS[kind]
    dropped = 53 - bits
    with np.errstate(all="ignore"):
        size = np.abs(high)
        unit = np.spacing(size)
        p, r = low * np.sign(high) / unit, radius / unit * (1 + 2.0**-50)
        code = size.view(np.int64)
        f = (code & ((1 << dropped) - 1)).astype(np.float64)
        over = f - (words + 0.5) * 2.0 ** (dropped - 32) + p
        normal = (size >= 2.0 ** (least + bits - 1)) & (size < 2.0 ** (most - 1))
        inside = (
            (f + (p - r) * (1 + 2.0**-40) >= 0) & (f + (p + r) * (1 + 2.0**-40) <= 2.0**dropped) & (np.abs(p) + r <= 2.0**20)
        )
        decided = normal & inside & (np.abs(over) * (1 - 2.0**-50) > r)
        made = ((code >> dropped) + (over > 0) << dropped).view(np.float64)
    return np.copysign(made, high), decided


class Last:
    """The last step: binary64 enclosures of results are rounded at random, and what they leave undecided is enclosed again."""

    def __init__(self, dtype: np.dtype[Any], place: tuple[str, int, int, int], skip: Any = False) -> None:
        self.dtype, self.place = dtype, place  # mode, seed, stream, first element
        self.skip = skip  # elements whose results the caller knows

    def settle(
        self, middle: Any, radius: Any, enclose: Callable[[list[int], int], list[Interval]], nearer: Any = None
    ) -> Any:
        """`nearer(places)` gives high and low parts and radii of the results at these places in C order, `enclose(places, bits)` intervals."""
        if self.dtype == np.float64:  # balls are no nearer than its numbers: all but exact zeros are computed again
            made = np.zeros(np.shape(middle))
            undecided = (np.asarray(middle) != 0) | (np.asarray(0.0 if radius is None else radius) != 0)
        else:
            made, undecided = _random_modes.balls(middle, radius, self.dtype, self.place)
        left = np.flatnonzero(undecided & ~np.broadcast_to(self.skip, made.shape))
        if left.size:
            self._nearer(made.reshape(-1), left.tolist(), nearer, enclose)
        return made

    def words(self, places: list[int]) -> list[int]:
        _, seed, stream, first = self.place
        if len(places) > 256:
            every = np.empty(places[-1] + 1, np.uint32)
            _core.rounding_words(seed, stream, first, every)
            words: list[int] = every[places].tolist()
            return words
        word, found = np.empty(1, np.uint32), []
        for place in places:
            _core.rounding_words(seed, stream, first + place, word)
            found.append(int(word[0]))
        return found

    def _nearer(self, flat: Any, places: list[int], nearer: Any, enclose: Callable[[list[int], int], list[Interval]]) -> None:
        """Writes the results at these places."""
        word = dict(zip(places, self.words(places), strict=True))
        if nearer is not None:
            every, rest = [np.broadcast_to(v, len(places)) for v in nearer(places)], []
            if self.place[0] == "stochastic" and self.dtype != np.float64:
                words = np.fromiter(word.values(), np.float64, len(places))
                high, low, radius = map(np.ascontiguousarray, every)
                made, decided = _rounded_parts(high, low, radius, words, self.dtype.name)
                where = np.asarray(places)
                flat[where[decided]] = made[decided]
                places, every = where[~decided].tolist(), [v[~decided] for v in every]
            for place, *parts in zip(places, *(v.tolist() for v in every), strict=True):
                if all(map(isfinite, parts)):
                    first, second, spread = map(Fraction, parts)
                    value = self._one(first + second - spread, first + second + spread, word[place])
                    if value is not None:
                        flat[place] = value
                        continue
                rest.append(place)
            places = rest
        if places:
            self._enclosed(flat, places, word, enclose)

    def enclosed(self, flat: Any, places: list[int], enclose: Callable[[list[int], int], list[Interval]]) -> None:
        """Writes the results at these places by enclosures alone."""
        self._enclosed(flat, places, dict(zip(places, self.words(places), strict=True)), enclose)

    def _one(self, low: Fraction, high: Fraction, word: int) -> float | None:
        """The one result of these bounds, if there is one: results grow with the value, and those of numbers below 0 have a sign."""
        kind, mode = self.dtype.name, self.place[0]
        first = rounded(low, kind, mode, word)
        if low == high:
            return first
        return first if low * high > 0 and first == rounded(high, kind, mode, word) else None

    def _enclosed(self, flat: Any, rest: list[int], word: Any, enclose: Callable[[list[int], int], list[Interval]]) -> None:
        """Writes the results at these places."""
        for precision in (128, 512, 2048, 8192, 32768):
            again = []
            for i, v in zip(rest, enclose(rest, precision), strict=True):
                value = self._one(v.low, v.high, word[i])
                if value is None:
                    again.append(i)
                else:
                    flat[i] = value
            rest = again
            if not rest:
                return
        raise ValueError("a result is nearer to a threshold of its rounding than 2**-32000 of it")

    def formula(self, formula: Callable[..., Any], *inputs: Any, place: Callable[[Any], Any] = lambda a: a) -> Any:
        """The results of a formula. The inputs are binary64 arrays of one number of axes, finite; along the first they have the length of the
        result, or 1. place brings the formula's array into the layout of the result."""
        held = [np.asarray(v, np.float64) for v in inputs]
        with _core.Environment(), np.errstate(all="ignore"):
            ball = formula(*(Balls(v) for v in held))
        shape = ball.middle.shape
        origin = place(np.arange(ball.middle.size).reshape(shape)).reshape(-1)

        def where(places: Any) -> Any:
            return np.divmod(origin[places], max(1, ball.middle.size // max(1, shape[0])))

        return self.settle(place(ball.middle), place(ball.radius), *self._again(formula, held, where))

    def some(self, flat: Any, left: Any, where: tuple[Any, Any], formula: Callable[..., Any], *inputs: Any) -> None:
        """Writes the results at the places `left`, in order, of a flat array: those of the formula at rows and columns `where`. The inputs are as
        for `formula`, of some rows."""
        held = [np.asarray(v, np.float64) for v in inputs]
        rows, columns = where

        def of(places: Any) -> Any:
            at = np.searchsorted(left, places)
            return rows[at], columns[at]

        enclose, nearer = self._again(formula, held, of)
        self._nearer(flat, left.tolist(), nearer, enclose)

    def _again(self, formula: Callable[..., Any], held: list[Any], where: Callable[[Any], Any]) -> Any:
        """Enclosures and balls in double-double of the formula's array at places of the result, whose rows and columns `where` gives."""

        def enclose(places: list[int], bits: int) -> list[Interval]:
            known: dict[int, Any] = {}
            found = []
            for row, column in zip(*(v.tolist() for v in where(np.asarray(places))), strict=True):
                if row not in known:
                    part = (v if v.shape[0] == 1 else v[row : row + 1] for v in held)
                    made = formula(*(Enclosures(v, bits) for v in part)).values
                    known[row] = made.reshape(-1)
                found.append(known[row][column])
            return found

        return enclose, lambda places: evaluate(formula, held, *where(np.asarray(places)))
