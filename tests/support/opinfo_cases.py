"""PyTorch's samples of its operators, binary64 values beside the results, and which ATen operators the samples reach."""

import contextlib
import itertools

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._python_dispatch import TorchDispatchMode

NOTHING = contextlib.nullcontext()


def key(op):
    """Its name, and that of the variant in brackets."""
    return op.name + (f"[{op.variant_test_name}]" if op.variant_test_name else "")


DATABASE = {key(op): op for op in op_db}


def samples(op, dtype, count, requires_grad=False):
    """Some of the first 48, from all over these. Beyond a threshold PyTorch's softplus is another function; where no eps is given, its rms_norm
    takes that of the format, and below 0 it is composed."""
    torch.default_generator.manual_seed(len(op.name))
    first = list(itertools.islice(op.sample_inputs_func(op, "cpu", dtype, requires_grad), 48))
    for sample in first:
        if "threshold" in sample.kwargs and op.name == "nn.functional.softplus":
            sample.kwargs["threshold"] = 20
        if op.name == "nn.functional.rms_norm":
            eps = sample.kwargs.get("eps")
            sample.kwargs["eps"] = 2.0**-23 if eps is None else abs(eps)
    return first[:: -(-len(first) // count)] if first else []


def to(value, dtype, requires_grad=False):
    """The value with its floating-point tensors in a format, and no longer part of a graph. In binary64 the formats that it names too."""
    if isinstance(value, torch.dtype):
        return dtype if dtype is torch.float64 and value.is_floating_point else value
    if isinstance(value, torch.Tensor):
        if not value.is_floating_point():
            return value
        return value.detach().to(dtype, copy=True).requires_grad_(requires_grad and value.requires_grad)
    if isinstance(value, (list, tuple)):
        return type(value)(to(v, dtype, requires_grad) for v in value)
    if isinstance(value, dict):
        return {k: to(v, dtype, requires_grad) for k, v in value.items()}
    return value


def tensors(value):
    """Those of a nested result or argument."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    return [t for v in value for t in tensors(v)] if isinstance(value, (list, tuple, type({}.values()))) else []


def arguments(sample, dtype, requires_grad=False):
    return to((sample.input, *sample.args), dtype, requires_grad), to(sample.kwargs, dtype, requires_grad)


def magnitude(wide):
    finite = wide[wide.isfinite()].abs()
    return float(finite.max()) if finite.numel() else 0.0


def rounded(wide, dtype):
    """Binary64 to a format, once: PyTorch's own conversion to 16 bits goes through binary32, which is rounded to odd here."""
    if dtype in (torch.float32, torch.float64):
        return wide.to(dtype)
    single = wide.to(torch.float32)
    beside = torch.nextafter(single, torch.where(wide > single, torch.inf, -torch.inf).to(torch.float32))
    even = single.view(torch.int32) & 1 == 0
    return torch.where((single.double() != wide) & even, beside, single).to(dtype)


def wrong(ours, wide, terms=0.0):
    """How many elements no number beside the binary64 value rounds to: that is off by some units of its last place, of the largest
    element where sums cancel, or of the terms of these."""
    off = wide.abs() * 2**-44 + max(magnitude(wide), terms) * 2**-48
    off = torch.where(wide.isfinite(), off, 0.0)
    low, high = (rounded(wide + s * off, ours.dtype) for s in (-1, 1))
    good = ((low <= ours) & (ours <= high)) | (ours.isnan() & wide.isnan())
    return int((~good).sum())


class Recorder(TorchDispatchMode):
    """Which operators are called."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls.append(func)
        return func(*args, **(kwargs or {}))


def gradients(results, leaves, seeds=None):
    """By the leaves, of the results times random numbers; and these."""
    wanting = [t for t in results if t.requires_grad]
    if seeds is None:
        generator = torch.Generator().manual_seed(1)
        seeds = [torch.randn(t.shape, generator=generator).to(t.dtype) for t in wanting]
    made = torch.autograd.grad(
        wanting, leaves, [s.to(t.dtype) for s, t in zip(seeds, wanting, strict=True)], allow_unused=True
    )
    return made, seeds


def scale_of(*values):
    """The greatest magnitude of numbers."""
    return max((magnitude(t.double()) for v in values for t in tensors(v) if t.is_floating_point()), default=0.0)


def leaves_of(*values):
    return [t for v in values for t in tensors(v) if t.requires_grad]


def reached(op, count):
    """The ATen operators that an OpInfo's samples call in plain PyTorch: forward, backward, in place and with out=."""
    recorder = Recorder()
    for sample in samples(op, torch.float32, count, op.supports_autograd):
        args, keywords = arguments(sample, torch.float32, op.supports_autograd)
        try:
            with recorder:
                results = [t for t in tensors(op(*args, **keywords)) if t.is_floating_point()]
        except (RuntimeError, TypeError, ValueError, AssertionError):
            continue  # no operator of floating-point numbers, or not of the CPU
        leaves = leaves_of(args, keywords)
        if leaves and any(t.requires_grad for t in results):
            with recorder:
                gradients(results, leaves, [torch.ones_like(t) for t in results if t.requires_grad])
        in_place(op, *arguments(sample, torch.float32), mode=recorder)
        with_out(op, *arguments(sample, torch.float32), mode=recorder)
    return set(recorder.calls)


def _allowed(call, mode):
    """What it returns; None where PyTorch refuses it, as it does for results that are broadcast or of another format."""
    try:
        with mode:
            return call()
    except (RuntimeError, TypeError, ValueError):
        return None


def in_place(op, args, keywords, mode=NOTHING):
    """The result, written into the first argument."""
    if op.inplace_variant is None or not torch.is_tensor(args[0]):
        return None
    return _allowed(lambda: op.inplace_variant(*args, **keywords), mode)


def with_out(op, args, keywords, mode=NOTHING):
    """The result, written into a tensor that is given."""
    like = _allowed(lambda: op(*args, **keywords), NOTHING) if op.supports_out else None
    return _allowed(lambda: op(*args, **keywords, out=torch.empty_like(like)), mode) if torch.is_tensor(like) else None
