"""torch.fft under reproducible(): the bits of repmath.fft, and gradients that are transforms again."""

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import repmath.fft as exact  # noqa: E402
import repmath.torch as rt  # noqa: E402

REAL = {torch.complex64: torch.float32, torch.complex128: torch.float64}
NORMS = ("backward", "ortho", "forward")
OTHER = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def numbers(shape, dtype, seed=1):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def same(t, a):
    a = np.asarray(a)
    t = t.detach().resolve_conj().resolve_neg().numpy()
    return (
        t.dtype == a.dtype and t.shape == a.shape and np.ascontiguousarray(t).tobytes() == np.ascontiguousarray(a).tobytes()
    )


def without_negative_zeros(a):
    return np.asarray(a) + 0.0


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_one_axis(name, dtype):
    x = numbers((3, 8, 2), REAL[dtype] if name in ("rfft", "ihfft") else dtype)
    for n, dim, norm in itertools.product((None, 5, 12), (-1, 1, 0), NORMS):
        if n is None and name in ("irfft", "hfft") and x.shape[dim] == 1:
            continue
        with rt.reproducible():
            ours = getattr(torch.fft, name)(x, n, dim, norm)
        want = getattr(exact, name)(x.numpy(), n, dim, norm)
        if name == "ihfft":  # PyTorch takes the conjugate of a result, whose zeros become negative
            assert same(ours + 0, without_negative_zeros(want))
        else:
            assert same(ours, want), (n, dim, norm)
    if not x.is_complex():
        return
    with rt.reproducible():
        ours = getattr(torch.fft, name)(x.real)
    assert np.array_equal(ours.resolve_conj().numpy(), getattr(exact, name)(x.real.numpy()))


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("name", ["fft2", "ifft2", "fftn", "ifftn", "rfft2", "irfft2", "rfftn", "irfftn"])
def test_several_axes(name, dtype):
    """Rounded once, where PyTorch hands all axes over in one call."""
    x = numbers((4, 3, 6), REAL[dtype] if name.startswith("r") else dtype)
    for s, dim in ((None, (1, 2)), ((5, 4), (0, 2)), ((2, 4), (2, 0))):
        for norm in NORMS:
            with rt.reproducible():
                ours = getattr(torch.fft, name)(x, s, dim, norm)
            assert same(ours, getattr(exact, name)(x.numpy(), s, dim, norm=norm)), (s, dim, norm)


def gradient(call, x, g):
    x = x.clone().requires_grad_()
    with rt.reproducible():
        (made,) = torch.autograd.grad(call(x), x, g)
    return made


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_gradients(dtype, norm):
    """With respect to the conjugate, as PyTorch has them: the transform with the other sign."""
    z, g, real = numbers((3, 6), dtype), numbers((3, 6), dtype, 2), REAL[dtype]
    made = gradient(lambda x: torch.fft.fft(x, norm=norm), z, g)
    assert same(made, exact.ifft(g.numpy(), norm=OTHER[norm]))
    made = gradient(lambda x: torch.fft.ifft(x, norm=norm), z, g)
    assert same(made, exact.fft(g.numpy(), norm=OTHER[norm]))
    made = gradient(lambda x: torch.fft.fft2(x, norm=norm), z, g)
    assert same(made, exact.ifft2(g.numpy(), norm=OTHER[norm]))
    made = gradient(lambda x: torch.fft.fft(x, norm=norm), z.real, g)
    assert same(made, exact.ifft(g.numpy(), norm=OTHER[norm]).real)
    half = g[:, :4].contiguous()
    made = gradient(lambda x: torch.fft.rfft(x, norm=norm), z.real, half)
    assert same(made, exact.ifft(half.numpy(), 6, norm=OTHER[norm]).real)
    made = gradient(lambda x: torch.fft.irfft(x, norm=norm), z[:, :4], g.real)
    want = exact.rfft(g.real.numpy(), norm=OTHER[norm])
    want[:, 1:3] *= 2
    assert same(made, want) and made.dtype is dtype and real is made.real.dtype


def test_every_function_has_a_gradient():
    z, x = numbers((4, 6), torch.complex64), numbers((4, 6), torch.float32)
    for name in ("fft", "ifft", "irfft", "hfft", "fft2", "ifft2", "irfft2", "hfft2", "fftn", "ifftn", "irfftn", "hfftn"):
        function = getattr(torch.fft, name)
        for given in (z, z.conj()):
            leaf = given.clone().requires_grad_()
            with rt.reproducible():
                made = function(leaf)
                (made.real.square().sum() + (made.imag.sum() if made.is_complex() else 0)).backward()
            assert leaf.grad.isfinite().all()
    for name in ("fft", "ifft", "rfft", "ihfft", "rfft2", "ihfft2", "fftn", "rfftn", "ihfftn"):
        leaf = x.clone().requires_grad_()
        with rt.reproducible():
            spectrum = getattr(torch.fft, name)(leaf)
            power = spectrum.real.square() + spectrum.imag.square()
            power.sum().backward()
        assert leaf.grad.isfinite().all()


def test_shifts():
    z = numbers((5, 4), torch.complex64)
    with rt.reproducible():
        assert same(torch.fft.fftshift(z), exact.fftshift(z.numpy()))
        assert same(torch.fft.ifftshift(z, dim=1), exact.ifftshift(z.numpy(), 1))


def test_a_convolution_by_transforms():
    """As layers do it that multiply spectra by weights, forward and backward, twice with the same bits."""
    found = []
    for _ in range(2):
        with rt.reproducible():
            torch.manual_seed(3)
            x = torch.randn(2, 3, 16, requires_grad=True)
            w = torch.complex(torch.randn(3, 9), torch.randn(3, 9)).requires_grad_()
            torch.fft.irfft(torch.fft.rfft(x) * w, 16).square().sum().backward()
        found.append([t.grad.resolve_conj().numpy().tobytes() for t in (x, w)])
    assert found[0] == found[1]
