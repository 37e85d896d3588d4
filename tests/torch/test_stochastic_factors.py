"""stochastic(): complex products with alpha and beta, and sums of weights, by rational numbers and the words of their elements."""

from fractions import Fraction

import numpy as np
import pytest
import rounding_oracle

torch = pytest.importorskip("torch")

from repmath.torch import UncoveredOperatorError, reproducible, stochastic  # noqa: E402

SEED, SAMPLE = 3, 6
FORMATS = {torch.complex64: ("f32", torch.float32), torch.complex128: ("f64", torch.float64)}


def numbers(kind, *shape, seed=0):
    made = np.random.default_rng(seed).uniform(-2, 2, (*shape, 2))
    return torch.view_as_complex(torch.from_numpy(made)).to(kind)


def bits(values, fmt, mode, number=0, r=0):
    words = rounding_oracle.words(SEED, (SAMPLE << 32) + number, r << 40, len(values)).tolist()
    return [rounding_oracle.rounded(v, fmt, mode, w) if v else 0 for v, w in zip(values, words, strict=True)]


def found(t):
    a = t.contiguous().numpy()
    return a.view(f"u{a.dtype.itemsize}").reshape(-1).tolist()


def pair(z):
    return Fraction(float(z.real)), Fraction(float(z.imag))


CALLS = {
    "addmm": (torch.addmm, (2, 3), (2, 4), (4, 3)),
    "a row": (torch.addmm, (3,), (2, 4), (4, 3)),
    "baddbmm": (torch.baddbmm, (2, 2, 3), (2, 2, 4), (2, 4, 3)),
    "addmv": (torch.addmv, (2,), (2, 4), (4,)),
}


@pytest.mark.parametrize("kind", FORMATS, ids=str)
@pytest.mark.parametrize("mode", rounding_oracle.OF_VALUES)
@pytest.mark.parametrize("name", CALLS)
def test_complex_products_with_factors(name, mode, kind):
    function, *shapes = CALLS[name]
    c, a, b = (numbers(kind, *shape, seed=i) for i, shape in enumerate(shapes))
    for alpha, beta in ((0.3, 0.7), (1, -0.1), (0, 0.3), (1.7, 0)):
        with stochastic(seed=SEED, sample=SAMPLE, mode=mode) as block:
            made = function(c, a, b, alpha=alpha, beta=beta)
        assert block.calls == 1
        x, y = a.numpy(), b.numpy()
        y = y[..., None] if y.ndim == 1 else y
        shape = (*x.shape[:-1], y.shape[-1])
        z = np.broadcast_to(c.numpy()[..., None] if name == "addmv" else c.numpy(), shape)
        values = [[], []]
        for place in np.ndindex(shape):
            re, im = (Fraction(beta) * v for v in pair(z[place]))
            for k in range(x.shape[-1]):
                (p, q), (s, t) = pair(x[(*place[:-1], k)]), pair(y[(*place[:-2], k, place[-1])])
                re, im = re + Fraction(alpha) * (p * s - q * t), im + Fraction(alpha) * (p * t + q * s)
            values[0].append(re)
            values[1].append(im)
        fmt = FORMATS[kind][0]
        assert found(made.real) == bits(values[0], fmt, mode) and found(made.imag) == bits(values[1], fmt, mode, r=1)


def test_what_two_parts_do_not_hold_raises():
    z = numbers(torch.complex128, 2, 2)
    for bad in (z * 1e-300, z * float("inf")):
        with stochastic(), pytest.raises(UncoveredOperatorError, match="alpha or beta"):
            torch.addmm(z, bad, z, alpha=0.3)
    with stochastic():
        assert torch.isfinite(torch.view_as_real(torch.addmm(z * float("nan"), z, z, beta=0))).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("mode", rounding_oracle.OF_VALUES)
def test_weights_of_numbers(mode, dtype):
    x = torch.tensor([0, 3, 0, 1, 3, 3])
    w = torch.from_numpy(np.random.default_rng(1).uniform(0, 90, 6)).to(dtype)
    with stochastic(seed=SEED, sample=SAMPLE, mode=mode) as block:
        made, counts = torch.bincount(x, w, minlength=5), torch.bincount(x)
    assert block.calls == 1 and counts.tolist() == [2, 1, 0, 3]
    sums = [sum((Fraction(v) for v, i in zip(w.tolist(), x.tolist(), strict=True) if i == k), Fraction(0)) for k in range(5)]
    assert found(made) == bits(sums, "f32" if dtype is torch.float32 else "f64", mode)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("mode", rounding_oracle.OF_VALUES)
def test_products_of_sparse_tensors_element_by_element(mode, dtype):
    """Of the places that both have, in order; values of one place are brought together first, which is an array."""
    v, w = (torch.from_numpy(np.random.default_rng(i).uniform(0, 9, 4)).to(dtype) for i in (1, 2))
    x = torch.sparse_coo_tensor([[0, 1, 1, 2], [1, 0, 2, 2]], v, (3, 3), is_coalesced=True)
    y = torch.sparse_coo_tensor([[0, 1, 2, 2], [1, 1, 2, 0]], w, (3, 3))
    with stochastic(seed=SEED, sample=SAMPLE, mode=mode) as block:
        made = x * y.coalesce()
    assert made.is_coalesced() and made.indices().tolist() == [[0, 2], [1, 2]]
    values = [Fraction(v[0].item()) * Fraction(w[0].item()), Fraction(v[3].item()) * Fraction(w[2].item())]
    assert found(made.values()) == bits(values, "f32" if dtype is torch.float32 else "f64", mode, block.calls - 1)
    plain = (x * y).to_dense()
    with reproducible():
        assert torch.equal((x * y).to_dense(), plain)
        with pytest.raises(UncoveredOperatorError, match="element by element"):
            x * torch.ones(3, 3, dtype=dtype)
