"""The decorator of public functions: the default floating-point environment, and arrays of other libraries as NumPy arrays.

NumPy converts and compares in the caller's environment, where subnormal numbers may be flushed to zero and another rounding mode may be set.
The C library guards itself; Python functions that leave such steps to NumPy need the guard here. What is not an array raises."""

import functools
import warnings
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from . import _arguments, _core, _dlpack, _frameworks, _scope

_Function = TypeVar("_Function", bound=Callable[..., Any])


def guarded(function: _Function) -> _Function:
    """Runs the function in the default floating-point environment, restores the caller's, and accepts arrays with __dlpack__."""

    takes, rest, named = _arguments.parameters(function)
    look, scopes = _dlpack.look, _scope.OPEN

    @functools.wraps(function)
    def inside(*arguments: Any, **keywords: Any) -> Any:
        found = look(arguments, keywords, takes, rest, named)
        if found:
            _arguments.check_all(function, arguments, keywords)
            return _frameworks.call(inside, arguments, keywords)
        if scopes and (made := _scope.call(function, arguments, keywords)) is not NotImplemented:
            return made
        with _core.Environment():
            return function(*arguments, **keywords)

    return inside  # type: ignore[return-value]


_ERRORS = {"over": ("overflow", 2), "invalid": ("invalid value", 8)}  # what NumPy says, and its code


def report(function: str, met: Iterable[str]) -> None:
    """Reports floating-point errors as numpy.errstate demands, as NumPy does after a ufunc."""
    for kind in met:
        what, code = _ERRORS[kind]
        wanted = np.geterr()[kind]  # type: ignore[literal-required]
        message = f"{what} encountered in {function}"
        if wanted == "raise":
            raise FloatingPointError(message)
        if wanted == "warn":
            warnings.warn(message, RuntimeWarning, stacklevel=6)  # the call of the public function
        elif wanted == "print":
            print(f"Warning: {message}")
        elif wanted == "log":
            np.geterrcall().write(f"Warning: {message}\n")  # type: ignore[union-attr]
        elif wanted == "call":
            np.geterrcall()(what, code)  # type: ignore[operator, misc]
