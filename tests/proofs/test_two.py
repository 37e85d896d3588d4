"""proofs/two.py: the kernels of two arguments. Checked bounds against errors at random arguments, and what must be rejected: tables with other
entries or more bits, claims below a witness, an argument with a larger error, graphs that are not homogeneous."""

import pathlib
import random
import sys
from fractions import Fraction

import flint
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from proofs import definitions, graph, prove, taylor, two  # noqa: E402

BUILDS = {"fma": True, "base": False}
PAIRS = ["hypot_b64", "atan2_b64"]


def number(rng: random.Random, exponents: range) -> Fraction:
    return rng.randrange(2**23, 2**24) * Fraction(2) ** (rng.choice(exponents) - 23)


def pairs(rng: random.Random, count: int) -> list[tuple[Fraction, Fraction]]:
    """Numbers of the same size, of very different ones, the ends of the format."""
    found = []
    for spread in (1, 3, 8, 120):
        for _ in range(count):
            found.append((number(rng, range(spread)), number(rng, range(spread))))
    smallest, largest = Fraction(1, 2**149), Fraction(2**128 - 2**104)
    found += [
        (smallest, largest),
        (largest, smallest),
        (smallest, smallest),
        (largest, largest),
        (3 * smallest, 5 * smallest),
    ]
    return [(a * rng.choice((1, -1)), b * rng.choice((1, -1))) for a, b in found]


def value(function: str, first: Fraction, second: Fraction) -> flint.arb:
    flint.ctx.prec = 700
    a, b = taylor.ball(first), taylor.ball(second)
    if function == "hypot":
        return (a * a + b * b).sqrt()
    return flint.arb.atan2(a, b)


def box_of(first: Fraction, second: Fraction, kernel: graph.Kernel, parsed: graph.Graph) -> two.Pair:
    smaller, ratio = ("first", abs(first / second)) if abs(first) < abs(second) else ("second", abs(second / first))
    signs = tuple(1 if v > 0 or two.symmetric(parsed, name) else -1 for v, name in ((first, "first"), (second, "second")))
    return two.Pair(
        ratio * Fraction(1023, 1024), min(ratio * Fraction(1025, 1024), Fraction(1)), smaller=smaller, signs=signs
    )


@pytest.mark.parametrize("name", PAIRS)
def test_bounds_contain_the_errors(name):
    kernel, rng = graph.kernels()[name], random.Random(name)
    for build, fma in BUILDS.items():
        parsed = graph.parse(graph.recorded(name), fma)
        for first, second in pairs(rng, 5):
            out = graph.evaluate(parsed, {"first": float(first), "second": float(second)})
            f = value(kernel.function, first, second)
            error = taylor.low((taylor.ball(Fraction(out["y"])) - f) / f) / out["claim"]
            result = prove.prove_piece(kernel, parsed, box_of(first, second, kernel, parsed))
            assert error <= result.ratio <= 1, (build, first, second)


def test_a_zero_beside_a_number():
    for name in PAIRS:
        kernel = graph.kernels()[name]
        zeros = [p for p in two.all_pieces(kernel) if p.zero]
        assert {p.zero for p in zeros} == {"first", "second"}
        for fma in BUILDS.values():
            parsed = graph.parse(graph.recorded(name), fma)
            for p in zeros:
                result = prove.prove_piece(kernel, parsed, p)
                inputs = dict(zip(("first", "second"), map(float, p.signs), strict=True)) | {p.zero: 0.0}
                y = Fraction(graph.evaluate(parsed, inputs)["y"])
                f = value(kernel.function, Fraction(inputs["first"]), Fraction(inputs["second"]))
                assert taylor.low((taylor.ball(y) - f) / f) <= result.relative and result.ratio <= 1


def test_the_ratio_of_bits():
    """Between a/b and the end that Homogeneous.ratio says, which numbers come near to."""
    rng, nearest = random.Random(1), Fraction(0)
    for _ in range(3000):
        a, b = (number(rng, range(3)) for _ in range(2))
        r = Fraction(graph.double_of(graph.bits_of(float(a)) - graph.bits_of(float(b)) + (1023 << 52)))
        flint.ctx.prec = 160
        ends = [taylor.ball(v) for v in (a, b)]
        nodes = [two.Node() for _ in ends]
        for node, end in zip(nodes, ends, strict=True):
            node.enclosure = end
        bounds = two.Homogeneous.ratio(None, *nodes)
        assert bounds.smallest <= r <= bounds.largest
        nearest = max(
            nearest, (r - a / b) / (bounds.largest - a / b) if bounds.largest > a / b * Fraction(101, 100) else Fraction(0)
        )
    assert nearest > Fraction(9, 10)


def changed(text: str, line: int, old: str, new: str) -> str:
    lines = text.splitlines()
    assert lines[line].split().count(old) == 1
    lines[line] = " ".join(new if word == old else word for word in lines[line].split())
    return "\n".join(lines) + "\n"


def lines_with(text: str, word: str) -> list[int]:
    return [k for k, line in enumerate(text.splitlines()) if word in line.split()]


# An angle, a cosine, the first coefficient.
@pytest.mark.parametrize(
    "old,new",
    [
        ("0x1.362773707ebccp-2", "0x1.362773717ebccp-2"),
        ("0x1.a4p-1", "0x1.a400000008p-1"),
        ("-0x1.55555555384a2p-2", "-0x1.55555465384a2p-2"),
    ],
)
def test_a_wrong_table_is_rejected(old, new):
    kernel, text = graph.kernels()["atan2_b64"], graph.recorded("atan2_b64")
    line = lines_with(text, old)[0]
    parsed = graph.parse(changed(text, line, old, new), True)
    near = [p for p in two.all_pieces(kernel) if p.low >= Fraction(1, 16)]
    assert any(prove.prove_piece(kernel, parsed, p).ratio > 1 for p in near)


def test_a_claim_below_a_witness_is_rejected():
    for name in PAIRS:
        kernel, rng, text = graph.kernels()[name], random.Random(7), graph.recorded(name)
        parsed, worst = graph.parse(text, True), (0.0, Fraction(0), Fraction(0))
        for first, second in pairs(rng, 20):
            y = Fraction(graph.evaluate(parsed, {"first": float(first), "second": float(second)})["y"])
            f = value(kernel.function, first, second)
            worst = max(worst, (float(taylor.low((taylor.ball(y) - f) / taylor.ball(y)).lower()), first, second))
        error, first, second = worst
        (at,) = [int(line.split("#")[1]) for line in text.splitlines() if line.startswith("out claim")]
        old = text.splitlines()[at].split()[1]
        lower = graph.parse(changed(text, at, old, (error * (1 - 2.0**-20)).hex()), True)
        box = box_of(first, second, kernel, parsed)
        ratio = abs(first / second) if box.smaller == "first" else abs(second / first)
        point = two.Pair(ratio, ratio, smaller=box.smaller, signs=box.signs)
        assert prove.prove_piece(kernel, lower, point).ratio > 1


def test_what_is_not_homogeneous_is_refused():
    box = two.Pair(Fraction(1, 2), Fraction(3, 4))
    head = "input first\ninput second\nconst 0x1p0\n"
    for line in ("add #0 #2", "lt #0 #2", "mad #0 #1 #0", "min #0 #2"):
        with pytest.raises(NotImplementedError):
            two.Homogeneous(graph.parse(f"{head}{line}\nout y #3\n", True), box.low, box.high, {}, box)


def test_signs_matter_where_they_do():
    for name, expected in (("hypot_b64", (True, True)), ("atan2_b64", (True, False))):
        parsed = graph.parse(graph.recorded(name), True)
        assert tuple(two.symmetric(parsed, side) for side in ("first", "second")) == expected
    assert not two.symmetric(graph.parse("input first\ninput second\nmul #0 #1\nout y #2\n", True), "first")


@pytest.mark.parametrize("name", ["pow_exp_b64", "logaddexp_tail_b64"])
def test_an_argument_within_an_error(name):
    """Arguments at both ends of what is given, or anywhere between: their errors are within the bound of the box. A larger error has a
    larger bound, beyond the claim for one that is 2^12 times as large."""
    kernel, rng, text = graph.kernels()[name], random.Random(name), graph.recorded(name)
    definition = (lambda x: x.exp()) if kernel.function == "pow" else (lambda d: (-d).exp().log1p())
    for fma in BUILDS.values():
        parsed = graph.parse(text, fma)
        given = Fraction(graph.evaluate(parsed, {"x": 1.0})["given"])
        for _ in range(8):
            x = Fraction(rng.uniform(0.01, 87.0)) * (rng.choice((1, -1)) if kernel.function == "pow" else 1)
            box = sorted((x * Fraction(1023, 1024), x * Fraction(1025, 1024)))
            result = prove.prove_piece(kernel, parsed, prove.Piece(*box))
            assert result.ratio <= 1
            for part in (-1, Fraction(rng.uniform(-1, 1)), 1):
                out = graph.evaluate(parsed, {"x": float(x * (1 + part * given * (1 - Fraction(1, 2**30))))})
                flint.ctx.prec = 400
                f = definition(taylor.ball(x))
                assert taylor.low((taylor.ball(Fraction(out["y"])) - f) / f) <= result.relative
    (at,) = [int(line.split("#")[1]) for line in text.splitlines() if line.startswith("out given")]
    old = text.splitlines()[at].split()[1]
    lines = text.splitlines()
    number_of_nodes = sum(not line.startswith("out ") for line in lines)
    larger = [line if not line.startswith("out given") else f"out given #{number_of_nodes}" for line in lines]
    larger.insert(number_of_nodes, f"const {(float.fromhex(old) * 4096).hex()}")
    wrong = graph.parse("\n".join(larger) + "\n", True)
    assert prove.prove_piece(kernel, wrong, prove.Piece(Fraction(64), Fraction(65))).ratio > 1


def test_the_exponent_of_pow():
    kernel, rng = graph.kernels()["pow_log_b64"], random.Random(2)
    for fma in BUILDS.values():
        parsed = graph.parse(graph.recorded("pow_log_b64"), fma)
        for _ in range(12):
            x, y = number(rng, range(-3, 3)), number(rng, range(-5, 6))
            if x == 1:
                continue
            out = graph.evaluate(parsed, {"x": float(x), "g": float(y)})
            flint.ctx.prec = 400
            f = taylor.ball(y) * taylor.ball(x).log()
            result = prove.prove_piece(kernel, parsed, prove.Piece(x, x))
            assert taylor.low((taylor.ball(Fraction(out["y"])) - f) / f) <= result.relative and result.ratio <= 1


def test_definitions_of_two():
    """At numbers, beside the balls' own functions."""
    flint.ctx.prec = 200
    for a, b in ((3, 4), (-1, 7), (2, -9), (-5, -1)):
        s = flint.arb_series([flint.arb(abs(a)) / abs(b), 1], prec=2)
        sign = [1 if v > 0 else -1 for v in (a, b)]
        found = definitions.constant(definitions.DEFINITIONS["atan2"](sign[0] * s, sign[1]))
        assert abs(found - flint.arb.atan2(flint.arb(a), flint.arb(b))) < taylor.pow2(-190)
        inverse = flint.arb_series([flint.arb(abs(b)) / abs(a), 1], prec=2)
        found = definitions.constant(definitions.DEFINITIONS["atan2"](sign[0], sign[1] * inverse))
        assert abs(found - flint.arb.atan2(flint.arb(a), flint.arb(b))) < taylor.pow2(-190)
