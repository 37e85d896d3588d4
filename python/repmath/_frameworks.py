"""Arrays of other libraries as arguments: DLPack gives access without a copy, and results are arrays of the same library."""

import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from . import _dlpack
from ._cuda import _library, _staging
from ._cuda._array import Array, Lent, Place, download

_Array = np.ndarray[Any, Any]
_Home = tuple[str, Callable[[Any], Any]]  # a framework's name and its from_dlpack

# What DLPack calls the devices that a message may have to name.
_DEVICES = {2: "CUDA", 4: "OpenCL", 7: "Vulkan", 8: "Metal", 10: "ROCm", 13: "CUDA (managed)", 14: "oneAPI"}
_VERSION = (1, 3)  # the newest that is known here; producers may answer with any older one

_dlpack.is_ordinary(Array)
_homes: dict[type, _Home | None] = {}
_known: dict[Callable[..., Any], tuple[str, ...]] = {}  # the names of positional arguments


def _device(name: str, x: Any) -> tuple[int, int]:
    """The kind and the number of the device whose memory x is in."""
    if not hasattr(x, "__dlpack_device__"):
        raise BufferError(
            f"{name} is a {type(x).__name__} without memory of its own; "
            "while JAX traces a function, repmath.jax takes the place of repmath (docs/dlpack.md#what-happens-to-gradients)"
        )
    return _dlpack.device_of(x)


def _named(kind: int, number: int) -> str:
    device = _DEVICES.get(kind, f"of DLPack's type {kind}")
    return f"device {device} {number}"


def _check_torch(name: str, x: Any) -> None:
    """Raises for tensors that PyTorch exports silently although they have a pending negation or a tangent of forward mode."""
    torch = sys.modules["torch"]
    if x.is_neg():
        raise BufferError(f"{name} has the negative bit set; use tensor.resolve_neg()")
    if torch.autograd.forward_ad.unpack_dual(x).tangent is not None:
        raise BufferError(
            f"{name} carries a tangent of forward mode, which would be lost; use repmath.torch "
            "(docs/dlpack.md#what-happens-to-gradients)"
        )


def view(name: str, x: Any) -> _Array:
    """An array over the memory of x, which has __dlpack__; errors name the argument."""
    with _naming(name):
        kind, number = _device(name, x)
        if kind not in _dlpack.HOST:
            raise BufferError(
                f"{name} is on {_named(kind, number)}; here it is read in main memory: move it there first "
                "(docs/dlpack.md#which-arrays-are-accepted)"
            )
        if _is_of(x, "torch"):
            _check_torch(name, x)
        try:
            capsule = x.__dlpack__(stream=None, max_version=_VERSION)  # main memory: there is no stream to wait for
        except TypeError:  # from before there were versions
            capsule = x.__dlpack__(stream=None)
    array: _Array = _dlpack.as_array(name, capsule)
    return array


@contextlib.contextmanager
def _naming(name: str) -> Iterator[None]:
    """Adds the argument's name to the errors of a producer."""
    try:
        yield
    except Exception as error:
        if not str(error).startswith(f"{name} "):  # it is the producer's own
            error.add_note(f"repmath: from the argument {name}")
        raise


def _is_of(x: Any, framework: str) -> bool:
    home = _home(type(x), x)
    return home is not None and home[0] == framework


def shape_of(name: str, x: Any) -> tuple[int, ...]:
    """The shape of an array, or of an argument that is converted to one."""
    if _dlpack.is_foreign(x):
        return tuple(x.shape) if hasattr(x, "shape") else view(name, x).shape
    return np.shape(x)


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
    """The names of arguments in error messages."""
    for place, _ in enumerate(arguments):
        yield known[place] if place < len(known) else f"argument {place}"


class _Views:
    """The arguments of a call that are arrays of another library, over their memory; one that is given twice stays one."""

    def __init__(self) -> None:
        self.views: dict[int, tuple[_Array | Array, Any]] = {}  # by the identity of an argument
        self.home: tuple[str, _Home] | None = None  # of the argument of this name
        self.place: tuple[str, tuple[int, int]] | None = None  # where the argument of this name is
        self.stream: Place | None = None

    def seen(self, name: str, x: Any) -> Any:
        """The view of an argument, or the argument."""
        if not _dlpack.is_foreign(x):
            return x
        if id(x) not in self.views:
            home = _home(type(x), x)
            if home and self.home is None:
                self.home = name, home
            elif home and self.home and self.home[1][0] != home[0]:
                raise TypeError(
                    f"{self.home[0]} is an array of {self.home[1][0]} and {name} one of {home[0]}; one call takes one framework's "
                    "(docs/dlpack.md#what-is-returned)"
                )
            self.views[id(x)] = self._view(name, x), x
        return self.views[id(x)][0]

    def _view(self, name: str, x: Any) -> _Array | Array:
        with _naming(name):
            kind, number = _device(name, x)
        on_device = kind in _dlpack.CUDA
        where = (_dlpack.OF_CUDA, number) if on_device else (1, 0)  # main memory is one
        if self.place is None:
            self.place = name, where
        elif self.place[1] != where:
            first, second = ("in main memory" if w[0] == 1 else f"on {_named(*w)}" for w in (self.place[1], where))
            raise TypeError(
                f"{self.place[0]} is {first} and {name} {second}; one call computes in one place "
                "(docs/dlpack.md#which-arrays-are-accepted)"
            )
        if not on_device:
            return view(name, x)
        with _naming(name):
            try:
                _library.load()
            except ImportError as error:
                raise BufferError(f"{name} is on {_named(kind, number)}; move it to main memory, or: {error}") from None
            if _is_of(x, "torch"):
                _check_torch(name, x)
            if self.stream is None:  # one for the call
                self.stream = _staging.place_of(self.home[1][0] if self.home else None, number)
            return _staging.take(name, x, self.stream, _VERSION)

    def run(self, function: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
        """The function of the views; its arrays in the framework of the arguments."""
        arrays = [a for a, _ in self.views.values() if isinstance(a, Array)]
        if arrays:
            result = _staging.run(function, arrays, arguments, keywords)
        else:
            result = function(*arguments, **keywords)
        return self._returned(result)

    def _returned(self, result: Any) -> Any:
        if isinstance(result, (np.ndarray, Array)):
            for array, own in self.views.values():
                if result is array:  # out, or what else was written in place
                    return own
        take = self.home[1][1] if self.home else None
        if isinstance(result, Array):
            return download(result) if take is None else _taken(result, take, (_dlpack.OF_CUDA, result.place.device))
        if isinstance(result, np.ndarray):
            return result if take is None else _taken(result, take)
        if isinstance(result, np.generic) and take is not None:
            return _taken(np.asarray(result), take)
        if isinstance(result, (tuple, list)):
            parts = [self._returned(part) for part in result]
            return type(result)._make(parts) if hasattr(result, "_make") else type(result)(parts)
        return result


def call(
    function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any], known: Sequence[str] | None = None
) -> Any:
    """The function of arrays over the same memory, which it may write to; its arrays in the framework of the arguments.

    `known` are the names of the first arguments, where the function's signature has none."""
    views = _Views()
    names = _names(_parameters(function) if known is None else known, arguments)
    arrays = [views.seen(name, x) for name, x in zip(names, arguments, strict=True)]
    return views.run(function, arrays, {name: views.seen(name, x) for name, x in keywords.items()})


def _taken(array: Any, take: Callable[[Any], Any], device: tuple[int, int] = (1, 0)) -> Any:
    """The array in another framework, over the same memory wherever that takes it."""
    if isinstance(array, Array) and isinstance(array.owner, Lent) and min(array.strides, default=0) >= 0:
        return array.owner.over(array)
    in_main_memory = isinstance(array, np.ndarray)
    if in_main_memory and not (array.flags.writeable and (array.flags.c_contiguous or array.flags.f_contiguous)):
        array = array.copy()  # strides may be negative, which not all have
    result = take(_dlpack.Exported(array, device))
    size = getattr(getattr(result, "dtype", None), "itemsize", None)
    if size in (array.dtype.itemsize, None):
        return result
    # JAX halves 64-bit types unless told otherwise. That keeps small integers; of floats it would be a second rounding.
    if in_main_memory and array.dtype.kind in "iu" and not (array > 2**31 - 1).any() and not (array < -(2**31)).any():
        return result
    raise TypeError(
        f"the result is {array.dtype}, for which {result.dtype} came back: enable 64-bit types (jax_enable_x64), "
        "convert the arguments, or pass dtype= (docs/dlpack.md#what-is-returned)"
    )
