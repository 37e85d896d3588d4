"""softmax, log_softmax, logsumexp and attention."""

from typing import Any, TypeAlias

import torch

from ... import nn
from .._random import unsigned
from .._tensors import as_array, as_tensor
from .elementwise import OPERATORS
from .operator import Operator, check_formats, no_gradient
from .reductions import SUM

_Tensor: TypeAlias = torch.Tensor
_Optional: TypeAlias = torch.Tensor | None

# --- softmax along an axis, counted from the front


def _same(name: str, function: Any, first: str, *more: str) -> Operator:
    """An operator along an axis, of arrays of one shape, which the result has."""
    names = (first, *more)

    def kernel(*args: Any) -> _Tensor:
        *tensors, dim = args
        check_formats(names, tuple(tensors))
        return as_tensor(function(*map(as_array, tensors), dim))

    def fake(*args: Any) -> _Tensor:
        *tensors, _ = args
        check_formats(names, tuple(tensors))
        return tensors[0].new_empty(tensors[0].shape)

    def batch(op: Operator) -> Any:
        def rule(info: Any, in_dims: Any, *args: Any) -> tuple[_Tensor, int]:
            *tensors, dim = args
            moved = (
                t.expand(info.batch_size, *t.shape) if d is None else t.movedim(d, 0)
                for t, d in zip(tensors, in_dims[:-1], strict=True)
            )
            # The last axis of a number is its only one; the operator counts from the front of what is left.
            return (op(*moved, dim + 1), 0) if tensors[0].ndim > 1 else op._one_by_one(info, in_dims, *args)

        return rule

    schema = f"{name}({', '.join('Tensor ' + n for n in names)}, int dim) -> Tensor"
    return Operator(schema, kernel, fake, batch=batch)


_sub, _mul = OPERATORS["subtract"], OPERATORS["multiply"]


def _total(t: _Tensor, dim: int) -> _Tensor:
    return SUM(t, [dim] if t.ndim else [], True)


def _softmax_backward_gradient(h: _Tensor, grad_output: _Tensor, output: _Tensor, dim: int) -> tuple[_Tensor, _Tensor]:
    """Of y_i (g_i - sum of g_k y_k): by g as by h, by y h_j (g_j - sum of g y) - g_j sum of h y."""
    left = _mul(h, _sub(grad_output, _total(_mul(grad_output, output), dim)))
    return SOFTMAX_BACKWARD(h, output, dim), _sub(left, _mul(grad_output, _total(_mul(h, output), dim)))


def _log_softmax_backward_gradient(h: _Tensor, grad_output: _Tensor, output: _Tensor, dim: int) -> tuple[_Tensor, _Tensor]:
    """Of g_i - e^(y_i) sum of g: by g h_j - sum of h e^y, by y -h_j e^(y_j) sum of g."""
    p = _mul(h, OPERATORS["exp"](output))
    return _sub(h, _total(p, dim)), _mul(torch.neg(p), _total(grad_output, dim))


SOFTMAX: Operator = _same("softmax", nn.softmax, "input")
SOFTMAX_BACKWARD: Operator = _same("softmax_backward", nn.softmax_backward, "grad_output", "result")
LOG_SOFTMAX: Operator = _same("log_softmax", nn.log_softmax, "input")
LOG_SOFTMAX_BACKWARD: Operator = _same("log_softmax_backward", nn.log_softmax_backward, "grad_output", "result")

SOFTMAX.set_gradient(lambda g, output, dim: (SOFTMAX_BACKWARD(g, output, dim),), ("output", "dim"))
SOFTMAX.set_tangent(lambda ts, output, dim: SOFTMAX_BACKWARD(ts[0], output, dim), ("output", "dim"))
LOG_SOFTMAX.set_gradient(lambda g, output, dim: (LOG_SOFTMAX_BACKWARD(g, output, dim),), ("output", "dim"))
LOG_SOFTMAX.set_tangent(
    lambda ts, output, dim: _sub(ts[0], _total(_mul(OPERATORS["exp"](output), ts[0]), dim)), ("output", "dim")
)
SOFTMAX_BACKWARD.set_gradient(_softmax_backward_gradient, ("grad_output", "result", "dim"))
LOG_SOFTMAX_BACKWARD.set_gradient(_log_softmax_backward_gradient, ("grad_output", "result", "dim"))


def _logsumexp(input: _Tensor, dim: int) -> _Tensor:
    check_formats(("input",), (input,))
    return as_tensor(nn.logsumexp(as_array(input), dim))


def _logsumexp_empty(input: _Tensor, dim: int) -> _Tensor:
    check_formats(("input",), (input,))
    return input.new_empty([n for i, n in enumerate(input.shape) if i != dim])


def _logsumexp_gradient(g: _Tensor, input: _Tensor, dim: int) -> tuple[_Tensor]:
    return (_mul(g.unsqueeze(dim) if input.ndim else g, SOFTMAX(input, dim)),)


LOGSUMEXP: Operator = Operator(
    "logsumexp(Tensor input, int dim) -> Tensor",
    _logsumexp,
    _logsumexp_empty,
    gradient=_logsumexp_gradient,
    tangent=lambda ts, input, dim: SUM(_mul(SOFTMAX(input, dim), ts[0]), [dim] if input.ndim else [], False),
)

# --- attention; the seed and the stream are signed, as PyTorch's integers are

_NAMES = ("query", "key", "value")
_PLACE = "float dropout_p, int seed, int stream, int offset"


def _place(dropout_p: float, seed: int, stream: int, offset: int) -> dict[str, Any]:
    return {"dropout_p": dropout_p, "seed": unsigned(seed), "stream": unsigned(stream), "offset": offset}


def _mask(attn_mask: _Optional) -> Any:
    return None if attn_mask is None else as_array(attn_mask)


def _attention(
    query: _Tensor,
    key: _Tensor,
    value: _Tensor,
    attn_mask: _Optional,
    is_causal: bool,
    scale: float | None,
    *place: Any,
) -> _Tensor:
    check_formats(_NAMES, (query, key, value))
    where = _place(*place)
    p = where.pop("dropout_p")
    arrays = as_array(query), as_array(key), as_array(value), _mask(attn_mask)
    return as_tensor(nn.scaled_dot_product_attention(*arrays, p, is_causal, scale, **where))


def _fake_attention(query: _Tensor, key: _Tensor, value: _Tensor, *rest: Any) -> _Tensor:
    check_formats(_NAMES, (query, key, value))
    return query.new_empty([*query.shape[:-1], value.shape[-1]])


def _attention_backward(
    grad_output: _Tensor,
    query: _Tensor,
    key: _Tensor,
    value: _Tensor,
    attn_mask: _Optional,
    is_causal: bool,
    scale: float | None,
    *place: Any,
) -> tuple[_Tensor, ...]:
    arrays = as_array(grad_output), as_array(query), as_array(key), as_array(value), _mask(attn_mask)
    return tuple(as_tensor(a) for a in nn.scaled_dot_product_attention_backward(*arrays, is_causal, scale, **_place(*place)))


def _attention_gradient(
    g: _Tensor,
    query: _Tensor,
    key: _Tensor,
    value: _Tensor,
    attn_mask: _Optional,
    is_causal: bool,
    scale: float | None,
    dropout_p: float,
    seed: int,
    stream: int,
    offset: int,
    needs: Any,
) -> tuple[Any, ...]:
    if needs[3]:
        raise no_gradient("scaled_dot_product_attention", "attn_mask")
    place = dropout_p, seed, stream, offset
    return (*ATTENTION_BACKWARD(g, query, key, value, attn_mask, is_causal, scale, *place), None)


ATTENTION_BACKWARD: Operator = Operator(
    "scaled_dot_product_attention_backward(Tensor grad_output, Tensor query, Tensor key, Tensor value, Tensor? attn_mask, "
    f"bool is_causal, float? scale, {_PLACE}) -> (Tensor, Tensor, Tensor)",
    _attention_backward,
    lambda grad_output, query, key, value, *rest: tuple(t.new_empty(t.shape) for t in (query, key, value)),
)

# Of query, key and value with equal leading axes.
ATTENTION: Operator = Operator(
    "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask, "
    f"bool is_causal, float? scale, {_PLACE}) -> Tensor",
    _attention,
    _fake_attention,
    gradient=_attention_gradient,
)
