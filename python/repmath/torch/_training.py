"""What the callbacks for training loops of other packages share: a block from its beginning to its end, and digests on the way."""

import operator
import warnings
from typing import Any

from ._digest import digest
from ._mode import reproducible


class Training:
    """The block of one training, and the digests of its model and optimiser by step."""

    def __init__(self, every: Any, strict: Any, gradients: Any) -> None:
        if every is not None:
            try:
                every = operator.index(every)
            except TypeError:
                raise TypeError(f"every must be an integer or None, not {type(every).__name__}") from None
            if every < 1:
                raise ValueError(f"every must be at least 1, not {every}")
        reproducible(strict, gradients)  # checks them
        self.every, self.options = every, (strict, gradients)
        self.digests: dict[int, str] = {}
        self.block: reproducible | None = None

    def begin(self, anew: bool = True) -> None:
        """Enter a block, anew with no digests. That of a training which an exception ended is left first."""
        self.end()
        if anew:
            self.digests.clear()
        self.block = reproducible(*self.options)
        self.block.__enter__()

    def end(self) -> None:
        block, self.block = self.block, None
        if block is not None:
            block.__exit__(None, None, None)

    def step(self, number: int, *things: Any) -> None:
        """Keep a digest after each `every` steps."""
        if self.every is not None and number % self.every == 0:
            self.note(number, *things)

    def note(self, number: int, *things: Any) -> None:
        self.digests[number] = digest(*(t for t in things if t is not None))


def check_schedule(name: str) -> None:
    """Learning rates that the C library computes are no part of the block."""
    if name not in ("linear", "constant", "constant_with_warmup"):
        warnings.warn(
            f"the schedule {name!r} computes learning rates by functions of Python's math, whose bits differ between systems: "
            "take 'linear' or 'constant', or set learning rates by repmath.optim (docs/optimizers.md)",
            stacklevel=3,
        )
