"""proofs/angles.py: sin, cos and tan in f64 from the argument to the result against direct evaluation at random numbers and at those nearest to
multiples of pi/2, pieces of the certificates there, and changed constants and tables, which must fail."""

import math
import pathlib
import random
import sys
from fractions import Fraction

import flint
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from proofs import angles, graph, prove, taylor, trig  # noqa: E402

BUILDS = {"fma": True, "base": False}
LIMITS = {"sin_reduction_dd": (2.0**-30, 819200.0), "sin_far_dd": (819200.0, 2.0**37)}


def worst_number(exponent: int) -> float:
    """m 2^exponent nearest to a multiple of pi/2."""
    return float(trig.last_convergent(Fraction(2) ** (exponent + 1) / trig.pi(), 2**53 - 1)) * 2.0**exponent


def numbers(rng: random.Random, low: float, high: float) -> list[float]:
    found = [math.exp(rng.uniform(math.log(low), math.log(high))) for _ in range(40)]
    return found + [x for x in map(worst_number, range(-56, -15)) if low <= x <= high]


def with_turn(name: str, turn: int) -> str:
    return graph.recorded(name).replace("\nturn\n", f"\niconst {turn}\n")


@pytest.mark.parametrize("name", sorted(LIMITS))
def test_from_the_argument_to_the_result(name):
    """The errors of the two parts against their bounds, and of the whole against the bound of sin and of cos."""
    rng = random.Random(name)
    flint.ctx.prec = 1000
    pi = flint.arb.pi()
    smallest = 1.0
    for fma in BUILDS.values():
        reduction = graph.parse(graph.recorded(name), fma)
        sines, cosines, tangents = (
            [graph.parse(with_turn(f"{function}_dd", turn), fma) for turn in range(16)] for function in ("sin", "cos", "tan")
        )
        for x in numbers(rng, *LIMITS[name]):
            flint.ctx.prec = 1000
            out = graph.evaluate(reduction, {"x": x})
            rh, rl, err = (Fraction(out[k]) for k in ("hi", "lo", "err"))
            k = round(float(((taylor.ball(Fraction(x) - rh - rl)) * 16 / pi).mid()))
            r = taylor.ball(Fraction(x)) - pi * k / 16
            assert abs(taylor.ball(rh + rl) - r) <= taylor.ball(err), x
            assert abs(rh + rl) <= angles.HALF and abs(rl) <= abs(rh) / 2**53, x
            if k % 8 == 0 and k:
                smallest = min(smallest, abs(float(rh)))
            given = graph.evaluate(reduction, {"x": x})["err"]
            sine, cosine = taylor.ball(Fraction(x)).sin(), taylor.ball(Fraction(x)).cos()
            values = ((sines, sine, flint.arb(1)), (cosines, cosine, flint.arb(1)), (tangents, sine / cosine, 1 / cosine**2))
            for graphs, true, slope in values:
                out = graph.evaluate(graphs[k & 15], {"x": float(rh), "low": float(rl)})
                y = taylor.ball(Fraction(out["hi"]) + Fraction(out["lo"]))
                off = abs(abs(y) - abs(true))
                rest = slope * taylor.ball(Fraction(given)) * (1 + taylor.pow2(-20))
                assert off <= taylor.ball(Fraction(out["err"])) + rest, (x, k, float(true))
    assert 2.0**-70 < smallest < 2.0**-50 and smallest > float(angles.NEAREST)


def pieces_at(kernel: graph.Kernel, turn: int, at: Fraction) -> list[prove.Piece]:
    return [
        angles.Turn(max(p.low, at * (1 - Fraction(1, 2**10))), min(p.high, at * (1 + Fraction(1, 2**10))), turn=turn)
        for p in angles.all_pieces(kernel)
        if p.turn == turn and p.low <= at <= p.high
    ]


def test_a_wrong_table_or_constant_is_rejected():
    """One entry of the table of sines by a unit, the low part left out, the coefficient of r^5: where they are used."""
    kernel, text = graph.kernels()["sin_dd"], graph.recorded("sin_dd")
    lines = text.splitlines()
    row = next(i for i, line in enumerate(lines) if line.startswith("lookup") and line.split()[10] == "0x1p+0")
    words = lines[row].split()
    words[5] = math.nextafter(float.fromhex(words[5]), 2.0).hex()
    table = "\n".join([*lines[:row], " ".join(words), *lines[row + 1 :]]) + "\n"
    low = lines.index("input low")
    without = "\n".join([*lines[:low], "const 0x0p+0", *lines[low + 1 :]]) + "\n"
    fifth = next(line for line in lines if line.startswith("const 0x1.1111"))
    coefficient = text.replace(fifth, "const 0x1.1112p-7")
    at = Fraction(1, 16)
    for wrong, turn in ((table, 3), (without, 8), (coefficient, 0)):
        assert wrong != text
        for fma in BUILDS.values():
            (piece, *_) = pieces_at(kernel, turn, at)
            assert prove.prove_piece(kernel, graph.parse(text, fma), piece).ratio <= 1
            assert prove.prove_piece(kernel, graph.parse(wrong, fma), piece).ratio > 1
    (other, *_) = pieces_at(kernel, 5, at)
    assert prove.prove_piece(kernel, graph.parse(table, True), other).ratio <= 1


@pytest.mark.parametrize("turn", [0, 5, 8])
def test_a_quotient_that_is_wrong_is_rejected(turn):
    """tan with a residual that lacks the denominator's low part, and with a claim that is far too small."""
    kernel, text, at = graph.kernels()["tan_dd"], graph.recorded("tan_dd"), Fraction(1, 16)
    (piece, *_) = pieces_at(kernel, turn, at)
    lines = text.splitlines()
    (residual,) = [
        i
        for i, line in enumerate(lines)
        if line.startswith("nmad") and lines[int(line.split()[1][1:])].startswith("quotient")
    ]
    words = lines[residual].split()
    without = "\n".join([*lines[:residual], f"abs {words[3]}", *lines[residual + 1 :]]) + "\n"
    claim = next(line for line in lines if line == "const 0x1p-74")
    lower = text.replace(claim, "const 0x1p-90").replace("const 0x1.2p-49", "const 0x1.2p-52")
    for fma in BUILDS.values():
        assert prove.prove_piece(kernel, graph.parse(text, fma), piece).ratio <= 1
        for wrong in (without, lower):
            assert wrong != text and prove.prove_piece(kernel, graph.parse(wrong, fma), piece).ratio > 1


@pytest.mark.parametrize("name,constant", [("sin_reduction_dd", "0x1.898cc51"), ("sin_far_dd", "0x1.1a62633")])
def test_a_wrong_step_is_rejected(name, constant):
    """The last part of pi/16, by 2^-40 of it."""
    kernel, text = graph.kernels()[name], graph.recorded(name)
    line = next(line for line in text.splitlines() if line.startswith(f"const {constant}"))
    wrong = text.replace(line, f"const {(float.fromhex(line.split()[1]) * (1 + 2.0**-40)).hex()}")
    pieces = [p for p in angles.all_pieces(kernel) if p.multiples.last > 2**21 and p.high == angles.HALF]
    for fma in BUILDS.values():
        assert all(prove.prove_piece(kernel, graph.parse(text, fma), p).ratio <= 1 for p in pieces)
        assert any(prove.prove_piece(kernel, graph.parse(wrong, fma), p).ratio > 1 for p in pieces)


def test_ranges_of_multiples_are_all():
    for name, (low, high) in LIMITS.items():
        ranges = sorted({(p.multiples.first, p.multiples.last) for p in angles.all_pieces(graph.kernels()[name])})
        assert all(b[0] == a[1] + 1 for a, b in zip(ranges, ranges[1:], strict=False))
        assert ranges[0][0] <= low * 16 / math.pi and ranges[-1][1] >= high * 16 / math.pi
        for first, last in ranges:
            boxes = sorted((p.low, p.high) for p in angles.all_pieces(graph.kernels()[name]) if p.multiples.first == first)
            if last:
                assert boxes[0][0] == -angles.HALF and boxes[-1][1] == angles.HALF
                assert all(a[1] == b[0] for a, b in zip(boxes, boxes[1:], strict=False))
