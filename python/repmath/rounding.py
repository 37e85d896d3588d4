"""Elementwise functions in any rounding mode, for float32 and float64: `repmath.rounding.exp(x, "down")`.

Each function of `repmath` is here, with the rounding mode after its arguments: "nearest" (ties to even), "toward_zero", "down" or
"up". The value of the definition over the reals is rounded once in that mode, so [down, up] is the narrowest interval of
numbers that holds it. Modes other than "nearest" take the accurate phase for every element: tens of nanoseconds to
microseconds each.

The random modes (specification section 1a) are "stochastic", "random" and "up_down": `repmath.rounding.exp(x, "stochastic", seed=1,
stream=5)`. They have float16 and bfloat16 too, and `sum`, `dot` and `matmul` of exact sums, which take "toward_zero", "down" and "up" as well. An element's word depends on seed, stream
and its place in C order of the result: results are the same on every machine. `words` returns the words themselves. In a `scope` the functions of
`repmath` round at random.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _core, _dlpack, _frameworks, _random_modes, _reductions, _scope
from ._dtypes import NAMES, check_held
from ._random_modes import RANDOM_MODES, dot, matmul, sum, words
from ._scope import scope

MODES = tuple(_core.rounded)
_OPTIONS = ("seed", 0), ("stream", 0), ("out", None), ("where", True)


def _make(name: str) -> Callable[..., Any]:
    power = name in _core.powers
    nin = 2 if power else _core.ufuncs[name].nin
    names = ["x", "n"] if power else ["g", "x"] if name.endswith("_backward") else ["x", "y", "z"][:nin]

    def function(*args: Any, **kwargs: Any) -> Any:
        if _dlpack.any_foreign(args, kwargs):
            return _frameworks.call(function, args, kwargs)
        mode = kwargs.pop("mode", None)
        if mode is None:
            if len(args) != nin + 1:
                raise TypeError(f"{name} takes {', '.join(names)} and mode: {nin + 1} arguments, {len(args)} were given")
            *args, mode = args  # type: ignore[assignment]
        if isinstance(mode, str) and mode in RANDOM_MODES:
            options = [kwargs.pop(key, value) for key, value in _OPTIONS]
            if kwargs:
                raise TypeError(f"{name} under a random mode takes {', '.join(sorted(dict(_OPTIONS)))}, not {min(kwargs)}")
            return _random_modes.elementwise(name, args, mode, *options)
        if not isinstance(mode, str) or mode not in _core.rounded:
            raise ValueError(f"mode must be one of {', '.join((*MODES, *RANDOM_MODES))}, not {mode!r}")
        for key in ("seed", "stream"):
            if key in kwargs:
                raise TypeError(f"{name} takes {key} under a random mode only ({', '.join(RANDOM_MODES)})")
        return (_core.rounded_powers if power else _core.rounded)[mode][name](*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{name}({", ".join(names)}, mode, **kwargs)

    `repmath.{name}` rounded once in this rounding mode.

    Parameters
    ----------
    {", ".join(names)} : array_like
        Of float32 or float64, any shape{"s that broadcast" if nin > 1 else ""}. float16 and bfloat16 become float32;
        integers and bool become float64. The random modes keep float16 and bfloat16.{" n is of integers." if power else ""}
    mode : {{"nearest", "toward_zero", "down", "up", "stochastic", "random", "up_down"}}
        To nearest with ties to even, toward zero, toward -infinity, toward +infinity, or at random.
    out, where, casting, order, dtype, subok, signature
        As for every NumPy ufunc; the random modes have out, and where with out.
    seed, stream : int
        Of the random modes: from 0 to 2**64 - 1, by default 0.

    Returns
    -------
    ndarray or scalar

    Raises
    ------
    ValueError
        `mode` is none of these.
    TypeError
        An argument is missing, or is longdouble, complex or not a number.
    """
    return function


def _in_scope(ufunc: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], here: scope) -> Any:
    """An elementwise function that is called in a scope."""
    name, nin = ufunc.__name__, ufunc.nin
    if len(arguments) == nin + 1:
        if keywords.get("out") is not None:
            raise TypeError(f"{name} has two outputs, by position and by name")
        *arguments, keywords["out"] = arguments  # type: ignore[assignment]
    if len(arguments) != nin:
        raise TypeError(f"{name} takes {nin} arguments, {len(arguments)} were given")
    options = {
        key: value for key, value in keywords.items() if not (key in ("out", "where") and (value is None or value is True))
    }
    if not set(options) <= {"out", "where"}:
        raise TypeError(f"{name} in a scope takes out and where, not {min(set(options) - {'out', 'where'})}")
    options = {"out": None, "where": True} | options
    return _random_modes.elementwise(name, tuple(arguments), here.mode, **here.next(), **options)


def _step(array: np.ndarray, seed: int, stream: int) -> np.ndarray:
    if array.dtype.name.startswith("float8"):
        return np.asarray(_scope._GIVEN["up_down of 8 bits"](array, seed, stream))
    if array.dtype not in NAMES and array.dtype.kind != "c":
        raise TypeError(f"a result of {array.dtype} has no random rounding")
    return _random_modes.up_down(array, seed, stream)


_scope._GIVEN.update(ufunc=_in_scope, up_down=_step)
_core.set_scoped(_scope._scoped)


@_scope.handler("sum")
def _sum(
    mode: str, a: Any, *, axis: Any, dtype: Any, out: Any, keepdims: bool, initial: Any, where: Any, **words: Any
) -> Any:
    x = np.asarray(a)
    if where is not True:
        x = np.where(_reductions.mask_of(where, x.shape), x, np.zeros((), x.dtype))  # zeros add nothing
    extra = np.asarray(initial)
    if extra.ndim or initial != 0:
        if extra.ndim:
            raise ValueError(f"initial must be a scalar, not an array of shape {extra.shape}")
        for name, part in (("a", x), ("initial", extra)):
            check_held(name, part)
        target = _reductions._result_dtype(dtype, x.dtype)
        axes, _, shape = _reductions._axes(x, axis, keepdims)
        rows = np.moveaxis(x, axes, range(x.ndim - len(axes), x.ndim))
        rows = rows.reshape(*rows.shape[: x.ndim - len(axes)], -1)
        more = np.broadcast_to(extra, (*rows.shape[:-1], 1))
        made = sum(np.concatenate((rows, more), -1, dtype=np.float64), mode, -1, dtype=target, **words)
        return _random_modes._deliver(np.asarray(made).reshape(shape), out)
    return sum(x, mode, axis, keepdims=keepdims, dtype=dtype, out=out, **words)


@_scope.handler("dot")
def _dot(mode: str, a: Any, b: Any, *, out: Any, **words: int) -> Any:
    if np.ndim(a) != 1 or np.ndim(b) != 1:
        return _scope._HANDLERS["_dot_general"](mode, (a, b, out), {}, **words)
    made = dot(a, b, mode, **words)
    return made if out is None else _random_modes._deliver(np.asarray(made), out)


@_scope.handler("matmul")
def _matmul(mode: str, a: Any, b: Any, *, out: Any, bias: Any, dtype: Any, **words: int) -> Any:
    return matmul(a, b, mode, bias=bias, dtype=dtype, out=out, **words)


__all__ = ["MODES", "RANDOM_MODES", "dot", "matmul", "scope", "sum", "words", *_core.ufuncs, *_core.powers]
globals().update({name: _make(name) for name in (*_core.ufuncs, *_core.powers)})


def __getattr__(name: str) -> Callable[..., Any]:
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
