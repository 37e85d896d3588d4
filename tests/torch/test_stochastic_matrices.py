"""Linear algebra in blocks of stochastic(): with a last step that rounds to nearest the results are those of reproducible(); the words are those of the
places, by factors and solutions of the test's own."""

import gmpy2
import numpy as np
import pytest
import rounding_oracle

torch = pytest.importorskip("torch")

import repmath.torch  # noqa: E402
from repmath import _random_matrices  # noqa: E402
from repmath.torch import UncoveredOperatorError, stochastic  # noqa: E402

SEED, SAMPLE = 3, 1
FORMATS = {torch.float32: "f32", torch.float64: "f64"}
mpq, aten = gmpy2.mpq, torch.ops.aten
DTYPES = pytest.mark.parametrize("dtype", list(FORMATS), ids=FORMATS.values())
MODES = pytest.mark.parametrize("mode", rounding_oracle.OF_VALUES)


def numbers(*shape, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)


def positive(*shape, dtype=torch.float32):
    a = numbers(*shape, dtype=torch.float64)
    return (a @ a.mT + torch.eye(shape[-1])).to(dtype)


def calls(dtype):
    a, b, p = numbers(2, 4, 4, dtype=dtype), numbers(2, 4, 3, dtype=dtype), positive(2, 4, 4, dtype=dtype)
    tall, broad = numbers(5, 3, dtype=dtype), numbers(3, 5, dtype=dtype)
    factor = torch.linalg.cholesky(p)
    lu, pivots = torch.linalg.lu_factor(a)
    even = a + a.mT - 2 * torch.diag_embed(torch.diagonal(a, dim1=-2, dim2=-1))  # without a diagonal: pivots of two rows
    both, (ld, exchanged) = a + a.mT, torch.linalg.ldl_factor(even)
    return [
        lambda: torch.linalg.ldl_factor(both),
        lambda: torch.linalg.ldl_factor(even),
        lambda: torch.linalg.ldl_solve(ld, exchanged, b),
        lambda: torch.linalg.cholesky(p),
        lambda: torch.linalg.cholesky(p, upper=True),
        lambda: torch.cholesky(p[0]),
        lambda: torch.cholesky_solve(b, factor),
        lambda: torch.cholesky_solve(b, factor.mT, upper=True),
        lambda: torch.cholesky_inverse(factor),
        lambda: torch.linalg.lu_factor(a),
        lambda: torch.linalg.lu_factor(tall),
        lambda: torch.linalg.lu_factor(broad),
        lambda: torch.linalg.lu(a),
        lambda: torch.linalg.lu_solve(lu, pivots, b),
        lambda: torch.linalg.lu_solve(lu, pivots, b.mT, left=False),
        lambda: torch.linalg.lu_solve(lu, pivots, b, adjoint=True),
        lambda: torch.linalg.solve(a, b),
        lambda: torch.linalg.solve(a, b.mT, left=False),
        lambda: torch.linalg.solve(a[0], b[0, :, 0]),
        lambda: aten._linalg_solve_ex(a, b)[1:3],
        lambda: torch.linalg.det(a),
        lambda: torch.linalg.det(a[0]),
        lambda: torch.linalg.slogdet(a),
        lambda: aten._linalg_det(a)[1:],
    ]


def tensors(made):
    return list(made) if isinstance(made, (tuple, list)) else [made]


@DTYPES
def test_to_nearest_it_is_reproducible(monkeypatch, dtype):
    """The recurrences, pivots and layouts."""

    def nearest(value, kind, mode, word):
        with gmpy2.context(precision=24 if kind == "float32" else 53):
            return float(gmpy2.mpfr(mpq(value)))

    monkeypatch.setattr(_random_matrices, "rounded", nearest)
    for i, call in enumerate(calls(dtype)):
        with repmath.torch.reproducible():
            wanted = tensors(call())
        with stochastic(SEED, SAMPLE) as block:
            made = tensors(call())
        assert block.calls and all(a.equal(b) and a.stride() == b.stride() for a, b in zip(made, wanted, strict=True)), i


class Own:
    """Rounds the elements of one array."""

    def __init__(self, mode, fmt, array, size, call=0):
        self.words = rounding_oracle.words(SEED, (SAMPLE << 32) + call, array << 40, size).tolist()
        self.mode, self.fmt = mode, fmt

    def __call__(self, place, value):
        if not value:
            return mpq(0)
        bits = rounding_oracle.rounded(value, self.fmt, self.mode, self.words[place])
        kind = np.uint32 if self.fmt == "f32" else np.uint64
        return mpq(float(np.array([bits], kind).view("f4" if self.fmt == "f32" else "f8")[0]))


def rational(t):
    return [[mpq(v) for v in row] for row in t.double().tolist()]


def root(v):
    with gmpy2.context(precision=1400):
        return mpq(gmpy2.sqrt(gmpy2.mpfr(v)))


def inverse_times(a, b):
    """By determinants (Cramer)."""

    def det(m):
        if len(m) == 1:
            return m[0][0]
        return sum((-1) ** j * m[0][j] * det([r[:j] + r[j + 1 :] for r in m[1:]]) for j in range(len(m)))

    n, whole = len(a), det(a)
    return [
        [det([[b[i][c] if k == j else a[i][k] for k in range(n)] for i in range(n)]) / whole for c in range(len(b[0]))]
        for j in range(n)
    ]


@DTYPES
@MODES
def test_words(dtype, mode):
    fmt = FORMATS[dtype]
    p, a, b = positive(3, 3, dtype=dtype), numbers(3, 3, dtype=dtype), numbers(3, 2, dtype=dtype)
    with stochastic(SEED, SAMPLE, mode) as block:
        low = torch.linalg.cholesky(p)
        high = torch.linalg.cholesky(p, upper=True)
        x, lu, pivots, _ = aten._linalg_solve_ex(a, b)
        det, *_ = aten._linalg_det(a)
        solved = torch.cholesky_solve(b, low)
        sign, log, *_ = aten._linalg_slogdet(a)
    assert not block.uncovered
    number = 0
    q = rational(p)
    for made, upper in ((low, False), (high, True)):
        own, held = Own(mode, fmt, 0, 9, number), [[mpq(0)] * 3 for _ in range(3)]
        number += 1
        for i in range(3):
            for j in range(i + 1):
                rest = q[i][j] - sum(held[i][k] * held[j][k] for k in range(j))
                held[i][j] = own(3 * j + i if upper else 3 * i + j, root(rest) if i == j else rest / held[j][j])
        assert rational(made.mT if upper else made) == held
    m = rational(a)
    own = Own(mode, fmt, 0, 6, number)
    assert rational(x) == [
        [own(2 * i + c, v) for c, v in enumerate(row)] for i, row in enumerate(inverse_times(m, rational(b)))
    ]
    rows = list(range(3))
    for i, j in enumerate(pivots.tolist()):
        rows[i], rows[j - 1] = rows[j - 1], rows[i]
    own, held = Own(mode, fmt, 1, 9, number), [[mpq(0)] * 3 for _ in range(3)]
    for j in range(3):
        for i in range(3):
            rest = m[rows[i]][j] - sum(held[i][k] * held[k][j] for k in range(min(i, j)))
            held[i][j] = own(3 * rows[i] + j, rest if i <= j else rest / held[j][j])
    assert rational(lu) == held
    number += 2  # the solution and the factors
    exact = sum(
        s * m[0][i] * m[1][j] * m[2][k]
        for s, i, j, k in ((1, 0, 1, 2), (1, 1, 2, 0), (1, 2, 0, 1), (-1, 2, 1, 0), (-1, 1, 0, 2), (-1, 0, 2, 1))
    )
    assert mpq(float(det)) == Own(mode, fmt, 0, 1, number)(0, exact)
    number += 2
    c = rational(low)
    own = Own(mode, fmt, 0, 6, number)
    between = [[own(2 * i + k, v) for k, v in enumerate(row)] for i, row in enumerate(inverse_times(c, rational(b)))]
    own = Own(mode, fmt, 1, 6, number)
    turned = [list(r) for r in zip(*c, strict=True)]
    assert rational(solved) == [
        [own(2 * i + k, v) for k, v in enumerate(row)] for i, row in enumerate(inverse_times(turned, between))
    ]
    number += 1
    with gmpy2.context(precision=1400):
        value = mpq(gmpy2.log(gmpy2.mpfr(abs(exact))))
    # Its first result is a sign, which is exact; the logarithm is the first array that is rounded.
    assert mpq(float(log)) == Own(mode, fmt, 0, 1, number)(0, value) and float(sign) == (1 if exact > 0 else -1)


def ldl(a, pivots, by_products, by_quotients):
    """L and D for these pivots. Each entry of L D, and of L, has the word of its column and of the place of its row in the matrix."""
    n = len(a)
    order, made = list(range(n)), [[mpq(0)] * n for _ in range(n)]
    w, low, k = [[mpq(0)] * n for _ in range(n)], [[mpq(0)] * n for _ in range(n)], 0
    a = [[a[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]
    while k < n:
        size, p = (1, pivots[k] - 1) if pivots[k] > 0 else (2, -pivots[k] - 1)
        order[k + size - 1], order[p] = order[p], order[k + size - 1]
        for c in range(k, k + size):
            for i in order[k:]:
                if i == order[k] and c > k:
                    continue  # the other half of a block of D
                w[i][c] = by_products(i * n + c, a[i][order[c]] - sum(w[i][m] * low[order[c]][m] for m in range(k)))
        if size == 1:
            slopes = [[mpq(1) / w[order[k]][k]]]
        else:
            d, c, e = w[order[k]][k], w[order[k + 1]][k], w[order[k + 1]][k + 1]
            slopes = [[e / (d * e - c * c), -c / (d * e - c * c)], [-c / (d * e - c * c), d / (d * e - c * c)]]
        for i in order[k + size :]:
            for c in range(size):
                low[i][k + c] = by_quotients(i * n + k + c, sum(w[i][k + m] * slopes[m][c] for m in range(size)))
        for t, i in enumerate(order[k + size :], k + size):  # as LAPACK lays them out: in the order of this step
            made[t][k : k + size] = low[i][k : k + size]
        for m in range(size):
            for c in range(m + 1):
                made[k + m][k + c] = w[order[k + m]][k + c]
        k += size
    return made, [[*low[i][:k], mpq(1), *low[i][k + 1 :]] for k, i in enumerate(order)], order


@DTYPES
@MODES
@pytest.mark.parametrize("diagonal", [True, False])
def test_words_of_indefinite_factors(dtype, mode, diagonal):
    fmt, n = FORMATS[dtype], 5
    a, b = numbers(n, n, dtype=dtype, seed=2), numbers(n, 2, dtype=dtype)
    a = a + a.mT
    a = a if diagonal else a - torch.diag(a.diagonal())
    with stochastic(SEED, SAMPLE, mode) as block:
        ld, pivots = torch.linalg.ldl_factor(a)
        x = torch.linalg.ldl_solve(ld, pivots, b)
    assert block.calls == 2 and (diagonal or bool((pivots < 0).any()))
    by = [Own(mode, fmt, r, n * n) for r in (0, 1)]
    wanted, low, order = ldl(rational(a), pivots.tolist(), *by)
    assert rational(ld) == wanted
    # Three systems, each exact and rounded once.
    mid, k = [[mpq(0)] * n for _ in range(n)], 0
    while k < n:
        size = 1 if pivots[k] > 0 else 2
        for m, c in [(k, k)] if size == 1 else [(k, k), (k + 1, k), (k + 1, k + 1)]:
            mid[m][c] = mid[c][m] = wanted[m][c]
        k += size
    found = [rational(b)[i] for i in order]
    for r, matrix in enumerate((low, mid, [list(v) for v in zip(*low, strict=True)])):
        own, exact = Own(mode, fmt, r, 2 * n, 1), inverse_times(matrix, found)
        if r == 2:
            exact = [exact[order.index(i)] for i in range(n)]
        found = [[own(2 * i + c, v) for c, v in enumerate(row)] for i, row in enumerate(exact)]
    assert rational(x) == found


def test_a_control(monkeypatch):
    """Words that the arrays of a call share are seen."""
    monkeypatch.setattr(_random_matrices, "APART", 0)
    with pytest.raises(AssertionError):
        test_words(torch.float32, "stochastic")


def test_what_has_no_factors_raises():
    for a in (torch.zeros(2, 2), torch.full((2, 2), float("inf")), torch.tensor([[1.0, 2.0], [2.0, 4.0]])):
        with stochastic(), pytest.raises(UncoveredOperatorError, match="of matrices"):
            torch.linalg.lu_factor(a)
    with stochastic():
        assert torch.linalg.det(torch.zeros(0, 0)) == 1


def test_gradients():
    a = numbers(3, 3, dtype=torch.float64).requires_grad_()
    with stochastic(SEED, SAMPLE) as block:
        (
            torch.linalg.solve(a, numbers(3, 1, dtype=torch.float64)).sum()
            + torch.logdet(a @ a.mT)
            + torch.linalg.inv(a).sum()
        ).backward()
    assert not block.uncovered and a.grad.isfinite().all()
