"""rm_cross_entropy and its gradient against mpmath, on every instruction set, in every format."""

import ctypes
import itertools
from fractions import Fraction

import numpy as np
import pytest
from cross_entropy_library import IGNORED, MEAN, NAMES, NONE, SIZE, SUM, backward, expected, forward, problem
from exact_oracle import CANONICAL_NAN, FORMATS, exact, rounded
from real_oracle import precise
from reductions_library import ENUM, NULL, Reductions, pointer, status
from softmax_library import infinity, kind
from statistics_library import dtype_of


@pytest.mark.parametrize("fmt", NAMES)
@pytest.mark.parametrize("mode", ["classes", "weights", "smoothing", "probabilities", "smoothed probabilities"])
@pytest.mark.parametrize("reduction", [NONE, MEAN, SUM])
def test_values(isa_library, fmt, mode, reduction):
    rng = np.random.default_rng(6)
    dtype = dtype_of(fmt)
    for rows, n, scale in ((1, 2, 1), (5, 7, 20), (3, 40, 1), (4, 5, 60)):
        x = (rng.standard_normal((rows, n)) * scale).astype(dtype)
        target = rng.integers(0, n, rows)
        if rows > 2:
            target[1] = IGNORED
        if mode == "classes":
            x[0, (target[0] + 1) % n] = -np.inf
        weight = np.abs(rng.standard_normal(n)).astype(dtype) if mode in ("weights", "smoothing") else None
        probability = rng.random((rows, n)).astype(dtype) if "probabilities" in mode else None
        if probability is not None:
            target = None
        smoothing = 0.1 if "smooth" in mode else 0.0
        g = rng.standard_normal(rows if reduction == NONE else 1).astype(dtype)
        p = problem(x, target, probability, weight, smoothing, reduction)
        loss, gradient = expected(fmt, x, target, probability, weight, smoothing, reduction, g)
        assert forward(isa_library, fmt, p).tolist() == loss
        assert backward(isa_library, fmt, p, g).tolist() == gradient


@pytest.mark.parametrize("fmt", NAMES)
def test_sure_classes(isa_library, fmt):
    """The gradient at a class of probability almost 1 keeps its sign and its digits; with nothing beside it, it is 0."""
    dtype = dtype_of(fmt)
    x = np.array([[30.0, 0.0, -2.0], [200.0, 0.0, -1.0], [0.0, -np.inf, -np.inf], [60000.0, -60000.0, -60000.0]]).astype(
        dtype
    )
    target, g = np.zeros(4, np.int64), np.ones(4, dtype)
    p = problem(x, target, reduction=NONE)
    loss, gradient = forward(isa_library, fmt, p), backward(isa_library, fmt, p, g)
    want_loss, want = expected(fmt, x[:3], target, None, None, 0.0, NONE, g[:3])
    assert loss[:3].tolist() == want_loss and gradient[:3].tolist() == want
    minus_zero = infinity(fmt, -1) & ~infinity(fmt)
    assert loss[3] == 0 and gradient[3].tolist() == [minus_zero, 0, 0]


@pytest.mark.parametrize("fmt", NAMES)
@pytest.mark.parametrize("mode", ["classes", "smoothing", "probabilities"])
def test_far_classes(isa_library, fmt, mode):
    """Where e^(x - m) is below every number the gradient is a zero of the right sign, or, times a huge factor, more than that."""
    dtype = dtype_of(fmt)
    far, huge = (-60000.0, 60000.0) if fmt == "f16" else (-1000.0, 1e30)
    row = np.array([0.0, far, -np.inf if mode == "classes" else -60.0, -150.0, -1.0])
    rows = []
    for upstream in (1.0, -1.0, huge, -huge):
        x = np.array([row, row, np.where(np.arange(5) == 2, 0.0, far)]).astype(dtype)
        target, probability = np.array([0, 1, 2]), None
        if mode == "probabilities":
            probability = np.array([[0, 1, 0, 0, 0], [0.5, 0, 0.5, 0, 0], [1, -1, 0, 0, 0]]).astype(dtype)
            target = None
        smoothing = 0.25 if mode == "smoothing" else 0.0
        g = np.full(3, upstream, dtype)
        p = problem(x, target, probability, None, smoothing, NONE)
        _, want = expected(fmt, x, target, probability, None, smoothing, NONE, g)
        rows.append((backward(isa_library, fmt, p, g).tolist(), want))
    for got, want in rows:
        assert got == want


def test_probabilities_below_2_to_the_minus_950(isa_library):
    """In binary64 some exponentials are too small for vectors, and times a large factor are results of any size."""
    row = np.array([0.0, -659.5, -660.5, -700.0, -745.0, -745.15, -745.25, -746.0, -1100.0, -1.0])
    x = np.array([row, row[::-1], row + 3e5])
    targets = np.array([0, 9, 3])
    for upstream in (1.0, 1023.0, 1024.0, -65536.0, 2.0**300, -(2.0**490), 2.0**600):
        g = np.full(3, upstream)
        _, want = expected("f64", x, targets, None, None, 0.0, NONE, g)
        assert backward(isa_library, "f64", problem(x, targets, reduction=NONE), g).tolist() == want, upstream
    weight = np.full(10, 2048.0)
    compare(isa_library, "f64", x, targets, None, weight, 0.0, SUM, np.ones(1))


def test_sums_about_what_is_left_out(isa_library):
    """The gradient at the greatest logit, with one exponential barely small enough to be left out of sums beside it and one far below."""
    for d in (8150.0, 8200.0, 8304.0, 8319.0, 8321.0):
        x = np.array([[0, -d, -12016]], "f4")
        for g in (np.ones(1, "f4"), -np.ones(1, "f4")):
            compare(isa_library, "f32", x, np.zeros(1, np.int64), None, None, 0.0, SUM, g)


@pytest.mark.parametrize("fmt", NAMES)
def test_hairs_beside_rationals(isa_library, fmt):
    """Gradients of probabilities that are right but for a class far below: not 0, and of its sign. Exact zeros and ties of rational rows."""
    dtype, minus = dtype_of(fmt), infinity(fmt, -1) & ~infinity(fmt)
    far = -60000.0
    x = np.array([[0, far, far, far], [0, 0, far, far], [1, 1, 1, far]]).astype(dtype)
    q = np.array([[1, 0, 0, 0], [0.5, 0.5, 0, 0], [1, 1, 1, 0]]).astype(dtype)
    g = np.ones(3, dtype)
    got = backward(isa_library, fmt, problem(x, None, q, reduction=NONE), g)
    assert got.tolist() == [[minus, 0, 0, 0], [minus, minus, 0, 0], [minus, minus, minus, 0]]
    x[:, 3] = -np.inf  # nothing there
    x[0, 1:], x[1, 2:] = -np.inf, -np.inf
    q[0, 0] = 0.375
    got = backward(isa_library, fmt, problem(x, None, q, smoothing=0.0, reduction=NONE), g)
    assert got[:, :3].tolist() == [[0, 0, 0]] * 3
    x = np.zeros((1, 3), dtype)  # (q_1 + q_2 + q_3)/3 - q_1, smoothed by 1/4: a quarter of nothing
    one = 1 + 2.0 ** -FORMATS[fmt][2]
    q = np.array([[one, 1, 3 - one]]).astype(dtype)
    g = np.array([1.5]).astype(dtype)
    values_there = [
        Fraction(1.5) * (1 - Fraction(1, 4)) * (sum(map(Fraction, q[0].astype(float))) / 3 - Fraction(float(v))) for v in q[0]
    ]
    got = backward(isa_library, fmt, problem(x, None, q, smoothing=0.25, reduction=NONE), g)
    assert got[0].tolist() == [rounded(v, dtype) for v in values_there]


def compare(lib, fmt, x, target, probability, weight, smoothing, reduction, g):
    """The loss, and the gradient with g of one element, against the definition."""
    arguments = (x, target, probability, weight, smoothing, reduction, g)
    loss, gradient = expected(fmt, *arguments)
    p = problem(*arguments[:-1])
    assert forward(lib, fmt, p).tolist() == loss
    assert backward(lib, fmt, p, g).tolist() == gradient


def beside_cancellation(rng, n):
    """Smoothing, and a negative probability nearly beside it: (1 - s) p + s/n has few digits left, or none."""
    s = float(rng.random() * 0.5)
    return s, np.float32(-s / n / (1 - s))


def test_weights_that_cancel(isa_library):
    g = np.ones(1, "f4")
    for s, x, v in (
        (0.28031973111551554, [0.8216181397438049, 0.3304370641708374], -0.19475296139717102),
        (0.252763040998293, [-2.4338767528533936, 1.1986708641052246], -0.1691317856311798),
    ):
        x, p = np.array([x], "f4"), np.full((1, 2), v, "f4")
        compare(isa_library, "f32", x, None, p, None, s, SUM, g)
    rng = np.random.default_rng(3)
    for _ in range(60):
        n = int(rng.integers(2, 5))
        s, v = beside_cancellation(rng, n)
        x = (rng.standard_normal((2, n)) * 2).astype("f4")
        p, w = np.full((2, n), v), rng.standard_normal(n).astype("f4")
        p[1, 0] = rng.standard_normal()
        compare(isa_library, "f32", x, None, p, w if rng.random() < 0.5 else None, s, SUM, g)


def test_weights_that_cancel_beside_infinity(isa_library):
    """A class at -infinity: the sign of its weight makes the loss, and where that is 0 the loss is NaN."""
    rng, fooled = np.random.default_rng(4), 0
    for k in range(60):
        n = int(rng.integers(2, 5)) if k else 2
        s = float(rng.random() * 0.5) if k else 0.5
        v = -s / n / (1 - s)
        exact, plain = (1 - Fraction(s)) * Fraction(v) + Fraction(s) / n, (1 - s) * v + s / n
        fooled += (exact > 0) - (exact < 0) != (plain > 0) - (plain < 0)
        x, p = np.zeros((1, n)), np.full((1, n), v)
        x[0, 0] = -np.inf
        got = forward(isa_library, "f64", problem(x, None, p, smoothing=s, reduction=SUM)).tolist()
        assert got == [infinity("f64", 1 if exact > 0 else -1) if exact else CANONICAL_NAN["f64"]]
    assert fooled > 5  # binary64 does not see the sign


def test_divisors_that_cancel(isa_library):
    """A mean over weights of which little is left, or nothing: then the sign of the losses decides."""
    x, target = np.full((5, 5), -np.inf, "f4"), np.arange(5)
    x[np.arange(5), np.arange(5)], x[2, 0] = 0, 0
    w, g = np.array([2.0**120, 1, 2.0**-100, -(2.0**120), -1], "f4"), np.ones(1, "f4")
    loss, gradient = (np.array(v).view(np.uint32) for v in (np.float32(np.log(2)), np.array([0.5, 0, -0.5, 0, 0], "f4")))
    assert forward(isa_library, "f32", problem(x, target, weight=w)).tolist() == [loss]
    assert backward(isa_library, "f32", problem(x, target, weight=w), g)[2].tolist() == gradient.tolist()
    for scale in (1, -1):  # log 2 (1 - 1/2) over 0, and 0 over 0
        w = np.array([1, -1], "f4") * np.float32(scale)
        x = np.array([[0, 0], [np.log(2), 0]], "f4")
        target = np.array([0, 1])
        got = forward(isa_library, "f32", problem(x, target, weight=w)).tolist()
        assert got == [infinity("f32", -scale)]
        alone = np.array([[0, -np.inf], [-np.inf, 0]], "f4")
        assert forward(isa_library, "f32", problem(alone, np.array([0, 1]), weight=w)).tolist() == [CANONICAL_NAN["f32"]]


LONG = 28000  # e^-9500 beside 2^24, and more


def beside_ties():
    """Sums that are halfway between two numbers but for exponentials far below, of both signs; only those of the last weights differ."""
    far = np.array([[-(2.0**24), 0, -np.inf], [0, -(2.0**24), -np.inf], [-9000, -np.inf, 0]])
    for last in (-0.5, 0.5, -2):  # the middle one's factor is positive, and e^-9000 much larger than its exponential
        yield far, [1, 2.0**-24, last]
    near = np.array([[-(2.0**24), 0, -np.inf], [0, -(2.0**24), -np.inf], [-9000, -9001, 0], [0, -9500, -9000.5]])
    for last in (-0.5, 0.25):  # the last two logarithms differ by factors and by what they sum
        yield near, [1, 2.0**-24, last]


def test_totals_beside_ties(isa_library):
    want = precise(expected.function, LONG)
    for x, w in beside_ties():
        x, w, target = x.astype("f4"), np.array(w, "f4"), np.arange(len(x)) % 3
        arguments = (x, target, None, w, 0.0, SUM)
        loss, _ = want("f32", *arguments, np.ones(1, "f4"))
        assert forward(isa_library, "f32", problem(*arguments)).tolist() == loss


def test_totals_of_logarithms_that_cancel(isa_library):
    """log(4 + a) - 2 log(2 + b) for exponentials a and b far below, of which the larger one has the sign of the total."""
    for a, b in ((-9000.0, -9100.0), (-9100.0, -9000.0), (-8200.0, -8300.0), (-8300.0, -8200.0)):
        x = np.array([[0, 0, 0, 0, a], [0, 0, -np.inf, -np.inf, b]]).astype("f4")
        target, weight = np.array([0, 1]), np.array([1, -2, 1, 1, 1], "f4")
        problem_ = problem(x, target, weight=weight, reduction=SUM)
        assert forward(isa_library, "f32", problem_).tolist() == [0 if a > b else 1 << 31], (a, b)


def test_weights_beyond_binary64(isa_library):
    """Products and sums of finite numbers that binary64 does not hold, where the result is finite; and infinite ones beside them."""
    none, two = None, np.zeros(1, np.int64)
    for x, target, p, w, reduction, g in (
        ([[100, 0]], none, [[1e200, 0]], [1e109, 1], SUM, 1e-5),
        ([[0, 0]], two, none, [1e-10, 1], MEAN, 1e300),
        ([[0, 0]], two, none, [1e308, 1], SUM, 1e-300),
        (np.zeros((3, 2)), np.zeros(3, np.int64), none, [1e308, 1], MEAN, 1.0),
        ([[0, 3], [1, 0], [2, 1]], np.array([0, 1, 2]) % 2, none, [1.5e308, -1.7e308], MEAN, 1e308),
    ):
        x, g = np.array(x, "f8"), np.array([g])
        p, w = (None if v is None else np.array(v, "f8") for v in (p, w))
        compare(isa_library, "f64", x, target, p, w, 0.0, reduction, g)
    w, nan = np.array([np.inf, 1]), CANONICAL_NAN["f64"]
    for v, target, sum_, mean in ((w, 0, infinity("f64"), nan), (-w, 0, infinity("f64", -1), nan)):
        x, target = np.zeros((1, 2)), np.array([target])
        assert forward(isa_library, "f64", problem(x, target, weight=v, reduction=SUM)).tolist() == [sum_]
        assert forward(isa_library, "f64", problem(x, target, weight=v)).tolist() == [mean]
        assert (backward(isa_library, "f64", problem(x, target, weight=v), np.ones(1)) == nan).all()


@pytest.mark.parametrize("fmt", NAMES)
def test_special_rows(isa_library, fmt):
    dtype, nan, inf = dtype_of(fmt), CANONICAL_NAN[fmt], np.inf
    x = np.array([[1.0, np.nan], [1.0, inf], [-inf, -inf], [-inf, 1.0], [2.0, 1.0]]).astype(dtype)
    target = np.array([0, 0, 0, 0, IGNORED])
    loss = forward(isa_library, fmt, problem(x, target, reduction=NONE))
    assert loss.tolist() == [nan, nan, nan, infinity(fmt), 0]
    g = np.ones(5, dtype)
    gradient = backward(isa_library, fmt, problem(x, target, reduction=NONE), g)
    minus_one, one = (int(np.array(v, dtype).view(kind(fmt))) for v in (-1.0, 1.0))
    assert (gradient[:3] == nan).all() and gradient[3].tolist() == [minus_one, one] and gradient[4].tolist() == [0, 0]
    ignored = np.full(5, IGNORED)
    assert forward(isa_library, fmt, problem(x, ignored)).tolist() == [nan]
    assert forward(isa_library, fmt, problem(x, ignored, reduction=SUM)).tolist() == [0]
    assert forward(isa_library, fmt, problem(x, target, reduction=SUM)).tolist() == [nan]


def test_bad_arguments(isa_library):
    x, out = np.ones((2, 3), "f4"), np.full(2, 7, "f4")
    target = np.array([0, 3])
    f = isa_library.rm_cross_entropy
    good = np.array([0, 2])

    def call(p, fmt=2, to=out):
        return f(fmt, ctypes.byref(p) if p else None, None if to is None else pointer(to), SIZE(4))

    assert call(problem(x, target)) == status(12, 2) and call(problem(x, good), fmt=9) == status(ENUM, 1)
    assert (
        call(None) == status(NULL, 2)
        and call(problem(x)) == status(NULL, 2)
        and call(problem(x, good), to=None) == status(NULL, 3)
    )
    assert call(problem(x, good, smoothing=1.5)) == status(10, 2) and call(problem(x, good, reduction=3)) == status(ENUM, 2)
    assert (out == 7).all()


@pytest.mark.parametrize("fmt", NAMES)
def test_sure_and_far_classes_are_decided_at_once(isa_library, fmt):
    """A target far above the others has a loss and a gradient below all numbers, with its sign; one far below has a loss just above a difference of
    logits, which may be a midpoint. Neither needs multiprecision evaluations of exponentials."""
    dtype, counted = dtype_of(fmt), Reductions(isa_library)
    rng = np.random.default_rng(11)
    for gap, weight in itertools.product((300, 2000, 30000) if fmt != "f64" else (800, 30000), (1, -1)):
        x = -np.round(8 * rng.random((3, 6))) / 8 - gap
        x[:, 3] = 0
        x[2, 4:] = -np.inf
        x, w, t = x.astype(dtype), np.full(6, weight, dtype), np.full(3, 3)
        for reduction in (NONE, SUM, MEAN):
            g = np.array([-2.0, 3.0, 1.0] if reduction == NONE else [-2.0]).astype(dtype)
            loss, gradient = expected(fmt, x, t, None, w, 0.0, reduction, g)
            counted.stats()
            assert forward(isa_library, fmt, problem(x, t, weight=w, reduction=reduction)).tolist() == loss
            assert backward(isa_library, fmt, problem(x, t, weight=w, reduction=reduction), g).tolist() == gradient
            assert counted.stats()[2] == 0 or fmt == "f64"
        other = np.full(3, 2)
        found = forward(isa_library, fmt, problem(x, other, reduction=NONE)).tolist()
        assert found == [rounded(-exact(row[2]) + Fraction(1, 2**1300), np.dtype(dtype)) for row in x]
        assert counted.stats()[2] == 0
    alone = np.array([[0, -np.inf], [-np.inf, 0]]).astype(dtype)  # nothing beside the class: exact zeros
    for weight, reduction in itertools.product((1, -1), (NONE, SUM)):
        w, t = np.full(2, weight, dtype), np.array([0, 1])
        p = problem(alone, t, weight=w, reduction=reduction)
        assert not forward(isa_library, fmt, p).any() and not backward(isa_library, fmt, p, np.ones(2, dtype)).any()
