"""The ufuncs of repmath over arrays on a device: elementwise functions, sum, dot and matrix products."""

import math
from typing import Any

import numpy as np

from .. import _core
from .._dtypes import NAMES
from ._array import Array, Place, Unsupported, contiguous, copy, new, overlap, upload
from ._library import checked, format_of

_ELEMENTWISE = {ufunc: name for name, ufunc in _core.ufuncs.items()}
_PRODUCTS = {_core.gufuncs[name]: name for name in ("sum", "dot", "matmul", "matmul_bias")}
_Operands = list[Array]


def apply(ufunc: Any, method: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Implements __array_ufunc__ of an array on a device."""
    out = keywords.pop("out", (None,))[0]
    casting = keywords.pop("casting", None)
    if method != "__call__" or keywords or casting not in (None, "safe", "same_kind"):
        raise Unsupported("on a device ufuncs take no keywords but out")
    if ufunc in _ELEMENTWISE:
        return _elementwise(_ELEMENTWISE[ufunc], *_operands(arguments), out)
    if ufunc in _PRODUCTS:
        place, operands = _operands(arguments)
        return _delivered(_product(_PRODUCTS[ufunc], place, operands), out)
    raise Unsupported(f"{ufunc} is not for arrays on a device")


def _operands(arguments: tuple[Any, ...]) -> tuple[Place, _Operands]:
    """The arguments in their common format. Python's numbers are converted to it and go to the device in the order of its stream, without waiting.
    They are not kept: a graph that captures the call has their memory."""
    arrays = [a for a in arguments if isinstance(a, Array)]
    place, dtype = arrays[0].place, arrays[0].dtype
    if dtype not in NAMES or any(a.dtype != dtype for a in arrays):
        raise Unsupported("arrays on a device are computed with in one format")
    found = []
    for a in arguments:
        if isinstance(a, Array):
            found.append(a)
        elif type(a) in (int, float):
            with np.errstate(all="ignore"):
                found.append(upload(place, np.asarray(a, dtype)))
        elif isinstance(a, (np.ndarray, np.generic)) and a.ndim == 0 and a.dtype == dtype:
            found.append(upload(place, np.asarray(a)))
        else:
            raise Unsupported("an operand is in main memory")
    return place, found


def _delivered(value: Array, out: Any) -> Array:
    if out is None:
        return value
    if not isinstance(out, Array):
        raise Unsupported("out is in main memory")
    if not out.flags.writeable:
        raise ValueError("out is read-only")
    if out.shape != value.shape:
        raise ValueError(f"out has shape {out.shape}, the result has shape {value.shape}")
    copy(value, out)
    return out


def _one_stride(a: Array, shape: tuple[int, ...]) -> tuple[Array, int]:
    """The array, broadcast to the shape, as one line of elements, and its stride."""
    if a.size == 1:
        return a, 0
    full = a if a.shape == shape else a.broadcast_to(shape)
    if full.ndim == 1:
        return full, full.strides[0]
    return contiguous(full), full.itemsize


def _elementwise(name: str, place: Place, operands: _Operands, out: Any) -> Array:
    shape = np.broadcast_shapes(*(a.shape for a in operands))
    direct = (
        isinstance(out, Array)
        and out.shape == shape
        and out.dtype == operands[0].dtype
        and out.flags.c_contiguous
        and out.flags.writeable
        and not any(overlap(out, a) for a in operands)
    )
    result = out if direct else new(place, shape, operands[0].dtype)
    lines = [_one_stride(a, shape) for a in operands]
    inputs = [part for a, stride in lines for part in (a.pointer, stride)]
    if result.size:
        function = f"rm_cuda_v{name}_{NAMES[result.dtype]}"
        checked(function, result.size, *inputs, result.pointer, result.itemsize, place.queue)
    return result if direct else _delivered(result, out)


def _rows(name: str, operands: _Operands) -> Array:
    """Sums, or dot products, of the last axis."""
    shape = np.broadcast_shapes(*(a.shape for a in operands))
    x = operands[0]
    result = new(x.place, shape[:-1], x.dtype)
    full = [a if a.shape == shape else a.broadcast_to(shape) for a in operands]
    lines = [a.reshape(result.size, shape[-1]) for a in full]
    given = [part for a in lines for part in (a.pointer, *a.strides)]
    form = format_of(NAMES[x.dtype])
    to = form, result.pointer, result.itemsize, result.place.queue
    checked(f"rm_cuda_{name}_rows", form, result.size, shape[-1], *given, *to)
    return result


def _batched(
    batch: int,
    m: int,
    n: int,
    k: int,
    a: Array,
    of_a: Any,
    b: Array,
    of_b: Any,
    bias: Array | None,
    of_bias: Any,
    c: Array,
    of_c: Any,
) -> None:
    form = format_of(NAMES[c.dtype])
    third = None if bias is None else bias.pointer
    checked(
        "rm_cuda_matmul_batched", form, form, batch, m, n, k, a.pointer, *of_a, b.pointer, *of_b, third, *of_bias, c.pointer, *of_c,
        c.place.queue,
    )  # fmt: skip


def _product(name: str, place: Place, operands: _Operands) -> Array:
    if name in ("sum", "dot"):
        return _rows(name, operands)
    a, b = operands[:2]
    bias = operands[2] if name == "matmul_bias" else None
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError("matmul: an operand is a scalar; it must have at least one axis")
    left = a if a.ndim > 1 else a[None, :]
    right = b if b.ndim > 1 else b[:, None]
    if bias is not None and b.ndim == 1:
        bias = bias[..., None]
    full = _matmul(place, left, right, bias)
    kept = full.shape[:-2] + (full.shape[-2:-1] if a.ndim > 1 else ()) + (full.shape[-1:] if b.ndim > 1 else ())
    return full.reshape(kept)


def _matmul(place: Place, a: Array, b: Array, bias: Array | None) -> Array:
    """Products of matrices, the leading axes broadcast; one launch where each operand's have one stride, or are made so."""
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"matmul: shapes {a.shape} and {b.shape} do not match")
    m, k, n = *a.shape[-2:], b.shape[-1]
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2], () if bias is None else bias.shape[:-1])
    batch = math.prod(lead)
    result = new(place, (*lead, m, n), a.dtype)

    def next_one(x: Array, own: int) -> tuple[Array, tuple[int, ...]]:
        """The operand with one leading axis, broadcast, and its strides."""
        if math.prod(x.shape[: x.ndim - own]) == 1:
            return x, (0, *x.strides[x.ndim - own :])
        full = x.broadcast_to((*lead, *x.shape[x.ndim - own :]))
        flat = full.reshape(batch, *x.shape[x.ndim - own :])
        return flat, flat.strides

    if result.size:
        first, of_a = next_one(a, 2)
        second, of_b = next_one(b, 2)
        third, of_bias = (
            (None, (0, 0))
            if bias is None
            else next_one(bias if bias.shape[-1] == n else bias.broadcast_to((*bias.shape[:-1], n)), 1)
        )
        _batched(
            batch,
            m,
            n,
            k,
            first,
            of_a,
            second,
            of_b,
            third,
            of_bias,
            result,
            (m * n * a.itemsize, n * a.itemsize, a.itemsize),
        )
    return result


Array.apply_ufunc = staticmethod(apply)
