"""Parts of norms' weights (repmath/partials.h): however a batch is divided and joined, what is decided are the bits of the whole."""

import ctypes

import mpmath
import numpy as np
import pytest
from normalization_library import FOUR, NAMES, expected, geometry, values
from real_oracle import precise, reals, rounded_recognised
from reductions_library import ENUM, I64, NULL, OK, OVERLAP, RANGE, pointer, status
from softmax_library import kind
from statistics_library import dtype_of

NORMS = ("layer", "rms", "group")


def part(lib, norm, fmt, x, g, eps, joins, want=OK):
    """Sums, and the bounds of the row and of the columns."""
    (sets, sx, _), _ = geometry(norm, x)
    blocks = x.shape[1] // 2 if norm == "group" else 0
    n = x.shape[1] if norm == "group" else x.shape[2]
    made = [np.full(size, 7.0) for size in (n, 1, n)]
    given = NAMES.index(fmt), ctypes.byref(sets), pointer(g), sx, pointer(x), sx, *[None] * 4, ctypes.c_double(eps)
    assert lib.rm_normalize_weight_partial(*given, I64(blocks), I64(joins), *map(pointer, made)) == want
    return made


def joined(rng, arrays):
    """The sum in a tree that the generator chooses."""
    arrays = list(arrays)
    while len(arrays) > 1:
        i, j = sorted(rng.choice(len(arrays), 2, replace=False))
        b, a = arrays.pop(j), arrays.pop(i)
        arrays.append(a + b)
    return arrays[0]


def rounded(lib, fmt, sums, row, cols):
    out, found, count = np.full(sums.shape, 7, kind(fmt)), np.full(sums.size, -1, np.int64), np.zeros(1, np.int64)
    given = I64(1), I64(sums.size), *map(pointer, (sums, row, cols, out)), I64(sums.size), pointer(found), pointer(count)
    assert lib.rm_round_partials(NAMES.index(fmt), *given) == OK
    return out, found[: count[0]]


def split(rng, lib, norm, fmt, x, g, eps, parts):
    cuts = [0, *sorted(rng.integers(0, len(x) + 1, parts - 1)), len(x)]
    made = [part(lib, norm, fmt, x[i:j].copy(), g[i:j].copy(), eps, parts - 1) for i, j in zip(cuts, cuts[1:], strict=False)]
    return [joined(rng, arrays) for arrays in zip(*made, strict=True)]


def weights(norm, fmt, x, g, eps):
    ones = np.ones(x.shape[1 if norm == "group" else 2], x.dtype)
    return expected(norm, fmt, x, ones, ones, g, eps)[2]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("fmt", NAMES[:3])
def test_any_parts_and_trees(isa_library, norm, fmt):
    rng = np.random.default_rng(26)
    opened = total = 0
    for i in range(4):
        n, c, s = int(rng.integers(3, 9)), 4, int(rng.integers(1, 6))
        x, g = (rng.standard_normal((n, c, s)) for _ in range(2))
        x = x * 2.0 ** rng.integers(-6, 6) + rng.choice([0, 3.0, 60.0])
        x[1], g[2] = np.round(x[1]), 0  # equal elements, and no term
        if i == 3:
            g[n // 2 :] = -g[: n - n // 2]
        x, g = (a.astype(dtype_of(fmt)) for a in (x, g))
        eps = float(rng.choice([1e-5, 0.5]))
        want = weights(norm, fmt, x, g, eps)
        for parts in (1, int(rng.integers(2, 17))):
            out, at = rounded(isa_library, fmt, *split(rng, isa_library, norm, fmt, x, g, eps, parts))
            decided = np.setdiff1d(np.arange(out.size), at)
            assert (out[decided] == want[decided]).all(), (i, parts)
            opened, total = opened + len(at), total + out.size
    assert opened < total / 3


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
    for norm in NORMS:
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
        for made in (part(isa_library, norm, fmt, x[:0], x[:0], 1e-5, 0) for norm in NORMS):
            assert not any(a.any() for a in made)
            out, at = rounded(isa_library, fmt, *made)
            assert not out.any() and not len(at)
        zero = part(isa_library, "rms", fmt, x, x * 0, 1e-5, 0)
        assert not zero[0].any() and not len(rounded(isa_library, fmt, *zero)[1])


def test_arguments(isa_library):
    x = np.ones((2, 4, 3), np.float32)
    out = [np.full(n, 7.0) for n in (3, 1, 3)]
    (sets, sx, _), _ = geometry("layer", x)

    def call(fmt=2, sets=sets, g=x, x=x, blocks=0, joins=0, out=out, eps=1e-5):
        s = None if sets is None else ctypes.byref(sets)
        given = fmt, s, pointer(g), sx, pointer(x), sx, *[None] * 4, ctypes.c_double(eps)
        return isa_library.rm_normalize_weight_partial(*given, I64(blocks), I64(joins), *map(pointer, out))

    assert call(fmt=3) == status(ENUM, 1) and call(sets=None) == status(NULL, 2)
    assert call(g=None) == status(NULL, 3) and call(x=None) == status(NULL, 5) and call(eps=-1.0) == status(RANGE, 11)
    assert call(blocks=2) == call(blocks=-1) == status(RANGE, 12) and call(joins=-1) == status(RANGE, 13)
    assert call(out=[None, *out[1:]]) == status(NULL, 14) and call(out=[*out[:2], None]) == status(NULL, 16)
    assert call(out=[out[0], out[1], out[0]]) == status(OVERLAP, 14) and call(out=[x, *out[1:]]) == status(OVERLAP, 14)
    assert all((a == 7).all() for a in out) and (x == 1).all()
