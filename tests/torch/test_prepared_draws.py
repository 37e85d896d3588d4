"""Prepared calls that draw for the elements of tensors, of windows whose places random numbers shift, of weighted counts and of trilinear products have
the bits and the errors of the table's functions."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from prepared_calls import FORMATS, all_bits, checked, gaps, outcome, table_alone, tensor, turned  # noqa: E402

from repmath import _core  # noqa: E402
from repmath.torch._aten.table import FUNCTIONS  # noqa: E402

aten = torch.ops.aten


def chances(dtype):
    x = tensor(dtype, 3, 5).abs()
    p = (x / (x + 1)).to(dtype)
    p[0, :3] = torch.tensor([0.0, 1.0, -0.0])
    yield True, aten.bernoulli.default, (p,)
    yield True, aten.bernoulli_.Tensor, (x, p)
    yield True, aten.bernoulli_.Tensor, (x.float(), p)
    yield False, aten.bernoulli.default, (p.t(),)
    yield False, aten.bernoulli_.Tensor, (x, p[0])
    for wrong in (-0.5, 1.5, float("nan")):
        yield False, aten.bernoulli.default, (torch.full((2,), wrong, dtype=dtype),)


def normals(dtype):
    mean, std = tensor(dtype, 3, 5), tensor(dtype, 3, 5, seed=2).abs()
    yield True, aten.normal.Tensor_Tensor, (mean, std)
    yield True, aten.normal.Tensor_Tensor, (tensor(dtype, 3, 5, special=True), std)
    yield True, aten.normal.Tensor_Tensor, (mean, tensor(dtype, 3, 5, seed=3, special=True).abs())
    yield False, aten.normal.Tensor_Tensor, (mean, -std)
    yield False, aten.normal.Tensor_Tensor, (mean, std[0])
    yield False, aten.normal.Tensor_Tensor, (mean, std.to(torch.float32 if dtype is not torch.float32 else torch.float64))


def slopes(dtype):
    x, noise = tensor(dtype, 3, 5, special=True), tensor(dtype, 3, 5)
    for overload in (aten.rrelu_with_noise.default, aten.rrelu_with_noise_.default):
        yield True, overload, (x, noise, 0.125, 0.25, True)
        yield True, overload, (x, noise, 0, 1, True, None)
        yield True, overload, (x, noise, 0.25, 0.25, True)
        yield False, overload, (x, noise, 1.0, 0.5, True)
        yield False, overload, (x, noise, 0.125, 0.25, False)
        yield False, overload, (x, noise[0], 0.125, 0.25, True)
    yield False, aten.rrelu_with_noise.default, (x, x, 0.125, 0.25, True)


def races(dtype):
    p = tensor(dtype, 4, 6).abs().clamp(max=100)
    p[0, 1:4], p[1, 2] = 0.0, -0.0
    for x in (p, p[0], torch.ones(2, 3, dtype=dtype)):
        yield True, aten.multinomial.default, (x, 2)
        yield True, aten.multinomial.default, (x, 1, True)
        yield True, aten.multinomial.default, (x, 7, True)
    yield False, aten.multinomial.default, (p, 4)
    yield False, aten.multinomial.default, (p * 0, 1)
    yield False, aten.multinomial.default, (tensor(dtype, 2, 3, special=True), 1)
    yield False, aten.multinomial.default, (-p - 1, 1)
    yield False, aten.multinomial.default, (p, 0)


DRAWS = (chances, normals, slopes, races)


def drawn(overload, args, seed):
    """What the prepared call returns or leaves in its arguments, and what the table's function does, under one seed; None of a call that is declined."""
    call = _core.prepare_call(overload, None)
    _core.prepare_call(overload, call)
    made = []
    for function in (call, FUNCTIONS[overload]):
        with table_alone() if function is not call else torch.no_grad():
            torch.manual_seed(seed)
            made.append(outcome(function, args, {}))
    return made


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
@pytest.mark.parametrize("family", DRAWS, ids=lambda f: f.__name__)
def test_draws(family, dtype):
    for taken, overload, args in family(dtype):
        for seed in (1, 2):
            (ours, ours_left), (theirs, theirs_left) = drawn(overload, args, seed)
            assert (ours is not NotImplemented) == taken, (overload, args)
            if not taken:
                assert ours_left == all_bits(args)  # nothing was written
            else:
                assert (ours, ours_left) == (theirs, theirs_left), (overload, args)


def test_a_wrong_call_is_seen():
    """The control: the call of another operator, which draws the same numbers."""
    overload, p = aten.bernoulli.default, torch.full((64,), 0.5)
    before = _core.prepare_call(overload, _core.Drawn("rand", "new", like=True))
    try:
        (ours, _), (theirs, _) = drawn(overload, (p,), 1)
    finally:
        _core.prepare_call(overload, before)
    assert ours is not NotImplemented and ours != theirs
    (ours, _), (theirs, _) = drawn(overload, (p,), 1)
    assert ours == theirs


def test_a_call_that_is_declined_draws_nothing():
    p = torch.tensor([0.5, 1.5])
    for call, args in (
        (_core.Chances("new"), (p,)),
        (_core.NormalOf(), (p, -p)),
        (_core.Race(), (p * 0, 1)),
        (_core.NoisySlopes("new"), (p, p, 0.1, 0.2, True)),
    ):
        before = torch.get_rng_state()
        assert call(*args) is NotImplemented
        assert torch.equal(torch.get_rng_state(), before)


def windows(dtype):
    for dims in (2, 3):
        name = f"fractional_max_pool{dims}d"
        forward, backward = (getattr(aten, name + end).default for end in ("", "_backward"))
        sizes, window, made = (9, 7, 6)[:dims], [2, 3, 2][:dims], [4, 2, 3][:dims]
        x = tensor(dtype, 2, 3, *sizes, special=True)
        high = 1 - torch.finfo(dtype).eps / 2  # the greatest sample
        for samples in (
            torch.rand(2, 3, dims, generator=torch.Generator().manual_seed(1), dtype=torch.float64).clamp(max=high).to(dtype),
            torch.zeros(2, 3, dims, dtype=dtype),
            torch.full((2, 3, dims), high, dtype=dtype),
        ):
            for t, r in ((x, samples), (gaps(x), gaps(samples)), (turned(x), turned(samples)), (x[0], samples[:1])):
                yield True, forward, (t, window, made, r)
                yield True, forward, (t, [1] * dims, [1] * dims, r)
                yield False, forward, (t, window[:1], made[:1], r)
            yield False, forward, (x, window, [9, 2, 3][:dims], samples)
            yield False, forward, (x, window, made, samples[:1])
            yield False, forward, (x, window, made, samples + 1)
            yield False, forward, (x, window, made, samples * float("nan"))
            _, at = FUNCTIONS[forward](x, window, made, samples)
            g = tensor(dtype, *at.shape, seed=4)
            yield True, backward, (g, x, window, made, at)
            yield True, backward, (turned(g), gaps(x), window, made, turned(at))
            yield True, backward, (g[0], x[0], window, made, at[0])
            yield True, backward, (g, x, window, made, at * 0)
            yield False, backward, (g, x, window, made, at + 10_000)
            yield False, backward, (g, x, window, made, at[:1])


def counts(dtype):
    places, weights = torch.tensor([3, 0, 3, 7, 1, 0]), tensor(dtype, 6)
    sure = dtype in (torch.float32, torch.float64)
    yield sure, aten.bincount.default, (places, weights)
    yield sure, aten.bincount.default, (places, weights, 20)
    yield sure, aten.bincount.default, (gaps(places), gaps(weights), 2)
    yield sure, aten.bincount.default, (places, tensor(dtype, 6, special=True))
    yield False, aten.bincount.default, (places.int(), weights)
    yield False, aten.bincount.default, (places - 1, weights)
    yield False, aten.bincount.default, (places, weights[:5])
    yield False, aten.bincount.default, (places[:0], weights[:0])
    yield False, aten.bincount.default, (places,)


def trilinear(dtype):
    a, w, b = tensor(dtype, 2, 3), tensor(dtype, 5, 3, 4, seed=2), tensor(dtype, 2, 4, seed=3)
    overload = aten._trilinear.default
    for x, y, z in ((a, w, b), (gaps(a), turned(w), gaps(b)), (tensor(dtype, 2, 3, special=True), w, b), (a * 0, w, -b)):
        # Sums that are a boundary of rounding of the format, as those of these few bits may be, go the table's way.
        yield None, overload, (x, y, z, [1, 3], [0], [1, 2], [2, 3])
        yield None, overload, (x, y, z, [1, 3], [0], [1, 2], [2])
        yield None, overload, (x, y, z, [1, 3], [0], [1, 2], [1, 3], 2)
    yield (
        True,
        overload,
        (
            torch.ones(2, 3, dtype=dtype),
            torch.ones(5, 3, 4, dtype=dtype),
            torch.ones(2, 4, dtype=dtype),
            [1, 3],
            [0],
            [1, 2],
            [2, 3],
        ),
    )
    if dtype is torch.float32:  # 1 and half a unit, and a hair more
        w, one, places = torch.ones(1, 2, 1), torch.ones(1, 1), ([1, 3], [0], [1, 2], [2, 3])
        yield False, overload, (torch.tensor([[1, 2.0**-24]]), w, one, *places)
        yield True, overload, (torch.tensor([[1, 2.0**-24 + 2.0**-47]]), w, one, *places)
        a, w, b = tensor(dtype, 2, 3), tensor(dtype, 5, 3, 4, seed=2), tensor(dtype, 2, 4, seed=3)
    yield False, overload, (a, w, b, [1, 3], [0], [1, 2], [])
    yield False, overload, (a, w, b[:, :2], [1, 3], [0], [1, 2], [2, 3])


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
@pytest.mark.parametrize("family", (windows, counts, trilinear), ids=lambda f: f.__name__)
def test_alike(family, dtype, general):
    checked(family(dtype), general)
