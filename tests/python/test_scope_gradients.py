"""Gradients of norms, convolutions and pools, and what is rational, in scopes of repmath.rounding: against values of 1,400 bits and the words of each result."""

import itertools
from fractions import Fraction

import gmpy2
import numpy as np
import pytest
import rounding_oracle
from scope_numbers import FORMATS, SAMPLE, SEED, numbers, precision  # noqa: F401 (fixture)

import repmath
from repmath import _random_gradients, array_api, nn, rounding

exact = np.vectorize(lambda v: gmpy2.mpfr(float(v)), otypes=[object])
root = np.vectorize(gmpy2.sqrt, otypes=[object])


def bits(a):
    a = np.ascontiguousarray(a)
    return a.view(np.dtype(f"u{a.dtype.itemsize}")).reshape(-1).tolist()


def wanted(values, fmt, mode, r=0):
    flat = [
        v if isinstance(v, Fraction) else Fraction(*map(int, gmpy2.mpfr(v).as_integer_ratio()))
        for v in np.asarray(values, object).reshape(-1)
    ]
    words = rounding_oracle.words(SEED, SAMPLE << 32, r << 40, len(flat)).tolist()
    return [rounding_oracle.rounded(v, fmt, mode, w) if v else 0 for v, w in zip(flat, words, strict=True)]


def norm(g, x, w, axes, eps, squares=False):
    """By the input, and of each element for the weight; sets are what lies in the axes."""
    n = int(np.prod([x.shape[d] for d in axes]))

    def total(v):
        return v.sum(axis=axes, keepdims=True)

    d = x if squares else x - total(x) / n
    v = total(d * d) / n + gmpy2.mpfr(eps)
    h = g * w
    made = (h - (0 if squares else total(h) / n) - d * total(h * d) / (n * v)) / root(v)
    return made, g * d / root(v)


def correlation(x, w, shape, stride, padding):
    """Of the input (N, C, L), the kernel (O, C, K) and a result (N, O, M): the places that meet."""
    for n, o, m, c, k in itertools.product(range(shape[0]), range(shape[1]), range(shape[2]), range(w[1]), range(w[2])):
        i = m * stride + k - padding
        if 0 <= i < x[2]:
            yield (n, c, i), (o, c, k), (n, o, m)


def cases(dtype):
    x, g, w = numbers(dtype, 3, 4), numbers(dtype, 3, 4, seed=1), numbers(dtype, 4)
    x3, g3 = numbers(dtype, 2, 4, 3), numbers(dtype, 2, 4, 3, seed=1)
    ex, eg, ew, ex3, eg3 = map(exact, (x, g, w, x3, g3))
    rows, parts = norm(eg, ex, ew, (1,), 0.5)
    squares, of_squares = norm(eg, ex, ew, (1,), 0.5, True)
    grouped = [
        v.reshape(2, 4, 3) for v in norm(*(v.reshape(2, 2, 2, 3) for v in (eg3, ex3)), ew.reshape(1, 2, 2, 1), (2, 3), 0.5)
    ]
    single = norm(eg3, ex3, ew.reshape(1, 4, 1), (2,), 0.5)
    batch = norm(eg3, ex3, ew.reshape(1, 4, 1), (0, 2), 0.5)
    image, kernel = numbers(dtype, 2, 3, 7), numbers(dtype, 4, 3, 3)
    slope = numbers(dtype, 2, 4, 4, seed=5)
    of_image, of_kernel = exact(np.zeros((2, 3, 7))), exact(np.zeros((4, 3, 3)))
    forward = exact(np.zeros((2, 3, 7))) + exact(w[:3]).reshape(1, 3, 1)
    ei, ek, es = map(exact, (image, kernel, slope))
    for i, k, m in correlation(image.shape, kernel.shape, slope.shape, 2, 1):
        of_image[i] += ek[k] * es[m]
        of_kernel[k] += ei[i] * es[m]
        forward[i] += ek[k] * es[m]
    whole = np.vectorize(lambda v: Fraction(float(v)), otypes=[object])
    pooled, ceil, adaptive = (whole(np.zeros((2, 4, 7))) for _ in range(3))
    for m in range(4):  # windows of 3, two apart, with one element of padding
        some = slice(max(2 * m - 1, 0), min(2 * m + 2, 7))
        pooled[..., some] += whole(slope)[..., m : m + 1] / 3
        ceil[..., some] += whole(slope)[..., m : m + 1] / (some.stop - some.start)
    for m in range(4):
        some = slice(m * 7 // 4, -(-(m + 1) * 7 // 4))
        adaptive[..., some] += whole(slope)[..., m : m + 1] / (some.stop - some.start)
    places = np.array([[[1, 1, 3, 3], [0, 0, 0, 6], [2, 2, 2, 2], [5, 4, 5, 4]]] * 2)
    greatest, table = exact(np.zeros((2, 4, 7))), exact(np.zeros((5, 4)))
    for at in np.ndindex(places.shape):
        greatest[(*at[:2], places[at])] += es[at]
    for i, row in zip([0, 3, 3], eg, strict=True):
        table[i] += row
    made = {
        "layer_norm": (lambda: nn.layer_norm_backward(g, x, 4, w, 0.5), [rows, parts.sum(0), eg.sum(0)]),
        "without a weight": (lambda: nn.layer_norm_backward(g, x, 4, eps=0.5), [norm(eg, ex, 1, (1,), 0.5)[0], None, None]),
        "rms_norm": (lambda: nn.rms_norm_backward(g, x, 4, w, 0.5), [squares, of_squares.sum(0)]),
        "group_norm": (lambda: nn.group_norm_backward(g3, x3, 2, w, 0.5), [grouped[0], grouped[1].sum((0, 2)), eg3.sum((0, 2))]),
        "instance_norm": (lambda: nn.instance_norm_backward(g3, x3, w, 0.5), [single[0], single[1].sum((0, 2)), eg3.sum((0, 2))]),
        "batch_norm": (lambda: nn.batch_norm_backward(g3, x3, weight=w, eps=0.5), [batch[0], batch[1].sum((0, 2)), eg3.sum((0, 2))]),
        "conv input": (lambda: repmath.conv1d_grad_input((2, 3, 7), kernel, slope, 2, 1), [of_image]),
        "conv weight": (lambda: repmath.conv1d_grad_weight(image, (4, 3, 3), slope, 2, 1), [of_kernel]),
        "conv_transpose": (lambda: repmath.conv_transpose1d(slope, kernel, w[:3].copy(), 2, 1), [forward]),
        "avg_pool": (lambda: nn.avg_pool1d_backward(slope, (2, 4, 7), 3, 2, 1), [pooled]),
        "avg_pool of what is there": (lambda: nn.avg_pool1d_backward(slope, (2, 4, 7), 3, 2, 1, count_include_pad=False), [ceil]),
        "adaptive_avg_pool": (lambda: nn.adaptive_avg_pool1d_backward(slope, (2, 4, 7)), [adaptive]),
        "max_pool": (lambda: nn.max_pool1d_backward(slope, (2, 4, 7), places), [greatest]),
        "embedding_grad": (lambda: repmath.embedding_grad(g, np.array([0, 3, 3]), 5), [table]),
        "cross": (lambda: repmath.linalg.cross(x[:, :3], g[:, :3]), [
            np.stack([ex[:, (i + 1) % 3] * eg[:, (i + 2) % 3] - ex[:, (i + 2) % 3] * eg[:, (i + 1) % 3] for i in range(3)], 1)
        ]),
    }  # fmt: skip
    if dtype in ("f4", "f8"):
        tenth, kind = Fraction(0.1), np.dtype(dtype)
        made["fftfreq"] = (
            lambda: repmath.fft.fftfreq(7, 0.1, dtype=kind),
            [[Fraction(k) / (7 * tenth) for k in (0, 1, 2, 3, -3, -2, -1)]],
        )
        made["rfftfreq"] = (lambda: repmath.fft.rfftfreq(7, 0.1, dtype=kind), [[Fraction(k) / (7 * tenth) for k in range(4)]])
        made["linspace"] = (
            lambda: array_api.linspace(0.1, 1.0, 8, dtype=kind),
            [[tenth + i * (1 - tenth) / 7 for i in range(8)]],
        )
    else:
        del made["cross"]
    return made  # fmt: skip


def check(name, dtype, mode):
    call, values = cases(dtype)[name]
    plain = call()
    with rounding.scope(mode, seed=SEED, sample=SAMPLE) as block:
        made = call()
    assert block.calls == 1 and type(made) is type(plain)
    made, plain = ([v] if isinstance(v, np.ndarray) else list(v) for v in (made, plain))
    r = 0
    for got, near, exact_ones in zip(made, plain, values, strict=True):
        if exact_ones is None:
            assert got is None
            continue
        assert got.dtype == near.dtype and got.shape == near.shape
        want = wanted(exact_ones, FORMATS[dtype], mode, r)
        assert [i for i, (p, q) in enumerate(zip(bits(got), want, strict=True)) if p != q and q] == [], (name, r)
        r += 1


NAMES = list(cases("f4"))


@pytest.mark.parametrize("mode", ["stochastic", "random", *rounding_oracle.DIRECTED])
@pytest.mark.parametrize("dtype", list(FORMATS), ids=FORMATS.values())
def test_gradients(dtype, mode):
    for name in cases(dtype):
        check(name, dtype, mode)


@pytest.mark.parametrize("mode", ["stochastic", "random", *rounding_oracle.DIRECTED])
def test_what_binary64_leaves_open(monkeypatch, mode):
    balls = _random_gradients._random_modes.balls

    def none(*arguments):
        made, _ = balls(*arguments)
        return np.zeros_like(made), np.asarray(arguments[0]) != 0

    monkeypatch.setattr(_random_gradients._random_modes, "balls", none)
    for name in NAMES:
        check(name, "f4", mode)


@pytest.mark.parametrize("name", ["layer_norm", "avg_pool", "conv weight", "fftfreq"])
def test_words_of_other_elements_are_seen(monkeypatch, name):
    """A control."""
    place = _random_gradients._random_modes.place
    monkeypatch.setattr(_random_gradients._random_modes, "place", lambda *words: (*place(*words)[:3], place(*words)[3] + 1))
    with pytest.raises(AssertionError, match=name):
        check(name, "f4", "stochastic")


class Own:
    """Rounds the elements of one array."""

    def __init__(self, mode, r, size):
        self.words, self.mode = rounding_oracle.words(SEED, SAMPLE << 32, r << 40, size).tolist(), mode

    def __call__(self, place, value):
        if not value:
            return Fraction(0)
        made = np.array([rounding_oracle.rounded(value, "f32", self.mode, self.words[place])], np.uint32).view("f4")
        return Fraction(float(made[0]))


def rational(a):
    return [[Fraction(float(v)) for v in row] for row in a]


def solved(a, b, lower, unit):
    n, found = len(a), [None] * len(a)
    for i in range(n) if lower else reversed(range(n)):
        rest = [
            v - sum((a[i][k] * found[k][c] for k in (range(i) if lower else range(i + 1, n))), Fraction(0))
            for c, v in enumerate(b[i])
        ]
        found[i] = rest if unit else [v / a[i][i] for v in rest]
    return found


@pytest.mark.parametrize("mode", ["stochastic", "random", *rounding_oracle.DIRECTED])
def test_powers_and_solutions_by_factors(mode):
    a, b = numbers("f4", 3, 3), numbers("f4", 3, 2)
    lu, pivots = repmath.linalg.lu_factor(a)
    with rounding.scope(mode, seed=SEED, sample=SAMPLE):
        power = repmath.linalg.matrix_power(a, 3)
    square = [
        [
            Own(mode, 0, 9)(3 * i + j, sum(p * q for p, q in zip(row, column, strict=True)))
            for j, column in enumerate(zip(*rational(a), strict=True))
        ]
        for i, row in enumerate(rational(a))
    ]
    cube = [
        [
            Own(mode, 1, 9)(3 * i + j, sum(p * q for p, q in zip(row, column, strict=True)))
            for j, column in enumerate(zip(*square, strict=True))
        ]
        for i, row in enumerate(rational(a))
    ]
    assert rational(power) == cube
    order = [0, 1, 2]
    for i, j in enumerate(pivots.tolist()):
        order[i], order[j] = order[j], order[i]
    for trans in (0, 1):
        with rounding.scope(mode, seed=SEED, sample=SAMPLE):
            found = repmath.linalg.lu_solve((lu, pivots), b, trans)
        x = rational(b) if trans else [rational(b)[i] for i in order]
        for r, (lower, unit) in enumerate(((True, False), (False, True)) if trans else ((True, True), (False, False))):
            x = solved(rational(lu.T if trans else lu), x, lower, unit)
            if trans and r:
                x = [x[order.index(i)] for i in range(3)]
            x = [[Own(mode, r, 6)(2 * i + c, v) for c, v in enumerate(row)] for i, row in enumerate(x)]
        assert rational(found) == x
