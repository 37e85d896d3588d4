"""repmath.dask: no bit of a sum, mean or product depends on the chunks of an array."""

import os
import pathlib
import pickle
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

da = pytest.importorskip("dask.array", reason="dask is not installed")

import loopback  # noqa: E402
from exact_oracle import FORMATS, exact_bits, matmul_bits, round_rational  # noqa: E402

import repmath  # noqa: E402
import repmath.dask as rd  # noqa: E402

ROWS, COLUMNS = 400, 6
CHUNKINGS = [
    (400, 6),
    (1, 6),
    (400, 1),
    (399, 5),
    (7, 2),
    (200, 3),
    (31, 6),
    (13, 4),
    ((1, 250, 149), (2, 4)),
    ((390, 10), (1, 5)),
]


@pytest.fixture(autouse=True, scope="module")
def threads():
    import dask

    with dask.config.set(scheduler="synchronous"):
        yield


def _numbers(fmt, shape=(ROWS, COLUMNS), special=False):
    """Numbers of far exponents, whose sums cancel."""
    kind = FORMATS[fmt][0]
    rng = np.random.default_rng(5)
    spread = {"f16": 4, "bf16": 30, "f32": 30, "f64": 200}[fmt]
    made = (rng.integers(-99, 100, shape) * np.exp2(rng.integers(-spread, spread, shape))).astype(kind)
    half = shape[0] // 2
    made[half : 2 * half - 3] = -made[: half - 3]
    if special:
        made[3, 0], made[9, 1], made[200, 1], made[7, 2] = np.inf, np.inf, -np.inf, np.nan
    return made


def _bits(a, fmt):
    return np.asarray(a).reshape(-1).view(FORMATS[fmt][1]).tolist()


def _mean_bits(column, fmt):
    return (
        round_rational(sum(map(Fraction, column)) / len(column), fmt)
        if np.isfinite(column).all()
        else exact_bits(column, fmt)
    )


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("fmt", FORMATS)
def test_ten_chunkings_have_one_result(fmt, special):
    a = _numbers(fmt, special=special)
    columns = a.astype(np.float64).T.tolist()
    sums, means = [exact_bits(c, fmt) for c in columns], [_mean_bits(c, fmt) for c in columns]
    for chunks in CHUNKINGS:
        x = da.from_array(a, chunks=chunks)
        assert _bits(rd.sum(x, axis=0).compute(), fmt) == sums, chunks
        assert _bits(rd.mean(x, axis=0).compute(), fmt) == means, chunks
        assert _bits(rd.sum(x).compute(), fmt) == [exact_bits(sum(columns, []), fmt)]
        assert _bits(rd.mean(x, axis=(0, 1), keepdims=True).compute(), fmt) == [_mean_bits(sum(columns, []), fmt)]
    rows = [exact_bits(r, fmt) for r in a.astype(np.float64).tolist()]
    assert _bits(rd.sum(x, axis=-1).compute(), fmt) == rows


def test_dasks_own_sums_depend_on_the_chunks():
    """A control."""
    a = _numbers("f32")
    assert len({da.from_array(a, chunks=c).sum().compute().tobytes() for c in CHUNKINGS}) > 1


@pytest.mark.parametrize("fmt", FORMATS)
def test_products(fmt):
    a, b = _numbers(fmt, (9, 30)), _numbers(fmt, (30, 7))
    expected = matmul_bits(a, b, fmt)
    for left, right in (((9, 30), (30, 7)), ((1, 1), (1, 1)), ((4, 7), (11, 3)), ((2, 30), (5, 7))):
        made = rd.matmul(da.from_array(a, chunks=left), da.from_array(b, chunks=right))
        assert made.shape == (9, 7) and made.dtype == a.dtype
        assert (np.asarray(made.compute()).view(FORMATS[fmt][1]) == expected).all()
    row = rd.matmul(da.from_array(a[0], chunks=4), da.from_array(b, chunks=(8, 2)))
    assert row.shape == (7,) and _bits(row.compute(), fmt) == expected[0].tolist()
    one = rd.matmul(da.from_array(a[0], chunks=4), da.from_array(b[:, 0].copy(), chunks=8))
    assert one.shape == () and _bits(one.compute(), fmt) == [expected[0, 0]]


def test_formats_of_results_and_other_shapes():
    a = np.arange(-5, 25).reshape(5, 6)
    x = da.from_array(a, chunks=(2, 4))
    assert rd.sum(x).compute() == a.sum() and rd.sum(x).dtype == np.float64
    assert rd.mean(x, dtype=np.float32).compute() == np.float32(Fraction(int(a.sum()), 30))
    assert rd.sum(x, axis=()).compute().tolist() == a.tolist()
    assert rd.sum(da.zeros((0, 3)), axis=0).compute().tolist() == [0.0] * 3
    assert np.isnan(rd.mean(da.zeros((0, 3)), axis=0).compute()).all()
    huge = da.from_array(np.full(4000, 1.7e308), chunks=900)
    assert rd.mean(huge).compute() == 1.7e308 and rd.sum(huge).compute() == np.inf
    assert rd.sum(x, axis=1, keepdims=True).compute().shape == (5, 1)


def test_accumulators_as_results_of_tasks():
    a = _numbers("f64")[:, 0]
    parts = [pickle.loads(pickle.dumps(repmath.Accumulator(a[i : i + 90]))) for i in range(0, ROWS, 90)]
    assert _bits(sum(parts[1:], parts[0]).round(), "f64") == [exact_bits(a.tolist(), "f64")]


@pytest.mark.exhaustive
def test_workers_of_ray():
    """Ray as Dask's scheduler, and accumulators as results of its own tasks."""
    for name in ("ray", "pyarrow"):
        pytest.importorskip(name, reason="not installed: pip install ray pyarrow")
    program = pathlib.Path(__file__).parent.parent / "support/ray_program.py"
    done = subprocess.run(
        loopback.alone(sys.executable, str(program)),
        capture_output=True,
        text=True,
        timeout=900,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert done.stdout.endswith("equal\n"), (done.stdout + done.stderr)[-3000:]


def test_arguments():
    x = da.ones((3, 4))
    for call, error, text in (
        (lambda: rd.sum(np.ones(3)), TypeError, "a must be a dask.array.Array"),
        (lambda: rd.mean(x.astype(complex)), TypeError, "a has dtype"),
        (lambda: rd.sum(x, dtype=np.int32), TypeError, "dtype must be one of"),
        (lambda: rd.sum(x, axis=2), ValueError, "axis"),
        (lambda: rd.mean(x, axis=(0, 0)), ValueError, "axis"),
        (lambda: rd.matmul(x, np.ones(3)), TypeError, "b must be a dask.array.Array"),
        (lambda: rd.matmul(x, x), ValueError, "last axis of a has 4"),
        (lambda: rd.matmul(da.ones((2, 2, 2)), x), ValueError, "one or two axes"),
    ):
        with pytest.raises(error, match=text):
            call()
