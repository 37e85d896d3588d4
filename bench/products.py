"""Matrix products against NumPy and PyTorch, and data that is hard for exact sums: python bench/products.py [--quick]

As a script it prints the results of `matmuls` as JSON: what chooses NumPy's kernels (OPENBLAS_CORETYPE) and how idle threads wait is read
when libraries are loaded.
"""

import argparse
import json

import numpy as np
from threadpoolctl import threadpool_limits
from timing import compare

import repmath

SQUARES = (256, 512, 1024, 2048, 4096)
IDLE_SPIN = 0.15  # seconds: longer than the idle threads of OpenBLAS (2^28 ticks of the clock) and of GNU OpenMP spin
LAYER = (4096, 768, 3072)  # rows, columns, terms: a transformer's


def name(fmt, m, n, k, threads):
    shape = f"{m}^3" if m == n == k else f"{m}x{n}x{k}"
    return f"matmul {fmt} {shape}, {threads} thread{'s' * (threads > 1)}"


def with_flops(case, timing, flops):
    return {"case": case, "gflops": {who: 1e-9 * flops / seconds for who, seconds in timing["seconds"].items()}, **timing}


def product(fmt, m, n, k, threads, batches):
    rng = np.random.default_rng(n)
    a, b = (rng.standard_normal(shape).astype("f4" if fmt == "f32" else "f8") for shape in ((m, k), (k, n)))
    out, other = np.empty((m, n), a.dtype), np.empty((m, n), a.dtype)
    calls = {"repmath": lambda: repmath.matmul(a, b, out=out), "NumPy": lambda: np.matmul(a, b, out=other)}
    try:
        import torch
    except ImportError:
        pass
    else:
        if fmt == "f32":
            torch.set_num_threads(threads)
            s, t, to = torch.from_numpy(a), torch.from_numpy(b), torch.from_numpy(np.empty_like(out))
            calls["PyTorch"] = lambda: torch.mm(s, t, out=to)
    repmath.set_num_threads(threads)
    with threadpool_limits(threads, user_api="blas"):
        timing = compare(calls, batches=batches, seconds=0.02 * threads, pause=IDLE_SPIN if threads > 1 else 0.0)
    return with_flops(name(fmt, m, n, k, threads), timing, 2 * m * n * k)


def matmuls(quick):
    shapes = [(n, n, n) for n in (SQUARES[:2] if quick else SQUARES)] + [LAYER] * (not quick)
    for m, n, k in shapes:
        for threads in (1, 2):
            yield product("f32", m, n, k, threads, 3 if quick else 7 if m == 4096 else 15)
    for threads in (1, 2):
        yield product("f64", *[256 if quick else 1024] * 3, threads, 3)


def halves(quick):
    """16-bit matmul beside our own in float32."""
    repmath.set_num_threads(1)
    n = 256 if quick else 1024
    a, b = np.random.default_rng(4).standard_normal((2, n, n)).astype("f4")
    kinds = {"f16": np.dtype("f2")}
    try:
        import ml_dtypes
    except ImportError:
        pass
    else:
        kinds["bf16"] = np.dtype(ml_dtypes.bfloat16)
    for fmt, dtype in kinds.items():
        x, y = a.astype(dtype), b.astype(dtype)
        timing = compare(
            {"repmath": lambda x=x, y=y: repmath.matmul(x, y), "repmath f32": lambda: repmath.matmul(a, b)}, batches=5
        )
        yield with_flops(name(fmt, n, n, n, 1), timing, 2 * n**3)


def hard_data(quick):
    """Ties everywhere and sparse data beside Gaussian data of the same shape; long sums beside a square of as many products."""
    repmath.set_num_threads(1)
    n, rng = 256 if quick else 1024, np.random.default_rng(5)
    k = 64 * n
    gauss, other = rng.standard_normal((2, n, n)).astype("f4")
    integers = rng.integers(-8, 9, (2, n, n)).astype("f4")
    sparse = np.maximum(rng.standard_normal((2, n, n)), 0).astype("f4")
    lines = [rng.standard_normal(shape).astype("f4") for shape in ((n // 8, k), (k, n // 8))]
    for what, (a, b) in {"integers": integers, "after ReLU": sparse, f"{n // 8} lines of {k}": lines}.items():
        calls = {
            "repmath": lambda a=a, b=b: repmath.matmul(a, b),
            "Gaussian data": lambda: repmath.matmul(gauss, other),
        }
        yield with_flops(f"matmul f32 {n}^3, {what}", compare(calls, batches=7), 2 * n**3)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    print(json.dumps(list(matmuls(args.quick))))


if __name__ == "__main__":
    main()
