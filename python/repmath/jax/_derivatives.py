"""Derivatives of the elementwise functions, written in these functions, with one rounding per operation.

`tangent` is linear in the tangent: a product or a quotient of it, so that it can be transposed. Where the derivative has a kernel of its
own (`gelu_backward` and so on) the tangent is one correctly rounded value; elsewhere a few."""

import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax.interpreters import ad

from ._elementwise import NAMES, apply, elementwise_p
from ._primitive import is_zero, zero_of

# Arguments x, y, ... and the value v; what the tangent is multiplied by, or divided by.
Slope = Callable[..., Any]


def _constant(x: Any, value: float) -> Any:
    return jnp.full(x.shape, value, x.dtype)


def _scaled(x: Any, value: float) -> Any:
    return apply("multiply", x, _constant(x, value))


def _one_less_square(x: Any) -> Any:
    """1 - x**2."""
    return apply("fma", -x, x, _constant(x, 1))


def _one_more_square(x: Any) -> Any:
    return apply("fma", x, x, _constant(x, 1))


def _density(x: Any) -> Any:
    """The density of the normal distribution, exp(-x**2/2)/sqrt(2 pi)."""
    half = apply("multiply", _scaled(x, -0.5), x)
    return _scaled(apply("exp", half), 1 / math.sqrt(2 * math.pi))


def _where(condition: Any, value: float, otherwise: Any) -> Any:
    return jnp.where(condition, _constant(otherwise, value), otherwise)


FACTORS: dict[tuple[str, int], Slope] = {
    ("exp", 0): lambda x, v: v,
    ("exp2", 0): lambda x, v: _scaled(v, math.log(2)),
    ("exp10", 0): lambda x, v: _scaled(v, math.log(10)),
    ("expm1", 0): lambda x, v: apply("exp", x),
    ("exp2m1", 0): lambda x, v: _scaled(apply("exp2", x), math.log(2)),
    ("exp10m1", 0): lambda x, v: _scaled(apply("exp10", x), math.log(10)),
    # As PyTorch: x = 0 has the derivative 0 by x where the logarithm is no number.
    ("xlogy", 0): lambda x, y, v: _where((x == 0) & (y <= 0), 0, apply("log", y)),
    ("xlogy", 1): lambda x, y, v: apply("divide", x, y),
    ("xlog1py", 0): lambda x, y, v: _where((x == 0) & (y <= -1), 0, apply("log1p", y)),
    ("xlog1py", 1): lambda x, y, v: apply("divide", x, apply("add", y, _constant(y, 1))),
    ("entr", 0): lambda x, v: apply("subtract", _constant(x, -1), apply("log", x)),
    ("sin", 0): lambda x, v: apply("cos", x),
    ("cos", 0): lambda x, v: -apply("sin", x),
    ("tan", 0): lambda x, v: _one_more_square(v),
    ("sinpi", 0): lambda x, v: _scaled(apply("cospi", x), math.pi),
    ("cospi", 0): lambda x, v: _scaled(apply("sinpi", x), -math.pi),
    ("tanpi", 0): lambda x, v: _scaled(_one_more_square(v), math.pi),
    ("sinh", 0): lambda x, v: apply("cosh", x),
    ("cosh", 0): lambda x, v: apply("sinh", x),
    ("asin", 0): lambda x, v: apply("rsqrt", _one_less_square(x)),
    ("acos", 0): lambda x, v: -apply("rsqrt", _one_less_square(x)),
    ("asinpi", 0): lambda x, v: _scaled(apply("rsqrt", _one_less_square(x)), 1 / math.pi),
    ("acospi", 0): lambda x, v: _scaled(apply("rsqrt", _one_less_square(x)), -1 / math.pi),
    ("erfinv", 0): lambda x, v: _scaled(apply("exp", apply("multiply", v, v)), math.sqrt(math.pi) / 2),
    ("erfcx", 0): lambda x, v: apply("fma", _scaled(x, 2), v, _constant(x, -2 / math.sqrt(math.pi))),
    ("ndtr", 0): lambda x, v: _density(x),
    ("lgamma", 0): lambda x, v: apply("digamma", x),
    ("digamma", 0): lambda x, v: apply("trigamma", x),
    ("betaln", 0): lambda x, y, v: apply("subtract", apply("digamma", x), apply("digamma", apply("add", x, y))),
    ("betaln", 1): lambda x, y, v: apply("subtract", apply("digamma", y), apply("digamma", apply("add", x, y))),
    ("rsqrt", 0): lambda x, v: apply("divide", v, _scaled(x, -2)),
    ("multiply", 0): lambda x, y, v: y,
    ("multiply", 1): lambda x, y, v: x,
    ("fma", 0): lambda x, y, z, v: y,
    ("fma", 1): lambda x, y, z, v: x,
    ("divide", 1): lambda x, y, v: -apply("divide", v, y),
    ("hypot", 0): lambda x, y, v: apply("divide", x, v),
    ("hypot", 1): lambda x, y, v: apply("divide", y, v),
    # As jax.numpy: y = 0 has the derivative 0 by x, x = 0 the derivative 0 by y.
    ("pow", 0): lambda x, y, v: _where(
        y == 0, 0, apply("multiply", y, apply("pow", x, apply("subtract", y, _constant(y, 1))))
    ),
    ("pow", 1): lambda x, y, v: apply("multiply", v, apply("log", _where(x == 0, 1, x))),
    ("logaddexp", 0): lambda x, y, v: apply("sigmoid", _where(x == y, 0, apply("subtract", x, y))),
    ("logaddexp", 1): lambda x, y, v: apply("sigmoid", _where(x == y, 0, apply("subtract", y, x))),
    ("atan2", 0): lambda x, y, v: apply("divide", apply("divide", y, apply("hypot", x, y)), apply("hypot", x, y)),
    ("atan2", 1): lambda x, y, v: -apply("divide", apply("divide", x, apply("hypot", x, y)), apply("hypot", x, y)),
}

DIVISORS: dict[tuple[str, int], Slope] = {
    ("log", 0): lambda x, v: x,
    ("log2", 0): lambda x, v: _scaled(x, math.log(2)),
    ("log10", 0): lambda x, v: _scaled(x, math.log(10)),
    ("log1p", 0): lambda x, v: apply("add", x, _constant(x, 1)),
    ("log2p1", 0): lambda x, v: _scaled(apply("add", x, _constant(x, 1)), math.log(2)),
    ("log10p1", 0): lambda x, v: _scaled(apply("add", x, _constant(x, 1)), math.log(10)),
    ("atan", 0): lambda x, v: _one_more_square(x),
    ("atanpi", 0): lambda x, v: _scaled(_one_more_square(x), math.pi),
    ("asinh", 0): lambda x, v: apply("hypot", x, _constant(x, 1)),
    ("acosh", 0): lambda x, v: apply(
        "multiply",
        apply("sqrt", apply("subtract", x, _constant(x, 1))),
        apply("sqrt", apply("add", x, _constant(x, 1))),
    ),
    ("atanh", 0): lambda x, v: _one_less_square(x),
    ("log_ndtr", 0): lambda x, v: _scaled(apply("erfcx", _scaled(x, -math.sqrt(0.5))), math.sqrt(math.pi / 2)),
    ("ndtri", 0): lambda x, v: _density(v),
    ("sqrt", 0): lambda x, v: _scaled(v, 2),
    ("cbrt", 0): lambda x, v: _scaled(apply("multiply", v, v), 3),
    ("divide", 0): lambda x, y, v: y,
}

# Functions whose derivative times a number is a function too, with the sign that it counts with.
GRADIENTS = {
    "tanh": "tanh_backward",
    "sigmoid": "sigmoid_backward",
    "silu": "silu_backward",
    "gelu": "gelu_backward",
    "gelu_tanh": "gelu_tanh_backward",
    "softplus": "softplus_backward",
    "log_sigmoid": "log_sigmoid_backward",
    "erf": "erf_backward",
}


def _gelu_tanh_second(x: Any) -> Any:
    """S (u' + x (u''/2 - T u'**2)): u = c (x + a x**3), T = tanh(u), S = 1 - T**2."""
    c, a = math.sqrt(2 / math.pi), 0.044715
    square = apply("multiply", x, x)
    u = apply("multiply", _scaled(x, c), apply("fma", _constant(x, a), square, _constant(x, 1)))
    u1 = apply("fma", _constant(x, 3 * a * c), square, _constant(x, c))
    half_u2 = _scaled(x, 3 * a * c)
    t = apply("tanh", u)
    inner = apply("fma", -apply("multiply", t, u1), u1, half_u2)
    # Far out S is 0 and the rest overflows.
    bounded = jnp.where(jnp.abs(x) < 30, apply("fma", x, inner, u1), jnp.zeros_like(x))
    return apply("multiply", apply("tanh_backward", _constant(x, 1), u), bounded)


# Second derivatives of these functions at x.
SECOND: dict[str, Callable[[Any], Any]] = {
    "tanh_backward": lambda x: apply("multiply", _scaled(apply("tanh", x), -2), apply("tanh_backward", _constant(x, 1), x)),
    "sigmoid_backward": lambda x: (
        -apply("multiply", apply("sigmoid_backward", _constant(x, 1), x), apply("tanh", _scaled(x, 0.5)))
    ),
    "silu_backward": lambda x: apply(
        "multiply",
        apply("sigmoid_backward", _constant(x, 1), x),
        apply("fma", -x, apply("tanh", _scaled(x, 0.5)), _constant(x, 2)),
    ),
    "gelu_backward": lambda x: apply("multiply", _density(x), apply("fma", -x, x, _constant(x, 2))),
    "gelu_tanh_backward": _gelu_tanh_second,
    "softplus_backward": lambda x: apply("sigmoid_backward", _constant(x, 1), x),
    "log_sigmoid_backward": lambda x: -apply("sigmoid_backward", _constant(x, 1), x),
    "erf_backward": lambda x: apply("multiply", _scaled(x, -2), apply("erf_backward", _constant(x, 1), x)),
}


def tangent(name: str, position: int, t: Any, arguments: Any, value: Any) -> Any:
    """The part of a function's tangent that is due to the tangent of one argument."""
    if name in ("add", "subtract") or (name, position) == ("fma", 2):
        return -t if (name, position) == ("subtract", 1) else t
    if name in GRADIENTS:
        return apply(GRADIENTS[name], t, arguments[0])
    if name == "erfc":
        return -apply("erf_backward", t, arguments[0])
    if name.endswith("_backward"):
        g, x = arguments
        return apply(name, t, x) if position == 0 else apply("multiply", t, apply("multiply", g, SECOND[name](x)))
    if (name, position) in DIVISORS:
        return apply("divide", t, DIVISORS[name, position](*arguments, value))
    if (name, position) not in FACTORS:
        raise NotImplementedError(f"{name} has no derivative: the library has no function for it")
    return apply("multiply", t, FACTORS[name, position](*arguments, value))


def _jvp(primals: Any, tangents: Any, *, function: int) -> Any:
    name = NAMES[function]
    y = apply(name, *primals)
    parts = [tangent(name, i, t, primals, y) for i, t in enumerate(tangents) if not is_zero(t)]
    total = parts[0] if parts else zero_of(y)
    for part in parts[1:]:
        total = apply("add", total, part)
    return y, total


ad.primitive_jvps[elementwise_p] = _jvp
