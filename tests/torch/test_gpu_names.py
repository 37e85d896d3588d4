"""Operators that PyTorch has for GPUs alone: each has a line of the table, or a refusal that says what serves. Tensors of the CPU take the same
functions, so that no GPU is needed."""

import pathlib
from fractions import Fraction

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
import numpy as np  # noqa: E402
from torch_cases import same_bits  # noqa: E402

import repmath.torch as rt  # noqa: E402
from repmath.torch import _mode  # noqa: E402
from repmath.torch._aten import devices, table  # noqa: E402

aten = torch.ops.aten


def names():
    """Overloads that native_functions.yaml gives a kernel for CUDA, and none for the CPU or for every device; without those that write `out`."""
    pytest.importorskip("yaml", reason="PyYAML, which torchgen needs, is not installed")
    import torchgen
    from torchgen.gen import parse_native_yaml
    from torchgen.model import DispatchKey

    folder = pathlib.Path(torchgen.__file__).parent / "packaged/ATen/native"
    parsed = parse_native_yaml(str(folder / "native_functions.yaml"), str(folder / "tags.yaml"))
    of_cpu, of_cuda = (parsed.backend_indices[key] for key in (DispatchKey.CPU, DispatchKey.CUDA))
    found = []
    for f in parsed.native_functions:
        if of_cuda.has_kernel(f) and not of_cpu.has_kernel(f) and not f.has_composite_kernel and not f.func.is_out_fn():
            overload = getattr(getattr(aten, str(f.func.name.name)), f.func.name.overload_name or "default", None)
            if overload is not None:
                found.append(overload)
    return found


def without_a_route(overloads, functions):
    plain = "it is not in the table of operators"
    return [
        str(f)
        for f in overloads
        if f not in functions and f.overloadpacket.__name__ not in devices._WITHOUT_NUMBERS and _mode._absent(f) == plain
    ]


def test_every_name_has_a_route():
    found = names()
    assert (
        len(found) > 60 and aten._cudnn_rnn.default in found and aten._scaled_dot_product_efficient_attention.default in found
    )
    assert without_a_route(found, table.FUNCTIONS) == []
    # The control: without its line a name is found.
    fewer = {f: call for f, call in table.FUNCTIONS.items() if f is not aten.mm.dtype}
    assert without_a_route(found, fewer) == ["aten.mm.dtype"]


def test_refusals_say_what_serves():
    x = torch.ones(2, 2)
    for call, text in (
        (lambda: aten._fused_dropout(x, 0.5), "functional.dropout serves"),
        (lambda: aten._thnn_fused_lstm_cell(x.repeat(1, 4), x.repeat(1, 4), x), "LSTM"),
        (lambda: aten._cslt_compress(x), "x.to_dense() serves"),
        (lambda: aten.batch_norm_stats(x, 1e-5), "torch.nn.BatchNorm2d serves"),
        (lambda: aten._triton_scaled_dot_attention(x, x, x), "scaled_dot_product_attention serves"),
    ):
        with rt.reproducible(), pytest.raises(rt.UncoveredOperatorError) as caught:
            call()
        assert text in str(caught.value)


def given(*shape, seed=1, dtype=torch.float32):
    return torch.from_numpy(np.random.default_rng([seed, *shape]).standard_normal(shape)).to(dtype)


def same(made, wanted):
    for a, b in zip(made, wanted, strict=True):
        if isinstance(b, torch.Tensor):
            assert a.dtype is b.dtype
            assert same_bits(a, b)
        else:
            assert a is None and b is None


def test_products_in_a_wider_format():
    """The exact sum of products, rounded to binary32: also where terms cancel and where a term is below half a unit."""
    a, b = given(2, 3, 40, dtype=torch.bfloat16), given(2, 40, 4, dtype=torch.bfloat16)
    a[0, 0, :3] = torch.tensor([1.0, 2.0**-12, 2.0**-30])
    b[0, :3, 0] = torch.tensor([1.0, 2.0**-12, 2.0**-30])  # a tie of binary32, but for the last term
    a[0, 0, 3:] = 0
    c = given(2, 3, 4, seed=2, dtype=torch.bfloat16)
    exact = np.empty((2, 3, 4), object)
    for s, i, j in np.ndindex(exact.shape):
        exact[s, i, j] = sum(Fraction(float(a[s, i, k])) * Fraction(float(b[s, k, j])) for k in range(40))

    def rounded(values):
        made = np.empty(values.shape, np.float32)
        for at in np.ndindex(values.shape):
            made[at] = nearest(values[at])
        return torch.from_numpy(made)

    with_c = exact + np.vectorize(lambda t: Fraction(float(t)), otypes=[object])(c.float().numpy()) * 3
    with rt.reproducible():
        out = torch.float32
        assert nearest(exact[0, 0, 0]) != np.float32(float(exact[0, 0, 0]) - 2.0**-24)
        assert same_bits(aten.bmm.dtype(a, b, out), rounded(exact))
        assert same_bits(aten.mm.dtype(a[0], b[0], out), rounded(exact[0]))
        assert same_bits(aten.baddbmm.dtype(c, a, b, out, beta=3), rounded(with_c))
        assert same_bits(aten.addmm.dtype(c[1], a[1], b[1], out, beta=3), rounded(with_c[1]))


def nearest(v):
    """A fraction rounded to binary32, ties to even."""
    if v == 0:
        return np.float32(0)
    e = -149
    while abs(v) >= Fraction(2) ** (e + 24):
        e += 1
    return np.float32(round(v / Fraction(2) ** e) * 2.0**e)


def test_convolutions():
    x, w, b, z = given(2, 4, 7, 6), given(6, 2, 3, 2), given(6), given(2, 6, 5, 5, seed=3)
    options = [1, 0], [1, 1], [1, 1], 2  # padding, stride, dilation, groups
    x = x[:, :, :5]
    with rt.reproducible():
        plain = aten.convolution(x, w, None, options[1], options[0], options[2], False, [0, 0], 2)
        biased = aten.convolution(x, w, b, options[1], options[0], options[2], False, [0, 0], 2)
        flags = False, True, False
        same([aten.cudnn_convolution(x, w, *options, *flags)], [plain])
        same([aten.miopen_convolution(x, w, b, *options, *flags[:2])], [biased])
        fused = b, options[1], options[0], options[2], 2
        same([aten.cudnn_convolution_relu(x, w, *fused)], [biased.relu()])
        same([aten.cudnn_convolution_add_relu(x, w, z, 0.3, *fused)], [torch.add(biased, z, alpha=0.3).relu()])
        same([aten.miopen_convolution_add_relu(x, w, z, None, *fused)], [(biased + z).relu()])
        wanted = aten.convolution(z, w, None, [2, 2], [1, 0], [1, 1], True, [1, 1], 2)
        same([aten.cudnn_convolution_transpose(z, w, [1, 0], [1, 1], [2, 2], [1, 1], 2, *flags)], [wanted])
        deep = given(4, 1, 3, 2)
        wanted = aten.convolution(x, deep, None, [2, 1], [1, 1], [1, 2], False, [0, 0], 4)
        same([aten._conv_depthwise2d(x, deep, [3, 2], None, [2, 1], [1, 1], [1, 2])], [wanted])
        wide, solid = given(1, 2, 3, 4, 5), given(2, 1, 2, 2, 2)
        wanted = aten.convolution(wide, solid, b[:2], [1] * 3, [0] * 3, [1] * 3, False, [0] * 3, 2)
        with pytest.raises(rt.UncoveredOperatorError, match="such tensors"):
            aten.cudnn_convolution(x, w.double(), *options, *flags)
        same([aten.conv_depthwise3d(wide, solid, [2] * 3, b[:2], [1] * 3, [0] * 3, [1] * 3)], [wanted])


def test_batch_norms():
    x, w, b = given(4, 3, 5), given(3), given(3, seed=2)
    made = []
    with rt.reproducible():
        for norm in (aten.native_batch_norm, aten.cudnn_batch_norm, aten.miopen_batch_norm):
            mean, var = torch.zeros(3), torch.ones(3)
            made.append([*norm(x, w, b, mean, var, True, 0.3, 1e-5)[:3], mean, var])
        same(made[1], made[0])
        same(made[2], made[0])
        g, (_, m, v, *_) = given(4, 3, 5, seed=4), made[0]
        wanted = aten.native_batch_norm_backward(g, x, w, None, None, m, v, True, 1e-5, [True] * 3)
        reserve = torch.empty(0, dtype=torch.uint8)
        same(aten.cudnn_batch_norm_backward(x, g, w, None, None, m, v, 1e-5, reserve), wanted)
        same(aten.miopen_batch_norm_backward(x, g, w, None, None, m, v, 1e-5), wanted)
    assert not torch.equal(made[0][3], torch.zeros(3))


@pytest.mark.parametrize(("causal", "masked"), [(False, False), (True, False), (False, True)])
def test_attention(causal, masked):
    """Forward, and the gradients that PyTorch takes by the gradient's name of the same library."""
    with rt.reproducible():
        mask = given(5, 5) if masked else None
        q, k, v, g = (given(2, 2, 5, 4, seed=s) for s in range(4))

        def run(call):
            leaves = [t.clone().requires_grad_() for t in (q, k, v)]
            y = call(*leaves)[0]
            return [y.detach(), *torch.autograd.grad(y, leaves, g)]

        wanted = run(lambda *t: aten._scaled_dot_product_flash_attention_for_cpu(*t, 0.0, causal, attn_mask=mask, scale=0.3))
        if not masked:
            same(run(lambda *t: aten._scaled_dot_product_flash_attention(*t, 0.0, causal, scale=0.3)), wanted)
        same(run(lambda *t: aten._scaled_dot_product_efficient_attention(*t, mask, True, 0.0, causal, scale=0.3)), wanted)
        same(run(lambda *t: aten._scaled_dot_product_cudnn_attention(*t, mask, True, 0.0, causal, scale=0.3)), wanted)
        with pytest.raises(rt.UncoveredOperatorError, match="dropout_p"):
            aten._scaled_dot_product_flash_attention(q, k, v, 0.5)
        if masked:
            with pytest.raises(rt.UncoveredOperatorError, match="gradient of a mask"):
                wrt = mask.clone().requires_grad_()
                aten._scaled_dot_product_efficient_attention(q, k, v, wrt, True)[0].sum().backward()


def test_others():
    x, mask = given(7), torch.tensor([1, 0, 1, 1, 0, 1, 0], dtype=torch.uint8)
    p, lengths = torch.ones(2, 1, 3).log_softmax(2), torch.ones(1, dtype=torch.int64)
    with rt.reproducible():
        assert same_bits(aten._masked_scale(x, mask, 1 / 0.7), torch.where(mask != 0, x * (1 / 0.7), 0.0))
        assert aten._use_cudnn_ctc_loss(p, lengths[None], [2], [1], 0) is False
        assert aten._use_miopen_ctc_loss.Tensor(p, lengths[None], lengths * 2, lengths, 0) is False
