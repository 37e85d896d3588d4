"""Optimiser steps: arguments are checked here, the C library computes."""

import contextlib
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _core, _random_modes
from ._dtypes import NAMES
from ._environment import guarded
from ._inplace import check_array, check_count, check_number, is_array, whole
from ._memory import as_bytes, calls, contiguous, on_device

_Array = np.ndarray[Any, Any]
ROUNDINGS = ("nearest", *_random_modes.MODES)
_Numbers = tuple[float, float, float, float, float]  # lr, the betas, eps, weight_decay


def _check_arrays(**arrays: _Array | None) -> tuple[str, tuple[int, ...]]:
    """The format and shape that all of these, the first of which is updated, have. All but `grad` are written."""
    (name, first), *rest = arrays.items()
    first = check_array(name, first, writable=True)
    for other, a in rest:
        if a is None:
            continue
        check_array(other, a, writable=other != "grad")
        if a.dtype != first.dtype or a.shape != first.shape:
            raise ValueError(
                f"{other} has dtype {a.dtype} and shape {a.shape}; {name} has dtype {first.dtype} and shape {first.shape}"
            )
    written = [(n, a) for n, a in arrays.items() if a is not None]
    for i, (other, a) in enumerate(written):
        for before, b in written[:i]:
            if np.may_share_memory(a, b) and np.shares_memory(a, b):
                raise ValueError(f"{other} shares memory with {before}")
    return NAMES[first.dtype], first.shape


def _step(arrays: list[_Array | None], grad: _Array, call: Any) -> None:
    """call(param, grad, states) with all as bytes."""
    if grad.size == 0:
        return
    with contextlib.ExitStack() as stack:
        own = [None if a is None else as_bytes(stack.enter_context(whole(a))) for a in arrays]
        call(own[0], as_bytes(contiguous(grad)), own[1:])


def _check_sgd(lr: Any, momentum: Any, dampening: Any, weight_decay: Any, nesterov: Any) -> tuple[float, float, float, float]:
    numbers = (
        check_number("lr", lr),
        check_number("momentum", momentum),
        check_number("dampening", dampening, -np.finfo(float).max),
        check_number("weight_decay", weight_decay),
    )
    if nesterov and (numbers[1] == 0 or numbers[2] != 0):
        raise ValueError("nesterov needs a momentum other than 0 and dampening 0")
    return numbers


def _check_adam(
    lr: Any, betas: Any, eps: Any, weight_decay: Any, names: tuple[str, str] = ("betas[0]", "betas[1]")
) -> _Numbers:
    try:
        beta1, beta2 = betas
    except (TypeError, ValueError):
        raise TypeError("betas must be a pair of numbers") from None
    return (
        check_number("lr", lr),
        check_number(names[0], beta1, below=1.0),
        check_number(names[1], beta2, below=1.0),
        check_number("eps", eps),
        check_number("weight_decay", weight_decay),
    )


@guarded
def sgd_step(
    param: _Array,
    grad: _Array,
    buffer: _Array | None = None,
    *,
    lr: float,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
    maximize: bool = False,
    first: bool = False,
    rounding: str = "nearest",
    seed: int = 0,
    stream: int = 0,
) -> None:
    """One step of stochastic gradient descent on one array, in place.

    With ``d = grad`` (``-grad`` when maximize) ``+ weight_decay*param``, the new
    values are ``buffer = RN(momentum*buffer + (1 - dampening)*d)``, or ``RN(d)`` at
    the first step, and ``param = RN(param - lr*x)``. Here x is d without momentum,
    the new buffer with it, and ``d + momentum*buffer`` with nesterov. Each is one
    real formula with one rounding; hyperparameters are exact.

    Parameters
    ----------
    param : ndarray
        Of float16, bfloat16, float32 or float64, any shape; updated.
    grad : ndarray
        Of the same dtype and shape.
    buffer : ndarray, optional
        The momentum buffer, of the same dtype and shape; updated. Needed when
        `momentum` is not 0, and not used otherwise.
    lr, momentum, weight_decay : float
        Finite and not negative.
    dampening : float, optional
        Finite.
    nesterov, maximize : bool, optional
        See above.
    first : bool, optional
        Whether this is the first step; `buffer` is then written, not read.
    rounding : {"nearest", "stochastic", "random", "up_down", "toward_zero", "down", "up"}, optional
        How each new value is rounded from its exact one (specification section 1a).
    seed, stream : int, optional
        Of the random roundings, from 0 to 2**64 - 1: `param` has the words of `stream`,
        `buffer` those of the next one.

    Raises
    ------
    TypeError
        An array is none, or of another dtype; a hyperparameter is no number; arrays
        on a device are rounded at random.
    ValueError
        Shapes or dtypes differ, an array to be updated is read-only, arrays share
        memory, a hyperparameter is out of range, or there is no such rounding.
        Nothing has been written.

    Notes
    -----
    An exact zero is +0. Where something is not finite, the rules of IEEE 754 for
    infinities apply to each operation of the formula; a weight decay of 0 adds no
    term.
    """
    numbers = _check_sgd(lr, momentum, dampening, weight_decay, nesterov)
    if numbers[1] == 0:
        buffer = None
    elif buffer is None:
        raise ValueError("momentum needs a buffer")
    place = _place(rounding, seed, stream)
    name, _ = _check_arrays(param=param, grad=grad, buffer=buffer)
    if place:
        _check_in_main_memory(param)

    def call(p: _Array, g: _Array, states: list[_Array | None]) -> None:
        options = (*numbers, bool(nesterov), bool(maximize), bool(first))
        if place:
            _core.random_sgd_step(place, name, p, g, states[0], *options)
        else:
            calls(p).sgd_step(name, p, g, states[0], *options)

    _step([param, buffer], grad, call)


def _place(rounding: Any, seed: Any, stream: Any) -> tuple[str, int, int, int] | None:
    """What rounds at random, checked; None for rounding to nearest."""
    if isinstance(rounding, str) and rounding == "nearest":
        _random_modes.place("stochastic", seed, stream)
        return None
    if not isinstance(rounding, str) or rounding not in _random_modes.MODES:
        raise ValueError(f"rounding must be one of {', '.join(ROUNDINGS)}, not {rounding!r}")
    return _random_modes.place(rounding, seed, stream)


def _check_in_main_memory(param: _Array) -> None:
    if on_device(param):
        raise TypeError("rounding must be 'nearest' for arrays on a device: param is on one")


def check_rounding(rounding: Any, seed: Any) -> None:
    """Raises where there is no such rounding or seed."""
    _place("nearest" if rounding is None else rounding, 0 if seed is None else seed, 0)


def stream_of(step: int, number: int) -> int:
    """The stream of the words of parameter `number` at a step, from 1: each parameter has four of them."""
    return (step << 32) + 4 * number


def _adam_step(
    param: _Array,
    grad: _Array,
    states: list[_Array | None],
    step: Any,
    numbers: _Numbers,
    decoupled: bool,
    maximize: bool,
    place: tuple[str, int, int, int] | None,
) -> None:
    step = check_count("step", step, 1)
    if step >= 2**63:
        raise ValueError(f"step must be less than 2**63, not {step}")
    keys = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")
    name, _ = _check_arrays(param=param, grad=grad, **dict(zip(keys, states, strict=True)))
    if place:
        _check_in_main_memory(param)

    def call(p: _Array, g: _Array, states: list[_Array | None]) -> None:
        m, v, w = states
        options = (*numbers, step, decoupled, bool(maximize))
        if place:
            _core.random_adam_step(place, name, p, g, m, v, w, *options)
        else:
            calls(p).adam_step(name, p, g, m, v, w, *options)

    _step([param, *states], grad, call)


@guarded
def adam_step(
    param: _Array,
    grad: _Array,
    exp_avg: _Array,
    exp_avg_sq: _Array,
    max_exp_avg_sq: _Array | None = None,
    *,
    step: int,
    lr: float = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    maximize: bool = False,
    rounding: str = "nearest",
    seed: int = 0,
    stream: int = 0,
) -> None:
    """One step of Adam on one array, in place.

    With ``d = grad`` (``-grad`` when maximize) ``+ weight_decay*param``, the new
    values are ``m = RN(b1*m + (1 - b1)*d)``, ``v = RN(b2*v + (1 - b2)*d**2)``, and
    from these ``param = RN(param - lr*mh/(sqrt(vh) + eps))``, where
    ``mh = m/(1 - b1**step)`` and ``vh = v/(1 - b2**step)``. Each is one real formula
    with one rounding; hyperparameters are exact.

    Parameters
    ----------
    param : ndarray
        Of float16, bfloat16, float32 or float64, any shape; updated.
    grad : ndarray
        Of the same dtype and shape.
    exp_avg, exp_avg_sq : ndarray
        m and v, of the same dtype and shape; updated. Zeros before the first step.
    max_exp_avg_sq : ndarray, optional
        With it (amsgrad), it becomes the larger of itself and v, and takes v's
        place in the formula of `param`.
    step : int
        The number of this step, from 1.
    lr, eps, weight_decay : float, optional
        Finite and not negative.
    betas : pair of float, optional
        b1 and b2, in [0, 1).
    maximize : bool, optional
        See above.
    rounding : {"nearest", "stochastic", "random", "up_down", "toward_zero", "down", "up"}, optional
        How each new value is rounded from its exact one (specification section 1a).
    seed, stream : int, optional
        Of the random roundings, from 0 to 2**64 - 1: `param` has the words of `stream`,
        `exp_avg` those of the next one, `exp_avg_sq` those of the one after it.

    Raises
    ------
    TypeError
        An array is none, or of another dtype; a hyperparameter is no number; arrays
        on a device are rounded at random.
    ValueError
        Shapes or dtypes differ, an array to be updated is read-only, arrays share
        memory, a hyperparameter is out of range, or there is no such rounding.
        Nothing has been written.

    Notes
    -----
    Zeros and numbers that are not finite: as in `sgd_step`.
    """
    numbers = _check_adam(lr, betas, eps, weight_decay)
    place = _place(rounding, seed, stream)
    _adam_step(param, grad, [exp_avg, exp_avg_sq, max_exp_avg_sq], step, numbers, False, maximize, place)


@guarded
def adamw_step(
    param: _Array,
    grad: _Array,
    exp_avg: _Array,
    exp_avg_sq: _Array,
    max_exp_avg_sq: _Array | None = None,
    *,
    step: int,
    lr: float = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 1e-2,
    maximize: bool = False,
    rounding: str = "nearest",
    seed: int = 0,
    stream: int = 0,
) -> None:
    """One step of AdamW on one array, in place.

    As `adam_step`, but the weight decay is no part of d, and
    ``param = RN(param*(1 - lr*weight_decay) - lr*mh/(sqrt(vh) + eps))``. Parameters
    and errors are those of `adam_step`.
    """
    numbers = _check_adam(lr, betas, eps, weight_decay)
    place = _place(rounding, seed, stream)
    _adam_step(param, grad, [exp_avg, exp_avg_sq, max_exp_avg_sq], step, numbers, True, maximize, place)


class _Optimizer:
    """Parameters by key, a dict of states for each that has been updated, and hyperparameters as attributes."""

    _options: tuple[str, ...] = ()

    def __init__(
        self, params: Mapping[Any, _Array] | Sequence[_Array] | _Array, rounding: str = "nearest", seed: int = 0
    ) -> None:
        self.rounding, self.seed = rounding, seed
        if is_array(params):
            params = [params]
        elif not isinstance(params, Iterable):
            raise TypeError(
                f"params must be arrays or a dict of them, not {'None' if params is None else type(params).__name__}"
            )
        named = dict(params.items()) if isinstance(params, Mapping) else dict(enumerate(params))
        if not named:
            raise ValueError("params is empty")
        self.params = {key: check_array(f"params[{key!r}]", p, writable=True) for key, p in named.items()}
        self.state: dict[Any, dict[str, Any]] = {}
        self._is_mapping = isinstance(params, Mapping)
        self._numbers = {key: i for i, key in enumerate(self.params)}
        self._check()
        check_rounding(self.rounding, self.seed)

    def _check(self) -> None:
        raise NotImplementedError

    def _update(self, param: _Array, grad: _Array, state: dict[str, Any], words: dict[str, Any]) -> None:
        raise NotImplementedError

    def _new_state(self, param: _Array) -> dict[str, Any]:
        raise NotImplementedError

    def step(self, grads: Mapping[Any, _Array | None] | Sequence[_Array | None] | _Array) -> None:
        """Update every parameter in place.

        Parameters
        ----------
        grads : dict, sequence or ndarray, as params was given
            A gradient of the dtype and shape of each parameter. Parameters whose
            gradient is None, or which a dict does not name, stay as they are.

        Raises
        ------
        TypeError, ValueError
            A gradient does not fit its parameter, there are more or fewer than
            parameters, or a hyperparameter has been set out of range. Nothing has been
            written.
        """
        self._check()
        check_rounding(self.rounding, self.seed)
        if is_array(grads):
            grads = [grads]
        elif not isinstance(grads, Iterable):
            raise TypeError(
                f"grads must be arrays or a dict of them, not {'None' if grads is None else type(grads).__name__}"
            )
        if isinstance(grads, Mapping) != self._is_mapping:
            raise TypeError("grads must be a dict exactly when params was one")
        if isinstance(grads, Mapping):
            given = dict(grads.items())
            unknown = [key for key in given if key not in self.params]
            if unknown:
                raise ValueError(f"grads has {unknown[0]!r}, which is no parameter")
        else:
            given = dict(enumerate(grads))
            if len(given) != len(self.params):
                raise ValueError(f"grads has {len(given)} arrays for {len(self.params)} parameters")
        present = {key: check_array(f"grads[{key!r}]", g) for key, g in given.items() if g is not None}
        for key, g in present.items():
            p = check_array(f"params[{key!r}]", self.params[key], writable=True)
            if g.dtype != p.dtype or g.shape != p.shape:
                raise ValueError(
                    f"grads[{key!r}] has dtype {g.dtype} and shape {g.shape}; its parameter has {p.dtype} and {p.shape}"
                )
            if np.shares_memory(g, p):
                raise ValueError(f"grads[{key!r}] shares memory with its parameter")
        for key, g in present.items():
            if key not in self.state:
                self.state[key] = self._new_state(self.params[key])
            state = self.state[key]
            step: int = state["step"]
            if self.rounding != "nearest" and step + 1 >= 2**32:
                raise ValueError(f"rounding at random has fewer than 2**32 steps; the parameter {key!r} has had {step}")
            words = {"rounding": self.rounding, "seed": self.seed, "stream": stream_of(step + 1, self._numbers[key])}
            self._update(self.params[key], g, state, words if self.rounding != "nearest" else {})

    def state_dict(self) -> dict[str, Any]:
        """Hyperparameters and states, as {"options": {...}, "state": {key: {name: value}}}; arrays are copies."""
        copied = {
            key: {name: v.copy() if isinstance(v, np.ndarray) else v for name, v in state.items()}
            for key, state in self.state.items()
        }
        return {"options": {name: getattr(self, name) for name in self._options}, "state": copied}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over what `state_dict` returned.

        Raises
        ------
        ValueError
            It is of another optimiser, names a parameter that is not there, or has
            arrays of another dtype or shape. Nothing has been changed.
        """
        options, states = state_dict.get("options"), state_dict.get("state")
        if not isinstance(options, Mapping) or not isinstance(states, Mapping) or set(options) != set(self._options):
            raise ValueError(f"state_dict is not one of {type(self).__name__}")
        new: dict[Any, dict[str, Any]] = {}
        previous = {name: getattr(self, name) for name in self._options}
        try:
            for name, value in options.items():
                setattr(self, name, value)
            self._check()
            for key, state in states.items():
                if key not in self.params:
                    raise ValueError(f"state_dict has states of {key!r}, which is no parameter")
                p, want = self.params[key], self._new_state(self.params[key])
                if set(state) != set(want):
                    raise ValueError(f"state_dict has {sorted(state)} of {key!r}, not {sorted(want)}")
                new[key] = {}
                for name, v in state.items():
                    if isinstance(want[name], np.ndarray):
                        v = check_array(f"state[{key!r}][{name!r}]", v)
                        if v.dtype != p.dtype or v.shape != p.shape:
                            raise ValueError(f"state[{key!r}][{name!r}] has dtype {v.dtype} and shape {v.shape}")
                        new[key][name] = v.copy()
                    else:
                        new[key][name] = operator.index(v)
        except BaseException:
            for name, value in previous.items():
                setattr(self, name, value)
            raise
        self.state = new


class SGD(_Optimizer):
    """Stochastic gradient descent, with momentum and Nesterov's; the formulas are those of `sgd_step`.

    Parameters
    ----------
    params : dict or sequence of ndarrays, or one ndarray
        Of float16, bfloat16, float32 or float64; `step` updates them in place.
    lr, momentum, dampening, weight_decay, nesterov, maximize
        As for `sgd_step`. They are attributes, and may be changed between steps.
    rounding, seed
        As for `sgd_step`; attributes too. Parameter number k, from 0, has the words of stream
        2**32 t + 4 k and the ones after it at its step t, from 1: a run that goes on from
        `state_dict` goes on with the same words.

    Raises
    ------
    TypeError, ValueError
        A parameter is no writable array of one of the formats, or a hyperparameter is
        out of range.

    Examples
    --------
    >>> p = np.ones(3, np.float32)
    >>> optimizer = SGD([p], lr=0.5)
    >>> optimizer.step([np.full(3, 0.5, np.float32)])
    >>> p
    array([0.75, 0.75, 0.75], dtype=float32)
    """

    _options = ("lr", "momentum", "dampening", "weight_decay", "nesterov", "maximize")

    def __init__(
        self,
        params: Mapping[Any, _Array] | Sequence[_Array] | _Array,
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        maximize: bool = False,
        rounding: str = "nearest",
        seed: int = 0,
    ) -> None:
        self.lr, self.momentum, self.dampening, self.weight_decay = lr, momentum, dampening, weight_decay
        self.nesterov, self.maximize = nesterov, maximize
        super().__init__(params, rounding, seed)

    def _check(self) -> None:
        _check_sgd(self.lr, self.momentum, self.dampening, self.weight_decay, self.nesterov)

    def _new_state(self, param: _Array) -> dict[str, Any]:
        return {"step": 0, "momentum_buffer": np.zeros(param.shape, param.dtype)} if self.momentum else {"step": 0}

    def _update(self, param: _Array, grad: _Array, state: dict[str, Any], words: dict[str, Any]) -> None:
        first = "momentum_buffer" not in state or state["step"] == 0
        if self.momentum and "momentum_buffer" not in state:
            state["momentum_buffer"] = np.zeros(param.shape, param.dtype)
        options = {name: getattr(self, name) for name in self._options}
        sgd_step(param, grad, state.get("momentum_buffer"), first=first, **options, **words)
        state["step"] += 1


class Adam(_Optimizer):
    """Adam; the formulas are those of `adam_step`.

    Parameters
    ----------
    params : dict or sequence of ndarrays, or one ndarray
        Of float16, bfloat16, float32 or float64; `step` updates them in place.
    lr, betas, eps, weight_decay, maximize
        As for `adam_step`. They are attributes, and may be changed between steps.
    rounding, seed
        As for `adam_step`, and streams as for `SGD`.
    amsgrad : bool, optional
        Whether the largest second moment so far takes the place of the second moment.

    Raises
    ------
    TypeError, ValueError
        A parameter is no writable array of one of the formats, or a hyperparameter is
        out of range.
    """

    _options = ("lr", "betas", "eps", "weight_decay", "amsgrad", "maximize")
    _decoupled = False

    def __init__(
        self,
        params: Mapping[Any, _Array] | Sequence[_Array] | _Array,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        maximize: bool = False,
        rounding: str = "nearest",
        seed: int = 0,
    ) -> None:
        self.lr, self.betas, self.eps, self.weight_decay = lr, betas, eps, weight_decay
        self.amsgrad, self.maximize = amsgrad, maximize
        super().__init__(params, rounding, seed)

    def _check(self) -> None:
        _check_adam(self.lr, self.betas, self.eps, self.weight_decay)

    def _new_state(self, param: _Array) -> dict[str, Any]:
        names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")[: 3 if self.amsgrad else 2]
        return {"step": 0} | {name: np.zeros(param.shape, param.dtype) for name in names}

    def _update(self, param: _Array, grad: _Array, state: dict[str, Any], words: dict[str, Any]) -> None:
        largest = None
        if self.amsgrad:
            largest = state.setdefault("max_exp_avg_sq", np.zeros(param.shape, param.dtype))
        f = adamw_step if self._decoupled else adam_step
        options = {name: getattr(self, name) for name in self._options if name != "amsgrad"}
        f(param, grad, state["exp_avg"], state["exp_avg_sq"], largest, step=state["step"] + 1, **options, **words)
        state["step"] += 1


class AdamW(Adam):
    """AdamW; the formulas are those of `adamw_step`. Parameters and errors are those of `Adam`; weight_decay is 0.01 by default."""

    _decoupled = True

    def __init__(
        self,
        params: Mapping[Any, _Array] | Sequence[_Array] | _Array,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        maximize: bool = False,
        rounding: str = "nearest",
        seed: int = 0,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize, rounding, seed)
