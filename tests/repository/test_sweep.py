"""bench/sweep measures cases, goes on where it was stopped, and is not held up by a call that does not end."""

import contextlib
import importlib
import pathlib
import sys

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")
ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def sweep(monkeypatch):
    """Its modules, by name."""
    import torch

    import repmath

    monkeypatch.syspath_prepend(str(ROOT))
    before = torch.get_num_threads(), repmath.get_num_threads()
    yield lambda name: importlib.import_module(f"bench.sweep.{name}")
    torch.set_num_threads(before[0])
    repmath.set_num_threads(before[1])


def measured(sweep, path, *options):
    options = sweep("__main__").parsed(["--quick", "--budget", "1", "--results", str(path), *options])
    sweep("worker").run(options, path)
    return options, list(sweep("worker").finished(path).values())


def test_a_part(sweep, tmp_path, capsys):
    part = (
        "--group",
        "rows",
        "optimizers",
        "NumPy functions",
        "--only",
        "softmax over 0",
        "SGD, fused",
        "functions var over 1",
    )
    part += ("--dtype", "f32", "--values", "gaussian", "masked")
    path = tmp_path / "part.jsonl"
    options, found = measured(sweep, path, *part)
    cases = {(r["group"], r["name"], r["values"], r["direction"]) for r in found}
    assert {
        ("rows", "softmax over 0", "masked", "backward"),
        ("optimizers", "SGD, fused", "gaussian", "step"),
        ("NumPy functions", "var over 1", "gaussian", "forward"),
    } <= cases
    assert all(
        r["ratio"] > 0 and r["quartiles"][0] <= r["ratio"] <= r["quartiles"][1] and r["tiers"] is not None for r in found
    )
    sweep("report").report(options)
    page = capsys.readouterr().out
    assert f"{len(found)} cases measured, 0 stopped, 0 skipped" in page and "special values / Gaussian" in page

    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]) + lines[-1][:20])  # stopped in its last case, which is measured again
    again = measured(sweep, path, *part)[1]
    assert [r["case"] for r in again] == [r["case"] for r in found] and again[:-1] == found[:-1]


PROGRAM = """
import json, os, sys, time
path = sys.argv[1]
held = not os.path.exists(path)
about = {"case": "held" if held else "ends", "group": "rows", "name": "x", "values": "gaussian", "direction": "forward", "threads": 1}
with open(path, "a") as file:
    file.write(json.dumps({"began": time.time(), **about, "dtype": "f32"}) + chr(10))
if held:
    time.sleep(600)
if sys.argv[2] == "crash" and open(path).read().count("ended with") == 0:
    os._exit(3)
"""


@pytest.mark.parametrize("end", ["well", "crash"])
def test_a_call_that_does_not_end(sweep, tmp_path, end):
    path = tmp_path / "held.jsonl"
    options = sweep("__main__").parsed(["--results", str(path), "--longest", "0.05"])
    sweep("__main__").supervise(options, [sys.executable, "-c", PROGRAM, str(path), end])
    found = sweep("worker").finished(path)
    assert found["held"]["stopped"] == 0.05
    assert end == "well" or found["ends"]["skipped"] == "the process ended with 3"


def test_overheads_are_those_of_operators_that_round(sweep, monkeypatch):
    """The calls that are timed: of the operators of a case those that round, not neg, which runs unchanged; in turns inside and outside of a block."""
    import torch

    import repmath.torch as rt

    overheads = sweep("overheads")
    x, refused = torch.ones(4, 4), []
    with overheads.Recorder() as recorder:
        torch.mm(torch.neg(x), torch.exp(x)).t()
    assert set(recorder.calls) == {torch.ops.aten.mm.default, torch.ops.aten.exp.default}

    class Case:
        group, far, shape, name = "samples", 0, "4x4", "mm and exp"

        def make(self):
            made = type("Made", (), {})()
            made.within = {"PyTorch": contextlib.nullcontext, "repmath": rt.reproducible}
            made.calls = dict.fromkeys(made.within, lambda: torch.mm(torch.neg(x), torch.exp(x)))
            return made

    monkeypatch.setattr(overheads, "chosen", lambda options: [Case()])
    found = overheads.overheads()
    assert set(found) == {"mm", "exp"} and all(inside > 0 and outside > 0 for inside, outside in found.values())
    assert "median of 2" in list(overheads.table())[-1]

    def uncovered(*args):
        try:
            torch.linalg.eigvals(x)
        except rt.UncoveredOperatorError:
            refused.append(True)

    uncovered._schema = torch.ops.aten.exp.default._schema
    for within, times in ((rt.reproducible, overheads.CALLS), (contextlib.nullcontext, 0)):
        refused.clear()
        overheads.seconds(uncovered, ((x,), {}), within)
        assert len(refused) == times


def test_overheads_in_the_benchmark(sweep, monkeypatch):
    """Least, greatest and median of what the block adds, not of the call as a whole."""
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    training = importlib.import_module("training")
    times = {"exp": (5e-6, 4e-6), "mm": (9e-6, 2e-6), "sum": (4e-6, 2e-6)}
    monkeypatch.setattr(sweep("overheads"), "overheads", lambda: times)
    monkeypatch.setattr(training, "CASES", {})
    lines = {line["case"]: round(1e6 * line["seconds"]["repmath"], 3) for line in training.training(quick=True)}
    assert lines == {
        "reproducible(), least overhead of an operator (exp)": 1,
        "reproducible(), greatest overhead of an operator (mm)": 7,
        "reproducible(), median overhead of 3 operators": 2,
    }
