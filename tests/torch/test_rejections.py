"""Draws by rejection under `reproducible()`: the numbers of `repmath.random` under the key that the generator gives, and PyTorch's distributions."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import torch.distributions as D  # noqa: E402

import repmath.torch as rt  # noqa: E402
from repmath import random  # noqa: E402
from repmath.torch._aten.random import seed  # noqa: E402
from repmath.torch._tensors import FORMATS, as_tensor  # noqa: E402

DTYPES = pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)


def key():
    """What a call takes of the generator, which is left as it is."""
    state = torch.get_rng_state()
    with rt.reproducible():
        taken = seed()
    torch.set_rng_state(state)
    return taken % 2**64


@DTYPES
def test_operators(dtype):
    a = torch.tensor([[0.3, 1.0, 2.5], [17.0, 0.01, 1000.0]], dtype=dtype)
    p, held = torch.tensor([0.25, 0.5, 0.75], dtype=dtype), FORMATS[dtype]
    rates, counts = a.double().numpy(), torch.tensor([[4.0, 9.0, 0.0], [17.0, 100.0, 2000.0]], dtype=dtype)
    torch.manual_seed(3)
    for call, make in (
        (lambda g: torch._standard_gamma(a, generator=g), lambda k: random.gamma(k, None, rates, dtype=held)),
        (lambda g: torch._sample_dirichlet(a, generator=g), lambda k: random.dirichlet(k, None, rates, dtype=held)),
        (lambda g: torch.poisson(a, generator=g), lambda k: random.poisson(k, None, rates).astype(np.float64)),
        (
            lambda g: torch.binomial(counts, p, generator=g),
            lambda k: random.binomial(k, None, counts.double().numpy(), p.double().numpy()).astype(np.float64),
        ),
    ):
        wanted = as_tensor(make(key())).to(dtype)  # counts below 2^8 and 2^11, which the formats hold
        state = torch.get_rng_state()
        with rt.reproducible(strict=True):
            made = call(None)
            assert made.dtype == dtype and torch.equal(made, wanted)
            after = torch.get_rng_state()
            torch.set_rng_state(state)
            assert torch.equal(call(torch.default_generator), wanted)
            assert torch.equal(torch.get_rng_state(), after)
            torch.set_rng_state(state)
            seed()
        assert torch.equal(torch.get_rng_state(), after)  # one key for a call


def test_counts_are_rounded_once():
    """A count beyond the format, beside a midpoint."""
    torch.manual_seed(1)
    rate = torch.full((300,), 3000.0, dtype=torch.bfloat16)
    wanted = torch.from_numpy(random.poisson(key(), 300, float(rate[0]))).double()
    with rt.reproducible():
        made = torch.poisson(rate).double()
    step = 16.0
    whole = torch.floor(wanted / step)
    rest = wanted - whole * step
    up = (rest > step / 2) | ((rest == step / 2) & (whole % 2 == 1))
    inside = (wanted >= 2048) & (wanted < 4096)
    assert inside.all() and torch.equal(made, (whole + up) * step) and (rest == step / 2).any()


def test_views_and_other_layouts():
    a = torch.linspace(0.1, 9.0, 24).reshape(4, 6)
    torch.manual_seed(2)
    with rt.reproducible():
        want = torch._standard_gamma(a[:, ::2].contiguous())
        torch.manual_seed(2)
        assert torch.equal(torch._standard_gamma(a[:, ::2]), want)
        torch.manual_seed(2)
        assert torch.equal(torch._standard_gamma(a.t()[::2].t()), want)
        assert torch._standard_gamma(torch.tensor(2.0)).shape == () and torch.poisson(torch.zeros(0, 3)).shape == (0, 3)


def distributions(dtype=torch.float32):
    a, p = torch.tensor([0.5, 2.0, 30.0], dtype=dtype), torch.tensor([0.2, 0.5, 0.9], dtype=dtype)
    return {
        "gamma": D.Gamma(a, a + 1),
        "beta": D.Beta(a, a + 1),
        "dirichlet": D.Dirichlet(a),
        "poisson": D.Poisson(a),
        "binomial": D.Binomial(20, p),
        "chi2": D.Chi2(a),
        "student": D.StudentT(a + 5),
        "inverse gamma": D.InverseGamma(a + 5, a),
        "negative binomial": D.NegativeBinomial(a, p),
        "fisher": D.FisherSnedecor(a + 1, a + 9),
    }


@pytest.mark.parametrize("name", distributions())
def test_distributions(name):
    """Samples have the moments of the distribution, and one bit pattern."""
    made = distributions()[name]
    with rt.reproducible(strict=True):
        torch.manual_seed(5)
        x = made.sample((4000,))
        torch.manual_seed(5)
        assert torch.equal(made.sample((4000,)), x)
        assert torch.isfinite(made.log_prob(x[:5])).all()
        if made.has_rsample:
            torch.manual_seed(5)
            assert torch.equal(made.rsample((4000,)), x)
    far = (x.double().mean(0) - made.mean.double()).abs() * np.sqrt(4000) / made.variance.double().sqrt()
    assert (far < 4.5).all()


def test_bad_parameters():
    with rt.reproducible(strict=True):
        with pytest.raises(RuntimeError, match="a must be from"):
            torch._standard_gamma(torch.tensor([1.0, -1.0]))
        with pytest.raises(RuntimeError, match="alpha must be from"):
            torch._sample_dirichlet(torch.tensor([1.0, 0.0]))
        with pytest.raises(RuntimeError, match="Poisson rate|mean must be"):
            torch.poisson(torch.tensor([-1.0]))
        with pytest.raises(RuntimeError, match="n must be whole"):
            torch.binomial(torch.tensor([1.5]), torch.tensor([0.5]))
