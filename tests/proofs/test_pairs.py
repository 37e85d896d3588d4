"""proofs/pairs.py and proofs/powers.py: hypot, atan2 and pow in f64. Checked bounds against errors at random arguments, at the ends of the domains and
where parts underflow, and what must be rejected: tables with other entries, claims that are too small, sizes that underflow more."""

import math
import pathlib
import random
import sys
from fractions import Fraction

import flint
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from proofs import graph, pairs, powers, prove, taylor, two  # noqa: E402

BUILDS = {"fma": True, "base": False}
LIMITS = {"hypot": (-430, 509), "atan2": (-480, 478)}  # exponents of the larger argument
NAMES = ["hypot_dd", "atan2_dd"]


def number(rng: random.Random, exponent: int) -> float:
    return math.ldexp(rng.randrange(2**52, 2**53), exponent - 52)


def arguments(rng: random.Random, function: str, count: int) -> list[tuple[float, float]]:
    low, high = LIMITS[function]
    found = []
    for spread in (0, 1, 4, 30, 400, 900):
        for _ in range(count):
            larger = number(rng, rng.choice((low, high, rng.randint(low, high), rng.randint(-3, 3))))
            smaller = number(
                rng, max(math.frexp(larger)[1] - 1 - rng.randint(0, spread), low if function == "atan2" else -1022)
            )
            found.append(tuple(rng.sample((larger, smaller), 2)))
    if function == "hypot":
        found += [(number(rng, low), 5e-324), (2.0**-1030, number(rng, high)), (0.0, number(rng, low)), (number(rng, 7), 0.0)]
    return [(a * rng.choice((1, -1)), b * rng.choice((1, -1))) for a, b in found]


def true(function: str, first: float, second: float) -> flint.arb:
    flint.ctx.prec = 2400
    a, b = taylor.ball(Fraction(first)), taylor.ball(Fraction(second))
    return (a * a + b * b).sqrt() if function == "hypot" else flint.arb.atan2(a, b)


def seen(kernel: graph.Kernel, parsed: graph.Graph, first: float, second: float) -> flint.arb:
    """The error over the bound."""
    out = graph.evaluate(parsed, {"first": first, "second": second})
    y = taylor.ball(Fraction(out["hi"]) + Fraction(out["lo"]))
    return taylor.low(y - true(kernel.function, first, second)) / taylor.ball(Fraction(out["err"]))


def box_of(kernel: graph.Kernel, parsed: graph.Graph, first: float, second: float) -> two.Pair:
    a, b = abs(Fraction(first)), abs(Fraction(second))
    smaller, ratio = ("first", a / b) if a < b else ("second", b / a)
    signs = tuple(1 if v >= 0 or pairs.symmetric(parsed, name) else -1 for v, name in ((first, "first"), (second, "second")))
    if kernel.function == "hypot" and ratio <= two.TINY:
        return two.Pair(Fraction(0), two.TINY, smaller=smaller, signs=signs)
    return two.Pair(
        ratio * Fraction(1023, 1024), min(ratio * Fraction(1025, 1024), Fraction(1)), smaller=smaller, signs=signs
    )


@pytest.mark.parametrize("name", NAMES)
def test_bounds_contain_the_errors(name, monkeypatch):
    """At random numbers of the same size and of very different ones, subnormal ones too, and in boxes around them."""
    monkeypatch.setitem(graph.NUMERIC, "rsqrt", rough_root)
    kernel, rng, largest = graph.kernels()[name], random.Random(name), 0.0
    for build, fma in BUILDS.items():
        parsed = graph.parse(graph.recorded(name), fma)
        for first, second in arguments(rng, kernel.function, 4):
            error = seen(kernel, parsed, first, second)
            result = prove.prove_piece(kernel, parsed, box_of(kernel, parsed, first, second))
            assert error <= result.ratio <= 1, (build, first, second)
            largest = max(largest, float(error.lower()))
    assert largest > 0.01


def rough_root(a: float) -> float:
    """As far from 1/sqrt(a) as the word may be, so that what a later step makes up for is there."""
    e = math.frexp(a)[1] // 2 * 2
    return math.ldexp((1 + 0.98 * 2.0**-40.6) / graph.rounded_root(Fraction(math.ldexp(a, -e))), -e // 2)


def test_the_zero_beside_a_number():
    kernel = graph.kernels()["atan2_dd"]
    zeros = [p for p in pairs.all_pieces(kernel) if p.zero]
    assert {p.zero for p in zeros} == {"first", "second"}
    for fma in BUILDS.values():
        parsed = graph.parse(graph.recorded("atan2_dd"), fma)
        for p in zeros:
            for size in (2.0**-480, 3.0, 1.9 * 2.0**479):
                values = dict(zip(("first", "second"), (s * size for s in p.signs), strict=True)) | {p.zero: 0.0}
                error = seen(kernel, parsed, values["first"], values["second"])
                assert error <= prove.prove_piece(kernel, parsed, p).ratio <= 1


def test_pieces_are_all_ratios():
    for name in NAMES:
        kernel, parsed = graph.kernels()[name], graph.parse(graph.recorded(name), True)
        (interval,) = pairs.domain(kernel)
        kinds = {(p.smaller, p.signs) for p in pairs.all_pieces(kernel) if not p.zero}
        negative = [not pairs.symmetric(parsed, side) for side in ("first", "second")]
        assert len(kinds) == 2 * math.prod(1 + n for n in negative)
        for smaller, signs in kinds:
            boxes = sorted(
                (p.low, p.high) for p in pairs.all_pieces(kernel) if (p.smaller, p.signs) == (smaller, signs) and not p.zero
            )
            assert boxes[0][0] == interval.low and boxes[-1][1] == 1
            assert all(a[1] == b[0] for a, b in zip(boxes, boxes[1:], strict=False))


def test_signs_matter_where_they_do():
    for name, expected in (("hypot_dd", (True, True)), ("atan2_dd", (True, False))):
        parsed = graph.parse(graph.recorded(name), True)
        assert tuple(pairs.symmetric(parsed, side) for side in ("first", "second")) == expected
    text = graph.recorded("atan2_dd")
    end = int(next(line for line in text.splitlines() if line.startswith("out lo")).split("#")[1])
    other = text.replace(f"out lo #{end}", f"out lo #{end - 1}")  # a sign of lo that is not changed
    assert not pairs.symmetric(graph.parse(other, True), "first")
    assert not pairs.symmetric(graph.parse("input first\ninput second\nmul #0 #1\nout hi #2\nout lo #2\n", True), "first")


def ratios(name: str, text: str, fma: bool = True) -> list[flint.arb]:
    kernel = graph.kernels()[name]
    wide = [
        p for p in pairs.all_pieces(kernel) if Fraction(1, 32) < p.high <= Fraction(1, 4) and not p.zero and p.signs == (1, 1)
    ]
    return [prove.prove_piece(kernel, graph.parse(text, fma), p).ratio for p in wide]


@pytest.mark.parametrize(
    "name,old,new",
    [
        ("atan2_dd", "0x1.362773707ebccp-2", "0x1.362773707ebcdp-2"),  # an angle, by a unit
        ("atan2_dd", "const 0x1.8p-50", "const 0x1.0p-51"),  # the claim, a third of it
        ("hypot_dd", "const 0x1p-78", "const 0x1p-80"),
    ],
)
def test_what_is_wrong_is_rejected(name, old, new):
    text = graph.recorded(name)
    assert text.count(old) >= 1
    assert any(r > 1 for r in ratios(name, text.replace(old, new)))


def test_what_underflows_counts(monkeypatch):
    """An argument of hypot that may be as small as 2^-500: the low parts of its square are lost, more than the claim allows."""
    kernel, text = graph.kernels()["hypot_dd"], graph.recorded("hypot_dd")
    piece = two.Pair(Fraction(1, 2), Fraction(33, 64))
    for fma in BUILDS.values():
        parsed = graph.parse(text, fma)
        assert prove.prove_piece(kernel, parsed, piece).ratio <= 1
        monkeypatch.setitem(pairs.SMALLEST, "hypot", Fraction(1, 2**500))
        assert prove.prove_piece(kernel, parsed, piece).ratio > 1
        monkeypatch.undo()


def powers_seen(fma: bool, x: float, y: float) -> tuple[flint.arb, flint.arb]:
    """Of z and of the power: the errors over their bounds."""
    first, second = (graph.parse(graph.recorded(f"pow_{part}_dd"), fma) for part in ("log", "exp"))
    z = graph.evaluate(first, {"x": x, "g": y})
    out = graph.evaluate(second, {"x": z["hi"], "low": z["lo"]})
    assert abs(z["lo"]) < 2.0**-42
    flint.ctx.prec = 1500
    exact = taylor.ball(Fraction(y)) * taylor.ball(Fraction(x)).log()
    off = abs(taylor.ball(Fraction(z["hi"]) + Fraction(z["lo"])) - exact) / abs(taylor.ball(Fraction(z["hi"])))
    power, value = exact.exp(), taylor.ball(Fraction(out["hi"]) + Fraction(out["lo"]))
    value = value * flint.arb(2) ** round(float(((power / value).log() / flint.arb(2).log()).mid()))
    scale = taylor.ball(Fraction(out["hi"])) / value  # of the mantissa
    return off / taylor.ball(Fraction(z["claim"])), abs(value - power) * scale / taylor.ball(Fraction(out["err"]))


def test_powers():
    """Both parts, and the whole, at random arguments: results near the ends of the range, x beside 1, the smallest |y|."""
    rng, largest = random.Random(4), [0.0, 0.0]
    for fma in BUILDS.values():
        for _ in range(60):
            near = 1 + rng.choice((1, -1)) * rng.choice((rng.uniform(1, 2) * 2.0**-9, 2.0 ** -rng.randint(1, 52)))
            x = rng.choice((math.exp(rng.uniform(-700, 700)), rng.uniform(0.5, 2), near))
            if x == 1:
                continue
            y = rng.choice((rng.uniform(-1, 1), 1, -1, 2.0**-300)) * 708 / math.log(x)
            found = powers_seen(fma, x, y)
            assert all(f <= 1 for f in found), (x, y)
            largest = [max(a, float(f.upper())) for a, f in zip(largest, found, strict=True)]
        found = powers_seen(fma, 1 + 2.0**-52, 2.0**-900)
        assert all(f <= 1 for f in found)
    assert largest[0] > 0.1 and largest[1] > 0.05


def test_wrong_powers_are_rejected():
    """An entry of the table, a unit off; a claim of z that is half; an exponent that is off by twice the bound."""
    kernel, text = graph.kernels()["pow_log_dd"], graph.recorded("pow_log_dd")
    row = next(line for line in text.splitlines() if line.startswith("lookup"))
    words = row.split()
    words[4] = math.nextafter(float.fromhex(words[4]), 9.0).hex()
    half = text.replace("const 0x1.28p-78", "const 0x1.28p-79")
    for wrong in (text.replace(row, " ".join(words)), half):
        assert wrong != text
        for fma in BUILDS.values():
            right = [prove.prove_piece(kernel, graph.parse(text, fma), p).ratio for p in powers.all_pieces(kernel)[40:60]]
            assert all(r <= 1 for r in right)
            parsed = graph.parse(wrong, fma)
            assert any(prove.prove_piece(kernel, parsed, p).ratio > 1 for p in powers.all_pieces(kernel)[30:70])
    kernel, text = graph.kernels()["pow_exp_dd"], graph.recorded("pow_exp_dd")
    twice = text.replace("const 0x1.28p-78", "const 0x1.28p-77")
    assert twice != text
    far = [p for p in powers.all_pieces(kernel) if p.multiples.last > 16000]
    for fma in BUILDS.values():
        assert all(prove.prove_piece(kernel, graph.parse(text, fma), p).ratio <= 1 for p in far)
        assert any(prove.prove_piece(kernel, graph.parse(twice, fma), p).ratio > 1 for p in far)


def test_the_range_of_powers():
    """The logarithm that is made for f32 numbers, at others: errors within the bound of a box, and a claim of an eighth of it is rejected."""
    kernel, text, rng = graph.kernels()["pow_range_b64"], graph.recorded("pow_range_b64"), random.Random(6)
    assert text.count("const 0x1p-46\n") == 1
    smaller = text.replace("const 0x1p-46\n", "const 0x1p-49\n")
    for fma in BUILDS.values():
        parsed, largest = graph.parse(text, fma), 0.0
        for _ in range(60):
            x, y = math.exp(rng.uniform(-700, 700)) if rng.random() < 0.5 else rng.uniform(0.9, 1.1), rng.uniform(-9, 9)
            out = graph.evaluate(parsed, {"x": x, "g": y})
            flint.ctx.prec = 400
            exact = taylor.ball(Fraction(y)) * taylor.ball(Fraction(x)).log()
            error = taylor.low(taylor.ball(Fraction(out["hi"])) - exact) / taylor.ball(Fraction(out["err"]))
            assert error <= 1, (x, y)
            largest = max(largest, float(error.lower()))
        assert largest > 0.01
        pieces = powers.all_pieces(kernel)
        assert all(prove.prove_piece(kernel, parsed, p).ratio <= 1 for p in pieces)
        wrong = graph.parse(smaller, fma)
        assert any(prove.prove_piece(kernel, wrong, p).ratio > 1 for p in pieces)
