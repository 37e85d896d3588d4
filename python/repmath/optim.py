"""Optimisers, gradient clipping and learning-rate schedules: every number is one real formula, rounded once.

`SGD`, `Adam` and `AdamW` update arrays in place; `sgd_step`, `adam_step` and `adamw_step` are one step of one array.
The formulas are those of torch.optim, over the real numbers; docs/optimizers.md has them.
"""

from ._clipping import clip_grad_norm
from ._optimizers import SGD, Adam, AdamW, adam_step, adamw_step, sgd_step
from ._schedules import (
    cosine_schedule,
    exponential_schedule,
    linear_schedule,
    multistep_schedule,
    one_cycle_schedule,
    step_schedule,
    warm_up_schedule,
)

__all__ = [
    "SGD",
    "Adam",
    "AdamW",
    "adam_step",
    "adamw_step",
    "clip_grad_norm",
    "cosine_schedule",
    "exponential_schedule",
    "linear_schedule",
    "multistep_schedule",
    "one_cycle_schedule",
    "sgd_step",
    "step_schedule",
    "warm_up_schedule",
]
