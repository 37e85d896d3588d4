"""A network trained with repmath alone ends in one state on every instruction set and number of threads."""

import os
import pathlib
import subprocess
import sys

import repmath

PROGRAM = pathlib.Path(__file__).resolve().parents[1] / "support/training_program.py"


def digest(isa: str, threads: int) -> str:
    env = os.environ | {"REPMATH_ISA": isa, "REPMATH_NUM_THREADS": str(threads)}
    done = subprocess.run([sys.executable, str(PROGRAM)], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_one_digest():
    found = {(isa, threads): digest(isa, threads) for isa in repmath._core.available_isas() for threads in (1, 2)}
    assert len(set(found.values())) == 1, found
    assert len(next(iter(found.values()))) == 64
