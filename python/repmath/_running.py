"""Run a script or module of Python as `python` does, in this process: what `repmath run` and `repmath certify` stand on."""

import contextlib
import os
import runpy
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any


class NoScriptError(Exception):
    """There is no such script or module."""


@contextlib.contextmanager
def _as_main(arguments: list[str], folder: str, module: types.ModuleType | None) -> Iterator[None]:
    saved = sys.argv, sys.path[:], sys.modules.get("__main__")
    sys.argv = arguments
    sys.path.insert(0, folder)
    if module is not None:
        sys.modules["__main__"] = module
    try:
        yield
    finally:
        sys.argv, sys.path[:] = saved[0], saved[1]
        if saved[2] is not None:
            sys.modules["__main__"] = saved[2]


def script(path: str | os.PathLike[str], arguments: Sequence[str] = ()) -> dict[str, Any]:
    """Run a file as the main program, and return what it has named.

    Parameters
    ----------
    path : path
    arguments : sequence of str, optional
        The rest of `sys.argv`.

    Returns
    -------
    dict
        The globals of the program at its end, which `sys.exit(0)` may be.

    Raises
    ------
    NoScriptError
        The file cannot be read.
    SystemExit
        The program ended with a status other than 0.
    """
    path = os.fspath(path)
    try:
        with open(path, "rb") as file:
            code = compile(file.read(), path, "exec")
    except OSError as error:
        raise NoScriptError(f"{path}: {error.strerror}") from None
    module = types.ModuleType("__main__")
    module.__file__ = path
    with _as_main([path, *arguments], os.path.dirname(os.path.abspath(path)), module):
        _to_the_end(lambda: exec(code, module.__dict__))
        return dict(vars(module))


def module(name: str, arguments: Sequence[str] = ()) -> None:
    """Run a module as the main program, as `python -m` does.

    Raises
    ------
    NoScriptError
        There is no such module.
    SystemExit
        The program ended with a status other than 0.
    """
    with _as_main([name, *arguments], os.getcwd(), None):
        try:
            _to_the_end(lambda: runpy.run_module(name, run_name="__main__", alter_sys=True))
        except ImportError as error:
            if error.__traceback__ is not None and _made_by_runpy(error):
                raise NoScriptError(str(error)) from None
            raise


def _made_by_runpy(error: ImportError) -> bool:
    """Whether the module itself was not found, and not one that it imports."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_globals.get("__name__") == "runpy"


def _to_the_end(program: Any) -> None:
    try:
        program()
    except SystemExit as end:
        if end.code not in (None, 0):
            raise
