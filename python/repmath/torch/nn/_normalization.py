"""Norms with exact statistics."""

from typing import Any

import torch

from .. import functional as F
from ._base import Module, Tensor


class LayerNorm(Module, torch.nn.LayerNorm):
    """torch.nn.LayerNorm by `functional.layer_norm`: one rounding."""

    def forward(self, input: Tensor) -> Tensor:
        """The layer's value."""
        return F.layer_norm(input, list(self.normalized_shape), self.weight, self.bias, self.eps)


class RMSNorm(Module, torch.nn.RMSNorm):
    """torch.nn.RMSNorm by `functional.rms_norm`: one rounding."""

    def forward(self, x: Tensor) -> Tensor:
        """The layer's value."""
        return F.rms_norm(x, list(self.normalized_shape), self.weight, self.eps)


class GroupNorm(Module, torch.nn.GroupNorm):
    """torch.nn.GroupNorm by `functional.group_norm`: one rounding."""

    def forward(self, input: Tensor) -> Tensor:
        """The layer's value."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


class _BatchNorm(Module):
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None
    momentum: float | None
    training: bool
    track_running_stats: bool
    weight: Tensor | None
    bias: Tensor | None
    eps: float

    def forward(self, input: Tensor) -> Tensor:
        """The layer's value; in training the running statistics are updated."""
        self._check_input_dim(input)  # type: ignore[attr-defined]
        update = self.training and self.track_running_stats
        momentum = 0.0 if self.momentum is None else self.momentum
        if update and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the average of all batches
                momentum = 1.0 / float(self.num_batches_tracked)
        running: tuple[Any, Any] = (None, None)
        if not self.training or self.track_running_stats:
            running = self.running_mean, self.running_var
        training = self.training or self.running_mean is None
        return F.batch_norm(input, *running, self.weight, self.bias, training, momentum, self.eps)


class BatchNorm1d(_BatchNorm, torch.nn.BatchNorm1d):
    """torch.nn.BatchNorm1d by `functional.batch_norm`: one rounding; running statistics too are rounded once a step."""


class BatchNorm2d(_BatchNorm, torch.nn.BatchNorm2d):
    """torch.nn.BatchNorm2d by `functional.batch_norm`: one rounding; running statistics too are rounded once a step."""


class BatchNorm3d(_BatchNorm, torch.nn.BatchNorm3d):
    """torch.nn.BatchNorm3d by `functional.batch_norm`: one rounding; running statistics too are rounded once a step."""


class _InstanceNorm(Module):
    track_running_stats: bool
    weight: Tensor | None
    bias: Tensor | None
    eps: float

    def _refuse(self) -> str | None:
        return "track_running_stats=True is not supported" if self.track_running_stats else None

    def _apply_instance_norm(self, input: Tensor) -> Tensor:
        return F.instance_norm(input, None, None, self.weight, self.bias, True, 0.0, self.eps)


class InstanceNorm1d(_InstanceNorm, torch.nn.InstanceNorm1d):
    """torch.nn.InstanceNorm1d by `functional.instance_norm`: one rounding."""


class InstanceNorm2d(_InstanceNorm, torch.nn.InstanceNorm2d):
    """torch.nn.InstanceNorm2d by `functional.instance_norm`: one rounding."""


class InstanceNorm3d(_InstanceNorm, torch.nn.InstanceNorm3d):
    """torch.nn.InstanceNorm3d by `functional.instance_norm`: one rounding."""
