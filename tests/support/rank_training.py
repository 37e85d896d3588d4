"""What the ranks of tests/torch/test_ddp.py do: train models of batch_models.py with PyTorch's DistributedDataParallel."""

import contextlib
import json
import os
from unittest import mock

import numpy as np
import torch
from batch_models import GLOBAL_MODELS, ITEMS, MODELS
from torch.nn.parallel import DistributedDataParallel

import repmath
import repmath.torch
import repmath.torch.distributed as rd
from repmath import _partials
from repmath.torch._exact import exchange, partials

SHARES = {1: (12,), 2: (5, 7), 3: (3, 7, 2)}
# Bytes of a bucket in units of 2**20, whether gradients are views of it, and into how many passes a rank divides its share.
WAYS = {
    "one bucket": (25, False, 1),
    "small buckets": (1e-4, False, 2),
    "views": (25, True, 1),
    "small views": (1e-3, True, 2),
}
# With RANK_QUICK each way has one number of ranks.
QUICK = {1: ["views"], 2: ["one bucket", "small views"], 3: ["small buckets"]}
STEPS = 3


def ways(size):
    """The ways in which this many ranks train."""
    return QUICK[size] if "RANK_QUICK" in os.environ else list(WAYS)


def train(name, rank=0, size=1, way=None, hook=True, exact=True):
    """The digest of weights and the optimiser's state after some steps, in one process if `way` is None."""
    with repmath.torch.reproducible(gradients="exact" if exact else None):
        torch.manual_seed(0)
        model, data, loss = (MODELS | GLOBAL_MODELS)[name]()
        first = sum(SHARES[size][:rank])
        share = [t[first : first + SHARES[size][rank]] for t in data]
        passes, outer = 1, model
        if way is not None:
            megabytes, views, passes = WAYS[way]
            if name == "batch norm":
                passes = 1
            outer = DistributedDataParallel(model, bucket_cap_mb=megabytes, gradient_as_bucket_view=views)
            if hook:
                outer.register_comm_hook(rd.State(), rd.ddp_hook)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        for _ in range(STEPS):
            optimizer.zero_grad()
            n = len(share[0])
            ends = [n * (i + 1) // passes for i in range(passes)]
            for i, end in enumerate(ends):
                begin = ends[i - 1] if i else 0
                with contextlib.ExitStack() as stack:
                    if way is not None and i + 1 < passes:
                        stack.enter_context(rd.no_sync(outer) if way == "small views" and hook else outer.no_sync())
                    if way is not None and name in GLOBAL_MODELS:
                        stack.enter_context(rd.global_batch(first + begin, end - begin, ITEMS))
                    loss(outer, *(t[begin:end] for t in share)).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        found = rd.digest(model, optimizer)
        del outer
        return found


def train_by_parts(name, rank, size, decided):
    """The digest where all sums that can be are made of parts, and how many times windows or operands were asked for; if not `decided`, for all elements."""

    def nothing(parts, bounds, dtype, joined=partials.joined):
        made, _ = joined(parts, bounds, dtype)
        made[:] = np.nan
        return made, np.arange(made.size)

    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(partials, "nbytes", lambda uses: 1 << 40))
        stack.enter_context(mock.patch.object(exchange, "_TOGETHER", 500))
        asked = stack.enter_context(mock.patch.object(partials, "settled_at", side_effect=partials.settled_at))
        added = stack.enter_context(mock.patch.object(_partials, "decide", side_effect=_partials.decide))
        if not decided:
            stack.enter_context(mock.patch.object(partials, "joined", nothing))
        return train(name, rank, size, "small views"), asked.call_count + added.call_count


def main(rank, size, directory):
    torch.set_num_threads(1 + rank % 2)
    if "RANK_ISAS" in os.environ:
        found = {"isa": repmath.config()["isa"], "gpt2": train("gpt2", rank, size, "small views")}
        (directory / f"isas-{rank}.json").write_text(json.dumps(found))
        return
    found = {
        name: {way: train(name, rank, size, way) for way in ways(size)}
        for name in (MODELS | GLOBAL_MODELS if size > 1 else MODELS)
    }
    if size == 3:
        found["parts"] = {
            name: [train_by_parts(name, rank, size, decided) for decided in (True, False)] for name in ("gpt2", "cnn")
        }
    found["plain"] = train("cnn", rank, size, "one bucket", hook=False, exact=False)
    try:
        train("cnn", rank, size, "one bucket", hook=False)
    except repmath.torch.UncoveredOperatorError as error:
        found["refused"] = str(error)
    assert ITEMS == sum(SHARES[size])
    (directory / f"{size}-{rank}.json").write_text(json.dumps(found))
