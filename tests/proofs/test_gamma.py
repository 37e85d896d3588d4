"""Proofs of lgamma, digamma and betaln in binary64: the definition over balls, bounds that contain the errors seen at numbers, and controls."""

import pathlib
import random
import sys
from fractions import Fraction

import pytest
from flint import arb, ctx

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from proofs import definitions, graph, points, prove, run  # noqa: E402
from proofs.formula import check, gamma  # noqa: E402
from proofs.formula.algebra import Unknown  # noqa: E402
from proofs.kinds import hook  # noqa: E402
from proofs.taylor import ball  # noqa: E402

KERNELS = ("digamma_b64", "lgamma_row_b64", "lgamma_turn_b64", "digamma_turn_b64")
LGAMMA, DIGAMMA = "crlibm/lgamma/lgamma_b64.h", "crlibm/digamma/digamma_b64.h"


@pytest.mark.parametrize("centre, radius", [("0.75", "0.25"), ("1.5", "0.1"), ("3", "0.5"), ("1e30", "1e29")])
def test_terms_over_a_ball_contain_those_at_its_numbers(centre, radius):
    ctx.prec = 160
    whole = definitions.log_gamma_terms(arb(centre, radius), 8)
    for part in (-1, -0.9, -0.3, 0, 0.5, 1):
        inside = definitions.log_gamma_terms((arb(centre) + part * arb(radius)).mid(), 8)
        assert all(w.contains(v.mid()) for w, v in zip(whole, inside, strict=True))


@pytest.mark.parametrize("name", KERNELS)
def test_bounds_contain_the_errors(name):
    kernel, rng = graph.kernels()[name], random.Random(name)
    # Beyond, a polynomial that is not taken overflows, which the evaluation on numbers does not go through.
    pieces = [p for p in hook(kernel.kind, "all_pieces")(kernel) if 2.0**-40 <= max(abs(p.low), abs(p.high)) <= 2**30]
    for fma in (True, False):
        parsed = graph.parse(graph.recorded(name), fma)
        for piece in rng.sample(pieces, min(8, len(pieces))):
            at = piece.low + (piece.high - piece.low) * Fraction(rng.randrange(1, 2**30), 2**30)
            x = Fraction(points.inwards(f"{at}", kernel.format, 1))
            near = prove.Piece(max(piece.low, x - abs(x) / 2**9), min(piece.high, x + abs(x) / 2**9))
            error = ball(points.observed(kernel, parsed, x))
            assert error <= prove.prove_piece(kernel, parsed, near).ratio <= 1, (fma, float(x))


@pytest.mark.parametrize("name", ["lgamma_b64", *KERNELS])
def test_control_a_wrong_coefficient(name):
    """One of a polynomial, off by 2^-10 of itself."""
    kernel, text = graph.kernels()[name], graph.recorded(name)
    lines = text.splitlines()
    steps = [k for k, line in enumerate(lines) if line.startswith("mad ") and lines[k - 1].startswith("const ")]
    at = next(k for k in steps if 2.0**-3 < abs(float.fromhex(lines[k - 1].split()[1])))
    number = float.fromhex(lines[at - 1].split()[1])
    lines[at - 1] = f"const {(number * (1 + 2.0**-10)).hex()}"
    piece = prove.Piece(Fraction(3, 8), Fraction(13, 32))
    whole, wrong = (graph.parse(t, True) for t in (text, "\n".join(lines) + "\n"))
    assert prove.prove_piece(kernel, whole, piece).ratio <= 1 < prove.prove_piece(kernel, wrong, piece).ratio


def shares(folder, edit):
    recorder = check.program(folder, edit)
    return [max(check.check(recorder, claim, fma).values()) for claim in gamma.reflections() for fma in (True, False)]


def test_reflections_are_within_their_bounds(tmp_path):
    assert max(shares(tmp_path, {})) <= 1


def test_control_half_of_the_bounds_of_reflections(tmp_path):
    half = {
        LGAMMA: [("*err = vf64_mul(sizes, bound);", "*err = vf64_mul(sizes, vf64_set1(0x1p-41));")],
        DIGAMMA: [("inverse), vf64_set1(RM_DIGAMMA_B64_ERR)));", "inverse), vf64_set1(0x1p-52)));")],
    }
    assert min(shares(tmp_path, half)) > 1


def of_betaln(folder, edit):
    recorder = check.program(folder, edit)
    claims = [*gamma.betaln(recorder.parent), gamma.series(recorder.parent)]
    return {c.name: max(max(check.check(recorder, c, fma).values()) for fma in (True, False)) for c in claims}


def test_betaln_is_within_its_bound(tmp_path):
    found = of_betaln(tmp_path, {})
    assert len(found) == 4 and max(found.values()) <= 1


BETALN = "crlibm/betaln/betaln_b64.h"


@pytest.mark.parametrize(
    "old, new, names",
    [
        ("RM_BOUND(0x1p-40)", "RM_BOUND(0x1p-42)", ("b <= 8.5", "a <= 8.5 < b", "8.5 < a")),
        ("#define RM_BETALN_SERIES_ERR 0x1p-52", "#define RM_BETALN_SERIES_ERR 0x1p-54", ("Stirling's series",)),
        ("#define RM_BETALN_SERIES_ERR 0x1p-52", "#define RM_BETALN_SERIES_ERR 0x1p-49", ("a <= 8.5 < b", "8.5 < a")),
        ("RM_BOUND(0x1p-49)", "RM_BOUND(0x1p-53)", ("b <= 8.5", "a <= 8.5 < b", "8.5 < a")),
    ],
)
def test_control_other_bounds_of_betaln(tmp_path, old, new, names):
    found = of_betaln(tmp_path, {BETALN: [(old, new)]})
    assert {name for name, part in found.items() if part > 1} == {f"betaln, {name}" for name in names}


def test_control_another_formula_of_betaln(tmp_path):
    """A sum in place of a difference is no evaluation of it."""
    with pytest.raises(Unknown):
        of_betaln(tmp_path, {BETALN: [("vf64_sub(vf64_sub(own, p), q)", "vf64_sub(vf64_add(own, p), q)")]})


def test_certificates_are_those_of_the_formulas():
    """What formula/gamma.py states of digamma's kernels is what kernels.def says."""
    text = (ROOT / "proofs/kernels.def").read_text()
    assert float(gamma.WITHIN) == float.fromhex("0x1.ap-1") and "RM_PROOF_EVAL_WITHIN(digamma, 0x1.ap-1, " in text
    assert float(gamma.COSINE) == float.fromhex("0x1.4p-51") and ", 0x1.4p-51, " in text
    assert all(run.outdated(graph.kernels()[name]) == "" for name in KERNELS)
