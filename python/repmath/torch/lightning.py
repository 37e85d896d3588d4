"""Trainings by the Trainer of Lightning: `callbacks=[repmath.torch.lightning.ReproducibleCallback()]`.

Needs lightning, or pytorch_lightning.
"""

from typing import Any

try:
    from lightning.pytorch import Callback
except ImportError:
    try:
        from pytorch_lightning import Callback
    except ImportError as error:
        raise ImportError("repmath.torch.lightning needs lightning: pip install lightning") from error

from ._training import Training

__all__ = ["ReproducibleCallback"]


class ReproducibleCallback(Callback):
    """A callback of Lightning's Trainer, inside of which every operator is correctly rounded.

    From `setup` to `teardown` of `fit`, `validate`, `test` and `predict`, all is inside of
    `repmath.torch.reproducible`, a model that `configure_model` makes among it.

    Parameters
    ----------
    every : int, optional
        Keep a digest of the module and its optimisers after each so many steps; None: only
        at the beginning and at the end of the training.
    strict : bool, optional
        As for `repmath.torch.reproducible`.
    gradients : {"exact"}, optional
        As for `repmath.torch.reproducible`.

    Attributes
    ----------
    digests : dict
        The SHA-256 of the module's numbers before the first step, and of the module's and
        the optimisers' after later ones, by the number of steps. The same on every machine.
    uncovered : Counter
        That of the block, for ``strict=False``.

    Notes
    -----
    A module that makes its layers in `__init__` is made inside of a block of its own. The
    learning rates of schedulers that compute by Python's `math` are no part of the block.
    """

    def __init__(self, every: int | None = None, *, strict: bool = True, gradients: str | None = None) -> None:
        self._training = Training(every, strict, gradients)
        self.digests = self._training.digests
        self.uncovered: Any = {}

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Enter the block."""
        self._training.begin(stage == "fit")
        assert self._training.block is not None
        self.uncovered = self._training.block.uncovered

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Keep the digest of the module before the first step."""
        self._training.note(trainer.global_step, pl_module)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Keep a digest after each `every` steps."""
        self._training.step(trainer.global_step, pl_module, *trainer.optimizers)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Keep the last digest."""
        self._training.note(trainer.global_step, pl_module, *trainer.optimizers)

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Leave the block."""
        self._training.end()

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Leave the block."""
        self._training.end()
