"""Blocks of reproducible() across threads, tasks and generators: each is in its own, and what they change is restored once, by the last."""

import asyncio
import contextlib
import gc
import os
import subprocess
import sys
import threading

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from torch.utils import _python_dispatch  # noqa: E402

import repmath.torch as rt  # noqa: E402
from repmath.torch import _blocks  # noqa: E402

UNCOVERED = torch.linalg.eigvals


def state():
    """What a block may change: oneDNN, flushing, the modes of this thread, what torch.compile asks."""
    modes = torch._C._len_torch_dispatch_stack(), torch._C._len_torch_function_stack()
    tiny = torch.full((1,), 1e-40)
    flags = _python_dispatch.is_in_torch_dispatch_mode(), _python_dispatch.is_in_any_mode_without_ignore_compile_internals()
    return torch._C._get_mkldnn_enabled(), bool(tiny.mul(1.0) == 0), modes, flags


@pytest.fixture(autouse=True)
def restored():
    before = state()
    assert before[2] == (0, 0) and before[3] == (False, False)
    yield
    assert state() == before


def is_strict():
    try:
        UNCOVERED(torch.eye(2))
    except rt.UncoveredOperatorError:
        return True
    return False


def where():
    """ "strict", "loose" or "outside", by what an operator that is not covered does."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.suppress(IndexError))
        if is_strict():
            return "strict"
    counted = [e.block for e in _blocks.entered.get() if e.alive]
    return "loose" if counted and counted[-1].uncovered else "outside"


def turns(n):
    """Barriers for threads that take turns."""
    return [threading.Barrier(2, timeout=20) for _ in range(n)]


@pytest.mark.parametrize("first_leaves_first", [True, False])
def test_two_threads(first_leaves_first):
    """Neither turns oneDNN on for the other, and after both it is as it was; torch.compile too is told so by the last."""
    steps, seen = turns(3), {}

    def run(name, leaves_first):
        block = rt.reproducible(strict=name == "a")
        if name == "b":
            steps[0].wait()  # a is inside
        with block:
            if name == "a":
                steps[0].wait()
            steps[1].wait()  # both are inside
            seen[name, "both"] = torch._C._get_mkldnn_enabled(), is_strict()
            if not leaves_first:
                steps[2].wait()  # the other has left
                seen[name, "alone"] = torch._C._get_mkldnn_enabled(), is_strict(), state()[3]
        seen[name, "left"] = is_strict()
        if leaves_first:
            steps[2].wait()

    threads = [
        threading.Thread(target=run, args=("a", first_leaves_first)),
        threading.Thread(target=run, args=("b", not first_leaves_first)),
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    other = "b" if first_leaves_first else "a"
    assert seen == {
        ("a", "both"): (False, True),
        ("b", "both"): (False, False),
        (other, "alone"): (False, other == "a", (True, True)),
        ("a", "left"): False,
        ("b", "left"): False,
    }


def test_one_block_in_two_threads():
    """A block that two threads enter is left by each of them for itself."""
    block, steps, seen = rt.reproducible(), turns(2), []

    def run():
        with block:
            steps[0].wait()
            steps[1].wait()  # the other has left
            seen.append(is_strict())

    thread = threading.Thread(target=run)
    thread.start()
    with block:
        steps[0].wait()
        assert is_strict()
    assert not is_strict()
    steps[1].wait()
    thread.join()
    assert seen == [True]


def test_tasks():
    """Tasks that take turns in one thread are each in their own block; one that is in none sees none."""
    seen = {"strict": [], "loose": [], "outside": []}
    loose = rt.reproducible(strict=False)

    async def run(name, block, pauses):
        async with asyncio.timeout(20):
            with block:
                for _ in range(pauses):
                    seen[name].append(is_strict())
                    await asyncio.sleep(0)
            seen[name].append("left" if not is_strict() else "still in")

    async def main():
        await asyncio.gather(
            run("strict", rt.reproducible(), 3), run("loose", loose, 5), run("outside", contextlib.nullcontext(), 7)
        )

    asyncio.run(main())
    assert seen["strict"] == [True] * 3 + ["left"]
    assert seen["loose"] == [False] * 5 + ["left"]
    assert seen["outside"] == [False] * 7 + ["left"]
    assert sum(loose.uncovered.values()) == 5  # its own, and no other task's


def test_a_task_has_the_block_of_its_maker():
    """A task begins in the block that made it, and is in it while it lasts, not longer."""
    seen = []

    async def child(go):
        seen.append(is_strict())
        await go.wait()
        seen.append(is_strict())

    async def main():
        go = asyncio.Event()
        with rt.reproducible():
            task = asyncio.create_task(child(go))
            await asyncio.sleep(0)
        go.set()
        await task

    asyncio.run(main())
    assert seen == [True, False]


def test_leaving_takes_its_own_block():
    """Blocks that are not left in the reverse order, as tasks and generators do."""
    outer, inner = rt.reproducible(), rt.reproducible(strict=False)
    outer.__enter__()
    inner.__enter__()
    assert not is_strict()
    outer.__exit__(None, None, None)
    assert not is_strict() and sum(inner.uncovered.values()) == 2
    inner.__exit__(None, None, None)
    with pytest.raises(RuntimeError, match="was not entered"):
        inner.__exit__(None, None, None)


def test_modes_that_are_left_in_another_order():
    """A mode that was entered above ours stays where ours goes."""
    block, calls = rt.reproducible(), rt.trace()
    block.__enter__()
    calls.__enter__()
    block.__exit__(None, None, None)
    torch.ones(2).exp()
    assert not is_strict() and [c.operator for c in calls.calls][:2] == ["aten.ones.default", "aten.exp.default"]
    calls.__exit__(None, None, None)
    for name in ("_is_in_torch_dispatch_mode", "_is_in_non_infra_torch_dispatch_mode"):
        setattr(_python_dispatch, name, False)  # the trace's own, which PyTorch restores in one order only
    _python_dispatch._is_in_any_mode_without_ignore_compile_internals = False
    _python_dispatch.set_is_in_mode_without_ignore_compile_internals(False)


def test_generators():
    """As with `decimal.localcontext`: while a generator stands inside its block, its caller is in it. Closing leaves just this one."""

    def inside():
        with rt.reproducible():
            while True:
                yield is_strict()

    one = inside()
    assert next(one) and is_strict()
    with rt.reproducible(strict=False):
        assert not is_strict()
        one.close()
        assert not is_strict()
    assert not is_strict()
    two = inside()
    next(two)
    del two
    gc.collect()
    assert not is_strict()


def test_a_generator_that_another_thread_closes():
    """The block ends for all; this thread's modes let everything pass, and go with its next block."""

    def inside():
        with rt.reproducible():
            yield

    one = inside()
    next(one)
    thread = threading.Thread(target=one.close)
    thread.start()
    thread.join()
    assert not is_strict() and torch._C._get_mkldnn_enabled()
    with rt.reproducible():
        assert is_strict()


def test_a_thread_of_pytorch_works_for_its_block():
    """torch.jit.fork runs its function in a thread of PyTorch's, which takes over the modes but no context."""

    @torch.jit.script
    def work(x: torch.Tensor) -> torch.Tensor:
        return torch.jit.wait(torch.jit.fork(torch.linalg.eigvals, x))

    x = torch.eye(2)
    work(x)
    loose = rt.reproducible(strict=False)
    with loose:
        work(x)
    assert sum(loose.uncovered.values()) == 1


FORKED = """
import os, signal, sys, threading, time
import torch, repmath.torch as rt
from repmath.torch import _blocks

if "pool" in sys.argv:  # PyTorch's threads have begun
    torch.set_num_threads(2)
    (torch.ones(1 << 20) + 1).sum()
held = threading.Event()

def enter():
    with _blocks.process.lock:
        held.set()
        time.sleep(0.2)

thread = threading.Thread(target=enter)
if "enters" in sys.argv:
    thread.start()
    held.wait()
child = os.fork()
if child == 0:
    signal.alarm(20)  # what the child has not shows as a hang
    with rt.reproducible():
        os._exit(0 if torch.exp(torch.ones(3)).tolist() == [torch.exp(torch.ones(1)).item()] * 3 else 1)
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no process is forked here")
@pytest.mark.parametrize("what", [("enters",), ("pool",), ("enters", "pool")], ids=" ".join)
def test_a_forked_child_enters_a_block(what):
    """It lacks PyTorch's threads, and another one that was entering a block."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED, *what], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr


FLUSHED = """
import sys
import torch

n, master = 1 << 20, sys.argv[1] == "True"
torch.set_num_threads(2)
assert torch.set_flush_denormal(True)
x = torch.full((n,), 71362, dtype=torch.int32).view(torch.float32)  # 1e-40
assert (x > 0).sum() == 0  # now the pool has begun: its threads flush
torch.set_flush_denormal(master)

import repmath.torch
from repmath.torch import _blocks


def wrong():
    zero, one = torch.zeros(n), torch.ones(n)
    with repmath.torch.reproducible():
        found = {
            "gt": (x > 0).sum() == n,
            "ne": (x != 0).sum() == n,
            "nonzero": len(x.nonzero()) == n,
            "argmax": torch.stack([zero, x]).argmax(0).sum() == n,
            "sort": torch.stack([x, zero], 1).sort(1)[1][:, 0].sum() == n,
            "max": torch.stack([zero, x], 1).max(1)[1].sum() == n,
            "sign": x.sign().sum() == n,
            "ceil": x.ceil().sum() == n,
            "masked_fill": one.masked_fill(x > 0, 0.0).sum() == 0,
            "where": torch.where(x > 0, 1.0, 0.0).sum() == n,
            "heaviside": x.heaviside(x).sum() == n,
            "nextafter": torch.nextafter(x, zero).view(torch.int32).sum() == 71361 * n,
            "amax": torch.stack([zero, x]).amax(0).view(torch.int32).sum() == 71362 * n,
            "count_nonzero": x.count_nonzero() == n,
            "logical_not": x.logical_not().sum() == 0,
        }
    return sorted(name for name, right in found.items() if not right)


real = _blocks._hold_pool
_blocks._hold_pool = lambda: None
print("control", *wrong())
_blocks._hold_pool = real
print("block", *wrong())
print("after", (x > 0).sum().item())  # the threads are as they were
_blocks._parallel = lambda: 0
try:
    wrong()
except RuntimeError as error:
    print("refused", error)
print("refused", torch._C._len_torch_dispatch_stack(), torch._C._get_mkldnn_enabled())
"""


@pytest.mark.sample(2)
@pytest.mark.parametrize("master", [True, False])
def test_every_thread_honours_subnormal_numbers(master):
    """Also those of PyTorch's pool that began while this thread flushed. Where they cannot be reached, the block is refused."""
    if not torch.set_flush_denormal(False):
        pytest.skip("this CPU does not flush")
    command = [sys.executable, "-c", FLUSHED, str(master)]
    control, block, after, refused, left = subprocess.run(
        command, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    names = (
        "amax gt ne nonzero argmax sort max sign ceil masked_fill where heaviside nextafter count_nonzero logical_not".split()
    )
    assert set(names) - set(control.split()) == set()  # without the region in which the threads change themselves
    assert block == "block"
    assert after == f"after {0 if master else 1 << 19}"
    assert "flush subnormal numbers" in refused and left == "refused 0 True"
