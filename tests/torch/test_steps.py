"""Prepared calls of several elementwise steps have the bits of the table's functions."""

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from prepared_calls import FORMATS, NUMBERS, by_mode, by_table, copied, values  # noqa: E402

import repmath.torch as rt  # noqa: E402
from repmath import _core  # noqa: E402
from repmath.torch._aten import steps  # noqa: E402
from repmath.torch._aten.table import OPERATORS  # noqa: E402
from repmath.torch._tensors import fills_memory  # noqa: E402


def own_name(overload):
    return f"{OPERATORS[overload].function}.{overload._overloadname.removesuffix('_out')}"


OVERLOADS = [
    f
    for f, o in OPERATORS.items()
    if (own_name(f) in steps.RECIPES or o.function in steps.RECIPES) and str(f) not in ("aten.pow_.Scalar", "aten.glu.out")
]
# The shapes of two operands; whether a call takes them.
LAYOUTS = {
    "alike": ((4, 6), (4, 6), True),
    "single": ((), (), True),
    "row": ((3, 4, 6), (6,), True),
    "column": ((3, 4, 6), (4, 1), True),
    "outer": ((5, 2), (3, 1, 2), True),
    "beside a number": ((4, 6), (), True),
    "transposed": ((4, 6), (4, 6), False),
    "sliced": ((4, 6), (4, 6), False),
    "shifted": ((4, 6), (4, 6), True),
    "nothing": ((0, 6), (0, 6), False),
    "many": ((40, 64), (40, 64), True),
    "blocks": ((81, 64), (81, 64), True),
    "rows in blocks": ((81, 64), (64,), True),
    "columns in blocks": ((81, 64), (81, 1), True),
    "a number in blocks": ((81, 64), (), True),
    "outer in blocks": ((70, 1), (66,), True),
}
CHOICES = {
    "approximate": ("tanh", "none"),
    "rounding_mode": ("floor", "trunc", None),
    "self_is_result": (False,),
    "is_result": (False, True),
}


def tensor(overload, name, layout, dtype, place, seed):
    """An operand; probabilities, shapes of one, and whole numbers where an operator has them."""
    base, function = overload.overloadpacket.__name__, OPERATORS[overload].function
    shape = LAYOUTS[layout][min(place, 1)]
    if name == "buffer":
        return torch.empty(0, dtype=dtype)
    if function == "log_sigmoid_forward" or base.startswith("log_sigmoid"):
        shape = LAYOUTS[layout][0]
    if function == "ldexp" and place == 1 and seed % 3:
        return torch.randint(
            -30, 30, shape, generator=torch.Generator().manual_seed(seed), dtype=(torch.int64, torch.int32)[seed % 2]
        )
    x = values(dtype, torch.Size(shape).numel() + 1, seed + place)[:-1].view(shape)
    if layout == "shifted":
        x = values(dtype, torch.Size(shape).numel() + 1, seed + place)[1:].view(shape)
    if function.startswith("logit") and seed % 2:
        x = torch.where(x.abs() <= 1, x.abs(), x)
    if place == 0 and layout == "transposed":
        x = x.t().contiguous().t()
    if place == 0 and layout == "sliced":
        x = x.repeat(1, 2)[:, ::2]
    return x


def calls(overload, layout, dtype, seed):
    """Arguments of an operator: its tensors, with some numbers and each choice."""
    args, keywords, open_places, place = [], {}, [], 0
    for a in overload._schema.arguments:
        kind = str(a.type)
        if a.is_out:
            continue
        if "Tensor" in kind:
            given = [tensor(overload, a.name, layout, dtype, place, seed)]
            if place == 1 and OPERATORS[overload].function in ("divide_by_mode", "floor_divide"):
                given += [1.0, 0.7, -3]
            if kind == "Optional[Tensor]":
                given.append(None)
            place += 1
        elif a.name in CHOICES:
            given = CHOICES[a.name]
        elif kind == "int":
            given = (-1, 0, 1) if a.name == "dim" else (0, 2)
        else:
            turned = NUMBERS[seed % 5 :] + NUMBERS[: seed % 5]
            given = [v for v in turned if a.name != "lambd" or v >= 0]
            if a.name in ("beta", "alpha", "scale"):
                given = [1, *given]
            if kind.startswith("Optional"):
                given = [None, 0.01, *given]
        open_places.append((a.name if a.kwarg_only else None, given))
    several = list(itertools.product(*(given for _, given in open_places)))
    for chosen in several[:: max(1, len(several) // 9)]:
        args = [v for (name, _), v in zip(open_places, chosen) if name is None]
        keywords = {name: v for (name, _), v in zip(open_places, chosen) if name is not None}
        yield args, keywords


@pytest.mark.parametrize("overload", OVERLOADS, ids=str)
def test_bits(overload, general):
    quick = 0
    for seed, (dtype, layout) in enumerate(itertools.product(FORMATS, LAYOUTS)):
        if layout not in ("alike", "row") and seed % 3:
            continue
        if "in blocks" in layout and sum("Tensor" in str(a.type) and not a.is_out for a in overload._schema.arguments) < 2:
            continue
        for args, kwargs in calls(overload, layout, dtype, seed):
            del general[:]
            assert by_mode(overload, args, kwargs) == by_table(overload, args, kwargs), (dtype, layout, args, kwargs)
            quick += LAYOUTS[layout][2] and overload not in general
    assert quick, "the prepared call takes none"


@pytest.mark.parametrize("name", ["hardswish", "mish_backward", "logaddexp2", "hardswish_", "div_"])
def test_orders_of_axes(name, general):
    """Tensors whose elements fill memory in another order are taken, and what is new lies as they do: as PyTorch's does."""
    base, mode = getattr(torch.ops.aten, name), {"rounding_mode": "trunc"} if name == "div_" else {}
    overload, some = base.Tensor_mode if mode else base.default, False
    for shape, order in (
        ((6, 4), (1, 0)),
        ((2, 5, 6, 7), (0, 3, 1, 2)),
        ((10, 1, 7, 3), (2, 1, 3, 0)),
        ((2, 3, 1), (1, 0, 2)),
    ):
        dtype = torch.float64 if "hard" in name or mode else torch.float32
        x, y, one = (values(dtype, torch.Size(s).numel(), 5 + i).view(s) for i, s in enumerate((shape, shape, (1, 1))))
        x, y = x.permute(order), y.permute(order)
        binary = sum("Tensor" in str(a.type) and not a.is_out for a in overload._schema.arguments) > 1
        for args in ([x, y], [x, one], [x, y.contiguous()]) if binary else ([x],):
            del general[:]
            found = by_mode(overload, args, mode)
            assert found[:3] == by_table(overload, args, mode)[:3]
            taken, alike = overload not in general, args[-1] is one or args[-1].stride() == x.stride()
            lies = overload(*copied(args, {})[0], **mode).stride()
            assert not alike or all(n == 1 or a == b for n, a, b in zip(found[1], found[3], lies, strict=True)), (
                args,
                found,
                lies,
            )
            del general[:]
            by_mode(overload, [a.contiguous() for a in args], mode)  # some numbers are not taken at all
            assert taken == (alike and overload not in general)
            some = some or taken
    assert some


def test_a_wrong_step_is_seen(general):
    """The control: another order of operands, and a step less."""
    overload = torch.ops.aten.logaddexp2.default
    right, number = steps.calls(overload, "logaddexp2", "new")[0], _core.prepare_call(overload, None)
    args = [values(torch.float32, 64, seed) for seed in (1, 2)], {}
    try:
        for recipe in (lambda p, x, y: steps._logaddexp2(p, x, p.neg(y)), lambda p, x, y: p.add(x, y)):
            _core.prepare_call(overload, steps._call(overload, "logaddexp2", recipe, {}, "new"))
            assert by_mode(overload, *args) != by_table(overload, *args) and overload not in general
        _core.prepare_call(overload, right)
        assert by_mode(overload, *args) == by_table(overload, *args)
    finally:
        _core.prepare_call(overload, number)


@pytest.mark.parametrize("place", [0, 1, 4], ids=str)
def test_memory_that_meets(place):
    """In place, of an operand that lies over a part of it: PyTorch's error."""
    memory = values(torch.float32, 16, 3).abs()
    want = memory.clone()
    with rt.reproducible():
        if place:
            with pytest.raises(RuntimeError):
                memory[:8].xlogy_(memory[place : place + 8])
            assert torch.equal(memory.nan_to_num(), want.nan_to_num())
        else:
            memory[:8].xlogy_(memory[:8])
            assert torch.equal(memory[:8].view(torch.int32), torch.xlogy(want[:8], want[:8]).view(torch.int32))


def test_whether_elements_fill_memory():
    """As PyTorch's own question has it, of views in every order, with gaps, and whose elements are repeated."""
    rng, filled = np.random.default_rng(4), 0
    for n in range(2000):
        sizes = rng.choice([1, 2, 3, 4], rng.integers(1, 5)).tolist()
        t = torch.empty(sizes).permute(rng.permutation(len(sizes)).tolist())
        t = (t, t[:1], t[..., ::2], t.expand(2, *t.shape))[n % 4]
        assert fills_memory(t) == torch._prims_common.is_non_overlapping_and_dense_or_false(t), (t.shape, t.stride())
        filled += fills_memory(t)
    assert 500 < filled < 1500
    assert not fills_memory(torch.eye(2).to_sparse())
