"""The bounds that a machine checks (proofs/): every certificate belongs to its kernel as it is now, a sample of boxes is proved again,
the checker's bounds contain the errors of the graph evaluated on numbers, and wrong claims, tables and steps are rejected.

`make proofs` proves all boxes."""

import ast
import json
import math
import os
import pathlib
import random
import sys
from fractions import Fraction

import flint
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from proofs import definitions, engine, evidence, graph, kinds, loose, mutants, prove, run, taylor, trees, words  # noqa: E402
from proofs.mutants import observed  # noqa: E402
from proofs.smt import odd, rounding_tests, source  # noqa: E402

KERNELS = sorted(graph.kernels())
# Those whose boxes are boxes of x. Others have tests of their own.
DIRECT = [name for name in KERNELS if kinds.KINDS[graph.kernels()[name].kind].module == "prove"]
POINTS = int(os.environ.get("REPMATH_PROOF_POINTS", "6"))
BUILDS = {"fma": True, "base": False}


def random_number(rng: random.Random, kernel: graph.Kernel) -> Fraction:
    """A number of the kernel's domain, its distance from the pole spread evenly over the octaves."""
    interval = rng.choice(evidence.domain(kernel))
    a, b = rng.choice(prove.first_boxes(interval))
    return graph.inwards(f"{a + (b - a) * Fraction(rng.randrange(1, 2**60), 2**60)}", kernel.format, 1)


def random_error(rng: random.Random, kernel: graph.Kernel, parsed: graph.Graph) -> tuple[Fraction, Fraction]:
    """Such a number, and the error there. The exact evaluation has no infinities: numbers at which an expression that is not selected overflows are
    left out."""
    while True:
        x = random_number(rng, kernel)
        try:
            return x, observed(kernel, parsed, x)
        except OverflowError:
            assert kernel.name == "lgamma_b64" and x > 2**60, (kernel.name, x)


def piece_around(kernel: graph.Kernel, x: Fraction) -> prove.Piece:
    """A small box in the domain that has x in it."""
    interval = next(i for i in evidence.domain(kernel) if i.low <= x <= i.high)
    width = abs(x - interval.pole) / 2**9
    return prove.Piece(max(interval.low, x - width), min(interval.high, x + width))


def with_claim(text: str, claim: float) -> str:
    """The graph's text with another claimed bound."""
    lines = text.splitlines()
    nodes = [line for line in lines if not line.startswith("out")] + [f"const {claim.hex()}"]
    outputs = [line for line in lines if line.startswith("out") and not line.startswith("out claim")]
    return "\n".join([*nodes, *outputs, f"out claim #{len(nodes) - 1}"]) + "\n"


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", KERNELS)
def test_certificate_belongs_to_the_kernel(name):
    """Fails when a kernel, a table, a claim, a domain or the checker changed: run make proofs."""
    assert run.outdated(graph.kernels()[name]) == ""


def test_a_changed_kernel_has_no_certificate(monkeypatch):
    kernel = graph.kernels()["exp_b64"]
    text = graph.recorded("exp_b64")
    changed = text.replace("0x1.", "0x1.0", 1)
    assert changed != text and graph.digest(kernel, changed) != graph.digest(kernel)
    monkeypatch.setattr(graph, "recorded", lambda name: changed)
    assert run.outdated(kernel) == "changed since it was proved"


@pytest.mark.parametrize(
    "module,old,new,changed",
    [
        ("definitions", "log1p(x.exp())", "log1p(2 * x.exp())", {"softplus_b64", "log_sigmoid_b64"}),
        ("engine", "BRANCHES = 4", "BRANCHES = 5", {"exp_b64", "softplus_b64", "log_sigmoid_b64", "log_dd"}),
        ("kinds", '"dd": Kind("dd", "f64")', '"dd": Kind("dd", "f32")', set()),
    ],
)
def test_a_certificate_depends_on_what_proves_it(monkeypatch, module, old, new, changed):
    """On the modules of its kind and on its own definition."""
    digest, tree = run.checker_digest.__wrapped__, run.tree
    source = (ROOT / "proofs" / f"{module}.py").read_text()
    assert source.count(old) == 1
    some = [graph.kernels()[name] for name in ("exp_b64", "softplus_b64", "log_sigmoid_b64", "log_dd")]
    before = {k.name: digest(k.kind, k.function) for k in some}
    other = ast.parse(source.replace(old, new))
    monkeypatch.setattr(run, "tree", lambda name: other if name == module else tree(name))
    assert {k.name for k in some if digest(k.kind, k.function) != before[k.name]} == changed


def test_every_kernel_has_a_function_and_a_definition():
    for kernel in graph.kernels().values():
        assert kernel.function in evidence.manifest() and kernel.function in definitions.DEFINITIONS
        assert all(i.low <= i.high for i in evidence.domain(kernel))
        # Boxes become finer towards a pole at their side. (two.py has one box around 0.)
        assert kernel.name not in DIRECT or not any(i.low < i.pole < i.high for i in evidence.domain(kernel))


@pytest.mark.parametrize("name", DIRECT)
def test_bounds_contain_the_errors(name):
    """In small boxes around random numbers: the checked bound is within the claim, and at least the error that the graph has there."""
    kernel, rng = graph.kernels()[name], random.Random(name)
    held = json.loads(run.path_of(kernel).read_text())
    for build, fma in BUILDS.items():
        parsed = graph.parse(graph.recorded(name), fma)
        for _ in range(POINTS):
            x, value = random_error(rng, kernel, parsed)
            error = taylor.ball(value)
            assert error <= prove.prove_piece(kernel, parsed, prove.Piece(x, x)).ratio, (build, x)
            if kernel.kind == "dd_steps":
                continue  # its boxes are those of x less a multiple of the step: the test below
            result = prove.prove_piece(kernel, parsed, piece_around(kernel, x), close=1.0)
            assert error <= result.ratio <= 1, (build, x)
            assert error <= held[build]["ratio"]


@pytest.mark.parametrize("name", [name for name in KERNELS if graph.kernels()[name].kind in ("dd_steps", "dd_octaves")])
def test_many_multiples_at_once(name):
    """Pieces of the certificate: x less k steps, or the mantissa of x, for all k of a range. Their bound contains the errors at some of
    them."""
    kernel, rng = graph.kernels()[name], random.Random(name)
    pieces = [p for p in prove.all_pieces(kernel) if p.multiples]
    for fma in BUILDS.values():
        parsed = graph.parse(graph.recorded(name), fma)
        for piece in rng.sample(pieces, POINTS):
            multiples, step = piece.multiples, piece.multiples.step
            at = piece.low + (piece.high - piece.low) * Fraction(rng.randrange(1, 1000), 1000)
            width = (piece.high - piece.low) / 64
            small = prove.Piece(max(piece.low, at - width), min(piece.high, at + width), multiples)
            result = prove.prove_piece(kernel, parsed, small)
            assert result.ratio <= 1
            for _ in range(4):
                k = rng.randint(multiples.first, multiples.last)
                if step and k & 15 != multiples.residue:
                    continue
                x = Fraction(float(at + step * k)) if step else Fraction(float(at)) * Fraction(2) ** k
                if float(abs(x)) < 2.0**-1022 or (step and abs(x) > prove.EXP_LIMIT[kernel.function]):
                    continue
                assert taylor.ball(observed(kernel, parsed, x)) <= result.ratio, (fma, float(x))


@pytest.mark.parametrize("name", [name for name in KERNELS if graph.kernels()[name].kind in ("eval", "eval_g")])
def test_a_claim_below_a_witness_is_rejected(name):
    """The largest error found at some numbers: a claim just below it must fail there."""
    kernel, rng = graph.kernels()[name], random.Random(1)
    text = graph.recorded(name)
    claim = graph.evaluate(graph.parse(text, True), {"x": 0.75, "g": 1.0})["claim"]
    for fma in BUILDS.values():
        parsed = graph.parse(text, fma)
        found = dict(random_error(rng, kernel, parsed) for _ in range(20))
        worst = max(found, key=found.get)
        lower = graph.parse(with_claim(text, claim * float(found[worst]) * (1 - 2.0**-20)), fma)
        assert prove.prove_piece(kernel, lower, prove.Piece(worst, worst)).ratio > 1
        assert prove.prove_piece(kernel, parsed, prove.Piece(worst, worst)).ratio <= 1


def test_a_claim_is_met_or_not():
    """The bound checked at a number as the claim: a little more is met, a little less is not."""
    kernel, piece = graph.kernels()["exp_b64"], prove.Piece(Fraction(1, 128), Fraction(1, 128))
    text = graph.recorded("exp_b64")
    checked = float(prove.prove_piece(kernel, graph.parse(text, True), piece).ratio)
    for factor, met in ((1 + 2.0**-20, True), (1 - 2.0**-20, False)):
        claimed = graph.parse(with_claim(text, 2.0**-45 * checked * factor), True)
        assert (prove.prove_piece(kernel, claimed, piece).ratio <= 1) is met


# A constant or a table entry of the kernel (its place among the numbers of the text), changed by a relative amount that its claim
# does not cover.
@pytest.mark.parametrize(
    "name,operation,change",
    [("exp_b64", "lookup", 2.0**-43), ("log_b64", "lookup", 2.0**-35), ("erf_dd", "lookup", 2.0**-40)],
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
        box = piece_around(kernel, graph.inwards(repr(rng.uniform(0.3, 0.9)), kernel.format, 1))
        assert prove.prove_piece(kernel, right, box, close=1.0).ratio <= 1
        rejected += bool(prove.prove_piece(kernel, wrong, box).ratio > 1)
    assert rejected


def test_a_table_entry_one_unit_off_is_rejected():
    """Of 2^(j/16) in the double-double exp, whose low part then belongs to another number."""
    text, rng = graph.recorded("exp_dd"), random.Random(3)
    (row,) = [k for k, line in enumerate(text.splitlines()) if line.startswith("lookup") and " 0x1p+0 " in line]
    found = [changed for what, changed in mutants.mutants(text) if what.startswith(f"{row}.")]
    assert len(found) == 2 * 16
    kernel = graph.kernels()["exp_dd"]
    pieces = [p for p in prove.all_pieces(kernel) if p.multiples.first == 32 and p.low == 0]
    assert {p.multiples.residue for p in pieces} == set(range(16))
    for changed in rng.sample(found, 4):
        parsed = graph.parse(changed, True)
        ratios = [prove.prove_piece(kernel, parsed, piece).ratio for piece in pieces]
        assert sum(bool(r > 1) for r in ratios) == 1


@pytest.mark.long
@pytest.mark.parametrize("name", ["tanh_b64", "exp_b64", "sin_dd", "exp2_dd"])
def test_numbers_changed_together(name):
    """The bound is proved with all numbers within a unit of theirs but those that evaluation rejects, and not with 2^20 units; no mutant of
    one of these numbers errs by more than the bound. tanh, exp: a table of bits."""
    kernel, text = graph.kernels()[name], graph.recorded(name)
    parsed, places, where = graph.parse(text, True), mutants.approximations(text), mutants.points(kernel)[:24]
    entries = set().union(*(mutants.entries_at(text, p) for p in where))
    lines = text.splitlines()
    chosen = {at for at in places if lines[at[0]].startswith("const") or at in entries}
    loose = {at for at in chosen if not any(mutants.rejected_at(text, at, where))}
    assert loose and (name.endswith("_b64") or chosen - loose)
    piece = sorted(mutants.prove_pieces(kernel), key=lambda p: abs(p.low) + abs(p.high))[-3]
    out = mutants.settled(kernel, parsed, loose, [piece], mutants.compared(text)).alone
    within = loose - set(out)
    assert within and len(out) < len(loose) // 2
    assert mutants.loosely(kernel, parsed, within, [piece])
    assert not mutants.loosely(kernel, parsed, within, [piece], units=2**20)
    assert not any(any(mutants.rejected_at(text, at, where)) for at in within)


def test_bits_of_a_loose_number_are_only_added_to():
    """What else is done with the bits of a table's entry is not followed, so that it stops."""
    text = "input x\niconst 1\nilookup #1 {}\n{}\nfrom_bits #3\nmul #4 #0\nout y #5\n"
    entries = " ".join(str(graph.bits_of(1 + k / 16)) for k in range(16))
    added, shifted = (text.format(entries, last) for last in ("iadd #2 #1", "sll #2 1"))
    with loose.loose({(2, 3)}):
        assert analysis(added).roundings({"y": 1}) >= taylor.pow2(-52)
        with pytest.raises(NotImplementedError):
            analysis(shifted)
    assert analysis(added).roundings({"y": 1}) <= taylor.pow2(-52)


def test_mutants_are_of_the_kernels_as_they_are():
    held = mutants.results()
    assert held
    for name, found in held.items():
        assert found["kernel"] == graph.digest(graph.kernels()[name]), f"{name} changed: python -m proofs.mutants {name}"
        parts = [found, *([found["integers"]] if "integers" in found else [])]
        for counts in parts:
            assert counts["mutants"] == sum(counts[fate] for fate in mutants.FATES)
        assert sum(counts["open"] for counts in parts) == len(found["left"]) and float(found["seen"]) <= 1
        assert sum(counts["refused"] for counts in parts) == len(found["unproved"])


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


def test_a_value_that_stands_for_a_branch_is_no_sum():
    """d = x - (z - magic), z = magic + k: looks like the error of a sum, and is the rest of x."""
    text = "input x\nconst 0x1.8p48\nadd #0 #1\nsub #2 #1\nsub #0 #3\nout y #4\n"
    flint.ctx.prec, taylor.Model.order = 256, 8
    multiples = engine.Multiples(Fraction(1, 16), 4, 7, 5)
    found = engine.Analysis(graph.parse(text, True), "f64", Fraction(1, 64), Fraction(1, 40), {}, multiples).output("y")
    assert found.enclosure.contains(flint.arb(1) / 50) and not found.enclosure.contains(0) and found.rho == 0


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


@pytest.mark.parametrize(
    "name", [name for name in sorted(odd.lemmas()) if name.startswith("twice")] + ["sign 2^-2", "sign 2^-53"]
)
def test_lemmas_of_rounding_to_odd(name):
    statement, mutant = odd.lemmas()[name]
    assert rounding_tests.holds(statement)
    assert not rounding_tests.holds(mutant)
    assert not rounding_tests.holds(odd.sign(2, odd.MAGIC + 1))  # a constant whose own parity is not even


def test_small_formats_round_to_odd():
    """All numbers; and with the neighbour on the wrong side, or without the last step, some are wrong."""
    assert odd.wrong_to_odd(5) == 0 and odd.wrong_to_odd(5, away=-1) > 0
    assert odd.wrong_fma(4) == 0 and odd.wrong_fma(4, last=lambda s, e, bits: s) > 0
    # Knuth's two sums leave a number of the format.
    assert all(
        odd.rounded(e, 4) == e
        for a in range(8, 16)
        for k in range(8, 400)
        for e in odd.two_sum(odd.Fraction(a), odd.rounded(odd.Fraction(k), 4), 4)
    )


def test_lemmas_are_of_the_library_s_source(tmp_path):
    """Compiled C against the functions of the lemmas, where their cases part; and each of the three functions with an edit of its own differs."""
    some = source.cases()[::8]
    assert {case[0] for case in some} == {"o", "f", "s"}
    assert source.differences(source.compiled(tmp_path / "library"), some) == []
    edit = {
        "crlibm/simd/machine.h": [("vi64_xor(b, vf64_bits(e)), 63), vi64_set1(1))", "b, 63), vi64_set1(1))")],
        "crlibm/fma/fma.h": [("vf64_two_sum(tl, vl, &e)", "vf64_two_sum(tl, vh, &e)")],
        "crlibm/pow/pow.h": [("vf64 t = vf64_add(y, magic);", "vf64 t = vf64_add(vf64_add(y, y), magic);")],
    }
    found = {case[0] for case in source.differences(source.compiled(tmp_path / "edited", edit), some)}
    assert found == {"o", "f", "s"}


def test_pages_say_what_the_certificates_say():
    """docs/evidence.md and the error budgets: python -m proofs.run --table writes them."""
    assert evidence.stale() == []


def test_words_are_within_their_bounds():
    """proofs/words.py; and a step of the root with another coefficient, or a power of an operand that does not fit, is found."""
    for name, checked in words.bounds().items():
        assert checked <= words.stated(name), name
    text = words.recorded()["rsqrt"]
    for old, new in (("const 0x1.8p-2", "const 0x1.7ep-2"), ("const 0x1p-1", "const 0x1.0001p-1")):
        assert text.count(old) == 1
        assert not words.bound(text.replace(old, new), "rsqrt", "y") <= words.stated("rsqrt")
    assert text.count("nmad #3 #1 #2") == 1
    with pytest.raises(AssertionError):
        words.bound(text.replace("nmad #3 #1 #2", "nmad #1 #1 #2"), "rsqrt", "y")


def test_words_contain_their_errors():
    """A rational evaluation of the recorded steps, from estimates off by up to 2^-14: no error is above the checked bound."""
    rng = random.Random(5)
    for word, operands in words.OPERANDS.items():
        parsed = graph.parse(words.recorded()[word], True)
        for name, output in ((word, "y"), (f"{word}_r", "r")):
            if name not in words.STATED:
                continue
            checked = taylor.exact(words.bound(words.recorded()[word], word, output))
            for d in [
                *(Fraction(s, 2**14) for s in (-1, 1)),
                *(Fraction(rng.randrange(-(2**20), 2**20), 2**34) for _ in range(20)),
            ]:
                inputs = {n: rng.uniform(1, 4) for n in operands}
                exact = math.prod(
                    Fraction(inputs[n]) ** (1 if p > 0 else -1)
                    for n, p in zip(operands, words.POWERS[name], strict=True)
                    if p
                )
                root = 0.5 in map(abs, words.POWERS[name])

                def estimate(a, power, d=d):
                    v = Fraction(graph.rounded_root(Fraction(a))) if power == 0.5 else Fraction(a)
                    return math.nextafter(float((1 + d) / v), float(1 / v))

                steps = {"rsqrt14": lambda a: estimate(a, 0.5), "rcp14": lambda a: estimate(a, 1)}
                graph.NUMERIC.update(steps)
                try:
                    y = Fraction(graph.evaluate(parsed, inputs)[output])
                finally:
                    for op in steps:
                        del graph.NUMERIC[op]
                # (1 + e)^2 - 1 = 2 e (1 + e/2).
                off = abs(y * y / exact - 1) / 2 if root else abs(y / exact - 1)
                assert off <= checked * (1 + checked), (name, d)


def test_digests_of_trees_do_not_depend_on_the_version_of_python():
    """Fields that only newer versions know, and empty ones, are not in the text; what a function does is."""
    text = 'def f(x: int) -> None:\n    """About f."""\n    return f"{x + 1!r}"  # one more\n'
    assert trees.dumped(ast.parse(text)) == (
        "Module(body=[FunctionDef(name='f', args=arguments(args=[arg(arg='x', annotation=Name(id='int', ctx=Load()))]), "
        "body=[Return(value=JoinedStr(values=[FormattedValue(value=BinOp(left=Name(id='x', ctx=Load()), op=Add(), "
        "right=Constant(value=1)), conversion=114)]))], returns=Constant())])"
    )
    assert trees.dumped(ast.parse(text.replace("x + 1", "x + 2"))) != trees.dumped(ast.parse(text))
