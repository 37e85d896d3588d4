"""Operators under reproducible() of several steps, and exact sums of unusual terms: the bits that the table states.

Steps are taken by repmath's functions of arrays, sums by rational numbers.
"""

import math
from fractions import Fraction

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import numpy as np  # noqa: E402
from exact_oracle import bits, round_rational  # noqa: E402
from prepared_calls import unprepared  # noqa: E402
from torch_cases import numbers, same_bits  # noqa: E402

import repmath as rm  # noqa: E402
import repmath.torch as rt  # noqa: E402
from repmath.torch._aten import distances  # noqa: E402

T = torch.nn.functional
F4, F8 = np.float32, np.float64


def exact(t):
    return np.vectorize(lambda v: Fraction(float(v)), otypes=[object])(t.detach().numpy())


def rounds_to(made, wanted):
    """Whether float32 numbers are these rationals, rounded once."""
    wanted = np.asarray(wanted, dtype=object)
    assert tuple(made.shape) == wanted.shape
    ours = bits(made.detach().numpy().reshape(-1)).tolist()
    return ours == [round_rational(v, "f32") for v in wanted.reshape(-1)]


def steps_of(name, x, y):
    """In binary64, of arrays of it."""
    if name == "sinc":
        whole = np.round(x)
        sine = rm.sin(rm.multiply(rm.subtract(x, whole), np.pi)) * np.where(whole % 2 == 0, 1, -1)
        return np.where(x == 0, 1, rm.divide(sine, np.where(x == 0, 1, rm.multiply(x, np.pi))))
    if name == "logaddexp2":
        above, below = np.maximum(x, y), np.minimum(x, y)
        return rm.add(above, rm.multiply(rm.log1p(rm.exp2(rm.subtract(below, above))), F8(1 / math.log(2))))
    made = [x[0]]
    for v in x[1:]:
        made.append(rm.logaddexp(made[-1], v))
    return np.stack(made)


@pytest.mark.parametrize("name", ["sinc", "logaddexp2", "logcumsumexp"])
def test_steps_in_binary64(name):
    x, y = (numbers(300, seed=s, low=-9, high=9, dtype=torch.float32) for s in (1, 2))
    x[:3] = torch.tensor([0.0, 4.0, -7.0])
    calls = {
        "sinc": lambda x, y: torch.sinc(x),
        "logaddexp2": torch.logaddexp2,
        "logcumsumexp": lambda x, y: x.logcumsumexp(0),
    }
    for dtype in (torch.float32, torch.float64):
        a, b = x.to(dtype), y.to(dtype)
        with rt.reproducible():
            made = calls[name](a, b)
        assert same_bits(made, steps_of(name, a.numpy().astype(F8), b.numpy().astype(F8)).astype(made.numpy().dtype))
        torch.testing.assert_close(made, calls[name](a, b))
    inf = torch.tensor([math.inf, -math.inf])
    with rt.reproducible():
        assert torch.sinc(x)[:3].tolist() == [1, 0, 0]  # PyTorch has 1e-17 instead of the zeros
        assert torch.logaddexp2(inf, inf).tolist() == torch.logaddexp2(inf, -inf.abs()).tolist() == inf.tolist()


def test_softshrink():
    x = numbers(300, seed=1, low=-2, high=2, dtype=torch.float32).requires_grad_()
    limit = Fraction(0.1)  # the binary64 number
    with rt.reproducible():
        made = T.softshrink(x, 0.1)
        made.sum().backward()
    assert rounds_to(made, [v - limit if v > limit else v + limit if v < -limit else Fraction(0) for v in exact(x)])
    assert x.grad.tolist() == [float(abs(v) > limit) for v in exact(x)]


def test_logspace_and_angle():
    with rt.reproducible():
        made, turned = torch.logspace(-3, 2, 17, base=3.0), torch.angle(torch.tensor([1.0, -2.0, -0.0]))
    at = np.array([float(Fraction(-3) + i * Fraction(5, 16)) for i in range(17)])
    assert same_bits(made, rm.pow(F8(3), at).astype(F4))
    assert turned.tolist() == [0, float(F4(math.pi)), 0]


def test_draws():
    """The steps, and where halves of the numbers lie."""

    def key():
        return int(torch.empty((), dtype=torch.int64).random_())

    n = 20000
    with rt.reproducible():
        torch.manual_seed(3)
        waits, spread, grown = (
            torch.empty(n).geometric_(0.3),
            torch.empty(n).cauchy_(0.5, 2),
            torch.empty(n).log_normal_(1, 0.5),
        )
        for call in (lambda x: x.geometric_(1.5), lambda x: x.cauchy_(0, -1), lambda x: x.log_normal_(0, -1)):
            with pytest.raises(RuntimeError):
                call(torch.empty(3))
    torch.manual_seed(3)
    u = np.asarray(rm.random.uniform(key(), n))
    assert same_bits(waits, np.maximum(np.ceil(rm.divide(rm.log1p(-u), rm.log1p(F8(-0.3)))), 1).astype(F4))
    u = np.asarray(rm.random.uniform(key(), n))
    assert same_bits(spread, rm.fma(rm.tan(rm.multiply(u - 0.5, np.pi)), F8(2), F8(0.5)).astype(F4))
    assert same_bits(grown, rm.exp(np.asarray(rm.random.normal(key(), n, 1.0, 0.5, dtype=F4))))
    for drawn, middle in ((spread, 0.5), (grown, math.e)):
        assert abs(int((drawn < middle).sum()) - n / 2) < 5 * math.sqrt(n) / 2
    assert abs(float(waits.mean()) - 1 / 0.3) < 5 * math.sqrt(0.7) / 0.3 / math.sqrt(n) and waits.min() == 1


# losses


def coarse(*shape, seed=1):
    """Multiples of 1/64, of which steps in binary64 are exact."""
    return (numbers(*shape, seed=seed, low=-2, high=2) * 64).round().div(64).float()


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_multi_margin_loss(reduction, p):
    x, target, weight = coarse(5, 7).requires_grad_(), torch.tensor([0, 6, 3, 3, 1]), coarse(7, seed=2).abs()
    a, w = exact(x), exact(weight)
    with rt.reproducible():
        loss = T.multi_margin_loss(x, target, p, 1.5, weight, reduction=reduction)
        g = coarse(5, seed=3) if reduction == "none" else torch.tensor(0.75)
        loss.backward(g)
    received = [Fraction(float(v)) for v in g.expand(5)]
    terms, slopes = np.full((5, 7), Fraction(0)), np.full((5, 7), Fraction(0))
    for i, t in enumerate(target.tolist()):
        for j in range(7):
            room = Fraction(3, 2) - a[i, t] + a[i, j]
            if j != t and room > 0:
                terms[i, j] = w[t] * room**p
                slopes[i, j] = w[t] * (2 * room if p == 2 else 1) * received[i]
        slopes[i, t] = -slopes[i].sum()
    wanted = {"none": terms.sum(1) / 7, "mean": terms.sum() / 35, "sum": terms.sum() / 7}[reduction]
    assert rounds_to(loss, wanted)
    assert rounds_to(x.grad, slopes / (35 if reduction == "mean" else 7))


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_multilabel_margin_loss(reduction):
    x, target = coarse(3, 4).requires_grad_(), torch.tensor([[2, 0, -1, 1], [3, -1, -1, -1], [-1, 0, 0, 0]])
    a, lists = exact(x), [[2, 0], [3], []]
    with rt.reproducible():
        loss = T.multilabel_margin_loss(x, target, reduction=reduction)
        loss.backward(torch.ones_like(loss))
    sums, counts = [], np.full((3, 4), Fraction(0))
    for i, labels in enumerate(lists):
        sums.append(Fraction(0))
        for t in labels:
            for j in set(range(4)) - set(labels):
                room = 1 - a[i, t] + a[i, j]
                if room > 0:
                    sums[-1] += room
                    counts[i, j] += 1
                    counts[i, t] -= 1
    wanted = {"none": np.array(sums) / 4, "mean": sum(sums) / 12, "sum": sum(sums) / 4}[reduction]
    assert rounds_to(loss, wanted) and rounds_to(x.grad, counts / (12 if reduction == "mean" else 4))


def test_soft_margin_loss():
    x, y = (
        numbers(40, low=-3, high=3, dtype=torch.float32).requires_grad_(),
        (numbers(40, seed=2, low=-1, high=1) > 0) * 2.0 - 1,
    )
    with rt.reproducible():
        loss = T.soft_margin_loss(x, y.float())
        loss.backward()
    a, b = x.detach().numpy().astype(F8), y.numpy().astype(F8)
    assert same_bits(loss, rm.mean(rm.softplus(-a * b), dtype=F4))
    assert same_bits(x.grad, rm.divide(rm.multiply(-b, rm.sigmoid(-a * b)), F8(40)).astype(F4))


# distances


def test_distances():
    x, y = numbers(9, 5, dtype=torch.float32), numbers(7, 5, seed=2, dtype=torch.float32)
    apart = x.numpy().astype(F8)[:, None] - y.numpy().astype(F8)  # exact
    with rt.reproducible():
        for mode in ("use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"):
            assert same_bits(torch.cdist(x, y, compute_mode=mode), rm.norm(apart, axis=2, dtype=F4))
        assert same_bits(torch.cdist(x, y, 1.0), rm.sum(abs(apart), axis=2, dtype=F4))
        assert same_bits(torch.cdist(x, y, math.inf), abs(apart).max(2).astype(F4))
        first, second = torch.triu_indices(9, 9, 1)
        for p in (0.0, 1.0, 2.0, 3.0, math.inf):
            assert same_bits(T.pdist(x, p), torch.cdist(x, x, p)[first, second])
        stack = x.expand(3, 9, 5)
        assert same_bits(torch.cdist(stack, y)[1], torch.cdist(x, y))
    assert torch.isfinite(torch.cdist(x, y)).all()


def test_distances_between_infinities():
    """By products: an infinity beside the same one differs by NaN, beside anything else by an infinity."""
    x, y = numbers(40, 5, dtype=torch.float32), numbers(30, 5, seed=2, dtype=torch.float32)
    for k, v in enumerate((math.inf, -math.inf, math.nan)):
        x[k::7, k], y[k::5, k], y[k::6, 4 - k], x[5 + k, :2] = v, v, v, math.inf
    with np.errstate(all="ignore"):
        want = rm.norm(x.numpy().astype(F8)[:, None] - y.numpy().astype(F8), axis=2, dtype=F4)
    assert np.isnan(want).any() and np.isinf(want).any() and np.isfinite(want).any()
    assert same_bits(distances._euclidean(x, y), want)


def near_rows(dtype, seed):
    """Rows of which some are equal, some differ in the last places, and some hold what is large, tiny or not finite."""
    x = numbers(3, 40, 6, seed=seed, dtype=dtype)
    y = torch.nextafter(x[:, :30], torch.full_like(x[:, :30], math.inf))
    limits, small = (
        torch.finfo(dtype),
        numbers(3, 40, 6, seed=seed + 1, low=0, high=4).to(dtype) * torch.finfo(dtype).smallest_normal,
    )
    y[:, 3], y[:, 4, 2], y[:, 5], x[:, 7] = x[:, 3], math.nan, small[:, 5], small[:, 7]
    x[:, 8, :2], y[0, 9], y[1, 10, 3] = limits.max, limits.max / 2, -math.inf
    x[:, 11], y[:, 11] = torch.arange(6).to(dtype), 0
    return x, y


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_distances_by_products(dtype, monkeypatch):
    """They are those of the differences, also where few places of the squares are left; without a bound they are not."""
    x, y = near_rows(dtype, 5)
    with rt.reproducible():
        for a, b in ((x, y), (x[0], y[1]), (x[:1], y), (x[0, :1], y[2])):
            wanted = torch.cat([distances._norm(d, 2.0, dtype) for _, d in distances._blocks(a, b)], -2)
            made = distances._euclidean(a, b)
            assert made is not None and same_bits(made, wanted)
            assert same_bits(torch.cdist(a, b), wanted)
        if dtype is torch.float32:  # the others have not the places to come so near
            x = torch.randn(20, 33, generator=torch.Generator().manual_seed(3))
            y = x + 2.0**-16 * torch.randn(20, 33, generator=torch.Generator().manual_seed(4))
            wanted = torch.cdist(x, y)
            monkeypatch.setattr(distances, "_UNIT", 0.0)
            with unprepared(torch.ops.aten._cdist_forward.default, torch.ops.aten._euclidean_dist.default):
                assert not same_bits(torch.cdist(x, y), wanted)


def test_blocks_of_distances(monkeypatch):
    x, y = (numbers(40, 6, seed=s, dtype=torch.float32).requires_grad_() for s in (1, 2))

    def run():
        with rt.reproducible():
            made = torch.cdist(x, y)
            return made.detach(), *torch.autograd.grad(made, (x, y), torch.ones_like(made))

    whole = run()
    monkeypatch.setattr(distances, "_AT_ONCE", 700)
    assert all(same_bits(a, b) for a, b in zip(run(), whole, strict=True))


def test_rows_held_to_a_norm():
    x, ids = numbers(6, 5, low=-1, high=1, dtype=torch.float32), torch.tensor([[1, 4], [1, 2]])
    a = x.numpy().astype(F8)
    norms = rm.norm(a, axis=1)
    held = rm.multiply(a, rm.divide(F8(1.3), rm.add(norms, F8(1e-7)))[:, None]).astype(F4)
    assert (norms > 1.3).any() and not (norms > 1.3).all()
    table = x.clone()
    with rt.reproducible():
        made = torch.renorm(x, 2, 0, 1.3)
        rows = T.embedding(ids, table, max_norm=1.3)
    assert same_bits(made, np.where(norms[:, None] > 1.3, held, x.numpy()))
    assert (
        same_bits(rows, made[ids])
        and same_bits(table[[1, 2, 4]], made[[1, 2, 4]])
        and same_bits(table[[0, 3, 5]], x[[0, 3, 5]])
    )


# bags and products of three


@pytest.mark.parametrize("mode", ["sum", "mean", "max", "weighted"])
def test_bags(mode):
    """Rational sums, forwards and backwards; a bag without rows; a place that counts for nothing; any order."""
    table = numbers(6, 3, low=-1, high=1, dtype=torch.float32).requires_grad_()
    ids, offsets = torch.tensor([1, 4, 4, 2, 5, 0, 1, 1, 2, 3]), torch.tensor([0, 3, 3, 8])
    weights = numbers(10, seed=3, dtype=torch.float32).requires_grad_() if mode == "weighted" else None
    bags = [[0, 1, 2], [], [3, 5, 6, 7], [8, 9]]  # 4 is the place of the row 5, the padding
    options = {"mode": "sum" if mode == "weighted" else mode, "per_sample_weights": weights, "padding_idx": 5}
    g = numbers(4, 3, seed=4, low=-1, high=1, dtype=torch.float32)
    with rt.reproducible():
        made = T.embedding_bag(ids, table, offsets, **options)
        made.backward(g)
        with torch.no_grad():
            assert same_bits(T.embedding_bag(ids, table, offsets, **options), made)
            assert same_bits(
                T.embedding_bag(ids, table, torch.cat((offsets, torch.tensor([10]))), include_last_offset=True, **options),
                made,
            )
    rows, received, w = exact(table), exact(g), [Fraction(1)] * 10 if weights is None else list(exact(weights))
    sums, slopes, of_weights = np.full((4, 3), Fraction(0)), np.full((6, 3), Fraction(0)), [Fraction(0)] * 10
    for b, places in enumerate(bags):
        for e in places:
            row, share = int(ids[e]), w[e] / (len(places) if mode == "mean" else 1)
            sums[b] += rows[row] * share
            slopes[row] += np.array([Fraction(float(v / len(places))) if mode == "mean" else v * share for v in received[b]])
            of_weights[e] = (received[b] * rows[row]).sum()
        if mode == "max" and places:
            sums[b] = np.max(rows[ids[places]], 0)
    if mode == "max":
        slopes[:] = Fraction(0)
        for b, places in enumerate(bags):
            for d in range(3):
                if places:
                    slopes[max((int(ids[e]) for e in places), key=lambda r: rows[r, d]), d] += received[b, d]
    assert rounds_to(made, sums) and rounds_to(table.grad, slopes)
    assert weights is None or rounds_to(weights.grad, of_weights)


def test_bilinear_layer():
    """One rounding of the sum of products of three, and each gradient likewise."""
    x, y = numbers(4, 3, low=-1, high=1, dtype=torch.float32), numbers(4, 5, seed=2, low=-1, high=1, dtype=torch.float32)
    w, g = (
        numbers(2, 3, 5, seed=3, low=-1, high=1, dtype=torch.float32),
        numbers(4, 2, seed=4, low=-1, high=1, dtype=torch.float32),
    )
    leaves = [t.requires_grad_() for t in (x, w, y)]
    with rt.reproducible():
        made = T.bilinear(x, y, w)
        found = torch.autograd.grad(made, leaves, g)
    a, b, c, r = (exact(t) for t in (x, w, y, g))
    wanted = [[sum(a[n, i] * b[o, i, j] * c[n, j] for i in range(3) for j in range(5)) for o in range(2)] for n in range(4)]
    assert rounds_to(made, wanted)
    of_x = [[sum(r[n, o] * b[o, i, j] * c[n, j] for o in range(2) for j in range(5)) for i in range(3)] for n in range(4)]
    of_w = [[[sum(r[n, o] * a[n, i] * c[n, j] for n in range(4)) for j in range(5)] for i in range(3)] for o in range(2)]
    of_y = [[sum(r[n, o] * b[o, i, j] * a[n, i] for o in range(2) for i in range(3)) for j in range(5)] for n in range(4)]
    assert all(rounds_to(*pair) for pair in zip(found, (of_x, of_w, of_y), strict=True))


# weights of a direction and a length; slopes that are drawn


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_weight_norm(dim):
    v, r = (numbers(4, 3, 5, seed=s, low=-1, high=1, dtype=torch.float32) for s in (1, 2))
    shape = [n if d == dim else 1 for d, n in enumerate(v.shape)]
    g = numbers(*shape, seed=3, dtype=torch.float32)
    v.requires_grad_()
    g.requires_grad_()
    with rt.reproducible():
        made, norms = torch.ops.aten._weight_norm_interface(v, g, dim)
        by_v, by_g = torch.autograd.grad(made, (v, g), r)
    axes = tuple(d for d in range(3) if d != dim)
    a, b, c = (t.detach().numpy().astype(F8) for t in (v, g, r))
    norm = rm.norm(a, axis=axes).reshape(shape)
    assert same_bits(norms, norm.astype(F4)) and same_bits(made, rm.divide(rm.multiply(a, b), norm).astype(F4))
    whole = rm.divide(rm.sum(a * c, axis=axes).reshape(shape), norm)  # products of float32 are exact
    rest = rm.subtract(c, rm.multiply(a, rm.divide(whole, norm)))
    assert same_bits(by_g, whole.astype(F4)) and same_bits(by_v, rm.divide(rm.multiply(rest, b), norm).astype(F4))
    wide = [t.detach().double().requires_grad_() for t in (v, g)]
    plain = torch._weight_norm(*wide, dim)
    for ours, theirs in zip((made, by_v, by_g), (plain, *torch.autograd.grad(plain, wide, r.double())), strict=True):
        torch.testing.assert_close(ours, theirs.float(), rtol=1e-6, atol=1e-7)


def test_layers_with_weight_norm_train_strictly():
    for wrap in (torch.nn.utils.parametrizations.weight_norm, torch.nn.utils.weight_norm):
        layer = wrap(torch.nn.Conv1d(2, 3, 3))
        with rt.reproducible():
            layer(numbers(1, 2, 5, dtype=torch.float32)).sum().backward()
        assert all(p.grad is not None for p in layer.parameters())


def test_slopes_that_are_drawn():
    x = numbers(500, low=-1, high=1, dtype=torch.float32).requires_grad_()
    with rt.reproducible():
        torch.manual_seed(4)
        made = T.rrelu(x, 0.1, 0.3, training=True)
        made.sum().backward()
        torch.manual_seed(4)
        assert same_bits(T.rrelu(x.detach().clone(), 0.1, 0.3, training=True, inplace=True), made)
        still = T.rrelu(x, 0.1, 0.3)
        assert same_bits(still, T.leaky_relu(x, 0.2))
        with pytest.raises(RuntimeError):
            T.rrelu(x, 0.3, 0.1)
    torch.manual_seed(4)
    key = int(torch.empty((), dtype=torch.int64).random_())
    drawn = np.asarray(rm.random.uniform(key, 500, 0.1, 0.3, dtype=F4))
    slopes = np.where(x.detach().numpy() <= 0, drawn, F4(1))
    assert same_bits(made, rm.multiply(x.detach().numpy(), slopes)) and same_bits(x.grad, slopes)


def test_whether_numbers_are_close():
    """|x - y| <= atol + rtol |y|: with a limit of the format, its neighbour, infinities and NaN."""
    inf, nan, step = float("inf"), float("nan"), 2.0**-10
    for x, y, rtol, atol, equal_nan, want in (
        (1 + step, 1.0, step, 0.0, False, True),
        (1 + step + 2**-23, 1.0, step, 0.0, False, False),
        (1.0, 1 + step, step, 0.0, False, True),
        (1.0, 1 + step, 0.0, step, False, True),
        (1.0, 1 + step + 2**-23, 0.0, step, False, False),
        (inf, inf, 0.0, 0.0, False, True),
        (inf, -inf, 1.0, 1.0, False, False),
        (1.0, inf, 1.0, 0.0, False, False),
        (nan, nan, 1.0, 1.0, False, False),
        (nan, nan, 0.0, 0.0, True, True),
        (nan, 1.0, 1.0, 1.0, True, False),
    ):
        with rt.reproducible():
            found = torch.allclose(torch.tensor([0.0, x]), torch.tensor([0.0, y]), rtol, atol, equal_nan)
        assert found is want, (x, y, rtol, atol, equal_nan)
