"""The largest error, in units in the last place, of NumPy, SciPy, PyTorch, libm and repmath: python bench/accuracy.py

The reference is MPFR. f16 and bf16 are run in full, f32 on random numbers, f64 on random numbers and published hard cases; of
the many, those that look worst beside a float64 result are measured with MPFR (of f64, all are). What is found is a lower
bound of the largest error, except for the 16-bit formats. Writes bench/results/accuracy.json.
"""

import ctypes
import ctypes.util
import json
import pathlib
import sys

import gmpy2
import machine
import numpy as np

import repmath
from repmath._dtypes import FORMATS

ROOT = pathlib.Path(__file__).resolve().parent.parent
PRECISION = {
    "f16": (11, -24),
    "bf16": (8, -133),
    "f32": (24, -149),
    "f64": (53, -1074),
}  # bits; exponent of the least subnormal
MEASURED = 300


def reference(function):
    gmpy2.get_context().precision = 250
    return getattr(gmpy2, function)


def ulps(exact, got, fmt):
    """|got - exact| in units of the last place of exact."""
    bits, least = PRECISION[fmt]
    if exact == 0:
        return 0.0 if got == 0 else float("inf")
    exponent = max(gmpy2.get_exp(exact) - bits, least)
    return float(abs(gmpy2.mpfr(float(got)) - exact) * gmpy2.exp2(-exponent))


def inputs(function, fmt):
    rng = np.random.default_rng(7)
    dtype = FORMATS[fmt]
    if dtype.itemsize == 2:
        x = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    else:
        n = 1 << 20 if fmt == "f32" else 20_000
        with np.errstate(all="ignore"):
            near = rng.standard_normal(n) * 2.0 ** rng.integers(-12, 7, n)
            x = near.astype(dtype)
        if fmt == "f64":
            x = np.concatenate([x, hard_cases(function)])
    x = np.abs(x) if function == "log" else x
    with np.errstate(all="ignore"):
        y = getattr(repmath, function)(x).astype("f8")
        return x[np.isfinite(x.astype("f8")) & np.isfinite(y) & (y != 0)]


def hard_cases(function):
    """The numbers of tests/data/hardcases/f64/<function>.txt."""
    path = ROOT / "tests/data/hardcases/f64" / f"{function}.txt"
    found = []
    if path.exists():
        for line in path.read_text().splitlines():
            word = line.split("#")[0].split(",")[0].split()
            try:
                found += [float.fromhex(word[0])] if word else []
            except ValueError:
                continue
    return np.array(found[:3000])


def libraries(function, fmt):
    """name -> function of an array."""
    found = {"repmath": getattr(repmath, function)}
    if hasattr(np, function):
        found["NumPy"] = getattr(np, function)
    elif fmt in ("f32", "f64"):
        import scipy.special

        found["SciPy"] = getattr(scipy.special, function)
    try:
        import torch

        def by_torch(x):
            t = torch.from_numpy(x.view("i2")).view(torch.bfloat16) if fmt == "bf16" else torch.from_numpy(x)
            y = getattr(torch, function)(t)
            return y.view(torch.int16).numpy().view(x.dtype) if fmt == "bf16" else y.numpy()

        found["PyTorch"] = by_torch
    except ImportError:
        pass
    if fmt in ("f32", "f64"):
        c = getattr(ctypes.CDLL(ctypes.util.find_library("m")), function + ("f" if fmt == "f32" else ""))
        kind = ctypes.c_float if fmt == "f32" else ctypes.c_double
        c.restype, c.argtypes = kind, [kind]
        found["libm"] = lambda x: np.array([c(v) for v in x.tolist()], x.dtype)
    return found


def worst(function, fmt):
    """library -> largest error found."""
    exact = reference(function)
    x = inputs(function, fmt)
    errors = {}
    for name, f in libraries(function, fmt).items():
        part = x[: 1 << 17] if name == "libm" else x
        with np.errstate(all="ignore"):
            y = np.asarray(f(part))
            if fmt != "f64":
                near = getattr(repmath, function)(part.astype("f8"))
                gap = np.abs(y.astype("f8") - near) / np.maximum(np.abs(near), 2.0 ** (PRECISION[fmt][1] + PRECISION[fmt][0]))
                chosen = np.argsort(-gap)[:MEASURED]
            else:
                chosen = np.arange(len(part))
        errors[name] = max(ulps(exact(gmpy2.mpfr(float(part[i]))), y[i], fmt) for i in chosen)
    return errors


def main():
    rows = []
    print(
        f"{'':10}" + "".join(f"{n:>9}" for n in ("repmath", "NumPy", "SciPy", "PyTorch", "libm")) + "   largest error in ulp"
    )
    for fmt in ("f32", "f64", "f16", "bf16"):
        for function in repmath._core.ufuncs:
            errors = worst(function, fmt)
            rows.append({"function": function, "format": fmt, "ulps": errors})
            cells = (
                f"{errors[n]:9.3f}" if n in errors else f"{'-':>9}" for n in ("repmath", "NumPy", "SciPy", "PyTorch", "libm")
            )
            print(f"{function:5}{fmt:5}" + "".join(cells), flush=True)
    path = ROOT / "bench/results/accuracy.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"machine": machine.describe(), "results": rows}, indent=1) + "\n")
    bad = [r for r in rows if r["ulps"]["repmath"] > 0.5]
    if bad:
        sys.exit(f"repmath exceeds half a unit: {bad}")


if __name__ == "__main__":
    main()
