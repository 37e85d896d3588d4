"""Libraries of C, by a table of symbols: one line says which operations and formats a symbol has, and what its arguments are.

    OPERATIONS : FORMATS : RESULT SYMBOL(ARGUMENT, ...)

`{operation}` and `{format}` in the symbol stand for the line's; `{unary}` and `{binary}` in its place for all functions of one and of two
arguments, `{power}` for those of a number and an integer. RESULT is `value` (a number of the format, which a sum or a product returns too), `status` (an int, 0 where all is well) or
`void`. ARGUMENTS, and the types that they have unless `name:type` gives another:

    x, y, z             one number of the format; the call is repeated for each case
    *x, *y, *z, *out    pointers to arrays; *out is filled
    n, m, k             int64: how many numbers; the sizes of a product of an m x k and a k x n matrix, row by row
    n1, k1              int64: the same, and at least 1, as the leading dimensions of BLAS are
    size                ptrdiff_t: the bytes from one number to the next
    format              int: 0 f16, 1 bf16, 2 f32, 3 f64
    seed, stream, counter (uint64), first (int64), mean, std, p, low, high, last (double): parameters of random numbers
    1:int, 0.0, NULL    constants
"""

import ctypes
import ctypes.util
import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np

from .cases import Case, Group
from .formats import unsigned
from .namespaces import Missing

TABLES = Path(__file__).parent / "tables"
TYPES = {
    "int": ctypes.c_int,
    "int64": ctypes.c_int64,
    "uint64": ctypes.c_uint64,
    "ptrdiff_t": ctypes.c_ssize_t,
    "size_t": ctypes.c_size_t,
    "double": ctypes.c_double,
    "float": ctypes.c_float,
}
SCALARS = {
    "f16": ctypes.c_uint16,
    "bf16": ctypes.c_uint16,
    "f32": ctypes.c_float,
    "f64": ctypes.c_double,
    "i64": ctypes.c_int64,
}
FORMAT_NUMBERS = {"f16": 0, "bf16": 1, "f32": 2, "f64": 3}
DEFAULTS = {
    **dict.fromkeys(("n", "m", "k", "n1", "k1", "first"), "int64"),
    **dict.fromkeys(("seed", "stream", "counter"), "uint64"),
    **dict.fromkeys(("mean", "std", "p", "low", "high", "last"), "double"),
    "size": "ptrdiff_t",
    "format": "int",
}
LINE = re.compile(r"^(?P<operations>[^:]+) : (?P<formats>[^:]+) : (?P<result>\w+) (?P<symbol>[\w{}]+)\((?P<arguments>.*)\)$")


class TableError(ValueError):
    """A line of a table that says nothing."""


@dataclasses.dataclass(frozen=True)
class Line:
    operations: tuple[str, ...]
    formats: tuple[str, ...]
    result: str
    symbol: str
    arguments: tuple[tuple[str, str], ...]  # name or constant, type


def table(path: str | Path) -> list[Line]:
    """The lines of a file; a name without a folder is one of the suite's own."""
    file = Path(path)
    if not file.exists() and (TABLES / f"{path}.txt").exists():
        file = TABLES / f"{path}.txt"
    lines = []
    for number, text in enumerate(file.read_text().splitlines(), 1):
        if text.strip() and not text.lstrip().startswith("#"):
            try:
                lines.append(parsed(text.strip()))
            except TableError as error:
                raise TableError(f"{file.name}, line {number}: {error}") from None
    return lines


def parsed(text: str) -> Line:
    m = LINE.match(text)
    if not m:
        raise TableError("it is not OPERATIONS : FORMATS : RESULT SYMBOL(ARGUMENTS)")
    if m["result"] not in ("value", "status", "void"):
        raise TableError(f"the result is value, status or void, not {m['result']}")
    arguments = []
    for word in filter(None, (w.strip() for w in m["arguments"].split(","))):
        name, _, kind = word.partition(":")
        if name in ("x", "y", "z", "NULL") or name.startswith("*"):
            if name.lstrip("*") not in ("x", "y", "z", "out", "NULL"):
                raise TableError(f"there is no array {name}")
            arguments.append((name, "pointer" if name[0] in "*N" else "number"))
            continue
        constant = re.fullmatch(r"-?\d+(\.\d*)?", name) is not None
        kind = kind or DEFAULTS.get(name, "double" if "." in name else "int64")
        if not constant and name not in DEFAULTS or kind not in TYPES:
            raise TableError(f"what is {word}?")
        arguments.append((name, kind))
    return Line(tuple(m["operations"].split()), tuple(m["formats"].split()), m["result"], m["symbol"], tuple(arguments))


class Library:
    """A shared library whose symbols a table explains."""

    def __init__(self, name: str, path: str | Path, lines: list[Line]) -> None:
        self.name, self.path, self.lines = name, str(path), lines
        self.library = ctypes.CDLL(self.path)

    def versions(self) -> dict[str, str]:
        found = {"file": Path(self.path).name}
        for symbol in ("gnu_get_libc_version", "rm_version"):
            call = getattr(self.library if symbol[0] == "r" else ctypes.CDLL(None), symbol, None)
            if call is not None and (symbol[0] == "r" or self.name == "glibc"):
                call.restype = ctypes.c_char_p
                found["glibc" if symbol[0] == "g" else "repmath"] = call().decode()
        return found

    def simd(self) -> str:
        call = getattr(self.library, "rm_isa", None)
        if call is None:
            return ""
        call.restype = ctypes.c_char_p
        return (call() or b"").decode()

    def run(self, group: Group) -> list[tuple[str, np.ndarray]]:
        """The bits of all results, under the symbol that gave them; several lines may have one operation."""
        found = []
        for line in self.lines:
            kinds = "{power}" if group.family == "power" else {1: "{unary}", 2: "{binary}"}.get(len(group.arguments), "")
            if group.format in line.formats and (group.operation in line.operations or kinds in line.operations):
                symbol = line.symbol.replace("{operation}", group.operation).replace("{format}", group.format)
                call = getattr(self.library, symbol, None)
                if call is not None:
                    found.append((symbol, self.results(call, symbol, line, group)))
        if not found:
            raise Missing("")
        return found

    def results(self, call: Any, symbol: str, line: Line, group: Group) -> np.ndarray:
        kind = group.result
        call.restype = {"value": SCALARS.get(kind), "status": ctypes.c_int, "void": None}[line.result]
        numbers = [name for name, type_ in line.arguments if type_ == "number"]
        if numbers:
            if group.calls or line.result != "value":
                raise TableError(f"{symbol}: numbers are arguments of elementwise functions, which return a value")
            places = ["xyz".index(name) for name in numbers]
            call.argtypes = [SCALARS[group.kinds[i]] for i in places]
            columns = [scalars(group.arguments[i], group.kinds[i]) for i in places]
            view = {"f64": np.float64, "f32": np.float32}.get(kind, np.uint16)
            return np.array([call(*row) for row in zip(*columns, strict=True)], view).view(unsigned(kind))
        if not group.calls:
            calls = [Case(group.arguments, {"n": group.want.size}, group.want)]
        else:
            calls = group.calls
        return np.concatenate([self.one(call, symbol, line, group, case) for case in calls])

    def one(self, call: Any, symbol: str, line: Line, group: Group, case: Case) -> np.ndarray:
        """The results of one call, in memory with room around it that must keep its bytes."""
        kind, size = unsigned(group.result), case.want.size
        room = np.full(size + 2, np.iinfo(kind).max // 3 * 2, kind)
        room[1 : size + 1] = 0
        arrays = [np.ascontiguousarray(a) for a in case.arrays]
        arrays = [a if a.size else np.zeros(1, a.dtype) for a in arrays]
        given: list[Any] = []
        for name, type_ in line.arguments:
            if name == "NULL":
                given.append(ctypes.c_void_p(None))
            elif type_ == "pointer":
                at = room.ctypes.data + kind.itemsize if name == "*out" else arrays["xyz".index(name[1:])].ctypes.data
                given.append(ctypes.c_void_p(at))
            else:
                value = number(name, case, group)
                given.append(TYPES[type_](float(value) if type_ in ("double", "float") else int(value)))
        result = call(*given)
        if line.result == "status" and result != 0:
            raise RuntimeError(f"{symbol}: the status is {result}")
        if line.result == "value":
            view = {"f64": np.float64, "f32": np.float32}.get(group.result, kind)
            return np.array([result], view).view(kind)
        if room[0] != room[-1] or room[0] != np.iinfo(kind).max // 3 * 2:
            raise RuntimeError(f"{symbol} writes beyond its results")
        return room[1:-1]


def scalars(bits: np.ndarray, kind: str) -> list[Any]:
    return bits.view({"f64": np.float64, "f32": np.float32, "i64": np.int64}.get(kind, np.uint16)).tolist()


def number(name: str, case: Case, group: Group) -> Any:
    if name == "size":
        return unsigned(group.result).itemsize
    if name == "format":
        return FORMAT_NUMBERS[group.format]
    if name in ("n1", "k1"):
        return max(case.parameters[name[0]], 1)
    return case.parameters[name] if name in case.parameters else float(name) if "." in name else int(name)


def glibc() -> Library:
    """The C library of this system, where it is glibc or another that has libm."""
    path = ctypes.util.find_library("m")
    if path is None:
        raise OSError("there is no libm")
    return Library("glibc", path, table("libm"))
