"""NumPy converts and compares in the caller's floating-point environment, where subnormal numbers may count as zeros and rounding may
go up or down. The C library guards itself; Python functions that leave such steps to NumPy run in the default environment.
All public functions over arrays pass here, so arrays of other libraries become NumPy arrays here, too, and what is none is refused."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from . import _arguments, _core, _dlpack, _frameworks

_Function = TypeVar("_Function", bound=Callable[..., Any])


def guarded(function: _Function) -> _Function:
    """The function in the default floating-point environment, the caller's given back as it was; over whatever has __dlpack__."""

    takes, rest, named = _arguments.parameters(function)
    look = _dlpack.look

    @functools.wraps(function)
    def inside(*arguments: Any, **keywords: Any) -> Any:
        found = look(arguments, keywords, takes, rest, named)
        if found:
            _arguments.check_all(function, arguments, keywords)
            return _frameworks.call(inside, arguments, keywords)
        with _core.Environment():
            return function(*arguments, **keywords)

    return inside  # type: ignore[return-value]
