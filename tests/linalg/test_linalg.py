"""Every function of repmath/linalg.h on every instruction set, beside rational numbers: FLINT's matrices, recurrences in
Fractions."""

import math
from fractions import Fraction

import linalg_library as exact
import numpy as np
import pytest
from linalg_data import PRECISION, edges, midpoint_numerators, midpoint_quotients
from linalg_library import UNDECIDED, bits, nan_bits
from reductions_library import ENUM, I64, NULL, OVERLAP, SIZE, P, pointer, status

DTYPES = pytest.mark.parametrize("dtype", ["f4", "f8"])
SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 33, 40]


def gaussian(rng, n, dtype):
    return rng.standard_normal((n, n)).astype(dtype)


def integers(rng, n, dtype):
    return rng.integers(-3, 4, (n, n)).astype(dtype)


def hilbert(rng, n, dtype):
    return (1 / (1 + np.arange(n)[:, None] + np.arange(n))).astype(dtype)


def spread(rng, n, dtype):
    return (rng.standard_normal((n, n)) * 2.0 ** rng.integers(-30, 30, (n, n))).astype(dtype)


def sparse(rng, n, dtype):
    return np.where(rng.random((n, n)) < 0.4, rng.standard_normal((n, n)), 0).astype(dtype)


def huge(rng, n, dtype):
    return (rng.uniform(-1, 1, (n, n)) * (1e37 if dtype == "f4" else 1e307)).astype(dtype)


def tiny(rng, n, dtype):
    """Subnormal elements too."""
    return (rng.standard_normal((n, n)) * (1e-38 if dtype == "f4" else 1e-307)).astype(dtype)


def nearly_singular(rng, n, dtype):
    """The last row is the sum of the others, but for a last place."""
    a = rng.integers(-9, 10, (n, n)).astype(dtype)
    a[-1] = a[:-1].sum(0) if n > 1 else 1
    a[-1, -1] = np.nextafter(a[-1, -1], np.array(np.inf, dtype))
    return a


def scaled(rng, n, dtype):
    """Rows and columns of very different sizes."""
    e = 18 if dtype == "f4" else 200
    rows, columns = rng.integers(-e, e, (n, 1)), rng.integers(-e, e, (1, n))
    return (rng.standard_normal((n, n)) * 2.0**rows * 2.0**columns).astype(dtype)


KINDS = [gaussian, integers, hilbert, spread, sparse, huge, tiny, nearly_singular, scaled]


def sizes(kind):
    return [n for n in SIZES if n <= (40 if kind in (gaussian, integers) else 17)]


@DTYPES
@pytest.mark.parametrize("kind", KINDS)
def test_solutions(lib, dtype, kind):
    rng = np.random.default_rng(1)
    for n in sizes(kind):
        a, b = kind(rng, n, dtype), rng.standard_normal((n, 3)).astype(dtype)
        want = exact.exact_solution(a, b)
        got, info = lib.solve(a[None], b[None])
        if want is None:
            assert info[0] == first_dependent(a) and (bits(got) == nan_bits(dtype)).all()
            continue
        assert info[0] == 0 and np.array_equal(bits(got[0]), want), n
        if n <= 12:
            assert np.array_equal(bits(lib.solve(a[None], None)[0][0]), exact.exact_solution(a, None)), n


def first_dependent(a):
    m = exact.exact_matrix(a)
    ranks = [
        exact.flint.fmpq_mat(len(a), k, [m[i, j] for i in range(len(a)) for j in range(k)]).rank() for k in range(len(a) + 1)
    ]
    return next(k for k in range(1, len(a) + 1) if ranks[k] < k)


@DTYPES
@pytest.mark.parametrize("kind", KINDS)
def test_triangles(lib, dtype, kind):
    rng = np.random.default_rng(2)
    for n in sizes(kind)[:11]:
        a, b = kind(rng, n, dtype), rng.standard_normal((n, 2)).astype(dtype)
        for triangle, part in (("lower", np.tril), ("upper", np.triu)):
            for unit in (False, True):
                t = part(a)
                if unit:
                    np.fill_diagonal(t, 1)
                got, info = lib.solve(a[None], b[None], triangle, unit)
                want = exact.exact_solution(t, b)
                if want is None:
                    assert info[0] == 1 + np.diag(t).tolist().index(0) and (bits(got) == nan_bits(dtype)).all()
                else:
                    assert info[0] == 0 and np.array_equal(bits(got[0]), want), (n, triangle, unit)


@DTYPES
@pytest.mark.parametrize("kind", KINDS)
def test_determinants(lib, dtype, kind):
    rng = np.random.default_rng(3)
    for n in sizes(kind):
        a = kind(rng, n, dtype)
        d = exact.exact_determinant(a)
        assert bits(lib.det(a[None]))[0] == exact.determinant_bits(a), n
        sign, log = lib.slogdet(a[None])
        assert sign[0] == (d > 0) - (d < 0)
        assert bits(log)[0] == (exact.log_bits(d, dtype) if d else bits(np.array([-np.inf], dtype))[0]), n


@DTYPES
@pytest.mark.parametrize("kind", [gaussian, integers, hilbert, spread, sparse, nearly_singular])
def test_lu(lib, dtype, kind):
    rng = np.random.default_rng(4)
    for n in [n for n in SIZES if n <= 17]:
        for m in {n, max(1, n - 2), n + 3}:
            size = max(m, n)
            a = np.ascontiguousarray(kind(rng, size, dtype)[:m, :n])
            lu, pivots, info = lib.lu_factor(a[None])
            want, want_pivots, want_info = exact.recurrence_lu(a)
            assert pivots[0].tolist() == want_pivots and info[0] == want_info
            assert np.array_equal(bits(lu[0]), want), (m, n)


@DTYPES
@pytest.mark.parametrize("kind", [gaussian, integers, spread, scaled, tiny, huge])
def test_factors_of_several_panels(lib, dtype, kind):
    rng = np.random.default_rng(24)
    for m, n in ((33, 33), (40, 21), (18, 45)):
        a = np.ascontiguousarray(kind(rng, max(m, n), dtype)[:m, :n] / (16 if kind is huge else 1))
        lu, pivots, info = lib.lu_factor(a[None])
        want, want_pivots, want_info = exact.recurrence_lu(a)
        assert pivots[0].tolist() == want_pivots and info[0] == want_info
        assert np.array_equal(bits(lu[0]), want), (m, n)
    a = gaussian(rng, 40, dtype)
    a = (a @ a.T).astype(dtype)
    assert np.array_equal(bits(lib.cholesky(a[None])[0][0]), exact.recurrence_cholesky(a)[0])


@DTYPES
@pytest.mark.parametrize("make", [midpoint_numerators, midpoint_quotients])
def test_factors_at_boundaries(lib, dtype, make):
    """Entries that are midpoints of two numbers of the format, of which approximations lie on either side."""
    rng, p = np.random.default_rng(25), PRECISION[dtype]
    for n in (9, 20, 37):
        a = make(rng, n, dtype)
        places = (
            [(n, c) for c in range(n, a.shape[1])] if make is midpoint_numerators else [(r, n) for r in range(n + 1, len(a))]
        )
        middle = 0
        for i, j in places:  # rows and columns of the unit matrix come first
            v = Fraction(float(a[i, j])) - sum(
                Fraction(float(x)) * Fraction(float(y)) for x, y in zip(a[i, :n], a[:n, j], strict=True)
            )
            v /= 1 if make is midpoint_numerators else Fraction(float(a[n, n]))
            middle += (v.numerator // (v.numerator & -v.numerator)).bit_length() == p + 1
        assert middle > len(places) // 2
        assert np.array_equal(bits(lib.lu_factor(a[None])[0][0]), exact.recurrence_lu(a)[0]), n


@DTYPES
def test_factors_beside_zero(lib, dtype):
    for a in edges(dtype):
        assert np.array_equal(bits(lib.lu_factor(a[None])[0][0]), exact.recurrence_lu(a)[0])


@DTYPES
@pytest.mark.parametrize("kind", [gaussian, integers, hilbert, sparse, scaled])
def test_cholesky(lib, dtype, kind):
    rng, failed = np.random.default_rng(5), 0
    for n in [n for n in SIZES if n <= 33]:
        a = kind(rng, n, dtype)
        if kind is scaled:
            scale = 2.0 ** rng.integers(-9, 9, n)
            a = (gaussian(rng, n, dtype) * scale[:, None]).astype(dtype)
        if kind is not hilbert:
            a = (a @ a.T + 0.1 * np.diag(np.diag(a @ a.T)) * (kind is not integers)).astype(dtype)
        a[np.triu_indices(n, 1)] = np.nan  # not read
        got, info = lib.cholesky(a[None])
        want, want_info = exact.recurrence_cholesky(a)
        assert info[0] == want_info and np.array_equal(bits(got[0]), want), n
        failed += want_info > 0
    assert failed or kind is not hilbert


@DTYPES
def test_solutions_at_boundaries(lib, dtype):
    """Solutions that are midpoints of two numbers of the format, or beside one, and exact ones; zeros among them."""
    rng = np.random.default_rng(6)
    p = 24 if dtype == "f4" else 53
    ties = 0
    for n in (1, 2, 3, 5, 8, 13, 20):
        for _ in range(4):
            a = np.diag(2.0 ** rng.integers(0, 3, n)) + np.triu(rng.integers(-1, 2, (n, n)), 1)
            a = a[rng.permutation(n)][:, rng.permutation(n)].astype(dtype)
            # p + 1 bits, of which the products with small numbers need not fit: those that do are kept
            x = [Fraction(int(2 * rng.integers(2 ** (p - 1), 2**p) + 1), 2 ** int(rng.integers(0, 9))) for _ in range(n)]
            for i in rng.choice(n, n // 3, False):
                x[i] = Fraction(0)
            rows = [sum(Fraction(int(a[i, j])) * x[j] for j in range(n)) for i in range(n)]
            b = np.array([float(r) for r in rows]).astype(dtype)[:, None]
            ties += sum(exact.rational(v) == r and r != 0 for v, r in zip(b[:, 0], rows, strict=True))
            for matrix in (a, a.T.copy()):
                assert np.array_equal(bits(lib.solve(matrix[None], b[None])[0][0]), exact.exact_solution(matrix, b))
    # Halves of odd integers: A = 2 I in other bases, so that midpoints are exact.
    for n in (2, 4, 9):
        u = np.triu(rng.integers(-1, 2, (n, n)), 1) + np.eye(n, dtype=int)
        half = [int(2 * rng.integers(2 ** (p - 1), 2**p) + 1) for _ in range(n)]
        half[1:] = [h % 2**8 * 2 + 1 for h in half[1:]]
        a, rows = u.astype(object) * 2, None
        rows = [sum(int(a[i, j]) * half[j] for j in range(n)) for i in range(n)]
        small = [Fraction(r, 2**p) for r in rows]
        b = np.array([float(r) for r in small], dtype)[:, None]
        matrix = a.astype(dtype)
        ties += sum(exact.rational(v) == r for v, r in zip(b[:, 0], small, strict=True))
        assert np.array_equal(bits(lib.solve(matrix[None], b[None])[0][0]), exact.exact_solution(matrix, b))
    assert ties
    # One equation each: q x = b with x a midpoint.
    for _ in range(50):
        q = int(rng.integers(1, 2**5)) * 2 + 1
        m = int(rng.integers(2 ** (p - 6) // q, 2 ** (p - 5) // q)) * 2 + 1
        b = np.array([[m * q]], dtype)
        assert np.array_equal(
            bits(lib.solve(np.array([[[q]]], dtype), b[None])[0][0]), exact.exact_solution(np.array([[q]], dtype), b)
        )


@DTYPES
def test_midpoints_beside_fractions(lib, dtype):
    """A component that is exactly a midpoint, in a system whose others have no end: the bound of the determinant decides it."""
    p = 24 if dtype == "f4" else 53
    big = 2.0 ** (p - 1) + 1
    # x = (2^(p-1) + 1 + 1/2), y = 1/3: 2 x = 2^p + 3, but 2^p + 3 is no number: 2 x - 3 y = 2^p + 2
    a = np.array([[2, -3], [0, 3]], dtype)
    for rows in ([2.0**p + 2, 1.0], [2.0**p + 6, 1.0], [2 * big - 2, 1.0]):
        b = np.array(rows, dtype)[:, None]
        assert np.array_equal(bits(lib.solve(a[None], b[None])[0][0]), exact.exact_solution(a, b))
        assert np.array_equal(bits(lib.solve(a[None], b[None], "upper")[0][0]), exact.exact_solution(a, b))


@DTYPES
def test_determinants_at_boundaries(lib, dtype):
    """Products of two integers, less another: midpoints, and their neighbours."""
    rng, p, ties = np.random.default_rng(7), 24 if dtype == "f4" else 53, 0
    for _ in range(200):
        x, y = (int(v) for v in rng.integers(2 ** (p // 2), 2 ** (p // 2 + 1), 2))
        k = int(rng.integers(1, 8))
        d = ((x * y) >> k << k) + (1 << (k - 1))
        a = np.array([[x, x * y - d], [1, y]], dtype)
        ties += int(exact.exact_determinant(a)) % 2 == 1
        assert bits(lib.det(a[None]))[0] == exact.determinant_bits(a)
    assert ties
    for n in (2, 3, 6):  # beside 1, where the logarithm is small, and 1 itself
        for step in (0, 1, -1):
            a = np.eye(n, dtype=dtype) + np.triu(rng.integers(-2, 3, (n, n)), 1).astype(dtype)
            a[0, 0] = np.nextafter(a[0, 0], np.array(a[0, 0] + step, dtype))
            _, log = lib.slogdet(a[None])
            assert bits(log)[0] == exact.log_bits(exact.exact_determinant(a), dtype)


@DTYPES
def test_short_solutions(lib, dtype):
    """Zeros and midpoints beside each other, of systems without zeros; and such that are only near them, in the same batch of columns."""
    rng, p = np.random.default_rng(9), PRECISION[dtype]
    for n in (2, 5, 17, 40):
        a = rng.integers(-9, 10, (n, n)) * 2 + 1
        short = rng.integers(-3, 4, n) * (rng.random(n) < 0.6)
        middle = np.array([2**p + 1 if t else 0 for t in rng.random(n) < 0.5], object)
        columns = [a.astype(object) @ x for x in (short, middle, np.eye(n, dtype=int)[0])]
        b = np.stack([c for c in columns if all(int(np.array(v, dtype)) == v for v in c)], 1).astype(dtype)
        near = b.copy()
        near[0] = np.nextafter(near[0], np.array(np.inf, dtype))
        a, b = a.astype(dtype), np.hstack([near[:, :1], b, near])
        want = exact.exact_solution(a, b)
        if want is not None:
            assert np.array_equal(bits(lib.solve(a[None], b[None])[0][0]), want), n


@DTYPES
def test_zeros_of_large_systems(lib, dtype):
    """Integers would decide them in minutes."""
    a = np.random.default_rng(10).standard_normal((300, 300)).astype(dtype)
    got, info = lib.solve(a[None], a[None, :, :2])
    assert info[0] == 0 and np.array_equal(got[0], np.eye(300, 2))


def beside_midpoint(a):
    """a with another corner, of 8,192 neighbours the one whose determinant is nearest to a midpoint: it is affine in the corner."""
    a, p = a.copy(), PRECISION[a.dtype.str[1:]]
    step = np.spacing(a[0, 0])
    d, c = exact.exact_determinant(a), exact.exact_determinant(a[1:, 1:]) * Fraction(float(step))
    unit = Fraction(2) ** (math.frexp(float(d))[1] - p)
    places = (float(d / unit % 1) + np.arange(8192) * float(c / unit % 1)) % 1 - 0.5
    a[0, 0] += np.abs(places).argmin() * step
    return a


@DTYPES
@pytest.mark.parametrize("condition", [None, 2.0**12, 2.0**24, 2.0**40])
def test_determinants_of_factors_with_residuals_beside_midpoints(lib, dtype, condition):
    """Some 2^-13 of a half unit away, in matrices that are more and more singular: each enclosure decides some of them."""
    rng = np.random.default_rng(8)
    for n in (3, 9, 24, 70) if condition is None else (12, 70):
        a = rng.standard_normal((n, n))
        if condition:
            u, _, v = np.linalg.svd(a)
            a = u * np.geomspace(1, 1 / condition, n) * n @ v
        a = beside_midpoint(a.astype(dtype))
        assert bits(lib.det(a[None]))[0] == exact.determinant_bits(a), n
        sign, log = lib.slogdet(a[None])
        d = exact.exact_determinant(a)
        assert sign[0] == (d > 0) - (d < 0) and bits(log)[0] == exact.log_bits(d, dtype), n


@DTYPES
def test_range(lib, dtype):
    """Results that overflow, are subnormal, or round to zero with the sign of the exact value."""
    top = np.finfo(dtype).max
    small = np.finfo(dtype).smallest_subnormal
    for a, b in [
        ([[small]], [[top]]),
        ([[top]], [[small]]),
        ([[top]], [[-small]]),
        ([[3]], [[small * 4]]),
        ([[3]], [[small]]),
        ([[2]], [[small]]),
        ([[2]], [[small * 3]]),
        ([[-2]], [[small]]),
        ([[top, top], [top, -top]], [[small], [top]]),
        ([[small, small * 2], [small * 3, small]], [[top], [1]]),
        ([[1, top], [small, 1]], [[1], [small]]),
    ]:
        a, b = np.array(a, dtype), np.array(b, dtype)
        got, _ = lib.solve(a[None], b[None])
        want = exact.exact_solution(a, b)
        assert np.array_equal(bits(got[0]), want)
        assert bits(lib.det(a[None]))[0] == exact.determinant_bits(a)
        lu, _, _ = lib.lu_factor(a[None])
        if np.isfinite(lu).all():
            assert np.array_equal(bits(lu[0]), exact.recurrence_lu(a)[0])


@DTYPES
def test_special_values(lib, dtype):
    nan = nan_bits(dtype)
    for bad in (np.inf, -np.inf, np.nan):
        a, b = np.eye(3, dtype=dtype) * 2, np.ones((3, 2), dtype)
        b[1, 0] = bad
        got, info = lib.solve(a[None], b[None])
        assert (bits(got[0][:, 0]) == nan).all() and (got[0][:, 1] == 0.5).all() and info[0] == 0
        a[0, 2] = bad
        got, info = lib.solve(a[None], np.ones((1, 3, 2), dtype))
        assert (bits(got) == nan).all() and info[0] == 0
        got, _ = lib.solve(a[None], np.ones((1, 3, 2), dtype), "lower")  # which does not read it
        assert (got == 0.5).all()
        assert bits(lib.det(a[None]))[0] == nan and [bits(v)[0] for v in lib.slogdet(a[None])] == [nan, nan]
        lu, _, _ = lib.lu_factor(a[None])
        assert not np.isfinite(lu[0, 0, 2]) and (bits(lu[np.isnan(lu)]) == nan).all()
        low = a.T.copy()
        got, info = lib.cholesky(low[None])
        root = np.sqrt(np.eye(3, dtype=dtype) * 2)
        assert info[0] == 3 and (bits(got[0, 2]) == nan).all() and np.array_equal(got[0, :2], root[:2])
    # A NaN is the pivot.
    a = np.array([[1, 2], [np.nan, 5]], dtype)
    lu, pivots, _ = lib.lu_factor(a[None])
    assert pivots[0].tolist() == [2, 2] and bits(lu[0])[0, 0] == nan and (bits(lu[0])[1] == nan).all()
    lu, pivots, info = lib.lu_factor(np.zeros((1, 3, 2), dtype))
    assert (bits(lu) == 0).all() and pivots[0].tolist() == [1, 2] and info[0] == 1
    a = np.array([[np.inf, 0], [np.inf, 4]], dtype)
    got, info = lib.cholesky(a[None])
    assert got[0, 0, 0] == np.inf and info[0] == 2
    # An exact 0 is +0, whatever the signs of its terms are.
    got, _ = lib.solve(np.array([[[-2, 0], [0, 3]]], dtype), np.array([[[-0.0], [3]]], dtype))
    assert bits(got[0]).tolist() == [[0], bits(np.array([1], dtype)).tolist()]
    got, _ = lib.solve(np.array([[[-2, 2], [2, 3]]], dtype), np.array([[[2.0], [3]]], dtype))
    assert bits(got[0])[0, 0] == 0
    lu, _, _ = lib.lu_factor(np.array([[[-2, 0], [0, 3]]], dtype))
    assert bits(lu[0])[1, 0] == 0


@DTYPES
def test_views_and_threads(lib, dtype):
    rng = np.random.default_rng(8)
    a, b = rng.standard_normal((5, 6, 6)).astype(dtype), rng.standard_normal((5, 6, 4)).astype(dtype)
    spd = (a @ a.transpose(0, 2, 1) + np.eye(6)).astype(dtype)

    def everything(a, b, spd):
        lu = lib.lu_factor(a)
        return [
            *lib.solve(a, b), *lib.solve(a, None), *lib.solve(a, b, "lower"), *lib.solve(a, b, "upper", True),
            *lib.cholesky(spd), *lu, lib.det(a), *lib.slogdet(a),
        ]  # fmt: skip

    def same(x, y):
        return all(
            np.array_equal(bits(p) if p.dtype.kind == "f" else p, bits(q) if q.dtype.kind == "f" else q)
            for p, q in zip(x, y, strict=True)
        )

    want = everything(a, b, spd)
    for layout in (
        lambda x: np.ascontiguousarray(x.transpose(0, 2, 1)).transpose(0, 2, 1),
        lambda x: np.ascontiguousarray(x[:, ::-1, ::-1])[:, ::-1, ::-1],
        lambda x: np.repeat(np.repeat(x, 2, 1), 3, 2)[:, ::2, ::3],
        lambda x: np.ascontiguousarray(x[::-1])[::-1],
    ):
        assert same(everything(layout(a), layout(b), layout(spd)), want)
    alone = [everything(a[i : i + 1], b[i : i + 1], spd[i : i + 1]) for i in range(5)]
    assert same([np.concatenate(parts) for parts in zip(*alone, strict=True)], want)
    repeated = np.broadcast_to(a[:1], a.shape)
    assert same(everything(repeated, b, spd), everything(repeated.copy(), b, spd))
    lib.threads(2)
    many = [np.concatenate([x] * 60) for x in (a, b, spd)]
    try:
        assert same(everything(*many), [np.concatenate([x] * 60) for x in want])
    finally:
        lib.threads(1)


@DTYPES
def test_larger(lib, dtype):
    """Blocks of every kernel, and columns of which some need more terms."""
    rng = np.random.default_rng(9)
    n = 97
    a = rng.integers(-9, 10, (n, n)).astype(dtype)
    b = np.concatenate([rng.standard_normal((n, 2)), np.eye(n)[:, :1]], 1).astype(dtype)
    assert np.array_equal(bits(lib.solve(a[None], b[None])[0][0]), exact.exact_solution(a, b))
    t = np.tril(a)
    np.fill_diagonal(t, 4)
    t *= np.where(np.eye(n, dtype=bool), 1, 0.1).astype(dtype)
    assert np.array_equal(bits(lib.solve(t[None], b[None], "lower")[0][0]), exact.exact_solution(t, b))
    assert bits(lib.det(a[None]))[0] == exact.determinant_bits(a)
    # Of a lower triangle the inverse's zeros are known without integers of thousands of bits.
    inverse, _ = lib.solve(t[None], None, "lower")
    assert (bits(inverse[0])[np.triu_indices(n, 1)] == 0).all()


@DTYPES
def test_nothing(lib, dtype):
    empty = np.zeros((2, 0, 0), dtype)
    assert lib.det(empty).tolist() == [1, 1] and [v.tolist() for v in lib.slogdet(empty)] == [[1, 1], [0, 0]]
    for result in (
        lib.cholesky(empty),
        lib.lu_factor(empty),
        lib.solve(empty, None),
        lib.solve(empty, np.zeros((2, 0, 3), dtype)),
    ):
        assert result[-1].tolist() == [0, 0]
    assert lib.lu_factor(np.zeros((2, 0, 3), dtype))[2].tolist() == [0, 0]
    assert lib.solve(np.eye(3, dtype=dtype)[None], np.zeros((1, 3, 0), dtype))[1].tolist() == [0]
    assert lib.solve(np.ones((1, 3, 3), dtype), np.zeros((1, 3, 0), dtype))[1].tolist() == [2]
    assert lib.det(np.zeros((0, 3, 3), dtype)).shape == (0,)


def test_statuses(lib):
    a, x, i = np.eye(3), np.empty((3, 3)), np.empty(3, np.int32)
    s = [I64(v) for v in (0, 24, 8)]
    one, n = I64(1), I64(3)

    def call(name, *args):
        return getattr(lib.c, name)(*args)

    assert call("rm_cholesky", 2 + 7, one, n, pointer(a), *s, pointer(x), pointer(i)) == status(ENUM, 1)
    assert call("rm_cholesky", 1, one, n, pointer(a), *s, pointer(x), pointer(i)) == status(ENUM, 1)
    assert call("rm_cholesky", 3, I64(-1), n, pointer(a), *s, pointer(x), pointer(i)) == status(SIZE, 2)
    assert call("rm_cholesky", 3, one, I64(-3), pointer(a), *s, pointer(x), pointer(i)) == status(SIZE, 3)
    assert call("rm_cholesky", 3, one, n, P(None), *s, pointer(x), pointer(i)) == status(NULL, 4)
    assert call("rm_cholesky", 3, one, n, pointer(a), *s, P(None), pointer(i)) == status(NULL, 8)
    assert call("rm_cholesky", 3, one, n, pointer(a), *s, pointer(x), P(None)) == status(NULL, 9)
    assert call("rm_cholesky", 3, one, n, pointer(a), *s, pointer(a), pointer(i)) == status(OVERLAP, 8)
    assert call("rm_lu_factor", 3, one, n, I64(-1), pointer(a), *s, pointer(x), pointer(i), pointer(i)) == status(SIZE, 4)
    assert call("rm_lu_factor", 3, one, n, n, pointer(a), *s, pointer(x), P(None), pointer(i)) == status(NULL, 10)
    assert call("rm_lu_factor", 3, one, n, n, pointer(a), *s, pointer(a), pointer(i), pointer(i)) == status(OVERLAP, 9)
    assert call("rm_solve", 3, one, n, I64(-1), pointer(a), *s, pointer(a), *s, pointer(x), pointer(i)) == status(SIZE, 4)
    assert call("rm_solve", 3, one, n, I64(2), pointer(a), *s, P(None), *s, pointer(x), pointer(i)) == status(SIZE, 4)
    assert call("rm_solve", 3, one, n, n, pointer(a), *s, pointer(a), *s, pointer(a), pointer(i)) == status(OVERLAP, 13)
    assert call("rm_solve", 3, one, n, n, P(None), *s, pointer(a), *s, pointer(x), pointer(i)) == status(NULL, 5)
    assert call("rm_solve", 3, one, n, n, pointer(a), *s, pointer(a), *s, pointer(x), P(None)) == status(NULL, 14)
    triangular = pointer(a), *s, pointer(a), *s, pointer(x), pointer(i)
    assert call("rm_solve_triangular", 3, 2, 0, one, n, n, *triangular) == status(ENUM, 2)
    assert call("rm_solve_triangular", 3, 1, 3, one, n, n, *triangular) == status(ENUM, 3)
    assert call("rm_solve_triangular", 3, 1, 0, I64(-1), n, n, *triangular) == status(SIZE, 4)
    assert call("rm_det", 3, one, n, pointer(a), *s, P(None)) == status(NULL, 8)
    assert call("rm_slogdet", 3, one, n, pointer(a), *s, pointer(x), P(None)) == status(NULL, 9)
    assert call("rm_slogdet", 3, one, n, pointer(a), *s, pointer(x), pointer(a)) == status(OVERLAP, 9)


def test_limit_of_work(lib):
    """Where exact integers would take too long, it says so, and what is not decided is NaN."""
    n = 900
    rng = np.random.default_rng(10)
    a = rng.standard_normal((n, n)) * 2.0 ** rng.integers(-500, 500, (n, n))
    x, _ = lib.solve(a[None], np.ones((1, n, 1)), expected=UNDECIDED)
    assert (bits(x) == nan_bits("f8")).all()
