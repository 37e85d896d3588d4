"""Operators that run as PyTorch runs them, on numbers that tell its builds apart: NaN with payloads, zeros of both signs, subnormals, ties.
A program that prints a digest of each; tests/torch/test_moves.py runs it."""

import hashlib
import sys

import numpy as np
import torch

import repmath.torch as rt
from repmath.torch._tensors import as_array

LENGTH = 70_000  # several of PyTorch's pieces of work


def hard(dtype, length=LENGTH, seed=1):
    """Special numbers, and others of which many are equal."""
    g = np.random.default_rng(seed)
    bits = {torch.float64: np.uint64, torch.float32: np.uint32}.get(dtype, np.uint16)
    made = torch.from_numpy(g.integers(-40, 40, length) / 4.0).to(dtype)
    a = as_array(made)
    codes = a.view(bits)
    infinity = int(as_array(torch.full((), torch.inf, dtype=dtype)).view(bits))
    sign = 1 << (8 * codes.itemsize - 1)
    quiet = infinity | (infinity & -infinity) >> 1
    special = [quiet, quiet | 1, sign | quiet, sign | quiet | 3, infinity, sign | infinity]
    special += [0, sign, 1, sign | 1, (infinity & -infinity) - 1, infinity - 1, sign | (infinity - 1)]
    where = g.random(length) < 0.2
    codes[where] = g.choice(np.array(special, np.uint64).astype(bits), int(where.sum()))
    return made


def finite(x):
    return torch.where(x.isfinite(), x, torch.full((), -0.0, dtype=x.dtype))


def calls(dtype):
    """Name -> results, under the mode that is on."""
    x, y = hard(dtype), hard(dtype, seed=2)
    rows, small = x.view(70, 1000), hard(dtype, 700, 3)
    places = torch.from_numpy(np.random.default_rng(4).integers(0, 50, LENGTH))
    mask, plain = places > 25, finite(x)
    index = torch.arange(LENGTH).flip(0)
    one = {
        "neg sign ceil floor trunc round signbit isnan isinf isfinite isposinf isneginf nan_to_num logical_not nonzero count_nonzero clone "
        "argmax argmin argsort max min median nanmedian mode unique unique_consecutive": lambda name: getattr(torch, name)(x),
        "cummax cummin": lambda name: getattr(torch, name)(x, 0),
        "max min median nanmedian mode sort argmax argmin topk kthvalue any all": lambda name: getattr(torch, name)(
            rows, *((300,) if name in ("topk", "kthvalue") else ()), dim=1
        ),
        "eq ne lt le gt ge heaviside nextafter copysign logical_and logical_or logical_xor": lambda name: getattr(torch, name)(x, y),
    }  # fmt: skip
    for names, call in one.items():
        for name in names.split():
            kind = f"{name} of two" if "eq" in names.split() else f"{name} of rows" if "topk" in names.split() else name
            yield kind, lambda name=name, call=call: call(name)
    yield "flip", lambda: x.flip(0)
    yield "sort", lambda: torch.sort(x)
    yield "sort stable", lambda: torch.sort(x, stable=True)
    yield "sort descending", lambda: torch.sort(rows, dim=0, descending=True)
    yield "sort of columns", lambda: torch.sort(plain.view(70, 1000), dim=0)
    yield "topk least", lambda: torch.topk(x, 40, largest=False)
    yield "topk unsorted", lambda: torch.topk(plain, 400, sorted=False)
    yield "frexp", lambda: torch.frexp(plain)
    yield "where", lambda: torch.where(mask, x, y)
    yield "masked_fill", lambda: x.masked_fill(mask, -0.0)
    yield "masked_select", lambda: x.masked_select(mask)
    yield "masked_scatter", lambda: x.masked_scatter(mask, y)
    yield "isin", lambda: torch.isin(x, small)
    yield "searchsorted", lambda: torch.searchsorted(torch.sort(plain).values, y)
    yield "bucketize", lambda: torch.bucketize(y, torch.sort(finite(small)).values)
    yield "unique inverse", lambda: torch.unique(plain, return_inverse=True, return_counts=True)
    yield "unique rows", lambda: torch.unique(finite(small).view(350, 2), dim=0, return_inverse=True)
    yield "gather", lambda: x.gather(0, index)
    yield "index_select", lambda: x.index_select(0, places)
    yield "scatter", lambda: x.scatter(0, index, y)
    yield "scatter twice", lambda: x.scatter(0, places, y)
    yield "index_copy", lambda: x.index_copy(0, index, y)
    yield "index_copy twice", lambda: x.index_copy(0, places, y)
    yield "index_fill", lambda: x.index_fill(0, places, -0.0)
    yield "take", lambda: x.take(places)
    yield "threshold", lambda: torch.nn.functional.threshold(x, 0.0, -0.0)
    yield "hardshrink", lambda: torch.nn.functional.hardshrink(x, 1e-300 if dtype is torch.float64 else 0.0)
    yield "cat", lambda: torch.cat([x, y])
    yield "roll", lambda: x.roll(12345)
    yield "tril", lambda: rows.tril()
    yield "upsample", lambda: torch.nn.functional.interpolate(x.view(1, 70, 1000), size=1333)
    yield "equal", lambda: torch.tensor(torch.equal(plain, plain.clone()))
    pooled, at = torch.nn.functional.max_pool1d(plain.view(1, 70, 1000), 3, 2, return_indices=True)
    yield "max_unpool", lambda: torch.nn.functional.max_unpool1d(pooled, at, 3, 2, output_size=(1, 70, 1000))


def digest(made):
    digest_ = hashlib.sha256()
    for t in (made,) if isinstance(made, torch.Tensor) else made:
        digest_.update(np.ascontiguousarray(as_array(t)).tobytes())
    return digest_.hexdigest()[:16]


def lines():
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        with rt.reproducible():
            for name, call in calls(dtype):
                try:
                    yield f"{dtype} {name}: {digest(call())}"
                except (RuntimeError, NotImplementedError) as error:
                    yield f"{dtype} {name}: {str(error).splitlines()[0]}"


if __name__ == "__main__":
    torch.set_flush_denormal(len(sys.argv) > 2)
    torch.set_num_threads(int(sys.argv[1]))
    (torch.ones(LENGTH) * 2).sum()  # the pool's threads begin with the caller's environment
    print("\n".join(lines()))
