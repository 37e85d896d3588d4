"""The list of witnesses for the conditions of the vector code, tests/controls/guards.txt, and the search for them.

python tests/controls/guards.py            searches witnesses for the conditions that are not in the list
python tests/controls/guards.py NUMBER...  these"""

from __future__ import annotations

import ctypes
import functools
import multiprocessing
import pathlib
import sys
import time
from dataclasses import dataclass, replace

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import bound_data  # noqa: E402
import bounds  # noqa: E402
import guard_data  # noqa: E402
import guard_operations  # noqa: E402
import numpy as np  # noqa: E402
import oracle  # noqa: E402
from bound_sites import ROOT, guards  # noqa: E402
from guard_sites import Guard  # noqa: E402

LIST = ROOT / "tests/controls/guards.txt"
MODES = {"never": 1, "always": 2}
LANES = 64  # so many copies of an argument fill every kind of block
CHUNK, LONG = 2048, 0.3  # arguments at a time, and seconds for a condition in a function and a format
FIRST = 4096
SECONDS = 40.0


@dataclass(frozen=True)
class Witness:
    """With the condition so, the function is wrong at the arguments (bits); "data" stands for a function where the operation of
    guard_operations.py or bound_data.py that is named as the format gives something else."""

    mode: str
    function: str
    fmt: str
    arguments: tuple[int, ...]
    isas: tuple[str, ...]

    def __str__(self) -> str:
        where = f" on {' '.join(self.isas)}" if self.isas else ""
        what = " ".join(f"{v:#x}" for v in self.arguments)
        return f"{self.mode} {self.function} {self.fmt} {what}{where}".replace("  ", " ")


def witness(text: str) -> Witness:
    words, _, isas = text.partition(" on ")
    mode, function, fmt, *numbers = words.split()
    return Witness(mode, function, fmt, tuple(int(v, 16) for v in numbers), tuple(isas.split()))


def catalogue() -> dict[tuple[str, str], str]:
    """What shows each condition, or why nothing does, by file and comparison."""
    found = {}
    for line in LIST.read_text().splitlines() if LIST.exists() else []:
        if line and not line.startswith("#"):
            file, text, shown = (part.strip() for part in line.split(" | "))
            assert (file, text) not in found, f"{file}: {text} stands twice in tests/controls/guards.txt"
            found[file, text] = shown
    return found


class Conditions:
    """The conditions of a control library."""

    def __init__(self, control: bounds.Control):
        self.control = control
        self.off = (ctypes.c_byte * len(guards())).in_dll(control.library, "rm_guard")

    def values(self, guard: Guard, mode: str, function: str, fmt: str, bits) -> np.ndarray:
        self.off[guard.number] = MODES[mode]
        try:
            return self.control.elementwise.array(function, bits, fmt)
        finally:
            self.off[guard.number] = 0

    def data(self, guard: Guard, mode: str, operation: str) -> np.ndarray:
        self.off[guard.number] = MODES[mode]
        try:
            return given(self.control, operation)
        finally:
            self.off[guard.number] = 0


def given(control: bounds.Control, operation: str) -> np.ndarray:
    """The results of an operation of guard_operations.py or bound_data.py; nothing where one is refused."""
    function = getattr(guard_operations, operation, None) or getattr(bound_data, operation)
    try:
        return np.array(function(control.library, np.random.default_rng(0)), np.uint64)
    except AssertionError:
        return np.zeros(0, np.uint64)


def copies(arguments: tuple[int, ...], fmt: str):
    uint = oracle.FORMATS[fmt][2]
    columns = tuple(np.full(LANES, v, uint) for v in arguments)
    return columns if len(columns) > 1 else columns[0]


def is_wrong(conditions: Conditions, guard: Guard, found: Witness) -> bool:
    """Whether without the condition, and only then, the function misses the value that is right; or what an operation gives changes."""
    if found.function == "data":
        return not np.array_equal(conditions.data(guard, found.mode, found.fmt), plain(conditions.control.isa, found.fmt))
    bits = copies(found.arguments, found.fmt)
    x = tuple(oracle.to_double(b[:1], found.fmt) for b in (bits if isinstance(bits, tuple) else (bits,)))
    right = oracle.values(found.function, x if len(x) > 1 else x[0], found.fmt)[0]
    whole = conditions.control.elementwise.array(found.function, bits, found.fmt)
    assert (whole == right).all(), f"{found} is wrong with all conditions"
    return bool((conditions.values(guard, found.mode, found.function, found.fmt, bits) != right).any())


# The search.


def shown(guard: Guard, isa: str) -> Witness | None:
    """An argument at which a function is wrong without the condition. What sends all lanes to the accurate phase is not followed for long."""
    control = bounds.controls()[isa]
    for function in guard_data.functions_of(guard.file):
        for fmt in guard_data.formats_of(guard.file):
            columns = guard_data.arguments(function, fmt)
            columns = columns if isinstance(columns, tuple) else (columns,)
            count, first = len(columns[0]), FIRST if len(columns) > 1 else 0  # special tuples, then all others in any order
            order = np.concatenate([np.arange(first), np.random.default_rng(9).permutation(np.arange(first, count))])
            for mode in MODES:
                started = time.process_time()
                for at in range(0, len(order), CHUNK):
                    bits = tuple(column[order[at : at + CHUNK]] for column in columns)
                    bits = bits if len(bits) > 1 else bits[0]
                    right = control.elementwise.array(function, bits, fmt)
                    got = Conditions(control).values(guard, mode, function, fmt, bits)
                    (wrong,) = np.nonzero(got != right)
                    for k in wrong[:: max(wrong.size // 4, 1)]:
                        one = tuple(int(b[k]) for b in (bits if isinstance(bits, tuple) else (bits,)))
                        found = Witness(mode, function, fmt, one, ())
                        if is_wrong(Conditions(control), guard, found):
                            return found
                    if time.process_time() - started > LONG:
                        break
    return None


def operations(guard: Guard) -> list[str]:
    """Of guard_operations.py, and of bound_data.py those that tests/controls/bounds.txt names for the file."""
    table = guard_operations.OPERATIONS
    own = table.get(guard.file) or table.get(guard.file.rsplit("/", 1)[0], [])
    kept = [shown for (file, _), some in bounds.catalogue().items() for shown in some if file == guard.file]
    return list(dict.fromkeys([*own, *(shown.words[0] for shown in kept if shown.kind == "data")]))


@functools.cache
def plain(isa: str, operation: str) -> np.ndarray:
    """What an operation of bound_data.py gives with all conditions."""
    return given(bounds.chosen((isa,))[isa], operation)


def changed(guard: Guard, isa: str) -> Witness | None:
    """An operation that gives something else without the condition."""
    for operation in operations(guard):
        for mode in MODES:
            found = Witness(mode, "data", operation, (), ())
            if is_wrong(Conditions(bounds.controls()[isa]), guard, found):
                return found
    return None


def search(guard: Guard) -> str:
    """A witness, and on which instruction sets it is one."""
    for isa in bounds.controls():
        found = changed(guard, isa) or (shown(guard, isa) if guard_data.functions_of(guard.file) else None)
        if found is not None:
            good = tuple(i for i, control in bounds.controls().items() if is_wrong(Conditions(control), guard, found))
            return str(replace(found, isas=() if len(good) == len(bounds.controls()) else good))
    return "open"


def searched(number: int) -> None:
    guard = guards()[number]
    print(f"{guard.file} | {guard.text} | {search(guard)}", flush=True)


def main() -> int:
    held = catalogue()
    chosen = [int(v) for v in sys.argv[1:]] or [g.number for g in guards() if (g.file, g.text) not in held]
    bounds.controls()
    for number in chosen:
        for operation in operations(guards()[number]):  # before the processes begin
            for isa in bounds.controls():
                plain(isa, operation)
        process = multiprocessing.get_context("fork").Process(target=searched, args=(number,))
        process.start()
        process.join(SECONDS)
        if process.is_alive():
            process.kill()
            print(f"{guards()[number].file} | {guards()[number].text} | open: the search does not end", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
