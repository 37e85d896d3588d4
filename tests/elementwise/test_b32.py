"""The evaluations in binary32 (crlibm/simd/b32.h) lane by lane: what they call decided is what the binary64 evaluation gives. Of
f32 a strided set here, every input in `make test-exhaustive`; of f16 and bf16 all inputs."""

import ctypes
import math
import os
import subprocess
from fractions import Fraction

import oracle
import pytest
from native import default_build, need

FUNCTIONS = sorted(
    path.parent.name for path in (oracle.ROOT / "crlibm").glob("*/*_b32.h") if path.parent.name in oracle.UNARY
)
AVX2 = ["-mavx2", "-mfma", "-mf16c"]
COMPILED = {
    "avx2": [*AVX2, "-DRM_CFG_SIMD=RM_SIMD_AVX2"],
    "avx512": [
        *AVX2,
        "-mavx512f",
        "-mavx512dq",
        "-mavx512vl",
        "-mavx512bw",
        "-mprefer-vector-width=512",
        "-DRM_CFG_SIMD=RM_SIMD_AVX512",
    ],
}
# Evaluations of the 16-bit formats, and the ISAs whose loops use them.
HALF = [
    (path.parent.name, isa)
    for path in sorted((oracle.ROOT / "crlibm").glob("*/*_b32_half.h"))
    for isa in (["avx512"] if "RM_B32_FULL" in path.read_text() else COMPILED)
]
every = [pytest.mark.parametrize("function", FUNCTIONS), pytest.mark.parametrize("isa", COMPILED)]


def for_all(test):
    for mark in every:
        test = mark(test)
    return test


def run(folder, isa, function, stride, *flags):
    defines = [f"-DRM_TEST_FUNCTION={function}", f'-DRM_TEST_B32_HEADER="crlibm/{function}/{function}_b32.h"']
    return lanes(compiled(folder, isa, "b32_lanes.c", *defines, *flags), stride)


def compiled(folder, isa, source, *flags):
    (cc,) = need(os.environ.get("CC", "cc"))
    build = default_build()
    library = ctypes.CDLL(str(build / "librepmath.so"))
    library.rm_isa_available.argtypes = [ctypes.c_char_p]
    if not library.rm_isa_available(isa.encode()):
        pytest.skip(f"this CPU has no {isa}")
    program, root = folder / "lanes", oracle.ROOT
    options = [
        "-std=gnu11",
        "-O2",
        "-ffp-contract=off",
        "-DRM_CFG_STATIC",
        f"-I{root}",
        f"-I{root / 'include'}",
        *COMPILED[isa],
        *flags,
    ]
    source = root / "tests/exhaustive" / source
    subprocess.run([cc, *options, source, build / "librepmath.a", "-fopenmp", "-lpthread", "-o", program], check=True)
    return program


def lanes(program, *arguments):
    """(inputs, open lanes, wrong lanes, the first wrong input)"""
    done = subprocess.run(
        [program, *map(str, arguments)], env={**os.environ, "REPMATH_ISA": "base"}, capture_output=True, text=True
    )
    assert done.returncode in (0, 1), done.stderr
    inputs, count, wrong, first = done.stdout.split()
    return int(inputs), int(count), int(wrong), first


@pytest.mark.sample(3)
@for_all
def test_decided_lanes(tmp_path, isa, function):
    inputs, count, wrong, first = run(tmp_path, isa, function, 509)
    assert wrong == 0, (wrong, first)
    assert count < inputs  # some lanes are decided


@pytest.mark.exhaustive
@for_all
def test_every_input(tmp_path, isa, function):
    _, _, wrong, first = run(tmp_path, isa, function, 1)
    assert wrong == 0, (wrong, first)


@pytest.mark.sample(3)
@for_all
def test_a_bound_that_is_too_small_is_caught(tmp_path, isa, function):
    """The control. The library that it is compared with keeps the true bounds."""
    assert run(tmp_path, isa, function, 509, "-DRM_CFG_BOUND_SHRINK=0x1p-20")[2] > 0


def half_program(folder, isa, function):
    defines = [f"-DRM_TEST_FUNCTION={function}", f"-DRM_TEST_ARITY={oracle.ARITY[function]}"]
    return compiled(folder, isa, "half_lanes.c", *defines, f'-DRM_TEST_HEADER="crlibm/{function}/{function}_b32_half.h"')


@pytest.mark.sample(4)
@pytest.mark.parametrize("function, isa", HALF)
def test_16_bit_inputs(tmp_path, function, isa):
    """All of them; of two arguments, one in 509 of the first. And the control: results that are twice the largest bound off are seen."""
    program = half_program(tmp_path, isa, function)
    inputs, count, wrong, first = lanes(program, 1, 509)
    assert inputs == 2 * 65536 * (129 if oracle.ARITY[function] == 2 else 1) and wrong == 0, (wrong, first)
    # What is left open is infinite, NaN, in f16 zero or subnormal, a power of a negative number, or rare.
    assert count < (0.6 if function != "pow" else 0.8) * inputs
    assert lanes(program, 1 + 2**-14, 509)[2] > 0


def near_midpoints(distance):
    """Numbers x of f16 in [1, 4) whose 1/sqrt(x) is relatively within the distance of a midpoint t/4096: of all others it is as far,
    since 1/sqrt(x/4) = 2/sqrt(x)."""
    found = []
    for x in (Fraction(m << parity, 1024) for parity in (0, 1) for m in range(1024, 2048)):
        t = math.isqrt(math.floor(4096**2 / x))
        for odd in {t - 1 | 1, t + 1 | 1}:
            if (1 - distance) ** 2 <= Fraction(odd, 4096) ** 2 * x <= (1 + distance) ** 2:
                found.append(x)
    return found


def test_rsqrt_of_f16_has_no_midpoints_within_the_error_of_its_estimate():
    assert near_midpoints(Fraction(2**0.5 / 2**22)) == [] and near_midpoints(Fraction(1, 2**21)) != []


@pytest.mark.exhaustive
@pytest.mark.parametrize("function, isa", [(f, isa) for f, isa in HALF if oracle.ARITY[f] == 2])
def test_every_pair(tmp_path, function, isa):
    inputs, _, wrong, first = lanes(half_program(tmp_path, isa, function))
    assert inputs == 2 * 65536**2 and wrong == 0, (wrong, first)
