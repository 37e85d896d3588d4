"""Fourier transforms beside SciPy and NumPy, one thread, in cache."""

import numpy as np
from timing import compare

import repmath

SHAPES = ((1000, 64), (100, 1024), (200, 1000), (1, 4096), (1, 65536))


def calls():
    """case -> the library -> a call."""
    rng, found = np.random.default_rng(7), {}
    for dtype, name in (("c8", "f32"), ("c16", "f64")):
        for shape in SHAPES:
            x = (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
            both = {"repmath": lambda x=x: repmath.fft.fft(x), "NumPy": lambda x=x: np.fft.fft(x)}
            try:
                import scipy.fft
            except ImportError:
                pass
            else:
                both = {"repmath": both["repmath"], "SciPy": lambda x=x: scipy.fft.fft(x), "NumPy": both["NumPy"]}
            found[f"fft {name}, {shape[0]} of length {shape[1]}"] = both
    return found


def transforms(quick):
    """One thread. The table of reductions shows them in microseconds."""
    repmath.set_num_threads(1)
    cases = calls()
    for case in list(cases)[: 2 if quick else None]:
        yield {"case": case, **compare(cases[case], batches=3 if quick else 7, seconds=0.01)}


if __name__ == "__main__":
    for result in transforms(False):
        times = ", ".join(f"{name} {1e6 * s:.1f}" for name, s in result["seconds"].items())
        print(f"{result['case']:32} us: {times}", flush=True)
