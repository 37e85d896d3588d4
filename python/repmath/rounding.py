"""Elementwise functions in any rounding mode, for float32 and float64: `repmath.rounding.exp(x, "down")`.

Each function of `repmath` is here, with the rounding mode after its arguments: "nearest" (ties to even), "toward_zero", "down" or
"up". The value of the definition over the reals is rounded once in that mode, so [down, up] is the narrowest interval of
numbers that holds it. Modes other than "nearest" take the accurate phase for every element: tens of nanoseconds to
microseconds each.
"""

from collections.abc import Callable
from typing import Any

from . import _core, _dlpack, _frameworks

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
        if not isinstance(mode, str) or mode not in _core.rounded:
            raise ValueError(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
        return _core.rounded[mode][name](*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{name}({", ".join(names)}, mode, **kwargs)

    `repmath.{name}` rounded once in this rounding mode.

    Parameters
    ----------
    {", ".join(names)} : array_like
        Of float32 or float64, any shape{"s that broadcast" if nin > 1 else ""}. float16 and bfloat16 become float32;
        integers and bool become float64.
    mode : {{"nearest", "toward_zero", "down", "up"}}
        To nearest with ties to even, toward zero, toward -infinity, toward +infinity.
    out, where, casting, order, dtype, subok, signature
        As for every NumPy ufunc.

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


__all__ = ["MODES", *_core.ufuncs]
globals().update({name: _make(name) for name in _core.ufuncs})


def __getattr__(name: str) -> Callable[..., Any]:
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
