"""The library with a factor for each of its error bounds, and the list of what shows each of them, tests/controls/bounds.txt."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import re
from dataclasses import dataclass

import elementwise_library
import native
from bound_sites import ROOT, sites

LIST = ROOT / "tests/controls/bounds.txt"


class Control:
    """The control library on one instruction set, with whole bounds. `shrink` makes some smaller for a while; all where none are named."""

    def __init__(self, library: elementwise_library.Library):
        self.elementwise, self.library, self.isa = library, library.library, library.isa
        self.factors = (ctypes.c_double * len(sites())).in_dll(self.library, "rm_bound_factor")
        for k in range(len(sites())):
            self.factors[k] = 1.0

    @contextlib.contextmanager
    def shrink(self, factor: float, numbers: list[int] | None = None):
        chosen = range(len(sites())) if numbers is None else numbers
        for k in chosen:
            self.factors[k] = factor
        try:
            yield self
        finally:
            for k in chosen:
                self.factors[k] = 1.0


@functools.cache
def controls() -> dict[str, Control]:
    return {
        isa: Control(library) for isa, library in elementwise_library.libraries(native.control_library(), fresh=True).items()
    }


@functools.cache
def engines() -> dict[str, Control]:
    found = elementwise_library.libraries(native.control_library(), fresh=True, isas=elementwise_library.ENGINES)
    return {isa: Control(library) for isa, library in found.items()}


def chosen(isas: tuple[str, ...]) -> dict[str, Control]:
    """The controls on these instruction sets; on every build where none is named."""
    return {isa: control for isa, control in (controls() | engines()).items() if isa in (isas or controls())}


@dataclass(frozen=True)
class Evidence:
    kind: str
    words: tuple[str, ...]  # what the kind asks for
    factor: float  # of data, hard and pairs
    isas: tuple[str, ...]  # empty: all


def evidence(text: str) -> Evidence:
    kind, *words = re.split(r"[ :]+", text, maxsplit=1)
    rest = words[0].split() if words else []
    isas: list[str] = []
    if kind in ("data", "hard", "pairs"):
        if "on" in rest:
            isas, rest = rest[rest.index("on") + 1 :], rest[: rest.index("on")]
        return Evidence(kind, tuple(rest[:-1]), 1 / int(rest[-1].removeprefix("1/")), tuple(isas))
    return Evidence(kind, tuple(rest), 1.0, ())


def catalogue() -> dict[tuple[str, str], list[Evidence]]:
    """What shows each bound, by file and name."""
    found: dict[tuple[str, str], list[Evidence]] = {}
    for line in LIST.read_text().splitlines():
        if line and not line.startswith(("#", "part |")):
            file, name, shown = (word.strip() for word in line.split(" | "))
            assert (file, name) not in found, f"{file}: {name} stands twice in tests/controls/bounds.txt"
            found[file, name] = [evidence(text.strip()) for text in shown.split(";")]
    return found


def parts() -> set[tuple[str, str]]:
    """Constants of error bounds that pass through RM_BOUND later, as (file, name)."""
    lines = [line.split(" | ") for line in LIST.read_text().splitlines() if line.startswith("part |")]
    return {(file.strip(), name.strip()) for _, file, name in lines}
