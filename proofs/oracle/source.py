"""The text of an evaluation and of all that it uses, for digests: what the preprocessor makes of a header for an instruction set, of
which only definitions are kept that the evaluation reaches."""

import ast
import functools
import hashlib
import os
import pathlib
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable

from ..graph import ROOT
from ..trees import dumped

AVX2 = ("-mavx2", "-mfma", "-mf16c")
ISAS = {
    "avx2": (*AVX2, "-DRM_CFG_SIMD=RM_SIMD_AVX2"),
    "avx512": (*AVX2, "-mavx512f", "-mavx512dq", "-mavx512vl", "-mavx512bw", "-DRM_CFG_SIMD=RM_SIMD_AVX512"),
}


def runs(isa: str) -> bool:
    """Whether this CPU has it."""
    flags = pathlib.Path("/proc/cpuinfo").read_text()
    return all(
        word in flags for word in ("avx512f avx512dq avx512vl avx512bw" if isa == "avx512" else "avx2 fma f16c").split()
    )


def runnable(name: str, isas: Iterable[str], outdated: Callable[[list[str]], str]) -> tuple[list[str], bool]:
    """The instruction sets that can be measured on this CPU, and whether the certificate stands for the others: it does where it
    was written for this source, on a CPU that has them. What is not measured is printed."""
    here = [isa for isa in isas if runs(isa)]
    absent = [isa for isa in isas if isa not in here]
    why = outdated(absent) if absent else ""
    if absent:
        what = f"but the certificate {why}" if why else "its certificate is of this source and stands"
        print(f"{name}: not measured on {', '.join(absent)}, which this CPU has not: {what}", flush=True)
    return here, not why


def preprocessed(header: str, isa: str, root: pathlib.Path = ROOT) -> str:
    """The repository's own lines. Without the compiler's headers, whose intrinsics may be macros, and attributes: no two compilers
    agree on these."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("immintrin.h", "stdint.h"):
            (pathlib.Path(folder) / name).touch()
        command = [
            os.environ.get("CC", "cc"),
            "-E",
            "-std=gnu11",
            "-nostdinc",
            f"-I{folder}",
            f"-I{root}",
            *ISAS[isa],
            "-x",
            "c",
        ]
        text = subprocess.run([*command, root / header], check=True, capture_output=True, text=True).stdout
    kept, ours = [], False
    for line in text.splitlines():
        if marker := re.match(r'# \d+ "([^"]*)"', line):
            ours = str(root) in marker[1]
        elif ours:
            kept.append(line)
    return re.sub(r"__attribute__ ?\(\(([^()]|\([^()]*\))*\)\)", "", "\n".join(kept))


@functools.cache
def checker(*names: str) -> str:
    """The digest of files of this folder, but for comments and layout."""
    parts = []
    for name in names:
        text = (pathlib.Path(__file__).parent / name).read_text()
        if name.endswith(".py"):
            parts.append(dumped(ast.parse(text)))
        else:
            parts.append(" ".join(re.sub(r"/\*.*?\*/", "", text, flags=re.S).split()))
    return digest_of("\n".join(parts))


def definitions(text: str) -> list[str]:
    """What stands at the top level, each up to its ';' or '}'."""
    found, depth, begin = [], 0, 0
    for at, char in enumerate(text):
        depth += (char in "({") - (char in ")}")
        if depth == 0 and (char == ";" or char == "}"):
            if char == "}" and re.match(r"\s*(\w+\s*)?;", text[at + 1 :]):
                continue  # a structure or a table, which goes on
            found.append(" ".join(text[begin : at + 1].split()))
            begin = at + 1
    return found


def name_of(definition: str) -> str:
    """What it declares: the last word before the arguments, the dimensions, the value or the end."""
    if re.match(r"(typedef )?(struct|union|enum)\b[^;(]*\{", definition) and (
        tail := re.search(r"\} ?(\w+) ?;$", definition)
    ):
        return tail[1]
    words = re.match(r"[^\[({=;]*", definition)
    last = re.findall(r"\w+", words[0] if words else "")
    return last[-1] if last else definition


@functools.cache
def digest(header: str, root_name: str, isa: str) -> str:
    return digest_of("\n".join(reached(preprocessed(header, isa), root_name)))


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def reached(text: str, root_name: str) -> list[str]:
    """The definitions that the one of this name needs, in their order."""
    all_of_them = definitions(text)
    named: dict[str, list[int]] = {}
    for i, definition in enumerate(all_of_them):
        named.setdefault(name_of(definition), []).append(i)
    assert root_name in named, root_name
    found: set[int] = set()
    stack = list(named[root_name])
    while stack:
        i = stack.pop()
        if i not in found:
            found.add(i)
            stack += [j for word in set(re.findall(r"\w+", all_of_them[i])) for j in named.get(word, [])]
    return [all_of_them[i] for i in sorted(found)]
