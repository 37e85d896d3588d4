"""PyTorch's fully_shard with rd.fsdp: the digest of one process, on any number of ranks, which may change at a checkpoint."""

import json

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="this PyTorch has no torch.distributed")

import ranks  # noqa: E402
from rank_sharded import LIVES, Training, train  # noqa: E402

import repmath.torch  # noqa: E402
import repmath.torch.distributed as rd  # noqa: E402

SIZES = [size for size, _, _ in LIVES]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    directory = tmp_path_factory.mktemp("ranks")
    ranks.run("rank_sharded", directory, *SIZES)
    return {
        (size, rank): json.loads((directory / f"{size}-{rank}.json").read_text()) for size in SIZES for rank in range(size)
    }


@pytest.mark.parametrize("name", ["cnn", "gpt2"])
def test_any_number_of_ranks_has_the_digest_of_one_process(found, name):
    """With two passes a step, of which the second one sums over ranks, and clipped gradients."""
    expected = train(name, steps=2)
    assert {mine[name] for (size, _), mine in found.items() if size < 4} == {expected}


def test_sums_that_are_rounded_on_each_rank_differ(found):
    """A control."""
    assert found[3, 0]["rounded"] != found[1, 0]["rounded"]


def test_a_checkpoint_is_taken_up_by_another_number_of_ranks(found):
    """Weights, the optimiser's state and the generator, whose draws are those of the whole batch."""
    for size, _, end in LIVES:
        expected = train("dropout", steps=end)
        assert {found[size, rank]["lives"] for rank in range(size)} == {expected}, size


@pytest.mark.long
def test_a_rank_that_ends_leaves_the_last_checkpoint(tmp_path):
    ranks.run("rank_killed", tmp_path, 3, env={"RANK_CASE": "with shards"})
    for rank in (0, 1):
        seconds, text = json.loads((tmp_path / f"with shards-{rank}.json").read_text())
        assert text
        assert seconds < 30  # from the end of the last rank on; gloo sees it at once
    with repmath.torch.reproducible(gradients="exact"):
        training = Training("cnn")
        training.load(tmp_path / "checkpoint")
        assert training.digest() == train("cnn", steps=1)
        training.step()
        assert training.digest() == train("cnn", steps=2)


def test_clipping_is_pytorchs_where_nothing_is_divided():
    with repmath.torch.reproducible():
        found = []
        for clip in (torch.nn.utils.clip_grad_norm_, rd.clip_grad_norm_):
            torch.manual_seed(0)
            parameters = [torch.nn.Parameter(torch.zeros(3, 5)) for _ in range(4)]
            for p in parameters:
                p.grad = torch.randn(3, 5)
            found.append((clip(parameters, 0.7).item(), [p.grad.tolist() for p in parameters]))
        assert found[0] == found[1]
        infinite = torch.nn.Parameter(torch.zeros(2))
        infinite.grad = torch.tensor([1.0, torch.inf])
        with pytest.raises(RuntimeError, match="non-finite"):
            rd.clip_grad_norm_(infinite, 1.0, error_if_nonfinite=True)


def test_an_error_is_that_of_all_ranks(found):
    for mine in found.values():
        assert "set_requires_gradient_sync(False)" in mine["twice"]


def test_meshes_of_two_axes_are_refused(found):
    for rank in range(4):
        tensor_parallel, copies = found[4, rank]["two axes"]
        assert "tensor parallel layers" in tensor_parallel and "gradients of copies" in copies


def test_operators_of_tensors_in_parts(found):
    numbers = [float(v) for v in torch.arange(10.0).add_(0.1)]
    for rank in range(3):
        mine = found[3, rank]["operators"]
        assert mine["greatest"] == max(numbers)
        assert sum(mine["product"], []) == [torch.tensor(v * v, dtype=torch.float32).item() for v in numbers]
        with repmath.torch.reproducible():
            whole = torch.tensor(numbers).view(5, 2)
            assert mine["norm"] == torch.linalg.vector_norm(whole).item()
            assert mine["sum"] == whole.sum().item()
            assert mine["matrix product"] == (whole.t() @ whole).tolist()
        assert "fully_shard" in found[3, rank]["plain"]


def test_pytorch_has_what_fully_shard_is_asked_for():
    """A canary: private interfaces of PyTorch."""
    import inspect

    from torch.distributed.fsdp import FSDPModule
    from torch.distributed.fsdp._fully_shard import _fsdp_collectives, _fsdp_param_group

    source = inspect.getsource(_fsdp_collectives.foreach_reduce)
    assert source.index("reduce_scatter_comm(") < source.index("all_reduce_hook(reduce_output)")
    names = inspect.getsource(_fsdp_param_group.FSDPParamGroup)
    assert all(name in names for name in ("_all_reduce_hook", "_reduce_scatter_comm", "_reduce_scatter_process_group"))
    assert hasattr(FSDPModule, "set_force_sum_reduction_for_comms")
