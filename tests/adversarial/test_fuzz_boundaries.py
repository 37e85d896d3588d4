"""Norms of random sets beside boundaries of rounding (nn/test_norm_boundaries.py), on every instruction set that the CPU has."""

import elementwise_library
import mpmath
import norm_boundaries as boundaries
import numpy as np
from normalization_library import NAMES, results
from real_oracle import rounded_recognised
from statistics_library import dtype_of


def numbers(rng, fmt, shape):
    """Ordinary numbers, far from 0, integers, of many sizes, small ones, or mostly zeros."""
    x, kind = rng.standard_normal(shape), rng.integers(6)
    if kind == 1:
        x = x * 1e-2 + rng.choice([3, 50, -200])
    elif kind == 2:
        x = np.round(x * 3)
    elif kind == 3:
        x = x * 2.0 ** rng.integers(-9, 9, shape)
    elif kind == 4:
        x = x * 2.0 ** (rng.integers(-14, -8) if fmt == "f16" else rng.integers(-60, 60))
    elif kind == 5:
        x = np.where(rng.random(shape) < 0.8, 0.0, x)
    return x.astype(dtype_of(fmt))


def test_norms_beside_ties(attack):
    libraries = {isa: found.library for isa, found in elementwise_library.libraries().items()}
    checked = 0
    for rng in attack.rounds(60):
        fmt, norm, part = (str(rng.choice(v)) for v in (NAMES, boundaries.NORMS, boundaries.PARTS))
        length = int(rng.integers(2, 40))
        shape = [(1, 2, length), (2, 4, length), (1, 2, 7 * length), (3, 2, 1)][rng.integers(4)]
        x, count = numbers(rng, fmt, shape), shape[2] if norm in ("layer", "rms") else shape[1]
        w = (rng.standard_normal(count) * 2.0 ** rng.integers(-5, 5, count)).astype(x.dtype)
        b = (rng.standard_normal(count) * rng.choice([0, 1, 1e-3, 30])).astype(x.dtype)
        g = (rng.standard_normal(shape) * 2.0 ** rng.integers(-4, 4, shape)).astype(x.dtype)
        at = int(rng.integers(count)) if part == "by w" else tuple(int(rng.integers(s)) for s in shape)
        element = boundaries.Element(norm, x, w, b, g, part, at)
        start = (float(element.terms[0][1]) or 1.0) * 2.0 ** -(53 if fmt == "f64" else int(rng.integers(4, 60)))
        found = boundaries.beside_tie(element, fmt, start)
        if found is None:  # more eps reaches no tie
            continue
        for eps in found[:2]:
            with mpmath.workprec(boundaries.BITS):
                want = rounded_recognised(element(mpmath.mpf(eps)), x.dtype)
            for isa, library in libraries.items():
                got = int(results(library, norm, fmt, x, w, b, g, eps)[boundaries.PARTS.index(part)][at])
                assert got == want, (isa, fmt, norm, part, shape, at, eps, hex(got), hex(want))
                checked += 1
    assert checked > 100
