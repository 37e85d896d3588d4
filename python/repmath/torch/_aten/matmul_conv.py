"""Matrix products, convolutions and bilinear forms: exact sums of products, rounded once."""

import itertools
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import torch

from ... import _convolution, _core, _reductions
from ..._contractions import einsum
from ..._dtypes import NAMES
from ..._narrow import narrow
from .._stepwise import HERE
from .._tensors import FORMATS, as_array, as_tensor
from .common import Array, Uncovered, apply, convert_array, integers, kernel, widened

_Number: TypeAlias = float | int


def _product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return as_tensor(_reductions.matmul(as_array(a), as_array(b)))


for _name in ("mm", "bmm", "mv", "dot"):

    def _call(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return _product(a, b)

    _call.__name__ = _name
    integers(kernel(_call))


def _general(c: torch.Tensor, a: torch.Tensor, b: torch.Tensor, beta: _Number, alpha: _Number) -> torch.Tensor:
    """RN(alpha a b + beta c) for a stack of matrices."""
    if a.dtype not in FORMATS:
        raise Uncovered(f"tensors of {a.dtype}")
    if not c.dtype is a.dtype is b.dtype:
        raise ValueError("tensors of several formats")
    x, y = (np.ascontiguousarray(as_array(t)) for t in (a, b))
    shape = (x.shape[0], x.shape[1], y.shape[2])
    start: Array = np.empty(shape, x.dtype)
    start[...] = as_array(c)
    _core.gemm(NAMES[x.dtype], False, False, float(alpha), x, y, float(beta), start)
    return as_tensor(start)


@integers
@kernel
def addmm(c: torch.Tensor, a: torch.Tensor, b: torch.Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> torch.Tensor:
    if beta == 1 and alpha == 1 and (c.ndim == 1 or (c.ndim == 2 and c.shape[0] == 1)) and c.shape[-1] == b.shape[1]:
        return as_tensor(_reductions.matmul(as_array(a), as_array(b), bias=as_array(c.reshape(-1))))
    return _general(c, a[None], b[None], beta, alpha)[0]


@integers
@kernel
def baddbmm(c: torch.Tensor, a: torch.Tensor, b: torch.Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> torch.Tensor:
    return _general(c, a, b, beta, alpha)


@kernel
def grouped_mm(
    a: torch.Tensor,
    b: torch.Tensor,
    offs: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
) -> torch.Tensor:
    """A product for each group. Of a matrix beside a stack the groups are rows, or columns, up to the next offset; of two matrices they are
    parts of the sum. Rows and columns behind the last offset, which PyTorch leaves as they are in memory, are 0."""
    if (
        a.dtype not in (torch.float32, torch.bfloat16, torch.float16)
        or b.dtype is not a.dtype
        or out_dtype not in (None, a.dtype)
    ):
        raise ValueError("tensors of several formats, or of one that PyTorch does not take")
    if bias is not None or a.ndim not in (2, 3) or b.ndim not in (2, 3) or (offs is None) != (a.ndim == b.ndim == 3):
        raise ValueError("a bias, or matrices and offsets that do not fit")
    if a.shape[-1] != b.shape[-2] or (a.ndim == b.ndim == 3 and a.shape[0] != b.shape[0]):
        raise ValueError("shapes that do not fit")
    if offs is None:
        return _product(a, b)
    if offs.dtype is not torch.int32 or offs.ndim != 1 or any(t.ndim == 3 and t.shape[0] != offs.numel() for t in (a, b)):
        raise ValueError("offsets that are not int32, or not one for each group")
    ends = [0, *offs.tolist()]
    total = a.shape[0] if b.ndim == 3 else b.shape[1] if a.ndim == 3 else a.shape[1]
    if ends != sorted(ends) or ends[-1] > total:
        raise Uncovered("offsets that are not in order, or beyond the matrix")
    x, y = as_array(a), as_array(b)
    shape = (a.shape[-2], b.shape[-1]) if a.ndim + b.ndim == 5 else (len(ends) - 1, a.shape[0], b.shape[1])
    made: Array = np.zeros(shape, x.dtype)
    for g, (i, j) in enumerate(itertools.pairwise(ends)):
        if b.ndim == 3:
            made[i:j] = _reductions.matmul(x[i:j], y[g])
        elif a.ndim == 3:
            made[:, i:j] = _reductions.matmul(x[g], y[:, i:j])
        else:
            made[g] = _reductions.matmul(x[:, i:j], y[i:j])
    return as_tensor(made)


@integers
@kernel
def addmv(c: torch.Tensor, a: torch.Tensor, v: torch.Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> torch.Tensor:
    return _general(c.expand(a.shape[0])[None, :, None], a[None], v[None, :, None], beta, alpha)[0, :, 0]


@integers
@kernel
def addr(c: torch.Tensor, v: torch.Tensor, w: torch.Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> torch.Tensor:
    if alpha == 0:  # of what is not finite NaN, unlike in a product of matrices
        v, alpha = v * 0, 1
    return _general(c.expand(v.shape[0], w.shape[0])[None], v[None, :, None], w[None, None, :], beta, alpha)[0]


@integers
@kernel
def addbmm(c: torch.Tensor, a: torch.Tensor, b: torch.Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> torch.Tensor:
    """One sum over the pairs of matrices."""
    if a.ndim != 3 or b.ndim != 3 or a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise ValueError("stacks of matrices that do not fit")
    rows = a.transpose(0, 1).reshape(a.shape[1], a.shape[0] * a.shape[2])
    return _general(c, rows[None], b.reshape(-1, b.shape[2])[None], beta, alpha)[0]


@integers
@kernel
def linalg_cross(x: torch.Tensor, y: torch.Tensor, *, dim: int = -1) -> torch.Tensor:
    if x.ndim != y.ndim or x.shape[dim] != 3 or y.shape[dim] != 3:
        raise ValueError("vectors that have not three elements")
    x, y = torch.broadcast_tensors(x, y)
    if x.dtype is y.dtype and x.dtype in FORMATS and x.dtype is not torch.float64:
        return _cross_exactly(x, y, dim)
    rows = torch.stack((x.roll(-1, dim), x.roll(-2, dim).neg()), -1).unsqueeze(-2)
    columns = torch.stack((y.roll(-2, dim), y.roll(-1, dim)), -1).unsqueeze(-1)
    return _product(rows, columns).view(x.shape)


def _cross_exactly(x: torch.Tensor, y: torch.Tensor, dim: int) -> torch.Tensor:
    """In binary64, which holds the products of two numbers of a narrower format: only their difference is rounded, and then narrowed."""
    a, b = as_array(widened(x)), as_array(widened(y))
    with np.errstate(all="ignore"):
        p, q = (np.roll(a, -i, dim) * np.roll(b, i - 3, dim) for i in (1, 2))
        made = p - q + 0.0  # a difference of zeros is +0

    def sign_of_rest(at: tuple[Array, ...]) -> Array:
        """Of the error of p - q, by a two-sum."""
        high, low, s = np.atleast_1d(p)[at], -np.atleast_1d(q)[at], np.atleast_1d(made)[at]
        part = s - high
        rest: Array = np.sign((high - (s - part)) + (low - part))
        return rest

    narrowed = np.asarray(narrow(made, FORMATS[x.dtype], sign_of_rest))
    return as_tensor(convert_array(narrowed, narrowed.dtype))


@integers
@kernel
def linear(x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    if any(t is not None and t.dtype is not x.dtype for t in (w, bias)):
        raise ValueError("tensors of several formats")
    wide = as_array(w.t() if w.ndim == 2 else w)
    return as_tensor(_reductions.matmul(as_array(x), wide, bias=None if bias is None else as_array(bias)))


_CONV = (None, _convolution.conv1d, _convolution.conv2d, _convolution.conv3d)
_TRANSPOSED = (None, _convolution.conv_transpose1d, _convolution.conv_transpose2d, _convolution.conv_transpose3d)
_GRAD_INPUT = (None, _convolution.conv1d_grad_input, _convolution.conv2d_grad_input, _convolution.conv3d_grad_input)
_GRAD_WEIGHT = (None, _convolution.conv1d_grad_weight, _convolution.conv2d_grad_weight, _convolution.conv3d_grad_weight)


def _options(stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], groups: int) -> dict[str, Any]:
    return {"stride": tuple(stride), "padding": tuple(padding), "dilation": tuple(dilation), "groups": groups}


@kernel
def convolution(
    x: torch.Tensor,
    w: torch.Tensor,
    bias: torch.Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> torch.Tensor:
    dims = w.ndim - 2
    given = None if bias is None else as_array(bias)
    options = _options(stride, padding, dilation, groups)
    if transposed:
        options["output_padding"] = tuple(output_padding)
    call: Any = (_TRANSPOSED if transposed else _CONV)[dims]
    return _laid_out_as(x, as_tensor(call(as_array(x), as_array(w), given, **options)))


def _laid_out_as(x: torch.Tensor, made: torch.Tensor) -> torch.Tensor:
    """The same with its channels last in memory, if those of x are."""
    last = x.ndim == 4 and not x.is_contiguous() and x.is_contiguous(memory_format=torch.channels_last)
    return made.contiguous(memory_format=torch.channels_last) if last else made


def _read(g: Array, inner: Sequence[int], kernel_size: Sequence[int], options: dict[str, Any]) -> Array:
    """What a transposed convolution's gradient g gives to an input of these sizes: an output_padding of a stride or more is beyond it."""
    sizes = [v * len(inner) if len(v) == 1 else v for v in (options["stride"], options["padding"], options["dilation"])]
    steps = list(zip(inner, kernel_size, *sizes, strict=True))
    read = [(n - 1) * s + (k - 1) * d + 1 for n, k, s, p, d in steps]
    if all((size + 2 * p - length) // s == 0 for size, length, (_, _, s, p, _) in zip(g.shape[2:], read, steps, strict=True)):
        return g
    wide = np.pad(
        g,
        (
            (0, 0),
            (0, 0),
            *((p, max(p, length - size - p)) for size, length, (_, _, _, p, _) in zip(g.shape[2:], read, steps, strict=True)),
        ),
    )
    options["padding"] = (0,) * len(steps)
    return np.ascontiguousarray(wide[(slice(None), slice(None), *map(slice, read))])


@kernel
def convolution_backward(
    g: torch.Tensor,
    x: torch.Tensor,
    w: torch.Tensor,
    bias_sizes: Sequence[int] | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[torch.Tensor | None, torch.Tensor | None, torch.Tensor | None]:
    dims = w.ndim - 2
    gradient, source, kernel_ = as_array(g), as_array(x), as_array(w)
    options = _options(stride, padding, dilation, groups)
    of_x = of_w = of_bias = None
    if transposed:
        gradient = _read(gradient, x.shape[2:], w.shape[2:], options)
    call: Any
    if output_mask[0]:
        if transposed:
            call = _CONV[dims]
            made = call(gradient, kernel_, None, **options)
        else:
            call = _GRAD_INPUT[dims]
            made = call(tuple(x.shape), kernel_, gradient, **options)
        of_x = _laid_out_as(x, as_tensor(made))
    if output_mask[1]:
        call = _GRAD_WEIGHT[dims]
        first, second = (gradient, source) if transposed else (source, gradient)
        of_w = as_tensor(call(first, tuple(w.shape), second, **options))
    if output_mask[2]:
        of_bias = as_tensor(_reductions.sum(as_array(g), axis=(0, *range(2, dims + 2))))
    return of_x, of_w, of_bias


@kernel
def trilinear(
    i1: torch.Tensor,
    i2: torch.Tensor,
    i3: torch.Tensor,
    expand1: Sequence[int],
    expand2: Sequence[int],
    expand3: Sequence[int],
    sumdim: Sequence[int],
    unroll_dim: int = 1,
) -> torch.Tensor:
    """The product of the first two is exact in binary64, but of numbers of that format."""
    if not i1.dtype is i2.dtype is i3.dtype:
        raise ValueError("tensors of several formats")
    rank = i1.ndim + len(expand1)
    placed = []
    for t, added in ((i1, expand1), (i2, expand2), (i3, expand3)):
        for d in sorted(d % rank for d in added):
            t = t.unsqueeze(d)
        placed.append(widened(t))
    pair = apply("multiply", placed[0], placed[1])
    shape = torch.broadcast_shapes(pair.shape, placed[2].shape)
    summed = {d % rank for d in sumdim}
    operands: list[Any] = []
    for t in (pair, placed[2]):
        labels = [d for d in range(rank) if t.shape[d] != 1 or shape[d] == 1]
        operands += [as_array(t.reshape([t.shape[d] for d in labels])), labels]
    kept = [d for d in range(rank) if d not in summed]
    if HERE.steps is not None:
        return as_tensor(HERE.steps.contracted(as_array(pair), as_array(placed[2]), sorted(summed), FORMATS[i1.dtype]))
    made = einsum(*operands, kept, dtype=FORMATS[i1.dtype])
    return as_tensor(np.ascontiguousarray(made))
