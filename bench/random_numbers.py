"""Random numbers and dropout beside PyTorch and NumPy, one thread, in cache."""

import numpy as np
from timing import compare

import repmath

N = 1 << 16


def calls():
    """case -> the library -> a call. What is compared has the same distribution and format, not the same bits."""
    x, g = np.random.default_rng(5).standard_normal(N).astype("f4"), np.random.default_rng(6)
    r = repmath.random
    found = {
        "random uniform f32": {
            "repmath": lambda: r.uniform(1, N, dtype="f4"),
            "NumPy": lambda: g.random(N, dtype="f4"),
        },
        "random uniform f64": {"repmath": lambda: r.uniform(1, N), "NumPy": lambda: g.random(N)},
        "random uniform f32, a range": {
            "repmath": lambda: r.uniform(1, N, -0.3, 0.7, dtype="f4"),
            "NumPy": lambda: g.uniform(-0.3, 0.7, N).astype("f4"),
        },
        "random normal f32": {
            "repmath": lambda: r.normal(1, N, dtype="f4"),
            "NumPy": lambda: g.standard_normal(N, dtype="f4"),
        },
        "random normal f32, scaled": {
            "repmath": lambda: r.normal(1, N, 0.5, 0.02, dtype="f4"),
            "NumPy": lambda: g.normal(0.5, 0.02, N).astype("f4"),
        },
        "truncated normal f32": {"repmath": lambda: r.truncated_normal(1, N, 0.0, 1.0, -2.0, 2.0, dtype="f4")},
        "random normal f64": {"repmath": lambda: r.normal(1, N), "NumPy": lambda: g.standard_normal(N)},
        "random integers below 100": {"repmath": lambda: r.randint(1, N, 100), "NumPy": lambda: g.integers(100, size=N)},
        "random permutation": {"repmath": lambda: r.permutation(1, N), "NumPy": lambda: g.permutation(N)},
        "gamma f32, a = 2.5": {
            "repmath": lambda: r.gamma(1, N, 2.5, dtype="f4"),
            "NumPy": lambda: g.standard_gamma(2.5, N, dtype="f4"),
        },
        "gamma f32, a = 0.3": {
            "repmath": lambda: r.gamma(1, N, 0.3, dtype="f4"),
            "NumPy": lambda: g.standard_gamma(0.3, N, dtype="f4"),
        },
        "gamma f64, a = 2.5": {"repmath": lambda: r.gamma(1, N, 2.5), "NumPy": lambda: g.standard_gamma(2.5, N)},
        "beta f32, a = 2, b = 3": {
            "repmath": lambda: r.beta(1, N, 2.0, 3.0, dtype="f4"),
            "NumPy": lambda: g.beta(2.0, 3.0, N).astype("f4"),
        },
        "Poisson, mean 7": {"repmath": lambda: r.poisson(1, N, 7.0), "NumPy": lambda: g.poisson(7.0, N)},
        "Poisson, mean 1000": {"repmath": lambda: r.poisson(1, N, 1000.0), "NumPy": lambda: g.poisson(1000.0, N)},
        "binomial, n = 10, p = 0.3": {"repmath": lambda: r.binomial(1, N, 10, 0.3), "NumPy": lambda: g.binomial(10, 0.3, N)},
        "dropout f32, p = 0.1": {"repmath": lambda: r.dropout(x, 0.1, 1)},
        "dropout f32, p = 0.5": {"repmath": lambda: r.dropout(x, 0.5, 1)},
    }
    try:
        import torch
    except ImportError:
        return {case: both for case, both in found.items() if len(both) > 1}
    torch.set_num_threads(1)
    t = torch.from_numpy(x)
    theirs = {
        "random uniform f32": lambda: torch.rand(N),
        "random uniform f64": lambda: torch.rand(N, dtype=torch.float64),
        "random uniform f32, a range": lambda: torch.empty(N).uniform_(-0.3, 0.7),
        "random normal f32": lambda: torch.randn(N),
        "random normal f32, scaled": lambda: torch.empty(N).normal_(0.5, 0.02),
        "truncated normal f32": lambda: torch.nn.init.trunc_normal_(torch.empty(N)),
        "random normal f64": lambda: torch.randn(N, dtype=torch.float64),
        "random integers below 100": lambda: torch.randint(100, (N,)),
        "random permutation": lambda: torch.randperm(N),
        "gamma f32, a = 2.5": lambda: torch._standard_gamma(torch.full((N,), 2.5)),
        "gamma f32, a = 0.3": lambda: torch._standard_gamma(torch.full((N,), 0.3)),
        "gamma f64, a = 2.5": lambda: torch._standard_gamma(torch.full((N,), 2.5, dtype=torch.float64)),
        "beta f32, a = 2, b = 3": lambda: torch._sample_dirichlet(torch.tensor([2.0, 3.0]).expand(N, 2)),
        "Poisson, mean 7": lambda: torch.poisson(torch.full((N,), 7.0)),
        "Poisson, mean 1000": lambda: torch.poisson(torch.full((N,), 1000.0)),
        "binomial, n = 10, p = 0.3": lambda: torch.binomial(torch.full((N,), 10.0), torch.full((N,), 0.3)),
        "dropout f32, p = 0.1": lambda: torch.nn.functional.dropout(t, 0.1),
        "dropout f32, p = 0.5": lambda: torch.nn.functional.dropout(t, 0.5),
    }
    # PyTorch first: the tables show the first of the others
    return {case: {"repmath": both.pop("repmath"), "PyTorch": theirs[case], **both} for case, both in found.items()}


def random_numbers(quick):
    """One thread. The table of reductions shows them in microseconds."""
    repmath.set_num_threads(1)
    cases = calls()
    for case in list(cases)[: 2 if quick else None]:
        yield {"case": f"{case}, {N // 1024} Ki", **compare(cases[case], batches=3 if quick else 7, seconds=0.01)}


if __name__ == "__main__":
    for result in random_numbers(False):
        times = ", ".join(f"{name} {1e9 * s / N:.2f}" for name, s in result["seconds"].items())
        print(f"{result['case']:36} ns an element: {times}", flush=True)
