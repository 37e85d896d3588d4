"""Scopes in which NumPy functions of repmath round at random, or in one direction (specification section 1a)."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from contextvars import ContextVar, Token
from typing import Any

import numpy as np

from . import _core

RANDOM_MODES = ("stochastic", "random", "up_down")
DIRECTED_MODES = ("toward_zero", "down", "up")  # which ask no words
MODES = (*RANDOM_MODES, *DIRECTED_MODES)
OPEN: list["scope"] = []  # of all threads: while it is empty nothing below is asked
_current: ContextVar["scope | None"] = ContextVar("repmath_scope", default=None)
# What rounds nothing, and the modules whose functions draw.
_FREE = frozenset(
    "embedding _of_arrays fftshift ifftshift _max_pool _adaptive_max_pool Accumulator.add Accumulator.add_products".split()
)
_STEPS = ("sgd_step", "adam_step", "adamw_step")  # which have four numbers of arrays
_OWN = ("matmul", "clip_grad_norm", "batch_norm")  # which have a step up or down of their own
_DRAWING = ("repmath.random", "repmath._distributions", "repmath._draws")
_HANDLERS: dict[str, Callable[..., Any]] = {}
_CALLS: set[str] = set()  # whose handlers take the arguments as a tuple and a dict
# What rounding.py gives: "ufunc", the result of a ufunc, its arguments and keywords in a scope; "up_down", an array whose numbers have moved.
_GIVEN: dict[str, Callable[..., Any]] = {}
# Context managers that are entered with every scope, made anew for each: of modules whose functions know no scope and keep compiled ones.
BESIDE: list[Callable[[], AbstractContextManager[Any]]] = []


def _unsigned(name: str, value: Any, bits: int) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}")
    number = value.__index__()
    if not 0 <= number < 2**bits:
        raise ValueError(f"{name} must be from 0 to 2**{bits} - 1, not {number}")
    return int(number)


class scope:
    """Inside, NumPy functions of repmath round at random or in one direction: ``with repmath.rounding.scope("stochastic", seed=0, sample=1):``.

    Every function of arrays that rounds has all six modes: elementwise functions, all of `repmath`, `nn`, `linalg`, `fft`, `special`, `array_api` and the steps of
    `optim`. Methods of ufuncs such as `reduce` raise TypeError, and so do matrices with infinities and singular ones: nothing inside rounds to nearest
    instead. Functions that move or select elements, accumulators, random draws and NumPy's own functions, such as `astype`, are as they are outside. Arrays that
    are rounded are numbered in program order, and their elements have the words of stream ``sample * 2**32`` + that number. A call has one number, a step of
    an optimiser four; a call's further arrays have the words from element 2**40 on, 2**41 and so forth. A scope holds for its thread, or asyncio task; one inside
    another has numbers of its own. "toward_zero", "down" and "up" ask no words: a function that rounds once gives the nearest number of the format on that side
    of its exact value, one of several steps rounds each of its arrays so. For PyTorch's operators there is `repmath.torch.stochastic`; operators of
    `repmath.jax` raise TypeError inside.

    Parameters
    ----------
    mode : {"stochastic", "random", "up_down", "toward_zero", "down", "up"}
    seed : int, optional
        From 0 to 2**64 - 1.
    sample : int, optional
        From 0 to 2**32 - 1: samples are independent.

    Attributes
    ----------
    calls : int
        How many arrays were rounded since the scope was entered.

    Raises
    ------
    ValueError
        There is no such mode, or a number is out of range.
    TypeError
        A number is no integer.

    Examples
    --------
    >>> import numpy as np, repmath
    >>> with repmath.rounding.scope("stochastic", seed=1) as block:
    ...     y = repmath.sum(repmath.exp(np.ones(3, np.float32)))
    >>> block.calls
    2
    """

    def __init__(self, mode: str, *, seed: int = 0, sample: int = 0) -> None:
        if not isinstance(mode, str) or mode not in MODES:
            raise ValueError(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
        self.mode, self.seed, self.sample = mode, _unsigned("seed", seed, 64), _unsigned("sample", sample, 32)
        self.calls = 0
        self._tokens: list[tuple[Token[scope | None], ExitStack]] = []

    def __enter__(self) -> "scope":
        if not self._tokens:
            self.calls = 0  # a scope that is entered again computes the same
        beside = ExitStack()
        for made in BESIDE:
            beside.enter_context(made())
        OPEN.append(self)
        _core.open_scopes(1)
        self._tokens.append((_current.set(self), beside))
        return self

    def __exit__(self, *exception: Any) -> None:
        token, beside = self._tokens.pop()
        _current.reset(token)
        _core.open_scopes(-1)
        OPEN.remove(self)
        beside.close()

    def next(self) -> dict[str, Any]:
        """Seed and stream of the next array that is rounded."""
        if self.calls >= 2**32:
            raise RuntimeError("a sample has at most 2**32 rounded arrays")
        self.calls += 1
        return {"seed": self.seed, "stream": (self.sample << 32) + self.calls - 1}

    def _stepped(self, made: Any) -> Any:
        """Results that were rounded to nearest, each moved by a step."""
        if isinstance(made, tuple):
            parts = [self._stepped(v) for v in made]
            return type(made)(*parts) if hasattr(made, "_fields") else tuple(parts)
        array = np.asarray(made)
        if array.dtype.kind in "iub" or isinstance(made, bool):
            return made
        moved = _GIVEN["up_down"](array, **self.next())
        if isinstance(made, np.ndarray):
            made[...] = moved
            return made
        return moved[()]


def refuse(what: str) -> None:
    """Raises in a scope: for what knows none."""
    here = _current.get()
    if here is not None:
        raise TypeError(f"{what} has no {here.mode} rounding: it cannot be called in repmath.rounding.scope")


def handler(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Gives the function of this name its rounding in a scope: a function of mode, seed and stream, and its arguments."""

    def keep(function: Callable[..., Any]) -> Callable[..., Any]:
        _HANDLERS[name] = function
        return function

    return keep


def call(function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """What a function returns in the scope that is open here; NotImplemented where there is none, or it rounds nothing."""
    here = _current.get()
    name = function.__qualname__
    if here is None:
        return NotImplemented
    # No draw of a distribution has a handler, but functions of `special` have the names of two of them.
    rounds = None if function.__module__ == "repmath._distributions" else _HANDLERS.get(name)
    token = _current.set(None)
    try:
        if (
            name in _FREE
            or (rounds is None and function.__module__.startswith(_DRAWING))
            or keywords.get("rounding") is not None
        ):
            with _core.Environment():
                return function(*arguments, **keywords)  # and what these call is as it is outside
        if name in _STEPS:
            words = here.next()
            here.calls += 3
            with _core.Environment():
                return function(*arguments, rounding=here.mode, **keywords, **words)
        if here.mode == "up_down" and name not in _OWN:
            made = function(*arguments, **keywords)
            if made is None:
                raise TypeError(
                    f"{name.lstrip('_')} returns nothing that could be rounded; it has no random rounding in a scope"
                )
            return here._stepped(made)
        if rounds is None:
            raise TypeError(f"{name.lstrip('_')} has no {here.mode} rounding: it cannot be called in repmath.rounding.scope")
        if name in _CALLS:  # whose own arguments may have the names of words
            return rounds(here.mode, arguments, keywords, **here.next())
        return rounds(here.mode, *arguments, **keywords, **here.next())
    finally:
        _current.reset(token)


def _scoped(*arguments: Any, **keywords: Any) -> Any:
    """What C asks while a scope is open: before a ufunc is called, and, without arguments, in a loop that none of these calls began."""
    here = _current.get()
    if not arguments:
        if here is not None:
            raise TypeError("a method of a ufunc has no random rounding: it cannot be called in repmath.rounding.scope")
        return None
    if here is None:
        return NotImplemented
    ufunc, *values = arguments
    token = _current.set(None)
    try:
        return _GIVEN["ufunc"](ufunc, tuple(values), keywords, here)
    finally:
        _current.reset(token)
