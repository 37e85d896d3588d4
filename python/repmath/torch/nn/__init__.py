"""Modules of torch.nn with the operators of `repmath.torch.functional`: the same names, arguments, parameters and state dicts.

Each is a subclass of PyTorch's. Initial weights come from the counter-based generator: from `generator`, a `repmath.random.Stream`,
where the constructor is given one, else from the stream that `manual_seed` began.
"""

from torch.nn import Flatten, Identity, ModuleDict, ModuleList, Parameter, ParameterDict, ParameterList, Sequential, Unflatten

from .._random import manual_seed
from ._activations import ReLU
from ._layers import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, Linear
from ._pooling import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveAvgPool3d,
    AdaptiveMaxPool1d,
    AdaptiveMaxPool2d,
    AdaptiveMaxPool3d,
    AvgPool1d,
    AvgPool2d,
    AvgPool3d,
    MaxPool1d,
    MaxPool2d,
    MaxPool3d,
)

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "Flatten",
    "Identity",
    "Linear",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "ModuleDict",
    "ModuleList",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "ReLU",
    "Sequential",
    "Unflatten",
    "manual_seed",
]
