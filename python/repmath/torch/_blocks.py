"""Which blocks of reproducible() the running code is in, and what is changed while it is in one.

A block belongs to the context (PEP 567) that entered it: tasks of asyncio that take turns in one thread are each in their own blocks. The
modes by which PyTorch calls the library belong to a thread: they stay while a context of that thread is in a block, and let all others pass.
Subnormal numbers are flushed, or not, by each thread; oneDNN and what PyTorch's compiler is told of modes count for the process.
"""

import contextlib
import ctypes
import functools
import operator
import os
import sys
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import torch
from torch import _C
from torch.utils import _python_dispatch

from .. import _core, _pools
from . import _dispatch_key


class Entry:
    """A block that was entered; `alive` until it is left, from wherever that is."""

    __slots__ = ("alive", "block", "home")

    def __init__(self, block: Any, home: "Home") -> None:
        self.block, self.home, self.alive = block, home, True


class Home:
    """What a thread has of its blocks: the entries that were made in it, and the modes that serve them."""

    def __init__(self, dispatch_mode: Any) -> None:
        self.entries: list[Entry] = []
        self.dispatch = dispatch_mode(self)
        self.flushed: bool | None = None  # what the thread did before; None while it has no modes
        self.by_key = False  # whether the dispatcher calls by the key, or else the mode
        self.above = 0  # modes that were entered after the library's and are not left yet
        self.random = 0  # blocks that round at random, in which attention is taken in steps: each of them rounds

    def modes(self) -> tuple[Any, ...]:
        """The library's mode, and above it those of blocks that round at random."""
        return (self.dispatch, *self.dispatch.rounding)

    def has(self, mode: Any) -> bool:
        return any(m is mode for m in self.modes())

    def become_key(self) -> None:
        """Be called by the key, if the library's modes are the only ones; also of those that are at work, which are out of the stack meanwhile."""
        own = self.modes()
        if not self.by_key and not self.above and _length() == len(own) and all(map(operator.is_, _modes(), own)):
            for _ in own:
                torch._C._pop_torch_dispatch_stack(None)
            self.by_key = True
            _dispatch_key.include(True)

    def become_mode(self) -> None:
        """Be called as modes, below those that are entered from now on."""
        if self.by_key:
            self.by_key = False
            _dispatch_key.include(False)
            for mode in self.modes():
                torch._C._push_on_torch_dispatch_stack(mode)

    def call_as_mode(self, func: Any, args: Any, kwargs: Any) -> Any:
        """What an operator returns for tensors of classes that have a __torch_dispatch__, which PyTorch calls when the modes decline."""
        own, rounding = self.modes(), self.dispatch.rounding
        for mode in own:
            torch._C._push_on_torch_dispatch_stack(mode)
        self.dispatch.rounding = ()
        try:
            return func(*args, **kwargs)
        finally:
            self.dispatch.rounding = rounding
            for mode in reversed(own):
                _remove(mode, _modes, _pop, _push)

    def round_by(self, mode: Any) -> None:
        """Let a mode that rounds at random see operators before the library's own does: with the key, or above modes that were entered before."""
        if self.by_key:
            self.dispatch.rounding = (*self.dispatch.rounding, mode)
        else:
            mode.__enter__()
        self.random += 1
        _dispatch_key.include_steps(True)

    def stop_rounding_by(self, mode: Any) -> None:
        self.random -= 1
        if own() is self:  # else its thread sees it when it has left its last block
            _dispatch_key.include_steps(self.random > 0)
        if self.has(mode):
            self.dispatch.rounding = tuple(m for m in self.dispatch.rounding if m is not mode)
            if not self.by_key:
                _remove(mode, _modes, _pop, _push)
                self.become_key()
        else:
            mode.__exit__(None, None, None)


_length: Callable[[], int] = torch._C._len_torch_dispatch_stack
_mode_at: Callable[[int], Any] = torch._C._get_dispatch_stack_at
_push, _pop = _python_dispatch._push_mode, _python_dispatch._pop_mode


def _modes() -> list[Any]:
    return [_mode_at(i) for i in range(_length())]


_IN_TLS = "repmath.reproducible"  # the home of a thread, which threads of PyTorch's own get with the dispatch key


def dispatch_of_thread() -> Any:
    """The mode of a thread of PyTorch's own, or whose code is in no block: that of the thread that it works for."""
    return torch._C._get_obj_in_tls(_IN_TLS).dispatch


entered: ContextVar[tuple[Entry, ...]] = ContextVar("reproducible", default=())
_local = threading.local()


def current(home: Home) -> Entry | None:
    """The innermost block of the code that runs now, which is called by the modes of `home`."""
    stack = entered.get()
    if stack:
        last = stack[-1]
        if last.alive and last.home is home:
            return last
        for entry in reversed(stack):
            if entry.alive and entry.home is home:
                return entry
    if getattr(_local, "home", None) is home:
        return None  # a task beside the one that is in a block
    # A thread of PyTorch's own, which got the modes of the thread that it works for, and no context.
    latest = home.entries[-1:]
    if not latest:
        return None
    _honour_subnormals()
    return latest[0]


def inside() -> bool:
    """Whether the code that runs now is in a block, in the thread that entered it or in one of PyTorch's own that works for it."""
    home = own()
    if home is None and _C._is_key_in_tls(_IN_TLS):
        home = _C._get_obj_in_tls(_IN_TLS)
    return home is not None and current(home) is not None


def innermost() -> Any:
    """The innermost block of the code that runs now, or None."""
    home = own()
    entry = None if home is None else current(home)
    return None if entry is None else entry.block


def enter(block: Any, dispatch_mode: Any) -> None:
    """Enter a block; the mode is made when a thread enters its first."""
    home: Home | None = getattr(_local, "home", None)
    if home is None:
        home = _local.home = Home(dispatch_mode)
    _sweep(home)
    prepare_devices()
    process.hold()
    try:
        if not home.entries:
            _install(home)
            for tell in process.entered:
                tell()
    except BaseException:
        process.release()
        raise
    entry = Entry(block, home)
    home.entries.append(entry)
    block._entries.append(entry)
    entered.set((*(e for e in entered.get() if e.alive), entry))


@functools.cache
def prepare_devices() -> None:
    """Where there is a GPU, also operators that move elements and those that PyTorch composes in another way for it are looked at."""
    if torch.backends.cuda.is_built() and torch.cuda.is_available():
        look_at_devices()


@functools.cache
def look_at_devices() -> None:
    """The same, wherever the tensors may be."""
    _core.prepare_devices()
    for tell in with_devices:
        tell()


with_devices: list[Callable[[], None]] = []  # what is to be called once where tensors may be on a GPU


def leave(block: Any) -> None:
    """Leave the innermost entry of the block: in this context, or else (a generator that is closed elsewhere) where it was entered."""
    home: Home | None = getattr(_local, "home", None)
    here = home.entries if home is not None else []
    candidates: tuple[list[Entry], ...] = ([e for e in entered.get() if e.home is home], here, block._entries)
    found = next((e for entries in candidates for e in reversed(entries) if e.alive and e.block is block), None)
    if found is None:
        raise RuntimeError("this block of reproducible() was not entered")
    found.alive = False
    block._entries.remove(found)
    entered.set(tuple(e for e in entered.get() if e.alive))
    try:
        if home is not None:
            _sweep(home)
    finally:
        process.release()


def _sweep(home: Home) -> None:
    """Forget entries that have been left; with the last one the thread is as it was. One that another thread has left is seen here later:
    only the thread itself can reach its modes, and they let everything pass until then."""
    home.entries[:] = [e for e in home.entries if e.alive]
    if not home.entries and home.flushed is not None:
        _uninstall(home)


def _install(home: Home) -> None:
    flushed = _flushes()
    torch.set_flush_denormal(False)
    home.flushed, home.above = flushed, 0
    try:
        _hold_pool()
        _dispatch_key.include_wholes(True)
        torch._C._stash_obj_in_tls(_IN_TLS, home)
        if home.dispatch not in _modes():
            _push(home.dispatch)
        home.become_key()
    except BaseException:
        _uninstall(home)
        raise


def _uninstall(home: Home) -> None:
    _dispatch_key.include_wholes(False)
    home.become_mode()
    for mode in reversed(home.modes()):
        _remove(mode, _modes, _pop, _push)
    home.dispatch.rounding, home.random = (), 0
    _dispatch_key.include_steps(False)
    torch._C._stash_obj_in_tls(_IN_TLS, None)
    if _pool_is_reached():
        _pools.release(_parallel())
    torch.set_flush_denormal(bool(home.flushed))
    home.flushed = None


def _remove(mode: Any, stack: Callable[[], list[Any]], pop: Callable[[], Any], push: Callable[[Any], None]) -> None:
    """Take a mode out of the stack, whatever was entered above it and not left yet. One that is absent is at work: it lets everything pass."""
    entered = stack()
    if mode not in entered:
        return
    above = [pop() for _ in range(len(entered) - entered.index(mode))]
    for other in reversed(above[:-1]):
        push(other)


def _flushes() -> bool:
    """Whether a subnormal result becomes 0 in this thread."""
    return _SMALLEST_NORMAL * 0.5 == 0.0


_SMALLEST_NORMAL = sys.float_info.min


def _honour_subnormals() -> None:
    if _flushes():
        torch.set_flush_denormal(False)
        _hold_pool()


@functools.cache
def _parallel() -> int:
    """The address by which PyTorch's OpenMP begins parallel regions; 0 where it has another runtime."""
    library = os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so")
    with contextlib.suppress(OSError, AttributeError):
        function = ctypes.CDLL(library).GOMP_parallel
        return ctypes.cast(function, ctypes.c_void_p).value or 0
    return 0


def _has_pool() -> bool:
    """Whether PyTorch's operators share their work with other threads. A forked child has none of them, and OpenMP would wait for them for ever."""
    return torch.get_num_threads() > 1 and not process.is_child


def _pool_is_reached() -> bool:
    return _has_pool() and _parallel() != 0


def _hold_pool() -> None:
    """The threads on which PyTorch's operators share their work with this one take subnormal numbers as they are.

    PyTorch tells OpenMP the number of threads when this thread first asks for it, in _pool_is_reached.
    """
    if _pool_is_reached():
        _pools.hold(_parallel())
    elif _has_pool() and _pool_flushes():
        raise RuntimeError(
            "PyTorch's threads flush subnormal numbers, since they began after torch.set_flush_denormal(True), and cannot be told not to "
            "on this system: call torch.set_flush_denormal after the block, or torch.set_num_threads(1) before it "
            "(docs/reproducible.md#how-do-blocks-behave-with-threads-and-tasks)"
        )


def _pool_flushes() -> bool:
    """Whether a comparison that PyTorch shares out among all threads takes a subnormal number for 0."""
    with _python_dispatch._disable_current_modes():
        share = 1 << 15  # elements, below which PyTorch does not divide
        return not bool((torch.full((2 * share * torch.get_num_threads(),), 1e-40) > 0).all())


class _Process:
    """What counts for the process: changed by the first entry of all threads, and restored by the last."""

    _FLAGS = (
        "_is_in_torch_dispatch_mode",
        "_is_in_non_infra_torch_dispatch_mode",
        "_is_in_any_mode_without_ignore_compile_internals",
    )

    def __init__(self) -> None:
        self.lock = threading.RLock()  # a generator that is collected meanwhile leaves its block in the same thread
        self.is_child = False  # forked, without the threads of its parent
        self.entries = 0
        self.saved: Any = None
        self.told: list[Callable[[bool], None]] = []  # what is to be called with whether there is a block
        self.entered: list[Callable[[], None]] = []  # what is to be called by a thread that has been outside of blocks

    def begin_child(self) -> None:
        self.is_child = True
        self.lock.release()

    def hold(self) -> None:
        with self.lock:
            if not self.entries:
                self.saved = (
                    (_C._get_mkldnn_enabled(), _C._get_cudnn_enabled(), torch.backends.mha.get_fastpath_enabled()),
                    [getattr(_python_dispatch, name) for name in self._FLAGS],
                )
                # Fused layers of oneDNN, as that of the LSTM, are then composed of operators of the table.
                _C._set_mkldnn_enabled(False)
                _C._set_cudnn_enabled(False)  # so that operators for a GPU have the names of the CPU's
                # Attention that is evaluated without gradients is then composed as in training, of the same operators.
                torch.backends.mha.set_fastpath_enabled(False)
                # torch.compile asks these whether it may compile.
                self._tell([True] * len(self._FLAGS))
                for tell in self.told:
                    tell(True)
            self.entries += 1

    def release(self) -> None:
        with self.lock:
            self.entries -= 1
            if not self.entries:
                (mkldnn, cudnn, fast_attention), flags = self.saved
                _C._set_mkldnn_enabled(mkldnn)
                _C._set_cudnn_enabled(cudnn)
                torch.backends.mha.set_fastpath_enabled(fast_attention)
                self._tell(flags)
                for tell in self.told:
                    tell(False)

    def _tell(self, flags: list[bool]) -> None:
        for name, value in zip(self._FLAGS, flags, strict=True):
            setattr(_python_dispatch, name, value)
        _python_dispatch.set_is_in_mode_without_ignore_compile_internals(flags[-1])


process = _Process()

if hasattr(os, "register_at_fork"):  # a child lacks the thread that may be holding the lock, so the one that forks holds it
    os.register_at_fork(before=process.lock.acquire, after_in_parent=process.lock.release, after_in_child=process.begin_child)


# --- modes that are entered inside of a block


def own() -> Home | None:
    """What this thread has of its blocks, if it has been in one."""
    return getattr(_local, "home", None)


def _pushed(mode: Any) -> None:
    """A mode that is entered sees operators before the library does. Where all had been disabled, the library's own comes back, too."""
    home = own()
    if home is None or home.has(mode):
        _push(mode)
    else:
        home.become_mode()
        _push(mode)
        home.above += 1
    if home is not None:
        home.become_key()


def _popped(*key: Any) -> Any:
    """The library's own mode is below the others, also where the key stands for it."""
    home = own()
    if home is not None and home.by_key and not _length():
        home.become_mode()
    mode = _pop(*key)
    if home is not None and not home.has(mode):
        home.above -= 1
        if key:  # it was left; without a key all modes are disabled, one after the other
            home.become_key()
    return mode


def _counted() -> int:
    home = own()
    return _length() + (len(home.modes()) if home is not None and home.by_key else 0)


def _found(i: int) -> Any:
    home = own()
    if home is None or not home.by_key:
        return _mode_at(i)
    modes = home.modes()
    return modes[i] if i < len(modes) else _mode_at(i - len(modes))


def _watch_modes(on: bool) -> None:
    """While there is a block, modes that are entered and left tell, and whoever looks at them finds the library's."""
    module: Any = _python_dispatch
    module._push_mode, module._pop_mode = (_pushed, _popped) if on else (_push, _pop)
    module._len_torch_dispatch_stack, module._get_dispatch_stack_at = (_counted, _found) if on else (_length, _mode_at)
    torch._C._len_torch_dispatch_stack = _counted if on else _length


process.told.append(_watch_modes)
