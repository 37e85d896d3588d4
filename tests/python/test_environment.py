"""The bits do not depend on the process: forks, threads, rounding modes, flushed subnormals, instruction sets."""

import ctypes
import ctypes.util
import os
import platform
import subprocess
import sys
import threading

import numpy as np
import pytest
from flushing import flushing

import repmath

# One digest of every kind of result.
SAMPLE = """
import numpy as np, repmath
rng = np.random.Generator(np.random.PCG64(3))
def results():
    out = []
    for code in ("f2", "f4", "f8"):
        bits = np.frombuffer(rng.bytes(40_000), f"u{np.dtype(code).itemsize}").view(code)
        small = (rng.integers(-1000, 1000, 5000) * 0.01).astype(code)
        tiny = np.arange(-500, 500).astype(f"i{np.dtype(code).itemsize}").view(code)
        with np.errstate(all="ignore"):
            out += [f(x) for f in (u for u in repmath._core.ufuncs.values() if u.nin == 1) for x in (bits, small, tiny)]
            if code != "f2":
                a, b = small[:2000].reshape(40, 50), small[2000:4000].reshape(50, 40)
                out += [repmath.matmul(a, b), repmath.matmul(a * small[0], b, bias=b[0]), repmath.sum(tiny), repmath.sum(a, axis=0)]
                out += [repmath.dot(tiny, small[:1000])]
    return repmath.digest(*out)
"""


def sample():
    scope = {}
    exec(SAMPLE, scope)
    return scope["results"]()


@pytest.fixture(scope="module")
def expected():
    return sample()


def in_process(before="", **environment):
    code = SAMPLE + before + "\nprint(results())"
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()[-1]


def test_every_isa_and_thread_count(expected):
    for isa in repmath.config()["available isas"]:
        for threads in ("1", "2", "5"):
            assert in_process(REPMATH_ISA=isa, REPMATH_NUM_THREADS=threads) == expected, (isa, threads)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_child_computes(expected):
    x = np.linspace(-3, 3, 2_000_000)
    a = np.ones((300, 300), "f4")
    repmath.exp(x), repmath.matmul(a, a), repmath.sum(x)  # the parent has its pool of threads
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            ok = repmath.exp(x).shape == x.shape and repmath.matmul(a, a)[0, 0] == 300 and repmath.sum(a) == 90000
            os.write(write, (sample() if ok else "wrong").encode())
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read) as pipe:
        answer = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    assert answer == expected


def test_python_threads(expected):
    results = []

    def work():
        results.extend(sample() for _ in range(3))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert results == [expected] * 12


def test_other_threads_run_meanwhile():
    """A long call holds no lock that Python threads need."""
    a = np.random.default_rng(0).standard_normal((1200, 1200))
    seen = []
    done = threading.Event()

    def count():
        while not done.wait(0.001):
            seen.append(1)

    counter = threading.Thread(target=count)
    counter.start()
    before = len(seen)
    repmath.matmul(a, a)
    during = len(seen) - before
    done.set()
    counter.join()
    assert during >= 5


# <fenv.h> of this C library, as numbers: x86 and aarch64 differ.
X86 = {"up": 0x800, "down": 0x400, "toward zero": 0xC00}
ARM = {"up": 0x400000, "down": 0x800000, "toward zero": 0xC00000}


@pytest.mark.parametrize("mode", list(X86))
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_rounding_modes(mode, dtype):
    libm = ctypes.CDLL(ctypes.util.find_library("m"))
    value = (X86 if platform.machine() in ("x86_64", "AMD64") else ARM)[mode]
    rng = np.random.default_rng(2)
    x = rng.standard_normal((30, 40)).astype(dtype)
    positive = np.abs(x)

    def compute():
        functions = [f(positive) for f in (u for u in repmath._core.ufuncs.values() if u.nin == 1)]
        return [*functions, repmath.matmul(x, x.T), repmath.sum(x), repmath.dot(x[0], x[1])]

    expected = compute()
    assert libm.fesetround(value) == 0
    try:
        found = compute()
        kept = libm.fegetround()
    finally:
        libm.fesetround(0)
    assert kept == value  # given back as it was
    assert repmath.digest(*found) == repmath.digest(*expected)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_flushed_subnormals(dtype):
    """torch.set_flush_denormal sets FTZ and DAZ in this thread."""
    torch = pytest.importorskip("torch")
    tiny = np.arange(1, 1000).astype(f"i{np.dtype(dtype).itemsize}").view(dtype)
    expected = [
        repmath.tanh(tiny),
        repmath.erf(tiny),
        repmath.sum(tiny),
        repmath.matmul(tiny.reshape(-1, 1), np.ones((1, 3), dtype)),
    ]
    if not torch.set_flush_denormal(True):
        pytest.skip("this CPU cannot flush")
    try:
        assert (tiny[:1] * 1)[0] == 0 or (torch.from_numpy(tiny[:1]) * 1).item() == 0  # it does flush
        found = [
            repmath.tanh(tiny),
            repmath.erf(tiny),
            repmath.sum(tiny),
            repmath.matmul(tiny.reshape(-1, 1), np.ones((1, 3), dtype)),
        ]
        still = (torch.from_numpy(tiny[:1]) * 1).item() == 0
    finally:
        torch.set_flush_denormal(False)
    assert still  # given back as it was
    for a, b in zip(found, expected):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


SINGLE, DOUBLE = np.array([1e-45, 1e-40, -3e-42], "f4"), np.array([5e-324, 1e-310, -2e-308])


def mixed(single=SINGLE, double=DOUBLE):
    """Steps that NumPy takes for us: conversions and comparisons of subnormal numbers, in every function that has any."""
    ones, wide = np.ones(3, "f4"), np.ones(3)
    index, acc = [0, 1, 1], repmath.Accumulator()
    acc.add_products(single, wide)
    image = single.reshape(1, 1, 3)
    return [
        repmath.sum(single, dtype="f8"),
        repmath.sum(np.array([1e-42, 1e-44]), dtype="f4"),
        repmath.sum(single, axis=0, out=np.zeros((), "f8")),
        repmath.matmul(single[:, None], wide[None]),
        repmath.matmul(single[:, None], ones[None], out=np.zeros((3, 3))),
        repmath.dot(single, wide),
        repmath.einsum("i,i->i", single, ones),
        repmath.einsum("i,i->i", double, wide),
        repmath.einsum("i->i", single, dtype="f8"),
        repmath.einsum("i,i->", single, wide),
        repmath.vecdot(single, wide),
        repmath.tensordot(single, wide, 0),
        repmath.mean(single, out=np.zeros((), "f8")),
        repmath.norm(double),
        repmath.var(single, dtype="f8"),
        repmath.cumsum(single, out=np.zeros(3)),
        repmath.index_add(np.zeros(2), index, single),
        repmath.index_add(single[:2], index, np.zeros(3)),
        repmath.scatter_add(np.zeros(2), 0, np.array(index), single),
        repmath.segment_sum(double, index),
        repmath.bincount(index, single),
        repmath.conv1d(image, np.ones((1, 1, 2))),
        repmath.conv1d(image, np.ones((1, 1, 2), "f4"), out=np.zeros((1, 1, 2))),
        acc.round(),
    ]


def test_conversions_keep_subnormals():
    expected = mixed()
    assert sum(bool(np.any(np.asarray(e) != 0)) for e in expected) >= len(expected) - 2  # there is something to lose
    with flushing():
        assert np.array([1e-45], "f4").astype("f8")[0] == 0  # NumPy's own conversion flushes
        found = mixed()
        still = np.array([1e-45], "f4").astype("f8")[0] == 0
    assert still  # given back as it was
    for i, (a, b) in enumerate(zip(found, expected, strict=True)):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes(), i
