"""Bessel, zeta and incomplete gamma functions of JAX arrays, by the names of jax.scipy.special: the bits of `repmath.special`.

Arguments are promoted and broadcast as jax.numpy does. Python computes them inside of the compiled program, and a value that is so near a boundary of
rounding that 16,384 bits leave it undecided raises there. Derivatives are composed of rounded functions, with one rounding for each step. There is none of
`zeta` by its first argument; that of `gammainc` and `gammaincc` by the first one is of numbers from 2**-50 to 2**500.
"""

import inspect
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from .. import special as _numpy
from .._draws import gradients as _slopes
from .._dtypes import F64
from . import _called
from ._elementwise import _positive, apply
from ._primitive import bind, define, expand, is_zero, zero_of
from ._types import together

__all__ = list(_numpy.__all__)


def _entered(name: str) -> Callable[..., None]:
    function = getattr(_numpy, name)

    def write(*arrays: Any) -> None:
        arrays[-1][...] = function(*arrays[:-1])

    return write


def slope(a: Any, x: Any, out: Any) -> None:
    """-dP/da over the density p(x): how a gamma number changes with `a` (specification, section 6a); NaN of what has none."""
    shape, wide = out.shape, [np.ascontiguousarray(v, F64).reshape(-1) for v in (a, x)]
    known = (wide[0] >= 2.0**-50) & (wide[0] <= 2.0**500) & (wide[1] >= 0.0) & (wide[1] < np.inf)
    made = np.full(known.shape, np.nan, out.dtype)
    some = np.empty(int(known.sum()), out.dtype)
    _slopes.gamma_gradient(wide[0][known], wide[1][known], some)
    made[known] = some
    out[...] = made.reshape(shape)


_called.FUNCTIONS.update({name: _entered(name) for name in __all__})
_called.FUNCTIONS["gammainc_slope"] = slope


def _of(name: str, *arrays: Any) -> Any:
    """A function of arrays of one shape and format."""
    return bind(special_p, *arrays, function=name)


def _full(x: Any, value: float) -> Any:
    return jnp.full(x.shape, value, x.dtype)


def _minus(x: Any, y: Any) -> Any:
    return apply("subtract", x, y)


def _over(x: Any, y: Any) -> Any:
    return apply("divide", x, y)


def _times(x: Any, y: Any) -> Any:
    return apply("multiply", x, y)


def _sign(x: Any) -> Any:
    """By the bits: XLA's own takes subnormal numbers as zeros."""
    return jnp.where(_positive(x), _full(x, 1), jnp.where(_positive(-x), _full(x, -1), _full(x, 0)))


def _at_zero(x: Any, value: float, otherwise: Any) -> Any:
    return jnp.where(x == 0, _full(x, value), otherwise)


def _density(a: Any, x: Any) -> Any:
    """x**(a-1) e**-x/Gamma(a)."""
    power = apply("xlogy", _minus(a, _full(a, 1)), x)
    return apply("exp", _minus(_minus(power, x), apply("lgamma", a)))


def _beta_slope(a: Any, b: Any, v: Any) -> Any:
    return _times(v, _minus(apply("digamma", a), apply("digamma", apply("add", a, b))))


def _lower_slope(a: Any, x: Any) -> Any:
    return -_times(_of("gammainc_slope", a, x), _density(a, x))


# Derivatives by an argument, of the arguments and the value.
SLOPES: dict[tuple[str, int], Callable[..., Any]] = {
    ("i0", 0): lambda x, v: _of("i1", x),
    ("i1", 0): lambda x, v: _at_zero(x, 0.5, _minus(_of("i0", x), _over(v, x))),
    ("i0e", 0): lambda x, v: _minus(_of("i1e", x), _times(_sign(x), v)),
    ("i1e", 0): lambda x, v: _at_zero(x, 0.5, _minus(_minus(_of("i0e", x), _over(v, x)), _times(_sign(x), v))),
    ("j0", 0): lambda x, v: -_of("j1", x),
    ("j1", 0): lambda x, v: _at_zero(x, 0.5, _minus(_of("j0", x), _over(v, x))),
    ("y0", 0): lambda x, v: -_of("y1", x),
    ("y1", 0): lambda x, v: _minus(_of("y0", x), _over(v, x)),
    ("k0", 0): lambda x, v: -_of("k1", x),
    ("k1", 0): lambda x, v: -apply("add", _of("k0", x), _over(v, x)),
    ("k0e", 0): lambda x, v: _minus(v, _of("k1e", x)),
    ("k1e", 0): lambda x, v: _minus(_minus(v, _of("k0e", x)), _over(v, x)),
    ("gamma", 0): lambda x, v: _times(v, apply("digamma", x)),
    ("beta", 0): lambda a, b, v: _beta_slope(a, b, v),
    ("beta", 1): lambda a, b, v: _beta_slope(b, a, v),
    ("zeta", 1): lambda x, q, v: -_times(x, _of("zeta", apply("add", x, _full(x, 1)), q)),
    ("gammainc", 0): lambda a, x, v: _lower_slope(a, x),
    ("gammaincc", 0): lambda a, x, v: -_lower_slope(a, x),
    ("gammainc", 1): lambda a, x, v: _density(a, x),
    ("gammaincc", 1): lambda a, x, v: -_density(a, x),
}


def _jvp(primals: Any, tangents: Any, *, function: str) -> Any:
    v = _of(function, *primals)
    total = None
    for i, t in enumerate(tangents):
        if is_zero(t):
            continue
        if (function, i) not in SLOPES:
            raise NotImplementedError(f"{function} has no derivative by argument {i + 1}: the library has no function for it")
        part = _times(t, SLOPES[function, i](*primals, v))
        total = part if total is None else apply("add", total, part)
    return v, zero_of(v) if total is None else total


special_p: Any = define(
    "special",
    lambda *x, function: (x[0].shape, x[0].dtype),
    _called.by_python(),
    jvp=_jvp,
    axes=lambda count, function: ([""] * count, [""]),
)


def _function(name: str) -> Callable[..., Any]:
    of_numpy = getattr(_numpy, name)
    arguments = tuple(inspect.signature(of_numpy).parameters)

    def function(*args: Any) -> Any:
        if len(args) != len(arguments):
            raise TypeError(f"{name}() takes {len(arguments)} arguments ({', '.join(arguments)}), not {len(args)}")
        arrays = together(**dict(zip(arguments, args, strict=True)))
        shape = jnp.broadcast_shapes(*(a.shape for a in arrays))
        return _of(name, *(expand(a, shape) for a in arrays))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{name}({", ".join(arguments)}): as `repmath.special.{name}`, of JAX arrays.

    {(of_numpy.__doc__ or "").strip().splitlines()[0]}
    """
    return function


globals().update({name: _function(name) for name in __all__})
