"""Second derivatives and tangents under reproducible(): PyTorch composes them of operators, from what the forward pass has saved.

Such a composition has a rounding for each of its steps, so derivatives are compared with those of binary numbers of 400 bits by a limit; the saved values
themselves are compared bit by bit, with tests/nn/test_normalization.py.
"""

import mpmath
import numpy as np
import pytest
import torch.nn.functional as F  # noqa: E402
from torch_derivatives import along, close, numbers, objects, torch

import repmath.nn  # noqa: E402
import repmath.torch as rt  # noqa: E402

EPS = 1e-5


W, B = numbers(4, seed=7).abs() + 0.5, numbers(4, seed=8)
NORMS = {
    "layer_norm": (lambda x: F.layer_norm(x, (4,), W.to(x), B.to(x), EPS), (3, 4)),
    "batch_norm": (lambda x: F.batch_norm(x, None, None, W.to(x), B.to(x), True, 0.1, EPS), (5, 4)),
    "instance_norm": (lambda x: F.instance_norm(x, eps=EPS), (2, 3, 5)),
    "group_norm": (lambda x: F.group_norm(x, 2, W.to(x), B.to(x), EPS), (2, 4, 3)),
    "rms_norm": (lambda x: F.rms_norm(x, (4,), W.to(x), EPS), (3, 4)),
}


def formula(name, x):
    """The norm over mpmath's numbers: an array of objects."""
    x = np.array([mpmath.mpf(float(v)) if not isinstance(v, mpmath.mpf) else v for v in x.ravel()], object).reshape(x.shape)
    axes, w, b, shape = {
        "layer_norm": ((1,), W, B, (1, 4)),
        "batch_norm": ((0,), W, B, (1, 4)),
        "instance_norm": ((2,), None, None, None),
        "group_norm": ((2, 3), W, B, (1, 2, 2, 1)),
        "rms_norm": ((1,), W, None, (1, 4)),
    }[name]
    a = x.reshape(2, 2, 2, 3) if name == "group_norm" else x
    n = int(np.prod([a.shape[i] for i in axes]))
    d = a if "rms" in name else a - a.sum(axis=axes, keepdims=True) / n
    root = np.vectorize(mpmath.sqrt, otypes=[object])((d * d).sum(axis=axes, keepdims=True) / n + mpmath.mpf(EPS))
    w, b = (None if v is None else np.array([mpmath.mpf(float(u)) for u in v], object).reshape(shape) for v in (w, b))
    y = d / root
    y = y if w is None else y * w
    return (y if b is None else y + b).reshape(x.shape)


def second(norm, x, v, dtype):
    """g, the gradient of the sum of y**3, and the gradient of the product of g and v."""
    x = x.to(dtype).requires_grad_()
    (g,) = torch.autograd.grad(norm(x).pow(3).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad((g * v.to(dtype)).sum(), x)
    return g.detach(), h


def exact_second(name, x, v):
    """By the symmetry of second derivatives, the second one is that of the gradient along v, which is that of y along v and the unit vectors."""
    x, v = objects(x), objects(v)
    loss = lambda at: (formula(name, at) ** 3).sum()  # noqa: E731
    units = [np.array([mpmath.mpf(i == k) for k in range(x.size)], object).reshape(x.shape) for i in range(x.size)]
    g = [along(loss, x, u) for u in units]
    return g, [along(lambda at, u=u: along(loss, at, v), x, u) for u in units]


@pytest.mark.parametrize("name", NORMS)
def test_second_derivatives_of_norms(name):
    norm, shape = NORMS[name]
    x, v = numbers(*shape), numbers(*shape, seed=2)
    with mpmath.workprec(400):
        want = exact_second(name, x, v)
        for dtype, bits in ((torch.float32, 18), (torch.float64, 46)):
            with rt.reproducible():
                found = second(norm, x, v, dtype)
            assert all(close(a, b, bits) for a, b in zip(found, want, strict=True)), dtype


@pytest.mark.parametrize("name", NORMS)
def test_tangents_of_norms(name):
    norm, shape = NORMS[name]
    x, v = numbers(*shape), numbers(*shape, seed=2)
    with mpmath.workprec(400):
        want = along(lambda at: formula(name, at), objects(x), objects(v))
        for dtype, bits in ((torch.float32, 18), (torch.float64, 46)):
            with rt.reproducible():
                y, tangent = torch.func.jvp(norm, (x.to(dtype),), (v.to(dtype),))
            assert tangent.dtype is dtype and close(tangent, want, bits), dtype


def test_control_other_statistics(monkeypatch):
    """Deviations that are off by 2**-10 are found, those of the table's function."""
    from repmath import _core
    from repmath.torch._aten import layers

    own, overload = layers._with_eps, torch.ops.aten.native_group_norm.default
    monkeypatch.setattr(layers, "_with_eps", lambda root, eps: own(root * root.dtype.type(1 + 2**-10), eps))
    prepared = _core.prepare_call(overload, None)
    try:
        with pytest.raises(AssertionError):
            test_second_derivatives_of_norms("group_norm")
    finally:
        _core.prepare_call(overload, prepared)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_saved_statistics_have_the_bits_of_numpy(dtype):
    x, as_array = numbers(6, 4, 5).to(dtype), rt._tensors.as_array
    with rt.reproducible():
        layer = torch.native_layer_norm(x, (4, 5), None, None, EPS)
        group = torch.native_group_norm(x, None, None, 6, 4, 5, 2, EPS)
        batch = torch.native_batch_norm(x, None, None, None, None, True, 0.1, EPS)
        given = torch.native_batch_norm(x, None, None, B.to(dtype), W.to(dtype), False, 0.1, EPS)
        none = torch.native_layer_norm(x[:0], (4, 5), None, None, EPS)
    a = as_array(x)
    for ours, want in (
        (layer, repmath.nn.layer_norm(a, (4, 5), eps=EPS, return_statistics=True)),
        (group, repmath.nn.group_norm(a, 2, eps=EPS, return_statistics=True)),
        (batch, repmath.nn.batch_norm(a, None, None, training=True, eps=EPS, return_statistics=True)),
    ):
        assert [t.dtype for t in ours] == [dtype] * len(want) and [tuple(t.shape) for t in ours] == [b.shape for b in want]
        assert [as_array(t).tobytes() for t in ours] == [b.tobytes() for b in want]
    assert layer[1].shape == (6, 1, 1) and group[2].shape == (6, 2) and batch[1].shape == (4,)
    assert [t.numel() for t in given[1:]] == [0, 0] and [t.shape for t in none] == [(0, 4, 5), (0, 1, 1), (0, 1, 1)]
    with pytest.raises(ValueError, match="training"):
        repmath.nn.batch_norm(a, as_array(B.to(dtype)), as_array(W.to(dtype)), return_statistics=True)


def test_penalty_of_a_gradient_trains():
    """As of a critic with a norm: the loss holds the norm of a gradient. Every step is of numbers, and twice the same."""

    def run():
        torch.manual_seed(3)
        critic = torch.nn.Sequential(
            torch.nn.Conv1d(2, 4, 3), torch.nn.GroupNorm(2, 4), torch.nn.SiLU(), torch.nn.Flatten(), torch.nn.Linear(24, 6),
            torch.nn.LayerNorm(6), torch.nn.Tanh(), torch.nn.Linear(6, 1),
        )  # fmt: skip
        optimizer, losses = torch.optim.SGD(critic.parameters(), lr=0.05), []
        for _ in range(3):
            x = torch.randn(5, 2, 8, requires_grad=True)
            score = critic(x)
            (g,) = torch.autograd.grad(score.sum(), x, create_graph=True)
            loss = score.mean() + 10 * (g.flatten(1).norm(2, dim=1) - 1).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
        assert np.isfinite(losses).all() and all(bool(p.isfinite().all()) for p in critic.parameters())
        return rt.digest(critic)

    with rt.reproducible():
        assert run() == run()


def test_a_forward_pass_outside_of_the_block():
    """Its statistics do not hold eps: the gradient is refused, and takes neither what lies there nor the eps of calls inside."""
    x = numbers(3, 4).float().requires_grad_()
    for norm in (lambda: F.layer_norm(x, (4,)), lambda: F.group_norm(x[..., None], 2)):
        y = norm().sum()
        with rt.reproducible():
            norm()
        with pytest.raises(rt.UncoveredOperatorError, match="outside of reproducible"), rt.reproducible():
            y.backward()
