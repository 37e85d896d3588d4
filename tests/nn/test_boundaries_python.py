"""Norms, softmax and cross entropy at boundaries of rounding through repmath.nn and PyTorch under reproducible(), alone and in a batch of four,
on every instruction set: the data of nn/test_norm_boundaries.py and nn/test_row_boundaries.py."""

import elementwise_library
import pytest

SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
import mpmath, numpy as np, torch
import torch.nn.functional as F
import repmath as rm, repmath.torch
import cross_entropy_library as entropy
import norm_boundaries as norms
import row_boundaries as rows
from exact_oracle import bits
from statistics_library import dtype_of
from real_oracle import rounded_recognised

def tensor(v):
    v = np.ascontiguousarray(v)
    return torch.from_numpy(v.view("i2").copy()).view(torch.bfloat16) if v.dtype.itemsize == 2 and v.dtype.kind == "V" else torch.from_numpy(v.copy())

def array(t, dtype):
    t = t.detach()
    return t.view(torch.int16).numpy().view(dtype) if t.dtype == torch.bfloat16 else t.numpy()

count = 0
def check(got, want, *what):
    global count
    assert np.all(bits(np.asarray(got)) == np.asarray(want)), (*what, bits(got), want)
    count += 1

def by_numpy(norm, x, w, b, g, eps):
    n = rm.nn
    if norm == "layer":
        return n.layer_norm(x, x.shape[2], w, b, eps), *n.layer_norm_backward(g, x, x.shape[2], w, eps)[:2]
    if norm == "rms":
        return n.rms_norm(x, x.shape[2], w, eps), *n.rms_norm_backward(g, x, x.shape[2], w, eps)[:2]
    if norm == "group":
        return n.group_norm(x, 2, w, b, eps), *n.group_norm_backward(g, x, 2, w, eps)[:2]
    if norm == "instance":
        return n.instance_norm(x, w, b, eps), *n.instance_norm_backward(g, x, w, eps)[:2]
    return n.batch_norm(x, None, None, w, b, training=True, eps=eps), *n.batch_norm_backward(g, x, None, None, w, eps=eps)[:2]

def by_torch(norm, x, w, b, g, eps):
    x, w, b = (tensor(v).requires_grad_() for v in (x, w, b))
    if norm == "layer":
        y = F.layer_norm(x, x.shape[2:], w, b, eps)
    elif norm == "rms":
        y = F.rms_norm(x, x.shape[2:], w, eps)
    elif norm == "group":
        y = F.group_norm(x, 2, w, b, eps)
    elif norm == "instance":
        y = F.instance_norm(x, None, None, w, b, True, 0.1, eps)
    else:
        y = F.batch_norm(x, None, None, w, b, True, 0.1, eps)
    y.backward(tensor(g))
    return y, x.grad, w.grad

def everything(fmt):
    dtype = dtype_of(fmt)
    for norm in norms.NORMS:
        for i, part in enumerate(norms.PARTS):
            for x, w, b, g, element, at, (below, above, _, _) in norms.boundary_cases(norm, fmt, part, norm != "rms", 2):
                names = [norm, "instance"] if norm == "group" and x.shape[1] == 2 else [norm]
                for eps in (below, above):
                    with mpmath.workprec(norms.BITS):
                        want = rounded_recognised(element(mpmath.mpf(eps)), dtype)
                    for name in names:
                        check(by_numpy(name, x, w, b, g, eps)[i][at], want, fmt, name, part)
                        check(array(by_torch(name, x, w, b, g, eps)[i], dtype)[at], want, fmt, name, part, "torch")
                        if part != "by w" and norm != "batch":
                            x4, g4 = (np.tile(v, (4, 1, 1)) for v in (x, g))
                            place = (slice(None, None, len(x)), *at[1:])
                            check(by_numpy(name, x4, w, b, g4, eps)[i][place], want, fmt, name, part, "four")
                            check(array(by_torch(name, x4, w, b, g4, eps)[i], dtype)[place], want, fmt, name, part, "torch, four")
    for what in ("softmax", "log_softmax", "logsumexp"):
        for row, want in rows.rows_beside_ties(fmt, what)[:4]:
            for n in (1, 4):
                x = np.tile(row, (n, 1))
                check(getattr(rm.nn, what)(x), [want] * n, fmt, what, n)
                check(array(getattr(torch, what)(tensor(x), 1), dtype), [want] * n, fmt, what, n, "torch")
    for mode in ("classes", "weights", "sum", "mean"):
        for (x, target, _, weight, _, reduction), g, want, gradient in rows.entropies(fmt, mode)[:2]:
            name = ("none", "mean", "sum")[reduction]
            check(np.atleast_1d(rm.nn.cross_entropy(x, target, weight, reduction=name)), want, fmt, mode)
            check(rm.nn.cross_entropy_backward(g if reduction == 0 else g[0], x, target, weight, reduction=name), gradient, fmt, mode, "backward")
            t = tensor(x).requires_grad_()
            loss = F.cross_entropy(t, torch.from_numpy(target), None if weight is None else tensor(weight), reduction=name)
            loss.backward(tensor(g) if reduction == 0 else tensor(g)[0])
            check(np.atleast_1d(array(loss, dtype)), want, fmt, mode, "torch")
            check(array(t.grad, dtype), gradient, fmt, mode, "torch, backward")

with rm.torch.reproducible():  # the functions of NumPy are the same inside
    for fmt in ("f16", "bf16", "f32", "f64"):
        everything(fmt)
print("checked", count)
"""


@pytest.mark.sample(3)
@pytest.mark.parametrize("isa", elementwise_library.ISAS)
def test_norms_and_rows(isa):
    elementwise_library.check_script(SCRIPT, isa)
