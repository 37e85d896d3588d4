"""Numbers whose exponents are spread over a given range, or over that of a format."""

import numpy as np
from exact_oracle import FORMATS
from statistics_library import dtype_of


def spread(rng, low, high, n):
    """Numbers of both signs with exponents spread evenly over [low, high); a quarter of them have few digits."""
    x = rng.uniform(1, 2, n)
    x = np.where(rng.random(n) < 0.25, 1 + rng.integers(0, 8, n) / 8, x)
    return np.ldexp(x, rng.integers(low, high, n)) * rng.choice([-1.0, 1.0], n)


def ends(fmt):
    """The exponents of the least and of the greatest number."""
    _, _, mantissa, least, field, _ = FORMATS[fmt]
    return least, field - 2 + least + mantissa


def numbers(rng, fmt, shape, at=None):
    """Numbers of every sign and magnitude: each with its own exponent, or all near one, some of them short, some equal, some 0. `at` holds
    the exponents to that range."""
    low, high = at or ends(fmt)
    which = rng.integers(0, 5)
    if which == 0:
        e = rng.integers(low, high, shape)
    elif which == 1:
        e = np.full(shape, rng.integers(low, high))
    elif which == 2:  # near the bottom
        e = low + rng.integers(0, 2 * FORMATS[fmt][2], shape)
    else:
        e = rng.integers(low, high) + rng.integers(-6, 6, shape)
    m = 1 + rng.random(shape)
    if rng.random() < 0.4:
        m = np.round(m * 8) / 8
    v = np.ldexp(m * rng.choice([-1.0, 1.0], shape), np.clip(e, *ends(fmt)))
    if rng.random() < 0.2:
        v = np.where(rng.random(shape) < 0.3, 0.0, v)
    if rng.random() < 0.2:
        v = np.where(rng.random(shape) < 0.5, v.flat[0], v)
    with np.errstate(over="ignore"):
        x = v.astype(dtype_of(fmt))
    largest = dtype_of(fmt).type(np.ldexp(1.0, ends(fmt)[1]))
    return np.where(np.isinf(x), largest, x)


def exponents(rng, fmt, shape):
    """Arguments of exponentials: beyond these the results are those of other tests."""
    if rng.random() < 0.5:
        return (rng.standard_normal(shape) * 2.0 ** rng.integers(-9, 6)).astype(dtype_of(fmt))
    return numbers(rng, fmt, shape, (ends(fmt)[0], 9))
