"""One SHA-256 in every way of data parallel training: python every_way.py [--steps N] [--worlds 1 2 3 4]

Starts this program by torchrun with one to four processes on this machine. Each trains two models by PyTorch's DistributedDataParallel with
AdamW, in six ways: buckets of 0.01, 1 and 25 MB, with gradients that are views of buckets and without. Ranks have uneven shares, other
instruction sets and numbers of threads. The models are a convolutional network with batch norm and dropout, and GPT-2 with dropout, whose
loss leaves padded places out; gradients are clipped. The digests of weights and of the optimiser's state are compared with those of one
process that has the whole batch and no DistributedDataParallel.
"""

import argparse
import contextlib
import gc
import os
import subprocess
import sys

RANK = int(os.environ.get("RANK", -1))  # torchrun's; -1 without it
if RANK >= 0:  # each rank has another instruction set, where there are several; before repmath is imported
    isas = os.environ["EVERY_WAY_ISAS"].split()
    os.environ["REPMATH_ISA"] = isas[RANK % len(isas)]

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import repmath  # noqa: E402
import repmath.torch  # noqa: E402
import repmath.torch.distributed as rd  # noqa: E402

BATCH, LENGTH, WORDS = 24, 12, 64
SHARES = {1: (24,), 2: (5, 19), 3: (5, 7, 12), 4: (2, 10, 5, 7)}
WAYS = [(megabytes, views) for megabytes in (0.01, 1, 25) for views in (False, True)]


def make_cnn() -> nn.Module:
    layers = [nn.Conv2d(1, 8, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.2), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(8 * 9, 32), nn.BatchNorm1d(32), nn.GELU(), nn.Linear(32, 10))


def make_gpt2() -> nn.Module:
    import transformers

    return transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=WORDS, n_positions=LENGTH, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0
        )
    )


def images(step: int):
    i = torch.arange(BATCH) * 7 + step
    x = ((torch.arange(64)[None] * (i % 10 + 1)[:, None]) % 17 < 5).float().view(BATCH, 1, 8, 8)
    return x, i % 10


def texts(step: int):
    """Sentences of several lengths, padded, and their words as labels, -100 where there is none."""
    i, place = torch.arange(BATCH)[:, None], torch.arange(LENGTH)[None]
    ids = (i * i + place * (3 + i % 5) + step) % WORDS
    kept = place < 4 + i % 9
    return torch.where(kept, ids, 0), torch.where(kept, ids, -100)


def loss_of_images(model, x, y, whole):
    return F.cross_entropy(model(x), y, reduction="sum") / len(whole)


def loss_of_texts(model, ids, labels, whole):
    """The sum of this share's losses over the number of all words that count."""
    logits = model(input_ids=ids, attention_mask=(labels != -100).long()).logits[:, :-1]
    total = F.cross_entropy(logits.reshape(-1, WORDS), labels[:, 1:].reshape(-1), ignore_index=-100, reduction="sum")
    return total / int((whole[:, 1:] != -100).sum())


MODELS = {"cnn": (make_cnn, images, loss_of_images), "gpt2": (make_gpt2, texts, loss_of_texts)}


def train(name: str, steps: int, way: tuple[float, bool] | None = None) -> str:
    """The digest after so many steps; in one process if there is no way."""
    make, batches, loss = MODELS[name]
    size = 1 if way is None else dist.get_world_size()
    shares = SHARES[size]
    first = sum(shares[: max(RANK, 0)])
    share = slice(first, first + shares[max(RANK, 0)])
    with repmath.torch.reproducible(gradients="exact"):
        torch.manual_seed(0)
        model = outer = make()
        if way is not None:
            outer = nn.parallel.DistributedDataParallel(model, bucket_cap_mb=way[0], gradient_as_bucket_view=way[1])
            outer.register_comm_hook(rd.State(), rd.ddp_hook)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        for step in range(steps):
            x, y = batches(step)
            optimizer.zero_grad()
            with contextlib.nullcontext() if way is None else rd.global_batch(share.start, share.stop - share.start, BATCH):
                loss(outer, x[share], y[share], y).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
    return rd.digest(model, optimizer)


def rank(steps: int) -> None:
    """What a process of torchrun does."""
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1 + RANK % 2)
    dist.init_process_group("gloo")
    print(f"  rank {RANK}: {repmath.config()['isa']}, {torch.get_num_threads()} threads", flush=True)
    for name in MODELS:
        for way in WAYS:
            found = train(name, steps, way)
            everywhere = [None] * dist.get_world_size()
            dist.all_gather_object(everywhere, found)
            if RANK == 0:
                megabytes, views = way
                print(
                    f"{name} {megabytes:>5} MB{', views' if views else '       '}  {' '.join(sorted(set(everywhere)))}",
                    flush=True,
                )
    dist.barrier()
    gc.collect()  # models that hold the group are gone before it is
    dist.destroy_process_group()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--worlds", type=int, nargs="+", default=[1, 2, 3, 4], choices=SHARES)
    args = parser.parse_args()
    if RANK >= 0:
        rank(args.steps)
        return 0
    expected = {name: train(name, args.steps) for name in MODELS}
    for name, digest in expected.items():
        print(f"{name} in one process   {digest}", flush=True)
    env = os.environ | {"EVERY_WAY_ISAS": " ".join(repmath.config()["available isas"]), "OMP_NUM_THREADS": "1"}
    wrong = 0
    for world in args.worlds:
        print(f"{world} process{'es' if world > 1 else ''}", flush=True)
        command = [
            sys.executable,
            "-m",
            "torch.distributed.run",
            "--nproc-per-node",
            str(world),
            "--master-addr",
            "127.0.0.1",
        ]
        command += ["--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:0", "--local-addr", "127.0.0.1"]
        done = subprocess.run([*command, __file__, "--steps", str(args.steps)], stdout=subprocess.PIPE, text=True, env=env)
        print(done.stdout, end="", flush=True)
        lines = [line.split() for line in done.stdout.splitlines() if line.startswith(tuple(MODELS))]
        wrong += done.returncode != 0 or len(lines) != len(MODELS) * len(WAYS)
        wrong += sum(line[-1] != expected[line[0]] for line in lines)
    print("one digest for each model" if not wrong else f"{wrong} are wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
