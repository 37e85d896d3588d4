"""Functions of PyTorch that are replaced while there is a block: their operators are called too late, or not at all, for one rounding.

Meanwhile the attribute that names a function of C refers to a replacement, which calls the original unless the running code is in a block. A
function of Python gets other code, so that it is replaced under any name by which a program knows it. Composed operators of ATen need none of this: the
dispatcher calls for them (`_composites.py`).
"""

import functools
import sys
import types
from collections.abc import Callable
from typing import Any

import torch

from . import _blocks, _composites, _constructors, _sharded
from ._optimizer_numbers import Number

_Function = Callable[..., Any]


def _item(func: _Function, args: Any, kwargs: Any) -> Any:
    """A number for an optimiser of PyTorch's, which takes powers of it, is one of ours."""
    value = func(*args, **kwargs)
    if type(value) is float and sys._getframe(2).f_globals.get("__name__", "").startswith("torch.optim."):
        return Number(value)
    return value


def _whole(name: str) -> _Function:
    def call(func: _Function, args: Any, kwargs: Any) -> Any:
        found = _composites.FUNCTIONS[name](*args, **kwargs)
        if found is NotImplemented:
            found = _sharded.of_whole(_composites.FUNCTIONS[name], args, kwargs)
        return func(*args, **kwargs) if found is NotImplemented else found

    return call


def _in_a_block(func: _Function, function: _Function) -> _Function:
    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling() or not _blocks.inside():
            return func(*args, **kwargs)
        return function(func, args, kwargs)

    return call


# --- functions of C

_REPLACED: tuple[tuple[Any, str, _Function], ...] = ((torch.Tensor, "item", _item), *_constructors.NUMBERS)
_SAVED = [(owner, name, vars(owner).get(name)) for owner, name, _ in _REPLACED]  # None where a base class has it
_CALLS = [(owner, name, _in_a_block(getattr(owner, name), function)) for owner, name, function in _REPLACED]

# --- functions of Python: the new code runs with the globals of the old one, and has its parameters


def _kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):  # type: ignore[no-untyped-def]
    from repmath.torch._functions import WHOLES

    return WHOLES["kl_div"](input, target, size_average, reduce, reduction, log_target)


def _softsign(input):  # type: ignore[no-untyped-def]
    from repmath.torch._functions import WHOLES

    return WHOLES["softsign"](input)


_CODES: dict[str, Any] = {"kl_div": _kl_div.__code__, "softsign": _softsign.__code__}
_OLD_CODES: dict[str, Any] = {name: getattr(torch.nn.functional, name).__code__ for name in _CODES}


def _copy(func: Any) -> _Function:
    made = types.FunctionType(func.__code__, func.__globals__, func.__name__, func.__defaults__, func.__closure__)
    made.__kwdefaults__ = func.__kwdefaults__
    return made


WHOLES: dict[str, _Function] = {name: _in_a_block(_copy(getattr(torch.nn.functional, name)), _whole(name)) for name in _CODES}


def _replace(on: bool) -> None:
    for owner, name, function in _CALLS if on else _SAVED:
        if function is None:
            delattr(owner, name)
        else:
            setattr(owner, name, function)
    for name, code in (_CODES if on else _OLD_CODES).items():
        getattr(torch.nn.functional, name).__code__ = code


_blocks.process.told.append(_replace)
