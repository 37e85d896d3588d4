"""Operators on lists of tensors, and fused optimiser steps."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch

from ... import optim
from .._tensors import as_array
from .common import KERNELS, Uncovered, kernel

_Tensors: TypeAlias = Sequence[torch.Tensor]


def _each(name: str, function: str, lists: int, *names: str) -> None:
    """A function of one tensor over the first `lists` arguments; further ones, with these names, are lists of numbers, or shared. The
    results go into `outs` where these are given."""
    of_one = KERNELS[function]

    def call(*arguments: Any, outs: _Tensors | None = None, **keywords: Any) -> list[torch.Tensor]:
        made = []
        for i, tensors in enumerate(zip(*arguments[:lists], strict=True)):
            rest = [v[i] if isinstance(v, (list, tuple)) else v for v in arguments[lists:]]
            own = {key: v[i] if isinstance(v, (list, tuple)) else v for key, v in keywords.items()}
            own |= zip(names, rest, strict=False)
            if outs is not None:
                own["out"] = outs[i]
            made.append(of_one(*tensors, *rest[len(names) :], **own))
        return made

    KERNELS[f"foreach_{name}"] = call


for _name, _function in {"add": "add", "sub": "subtract", "mul": "multiply", "div": "divide"}.items():
    _each(f"{_name}_list", _function, 2)
    _each(f"{_name}_number", _function, 1)
for _name in ("sqrt", "reciprocal"):
    _each(_name, _name, 1)
_each("lerp", "lerp", 2)
_each("addcmul", "addcmul", 3, "value")
_each("addcdiv", "addcdiv", 3, "value")
_each("pow", "power", 1)
_each("maximum", "maximum", 2)
_each("abs", "magnitude", 1)


@kernel
def foreach_norm(tensors: _Tensors, ord: Any = 2, dtype: torch.dtype | None = None) -> list[torch.Tensor]:
    if not all(t.is_floating_point() or t.is_complex() for t in tensors):
        raise ValueError("tensors of integers")
    if dtype is not None and any(torch.promote_types(t.dtype, dtype) is not dtype for t in tensors):
        raise ValueError(f"dtype={dtype}, which is narrower")
    return [KERNELS["vector_norm"](t, ord, dtype=dtype) for t in tensors]


def _in_place(t: torch.Tensor, name: str) -> Any:
    if not t.is_contiguous():
        raise Uncovered(f"{name} that is not contiguous")
    return as_array(t)


def _adam(step_function: Callable[..., None]) -> Callable[..., None]:
    def call(
        params: _Tensors,
        grads: _Tensors,
        exp_avgs: _Tensors,
        exp_avg_sqs: _Tensors,
        max_exp_avg_sqs: _Tensors,
        state_steps: _Tensors,
        *,
        lr: Any,
        beta1: float,
        beta2: float,
        weight_decay: float,
        eps: float,
        amsgrad: bool,
        maximize: bool,
        grad_scale: torch.Tensor | None = None,
        found_inf: torch.Tensor | None = None,
    ) -> None:
        if grad_scale is not None or found_inf is not None:
            raise Uncovered("grad_scale and found_inf")
        for i, p in enumerate(params):
            states = [_in_place(t[i], "a state") for t in (exp_avgs, exp_avg_sqs)]
            if amsgrad:
                states.append(_in_place(max_exp_avg_sqs[i], "a state"))
            step_function(
                _in_place(p, "a parameter"),
                as_array(grads[i]),
                *states,
                step=int(state_steps[i]),
                lr=float(lr),
                betas=(beta1, beta2),
                eps=eps,
                weight_decay=weight_decay,
                maximize=maximize,
            )

    return call


KERNELS["fused_adam"] = _adam(optim.adam_step)
KERNELS["fused_adamw"] = _adam(optim.adamw_step)


@kernel
def fused_sgd(
    params: _Tensors,
    grads: _Tensors,
    momentum_buffers: _Tensors,
    *,
    weight_decay: float,
    momentum: float,
    lr: Any,
    dampening: float,
    nesterov: bool,
    maximize: bool,
    is_first_step: bool,
    grad_scale: torch.Tensor | None = None,
    found_inf: torch.Tensor | None = None,
) -> None:
    if grad_scale is not None or found_inf is not None:
        raise Uncovered("grad_scale and found_inf")
    for i, p in enumerate(params):
        buffer = _in_place(momentum_buffers[i], "a buffer") if momentum else None
        optim.sgd_step(
            _in_place(p, "a parameter"),
            as_array(grads[i]),
            buffer,
            lr=float(lr),
            momentum=momentum,
            dampening=dampening,
            weight_decay=weight_decay,
            nesterov=nesterov,
            maximize=maximize,
            first=is_first_step,
        )
