"""Data parallel steps of GPT-2 on 1, 2 and 4 processes over gloo: CPU time, wall time, peak memory and bytes sent.

python bench/distributed.py [--worlds 1 2 4] [--rounds N] [--steps N] [--ways NAME ...] [--own] [--json FILE]
python bench/distributed.py --all-reduce [--worlds 2 4]     an all-reduce of 16 Mi numbers beside PyTorch's
python bench/distributed.py --open        which part of the elements the ranks' parts of sums leave undecided, for up to 1024 ranks

Each way has the same model (4 layers of 256), the same batch of 8 x 128 tokens, divided evenly (with --own each process has as many), and AdamW,
on one thread a process:

  PyTorch        PyTorch's DistributedDataParallel without repmath
  rounded        the same under reproducible(): each rank rounds its gradients, and their sum is rounded again; bits depend on the ranks
  exact          reproducible(gradients="exact") with rd.ddp_hook
  sharded        reproducible(gradients="exact") with fully_shard and rd.fsdp
  ... parts      a backward pass for each sequence of a rank's share, without a reduction but for the last
  late parts     as exact parts, by rd.no_sync: gradients are computed in the last pass alone

The ways take turns, a fresh set of processes each time, which are forked from this one. A figure is the median over rounds of the mean over ranks;
peak memory and bytes are those of the rank that has most. Bytes are counted by the kernel, for the sockets that a process has open.
"""

import argparse
import contextlib
import functools
import gc
import json
import os
import pathlib
import signal
import socket
import statistics
import struct
import sys
import tempfile
import time
import traceback

os.environ["GLOO_SOCKET_IFNAME"] = "lo"
os.environ["OMP_NUM_THREADS"] = "1"

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import repmath  # noqa: E402
import repmath.torch  # noqa: E402
import repmath.torch.distributed as rd  # noqa: E402

SEQUENCES, LENGTH, WORDS = 8, 128, 256
WAYS = ("PyTorch", "rounded", "exact", "sharded", "rounded parts", "exact parts", "late parts")
BASE = {
    "exact": "rounded",
    "sharded": "rounded",
    "exact parts": "rounded parts",
    "late parts": "rounded parts",
    "PyTorch": "rounded",
}
SECONDS = 600


def sent():
    """Bytes that this process has sent by TCP, as the kernel counts them (struct tcp_info, tcpi_bytes_sent); those of closed sockets are forgotten."""
    total = 0
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError, struct.error):
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                with socket.socket(fileno=os.dup(int(name))) as s:
                    total += struct.unpack_from("Q", s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232), 200)[0]
    return total


def held(key):
    """KiB that this process has (VmRSS), or had at most (VmHWM)."""
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(key)))


def make(way):
    """The model, what a pass calls, and the optimiser."""
    import transformers

    config = transformers.GPT2Config(
        vocab_size=WORDS, n_positions=LENGTH, n_embd=256, n_layer=4, n_head=4, bos_token_id=0, eos_token_id=0
    )
    torch.manual_seed(0)
    config.resid_pdrop = config.embd_pdrop = config.attn_pdrop = 0.0
    model = transformers.GPT2LMHeadModel(config)
    if way == "one process":
        return model, model, torch.optim.AdamW(model.parameters(), 1e-3)
    if way == "sharded":
        from torch.distributed.fsdp import fully_shard

        for block in model.transformer.h:
            fully_shard(block)
        fully_shard(model)
        rd.fsdp(model)
        return model, model, torch.optim.AdamW(model.parameters(), 1e-3)
    outer = torch.nn.parallel.DistributedDataParallel(model)
    if way.startswith(("exact", "late")):
        outer.register_comm_hook(rd.State(), rd.ddp_hook)
    return model, outer, torch.optim.AdamW(model.parameters(), 1e-3)


def rank(number, folder, way, size, steps, sequences):
    """Write what rank number of size has found in a number of steps with a batch of so many sequences."""
    torch.set_num_threads(1)
    repmath.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=number, world_size=size)
    ids = (torch.arange(sequences)[:, None] * 37 + torch.arange(LENGTH)[None] ** 2) % WORDS
    share = ids.chunk(size)[number]
    inside = contextlib.nullcontext()
    if way != "PyTorch":
        inside = repmath.torch.reproducible(gradients=None if way.startswith("rounded") else "exact")
    found = {"cpu": [], "wall": []}
    before = held("VmRSS")
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # the peak is that of now
    with inside:
        model, outer, optimizer = make(way)
        parts = share.split(1) if way.endswith("parts") else [share]
        for step in range(1 + steps):
            if step == 1:
                bytes_before = sent()
            dist.barrier()
            cpu, wall = time.process_time(), time.perf_counter()
            optimizer.zero_grad()
            for i, part in enumerate(parts):
                last = i + 1 == len(parts)
                more = rd.no_sync if way == "late parts" else torch.nn.parallel.DistributedDataParallel.no_sync
                with contextlib.nullcontext() if last else more(outer):
                    logits = outer(input_ids=part).logits[:, :-1]
                    total = F.cross_entropy(logits.reshape(-1, WORDS), part[:, 1:].reshape(-1), reduction="sum")
                    (total / (sequences * (LENGTH - 1))).backward()
            optimizer.step()
            if step:
                found["cpu"].append(time.process_time() - cpu)
                found["wall"].append(time.perf_counter() - wall)
        found["bytes"] = (sent() - bytes_before) / steps
        found["peak"] = held("VmHWM") - before
        found["parameters"] = sum(p.numel() for p in model.parameters())
        found["digest"] = rd.digest(model)
        del model, outer, optimizer, logits, total
    (folder / f"{number}.json").write_text(json.dumps(found))
    dist.barrier()
    gc.collect()
    dist.destroy_process_group()


def all_reduce(number, folder, size, rounds, elements=1 << 24):
    """Seconds of PyTorch's all-reduce and of that under reproducible(), in turns; each rank has one thread."""
    torch.set_num_threads(1)
    repmath.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=number, world_size=size)
    torch.manual_seed(number)
    x, found = torch.randn(elements), {"PyTorch": [], "exact": []}
    for turn in range(1 + rounds):
        for way, inside in (("PyTorch", contextlib.nullcontext()), ("exact", repmath.torch.reproducible())):
            t = x.clone()
            dist.barrier()
            with inside:
                cpu, wall = time.process_time(), time.perf_counter()
                dist.all_reduce(t)
                if turn:
                    found[way].append((time.process_time() - cpu, time.perf_counter() - wall))
    (folder / f"{number}.json").write_text(json.dumps(found))
    dist.barrier()
    dist.destroy_process_group()


def print_all_reduce(sizes, rounds):
    for size in sizes:
        found = run("all_reduce", size, functools.partial(all_reduce, size=size, rounds=rounds))[0]
        ratios = [[e[i] / p[i] for e, p in zip(found["exact"], found["PyTorch"], strict=True)] for i in (0, 1)]
        cpu, wall = map(statistics.median, ratios)
        print(
            f"{size} processes, all_reduce of 16 Mi float32: {cpu:.2f} of PyTorch's CPU time, {wall:.2f} of its time",
            flush=True,
        )


def run(what, size, of_rank):
    """What each rank has found: of_rank(number, folder) writes it."""
    with tempfile.TemporaryDirectory() as name:
        folder, children = pathlib.Path(name), []
        for number in range(size):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    signal.alarm(SECONDS)
                    of_rank(number, folder)
                    code = 0
                except BaseException:
                    traceback.print_exc()
                finally:
                    sys.stdout.flush()
                    os._exit(code)
            children.append(child)
        if any([os.waitpid(child, 0)[1] for child in children]):
            raise RuntimeError(f"{what} on {size} processes has failed")
        return [json.loads((folder / f"{number}.json").read_text()) for number in range(size)]


def summary(runs):
    """The figures of a way on one number of processes, from those of its ranks in each round."""
    ranks = [r for found in runs for r in found]
    return {
        "cpu": statistics.median(statistics.mean(min(r["cpu"]) for r in found) for found in runs),
        "wall": statistics.median(statistics.mean(min(r["wall"]) for r in found) for found in runs),
        "peak": statistics.median(max(r["peak"] for r in found) for found in runs),
        "bytes": max(r["bytes"] for r in ranks),
        "parameters": ranks[0]["parameters"],
        "digests": sorted({r["digest"] for r in ranks}),
    }


def undecided():
    """For numbers of ranks, which part of the elements of weights' gradients is not decided, when the 1024 rows of a batch are divided among them."""
    import numpy as np

    from repmath import _partials
    from repmath.torch._exact.engine import of_block
    from repmath.torch._exact.records import Product, arranged

    ids = (torch.arange(SEQUENCES)[:, None] * 37 + torch.arange(LENGTH)[None] ** 2) % WORDS
    worlds = [4**i for i in range(6)]
    open_, elements = dict.fromkeys(worlds, 0), 0
    with repmath.torch.reproducible(gradients="exact"):
        model, _, optimizer = make("one process")
        for step in range(3):
            optimizer.zero_grad()
            logits = model(input_ids=ids).logits[:, :-1]
            F.cross_entropy(logits.reshape(-1, WORDS), ids[:, 1:].reshape(-1)).backward()
            if step < 2:
                optimizer.step()
        block = of_block()
        for p in (p for p in model.parameters() if p.ndim == 2):
            records = [arranged(u) for u in block.uses_of(p)]
            if not all(isinstance(r, Product) for r in records):
                continue
            a, b = records[0].operands()
            rows = a.shape[1]
            elements += p.numel()
            for world in worlds:
                sums = [
                    _partials.product(a[:, c : c + rows // world], b[c : c + rows // world])
                    for c in range(0, rows, rows // world)
                ]
                made = [s.part(0) for s in sums]
                lines = sum(m.rows for m in made), sum(m.cols for m in made)
                parts = np.stack([m.sums.reshape(-1) for m in made])
                open_[world] += len(_partials.joined(parts, np.dtype(np.float32), 0, lines)[1])
    print(f"{elements} elements")
    for world in worlds:
        print(f"{world:5} ranks  {open_[world]:6} undecided, {open_[world] / elements:.1e}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, nargs="+", default=[1, 2, 4], choices=[1, 2, 4, 8])
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=WAYS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--own", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--open", action="store_true")
    parser.add_argument("--all-reduce", action="store_true")
    args = parser.parse_args()
    if args.open:
        undecided()
        return
    if args.all_reduce:
        print_all_reduce([size for size in args.worlds if size > 1], 9)
        return
    import transformers  # noqa: F401  # before the forks

    every = {}
    print(
        f"{repmath.config()['isa']}, {args.rounds} rounds of {args.steps} steps; ratios are to `rounded` with as many passes"
    )
    print(f"{'':24} {'CPU s a step':>14} {'wall s':>8} {'peak MiB':>14} {'sent bytes a parameter':>24}  digests")
    for size in args.worlds:
        runs = {way: [] for way in args.ways}
        sequences = SEQUENCES * (size if args.own else 1)
        for turn in range(args.rounds):
            for way in args.ways if turn % 2 == 0 else args.ways[::-1]:
                of_rank = functools.partial(rank, way=way, size=size, steps=args.steps, sequences=sequences)
                runs[way].append(run(way, size, of_rank))
        found = {way: summary(r) for way, r in runs.items()}
        for way, f in found.items():
            base = found.get(BASE.get(way, way), f)
            sent_, of_base = f["bytes"] / f["parameters"], base["bytes"] / f["parameters"]
            print(
                f"{size} process{'es' if size > 1 else '  '} {way:13} {f['cpu']:8.3f} {f['cpu'] / base['cpu']:5.2f} {f['wall']:8.3f} "
                f"{f['peak'] / 1024:8.1f} {f['peak'] / base['peak']:5.2f} {sent_:18.2f} {sent_ / of_base if of_base else 1:5.2f}  "
                f"{' '.join(d[:8] for d in f['digests'])}",
                flush=True,
            )
        every[size] = found
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(every, indent=1))


if __name__ == "__main__":
    main()
