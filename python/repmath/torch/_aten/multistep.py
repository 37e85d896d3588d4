"""Operators of several steps: one rounding per step in binary64, and one to a narrower format at the end."""

import math
from typing import Any, TypeAlias

import torch

from .._formula import formula
from .._stepwise import HERE
from .._tensors import FORMATS
from .common import (
    KERNELS,
    Uncovered,
    apply,
    as_float,
    convert,
    format_of,
    in_binary64,
    integers,
    kernel,
    together,
    widened,
)

_Number: TypeAlias = float | int


def _times(a: Any, *others: Any) -> torch.Tensor:
    for b in others:
        a = apply("multiply", a, b)
    return a


@kernel
def scaled_softplus(x: torch.Tensor, beta: _Number = 1, threshold: _Number = 20) -> torch.Tensor:
    """Above its threshold PyTorch returns x; the function itself is rounded here, which differs by less than exp(-threshold)/beta."""
    if beta == 1:
        return apply("softplus", x)
    return convert(apply("divide", apply("softplus", _times(widened(x), beta)), float(beta)), x.dtype)


@kernel
def scaled_softplus_backward(g: torch.Tensor, x: torch.Tensor, beta: _Number, threshold: _Number) -> torch.Tensor:
    if beta == 1:
        return apply("softplus_backward", g, x)
    return convert(apply("softplus_backward", widened(g), _times(widened(x), beta)), format_of(g, x))


@kernel
def celu(x: torch.Tensor, alpha: _Number = 1.0) -> torch.Tensor:
    below = _times(apply("expm1", apply("divide", widened(x), float(alpha))), float(alpha))
    return torch.where(x > 0, x, convert(below, x.dtype))


@kernel
def mish_backward(g: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """g (t + x s (1 - t**2)): t the hyperbolic tangent of log(1 + exp(x)), s the sigmoid of x."""
    wide = widened(x)
    t = apply("tanh", apply("softplus", wide))
    inner = formula("tanh", 0.0, _times(wide, apply("sigmoid", wide)), t)
    inner = torch.where(wide.isinf(), inner.new_zeros(()), inner)
    return convert(_times(widened(g), apply("add", t, inner)), format_of(g, x))


@kernel
def glu_backward(g: torch.Tensor, x: torch.Tensor, dim: int) -> torch.Tensor:
    """g s and g a s (1 - s), s the sigmoid of the second half and a the first: one rounding each, as g a is exact in binary64; in that
    format it is rounded too."""
    a, b = x.chunk(2, dim)
    first = apply("softplus_backward", g, b)
    product = _times(widened(g), widened(a))
    if x.dtype is torch.float64:
        return torch.cat((first, apply("sigmoid_backward", product, b)), dim)
    second = apply("sigmoid_backward", product, widened(b), out=torch.empty_like(b, memory_format=torch.contiguous_format))
    return torch.cat((first, second), dim)


def _held(x: torch.Tensor, eps: float | None) -> torch.Tensor:
    wide = widened(x)
    return wide if eps is None else KERNELS["clamp"](wide, float(eps), 1 - float(eps))


@kernel
def logit(x: torch.Tensor, eps: float | None = None) -> torch.Tensor:
    """log(x/(1 - x)), of x held to [eps, 1 - eps]."""
    wide = _held(as_float(x), eps)
    return convert(apply("log", apply("divide", wide, apply("subtract", 1.0, wide))), as_float(x).dtype)


@kernel
def logit_backward(g: torch.Tensor, x: torch.Tensor, eps: float | None = None) -> torch.Tensor:
    """g/(x (1 - x)); outside of [eps, 1 - eps] 0, or NaN outside of [0, 1] where there is no eps."""
    wide = widened(x)
    made = convert(apply("divide", widened(g), _times(wide, apply("subtract", 1.0, wide))), format_of(g, x))
    low, outside = (0.0, torch.nan) if eps is None else (float(eps), 0.0)
    return torch.where((wide < low) | (wide > 1 - low), made.new_full((), outside), made)


@integers
@kernel
def mvlgamma(x: torch.Tensor, p: int) -> torch.Tensor:
    """The exact sum of lgamma(x - j/2), j below p, rounded; then p (p - 1)/4 log(pi) is added."""
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    x = as_float(x)
    halves = torch.arange(p, dtype=torch.float64) / 2
    terms = apply("lgamma", apply("subtract", widened(x).unsqueeze(-1), halves))
    total: torch.Tensor = KERNELS["sum"](terms, [-1])
    return convert(apply("add", total, p * (p - 1) / 4 * math.log(math.pi)), x.dtype)


@integers
@kernel
def round_decimals(x: torch.Tensor, *, decimals: int) -> torch.Tensor:
    """x times 10**decimals, rounded to a whole number, and divided again."""
    if not decimals:
        return x.round()
    first, second = ("multiply", "divide") if decimals > 0 else ("divide", "multiply")
    tens = float(10 ** abs(decimals))
    return convert(apply(second, apply(first, widened(x), tens).round(), tens), x.dtype)


@kernel
def degrees(x: torch.Tensor) -> torch.Tensor:
    """By the binary64 number beside 180/pi."""
    return KERNELS["multiply"](as_float(x), 57.29577951308232)


@kernel
def radians(x: torch.Tensor) -> torch.Tensor:
    """By the binary64 number beside pi/180."""
    return KERNELS["multiply"](as_float(x), 0.017453292519943295)


@kernel
def ldexp(x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
    """x 2**n, where 2**n is rounded to binary64 first."""
    dtype = as_float(torch.empty(0, dtype=format_of(x, n))).dtype
    return convert(_times(in_binary64(x), apply("exp2", in_binary64(n))), dtype)


@kernel
def dist(x: torch.Tensor, y: torch.Tensor, p: _Number = 2) -> torch.Tensor:
    """The norm of the rounded differences."""
    return KERNELS["vector_norm"](apply("subtract", x, y), p)


@integers
@kernel
def allclose(x: torch.Tensor, y: torch.Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """|x - y| <= atol + rtol |y|, in binary64, a rounding each."""
    a, b = torch.broadcast_tensors(widened(x), widened(y))
    far = apply("subtract", a, b).abs()
    limit = KERNELS["add"](_times(b.abs(), float(rtol)), float(atol))
    same = (a == b) | (far.isfinite() & (far <= limit))
    return bool((same | (a.isnan() & b.isnan()) if equal_nan else same).all())


def _number(name: str, choice: str) -> None:
    @integers
    def call(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        dtype = format_of(x, y)
        a, b = torch.broadcast_tensors(convert(x, dtype), convert(y, dtype))
        return torch.where(a.isnan(), b, torch.where(b.isnan(), a, formula(choice, 0.0, a, b)))

    KERNELS[name] = call


_number("fmax", "max")
_number("fmin", "min")


@kernel
def softshrink(x: torch.Tensor, lambd: _Number = 0.5) -> torch.Tensor:
    """The limit is binary64, also where it is compared."""
    if lambd < 0:
        raise ValueError(f"lambd={lambd}")
    if x.dtype in FORMATS and x.dtype is not torch.float64:
        return formula("shrink", float(lambd), x)
    wide, limit = widened(x), float(lambd)
    inner = torch.where(x.isnan(), x, x.new_zeros(()))
    return torch.where(wide > limit, KERNELS["add"](x, -limit), torch.where(wide < -limit, KERNELS["add"](x, limit), inner))


@kernel
def softshrink_backward(g: torch.Tensor, x: torch.Tensor, lambd: _Number) -> torch.Tensor:
    return formula("gate", float(lambd), *together(g, x.abs()))


@kernel
def sinc(x: torch.Tensor) -> torch.Tensor:
    """sin(pi r)/(pi x), of the difference r of x and the nearest whole number; with that number's sign if it is odd."""
    x = as_float(x)
    wide, pi = widened(x), 3.141592653589793
    whole = wide.round()
    sine = apply("sin", _times(apply("subtract", wide, whole), pi))
    sine = torch.where((whole * 0.5).floor() * 2 == whole, sine, sine.neg())
    made = apply("divide", sine, _times(wide, pi))
    return convert(torch.where(wide == 0, made.new_ones(()), made), x.dtype)


@kernel
def logaddexp2(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The larger number, and log(1 + 2**d)/log(2) of the difference d, which is not above 0."""
    dtype = format_of(x, y)
    a, b = (widened(convert(t, dtype)) for t in (x, y))
    above, below = torch.maximum(a, b), torch.minimum(a, b)
    more = _times(apply("log1p", apply("exp2", apply("subtract", below, above))), 1.4426950408889634)
    made = apply("add", above, torch.where(above == below, more.new_ones(()), more))
    return convert(made, dtype)


@kernel
def logcumsumexp(x: torch.Tensor, dim: int) -> torch.Tensor:
    """log(exp(a) + exp(b)) of what there is and the next number."""
    if x.ndim == 0:
        return logcumsumexp(x[None], dim)[0]
    steps = list(widened(x).unbind(dim))
    for i in range(1, len(steps)):
        steps[i] = apply("logaddexp", steps[i - 1], steps[i])
    return convert(torch.stack(steps, dim), x.dtype) if steps else x.clone()


@kernel
def angle(x: torch.Tensor) -> torch.Tensor:
    """Of a real number: RN(pi) of those below 0."""
    if x.is_complex():
        raise Uncovered("complex numbers")
    x = as_float(x)
    if HERE.steps is not None:
        return torch.where(x.isnan(), x, torch.where(x < 0, HERE.steps.half_turns(x.shape, x.dtype), x.new_zeros(())))
    pi = convert(torch.full((), 3.141592653589793, dtype=torch.float64), x.dtype)
    made, nan = (x < 0).to(x.dtype).mul_(pi), x.isnan()  # times 0 or 1: exact
    return torch.where(nan, x, made) if bool(nan.any()) else made
