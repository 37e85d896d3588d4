"""A rank that is killed before any round of the exchange of exact gradients: an error on all others at once, and the last checkpoint is as it was."""

import json

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="this PyTorch has no torch.distributed")

import ranks  # noqa: E402
from rank_rounds import Step  # noqa: E402

import repmath.torch  # noqa: E402

RUNS = 24


@pytest.mark.parametrize("way", ["data parallel", "sharded"])
def test_a_rank_that_is_killed_in_any_round(tmp_path, way):
    with repmath.torch.reproducible(gradients="exact"):
        whole = Step(way)
        whole.step()
        once = whole.digest()
        whole.step()
    ranks.run("rank_rounds", tmp_path, 3, env={"RANK_CASE": way, "RANK_RUNS": str(RUNS), "RANK_SECONDS": "60"})
    found = {run: [json.loads((tmp_path / f"{run}-{rank}.json").read_text()) for rank in (0, 1)] for run in range(RUNS)}
    rounds = len(found[0][0][0])
    assert 8 < rounds < RUNS  # or there would be a round in which none is killed
    assert all(digest == whole.digest() for _, _, _, digest in found[0])
    for run in range(1, RUNS):
        for _, seconds, text, digest in found[run]:
            if run > rounds:  # a control: the calls were counted right
                assert not text and digest == whole.digest()
            else:
                assert text and seconds < 15, run
    with repmath.torch.reproducible(gradients="exact"):
        for run in range(RUNS) if way == "sharded" else (0,):
            again = Step(way)
            again.load(tmp_path / f"checkpoint-{run}")
            assert again.digest() == once, run
            if run % 8 == 0:
                again.step()
                assert again.digest() == whole.digest(), run
