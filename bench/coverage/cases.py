"""A program that runs inside of a block, and what became of it."""

import contextlib
import multiprocessing
import resource
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """`run` returns a remark, nothing, or more of what is found; it raises `Absent` where PyTorch itself has no such program."""

    kind: str
    name: str
    run: Callable[[], str | dict | None]


class Absent(Exception):
    """There is no such program: the text says why."""


# How far loss and gradients of a network in float32 may be from PyTorch's in binary64, as relative errors.
WITHIN = (1e-3, 3e-2)
OUTCOMES = ("passed", "refused", "error", "too long", "absent")


def _outcome(case):
    import repmath.torch

    began = time.process_time()
    more, detail = {}, ""
    try:
        outcome, made = "passed", case.run() or ""
        if isinstance(made, dict):
            more = made
            detail = more.pop("detail", "")
            if any(e > w for e, w in zip(made.get("apart", ()), WITHIN, strict=False)):
                outcome, detail = (
                    "error",
                    "loss or gradients are far from binary64: " + ", ".join(f"{e:.1e}" for e in made["apart"]),
                )
        else:
            detail = made
    except Absent as reason:
        outcome, detail = "absent", str(reason)
    except repmath.torch.UncoveredOperatorError as error:
        outcome, detail = "refused", f"{error.operator}: {str(error).split('is not covered: ')[1].split('. Write it')[0]}"
    except Exception as error:
        text = str(error).splitlines() or [""]
        outcome, detail = "error", f"{type(error).__name__}: {text[0][:160]}"
    return {
        "kind": case.kind,
        "case": case.name,
        "outcome": outcome,
        "detail": detail,
        "s": round(time.process_time() - began, 2),
        **more,
    }


def _child(case, seconds, memory, to):
    import torch

    torch.set_num_threads(1)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    with contextlib.redirect_stdout(None), contextlib.redirect_stderr(None):
        found = _outcome(case)
    to.send(found)


def result(case, seconds, memory=20 << 30):
    """What becomes of a case, in a process of its own, which is ended after so many seconds of the CPU's time, or ten times as many of the clock."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(case, seconds, memory, there))
    process.start()
    there.close()
    late = {"kind": case.kind, "case": case.name, "outcome": "too long", "detail": f"{seconds} s", "s": seconds}
    try:
        found = here.recv() if here.poll(10 * seconds) else late
    except EOFError:
        process.join()
        ended = {"outcome": "error", "detail": f"the process ended with {process.exitcode}"}
        found = late if process.exitcode == -signal.SIGXCPU else late | ended
    process.kill()
    process.join()
    return found
