"""Prepared calls of reductions, over any axes of tensors in any layout, have the bits of the table's functions."""

import itertools

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from prepared_calls import FORMATS, bits, table_alone, values  # noqa: E402

import repmath.torch as rt  # noqa: E402
from repmath import _core  # noqa: E402
from repmath.torch._aten.table import FUNCTIONS  # noqa: E402

aten = torch.ops.aten
LAYOUTS = {
    "dense": lambda t: t,
    "turned": lambda t: t.permute(2, 0, 1),
    "sliced": lambda t: t[:, ::2, 1:],
    "repeated": lambda t: t[:, :1].expand(-1, 3, -1),
    "row": lambda t: t[0, 0],
    "number": lambda t: t[0, 0, 0],
    "nothing": lambda t: t[:, :0],
}
AXES = (None, [0], [1], [-1], [0, 2], [1, 0], [2, 1, 0], [0, 1])


def compared(overload, args, kwargs, general):
    """Whether a prepared call took it; it has the bits and the layout of what the table returns."""
    del general[:]
    with rt.reproducible():
        try:
            made = overload(*args, **kwargs)
        except (RuntimeError, IndexError):
            made = None
    quick = overload not in general
    try:
        with table_alone():
            want = FUNCTIONS[overload](*args, **kwargs)
    except (RuntimeError, IndexError, ValueError):
        want = None
    assert (made is None) == (want is None), (overload, args, kwargs)
    if want is None:
        return False
    for ours, theirs in zip(*((v if isinstance(v, tuple) else (v,)) for v in (made, want)), strict=True):
        same = bits(ours) == bits(theirs) if ours.dtype in FORMATS else torch.equal(ours, theirs)
        assert same and ours.stride() == theirs.stride() and not ours._is_view(), (overload, args, kwargs)
    return quick


def data(dtype, layout, seed):
    """Numbers of all kinds, and numbers alone."""
    for x in (values(dtype, 105, seed), values(dtype, 105, seed + 1).nan_to_num(1, 2, -3) * 0.5):
        yield LAYOUTS[layout](x.view(3, 5, 7))


def reductions():
    for name in ("sum.dim_IntList", "mean.dim", "nansum.default", "var.correction", "std.correction", "var_mean.correction"):
        yield name, {}
    yield "std_mean.correction", {"correction": 0}
    yield "logsumexp.default", {}
    yield "linalg_vector_norm.default", {}
    yield "amax.default", {}
    yield "amin.default", {}


def overload_of(name):
    packet, _, form = name.partition(".")
    return getattr(getattr(aten, packet), form)


@pytest.mark.parametrize("name", [name for name, _ in reductions()])
def test_axes(name, general):
    overload, kwargs, quick = overload_of(name), dict(reductions())[name], 0
    for seed, (dtype, layout) in enumerate(itertools.product(FORMATS, LAYOUTS)):
        for x in data(dtype, layout, seed):
            for axes, keep in itertools.product(AXES, (False, True)):
                if axes and max(axes) >= x.ndim or (axes is None and "logsumexp" in name):
                    continue
                if "vector_norm" in name:
                    args, named = (x, 2, axes, keep), kwargs
                elif "correction" in name:
                    args, named = (x, axes), kwargs | {"keepdim": keep}
                else:
                    args, named = (x, () if axes is None and name.startswith("am") else axes, keep), kwargs
                quick += compared(overload, args, named, general)
    assert quick > 100


@pytest.mark.parametrize(
    "name", ["sum.default", "mean.default", "prod.default", "max.default", "min.default", "trace.default", "aminmax.default"]
)
def test_all_elements(name, general):
    quick = 0
    for seed, (dtype, layout) in enumerate(itertools.product(FORMATS, LAYOUTS)):
        for x in data(dtype, layout, seed):
            if name.startswith("trace"):
                x = x[0] if x.ndim == 3 else x
            quick += compared(overload_of(name), (x,), {}, general)
    assert quick > 8


@pytest.mark.parametrize(
    "name",
    ["prod.dim_int", "cumsum.default", "cumprod.default", "logcumsumexp.default", "cumsum_.default", "cumprod_.default"],
)
def test_one_axis(name, general):
    overload, quick = overload_of(name), 0
    for seed, (dtype, layout) in enumerate(itertools.product(FORMATS, LAYOUTS)):
        for x in data(dtype, layout, seed):
            for scale in (1, 2.0**9, 2.0**-9):
                for dim in range(-x.ndim, x.ndim):
                    y = (x * scale).to(dtype)
                    if name.startswith(("cumsum_", "cumprod_")):
                        z = y.clone()
                        with rt.reproducible():
                            del general[:]
                            overload(z, dim)
                            want = getattr(aten, name.split("_.")[0]).default(y, dim)
                            quick += overload not in general
                        assert bits(z) == bits(want) and z.stride() == y.stride()
                    else:
                        quick += compared(overload, (y, dim), {}, general)
    assert quick > 50


def test_formats_of_the_result(general):
    quick = 0
    for dtype, other in itertools.product(FORMATS, FORMATS):
        x = values(dtype, 24, 3).view(4, 6)
        for overload, args in ((aten.sum.dim_IntList, (x, [0])), (aten.mean.dim, (x, [1], True)), (aten.prod.default, (x[0],)),
                               (aten.linalg_vector_norm.default, (x, 2, [0], False)), (aten.nansum.default, (x, [1]))):  # fmt: skip
            quick += compared(overload, args, {"dtype": other}, general)
    assert quick > 40


def test_products_beside_boundaries(general):
    """Of factors whose product lies on a boundary of rounding, or within what binary64 leaves open of one, the table's integers decide."""
    quick, left, overload = 0, 0, aten.prod.default
    for i in range(2000):
        a = 1 + (2 * i + 1) * 2.0**-12
        x = torch.tensor([a, 1 + 2.0**-12, 1 - 2.0**-12, 3.0, 1 + 2.0**-23], dtype=torch.float32)
        taken = compared(overload, (x[: 2 + i % 4],), {}, general)
        quick, left = quick + taken, left + (not taken)
    assert quick > 1000


def test_large_ones(general):
    for dtype in FORMATS:
        x = values(dtype, 96 * 130, 5).nan_to_num(1, 2, -3).view(96, 130)
        for axes in ([0], [1], [0, 1]):
            assert compared(aten.sum.dim_IntList, (x, axes), {}, general)
            assert compared(aten.mean.dim, (x.t(), axes), {}, general)
            lines = axes != [0]  # contiguous
            assert lines == compared(aten.var.correction, (x, axes), {}, general)
            assert lines == compared(aten.linalg_vector_norm.default, (x, 2, axes), {}, general)
            assert lines == compared(aten.logsumexp.default, (x, axes), {}, general)
        compared(aten.var.correction, (x.t(), [0, 1]), {}, general)


def test_a_wrong_call_is_seen(general):
    """The control: a mean in place of a sum, and extremes that keep their zeros."""
    x, overload = values(torch.float32, 24, 1).nan_to_num(1, 2, -3).view(4, 6), aten.sum.dim_IntList
    before = _core.prepare_call(overload, _core.Total("mean"))
    try:
        with pytest.raises(AssertionError):
            compared(overload, (x, [0]), {}, general)
    finally:
        _core.prepare_call(overload, before)


@pytest.mark.parametrize("value", [0.5, float("nan"), float("inf"), float("-inf")])
def test_sums_without_nan_of_elements_with_gaps(value):
    """They are copied, and the argument stays what it is."""
    x = torch.randn(64, 200, generator=torch.Generator().manual_seed(2))
    x[3, 4], x[7, 8], x[9, 5] = value, value, float("nan")
    before = x.clone()
    with rt.reproducible():
        wanted = x[:, ::2].contiguous().nansum(), x.expand(2, 64, 200).contiguous().nansum()
        for made in (x[:, ::2].nansum(), x[:, ::2].t().nansum()):
            assert torch.equal(made, wanted[0])
        assert torch.equal(x.expand(2, 64, 200).nansum(), wanted[1])
    assert torch.equal(x.view(torch.int32), before.view(torch.int32))
