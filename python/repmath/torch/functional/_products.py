"""Matrix products and convolutions."""

from typing import Any

from .._ops.products import CONV, CONV_TRANSPOSE, LINEAR, MATMUL
from ._arguments import Tensor, batched, each, tensor

_Sizes = int | tuple[int, ...] | list[int]


def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Matrix product, as torch.matmul: each element the exact sum of products, rounded once.

    Parameters
    ----------
    input, other : Tensor
        Of shapes (..., n, k) and (..., k, m), or (k,) for either; of one format. Leading axes broadcast.

    Returns
    -------
    Tensor
        The bits are those of `repmath.matmul`. Gradients are products too; along axes that were broadcast, products are rounded and
        then summed exactly, but for a matrix `other`, whose gradient is one exact sum.

    Raises
    ------
    TypeError
        A dtype is not supported, or they differ.
    RuntimeError
        The shapes do not fit.
    """
    result: Tensor = MATMUL.overload(tensor("input", input), tensor("other", other))
    return result


def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Products of matrices of equal number, (b, n, k) and (b, k, m), as torch.bmm."""
    if input.ndim != 3 or mat2.ndim != 3 or input.shape[0] != mat2.shape[0]:
        raise RuntimeError(
            f"input and mat2 must be 3-D with equally many matrices, not {tuple(input.shape)} and {tuple(mat2.shape)}"
        )
    return matmul(input, mat2)


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``RN(sum over k of input[..., k] * weight[o, k] + bias[o])``: one rounding, the bias is one more exact term.

    Parameters
    ----------
    input : Tensor
        Of shape (..., in_features).
    weight : Tensor
        Of shape (out_features, in_features).
    bias : Tensor, optional
        Of shape (out_features,).

    Returns
    -------
    Tensor
        Of shape (..., out_features). Gradients are exact sums over all rows, rounded once.

    Raises
    ------
    TypeError
        A dtype is not supported, or they differ.
    RuntimeError
        The shapes do not fit.
    """
    result: Tensor = LINEAR.overload(tensor("input", input), tensor("weight", weight), bias)
    return result


def _conv(
    dims: int, input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any, groups: int
) -> Tensor:
    x, has_batch = batched(tensor("input", input), dims)
    tensor("weight", weight)
    strides, dilations = each("stride", stride, dims), each("dilation", dilation, dims)
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(f"padding must be 'same', 'valid' or integers, not {padding!r}")
        if padding == "same" and any(s != 1 for s in strides):
            raise RuntimeError("padding='same' is not supported for strided convolutions")
        pads = [] if padding == "same" else [0] * dims
    else:
        pads = each("padding", padding, dims)
    y: Tensor = CONV.overload(x, weight, bias, strides, pads, dilations, groups)
    return y if has_batch else y.squeeze(0)


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Sizes = 1,
    padding: _Sizes | str = 0,
    dilation: _Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """`conv2d` over one spatial axis."""
    return _conv(1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Sizes = 1,
    padding: _Sizes | str = 0,
    dilation: _Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution as torch.nn.functional.conv2d: exact sums over the taps inside the input, plus the bias, rounded once.

    Parameters
    ----------
    input : Tensor
        Of shape (batch, channels, height, width), or without the batch; in any memory format. All arguments have one format.
    weight : Tensor
        Of shape (output channels, channels/groups, kernel height, kernel width).
    bias : Tensor, optional
        Of shape (output channels,).
    stride, dilation : int or tuple of ints
    padding : int, tuple of ints, "same" or "valid"
        Adds no terms: an infinite weight does not meet a zero there.
    groups : int

    Returns
    -------
    Tensor
        Contiguous; the bits are those of `repmath.conv2d`. The gradients of input and weight are exact sums likewise, that of the bias is
        the exact sum of the gradient; each is rounded once.

    Raises
    ------
    TypeError
        A dtype is not supported, or they differ.
    RuntimeError, ValueError
        Shapes or sizes do not fit.
    """
    return _conv(2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Sizes = 1,
    padding: _Sizes | str = 0,
    dilation: _Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """`conv2d` over three spatial axes."""
    return _conv(3, input, weight, bias, stride, padding, dilation, groups)


def _conv_transpose(
    dims: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
) -> Tensor:
    x, has_batch = batched(tensor("input", input), dims)
    tensor("weight", weight)
    if isinstance(padding, str):
        raise TypeError("padding of a transposed convolution must be integers")
    sizes = [each(n, v, dims) for n, v in (("stride", stride), ("padding", padding), ("output_padding", output_padding))]
    y: Tensor = CONV_TRANSPOSE.overload(x, weight, bias, *sizes, groups, each("dilation", dilation, dims))
    return y if has_batch else y.squeeze(0)


def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Sizes = 1,
    padding: _Sizes = 0,
    output_padding: _Sizes = 0,
    groups: int = 1,
    dilation: _Sizes = 1,
) -> Tensor:
    """`conv_transpose2d` over one spatial axis."""
    return _conv_transpose(1, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Sizes = 1,
    padding: _Sizes = 0,
    output_padding: _Sizes = 0,
    groups: int = 1,
    dilation: _Sizes = 1,
) -> Tensor:
    """Transposed convolution as torch.nn.functional.conv_transpose2d: the gradient of `conv2d` with respect to its input, plus a bias, rounded once.

    Parameters
    ----------
    input : Tensor
        Of shape (batch, channels, height, width), or without the batch.
    weight : Tensor
        Of shape (channels, output channels/groups, kernel height, kernel width).
    bias : Tensor, optional
        Of shape (output channels,).
    stride, padding, output_padding, dilation : int or tuple of ints
    groups : int

    Returns
    -------
    Tensor
        The bits are those of `repmath.conv_transpose2d`.

    Raises
    ------
    TypeError
        A dtype is not supported, or they differ.
    RuntimeError, ValueError
        Shapes or sizes do not fit.
    """
    return _conv_transpose(2, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Sizes = 1,
    padding: _Sizes = 0,
    output_padding: _Sizes = 0,
    groups: int = 1,
    dilation: _Sizes = 1,
) -> Tensor:
    """`conv_transpose2d` over three spatial axes."""
    return _conv_transpose(3, input, weight, bias, stride, padding, output_padding, groups, dilation)
