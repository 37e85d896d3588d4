"""Any public function under foreign floating-point environments, from many threads with forks between, and with allocations that fail."""

import os
import pathlib
import platform
import subprocess
import sys

import native
import pytest

PROGRAM = pathlib.Path(__file__).with_name("calls.py")


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """What the programs have in their environment: the interposer is loaded for all, and idle until it is armed."""
    (cc,) = native.need("cc")
    file = tmp_path_factory.mktemp("interposer") / "interposer.so"
    native.run(cc, "-shared", "-fPIC", "-O1", pathlib.Path(__file__).with_name("interposer.c"), "-ldl", "-o", file)
    return {**os.environ, "LD_PRELOAD": str(file)}


def outcome(environment, what, seed, rounds, *more):
    if what == "memory" and platform.libc_ver()[0] != "glibc":
        pytest.skip("the interposer knows glibc's allocator")
    command = [sys.executable, "-W", "ignore::DeprecationWarning", str(PROGRAM), what, str(seed), str(rounds), *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment if what == "memory" else None)


# seconds: about what a process of so many rounds takes, so that the sample stays small
@pytest.mark.parametrize("what, rounds", [("environments", 150), ("threads", 8), ("memory", 20)])
def test_calls(attack, environment, what, rounds):
    if what == "environments" and platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("only the layout of x86-64 is known here")
    for rng in attack.rounds(1):
        seed = int(rng.integers(2**31))
        done = outcome(environment, what, seed, rounds)
        assert done.returncode == 0, (seed, done.stderr[-2000:])


@pytest.mark.parametrize("what", ["environments", "threads", "memory"])
def test_control(environment, what):
    """With other expected results the programs fail."""
    done = outcome(environment, what, 1, 1, "control")
    assert done.returncode == 1 and "AssertionError" in done.stderr
