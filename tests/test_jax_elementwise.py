"""repmath.jax: the elementwise functions have the bits of the ufuncs, under jit too, and derivatives that are right."""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")

import repmath  # noqa: E402
import repmath.jax as rj  # noqa: E402


def same(found, wanted):
    """One format, one shape, one set of bits (of a NaN: the canonical one)."""
    a, b = np.asarray(found), np.asarray(wanted)
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    assert repmath.digest(a) == repmath.digest(b)


def test_exp_under_jit():
    x = np.concatenate([np.linspace(-90, 90, 1001), [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-42]]).astype("f4")
    same(jax.jit(rj.exp)(x), repmath.exp(x))
