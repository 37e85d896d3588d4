"""Sums at a boundary of rounding, or beside one by the smallest difference that the format's terms can make, whose terms cancel."""

import functools
import random
from fractions import Fraction

import numpy as np
from boundary_data import factors
from convolution_library import dtype_of
from exact_oracle import FORMATS as LIMITS
from exact_oracle import rational_of, round_rational


def boundaries_of(fmt, plain):
    """Midpoints of neighbours of the format; those that sums of its numbers reach, where `plain`."""
    _, _, fraction, least, infinity, _ = LIMITS[fmt]
    unit = Fraction(2) ** -fraction
    yield from (1 + unit / 2, 1 + 3 * unit / 2, 2 - unit / 2, 1 - unit / 4, Fraction(5) * 2**8 + unit * 2**9)
    top = Fraction(2) ** ((infinity - 2) + least + fraction)  # of the last binade
    yield top * (2 - unit / 2)  # beyond it is infinity
    yield top * (1 + unit / 2)
    if not plain:
        lowest = Fraction(2) ** least
        yield from (
            lowest / 2,
            3 * lowest / 2,
            lowest * (2**fraction - Fraction(1, 2)),
            lowest * (2**fraction + Fraction(1, 2)),
        )


def is_number(value, fmt):
    return rational_of(round_rational(value, fmt), fmt) == value and abs(value) < Fraction(2) ** (
        LIMITS[fmt][4] - 1 + sum(LIMITS[fmt][2:4])
    )


@functools.cache
def cases(fmt, k, plain=False, scale=Fraction(1)):
    """(x, y, bits): sums of x y, or of x alone; the bits are those of the sum over `scale`, with the sign of a negative factor."""
    _, _, fraction, least, infinity, _ = LIMITS[fmt]
    dtype, rng, found = dtype_of(fmt), random.Random(k), []
    lowest = Fraction(2) ** (least if plain else 2 * least)
    for number, boundary in enumerate(boundaries_of(fmt, plain)):
        for hair in (0, lowest, -lowest):
            sign = -1 if number % 2 else 1
            total, terms = sign * (boundary + hair) * scale, []
            low = boundary.numerator.bit_length() - boundary.denominator.bit_length()
            for _ in range(rng.randrange(1, 6)):  # terms that cancel
                m, e = rng.randrange(1, 2 ** (fraction + 1)), min(low + rng.randrange(-30, 20), infinity - 2 + least)
                e = max(e, least if plain else 2 * least)
                terms += [m * Fraction(2) ** e, -m * Fraction(2) ** e]
            rng.shuffle(terms)
            for part in (boundary, hair):
                rest = sign * part * scale
                while rest:
                    low = max(abs(rest.numerator).bit_length() - fraction - 1, 0)
                    piece = Fraction(rest.numerator >> low << low, rest.denominator)
                    terms.insert(rng.randrange(len(terms) + 1), piece)
                    rest -= piece
            pairs = [((t, Fraction(1)) if is_number(t, fmt) else None) if plain else factors(t, fmt) for t in terms]
            if len(pairs) > k or None in pairs:
                continue
            x, y = np.zeros(k), np.zeros(k)
            at = sorted(rng.sample(range(k), len(pairs)))
            x[at], y[at] = [float(u) for u, _ in pairs], [float(v) for _, v in pairs]
            x, y = x.astype(dtype), y.astype(dtype)
            made = sum((Fraction(float(x[p])) * Fraction(float(y[p])) for p in at), Fraction(0))
            assert made == total, (fmt, boundary, hair)
            found.append((x, y, round_rational(total / scale, fmt)))
    assert len(found) > 9
    return found
