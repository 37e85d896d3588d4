"""Fake quantisation and 8-bit formats under reproducible(), against rational numbers."""

import math
from fractions import Fraction

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from exact_oracle import round_rational  # noqa: E402

import repmath.torch as rt  # noqa: E402

NAMES = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64"}
LOW, HIGH = -8, 7


def codes(t):
    width = {2: torch.int16, 4: torch.int32, 8: torch.int64}[t.itemsize]
    return [v % (1 << 8 * t.itemsize) for v in t.contiguous().view(width).reshape(-1).tolist()]


def data(scale, dtype):
    """Numbers whose quotients by the scale are halves of whole numbers, or beside these; and others."""
    near = torch.tensor([(k + 0.5) * scale for k in range(-10, 10)], dtype=torch.float64).to(dtype)
    up, down = (torch.nextafter(near, torch.full_like(near, s * math.inf)) for s in (1, -1))
    g = torch.Generator().manual_seed(3)
    return torch.cat([near, up, down, torch.randn(40, generator=g, dtype=torch.float64).to(dtype)])


def quantized(v, scale, zero):
    """The exact value, and whether it is between the limits: Python rounds a rational number to the even one in a tie."""
    q = round(Fraction(v) / Fraction(scale)) + zero
    return (min(max(q, LOW), HIGH) - zero) * Fraction(scale), LOW <= q <= HIGH


@pytest.mark.parametrize("dtype", NAMES, ids=str)
@pytest.mark.parametrize("scale", [0.25, 0.1, 1 / 3])
def test_of_tensors(scale, dtype):
    x = data(scale, dtype)
    for zero in (0, 3):
        want = [quantized(v, scale, zero) for v in x.tolist()]
        with rt.reproducible():
            made, inside = torch.ops.aten.fake_quantize_per_tensor_affine_cachemask(x, scale, zero, LOW, HIGH)
            if dtype is not torch.float64:
                x = x.clone().requires_grad_()
                torch.fake_quantize_per_tensor_affine(x, scale, zero, LOW, HIGH).sum().backward()
                assert torch.equal(x.grad, inside.to(dtype))
                x = x.detach()
        assert made.dtype is dtype and codes(made) == [round_rational(v, NAMES[dtype]) for v, _ in want]
        assert inside.tolist() == [found for _, found in want]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
def test_of_channels(dtype):
    scale, zero = torch.tensor([0.1, 0.3]), torch.tensor([0, -2], dtype=torch.int32)
    x = torch.stack([data(float(s), dtype) for s in scale], 1)
    want = [quantized(v, float(scale[i % 2]), int(zero[i % 2])) for i, v in enumerate(x.reshape(-1).tolist())]
    with rt.reproducible():
        made, inside = torch.ops.aten.fake_quantize_per_channel_affine_cachemask(x, scale, zero, 1, LOW, HIGH)
        single, _ = torch.ops.aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams(
            x[:, 0], scale[:1], zero[:1], torch.ones(1, dtype=torch.int64), LOW, HIGH
        )
    assert codes(made) == [round_rational(v, NAMES[dtype]) for v, _ in want] and inside.reshape(-1).tolist() == [
        f for _, f in want
    ]
    assert codes(single) == codes(made[:, 0].contiguous())


def test_what_is_not_finite_and_what_is_refused():
    x = torch.tensor([math.nan, math.inf, -math.inf])
    with rt.reproducible():
        made, inside = torch.ops.aten.fake_quantize_per_tensor_affine_cachemask(x, 0.5, 0, LOW, HIGH)
        assert math.isnan(made[0]) and made[1:].tolist() == [3.5, -4.0] and not inside.any()
        with pytest.raises(RuntimeError, match="zero_point"):
            torch.fake_quantize_per_tensor_affine(x, 0.5, 99, LOW, HIGH)
        with pytest.raises(rt.UncoveredOperatorError, match="scale"):
            torch.fake_quantize_per_tensor_affine(x, -0.5, 0, LOW, HIGH)


def test_control():
    """PyTorch multiplies by a rounded 1/scale: some numbers get another one."""
    x = data(0.1, torch.float32)
    plain = torch.fake_quantize_per_tensor_affine(x, 0.1, 0, LOW, HIGH)
    assert codes(plain) != [round_rational(quantized(v, 0.1, 0)[0], "f32") for v in x.tolist()]


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2], ids=str)
def test_8_bit_formats(dtype):
    """From each format one rounding, and to each format exactly; a NaN is the one without a sign."""
    numbers = torch.arange(256, dtype=torch.uint8).view(dtype).to(torch.float64)
    numbers = numbers[numbers.isfinite()].sort().values.unique()
    ties = (numbers[1:] + numbers[:-1]) / 2
    with rt.reproducible():
        for wide in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
            assert torch.equal(numbers.to(wide).to(dtype).to(wide), numbers.to(wide))
        above, below = (torch.nextafter(ties, torch.full_like(ties, s * math.inf)) for s in (1, -1))
        assert torch.equal(above.to(dtype).to(torch.float64), numbers[1:])
        assert torch.equal(below.to(dtype).to(torch.float64), numbers[:-1])
        nan = torch.tensor([-math.nan, math.nan]).to(dtype)
        assert len(set(nan.view(torch.uint8).tolist())) == 1 and bool(nan.to(torch.float16).isnan().all())
        with pytest.raises(rt.UncoveredOperatorError, match="float8_e8m0fnu"):
            ties.to(torch.float8_e8m0fnu)


def test_images_of_bytes_are_refused():
    """PyTorch rounds their weights in a way of its own."""
    x = torch.arange(48, dtype=torch.uint8).view(1, 3, 4, 4)
    for antialias in (False, True):
        with rt.reproducible(), pytest.raises(rt.UncoveredOperatorError, match="images of torch.uint8"):
            torch.nn.functional.interpolate(x, (3, 3), mode="bilinear", antialias=antialias)
