"""Functions that a study is given: what they have to take, and what is said where one raises."""

import inspect
import pathlib
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_OWN = str(pathlib.Path(__file__).resolve().parent.parent)


class Failed(RuntimeError):
    """A function that a study was given raised; its error is the cause."""


def takes(name: str, function: Any, what: str, *arguments: Any) -> None:
    """Raises TypeError where a function cannot be called with these arguments: `what` says in words which they are."""
    if not callable(function):
        raise TypeError(f"{name} must be callable, not {type(function).__name__}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # one of C, which does not say
    try:
        signature.bind(*arguments)
    except TypeError as error:
        written = getattr(function, "__name__", type(function).__name__)
        raise TypeError(f"{name} must take {what}, and {written}{signature} does not: {error}") from None


def said(error: BaseException) -> str:
    """The kind of an error, its text, and the last line outside this package and those that are installed that led to it."""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        installed = "site-packages" in frame.filename or frame.filename.startswith((_OWN, "<"))
        if not installed:
            return f"{text} ({pathlib.Path(frame.filename).name}, line {frame.lineno})"
    return text


@contextmanager
def naming(what: str, kept: Callable[[], str] = lambda: "") -> Iterator[None]:
    """Raises Failed for an error inside: `what` failed, its text, and what is `kept`."""
    try:
        yield
    except (Exception, SystemExit) as error:
        raise Failed(f"{what} failed with {said(error)}{kept()}") from error
