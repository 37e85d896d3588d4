"""repmath.torch.functional, nn, optim and from_torch_module: the bits of NumPy's functions, PyTorch's names, errors and state dicts."""

import inspect
import math
import pathlib

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import torch_cases as cases  # noqa: E402
from torch_cases import DTYPES, OPERATORS, numbers, same_bits  # noqa: E402

import repmath  # noqa: E402
import repmath.torch as rt  # noqa: E402
import repmath.torch.functional as F  # noqa: E402
from repmath.torch import nn, optim  # noqa: E402
from repmath.torch._convert import COUNTERPARTS  # noqa: E402
from repmath.torch._tensors import as_array, as_tensor  # noqa: E402

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/python"


def arrays(*tensors):
    return tuple(map(as_array, tensors))


# --- functional


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", OPERATORS)
def test_elementwise_functions_have_the_bits_of_the_ufuncs(name, dtype):
    args = cases.elementwise_arguments(name, 3, 5, dtype=dtype)
    special = torch.tensor([0.0, -0.0, math.inf, -math.inf, math.nan], dtype=dtype)
    for given in (args, (special, *args[1:]), (args[0].t(), *(a.t() for a in args[1:]))):
        given = tuple(a[..., :5] if a.ndim == 1 else a for a in given)
        with np.errstate(all="ignore"):
            expected = getattr(repmath, name)(*arrays(*given))
        assert same_bits(getattr(F, name)(*given), expected)


def test_numbers_and_formats_meet_as_in_pytorch():
    x = numbers(3, dtype=torch.float16)
    # 1 + 2^-11 + 2^-30 lies above the midpoint of 1 and its neighbour, but on it once it has been rounded to float32.
    beyond = 1 + 2.0**-11 + 2.0**-30
    assert same_bits(F.multiply(torch.ones(1, dtype=torch.float16), beyond), np.float16([beyond]))
    assert F.add(x, 1).dtype == torch.float16
    assert F.add(x, numbers(3, dtype=torch.bfloat16)).dtype == torch.float32
    assert same_bits(F.add(x, numbers(3)), as_array(x).astype(np.float64) + as_array(numbers(3)))
    assert same_bits(F.pow(2.0, x), repmath.pow(np.float16(2), as_array(x)))
    assert same_bits(F.fma(x, 0.1, x), repmath.fma(as_array(x), np.float16(0.1), as_array(x)))
    for value in (65519.0, 65520.0, 2.0**-25, 1.5 * 2.0**-24, -3.0, 0.0, math.inf, 1e-320):
        with np.errstate(over="ignore"):
            assert same_bits(
                F.add(torch.full((1,), -0.0, dtype=torch.float16), value), np.float16([value]) + np.float16(-0.0)
            )


def test_layouts():
    """Channels last, strides, expanded and transposed tensors: the bits of the plain ones."""
    x, w = numbers(2, 3, 6, 6, low=-1, dtype=torch.float32), numbers(4, 3, 3, 3, low=-1, seed=2, dtype=torch.float32)
    last = x.to(memory_format=torch.channels_last)
    assert F.exp(last).is_contiguous(memory_format=torch.channels_last)
    plain = torch.randn(0)
    for f in (
        F.exp,
        lambda t: F.conv2d(t, w),
        lambda t: F.max_pool2d(t, 2),
        lambda t: F.group_norm(t, 3),
        lambda t: F.softmax(t, 1),
        lambda t: F.sum(t, (0, 2)),
        lambda t: F.linear(t, w[0, 0].repeat(2, 2)),
        lambda t: F.matmul(t, t.mT),
    ):
        plain = f(x)
        for other in (last, x.flip(3).flip(3), x.transpose(0, 3).contiguous().transpose(0, 3)):
            assert same_bits(f(other), plain)
            with_gradients = [t.detach().clone(memory_format=torch.preserve_format).requires_grad_() for t in (x, other)]
            for t in with_gradients:
                f(t).backward(numbers(*plain.shape, dtype=torch.float32))
            assert same_bits(*(t.grad for t in with_gradients))
    assert same_bits(F.exp(x[:1].expand(3, 3, 6, 6)), F.exp(x[:1].repeat(3, 1, 1, 1)))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_products_and_their_gradients(dtype):
    x, w, b, g = (
        numbers(*s, seed=i, low=-1, high=1, dtype=dtype) for i, s in enumerate([(2, 3, 4), (5, 4), (5,), (2, 3, 5)])
    )
    given = [t.requires_grad_() for t in (x, w, b)]
    y = F.linear(*given)
    y.backward(g)
    ax, aw, ab, ag = arrays(x, w, b, g)
    assert same_bits(y, repmath.matmul(ax, aw.T, bias=ab))
    assert same_bits(x.grad, repmath.matmul(ag, aw))
    assert same_bits(w.grad, repmath.matmul(ag.reshape(6, 5).T, ax.reshape(6, 4)))
    assert same_bits(b.grad, repmath.sum(ag, axis=(0, 1)))
    x, w, b = (
        numbers(*s, seed=i, low=-1, high=1, dtype=dtype).requires_grad_()
        for i, s in enumerate([(2, 4, 5, 5), (6, 2, 3, 3), (6,)])
    )
    options = {"stride": 2, "padding": 1, "groups": 2}
    y = F.conv2d(x, w, b, **options)
    y.backward(g := numbers(*y.shape, seed=9, dtype=dtype))
    ax, aw, ab, ag = arrays(x, w, b, g)
    assert same_bits(y, repmath.conv2d(ax, aw, ab, **options))
    assert same_bits(x.grad, repmath.conv2d_grad_input(x.shape, aw, ag, **options))
    assert same_bits(w.grad, repmath.conv2d_grad_weight(ax, w.shape, ag, **options))
    assert same_bits(b.grad, repmath.sum(ag, axis=(0, 2, 3)))


def same_gradients(function, expected, *tensors):
    """function's result and gradients, for a gradient of the result, beside those that `expected` makes of arrays."""
    given = [t.clone().requires_grad_() for t in tensors]
    y = function(*given)
    g = numbers(*y.shape, seed=99, dtype=y.dtype)
    y.backward(g)
    value, gradients = expected(as_array(g), *arrays(*tensors))
    assert same_bits(y, value)
    for t, e in zip(given, gradients, strict=True):
        assert same_bits(t.grad, e)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_operators_and_their_gradients(dtype):
    def n(*shape, seed=1):
        return numbers(*shape, seed=seed, low=-1, high=1, dtype=dtype)

    rm, x, c = repmath.nn, n(3, 4, 5), n(4, seed=2)
    same_gradients(lambda t: F.softmax(t, 1), lambda g, a: (y := rm.softmax(a, 1), [rm.softmax_backward(g, y, 1)]), x)
    same_gradients(
        lambda t: F.log_softmax(t, 1), lambda g, a: (y := rm.log_softmax(a, 1), [rm.log_softmax_backward(g, y, 1)]), x
    )
    same_gradients(
        lambda t, w, b: F.layer_norm(t, (4, 5), w, b),
        lambda g, a, w, b: (rm.layer_norm(a, (4, 5), w, b), rm.layer_norm_backward(g, a, (4, 5), w)),
        x,
        n(4, 5),
        n(4, 5),
    )
    same_gradients(
        lambda t, w: F.rms_norm(t, 5, w, 1e-3),
        lambda g, a, w: (rm.rms_norm(a, 5, w, 1e-3), rm.rms_norm_backward(g, a, 5, w, 1e-3)),
        x,
        n(5),
    )
    same_gradients(
        lambda t, w, b: F.group_norm(t, 2, w, b),
        lambda g, a, w, b: (rm.group_norm(a, 2, w, b), rm.group_norm_backward(g, a, 2, w)),
        x,
        c,
        c,
    )
    same_gradients(
        lambda t, w, b: F.batch_norm(t, None, None, w, b, True),
        lambda g, a, w, b: (rm.batch_norm(a, None, None, w, b, True), rm.batch_norm_backward(g, a, None, None, w)),
        x,
        c,
        c,
    )
    mask = torch.tensor([[True, False, True]] * 3)
    same_gradients(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, mask),
        lambda g, q, k, v: (
            rm.scaled_dot_product_attention(q, k, v, mask.numpy()),
            rm.scaled_dot_product_attention_backward(g, q, k, v, mask.numpy()),
        ),
        n(2, 3, 4),
        n(2, 3, 4, seed=3),
        n(2, 3, 4, seed=4),
    )
    target = np.array([[0, 3, 1, 2, 0]] * 3)
    same_gradients(
        lambda t: F.cross_entropy(t, torch.from_numpy(target), label_smoothing=0.1),
        lambda g, a: (
            rm.cross_entropy(a, target, label_smoothing=0.1),
            [rm.cross_entropy_backward(g, a, target, label_smoothing=0.1)],
        ),
        x,
    )
    same_gradients(
        lambda t, u: F.smooth_l1_loss(t, u, "sum", 0.5),
        lambda g, a, b: (
            rm.smooth_l1_loss(a, b, reduction="sum", beta=0.5),
            [
                rm.smooth_l1_loss_backward(g, a, b, reduction="sum", beta=0.5),
                rm.smooth_l1_loss_backward(g, b, a, reduction="sum", beta=0.5),
            ],
        ),
        x,
        n(3, 4, 5, seed=5),
    )
    same_gradients(
        lambda t: F.max_pool1d(t, 2, padding=1),
        lambda g, a: (
            (p := rm.max_pool1d(a, 2, padding=1, return_indices=True))[0],
            [rm.max_pool1d_backward(g, a.shape, p[1])],
        ),
        x,
    )
    same_gradients(
        lambda t: F.avg_pool1d(t, 2, 1), lambda g, a: (rm.avg_pool1d(a, 2, 1), [rm.avg_pool1d_backward(g, a.shape, 2, 1)]), x
    )
    index = np.array([[1, 0], [1, 3]])
    same_gradients(
        lambda w: F.embedding(torch.from_numpy(index), w, padding_idx=3),
        lambda g, w: (rm.embedding(index, w), [repmath.embedding_grad(g, index, 4, padding_idx=3)]),
        n(4, 3),
    )
    same_gradients(
        lambda t: F.sum(t, (0, 2)),
        lambda g, a: (repmath.sum(a, axis=(0, 2)), [np.broadcast_to(g[None, :, None], a.shape)]),
        x,
    )
    seed = {"seed": 3, "stream": 2**64 - 1, "offset": 2}
    stream = repmath.random.Stream(3, 2**64 - 1, 1)
    same_gradients(
        lambda t: F.dropout(t, 0.3, generator=stream),
        lambda g, a: (repmath.random.dropout(a, 0.3, **seed), [repmath.random.dropout_backward(g, 0.3, **seed)]),
        x,
    )
    assert stream.position == 1 + 30


def test_gradient_of_a_mean_is_one_rounding():
    for dtype in DTYPES:
        x = numbers(7, 3, dtype=dtype).requires_grad_()
        F.mean(x).backward(torch.tensor(0.7, dtype=dtype))
        assert same_bits(
            x.grad,
            np.full(
                (7, 3), repmath.divide(as_array(torch.tensor(0.7, dtype=dtype)), as_array(torch.tensor(21.0, dtype=dtype)))
            ),
        )


def test_a_row_does_not_depend_on_its_batch():
    model, x = convolutional(), numbers(32, 1, 8, 8, low=-1, high=1, dtype=torch.float32)
    model.eval()
    whole = model(x)
    assert all(same_bits(model(x[i : i + 1]), whole[i : i + 1]) for i in range(0, 32, 5))
    order = torch.from_numpy(repmath.random.permutation(1, 32))
    y = torch.arange(32) % 3
    gradients = []
    for rows in (torch.arange(32), order):
        model.zero_grad()
        F.cross_entropy(model(x[rows]), y[rows]).backward()
        gradients.append([p.grad.clone() for p in model.parameters()])
    assert all(same_bits(*pair) for pair in zip(*gradients, strict=True))


ERRORS = [
    (TypeError, "input has dtype torch.int64", lambda: F.exp(torch.arange(3))),
    (TypeError, "input must be a Tensor", lambda: F.exp(1.0)),
    (TypeError, "one of input, other must be a Tensor", lambda: F.add(1.0, 2.0)),
    (
        TypeError,
        "other has dtype torch.float64, input has torch.float32",
        lambda: F.matmul(torch.ones(2, 2), torch.ones(2, 2).double()),
    ),
    (RuntimeError, "cannot be multiplied", lambda: F.matmul(torch.ones(2, 3), torch.ones(2, 3))),
    (RuntimeError, "cannot be multiplied", lambda: F.linear(torch.ones(2, 3), torch.ones(2, 4))),
    (RuntimeError, "bias has shape", lambda: F.linear(torch.ones(2, 3), torch.ones(2, 3), torch.ones(3))),
    (RuntimeError, "input channels", lambda: F.conv2d(torch.ones(1, 2, 3, 3), torch.ones(1, 3, 2, 2))),
    (RuntimeError, "kernel of extent", lambda: F.conv2d(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 3, 3))),
    (
        RuntimeError,
        "stride must have 2 values",
        lambda: F.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 1, 1), stride=(1, 1, 1)),
    ),
    (RuntimeError, "input must have 4 axes", lambda: F.max_pool2d(torch.ones(3), 2)),
    (ValueError, "padding must be at most half", lambda: F.max_pool2d(torch.ones(1, 1, 4, 4), 2, padding=2)),
    (IndexError, "Dimension out of range", lambda: F.softmax(torch.ones(3), 1)),
    (RuntimeError, "multiple times", lambda: F.sum(torch.ones(3, 3), (0, 0))),
    (ValueError, "reduction", lambda: F.mse_loss(torch.ones(2), torch.ones(2), "max")),
    (ValueError, "target has shape", lambda: F.mse_loss(torch.ones(2), torch.ones(1))),
    (ValueError, "target has shape", lambda: F.cross_entropy(torch.ones(2, 3), torch.zeros(3, dtype=torch.int64))),
    (IndexError, "target", lambda: F.cross_entropy(torch.ones(1, 3), torch.tensor([3]))),
    (IndexError, "input has values", lambda: F.embedding(torch.tensor([4]), torch.ones(3, 2))),
    (ValueError, "max_norm", lambda: F.embedding(torch.tensor([0]), torch.ones(3, 2), max_norm=1.0)),
    (RuntimeError, "normalized_shape", lambda: F.layer_norm(torch.ones(2, 3), (2,))),
    (ValueError, "more than 1 value per channel", lambda: F.batch_norm(torch.ones(1, 3), None, None, training=True)),
    (ValueError, "between 0 and 1", lambda: F.dropout(torch.ones(3), 1.5)),
    (ValueError, "beta must be 1", lambda: F.softplus(torch.ones(3), beta=2)),
    (TypeError, "dtype torch.float16 does not hold", lambda: F.sum(torch.ones(3), dtype=torch.float16)),
    (NotImplementedError, "repmath::exp", lambda: F.exp(torch.ones(3).to_sparse())),
]


@pytest.mark.parametrize("kind, text, call", ERRORS, ids=range(len(ERRORS)))
def test_errors(kind, text, call):
    with pytest.raises(kind, match=text):
        call()


# --- modules

MODULES = [
    (nn.Linear, (3, 4), (2, 3)),
    (nn.Conv1d, (4, 6, 3, 2, 1, 1, 2), (2, 4, 7)),
    (nn.Conv2d, (2, 3, 3, 1, "same"), (2, 2, 5, 5)),
    (nn.Conv3d, (2, 3, 2), (1, 2, 3, 3, 3)),
    (nn.ConvTranspose1d, (2, 3, 3, 2), (1, 2, 4)),
    (nn.ConvTranspose2d, (2, 3, 3, 2, 1, 1), (1, 2, 4, 4)),
    (nn.ConvTranspose3d, (2, 3, 2), (1, 2, 2, 2, 2)),
    (nn.LayerNorm, (4,), (2, 4)),
    (nn.RMSNorm, (4,), (2, 4)),
    (nn.BatchNorm1d, (4,), (3, 4)),
    (nn.BatchNorm2d, (4,), (2, 4, 3, 3)),
    (nn.BatchNorm3d, (4, 1e-5, None), (2, 4, 2, 2, 2)),
    (nn.GroupNorm, (2, 4), (2, 4, 3)),
    (nn.InstanceNorm1d, (4, 1e-5, 0.1, True), (2, 4, 3)),
    (nn.InstanceNorm2d, (4,), (2, 4, 3, 3)),
    (nn.InstanceNorm3d, (4,), (4, 2, 2, 2)),
    (nn.MaxPool1d, (2,), (1, 2, 6)),
    (nn.MaxPool2d, (3, 2, 1), (1, 2, 6, 6)),
    (nn.MaxPool3d, (2,), (1, 2, 4, 4, 4)),
    (nn.AvgPool1d, (2,), (1, 2, 6)),
    (nn.AvgPool2d, (3, 2, 1), (1, 2, 6, 6)),
    (nn.AvgPool3d, (2,), (1, 2, 4, 4, 4)),
    *((getattr(nn, f"Adaptive{kind}Pool{d}d"), (2,), (1, 2, *(5,) * d)) for kind in ("Avg", "Max") for d in (1, 2, 3)),
    *(
        (getattr(nn, name), (), (2, 3))
        for name in (
            "ReLU",
            "LeakyReLU",
            "ReLU6",
            "ELU",
            "Hardtanh",
            "Hardsigmoid",
            "Hardswish",
            "Mish",
            "Softsign",
            "PReLU",
            "SiLU",
            "GELU",
            "Sigmoid",
            "Tanh",
            "LogSigmoid",
            "Softplus",
        )
    ),
    (nn.Softmax, (1,), (2, 3)),
    (nn.LogSoftmax, (1,), (2, 3)),
    (nn.Dropout, (0.0,), (2, 3)),
]


@pytest.mark.parametrize("cls, args, shape", MODULES, ids=[c.__name__ for c, *_ in MODULES])
def test_modules_are_those_of_pytorch(cls, args, shape):
    """The constructor, the state dict, the text and, to a few places, the value. The bits are those of functional, tested above."""
    theirs = getattr(torch.nn, cls.__name__)(*args)
    ours = cls(*args)
    assert isinstance(ours, getattr(torch.nn, cls.__name__)) and repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    ours.load_state_dict(theirs.state_dict())
    x = numbers(*shape, low=-1, dtype=torch.float32)
    for train in (True, False):
        torch.testing.assert_close(ours.train(train)(x), theirs.train(train)(x))
        for a, b in zip(ours.buffers(), theirs.buffers(), strict=True):
            torch.testing.assert_close(a, b)
    converted = rt.from_torch_module(theirs)
    assert type(converted) is cls and type(theirs) is not cls
    converted.load_state_dict(ours.state_dict())
    assert same_bits(converted.eval()(x), ours.eval()(x))


LOSSES = ["CrossEntropyLoss", "NLLLoss", "MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss", "KLDivLoss", "BCEWithLogitsLoss"]


@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_those_of_pytorch(name):
    x, y = F.log_softmax(numbers(3, 4)), numbers(3, 4, seed=2)
    target = torch.tensor([1, 0, 3]) if name in ("CrossEntropyLoss", "NLLLoss") else y
    for reduction in ("mean", "sum", "none"):
        theirs = getattr(torch.nn, name)(reduction=reduction)
        torch.testing.assert_close(getattr(nn, name)(reduction=reduction)(x, target), theirs(x, target))


def test_every_module_is_tested():
    assert {c.__name__ for c in COUNTERPARTS.values()} == {c.__name__ for c, *_ in MODULES} | set(LOSSES) | {
        "Embedding",
        "MultiheadAttention",
        "RNN",
        "GRU",
        "LSTM",
    }


def test_running_statistics_have_the_bits_of_numpy():
    layer, x = nn.BatchNorm2d(3), numbers(4, 3, 2, 2, low=-1, dtype=torch.float32)
    mean, variance = np.zeros(3, np.float32), np.ones(3, np.float32)
    for step in range(3):
        y = layer(x * (step + 1))
        expected = repmath.nn.batch_norm(
            as_array(x * (step + 1)), mean, variance, np.ones(3, np.float32), np.zeros(3, np.float32), True
        )
        assert same_bits(y, expected) and same_bits(layer.running_mean, mean) and same_bits(layer.running_var, variance)
    assert layer.num_batches_tracked == 3


def test_initial_weights_are_drawn_from_streams():
    stream = repmath.random.Stream(7, 3)
    layer = nn.Conv2d(2, 3, 3, generator=stream)
    assert same_bits(layer.weight, repmath.init.kaiming_uniform(7, (3, 2, 3, 3), a=math.sqrt(5), stream=3))
    bound = 1 / math.sqrt(18)
    assert same_bits(layer.bias, repmath.random.uniform(7, 3, -bound, bound, dtype=np.float32, stream=3, offset=56))
    assert stream.position == 15
    for make in (
        lambda: nn.Linear(3, 4),
        lambda: nn.Embedding(5, 2, padding_idx=1),
        lambda: nn.MultiheadAttention(4, 2, kdim=3, vdim=3),
    ):
        nn.manual_seed(5)
        torch.manual_seed(1)
        first = make().state_dict()
        nn.manual_seed(5)
        torch.manual_seed(2)
        assert all(same_bits(a, b) for a, b in zip(first.values(), make().state_dict().values(), strict=True))
    nn.manual_seed(5)
    assert same_bits(nn.Embedding(5, 2).weight, repmath.random.normal(5, (5, 2), dtype=np.float32))
    with pytest.raises(TypeError, match="generator"):
        nn.Linear(2, 2, generator=torch.Generator())
    with pytest.raises(ValueError, match="padding_mode='reflect'"):
        nn.Conv2d(1, 1, 3, padding_mode="reflect")


def test_dropout_draws_from_its_stream():
    layer = nn.Dropout(0.5, generator=repmath.random.Stream(2))
    x = numbers(4, 5, dtype=torch.float32)
    assert same_bits(layer(x), repmath.random.dropout(as_array(x), 0.5, 2))
    assert same_bits(layer(x), repmath.random.dropout(as_array(x), 0.5, 2, offset=20))
    assert layer.eval()(x) is x


@pytest.mark.parametrize("batch_first", [True, False])
def test_multihead_attention(batch_first):
    theirs = torch.nn.MultiheadAttention(4, 2, batch_first=batch_first)
    ours = rt.from_torch_module(theirs)
    q, k = numbers(3, 3, 4, low=-1, dtype=torch.float32), numbers(3, 3, 4, seed=2, low=-1, dtype=torch.float32)
    hidden = torch.tensor([[False, False, True], [False] * 3, [False, True, False]])
    later = torch.triu(torch.ones(3, 3), 1).bool()
    for options in (
        {},
        {"key_padding_mask": hidden},
        {"attn_mask": later},
        {"attn_mask": later, "key_padding_mask": hidden.flip(0)},
    ):
        for need in (True, False):
            expected, w = theirs(q, k, k, need_weights=need, **options)
            y, v = ours(q, k, k, need_weights=need, **options)
            torch.testing.assert_close((y, v), (expected, w), equal_nan=True)
    y, _ = ours(q[0], k[0], k[0], need_weights=False)
    torch.testing.assert_close(y, theirs(q[0], k[0], k[0], need_weights=False)[0])


def convolutional(layers=nn):
    rt.manual_seed(3)
    return layers.Sequential(
        layers.Conv2d(1, 3, 3), layers.BatchNorm2d(3), layers.ReLU(), layers.Flatten(), layers.Linear(108, 3)
    )


class Residual(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(3, 3)

    def forward(self, x):
        return x + self.inner(x)


def test_conversion():
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Sequential(Residual(), torch.nn.GELU()))
    model[0].bias.requires_grad_(False)
    made = rt.from_torch_module(model, trust=[Residual])
    assert type(made[0]) is nn.Linear and type(made[1][0].inner) is nn.Linear and type(made[1][1]) is nn.GELU
    assert type(model[0]) is torch.nn.Linear and made[0].weight is not model[0].weight and not made[0].bias.requires_grad
    assert all(same_bits(a, b) for a, b in zip(model.state_dict().values(), made.state_dict().values(), strict=True))
    assert type(rt.from_torch_module(made, trust=[Residual])[0]) is nn.Linear


def with_hook():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    model[0].register_forward_hook(lambda *_: None)
    return model


REFUSED = [
    (
        lambda: torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Bilinear(2, 2, 2)),
        r"'1' \(Bilinear\) with parameters 'weight', 'bias'",
    ),
    (lambda: torch.nn.Sequential(Residual()), r"'0' \(Residual\) has a forward of its own"),
    (
        lambda: torch.nn.Sequential(torch.nn.Conv2d(1, 1, 3, padding_mode="circular")),
        r"'0' \(Conv2d\): padding_mode='circular'",
    ),
    (lambda: torch.nn.Embedding(3, 2, max_norm=1.0), r"itself \(Embedding\): max_norm"),
    (lambda: torch.nn.InstanceNorm1d(3, track_running_stats=True), "track_running_stats"),
    (
        lambda: torch.nn.ModuleDict({"a": torch.nn.Linear(2, 2).to(torch.float8_e5m2)}),
        r"'a' \(Linear\): parameter 'weight' has dtype torch.float8_e5m2",
    ),
    (with_hook, "'0'.*hooks"),
    (lambda: torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2)), r"itself \(ParametrizedLinear\)"),
    (lambda: torch.nn.LSTM(2, 2, proj_size=1), r"itself \(LSTM\): proj_size=1"),
    (lambda: torch.nn.LSTMCell(2, 2), r"itself \(LSTMCell\).*weight_ih"),
]


@pytest.mark.parametrize("make, text", REFUSED, ids=range(len(REFUSED)))
def test_conversion_refuses_what_it_does_not_know(make, text):
    model = make()
    before = [bytes(t.untyped_storage()) for t in model.state_dict().values()]
    with pytest.raises(rt.UnsupportedModuleError, match=text):
        rt.from_torch_module(model)
    assert before == [bytes(t.untyped_storage()) for t in model.state_dict().values()]


# --- optimisers

STEPS = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.1, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
    ("Adam", {"lr": 0.01, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.01, "amsgrad": True, "betas": (0.8, 0.9), "maximize": True}),
    ("AdamW", {"lr": 0.01, "eps": 1e-6}),
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name, options", STEPS, ids=range(len(STEPS)))
def test_optimisers_have_the_bits_of_numpy(name, options, dtype):
    start = [numbers(3, 4, low=-1, dtype=dtype), numbers(2, seed=2, dtype=dtype)]
    params = [t.clone().requires_grad_() for t in start]
    mine, reference = [a.copy() for a in arrays(*start)], None
    reference = getattr(repmath.optim, name)(mine, **options)
    optimizer = getattr(optim, name)(params, **options)
    for step in range(3):
        grads = [numbers(*p.shape, seed=10 + step, low=-1, dtype=dtype) for p in params]
        for p, g in zip(params, grads, strict=True):
            p.grad = g
        optimizer.step()
        reference.step(list(arrays(*grads)))
    assert all(same_bits(p, a) for p, a in zip(params, mine, strict=True))
    for i, p in enumerate(params):
        for key, value in reference.state.get(i, {}).items():
            if isinstance(value, np.ndarray):
                assert same_bits(optimizer.state[p][key], value)
            elif name != "SGD":
                assert optimizer.state[p][key] == value


@pytest.mark.parametrize("name, options", STEPS, ids=range(len(STEPS)))
def test_state_dicts_are_those_of_pytorch(name, options):
    """Saved from the one and loaded into the other, after a step; the next step continues from there."""
    params = [numbers(3, dtype=torch.float32).requires_grad_()]
    params[0].grad = numbers(3, seed=2, dtype=torch.float32)
    theirs, ours = getattr(torch.optim, name)(params, **options), getattr(optim, name)(params, **options)
    theirs.step()
    ours.load_state_dict(theirs.state_dict())
    ours.step()
    saved = ours.state_dict()
    assert saved.keys() == theirs.state_dict().keys() and saved["param_groups"] == theirs.state_dict()["param_groups"]
    assert {k: v.keys() for k, v in saved["state"].items()} == {k: v.keys() for k, v in theirs.state_dict()["state"].items()}
    theirs.load_state_dict(saved)
    theirs.step()
    signature = inspect.signature(type(ours))
    own = [p for name, p in signature.parameters.items() if name in ("rounding", "seed")]
    assert [(p.kind, p.default) for p in own] == [
        (p.KEYWORD_ONLY, default) for p, default in zip(own, ("nearest", 0), strict=True)
    ]
    pytorchs = [p for p in signature.parameters.values() if p not in own]
    assert signature.replace(parameters=pytorchs) == inspect.signature(type(theirs))


def test_optimisers_groups_closures_and_errors():
    a, b = (numbers(2, seed=s, dtype=torch.float32).requires_grad_() for s in (1, 2))
    optimizer = optim.SGD([{"params": [a], "lr": 0.5}, {"params": [b]}], lr=0.25)
    start = a.detach().clone(), b.detach().clone()

    def closure():
        optimizer.zero_grad()
        loss = F.sum(F.add(a, b))
        loss.backward()
        return loss

    held = a * 2
    before = held.sum()
    assert same_bits(optimizer.step(closure), F.sum(F.add(*start)))
    assert same_bits(a, start[0] - 0.5) and same_bits(b, start[1] - 0.25)
    before.backward()
    square = (a * a).sum()
    optimizer.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        square.backward()
    a.grad, b.grad = torch.ones(2), None
    kept = b.detach().clone()
    optimizer.step()
    assert same_bits(b, kept)
    with pytest.raises(ValueError, match="differentiable=True is not supported"):
        optim.SGD([torch.ones(1, requires_grad=True)], differentiable=True).step()
    whole = torch.ones(2, dtype=torch.complex64, requires_grad=True)
    whole.grad = torch.ones(2, dtype=torch.complex64)
    with pytest.raises(TypeError, match="complex64"):
        optim.Adam([whole]).step()


def test_clipping():
    params = [numbers(3, seed=s, dtype=torch.float32).requires_grad_() for s in (1, 2)]
    for p in params:
        p.grad = p.detach() * 4
    mine = [as_array(p.grad).copy() for p in params]
    norm = repmath.optim.clip_grad_norm(mine, 1.5)
    assert optim.clip_grad_norm_(params, 1.5).item() == norm
    assert all(same_bits(p.grad, g) for p, g in zip(params, mine, strict=True))


# --- training


def test_training_has_the_digest_of_the_loop_in_numpy(example, monkeypatch):
    script, expected = example("digits_numpy")
    for threads in (2, 1):
        repmath.set_num_threads(threads)
        assert example("digits_torch")[1] == expected
    assert example("digits_gpu", "--device", "cpu")[1] == expected
    # The control: one gradient with its last bit changed changes the digest.
    good = script.gradients
    monkeypatch.setattr(
        script, "gradients", lambda *args: {k: np.nextafter(g, np.float32(1)) for k, g in good(*args).items()}
    )
    assert example("digits_numpy")[1] != expected


def test_tensors_share_memory_with_arrays():
    t = numbers(3, dtype=torch.bfloat16)
    as_array(t)[0] = 2.0
    assert t[0] == 2.0
    a = np.ones(3, np.float32)
    as_tensor(a)[1] = 5.0
    assert a[1] == 5.0


ACTIVATIONS = ("relu", "relu6", "silu", "leaky_relu", "elu", "hardtanh", "hardsigmoid", "hardswish", "mish", "softsign")


ACTIVATIONS_OF_ONE_PATH = ("relu", "relu6", "silu", "hardtanh", "hardsigmoid")


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_composed_activations(name):
    """Their gradients, also where a branch that is not taken would be infinite; their zeros and NaNs; numbers beyond float16."""
    f, theirs = getattr(F, name), getattr(torch.nn.functional, name)
    x = torch.tensor([-1e4, -2.5, -0.3, 0.4, 2.0, 1e4], dtype=torch.float64, requires_grad=True)
    (mine,), (other,) = (torch.autograd.grad(g(x).sum(), x) for g in (f, theirs))
    torch.testing.assert_close(mine, other)
    assert torch.autograd.gradgradcheck(f, x[1:-1].detach().requires_grad_())
    assert torch.isnan(f(torch.tensor([math.nan]))).all()
    if name in ("relu", "relu6"):
        assert not torch.signbit(f(torch.tensor([-0.0, -1.0]))).any()
    y = numbers(3, dtype=torch.float32)
    given = y.clone()
    if "inplace" in inspect.signature(f).parameters:
        assert f(given, inplace=True) is given and same_bits(given, f(y))
        gradients = []
        for inplace in (True, False):  # of a result that is overwritten, though its gradient needs it
            leaf = y.clone().requires_grad_()
            f(F.subtract(leaf, 0.5), inplace=inplace).sum().backward()
            gradients.append(leaf.grad)
        assert same_bits(*gradients)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_where_subnormal_numbers_are_flushed(name):
    """Gradients too, but where several flow into one tensor: PyTorch adds those."""
    x = torch.tensor([1e-40, -1e-40, 3e-45, 1.0], requires_grad=True)
    f, g = getattr(F, name), torch.full((4,), 3e-39)

    def run():
        y = f(x)
        return [y.detach(), *(torch.autograd.grad(y, x, g) if name in ACTIVATIONS_OF_ONE_PATH else ())]

    want = run()
    torch.set_flush_denormal(True)
    try:
        assert (x.detach() * 1)[0].numpy().tobytes() == bytes(4)  # they are
        made = run()
    finally:
        torch.set_flush_denormal(False)
    assert same_bits(*map(torch.cat, (made, want)))


def test_prelu():
    x = numbers(2, 3, 2, low=-1).requires_grad_()
    for w in (numbers(3).requires_grad_(), numbers(1).requires_grad_()):
        torch.testing.assert_close(F.prelu(x, w), torch.nn.functional.prelu(x, w))
        assert torch.autograd.gradcheck(F.prelu, (x, w))
    with pytest.raises(RuntimeError, match="weight of shape"):
        F.prelu(x, torch.ones(2).double())


@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bidirectional": True}, {"batch_first": True}], ids=range(3))
@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
def test_recurrent_layers(name, options):
    """The bits of PyTorch's own layers inside `reproducible`, which take the same steps; gradients close to PyTorch's."""
    theirs = getattr(torch.nn, name)(3, 4, **options)
    ours = rt.from_torch_module(theirs)
    assert type(ours) is getattr(nn, name) and repr(ours) == repr(theirs)
    states = torch.stack([numbers(2, 4, seed=s, dtype=torch.float32) for s in range(4 if "num_layers" in options else 1)])
    hx = (states, states.flip(0)) if name == "LSTM" else states
    x = numbers(2, 2, 3, low=-1, dtype=torch.float32)
    for arguments in ((x,), (x, hx)):
        y, last = ours(*arguments)
        with rt.reproducible():
            assert same_bits(y, theirs(*arguments)[0])
        torch.testing.assert_close((y, last), theirs(*arguments))
        gradients = [torch.autograd.grad(F.sum(m(*arguments)[0]), list(m.parameters())) for m in (ours, theirs)]
        torch.testing.assert_close(*gradients)
    torch.testing.assert_close(ours(x[0]), theirs(x[0]))
    nn.manual_seed(2)
    again = getattr(nn, name)(3, 4)
    assert same_bits(again.weight_ih_l0, repmath.random.uniform(2, again.weight_ih_l0.shape, -0.5, 0.5, dtype=np.float32))
    with pytest.raises(TypeError, match="packed sequences"):
        ours(torch.nn.utils.rnn.pack_padded_sequence(numbers(2, 2, 3, dtype=torch.float32), [2, 1]))
