"""What elementwise/test_exponents.py and other tests share."""

import numpy as np


def spread(rng, low, high, n):
    """Numbers of both signs with exponents spread evenly over [low, high); a quarter of them have few digits."""
    x = rng.uniform(1, 2, n)
    x = np.where(rng.random(n) < 0.25, 1 + rng.integers(0, 8, n) / 8, x)
    return np.ldexp(x, rng.integers(low, high, n)) * rng.choice([-1.0, 1.0], n)
