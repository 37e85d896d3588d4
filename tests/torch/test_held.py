"""Sums to which passes are added one by one: after each, the bits of the sum of all operands, whatever the bounds have decided."""

import dataclasses

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from repmath.torch._exact import held, partials  # noqa: E402
from repmath.torch._exact.records import Convolved, Normed, Operand, Product, Scattered, Terms, Use, settle  # noqa: E402

M, N, ROWS = 5, 7, 6
_CONV = (("stride", (1, 1)), ("padding", (1, 1)), ("dilation", (1, 1)), ("groups", 1))


class Numbers:
    """Few-bit numbers of near exponents, of which sums are often ties of the format, and which later passes cancel all but for little."""

    def __init__(self, dtype, seed, spread):
        self.dtype, self.spread, self.rng, self.larger = dtype, spread, np.random.default_rng(seed), 1.0

    def __call__(self, *shape):
        made = (
            self.rng.integers(-9, 10, shape) * np.exp2(self.rng.integers(-self.spread, self.spread + 1, shape)) * self.larger
        )
        return Operand(torch.from_numpy(made).to(self.dtype))

    def near(self, *shape):
        return Operand(torch.from_numpy(self.rng.standard_normal(shape)).to(self.dtype))


def _product(of, turned):
    if turned:
        return [Use(Product(of(N, ROWS), of(ROWS, M), (N, M)), ((M, N), (1, M), 0))]
    return [Use(Product(of(M, ROWS), of(ROWS, N), (M, N)))]


def _looked_up(of):
    source = Terms(of(ROWS, N), (), (ROWS, N))
    return [Use(Scattered(source, Operand(torch.from_numpy(of.rng.integers(0, M, ROWS))), -1, (M, N)))]


WAYS = {
    "product": ((M, N), lambda of: _product(of, False)),
    "transposed": ((M, N), lambda of: _product(of, True)),
    "tied": ((M, N), lambda of: [*_product(of, False), *_looked_up(of)]),
    "looked up": ((M, N), _looked_up),
    "terms of a matrix": ((M, N), lambda of: [Use(Terms(of(ROWS, M, N), (0,), (M, N)))]),
    "terms": ((N,), lambda of: [Use(Terms(of(2, 3, N), (0, 1), (N,)))]),
    "one number": ((), lambda of: [Use(Terms(of(ROWS), (0,), ()))]),
    "convolution": ((2, 3, 3, 3), lambda of: [Use(Convolved(of(2, 2, 4, 4), of(2, 3, 4, 4), (2, 3, 3, 3), _CONV, False))]),
    "norm": ((9,), lambda of: [Use(Normed("layer_norm", of.near(3, 9), of.near(3, 9), (9,), (1e-5,)))]),
    "both": ((M, N), lambda of: _product(of, False) if of.rng.integers(2) else [Use(Terms(of(2, M, N), (0,), (M, N)))]),
}


def _negated(use):
    """What takes away what a use of terms or products has added."""
    r = use.record
    if isinstance(r, Terms):
        return Use(dataclasses.replace(r, values=Operand(-r.values._tensor)), use.layout)
    return Use(dataclasses.replace(r, a=Operand(-r.a._tensor)), use.layout)


def _bits(t):
    return t.contiguous().view(torch.int16 if t.itemsize == 2 else torch.int32)


def _wrong(way, passes, dtype, spread, seed=0):
    """How many elements of sums of so many passes are not those of all operands, and the kinds of what was held."""
    shape, make = WAYS[way]
    of, uses, new, kept = Numbers(dtype, seed, spread), [], [], None
    wrong, kinds = 0, set()  # kinds of what was held
    for i in range(passes):
        of.larger = 2.0 ** (2 * spread) if i % 3 == 1 else 1.0
        before, new = new, make(of)
        if i % 3 == 2:  # what was last, and large, is taken away
            new = [_negated(u) for u in before if isinstance(u.record, (Terms, Product))] or new
        uses += new
        made, kept = held.rounded(kept, uses, shape, dtype)
        kinds.add(None if kept is None else kept.kind)
        expected = settle(uses, shape, dtype)
        wrong += int((_bits(made) != _bits(expected)).sum())
    return wrong, kinds


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("way", WAYS)
def test_every_pass_has_the_bits_of_the_whole(monkeypatch, way, dtype):
    """Where single elements are made of their terms, and where the whole sum is."""
    spread = {torch.float32: 12, torch.bfloat16: 8, torch.float16: 3}[dtype]
    for share in (0, held._FALLBACK):
        monkeypatch.setattr(held, "_FALLBACK", share)
        wrong, kinds = _wrong(way, 12, dtype, spread, seed=share)
        assert wrong == 0
        assert None not in kinds


@pytest.mark.parametrize("way", ["product", "tied", "terms"])
def test_more_uses_than_the_bound_allows_for(way):
    wrong, _ = _wrong(way, held._JOINS + 9, torch.float32, 12)
    assert wrong == 0


def test_bounds_are_needed(monkeypatch):
    """A control: without bounds the sums of binary64 numbers have other bits."""
    real = partials.part

    def without(*args):
        sums, bounds = real(*args)
        return sums, bounds * 0

    monkeypatch.setattr(partials, "part", without)
    monkeypatch.setattr(np, "abs", lambda a: a * 0)
    for way, spread in (("product", 14), ("transposed", 14), ("terms", 24), ("terms of a matrix", 24)):
        assert sum(_wrong(way, 12, torch.float32, spread, seed)[0] for seed in range(20)), way


def test_what_is_not_held():
    """binary64, and two formats in one sum."""
    f64, f32 = (Numbers(d, 0, 3) for d in (torch.float64, torch.float32))
    assert held.rounded(None, _product(f64, False), (M, N), torch.float64)[1] is None
    mixed = [*_product(f32, False), *_looked_up(Numbers(torch.bfloat16, 0, 3))]
    _, kept = held.rounded(None, mixed[:1], (M, N), torch.float32)
    assert kept is not None
    made, kept = held.rounded(kept, mixed, (M, N), torch.float32)
    assert kept is None
    assert torch.equal(made, settle(mixed, (M, N), torch.float32))


def test_operands_that_change_are_noticed():
    uses = [u for _ in range(3) for u in _product(Numbers(torch.float32, 1, 4), False)]
    _, kept = held.rounded(None, uses[:2], (M, N), torch.float32)
    uses[0].record.a._tensor.add_(1)
    with pytest.raises(RuntimeError, match="modified in place"):
        held.rounded(kept, uses, (M, N), torch.float32)
