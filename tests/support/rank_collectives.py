"""What the ranks of tests/torch/test_collectives.py do: every reduction of every format, and errors of one rank."""

import contextlib
import pickle
import warnings

import numpy as np
import torch
import torch.distributed as dist
from exact_oracle import FORMATS

import repmath.torch
from repmath.torch._aten import collectives
from repmath.torch._tensors import as_array, as_tensor

N = 601
# Names, up to how many bytes all ranks get all elements, of how many elements, and segments of how many bytes.
WAYS = (
    ("all at once", 1 << 14, N, 1 << 21),
    ("in shares", 0, N, 1 << 21),
    ("in even shares", 0, N - 1, 1 << 21),
    ("in segments", 0, N, 88),
)
OPS = ("SUM", "AVG", "MAX", "MIN", "PRODUCT")


def terms(fmt: str, size: int) -> np.ndarray:
    """Rows, one for each rank: numbers of far exponents, sums that cancel, ties, subnormal and special numbers."""
    kind, unsigned, fraction, least, _, sign = FORMATS[fmt]
    rng = np.random.default_rng(size * 17 + fraction)
    codes = rng.integers(0, 1 << (sign + 1), (size, N), dtype=np.uint64)
    middle = (1 << (sign - 1)) - (1 << (sign - 2)) // 2
    near = rng.integers(middle, middle + (4 << fraction), (size, N), dtype=np.uint64) | codes & np.uint64(1 << sign)
    codes[:, 200:450] = near[:, 200:450]
    made = codes.astype(unsigned).view(kind)
    made[1:2, 450:470] = -made[:1, 450:470]
    one = np.array(1, kind)
    half = np.ldexp(1.0, -fraction - 1)
    made[:, 470:480] = half / max(size - 1, 1)
    made[0, 470:480] = one
    made[:, 480:490] = -0.0
    made[:, 490:500] = rng.integers(-3, 4, (size, 10)) * np.ldexp(1.0, least)
    made[:, 500:510] = np.inf
    made[:1, 505:510] = -np.inf
    made[-1:, 508] = np.nan
    made[:, 510] = np.where(np.arange(size) % 2, 0.0, -0.0)
    return made


def small_terms(fmt: str, size: int) -> np.ndarray:
    rng = np.random.default_rng(size)
    return rng.integers(-9, 10, (size, N)).astype(FORMATS[fmt][0])


def coalesced(mine: np.ndarray, n: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Several tensors in one call, by each way that there is; what the ways return is put together."""
    rows, group = mine[: n * size], dist.group.WORLD.group_name
    sums, own = [], []

    def parts() -> list[torch.Tensor]:
        return [as_tensor(mine[:7].copy()), as_tensor(mine[7:].copy())]

    def halves() -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        return [as_tensor(mine[:n].copy()) for _ in range(2)], [as_tensor(rows.copy()) for _ in range(2)]

    made = parts()
    with warnings.catch_warnings(action="ignore"):
        dist.all_reduce_coalesced(made)
    sums.append(made)
    made = torch.ops._c10d_functional.all_reduce_coalesced(parts(), "sum", group)
    sums.append([torch.ops._c10d_functional.wait_tensor(t) for t in made])
    made = parts()
    torch.ops._c10d_functional.all_reduce_coalesced_(made, "sum", group)
    sums.append(made)
    outs, given = halves()
    dist.group.WORLD.reduce_scatter_tensor_coalesced(outs, given, dist.ReduceScatterOptions()).wait()
    own += outs
    made = torch.ops._c10d_functional.reduce_scatter_tensor_coalesced(given, "sum", size, group)
    own += [torch.ops._c10d_functional.wait_tensor(t) for t in made]
    return np.stack([as_array(torch.cat(made)) for made in sums]), np.stack([as_array(t) for t in own])


def _refused(call) -> str:
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def main(rank, size, directory):
    found = {}
    for fmt in FORMATS:
        of_all = {op: small_terms(fmt, size) if op == "PRODUCT" else terms(fmt, size) for op in OPS}
        for way, small, n, segment in WAYS:
            collectives._SMALL, collectives._SEGMENT = small, segment
            for op in OPS:
                mine, reduce_op = of_all[op][rank], getattr(dist.ReduceOp, op)
                with repmath.torch.reproducible():
                    t = as_tensor(mine[:n].copy())
                    dist.all_reduce(t, reduce_op)
                    found[fmt, op, way] = as_array(t)
        mine, other = of_all["SUM"][rank], of_all["SUM"][(rank * 2 + 1) % size if size % 2 else size - 1 - rank]
        n = N // size
        with repmath.torch.reproducible():
            t = as_tensor(other.copy())
            work = dist.all_reduce(t, async_op=True)
            work.wait()
            found[fmt, "permuted"] = as_array(t)
            t = as_tensor(np.repeat(mine, 2)[::2])
            dist.all_reduce(t.view(-1))
            strided = as_tensor(np.stack([mine, mine], -1)).t()[0]
            dist.all_reduce(strided)
            found[fmt, "strided"] = as_array(strided.contiguous())
            t = as_tensor(mine.copy())
            dist.reduce(t, size - 1)
            found[fmt, "reduce"] = as_array(t)
            out = as_tensor(mine[:n].copy())
            dist.reduce_scatter_single(out, as_tensor(mine[: n * size].copy()))
            found[fmt, "scatter single"] = as_array(out)
            out = as_tensor(mine[:n].copy())
            dist.reduce_scatter(out, [as_tensor(mine[n * i : n * i + n].copy()) for i in range(size)])
            found[fmt, "scatter"] = as_array(out)
            t = as_tensor(mine.copy())
            made = torch.ops._c10d_functional.all_reduce(t, "sum", dist.group.WORLD.group_name)
            found[fmt, "functional"] = as_array(torch.ops._c10d_functional.wait_tensor(made))
            made = torch.ops._c10d_functional.reduce_scatter_tensor(t[: n * size], "avg", size, dist.group.WORLD.group_name)
            found[fmt, "functional scatter"] = as_array(torch.ops._c10d_functional.wait_tensor(made))
            found[fmt, "coalesced"], found[fmt, "coalesced scatter"] = coalesced(mine, n, size)
            t = as_tensor(mine.copy())
            dist.broadcast(t, size - 1)
            found[fmt, "broadcast"] = as_array(t)
            rows = [as_tensor(mine.copy()) for _ in range(size)]
            dist.all_gather(rows, as_tensor(mine.copy()))
            found[fmt, "gather"] = np.stack([as_array(row) for row in rows])
            out = as_tensor(mine[: n * size].copy())
            dist.all_to_all_single(out, as_tensor(mine[: n * size].copy()))
            found[fmt, "all to all"] = as_array(out)
        if fmt in ("f32", "f64"):
            t = as_tensor(mine.copy())
            dist.all_reduce(t)
            found[fmt, "PyTorch's"] = as_array(t)
    with repmath.torch.reproducible():
        t = torch.arange(5) << rank
        dist.all_reduce(t)
        found["integers"] = t.tolist()
        t = torch.view_as_complex(torch.tensor([[1.0, 2.0], [0.5, -0.0]])) * (rank + 1)
        dist.all_reduce(t)
        found["complex"] = torch.view_as_real(t).tolist()
        found["none"] = _refused(lambda: dist.all_reduce(torch.zeros(0)))
        one = rank == size - 1
        found["shapes"] = _refused(lambda: dist.all_reduce(torch.ones(3 + one)))
        found["operations"] = _refused(
            lambda: dist.all_reduce(torch.ones(3), dist.ReduceOp.MAX if one else dist.ReduceOp.SUM)
        )
        found["formats"] = _refused(lambda: dist.all_reduce(torch.ones(3).to(torch.float8_e5m2 if one else torch.float32)))
        found["scatters"] = _refused(lambda: dist.reduce_scatter_single(torch.ones(3), torch.ones(3 * size + one)))

        def short(*_):
            raise MemoryError("no memory")

        collectives._SMALL, own, room = 0, collectives._WAYS["max"], collectives._Exchange._make_room
        if one:
            collectives._WAYS["max"] = short
        found["memory"] = _refused(lambda: dist.all_reduce(torch.ones(3), dist.ReduceOp.MAX))
        collectives._WAYS["max"] = own
        if one:
            collectives._Exchange._make_room = short
        found["room"] = _refused(lambda: dist.all_reduce(torch.ones(3)))
        collectives._Exchange._make_room = room
        if size > 2:
            group = dist.new_group([0, size - 1])
            t = torch.tensor([float(1 << rank)])
            if rank in (0, size - 1):
                dist.all_reduce(t, group=group)
            found["group"] = t.item()
        t = torch.tensor([1.0])
        dist.all_reduce(t)
        found["after errors"] = t.item()
    with contextlib.suppress(FileNotFoundError):
        (directory / f"{size}-{rank}.pickle").unlink()
    (directory / f"{size}-{rank}.pickle").write_bytes(pickle.dumps(found))
