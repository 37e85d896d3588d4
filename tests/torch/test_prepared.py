"""Calls that are prepared in C have the bits of the table's functions, which take what a prepared call does not."""

import itertools
import math
import re

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from prepared_calls import FORMATS, NUMBERS, bits, by_mode, by_table, table_alone, values  # noqa: E402

import repmath.torch as rt  # noqa: E402
from repmath import _core  # noqa: E402
from repmath.torch._aten import prepared  # noqa: E402
from repmath.torch._aten.table import FUNCTIONS, OPERATORS  # noqa: E402

# Of the others no call is taken: a tensor has the place of a number, or a number that of the first tensor.
OVERLOADS = [
    f
    for f, o in OPERATORS.items()
    if o.function in prepared.RECIPES
    and not re.match(
        r"aten\.((rsub|clamp_?|clamp_max_?|clamp_min_?)\.Tensor|(pow|floor_divide_?|fmod_?|remainder_?)\.Scalar|xlogy\.(Out)?Scalar_Self)",
        str(f),
    )
]

# Shapes of the operands, and what is done to the first one; whether a prepared call takes them.
LAYOUTS = {
    "alike": (((4, 6),) * 3, None, True),
    "single": (((),) * 3, None, True),
    "row": (((3, 4, 6), (6,), (3, 4, 6)), None, False),
    "column": (((3, 4, 6), (4, 1), (3, 4, 6)), None, False),
    "outer": (((5, 1), (4,), (5, 4)), None, False),
    "middle": (((3, 1, 6), (3, 4, 1), (3, 4, 6)), None, False),
    "number": (((4, 6), (), ()), None, False),
    "transposed": (((6, 4), (4, 6), (4, 6)), lambda t: t.t(), False),
    "sliced": (((4, 12), (4, 6), (4, 6)), lambda t: t[:, ::2], False),
    "shifted": (((25,), (4, 6), (4, 6)), lambda t: t[1:].view(4, 6), True),
    "nothing": (((0, 6),) * 3, None, False),
}


def calls(overload, layout, dtype, seed):
    """Arguments of an operator: its tensors, and some of the numbers."""
    shapes, change, _ = LAYOUTS[layout]
    shapes = iter(shapes)
    args, kwargs, numbers = [], {}, []
    for a in overload._schema.arguments:
        kind = str(a.type)
        if a.is_out or (a.name == "alpha" and not a.kwarg_only):
            continue
        if kind == "Tensor":
            shape = next(shapes)
            t = values(dtype, int(torch.Size(shape).numel()), seed + len(args)).view(shape)
            args.append(change(t) if change and not args else t)
        elif kind in ("number", "Optional[number]"):
            numbers.append(a.name if a.kwarg_only else len(args))
            if not a.kwarg_only:
                args.append(None)
        elif kind != "str":
            pytest.fail(f"{overload} has an argument of {kind}")
    several = itertools.product(NUMBERS, repeat=len(numbers))
    for chosen in itertools.islice(several, seed % 5 if numbers else 0, None, 7 if len(numbers) > 1 else 1):
        given, named = list(args), dict(kwargs)
        for place, value in zip(numbers, chosen, strict=True):
            (given if isinstance(place, int) else named)[place] = value
        yield given, named


@pytest.mark.parametrize("overload", OVERLOADS, ids=str)
def test_bits(overload, general):
    quick = 0
    for seed, (dtype, layout) in enumerate(itertools.product(FORMATS, LAYOUTS)):
        if layout != "alike" and seed % 4:
            continue  # 11 layouts and 4 formats: each layout meets one of the formats, or two
        for args, kwargs in itertools.islice(calls(overload, layout, dtype, seed), 5 if layout == "alike" else 1):
            del general[:]
            assert by_mode(overload, args, kwargs) == by_table(overload, args, kwargs), (dtype, layout, args, kwargs)
            quick += LAYOUTS[layout][2] and overload not in general
    assert quick, "the prepared call takes none"


def test_a_wrong_call_is_seen(general):
    """The control: a call of another function."""
    overload = torch.ops.aten.sinh.default
    try:
        _core.prepare_call(overload, _core.Elementwise("operands", "new", 1, "sin"))
        args = next(calls(overload, "alike", torch.float32, 0))
        assert by_mode(overload, *args) != by_table(overload, *args) and overload not in general
    finally:
        _core.prepare_call(overload, _core.Elementwise("operands", "new", 1, "sinh"))


def rows_calls(dtype):
    """Calls of rows, products and sums: some that are prepared, then some that are not."""
    aten = torch.ops.aten
    x, y, z = (values(dtype, 24, seed).nan_to_num(1, 2, -3).view(4, 6) for seed in (1, 2, 3))
    masked, w = torch.where(x > 1, -torch.inf, x).to(dtype), z[0]
    for make, given in ((aten._softmax, (x, masked, y * 0)), (aten._log_softmax, (x, masked, y * 0))):
        yield from ((True, make.default, (t, -1, False)) for t in given)
        yield True, make.default, (x, 0, False)
        yield True, make.default, (x.t(), 1, False)
    for make in (aten._softmax_backward_data.default, aten._log_softmax_backward_data.default):
        yield True, make, (x, x.double().softmax(-1).to(dtype), 1, dtype)
        yield True, make, (x, x.double().softmax(0).to(dtype), 0, dtype)
    yield True, aten.native_layer_norm.default, (x, [6], w, y[0], 1e-5)
    yield True, aten.native_layer_norm.default, (x.view(2, 2, 6), [2, 6], None, None, 0.0)
    yield True, aten.native_layer_norm.default, (x.t(), [4], None, None, 0.1)
    yield True, aten.mm.default, (x, y.t())
    yield True, aten.mm.default, (x.t(), y)
    yield True, aten.mm.default, (x[:, ::2], y[::2, :3].t())
    yield True, aten.addmm.default, (z[0, :4], x, y.t())
    yield True, aten.addmm.default, (z[:1, :4], x, y.t())
    yield True, aten.addmm.default, (z[:4, :4], x, y.t())
    yield True, aten.bmm.default, (x.view(2, 2, 6), y.view(2, 2, 6).transpose(1, 2))
    yield False, aten.mm.default, (x[:0], y.t())
    for make in (aten.sum, aten.mean):
        yield True, make.default, (x,)
        dim = make.dim_IntList if make is aten.sum else make.dim
        yield True, dim, (x, [1])
        yield True, dim, (x, [-1], True)
        yield True, dim, (x.view(2, 2, 6), [1, 2], True)
        yield True, dim, (masked, [1])
        yield True, dim, (x, [0])
        yield True, dim, (x.t(), [1])
        yield False, dim, (x[:0], [1])
    for name in ("neg", "abs"):
        yield dtype.itemsize > 2, getattr(aten, name).default, (x,)
    yield dtype.itemsize > 2, aten.cat.default, ([x, y],)
    yield dtype.itemsize > 2, aten.where.self, (x > 0, x, y)
    yield dtype.itemsize > 2, aten.masked_fill.Scalar, (x, x > 0, -torch.inf)
    many = values(dtype, 540, 7).view(4, 9, 15)
    for dim in range(-3, 3):
        yield True, aten.cumsum.default, (many, dim)
    yield True, aten.cumsum.default, (many.nan_to_num(1, 2, -3).view(60, 9), 1)
    yield False, aten.cumsum.default, (many.transpose(0, 2), 1)
    yield False, aten.cumsum.default, (many[0, 0, 0], 0)


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
def test_rows_products_and_sums(dtype, general):
    for quick, overload, args in rows_calls(dtype):
        with rt.reproducible():
            del general[:]
            made = overload(*args)
            assert (overload not in general) == quick, (overload, args)
        with table_alone():
            want = FUNCTIONS[overload](*args)
        for ours, theirs in zip(*((v if isinstance(v, tuple) else (v,)) for v in (made, want)), strict=True):
            assert bits(ours) == bits(theirs) and ours.stride() == theirs.stride() and not ours._is_view(), (overload, args)


def spreads_and_casts(dtype):
    """Calls with keywords, as those before."""
    aten = torch.ops.aten
    plain, special = values(dtype, 24, 4).nan_to_num(1, 2, -3).view(4, 6), values(dtype, 24, 5).view(4, 6)
    for x in (plain, special):
        for spread in (aten.var.correction, aten.std.correction):
            yield True, spread, (x,), {}
            yield True, spread, (x, [1]), {"correction": 0, "keepdim": True}
            yield True, spread, (x, [-1]), {"correction": 6.5}
            yield True, spread, (x, [0]), {"correction": 1}
            yield True, spread, (x.t(),), {}
        for norm in (aten.linalg_vector_norm.default, aten.norm.ScalarOpt_dim):
            yield True, norm, (x, 2, [1], True), {}
            yield True, norm, (x, 2, [0]), {}
            yield False, norm, (x, 1, [1]), {}
        yield True, aten._foreach_norm.Scalar, ([x, x[0], x[0, 0]],), {}
        yield False, aten._foreach_norm.Scalar, ([x, x.t()],), {}
        yield False, aten._foreach_norm.Scalar, ([x], 1), {}
        yield dtype.itemsize > 2, aten._foreach_abs.default, ([x, x.t()],), {}
        for other in FORMATS:
            quick = other is not dtype
            yield quick, aten._to_copy.default, (x,), {"dtype": other}
            yield quick, aten._to_copy.default, (x.t(),), {"dtype": other}
            yield False, aten._to_copy.default, (x[:, ::2],), {"dtype": other}
    # All NaN of all formats, quiet and with payloads, of both signs.
    patterns = {
        torch.float64: (torch.int64, 51),
        torch.float32: (torch.int32, 22),
        torch.bfloat16: (torch.int16, 6),
        torch.float16: (torch.int16, 9),
    }
    kind, quiet = patterns[dtype]
    infinite = torch.tensor(math.inf, dtype=dtype).view(kind)
    nan = torch.stack([infinite | 1 << i | sign for i in range(quiet + 1) for sign in (0, torch.iinfo(kind).min)]).to(kind)
    for other in FORMATS:
        if other is not dtype:
            yield True, aten._to_copy.default, (nan.view(dtype),), {"dtype": other}


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
def test_spreads_and_casts(dtype, general):
    for quick, overload, args, kwargs in spreads_and_casts(dtype):
        with rt.reproducible():
            del general[:]
            made = overload(*args, **kwargs)
            assert (overload not in general) == quick, (overload, args, kwargs)
        with table_alone():
            want = FUNCTIONS[overload](*args, **kwargs)
        for ours, theirs in zip(*((v if isinstance(v, list) else [v]) for v in (made, want)), strict=True):
            assert bits(ours) == bits(theirs) and ours.stride() == theirs.stride(), (overload, args, kwargs)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.bool], ids=str)
def test_integers(dtype, general):
    """To every format, each rounded once: ties of all formats among them, and numbers that binary64 has not, which the table takes."""
    near = [2**k + d for k in (8, 9, 11, 12, 16, 24, 25, 31, 53) for d in (-3, -2, -1, 0, 1, 2, 3)]
    info = torch.iinfo(dtype) if dtype is not torch.bool else None
    numbers = [v for v in (*near, *(-v for v in near), 0) if info is None or info.min <= v <= info.max]
    for x in (torch.tensor(numbers).to(dtype), torch.tensor([v for v in numbers if abs(v) <= 2**53]).to(dtype)):
        for other in FORMATS:
            for t in (x, x.view(1, -1).expand(3, -1).t(), x[:0]):
                del general[:]
                with rt.reproducible():
                    made = torch.ops.aten._to_copy.default(t, dtype=other)
                held = t.numel() > 0 and all(abs(v) <= 2**53 for v in t.reshape(-1).tolist())
                assert (torch.ops.aten._to_copy.default not in general) == (held and t.is_contiguous()), (t, other)
                with table_alone():
                    want = FUNCTIONS[torch.ops.aten._to_copy.default](t, dtype=other)
                assert bits(made) == bits(want) and made.stride() == want.stride()


@pytest.mark.parametrize("value", [0, -3, 0.5, 0.1, 2**31, 2.0**70, float("inf"), float("nan"), True])
def test_comparisons(value):
    for dtype in (*FORMATS, torch.int32, torch.int64):
        x = torch.tensor([-3, 0, 1, 2, 100]).to(dtype)
        for name in ("eq", "gt", "le"):
            overload = getattr(torch.ops.aten, name).Scalar
            with rt.reproducible():
                made = overload(x, value)
            assert torch.equal(made, FUNCTIONS[overload](x, value)), (dtype, name)


@pytest.mark.parametrize("place", [0, 1, 2, 4, 8], ids=str)
def test_memory_that_meets(place):
    """Into a tensor whose memory an operand lies over: PyTorch's errors, or the result of operands that stay."""
    for dtype in FORMATS:
        for name in ("add", "mul"):
            of_copies = values(dtype, 16, 3)
            memory = of_copies.clone()
            with rt.reproducible():
                try:
                    getattr(memory[:8], name + "_")(memory[place : place + 8])
                except RuntimeError:
                    assert 0 < place < 8
                    continue
                want = getattr(torch, name)(of_copies[:8], of_copies[place : place + 8])
            assert place in (0, 8)
            assert torch.equal(memory[:8].view(FORMATS[dtype]), want.view(FORMATS[dtype]))
            assert torch.equal(memory[8:].view(FORMATS[dtype]), of_copies[8:].view(FORMATS[dtype]))


EXPANDED = (((300, 1), (300, 40)), ((1, 40), (300, 40)), ((3, 1, 40), (3, 100, 40)), ((), (300, 40)), ((300, 40), (300, 40)))


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
def test_second_operands_that_are_expanded(dtype, general):
    """They are read where they lie, also into the first one; where that lies over them, they stay."""
    for k, (small, shape) in enumerate(EXPANDED):
        x = values(dtype, math.prod(shape), 2 * k).view(shape)
        y = values(dtype, math.prod(small), 2 * k + 1).view(small).expand(shape)
        for name in ("div", "mul", "sub", "add"):
            with rt.reproducible():
                got, want = getattr(torch, name)(x, y), getattr(torch, name)(x, y.contiguous())
                into = getattr(x.clone(), name + "_")(y)
            assert torch.equal(into.view(FORMATS[dtype]), want.view(FORMATS[dtype]))
            assert got.is_contiguous() and torch.equal(got.view(FORMATS[dtype]), want.view(FORMATS[dtype]))
    assert not general
    with rt.reproducible():
        turned = torch.div(x.t(), y.t()[:, :1].expand(40, 300))
        assert torch.equal(turned.view(FORMATS[dtype]), (x.t().contiguous() / y.t()[:, :1]).view(FORMATS[dtype]))
        memory = x.clone()
        memory.div_(memory[:, :1].expand(300, 40))
        assert torch.equal(memory.view(FORMATS[dtype]), (x / x[:, :1]).view(FORMATS[dtype]))


def test_views_that_mean_other_numbers():
    """Lazy conjugates and negatives hold other numbers than their memory does."""
    z = torch.randn(4, 6, dtype=torch.complex64)
    x = z.conj().imag
    assert x.is_neg()
    for call in (torch.exp, torch.neg, lambda t: t + t, lambda t: t * 0.1, lambda t: t.sum(), lambda t: t.clone().mul_(t)):
        with rt.reproducible():
            assert torch.equal(call(x), call(x.resolve_neg()))
