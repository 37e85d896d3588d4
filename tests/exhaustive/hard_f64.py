"""Writes tests/data/hardcases/f64/<function>.txt for a function without published hard cases.

    python tests/exhaustive/hard_f64.py <function> [<count>]

A random search: <count> inputs (2^26) in the first range of tests/support/ranges.py, uniform, through the double-double kernel; those, also pairs, whose
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
    part = "_dd" * with_bound
    if oracle.ARITY[function] == 2:
        kernel, part = f"-DRM_TEST_DD_BALL_OF_TWO=rm_{function}_dd_ball", "_accurate"
    options = ["-std=gnu11", "-O2", "-ffp-contract=off", "-fPIC", "-shared", kernel]
    header = f'-DRM_TEST_HEADER="{kernels}/{function}{part}.h"'
    source = pathlib.Path(__file__).resolve().parent / "dd_driver.c"
    subprocess.run([os.environ.get("CC", "cc"), *options, header, "-o", path, source], check=True)
    return ctypes.CDLL(str(path))


def distance(function, *arguments):
    """From the midpoint, in ulps."""
    with definitions.wide():
        try:
            y = abs(definitions.value(function, *map(gmpy2.mpfr, arguments)))
        except definitions.Exact:
            return 1.0
        return float(abs(gmpy2.frac(y / gmpy2.exp2(gmpy2.get_exp(y) - 53)) - 0.5))


def main(function, count=1 << 26):
    arity, box = oracle.ARITY[function], ranges.RANGES[function][0]
    box = [box] if arity == 1 else box
    rng, best = np.random.default_rng(51), np.empty((0, 1 + arity))
    with tempfile.TemporaryDirectory() as folder:
        kernel = compile_kernel(folder, function)
        for _ in range(int(count) // CHUNK):
            x = [rng.uniform(low, high, CHUNK) for low, high in box]
            hi, lo = np.empty(CHUNK), np.empty(CHUNK)
            pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (*x, hi, lo)]
            (kernel.rm_test_dd if arity == 1 else kernel.rm_test_dd_of_two)(ctypes.c_int64(CHUNK), *pointers)
            y = hi + lo
            rest = (hi - y) + lo  # |hi| > |lo|
            far = np.abs(np.abs(rest) / np.spacing(np.abs(y)) - 0.5)
            some = np.argpartition(far, KEPT)[:KEPT]
            best = np.concatenate([best, np.stack([far[some], *(a[some] for a in x)], axis=1)])
            best = best[np.argsort(best[:, 0])][:POOL]
    cases = sorted((distance(function, *v), " ".join(map(float.hex, v))) for v in best[:, 1:].tolist())[:KEPT]
    lines = [
        f"# Hard-to-round binary64 inputs for {function}({', '.join('xyz'[:arity])}), one case a line, hexadecimal floats.",
        f"# Source: tests/exhaustive/hard_f64.py, the nearest of {int(count)} to a midpoint; the first is {cases[0][0]:.3g} ulp from it.",
        *(text for _, text in cases),
    ]
    (oracle.ROOT / f"tests/data/hardcases/f64/{function}.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
