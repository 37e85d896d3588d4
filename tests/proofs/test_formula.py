"""proofs/formula: the bounds of optimiser steps, short formulas, rows, losses and draws hold as polynomials in their rounding errors, for the
sources as they are; what is checked contains the errors of the graphs evaluated on numbers, and smaller bounds and other formulas are rejected."""

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
    "max": max,
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
    """What one evaluation is off is at most the checked share of the bound; the largest found is no small part of it."""
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
            exact |= {
                "root+eps": exact["root"] + exact["eps"],
                "1-y": 1 - exact["y"],
                "1+y": 1 + exact["y"],
                "1-z": 1 - exact["z"],
            }
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


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "path, old, new, names",
    [
        ("src/nn/optim/step.h", "RM_BOUND(0x1.8p-50)", "RM_BOUND(0x1p-50)", ["Adam, formats below binary64"]),
        (
            "src/nn/optim/step.h",
            "#define RM_LINEAR_ERR RM_BOUND(0x1p-98)",
            "#define RM_LINEAR_ERR RM_BOUND(0x1p-100)",
            ["SGD with momentum, binary64"],
        ),
        (
            "src/nn/optim/step.h",
            "if (long_c) l = vf64_mad(c.lo, x.hi, l);",
            "",
            ["Adam, binary64", "SGD with momentum, binary64"],
        ),
        (
            "src/nn/optim/step.h",
            "#define RM_QUOTIENT_ERR_F64 RM_BOUND(0x1p-72)",
            "#define RM_QUOTIENT_ERR_F64 RM_BOUND(0x1p-78)",
            ["Adam, binary64"],
        ),
        (
            "src/nn/formula/step.h",
            "#define RM_FORMULA_QUOTIENT_ERR RM_BOUND(0x1p-50)",
            "#define RM_FORMULA_QUOTIENT_ERR RM_BOUND(0x1p-51)",
            ["`x + a y / z`, formats below binary64"],
        ),
        ("src/nn/formula/step.h", "residual = vf64_add(residual, above.lo);", "", ["`x + a y / z`, binary64"]),
        (
            "src/nn/optim/step.h",
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


OLD = "rm_vplus(rm_vone(vf64_set1(1.0)), rm_vminus(rm_vtimes(rm_vone(y), 0, rm_vone(y), 0)));"
ROWS, LOSS, SOFTMAX = "src/nn/rows/step.h", "src/nn/loss/step.h", "src/nn/softmax/row.h"
ENTROPY, NORM, WEIGHT = "src/nn/cross_entropy/row.h", "src/nn/norm/normalize.inl", "src/nn/norm/weight_row.h"
DD_BALL, RUNNING = "crlibm/enclosure/dd_ball.h", "numbers with a running bound:"
RECURRENCE, SYSTEM, DETERMINANT, RESIDUAL, COLUMNS = (
    f"src/linalg/{name}.c" for name in ("recurrence", "system", "determinant", "residual", "columns")
)
DRAWS, VARIANCE = "src/random", "src/reduce/variance_parts.h"
BELOW = "formats below binary64"
# A bound made smaller, or a step left out, and the claim that then is not proved; each claim once in a group.
SMALLER = [
    [
        ("src/nn/formula/step.h", "rm_vtimes(rm_formula_left(y), 1, rm_formula_left(vf64_neg(y)), 1);", OLD, "`x (1 - y^2)`, binary64"),
        (SOFTMAX, "s.rel = 2.25 * RM_ROW_EXP_ERR;", "s.rel = 2.0 * RM_ROW_EXP_ERR;", "softmax"),
        (SOFTMAX, "s.err = 0x1.4p-41 * s.a + (double)n * 0x1p-244;", "s.err = 0x1.1p-41 * s.a + (double)n * 0x1p-244;", "log_softmax, logsumexp"),
        (ROWS, "vf64_mad(vf64_abs(t), vf64_set1(0x1p-50), vf64_set1(s->err))", "vf64_mad(vf64_abs(t), vf64_set1(0x1p-52), vf64_set1(s->err))", "gradient of softmax"),
        (SOFTMAX, "1.01 * err / __builtin_fabs(sum)", "0.99 * err / __builtin_fabs(sum)", "gradient of log_softmax"),
        (ENTROPY, "s.rel = 2.25 * RM_ROW_EXP_ERR + 0x1p-49;", "s.rel = 2.0 * RM_ROW_EXP_ERR + 0x1p-49;", "gradient of cross entropy, one class"),
        (ENTROPY, "__builtin_fabs(y) * 0x1.4p-43", "__builtin_fabs(y) * 0x1p-43", "gradient of cross entropy, the target"),
        (ENTROPY, "(double)(end - first + 12) * 0x1p-53", "(double)(end - first + 12) * 0x1p-54", "cross entropy of a row"),
        (ENTROPY, "0x1p-53 + 12.0) * 0x1p-53 * q_size", "0x1p-53 + 12.0) * 0x1p-54 * q_size", "gradient of cross entropy, probabilities"),
        (NORM, "off = 4.0 * RM_ROW_MOMENT_ERR * m2;", "off = 2.0 * RM_ROW_MOMENT_ERR * m2;", "variance and mean"),
        (NORM, "t->rel = 0.51 * (off / t->v)", "t->rel = 0.49 * (off / t->v)", "root of the variance"),
        (NORM, "s.err = 1.01 * t.c_err * t.a;", "s.err = 0.99 * t.c_err * t.a;", "norm"),
        (NORM, "s.slope = 1.01 * size * (b0_err +", "s.slope = 0.99 * size * (b0_err +", "gradient of a norm"),
        (NORM, "__builtin_fabs(s.b0) * (2.1 * t.rel + 0x1p-50);", "__builtin_fabs(s.b0) * (1.9 * t.rel + 0x1p-50);", "sums of a norm's gradient"),
        (WEIGHT, "RM_WEIGHT_TERMS + 8) * 0x1p-53;", "RM_WEIGHT_TERMS - 8) * 0x1p-53;", "gradient of a norm by its weights, columns"),
        (WEIGHT, "0x1p-53 * j * j * bound", "0x1p-60 * j * j * bound", "gradient of a norm by its weights, joins of columns"),
        (DD_BALL, "vf64_abs(x) + vf64_abs(y);", "vf64_abs(x);", f"{RUNNING} sums"),
        (DD_BALL, "(vf64_abs(ah) + vf64_abs(al) + ea) * eb", "(vf64_abs(ah) + vf64_abs(al)) * eb", f"{RUNNING} products"),
        (DD_BALL, "a->err * s * t + 0x1p-1071", "a->err * s", f"{RUNNING} products with powers of two"),
        (DD_BALL, "return m >= 0.25 * h ? m * (1.0 - 0x1p-40)", "return m >= 0.25 * h ? m * (1.0 - 0x1p-51)", f"{RUNNING} magnitudes"),
        (DD_BALL, "rm_dd_ball_max(&rest) / (1.25 * s1)", "rm_dd_ball_max(&rest) / (1.5 * s1)", f"{RUNNING} quotients, roots"),
        (DD_BALL, "d * 1.125", "d * 1.0", f"{RUNNING} exponentials"),
        (DD_BALL, "a->err * (1.0 + 0x1p-18)", "a->err * (1.0 + 0x1p-22)", f"{RUNNING} logarithms"),
        (DD_BALL, "(inexact ? 1.0 : 0.0)", "(inexact ? 0.5 : 0.0)", f"{RUNNING} exact totals"),
        (WEIGHT, "RM_BOUND(1.01 * err + __builtin_fabs(v) *", "RM_BOUND(0.99 * err + __builtin_fabs(v) *", "gradient of a norm by its weights, blocks"),
        ("src/nn/rows/kernels.h", "#define RM_ROW_MOMENT_ERR 0x1.4p-48", "#define RM_ROW_MOMENT_ERR 0x1.3p-48", "sums of rows"),
        (f"{DRAWS}/args.c", "RM_F64 ? 0x1p-100 : 0x1p-50);", "RM_F64 ? 0x1p-103 : 0x1p-51);", f"uniform numbers, {BELOW}"),
        (f"{DRAWS}/normal.h", "RM_BOUND(0x1p-51)", "RM_BOUND(0x1p-53)", f"normal numbers, {BELOW}"),
        (f"{DRAWS}/normal.h", "RM_BOUND(0x1p-89)", "RM_BOUND(0x1p-93)", "normal numbers, binary64"),
        (f"{DRAWS}/truncated.h", "RM_BOUND(0x1p-48)", "RM_BOUND(0x1p-50)", f"truncated normal numbers, {BELOW}"),
        (f"{DRAWS}/dropout.h", "RM_BOUND(0x1.8p-51)", "RM_BOUND(0x1p-51)", f"dropout, {BELOW}"),
        (f"{DRAWS}/dropout.h", "RM_BOUND(0x1p-98)", "RM_BOUND(0x1p-103)", "dropout, binary64"),
        (LOSS, "RM_BOUND(0x1.4p-50)", "RM_BOUND(0x1p-50)", f"terms of losses, beyond b, times g, {BELOW}"),
        (LOSS, "RM_BOUND(0x1p-99)", "RM_BOUND(0x1p-101)", "terms of losses, squares, times g, binary64"),
        ("src/nn/pool/sum.h", "* 0x1p53 + 4.0)", "* 0x1p53 + 1.0)", "averages of windows"),
        ("src/nn/pool/sum.h", "__builtin_fabs(l) * 0x1p-52", "__builtin_fabs(l) * 0x1p-54", "averages of windows, binary64"),
        ("src/reduce/axes_kernels.c", "RM_BOUND(0x1p-51)", "RM_BOUND(0x1p-53)", "means over axes"),
        (RECURRENCE, "0x1p-52 * __builtin_fabs(rest)", "0x1p-54 * __builtin_fabs(rest)", "factorizations: differences"),
        (RECURRENCE, "0x1p-102 * __builtin_fabs(q->hi)", "0x1p-105 * __builtin_fabs(q->hi)", "factorizations: quotients"),
        (COLUMNS, "vf64_set1(0x1p-102)", "vf64_set1(0x1p-105)", "factorizations: quotients of columns"),
        (COLUMNS, "0x1p-51 : 0x1p-105", "0x1p-53 : 0x1p-105", "factorizations: the test of a column"),
        (RECURRENCE, "0x1p-101 * q->hi", "0x1p-105 * q->hi", "factorizations: roots"),
        (RECURRENCE, "0x1p-105 * size", "0x1p-107 * size", "factorizations: the test of an entry"),
        (SYSTEM, "0x1p-103 * size", "0x1p-104 * size", "systems: the test of a sum of terms"),
        (SYSTEM, "v->g[i] * distance) * (1.0", "0.99 * v->g[i] * distance) * (1.0", "systems: terms of a solution"),
        (SYSTEM, "owed = wrong + solved * (last + r)", "owed = wrong + solved * last", "systems: terms by substitution"),
        ("src/fft/plan.c", "0.6371 * 0.6371", "0.6361 * 0.6361", "transforms: what passes add"),
        ("src/fft/plan.c", "root = 1.42 *", "root = 1.41 *", "transforms: what passes in two parts add"),
        ("src/fft/plan.c", "9.0 * *low", "8.9 * *low", "transforms: what passes in two parts add"),
        ("src/fft/plan.c", "elements = 12.0", "elements = 11.0", "transforms: what convolutions add"),
        (RESIDUAL, "0.501 * all * all", "0.49 * all * all", "determinants: traces"),
        (RESIDUAL, "0.34 * all * all", "0.32 * all * all", "determinants: thorough traces"),
        (DETERMINANT, "0x1p-51 * low_size", "0x1p-53 * low_size", "determinants: the logarithm"),
        (DETERMINANT, "bound * bound * 0.05", "bound * bound * 0.04", "determinants: its exponential"),
        ("src/elementwise/half_gradient.c", "RM_BOUND(0x1p-22)", "RM_BOUND(0x1p-23)", "gradients, 16-bit formats"),
        ("src/blas/gemm/bound_dd.h", "RM_BOUND(0x1p-104)", "RM_BOUND(0x1p-106)", "products in two parts and a bias"),
        (VARIANCE, "RM_BOUND(0x1p-51 * made)", "RM_BOUND(0x1p-54 * made)", "deviations of a variance"),
        (VARIANCE, "0x1p-50 * g + 0x1p-102 * (q->hi + g)", "0x1p-53 * g + 0x1p-102 * (q->hi + g)", "variances"),
        ("src/blas/gemm/alpha_beta.h", "RM_BOUND(0x1p-52)", "RM_BOUND(0x1p-54)", "alpha S + beta d"),
        ("src/blas/gemm/alpha_beta.h", "RM_BOUND(0x1p-50 * m)", "RM_BOUND(0x1p-52 * m)", "alpha S + beta d in two parts"),
        ("src/nn/optim/clip_step.h", "rm_vtimes(rm_vcoefficient(c->c), 1,", "rm_vtimes(rm_vcoefficient(c->c), 0,", "gradients scaled to a norm, binary64"),
        ("crlibm/logaddexp/logaddexp.h", "RM_BOUND(0x1p-51)", "RM_BOUND(0x1p-52)", f"logaddexp, {BELOW}"),
        ("crlibm/sin/sin_accurate.h", "RM_BOUND(0x1.8p-103)", "RM_BOUND(0x1p-103)", "sin, cos, tan: large arguments reduced"),
    ],
    [
        (ROWS, "vf64_mad(vf64_add(vf64_abs(t), vf64_abs(y)), vf64_set1(0x1p-51)", "vf64_mad(vf64_add(vf64_abs(t), vf64_abs(y)), vf64_set1(0x1p-54)", "log_softmax, logsumexp"),
        (ENTROPY, "s.slope = __builtin_fabs(k) * 0x1p-49;", "s.slope = __builtin_fabs(k) * 0x1p-51;", "gradient of cross entropy, probabilities"),
        (NORM, "RM_ROW_MOMENT_ERR * __builtin_sqrt(m2) + 0x1p-51 *", "RM_ROW_MOMENT_ERR * __builtin_sqrt(m2) + 0x1p-54 *", "variance and mean around a first mean"),
        (NORM, "const double own = t.rel + 0x1p-50 + (same", "const double own = t.rel + (same", "gradient of a norm"),
        (f"{DRAWS}/args.c", "RM_F64 ? 0x1p-100 : 0x1p-50);", "RM_F64 ? 0x1p-103 : 0x1p-51);", "uniform numbers, binary64"),
        (f"{DRAWS}/truncated.h", "RM_BOUND(0x1p-97)", "RM_BOUND(0x1p-99)", "truncated normal numbers, binary64"),
        (f"{DRAWS}/truncated.h", "vf64_mad(l[i], s, vf64_mul_err(h[i], s, p[i]))", "vf64_mul_err(h[i], s, p[i])", "weighted tails of truncated normal numbers"),
        (LOSS, "vf64_add(vf64_mul_err(h, h, q), vf64_mul(vf64_mul(two, h), l))", "vf64_mul_err(h, h, q)", "terms of losses, squares, binary64"),
        (VARIANCE, "0x1p-50 * g + 0x1p-102 * (q->hi + g)", "0x1p-50 * g + 0x1p-106 * (q->hi + g)", "variances"),
        (DD_BALL, "+ vf64_abs(c) + vf64_abs(l)) * 0x1p-53", "+ vf64_abs(c)) * 0x1p-53", f"{RUNNING} products"),
        (DD_BALL, "e * (1.0 + 0x1p-45) + 0x1p-1060", "e * (1.0 + 0x1p-45)", f"{RUNNING} logarithms"),
        ("crlibm/sin/sin_accurate.h", "RM_BOUND(0x1p-136)", "RM_BOUND(0x1p-137)", "sin, cos, tan: large arguments reduced"),
    ],
]  # fmt: skip


@pytest.mark.parametrize("group", SMALLER)
def test_smaller_bounds_of_rows_and_draws_are_rejected(tmp_path, group):
    edit: dict = {}
    for path, old, new, _ in group:
        edit.setdefault(path, []).append((old, new))
    recorder = check.program(tmp_path, edit)
    graphs, computed = check.everything(tmp_path)
    named = {c.name: c for c in [*graphs, *computed]}
    for path, _, new, name in group:
        claim = named[name]
        try:
            share = max(check.check(recorder, claim, False).values()) if claim in graphs else claim.share()
        except Unknown:
            continue  # it evaluates something else, or has no bound for an error
        assert share > 1, (path, new, name)
