"""Losses: the exact sum or mean, rounded once."""

import torch

from .. import functional as F
from ._base import Module, Tensor


class CrossEntropyLoss(Module, torch.nn.CrossEntropyLoss):
    """torch.nn.CrossEntropyLoss by `functional.cross_entropy`."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.cross_entropy(input, target, self.weight, self.ignore_index, self.reduction, self.label_smoothing)


class NLLLoss(Module, torch.nn.NLLLoss):
    """torch.nn.NLLLoss by `functional.nll_loss`."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.nll_loss(input, target, self.weight, self.ignore_index, self.reduction)


class MSELoss(Module, torch.nn.MSELoss):
    """torch.nn.MSELoss by `functional.mse_loss`."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.mse_loss(input, target, self.reduction)


class L1Loss(Module, torch.nn.L1Loss):
    """torch.nn.L1Loss by `functional.l1_loss`."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.l1_loss(input, target, self.reduction)


class SmoothL1Loss(Module, torch.nn.SmoothL1Loss):
    """torch.nn.SmoothL1Loss by `functional.smooth_l1_loss`."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.smooth_l1_loss(input, target, self.reduction, self.beta)


class HuberLoss(Module, torch.nn.HuberLoss):
    """torch.nn.HuberLoss by `functional.huber_loss`."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.huber_loss(input, target, self.reduction, self.delta)


class KLDivLoss(Module, torch.nn.KLDivLoss):
    """torch.nn.KLDivLoss by `functional.kl_div`."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.kl_div(input, target, self.reduction, self.log_target)


class BCEWithLogitsLoss(Module, torch.nn.BCEWithLogitsLoss):
    """torch.nn.BCEWithLogitsLoss by `functional.binary_cross_entropy_with_logits`."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.binary_cross_entropy_with_logits(input, target, self.weight, self.reduction, self.pos_weight)
