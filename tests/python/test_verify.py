"""repmath verify: the published digests hold, and a wrong one is noticed and named."""

import functools
import json
import shutil
import signal
import subprocess
import sys
from fractions import Fraction

import exact_oracle
import golden_sets
import numpy as np
import pytest

import repmath
from repmath import _golden, _published_operators, cli, verify

pytest.importorskip("ml_dtypes")
FUNCTIONS = list(repmath._core.ufuncs)
OPERATORS = [(name, fmt) for name in _published_operators.OPERATORS for fmt in _published_operators.formats(name)]


def test_package_data_is_the_repository_s():
    for function in FUNCTIONS:
        assert _golden.load(function) == golden_sets.load(function) != {}
        assert set(_golden.load(function)) == set(_golden.FORMATS)


def test_sizes_are_those_of_the_sets():
    for fmt in ("f16", "bf16", "f32", "f64"):
        for arity in (1, 2):
            assert sum(len(chunk[0]) for chunk in _golden.chunks(fmt, arity)) == _golden.size(fmt, arity)
    assert np.array_equal(next(_golden.chunks("f32", 1, True))[0][:1000], np.arange(1000))


@pytest.mark.long
def test_everything_but_all_f32(capsys):
    assert cli.main(["verify"]) == 0
    out = capsys.readouterr().out
    count = 4 * len(FUNCTIONS) + len(OPERATORS) + 1
    assert out.count(" ok ") == count
    assert f"all {count} results are the published ones" in out.splitlines()[-1]
    assert "a training of 20 steps ok" in out and "agrees with the published digest" in out


def test_a_wrong_digest_is_named(tmp_path, monkeypatch, capsys):
    shutil.copytree(_golden.FOLDER, tmp_path / "golden")
    monkeypatch.setattr(_golden, "FOLDER", tmp_path / "golden")
    path = tmp_path / "golden/log.json"
    data = json.loads(path.read_text())
    data["formats"]["f16"]["sha256"] = "0" * 64
    path.write_text(json.dumps(data))
    (tmp_path / "golden/erf.json").unlink()
    assert cli.main(["verify", "--format", "f16"]) == 1
    captured = capsys.readouterr()
    assert f"log f16 differs on {repmath.config()['isa']}" in captured.err
    assert "no digest is published" in captured.out
    last = captured.out.splitlines()[-1]
    assert last.endswith(
        f"of {len(FUNCTIONS) + len(_published_operators.OPERATORS) - WITHOUT_F16} results 1 differ from the published ones, and of 1 none is published."
    )
    assert cli.main(["verify", "--format", "f16", "--function", "exp"]) == 0


WITHOUT_F16 = sum("f16" not in _published_operators.formats(name) for name in _published_operators.OPERATORS)


def test_operators_are_all_published():
    published = _published_operators.load()
    assert [(name, fmt) for name in published for fmt in published[name]] == OPERATORS
    assert len({digest for entry in published.values() for digest in entry.values()}) == len(OPERATORS)


def test_a_wrong_digest_of_an_operator_is_named(monkeypatch, capsys):
    published = _published_operators.load()
    published["softmax"]["f32"] = "0" * 64
    monkeypatch.setattr(_published_operators, "load", lambda: published)
    assert verify._operators(["f32"]) == (len(published) - 1, 1)
    captured = capsys.readouterr()
    assert "softmax f32 differs on" in captured.err and captured.out.count("DIFFERS") == 1


@pytest.mark.parametrize("fmt", ["f16", "bf16", "f32", "f64"])
def test_published_operators_are_the_definition(fmt):
    """Sums, products and scattered sums, from rational numbers."""
    dtype = repmath._dtypes.FORMATS[fmt]
    rn = np.vectorize(lambda v: exact_oracle.rounded(v, np.dtype(dtype)), otypes=["u8"])

    def rational(x):
        return np.vectorize(Fraction, otypes=[object])(x.astype("f8"))

    def digest(*values):
        return repmath.digest(*(np.asarray(rn(v)).astype(f"u{np.dtype(dtype).itemsize}").view(dtype) for v in values))

    published = {name: entry[fmt] for name, entry in _published_operators.load().items() if fmt in entry}
    x = rational(_published_operators.Source(dtype).wide(64, 500))
    assert digest(x.sum(1), x.sum(0), x.sum()) == published["sum"]
    assert digest(x.sum(1) / 500) == published["mean"]
    source = _published_operators.Source(dtype)
    a, b = rational(source.wide(40, 300)), rational(source.wide(300, 50))
    product = a @ b
    assert digest(product, product[:1]) == published["matmul"]
    source = _published_operators.Source(dtype)
    y, index, terms = rational(source.wide(40, 6)), source.index(40, 900), rational(source.wide(900, 6))
    np.add.at(y, index, terms)
    assert digest(y) == published["index_add"]


def digest_of(path, capsys):
    status = cli.main(["digest", *map(str, path)])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_digest_of_files(tmp_path, capsys):
    """A file that is no array is one line on stderr; the others are read."""
    good, empty, cut, text = (tmp_path / name for name in ("good.npy", "empty.npy", "cut.npy", "text.npy"))
    np.save(good, np.arange(5.0))
    empty.write_bytes(b"")
    cut.write_bytes(good.read_bytes()[:-3])
    text.write_text("no array")
    archive, broken, objects = (tmp_path / name for name in ("two.npz", "broken.npz", "objects.npy"))
    np.savez(archive, a=np.ones(2))
    broken.write_bytes(archive.read_bytes()[:40])
    np.save(objects, np.array([None]), allow_pickle=True)
    bad = [empty, cut, text, broken, objects, tmp_path / "missing.npy", tmp_path]
    status, out, err = digest_of([*bad, archive, good], capsys)
    assert status == 1
    assert out == f"{repmath.digest(np.ones(2))}  {archive}\n{repmath.digest(np.arange(5.0))}  {good}\n"
    lines = err.splitlines()
    assert [line.startswith(f"repmath digest: {path}: ") for line, path in zip(lines, bad, strict=True)] == [True] * len(bad)
    assert lines[0].endswith("the file is empty")
    assert digest_of([good], capsys)[0] == 0


def test_interrupted():
    """Ctrl-C ends the command with the status that shells give it, and without a traceback."""
    command = [sys.executable, "-m", "repmath", "verify", "--format", "f64"]
    heard = functools.partial(
        signal.signal, signal.SIGINT, signal.default_int_handler
    )  # also where the tests run in the background
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes, preexec_fn=heard) as running:
        assert "f64" in running.stdout.readline()
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=60)
    assert (running.returncode, err) == (130, "")


@pytest.mark.exhaustive
def test_every_f32_input():
    assert cli.main(["verify", "--format", "f32", "--all"]) == 0
