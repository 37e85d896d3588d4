"""proofs/composed.py, computed.py, small.py, circle.py and steps.py: their bounds against direct evaluation of the whole kernels in f64, and
changed constants, tables and claims, which must fail."""

import json
import pathlib
import random
import sys
from fractions import Fraction

import flint
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from proof_kernels import BUILDS, KERNELS, ratio_at, value, whole

from proofs import composed, definitions, evidence, graph, kinds, prove, run, steps, tails, taylor  # noqa: E402

POINTS = 3


def number(rng: random.Random, kernel: graph.Kernel) -> Fraction:
    intervals = kernel.domain
    if kernel.function == "rsqrt":  # graph.py takes roots to 240 bits
        intervals = tuple(i for i in intervals if 2.0**-200 < i.low < 2.0**200)
    low, high = rng.choice(prove.first_boxes(rng.choice(intervals)))
    return Fraction(float(low + (high - low) * Fraction(rng.randrange(1, 2**60), 2**60)))


@pytest.mark.parametrize("name", KERNELS)
def test_bounds_contain_the_errors(name):
    """At random numbers and in small boxes around them."""
    kernel, rng = graph.kernels()[name], random.Random(name)
    held = json.loads(run.path_of(kernel).read_text())
    for build, fma in BUILDS.items():
        full = whole(name, fma)
        for _ in range(POINTS):
            x = number(rng, kernel)
            interval = next(i for i in kernel.domain if i.low <= x <= i.high)
            width = abs(x - interval.pole) / 2**12
            out = graph.evaluate(full, {"x": float(x), "g": 1.0})
            y, err = Fraction(out["hi"]) + Fraction(out["lo"]), Fraction(out["err"])
            seen = taylor.low(taylor.ball(y) - value(kernel.function, x)) / taylor.ball(err)
            checked = ratio_at(name, graph.recorded(name), fma, max(interval.low, x - width), min(interval.high, x + width))
            assert seen <= checked <= 1, (build, float(x))
            assert seen <= held[build]["ratio"]


@pytest.mark.parametrize(
    "name,x",
    [
        ("sigmoid_dd", -3),
        ("softplus_dd", -3),
        ("erfc_dd", 2),
        ("silu_dd", -3),
        ("log_sigmoid_dd", 3),
        ("sigmoid_backward_dd", 3),
        ("tanh_backward_dd", -3),
        ("softplus_backward_dd", -3),
        ("log_sigmoid_backward_dd", 3),
        ("gelu_dd", -3),
        ("ndtr_dd", -3),
        ("gelu_tanh_dd", -3),
        ("erf_backward_dd", 3),
        ("gelu_backward_dd", -3),
        ("silu_backward_dd", -3),
        ("gelu_tanh_backward_dd", -3),
    ],
)
def test_the_error_of_exp_counts(name, x):
    """With sixteen times its bound, what is composed of it exceeds its own."""
    text = graph.recorded(name)
    (line,) = [line for line in text.splitlines() if line.startswith("exp_value")]
    wrong = text.replace(line, line.rsplit(" ", 1)[0] + " " + (16 * float.fromhex(line.rsplit(" ", 1)[1])).hex())
    assert ratio_at(name, text, True, Fraction(x)) <= 1
    assert ratio_at(name, wrong, True, Fraction(x)) > 1


# Operation, which of them in the kernel, and the relative change of all its numbers.
@pytest.mark.parametrize(
    "name,operation,at,change,x",
    [
        ("atan_dd", "lookup", -2, 2.0**-50, "0.7"),
        ("asin_dd", "lookup", -1, 2.0**-10, "0.7"),
        ("erfc_dd", "lookup", 0, 2.0**-30, "0.7"),
        ("softplus_dd", "lookup", 0, 2.0**-40, "0.7"),
        ("rsqrt_dd", "const", -1, 0.75, "1.9"),  # the bound itself
    ],
)
def test_a_wrong_number_is_rejected(name, operation, at, change, x):
    """A claim or a table that differs from the kernel's, at most of some boxes that the right ones pass."""
    lines = graph.recorded(name).splitlines()
    place = [i for i, line in enumerate(lines) if line.startswith(operation + " ")][at]
    words = lines[place].split()
    first = 2 if operation == "lookup" else 1
    factor = 1 - change if operation == "const" else 1 + change
    words[first:] = [(float.fromhex(v) * factor).hex() for v in words[first:]]
    wrong = "\n".join([*lines[:place], " ".join(words), *lines[place + 1 :]]) + "\n"
    rejected, start = 0, Fraction(float(x))
    for k in range(8):
        at_x = Fraction(float(start * (1 + Fraction(k, 24))))
        assert ratio_at(name, graph.recorded(name), True, at_x) <= 1
        rejected += bool(ratio_at(name, wrong, True, at_x) > 1)
    assert rejected


def test_a_quotient_where_the_numerator_vanishes():
    """atan turns by a table's direction: at its tangent, and beside it, the residual of the quotient is bounded all the same."""
    kernel = graph.kernels()["atan_dd"]
    text = graph.recorded("atan_dd")
    rows = [line.split()[2:] for line in text.splitlines() if line.startswith("lookup")]
    cosines, sines = (next([float.fromhex(v) for v in row] for row in rows if float.fromhex(row[k]) == 1.0) for k in (0, 15))
    del kernel
    tangents = [Fraction(s) / Fraction(c) for c, s in zip(cosines, sines, strict=True) if c and s]
    assert len(tangents) > 8
    for fma in BUILDS.values():
        full = whole("atan_dd", fma)
        for t in tangents[::3]:
            assert ratio_at("atan_dd", text, fma, t * (1 - Fraction(1, 2**20)), t * (1 + Fraction(1, 2**20))) <= 1
            out = graph.evaluate(full, {"x": float(t)})
            error = taylor.low(taylor.ball(Fraction(out["hi"]) + Fraction(out["lo"])) - value("atan", Fraction(float(t))))
            assert error <= taylor.ball(Fraction(out["err"]))


def test_exp_with_a_low_part():
    """e^(x + xl) at random numbers: the error is below the bound that composed.py takes for granted, |lo| <= 2^-19 hi; without xl it is
    not, and a piece of the certificate fails."""
    rng, largest = random.Random(5), 0.0
    text = graph.recorded("exp_sum_dd")
    bound = float.fromhex(next(line for line in graph.recorded("sigmoid_dd").splitlines() if "exp_value" in line).split()[-1])
    for fma in BUILDS.values():
        parsed = graph.parse(text, fma)
        for _ in range(100):
            x, low = rng.uniform(-670, 670), rng.uniform(-1, 1) * 2.0**-42
            out = graph.evaluate(parsed, {"x": x, "low": low})
            flint.ctx.prec = 400
            y = (taylor.ball(Fraction(x)) + taylor.ball(Fraction(low))).exp()
            y = y * flint.arb(2) ** round(float(((taylor.ball(Fraction(out["hi"])) / y).log() / flint.arb(2).log()).mid()))
            error = abs(taylor.ball(Fraction(out["hi"]) + Fraction(out["lo"])) - y) / taylor.ball(Fraction(out["hi"]))
            largest = max(largest, float(error.upper()))
            assert error <= bound
            assert out["err"] == bound * out["hi"]
            assert abs(out["lo"]) <= 2.0**-19 * out["hi"]
    assert largest > bound / 8
    kernel = graph.kernels()["exp_sum_dd"]
    pieces = [p for p in steps.all_pieces(kernel) if p.multiples.first <= 8 <= p.multiples.last]
    lines = text.splitlines()
    low = lines.index("input low")
    without = "\n".join("const 0x0p+0" if i == low else line for i, line in enumerate(lines)) + "\n"
    for fma in BUILDS.values():
        assert prove.prove_piece(kernel, graph.parse(text, fma), pieces[0]).ratio <= 1
        assert prove.prove_piece(kernel, graph.parse(without, fma), pieces[0]).ratio > 1


def test_exp2_at_the_ends_of_its_steps():
    """x = k/16 + 1/32 and its neighbours, where either k may be taken."""
    kernel, text = graph.kernels()["exp2_dd"], graph.recorded("exp2_dd")
    step = Fraction(1, 16)
    for fma in BUILDS.values():
        for k in (-1, 0, 1, 5, 160):
            for t in (-step / 2, step / 2, Fraction(1, 40), Fraction(-1, 50)):
                multiples = steps.Multiples(step, k, k, k & 15)
                small = prove.Piece(max(-step / 2, t - Fraction(1, 2**12)), min(step / 2, t + Fraction(1, 2**12)), multiples)
                checked = prove.prove_piece(kernel, graph.parse(text, fma), small).ratio
                x = Fraction(float(t + k * step))
                out = graph.evaluate(graph.parse(text, fma), {"x": float(x)})
                y = value("exp2", x) * flint.arb(2) ** -round((k - (k & 15)) / 16)
                seen = Fraction(out["hi"]) + Fraction(out["lo"])
                y = y * flint.arb(2) ** round(float(((taylor.ball(seen) / y).log() / flint.arb(2).log()).mid()))
                assert taylor.low(taylor.ball(seen) - y) / taylor.ball(Fraction(out["err"])) <= checked <= 1


def test_the_parts_of_exp_belong_together():
    """hi + lo of one value is its rounding; of two values it is a sum of two numbers, each within 2^-19."""
    base = "input x\nconst 0x0p+0\nexp_value #0 #1 0x1.6p-69\nexp_hi #2\nexp_lo #2 #3\n"
    one = base + "add #3 #4\nout y #5\n"
    two = base + "const 0x1p-2\nadd #0 #5\nexp_value #6 #1 0x1.6p-69\nexp_hi #7\nexp_lo #7 #8\nadd #3 #9\nout y #10\n"
    found = []
    for text in (one, two):
        flint.ctx.prec, taylor.Model.order = 256, 14
        analysis = composed.Composed(graph.parse(text, True), "f64", Fraction(1), Fraction(5, 4), {}, parts={})
        found.append(analysis.output("y").E)
    assert found[0] < taylor.pow2(-50) and found[1] > taylor.pow2(-20)


def test_exponentials_enclose():
    flint.ctx.prec, taylor.Model.order = 256, 14
    inner = taylor.taylor(lambda x: x * x, flint.arb(3), flint.arb(1) / 16).widened(taylor.pow2(-30))
    model = composed.exponential(inner)
    flint.ctx.prec = 400
    for k in range(-8, 9):
        s = flint.arb(k) / 8
        for off in (-1, 1):
            true = ((3 + s / 16) ** 2 + off * taylor.pow2(-30)).exp()
            assert abs(model.p(s) - true) <= model.r
    assert model.r < 2.0**-10


def test_the_root_of_a_circle_is_not_that_of_a_rounded_square():
    """asin near 1: 1 - x^2 in two parts. Without the second one, the rounding of x^2 counts, and the bound fails."""
    text, x = graph.recorded("asin_dd"), 1 - Fraction(3, 2**26)
    lines = text.splitlines()
    (square,) = [i for i, line in enumerate(lines) if line == "mul #1 #1"]
    (error,) = [i for i, line in enumerate(lines) if line == f"mul_err #1 #1 #{square}"]
    wrong = "\n".join([*lines[:error], "const 0x0p+0", *lines[error + 1 :]]) + "\n"
    for fma in BUILDS.values():
        assert ratio_at("asin_dd", text, fma, x) <= 1
        assert ratio_at("asin_dd", wrong, fma, x) > 1


def test_tails_are_the_functions():
    """proofs/tails.py against definitions.py, values and derivatives."""
    for function, tail in tails.TAILS.items():
        for x in (-60, -3, Fraction(-1, 1000), Fraction(1, 7), 2, 90):
            flint.ctx.prec = 1000
            point = flint.arb_series([taylor.ball(Fraction(x)), 1], prec=6)
            one, other = (f(point).coeffs() for f in (tail, definitions.DEFINITIONS[function]))
            assert all(abs(a - b) < taylor.pow2(-500) and a.overlaps(b) for a, b in zip(one, other, strict=True)), (
                function,
                x,
            )


def test_pieces_cover_the_domain():
    for name in KERNELS:
        kernel = graph.kernels()[name]
        pieces = sorted((p.low, p.high) for p in kinds.hook(kernel.kind, "all_pieces")(kernel))
        for interval in evidence.domain(kernel):
            reached = interval.low
            for low, high in pieces:
                if low <= reached < high:
                    reached = high
            assert reached >= interval.high
