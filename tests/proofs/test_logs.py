"""proofs/logs.py: what it claims against direct evaluation of the whole kernels in f64, and changed constants, tables and ranges, which must
fail."""

import random
import sys
from fractions import Fraction

import flint
import pytest
from proof_kernels import BUILDS, POINTS, ROOT, kernel_of, numbers, pieces, ratio_of, replaced, seen, value, whole

sys.path.insert(0, str(ROOT))

from proofs import graph, logs, prove, taylor  # noqa: E402

KNOWN = ("log1p_dd", "atanh_dd", "asinh_dd", "acosh_dd")


# The logarithm by itself, and the kernels that end with it.


@pytest.mark.parametrize("name", KNOWN)
def test_kernels_that_end_with_a_logarithm(name):
    """At random numbers the error is below err; and boxes around them pass."""
    kernel = kernel_of(name)
    for fma in BUILDS.values():
        full = whole(name, fma)
        for x in numbers(name, POINTS):
            interval = next(i for i in kernel.domain if i.low <= x <= i.high)
            width = abs(x - interval.pole) / 2**12
            box = prove.Piece(max(interval.low, x - width), min(interval.high, x + width))
            assert ratio_of(name, graph.recorded(name), fma, box) <= 1
            if abs(x) < 2.0**200:  # graph.py takes roots to 240 bits
                assert seen(graph.evaluate(full, {"x": float(x)}), value(kernel.function, x)) <= 1, float(x)


@pytest.mark.parametrize("near", [False, True])
def test_log_of_two_parts(near):
    """The claim that logs.py makes of it, at random numbers."""
    rng = random.Random(f"log {near}")
    text = replaced(graph.recorded("log1p_near_dd" if near else "log_sum_dd"), "low", "input low")
    for fma in BUILDS.values():
        parsed = graph.parse(text, fma)
        for _ in range(60):
            if near:
                x = rng.choice([-1, 1]) * rng.uniform(0.5, 1) * 2.0 ** -rng.choice([6, 7, 20, 53, 300, 959])
                low = rng.uniform(-1, 1) * 2.0**-53 * x
            else:
                x = rng.uniform(1, 2) * 2.0 ** rng.choice([-1022, -300, -2, -1, 0, 1, 2, 60, 900, 1021])
                low = rng.uniform(-1, 1) * 2.0**-48 * x
                if Fraction(x) + Fraction(low) >= logs.NEAR[0] and x < logs.NEAR[1]:
                    continue
            out = graph.evaluate(parsed, {"x": x, "low": low})
            flint.ctx.prec = 1200
            whole_argument = taylor.ball(Fraction(x)) + taylor.ball(Fraction(low))
            error = taylor.low(
                taylor.ball(Fraction(out["hi"]) + Fraction(out["lo"]))
                - (whole_argument.log1p() if near else whole_argument.log())
            )
            size, last = abs(Fraction(out["hi"])), abs(Fraction(out["lo"])) + Fraction(out["err"])
            assert error <= taylor.ball(Fraction(out["err"]) - last / 2**53) - logs.ROOM * taylor.ball(size), (x, low)
            assert Fraction(out["err"]) <= size / 2**58 and abs(Fraction(out["lo"])) <= size / 2**9


def test_the_second_part_of_the_logarithm_counts():
    text = graph.recorded("log_sum_dd")
    piece = next(p for p in pieces("log_sum_dd") if p.multiples.first == 1)
    small = logs.Octave(Fraction(4, 5), Fraction(4, 5) + Fraction(1, 64), piece.multiples)
    nothing = replaced(text, "low", "const 0x0p+0")
    lines = nothing.splitlines()
    scaled_low = next(i for i, line in enumerate(lines) if line.startswith("mul #1 "))  # low 2^-k
    nothing = replaced(nothing, lines[scaled_low], "const 0x0p+0")
    for fma in BUILDS.values():
        assert ratio_of("log_sum_dd", text, fma, small) <= 1
        assert ratio_of("log_sum_dd", nothing, fma, small) > 1


@pytest.mark.parametrize(
    "name,operation,first,factor,low,high",
    [
        ("log_sum_dd", "lookup", "-0x1.51aad872ep-2", 1 + 2.0**-40, "0.72", "0.73"),
        ("log_sum_dd", "const", "0x1.8p-50", 0.5, "0.72", "0.73"),
        ("log1p_near_dd", "const", "0x1.8p-50", 0.5, "0.024", "0.025"),
        ("log1p_near_dd", "const", "0x1p-80", 2.0**-8, "0x1p-60", "0x1p-59"),
        ("atanh_dd", "const", "0x1p-75", 0.25, "0x1p-20", "0x1p-19"),
        ("asinh_dd", "const", "0x1p-74", 0.25, "0x1p-26", "0x1p-25"),
        ("asinh_dd", "const", "0x1p+90", 2.0**-70, "0x1p30", "0x1p31"),
        ("acosh_dd", "const", "0x1p+90", 2.0**-70, "0x1p30", "0x1p31"),
    ],
)
def test_a_wrong_number_is_rejected(name, operation, first, factor, low, high):
    """A table or a constant of the kernel, or a part of its bound, changed."""
    text = graph.recorded(name)
    numbers_of = [line.split() for line in text.splitlines() if line.startswith(operation + " ")]
    start = 2 if operation == "lookup" else 1
    (line,) = [words for words in numbers_of if words[start] == first]
    wrong = replaced(
        text, " ".join(line), " ".join([*line[:start], *((float.fromhex(v) * factor).hex() for v in line[start:])])
    )
    ends = [Fraction(float.fromhex(v)) if "0x" in v else Fraction(v) for v in (low, high)]
    piece = logs.Octave(*ends, logs.Multiples(Fraction(0), 1, 1)) if name == "log_sum_dd" else prove.Piece(*ends)
    for fma in BUILDS.values():
        assert ratio_of(name, text, fma, piece) <= 1
        assert ratio_of(name, wrong, fma, piece) > 1


def test_the_root_needs_its_second_approximation():
    """acosh with the rough inverse root as it is: its relative error of 2^-27, times 2^-52, is too much."""
    text = graph.recorded("acosh_dd")
    lines = text.splitlines()
    place = next(i for i, line in enumerate(lines) if logs.rough_root(graph.parse(text, True).nodes, i))
    rough = lines[place].split()[1]
    user = next(i for i, line in enumerate(lines) if f"#{place}" in line.split()[1:])
    wrong = replaced(text, lines[user], lines[user].replace(f"#{place}", rough))
    piece = prove.Piece(Fraction(3, 2), Fraction(3, 2) + Fraction(1, 64))
    for fma in BUILDS.values():
        assert ratio_of("acosh_dd", text, fma, piece) <= 1
        assert ratio_of("acosh_dd", wrong, fma, piece) > 1


@pytest.mark.parametrize("name", ["asinh_dd", "acosh_dd"])
def test_where_the_root_is_replaced(name):
    """Beyond 2^90 the root of one number is beside the argument in a few boxes only; what is added to it there counts."""
    text, piece = graph.recorded(name), prove.Piece(Fraction(2**90), Fraction(2**91))
    more = replaced(text, "const 0x0p+0", "const 0x1p+40")
    for fma in BUILDS.values():
        result = prove.prove_piece(kernel_of(name), graph.parse(text, fma), piece)
        assert result.ratio <= 1 and result.boxes <= 6
        assert ratio_of(name, more, fma, piece) > 1


def test_where_the_table_gives_one(monkeypatch):
    logs.check_dd_ball()
    monkeypatch.setattr(logs, "NEAR", (Fraction(31, 32), Fraction(33, 32)))
    with pytest.raises(AssertionError):
        logs.check_dd_ball()
