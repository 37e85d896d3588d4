"""Parts of sums over ranks: binary64 numbers with bounds, which are added and rounded where that is decided, and summed from operands where it is not."""

from fractions import Fraction

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import mpmath  # noqa: E402

from repmath import _partials  # noqa: E402
from repmath.torch._exact import partials  # noqa: E402
from repmath.torch._exact.records import Convolved, Normed, Operand, Product, Received, Scattered, Terms, Use, settle  # noqa: E402
from repmath.torch._tensors import as_array  # noqa: E402

RANKS = (1, 2, 5)
FORMATS = (torch.float32, torch.bfloat16, torch.float16)


def hard(rng, *shape):
    """Numbers of many magnitudes, whose sums cancel, with short significands beside them, so that there are ties."""
    x = rng.standard_normal(shape) * 2.0 ** rng.integers(-30, 30, shape)
    n = shape[0] // 3
    x[n : 2 * n] = -x[:n]
    x[2 * n :] = np.round(x[2 * n :] * 4) / 4 % 8
    return x


def product(rng, rows, kept):
    a, b = hard(rng, rows, 6), rng.integers(-3, 4, (rows, 5)) * 0.25
    return lambda s: [Use(Product(kept(a[s].T), kept(b[s]), (6, 5)))], (6, 5)


def turned(rng, rows, kept):
    """The sum of a transposed product, as a linear layer's weight has it."""
    a, b = hard(rng, rows, 6), rng.standard_normal((rows, 5))
    return lambda s: [Use(Product(kept(a[s].T), kept(b[s]), (6, 5)), ((5, 6), (1, 5), 0))], (5, 6)


def terms(rng, rows, kept):
    x = hard(rng, rows, 7)
    return lambda s: [Use(Terms(kept(x[s]), (0,), (7,)))], (7,)


def tied(rng, rows, kept):
    """A product and rows that are looked up, as tied weights have them."""
    a, b, x = hard(rng, rows, 6), rng.standard_normal((rows, 5)), hard(rng, rows, 5)
    at = rng.integers(0, 6, rows)

    def uses(s):
        source = Terms(kept(x[s]), (), x[s].shape)
        index = Operand(torch.from_numpy(at[s]))
        return [Use(Product(kept(a[s].T), kept(b[s]), (6, 5))), Use(Scattered(source, index, -1, (6, 5)))]

    return uses, (6, 5)


def convolved(rng, rows, kept):
    x, g = rng.standard_normal((rows, 2, 5, 5)), rng.standard_normal((rows, 3, 3, 3))
    options = ("stride", (1, 1)), ("padding", (0, 0)), ("dilation", (1, 1)), ("groups", 1)
    return lambda s: [Use(Convolved(kept(g[s]), kept(x[s]), (3, 2, 3, 3), options, False))], (3, 2, 3, 3)


def normed(name):
    def make(rng, rows, kept):
        x, g = rng.standard_normal((rows, 9)) + 3.0 * (np.arange(rows) % 5)[:, None], rng.standard_normal((rows, 9))
        return lambda s: [Use(Normed(name, kept(g[s]), kept(x[s]), (9,), (1e-5,)))], (9,)

    return make


def group_normed(groups):
    def make(rng, rows, kept):
        x, g = (
            rng.standard_normal((rows, 6, 4)) + 3.0 * (np.arange(rows) % 5)[:, None, None],
            rng.standard_normal((rows, 6, 4)),
        )
        return lambda s: [Use(Normed("group_norm", kept(g[s]), kept(x[s]), (6,), (groups, 1e-5)))], (6,)

    return make


def tied_twice(rng, rows, kept):
    """A product, rows that are looked up, and rows in their order, in two passes."""
    a, b, x = hard(rng, rows, 6), rng.standard_normal((rows, 5)), hard(rng, rows, 30)

    def uses(s):
        one = [Use(Product(kept(a[s].T), kept(b[s]), (6, 5))), Use(Terms(kept(x[s].reshape(-1, 6, 5)), (0,), (6, 5)))]
        return [*one, *one]

    return uses, (6, 5)


CASES = {
    "product": product, "turned": turned, "terms": terms, "tied": tied, "convolved": convolved,
    "layer norm": normed("layer_norm"), "rms norm": normed("rms_norm"),
    "groups of two": group_normed(3), "groups of one": group_normed(6), "one group": group_normed(1), "tied twice": tied_twice,
}  # fmt: skip


def keeper(dtype):
    return lambda a: Operand(torch.from_numpy(np.ascontiguousarray(a)).to(dtype))


def over_ranks(make, shape, dtype, rows, ranks):
    """The sum as `exchange.py` makes it from parts, and how many elements were not decided."""
    cuts = [rows * i // ranks for i in range(ranks + 1)]
    uses = [make(slice(a, b)) for a, b in zip(cuts, cuts[1:], strict=False)]
    kind = partials.common([partials.kind(u, shape, dtype) for u in uses])
    assert kind != partials.OPERANDS
    found = [partials.part(u, shape, kind) for u in uses]
    total = np.sum([b for _, b in found], 0)
    rows = partials.matrix(kind, shape)[0]
    bounds = (0, total[:rows], total[rows:]) if rows else None
    made, at = partials.joined(np.stack([v for v, _ in found]), bounds, dtype)
    if len(at) and kind == partials.FACTORED:
        _partials.decide(made, at, sum(partials.windows(one, shape, at) for one in uses))
    elif len(at):
        few = partials.divisible([u for one in uses for u in one])
        every = [u for one in uses for u in (partials.some_of(one, at) if few else one)]
        made[at] = as_array(partials.settled_at(every, at, shape, dtype, few))
    return made, len(at)


def bits(a):
    return np.asarray(a).view(f"u{np.asarray(a).itemsize}")


def whole(make, shape, dtype, rows):
    t = settle(make(slice(0, rows)), shape, dtype).reshape(-1)
    return as_array(t)


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("name", CASES)
def test_any_number_of_parts_has_the_bits_of_the_whole(name, dtype):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        rows = 12 + 9 * seed
        make, shape = CASES[name](rng, rows, keeper(dtype))
        expected = whole(make, shape, dtype, rows)
        for ranks in RANKS:
            made, _ = over_ranks(make, shape, dtype, rows, ranks)
            assert np.array_equal(bits(made), bits(expected)), (seed, ranks)


def near_ties(rng, n):
    """Terms of one column each: a number, half of its last place, and something far below, which decides; and what cancels."""
    c = 1 + rng.integers(0, 1 << 23, n) * 2.0**-23
    far = np.where(rng.integers(0, 2, n), 1, -1) * 2.0 ** rng.integers(-110, -70, n)
    big = 2.0 ** rng.integers(0, 60, n)
    return np.stack([c, far, big, np.full(n, 2.0**-24), -big]).astype(np.float32)


def test_sums_near_ties_are_not_decided_by_parts_and_are_right():
    x = near_ties(np.random.default_rng(1), 300)
    exact = [sum(map(Fraction, column)) for column in x.T.tolist()]
    expected = []
    for v in exact:  # between 1 and 2 (1 + 2^-24): ulp 2^-23
        ulp = Fraction(1, 1 << 23) if v < 2 else Fraction(1, 1 << 22)
        expected.append(float(round(v / ulp) * ulp))
    make = lambda s: [Use(Terms(keeper(torch.float32)(x[s]), (0,), (300,)))]  # noqa: E731
    for ranks in (2, 5):
        made, undecided = over_ranks(make, (300,), torch.float32, 5, ranks)
        assert made.tolist() == expected
        assert undecided > 250
        # A control: the sum of all parts, rounded without a test.
        parts = np.stack([partials.part(make(slice(*c)), (300,), partials.ROUNDED)[0] for c in ((0, 2), (2, 5))])
        assert parts.sum(0).astype(np.float32).tolist() != expected


def test_products_near_ties():
    """Each element is a product of a column of near_ties with ones, or half of it by exact factors."""
    x = near_ties(np.random.default_rng(2), 40)
    b = np.ones((5, 3), np.float32) * np.array([1, 0.5, -2], np.float32)
    kept = keeper(torch.float32)
    make = lambda s: [Use(Product(kept(x[s].T), kept(b[s]), (40, 3)))]  # noqa: E731
    expected = whole(make, (40, 3), torch.float32, 5)
    half = np.stack([[float(sum(map(Fraction, c)) * Fraction(f)) for f in (1.0, 0.5, -2.0)] for c in x.T.tolist()])
    assert np.abs(expected.reshape(40, 3) / half - 1).max() < 2.0**-23
    for ranks in (2, 5):
        assert partials.kind(make(slice(0, 2)), (40, 3), torch.float32) == partials.FACTORED
        made, undecided = over_ranks(make, (40, 3), torch.float32, 5, ranks)
        assert np.array_equal(bits(made), bits(expected)) and undecided > 100
        parts = np.stack([partials.part(make(slice(*c)), (40, 3), partials.FACTORED)[0] for c in ((0, 2), (2, 5))])
        assert not np.array_equal(bits(parts.sum(0).astype(np.float32)), bits(expected))  # a control


def test_special_values():
    inf, nan = np.inf, np.nan
    x = np.array(
        [
            [inf, inf, nan, -0.0, 3e38, 1e-45, -inf, 1.0, 2.0**-149, -(2.0**-126)],
            [1.0, -inf, 1.0, -0.0, 3e38, 0.0, 2.0, -1.0, 2.0**-140, 2.0**-127],
        ],
        np.float32,
    )
    make = lambda s: [Use(Terms(keeper(torch.float32)(x[s]), (0,), (10,)))]  # noqa: E731
    made, _ = over_ranks(make, (10,), torch.float32, 2, 2)
    assert np.array_equal(bits(made), bits(whole(make, (10,), torch.float32, 2)))
    empty = lambda s: make(s) if s.start == 0 else []  # noqa: E731
    made, _ = over_ranks(empty, (10,), torch.float32, 2, 2)
    assert np.array_equal(bits(made), bits(whole(make, (10,), torch.float32, 1)))


@pytest.mark.parametrize("name", ["layer_norm", "rms_norm"])
def test_the_bound_of_a_norms_weight(name):
    largest = 0.0
    for seed, (mean, scale) in enumerate([(0, 1), (1e3, 1), (-1e6, 1), (3, 1e-20), (0, 1e15), (1, 1e-3)]):
        rng = np.random.default_rng(seed)
        g, x = (rng.standard_normal((4, 6)).astype(np.float32) for _ in range(2))
        x = (x * np.float32(scale) + np.float32(mean)).astype(np.float32)
        use = Use(Normed(name, Received(g), Received(x), (6,), (1e-5,)))
        value, lines = partials.part([use], (6,), partials.NORMED)
        bound = np.sqrt(lines[0] * lines[1:])
        with mpmath.workprec(400):
            for j in range(6):
                total = mpmath.mpf(0)
                for slopes, row in zip(g.tolist(), x.tolist(), strict=True):
                    values = [mpmath.mpf(v) for v in row]
                    m = mpmath.fsum(values) / 6 if name == "layer_norm" else 0
                    v = mpmath.fsum((w - m) ** 2 for w in values) / 6 + mpmath.mpf(1e-5)
                    total += mpmath.mpf(slopes[j]) * (values[j] - m) / mpmath.sqrt(v)
                error = abs(mpmath.mpf(float(value[j])) - total)
                assert not error > bound[j], (mean, scale, j)
                largest = max(largest, float(error / bound[j]) if bound[j] else 0.0)
    assert 1 / 128 < largest <= 1  # a bound so much smaller would not hold


def test_what_has_no_part():
    x = torch.ones(3, 4)
    assert partials.kind([Use(Terms(Operand(x), (0,), (4,)))], (4,), torch.float64) == partials.OPERANDS
    assert partials.kind([Use(Terms(Operand(x.double()), (0,), (4,)))], (4,), torch.float32) == partials.OPERANDS
    norm = Normed("batch_norm", Operand(x), Operand(x), (4,), (None, None, True, 1e-5))
    assert partials.kind([Use(norm)], (4,), torch.float32) == partials.OPERANDS
    assert partials.nbytes([Use(norm)]) == 2 * 48
