"""Every error bound of the library by its place in the sources, and a copy of these in which each has a factor.

A bound passes through RM_BOUND (crlibm/config.h). The k-th of them is multiplied by rm_bound_factor[k], which a test can set. In the same
copy conditions can be left out (guard_sites.py), and paths are counted (path_sites.py)."""

from __future__ import annotations

import functools
import pathlib
import re
from dataclasses import dataclass

import guard_sites
import path_sites

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ("crlibm", "src")
USE = re.compile(r"\bRM_BOUND\(")
DEFINED = re.compile(r"^#define (\w+)(?:\([^)]*\))?\s.*")


@dataclass(frozen=True)
class Site:
    """One RM_BOUND. Its name is the macro that it defines, or what it bounds: the expression in its parentheses."""

    file: str
    line: int
    name: str
    number: int


def inside(text: str, start: int) -> str:
    """What is in the parentheses that were opened just before `start`."""
    depth, at = 1, start
    while depth:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return " ".join(text[start : at - 1].split())


def name_of(text: str, use: re.Match) -> str:
    line = text[text.rfind("\n", 0, use.start()) + 1 : text.find("\n", use.start())]
    macro = DEFINED.match(line)
    return macro[1] if macro else inside(text, use.end())


def files(root: pathlib.Path = ROOT) -> list[pathlib.Path]:
    found = [
        p for folder in SOURCES for p in sorted((root / folder).rglob("*")) if p.suffix in (".c", ".h", ".inl", ".inc", ".cu")
    ]
    return [p for p in found if p != root / "crlibm/config.h"]


@functools.cache
def sites(root: pathlib.Path = ROOT) -> tuple[Site, ...]:
    found: list[Site] = []
    for path in files(root):
        text, names = path.read_text(), {}
        for use in USE.finditer(text):
            name = name_of(text, use)
            names[name] = names.get(name, 0) + 1
            if names[name] > 1:
                name += f" #{names[name]}"
            found.append(Site(str(path.relative_to(root)), text.count("\n", 0, use.start()) + 1, name, len(found)))
    return tuple(found)


def guards() -> tuple[guard_sites.Guard, ...]:
    return guard_sites.guards(tuple(files()), ROOT)


FACTORS = """
/* For controls: each bound has a factor that a test sets. */
extern double rm_bound_factor[] __attribute__((visibility("default")));
#define RM_BOUND_AT(k, x) ((x) * rm_bound_factor[k])
"""


def write(path: pathlib.Path, text: str) -> None:
    """Leave a file as it is that has this text: what was built of it stays."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


STATUS = ROOT / "src/runtime/status.c"  # where the copy defines what tests set and read


def copy_sources(where: pathlib.Path) -> None:
    """The sources with RM_BOUND(x) made RM_BOUND_AT(number, x), and their conditions numbered. Each file is written once, and only if it changes: a
    second copy beside a build of the first leaves that as it is."""
    small = f"\ndouble rm_bound_factor[{len(sites())}] = {{{', '.join(['0x1p-20'] * len(sites()))}}};\n"
    root, number, conditions, paths = ROOT, iter(range(len(sites()))), 0, set()
    plain = [
        root / "CMakeLists.txt",
        *(p for f in ("cmake", "include") for p in sorted((root / f).rglob("*")) if p.is_file()),
    ]
    plain += [p for f in SOURCES for p in sorted((root / f).rglob("*")) if p.suffix in (".def", ".txt", ".cmake", ".S")]
    for path in plain:
        write(where / path.relative_to(root), path.read_text())
    for path in files():
        text = path.read_text()
        if guard_sites.has_guards(path):
            first, conditions = conditions, conditions + len(guard_sites.places(text))
            text = guard_sites.guarded(text, first)
        text = USE.sub(lambda _: f"RM_BOUND_AT({next(number)}, ", text)
        text = path_sites.counted(text, paths)
        if path == STATUS:
            more = f"char rm_guard[{len(guards())}];\n{path_sites.DEFINED}"
            text = f'#include "../../crlibm/config.h"\n{text}{small}{more}'
        write(where / path.relative_to(root), text)
    path_sites.check_all(paths)
    config = (root / "crlibm/config.h").read_text()
    end = config.rindex("#endif")
    write(where / "crlibm/config.h", config[:end] + FACTORS + guard_sites.GUARDS + config[end:])
