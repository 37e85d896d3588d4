"""Digests of the results of PyTorch's samples under reproducible(), forward and backward: of each call, by OpInfo, as a line of JSON.

    python tests/support/opinfo_digests.py SAMPLES [plain]

`plain`: outside the block, in PyTorch's own arithmetic."""

import contextlib
import hashlib
import json
import random
import sys
import warnings

import opinfo_cases as cases
import opinfo_names as names
import torch
from opinfo_cases import DATABASE, arguments, leaves_of, samples, tensors

import repmath.torch as rt

UNINITIALISED = [name for name in names.ANY_NUMBERS if "empty" in name]
DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
LARGE, FEW, LEFT_OUT = 2**17, 3, "left out"
NAMES = [name for name in DATABASE if name not in {*names.OUTSIDE, *names.WITHOUT_SAMPLES, *UNINITIALISED}]


def bytes_of(t):
    if t.layout is not torch.strided:
        t = t.to_dense()
    whole = (
        torch.empty(t.shape, dtype=t.dtype).copy_(t.detach()).flatten()
    )  # neither conjugated, negated, nor zeros without memory
    return f"{t.dtype} {tuple(t.shape)}".encode() + whole.view(torch.uint8).numpy().tobytes()


def call(op, sample, dtype, backward):
    """The digest of the results of a call, and of its gradients; the name of the error of what is refused."""
    torch.manual_seed(0)
    args, keywords = arguments(sample, dtype, backward)
    try:
        made = tensors(op(*args, **keywords))
        leaves = leaves_of(args, keywords)
        if backward and leaves and any(t.requires_grad for t in made):
            made += [t for t in cases.gradients(made, leaves)[0] if t is not None]
    except (RuntimeError, TypeError, ValueError) as error:
        return type(error).__name__
    return hashlib.sha256(b"".join(map(bytes_of, made))).hexdigest()[:16]


def digests(count, block):
    """Of the samples with large tensors, those of one operator and format after the first few say that they are left out."""
    found = {}
    for name in NAMES:
        op, found[name] = DATABASE[name], []
        backward = op.supports_autograd and name not in names.WITHOUT_GRADIENT
        for dtype in (d for d in DTYPES if d in op.supported_dtypes("cpu")):
            random.seed(0)  # some samples are drawn by Python
            large = 0
            for sample in samples(op, dtype, count, backward):
                is_large = sum(t.numel() for t in tensors((sample.input, sample.args))) > LARGE
                large += is_large
                if is_large and large > FEW:
                    found[name].append(LEFT_OUT)
                    continue
                with block():
                    found[name].append(call(op, sample, dtype, backward))
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    print(json.dumps(digests(int(sys.argv[1]), contextlib.nullcontext if "plain" in sys.argv else rt.reproducible)))
