"""Every condition in the vector code of the library by its place in the sources, and how a copy of the sources can leave it out.

A condition is a comparison of the vocabulary of crlibm/simd: it sends lanes to a later tier, to the accurate phase or to another value.
The k-th of them is as written while rm_guard[k] is 0, never true while it is 1 and always true while it is 2."""

from __future__ import annotations

import functools
import pathlib
import re
from dataclasses import dataclass

COMPARISON = re.compile(r"\b(v[fi]64_(?:lt|le|eq|ne|unord|ltu|disjoint)|v[fi]32_(?:lt|ne|ltu|geu))\(")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
VOCABULARY = ("avx2.h", "avx512.h", "neon.h", "scalar.h")  # where comparisons are defined

GUARDS = """
/* For controls: a test may leave out each condition. */
extern char rm_guard[] __attribute__((visibility("default")));
#define RM_GUARD_AT64(k, ...)                                              \\
  (!rm_guard[k]       ? (__VA_ARGS__)                                      \\
   : rm_guard[k] == 1 ? vf64_lt(vf64_set1(0.0), vf64_set1(0.0))            \\
                      : vf64_le(vf64_set1(0.0), vf64_set1(0.0)))
#define RM_GUARD_AT32(k, ...)                                              \\
  (!rm_guard[k]       ? (__VA_ARGS__)                                      \\
   : rm_guard[k] == 1 ? vf32_lt(vf32_set1(0.0f), vf32_set1(0.0f))          \\
                      : vf32_lt(vf32_set1(0.0f), vf32_set1(1.0f)))
"""


@dataclass(frozen=True)
class Guard:
    """One condition: `text` is its comparison, with a number if the file has the same again."""

    file: str
    text: str
    number: int

    @property
    def function(self) -> str:
        """The folder's function, or nothing."""
        return self.file.split("/")[1] if self.file.startswith("crlibm/") else ""


def closing(text: str, start: int) -> int:
    """Behind the parenthesis that closes the one opened just before `start`."""
    depth, at = 1, start
    while depth:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at


def places(text: str) -> list[tuple[int, int]]:
    """Where comparisons begin and end, in order of their beginnings; comments apart."""
    blank = COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    return [(m.start(), closing(blank, m.end())) for m in COMPARISON.finditer(blank)]


def has_guards(path: pathlib.Path) -> bool:
    return path.suffix in (".c", ".h") and path.name not in VOCABULARY and "cuda" not in path.parts


@functools.cache
def guards(files: tuple[pathlib.Path, ...], root: pathlib.Path) -> tuple[Guard, ...]:
    found: list[Guard] = []
    for path in files:
        if not has_guards(path):
            continue
        text, names = path.read_text(), {}
        for start, end in places(text):
            name = " ".join(text[start:end].replace("\\\n", " ").split())
            names[name] = names.get(name, 0) + 1
            name += f" #{names[name]}" if names[name] > 1 else ""
            found.append(Guard(str(path.relative_to(root)), name, len(found)))
    return tuple(found)


def guarded(text: str, first: int) -> str:
    """The text with its conditions numbered from `first`."""
    marks = []
    for number, (start, end) in enumerate(places(text), first):
        marks += [(start, 1, f"RM_GUARD_AT{text[start + 2 : start + 4]}({number}, "), (end, 0, ")")]
    for at, _, mark in sorted(marks, key=lambda m: (m[0], m[1]), reverse=True):
        text = text[:at] + mark + text[at:]
    return text
