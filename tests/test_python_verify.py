"""repmath verify: the published digests hold, and a wrong one is noticed and named."""

import json
import shutil

import golden_sets
import numpy as np
import pytest

import repmath
from repmath import cli, verify

pytest.importorskip("ml_dtypes")
if not all((verify.GOLDEN / f"{fmt}.json").exists() for fmt in ("f16", "bf16", "f32", "f64")):
    pytest.skip("the installed package holds no golden digests", allow_module_level=True)


@pytest.mark.parametrize("fmt", ["f16", "bf16", "f64"])
def test_inputs_are_those_of_the_definition(fmt):
    assert np.array_equal(np.concatenate(list(verify.chunks(fmt, False))), golden_sets.inputs(fmt))


def test_f32_inputs():
    strided = np.concatenate(list(verify.chunks("f32", False)))
    assert np.array_equal(strided, golden_sets.inputs("f32"))
    every = verify.chunks("f32", True)
    first = next(every)
    assert np.array_equal(first, np.arange(first.size, dtype=np.uint32))


def test_package_data_is_the_repository_s():
    for fmt in ("f16", "bf16", "f32", "f64"):
        assert verify.published(fmt) == golden_sets.load(fmt)
        assert list(verify.published(fmt)) == list(repmath._core.ufuncs)


def test_everything_but_all_f32(capsys):
    assert cli.main(["verify"]) == 0
    out = capsys.readouterr().out
    assert out.count(" ok ") == 4 * len(repmath._core.ufuncs)


def test_a_wrong_digest_is_named(tmp_path, monkeypatch, capsys):
    shutil.copytree(verify.GOLDEN, tmp_path / "golden")
    monkeypatch.setattr(verify, "GOLDEN", tmp_path / "golden")
    path = tmp_path / "golden/f16.json"
    data = json.loads(path.read_text())
    data["functions"]["log"]["sha256"] = "0" * 64
    del data["functions"]["erf"]
    path.write_text(json.dumps(data))
    assert cli.main(["verify", "--format", "f16"]) == 1
    captured = capsys.readouterr()
    assert f"log f16 differs on {repmath.config()['isa']}" in captured.err
    assert "no digest is published" in captured.out
    assert cli.main(["verify", "--format", "f16", "--function", "exp"]) == 0


@pytest.mark.exhaustive
def test_every_f32_input():
    assert cli.main(["verify", "--format", "f32", "--all"]) == 0
