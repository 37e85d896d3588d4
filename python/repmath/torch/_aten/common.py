"""Arguments and results of the operators: conversion to one format, Python's numbers, kernels by name."""

import contextlib
import functools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import torch

from ... import _core, _reductions, _scatter, _statistics
from ..._dtypes import F64
from ..._float8 import to_float8
from ..._narrow import convert_array as convert_array
from ..._narrow import may_be_boundary, narrow
from ..._narrow import nearest_odd as nearest_odd
from ..._narrow import ratio as ratio
from ..._narrow import ratio_to_odd as ratio_to_odd
from ..._special.enclosures import Undecided
from .._formula import formula
from .._stepwise import HERE
from .._tensors import FORMATS, as_array, as_tensor

Array: TypeAlias = np.ndarray[Any, Any]
Kernel: TypeAlias = Callable[..., Any]

# name in operators.txt -> function
KERNELS: dict[str, Kernel] = {}

UFUNCS = _core.ufuncs
# Steps of the table's functions on plain tensors, which take most of them.
_QUICK = {name: _core.Elementwise("operands", "new", f.nin, name) for name, f in UFUNCS.items() if f.nin in (1, 2)}
_CAST = _core.Cast(torch.ops.aten._to_copy.default)
# The 8-bit formats that numbers are rounded to.
FLOAT8 = {torch.float8_e4m3fn: "float8_e4m3fn", torch.float8_e5m2: "float8_e5m2"}


class Uncovered(Exception):
    """This call of an operator of the table is not covered; the text says which argument."""


@contextlib.contextmanager
def deciding() -> Iterator[None]:
    """A value that stays undecided inside is not covered."""
    try:
        yield
    except Undecided as error:
        raise Uncovered(str(error)) from None


def kernel(function: Kernel) -> Kernel:
    """Enter a function under its name."""
    KERNELS[function.__name__] = function
    return function


def integers(function: Kernel) -> Kernel:
    """A kernel for what rounds; calls of integers alone, for a result of integers, are PyTorch's own, which are exact."""
    function.integers = True  # type: ignore[attr-defined]
    return function


def convert(t: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The tensor in a format, each element rounded once."""
    if t.dtype is dtype:
        return t
    if t.is_complex() or dtype.is_complex:
        return _convert_complex(t, dtype)
    if HERE.steps is not None:
        rounded: torch.Tensor = HERE.steps.convert(t, dtype)
        return rounded
    made: Any = _CAST(t, dtype=dtype)
    if made is not NotImplemented:
        converted: torch.Tensor = made
        return converted
    if dtype not in FORMATS:
        if t.dtype in FORMATS and dtype in FLOAT8:
            return as_tensor(to_float8(as_array(t), FLOAT8[dtype]).view(np.uint8)).view(dtype)
        if t.is_floating_point() and dtype.is_floating_point:
            raise Uncovered(f"conversion of {t.dtype} to {dtype}")
        return t.to(dtype)
    if t.dtype not in FORMATS:
        if t.is_floating_point():
            if t.dtype not in FLOAT8:
                raise Uncovered(f"conversion of {t.dtype}")
            made = t.to(torch.float32)  # which has all its numbers
            return convert(made.masked_fill_(made.isnan(), torch.nan), dtype)
        if t.dtype.itemsize <= 2 or t.dtype is torch.bool:
            return convert(t.to(torch.float32), dtype)
        if _beyond(t, 53):
            return _convert_long(t, dtype)
        return convert(t.to(torch.float64), dtype)
    wider = torch.promote_types(t.dtype, dtype) is dtype  # which holds every element
    if wider and dtype is torch.float32:
        return t.to(dtype)
    if t.dtype is not torch.float64 and dtype.itemsize == 2:  # one rounding, of binary32
        made = t.to(dtype)
        return made.masked_fill_(made.isnan(), torch.nan) if t.sum().isnan() else made  # a NaN makes the sum one
    return as_tensor(convert_array(as_array(t), FORMATS[dtype]))


# The formats of complex numbers, and those of their parts.
PARTS = {torch.complex64: torch.float32, torch.complex128: torch.float64}
_PARTS = PARTS | {torch.complex32: torch.float16}  # which are only converted


def _convert_complex(t: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """To complex numbers: each part is rounded once."""
    if dtype not in _PARTS or (t.is_complex() and t.dtype not in _PARTS):
        raise Uncovered("complex numbers")
    if not t.is_complex():
        return convert(t, _PARTS[dtype]).to(dtype)
    if HERE.steps is not None:
        parts = torch.view_as_real(t.resolve_conj())
        return torch.complex(*(convert(parts[..., i].contiguous(), _PARTS[dtype]) for i in (0, 1)))
    return torch.view_as_complex(convert(torch.view_as_real(t.resolve_conj()), _PARTS[dtype]).contiguous())


def _beyond(t: torch.Tensor, digits: int) -> bool:
    """Whether a tensor of integers has one whose magnitude is above 2**digits."""
    if t.dtype.itemsize * 8 <= digits or not t.numel():
        return False
    if t.dtype is torch.uint64:
        raise Uncovered("tensors of torch.uint64")
    t = t if t.dtype in (torch.int32, torch.int64, torch.int16) else t.to(torch.int64)
    return bool(int(t.max()) > 2**digits or int(t.min()) < -(2**digits))


def _convert_long(t: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Integers of 64 bits to a format: the two halves of each are binary64 numbers, whose sum is rounded once."""
    a = as_array(t)
    low = a & 0xFFFFFFFF
    halves = (a - low).astype(F64), low.astype(F64)
    if dtype is torch.float64:
        return as_tensor(UFUNCS["add"](*halves))
    return as_tensor(convert_array(odd("add", *halves), FORMATS[dtype]))


DIGITS = {torch.float16: 11, torch.bfloat16: 8, torch.float32: 24, torch.float64: 53}


def held(t: torch.Tensor, dtype: torch.dtype) -> bool:
    """Whether the format has all numbers of a tensor: by the tensor's dtype; of integers, and of a single number, by their values."""
    if t.dtype is dtype:
        return True
    if t.is_complex():
        raise Uncovered("complex numbers")
    if t.dtype not in FORMATS:
        return t.is_floating_point() or not _beyond(t, DIGITS[dtype])
    if torch.promote_types(t.dtype, dtype) is dtype:
        return True
    return t.ndim == 0 and same_number(float(t), dtype) is not None


def together(*tensors: torch.Tensor) -> list[torch.Tensor]:
    """Tensors in their result type, which must hold their numbers."""
    dtype = format_of(*tensors)
    if dtype not in FORMATS or not all(held(t, dtype) for t in tensors):
        raise Uncovered(f"tensors of {', '.join(str(t.dtype) for t in tensors)}")
    return [convert(t, dtype) for t in tensors]


def in_binary64(t: torch.Tensor) -> torch.Tensor:
    """A tensor of integers or of any format in binary64, which must hold its numbers."""
    if not held(t, torch.float64):
        raise Uncovered("integers beyond 2**53 among floating-point numbers")
    return convert(t, torch.float64)


def widened(t: torch.Tensor) -> torch.Tensor:
    """A tensor of one of the formats, in binary64."""
    if t.dtype not in FORMATS:
        raise Uncovered(f"tensors of {t.dtype}")
    return convert(t, torch.float64)


def counted(dtype: torch.dtype | None) -> bool:
    """Whether a reduction is to add or to multiply integers: PyTorch converts the elements first."""
    return dtype is not None and not dtype.is_floating_point and not dtype.is_complex


def whole(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The tensor in a dtype of integers or bool: numbers lose what is behind the point. Those beyond the dtype, and NaN, are other numbers on
    other machines."""
    if x.is_floating_point() and dtype is not torch.bool:
        limits, wide = torch.iinfo(dtype), widened(x).trunc()
        if not bool(((wide >= float(limits.min)) & (wide < float(limits.max + 1))).all()):
            raise Uncovered(f"elements that {dtype} does not hold")
    return convert(x, dtype)


def format_of(*values: Any) -> torch.dtype:
    """PyTorch's result type of tensors and numbers: tensors with axes count first, then those without, then numbers."""
    if len(values) == 1:
        only: torch.dtype = values[0].dtype
        return only
    if len(values) == 2:
        return torch.result_type(*values)
    groups: list[list[Any]] = [[], [], []]
    for v in values:
        groups[2 if not isinstance(v, torch.Tensor) else v.ndim == 0].append(v)
    made: Any = max(groups[2], key=lambda v: isinstance(v, float)) if groups[2] else None
    for group, shape in ((groups[1], ()), (groups[0], (1,))):
        if group:
            alike = torch.empty(shape, dtype=functools.reduce(torch.promote_types, (v.dtype for v in group)))
            made = alike if made is None else torch.empty(shape, dtype=torch.result_type(alike, made))
    found: torch.dtype = made.dtype
    return found


def odd(name: str, *arrays: Any) -> Array:
    """A function in binary64, rounded to odd: what is then rounded to any narrower format is rounded as if once.

    Boldo and Melquiond, "When double rounding is odd", 2005: 53 bits suffice for formats of at most 51.
    """
    with np.errstate(all="ignore"):
        low = np.asarray(_core.rounded["down"][name](*arrays))
        high = np.asarray(_core.rounded["up"][name](*arrays))
        return np.where((low.view(np.int64) & 1 != 0) | np.isnan(low), low, high)


def once(name: str, target: Any, *arrays: Any) -> Array:
    """A function of binary64 numbers, rounded once to a narrower format.

    Its rounding to binary64 is on the same side of every boundary of that format, or on one (see _narrow.py); the latter are rounded to odd.
    """
    with np.errstate(all="ignore"):
        made = np.asarray(UFUNCS[name](*arrays))
    flat = np.atleast_1d(made)  # the same memory
    at = np.nonzero(may_be_boundary(flat, target))
    if at[0].size:
        flat[at] = odd(name, *(np.broadcast_to(a, flat.shape)[at] for a in arrays))
    return convert_array(made, target)


def same_number(value: float, dtype: torch.dtype) -> Any:
    """The number as a scalar of the format; None where the format has no such number."""
    if dtype not in FORMATS:
        raise Uncovered(f"results of {dtype}")
    return _scalar(value, math.copysign(1.0, value), dtype)


@functools.lru_cache(maxsize=256)
def _scalar(value: float, sign: float, dtype: torch.dtype) -> Any:
    """`sign` tells a zero from the other one."""
    with np.errstate(all="ignore"):
        held = np.asarray(value, F64).astype(FORMATS[dtype])
    held.flags.writeable = False
    return held if float(held) == value or value != value else None


def narrower(dtype: torch.dtype, out: torch.Tensor | None) -> torch.dtype:
    """The format that a result of `dtype` is rounded to when it goes into `out`: that of `out`, unless this holds every number of dtype."""
    if out is None or out.dtype not in FORMATS or torch.promote_types(dtype, out.dtype) is out.dtype:
        return dtype
    return out.dtype


def check_cast(t: torch.Tensor, made: torch.Tensor) -> None:
    """Raise TypeError unless the tensor holds what is written into it: PyTorch refuses such a call too, or it would be rounded twice."""
    if made.dtype is t.dtype:
        return
    rounds = t.dtype in FORMATS and (
        not held(made, t.dtype) if made.dtype not in FORMATS else narrower(made.dtype, t) is not made.dtype
    )
    other = t.dtype.is_floating_point and t.dtype not in FORMATS
    if rounds or other or not torch.can_cast(made.dtype, t.dtype):
        raise TypeError(f"a result of {made.dtype} into a tensor of {t.dtype}")


def write(t: torch.Tensor, made: torch.Tensor) -> torch.Tensor:
    """Put a result into a tensor of its shape that holds its numbers; otherwise it raises, before anything is written."""
    if made is t:
        return t
    check_cast(t, made)
    if made.shape != t.shape:
        raise ValueError(f"a result of shape {tuple(made.shape)} into a tensor of shape {tuple(t.shape)}")
    return t.copy_(made)


def _with_counts(x: Any, y: Any) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Numbers and integers, in either order, that their format holds: both in that format, which is the result's. None for others."""
    if not isinstance(x, torch.Tensor) or not isinstance(y, torch.Tensor):
        return None
    numbers, counts = (x, y) if x.dtype in FORMATS else (y, x)
    if numbers.dtype not in FORMATS or counts.is_floating_point() or counts.is_complex() or not held(counts, numbers.dtype):
        return None
    made = counts.to(numbers.dtype)
    return (x, made) if counts is y else (made, y)


def apply(name: str, *values: Any, dtype: torch.dtype | None = None, out: torch.Tensor | None = None) -> torch.Tensor:
    """An elementwise function of tensors and numbers, rounded once to their common format, or to that of `out` where this is narrower.

    Operands count as they are, also those that the format does not hold: numbers, tensors without axes, integers. Such calls, and those
    with a narrower `out`, are taken in binary64 (see `once`).
    """
    if HERE.steps is not None:
        rounded: torch.Tensor = HERE.steps.apply(name, values, dtype, out)
        return rounded
    if out is None and name in _QUICK and isinstance(values[0], torch.Tensor) and dtype in (None, values[0].dtype):
        quick: Any = _QUICK[name](*values)
        if quick is NotImplemented and len(values) == 2:
            pair = _with_counts(*values)
            quick = NotImplemented if pair is None else _QUICK[name](*pair)
        if quick is not NotImplemented:
            found: torch.Tensor = quick
            return found
    result = format_of(*values) if dtype is None else dtype
    if result not in FORMATS:
        raise Uncovered(f"results of {result}")
    target = narrower(result, out)
    arrays: list[Any] = []
    plain = target is result
    for v in values:
        if not isinstance(v, torch.Tensor):
            number = same_number(float(v), result)
            plain = plain and number is not None
            arrays.append(np.asarray(float(v), F64) if number is None else number)
        elif v.dtype is result:
            arrays.append(as_array(v))
        elif held(v, result):
            arrays.append(as_array(convert(v, result)))
        else:
            plain = False
            arrays.append(as_array(in_binary64(v)))
    with np.errstate(all="ignore"):
        if plain:
            if out is not None and out.dtype is result:
                UFUNCS[name](*arrays, out=as_array(out))
                return out
            made = as_tensor(UFUNCS[name](*arrays))
        else:
            made = as_tensor(once(name, FORMATS[target], *(a.astype(F64) for a in arrays)))
    return made if out is None else write(out, made)


# Steps of composed operators that are not elementwise, of arrays: exact, rounded once.


def _stepped(function: Callable[..., Any]) -> Callable[..., Array]:
    """While a composed operator rounds at random, the method of that name of its steps is called with these arguments."""

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Array:
        by = function if HERE.steps is None else getattr(HERE.steps, function.__name__)
        made: Array = by(*arguments, **options)
        return made

    return call


@_stepped
def step(name: str, *arrays: Any) -> Any:
    """An elementwise function."""
    return UFUNCS[name](*arrays)


@_stepped
def total(a: Array, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    return _reductions.sum(a, axis=axis, keepdims=keepdims, dtype=dtype)


@_stepped
def average(a: Array, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    return _statistics.mean(a, axis=axis, keepdims=keepdims, dtype=dtype)


@_stepped
def length(a: Array, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    """The root of the sum of squares."""
    return _statistics.norm(a, axis=axis, keepdims=keepdims, dtype=dtype)


@_stepped
def products(a: Array, b: Array, dtype: Any = None, bias: Any = None) -> Any:
    return _reductions.matmul(a, b, dtype=dtype, bias=bias)


@_stepped
def segment_sum(terms: Array, at: Array, count: int) -> Any:
    """Row i of the result is the sum of the rows of `terms` for which `at` is i."""
    return _scatter.segment_sum(terms, at, count)


# The formulas of include/repmath/formulas.h that round, of rational numbers.
RATIONAL: dict[str, Callable[..., Fraction]] = {
    "scaled": lambda a, x: a * x,
    "over": lambda a, x: x / a,
    "under": lambda a, x: a / x,
    "added": lambda a, x: x + a,
    "plus": lambda a, x, y: x + a * y,
    "between": lambda a, x, y: (1 - a) * x + a * y,
    "mix": lambda a, x, y, z: (1 - z) * x + z * y,
    "product": lambda a, x, y, z: x + a * y * z,
    "quotient": lambda a, x, y, z: x + a * y / z,
    "tanh": lambda a, x, y: x * (1 - y * y),
    "sigmoid": lambda a, x, y: x * y * (1 - y),
}


def formula_of(
    name: str, a: float, *tensors: torch.Tensor, dtype: torch.dtype | None = None, out: torch.Tensor | None = None
) -> torch.Tensor:
    """A formula of a number and tensors, rounded once to the format `dtype` (by default that of the first one), or to that of `out` where
    this is narrower. As in `apply` operands count as they are."""
    if HERE.steps is not None:
        rounded: torch.Tensor = HERE.steps.formula_of(name, a, tensors, dtype, out)
        return rounded
    result = tensors[0].dtype if dtype is None else dtype
    if result not in FORMATS:
        raise Uncovered(f"results of {result}")
    target = narrower(result, out)
    if target is result and all(held(t, result) for t in tensors):
        operands = [convert(t, result) for t in tensors]
        if out is None or out.dtype is result:
            return formula(name, a, *operands, out=out)
        return write(out, formula(name, a, *operands))
    operands = [in_binary64(t) for t in tensors]
    wide = as_array(formula(name, a, *operands))
    arrays = [as_array(t) for t in torch.broadcast_tensors(*operands)]

    def sign_of_rest(at: tuple[Array, ...]) -> Array:
        """Of the exact value less the binary64 number. Choices are exact, and so are finite results of infinite operands."""
        signs = np.zeros(at[0].shape)
        numbers = np.stack([np.atleast_1d(v)[at] for v in (*arrays, wide)])
        if name in RATIONAL and np.isfinite(a):
            for i in np.flatnonzero(np.isfinite(numbers).all(axis=0)):
                *given, rounded = (Fraction(v) for v in numbers[:, i].tolist())
                rest = RATIONAL[name](Fraction(a), *given) - rounded
                signs[i] = (rest > 0) - (rest < 0)
        return signs

    made = as_tensor(np.asarray(narrow(wide, FORMATS[target], sign_of_rest)))
    return made if out is None else write(out, made)


def as_float(t: torch.Tensor) -> torch.Tensor:
    """Integers in the default format, which must hold them; other tensors as they are."""
    if t.is_floating_point() or t.is_complex():
        return t
    if not held(t, torch.get_default_dtype()):
        raise Uncovered(f"integers that {torch.get_default_dtype()} does not hold")
    return convert(t, torch.get_default_dtype())


def near(value: Any, dtype: torch.dtype) -> Any:
    """The number of the format nearest to a number that is not a tensor; what the format does not reach is left to PyTorch, which raises
    for it."""
    if (
        dtype not in FORMATS
        or isinstance(value, bool)
        or not isinstance(value, (int, float))
        or not np.isfinite(float(value))
    ):
        return value
    if abs(value) > torch.finfo(dtype).max or same_number(value, dtype) is not None:
        return value
    return float(convert_array(np.asarray(nearest_odd(Fraction(value))), FORMATS[dtype]))
