"""Functions that PyTorch composes of several operators, and that a block replaces as a whole.

Inside of a block, cross_entropy, kl_div, rms_norm and the like of torch.nn.functional are those of repmath.torch.functional, gradients
included: they round once, not once per operator. A call is replaced if these functions support its arguments: plain, non-empty tensors on
the CPU, all of the same one of the four formats, and no gradient is wanted for an argument that has none here. Otherwise PyTorch composes
as usual. It also does so under autocast, which chooses formats operator by operator, and in forward mode and the transforms of torch.func,
whose rules are those of the operators; a gradient with create_graph=True is that of PyTorch's composition.
"""

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import torch
from torch.autograd import forward_ad
from torch.nn import _reduction

from .. import _core
from . import _blocks, _dispatch_key, _sharded
from . import functional as whole
from ._device_tensors import KINDS as DEVICES
from ._device_tensors import is_on_device
from ._ops import losses, normalization
from ._ops.operator import Operator
from ._recurrent_cells import RECURRENT
from ._tensors import FORMATS

_Tensor: TypeAlias = torch.Tensor
_Maybe: TypeAlias = torch.Tensor | None
_Whole: TypeAlias = Callable[..., Any]

F = torch.nn.functional
_KINDS = (torch.Tensor, torch.nn.Parameter)
_REDUCTIONS = ("none", "mean", "sum")


def _plain(t: _Tensor) -> bool:
    return type(t) in _KINDS and (t.is_cpu or t.device.type in DEVICES) and t.layout is torch.strided and not t.is_nested


def _fits(input: Any, *others: _Maybe) -> bool:
    """Whether the tensors are of one kind and one format, and the calling code can take their operator as a whole."""
    if type(input) not in _KINDS or input.dtype not in FORMATS or not input.numel():
        return False
    if (
        torch.is_autocast_enabled(input.device.type)
        or forward_ad._current_level >= 0
        or torch._C._are_functorch_transforms_active()
    ):
        return False
    return _plain(input) and all(
        t is None or (_plain(t) and t.dtype is input.dtype and t.device == input.device) for t in others
    )


def _varies(*tensors: _Maybe) -> bool:
    """Whether a gradient with respect to one of these is wanted."""
    return torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors)


def _named(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction, also as it was said before."""
    if size_average is None and reduce is None:
        return reduction
    return str(_reduction.legacy_get_string(size_average, reduce))


def _cross_entropy(
    input: _Tensor,
    target: _Tensor,
    weight: _Maybe = None,
    reduction: int = 1,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Any:
    if not _fits(input, weight) or not input.ndim or not _plain(target):
        return NotImplemented
    axis = min(input.ndim - 1, 1)
    if target.is_floating_point():
        fits = target.dtype is input.dtype and target.shape == input.shape and ignore_index < 0
    else:
        fits = target.dtype is torch.int64 and target.shape == (*input.shape[:axis], *input.shape[axis + 1 :])
    if weight is not None and weight.shape != (input.shape[axis],):
        fits = False
    if not fits or not 0 <= label_smoothing <= 1 or _varies(target, weight):
        return NotImplemented
    return whole.cross_entropy(input, target, weight, ignore_index, _REDUCTIONS[reduction], label_smoothing)


def _kl_div(
    input: _Tensor,
    target: _Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Any:
    reduction = _named(size_average, reduce, reduction)
    if not isinstance(target, torch.Tensor) or not _fits(input, target) or target.shape != input.shape or _varies(target):
        return NotImplemented
    if reduction not in (*_REDUCTIONS, "batchmean") or not input.ndim:
        return NotImplemented
    return whole.kl_div(input, target, reduction, log_target)


def _bce_with_logits(
    input: _Tensor, target: _Tensor, weight: _Maybe = None, pos_weight: _Maybe = None, reduction: int = 1
) -> Any:
    others = target, weight, pos_weight
    if not _fits(input, *others) or target.shape != input.shape or _varies(*others):
        return NotImplemented
    for t in (weight, pos_weight):
        if t is not None and (t.ndim > input.ndim or torch.broadcast_shapes(t.shape, input.shape) != input.shape):
            return NotImplemented
    return whole.binary_cross_entropy_with_logits(input, target, weight, _REDUCTIONS[reduction], pos_weight)


def _rms_norm(input: _Tensor, normalized_shape: Any, weight: _Maybe = None, eps: float | None = None) -> Any:
    shape = tuple(normalized_shape) if isinstance(normalized_shape, (tuple, list)) else ()
    if (
        not shape
        or not _fits(input, weight)
        or tuple(input.shape[-len(shape) :]) != shape
        or (eps is not None and not 0 <= eps < math.inf)
    ):
        return NotImplemented
    if weight is not None and tuple(weight.shape) != shape:
        return NotImplemented
    return whole.rms_norm(input, shape, weight, eps)


def _instance_norm(
    input: _Tensor,
    weight: _Maybe,
    bias: _Maybe,
    running_mean: _Maybe,
    running_var: _Maybe,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Any:
    if running_mean is not None or running_var is not None or not use_input_stats or not _fits(input, weight, bias):
        return NotImplemented
    if input.ndim < 3 or math.prod(input.shape[2:]) == 1 or not 0 <= eps < math.inf:
        return NotImplemented
    if any(t is not None and t.shape != (input.shape[1],) for t in (weight, bias)):
        return NotImplemented
    return whole.instance_norm(input, weight=weight, bias=bias, eps=eps)


def _softsign(input: _Tensor) -> Any:
    """For its gradient; PyTorch's composition has the same values, in the same roundings."""
    return whole.softsign(input) if _varies(input) and _fits(input) else NotImplemented


def _ndtr(input: _Tensor) -> Any:
    return whole.ndtr(input) if _fits(input) else NotImplemented


def _ndtr_into(input: _Tensor, *, out: _Tensor) -> Any:
    if not _fits(input, out) or _varies(input, out) or out.shape not in (input.shape, (0,)):
        return NotImplemented
    return out.resize_(input.shape).copy_(whole.ndtr(input))


# The name of a composed operator of ATen, and what is called in its place, which returns NotImplemented where the arguments do not fit.
WHOLES: dict[str, _Whole] = {
    "cross_entropy_loss": _cross_entropy,
    "binary_cross_entropy_with_logits": _bce_with_logits,
    "rms_norm": _rms_norm,
    "instance_norm": _instance_norm,
    "special_ndtr": _ndtr,
    "special_ndtr.out": _ndtr_into,
}


def _called(name: str) -> _Whole:
    """What the dispatcher calls for a composed operator."""
    packet, _, which = name.partition(".")
    overload = getattr(getattr(torch.ops.aten, packet), which or "default")

    def call(*arguments: Any, **keywords: Any) -> Any:
        inside = _blocks.inside()
        with _dispatch_key.composed(), np.errstate(all="ignore"):
            found = NotImplemented
            if inside:
                found = WHOLES[name](*arguments, **keywords)
                if found is NotImplemented and which != "out":  # which would write to a copy of a DTensor
                    found = _sharded.of_whole(WHOLES[name], arguments, keywords)
            return overload(*arguments, **keywords) if found is NotImplemented else found

    return call


_core.prepare_linear(torch._C._nn.linear, torch._C._dispatch_tls_set_dispatch_key_excluded, _dispatch_key.WHOLE_KEY)
_core.prepare_linear_alone(torch)
_core.prepare_rms_norm(_called("rms_norm"))
_dispatch_key.register_wholes({name: _called(name) for name in WHOLES} | {"linear": _core.linear, "rms_norm": _core.rms_norm})


# --- what PyTorch composes in another way for a GPU than for the CPU: there, too, it is the CPU's


def _dropout(input: _Tensor, p: float, train: bool) -> Any:
    """A mask that is drawn and divided, and a product, where PyTorch has one operator for a GPU."""
    if not is_on_device(input) or not train or not 0 < p < 1 or not input.numel():
        return NotImplemented
    noise = torch.empty_like(input).bernoulli_(1 - p)
    return input * torch.ops.aten.div_.Scalar(noise, 1 - p)


def _attention(
    query: _Tensor,
    key: _Tensor,
    value: _Tensor,
    attn_mask: _Maybe = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """The operator that PyTorch takes for such tensors of the CPU."""
    if not is_on_device(query):
        return NotImplemented
    alike = [None if t is None else _unset(t) for t in (query, key, value, attn_mask)]
    choice = torch._fused_sdp_choice(*alike, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
    if attn_mask is not None and attn_mask.dtype is torch.bool:
        attn_mask = torch.zeros_like(attn_mask, dtype=query.dtype).masked_fill_(attn_mask.logical_not(), -math.inf)
    if choice == torch.nn.attention.SDPBackend.FLASH_ATTENTION.value:
        operator = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
        return operator(query, key, value, dropout_p, is_causal, attn_mask=attn_mask, scale=scale)[0]
    return torch._scaled_dot_product_attention_math(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )[0]


def _unset(t: _Tensor) -> _Tensor:
    """A tensor of the CPU of the same dtype, shape and strides, whose elements are not set."""
    return torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, requires_grad=t.requires_grad)


_ON_DEVICES: dict[str, _Whole] = {"dropout": _dropout, "scaled_dot_product_attention": _attention, **RECURRENT}


def _called_on_devices(name: str) -> _Whole:
    """What the dispatcher calls; operators that are composed in turn are replaced, too."""
    packet, _, which = name.partition(".")
    overload = getattr(getattr(torch.ops.aten, packet), which or "default")

    def call(*arguments: Any, **keywords: Any) -> Any:
        found = _ON_DEVICES[name](*arguments, **keywords) if _blocks.inside() else NotImplemented
        if found is not NotImplemented:
            return found
        # PyTorch composes these of linear maps, which are the library's: its kernel of C++ itself is called.
        if name in RECURRENT:
            return overload._op_dk(torch._C.DispatchKey.CompositeImplicitAutograd, *arguments, **keywords)
        with _dispatch_key.composed():
            return overload(*arguments, **keywords)

    return call


def _replace_on_devices() -> None:
    _dispatch_key.register_more({name: _called_on_devices(name) for name in _ON_DEVICES})


_blocks.with_devices.append(_replace_on_devices)

# Functions of torch.nn.functional that are Python's; what is called in their place, likewise.
FUNCTIONS: dict[str, _Whole] = {"kl_div": _kl_div, "softsign": _softsign}


# --- gradients that shall have gradients


def _composed(op: Operator, compose: Callable[..., _Tensor]) -> None:
    """Inside of a block, a gradient that is to be differentiated is that of `compose`, which calls PyTorch's function on the arguments of
    the operator. It may leave out a bias, on which no gradient depends."""
    once, once_names = op.gradient, op.gradient_names
    assert once is not None
    names = tuple(dict.fromkeys((*once_names, "needs", "shapes", *(a for a in op.arguments if a != "bias"))))
    where = [names.index(n) for n in once_names]
    kept = [names.index(a) if a in names else None for a in op.arguments]

    def gradient(g: _Tensor, *values: Any) -> Any:
        if not torch.is_grad_enabled() or not _blocks.inside():
            return once(g, *(values[i] for i in where))
        needs, shapes = values[names.index("needs")], values[names.index("shapes")]
        arguments = [None if i is None else values[i] for i in kept]
        leaves: list[Any] = []
        for i, shape, need in zip(op.tensors, shapes, needs, strict=True):
            if need:
                arguments[i] = g.new_zeros(shape, requires_grad=True) if arguments[i] is None else arguments[i]
                leaves.append(arguments[i])
        # As a whole PyTorch's functions would be this operator again.
        with _dispatch_key.composed():
            made = torch.autograd.grad(compose(*arguments), leaves, g, create_graph=True)
        found = iter(made)
        return [next(found) if need else None for need in needs]

    op.set_gradient(gradient, names)


_composed(
    losses.CROSS_ENTROPY,
    lambda input, target, weight, ignore_index, reduction, label_smoothing: F.cross_entropy(
        input, target, weight, ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing
    ),
)
_composed(
    losses.KL_DIV,
    lambda input, target, reduction, log_target: (
        torch.kl_div(input, target, {"none": 0, "mean": 1}.get(reduction, 2), log_target=log_target)
        / (input.shape[0] if reduction == "batchmean" else 1)
    ),
)
_composed(
    losses.BCE,
    lambda input, target, weight, reduction, pos_weight: F.binary_cross_entropy_with_logits(
        input, target, weight, reduction=reduction, pos_weight=pos_weight
    ),
)
_composed(
    normalization.RMS_NORM, lambda input, normalized_shape, weight, eps: torch.rms_norm(input, normalized_shape, weight, eps)
)
_composed(
    normalization.INSTANCE_NORM, lambda input, weight, bias, eps: F.instance_norm(input, weight=weight, bias=bias, eps=eps)
)
