"""What the ranks of tests/torch/test_tensor_parallel.py do: train a small transformer divided over a mesh, and one with experts of each rank."""

import contextlib
import hashlib
import json
import threading

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
from torch import nn
from torch.distributed import pipelining
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)
from torch.nn import functional as F

import repmath.torch
import repmath.torch.distributed as rd

WORDS, WIDTH, HEADS, BATCH, LENGTH, EXPERTS, STEPS = 29, 12, 4, 4, 6, 4, 2
# What a transformer is trained with: meshes of data and tensor parallel ranks by number of ranks, and PyTorch's ways to divide it.
MESHES = {1: ((1, 1),), 2: ((1, 2), (2, 1)), 4: ((2, 2), (1, 4), (4, 1))}
MANY = 8  # ranks of a mesh of 2 x 4, which does nothing else
WAYS = ("tensor", "sequence", "loss")
SCHEDULES = (("ScheduleGPipe", 4), ("Schedule1F1B", 2), ("ScheduleInterleaved1F1B", 4))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def forward(self, x):
        q, k, v = (f(x).view(*x.shape[:2], -1, WIDTH // HEADS).transpose(1, 2) for f in (self.q, self.k, self.v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)
        return self.out(y.reshape(*x.shape[:2], -1))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.attention, self.second = nn.LayerNorm(WIDTH), Attention(), nn.RMSNorm(WIDTH)
        self.up, self.down, self.dropout = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH), nn.Dropout(0.1)

    def forward(self, x):
        x = x + self.attention(self.first(x))
        return x + self.dropout(self.down(F.gelu(self.up(self.second(x)))))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.blocks = nn.Embedding(WORDS, WIDTH), nn.ModuleList(Block() for _ in range(2))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, words):
        x = self.words(words)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def started():
    torch.manual_seed(0)
    model = Transformer()
    return model, torch.randint(0, WORDS, (BATCH, LENGTH)), torch.randint(0, WORDS, (BATCH, LENGTH))


def trained(model, words, targets, clip=None, context=contextlib.nullcontext):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(STEPS):
        optimizer.zero_grad()
        with context():
            F.cross_entropy(model(words).flatten(0, 1), targets.flatten()).backward()
        if clip is not None:
            clip(model.parameters(), 0.3)
        optimizer.step()
    return rd.digest(model, optimizer)


def on_mesh(shape, sequence=False):
    """Every parameter and the batch are DTensors over data and tensor parallel ranks, which may divide the words of a sequence, too."""
    model, words, targets = started()
    mesh = init_device_mesh("cpu", shape)
    divided = {"q": 0, "k": 0, "v": 0, "up": 0, "out": 1, "down": 1}
    for name, module in model.named_modules():
        axis = divided.get(name.rpartition(".")[2])
        for which, p in list(module.named_parameters(recurse=False)):
            place = Replicate() if axis is None or (axis == 1 and p.ndim == 1) else Shard(axis)
            setattr(module, which, nn.Parameter(distribute_tensor(p.detach(), mesh, [Replicate(), place])))
    words, targets = (distribute_tensor(t, mesh, [Shard(0), Shard(1) if sequence else Replicate()]) for t in (words, targets))
    return trained(model, words, targets, torch.nn.utils.clip_grad_norm_)


def in_plan(size, way):
    """As PyTorch's tutorials divide it: activations leave layers as plain tensors."""
    model, words, targets = started()
    mesh = init_device_mesh("cpu", (size,))
    column, row = ColwiseParallel, RowwiseParallel
    attention = {f"attention.{name}": column() for name in "qkv"}
    if way == "tensor":
        plan = attention | {"attention.out": row(), "up": column(), "down": row()}
        outer = {}
    else:
        plan = attention | {
            "first": SequenceParallel(),
            "second": SequenceParallel(),
            "attention": PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)),
            "attention.out": row(output_layouts=Shard(1)),
            "up": column(input_layouts=Shard(1)),
            "down": row(output_layouts=Shard(1)),
            "dropout": SequenceParallel(use_local_output=True),
        }
        logits = (Shard(-1), False) if way == "loss" else (Replicate(), True)
        outer = {
            "words": row(input_layouts=Replicate(), output_layouts=Shard(1)),
            "norm": SequenceParallel(),
            "head": column(input_layouts=Shard(1), output_layouts=logits[0], use_local_output=logits[1]),
        }
    for block in model.blocks:
        parallelize_module(block, mesh, plan)
    parallelize_module(model, mesh, outer)
    return trained(model, words, targets, rd.clip_grad_norm_, loss_parallel if way == "loss" else contextlib.nullcontext)


class Experts(nn.Module):
    """The two best of several experts for each word, which are divided over ranks; words go to them and back."""

    def __init__(self):
        super().__init__()
        self.router = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.up = nn.Parameter(torch.randn(EXPERTS, WIDTH, 2 * WIDTH) * 0.2)
        self.down = nn.Parameter(torch.randn(EXPERTS, 2 * WIDTH, WIDTH) * 0.2)
        self.ranks = 1

    def divide(self, rank, ranks):
        self.ranks, n = ranks, EXPERTS // ranks
        for name in ("up", "down"):
            setattr(self, name, nn.Parameter(getattr(self, name).detach()[rank * n : (rank + 1) * n].clone()))

    def forward(self, x):
        rows, n = x.reshape(-1, WIDTH), EXPERTS // self.ranks
        weights, best = self.router(rows).softmax(-1).topk(2, -1)
        order = best.flatten().argsort(stable=True)
        counts = torch.bincount(best.flatten(), minlength=EXPERTS)
        rows, here = rows.repeat_interleave(2, 0)[order], counts
        if self.ranks > 1:
            here = torch.empty_like(counts)
            dist.all_to_all_single(here, counts)
            sent, received = (c.view(self.ranks, n).sum(1).tolist() for c in (counts, here))
            rows = funcol.all_to_all_single_autograd(rows, received, sent, dist.group.WORLD)
        which = torch.arange(n).repeat(self.ranks).repeat_interleave(here)
        at = [(which == i).nonzero()[:, 0] for i in range(n)]
        made = torch.cat([F.gelu(rows[at[i]] @ self.up[i]) @ self.down[i] for i in range(n)])[torch.cat(at).argsort()]
        if self.ranks > 1:
            made = funcol.all_to_all_single_autograd(made, sent, received, dist.group.WORLD)
        return (made[order.argsort()].view(-1, 2, WIDTH) * weights[..., None]).sum(1).view(x.shape)


class Mixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.norm = nn.Embedding(WORDS, WIDTH), nn.LayerNorm(WIDTH)
        self.experts, self.head = Experts(), nn.Linear(WIDTH, WORDS)

    def forward(self, words):
        x = self.words(words)
        return self.head(x + self.experts(self.norm(x)))


def experts(rank, size, divided):
    """A mixture of experts whose batch is divided over ranks, and whose experts are, or are not."""
    torch.manual_seed(0)
    model = Mixture()
    words, targets = (torch.randint(0, WORDS, (BATCH, LENGTH)) for _ in range(2))
    called = model
    if size > 1:
        begin, end = ((0, 1), (1, BATCH))[rank]
        words, targets = words[begin:end], targets[begin:end]
        if divided:
            model.experts.divide(rank, size)
            of_rank = ["experts.up", "experts.down"]
            nn.parallel.DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(model, of_rank)
        called = nn.parallel.DistributedDataParallel(model)
        called.register_comm_hook(rd.State(), rd.ddp_hook)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = F.cross_entropy(called(words).flatten(0, 1), targets.flatten(), reduction="sum")
        (loss / (BATCH * LENGTH)).backward()
        optimizer.step()
    numbers = {name: p.detach() for name, p in model.named_parameters()}
    if size > 1 and divided:
        for name in ("experts.up", "experts.down"):
            parts = [torch.empty_like(numbers[name]) for _ in range(size)]
            dist.all_gather(parts, numbers[name])
            numbers[name] = torch.cat(parts)
    return rd.digest(numbers)


def pipelined(rank, size, schedule="", microbatches=1):
    """A transformer without dropout trained in one process, or its parts by a schedule of PyTorch's pipelines, one or two on each of two ranks."""
    model, words, targets = started()
    model.eval()

    def loss(made, wanted):
        return F.cross_entropy(made.flatten(0, 1), wanted.flatten(), reduction="sum") / (BATCH * LENGTH)

    step, parameters = None, list(model.parameters())
    if size > 1:
        kind = getattr(pipelining, schedule)
        several = issubclass(kind, pipelining.schedules.PipelineScheduleMulti)
        head = nn.Sequential(model.norm, model.head)
        if several:
            parts = model.words, *model.blocks, head
            mine = (rank, rank + 2)
        else:
            parts, mine = (nn.Sequential(model.words, model.blocks[0]), nn.Sequential(model.blocks[1], head)), (rank,)
        stages = [pipelining.PipelineStage(parts[i], i, len(parts), torch.device("cpu")) for i in mine]
        made = kind(stages if several else stages[0], microbatches, loss_fn=loss, scale_grads=False)
        parameters = [p for i in mine for p in parts[i].parameters()]
        last = len(parts) - 1 in mine
        step = lambda: made.step(*[words] * (0 in mine), **({"target": targets} if last else {}))  # noqa: E731
    optimizer = torch.optim.AdamW(parameters, lr=1e-2)
    for _ in range(STEPS):
        optimizer.zero_grad()
        if step is None:
            loss(model(words), targets).backward()
        else:
            step()
        optimizer.step()
    mine = {id(p) for p in parameters}
    found = {name: rd.digest(p) for name, p in model.named_parameters() if id(p) in mine}
    of_all = [found] * size
    if size > 1:
        dist.all_gather_object(of_all, found)
    return hashlib.sha256(json.dumps({k: v for part in of_all for k, v in part.items()}, sort_keys=True).encode()).hexdigest()


def _drawn(x):
    return [
        torch.rand_like(x),
        torch.bernoulli(x * 0.5),
        torch.empty_like(x).normal_(),
        torch.empty_like(x).uniform_(-1, 1),
        F.dropout(x, 0.5),
    ]


def draws(size, whole=True):
    """Draws for tensors that are divided: those of the whole ones; or, as a control, those that each rank makes for its part."""
    mesh = init_device_mesh("cpu", (size,))
    torch.manual_seed(1)
    x = distribute_tensor(torch.ones(5, 3), mesh, [Shard(0)])
    if whole:
        return rd.digest([t.full_tensor() for t in _drawn(x)])
    parts = [None] * size
    dist.all_gather_object(parts, _drawn(x.to_local()))
    return rd.digest([torch.cat(of_ranks) for of_ranks in zip(*parts, strict=True)])


def refused(call):
    try:
        call()
    except repmath.torch.UncoveredOperatorError as error:
        return str(error)
    return ""


def in_threads():
    """A product that a thread has made outside of blocks, where its elements are sums in parts, then inside, while another thread has a block."""
    mesh = init_device_mesh("cpu", (1,))
    a, b = (distribute_tensor(torch.arange(4.0).reshape(2, 2), mesh, [Shard(axis)]) for axis in (1, 0))
    inside, ready, made = threading.Event(), threading.Event(), []

    def work():
        made.append((a @ b).placements[0].is_partial())
        ready.set()
        inside.wait()
        made.append((a @ b).placements[0].is_partial())  # outside, while another thread has a block
        with repmath.torch.reproducible():
            made.append((a @ b).placements[0].is_partial())

    thread = threading.Thread(target=work)
    thread.start()
    ready.wait()
    with repmath.torch.reproducible():
        inside.set()
        thread.join()
    return made


def main(rank, size, directory):
    found = {}
    if size == MANY:
        with repmath.torch.reproducible():
            found = {"mesh": on_mesh((2, 4)), "sequence": on_mesh((2, 4), sequence=True)}
        (directory / f"{size}-{rank}.json").write_text(json.dumps(found))
        return
    if size == 1:
        found["threads"] = in_threads()
    with repmath.torch.reproducible():
        for shape in MESHES[size]:
            found[f"mesh {shape}"] = on_mesh(shape)
        if size == 2:
            for way in WAYS:
                found[way] = in_plan(size, way)
        found["draws"], found["draws of parts"] = draws(size), draws(size, whole=False)
        mesh = init_device_mesh("cpu", (size,))
        parts = DTensor.from_local(torch.ones(2), mesh, [Partial()], run_check=False)
        found["a part of a sum"] = refused(lambda: parts.full_tensor()) if size > 1 else ""
    with repmath.torch.reproducible(strict=False):
        found["rounded"] = "".join(f"{v:.20g} " for v in _in_parts(mesh))
    if size < 4:
        with repmath.torch.reproducible(gradients="exact"):
            found["experts"] = experts(rank, size, True)
            found["all experts"] = experts(rank, size, False)
            for schedule, microbatches in SCHEDULES if size == 2 else (("", 1),):
                found[f"pipeline {schedule} {microbatches}"] = pipelined(rank, size, schedule, microbatches)
            weight = nn.Parameter(distribute_tensor(torch.ones(4, 2), mesh, [Shard(0)]))
            found["exact"] = refused(lambda: weight.sum().backward())
    (directory / f"{size}-{rank}.json").write_text(json.dumps(found))


def _in_parts(mesh):
    """A control: sums that PyTorch rounds on each rank."""
    torch.manual_seed(2)
    whole = torch.randn(64, 8)
    part = whole.chunk(mesh.size())[mesh.get_rank()].sum(0)
    return DTensor.from_local(part, mesh, [Partial()], run_check=False).full_tensor().tolist()
