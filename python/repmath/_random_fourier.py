"""Fourier transforms under the random rounding modes: each part of a result is the exact one, rounded once by the word of its element.

Of float32 the transform in binary64, which is rounded to nearest itself, lies within half of a last place of the value: a ball that the word decides but for
some 2^-27 of the parts. The others, and all of float64, are enclosed.

Enclosures. The elements of a transform are whole multiples of a unit 2^u, or are cut off there, with an error below 1 in each part. A transform of length
p m is p transforms of length m, of elements p apart, turned by roots of unity and added. In units, with roots that are off by at most t = 3/2^w, and A above
all magnitudes before, an error of E before is one of p (E + (A + E) t + 2) after, as each part of a product is cut off once. Magnitudes grow to p A.
Few parts are not made this way but as sums of whole numbers times cosines.

Exact values. A part is a sum of c_e cos(2 pi e/M) with whole numbers c_e and a multiple M of 4 and of all lengths. Of the powers of z = e^(2 pi i/M) those are a basis
of their field over the rational numbers that are products of the first p^(a-1) (p - 1) powers for each prime power p^a of M; the others follow from the sums
of p powers, M/p apart, which are 0. So a part is rational where all its coordinates but that of 1 are 0. Divided by the root of n, which is a rational number
times that of a product s of different primes, it is rational if it is so times the root of s, which is a sum of powers of a root of unity (Gauss): z_8 + 1/z_8 for 2,
and for an odd p the sum of (j/p) z_p^j, which is i times the root of p where p = 3 modulo 4. So boundaries of rounding are known to be some, and for all
other values a precision is enough.

A complex result has two arrays: the real parts have the words of elements 0, 1, ..., the imaginary ones those from 2^40 on."""

import contextlib
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from . import _random_modes, _scope, fft
from ._random_balls import Interval, Last
from ._random_inverses import pi

_Array = np.ndarray[Any, Any]


def _primes(n: int) -> dict[int, int]:
    """The primes that divide n, and how often."""
    found: dict[int, int] = {}
    p = 2
    while n > 1:
        if p * p > n:
            p = n
        while n % p == 0:
            n, found[p] = n // p, found.get(p, 0) + 1
        p += 1
    return found


def _sine_cosine(m: int, w: int) -> tuple[int, int]:
    """Of 2 pi/m, m at least 4, in units of 2^-w, off by less than 2 w + 8: each of the fewer than w terms of the series is cut off twice, and the angle is off by less than 2."""
    turn = pi(w + 16)
    x = int(turn.low * 2 / m * 2**w)
    term, parts, k = 1 << w, [0, 0, 0, 0], 0
    while term:
        parts[k % 4] += term
        k += 1
        term = (term * x >> w) // k
    return parts[1] - parts[3], parts[0] - parts[2]


def _turns(m: int, bits: int) -> _Array:
    """cos(2 pi e/m) for e below m, a multiple of 4, in units of 2^-bits, off by less than 2. Each power of the first quarter adds the first one's error
    and less than 2 units: less than m/4 (3 w + 16) < 2^guard together."""
    guard = (m * (bits + 64)).bit_length() + 2
    w = bits + guard
    sine, cosine = _sine_cosine(m, w)
    c, s, quarter = 1 << w, 0, []
    for _ in range(m // 4):
        quarter.append(c >> guard)
        c, s = c * cosine - s * sine >> w, c * sine + s * cosine >> w
    down = [0] + [-v for v in reversed(quarter[1:])]
    made = np.empty(m, object)
    made[:] = [*quarter, *down, *(-v for v in quarter), *(-v for v in down)]
    return made


def _whole(x: _Array, unit: int) -> _Array:
    """Numbers in units of 2^unit, rounded down."""
    made = np.empty(x.size, object)
    for i, v in enumerate(x.reshape(-1).tolist()):
        n, d = v.as_integer_ratio()
        made[i] = (n << -unit) // d if unit < 0 else n // (d << unit)
    return made.reshape(x.shape)


def _least(x: _Array) -> int:
    """The unit in which all numbers are whole."""
    return -max((v.as_integer_ratio()[1].bit_length() - 1 for v in x.reshape(-1).tolist()), default=0)


class _Rows:
    """Transforms of one call: elements (rows, n_1, ..., n_d), and the parts of the results, which have the same axes."""

    def __init__(self, x: _Array, lengths: tuple[int, ...], kind: str, sign: int, scale: str) -> None:
        self.lengths, self.sign, self.n = lengths, sign, math.prod(lengths)
        self.real, self.imaginary = np.asarray(x.real, np.float64), np.asarray(x.imag, np.float64)
        if kind == "to real":  # elements between the first and the middle count twice, those behind it not at all
            weights = np.zeros(lengths[-1])
            half = lengths[-1] // 2 + 1
            weights[:half] = 2.0
            weights[0] = 1.0
            if lengths[-1] % 2 == 0:
                weights[half - 1] = 1.0
            more = [(0, 0)] * (x.ndim - 1) + [(0, lengths[-1] - half)]
            self.real, self.imaginary = (np.pad(v, more) for v in (self.real, self.imaginary))
            self.weights = weights.astype(np.int64)
        else:
            self.weights = np.ones(lengths[-1], np.int64)
        self.root = scale == "root" and math.isqrt(self.n) ** 2 != self.n
        self.factor = Fraction(1, {"one": 1, "n": self.n, "root": math.isqrt(self.n)}[scale])
        self.modulus = math.lcm(4, *lengths)
        self.held: dict[Any, Any] = {}

    def _scaled(self, low: Fraction, high: Fraction, bits: int) -> Interval:
        if not self.root:
            return Interval(low * self.factor, high * self.factor, bits)
        inverse = Fraction(1, self.n)
        return Interval(low, high, bits) * Interval(inverse, inverse, bits).sqrt()

    def _made(self, row: int, bits: int) -> tuple[_Array, _Array, Fraction, Fraction]:
        """The parts of a whole transform, in a unit, with the error."""
        if (row, bits) not in self.held:
            re, im = self.real[row], self.imaginary[row]
            least = min(_least(re), _least(im))
            size = math.frexp(float(max(np.abs(re).max(), np.abs(im).max())))[1]
            unit = size - bits
            re, im = (_whole(v, unit) * self.weights for v in (re, im))
            error = 0 if unit <= least else 4  # of elements that count twice, in both parts
            most = 4 << bits
            w, m = bits + 16, self.modulus
            turns = _turns(m, w)
            for axis in range(len(self.lengths)):
                re, im = np.moveaxis(re, axis, -1), np.moveaxis(im, axis, -1)
                re, im, error, most = self._along(re, im, error, most, turns, w)
                re, im = np.moveaxis(re, -1, axis), np.moveaxis(im, -1, axis)
            self.held[row, bits] = re.reshape(-1), im.reshape(-1), Fraction(2) ** unit, Fraction(error)
        found: tuple[_Array, _Array, Fraction, Fraction] = self.held[row, bits]
        return found

    def _along(self, re: _Array, im: _Array, error: int, most: int, turns: _Array, w: int) -> Any:
        """The last axis."""
        n = re.shape[-1]
        if n == 1:
            return re, im, error, most
        p = min(_primes(n))
        made = [self._along(re[..., r::p], im[..., r::p], error, most, turns, w) for r in range(p)]
        error, most = made[0][2], made[0][3]
        step, k = self.modulus // n, np.arange(n)
        total = [np.zeros(re.shape, object), np.zeros(re.shape, object)]
        for r, (a, b, *_) in enumerate(made):
            a, b = (np.concatenate([v] * p, -1) for v in (a, b))
            at = self.sign * r * k * step % self.modulus
            c, s = turns[at], turns[(at - self.modulus // 4) % self.modulus]
            total[0] += (a * c - b * s) >> w
            total[1] += (a * s + b * c) >> w
        return *total, p * (error + (3 * (most + error) >> w) + 3), p * most

    def _coefficients(self, row: int, part: int, place: int) -> tuple[_Array, int]:
        """c_e of a part, whole, and the exponent of their unit."""
        if ("whole", row) not in self.held:
            re, im = self.real[row], self.imaginary[row]
            unit = min(_least(re), _least(im))
            self.held["whole", row] = [(_whole(v, unit) * self.weights).reshape(-1) for v in (re, im)], unit
        (re, im), unit = self.held["whole", row]
        m = self.modulus
        e: _Array = np.zeros((), np.int64)
        for n, k in zip(self.lengths, np.unravel_index(place, self.lengths), strict=True):
            e = np.asarray((e[..., None] + np.arange(n) * int(k) % n * (m // n)) % m)
        e = e.reshape(-1)
        made = np.zeros(m, object)
        sines = (e - m // 4) % m
        for a, at, sign in (
            (re, sines if part else e, self.sign if part else 1),
            (im, e if part else sines, 1 if part else -self.sign),
        ):
            np.add.at(made, at, a * sign)
        return made, unit

    def _exact(self, row: int, part: int, place: int) -> Fraction | None:
        """The value, if it is rational."""
        key = "exact", row, part, place
        if key not in self.held:
            c, unit = self._coefficients(row, part, place)
            value = _rational(c)
            if self.root and value != 0:
                primes = [p for p, k in _primes(self.n).items() if k % 2]
                m = math.lcm(self.modulus, 8 if 2 in primes else 4, *primes)
                long = np.zeros(m, object)
                long[:: m // self.modulus] = c
                for p in primes:
                    long = _times_root(long, p)
                value = _rational(long)
                s = math.prod(primes)
                value = None if value is None else value / (s * math.isqrt(self.n // s) << len(primes))
            elif value is not None:
                value *= self.factor
            self.held[key] = None if value is None else value * Fraction(2) ** unit
        found: Fraction | None = self.held[key]
        return found

    def enclose(self, parts: list[tuple[int, int, int]], bits: int) -> list[Interval]:
        """Of (row, part, place in the row)."""
        found = []
        several = len(parts) > 8 * len({row for row, _, _ in parts})
        for row, part, place in parts:
            exact = self._exact(row, part, place) if bits > 128 else None
            if exact is not None:
                found.append(Interval(exact, exact, bits))
            elif several:
                *both, unit, error = self._made(row, bits)
                value = Fraction(both[part][place])
                found.append(self._scaled((value - error) * unit, (value + error) * unit, bits))
            else:
                c, least = self._coefficients(row, part, place)
                if ("turns", bits) not in self.held:
                    self.held["turns", bits] = _turns(self.modulus, bits)
                v, spread = int((c * self.held["turns", bits]).sum()), 2 * int(np.abs(c).sum())
                size = Fraction(2) ** (least - bits)
                found.append(self._scaled((v - spread) * size, (v + spread) * size, bits))
        return found


def _rational(c: _Array) -> Fraction | None:
    """The sum of c_e cos(2 pi e/m), if it is rational."""
    m = c.size
    both = c + np.concatenate((c[:1], c[:0:-1]))
    powers = [p**k for p, k in _primes(m).items()]
    at = [np.arange(m) * pow(m // q, -1, q) % q for q in powers]
    held = np.zeros(powers, object)
    held[tuple(at)] = both
    for axis, p in enumerate(_primes(m)):
        q = held.shape[axis]
        held = np.moveaxis(held, axis, 0)
        rest = held.shape[1:]
        split = held.reshape(p, q // p, *rest)
        held = np.moveaxis((split[:-1] - split[-1:]).reshape(q - q // p, *rest), 0, axis)
    flat = held.reshape(-1)
    return None if flat[1:].any() else Fraction(int(flat[0]), 2)


def _times_root(c: _Array, p: int) -> _Array:
    """Twice a sum of c_e cos(2 pi e/m) times the root of a prime p, as such a sum."""
    m = c.size
    c = c + np.concatenate((c[:1], c[:0:-1]))
    made = np.zeros(m, object)
    if p == 2:
        return made + np.roll(c, m // 8) + np.roll(c, -(m // 8))
    squares = {j * j % p for j in range(1, p)}
    for j in range(1, p):
        turned = np.roll(c, j * (m // p))
        made = made + turned if j in squares else made - turned
    return made if p % 4 == 1 else np.roll(made, -(m // 4))


def rounded(
    x: _Array,
    axes: tuple[int, ...],
    lengths: tuple[int, ...],
    kind: str,
    sign: int,
    scale: str,
    place: tuple[str, int, int, int],
) -> _Array:
    """As `fft._transform`, under a random mode."""
    nearest = fft.plain(x, axes, lengths, kind, sign, scale)
    if not nearest.size:
        return nearest
    narrow = nearest.dtype in (np.float32, np.complex64)
    wide = (
        fft.plain(x.astype(np.complex128 if x.dtype.kind == "c" else np.float64), axes, lengths, kind, sign, scale)
        if narrow
        else nearest
    )
    halves = (*lengths[:-1], lengths[-1] // 2 + 1)
    for axis, count in zip(axes, halves if kind == "to real" else lengths, strict=True):
        x = fft._resized(x, axis, count)
    last = tuple(range(x.ndim - len(axes), x.ndim))
    held = np.moveaxis(x, axes, last)
    held = held.reshape(-1, *held.shape[x.ndim - len(axes) :])
    rows = _Rows(held, lengths, kind, sign, scale)
    good: Any = np.isfinite(held).reshape(len(held), -1).all(1)
    # Of each element, in C order of the result, its row and its place among the results of that row.
    shape = halves if kind == "from real" else lengths
    inner = np.arange(rows.n).reshape(lengths)[..., : shape[-1]].reshape(-1)
    moved = np.moveaxis(np.arange(nearest.size).reshape(nearest.shape), axes, last).reshape(len(held), -1)
    row, where = np.empty(nearest.size, np.int64), np.empty(nearest.size, np.int64)
    row[moved], where[moved] = np.arange(len(held))[:, None], inner
    made = []
    both = zip((nearest.real, nearest.imag), (wide.real, wide.imag), strict=True) if kind != "to real" else ((nearest, wide),)
    for part, (near, c) in enumerate(both):
        at = *place[:3], place[3] + part * _random_modes.APART
        flat, c = np.ascontiguousarray(near).reshape(-1).copy(), np.ascontiguousarray(c).reshape(-1)
        left: Any = good[row]
        if narrow:
            plain = left & (c != 0)
            with np.errstate(all="ignore"):
                radius = np.where(plain, np.abs(c) * (2.0**-53 * (1 + 2.0**-50)) + 2.0**-1074, 0.0)
            found, open_ = _random_modes.balls(np.where(plain, c, 0.0), radius, flat.dtype, at)
            flat[plain & ~open_] = found[plain & ~open_]
            left = (plain & open_) | (left & (c == 0) & (place[0] != "stochastic"))
        places = np.flatnonzero(left).tolist()
        signs: Any = np.signbit(flat)

        def enclose(some: list[int], bits: int, part: int = part) -> list[Interval]:
            return rows.enclose([(int(row[i]), part, int(where[i])) for i in some], bits)

        Last(flat.dtype, at).enclosed(flat, places, enclose)
        flat[flat == 0] = np.where(signs[flat == 0], -0.0, 0.0)
        made.append(flat.reshape(nearest.shape))
    if kind == "to real":
        return made[0]
    result = np.empty(nearest.shape, nearest.dtype)
    result.real, result.imag = made
    return result


def _enter(name: str) -> None:
    function = getattr(fft, name)

    def call(mode: str, *arguments: Any, seed: int, stream: int, **keywords: Any) -> Any:
        at = _random_modes.place(mode, seed, stream)
        with rounding_by(at):
            return function(*arguments, **keywords)

    _scope.handler(name)(call)


@contextlib.contextmanager
def rounding_by(place: tuple[str, int, int, int]) -> Iterator[None]:
    """Transforms inside are rounded at this place."""

    def at_random(*call: Any) -> _Array:
        arguments: Any = (*call, place)
        made: _Array = rounded(*arguments)
        return made

    token = fft.HERE.set(at_random)
    try:
        yield
    finally:
        fft.HERE.reset(token)


for _name in "fft fft2 fftn hfft ifft ifft2 ifftn ihfft irfft irfft2 irfftn rfft rfft2 rfftn".split():
    _enter(_name)
