"""scaled_dot_product_attention: scores, softmax and values, with one rounding per step."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._dtypes import NAMES
from .._environment import guarded
from .._memory import asarray, calls, contiguous, copied, empty, move, on_device
from ..random import dropout
from ._arrays import Array, operand, operands, same_shape
from ._softmax import softmax, softmax_backward


def _scale(scale: float | None, width: int) -> float:
    """1/sqrt(width), correctly rounded to binary64, by default: the quotient and root of integers leave no doubt."""
    if scale is not None:
        return float(scale)
    if width == 0:
        return 1.0
    # isqrt of 4^k/width, one bit more than binary64 keeps, and a bit that says whether anything is left.
    shift = 2 * (60 + width.bit_length())
    root = math.isqrt((1 << shift) // width)
    exact = root * root * width == 1 << shift
    return math.ldexp(float((root << 1) | (not exact)), -shift // 2 - 1)


def _mask(attn_mask: Any, is_causal: bool, shape: tuple[int, ...], beside: Array) -> Array | None:
    """The mask as numbers that are added to the scores, of their shape; None without one."""
    dtype = beside.dtype
    if is_causal:
        if attn_mask is not None:
            raise ValueError("attn_mask and is_causal cannot both be given")
        allowed = np.tri(shape[-2], shape[-1], dtype=bool)
        added = np.where(allowed, np.zeros((), dtype), np.full((), -np.inf, dtype))
        return np.broadcast_to(move(added, beside), shape)
    if attn_mask is None:
        return None
    given = asarray(attn_mask)
    if given.dtype == bool:
        added = np.where(given, np.zeros((), dtype), np.full((), -np.inf, dtype))
    else:
        added = operand("attn_mask", given)
        if not np.can_cast(added.dtype, dtype, "safe"):
            raise TypeError(f"attn_mask has dtype {added.dtype}, query has {dtype}")
        added = added.astype(dtype)
    try:
        return np.broadcast_to(added, shape)
    except ValueError:
        raise ValueError(f"attn_mask of shape {given.shape} does not broadcast to the scores' shape {shape}") from None


def _product(trans_a: bool, trans_b: bool, alpha: float, a: Array, b: Array, start: Array | None = None) -> Array:
    """RN(alpha op(a) op(b) + start) of stacked matrices with equal leading axes."""
    m, n = a.shape[-1 if trans_a else -2], b.shape[-2 if trans_b else -1]
    c = empty((*a.shape[:-2], m, n), a.dtype, a) if start is None else copied(start, a.dtype)
    count = math.prod(a.shape[:-2])
    first, second = (contiguous(v).reshape(count, *v.shape[-2:]) for v in (a, b))
    calls(a).gemm(
        NAMES[a.dtype], trans_a, trans_b, alpha, first, second, 0.0 if start is None else 1.0, c.reshape(count, m, n)
    )
    return c


def _together(query: Any, key: Any, value: Any) -> list[Array]:
    arrays = operands(query=query, key=key, value=value)
    q, k, v = arrays
    if min(a.ndim for a in arrays) < 2:
        raise ValueError("query, key and value must have at least two axes, (..., length, width)")
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(f"key has width {k.shape[-1]}, query has {q.shape[-1]}; they must be equal")
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(f"value has length {v.shape[-2]}, key has {k.shape[-2]}; they must be equal")
    try:
        lead = np.broadcast_shapes(*(a.shape[:-2] for a in arrays))
    except ValueError:
        raise ValueError(f"leading axes of query {q.shape}, key {k.shape} and value {v.shape} do not broadcast") from None
    return [np.broadcast_to(a, lead + a.shape[-2:]) for a in arrays]


def _weights(q: Array, k: Array, mask: Array | None, scale: float, is_causal: bool) -> Array:
    scores = _product(False, True, scale, q, k, mask)
    p = asarray(softmax(scores, -1))
    if (
        mask is not None and not is_causal and p.size and np.isnan(p[..., 0]).any()
    ):  # is_causal leaves every row its first score
        p[np.isneginf(scores).all(axis=-1)] = 0
    return p


_ROWS, _PARTS = 64, 8  # rows of a block, at least; and at least this part of the keys
_WORTH = 1 << 22  # products that are worth the calls of a block
_LARGE = {"f16": 2.0**13, "bf16": 2.0**125, "f32": 2.0**125, "f64": 2.0**1021}  # four of these do not overflow


def _blocks(q: Array, k: Array, mask: Array | None, scale: float, others: tuple[Array, ...]) -> list[tuple[slice, int]]:
    """Blocks of rows, and how many leading keys any row of a block may see; none where a few blocks are no gain or might have other bits.

    The mask is minus infinity at all other keys. Of finite numbers their scores are so too, their weights are +0, and what these are
    multiplied by is finite: sums without them have the same exact values, and an exact sum of 0 is +0 in any case."""
    length, keys = q.shape[-2], k.shape[-2]
    step = max(_ROWS, -(-keys // _PARTS), -(-_WORTH * length // max(q.size * keys, 1)))
    if mask is None or on_device(q) or length < 2 * step:
        return []
    once = mask[tuple(slice(None) if s else slice(0, 1) for s in mask.strides)]  # without repetitions
    seen = np.broadcast_to((once != -np.inf).any(axis=tuple(range(mask.ndim - 2))), (length, keys))
    blocks: list[tuple[slice, int]] = []
    for begin in range(0, length, step):
        end = min(begin + step, length)
        at = np.flatnonzero(seen[begin:end].any(axis=0))
        reach = int(at[-1]) + 1 if at.size else 1
        first = blocks.pop()[0].start if blocks and blocks[-1][1] == reach else begin
        blocks.append((slice(first, end), reach))
    part = sum((rows.stop - rows.start) * reach for rows, reach in blocks)
    if part > 0.9 * length * keys or not math.isfinite(scale):
        return []
    return blocks if all(np.isfinite(a).all() for a in (q, k, *others)) else []


def _dropped(a: Array, p: float, place: tuple[int | None, int, int]) -> Array:
    """Applies `repmath.random.dropout` to weights or to their gradient."""
    if not 0 <= p <= 1:
        raise ValueError(f"dropout_p must be from 0 to 1, not {p}")
    if p == 0:
        return a
    seed, stream, offset = place
    if seed is None:
        raise ValueError("seed must be given where dropout_p is not 0")
    return asarray(dropout(a, p, seed, stream=stream, offset=offset))


@guarded
def scaled_dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    attn_mask: ArrayLike | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    *,
    seed: int | None = None,
    stream: int = 0,
    offset: int = 0,
) -> Array:
    """Attention, the composition it is written as: ``S = RN(scale * Q K^T + mask)``, ``P = softmax(S)``, ``RN(P V)``.

    With `dropout_p`, P is ``repmath.random.dropout(P, dropout_p, seed, stream=stream, offset=offset)`` before the last product.

    Parameters
    ----------
    query : array_like
        Of shape (..., L, E).
    key : array_like
        Of shape (..., S, E).
    value : array_like
        Of shape (..., S, D). Leading axes broadcast.
    attn_mask : array_like, optional
        Broadcasts to (..., L, S): added to the scores; or of bool, where False
        adds minus infinity.
    dropout_p : float
        The probability that a weight becomes 0, from 0 to 1, taken exactly.
    is_causal : bool
        Mask what lies above the diagonal.
    scale : float, optional
        Taken exactly; by default 1/sqrt(E), rounded to float64.
    seed, stream, offset : int, optional
        As for `repmath.random.dropout`; `seed` is needed, and they are read, only where
        `dropout_p` is not 0.

    Returns
    -------
    ndarray
        Of shape (..., L, D). A row whose scores are all minus infinity has
        weights of 0, so its result is 0.

    Raises
    ------
    TypeError
        A dtype is not supported.
    ValueError
        A shape or an option does not fit; `dropout_p` is not from 0 to 1, or it is not 0 and `seed` is not given.
    """
    q, k, v = _together(query, key, value)
    mask = _mask(attn_mask, is_causal, (*q.shape[:-1], k.shape[-2]), q)
    factor = _scale(scale, q.shape[-1])
    blocks = _blocks(q, k, mask, factor, (v,)) if dropout_p == 0 else []
    if mask is not None and blocks:
        out = empty((*q.shape[:-1], v.shape[-1]), q.dtype, q)
        for rows, reach in blocks:
            p = _weights(q[..., rows, :], k[..., :reach, :], mask[..., rows, :reach], factor, is_causal)
            out[..., rows, :] = _product(False, False, 1.0, p, v[..., :reach, :])
        return out
    p = _weights(q, k, mask, factor, is_causal)
    return _product(False, False, 1.0, _dropped(p, dropout_p, (seed, stream, offset)), v)


def _is_small(g: Array, v: Array) -> bool:
    """Whether no gradient of a weight overflows, of one that is 0 neither."""
    g_max, v_max = (float(np.abs(a).max(initial=0)) for a in (g, v))
    return bool(v.shape[-1] * g_max * v_max < _LARGE[NAMES[v.dtype]])


def _backward_in_blocks(
    g: Array, q: Array, k: Array, v: Array, mask: Array, factor: float, is_causal: bool, blocks: list[tuple[slice, int]]
) -> tuple[Array, Array, Array] | None:
    """The gradients; None where a weight is NaN, which all keys then meet."""
    weights, slopes = [], []
    dq, dk, dv = empty(q.shape, q.dtype, q), np.zeros(k.shape, q.dtype), np.zeros(v.shape, q.dtype)
    for rows, reach in blocks:
        p = _weights(q[..., rows, :], k[..., :reach, :], mask[..., rows, :reach], factor, is_causal)
        if np.isnan(p[..., 0]).any():
            return None
        ds = softmax_backward(_product(False, True, 1.0, g[..., rows, :], v[..., :reach, :]), p, -1)
        dq[..., rows, :] = _product(False, False, factor, ds, k[..., :reach, :])
        weights.append(p)
        slopes.append(ds)
    begin = 0
    for end in sorted({reach for _, reach in blocks}):  # keys that the same blocks may see
        see = [i for i, (_, reach) in enumerate(blocks) if reach >= end]
        p, ds, h, a = (
            np.concatenate([of[i] for i in see], axis=-2)
            for of in (
                [p[..., begin:end] for p in weights],
                [s[..., begin:end] for s in slopes],
                [g[..., rows, :] for rows, _ in blocks],
                [q[..., rows, :] for rows, _ in blocks],
            )
        )
        dv[..., begin:end, :] = _product(True, False, 1.0, p, h)
        dk[..., begin:end, :] = _product(True, False, factor, ds, a)
        begin = end
    return dq, dk, dv


@guarded
def scaled_dot_product_attention_backward(
    grad_output: ArrayLike,
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    attn_mask: ArrayLike | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    *,
    dropout_p: float = 0.0,
    seed: int | None = None,
    stream: int = 0,
    offset: int = 0,
) -> tuple[Array, Array, Array]:
    """Gradients of `scaled_dot_product_attention` with respect to query, key and value, with one rounding per step.

    With P as there: ``dV = RN(P^T G)``, ``dP = RN(G V^T)``, ``dS`` by
    `softmax_backward`, ``dQ = RN(scale * dS K)``, ``dK = RN(scale * dS^T Q)``. Leading
    axes of query, key and value must be equal. With `dropout_p`, `seed`, `stream` and `offset`
    those of the forward call, P of dV and dP are dropped as P was there.
    """
    q, k, v = _together(query, key, value)
    for name, given, a in (("query", query, q), ("key", key, k), ("value", value, v)):
        if np.shape(given) != a.shape:
            raise ValueError(f"{name} has shape {np.shape(given)}; leading axes must be {a.shape[:-2]} for gradients")
    g = operand("grad_output", grad_output)
    same_shape(output=np.empty((*q.shape[:-1], v.shape[-1]), q.dtype), grad_output=g)
    if not np.can_cast(g.dtype, q.dtype, "safe"):
        raise TypeError(f"grad_output has dtype {g.dtype}, query has {q.dtype}")
    g = g.astype(q.dtype)
    factor = _scale(scale, q.shape[-1])
    mask = _mask(attn_mask, is_causal, (*q.shape[:-1], k.shape[-2]), q)
    blocks = _blocks(q, k, mask, factor, (v, g)) if dropout_p == 0 else []
    if mask is not None and blocks and _is_small(g, v):
        found = _backward_in_blocks(g, q, k, v, mask, factor, is_causal, blocks)
        if found is not None:
            return found
    p = _weights(q, k, mask, factor, is_causal)
    place = (seed, stream, offset)
    ds = softmax_backward(_dropped(_product(False, True, 1.0, g, v), dropout_p, place), p, -1)
    dv = _product(True, False, 1.0, _dropped(p, dropout_p, place), g)
    return _product(False, False, factor, ds, k), _product(True, False, factor, ds, q), dv
