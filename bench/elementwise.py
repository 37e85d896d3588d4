"""exp, log, tanh, erf and whatever else the manifest has, one thread each, against NumPy, SciPy and PyTorch."""

import numpy as np
from timing import compare

import repmath
from repmath._dtypes import FORMATS

SIZES = {"16 Ki": 1 << 14, "4 Mi": 1 << 22}


def inputs(function, fmt, n):
    """Typical arguments: normal numbers where the function is neither saturated nor trivial."""
    x = np.random.default_rng(n).standard_normal(n) * 2
    return (np.abs(x) if function == "log" else x).astype(FORMATS[fmt])


def rivals(function, fmt, x):
    """name -> a call without arguments that writes into a given array."""
    found = {}
    if hasattr(np, function):
        out = np.empty_like(x)
        try:
            getattr(np, function)(x[:1])
            found["NumPy"] = lambda: getattr(np, function)(x, out=out)
        except TypeError:
            pass
    elif fmt in ("f32", "f64"):
        import scipy.special

        if hasattr(scipy.special, function):
            out = np.empty_like(x)
            found["SciPy"] = lambda: getattr(scipy.special, function)(x, out=out)
    try:
        import torch
    except ImportError:
        return found
    if hasattr(torch, function):
        torch.set_num_threads(1)
        t = torch.from_numpy(x.view("i2")).view(torch.bfloat16) if fmt == "bf16" else torch.from_numpy(x)
        target = torch.empty_like(t)
        found["PyTorch"] = lambda: getattr(torch, function)(t, out=target)
    return found


def run(quick=False):
    results = []
    threads = repmath.get_num_threads()
    repmath.set_num_threads(1)
    for fmt in ("f32", "f64", "f16", "bf16"):
        if fmt not in FORMATS:
            continue
        for function, ufunc in repmath._core.ufuncs.items():
            for size, n in SIZES.items():
                x = inputs(function, fmt, n)
                out = np.empty_like(x)
                calls = {"repmath": lambda u=ufunc, x=x, out=out: u(x, out=out)} | rivals(function, fmt, x)
                if n > 1 << 20:
                    timing = compare(calls, batches=3 if quick else 9, seconds=0.005)
                else:
                    timing = compare(calls, batches=5 if quick else 25, seconds=0.004)
                results.append(
                    {"case": f"{function} {fmt} {size}", "function": function, "format": fmt, "size": size, "n": n, **timing}
                )
    repmath.set_num_threads(threads)
    return results
