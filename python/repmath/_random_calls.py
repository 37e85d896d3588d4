"""Calls of functions of NumPy arrays in scopes of `repmath.rounding` under the modes "stochastic" and "random": those of `_random_functions`, `_random_layers` and
`_decompositions`."""

import functools
import inspect
from typing import Any

import numpy as np

from . import _core, _decompositions, _random_decompositions, _random_matrices, _random_modes, _scope
from . import _random_attention as attention
from . import _random_fourier as _random_fourier
from . import _random_functions as functions
from . import _random_gradients as gradients
from . import _random_inverses as _random_inverses
from . import _random_layers as layers
from . import _random_losses as losses
from ._dtypes import NAMES

_FUNCTIONS = {**functions.FUNCTIONS, **layers.FUNCTIONS, **gradients.FUNCTIONS, **losses.FUNCTIONS, **attention.FUNCTIONS}
_MATRICES = {**layers.MATRICES, **gradients.MATRICES}


def call(name: str, mode: str, arguments: tuple[Any, ...], keywords: dict[str, Any], seed: int, stream: int) -> Any:
    """The result of a call of one of these functions.

    Raises
    ------
    TypeError
        This call of the function has no rounding of the mode.
    """

    if name in layers.DECOMPOSED:
        with _decompositions.arithmetic(_random_decompositions.Random(mode, seed, stream)):
            return layers.DECOMPOSED[name](*arguments, **keywords)
    if name in _MATRICES:
        return _of_matrices(name, mode, arguments, keywords, seed, stream)
    function, build = _FUNCTIONS[name]
    name = name.lstrip("_")
    bound = inspect.signature(function).bind(*arguments, **keywords)
    bound.apply_defaults()
    old = {n: None if v is None else np.array(v) for n, v in bound.arguments.items() if n.startswith("running_")}
    made = function(*arguments, **keywords)
    several = isinstance(made, tuple)
    if mode == "up_down":
        running = [v for n, v in bound.arguments.items() if n in old and v is not None and bound.arguments["training"]]
        for r, v in enumerate([*(made if several else [made]), *running]):
            v[...] = _random_modes.up_down(v, seed, _random_modes.part(stream, r * _random_modes.APART))
        return made
    nearest: Any = made if several else np.asarray(made)
    if not several and nearest.dtype not in NAMES:
        if nearest.dtype.kind in "iub":
            return made  # counts
        if name != "to_float8":
            raise TypeError(
                f"{name} of {nearest.dtype} has no {mode} rounding: it cannot be called in repmath.rounding.scope"
            )
    at, given = functions.At(mode, seed, stream), {**bound.arguments, "function": function, "old": old}
    try:
        with _core.Environment(), np.errstate(all="ignore"):
            try:
                found = build(at, nearest, given)
            except functions.Lacks:
                if name not in losses.OTHERS:
                    raise
                found = losses.OTHERS[name](at, nearest, given)
    except functions.Lacks as error:
        raise TypeError(
            f"{name} with {error} has no {mode} rounding: it cannot be called in repmath.rounding.scope"
        ) from None
    if several:
        return found
    out = bound.arguments.get("out")
    if out is not None:
        np.copyto(made, found)
        return made
    return np.asarray(found, nearest.dtype) if isinstance(made, np.ndarray) else np.asarray(found, nearest.dtype)[()]


def _of_matrices(name: str, mode: str, arguments: tuple[Any, ...], keywords: dict[str, Any], seed: int, stream: int) -> Any:

    function, build = _MATRICES[name]
    bound = inspect.signature(function).bind(*arguments, **keywords)
    bound.apply_defaults()
    made = function(*arguments, **keywords)
    first = made[-1] if name == "slogdet" else made[0] if isinstance(made, tuple) else made
    if not np.size(first):
        return made
    words = {"mode": mode, "seed": seed, "stream": stream}
    try:
        with _core.Environment(), np.errstate(all="ignore"):
            return build(_random_matrices.part_of(words, np.asarray(first).dtype), made, bound.arguments)
    except _random_matrices.Refused as error:
        raise TypeError(
            f"{name} of matrices {error} has no {mode} rounding: it cannot be called in repmath.rounding.scope"
        ) from None


def _enter(name: str) -> None:
    _scope._HANDLERS[name] = functools.partial(call, name)
    _scope._CALLS.add(name)


def enter(more: dict[str, Any]) -> None:
    """Functions of a module that is loaded when it is needed."""
    _FUNCTIONS.update(more)
    for name in more:
        _enter(name)


for _name in (*_FUNCTIONS, *_MATRICES, *layers.DECOMPOSED):
    _enter(_name)
