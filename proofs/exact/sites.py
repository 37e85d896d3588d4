"""Where the library calls rounding tests of its fast and double-double tiers: each call is watched, or part of a test that is. Calls that are neither
are found here, by the primitives that tests are made of and by the names of functions that take a bound."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from proofs.exact.library import HERE, ONLY, ROOT, WATCHED, files, function_around, watched

# Kernels of functions have proofs of their own; the device's sources call the headers that are watched here, and what they, and norm/found_row.h, decide themselves is
# compared with the CPU's bits by tests/cuda/test_emulated.py. The CPU's tiles and
# its products of pairs are not in the builds that are watched, whose arithmetic is a vocabulary: tests/reductions/test_tiles.py compares their sums with exact
# ones, at the bounds too, and proofs/depth counts the roundings of chains of pairs and of what settles the elements that both leave. Nor are the
# quick loops of formulas, which need vectors of binary32 and FMA: tests/nn/test_formulas_quick.py compares what they decide with the loops that are watched,
# beside boundaries, and tests/nn/test_formulas.py with exact numbers. What recurrences and series decide is compared with exact numbers beside boundaries in
# tests/elementwise/test_recurrences.py. What rows of binary64 decide is compared with exact numbers beside boundaries in tests/nn/test_norm_boundaries.py, and
# in tests/controls/bound_data.py, and averages of binary64 in tests/nn/test_pooling.py. The numbers that partials.c and join.c round are given by their callers:
# tests/reductions/test_partials.py compares what comes of parts with exact sums, and their errors with the bounds. What products of many factors decide is
# compared with exact products beside boundaries in tests/reductions/test_products.py and in tests/controls/factor_data.py. Runs of losses, weights by direction
# and length, and columns of softmax store the neighbours of a bound: tests/nn/test_losses_runs.py, test_direction.py and test_softmax_columns.py compare what they
# decide with exact numbers beside boundaries; tests/linalg/test_linalg.py does so for columns of factors, and tests/nn/test_glu.py for gated linear units.
ELSEWHERE = (
    "src/cuda/",
    "src/xla/",
    "src/elementwise/",
    "src/blas/gemm/tiles.c",
    "src/blas/gemm/chains_b32.c",
    "src/blas/gemm/undecided_16.h",
    "src/blas/join.c",
    "src/blas/partials.c",
    "src/common/round_scaled.h",
    "src/linalg/columns.c",
    "src/nn/formula/gate.h",
    "src/nn/formula/quick.h",
    "src/nn/loss/pairs.h",
    "src/nn/norm/direction.h",
    "src/nn/norm/found_row.h",
    "src/nn/softmax/columns.h",
    "src/nn/rows/wide.h",
    "src/nn/rows/wide_exp.h",
    "src/nn/rows/wide_numbers.inl",
    "src/nn/rows/wide_round.h",
    "src/special/",
)
PRIMITIVE = re.compile(
    r"\b(?:vf64_undecided\w*|vf32_undecided\w*|rm_round_dd|rm_dd_ball_round|vf64_store_(?:differing|between)_f32|rm_columns_differ)\("
    r"|[=!]= rm_(?:bits32|bits64|round_double|round_beside)\(|vi64_eq\(vf64_bits\(\w+\), vf64_bits\(|\w+\[\w+\] != other\["
)
FUNCTION = re.compile(r"^(?:\w[\w *]*[ *])(\w*(?:decide|round|settle|undecided|known|_test)\w*)\(([^;{]*)\) \{", re.MULTILINE)
BOUND = re.compile(r"\b(?:err|reach|bound|error|margin)\b")
PARTS = {  # what tests are made of, and what takes a bound only to give it to one
    "rm_round_vector_f32": "rm_round_vector and rm_round_scaled",
    "rm_round_vector_16": "rm_round_vector",
    "rm_columns_differ": "rm_round_columns",
    "rm_row_test": "it calls rm_row_doubt, for devices",
    "rm_row_doubt": "the loops of rows call it, where it is watched; tests/nn/test_norm_boundaries.py has data beside boundaries for others",
    "rm_row_is_clear": "a condition under which rm_row_doubt finds no lane; tests/nn/test_norm_boundaries.py has data beside boundaries",
    "rm_decide_element_b64": "it calls rm_decide_b64",
    "rm_decide_subnormal": "rm_decide_scaled calls it",
    "rm_decide_alpha_beta": "it calls rm_decide_scaled",
    "rm_deviations_known": "what it makes is given to rm_function_decide",
    "rm_term_round_dd": "it calls vf64_undecided_f64",
    "round_row": "it calls rm_round_vector, for a row",
    "rm_channels_round": "it calls rm_round_vector, for a row of positions",
    "rm_weights_round": "it calls rm_round_vector, for a tap of several channels",
    "round_dd": "it calls rm_term_round_dd, for a row",
    "round_f32": "it calls vf64_undecided_within, for a row of a transform",
    "round_f64": "it calls vf64_undecided_f64, for a row of a transform",
    "round_exactly": "settle calls it with its own bound",
    "round_log": "settle calls it with its own bound, in balls",
    "rounded": "it calls rm_wide_round, for a row of averages",
    "round_plainly": "of few weighted terms: tests/controls/sample_data.py has data beside boundaries, and tests/nn/test_sampling.py exact sums",
    "quick_rows": "of many factors: tests/controls/factor_data.py has data beside boundaries, and tests/reductions/test_products.py exact products",
    "rm_round_quickly": "of the mode stochastic: tests/controls/random_rounding_data.py has data at its thresholds, guards.txt its conditions",
}

# Their calls are recorded, but cases.py has nothing to compare the records with.
NOT_COMPARED = {
    "src/reduce/axes.c": "it gives an element that axes_kernels.c left undecided to the tests of a single sum, which are compared there; "
    "tests/reductions/test_axes.py compares what comes of it with exact sums",
    "src/nn/norm/direction.c": "its sums go to the tests of a single sum, which are compared there; tests/nn/test_direction.py compares what comes of them "
    "with exact numbers beside boundaries",
    "src/nn/sample/kernels.c": "what it stores has no place in the caller's memory yet; tests/nn/test_sampling.py compares what comes of it with exact sums",
}


@dataclass(frozen=True)
class Site:
    """A call whose arguments are recorded."""

    path: str
    first: int
    last: int
    test: str

    def __str__(self) -> str:
        return f"{self.test} at {self.path}:{self.first}"


def recording() -> set[str]:
    """The tests whose macros make records; others only say what the next ones are about."""
    parts = re.split(r"^#define WATCH_(\w+)\(", (HERE / "watch.h").read_text(), flags=re.MULTILINE)[1:]
    made = re.compile(r"exact_watch|EXACT_LANES|EXACT_PLACES|EXACT_RESULTS|EXACT_ELEMENT")
    bodies = {name: re.match(r"(?:.*\\\n)*.*", body) for name, body in zip(parts[::2], parts[1::2], strict=True)}
    return {name for name, body in bodies.items() if body and made.search(body[0])}


def sources() -> Iterator[tuple[str, str]]:
    for source in sorted(files(ROOT / "src")):
        name = str(source.relative_to(ROOT))
        if not name.startswith(ELSEWHERE):
            yield name, source.read_text()


def end_of_call(text: str, at: int) -> int:
    """Where the parenthesis is closed that is opened from here on."""
    at, depth = text.index("(", at), 0
    while True:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if not depth:
            return at
        at += 1


def sites() -> list[Site]:
    made, found = recording(), []
    for name, text in sources():
        text = watched(name, text)[0]
        for call in re.finditer(r"\bWATCH_(\w+)\(", text):
            if call[1] in made:
                lines = [text.count("\n", 0, at) + 1 for at in (call.start(), end_of_call(text, call.start()))]
                found.append(Site(name, *lines, call[1]))
    return found


def without_comments(text: str) -> str:
    """The text with comments blank, each place where it was."""
    return re.sub(r"/\*.*?\*/|//[^\n]*", lambda comment: re.sub(r"[^\n]", " ", comment[0]), text, flags=re.DOTALL)


def unwatched(name: str, text: str) -> list[str]:
    """The rounding tests of a source that no record is made of. A function is known by its name only where calls of that name are watched."""
    text, found = without_comments(watched(name, text)[0]), []
    known = {*PARTS, *(test for test in WATCHED if name.startswith(ONLY.get(test, ("",))))}
    for use in PRIMITIVE.finditer(text):
        around = function_around(text, use.start())
        if around not in known:
            found.append(f"{name}:{text.count(chr(10), 0, use.start()) + 1}: {use[0]} in {around}")
    for function in FUNCTION.finditer(text):
        if BOUND.search(function[2]) and function[1] not in known:
            found.append(f"{name}: {function[1]} takes a bound")
    return found


def all_unwatched() -> list[str]:
    return [what for name, text in sources() for what in unwatched(name, text)]
