"""The dispatch keys by which PyTorch's dispatcher calls the library without a mode.

A mode written in Python costs each operator, views included, some 4 microseconds, and each attribute of a tensor one more. A dispatch key is
cheaper: while it is included in a thread's key set, the dispatcher calls what is registered for it, and ignores it where nothing is.

The key "Fake" lies below autograd, directly above that of modes, and has no kernel in PyTorch. Nothing is registered for views and for
what reads no element. All else goes to one function of the library, with the arguments that a mode would get. Modes that are entered
inside of a block must see an operator before the library does, and tensors of classes that have a __torch_dispatch__ must handle it
themselves: then the library is a mode, too.

The key of modes for tests lies above autograd, and PyTorch uses it nowhere else. It serves operators that PyTorch composes of others, and
that the library computes as a whole. The key of wrappers for tests lies there too: it serves attention that is composed in a thread. PyTorch's own
flags for that belong to the process, so that a block in one thread would change the bits of another one's.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.library import Library, fallthrough_kernel

_NAME, _WHOLE_NAME, _STEPS_NAME = "Fake", "TESTING_ONLY_GenericMode", "TESTING_ONLY_GenericWrapper"
KEY: Any = torch._C._parse_dispatch_key(_NAME)
WHOLE_KEY: Any = torch._C._parse_dispatch_key(_WHOLE_NAME)
STEPS_KEY: Any = torch._C._parse_dispatch_key(_STEPS_NAME)
_LIBRARIES: list[Library] = []  # what is registered lasts as long as these

# They make tensors whose elements are not set, or zeros, or take memory for another shape.
_UNREAD = frozenset(
    """empty.memory_format empty_like.default empty_strided.default new_empty.default new_empty_strided.default zeros.default
    zeros_like.default new_zeros.default is_same_size.default _unsafe_view.default as_strided_.default""".split()
)


def reads_nothing(overload: Any) -> bool:
    """Whether an operator returns views of its arguments, or reads no element: then nothing that it calls in turn rounds."""
    returned = overload._schema.returns
    views = bool(returned) and all(r.alias_info is not None and not r.alias_info.is_write for r in returned)
    return views or overload._schema.name.partition("::")[2] + "." + overload._overloadname in _UNREAD


def register(called: Callable[..., Any], passed: list[Any]) -> None:
    """Let the dispatcher call `called(operator, *arguments, **keywords)` where the key is included, but for the operators that it passes."""
    every, aten = Library("_", "IMPL", _NAME), Library("aten", "IMPL", _NAME)  # noqa: TOR901
    every.fallback(called, _NAME)
    for overload in passed:
        name, overload_name = overload._schema.name.partition("::")[2], overload._overloadname
        aten.impl(name if overload_name == "default" else f"{name}.{overload_name}", fallthrough_kernel)
    for name in ("promote_types", "result_type.Tensor", "result_type.Scalar", "can_cast"):  # of types alone
        aten.impl(name, fallthrough_kernel)
    _LIBRARIES.extend((every, aten))


def _register(key: str, functions: dict[str, Callable[..., Any]], first: bool) -> None:
    if first:  # of the key: it passes all others
        every = Library("_", "IMPL", key)  # noqa: TOR901
        every.fallback(fallthrough_kernel, key)
        _LIBRARIES.append(every)
    aten = Library("aten", "IMPL", key)  # noqa: TOR901
    for name, function in functions.items():
        aten.impl(name, function)
    _LIBRARIES.append(aten)


def register_wholes(functions: dict[str, Callable[..., Any]]) -> None:
    """Let the dispatcher call these functions for composed operators of the given names."""
    _register(_WHOLE_NAME, functions, first=True)


def register_more(functions: dict[str, Callable[..., Any]]) -> None:
    """The same, of further names."""
    _register(_WHOLE_NAME, functions, first=False)


def register_steps(functions: dict[str, Callable[..., Any]]) -> None:
    """Let the dispatcher call these functions where operators are taken in steps."""
    _register(_STEPS_NAME, functions, first=True)


def include_steps(on: bool) -> None:
    """Whether operators are taken in steps in this thread."""
    torch._C._dispatch_tls_set_dispatch_key_included(STEPS_KEY, on)


def include_wholes(on: bool) -> None:
    """Whether the dispatcher calls the library for operators that are composed, in this thread."""
    torch._C._dispatch_tls_set_dispatch_key_included(WHOLE_KEY, on)


@contextlib.contextmanager
def composed() -> Iterator[None]:
    """Meanwhile PyTorch composes its operators itself."""
    before = torch._C._dispatch_tls_is_dispatch_key_excluded(WHOLE_KEY)
    torch._C._dispatch_tls_set_dispatch_key_excluded(WHOLE_KEY, True)
    try:
        yield
    finally:
        torch._C._dispatch_tls_set_dispatch_key_excluded(WHOLE_KEY, before)


def include(on: bool) -> None:
    """Whether the dispatcher calls the library in this thread."""
    torch._C._dispatch_tls_set_dispatch_key_included(KEY, on)


def exclude(on: bool) -> None:
    """Whether the dispatcher does not call the library in this thread, though the key is included."""
    torch._C._dispatch_tls_set_dispatch_key_excluded(KEY, on)


@contextlib.contextmanager
def native() -> Iterator[None]:
    """Meanwhile this thread's operators are PyTorch's own: for many calls that move elements, whose dispatch by the block costs more than they do."""
    before = torch._C._dispatch_tls_is_dispatch_key_excluded(KEY)
    exclude(True)
    try:
        yield
    finally:
        exclude(before)
