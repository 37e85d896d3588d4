"""softmax, its relatives and losses at and beside boundaries of rounding, in every format on every instruction set.

A sum of exponentials, or of weighted losses, is brought to a real number at which the result is a tie: each further term of a ladder is the
largest of the format that stays below what is left, so that a dozen terms come within 2^-80 of it (2^-130 in binary64), from below, and
with the last of them a place larger from above. Sums of rationals hit ties exactly."""

import functools
import itertools
import math
import random

import elementwise_library
import losses_library as regression
import native
import nll_library as nll
import numpy as np
import pytest
from row_boundaries import (
    CHECKS,
    MODES,
    PRECISION,
    check_binary,
    check_divergences,
    check_entropies,
    check_entropy_gradients,
    check_gradients,
    check_log_gradients,
    check_mean_likelihoods,
    check_rows,
    sums_of,
)
from softmax_library import NAMES
from statistics_library import dtype_of

FMT = pytest.mark.parametrize("fmt", NAMES)


@FMT
@pytest.mark.parametrize("what", ["softmax", "log_softmax", "logsumexp"])
def test_exponentials(isa_library, fmt, what):
    check_rows(isa_library, fmt, what)


@FMT
def test_log_gradients(isa_library, fmt):
    check_log_gradients(isa_library, fmt)


@FMT
def test_gradients(isa_library, fmt):
    check_gradients(isa_library, fmt)


# ----------------------------------------------------------------------------------------------------------- cross entropy


@FMT
@pytest.mark.parametrize("mode", MODES)
def test_cross_entropy(isa_library, fmt, mode):
    check_entropies(isa_library, fmt, mode)


@FMT
def test_cross_entropy_gradients(isa_library, fmt):
    check_entropy_gradients(isa_library, fmt)


# ------------------------------------------------------------------------------------------- sums of losses of elements


@FMT
def test_binary_cross_entropy(isa_library, fmt):
    check_binary(isa_library, fmt)


@FMT
@pytest.mark.parametrize("log_target", [0, 1])
def test_divergence(isa_library, fmt, log_target):
    check_divergences(isa_library, fmt, log_target)


def squares(n):
    """Integers whose squares add up to n."""
    out = []
    while n:
        out.append(math.isqrt(n))
        n -= out[-1] ** 2
    return out


@functools.cache
def regressions(fmt):
    """Differences whose squares, or sizes, add up to a tie, or to a hair beside one; the hair's exponent is far below the rest's."""
    p, dtype, far, found = PRECISION[fmt], dtype_of(fmt), 10 if fmt == "f16" else 40, []
    for seed, hair in itertools.product(range(6), (0, 1, -1)):
        tie = 2 * random.Random(seed).randrange(2 ** (p - 1), 2**p) + 1
        for loss, terms in (
            ("mse", squares((tie << 2 * far) + hair)),
            ("l1", binary_pieces((tie << far) + hair, p)),
            ("huber", binary_pieces((tie << far) + hair, p)),
        ):
            d = [math.ldexp(t, -far - 6) for t in terms]
            if loss == "mse" and any(t.bit_length() > p for t in terms):
                d = [math.ldexp(t, -far - 6) for v in terms for t in binary_pieces(v, p)]  # not the same sum: only more data
            x = np.array(d).astype(dtype)
            assert x.astype(float).tolist() == d
            case = loss, 2.0**-20 if loss == "huber" else 0.0, fmt, "sum", x, np.zeros_like(x)
            found.append((case, regression.expected(*case)))
    return found


def binary_pieces(n, p):
    """Integers of p bits that add up to n."""
    out = []
    while n:
        low = max(n.bit_length() - p, 0)
        out.append(n >> low << low)
        n -= out[-1]
    return out


def check_regressions(lib, fmt):
    for case, want in regressions(fmt):
        assert regression.forward(lib, *case) == want, (fmt, case[0])


@FMT
def test_regression_losses(isa_library, fmt):
    check_regressions(isa_library, fmt)


def check_likelihoods(lib, fmt):
    """-sum w x: one class a row."""
    minus = 1 << (8 * dtype_of(fmt).itemsize - 1)
    for lanes in (1, 2, 4, 8):
        for b in sums_of(fmt, 1100, lanes):
            x = np.zeros((b.k, b.k), b.x.dtype)
            np.fill_diagonal(x, b.x)
            assert nll.forward(lib, fmt, x, np.arange(b.k), b.y, 2) == [b.bits | minus], (fmt, lanes)


@FMT
def test_negative_log_likelihood(isa_library, fmt):
    check_likelihoods(isa_library, fmt)


@FMT
def test_mean_of_negative_log_likelihood(isa_library, fmt):
    check_mean_likelihoods(isa_library, fmt)


# --------------------------------------------------------------------------------------------------------------- controls


@pytest.mark.parametrize("check", CHECKS, ids=lambda c: "-".join(map(str, (c[0].__name__, *c[1:]))))
def test_control_with_shrunk_bounds(check):
    """With bounds 2^20 times smaller each of these is wrong somewhere, on every instruction set and, but for two, in every format."""
    for isa, control in elementwise_library.libraries(native.control_library()).items():
        for fmt in NAMES:
            if check == (check_divergences, 0) and fmt == "f16":
                continue  # its ladder ends at 2^-24, far above the bounds
            if check == (check_mean_likelihoods,) and fmt in ("f16", "bf16"):
                continue  # two parts hold these totals but for the hair, and a tie is open within any bound
            with pytest.raises(AssertionError):
                check[0](control.library, fmt, *check[1:])
                pytest.fail(f"{isa}: a bound 2^20 times smaller changes nothing in {fmt}")
