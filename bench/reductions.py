"""matmul, sum and the cost of a small call, against NumPy."""

import numpy as np
from threadpoolctl import threadpool_limits
from timing import compare

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


def run(quick=False):
    threads = repmath.get_num_threads()
    try:
        return [*matmuls(quick), *others()]
    finally:
        repmath.set_num_threads(threads)
