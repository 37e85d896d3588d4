"""Reductions of lines, places and segments under reproducible(): forms that PyTorch's samples do not have, and moves that are hashed."""

import bisect
import math
from fractions import Fraction

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from exact_oracle import bits, round_rational  # noqa: E402
from prepared_calls import checked, tensor, turned  # noqa: E402

import repmath.torch as rt  # noqa: E402
from repmath.torch._tensors import as_array  # noqa: E402

aten = torch.ops.aten
FORMAT = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64"}


def numbers(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def codes(t):
    return [int(v) for v in bits(as_array(t.contiguous())).reshape(-1)]


@pytest.mark.parametrize("dtype", FORMAT, ids=str)
def test_products_of_places(dtype):
    """However far partial products leave the range; in any order of the index; with what was there and without."""
    n = 60
    x, src = numbers(7).to(dtype), numbers(n, seed=2).to(dtype)
    src[:20] *= 2.0**7
    src[20:40] *= 2.0**-7
    index = torch.randint(0, 5, (n,), generator=torch.Generator().manual_seed(3))
    order = torch.randperm(n, generator=torch.Generator().manual_seed(4))
    for include in (True, False):
        want = []
        for i in range(7):
            factors = [Fraction(v) for v, j in zip(src.tolist(), index.tolist(), strict=True) if j == i]
            if include or not factors:
                factors.append(Fraction(float(x[i])))
            want.append(round_rational(math.prod(factors), FORMAT[dtype]))
        with rt.reproducible():
            made = x.scatter_reduce(0, index, src, "prod", include_self=include)
            assert codes(made) == want
            assert codes(x.scatter_reduce(0, index[order], src[order], "prod", include_self=include)) == want
            lines = x.index_reduce(0, index, src, "prod", include_self=include)
            assert codes(lines) == want
            into = x.clone()
            into.index_reduce_(0, index, src, "prod", include_self=include)
            assert codes(into) == want


def test_means_of_lines():
    """The exact mean, rounded once: not that of the rounded sum."""
    x, src = numbers(3, 4, 2).half(), numbers(3, 40, 2, seed=2).half()
    index = torch.randint(0, 4, (40,), generator=torch.Generator().manual_seed(3))
    differ = 0
    with rt.reproducible():
        made = x.index_reduce(1, index, src, "mean")
        sums = x.index_add(1, index, src)
    for a in range(3):
        for i in range(4):
            for b in range(2):
                terms = [Fraction(float(src[a, j, b])) for j in range(40) if index[j] == i] + [Fraction(float(x[a, i, b]))]
                exact = sum(terms) / len(terms)
                assert codes(made[a, i, b]) == [round_rational(exact, "f16")]
                differ += round_rational(Fraction(float(sums[a, i, b])) / len(terms), "f16") != round_rational(exact, "f16")
    assert differ
    with rt.reproducible():
        for bad in (torch.tensor([4]), torch.tensor([-1])):
            with pytest.raises((IndexError, RuntimeError)):
                x.index_reduce(1, bad, src[:, :1], "prod")
        whole = torch.tensor([3, 4]).index_reduce(0, torch.tensor([0]), torch.tensor([4]), "mean")
        assert whole.tolist() == [3, 4]  # integers are PyTorch's own
        one = torch.tensor(3.0).index_reduce(0, torch.tensor([0]), torch.tensor(5.0), "prod")
        assert one == 15 and one.ndim == 0


@pytest.mark.parametrize("kind", ["sum", "mean", "prod", "max", "min"])
def test_segments(kind):
    """With a number before each; of none; the gradient of a product with zeros."""
    data = numbers(2, 9, 3).float()
    data[0, 2, 1] = 0.0
    lengths = torch.tensor([[4, 0, 5], [1, 8, 0]])
    for initial in (None, 0.5):
        leaf = data.clone().requires_grad_()
        with rt.reproducible():
            made = torch.segment_reduce(leaf, kind, lengths=lengths, axis=1, initial=initial)
            (gradient,) = torch.autograd.grad(made[:, [0, 1]].sum() if kind == "mean" else made.sum(), leaf)
        for a in range(2):
            at = 0
            for s in range(3):
                n = int(lengths[a, s])
                for b in range(3):
                    terms = [Fraction(float(v)) for v in data[a, at : at + n, b]]
                    given = terms if initial is None else [Fraction(initial), *terms]
                    found = made[a, s, b].item()
                    if not given:
                        empty = {"sum": 0.0, "prod": 1.0, "max": -math.inf, "min": math.inf}.get(kind)
                        assert found == empty if kind != "mean" else math.isnan(found)
                        continue
                    value = {"max": max, "min": min, "prod": math.prod}.get(kind, sum)(given)
                    value = value / max(n, 1) if kind == "mean" else value
                    assert made[a, s, b] == 0 if value == 0 else codes(made[a, s, b]) == [round_rational(value, "f32")]
                    if kind == "prod":
                        for j in range(n):
                            others = [v for i, v in enumerate(terms) if i != j] + (
                                [] if initial is None else [Fraction(initial)]
                            )
                            exact = math.prod(others)
                            assert (
                                gradient[a, at + j, b] == 0
                                if exact == 0
                                else codes(gradient[a, at + j, b]) == [round_rational(exact, "f32")]
                            )
                at += n
    with rt.reproducible(), pytest.raises(rt.UncoveredOperatorError, match="initial"):
        torch.segment_reduce(data, kind, lengths=lengths, axis=1, initial=0.1)


def segments(dtype):
    """Calls with segments of several lengths, some empty, and whether a prepared call takes them; None where this depends on the numbers."""
    forward, backward = aten.segment_reduce.default, aten._segment_reduce_backward.default
    for data, axis, lengths in (
        (tensor(dtype, 9, 3), 0, torch.tensor([4, 0, 3, 1])),
        (tensor(dtype, 2, 9, 3, special=True), 1, torch.tensor([[4, 0, 5], [1, 6, 1]])),
        (tensor(dtype, 2, 9, special=True), 1, torch.tensor([[9], [2]])),
        (tensor(dtype, 9, 5) * 0, 0, torch.tensor([2, 7])),
        (turned(tensor(dtype, 9, 3)).round(), 0, torch.tensor([1] * 9)),
        (tensor(dtype, 70, 1), 0, torch.tensor([3, 66])),
    ):
        offsets = torch.cat((lengths[..., :1] * 0, lengths.cumsum(-1)), -1)
        sure = None if data.shape[0] == 70 else True  # many factors, or a long gradient of a product
        for kind in ("sum", "mean", "max", "min", "prod"):
            quick = None if kind == "prod" else sure
            for given in ({"lengths": lengths}, {"offsets": offsets}):
                options = {**given, "axis": axis}
                yield quick, forward, (data, kind), {**options, "unsafe": False}
                yield dtype is torch.float64 and kind != "mean" and quick, forward, (data, kind), {**options, "initial": 0.1}
                for initial in (0.5, None, -2):
                    options["initial"] = initial
                    yield False if kind == "mean" and initial is not None else quick, forward, (data, kind), dict(options)
                    with rt.reproducible():
                        made = forward(data, kind, **options)
                    g = tensor(dtype, *made.shape, seed=3, special=True)
                    yield quick, backward, (g, made, data, kind), dict(options)
                    yield quick, backward, (turned(g), made, data, kind), dict(options)
            yield False, forward, (data, kind), {"lengths": lengths + 9, "axis": axis}
            yield False, forward, (data, kind), {"lengths": lengths.int(), "axis": axis}
            yield False, forward, (data, kind), {"lengths": lengths, "offsets": offsets, "axis": axis}


@pytest.mark.parametrize("dtype", FORMAT, ids=str)
def test_prepared_segments(dtype, general):
    checked(segments(dtype), general)


def test_divisors_below_zero():
    x = numbers(1, 1, 6, 6).float()
    for pool, view, size in ((torch.nn.functional.avg_pool2d, x, 3), (torch.nn.functional.avg_pool3d, x[None], (1, 3, 3))):
        leaf = view.clone().requires_grad_()
        with rt.reproducible():
            made = pool(leaf, size, stride=1, divisor_override=-7)
            other = pool(view, size, stride=1, divisor_override=7)
            (gradient,) = torch.autograd.grad(made.sum(), leaf)
            with pytest.raises(RuntimeError):
                pool(view, size, divisor_override=0)
        assert torch.equal(made, -other) and bool((gradient < 0).all())


LEAST = {torch.float16: -24, torch.bfloat16: -133, torch.float32: -149, torch.float64: -1074}


@pytest.mark.parametrize("dtype", LEAST, ids=str)
def test_zeros_over_divisors_below_zero(dtype):
    """A sum of 0 is +0 over them, too; what rounds to 0 keeps its sign."""
    least = math.ldexp(1.0, LEAST[dtype])
    x = torch.tensor([[[[0.0, -0.0, 1.0, -1.0, least, -least, 0.0, 0.0]]]], dtype=torch.float64).to(dtype).requires_grad_()
    with rt.reproducible():
        made = torch.nn.functional.avg_pool2d(x, (1, 2), divisor_override=-7)
        (gradient,) = torch.autograd.grad(
            made, x, torch.tensor([[[[0.0, -0.0, least, -least]]]], dtype=torch.float64).to(dtype)
        )
        one = torch.nn.functional.avg_pool2d(x, 1, divisor_override=-7)
    assert not made.any() and not torch.signbit(made).any()
    assert torch.signbit(one).flatten().tolist() == [False, False, True, False, True, False, False, False]
    assert not gradient.any() and torch.signbit(gradient).flatten().tolist() == [False] * 4 + [True] * 2 + [False] * 2


def test_boxes():
    """Points on edges are in the box behind, on the last edge in the last one; weights are added exactly; ranges of one number."""
    x = torch.tensor([[0.0, 0.0], [0.5, 1.0], [1.0, 1.0], [1.0, 0.3], [-1.0, 0.5], [0.2, math.nan]], dtype=torch.float64)
    edges = [torch.tensor([0.0, 0.5, 1.0], dtype=torch.float64), torch.tensor([0.0, 0.3, 1.0], dtype=torch.float64)]
    weights = torch.tensor([1.0, 1.0, 2.0**60, -(2.0**60), 5.0, 7.0], dtype=torch.float64)
    with rt.reproducible():
        count, same = torch.histogramdd(x, edges)
        weighed, _ = torch.histogramdd(x, edges, weight=weights)
        _, placed = torch.histogramdd(torch.ones(3, 2), [2, 3])
        flat = torch.histogram(torch.ones(3), 2)
    assert count.tolist() == [[1.0, 0.0], [0.0, 3.0]] and all(torch.equal(a, b) for a, b in zip(same, edges, strict=True))
    assert weighed.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert placed[0].tolist() == [0.5, 1.0, 1.5] and flat.bin_edges.tolist() == [0.5, 1.0, 1.5]


def test_boxes_that_are_not_in_order():
    """The answers of bisection: Python's, and PyTorch's own counts."""
    g = torch.Generator().manual_seed(3)
    x = torch.randn(300, generator=g, dtype=torch.float64)
    found = 0
    for n in (2, 3, 4, 7, 12):
        edges = torch.randn(n, generator=g, dtype=torch.float64)
        edges[-1] = edges[0] + 2
        e, want = edges.tolist(), [0.0] * (n - 1)
        for v in x.tolist():
            if e[0] <= v <= e[-1]:
                want[min(bisect.bisect_right(e, v) - 1, n - 2)] += 1
        own = torch.histogram(x, edges).hist.tolist(), torch.histogramdd(x[:, None], [edges]).hist.tolist()
        with rt.reproducible():
            assert own == (torch.histogram(x, edges).hist.tolist(), torch.histogramdd(x[:, None], [edges]).hist.tolist())
        assert own[0] == want
        found += want != np.histogram(x.numpy(), np.sort(edges.numpy()))[0].tolist()
    assert found >= 3  # the control: sorted edges are others


def test_half_complex():
    """Each part is rounded once, from binary64 too."""
    v = 1 + 2.0**-11 + 2.0**-30
    with rt.reproducible():
        made = torch.complex(torch.tensor([v], dtype=torch.float64), torch.tensor([-v], dtype=torch.float64)).to(
            torch.complex32
        )
        parts = torch.view_as_real(made)
        assert codes(parts) == [round_rational(Fraction(s * v), "f16") for s in (1, -1)]
        back = made.to(torch.complex64)
        assert torch.view_as_real(back).tolist() == parts.tolist()
        assert torch.view_as_real(torch.tensor([v], dtype=torch.float64).chalf())[0].tolist() == [1 + 2.0**-10, 0.0]


def test_hashes():
    """The exclusive or of the bits of each number in binary64."""
    x = numbers(5, 3).half()
    with rt.reproducible():
        made = torch.hash_tensor(x).view(torch.int64).item()
        rows = torch.hash_tensor(x, 0).view(torch.int64).tolist()
    wide = x.double().view(torch.int64).tolist()
    each = [0, 0, 0]
    for row in wide:
        each = [a ^ b for a, b in zip(each, row, strict=True)]
    assert each == rows and made == each[0] ^ each[1] ^ each[2]


@pytest.mark.parametrize("dtype", FORMAT, ids=str)
def test_segments_of_any_length(dtype):
    """Together and one by one, empty ones among them, along any axis; NaN, ties and infinities have parts of a gradient."""
    lengths = [0, 3, 1, 0, 5, 2, 40]
    x = numbers(2, sum(lengths), 3).to(dtype)
    x[0, 5] = math.nan
    x[1, 1:3] = x[1, 0]
    x[1, 12:15, 0] = math.inf
    g = numbers(2, len(lengths), 3, seed=7).to(dtype)
    given = torch.tensor([lengths, lengths[::-1]])
    function = torch.ops.aten.segment_reduce.default
    for name, empty in (("max", -math.inf), ("min", math.inf), ("prod", 1.0), ("sum", 0.0)):
        for initial in (None, 2.0):
            with rt.reproducible():
                made = function(x, name, lengths=given, axis=1, initial=initial)
                slope = torch.ops.aten._segment_reduce_backward.default(
                    g, made, x, name, lengths=given, axis=1, initial=initial
                )
                assert slope.shape == x.shape
                for i in range(2):
                    start = 0
                    for k, n in enumerate(given[i].tolist()):
                        part, start = x[i, start : start + n], start + n
                        want = torch.full((3,), empty if initial is None else initial, dtype=dtype)
                        if n or initial is not None:
                            terms = part if initial is None else torch.cat((want[None], part))
                            want = {"max": terms.amax, "min": terms.amin, "prod": terms.prod, "sum": terms.sum}[name](0)
                        assert torch.equal(made[i, k].isnan(), want.isnan())
                        assert codes(made[i, k].nan_to_num()) == codes(want.nan_to_num()), (name, initial, i, k)
                        if name in ("max", "min") and n:
                            chosen = (part == made[i, k]) | part.isnan()
                            share = g[i, k] / chosen.sum(0).clamp(min=1).to(dtype)
                            assert codes(slope[i, start - n : start]) == codes(torch.where(chosen, share, 0.0))
                        elif name == "sum":
                            assert codes(slope[i, start - n : start]) == codes(g[i, k].expand(n, 3))
