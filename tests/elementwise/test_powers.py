"""pown, rootn and compound of repmath/powers.h: bits and flags against MPFR, in every format and rounding mode, on every instruction set."""

import ctypes

import numpy as np
import oracle
import powers
import pytest
from elementwise_library import libraries

FORMATS = list(oracle.FORMATS)
FLAGS = {1: 1, 2: 4, 4: 8}  # of ours: bits of MXCSR


def check(kind, x, n, fmt):
    bits = oracle.to_bits(x, fmt)
    want = powers.values(kind, x, n, fmt)[0]
    for isa, library in libraries().items():
        wrong = np.flatnonzero(powers.call(library, kind, bits, n, fmt) != want)
        assert wrong.size == 0, (isa, wrong.size, [(float(x[i]).hex(), int(n[i])) for i in wrong[:5]])


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("kind", powers.KINDS)
def test_special_values(kind, fmt):
    check(kind, *powers.specials(fmt), fmt)


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("kind", powers.KINDS)
def test_random_pairs(kind, fmt):
    check(kind, *powers.samples(kind, fmt, 3000, 5), fmt)
