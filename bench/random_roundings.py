"""The random rounding modes beside rounding to nearest and PyTorch: elementwise functions, products, rows, steps of optimisers and of training.

python bench/random_roundings.py [--quick] prints the table alone.
"""

import importlib
import math
import sys

import numpy as np
from timing import compare
from training import CASES

import repmath
from repmath import rounding

MODES = ("stochastic", "up_down")


def elementwise(quick):
    x, y = np.random.default_rng(3).uniform(-3, 3, (2, 1 << 14)).astype("f4")
    for name, arguments in (("add", (x, y)), ("multiply", (x, y)), ("exp", (x,)), ("tanh", (x,))):
        nearest, random = getattr(repmath, name), getattr(rounding, name)
        calls = {
            "repmath": lambda f=random, a=arguments: f(*a, "stochastic", seed=1),
            "nearest": lambda f=nearest, a=arguments: f(*a),
        }
        timing = compare(calls, batches=3 if quick else 9, seconds=0.01)
        yield {"case": f"stochastic {name} f32 16 Ki", "n": x.size, **timing}


def products(quick, label=""):
    for n in (256,) if quick else (256, 1024):
        a, b = np.random.default_rng(4).standard_normal((2, n, n)).astype("f4")
        for mode in MODES:
            calls = {
                "repmath": lambda a=a, b=b, mode=mode: rounding.matmul(a, b, mode, seed=1),
                "nearest": lambda a=a, b=b: repmath.matmul(a, b),
            }
            yield {"case": f"{mode} matmul f32 {n}^3{label}", **compare(calls, batches=3 if quick else 9, seconds=0.02)}


def stochastic_copy(torch, to, source):
    """A binary32 tensor to bfloat16: 16 random bits are added to its bits, and the lower half is cut off."""
    bits = source.detach().view(torch.int32)
    bits = (bits + torch.randint_like(bits, 0, 1 << 16)) & -65536
    to.detach().copy_(bits.view(torch.float32))


def optimizer(torch, quick, label=""):
    """AdamW on bfloat16 weights without a copy in binary32, beside PyTorch's step of such a copy and what rounds it to them."""
    n = 10**5 if quick else 10**7
    p = torch.randn(n).bfloat16().requires_grad_()
    wide = p.detach().float().requires_grad_()
    p.grad = (torch.randn(n) * 0.01).bfloat16()
    wide.grad = p.grad.float()
    ours = repmath.torch.optim.AdamW([p], rounding="stochastic", seed=1)
    nearest, theirs = repmath.torch.optim.AdamW([p]), torch.optim.AdamW([wide])

    def step_and_copy():
        theirs.step()
        stochastic_copy(torch, p, wide)

    calls = {"repmath": ours.step, "PyTorch": step_and_copy, "nearest": nearest.step}
    case = f"stochastic AdamW bf16 {n:.0e} parameters{label}".replace("e+0", "e")
    yield {"case": case, "n": n, **compare(calls, 3, 0.02)}


def training(torch, label=""):
    """A training step in a block of stochastic(), in one of reproducible(), and PyTorch's."""
    means = {mode: [] for mode in MODES}
    for name, make in CASES.items():
        try:
            with repmath.torch.reproducible():
                model, loss, optimizer = make(torch)
        except ImportError:
            continue

        def step(loss=loss, optimizer=optimizer):
            optimizer.zero_grad()
            loss().backward()
            optimizer.step()

        def inside(make_block, step=step):
            with make_block():
                step()

        for mode in MODES:
            calls = {
                "repmath": lambda mode=mode, inside=inside: inside(lambda: repmath.torch.stochastic(seed=1, mode=mode)),
                "reproducible": lambda inside=inside: inside(repmath.torch.reproducible),
                "PyTorch": step,
            }
            timing = compare(calls, batches=3, seconds=0.01)
            means[mode].append(timing["ratio"]["reproducible"])
            yield {"case": f"{mode} training step, {name}{label}", **timing}
    for mode, ratios in means.items():
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            yield {"case": f"{mode} training steps, geometric mean{label}", "ratio": {"reproducible": mean}}


def random_roundings(quick=False):
    repmath.set_num_threads(1)
    yield from elementwise(quick)
    for threads in (1, 2):
        label = ", 2 threads" * (threads == 2)
        repmath.set_num_threads(threads)
        yield from products(quick, label)
        try:
            import torch

            importlib.import_module("repmath.torch")
        except ImportError:
            continue
        torch.set_num_threads(threads)
        yield from optimizer(torch, quick, label)
        yield from training(torch, label)


if __name__ == "__main__":
    for result in random_roundings("--quick" in sys.argv[1:]):
        seconds = result.get("seconds", {}).get("repmath", math.nan)
        ratios = "  ".join(f"{ratio:6.2f} x {other}" for other, ratio in result["ratio"].items())
        print(f"{result['case']:48} {1e3 * seconds:9.3f} ms  {ratios}", flush=True)
