"""embedding: rows of a table."""

import numpy as np
from numpy.typing import ArrayLike

from .._environment import guarded
from ._arrays import Array, operand


@guarded
def embedding(input: ArrayLike, weight: ArrayLike, padding_idx: int | None = None) -> Array:
    """Rows of a table: ``weight[input]``.

    The gradient with respect to the table is `repmath.embedding_grad`.

    Parameters
    ----------
    input : array_like of ints
        Which rows; any shape. Negative values are errors.
    weight : array_like
        The table, of two axes; of float16, bfloat16, float32 or float64, integers
        count as float64.
    padding_idx : int, optional
        A row without a gradient; it changes nothing here. A negative one counts
        from the end.

    Returns
    -------
    ndarray
        Of shape ``input.shape + (dim,)``: copies of the rows.

    Raises
    ------
    IndexError
        A value of `input`, or `padding_idx`, is out of range.
    TypeError
        `weight` is not supported, or `input` has no integers.
    ValueError
        `weight` has not two axes.
    """
    index, table = np.asarray(input), operand("weight", weight)
    if index.dtype.kind not in "iu":
        raise TypeError(f"input must have integers, not {index.dtype}")
    if table.ndim != 2:
        raise ValueError(f"weight must have two axes, not shape {table.shape}")
    rows = len(table)
    if index.size and not (0 <= index.min() and index.max() < rows):
        raise IndexError(f"input has values from {index.min()} to {index.max()}; weight has {rows} rows")
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise IndexError(f"padding_idx must be from {-rows} to {rows - 1}, not {padding_idx}")
    rows_of: Array = table[index]
    return rows_of
