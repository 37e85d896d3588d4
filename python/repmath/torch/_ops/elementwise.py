"""The functions of crlibm/functions.def as operators, and the rules for their derivatives."""

import inspect
import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import torch

from ... import _core
from .._tensors import as_array
from .operator import Operator, check_formats
from .reductions import sum_to

_Tensor: TypeAlias = torch.Tensor
_Rule = Callable[..., Any]

# Names of arguments, where torch has others than `input`, `other`.
_ARGUMENTS = {"pow": ("input", "exponent"), "fma": ("input", "other", "addend")}


def scalar(value: float, dtype: torch.dtype) -> _Tensor:
    """A tensor without axes of the number rounded to the format: to its significand first, since PyTorch goes through float32."""
    digits = {torch.float16: 11, torch.bfloat16: 8}.get(dtype)
    if digits is not None and math.isfinite(value) and value != 0:
        # The last place that the format has at this size; 2**-24 and 2**-133 are the least subnormal numbers.
        least = -24 if dtype == torch.float16 else -133
        place = max(math.frexp(value)[1] - digits, least)
        value = math.ldexp(round(math.ldexp(value, -place)), place)
    return torch.full((), value, dtype=dtype)


def _derivatives(f: dict[str, Operator]) -> dict[str, tuple[_Rule, ...]]:
    """For each function a rule for each argument: what g is multiplied to by the derivative there.

    x, y, z are the arguments, out the result. A rule rounds once for each function that it names."""
    add, mul, div, fma, sub = f["add"], f["multiply"], f["divide"], f["fma"], f["subtract"]

    def c(value: float, like: _Tensor) -> _Tensor:
        return scalar(value, like.dtype)

    def times(g: _Tensor, value: float) -> _Tensor:
        return mul(g, c(value, g))

    def own(name: str) -> _Rule:
        """The derivative is a function of its own, with one rounding."""
        return lambda g, x: f[name + "_backward"](g, x)

    def power_by_base(g: _Tensor, x: _Tensor, y: _Tensor) -> _Tensor:
        slope = mul(y, f["pow"](x, sub(y, c(1.0, y))))
        return mul(g, torch.where(y == 0, c(0.0, slope), slope))

    def power_by_exponent(g: _Tensor, x: _Tensor, y: _Tensor, out: _Tensor) -> _Tensor:
        return mul(g, torch.where((x == 0) & (y >= 0), c(0.0, out), mul(out, f["log"](x))))

    def of_gelu_tanh(g: _Tensor, x: _Tensor, y: _Tensor) -> _Tensor:
        """With u = k (y + a y^3): (1 - tanh(u)^2) (u' + y (u''/2 - tanh(u) u'^2))."""
        k, a = math.sqrt(2 / math.pi), 0.044715
        u = times(fma(times(mul(y, y), a), y, y), k)
        slope = times(fma(times(y, 3 * a), y, c(1.0, y)), k)
        inner = fma(torch.neg(f["tanh"](u)), mul(slope, slope), times(y, 3 * a * k))
        return f["tanh_backward"](mul(mul(g, x), fma(y, inner, slope)), u)

    pi, ln2, ln10 = math.pi, math.log(2), math.log(10)
    return {
        "exp": (lambda g, out: mul(g, out),),
        "exp2": (lambda g, out: times(mul(g, out), ln2),),
        "exp10": (lambda g, out: times(mul(g, out), ln10),),
        "expm1": (lambda g, out: fma(g, out, g),),
        "exp2m1": (lambda g, x: times(mul(g, f["exp2"](x)), ln2),),
        "exp10m1": (lambda g, x: times(mul(g, f["exp10"](x)), ln10),),
        "log": (lambda g, x: div(g, x),),
        "log2": (lambda g, x: div(g, times(x, ln2)),),
        "log10": (lambda g, x: div(g, times(x, ln10)),),
        "log1p": (lambda g, x: div(g, add(x, c(1.0, x))),),
        "log2p1": (lambda g, x: div(g, times(add(x, c(1.0, x)), ln2)),),
        "log10p1": (lambda g, x: div(g, times(add(x, c(1.0, x)), ln10)),),
        # x = 0 has the derivative 0 where the logarithm is no number, as PyTorch has it.
        "xlogy": (
            lambda g, x, y: torch.where((x == 0) & (y <= 0), c(0.0, x), f["xlogy"](g, y)),
            lambda g, x, y: div(mul(g, x), y),
        ),
        "xlog1py": (
            lambda g, x, y: torch.where((x == 0) & (y <= -1), c(0.0, x), f["xlog1py"](g, y)),
            lambda g, x, y: div(mul(g, x), add(y, c(1.0, y))),
        ),
        "entr": (lambda g, x: mul(g, sub(c(-1.0, x), f["log"](x))),),
        "sin": (lambda g, x: mul(g, f["cos"](x)),),
        "cos": (lambda g, x: mul(torch.neg(g), f["sin"](x)),),
        "tan": (lambda g, out: mul(g, fma(out, out, c(1.0, out))),),
        "sinpi": (lambda g, x: times(mul(g, f["cospi"](x)), pi),),
        "cospi": (lambda g, x: times(mul(g, f["sinpi"](x)), -pi),),
        "tanpi": (lambda g, out: times(mul(g, fma(out, out, c(1.0, out))), pi),),
        "asin": (lambda g, x: mul(g, f["rsqrt"](fma(torch.neg(x), x, c(1.0, x)))),),
        "acos": (lambda g, x: mul(torch.neg(g), f["rsqrt"](fma(torch.neg(x), x, c(1.0, x)))),),
        "atan": (lambda g, x: div(g, fma(x, x, c(1.0, x))),),
        "asinpi": (lambda g, x: times(mul(g, f["rsqrt"](fma(torch.neg(x), x, c(1.0, x)))), 1 / pi),),
        "acospi": (lambda g, x: times(mul(g, f["rsqrt"](fma(torch.neg(x), x, c(1.0, x)))), -1 / pi),),
        "atanpi": (lambda g, x: div(g, times(fma(x, x, c(1.0, x)), pi)),),
        "sinh": (lambda g, x: mul(g, f["cosh"](x)),),
        "cosh": (lambda g, x: mul(g, f["sinh"](x)),),
        "asinh": (lambda g, x: div(g, f["hypot"](x, c(1.0, x))),),
        "acosh": (lambda g, x: mul(mul(g, f["rsqrt"](sub(x, c(1.0, x)))), f["rsqrt"](add(x, c(1.0, x)))),),
        "atanh": (lambda g, x: div(g, fma(torch.neg(x), x, c(1.0, x))),),
        "erfc": (lambda g, x: f["erf_backward"](torch.neg(g), x),),
        "erfcx": (lambda g, x, out: mul(g, fma(times(x, 2.0), out, c(-2 / math.sqrt(pi), out))),),
        "erfinv": (lambda g, out: mul(times(g, math.sqrt(pi) / 2), f["exp"](mul(out, out))),),
        "ndtr": (lambda g, x: mul(times(g, 1 / math.sqrt(2 * pi)), f["exp"](mul(times(x, -0.5), x))),),
        "log_ndtr": (lambda g, x: div(times(g, math.sqrt(2 / pi)), f["erfcx"](times(x, -math.sqrt(0.5)))),),
        "ndtri": (lambda g, out: mul(times(g, math.sqrt(2 * pi)), f["exp"](mul(times(out, 0.5), out))),),
        "lgamma": (lambda g, x: mul(g, f["digamma"](x)),),
        "digamma": (lambda g, x: mul(g, f["trigamma"](x)),),  # that of trigamma is no function of the library
        "betaln": (
            lambda g, x, y: mul(g, sub(f["digamma"](x), f["digamma"](add(x, y)))),
            lambda g, x, y: mul(g, sub(f["digamma"](y), f["digamma"](add(x, y)))),
        ),
        "sqrt": (lambda g, out: div(g, add(out, out)),),
        "rsqrt": (lambda g, x, out: div(mul(g, out), times(x, -2.0)),),
        "cbrt": (lambda g, out: div(div(g, times(out, 3.0)), out),),
        **{name: (own(name),) for name in ("tanh", "erf", "sigmoid", "silu", "gelu_tanh", "softplus", "log_sigmoid", "gelu")},
        # Of the gradients h f'(x): by h it is g f'(x), by x it is g h f''(x).
        "tanh_backward": (
            lambda g, y: f["tanh_backward"](g, y),
            lambda g, x, y: f["tanh_backward"](times(mul(mul(g, x), f["tanh"](y)), -2.0), y),
        ),
        "sigmoid_backward": (
            lambda g, y: f["sigmoid_backward"](g, y),
            lambda g, x, y: f["sigmoid_backward"](mul(mul(g, x), torch.neg(f["tanh"](times(y, 0.5)))), y),
        ),
        "silu_backward": (
            lambda g, y: f["silu_backward"](g, y),
            lambda g, x, y: f["sigmoid_backward"](mul(mul(g, x), fma(torch.neg(y), f["tanh"](times(y, 0.5)), c(2.0, y))), y),
        ),
        "gelu_tanh_backward": (lambda g, y: f["gelu_tanh_backward"](g, y), of_gelu_tanh),
        "softplus_backward": (
            lambda g, y: f["softplus_backward"](g, y),
            lambda g, x, y: f["sigmoid_backward"](mul(g, x), y),
        ),
        "log_sigmoid_backward": (
            lambda g, y: f["log_sigmoid_backward"](g, y),
            lambda g, x, y: f["sigmoid_backward"](torch.neg(mul(g, x)), y),
        ),
        "erf_backward": (
            lambda g, y: f["erf_backward"](g, y),
            lambda g, x, y: f["erf_backward"](times(mul(mul(g, x), y), -2.0), y),
        ),
        "gelu_backward": (
            lambda g, y: f["gelu_backward"](g, y),
            # phi(x) (2 - x^2), phi(x) the density of the normal distribution: half of erf's derivative at x/sqrt(2), over sqrt(2)
            lambda g, x, y: mul(
                mul(times(mul(g, x), 1 / math.sqrt(2 * pi)), fma(torch.neg(y), y, c(2.0, y))),
                f["exp"](mul(times(y, -0.5), y)),
            ),
        ),
        "add": (lambda g: g, lambda g: g),
        "subtract": (lambda g: g, lambda g: times(g, -1.0)),
        "multiply": (lambda g, y: mul(g, y), lambda g, x: mul(g, x)),
        "divide": (lambda g, y: div(g, y), lambda g, y, out: div(mul(torch.neg(g), out), y)),
        "hypot": (lambda g, x, out: mul(g, div(x, out)), lambda g, y, out: mul(g, div(y, out))),
        "fma": (lambda g, y: mul(g, y), lambda g, x: mul(g, x), lambda g: g),
        "pow": (power_by_base, power_by_exponent),
        "logaddexp": (lambda g, x, y: mul(g, f["sigmoid"](sub(x, y))), lambda g, x, y: mul(g, f["sigmoid"](sub(y, x)))),
        "atan2": (
            lambda g, x, y: div(mul(g, div(y, f["hypot"](x, y))), f["hypot"](x, y)),
            lambda g, x, y: div(mul(torch.neg(g), div(x, f["hypot"](x, y))), f["hypot"](x, y)),
        ),
    }


def _kernel(ufunc: Any, names: tuple[str, ...]) -> _Rule:
    if len(names) == 1:

        def one(x: _Tensor) -> _Tensor:
            out = _like(names, x)
            with np.errstate(all="ignore"):
                ufunc(as_array(x), out=as_array(out))
            return out

        return one

    def several(*args: _Tensor) -> _Tensor:
        out = _like(names, *args)
        with np.errstate(all="ignore"):
            ufunc(*map(as_array, args), out=as_array(out))
        return out

    return several


def _like(names: tuple[str, ...], *args: _Tensor) -> _Tensor:
    """A tensor for the result, laid out as the first argument where that has its shape."""
    check_formats(names, args)
    first = args[0]
    if all(a.shape == first.shape for a in args[1:]):
        return torch.empty_like(first)
    return first.new_empty(torch.broadcast_shapes(*(a.shape for a in args)))


def elementwise_batch(op: Operator) -> _Rule:
    """vmap: one call, with the axis of the batch in front of all others."""

    def together(info: Any, in_dims: tuple[Any, ...], *args: _Tensor) -> tuple[_Tensor, int]:
        if len(args) == 1:
            return op(*args), in_dims[0]
        rank = max(a.ndim - (d is not None) for a, d in zip(args, in_dims, strict=True))
        aligned = []
        for a, d in zip(args, in_dims, strict=True):
            if d is not None:
                a = a.movedim(d, 0)
                a = a.reshape(a.shape[0], *(1,) * (rank + 1 - a.ndim), *a.shape[1:])
            aligned.append(a)
        return op(*aligned), 0

    return together


def _define(name: str, ufunc: Any) -> Operator:
    names = _ARGUMENTS.get(name, ("input",) if ufunc.nin == 1 else ("input", "other"))
    if name.endswith("_backward"):
        names = ("grad_output", "input")
    schema = f"{name}({', '.join('Tensor ' + n for n in names)}) -> Tensor"
    return Operator(schema, _kernel(ufunc, names), lambda *args: _like(names, *args), batch=elementwise_batch)


def differentiate(op: Operator, rules: tuple[_Rule, ...]) -> None:
    """Gradient and tangent of an operator by the rules of its arguments: the derivative is a diagonal matrix, the same both ways."""
    short = dict(zip("xyz", op.arguments, strict=False)) | {"out": "output"}
    wanted = [tuple(inspect.signature(rule).parameters)[1:] for rule in rules]
    names = tuple(dict.fromkeys(short[n] for w in wanted for n in w))
    places = [tuple(names.index(short[n]) for n in w) for w in wanted]

    def gradient(g: _Tensor, needs: Any, shapes: Any, *values: _Tensor) -> list[_Tensor | None]:
        return [
            sum_to(rule(g, *(values[p] for p in place)), shape) if need else None
            for rule, place, need, shape in zip(rules, places, needs, shapes, strict=True)
        ]

    def tangent(ts: list[_Tensor | None], output: _Tensor, *values: _Tensor) -> _Tensor:
        total = None
        for t, rule, place in zip(ts, rules, places, strict=True):
            if t is not None:
                # A tangent of one element is that of all that it meets.
                part = rule(t.expand(output.shape), *(values[p] for p in place))
                total = part if total is None else OPERATORS["add"](total, part)
        assert total is not None
        return total

    op.set_gradient(gradient, ("needs", "shapes", *names))
    op.set_tangent(tangent, ("output", *names))


OPERATORS: dict[str, Operator] = {name: _define(name, ufunc) for name, ufunc in _core.ufuncs.items()}
for _name, _rules in _derivatives(OPERATORS).items():
    differentiate(OPERATORS[_name], _rules)
