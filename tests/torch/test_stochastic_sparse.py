"""Sparse tensors in blocks of stochastic(), beside rational numbers: words go by the arrays of their values."""

from fractions import Fraction

import pytest
import rounding_oracle

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = pytest.mark.filterwarnings("ignore:Sparse")

from repmath.torch import UncoveredOperatorError, reproducible, stochastic  # noqa: E402

SEED, SAMPLE = 4, 9
FORMATS = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64"}
MODES = (*rounding_oracle.MODES, *rounding_oracle.DIRECTED)
DTYPES = pytest.mark.parametrize("dtype", list(FORMATS), ids=FORMATS.values())


def bits(t):
    kind = {2: torch.int16, 4: torch.int32, 8: torch.int64}[t.element_size()]
    return t.contiguous().view(kind).reshape(-1).numpy().view(f"u{t.element_size()}").tolist()


def numbers(*shape, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)


def rational(t):
    return [Fraction(v) for v in t.reshape(-1).tolist()]


def expected(values, dtype, mode, r=0):
    words = rounding_oracle.words(SEED, SAMPLE << 32, r << 40, len(values))
    return [rounding_oracle.rounded(v, FORMATS[dtype], mode, int(w)) if v else 0 for v, w in zip(values, words, strict=True)]


def few(dtype, seed=0):
    """A matrix of 4 rows and 5 columns with nine elements, one row without any."""
    a = numbers(4, 5, dtype=dtype, seed=seed)
    a.reshape(-1)[[0, 2, 4, 10, 11, 12, 13, 14, 16, 18, 19]] = 0
    return a


def product(a, b):
    rows, columns = [rational(row) for row in a], [rational(c) for c in b.mT]
    return [sum((p * q for p, q in zip(row, c, strict=True)), Fraction(0)) for row in rows for c in columns]


def cases(dtype):
    a, b, square = few(dtype), numbers(5, 3, dtype=dtype), numbers(4, 4, dtype=dtype)
    c, other = numbers(4, 3, dtype=dtype, seed=7), few(dtype, 3).mT.contiguous()
    places = torch.tensor([[0, 2, 0, 2, 2], [1, 1, 1, 1, 0]])
    values = numbers(5, dtype=dtype, seed=9)
    v = rational(values)
    alone = torch.sparse_coo_tensor(places, values, (3, 2))
    kept, third = a != 0, Fraction(0.3)
    second = numbers(4, 5, dtype=dtype, seed=5)
    sampled = product(square, second)
    both = [x + 2 * y for x, y in zip(rational(a), sampled, strict=True)]
    nonzero = kept.reshape(-1).nonzero().reshape(-1).tolist()
    where = ((a != 0).double() @ (other != 0).double() > 0).reshape(-1).nonzero().reshape(-1).tolist()
    counts, whole = kept.sum(1).tolist(), product(a, b)
    dense = numbers(3, 2, dtype=dtype, seed=11)
    together = [v[0] + v[2], v[4], v[1] + v[3]]
    added = [x + third * y for x, y in zip(rational(dense), [0, together[0], 0, 0, together[1], together[2]], strict=True)]
    return {
        "coalesce": (lambda: alone.coalesce(), together),
        "to_dense": (lambda: alone.to_dense()[[0, 2, 2], [1, 0, 1]], together),
        "of two": (lambda: torch.add(alone, alone), [2 * x for x in together]),
        "to a dense one": (lambda: torch.add(dense, alone, alpha=0.3), added),
        "mul": (lambda: torch.mul(a.to_sparse_csr(), 0.3), [rational(a)[i] * third for i in nonzero]),
        "mm of coordinates": (lambda: torch.sparse.mm(a.to_sparse_coo(), b), whole),
        "mm of rows": (lambda: a.to_sparse_csr() @ b, whole),
        "mv": (lambda: torch.mv(a.to_sparse_csr(), b[:, 0].clone()), whole[::3]),
        "addmm": (lambda: torch.addmm(c, a.to_sparse_csr(), b, beta=0.3, alpha=2), [third * x + 2 * y for x, y in zip(rational(c), whole, strict=True)]),
        "two sparse": (lambda: torch.sparse.mm(a.to_sparse_coo(), other.to_sparse_coo()), [product(a, other)[i] for i in where]),
        "two of rows": (lambda: a.to_sparse_csr() @ other.to_sparse_csr(), [product(a, other)[i] for i in where]),
        "sampled": (lambda: torch.sparse.sampled_addmm(a.to_sparse_csr(), square, second, alpha=2), [both[i] for i in nonzero]),
        "sum": (lambda: torch.sparse.mm(a.to_sparse_csr(), b, "sum"), whole),
        "mean": (lambda: torch.sparse.mm(a.to_sparse_csr(), b, "mean"), [(x, counts[i // 3]) for i, x in enumerate(whole)]),
    }  # fmt: skip


def wanted(values, dtype, mode):
    if mode != "up_down" and isinstance(values[0], tuple):  # a mean: a sum and a quotient in binary64, and a conversion
        for r in (0, 1):
            rows = expected([v[0] if r == 0 else v[0] / max(v[1], 1) for v in values], torch.float64, mode, r)
            made = torch.tensor([v - 2**64 if v >> 63 else v for v in rows]).view(torch.float64).tolist()
            values = [(Fraction(x), v[1]) for x, v in zip(made, values, strict=True)]
        values = [v[0] for v in values]
        return expected(values, dtype, mode, 2) if dtype is not torch.float64 else expected(values, dtype, mode, 1)
    return expected(values, dtype, mode)


def elements(made):
    return made if made.layout is torch.strided else made._values() if made.layout is torch.sparse_coo else made.values()


@DTYPES
@pytest.mark.parametrize("mode", MODES)
def test_values(dtype, mode):
    for name, (call, values) in cases(dtype).items():
        if mode == "up_down" and name in ("to_dense", "mean", "of two"):
            continue  # of other operators, each of which moves what it returns
        with stochastic(SEED, SAMPLE, mode) as block:
            made = call()
        assert block.calls == 1, name
        assert bits(elements(made)) == wanted(values, dtype, mode), name


@pytest.mark.parametrize("mode", MODES)
def test_gradients_and_filters(mode):
    a, b = few(torch.float32).to_sparse_csr().requires_grad_(), numbers(5, 3).requires_grad_()
    g, seen = numbers(4, 3), set()
    for options in ({"sample": 0}, {"sample": 0}, {"sample": 1}, {"sample": 0, "exclude": "_sparse*"}):
        with stochastic(SEED, mode=mode, **options) as block:
            made = torch.sparse.mm(a, b, "sum")
            of_a, of_b = torch.autograd.grad(made, (a, b), g)
        seen.add((made.detach().numpy().tobytes(), of_a.values().numpy().tobytes(), of_b.numpy().tobytes()))
        assert not block.uncovered and block.calls >= 3
    with reproducible():
        made = torch.sparse.mm(a, b, "sum")
        of_a, of_b = torch.autograd.grad(made, (a, b), g)
    plain = made.detach().numpy().tobytes(), of_a.values().numpy().tobytes(), of_b.numpy().tobytes()
    # The filter leaves out all of it, and modes of one direction ask no words.
    assert len(seen) == 2 + (mode in rounding_oracle.MODES) and plain in seen


@pytest.mark.parametrize("mode", MODES)
def test_embeddings_and_their_optimiser(mode):
    def trained(sample):
        with reproducible():
            torch.manual_seed(0)
            table = torch.nn.Embedding(6, 3, sparse=True)
        optimizer = torch.optim.SparseAdam(table.parameters(), 0.1)
        with stochastic(SEED, sample, mode) as block:
            for _ in range(2):
                optimizer.zero_grad()
                (table(torch.tensor([0, 2, 2, 5])) / 3).square().sum().backward()
                optimizer.step()
        assert not block.uncovered
        return table.weight.detach().numpy().tobytes()

    assert trained(0) == trained(0)
    assert (trained(0) == trained(1)) == (mode in rounding_oracle.DIRECTED)


def test_controls():
    """Words of another sample, and sums to nearest, are seen; what only moves has no number; what is not there raises."""
    for name in ("sum", "mm of rows", "sampled"):
        call, values = cases(torch.float32)[name]
        for block in (stochastic(SEED, SAMPLE + 1), reproducible()):
            with block:
                assert bits(elements(call())) != wanted(values, torch.float32, "stochastic"), name
    dense = torch.eye(3)
    with stochastic() as block:
        assert torch.equal(dense.to_sparse_coo().to_dense(), dense) and block.calls == 0
        with pytest.raises(UncoveredOperatorError, match="mul"):
            torch.mul(dense.to_sparse_coo(), dense)
