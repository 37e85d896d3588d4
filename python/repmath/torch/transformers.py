"""Trainings by the Trainer of transformers: `callbacks=[repmath.torch.transformers.ReproducibleCallback()]`.

Needs transformers and accelerate.
"""

from typing import Any

try:
    from transformers import TrainerCallback
except ImportError as error:
    raise ImportError("repmath.torch.transformers needs transformers: pip install transformers accelerate") from error

from ._training import Training, check_schedule

__all__ = ["ReproducibleCallback"]


class ReproducibleCallback(TrainerCallback):
    """A callback of `transformers.Trainer`, inside of which every operator is correctly rounded.

    From `on_train_begin` to `on_train_end`, evaluations between them included, the training is
    inside of `repmath.torch.reproducible`.

    Parameters
    ----------
    every : int, optional
        Keep a digest of model and optimiser after each so many steps; None: only at the
        beginning, at checkpoints and at the end.
    strict : bool, optional
        As for `repmath.torch.reproducible`.
    gradients : {"exact"}, optional
        As for `repmath.torch.reproducible`.

    Attributes
    ----------
    digests : dict
        The SHA-256 of the model's numbers before the first step, and of the model's and the
        optimiser's after later ones, by the number of steps. The same on every machine.
    uncovered : Counter
        That of the block, for ``strict=False``.

    Notes
    -----
    The model is made before the training begins: make it, or load it, inside of a block of its
    own; so does a `model_init`, in its body.
    `Trainer.evaluate` and `predict` outside of a training need a block of their own, too.
    If the training ends by an exception, the block is left when the next one begins, or by
    `close`.
    """

    def __init__(self, every: int | None = None, *, strict: bool = True, gradients: str | None = None) -> None:
        self._training = Training(every, strict, gradients)
        self.digests = self._training.digests
        self.uncovered: Any = {}

    def close(self) -> None:
        """Leave the block of a training that an exception ended."""
        self._training.end()

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Enter the block."""
        check_schedule(str(getattr(args.lr_scheduler_type, "value", args.lr_scheduler_type)))
        self._training.begin()
        assert self._training.block is not None
        self.uncovered = self._training.block.uncovered
        self._training.note(state.global_step, kwargs.get("model"))

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Keep a digest after each `every` steps."""
        self._training.step(state.global_step, kwargs.get("model"), kwargs.get("optimizer"))

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Keep the digest of a checkpoint."""
        self._training.note(state.global_step, kwargs.get("model"), kwargs.get("optimizer"))

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Keep the last digest, and leave the block."""
        self._training.note(state.global_step, kwargs.get("model"), kwargs.get("optimizer"))
        self._training.end()
