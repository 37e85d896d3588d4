"""Parts of norms' weights (repmath/partials.h): however a batch is divided and joined, what is decided are the bits of the whole."""

import ctypes

import mpmath
import numpy as np
import pytest
from normalization_library import FOUR, NAMES, expected, geometry, sets_of, values, weight_bits
from real_oracle import precise, reals, rounded_recognised
from reductions_library import ENUM, I64, NULL, OK, OVERLAP, RANGE, pointer, status
from softmax_library import kind
from statistics_library import dtype_of

NORMS = ("layer", "rms", "group", "batch")  # the last with given statistics


def part(lib, norm, fmt, x, g, eps, joins, want=OK, statistics=None):
    """Sums, and the bounds of the row and of the columns."""
    (sets, sx, _), sg = sets_of(norm, x), sets_of(norm, g)[1]
    blocks = {"group": x.shape[1] // 2, "batch": 1}.get(norm, 0)
    n = x.shape[1] if blocks else x.shape[2]
    made = [np.full(size, 7.0) for size in (n, 1, n)]
    of_channels = FOUR(0, x.itemsize, 0, 0)
    shared = [v for m in statistics for v in (pointer(m), of_channels)] if statistics else [None] * 4
    given = NAMES.index(fmt), ctypes.byref(sets), pointer(g), sg, pointer(x), sx, *shared, ctypes.c_double(eps)
    assert lib.rm_normalize_weight_partial(*given, I64(blocks), I64(joins), *map(pointer, made)) == want
    return made


def joined(rng, arrays):
    """The sum in a tree that the generator chooses."""
    arrays = list(arrays)
    while len(arrays) > 1:
        a, b = (arrays.pop(rng.integers(len(arrays))) for _ in range(2))
        arrays.append(a + b)
    return arrays[0]


def rounded(lib, fmt, sums, row, cols):
    out, found, count = np.full(sums.shape, 7, kind(fmt)), np.full(sums.size, -1, np.int64), np.zeros(1, np.int64)
    given = I64(1), I64(sums.size), *map(pointer, (sums, row, cols, out)), I64(sums.size), pointer(found), pointer(count)
    assert lib.rm_round_partials(NAMES.index(fmt), *given) == OK
    return out, found[: count[0]]


def laid_out(rng, x):
    """The same array, by other strides."""
    return x.copy(order="CF"[rng.integers(2)])


def split(rng, lib, norm, fmt, x, g, eps, parts, statistics=None):
    cuts = [0, *sorted(rng.integers(0, len(x) + 1, parts - 1)), len(x)]
    pairs = [(laid_out(rng, x[i:j]), laid_out(rng, g[i:j])) for i, j in zip(cuts, cuts[1:], strict=False)]
    made = [part(lib, norm, fmt, a, h, eps, parts - 1, statistics=statistics) for a, h in pairs]
    return [joined(rng, arrays) for arrays in zip(*made, strict=True)]


def weights(norm, fmt, x, g, eps):
    ones = np.ones(x.shape[1 if norm == "group" else 2], x.dtype)
    return expected(norm, fmt, x, ones, ones, g, eps)[2]


def of_whole(lib, norm, fmt, x, g, eps, statistics=None):
    """The library's weights of a whole batch, of which open elements are made."""
    sets, sx, sw = sets_of(norm, x)
    out = np.full(x.shape[1 if norm in ("group", "batch") else 2], 7, kind(fmt))
    of_channels = FOUR(0, x.itemsize, 0, 0)
    shared = [v for m in statistics for v in (pointer(m), of_channels)] if statistics else [None] * 4
    operands = pointer(g), sets_of(norm, g)[1], pointer(x), sx, *shared, ctypes.c_double(eps)
    assert lib.rm_normalize_backward_weight(NAMES.index(fmt), ctypes.byref(sets), *operands, pointer(out), sw) == OK
    return out


# Kinds of data: x and g of a shape, as binary64 numbers, and an eps. Exponents are those that f16 has, or others.


def normal(rng, norm, fmt, shape):
    """With sets whose elements are equal."""
    x = rng.standard_normal(shape) * 2.0 ** rng.integers(-6, 6) + rng.choice([0, 3.0, 60.0])
    x[rng.random(shape[0]) < 0.2] = 3.0
    return x, rng.standard_normal(shape), float(rng.choice([1e-5, 0.5]))


def cancelling(rng, norm, fmt, shape):
    """Half of the batch cancels, and leaves what is smaller by 2^100."""
    x, g, eps = normal(rng, norm, fmt, shape)
    big, low = (10, -10) if fmt == "f16" else (50, -50)
    x, g = np.concatenate([x, x, x]), np.concatenate([g * 2.0**big, rng.standard_normal(shape) * 2.0**low, -g * 2.0**big])
    order = rng.permutation(len(x))
    return x[order], g[order], eps


def ties(rng, norm, fmt, shape):
    """Terms are g/2 and -g/2: a number, half of its last place, what cancels, and something far below."""
    n, c, s = shape
    shape = n, 2 * c, 2 * s
    _, places = geometry(norm, np.empty(shape))
    x, g, of_weight = np.empty(shape), np.zeros(shape), {}
    for members in places.values():
        for (i, k), sign in zip(members, rng.permutation([1.0, -1.0] * (len(members) // 2)), strict=True):
            x[i] = sign
            of_weight.setdefault(k, []).append(i)
    last, big, hair = {"f16": (-10, 12, -24), "bf16": (-7, 50, -50), "f32": (-23, 50, -50)}[fmt]
    for where in of_weight.values():
        terms = [
            1 + rng.integers(2.0**-last) * 2.0**last,
            rng.choice([-1, 1]) * 2.0 ** (last - 1),
            rng.choice([-1, 0, 1]) * 2.0**hair,
        ]
        if len(where) > 4:
            terms += [2.0**big, -(2.0**big)]
        for i, t in zip(rng.permutation(where), terms, strict=False):
            g[tuple(i)] = 2 * t * x[tuple(i)]
    return x, g, 3.0


def small(rng, norm, fmt, shape):
    """Subnormal numbers, and weights that are."""
    least = {"f16": -24, "bf16": -133, "f32": -149}[fmt]
    return rng.integers(-9, 10, shape) * 2.0 ** rng.choice([least, 0]), rng.integers(-9, 10, shape) * 2.0**least, 1e-5


def large(rng, norm, fmt, shape):
    """Weights about the largest number."""
    return rng.standard_normal(shape), rng.standard_normal(shape) * 2.0 ** (14 if fmt == "f16" else 126), 1e-5


def wide(rng, norm, fmt, shape):
    e = 5 if fmt == "f16" else 40
    x, g = (rng.standard_normal(shape) * 2.0 ** rng.integers(-e, e, shape) for _ in range(2))
    return x, g, float(rng.choice([2.0**-20, 1.0]))


KINDS = normal, cancelling, ties, small, large, wide


def random_shapes(lib, rng, count, norms=NORMS):
    """Compares weights of so many shapes, in up to 16 parts; returns how many there were, how many were open, and how many are wrong without bounds."""
    total = opened = wrong = 0
    for i in range(count):
        fmt, norm, make = NAMES[i % 3], norms[i // 3 % len(norms)], KINDS[i // 3 // len(norms) % len(KINDS)]
        n, c, s = (int(v) for v in (rng.integers(1, 6), 2 * rng.integers(1, 3), rng.integers(1, 5)))
        x, g, eps = make(rng, norm, fmt, (n, c, s))
        with np.errstate(all="ignore"):
            x, g = (a.astype(dtype_of(fmt)) for a in (x, g))
        x, g = (np.where(np.isfinite(a.astype(float)), a, np.array(1, a.dtype)) for a in (x, g))
        statistics = None
        if norm == "batch":  # numbers near those of a set that has this part
            statistics = [v.astype(dtype_of(fmt)) for v in (x.astype(float).mean((0, 2)), x.astype(float).var((0, 2)))]
            statistics[1] = np.where(np.isfinite(statistics[1].astype(float)), statistics[1], np.array(1, x.dtype))
        want = weight_bits(norm, fmt, x, g, eps, statistics)
        sums, row, cols = split(rng, lib, norm, fmt, x, g, eps, int(rng.integers(1, 17)), statistics)
        out, at = rounded(lib, fmt, sums, row, cols)
        opened, total = opened + len(at), total + out.size
        out[at] = of_whole(lib, norm, fmt, x, g, eps, statistics)[at]
        assert (out == want).all(), (i, norm, fmt, make.__name__, x.shape, eps)
        if make is ties:
            out, at = rounded(lib, fmt, sums, row, cols * 2.0**-120)
            decided = np.setdiff1d(np.arange(out.size), at)
            wrong += np.count_nonzero(out[decided] != want[decided])
    return total, opened, wrong


def test_any_parts_and_trees(isa_library):
    total, opened, wrong = random_shapes(isa_library, np.random.default_rng(26), 2 * 72)
    assert 0 < opened < total / 2 and wrong


@pytest.mark.exhaustive
@pytest.mark.parametrize("norm", NORMS)
def test_a_hundred_thousand_shapes(isa_library, norm):
    """Of all norms together."""
    found = random_shapes(isa_library, np.random.default_rng(100_000), 25_000, [norm])
    print("weights of {} norms: {} elements, {} of them open, {} wrong without bounds".format(norm, *found))
    assert 0 < found[1] < found[0] / 2 and found[2]


def test_the_oracle():
    """By MPFR and rationals, and by mpmath."""
    rng = np.random.default_rng(5)
    for norm in NORMS[:3]:
        for make in (normal, cancelling, ties):
            x, g, eps = make(rng, norm, "f32", (2, 2, 2))
            x, g = x.astype(np.float32), g.astype(np.float32)
            assert (weight_bits(norm, "f32", x, g, eps) == weights(norm, "f32", x, g, eps)).all()


@precise
def channels(x, g, mean, variance, eps):
    """The gradients of a batch norm's weights, with the statistics given."""
    sums = []
    for j, (m, v) in enumerate(zip(reals(mean), reals(variance), strict=True)):
        slopes, elements = reals(g[:, j]), reals(x[:, j])
        terms = (a * (b - m) for a, b in zip(slopes, elements, strict=True))
        sums.append(mpmath.fsum(terms) / mpmath.sqrt(v + mpmath.mpf(eps)))
    return sums


@pytest.mark.parametrize("fmt", NAMES[:3])
def test_a_batch_norm_whose_batch_is_divided(isa_library, fmt):
    """Weights of channels, and statistics that are those of all parts and not of one."""
    rng = np.random.default_rng(12)
    opened = total = different = 0
    for n, c, s, eps in ((12, 5, 3, 1e-5), (7, 1, 6, 0.5), (24, 4, 1, 0.0)):
        x = (rng.standard_normal((n, c, s)) + rng.choice([0, 3.0], c)[:, None]).astype(dtype_of(fmt))
        g = rng.standard_normal((n, c, s)).astype(dtype_of(fmt))
        mean = x.astype(float).mean((0, 2)).astype(dtype_of(fmt))
        variance = x.astype(float).var((0, 2)).astype(dtype_of(fmt))
        of_set = FOUR(0, mean.itemsize, 0, 0)

        def of(rows, known=True, c=c, eps=eps, given=(x, g), statistics=(mean, variance), of_set=of_set):
            a, h = (v[rows].copy() for v in given)
            (sets, sx, _), _ = geometry("batch", a)
            made = [np.full(size, 7.0) for size in (c, 1, c)]
            shared = [v for m in statistics for v in (pointer(m), of_set)] if known else [None] * 4
            operands = pointer(h), sx, pointer(a), sx, *shared, ctypes.c_double(eps)
            of_all = NAMES.index(fmt), ctypes.byref(sets), *operands, I64(1), I64(3), *map(pointer, made)
            assert isa_library.rm_normalize_weight_partial(*of_all) == OK
            return made

        want = np.array([rounded_recognised(v, dtype_of(fmt)) for v in channels(x, g, mean, variance, eps)], kind(fmt))
        cuts = [slice(0, 1), slice(1, 1), slice(1, n - 2), slice(n - 2, n)]
        for parts in ([slice(0, n)], cuts):
            made = [joined(rng, arrays) for arrays in zip(*map(of, parts), strict=True)]
            out, at = rounded(isa_library, fmt, *made)
            decided = np.setdiff1d(np.arange(c), at)
            assert (out[decided] == want[decided]).all()
            opened, total = opened + len(at), total + c
        alone = [joined(rng, arrays) for arrays in zip(*(of(part, False) for part in cuts[2:]), strict=True)]
        different += (rounded(isa_library, fmt, *alone)[0] != want).any()  # a control: each part has its own set
    assert opened < total / 3 and different


def near_ties(rng):
    """Rows (1, -1), normed with an eps of 3: terms are g/2 and -g/2. A number, half of its last place, what cancels, and something far below."""
    g = np.zeros((6, 4, 2), np.float32)
    g[0, 0] = 1 + 2 * rng.integers(0, 1 << 22) * 2.0**-23
    g[1, 1] = 2.0**-24
    g[2, 2], g[3, 0] = 2.0**30, -(2.0**30)
    g[4, 3] = rng.choice([-1, 0, 1]) * 2.0**-90
    x = np.ones_like(g)
    x[..., 1] *= -1
    return x, 2 * g


def test_ties_are_left_open(isa_library):
    rng = np.random.default_rng(7)
    wrong = 0
    for _ in range(12):
        x, g = near_ties(rng)
        want = weights("layer", "f32", x, g, 3.0)
        sums, row, cols = split(rng, isa_library, "layer", "f32", x, g, 3.0, 4)
        out, at = rounded(isa_library, "f32", sums, row, cols)
        assert len(at) == 2
        out, at = rounded(isa_library, "f32", sums + np.float64(2.0**-50), row, cols * 0)  # a control: no bound
        wrong += len(at) == 0 and (out != want).any()
    assert wrong


@precise
def exact(norm, x, g, eps):
    ones = np.ones(x.shape[1 if norm == "group" else 2])
    return values(norm, x, ones, ones, g, eps)[2]


def test_bounds_hold_and_count_joins(isa_library):
    """Errors of parts are within the bounds, which are not far from them; those of joins, which lose all parts but the first, too."""
    rng, largest = np.random.default_rng(1), 0.0
    for norm in NORMS[:3]:
        for offset in (0.0, 1e3, -1e6):
            x, g = (rng.standard_normal((5, 2, 3)).astype(np.float32) for _ in range(2))
            x += np.float32(offset)
            sums, row, cols = part(isa_library, norm, "f32", x, g, 1e-5, 0)
            bound = np.sqrt(row[0] * cols)
            error = np.array([abs(float(float(s) - v)) for s, v in zip(sums, exact(norm, x, g, 1e-5), strict=True)])
            assert (error <= bound).all()
            largest = max(largest, (error / bound).max())
    assert largest > 1 / 64
    for parts in (3, 5, 17):  # terms are 1, and 2^-53 for each other part
        x = np.array([[[1.0, -1.0]]], np.float32)
        made = [part(isa_library, "layer", "f32", x, x * 0 + (2.0**-53 if i else 1), 0.0, parts - 1) for i in range(parts)]
        sums, row, cols = (np.cumsum(a, 0)[-1] for a in zip(*made, strict=True))
        assert sums[0] == 1 and (parts - 1) * 2.0**-53 <= np.sqrt(row[0] * cols[0])
        one = [part(isa_library, "layer", "f32", x, x * 0 + 1, 0.0, j)[2][0] ** 0.5 for j in (0, parts - 1)]
        assert one[1] - one[0] >= 0.999 * (parts - 1) * 2.0**-53  # no less than the joins need


def test_special_values_and_no_rows(isa_library):
    for fmt in NAMES[:3]:
        x = np.arange(24.0).reshape(2, 4, 3).astype(dtype_of(fmt)) ** 2
        for value in (np.inf, -np.inf, np.nan):
            for where in ("x", "g"):
                a, h = x.copy(), x.copy()
                (a if where == "x" else h)[1, 2, 1] = value
                sums, row, cols = part(isa_library, "layer", fmt, a, h, 1e-5, 1)
                other = part(isa_library, "layer", fmt, x, x, 1e-5, 1)
                _, at = rounded(isa_library, fmt, sums + other[0], row + other[1], cols + other[2])
                assert 1 in at and np.isfinite(sums).all()
        for made in (part(isa_library, norm, fmt, x[:0], x[:0], 1e-5, 0) for norm in NORMS[:3]):
            assert not any(a.any() for a in made)
            out, at = rounded(isa_library, fmt, *made)
            assert not out.any() and not len(at)
        zero = part(isa_library, "rms", fmt, x, x * 0, 1e-5, 0)
        assert not zero[0].any() and not len(rounded(isa_library, fmt, *zero)[1])


def test_arguments(isa_library):
    x = np.ones((2, 4, 3), np.float32)
    out = [np.full(n, 7.0) for n in (3, 1, 3)]
    sets, sx, _ = sets_of("layer", x)

    def call(fmt=2, sets=sets, g=x, x=x, blocks=0, joins=0, out=out, eps=1e-5):
        s = None if sets is None else ctypes.byref(sets)
        given = fmt, s, pointer(g), sx, pointer(x), sx, *[None] * 4, ctypes.c_double(eps)
        return isa_library.rm_normalize_weight_partial(*given, I64(blocks), I64(joins), *map(pointer, out))

    assert call(fmt=3) == status(ENUM, 1) and call(sets=None) == status(NULL, 2)
    assert call(g=None) == status(NULL, 3) and call(x=None) == status(NULL, 5) and call(eps=np.inf) == status(RANGE, 11)
    assert call(blocks=2) == call(blocks=-1) == status(RANGE, 12) and call(joins=-1) == status(RANGE, 13)
    assert call(out=[None, *out[1:]]) == status(NULL, 14) and call(out=[*out[:2], None]) == status(NULL, 16)
    assert call(out=[out[0], out[1], out[0]]) == status(OVERLAP, 14) and call(out=[x, *out[1:]]) == status(OVERLAP, 14)
    assert all((a == 7).all() for a in out) and (x == 1).all()
