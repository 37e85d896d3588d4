"""Sparse tensors under reproducible(): sums of values at one place against rational numbers, products, embeddings with sparse gradients, refusals."""

import math
from fractions import Fraction

import numpy as np
import pytest
from exact_oracle import rounded

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import repmath.torch as rt  # noqa: E402
from repmath.torch._tensors import FORMATS, as_array  # noqa: E402

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


def bits(t):
    a = as_array(t.contiguous())
    return a.view(f"u{a.itemsize}").reshape(-1).tolist()


def values_that_cancel(dtype, n=400, seed=3):
    """Of many binades, a third of them the negative of another and a hair."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, generator=generator, dtype=torch.float64)
    x = torch.ldexp(x, torch.randint(-12, 4, (n,), generator=generator))
    x[: n // 3] = -x[n // 3 : 2 * (n // 3)]
    return x.to(dtype)


def made(dtype, n=400):
    indices = torch.randint(0, 5, (2, n), generator=torch.Generator().manual_seed(n))
    return indices, values_that_cancel(dtype, n)


def sums(indices, values, old=None, alpha=1):
    """The bits of the sums at each place of a 5 x 5 matrix, and which places there are."""
    dtype, total = np.dtype(FORMATS[values.dtype]), {}
    for i, j, v in zip(*indices.tolist(), values.double().tolist(), strict=True):
        total[i, j] = total.get((i, j), Fraction(0)) + Fraction(v) * Fraction(alpha)
    start = {p: Fraction(0) if old is None else Fraction(float(old[p])) for p in np.ndindex(5, 5)}
    return [int(rounded(start[p] + total.get(p, 0), dtype)) for p in start], sorted(total)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_dense_tensor_is_made_sparse(dtype):
    x = torch.where(torch.arange(25) % 3 == 0, torch.tensor(0.0, dtype=dtype), values_that_cancel(dtype, 25)).reshape(5, 5)
    with rt.reproducible():
        t = x.to_sparse()
        assert bits(t.values()) == [b for b in bits(x) if b] and torch.equal(t.indices(), x.nonzero().T)
        assert bits(t.to_dense()) == bits(x)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_values_at_one_place(dtype):
    indices, values = made(dtype)
    x = values_that_cancel(dtype, 25, seed=8).reshape(5, 5)
    with rt.reproducible():
        t = torch.sparse_coo_tensor(indices, values, (5, 5))
        c = t.coalesce()
        assert bits(t.to_dense()) == bits(c.to_dense()) == sums(indices, values)[0]
        assert c.is_coalesced() and [tuple(p) for p in c.indices().T.tolist()] == sums(indices, values)[1]
        both = torch.cat((indices, indices[:, :77]), 1), torch.cat((values, values[:77]))
        assert bits((t + torch.sparse_coo_tensor(indices[:, :77], values[:77], (5, 5))).to_dense()) == sums(*both)[0]
        for alpha in (1, -1, -0.1):
            want = sums(indices, values, x, alpha)[0]
            assert bits(x.add(t, alpha=alpha)) == bits(x.clone().add_(t, alpha=alpha)) == want
    if dtype is torch.float32:  # the control: in the order of the places
        rows = torch.zeros(5, 5).index_put(tuple(indices), values, accumulate=True)
        assert bits(rows) != sums(indices, values)[0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_products_have_the_bits_of_dense_ones(dtype):
    indices, values = made(dtype, 14)
    b = values_that_cancel(dtype, 20, seed=9).reshape(5, 4)
    with rt.reproducible():
        t = torch.sparse_coo_tensor(indices, values, (5, 5)).requires_grad_()
        a, w = t.detach().to_dense().requires_grad_(), b.clone().requires_grad_()
        for f in (
            lambda m: m @ b,
            lambda m: torch.mv(m, b[:, 0].contiguous()),
            lambda m: torch.addmm(torch.ones(5, 4, dtype=dtype), m, b, beta=0.3, alpha=0.7),
        ):
            assert bits(f(t.detach())) == bits(f(a.detach())) == bits(f(t.detach().coalesce().to_sparse_csr()))
        assert bits((t.detach() * 0.1).to_dense()) == bits(a.detach() * 0.1)
        found = torch.autograd.grad(torch.sparse.mm(t, w).square().sum(), (t, w))
        want = torch.autograd.grad(torch.mm(a, w).square().sum(), (a, w))
        assert bits(found[1]) == bits(want[1])
        places = tuple(found[0].coalesce().indices())
        assert bits(found[0].coalesce().values()) == bits(want[0][places])
        for bad in (math.inf, math.nan):
            with pytest.raises(rt.UncoveredOperatorError, match="aten.mm.default, called at .*an infinity or a NaN"):
                t.detach() @ torch.full((5, 2), bad, dtype=dtype)
            for number in (bad, torch.tensor(bad)):
                with pytest.raises(rt.UncoveredOperatorError, match="aten.mul.Tensor, called at .*an infinity or a NaN"):
                    t.detach() * number


def exact(t):
    """Its numbers as Fractions, by place."""
    return {p: Fraction(float(t[p])) for p in np.ndindex(*t.shape)}


def known(t):
    """Its values by place, sparse or compressed."""
    t = t if t.layout is torch.sparse_coo else t.to_sparse_coo()
    assert t.is_coalesced()
    return dict(zip(map(tuple, t._indices().T.tolist()), bits(t._values()), strict=True))


def holes(dtype, n, m, seed):
    x = values_that_cancel(dtype, n * m, seed=seed).reshape(n, m)
    return torch.where(torch.rand(n, m, generator=torch.Generator().manual_seed(seed)) < 0.4, x, torch.zeros((), dtype=dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_products_of_two_sparse_matrices(dtype):
    a, b = holes(dtype, 7, 9, 4), holes(dtype, 9, 6, 5)
    a[0], b[:, 2] = 0, 0
    a[1, :2], b[:2, 3] = torch.tensor([1.5, -1.5]), torch.tensor([2.0, 2.0])  # terms that cancel, some of them
    x, y, want = exact(a), exact(b), {}
    for i, j in np.ndindex(7, 6):
        terms = [x[i, k] * y[k, j] for k in range(9) if x[i, k] and y[k, j]]
        if terms:
            want[i, j] = int(rounded(sum(terms), np.dtype(FORMATS[dtype])))
    with rt.reproducible():
        s, t = a.to_sparse(), b.to_sparse()
        assert known(s @ t) == known(torch.sparse.mm(s, t)) == want
        for first in (a.to_sparse_csr(), a.to_sparse_csc()):
            for second in (b.to_sparse_csr(), b.to_sparse_csc()):
                assert known(first @ second) == want
        twice = torch.cat((s.indices(), s.indices()), 1), torch.cat((s.values(), s.values()))
        assert known(torch.sparse_coo_tensor(*twice, (7, 9)) @ t) == known((s * 2) @ t)
        assert known(torch.sparse_coo_tensor(size=(3, 9), dtype=dtype) @ t) == {}
        b[0, 0] = math.inf
        with pytest.raises(rt.UncoveredOperatorError, match="aten.mm.default, called at .*an infinity or a NaN"):
            s @ b.to_sparse()
    if dtype is torch.float32:  # the control: PyTorch's own sums
        assert known(s @ t) != want


@pytest.mark.parametrize("integers", [torch.int32, torch.int64, torch.bool, torch.uint8], ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_products_with_integers_at_the_places_of_both(dtype, integers):
    x, k = holes(dtype, 7, 9, 6), (torch.arange(63) % 5).reshape(7, 9).to(integers)
    f = np.dtype(FORMATS[dtype])
    want = {p: int(rounded(v * int(k[p]), f)) for p, v in exact(x).items() if v and k[p]}
    with rt.reproducible():
        s, t = x.to_sparse(), k.to_sparse()
        twice = torch.sparse_coo_tensor(
            torch.cat((t.indices(), t.indices()), 1), torch.cat((t.values(), t.values() * 0)), (7, 9)
        )
        for made in (s * t, t * s, s * (t if integers is torch.bool else twice)):
            assert made.dtype is dtype and known(made) == want
        other = s.to_dense().to(torch.float64 if dtype is not torch.float64 else torch.float32).to_sparse()
        with pytest.raises(rt.UncoveredOperatorError, match="aten.mul.Tensor, called at .*sparse tensors of"):
            s * other
    assert len(want) > 10


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_sums_with_integers(dtype):
    x, k = holes(dtype, 7, 9, 6), (torch.arange(63) % 5).reshape(7, 9)
    f = np.dtype(FORMATS[dtype])
    want = {p: int(rounded(v + int(k[p]), f)) for p, v in exact(x).items() if v or k[p]}
    with rt.reproducible():
        s, t = x.to_sparse(), k.to_sparse()
        for made in (s + t, t + s, s + t.to(torch.int32)):
            assert made.dtype is dtype and known(made.coalesce()) == want
        less = {p: int(rounded(v - int(k[p]), f)) for p, v in exact(x).items() if v or k[p]}
        assert known(s - t) == less and known(t - s) != less
        first = s + torch.sparse_coo_tensor(
            torch.cat((t.indices(), t.indices()), 1), torch.cat((t.values(), -t.values())), (7, 9)
        )
        assert bits(first.to_dense()) == bits(x)  # the three values of a place are one sum
        beyond = (k * 2**54).to_sparse()
        with pytest.raises(rt.UncoveredOperatorError, match="aten.add.Tensor, called at .*does not hold"):
            s + beyond


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_gradients_of_two_sparse_matrices(dtype):
    a, b = holes(dtype, 7, 9, 4), holes(dtype, 9, 6, 5)
    with rt.reproducible():
        for product in (torch.mm, torch.sparse.mm):
            s, t = a.to_sparse().requires_grad_(), b.to_sparse().requires_grad_()
            made = product(s, t)
            made.backward(made.detach())
            g = made.detach().to_dense()
            for found, want, of in ((s.grad, g @ b.T, a), (t.grad, a.T @ g, b)):
                found, places = found.coalesce(), of.nonzero(as_tuple=True)
                assert bits(found.to_dense()[places]) == bits(want[places])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_products_at_given_places(dtype):
    c, a, b = holes(dtype, 6, 8, 6), values_that_cancel(dtype, 30, seed=7).reshape(6, 5), holes(dtype, 5, 8, 8)
    x, y, z, form = exact(a), exact(b), exact(c), np.dtype(FORMATS[dtype])
    alpha, beta = Fraction(0.7), Fraction(-0.3)
    with rt.reproducible():
        found = torch.sparse.sampled_addmm(c.to_sparse_csr(), a, b, alpha=0.7, beta=-0.3)
        both = torch.sparse.sampled_addmm(
            torch.stack((c, c)).to_sparse_csr(), torch.stack((a, -a)), torch.stack((b, b)), alpha=0.7, beta=-0.3
        )
    want = {p: alpha * sum(x[p[0], k] * y[k, p[1]] for k in range(5)) + beta * z[p] for p in z if z[p]}
    assert known(found) == {p: int(rounded(v, form)) for p, v in want.items()}
    assert bits(both.values()[0]) == bits(found.values())
    other = {p: int(rounded(2 * beta * z[p] - v, form)) for p, v in want.items()}
    assert bits(both.values()[1]) == list(other.values())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_gradients_at_given_places(dtype):
    c, a, b = holes(dtype, 6, 8, 6), values_that_cancel(dtype, 30, seed=7).reshape(6, 5), holes(dtype, 5, 8, 8)
    with rt.reproducible():
        s, x, y = c.to_sparse_csr().requires_grad_(), a.clone().requires_grad_(), b.clone().requires_grad_()
        torch.sparse.sampled_addmm(s, x, y, alpha=0.5, beta=3.0).backward(c.to_sparse_csr())
        assert bits(s.grad.values()) == bits(c.to_sparse_csr().values() * 3.0)
        assert bits(x.grad) == bits(c @ b.T * 0.5) and bits(y.grad) == bits(a.T @ c * 0.5)


def reduced(terms, how, form):
    if not terms:
        return 0, None
    if how == "sum":
        return int(rounded(sum(terms), form)), None
    if how == "mean":
        wide = np.array([int(rounded(sum(terms), np.dtype(np.float64)))], np.uint64).view(np.float64)
        return int(rounded(Fraction(float(wide[0])) / len(terms), form)), None
    each = [as_number(int(rounded(v, form)), form) for v in terms]
    at = each.index(max(each) if how == "amax" else min(each))
    return int(rounded(each[at], form)), at


def as_number(code, form):
    return Fraction(float(np.array([code], f"u{form.itemsize}").view(form)[0]))


@pytest.mark.parametrize("how", ["sum", "mean", "amax", "amin"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_rows_of_products(dtype, how):
    a, b, form = holes(dtype, 6, 9, 6), values_that_cancel(dtype, 36, seed=7).reshape(9, 4), np.dtype(FORMATS[dtype])
    a[2] = 0
    g = values_that_cancel(dtype, 24, seed=9).reshape(6, 4)
    with rt.reproducible():
        s, w = a.to_sparse_csr().requires_grad_(), b.clone().requires_grad_()
        made = torch.sparse.mm(s, w, how)
        made.backward(g)
    x, y, h = exact(a), exact(b), exact(g)
    of_a = {p: Fraction(0) for p in x if x[p]}
    of_b = dict.fromkeys(y, Fraction(0))
    for i, j in np.ndindex(6, 4):
        columns = [k for k in range(9) if x[i, k]]
        code, at = reduced([x[i, k] * y[k, j] for k in columns], how, form)
        assert bits(made[i, j].detach()) == [code]
        factor = h[i, j]
        if how == "mean" and columns:
            factor = as_number(int(rounded(factor / len(columns), np.dtype(np.float64))), np.dtype(np.float64))
        for k in columns if at is None else columns[at : at + 1]:
            of_a[i, k] += y[k, j] * factor
            of_b[k, j] += x[i, k] * factor
    assert known(s.grad) == {p: int(rounded(v, form)) for p, v in of_a.items()}
    assert bits(w.grad) == [int(rounded(v, form)) for v in of_b.values()]


@pytest.mark.parametrize("optimizer", ["SparseAdam", "SGD", "Adagrad"])
def test_sparse_embeddings(optimizer):
    """The gradient is the dense one where it is brought together; the step is near PyTorch's of binary64."""
    ids, found = torch.tensor([1, 2, 2, 9, 1, 2]), {}
    start, factors = values_that_cancel(torch.float32, 40).reshape(10, 4), values_that_cancel(torch.float32, 24).reshape(6, 4)
    for sparse, dtype in ((True, torch.float32), (False, torch.float32), (True, torch.float64)):
        layer = torch.nn.Embedding.from_pretrained(start.clone().to(dtype), freeze=False, sparse=sparse)
        rule = getattr(torch.optim, optimizer)(list(layer.parameters()), lr=0.1)
        with rt.reproducible(strict=dtype is torch.float32):
            for step in range(2):
                rule.zero_grad()
                (layer(ids) * factors).sum().backward()
                if not step:
                    g = layer.weight.grad
                    found[sparse, dtype, "gradient"] = g.to_dense() if sparse else g.clone()
                layer(ids[:2]).square().sum().backward()
                if sparse:
                    rule.step()
        found[sparse, dtype] = layer.weight.detach()
    assert bits(found[True, torch.float32, "gradient"]) == bits(found[False, torch.float32, "gradient"])
    assert torch.allclose(found[True, torch.float32].double(), found[True, torch.float64], rtol=1e-5, atol=1e-6)


def test_refusals():
    """They name the operator, the call and what serves in its place."""
    with rt.reproducible():
        t = torch.eye(3).to_sparse()
        for call, name in (
            (lambda: torch.sparse.softmax(t, 1), "aten._sparse_softmax"),
            (lambda: torch.sparse.sum(t.to_sparse_csr(), 1), "aten."),
            (lambda: t.exp(), "aten.exp"),
            (lambda: torch.linalg.eig(torch.eye(3)), "aten.linalg_eig"),
        ):
            with pytest.raises(rt.UncoveredOperatorError) as caught:
                call()
            assert caught.value.operator.startswith(name) and __file__ in caught.value.call_site
            assert any(text in str(caught.value) for text in ("to_dense()", "torch.linalg."))
