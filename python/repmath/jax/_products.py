"""matmul and dot_general: every element is the exact sum of its products, rounded once."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.interpreters import ad

from ._primitive import bind, by_handler, define, expand, is_linear, is_zero, size_of, stacked
from ._rows import add_all
from ._types import together


def _shapes(a: Any, b: Any, bias: Any = None, *, trans_a: bool, trans_b: bool, wide: bool) -> Any:
    m, n = a.shape[-1 if trans_a else -2], b.shape[-2 if trans_b else -1]
    return (*a.shape[:-2], m, n), np.dtype(np.float32) if wide else a.dtype


def product(a: Any, b: Any, bias: Any = None, trans_a: bool = False, trans_b: bool = False, wide: bool = False) -> Any:
    """RN(op(a) op(b) + bias) of stacks (..., m, k), (..., k, n) and (..., n); wide: float32 from 16-bit operands."""
    operands = (a, b) if bias is None else (a, b, bias)
    return bind(product_p, *operands, trans_a=trans_a, trans_b=trans_b, wide=wide)


def _jvp(primals: Any, tangents: Any, *, trans_a: bool, trans_b: bool, wide: bool) -> Any:
    c = bind(product_p, *primals, trans_a=trans_a, trans_b=trans_b, wide=wide)
    (a, b), (ta, tb) = primals[:2], tangents[:2]
    parts = [] if is_zero(ta) else [product(ta, b, None, trans_a, trans_b, wide)]
    if not is_zero(tb):
        parts.append(product(a, tb, None, trans_a, trans_b, wide))
    if len(tangents) > 2 and not is_zero(tangents[2]):
        parts.append(expand(tangents[2][..., None, :].astype(c.dtype), c.shape))
    return c, add_all(parts, c)


def _transpose(ct: Any, a: Any, b: Any, *, trans_a: bool, trans_b: bool, wide: bool) -> Any:
    """C = A B: dA = G B', dB = A' G, written so that nothing has to be transposed in memory."""
    if is_zero(ct):
        return [ad.Zero(x.aval) if is_linear(x) else None for x in (a, b)]
    if is_linear(a):
        other, dtype = b, a.aval.dtype
    else:
        other, dtype = a, b.aval.dtype
    if wide:  # the products of 16-bit numbers with float32 ones are sums in float32, then rounded to 16 bits
        other = other.astype(ct.dtype)
    if is_linear(a):
        d = product(other, ct, None, trans_b, True) if trans_a else product(ct, other, None, False, not trans_b)
        return [d.astype(dtype), None]
    d = product(ct, other, None, True, trans_a) if trans_b else product(other, ct, None, not trans_a, False)
    return [None, d.astype(dtype)]


def _batch(args: Any, axes: Any, **params: Any) -> Any:
    a, *others = args
    # One b for all: the stack of a is more rows, without a copy of b.
    if axes[0] is not None and all(d is None for d in axes[1:]) and a.ndim == 3 and not params["trans_a"]:
        rows = jnp.moveaxis(a, axes[0], 0)
        c = bind(product_p, rows.reshape(-1, rows.shape[-1]), *others, **params)
        return c.reshape(*rows.shape[:2], c.shape[-1]), 0
    # One a for all, and no bias: the stack of b is more columns.
    if axes[0] is None and len(args) == 2 and args[1].ndim == 3 and not params["trans_b"]:
        columns = jnp.moveaxis(args[1], axes[1], 1)
        c = bind(product_p, a, columns.reshape(columns.shape[0], -1), **params)
        return c.reshape(c.shape[0], *columns.shape[1:]), 1
    return stacked(product_p, False)(args, axes, **params)


def _axes(count: int, trans_a: bool, trans_b: bool, wide: bool) -> Any:
    return ["km" if trans_a else "mk", "nk" if trans_b else "kn", "n"][:count], ["mn"]


product_p: Any = define(
    "matmul",
    _shapes,
    by_handler("matmul", lambda trans_a, trans_b, wide: {"trans_a": trans_a, "trans_b": trans_b}),
    jvp=_jvp,
    transpose=_transpose,
    batch=_batch,
    axes=_axes,
)


def _wide(preferred_element_type: Any, dtype: Any) -> bool:
    """Whether the result is float32 of 16-bit operands."""
    if preferred_element_type is None or np.dtype(preferred_element_type) == dtype:
        return False
    if np.dtype(preferred_element_type) == np.float32 and np.dtype(dtype).itemsize == 2:
        return True
    raise TypeError(f"preferred_element_type must be {dtype}, or float32 for 16-bit operands, not {preferred_element_type}")


def matmul(a: Any, b: Any, *, bias: Any = None, preferred_element_type: Any = None) -> Any:
    """Matrix product with the shapes of jax.numpy.matmul: exact sums, rounded once, as `repmath.matmul`.

    Parameters
    ----------
    a, b : array_like
        Of shapes (..., n, k) and (..., k, m), or (k,) for either; leading axes broadcast.
    bias : array_like, optional
        Of shape (m,), or (..., m): one more exact term of each element.
    preferred_element_type : dtype, optional
        float32, for the result of 16-bit operands.

    Returns
    -------
    jax.Array
        ``RN(sum over k of a[i,k] b[k,j] + bias[j])``. Gradients are exact sums, rounded once.

    Raises
    ------
    TypeError
        A dtype is not supported.
    ValueError
        Shapes do not match.
    """
    x, y, c = together(a=a, b=b, bias=bias)
    if x.ndim == 0 or y.ndim == 0:
        raise ValueError(f"matmul: {'a' if x.ndim == 0 else 'b'} is a scalar; it must have at least one axis")
    wide = _wide(preferred_element_type, x.dtype)
    first, second = x.ndim == 1, y.ndim == 1
    x, y = x[None, :] if first else x, y[:, None] if second else y
    if x.shape[-1] != y.shape[-2]:
        raise ValueError(
            f"matmul: the last axis of a has {x.shape[-1]} elements but b has {y.shape[-2]} to multiply them with "
            f"(shapes {jnp.shape(a)} and {jnp.shape(b)})"
        )
    if c is not None:
        if second or not c.ndim or c.shape[-1] != y.shape[-1]:
            raise ValueError(f"matmul: bias has shape {jnp.shape(bias)}; its last axis must have {y.shape[-1]} elements")
    try:
        lead = jnp.broadcast_shapes(x.shape[:-2], y.shape[:-2], () if c is None else c.shape[:-1])
    except ValueError:
        raise ValueError(f"matmul: the leading axes of {x.shape}, {y.shape} and of the bias do not broadcast") from None
    if y.ndim == 2 and (c is None or c.ndim == 1) and x.ndim > 2:  # one b for all: the stack of a is more rows
        z = product(x.reshape(-1, x.shape[-1]), y, c, wide=wide).reshape(*x.shape[:-1], y.shape[-1])
    else:
        z = product(
            expand(x, (*lead, *x.shape[-2:])),
            expand(y, (*lead, *y.shape[-2:])),
            None if c is None else expand(c, (*lead, c.shape[-1])),
            wide=wide,
        )
    z = z[..., 0, :] if first else z
    return z[..., 0] if second else z


def dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """jax.lax.dot_general: batch and contracting axes are named; every element an exact sum, rounded once.

    Parameters
    ----------
    lhs, rhs : array_like
        In one dtype after jax.numpy's promotion.
    dimension_numbers : pair of pairs of sequences of ints
        ``((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))``.
    precision : optional
        Whatever `jax.lax.dot_general` takes: every product here is exact.
    preferred_element_type : dtype, optional
        float32, for the result of 16-bit operands.
    out_sharding : None
        No other one.

    Returns
    -------
    jax.Array
        Its axes: batch, the others of lhs, the others of rhs.

    Raises
    ------
    TypeError
        Axes that do not fit, as jax.lax says it, or an `out_sharding`.
    """
    if out_sharding is not None:
        raise TypeError("out_sharding must be None: the result lies where XLA puts it")
    x, y = together(lhs=lhs, rhs=rhs)
    # What jax.lax says of these numbers: the shape of the result, or its error.
    shape = jax.eval_shape(lambda p, q: jax.lax.dot_general(p, q, dimension_numbers, precision), x, y).shape
    (cx, cy), (bx, by) = (tuple(tuple(int(i) for i in side) for side in pair) for pair in dimension_numbers)
    fx = [i for i in range(x.ndim) if i not in cx + bx]
    fy = [i for i in range(y.ndim) if i not in cy + by]
    stack, k = size_of([x.shape[i] for i in bx]), size_of([x.shape[i] for i in cx])
    left = jnp.transpose(x, (*bx, *fx, *cx)).reshape(stack, size_of([x.shape[i] for i in fx]), k)
    right = jnp.transpose(y, (*by, *cy, *fy)).reshape(stack, k, size_of([y.shape[i] for i in fy]))
    return product(left, right, wide=_wide(preferred_element_type, x.dtype)).reshape(shape)
