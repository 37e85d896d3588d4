"""proofs/cuts.py: the f64 results beyond a cut of the argument, by the library's results there, and by cuts that are too near, which must be rejected."""

import math
import pathlib
import random
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from proof_kernels import whole

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import repmath  # noqa: E402
from proofs import cuts, domains, evidence, graph  # noqa: E402

CLAMPED = {cut.function: cut for cut in cuts.clamped()}
RESULTS = {
    "1": lambda x: 1.0,
    "2, of -x": lambda x: 2.0,
    "-1, of -x": lambda x: -1.0,
    "pi/2": lambda x: math.pi / 2,
    "1/2": lambda x: 0.5,
}
SETTLED = [
    piece
    for function, text in cuts.settled_graphs().items()
    for piece in cuts.settled(function, text)
    if piece.low != piece.high
]


def numbers(low: Fraction, high: Fraction, function: str) -> np.ndarray:
    """The ends, their neighbours, and sizes between them evenly over the exponents."""
    rng, a, b = random.Random(function), float(low), float(high)
    found = [a, math.nextafter(a, b), b, math.nextafter(b, a)]
    sign = -1 if a < 0 else 1
    sizes = sorted((abs(a), abs(b)))
    found += [sign * min(max(math.exp(rng.uniform(*map(math.log, sizes))), sizes[0]), sizes[1]) for _ in range(200)]
    return np.array(found)


@pytest.mark.parametrize("function", sorted(CLAMPED))
def test_results_beyond_a_cut(function):
    cut = CLAMPED[function]
    assert cuts.hold(cut) < cuts.PIECES
    x = numbers(cut.low, cut.high, function)
    x = -x if cut.result.endswith("of -x") else x
    expected = x if cut.result.startswith("x") else np.array([RESULTS[cut.result](v) for v in x])
    assert np.array_equal(getattr(repmath, function)(x), expected)


@pytest.mark.parametrize("function", sorted(CLAMPED))
def test_a_cut_that_is_too_near_is_rejected(function):
    with pytest.raises(AssertionError):
        cuts.hold(replace(CLAMPED[function], low=Fraction(2**40 if function == "atan" else 3)))


@pytest.mark.parametrize("function", ["tanh", "erf", "erfc", "sigmoid", "atan", "atanpi"])
def test_a_kernel_beyond_its_cut_is_constant(function):
    """Its graph has one value there, and the domain of its proof reaches the cut."""
    cut, kernel = CLAMPED[function], graph.kernels()[f"{function}_dd"]
    assert max(max(abs(i.low), abs(i.high)) for i in evidence.domain(kernel)) >= cut.low
    for fma in (True, False):
        parsed = whole(kernel.name, fma)
        sign = -1 if cut.result.endswith("of -x") else 1
        outs = [
            graph.evaluate(parsed, {"x": sign * x}) for x in (float(max(cut.low, 671)), 1e3, 2.0**101, 1e300, float(cut.high))
        ]
        if function.startswith("atan"):
            outs = outs[2:]
        assert all(out == outs[0] for out in outs)


@pytest.mark.sample(4)
@pytest.mark.parametrize("piece", SETTLED, ids=lambda p: f"{p.function} {float(p.low):.4g}")
def test_settled_results(piece):
    """Those of the library too, with the sign of zero; a cut nearer to 0 is rejected."""
    assert cuts.hold_settled(piece) < cuts.PIECES
    x = numbers(piece.low, piece.high, piece.function)
    expected = x if piece.result == "x" else np.full(len(x), float(piece.result))
    if piece.function.endswith("_backward"):
        for g in (float(piece.factor), -float(piece.factor), 0.75, -(2.0**-1074)):
            found = getattr(repmath, piece.function)(np.full(len(x), g), x)
            assert np.array_equal(found, expected) and np.array_equal(np.signbit(found), np.signbit(expected) ^ (g < 0))
    else:
        with np.errstate(invalid="ignore"):
            found = getattr(repmath, piece.function)(x)
        assert np.array_equal(found, expected, equal_nan=True) and np.array_equal(np.signbit(found), np.signbit(expected))
    if piece.result == "x":
        factor = 2**920 if piece.function == "log1p" else 4
        nearer = replace(piece, low=piece.low * factor, high=piece.high * factor)
    elif piece.result == "nan":
        end = cuts.REAL[piece.function][piece.low > 0]
        nearer = replace(piece, low=min(piece.low, end), high=max(piece.high, end))
    else:
        nearer = replace(
            piece, low=piece.low - 16 if piece.low > 0 else piece.low, high=piece.high + 16 if piece.low < 0 else piece.high
        )
    with pytest.raises(AssertionError):
        cuts.hold_settled(nearer)


@pytest.mark.parametrize("function", sorted(cuts.HALF_TURNS))
def test_half_turns_at_whole_numbers(function):
    """Beyond 2^53, where they are settled, and on both sides of it; odd numbers below it are a control that parity counts."""
    rng = np.random.default_rng(53)
    near = 2.0**53 + np.arange(-64.0, 65.0)
    x = np.concatenate([near, rng.uniform(1, 2, 1000) * 2.0 ** rng.integers(53, 1023, 1000), [np.finfo(float).max, 2.0**53]])
    x = np.concatenate([x, -x])
    odd = np.array([int(v) % 2 for v in x]) == 1
    assert odd.any() and not odd[abs(x) >= 2.0**53].any()
    found = getattr(repmath, function)(x)
    if function == "cospi":
        assert np.array_equal(found, np.where(odd, -1.0, 1.0))
    else:
        sign = np.signbit(x) ^ (odd if function == "tanpi" else False)
        assert np.array_equal(found, np.zeros(len(x))) and np.array_equal(np.signbit(found), sign)


def test_sums_beyond_their_cuts():
    """A power whose logarithm is a little nearer to 0 does not round to it."""
    found = cuts.sums()
    assert len(found) == 3 and all(distance < largest for _, distance, largest in found)
    assert all(not distance * 1.1 < largest for what, distance, largest in found if what == "pow, 0")


def test_all_settled_results_are_among_them():
    assert {p.function for p in SETTLED} >= {
        "exp",
        "exp2",
        "exp10",
        "erfc",
        "ndtr",
        "sigmoid",
        "silu",
        "gelu",
        "log_sigmoid",
        "asinh",
        "atanh",
        "log1p",
    }
    text = cuts.settled_graphs()["exp"]
    assert text.count("-0x1.7499999999") == 1
    (wrong,) = [p for p in cuts.settled("exp", text.replace("-0x1.7499999999", "-0x1.7099999999")) if p.low != p.high]
    with pytest.raises(AssertionError):
        cuts.hold_settled(wrong)


def test_arguments_in_no_proof_are_listed(monkeypatch):
    """What is entered is read from the source (gelu: below -36.5 and within 2^-960 of 0 it is not), and a domain that is shorter than what is entered
    leaves the difference; atan is proved whole."""
    tiny = Fraction(1, 2**960)
    gelu = domains.entered(domains.special_graphs()["gelu"])
    assert domains.less([(Fraction(-40), Fraction(40))], gelu) == [
        (Fraction(-40), math.nextafter(-36.5, -40)),
        (-Fraction(math.nextafter(float(tiny), 0)), Fraction(-1, 2**1074)),
        (Fraction(1, 2**1074), Fraction(math.nextafter(float(tiny), 0))),
    ]
    assert "atan" not in domains.left_over()
    monkeypatch.setattr(domains, "proved", lambda name: [(Fraction(-1), Fraction(1))])
    assert domains.left_over()["atan"] == [
        (-cuts.LARGEST, Fraction(math.nextafter(-1, -2))),
        (Fraction(math.nextafter(1, 2)), cuts.LARGEST),
    ]
