"""Kinds of data that are hard for sums of products. Each is a function of (rng, type, rows, cols)."""

from __future__ import annotations

import numpy as np


def gaussian(rng, kind, m, n):
    return rng.standard_normal((m, n)).astype(kind)


def integers(rng, kind, m, n):
    """Full of ties and exact zeros once sums pass the precision of the format."""
    return rng.integers(-3000, 3001, (m, n)).astype(kind)


def ternary(rng, kind, m, n):
    return rng.integers(-1, 2, (m, n)).astype(kind)


def relu(rng, kind, m, n):
    """Rectified values: half zeros, with whole rows and columns of zeros."""
    x = np.maximum(rng.standard_normal((m, n)), 0)
    x[rng.random(m) < 0.2] = 0
    x[:, rng.random(n) < 0.2] = 0
    return x.astype(kind)


def spread(rng, kind, m, n):
    """Exponents over most of the range whose products still have finite sums."""
    e = 60 if kind == np.float32 else 500
    return (rng.standard_normal((m, n)) * 2.0 ** rng.integers(-e, e + 1, (m, n))).astype(kind)


def cancelling(rng, kind, m, n):
    """Neighbours along both axes that cancel, but for a last place here and there: pairs x, -x against pairs y, y."""
    x = rng.standard_normal((m, n)).astype(kind)
    x[:, 1::2] = -x[:, 0 : n - n % 2 : 2]
    return x


def doubled(rng, kind, m, n):
    """The partner of cancelling: equal neighbours, of which some differ by one place."""
    x = rng.standard_normal((m, n)).astype(kind)
    x[1::2] = x[0 : m - m % 2 : 2]
    some = rng.random((m, n)) < 0.02
    return np.where(some, np.nextafter(x, kind(np.inf)), x).astype(kind)


def outliers(rng, kind, m, n):
    """A few elements so large that the rest is below the bound of a sum scaled by them."""
    x = rng.standard_normal((m, n))
    x[rng.random((m, n)) < 0.05] *= 2.0**30
    return x.astype(kind)


def tiny(rng, kind, m, n):
    """Products and sums among the subnormals and below them."""
    e = -75 if kind == np.float32 else -537
    return (rng.standard_normal((m, n)) * 2.0 ** rng.integers(e - 3, e + 4, (m, n))).astype(kind)


def subnormal(rng, kind, m, n):
    info = np.finfo(kind)
    x = rng.integers(-1000, 1000, (m, n)).astype(kind) * info.smallest_subnormal
    return np.where(rng.random((m, n)) < 0.1, x * kind(2.0**40), x).astype(kind)


def huge(rng, kind, m, n):
    """Sums at and beyond the largest finite number, and intermediate sums far beyond it."""
    e = 63 if kind == np.float32 else 511
    return (rng.standard_normal((m, n)) * 2.0 ** rng.integers(e - 3, e + 1, (m, n))).astype(kind)


def special(rng, kind, m, n):
    x = rng.standard_normal((m, n)).astype(kind)
    choice = rng.random((m, n))
    for limit, value in ((0.03, np.inf), (0.05, -np.inf), (0.06, np.nan), (0.12, 0.0), (0.18, -0.0)):
        x = np.where((choice < limit) & (choice >= limit - 0.06) & np.isfinite(x) & (x != 0), kind(value), x)
    return x.astype(kind)


# name: (data of A, data of B)
PAIRS = {
    "gaussian": (gaussian, gaussian),
    "integers": (integers, integers),
    "ternary": (ternary, integers),
    "relu": (relu, relu),
    "spread": (spread, spread),
    "cancelling": (cancelling, doubled),
    "outliers": (outliers, gaussian),
    "tiny": (tiny, tiny),
    "subnormal": (subnormal, gaussian),
    "huge": (huge, huge),
    "mixed": (integers, gaussian),
}
