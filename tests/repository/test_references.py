"""What comments, docstrings and pages name exists: identifiers, files, sections and headings. CHANGELOG.md is history and exempt."""

import functools
import posixpath
import re
import subprocess

import pytest
from native import ROOT
from sources import C_SUFFIXES, SOURCES

CYTHON = (".pyx", ".pxd", ".pxi")
READ = (*C_SUFFIXES, *CYTHON, ".py", ".pyi", ".cpp", ".md", ".cmake", ".txt")
NAMED = "h|c|inl|inc|cu|cuh|def|py|pyx|pxd|pxi|pyi|md|cmake|f90|rs"
TOO_LARGE = 400_000  # bytes: tables and data, which have no comments of interest
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
PYTHON = re.compile(r'(?m:^([ \t]*))?r?"""(?s:.*?)"""|(?<!\S)(#)[^\n]*')  # a docstring begins its line
IDENTIFIER = re.compile(r"\b((?:rm|RM|REPMATH|vf64|vf32|vi64|vi32|vu64|vm)_\w+)(<?)")
FILE = re.compile(rf"(?<![\w/<>*{{}}.-])(?:[\w.*{{}}-]|<\w+>|/)*[\w>*}}]\.(?:{NAMED})\b")
SECTION = re.compile(r"([\w./-]+\.md)\)?[\s,*]*sections?\s+(\d+)")
# What a message sends the user to, with the heading that has the answer.
PAGE = re.compile(r"\b(docs/[\w-]+\.md)(?:#([\w-]+))?")
LINK = re.compile(r"\]\(([^)#\s:]*)(?:#([\w-]+))?\)")


def repository() -> dict[str, str]:
    """{path: text} of all files that may name others or be named; of the largest, and of those that are no text, the name alone."""
    paths = [p for p in ROOT.iterdir() if p.is_file()]
    paths += [p for top in (*SOURCES, "docs") for p in (ROOT / top).rglob("*") if p.is_file() and "target" not in p.parts]
    return {
        p.relative_to(ROOT).as_posix(): p.read_text() if p.suffix in READ and p.stat().st_size < TOO_LARGE else ""
        for p in paths
    }


@functools.cache
def prose(path: str, text: str) -> str:
    """What is written for a reader: comments and docstrings, or a page without its blocks of code."""
    if path.endswith(".md"):
        return "" if path == "CHANGELOG.md" else re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    if path.endswith((*C_SUFFIXES, ".cpp")):
        return "\n".join(COMMENT.findall(text))
    if path.endswith((".py", ".pyi", *CYTHON)):
        return "\n".join(m[0] for m in PYTHON.finditer(text) if m[1] is not None or m[2])
    return ""


def identifiers(path: str, text: str) -> set[str]:
    """The library's names in the code of a file."""
    if path.endswith(".md"):
        return set()
    if path.endswith((*C_SUFFIXES, ".cpp")):
        text = COMMENT.sub(" ", text)
    elif path.endswith((".py", ".pyi", *CYTHON)):
        text = PYTHON.sub(lambda m: " " if m[1] is not None or m[2] else m[0], text)
    return {m[1] for m in IDENTIFIER.finditer(text)}


def unknown_identifiers(files: dict[str, str]) -> list[str]:
    """A name that ends in _, or with <f> behind it, stands for all that begin so."""
    defined = set().union(*(identifiers(path, text) for path, text in files.items()))

    @functools.cache
    def known(name: str, beginning: bool) -> bool:
        return any(d.startswith(name) for d in defined) if beginning else name in defined

    return [
        f"{path} names {name}"
        for path, text in files.items()
        for name, rest in sorted({(m[1], m[2]) for m in IDENTIFIER.finditer(prose(path, text))})
        if not known(name, rest == "<" or name.endswith("_"))
    ]


def unknown_files(files: dict[str, str]) -> list[str]:
    """A name is the end of a path; <f>, * and {0} stand for some letters, and a name that begins with _ for the end of a file's name."""
    paths = "\n".join(f"/{p}" for p in files)

    def known(name: str) -> bool:
        pattern = re.sub(
            r"<\w+>|\\\*|\\\{\w*\\\}", r"[\\w-]+", re.escape(re.sub(r"^(\.\.?/)+", "", name)).replace("\\<", "<")
        )
        start = r"[^/\n]*" if name.startswith("_") else "/"
        return re.search(f"{start}{pattern}$", paths, re.M) is not None

    cache: dict[str, bool] = {}
    bad = []
    for path, text in files.items():
        for name in sorted(set(FILE.findall(prose(path, text)))):
            if name not in cache:
                cache[name] = known(name)
            if not cache[name]:
                bad.append(f"{path} names {name}")
    return bad


def headings(page: str) -> set[str]:
    """The anchors of a page, as GitHub makes them."""
    titles = re.findall(r"^#+ +(.+)$", re.sub(r"^```.*?^```", "", page, flags=re.S | re.M), re.M)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def links(path: str, text: str) -> list[tuple[str, str]]:
    """(page, anchor) of a page's links, and of what the package's messages and docstrings send the reader to."""
    if path.endswith(".md"):
        found = LINK.findall(prose(path, text))
        return [(posixpath.normpath(posixpath.join(posixpath.dirname(path), p)) if p else path, a) for p, a in found]
    return PAGE.findall(text) if path.startswith(("python/", "src/")) else []


def unknown_sections(files: dict[str, str]) -> list[str]:
    bad = []
    for path, text in files.items():
        written = prose(path, text)
        for page, number in SECTION.findall(written):
            named = [t for p, t in files.items() if f"/{p}".endswith("/" + re.sub(r"^(\.\.?/)+", "", page))]
            if not any(re.search(rf"^## {number}\. ", t, re.M) for t in named):
                bad.append(f"{path} names section {number} of {page}")
        for page, anchor in links(path, text):
            if page not in files and not (ROOT / page).exists():
                bad.append(f"{path} links to {page}")
            elif anchor and anchor not in headings(files[page]):
                bad.append(f"{path} links to {page}#{anchor}")
    return bad


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    return repository()


@pytest.mark.parametrize("rule", [unknown_identifiers, unknown_files, unknown_sections])
def test_what_is_named_exists(rule, files):
    assert rule(files) == []


@pytest.mark.parametrize(
    ("rule", "path", "text", "found"),
    [
        (unknown_identifiers, "a.h", "/* as rm_exp_f64 and rm_exp_f63, rm_e<f>, rm_exp_..., RM_A_... */ int rm_exp_f64;", ["RM_A_", "rm_exp_f63"]),
        (unknown_identifiers, "a.py", '"""RM_GONE"""\nx = "rm_said"  \x23 rm_said, rm_lost', ["RM_GONE", "rm_lost"]),
        (unknown_files, "a.h", "/* a.h, ./a.h, <f>.h, x/a.h, b.h */", ["b.h", "x/a.h"]),
        (unknown_files, "a.md", "`*_b.md`, a.md\n```\nb.c\n```\n", ["*_b.md"]),
        (unknown_sections, "a.md", "## 1. One\na.md, section 1, a.md, section 2", ["section 2 of a.md"]),
        (unknown_sections, "a.md", "# One, two\n[x](#one-two) [y](#two) [z](gone.md)", ["a.md#two", "gone.md"]),
        (unknown_sections, "python/a.py", 'raise Error("see docs/gone.md#one")', ["docs/gone.md"]),
    ],
)  # fmt: skip
def test_control(rule, path, text, found):
    assert [line.rsplit(" names ", 1)[-1].removeprefix(f"{path} links to ") for line in rule({path: text})] == found


def strays(files):
    """Files that are no sources: what is not text, but for pictures, and what is large."""
    return [
        path
        for path, content in files.items()
        if len(content) > TOO_LARGE or (b"\0" in content and not path.endswith(".png"))
    ]


def test_nothing_but_sources_is_committed():
    """A wheel or a recording that lies in the working tree is committed easily, and stays in the history."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("git does not know this folder")
    paths = [p for p in listed.stdout.split("\0") if p and (ROOT / p).is_file()]
    assert len(paths) > 1000 and strays({p: (ROOT / p).read_bytes() for p in paths}) == []
    assert strays({"a.whl": b"PK\0\0", "docs/a.png": b"\x89PNG\0", "b.json": b"1" * (TOO_LARGE + 1)}) == ["a.whl", "b.json"]
