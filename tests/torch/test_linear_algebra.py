"""Linear algebra under reproducible(): bits beside rational numbers, gradients, and programs of Gaussian processes."""

from fractions import Fraction

import linalg_library as exact
import numpy as np
import pytest
from exact_oracle import rounded
from linalg_library import bits

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
import repmath.torch as rt  # noqa: E402

DTYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])


def matrices(dtype, *shape):
    return torch.from_numpy(np.random.default_rng(sum(shape)).standard_normal(shape)).to(dtype)


def positive(dtype, *shape):
    a = matrices(dtype, *shape).double()
    return (a @ a.mT + torch.eye(shape[-1])).to(dtype)


def same(t, want):
    return np.array_equal(bits(t.numpy()), want)


def solved(a, b, *dtype):
    return exact.exact_solution(a, b).view(a.dtype)


@DTYPES
def test_bits(dtype):
    a, b, spd = matrices(dtype, 2, 5, 5), matrices(dtype, 2, 5, 3), positive(dtype, 2, 5, 5)
    with rt.reproducible(strict=True):
        factor, upper = torch.linalg.cholesky(spd), torch.linalg.cholesky(spd, upper=True)
        x, left, inverse = torch.linalg.solve(a, b), torch.linalg.solve(a, b.mT, left=False), torch.linalg.inv(a)
        low, up = (torch.linalg.solve_triangular(a, b, upper=u) for u in (False, True))
        right = torch.linalg.solve_triangular(a, b.mT, upper=True, left=False, unitriangular=True)
        det, log = torch.linalg.det(a), torch.linalg.slogdet(a)
        lu, pivots = torch.linalg.lu_factor(a)
        p, lower_factor, upper_factor = torch.linalg.lu(a)
        by_factor, by_lu = torch.cholesky_solve(b, factor), torch.linalg.lu_solve(lu, pivots, b)
        by_lu_left = torch.linalg.lu_solve(lu, pivots, b.mT, left=False, adjoint=True)
        spd_inverse = torch.cholesky_inverse(factor)
        old, old_matrix = torch.triangular_solve(b, a, upper=False, transpose=True)
    for i in range(2):
        m, right_side, s = a[i].numpy(), b[i].numpy(), spd[i].numpy()
        want = exact.recurrence_cholesky(s)[0]
        assert same(factor[i], want) and same(upper[i].T, exact.recurrence_cholesky(np.ascontiguousarray(s.T))[0])
        assert same(x[i], exact.exact_solution(m, right_side)) and same(inverse[i], exact.exact_solution(m, None))
        assert same(left[i].T, exact.exact_solution(np.ascontiguousarray(m.T), right_side))
        assert same(low[i], exact.exact_solution(np.tril(m), right_side))
        assert same(up[i], exact.exact_solution(np.triu(m), right_side))
        unit = np.triu(m, 1).T + np.eye(5, dtype=m.dtype)
        assert same(right[i].T, exact.exact_solution(np.ascontiguousarray(unit), right_side))
        assert same(old[i], exact.exact_solution(np.ascontiguousarray(np.tril(m).T), right_side))
        d = exact.exact_determinant(m)
        assert same(det[i : i + 1], [exact.determinant_bits(m)]) and log.sign[i] == (1 if d > 0 else -1)
        assert same(log.logabsdet[i : i + 1], [exact.log_bits(d, m.dtype)])
        words, want_pivots, _ = exact.recurrence_lu(m)
        assert same(lu[i], words) and pivots[i].tolist() == want_pivots
        both = words.view(m.dtype)
        l_of, u_of = np.tril(both, -1) + np.eye(5, dtype=m.dtype), np.triu(both)
        assert np.array_equal(lower_factor[i].numpy(), l_of) and np.array_equal(upper_factor[i].numpy(), u_of)
        order = p[i].numpy().T @ np.arange(5)
        order = order.astype(int)
        assert same(by_lu[i], exact.exact_solution(u_of, solved(l_of, right_side[order])))
        assert same(by_lu_left[i].T, exact.exact_solution(u_of, solved(l_of, right_side[order])))
        c = want.view(m.dtype)
        turned = np.ascontiguousarray(c.T)
        assert same(by_factor[i], exact.exact_solution(turned, solved(c, right_side)))
        assert same(spd_inverse[i], exact.exact_solution(turned, solved(c, np.eye(5, dtype=m.dtype))))
    assert torch.equal(old_matrix, a)


def test_errors_are_pytorchs():
    singular = torch.ones(2, 3, 3, dtype=torch.float64)
    for call in (torch.linalg.inv, lambda a: torch.linalg.solve(a, torch.ones(2, 3, 1).double()), torch.linalg.cholesky):
        messages = []
        for mode in (None, rt.reproducible(strict=True)):
            with pytest.raises(torch.linalg.LinAlgError) as error:
                if mode is None:
                    call(singular)
                else:
                    with mode:
                        call(singular)
            messages.append(str(error.value))
        assert messages[0] == messages[1]
    with rt.reproducible():
        assert torch.linalg.det(singular).tolist() == [0, 0] and torch.logdet(singular).tolist() == [-torch.inf] * 2
        assert torch.linalg.inv_ex(singular)[1].tolist() == [2, 2]
        factor, info = torch.linalg.cholesky_ex(singular)
        assert info.tolist() == [2, 2]
    with pytest.raises(rt.UncoveredOperatorError, match="pivot"), rt.reproducible():
        torch.linalg.lu_factor(singular, pivot=False)
    for bad in (torch.ones(2, 3), torch.ones(2, 2, dtype=torch.complex64)):
        with pytest.raises((RuntimeError, rt.UncoveredOperatorError)), rt.reproducible():
            torch.linalg.inv(bad)


CALLS = {
    "cholesky": lambda a, b: torch.linalg.cholesky(a @ a.mT + torch.eye(3)),
    "solve": torch.linalg.solve,
    "solve_left": lambda a, b: torch.linalg.solve(a, b.mT, left=False),
    "solve_vector": lambda a, b: torch.linalg.solve(a, b[..., 0]),
    "inv": lambda a, b: torch.linalg.inv(a),
    "det": lambda a, b: torch.linalg.det(a),
    "slogdet": lambda a, b: torch.linalg.slogdet(a).logabsdet,
    "logdet": lambda a, b: torch.logdet(a @ a.mT),
    "solve_triangular": lambda a, b: torch.linalg.solve_triangular(a, b, upper=True),
    "solve_triangular_left": lambda a, b: torch.linalg.solve_triangular(a, b.mT, upper=False, left=False),
    "cholesky_solve": lambda a, b: torch.cholesky_solve(b, torch.linalg.cholesky(a @ a.mT + torch.eye(3))),
    "cholesky_inverse": lambda a, b: torch.cholesky_inverse(torch.linalg.cholesky(a @ a.mT + torch.eye(3))),
    "lu": lambda a, b: torch.linalg.lu(a)[1:],
    "lu_solve": lambda a, b: torch.linalg.lu_solve(*torch.linalg.lu_factor(a), b),
    "tensorsolve": lambda a, b: torch.linalg.tensorsolve(a[0], b[0, :, 0]),
    "matrix_power": lambda a, b: torch.linalg.matrix_power(a, -2),
}


@pytest.mark.parametrize("name", CALLS)
def test_gradients(name):
    a, b = matrices(torch.float64, 2, 3, 3).requires_grad_(), matrices(torch.float64, 2, 3, 2).requires_grad_()
    with rt.reproducible(strict=True):
        assert torch.autograd.gradcheck(CALLS[name], (a, b), atol=1e-4)


def kernel(x, z, length, scale):
    d = (x[:, None] - z[None, :]) / length
    return scale * torch.exp(-0.5 * d * d)


def gaussian_process(dtype, steps=3):
    """Fits the length scale, the scale and the noise by exact marginal likelihood, predicts, and draws from the posterior."""
    x = torch.linspace(0, 1, 24, dtype=dtype)
    y = torch.sin(6 * x) + 0.1 * torch.cos(40 * x)
    raw = [torch.nn.Parameter(torch.tensor(v, dtype=dtype)) for v in (-1.0, 0.0, -2.0)]
    optimizer = torch.optim.Adam(raw, 0.05)
    losses = []
    for _ in range(steps):
        length, scale, noise = (p.exp() for p in raw)
        k = kernel(x, x, length, scale) + noise * torch.eye(24, dtype=dtype)
        loss = -torch.distributions.MultivariateNormal(torch.zeros_like(y), k, validate_args=False).log_prob(y)
        factor = torch.linalg.cholesky(k)
        weights = torch.cholesky_solve(y[:, None], factor)
        own = 0.5 * (y @ weights[:, 0]) + factor.diagonal().log().sum()
        optimizer.zero_grad()
        (loss + own).backward()
        optimizer.step()
        losses += [loss.detach(), own.detach()]
    with torch.no_grad():
        length, scale, noise = (p.exp() for p in raw)
        factor = torch.linalg.cholesky(kernel(x, x, length, scale) + noise * torch.eye(24, dtype=dtype))
        z = torch.linspace(0, 1, 7, dtype=dtype)
        v = torch.linalg.solve_triangular(factor, kernel(x, z, length, scale), upper=False)
        mean = v.mT @ torch.linalg.solve_triangular(factor, y[:, None], upper=False)
        covariance = kernel(z, z, length, scale) - v.mT @ v + 1e-3 * torch.eye(7, dtype=dtype)
        draw = torch.distributions.MultivariateNormal(mean[:, 0], covariance, validate_args=False).rsample()
    return [*losses, *(p.detach() for p in raw), mean, covariance, draw]


@DTYPES
def test_gaussian_process(dtype):
    def run(threads):
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            torch.manual_seed(0)
            with rt.reproducible(strict=True):
                return gaussian_process(dtype)
        finally:
            torch.set_num_threads(before)

    one, two = run(1), run(2)
    assert all(torch.equal(a, b) for a, b in zip(one, two, strict=True))
    plain = gaussian_process(
        dtype
    )  # what it means is PyTorch's; how it is rounded is compared above, and in tests/linalg with exact numbers
    for a, b in zip(one[:-1], plain[:-1], strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-3)


def test_rsample_has_gradients():
    a = positive(torch.float64, 4, 4).requires_grad_()
    with rt.reproducible(strict=True):
        torch.distributions.MultivariateNormal(torch.zeros(4, dtype=torch.float64), a).rsample((5,)).square().sum().backward()
        other = torch.distributions.MultivariateNormal(torch.zeros(4, dtype=torch.float64), precision_matrix=a.detach())
        other.log_prob(torch.ones(4, dtype=torch.float64)), other.covariance_matrix
    assert a.grad is not None and a.grad.isfinite().all()


def number(v, dtype):
    """A rational, rounded once, as a rational."""
    return Fraction(float(np.array([rounded(v, dtype)], f"u{dtype.itemsize}").view(dtype)[0]))


ALPHA = Fraction((1 + 17**0.5) / 8)


def ldl(a, alpha=ALPHA):
    """L and D, pivots and info, element by element."""
    dtype, n = a.dtype, len(a)
    x = [[Fraction(float(a[max(i, j), min(i, j)])) for j in range(n)] for i in range(n)]
    order, w, l, k, pivots, info = list(range(n)), [[] for _ in a], [[] for _ in a], 0, [], 0  # noqa: E741
    made = [[Fraction(0)] * n for _ in a]

    def left(i, j):
        return number(x[i][j] - sum(p * q for p, q in zip(w[i], l[j], strict=True)), dtype)

    while k < n:
        at = order[k]
        own, rest = left(at, at), [abs(left(i, at)) for i in order[k + 1 :]]
        most = max(rest, default=0)
        place, size = k, 1
        if abs(own) < alpha * most:
            other = k + 1 + rest.index(most)
            wide = max(most, *(abs(left(i, order[other])) for i in order[k:] if i != order[other]))
            if abs(own) * wide < alpha * most**2:
                place, size = other, 1 if abs(left(order[other], order[other])) >= alpha * wide else 2
        elif own == 0:
            info = info or k + 1
        order[k + size - 1], order[place] = order[place], order[k + size - 1]
        pivots += [place + 1] if size == 1 else [-place - 1] * 2
        block = order[k : k + size]
        d = [[left(i, j) for j in block] for i in block]
        new = {i: [left(i, j) for j in block] for i in order[k + size :]}
        for i in range(size):
            for j in range(i + 1):
                made[k + i][k + j] = d[i][j]
        for r, i in enumerate(order[k + size :], k + size):
            v = new[i]
            if size == 1:
                quotients = [v[0] / d[0][0] if own or d[0][0] else v[0]]
            else:
                det = d[0][0] * d[1][1] - d[1][0] ** 2
                quotients = [(v[0] * d[1][1] - v[1] * d[1][0]) / det, (v[1] * d[0][0] - v[0] * d[1][0]) / det]
            quotients = [number(q, dtype) for q in quotients]
            made[r][k : k + size] = quotients
            w[i], l[i] = w[i] + v, l[i] + quotients
        k += size
    return np.array([[float(v) for v in row] for row in made], dtype).reshape(n, n), pivots, info


def symmetric(dtype, n, kind):
    a = matrices(dtype, n, n)
    a = {
        "plain": a,
        "no diagonal": a - torch.diag(a.diagonal()),
        "integers": (a * 2).round(),
        "singular": (a[:, :2] @ a[:, :2].T).round(),
        "ones": a.sign(),
        "scaled": torch.ldexp(a, torch.arange(n).mul(7).remainder(12)[:, None]),
    }[kind]
    return a.tril() + a.tril(-1).T


@pytest.mark.parametrize("kind", ["plain", "no diagonal", "integers", "singular", "ones", "scaled"])
@DTYPES
def test_symmetric_factors(dtype, kind):
    """Bits beside rational numbers; what the factors are; solutions of the three systems."""
    sizes, doubles = (1, 2, 3, 4, 7, 12), 0
    for n in sizes:
        a, b = symmetric(dtype, n, kind), matrices(dtype, n, 3)
        with rt.reproducible(strict=True):
            found, pivots, info = torch.linalg.ldl_factor_ex(a.triu(1).neg() + a.tril())  # the upper triangle is not read
            x = torch.linalg.ldl_solve(found, pivots, b)
        want, want_pivots, want_info = ldl(a.numpy())
        assert np.array_equal(bits(found.numpy()), bits(want)) and pivots.tolist() == want_pivots and int(info) == want_info
        lower, blocks, order, k = np.eye(n, dtype=want.dtype), np.zeros_like(want), np.arange(n), 0
        while k < n:
            size = 1 if want_pivots[k] > 0 else 2
            doubles += size == 2
            swap = [k + size - 1, abs(want_pivots[k]) - 1]
            order[swap], lower[swap, :k] = order[swap[::-1]], lower[swap[::-1], :k]
            lower[k + size :, k : k + size] = want[k + size :, k : k + size]
            blocks[k : k + size, k : k + size] = np.tril(want[k : k + size, k : k + size])
            k += size
        blocks = np.tril(blocks) + np.tril(blocks, -1).T
        y = b.numpy()[order]
        for m in (lower, blocks, np.ascontiguousarray(lower.T)):
            step = None if np.isnan(y).any() else exact.exact_solution(m, y)
            y = np.full_like(y, np.nan) if step is None else step.view(y.dtype)
        assert np.array_equal(x.numpy()[order], y, equal_nan=True)
        wide = lower.astype(float) @ blocks.astype(float) @ lower.T.astype(float)
        size = 40 * n * np.finfo(want.dtype).eps * max(1, np.abs(lower).max()) ** 2 * np.abs(want).max()
        assert np.abs(wide - a.double().numpy()[np.ix_(order, order)]).max() <= size
    assert doubles or kind not in ("plain", "no diagonal", "ones")
    if kind == "plain":  # the control: another pivot rule, and PyTorch's own sums
        assert ldl(a.numpy(), Fraction(9, 10))[1] != want_pivots
        assert not torch.equal(torch.linalg.ldl_factor(a).LD, found)


@DTYPES
def test_symmetric_factors_of_stacks_and_numbers_that_are_not_finite(dtype):
    a, b = symmetric(dtype, 6, "plain"), matrices(dtype, 3, 6, 2)
    with rt.reproducible(strict=True):
        both = torch.linalg.ldl_factor(torch.stack((a, 2 * a)))
        one = torch.linalg.ldl_factor(a)
        assert torch.equal(both.LD[0], one.LD) and torch.equal(both.pivots[1], one.pivots)
        x = torch.linalg.ldl_solve(one.LD, one.pivots, b)
        assert torch.equal(x[2], torch.linalg.ldl_solve(one.LD, one.pivots, b[2]))
        assert torch.linalg.ldl_factor(a[:0, :0]).LD.shape == (0, 0)
        bad = a.clone()
        bad[5, 4] = float("inf")
        made = torch.linalg.ldl_factor_ex(bad)
        assert int(made.info) > 0 and made.LD.isnan().any() and not made.LD.triu(1).any()
        for pivots in (torch.zeros(6, dtype=torch.int32), torch.full((6,), 9, dtype=torch.int32)):
            with pytest.raises((RuntimeError, ValueError)):
                torch.linalg.ldl_solve(one.LD, pivots, b)
