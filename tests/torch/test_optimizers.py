"""Every optimiser of torch.optim under reproducible(): the same bits on every instruction set with any number of threads, and as loops, on lists
and fused where these are one definition; gradients that are limited and scaled."""

import copy
import json
import math
import os
import pathlib
import pickle
import subprocess
import sys

import elementwise_library
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import repmath.torch as rt  # noqa: E402
from repmath import optim  # noqa: E402
from repmath.torch._tensors import as_array  # noqa: E402

aten = torch.ops.aten


def digests(isa, threads):
    program = pathlib.Path(__file__).resolve().parents[1] / "support/optimizer_program.py"
    environment = {**os.environ, "REPMATH_ISA": isa}
    done = subprocess.run(
        [sys.executable, program, str(threads)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_every_optimizer_has_one_result():
    found = [digests(isa, threads) for threads, isa in enumerate(elementwise_library.libraries(), 1)]
    names = {title.split()[0] for title in found[0]}
    wanted = "ASGD Adadelta Adafactor Adagrad Adam AdamW Adamax LBFGS Muon NAdam RAdam RMSprop Rprop SGD SparseAdam".split()
    assert names == set(wanted) and len(found[0]) > 100
    for other in found[1:]:
        assert other == found[0]
    fused = [title for title in found[0] if title.startswith("Adagrad") and title.endswith("fused")]
    for title in fused:
        assert found[0][title] == found[0][title.removesuffix("fused") + "for loop"], title
    assert len(fused) > 2 and len(set(found[0].values())) > 40


def test_clip_grad_value():
    p = torch.nn.Parameter(torch.zeros(3))
    p.grad = torch.tensor([0.3, -7.0, math.inf])
    with rt.reproducible():
        torch.nn.utils.clip_grad_value_([p], 0.1)
    assert p.grad.tolist() == torch.tensor([0.1, -0.1, 0.1]).tolist()


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW"])
def test_fused_steps_in_another_order_of_axes(kind):
    """As of the same numbers in C's order; gradients in another order than the parameter's are refused."""
    torch.manual_seed(1)
    values, gradient, made = torch.randn(3, 2, 4, 5), torch.randn(3, 2, 4, 5), []
    for order in (torch.contiguous_format, torch.channels_last):
        p = torch.nn.Parameter(values.clone(memory_format=order))
        p.grad = gradient.contiguous(memory_format=order)
        optimizer = getattr(torch.optim, kind)([p], 0.1, fused=True, **({"momentum": 0.9} if kind == "SGD" else {}))
        with rt.reproducible():
            for _ in range(2):
                optimizer.step()
        made.append([p.detach(), *(t for t in optimizer.state[p].values() if t.ndim)])
    assert all(torch.equal(a, b) and a.shape == b.shape for a, b in zip(*made, strict=True)) and len(made[0]) > 1
    p.grad = gradient
    with rt.reproducible(), pytest.raises(rt.UncoveredOperatorError, match="not contiguous"):
        optimizer.step()


def grad_scaled(fused, bad, init_scale=3.0):
    """A step whose gradients were scaled, after one that may have had an infinite one; the parameter and the scale."""
    with rt.reproducible():
        p = torch.nn.Parameter(torch.tensor([0.1, 0.2, 0.7]))
        optimizer = torch.optim.SGD([p], 0.1, momentum=0.9, fused=fused)
        scaler = torch.amp.GradScaler("cpu", init_scale=init_scale, growth_interval=2)
        for step in range(4):
            optimizer.zero_grad()
            loss = (p * torch.tensor([1.0, math.inf if bad and step == 1 else 2.0, 0.3])).sum()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
    return p.detach(), scaler.get_scale()


@pytest.mark.parametrize("fused", [False, True])
def test_grad_scaler(fused):
    """A step with a gradient that is not finite is left out, and the scale is halved; scaling by a power of two changes no bit."""
    plain, scale = grad_scaled(fused, False)
    assert scale == 12.0
    left_out, smaller = grad_scaled(fused, True)
    assert smaller == 3.0 and not torch.equal(plain, left_out) and bool(left_out.isfinite().all())
    with rt.reproducible():
        p = torch.nn.Parameter(torch.tensor([0.1, 0.2, 0.7]))
        optimizer = torch.optim.SGD([p], 0.1, momentum=0.9, fused=fused)
        for _ in range(4):
            optimizer.zero_grad()
            (p * torch.tensor([1.0, 2.0, 0.3])).sum().backward()
            optimizer.step()
    assert torch.equal(p.detach(), grad_scaled(fused, False, 4.0)[0])


def test_unscaling():
    """RN of the gradient times the number, in every format; and whether one was infinite or NaN."""
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        g = [torch.tensor([1.5, -0.7, 3.0], dtype=dtype), torch.tensor([[0.1]], dtype=dtype)]
        inverse, found = torch.tensor(1 / 3), torch.zeros(1)
        with rt.reproducible():
            want = [torch.mul(t.double(), inverse.double()).to(dtype) for t in g]
            aten._amp_foreach_non_finite_check_and_unscale_(g, found, inverse)
        assert found.item() == 0
        if dtype is not torch.float64:  # products of 24 digits are numbers of binary64
            assert all(torch.equal(a, b) for a, b in zip(g, want, strict=True))
        for bad in (math.inf, -math.inf, math.nan):
            with rt.reproducible():
                aten._amp_foreach_non_finite_check_and_unscale_([g[0], torch.tensor([bad], dtype=dtype)], found, inverse)
            assert found.item() == 1
            found.zero_()


def test_updates_of_the_scale():
    with rt.reproducible():
        scale, tracker = torch.tensor(3.0), torch.tensor(0, dtype=torch.int32)
        found = []
        for bad in (0.0, 0.0, 1.0, 0.0, 0.0):
            aten._amp_update_scale_(scale, tracker, torch.tensor(bad), 1.1, 0.3, 2)
            found.append((scale.item(), tracker.item()))
    rounded = [torch.tensor(3.0)]
    for factor in (1.1, 0.3, 1.1):
        rounded.append((rounded[-1].double() * factor).float())
    a, b, c = (t.item() for t in rounded[1:])
    assert found == [(3.0, 1), (a, 0), (b, 0), (b, 1), (c, 0)]
    largest = torch.tensor(torch.finfo(torch.float32).max)
    with rt.reproducible():
        aten._amp_update_scale_(largest, tracker, torch.tensor(0.0), 2.0, 0.5, 1)
        with pytest.raises(RuntimeError):
            aten._amp_update_scale_(scale.double(), tracker, torch.tensor(0.0), 2.0, 0.5, 1)
    assert largest.item() == torch.finfo(torch.float32).max


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_own_optimizers_round_at_random(name):
    """As those for NumPy's arrays, by the number of the parameter through all groups; over copies, pickles and state dicts too."""
    torch.manual_seed(0)
    start = [torch.randn(30).bfloat16(), torch.randn(3, 4).bfloat16()]
    grads = [[torch.randn(30).bfloat16(), torch.randn(3, 4).bfloat16()] for _ in range(3)]
    options = {"lr": 0.01, "rounding": "stochastic", "seed": 3} | ({"momentum": 0.9} if name == "SGD" else {})
    arrays = [as_array(p.clone()) for p in start]
    own = getattr(optim, name)(arrays, **options)
    params = [p.clone().requires_grad_() for p in start]
    theirs = getattr(rt.optim, name)([{"params": params[:1]}, {"params": params[1:], "lr": 0.01}], **options)
    for step, gradients in enumerate(grads):
        own.step([as_array(g) for g in gradients])
        for p, g in zip(params, gradients, strict=True):
            p.grad = g
        if step == 1:  # one that is made anew goes on
            state = theirs.state_dict()
            theirs = getattr(rt.optim, name)([{"params": params[:1]}, {"params": params[1:]}], **options)
            theirs.load_state_dict(copy.deepcopy(state))
        theirs.step()
    assert all((as_array(p.detach()).view("u2") == a.view("u2")).all() for p, a in zip(params, arrays, strict=True))
    assert pickle.loads(pickle.dumps(theirs)).param_groups[1]["rounding"] == "stochastic"
    plain = getattr(torch.optim, name)(params, **{k: v for k, v in options.items() if k not in ("rounding", "seed")})
    theirs.load_state_dict(plain.state_dict() | {"param_groups": [{**plain.state_dict()["param_groups"][0], "params": [0]},
                                                                   {**plain.state_dict()["param_groups"][0], "params": [1]}]})  # fmt: skip
    before = params[0].detach().clone()
    theirs.step()  # a state that names no rounding keeps that of the optimiser
    again = getattr(rt.optim, name)([before.clone().requires_grad_(), params[1]], **(options | {"rounding": "nearest"}))
    again.param_groups[0]["params"][0].grad = params[0].grad
    again.step()
    assert not torch.equal(again.param_groups[0]["params"][0], params[0])
    for bad in ({"rounding": "upwards"}, {"seed": -1}, {"seed": 2**64}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            getattr(rt.optim, name)(params, lr=0.01, **bad)
    theirs.param_groups[0]["rounding"] = "sometimes"
    before = params[1].detach().clone()
    with pytest.raises(ValueError, match="rounding"):
        theirs.step()
    assert torch.equal(before, params[1])
