"""The sum 1 + 1/2 + ... + 1/n in float32, every quotient and every sum rounded: whether the mean of samples holds the exact value."""

import math
from typing import Any

import numpy as np

import repmath
from repmath import rounding


def harmonic(n: int = 37649, samples: int = 64, *, seed: int = 1) -> dict[str, dict[str, float]]:
    """Samples of the sum under each random mode, beside its exact value and rounding to nearest.

    Parameters
    ----------
    n, samples : int
        At least 2.
    seed : int

    Returns
    -------
    dict
        By mode "mean", "stdev" and "off": how many standard deviations of the mean it is from the exact value. "exact" and "nearest" have a mean alone.

    Raises
    ------
    ValueError
        An argument is out of its range.
    """
    for name, value in (("n", n), ("samples", samples)):
        if isinstance(value, bool) or not hasattr(value, "__index__") or value < 2:
            raise ValueError(f"{name} must be an integer of at least 2, not {value!r}")
    terms = repmath.divide(1.0, np.arange(1, n + 1, dtype=np.float64))
    exact = float(repmath.sum(terms))  # each quotient is off by 2^-53 of itself: the sum by less than 2^-52 of it
    nearest = np.float32(0)
    for i in range(1, n + 1):
        nearest = np.float32(nearest + np.float32(1) / np.float32(i))
    found: dict[str, dict[str, float]] = {"exact": {"mean": exact}, "nearest": {"mean": float(nearest)}}
    one = np.ones(samples, np.float32)
    for mode in rounding.RANDOM_MODES:
        total: Any = np.zeros(samples, np.float32)
        for i in range(1, n + 1):
            term = rounding.divide(one, np.float32(i), mode, seed=seed, stream=2 * i)
            total = rounding.add(total, term, mode, seed=seed, stream=2 * i + 1)
        mean, spread = float(repmath.mean(total, dtype=np.float64)), float(repmath.std(np.float64(total), ddof=1))
        off = (mean - exact) / (spread / math.sqrt(samples)) if spread else math.inf
        found[mode] = {"mean": mean, "stdev": spread, "off": off}
    return found
