"""Controls: with error bounds 2^20 times too small, the operators' vector evaluations decide what they must not, and bits differ."""

import ctypes

import elementwise_library
import native
import numpy as np
import pytest
import test_nn_bce
import test_nn_losses
from reductions_library import OK, pointer
from test_nn_cross_entropy import NONE, backward, problem
from test_nn_normalization import results
from test_nn_pooling import pool_of, strides
from test_nn_softmax import result
from test_statistics import dtype_of


def softmax(lib, rng):
    """Exponents of some size: the error of the exponential grows with them."""
    x = (-80 * rng.random((16384, 64))).astype("f4")
    x[:, 0] = 0.1
    return result(lib, "softmax", "f32", x)


def log_softmax(lib, rng):
    """Two classes: the logarithm of a number a little above 1."""
    return result(lib, "log_softmax", "f32", (rng.standard_normal((1 << 18, 2)) * 2).astype("f4"))


def softmax_backward(lib, rng):
    """Gradients near their mean."""
    g = (1 + rng.standard_normal((1024, 500)) / 4096).astype("f4")
    y = result(lib, "softmax", "f32", rng.standard_normal((1024, 500)).astype("f4")).view("f4")
    return result(lib, "softmax_backward", "f32", g, y)


def log_softmax_backward(lib, rng):
    """Differences that cancel: e^y is near g over the sum of g."""
    g = (1 + rng.standard_normal((64, 512)) / 8).astype("f4")
    y = np.log(np.abs(g) / g.sum(axis=1, keepdims=True, dtype=float)).astype("f4") + np.float32(2.0**-10)
    return result(lib, "log_softmax_backward", "f32", g, y)


def cross_entropy_backward(lib, rng):
    x = (-80 * rng.random((16384, 64))).astype("f4")
    x[:, 0] = 0.1
    target, g = rng.integers(0, 64, 16384), rng.standard_normal(16384).astype("f4")
    return backward(lib, "f32", problem(x, target, reduction=NONE), g)


def norms(lib, rng):
    """Means near 2^14, deviations of 2^-5: the mean's own rounding shows."""
    x = (2.0**14 + np.round(rng.standard_normal((16, 16, 60)) * 16) / 512).astype("f4")
    w, b, g = (rng.standard_normal(s).astype("f4") for s in (60, 60, x.shape))
    return np.concatenate([v.ravel() for v in results(lib, "layer", "f32", x, w, b, g, 1e-12)])


def odd(rng, low, high, n=None):
    return 2 * rng.integers(int(low) // 2, int(high) // 2, n) + 1


def terms(lib, rng):
    """Ties behind a division: (q k)^2/(2 q^2) for odd k, where k^2 has a bit more than the format."""
    found = []
    for fmt, p in (("f32", 24), ("f64", 53)):
        q = int(odd(rng, 2**8, 2**10))
        d = (q * odd(rng, 2 ** (p / 2), 2 ** ((p + 1) / 2), 4096)).astype(dtype_of(fmt))
        found += test_nn_losses.forward(lib, "smooth_l1", q * q * 2.0**50, fmt, "none", d, np.zeros_like(d))
    return np.array(found)


def term_gradients(lib, rng):
    """The same for g (q k)/q, odd g and k."""
    found = []
    for fmt, p in (("f32", 24), ("f64", 53)):
        q, half = int(odd(rng, 2**8, 2**10)), p // 2
        d = (q * odd(rng, 2**half, 2 ** (half + 0.5), 4096)).astype(dtype_of(fmt))
        g = odd(rng, 2 ** (p - half), 2 ** (p - half + 0.5), 4096).astype(dtype_of(fmt))
        found += test_nn_losses.backward(lib, "smooth_l1", q * 2.0**60, fmt, "none", g, d, np.zeros_like(d))
    return np.array(found)


def loss_totals(lib, rng):
    """Sums that are a tie and what x - y leaves over in binary64."""
    found = []
    for _ in range(200):
        parts = odd(rng, 2**11, 2**12, 7)
        x = np.array([odd(rng, 2**24, 2**25 - 2**16) - parts.sum(), *parts], "f4")
        y = np.array([0, *rng.standard_normal(7) * 2.0**-41], "f4")
        found += test_nn_losses.forward(lib, "l1", 0.0, "f32", "sum", x, y)
    return np.array(found)


def beside_tie(rng, big, hair):
    """Numbers whose sum is a tie of binary32 and some hairs, where a big one cancels."""
    tie = int(odd(rng, 2**24, 2**25))
    return np.array([big, tie & ~0xFFF, tie & 0xFFF, *rng.standard_normal(5) * hair, -big], "f4")


def bce(lib, rng):
    """With y = 2 and p = 1/2 the loss is -x. Hairs as large as the errors of two parts."""
    found = []
    for _ in range(200):
        big = 2.0 ** rng.integers(60, 90)
        x = beside_tie(rng, big, big * 2.0**-103)
        two, half = np.full_like(x, 2), np.full_like(x, 0.5)
        found += test_nn_bce.run(lib, "f32", 2, None, x, two, None, half)
    return np.array(found)


def average(lib, rng):
    """Beside 2^80 the numbers are in the second part alone."""
    x = np.array([[beside_tie(rng, 2.0**80, 2.0**-28) for _ in range(300)]])
    y = np.empty((*x.shape[:2], 1), "f4")
    p, _ = pool_of(x.shape, (1,), (x.shape[2],), (1,), (1,), (0,))
    arguments = pointer(x), strides(x), pointer(y), strides(y)
    assert lib.rm_avg_pool(2, ctypes.byref(p), 1, ctypes.c_int64(1), *arguments) == OK
    return y.view("u4")


def average_backward(lib, rng):
    """Adaptive windows: quotients by several numbers, of which some add up to ties."""
    g, gx = rng.standard_normal((1, 32, 5, 7)).astype("f4"), np.empty((1, 32, 9, 13), "f4")
    p, _ = pool_of(gx.shape, g.shape[2:])
    arguments = pointer(g), strides(g), pointer(gx), strides(gx)
    assert lib.rm_avg_pool_backward(2, ctypes.byref(p), 1, ctypes.c_int64(0), *arguments) == OK
    return gx.view("u4")


OPERATIONS = [
    softmax, log_softmax, softmax_backward, log_softmax_backward, cross_entropy_backward, norms, terms, term_gradients, loss_totals,
    bce, average, average_backward,
]  # fmt: skip


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
            ("f32", test_nn_losses.expected, 301 * 4097, None, 301 * 301),
            ("f32", test_nn_losses.expected_gradient, 301 * 4097, 5793, 301),
            ("f64", test_nn_losses.expected_gradient, 301 * 67108865, 134217729, 301),
        ):
            x, zero = np.array([d, -d], dtype_of(fmt)), np.zeros(2, dtype_of(fmt))
            case = ("smooth_l1", p * 2.0**60, fmt, "none")
            every = [x, zero] if g is None else [np.full(2, g, dtype_of(fmt)), x, zero]
            call = test_nn_losses.forward if g is None else test_nn_losses.backward
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
        # 2^24 + 1 is a midpoint, and e^-(2^24 + 1) a hair beside it.
        x, out = np.array([[0.0, 2.0**24 + 2], [1.0, 2.0**24 + 2]], "f4"), np.empty((2, 2), "f4")
        row, size = ctypes.c_ssize_t(8), ctypes.c_ssize_t(4)
        lib.rm_reset_reduction_stats()
        assert (
            lib.rm_log_softmax(2, ctypes.c_int64(2), ctypes.c_int64(2), pointer(x), row, size, pointer(out), row, size) == 0
        )
        lib.rm_get_reduction_stats(ctypes.byref(stats))
        assert stats.accumulator > 0, isa
