"""Derivatives by central differences at a high precision, and comparison of tensors with them."""

import mpmath
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


def numbers(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).float().double()


def along(function, x, v):
    """The derivative of a function along v, by a central difference; its error is of the order of h**2."""
    h = mpmath.ldexp(1, -120)
    return (function(x + v * h) - function(x - v * h)) / (2 * h)


def objects(t):
    return np.array([mpmath.mpf(float(v)) for v in t.flatten()], object).reshape(tuple(t.shape))


def close(ours, exact, bits):
    scale = max(abs(v) for v in np.ravel(exact))
    return all(
        abs(mpmath.mpf(float(a)) - b) <= scale * mpmath.mpf(2) ** -bits
        for a, b in zip(ours.flatten(), np.ravel(exact), strict=True)
    )
