"""The library compiled for aarch64 and run under an emulator: the digests of this machine's own build."""

import re

import pytest
from native import cross_aarch64, default_build, digests, for_platforms, run

SHRINK = 20  # the emulator is slow; both sides compute the smaller samples


@pytest.fixture(scope="module")
def cross():
    return cross_aarch64()


@pytest.fixture(scope="module")
def expected():
    return digests(default_build(), SHRINK)


@pytest.mark.parametrize("isa", ["base", "neon"])
def test_digests(cross, expected, isa):
    where, qemu = cross
    assert digests(where, SHRINK, wrapper=[qemu], env={"REPMATH_ISA": isa}) == expected


@pytest.mark.long
@pytest.mark.parametrize(
    "isa", [pytest.param("base", marks=for_platforms("one lane under an emulator takes minutes")), "neon"]
)
@pytest.mark.parametrize("name", ["test_status", "test_env", "test_strides"])
def test_c_tests(cross, name, isa):
    where, qemu = cross
    out = run(qemu, where / "tests/c" / name, env={"REPMATH_ISA": isa})
    assert re.search(r"\d+ passed, 0 failed", out), out


def test_isa_choice(cross):
    where, qemu = cross
    out = run(qemu, where / "tests/c" / "test_isa")
    assert "neon: available" in out and "avx2: not available" in out
