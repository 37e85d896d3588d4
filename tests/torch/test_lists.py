"""Operators on lists of tensors, and fused steps of optimisers, are one call in C, with the bits of the table's functions."""

import math

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import repmath.torch as rt  # noqa: E402
from repmath import _core  # noqa: E402
from repmath.torch._aten import prepared  # noqa: E402
from repmath.torch._aten.table import FUNCTIONS, OPERATORS  # noqa: E402

FORMATS = {torch.float16: torch.int16, torch.bfloat16: torch.int16, torch.float32: torch.int32, torch.float64: torch.int64}
SHAPES = ((), (1,), (3, 5), (40,), (2, 1, 4))
NUMBERS = (0.5, 1, 0.1, -1, 2, 2.0**-30, 0.0, -0.0, 3, 1e30, math.inf, math.nan)
LISTS = [f for f, o in OPERATORS.items() if o.function in prepared.LISTS and not any(a.is_out for a in f._schema.arguments)]


def tensor(shape, dtype, seed):
    """Numbers of all kinds: special ones, ties of sums, subnormal numbers."""
    info = torch.finfo(dtype)
    special = [
        0.0,
        -0.0,
        math.inf,
        -math.inf,
        math.nan,
        info.max,
        info.tiny,
        info.smallest_normal / 2,
        1 + info.eps,
        info.eps / 2,
    ]
    generator = torch.Generator().manual_seed(seed)
    made = torch.randn(shape, generator=generator, dtype=torch.float64)
    made *= 2.0 ** torch.randint(-6, 6, made.shape, generator=generator)
    at = torch.randint(0, 2 * len(special), made.shape, generator=generator)
    chosen = torch.tensor(special + [1.0] * len(special), dtype=torch.float64)[at]
    return torch.where(at < len(special), chosen, made).to(dtype)


def arguments(overload, dtype, seed):
    """Lists and numbers as the schema has them."""
    args, kwargs, number = [], {}, NUMBERS[seed % len(NUMBERS)]
    for place, a in enumerate(overload._schema.arguments):
        kind = str(a.type)
        if kind == "List[Tensor]":
            args.append([tensor(s, dtype, seed + 10 * place + i) for i, s in enumerate(SHAPES)])
        elif kind == "List[number]":
            args.append([NUMBERS[(seed + i) % len(NUMBERS)] for i in range(len(SHAPES))])
        elif kind == "Tensor":
            args.append(tensor((), dtype, seed + 50))
        elif a.kwarg_only:
            kwargs[a.name] = number
        else:
            args.append(number)
    return args, kwargs


def copied(value):
    if isinstance(value, torch.Tensor):
        return value.new_empty_strided(value.shape, value.stride()).copy_(value)
    return [copied(v) for v in value] if isinstance(value, list) else value


def bits(tensors):
    return [(t.dtype, t.shape, t.contiguous().view(FORMATS[t.dtype]).reshape(-1).tolist()) for t in tensors]


def results(function, args, kwargs):
    """The bits of the results and of the first list after the call, or "refused"."""
    args = copied(args)
    try:
        made = function(*args, **kwargs)
    except (rt.UncoveredOperatorError, RuntimeError, TypeError, ValueError):
        made = "refused"
    return made if made is None or made == "refused" else bits(made), bits(args[0])


def by_table(overload):
    def function(*args, **kwargs):
        with _core.Environment():
            return FUNCTIONS[overload](*args, **kwargs)

    return function


def by_mode(overload):
    def function(*args, **kwargs):
        with rt.reproducible():
            return overload(*args, **kwargs)

    return function


@pytest.mark.parametrize("overload", LISTS, ids=str)
def test_bits(overload, general):
    quick = 0
    for seed, dtype in enumerate([d for d in FORMATS for _ in range(5)]):
        del general[:]
        args, kwargs = arguments(overload, dtype, seed)
        assert results(by_mode(overload), args, kwargs) == results(by_table(overload), args, kwargs), (dtype, args, kwargs)
        quick += not general
    assert quick, "the prepared call takes none"


def test_a_wrong_call_is_seen():
    """The control: a call of another function."""
    overload = torch.ops.aten._foreach_sqrt.default
    before = _core.prepare_call(overload, _core.Foreach(_core.Elementwise("operands", "new", 1, "sin"), 1, False))
    try:
        args, kwargs = arguments(overload, torch.float32, 1)
        assert results(by_mode(overload), args, kwargs) != results(by_table(overload), args, kwargs)
    finally:
        _core.prepare_call(overload, before)


def overlapping():
    """Lists whose memory meets, and what lies otherwise than the prepared call knows: (first list, second list), made anew."""
    for place in range(9):
        memory = torch.arange(1.0, 33)
        yield [memory[:8], memory[8:16]], [memory[place : place + 8], memory[16:24]]
        memory = torch.arange(1.0, 33)
        yield [memory[:8], memory[16:24]], [memory[24:], memory[place : place + 8]]
    one, other = torch.arange(1.0, 9), torch.arange(2.0, 10)
    yield [one, one], [other, other]
    yield [one, one.clone()[::2]], [one, other[::2]]
    yield [one, other[:0]], [other, other[:0]]
    yield [one, other], [other[:1], other]
    yield [one, other], [one.double(), other]
    yield [one.view(2, 4).t(), other], [other.view(4, 2), other]
    yield [one, other.to(torch.int64)], [one, other]
    yield [one, other[:1]], [one, other]
    yield [one], [one, other]


def test_memory_that_meets():
    """Results are those of the table, which writes when all are known; what PyTorch refuses is refused, and leaves all as it was."""
    for k, _ in enumerate(overlapping()):
        for name in ("_foreach_add_.List", "_foreach_mul.List", "_foreach_maximum_.List", "_foreach_addcmul_.Scalar"):
            packet, _, form = name.partition(".")
            overload = getattr(getattr(torch.ops.aten, packet), form)
            found = []
            for way in (by_mode, by_table):
                first, second = list(overlapping())[k]
                try:
                    made = way(overload)(first, second, *([second] if "addcmul" in name else []))
                except (rt.UncoveredOperatorError, RuntimeError, TypeError, ValueError):
                    made = "refused"
                found.append(
                    (
                        made if made in (None, "refused") else [t.tolist() for t in made],
                        [t.tolist() for t in (*first, *second)],
                    )
                )
            assert found[0] == found[1], (k, name)


STEPS = {"lr": 0.01, "weight_decay": 0.1, "maximize": False}
SGD = STEPS | {"momentum": 0.9, "dampening": 0.0, "nesterov": True, "is_first_step": False}
ADAM = STEPS | {"beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "amsgrad": False}
FUSED = [
    ("_fused_sgd_", SGD),
    ("_fused_sgd_", SGD | {"is_first_step": True, "maximize": True}),
    ("_fused_sgd_", SGD | {"momentum": 0.0, "nesterov": False}),
    ("_fused_sgd_", SGD | {"lr": torch.tensor(0.25)}),
    ("_fused_adam_", ADAM),
    ("_fused_adam_", ADAM | {"amsgrad": True, "maximize": True}),
    ("_fused_adamw_", ADAM | {"lr": torch.tensor(0.01, dtype=torch.float64)}),
    ("_fused_adamw_", ADAM | {"weight_decay": 0.0}),
]


def fused_arguments(name, options, dtype):
    lists = [[tensor(s, dtype, 7 * k + i) for i, s in enumerate(SHAPES)] for k in range(5)]
    for t in (*lists[3], *lists[4]):
        t.abs_()
    if name == "_fused_sgd_":
        return [*lists[:2], lists[2] if options["momentum"] else []]
    return [*lists[:4], lists[4] if options["amsgrad"] else [], [torch.tensor(float(i + 1)) for i in range(len(SHAPES))]]


def fused(name, options):
    return getattr(getattr(torch.ops.aten, name), "tensor_lr" if isinstance(options["lr"], torch.Tensor) else "default")


@pytest.mark.parametrize("name, options", FUSED, ids=lambda v: v if isinstance(v, str) else "")
def test_fused_steps(name, options, general):
    overload = fused(name, options)
    for dtype in FORMATS:
        args = fused_arguments(name, options, dtype)
        found = []
        for way in (by_mode, by_table):
            given = copied(args)
            assert way(overload)(*given, **options) is None
            found.append([bits(list_) for list_ in given])
        assert found[0] == found[1] != [bits(list_) for list_ in args]
    assert not general


def test_fused_steps_that_are_refused_write_nothing(general):
    """Numbers out of range, states that lie over others, a step before the first."""
    changes = [("lr", math.nan), ("beta1", 1.0), ("eps", -1.0), ("weight_decay", math.inf)]
    for place in range(7):
        options = ADAM | dict(changes[place : place + 1])
        args = fused_arguments("_fused_adam_", options, torch.float32)
        if place == 4:
            args[2][0] = args[0][0]
        elif place == 5:
            args[5][0].zero_()
        elif place == 6:
            memory = torch.rand(40)
            args[0][0], args[1][0], args[2][0], args[3][0] = memory[:8], memory[8:16], memory[4:12], memory[16:24]
        before = [bits(list_) for list_ in args]
        with pytest.raises((rt.UncoveredOperatorError, RuntimeError)), rt.reproducible():
            torch.ops.aten._fused_adam_(*args, **options)
        assert before == [bits(list_) for list_ in args] and general
        del general[:]
