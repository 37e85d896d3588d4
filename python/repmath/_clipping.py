"""Gradient clipping by the exact norm of all gradients together."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ._dtypes import NAMES
from ._environment import guarded
from ._inplace import check_array, check_number, whole
from ._memory import as_bytes, calls, contiguous, exact_sum, is_array

_Array = np.ndarray[Any, Any]


@guarded
def clip_grad_norm(grads: Mapping[Any, _Array | None] | Iterable[_Array | None] | _Array, max_norm: float) -> float:
    """Scale gradients in place so that their joint norm is at most max_norm.

    Each element g becomes ``RN(c*g)`` with ``c = min(1, max_norm/norm)``, where
    ``norm`` is the exact root of the exact sum of all squares: neither c nor the
    norm is rounded. The dtypes of the arrays may differ.

    Parameters
    ----------
    grads : dict or iterable of ndarrays, or one ndarray
        Of float16, bfloat16, float32 or float64; written in place. None entries are
        left out.
    max_norm : float
        The largest norm, finite and not negative; taken as exact.

    Returns
    -------
    float
        The norm before the scaling, rounded once to float64.

    Raises
    ------
    TypeError
        A gradient is no array of one of the four formats, or `max_norm` no number.
    ValueError
        A gradient is read-only, or `max_norm` is negative or not finite. Nothing has
        been written.

    Notes
    -----
    Where c < 1, an exact zero becomes +0. An infinite norm makes c zero: finite
    elements become +0, infinite ones NaN. A NaN makes every element NaN.
    """
    max_norm = check_number("max_norm", max_norm)
    if is_array(grads):
        grads = [grads]
    elif not isinstance(grads, Iterable):
        raise TypeError(f"grads must be arrays or a dict of them, not {'None' if grads is None else type(grads).__name__}")
    named = grads.items() if isinstance(grads, Mapping) else enumerate(grads)
    arrays = [check_array(f"grads[{key!r}]", g, writable=True) for key, g in named if g is not None]
    squares = exact_sum(arrays[0] if arrays else None)
    for g in arrays:
        terms = as_bytes(contiguous(g))
        squares.add_products(NAMES[g.dtype], terms, terms)
    for g in arrays:
        if g.size:
            with whole(g) as own:
                calls(g).clip_to_norm(NAMES[g.dtype], as_bytes(own), squares, max_norm)
    return float(squares.root())
