"""Prepared calls that add or put elements into places, and that copy, have the bits of the table's functions."""

import itertools
import math
from fractions import Fraction

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from exact_oracle import round_rational  # noqa: E402
from prepared_calls import FORMATS, bits, table_alone, values  # noqa: E402

import repmath.torch as rt  # noqa: E402
from repmath.torch._aten.common import Uncovered  # noqa: E402
from repmath.torch._aten.table import FUNCTIONS  # noqa: E402

aten = torch.ops.aten


def index(shape, n, seed):
    return torch.randint(0, n, shape, generator=torch.Generator().manual_seed(seed))


def calls(dtype, seed):
    """Calls, and whether a prepared call takes them."""
    x, y = (values(dtype, 105, seed + k).view(3, 5, 7) for k in (0, 1))
    z = y.nan_to_num(1, 2, -3)
    for dim, n in ((0, 3), (1, 5), (-1, 7)):
        at = index((3, 5, 7), n, seed)
        for source in (y, z, z * 2.0**-12):
            yield True, aten.scatter_add.default, (x, dim, at, source.to(dtype)), {}
        yield True, aten.scatter_add.default, (x, dim, at[:2, :4, :6], z), {}
        yield True, aten.scatter_add.default, (x, dim, at[:, :1, :1].expand(3, 5, 7), z), {}
        yield True, aten.scatter_add.default, (x, dim, at, z.permute(2, 1, 0).contiguous().permute(2, 1, 0)), {}
        yield False, aten.scatter_add.default, (x.transpose(0, 1), dim, index((3, 3, 7), 3, seed), z), {}
        yield False, aten.scatter_add.default, (x, dim, at + 1, z), {}
        yield False, aten.scatter_add.default, (x, dim, at - 1, z), {}
        yield True, aten.scatter.reduce, (x, dim, at, z), {"reduce": "add"}
        yield False, aten.scatter.reduce, (x, dim, at, z), {"reduce": "multiply"}
        for how, with_own in itertools.product(("sum", "mean"), (True, False)):
            yield True, aten.scatter_reduce.two, (x, dim, at, z, how), {"include_self": with_own}
            yield True, aten.scatter_reduce.two, (x, dim, at[:2, :2, :2], y, how), {"include_self": with_own}
            yield None, aten.scatter_reduce.two, (x, dim, at, z, "prod"), {"include_self": with_own}
            yield None, aten.scatter_reduce.two, (x, dim, at[:2, :2, :2], y, "prod"), {"include_self": with_own}
        line = index((4,), n, seed)
        source = (
            values(dtype, 4 * 105 // n, seed).movedim(0, 0).view([4 if d == dim % 3 else k for d, k in enumerate((3, 5, 7))])
        )
        for with_own, lines in itertools.product((True, False), (source, source.nan_to_num(1, 2, -3))):
            yield True, aten.index_reduce.default, (x, dim, line, lines, "mean"), {"include_self": with_own}
            yield None, aten.index_reduce.default, (x, dim, line, lines, "prod"), {"include_self": with_own}
            yield False, aten.index_reduce.default, (x, dim, line, lines, "amax"), {"include_self": with_own}
        yield False, aten.index_reduce.default, (x, dim, line + 7, source, "mean"), {}
        for alpha in (1, -1, 1.0):
            yield True, aten.index_add.default, (x, dim, line, source), {"alpha": alpha}
        yield False, aten.index_add.default, (x, dim, line, source), {"alpha": 0.5}
        yield False, aten.index_add.default, (x, dim, line + 7, source), {}
        yield True, aten.index_add.default, (x, dim, line[::2], source.narrow(dim, 0, 2)), {}
    yield True, aten.index_add.default, (x[0, 0, 0].clone(), 0, index((), 1, 0), y[0, 0, 0].clone()), {}
    yield True, aten.scatter_add.default, (x[0, 0, 0].clone(), 0, index((), 1, 0), y[0, 0, 0].clone()), {}
    for accumulate in (True, False):
        yield True, aten.index_put.default, (x, [index((2,), 3, seed)], z[:2], accumulate), {}
        yield True, aten.index_put.default, (x, [index((6,), 3, seed) - 3], z[:1], accumulate), {}
        yield True, aten.index_put.default, (x, [index((4,), 3, seed)], z[0, 0, 0], accumulate), {}
        yield True, aten.index_put.default, (x, [index((4,), 3, seed)], z[0, :, :1], accumulate), {}
        yield (
            True,
            aten.index_put.default,
            (x, [index((3, 3), 3, seed)], z[:, None].expand(3, 3, 5, 7).contiguous(), accumulate),
            {},
        )
        yield True, aten.index_put.default, (x[0, 0], [index((3, 5), 7, seed)], z[:, :, 0].contiguous(), accumulate), {}
        yield False, aten.index_put.default, (x, [index((2,), 3, seed) + 3], z[:2], accumulate), {}
        yield False, aten.index_put.default, (x, [None, index((2,), 3, seed)], z[:, :2], accumulate), {}
        yield True, aten.put.default, (x, index((8,), 105, seed) - 50, z.view(-1)[:8], accumulate), {}
    yield False, aten.index_put.default, (x, [x[:, 0, 0] > 0], z[0, 0, 0], True), {}


def tables(dtype):
    """Gradients of tables of embeddings, and whether a prepared call takes them."""
    gradient = aten.embedding_dense_backward.default
    for shape, rows, width in (((7,), 5, 6), ((2, 3), 9, 1), ((), 3, 4), ((40,), 3, 40), ((1, 1, 2), 1, 5)):
        at, g = index(shape, rows, 4), values(dtype, int(torch.Size(shape).numel()) * width, 5).view(*shape, width)
        for source in (g, g.nan_to_num(1, 2, -3)):
            for padding in (-1, 0, rows - 1):
                yield True, gradient, (source, at, rows, padding, False)
            yield True, gradient, (torch.cat((source, source), -1)[..., ::2], at, rows, -1, False)
            yield False, gradient, (source, at.int(), rows, -1, False)
            yield False, gradient, (source, at + rows, rows, -1, False)
            yield False, gradient, (source, at, rows, -1, True)


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
def test_tables(dtype, general):
    for quick, overload, args in tables(dtype):
        del general[:]
        with rt.reproducible():
            made = outcome(overload, args, {})
        assert (overload not in general) == quick, args
        with table_alone():
            want = outcome(FUNCTIONS[overload], args, {})
        assert (made is None) == (want is None), args
        assert made is None or bits(made) == bits(want), args


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
def test_whole_rows_of_many_elements(dtype, general):
    """Beyond the size at which single places are the table's; in place and into a new tensor."""
    x, at = values(dtype, 300 * 256, 1).view(300, 256), index((40,), 300, 2)
    source = values(dtype, 40 * 256, 3).view(40, 256).nan_to_num(1, 2, -3)
    for overload, args in (
        (aten.index_add.default, (x, 0, at, source)),
        (aten.scatter_add.default, (x, 0, at[:, None].expand(40, 256), source)),
        (aten.index_put.default, (x, [at - 300], source, True)),
        (aten.index_put.default, (x, [at - 300], source)),
        (aten.index_add.default, (x.view(1, 300, 256)[0], 0, at, source.t().contiguous().t())),
    ):
        del general[:]
        with rt.reproducible():
            made = overload(*args)
        assert (overload not in general) == args[-1].is_contiguous() if isinstance(args[-1], torch.Tensor) else not general
        with table_alone():
            assert bits(made) == bits(FUNCTIONS[overload](*args))


def outcome(function, args, kwargs):
    try:
        return function(*args, **kwargs)
    except (RuntimeError, IndexError, ValueError, Uncovered, rt.UncoveredOperatorError):
        return None


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
def test_places(dtype, general):
    for seed in range(3):
        for quick, overload, args, kwargs in calls(dtype, seed):
            del general[:]
            with rt.reproducible():
                made = outcome(overload, args, kwargs)
            assert quick in (None, overload not in general), (overload, args, kwargs)
            with table_alone():
                want = outcome(FUNCTIONS[overload], args, kwargs)
            assert (made is None) == (want is None), (overload, args, kwargs)
            if want is not None:
                assert bits(made) == bits(want) and made.stride() == want.stride() and not made._is_view(), (
                    overload,
                    args,
                    kwargs,
                )
            in_place = getattr(getattr(aten, overload.overloadpacket.__name__ + "_"), overload._overloadname)
            x = args[0].clone()
            del general[:]
            with rt.reproducible():
                made = outcome(in_place, (x, *args[1:]), kwargs)
            assert quick in (None, in_place not in general) and (made is x or want is None), (overload, args, kwargs)
            assert bits(x) == bits(args[0] if want is None else want), (overload, args, kwargs)


@pytest.mark.parametrize("dtype, name", [(torch.float16, "f16"), (torch.bfloat16, "bf16"), (torch.float32, "f32")], ids=str)
def test_products(dtype, name, general):
    """Those of a few ordinary numbers are prepared. A product of eight numbers that is a midpoint of the format is the table's."""
    ordinary, place = values(dtype, 12, 1).nan_to_num(1, 2, -3).clamp(-9, 9), index((12,), 12, 1)
    ordinary[ordinary == 0] = -0.5  # a zero has the sign of its factors
    halves = torch.tensor([1 + torch.finfo(dtype).eps, 1.5] + [1.0] * 6, dtype=dtype)
    x = ordinary.flip(0).clamp(1, 2)
    for call in (aten.scatter_reduce.two, aten.index_reduce.default):
        for source, at, quick in ((ordinary, place, True), (halves, torch.full((8,), 3), False)):
            del general[:]
            with rt.reproducible():
                made = call(x.clamp(1, 1 if not quick else 2), 0, at, source, "prod")
            assert quick == (call not in general)
            for i in set(at.tolist()):
                factors = [Fraction(float(v)) for v in source[at == i]] + [Fraction(float(x[i]) if quick else 1)]
                want, found = round_rational(math.prod(factors), name), bits(made[i : i + 1])[-1][0]
                assert want == found % (1 << 8 * dtype.itemsize), (call, i)


def test_a_wrong_call_is_seen(general):
    """The control: a mean of the terms alone in place of one with the old value, and a sum without the sign."""
    x, at = values(torch.float32, 12, 1).nan_to_num(1, 2, -3), index((12,), 12, 1)
    with rt.reproducible():
        one = aten.scatter_reduce.two(x, 0, at, x, "mean", include_self=False)
        other = aten.scatter_reduce.two(x, 0, at, x, "mean")
        assert bits(one) != bits(other)
        assert bits(aten.index_add.default(x, 0, at, x)) != bits(aten.index_add.default(x, 0, at, x, alpha=-1))


def test_memory_that_meets(general):
    """Sources and indices that lie in the tensor that is written: the table decides."""
    memory = values(torch.float32, 32, 3).nan_to_num(1, 2, -3)
    for start in (0, 4, 15):
        x = memory.clone()[:16]
        source = x[start : start + 1].expand(4)
        with rt.reproducible():
            want = aten.index_add.default(x, 0, torch.arange(4), source)
            del general[:]
            x.index_add_(0, torch.arange(4), source)
        assert aten.index_add_.default in general and bits(x) == bits(want)


@pytest.mark.parametrize("dtype", [*FORMATS, torch.int64, torch.bool, torch.complex64], ids=str)
def test_copies(dtype, general):
    y = values(torch.float32, 24, 1).nan_to_num(1, 2, -3).view(4, 6).to(dtype)
    for source in (y, y[:1], y.t().contiguous().t(), y[:, ::2].repeat(1, 2), y[0, 0]):
        x = torch.zeros(4, 6, dtype=dtype)
        del general[:]
        with rt.reproducible():
            assert x.copy_(source) is x
        assert torch.equal(x, source.expand(4, 6)) and ((aten.copy_.default not in general) == (dtype is not torch.complex64))
    x = y.clone()
    with rt.reproducible():
        x.copy_(x.clone().t().contiguous().t())
        del general[:]
        x.copy_(x)
    assert aten.copy_.default in general and torch.equal(x, y)


@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize("bad", [10**9, -7])
def test_places_of_maxima_that_are_out_of_range(dims, bad):
    """PyTorch's own operator, whose words an error would be, writes there."""
    x, g = torch.ones((1, 1) + (4,) * dims), torch.ones((1, 1) + (2,) * dims)
    places = torch.full(g.shape, bad)
    two, one, none = [2] * dims, [1] * dims, [0] * dims
    backward = getattr(torch.ops.aten, f"max_pool{dims}d_with_indices_backward")
    adaptive = getattr(torch.ops.aten, f"adaptive_max_pool{dims}d_backward")
    with rt.reproducible():
        with pytest.raises(RuntimeError, match="indices"):
            backward(g, x, two, two, none, one, False, places)
        with pytest.raises(RuntimeError, match="indices"):
            adaptive(g, x, places)
