"""Functions of NumPy arrays in scopes of repmath.rounding: means, norms, products, softmax, losses and sums by an index, against values of 1,400 bits and their words."""

from fractions import Fraction

import gmpy2
import numpy as np
import pytest
import rounding_oracle
from scope_numbers import FORMATS, SAMPLE, SEED, numbers, precision  # noqa: F401 (fixture)

import repmath
from repmath import _random_balls, _random_functions, array_api, nn, rounding

mpq = gmpy2.mpq


def exact(a):
    """Object arrays of numbers of 1,400 bits, which hold those of the formats and their sums."""
    return np.vectorize(lambda v: gmpy2.mpfr(float(v)), otypes=[object])(np.asarray(a))


exp, log, sqrt = (np.vectorize(f, otypes=[object]) for f in (gmpy2.exp, gmpy2.log, gmpy2.sqrt))


def bits(a):
    a = np.ascontiguousarray(a)
    return a.view(np.dtype(f"u{a.dtype.itemsize}")).reshape(-1).tolist()


def wanted(values, fmt, mode, number=0):
    flat = [Fraction(*map(int, gmpy2.mpfr(v).as_integer_ratio())) for v in np.asarray(values, object).reshape(-1)]
    words = rounding_oracle.words(SEED, (SAMPLE << 32) + number, 0, len(flat)).tolist()
    return [rounding_oracle.rounded(v, fmt, mode, w) if v else 0 for v, w in zip(flat, words, strict=True)]


def mean_of(x, axis):
    return x.sum(axis, keepdims=True) / x.shape[axis]


def shares(x, axis):
    e = exp(x)
    return e / e.sum(axis, keepdims=True)


def normed(x, eps):
    d = x - mean_of(x, 1)
    return d / sqrt((d * d).sum(1, keepdims=True) / x.shape[1] + eps)


def placed(x, index, source):
    made = x.copy()
    for i, row in zip(index, source, strict=True):
        made[i] = made[i] + row
    return made


def cases(dtype):
    """Calls and what they are."""
    x, y, w, v = numbers(dtype, 3, 4), numbers(dtype, 3, 4, seed=1), numbers(dtype, 4, seed=2), numbers(dtype, 3, seed=3)
    a, b, u = exact(x), exact(y), exact(w)
    eps, classes, rows = gmpy2.mpfr(0.25), np.array([1, 3, 0]), np.array([0, 2, 0])
    t = np.abs(a - b)
    third, huber = gmpy2.mpfr(0.3), gmpy2.mpfr(0.75)
    lost = log(exp(a).sum(1)) - a[np.arange(3), classes]
    image, kernel, g = numbers(dtype, 2, 2, 4, 3), numbers(dtype, 2, 2, 2, 2, seed=5), numbers(dtype, 3, 4, seed=6)
    i, k, h = exact(image), exact(kernel), exact(g)
    padded = np.pad(i, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=gmpy2.mpfr(0))
    convolved = np.array(
        [
            [
                [[(padded[n, :, r : r + 2, 2 * c : 2 * c + 2] * k[o]).sum() for c in range(2)] for r in range(5)]
                for o in range(2)
            ]
            for n in range(2)
        ]
    )
    channel = np.moveaxis(i, 1, 0).reshape(2, -1)
    running = exact(v[:2]), exact(np.abs(v[:2]))
    return {
        "conv2d": (lambda: repmath.conv2d(image, kernel, v[:2], stride=(1, 2), padding=1), convolved + exact(v[:2])[:, None, None]),
        "avg_pool2d": (
            lambda: nn.avg_pool2d(image, (2, 2), stride=(2, 1)),
            np.stack([i[:, :, r : r + 2, c : c + 2].sum((2, 3)) / 4 for r in (0, 2) for c in (0, 1)], -1),
        ),
        "avg_pool2d with its border": (
            lambda: nn.avg_pool2d(image[0], 2, stride=3, padding=1, count_include_pad=False),
            np.stack([i[0, :, 0, 0], i[0, :, 0, 2], i[0, :, 2:4, 0].sum(1) / 2, i[0, :, 2:4, 2].sum(1) / 2], -1),
        ),
        "adaptive_avg_pool2d": (
            lambda: nn.adaptive_avg_pool2d(image, (3, 1)),
            np.stack([i[:, :, r : r + 2].sum((2, 3)) / 6 for r in range(3)], -1),
        ),
        "batch_norm": (
            lambda: nn.batch_norm(image, None, None, training=True, eps=0.25),
            np.moveaxis(normed(channel, eps).reshape(2, 2, 4, 3), 0, 1),
        ),
        "batch_norm by running statistics": (
            lambda: nn.batch_norm(image, v[:2], np.abs(v[:2]), eps=0.25),
            (i - running[0][:, None, None]) / sqrt(running[1] + eps)[:, None, None],
        ),
        "mse_loss_backward": (lambda: nn.mse_loss_backward(g[0, 0], x, y), h[0, 0] * 2 * (a - b) / 12),
        "smooth_l1_loss_backward": (
            lambda: nn.smooth_l1_loss_backward(g, x, y, reduction="none", beta=0.3),
            h * np.where(t < third, (a - b) / third, np.sign((a - b).astype(float)).astype(int)),
        ),
        "huber_loss_backward": (
            lambda: nn.huber_loss_backward(g[0, 0], x, y, delta=0.75),
            h[0, 0] * np.where(t <= huber, a - b, np.sign((a - b).astype(float)).astype(int) * huber) / 12,
        ),
        "nll_loss": (lambda: nn.nll_loss(x, np.array([1, 3, -100])), -(a[0, 1] + a[1, 3]) / 2),
        "binary_cross_entropy_with_logits": (
            lambda: nn.binary_cross_entropy_with_logits(x, np.abs(y) / 4),
            (log(1 + exp(a)) - a * exact(np.abs(y) / 4)).sum() / 12,
        ),
        "mean": (lambda: repmath.mean(x, 1), a.sum(1) / 4),
        "mean of three": (lambda: repmath.mean(x, axis=0, keepdims=True), a.sum(0) / 3),
        "mean of all": (lambda: repmath.mean(x), a.sum() / 12),
        "var": (lambda: repmath.var(x, 1, ddof=1), ((a - mean_of(a, 1)) ** 2).sum(1) / 3),
        "std": (lambda: repmath.std(x, 0), sqrt(((a - mean_of(a, 0)) ** 2).sum(0) / 3)),
        "norm": (lambda: repmath.norm(x, axis=1), sqrt((a * a).sum(1))),
        "cumsum": (lambda: repmath.cumsum(x, axis=0), np.cumsum(a, axis=0)),
        "cumsum of all": (lambda: repmath.cumsum(x), np.cumsum(a)),
        "prod": (lambda: array_api.prod(x, axis=1), np.prod(a, axis=1)),
        "cumulative_prod": (lambda: array_api.cumulative_prod(x, axis=1), np.cumprod(a, axis=1)),
        "vecdot": (lambda: repmath.vecdot(x, y), (a * b).sum(1)),
        "vdot": (lambda: repmath.vdot(x, y), (a * b).sum()),
        "matvec": (lambda: repmath.matvec(x, w), (a * u).sum(1)),
        "vecmat": (lambda: repmath.vecmat(v, x), (exact(v)[:, None] * a).sum(0)),
        "tensordot": (lambda: repmath.tensordot(x, y, ([1], [1])), (a[:, None] * b[None]).sum(2)),
        "tensordot of two axes": (lambda: repmath.tensordot(x, y), (a * b).sum()),
        "einsum": (lambda: repmath.einsum("ij,kj->ki", x, y), (b[:, None] * a[None]).sum(2)),
        "einsum of one": (lambda: repmath.einsum("ij->j", x), a.sum(0)),
        "einsum of a diagonal": (lambda: repmath.einsum("ii,i->", x[:, :3], v), (np.diagonal(a) * exact(v)).sum()),
        "softmax": (lambda: nn.softmax(x), shares(a, 1)),
        "softmax of columns": (lambda: nn.softmax(x, 0), shares(a, 0)),
        "log_softmax": (lambda: nn.log_softmax(x), a - log(exp(a).sum(1, keepdims=True))),
        "logsumexp": (lambda: nn.logsumexp(x, 1), log(exp(a).sum(1))),
        "softmax_backward": (lambda: nn.softmax_backward(x, y), b * (a - (a * b).sum(1, keepdims=True))),
        "log_softmax_backward": (lambda: nn.log_softmax_backward(x, y), a - exp(b) * a.sum(1, keepdims=True)),
        "layer_norm": (lambda: nn.layer_norm(x, 4, w, w, eps=0.25), normed(a, eps) * u + u),
        "rms_norm": (lambda: nn.rms_norm(x, 4, w, eps=0.25), a * u / sqrt((a * a).sum(1, keepdims=True) / 4 + eps)),
        "group_norm": (
            lambda: nn.group_norm(x, 2, w, eps=0.25),
            normed(a.reshape(6, 2), eps).reshape(3, 4) * u,
        ),
        "instance_norm": (lambda: nn.instance_norm(x[None], eps=0.25), normed(a, eps)),
        "mse_loss": (lambda: nn.mse_loss(x, y), (t * t).sum() / 12),
        "l1_loss": (lambda: nn.l1_loss(x, y, reduction="sum"), t.sum()),
        "smooth_l1_loss": (
            lambda: nn.smooth_l1_loss(x, y, reduction="none", beta=0.3),
            np.where(t < third, t * t / (2 * third), t - third / 2),
        ),
        "huber_loss": (lambda: nn.huber_loss(x, y, delta=0.75), np.where(t <= huber, t * t / 2, huber * (t - huber / 2)).sum() / 12),
        "cross_entropy": (lambda: nn.cross_entropy(x, classes), lost.sum() / 3),
        "cross_entropy of each": (lambda: nn.cross_entropy(x, classes, reduction="none"), lost),
        "segment_sum": (lambda: repmath.segment_sum(x, rows, 4), placed(exact(np.zeros((4, 4))), rows, a)),
        "scatter_add": (
            lambda: repmath.scatter_add(x, 0, np.broadcast_to(rows[:, None], (3, 4)), y),
            placed(a, rows, b),
        ),
        "index_add": (lambda: repmath.index_add(x, rows, y), placed(a, rows, b)),
    }  # fmt: skip


NAMES = list(cases("f4"))


def check(name, dtype, mode):
    call, values = cases(dtype)[name]
    plain = call()
    with rounding.scope(mode, seed=SEED, sample=SAMPLE) as block:
        made = call()
    assert block.calls == 1 and type(made) is type(plain) and made.dtype == plain.dtype and made.shape == plain.shape
    got, want = bits(made), wanted(values, FORMATS[dtype], mode)
    assert [i for i, (p, q) in enumerate(zip(got, want, strict=True)) if p != q and q] == [], name


@pytest.mark.parametrize("mode", ["stochastic", "random", *rounding_oracle.DIRECTED])
@pytest.mark.parametrize("dtype", list(FORMATS), ids=FORMATS.values())
@pytest.mark.parametrize("name", NAMES)
def test_functions(name, dtype, mode):
    check(name, dtype, mode)


@pytest.mark.parametrize("mode", ["stochastic", "random", *rounding_oracle.DIRECTED])
@pytest.mark.parametrize("name", NAMES)
def test_what_binary64_leaves_open(monkeypatch, name, mode):
    """Every element by double-double and rational numbers."""
    balls = _random_functions._random_modes.balls

    def none(*arguments):
        made, _ = balls(*arguments)
        return np.zeros_like(made), np.asarray(arguments[0]) != 0

    monkeypatch.setattr(_random_functions._random_modes, "balls", none)
    check(name, "f4", mode)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "layer_norm", "cumulative_prod"])
def test_words_of_other_elements_are_seen(monkeypatch, name):
    """A control."""
    place = _random_functions._random_modes.place
    monkeypatch.setattr(_random_functions._random_modes, "place", lambda *words: (*place(*words)[:3], 1))
    with pytest.raises(AssertionError, match=name):
        check(name, "f4", "stochastic")


def test_a_wrong_radius_is_seen(monkeypatch):
    """A control: balls without a radius decide what they do not know."""
    monkeypatch.setattr(_random_balls, "_above", lambda radius: np.zeros(np.shape(radius)))
    words = (2 * int(rounding_oracle.words(seed, 0, 0, 1)[0]) + 1 for seed in range(99))
    seed, word = next((k, w) for k, w in enumerate(words) if w % 16 < 8)  # which binary64 rounds down
    near = np.array([[1.0, (word >> 12) * 2.0**-44, (word & 4095) * 2.0**-56, 2.0**-100]], "f4")
    with rounding.scope("stochastic", seed=seed):
        made = repmath.mean(near * np.float32(4), axis=1)
    assert made[0] == 1
    monkeypatch.undo()
    with rounding.scope("stochastic", seed=seed):
        assert repmath.mean(near * np.float32(4), axis=1)[0] == 1 + 2.0**-23


def test_infinities_nan_and_empty_arrays():
    x = np.array([[1.0, np.inf, 2.0], [np.nan, 1.0, 2.0], [0.1, 0.2, 0.4]], "f4")
    calls = [
        lambda: repmath.mean(x, 1), lambda: repmath.var(x, 1), lambda: repmath.norm(x, axis=1), lambda: nn.softmax(x), lambda: nn.log_softmax(x),
        lambda: repmath.cumsum(x, axis=1), lambda: array_api.prod(x, axis=1), lambda: repmath.vecdot(x, x), lambda: nn.layer_norm(x, 3),
        lambda: repmath.mean(x[:0]), lambda: repmath.cumsum(x[:0]), lambda: nn.softmax(np.array([[-np.inf, 0.0, 1.0]], "f4")),
    ]  # fmt: skip
    with np.errstate(all="ignore"):
        for call in calls:
            plain = np.asarray(call())
            with rounding.scope("stochastic", seed=1):
                made = np.asarray(call())
            special = ~np.isfinite(plain) | (plain == 0)
            assert np.array_equal(made[special], plain[special], equal_nan=True)
            assert np.isfinite(made[~special]).all()


def test_out_and_numbers_of_arrays():
    x, out = numbers("f4", 3, 4), np.empty(3, "f4")
    with rounding.scope("random", seed=SEED, sample=SAMPLE) as block:
        assert repmath.mean(x, 1, out=out) is out
        second = nn.softmax(x)
        repmath.exp(x)
    assert block.calls == 3 and bits(out) == wanted(exact(x).sum(1) / 4, "f32", "random")
    assert bits(second) == wanted(shares(exact(x), 1), "f32", "random", 1)


def test_values_beyond_the_largest_number():
    """A sum of float64 numbers that rounds to nearest to an infinity may be rounded down."""
    big = np.finfo("f8").max
    x = np.array([big, 2.0**970])
    found = set()
    for seed in range(8):
        with rounding.scope("stochastic", seed=seed):
            found.add(float(repmath.cumsum(x)[1]))
    assert found == {big, np.inf}


def roots(v):
    return gmpy2.sqrt(gmpy2.mpfr(v))


@pytest.mark.parametrize("mode", ["stochastic", "random", *rounding_oracle.DIRECTED])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_matrices(dtype, mode):
    fmt = FORMATS[dtype]
    m, right = numbers(dtype, 2, 2), numbers(dtype, 2, 3)
    (a, b), (c, d) = ([mpq(float(v)) for v in row] for row in m)
    r = [[mpq(float(v)) for v in row] for row in right]
    whole = a * d - b * c
    p = np.array([[2.5, 1.25], [1.25, 3.125]], dtype) + np.abs(m).max() * np.eye(2, dtype=dtype)
    low = np.linalg.cholesky(p).astype(dtype)
    with rounding.scope(mode, seed=SEED, sample=SAMPLE) as block:
        x = repmath.linalg.solve(m, right)
        one = repmath.linalg.solve(m, right[:, 0])
        inverse = repmath.linalg.inv(np.stack([m, m.T]))
        det = repmath.linalg.det(m)
        sign, log_of = repmath.linalg.slogdet(m)
        half = repmath.linalg.solve_triangular(m, right, lower=True)
        factor = repmath.linalg.cholesky(p)
        lu, pivots = repmath.linalg.lu_factor(m)
        two = repmath.linalg.cho_solve((low, True), right)
    assert block.calls == 9 and sign == (1 if whole > 0 else -1)
    solution = [
        [(d * r[0][k] - b * r[1][k]) / whole for k in range(3)],
        [(a * r[1][k] - c * r[0][k]) / whole for k in range(3)],
    ]
    inverses = [[[d, -b], [-c, a]], [[d, -c], [-b, a]]]
    e = [[v / a for v in r[0]], [(w - c * v / a) / d for v, w in zip(*r, strict=True)]]
    for number, (made, values) in enumerate(
        [
            (x, solution),
            (one, [row[0] for row in solution]),
            (inverse, [[[v / whole for v in row] for row in k] for k in inverses]),
            (det, whole),
            (log_of, gmpy2.log(gmpy2.mpfr(abs(whole)))),
            (half, e),
        ]  # fmt: skip
    ):
        flat = [Fraction(*map(int, mpq(v).as_integer_ratio())) for v in np.asarray(values, object).reshape(-1)]
        words = rounding_oracle.words(SEED, (SAMPLE << 32) + number, 0, len(flat)).tolist()
        assert bits(made) == [rounding_oracle.rounded(v, fmt, mode, w) for v, w in zip(flat, words, strict=True)], number

    def own(number, array, size):
        words = rounding_oracle.words(SEED, (SAMPLE << 32) + number, array << 40, size).tolist()

        def one(place, value):
            kind = np.dtype(f"u{dtype[1]}")
            return mpq(float(np.array([rounding_oracle.rounded(mpq(value), fmt, mode, words[place])], kind).view(dtype)[0]))

        return one

    q = [[mpq(float(v)) for v in row] for row in p]
    rounder = own(6, 0, 4)
    first = rounder(0, roots(q[0][0]))
    second = rounder(2, q[1][0] / first)
    assert [mpq(float(v)) for v in factor.reshape(-1)] == [first, 0, second, rounder(3, roots(q[1][1] - second * second))]
    rounder = own(7, 0, 4)
    swapped = abs(c) > abs(a)
    (s, t), (u, v) = ((c, d), (a, b)) if swapped else ((a, b), (c, d))
    top, other = (2, 0) if swapped else (0, 2)
    s, t = rounder(top, s), rounder(top + 1, t)
    lower = rounder(other, u / s)
    assert [mpq(float(k)) for k in lu.reshape(-1)] == [s, t, lower, rounder(other + 1, v - lower * t)] and pivots[0] == int(
        swapped
    )
    (j, _), (k, n) = ([mpq(float(v)) for v in row] for row in low)
    rounder = own(8, 0, 6)
    top_row = [rounder(i, v / j) for i, v in enumerate(r[0])]
    below = [rounder(3 + i, (v - k * w) / n) for i, (v, w) in enumerate(zip(r[1], top_row, strict=True))]
    rounder = own(8, 1, 6)
    last = [v / n for v in below]
    found = [rounder(i, (v - k * w) / j) for i, (v, w) in enumerate(zip(top_row, last, strict=True))]
    assert [mpq(float(v)) for v in two.reshape(-1)] == found + [rounder(3 + i, v) for i, v in enumerate(last)]


def test_matrices_without_a_solution():
    with rounding.scope("stochastic"), pytest.raises(np.linalg.LinAlgError):
        repmath.linalg.inv(np.zeros((2, 2)))
    with rounding.scope("stochastic"), pytest.raises(TypeError, match="of infinities"):
        repmath.linalg.det(np.full((2, 2), np.inf))
    with rounding.scope("stochastic"):
        assert repmath.linalg.det(np.zeros((0, 0))) == 1
