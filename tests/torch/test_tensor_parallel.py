"""DTensors under reproducible(): a network that is divided over a mesh has the digest of one process, experts, draws and pipelines included."""

import json

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="this PyTorch has no torch.distributed")

import ranks  # noqa: E402
from rank_mesh import MANY, MESHES, SCHEDULES, WAYS, started, trained  # noqa: E402

import repmath.torch  # noqa: E402


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    directory = tmp_path_factory.mktemp("ranks")
    ranks.run("rank_mesh", directory, *MESHES)
    return {
        (size, rank): json.loads((directory / f"{size}-{rank}.json").read_text()) for size in MESHES for rank in range(size)
    }


@pytest.fixture(scope="module")
def expected():
    """The digest of one process that knows of no mesh."""
    with repmath.torch.reproducible():
        return trained(*started(), clip=torch.nn.utils.clip_grad_norm_)


@pytest.mark.parametrize("shape", [shape for shapes in MESHES.values() for shape in shapes])
def test_data_and_tensor_parallel_ranks(found, expected, shape):
    size = shape[0] * shape[1]
    assert {found[size, rank][f"mesh {shape}"] for rank in range(size)} == {expected}


@pytest.mark.exhaustive
def test_eight_ranks(tmp_path, expected):
    """Two data parallel groups of four tensor parallel ranks, and of four that divide the words of a sequence, one of which has none."""
    ranks.run("rank_mesh", tmp_path, MANY)
    made = [json.loads((tmp_path / f"{MANY}-{rank}.json").read_text()) for rank in range(MANY)]
    assert {digest for of_rank in made for digest in (of_rank["mesh"], of_rank["sequence"])} == {expected}


@pytest.mark.parametrize("way", WAYS)
def test_plans_of_pytorch(found, expected, way):
    """Tensor parallel layers, sequence parallel norms and dropout, and a loss of divided logits."""
    assert {found[2, rank][way] for rank in range(2)} == {expected}


def test_experts_of_each_rank(found):
    """Divided over the ranks, or all on each, where some get no word of a batch."""
    assert (
        len({found[size, rank][name] for size in (1, 2) for rank in range(size) for name in ("experts", "all experts")}) == 1
    )


@pytest.mark.parametrize(("schedule", "microbatches"), SCHEDULES)
def test_schedules_of_pipelines(found, schedule, microbatches):
    """One or two stages on each of two ranks with exact gradients, whatever the microbatches."""
    made = {found[2, rank][f"pipeline {schedule} {microbatches}"] for rank in range(2)}
    assert made == {found[1, 0]["pipeline  1"]}


def test_draws_are_those_of_the_whole_tensor(found):
    assert len({mine["draws"] for mine in found.values()}) == 1
    assert len({mine["draws of parts"] for mine in found.values()}) == len(MESHES)  # a control


def test_exact_gradients_are_refused(found):
    assert all("exact gradients of a DTensor" in found[size, rank]["exact"] for size in (1, 2) for rank in range(size))


def test_parts_of_a_sum_are_refused(found):
    for size in (2, 4):
        assert all("each of which is rounded" in found[size, rank]["a part of a sum"] for rank in range(size))


def test_sums_in_parts_differ(found):
    """A control."""
    assert len({found[size, 0]["rounded"] for size in MESHES}) > 1


def test_what_a_thread_remembers_is_not_used_in_a_block(found):
    before, _, inside = found[1, 0]["threads"]
    assert before and not inside


def test_outside_of_a_block_dtensors_are_pytorchs():
    """What is changed of DTensor is changed back."""
    from torch.distributed.tensor import DTensor, _sharding_prop

    dispatcher = DTensor._op_dispatcher
    before = _sharding_prop._select_min_cost_strategy, dict(dispatcher._custom_op_handlers)
    known = set(dispatcher.sharding_propagator.op_strategy_funcs)
    with repmath.torch.reproducible():
        assert _sharding_prop._select_min_cost_strategy is not before[0]
        with repmath.torch.reproducible():
            pass
        assert _sharding_prop._select_min_cost_strategy is not before[0]
    assert (_sharding_prop._select_min_cost_strategy, dispatcher._custom_op_handlers) == before
    assert set(dispatcher.sharding_propagator.op_strategy_funcs) == known


def test_pytorch_has_what_rules_are_asked_for():
    """A canary: private interfaces of PyTorch."""
    import inspect

    from torch.distributed.tensor import _sharding_prop

    source = inspect.getsource(_sharding_prop.ShardingPropagator.propagate_op_sharding_non_cached)
    assert source.count("_select_min_cost_strategy(") == 2
    assert hasattr(torch._C, "_clear_DTensor_sharding_propagator_cache")
