"""Cases as files, for libraries that no Python reaches, and results as files.

`exp.f64.txt` has a line for each case: what is given, `=`, and the bits of all results. Numbers of a format are bits in hexadecimal
digits; sizes and parameters, in the order of the comment in the first line, are decimal. A library's results are a folder of files of the
same names with as many lines: what stands behind `=`, or the whole line where there is none, is the result."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .cases import Case, Group
from .formats import unsigned
from .namespaces import Missing


def digits(bits: np.ndarray, kind: str) -> list[str]:
    width = 2 * unsigned(kind).itemsize
    return [f"{b:0{width}x}" for b in bits.tolist()]


def lines(group: Group) -> Iterator[str]:
    sources = " ".join(f"{name}:{first}" for first, name in group.sources)
    head = f"# {group.operation} {group.format} {group.family} {group.result} sources {sources}"
    if not group.calls:
        yield f"{head} given {' '.join('xyz'[: len(group.arguments)])}"
        for row in zip(
            *(digits(a, k) for a, k in zip(group.arguments, group.kinds, strict=True)),
            digits(group.want, group.result),
            strict=True,
        ):
            yield f"{' '.join(row[:-1])} = {row[-1]}"
        return
    first = group.calls[0]
    yield f"{head} given {' '.join([*first.parameters, *('xy'[: len(first.arrays)])])}"
    for case in group.calls:
        given = [str(v) for v in case.parameters.values()]
        given += [d for a in case.arrays for d in digits(a, group.format)]
        yield f"{' '.join(given)} = {' '.join(digits(case.want, group.result))}".rstrip()


def write(group: Group, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{group.operation}.{group.format}.txt").write_text("\n".join(lines(group)) + "\n")


def read(path: Path) -> Group:
    """The group of a file that `write` wrote."""
    head, *rest = path.read_text().splitlines()
    operation, fmt, family, result = head.split()[1:5]
    sources, names = (part.split() for part in head.partition(" sources ")[2].split(" given "))
    group = Group(operation, fmt, family, result)
    group.sources = [(int(first), name) for name, _, first in (s.partition(":") for s in sources)]
    pairs = [line.partition("=")[::2] for line in rest]
    if family in ("function", "power"):
        columns = list(zip(*(given.split() for given, _ in pairs), strict=True))
        group.arguments = (np.empty(0),) * len(columns)  # which says how many kinds there are
        group.arguments = tuple(from_digits(c, k) for c, k in zip(columns, group.kinds, strict=True))
        group.want = from_digits([want for _, want in pairs], result)
        return group
    arrays = [n for n in names if n in "xy"]
    parameters = names[: len(names) - len(arrays)]
    for given, want in pairs:
        words = given.split()
        found: dict[str, Any] = {k: decimal(w) for k, w in zip(parameters, words, strict=False)}
        sizes = {"dot": ["n", "n"], "matmul": ["mk", "kn"]}.get(operation, ["n"])[: len(arrays)]
        place, bits = len(parameters), []
        for size in sizes:
            n = int(np.prod([found[s] for s in size], dtype=int))
            bits.append(from_digits(words[place : place + n], fmt))
            place += n
        group.calls.append(Case(tuple(bits), found, from_digits(want.split(), result)))
    return group


def decimal(word: str) -> int | float:
    try:
        return int(word)
    except ValueError:
        return float(word)


def from_digits(words: Any, kind: str) -> np.ndarray:
    return np.array([int(w, 16) for w in words], unsigned(kind))


class Results:
    """A folder of results, as a library."""

    def __init__(self, folder: Path) -> None:
        self.name, self.folder = folder.name, folder

    def versions(self) -> dict[str, str]:
        """What a file VERSION beside the results says."""
        path = self.folder / "VERSION"
        return {"results": path.read_text().strip() if path.exists() else "unknown"}

    def simd(self) -> str:
        return ""

    def run(self, group: Group) -> list[tuple[str, np.ndarray]]:
        path = self.folder / f"{group.operation}.{group.format}.txt"
        if not path.exists():
            raise Missing("")
        rows = [line for line in path.read_text().splitlines() if not line.startswith("#")]
        found = from_digits([w for row in rows for w in row.rpartition("=")[2].split()], group.result)
        if found.size != group.expected.size:
            raise Missing(f"{path.name} has {found.size} results for {group.expected.size}")
        return [(path.name, found)]
