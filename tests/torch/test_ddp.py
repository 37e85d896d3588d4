"""PyTorch's DistributedDataParallel with rd.ddp_hook: the digest of one process, on any number of ranks."""

import json

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="this PyTorch has no torch.distributed")

import ranks  # noqa: E402
from batch_models import MODELS  # noqa: E402
from rank_training import WAYS, train  # noqa: E402

import repmath  # noqa: E402
import repmath.torch.distributed as rd  # noqa: E402
from repmath.torch._exact.exchange import owners  # noqa: E402

SIZES = (1, 2, 3)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    directory = tmp_path_factory.mktemp("ranks")
    ranks.run("rank_training", directory, *SIZES)
    return {
        (size, rank): json.loads((directory / f"{size}-{rank}.json").read_text()) for size in SIZES for rank in range(size)
    }


@pytest.mark.parametrize("name", MODELS)
def test_any_number_of_ranks_has_the_digest_of_one_process(found, name):
    expected = train(name)
    for (size, rank), mine in found.items():
        assert mine[name] == dict.fromkeys(WAYS, expected), (size, rank)


def test_ranks_with_other_instruction_sets(tmp_path):
    isas = repmath.config()["available isas"]
    ranks.run("rank_training", tmp_path, 3, env={"RANK_ISAS": " ".join(isas)})
    found = [json.loads((tmp_path / f"isas-{rank}.json").read_text()) for rank in range(3)]
    assert [f["isa"] for f in found] == [isas[rank % len(isas)] for rank in range(3)]
    assert {f["gpt2"] for f in found} == {train("gpt2")}


def test_stock_gradients_depend_on_the_number_of_ranks(found):
    """A control. (PyTorch averages: the digests would differ in any case, so those of two and three ranks are compared by what they say of all.)"""
    assert len({found[size, 0]["plain"] for size in SIZES}) == len(SIZES)


def test_without_the_hook_it_is_refused(found):
    for mine in found.values():
        assert "repmath.torch.distributed" in mine["refused"]


def test_owners_share_the_elements():
    assert owners([5, 1, 9, 4], 2) == [1, 0, 0, 1]
    assert owners([3], 4) == [0]
    assert owners([], 2) == []


def test_arguments():
    with pytest.raises(ValueError, match="keep must be 'operands'"):
        rd.State(keep="sums")
    with pytest.raises(RuntimeError, match="gradients='exact'"):
        rd.ddp_hook(None, None)
