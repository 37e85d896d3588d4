"""proofs/computed.py: what it derives beyond composed.py is needed and true, and is not derived where a kernel differs."""

import math
import sys
from fractions import Fraction

import pytest
from proof_kernels import BUILDS, ROOT, ratio_at, value, whole

sys.path.insert(0, str(ROOT))

from proofs import computed, graph, prove, taylor  # noqa: E402


def width(x: str, bits: int) -> tuple[Fraction, Fraction]:
    low = Fraction(float(x))
    return low, low + Fraction(1, 2**bits)


@pytest.mark.parametrize("name", ["gelu_dd", "ndtr_dd", "gelu_backward_dd"])
@pytest.mark.parametrize("sign", [1, -1])
def test_beside_the_end_of_an_interval_of_the_table(monkeypatch, name, sign):
    """|x|/sqrt(2) passes 1/4 where the index of the table changes: the distance from the next interval's middle is exact."""
    end = sign * math.sqrt(2) / 4
    box = Fraction(end - 2.0**-12), Fraction(end + 2.0**-12)
    text = graph.recorded(name)
    for fma in BUILDS.values():
        assert ratio_at(name, text, fma, *box) <= 1
    monkeypatch.setattr(computed.Computed, "smallest_by_branch", lambda self, k: None)
    assert ratio_at(name, text, True, *box) > 1000


@pytest.mark.parametrize("name", ["gelu_dd", "ndtr_dd"])
def test_numbers_beside_that_end(name):
    """The errors of the 16 numbers next to it, with all operations of exp, are within the bound of a box that holds them."""
    x = math.sqrt(2) / 4
    for _ in range(8):
        x = math.nextafter(x, 0.0)
    for build, fma in BUILDS.items():
        full, at = whole(name, fma), x
        checked = ratio_at(name, graph.recorded(name), fma, Fraction(x), Fraction(x) + Fraction(1, 2**50))
        for _ in range(16):
            out = graph.evaluate(full, {"x": at})
            y, err = Fraction(out["hi"]) + Fraction(out["lo"]), Fraction(out["err"])
            seen = taylor.low(taylor.ball(y) - value(name.removesuffix("_dd"), Fraction(at))) / taylor.ball(err)
            assert seen <= checked <= 1, (build, at)
            at = math.nextafter(at, 1.0)


@pytest.mark.parametrize(
    "name,x", [("gelu_tanh_dd", "-15"), ("gelu_dd", "-20"), ("gelu_tanh_backward_dd", "-15"), ("gelu_backward_dd", "-20")]
)
def test_an_argument_without_its_low_part_is_rejected(name, x):
    """The roundings of the high part cancel only if the exponential is given what they leave."""
    lines, box = graph.recorded(name).splitlines(), width(x, 9)
    (at,) = [i for i, line in enumerate(lines) if line.startswith("exp_value")]
    words = lines[at].split()
    zero = next(i for i, line in enumerate(lines[:at]) if line.split() == ["const", "0x0p+0"])
    wrong = "\n".join([*lines[:at], " ".join([*words[:2], f"#{zero}", words[3]]), *lines[at + 1 :]]) + "\n"
    assert ratio_at(name, "\n".join(lines) + "\n", True, *box) <= 1
    assert ratio_at(name, wrong, True, *box) > 1000


def test_the_error_of_a_difference():
    """Of W/2 - a k, by Knuth's sum; another sum in its place is none."""
    lines, box = graph.recorded("gelu_backward_dd").splitlines(), width("-1", 6)
    text = "\n".join(lines) + "\n"
    nodes = graph.parse(text, True).nodes
    found = [i for i, (op, args) in enumerate(nodes) if op == "sub" and computed.difference(nodes, args)]
    assert len(found) == 1 and ratio_at("gelu_backward_dd", text, True, *box) <= 1
    other = nodes[found[0]][1][1]
    assert lines[other].startswith("add")
    wrong = "\n".join([*lines[:other], lines[other].replace("add", "sub"), *lines[other + 1 :]]) + "\n"
    assert ratio_at("gelu_backward_dd", wrong, True, *box) > 1000


@pytest.mark.parametrize(
    "name,zero", [("silu_backward_dd", -1.2784645427610738), ("gelu_tanh_backward_dd", -0.7524614220710162)]
)
def test_where_a_gradient_passes_zero(name, zero):
    """The sign of the numerator is not known there, and not needed."""
    kernel = graph.kernels()[name]
    piece = prove.Piece(Fraction(zero) - Fraction(1, 2**30), Fraction(zero) + Fraction(1, 2**30))
    for fma in BUILDS.values():
        assert prove.prove_piece(kernel, graph.parse(graph.recorded(name), fma), piece).ratio <= 1
