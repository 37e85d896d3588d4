"""Pooling layers."""

from typing import Any

import torch

from .. import functional as F
from ._base import Module, Tensor


class _Max(Module):
    kernel_size: Any
    stride: Any
    padding: Any
    dilation: Any
    ceil_mode: bool
    return_indices: bool

    def _run(self, function: Any, input: Tensor) -> Any:
        return function(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )


class MaxPool1d(_Max, torch.nn.MaxPool1d):
    """torch.nn.MaxPool1d by `functional.max_pool1d`."""

    def forward(self, input: Tensor) -> Any:
        """The layer's value."""
        return self._run(F.max_pool1d, input)


class MaxPool2d(_Max, torch.nn.MaxPool2d):
    """torch.nn.MaxPool2d by `functional.max_pool2d`."""

    def forward(self, input: Tensor) -> Any:
        """The layer's value."""
        return self._run(F.max_pool2d, input)


class MaxPool3d(_Max, torch.nn.MaxPool3d):
    """torch.nn.MaxPool3d by `functional.max_pool3d`."""

    def forward(self, input: Tensor) -> Any:
        """The layer's value."""
        return self._run(F.max_pool3d, input)


class AvgPool1d(Module, torch.nn.AvgPool1d):
    """torch.nn.AvgPool1d by `functional.avg_pool1d`."""

    def forward(self, input: Tensor) -> Tensor:
        """The layer's value."""
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class _Average(Module):
    kernel_size: Any
    stride: Any
    padding: Any
    ceil_mode: bool
    count_include_pad: bool
    divisor_override: int | None

    def _run(self, function: Any, input: Tensor) -> Tensor:
        result: Tensor = function(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override
        )
        return result


class AvgPool2d(_Average, torch.nn.AvgPool2d):
    """torch.nn.AvgPool2d by `functional.avg_pool2d`."""

    def forward(self, input: Tensor) -> Tensor:
        """The layer's value."""
        return self._run(F.avg_pool2d, input)


class AvgPool3d(_Average, torch.nn.AvgPool3d):
    """torch.nn.AvgPool3d by `functional.avg_pool3d`."""

    def forward(self, input: Tensor) -> Tensor:
        """The layer's value."""
        return self._run(F.avg_pool3d, input)


class AdaptiveMaxPool1d(Module, torch.nn.AdaptiveMaxPool1d):
    """torch.nn.AdaptiveMaxPool1d by `functional.adaptive_max_pool1d`."""

    def forward(self, input: Tensor) -> Any:
        """The layer's value."""
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(Module, torch.nn.AdaptiveMaxPool2d):
    """torch.nn.AdaptiveMaxPool2d by `functional.adaptive_max_pool2d`."""

    def forward(self, input: Tensor) -> Any:
        """The layer's value."""
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(Module, torch.nn.AdaptiveMaxPool3d):
    """torch.nn.AdaptiveMaxPool3d by `functional.adaptive_max_pool3d`."""

    def forward(self, input: Tensor) -> Any:
        """The layer's value."""
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)


class AdaptiveAvgPool1d(Module, torch.nn.AdaptiveAvgPool1d):
    """torch.nn.AdaptiveAvgPool1d by `functional.adaptive_avg_pool1d`."""

    def forward(self, input: Tensor) -> Tensor:
        """The layer's value."""
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(Module, torch.nn.AdaptiveAvgPool2d):
    """torch.nn.AdaptiveAvgPool2d by `functional.adaptive_avg_pool2d`."""

    def forward(self, input: Tensor) -> Tensor:
        """The layer's value."""
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(Module, torch.nn.AdaptiveAvgPool3d):
    """torch.nn.AdaptiveAvgPool3d by `functional.adaptive_avg_pool3d`."""

    def forward(self, input: Tensor) -> Tensor:
        """The layer's value."""
        return F.adaptive_avg_pool3d(input, self.output_size)
