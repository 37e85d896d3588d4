"""The elementwise functions, under the names of torch and torch.nn.functional."""

import operator
from collections.abc import Callable
from typing import Any

import torch

from ... import _core
from .._ops.activations import ELU, HARDSIGMOID, HARDSWISH, LEAKY_RELU, MISH, above
from .._ops.elementwise import OPERATORS, scalar
from .._ops.powers import POWERS
from .._ops.selections import RELU
from ._arguments import Tensor, tensor, together

_MULTIPLY, _FMA, _POW = OPERATORS["multiply"].overload, OPERATORS["fma"].overload, OPERATORS["pow"].overload


def _call(overload: Any, names: tuple[str, ...], *args: Any) -> Tensor:
    """The operator of tensors that have one format already, or of what `together` makes of the arguments."""
    first = args[0]
    if not all(isinstance(a, torch.Tensor) and a.dtype == first.dtype for a in args):
        args = tuple(together(names, args))
    result: Tensor = overload(*args)
    return result


def _unary(overload: Any) -> Callable[..., Tensor]:
    def function(input: Tensor) -> Tensor:
        result: Tensor = overload(tensor("input", input))
        return result

    return function


def _binary(overload: Any) -> Callable[..., Tensor]:
    def function(input: Tensor | float, other: Tensor | float) -> Tensor:
        return _call(overload, ("input", "other"), input, other)

    return function


def _gradient(overload: Any) -> Callable[..., Tensor]:
    def function(grad_output: Tensor, input: Tensor) -> Tensor:
        return _call(overload, ("grad_output", "input"), grad_output, input)

    return function


_NOTE = """

    As `repmath.{name}`, with the same bits: the real value, rounded once to the tensors' format (float16, bfloat16, float32 or
    float64). Tensors broadcast; those of different formats are promoted as by torch.promote_types, and numbers are rounded to that
    format. TypeError where an argument has another dtype.
    """


def _describe(name: str, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    function.__name__ = function.__qualname__ = name
    function.__module__ = "repmath.torch.functional"
    first = str(_core.ufuncs[name].__doc__).split("\n\n")[1]
    function.__doc__ = first + _NOTE.format(name=name)
    return function


def _function(name: str) -> Callable[..., Tensor]:
    op = OPERATORS[name]
    kind = _gradient if name.endswith("_backward") else (_unary, _binary)[len(op.arguments) - 1]
    return _describe(name, kind(op.overload))


def pow(input: Tensor | float, exponent: Tensor | float) -> Tensor:
    """The power; see `repmath.pow`. Formats and numbers as for the other functions of two arguments."""
    return _call(_POW, ("input", "exponent"), input, exponent)


def fma(input: Tensor | float, other: Tensor | float, addend: Tensor | float) -> Tensor:
    """``RN(input * other + addend)``. Formats and numbers as for the functions of two arguments."""
    return _call(_FMA, ("input", "other", "addend"), input, other, addend)


def _with_integer(name: str, meaning: str) -> Callable[..., Tensor]:
    overload = POWERS[name].overload

    def function(input: Tensor, n: Tensor | int) -> Tensor:
        if not isinstance(n, torch.Tensor):
            if isinstance(n, bool) or not hasattr(n, "__index__"):
                raise TypeError(f"n must be an integer or a tensor of integers, not {type(n).__name__}")
            n = torch.full((), operator.index(n), dtype=torch.int64)
        result: Tensor = overload(tensor("input", input), n)
        return result

    function.__name__ = function.__qualname__ = name
    function.__module__ = "repmath.torch.functional"
    function.__doc__ = f"""``RN({meaning})`` of a tensor and an integer, or a tensor of integers that broadcasts, as `repmath.{name}`.

    The derivative by `input` is a product of two or three rounded factors; there is none by `n`. TypeError where `n` is not of integers.
    """
    return function


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """Gaussian error linear unit, rounded once; with ``approximate="tanh"`` that of the hyperbolic tangent."""
    if approximate not in ("none", "tanh"):
        raise RuntimeError(f"approximate must be 'none' or 'tanh', not {approximate!r}")
    name = "gelu" if approximate == "none" else "gelu_tanh"
    result: Tensor = OPERATORS[name].overload(tensor("input", input))
    return result


def softplus(input: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    """``RN(log(1 + exp(x)))``. `beta` must be 1; `threshold`, beyond which PyTorch returns x, has no use here."""
    if beta != 1:
        raise ValueError(f"beta must be 1, not {beta!r}; see docs/torch.md#which-functions-are-there")
    result: Tensor = OPERATORS["softplus"].overload(tensor("input", input))
    return result


def _source(input: Tensor, inplace: bool) -> Tensor:
    """What to compute from: a copy where the gradient needs numbers that will be overwritten."""
    tensor("input", input)
    return input.clone() if inplace and torch.is_grad_enabled() and input.requires_grad else input


def _into(input: Tensor, value: Tensor, inplace: bool) -> Tensor:
    return input.copy_(value) if inplace else value


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``RN(x / (1 + exp(-x)))``."""
    return _into(input, OPERATORS["silu"].overload(_source(input, inplace)), inplace)


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """x where it is above 0, or NaN; else +0, also for -0."""
    return _into(input, RELU.overload(tensor("input", input)), inplace)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where it is above 0, else ``RN(negative_slope * x)``, the slope exact."""
    return _into(input, LEAKY_RELU.overload(_source(input, inplace), float(negative_slope)), inplace)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """x brought between two ends; at an end, and beyond, without a gradient."""
    if min_val > max_val:
        raise ValueError(f"min_val {min_val} is greater than max_val {max_val}")
    low, high = (scalar(float(v), tensor("input", input).dtype) for v in (min_val, max_val))
    raised = RELU.overload(input) if min_val == 0 else torch.where(input <= low, low, input)
    return _into(input, torch.where(input >= high, high, raised), inplace)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """x brought between 0 and 6."""
    return hardtanh(input, 0.0, 6.0, inplace)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where it is above 0, else ``RN(alpha * RN(e**x - 1))``, alpha exact."""
    return _into(input, ELU.overload(_source(input, inplace), float(alpha)), inplace)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``RN((x + 3) / 6)`` held to 0 and 1."""
    return _into(input, HARDSIGMOID.overload(_source(input, inplace)), inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``RN(x * (x + 3) / 6)`` between -3 and 3, else 0 or x; in float64 ``RN(x * hardsigmoid(x))``."""
    return _into(input, HARDSWISH.overload(_source(input, inplace)), inplace)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``RN(x * tanh(softplus(x)))``, each function rounded."""
    return _into(input, MISH.overload(_source(input, inplace)), inplace)


def softsign(input: Tensor) -> Tensor:
    """``RN(x / RN(1 + abs(x)))``."""
    held = tensor("input", input).detach()
    sign = torch.copysign(torch.ones_like(held), held + 0.0)  # that of -0 is 1, as in a comparison with 0
    size = OPERATORS["multiply"].overload(input, sign)
    result: Tensor = OPERATORS["divide"].overload(input, FUNCTIONS["add"](size, 1.0))
    return result


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x where it is above 0, else ``RN(weight * x)``; one weight, or one for each channel, the second axis."""
    tensor("input", input)
    if tensor("weight", weight).ndim > 1 or (weight.numel() != 1 and (input.ndim < 2 or weight.numel() != input.shape[1])):
        raise RuntimeError(f"weight of shape {tuple(weight.shape)} does not fit input of shape {tuple(input.shape)}")
    w = weight.reshape(-1, *(1,) * (input.ndim - 2)) if weight.numel() != 1 else weight.reshape(())
    over = above(input)
    below = _call(_MULTIPLY, ("weight", "input"), w, torch.where(over, scalar(0.0, input.dtype), input))
    return torch.where(over, input, below)


_SPECIAL: dict[str, Callable[..., Any]] = {
    **{name: _with_integer(name, text.replace("x", "input")) for name, text in _core.power_definitions.items()},
    "pow": pow,
    "fma": fma,
    "gelu": gelu,
    "softplus": softplus,
    "silu": silu,
    "relu": relu,
    "leaky_relu": leaky_relu,
    "hardtanh": hardtanh,
    "relu6": relu6,
    "elu": elu,
    "hardsigmoid": hardsigmoid,
    "hardswish": hardswish,
    "mish": mish,
    "softsign": softsign,
    "prelu": prelu,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {name: _SPECIAL.get(name) or _function(name) for name in _core.ufuncs} | _SPECIAL
# Other names that torch has for them.
for _alias, _name in {
    "sub": "subtract",
    "mul": "multiply",
    "div": "divide",
    "logsigmoid": "log_sigmoid",
}.items():
    FUNCTIONS[_alias] = FUNCTIONS[_name]
