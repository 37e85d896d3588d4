"""PyTorch's DistributedDataParallel with rd.ddp_hook: the digest of one process, on any number of ranks."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="this PyTorch has no torch.distributed")

import loopback  # noqa: E402
import ranks  # noqa: E402
from batch_models import GLOBAL_MODELS, ITEMS, MODELS  # noqa: E402
from rank_training import QUICK, WAYS, train  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import repmath  # noqa: E402
import repmath.torch  # noqa: E402
import repmath.torch.distributed as rd  # noqa: E402
from repmath.torch._exact.exchange import owners  # noqa: E402

SIZES = (1, 2, 3)


@pytest.fixture(scope="module")
def found(tmp_path_factory, quick):
    directory = tmp_path_factory.mktemp("ranks")
    ranks.run("rank_training", directory, *SIZES, env={"RANK_QUICK": "1"} if quick else {})
    return {
        (size, rank): json.loads((directory / f"{size}-{rank}.json").read_text()) for size in SIZES for rank in range(size)
    }


@pytest.mark.parametrize("name", MODELS)
def test_any_number_of_ranks_has_the_digest_of_one_process(found, name, quick):
    expected = train(name)
    for (size, rank), mine in found.items():
        assert mine[name] == dict.fromkeys(QUICK[size] if quick else WAYS, expected), (size, rank)
    assert {way for mine in found.values() for way in mine[name]} == set(WAYS)


@pytest.mark.parametrize("name", GLOBAL_MODELS)
def test_draws_and_batch_norms_are_those_of_the_whole_batch(found, name, quick):
    expected = train(name)
    for (size, rank), mine in found.items():
        if size > 1:
            assert mine[name] == dict.fromkeys(QUICK[size] if quick else WAYS, expected), (size, rank)


@pytest.mark.parametrize("name", ["gpt2", "cnn"])
def test_parts_of_sums_have_the_digest_of_one_process(found, name):
    """Where they decide, and where most elements need the operands of all ranks."""
    expected = train(name)
    asked = 0
    for (size, rank), mine in found.items():
        if size == 3:
            (decided, _), (undecided, times) = mine["parts"][name]
            assert decided == undecided == expected, (size, rank)
            asked += times
    assert asked > 20


def test_passes_of_a_step_draw_from_one_state():
    def numbers(passes, seed=3):
        torch.manual_seed(seed)
        made = []
        for first, count in passes:
            with rd.global_batch(first, count, 6):
                x = torch.ones(count, 5)
                made.append((F.dropout(x, 0.5), torch.rand_like(x), torch.randn_like(x)))
        torch.optim.SGD([torch.zeros(1, requires_grad=True)], 0.1).step()
        return [torch.cat(parts) for parts in zip(*made, strict=True)], torch.rand(1)

    with repmath.torch.reproducible():
        whole, after = numbers([(0, 6)])
        parts, later = numbers([(0, 1), (1, 3), (4, 2)])
        assert all(map(torch.equal, whole, parts)) and torch.equal(after, later)
        assert not torch.equal(numbers([(0, 6)], 4)[0][1], whole[1])
        torch.manual_seed(3)
        assert torch.equal(F.dropout(torch.ones(6, 5), 0.5), whole[0])  # as without


def test_what_global_batch_refuses():
    with pytest.raises(ValueError, match="are not among"):
        rd.global_batch(3, 4, 6)
    with repmath.torch.reproducible():
        for call, text in (
            (lambda: F.dropout(torch.ones(3, 2), 0.5), "first axis is not the batch"),
            (lambda: torch.randn(2), "it draws numbers"),
            (lambda: F.batch_norm(torch.ones(2, 3), None, None, training=True), "not the whole batch"),
        ):
            with rd.global_batch(2, 2, 6), pytest.raises(repmath.torch.UncoveredOperatorError, match=text):
                call()


def test_a_batch_norm_without_gradients_that_are_exact():
    with repmath.torch.reproducible():
        found = []
        for inside in (False, True):
            torch.manual_seed(0)
            model, (x, y), loss = GLOBAL_MODELS["batch norm"]()
            with rd.global_batch(0, ITEMS, ITEMS) if inside else contextlib.nullcontext():
                loss(model, x, y).backward()
            found.append(rd.digest(model, [p.grad for p in model.parameters()]))
    assert found[0] == found[1]


@pytest.mark.long
def test_ranks_with_other_instruction_sets(tmp_path):
    isas = repmath.config()["available isas"]
    ranks.run("rank_training", tmp_path, 3, env={"RANK_ISAS": " ".join(isas)})
    found = [json.loads((tmp_path / f"isas-{rank}.json").read_text()) for rank in range(3)]
    assert [f["isa"] for f in found] == [isas[rank % len(isas)] for rank in range(3)]
    assert {f["gpt2"] for f in found} == {train("gpt2")}


@pytest.mark.parametrize("case", ["between steps", "in a sum", "in a hook"])
def test_a_rank_that_ends_is_an_error_on_the_others(case, tmp_path):
    ranks.run("rank_killed", tmp_path, 3, env={"RANK_CASE": case})
    for rank in (0, 1):
        seconds, text = json.loads((tmp_path / f"{case}-{rank}.json").read_text())
        assert text
        assert seconds < 30  # from the end of the last rank on; gloo sees it at once


def test_stock_gradients_depend_on_the_number_of_ranks(found):
    """A control. (PyTorch averages: the digests would differ in any case, so those of two and three ranks are compared by what they say of all.)"""
    assert len({found[size, 0]["plain"] for size in SIZES}) == len(SIZES)


def test_without_the_hook_it_is_refused(found):
    for mine in found.values():
        assert "repmath.torch.distributed" in mine["refused"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("world", [1, 2, 3, 4])
def test_every_way_by_torchrun(world):
    """Twenty steps; torchrun's processes listen on all addresses."""
    pytest.importorskip("transformers")
    program = pathlib.Path(__file__).parents[2] / "examples/distributed/every_way.py"
    command = loopback.alone(sys.executable, str(program), "--worlds", str(world))
    done = subprocess.run(command, capture_output=True, text=True, timeout=1100, env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert done.stdout.endswith("one digest for each model\n"), (done.stdout + done.stderr)[-3000:]


def test_owners_share_the_elements():
    assert owners([5, 1, 9, 4], 2) == [1, 0, 0, 1]
    assert owners([3], 4) == [0]
    assert owners([], 2) == []


def test_arguments():
    with pytest.raises(ValueError, match="keep must be 'operands'"):
        rd.State(keep="sums")
    with pytest.raises(RuntimeError, match="gradients='exact'"):
        rd.ddp_hook(None, None)
