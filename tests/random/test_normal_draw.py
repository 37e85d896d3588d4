"""Normal random numbers of 64-bit draws, RN(Phi^-1((k + 1/2) 2^-64)), against MPFR: the accurate phase under every rule, the vector
steps of every instruction set, and controls with bounds that are too small. Half of the draws are nearest to a midpoint of two
numbers of the format: they differ from it by less than a draw's spacing."""

import ctypes
import functools
import os
import subprocess

import definitions
import gmpy2
import numpy as np
import oracle
import pytest
from gmpy2 import mpfr
from native import need

AVX2 = ["-mavx2", "-mfma", "-mf16c"]
AVX512 = [*AVX2, "-mavx512f", "-mavx512dq", "-mavx512vl", "-mavx512bw", "-mprefer-vector-width=512"]
ISAS = {
    "base": [],
    "avx2": [*AVX2, "-DRM_CFG_SIMD=RM_SIMD_AVX2"],
    "avx512": [*AVX512, "-DRM_CFG_SIMD=RM_SIMD_AVX512"],
}
COUNT = 4096


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    (compiler,) = need(os.environ.get("CC", "cc"))

    @functools.cache
    def driver(*options):
        path = tmp_path_factory.mktemp("normal") / "driver.so"
        flags = ["-std=gnu11", "-O1", "-ffp-contract=off", "-fPIC", "-shared", *options]
        subprocess.run([compiler, *flags, "-o", path, oracle.ROOT / "tests/support/normal_draw_driver.c"], check=True)
        return ctypes.CDLL(str(path))

    return driver


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def nearest_draw(z, fmt, n):
    """The draw nearest to a midpoint of two numbers of the format, the n-th above z, and how far it is."""
    precision, emax, _ = oracle.FORMATS[fmt]
    quantum = mpfr(2) ** max(gmpy2.get_exp(z) - precision, 2 - emax - precision)
    middle = (gmpy2.floor(z / quantum) + n + mpfr(0.5)) * quantum
    p = gmpy2.erfc(-middle / gmpy2.sqrt(mpfr(2))) / 2 * 2**64
    k = min(int(gmpy2.floor(p)), 2**64 - 2)
    return k, abs(p - k - mpfr(0.5))


@functools.cache
def draws(fmt):
    """The ends and the middle, draws with few leading bits that differ, uniform ones, and those around midpoints."""
    rng = np.random.default_rng(71)
    k = rng.integers(0, 2**64, COUNT // 4, dtype=np.uint64)
    shift = np.arange(COUNT // 4, dtype=np.uint64) % np.uint64(64)
    small = rng.integers(0, 2**64, COUNT // 4, dtype=np.uint64) >> shift
    small[1::2] += np.uint64(2**63)
    small[::4] = ~small[::4]
    midpoints = []
    with definitions.wide():
        for i, z in enumerate(np.abs(rng.standard_normal(COUNT // 4)).astype(np.float32).tolist()):
            tries = 256 if fmt == "f64" and i < 40 else 1  # these get the nearest of 256: such are hard for double-double
            nearest = min((nearest_draw(mpfr(z), fmt, n) for n in range(tries)), key=lambda pair: pair[1])[0]
            midpoints += [nearest, 2**64 - 1 - nearest]
    k = np.concatenate([k, small, np.array(midpoints, dtype=np.uint64)])
    k[:6] = [0, 1, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1]
    return k


@functools.cache
def values(fmt):
    """Phi^-1 of these draws, to 140 bits: none of them is so near to a boundary (a test would fail otherwise)."""
    out = []
    with definitions.wide():
        for k in draws(fmt).tolist():
            n = 2 * min(k, 2**64 - 1 - k) + 1
            z = gmpy2.sqrt(mpfr(2)) * definitions.erfinv_of(1 - mpfr(n) / 2**64, mpfr(n) / 2**64, definitions.FIRST)
            out.append(z if k >> 63 else -z)
    return out


def want(fmt, rule="nearest"):
    context = oracle.context(fmt, rule)
    return oracle.to_bits(np.array([float(context.mul(z, 1)) for z in values(fmt)]), fmt)


def accurate(library, fmt, rule="nearest"):
    k, y = draws(fmt), np.empty(COUNT, np.uint64)
    numbers = list(oracle.FORMATS).index(fmt), list(oracle.RULES).index(rule)
    assert library.rm_test_normal_accurate(*numbers, ctypes.c_int64(COUNT), pointer(k), pointer(y)) == 0
    return y.astype(oracle.FORMATS[fmt][2])


def step(library, fmt):
    k, y, still_open = draws(fmt), np.empty(COUNT, oracle.FORMATS[fmt][2]), np.empty(COUNT, np.uint8)
    library.rm_test_normal_step(
        list(oracle.FORMATS).index(fmt), ctypes.c_int64(COUNT), pointer(k), pointer(y), pointer(still_open)
    )
    return y, still_open.astype(bool)


@pytest.mark.parametrize("rule", oracle.RULES)
@pytest.mark.parametrize("fmt", oracle.FORMATS)
def test_accurate_phase(compiled, fmt, rule):
    for options in ([], ["-DRM_CFG_NO_DD"], ["-DRM_CFG_NO_DD", "-DRM_CFG_MP_FIRST=1"]):
        wrong = np.flatnonzero(accurate(compiled(*options), fmt, rule) != want(fmt, rule))
        assert wrong.size == 0, (options, [hex(k) for k in draws(fmt)[wrong[:5]]])


def available(isa):
    cpu = open("/proc/cpuinfo").read() if os.path.exists("/proc/cpuinfo") else ""
    return isa == "base" or f" {'avx512bw' if isa == 'avx512' else isa}" in cpu


@pytest.mark.parametrize("fmt", oracle.FORMATS)
@pytest.mark.parametrize("isa", ISAS)
def test_vector_steps(compiled, isa, fmt):
    if not available(isa):
        pytest.skip(f"this CPU has no {isa}")
    y, still_open = step(compiled("-DRM_TEST_STEP", *ISAS[isa]), fmt)
    wrong = np.flatnonzero((y != want(fmt)) & ~still_open)
    assert wrong.size == 0, [hex(k) for k in draws(fmt)[wrong[:5]]]
    assert still_open[: COUNT // 4].sum() < 10  # of the uniform draws


@pytest.mark.parametrize("fmt", ["f16", "f32", "f64"])
def test_bounds_that_are_too_small_are_caught(compiled, fmt):
    shrunk = "-DRM_CFG_BOUND_SHRINK=0x1p-30"
    y, still_open = step(compiled("-DRM_TEST_STEP", shrunk), fmt)
    assert ((y != want(fmt)) & ~still_open).any()
    assert (accurate(compiled("-DRM_CFG_NO_DD", "-DRM_CFG_MP_FIRST=1", shrunk), fmt) != want(fmt)).any()
