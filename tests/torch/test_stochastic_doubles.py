"""Double-double with radii, which decides what binary64 leaves open in blocks of stochastic(): each operation against MPFR, norms beside thresholds of
rounding, and controls."""

import math
from fractions import Fraction

import gmpy2
import numpy as np
import pytest
import rounding_oracle

torch = pytest.importorskip("torch")

import repmath.torch  # noqa: E402
from repmath import _core  # noqa: E402
from repmath import _random_balls as _stochastic_balls  # noqa: E402
from repmath import _random_doubles as _stochastic_doubles  # noqa: E402
from repmath._random_doubles import Doubles  # noqa: E402
from repmath.torch import stochastic  # noqa: E402

N = 120


@pytest.fixture(autouse=True)
def precision():
    with gmpy2.context(gmpy2.get_context(), precision=3000, emin=-(10**6), emax=10**6):
        yield


def value(d):
    """High plus low parts, exactly."""
    low = np.zeros(d.high.shape) if d.low is None else np.broadcast_to(d.low, d.high.shape)
    return np.array([gmpy2.mpfr(float(h)) + gmpy2.mpfr(float(v)) for h, v in zip(d.high.flat, low.flat, strict=True)])


def balls(seed, least=-40, most=40, radius=False):
    random = np.random.default_rng(seed)
    high = random.standard_normal((1, N)) * 2.0 ** random.integers(least, most, (1, N))
    low = high * 2.0**-54 * random.uniform(-1, 1, (1, N))
    high[0, :4], low[0, :4] = (0.0, 1.0, -1.0, 3.0), 0.0
    return Doubles(high, low, np.abs(high) * 2.0**-80 if radius else None)


def ends(d):
    """Values of a ball: its middle and both ends."""
    r = 0.0 if d.radius is None else np.broadcast_to(d.radius, d.high.shape).reshape(-1)
    return [value(d) + sign * np.array([gmpy2.mpfr(float(v)) for v in np.broadcast_to(r, N)]) for sign in (0, 1, -1)]


def holds(made, want):
    radius = np.broadcast_to(0.0 if made.radius is None else made.radius, made.high.shape).reshape(-1)
    off = np.abs(value(made) - want)
    inside = [not math.isfinite(r) or o <= gmpy2.mpfr(float(r)) for o, r in zip(off, radius, strict=True)]
    assert all(inside), inside.index(False)
    return radius


def operations(radius):
    a, b = balls(1, radius=radius), balls(2, radius=radius)
    positive = Doubles(np.abs(a.high) + 2.0**-50, a.low * np.sign(a.high), a.radius)
    single = Doubles(b.high)
    small = balls(3, -60, 6, radius)
    divisor = Doubles(np.where(b.high == 0, 1.0, b.high), b.low, b.radius)
    faint = Doubles(a.high * 2.0**-520), Doubles(b.high * 2.0**-540)
    exp, log, sqrt = (np.vectorize(f, otypes=[object]) for f in (gmpy2.exp, gmpy2.log, gmpy2.sqrt))
    pairs = [(a, b), (a, single), (single, a), (single, single), (a, -a), faint]
    for x, y in pairs:
        for p in ends(x):
            for q in ends(y):
                yield x + y, p + q
                yield x - y, p - q
                yield x * y, p * q
    for p in ends(a):
        for q in ends(divisor):
            yield a / divisor, p / q
    for p in ends(positive):
        yield positive.sqrt(), sqrt(p)
        yield positive.log(), log(p)
    for p in ends(small):
        yield small.exp(), exp(p)
        total = sum(p)
        yield small.total(), np.array([total])
    for x in (np.linspace(-699, 699, N), np.linspace(-1100, -690, N), np.linspace(-0.01, 0.01, N)):
        yield Doubles(x[None]).exp(), exp(value(Doubles(x[None])))
    near = Doubles(1 + np.linspace(-1, 1, N)[None] ** 21)
    yield near.log(), log(value(near))


@pytest.mark.parametrize("radius", [False, True])
def test_each_operation_holds_its_value(radius):
    with np.errstate(all="ignore"):
        for made, want in operations(radius):
            holds(made, want)


def test_results_have_some_70_bits():
    with np.errstate(all="ignore"):
        a, b = balls(1), balls(2)
        positive = Doubles(np.abs(a.high) + 2.0**-50)
        for made in (a * b, a / Doubles(b.high + 2.0**-50), positive.sqrt(), balls(3, -60, 6).exp(), balls(1, 3, 30).total()):
            assert not (np.broadcast_to(made.radius, made.high.shape) > 2.0**-70 * np.abs(made.high)).any()
        assert not (positive.log().radius > 2.0**-70 * (np.abs(positive.log().high) + 1)).any()
        assert Doubles(np.zeros((1, 1))).exp().radius == 0 and Doubles(np.ones((1, 1))).log().radius == 0


def test_radii_that_are_left_out_are_seen(monkeypatch):
    """The control of the tests above: each kind of operation needs its radius."""
    monkeypatch.setattr(_stochastic_doubles, "_above", lambda radius: np.zeros(np.shape(radius)))
    wrong = 0
    with np.errstate(all="ignore"):
        for made, want in operations(False):
            try:
                holds(made, want)
            except AssertionError:
                wrong += 1
    assert wrong >= 15


@pytest.mark.parametrize("n", [3, 40, 2100])
def test_totals_of_products_of_differences(n):
    """By sums of the numbers themselves, and directly where these cancel too much."""
    random = np.random.default_rng(n)
    for far in (0.0, 100.0, 2.0**40) if n < 100 else (100.0,):
        x, y = (random.standard_normal((2, n)).astype("f4").astype(float) + far for _ in range(2))
        totals = _stochastic_doubles.Totals(9)
        a, b = Doubles(x, totals=totals), Doubles(y, totals=totals)
        d, e = a - a.total() / 3.0, b - b.total() / 7.0
        for p, q, u, v in ((d, e, 3, 7), (d, d, 3, 3), (a, e, 0, 7), (a, b, 0, 0)):
            made = p.dot(q)
            first, second = x, (y if q is not d else x)
            for row in range(2):
                s, t = (sum(map(Fraction, w[row])) / k if k else 0 for w, k in ((first, u), (second, v)))
                want = sum((Fraction(f) - s) * (Fraction(g) - t) for f, g in zip(first[row], second[row], strict=True))
                got = Fraction(made.high[row, 0]) + Fraction(made.low[row, 0])
                assert abs(got - want) <= Fraction(made.radius[row, 0]) <= max(abs(want) / 2**60, Fraction(far) ** 2 / 2**90)
            totals.made.clear()


def squares_beside(target):
    """Numbers of binary32 whose squares have nearly this sum, from above or below."""
    numbers = []
    for _ in range(7):
        root = gmpy2.sqrt(gmpy2.mpfr(target.numerator) / target.denominator)
        step = Fraction(2) ** (gmpy2.get_exp(root) - 24)
        numbers.append(Fraction(*root.as_integer_ratio()) // step * step)
        target -= numbers[-1] ** 2
    return [float(v) for v in numbers], target


def norms(seed):
    """Columns whose norm is beside a threshold of their word, at a distance of 2^-100 to 2^-108 of it; and on which side."""
    count = 18
    words = rounding_oracle.words(seed, 0, 0, count).tolist()
    columns, ups = [], []
    for i, word in enumerate(words):
        up = bool(i & 1)
        off = Fraction(1 if up else -1, 2 ** (100 + i // 2))
        threshold = (2**23 + 7919 * i) + Fraction(2 * word + 1, 2**33)
        numbers, rest = squares_beside((threshold * (1 + off)) ** 2)
        assert rest < threshold**2 / 2**112
        columns.append(numbers)
        ups.append(2**23 + 7919 * i + up)
    return torch.tensor(columns).T.contiguous(), ups


def test_norms_beside_thresholds():
    x, want = norms(5)
    with stochastic(seed=5):
        got = torch.linalg.vector_norm(x, dim=0)
    assert got.tolist() == want


def test_a_bound_of_double_double_that_is_left_out_is_seen(monkeypatch):
    """The control: without radii double-double decides norms that it does not know."""
    monkeypatch.setattr(_stochastic_doubles, "_above", lambda radius: np.zeros(np.shape(radius)))
    with pytest.raises(AssertionError):
        test_norms_beside_thresholds()


def test_double_double_decides_what_binary64_leaves(monkeypatch):
    """A gradient over 32,768 numbers of which the balls say nothing takes no rational numbers."""

    def no(*call):
        raise RuntimeError("enclosed")

    x, g = (torch.rand(2, 3, 128, 128, generator=torch.Generator().manual_seed(i)) for i in range(2))
    w = torch.tensor([0.5, 1.5, -2.0])

    def gradients():
        with stochastic(seed=5):
            y, mean, root = torch.ops.aten.native_batch_norm(x, w, w, None, None, True, 0.1, 1e-5)
            return y, *torch.ops.aten.native_batch_norm_backward(g, x, w, None, None, mean, root, True, 1e-5, [True] * 3)

    want = gradients()
    settle = repmath.torch._stochastic_quick._settle

    def some_open(at, made, balls, *rest, **more):
        balls[1][::997] = np.abs(balls[0][::997])
        return settle(at, made, balls, *rest, **more)

    monkeypatch.setattr(repmath.torch._stochastic_quick, "_ask", lambda at, made, *balls: (balls, None))
    monkeypatch.setattr(repmath.torch._stochastic_quick, "_settle", some_open)
    monkeypatch.setattr(_stochastic_balls.Last, "_enclosed", no)
    for ours, theirs in zip(gradients(), want, strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("products", [False, True])
def test_sums_in_two_parts_are_within_their_radii(products):
    """Of exact rationals: with cancellation, of wide exponents, of numbers whose sums are exact, and where nothing is known."""
    rng = np.random.default_rng(6)
    for n in (0, 1, 7, 31, 32, 33, 1000, 4099):
        rows = rng.standard_normal((7, n)) * 2.0 ** rng.integers(-60, 60, (7, n))
        rows[1] = rows[1].astype("f4")
        rows[2, n // 2 : n // 2 * 2] = -rows[2, : n // 2] * (1 + 2.0**-40)
        rows[3] = rng.integers(-8, 8, n)
        rows[4] = 0
        rows[5] *= 2.0**-1000
        rows[6, -1:] = np.inf
        others = rng.standard_normal((7, n))
        found = np.empty((3, 7))
        _core.sums_in_parts(rows, others if products else None, found)
        for row, other, high, low, radius in zip(rows[:6], others, *found, strict=False):
            terms = [
                Fraction(a) * (Fraction(b) if products else 1) for a, b in zip(row.tolist(), other.tolist(), strict=True)
            ]
            value = sum(terms, Fraction(0))
            if np.isinf(radius):
                size = sum(map(abs, terms))
                assert size < Fraction(2) ** -690 and (size > 0 or products)
                continue
            assert abs(Fraction(high) + Fraction(low) - value) <= Fraction(radius)
            assert abs(low) <= 2.0**-52 * abs(high)
            assert radius <= (n + 64) ** 2 * 2.0**-103 * float(sum(map(abs, terms)))
        assert n == 0 or np.isinf(found[2, 6])
        if not products:  # and a smaller radius would be wrong somewhere
            assert found[2, 3] == found[2, 4] == 0


def test_exact_sums_and_their_control():
    rows = np.array([[1.0, 2.0**-60, -1.0], [1.0, 2.0**-120, -1.0], [1.0, 2.0**-160, 3.0]])
    found = np.empty((3, 3))
    _core.sums_in_parts(rows, None, found)
    assert (found[:2].sum(0) == [2.0**-60, 2.0**-120, 4.0]).all() and (found[2] > 0).all()


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32"])
def test_parts_are_rounded_as_rationals_are(kind):
    """Beside thresholds, boundaries and powers of two, of both signs, with radii that leave some open."""
    rng = np.random.default_rng(2)
    n, dropped = 4000, {"float16": 42, "bfloat16": 45, "float32": 29}[kind]
    code = (rng.standard_normal(n) * 2.0 ** rng.integers(-17, 17, n)).view(np.int64)
    words = rng.integers(0, 2**32, n)
    words[::5] = rng.choice([0, 1, 2**32 - 1, 2**32 - 2], n // 5)
    threshold = np.array([(2 * int(w) + 1 << dropped) >> 33 for w in words])
    some = rng.integers(0, 4, n)
    code = np.where(some > 0, (code >> dropped << dropped) + threshold + rng.integers(-1, 2, n) * (some > 1), code)
    code[::17] = code[::17] >> dropped << dropped
    code[::51] = code[::51] >> 52 << 52
    high = code.view(np.float64)
    unit = np.spacing(np.abs(high))
    low = unit * rng.choice([0, 0.5, -0.5, 0.0625, -0.0625, 0.0625 + 2.0**-40, 2.0**-30, -(2.0**-30)], n)
    radius = unit * rng.choice([0, 2.0**-40, 2.0**-20, 0.01], n)
    made, decided = _stochastic_balls._rounded_parts(high, low, radius, words.astype(np.float64), kind)
    assert n // 2 < decided.sum() < n

    def wrong(spread):
        return sum(
            _stochastic_balls.rounded(Fraction(h) + Fraction(x) + s * Fraction(spread * r), kind, "stochastic", w) != y
            for h, x, r, w, y in zip(*(v[decided].tolist() for v in (high, low, radius, words, made)), strict=True)
            for s in (-1, 1)
        )

    assert wrong(1) == 0
    assert wrong(2.0**20) > 0  # the control
