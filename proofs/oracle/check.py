"""The library's results against the oracle's enclosures; what these leave goes to MPFR."""

import ctypes
import functools
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..graph import ROOT
from . import blocks, periods
from .functions import Function

HERE = pathlib.Path(__file__).resolve().parent
BATCH = 64  # segments a call
MAX_OPEN = 1 << 16

sys.path.insert(0, str(ROOT / "tests/support"))
import oracle as mpfr  # noqa: E402


@dataclass
class Found:
    """Inputs that were compared, how many of them MPFR decided, and the wrong ones (bits of x, of the result, of the right one)."""

    inputs: int = 0
    resolved: int = 0
    wrong: list[tuple[int, int, int]] = field(default_factory=list)

    def add(self, other: "Found") -> None:
        self.inputs += other.inputs
        self.resolved += other.resolved
        self.wrong += other.wrong


def compile_c(source: str, *flags: str) -> ctypes.CDLL:
    """A file of this folder as a library."""
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder) / "made.so"
        options = ["-std=gnu11", "-O2", "-ffp-contract=off", "-fPIC", "-shared", *flags, f"-I{ROOT}"]
        subprocess.run([os.environ.get("CC", "cc"), *options, HERE / source, "-o", made], check=True)
        return ctypes.CDLL(str(made))


@functools.cache
def rounded() -> ctypes.CDLL:
    loaded = compile_c("rounded.c")
    loaded.rm_oracle_rounded.restype = ctypes.c_int64
    return loaded


def array(of: Iterable[blocks.Block]) -> ctypes.Array:
    found = list(of)
    return (blocks.Block * len(found))(*found)


def compare(name: str, function, given: ctypes.Array) -> Found:
    """Of a C function with the signature of rm_v<name>_f32."""
    inputs, opened = ctypes.c_int64(0), (ctypes.c_uint32 * (2 * MAX_OPEN))()
    tables = blocks.turns_tables(), periods.fractions()
    left = rounded().rm_oracle_rounded(
        given, ctypes.c_int64(len(given)), *tables, function, opened, ctypes.c_int64(MAX_OPEN), ctypes.byref(inputs)
    )
    if left < 0:
        raise RuntimeError(f"{name} failed")
    kept = min(left, MAX_OPEN)
    pairs = list(zip(opened[0 : 2 * kept : 2], opened[1 : 2 * kept : 2], strict=True))
    found = Found(inputs.value, left, resolve(name, pairs))
    if left > kept and not found.wrong:
        raise RuntimeError(f"{name}: {left} results are left, of which {kept} were looked at and are right")
    return found


def resolve(name: str, pairs: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Those that MPFR calls wrong."""
    if not pairs:
        return []
    x = mpfr.np.array([x for x, _ in pairs], dtype="<u4")
    right = mpfr.values(name, mpfr.to_double(x, "f32"), "f32")
    return [(a, b, int(r)) for (a, b), r in zip(pairs, right, strict=True) if b != int(r)]


def run(name: str, definition: Function, function, segments: Iterable[int]) -> Found:
    """The segments that serve both signs count once."""
    total, some = Found(), list(segments)
    for at in range(0, len(some), BATCH):
        given = array(b for segment in some[at : at + BATCH] for b in periods.of_segment(definition, segment))
        total.add(compare(name, function, given))
    return total
