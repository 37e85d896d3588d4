"""Prepared calls that draw random numbers take the same bits of their generator, and have the bits of the table's functions."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from prepared_calls import FORMATS, bits, table_alone  # noqa: E402

import repmath.torch as rt  # noqa: E402
from repmath import _core  # noqa: E402
from repmath.torch._aten.common import Uncovered  # noqa: E402
from repmath.torch._aten.table import FUNCTIONS  # noqa: E402

aten = torch.ops.aten


def in_place(dtype):
    x = torch.zeros(5, 7, dtype=dtype)
    yield True, aten.uniform_.default, (x,)
    yield True, aten.uniform_.default, (x, -1.0, 3.0)
    yield False, aten.uniform_.default, (x, 3.0, -1.0)
    yield False, aten.uniform_.default, (x, 0.0, float("inf"))
    yield True, aten.normal_.default, (x,)
    yield True, aten.normal_.default, (x, 0.1, 2.5)
    yield False, aten.normal_.default, (x, 0.1, -2.5)
    for p in (0.0, 0.3, 1.0):
        yield True, aten.bernoulli_.float, (x, p)
    yield True, aten.bernoulli_.float, (x,)
    yield False, aten.bernoulli_.float, (x, 1.5)
    for rate in (1.0, 0.3, 7.0):
        yield True, aten.exponential_.default, (x, rate)
    yield False, aten.exponential_.default, (x, 0.0)
    yield True, aten.log_normal_.default, (x,)
    yield True, aten.log_normal_.default, (x, -0.5, 0.25)
    yield False, aten.log_normal_.default, (x, 0.0, 0.0)
    yield True, aten.cauchy_.default, (x,)
    yield True, aten.cauchy_.default, (x, 0.7, 0.1)
    for p in (0.3, 0.999):
        yield True, aten.geometric_.default, (x, p)
    yield False, aten.geometric_.default, (x, 1.0)
    yield False, aten.normal_.default, (torch.zeros(7, 5, dtype=dtype).t(),)
    yield False, aten.uniform_.default, (torch.zeros(0, dtype=dtype),)
    yield True, aten.uniform_.default, (torch.zeros((), dtype=dtype),)


def makers(dtype):
    x, options = torch.zeros(5, 7, dtype=dtype), {"dtype": dtype, "device": torch.device("cpu"), "pin_memory": False}
    yield True, aten.rand.default, ([3, 5],), options
    yield True, aten.randn.default, ([3, 5],), options
    yield True, aten.randn.default, ([],), options
    yield True, aten.randn.default, ([4],), {}
    yield False, aten.randn.default, ([0, 4],), options
    yield False, aten.rand.default, ([3],), {"device": torch.device("meta")}
    yield True, aten.normal.float_float, (0.3, 1.6, [2, 2, 2]), options
    yield True, aten.rand_like.default, (x,), {}
    yield True, aten.randn_like.default, (x,), {"pin_memory": False}
    yield True, aten.randn_like.default, (x,), {"dtype": torch.float32}
    quick = dtype.itemsize > 2
    yield quick, aten.randint_like.default, (x, 100), {}
    yield quick, aten.randint_like.low_dtype, (x, -3, 5), {}
    yield False, aten.randint_like.low_dtype, (x, 5, 5), {}
    yield True, aten.randint.default, (100, [3, 5]), {}
    yield True, aten.randint.low, (-7, 100, [3, 5]), {"dtype": torch.int64}
    yield False, aten.randint.low, (-7, 100, [3, 5]), {"dtype": torch.int32}
    yield True, aten.randperm.default, (16,), {"device": torch.device("cpu")}
    yield False, aten.randperm.default, (0,), {}


def outcome(function, args, kwargs):
    torch.manual_seed(7)
    try:
        made = function(*args, **kwargs)
    except (RuntimeError, ValueError, Uncovered, rt.UncoveredOperatorError):
        return None, None
    return made, torch.get_rng_state().tolist()


def same(made, want):
    if made.dtype in FORMATS and made.device.type == "cpu":
        return bits(made) == bits(want)
    return made.device.type == "meta" or (made.dtype is want.dtype and torch.equal(made, want))


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
def test_bits(dtype, general):
    for quick, overload, args, kwargs in (*((*c, {}) for c in in_place(dtype)), *makers(dtype)):
        writes = overload._schema.name.endswith("_")
        copies = [(args[0].clone(), *args[1:]) if writes else args for _ in range(2)]
        del general[:]
        with rt.reproducible():
            made, state = outcome(overload, copies[0], kwargs)
        assert (overload not in general) == quick, (overload, args, kwargs)
        if kwargs.get("device") == torch.device("meta"):
            continue
        with table_alone():
            want, after = outcome(FUNCTIONS[overload], copies[1], kwargs)
        assert (made is None) == (want is None) and state == after, (overload, args, kwargs)
        if want is not None:
            assert same(made, want) and made.stride() == want.stride() and not made._is_view(), (overload, args, kwargs)
            assert not writes or made is copies[0][0]


def test_generators_and_default_formats(general):
    generator = torch.Generator().manual_seed(3)
    with rt.reproducible():
        first = aten.normal_.default(torch.zeros(9), generator=generator)
        second = aten.randn.generator([9], generator=generator)
        assert not torch.equal(first, second) and not general
        generator.manual_seed(3)
        assert torch.equal(first, torch.zeros(9).normal_(generator=generator)) and torch.equal(
            second, torch.randn(9, generator=generator)
        )
        torch.set_default_dtype(torch.float64)
        try:
            assert aten.rand.default([3]).dtype is torch.float64 and not general
        finally:
            torch.set_default_dtype(torch.float32)


def test_fake_tensors(general):
    """Where only shapes are asked for nothing is drawn."""
    from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

    state = torch.get_rng_state()
    with rt.reproducible(), FakeTensorMode():
        assert isinstance(torch.randn(3), FakeTensor)
    assert torch.equal(state, torch.get_rng_state())


def test_a_wrong_call_is_seen(general):
    """The control: normal numbers in place of uniform ones."""
    overload = aten.uniform_.default
    before = _core.prepare_call(overload, _core.Drawn("normal", "first"))
    try:
        with rt.reproducible():
            made, _ = outcome(overload, (torch.zeros(5),), {})
    finally:
        _core.prepare_call(overload, before)
    with table_alone():
        assert bits(made) != bits(outcome(FUNCTIONS[overload], (torch.zeros(5),), {})[0])
