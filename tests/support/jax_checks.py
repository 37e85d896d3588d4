"""What the tests of repmath.jax share: JAX with two devices of the CPU, and comparison of bits."""

import os

import numpy as np
import pytest

# Read when JAX begins; a process that has begun already keeps its one device. What XLA compiles here is small: optimising it is the
# larger part of the time.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_force_host_platform_device_count=8 --xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true",
)
jax = pytest.importorskip("jax", reason="JAX is not installed (pip install 'repmath[jax]')")
pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed (pip install 'repmath[jax]')")

import repmath  # noqa: E402


def same(found, wanted):
    """One format, one shape, one set of bits (of a NaN: the canonical one)."""
    a, b = np.asarray(found), np.asarray(wanted)
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    assert repmath.digest(a) == repmath.digest(b), np.flatnonzero(a.reshape(-1) != b.reshape(-1))[:10]


def numbers(stream: int, *shape: int, dtype="f4"):
    """Normal numbers, the same in every run."""
    return repmath.random.normal(20, shape, dtype=dtype, stream=stream)
