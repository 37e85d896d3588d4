"""Images in another size and at places of a grid, under reproducible(): exact weights, and sums rounded once, by rational numbers."""

import itertools
from fractions import Fraction

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import numpy as np  # noqa: E402
from exact_oracle import bits, round_rational  # noqa: E402
from prepared_calls import unprepared  # noqa: E402
from torch_cases import numbers  # noqa: E402

import repmath.torch as rt  # noqa: E402

T = torch.nn.functional
HALF, ONE = Fraction(1, 2), Fraction(1)


def exact(t):
    return np.vectorize(lambda v: Fraction(float(v)), otypes=[object])(t.detach().numpy())


def float32(wanted):
    wanted = np.asarray(wanted, dtype=object)
    return np.array([round_rational(v, "f32") for v in wanted.reshape(-1)], np.uint32).view(np.float32).reshape(wanted.shape)


def same(made, wanted):
    made = made.detach().numpy()
    assert made.shape == np.shape(wanted)
    return bits(made.reshape(-1)).tolist() == bits(np.ascontiguousarray(wanted).reshape(-1)).tolist()


def tent(x):
    return max(Fraction(0), 1 - abs(x))


def keys(x, a):
    """The cubic of Keys' paper, whose slope at 1 is a."""
    x = abs(x)
    if x <= 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else Fraction(0)


def cubic_weights(n, m, align_corners, antialias):
    rows = []
    for i in range(m):
        step = Fraction(n - 1, m - 1) if align_corners else Fraction(n, m)
        at = i * step if align_corners else (i + HALF) * step - HALF
        row = [Fraction(0)] * n
        if antialias:
            wider = max(step, ONE)
            row = [keys((k - at) / wider, -HALF) for k in range(n)]
            row = [w / sum(row) for w in row]
        else:
            for k in range(-3, n + 3):
                row[min(max(k, 0), n - 1)] += keys(at - k, Fraction(-3, 4))
        rows.append([Fraction(float(np.float32(float(w)))) for w in row])
    return rows


def along(a, table):
    """Weighted sums of the last axis."""
    return float32(np.stack([sum(w * exact_of(a)[..., k] for k, w in enumerate(row)) for row in table], -1))


def exact_of(a):
    return np.vectorize(lambda v: Fraction(float(v)), otypes=[object])(a)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_infinities_show_where_they_are_taken(dtype):
    x = numbers(1, 1, 5, 70, dtype=dtype)
    x[0, 0, 2, 33] = float("inf")
    with rt.reproducible():
        made = T.interpolate(x, scale_factor=2, mode="bilinear")
    taken = torch.zeros(10, 140, dtype=torch.bool)
    taken[3:7, 65:69] = True
    assert (made[0, 0].isinf() == taken).all() and made[0, 0][~taken].isfinite().all()


@pytest.mark.parametrize("antialias, align_corners", [(False, False), (False, True), (True, False)])
@pytest.mark.parametrize("size", [(3, 9), (7, 2)])
def test_cubic_interpolation(size, antialias, align_corners):
    x, g = numbers(1, 2, 5, 6, low=-1, high=1, dtype=torch.float32), numbers(1, 2, *size, seed=2, dtype=torch.float32)
    x.requires_grad_()
    options = {"size": size, "mode": "bicubic", "antialias": antialias, "align_corners": align_corners}
    with rt.reproducible():
        made = T.interpolate(x, **options)
        made.backward(g)
    down, across = (cubic_weights(n, m, align_corners, antialias) for n, m in zip((5, 6), size, strict=True))
    assert same(made, along(along(x.detach().numpy(), across).swapaxes(2, 3), down).swapaxes(2, 3))
    back = along(g.numpy().swapaxes(2, 3), list(zip(*down, strict=True))).swapaxes(2, 3)
    assert same(x.grad, along(back, list(zip(*across, strict=True))))
    torch.testing.assert_close(made, T.interpolate(x.double(), **options).float())  # PyTorch's definition


@pytest.mark.parametrize("size", [(2, 3), (9, 11)])
def test_linear_interpolation_with_antialiasing(size):
    x = numbers(1, 1, 5, 7, low=-1, high=1, dtype=torch.float32)
    with rt.reproducible():
        made = T.interpolate(x, size=size, mode="bilinear", antialias=True)
    tables = []
    for n, m in zip((5, 7), size, strict=True):
        step, rows = Fraction(n, m), []
        for i in range(m):
            row = [tent((k + HALF - (i + HALF) * step) / max(step, ONE)) for k in range(n)]
            rows.append([Fraction(float(np.float32(float(w / sum(row))))) for w in row])
        tables.append(rows)
    assert same(made, along(along(x.numpy(), tables[1]).swapaxes(2, 3), tables[0]).swapaxes(2, 3))


# grid_sample, at places of which each step is exact in binary64


def brought_inside(x, n, padding, align_corners):
    """And the slope of this."""
    slope = ONE
    if padding == "reflection":
        low, high = (Fraction(0), Fraction(n - 1)) if align_corners else (-HALF, n - HALF)
        while not low <= x <= high:
            x, slope = 2 * (low if x < low else high) - x, -slope
    if padding != "zeros" and not 0 < x < n - 1:
        x, slope = min(max(x, Fraction(0)), Fraction(n - 1)), Fraction(0)
    return x, slope


def weights_of(x, n, mode, padding, align_corners):
    """Of each element of an axis for a number of the grid, and its slope."""
    at = (x + 1) / 2 * (n - 1) if align_corners else ((x + 1) * n - 1) / 2
    scale = Fraction(n - 1, 2) if align_corners else Fraction(n, 2)
    made, slopes = [Fraction(0)] * n, [Fraction(0)] * n
    if mode == "bicubic":
        a, first = Fraction(-3, 4), at.__floor__()
        for k in range(first - 1, first + 3):
            to = round(brought_inside(Fraction(k), n, padding, align_corners)[0])
            if 0 <= to < n:
                t = at - k
                inner = 3 * (a + 2) * t * abs(t) - 2 * (a + 3) * t
                outer = (3 * a * t * t - 10 * a * abs(t) + 8 * a) * (1 if t > 0 else -1)
                made[to] += keys(t, a)
                slopes[to] += scale * (inner if abs(t) < 1 or k == first + 1 and abs(t) == 1 else outer)
        return made, slopes
    at, slope = brought_inside(at, n, padding, align_corners)
    for k in range(n):
        if mode == "nearest":
            made[k] = Fraction(int(k == round(at)))
        else:
            made[k] = tent(at - k)
            slopes[k] = slope * scale * ((k == at.__floor__() + 1) - (k == at.__floor__()))
    return made, slopes


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_grid_sample_of_no_samples(mode, dtype):
    """An empty batch has an empty result and empty gradients."""
    with rt.reproducible():
        x, grid = (
            torch.zeros(0, 2, 3, 3, dtype=dtype, requires_grad=True),
            torch.zeros(0, 4, 5, 2, dtype=dtype, requires_grad=True),
        )
        made = T.grid_sample(x, grid, mode=mode, align_corners=False)
        made.sum().backward()
    assert (made.shape, x.grad.shape, grid.grad.shape) == ((0, 2, 4, 5), x.shape, grid.shape)


@pytest.mark.parametrize("align_corners", [True, False])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize(
    "mode, sizes", [("bilinear", (4, 5)), ("nearest", (4, 5)), ("bicubic", (4, 5)), ("bilinear", (3, 4, 2))]
)
def test_grid_sample(mode, sizes, padding, align_corners):
    dims, places = len(sizes), 12
    x, g = numbers(2, 3, *sizes, low=-1, high=1), numbers(2, 3, *(1,) * (dims - 1), places, seed=2, low=-1, high=1)
    x, g = ((t * 256).round().div(256).float() for t in (x, g))  # of which products with weights are exact
    grid = (numbers(2, *(1,) * (dims - 1), places, dims, seed=3, low=-2, high=2) * 16).round().div(16).float()
    x.requires_grad_()
    grid.requires_grad_()
    options = {"mode": mode, "padding_mode": padding, "align_corners": align_corners}
    with rt.reproducible():
        made = T.grid_sample(x, grid, **options)
        of_x, of_grid = torch.autograd.grad(made, (x, grid), g)
    a, at, r = exact(x), exact(grid).reshape(2, places, dims), exact(g).reshape(2, 3, places)
    wanted, by_x, by_grid = (np.full(s, Fraction(0)) for s in ((2, 3, places), a.shape, (2, places, dims)))
    for n, p in itertools.product(range(2), range(places)):
        axes = [weights_of(v, size, mode, padding, align_corners) for v, size in zip(at[n, p], sizes[::-1], strict=True)][
            ::-1
        ]
        for index in itertools.product(*map(range, sizes)):
            parts = [(w[i], s[i]) for (w, s), i in zip(axes, index, strict=True)]
            weight = np.prod([w for w, _ in parts])
            wanted[n, :, p] += weight * a[(n, slice(None), *index)]
            by_x[(n, slice(None), *index)] += weight * r[n, :, p]
            for d in range(dims):
                slope = np.prod([s if e == d else w for e, (w, s) in enumerate(parts)])
                by_grid[n, p, dims - 1 - d] += slope * (r[n, :, p] * a[(n, slice(None), *index)]).sum()
    assert same(made.reshape(2, 3, places), float32(wanted)) and same(of_x, float32(by_x))
    assert same(of_grid.reshape(2, places, dims), float32(by_grid))


def test_places_that_are_no_numbers():
    x = numbers(1, 1, 3, 3, dtype=torch.float32)
    grid = torch.tensor([[[[float("nan"), float("nan")], [float("inf"), 0.0], [1e30, 0.0]]]])
    with rt.reproducible():
        for padding, want in (
            ("zeros", [x[0, 0, 0, 0] / 4, 0, 0]),
            ("border", [x[0, 0, 0, 0], x[0, 0, 1, 2], x[0, 0, 1, 2]]),
        ):
            made = T.grid_sample(x, grid, padding_mode=padding, align_corners=False)
            assert made.flatten().tolist() == [float(v) for v in want]


def test_control_sums_of_binary32(monkeypatch):
    """Sums in the order of a loop have other bits."""
    from repmath.torch._aten import grid_sample

    x, grid = numbers(1, 5, 9, 9, dtype=torch.float32), numbers(1, 8, 8, 2, seed=2, low=-1, high=1, dtype=torch.float32)

    def run():
        with rt.reproducible():
            return T.grid_sample(x, grid, mode="bicubic", align_corners=False)

    good = run()

    def loop(format_x, fmt, x, at, weight, first, group, mean, out):
        out[...] = 0
        for t in range(at.shape[1]):
            values = np.where(at[0, t] < 0, 0, x[:, at[0, t], 0])
            out[..., 0] += values * weight[0, t].astype("f4")

    monkeypatch.setattr(grid_sample._core, "gather_sum", loop)
    with unprepared(torch.ops.aten.grid_sampler_2d.default):
        assert not same(run(), good.numpy())


@pytest.mark.parametrize("align_corners", [True, False])
@pytest.mark.parametrize("sizes", [(3, 5), (1, 4), (2, 3, 7)])
def test_affine_grid(sizes, align_corners):
    """Places rounded to binary64, one rounding of their sums. The gradient is a composition: exact sums with places of float32."""
    dims = len(sizes)
    theta = numbers(2, dims, dims + 1, low=-1, high=1, dtype=torch.float32).requires_grad_()
    with rt.reproducible():
        made = T.affine_grid(theta, (2, 1, *sizes), align_corners)
        g = numbers(*made.shape, seed=3, low=-1, high=1, dtype=torch.float32)
        made.backward(g)
        ends = [(torch.linspace(-1, 1, n) if n > 1 else torch.zeros(1)) for n in sizes[::-1]]
        ends = [e if align_corners else e * ((len(e) - 1) / len(e)) for e in ends]
    a, wanted = exact(theta), np.full(made.shape, Fraction(0))
    for index in itertools.product(*map(range, sizes)):
        place = []
        for i, n in zip(index[::-1], sizes[::-1], strict=True):
            at = Fraction(2 * i + 1, n) - 1 if not align_corners else Fraction(2 * i, n - 1) - 1 if n > 1 else Fraction(0)
            place.append(Fraction(float(at)))
        for n, d in itertools.product(range(2), range(dims)):
            wanted[(n, *index, d)] = sum(w * p for w, p in zip(a[n, d], [*place, ONE], strict=True))
    assert same(made, float32(wanted))
    received, gradient = exact(g), np.full(theta.shape, Fraction(0))
    for index in itertools.product(*map(range, sizes)):
        place = [*(Fraction(float(e[i])) for e, i in zip(ends, index[::-1], strict=True)), ONE]
        for n, d in itertools.product(range(2), range(dims)):
            gradient[n, d] += [received[(n, *index, d)] * p for p in place]
    assert same(theta.grad, float32(gradient))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("what", ["reflect", "replicate", "nearest", "unfold", "planes", "window"])
def test_gradients_of_copies_that_are_asked_for_again(what, dtype):
    """A call that comes again takes the copies of each place, the first one adds copies to places: both are the exact sums, rounded once."""
    rng = np.random.default_rng(len(what))
    x = torch.from_numpy(rng.standard_normal((2, 3, 22, 31))).to(dtype)
    f = {
        "reflect": lambda x: T.pad(x, (2, 1, 3, 2), mode="reflect"),
        "replicate": lambda x: T.pad(x, (1, 9, 1, 0), mode="replicate"),
        "nearest": lambda x: T.interpolate(x, scale_factor=2),
        "unfold": lambda x: T.unfold(x, 3, padding=1, dilation=2),
        "planes": lambda x: T.unfold(x, (1, 3), stride=(2, 1)),
        "window": lambda x: x.unfold(2, 5, 2),
    }[what]
    places = f(torch.arange(1, x.numel() + 1, dtype=torch.float64).view(x.shape)).reshape(-1).long().numpy()
    for kind in ("gaussian", "ties", "special"):
        y = f(x.requires_grad_())
        g = torch.from_numpy(rng.standard_normal(y.shape))
        if kind == "ties":
            g = g.mul(8).round() * 2.0 ** torch.from_numpy(
                rng.integers(0, 2, y.shape) * -(23 if dtype is torch.float32 else 7)
            )
        g = g.to(dtype)
        if kind == "special":
            g.view(-1)[rng.integers(0, g.numel(), 9)] = torch.tensor([torch.nan, torch.inf, -torch.inf] * 3, dtype=dtype)
        with rt.reproducible():
            made = [torch.autograd.grad(f(x), x, g)[0] for _ in range(3)]
        for again in made[1:]:
            assert same(
                again.view(torch.int16 if dtype is torch.bfloat16 else torch.int32),
                made[0].view(torch.int16 if dtype is torch.bfloat16 else torch.int32).numpy(),
            )
        if dtype is torch.float32 and kind != "special":
            sums = [Fraction(0)] * (x.numel() + 1)
            for place, v in zip(places, g.reshape(-1).tolist(), strict=True):
                sums[place] += Fraction(v)
            assert same(made[2].reshape(-1), float32(sums[1:]))
