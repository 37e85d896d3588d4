"""proofs/sums.py: logaddexp in f64. Errors at random arguments, where the sum cancels too, against the checked bounds, and sums with other constants, which
must be rejected."""

import math
import pathlib
import random
import sys
from fractions import Fraction

import flint
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from proof_kernels import whole  # noqa: E402

from proofs import graph, prove, taylor  # noqa: E402

BUILDS = {"fma": True, "base": False}


def exact(x: Fraction, y: Fraction) -> flint.arb:
    flint.ctx.prec = 2200
    big = max(x, y)
    return taylor.ball(big) + (-abs(taylor.ball(x) - taylor.ball(y))).exp().log1p()


def arguments(rng: random.Random, count: int) -> list[tuple[float, float]]:
    """Also beside big = -log(1 + e^-d), where the sum cancels."""
    found = []
    for k in range(count):
        d = rng.choice((rng.uniform(0, 2), rng.uniform(0, 650), 2.0 ** -rng.randint(1, 60)))
        big = -math.log1p(math.exp(-d)) if k % 3 == 0 else rng.uniform(-3, 3) * 2.0 ** rng.randint(-20, 20)
        found.append(tuple(rng.sample([big, big - d], 2)))
    return found


def test_bounds_contain_the_errors():
    """The whole kernel at random numbers, and the bound of a small box around their difference."""
    kernel, rng, largest = graph.kernels()["logaddexp_dd"], random.Random(1), 0.0
    for build, fma in BUILDS.items():
        full, parsed = whole(kernel.name, fma), graph.parse(graph.recorded(kernel.name), fma)
        for x, y in arguments(rng, 25):
            big, small = max(x, y), min(x, y)
            d = big - small
            low = float(Fraction(big) - Fraction(small) - Fraction(d))
            out = graph.evaluate(full, {"big": big, "x": d, "low": low})
            error = taylor.low(taylor.ball(Fraction(out["hi"]) + Fraction(out["lo"])) - exact(Fraction(x), Fraction(y)))
            share = error / taylor.ball(Fraction(out["err"]))
            at = Fraction(d)
            box = prove.Piece(max(at * Fraction(4095, 4096), Fraction(0)), at * Fraction(4097, 4096))
            assert share <= prove.prove_piece(kernel, parsed, box).ratio <= 1, (build, x, y)
            largest = max(largest, float(share.lower()))
    assert largest > 0.05


def test_another_sum_is_refused():
    """One whose rounding is lost."""
    kernel, text = graph.kernels()["logaddexp_dd"], graph.recorded("logaddexp_dd")
    hi = int(next(line for line in text.splitlines() if line.startswith("out hi")).split("#")[1])
    wrong = text.replace(f"sub #{hi} #", f"add #{hi} #", 1)
    assert wrong != text
    with pytest.raises((AssertionError, KeyError)):
        prove.prove_piece(kernel, graph.parse(wrong, True), prove.Piece(Fraction(1), Fraction(2)))


@pytest.mark.parametrize("old,new", [("0x1p-104", "0x1p-106"), ("0x1.4p+0", "0x1.0p-1"), ("0x1.6p-69\n", "0x1.6p-75\n")])
def test_a_sum_with_less_room_is_rejected(old, new):
    """The part of the sum, of the logarithm's bound, and of the exponential's, smaller."""
    kernel, text = graph.kernels()["logaddexp_dd"], graph.recorded("logaddexp_dd")
    assert text.count(f"const {old}") == 1
    pieces = [prove.Piece(Fraction(k), Fraction(k) + Fraction(1, 64)) for k in (0, 1, 2, 3, 40)]
    for fma in BUILDS.values():
        assert all(prove.prove_piece(kernel, graph.parse(text, fma), p).ratio <= 1 for p in pieces)
        wrong = graph.parse(text.replace(f"const {old}", f"const {new}"), fma)
        assert any(prove.prove_piece(kernel, wrong, p).ratio > 1 for p in pieces)
