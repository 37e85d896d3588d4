"""Activations: each is one function with one rounding."""

from typing import Any

import torch

from .. import functional as F
from ._base import Module, Tensor


class ReLU(Module, torch.nn.ReLU):
    """torch.nn.ReLU by `functional.relu`."""

    def forward(self, input: Tensor) -> Tensor:
        """The value."""
        return F.relu(input, self.inplace)


class LeakyReLU(Module, torch.nn.LeakyReLU):
    """torch.nn.LeakyReLU by `functional.leaky_relu`."""

    def forward(self, input: Tensor) -> Tensor:
        """The value."""
        return F.leaky_relu(input, self.negative_slope, self.inplace)


class ReLU6(Module, torch.nn.ReLU6):
    """torch.nn.ReLU6 by `functional.relu6`."""

    def forward(self, input: Tensor) -> Tensor:
        """The value."""
        return F.relu6(input, self.inplace)


class Hardtanh(Module, torch.nn.Hardtanh):
    """torch.nn.Hardtanh by `functional.hardtanh`."""

    def forward(self, input: Tensor) -> Tensor:
        """The value."""
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


class ELU(Module, torch.nn.ELU):
    """torch.nn.ELU by `functional.elu`."""

    def forward(self, input: Tensor) -> Tensor:
        """The value."""
        return F.elu(input, self.alpha, self.inplace)


class Hardsigmoid(Module, torch.nn.Hardsigmoid):
    """torch.nn.Hardsigmoid by `functional.hardsigmoid`."""

    def forward(self, input: Tensor) -> Tensor:
        """The value."""
        return F.hardsigmoid(input, self.inplace)


class Hardswish(Module, torch.nn.Hardswish):
    """torch.nn.Hardswish by `functional.hardswish`."""

    def forward(self, input: Tensor) -> Tensor:
        """The value."""
        return F.hardswish(input, self.inplace)


class Mish(Module, torch.nn.Mish):
    """torch.nn.Mish by `functional.mish`."""

    def forward(self, input: Tensor) -> Tensor:
        """The value."""
        return F.mish(input, self.inplace)


class Softsign(Module, torch.nn.Softsign):
    """torch.nn.Softsign by `functional.softsign`."""

    def forward(self, input: Tensor) -> Tensor:
        """The value."""
        return F.softsign(input)


class PReLU(Module, torch.nn.PReLU):
    """torch.nn.PReLU by `functional.prelu`."""

    def forward(self, input: Tensor) -> Tensor:
        """The value."""
        return F.prelu(input, self.weight)


class SiLU(Module, torch.nn.SiLU):
    """torch.nn.SiLU by `functional.silu`."""

    def forward(self, input: Tensor) -> Tensor:
        """The value."""
        return F.silu(input, self.inplace)


class GELU(Module, torch.nn.GELU):
    """torch.nn.GELU by `functional.gelu`."""

    def forward(self, input: Tensor) -> Tensor:
        """The value."""
        return F.gelu(input, self.approximate)


class Sigmoid(Module, torch.nn.Sigmoid):
    """torch.nn.Sigmoid by `functional.sigmoid`."""

    def forward(self, input: Tensor) -> Tensor:
        """The value."""
        return F.sigmoid(input)


class Tanh(Module, torch.nn.Tanh):
    """torch.nn.Tanh by `functional.tanh`."""

    def forward(self, input: Tensor) -> Tensor:
        """The value."""
        return F.tanh(input)


class LogSigmoid(Module, torch.nn.LogSigmoid):
    """torch.nn.LogSigmoid by `functional.logsigmoid`."""

    def forward(self, input: Tensor) -> Tensor:
        """The value."""
        return F.logsigmoid(input)


class Softplus(Module, torch.nn.Softplus):
    """torch.nn.Softplus by `functional.softplus`; `beta` must be 1."""

    def _refuse(self) -> str | None:
        return None if self.beta == 1 else f"beta={self.beta!r} is not supported, only 1"

    def forward(self, input: Tensor) -> Tensor:
        """The value."""
        return F.softplus(input, self.beta, self.threshold)


class _Softmax(Module):
    dim: Any

    def _refuse(self) -> str | None:
        return "dim=None is not supported" if self.dim is None else None


class Softmax(_Softmax, torch.nn.Softmax):
    """torch.nn.Softmax by `functional.softmax`; `dim` must be given."""

    def forward(self, input: Tensor) -> Tensor:
        """The value."""
        return F.softmax(input, self.dim)


class LogSoftmax(_Softmax, torch.nn.LogSoftmax):
    """torch.nn.LogSoftmax by `functional.log_softmax`; `dim` must be given."""

    def forward(self, input: Tensor) -> Tensor:
        """The value."""
        return F.log_softmax(input, self.dim)


class Dropout(Module, torch.nn.Dropout):
    """torch.nn.Dropout by `functional.dropout`: elements are dropped by the counter-based generator.

    With `generator`, a `repmath.random.Stream`, each call in training draws from it; otherwise from the stream that `manual_seed` began.
    """

    def __init__(self, p: float = 0.5, inplace: bool = False, *, generator: object = None) -> None:
        super().__init__(p, inplace, generator=generator)
        self.generator = generator

    def forward(self, input: Tensor) -> Tensor:
        """The value."""
        return F.dropout(input, self.p, self.training, self.inplace, generator=getattr(self, "generator", None))
