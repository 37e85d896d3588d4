"""Collectives of torch.distributed: what only sends elements is PyTorch's own, and what reduces floating-point numbers over ranks is the exact
value over all of them, rounded once (docs/spec.md, section 8).

Each rank gets its share of the elements of all ranks, reduces it by the functions that reduce an axis, and the shares are gathered. So a
result depends neither on the network's algorithm nor on the order of the ranks. Before anything is sent, all ranks compare what they are
about to do: an argument that one of them cannot take, or that is not that of the others, is the same error on all ranks, and none waits.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from ... import _reductions, _statistics
from .._tensors import FORMATS, as_array, as_tensor
from .common import KERNELS, UFUNCS, Uncovered

_Group = Any
_Function = Callable[..., Any]

# By name with namespace: what runs as PyTorch runs it.
MOVES = frozenset(
    """c10d::broadcast_ c10d::allgather_ c10d::_allgather_base_ c10d::allgather_coalesced_ c10d::allgather_into_tensor_coalesced_
    c10d::alltoall_ c10d::alltoall_base_ c10d::gather_ c10d::scatter_ c10d::send c10d::recv_ c10d::recv_any_source_ c10d::barrier
    c10d::monitored_barrier_ c10d::check_for_nan _c10d_functional::broadcast _c10d_functional::broadcast_
    _c10d_functional::all_gather_into_tensor _c10d_functional::all_gather_into_tensor_out
    _c10d_functional::all_gather_into_tensor_coalesced _c10d_functional::all_to_all_single _c10d_functional::wait_tensor
    _c10d_functional::isend _c10d_functional::irecv _c10d_functional::batch_p2p_ops""".split()
)
# By name with namespace: what reduces.
REDUCTIONS: dict[str, _Function] = {}

# Up to so many bytes every rank gets the elements of all ranks, and reduces them itself.
_SMALL = 1 << 14


def _reduces(name: str) -> Callable[[_Function], _Function]:
    def enter(function: _Function) -> _Function:
        REDUCTIONS[name] = function
        return function

    return enter


# --- a reduction over the rows of all ranks


def _sum(rows: torch.Tensor, out: torch.Tensor) -> None:
    if len(rows) == 2:
        _sum_of_two(rows[0], rows[1], out)
    else:
        _reductions.sum(as_array(rows), axis=0, out=as_array(out))


def _sum_of_two(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    """One addition, which is rounded once, in a third of the time of a sum."""
    made = as_array(out)
    with np.errstate(all="ignore"):
        UFUNCS["add"](as_array(a), as_array(b), out=made)
        UFUNCS["add"](made, made.dtype.type(0), out=made)  # a sum of zeros is +0


def _mean(rows: torch.Tensor, out: torch.Tensor) -> None:
    out.copy_(as_tensor(_statistics.mean(as_array(rows), axis=0)))


def _product(rows: torch.Tensor, out: torch.Tensor) -> None:
    out.copy_(KERNELS["prod"](rows, 0))


def _by_pairs(name: str) -> Callable[[torch.Tensor, torch.Tensor], None]:
    def reduce(rows: torch.Tensor, out: torch.Tensor) -> None:
        made = KERNELS[name](rows[0], rows[0])  # so that a NaN is the canonical one
        for row in rows[1:]:
            made = KERNELS[name](made, row)
        out.copy_(made)

    return reduce


_WAYS: dict[str, Callable[[torch.Tensor, torch.Tensor], None]] = {
    "sum": _sum,
    "avg": _mean,
    "product": _product,
    "max": _by_pairs("maximum"),
    "min": _by_pairs("minimum"),
}
_NAMES = ("sum", "avg", "product", "min", "max", "band", "bor", "bxor", "premul_sum")  # in the order of ReduceOp.RedOpType


def _way(op: Any) -> str:
    """The name of what reduces."""
    if isinstance(op, str):
        return op.lower()
    return _NAMES[int(op.op())]


# --- agreement


class RanksDifferError(RuntimeError):
    """Ranks were about to do different things."""


_TEXT = 448  # bytes of an error's text that are sent


def _gathered(group: _Group, values: torch.Tensor) -> torch.Tensor:
    """The values of all ranks, as rows."""
    made = values.new_empty(group.size() * values.numel())
    group._allgather_base(made, values.contiguous()).wait()
    return made.view(group.size(), -1)


_DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def agree(group: _Group, what: Sequence[int], problem: str = "", kind: type[Exception] = Uncovered) -> None:
    """Raise the same error on every rank where one of them has a problem, or where they are about to do different things."""
    mine = torch.tensor([len(problem) > 0, len(what), *(w & (1 << 62) - 1 for w in what)], dtype=torch.int64)
    short = torch.zeros(12, dtype=torch.int64)
    short[: mine.numel()] = mine
    all_of_them = _gathered(group, short).tolist()
    if not any(row[0] for row in all_of_them):
        others = [i for i, row in enumerate(all_of_them) if row != all_of_them[0]]
        if others:
            raise RanksDifferError(
                f"ranks call different collectives: operator, reduction, dtype and shape of rank {others[0]} are not those of rank 0"
            )
        return
    text = torch.zeros(_TEXT, dtype=torch.uint8)
    said = problem.encode()[:_TEXT]
    if said:
        text[: len(said)] = torch.frombuffer(bytearray(said), dtype=torch.uint8)
    rows = _gathered(group, text)
    first = next(i for i, row in enumerate(all_of_them) if row[0])
    words = bytes(rows[first].tolist()).rstrip(b"\0").decode(errors="replace")
    raise kind(f"on rank {first}: {words}")


def _problem(tensors: Sequence[torch.Tensor], way: str) -> str:
    for t in tensors:
        if not t.is_cpu:
            return f"tensors on {t.device}"
        if t.layout is not torch.strided:
            return f"{t.layout} tensors"
        if (t.is_floating_point() or t.is_complex()) and (t.dtype not in FORMATS or way not in _WAYS):
            return f"{way} of {t.dtype}"
    return ""


def _exact(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether these are integers or bool, whose reductions by PyTorch do not depend on an order."""
    return not any(t.is_floating_point() or t.is_complex() for t in tensors)


_KINDS = {"all": 1, "scatter": 2, "root": 3}


def _begin(group: _Group, kind: str, way: str, tensors: Sequence[torch.Tensor], sizes: Sequence[int], root: int = 0) -> None:
    dtypes = [_DTYPES.index(t.dtype) if t.dtype in FORMATS else 4 + t.dtype.itemsize for t in tensors]
    mixed = 0
    for v in (*dtypes, *sizes):
        mixed = (mixed * 1_000_003 + v + 1) & ((1 << 61) - 1)
    agree(
        group,
        (_KINDS[kind], _NAMES.index(way) if way in _NAMES else 99, len(tensors), sum(sizes), mixed, root),
        _problem(tensors, way),
    )


# --- the exchange


def _shares(n: int, size: int) -> list[int]:
    """How many of n elements each rank reduces."""
    share = -(-n // size)
    return [max(0, min(share, n - i * share)) for i in range(size)]


def _error_of(call: Callable[[], None]) -> str:
    """The text of an error that a call raises."""
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _reduced(group: _Group, rows: torch.Tensor, way: str) -> torch.Tensor:
    """The reduction of the rows; an error of one rank is one of all."""
    made = torch.empty_like(rows[0])
    agree(group, (0,), _error_of(lambda: _WAYS[way](rows, made)), RuntimeError)
    return made


# Shares are sent in segments of so many bytes to each rank, and to all ranks, at most; so many are on their way at once.
_SEGMENT, _SEGMENTS, _AHEAD = 1 << 21, 1 << 24, 2
# The tags of terms and of results. A program is not likely to have these; the messages of a tag stay in order.
_TERMS, _RESULTS = 0xE9A0001, 0xE9A0002


class _Exchange:
    """Sends each rank its share of the terms, segment by segment: one is reduced while the next one is on its way.

    As in a ring each element is sent once to the rank that has it in its share, and once from there. Segments are so long because each message costs
    the threads that send and receive it a wait; all that is read and written but the tensors themselves stays in caches.
    """

    def __init__(self, group: _Group, shares: Sequence[torch.Tensor], out: torch.Tensor, gather: bool) -> None:
        """Of one-dimensional shares the one of this rank is reduced into `out`, which may be that share; with `gather`, those of the others get their results."""
        self.group, self.shares, self.out, self.gather = group, shares, out, gather
        self.size, self.rank = group.size(), group.rank()
        self.others = [(self.rank + i) % self.size for i in range(1, self.size)]
        longest, itemsize = max(s.numel() for s in shares), out.dtype.itemsize
        self.length = max(1, min(longest, _SEGMENT // itemsize, _SEGMENTS // (itemsize * self.size)))
        self.count = -(-longest // self.length)
        self.slots: list[torch.Tensor] = []
        self.receiving: list[list[Any]] = [[] for _ in range(_AHEAD)]
        self.sent: list[Any] = []

    def run(self, way: str) -> None:
        problem = _error_of(self._make_room)
        agree(self.group, (12,), problem, RuntimeError)
        for k in range(self.count + _AHEAD - 1):
            if k < self.count:
                self._begin(k)
            if k >= _AHEAD - 1:
                problem = self._finish(k - _AHEAD + 1, way) or problem
        for work in self.sent:
            work.wait()
        agree(self.group, (0,), problem, RuntimeError)

    def _make_room(self) -> None:
        self.slots = [self.out.new_empty((self.size, self.length)) for _ in range(min(_AHEAD, self.count))]

    def _segment(self, flat: torch.Tensor, k: int) -> torch.Tensor:
        return flat[k * self.length : (k + 1) * self.length]

    def _send(self, t: torch.Tensor, rank: int, tag: int) -> None:
        if t.numel():
            self.sent.append(self.group.send([t], rank, tag))

    def _begin(self, k: int) -> None:
        """Send the terms of a segment."""
        n, slot = self._segment(self.out, k).numel(), k % _AHEAD
        self.receiving[slot] = [self.group.recv([self.slots[slot][r, :n]], r, _TERMS) for r in self.others if n]
        for r in self.others:
            self._send(self._segment(self.shares[r], k), r, _TERMS)

    def _finish(self, k: int, way: str) -> str:
        """Reduce this rank's part of a segment, and send the results. Returns the text of an error."""
        mine, out, slot, problem = self._segment(self.shares[self.rank], k), self._segment(self.out, k), k % _AHEAD, ""
        for work in self.receiving[slot]:
            work.wait()
        if out.numel():
            problem = _error_of(lambda: _reduce_rows(self.slots[slot][:, : out.numel()], self.rank, mine, out, way))
        for r in self.others if self.gather else ():
            self._send(out, r, _RESULTS)
            into = self._segment(self.shares[r], k)
            if into.numel():  # that rank has had the terms that are there, from which the results come
                self.sent.append(self.group.recv([into], r, _RESULTS))
        return problem


def _reduce_rows(rows: torch.Tensor, rank: int, mine: torch.Tensor, out: torch.Tensor, way: str) -> None:
    """Reduce the rows, of which that of this rank is `mine`."""
    if way == "sum" and len(rows) == 2:
        _sum_of_two(mine, rows[1 - rank], out)
    else:
        rows[rank] = mine
        _WAYS[way](rows, out)


def all_reduced(group: _Group, t: torch.Tensor, way: str) -> torch.Tensor:
    """The reduction over all ranks of the elements of a contiguous tensor, on each; the tensor itself has it where it is long."""
    size, n = group.size(), t.numel()
    flat = t.reshape(-1)
    if not n:
        return t
    if n * t.itemsize <= _SMALL or size == 1:
        return _reduced(group, _gathered(group, flat), way).view(t.shape)
    shares = flat.split(_shares(n, size))
    _Exchange(group, shares, shares[group.rank()], True).run(way)
    return t


def _scattered(group: _Group, rows: torch.Tensor, way: str) -> torch.Tensor:
    """Of rows, one for each rank, the reduction of this rank's over all ranks."""
    out = torch.empty_like(rows[0])
    if rows.numel():
        _Exchange(group, [row.reshape(-1) for row in rows], out.view(-1), False).run(way)
    return out


def _work(result: list[torch.Tensor]) -> Any:
    """What stands for a collective that is over."""
    future: Any = torch.futures.Future()
    future.set_result(result)
    return torch._C._distributed_c10d._create_work_from_future(future).boxed()


def _group(group: Any) -> _Group:
    """The group by its object or name."""
    if isinstance(group, str):
        return torch.distributed.distributed_c10d._resolve_process_group(group)
    if isinstance(group, torch.ScriptObject):
        return torch.distributed.ProcessGroup.unbox(group)
    return group


def _real(t: torch.Tensor, way: str) -> torch.Tensor:
    return torch.view_as_real(t) if t.is_complex() and way in ("sum", "avg") and not t.is_conj() else t


# --- operators that write into their arguments


@_reduces("c10d::allreduce_")
def _allreduce(
    tensors: Any, process_group: Any, reduce_op: Any, sparse_indices: Any = None, async_op: bool = True, timeout: int = -1
) -> Any:
    if _all_reduce_each(tensors, process_group, reduce_op):
        return list(tensors), _work(list(tensors))
    return torch.ops.c10d.allreduce_(tensors, process_group, reduce_op, sparse_indices, async_op, timeout)


@_reduces("c10d::allreduce_coalesced_")
def _allreduce_coalesced(tensors: Any, process_group: Any, reduce_op: Any, async_op: bool = True, timeout: int = -1) -> Any:
    if _all_reduce_each(tensors, process_group, reduce_op):
        return _work(list(tensors))
    return torch.ops.c10d.allreduce_coalesced_(tensors, process_group, reduce_op, async_op, timeout)


def _all_reduce_each(tensors: Any, process_group: Any, reduce_op: Any) -> bool:
    """Reduce into the tensors, where these are of floating-point numbers."""
    group, way = _group(process_group), _way(reduce_op)
    real = [_real(t, way) for t in tensors]
    _begin(group, "all", way, real, [t.numel() for t in real])
    if _exact(real):
        return False
    for t in real:
        made = all_reduced(group, t.contiguous(), way)
        if made.data_ptr() != t.data_ptr():
            t.copy_(made)
    return True


@_reduces("c10d::reduce_")
def _reduce(
    tensors: Any,
    process_group: Any,
    reduce_op: Any,
    root_rank: int,
    root_tensor: int,
    async_op: bool = True,
    timeout: int = -1,
) -> Any:
    group, way = _group(process_group), _way(reduce_op)
    real = [_real(t, way) for t in tensors]
    _begin(group, "root", way, real, [t.numel() for t in real], root_rank)
    if _exact(real):
        return torch.ops.c10d.reduce_(tensors, process_group, reduce_op, root_rank, root_tensor, async_op, timeout)
    for t in real:
        made = all_reduced(group, t.clone(memory_format=torch.contiguous_format), way)
        if group.rank() == root_rank:
            t.copy_(made)
    return _work(list(tensors))


def _into(group: _Group, way: str, out: torch.Tensor, rows: torch.Tensor) -> None:
    out.copy_(_scattered(group, rows.contiguous(), way).view(out.shape))


def _check_rows(group: _Group, way: str, outputs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor]) -> None:
    """All ranks call reduce_scatter alike, with inputs of as many elements as the outputs of all ranks have."""
    fits = len(inputs) == len(outputs) and all(
        i.numel() == o.numel() * group.size() and i.dtype is o.dtype for i, o in zip(inputs, outputs, strict=True)
    )
    sizes = [t.numel() for t in outputs]
    problem = _problem([*outputs, *inputs], way) or (
        "" if fits else "the input of reduce_scatter has not as many elements, of one dtype, as the outputs of all ranks"
    )
    if problem:
        agree(group, (_KINDS["scatter"],), problem)
    _begin(group, "scatter", way, outputs, sizes)


@_reduces("c10d::_reduce_scatter_base_")
def _reduce_scatter_base(
    output_tensor: Any, input_tensor: Any, process_group: Any, reduce_op: Any, async_op: bool = True, timeout: int = -1
) -> Any:
    group, way = _group(process_group), _way(reduce_op)
    out, given = _real(output_tensor, way), _real(input_tensor, way)
    _check_rows(group, way, [out], [given])
    if _exact([out]):
        return torch.ops.c10d._reduce_scatter_base_(output_tensor, input_tensor, process_group, reduce_op, async_op, timeout)
    _into(group, way, out, given.reshape(group.size(), out.numel()))
    return output_tensor, _work([output_tensor])


@_reduces("c10d::reduce_scatter_tensor_coalesced_")
def _reduce_scatter_coalesced(
    outputs: Any, inputs: Any, process_group: Any, reduce_op: Any, async_op: bool = True, timeout: int = -1
) -> Any:
    group, way = _group(process_group), _way(reduce_op)
    outs, given = [_real(t, way) for t in outputs], [_real(t, way) for t in inputs]
    _check_rows(group, way, outs, given)
    if _exact(outs):
        return torch.ops.c10d.reduce_scatter_tensor_coalesced_(outputs, inputs, process_group, reduce_op, async_op, timeout)
    for out, t in zip(outs, given, strict=True):
        _into(group, way, out, t.reshape(group.size(), out.numel()))
    return _work(list(outputs))


@_reduces("c10d::reduce_scatter_")
def _reduce_scatter(
    output_tensors: Any, input_tensors: Any, process_group: Any, reduce_op: Any, async_op: bool = True, timeout: int = -1
) -> Any:
    group, way = _group(process_group), _way(reduce_op)
    outs = [_real(t, way) for t in output_tensors]
    lists = [[_real(t, way) for t in tensors] for tensors in input_tensors]
    alike = all(len(ts) == group.size() and all(t.shape == o.shape for t in ts) for o, ts in zip(outs, lists, strict=False))
    if not alike:
        agree(group, (_KINDS["scatter"],), "reduce_scatter of tensors whose shapes differ")
    given = [torch.stack(ts) for ts in lists]
    _check_rows(group, way, outs, given)
    if _exact(outs):
        return torch.ops.c10d.reduce_scatter_(output_tensors, input_tensors, process_group, reduce_op, async_op, timeout)
    for out, t in zip(outs, given, strict=True):
        _into(group, way, out, t.reshape(group.size(), out.numel()))
    return list(output_tensors), _work(list(output_tensors))


# --- operators that return new tensors


@_reduces("_c10d_functional::all_reduce")
def _functional_all_reduce(t: Any, reduce_op: str, group_name: Any) -> Any:
    return _functional_all_reduce_(t.clone(memory_format=torch.contiguous_format), reduce_op, group_name)


@_reduces("_c10d_functional::all_reduce_")
def _functional_all_reduce_(t: Any, reduce_op: str, group_name: Any) -> Any:
    if _all_reduce_each([t], group_name, reduce_op):
        return t
    return torch.ops._c10d_functional.wait_tensor(torch.ops._c10d_functional.all_reduce_(t, reduce_op, group_name))


@_reduces("_c10d_functional::all_reduce_coalesced")
def _functional_all_reduce_coalesced(tensors: Any, reduce_op: str, group_name: Any) -> Any:
    return [_functional_all_reduce(t, reduce_op, group_name) for t in tensors]


@_reduces("_c10d_functional::all_reduce_coalesced_")
def _functional_all_reduce_coalesced_(tensors: Any, reduce_op: str, group_name: Any) -> Any:
    return [_functional_all_reduce_(t, reduce_op, group_name) for t in tensors]


@_reduces("_c10d_functional::reduce_scatter_tensor")
def _functional_reduce_scatter(t: Any, reduce_op: str, group_size: int, group_name: Any) -> Any:
    return _functional_reduce_scatter_out(
        t, reduce_op, group_size, group_name, out=t.new_empty((t.shape[0] // group_size, *t.shape[1:]))
    )


@_reduces("_c10d_functional::reduce_scatter_tensor_out")
def _functional_reduce_scatter_out(t: Any, reduce_op: str, group_size: int, group_name: Any, *, out: Any) -> Any:
    group, way = _group(group_name), _way(reduce_op)
    written, given = _real(out, way), _real(t, way)
    _check_rows(group, way, [written], [given])
    if _exact([written]):
        made = torch.ops._c10d_functional.reduce_scatter_tensor(t, reduce_op, group_size, group_name)
        out.copy_(torch.ops._c10d_functional.wait_tensor(made))
        return out
    _into(group, way, written, given.reshape(group.size(), written.numel()))
    return out


@_reduces("_c10d_functional::reduce_scatter_tensor_coalesced")
def _functional_reduce_scatter_coalesced(tensors: Any, reduce_op: str, group_size: int, group_name: Any) -> Any:
    return [_functional_reduce_scatter(t, reduce_op, group_size, group_name) for t in tensors]


def functions() -> dict[Any, _Function | None]:
    """The operators that there are, with what is called in their place; None: PyTorch's own."""
    if not torch.distributed.is_available():
        return {}
    found: dict[Any, _Function | None] = {}
    for name in (*sorted(MOVES), *REDUCTIONS):
        namespace, _, base = name.partition("::")
        packet = getattr(getattr(torch.ops, namespace), base, None)
        if packet is not None:
            found |= {getattr(packet, o): REDUCTIONS.get(name) for o in packet.overloads()}
    return found
