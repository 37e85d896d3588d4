"""The narrow evaluations (crlibm/simd/narrow.h) lane by lane: what they call decided is what the binary64 evaluation gives. Every
16-bit input; of f32 a strided set here and every input in `make test-exhaustive`."""

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
    """{format: (inputs, open, wrong)} and what was printed."""
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
    options += ["-DRM_CFG_SIMD=RM_SIMD_AVX512", f"-DRM_TEST_FUNCTION={function}", f"-DRM_TEST_NAME={function.upper()}"]
    options += [
        f'-DRM_TEST_HEADER="crlibm/{function}/{function}.h"',
        f'-DRM_TEST_NARROW_HEADER="crlibm/{function}/{function}_narrow.h"',
    ]
    source = root / "tests/exhaustive/narrow_lanes.c"
    subprocess.run([cc, *options, source, build / "librepmath.a", "-fopenmp", "-lpthread", "-o", program], check=True)
    done = subprocess.run([program, str(stride)], env={**os.environ, "REPMATH_ISA": "avx2"}, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    return {row[0]: tuple(map(int, row[1:4])) for row in rows}, done.stdout


@pytest.mark.parametrize("function", FUNCTIONS)
def test_decided_lanes(tmp_path, function):
    found, text = run(tmp_path, function, 61)
    assert set(found) == {"f16", "bf16", "f32"}
    assert all(wrong == 0 for _, _, wrong in found.values()), text
    assert all(count < inputs for inputs, count, _ in found.values()), text  # some lanes are decided


@pytest.mark.exhaustive
@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_input(tmp_path, function):
    found, text = run(tmp_path, function, 1)
    assert all(wrong == 0 for _, _, wrong in found.values()), text


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_bound_that_is_too_small_is_caught(tmp_path, function):
    """The control. The library that it is compared with keeps the true bounds. (Of the few 16-bit inputs often none is that close
    to a midpoint.)"""
    found, text = run(tmp_path, function, 61, "-DRM_CFG_BOUND_SHRINK=0x1p-20")
    assert found["f32"][2] > 0, text
