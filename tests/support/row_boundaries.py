"""Softmax and the losses over rows, with data of which a result is beside a tie, and the checks of their bits."""

import functools
import itertools
import random
from fractions import Fraction

import bce_library as bce
import boundary_data as data
import cross_entropy_library as entropy
import kl_div_library as kl_div
import mpmath
import nll_library as nll
import numpy as np
import softmax_library as softmax
from boundary_products import sum_places
from exact_oracle import bits, number, rational_of, rounded
from real_oracle import fraction
from statistics_library import dtype_of

WORK = 1000  # bits
PRECISION = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}
DEPTH = {"f16": 60, "bf16": 60, "f32": 80, "f64": 130}


def real(v):
    return mpmath.mpf(v.numerator) / v.denominator


def below(v, dtype):
    """The largest number of the format that is at most v."""
    return float(number(rounded(fraction(mpmath.mpf(v)), dtype, "down"), dtype))


def above(x, dtype):
    """The next number after x."""
    code = int(bits(np.array(x, dtype)))
    return float(number(code + 1 if x > 0 else code - 1, dtype))


def tie_beside(v, fmt, up):
    """The nearest tie of the format above or below v in magnitude."""
    code = rounded(fraction(abs(v)), dtype_of(fmt), "down")
    for c in (code, code + 1) if up else (code, code - 1):
        tie = (rational_of(c, fmt) + rational_of(c + 1, fmt)) / 2
        if (tie > fraction(abs(v))) == up:
            return real(tie) * mpmath.sign(v)
    raise AssertionError(v)


def climb(rest, depth, step):
    """Terms of a ladder: step(rest) gives one, what it adds, and the next larger one. Both ladders: from below and from above."""
    terms, stop = [], mpmath.ldexp(rest, -depth)
    for _ in range(60):
        term, gain, larger = step(rest)
        assert 0 < gain <= rest
        if rest - gain < stop:
            return [*terms, term], [*terms, larger]
        terms.append(term)
        rest -= gain
    raise AssertionError("the ladder does not end")


def exponentials(rest, fmt):
    """Logits whose exponentials add up to `rest`."""
    dtype = dtype_of(fmt)

    def step(rest):
        x = below(mpmath.log(rest), dtype)
        return x, mpmath.exp(x), above(x, dtype)

    return climb(rest, DEPTH[fmt], step)


def logits(fmt, seed):
    """A few logits, the first of them 0, and their sum of exponentials."""
    rng = np.random.default_rng(seed)
    x = np.concatenate([[0.0], rng.standard_normal(3 + 4 * seed) - 0.5]).astype(dtype_of(fmt))
    return x, mpmath.fsum(mpmath.exp(float(v)) for v in x)


@functools.cache
def rows_beside_ties(fmt, what):
    """Rows of logits with the bits that the function has of each: the first element's result is beside a tie."""
    rows = []
    with mpmath.workprec(WORK):
        for seed in range(4):
            x, total = logits(fmt, seed)
            value = 1 / total if what == "softmax" else mpmath.log(total)
            tie = tie_beside(value, fmt, what != "softmax")
            goal = 1 / tie if what == "softmax" else mpmath.exp(tie)
            for ladder in exponentials(goal - total, fmt):
                row = np.concatenate([x, ladder]).astype(x.dtype)
                rows.append((row, softmax.expected(what, fmt, row)))
    first = [want if what == "logsumexp" else want[0] for _, want in rows]
    assert all(first[i] != first[i + 1] for i in range(0, len(first), 2))  # either side of the tie
    return rows


def check_rows(lib, fmt, what):
    for row, want in rows_beside_ties(fmt, what):
        for rows in (1, 4):
            got = softmax.result(lib, what, fmt, np.tile(row, (rows, 1)))
            assert got.tolist() == [want] * rows, (fmt, what, len(row))


def pieces(rest, dtype, count):
    """Numbers of the format that add up to nearly `rest`, and what is left."""
    out = []
    for _ in range(count):
        v = float(number(rounded(fraction(rest), dtype), dtype))
        if v == 0:
            break
        out.append(v)
        rest -= mpmath.mpf(v)
    return out, rest


@functools.cache
def gradients_beside_ties(fmt):
    """g and y of log_softmax_backward: the sum of g is such that g_0 - e^(y_0) times it is beside a tie, on either side."""
    dtype, rows, least = dtype_of(fmt), [], float(number(1, dtype_of(fmt)))
    with mpmath.workprec(WORK):
        for seed in range(4):
            rng = np.random.default_rng(seed)
            y = float(np.array(-rng.random() - 0.1).astype(dtype))
            g = float(np.array((1 + rng.random()) * (256 if fmt == "f16" else 1)).astype(dtype))
            factor = mpmath.exp(y)
            tie = tie_beside(g * (1 - factor * (1 + rng.random())), fmt, True)
            found, left = pieces((mpmath.mpf(g) - tie) / factor - mpmath.mpf(g), dtype, 3 if fmt == "f64" else 6)
            hair = max(abs(float(left)) * 1.5, least)
            for last in (hair, -hair):
                row_g = np.array([g, *found, last]).astype(dtype)
                row_y = np.array([y, *[-1.0] * (len(row_g) - 1)]).astype(dtype)
                rows.append((row_g, row_y, softmax.expected("log_softmax_backward", fmt, row_g, row_y)))
    assert all(rows[i][2][0] != rows[i + 1][2][0] for i in range(0, len(rows), 2))
    return rows


def check_log_gradients(lib, fmt):
    for g, y, want in gradients_beside_ties(fmt):
        for rows in (1, 4):
            got = softmax.result(lib, "log_softmax_backward", fmt, np.tile(g, (rows, 1)), np.tile(y, (rows, 1)))
            assert got.tolist() == [want] * rows, fmt


def sums_of(fmt, k, lanes):
    """Sums of products beside ties, whose additions err, for the lanes of an instruction set."""
    for side in (1, -1):
        if fmt == "f64":
            yield data.binary64(k, "lanes", side, lanes=lanes)[0]
        else:
            yield data.products(fmt, k, sum_places(k, lanes), side)[0]


def check_gradients(lib, fmt):
    """y_i (g_i - sum g_k y_k) for g_i = 0, y_i = 1: the sum, negative. The plain sum decides all others, so that the compensated one gives the row
    again only where this one is undecided: the big factors of binary16, with which another overflows, are a product and 1."""
    minus = 1 << (8 * dtype_of(fmt).itemsize - 1)
    for k, lanes in itertools.product((1100, 5000), (1, 2, 4, 8)):
        for b in sums_of(fmt, k, lanes):
            g, y = (np.concatenate([v, [one]]).astype(v.dtype)[None] for v, one in ((b.x, 0.0), (b.y, 1.0)))
            if fmt == "f16":
                g[0, 0], y[0, 0] = float(g[0, 0]) * float(y[0, 0]), 1.0
            got = softmax.result(lib, "softmax_backward", fmt, g, y)
            assert int(got[0, -1]) == b.bits | minus, (fmt, k, lanes)


@functools.cache
def entropies(fmt, mode):
    """Problems whose loss is beside a tie, with the bits of the loss."""
    dtype, found = dtype_of(fmt), []
    with mpmath.workprec(WORK):
        for seed in range(3):
            x, total = logits(fmt, seed)
            rng = np.random.default_rng(seed + 50)
            rows = 2 if mode in ("sum", "mean") else 1
            weight = probability = target = None
            factor, before = mpmath.mpf(1), mpmath.mpf(0)  # loss = factor log S + before
            if mode == "probabilities":
                p = rng.random(len(x)).astype(dtype)
                factor = mpmath.fsum(map(float, p))
                before = -mpmath.fsum(mpmath.mpf(float(a)) * mpmath.mpf(float(b)) for a, b in zip(p, x, strict=True))
            else:
                w = 0.5 + rng.random(len(x)) if mode != "classes" else np.ones(len(x))
                w = w.astype(dtype)
                factor = mpmath.mpf(float(w[1]))
                before = -factor * mpmath.mpf(float(x[1]))
            first = None
            if rows == 2:
                first = np.concatenate([[1.0], rng.standard_normal(40)]).astype(dtype)
                log = mpmath.log(mpmath.fsum(mpmath.exp(float(v)) for v in first))
                before += mpmath.mpf(float(w[2])) * (log - mpmath.mpf(float(first[2])))
                divisor = factor + mpmath.mpf(float(w[2])) if mode == "mean" else mpmath.mpf(1)
            else:
                divisor = mpmath.mpf(1)
            tie = tie_beside((factor * mpmath.log(total) + before) / divisor, fmt, True)
            goal = mpmath.exp((tie * divisor - before) / factor)
            if goal <= total:
                continue
            for ladder in exponentials(goal - total, fmt):
                row = np.concatenate([x, ladder]).astype(dtype)
                n = len(row)
                if rows == 2:
                    row = np.concatenate([row, np.full(41 - n, -np.inf)]).astype(dtype)
                    n = 41
                table = row[None] if rows == 1 else np.stack([first, row])
                if mode == "probabilities":
                    probability = np.concatenate([p, np.zeros(n - len(x))]).astype(dtype)[None]
                else:
                    target = np.array([1] if rows == 1 else [2, 1])
                    weight = None if mode == "classes" else np.concatenate([w, np.ones(n - len(x))]).astype(dtype)
                reduction = {"sum": entropy.SUM, "mean": entropy.MEAN}.get(mode, entropy.NONE)
                g = np.ones(rows, dtype)
                arguments = table, target, probability, weight, 0.0, reduction
                want, gradient = entropy.expected(fmt, *arguments, g[: 1 if reduction else rows])
                found.append((arguments, g[: 1 if reduction else rows], want, gradient))
    assert len(found) >= 2 and all(found[i][2] != found[i + 1][2] for i in range(0, len(found), 2))
    return found


MODES = ["classes", "weights", "probabilities", "sum", "mean"]


def check_entropies(lib, fmt, mode):
    for arguments, g, want, gradient in entropies(fmt, mode):
        p = entropy.problem(*arguments)
        assert entropy.forward(lib, fmt, p).tolist() == want, (fmt, mode)
        assert entropy.backward(lib, fmt, p, g).tolist() == gradient, (fmt, mode)


@functools.cache
def entropy_gradients(fmt):
    """Problems of one row whose gradient is beside a tie: at the target's class, and at another."""
    dtype, found = dtype_of(fmt), []
    with mpmath.workprec(WORK):
        for seed, at in itertools.product(range(3), (0, 1)):
            x, total = logits(fmt, seed)
            g = np.array([1 + np.random.default_rng(seed).random()]).astype(dtype)
            factor, e = mpmath.mpf(float(g[0])), mpmath.exp(float(x[at]))
            tie = tie_beside(factor * (e / total - (1 - at)), fmt, at == 0)  # the target is class 0
            goal = e / (tie / factor + (1 - at))
            assert goal > total
            for ladder in exponentials(goal - total, fmt):
                row = np.concatenate([x, ladder]).astype(dtype)[None]
                arguments = row, np.array([0]), None, None, 0.0, entropy.NONE
                _, gradient = entropy.expected(fmt, *arguments, g)
                found.append((arguments, g, gradient, at))
    assert all(found[i][2][0][found[i][3]] != found[i + 1][2][0][found[i][3]] for i in range(0, len(found), 2))
    return found


def check_entropy_gradients(lib, fmt):
    for arguments, g, gradient, at in entropy_gradients(fmt):
        assert entropy.backward(lib, fmt, entropy.problem(*arguments), g).tolist() == gradient, (fmt, at)


@functools.cache
def binary_entropies(fmt):
    """Logits and weights whose sum of losses is beside a tie: ladders of weights."""
    dtype, found = dtype_of(fmt), []

    def step(rest):
        x = below(mpmath.log(rest) - 1, dtype)
        loss = mpmath.log1p(mpmath.exp(x))
        w = below(rest / loss, dtype)
        return (x, w), loss * mpmath.mpf(w), (x, above(w, dtype))

    with mpmath.workprec(WORK):
        for seed in range(3):
            rng = np.random.default_rng(seed)
            x, y, w, p = (
                a.astype(dtype) for a in (rng.standard_normal(9), rng.random(9), rng.random(9) + 0.5, rng.random(9) + 1)
            )
            (value,) = bce.values(2, None, x, y, w, p)
            for ladder in climb(tie_beside(value, fmt, True) - value, max(DEPTH[fmt], 80) + 10, step):
                extra = np.array(ladder).T
                n = len(ladder)
                columns = zip((x, y, w, p), (extra[0], np.zeros(n), extra[1], np.ones(n)), strict=True)
                arguments = [np.concatenate(c).astype(dtype) for c in columns]
                found.append((arguments, bce.expected(fmt, 2, None, *arguments)))
    assert all(found[i][1] != found[i + 1][1] for i in range(0, len(found), 2))
    return found


def check_binary(lib, fmt):
    for arguments, want in binary_entropies(fmt):
        assert bce.run(lib, fmt, 2, None, *arguments) == want, fmt


@functools.cache
def divergences(fmt, log_target):
    dtype, found = dtype_of(fmt), []
    depth = 9 if fmt == "f16" and not log_target else max(DEPTH[fmt], 80) + 10  # binary16 has no t that is small enough

    def step(rest):
        """t (log t - x), or e^t (t - x), of which the second factor is about 1."""
        t = below(mpmath.log(rest) if log_target else rest, dtype)
        scale, log = (mpmath.exp(t), mpmath.mpf(t)) if log_target else (mpmath.mpf(t), mpmath.log(t))
        high = log - rest / scale
        x = above(below(high, dtype), dtype)
        return (x, t), scale * (log - mpmath.mpf(x)), (below(high, dtype), t)

    with mpmath.workprec(WORK):
        for seed in range(3):
            rng = np.random.default_rng(seed)
            x, t = (a.astype(dtype) for a in (-rng.random(9) - 1, -rng.random(9) if log_target else rng.random(9)))
            (value,) = kl_div.values(kl_div.SUM, log_target, 1, x, t)
            for ladder in climb(tie_beside(value, fmt, True) - value, depth, step):
                arguments = [np.concatenate([a, c]).astype(dtype) for a, c in zip((x, t), np.array(ladder).T, strict=True)]
                found.append((arguments, kl_div.expected(fmt, kl_div.SUM, log_target, 1, *arguments)))
    return found


def check_divergences(lib, fmt, log_target):
    for arguments, want in divergences(fmt, log_target):
        assert kl_div.run(lib, fmt, kl_div.SUM, log_target, 1, *arguments) == want, (fmt, log_target)


@functools.cache
def mean_likelihoods(fmt):
    """Pairs of rows that have one weight each and are neighbours: the mean is a tie, whatever the weights are; and one row more, of the
    least weight, beside it."""
    p, dtype, found = PRECISION[fmt], dtype_of(fmt), []
    spread, least = (12, -24) if fmt == "f16" else (50, -120)
    for seed, last in itertools.product(range(12), (0, 1)):
        rng = random.Random(seed)
        low = rng.randrange(2 ** (p - 1), 2**p)
        weights = [rng.randrange(1, 2**p) * 2.0 ** (1 - p - rng.randrange(spread)) for _ in range(7)]
        n = 2 * len(weights) + 1
        values = [low, low + 1] * len(weights) + [low + last]
        w = np.array([v for v in weights for _ in range(2)] + [2.0**least]).astype(dtype)
        if fmt == "f16" and low + 1 > 2047:
            continue
        x = np.zeros((n, n))
        np.fill_diagonal(x, values)
        exact = [Fraction(float(v)) for v in w]
        mean = sum(a * b for a, b in zip(exact, values, strict=True)) / sum(exact)
        found.append(((-x).astype(dtype), w, rounded(mean, dtype)))
    return found


def check_mean_likelihoods(lib, fmt):
    for x, w, want in mean_likelihoods(fmt):
        assert nll.forward(lib, fmt, x, np.arange(len(w)), w, 1) == [want], fmt


CHECKS = [
    *((check_rows, what) for what in ("softmax", "log_softmax", "logsumexp")),
    (check_log_gradients,),
    (check_gradients,),
    *((check_entropies, mode) for mode in MODES),
    (check_entropy_gradients,),
    (check_binary,),
    *((check_divergences, log_target) for log_target in (0, 1)),
    (check_mean_likelihoods,),
]
