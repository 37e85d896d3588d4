"""The functions of crlibm/functions.def: one primitive, whose parameter is the function's position in that file."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.interpreters import ad

from .. import _core
from ._primitive import bind, by_handler, define, expand, is_linear, is_zero
from ._types import together

NAMES = tuple(_core.ufuncs)
_LINE = {name: i for i, name in enumerate(NAMES)}


def apply(name: str, *arrays: Any) -> Any:
    """A function of arrays of one shape and format."""
    return bind(elementwise_p, *arrays, function=_LINE[name])


def _transpose(ct: Any, *args: Any, function: int) -> Any:
    """The transposition of the functions in tangents, which are sums, products, or linear in the first argument."""
    name = NAMES[function]
    if is_zero(ct):
        return [ad.Zero(x.aval) if is_linear(x) else None for x in args]
    if name == "add":
        return [ct if is_linear(x) else None for x in args]
    if name == "subtract":
        return [(ct, -ct)[i] if is_linear(x) else None for i, x in enumerate(args)]
    x, y = args
    if name == "multiply" and is_linear(y):
        return [None, apply("multiply", ct, x)]
    return [apply(name, ct, y), None]


elementwise_p: Any = define(
    "elementwise",
    lambda *x, function: (x[0].shape, x[0].dtype),
    by_handler("elementwise"),
    transpose=_transpose,
    axes=lambda count, function: ([""] * count, [""]),
)


def _function(name: str) -> Callable[..., Any]:
    ufunc = _core.ufuncs[name]
    arguments = ("g", "x") if name.endswith("_backward") else ("x", "y", "z")[: ufunc.nin]

    def function(*args: Any) -> Any:
        if len(args) != len(arguments):
            raise TypeError(f"{name}() takes {len(arguments)} arguments ({', '.join(arguments)}), not {len(args)}")
        arrays = together(**dict(zip(arguments, args, strict=True)))
        shape = arrays[0].shape
        if any(a.shape != shape for a in arrays):
            shape = jnp.broadcast_shapes(*(a.shape for a in arrays))
        return apply(name, *(expand(a, shape) for a in arrays))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{name}({", ".join(arguments)}): correctly rounded, as `repmath.{name}`.

    {(ufunc.__doc__ or "").strip().splitlines()[-1] if ufunc.__doc__ else ""}
    """
    return function


globals().update({name: _function(name) for name in NAMES})


def _positive(x: Any) -> Any:
    """Whether x > 0, decided on the bits, since XLA compares subnormal numbers as zeros."""
    bits = jax.lax.bitcast_convert_type(x, np.dtype(f"int{8 * x.dtype.itemsize}"))
    infinity = jax.lax.bitcast_convert_type(jnp.asarray(jnp.inf, x.dtype), bits.dtype)
    return (bits > 0) & (bits <= infinity)


def relu(x: Any) -> Any:
    """x where it is positive, else +0; NaN stays. The derivative at 0 is 0, as that of jax.nn.relu. Nothing is rounded."""
    (a,) = together(x=x)
    return jnp.where(_positive(a) | jnp.isnan(a), a, jnp.zeros((), a.dtype))


__all__ = ["relu", *NAMES]
