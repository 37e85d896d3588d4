"""The exchange of exact gradients between ranks that are threads of this process: every kind of record, whole results and parts of them, decided at once and not at all."""

import threading

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from repmath.torch._exact import exchange, partials  # noqa: E402
from repmath.torch._exact.records import Convolved, Normed, Operand, Product, Scattered, Terms, Use, settle  # noqa: E402

RANKS, ROWS = 3, 24
CUTS = [0, 5, 17, ROWS]
SHAPES = [(6, 10), (6, 10), (6, 10), (10,), (3, 2, 3, 3), (9,), (10, 6)]


class Threads:
    """What the ranks have in common."""

    def __init__(self):
        self.barrier, self.board = threading.Barrier(RANKS, timeout=60), {}

    def told(self, rank, what):
        self.board[rank] = what
        self.barrier.wait()
        found = [self.board[q] for q in range(RANKS)]
        self.barrier.wait()
        return found


class Done:
    def wait(self):
        pass


class Group:
    """As a process group has it."""

    def __init__(self, threads, rank):
        self.threads, self._rank = threads, rank

    def rank(self):
        return self._rank

    def size(self):
        return RANKS

    def alltoall_base(self, out, given, out_sizes, sizes):
        at = 0
        for q, (sent, counts) in enumerate(self.threads.told(self._rank, (given.clone(), list(sizes)))):
            begin, count = sum(counts[: self._rank]), counts[self._rank]
            assert out_sizes[q] == count
            out[at : at + count] = sent[begin : begin + count]
            at += count
        return Done()

    def _allgather_base(self, out, given):
        out.view(RANKS, -1)[:] = torch.stack(self.threads.told(self._rank, given.clone()))
        return Done()


def _gathered(group, tensor):
    return torch.stack(group.threads.told(group.rank(), tensor.clone()))


def _agree(group, what, problem=""):
    problems = [p for p in group.threads.told(group.rank(), problem) if p]
    if problems:
        raise RuntimeError(problems[0])


@pytest.fixture
def uses():
    rng = np.random.default_rng(5)

    def kept(a):
        return Operand(torch.from_numpy(np.ascontiguousarray(a)).float())

    a, b = rng.standard_normal((ROWS, 6)), rng.standard_normal((ROWS, 10))
    x, at = np.round(rng.standard_normal((ROWS, 10)) * 8) / 8, rng.integers(0, 6, ROWS)
    image, slope = rng.standard_normal((ROWS, 2, 5, 5)), rng.standard_normal((ROWS, 3, 3, 3))
    h, y = rng.standard_normal((ROWS, 9)), rng.standard_normal((ROWS, 9))
    options = (("stride", (1, 1)), ("padding", (0, 0)), ("dilation", (1, 1)), ("groups", 1))

    def of(s):
        product = Product(kept(a[s].T), kept(b[s]), (6, 10))
        looked_up = Scattered(Terms(kept(x[s]), (), x[s].shape), Operand(torch.from_numpy(at[s])), -1, (6, 10))
        return [
            [Use(product)],
            [Use(product), Use(looked_up)],
            [Use(looked_up)],
            [Use(Terms(kept(x[s]), (0,), (10,)))],
            [Use(Convolved(kept(slope[s]), kept(image[s]), (3, 2, 3, 3), options, False))],
            [Use(Normed("layer_norm", kept(h[s]), kept(y[s]), (9,), (1e-5,)))],
            [Use(product, ((10, 6), (1, 10), 0))],
        ]

    return of


def nothing_decided(parts, bounds, dtype, real=partials.joined):
    made, _ = real(parts, bounds, dtype)
    made[:] = np.nan
    return made, np.arange(made.size)


def on_each_rank(monkeypatch, uses, axes=None):
    """What `reduced` returns on each rank, or the error that it raises."""
    for name, function in (("_gathered", _gathered), ("agree", _agree)):
        monkeypatch.setattr(exchange, name, function)
    threads, got = Threads(), {}

    def run(rank):
        try:
            own = uses(slice(CUTS[rank], CUTS[rank + 1]))
            leaves = [torch.zeros(s) for s in SHAPES]
            got[rank] = exchange.reduced(Group(threads, rank), leaves, own, axes)
        except BaseException as error:
            got[rank] = error
            if isinstance(error, threading.BrokenBarrierError):
                raise

    running = [threading.Thread(target=run, args=(rank,)) for rank in range(RANKS)]
    for one in running:
        one.start()
    for one in running:
        one.join()
    return [got[rank] for rank in range(RANKS)]


@pytest.mark.parametrize("joined", [partials.joined, nothing_decided])
@pytest.mark.parametrize("axes", [None, [0] * 7, [1, 1, 1, 0, 1, 0, 1], [0, 0, 0, 0, 2, 0, 0]])
def test_every_rank_gets_the_bits_of_the_whole(uses, monkeypatch, joined, axes):
    monkeypatch.setattr(partials, "nbytes", lambda _: 1 << 40)  # parts are taken, however short the operands
    monkeypatch.setattr(partials, "joined", joined)
    whole = [settle(u, s, torch.float32) for u, s in zip(uses(slice(0, ROWS)), SHAPES, strict=True)]
    for rank, got in enumerate(on_each_rank(monkeypatch, uses, axes)):
        if isinstance(got, BaseException):
            raise got
        for i, expected in enumerate(whole):
            if axes:
                first, count = exchange.part_of(expected.shape[axes[i]], RANKS, rank)
                expected = expected.narrow(axes[i], first, count)
            assert torch.equal(got[i].contiguous().view(torch.int32), expected.contiguous().view(torch.int32)), i


@pytest.mark.parametrize("function", ["part", "joined", "windows", "settle", "modified"])
def test_an_error_of_one_rank_is_that_of_all(uses, monkeypatch, function):
    """No memory in any phase, or an operand that was modified: each rank raises the same, and none waits."""
    failing, phase = RANKS - 1, {"at": 0}
    lock = threading.Lock()

    def short(*args, **kwargs):
        with lock:
            phase["at"] += 1
            if phase["at"] == 2:  # one of the ranks
                raise MemoryError("no memory")
        return own(*args, **kwargs)

    if function == "modified":
        real = uses

        def uses(s):
            made = real(s)
            if s.start == CUTS[failing]:
                made[0][0].record.a._tensor.add_(1)
            return made
    else:
        where = exchange if function == "settle" else partials
        own = getattr(where, function)
        if function == "windows":
            monkeypatch.setattr(partials, "joined", nothing_decided)
        monkeypatch.setattr(where, function, short)
    if function != "settle":
        monkeypatch.setattr(partials, "nbytes", lambda _: 1 << 40)
    got = on_each_rank(monkeypatch, uses)
    assert all(isinstance(g, RuntimeError) for g in got), got
    (text,) = {str(g) for g in got}
    assert ("modified in place" if function == "modified" else "MemoryError: no memory") in text


@pytest.mark.parametrize("axes", [None, [0] * 7])
def test_no_memory_for_what_is_sent_is_an_error_of_all(uses, monkeypatch, axes):
    """One rank has none for its n-th buffer: sums are parts, of which nothing is decided, and operands."""

    def bytes_of(found):
        return 0 if all(isinstance(u.record, Terms) for u in found) else 1 << 40

    real, calls = exchange._empty, {}

    def empty(n, *dtype):
        rank = threading.current_thread()
        calls[rank] = calls.get(rank, 0) + 1
        if rank is failing[0] and calls[rank] == number:
            raise MemoryError("no memory")
        return real(n, *dtype)

    failing, number, begin = [None], 0, threading.Thread.start

    def start(thread):
        failing[0] = thread  # the last rank
        begin(thread)

    monkeypatch.setattr(partials, "nbytes", bytes_of)
    monkeypatch.setattr(partials, "joined", nothing_decided)
    monkeypatch.setattr(exchange, "_empty", empty)
    monkeypatch.setattr(exchange, "_TOGETHER", 100)
    on_each_rank(monkeypatch, uses, axes)
    buffers = max(calls.values())
    assert buffers > 8
    monkeypatch.setattr(threading.Thread, "start", start)
    for number in range(1, buffers + 1):  # noqa: B007  which empty() reads
        calls.clear()
        got = on_each_rank(monkeypatch, uses, axes)
        assert all(isinstance(g, RuntimeError) for g in got), (number, got)
        assert {str(g) for g in got} == {"MemoryError: no memory"}
