"""Activations: one function each, with one rounding."""

import torch

from .. import functional as F
from ._base import Module, Tensor


class ReLU(Module, torch.nn.ReLU):
    """torch.nn.ReLU by `functional.relu`."""

    def forward(self, input: Tensor) -> Tensor:
        """The value."""
        return F.relu(input, self.inplace)
