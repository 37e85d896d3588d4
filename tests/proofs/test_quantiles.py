"""proofs/quantiles.py: what it claims of the step of erfinv and ndtri against direct evaluation of the whole of it, and changed constants, tables and
operations, which must fail."""

import random
import sys
from fractions import Fraction

import flint
import pytest
from proof_kernels import BUILDS, ROOT, kernel_of, ratio_of, replaced, whole

sys.path.insert(0, str(ROOT))

from proofs import graph, prove, quantiles, run, taylor  # noqa: E402

NAMES = ("erfinv_dd", "erfinv_small_dd", "ndtri_dd", "ndtri_small_dd")
PRECISION = 1200


def halves(v: Fraction) -> tuple[float, float]:
    return float(v), float(v - Fraction(float(v)))


def arguments(rng: random.Random, name: str) -> tuple[flint.arb, dict]:
    """erfinv u, and u and 1 - u in two parts, for a number u that the kernel is for."""
    if kernel_of(name).kind == "dd_step_small":
        u = Fraction(rng.uniform(0.5, 1) * 2.0 ** -rng.choice([4, 4, 5, 10, 50, 900]))
        v = 1 - u
    elif rng.random() < 0.5:
        u = Fraction(rng.uniform(0.07, 1))
        v = 1 - u
    else:
        v = Fraction(rng.uniform(0.5, 1) * 2.0 ** -rng.choice([2, 20, 52, 53, 100, 160]))
        u = 1 - v
    z = taylor.ball(u).erfinv() if u < Fraction(1, 2) else taylor.ball(v).erfcinv()
    (uh, ul), (vh, vl) = halves(u), halves(v)
    return z, {"uh": uh, "ul": ul, "vh": vh, "vl": vl}


@pytest.mark.parametrize("name", NAMES)
def test_step(name):
    """From y at random distances and at the largest ones, with and without fused operations."""
    rng, root = random.Random(name), kernel_of(name).function == "ndtri"
    for fma in BUILDS.values():
        full = whole(name, fma)
        for k in range(40):
            flint.ctx.prec = PRECISION
            z, parts = arguments(rng, name)
            off = (1, -1, rng.uniform(-1, 1))[k % 3]
            y = float(taylor.exact(z) * (1 + Fraction(off) * Fraction(1 - 2.0**-12) / 2**40))
            out = graph.evaluate(full, {"x": y, **parts})
            flint.ctx.prec = PRECISION
            error = taylor.up(
                taylor.ball(Fraction(out["hi"]) + Fraction(out["lo"])) - z * (flint.arb(2).sqrt() if root else 1)
            )
            room = Fraction(out["err"]) - (abs(Fraction(out["lo"])) + Fraction(out["err"])) / 2**53
            assert error <= taylor.ball(room), (y, parts)


@pytest.mark.parametrize("name", ["erfinv_start_b64", "ndtri_start_b64"])
def test_start(name):
    """What y is proved to be within, and what ndtri's kernel, which leaves sqrt(2) to the end, adds to it, are below START."""
    claim = Fraction(float.fromhex(run.certificate(kernel_of(name))["claimed"]))
    assert taylor.ball(claim + Fraction(4, 2**53)) < quantiles.START * (1 - taylor.pow2(-20))


BOXES = {
    "erfinv_dd": (Fraction(9), Fraction(10)),
    "ndtri_dd": (Fraction(9), Fraction(10)),
    "erfinv_small_dd": (Fraction(1, 32), Fraction(1, 20)),
    "ndtri_small_dd": (Fraction(1, 32), Fraction(1, 20)),
}


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "name,value,wrong",
    [
        ("erfinv_dd", 0.887, 0.2),  # the factor of err
        ("ndtri_dd", 0.887, 0.2),
        ("ndtri_dd", 1.42, 0.3),
        ("ndtri_dd", float.fromhex("-0x1.bdd3413b26456p-54"), 0.0),  # of sqrt(2)
        ("erfinv_dd", float.fromhex("0x1.c5bf891b4ef6bp-1"), float.fromhex("0x1.c5bf891b4ef6bp-1") * (1 + 2.0**-24)),
        ("erfinv_small_dd", 0.9, 2.0**-9),
        ("erfinv_small_dd", 1 / 6, 1.0),  # of e^(y^2)
        ("ndtri_small_dd", float.fromhex("0x1.c5bf891b4ef6bp-1"), float.fromhex("0x1.c5bf891b4ef6bp-1") * (1 + 2.0**-24)),
    ],
)
def test_a_wrong_number_is_rejected(name, value, wrong):
    text, piece = graph.recorded(name), prove.Piece(*BOXES[name])
    (line,) = [line for line in text.splitlines() if line.startswith("const") and float.fromhex(line.split()[1]) == value]
    changed = replaced(text, line, f"const {wrong.hex()}")
    for fma in BUILDS.values():
        assert ratio_of(name, text, fma, piece) <= 1
        assert ratio_of(name, changed, fma, piece) > 1


@pytest.mark.parametrize("name", ["erfinv_dd", "erfinv_small_dd"])
def test_tables_count(name):
    text, piece = graph.recorded(name), prove.Piece(*BOXES[name])
    tables = [line for line in text.splitlines() if line.startswith("lookup")]
    changed = text
    for line in tables:
        op, index, *values = line.split()
        changed = replaced(changed, line, " ".join([op, index, *((float.fromhex(v) * (1 + 2.0**-50)).hex() for v in values)]))
    for fma in BUILDS.values():
        assert ratio_of(name, changed, fma, piece) > 1


def test_y_must_be_near_the_result(monkeypatch):
    """From a distance of 2^-20 a step does not reach far enough."""
    monkeypatch.setattr(quantiles, "START", taylor.pow2(-20))
    for name, box in BOXES.items():
        assert ratio_of(name, graph.recorded(name), True, prove.Piece(box[0], box[0] + Fraction(1, 2**9))) > 1


@pytest.mark.parametrize("name", NAMES)
def test_every_operation_of_the_step_is_of_its_shape(name):
    """Any sum of the step taken for a difference or the other way round, or its operands in another order, is noticed."""
    text, kernel = graph.recorded(name), kernel_of(name)
    near = kernel.kind == "dd_step_small"
    parsed = graph.parse(text, True)
    found, other = (quantiles.shape(parsed, branch) for branch in (near, not near))
    lines, swapped = text.splitlines(), {"add": "sub", "sub": "add", "mul": "add", "mad": "nmad"}
    outputs = [i for i, line in enumerate(lines) if line.startswith("out")]
    reached, stack = set(), [int(lines[i].split()[2][1:]) for i in outputs]
    while stack:
        k = stack.pop()
        if k not in reached and k not in (*found.parts, found.e, *other.parts, other.e):
            reached.add(k)
            stack += [a for a in parsed.nodes[k][1] if isinstance(a, int)]
    tried = 0
    for k in reached:
        op, *rest = lines[k].split()
        if op not in swapped:
            continue
        wrong = graph.parse("\n".join([*lines[:k], " ".join([swapped[op], *rest]), *lines[k + 1 :]]) + "\n", True)
        try:
            quantiles.shape(wrong, near)
        except AssertionError:
            tried += 1
            continue
        with pytest.raises(AssertionError):  # of the other branch
            quantiles.shape(wrong, not near)
    assert tried >= 6
