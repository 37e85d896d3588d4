"""repmath.jax.special: the bits of repmath.special, and those of mpmath, under jit and vmap; derivatives beside differences of mpmath's values."""

import functools

import mpmath
import numpy as np
import pytest
from jax_checks import jax, same

import repmath.jax as rj
import repmath.special
from repmath.jax.special import SLOPES

jnp = jax.numpy
NAMES = repmath.special.__all__
TWO = {"beta", "gammainc", "gammaincc", "zeta"}
TYPES = [np.float16, np.dtype(jnp.bfloat16), np.float32, np.float64]
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 3e-41, 1e-310, -2.5, 700.0]

mp = mpmath.mp.clone()
mp.prec = 120
EXACT = {
    "i0": lambda x: mp.besseli(0, x),
    "i1": lambda x: mp.besseli(1, x),
    "i0e": lambda x: mp.exp(-abs(x)) * mp.besseli(0, x),
    "i1e": lambda x: mp.exp(-abs(x)) * mp.besseli(1, x),
    "j0": lambda x: mp.besselj(0, x),
    "j1": lambda x: mp.besselj(1, x),
    "y0": lambda x: mp.bessely(0, x),
    "y1": lambda x: mp.bessely(1, x),
    "k0": lambda x: mp.besselk(0, x),
    "k1": lambda x: mp.besselk(1, x),
    "k0e": lambda x: mp.exp(x) * mp.besselk(0, x),
    "k1e": lambda x: mp.exp(x) * mp.besselk(1, x),
    "gamma": mp.gamma,
    "beta": mp.beta,
    "zeta": mp.zeta,
    "gammainc": lambda a, x: mp.gammainc(a, 0, x, regularized=True),
    "gammaincc": lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True),
}


def points(name, dtype, n=60):
    """Arguments in the functions' range."""
    x = (repmath.random.uniform(3, n, 0.05, 12.0)).astype(dtype)
    if name not in TWO:
        return (x,)
    other = (repmath.random.uniform(4, n, 0.05, 12.0)).astype(dtype)
    return (x + dtype(1) if name == "zeta" else x, other)


@functools.cache
def exact(name, *at):
    return EXACT[name](*(mp.mpf(v) for v in at))


def rounded(value, dtype):
    """By NumPy's conversion of binary64 numbers, which rounds to odd what mpmath rounds down."""
    value = mp.mpf(value)
    if np.dtype(dtype) == np.float64:
        return float(value)
    high = float(value)
    if high != value:  # to odd: of the two neighbours the one whose last bit is set
        bits = np.float64(high).view(np.int64)
        if not bits & 1:
            high = float(np.nextafter(high, np.inf if value > high else -np.inf))
    return np.float64(high).astype(dtype)


@pytest.mark.parametrize("name", NAMES)
def test_bits_of_mpmath(name):
    x = points(name, np.float32)
    found = np.asarray(jax.jit(getattr(rj.special, name))(*x))
    want = [rounded(exact(name, *map(float, at)), np.float32) for at in zip(*x, strict=True)]
    same(found, np.array(want, np.float32))
    assert not np.array_equal(found, np.nextafter(np.array(want, np.float32), np.inf))  # the control


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_bits_of_numpy(name, dtype):
    function, of_numpy = getattr(rj.special, name), getattr(repmath.special, name)
    tail = np.array(SPECIAL[:7] if name in TWO else SPECIAL).astype(dtype)  # tiny ones beside others take thousands of bits
    args = [np.concatenate([v, np.roll(tail, 3 * i)]) for i, v in enumerate(points(name, np.dtype(dtype).type))]
    with jax.enable_x64(dtype == np.float64), np.errstate(all="ignore"):
        want = of_numpy(*args)
        same(jax.jit(function)(*args), want)
        rows = [np.stack([v, v[::-1]]) for v in args]
        same(jax.vmap(function)(*rows), np.stack([want, want[::-1]]))
        if name in TWO:
            same(jax.vmap(function, (0, None))(rows[0], args[1]), of_numpy(rows[0], args[1]))
            same(function(args[0][:, None], args[1][:5]), of_numpy(args[0][:, None], args[1][:5]))
        with jax.disable_jit():
            same(function(*args), want)
        same(function(*(v[:0] for v in args)), want[:0])


@pytest.mark.parametrize("name,position", SLOPES)
def test_derivatives(name, position):
    with jax.enable_x64(True):
        x = points(name, np.float64, 12)
        function = getattr(rj.special, name)
        forward = jax.jit(lambda t: jax.jvp(lambda v: function(*x[:position], v, *x[position + 1 :]), (x[position],), (t,)))
        found = np.asarray(forward(np.full(12, 2.0))[1]) / 2
        gradient = jax.grad(lambda *x: rj.sum(function(*x)), position)(*map(jnp.asarray, x))
        same(gradient, found)
        for i, at in enumerate(zip(*x, strict=True)):
            numbers = [mp.mpf(float(v)) for v in at]
            want = mp.diff(lambda v: EXACT[name](*numbers[:position], v, *numbers[position + 1 :]), numbers[position])  # noqa: B023
            size = abs(EXACT[name](*numbers)) + abs(want)
            assert abs(found[i] - want) <= 1e-12 * size, (at, found[i], want)


def test_derivatives_at_zero_and_of_subnormal_numbers():
    x = jnp.asarray(np.array([0.0, 1e-40, -1e-40], np.float32))
    for name, want in [
        ("i0", [0, 5e-41, -5e-41]),
        ("i1", [0.5] * 3),
        ("i1e", [0.5] * 3),
        ("j1", [0.5] * 3),
        ("i0e", [0, -1, 1]),
    ]:
        found = np.asarray(jax.vmap(jax.grad(getattr(rj.special, name)))(x))
        assert np.array_equal(found, np.array(want, np.float32)), name


def test_second_derivatives():
    second = jax.grad(jax.grad(rj.special.j0))(jnp.float32(1.5))
    want = mp.diff(EXACT["j0"], mp.mpf(1.5), 2)
    assert abs(float(second) - want) < 1e-6


def test_refusals():
    with pytest.raises(NotImplementedError, match="zeta has no derivative by argument 1"):
        jax.grad(rj.special.zeta)(jnp.float32(2), jnp.float32(1))
    with pytest.raises(TypeError, match="x has dtype complex64"):
        rj.special.i0(jnp.ones(2, np.complex64))
    with pytest.raises(TypeError, match=r"zeta\(\) takes 2 arguments \(x, q\), not 1"):
        rj.special.zeta(jnp.float32(2))
    for far in (jnp.float32(2**21), jnp.full(3, 2**21, np.float32)):
        with pytest.raises(jax.errors.JaxRuntimeError, match="repmath: a=2097152.0 above 1048576 with x near"):
            jax.block_until_ready(jax.jit(rj.special.gammainc)(far, far))
    with repmath.rounding.scope("up_down", seed=1), pytest.raises(TypeError, match="repmath.jax: special"):
        rj.special.i0(jnp.float32(2))


def test_on_meshes_of_devices():
    x = points("i0", np.float32, 64)[0]
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:2]), ("d",))
    divided = jax.device_put(x, jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("d")))
    found = jax.jit(rj.special.i0e)(divided)
    same(found, repmath.special.i0e(x))
    assert len(found.sharding.device_set) == len(mesh.devices)
