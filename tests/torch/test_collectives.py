"""Collectives of torch.distributed under reproducible(): the exact value over all ranks, rounded once, and the same error on each."""

import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="this PyTorch has no torch.distributed")

import ranks  # noqa: E402
from exact_oracle import CANONICAL_NAN, FORMATS, bits_of, exact_bits, round_rational  # noqa: E402
from rank_collectives import OPS, N, small_terms, terms  # noqa: E402
from rank_segments import MESSAGES  # noqa: E402

from repmath.torch._aten import collectives  # noqa: E402

SIZES = (1, 2, 3)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    directory = tmp_path_factory.mktemp("ranks")
    ranks.run("rank_collectives", directory, *SIZES)
    return {
        (size, rank): pickle.loads((directory / f"{size}-{rank}.pickle").read_bytes())
        for size in SIZES
        for rank in range(size)
    }


def _expected(op: str, column: list[float], fmt: str) -> int:
    """The bits that the specification asks for."""
    if op == "SUM":
        return exact_bits(column, fmt)
    if op == "AVG":
        if not all(map(math.isfinite, column)):
            return exact_bits(column, fmt)
        return round_rational(sum(map(Fraction, column)) / len(column), fmt)
    if op == "PRODUCT":
        made = math.prod(map(Fraction, column))
        negative = sum(math.copysign(1, v) < 0 for v in column) % 2
        return round_rational(made, fmt) if made else negative << FORMATS[fmt][5]
    if any(map(math.isnan, column)):
        return CANONICAL_NAN[fmt]
    sign = 1 if op == "MAX" else -1
    return bits_of(max(column, key=lambda v: (sign * v, sign * math.copysign(1, v))), fmt)


def _all_expected(op: str, fmt: str, size: int) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # signalling NaN
        rows = (small_terms if op == "PRODUCT" else terms)(fmt, size).astype(np.float64)
    return np.array([_expected(op, column, fmt) for column in rows.T.tolist()], FORMATS[fmt][1])


def _bits(a: np.ndarray, fmt: str) -> np.ndarray:
    return a.view(FORMATS[fmt][1])


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("size", SIZES)
def test_reductions_over_ranks_are_rounded_once(found, fmt, op, size):
    expected = _all_expected(op, fmt, size)
    for rank in range(size):
        for way in ("all at once", "in shares", "in segments"):
            assert (_bits(found[size, rank][fmt, op, way], fmt) == expected).all(), (rank, way)
        assert (_bits(found[size, rank][fmt, op, "in even shares"], fmt) == expected[:-1]).all()


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("size", SIZES)
def test_every_form_of_a_sum(found, fmt, size):
    expected, mean = _all_expected("SUM", fmt, size), _all_expected("AVG", fmt, size)
    n = N // size
    for rank in range(size):
        mine, own = found[size, rank], slice(n * rank, n * rank + n)
        for name in ("permuted", "strided", "functional"):
            assert (_bits(mine[fmt, name], fmt) == expected).all(), name
        for name in ("scatter single", "scatter"):
            assert (_bits(mine[fmt, name], fmt) == expected[own]).all(), name
        assert (_bits(mine[fmt, "functional scatter"], fmt) == mean[own]).all()
        assert (_bits(mine[fmt, "coalesced"], fmt) == expected).all() and len(mine[fmt, "coalesced"]) == 3
        assert (_bits(mine[fmt, "coalesced scatter"], fmt) == expected[own]).all() and len(
            mine[fmt, "coalesced scatter"]
        ) == 4
    assert (_bits(found[size, size - 1][fmt, "reduce"], fmt) == expected).all()


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("size", SIZES)
def test_what_is_only_sent_keeps_its_bits(found, fmt, size):
    rows = _bits(terms(fmt, size), fmt)
    n = N // size
    for rank in range(size):
        mine = found[size, rank]
        assert (_bits(mine[fmt, "broadcast"], fmt) == rows[size - 1]).all()
        assert (_bits(mine[fmt, "gather"], fmt) == rows).all()
        assert (_bits(mine[fmt, "all to all"], fmt) == rows[:, n * rank : n * rank + n].reshape(-1)).all()


@pytest.mark.parametrize("fmt", ["f32", "f64"])
def test_the_sums_of_pytorch_differ(found, fmt):
    """A control: the terms show it where a sum is rounded more than once."""
    assert (_bits(found[3, 0][fmt, "PyTorch's"], fmt) != _all_expected("SUM", fmt, 3)).sum() > 10


@pytest.mark.parametrize("size", SIZES)
def test_integers_and_complex_numbers(found, size):
    for rank in range(size):
        assert found[size, rank]["integers"] == [k * ((1 << size) - 1) for k in range(5)]
        total = size * (size + 1) / 2
        assert found[size, rank]["complex"] == [[total, 2 * total], [total / 2, 0.0]]
        assert found[size, rank]["none"] == ""
        assert found[size, rank]["after errors"] == size
    if size > 2:
        assert [found[size, rank]["group"] for rank in range(size)] == [5.0, 2.0, 5.0]


@pytest.mark.parametrize("size", SIZES)
def test_an_error_of_one_rank_is_that_of_all(found, size):
    names = ["formats", "scatters", "memory", *(["room", "shapes", "operations"] if size > 1 else [])]
    for name in names:
        said = {found[size, rank][name] for rank in range(size)}
        assert len(said) == 1, said
        text = said.pop()
        assert text, name
        if name in ("formats", "scatters", "memory", "room"):
            assert f"on rank {size - 1}: " in text


def test_a_rank_that_is_killed_between_segments(tmp_path):
    ranks.run("rank_segments", tmp_path, 3, env={"RANK_RUNS": str(len(MESSAGES)), "RANK_SECONDS": "60"})
    for run in range(len(MESSAGES)):
        for rank in (0, 1):
            calls, right, seconds, text = json.loads((tmp_path / f"{run}-{rank}.json").read_text())
            if run:
                assert text and seconds < 15, run
            else:
                assert right and not text and calls > max(MESSAGES)  # so that each of them is one


def test_every_operator_of_torch_distributed_is_known():
    """A canary: what a new version of PyTorch adds must be looked at."""
    names = {s.name for s in torch._C._jit_get_all_schemas() if s.name.startswith(("c10d::", "_c10d_functional::"))}
    names.discard("_c10d_functional::_wrap_tensor_autograd")  # which moves nothing
    assert names == collectives.MOVES | set(collectives.REDUCTIONS)
    assert [
        str(getattr(torch.distributed.ReduceOp, name.upper())).split(".")[-1].lower() for name in collectives._NAMES
    ] == list(collectives._NAMES)
    assert [int(getattr(torch.distributed.ReduceOp, name.upper())) for name in collectives._NAMES] == list(range(9))
