"""proofs/trig.py: the reduced arguments of sin, cos and tan and their distance from multiples of pi/2 against direct evaluation at random
and at the worst numbers, the certificates' boxes there, and changed constants, tables and claims, which must fail."""

import math
import pathlib
import random
import sys
from fractions import Fraction

import flint
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from proofs import evidence, graph, prove, run, taylor, trig  # noqa: E402

KERNELS = [name for name, k in sorted(graph.kernels().items()) if k.kind in ("trig", "trig_large")]
BUILDS = {"fma": True, "base": False}
POINTS = 4


def distance(x: Fraction, function: str) -> tuple[Fraction, int]:
    """x - K pi to 1400 bits for the nearest K, and K in units: whole numbers, odd halves for cos (by its whole part), halves for tan."""
    step = trig.pi() / 2 if function == "tan" else trig.pi()
    if function == "cos":
        k = math.floor(x / step)
        return x - (k + Fraction(1, 2)) * step, k
    k = round(x / step)
    return x - k * step, k


def worst_number(grid: int) -> Fraction:
    """The number of 24 bits, as a multiple of 2^grid, that is nearest to a multiple of pi/2, or its smallest multiple with all bits."""
    m = trig.last_convergent(Fraction(2) ** (grid + 1) / trig.pi(), 2**24 - 1)
    return m * (2**23 // m + 1 if m < 2**23 else 1) * Fraction(2) ** grid


def numbers(kernel: graph.Kernel, rng: random.Random) -> list[Fraction]:
    found = []
    for low, high, grid in rng.sample([b for b in trig.binades(kernel) if b[1] > 4], POINTS):
        found.append(low + math.floor((high - low) * Fraction(rng.random()) / Fraction(2) ** grid) * Fraction(2) ** grid)
        found.append(min(worst_number(grid), high))
    return found


def value(kernel: graph.Kernel, t: Fraction, k: int) -> flint.arb:
    """The function of x, from x - K pi."""
    flint.ctx.prec = 600
    b, odd = taylor.ball(t), k % 2 == 1
    if kernel.function == "tan":
        return -b.cos() / b.sin() if odd else b.tan()
    return -b.sin() if odd != (kernel.function == "cos") else b.sin()


@pytest.mark.parametrize("name", KERNELS)
def test_bounds_contain_the_errors(name):
    kernel, rng = graph.kernels()[name], random.Random(name)
    for build, fma in BUILDS.items():
        parsed = graph.parse(graph.recorded(name), fma)
        cut = trig.cut_of(kernel, parsed)
        inner = graph.Graph(parsed.nodes, {"r": cut.end})
        for x in numbers(kernel, rng):
            t, k = distance(x, kernel.function)
            r = Fraction(graph.evaluate(inner, {"x": float(x)})["r"])
            # Half way between two multiples the kernel may take the other one.
            if abs(t) < trig.end_of(kernel) * Fraction(99, 100):
                assert abs(r - t) <= cut.error(abs(t), abs(t)), (build, x)
            y = graph.evaluate(parsed, {"x": float(x)})["y"]
            f = value(kernel, t, k)
            error = taylor.low((taylor.ball(Fraction(y)) - f) / taylor.ball(Fraction(y)))
            odd = tuple(cut.signs)[:1] if k % 2 else ()
            near, far = (
                max(abs(t) * Fraction(511, 512), trig.start_of(kernel)),
                min(abs(t) * Fraction(513, 512), trig.end_of(kernel)),
            )
            box = trig.Reduced(*((near, far) if t > 0 else (-far, -near)), ones=odd)
            result = prove.prove_piece(kernel, parsed, box)
            claim = graph.evaluate(parsed, {"x": 3.0})["claim"]
            assert error / claim <= result.ratio <= 1, (build, x)


@pytest.mark.parametrize("exponent", [-20, -9, -3, 0, 7, 60])
def test_the_nearest_multiple_is_the_nearest(exponent):
    """Of all numbers of 12 bits, by trying each."""
    unit, quarter = Fraction(2) ** exponent, trig.pi() / 2
    distances = [abs(m * unit - round(m * unit / quarter) * quarter) for m in range(1, 2**12)]
    found = trig.nearest_multiple(exponent, 12)
    assert min(distances) * (1 - Fraction(1, 2**100)) < found <= min(distances)


def test_no_number_is_nearer():
    """The figures of sin_b64.h: 2^-27.84 below 2^19, 2^-29.21 for all."""
    smallest = {e: trig.nearest_multiple(e - 24, 24) for e in range(2, 129)}
    assert (
        min(v for e, v in smallest.items() if e <= 19)
        > Fraction(2.0**-27.84)
        > min(smallest.values())
        > Fraction(2.0**-29.21)
    )


def changed(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1
    return text.replace(old, new)


# Changes of constants before the cut, each of which the reduced argument must show.
@pytest.mark.parametrize(
    "name,old,new",
    [
        ("sin_b64", "0x1.68c234c4c6629p-38", "0x1.68c238c4c6629p-38"),  # pi's low part
        ("sin_b64", "0x1.921fb54440000p+1", "0x1.921fb54450000p+1"),  # its high part, which then has a bit too many
        ("cos_b64", "0x1.68c234c4c6629p-38", "0x1.68c238c4c6629p-38"),
        ("tan_b64", "0x1.68c234c4c6629p-38", "0x1.68c238c4c6629p-38"),
        ("sin_large_b64", "0x1.b6c52b3278872p-130", "0x1.b6c53b3278872p-130"),  # 1/pi for one group of exponents
        ("tan_large_b64", "0x1.47d4d37000000p-91", "0x1.47d4d38000000p-91"),
        ("sin_large_b64", "0x1.921fb54442d18p+1", "0x1.921fb64442d18p+1"),  # pi, by which the turns are multiplied
    ],
)
def test_a_wrong_constant_is_rejected(name, old, new):
    kernel, text = graph.kernels()[name], graph.recorded(name)
    shorter = [float.fromhex(v).hex() for v in (old, new)]
    words = [
        w
        for w in text.replace("\n", " ").split()
        if w.lstrip("-").startswith("0x") and float.fromhex(w) == float.fromhex(shorter[0])
    ]
    assert len(words) == 1
    wrong = graph.parse(changed(text, f" {words[0]}", f" {shorter[1]}"), True)
    right = graph.parse(text, True)
    boxes = [p for p in trig.all_pieces(kernel) if isinstance(p, trig.Reduced)]
    assert all(trig.prove_piece(kernel, right, p).ratio <= 1 for p in boxes[:4])
    try:
        trig.cut_of(kernel, wrong)
    except AssertionError:
        return  # r is not what it has to be: no box is looked at
    assert any(trig.prove_piece(kernel, wrong, p).ratio > 1 for p in boxes)


def test_a_wrong_rounding_of_the_multiple_is_rejected():
    """cos with another last half, sin with the signs of another bit."""
    kernel, text = graph.kernels()["cos_b64"], graph.recorded("cos_b64")
    with pytest.raises((AssertionError, ValueError)):
        trig.cut_of(kernel, graph.parse(changed(text, "iconst 32768", "iconst 16384"), True))
    kernel, text = graph.kernels()["sin_b64"], graph.recorded("sin_b64")
    (line,) = [line for line in text.splitlines() if line.startswith("sll ")]
    other = graph.parse(changed(text, line, line.replace("63", "62")), True)
    box = next(p for p in trig.all_pieces(kernel) if isinstance(p, trig.Reduced) and p.low > Fraction(1, 2))
    with pytest.raises((AssertionError, NotImplementedError, taylor.SplitBox, RuntimeError)):
        trig.prove_piece(kernel, other, box)


@pytest.mark.parametrize("name", KERNELS)
def test_a_claim_below_a_witness_is_rejected(name):
    kernel, rng = graph.kernels()[name], random.Random(3)
    text, claim = graph.recorded(name), graph.evaluate(graph.parse(graph.recorded(name), True), {"x": 3.0})["claim"]
    parsed, worst = graph.parse(text, True), (0.0, Fraction(0), 0)
    for x in numbers(kernel, rng):
        t, k = distance(x, kernel.function)
        y = Fraction(graph.evaluate(parsed, {"x": float(x)})["y"])
        error = float(taylor.low((taylor.ball(y) - value(kernel, t, k)) / taylor.ball(y)).lower())
        worst = max(worst, (error, t, k))
    error, t, k = worst
    lines = text.splitlines()
    at = int(next(line for line in lines if line.startswith("out claim")).split("#")[1])
    assert lines[at] == f"const {claim.hex()}" or float.fromhex(lines[at].split()[1]) == claim
    lower = graph.parse("\n".join([*lines[:at], f"const {(error * (1 - 2.0**-20)).hex()}", *lines[at + 1 :]]) + "\n", True)
    cut = trig.cut_of(kernel, lower)
    point = trig.Reduced(t, t, ones=tuple(cut.signs)[:1] if k % 2 else ())
    assert prove.prove_piece(kernel, lower, point).ratio > 1


def test_the_domain_is_that_of_the_kernels():
    for name in KERNELS:
        kernel = graph.kernels()[name]
        (interval,) = evidence.domain(kernel)
        assert (interval.high == 409600) is (kernel.kind == "trig")
        assert run.pieces(kernel)
