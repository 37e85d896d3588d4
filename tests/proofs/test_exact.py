"""proofs/exact: what rounding tests are given is within their bounds of the exact numbers. One build and a few rounds; `make proofs` runs more."""

import os
import shlex
import subprocess
import sys

import pytest
from native import ROOT, need

sys.path.insert(0, str(ROOT))

from proofs.exact import sites  # noqa: E402


@pytest.mark.long
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


def test_every_rounding_test_is_watched():
    """A new test is recognised too, by the primitives that it is made of or by its name and its bound."""
    assert sites.all_unwatched() == []
    calls = sites.sites()
    assert {site.test for site in calls} == sites.recording() and len(set(calls)) == len(calls)
    new = {
        "rm_round_dd( in decide": "static int decide(const sums *s, int j) {\n  *bits = rm_round_dd(s->hi, 0.0, e, 0, 0, 0, 0, &u);\n}\n",
        "rm_round_dd(": "RM_FN int f(double x, double e) {\n  rm_round_dd(x, 0.0, e, 0, 0, 0, 0, &u);\n}\n",
        "== rm_bits64(": "static int f(double x, double e) {\n  return rm_bits64(x - e) == rm_bits64(x + e);\n}\n",
        "vf64_undecided_f64(": "RM_FN vm64 f(vf64 x) {\n  return vf64_undecided_f64(x, x, x, 0);\n}\n",
        "takes a bound": "RM_STATIC int rm_decide_new(double x, double err) {\n  return x > err;\n}\n",
    }
    for what, text in new.items():
        found = sites.unwatched("src/nn/new.h", text)
        assert len(found) == 1 and what in found[0], (what, found)
    old = "RM_FN int f(double x) {\n  return rm_dd_ball_round(x, 0, 0, 0, 0);\n}\n"  # a call of a watched test is watched
    assert sites.unwatched("src/nn/new.h", old) == []
