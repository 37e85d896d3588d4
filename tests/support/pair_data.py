"""Sums of products of bf16 numbers in binary32, of which all additions err alike, beside a tie (src/blas/gemm/bound_b32.h).

As in boundary_data.py: the terms of the first chain, and the sums of the chains that join it, are half a last place of binary32 and a hair,
beside the term 1. What brings the exact sum a hair to the other side of a tie is in a chain of its own."""

import functools
from fractions import Fraction

import numpy as np
from boundary_data import Boundary, pieces
from convolution_library import dtype_of
from exact_oracle import rounded

CHAIN, CHAINS = 16, 8
UNIT = Fraction(2) ** -24


@functools.cache
def boundary(k: int, side: int) -> Boundary:
    """Terms of k places; side +1: additions round up and the exact sum is below the tie; -1: the other way."""
    dtype, group = dtype_of("bf16"), CHAIN * CHAINS
    x, y = np.zeros(k, dtype), np.zeros(k, dtype)
    x[0] = y[0] = 1
    chains = min(-(-k // CHAIN), CHAINS) - (k <= group)  # that err: of a single group, the last one has the rest
    at = [*range(1, CHAIN), *range(CHAIN, chains * CHAIN, CHAIN)]
    small = (1 + side * Fraction(2) ** -7) * UNIT
    x[at], y[at] = float(small * 2**12), 2.0**-12  # apart from 1 in each, as the bound multiplies norms
    tie = 1 + Fraction(2) ** -8
    rest = tie - side * Fraction(2) ** -40 - 1 - len(at) * small
    free = group if k > group else chains * CHAIN
    parts = pieces(rest, "bf16")
    assert free + len(parts) <= k, (k, len(parts))
    for p, (u, v) in enumerate(parts, free):
        x[p], y[p] = u, v
    total = sum(Fraction(float(u)) * Fraction(float(v)) for u, v in zip(x, y, strict=True))
    assert total == tie - side * Fraction(2) ** -40
    return Boundary(k, "bf16", x, y, rounded(total, dtype), len(at))
