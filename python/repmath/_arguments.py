"""Checks of arguments: NumPy arrays, what NumPy converts to one, and arrays of other libraries that support DLPack are accepted.

Arrays that mean more than their elements raise: the results would be right for the elements, but a mask, labels, units or a lazy
computation would be lost silently. NumPy dispatches the ufuncs to such arrays' own implementations.
"""

import operator
from collections.abc import Callable, Mapping
from types import NoneType
from typing import Any, get_args, get_origin

import numpy as np
from numpy.typing import ArrayLike

from . import _dlpack

# What parameters take, as `_dlpack.look` asks for it: no array, an array or None, an array.
_NO_ARRAY, _OPTIONAL, _ARRAY = 0, 1, 2


def _classify(kind: type) -> int:
    """How functions over arrays treat objects of a type. (_dlpack knows None, numbers and the like.)"""
    if issubclass(kind, np.generic):
        return _dlpack.ORDINARY
    if issubclass(kind, np.ma.MaskedArray):
        return _dlpack.CONTAINER
    if issubclass(kind, np.ndarray):
        own = any(getattr(kind, name) is not getattr(np.ndarray, name) for name in ("__array_ufunc__", "__array_function__"))
        return _dlpack.CONTAINER if own else _dlpack.ORDINARY
    if hasattr(kind, "__dlpack__"):
        return _dlpack.FOREIGN
    if hasattr(kind, "__array_ufunc__") or hasattr(kind, "__array_function__"):
        return _dlpack.CONTAINER
    if issubclass(kind, (str, bytes, Mapping)):
        return _dlpack.NO_ARRAY
    protocols = ("__array__", "__array_interface__", "__array_struct__", "__float__", "__index__")
    sequence = hasattr(kind, "__len__") and hasattr(kind, "__getitem__")
    return _dlpack.ORDINARY if sequence or any(hasattr(kind, name) for name in protocols) else _dlpack.NO_ARRAY


_dlpack.classify_by(_classify)


def _taken(annotation: Any) -> int:
    """The kind of argument that a parameter with this annotation accepts."""
    parts = set(get_args(annotation))
    usual = set(get_args(ArrayLike))
    if annotation == ArrayLike or ArrayLike in parts or (usual and usual <= parts):
        return _OPTIONAL if NoneType in parts else _ARRAY
    kinds = parts or {annotation}
    arrays = {kind for kind in kinds if kind is np.ndarray or get_origin(kind) is np.ndarray}
    if get_origin(annotation) is np.ndarray or annotation is np.ndarray:
        return _ARRAY
    return _OPTIONAL if arrays and kinds - arrays == {NoneType} else _NO_ARRAY


def parameters(function: Callable[..., Any]) -> tuple[bytes, int, dict[str, int]]:
    """For `_dlpack.look`: the kinds that positional parameters, variadic ones and keywords accept."""
    code, annotations = function.__code__, function.__annotations__
    count = code.co_argcount + code.co_kwonlyargcount
    takes = {name: _taken(annotations.get(name)) for name in code.co_varnames[:count]}
    rest = _taken(annotations.get(code.co_varnames[count])) if code.co_flags & 4 else _NO_ARRAY
    return bytes(list(takes.values())[: code.co_argcount]), rest, takes


def _named(kind: type) -> str:
    module = kind.__module__.partition(".")[0]
    return kind.__qualname__ if module in ("builtins", "__main__") else f"{module}.{kind.__qualname__}"


def check(name: str, x: Any, takes: int = _NO_ARRAY) -> None:
    """Raise a TypeError that names the argument if it is not an array where one is required, or means more than its elements."""
    found = _dlpack.kind_of(x)
    if found == _dlpack.NO_ARRAY and (takes == _ARRAY or (takes == _OPTIONAL and x is not None)):
        raise TypeError(f"{name} must be an array, not {'None' if x is None else _named(type(x))}")
    if found != _dlpack.CONTAINER:
        return
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError(
            f"{name} is a masked array, whose mask would be ignored: pass {name}.filled(value), {name}.compressed(), or {name}.data "
            f"with where=~numpy.ma.getmaskarray({name}) where the function has it (docs/limits.md)"
        )
    raise TypeError(
        f"{name} is a {_named(type(x))}; what it holds beside its elements, such as labels, units or a plan of computation, would "
        f"be lost: pass numpy.asarray({name})"
    )


def integer(name: str, value: Any) -> int:
    """The argument as a 64-bit integer."""
    try:
        n = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {'None' if value is None else _named(type(value))}") from None
    if not -(2**63) <= n < 2**63:
        raise ValueError(f"{name} must be an integer of 64 bits, not {n}")
    return n


def integers(name: str, values: Any) -> tuple[int, ...]:
    """The argument, one integer or several, as a tuple."""
    if hasattr(type(values), "__index__") and getattr(values, "ndim", 0) == 0:
        return (integer(name, values),)
    if not isinstance(values, (tuple, list, range, np.ndarray)):
        raise TypeError(
            f"{name} must be an integer or a tuple of them, not {'None' if values is None else _named(type(values))}"
        )
    return tuple(integer(name, v) for v in values)


def check_all(function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    """Raise TypeError for the first argument at fault."""
    positions, rest, takes = parameters(function)
    code = function.__code__
    beyond = code.co_varnames[code.co_argcount + code.co_kwonlyargcount] if code.co_flags & 4 else "argument"
    for place, x in enumerate(arguments):
        if place < len(positions):
            check(code.co_varnames[place], x, positions[place])
        else:
            check(f"{beyond}[{place - len(positions)}]", x, rest)
    for name, x in keywords.items():
        check(name, x, takes.get(name, _NO_ARRAY))
