"""Gamma, beta, Dirichlet, chi-square, Poisson and binomial numbers in JAX, with the bits of `repmath.random`. Python computes them (`_called`).

Parameters that JAX does not hold, Python numbers and NumPy arrays, are taken exactly as float64, whose bits a compiled program has as two words of 32 bits.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .. import _distributions as _rules
from .. import _random_arguments as _checks
from .. import random as _numpy
from .._dtypes import F64
from .._narrow import convert_array
from . import _called
from ._elementwise import apply
from ._primitive import bind, define, expand, is_zero, zero_of
from ._types import FORMATS
from .special import slope

_Array = np.ndarray[Any, Any]


def _held(parameter: _Array, shape: tuple[int, ...]) -> _Array:
    """A parameter as float64, with the axes of the result."""
    if parameter.dtype == np.uint32 and parameter.shape == (*shape, 2):
        return np.ascontiguousarray(parameter).view(F64).reshape(shape)
    return parameter.astype(F64)


def _entered(name: str) -> Callable[..., None]:
    function = getattr(_numpy, name)

    def write(place: _Array, *rest: _Array) -> None:
        out, shape = rest[-1], rest[-1].shape
        stack = place.ndim - 2
        given = [_held(p, shape) for p in rest[:-1]]
        more = {"dtype": out.dtype} if name not in ("poisson", "binomial") else {}
        for i in np.ndindex(*place.shape[:stack]):
            seed, stream, offset = (int(low) | int(high) << 32 for low, high in place[i])
            offset -= (offset >> 63) << 64
            made = function(seed, shape[stack:], *(p[i] for p in given), stream=stream, offset=offset, **more)
            if out.dtype == np.int32 and np.any(made > 2**31 - 1):
                raise ValueError(f"{name} made {np.max(made)}, which int32 does not hold; jax_enable_x64 has int64")
            out[i] = made

    return write


def _slope(a: _Array, scale: _Array, y: _Array, out: _Array) -> None:
    """Of a gamma number by `a`: RN of the derivative at y/scale, which is rounded to float64, times a scale that is not 1."""
    factor = _held(scale, out.shape)
    slope(_held(a, out.shape), y.astype(F64) / factor, out)
    if (factor != 1.0).any():
        out[...] = convert_array(out.astype(F64) * factor, out.dtype)


_called.FUNCTIONS.update(
    {f"draw_{n}": _entered(n) for n in ("gamma", "beta", "chisquare", "dirichlet", "poisson", "binomial")}
)
_called.FUNCTIONS["draw_slope"] = _slope


_CHECKS: dict[str, Callable[[str, Any], _Array]] = {
    **dict.fromkeys(("a", "b", "alpha"), _rules._positive),
    "df": lambda name, value: _rules._positive(name, value, 2.0),
    "scale": _rules._factor,
    "mean": _rules._mean,
    "n": _rules._trials,
    "p": _rules._chance,
}


def _given(name: str, value: Any, shape: tuple[int, ...]) -> Any:
    """An operand of the shape: numbers of JAX, or the words of float64 numbers."""
    traced = isinstance(value, jax.Array)
    if traced and value.dtype not in FORMATS and value.dtype not in (np.int32, np.int64):
        raise TypeError(f"{name} has dtype {value.dtype}; it must be float16, bfloat16, float32, float64, int32 or int64")
    a = value if traced else _CHECKS[name](name, value)
    _rules._check_fits(name, a.shape, shape)
    if traced:
        return expand(a, shape) if a.dtype in FORMATS else jnp.broadcast_to(a, shape)
    words = np.ascontiguousarray(np.broadcast_to(a, shape)).reshape(-1).view(np.uint32)
    return jnp.asarray(words.reshape(*shape, 2))


def shape_of(shape: Any, *parameters: Any) -> tuple[int, ...]:
    if shape is not None:
        return _checks._shape(shape)
    return np.broadcast_shapes(*(np.shape(p) for p in parameters))


def draw(name: str, at: Any, shape: tuple[int, ...], dtype: Any, **parameters: Any) -> Any:
    operands = [_given(key, v, shape) for key, v in parameters.items()]
    return bind(draw_p, at, *operands, function=f"draw_{name}", shape=shape, dtype=np.dtype(dtype))


def _jvp(primals: Any, tangents: Any, *, function: str, **params: Any) -> Any:
    y = bind(draw_p, *primals, function=function, **params)
    if all(is_zero(t) for t in tangents) or function in ("draw_poisson", "draw_binomial"):
        return y, zero_of(y)
    if function != "draw_gamma":
        raise NotImplementedError(f"repmath.jax.random.{function[5:]} has no derivative by its parameters")
    _, a, scale = primals
    total = None
    for i, t in enumerate(tangents[1:]):
        if is_zero(t):
            continue
        if i == 0:
            by_a = bind(slope_p, a, scale, y)
            part = apply("multiply", t.astype(y.dtype), by_a)
        else:
            part = apply("multiply", t.astype(y.dtype), apply("divide", y, scale.astype(y.dtype)))
        total = part if total is None else apply("add", total, part)
    return y, total


draw_p: Any = define(
    "draw",
    lambda at, *given, function, shape, dtype: ((*at.shape[:-2], *shape), dtype),
    _called.by_python(),
    jvp=_jvp,
)
slope_p: Any = define(
    "draw_slope",
    lambda a, scale, y: (y.shape, y.dtype),
    functools.partial(_called.by_python(), function="draw_slope"),
)
