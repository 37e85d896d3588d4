"""Arrays of other libraries as arguments: seen without a copy through DLPack, and results given back in their kind."""

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
_known: dict[Callable[..., Any], tuple[str, ...]] = {}  # the names of positional arguments


def _check_device(name: str, x: Any) -> None:
    if not hasattr(x, "__dlpack_device__"):
        raise BufferError(
            f"{name} is a {type(x).__name__} without memory of its own; "
            "while JAX traces a function, repmath.jax takes the place of repmath"
        )
    kind, number = _dlpack.device_of(x)
    if kind not in _dlpack.HOST:
        device = _DEVICES.get(kind, f"of DLPack's type {kind}")
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
    try:
        _check_device(name, x)
        home = _home(type(x), x)
        if home and home[0] == "torch":
            _check_torch(name, x)
        try:
            capsule = x.__dlpack__(stream=None, max_version=_VERSION)  # main memory: there is no stream to wait for
        except TypeError:  # from before there were versions
            capsule = x.__dlpack__(stream=None)
    except Exception as error:
        if not str(error).startswith(f"{name} "):  # it is the producer's own
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


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the positional arguments that have one."""
    if function not in _known:
        parameters = inspect.signature(function).parameters.values()
        _known[function] = tuple(p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))
    return _known[function]


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
        return result if take is None else _taken(result, take)
    if isinstance(result, np.generic) and take is not None:
        return _taken(np.asarray(result), take)
    if isinstance(result, (tuple, list)):
        return type(result)(_returned(part, views, take) for part in result)
    return result


def _taken(array: _Array, take: Callable[[Any], Any]) -> Any:
    """The array in another framework, over the same memory wherever that takes it."""
    flags = array.flags
    if not (flags.writeable and (flags.c_contiguous or flags.f_contiguous)):
        array = array.copy()  # strides may be negative, which not all have
    result = take(_dlpack.Exported(array))
    size = getattr(getattr(result, "dtype", None), "itemsize", None)
    if size in (array.dtype.itemsize, None):
        return result
    # JAX halves 64-bit types unless told otherwise. That keeps small integers; of floats it would be a second rounding.
    if array.dtype.kind in "iu" and not (array > 2**31 - 1).any() and not (array < -(2**31)).any():
        return result
    raise TypeError(
        f"the result is {array.dtype}, for which {result.dtype} came back: enable 64-bit types (jax_enable_x64), "
        "convert the arguments, or pass dtype="
    )
