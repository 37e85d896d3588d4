"""QR, eigenvalues, singular values and what is made of them, for NumPy: every bit beside the written steps; products beside rational numbers."""

from fractions import Fraction

import numpy as np
import pytest
from decomposition_steps import plain_eigh, plain_q, plain_reflectors, plain_svd

import repmath
from repmath import linalg

SHAPES = ((4, 4), (5, 3), (2, 4), (1, 3), (3, 1))
FORMATS = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def stack(shape, dtype, seed=1):
    return np.random.default_rng(seed).standard_normal((2, *shape)).astype(dtype)


def same(found, expected, dtype):
    """The written steps, in binary64, rounded to the format at the end."""
    expected = np.array(expected).astype(dtype)
    assert found.dtype == dtype and found.shape == expected.shape and found.tobytes() == expected.tobytes()


def rows(a):
    return a.astype(np.float64).tolist()


@FORMATS
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_written_steps(shape, dtype):
    a = stack(shape, dtype)
    m, n = shape
    short, whole, thin, full, values = (
        linalg.qr(a),
        linalg.qr(a, "complete"),
        linalg.svd(a, full_matrices=False),
        linalg.svd(a),
        linalg.svdvals(a),
    )
    for i in range(2):
        factors, taus = plain_reflectors(rows(a[i]))
        same(whole.Q[i], plain_q(factors, taus, m), dtype), same(whole.R[i], np.triu(np.array(factors)), dtype)
        (
            same(short.Q[i], plain_q(factors, taus, min(m, n)), dtype),
            same(short.R[i], np.triu(np.array(factors))[: min(m, n)], dtype),
        )
        u, s, v = plain_svd(rows(a[i]))
        (
            same(thin.U[i], u, dtype),
            same(thin.S[i], s, dtype),
            same(thin.Vh[i], np.array(v).T, dtype),
            same(values[i], s, dtype),
        )
    assert full.U.shape == (2, m, m) and full.Vh.shape == (2, n, n) and full.S.tobytes() == values.tobytes()
    assert linalg.qr(a, "r").tobytes() == short.R.tobytes() and linalg.svd(a, compute_uv=False).tobytes() == values.tobytes()


@FORMATS
def test_eigenvalues(dtype):
    a = stack((4, 4), dtype)
    found, upper = linalg.eigh(a), linalg.eigh(np.swapaxes(a, 1, 2), "U")
    for i in range(2):
        values, vectors = plain_eigh(rows(a[i]))
        same(found.eigenvalues[i], values, dtype), same(found.eigenvectors[i], vectors, dtype)
    assert linalg.eigvalsh(a).tobytes() == found.eigenvalues.tobytes() == upper.eigenvalues.tobytes()
    assert upper.eigenvectors.tobytes() == found.eigenvectors.tobytes() != linalg.eigh(a, "U").eigenvectors.tobytes()


@FORMATS
def test_pseudoinverse_and_rank(dtype):
    a = stack((5, 3), dtype)
    a[1, :, 2] = a[1, :, 0]  # of rank 2
    assert linalg.matrix_rank(a).tolist() == [3, 2] and linalg.matrix_rank(a, rtol=[0.9, 0.0]).tolist()[0] < 3
    assert np.allclose(linalg.pinv(a), np.linalg.pinv(a, rtol=1e-5), rtol=0, atol=3e-5 if dtype == np.float32 else 1e-12)
    u, s, v = (np.array(part) for part in plain_svd(rows(a[0])))
    over = v * (1 / s)
    want = [[float(sum(Fraction(x) * Fraction(y) for x, y in zip(p, q))) for q in u.tolist()] for p in over.tolist()]
    same(linalg.pinv(a[0]), want, dtype)
    assert linalg.matrix_rank(np.zeros((0, 3))) == 0 and linalg.pinv(np.zeros((0, 3))).shape == (3, 0)


@FORMATS
def test_powers(dtype):
    a = stack((3, 3), dtype)
    square = repmath.matmul(a, a)
    for n, want in ((2, square), (3, repmath.matmul(a, square)), (4, repmath.matmul(square, square)), (1, a)):
        found = linalg.matrix_power(a, n)
        assert found.dtype == dtype and found.tobytes() == want.tobytes() and not np.shares_memory(found, a)
    assert (linalg.matrix_power(a, 0) == np.eye(3)).all() and linalg.matrix_power(a, 0).dtype == dtype
    assert linalg.matrix_power(a, -1).tobytes() == linalg.inv(a).tobytes()


@FORMATS
def test_cross_products_are_rational(dtype):
    rng = np.random.default_rng(2)
    x = rng.standard_normal((40, 3)).astype(dtype)
    y = (x * (1 + rng.integers(-3, 4, (40, 3)) * np.finfo(dtype).eps)).astype(dtype)  # the products nearly cancel
    found = linalg.cross(x, y)
    assert found.dtype == dtype
    for p, q, r in zip(rows(x), rows(y), found):
        exact = [Fraction(p[i - 2]) * Fraction(q[i - 1]) - Fraction(p[i - 1]) * Fraction(q[i - 2]) for i in range(3)]
        for value, v in zip(r, exact):
            step = Fraction(float(np.spacing(np.abs(value))))
            assert abs(Fraction(float(value)) - v) * 2 <= step
    assert not (np.cross(x, y) == found).all()  # the control: NumPy rounds each product
    assert linalg.cross(x.T, y.T, axis=0).tobytes() == np.ascontiguousarray(found.T).tobytes()
    assert linalg.cross(x[0], y).shape == (40, 3) and linalg.cross([1, 2, 3], [4, 5, 6]).tolist() == [-3, 6, -3]


def test_integers_and_empty_matrices():
    a = np.array([[2, 1], [1, 2]])
    assert linalg.eigvalsh(a).dtype == np.float64 and linalg.svdvals(a).tolist() == linalg.svdvals(a.astype(float)).tolist()
    for shape in ((0, 3), (3, 0), (0, 0), (2, 0, 3)):
        m, n = shape[-2:]
        u, s, v = linalg.svd(np.zeros(shape))
        assert u.shape[-2:] == (m, m) and s.shape[-1] == 0 and v.shape[-2:] == (n, n)
        assert linalg.qr(np.zeros(shape)).R.shape[-2:] == (0, n)
    assert linalg.eigh(np.zeros((0, 0))).eigenvalues.shape == (0,)


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda a: linalg.qr(a[0]), linalg.LinAlgError, "axes"),
        (lambda a: linalg.eigh(a[:2]), linalg.LinAlgError, "equally long"),
        (lambda a: linalg.matrix_power(a[:2], 2), linalg.LinAlgError, "equally long"),
        (lambda a: linalg.matrix_power(np.zeros((2, 2)), -1), linalg.LinAlgError, "Singular"),
        (lambda a: linalg.matrix_power(a, 0.5), TypeError, "float"),
        (lambda a: linalg.svd(a * np.inf), linalg.LinAlgError, "not finite"),
        (lambda a: linalg.qr(a, "raw"), ValueError, "mode"),
        (lambda a: linalg.eigvalsh(a, "X"), ValueError, "UPLO"),
        (lambda a: linalg.svdvals(a.astype(np.float16)), TypeError, "float16"),
        (lambda a: linalg.pinv(a + 0j), TypeError, "complex"),
        (lambda a: linalg.cross(a[:, :2], a), ValueError, "3 elements"),
    ],
)
def test_errors(call, error, text):
    with np.errstate(all="ignore"), pytest.raises(error, match=text):
        call(np.ones((3, 3)))


def test_a_scope_refuses_what_lacks_the_mode():
    """Nothing inside of a scope rounds to nearest instead."""
    with repmath.rounding.scope("stochastic"), pytest.raises(TypeError, match="^inv of matrices of infinities"):
        repmath.linalg.inv(np.full((3, 3), np.inf))
