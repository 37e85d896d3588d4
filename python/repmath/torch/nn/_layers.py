"""Layers with weights: linear maps and convolutions."""

from typing import Any

import torch

from .. import functional as F
from ._base import Module, Tensor, draw_weight_and_bias


class Linear(Module, torch.nn.Linear):
    """torch.nn.Linear by `functional.linear`: ``RN(x W^T + b)``, one rounding."""

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        draw_weight_and_bias(self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        """The layer's value."""
        return F.linear(input, self.weight, self.bias)


class _Convolution(Module):
    """Only zeros may surround the input."""

    padding_mode: str
    weight: Tensor
    bias: Tensor | None

    def _refuse(self) -> str | None:
        if self.padding_mode != "zeros":
            return f"padding_mode={self.padding_mode!r} is not supported, only 'zeros'"
        return None

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        draw_weight_and_bias(self.weight, self.bias)


class Conv1d(_Convolution, torch.nn.Conv1d):
    """torch.nn.Conv1d by `functional.conv1d`: exact sums, one rounding."""

    def forward(self, input: Tensor) -> Tensor:
        """The layer's value."""
        return F.conv1d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class Conv2d(_Convolution, torch.nn.Conv2d):
    """torch.nn.Conv2d by `functional.conv2d`: exact sums, one rounding."""

    def forward(self, input: Tensor) -> Tensor:
        """The layer's value."""
        return F.conv2d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class Conv3d(_Convolution, torch.nn.Conv3d):
    """torch.nn.Conv3d by `functional.conv3d`: exact sums, one rounding."""

    def forward(self, input: Tensor) -> Tensor:
        """The layer's value."""
        return F.conv3d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class _Transposed(_Convolution):
    stride: Any
    padding: Any
    dilation: Any
    kernel_size: Any
    groups: int

    def _run(self, function: Any, dims: int, input: Tensor, output_size: Any) -> Tensor:
        extra = self._output_padding(  # type: ignore[attr-defined]
            input, output_size, self.stride, self.padding, self.kernel_size, dims, self.dilation
        )
        result: Tensor = function(input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation)
        return result


class ConvTranspose1d(_Transposed, torch.nn.ConvTranspose1d):
    """torch.nn.ConvTranspose1d by `functional.conv_transpose1d`: exact sums, one rounding."""

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        """The layer's value."""
        return self._run(F.conv_transpose1d, 1, input, output_size)


class ConvTranspose2d(_Transposed, torch.nn.ConvTranspose2d):
    """torch.nn.ConvTranspose2d by `functional.conv_transpose2d`: exact sums, one rounding."""

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        """The layer's value."""
        return self._run(F.conv_transpose2d, 2, input, output_size)


class ConvTranspose3d(_Transposed, torch.nn.ConvTranspose3d):
    """torch.nn.ConvTranspose3d by `functional.conv_transpose3d`: exact sums, one rounding."""

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        """The layer's value."""
        return self._run(F.conv_transpose3d, 3, input, output_size)
