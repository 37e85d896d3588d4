"""Attention, dropout and embedding, under the names of torch.nn.functional."""

import torch

from ...random import Stream
from .._ops.dropout import DROPOUT
from .._ops.reductions import broadcast
from .._ops.selections import EMBEDDING
from .._ops.softmax import ATTENTION
from .._random import place
from ._arguments import Tensor, tensor


def dropout(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False, *, generator: Stream | None = None
) -> Tensor:
    """Elements set to zero with probability p, the others ``RN(x / (1 - p))``; see `repmath.random.dropout`.

    Parameters
    ----------
    input : Tensor
    p : float
        From 0 to 1, taken exactly.
    training : bool
        Otherwise `input` is returned.
    inplace : bool
    generator : repmath.random.Stream, optional
        Where the numbers are drawn from, two draws of 64 bits a block; by default what `manual_seed` began.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        `p` is not from 0 to 1.
    TypeError
        The dtype is not supported.
    """
    tensor("input", input)
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    y: Tensor = DROPOUT(input, float(p), *place(input.numel(), generator))
    return input.copy_(y) if inplace else y


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of a table; its gradient is, for each row, the exact sum of the gradients there, rounded once.

    Arguments and errors are those of torch.nn.functional.embedding. ValueError for `max_norm`, `scale_grad_by_freq` and `sparse`, which
    are not supported; IndexError where `input` is out of range.
    """
    for name, value in (("max_norm", max_norm is not None), ("scale_grad_by_freq", scale_grad_by_freq), ("sparse", sparse)):
        if value:
            raise ValueError(f"{name} is not supported; see docs/torch.md#which-functions-are-there")
    rows = tensor("weight", weight).shape[0]
    if weight.ndim != 2:
        raise RuntimeError(f"'weight' must be 2-D, not of shape {tuple(weight.shape)}")
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise ValueError(f"padding_idx must be within num_embeddings, {rows}, not {padding_idx}")
    row = -1 if padding_idx is None else padding_idx % rows
    return EMBEDDING(tensor("input", input), weight, row)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    generator: Stream | None = None,
) -> Tensor:
    """Attention, as it is written: ``S = RN(scale Q K^T + mask)``, ``P = softmax(S)``, ``RN(P V)``; see `repmath.nn`.

    Parameters
    ----------
    query, key, value : Tensor
        Of shapes (..., L, E), (..., S, E), (..., S, D), of one format; leading axes broadcast.
    attn_mask : Tensor, optional
        Added to the scores, or of bool; without a gradient.
    dropout_p : float
        P is dropped out with this probability.
    is_causal : bool
    scale : float, optional
        1/sqrt(E) by default.
    enable_gqa : bool
        Heads of key and value, at axis -3, are shared by as many heads of the query.
    generator : repmath.random.Stream, optional
        As for `dropout`.

    Returns
    -------
    Tensor
        Of shape (..., L, D). Gradients take the same steps backwards, each rounded once; they have no derivatives.

    Raises
    ------
    TypeError
        A dtype is not supported, or they differ.
    RuntimeError, ValueError
        A shape or an option does not fit.
    """
    q, k, v = tensor("query", query), tensor("key", key), tensor("value", value)
    if min(q.ndim, k.ndim, v.ndim) < 2:
        raise RuntimeError("query, key and value must have at least two axes, (..., length, width)")
    if q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
        raise RuntimeError(
            f"query, key and value of shapes {tuple(q.shape)}, {tuple(k.shape)} and {tuple(v.shape)} do not fit"
        )
    if is_causal and attn_mask is not None:
        raise RuntimeError("attn_mask and is_causal cannot both be given")
    if enable_gqa and q.shape[-3] != k.shape[-3]:
        if q.shape[-3] % k.shape[-3] or k.shape[-3] != v.shape[-3]:
            raise RuntimeError(f"enable_gqa: key has {k.shape[-3]} heads, value {v.shape[-3]}, query {q.shape[-3]}")
        each = q.shape[-3] // k.shape[-3]
        k, v = (broadcast(t.unsqueeze(-3), (*t.shape[:-2], each, *t.shape[-2:])).flatten(-4, -3) for t in (k, v))
    lead = torch.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    q, k, v = (broadcast(t, (*lead, *t.shape[-2:])) for t in (q, k, v))
    weights = q.shape[:-1].numel() * k.shape[-2] if dropout_p else 0
    where = place(weights, generator) if dropout_p else (0, 0, 0)
    return ATTENTION(q, k, v, attn_mask, is_causal, scale, float(dropout_p), *where)
