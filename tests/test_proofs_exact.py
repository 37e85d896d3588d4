"""proofs/exact: what rounding tests are given is within their bounds of the exact numbers. One build and a few rounds; `make proofs` runs more."""

import os
import shlex
import subprocess
import sys

from native import ROOT, need


def test_errors_are_within_the_bounds_of_the_tests():
    need(shlex.split(os.environ.get("CC", "cc"))[0])
    done = subprocess.run(
        [sys.executable, ROOT / "proofs/exact/run.py", "--lanes", "4", "--fma", "0", "--rounds", "4"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "are seen" in done.stdout and "FAILED" not in done.stdout
