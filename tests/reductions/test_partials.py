"""Parts of exact sums (repmath/partials.h): however terms are divided and joined, the bits are those of exact integers, on every instruction set."""

import ctypes
from fractions import Fraction

import convolution_library as convolutions
import numpy as np
import pytest
from exact_oracle import FORMATS, bits, exact_bits, matmul_bits
from partials_library import (
    NAMES,
    WINDOW,
    Convolution,
    Product,
    Scatter,
    decide,
    join,
    joined,
    partial,
    rounded,
    whole,
    windows,
)
from reductions_library import ENUM, FE_OVERFLOW, I64, NULL, OK, OVERLAP, RANGE, SIZE, P, pointer, status

INDEX = 12
FMT = pytest.mark.parametrize("fmt", NAMES[:3])
BITS = {"f16": 11, "bf16": 8, "f32": 24}  # of a significand


@pytest.fixture
def rng():
    return np.random.default_rng(26)


def cancelling(rng, fmt, a, b):
    """Products of up to 2^100, in f16 2^28, in pairs whose sums are 0: more columns of a and rows of b."""
    m, n, k = len(a), b.shape[1], max(a.shape[1], 1)
    size = 14 if fmt == "f16" else 50
    x, y = (rng.standard_normal(s) * 2.0 ** (size - 2) for s in ((m, k), (k, n)))
    return np.hstack([x, a, -x]), np.vstack([y, b, y])


def ties(rng, fmt, m, n, k):
    """Sums that are midpoints of two neighbours, and some that are hairs beside them."""
    top = 2.0 ** (BITS[fmt] - 1)
    a, b = np.zeros((m, max(k, 3))), np.zeros((max(k, 3), n))
    a[:, 0], b[0] = rng.integers(top, 2 * top, m), 1.0
    a[:, 1], b[1] = rng.choice([-1.0, 1.0], m), 0.5
    hair = 2.0 ** (-10 if fmt == "f16" else -40)
    a[:, 2], b[2] = rng.choice([-1.0, 0.0, 1.0], m) * hair, rng.choice([0.0, 1.0], n) * hair
    return cancelling(rng, fmt, a, b)


def sparse(rng, fmt, m, n, k):
    return tuple(rng.integers(-9, 10, s) * (rng.random(s) < 0.2) for s in ((m, k), (k, n)))


def normal(rng, fmt, m, n, k):
    return tuple(rng.standard_normal(s) for s in ((m, k), (k, n)))


def small(rng, fmt, m, n, k):
    """Subnormal numbers, and others whose sums are."""
    least = FORMATS[fmt][3]
    return rng.integers(-3, 4, (m, k)) * 2.0**least, rng.standard_normal((k, n)) * 2.0 ** rng.integers(0, 4, (k, n))


def large(rng, fmt, m, n, k):
    """Sums about the largest number."""
    half = 7.5 if fmt == "f16" else 63.5
    return tuple(rng.standard_normal(s) * 2.0**half / max(k, 1) ** 0.25 for s in ((m, k), (k, n)))


def wide(rng, fmt, m, n, k):
    e = 6 if fmt == "f16" else 60
    return tuple(rng.standard_normal(s) * 2.0 ** rng.integers(-e, e, s) for s in ((m, k), (k, n)))


KINDS = normal, ties, small, large, wide, sparse, lambda *sizes: cancelling(sizes[0], sizes[1], *normal(*sizes))


def case(rng, fmt, kind, m, n, k):
    """Operands in the format, with k in random order."""
    with np.errstate(all="ignore"):
        a, b = (np.asarray(x, float).astype(FORMATS[fmt][0]) for x in kind(rng, fmt, m, n, k))
    finite = lambda x: np.where(np.isfinite(x.astype(float)), x, np.array(1, x.dtype))  # noqa: E731
    order = rng.permutation(a.shape[1])
    return finite(a)[:, order], finite(b)[order]


def laid_out(rng, x):
    """The same matrix, by other strides."""
    y = x if rng.integers(2) else np.asfortranarray(x)
    return y if rng.integers(2) else y[::-1].copy(order="K")[::-1]


def split(rng, lib, fmt, a, b, parts):
    cuts = [0, *sorted(rng.integers(0, a.shape[1] + 1, parts - 1)), a.shape[1]]
    pairs = zip(cuts, cuts[1:], strict=False)
    return [Product(lib, fmt, laid_out(rng, a[:, i:j]), laid_out(rng, b[i:j])) for i, j in pairs]


def random_shapes(lib, rng, count):
    """Compares products of so many shapes; returns how many elements there were, and how many were open."""
    total = opened = 0
    for i in range(count):
        fmt, kind = NAMES[i % 3], KINDS[i // 3 % len(KINDS)]
        m, n = rng.integers(1, 14, 2)
        k = int(rng.choice([0, 1, 2, 7, 30, 140, 300])) if i % 8 == 0 else int(rng.integers(0, 24))
        a, b = case(rng, fmt, kind, m, n, k)
        got, left = whole(lib, fmt, split(rng, lib, fmt, a, b, int(rng.integers(1, 17))), rng)
        wrong = np.argwhere(bits(got) != matmul_bits(a, b, fmt))
        assert not len(wrong), (i, fmt, kind.__name__, a.shape, b.shape, wrong[0])
        total, opened = total + got.size, opened + left
    return total, opened


def test_random_shapes_parts_and_trees(lib, rng):
    total, opened = random_shapes(lib, rng, 120)
    assert 0 < opened < total / 2


def few_bits(rng, fmt, *shape):
    """Numbers whose sums are often ties, or cancel."""
    spread = {"f16": 3, "bf16": 50, "f32": 50}[fmt]
    made = rng.integers(-9, 10, shape) * 2.0 ** rng.integers(-spread, spread + 1, shape)
    if rng.integers(2) and len(made) > 1:
        made[len(made) // 2 : len(made) // 2 * 2] = -made[: len(made) // 2]
    return made.astype(FORMATS[fmt][0])


def cut(rng, n):
    """Where up to 16 parts of n terms begin and end."""
    cuts = [0, *sorted(rng.integers(0, n + 1, int(rng.integers(1, 17)) - 1)), n]
    return list(zip(cuts, cuts[1:], strict=False))


def random_scatter(lib, rng, fmt):
    rows, cols, n = (int(v) for v in (*rng.integers(1, 6, 2), rng.integers(0, 40)))
    src, index = few_bits(rng, fmt, n, cols), rng.integers(0, rows, n)
    parts = [Scatter(lib, fmt, rows, index[i:j], laid_out(rng, src[i:j])) for i, j in cut(rng, n)]
    want = [[exact_bits(src[index == r, j].tolist(), fmt) for j in range(cols)] for r in range(rows)]
    return parts, np.array(want, FORMATS[fmt][1])


def random_sum(lib, rng, fmt):
    """Rows, as products with ones."""
    n, cols = int(rng.integers(0, 60)), int(rng.integers(1, 9))
    x = few_bits(rng, fmt, n, cols)
    ones = np.broadcast_to(np.ones(1, x.dtype), (1, n))
    parts = [Product(lib, fmt, ones[:, i:j], laid_out(rng, x[i:j])) for i, j in cut(rng, n)]
    return parts, np.array([[exact_bits(column, fmt) for column in x.T.tolist()]], FORMATS[fmt][1])


def random_convolution(lib, rng, fmt):
    dims, groups = int(rng.integers(1, 3)), int(rng.integers(1, 3))
    kernel = tuple(int(v) for v in rng.integers(1, 4, dims))
    stride, low = int(rng.integers(1, 3)), int(rng.integers(0, 2))
    size = tuple(k + int(v) for k, v in zip(kernel, rng.integers(0, 3, dims), strict=True))
    batch, inputs, outputs = int(rng.integers(1, 7)), groups * int(rng.integers(1, 3)), groups * int(rng.integers(1, 3))
    options = {"stride": stride, "low": low, "groups": groups}

    def geometry(n):
        return convolutions.Geometry(n, inputs, outputs, size, kernel, **options)

    whole_batch = geometry(batch)
    x, g = (few_bits(rng, fmt, *shape) for shape in (whole_batch.x_shape, whole_batch.y_shape))
    _, terms = convolutions.sums(whole_batch, "grad_weight", x.astype(float), None, g.astype(float))
    parts = [Convolution(lib, fmt, geometry(j - i), x[i:j].copy(), g[i:j].copy()) for i, j in cut(rng, batch)]
    want = np.empty(whole_batch.w_shape, FORMATS[fmt][1])
    for index, pairs in terms.items():
        want[index] = exact_bits(pairs, fmt)
    return parts, want


OTHERS = random_scatter, random_sum, random_convolution


def other_shapes(lib, rng, make, count):
    """As random_shapes, of other sums than products."""
    total = opened = 0
    for i in range(count):
        parts, want = make(lib, rng, NAMES[i % 3])
        got, left = whole(lib, NAMES[i % 3], parts, rng)
        wrong = np.argwhere(bits(got) != want)
        assert not len(wrong), (i, NAMES[i % 3], want.shape, wrong[0])
        total, opened = total + got.size, opened + left
    return total, opened


@pytest.mark.parametrize("make", OTHERS)
def test_other_sums_of_random_shapes(lib, rng, make):
    total, opened = other_shapes(lib, rng, make, 30)
    assert 0 < opened < total * 0.9


def _many(what, found):
    print(f"{what}: {found[0]} elements, {found[1]} of them open")
    assert 0 < found[1] < found[0] * 0.9


@pytest.mark.exhaustive
def test_a_hundred_thousand_shapes(lib):
    _many("products", random_shapes(lib, np.random.default_rng(100_000), 100_000))


@pytest.mark.exhaustive
@pytest.mark.parametrize("make", OTHERS)
def test_a_hundred_thousand_shapes_of_other_sums(lib, make):
    _many(make.__name__, other_shapes(lib, np.random.default_rng(100_000), make, 100_000))


@pytest.mark.sample(4)
@FMT
def test_a_large_product_and_its_tiers(lib, rng, fmt):
    """Blocks, panels and threads; the bound decides nearly all, windows the rest."""
    m, n, k = 70, 90, 700
    a, b = case(rng, fmt, normal, m, n, k)
    want = matmul_bits(a, b, fmt)
    for parts, threads in ((1, 1), (2, 2), (16, 2)):
        lib.threads(threads)
        got, opened = whole(lib, fmt, split(rng, lib, fmt, a, b, parts), rng)
        lib.threads(2)
        assert (bits(got) == want).all()
        assert opened < 20
    a, b = case(rng, fmt, ties, m, n, k)
    got, opened = whole(lib, fmt, split(rng, lib, fmt, a, b, 5), rng)
    assert (bits(got) == matmul_bits(a, b, fmt)).all() and opened > m * n / 4


def test_the_control_with_bounds_too_small(lib, rng):
    """With bounds of a few units in the last place of a sum, in place of those of all its roundings, wrong bits are seen."""
    wrong = 0
    for _ in range(6):
        a, b = case(rng, "f32", ties, 12, 12, 200)
        parts = split(rng, lib, "f32", a, b, 7)
        got, _ = whole(lib, "f32", parts, rng, shrink=2.0**60)
        wrong += np.count_nonzero(bits(got) != matmul_bits(a, b, "f32"))
        got, _ = whole(lib, "f32", parts, rng)
        assert (bits(got) == matmul_bits(a, b, "f32")).all()
    assert wrong > 0


def test_bounds_hold_for_sums_that_lose_every_term(lib, rng):
    """The worst order: a large term comes first, and each of the others is lost. Joins lose as many again."""
    for parts in (1, 2, 16):
        k = 120
        a, b = np.full((2, k * parts), 2.0**-27, np.float32), np.full((k * parts, 3), 2.0**-27, np.float32)
        a[:, ::k], b[::k] = 1.0, 1.0
        products = [Product(lib, "f32", a[:, i * k : (i + 1) * k], b[i * k : (i + 1) * k]) for i in range(parts)]
        made = [partial(p, parts - 1) for p in products]
        sums, rows, cols = (joined(rng, x) for x in zip(*made, strict=True))
        lost = (k - 1) * parts * 2.0**-54
        error = np.abs(sums - parts - lost)
        assert (error <= np.sqrt(rows)[:, None] * np.sqrt(cols)).all()
        got, _ = whole(lib, "f32", products, rng)
        assert (bits(got) == matmul_bits(a, b, "f32")).all()


@pytest.mark.sample(3)
@FMT
def test_joining_and_rounding_in_one_pass(lib, rng, fmt):
    """Parts of products from any place on, by rm_join_partials; each number an exact sum, rounded once, without bounds."""
    for kind in (normal, ties, large, small):
        a, b = case(rng, fmt, kind, 13, 70, 40)
        want = matmul_bits(a, b, fmt).ravel()
        for parts in (1, 2, 5):
            products = split(rng, lib, fmt, a, b, parts)
            made = [partial(p, 0) for p in products]
            lines = [sum(m[i] for m in made) for i in (1, 2)]
            for first, n in ((0, 910), (0, 1), (17, 600), (909, 1), (70, 0)):
                stack = np.stack([m[0].ravel()[first : first + n] for m in made])
                out, element = join(lib, fmt, stack, first, lines)
                decided = np.setdiff1d(np.arange(n), element)
                assert (bits(out)[decided] == want[first : first + n][decided]).all()
                total = np.ascontiguousarray(sum(windows(p, element + first) for p in products))
                decide(lib, fmt, out, element, total)
                assert (bits(out) == want[first : first + n]).all()
            exact = (
                [np.array([[exact_sum(r, c) for c in p.keep[1].T] for r in p.keep[0]]) for p in products]
                if fmt == "f32"
                else []
            )
            if exact and kind is not large:
                out, element = join(lib, fmt, np.stack([e.ravel() for e in exact]))
                decided = np.setdiff1d(np.arange(910), element)
                assert (bits(out)[decided] == want[decided]).all() and (kind is ties or len(element) < 40)


def exact_sum(r, c):
    """RN of a sum of products to binary64."""
    return float(sum((Fraction(float(x)) * Fraction(float(y)) for x, y in zip(r, c, strict=True)), Fraction(0)))


def test_bounds_of_joined_parts(lib):
    """Parts that are lost one after the other, until the sum has crossed a midpoint: half of the bound would not do."""
    for q in (2, 3, 10, 500):
        parts = 4 * q + 2
        column = np.full((parts, 3), 2.0**-53)
        column[0] = start = 1 + 2.0**-24 - 2 * q * 2.0**-52
        assert column.sum(0)[0] == start or np.cumsum(column[:, 0])[-1] == start
        for lines in (None, (np.zeros(1), np.zeros(3))):
            assert join(lib, "f32", column, 0, lines)[1].tolist() == [0, 1, 2]
        half = parts / 2 * 2.0**-53 + 2.0**-52
        assert np.float32(start + half) == 1  # decided, but the exact sum is above the midpoint
    for sums, want in (([[-0.0], [-0.0]], 0), ([[np.inf], [1.0]], 0x7F800000), ([[np.inf], [-np.inf]], 0x7FC00000)):
        out, element = join(lib, "f32", np.array(sums))
        assert bits(out).tolist() == [want] and not len(element)


@FMT
def test_special_values(lib, rng, fmt):
    """Infinities and NaN in some parts only, zeros of both signs, sums that are exactly zero."""
    a, b = case(rng, fmt, sparse, 9, 8, 40)
    for value in (np.inf, -np.inf, np.nan):
        a[rng.integers(9), rng.integers(40)] = value
        b[rng.integers(40), rng.integers(8)] = value
    a[0], b[:, 0] = -0.0, 1.0
    want = np.array([[exact_bits(zip(r.astype(float), c.astype(float), strict=True), fmt) for c in b.T] for r in a])
    for parts in (1, 3, 16):
        products = split(rng, lib, fmt, a, b, parts)
        got, _ = whole(lib, fmt, products, rng)
        assert (bits(got) == want).all()
        # Windows alone say the same.
        element = np.arange(want.size)
        total = np.ascontiguousarray(sum(windows(p, element) for p in products))
        out = np.zeros(want.shape, FORMATS[fmt][0])
        decide(lib, fmt, out, element, total)
        assert (bits(out) == want).all()


def test_sums_are_products_with_ones(lib, rng):
    """A row of ones by strides of 0: sums over the first axis, with the terms of each part along any stride."""
    x = (rng.standard_normal((500, 37)) * 2.0 ** rng.integers(-30, 30, (500, 37))).astype(np.float32)
    x[::2] *= -1
    one = np.broadcast_to(np.ones(1, np.float32), (1, 500))
    products = [Product(lib, "f32", one[:, i : i + 100], x[i : i + 100]) for i in range(0, 500, 100)]
    got, _ = whole(lib, "f32", products, rng)
    assert bits(got)[0].tolist() == [exact_bits(c, "f32") for c in x.T]


@FMT
def test_scatter_sums(lib, rng, fmt):
    for parts in (1, 4, 16):
        rows, cols, n = 11, 9, 120
        with np.errstate(all="ignore"):
            src = (rng.standard_normal((n, cols)) * 2.0 ** rng.integers(-8, 8, (n, cols))).astype(FORMATS[fmt][0])
        src[1::2, :4] = -src[::2, :4]  # exact zeros
        index = np.repeat(rng.integers(0, rows - 1, n // 2), 2).astype(np.int64)
        src[rng.integers(n), 5], src[rng.integers(n), 6] = np.inf, np.nan
        order = rng.permutation(n)
        src, index = src[order], index[order]
        cuts = [0, *sorted(rng.integers(0, n + 1, parts - 1)), n]
        pieces = [Scatter(lib, fmt, rows, index[i:j], laid_out(rng, src[i:j])) for i, j in zip(cuts, cuts[1:], strict=False)]
        got, opened = whole(lib, fmt, pieces, rng)
        want = [[exact_bits(src[index == r, j], fmt) for j in range(cols)] for r in range(rows)]
        assert bits(got).tolist() == want
        assert 0 < opened < rows * cols  # the exact zeros


def test_bounds_of_scatter_sums(lib, rng):
    """Parts of one term, whose joins lose all but the first: a quarter of the bound does not hold."""
    for parts in (2, 3, 4, 8):
        src = np.array([[1.0]] + [[2.0**-53]] * (parts - 1), np.float32)
        made = [partial(Scatter(lib, "f32", 1, np.zeros(1, np.int64), s[None]), parts - 1) for s in src]
        sums, rows, cols = (sum(x[1:], x[0]) for x in zip(*made, strict=True))
        bound = np.sqrt(rows[0] * cols[0])
        assert sums[0, 0] == 1.0 and bound / 4 < (parts - 1) * 2.0**-53 <= bound or parts == 2
    got = [partial(Scatter(lib, "f32", 1, np.zeros(9, np.int64), np.ones((9, 1), np.float32)), j) for j in (0, 6, 22)]
    assert all(b[1][0] > a[1][0] for a, b in zip(got, got[1:], strict=False))  # joins count


def test_products_and_scatter_sums_of_one_weight(lib, rng):
    """Tied weights: kinds of parts are joined."""
    rows, cols, n = 12, 10, 60
    a, b = case(rng, "f32", normal, rows, cols, 50)
    src = rng.standard_normal((n, cols)).astype(np.float32)
    index = rng.integers(0, rows, n)
    parts = [*split(rng, lib, "f32", a, b, 3), Scatter(lib, "f32", rows, index, src)]
    got, _ = whole(lib, "f32", parts, rng)
    one_hot = (index == np.arange(rows)[:, None]).astype(np.float32)
    assert (bits(got) == matmul_bits(np.hstack([a, one_hot]), np.vstack([b, src]), "f32")).all()


GEOMETRIES = {
    "padded": convolutions.Geometry(6, 3, 4, (5, 6), (3, 3), low=1),
    "strided": convolutions.Geometry(5, 4, 6, (7,), (3,), stride=2, low=1, groups=2),
    "depthwise": convolutions.Geometry(4, 3, 3, (6, 5), (2, 3), low=1, groups=3),
    "dilated": convolutions.Geometry(4, 2, 1, (4, 3, 5), (2, 1, 2), dilation=2, low=1),
    "points": convolutions.Geometry(6, 1, 5, (3, 3), (1, 1)),
}


@pytest.mark.parametrize("layout", ["channels first", "channels last"])
@pytest.mark.parametrize("name", GEOMETRIES)
def test_gradients_of_convolutions(lib, rng, name, layout):
    """A batch is divided; padding meets infinities, and adds no product."""
    whole_batch = GEOMETRIES[name]
    batch = whole_batch.batch
    x, g = (rng.standard_normal(s).astype(np.float32) for s in (whole_batch.x_shape, whole_batch.y_shape))
    for special in (False, True):
        if special:
            g[(1, 0, *[0] * (g.ndim - 2))] = np.inf
            x[(2, -1, *[-1] * (x.ndim - 2))] = np.nan
        else:
            g[3] = -g[0]
            x[3] = x[0]
        _, terms = convolutions.sums(whole_batch, "grad_weight", x.astype(float), None, g.astype(float))
        last = lambda v: np.moveaxis(np.moveaxis(v, 1, -1).copy(), -1, 1) if layout == "channels last" else v.copy()  # noqa: E731
        for cuts in ([0, batch], [0, 1, 1, batch - 1, batch]):
            parts = []
            for i, j in zip(cuts, cuts[1:], strict=False):
                d = whole_batch
                geometry = convolutions.Geometry(
                    j - i, d.channels_in, d.channels_out, d.size, d.kernel, d.stride, d.dilation, d.low, d.high, d.groups
                )
                parts.append(Convolution(lib, "f32", geometry, last(x[i:j]), last(g[i:j])))
            got, _ = whole(lib, "f32", parts, rng)
            want = {index: exact_bits(pairs, "f32") for index, pairs in terms.items()}
            assert all(int(bits(got)[index]) == w for index, w in want.items())


def test_accumulators_write_windows(lib, rng):
    x = (rng.standard_normal((4, 50)) * 2.0 ** rng.integers(-120, 120, (4, 50))).astype(np.float32)
    total = np.zeros((1, WINDOW), np.int64)
    for row in x:
        acc = P(lib.c.rm_accumulator_new())
        assert lib.c.rm_accumulator_add_f32(acc, I64(50), pointer(row), I64(4)) == OK
        made = np.zeros(WINDOW, np.int64)
        assert lib.c.rm_accumulator_write_window(acc, pointer(made)) == OK
        total += made
        lib.c.rm_accumulator_free(acc)
    for fmt in NAMES:
        out = np.zeros(1, FORMATS[fmt][0])
        decide(lib, fmt, out, np.zeros(1, np.int64), total)
        assert int(bits(out)[0]) == exact_bits(x.ravel(), fmt)
    for term, want in ((2.0**-321, status(RANGE, 1)), (2.0**316, status(RANGE, 1)), (-(2.0**314), OK), (np.inf, OK)):
        acc, one = P(lib.c.rm_accumulator_new()), np.array([term])
        assert lib.c.rm_accumulator_add_f64(acc, I64(1), pointer(one), I64(8)) == OK
        assert lib.c.rm_accumulator_write_window(acc, pointer(made)) == want
        lib.c.rm_accumulator_free(acc)


def test_empty_arrays_and_limits(lib, rng):
    for m, n, k in ((0, 3, 4), (3, 0, 4), (2, 2, 0)):
        a, b = np.ones((m, k), np.float32), np.ones((k, n), np.float32)
        sums, rows, cols = partial(Product(lib, "f32", a, b), 3)
        assert not sums.any() and not rows.any() and not cols.any()
        out, element, _ = rounded(lib, "f32", sums, rows, cols)
        assert not bits(out).any() and not len(element)
    sums, bound = np.full((3, 5), 1 + 2.0**-24), np.ones(5) * 2.0**-80
    out, element, count = rounded(lib, "f32", sums, bound[:3], bound, limit=4)
    assert count == 15 and element.tolist() == [0, 1, 2, 3]
    sums[:], bound[:] = 1.0, np.inf
    assert rounded(lib, "f32", sums, bound[:3], bound)[2] == 15
    sums[:], bound[:] = np.nan, np.nan
    assert rounded(lib, "f32", sums, bound[:3], bound)[2] == 0


def test_overflow_is_raised(lib):
    """By the rounding, which is the first to know."""
    m = ctypes.CDLL("libm.so.6")
    for sums in (np.full((1, 3), 1e300), np.full((1, 9), -1e300)):
        m.feclearexcept(61)
        out, _, count = rounded(lib, "f32", sums, np.zeros(1), np.zeros(sums.shape[1]))
        assert m.fetestexcept(61) == FE_OVERFLOW and not count
        assert (out == np.sign(sums) * np.inf).all()


def test_arguments(lib):
    """Errors name the argument, and nothing is written."""
    x, y, s, r, c = (np.full(n, 7.0) for n in (12, 12, 12, 12, 12))
    e, w, n = np.zeros(2, np.int64), np.full(50, 7, np.int64), np.full(1, 7, np.int64)

    def product(fmt=2, sizes=(2, 2, 2), a=x, b=y, joins=0, out=(s, r, c)):
        operands = pointer(a), I64(8), I64(4), pointer(b), I64(8), I64(4)
        return lib.c.rm_matmul_partial(fmt, *map(I64, sizes), *operands, I64(joins), *map(pointer, out))

    def open_of(fmt=2, count=2, element=e, out=w, sizes=(2, 2, 2)):
        operands = pointer(x), I64(8), I64(4), pointer(y), I64(8), I64(4)
        return lib.c.rm_matmul_windows(fmt, *map(I64, sizes), *operands, I64(count), pointer(element), pointer(out))

    def scatter(fmt=2, index=e, joins=0, src=x):
        place = I64(2), pointer(index), I64(8), pointer(src), I64(8), I64(4)
        return lib.c.rm_scatter_partial(fmt, I64(2), I64(2), *place, I64(joins), *map(pointer, (s, r, c)))

    def round_all(fmt=2, m=2, sums=s, out=x, limit=2, count=n):
        given = pointer(sums), pointer(r), pointer(c), pointer(out), I64(limit), pointer(w), pointer(count)
        return lib.c.rm_round_partials(fmt, I64(m), I64(2), *given)

    assert product(fmt=3) == open_of(fmt=-1) == scatter(fmt=3) == round_all(fmt=3) == status(ENUM, 1)
    assert product(sizes=(-1, 2, 2)) == round_all(m=-1) == status(SIZE, 2)
    assert product(sizes=(2, 2, -2)) == status(SIZE, 4)
    assert product(a=None) == status(NULL, 5) and product(b=None) == status(NULL, 8)
    assert product(joins=-1) == product(joins=2**20 + 1) == status(RANGE, 11) and scatter(joins=-1) == status(RANGE, 10)
    assert product(out=(None, r, c)) == status(NULL, 12) and product(out=(s, r, None)) == status(NULL, 14)
    assert product(out=(x, r, c)) == status(OVERLAP, 12) and product(out=(s, r, r)) == status(OVERLAP, 13)
    assert open_of(count=-1) == status(SIZE, 11) and open_of(element=None) == status(NULL, 12)
    assert open_of(element=np.array([0, 4])) == open_of(element=np.array([-1, 0])) == status(INDEX, 12)
    assert open_of(out=None) == status(NULL, 13)
    assert scatter(index=np.array([0, 2])) == status(INDEX, 5) and scatter(src=None) == status(NULL, 7)
    assert round_all(sums=None) == status(NULL, 4) and round_all(out=s) == status(OVERLAP, 7)
    parts = np.full((2, 4), 7.0)

    def join_all(fmt=2, parts_=2, n_=4, first=0, cols=2, rows=r, out=x, limit=2, count=n, sums=parts):
        where = I64(first), I64(cols), pointer(rows), pointer(c), pointer(out), I64(limit), pointer(w), pointer(count)
        return lib.c.rm_join_partials(fmt, I64(parts_), I64(n_), pointer(sums), I64(32), *where)

    assert (
        join_all(fmt=3) == status(ENUM, 1) and join_all(parts_=0) == status(RANGE, 2) and join_all(n_=-1) == status(SIZE, 3)
    )
    assert (
        join_all(sums=None) == status(NULL, 4)
        and join_all(first=-1) == status(RANGE, 6)
        and join_all(cols=0) == status(RANGE, 7)
    )
    assert (
        join_all(rows=None) == status(NULL, 8)
        and join_all(out=None) == status(NULL, 10)
        and join_all(out=parts) == status(OVERLAP, 10)
    )
    assert join_all(limit=-1) == status(SIZE, 11) and join_all(count=None) == status(NULL, 13)
    assert round_all(limit=-1) == status(SIZE, 8) and round_all(count=None) == status(NULL, 10)
    assert lib.c.rm_accumulator_write_window(None, pointer(w)) == status(NULL, 1)
    assert lib.c.rm_round_windows(4, I64(1), pointer(w), pointer(e), pointer(x)) == status(ENUM, 1)
    assert lib.c.rm_round_windows(2, I64(-1), pointer(w), pointer(e), pointer(x)) == status(SIZE, 2)
    assert lib.c.rm_round_windows(2, I64(1), None, pointer(e), pointer(x)) == status(NULL, 3)
    assert lib.c.rm_round_windows(2, I64(1), pointer(w), None, pointer(x)) == status(NULL, 4)
    assert lib.c.rm_round_windows(2, I64(1), pointer(w), pointer(e), None) == status(NULL, 5)
    for untouched in (x, s, r, c, w, n, parts):
        assert (untouched == 7).all()


def test_arguments_of_convolutions(lib):
    d = GEOMETRIES["padded"]
    x, g, s = np.ones(d.x_shape, np.float32), np.ones(d.y_shape, np.float32), np.full(d.w_shape, 7.0)
    r, c, w = np.full(20, 7.0), np.full(100, 7.0), np.full((2, WINDOW), 7, np.int64)
    arguments = Convolution(lib, "f32", d, x, g).arguments

    def made(out=(s, r, c), joins=1, x=x):
        given = *arguments[:2], pointer(x), *arguments[3:]
        return lib.c.rm_conv_grad_weight_partial(*given, I64(joins), *map(pointer, out))

    assert made(joins=-1) == status(RANGE, 7) and made(x=None) == status(NULL, 3)
    assert made(out=(None, r, c)) == status(NULL, 8) and made(out=(x, r, c)) == status(OVERLAP, 8)
    assert made(out=(s, None, c)) == status(NULL, 9) and made(out=(s, r, None)) == status(NULL, 10)
    assert made(out=(s, x, c)) == made(out=(s, r, r)) == status(OVERLAP, 9) and made(out=(s, r, g)) == status(OVERLAP, 10)
    f = lib.c.rm_conv_grad_weight_windows
    assert f(*arguments, I64(-1), None, None) == status(SIZE, 7)
    assert f(*arguments, I64(2), None, pointer(w)) == status(NULL, 8)
    assert f(*arguments, I64(2), pointer(np.array([0, s.size])), pointer(w)) == status(INDEX, 8)
    assert f(*arguments, I64(2), pointer(np.array([0, 1])), None) == status(NULL, 9)
    assert f(*arguments, I64(2), pointer(np.array([0, 1])), pointer(g)) == status(OVERLAP, 9)
    for untouched in (s, r, c, w):
        assert (untouched == 7).all()
    assert (x == 1).all() and (g == 1).all()
