"""Functions that reproducible() takes as a whole: what is taken so, what is left to PyTorch's composition, and that both have all derivatives."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch.autograd import forward_ad  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402
from torch_cases import numbers, same_bits  # noqa: E402

import repmath.torch as rt  # noqa: E402
from repmath.torch import _composites, _functions  # noqa: E402
from repmath.torch import functional as ours  # noqa: E402

F = torch.nn.functional
CLASSES = torch.tensor([2, 0, 5, 5])
CHANCES = numbers(4, 6, seed=3)
WEIGHT = numbers(6, seed=4)

# PyTorch's function and ours, of the tensors that follow.
CALLS = {
    "cross_entropy": (
        lambda x: F.cross_entropy(x, CLASSES, label_smoothing=0.1),
        lambda x: ours.cross_entropy(x, CLASSES, label_smoothing=0.1),
        [(4, 6)],
    ),
    "cross_entropy of probabilities": (
        lambda x: F.cross_entropy(x, CHANCES.to(x), WEIGHT.to(x), reduction="none"),
        lambda x: ours.cross_entropy(x, CHANCES.to(x), WEIGHT.to(x), reduction="none"),
        [(4, 6)],
    ),
    "kl_div": (
        lambda x: F.kl_div(x, CHANCES.to(x), reduction="batchmean"),
        lambda x: ours.kl_div(x, CHANCES.to(x), reduction="batchmean"),
        [(4, 6)],
    ),
    "binary_cross_entropy_with_logits": (
        lambda x: F.binary_cross_entropy_with_logits(x, CHANCES.to(x), pos_weight=WEIGHT.to(x)),
        lambda x: ours.binary_cross_entropy_with_logits(x, CHANCES.to(x), pos_weight=WEIGHT.to(x)),
        [(4, 6)],
    ),
    "rms_norm": (lambda x, w: F.rms_norm(x, (6,), w), lambda x, w: ours.rms_norm(x, (6,), w), [(4, 6), (6,)]),
    "instance_norm": (
        lambda x, w, b: F.instance_norm(x, weight=w, bias=b),
        lambda x, w, b: ours.instance_norm(x, weight=w, bias=b),
        [(2, 4, 6), (4,), (4,)],
    ),
    "special_ndtr": (torch.special.ndtr, ours.ndtr, [(4, 6)]),
    "softsign": (F.softsign, ours.softsign, [(4, 6)]),
}
COMPOSED = [name for name in CALLS if name != "softsign"]


def leaves(shapes, dtype=torch.float32):
    return [numbers(*s, seed=20 + i, low=-2, high=2, dtype=dtype).requires_grad_() for i, s in enumerate(shapes)]


def made(call, tensors, **options):
    """The value and the gradients."""
    y = call(*tensors)
    g = numbers(*y.shape, seed=9, dtype=y.dtype) if y.ndim else torch.tensor(0.7, dtype=y.dtype)
    return [y, *torch.autograd.grad(y, tensors, g, **options)]


def same(found, wanted):
    return all(same_bits(a.detach(), b.detach()) for a, b in zip(found, wanted, strict=True))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", CALLS)
def test_bits_of_the_function(name, dtype):
    theirs, own, shapes = CALLS[name]
    want = made(own, leaves(shapes, dtype))
    with rt.reproducible():
        assert same(made(theirs, leaves(shapes, dtype)), want)
        with torch.no_grad():
            assert same([theirs(*leaves(shapes, dtype))], want[:1])
        with torch.inference_mode():
            assert same([theirs(*leaves(shapes, dtype)).clone()], want[:1])


@pytest.mark.parametrize("name", ["cross_entropy", "kl_div", "rms_norm", "instance_norm", "special_ndtr"])
def test_control(name, monkeypatch):
    """PyTorch's composition has other bits."""
    theirs, own, shapes = CALLS[name]
    if name == "kl_div":
        theirs, own = (lambda x, f=f: f.kl_div(x, CHANCES.to(x), reduction="none") for f in (F, ours))
    want = made(own, leaves(shapes))
    declined = dict.fromkeys((*_composites.WHOLES, *_functions.WHOLES), lambda *a, **k: NotImplemented)
    monkeypatch.setattr(_composites, "WHOLES", declined)
    monkeypatch.setattr(_composites, "FUNCTIONS", declined)
    with rt.reproducible():
        assert not same(made(theirs, leaves(shapes)), want)


@pytest.mark.parametrize("name", COMPOSED)
def test_second_derivatives(name):
    """Of all gradients by all arguments, against PyTorch's in binary64."""
    theirs, _, shapes = CALLS[name]

    def second(dtype):
        tensors = leaves(shapes, dtype)
        first = made(theirs, tensors, create_graph=True)[1:]
        total = sum((g * numbers(*g.shape, seed=40 + i, dtype=dtype)).pow(2).sum() for i, g in enumerate(first))
        if not total.requires_grad:
            return first
        found = torch.autograd.grad(total, tensors, allow_unused=True)
        return [*first, *(g for g in found if g is not None)]

    want = second(torch.float64)
    with rt.reproducible():
        found = second(torch.float32)
    for a, b in zip(found, want, strict=True):
        torch.testing.assert_close(a.detach().double(), b.detach(), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", COMPOSED)
def test_transforms(name):
    """Forward mode and torch.func follow the operators that PyTorch composes."""
    theirs, _, shapes = CALLS[name]
    tensors, wide = ([t.detach() for t in leaves(shapes, d)] for d in (torch.float32, torch.float64))
    calls = {
        "tangent": lambda ts: torch.func.jvp(theirs, tuple(ts), tuple(t * 0.5 for t in ts))[1],
        "grad": lambda ts: torch.func.grad(lambda *t: theirs(*t).pow(2).sum())(*ts),
        "hessian": lambda ts: torch.func.hessian(lambda *t: theirs(*t).sum())(*ts),
    }
    with forward_ad.dual_level(), rt.reproducible():
        dual = theirs(forward_ad.make_dual(tensors[0], torch.ones_like(tensors[0])), *tensors[1:])
        assert forward_ad.unpack_dual(dual).tangent is not None
    for call in calls.values():
        want = call(wide)
        with rt.reproducible():
            torch.testing.assert_close(call(tensors).double(), want, rtol=2e-5, atol=2e-6)


def test_vmap():
    x = numbers(3, 4, 6, dtype=torch.float32)
    with rt.reproducible():
        torch.testing.assert_close(
            torch.func.vmap(lambda t: F.cross_entropy(t, CLASSES))(x), torch.stack([F.cross_entropy(t, CLASSES) for t in x])
        )


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_checkpoints(name, reentrant):
    """What is computed again in the backward pass, by whichever call it began, is what was computed first."""
    theirs, _, shapes = CALLS[name]
    tensors = leaves(shapes)

    def by_grad(y):
        for t, g in zip(tensors, torch.autograd.grad(y, tensors), strict=True):
            t.grad = g

    ways = [torch.Tensor.backward, torch.autograd.backward, *([] if reentrant else [by_grad])]
    with rt.reproducible():
        want = torch.autograd.grad(theirs(*(t * 1 for t in tensors)).pow(2).sum(), tensors)
        for way in ways:
            for t in tensors:
                t.grad = None
            y = checkpoint(lambda *ts: theirs(*(t * 1 for t in ts)), *tensors, use_reentrant=reentrant).pow(2).sum()
            way(y)
            assert same([t.grad for t in tensors], want)


def test_what_is_left_to_pytorch(monkeypatch):
    """Arguments that our functions do not take, and their errors, which are PyTorch's."""
    calls = []
    for name in ("cross_entropy", "kl_div", "rms_norm", "instance_norm", "binary_cross_entropy_with_logits"):
        function = getattr(ours, name)
        monkeypatch.setattr(_composites.whole, name, lambda *a, f=function, **k: calls.append(f.__name__) or f(*a, **k))
    x, image = numbers(4, 6, dtype=torch.float32), numbers(2, 4, 6, dtype=torch.float32)
    shares = CHANCES.float()

    class Own(torch.Tensor):
        """A subclass."""

    left = {
        "target with a gradient": lambda: F.cross_entropy(x, shares.clone().requires_grad_()),
        "weights of another format": lambda: F.rms_norm(x.bfloat16(), (6,), torch.ones(6)),
        "no elements": lambda: F.cross_entropy(x[:0], CLASSES[:0]),
        "running statistics": lambda: F.instance_norm(image, torch.zeros(4), torch.ones(4)),
        "broadcasting": lambda: F.kl_div(x, shares[:1], reduction="sum"),
        "bytes": lambda: F.cross_entropy(x, CLASSES.to(torch.uint8)),
        "subclass": lambda: F.rms_norm(x.as_subclass(Own), (6,)),
    }
    refused = {
        "shape": lambda: F.cross_entropy(x, CLASSES[:3]),
        "normalized_shape": lambda: F.rms_norm(x, (5,)),
        "no space": lambda: F.instance_norm(image[..., :1]),
        "target size": lambda: F.binary_cross_entropy_with_logits(x, shares[:2]),
        "reduction": lambda: F.kl_div(x, shares, reduction="all"),
        "smoothing": lambda: F.cross_entropy(x, CLASSES, label_smoothing=2.0),
    }
    with rt.reproducible():
        for name, call in left.items():
            call()
            assert not calls, name
        F.cross_entropy(x, CLASSES, size_average=False)
        assert calls == ["cross_entropy"]
        del calls[:]
    for name, call in refused.items():
        with pytest.raises((RuntimeError, ValueError)) as plain:
            call()
        with pytest.raises(plain.type) as inside, rt.reproducible():
            call()
        assert str(inside.value) == str(plain.value) and not calls, name
    F.cross_entropy(x, CLASSES)  # outside of a block
    assert not calls


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_default_eps(dtype):
    """As PyTorch takes it: that of float32 beside 16 bits."""
    x = torch.full((4,), 2.0**-10, dtype=dtype)
    eps = 2.0**-52 if dtype is torch.float64 else 2.0**-23
    assert same_bits(ours.rms_norm(x, 4), ours.rms_norm(x, 4, eps=eps))
    torch.testing.assert_close(ours.rms_norm(x, 4), F.rms_norm(x, (4,)))
