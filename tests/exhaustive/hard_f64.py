"""Writes tests/data/hardcases/f64/<function>.txt for a function without published hard cases.

    python tests/exhaustive/hard_f64.py <function> [<count>]

A random search: <count> inputs (2^26) in the first range of tests/support/ranges.py, uniform, through the double-double kernel; those whose
value is nearest to a midpoint of two f64 numbers, with MPFR's word for it, nearest first."""

import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import definitions  # noqa: E402
import gmpy2  # noqa: E402
import numpy as np  # noqa: E402
import oracle  # noqa: E402
import ranges  # noqa: E402

KEPT, POOL, CHUNK = 1000, 16000, 1 << 20  # the pool: the kernel knows the distance within 2^-16 ulps


def compile_kernel(folder, function):
    path = pathlib.Path(folder) / "dd.so"
    kernels = oracle.ROOT / f"crlibm/{function}"
    with_bound = f"rm_{function}_dd_ball(" in (kernels / f"{function}_dd.h").read_text()
    kernel = f"-DRM_TEST_DD_BALL=rm_{function}_dd_ball" if with_bound else f"-DRM_TEST_DD=rm_{function}_dd"
    options = ["-std=gnu11", "-O2", "-ffp-contract=off", "-fPIC", "-shared", kernel]
    header = f'-DRM_TEST_HEADER="{kernels}/{function}{"_dd" * with_bound}.h"'
    source = pathlib.Path(__file__).resolve().parent / "dd_driver.c"
    subprocess.run([os.environ.get("CC", "cc"), *options, header, "-o", path, source], check=True)
    return ctypes.CDLL(str(path))


def distance(function, x):
    """From the midpoint, in ulps."""
    with definitions.wide():
        try:
            y = abs(definitions.value(function, gmpy2.mpfr(x)))
        except definitions.Exact:
            return 1.0
        return float(abs(gmpy2.frac(y / gmpy2.exp2(gmpy2.get_exp(y) - 53)) - 0.5))


def main(function, count=1 << 26):
    low, high = ranges.RANGES[function][0]
    rng, best = np.random.default_rng(51), np.empty((0, 2))
    with tempfile.TemporaryDirectory() as folder:
        kernel = compile_kernel(folder, function)
        for _ in range(int(count) // CHUNK):
            x = rng.uniform(low, high, CHUNK)
            hi, lo = np.empty(CHUNK), np.empty(CHUNK)
            pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (x, hi, lo)]
            kernel.rm_test_dd(ctypes.c_int64(CHUNK), *pointers)
            y = hi + lo
            rest = (hi - y) + lo  # |hi| > |lo|
            far = np.abs(np.abs(rest) / np.spacing(np.abs(y)) - 0.5)
            some = np.argpartition(far, KEPT)[:KEPT]
            best = np.concatenate([best, np.stack([far[some], x[some]], axis=1)])
            best = best[np.argsort(best[:, 0])][:POOL]
    cases = sorted((distance(function, v), v.hex()) for v in best[:, 1].tolist())[:KEPT]
    lines = [
        f"# Hard-to-round binary64 inputs for {function}(x), one case a line, hexadecimal floats.",
        f"# Source: tests/exhaustive/hard_f64.py, the nearest of {int(count)} to a midpoint; the first is {cases[0][0]:.3g} ulp from it.",
        *(text for _, text in cases),
    ]
    (oracle.ROOT / f"tests/data/hardcases/f64/{function}.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
