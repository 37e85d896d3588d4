"""proofs/depth: no term of a sum or product passes more roundings than its bound counts. A sample; the script runs all."""

import os
import shlex
import subprocess
import sys

import pytest
from native import ROOT, need

sys.path.insert(0, str(ROOT))

from proofs.depth import run  # noqa: E402


def test_every_program_is_run():
    assert set(run.CHECKS) == {path.stem for path in (ROOT / "proofs/depth").glob("*.c")}


@pytest.mark.long
def test_counts_are_within_what_the_bounds_allow():
    need(shlex.split(os.environ.get("CC", "cc"))[0])
    done = subprocess.run(
        [sys.executable, ROOT / "proofs/depth/run.py", "--quick"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "control" in done.stdout and "FAILED" not in done.stdout
