"""pown, rootn and compound of JAX arrays: the ufuncs' bits for int32 and int64, jit, vmap and derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import repmath
from repmath import jax as rj

KINDS = tuple(repmath._core.powers)


@pytest.mark.parametrize("kind", KINDS)
def test_bits_are_those_of_the_ufunc(kind):
    x, n = np.linspace(0.5, 2, 24).reshape(4, 6), np.array([1, 2, 3, -2, 5, 7])
    f = getattr(rj, kind)
    for dtype in (jnp.float16, jnp.bfloat16, jnp.float32):
        a = jnp.asarray(x, dtype)
        want = getattr(repmath, kind)(np.asarray(a), n)
        for g in (f, jax.jit(f), jax.vmap(f, in_axes=(0, None))):
            got = g(a, jnp.asarray(n, jnp.int32))
            assert (
                got.dtype == dtype
                and (np.asarray(got).view(f"u{dtype.dtype.itemsize}") == want.view(f"u{want.itemsize}")).all()
            )
    with jax.enable_x64(True):
        big = np.array([(1 << 53) + 1, -(1 << 60) - 1, (1 << 62) + 3])
        near = 1 + np.array([2.0**-50, -(2.0**-52), 2.0**-52])
        assert (np.asarray(f(jnp.asarray(near), jnp.asarray(big))) == getattr(repmath, kind)(near, big)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives(kind):
    f = getattr(rj, kind)
    with jax.enable_x64(True):
        for n in (1, 2, -3, 5, 0):
            if kind == "rootn" and n == 0:
                continue
            x = jnp.linspace(0.6, 1.9, 5)

            def plain(v, n=n):
                return {"pown": v ** float(n), "rootn": v ** (1 / n) if n else v, "compound": (1 + v) ** float(n)}[kind]

            first = jax.vmap(jax.grad(lambda v, n=n: f(v, n)))(x)
            second = jax.vmap(jax.grad(jax.grad(lambda v, n=n: f(v, n))))(x)
            np.testing.assert_allclose(first, jax.vmap(jax.grad(plain))(x), rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(second, jax.vmap(jax.grad(jax.grad(plain)))(x), rtol=1e-11, atol=1e-12)


def test_errors():
    with pytest.raises(TypeError):
        rj.pown(jnp.ones(3), 2.0)
