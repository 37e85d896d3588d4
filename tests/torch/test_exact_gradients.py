"""reproducible(gradients="exact"): the gradient of a parameter is one exact sum, however the batch is divided."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from batch_models import MODELS, gpt2  # noqa: E402
from exact_oracle import FORMATS, exact_bits, matmul_bits  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import repmath.torch  # noqa: E402
import repmath.torch.distributed as rd  # noqa: E402
from repmath.torch import UncoveredOperatorError, reproducible  # noqa: E402
from repmath.torch._exact import graph  # noqa: E402
from repmath.torch._tensors import as_array, as_tensor  # noqa: E402

DIVISIONS = ((12,), (5, 7), (4, 4, 4), (1, 2, 9), (1,) * 12)


def _shares(data, sizes):
    first = 0
    for n in sizes:
        yield tuple(t[first : first + n] for t in data)
        first += n


def _trained(make, sizes, steps=2, optimizer="AdamW", **block):
    with reproducible(**block):
        torch.manual_seed(0)
        model, data, loss = make()
        optimizer = getattr(torch.optim, optimizer)(model.parameters(), lr=1e-2)
        for _ in range(steps):
            optimizer.zero_grad()
            for share in _shares(data, sizes):
                loss(model, *share).backward()
            optimizer.step()
        return repmath.torch.digest(model, optimizer)


@pytest.mark.parametrize("name", MODELS)
def test_no_bit_depends_on_the_microbatches(name):
    digests = {_trained(MODELS[name], sizes, gradients="exact") for sizes in DIVISIONS}
    assert len(digests) == 1
    assert len({_trained(MODELS[name], sizes) for sizes in DIVISIONS}) > 1  # a control


@pytest.mark.parametrize("sizes", [(5, 7), (1, 2, 9)])
@pytest.mark.parametrize("name", MODELS)
def test_gradients_of_the_last_pass_alone(name, sizes):
    """Passes inside of no_sync() keep operands; further steps follow, and one pass outside between two inside."""
    with reproducible(gradients="exact"):
        torch.manual_seed(0)
        model, data, loss = MODELS[name]()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        for outside in (len(sizes) - 1, 0):
            optimizer.zero_grad()
            for i, share in enumerate(_shares(data, sizes)):
                if i in (outside, len(sizes) - 1):
                    loss(model, *share).backward()
                    continue
                with rd.no_sync():
                    loss(model, *share).backward()
                assert all(p.grad.isnan().all() for p in model.parameters() if p.grad is not None)
            optimizer.step()
        assert repmath.torch.digest(model, optimizer) == _trained(MODELS[name], (12,), gradients="exact")


def test_gradients_that_are_not_there_yet():
    x = torch.tensor([[1.0], [2.0**-24], [2.0**-24]])
    with (
        pytest.raises(TypeError, match="ddp must be a DistributedDataParallel or None, not Linear"),
        rd.no_sync(torch.nn.Linear(1, 1)),
    ):
        pass
    with pytest.raises(RuntimeError, match="must be inside of"), rd.no_sync():
        pass
    with reproducible(gradients="exact"):
        layer = nn.Linear(1, 1)
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
        with rd.no_sync():
            layer(x[:1]).sum().backward()
        with pytest.raises(RuntimeError, match="a step after passes that are all inside"):
            optimizer.step()
        optimizer.zero_grad()
        with rd.no_sync(), rd.no_sync():
            layer(x[:1]).sum().backward()
            layer(x[1:2]).sum().backward()
        layer(x[2:]).sum().backward()
        assert layer.weight.grad.item() == 1 + 2.0**-23  # a control: with rounded gradients it is 1
        optimizer.step()
        optimizer.zero_grad()
        with rd.no_sync():
            layer(x[:1]).sum().backward()
        layer.weight.grad.mul_(2)  # of NaN, which is a term now
        layer(x[1:2]).sum().backward()
        assert layer.weight.grad.isnan() and layer.bias.grad.item() == 2
        optimizer.zero_grad()
        with rd.no_sync():
            layer(x[:1]).sum().backward()
        layer.bias.sum().backward()  # which has no term of the weight's gradient
        assert layer.weight.grad.item() == 1 and layer.bias.grad.item() == 2
        with rd.no_sync():
            layer(x[1:2]).sum().backward()
        assert layer.weight.grad.isnan()
        layer(x[2:]).sum().backward()
        assert layer.weight.grad.item() == 1 + 2.0**-23


def test_checkpointing_changes_no_bit():
    assert _trained(lambda: gpt2(True), (5, 7), gradients="exact") == _trained(gpt2, (12,), gradients="exact")


def test_one_use_has_the_gradients_of_other_blocks():
    assert _trained(MODELS["cnn"], (12,), gradients="exact") == _trained(MODELS["cnn"], (12,))


def _numbers(fmt, *shape, seed=0):
    """Numbers of far exponents, many of whose sums cancel."""
    rng = np.random.default_rng(seed)
    spread = {"f16": 4, "bf16": 30, "f32": 30, "f64": 60}[fmt]
    made = rng.integers(-7, 8, shape) * np.exp2(rng.integers(-spread, spread, shape))
    made[::2] = -made[1::2] if len(made) % 2 == 0 else made[::2]
    return made.astype(FORMATS[fmt][0])


def _bits(t, fmt):
    return as_array(t.detach()).view(FORMATS[fmt][1])


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("sizes", [(12,), (5, 7), (1, 11)])
def test_a_linear_layer_against_rationals(fmt, sizes):
    x, c = _numbers(fmt, 12, 5), _numbers(fmt, 12, 3, seed=1)
    with reproducible(gradients="exact"):
        layer = nn.Linear(5, 3).to(as_tensor(x).dtype)
        for a, g in _shares((as_tensor(x), as_tensor(c)), sizes):
            layer(a).backward(g)
    assert (_bits(layer.weight.grad, fmt) == matmul_bits(c.T, x, fmt)).all()
    assert _bits(layer.bias.grad, fmt).tolist() == [exact_bits(column, fmt) for column in c.T.tolist()]


@pytest.mark.parametrize("fmt", ["f32", "f64"])
@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("sizes", [(8,), (3, 5), (1,) * 8])
def test_tied_weights_against_rationals(fmt, special, sizes):
    rows, width = 6, 4
    c = _numbers(fmt, 8, rows)
    ids = np.random.default_rng(3).integers(0, rows, 8)
    if special:
        c[2, 1], c[5, 1], c[6, 0], c[7, 3] = np.inf, np.inf, -np.inf, np.nan
    with reproducible(gradients="exact"):
        weight = as_tensor(_numbers(fmt, rows, width, seed=5)).requires_grad_()
        for i, g in _shares((torch.from_numpy(ids), as_tensor(c)), sizes):
            F.linear(F.embedding(i, weight), weight).backward(g)
        w = as_array(weight.detach())
        inner = as_array(as_tensor(c) @ weight.detach())
    for i in range(rows):
        for j in range(width):
            terms = [(float(c[k, i]), float(w[ids[k], j])) for k in range(8)]
            terms += [float(inner[k, j]) for k in range(8) if ids[k] == i]
            assert int(_bits(weight.grad, fmt)[i, j]) == exact_bits(terms, fmt), (i, j)


@pytest.mark.parametrize("sizes", [(6,), (1, 5), (2, 2, 2)])
def test_a_convolution_against_rationals(sizes):
    x, c = _numbers("f32", 6, 2, 7), _numbers("f32", 6, 4, 4, seed=1)
    with reproducible(gradients="exact"):
        layer = nn.Conv1d(2, 4, 3, stride=2, padding=1)
        for a, g in _shares((as_tensor(x), as_tensor(c)), sizes):
            layer(a).backward(g)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1)))
    for o in range(4):
        assert int(_bits(layer.bias.grad, "f32")[o]) == exact_bits(c[:, o].reshape(-1).tolist(), "f32")
        for i in range(2):
            for k in range(3):
                terms = [(float(c[n, o, p]), float(padded[n, i, 2 * p + k])) for n in range(6) for p in range(4)]
                assert int(_bits(layer.weight.grad, "f32")[o, i, k]) == exact_bits(terms, "f32")


@pytest.mark.parametrize("sizes", [(8,), (1, 7), (4, 4)])
@pytest.mark.parametrize("fmt", ["f32", "f64", "f16", "bf16"])
def test_positions_and_factors_against_rationals(fmt, sizes):
    """Sums that begin where an argument was repeated; batches of one, where nothing was."""
    x, c = _numbers(fmt, 8, 3, 4), _numbers(fmt, 8, 3, 4, seed=1)
    with reproducible(gradients="exact"):
        added, factor = (as_tensor(_numbers(fmt, *shape, seed=2)).requires_grad_() for shape in ((1, 3, 4), (4,)))
        for a, g in _shares((as_tensor(x), as_tensor(c)), sizes):
            (a * factor + added).backward(g)
        products = as_array(as_tensor(x) * as_tensor(c))
    expected = [exact_bits(v, fmt) for v in c.reshape(8, -1).T.tolist()]
    assert _bits(added.grad, fmt).reshape(-1).tolist() == expected
    assert _bits(factor.grad, fmt).tolist() == [exact_bits(v, fmt) for v in products.reshape(-1, 4).T.tolist()]


@pytest.mark.parametrize("sizes", [(8,), (1, 7), (4, 4)])
@pytest.mark.parametrize("fmt", ["f32", "f64", "f16", "bf16"])
def test_parameters_without_axes_against_rationals(fmt, sizes):
    """PyTorch sums to them by another operator; one is used in each way: as a factor, as a term, and through a view."""
    x, c = _numbers(fmt, 8, 3), _numbers(fmt, 8, 3, seed=1)
    with reproducible(gradients="exact"):
        factor, added, viewed = (as_tensor(_numbers(fmt, 1, seed=k))[0].clone().requires_grad_() for k in (2, 3, 4))
        for a, g in _shares((as_tensor(x), as_tensor(c)), sizes):
            (a * factor + added + viewed.expand(3)).backward(g)
        products = as_array(as_tensor(x) * as_tensor(c))
    expected = exact_bits(c.reshape(-1).tolist(), fmt)
    assert factor.grad.shape == () and int(_bits(factor.grad[None], fmt)[0]) == exact_bits(products.reshape(-1).tolist(), fmt)
    assert [int(_bits(p.grad[None], fmt)[0]) for p in (added, viewed)] == [expected, expected]


def test_what_a_program_does_with_gradients_between_passes():
    x = torch.tensor([[1.0], [2.0**-30], [-1.0], [2.0**-31]])
    with reproducible(gradients="exact"):
        for between, expected in (
            (lambda p: None, 2.0**-30 + 2.0**-31),
            (lambda p: setattr(p, "grad", None), 2.0**-31 - 1),
            (lambda p: p.grad.zero_(), 2.0**-31 - 1),
            (lambda p: p.grad.mul_(2), float(np.float32(2)) + 2.0**-31 - 1),
        ):
            layer = nn.Linear(1, 1, bias=False)
            layer(x[:2]).sum().backward()
            between(layer.weight)
            layer(x[2:]).sum().backward()
            assert layer.weight.grad.item() == float(np.float32(expected)), between
        layer = nn.Linear(1, 1, bias=False)
        (found,) = torch.autograd.grad(layer(x).sum(), [layer.weight])
        assert found.item() == 2.0**-30 + 2.0**-31
        assert layer.weight.grad is None
        y = layer(x).sum()
        y.backward(retain_graph=True)
        y.backward()
        assert layer.weight.grad.item() == 2 * found.item()


def test_records_are_forgotten_after_a_step():
    with reproducible(gradients="exact") as block:
        layer = nn.Linear(3, 2)
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
        layer(torch.randn(4, 3)).sum().backward()
        assert len(block._exact.leaves) == 2
        optimizer.step()
        assert len(block._exact.leaves) == 0
        assert not block._exact.deferred


def _weight_norm():
    return nn.utils.parametrizations.weight_norm(nn.Linear(3, 2)), torch.ones(4, 3)


def _hooked():
    layer = nn.Linear(3, 2)
    layer.weight.register_hook(lambda g: None)
    return layer, torch.ones(4, 3)


class _Of(nn.Module):
    def __init__(self, function, *shape):
        super().__init__()
        self.p, self.function = nn.Parameter(torch.ones(shape)), function

    def forward(self, x):
        return self.function(x, self.p)


REFUSED = {
    "weight norm": (_weight_norm, "WeightNorm"),
    "a hook": (_hooked, "hook of a parameter"),
    "exp": (lambda: (_Of(lambda x, p: x @ p.exp(), 3, 2), torch.ones(4, 3)), "Exp between a parameter"),
    "a factor's exp": (lambda: (_Of(lambda x, p: x * p.exp(), 3), torch.ones(4, 3)), "Exp of a parameter"),
    "a number's exp": (lambda: (_Of(lambda x, p: x * p.exp()), torch.ones(4, 3)), "Exp of a parameter"),
    "a factor that is a sum": (lambda: (_Of(lambda x, p: x * p.sum(), 3), torch.ones(4, 3)), "Sum of a parameter"),
    "a matrix for each": (lambda: (_Of(torch.bmm, 4, 3, 2), torch.ones(4, 5, 3)), "Bmm"),
    "a cast": (lambda: (_Of(lambda x, p: x @ p.double(), 3, 2), torch.ones(4, 3).double()), "ToCopy"),
    "exp in front": (lambda: (_Of(lambda x, p: p.exp() @ x.t(), 2, 3), torch.ones(4, 3)), "Exp between a parameter"),
    "a product of parameters": (
        lambda: (_Of(lambda x, p: x @ (p @ p.t()), 3, 3), torch.ones(4, 3)),
        "Mm between a parameter",
    ),
    "mixed parameters": (lambda: (_Of(lambda x, p: x + p.softmax(0), 3), torch.ones(4, 3)), "Softmax"),
    "a layer of a parameter": (lambda: (_Of(lambda x, p: x + p @ p, 3, 3), torch.ones(5, 3, 3)), "Mm of a parameter"),
    "a whole norm": (lambda: (repmath.torch.nn.LayerNorm(3), torch.ones(4, 3)), "RepmathLayerNorm"),
    "formats": (lambda: (nn.LayerNorm(3), torch.ones(4, 3).bfloat16()), "weight of torch.float32"),
    "sparse gradients": (lambda: (nn.Embedding(4, 2, sparse=True), torch.tensor([1, 2])), "sparse"),
    "a repeated factor": (lambda: (_Of(lambda x, p: x @ p.expand(3, 2), 2), torch.ones(4, 3)), "Expand between a parameter"),
    "every other row": (lambda: (_Of(lambda x, p: x @ p[::2], 5, 2), torch.ones(4, 3)), "every so many rows"),
    "columns": (lambda: (_Of(lambda x, p: x @ p[:, :2], 3, 4), torch.ones(4, 3)), "follows a sum over the batch"),
    "an index": (lambda: (_Of(lambda x, p: x * p[torch.tensor([0, 0, 1])], 2), torch.ones(4, 3)), "Index"),
    "a transposed convolution": (lambda: (nn.ConvTranspose1d(3, 2, 2), torch.ones(1, 3, 4)), "transposed convolution"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_would_round_a_sum_is_refused_by_name(what):
    make, text = REFUSED[what]
    with reproducible(gradients="exact"):
        model, x = make()
        y = model(x).sum()
        with pytest.raises(UncoveredOperatorError, match=text):
            y.backward()
        layer = nn.Linear(2, 1)
        layer(torch.ones(3, 2)).sum().backward()  # the block goes on
        assert layer.weight.grad.tolist() == [[3.0, 3.0]]


def test_what_is_the_same_for_no_sample_is_not_refused():
    with reproducible(gradients="exact"):
        x, words = torch.randn(6, 5, 4), nn.Embedding(7, 4)
        first, second = nn.Linear(4, 4, bias=False), nn.Linear(4, 4)
        scale, pair = nn.Parameter(torch.ones(4)), nn.Parameter(torch.ones(2, 4, 4))
        y = second(first(x * scale) + words(torch.randint(0, 7, (6, 5))) * scale)
        z = torch.bmm(y.transpose(1, 2), y).softmax(-1) @ pair[0].expand(6, 4, 4)
        (z.sum() + scale.pow(2).sum()).backward()
        assert not pair.grad[1].any()


@pytest.mark.parametrize("sizes", [(6,), (1, 5)])
def test_parts_of_a_parameter_against_rationals(sizes):
    c = _numbers("f32", 6, 2, 3)
    with reproducible(gradients="exact"):
        p = torch.zeros(5, 3, requires_grad=True)
        for (g,) in _shares((as_tensor(c),), sizes):
            (g.new_zeros(len(g), 2, 3) + p[1:5:2]).backward(g)
            (g.new_zeros(len(g), 3) + p[4]).backward(g[:, 0])
    expected = np.zeros((5, 3), np.uint32)
    for j in range(3):
        expected[1, j], expected[3, j] = (exact_bits(c[:, i, j].tolist(), "f32") for i in (0, 1))
        expected[4, j] = exact_bits(c[:, 0, j].tolist(), "f32")
    assert (_bits(p.grad, "f32") == expected).all()


# How rows of a parameter (6, 4) or matrices of one (3, 2, 4) are factors of a product: of each pair of terms the first is multiplied by which.
_PARTS_OF_FACTORS = {
    "one of several": ((3, 2, 4), lambda x, p: x @ p[1], [(2, 4)]),
    "one, transposed": ((3, 4, 2), lambda x, p: x @ p[1].t(), [(4, 8)]),
    "one of a part": ((3, 2, 4), lambda x, p: x @ p[1:][1], [(4, 6)]),
    "a part": ((6, 4), lambda x, p: x @ p[2:4], [(2, 4)]),
    "a part of a part": ((6, 4), lambda x, p: x @ p[1:][2:4], [(3, 5)]),
    "parts that overlap": ((6, 4), lambda x, p: x @ p[:2] + x @ p[1:3], [(0, 2), (1, 3)]),
}


@pytest.mark.parametrize("sizes", [(8,), (1, 7), (4, 4)])
@pytest.mark.parametrize("fmt", ["f32", "f64", "bf16"])
@pytest.mark.parametrize("what", _PARTS_OF_FACTORS)
def test_parts_of_factors_against_rationals(what, fmt, sizes):
    """Of a sum over the batch at some rows, also beside a look-up and a sum of terms at others."""
    shape, function, parts = _PARTS_OF_FACTORS[what]
    x, c, d = _numbers(fmt, 8, 2), _numbers(fmt, 8, 4, seed=1), _numbers(fmt, 8, shape[-1], seed=2)
    with reproducible(gradients="exact"):
        p = torch.zeros(shape, dtype=as_tensor(x).dtype, requires_grad=True)
        for a, g, h in _shares((as_tensor(x), as_tensor(c), as_tensor(d)), sizes):
            (function(a, p)).backward(g)
            rows = p if p.ndim == 2 else p[1]
            (torch.zeros_like(h) + rows[1]).backward(h)
    width = shape[-1]
    for row in range(int(np.prod(shape[:-1]))):
        for column in range(width):
            terms = []
            for begin, end in parts:
                if what == "one, transposed":  # p[1] is (4, 2), and its transposed takes x of width 2
                    if begin <= row < end:
                        terms += zip(x[:, column].tolist(), c[:, row - begin].tolist(), strict=True)
                elif begin <= row < end:
                    terms += zip(x[:, row - begin].tolist(), c[:, column].tolist(), strict=True)
            place = 1 if len(shape) == 2 else shape[1] + 1
            if row == place:
                terms += [(v, 1.0) for v in d[:, column].tolist()]
            assert _bits(p.grad, fmt).reshape(-1, width)[row, column] == exact_bits(terms, fmt), (row, column)


def test_parameters_that_another_rank_has_sent_are_parameters():
    """And tensors are data, whose gradients are rounded as inside of a network."""
    x = as_tensor(_numbers("f32", 8, 5))
    made = {}
    with reproducible(gradients="exact"):
        for kind in (nn.Parameter, torch.Tensor.requires_grad_):
            for sizes in ((8,), (3, 5)):
                p = kind(torch.zeros(5, 4))
                graph.receive([p])
                for (a,) in _shares((x,), sizes):
                    (a @ p).backward(a[:, :4])
                made[kind, sizes] = _bits(p.grad, "f32")
    assert (made[nn.Parameter, (8,)] == made[nn.Parameter, (3, 5)]).all()
    assert (made[torch.Tensor.requires_grad_, (8,)] != made[torch.Tensor.requires_grad_, (3, 5)]).any()  # a control


def test_what_reads_a_deferred_sum_sees_no_number():
    with reproducible(gradients="exact"):
        layer, x = nn.Linear(3, 2, bias=False), torch.randn(4, 3)
        turned = layer.weight.t()
        turned.retain_grad()
        (x @ turned).sum().backward()
        assert turned.grad is None or turned.grad.isnan().all()
        assert (layer.weight.grad == as_tensor(x.numpy()).sum(0)).all()


def test_batch_norm_of_one_batch_only():
    with reproducible(gradients="exact"):
        model = nn.BatchNorm1d(3)
        model(torch.randn(4, 3)).pow(2).sum().backward()
        with pytest.raises(UncoveredOperatorError, match="batch norm of several batches"):
            model(torch.randn(4, 3)).pow(2).sum().backward()


def test_operands_that_change_are_noticed():
    with reproducible(gradients="exact"):
        layer, x = nn.Linear(3, 2), torch.randn(4, 3)
        layer(x).sum().backward()
        x.zero_()
        with pytest.raises(RuntimeError, match="modified in place"):
            layer(torch.randn(4, 3)).sum().backward()


def test_arguments():
    with pytest.raises(ValueError, match="gradients must be None or 'exact'"):
        reproducible(gradients="rounded")
    with reproducible(gradients="exact"):
        layer = nn.Linear(2, 1)
        with pytest.raises(UncoveredOperatorError, match="create_graph"):
            layer(torch.ones(1, 2)).sum().backward(create_graph=True)
        edge = torch.autograd.graph.get_gradient_edge(layer.weight)
        with pytest.raises(UncoveredOperatorError, match="a pass of their own"):  # a schedule would add what it returns
            torch.autograd.grad(layer(torch.ones(1, 2)).sum(), edge)


def test_pytorch_has_what_exact_gradients_ask_for():
    """A canary: private interfaces of PyTorch."""
    x = torch.ones(2, requires_grad=True)
    seen = []
    y = (x * 2).sum()
    y.grad_fn.register_prehook(lambda grads: seen.append(torch._C._current_autograd_node()))
    y.backward()
    node = y.grad_fn
    assert node.next_functions[0][0].name() == "MulBackward0"
    assert tuple(node.next_functions[0][0]._input_metadata[0].shape) == (2,)
    assert torch.autograd.graph._engine_run_backward.__code__.co_varnames[:3] == ("t_outputs", "args", "kwargs")
    assert not torch.autograd.graph._engine_run_backward.__code__.co_freevars
