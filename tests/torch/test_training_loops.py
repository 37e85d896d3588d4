"""The loops of transformers, Lightning and accelerate inside of reproducible(): the same bits on another instruction set, or as without them."""

import importlib
import json
import os
import subprocess
import sys
import warnings

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")
import torch  # noqa: E402
import training_loops  # noqa: E402

from repmath.torch import _blocks  # noqa: E402
from repmath.torch._training import Training  # noqa: E402

NEEDS = {"transformers": ("transformers", "accelerate"), "lightning": ("lightning",), "accelerate": ("accelerate",)}


def need(name):
    for package in NEEDS[name]:
        pytest.importorskip(package, reason=f"{package} is not installed")


def quiet(call):
    """Its result, without warnings but that of parameters that were made outside, which is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", message=".*outside of reproducible")
        return call()


def test_transformers_on_another_instruction_set():
    need("transformers")
    digests = quiet(training_loops.transformers)
    assert list(digests) == [0, 2, 4, 5] and len(set(digests.values())) == 4
    assert not _blocks.inside()
    command = [sys.executable, "-W", "ignore", training_loops.__file__, "transformers"]
    done = subprocess.run(command, env={**os.environ, "REPMATH_ISA": "base"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    elsewhere = json.loads(done.stdout.splitlines()[-1])["transformers"]
    assert {str(k): v for k, v in digests.items()} == elsewhere


def test_lightning_changes_no_bit():
    need("lightning")
    assert quiet(training_loops.lightning) == training_loops.batch_by_batch()
    assert not _blocks.inside()


def test_without_the_callback_the_bits_are_others():
    """A control: PyTorch rounds otherwise."""
    need("transformers")
    from repmath.torch.transformers import ReproducibleCallback

    class Last(ReproducibleCallback):
        def on_train_end(self, args, state, control, **kwargs):
            super().on_train_end(args, state, control, model=kwargs["model"])  # the optimiser is left out

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert training_loops.transformers(Last())[5] != training_loops.transformers(None)[5]


def test_accelerate_changes_no_bit():
    need("accelerate")
    assert training_loops.accelerate() == training_loops.accelerate(prepared=False)


def test_a_training_that_fails():
    """Lightning says so, and the block is left."""
    need("lightning")
    with pytest.raises(ValueError, match="a step that fails"):
        quiet(lambda: training_loops.lightning(fails=True))
    assert not _blocks.inside()


def test_a_training_of_transformers_that_fails():
    """The block is left by close."""
    need("transformers")
    from repmath.torch.transformers import ReproducibleCallback

    callback = ReproducibleCallback()
    data = [{"input_ids": torch.zeros(3, dtype=torch.int64), "labels": torch.full((3,), 70)}] * 4  # no such class
    with pytest.raises(Exception, match="70|bounds|range|class"):
        training_loops.transformers(callback, data=data)
    assert _blocks.inside()
    callback.close()
    callback.close()
    assert not _blocks.inside()


def test_a_schedule_of_the_c_library_is_told():
    need("transformers")
    from repmath.torch.transformers import ReproducibleCallback

    callback = ReproducibleCallback()
    with pytest.warns(UserWarning, match="'cosine' computes learning rates"):
        training_loops.transformers(callback, lr_scheduler_type="cosine", max_steps=1)
    assert list(callback.digests) == [0, 1]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ((0, True, None), ValueError, "every must be at least 1, not 0"),
        (("2", True, None), TypeError, "every must be an integer or None, not str"),
        ((1, 1, None), TypeError, "strict must be True or False, not 1"),
        ((1, True, "exact "), ValueError, "gradients must be None or 'exact', not 'exact '"),
    ],
)
def test_arguments(options, error, message):
    with pytest.raises(error, match=message):
        Training(*options)


@pytest.mark.parametrize("name", ["transformers", "lightning"])
def test_without_the_package(name, monkeypatch):
    for package in ("transformers", "lightning.pytorch", "pytorch_lightning"):
        monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"repmath.torch.{name}", raising=False)
    with pytest.raises(ImportError, match=f"repmath.torch.{name} needs {name}.*: pip install {name}"):
        importlib.import_module(f"repmath.torch.{name}")
