"""The error of an operator that is not covered, and where a program called it."""

import sys
from typing import Any

import torch


class UncoveredOperatorError(RuntimeError):
    """An operator was called that rounds and has no correctly rounded form here.

    Attributes
    ----------
    operator : str
        Its name, with the overload.
    call_site : str
        File and line of the innermost frame outside of PyTorch and repmath.
    """

    def __init__(self, operator: str, call_site: str, reason: str) -> None:
        self.operator, self.call_site = operator, call_site
        super().__init__(
            f"{operator}, called at {call_site}, is not covered: {reason}. Write it with operators that are (docs/aten.md lists them), "
            "or use reproducible(strict=False), which runs PyTorch's own and reports it."
        )


def call_site() -> str:
    """The innermost frame that is neither PyTorch's nor repmath's."""
    frame = callers_frame()
    return "an unknown place" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def callers_frame() -> Any:
    packages = (*torch.__path__, *_package_paths())
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(packages):
        frame = frame.f_back
    return frame


def _package_paths() -> list[str]:
    import repmath

    return list(repmath.__path__)
