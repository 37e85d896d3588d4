"""Rows of a table by an index, and their transpose: exact sums of rows."""

from typing import Any

from jax.interpreters import ad

from ._primitive import bind, by_handler, define, is_zero, zero_of
from ._types import integers, together


def take(table: Any, index: Any) -> Any:
    """table[..., index[..., i], :] of stacks (..., rows, cols) and (..., n)."""
    return bind(take_p, table, index)


def segment_sum_rows(src: Any, index: Any, rows: int) -> Any:
    """For each of `rows` rows the exact sum of the rows of src (..., n, cols) that index (..., n) maps to it."""
    return bind(segment_sum_p, src, index, rows=rows)


def _take_jvp(primals: Any, tangents: Any) -> Any:
    y = take(*primals)
    return y, zero_of(y) if is_zero(tangents[0]) else take(tangents[0], primals[1])


def _take_transpose(ct: Any, table: Any, index: Any) -> Any:
    aval = table.aval
    return [ad.Zero(aval) if is_zero(ct) else segment_sum_rows(ct, index, aval.shape[-2]), None]


def _sum_jvp(primals: Any, tangents: Any, *, rows: int) -> Any:
    y = segment_sum_rows(primals[0], primals[1], rows)
    return y, zero_of(y) if is_zero(tangents[0]) else segment_sum_rows(tangents[0], primals[1], rows)


def _sum_transpose(ct: Any, src: Any, index: Any, *, rows: int) -> Any:
    return [ad.Zero(src.aval) if is_zero(ct) else take(ct, index), None]


take_p: Any = define(
    "take",
    lambda table, index: ((*index.shape, table.shape[-1]), table.dtype),
    by_handler("take"),
    jvp=_take_jvp,
    transpose=_take_transpose,
    axes=lambda count: (["Rc", "n"], ["nc"]),
)
segment_sum_p: Any = define(
    "segment_sum",
    lambda src, index, *, rows: ((*index.shape[:-1], rows, src.shape[-1]), src.dtype),
    by_handler("segment_sum", lambda rows: {}),
    jvp=_sum_jvp,
    transpose=_sum_transpose,
    axes=lambda count, *, rows: (["nc", "n"], ["Rc"]),
)


def embedding(input: Any, weight: Any) -> Any:
    """Rows of a table: ``weight[input]``, as `repmath.nn.embedding`; the gradient of a row is the exact sum of its uses.

    Parameters
    ----------
    input : array_like of ints
        From 0 to the number of rows less 1; others raise an error when the program runs.
    weight : array_like
        Of two axes.
    """
    (table,) = together(weight=weight)
    index = integers("input", input)
    if table.ndim != 2:
        raise ValueError(f"weight must have two axes, not shape {table.shape}")
    return take(table, index.reshape(-1)).reshape(*index.shape, table.shape[1])


def segment_sum(data: Any, segment_ids: Any, num_segments: int) -> Any:
    """The exact sums of the elements or rows of `data` with one id, as `repmath.segment_sum`; jax.ops.segment_sum's arguments.

    Ids out of range raise an error when the program runs. The gradient repeats that of the result.
    """
    (x,) = together(data=data)
    index = integers("segment_ids", segment_ids)
    if index.ndim != 1 or x.ndim < 1 or x.shape[0] != index.shape[0]:
        raise ValueError(f"segment_ids has shape {index.shape}; it must have one for each of the {x.shape[:1]} of data")
    total = segment_sum_rows(x.reshape(x.shape[0], -1), index, int(num_segments))
    return total.reshape(int(num_segments), *x.shape[1:])
