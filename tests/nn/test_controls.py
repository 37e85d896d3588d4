"""Controls of totals and of gradients of windows: with all error bounds 2^20 times too small, their evaluations decide what they must not, and
bits differ. Each bound by itself is made smaller in test_bounds.py."""

import ctypes

import bce_library
import elementwise_library
import losses_library
import native
import numpy as np
import pytest
from bound_data import beside_tie, odd
from pooling_library import pool_of, strides
from reductions_library import OK, pointer
from softmax_library import result
from statistics_library import dtype_of


def loss_totals(lib, rng):
    """Sums that are a tie and what x - y leaves over in binary64."""
    found = []
    for _ in range(200):
        parts = odd(rng, 2**11, 2**12, 7)
        x = np.array([odd(rng, 2**24, 2**25 - 2**16) - parts.sum(), *parts], "f4")
        y = np.array([0, *rng.standard_normal(7) * 2.0**-41], "f4")
        found += losses_library.forward(lib, "l1", 0.0, "f32", "sum", x, y)
    return np.array(found)


def bce(lib, rng):
    """With y = 2 and p = 1/2 the loss is -x. Hairs as large as the errors of two parts."""
    found = []
    for _ in range(200):
        big = 2.0 ** rng.integers(60, 90)
        x = beside_tie(rng, big, big * 2.0**-103)
        two, half = np.full_like(x, 2), np.full_like(x, 0.5)
        found += bce_library.run(lib, "f32", 2, None, x, two, None, half)
    return np.array(found)


def average_backward(lib, rng):
    """Adaptive windows: quotients by several numbers, of which some add up to ties."""
    g, gx = rng.standard_normal((1, 32, 5, 7)).astype("f4"), np.empty((1, 32, 9, 13), "f4")
    p, _ = pool_of(gx.shape, g.shape[2:])
    arguments = pointer(g), strides(g), pointer(gx), strides(gx)
    assert lib.rm_avg_pool_backward(2, ctypes.byref(p), 1, ctypes.c_int64(0), *arguments) == OK
    return gx.view("u4")


OPERATIONS = [loss_totals, bce, average_backward]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_shrunk_bounds_are_seen(operation):
    path = native.control_library()
    good = elementwise_library.libraries()
    for isa, control in elementwise_library.libraries(path).items():
        for seed in range(40):
            right, wrong = (operation(lib.library, np.random.default_rng(seed)) for lib in (good[isa], control))
            if (right != wrong).any():
                break
        else:
            pytest.fail(f"{isa}: a bound 2^20 times smaller changes nothing")


def test_ties_behind_divisions():
    """The data of two controls by exact rationals."""
    for isa, found in elementwise_library.libraries().items():
        for fmt, loss, d, g, p in (
            ("f32", losses_library.expected, 301 * 4097, None, 301 * 301),
            ("f32", losses_library.expected_gradient, 301 * 4097, 5793, 301),
            ("f64", losses_library.expected_gradient, 301 * 67108865, 134217729, 301),
        ):
            x, zero = np.array([d, -d], dtype_of(fmt)), np.zeros(2, dtype_of(fmt))
            case = ("smooth_l1", p * 2.0**60, fmt, "none")
            every = [x, zero] if g is None else [np.full(2, g, dtype_of(fmt)), x, zero]
            call = losses_library.forward if g is None else losses_library.backward
            assert call(found.library, *case, *every) == loss(*case, *every), isa


def test_counts():
    """Each tier is reached."""

    class Stats(ctypes.Structure):
        _fields_ = [("fast", ctypes.c_uint64), ("double_double", ctypes.c_uint64), ("accumulator", ctypes.c_uint64)]

    for isa, found in elementwise_library.libraries().items():
        lib, stats = found.library, Stats()
        lib.rm_reset_reduction_stats()
        result(lib, "log_softmax_backward", "f32", *np.random.default_rng(1).standard_normal((2, 1024, 512)).astype("f4"))
        lib.rm_get_reduction_stats(ctypes.byref(stats))
        assert stats.fast + stats.double_double == 1024 * 512 and 0 < stats.double_double < 100, isa
        # 3000 + 2^-42 is a midpoint, and e^-3000 a hair beside it.
        x, out = np.array([[-(2.0**-42), 3000.0], [1.0, 3000.0]], "f8"), np.empty((2, 2), "f8")
        row, size = ctypes.c_ssize_t(16), ctypes.c_ssize_t(8)
        lib.rm_reset_reduction_stats()
        assert (
            lib.rm_log_softmax(3, ctypes.c_int64(2), ctypes.c_int64(2), pointer(x), row, size, pointer(out), row, size) == 0
        )
        lib.rm_get_reduction_stats(ctypes.byref(stats))
        assert stats.accumulator > 0, isa
