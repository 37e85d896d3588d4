"""proofs/log_bases.py, log_parts.py, log_ndtr.py and halfturn_rests.py: what they claim against direct evaluation, and changed constants and steps, which must fail."""

import random
import sys
from fractions import Fraction

import flint
import pytest
from proof_kernels import BUILDS, ROOT, kernel_of, numbers, pieces, ratio_of, replaced, seen, value, whole

sys.path.insert(0, str(ROOT))

from proofs import graph, halfturns, log_bases, log_parts, logs, mutants, prove, taylor  # noqa: E402

BASES = ("log2p1_dd", "log10p1_dd")
PI_LOW = float.fromhex("0x1.1a62633145c07p-53")


def with_constant(text: str, old: float, new: float) -> str:
    (line,) = [line for line in text.splitlines() if line.startswith("const ") and float.fromhex(line.split()[1]) == old]
    return replaced(text, line, f"const {new.hex()}")


@pytest.mark.parametrize("name", BASES)
def test_errors_are_within_the_bound(name):
    for fma in BUILDS.values():
        full = whole(name, fma)
        for x in numbers(name, 12):
            assert seen(graph.evaluate(full, {"x": float(x)}), value(kernel_of(name).function, x)) <= 1, float(x)


@pytest.mark.parametrize("name", BASES)
def test_a_smaller_bound_or_another_step_is_rejected(name):
    """The bound without its part for the product; the low part of the factor, or the error of the product, left out."""
    text = graph.recorded(name)

    def ratio(changed: str):
        (found,) = {log_bases.ratio(name, graph.parse(changed, fma)) for fma in BUILDS.values()}
        return found

    c, low, factor = (float(v) for v in log_bases.constants(name, graph.parse(text, True)))
    assert ratio(text) <= 1
    assert ratio(with_constant(text, factor, c * 1.2)) > 1
    assert ratio(with_constant(text, low, 0.0)) > 1
    (line,) = [line for line in text.splitlines() if line.startswith("mul_err ")]
    with pytest.raises((AssertionError, ValueError, IndexError)):
        ratio(replaced(text, line, "const 0x0p+0"))


@pytest.mark.parametrize("near", [False, True])
def test_the_low_part_of_the_logarithm(near):
    """Its share of the bound at random numbers; half of that is not proved."""
    rng, largest = random.Random(near), Fraction(0)
    name = "log1p_parts_dd" if near else "log_parts_dd"
    text = replaced(graph.recorded(name), "low", "input low")
    for fma in BUILDS.values():
        parsed = graph.parse(text, fma)
        for _ in range(60):
            x = rng.choice([-1, 1]) * rng.uniform(0.5, 1) * 2.0 ** -rng.choice([6, 7, 20]) if near else rng.uniform(0.1, 9)
            out = graph.evaluate(parsed, {"x": x, "low": rng.uniform(-1, 1) * 2.0**-54 * x})
            largest = max(largest, abs(Fraction(out["lo"])) / 2**53 / Fraction(out["err"]))
    assert log_parts.SHARE / 2 < largest <= log_parts.SHARE
    if near:
        piece: prove.Piece = prove.Piece(Fraction(1, 40), Fraction(1, 39))
    else:
        far = next(p for p in pieces(name) if p.multiples.first == 1)
        piece = logs.Octave(Fraction(3, 4), Fraction(3, 4) + Fraction(1, 2**9), far.multiples)
    text = graph.recorded(name)
    assert ratio_of(name, text, True, piece) <= 1
    assert ratio_of(name, replaced(text, "const 0x1.8p-50", "const 0x1p-51"), True, piece) > 1


def test_the_reduced_argument_of_tanpi():
    name, rng = "tanpi_reduction_dd", random.Random(8)
    text, small = graph.recorded(name), halfturns.Turn(Fraction(1, 64), Fraction(1, 33), k=0)
    for fma in BUILDS.values():
        assert ratio_of(name, text, fma, small) <= 1
        assert ratio_of(name, with_constant(text, PI_LOW, 0.0), fma, small) > 1
        parsed, flint.ctx.prec = graph.parse(text, fma), 400
        for _ in range(40):
            x = Fraction(rng.uniform(0, 1) * 2.0 ** rng.randrange(-40, 40))
            exact = flint.arb.pi() * taylor.ball(x - Fraction(round(16 * x), 16))
            assert seen(graph.evaluate(parsed, {"x": float(x)}), exact) <= 1


def test_log_ndtr_is_within_its_bound():
    """At random numbers, the whole kernel, whose bound has that of the logarithm in it."""
    for fma in BUILDS.values():
        full = whole("log_ndtr_dd", fma)
        for x in numbers("log_ndtr_dd", 16):
            assert seen(graph.evaluate(full, {"x": float(x)}), value("log_ndtr", x)) <= 1, float(x)


def test_what_log_ndtr_is_proved_from_counts():
    """The error of exp, the table's bound, and what the logarithm's bound is multiplied by."""
    name, text = "log_ndtr_dd", graph.recorded("log_ndtr_dd")
    (line,) = [line for line in text.splitlines() if line.startswith("exp_value ")]
    error = line.rsplit(" ", 1)
    worse = replaced(text, line, f"{error[0]} {(16 * float.fromhex(error[1])).hex()}")
    smaller = with_constant(with_constant(text, 2.0**-50, 2.0**-62), float.fromhex("0x1.2p-67"), 2.0**-79)
    above, below = prove.Piece(Fraction(3), Fraction(49, 16)), prove.Piece(Fraction(-1, 4), Fraction(-1, 8))
    for fma in BUILDS.values():
        assert max(ratio_of(name, text, fma, above), ratio_of(name, text, fma, below)) <= 1
        assert ratio_of(name, worse, fma, above) > 1
        assert ratio_of(name, smaller, fma, below) > 1
    with pytest.raises(AssertionError):
        ratio_of(name, with_constant(text, 1.25, 1.0), True, below)


def test_what_log_ndtr_takes_the_square_of():
    """All of x: a limit below the end of the domain is no proof. Constants of the sums after the logarithm are read as they are written."""
    name, text = "log_ndtr_dd", graph.recorded("log_ndtr_dd")
    piece = prove.Piece(Fraction(3), Fraction(49, 16))
    with pytest.raises(AssertionError):
        ratio_of(name, with_constant(text, 38.9, 38.8), True, piece)
    parsed = graph.parse(text, True)
    kept = {
        float.fromhex(op[1][0])
        for k, op in enumerate(parsed.nodes)
        if k in mutants.after_logarithm(parsed) and op[0] == "const"
    }
    assert kept == {0.0, 0.5, 1.25, 2.0**-104}
