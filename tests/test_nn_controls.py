"""Controls: with error bounds 2^20 times too small, the operators' vector evaluations decide what they must not, and bits differ."""

import ctypes

import elementwise_library
import native
import numpy as np
import pytest
from reductions_library import pointer
from test_nn_cross_entropy import NONE, backward, problem
from test_nn_normalization import results
from test_nn_softmax import result


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
    return result(lib, "log_softmax_backward", "f32", *rng.standard_normal((2, 1024, 512)).astype("f4"))


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


@pytest.mark.parametrize(
    "operation", [softmax, log_softmax, softmax_backward, log_softmax_backward, cross_entropy_backward, norms]
)
def test_shrunk_bounds_are_seen(operation):
    flags = ["REPMATH_BUILD_TESTS=OFF", "CMAKE_C_FLAGS=-DRM_CFG_BOUND_SHRINK=0x1p-20"]
    path = native.build("control", *flags, targets=("repmath",)) / "librepmath.so"
    good = elementwise_library.libraries()
    for isa, control in elementwise_library.libraries(path).items():
        for seed in range(40):
            right, wrong = (operation(lib.library, np.random.default_rng(seed)) for lib in (good[isa], control))
            if (right != wrong).any():
                break
        else:
            pytest.fail(f"{isa}: a bound 2^20 times smaller changes nothing")


def test_counts():
    """Each tier is reached."""

    class Stats(ctypes.Structure):
        _fields_ = [("fast", ctypes.c_uint64), ("double_double", ctypes.c_uint64), ("accumulator", ctypes.c_uint64)]

    for isa, found in elementwise_library.libraries().items():
        lib, stats = found.library, Stats()
        lib.rm_reset_reduction_stats()
        log_softmax_backward(lib, np.random.default_rng(1))
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
