"""Draws by rejection under `reproducible()`: the numbers of `repmath.random` under the key that the generator gives, and PyTorch's distributions."""

from fractions import Fraction

import draws_oracle as oracle
import mpmath
import numpy as np
import pytest
from drawn_gradients import beta_derivative, gamma_derivative

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import torch.distributions as D  # noqa: E402

import repmath.torch as rt  # noqa: E402
from repmath import random  # noqa: E402
from repmath._draws import enclosures, gradients  # noqa: E402
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


# ------------------------------------------------------------------------------------------------------------- gradients


def nearest(value, dtype):
    """The bits of an mpf, as an integer of the oracle."""
    return oracle.rounded(
        value, {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64"}[dtype]
    )


def patterns(x):
    return (
        x.view(torch.int64 if x.dtype == torch.float64 else torch.int32 if x.dtype == torch.float32 else torch.int16)
    ).tolist()


def samples(a, dtype, n=7):
    """Numbers of the distribution's middle and both tails."""
    made = random.gamma(3, (n, len(a)), a, stream=1)
    made[0] *= 2.0**-20
    made[1] = made[1] * 4 + 1
    return as_tensor(made).to(dtype).clamp(max=3e4)


@DTYPES
def test_derivatives_of_gamma_numbers(dtype):
    a = torch.tensor([0.02, 0.5, 1.0, 1.75, 8.0, 60.0], dtype=dtype)
    x = samples(a.double().numpy(), dtype)
    with rt.reproducible(strict=True):
        got = torch._standard_gamma_grad(a.expand(x.shape), x)
    both = zip(a.expand(x.shape).flatten().tolist(), x.flatten().tolist(), strict=True)
    assert patterns(got.flatten()) == [nearest(gamma_derivative(p, v), dtype) if v else 0 for p, v in both]


@DTYPES
def test_derivatives_of_beta_numbers(dtype):
    a = torch.tensor([0.125, 0.5, 1.0, 2.5, 8.0, 30.0, 0.25, 3.0], dtype=dtype)
    total = a + torch.tensor([0.25, 0.5, 1.0, 20.0, 8.0, 2.0, 9.0, 0.125], dtype=dtype)
    x = random.beta(5, (5, 8), a.double().numpy(), (total - a).double().numpy())
    x[0, :4] = 0.5, 2.0**-14, 1 - 2.0**-7, 1 - 2.0**-8
    x = as_tensor(np.clip(x, 0, 1 - 2.0**-8)).to(dtype)
    with rt.reproducible(strict=True):
        got = torch._dirichlet_grad(x, a.expand(x.shape), total.expand(x.shape))
    rows = [v.expand(x.shape).flatten().tolist() for v in (x, a, total)]
    wanted = [nearest(beta_derivative(*row), dtype) if row[0] else 0 for row in zip(*rows, strict=True)]
    assert patterns(got.flatten()) == wanted


def test_derivatives_where_the_beta_number_is_one():
    """(psi(a + b) - psi(a))/b, the limit."""
    with rt.reproducible(strict=True):
        got = torch._dirichlet_grad(torch.ones(1), torch.tensor([2.0]), torch.tensor([5.0]))
    with mpmath.workdps(50):
        assert patterns(got) == [nearest((mpmath.digamma(5) - mpmath.digamma(2)) / 3, torch.float32)]


@DTYPES
def test_derivatives_by_digits_alone(dtype, monkeypatch):
    """Where nothing is decided by vectors the bits are the same; a control counts what they decided."""
    a = torch.tensor([0.02, 0.5, 1.0, 7.75, 60.0], dtype=dtype)
    x = samples(a.double().numpy(), dtype, 40)
    y = x[:, :2] / (x[:, :2] + x[:, 2:4])
    y = y.clamp(max=1 - 2.0**-8)
    calls, by_digits = [], gradients.round_enclosure
    monkeypatch.setattr(gradients, "round_enclosure", lambda *g: calls.append(1) or by_digits(*g))

    def made():
        with rt.reproducible(strict=True):
            low, high = a[:2].expand(y.shape), (a[:2] + a[2:4]).expand(y.shape)
            return torch._standard_gamma_grad(a.expand(x.shape), x), torch._dirichlet_grad(y, low, high)

    want, few = made(), len(calls)
    test = gradients._test
    monkeypatch.setattr(gradients, "_test", lambda *g: (test(*g)[0], np.ones(g[0].shape, bool)))
    assert all(patterns(p.flatten()) == patterns(q.flatten()) for p, q in zip(made(), want, strict=True))
    assert len(calls) - few == (x != 0).sum() + (y != 0).sum() and few < 0.3 * (len(calls) - few)


@pytest.mark.parametrize("kind", ["gamma", "low", "high"])
def test_bounds_of_derivatives(kind):
    """The vectors' values are within their bounds of those of 60 digits, and come near to them within a factor of 2,000."""
    rng, tight = np.random.default_rng(6), [0.0, 0.0]
    a = np.repeat([0.01, 0.7, 3.0, 40.0, 900.0], 10)
    if kind == "gamma":
        x, c = rng.gamma(a), a
    else:
        b = np.tile([0.02, 1.5, 30.0, 500.0, 4.0], 10)
        c = a + b
        x = np.clip(rng.beta(a, c - a), 1e-9, 1 - 1e-9)
        keep = x <= 0.5 if kind == "low" else x > 0.5
        a, x, c = a[keep], x[keep], c[keep]
    for close in (False, True):
        high, low, error = gradients._kernel(kind, a, x, c, close)
        for k in range(a.size):
            exact = gradients._within(kind, float(a[k]), float(x[k]), float(c[k]), enclosures.Arithmetic(90))
            value = (Fraction(exact.low) + Fraction(exact.high)) / 2
            off = abs((Fraction(float(high[k])) + Fraction(float(low[k]))) / value - 1) / Fraction(float(error[k]))
            tight[close] = max(tight[close], float(off))
    assert max(tight) <= 1.0 and tight[0] > 1 / 2000


def test_gradients_of_samples():
    """What autograd makes of the derivatives: of gamma numbers over their rate, and of Dirichlet numbers."""
    a = torch.tensor([0.5, 2.0, 9.0], requires_grad=True)
    with rt.reproducible(strict=True):
        torch.manual_seed(4)
        x = D.Gamma(a, torch.ones(3)).rsample()
        (g,) = torch.autograd.grad(x.sum(), a)
        assert torch.equal(g, torch._standard_gamma_grad(a.detach(), x.detach()))
        torch.manual_seed(4)
        y, w = D.Dirichlet(a).rsample(), torch.tensor([1.0, -2.0, 0.5])
        (g,) = torch.autograd.grad((y * w).sum(), a)
        d = torch._dirichlet_grad(y.detach(), a.detach(), a.detach().sum(-1, True).expand(3))
        want = d * (w - (y.detach() * w).sum(-1, True))
        assert torch.equal(g, want)
        for made in (D.Beta(a, a + 1), D.Chi2(a), D.StudentT(a + 5)):
            (g,) = torch.autograd.grad(made.rsample((50,)).square().sum(), a)
            assert torch.isfinite(g).all() and (g != 0).all()


def test_bad_arguments_of_derivatives():
    one = torch.ones(1)
    with rt.reproducible(strict=True):
        for call, message in (
            (lambda: torch._standard_gamma_grad(-one, one), "a must be from"),
            (lambda: torch._standard_gamma_grad(one, -one), "x must be finite and not negative"),
            (lambda: torch._standard_gamma_grad(1e9 * one, 1e9 * one), "more than 16384 terms"),
            (lambda: torch._dirichlet_grad(2 * one, one, 3 * one), "x must be from 0 to 1"),
            (lambda: torch._dirichlet_grad(one / 2, one, one), "total must be greater than alpha"),
        ):
            with pytest.raises(RuntimeError, match=message):
                call()
        assert torch._standard_gamma_grad(one, 0 * one).item() == 0 and torch._standard_gamma_grad(
            one[:0], one[:0]
        ).shape == (0,)
