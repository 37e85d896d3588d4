"""SGD's step in f32 whose new numbers are one multiplication and addition each, against rationals and against single elements."""

import ctypes

import numpy as np
import pytest
from optimizers_library import bits, expected, random, sgd
from reductions_library import OK

CASES = [
    {"momentum": 0.9, "lr": 1e-3},
    {"momentum": 0.9, "lr": 0.3, "maximize": 1},
    {"momentum": 0.9, "lr": 1e-3, "first": 1},
    {"momentum": 0.5, "lr": 0.25},
    {"lr": 0.1},
    {"lr": 0.5, "maximize": 1},
    {"lr": 0.0, "momentum": 1.0},
]
KINDS = ["gaussian", "integers", "cancelling", "tiny", "spread", "huge"]
each_case = pytest.mark.parametrize("options", CASES, ids=str)


def ties(rng, n):
    """Numbers of few bits beside 1 and half units of their last place, and short decimals of coefficients: sums beside and at boundaries."""
    near = 1 + rng.integers(0, 8, (5, n)) * 2.0**-23
    half = rng.integers(1, 9, (5, n)) * 2.0**-24
    x = np.where(rng.random((5, n)) < 0.5, near, half) * rng.choice([-1.0, 1.0], (5, n))
    x[:, ::7] *= 10.0
    return x.astype(np.float32)


@each_case
@pytest.mark.parametrize("name", [*KINDS, "ties"])
def test_every_kind_of_number(isa_library, options, name):
    rng = np.random.default_rng(31)
    x = ties(rng, 117) if name == "ties" else random(rng, "f32", 117, name)
    got, want = x.copy(), expected(sgd, "f32", options, x)
    assert sgd(isa_library, "f32", options, got) == OK
    wrong = np.argwhere(bits(got) != want)
    assert not len(wrong), [(x[:, i], got[k, i]) for k, i in wrong[:3]]


def test_control():
    """The data lie beside boundaries: with binary32, and with binary64 rounded twice, some results are others."""
    x = ties(np.random.default_rng(31), 4000)
    want = expected(sgd, "f32", {"momentum": 0.9, "lr": 0.3}, x)
    once = np.float32(0.9) * x[2] + x[1]
    twice = (0.9 * x[2].astype(np.float64) + x[1]).astype(np.float32)
    assert (bits(once) != want[2]).sum() > 50 and (bits(twice) != want[2]).sum() > 0


@each_case
def test_what_is_not_finite_is_that_of_single_elements(isa_library, options):
    """Bits and exceptions, each special number in each array, alone in a block and beside others."""
    libm, rng = ctypes.CDLL(None), np.random.default_rng(32)
    special = np.array(
        [0x7FC00000, 0xFFC00001, 0x7F800001, 0x7F800000, 0xFF800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x80000000, 0], np.uint32
    )
    for trial in range(60):
        x = rng.standard_normal((5, 48)).astype(np.float32)
        code = bits(x)
        for k in rng.choice(3, rng.integers(1, 4), replace=False):
            at = rng.random(48) < rng.choice([0.02, 0.3])
            code[k, at] = rng.choice(special, at.sum()) if trial % 3 else special[trial // 3 % 9]
        whole, single = x.copy(), x.copy()
        libm.feclearexcept(61)
        assert sgd(isa_library, "f32", options, whole) == OK
        raised = libm.fetestexcept(13)
        of_each = 0
        for i in range(48):
            one = np.ascontiguousarray(single[:, i : i + 1])
            libm.feclearexcept(61)
            assert sgd(isa_library, "f32", options, one) == OK
            of_each |= libm.fetestexcept(13)
            single[:, i] = one[:, 0]
        assert np.array_equal(bits(whole), bits(single)) and raised == of_each, (trial, options)
