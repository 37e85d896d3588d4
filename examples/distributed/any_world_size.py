"""One SHA-256 on one to four processes: python any_world_size.py [--steps N]

Trains a small convolutional network with batch norm and dropout by PyTorch's DistributedDataParallel over gloo, on this machine, with uneven
shares of each batch: once as PyTorch has it, once under repmath. Prints a digest of the weights and of AdamW's state for each number of
processes.
"""

import argparse
import gc
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn import functional as F

import repmath.torch
import repmath.torch.distributed as rd

BATCH = 24
SHARES = {1: (24,), 2: (15, 9), 3: (5, 7, 12), 4: (2, 10, 5, 7)}


def make_model() -> nn.Module:
    layers = [nn.Conv2d(1, 8, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.2), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(8 * 9, 32), nn.GELU(), nn.Linear(32, 10))


def batches(steps: int):
    """Images of lines, and which they are; the same numbers everywhere."""
    for step in range(steps):
        i = torch.arange(BATCH) * 7 + step
        images = ((torch.arange(64)[None] * (i % 10 + 1)[:, None]) % 17 < 5).float().view(BATCH, 1, 8, 8)
        yield images, i % 10


def train_exactly(rank: int, size: int, steps: int) -> str:
    first, count = sum(SHARES[size][:rank]), SHARES[size][rank]
    with repmath.torch.reproducible(gradients="exact"):
        torch.manual_seed(0)
        model = nn.parallel.DistributedDataParallel(make_model())
        model.register_comm_hook(rd.State(), rd.ddp_hook)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        for x, y in batches(steps):
            optimizer.zero_grad()
            with rd.global_batch(first, count, BATCH):
                logits = model(x[first : first + count])
                loss = F.cross_entropy(logits, y[first : first + count], reduction="sum") / BATCH
                loss.backward()
            optimizer.step()
    return rd.digest(model.module, optimizer)


def train_as_it_is(rank: int, size: int, steps: int) -> str:
    first, count = sum(SHARES[size][:rank]), SHARES[size][rank]
    torch.manual_seed(0)
    model = nn.parallel.DistributedDataParallel(make_model())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for x, y in batches(steps):
        optimizer.zero_grad()
        logits = model(x[first : first + count])
        loss = (
            F.cross_entropy(logits, y[first : first + count], reduction="sum") * size / BATCH
        )  # DistributedDataParallel averages
        loss.backward()
        optimizer.step()
    return rd.digest(model.module, optimizer)


def run(rank: int, size: int, steps: int, store: str) -> None:
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
    for name, train in (("PyTorch", train_as_it_is), ("repmath", train_exactly)):
        found = train(rank, size, steps)
        if rank == 0:
            print(f"{name}  {size} process{'es' if size > 1 else '  '}  {found}", flush=True)
    dist.barrier()
    gc.collect()  # models that hold the group are gone before it is
    dist.destroy_process_group()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=10)
    steps = parser.parse_args().steps
    for size in SHARES:
        with tempfile.TemporaryDirectory() as folder:
            mp.spawn(run, (size, steps, f"{folder}/store"), size)


if __name__ == "__main__":
    main()
