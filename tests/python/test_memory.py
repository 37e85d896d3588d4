"""Extra memory: reductions and products convert their operands in blocks, with the bits of whole ones."""

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from exact_oracle import bits, rounded

import repmath
from repmath import _blocks, _reductions, _statistics

RNG = np.random.default_rng(5)


@pytest.fixture(params=[7, 64])
def small_blocks(request, monkeypatch):
    for module in (_blocks, _reductions, _statistics):
        monkeypatch.setattr(module, "BLOCK", request.param)
    monkeypatch.setattr(_reductions, "_GATHERED", request.param)
    monkeypatch.setattr(_blocks, "_FEW", 3)


def wide_range(shape, kind):
    """Numbers that cancel: of many exponents, each with its opposite beside a small rest; integers to the ends of their range."""
    dtype = np.dtype(kind)
    if dtype.kind in "iu":
        return RNG.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)
    limit = {2: 7, 4: 60, 8: 500}[dtype.itemsize]
    x = np.ldexp(RNG.standard_normal(shape), RNG.integers(-limit, limit, shape)).astype(dtype)
    flat = x.reshape(-1)
    flat[1::3] = -flat[: flat[1::3].size]
    return x


def is_rounded(got, exact, dtype):
    assert got.dtype == dtype
    return [int(b) for b in bits(got).ravel()] == [rounded(v, got.dtype) for v in exact]


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", ["f2", "f4", "f8", ">f4", "i1", "i8", "u8"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.filterwarnings("ignore:overflow")
def test_sums_in_blocks(small_blocks, kind, dtype):
    for shape, axis in (((300,), None), ((9, 50), 0), ((50, 9), 0), ((4, 30, 5), (0, 2)), ((4, 30, 5), 1), ((90, 2), 1)):
        x = wide_range(shape, np.dtype(kind).newbyteorder("=")).astype(kind)
        mask = RNG.random(shape) < 0.7
        for where, initial in ((None, 0), (mask, 0), (mask, -(2.0**-70)), (None, 0.375)):
            terms = np.array([Fraction(float(v)) if x.dtype.kind == "f" else Fraction(int(v)) for v in x.ravel()]).reshape(
                shape
            )
            terms = terms if where is None else np.where(where, terms, Fraction(0))
            want = np.asarray(np.sum(terms, axis=axis) + Fraction(initial), object)
            keywords = {} if where is None else {"where": where}
            got = np.asarray(repmath.sum(x, axis=axis, dtype=dtype, initial=initial, **keywords))
            assert is_rounded(got, want.ravel(), np.dtype(dtype)), (shape, axis, initial)


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid")
def test_sums_in_blocks_of_what_is_not_finite(small_blocks):
    """Infinities and NaNs of any block count, and so do finite sums whose parts overflow."""
    largest = np.finfo("f8").max
    for special, want in (
        ([np.inf], np.inf),
        ([-np.inf], -np.inf),
        ([np.inf, -np.inf], np.nan),
        ([np.nan, np.inf], np.nan),
        ([largest, largest, -largest], largest),
        ([largest] * 5 + [-largest] * 5 + [1.0], 1.0),
        ([largest] * 30, np.inf),
        ([-largest] * 3, -np.inf),
    ):
        x = np.zeros(200)
        x[: len(special)] = special
        for order in (x, x[::-1].copy(), RNG.permutation(x)):
            np.testing.assert_array_equal(repmath.sum(order, where=np.full(200, True)), want)
            np.testing.assert_array_equal(
                repmath.sum(np.stack([order, np.zeros(200)], 1), axis=0, initial=0.0, where=True), [want, 0]
            )
    assert repmath.sum(np.full(100, largest), initial=-largest, where=np.arange(100) < 2) == largest


@pytest.mark.parametrize(
    ("first", "second"), [("i8", "i8"), ("u8", "f4"), ("i1", "i8"), ("f4", "f4"), ("f2", "f4"), ("i8", "f8")]
)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.filterwarnings("ignore:overflow")
def test_products_in_blocks(small_blocks, first, second, dtype):
    for shape_a, shape_b in (
        ((70,), (70,)),
        ((5, 40), (40, 6)),
        ((3, 2, 20), (20, 4)),
        ((20,), (3, 20, 4)),
        ((4, 1, 90), (90,)),
    ):
        a, b = wide_range(shape_a, first), wide_range(shape_b, second)
        exact = [np.array([Fraction(v.item()) for v in x.ravel()], object).reshape(x.shape) for x in (a, b)]
        want = np.asarray(np.matmul(*exact), object)
        got = np.asarray(repmath.matmul(a, b, dtype=dtype))
        assert got.shape == want.shape and is_rounded(got, want.ravel(), np.dtype(dtype)), (shape_a, shape_b)


def test_statistics_in_blocks(monkeypatch):
    """The bits of a block are those of the whole array, which has an oracle elsewhere."""
    calls = []
    for kind in ("f2", "f4", "i1", "i8"):
        x = wide_range((12, 7, 10), kind)
        small = x if kind != "i8" else x >> 12
        mask = RNG.random(x.shape) < 0.7
        for axis in (None, 0, (0, 2), 1, -1):
            for dtype in ("f4", "f8"):
                calls.append(lambda x=x, a=axis, d=dtype: repmath.mean(x, a, d))
                calls.append(lambda x=x, a=axis, d=dtype, m=mask: repmath.mean(x, a, d, where=m))
                calls.append(lambda x=small, a=axis, d=dtype, m=mask: repmath.var(x, a, d, where=m))
                calls.append(lambda x=small, a=axis, d=dtype: repmath.norm(x, a, d))
                calls.append(lambda x=x, a=axis, d=dtype: repmath.cumsum(x, a if isinstance(a, int) else None, d))
    with np.errstate(all="ignore"):
        whole = [bits(np.asarray(call())) for call in calls]
        monkeypatch.setattr(_statistics, "BLOCK", 20)
        for call, want in zip(calls, whole, strict=True):
            np.testing.assert_array_equal(bits(np.asarray(call())), want)


PEAK = """
import numpy as np
import repmath
def resident(what):
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith(what)) / 1024
def begin():
    with open("/proc/self/clear_refs", "w") as f:
        f.write("5")  # the peak begins anew
    return resident("VmRSS:")
n = 1 << 23
i8, f4, f2 = np.arange(n) + 2**60, np.ones(n, "f4"), np.ones(n, "f2")
tall, mask = (1 << 13, 1 << 10), np.arange(n) % 3 != 0
spread = np.linspace(0.5, 9, n, dtype="f4")
to, to2 = np.ones(n, "f4"), np.ones(n, "f2")
sums = [(i8, {}), (f4, {"dtype": "f8"}), (f2, {}), (f4, {"initial": 3.0})]
def calls(m, shape):
    for x, keywords in sums:
        repmath.sum(x[:m], **keywords)
        repmath.sum(x[:m], where=mask[:m], **keywords)
        repmath.sum(x[:m].reshape(shape), axis=0, **keywords)
    repmath.dot(i8[:m], i8[:m])
    repmath.vecdot(f4[:m], f2[:m], dtype="f8")
    repmath.matmul(i8[:m].reshape(shape), i8[: shape[1] * 4].reshape(-1, 4))
    repmath.einsum("ij,ik->jk", f2[:m].reshape(shape)[:, :8], f4[:m].reshape(shape), dtype="f8")
    for f in (repmath.mean, repmath.norm, repmath.var):
        f(f4[:m].reshape(shape), axis=0, dtype="f8")
        f(f2[:m].reshape(shape), axis=1, dtype="f4")
    repmath.mean(i8[:m])
    repmath.var((f2[:m] > 0).reshape(shape), axis=0)
    for f in (repmath.exp, repmath.lgamma, repmath.exp2m1, repmath.sinpi):
        f(spread[:m], out=to[:m])
    repmath.digamma(f2[:m], out=to2[:m])
    repmath.pow(spread[:m], f4[:m], out=to[:m])
    repmath.rounding.exp(spread[: m // 64], "stochastic")
calls(1 << 12, (1 << 6, 1 << 6))
before = begin()
calls(n, tall)
print(resident("VmHWM:") - before)
before = begin()
control = i8.astype("f8")
print(resident("VmHWM:") - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak is Linux's")
def test_extra_memory():
    """The peak of memory grows by at most 32 MiB and 8 MiB a thread; one copy of an array of 64 MiB is seen (the control)."""
    done = subprocess.run([sys.executable, "-c", PEAK], capture_output=True, text=True, check=True)
    grown, control = map(float, done.stdout.split())
    assert grown < 32 + 8 * repmath.get_num_threads() and control > 60, done.stdout
