"""Every function of the manifests, one thread each, against NumPy, SciPy and PyTorch."""

import itertools

import numpy as np
from rivals import SPECIAL, group, inputs, rivals
from timing import compare

import repmath
import repmath.special
from repmath._dtypes import FORMATS

SIZES = {"16 Ki": 1 << 14, "4 Mi": 1 << 22}


def run(quick=False, functions=None):
    results = []
    threads = repmath.get_num_threads()
    repmath.set_num_threads(1)
    for fmt in ("f32", "f64", "f16", "bf16"):
        if fmt not in FORMATS:
            continue
        for function, ufunc in (*repmath._core.ufuncs.items(), *repmath._core.powers.items()):
            if functions and function not in functions:
                continue
            for size, n in SIZES.items():
                x = inputs(function, ufunc.nin, fmt, n)
                out = np.empty_like(x[0])
                with np.errstate(all="ignore"):
                    calls = {"repmath": lambda u=ufunc, x=x, out=out: u(*x, out=out)} | rivals(function, fmt, x)
                    if n > 1 << 20:
                        timing = compare(calls, batches=3 if quick else 7, seconds=0.002)
                    else:
                        timing = compare(calls, batches=3 if quick else 15, seconds=0.001 if quick else 0.003)
                about = {"function": function, "group": group(function, ufunc.nin), "format": fmt, "size": size, "n": n}
                results.append({"case": f"{function} {fmt} {size}", **about, **timing})
    for fmt, function in itertools.product(("f32", "f64"), SPECIAL):
        if functions and function not in functions:
            continue
        n = SIZES["16 Ki"]
        x, own = inputs(function, 1, fmt, n), getattr(repmath.special, function)
        with np.errstate(all="ignore"):
            calls = {"repmath": lambda f=own, x=x: f(*x)} | rivals(function, fmt, x)
            timing = compare(calls, batches=3 if quick else 15, seconds=0.001 if quick else 0.003)
        about = {"function": function, "group": "special", "format": fmt, "size": "16 Ki", "n": n}
        results.append({"case": f"{function} {fmt} 16 Ki", **about, **timing})
    repmath.set_num_threads(threads)
    return results
