"""Operators under reproducible() on PyTorch's own samples, against the same operators in binary64.

A result must be a float32 that some number beside the binary64 value rounds to: that value is itself off by some units of its last
place, of the largest element where sums cancel. Composed functions, which round at each step, are not here.
"""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("expecttest", reason="expecttest, which PyTorch's samples need, is not installed")

from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

import repmath.torch as rt  # noqa: E402

NAMES = """
add sub rsub mul div reciprocal pow sqrt rsqrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh
tanh asinh acosh atanh erf erfc erfinv hypot logaddexp addcmul addcdiv sigmoid nn.functional.silu nn.functional.gelu
nn.functional.logsigmoid nn.functional.hardswish nn.functional.hardsigmoid nn.functional.relu nn.functional.relu6
nn.functional.hardtanh nn.functional.leaky_relu nn.functional.prelu nn.functional.glu nn.functional.threshold clamp clamp_min clamp_max
maximum minimum amax amin sum mean var std cumsum logsumexp index_add scatter_add index_put mm bmm mv dot addmm addmv baddbmm
nn.functional.linear nn.functional.conv1d nn.functional.conv2d nn.functional.conv3d nn.functional.conv_transpose1d
nn.functional.conv_transpose2d nn.functional.conv_transpose3d softmax log_softmax nn.functional.layer_norm nn.functional.group_norm
nn.functional.batch_norm nn.functional.instance_norm nn.functional.nll_loss nn.functional.mse_loss nn.functional.smooth_l1_loss nn.functional.huber_loss
nn.functional.binary_cross_entropy_with_logits nn.functional.max_pool2d nn.functional.avg_pool2d nn.functional.adaptive_avg_pool2d
nn.functional.max_pool3d nn.functional.avg_pool3d nn.functional.embedding where cat stack gather
abs sgn sign neg square true_divide lerp vdot matmul outer inner linalg.vecdot norm linalg.vector_norm var_mean std_mean special.ndtri
_softmax_backward_data nn.functional.softmin nn.functional.l1_loss nn.functional.adaptive_avg_pool1d nn.functional.adaptive_avg_pool3d
nn.functional.adaptive_max_pool1d nn.functional.adaptive_max_pool2d nn.functional.adaptive_max_pool3d nn.functional.avg_pool1d
nn.functional.max_pool1d max_pool2d_with_indices_backward native_dropout_backward nn.functional.upsample_nearest nn.functional.max_unpool2d
nn.functional.hardshrink heaviside copysign masked_fill index_fill index_copy sort topk cummax cummin median kthvalue roll trunc round ceil
floor scatter take fill constant_pad_nd nan_to_num tril triu flip isin
""".split()  # noqa: SIM905
OPERATORS = {op.name: op for op in op_db if op.name in NAMES and op.variant_test_name in ("", "no_rounding_mode")}
# Those of the clamps are no errors of PyTorch's operators, but of its reference implementations.
REFUSING = [name for name, op in OPERATORS.items() if op.error_inputs_func is not None and not name.startswith("clamp_")]


def test_the_names_are_pytorchs():
    assert set(NAMES) == set(OPERATORS)


def to(value, dtype):
    if isinstance(value, torch.Tensor):
        return value.detach().to(dtype) if value.is_floating_point() else value
    if isinstance(value, (list, tuple)):
        return type(value)(to(v, dtype) for v in value)
    return value


def tensors(value):
    return [value] if isinstance(value, torch.Tensor) else [t for v in value for t in tensors(v)]


def wrong(ours, wide):
    """How many elements no number beside the binary64 value rounds to."""
    finite = wide[wide.isfinite()].abs()
    off = wide.abs() * 2**-44 + (finite.max() if finite.numel() else 0) * 2**-48
    low, high = ((wide + s * off).to(torch.float32) for s in (-1, 1))
    good = ((low <= ours) & (ours <= high)) | (ours.isnan() & wide.isnan())
    return int((~good).sum())


@pytest.mark.parametrize("name", NAMES)
def test_samples(name):
    op, checked, refused = OPERATORS[name], 0, []
    for sample in list(op.sample_inputs("cpu", torch.float32))[:10]:
        arguments = [to(sample.input, torch.float32), *(to(a, torch.float32) for a in sample.args)]
        keywords = {k: to(v, torch.float32) for k, v in sample.kwargs.items()}
        if any(isinstance(v, torch.dtype) for v in keywords.values()):
            continue
        wide = tensors(op(*to(arguments, torch.float64), **{k: to(v, torch.float64) for k, v in keywords.items()}))
        try:
            with rt.reproducible():
                ours = tensors(op(*arguments, **keywords))
        except rt.UncoveredOperatorError as error:
            refused.append(str(error))
            continue
        checked += 1
        for a, b in zip(ours, wide, strict=True):
            assert a.shape == b.shape
            assert a.dtype == (torch.float32 if b.is_floating_point() else b.dtype)
            assert wrong(a, b) == 0 if b.is_floating_point() else torch.equal(a, b), (name, sample)
    assert checked, refused


@pytest.mark.parametrize("name", REFUSING)
def test_errors(name):
    """What PyTorch refuses is refused in the same way."""
    for bad in OPERATORS[name].error_inputs("cpu"):
        s = bad.sample_input
        with pytest.raises(bad.error_type), rt.reproducible():
            OPERATORS[name](s.input, *s.args, **s.kwargs)


def test_control():
    """The check finds results of binary32 arithmetic."""
    x = torch.randn(4, 300, generator=torch.Generator().manual_seed(1))
    assert wrong(x.exp().sum(1, dtype=torch.float32), x.double().exp().sum(1))
