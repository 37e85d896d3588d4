"""proofs/halfturns.py: sinpi, cospi and tanpi. Its bounds against direct evaluation, and changed numbers and constants, which must fail."""

import json
import random
import sys
from fractions import Fraction

import pytest
from proof_kernels import BUILDS, ROOT, kernel_of, ratio_of, replaced, value

sys.path.insert(0, str(ROOT))

from proofs import graph, halfturns, points, run, taylor  # noqa: E402

KERNELS = [name for name, k in sorted(graph.kernels().items()) if k.kind in ("half_turn", "dd_half_turn")]


@pytest.mark.parametrize("name", KERNELS)
def test_bounds_contain_the_errors(name):
    """At random numbers of every size."""
    kernel, rng = kernel_of(name), random.Random(name)
    held = json.loads(run.path_of(kernel).read_text())
    for build, fma in BUILDS.items():
        parsed = graph.parse(graph.recorded(name), fma)
        for _ in range(20):
            size = Fraction(rng.randrange(1, 2**60), 2**60) * Fraction(2) ** rng.randrange(-30, 22)
            x = graph.inwards(f"{size}", kernel.format, 1)
            error = points.point(kernel, x, rng).error(parsed)
            assert error <= held[build]["ratio"], (build, float(x))


@pytest.mark.parametrize("name", KERNELS)
def test_a_wrong_number_is_rejected(name):
    """The product with pi a little off."""
    kernel, text = kernel_of(name), graph.recorded(name)
    pi = "const 0x1.921fb54442d18p+1"
    wrong = replaced(text, pi, "const " + (float.fromhex(pi.split()[1]) * (1 + 2.0**-40)).hex())
    half = halfturns.unit_of(kernel) / 2
    small = halfturns.Turn(half * Fraction(14, 16), half * Fraction(15, 16), k=1 if kernel.format == "f32" else 3)
    for fma in BUILDS.values():
        assert ratio_of(name, text, fma, small) <= 1
        assert ratio_of(name, wrong, fma, small) > 1


def test_a_table_of_another_multiple_is_rejected():
    text = graph.recorded("sinpi_dd")
    (row, *_) = [line for line in text.splitlines() if line.startswith("lookup")]
    words = row.split()
    turned = replaced(text, row, " ".join([*words[:2], *words[3:], words[2]]))
    assert ratio_of("sinpi_dd", turned, True, halfturns.Turn(Fraction(1, 64), Fraction(1, 32), k=3)) > 1


def test_the_rest_is_exact():
    """With another constant the sum has another last place, which the proof does not take."""
    kernel, text = kernel_of("sinpi_b64"), graph.recorded("sinpi_b64")
    halfturns.Rest(kernel, graph.parse(text, True))
    for constant in ("const 0x1.8p+51", "const 0x1.8p+53"):
        with pytest.raises(ValueError):
            halfturns.Rest(kernel, graph.parse(replaced(text, "const 0x1.8p+52", constant), True))


def test_values_are_the_functions():
    taylor.ctx.prec = 400
    for function, unit, count in (("sinpi", 1, 4), ("cospi", 1, 4), ("tanpi", Fraction(1, 2), 4)):
        for u, n in ((Fraction(unit), count), (halfturns.DD_UNIT, 32)):
            for k in range(n):
                for t in (Fraction(1, 77), Fraction(-1, 99)):
                    f = halfturns.value(function, k, u)(taylor.arb_series([taylor.ball(t), 1], prec=1)).coeffs()[0]
                    assert abs(f - value(function, k * u + t)) < 2.0**-300, (function, k)
