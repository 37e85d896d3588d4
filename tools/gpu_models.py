"""The stage `models` of gpu_check.py: networks of torch.nn, trained under repmath.torch.reproducible(strict=True) on the CPU and on the
GPU, have one digest after each step; where they have not, the first operator that differs. Times of a step beside PyTorch's without
TF32, and where operators were computed.

    python tools/gpu_models.py [--device cuda] [--small] [NAME ...]     without the other stages"""

import argparse
import collections
import ctypes
import functools
import math
import os
import pathlib
import sys
import time
import warnings

import torch
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parents[1]
F = nn.functional


def import_repmath():
    """repmath.torch, with whatever version of PyTorch there is: GPUs are lent with some version, whose operators are checked here."""
    _keep_what_is_stashed()
    version = torch.__version__
    torch.__version__ = torch.torch_version.TorchVersion("2.13.0")
    try:
        import repmath.torch
    finally:
        torch.__version__ = version
    return repmath.torch


@functools.cache
def _keep_what_is_stashed():
    """PyTorch 2.11 keeps an object for a thread without a reference of its own, and releases one later."""
    own, probe = torch._C._stash_obj_in_tls, object()
    before = sys.getrefcount(probe)
    own("repmath.probe", probe)
    if sys.getrefcount(probe) > before:
        return

    def stash(key, value):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))
        own(key, value)

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(probe))
    torch._C._stash_obj_in_tls = stash


class Head(nn.Module):
    """Causal attention of several heads, as Radford et al. 2019 have it."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in self.qkv(x).split(width, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Layer(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.first, self.attention = nn.LayerNorm(width), Head(width, heads)
        self.second, self.dropout = nn.LayerNorm(width), nn.Dropout(dropout)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.dropout(self.attention(self.first(x)))
        return x + self.dropout(self.mlp(self.second(x)))


class GPT(nn.Module):
    """GPT-2, the embedding tied to the last layer."""

    def __init__(self, words, length, width, layers, heads, dropout=0.1):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.layers = nn.Sequential(*(Layer(width, heads, dropout) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)

    def forward(self, ids):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        return F.linear(self.norm(self.layers(x)), self.words.weight)


def lenet(small):
    """LeCun et al. 1998."""
    model = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.Sigmoid(), nn.Linear(84, 10),
    )  # fmt: skip
    batch = 4 if small else 256
    return model, (torch.randn(batch, 1, 28, 28), torch.randint(0, 10, (batch,))), _classes


def resnet18(small):
    sys.path.insert(0, str(ROOT / "examples/python"))
    try:
        import vision_torch
    finally:
        del sys.path[0]
    model = vision_torch.resnet18(8 if small else 64)
    batch, size = (2, 8) if small else (32, 32)
    return model, (torch.randn(batch, 3, size, size), torch.randint(0, 10, (batch,))), _classes


def gpt2(small):
    words, length, width, layers, heads, batch = (61, 12, 16, 2, 2, 2) if small else (50257, 256, 768, 4, 12, 4)
    ids = torch.randint(0, words, (batch, length))
    return GPT(words, length, width, layers, heads), (ids, ids.roll(-1, 1).flatten()), _words


def transformers_gpt2(small):
    import transformers

    sizes = (61, 12, 16, 2, 2, 2) if small else (8192, 128, 256, 4, 4, 4)
    words, length, width, layers, heads, batch = sizes
    config = transformers.GPT2Config(
        vocab_size=words, n_positions=length, n_embd=width, n_layer=layers, n_head=heads, bos_token_id=0, eos_token_id=0
    )
    ids = torch.randint(0, words, (batch, length))
    return transformers.GPT2LMHeadModel(config), (ids,), lambda model, ids: model(input_ids=ids, labels=ids).loss


def transformers_bert(small):
    import transformers

    words, length, width, layers, heads, batch = (61, 12, 16, 2, 2, 2) if small else (8192, 128, 256, 4, 4, 4)
    config = transformers.BertConfig(
        vocab_size=words, hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads, intermediate_size=4 * width,
        max_position_embeddings=length,
    )  # fmt: skip
    ids = torch.randint(0, words, (batch, length))
    labels = torch.where(torch.rand(batch, length) < 0.2, ids, -100)  # of masked words alone
    seen = torch.arange(length) < torch.tensor([length, 2 * length // 3, *[length] * (batch - 2)])[:, None]
    model = transformers.BertForMaskedLM(config)
    return model, (ids, seen.long(), labels), _masked


def transformers_llama(small):
    import transformers

    words, length, width, layers, heads, batch = (61, 12, 16, 2, 4, 2) if small else (8192, 128, 256, 4, 8, 4)
    config = transformers.LlamaConfig(
        vocab_size=words, hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads, num_key_value_heads=heads // 2,
        intermediate_size=3 * width, max_position_embeddings=length,
    )  # fmt: skip
    ids = torch.randint(0, words, (batch, length))
    return transformers.LlamaForCausalLM(config), (ids,), lambda model, ids: model(input_ids=ids, labels=ids).loss


def _masked(model, ids, seen, labels):
    return model(input_ids=ids, attention_mask=seen, labels=labels).loss


def _classes(model, x, y):
    return F.cross_entropy(model(x), y)


def _words(model, ids, following):
    return F.cross_entropy(model(ids).flatten(0, 1), following)


# Networks, by name: what makes one, its optimiser, and steps.
NETWORKS = {
    "lenet": (lenet, lambda p: torch.optim.SGD(p, 0.05, momentum=0.9), 4),
    "resnet18": (resnet18, lambda p: torch.optim.SGD(p, 0.05, momentum=0.9, weight_decay=1e-4), 3),
    "gpt2": (gpt2, lambda p: torch.optim.AdamW(p, 3e-4), 3),
    "gpt2 fused": (gpt2, lambda p: torch.optim.AdamW(p, 3e-4, fused=True), 2),
    "transformers": (transformers_gpt2, lambda p: torch.optim.AdamW(p, 3e-4), 2),
    "bert": (transformers_bert, lambda p: torch.optim.Adam(p, 3e-4), 2),
    "llama": (transformers_llama, lambda p: torch.optim.AdamW(p, 3e-4), 2),
}


class Run:
    """A network that is trained on a device, and what is known of each step."""

    def __init__(self, name, device, small):
        make, optimizer, self.steps = NETWORKS[name]
        torch.manual_seed(1)
        self.device = device
        self.model, batch, self.loss = make(small)
        self.model.to(device)
        getattr(self.model, "tie_weights", lambda: None)()  # where the device gives parameters other identities
        self.batch = [t.to(device) for t in batch]
        self.optimizer = optimizer(self.model.parameters())

    def step(self):
        """The loss, and seconds."""
        begin = self.now()
        self.optimizer.zero_grad()
        loss = self.loss(self.model, *self.batch)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss.item(), self.now() - begin

    def now(self):
        if self.device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()


def reproducibly(name, device, small, steps):
    """Digests and losses after each step, seconds of each, and where operators were computed in the last one."""
    rt = import_repmath()
    lines, seconds = [], []
    with rt.reproducible(strict=True) as block:
        run = Run(name, device, small)
        for _ in range(steps):
            block.places.clear()
            loss, took = run.step()
            lines.append((rt.digest(run.model, run.optimizer), loss))
            seconds.append(took)
    return lines, seconds, block.places


def plainly(name, device, small, steps):
    """Seconds of PyTorch's own steps."""
    run = Run(name, device, small)
    return [run.step()[1] for _ in range(steps)]


class Parted(Exception):
    """Two runs of a network differ; the text says where."""


class _Watch(torch.utils._python_dispatch.TorchDispatchMode):
    """Records what each operator makes, by its name alone, or compares it with a record."""

    def __init__(self, digest, record=None):
        super().__init__()
        self.digest, self.made, self.record = digest, collections.defaultdict(list), record

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        name = str(func)
        if not any(
            part in name
            for part in (
                "empty",
                "detach",
                "view",
                "_to_copy",
                "clone",
                "item",
                "native_layer_norm.d",
                "native_batch_norm.d",
                "sdp_choice",
            )
        ):
            with torch.utils._python_dispatch._disable_current_modes():
                tensors = [t for t in _tensors(result if not func._schema.name.endswith("_") else args[:1]) if t.numel()]
                made = self.digest(*tensors) if tensors else ""
            calls = self.made[name]
            if self.record is not None:
                i, known = len(calls), self.record[name]
                if i >= len(known):
                    raise Parted(f"{name} was not called so often on the CPU ({len(known)} times)")
                if known[i] != made:
                    raise Parted(f"call {i} of {name} differs; tensors of {[tuple(t.shape) for t in _tensors(args)]}")
            calls.append(made)
        return result


def _tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for v in value for t in _tensors(v)] if isinstance(value, (list, tuple)) else []


def first_difference(name, device, small, steps):
    """The first operator whose results differ, or None."""
    rt = import_repmath()
    record = None
    try:
        for where in ("cpu", device):
            with rt.reproducible():
                run = Run(name, where, small)
                with _Watch(rt.digest, record) as watch:
                    for _ in range(steps):
                        run.step()
            record = watch.made
    except Parted as parted:
        return str(parted)
    return None


def compare(report, name, device, small):
    """Lines of a network."""
    steps = 2 if small else NETWORKS[name][2]
    want, cpu_seconds, _ = reproducibly(name, "cpu", small, steps)
    got, seconds, places = reproducibly(name, device, small, steps)
    parts = [i for i, (a, b) in enumerate(zip(want, got, strict=True)) if a != b and not (a[0] == b[0] and math.isnan(a[1]))]
    report.wrong += bool(parts)
    verdict = f"DIFFERS from step {parts[0]} on" if parts else "one digest on CPU and GPU after each step"
    report.line(f"{name}: {verdict}, {want[-1][0][:16]} and {got[-1][0][:16]}, losses {want[-1][1]:.6f} and {got[-1][1]:.6f}")
    try:
        plain = plainly(name, device, small, steps)
        least = min(seconds)
        report.line(
            f"{name}: a step takes {1000 * least:.1f} ms on the GPU (first {1000 * seconds[0]:.1f}), {1000 * min(cpu_seconds):.1f} ms on the "
            f"CPU, PyTorch's own {1000 * min(plain):.1f} ms on the GPU, ratio {least / min(plain):.2f}"
        )
    except Exception as error:  # the bits are compared without it
        report.failed += 1
        report.line(f"{name}: PyTorch's own, {type(error).__name__}: {error}")
    for place in ("on the device", "moved", "in main memory"):
        named = [(n, operator) for (operator, where), n in places.items() if where == place]
        listed = ", ".join(f"{operator.removeprefix('aten.')} {n}" for n, operator in sorted(named, reverse=True))
        report.line(f"{name}: {place}, {sum(n for n, _ in named)} calls of a step: {listed}")
    if parts:
        met = first_difference(name, device, True, 2)
        if met is None and not small:  # slow: each result is copied and digested
            met = first_difference(name, device, False, parts[0] + 1)
        report.line(f"{name}: the first difference: {met or 'none, operator by operator'}")


def models(report, build, device="cuda", small=False, names=()):
    """Networks have the digests of the CPU. `build` is where the library is; REPMATH_CUDA_LIBRARY names it."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    report.line(f"PyTorch {torch.__version__}, {os.cpu_count()} cores")
    for name in names or NETWORKS:
        start = time.perf_counter()
        try:
            compare(report, name, device, small)
        except ModuleNotFoundError as error:
            report.failed += 1
            report.line(f"{name}: {error}")
        except Exception as error:  # a stage reports all of them
            report.wrong += 1
            report.line(f"{name}: {type(error).__name__}: {error}")
        report.line(f"{name}: {time.perf_counter() - start:.0f} s in all")


class _Printed:
    wrong = failed = 0

    def line(self, text):
        print(text, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(NETWORKS))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true", help="networks that a CPU trains in a second")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    report = _Printed()
    models(report, None, options.device, options.small, options.names)
    return 1 if report.wrong else 2 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
