"""proofs/formula: the bounds of optimiser steps and short formulas hold as polynomials in their rounding errors, for the sources as they are;
what is checked contains the errors of the graphs evaluated on numbers, and smaller bounds and other formulas are rejected."""

import json
import math
import os
import random
import shlex
import sys
from fractions import Fraction

import pytest
from native import ROOT, need

sys.path.insert(0, str(ROOT))

from proofs.formula import check  # noqa: E402
from proofs.formula.algebra import Unknown, exact_part  # noqa: E402


@pytest.fixture(scope="module")
def recorder(tmp_path_factory):
    need(shlex.split(os.environ.get("CC", "cc"))[0])
    return check.program(tmp_path_factory.mktemp("formula"))


def test_the_bounds_hold_and_are_those_of_the_page(recorder):
    found = check.shares(recorder)
    assert all(part <= 1 for pair in found.values() for part in pair)
    assert found == json.loads(check.SHARES.read_text())


def rounded(x):
    return x.numerator / x.denominator  # Python's division of integers rounds once


OPERATIONS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "neg": lambda a: -a,
    "abs": abs,
    "rest": lambda a, b, c: rounded(Fraction(a) + Fraction(b) - Fraction(c)),
    "mul_err": lambda a, b, c: rounded(Fraction(a) * Fraction(b) - Fraction(c)),
    "root": math.sqrt,
    "rough_rsqrt": lambda a: (1 + 2.0**-28) / math.sqrt(a),
    "quotient": lambda a, b: a * (1 / b),
    "rough_reciprocal": lambda b: (1 - 2.0**-28) / b,
}
PLAIN = {"mad": lambda a, b, c: a * b + c, "nmad": lambda a, b, c: c - a * b}
FUSED = {
    "mad": lambda a, b, c: rounded(Fraction(a) * Fraction(b) + Fraction(c)),
    "nmad": lambda a, b, c: rounded(Fraction(c) - Fraction(a) * Fraction(b)),
}


def evaluated(graph, numbers, fma):
    """The nodes of a graph in binary64."""
    v, operations = {}, OPERATIONS | (FUSED if fma else PLAIN)
    for i, (op, arguments) in enumerate(graph.nodes):
        ids = [int(a[1:]) for a in arguments if a.startswith("#")]
        if op == "const":
            x = float.fromhex(arguments[0])
            v[i] = numbers[graph.names[x]] if x in graph.names else x
        elif op == "input":
            v[i] = numbers.get(arguments[0], 0.0)  # what the last test rounds is not used
        elif op in operations and all(k in v for k in ids):
            v[i] = operations[op](*(v[k] for k in ids))
    return v


@pytest.mark.parametrize("fma", [False, True])
def test_errors_on_numbers_are_within_what_is_checked(recorder, fma):
    """What one evaluation is off is at most the checked share of the bound; the greatest found is no small part of it."""
    rng, greatest = random.Random(5), 0.0
    for claim in check.claims():
        graph, found = check.recorded(recorder, claim.what), check.check(recorder, claim, fma)
        for _ in range(20):
            short = (lambda x: Fraction(math.ldexp(round(math.ldexp(x, 20)), -20))) if claim.short else Fraction
            exact = {k: short(rng.uniform(-2, 2)) for k in ("p", "m", "v", "g", "x", "y", "z", "r0")}
            exact |= {k: Fraction(rng.uniform(0.1, 1)) for k in ("a", "lr", "beta1", "beta2", "decay")}
            exact |= {
                k: Fraction(rng.uniform(0.1, 1)) + Fraction(rng.randrange(-100, 100), 2**62)
                for k in ("rate", "eps", "keep1", "keep2", "keep")
            }
            exact["root"] = Fraction(rng.randrange(1, 2**24), 2**24)
            exact |= {"root+eps": exact["root"] + exact["eps"], "1-y": 1 - exact["y"]}
            numbers = {name: rounded(value) for name, value in exact.items()}
            numbers |= {
                "r1": rounded(exact["root"] ** 2),
                "g": numbers["g"],
                **({"p": numbers["x"], "m": numbers["y"]} if "formula" in claim.what else {}),
            }
            for name in graph.names.values():
                stem, _, part = name.partition(".")
                if part:
                    high = rounded(exact[stem])
                    numbers[name] = high if part == "hi" else rounded(exact[stem] - Fraction(high))
            values = evaluated(graph, numbers, fma)
            for test, parts in graph.tests.items():
                want = Fraction(0)
                for (atoms, _), c in exact_part(claim.exact[int(test.lstrip("abcdefghijklmnopqrstuvwxyz"))]).items():
                    term = Fraction(c)
                    for name, k in atoms:
                        term *= exact[name] ** k
                    want += term
                hi, lo, err = (Fraction(values[parts[k]]) for k in ("hi", "lo", "err"))
                assert abs(want - hi - lo) <= found[test] * err, (claim.name, test)
                greatest = max(greatest, float(abs(want - hi - lo) / err))
    assert greatest > 0.1


def mutated(tmp_path, path, old, new):
    return check.program(tmp_path, {path: [(old, new)]})


@pytest.mark.parametrize(
    "path, old, new, names",
    [
        ("src/nn/optimizers_step.h", "RM_BOUND(0x1.8p-50)", "RM_BOUND(0x1p-50)", ["Adam, formats below binary64"]),
        (
            "src/nn/optimizers_step.h",
            "#define RM_LINEAR_ERR RM_BOUND(0x1p-98)",
            "#define RM_LINEAR_ERR RM_BOUND(0x1p-100)",
            ["SGD with momentum, binary64"],
        ),
        (
            "src/nn/optimizers_step.h",
            "if (long_c) l = vf64_mad(c.lo, x.hi, l);",
            "",
            ["Adam, binary64", "SGD with momentum, binary64"],
        ),
        (
            "src/nn/optimizers_step.h",
            "#define RM_QUOTIENT_ERR_F64 RM_BOUND(0x1p-72)",
            "#define RM_QUOTIENT_ERR_F64 RM_BOUND(0x1p-78)",
            ["Adam, binary64"],
        ),
        (
            "src/nn/formulas_step.h",
            "#define RM_FORMULA_QUOTIENT_ERR RM_BOUND(0x1p-50)",
            "#define RM_FORMULA_QUOTIENT_ERR RM_BOUND(0x1p-51)",
            ["`x + a y / z`, formats below binary64"],
        ),
        ("src/nn/formulas_step.h", "left = vf64_add(left, above.lo);", "", ["`x + a y / z`, binary64"]),
        (
            "src/nn/optimizers_step.h",
            "const vf64 kept = vf64_mul(p, vf64_set1(c->a[0]));",
            "const vf64 kept = p;",
            ["Adam, formats below binary64"],
        ),
    ],
)
def test_other_bounds_and_formulas_are_rejected(tmp_path, path, old, new, names):
    recorder = mutated(tmp_path, path, old, new)
    for claim in check.claims():
        if claim.name in names:
            try:
                assert max(check.check(recorder, claim, False).values()) > 1, claim.name
            except Unknown:
                pass  # it evaluates something else
