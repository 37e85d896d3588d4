"""Fourier transforms with adversarial data (cases.py): values by Arb's transforms, of more digits than the bounds ask for."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import exponent_ranges as spread
import fft_oracle as oracle
import flint
import numpy as np
from fft_library import COMPLEX_TYPES, call, empty

from proofs.exact.cases import Case, kind_of, lossy
from proofs.exact.places import KIND, of_kinds

FORMATS: dict[str, Any] = dict.fromkeys(("transform", "transforms", "transform_long"), ("f32", "f64"))
DIGITS = 900  # bits; results are compared with bounds of 2^-103 of the norm
LENGTHS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 15, 16, 24, 30, 35, 49, 64, 67, 142]
GRIDS = [(3, 4), (2, 2, 2), (5, 6), (7, 3), (1, 8), (4, 1, 9)]


def elements(rng, fmt, n, real):
    def part():
        kind = int(rng.integers(0, 5))
        if kind == 0:
            return spread.numbers(rng, fmt, n)
        if kind == 1:
            return np.full(n, rng.standard_normal()).astype(kind_of(fmt))
        if kind == 2:  # what is left of a wave: all but one result cancel
            return np.cos(2 * np.pi * np.arange(n) * int(rng.integers(0, n + 1)) / n).astype(kind_of(fmt))
        if kind == 3:
            return np.where(np.arange(n) == rng.integers(0, n), 2.0 ** rng.integers(-20, 20), 1.0).astype(kind_of(fmt))
        return lossy(rng, fmt, n)

    if real:
        return part()
    x = np.empty(n, COMPLEX_TYPES[fmt])
    x.real, x.imag = part(), part() if rng.random() < 0.7 else 0
    return x


def end(value) -> Fraction:
    return oracle.end(value.mid())


def results(x, kind, sizes, sign, scale):
    """Without and with the factor, by twice the index of the result and 1 for imaginary parts."""
    by, squared = oracle.factor(scale, int(np.prod(sizes)))
    before, flint.ctx.prec = flint.ctx.prec, DIGITS
    try:
        factor = flint.arb(by.numerator) / flint.arb(by.denominator)
        factor = factor.sqrt() if squared else factor
        sums = oracle.transformed(oracle.full(x, kind, sizes), sizes, sign)
        parts = [p for v in sums for p in (v.real, v.imag)]
        return [end(p) for p in parts], [end(p * factor) for p in parts]
    finally:
        flint.ctx.prec = before


def transform(many, long=False):
    def case(rng, fmt):
        sizes = GRIDS[int(rng.integers(0, len(GRIDS)))] if rng.random() < 0.3 else (int(rng.choice(LENGTHS)),)
        if many:
            sizes = tuple(min(n, 9) for n in sizes)
        kind, sign, scale = int(rng.integers(0, 3)), int(rng.choice([-1, 1])), int(rng.integers(0, 3))
        batches = 8 if many else 1
        shape = (*sizes[:-1], sizes[-1] // 2 + 1) if kind == oracle.TO_REAL else sizes
        x = np.stack(
            [elements(rng, fmt, int(np.prod(shape)), kind == oracle.FROM_REAL).reshape(shape) for _ in range(batches)]
        )
        out = empty(fmt, kind, (batches, *sizes))
        if not np.isfinite(x).all():
            x[~np.isfinite(x)] = 1
        values = [results(one, kind, sizes, sign, scale) for one in x]
        at = {out.ctypes.data + t * out.strides[0]: t for t in range(batches)}

        def run(lib):
            ctypes.c_int.in_dll(lib, "exact_long").value = long
            assert call(lib, x, fmt, out, (batches, *sizes), kind, sign, scale, len(sizes)) in (0, 13)
            ctypes.c_int.in_dll(lib, "exact_long").value = 0

        def place(records, lanes, none):
            pairs = []
            for r in of_kinds(records, "reach", "ends", "sum"):
                plain, scaled = values[at[int(r["at"])]]
                k, imaginary = divmod(int(r["more"]), 2)
                if r["kind"] == KIND["sum"]:
                    pairs.append((r, plain[2 * k + imaginary]))
                else:  # of an inverse transform the parts have changed their places
                    pairs.append((r, scaled[2 * k + (imaginary ^ (sign == 1))]))
            return pairs

        return Case(run, [], place, (x, out))

    return case


OPERATORS: dict[str, Callable[..., Case]] = {
    "transform": transform(many=False),
    "transforms": transform(many=True),  # in the lanes of vectors
    "transform_long": transform(many=False, long=True),  # double-double first in f32 too
}
