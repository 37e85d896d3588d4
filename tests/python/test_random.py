"""repmath.random and repmath.init: the definitions in Python, streams that count, statistics with fixed seeds, bad arguments."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import random_oracle as oracle
from exact_oracle import bits
from flushing import flushing
from numpy_dtypes import DTYPES

import repmath
from repmath import init, random
from repmath._dtypes import NAMES

SEED, STREAM, OFFSET = 0x9E3779B97F4A7C15, 3, 1001
AT = {"stream": STREAM, "offset": OFFSET}
PLACE = SEED, STREAM, OFFSET


@pytest.fixture(params=DTYPES, ids=lambda d: d.name)
def dtype(request):
    return request.param


def test_the_definitions(dtype):
    name = NAMES[dtype]
    got = random.uniform(SEED, (3, 50), -0.3, 0.7, dtype=dtype, **AT)
    assert got.shape == (3, 50) and got.dtype == dtype
    assert bits(got.ravel()).tolist() == oracle.uniform(name, *PLACE, 150, -0.3, 0.7)
    got = random.normal(SEED, (3, 50), 1.5, 0.1, dtype=dtype, **AT)
    assert bits(got.ravel()).tolist() == oracle.normal(name, *PLACE, 150, 1.5, 0.1)
    got = random.truncated_normal(SEED, (3, 50), 0.5, 2.0, -1.0, 3.0, dtype=dtype, **AT)
    assert bits(got.ravel()).tolist() == oracle.truncated(name, *PLACE, 150, 0.5, 2.0, -1.0, 3.0)
    assert np.array_equal(init.trunc_normal(SEED, (3, 50), 0.5, 2.0, -1.0, 3.0, dtype=dtype, **AT), got)
    got = random.normal(SEED, 150, dtype=dtype, **AT)
    assert bits(got).tolist() == oracle.normal(name, *PLACE, 150, 0.0, 1.0)
    x = np.linspace(-2, 2, 150).astype(dtype).reshape(5, 30)
    kept = [oracle.rounded(Fraction(float(v)) / (1 - Fraction(0.1)), name) for v in x.ravel()]
    gone = oracle.bernoulli(*PLACE, 150, 0.1)
    want = [0 if drop else k for drop, k in zip(gone, kept, strict=True)]
    for f in (random.dropout, random.dropout_backward):
        for y in (x, np.asfortranarray(x), np.repeat(x, 2, 1)[:, ::2]):
            got = f(y, 0.1, SEED, **AT)
            assert got.shape == x.shape and got.dtype == dtype and bits(got).ravel().tolist() == want


def test_words_trials_integers_and_orders():
    assert np.array_equal(random.bits(SEED, 99, **AT), oracle.words(*PLACE, 99))
    assert np.array_equal(random.bits(SEED, 99, dtype=np.uint64, **AT), oracle.draws(*PLACE, 99))
    got = random.bernoulli(SEED, (9, 11), 0.3, **AT)
    assert got.dtype == bool and np.array_equal(got.ravel(), oracle.bernoulli(*PLACE, 99, 0.3))
    assert np.array_equal(random.randint(SEED, 99, -5, 17, **AT), oracle.integers(*PLACE, 99, -5, 16))
    assert np.array_equal(random.randint(SEED, 99, 17, **AT), oracle.integers(*PLACE, 99, 0, 16))
    for kind in (np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64, ">i2"):
        info = np.iinfo(kind)
        got = random.randint(SEED, 50, int(info.min), int(info.max) + 1, dtype=kind, **AT)
        count, shift = int(info.max) - int(info.min) + 1, int(info.min) + 2**63
        want = [int(v) + shift for v in oracle.integers(*PLACE, 50, -(2**63), count - 1 - 2**63)]
        assert got.dtype == kind and got.tolist() == want
    order = oracle.permutation(*PLACE, 70)
    assert np.array_equal(random.permutation(SEED, 70, **AT), order)
    x = np.arange(210).reshape(70, 3)
    assert np.array_equal(random.permutation(SEED, x, **AT), x[order])
    assert random.permutation(SEED, []).size == 0


def test_shapes():
    assert random.uniform(1).shape == () and isinstance(random.uniform(1), np.float64)
    assert random.uniform(1, ()) == random.uniform(1, 1)[0] == random.uniform(1, [1, 1])[0, 0]
    assert isinstance(random.randint(1, (), 5, dtype=np.int32), np.int32) and isinstance(random.bernoulli(1), np.bool_)
    for f in (random.uniform, random.normal, random.bernoulli, random.bits):
        assert f(1, (3, 0, 2)).shape == (3, 0, 2) and f(1, 0).shape == (0,)
    assert random.dropout(1.5, 0.0, 1) == 1.5 and random.dropout([1, 2], 0.0, 1).dtype == np.float64


def test_a_part_is_a_part(dtype):
    whole = random.normal(7, 500, dtype=dtype)
    assert np.array_equal(random.normal(7, 100, dtype=dtype, offset=123), whole[123:223])
    assert not np.array_equal(random.normal(7, 500, dtype=dtype, stream=1), whole)


def test_streams_count():
    s = random.Stream(5, 6)
    uses = []  # the words that each call takes

    def use(result, per_block, start):
        blocks = -(-np.size(result) // per_block)
        assert s.position == start + blocks
        uses.append(set(range(start, s.position)))
        return result

    at = s.position
    assert np.array_equal(use(s.uniform(7, dtype="f4"), 4, at), random.uniform(5, 7, dtype="f4", stream=6))
    at = s.position
    assert np.array_equal(use(s.normal((3, 5), 1.0, 2.0), 2, at), random.normal(5, (3, 5), 1.0, 2.0, stream=6, offset=2 * at))
    at = s.position
    assert np.array_equal(use(s.uniform(3), 2, at), random.uniform(5, 3, stream=6, offset=2 * at))
    at = s.position
    assert np.array_equal(use(s.bits(9), 4, at), random.bits(5, 9, stream=6, offset=4 * at))
    at = s.position
    assert np.array_equal(use(s.randint(4, 9), 2, at), random.randint(5, 4, 9, stream=6, offset=2 * at))
    at = s.position
    assert np.array_equal(use(s.bernoulli(4, 0.1), 2, at), random.bernoulli(5, 4, 0.1, stream=6, offset=2 * at))
    at = s.position
    want = random.truncated_normal(5, 6, 1.0, 2.0, 0.0, dtype="f4", stream=6, offset=2 * at)
    assert np.array_equal(use(s.truncated_normal(6, 1.0, 2.0, 0.0, dtype="f4"), 2, at), want)
    at = s.position
    assert np.array_equal(use(s.permutation(11), 2, at), random.permutation(5, 11, stream=6, offset=2 * at))
    at = s.position
    x = np.ones((3, 3), np.float32)
    assert np.array_equal(use(s.dropout(x, 0.5), 2, at), random.dropout(x, 0.5, 5, stream=6, offset=2 * at))
    assert all(not a & b for a, b in itertools.combinations(uses, 2))
    before = s.position
    with pytest.raises(ValueError, match="p must be"):
        s.dropout(x, 2.0)
    assert s.position == before
    assert repr(s) == f"Stream(seed=5, stream=6, position={before})"
    again = random.Stream(5, 6, before)
    assert np.array_equal(again.uniform(5), s.uniform(5))
    with pytest.raises(ValueError, match="offset must be from 0 to"):
        random.Stream(5, 6, 2**61 - 1).uniform(9, dtype="f4")


# ----------------------------------------------------------------------------------------------------------- statistics

N = 200_000


def kolmogorov(sorted_values, distribution):
    """sqrt(n) times the greatest distance of the empirical distribution; above 2.2 once in 8000 times."""
    n = len(sorted_values)
    f = distribution(sorted_values)
    return math.sqrt(n) * max(np.max(np.arange(1, n + 1) / n - f), np.max(f - np.arange(n) / n))


def ndtr(x):
    return repmath.ndtr(x)


def test_statistics_of_uniform_and_normal_numbers():
    for seed, name in itertools.product((1, 2**63 + 9), ("f4", "f8")):
        u = random.uniform(seed, N, dtype=name).astype(np.float64)
        z = random.normal(seed, N, dtype=name, stream=1).astype(np.float64)
        assert kolmogorov(np.sort(u), lambda x: x) < 2.2 and kolmogorov(np.sort(z), ndtr) < 2.2
        for moment, want, variance in (
            (u, 1 / 2, 1 / 12),
            (u**2, 1 / 3, 4 / 45),
            (z, 0, 1),
            (z**2, 1, 2),
            (z**3, 0, 15),
            (z**4, 3, 96),
        ):
            assert abs(moment.mean() - want) < 4.5 * math.sqrt(variance / N)
        wide = random.normal(seed, N, -3.0, 2.5, dtype=name)
        assert abs(wide.mean() + 3) < 4.5 * 2.5 / math.sqrt(N) and abs(wide.std() / 2.5 - 1) < 4.5 / math.sqrt(2 * N)


def test_statistics_of_truncated_normal_numbers():
    for low, high in ((-2.0, 2.0), (1.0, math.inf), (-0.1, 3.0)):
        x = np.sort(random.truncated_normal(21, N, 1.0, 2.0, 2 * low + 1, 2 * high + 1))
        a, b = ndtr(low), ndtr(high)
        assert x[0] > 2 * low + 1 and x[-1] < 2 * high + 1
        assert kolmogorov(x, lambda t, a=a, b=b: (ndtr((t - 1) / 2) - a) / (b - a)) < 2.2


def test_correlations_of_places_and_streams():
    base = random.normal(11, N + 8)
    others = {f"lag {k}": (base[k : k + N], base[:N]) for k in (1, 2, 3, 4, 8)}
    others |= {f"stream {s}": (random.normal(11, N, stream=s), base[:N]) for s in (1, 2, 2**32, 2**63)}
    others |= {f"seed {s}": (random.normal(s, N), base[:N]) for s in (10, 12, 11 + 2**32)}
    for what, (a, b) in others.items():
        assert abs(np.mean(a * b)) < 4.5 / math.sqrt(N), what
        assert abs(np.mean((a * a - 1) * (b * b - 1))) < 4.5 * 2 / math.sqrt(N), what


def test_statistics_of_integers_trials_and_orders():
    counts = np.bincount(random.randint(3, N, 100), minlength=100)
    assert 50 < np.sum((counts - N / 100) ** 2 / (N / 100)) < 165  # chi-squared with 99 degrees of freedom
    pairs = np.bincount(np.ravel_multi_index(random.randint(4, (2, N), 10), (10, 10)), minlength=100)
    assert 50 < np.sum((pairs - N / 100) ** 2 / (N / 100)) < 165
    for p in (0.5, 0.1, 0.001):
        assert abs(random.bernoulli(5, N, p).mean() - p) < 4.5 * math.sqrt(p * (1 - p) / N)
    ones = np.bitwise_count(random.bits(6, N)).sum()
    assert abs(ones - 16 * N) < 4.5 * math.sqrt(8 * N)
    orders = [tuple(random.permutation(7, 4, offset=4 * i).tolist()) for i in range(6000)]
    seen = [orders.count(order) for order in itertools.permutations(range(4))]
    assert 5 < sum((n - 250) ** 2 / 250 for n in seen) < 55  # 23 degrees of freedom


# ------------------------------------------------------------------------------------------------------- initial weights

SHAPES = [(5, 3), (64, 32, 3, 3), (7, 1, 9), (1, 1), (300, 200)]


def is_root(x, square):
    """Whether x is the float64 number nearest to sqrt(square)."""
    below, above = (Fraction(x) + Fraction(math.nextafter(x, end)) for end in (0, math.inf))
    return below**2 < 4 * square < above**2


def test_bounds_and_deviations():
    for shape, gain, a in itertools.product(SHAPES, (1.0, 5 / 3, 0.1), (0.0, 0.01, math.sqrt(5))):
        fan_in, fan_out = init.fans(shape)
        assert (fan_in, fan_out) == (math.prod(shape[1:]), shape[0] * math.prod(shape[2:]))
        bound = init._root(3 * init._xavier(shape, gain))
        assert is_root(bound, Fraction(gain) ** 2 * 6 / (fan_in + fan_out))
        want = random.uniform(1, shape, -bound, bound, dtype="f4", stream=2, offset=3)
        assert np.array_equal(init.xavier_uniform(1, shape, gain, stream=2, offset=3), want)
        std = init._root(init._xavier(shape, gain))
        assert is_root(std, Fraction(gain) ** 2 * 2 / (fan_in + fan_out))
        assert np.array_equal(init.xavier_normal(1, shape, gain), random.normal(1, shape, 0, std, dtype="f4"))
        for mode, fan in (("fan_in", fan_in), ("fan_out", fan_out)):
            std = init._root(init._kaiming(shape, a, mode, "leaky_relu"))
            assert is_root(std, 2 / ((1 + Fraction(a) ** 2) * fan))
            got = init.kaiming_normal(1, shape, a, mode, dtype="f8")
            assert np.array_equal(got, random.normal(1, shape, 0, std))
            bound = init._root(3 * init._kaiming(shape, a, mode, "tanh"))
            assert is_root(bound, Fraction(25, 3) / fan)
            got = init.kaiming_uniform(1, shape, a, mode, "tanh")
            assert got.dtype == np.float32 and np.array_equal(got, random.uniform(1, shape, -bound, bound, dtype="f4"))


def test_initial_weights_of_every_format(dtype):
    for f in (init.xavier_uniform, init.xavier_normal, init.kaiming_uniform, init.kaiming_normal):
        got = f(1, (4, 6), dtype=dtype)
        assert got.dtype == dtype and got.shape == (4, 6) and np.count_nonzero(got) == 24
        assert f(1, (4, 0), dtype=dtype).shape == (4, 0)


def test_fans_and_gains_are_those_of_pytorch():
    nn = pytest.importorskip("torch.nn")
    torch = pytest.importorskip("torch")
    for shape in SHAPES:
        assert init.fans(shape) == nn.init._calculate_fan_in_and_fan_out(torch.empty(shape))
    for name in ("linear", "conv2d", "conv_transpose3d", "sigmoid", "tanh", "relu", "selu", "leaky_relu"):
        assert abs(init.calculate_gain(name) / nn.init.calculate_gain(name) - 1) < 1e-15
    assert abs(init.calculate_gain("leaky_relu", 0.3) / nn.init.calculate_gain("leaky_relu", 0.3) - 1) < 1e-15
    w = torch.empty(400, 300)
    nn.init.kaiming_uniform_(w, a=0.2)
    got = init.kaiming_uniform(1, (400, 300), a=0.2)
    assert abs(np.abs(got).max() / float(w.abs().max()) - 1) < 1e-3


# ------------------------------------------------------------------------------------------------------------ arguments


def test_where_the_caller_flushes_subnormal_numbers():
    want = random.uniform(1, 50, -5e-324, 1e-310), init.kaiming_normal(1, (3, 4)), random.dropout([5e-324, 1e-310], 0.25, 1)
    with flushing():
        got = (
            random.uniform(1, 50, -5e-324, 1e-310),
            init.kaiming_normal(1, (3, 4)),
            random.dropout([5e-324, 1e-310], 0.25, 1),
        )
    assert all(np.array_equal(bits(a), bits(b)) for a, b in zip(got, want, strict=True)) and np.count_nonzero(want[0]) > 40


def test_bad_arguments():
    raises = pytest.raises
    for f in (random.uniform, random.normal, random.bernoulli, random.bits):
        for seed in (-1, 2**64):
            with raises(ValueError, match="seed must be from 0"):
                f(seed, 3)
        for seed in (1.0, "1", None, True):
            with raises(TypeError, match="seed must be an integer"):
                f(seed, 3)
        with raises(ValueError, match="stream must be"):
            f(1, 3, stream=2**64)
        with raises(ValueError, match="offset must be from 0"):
            f(1, 3, offset=-1)
        with raises(ValueError, match="offset must be from 0"):
            f(1, 3, offset=2**63 - 3)
        assert np.shape(f(1, 3, offset=2**63 - 4)) == (3,)
        with raises(ValueError, match="shape must be not negative"):
            f(1, (2, -1))
        with raises(TypeError, match="shape must be an integer"):
            f(1, 2.0)
    for f in (random.uniform, random.normal):
        for bad in (np.int32, np.complex128, np.longdouble):
            with raises(TypeError, match="dtype must be float16"):
                f(1, 3, dtype=bad)
    with raises(TypeError, match="dtype must be uint32"):
        random.bits(1, 3, dtype=np.int32)
    for bad in (math.nan, math.inf, -math.inf):
        with raises(ValueError, match="low must be finite"):
            random.uniform(1, 3, bad, 1.0)
        with raises(ValueError, match="mean must be finite"):
            random.normal(1, 3, bad)
        with raises(ValueError, match="std must be finite"):
            random.normal(1, 3, 0.0, bad)
    with raises(ValueError, match="high must be finite in float16"):
        random.uniform(1, 3, 0.0, 65520.0, dtype="f2")
    with raises(ValueError, match="low must not exceed high"):
        random.uniform(1, 3, 1.0, 0.0)
    with raises(TypeError, match="low must be a real number"):
        random.uniform(1, 3, "a")
    with raises(ValueError, match="std must be finite and not negative"):
        random.normal(1, 3, 0.0, -5e-324)
    for args, match in (((math.nan,), "mean must be"), ((0.0, 0.0), "std must be"), ((2.0**51, 1.0), "std must be"), ((0.0, 1.0, 31.0), "low must be"), ((0.0, 1.0, math.nan), "low must be"), ((0.0, 1.0, 1.0, 1.0), "high must exceed"), ((0.0, 1.0, -40.0, -31.0), "high must exceed"), ((0.0, 1.0, 0.0, math.nan), "high must exceed")):  # fmt: skip
        with raises(ValueError, match=match):
            random.truncated_normal(1, 3, *args)
    for bad in (-0.1, 1.1, math.nan):
        with raises(ValueError, match="p must be from 0 to 1"):
            random.bernoulli(1, 3, bad)
        with raises(ValueError, match="p must be from 0 to 1"):
            random.dropout([1.0], bad, 1)
    with raises(ValueError, match="high must exceed low"):
        random.randint(1, 3, 0)
    with raises(ValueError, match="high must be from"):
        random.randint(1, 3, 0, 2**63 + 1)
    with raises(ValueError, match="low must be from 0 to 255 for uint8"):
        random.randint(1, 3, -1, 5, dtype=np.uint8)
    with raises(TypeError, match="high must be an integer"):
        random.randint(1, 3, 0, 2.5)
    with raises(TypeError, match="dtype must be an integer type"):
        random.randint(1, 3, 5, dtype=float)
    with raises(ValueError, match="x must be not negative"):
        random.permutation(1, -1)
    with raises(ValueError, match="x must be an integer or have"):
        random.permutation(1, 2.5)
    with raises(TypeError, match="x has dtype complex128"):
        random.dropout([1j], 0.5, 1)
    with raises(ValueError, match="x has integers beyond"):
        random.dropout([2**60 + 1], 0.5, 1)
    with raises(ValueError, match="position must be"):
        random.Stream(1, position=-1)
    with raises(ValueError, match="at least two axes"):
        init.xavier_uniform(1, (3,))
    for bad in (-1.0, math.nan, math.inf):
        with raises(ValueError, match="gain must be"):
            init.xavier_normal(1, (3, 3), bad)
    with raises(ValueError, match="a must be finite"):
        init.kaiming_normal(1, (3, 3), math.inf)
    with raises(ValueError, match="mode must be"):
        init.kaiming_normal(1, (3, 3), mode="fan")
    with raises(ValueError, match="nonlinearity must be"):
        init.calculate_gain("gelu")
