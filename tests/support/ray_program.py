"""Sums and products of Dask's chunked arrays, and merged accumulators, on two workers of Ray. It listens on all addresses: loopback.py runs this."""

import os
import tempfile

import numpy as np
from exact_oracle import exact_bits, matmul_bits

import repmath
import repmath.dask as rd


def compare() -> None:
    import dask
    import dask.array as da
    import ray
    from ray.util.dask import ray_dask_get

    rng = np.random.default_rng(3)
    a = (rng.integers(-99, 100, (400, 6)) * np.exp2(rng.integers(-30, 30, (400, 6)))).astype(np.float32)
    a[200:] = -a[:200][::-1]
    a[399] = 2.0**-70
    b = np.ascontiguousarray(a[:9].T)
    columns = a.astype(np.float64).T.tolist()
    with dask.config.set(scheduler=ray_dask_get):
        for chunks in ((200, 6), (150, 3), (31, 6)):
            made = rd.sum(da.from_array(a, chunks=chunks), axis=0).compute()
            assert made.view(np.uint32).tolist() == [exact_bits(c, "f32") for c in columns]
        product = rd.matmul(da.from_array(a, chunks=(250, 2)), da.from_array(b, chunks=(3, 5))).compute()
    assert (product.view(np.uint32) == matmul_bits(a, b, "f32")).all()

    @ray.remote
    def total(terms):
        return repmath.Accumulator(terms), os.getpid()

    parts, processes = zip(*ray.get([total.remote(a[i : i + 90].ravel()) for i in range(0, 400, 90)]), strict=True)
    whole = sum(parts[1:], parts[0]).round(np.float32)
    assert whole.view(np.uint32) == exact_bits(sum(columns, []), "f32")
    assert os.getpid() not in processes


def main() -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        # Nothing is reported to anybody or written into the home folder.
        os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled", "HOME": folder}
        import ray

        here = {"include_dashboard": False, "_node_ip_address": "127.0.0.1", "_temp_dir": f"{folder}/ray"}
        ray.init(num_cpus=2, log_to_driver=False, object_store_memory=80 << 20, **here)
        compare()
        ray.shutdown()
    print("equal")


if __name__ == "__main__":
    main()
