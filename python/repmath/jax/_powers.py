"""Powers with an integer, those of crlibm/powers.def: of an array and an array of integers; their derivatives are those by the first."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from .. import _core
from ._elementwise import apply
from ._primitive import bind, by_handler, define, expand, is_zero, zero_of
from ._types import integers, together

NAMES = tuple(_core.powers)  # in the order of the handler's kinds


def _power(name: str, x: Any, n: Any) -> Any:
    """Of arrays of one shape."""
    return bind(powers_p, x, n, kind=NAMES.index(name))


def _less(n: Any) -> Any:
    """n - 1; of the least integer, which has none, n + 1: the power changes no more than by two factors."""
    return jnp.where(n == jnp.iinfo(n.dtype).min, n + 1, n - 1)


def _slope(name: str, x: Any, n: Any, v: Any) -> Any:
    """The derivative by x, with a rounding for each step. n itself is rounded to the format."""
    factor = n.astype(x.dtype)
    if name == "rootn":  # v/(n x); at 0 the limit, v^(1 - n)/n
        end = apply("divide", _power("pown", v, -_less(n)), factor)
        return jnp.where(x == 0, end, apply("divide", v, apply("multiply", factor, x)))
    return jnp.where(n == 0, jnp.zeros_like(x), apply("multiply", factor, _power(name, x, _less(n))))


def _jvp(primals: Any, tangents: Any, *, kind: int) -> Any:
    x, n = primals
    v = _power(NAMES[kind], x, n)
    t = tangents[0]
    return v, zero_of(v) if is_zero(t) else apply("multiply", t, _slope(NAMES[kind], x, n, v))


powers_p: Any = define(
    "powers",
    lambda x, n, *, kind: (x.shape, x.dtype),
    by_handler("powers"),
    jvp=_jvp,
    axes=lambda count, kind: ([""] * count, [""]),
)


def _function(name: str, meaning: str) -> Callable[..., Any]:
    def function(x: Any, n: Any) -> Any:
        (a,) = together(x=x)
        k = integers("n", n)
        shape = a.shape if a.shape == k.shape else jnp.broadcast_shapes(a.shape, k.shape)
        return _power(name, expand(a, shape), jnp.broadcast_to(k, shape))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{name}(x, n): {meaning} for integers n, int32 or int64, correctly rounded, as `repmath.{name}`.

    The derivative by x is a product of two or three rounded factors.
    """
    return function


globals().update({name: _function(name, meaning) for name, meaning in _core.power_definitions.items()})
__all__ = [*NAMES]
