"""What the ranks of test_a_rank_that_ends do: the last one ends in the middle of a training, at the moment that RANK_CASE names."""

import json
import os
import pathlib
import time

import torch
import torch.distributed as dist
from rank_training import train

import repmath.torch
from repmath.torch._aten import collectives
from repmath.torch._exact import exchange


def _end(*_):
    _ended.write_text(str(time.monotonic()))
    os._exit(0)


_ended = pathlib.Path()  # where the last rank says when it has ended


def main(rank, size, directory):
    global _ended
    _ended = directory / "ended"
    case, last = os.environ["RANK_CASE"], rank == size - 1
    seconds, text = 0.0, ""
    if case == "with shards":  # there is a checkpoint of the first step
        from rank_sharded import Training

        block = repmath.torch.reproducible(gradients="exact")
        block.__enter__()
        saved = Training("cnn", rank, size)
        saved.step()
        saved.save(directory / "checkpoint")
    if case == "between steps":
        train("cnn", rank, size, "one bucket")
        if last:
            _end()
    elif last:  # after the ranks have agreed
        if case == "in a sum":
            collectives._WAYS["sum"] = _end
        else:
            exchange.settle = exchange.partials.joined = _end
    try:
        if case == "in a sum":
            with repmath.torch.reproducible():
                dist.all_reduce(torch.ones(100_000))
        elif case == "with shards":
            saved.step()
        else:
            train("cnn", rank, size, "one bucket")
    except Exception as error:
        seconds, text = time.monotonic() - float(_ended.read_text()), f"{type(error).__name__}: {error}"
    (directory / f"{case}-{rank}.json").write_text(json.dumps([seconds, text]))
    os._exit(0)
