"""Steps of optimisers of lists of arrays on a device: a call of the library for those that have one format and one number of steps."""

from collections.abc import Sequence
from typing import Any

from .._dtypes import NAMES
from .._inplace import check_array, check_count
from .._memory import contiguous
from .._optimizers import _check_adam, _check_sgd
from . import _calls
from ._array import Array, Unsupported

_Lists = Sequence[Sequence[Any]]
#: What gradients are divided by, and 1 if the step is left out: numbers of float32 on the device, or None.
Scale = tuple[Array | None, Array | None]
_NO_SCALE: Scale = (None, None)


def _checked(tensors: _Lists, scale: Scale) -> list[list[Array | None]]:
    """A parameter, its gradient and its states in each place; all but the gradients are written, and these too if they are divided."""
    made = []
    for arrays in tensors:
        p, g, *states = arrays
        for name, a in (("param", p), ("grad", g), *(("a state", a) for a in states if a is not None)):
            check_array(name, a, writable=name != "grad")
            if a.dtype != p.dtype or a.shape != p.shape:
                raise ValueError(f"{name} has dtype {a.dtype} and shape {a.shape}; param has {p.dtype} and {p.shape}")
        if not all(a is None or a.flags.c_contiguous for a in (p, *states)):
            raise Unsupported("an array that is written has gaps")
        if scale[0] is not None and not g.flags.c_contiguous:
            raise Unsupported("a gradient that is divided has gaps")
        made.append([p, contiguous(g), *states])
    return made


def _meet(tensors: list[list[Array | None]]) -> bool:
    """Whether an array that is written shares bytes with another."""
    spans = sorted(
        (a.address, a.address + a.size * a.itemsize, k != 1)
        for t in tensors
        for k, a in enumerate(t)
        if a is not None and a.size
    )
    written = every = 0
    for begin, end, is_written in spans:
        if begin < (every if is_written else written):
            return True
        every, written = max(every, end), max(written, end) if is_written else written
    return False


def _in_groups(tensors: list[list[Array | None]], keys: list[Any]) -> list[tuple[Any, list[list[Array | None]]]]:
    """The tensors of each key. What one call would find wrong must not be found when another has written."""
    groups: dict[Any, list[list[Array | None]]] = {}
    for t, key in zip(tensors, keys, strict=True):
        groups.setdefault(key, []).append(t)
    if len(groups) > 1 and _meet(tensors):
        raise ValueError("an array that is written shares memory with another")
    return list(groups.items())


def adam_steps(
    tensors: _Lists,
    steps: Sequence[Any],
    *,
    lr: float,
    betas: tuple[float, float],
    eps: float,
    weight_decay: float,
    maximize: bool,
    decoupled: bool,
    scale: Scale = _NO_SCALE,
) -> None:
    """repmath.optim.adam_step, or adamw_step if decoupled, of each of `tensors`: param, grad, exp_avg, exp_avg_sq, and max_exp_avg_sq or None.
    Their counts of steps are integers, or arrays of one number of float32 on the device, which is read there. Errors are those of the functions;
    then nothing has been written."""
    numbers = _check_adam(lr, betas, eps, weight_decay)
    there = any(isinstance(step, Array) for step in steps)
    counts = [1 if there else check_count("step", step, 1) for step in steps]
    given = _checked(tensors, scale)
    if there:
        given = [[*t, *[None] * (5 - len(t)), step] for t, step in zip(given, steps, strict=True)]
    keys = [(NAMES[t[0].dtype], step) for t, step in zip(given, counts, strict=True) if t[0] is not None]
    for (name, step), of_key in _in_groups(given, keys):
        _calls.adam_steps(name, of_key, scale, *numbers, step, decoupled, bool(maximize))


def sgd_steps(
    tensors: _Lists,
    *,
    lr: float,
    momentum: float,
    dampening: float,
    weight_decay: float,
    nesterov: bool,
    maximize: bool,
    first: bool,
    scale: Scale = _NO_SCALE,
) -> None:
    """repmath.optim.sgd_step of each of `tensors`: param, grad, and a buffer, which is None without momentum. Errors are those of that function;
    then nothing has been written."""
    numbers = _check_sgd(lr, momentum, dampening, weight_decay, nesterov)
    given = [[*t, None, None] for t in _checked(tensors, scale)]
    for name, of_format in _in_groups(given, [NAMES[t[0].dtype] for t in given if t[0] is not None]):
        _calls.sgd_steps(name, of_format, scale, *numbers, bool(nesterov), bool(maximize), bool(first))
