"""Operators on lists of tensors, fused optimiser steps, and the scaling of gradients."""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch

from ... import optim
from ..._cuda import _steps
from .._tensors import as_array, fills_memory
from . import elementwise, quotients, reductions  # noqa: F401
from .common import KERNELS, Kernel, Uncovered, apply, integers, kernel, write

_Tensors: TypeAlias = Sequence[torch.Tensor]


# Tensors on a device with at most so many elements are computed together: copying them costs less than a launch for each.
_TOGETHER = 1 << 16


def _placed(lists: Sequence[_Tensors], shared: bool, outs: _Tensors | None) -> list[int]:
    """The places of a list's tensors on a device that may lie one after the other in one tensor: small ones of one format, of the same shape in all
    lists, none of which is written twice. shared: numbers are the same for all places."""
    first = lists[0]
    if not shared or len(first) < 2 or first[0].is_cpu:
        return []
    dtype = first[0].dtype
    every = lists if outs is None else (*lists, outs)
    found = [
        i
        for i, t in enumerate(first)
        if 0 < t.numel() <= _TOGETHER
        and all(len(v) > i and v[i].dtype is dtype and v[i].shape == t.shape and v[i].is_contiguous() for v in every)
    ]
    written = {outs[i].data_ptr() for i in found} if outs is not None else found
    return found if len(found) > 1 and len(written) == len(found) else []


def _one_number(v: Any) -> Any:
    """The number that all tensors of a list have, if they have one."""
    return v[0] if isinstance(v, (list, tuple)) and len({(type(w), repr(w)) for w in v}) == 1 else v


def _each(name: str, function: str, lists: int, *names: str, by_elements: bool = True) -> None:
    """A function of one tensor over the first `lists` arguments; further ones, with these names, are lists of numbers, or shared. The
    results go into `outs` where these are given."""
    of_one = KERNELS[function]
    exact = getattr(of_one, "integers", False)
    takes_out = "out" in inspect.signature(of_one).parameters

    def together(places: list[int], given: Any, rest: Any, keywords: Any, outs: _Tensors | None) -> list[torch.Tensor]:
        if not places:
            return []
        flat = [torch.cat([tensors[i].reshape(-1) for i in places]) for tensors in given]
        parts = of_one(*flat, *rest[len(names) :], **keywords, **dict(zip(names, rest, strict=False)))
        own = [given[0][i] for i in places]
        results = [torch.empty_like(t, dtype=parts.dtype) for t in own] if outs is None else [outs[i] for i in places]
        split = parts.split([t.numel() for t in own])
        torch._foreach_copy_(results, [part.view(t.shape) for part, t in zip(split, own, strict=True)])
        return results

    def call(*arguments: Any, outs: _Tensors | None = None, **keywords: Any) -> list[torch.Tensor]:
        made = []
        if arguments[0] and not arguments[0][0].is_cpu:
            arguments = (*arguments[:lists], *map(_one_number, arguments[lists:]))
            keywords = {key: _one_number(v) for key, v in keywords.items()}
        numbers = (*arguments[lists:], *keywords.values())
        shared = by_elements and not any(isinstance(v, (list, tuple, torch.Tensor)) for v in numbers)
        places = _placed(arguments[:lists], shared, outs)
        packed = dict(zip(places, together(places, arguments[:lists], arguments[lists:], keywords, outs), strict=True))
        for i, tensors in enumerate(zip(*arguments[:lists], strict=True)):
            if i in packed:
                made.append(packed[i])
                continue
            rest = [v[i] if isinstance(v, (list, tuple)) else v for v in arguments[lists:]]
            own = {key: v[i] if isinstance(v, (list, tuple)) else v for key, v in keywords.items()}
            own |= zip(names, rest, strict=False)
            if outs is not None and takes_out:
                own["out"] = outs[i]
            made.append(of_one(*tensors, *rest[len(names) :], **own))
        return made

    KERNELS[f"foreach_{name}"] = integers(call) if exact else call


for _name, _function in {"add": "add", "sub": "subtract", "mul": "multiply", "div": "divide"}.items():
    _each(f"{_name}_list", _function, 2)
    _each(f"{_name}_number", _function, 1)
# Functions of one tensor, by their names.
UNARY = """acos asin atan cos cosh erf erfc exp expm1 frac log log10 log1p log2 reciprocal rsqrt sigmoid sin sinh sqrt tan tanh""".split()
for _name in UNARY:
    _each(_name, _name, 1)
_each("lerp", "lerp", 2)
_each("lerp_list", "lerp", 3)
_each("addcmul", "addcmul", 3, "value")
_each("addcdiv", "addcdiv", 3, "value")
_each("pow", "power", 1)
_each("pow_list", "power", 2)
for _name, _limit in {"maximum": "clamp_min", "minimum": "clamp_max"}.items():
    _each(_name, _name, 2)
    _each(_limit, _limit, 1)
_each("abs", "magnitude", 1)
_each("max", "amax", 1, by_elements=False)


def _by_elements(name: str) -> None:
    """addcmul and addcdiv whose numbers are the elements of a tensor."""
    of_lists = KERNELS[f"foreach_{name}"]

    def call(first: _Tensors, second: _Tensors, third: _Tensors, numbers: torch.Tensor, **outs: Any) -> list[torch.Tensor]:
        if numbers.ndim != 1 or numbers.numel() != len(first):
            raise ValueError("scalars must have an element for each tensor")
        made: list[torch.Tensor] = of_lists(first, second, third, numbers.tolist(), **outs)
        return made

    KERNELS[f"foreach_{name}_elements"] = call


_by_elements("addcmul")
_by_elements("addcdiv")


@kernel
def foreach_pow_of(base: Any, exponents: _Tensors) -> list[torch.Tensor]:
    return [KERNELS["power"](base, t) for t in exponents]


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


def _alike(p: torch.Tensor, g: torch.Tensor, *states: torch.Tensor | None, numbered: bool = False) -> list[Any]:
    """A parameter, its gradient and its states as arrays that a step takes: elements in memory's order, where all lie alike in an order that is
    not that of the axes. numbered: elements have numbers, by which they are rounded at random."""
    given = [p, g, *states]
    if (
        not numbered
        and not p.is_contiguous()
        and fills_memory(p)
        and all(t is None or t.stride() == p.stride() for t in given)
    ):
        return [None if t is None else as_array(t.as_strided((t.numel(),), (1,))) for t in given]
    return [
        _in_place(p, "a parameter"),
        as_array(g),
        *(None if t is None else _in_place(t, "a state") for t in states),
    ]


def itself(function: Kernel) -> Kernel:
    """A kernel that writes into its arguments itself, and returns nothing, or the one that the operator returns."""
    function.writes = True  # type: ignore[attr-defined]
    return function


def _unscaled(grads: _Tensors, grad_scale: torch.Tensor | None, found_inf: torch.Tensor | None) -> list[torch.Tensor] | None:
    """The gradients as a step takes them, each divided by the scale and rounded; None where it is to be left out."""
    if found_inf is not None and float(found_inf) == 1:
        return None
    if grad_scale is None:
        return list(grads)
    scale = float(grad_scale)
    return [KERNELS["divide"](g, scale, out=torch.empty_like(g)) for g in grads]


def _is_number_there(t: torch.Tensor) -> bool:
    """Whether it is one number of float32 on a device, as PyTorch's counts of steps and scales of fused optimisers there are."""
    return not t.is_cpu and t.dtype is torch.float32 and t.numel() == 1


def _number_there(t: torch.Tensor | None) -> Any:
    return None if t is None else as_array(t)


def _scaled(step: Callable[..., None], on_device: bool = False) -> Callable[..., None]:
    """A fused step that also divides the gradients by a scale, and is left out where one of them was not finite. on_device: tensors on a device
    take their steps together, which read both there, so that nothing waits for the device."""

    @itself
    def call(
        params: _Tensors,
        grads: _Tensors,
        *rest: Any,
        grad_scale: torch.Tensor | None = None,
        found_inf: torch.Tensor | None = None,
        **options: Any,
    ) -> None:
        if on_device and _on_device(params) and all(t is None or _is_number_there(t) for t in (grad_scale, found_inf)):
            step(params, grads, *rest, **options, scale=(_number_there(grad_scale), _number_there(found_inf)))
            return
        given = _unscaled(grads, grad_scale, found_inf)
        if given is None:
            return
        step(params, given, *rest, **options)
        if grad_scale is not None:
            for g, made in zip(grads, given, strict=True):
                g.copy_(made)

    return call


def _places(*lists: _Tensors) -> list[list[Any]]:
    """The arrays of each place of lists on a device; None where a list is empty."""
    n = len(lists[0])
    if any(len(tensors) not in (0, n) for tensors in lists):
        raise ValueError("lists of several lengths")
    return [_alike(*(tensors[i] if tensors else None for tensors in lists)) for i in range(n)]


def _numbers(tensors: _Tensors) -> list[float]:
    """Those of tensors without axes, which come from a device together."""
    if tensors and not tensors[0].is_cpu:
        together: list[float] = torch.stack(list(tensors)).tolist()
        return together
    return [float(t) for t in tensors]


def _on_device(tensors: _Tensors) -> bool:
    return bool(tensors) and not tensors[0].is_cpu


def _adam(step_function: Callable[..., None], decoupled: bool | None = None) -> Callable[..., None]:
    """decoupled: which step it is, if it rounds to nearest; tensors on a device then take theirs together."""

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
        scale: Any = (None, None),
    ) -> None:
        together = decoupled is not None and _on_device(params)
        steps: list[Any]
        if together and all(map(_is_number_there, state_steps)):
            steps = [as_array(t) for t in state_steps]
        else:  # rounding up or down moves what counts the steps by a last place
            steps = [round(step) for step in _numbers(state_steps)]
        options: dict[str, Any] = {
            "lr": float(lr),  # a device is waited for once, not for each parameter
            "betas": (beta1, beta2),
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
        }
        if together:
            places = _places(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs if amsgrad else ())
            _steps.adam_steps(places, steps, decoupled=bool(decoupled), scale=scale, **options)
            return
        for i, p in enumerate(params):
            states = [exp_avgs[i], exp_avg_sqs[i], *([max_exp_avg_sqs[i]] if amsgrad else [])]
            step_function(*_alike(p, grads[i], *states, numbered=decoupled is None), step=steps[i], **options)

    return call


KERNELS["fused_adam"] = _scaled(_adam(optim.adam_step, decoupled=False), on_device=True)
KERNELS["fused_adamw"] = _scaled(_adam(optim.adamw_step, decoupled=True), on_device=True)


def _sgd(
    step_function: Callable[..., None] | None,
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
    scale: Any = (None, None),
) -> None:
    """step_function: that of one parameter; None is repmath.optim.sgd_step, which tensors on a device take together."""
    options: dict[str, Any] = {
        "lr": float(lr),
        "momentum": momentum,
        "dampening": dampening,
        "weight_decay": weight_decay,
        "nesterov": nesterov,
        "maximize": maximize,
        "first": is_first_step,
    }
    if step_function is None and _on_device(params):
        _steps.sgd_steps(_places(params, grads, momentum_buffers if momentum else ()), scale=scale, **options)
        return
    step = step_function or optim.sgd_step
    for i, p in enumerate(params):
        step(*_alike(p, grads[i], momentum_buffers[i] if momentum else None, numbered=step_function is not None), **options)


KERNELS["fused_sgd"] = _scaled(functools.partial(_sgd, None), on_device=True)


def _adagrad(
    params: _Tensors,
    grads: _Tensors,
    state_sums: _Tensors,
    state_steps: _Tensors,
    *,
    lr: Any,
    lr_decay: float,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """The steps of torch.optim.Adagrad without `fused`, one rounding each."""
    made = []
    for p, g, s, step in zip(params, grads, state_sums, state_steps, strict=True):
        if not p.dtype is g.dtype is s.dtype:
            raise Uncovered("a parameter, its gradient and its state of several formats")
        if maximize:
            g = g.neg()
        if weight_decay != 0:
            g = KERNELS["add"](g, p, alpha=weight_decay)
        total = KERNELS["addcmul"](s, g, g)
        root = KERNELS["add"](apply("sqrt", total), eps)
        rate = float(lr) / (1 + (float(step) - 1) * lr_decay)
        made.append((p, KERNELS["addcdiv"](p, g, root, value=-rate), s, total))
    for p, new, s, total in made:
        write(p, new)
        write(s, total)


KERNELS["fused_adagrad"] = _scaled(_adagrad)


def _single(t: torch.Tensor, name: str) -> None:
    if t.numel() != 1 or t.dtype is not torch.float32:
        raise ValueError(f"{name} must be one number of float32")


@itself
@kernel
def unscale(grads: _Tensors, found_inf: torch.Tensor, inv_scale: torch.Tensor) -> None:
    """Each gradient times a number; whether one of them was not finite before."""
    _single(found_inf, "found_inf")
    _single(inv_scale, "inv_scale")
    made = [KERNELS["multiply"](g, float(inv_scale), out=torch.empty_like(g)) for g in grads]
    finite = all(bool(g.isfinite().all()) for g in grads)
    for g, scaled in zip(grads, made, strict=True):
        g.copy_(scaled)
    if not finite:
        found_inf.fill_(1)


@itself
@kernel
def update_scale(
    scale: torch.Tensor, growth_tracker: torch.Tensor, found_inf: torch.Tensor, growth: float, backoff: float, interval: int
) -> torch.Tensor:
    """The scale of the next step: smaller after one with gradients that were not finite, larger after some steps without."""
    _single(scale, "scale")
    _single(found_inf, "found_inf")
    if growth_tracker.numel() != 1 or growth_tracker.dtype is not torch.int32:
        raise ValueError("growth_tracker must be one number of int32")
    steps = 0 if float(found_inf) else int(growth_tracker) + 1
    if float(found_inf):
        write(scale, KERNELS["multiply"](scale, backoff))
    elif steps == interval:
        larger = KERNELS["multiply"](scale, growth)
        if bool(larger.isfinite()):
            write(scale, larger)
        steps = 0
    growth_tracker.fill_(steps)
    return scale
