"""matmul, sum, scatter sums and the cost of a small call, against NumPy; convolution against PyTorch."""

import numpy as np
from convolution import convolutions
from operators import operators
from random_numbers import random_numbers
from threadpoolctl import threadpool_limits
from timing import compare
from training import training

import repmath


def matmuls(quick):
    sizes = [("f32", 512, (1, 2)), ("f32", 1024, (1, 2)), ("f32", 2048, (1, 2)), ("f64", 1024, (1, 2))]
    if quick:
        sizes = [("f32", 512, (1, 2)), ("f64", 256, (1,))]
    for fmt, n, thread_counts in sizes:
        rng = np.random.default_rng(n)
        a, b = (rng.standard_normal((n, n)).astype("f4" if fmt == "f32" else "f8") for _ in range(2))
        out, other = np.empty_like(a), np.empty_like(a)
        for threads in thread_counts:
            repmath.set_num_threads(threads)
            with threadpool_limits(threads, user_api="blas"):
                timing = compare(
                    {
                        "repmath": lambda a=a, b=b, out=out: repmath.matmul(a, b, out=out),
                        "NumPy": lambda a=a, b=b, other=other: np.matmul(a, b, out=other),
                    },
                    batches=3 if quick else 7 if fmt == "f32" else 3,
                    seconds=0.01,
                )
            gflops = {name: 2e-9 * n**3 / seconds for name, seconds in timing["seconds"].items()}
            yield {"case": f"matmul {fmt} {n}^3, {threads} thread{'s' * (threads > 1)}", "gflops": gflops, **timing}


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
        gflops = {name: 2e-9 * n**3 / seconds for name, seconds in timing["seconds"].items()}
        yield {"case": f"matmul {fmt} {n}^3, 1 thread", "gflops": gflops, **timing}


def others():
    repmath.set_num_threads(1)
    x = np.random.default_rng(1).standard_normal(10_000_000)
    for fmt in ("f32", "f64"):
        y = x.astype("f4" if fmt == "f32" else "f8")
        timing = compare({"repmath": lambda y=y: repmath.sum(y), "NumPy": lambda y=y: np.sum(y)}, batches=9, seconds=0.01)
        yield {"case": f"sum {fmt} 1e7", **timing}
    one = np.ones(1, "f4")
    yield {"case": "call exp, 1 element", **compare({"repmath": lambda: repmath.exp(one), "NumPy": lambda: np.exp(one)})}
    m = np.random.default_rng(2).standard_normal((8, 8)).astype("f4")
    yield {
        "case": "call matmul f32 8x8",
        **compare({"repmath": lambda: repmath.matmul(m, m), "NumPy": lambda: np.matmul(m, m)}),
    }


def scatters(quick):
    """One thread. Rows: the gradient of an embedding, and index_add of rows; single elements: bincount."""
    repmath.set_num_threads(1)
    rng = np.random.default_rng(3)
    for fmt, rows, n, cols in (("f32", 50_000, 8192, 64), ("f32", 2000, 40_000, 256), ("f64", 2000, 40_000, 256))[
        : 1 if quick else 3
    ]:
        index, src = rng.integers(0, rows, n), rng.standard_normal((n, cols)).astype("f4" if fmt == "f32" else "f8")
        out, other = np.zeros((rows, cols), src.dtype), np.zeros((rows, cols), src.dtype)
        calls = {"repmath": lambda index=index, src=src, out=out: repmath.index_add(out, index, src, out=out)}
        try:
            import torch
        except ImportError:
            calls["NumPy"] = lambda index=index, src=src, other=other: np.add.at(other, index, src)
        else:
            torch.set_num_threads(1)
            t = [torch.from_numpy(v) for v in (other, index, src)]
            calls["PyTorch"] = lambda t=t: t[0].index_add_(0, t[1], t[2])
        yield {"case": f"index_add {fmt} {n}x{cols} to {rows}", **compare(calls, batches=5, seconds=0.02)}
    for rows in (1000, 100_000):
        x, weights = rng.integers(0, rows, 1_000_000), rng.standard_normal(1_000_000)
        timing = compare(
            {
                "repmath": lambda x=x, weights=weights: repmath.bincount(x, weights),
                "NumPy": lambda x=x, weights=weights: np.bincount(x, weights),
            },
            batches=5,
        )
        yield {"case": f"bincount f64 1e6 to {rows}", **timing}


def run(quick=False):
    threads = repmath.get_num_threads()
    try:
        return [
            *matmuls(quick),
            *halves(quick),
            *others(),
            *scatters(quick),
            *random_numbers(quick),
            *operators(quick),
            *convolutions(quick),
            *training(quick),
        ]
    finally:
        repmath.set_num_threads(threads)
