"""The default stream of random numbers for initial weights and dropout."""

import contextlib
import contextvars
from collections.abc import Iterator

from ..random import Stream

_default = Stream(0)
_current: contextvars.ContextVar[Stream | None] = contextvars.ContextVar("repmath_torch_stream", default=None)


def manual_seed(seed: int) -> Stream:
    """Let initial weights and dropout draw from the beginning of stream 0 of this seed, from 0 to 2**64 - 1; returns the stream.

    Before the first call the seed is 0.
    """
    _default.seed, _default.stream, _default.position = Stream(seed).seed, 0, 0
    return _default


def current_stream() -> Stream:
    """The stream of `drawing_from`, or the default one."""
    return _current.get() or _default


@contextlib.contextmanager
def drawing_from(stream: Stream | None) -> Iterator[None]:
    """Draw from this stream inside the block; None changes nothing."""
    if stream is not None and not isinstance(stream, Stream):
        raise TypeError(f"generator must be a repmath.random.Stream, not {type(stream).__name__}")
    token = _current.set(stream or _current.get())
    try:
        yield
    finally:
        _current.reset(token)


def place(n: int, stream: Stream | None = None) -> tuple[int, int, int]:
    """Seed, stream and offset of n draws of 64 bits, which are taken from the stream; the first two as signed integers."""
    s = _default if stream is None else stream
    offset = 2 * s.position
    s.position += -(-n // 2)
    return signed(s.seed), signed(s.stream), offset


def signed(n: int) -> int:
    """A number of 64 bits as PyTorch's integers hold it."""
    return n - 2**64 if n >= 2**63 else n


def unsigned(n: int) -> int:
    """The inverse of `signed`."""
    return n + 2**64 if n < 0 else n
