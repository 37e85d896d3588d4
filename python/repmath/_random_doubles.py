"""The arithmetic of `_random_balls` in double-double: what binary64 leaves undecided, and some 2^20 times less remains.

An element is within `radius` of the real number high + low. Nothing else is asked of the three: low may be as large as high. So bounds need no analysis of
the operands, only what each operation itself lost, which is measured:

- A sum. Knuth's two-sum is exact for any two numbers, so h + l + f + g is the sum of the operands where f and g are the errors of the last two additions:
  f is measured by a two-sum, and |g| ≤ 2^-53 of its sum. An addition loses nothing in underflow.
- A product. High parts: fma(a, b, -p) is exact but for underflow, for which 2^-1074 is added below 2^-900. Each crossed product and their sum is off by at
  most 2^-53 of itself and 2^-1075; the product of the low parts is left out and counts whole, with 2^-1074 for what it loses in underflow: together 2^-1071.
- A quotient. For any q, A/B - q = (A - B q)/B; the numerator is a ball of this arithmetic, for q = q1 + q2, and holds the radii of a and b.
- A root. For any t > 0, √A - t = (A - t²)/(√A + t), which is at most |A - t²|/t; again the numerator is a ball.
- exp. e^a = 2^k 2^(j/64) e^r, |r| < 0.006; see there.
- log. For any y, log A = y + log1p(z) with z = A e^-y - 1, a ball; |log1p(z) - z| ≤ 0.51 z² for |z| ≤ 2^-20.
- A total. Exact sums, rounded once, of all parts; of these less the first; and of these less both, which is what is lost.

Each radius is computed by at most 16 operations of positive numbers and enlarged as those of `Balls` (`above`). Quotients that go into a radius have 2^-1074
added, so that none is lost in underflow. What overflows is infinite or NaN in a part or in the radius, and stays so: it decides nothing."""

import contextlib
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

import repmath

from . import _core
from ._random_bounds import above as _above
from ._random_bounds import exp_bounds, log_bounds

_Array: TypeAlias = np.ndarray
_SMALL, _TINY, _HALF_PLACE = 2.0**-900, 2.0**-1074, 2.0**-53


def _two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def _size(a: Any) -> Any:
    return 0.0 if a is None else np.abs(a)


def _or_zero(a: Any) -> Any:
    return 0.0 if a is None else a


class Totals:
    """The totals of a formula in the order in which it asks for them: counted, made of whole rows, and then given to chosen elements."""

    def __init__(self, last: int) -> None:
        self.last = last  # after so many, Enough is raised
        self.made: list[Doubles] = []

    def of(self, total: "Doubles") -> "Doubles":
        self.made.append(total)
        if len(self.made) == self.last:
            raise Enough
        return total

    def known(self, array: "Doubles") -> "Doubles | None":
        return None


class _Counted(Totals):
    def known(self, array: "Doubles") -> "Doubles | None":
        return self.of(array)


class _Given(Totals):
    def known(self, array: "Doubles") -> "Doubles | None":
        return self.made.pop(0)


class Enough(Exception):
    """All totals are made."""


class Doubles:
    """Elements within `radius` of high + low; None is 0."""

    def __init__(self, high: Any, low: Any = None, radius: Any = None, totals: Totals | None = None) -> None:
        self.high = np.asarray(high, np.float64)
        self.low, self.radius, self.totals = low, radius, totals
        self._own: Doubles | None = None  # the total, if it was made

    def _lift(self, other: Any) -> "Doubles":
        return other if isinstance(other, Doubles) else Doubles(other)

    def _made(self, other: Any, high: Any, low: Any, radius: Any) -> "Doubles":
        return Doubles(high, low, radius, self.totals or (other.totals if other is not None else None))

    def at(self, index: Any) -> "Doubles":
        """Elements by NumPy's index."""
        high, low, radius = (None if v is None else np.broadcast_to(v, self.high.shape)[index] for v in self.parts())
        return Doubles(high, low, radius, self.totals)

    def parts(self) -> tuple[Any, Any, Any]:
        return self.high, self.low, self.radius

    def size(self) -> Any:
        """At least the magnitude of each element."""
        size = np.abs(self.high)
        for v in (self.low, self.radius):
            if v is not None:
                size = size + np.abs(v)
        return size * (1 + 2.0**-50)

    def least(self) -> Any:
        """At most the magnitude of each element, where it is above 0."""
        others = _size(self.low) + _or_zero(self.radius)
        return (np.abs(self.high) - others * (1 + 2.0**-50)) * (1 - 2.0**-50)

    def __neg__(self) -> "Doubles":
        return self._made(None, -self.high, None if self.low is None else -self.low, self.radius)

    def __add__(self, other: Any) -> "Doubles":
        other = self._lift(other)
        plain = type(self.totals) is Totals and type(self) is Doubles and self.from_ is not None and self.high.shape[1] > 1
        if plain and other.high.ndim == 2 and other.high.shape[1] == 1:
            return _Shifted(self, other)
        return self._plus(other)

    def _plus(self, other: "Doubles") -> "Doubles":
        s, t = _two_sum(self.high, other.high)
        lows = [v for v in (self.low, other.low) if v is not None]
        radii = [v for v in (self.radius, other.radius) if v is not None]
        if lows:
            v, w = (lows[0], None) if len(lows) == 1 else _two_sum(*lows)
            c, rest = _two_sum(t, v)
            s, t = _two_sum(s, c)
            if w is not None:
                rest = rest + w
                radii.append(np.abs(rest) * _HALF_PLACE)
            t, lost = _two_sum(t, rest)
            radii.append(np.abs(lost))
        radius = None
        for r in radii:
            radius = r if radius is None else radius + r
        return self._made(other, s, t, None if radius is None else _above(radius))

    def __sub__(self, other: Any) -> "Doubles":
        return self + -self._lift(other)

    def __mul__(self, other: Any) -> "Doubles":
        other = self._lift(other)
        a, b = self.high, other.high
        p = a * b
        e = np.asarray(repmath.fma(a, b, -p))
        radius: Any = None
        faint = np.abs(p) < _SMALL
        if faint.any():
            lost = faint & (a != 0) & (b != 0)
            if lost.any():
                radius = np.where(lost, _TINY, 0.0)
        crossed = [x * y for x, y in ((a, other.low), (b, self.low)) if y is not None]
        if crossed:
            c, lost = crossed[0], np.abs(crossed[0])
            if len(crossed) == 2:
                c = c + crossed[1]
                lost = lost + np.abs(crossed[1]) + np.abs(c)
            e, f = _two_sum(e, c)
            lost = lost * _HALF_PLACE + np.abs(f)
            some = 0.0
            for low in (self.low, other.low):
                some = some + (0.0 if low is None else (low != 0))
            lost = lost + np.minimum(some, 1.0) * 2.0**-1071
            if self.low is not None and other.low is not None:
                lost = lost + np.abs(self.low * other.low)
            radius = lost if radius is None else radius + lost
        r, s = self.radius, other.radius
        if r is not None or s is not None:
            spread: Any = 0.0
            pairs = [(np.abs(a) + _size(self.low), s), (np.abs(b) + _size(other.low), r), (r, s)]
            for x, y in pairs:
                if x is not None and y is not None:  # 2^-1074 stands for what is lost in underflow
                    spread = spread + np.where((x > 0) & (y > 0), x * y + _TINY, 0.0)
            radius = spread if radius is None else radius + spread
        if radius is None and not e.any():
            return self._made(other, p, None, None)
        return self._made(other, *_two_sum(p, e), None if radius is None else _above(radius))

    def __truediv__(self, other: Any) -> "Doubles":
        other = self._lift(other)
        q1 = self.high / other.high
        rest = self - other * q1
        q2 = rest.high / other.high
        left, least = (rest - other * q2).size(), other.least()
        lost = np.where(left == 0, 0.0, np.where(least > 0, left / least + _TINY, np.inf))
        return self._made(other, *_two_sum(q1, q2), _above(lost))

    def __radd__(self, other: Any) -> "Doubles":
        return self._lift(other) + self

    def __rsub__(self, other: Any) -> "Doubles":
        return self._lift(other) - self

    def __rmul__(self, other: Any) -> "Doubles":
        return self._lift(other) * self

    def __rtruediv__(self, other: Any) -> "Doubles":
        return self._lift(other) / self

    def sqrt(self) -> "Doubles":
        s1 = np.sqrt(self.high)
        first = Doubles(s1)
        s2 = np.where(s1 > 0, (self - first * first).high / (s1 + s1), 0.0)
        root = Doubles(*_two_sum(s1, s2))
        left = (self - root * root).size()
        lost = np.where(self.least() > 0, left / (root.high * (1 - 2.0**-50)) + _TINY, np.inf)
        return self._made(None, *root.parts()[:2], _above(np.where(left == 0, 0.0, lost)))

    def exp(self) -> "Doubles":
        """With a = n (log 2)/64 + r and n = 64 k + j: e^a = 2^k P, P = T + T (r + r²/2 + t) with T = 2^(j/64) and t = r³ q(r),
        q(r) = 1/6 + r/24 + ... + r^5/8!, in binary64.

        t stands for e^r - 1 - r - r²/2. What q leaves out is below 1.01 |r|^9/9!, which is 2^-60 of |r|³/6. Horner's scheme rounds by less than
        3 · 2^-53 (1 + |r|) of q, r³ q by 3 · 2^-53 more: together less than 2^-49 of t, for which 2^-48 is taken; 2^-1070 for underflow. r is known to d = |low| +
        radius: since the derivative e^r - 1 - r is below 0.51 r², t moves by at most 0.51 (|r| + d)² d. Below -700, e^a is below 2^-1009."""
        tables = _tables()
        n = np.rint(np.where(np.abs(self.high) <= 700, self.high, 0.0) * 92.332482616893656877)  # 64/log 2
        r = self
        for part in tables.log2[:2]:
            r = r - n * part  # of 37 bits and of 16: exact
        r = r - Doubles(n) * Doubles(tables.log2[2], None, np.asarray(tables.log2_off))
        x, d = r.high, _size(r.low) + _or_zero(r.radius)
        q = np.full(np.shape(x), 1.0 / 40320)
        for whole in (5040, 720, 120, 24, 6):
            q = q * x + 1.0 / whole
        t = x * x * x * q
        off = np.abs(t) * 2.0**-48 + 0.51 * (np.abs(x) + d) ** 2 * d + np.where(x != 0, 2.0**-1070, 0.0)
        s = r + r * r * Doubles(0.5) + Doubles(t, None, _above(off))
        j = n.astype(np.int64) & 63
        e = tables.powers.at(j)
        made = e + e * s
        k = (n.astype(np.int64) >> 6).astype(np.int32)
        high, low = np.ldexp(made.high, k), np.ldexp(_or_zero(made.low), k)
        radius = np.ldexp(_or_zero(made.radius), k) + np.where(k != 0, 2.0**-1072, 0.0)
        radius = np.where(np.abs(x) + d < 0.006, radius, np.inf)
        high = np.where(np.abs(self.high) <= 700, high, 0.0)
        low = np.where(np.abs(self.high) <= 700, low, 0.0)
        radius = np.where(np.abs(self.high) <= 700, radius, np.where((self.high < 0) & (d < 1), 2.0**-1000, np.inf))
        return self._made(None, high, low, _above(radius))

    def log(self) -> "Doubles":
        y = np.asarray(repmath.log(self.high))
        z = self * Doubles(-y).exp() - 1.0
        size = z.size()
        lost = np.where(size <= 2.0**-20, np.where(size > 0, 0.51 * size * size + _TINY, 0.0), np.inf)
        made = z + y
        return self._made(None, made.high, made.low, _above(_or_zero(made.radius) + lost))

    def total(self, axis: int = -1) -> "Doubles":
        """The sum over an axis, which stays with length 1."""
        known = None if self.totals is None else self.totals.known(self)
        if known is not None:
            return known
        made = self._sum(axis)
        return made if self.totals is None else self.totals.of(made)

    def dot(self, other: "Doubles") -> "Doubles":
        """The total of products. Of differences from what a row shares, Σ (a + s)(b + t) = Σ ab + t Σ a + s Σ b + n s t, unless that cancels too much."""
        totals = self.totals
        known = None if totals is None else totals.known(self)
        if known is not None:
            return known
        made = None
        if self.from_ is not None and other.from_ is not None:
            (a, s), (b, t) = self.from_, other.from_
            made = _exact_total((a.high, b.high), products=True) if a.high.shape[1] >= _LONG else (a * b)._sum()
            if t is not None:
                made = made + a._sum() * t
            if s is not None:
                made = made + b._sum() * s
            if s is not None and t is not None:
                made = made + s * t * float(a.high.shape[-1])
            if not (_or_zero(made.radius) <= np.abs(made.high) * 2.0**-62).all():
                made = None
        if made is None:
            made = (self * other)._sum()
        return made if totals is None else totals.of(made)

    @property
    def from_(self) -> Any:
        """Exact numbers, and what is added to all of a row, or None."""
        return (self, None) if self.low is None and self.radius is None and self.high.ndim == 2 else None

    def _sum(self, axis: int = -1) -> "Doubles":
        if self._own is not None and axis == -1:
            return self._own
        parts = [np.asarray(self.high)] + ([] if self.low is None else [np.broadcast_to(self.low, self.high.shape)])
        if axis == -1 and parts[0].ndim == 2 and parts[0].shape[1] >= _LONG:
            made = _exact_total(parts)
        else:
            found = []
            for _ in range(3):
                found.append(np.asarray(repmath.sum(np.concatenate(parts, axis), axis=axis, keepdims=True)))
                parts.append(-found[-1])
            made = Doubles(found[0], found[1], np.abs(found[2]))
        radius = made.radius
        if self.radius is not None:  # of positive numbers, in any order: at most 2^-20 less than the sum for fewer than 2^33
            spread = np.broadcast_to(self.radius, self.high.shape).sum(axis=axis, keepdims=True)
            radius = radius + spread * (1 + 2.0**-18)
        made = Doubles(made.high, made.low, _above(radius), self.totals)
        if axis == -1:
            self._own = made
        return made


_LONG = 2048  # numbers of a row whose sums take no copy


def _exact_total(parts: Any, products: bool = False) -> Doubles:
    """The sums along the rows of all parts, or of the products of two; no copy is made, since new memory takes longer than the sums."""
    shape = np.broadcast_shapes(*(v.shape for v in parts))
    found = np.empty((3, *shape[:1]))
    every = [np.broadcast_to(v, shape) for v in parts]
    left = list(range(shape[0]))
    if (products or len(parts) == 1) and all(v.strides[1] == v.itemsize for v in every):
        _core.sums_in_parts(every[0], every[1] if products else None, found)
        left = np.flatnonzero(~np.isfinite(found[2])).tolist()
    for row in left:
        total = repmath.Accumulator()
        of = [v[row] for v in every]
        if products:
            total.add_products(*of)
        else:
            for v in of:
                total.add(v)
        for i in range(3):
            found[i, row] = total.round()
            total.subtract(found[i, row])
    high, low, radius = found[:, :, None]
    return Doubles(high, low, _above(np.abs(radius)))


class _Shifted(Doubles):
    """Exact numbers and what is added to all of a row, whose sums are made if they are needed."""

    def __init__(self, numbers: Doubles, shift: Doubles) -> None:
        self._from, self.totals, self._own = (numbers, shift), numbers.totals, None

    @property
    def from_(self) -> Any:
        return self._from

    def __getattr__(self, name: str) -> Any:
        if name not in ("high", "low", "radius"):
            raise AttributeError(name)
        numbers, shift = self._from
        self.high, self.low, self.radius = numbers._plus(shift).parts()
        return self.__dict__[name]


_MOST = 1 << 19  # numbers of an input that are taken at once


def evaluate(formula: Callable[..., Any], inputs: list[_Array], rows: _Array, columns: _Array) -> Any:
    """High and low parts and radii of a formula's array at rows and columns: its places if all axes but the first are one. The inputs have the length of the
    array along the first axis, or 1."""
    found = np.empty((3, rows.size))
    chosen, local = np.unique(rows, return_inverse=True)
    step = max(1, _MOST // max(1, *(v.size // max(1, v.shape[0]) for v in inputs)))
    with _core.Environment(), np.errstate(all="ignore"):
        for first in range(0, chosen.size, step):
            part = chosen[first : first + step]
            here = np.flatnonzero((local >= first) & (local < first + step))
            held = [v if v.shape[0] == 1 else v[part] for v in inputs]
            for to, part_of_it in zip(found, _some(formula, held, local[here] - first, columns[here]), strict=True):
                to[here] = part_of_it  # a radius may be one number, 0
    return found


def _some(formula: Callable[..., Any], held: list[_Array], row: _Array, column: _Array) -> Any:
    if any(v.ndim != 2 for v in held):
        made = formula(*(Doubles(v) for v in held))
        shape = made.high.shape
        at = np.minimum(row, shape[0] - 1), column
        return [0.0 if v is None else np.broadcast_to(v, shape).reshape(shape[0], -1)[at] for v in made.parts()]

    # Totals go along rows, all else from element to element: the rows are followed to the last total only.
    def single(v: _Array) -> Any:
        return v[np.minimum(row, v.shape[0] - 1)[:, None], np.minimum(column, v.shape[1] - 1)[:, None]]

    elements = [single(v) for v in held]
    count = _Counted(0)
    formula(*(Doubles(v, totals=count) for v in elements))
    every = Totals(len(count.made))
    if every.last:
        with contextlib.suppress(Enough):
            formula(*(Doubles(v, totals=every) for v in held))
    given = _Given(0)
    given.made = [t.at((np.minimum(row, t.high.shape[0] - 1)[:, None], 0)) for t in every.made]
    made = formula(*(Doubles(v, totals=given) for v in elements))
    return [0.0 if v is None else np.broadcast_to(v, (row.size, 1))[:, 0] for v in made.parts()]


class _Tables:
    """log 2/64 in three parts and 2^(j/64) in two, by bounds from rational arithmetic of 256 bits."""

    def __init__(self) -> None:
        low, high = log_bounds(Fraction(2), 256)
        unit = (low + high) / 128
        first = Fraction(int(unit * 2**43), 2**43)  # below 2^-6: 37 bits
        second = Fraction(int((unit - first) * 2**79), 2**79)
        third = float(unit - first - second)
        self.log2 = float(first), float(second), third
        self.log2_off = float(abs(unit - first - second - Fraction(third)) + (high - low)) * (1 + 2.0**-50)
        parts: list[list[float]] = [[1.0], [0.0], [0.0]]
        for j in range(1, 64):
            down, up = exp_bounds(low * Fraction(j, 64), 256)[0], exp_bounds(high * Fraction(j, 64), 256)[1]
            h = float(down)
            tail = float(down - Fraction(h))
            off = max(abs(end - Fraction(h) - Fraction(tail)) for end in (down, up))
            for part, v in zip(parts, (h, tail, float(off) * (1 + 2.0**-50)), strict=True):
                part.append(v)
        self.powers = Doubles(np.asarray(parts[0]), np.asarray(parts[1]), np.asarray(parts[2]))


_kept: list[_Tables] = []


def _tables() -> _Tables:
    if not _kept:
        _kept.append(_Tables())
    return _kept[0]
