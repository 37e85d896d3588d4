"""Numbers of a format whose sum is a tie, and the bits of values a hair beside one."""

from fractions import Fraction

import numpy as np
import oracle
from exact_oracle import rounded
from statistics_library import dtype_of

NAMES = list(oracle.FORMATS)
MEAN = 1
HAIR = Fraction(1, 2**1300)
DIGITS = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}


def exact(x):
    return [Fraction(float(v)) for v in np.asarray(x).ravel()]


def tie(fmt, k):
    """Two numbers of the format whose sum is halfway between others: the even one is below for an even k."""
    unit = 2.0 ** (1 - DIGITS[fmt])
    return np.array([1 + k * unit, unit / 2], dtype_of(fmt))


def beside(fmt, value, hair=0):
    return [rounded(value + hair * HAIR, dtype_of(fmt))]
