"""SGD, Adam and AdamW over the steps of `repmath.optim`: torch.optim's classes, arguments and state dicts, the bits of the NumPy ones.

Each state tensor's update is one real formula with one rounding; docs/optimizers.md has them. Learning rates may be changed between
steps, by torch.optim.lr_scheduler too: its numbers come from the C library of the system, those of `repmath.optim.cosine_schedule` and
its like do not.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

import torch
from torch.autograd.graph import increment_version

from .. import _optimizers
from .._clipping import clip_grad_norm
from ._tensors import FORMATS, as_array

_Tensor: TypeAlias = torch.Tensor


def _refuse(**options: Any) -> None:
    for name, value in options.items():
        if value:
            raise ValueError(f"{name}=True is not supported; see docs/torch.md#which-optimisers-are-there")


def _round(optimizer: torch.optim.Optimizer, rounding: str, seed: int) -> None:
    """Gives the groups that have none of their own a rounding and a seed."""
    optimizer.defaults.update(rounding=rounding, seed=seed)
    for group in optimizer.param_groups:
        group.setdefault("rounding", rounding)
        group.setdefault("seed", seed)
        _optimizers.check_rounding(group["rounding"], group["seed"])


def _signature(of: type) -> inspect.Signature:
    """PyTorch's arguments, and by name those of random rounding."""
    theirs = inspect.signature(of)
    named = [
        inspect.Parameter("rounding", inspect.Parameter.KEYWORD_ONLY, default="nearest", annotation=str),
        inspect.Parameter("seed", inspect.Parameter.KEYWORD_ONLY, default=0, annotation=int),
    ]
    return theirs.replace(parameters=[*theirs.parameters.values(), *named])


def _words(optimizer: torch.optim.Optimizer, group: dict[str, Any], step: int, number: int) -> dict[str, Any]:
    """How parameter `number` is rounded at a step; empty for rounding to nearest."""
    rounding, seed = (group.get(name, optimizer.defaults.get(name)) for name in ("rounding", "seed"))
    if rounding in ("nearest", None):
        return {}
    if step >= 2**32:
        raise ValueError(f"rounding at random has fewer than 2**32 steps; this would be step {step}")
    return {"rounding": rounding, "seed": seed, "stream": _optimizers.stream_of(step, number)}


def _updates(optimizer: torch.optim.Optimizer) -> Iterator[tuple[dict[str, Any], _Tensor, _Tensor, int]]:
    """Options, parameter, gradient and number of each parameter that has a gradient. All are checked before the first is updated."""
    found, number = [], -1
    for group in optimizer.param_groups:
        _optimizers.check_rounding(*(group.get(name, optimizer.defaults.get(name)) for name in ("rounding", "seed")))
        _refuse(differentiable=group.get("differentiable"), capturable=group.get("capturable"))
        for i, p in enumerate(group["params"]):
            number += 1
            if p.grad is None:
                continue
            if p.grad.is_sparse:
                raise RuntimeError(
                    f"{type(optimizer).__name__} does not support sparse gradients; parameter {i} of a group has one"
                )
            for name, t in (("parameter", p), ("gradient of parameter", p.grad)):
                if t.dtype not in FORMATS or t.device.type != "cpu":
                    raise TypeError(
                        f"{name} {i} of a group has dtype {t.dtype} on {t.device}; it must have float16, bfloat16, float32 or float64, "
                        "on the CPU"
                    )
            found.append((group, p, p.grad, number))
    yield from found


def _closure(closure: Callable[[], Any] | None) -> Any:
    if closure is None:
        return None
    with torch.enable_grad():
        return closure()


class SGD(torch.optim.SGD):
    """Stochastic gradient descent; formulas as in `repmath.optim.sgd_step`, arguments and state dict as torch.optim.SGD.

    `foreach` and `fused` choose nothing here. Raises ValueError for ``differentiable=True``. ``rounding="stochastic"`` (or "random", "up_down", "toward_zero", "down", "up")
    with `seed` rounds the new values at random, as in `repmath.optim.SGD`: weights of bfloat16 then need no copy in float32. Both are
    options of groups too, parameters are numbered through all groups, and the state then has "step".
    """

    __signature__ = _signature(torch.optim.SGD)

    def __init__(self, params: Any, *options: Any, rounding: str = "nearest", seed: int = 0, **named: Any) -> None:
        super().__init__(params, *options, **named)
        _round(self, rounding, seed)

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:  # type: ignore[override,unused-ignore]
        """One step; the closure's value, where one is given."""
        loss = _closure(closure)
        for group, p, g, number in _updates(self):
            momentum = float(group["momentum"])
            known = self.state.get(p, {})  # without state none is made
            buffer = None if momentum == 0 else known.get("momentum_buffer")
            first = buffer is None
            if momentum != 0 and buffer is None:
                buffer = self.state[p]["momentum_buffer"] = torch.empty_like(p)
            step = int(known.get("step", 0)) + 1
            words = _words(self, group, step, number)
            numbers: dict[str, Any] = {name: float(group[name]) for name in ("lr", "momentum", "dampening", "weight_decay")}
            _optimizers.sgd_step(
                as_array(p),
                as_array(g),
                None if buffer is None else as_array(buffer),
                first=first,
                **numbers,
                nesterov=group["nesterov"],
                maximize=group["maximize"],
                **words,
            )
            if words:
                self.state[p]["step"] = step
            increment_version([p] if buffer is None else [p, buffer])
        return loss


def _adam(optimizer: torch.optim.Optimizer) -> None:
    for group, p, g, number in _updates(optimizer):
        state = optimizer.state[p]
        function = _optimizers.adamw_step if group["decoupled_weight_decay"] else _optimizers.adam_step
        if not state:
            state["step"] = torch.tensor(0.0, dtype=torch.float32)
            for name in ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")[: 3 if group["amsgrad"] else 2]:
                state[name] = torch.zeros_like(p, memory_format=torch.preserve_format)
        written = [p, state["exp_avg"], state["exp_avg_sq"], *([state["max_exp_avg_sq"]] if group["amsgrad"] else [])]
        param, *states = map(as_array, written)
        step = int(state["step"]) + 1
        function(
            param,
            as_array(g),
            *states,
            step=step,
            lr=float(group["lr"]),
            betas=(float(group["betas"][0]), float(group["betas"][1])),
            eps=float(group["eps"]),
            weight_decay=float(group["weight_decay"]),
            maximize=group["maximize"],
            **_words(optimizer, group, step, number),
        )
        state["step"].fill_(step)
        increment_version(written)


class Adam(torch.optim.Adam):
    """Adam; formulas as in `repmath.optim.adam_step`, arguments and state dict as torch.optim.Adam.

    `foreach` and `fused` choose nothing here. Raises ValueError for ``differentiable=True`` and ``capturable=True``. `rounding` and `seed` are
    as in `SGD`.
    """

    __signature__ = _signature(torch.optim.Adam)

    def __init__(self, params: Any, *options: Any, rounding: str = "nearest", seed: int = 0, **named: Any) -> None:
        super().__init__(params, *options, **named)
        _round(self, rounding, seed)

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:  # type: ignore[override,unused-ignore]
        """One step; the closure's value, where one is given."""
        loss = _closure(closure)
        _adam(self)
        return loss


class AdamW(torch.optim.AdamW):
    """AdamW; formulas as in `repmath.optim.adamw_step`, arguments and state dict as torch.optim.AdamW. The rest is as in `Adam`."""

    __signature__ = _signature(torch.optim.AdamW)

    def __init__(self, params: Any, *options: Any, rounding: str = "nearest", seed: int = 0, **named: Any) -> None:
        super().__init__(params, *options, **named)
        _round(self, rounding, seed)

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:  # type: ignore[override,unused-ignore]
        """One step; the closure's value, where one is given."""
        loss = _closure(closure)
        _adam(self)
        return loss


def clip_grad_norm_(parameters: _Tensor | Iterable[_Tensor], max_norm: float) -> _Tensor:
    """Scale all gradients so that their norm is at most `max_norm`, in place; as `repmath.optim.clip_grad_norm`.

    Parameters
    ----------
    parameters : Tensor or iterable of Tensors
        Whose gradients, where they have one, are scaled.
    max_norm : float
        Not negative.

    Returns
    -------
    Tensor
        The norm of all gradients together, rounded once to float64.
    """
    grads = [p.grad for p in ([parameters] if isinstance(parameters, torch.Tensor) else parameters) if p.grad is not None]
    norm = clip_grad_norm([as_array(g) for g in grads], max_norm) if grads else 0.0
    increment_version(grads)
    return torch.tensor(float(norm), dtype=torch.float64)
