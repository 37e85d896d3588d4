"""repmath.linalg: NumPy's and SciPy's names and meanings, values beside rational numbers, errors that name the argument."""

import linalg_library as exact
import numpy as np
import pytest
import scipy.linalg
from linalg_library import bits

from repmath import linalg

DTYPES = pytest.mark.parametrize("dtype", ["f4", "f8"])


def matrices(dtype, *shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def positive(dtype, *shape):
    a = matrices(dtype, *shape)
    return (a @ np.swapaxes(a, -1, -2) + np.eye(shape[-1])).astype(dtype)


def close(a, b, dtype):
    """The meaning of a result is NumPy's; its bits are compared elsewhere."""
    np.testing.assert_allclose(a, b, 1e-3 if dtype == "f4" else 1e-10)


@DTYPES
def test_names_and_shapes_of_numpy(dtype):
    a, spd = matrices(dtype, 2, 3, 4, 4), positive(dtype, 2, 3, 4, 4)
    for ours, theirs, args in [
        (linalg.cholesky, np.linalg.cholesky, (spd,)),
        (linalg.inv, np.linalg.inv, (a,)),
        (linalg.det, np.linalg.det, (a,)),
        (linalg.slogdet, np.linalg.slogdet, (a,)),
        (linalg.solve, np.linalg.solve, (a, matrices(dtype, 2, 3, 4, 2))),
        (linalg.solve, np.linalg.solve, (a[0, 0], matrices(dtype, 4))),
        (linalg.solve, np.linalg.solve, (a, matrices(dtype, 4))),
        (linalg.solve, np.linalg.solve, (a[0, 0], matrices(dtype, 5, 4, 2))),
        (linalg.solve, np.linalg.solve, (a[:, :1], matrices(dtype, 3, 4, 2))),
        (linalg.det, np.linalg.det, (a[0, 0],)),
        (linalg.slogdet, np.linalg.slogdet, (a[0, 0],)),
        (linalg.inv, np.linalg.inv, (np.zeros((0, 3, 3), dtype),)),
        (linalg.det, np.linalg.det, (np.zeros((2, 0, 0), dtype),)),
    ]:
        got, want = ours(*args), theirs(*args)
        for x, y in zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]:
            assert type(x) is type(y) and x.dtype == y.dtype and x.shape == y.shape
            close(x, y, dtype)
    assert linalg.slogdet(a)._fields == ("sign", "logabsdet")
    upper = linalg.cholesky(spd, upper=True)
    assert np.array_equal(bits(upper), bits(np.swapaxes(linalg.cholesky(np.swapaxes(spd, -1, -2)), -1, -2)))


@DTYPES
def test_names_of_scipy(dtype):
    a, b, spd = matrices(dtype, 5, 5), matrices(dtype, 5, 2), positive(dtype, 5, 5)
    lu, piv = linalg.lu_factor(a)
    want, want_piv = scipy.linalg.lu_factor(a)
    close(lu, want, dtype)
    assert np.array_equal(piv, want_piv)
    assert linalg.lu_factor(matrices(dtype, 2, 3, 5))[1].shape == (2, 3)
    for trans in (0, 1, 2):
        close(linalg.lu_solve((lu, piv), b, trans), scipy.linalg.lu_solve((lu, piv), b, trans), dtype)
        for lower in (False, True):
            for unit in (False, True):
                close(
                    linalg.solve_triangular(a, b, trans, lower, unit),
                    scipy.linalg.solve_triangular(a, b, trans, lower, unit_diagonal=unit),
                    dtype,
                )
    for lower in (False, True):
        factor = linalg.cho_factor(spd, lower)
        close(linalg.cho_solve(factor, b), scipy.linalg.cho_solve(scipy.linalg.cho_factor(spd, lower), b), dtype)
        close(linalg.cho_solve(factor, b[:, 0]), np.linalg.solve(spd, b[:, 0]), dtype)
    assert linalg.lu_solve((lu, piv), b[:, 0]).shape == (5,)


@DTYPES
def test_bits(dtype):
    a, b, spd = matrices(dtype, 6, 6), matrices(dtype, 6, 2), positive(dtype, 6, 6)
    assert np.array_equal(bits(linalg.solve(a, b)), exact.exact_solution(a, b))
    assert np.array_equal(bits(linalg.solve(a, b[:, 0])), exact.exact_solution(a, b)[:, 0])
    assert np.array_equal(bits(linalg.inv(a.T)), exact.exact_solution(a.T, None))
    assert np.array_equal(bits(linalg.cholesky(spd)), exact.recurrence_cholesky(spd)[0])
    lu, piv = linalg.lu_factor(a)
    want, pivots, _ = exact.recurrence_lu(a)
    assert np.array_equal(bits(lu), want) and (piv + 1).tolist() == pivots
    assert bits(np.array(linalg.det(a)))[()] == exact.determinant_bits(a)
    # Two solutions, one after the other.
    order = np.arange(6)
    for i, p in enumerate(piv):
        order[[i, p]] = order[[p, i]]
    low = np.tril(lu, -1) + np.eye(6, dtype=dtype)
    y = exact.exact_solution(low, b[order]).view(dtype)
    assert np.array_equal(bits(linalg.lu_solve((lu, piv), b)), exact.exact_solution(np.triu(lu), y))
    z = exact.exact_solution(low.T.copy(), exact.exact_solution(np.triu(lu).T.copy(), b).view(dtype))
    back = np.empty_like(z)
    back[order] = z
    assert np.array_equal(bits(linalg.lu_solve((lu, piv), b, 1)), back)


def test_formats():
    ints = np.array([[2, 1], [1, 3]])
    assert linalg.inv(ints).dtype == np.float64 and linalg.solve(ints, np.ones(2, "f4")).dtype == np.float64
    assert linalg.det(ints) == 5 and linalg.inv(ints.astype("f4")).dtype == np.float32
    assert linalg.det(ints.astype(">f8")) == 5
    for bad in (np.eye(2, dtype="f2"), np.eye(2, dtype="c16"), np.eye(2, dtype="O")):
        for call in (linalg.inv, linalg.det, linalg.slogdet, linalg.cholesky, linalg.lu_factor):
            with pytest.raises(TypeError, match="^a has dtype"):
                call(bad)
    with pytest.raises(TypeError, match="^b has dtype"):
        linalg.solve(np.eye(2), np.eye(2, dtype="c16"))
    with pytest.raises(ValueError, match=r"^a has integers beyond 2\*\*53"):
        linalg.inv(np.array([[2**60]]))
    with pytest.raises(TypeError, match="a is a masked array"):
        linalg.inv(np.ma.masked_array(np.eye(2)))


def test_errors():
    LinAlgError = np.linalg.LinAlgError
    assert linalg.LinAlgError is LinAlgError
    eye, singular = np.eye(3), np.ones((3, 3))
    stack = np.stack([eye, singular, eye])
    for call in (linalg.inv, lambda a: linalg.solve(a, np.ones((3, 1)))):
        with pytest.raises(LinAlgError, match="^Singular matrix: column 1 of a depends"):
            call(singular)
        with pytest.raises(LinAlgError, match=r"^Singular matrix: column 1 of a\[1\] depends"):
            call(stack)
    assert linalg.det(singular) == 0 and linalg.slogdet(singular) == (0, -np.inf)
    with pytest.raises(LinAlgError, match=r"^a\[1\] is not positive definite: row 1"):
        linalg.cholesky(stack)
    with pytest.raises(LinAlgError, match="^Singular matrix: element 2 of the diagonal of a is 0"):
        linalg.solve_triangular(np.diag([1.0, 2, 0]), np.ones(3))
    with pytest.raises(LinAlgError, match="of lu depends"):
        linalg.lu_solve(linalg.lu_factor(np.zeros((2, 2))), np.ones(2))
    with pytest.raises(LinAlgError, match="of c depends"):
        linalg.cho_solve((np.zeros((2, 2)), True), np.ones(2))
    for call in (linalg.inv, linalg.det, linalg.slogdet, linalg.cholesky, lambda a: linalg.solve(a, np.ones(3))):
        with pytest.raises(LinAlgError, match="^a has shape"):
            call(np.ones((2, 3)))
        with pytest.raises(LinAlgError, match="^a has 1 axes"):
            call(np.ones(3))
    with pytest.raises(LinAlgError, match="^a has 1 axes"):
        linalg.lu_factor(np.ones(3))
    with pytest.raises(ValueError, match="^b has 2 rows"):
        linalg.solve(eye, np.ones(2))
    with pytest.raises(LinAlgError, match="^b has no axes"):
        linalg.solve(eye, 1.0)
    with pytest.raises(ValueError, match="^trans must be"):
        linalg.solve_triangular(eye, np.ones(3), 3)
    with pytest.raises(ValueError, match="^trans must be"):
        linalg.lu_solve(linalg.lu_factor(eye), np.ones(3), 3)
    with pytest.raises(ValueError, match="^piv must have shape"):
        linalg.lu_solve((eye, np.array([0, 1, 3])), np.ones(3))
    with pytest.raises(TypeError, match="^piv has dtype"):
        linalg.lu_solve((eye, np.ones(3)), np.ones(3))
    with pytest.raises(TypeError, match="^a must be an array"):
        linalg.inv(None)
