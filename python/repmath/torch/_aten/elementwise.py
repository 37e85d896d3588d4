"""Elementwise operators: one rounding each. Numbers that are not tensors count as exact binary64."""

from typing import Any, TypeAlias

import torch

from .._formula import formula
from .._tensors import FORMATS
from .common import (
    KERNELS,
    PARTS,
    UFUNCS,
    Uncovered,
    apply,
    convert,
    format_of,
    formula_of,
    held,
    integers,
    kernel,
    narrower,
    same_number,
    together,
    write,
)

_Number: TypeAlias = float | int
_Out: TypeAlias = torch.Tensor | None


def _float_format(*values: Any) -> torch.dtype:
    """The format of a function of tensors that may be integers."""
    dtype = format_of(*values)
    return dtype if dtype.is_floating_point or dtype.is_complex else torch.get_default_dtype()


def _unary(name: str) -> None:
    def call(x: torch.Tensor, *, out: _Out = None) -> torch.Tensor:
        return apply(name, x, dtype=_float_format(x), out=out)

    KERNELS[name] = call


for _name in UFUNCS:
    if UFUNCS[_name].nin == 1:
        _unary(_name)


def _binary(name: str) -> None:
    def call(x: Any, y: Any, *, out: _Out = None) -> torch.Tensor:
        return apply(name, x, y, dtype=_float_format(x, y), out=out)

    KERNELS[name] = call


for _name in ("hypot", "logaddexp", "atan2", "xlogy", "xlog1py", "tanh_backward_by_input", "silu_backward"):
    if _name in UFUNCS:
        _binary(_name)


def _number(y: Any, dtype: torch.dtype) -> Any:
    """A tensor without axes whose number the format does not hold counts as that number."""
    single = isinstance(y, torch.Tensor) and y.ndim == 0 and y.dtype in FORMATS and dtype in FORMATS
    return float(y) if single and not held(y, dtype) else y


@integers
@kernel
def add(x: torch.Tensor, y: Any, *, alpha: _Number = 1, out: _Out = None) -> torch.Tensor:
    if not isinstance(x, torch.Tensor):
        return apply("fma", alpha, y, x, dtype=format_of(y, x), out=out)
    dtype = format_of(x, y)
    y = _number(y, dtype)
    if isinstance(y, torch.Tensor):
        if alpha == 1:
            return apply("add", x, y, dtype=dtype, out=out)
        return formula_of("plus", float(alpha), x, y, dtype=dtype, out=out)
    if alpha not in (1, -1):
        return apply("fma", alpha, y, x, dtype=dtype, out=out)
    a = float(y) * float(alpha)
    if same_number(a, dtype) is not None:
        return apply("add", x, a, dtype=dtype, out=out)
    return formula_of("added", a, x, dtype=dtype, out=out)


@integers
@kernel
def subtract(x: torch.Tensor, y: Any, *, alpha: _Number = 1, out: _Out = None) -> torch.Tensor:
    if alpha == 1 and isinstance(y, torch.Tensor):
        return apply("subtract", x, y, out=out)
    return add(x, y, alpha=-alpha, out=out)


@integers
@kernel
def rsub(x: torch.Tensor, y: Any, alpha: _Number = 1) -> torch.Tensor:
    """y - alpha x."""
    if isinstance(y, torch.Tensor):
        return subtract(y, x, alpha=alpha)
    if alpha == 1:
        dtype = format_of(x, y)
        if dtype in FORMATS and x.dtype is dtype and same_number(float(y), dtype) is None:
            return formula_of("added", float(y), x.neg())
        return apply("subtract", y, x, dtype=dtype)
    return apply("fma", -alpha, x, y, dtype=format_of(x, y))


def _of_real(name: str, own: Any) -> None:
    @integers
    def call(x: torch.Tensor, *, out: _Out = None) -> torch.Tensor:
        if x.is_complex():
            if name != "magnitude" or x.dtype not in PARTS:
                raise Uncovered("complex numbers")
            parts = torch.view_as_real(x.resolve_conj())
            made = apply("hypot", parts[..., 0].contiguous(), parts[..., 1].contiguous())
            return made if out is None else write(out, made)
        return own(x) if out is None else write(out, own(x))

    KERNELS[name] = call


_of_real("magnitude", torch.abs)
_of_real("direction", torch.sgn)


@integers
@kernel
def multiply(x: Any, y: Any, *, out: _Out = None) -> torch.Tensor:
    dtype = format_of(x, y)
    y = _number(y, dtype)
    if not isinstance(y, torch.Tensor) and same_number(float(y), dtype) is None:
        return formula_of("scaled", float(y), x, dtype=dtype, out=out)
    return apply("multiply", x, y, dtype=dtype, out=out)


@kernel
def divide(x: Any, y: Any, *, rounding_mode: str | None = None, out: _Out = None) -> torch.Tensor:
    if rounding_mode is not None:
        raise Uncovered(f"rounding_mode={rounding_mode!r}")
    dtype = _float_format(x, y)
    y = _number(y, dtype)
    if not isinstance(y, torch.Tensor) and same_number(float(y), dtype) is None:
        return formula_of("over", float(y), x, dtype=dtype, out=out)
    return apply("divide", x, y, dtype=dtype, out=out)


@kernel
def reciprocal(x: torch.Tensor, *, out: _Out = None) -> torch.Tensor:
    return apply("divide", 1.0, x, dtype=_float_format(x), out=out)


@integers
@kernel
def power(x: Any, y: Any, *, out: _Out = None) -> torch.Tensor:
    dtype = format_of(x, y)
    if not isinstance(y, torch.Tensor):
        if y == 2:
            return apply("multiply", x, x, dtype=dtype, out=out)
        if y == 1:
            made = convert(x, narrower(dtype, out))
            return made.clone() if out is None else write(out, made)
    return apply("pow", x, y, dtype=dtype, out=out)


def _check_form(approximate: str) -> None:
    if approximate not in ("none", "tanh"):
        raise ValueError(f"approximate must be 'none' or 'tanh', not {approximate!r}")


@kernel
def gelu(x: torch.Tensor, *, approximate: str = "none") -> torch.Tensor:
    _check_form(approximate)
    return apply("gelu_tanh" if approximate == "tanh" else "gelu", x)


@kernel
def gelu_backward(g: torch.Tensor, x: torch.Tensor, *, approximate: str = "none") -> torch.Tensor:
    _check_form(approximate)
    return apply("gelu_tanh_backward" if approximate == "tanh" else "gelu_backward", g, x)


@kernel
def tanh_backward(g: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """g (1 - y**2), of the result y."""
    return formula_of("tanh", 0.0, g, y, dtype=format_of(g, y))


@kernel
def sigmoid_backward(g: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """g y (1 - y), of the result y."""
    return formula_of("sigmoid", 0.0, g, y, dtype=format_of(g, y))


@kernel
def log_sigmoid_forward(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return apply("log_sigmoid", x), x.new_empty(0)


@kernel
def log_sigmoid_backward(g: torch.Tensor, x: torch.Tensor, buffer: torch.Tensor) -> torch.Tensor:
    return apply("log_sigmoid_backward", g, x)


@integers
@kernel
def relu(x: torch.Tensor, *, out: _Out = None) -> torch.Tensor:
    return formula_of("max_scalar", 0.0, x, out=out)


@integers
@kernel
def threshold_backward(g: torch.Tensor, x: torch.Tensor, threshold: _Number) -> torch.Tensor:
    return formula_of("gate", float(threshold), g, x, dtype=format_of(g, x))


@integers
@kernel
def clamp(x: torch.Tensor, min: Any = None, max: Any = None, *, out: _Out = None) -> torch.Tensor:
    """The smaller of `max` and the larger of `min` and x. Rounding is monotonic: each may be rounded to the result's format before."""
    made = convert(x, narrower(format_of(x, *(limit for limit in (min, max) if limit is not None)), out))
    for name, both, limit in (("max_scalar", "max", min), ("min_scalar", "min", max)):
        if isinstance(limit, torch.Tensor):
            made = formula(both, 0.0, made, convert(limit, made.dtype))
        elif limit is not None:
            made = formula(name, float(limit), made)
    return made if out is None else write(out, made)


@integers
@kernel
def clamp_min(x: torch.Tensor, min: Any, *, out: _Out = None) -> torch.Tensor:
    return clamp(x, min, None, out=out)


@integers
@kernel
def clamp_max(x: torch.Tensor, max: Any, *, out: _Out = None) -> torch.Tensor:
    return clamp(x, None, max, out=out)


@kernel
def hardtanh(x: torch.Tensor, min_val: _Number = -1, max_val: _Number = 1, *, out: _Out = None) -> torch.Tensor:
    return clamp(x, min_val, max_val, out=out)


@kernel
def hardtanh_backward(g: torch.Tensor, x: torch.Tensor, min_val: _Number, max_val: _Number) -> torch.Tensor:
    inside = formula("gate", float(min_val), g, x)
    return formula("gate", -float(max_val), inside, x.neg())


def _selected(name: str, x: torch.Tensor, y: torch.Tensor, out: _Out) -> torch.Tensor:
    dtype = narrower(format_of(x, y), out)
    into = out if out is not None and out.dtype is dtype else None
    made = formula(name, 0.0, convert(x, dtype), convert(y, dtype), out=into)
    return made if out is None else write(out, made)


@integers
@kernel
def maximum(x: torch.Tensor, y: torch.Tensor, *, out: _Out = None) -> torch.Tensor:
    return _selected("max", x, y, out)


@integers
@kernel
def minimum(x: torch.Tensor, y: torch.Tensor, *, out: _Out = None) -> torch.Tensor:
    return _selected("min", x, y, out)


@kernel
def leaky_relu(x: torch.Tensor, negative_slope: _Number = 0.01) -> torch.Tensor:
    if x.dtype is not torch.float64:
        return formula_of("leaky", float(negative_slope), x)
    return torch.where(x > 0, x, formula("scaled", float(negative_slope), x))


@kernel
def leaky_relu_backward(g: torch.Tensor, x: torch.Tensor, negative_slope: _Number, self_is_result: bool) -> torch.Tensor:
    g, x = together(g, x)
    if x.dtype is not torch.float64:
        return formula_of("leaky_backward", float(negative_slope), g, x)
    return torch.where(x > 0, g, formula("scaled", float(negative_slope), g))


@kernel
def lerp(x: torch.Tensor, end: torch.Tensor, weight: Any, *, out: _Out = None) -> torch.Tensor:
    """(1 - weight) x + weight end."""
    if isinstance(weight, torch.Tensor):
        if weight.ndim:
            if out is not None:
                _same_format(x, out)
            return formula_of("mix", 0.0, x, *_same_format(x, end, weight), out=out)
        weight = float(weight)
    return formula_of("between", float(weight), x, _same_format(x, end), out=out)


def _same_format(x: torch.Tensor, *others: torch.Tensor) -> Any:
    """The others, if they have the format of x."""
    if any(t.dtype is not x.dtype for t in others):
        raise ValueError("tensors of several formats")
    return others[0] if len(others) == 1 else others


@kernel
def addcmul(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor, *, value: _Number = 1, out: _Out = None) -> torch.Tensor:
    return _three("product", x, y, z, value, out)


@kernel
def addcdiv(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor, *, value: _Number = 1, out: _Out = None) -> torch.Tensor:
    return _three("quotient", x, y, z, value, out)


def _three(name: str, x: torch.Tensor, y: torch.Tensor, z: torch.Tensor, value: _Number, out: _Out) -> torch.Tensor:
    return formula_of(name, float(value), x, y, z, dtype=format_of(x, y, z), out=out)


@kernel
def hardswish(x: torch.Tensor) -> torch.Tensor:
    if x.dtype is not torch.float64:
        return formula_of("hardswish", 0.0, x)
    inside = apply("multiply", x, hardsigmoid(x))  # one rounding per step: no format holds x**2
    return torch.where(x >= 3, x, torch.where(x <= -3, x.new_zeros(()), inside))


@kernel
def hardswish_backward(g: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    g, x = together(g, x)
    if x.dtype is not torch.float64:
        return formula_of("hardswish_backward", 0.0, g, x)
    inside = apply("multiply", g, _half_and(x, 3.0))
    return torch.where(x > 3, g, torch.where(x < -3, g.new_zeros(()), inside))


@integers
@kernel
def to_copy(
    x: torch.Tensor,
    *,
    dtype: torch.dtype | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
    non_blocking: bool = False,
    memory_format: Any = None,
) -> torch.Tensor:
    if not isinstance(x, torch.Tensor):  # a number of Python's, which formulas of tangents convert
        x = torch.tensor(x)
    if device is not None and torch.device(device).type != x.device.type:
        raise Uncovered(f"device={device}")
    made = convert(x, x.dtype if dtype is None else dtype)
    if made is x or memory_format not in (None, torch.preserve_format):
        made = made.clone(memory_format=torch.preserve_format if memory_format is None else memory_format)
    return made


@kernel
def copy(x: torch.Tensor, y: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    made = convert(y, x.dtype)
    return made if made.shape == x.shape else made.expand(x.shape)


def _half_and(x: torch.Tensor, n: float) -> torch.Tensor:
    """RN(1/2 + x/n) of the nearest x from -3 to 3. Beside 1/2 no number is nearer than 2**-54: for smaller x it is that of 0."""
    inside = torch.where(x.abs() < 2.0**-60, x.new_zeros(()), x.clamp(-3, 3))
    return formula("quotient", 1.0, torch.full_like(x, 0.5), inside, torch.full_like(x, n))


@kernel
def hardsigmoid(x: torch.Tensor) -> torch.Tensor:
    if x.dtype is not torch.float64:
        return formula_of("hardsigmoid", 0.0, x)
    return _half_and(x, 6.0)


@kernel
def hardsigmoid_backward(g: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    g, x = together(g, x)
    if x.dtype is not torch.float64:
        return formula_of("hardsigmoid_backward", 0.0, g, x)
    return torch.where((x > -3) & (x < 3), formula("over", 6.0, g), g.new_zeros(()))


@kernel
def glu(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    first, second = x.chunk(2, dim)
    return apply("softplus_backward", first, second)


@kernel
def prelu(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return torch.where(x > 0, x, apply("multiply", weight, x))


@kernel
def prelu_backward(g: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    zero = g.new_zeros(())
    return torch.where(x > 0, g, apply("multiply", weight, g)), torch.where(x > 0, zero, apply("multiply", x, g))
