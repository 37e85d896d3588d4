"""Operators that only move elements run as PyTorch runs them. If their tensors have several formats, PyTorch converts some of them, from
binary64 to 16 bits by way of binary32. Here they are converted first, with one rounding, and so are numbers that fill elements."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import torch

from .._deviations import cloning
from .._tensors import FORMATS
from .common import Uncovered, check_cast, convert, convert_array, format_of, near, nearest_odd
from .guards import check_written, floats_in, own_error, resized, tensors_in

_Mover = Callable[..., Any]

# Whose elements get the result type of all; the arguments that are such tensors.
_TOGETHER: dict[str, tuple[str, ...]] = {
    "cat": ("tensors",),
    "stack": ("tensors",),
    "block_diag": ("tensors",),
    "_chunk_cat": ("tensors",),
    "where": ("self", "other"),
    "copysign": ("self", "other"),
    "nextafter": ("self", "other"),
    "hardshrink_backward": ("grad_out", "self"),
    "isin": ("elements", "test_elements"),
}
# Tensors whose elements get the format of the first argument's.
_LIKE_FIRST: dict[str, str] = {
    "fill": "value",
    "fill_": "value",
    "masked_fill": "value",
    "masked_fill_": "value",
    "index_fill": "value",
    "index_fill_": "value",
    "copysign_": "other",
    "diagonal_scatter": "src",
    "select_scatter": "src",
    "slice_scatter": "src",
    "as_strided_scatter": "src",
    "_foreach_copy_": "src",
    "_foreach_copy": "src",
}
# Numbers that become elements.
_NUMBERS: dict[str, tuple[str, ...]] = {
    "fill": ("value",),
    "fill_": ("value",),
    "masked_fill": ("value",),
    "masked_fill_": ("value",),
    "index_fill": ("value",),
    "index_fill_": ("value",),
    "scatter": ("value",),
    "scatter_": ("value",),
    "constant_pad_nd": ("value",),
    "full": ("fill_value",),
    "full_like": ("fill_value",),
    "new_full": ("fill_value",),
    "scalar_tensor": ("s",),
    "threshold": ("value",),
    "threshold_": ("value",),
    "nan_to_num": ("nan", "posinf", "neginf"),
    "nan_to_num_": ("nan", "posinf", "neginf"),
}
# Numbers that elements are compared with: those above it are those above the format's number at or below it.
_LIMITS: dict[str, str] = {
    "threshold": "threshold",
    "threshold_": "threshold",
    "hardshrink": "lambd",
    "hardshrink_backward": "lambd",
}
_WITH_DTYPE = ("full", "full_like", "new_full", "scalar_tensor")


# What PyTorch takes through binary32, or by a function of the C library, in some of its builds: a NaN of the result is the canonical one.
# True: in every format; False: in 16 bits.
_NAN = dict.fromkeys(
    """ceil ceil_ floor floor_ trunc trunc_ round round_ nextafter nextafter_ threshold threshold_ frexp _foreach_ceil _foreach_ceil_
    _foreach_floor _foreach_floor_ _foreach_trunc _foreach_trunc_ _foreach_round _foreach_round_""".split(),
    True,
)
_NAN |= dict.fromkeys(
    """neg neg_ _foreach_neg _foreach_neg_ scatter scatter_ upsample_nearest1d upsample_nearest2d upsample_nearest3d
    _upsample_nearest_exact1d _upsample_nearest_exact2d""".split(),
    False,
)


def _canonical(made: Any, everywhere: bool) -> Any:
    for t in tensors_in([made]):
        if t.is_floating_point() and (everywhere or t.itemsize == 2) and t.device.type == "cpu":
            nan = t.isnan()
            if bool(nan.any()):
                t.masked_fill_(nan, torch.nan)
    return made


def _bound(names: list[str], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    return dict(zip(names, args, strict=False)) | kwargs


def _on_cpu(values: Any) -> bool:
    return all(t.device.type == "cpu" and t.layout is torch.strided for t in tensors_in(values))


_SIXTEEN = frozenset((torch.float16, torch.bfloat16))


def _plain(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether all tensors but masks have one format, which is not of 16 bits: then PyTorch converts nothing, or rounds once."""
    dtype = kwargs.get("dtype") if kwargs else None
    for v in args:
        for t in v if isinstance(v, (list, tuple)) else (v,):
            if isinstance(t, torch.Tensor) and t.dtype is not torch.bool:
                if dtype is None:
                    dtype = t.dtype
                elif t.dtype is not dtype:
                    return False
    return dtype is not None and dtype not in _SIXTEEN and not any(isinstance(v, torch.Tensor) for v in kwargs.values())


def _together(values: dict[str, Any], chosen: tuple[str, ...]) -> dict[str, Any]:
    """The tensors among the arguments in their result type."""
    given = [values[name] for name in chosen]
    tensors = list(tensors_in(given))
    if len({t.dtype for t in tensors}) == 1 or len(tensors) < 2:
        return values
    result = format_of(*tensors)
    if result not in FORMATS:
        return values

    def made(v: Any) -> Any:
        return convert(v, result) if isinstance(v, torch.Tensor) else [made(w) for w in v]

    return values | {name: made(v) for name, v in zip(chosen, given, strict=True)}


def _like(t: torch.Tensor, first: torch.Tensor, fills: bool) -> torch.Tensor:
    """The tensor in the format of the first one. What PyTorch takes for a number must be finite there, or it raises."""
    if first.dtype not in FORMATS or t.is_complex() or t.dtype is first.dtype:
        return t
    made = convert(t, first.dtype)
    return t if fills and t.ndim == 0 and abs(t.item()) > torch.finfo(first.dtype).max else made


def _format_of_numbers(base: str, values: dict[str, Any]) -> Any:
    """The dtype of the elements that numbers become."""
    if base in _WITH_DTYPE and values.get("dtype") is not None:
        return values["dtype"]
    if "self" in values:
        return values["self"].dtype
    number = values.get("fill_value", values.get("s"))
    return torch.get_default_dtype() if isinstance(number, float) else None


def _number(base: str, value: Any, dtype: Any) -> Any:
    if base.startswith("nan_to_num") and isinstance(value, float) and abs(value) < float("inf") and dtype in FORMATS:
        exact = Fraction(value)  # PyTorch takes those beyond the format too
        return value if dtype is torch.float64 else float(convert_array(np.asarray(nearest_odd(exact)), FORMATS[dtype]))
    return near(value, dtype)


def below(value: Any, dtype: Any) -> Any:
    """The greatest number of the format that is not above a number."""
    made = near(value, dtype)
    if made is value or made <= value:
        return made
    return float(torch.nextafter(torch.full((), made, dtype=dtype), torch.full((), -torch.inf, dtype=dtype)))


def _converted(base: str, values: dict[str, Any]) -> dict[str, Any]:
    """The arguments with what PyTorch would convert converted."""
    if base in _TOGETHER and all(name in values for name in _TOGETHER[base]):
        values = _together(values, tuple(n for n in _TOGETHER[base] if not isinstance(values[n], (int, float, complex))))
    name = _LIKE_FIRST.get(base)
    if name in values and not isinstance(values[name], (int, float, complex)):
        first, other = next(iter(values.values())), values[name]
        fills = "fill" in base
        if isinstance(first, torch.Tensor):
            values = values | {name: _like(other, first, fills)}
        else:
            values = values | {name: [_like(t, f, fills) for t, f in zip(other, first, strict=False)]}
    for name in _NUMBERS.get(base, ()):
        if isinstance(values.get(name), (int, float)):
            values = values | {name: _number(base, values[name], _format_of_numbers(base, values))}
    name = _LIMITS.get(base)
    if name is not None and isinstance(values.get(name), float):
        values = values | {name: below(values[name], values["self"].dtype)}
    return values


def mover(overload: Any) -> _Mover | None:
    """What runs in place of an operator that moves elements; None: the operator as it is. It is `plainly` that operator where all tensors
    have one format that is not of 16 bits."""
    base = overload.overloadpacket.__name__
    arguments = overload._schema.arguments
    names = [a.name for a in arguments]
    if base == "clone" and overload._overloadname == "default":
        return cloning(overload)
    if base in _SOUGHT and overload._overloadname.startswith("Scalar"):
        return _sought(overload, _SOUGHT[base])
    if any(a.is_out and a.name == "out" for a in arguments):
        return _into_out(overload, base)
    if base in _NAN:
        inner = _converting(overload, base, names)
        everywhere = _NAN[base]

        def clean(*args: Any, **kwargs: Any) -> Any:
            made = inner(*args, **kwargs)
            _canonical(args[0] if made is None else made, everywhere)
            return made

        clean.moves = True  # type: ignore[attr-defined]
        clean.plainly = not everywhere  # type: ignore[attr-defined]
        return clean
    if not any(base in kind for kind in (_TOGETHER, _LIKE_FIRST, _NUMBERS, _LIMITS)):
        return None
    return _converting(overload, base, names)


# Where a number is among those of a tensor: the places of the number and of the tensor in the arguments.
_SOUGHT = {"searchsorted": (1, 0), "bucketize": (0, 1)}


def _sought(overload: Any, places: tuple[int, int]) -> _Mover:
    """A number is compared as it is, which PyTorch rounds to the format of the tensor before."""
    number, tensor = places

    def call(*args: Any, **kwargs: Any) -> Any:
        value, numbers = args[number], args[tensor]
        if numbers.dtype not in FORMATS or numbers.dtype is torch.float64 or not isinstance(value, float):
            return overload(*args, **kwargs)
        made = list(args)
        made[tensor] = convert(numbers, torch.float64)
        return overload(*made, **kwargs)

    call.moves = True  # type: ignore[attr-defined]
    return call


def _converting(overload: Any, base: str, names: list[str]) -> _Mover:
    compares = base in _LIMITS

    def call(*args: Any, **kwargs: Any) -> Any:
        if not compares and _plain(args, kwargs):
            return overload(*args, **kwargs)
        values = _bound(names, args, kwargs)
        if not _on_cpu(values.values()):
            return overload(*args, **kwargs)
        made = _converted(base, values)
        if made is values:
            return overload(*args, **kwargs)
        if any(made[name] is not v and not isinstance(v, (int, float)) for name, v in values.items()):
            own_error(overload, args, kwargs)
        return overload(**made)

    call.moves = True  # type: ignore[attr-defined]
    call.plainly = not compares  # type: ignore[attr-defined]
    return call


def _into_out(overload: Any, base: str) -> _Mover:
    """The form with `out`: of the result's format it is PyTorch's; another one gets the result converted."""
    packet = overload.overloadpacket
    names = [a.name for a in overload._schema.arguments if not a.is_out]

    def call(*args: Any, out: torch.Tensor, **kwargs: Any) -> Any:
        values = _bound(names, args, kwargs)
        tensors = [*tensors_in(values.values()), out]
        if not _on_cpu(tensors):
            return overload(*args, out=out, **kwargs)
        converted = _converted(base, values)
        if converted is values and len(floats_in(tensors)) < 2:
            made = overload(*args, out=out, **kwargs)
            return _canonical(made, _NAN[base]) if base in _NAN else made
        own_error(overload, args, {"out": out, **kwargs})
        check_written(overload, out, args, {"out": out, **kwargs}, values.values())
        made = packet(**converted)
        if not isinstance(made, torch.Tensor):
            raise Uncovered(f"results into a tensor of {out.dtype}")
        if out.dtype in FORMATS and made.is_floating_point():
            made = convert(made, out.dtype)
        check_cast(out, made)
        if out.shape != made.shape:
            resized(out, made.shape)
        out.copy_(made)
        return _canonical(out, _NAN[base]) if base in _NAN else out

    call.moves = True  # type: ignore[attr-defined]
    return call
