"""Arrays of other libraries as arguments: seen without a copy through DLPack, and results given back in their kind."""

import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from . import _dlpack

_Array = np.ndarray[Any, Any]
_Home = tuple[str, Callable[[Any], Any]]  # a framework's name and its from_dlpack

# What DLPack calls the devices that a message may have to name.
_DEVICES = {2: "CUDA", 4: "OpenCL", 7: "Vulkan", 8: "Metal", 10: "ROCm", 13: "CUDA managed memory", 14: "oneAPI"}
_VERSION = (1, 3)  # the newest that is known here; producers may answer with any older one

_homes: dict[type, _Home | None] = {}


def _check_device(name: str, x: Any) -> None:
    kind, number = x.__dlpack_device__()
    if int(kind) not in _dlpack.HOST:
        device = _DEVICES.get(int(kind), f"of DLPack's type {int(kind)}")
        raise BufferError(
            f"{name} is on device {device} {number}; functions over arrays compute on the CPU: move it there first"
        )


def _check_torch(name: str, x: Any) -> None:
    """What PyTorch's own export keeps silent about: a pending change of sign, and a tangent of forward mode."""
    torch = sys.modules["torch"]
    if x.is_neg():
        raise BufferError(f"{name} has the negative bit set; use tensor.resolve_neg()")
    if torch.autograd.forward_ad.unpack_dual(x).tangent is not None:
        raise BufferError(f"{name} carries a tangent of forward mode, which would be lost; use repmath.torch")


def view(name: str, x: Any) -> _Array:
    """An array over the memory of x, which has __dlpack__; what is raised names the argument."""
    _check_device(name, x)
    home = _home(type(x), x)
    if home and home[0] == "torch":
        _check_torch(name, x)
    try:
        try:
            capsule = x.__dlpack__(stream=None, max_version=_VERSION)  # main memory: there is no stream to wait for
        except TypeError:  # from before there were versions
            capsule = x.__dlpack__(stream=None)
    except Exception as error:
        error.add_note(f"repmath: from the argument {name}")
        raise
    array: _Array = _dlpack.as_array(name, capsule)
    return array


def shape_of(name: str, x: Any) -> tuple[int, ...]:
    """The shape of an array or of what becomes one."""
    return np.shape(view(name, x) if _dlpack.is_foreign(x) else x)


def _home(kind: type, x: Any) -> _Home | None:
    """Where an array comes from: the library of its type that has a from_dlpack. None: results stay NumPy arrays."""
    try:
        return _homes[kind]
    except KeyError:
        pass
    found: _Home | None = None
    candidates = [x.__array_namespace__()] if hasattr(kind, "__array_namespace__") else []
    candidates += [sys.modules.get(base.__module__.partition(".")[0]) for base in kind.__mro__]
    for module in candidates:
        take = getattr(module, "from_dlpack", None)
        if callable(take):
            name = module.__name__.partition(".")[0]
            found = None if name == "numpy" else (name, take)
            break
    _homes[kind] = found
    return found


@functools.cache
def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the positional arguments that have one."""
    parameters = inspect.signature(function).parameters.values()
    return tuple(p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))


def _names(known: Sequence[str], arguments: tuple[Any, ...]) -> Iterator[str]:
    """The names of arguments, as messages have them."""
    for place, _ in enumerate(arguments):
        yield known[place] if place < len(known) else f"argument {place}"


def call(
    function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any], known: Sequence[str] | None = None
) -> Any:
    """The function of arrays over the same memory, which it may write to; its arrays in the framework of the arguments.

    `known` are the names of the first arguments, where the function's signature has none."""
    views: dict[int, tuple[_Array, Any]] = {}  # by the identity of an argument: one that is given twice stays one
    homes: dict[str, tuple[str, Callable[[Any], Any]]] = {}

    def seen(name: str, x: Any) -> Any:
        if not _dlpack.is_foreign(x):
            return x
        if id(x) not in views:
            home = _home(type(x), x)
            if home:
                homes.setdefault(home[0], (name, home[1]))
                if len(homes) > 1:
                    (first, (other, _)), (second, _) = homes.items()
                    raise TypeError(
                        f"{other} is an array of {first} and {name} one of {second}; one call takes one framework's"
                    )
            views[id(x)] = view(name, x), x
        return views[id(x)][0]

    names = _names(_parameters(function) if known is None else known, arguments)
    arrays = [seen(name, x) for name, x in zip(names, arguments, strict=True)]
    result = function(*arrays, **{name: seen(name, x) for name, x in keywords.items()})
    take = next(iter(homes.values()))[1] if homes else None
    return _returned(result, views, take)


def _returned(result: Any, views: Mapping[int, tuple[_Array, Any]], take: Callable[[Any], Any] | None) -> Any:
    if isinstance(result, np.ndarray):
        for array, own in views.values():
            if result is array:  # out, or what else was written in place
                return own
        if take is None:
            return result
        return take(_dlpack.Exported(result if result.flags.writeable else result.copy()))
    if isinstance(result, np.generic) and take is not None:
        return take(_dlpack.Exported(np.asarray(result)))
    if isinstance(result, (tuple, list)):
        return type(result)(_returned(part, views, take) for part in result)
    return result
