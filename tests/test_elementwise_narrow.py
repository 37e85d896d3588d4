"""The narrow evaluations (crlibm/simd/narrow.h) lane by lane: what they call decided is what the binary64 evaluation gives. A
strided set here, every input in `make test-exhaustive`."""

import ctypes
import os
import subprocess

import oracle
import pytest
from native import default_build, need

FUNCTIONS = sorted(
    path.parent.name for path in (oracle.ROOT / "crlibm").glob("*/*_narrow.h") if path.parent.name in oracle.UNARY
)
AVX512 = ["-mavx2", "-mfma", "-mf16c", "-mavx512f", "-mavx512dq", "-mavx512vl", "-mavx512bw", "-mprefer-vector-width=512"]


def run(folder, function, stride, *flags):
    """(inputs, open lanes, wrong lanes, the first wrong input)"""
    (cc,) = need(os.environ.get("CC", "cc"))
    build = default_build()
    library = ctypes.CDLL(str(build / "librepmath.so"))
    library.rm_isa_available.argtypes = [ctypes.c_char_p]
    if not library.rm_isa_available(b"avx512"):
        pytest.skip("this CPU has no AVX-512, the one instruction set with narrow evaluations")
    program, root = folder / "narrow_lanes", oracle.ROOT
    options = [
        "-std=gnu11",
        "-O2",
        "-ffp-contract=off",
        "-DRM_CFG_STATIC",
        f"-I{root}",
        f"-I{root / 'include'}",
        *AVX512,
        *flags,
    ]
    options += ["-DRM_CFG_SIMD=RM_SIMD_AVX512", f"-DRM_TEST_FUNCTION={function}"]
    options += [f'-DRM_TEST_NARROW_HEADER="crlibm/{function}/{function}_narrow.h"']
    source = root / "tests/exhaustive/narrow_lanes.c"
    subprocess.run([cc, *options, source, build / "librepmath.a", "-fopenmp", "-lpthread", "-o", program], check=True)
    done = subprocess.run([program, str(stride)], env={**os.environ, "REPMATH_ISA": "avx2"}, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    inputs, count, wrong, first = done.stdout.split()
    return int(inputs), int(count), int(wrong), first


@pytest.mark.parametrize("function", FUNCTIONS)
def test_decided_lanes(tmp_path, function):
    inputs, count, wrong, first = run(tmp_path, function, 251)
    assert wrong == 0, (wrong, first)
    assert count < inputs  # some lanes are decided


@pytest.mark.exhaustive
@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_input(tmp_path, function):
    _, _, wrong, first = run(tmp_path, function, 1)
    assert wrong == 0, (wrong, first)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_bound_that_is_too_small_is_caught(tmp_path, function):
    """The control. The library that it is compared with keeps the true bounds."""
    assert run(tmp_path, function, 251, "-DRM_CFG_BOUND_SHRINK=0x1p-20")[2] > 0
