"""Everything that is not elementwise: products (except those of products.matmuls), sums, scatter sums, convolution, operators, training; and the cost of a small call."""

import numpy as np
from convolution import convolutions
from operators import operators
from products import halves, hard_data
from random_numbers import random_numbers
from random_roundings import random_roundings
from threadpoolctl import threadpool_limits
from timing import compare
from training import training
from transforms import transforms

import repmath


def others():
    repmath.set_num_threads(1)
    x = np.random.default_rng(1).standard_normal(10_000_000)
    for fmt in ("f32", "f64"):
        for size, n in (("1e5", 10**5), ("1e7", 10**7)):
            y = x[:n].astype("f4" if fmt == "f32" else "f8")
            z = y[::-1].copy()
            sums = {"repmath": lambda y=y: repmath.sum(y), "NumPy": lambda y=y: np.sum(y)}
            dots = {"repmath": lambda y=y, z=z: repmath.dot(y, z), "NumPy": lambda y=y, z=z: np.dot(y, z)}
            for what, calls in (("sum", sums), ("dot", dots)):
                with threadpool_limits(1, user_api="blas"):
                    yield {"case": f"{what} {fmt} {size}", **compare(calls, batches=9, seconds=0.01)}
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
            *halves(quick),
            *hard_data(quick),
            *others(),
            *scatters(quick),
            *random_numbers(quick),
            *transforms(quick),
            *operators(quick),
            *convolutions(quick),
            *training(quick),
            *random_roundings(quick),
        ]
    finally:
        repmath.set_num_threads(threads)
