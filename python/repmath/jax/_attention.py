"""scaled_dot_product_attention: scores, softmax and values, with one rounding per step, as in `repmath.nn`."""

from typing import Any

import jax.numpy as jnp
from jax.interpreters import ad

from ..nn._attention import _scale
from ._primitive import bind, by_handler, define, expand, is_linear, is_zero
from ._products import product
from ._rows import add_all, softmax
from ._types import together
from .random import dropout


def scaled(a: Any, b: Any, start: Any = None, *, trans_a: bool = False, trans_b: bool = False, alpha: float = 1.0) -> Any:
    """RN(alpha op(a) op(b) + start) of stacks of matrices."""
    operands = (a, b) if start is None else (a, b, start)
    return bind(scaled_p, *operands, trans_a=trans_a, trans_b=trans_b, alpha=alpha)


def _jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    c = bind(scaled_p, *primals, **params)
    (a, b), (ta, tb) = primals[:2], tangents[:2]
    parts = [] if is_zero(ta) else [scaled(ta, b, **params)]
    if not is_zero(tb):
        parts.append(scaled(a, tb, **params))
    parts.extend(t for t in tangents[2:] if not is_zero(t))
    return c, add_all(parts, c)


def _transpose(ct: Any, a: Any, b: Any, *, trans_a: bool, trans_b: bool, alpha: float) -> Any:
    """As that of a product, with the factor."""
    if is_zero(ct):
        return [ad.Zero(x.aval) if is_linear(x) else None for x in (a, b)]
    if is_linear(a):
        if trans_a:
            return [scaled(b, ct, trans_a=trans_b, trans_b=True, alpha=alpha), None]
        return [scaled(ct, b, trans_b=not trans_b, alpha=alpha), None]
    if trans_b:
        return [None, scaled(ct, a, trans_a=True, trans_b=trans_a, alpha=alpha)]
    return [None, scaled(a, ct, trans_a=not trans_a, alpha=alpha)]


def _shape(a: Any, b: Any, start: Any = None, *, trans_a: bool, trans_b: bool, alpha: float) -> Any:
    return (*a.shape[:-2], a.shape[-1 if trans_a else -2], b.shape[-2 if trans_b else -1]), a.dtype


scaled_p: Any = define("scaled_matmul", _shape, by_handler("scaled_matmul"), jvp=_jvp, transpose=_transpose)


def _mask(attn_mask: Any, is_causal: bool, shape: tuple[int, ...], dtype: Any) -> Any:
    """The mask as numbers that are added to the scores, of their shape; None without one."""
    if is_causal:
        if attn_mask is not None:
            raise ValueError("attn_mask and is_causal cannot both be given")
        attn_mask = jnp.tri(shape[-2], shape[-1], dtype=bool)
    if attn_mask is None:
        return None
    given = jnp.asarray(attn_mask)
    if given.dtype == bool:
        given = jnp.where(given, jnp.zeros((), dtype), jnp.full((), -jnp.inf, dtype))
    try:
        fits = jnp.broadcast_shapes(given.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"attn_mask of shape {given.shape} does not broadcast to the scores' shape {shape}")
    if jnp.promote_types(given.dtype, dtype) != dtype:
        raise TypeError(f"attn_mask has dtype {given.dtype}, query has {dtype}")
    return expand(given.astype(dtype), shape)


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    *,
    seed: Any = None,
    stream: Any = 0,
    offset: Any = 0,
) -> Any:
    """S = RN(scale Q K^T + mask), P = softmax(S), RN(P V), as `repmath.nn.scaled_dot_product_attention`, whose arguments it has.

    Gradients are those of its backward function, each step rounded once.
    """
    q, k, v = together(query=query, key=key, value=value)
    if min(q.ndim, k.ndim, v.ndim) < 2:
        raise ValueError("query, key and value must have at least two axes, (..., length, width)")
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(f"key has width {k.shape[-1]}, query has {q.shape[-1]}; they must be equal")
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(f"value has length {v.shape[-2]}, key has {k.shape[-2]}; they must be equal")
    lead = jnp.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    q, k, v = (expand(a, (*lead, *a.shape[-2:])) for a in (q, k, v))
    mask = _mask(attn_mask, is_causal, (*lead, q.shape[-2], k.shape[-2]), q.dtype)
    scores = scaled(q, k, mask, trans_b=True, alpha=_scale(scale, q.shape[-1]))
    if mask is None:
        weights = softmax(scores)
    else:  # a row whose scores are all -inf has weights 0
        nothing = jnp.all(scores == -jnp.inf, axis=-1, keepdims=True)
        zero = jnp.zeros((), scores.dtype)
        weights = jnp.where(nothing, zero, softmax(jnp.where(nothing, zero, scores)))
    if dropout_p:
        if seed is None:
            raise ValueError("seed must be given where dropout_p is not 0")
        weights = dropout(weights, dropout_p, seed, stream=stream, offset=offset)
    return product(weights, v)
