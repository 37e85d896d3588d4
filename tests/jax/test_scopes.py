"""Operators of repmath.jax raise in scopes of repmath.rounding: eagerly, in functions that are compiled there, and in those that were compiled before."""

import threading

import numpy as np
import pytest
from jax_checks import jax, same

import repmath
import repmath.jax as rj
from repmath import rounding

X = np.linspace(0.1, 2, 12, dtype=np.float32).reshape(3, 4)
CALLS = {
    "exp": lambda: rj.exp(X),
    "sum": lambda: rj.sum(X),
    "matmul": lambda: rj.matmul(X, X.T),
    "softmax": lambda: rj.softmax(X),
    "gradient": lambda: jax.grad(lambda x: rj.sum(rj.tanh(x)))(X),
}


@pytest.mark.parametrize("mode", ["stochastic", "up_down", "down"])
@pytest.mark.parametrize("name", CALLS)
def test_they_raise(name, mode):
    call = CALLS[name]
    plain = call()
    with rounding.scope(mode) as block:
        with pytest.raises(TypeError, match=f"repmath.jax: .* has no {mode} rounding"):
            call()
        assert block.calls == 0
    same(call(), plain)


def test_compiled_functions_raise_too():
    f = jax.jit(lambda x: rj.softmax(rj.exp(x)))
    plain = f(X)
    for mode in ("random", "up"):
        with rounding.scope(mode), pytest.raises(TypeError, match=f"no {mode} rounding"):
            f(X)
    same(f(X), plain)
    _, back = jax.vjp(f, X)
    with rounding.scope("random"), pytest.raises(TypeError, match="no random rounding"):
        back(plain)


def test_others_are_as_outside():
    """JAX's own operators, another thread, and NumPy functions of JAX's arrays, which have the mode."""
    f = jax.jit(lambda x: jax.numpy.tanh(x) * 2)
    plain, found = f(X), []
    with rounding.scope("stochastic", seed=3):
        same(f(X), plain)
        thread = threading.Thread(target=lambda: found.append(rj.exp(X)))
        thread.start()
        thread.join()
        made = repmath.exp(jax.numpy.asarray(X))
    same(found[0], repmath.exp(X))
    same(made, rounding.exp(X, "stochastic", seed=3))


def test_blocks_may_be_left_by_errors():
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), rounding.scope("random"), rounding.scope("down"):
            raise ZeroDivisionError
    same(rj.exp(X), repmath.exp(X))
