"""stochastic() where operators draw: quotients of dropout and products of rrelu by rational numbers and their words, attention as in scopes of NumPy functions. What is dropped
is as to nearest."""

from fractions import Fraction

import numpy as np
import pytest
import rounding_oracle

import repmath

torch = pytest.importorskip("torch")

import repmath.torch as rt  # noqa: E402
from repmath import nn, rounding  # noqa: E402
from repmath.torch._tensors import as_array, as_tensor  # noqa: E402

FORMATS = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64"}
SEED, SAMPLE = 5, 2
X = torch.linspace(-3, 3, 41, dtype=torch.float64)
SPECIAL = [0.0, -0.0, float("inf"), -float("inf"), float("nan")]
ALL = pytest.mark.parametrize("mode", (*rounding_oracle.MODES, *rounding_oracle.DIRECTED))
EACH = pytest.mark.parametrize("dtype", FORMATS, ids=FORMATS.values())


def bits(t):
    a = np.ascontiguousarray(as_array(t))
    return a.view(f"u{a.dtype.itemsize}").reshape(-1).tolist()


def numbers(dtype):
    return torch.cat((X, torch.tensor(SPECIAL, dtype=torch.float64))).to(dtype)


def wanted(values, nearest, dtype, mode, number=0, kept=None):
    """Exact values, None where the result is that to nearest, up or down if it is a number that up_down moves."""
    words = rounding_oracle.words(SEED, (SAMPLE << 32) + number, 0, len(values)).tolist()
    near = bits(nearest)
    if mode == "up_down":
        moved = repmath._random_modes.up_down(as_array(nearest), SEED, (SAMPLE << 32) + number)
        return bits(as_tensor(moved))
    return [
        b if v is None or v == 0 else rounding_oracle.rounded(v, FORMATS[dtype], mode, w)
        for v, b, w in zip(values, near, words, strict=True)
    ]


def twice(call, mode):
    """The result to nearest, and in a block, of the same draws."""
    made = []
    for block in (rt.reproducible(), rt.stochastic(SEED, SAMPLE, mode)):
        torch.manual_seed(3)
        rt.manual_seed(3)
        with block:
            made.append(call())
    return *made, block.calls


def quotients(x, kept, p):
    rest = 1 - Fraction(p)
    return [Fraction(v) / rest if k and np.isfinite(v) else None for v, k in zip(x.double().tolist(), kept, strict=True)]


@ALL
@EACH
@pytest.mark.parametrize("p", [0.1, 0.3, 0.75, 2.0**-60])
def test_native_dropout(p, dtype, mode):
    x = numbers(dtype)
    (near, mask), (made, kept), calls = twice(lambda: torch.native_dropout(x, p, True), mode)
    assert calls == 1 and torch.equal(mask, kept)
    assert bits(made) == wanted(quotients(x, kept.tolist(), p), near, dtype, mode)
    assert (bits(made) != bits(near)) == (
        mode == "up_down" or p < 2.0**-50 and mode in ("random", "down", "up") or p in (0.1, 0.3)
    )


@ALL
@EACH
def test_own_dropout_and_its_gradient(dtype, mode):
    x, g = numbers(dtype), torch.linspace(0.1, 2, 46, dtype=torch.float64).to(dtype)

    def both():
        leaf = x.detach().clone().requires_grad_()
        made = rt.functional.dropout(leaf, 0.3)
        return made.detach(), torch.autograd.grad(made, leaf, g)[0]

    near, found, calls = twice(both, mode)
    assert calls == 2
    kept = (near[1] != 0).tolist()
    assert True in kept and False in kept
    for number, (source, a, b) in enumerate(zip((x, g), near, found, strict=True)):
        assert bits(b) == wanted(quotients(source, kept, 0.3), a, dtype, mode, number)
        assert bits(b) != bits(a)


@pytest.mark.parametrize("mode", rounding_oracle.OF_VALUES)
@EACH
def test_dropout_of_pytorch_is_a_quotient_and_a_product(dtype, mode):
    """On the CPU noise is drawn, divided by 1 - p, and multiplied: two arrays."""
    x = X.to(dtype)
    near, made, calls = twice(lambda: torch.nn.functional.dropout(x, 0.3, True), mode)
    assert calls == 2
    kept = (near != 0) | (x == 0)
    ones = [Fraction(1) / Fraction(1 - 0.3) if k else None for k in kept.tolist()]
    noise = wanted(ones, torch.zeros_like(x), dtype, mode)
    a = np.array(noise, f"u{x.element_size()}").view(as_array(x).dtype).astype(np.float64)
    values = [
        Fraction(v) * Fraction(n) if k else None
        for v, n, k in zip(x.double().tolist(), a.tolist(), kept.tolist(), strict=True)
    ]
    assert bits(made) == wanted(values, near, dtype, mode, 1)


@ALL
@EACH
@pytest.mark.parametrize("inplace", [False, True])
def test_rrelu(inplace, dtype, mode):
    x = numbers(dtype)
    for training in (True, False):
        noise = torch.empty_like(x)
        operator = torch.ops.aten.rrelu_with_noise_ if inplace else torch.ops.aten.rrelu_with_noise
        near, made, calls = twice(lambda f=operator, n=noise, t=training: f(x.clone(), n, 0.1, 0.35, t), mode)
        slopes = noise.double().tolist() if training else [1.0 if v > 0 else (0.1 + 0.35) / 2 for v in x.double().tolist()]
        values = [
            Fraction(v) * Fraction(s) if np.isfinite(v) else None for v, s in zip(x.double().tolist(), slopes, strict=True)
        ]
        assert calls == 1 and bits(made) == wanted(values, near, dtype, mode), training
        assert bits(made) != bits(near)


@ALL
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_attention_is_that_of_scopes(dtype, mode):
    q, k, v = (torch.sin(torch.arange(n * 4).float() * 1.7 + n).reshape(1, n, 4).to(dtype) for n in (3, 5, 6))
    k, v = k, v[:, :5]

    def both():
        leaves = [t.detach().clone().requires_grad_() for t in (q, k, v)]
        made = rt.functional.scaled_dot_product_attention(*leaves, dropout_p=0.25)
        return [made.detach(), *torch.autograd.grad(made, leaves, torch.ones_like(made))]

    near, made, calls = twice(both, mode)
    place = {"dropout_p": 0.25, "seed": 3}
    with rounding.scope(mode, seed=SEED, sample=SAMPLE) as block:
        arrays = [as_array(t) for t in (q, k, v)]
        want = nn.scaled_dot_product_attention(*arrays, **place)
        if mode != "up_down":
            more = nn.scaled_dot_product_attention_backward(as_array(torch.ones_like(made[0])), *arrays, **place)
            assert all(bits(a) == bits(as_tensor(np.ascontiguousarray(b))) for a, b in zip(made[1:], more, strict=True))
            assert block.calls == 2
    assert calls == 4 and bits(made[0]) == bits(as_tensor(np.ascontiguousarray(want)))
    assert all(bits(a) != bits(b) for a, b in zip(near, made, strict=True))


def test_filters_and_ends():
    x = numbers(torch.float32)
    for call, name in (
        (lambda: torch.native_dropout(x, 0.3, True)[0], "native_dropout*"),
        (lambda: rt.functional.dropout(x, 0.3), "repmath::dropout*"),
    ):
        torch.manual_seed(3)
        rt.manual_seed(3)
        with rt.reproducible():
            near = call()
        torch.manual_seed(3)
        rt.manual_seed(3)
        with rt.stochastic(SEED, SAMPLE, exclude=name) as block:
            assert bits(call()) == bits(near) and block.calls == 1
    with rt.stochastic(SEED, SAMPLE):
        assert not torch.native_dropout(x, 1.0, True)[0].any()
        for p, train in ((0.0, True), (0.5, False)):
            made, kept = torch.native_dropout(x, p, train)
            assert kept.all() and bits(made) == bits(x)


def test_copies_round_nothing():
    """Within a format, or to a wider one, under up_down too; their numbers stay. To a narrower one they are rounded."""
    x = numbers(torch.float32)[:41]
    for mode in (*rounding_oracle.MODES, *rounding_oracle.DIRECTED):
        with rt.stochastic(SEED, SAMPLE, mode) as block:
            same, wide = torch.empty(41).copy_(x), x.to(torch.float64)
            into = torch.empty(41, dtype=torch.float64).copy_(x)
            assert block.calls == 3
            narrow = x.bfloat16()
        assert bits(same) == bits(x) and bits(wide) == bits(into) == bits(x.double())
        assert bits(narrow) != bits(x.bfloat16())
