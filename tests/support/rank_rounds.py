"""What the ranks of test_a_rank_that_is_killed_in_any_round do: the last one is killed before its n-th call of the network in a step, n the number of the run.

The first run counts the calls, from which it is known what n may be. Sums are exchanged as parts, of which nothing is decided at once, but for sums of
terms, of which operands are sent: so a step has every kind of round.
"""

import json
import os
import signal
import time
from unittest import mock

import numpy as np
import torch
import torch.distributed as dist
from rank_sharded import Training
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

import repmath.torch
import repmath.torch.distributed as rd
from repmath.torch._exact import partials
from repmath.torch._exact.records import Terms

ROUNDS = ("_allgather_base", "alltoall_base")


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.norm, self.out = nn.Embedding(7, 4), nn.LayerNorm(4), nn.Linear(4, 3)

    def forward(self, ids):
        return self.out(self.norm(self.words(ids)))


class Step(Training):
    """A step of three samples a rank, by either way to divide the work."""

    def __init__(self, way, rank=0, size=None):
        torch.manual_seed(0)
        self.model = Model()
        ids = torch.arange(9).view(3, 3) * 3 % 7
        self.mine = (ids[rank] if size else ids).reshape(-1)
        self.outer, self.size = self.model, size
        if size and way == "sharded":
            rd.fsdp(fully_shard(self.model, mesh=init_device_mesh("cpu", (size,))))  # one group, so that a round is met once
        elif size:
            self.outer = DistributedDataParallel(self.model)
            self.outer.register_comm_hook(rd.State(), rd.ddp_hook)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-2)

    def step(self):
        self.optimizer.zero_grad()
        F.cross_entropy(self.outer(self.mine), self.mine % 3, reduction="sum").backward()
        self.optimizer.step()


def bytes_of(uses):
    """So many that parts are taken, but for sums of terms."""
    return 0 if all(isinstance(u.record, Terms) for u in uses) else 1 << 40


def undecided(parts, bounds, dtype, joined=partials.joined):
    made, _ = joined(parts, bounds, dtype)
    made[:] = np.nan
    return made, np.arange(made.size)


class Killed:
    """Counts the calls of the network, and ends this process before one of them."""

    def __init__(self, last, number, ended):
        self.number, self.ended, self.calls, self.names = number if last else 0, ended, 0, []

    def __enter__(self):
        self.before = {name: getattr(dist.ProcessGroup, name) for name in ROUNDS}
        for name, real in self.before.items():
            setattr(dist.ProcessGroup, name, self._counted(name, real))
        return self

    def __exit__(self, *_):
        for name, real in self.before.items():
            setattr(dist.ProcessGroup, name, real)

    def _counted(self, name, real):
        def call(*args, **kwargs):
            self.calls += 1
            self.names.append(name)
            if self.calls == self.number:
                self.ended.write_text(str(time.monotonic()))
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **kwargs)

        return call


def main(rank, size, directory):
    way, run = os.environ["RANK_CASE"], int(os.environ["RANK_RUN"])
    ended, text, seconds, digest = directory / f"ended-{run}", "", 0.0, ""
    with repmath.torch.reproducible(gradients="exact"):
        training = Step(way, rank, size)
        training.step()
        if run == 0 or way == "sharded":
            training.save(directory / f"checkpoint-{run}")
        with (
            mock.patch.object(partials, "nbytes", bytes_of),
            mock.patch.object(partials, "joined", undecided),
            Killed(rank == size - 1, run, ended) as killed,
        ):
            try:
                training.step()
            except Exception as error:
                seconds, text = time.monotonic() - float(ended.read_text()), f"{type(error).__name__}: {error}"
        digest = "" if text else training.digest()
    (directory / f"{run}-{rank}.json").write_text(json.dumps([killed.names, seconds, text, digest]))
    if run:
        os._exit(0)
