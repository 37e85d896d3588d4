"""repmath digest of every kind of file, repmath run, repmath certify."""

import json
import os
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import repmath
from repmath import _files, certificate, cli

ml_dtypes = pytest.importorskip("ml_dtypes")
ARRAYS = {
    "b.weight": np.arange(6, dtype="f4").reshape(2, 3),
    "b.bias": np.array([1.5, np.nan], "f8"),
    "a": np.array([3], "i8"),
    "c": np.array([1, -0.0], ml_dtypes.bfloat16),
}
IN_ORDER = repmath.digest(*(ARRAYS[name] for name in ("a", "b.bias", "b.weight", "c")))


def command(*arguments, folder=None, **environment):
    env = {**os.environ, **environment}
    return subprocess.run([sys.executable, "-m", "repmath", *arguments], env=env, cwd=folder, capture_output=True, text=True)


def written(tmp_path, source, name="script.py"):
    path = tmp_path / name
    path.write_text(textwrap.dedent(source))
    return path


# ---- digest ----


def test_one_digest_in_each_kind_of_file(tmp_path, capsys):
    torch, safetensors = pytest.importorskip("torch"), pytest.importorskip("safetensors.torch")
    tensors = {name: torch.from_numpy(a.view("i2") if name == "c" else a) for name, a in ARRAYS.items()}
    tensors["c"] = tensors["c"].view(torch.bfloat16)
    safetensors.save_file(tensors, tmp_path / "x.safetensors")
    torch.save(tensors, tmp_path / "x.pt")
    torch.save(tensors, tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    assert repmath.digest(ARRAYS) == IN_ORDER
    ours = pytest.importorskip("repmath.torch")
    assert ours.digest(tensors) == ours.digest(dict(reversed(tensors.items()))) == IN_ORDER
    paths = [str(tmp_path / name) for name in ("x.safetensors", "x.pt", "old.pt")]
    assert cli.main(["digest", *paths]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [IN_ORDER] * 3
    del ARRAYS_WITHOUT["c"]
    np.savez(tmp_path / "x.npz", **ARRAYS_WITHOUT)
    assert cli.main(["digest", "--entries", str(tmp_path / "x.npz")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{repmath.digest(ARRAYS_WITHOUT)}  {tmp_path / 'x.npz'}"
    assert lines[2] == f"{repmath.digest(ARRAYS['b.bias'])}  {tmp_path / 'x.npz'}: b.bias"


ARRAYS_WITHOUT = dict(ARRAYS)


def test_nested_entries_of_a_checkpoint(tmp_path):
    """Those of an optimiser: mappings by name, lists in their order, texts and None left out."""
    torch = pytest.importorskip("torch")
    saved = {"step": 7, "state": {1: {"v": torch.ones(2)}, 0: {"v": torch.zeros(2)}}, "lr": [0.5, None, "warm"]}
    torch.save(saved, tmp_path / "x.pt")
    assert list(_files.arrays(tmp_path / "x.pt", cli._of_torch)) == ["lr.0", "state.0.v", "state.1.v", "step"]


def test_a_checkpoint_runs_no_code(tmp_path, capsys):
    torch = pytest.importorskip("torch")
    torch.save({"x": os.system}, tmp_path / "evil.pt")
    assert cli.main(["digest", str(tmp_path / "evil.pt")]) == 1
    err = capsys.readouterr().err
    assert err.startswith(f"repmath digest: {tmp_path / 'evil.pt'}: ") and err.count("\n") == 1


def test_digest_names_what_it_does_not_take():
    for bad in ([np.ones(2), np.ones(3)], {"a": object()}, {"a": [{}]}):
        with pytest.raises(TypeError, match=r"arrays\[1\] (is a|must be)"):
            repmath.digest(1.0, bad)


# ---- run ----

SCRIPT = """
    import sys, threading, torch
    torch.manual_seed(0)
    x = torch.randn(50, 20)
    found = []
    def work():
        found.append(torch.softmax(x, 1).sum(0))
    thread = threading.Thread(target=work); thread.start(); thread.join()
    total = found[0]
    import repmath.torch
    print(repmath.torch.digest(x, total), *sys.argv[1:])
    print(__name__, __file__ == sys.argv[0])
"""


def test_run_is_inside(tmp_path, capsys):
    torch = pytest.importorskip("torch")
    import repmath.torch

    with repmath.torch.reproducible():
        torch.manual_seed(0)
        x = torch.randn(50, 20)
        expected = repmath.torch.digest(x, torch.softmax(x, 1).sum(0))
    path = written(tmp_path, SCRIPT)
    assert cli.main(["run", str(path), "--flag", "7"]) == 0
    assert capsys.readouterr().out.splitlines() == [f"{expected} --flag 7", "__main__ True"]
    done = command("run", "-m", "script", "a", folder=tmp_path, REPMATH_ISA="base")
    assert done.stdout.splitlines()[0] == f"{expected} a", done.stderr


def test_run_ends_as_the_script_does(tmp_path, capsys, monkeypatch):
    pytest.importorskip("torch")
    import repmath.torch

    with pytest.raises(SystemExit) as end:
        cli.main(["run", str(written(tmp_path, "import sys; sys.exit(5)"))])
    assert end.value.code == 5
    with pytest.raises(KeyError, match="mine"):
        cli.main(["run", str(written(tmp_path, "raise KeyError('mine')"))])
    monkeypatch.chdir(tmp_path)
    for missing in (["nowhere.py"], ["-m", "nowhere"]):
        assert cli.main(["run", *missing]) == 2
        assert capsys.readouterr().err.startswith("repmath run: ")
    written(tmp_path, "import nowhere", "inner.py")
    with pytest.raises(ModuleNotFoundError, match="nowhere"):
        cli.main(["run", "-m", "inner"])
    uncovered = written(tmp_path, "import torch; torch.linalg.eigvals(torch.eye(2))")
    with pytest.raises(repmath.torch.UncoveredOperatorError):
        cli.main(["run", str(uncovered)])
    assert cli.main(["run", "--loose", str(uncovered)]) == 0
    assert "PyTorch's own ran 1 times: aten._linalg_eigvals.default" in capsys.readouterr().err
    assert sys.modules["__main__"].__dict__.get("__file__") != str(uncovered)


def test_enable_ends(tmp_path):
    torch = pytest.importorskip("torch")
    import threading

    import repmath.torch
    from repmath.torch import _blocks

    start = threading.Thread.start
    block = repmath.torch.enable()
    try:
        assert isinstance(block, repmath.torch.reproducible) and _blocks.inside()
        with pytest.raises(RuntimeError, match="enabled already"):
            repmath.torch.enable()
        with pytest.raises(repmath.torch.UncoveredOperatorError):
            torch.linalg.eigvals(torch.eye(2))
    finally:
        repmath.torch.disable()
    assert not _blocks.inside() and threading.Thread.start is start
    with pytest.raises(RuntimeError, match="not enabled"):
        repmath.torch.disable()
    with pytest.raises(TypeError, match="strict"):
        repmath.torch.enable(strict=1)
    with pytest.raises(RuntimeError, match="not enabled"):
        repmath.torch.disable()


# ---- certify ----

TRAINING = """
    import os, sys, torch, repmath
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 2)
    for step in range({steps}):
        x = torch.randn(4, 3)
        if step == 3: x = x * float(os.environ.get("FACTOR", "1"))
        model(x).square().mean().backward()
        repmath.certificate.record(f"gradient {{step}}", model.weight.grad)
    total = float(model.weight.grad.sum())
"""


def test_certificate(tmp_path, capsys, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    path = written(tmp_path, TRAINING.format(steps=5))
    assert cli.main(["certify", path.name]) == 0
    assert "5 recorded and 4 named" in capsys.readouterr().out
    file = tmp_path / "script.certificate.json"
    assert file.stat().st_size < 1e5
    same = command("certify", "--check", str(file), str(path), REPMATH_ISA="base", REPMATH_NUM_THREADS="2")
    assert (same.returncode, same.stdout) == (0, "repmath certify: same\n"), same.stderr
    assert cli.main(["certify", "--check", str(file)]) == 0  # the script beside it
    assert capsys.readouterr().out == "repmath certify: same\n"
    (tmp_path / "other").mkdir()
    moved = file.rename(tmp_path / "other" / file.name)
    assert cli.main(["certify", "--check", str(moved)]) == 0  # the script in this folder
    path.rename(tmp_path / "gone.py")
    capsys.readouterr()
    assert cli.main(["certify", "--check", str(moved)]) == 2
    assert "there is no script.py beside" in capsys.readouterr().err
    (tmp_path / "gone.py").rename(path)
    moved.rename(file)
    for words in (["certify"], ["certify", "--loose"]):
        with pytest.raises(SystemExit):
            cli.main(words)
    assert "required: SCRIPT" in capsys.readouterr().err
    with monkeypatch.context() as changed:
        changed.setenv("FACTOR", "1.0001")
        assert cli.main(["certify", "--check", str(file), str(path)]) == 1
    said = capsys.readouterr().out
    assert re.search(r"call \d+, aten.mul.Tensor at script.py:7: the inputs differ; argument 1 is 1.0 and 1.0001\n", said), (
        said
    )
    assert cli.main(["certify", "--check", str(file), str(path), "argument"]) == 2
    path.write_text(path.read_text() + "\n# changed\n")
    assert cli.main(["certify", "--check", str(file), str(path)]) == 2
    assert "script sha256" in capsys.readouterr().err
    assert cli.main(["certify", "--output", "nowhere/x.json", path.name]) == 2
    assert "nowhere/x.json" in capsys.readouterr().err
    (tmp_path / "no.json").write_text("{}")
    for bad in ("no.json", "script.py", "nowhere.json"):
        assert cli.main(["certify", "--check", bad, "script.py"]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_of_many_calls_the_first_that_differs_is_named(tmp_path, monkeypatch):
    """By its fingerprint where few are kept; where it has none it lies between two that are kept, and --calls names it."""
    pytest.importorskip("torch")
    path = written(tmp_path, TRAINING.format(steps=60))
    monkeypatch.setattr(certificate, "MARKS", 16)

    def run(factor, **options):
        monkeypatch.setenv("FACTOR", factor)
        return certificate.certify(path, **options)

    a = run("1")
    b = run("2", against=a)
    assert len(a["calls"]["marks"]) <= 16 < a["calls"]["count"]
    inputs = r"its inputs in this run are float32\[4, 3\] [0-9a-f]{16}, 2.0"
    named = re.fullmatch(
        rf"call (\d+), aten.mul.Tensor at script.py:7: the inputs differ; {inputs}", certificate.compare(a, b)
    )
    assert named, certificate.compare(a, b)
    assert certificate.compare(a, run("2")) == f"call {named[1]}, aten.mul.Tensor: the inputs differ"
    assert certificate.compare(a, run("1", against=a)) is None
    monkeypatch.setattr(certificate, "PRINTS", 10)
    text = certificate.compare(run("1"), run("2"))
    first, last = map(int, text.split("in calls ")[1].split(" (")[0].split(" to "))
    assert f"--calls {first}:{last}" in text
    a, b = (run(factor, calls=range(first, last + 1)) for factor in "12")
    said = f"call {named[1]}, aten.mul.Tensor at script.py:7: the inputs differ; argument 1 is 1.0 and 2.0"
    assert certificate.compare(a, b) == said
    with pytest.raises(certificate.CertificateError, match="fingerprints"):
        certificate.compare(a, {**b, "calls": {**b["calls"], "fingerprints": "?"}})


def test_a_build_that_returns_other_bits_is_named(tmp_path, monkeypatch, capsys):
    """An operator whose last bit is another, as of a faulty build: its inputs are the same, and are shown."""
    torch = pytest.importorskip("torch")
    from repmath import _core
    from repmath.torch._aten import prepared, table

    path = written(tmp_path, "import torch\nx = torch.arange(4.0) / 3\ny = torch.exp(x)\nz = y.sum()\n")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["certify", path.name]) == 0
    exp = torch.ops.aten.exp.default

    right = table.FUNCTIONS[exp]
    restored = prepared._call(exp, right)

    def faulty(x):
        return torch.nextafter(right(x), torch.tensor(9.0))

    monkeypatch.setitem(table.FUNCTIONS, exp, faulty)
    _core.prepare_call(exp, _core.Call())  # which takes none
    try:
        capsys.readouterr()
        assert cli.main(["certify", "--check", "script.certificate.json"]) == 1
    finally:
        _core.prepare_call(exp, restored)
    said = capsys.readouterr().out
    same = r"its inputs are the same: float32\[4\] \w{16}\n"
    assert re.search(rf"call 2, aten.exp.default at script.py:3: the outputs differ, \w+ and \w+; {same}", said), said
    assert cli.main(["certify", "--check", "script.certificate.json"]) == 0


def test_a_script_of_numpy(tmp_path):
    """What a script names at its end is compared, in the order in which it was named."""
    path = written(
        tmp_path,
        """
        import os, numpy as np, repmath
        x = np.linspace(0, 1, 7)
        y = repmath.exp(x) + float(os.environ.get("PLUS", "0"))
        z = y.sum()
        text = "not a number"
        """,
    )
    a = certificate.certify(path)
    assert [entry["name"] for entry in a["named"]] == ["x", "y", "z"]
    assert json.loads(json.dumps(a)) == a
    os.environ["PLUS"] = "1e-9"
    try:
        assert certificate.compare(a, certificate.certify(path)).startswith("named y differs: ")
    finally:
        del os.environ["PLUS"]
    certificate.record("outside", x := np.ones(2))  # does nothing
    with pytest.raises(TypeError, match="name"):
        certificate.record(x)


def test_info_into_a_closed_pipe():
    done = subprocess.run(
        f"{sys.executable} -m repmath info | {sys.executable} -c pass; exit ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, 141) and done.stderr == ""
