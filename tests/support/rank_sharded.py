"""What the ranks of tests/torch/test_fsdp.py do: train models of batch_models.py with PyTorch's fully_shard."""

import contextlib
import json

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from batch_models import GLOBAL_MODELS, ITEMS, MODELS
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import Shard, distribute_tensor
from transformers import GPT2LMHeadModel  # noqa: F401  imported once, before ranks are forked

import repmath.torch
import repmath.torch.distributed as rd

SHARES = {1: (12,), 2: (5, 7), 3: (3, 7, 2), 4: (1, 5, 2, 4)}
STEPS = 3
# How many ranks there are, and the steps that they make, one after the other: a run with breaks.
LIVES = ((4, 0, 1), (3, 1, 2), (1, 2, 3))


def sharded(model, size, exact):
    mesh = init_device_mesh("cpu", (size,))
    for layer in model.transformer.h if hasattr(model, "transformer") else list(model.children())[:3]:
        if any(True for _ in layer.parameters()):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    if exact:
        rd.fsdp(model)
    else:
        for module in (m for m in model.modules() if isinstance(m, FSDPModule)):
            module.set_gradient_divide_factor(1.0)
            module.set_force_sum_reduction_for_comms(True)


class Training:
    """A model, its optimiser and data, of this rank's share of each batch. With no size it is plain, in one process."""

    def __init__(self, name, rank=0, size=None, exact=True):
        torch.manual_seed(0)
        self.model, self.data, self.loss = (MODELS | GLOBAL_MODELS)[name]()
        self.name, self.size = name, size
        self.late = name == "gpt2" and exact  # whether gradients are computed in the last of several passes alone
        shares = SHARES[size or 1]
        self.first, self.count = sum(shares[:rank]), shares[rank]
        if size is not None:
            sharded(self.model, size, exact)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-2)

    def step(self, passes=1):
        share = [t[self.first : self.first + self.count] for t in self.data]
        self.optimizer.zero_grad()
        ends = [self.count * (i + 1) // passes for i in range(passes)]
        for i, end in enumerate(ends):
            begin = ends[i - 1] if i else 0
            if self.size is not None:
                self.model.set_requires_gradient_sync(i + 1 == passes)
            here = self.name in GLOBAL_MODELS and self.size is not None
            more = self.size is not None and self.late and i + 1 < passes
            with (
                rd.global_batch(self.first + begin, end - begin, ITEMS) if here else contextlib.nullcontext(),
                rd.no_sync() if more else contextlib.nullcontext(),
            ):
                self.loss(self.model, *(t[begin:end] for t in share)).backward()
        clip = torch.nn.utils.clip_grad_norm_ if self.size is None else rd.clip_grad_norm_
        clip(self.model.parameters(), 0.3)
        self.optimizer.step()

    def digest(self):
        return rd.digest(self.model, self.optimizer)

    def save(self, folder):
        model, optimizer = get_state_dict(self.model, self.optimizer)
        dcp.save({"model": model, "optimizer": optimizer, "generator": torch.get_rng_state()}, checkpoint_id=folder)

    def load(self, folder):
        model, optimizer = get_state_dict(self.model, self.optimizer)
        state = {"model": model, "optimizer": optimizer, "generator": torch.get_rng_state()}
        dcp.load(state, checkpoint_id=folder)
        set_state_dict(self.model, self.optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
        torch.set_rng_state(state["generator"])


def train(name, rank=0, size=None, steps=STEPS, passes=1, exact=True):
    with repmath.torch.reproducible(gradients="exact" if exact else None):
        training = Training(name, rank, size, exact)
        for _ in range(steps):
            training.step(passes)
        return training.digest()


def live(name, rank, size, directory):
    """This number of ranks' part of a run with breaks."""
    ((_, begin, end),) = [life for life in LIVES if life[0] == size]
    with repmath.torch.reproducible(gradients="exact"):
        training = Training(name, rank, size)
        if begin:
            training.load(directory / f"{name}-{begin}")
        for _ in range(begin, end):
            training.step()
        training.save(directory / f"{name}-{end}")
        return training.digest()


def refused(call):
    """What an error says."""
    try:
        call()
    except (repmath.torch.UncoveredOperatorError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def operators(rank, size):
    """Operators of a tensor whose parts lie on the ranks."""
    whole = torch.arange(10.0).add_(0.1).view(5, 2)
    with repmath.torch.reproducible():
        t = distribute_tensor(whole, init_device_mesh("cpu", (size,)), [Shard(0)])
        return {
            "greatest": t.max().full_tensor().item(),
            "product": (t * t).full_tensor().tolist(),
            "norm": torch.linalg.vector_norm(t).full_tensor().item(),
            "sum": t.sum().full_tensor().item(),
            "matrix product": (t.t() @ t).full_tensor().tolist(),
        }


def twice():
    """A pass that adds to gradients of all ranks."""
    with repmath.torch.reproducible(gradients="exact"):
        training = Training("cnn", 0, 1 if not dist.is_initialized() else dist.get_world_size())
        for _ in range(2):
            training.loss(training.model, *training.data).backward()


def beside_tensor_parallel():
    """Layers that are divided along one axis of a mesh, and fully_shard along the other."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module

    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    model = torch.nn.Sequential(torch.nn.Linear(4, 4))
    parallelize_module(model, mesh["tp"], {"0": ColwiseParallel()})
    rd.fsdp(fully_shard(model, mesh=mesh["dp"]))


def copies():
    from torch.distributed.device_mesh import init_device_mesh

    rd.fsdp(fully_shard(torch.nn.Linear(4, 4), mesh=init_device_mesh("cpu", (2, 2), mesh_dim_names=("copies", "parts"))))


def main(rank, size, directory):
    found = {}
    if size == 4:
        found["two axes"] = [refused(beside_tensor_parallel), refused(copies)]
    if size == 3:
        found["operators"] = operators(rank, size)
        found["plain"] = refused(lambda: rd.fsdp(torch.nn.Linear(2, 2)))
    if size < 4:
        for name in ("cnn", "gpt2"):
            found[name] = train(name, rank, size, 2, passes=2)
        found["rounded"] = train("cnn", rank, size, 1, exact=False)
    found["lives"] = live("dropout", rank, size, directory)
    found["twice"] = refused(twice)
    (directory / f"{size}-{rank}.json").write_text(json.dumps(found))
