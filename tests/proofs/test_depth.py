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
    programs = {path for path in (ROOT / "proofs/depth").glob("*.c") if str(path.relative_to(ROOT)) not in run.PLAIN}
    assert set(run.CHECKS) == {path.stem for path in programs}


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


@pytest.mark.parametrize("name", run.CHECKS)
def test_programs_follow_the_library(tmp_path, name):
    """Short runs, so that a source that changes cannot leave its program behind until the long tests run."""
    need(shlex.split(os.environ.get("CC", "cc"))[0])
    program = run.compiled(tmp_path, run.objects(tmp_path), name, "AVX512")
    status, text = run.run(program, 40)
    assert status == 0 and not run.beyond(text) and len(text.splitlines()) >= run.CHECKS[name], text
    assert run.run(program, 40, 7)[0] == 1
