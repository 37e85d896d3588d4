"""The largest error, in units in the last place, of NumPy, SciPy, PyTorch, libm and repmath: python bench/accuracy.py

The reference is MPFR, through the definitions of tests/support/definitions.py. f16 and bf16 are run in full (one argument), f32 on random
numbers, f64 on random numbers and published hard cases; of the many, those that look worst beside a float64 result are measured
with MPFR (of f64, a sample and the hard cases). What is found is a lower bound of the largest error, except for the 16-bit
formats. Writes bench/results/accuracy.json and docs/accuracy.png.
"""

import ctypes
import ctypes.util
import json
import pathlib
import sys

import gmpy2
import machine
import numpy as np
import rivals

import repmath
from repmath._dtypes import FORMATS

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/support"))

import definitions  # noqa: E402

PRECISION = {
    "f16": (11, -24),
    "bf16": (8, -133),
    "f32": (24, -149),
    "f64": (53, -1074),
}  # bits; exponent of the least subnormal
MEASURED = 300
LIBRARIES = ("repmath", "NumPy", "SciPy", "PyTorch", "libm")


def exact(function, args):
    """The value to some 200 bits."""
    with definitions.wide(260):
        x = [gmpy2.mpfr(float(a), 53) for a in args]
        try:
            if function in definitions.DEFINITIONS:
                return definitions.DEFINITIONS[function](*x)
            return (definitions.MPFR.get(function) or getattr(gmpy2, function))(*x)
        except definitions.Exact as e:
            return e.value


def ulps(exact, got, fmt):
    """|got - exact| in units of the last place of exact."""
    bits, least = PRECISION[fmt]
    if exact == 0:
        return 0.0 if got == 0 else float("inf")
    exponent = max(gmpy2.get_exp(exact) - bits, least)
    return float(abs(gmpy2.mpfr(float(got)) - exact) * gmpy2.exp2(-exponent))


def inputs(function, fmt):
    """Arguments with finite results that are not 0: arrays, one an argument."""
    rng = np.random.default_rng(7)
    dtype, arity = FORMATS[fmt], repmath._core.ufuncs[function].nin
    with np.errstate(all="ignore"):
        if dtype.itemsize == 2 and arity == 1:
            x = [np.arange(1 << 16, dtype=np.uint16).view(dtype)]
        else:
            n = 1 << 18 if fmt != "f64" else 6000
            x = [(rng.standard_normal(n) * 2.0 ** rng.integers(-12, 7, n)).astype(dtype) for _ in range(arity)]
            typical = rivals.inputs(function, arity, fmt, n)
            x = [np.concatenate(pair) for pair in zip(x, typical, strict=True)]
            if fmt == "f64" and arity == 1:
                x = [np.concatenate([x[0], hard_cases(function)])]
        y = getattr(repmath, function)(*x).astype("f8")
        keep = np.isfinite(y) & (y != 0)
        for v in x:
            keep &= np.isfinite(v.astype("f8"))
    return [v[keep] for v in x]


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
    """name -> function of arrays."""
    found = {"repmath": getattr(repmath, function)}
    arity = repmath._core.ufuncs[function].nin

    def call(name, x):
        """The rival's result, a copy of what it writes."""
        x = [np.ascontiguousarray(v) for v in x]
        return rivals.result(function, fmt, x, name)

    for name in rivals.rivals(function, fmt, rivals.inputs(function, arity, fmt, 64)):
        found[name] = lambda *x, name=name: call(name, x)
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    symbol = function + ("f" if fmt == "f32" else "")
    if fmt in ("f32", "f64") and hasattr(library, symbol):
        c, kind = getattr(library, symbol), ctypes.c_float if fmt == "f32" else ctypes.c_double
        c.restype, c.argtypes = kind, [kind] * arity
        found["libm"] = lambda *x: np.array([c(*v) for v in zip(*[a.tolist() for a in x], strict=True)], x[0].dtype)
    return found


def worst(function, fmt):
    """library -> largest error found."""
    x = inputs(function, fmt)
    errors = {}
    for name, f in libraries(function, fmt).items():
        part = [v[: 1 << 15] if name == "libm" else v for v in x]
        with np.errstate(all="ignore"):
            y = np.asarray(f(*part))
            if fmt != "f64":
                near = getattr(repmath, function)(*[v.astype("f8") for v in part])
                gap = np.abs(y.astype("f8") - near) / np.maximum(np.abs(near), 2.0 ** (PRECISION[fmt][1] + PRECISION[fmt][0]))
                chosen = np.argsort(-gap)[:MEASURED]
            else:
                chosen = np.arange(len(y))
        errors[name] = max(ulps(exact(function, [v[i] for v in part]), y[i], fmt) for i in chosen)
    return errors


def draw(rows, path):
    """A bar a library and function in f32 and f64, on a logarithmic scale; the line is half a unit."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 1, figsize=(14, 8), sharex=False)
    for axis, fmt in zip(axes, ("f32", "f64"), strict=True):
        some = [r for r in rows if r["format"] == fmt]
        width = 0.8 / len(LIBRARIES)
        for k, name in enumerate(LIBRARIES):
            at = [i for i, r in enumerate(some) if name in r["ulps"]]
            heights = [min(max(some[i]["ulps"][name], 0.25), 1e6) for i in at]
            axis.bar([i + (k - 2) * width for i in at], heights, width, label=name)
        axis.axhline(0.5, color="black", linewidth=0.8)
        axis.set_yscale("log")
        axis.set_ylabel(f"{fmt}: largest error found (ulp)")
        axis.set_xticks(range(len(some)), [r["function"] for r in some], rotation=60, ha="right", fontsize=8)
    axes[0].legend(ncols=len(LIBRARIES))
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main():
    rows = []
    print(f"{'':26}" + "".join(f"{n:>11}" for n in LIBRARIES) + "   largest error in ulp")
    for fmt in ("f32", "f64", "f16", "bf16"):
        if fmt not in FORMATS:
            continue
        for function in repmath._core.ufuncs:
            errors = worst(function, fmt)
            rows.append({"function": function, "format": fmt, "ulps": errors})
            cells = (f"{errors[n]:11.3f}" if n in errors else f"{'-':>11}" for n in LIBRARIES)
            print(f"{function:21}{fmt:5}" + "".join(cells), flush=True)
    path = ROOT / "bench/results/accuracy.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"machine": machine.describe(), "results": rows}, indent=1) + "\n")
    draw(rows, ROOT / "docs/accuracy.png")
    bad = [r for r in rows if r["ulps"]["repmath"] > 0.5]
    if bad:
        sys.exit(f"repmath exceeds half a unit: {bad}")


if __name__ == "__main__":
    main()
