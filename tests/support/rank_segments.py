"""What the ranks of test_a_rank_that_is_killed_between_segments do: the last one is killed before it sends its n-th message in a sum of many segments."""

import json
import os
import signal
import time

import torch
import torch.distributed as dist

import repmath.torch
from repmath.torch._aten import collectives

MESSAGES = (0, 1, 2, 9, 40)  # before which it is killed in each run; in the first one it is not


def main(rank, size, directory):
    run = int(os.environ["RANK_RUN"])
    ended, calls, send = directory / f"ended-{run}", 0, collectives._Exchange._send

    def counted(*args):
        nonlocal calls
        calls += 1
        if rank == size - 1 and calls == MESSAGES[run]:
            ended.write_text(str(time.monotonic()))
            os.kill(os.getpid(), signal.SIGKILL)
        send(*args)

    collectives._Exchange._send = counted
    collectives._SEGMENT = 1 << 12
    t, text, seconds = torch.full((1 << 16,), 2.0**rank), "", 0.0
    with repmath.torch.reproducible():
        try:
            dist.all_reduce(t)
        except Exception as error:
            seconds, text = time.monotonic() - float(ended.read_text()), f"{type(error).__name__}: {error}"
    collectives._Exchange._send = send
    right = bool((t == 2**size - 1).all())
    (directory / f"{run}-{rank}.json").write_text(json.dumps([calls, right, seconds, text]))
    if run:
        os._exit(0)
