"""Backward passes of blocks with exact gradients: PyTorch's engine is called through the block's."""

import functools
import types
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from .. import _blocks
from .._aten.common import Uncovered
from .._errors import UncoveredOperatorError, call_site
from .gradients import Gradients


def of_block() -> Gradients | None:
    """The exact gradients of the block that the running code is in."""
    home = _blocks.own()
    entry = None if home is None else _blocks.current(home)
    return None if entry is None else entry.block._exact


def run(outputs: Any, args: Any, kwargs: Any) -> Any:
    gradients = of_block()
    if gradients is None:
        return _ENGINE(outputs, *args, **kwargs)
    try:
        return gradients.run(_ENGINE, outputs, args, kwargs)
    except Uncovered as error:
        raise UncoveredOperatorError("the backward pass", call_site(), str(error)) from None


def _engine_run_backward(t_outputs, *args, **kwargs):  # type: ignore[no-untyped-def]
    from repmath.torch._exact.engine import run

    return run(t_outputs, args, kwargs)


# PyTorch's function, which all ways to begin a backward pass call, gets other code while there is a block.
_replaced: Any = torch.autograd.graph._engine_run_backward
_OWN_CODE = _replaced.__code__
_ENGINE: Any = types.FunctionType(_OWN_CODE, _replaced.__globals__, _replaced.__name__, _replaced.__defaults__)


def _replace(on: bool) -> None:
    _replaced.__code__ = _engine_run_backward.__code__ if on else _OWN_CODE


_blocks.process.told.append(_replace)


@functools.cache
def watch_steps() -> None:
    """From now on an optimiser raises for a gradient that is not there yet, and the records of a parameter are forgotten when it has used the gradient."""

    def before(optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        gradients = of_block()
        if gradients is not None:
            gradients.check_written(p for group in optimizer.param_groups for p in group["params"])

    def after(optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        gradients = of_block()
        if gradients is not None:
            gradients.forget(p for group in optimizer.param_groups for p in group["params"])

    register_optimizer_step_pre_hook(before)
    register_optimizer_step_post_hook(after)
