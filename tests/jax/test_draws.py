"""Gamma, beta, Dirichlet, chi-square, Poisson and binomial numbers of repmath.jax.random: the bits of repmath.random, which tests/random holds to exact ones."""

import numpy as np
import pytest
from jax_checks import jax, same

import repmath
import repmath.jax.random as jr
import repmath.random as nr
from repmath._draws.gradients import gamma_gradient

jnp = jax.numpy
BF16 = np.dtype(jnp.bfloat16)
A = np.array([0.3, 1.0, 2.7, 55.0])

CALLS = {
    "gamma": [{}, {"a": 0.1}, {"a": A, "scale": 0.1}, {"shape": (3, 4), "a": A}],
    "chisquare": [{"df": 3}, {"df": A}],
    "beta": [{"a": 0.1, "b": 0.7}, {"a": A, "b": A[:, None]}],
    "dirichlet": [{}, {"alpha": A}, {"shape": (5, 4), "alpha": A}],
    "poisson": [{"mean": 0.1}, {"shape": 50, "mean": 12.7}, {"mean": A}],
    "binomial": [{"n": 7, "p": 0.1}, {"n": np.array([3, 5, 500, 0]), "p": 0.3}, {"shape": (9, 4), "n": 20, "p": A / 100}],
}
CASES = [(name, call) for name, calls in CALLS.items() for call in calls]


def wanted(name, seed, dtype=np.float32, whole=np.int32, **call):
    counts = name in ("poisson", "binomial")
    made = getattr(nr, name)(seed, **call, **({} if counts else {"dtype": dtype}))
    return np.asarray(made, whole) if counts else np.asarray(made)


@pytest.mark.parametrize("name,call", CASES, ids=str)
def test_bits_of_numpy(name, call):
    function = getattr(jr, name)
    want = wanted(name, 7, stream=2**63 + 1, offset=5, **call)
    same(function(7, **call, stream=2**63 + 1, offset=5), want)
    same(jax.jit(lambda s: function(s, **call, stream=2**63 + 1, offset=jnp.int32(5)))(jnp.int32(7)), want)
    same(jax.vmap(lambda s: function(s, **call))(jnp.arange(3)), np.stack([wanted(name, s, **call) for s in range(3)]))
    if np.size(want) > 1:  # the control
        assert not np.array_equal(np.asarray(function(8, **call, offset=5)), want)
    with jax.disable_jit():
        same(function(7, **call, stream=2**63 + 1, offset=5), want)


@pytest.mark.parametrize("dtype", [np.float16, BF16, np.float64], ids=str)
@pytest.mark.parametrize("name", ["gamma", "beta", "dirichlet", "chisquare"])
def test_formats(name, dtype):
    with jax.enable_x64(dtype == np.float64):
        same(getattr(jr, name)(3, (40, 2), dtype=dtype), wanted(name, 3, dtype, shape=(40, 2)))


@pytest.mark.parametrize("name,call", [c for c in CASES if c[1] and "shape" not in c[1]], ids=str)
def test_parameters_of_jax_are_numbers_of_their_format(name, call):
    """0.1 is another number in float32 than in float64: as an array of JAX it counts as the one that it is."""
    narrow = {key: np.asarray(v, np.int32 if key == "n" else np.float32) for key, v in call.items()}
    found = jax.jit(lambda **given: getattr(jr, name)(11, **given))(**narrow)
    same(found, wanted(name, 11, **narrow))
    many = {key: np.stack([v, v]) for key, v in narrow.items()}
    same(jax.vmap(lambda given: getattr(jr, name)(11, **given))(many), np.stack([found, found]))


def test_degrees_of_freedom_may_be_integers():
    df = np.array([1, 2, 77], np.int32)
    same(jr.chisquare(2, df=jnp.asarray(df)), wanted("chisquare", 2, df=df))
    same(jr.chisquare(2, df=jnp.asarray(df).astype(jnp.bfloat16)), wanted("chisquare", 2, df=df))


@pytest.mark.parametrize("scale", [1.0, 0.1])
def test_gradients_of_gamma(scale):
    a = np.linspace(0.4, 9, 30).astype(np.float32)
    y = wanted("gamma", 5, a=a, scale=scale)
    g = np.empty(30, np.float32)
    gamma_gradient(a.astype("f8"), y / np.float64(scale), g)
    g = g if scale == 1 else (g * np.float64(scale)).astype(np.float32)
    found = jax.jit(
        jax.vmap(
            jax.grad(lambda a, at: jr.gamma(5, (), a, scale, offset=at)),
        )
    )(jnp.asarray(a), jnp.arange(30))
    same(found, g)
    s = np.full(30, scale, np.float32)
    y = wanted("gamma", 5, a=2.5, scale=s)
    by_scale = jax.grad(lambda s: repmath.jax.sum(jr.gamma(5, None, 2.5, s)))(jnp.asarray(s))
    same(by_scale, repmath.divide(y, s))
    # Both at once: more shape, more of the same probability.
    h = 1e-3
    with jax.enable_x64(True):
        both = jax.jvp(
            lambda a, s: jr.gamma(5, (30,), a, s), (jnp.float64(3.0), jnp.float64(scale)), (jnp.float64(1.0), jnp.float64(h))
        )[1]
        one = jax.jvp(lambda a: jr.gamma(5, (30,), a, scale), (jnp.float64(3.0),), (jnp.float64(1.0),))[1]
        assert np.all(np.asarray(one) > 0)
        by_scale = repmath.divide(nr.gamma(5, 30, 3.0, scale), scale)
        same(both, repmath.add(one, repmath.multiply(h, by_scale)))


def test_refusals():
    with pytest.raises(ValueError, match="a must be from"):
        jr.gamma(1, 2, -1.0)
    with pytest.raises(ValueError, match="n must be whole numbers, not 1.5"):
        jr.binomial(1, 2, 1.5)
    with pytest.raises(ValueError, match=r"scale of shape \(4,\) does not broadcast to the shape \(3,\)"):
        jr.gamma(1, 3, 1.0, np.ones(4))
    with pytest.raises(ValueError, match="alpha must have at least one axis"):
        jr.dirichlet(1, (), 1.0)
    with pytest.raises(ValueError, match="seed must be from 0"):
        jr.gamma(-1)
    with pytest.raises(TypeError, match="p has dtype uint32"):
        jr.binomial(1, 3, 4, jnp.ones(3, np.uint32))
    with pytest.raises(NotImplementedError, match="random.beta has no derivative"):
        jax.grad(lambda a: jr.beta(1, (), a))(1.0)
    for bad in (lambda: jr.gamma(1, 2, jnp.float32(-1)), lambda: jr.poisson(1, 2, 2.0**40)):
        with pytest.raises(jax.errors.JaxRuntimeError, match="repmath: a must be from|which int32 does not hold"):
            jax.block_until_ready(jax.jit(bad)())
    with jax.enable_x64(True):
        same(jr.poisson(1, 2, 2.0**40), nr.poisson(1, 2, 2.0**40))
    with repmath.rounding.scope("up_down", seed=1), pytest.raises(TypeError, match="repmath.jax: draw"):
        jr.gamma(1)
