"""The random numbers of draws by rejection: sequences of numbers, one for each element."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _core
from .._dtypes import F64

_A = np.ndarray[Any, Any]

CHUNK = 8192
"""Elements that are computed together: their arrays stay in the second-level cache."""


class Sequences:
    """Number j of element first + i is draw first + i of the stream s* + j under the key k*, which the block at counter 2^64 - 1 gives."""

    def __init__(self, place: tuple[int, int, int]) -> None:
        seed, stream, self.first = place
        a, b, c, d = _core.random_block(seed, stream, 2**64 - 1)
        self.seed, self.stream = a | b << 32, c | d << 32

    def _numbers(self, what: str, j: int, index: _A, dtype: Any) -> _A:
        out = np.empty(index.size, dtype)
        stream, count = (self.stream + j) % 2**64, index.size
        if count and index[-1] - index[0] == count - 1:  # in order: the elements of a call are
            _core.random_fill(
                what, (self.seed, stream, self.first + int(index[0])), out, b=1.0
            )  # the deviation of normal numbers
        else:
            _core.random_fill_at(what, self.seed, stream, np.ascontiguousarray(index) + self.first, out)
        return out

    def draws(self, j: int, index: _A) -> _A:
        """Draws of 64 bits."""
        return self._numbers("words64", j, index, np.uint64)

    def integers(self, j: int, index: _A) -> _A:
        """The 53 highest bits of the draws, as binary64 numbers."""
        return (self.draws(j, index) >> np.uint64(11)).astype(F64)

    def normals(self, j: int, index: _A) -> _A:
        """Standard normal numbers, rounded to binary64."""
        return self._numbers("normal", j, index, F64)


def attempts(
    index: _A, once: Callable[[int, _A], tuple[_A, _A, _A]], exactly: Callable[[int, int], tuple[bool, Any]], out: _A
) -> None:
    """Writes the first accepted candidate of each element to out.

    `once(t, index)` makes attempt t = 1, 2, ... of the elements: candidates, which of them are accepted, and which of these two are undecided.
    `exactly(t, element)` decides one of these: whether it is accepted, and the candidate. out has an element for each of index, which counts from
    index[0] on without gaps."""
    start, t = int(index[0]), 1
    while index.size:
        candidates, accepted, undecided = once(t, index)
        for at in np.nonzero(undecided)[0].tolist():
            accepted[at], value = exactly(t, int(index[at]))
            if accepted[at]:
                candidates[at] = value
        out[index[accepted] - start] = candidates[accepted]
        index, t = index[~accepted], t + 1
