"""Every error bound of the library is in tests/controls/bounds.txt, and what is said there to show it does: made smaller by itself, it returns wrong
bits on data beside boundaries of rounding; or a proof of it is kept."""

import json
import re
import sys

import bound_data
import bound_sites
import bounds
import elementwise_library
import numpy as np
import oracle
import pytest
import ranges
from bound_sites import ROOT, Site, files, inside, sites

sys.path.insert(0, str(ROOT))

from proofs.depth import run as depth  # noqa: E402
from proofs.exact.controls import CONTROLS  # noqa: E402

KEYS = [(site.file, site.name) for site in sites()]
SHOWN = [
    (site.number, found)
    for site in sites()
    for found in bounds.catalogue().get((site.file, site.name), [])
    if found.kind in ("data", "hard", "pairs")
]
PAIRS = 1 << 20
_known: dict = {}


def hard(control, function, fmt):
    x = oracle.to_double(np.arange(65536), fmt) if fmt == "f16" else oracle.hard_cases(function, fmt)
    return control.elementwise.array(function, oracle.to_bits(x, fmt), fmt)


def tuples(function, fmt):
    """Published hard cases where there are some, else numbers of the ranges in which the function is evaluated."""
    if fmt == "f64" and (ROOT / f"tests/data/hardcases/f64/{function}.txt").exists():
        return tuple(oracle.to_bits(v, fmt) for v in oracle.hard_tuples(function))
    rng, boxes = np.random.default_rng(0), ranges.RANGES[function]
    parts = []
    for box in boxes:
        x = [rng.uniform(low, high, PAIRS // len(boxes)) for low, high in box]
        parts.append([v.view(np.uint64) if fmt == "f64" else oracle.narrow(v, fmt) for v in x])
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))


def pairs(control, function, fmt):
    if (function, fmt) not in _known:
        _known[function, fmt] = tuples(function, fmt)
    return control.elementwise.array(function, _known[function, fmt], fmt)


def data(control, operation):
    got = getattr(bound_data, operation)(control.library, np.random.default_rng(0))
    return np.array(got, np.uint64)


RUN = {"data": data, "hard": hard, "pairs": pairs}


def whole(control, found):
    key = control.isa, found.kind, *found.words
    if key not in _known:
        _known[key] = RUN[found.kind](control, *found.words)
    return _known[key]


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "number, found", SHOWN, ids=lambda v: " ".join(v.words) if isinstance(v, bounds.Evidence) else str(v)
)
def test_a_smaller_bound_is_seen(number, found):
    checked = 0
    for isa, control in bounds.chosen(found.isas).items():
        with control.shrink(found.factor, [number]):
            got = RUN[found.kind](control, *found.words)
        assert (got != whole(control, found)).any(), f"{isa}: {KEYS[number]} times {found.factor} changes nothing"
        checked += 1
    assert checked or found.isas


@pytest.mark.sample(3)
@pytest.mark.parametrize("operation", sorted({found.words[0] for _, found in SHOWN if found.kind == "data"}))
def test_whole_bounds_give_the_library_s_bits(operation):
    """With all factors 1 the control library is the library."""
    want = [data(control, operation) for control in map(Plain, elementwise_library.libraries().values())]
    for (isa, control), bits in zip(bounds.controls().items(), want, strict=True):
        assert np.array_equal(whole(control, bounds.Evidence("data", (operation,), 1.0, ())), bits), isa
        assert np.array_equal(bits, want[0]), isa


class Plain:
    def __init__(self, found):
        self.elementwise, self.library = found, found.library


@pytest.mark.parametrize("key", KEYS, ids=" ".join)
def test_what_is_said_to_show_a_bound_is_there(key):
    found = bounds.catalogue()[key]
    assert found
    for one in found:
        words = " ".join(one.words)
        if one.kind == "proof":
            assert (ROOT / f"proofs/certificates/{words}.json").exists(), words
        elif one.kind in ("half", "test"):
            file, _, name = words.partition("::")
            text = (ROOT / file).read_text()
            assert f"def {name}(" in text if name else "SHRINK" in text, words
        elif one.kind == "every":
            assert words in oracle.UNARY and (ROOT / f"tests/golden/{words}.json").exists(), words
        elif one.kind == "depth":
            assert (ROOT / f"proofs/depth/{words}.c").exists() and words in depth.CHECKS, words
        elif one.kind == "formula":
            shares = json.loads((ROOT / "proofs/formula/shares.json").read_text())
            assert shares and all(share <= 1 for both in shares.values() for share in both)
        elif one.kind == "exact":
            assert any(words in seen for *_, seen in CONTROLS), words
        elif one.kind == "never":
            assert len(words) > 20
        else:
            assert one.kind in ("data", "hard", "pairs", "lemma"), one


# ------------------------------------------------------------------------------------------------------- nothing is left out


def unlisted(found: tuple[Site, ...], listed) -> set:
    return {(site.file, site.name) for site in found} ^ set(listed)


def test_every_bound_is_listed():
    assert not unlisted(sites(), bounds.catalogue()), "list it in tests/controls/bounds.txt, with what shows it"


def test_control_a_bound_that_is_not_listed(tmp_path):
    """A header with one bound more, and a list with one that is gone."""
    folder = tmp_path / "crlibm"
    folder.mkdir()
    (folder / "new.h").write_text(
        "#define RM_NEW_ERR RM_BOUND(0x1p-40)\ndouble f(double a) { return a * RM_BOUND(g(a) * 0x1p-50); }\n"
    )
    found = sites(tmp_path)
    assert [(site.name, site.line) for site in found] == [("RM_NEW_ERR", 1), ("g(a) * 0x1p-50", 2)]
    assert unlisted(found, []) == {("crlibm/new.h", "RM_NEW_ERR"), ("crlibm/new.h", "g(a) * 0x1p-50")}
    assert unlisted(sites(), list(bounds.catalogue())[1:]) == {next(iter(bounds.catalogue()))}


def test_a_second_copy_of_the_sources_writes_nothing(tmp_path):
    """Several processes build the control library in one folder: what one writes again, another may just be reading or loading."""

    def times():
        return {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*") if p.is_file()}

    bound_sites.copy_sources(tmp_path)
    first = times()
    bound_sites.copy_sources(tmp_path)
    assert times() == first


# Where a number below 1 is made into an error or a bound of one.
NAME = r"\w*(?:err|bound|slack|rel|slope|off|reach|units|ERR|BOUND|SLACK|REACH)\w*"
ASSIGNED = re.compile(
    rf"(?:^#define ({NAME})(?:\([^)]*\))? |(?<![\w.])((?:\*|\w+(?:->|\.))?{NAME}) (?:[+*]?=) )[^;]*?0x[0-9a-f.]+p-\d+"
)


def constants(file: str, text: str) -> set[tuple[str, str]]:
    """(file, what is assigned) of each line that makes an error bound of constants, and not by RM_BOUND; what is assigned may begin a line."""
    text = re.sub(r"=\n\s+", "= ", re.sub(r"/\*.*?\*/", "", text, flags=re.S))
    found = set()
    for line in text.splitlines():
        match = ASSIGNED.search(line)
        if match and "RM_BOUND" not in line:
            found.add((file, match[1] or match[2]))
    return found


def test_every_constant_of_a_bound_is_listed():
    """A bound that does not pass through RM_BOUND by itself is a part of one that does."""
    found = set()
    for path in files():
        found |= constants(str(path.relative_to(ROOT)), path.read_text())
    assert found == bounds.parts()


def test_control_a_constant_that_is_not_listed():
    text = "/* err = 0x1p-3 */\n  const double err = x * 0x1p-52;\n  const double c_err =\n      0x1p-51;\n  s.rel = 2.0 * RM_BOUND(0x1p-50);\n#define RM_A_ERR 0x1p-44\n"
    assert constants("a.h", text) == {("a.h", "err"), ("a.h", "c_err"), ("a.h", "RM_A_ERR")}
    assert inside("f(a, g(b)) + c", 2) == "a, g(b)"
