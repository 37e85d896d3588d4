"""The library compiled for aarch64 and run under an emulator: the digests of this machine's own build."""

import re

import pytest
from native import build, default_build, digests, need, run

SHRINK = 20  # the emulator is slow; both sides compute the smaller samples


@pytest.fixture(scope="module")
def cross():
    """The cross build and the emulator; the programs are static, so the emulator needs no system image."""
    cc, qemu = need("aarch64-linux-gnu-gcc", "qemu-aarch64")
    where = build(
        "aarch64",
        "CMAKE_SYSTEM_NAME=Linux",
        "CMAKE_SYSTEM_PROCESSOR=aarch64",
        f"CMAKE_C_COMPILER={cc}",
        "CMAKE_EXE_LINKER_FLAGS=-static",
        "CMAKE_BUILD_TYPE=Cross",
        "CMAKE_C_FLAGS=-O2",  # no option changes a bit, and this one compiles in half the time
        "REPMATH_BUILD_TESTS=ON",
    )
    return where, qemu


@pytest.fixture(scope="module")
def expected():
    return digests(default_build(), SHRINK)


@pytest.mark.parametrize("isa", ["base", "neon"])
def test_digests(cross, expected, isa):
    where, qemu = cross
    assert digests(where, SHRINK, wrapper=[qemu], env={"REPMATH_ISA": isa}) == expected


@pytest.mark.parametrize("isa", ["base", "neon"])
@pytest.mark.parametrize("name", ["test_status", "test_env", "test_strides"])
def test_c_tests(cross, name, isa):
    where, qemu = cross
    out = run(qemu, where / "tests/c" / name, env={"REPMATH_ISA": isa})
    assert re.search(r"\d+ passed, 0 failed", out), out


def test_isa_choice(cross):
    where, qemu = cross
    out = run(qemu, where / "tests/c" / "test_isa")
    assert "neon: available" in out and "avx2: not available" in out
