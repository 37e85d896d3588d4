"""pown, rootn and compound of tensors: the ufuncs' bits, gradients, tangents, vmap, errors."""

import numpy as np
import pytest
import torch
from torch.autograd import forward_ad

import repmath
from repmath.torch import functional as rt

KINDS = tuple(repmath._core.powers)


@pytest.mark.parametrize("kind", KINDS)
def test_bits_are_those_of_the_ufunc(kind):
    x, n = np.linspace(0.5, 2, 24).reshape(4, 6), np.array([1, 2, 3, -2, 5, 7])
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        t = torch.tensor(x).to(dtype)
        for integers in (3, torch.tensor(n), torch.tensor(n, dtype=torch.int32)):
            got = getattr(rt, kind)(t, integers)
            given = t.float().numpy() if dtype == torch.bfloat16 else t.numpy()
            if dtype == torch.bfloat16:
                import ml_dtypes

                given = given.astype(ml_dtypes.bfloat16)
            want = getattr(repmath, kind)(given, np.asarray(integers))
            assert got.dtype == dtype and (got.double().numpy() == want.astype(np.float64)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives(kind):
    torch.manual_seed(1)
    x = (torch.rand(2, 4, dtype=torch.float64) + 0.5).requires_grad_()
    n = torch.tensor([1, 2, -3, 5])
    f = getattr(rt, kind)
    assert torch.autograd.gradcheck(lambda v: f(v, n), (x,)) and torch.autograd.gradgradcheck(lambda v: f(v, n), (x,))
    assert torch.autograd.gradcheck(lambda v: f(v, n), (x[0].detach().requires_grad_(),))
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x.detach(), torch.ones_like(x))
        tangent = forward_ad.unpack_dual(f(dual, n)).tangent
    (gradient,) = torch.autograd.grad(f(x, n).sum(), x)
    assert torch.equal(tangent, gradient)
    assert torch.equal(torch.vmap(f, in_dims=(0, None))(x.detach(), n), f(x.detach(), n))
    torch.library.opcheck(getattr(torch.ops.repmath, kind).default, (x.detach().requires_grad_(), n))


def test_derivatives_at_special_arguments():
    def slope(kind, value, n):
        x = torch.tensor(value, dtype=torch.float64, requires_grad=True)
        (g,) = torch.autograd.grad(getattr(rt, kind)(x, n), x)
        return g.item()

    assert slope("pown", 0.0, 0) == 0 and slope("pown", 0.0, 1) == 1 and slope("pown", 0.0, 2) == 0
    assert slope("rootn", 0.0, 1) == 1 and slope("rootn", 0.0, 3) == float("inf") and slope("rootn", -8.0, 3) == 1 / 12
    assert slope("compound", -1.0, 0) == 0 and slope("compound", -1.0, 1) == 1
    assert slope("pown", -1.0, -(1 << 63)) == 2.0**63


def test_errors():
    x = torch.ones(3)
    for n in (2.0, True, torch.ones(3), torch.ones(3, dtype=torch.bool), None):
        with pytest.raises(TypeError):
            rt.pown(x, n)
    with pytest.raises(TypeError):
        rt.rootn(torch.ones(3, dtype=torch.int64), 2)
