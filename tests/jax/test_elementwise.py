"""repmath.jax: the elementwise functions have the bits of the ufuncs, under jit too, and derivatives that are right."""

import mpmath
import numpy as np
import pytest
from jax_checks import jax, numbers, same

import repmath
import repmath.jax as rj
from repmath.jax import _derivatives
from repmath.jax._elementwise import NAMES

jnp = jax.numpy
BF16 = np.dtype(jnp.bfloat16)
ARITY = {name: repmath._core.ufuncs[name].nin for name in NAMES}


def arguments(dtype, x64=False):
    """For up to three arguments: numbers of every size, special values in many combinations."""
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 3e-41, -1e-44, 1e-320, 1e30, -2.5]
    tail = np.array(special)
    lists = [tail, np.roll(tail, 1), np.roll(tail, 5)]
    with np.errstate(all="ignore"):
        return [
            np.concatenate([numbers(i, 400, dtype="f8") * 2.0 ** (np.arange(400) % 9 - 4), t]).astype(dtype)
            for i, t in enumerate(lists)
        ]


def check_all(dtype):
    x = arguments(dtype)
    found = jax.jit(lambda *x: {name: getattr(rj, name)(*x[: ARITY[name]]) for name in NAMES})(*x)
    with np.errstate(all="ignore"):
        for name in NAMES:
            same(found[name], getattr(repmath, name)(*x[: ARITY[name]]))


@pytest.mark.parametrize("dtype", [np.float16, BF16, np.float32], ids=str)
def test_bits_of_the_ufuncs(dtype):
    check_all(dtype)


def test_other_bits_would_be_seen():
    """The control: XLA's own functions differ."""
    x = numbers(1, 10000)
    with pytest.raises(AssertionError):
        same(jax.jit(jnp.tanh)(x), repmath.tanh(x))


def test_float64_with_x64_alone():
    with jax.enable_x64(True):
        check_all(np.float64)
    assert rj.exp(np.float64(1)).dtype == np.float32


def test_subnormal_numbers_survive():
    """XLA computes with subnormal numbers taken as zeros; the handlers do not."""
    x = np.array([1e-40, -3e-42, 1e-45], np.float32)
    product, positive, theirs = jax.jit(lambda x: (rj.multiply(x, np.float32(1.5)), rj.relu(x), x * np.float32(1.5)))(x)
    same(product, repmath.multiply(x, np.float32(1.5)))
    same(positive, np.where(x > 0, x, np.float32(0)))
    assert not np.asarray(theirs).any(), "the control: XLA no longer flushes, so this test shows nothing"


def test_promotion_is_that_of_jax_numpy():
    x = np.ones(3, BF16)
    for a, b in [(x, 2.5), (x, np.float16(1)), (x, np.int32(3)), (np.int32(3), 1), (np.float32(2), x), (True, 2)]:
        assert rj.add(a, b).dtype == jnp.result_type(a, b, 0.0 if jnp.result_type(a, b).kind in "ib" else a)
    with jax.disable_jit():
        assert rj.add(x, x).dtype == BF16
    with pytest.raises(TypeError, match="y has dtype complex64"):
        rj.multiply(x, np.complex64(1))
    with pytest.raises(TypeError, match="takes 2 arguments"):
        rj.pow(x)


def test_broadcasting_sums_the_gradient_exactly():
    """Terms that cancel: an order of additions would show, and in XLA's own sum it does."""
    big = np.float32(2**30)
    g = np.array([[big, 1, -big, 1e-3, big, -big]] * 2, np.float32).T

    def pullback(add):
        return jax.jit(lambda b: jax.vjp(lambda b: add(np.zeros((6, 2), np.float32), b), b)[1](g)[0])(g[0])

    same(pullback(rj.add), repmath.sum(g, axis=0))
    assert (np.asarray(pullback(jnp.add)) != repmath.sum(g, axis=0)).all()


def test_a_wrong_rule_would_be_seen(monkeypatch):
    """The control of the derivatives below."""
    monkeypatch.setitem(_derivatives.FACTORS, ("sin", 0), lambda x, v: v)
    found = jax.jvp(rj.sin, (np.float32(0.3),), (np.float32(1),))[1]
    assert abs(float(found) - derivative("sin", 1, (mpmath.mpf(0.3), None))) > 0.1


# Derivatives, against numerical differentiation in 50 digits.

MP = {
    "exp2": lambda x: 2**x,
    "exp10": lambda x: 10**x,
    "log2": lambda x: mpmath.log(x) / mpmath.log(2),
    "log1p": lambda x: mpmath.log(1 + x),
    "expm1": lambda x: mpmath.exp(x) - 1,
    "ndtr": mpmath.ncdf,
    "erfcx": lambda x: mpmath.exp(x * x) * mpmath.erfc(x),
    "log_ndtr": lambda x: mpmath.log(mpmath.ncdf(x)),
    "ndtri": lambda x: mpmath.sqrt(2) * mpmath.erfinv(2 * x - 1),
    "xlogy": lambda x, y: x * mpmath.log(y),
    "xlog1py": lambda x, y: x * mpmath.log(1 + y),
    "entr": lambda x: -x * mpmath.log(x),
    "lgamma": lambda x: mpmath.log(abs(mpmath.gamma(x))),
    "trigamma": lambda x: mpmath.psi(1, x),
    "betaln": lambda x, y: mpmath.log(mpmath.beta(x, y)),
    "exp2m1": lambda x: 2**x - 1,
    "exp10m1": lambda x: 10**x - 1,
    "log2p1": lambda x: mpmath.log(1 + x) / mpmath.log(2),
    "log10p1": lambda x: mpmath.log(1 + x) / mpmath.log(10),
    "asinpi": lambda x: mpmath.asin(x) / mpmath.pi,
    "acospi": lambda x: mpmath.acos(x) / mpmath.pi,
    "atanpi": lambda x: mpmath.atan(x) / mpmath.pi,
    "tanpi": lambda x: mpmath.tan(mpmath.pi * x),
    "rsqrt": lambda x: 1 / mpmath.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "silu": lambda x: x / (1 + mpmath.exp(-x)),
    "softplus": lambda x: mpmath.log(1 + mpmath.exp(x)),
    "log_sigmoid": lambda x: -mpmath.log(1 + mpmath.exp(-x)),
    "gelu": lambda x: x * mpmath.ncdf(x),
    "gelu_tanh": lambda x: x / 2 * (1 + mpmath.tanh(mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf("0.044715") * x**3))),
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "pow": lambda x, y: x**y,
    "hypot": mpmath.hypot,
    "atan2": mpmath.atan2,
    "logaddexp": lambda x, y: mpmath.log(mpmath.exp(x) + mpmath.exp(y)),
    "fma": lambda x, y, z: x * y + z,
}
INSIDE = {"asin", "acos", "asinpi", "acospi", "atanh", "erfinv"}
POSITIVE = {"log", "log2", "log10", "log1p", "log2p1", "log10p1", "sqrt", "rsqrt", "cbrt", "pow", "entr", "betaln"}


def points(name):
    if name in INSIDE:
        return [-0.7, -0.2, 0.3, 0.8]
    if name == "ndtri":
        return [0.05, 0.3, 0.6, 0.95]
    if name == "acosh":
        return [1.1, 1.9, 3.0, 7.0]
    return [0.2, 0.7, 1.5, 3.1] if name in POSITIVE else [-1.7, -0.6, 0.3, 2.4]


def definition(name):
    return MP.get(name) or getattr(mpmath, name)


DERIVATIVES = {"trigamma": 0, "digamma": 1}  # how many of these functions there are; of all others any number
SMOOTH = [name for name in NAMES if not name.endswith("_backward")]
SECOND_POINTS = [1.3, 0.4, 2.2, 0.9]  # of the second argument
LAST = 0.25  # and of the third


def derivative(name, order, at):
    rest = tuple(mpmath.mpf(LAST) if i else at[1] for i in range(ARITY[name] - 1))
    return float(mpmath.diff(lambda t: definition(name)(t, *rest), at[0], order))


@pytest.mark.parametrize("order", [1, 2])
def test_derivatives(order):
    """Forward over forward to any order; within some units of the last digit, for each operation of a rule rounds once."""

    def of(name, x):
        def f(t):
            return getattr(rj, name)(t, *(np.float64(LAST) if i else SECOND for i in range(ARITY[name] - 1)))

        for _ in range(order):
            f = (lambda inner: lambda t: jax.jvp(inner, (t,), (jnp.ones_like(t),))[1])(f)
        return f(x)

    SECOND, names = np.array(SECOND_POINTS), [n for n in SMOOTH if DERIVATIVES.get(n, order) >= order]
    with jax.enable_x64(True), mpmath.workdps(50):
        found = jax.jit(lambda xs: {name: of(name, xs[name]) for name in names})({n: np.array(points(n)) for n in names})
        for name in names:
            for x, y, v in zip(points(name), SECOND_POINTS, np.asarray(found[name]), strict=True):
                wanted = derivative(name, order, (mpmath.mpf(x), mpmath.mpf(y)))
                assert abs(v - wanted) <= 1e-13 * max(abs(wanted), 1), (name, x, v, wanted)


def test_a_derivative_that_there_is_not_raises():
    with pytest.raises(NotImplementedError, match="trigamma has no derivative"):
        jax.grad(rj.trigamma)(1.5)
    with pytest.raises(NotImplementedError, match="trigamma has no derivative"):
        jax.grad(jax.grad(rj.digamma))(1.5)


def test_derivatives_by_later_arguments_and_in_reverse():
    several = [name for name in SMOOTH if ARITY[name] > 1]
    x, y = np.array([0.2, 0.7, 1.5, 3.1]), np.array(SECOND_POINTS)

    def total(name, i, t):
        values = [x, y, np.full(4, LAST)][: ARITY[name]]
        values[i] = t
        return rj.sum(getattr(rj, name)(*values))

    with jax.enable_x64(True), mpmath.workdps(50):
        found = jax.jit(
            lambda: {
                (n, i): jax.grad(lambda t, n=n, i=i: total(n, i, t))((x, y, np.full(4, LAST))[i])
                for n in several
                for i in range(ARITY[n])
            }
        )()
        for (name, i), g in found.items():
            for j in range(4):
                at = [mpmath.mpf(v) for v in (x[j], y[j], LAST)][: ARITY[name]]
                wanted = float(mpmath.diff(definition(name), tuple(at), tuple(int(k == i) for k in range(ARITY[name]))))
                assert abs(float(g[j]) - wanted) <= 1e-13 * max(abs(wanted), 1), (name, i, j)


GRADIENTS = [name.removesuffix("_backward") for name in NAMES if name.endswith("_backward")]


def test_gradients_of_activations_are_the_kernels():
    """One rounding: the bits of repmath.<f>_backward, in reverse mode and in forward mode, under vmap too."""
    x, g = numbers(5, 300), numbers(6, 300)

    def each(x, g):
        return {
            name: (
                jax.vjp(getattr(rj, name), x)[1](g)[0],
                jax.jvp(getattr(rj, name), (x,), (g,))[1],
                jax.vmap(jax.grad(getattr(rj, name)))(x),
            )
            for name in GRADIENTS
        }

    for name, (back, forward, mapped) in jax.jit(each)(x, g).items():
        wanted = getattr(repmath, name + "_backward")
        same(back, wanted(g, x))
        same(forward, wanted(g, x))
        same(mapped, wanted(np.ones_like(x), x))
