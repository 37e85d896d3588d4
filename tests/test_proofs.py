"""The bounds that a machine checks (proofs/): every certificate belongs to its kernel as it is now, a sample of boxes is proved again,
the checker's bounds contain the errors of the graph evaluated on numbers, and wrong claims, tables and steps are rejected.

`make proofs` proves all boxes."""

import json
import os
import pathlib
import random
import sys
from fractions import Fraction

import flint
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from proofs import definitions, engine, evidence, graph, prove, run, taylor  # noqa: E402
from proofs.smt import rounding_tests  # noqa: E402

KERNELS = sorted(graph.kernels())
POINTS = int(os.environ.get("REPMATH_PROOF_POINTS", "6"))
BUILDS = {"fma": True, "base": False}


def random_number(rng: random.Random, kernel: graph.Kernel) -> Fraction:
    """A number of the kernel's domain, its distance from the pole spread evenly over the octaves."""
    a, b = rng.choice(prove.all_boxes(kernel))
    return graph.inwards(f"{a + (b - a) * Fraction(rng.randrange(1, 2**60), 2**60)}", kernel.format, 1)


def box_around(kernel: graph.Kernel, x: Fraction) -> tuple[Fraction, Fraction]:
    """A small box in the domain that has x in it."""
    (interval,) = [i for i in kernel.domain if i.low <= x <= i.high][:1]
    width = abs(x - interval.pole) / 2**9
    return max(interval.low, x - width), min(interval.high, x + width)


def observed(kernel: graph.Kernel, parsed: graph.Graph, x: Fraction) -> Fraction:
    """The error of the graph's value at x over the claimed bound, from below."""
    out = graph.evaluate(parsed, {"x": float(x), "g": 1.0})
    flint.ctx.prec = 600
    f = definitions.constant(definitions.DEFINITIONS[kernel.function](flint.arb_series([taylor.ball(x), 1], prec=2)))
    y = Fraction(out["hi"]) + Fraction(out["lo"]) if kernel.kind == "dd" else Fraction(out["y"])
    error = taylor.low(taylor.ball(y) - f)
    bound = abs(Fraction(out["claim"]) * y) if "claim" in out else Fraction(out["err"])
    return taylor.exact((error / taylor.ball(bound)).lower())


def with_claim(text: str, claim: float) -> str:
    """The graph's text with another claimed bound."""
    lines = text.splitlines()
    nodes = [line for line in lines if not line.startswith("out")] + [f"const {claim.hex()}"]
    outputs = [line for line in lines if line.startswith("out") and not line.startswith("out claim")]
    return "\n".join([*nodes, *outputs, f"out claim #{len(nodes) - 1}"]) + "\n"


@pytest.mark.parametrize("name", KERNELS)
def test_certificate_belongs_to_the_kernel(name):
    """Fails when a kernel, a table, a claim, a domain or the checker changed: run make proofs."""
    assert run.outdated(graph.kernels()[name]) == ""


def test_a_changed_kernel_has_no_certificate(monkeypatch):
    kernel = graph.kernels()["exp_f32"]
    text = graph.recorded("exp_f32")
    changed = text.replace("0x1.", "0x1.0", 1)
    assert changed != text and graph.digest(kernel, changed) != graph.digest(kernel)
    monkeypatch.setattr(graph, "recorded", lambda name: changed)
    assert run.outdated(kernel) == "changed since it was proved"


@pytest.mark.parametrize("name", KERNELS)
def test_bounds_contain_the_errors(name):
    """In small boxes around random numbers: the checked bound is within the claim, and at least the error that the graph has there."""
    kernel, rng = graph.kernels()[name], random.Random(name)
    held = json.loads(run.path_of(kernel).read_text())
    for build, fma in BUILDS.items():
        parsed = graph.parse(graph.recorded(name), fma)
        for _ in range(POINTS):
            x = random_number(rng, kernel)
            result = prove.prove_box(kernel, parsed, box_around(kernel, x), close=1.0)
            point = prove.prove_box(kernel, parsed, (x, x))
            assert result.ratio <= 1
            error = taylor.ball(observed(kernel, parsed, x))
            assert error <= result.ratio and error <= point.ratio, (build, x)
            assert error <= held[build]["ratio"]


@pytest.mark.parametrize("name", ["exp_f32", "tanh_f32", "gelu_f32"])
def test_a_claim_below_a_witness_is_rejected(name):
    """The largest error found at some numbers: a claim just below it must fail there, and one above what is checked must not."""
    kernel, rng = graph.kernels()[name], random.Random(1)
    text = graph.recorded(name)
    claim = graph.evaluate(graph.parse(text, True), {"x": 0.75})["claim"]
    for fma in BUILDS.values():
        parsed = graph.parse(text, fma)
        worst = max((random_number(rng, kernel) for _ in range(40)), key=lambda x: observed(kernel, parsed, x))
        error = observed(kernel, parsed, worst)
        box = box_around(kernel, worst)
        lower = graph.parse(with_claim(text, claim * float(error) * (1 - 2.0**-20)), fma)
        assert prove.prove_box(kernel, lower, box).ratio > 1
        checked = prove.prove_box(kernel, parsed, box, close=0.0).ratio
        higher = graph.parse(with_claim(text, claim * float(checked.upper()) * (1 + 2.0**-20)), fma)
        assert prove.prove_box(kernel, higher, box, close=0.0).ratio <= 1


# A constant or a table entry of the kernel (its place among the numbers of the text), changed by a relative amount that its claim
# does not cover.
@pytest.mark.parametrize(
    "name,operation,change",
    [("exp_f32", "lookup", 2.0**-43), ("log_f32", "lookup", 2.0**-35)],
)
def test_a_wrong_table_is_rejected(name, operation, change):
    kernel, rng = graph.kernels()[name], random.Random(2)
    lines = graph.recorded(name).splitlines()
    (at, *_) = [i for i, line in enumerate(lines) if line.startswith((operation, "i" + operation))]
    words = lines[at].split()
    if words[0] == "ilookup":
        words[2:] = [str(graph.bits_of(graph.double_of(int(v)) * (1 + change))) for v in words[2:]]
    else:
        words[2:] = [(float.fromhex(v) * (1 + change)).hex() for v in words[2:]]
    lines[at] = " ".join(words)
    wrong = graph.parse("\n".join(lines) + "\n", True)
    right = graph.parse(graph.recorded(name), True)
    rejected = 0
    for _ in range(8):
        box = box_around(kernel, random_number(rng, kernel))
        assert prove.prove_box(kernel, right, box, close=1.0).ratio <= 1
        rejected += bool(prove.prove_box(kernel, wrong, box).ratio > 1)
    assert rejected


# The checker on graphs of a line or two, about which the error is known.


def analysis(text: str, low: str = "1", high: str = "2", fma: bool = True) -> engine.Analysis:
    flint.ctx.prec, taylor.Model.order = 256, 8
    return engine.Analysis(graph.parse(text, fma), "f64", Fraction(low), Fraction(high), {})


def test_the_error_of_a_sum_is_exact_only_in_the_right_order():
    """s = a + b, e = b - (s - a): with |a| >= |b| hi + lo is a + b, otherwise the error of s may be lost."""
    sum_of = "input x\nconst 0x1.8p-40\nmul #0 #1\n{}\nsub #3 {}\nsub {} #4\nout hi #3\nout lo #5\n"
    right = sum_of.format("add #0 #2", "#0", "#2")
    wrong = sum_of.format("add #0 #2", "#2", "#0")
    # The product rounds by 2^-93 in the box; the sum by 2^-53.
    assert analysis(right).roundings({"hi": 1, "lo": 1}) <= taylor.pow2(-92)
    assert analysis(wrong).roundings({"hi": 1, "lo": 1}) >= taylor.pow2(-53)


def test_the_error_of_another_sum_is_none():
    """What looks like it, with a wrong sign or another sum, is 2 b or b - c, not 0."""
    sign = "input x\nconst 0x1.8p-40\nmul #0 #1\nadd #0 #2\nsub #3 #0\nadd #4 #2\nout hi #3\nout lo #5\n"
    other = "input x\nconst 0x1.8p-40\nmul #0 #1\nadd #0 #1\nsub #3 #0\nsub #2 #4\nout hi #3\nout lo #5\n"
    right = sign.replace("add #4 #2", "sub #2 #4")
    assert analysis(right).output("lo").model.sup() == 0
    assert not analysis(sign, low="1.5").output("lo").enclosure.contains(0)
    assert not analysis(other, low="1.5").output("lo").enclosure.contains(0)


def test_a_product_is_exact_only_where_it_fits():
    text = "input x\nconst {}\nmul #0 #1\nout y #2\n"
    assert analysis(text.format("0x1.8p0")).roundings({"y": 1}) >= taylor.pow2(-54)  # x has 53 bits
    assert analysis(text.format("0x1p-3")).roundings({"y": 1}) == 0
    assert analysis(text.format("0x1p-1060")).roundings({"y": 1}) > 0  # subnormal


def test_without_fused_operations_there_is_one_rounding_more():
    text = "input x\nconst 0x1.5555555555555p0\nconst 0x1p-60\nmad #0 #1 #2\nout y #3\n"
    assert analysis(text, fma=False).roundings({"y": 1}) > analysis(text, fma=True).roundings({"y": 1})


def test_a_branch_covers_its_part_of_the_box():
    """x + 1.5 2^52 has the values 1 and 2 on [1, 2]: the parts must meet."""
    with pytest.raises(engine.Choice) as raised:
        analysis("input x\nconst 0x1.8p52\nadd #0 #1\nout y #2\n")
    (one, first, middle), (two, other, last) = raised.value.options
    assert (one, two) == (2.0**52 * 1.5 + 1, 2.0**52 * 1.5 + 2)
    assert first == 1 and last == 2 and other <= Fraction(3, 2) <= middle


def test_models_enclose():
    """Operations of Taylor models against their values at points."""
    flint.ctx.prec, taylor.Model.order = 128, 5
    f = taylor.taylor(lambda x: x.exp(), flint.arb(1), flint.arb(1) / 8)
    g = taylor.taylor(lambda x: (1 + x).log(), flint.arb(1), flint.arb(1) / 8)
    cases = {
        "product": (f * g, lambda x: x.exp() * (1 + x).log()),
        "sum": (f + g, lambda x: x.exp() + (1 + x).log()),
        "inverse": (f.inverse(), lambda x: (-x).exp()),
        "root": (f.sqrt(), lambda x: (x / 2).exp()),
    }
    flint.ctx.prec = 400
    for name, (model, value) in cases.items():
        for k in range(-8, 9):
            s = flint.arb(k) / 8
            off = model.p(s) - value(1 + s / 8)
            assert abs(off) <= model.r + flint.arb(2) ** -120, name
            assert abs(off) <= model.r, name
        assert model.r < flint.arb(2) ** -20


def test_roundings_are_at_most_half_a_place():
    """half_place(m) is reached by numbers up to m, and no number up to m rounds by more: on the numbers around powers of two."""
    for m in [1.0, 1.0 + 2.0**-52, 1.5, 2.0 - 2.0**-52, 2.0, 2.0 + 2.0**-51, 2.0**-1022, 2.0**-1060]:
        bound = taylor.exact(engine.half_place(flint.arb(m)))
        for numerator in range(1, 64):
            v = Fraction(m) * Fraction(numerator, 64) + Fraction(m) * Fraction(1, 2**53)
            for w in (v, Fraction(m) * (1 - Fraction(numerator, 2**58))):
                if w <= Fraction(m):
                    assert abs(Fraction(float(w)) - w) <= bound


@pytest.mark.parametrize("name", sorted(rounding_tests.lemmas())[::12] + ["between", "multiple"])
def test_lemmas_of_the_rounding_tests(name):
    statement, mutant = rounding_tests.lemmas()[name]
    assert rounding_tests.holds(statement)
    assert not rounding_tests.holds(mutant)


def test_pages_say_what_the_certificates_say():
    """docs/evidence.md and the error budgets: python -m proofs.run --table writes them."""
    assert evidence.stale() == []
