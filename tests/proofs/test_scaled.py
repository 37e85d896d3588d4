"""proofs/scaled.py, scaled_bases.py and octaves.py: what they claim against direct evaluation of the whole kernels in f64, and changed constants, tables and
ranges, which must fail."""

import json
import random
import sys
from fractions import Fraction

import pytest
from proof_kernels import BUILDS, ROOT, value

sys.path.insert(0, str(ROOT))

from proof_kernels import POINTS, kernel_of, numbers, pieces, ratio_of, replaced, seen

from proofs import graph, octaves, run, scaled  # noqa: E402

LARGE = ("expm1_large_dd", "sinh_large_dd", "cosh_large_dd", "exp2m1_large_dd", "exp10m1_large_dd")
POWERS = ("cbrt_dd", "rsqrt_dd")


# Large arguments of expm1, sinh and cosh, exp2m1 and exp10m1.


@pytest.mark.parametrize("name", LARGE)
def test_large_arguments(name):
    """The whole kernel at random numbers, against the certificate for all multiples of the step at once."""
    function = kernel_of(name).function
    held = json.loads(run.path_of(kernel_of(name)).read_text())
    for build, fma in BUILDS.items():
        full = graph.parse(graph.recorded(f"{function}_dd"), fma)
        for x in numbers(name, POINTS):
            assert seen(graph.evaluate(full, {"x": float(x)}), value(function, x)) <= held[build]["ratio"], float(x)


@pytest.mark.parametrize("name", LARGE)
def test_a_wrong_power_or_bound_is_rejected(name):
    text, piece = graph.recorded(name), pieces(name)[2]
    (scale, *_) = [line.split() for line in text.splitlines() if line.startswith("scale ")]
    shifted = replaced(
        text, " ".join(scale), " ".join([*scale[:2], *((float.fromhex(v) * (1 + 2.0**-50)).hex() for v in scale[2:])])
    )
    constant = "const 0x1p-74" if kernel_of(name).function.endswith("m1") else "const 0x1p-73"
    bound = replaced(text, constant, "const 0x1p-120")
    small, smaller = (
        scaled.Scaled(piece.low / 2**k, piece.low / 2 ** (k + 1), piece.multiples, function=piece.function) for k in (6, 20)
    )
    for fma in BUILDS.values():
        assert ratio_of(name, text, fma, small) <= 1
        assert ratio_of(name, shifted, fma, small) > 1
        assert ratio_of(name, bound, fma, smaller) > 1


def test_what_is_subtracted_counts():
    """expm1 where -1 + s rounds, without what it is rounded by: too much where 1 is not far below s."""
    text = graph.recorded("expm1_large_dd")
    first = next(p for p in pieces("expm1_large_dd") if p.multiples.residue == 5 and p.multiples.first >= 16 * 53)
    one = text.splitlines().index("const -0x1p+0")
    parsed = graph.parse(text, True)
    small = scaled.Scaled(first.low, first.low * Fraction(7, 8), first.multiples, function="expm1")
    analysis = scaled.analyse(kernel_of("expm1_large_dd"), parsed, small.low, small.high, {}, small)
    (place,) = [i for i, (op, args) in enumerate(parsed.nodes) if op == "two_sum_error" and args[0] == one]
    assert analysis.nodes[one].rho > 0
    without = "\n".join("const 0x0p+0" if i == place else line for i, line in enumerate(text.splitlines())) + "\n"
    assert ratio_of("expm1_large_dd", text, True, small) <= 1
    assert ratio_of("expm1_large_dd", without, True, small) > 1


# One octave for all numbers.


@pytest.mark.parametrize("name", POWERS)
def test_one_octave_stands_for_all(name):
    """The outputs scale exactly from [1, B) to the whole range, and are within the certificate."""
    kernel, rng = kernel_of(name), random.Random(name)
    base, degree = octaves.BASE[kernel.function], {"cbrt": 1, "rsqrt": -1}[kernel.function]
    held = json.loads(run.path_of(kernel).read_text())
    scalings = octaves.powers_of_two(kernel)
    for build, fma in BUILDS.items():
        parsed = graph.parse(graph.recorded(name), fma)
        for a in [*rng.sample(scalings, 12), *(scalings[0], scalings[-1])]:
            y = Fraction(rng.uniform(1, base))
            scaled_up = y * Fraction(base) ** a
            if not kernel.domain[0].low <= scaled_up <= kernel.domain[0].high or name == "rsqrt_dd" and abs(a) > 60:
                continue  # graph.py takes roots to 240 bits
            x = float(scaled_up)
            at_y, at_x = (graph.evaluate(parsed, {"x": v}) for v in (float(y), x))
            assert all(Fraction(at_x[k]) == Fraction(at_y[k]) * Fraction(2) ** (degree * a) for k in at_y), (a, float(y))
            assert seen(at_x, value(kernel.function, Fraction(x))) <= held[build]["ratio"]


def test_what_does_not_scale_is_rejected(monkeypatch):
    text = graph.recorded("cbrt_dd")
    factor = next(line for line in text.splitlines() if line.startswith("const 0x1.5555555555555p-10"))
    with pytest.raises(AssertionError):
        octaves.multiples_of_16(replaced(text, factor, "const 0x1.5555655555555p-10"))
    for name in POWERS:
        kernel, parsed = kernel_of(name), graph.parse(graph.recorded(name), True)

        def degrees(g: graph.Graph, scalings: range, kernel=kernel) -> None:
            octaves.CbrtDegrees(g, scalings) if kernel.function == "cbrt" else octaves.Degrees(g, kernel.function, scalings)

        degrees(parsed, octaves.powers_of_two(kernel))
        with pytest.raises(AssertionError):  # numbers that underflow
            degrees(parsed, range(-1000, 1000))
    rsqrt = graph.recorded("rsqrt_dd")
    with pytest.raises(AssertionError, match="different degrees"):  # 1 - x r, not 1 - x r^2
        octaves.Degrees(graph.parse(replaced(rsqrt, "sub #6 #4", "sub #6 #2"), True), "rsqrt", range(1))
