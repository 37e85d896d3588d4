"""Elementwise functions in any rounding mode, for float32 and float64: `repmath.rounding.exp(x, "down")`.

Each function of `repmath` is here, with the rounding mode after its arguments: "nearest" (ties to even), "toward_zero", "down" or
"up". The value of the definition over the reals is rounded once in that mode, so [down, up] is the narrowest interval of
numbers that holds it. Modes other than "nearest" take the accurate phase for every element: tens of nanoseconds to
microseconds each.

The random modes (specification section 1a) are "stochastic", "random" and "up_down": `repmath.rounding.exp(x, "stochastic", seed=1,
stream=5)`. They have float16 and bfloat16 too, and `sum`, `dot` and `matmul` of exact sums. An element's word depends on seed, stream
and its place in C order of the result: results are the same on every machine. `words` returns the words themselves.
"""

from collections.abc import Callable
from typing import Any

from . import _core, _dlpack, _frameworks, _random_modes
from ._random_modes import RANDOM_MODES, dot, matmul, sum, words

MODES = tuple(_core.rounded)


def _make(name: str) -> Callable[..., Any]:
    nin = _core.ufuncs[name].nin
    names = ["g", "x"] if name.endswith("_backward") else ["x", "y", "z"][:nin]

    def function(*args: Any, **kwargs: Any) -> Any:
        if _dlpack.any_foreign(args, kwargs):
            return _frameworks.call(function, args, kwargs)
        mode = kwargs.pop("mode", None)
        if mode is None:
            if len(args) != nin + 1:
                raise TypeError(f"{name} takes {', '.join(names)} and mode: {nin + 1} arguments, {len(args)} were given")
            *args, mode = args  # type: ignore[assignment]
        if isinstance(mode, str) and mode in RANDOM_MODES:
            allowed = {"seed", "stream", "out", "where"}
            if not set(kwargs) <= allowed:
                raise TypeError(
                    f"{name} under a random mode takes {', '.join(sorted(allowed))}, not {min(set(kwargs) - allowed)}"
                )
            options = {"seed": 0, "stream": 0, "out": None, "where": True} | kwargs
            return _random_modes.elementwise(name, args, mode, **options)
        if not isinstance(mode, str) or mode not in _core.rounded:
            raise ValueError(f"mode must be one of {', '.join((*MODES, *RANDOM_MODES))}, not {mode!r}")
        for key in ("seed", "stream"):
            if key in kwargs:
                raise TypeError(f"{name} takes {key} under a random mode only ({', '.join(RANDOM_MODES)})")
        return _core.rounded[mode][name](*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{name}({", ".join(names)}, mode, **kwargs)

    `repmath.{name}` rounded once in this rounding mode.

    Parameters
    ----------
    {", ".join(names)} : array_like
        Of float32 or float64, any shape{"s that broadcast" if nin > 1 else ""}. float16 and bfloat16 become float32;
        integers and bool become float64. The random modes keep float16 and bfloat16.
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


__all__ = ["MODES", "RANDOM_MODES", "dot", "matmul", "sum", "words", *_core.ufuncs]
globals().update({name: _make(name) for name in _core.ufuncs})


def __getattr__(name: str) -> Callable[..., Any]:
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
