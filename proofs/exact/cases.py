"""Calls of operators with adversarial data, and the exact numbers that their rounding tests are about."""

from __future__ import annotations

import ctypes
import pathlib
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
from gmpy2 import mpq

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/support"))

import bce_library
import cross_entropy_library
import exponent_ranges as spread
import formula_library
import kl_div_library
import losses_library
import nll_library
import normalization_library
import optimizers_library
import optimizers_oracle as steps  # noqa: E402
import pooling_library
import random_library
import random_oracle
import sampling_library
import scatter_library
import softmax_library
import statistics_library
from real_oracle import reals
from reductions_library import I64, OK, Reductions, pointer

from proofs.exact.library import KINDS
from proofs.exact.places import KIND, by_place, by_second_tier, in_order, in_two_attempts, of_kinds, of_scaled, the_same

NAMES = ["f16", "bf16", "f32", "f64"]
BITS = 3000
NONE, MEAN, SUM = range(3)


@dataclass
class Case:
    """A call, the exact numbers, and which of them each record is about: `place` takes the records (of one tier) and the number of lanes, and
    returns pairs (record, exact number)."""

    run: Callable[[Any], Any]
    values: list[Any]
    place: Callable[[Any, int, list[Any]], list[tuple[Any, Any]]]
    keep: tuple[Any, ...] = field(default=())


def exactly(x) -> list[Fraction]:
    return [Fraction(float(v)) for v in np.ravel(x)]


def kind_of(fmt):
    return statistics_library.dtype_of(fmt)


def places_of(out):
    """The address of each element."""
    index = np.indices(out.shape).reshape(out.ndim, -1)
    return (out.ctypes.data + sum(i * s for i, s in zip(index, out.strides, strict=True))).tolist()


# --------------------------------------------------------------------------------------------------------------- the data


CHAINS, CANCELS, SQUARES, TOWER = 0, 1, 6, 7


def lossy(rng, fmt, n, which=None):
    """Sums that lose what they can: a first number beside which each later one is just lost, or cancelling, or spread."""
    which = rng.integers(0, 8) if which is None else which
    dtype = kind_of(fmt)
    if which == CHAINS:  # each of some chains begins with 1
        x = np.full(n, 2.0**-53 * (1 - 2.0**-7))
        x[: int(rng.choice([1, 4, 8, 16, 32]))] = 1.0
    elif which == SQUARES:  # the same of squares
        x = np.full(n, 2.0**-26.5 * (1 - 2.0**-6))
        x[: int(rng.choice([4, 8, 16, 32]))] = 1.0
    elif which == TOWER:  # each number is lost beside the one before, and so is what is left over
        x = np.ldexp(rng.choice([-1.0, 1.0], n), -60 * (np.arange(n) % 3) - rng.integers(0, 6, n))
    elif which == CANCELS:  # cancels but for a hundred bits
        x = rng.standard_normal(n)
        x[n // 2 :] = -x[: n - n // 2][::-1]
        x[rng.integers(0, n)] += 2.0**-100
        if fmt == "f64":
            x[rng.integers(0, n)] *= 1 + 2.0**-52
    elif which == 2:
        return spread.numbers(rng, fmt, n)
    elif which == 3:
        x = rng.choice([1.0, -1.0], n) * 2.0 ** rng.integers(-60, 60, n) * (1 + rng.random(n))
    elif which == 4:
        x = 1 + rng.random(n) * 2.0**-10
    else:
        x = rng.standard_normal(n)
    if fmt == "f16":
        x = np.clip(x, -6e4, 6e4)
    return x.astype(dtype)


def shape_of(rng):
    return int(rng.choice([1, 2, 3, 7, 31, 128, 256, 512]))


# ---------------------------------------------------------------------------------------------------------------- rows


def softmax(what):
    def case(rng, fmt):
        n = shape_of(rng)
        backward = "backward" in what
        x = (
            (lossy(rng, fmt, n) if rng.random() < 0.5 else spread.numbers(rng, fmt, n))
            if backward
            else spread.exponents(rng, fmt, n)
        )
        x = x.reshape(1, n)
        arrays = [x]
        if backward:
            arrays.append((spread.exponents if "log" in what else spread.numbers)(rng, fmt, (1, n)))
        if what == "softmax_backward" and rng.random() < 0.3:  # 1 less a sum that loses what it has below 1
            arrays = [np.ones_like(x), lossy(rng, fmt, n, CHAINS).reshape(1, n)]
        elif what == "log_softmax_backward" and rng.random() < 0.5:
            arrays[0] = lossy(rng, fmt, n, CHAINS).reshape(1, n)
            if n > 2 and fmt != "f16":  # of which 2^-40 is left, and what was lost
                arrays[0][0, -2:] = 2.0**-40, -np.sum(arrays[0] == 1)
        v = reals(arrays[0])
        if what == "softmax_backward":
            w = reals(arrays[1])
            total = mpmath.fsum(a * b for a, b in zip(v, w, strict=True))
            values = [b * (a - total) for a, b in zip(v, w, strict=True)]
        elif what == "log_softmax_backward":
            total = mpmath.fsum(v)
            values = [a - mpmath.exp(b) * total for a, b in zip(v, reals(arrays[1]), strict=True)]
        else:
            largest = max(v)
            others = mpmath.fsum(mpmath.exp(a - largest) for i, a in enumerate(v) if i != v.index(largest))
            log = mpmath.log1p(others)
            values = {
                "softmax": [mpmath.exp(a - largest) / (1 + others) for a in v],
                "log_softmax": [a - largest - log for a in v],
                "logsumexp": [largest + log],
            }[what]

        def stood_for(r, exact):
            """A power of two may stand for log(1 + sum) where both are below four times it (src/nn/rows/exp_row.inl): then that is no error."""
            made, d = mpmath.mpf(float(r["hi"])) + float(r["lo"]), v[int(r["more"])] - max(v)
            small = d - made
            stands = r["err"] == 0 and small > 0 and mpmath.frexp(small)[0] == 0.5 and 0 < d - exact < 4 * small
            return made if stands else exact

        def place(records, lanes, values):  # the first tier may take for 0 what rounds to +0
            pairs = by_place(records, lanes, values)
            if what == "log_softmax":
                return [(r, stood_for(r, e) if KINDS[r["kind"]] == "known" else e) for r, e in pairs]
            return [
                (r, e)
                for r, e in pairs
                if KINDS[r["kind"]] != "row" or what != "softmax" or r["hi"] != 0 or e > mpmath.ldexp(1, -240)
            ]

        return Case(lambda lib: softmax_library.result(lib, what, fmt, *arrays), values, place)

    return case


def norm(which, part):
    """One set, so that its elements come in their order; for the gradient by weights several."""

    def case(rng, fmt):
        n = shape_of(rng)
        shape = (1, 1, n)
        if part == 2:
            n = int(rng.integers(1, 6))
            shape = (1, int(rng.choice([1, 3, 40, 70])), n) if which != "batch" else (int(rng.choice([1, 3])), 1, 32 * n + 1)
        many = int(np.prod(shape))
        far = rng.random() < 0.4
        x = (rng.standard_normal(many) * 1e-2 + 50).astype(kind_of(fmt)) if far else lossy(rng, fmt, many)
        if which == "rms" and rng.random() < 0.3:
            x = lossy(rng, fmt, many, SQUARES)
        g = lossy(rng, fmt, many) if rng.random() < 0.5 else rng.standard_normal(many).astype(kind_of(fmt))
        if part == 2 and rng.random() < 0.2:  # of one g a weight of all elements has the gradient 0
            g[:] = g[0]
        size = 1 if which == "batch" else n
        w, b = (
            lossy(rng, fmt, size) if rng.random() < 0.5 else rng.standard_normal(size).astype(kind_of(fmt)) for _ in range(2)
        )
        eps = float(rng.choice([1e-5, 0.25, 2.0**-30, 1e-12]))
        x, g = x.reshape(shape), g.reshape(shape)
        values = list(np.ravel(normalization_library.values(which, x, w, b, g, eps)[part]))

        def run(lib):
            (sets, sx, sw), _ = normalization_library.geometry(which, x)
            out = np.full(size if part == 2 else x.shape, 7, softmax_library.kind(fmt))
            f, e, none, a, h = NAMES.index(fmt), ctypes.c_double(eps), (None,) * 4, pointer(x), pointer(g)
            if part == 0:
                arguments = a, sx, pointer(w), sw, pointer(b), sw, *none, e, pointer(out), sx
                assert lib.rm_normalize(f, ctypes.byref(sets), *arguments) == OK
            elif part == 1:
                arguments = h, sx, a, sx, pointer(w), sw, *none, e, pointer(out), sx
                assert lib.rm_normalize_backward(f, ctypes.byref(sets), *arguments) == OK
            else:
                arguments = h, sx, a, sx, *none, e, pointer(out), sw
                lib.rm_normalize_backward_weight(f, ctypes.byref(sets), *arguments)  # may be undecided

        return Case(run, values, in_two_attempts if part == 2 else by_place, (x, g, w, b))

    return case


def statistics(which):
    """The rounded mean and reciprocal root of a set, of which derivatives are made."""

    def case(rng, fmt):
        n, eps = shape_of(rng), float(rng.choice([1e-5, 0.25, 2.0**-30]))
        x = (lossy(rng, fmt, n) if rng.random() < 0.6 else (rng.standard_normal(n) * 1e-2 + 50).astype(kind_of(fmt))).reshape(
            1, 1, n
        )
        found = np.full(2, 7, softmax_library.kind(fmt))
        v = reals(x)
        mean = mpmath.fsum(v) / n if which == "layer" else mpmath.mpf(0)
        root = 1 / mpmath.sqrt(mpmath.fsum((a - mean) ** 2 for a in v) / n + mpmath.mpf(eps))

        def run(lib):
            sets, strides, _ = normalization_library.geometry(which, x)[0]
            y = np.full(x.shape, 7, found.dtype)
            of, f, e = ctypes.byref(sets), NAMES.index(fmt), ctypes.c_double(eps)
            to = pointer(y), strides, pointer(found[:1]) if which == "layer" else None, pointer(found[1:])
            assert lib.rm_normalize_with_statistics(f, of, pointer(x), strides, None, None, None, None, e, *to) == OK

        values = dict(zip(places_of(found), (mean, root), strict=True))

        def place(records, lanes, none):
            return [(r, values[int(r["at"])]) for r in of_kinds(records, "known") if int(r["at"]) in values]

        return Case(run, [], place, (x, found))

    return case


def entropy(part):
    def case(rng, fmt):
        rows, n, dtype = 1 if part != "mean" else int(rng.integers(1, 5)), int(rng.choice([2, 3, 9, 40])), kind_of(fmt)
        x = spread.exponents(rng, fmt, (rows, n))
        classes, reduction = rng.random() < 0.5, MEAN if part == "mean" else NONE
        target = rng.integers(0, n, rows) if classes else None
        probability = (
            None
            if classes
            else (spread.numbers if rng.random() < 0.5 else lambda r, f, s: lossy(r, f, rows * n).reshape(s))(
                rng, fmt, x.shape
            )
        )
        weight = None
        if rng.random() < 0.5:
            weight = (np.abs(spread.numbers(rng, fmt, n)) + dtype.type(2.0 ** spread.ends(fmt)[0])).astype(dtype)
        smoothing = float(rng.choice([0.0, 0.0, 0.25, 0.1, 1e-20]))
        g = spread.numbers(rng, fmt, rows if reduction == NONE else 1)
        p = cross_entropy_library.problem(x, target, probability, weight, smoothing, reduction)
        loss, gradient = cross_entropy_library.values(x, target, probability, weight, smoothing, reduction, g)
        if part == "backward":
            one = int(target[0]) if classes and smoothing == 0.0 else -1  # a test of its own

            def is_zero(r, v):
                """2^-245 may stand for a smaller exponential: of no format below binary64 is that another zero (src/nn/cross_entropy/row.h)."""
                return 0 < abs(r["hi"]) < 2.0**-170 and r["hi"] * mpmath.sign(v) > 0 and abs(v) <= abs(float(r["hi"]))

            def place(records, lanes, values):
                pairs = [
                    (r, v)
                    for r, v in by_place(records, lanes, values)
                    if KINDS[r["kind"]] != "row" or not ((one >= 0 and v is values[one]) or (fmt != "f64" and is_zero(r, v)))
                ]
                return pairs + [(r, values[int(r["more"])]) for r in of_kinds(records, "target")]

            return Case(
                lambda lib: cross_entropy_library.backward(lib, fmt, p, g),
                gradient[0],
                place,
                (x, target, probability, weight),
            )
        return Case(lambda lib: cross_entropy_library.forward(lib, fmt, p), loss, the_same, (x, target, probability, weight))

    return case


def bce(part):
    def case(rng, fmt):
        n = int(rng.integers(1, 12))
        x = spread.exponents(rng, fmt, n)
        y = spread.numbers(rng, fmt, n) if rng.random() < 0.3 else rng.choice([0, 0.25, 0.5, 1], n).astype(x.dtype)
        w, p = (spread.numbers(rng, fmt, n) if rng.random() < 0.4 else None for _ in range(2))
        reduction = NONE if part == "none" else MEAN
        g = spread.numbers(rng, fmt, n if part == "none" else 1) if part == "backward" else None
        if part == "backward":
            reduction = MEAN
        values = bce_library.values(reduction, g, x, y, w, p)
        return Case(
            lambda lib: bce_library.run(lib, fmt, reduction, g, x, y, w, p),
            values,
            by_second_tier if part == "mean" else by_place,
        )

    return case


def kl_div(part):
    def case(rng, fmt):
        n, log_target = int(rng.integers(1, 12)), int(rng.integers(0, 2))
        t = spread.exponents(rng, fmt, n) if log_target else np.abs(spread.numbers(rng, fmt, n))
        x, reduction, count = (
            spread.numbers(rng, fmt, n),
            NONE if part != "mean" else MEAN,
            int(rng.integers(1, 9)) if part == "mean" else 1,
        )
        f = kl_div_library.gradients if part == "backward" else kl_div_library.values
        values = f(reduction, log_target, count, x, t)

        def run(lib):
            kl_div_library.run(lib, fmt, reduction, log_target, count, x, t, backward=part == "backward")

        return Case(run, values, by_second_tier if part == "mean" else by_place)

    return case


def regression(loss, part):
    def case(rng, fmt):
        n, low, high = int(rng.integers(1, 40)), *spread.ends("f64")
        x, y = spread.numbers(rng, fmt, n), spread.numbers(rng, fmt, n)
        if rng.random() < 0.5:
            x, y = lossy(rng, fmt, n), lossy(rng, fmt, n)
        p = float(rng.choice([1.0, 0.3, 0.5, np.ldexp(1 + rng.random(), rng.integers(low, high))]))
        reduction = "mean" if part == "mean" else "none"
        d = [a - b for a, b in zip(exactly(x), exactly(y), strict=True)]
        if part == "backward":
            g = spread.numbers(rng, fmt, n)
            values = [a * losses_library.slope(loss, p, v) for a, v in zip(exactly(g), d, strict=True)]
            return Case(lambda lib: losses_library.backward(lib, loss, p, fmt, "none", g, x, y), values, by_place)
        values = [losses_library.term(loss, p, v) for v in d]
        if part == "mean":
            values = [sum(values, Fraction(0)) / n]
        return Case(
            lambda lib: losses_library.forward(lib, loss, p, fmt, reduction, x, y),
            values,
            by_second_tier if part == "mean" else by_place,
        )

    return case


def pooling(backward):
    """Tests of sums say what these are divided by; the second tier of quotients by different numbers is about the average itself."""

    def case(rng, fmt):
        shape, out, *rest = pooling_library.CASES[int(rng.integers(0, len(pooling_library.CASES)))]
        p, axes = pooling_library.pool_of(shape, out, *rest)
        divisor, pad = int(rng.choice([0, 0, 3, 8, (1 << 20) + 1])), int(rng.integers(0, 2))
        results = shape if backward else shape[:2] + out
        x = lossy(rng, fmt, int(np.prod(shape[:2] + out if backward else shape)))
        x = x.reshape(shape[:2] + out if backward else shape)
        exact = np.array(exactly(x), object).reshape(x.shape)
        averages = np.full(results, Fraction(0), object)
        for at, window, padded in pooling_library.outputs(shape, axes):
            by = divisor or (padded if pad else len(window))
            for t in window:
                if backward:
                    averages[at[:2] + t] += exact[at] / by
                else:
                    averages[at] += exact[at[:2] + t] / by
        y = np.full(results, 7, x.dtype)
        values = dict(zip(places_of(y), averages.ravel(), strict=True))

        def run(lib):
            f = lib.rm_avg_pool_backward if backward else lib.rm_avg_pool
            arguments = pointer(x), pooling_library.strides(x), pointer(y), pooling_library.strides(y)
            assert f(NAMES.index(fmt), ctypes.byref(p), pad, ctypes.c_int64(divisor), *arguments) == OK

        def place(records, lanes, none):
            some = records[np.isin(records["at"], list(values))]
            rows, others = some[some["kind"] == KIND["row"]], some[some["kind"] != KIND["row"]]
            pairs = [(r, values[int(r["at"])] * Fraction(float(r["more"]) or 1.0)) for r in others]
            first, n, k = None, results[-1], 0
            for r in rows:  # of vectors: those of a row, one channel after another, say where its first element is
                first, k = (first, k + 1) if r["at"] == first else (r["at"], 0)
                pairs.append((r, values[int(first) + k // n * y.strides[1] + k % n * y.itemsize]))
            return pairs

        return Case(run, [], place, (x, y))

    return case


def nll(part):
    def case(rng, fmt):
        rows, n = int(rng.choice([1, 2, 9, 300])), int(rng.choice([1, 3, 7]))
        make = lossy if rng.random() < 0.5 else spread.numbers
        x, target = make(rng, fmt, rows * n).reshape(rows, n), rng.integers(0, n, rows)
        target[1:][rng.random(rows - 1) < 0.2] = -100
        weight = make(rng, fmt, n) if rng.random() < 0.7 else None
        w = [Fraction(1)] * n if weight is None else exactly(weight)
        kept = [(i, int(t)) for i, t in enumerate(target) if t >= 0]
        divisor = sum((w[t] for _, t in kept), Fraction(0)) if part != "sum" else Fraction(1)
        reduction = SUM if part == "sum" else MEAN
        if part == "backward":
            g = make(rng, fmt, 1)
            chosen = [
                b"" if weight is None else weight[t].tobytes() for _, t in kept
            ]  # of a weight that follows itself nothing is asked
            new = [t for (_, t), a, b in zip(kept, chosen, [None, *chosen], strict=False) if a != b]
            numerators = [-exactly(g)[0] * w[t] for t in new]
            numerators = [v for v in numerators if v]  # of zeros nothing is asked
            run = lambda lib: nll_library.backward(lib, fmt, g, x, target, weight, reduction)  # noqa: E731
        else:
            numerators = [-sum((Fraction(float(x[i, t])) * w[t] for i, t in kept), Fraction(0))]
            run = lambda lib: nll_library.forward(lib, fmt, x, target, weight, reduction)  # noqa: E731
        values = [v / divisor for v in numerators] if divisor else []

        def place(records, lanes, values):
            return list(zip(of_kinds(records, "known"), values, strict=True)) if values else []

        return Case(run, values, place)

    return case


# ------------------------------------------------------------------------------------------------------------ reductions


def length(rng):
    return int(rng.choice([1, 2, 5, 33, 128, 256, 512, 1024, 9000]))


def reduction(what):
    def case(rng, fmt):
        n = length(rng)
        x, y = lossy(rng, fmt, n), lossy(rng, fmt, n)
        if rng.random() < 0.4:
            n = int(rng.choice([512, 1024, 9000]))
            x = lossy(rng, fmt, n, SQUARES if what in ("norm", "var") else CHAINS)
            y = np.ones_like(x)
        if what == "dot":
            values = [sum((a * b for a, b in zip(exactly(x), exactly(y), strict=True)), Fraction(0))]
            return Case(lambda lib: Reductions(lib).dot(fmt, x, y), values, the_same)
        if what in ("norm", "mean"):
            total = sum((a * a if what == "norm" else a for a in exactly(x)), Fraction(0))
            place = of_scaled if what == "norm" else the_same
            return Case(lambda lib: statistics_library.call(Reductions(lib), what, fmt, x, fmt), [total], place)
        if what == "var":
            exact = exactly(x)
            total, squares = sum(exact, Fraction(0)), sum((a * a for a in exact), Fraction(0))

            def place(records, lanes, values):
                pairs = [(r, total) for r in of_kinds(records, "sum")]
                for r in of_kinds(records, "deviations"):
                    c = Fraction(float(r["more"]))
                    pairs.append((r, squares - 2 * c * total + n * c * c))
                return pairs + [(r, squares - total * total / n) for r in of_kinds(records, "function")]

            return Case(lambda lib: statistics_library.call(Reductions(lib), "var", fmt, x, fmt, 0), [], place)
        return Case(lambda lib: Reductions(lib).sum(fmt, x), [sum(exactly(x), Fraction(0))], the_same)

    return case


def axes(what):
    """Sums over columns, over rows, and of terms that are neither's neighbours."""

    def case(rng, fmt):
        n = int(rng.choice([1, 2, 3, 15, 17, 40, 70, 200, 1100]))
        many = int(rng.choice([1, 3, 9, 21]))
        x = np.stack([lossy(rng, fmt, n, None if rng.random() < 0.7 else CHAINS) for _ in range(many)])
        exact = np.array(exactly(x), object).reshape(many, n)
        values = [sum(terms, Fraction(0)) / (n if what == "mean" else 1) for terms in exact]
        layout = int(rng.integers(0, 3))
        if layout == 0:
            x = np.asfortranarray(x)
        elif layout == 1:
            x = np.repeat(x, 2, axis=1)[:, ::2]
        f, out = NAMES.index(fmt), np.full(many, 7, x.dtype)

        def run(lib):
            size, stride = (I64 * 4)(1, many, 1, n), (ctypes.c_ssize_t * 4)(0, x.strides[0], 0, x.strides[1])
            assert getattr(lib, f"rm_{what}_axes")(f, size, stride, pointer(x), f, pointer(out)) == OK

        def place(records, lanes, v):
            some, pairs = of_kinds(records, "known"), []
            some = some[np.isin(some["at"], places_of(out))]
            for vector in some.reshape(-1, lanes):
                first = (int(vector[0]["at"]) - out.ctypes.data) // out.itemsize
                pairs += zip(vector, v[first : first + lanes], strict=False)
            return pairs

        return Case(run, values, place, (x, out))

    return case


def cumsum(rng, fmt):
    n = int(rng.choice([1, 2, 3, 65, 300, 1000]))
    x = lossy(rng, fmt, n) if rng.random() < 0.7 else lossy(rng, fmt, 3, TOWER)
    n = len(x)
    values = list(np.add.accumulate(np.array(exactly(x), object)))
    out, f = np.full(n, 7, x.dtype), NAMES.index(fmt)

    def run(lib):
        assert lib.rm_cumsum(f, I64(n), pointer(x), I64(x.itemsize), f, pointer(out), I64(out.itemsize)) == OK

    return Case(run, values, lambda records, lanes, v: list(zip(of_kinds(records, "known"), v, strict=True)))


def cumsum_rows(rng, fmt):
    """Of rows in vectors, which are neighbours in memory or far apart."""
    n, many, terms_first = int(rng.choice([1, 2, 15, 40, 300])), int(rng.choice([2, 3, 8, 21])), rng.random() < 0.5
    x = np.stack([lossy(rng, fmt, n, None if rng.random() < 0.7 else CHAINS) for _ in range(many)])
    values = list(np.add.accumulate(np.array(exactly(x), object).reshape(many, n), axis=1).ravel())
    out, f = np.full(x.shape, 7, x.dtype), NAMES.index(fmt)
    if terms_first:
        x, out = np.asfortranarray(x), np.asfortranarray(out)
    (row, step), (row_out, step_out) = x.strides, out.strides

    def run(lib):
        at = I64(many), I64(n), pointer(x), I64(row), I64(step), f, pointer(out), I64(row_out), I64(step_out)
        assert lib.rm_cumsum_rows(f, *at) == OK

    def place(records, lanes, v):
        some, pairs = of_kinds(records, "known"), []
        some = some[some["at"] != 0]
        for vector in some.reshape(-1, lanes):
            offset = int(vector[0]["at"]) - out.ctypes.data
            i, k = divmod(offset, row_out) if row_out > step_out else divmod(offset, step_out)[::-1]
            i, k = (i, k // step_out) if row_out > step_out else (i // row_out, k)
            pairs += zip(vector, v[i * n + k :: n], strict=False)
        return pairs

    return Case(run, values, place, (x, out))


def gather(rng, fmt):
    """One sum or mean of weighted elements, in two parts where the vectors leave it."""
    terms, mean = int(rng.choice([1, 2, 4, 9, 40])), rng.random() < 0.4
    x = lossy(rng, fmt, terms)
    w = rng.random(terms) if rng.random() < 0.5 else np.ldexp(1 + rng.random(terms), rng.integers(-60, 60, terms))
    at, out = rng.permutation(terms)[None, :, None].copy(), np.empty((1, 1, 1), x.dtype)
    total = sum((a * Fraction(float(v)) for a, v in zip(exactly(x[at.ravel()]), w, strict=True)), Fraction(0))

    def run(lib):
        assert sampling_library.gather_sum(lib, fmt, fmt, x[None, :, None], at, w[None, :, None].copy(), out, mean=mean) == OK

    def place(records, lanes, none):
        first = [(r, total / (terms if mean else 1)) for r in of_kinds(records, "row")[:1]]
        return first + [(r, total) for r in of_kinds(records, "function")]

    return Case(run, [], place, (x, w, at, out))


def scatter(function):
    def case(rng, fmt):
        terms, one = int(rng.choice([1, 2, 15, 17, 60, 200])), rng.random() < 0.3
        cols = 1 if one else int(rng.integers(2, 9))
        src = np.stack([lossy(rng, fmt, terms, None if rng.random() < 0.7 else CHAINS) for _ in range(cols)], 1).reshape(
            terms, cols
        )
        if rng.random() < 0.5:
            src[0], src[1:] = 1, 2.0**-53 * (1 - 2.0**-7)
        out = np.ascontiguousarray(lossy(rng, fmt, cols).reshape(1, cols))
        index = np.zeros(terms, np.int64)
        exact = np.array(exactly(src), object).reshape(terms, cols)
        values = [
            sum(exact[:, c], Fraction(float(out[0, c])) if function == "index_add" else Fraction(0)) for c in range(cols)
        ]

        def place(records, lanes, v):
            some = of_kinds(records, "known").reshape(-1, lanes)
            if cols > lanes:
                return []
            return [(r, e) for vector in some for r, e in zip(vector[:cols], v, strict=False)]

        def run(lib):
            assert scatter_library.call(Reductions(lib), function, fmt, out.copy(), index, src) == OK

        return Case(run, values, place)

    return case


# --------------------------------------------------------------------------------------------------- optimisers, formulas


def inside(fmt, arrays):
    """The elements whose numbers are none that the vectors of binary64 leave to the later tiers (src/nn/optim/step.h)."""
    sizes = np.abs(np.array(arrays, np.float64))
    return (
        ((sizes == 0) | ((sizes >= 2.0**-300) & (sizes <= 2.0**300))).all(0)
        if fmt == "f64"
        else np.ones(len(arrays[0]), bool)
    )


def settled(records, lanes, quantities, asked, untested=()):
    """The tests of vectors, one for each quantity in turn, but for those that are decided without. What is made from a quantity that a test has
    left open is not used."""
    n = len(quantities[0])
    tested, pairs = [v for v in range(-(-n // lanes)) if v not in untested], []
    for kind in ("settle", "reach", "ends"):
        some = of_kinds(records, kind)
        some = some[some["at"] == 0]
        if not len(some):
            continue
        some = some.reshape(len(tested), len(quantities), lanes)
        for k, exact in enumerate(quantities):
            for i in range(n):
                vector, lane = divmod(i, lanes)
                if vector in untested:
                    continue
                vector = tested.index(vector)
                if asked[i] and some[vector, :k, lane]["decided"].all() and exact[i] is not None:
                    pairs.append((some[vector, k, lane], exact[i]))
    return pairs


def slow_in_order(records, quantities):
    """The second tiers of all elements, quantity by quantity."""
    some = of_kinds(records, "known")
    each = [v for values in zip(*quantities, strict=True) for v in values]
    if len(some) != len(each):
        return []
    return [(r, v) for r, v in zip(some, each, strict=True) if v is not None]


def numbers(codes, fmt):
    return [steps.value(int(c), fmt) for c in codes]


def finite(values):
    """What is not a real number, since an operand was none, is asked of no test."""
    return [v if isinstance(v, (Fraction, mpmath.mpf, type(mpq(0)))) else None for v in values]


def optimizer(kind, options):
    def case(rng, fmt):
        n = int(rng.integers(1, 20))
        name = str(rng.choice(["gaussian", "integers", "cancelling", "tiny", "spread"]))
        x = optimizers_library.random(rng, fmt, n, name)
        before, o = x.copy(), {**(optimizers_library.SGD if kind == "sgd" else optimizers_library.ADAM), **options}
        quantities: list[list[Any]] = []
        diverged: list[list[Any]] = []
        pointers = (1, 1, o.get("momentum", 1), kind == "adam", o.get("amsgrad", 0))

        def run(lib):
            x[:] = before
            assert getattr(optimizers_library, kind)(lib, fmt, options, x) == OK
            quantities[:] = map(finite, sgd(x) if kind == "sgd" else adam(x))

        def sgd(x):
            old, new = (
                [numbers(optimizers_library.bits(a), fmt) for a in before],
                [numbers(optimizers_library.bits(a), fmt) for a in x],
            )
            d = [steps.direction(o, p, g) for p, g in zip(old[0], old[1], strict=True)]
            found, lr, mu = [], steps.number(o["lr"]), steps.number(o["momentum"])
            step = d
            if o["momentum"]:
                found.append(
                    d
                    if o["first"]
                    else [mu * b + (1 - steps.number(o["dampening"])) * v for b, v in zip(old[2], d, strict=True)]
                )
                step = [v + mu * b if o["nesterov"] else b for b, v in zip(new[2], d, strict=True)]
            return [*found, [p - lr * v for p, v in zip(old[0], step, strict=True)]]

        def adam(x):
            old, new = (
                [numbers(optimizers_library.bits(a), fmt) for a in before],
                [numbers(optimizers_library.bits(a), fmt) for a in x],
            )
            d = [steps.direction(o, p, g) for p, g in zip(old[0], old[1], strict=True)]
            b1, b2 = steps.number(o["beta1"]), steps.number(o["beta2"])
            m = [b1 * a + (1 - b1) * v for a, v in zip(old[2], d, strict=True)]
            v = [b2 * a + (1 - b2) * c * c for a, c in zip(old[3], d, strict=True)]
            lr, eps, decay = (mpmath.mpf(o[k]) for k in ("lr", "eps", "weight_decay"))
            d1, d2 = (
                mpmath.mpf(int(q.numerator)) / int(q.denominator)
                for q in (steps.one_minus_power(o[b], o["step"]) for b in ("beta1", "beta2"))
            )
            p = []
            for a, mean, square in zip(old[0], new[2], new[4] if o.get("amsgrad") else new[3], strict=True):
                if float in map(type, (a, mean, square)):
                    p.append(None)
                    continue
                a, mean, square = (mpmath.mpf(int(q.numerator)) / int(q.denominator) for q in (a, mean, square))
                below = mpmath.sqrt(square / d2) + eps
                p.append(a * (1 - lr * decay if o["decoupled"] else 1) - lr * mean / d1 / below if below else None)
            kept = 1 - (lr * decay if o["decoupled"] else 0)
            diverged[:] = (
                finite(m),
                [None if isinstance(a, float) else mpmath.mpf(int(a.numerator)) / int(a.denominator) * kept for a in old[0]],
            )
            return [m, v, p]

        def place(records, lanes, values):
            used = [k for k in range(5) if pointers[k]]
            asked = inside(fmt, [*before[used], *x[[k for k in used if k > 1]]])
            return (
                settled(records, lanes, quantities, asked) + settled_anew(records, lanes) + slow_in_order(records, quantities)
            )

        def settled_anew(records, lanes):
            """Of Adam's vectors with an undecided lane: m, and p as it is where v is infinite."""
            pairs, inner = [], inside(fmt, before[:3])
            for kind in ("settle", "reach", "ends"):
                some = of_kinds(records, kind)
                some = some[some["at"] != 0].reshape(-1, 2, lanes)
                for vector in some:
                    offset = int(vector[0, 0]["at"]) - x[0].ctypes.data
                    first = offset // x.itemsize if 0 <= offset < x[0].nbytes else n // lanes * lanes
                    for quantity, tests in zip(diverged, vector, strict=True):
                        each = zip(tests, quantity[first:], inner[first:], strict=False)
                        pairs += [(r, e) for r, e, asked in each if asked and e is not None]
            return pairs

        return Case(run, [], place)

    return case


def clip(rng, fmt):
    n = int(rng.integers(1, 20))
    x = optimizers_library.random(rng, fmt, n, str(rng.choice(["gaussian", "integers", "spread", "tiny"])))[0]
    before, root = x.copy(), mpmath.sqrt(mpmath.fsum(v * v for v in reals(x)))
    limit = float(root) * float(rng.random())
    values = [v * limit / root for v in reals(x)] if root > limit else []

    def run(lib):
        x[:] = before
        assert optimizers_library.clip(lib, fmt, x, optimizers_library.Squares(lib, fmt, before), limit) == OK

    def place(records, lanes, v):
        return settled(records, lanes, [v], inside(fmt, [before])) + slow_in_order(records, [v]) if v else []

    return Case(run, values, place)


def formula(which):
    name, arrays, function = formula_library.FORMULAS[which]

    def case(rng, fmt):
        n, a = int(rng.integers(1, 20)), float(rng.choice([0.1, 1 / 0.9, -3.0, 0.5, -1e-3, 0.999]))
        given = [
            optimizers_library.random(rng, fmt, n, str(rng.choice(["gaussian", "integers", "spread", "tiny"])))[0]
            for _ in range(arrays)
        ]
        values = []
        for row in zip(*(exactly(x) for x in given), strict=True):
            divisor = row[0] if name == "under" else row[2] if name == "quotient" else 1
            values.append(function(Fraction(a), *row) if divisor else None)

        def run(lib):
            assert formula_library.run(lib, which, fmt, a, given)[0] == OK

        def place(records, lanes, v):
            pairs = settled(records, lanes, [v], inside(fmt, given), formula_library.to_odd(name, fmt, a, given, lanes))
            some = of_kinds(records, "known")
            return pairs + ([(r, e) for r, e in zip(some, v, strict=True) if e is not None] if len(some) == len(v) else [])

        return Case(run, values, place)

    return case


# --------------------------------------------------------------------------------------------------------------- random


def draw(what):
    def case(rng, fmt):
        n, place = 24, (int(rng.integers(0, 2**63)), int(rng.integers(0, 2**63)), int(rng.integers(0, 2**40)))
        mean, std = (
            float(rng.standard_normal() * 2.0 ** rng.integers(-9, 9)),
            float(2.0 ** rng.integers(-9, 9) * (1 + rng.random())),
        )
        draws = [int(d) for d in random_oracle.draws(*place, n)]
        if what == "uniform":
            high = mean + std
            m, p = random_oracle.unit(fmt, *place, n)
            values = [Fraction(mean) + Fraction(int(v), 2**p) * (Fraction(high) - Fraction(mean)) for v in m]
            run = lambda lib: random_library.Random(lib).uniform(fmt, place, n, mean, high)  # noqa: E731
        elif what == "normal":
            values = [Fraction(mean) + Fraction(std) * random_oracle.quantile(d) for d in draws]
            run = lambda lib: random_library.Random(lib).normal(fmt, place, n, mean, std)  # noqa: E731
        elif what == "truncated":
            ends = mean, std, mean + std * float(rng.uniform(-4, 1)), mean + std * float(rng.uniform(1.5, 6))
            values = random_oracle.truncated_values(*place, n, *ends)
            run = lambda lib: random_library.Random(lib).truncated(fmt, place, n, *ends)  # noqa: E731
        else:
            x, p = rng.standard_normal(n).astype(kind_of(fmt)), float(rng.choice([0.1, 0.3, 0.7, 1e-9]))
            values = [a / (1 - Fraction(p)) for a in exactly(x)]
            run = lambda lib: random_library.Random(lib).dropout(fmt, place, x, p)  # noqa: E731
        return Case(run, values, in_order)

    return case


OPERATORS: dict[str, Callable[..., Case]] = {
    **{w: softmax(w) for w in ("softmax", "log_softmax", "logsumexp", "softmax_backward", "log_softmax_backward")},
    **{
        f"{w}_norm{part}": norm(w, k)
        for w in ("layer", "rms")
        for k, part in enumerate(("", "_backward", "_backward_weight"))
    },
    "batch_norm_backward_weight": norm("batch", 2),
    **{f"{w}_norm_statistics": statistics(w) for w in ("layer", "rms")},
    **{f"cross_entropy_{p}": entropy(p) for p in ("none", "mean", "backward")},
    **{f"bce_{p}": bce(p) for p in ("none", "mean", "backward")},
    **{f"kl_div_{p}": kl_div(p) for p in ("none", "mean", "backward")},
    **{f"{loss}_{p}": regression(loss, p) for loss in ("mse", "huber", "smooth_l1") for p in ("none", "mean", "backward")},
    "avg_pool": pooling(False),
    "avg_pool_backward": pooling(True),
    **{f"nll_{p}": nll(p) for p in ("sum", "mean", "backward")},
    **{w: reduction(w) for w in ("sum", "dot", "mean", "norm", "var")},
    **{f"{w}_axes": axes(w) for w in ("sum", "mean")},
    "cumsum": cumsum,
    "cumsum_rows": cumsum_rows,
    "gather_sum": gather,
    **{f: scatter(f) for f in ("index_add", "segment_sum")},
    **{f"sgd_{k}": optimizer("sgd", o) for k, o in enumerate(optimizers_library.SGD_CASES)},
    **{f"adam_{k}": optimizer("adam", o) for k, o in enumerate(optimizers_library.ADAM_CASES)},
    "clip": clip,
    **{f[0]: formula(k) for k, f in enumerate(formula_library.FORMULAS)},
    **{w: draw(w) for w in ("uniform", "normal", "truncated", "dropout")},
}
