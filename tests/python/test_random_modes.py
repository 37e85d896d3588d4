"""repmath.rounding under the random modes: elementwise functions, sums and products against rationals and Philox; what does not change a
bit, and controls that would."""

import os
import subprocess
import sys
from fractions import Fraction

import elementwise_library
import exact_oracle
import ml_dtypes
import numpy as np
import oracle
import pytest
import rounding_oracle

import repmath
from repmath import _random_modes, rounding

BF16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = {"f16": np.dtype(np.float16), "bf16": BF16, "f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}
EVERY = (*rounding_oracle.MODES, *rounding_oracle.DIRECTED)
SEED, STREAM = 2**63 + 12345, 7 * 2**32 + 3


def bits(array):
    array = np.asarray(array)
    return array.view({2: np.uint16, 4: np.uint32, 8: np.uint64}[array.dtype.itemsize]).reshape(-1).tolist()


def numbers(fmt, n, seed=1):
    return np.random.default_rng(seed).uniform(-3, 3, n).astype(DTYPES[fmt])


def test_words_are_those_of_the_generator():
    want = rounding_oracle.words(SEED, STREAM, 0, 11)
    assert rounding.words(11, SEED, STREAM).tolist() == want.tolist()


@pytest.mark.parametrize("mode", rounding.RANDOM_MODES)
@pytest.mark.parametrize("fmt", list(DTYPES))
@pytest.mark.parametrize("function", ["exp", "tanh", "sqrt", "add", "multiply", "divide", "fma", "gelu_backward"])
def test_elementwise(function, fmt, mode):
    arity = oracle.ARITY[function]
    columns = [numbers(fmt, 41, k) for k in range(arity)]
    columns[0][:3] = [0, 1, 2]
    each = rounding_oracle.words(SEED, STREAM, 0, 41)
    rows = list(zip(*[c.astype(np.float64).tolist() for c in columns], strict=True))
    want = rounding_oracle.array_of(function, rows, fmt, mode, each).tolist()
    with np.errstate(all="ignore"):
        for threads in (1, 2):
            repmath.set_num_threads(threads)
            got = getattr(rounding, function)(*columns, mode, seed=SEED, stream=STREAM)
            assert got.dtype == DTYPES[fmt] and bits(got) == want


@pytest.mark.parametrize("mode", ["stochastic", "random"])
def test_every_number_of_f16(mode):
    """All 65,536 arguments: words of one stream, and the mean of several is nearer to the value than the number beside it."""
    x = np.arange(65536, dtype=np.uint16).view(np.float16)
    x = x[np.isfinite(x) & (np.abs(x) < 10) & (np.abs(x) > 2**-10)]
    got = rounding.exp(x, mode, seed=3)
    down, up = (rounding.exp(x.astype(np.float64), m).astype(np.float64) for m in ("down", "up"))
    near = np.exp(x.astype(np.float64))  # only to see between which numbers of the format the value lies
    low = np.where(
        near.astype(np.float16) > near, np.nextafter(near.astype(np.float16), np.float16(0)), near.astype(np.float16)
    )
    high = np.nextafter(low, np.float16(np.inf))
    assert (down <= up).all() and ((got == low) | (got == high)).all()
    assert 0.48 < (got == high).mean() < 0.52


def test_places_count_and_memory_does_not():
    x = numbers("f32", 60).reshape(3, 4, 5)
    want = rounding.exp(x, "stochastic", seed=5, stream=1)
    for other in (np.asfortranarray(x), x[:, ::-1][:, ::-1], np.ascontiguousarray(x.transpose(2, 0, 1)).transpose(1, 2, 0)):
        assert bits(rounding.exp(other, "stochastic", seed=5, stream=1)) == bits(want)
    out = np.empty((5, 4, 3), np.float32).transpose(2, 1, 0)
    assert rounding.exp(x, "stochastic", seed=5, stream=1, out=out) is out and bits(np.ascontiguousarray(out)) == bits(want)
    row = numbers("f32", 5, 2)
    both = rounding.add(x, row, "stochastic", seed=5)
    assert bits(both) == bits(rounding.add(x, np.broadcast_to(row, x.shape).copy(), "stochastic", seed=5))
    # Controls: words by memory order, and one stream for two arrays, give other bits.
    assert bits(
        np.ascontiguousarray(rounding.exp(x.transpose(2, 1, 0), "stochastic", seed=5, stream=1).transpose(2, 1, 0))
    ) != bits(want)
    assert (
        bits(rounding.exp(x, "stochastic", seed=5, stream=2))
        != bits(want)
        != bits(rounding.exp(x, "stochastic", seed=6, stream=1))
    )
    x2 = x.copy()
    assert bits(rounding.exp(x2, "stochastic", seed=5, stream=1, out=x2)) == bits(want) == bits(x2)
    kept, where = np.full(x.shape, 9, np.float32), x > 0
    rounding.exp(x, "stochastic", seed=5, stream=1, out=kept, where=where)
    assert (kept[~where] == 9).all() and (kept[where] == want[where]).all()


def exact_sum(terms, fmt, mode, word):
    total = sum((Fraction(float(t)) for t in terms), Fraction(0))
    return rounding_oracle.rounded(total, fmt, mode, word) if total else 0


HARD = {
    "cancelling": lambda rng, n: np.concatenate(
        [v := rng.standard_normal(n // 2) * 2.0 ** rng.integers(-10, 10, n // 2), -v, [2.0**-20] * (n % 2)]
    ),
    "wide": lambda rng, n: rng.standard_normal(n) * 2.0 ** rng.integers(-14, 14, n),
    "plain": lambda rng, n: rng.standard_normal(n),
    "halves": lambda rng, n: rng.integers(-64, 64, n) / 2.0,
    # Products that underflow in binary64.
    "tiny": lambda rng, n: rng.uniform(-1, 1, n) * 2.0 ** rng.integers(-545, -530, n),
}


@pytest.mark.parametrize("mode", EVERY)
@pytest.mark.parametrize("fmt", list(DTYPES))
@pytest.mark.parametrize("kind", list(HARD))
def test_sums(kind, fmt, mode):
    rng = np.random.default_rng(11)
    for n in (0, 1, 2, 7, 8, 9, 100):
        x = np.stack([HARD[kind](rng, n)[:n] for _ in range(9)]).astype(DTYPES[fmt]) if n else np.zeros((9, 0), DTYPES[fmt])
        each = rounding_oracle.words(SEED, STREAM, 0, 9)
        want = [exact_sum(row.astype(np.float64), fmt, mode, int(w)) for row, w in zip(x, each, strict=True)]
        for threads in (1, 2):
            repmath.set_num_threads(threads)
            for view in (x, np.asfortranarray(x), x[:, ::-1]):
                assert bits(rounding.sum(view, mode, axis=1, seed=SEED, stream=STREAM)) == want


@pytest.mark.sample(3)
@pytest.mark.parametrize("mode", EVERY)
@pytest.mark.parametrize("fmt", list(DTYPES))
def test_products(fmt, mode):
    rng = np.random.default_rng(12)
    for (m, k, n), kind in (
        ((3, 5, 10), "plain"),
        ((17, 300, 9), "wide"),
        ((2, 40, 3), "cancelling"),
        ((4, 0, 3), "plain"),
        ((5, 6, 8), "halves"),
        ((9, 1, 7), "tiny"),
        ((5, 3, 9), "tiny"),
    ):
        a = HARD[kind](rng, m * k)[: m * k].reshape(m, k).astype(DTYPES[fmt])
        b = HARD[kind](rng, n * k)[: n * k].reshape(k, n).astype(DTYPES[fmt])
        bias = rng.standard_normal(n).astype(DTYPES[fmt])
        each = rounding_oracle.words(SEED, STREAM, 0, m * n).reshape(m, n)
        for add in (None, bias):
            want = []
            for i in range(m):
                for j in range(n):
                    total = sum(
                        (Fraction(float(p)) * Fraction(float(q)) for p, q in zip(a[i], b[:, j], strict=True)), Fraction(0)
                    )
                    total += 0 if add is None else Fraction(float(add[j]))
                    want.append(rounding_oracle.rounded(total, fmt, mode, int(each[i, j])) if total else 0)
            for threads in (1, 2):
                repmath.set_num_threads(threads)
                for left, right in ((a, b), (np.asfortranarray(a), np.asfortranarray(b))):
                    got = rounding.matmul(left, right, mode, bias=add, seed=SEED, stream=STREAM)
                    assert got.shape == (m, n) and bits(got) == want


def test_sums_and_products_of_special_terms():
    inf, nan = np.inf, np.nan
    with np.errstate(all="ignore"):
        for mode in EVERY:
            got = rounding.sum(
                np.array([[inf, 1], [-inf, inf], [nan, inf], [0.0, -0.0], [1.5, -1.5], [-inf, 2]]), mode, axis=1
            )
            assert [str(v) for v in got] == ["inf", "nan", "nan", "0.0", "0.0", "-inf"]
            got = rounding.matmul(np.array([[inf, 0.0], [1e300, 1e300]]), np.array([[1.0, 0.0], [1.0, 1e300]]), mode)
            beyond = str(np.finfo(np.float64).max) if mode in ("toward_zero", "down") else "inf"
            assert [str(v) for v in got.reshape(-1)] == ["inf", "nan", str(got[1, 0]), beyond] and np.isfinite(got[1, 0])
    tiny = np.full((1, 3), 5e-324)
    assert rounding.matmul(tiny, np.full((3, 1), 5e-324), "stochastic")[0, 0] in (0.0, 5e-324)
    assert rounding.sum(tiny, "stochastic", axis=1)[0] == 3 * 5e-324


@pytest.mark.parametrize("fmt", list(DTYPES))
def test_what_stays(fmt):
    """Published up-down rounding moves infinities, NaN and zeros: here they stay, with their signs, and the largest number is not left. Exact results stay under
    the other modes; up_down moves those by one step, either way."""
    dtype = DTYPES[fmt]
    most = float(ml_dtypes.finfo(dtype).max)
    x = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0] * 40).astype(dtype)
    ends, exact = np.full(200, most).astype(dtype), np.full(200, 3.0).astype(dtype)
    with np.errstate(all="ignore"):
        for mode in rounding.RANDOM_MODES:
            got = rounding.multiply(x, np.ones(200, dtype), mode, seed=SEED)
            assert bits(got) == bits(repmath.multiply(x, np.ones(200, dtype)))
            assert np.isfinite(rounding.multiply(ends, np.ones(200, dtype), mode, seed=SEED)).all()
            made = rounding.divide(exact, np.ones(200, dtype), mode, seed=SEED)
            assert len(set(made.tolist())) == (2 if mode == "up_down" else 1) and (3.0 in set(made.tolist())) == (
                mode != "up_down"
            )


@pytest.mark.parametrize("fmt", list(DTYPES))
def test_steps_of_numbers_in_memory(fmt):
    """All numbers of 16 bits, and of the others the ends of each kind: zeros, infinities and NaN stay as they are, the largest number is not left upwards."""
    dtype = DTYPES[fmt]
    kind = np.dtype(f"u{dtype.itemsize}")
    sign, infinity = 1 << (8 * dtype.itemsize - 1), int(np.array([np.inf]).astype(dtype).view(kind)[0])
    ends = [0, 1, 2, infinity - 2, infinity - 1, infinity, infinity + 1, infinity // 2, sign - 1]
    codes = list(range(65536)) if dtype.itemsize == 2 else [s | e for s in (0, sign) for e in ends for _ in range(8)]
    array = np.array(codes, kind).view(dtype)
    words = rounding_oracle.words(SEED, STREAM, 0, len(codes)).tolist()
    want = []
    for code, word in zip(codes, words, strict=True):
        size = code & (sign - 1)
        stays = size == 0 or size >= infinity or (size == infinity - 1 and word >> 31)
        want.append(code if stays else code + (1 if word >> 31 else -1))
    assert bits(_random_modes.up_down(array, SEED, STREAM)) == want


def test_batches_vectors_and_axes():
    rng = np.random.default_rng(13)
    a, b = rng.standard_normal((2, 1, 3, 4)).astype("f4"), rng.standard_normal((5, 4, 6)).astype("f4")
    got = rounding.matmul(a, b, "stochastic", seed=1)
    assert got.shape == (2, 5, 3, 6)
    each = rounding.words(got.size, 1).reshape(got.shape)
    total = sum(Fraction(float(p)) * Fraction(float(q)) for p, q in zip(a[1, 0, 2], b[4, :, 5], strict=True))
    assert bits(got[1, 4, 2, 5]) == [rounding_oracle.rounded(total, "f32", "stochastic", int(each[1, 4, 2, 5]))]
    assert rounding.matmul(a[0, 0, 0], b[0], "stochastic").shape == (6,) and rounding.matmul(
        a[0, 0], b[0, :, 0], "stochastic"
    ).shape == (3,)
    assert bits(rounding.dot(a[0, 0, 0], b[0, :, 0], "stochastic", seed=4)) == bits(
        rounding.matmul(a[0, 0, 0], b[0, :, 0], "stochastic", seed=4)
    )
    for axis in (None, 0, 1, (0, 2), (1, 2), -1):
        assert rounding.sum(b, "stochastic", axis=axis).shape == b.sum(axis=axis).shape
    assert rounding.sum(b, "random", axis=(0, 2), keepdims=True).shape == (1, 4, 1)
    assert rounding.sum(b, "random", dtype=np.float64).dtype == np.float64


def chi_square(mode, cut=lambda words: words):
    """Of the shares of 2^16 elements that go away from zero, for 12 fractions: the sum of squares over variances."""
    total, n = 0.0, 1 << 16
    for number, f in enumerate([2.0**-k for k in range(1, 8)] + [1 / 3, 3 / 7, 1 - 2.0**-4, 1 - 2.0**-8, 2.0**-10]):
        x = np.full((n, 2), 1.0, np.float64)
        x[:, 1] = f * 2.0**-23
        away = rounding.sum(x, mode, axis=1, dtype=np.float32, seed=21, stream=number) > 1
        total += (int(cut(away).sum()) - n * f) ** 2 / (n * f * (1 - f))
    return total


def test_the_chances_by_chi_square():
    """Of 12 degrees of freedom 99.9 % are below 32.9. Controls: equal chances, a word that two elements share, and one element in 100 that stays."""
    assert chi_square("stochastic") < 32.9
    assert chi_square("random") > 1000
    assert chi_square("stochastic", lambda away: np.repeat(away[:64], away.size // 64)) > 32.9
    assert chi_square("stochastic", lambda away: away & (np.arange(away.size) % 100 > 0)) > 32.9


def test_chances_are_the_fractions():
    """Of 2^16 elements with one value the share that goes away from zero is f, within five deviations; exact values never move."""
    n = 1 << 16
    for f in (0.5, 0.25, 1 / 3, 2.0**-8, 1 - 2.0**-8):
        x = np.full((n, 2), 1.0, np.float64)
        x[:, 1] = f * 2.0**-23
        away = (rounding.sum(x, "stochastic", axis=1, dtype=np.float32, seed=9) > 1).mean()
        assert abs(away - f) < 5 * np.sqrt(f * (1 - f) / n)
    ones = rounding.sum(np.ones((n, 3), np.float32), "stochastic", axis=1)
    assert (ones == 3).all()
    w = rounding.words(n, 9).astype(np.float64) / 2**32 - 0.5
    v = rounding.words(n, 10).astype(np.float64) / 2**32 - 0.5
    for product in (w[1:] * w[:-1], w * v, w * rounding.words(n, 9, 1) / 2**32 - w / 2):
        assert abs(product.mean()) < 5 / 12 / np.sqrt(product.size)


def harmonic(mode, n, samples):
    """1 + 1/2 + ... + 1/n in float32, each quotient and each sum rounded; samples are elements."""
    total = np.zeros(samples, np.float32)
    for i in range(1, n + 1):
        term = rounding.divide(np.full(samples, 1, np.float32), np.float32(i), mode, seed=1, stream=2 * i)
        total = rounding.add(total, term, mode, seed=1, stream=2 * i + 1)
    return total.astype(np.float64)


def test_the_mean_of_the_harmonic_sum():
    """Stochastic rounding's mean holds the exact value within four deviations of the mean; that of random rounding is far from it."""
    n, samples = 4000, 64
    exact = float(sum(Fraction(1, i) for i in range(1, n + 1)))
    for mode, holds in (("stochastic", True), ("random", False)):
        got = harmonic(mode, n, samples)
        apart = abs(got.mean() - exact) / (got.std(ddof=1) / np.sqrt(samples))
        assert (apart < 4) == holds, (mode, apart)


SCRIPT = """
import numpy as np, repmath
from repmath import _random_modes, rounding
x = np.random.default_rng(0).standard_normal((40, 30)).astype("f4")
parts = []
for mode in rounding.RANDOM_MODES:
    for f in ("exp", "gelu", "log1p", "sin"):
        parts.append(getattr(rounding, f)(x * x, mode, seed=1, stream=2))
    parts += [rounding.sum(x, mode, axis=1), rounding.matmul(x, x.T, mode, seed=3), rounding.sum(x.astype("f8"), mode, axis=0)]
print(repmath.digest(*parts))
"""


def test_one_digest_for_instruction_sets_and_threads():
    seen = set()
    for isa in repmath._core.available_isas():
        for threads in ("1", "2"):
            environment = os.environ | {"REPMATH_ISA": isa, "REPMATH_NUM_THREADS": threads}
            done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)
            seen.add(done.stdout)
    assert len(seen) == 1 and elementwise_library.ISAS and exact_oracle.UNIT


def beside_thresholds(n=20000):
    """Numbers y of float32, each below or above the threshold t of its element: where that is small, 1 + y lies nearer to it than
    binary64 tells."""
    t = (rounding.words(n, SEED, STREAM).astype(np.float64) + 0.5) * 2.0**-55
    y = t.astype(np.float32)
    y = np.where(np.arange(n) % 2 == 0, np.nextafter(y, np.float32(0)), np.nextafter(y, np.float32(1)))
    return y, t


def check_beside_thresholds():
    y, t = beside_thresholds()
    assert (np.abs(y.astype(np.float64) - t) < 2.0**-53).sum() > 200
    words = rounding.words(y.size, SEED, STREAM).tolist()
    want = [rounding_oracle.rounded(1 + Fraction(v), "f32", "stochastic", w) for v, w in zip(y.tolist(), words, strict=True)]
    one = np.ones(y.size, np.float32)
    pairs = np.stack([one, y], 1)[:, None, :]
    found = [
        rounding.add(one, y, "stochastic", seed=SEED, stream=STREAM),
        rounding.matmul(pairs, np.ones((2, 1), np.float32), "stochastic", seed=SEED, stream=STREAM),
        rounding.matmul(y[:, None], np.ones((1, 1), np.float32), "stochastic", bias=one[:1], seed=SEED, stream=STREAM),
    ]
    wrong = [sum(a != b for a, b in zip(bits(each), want, strict=True)) for each in found]
    assert wrong == [0, 0, 0]


def test_values_beside_the_threshold_of_their_element():
    check_beside_thresholds()


def test_other_definitions_are_seen():
    """Controls: a threshold of w or w + 1 in place of w + 1/2, of the word's upper half, of the next element, and a threshold that moves what it equals."""
    n = 400
    words = rounding.words(n + 1, SEED, STREAM).tolist()
    hairs = [(0, 2.0**-60, -(2.0**-60), 2.0**-34, -(2.0**-34))[i % 5] for i in range(n)]  # in units of the last place
    x = np.stack([np.ones(n), [(w + 0.5) * 2.0**-55 for w in words[:n]], np.array(hairs) * 2.0**-23], 1)
    fractions = [sum(map(Fraction, row[1:])) * 2**23 for row in x.tolist()]
    away = rounding.sum(x, "stochastic", axis=1, dtype=np.float32, seed=SEED, stream=STREAM) > 1

    def differ(definition):
        return sum(bool(a) != definition(f, i) for i, (a, f) in enumerate(zip(away.tolist(), fractions, strict=True)))

    def threshold(twice, bits=32):
        return Fraction(twice, 2 ** (bits + 1))

    assert differ(lambda f, i: f > threshold(2 * words[i] + 1)) == 0
    for spoiled in (
        lambda f, i: f > threshold(2 * words[i]),
        lambda f, i: f > threshold(2 * words[i] + 2),
        lambda f, i: f > threshold(2 * (words[i] >> 16) + 1, 16),
        lambda f, i: f > threshold(2 * words[i + 1] + 1),
        lambda f, i: f >= threshold(2 * words[i] + 1),
    ):
        assert differ(spoiled) >= n // 5


def test_a_last_step_without_a_radius_is_seen():
    """The control of the test above: sums that binary64 rounded first are wrong for some of these."""
    y, _ = beside_thresholds()
    words = rounding.words(y.size, SEED, STREAM).tolist()
    want = [rounding_oracle.rounded(1 + Fraction(v), "f32", "stochastic", w) for v, w in zip(y.tolist(), words, strict=True)]
    made, undecided = _random_modes.balls(1 + y.astype(np.float64), None, DTYPES["f32"], ("stochastic", SEED, STREAM, 0))
    assert not undecided.any() and (np.array(bits(made)) != np.array(want)).sum() > 20


RATIONAL = {
    "scaled": lambda a, x: a * x,
    "over": lambda a, x: x / a,
    "under": lambda a, x: a / x,
    "added": lambda a, x: x + a,
    "plus": lambda a, x, y: x + a * y,
    "between": lambda a, x, y: x + a * (y - x),
    "product": lambda a, x, y, z: x + a * y * z,
    "quotient": lambda a, x, y, z: x + a * y / z,
    "tanh": lambda a, x, y: x * (1 - y * y),
    "sigmoid": lambda a, x, y: x * y * (1 - y),
}
# The number a for which a formula has the value t.
SOLVED = {
    "scaled": lambda t, x: t / x,
    "over": lambda t, x: x / t,
    "under": lambda t, x: t * x,
    "added": lambda t, x: t - x,
    "plus": lambda t, x, y: (t - x) / y,
    "between": lambda t, x, y: (t - x) / (y - x),
    "product": lambda t, x, y, z: (t - x) / (y * z),
    "quotient": lambda t, x, y, z: (t - x) * z / y,
}


@pytest.mark.parametrize("fmt", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("name", list(SOLVED))
def test_formulas_beside_the_threshold(name, fmt):
    """The number a is the one of binary64 that is nearest to where the formula's value is the threshold of its word, or a neighbour: what is
    decided is right, some is left open, and binary64 without a radius would be wrong."""
    rng, wrong, left, decided = np.random.default_rng(12), 0, 0, 0
    for stream in range(40):
        values = [v.reshape(1) for v in numbers(fmt, 3, stream)[: SOLVED[name].__code__.co_argcount - 1]]
        exact = [Fraction(float(v[0])) for v in values]
        word = int(rounding.words(1, SEED, stream)[0])
        near, quantum = (
            rounding_oracle.split(Fraction(float(rng.uniform(1, 2))), fmt)[0],
            Fraction(2) ** -{"f16": 10, "bf16": 7, "f32": 23}[fmt],
        )
        first = rounding_oracle.split(Fraction(1), fmt)[0]
        aim = 1 + quantum * (near - first + Fraction(2 * word + 1, 2**33))
        a = float(SOLVED[name](aim, *exact))
        for number in (a, np.nextafter(a, np.inf), np.nextafter(a, -np.inf)):
            value = RATIONAL[name](Fraction(float(number)), *exact)
            want = rounding_oracle.rounded(value, fmt, "stochastic", word)
            made, undecided = _random_modes.formula(name, float(number), values, ("stochastic", SEED, stream, 0))
            if undecided.size:
                left += 1
            else:
                decided += 1
                assert bits(made) == [want]
            wrong += rounding_oracle.rounded(Fraction(float(value)), fmt, "stochastic", word) != want
    assert left > 3 and left + decided == 120
    assert wrong > 3 or fmt != "f32"  # binary64 holds thresholds of the others


@pytest.mark.parametrize("mode", ["stochastic", "random"])
@pytest.mark.parametrize("fmt", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("name", list(RATIONAL))
def test_formulas(name, fmt, mode):
    columns = [numbers(fmt, 37, 3 + k) for k in range(RATIONAL[name].__code__.co_argcount - 1)]
    columns[-1][:3] = [1, 0.5, 2]
    made, undecided = _random_modes.formula(name, 0.7390851332151607, columns, (mode, SEED, STREAM, 0))
    words = rounding.words(37, SEED, STREAM).tolist()
    rows = zip(*[[Fraction(v) for v in c.astype(np.float64).tolist()] for c in columns], strict=True)
    exact = [RATIONAL[name](Fraction(0.7390851332151607), *row) for row in rows]
    assert not undecided.size and bits(made) == [
        rounding_oracle.rounded(v, fmt, mode, w) if v else 0 for v, w in zip(exact, words, strict=True)
    ]


@pytest.mark.parametrize("mode", ["stochastic", "random"])
@pytest.mark.parametrize("fmt", ["f16", "bf16", "f32"])
def test_balls(fmt, mode):
    """What is decided is what both ends give, and every number between them; subnormal results, overflow, both signs."""
    rng = np.random.default_rng(8)
    middle = rng.uniform(-2, 2, 3000) * 2.0 ** rng.integers(-155, 131, 3000)
    middle[:4] = [0.0, -0.0, 1.0, -65504.0]
    radius = np.abs(middle) * 2.0 ** -rng.integers(8, 60, 3000)
    radius[::3] = 0
    radius[5:8] = [np.inf, np.nan, 1e300]
    made, undecided = _random_modes.balls(middle, radius, DTYPES[fmt], (mode, SEED, STREAM, 0))
    words = rounding.words(middle.size, SEED, STREAM).tolist()
    assert undecided[5:8].all() and 20 < undecided.sum() < 2000 and not undecided[::3][np.isfinite(radius[::3])].any()
    got = bits(made)
    for i in np.flatnonzero(~undecided).tolist():
        ends = Fraction(middle[i]) - Fraction(radius[i]), Fraction(middle[i]) + Fraction(radius[i])
        for value in ends:
            assert got[i] == (rounding_oracle.rounded(value, fmt, mode, words[i]) if value else 0), i
    for i in np.flatnonzero(undecided).tolist():  # a wider ball by two last places would be undecided at least
        if np.isfinite(radius[i]) and radius[i] < 1e200:
            spread = Fraction(radius[i]) + Fraction(abs(middle[i])) / 2**50
            ends = {
                rounding_oracle.rounded(v, fmt, mode, words[i]) if v else 0
                for v in (Fraction(middle[i]) - spread, Fraction(middle[i]) + spread)
            }
            assert len(ends) == 2 or got[i] == 0, i


@pytest.mark.parametrize(
    ("call", "error", "name"),
    [
        (lambda: rounding.exp(1.0, "sometimes"), ValueError, "mode"),
        (lambda: rounding.exp(1.0, "stochastic", seed=-1), ValueError, "seed"),
        (lambda: rounding.exp(1.0, "stochastic", seed=2**64), ValueError, "seed"),
        (lambda: rounding.exp(1.0, "stochastic", stream=0.5), TypeError, "stream"),
        (lambda: rounding.exp(1.0, "stochastic", seed=True), TypeError, "seed"),
        (lambda: rounding.exp(1.0, "stochastic", casting="no"), TypeError, "casting"),
        (lambda: rounding.exp(1.0, "down", seed=1), TypeError, "seed"),
        (lambda: rounding.exp([1.0], "stochastic", where=[True]), ValueError, "where"),
        (lambda: rounding.exp([1.0], "stochastic", out=np.empty(2)), ValueError, "out"),
        (lambda: rounding.exp([1.0], "stochastic", out=np.empty(1, "f4")), TypeError, "out"),
        (lambda: rounding.exp(1j, "stochastic"), TypeError, "exp"),
        (lambda: rounding.sum([1.0], "nearest"), ValueError, "mode"),
        (lambda: rounding.sum([1j], "random"), TypeError, "x"),
        (lambda: rounding.sum([1.0], "random", dtype="i4"), TypeError, "dtype"),
        (lambda: rounding.matmul([[1.0]], [[1.0], [2.0]], "random"), ValueError, "a and b"),
        (lambda: rounding.matmul(1.0, [1.0], "random"), ValueError, "a and b"),
        (lambda: rounding.dot([1.0], [1.0, 2.0], "random"), ValueError, "x and y"),
        (lambda: rounding.words(-1), ValueError, "n"),
        (lambda: rounding.words(1.5), TypeError, "n"),
    ],
)
def test_errors_name_the_argument(call, error, name):
    with pytest.raises(error, match=name):
        call()
