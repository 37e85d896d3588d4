"""Workers of DataLoader: what they compute is in a block if the code that starts them is.

A worker that is forked has the blocks of its parent. One that is spawned has none, so that it enters one first: the function that workers
run is replaced while there is a block, by an object whose copy in another process knows whether it was made in a block.
"""

from collections.abc import Callable
from typing import Any

from torch.utils.data._utils import worker

from . import _blocks

_plain: Callable[..., Any] = worker._worker_loop


class _Loop:
    """What a worker runs: in a process that is forked, as it is."""

    def __call__(self, *args: Any) -> None:
        _plain(*args)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        block = _blocks.innermost()
        return _loop, () if block is None else (type(block), block.strict)


class _Inside:
    """What a worker runs that was spawned by code in a block."""

    def __init__(self, make: Callable[..., Any], strict: bool) -> None:
        self.make, self.strict = make, strict

    def __call__(self, *args: Any) -> None:
        with self.make(self.strict):
            _plain(*args)


def _loop(*block: Any) -> Callable[..., Any]:
    return _Inside(*block) if block else _plain


_LOOP = _Loop()


def _replace(on: bool) -> None:
    worker._worker_loop = _LOOP if on else _plain


_blocks.process.told.append(_replace)
