"""Sums and means over axes, of arrays whose elements the C library reads where they are."""

import numpy as np

from . import _core
from ._dtypes import F32, NAMES

_sum = _core.gufuncs["sum"]


def over_axes(
    what: str, x: np.ndarray, axes: tuple[int, ...], result: np.dtype[np.generic], warn: bool = False
) -> np.ndarray | None:
    """The "sum" or "mean" over `axes`, which are not negative, rounded once to `result`; of the shape of the other axes.

    None where the elements are of none of the formats, or the axes do not merge to two that are kept and two that are not.
    warn: with the warnings that a sum gives.
    """
    name = NAMES.get(x.dtype)
    if name is None or x.size == 0:
        return None
    made = np.empty([n for i, n in enumerate(x.shape) if i not in axes], result)
    raised = _core.over_axes(what == "mean", name, NAMES[result], x, axes, made)
    if raised is None:
        return None
    if warn:
        for flag, terms in zip(raised, ((np.inf, -np.inf), (np.finfo(F32).max,) * 2), strict=True):
            if flag:
                _sum(np.array(terms, F32))
    return made
