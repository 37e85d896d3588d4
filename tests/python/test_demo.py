"""The demo's published digests: a run agrees with them, or is told where it parts; README.md shows them; the tool writes both."""

import importlib.util
import json

import numpy as np
import pytest
from native import ROOT

from repmath import verify
from repmath.demo import published, runs


@pytest.fixture
def golden(tmp_path, monkeypatch):
    """A copy of the published digests that a test may change."""
    file = tmp_path / "published.json"
    file.write_text(published.FILE.read_text())
    monkeypatch.setattr(published, "FILE", file)

    def change(name, **entries):
        data = json.loads(file.read_text())
        data[name] |= entries
        file.write_text(json.dumps(data))

    return change


def run_of(name):
    """A run that is as published."""
    entry = published.load()[name]
    return runs.Run(
        "NumPy", "a test", {}, [], entry["sha256"], steps=entry["steps"], text=entry.get("text", ""),
        marks={int(step): digest for step, digest in entry.get("marks", {}).items()},
        losses=np.array([float.fromhex(v) for v in entry.get("losses", [])]),
    )  # fmt: skip


def test_where_a_run_parts(golden):
    for name in ("generated", "digits", "gpt2"):
        assert published.compare(name, run_of(name)) == (True, published.AGREES)
    run = run_of("digits")
    run.digest = "0" * 64
    assert published.compare("digits", run) == (False, "parts from the published training after step 100")
    run.marks[20] = run.marks[50] = run.marks[100] = "1" * 64
    assert published.compare("digits", run) == (False, "parts from the published training between steps 10 and 20")
    run.marks[0] = "2" * 64
    assert published.compare("digits", run) == (False, "parts from the published training before its first step")
    run = run_of("gpt2")
    run.digest, run.losses = "0" * 64, run.losses.copy()
    run.losses[7] = np.nextafter(run.losses[7], 9)
    assert published.compare("gpt2", run) == (False, "parts from the published training at the loss of step 7")
    run = run_of("gpt2")
    run.text = "3" * 64
    good, sentence = published.compare("gpt2", run)
    assert good and sentence.startswith("no digest is published for this Python's text: it is that of Python 3")
    run = run_of("digits")
    run.steps = 3
    assert published.compare("digits", run) == (False, "the published training has 200 steps, this one 3")
    assert published.compare("another", run) == (False, "no digest is published of another")


def test_the_training_of_verify(golden, capsys):
    assert verify._training()
    assert published.AGREES in capsys.readouterr().out
    golden("generated", sha256="0" * 64)
    assert not verify._training()
    seen = capsys.readouterr()
    assert "DIFFERS" in seen.out and "parts from the published training after step 10" in seen.err


def test_agreement_is_said(golden, capsys):
    same, other = run_of("digits"), run_of("digits")
    other.digest = "4" * 64
    assert runs.agreement("digits", [same, same]) == []
    assert capsys.readouterr().out == "2 of 2 runs: agrees with the published digest.\n"
    assert runs.agreement("digits", [same, other]) == ["NumPy, a test: parts from the published training after step 100"]


def test_readme_has_the_digests():
    """As `python tools/publish_demo.py` writes them."""
    spec = importlib.util.spec_from_file_location("publish_demo", ROOT / "tools/publish_demo.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    entries = json.loads(tool.FILE.read_text())
    readme = (ROOT / "README.md").read_text()
    assert tool.in_readme(readme, entries) == readme
    assert all(entry["sha256"] in readme for entry in entries.values()) and set(entries) == set(tool.NAMES)
    assert published.load() == entries
    assert tool.in_readme(readme, {}) != readme


def test_the_threshold():
    assert runs.REQUIRED_ACCURACY == 0.95


@pytest.mark.parametrize("cpu,expected", [(["base"], {"default"}), (["avx2", "base"], {"default", "avx2"})])
def test_pytorch_s_own_runs_are_of_builds_that_the_cpu_has(monkeypatch, cpu, expected):
    """Another build would end the process: it has instructions that the CPU lacks."""
    monkeypatch.setattr(runs.repmath, "config", lambda: {"available isas": cpu})
    assert {run.setting["ATEN_CPU_CAPABILITY"] for run in runs.plain_runs()} == expected
