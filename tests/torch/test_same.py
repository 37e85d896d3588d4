"""A model converted by from_torch_module beside the model itself under reproducible(): one result, one set of gradients."""

import contextlib
import functools
import pathlib

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch_cases import numbers, same_bits  # noqa: E402

import repmath.torch as rt  # noqa: E402
from repmath.torch import nn, optim  # noqa: E402
from repmath.torch._convert import COUNTERPARTS  # noqa: E402

DTYPES = (torch.bfloat16, torch.float32, torch.float64)


def tensors(value):
    """Those that a result holds."""
    if isinstance(value, torch.Tensor):
        return [value]
    return [] if value is None else [t for v in value for t in tensors(v)]


def with_numbers(module, dtype):
    module = module.to(dtype)
    with torch.no_grad():
        for i, p in enumerate(module.parameters()):
            p.copy_(numbers(*p.shape, seed=50 + i, low=-1, high=1))
    return module


def results(module, call, shapes, dtype):
    """By name: what it returns, the gradients by inputs and parameters, its buffers."""
    inputs = [numbers(*s, seed=3 + i, low=-4, high=4, dtype=dtype).requires_grad_() for i, s in enumerate(shapes)]
    made = tensors(call(module, *inputs))
    torch.autograd.backward(made, [numbers(*t.shape, seed=99 + i, low=-1, high=1, dtype=t.dtype) for i, t in enumerate(made)])
    found = {f"result {i}": t for i, t in enumerate(made)} | {f"gradient by input {i}": t.grad for i, t in enumerate(inputs)}
    found |= {f"gradient by {name}": p.grad for name, p in module.named_parameters()} | dict(module.named_buffers())
    return {name: t.detach().clone() for name, t in found.items() if t is not None}


def differing(module, shapes, call=None, dtype=torch.float32):
    """What of the two is not the same."""
    theirs = with_numbers(module, dtype)
    ours = rt.from_torch_module(theirs)
    call = call or (lambda module, *inputs: module(*inputs))
    made = results(ours, call, shapes, dtype)
    with rt.reproducible():
        other = results(theirs, call, shapes, dtype)
    assert made.keys() == other.keys() and len(made) > len(shapes)
    return {name for name in made if not same_bits(made[name], other[name])}


T = torch.nn
IDS = torch.tensor([[1, 2, 1], [0, 3, 3]])
SPATIAL = (1, 2, 3)


def of(name, *args, **options):
    return functools.partial(getattr(T, name), *args, **options)


def attend(**options):
    return lambda module, q, k=None, v=None: module(
        q, q if k is None else k, (q if k is None else k) if v is None else v, **options
    )


def paired(module, *inputs):
    return module(*inputs)


def with_classes(module, x):
    return module(x, torch.arange(len(x)) % 3)


def with_chances(module, x):
    return module(x, numbers(*x.shape, seed=77, dtype=x.dtype))


SAME = {
    "Linear": (of("Linear", 7, 5), [(2, 3, 7)]),
    "Linear of vectors": (of("Linear", 7, 5), [(7,)]),
    "Linear without bias": (of("Linear", 7, 5, bias=False), [(3, 7)]),
    "LayerNorm": (of("LayerNorm", (4, 5)), [(3, 4, 5)]),
    "LayerNorm without bias": (of("LayerNorm", 5, bias=False), [(3, 4, 5)]),
    "GroupNorm": (of("GroupNorm", 2, 4), [(3, 4, 5)]),
    **{f"Conv{d}d": (of(f"Conv{d}d", 4, 6, 3, 2, 1, 1, 2), [(2, 4, *(7,) * d)]) for d in SPATIAL},
    **{f"Conv{d}d same": (of(f"Conv{d}d", 4, 6, 3, padding="same", bias=False), [(4, *(5,) * d)]) for d in SPATIAL},
    **{f"ConvTranspose{d}d": (of(f"ConvTranspose{d}d", 4, 6, 3, 2, 1, 1, 2), [(2, 4, *(5,) * d)]) for d in SPATIAL},
    **{f"BatchNorm{d}d": (of(f"BatchNorm{d}d", 4), [(3, 4, *(5,) * d)]) for d in SPATIAL},
    **{f"BatchNorm{d}d eval": (lambda d=d: getattr(T, f"BatchNorm{d}d")(4).eval(), [(3, 4, *(5,) * d)]) for d in SPATIAL},
    "BatchNorm1d averages": (of("BatchNorm1d", 4, momentum=None), [(3, 4)]),
    "BatchNorm2d of the batch": (of("BatchNorm2d", 4, affine=False, track_running_stats=False), [(3, 4, 5, 5)]),
    **{f"InstanceNorm{d}d": (of(f"InstanceNorm{d}d", 4), [(3, 4, *(5,) * d)]) for d in SPATIAL},
    **{f"{kind}Pool{d}d": (of(f"{kind}Pool{d}d", 3, 2, 1), [(3, 4, *(7,) * d)]) for kind in ("Max", "Avg") for d in SPATIAL},
    **{
        f"Adaptive{kind}Pool{d}d": (of(f"Adaptive{kind}Pool{d}d", 3), [(3, 4, *(7,) * d)])
        for kind in ("Max", "Avg")
        for d in SPATIAL
    },
    **{name: (of(name), [(30, 40)]) for name in ("ReLU", "ReLU6", "Hardtanh", "SiLU", "GELU", "LogSigmoid", "Softplus")},
    "GELU tanh": (of("GELU", "tanh"), [(30, 40)]),
    "PReLU": (of("PReLU", 4), [(3, 4, 5)]),
    "Dropout": (of("Dropout", 0.0), [(30, 40)]),
    "Softmax": (of("Softmax", 1), [(30, 40)]),
    "LogSoftmax": (of("LogSoftmax", 1), [(30, 40)]),
    "Embedding": (of("Embedding", 5, 4, padding_idx=3), [], lambda module: module(IDS)),
    **{
        f"{name} {reduction}": (of(name, reduction=reduction), [(3, 4), (3, 4)], paired)
        for name in ("MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss")
        for reduction in ("mean", "sum", "none")
    },
    "NLLLoss": (of("NLLLoss", torch.tensor([0.5, 0.25, 1, 2])), [(3, 4)], with_classes),
    **{
        f"MultiheadAttention {label} {need}": (of("MultiheadAttention", 8, 2, **options), shapes, attend(need_weights=need))
        for need in (True, False)
        for label, options, shapes in (
            ("of one", {}, [(3, 5, 8)]),
            ("of one batch", {"batch_first": True}, [(3, 5, 8)]),
            ("of one sequence", {"batch_first": True, "bias": False}, [(5, 8)]),
            ("of two", {"batch_first": True}, [(3, 5, 8), (3, 6, 8)]),
            ("of three", {"batch_first": True}, [(3, 5, 8), (3, 6, 8), (3, 6, 8)]),
            ("of sizes", {"batch_first": True, "kdim": 4, "vdim": 3}, [(3, 5, 8), (3, 6, 4), (3, 6, 3)]),
        )
    },
    "MultiheadAttention masks": (
        of("MultiheadAttention", 8, 2),
        [(5, 3, 8)],
        attend(attn_mask=torch.ones(5, 5).triu(1).bool(), key_padding_mask=torch.arange(15).view(3, 5) == 9),
    ),
}
REDUCED = ("mean", "sum", "none")


def losses(name, call, *variants):
    """The loss by its options, with each reduction."""
    return {
        f"{name} {reduction} {i}": (of(name, reduction=reduction, **options), [(30, 4)], call)
        for i, options in enumerate(variants)
        for reduction in REDUCED
    }


WEIGHTS = torch.tensor([0.5, 0.25, 1, 2])
SAME |= {
    **losses(
        "CrossEntropyLoss",
        with_classes,
        {},
        {"label_smoothing": 0.1},
        {"weight": WEIGHTS, "ignore_index": 2},
        {"weight": WEIGHTS, "ignore_index": 1, "label_smoothing": 0.3},
    ),
    **losses("CrossEntropyLoss", with_chances, {"label_smoothing": 0.1, "weight": WEIGHTS}),
    "CrossEntropyLoss of images": (
        of("CrossEntropyLoss"),
        [(2, 4, 3, 5)],
        lambda m, x: m(x, torch.arange(30).view(2, 3, 5) % 4),
    ),
    "CrossEntropyLoss of one": (of("CrossEntropyLoss"), [(5,)], lambda module, x: module(x, torch.tensor(3))),
    **losses("KLDivLoss", with_chances, {}, {"log_target": True}),
    "KLDivLoss batchmean": (of("KLDivLoss", reduction="batchmean"), [(30, 4)], with_chances),
    **losses("BCEWithLogitsLoss", with_chances, {}, {"pos_weight": WEIGHTS}),
    "RMSNorm": (of("RMSNorm", 50), [(30, 50)]),
    "RMSNorm of two axes": (of("RMSNorm", (3, 50), eps=1e-3, elementwise_affine=False), [(4, 3, 50)]),
    "RMSNorm eval": (lambda: T.RMSNorm(50).eval(), [(30, 50)]),
    **{f"InstanceNorm{d}d weights": (of(f"InstanceNorm{d}d", 4, affine=True), [(3, 4, *(5,) * d)]) for d in SPATIAL},
    **{name: (of(name), [(30, 40)]) for name in ("ELU", "Mish", "Softsign", "LeakyReLU", "Hardsigmoid", "Hardswish")},
    "LeakyReLU of a slope": (of("LeakyReLU", 0.3), [(30, 40)]),
    "ELU of a slope": (of("ELU", 0.3), [(30, 40)]),
}
# The gradient of these alone is another: PyTorch's is of the value; see docs/torch.md.
BY_GRADIENT = {
    "Sigmoid": (of("Sigmoid"), [(30, 40)]),
    "Tanh": (of("Tanh"), [(30, 40)]),
}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", SAME)
def test_modules(name, dtype):
    make, *rest = SAME[name]
    assert not differing(make(), *rest, dtype=dtype)


@pytest.mark.parametrize("name", BY_GRADIENT)
def test_modules_that_differ_by_definition(name):
    """The documentation names them; and the comparison finds a difference of a rounding."""
    make, *rest = BY_GRADIENT[name]
    found = differing(make(), *rest)
    assert found and "result 0" not in found
    text = (pathlib.Path(__file__).resolve().parents[2] / "docs/torch.md").read_text(encoding="utf-8")
    assert name in text.split("### How do the bits compare with those under `reproducible()`?")[1].split("\n## ")[0]


def test_every_module_is_compared():
    compared = {name.split()[0] for name in (SAME | BY_GRADIENT)} | {"RNN", "GRU", "LSTM"}
    assert {c.__name__ for c in COUNTERPARTS.values()} == compared


RECURRENT = {
    "LSTM": of("LSTM"),
    "GRU": of("GRU"),
    "RNN tanh": of("RNN"),
    "RNN relu": of("RNN", nonlinearity="relu"),
}
OPTIONS = [
    {},
    {"bias": False},
    {"batch_first": True},
    {"bidirectional": True},
    {"num_layers": 2, "batch_first": True},
    {"num_layers": 2, "bidirectional": True},
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("options", OPTIONS, ids=range(len(OPTIONS)))
@pytest.mark.parametrize("name", RECURRENT)
def test_recurrent_layers(name, options, dtype):
    """With states of zeros, and with given ones, which have gradients too."""

    def begun(module, x, *states):
        return module(x, states if name == "LSTM" else states[0])

    module = RECURRENT[name](5, 6, **options)
    x = (3, 4, 5) if module.batch_first else (4, 3, 5)
    states = [(module.num_layers * (1 + module.bidirectional), 3, 6)] * (2 if name == "LSTM" else 1)
    assert not differing(module, [x], dtype=dtype)
    for p in module.parameters():
        p.grad = None
    assert not differing(module, [x, *states], begun, dtype)


def test_recurrent_layers_of_one_sequence():
    for make in RECURRENT.values():
        assert not differing(make(5, 6), [(4, 5)])


def test_control_a_gate_with_another_gradient(monkeypatch):
    """Gradients of the gates at their argument, which were those of these layers once, are found."""
    from repmath.torch.nn import _recurrent

    monkeypatch.setattr(_recurrent, "TANH_GATE", rt.functional.tanh)
    assert any(key.startswith("gradient") for key in differing(T.LSTM(5, 6), [(4, 3, 5)]))


class Tagger(T.Module):
    """Words to states of a recurrent layer to classes."""

    def __init__(self, name):
        super().__init__()
        self.words, self.out = T.Embedding(9, 5), T.Linear(12, 4)
        self.layers = RECURRENT[name](5, 6, num_layers=2, bidirectional=True)
        self.norm = T.LayerNorm(12)

    def forward(self, ids):
        return self.out(self.norm(self.layers(self.words(ids))[0]))


@pytest.mark.parametrize("kind, options", [("SGD", {"momentum": 0.9}), ("AdamW", {})])
@pytest.mark.parametrize("name", RECURRENT)
def test_training(name, kind, options):
    """Some steps, a digest: the model as it is under the mode, with PyTorch's fused optimiser, and the converted one with repmath's."""
    theirs = with_numbers(Tagger(name), torch.float32)
    ours = rt.from_torch_module(theirs, trust=[Tagger])
    ids, target = torch.arange(20).view(5, 4) % 9, numbers(5, 4, 4, seed=8, dtype=torch.float32)
    digests = []
    for model, layers, steps, mode in (
        (ours, nn, getattr(optim, kind)(ours.parameters(), lr=0.05, **options), contextlib.nullcontext()),
        (theirs, T, getattr(torch.optim, kind)(theirs.parameters(), lr=0.05, fused=True, **options), rt.reproducible()),
    ):
        with mode:
            begun = rt.digest(model)
            for _ in range(4):
                steps.zero_grad()
                layers.MSELoss()(model(ids), target).backward()
                steps.step()
            digests.append(rt.digest(model))
    assert digests[0] == digests[1] != begun
