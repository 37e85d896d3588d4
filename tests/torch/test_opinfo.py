"""Operators under reproducible() on PyTorch's own samples, against exact values.

Every OpInfo is here but those that opinfo_names.py names. Each call of an operator of the table that a sample makes is compared, some
elements of each result, with the exact value of its definition, rounded once, or once a step where it is composed: aten_exact.py,
aten_rows.py, aten_steps.py. So what PyTorch composes of operators is right where they are. Where it is one operator, every element is beside
PyTorch's value in binary64 too: a number of its format that some number beside that value rounds to, which is itself off by some units of its
last place, of the largest element where sums cancel.
"""

import pathlib
from fractions import Fraction

import pytest

pytest.importorskip("expecttest", reason="expecttest, which PyTorch's samples need, is not installed")

import aten_exact  # noqa: E402
import aten_rows  # noqa: E402, F401
import aten_steps  # noqa: E402, F401
import opinfo_cases as cases  # noqa: E402
import opinfo_names as names  # noqa: E402
from opinfo_cases import DATABASE, arguments, samples, tensors, to, wrong  # noqa: E402
from opinfo_runs import CALLS, DONE, REFUSING, TESTED, in_the_block, torch

import repmath.torch as rt  # noqa: E402
from repmath.torch._aten.table import OF_GPUS, OPERATORS  # noqa: E402

COUNTS = {torch.float32: 8, torch.float16: 3, torch.bfloat16: 3}


def test_the_names_are_pytorchs():
    """What a newer PyTorch has in addition is tested; what it does not have any more must go."""
    known = [*names.OUTSIDE, *names.WITHOUT_SAMPLES, *names.ANY_NUMBERS, *names.REFUSED, *names.GRADIENT_COMPOSED]
    assert set(known) <= set(DATABASE)


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", TESTED)
def test_samples(name):
    op, checked, refused = DATABASE[name], 0, []
    for dtype in (d for d in COUNTS if d in op.supported_dtypes("cpu")):
        for number, sample in enumerate(samples(op, dtype, COUNTS[dtype])):
            args, keywords = arguments(sample, dtype)
            try:
                plain = tensors(op(*args, **keywords))
            except RuntimeError:
                continue  # no sample of this format
            ours = in_the_block(name, refused, lambda: tensors(op(*args, **keywords)))  # noqa: B023
            if ours is None:
                continue
            CALLS.check()
            checked += 1
            compare(name, op, args, keywords, ours, plain)
            if number == 0 and name not in names.ANY_NUMBERS and not keywords.get("dropout_p"):
                written_has_the_same_bits(op, dtype, sample, ours)
    assert checked, refused
    DONE.add(name)


def test_every_definition_was_compared():
    """But those of gradients, and for each a number beside the right one was found to be wrong."""
    if set(TESTED) != DONE:
        pytest.skip("only some of the samples were run")
    rounding = {
        line.function for line in OPERATORS.values() if line.way in ("rounds", "composes") and line.name not in OF_GPUS
    }
    assert rounding == set(aten_exact.DEFINITIONS) | set(names.ELSEWHERE)
    assert set(aten_exact.DEFINITIONS) - set(CALLS.counts) == set(names.BY_GRADIENTS)
    assert {n for n in CALLS.counts if not CALLS.found[n]} == set() and set(CALLS.missing) <= set(names.ELSEWHERE)


def test_what_is_composed_is_said_to_be():
    """In the table, and so in docs/aten.md, beside the definitions that take more than one step."""
    said = {line.function for line in OPERATORS.values() if line.way == "composes" and line.name not in OF_GPUS}
    assert said - set(names.ELSEWHERE) == aten_steps.COMPOSED
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/aten.md").read_text(encoding="utf-8")
    for overload, line in OPERATORS.items():
        if line.way == "composes" and str(overload) == f"aten.{line.name}":
            assert f"| `{line.name}` | *composed*: " in page, line.name


def compare(name, op, args, keywords, ours, plain):
    assert [(t.shape, t.dtype) for t in ours] == [(t.shape, t.dtype) for t in plain]
    if name in names.ANY_NUMBERS or keywords.get("dropout_p"):
        return
    if name in (*names.COMPOSED, *names.INEXACT):
        return
    wide = tensors(op(*to(args, torch.float64), **to(keywords, torch.float64)))
    for a, b in zip(ours, wide, strict=False):
        if not a.is_floating_point():
            assert a.is_complex() or torch.equal(a, b)
        elif name == "nextafter" or name == "complex":
            assert torch.equal(a, plain[0])
        elif a.dtype is not torch.float64:
            assert wrong(a, b) == 0


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.numpy(force=True).tobytes() == b.numpy(force=True).tobytes()


def written_has_the_same_bits(op, dtype, sample, ours):
    """In place, and with out=, where PyTorch allows it."""
    if dtype is torch.bfloat16:
        return
    for way in (cases.in_place, cases.with_out):
        plain = way(op, *arguments(sample, dtype))
        if plain is not None and not plain.is_complex():
            made = way(op, *arguments(sample, dtype), mode=rt.reproducible())
            assert way is cases.with_out if made is None else same(made, ours[0].to(made.dtype)), way.__name__


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", REFUSING)
def test_errors(name):
    """What PyTorch refuses is refused in the same way."""
    for bad in DATABASE[name].error_inputs("cpu"):
        s = bad.sample_input
        with pytest.raises(bad.error_type), rt.reproducible():
            DATABASE[name](s.input, *s.args, **s.kwargs)


def test_every_operator_of_the_table_is_reached():
    """By the samples of some tested name, or it is named with its own test."""
    reached = {str(o) for name in TESTED for o in cases.reached(DATABASE[name], 12)}
    rounding = {str(o) for o, line in OPERATORS.items() if line.way != "moves" and str(o) == f"aten.{line.name}"}
    rounding -= {f"aten.{name}" for name in OF_GPUS}  # which test_gpu_names.py calls
    elsewhere = {f"aten.{o}" for group in names.UNREACHED.values() for o in group}
    assert sorted(rounding - reached) == sorted(elsewhere)


@pytest.mark.parametrize("name", names.OUTSIDE)
def test_outside(name):
    """What is named as not covered is refused: else it must be tested."""
    refused = 0
    for sample in samples(DATABASE[name], torch.float32, 3):
        args, keywords = arguments(sample, torch.float32)
        try:
            with rt.reproducible():
                DATABASE[name](*args, **keywords)
        except rt.UncoveredOperatorError:
            refused += 1
    assert refused


def numbers(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape)))


def test_lists():
    """Operators on lists have the bits of the operators on each tensor."""
    for overload in (o for o, line in OPERATORS.items() if str(o)[5:] in names.UNREACHED["test_lists"]):
        base = overload.overloadpacket.__name__.removeprefix("_foreach_").removesuffix("_")
        kinds = [(a.name, str(a.type)) for a in overload._schema.arguments if a.name not in ("alpha", "dtype")]
        of_each = {
            "List[Tensor]": lambda: [numbers(3, 4).abs(), numbers(5).abs() + 1],
            "List[number]": lambda: [0.3, 0.7],
            "Tensor": lambda: torch.tensor([0.3, 0.7] if "addc" in str(overload) else 0.3),  # noqa: B023
        }
        values = [of_each.get(kind, lambda: 0.3)() for _, kind in kinds]
        values[1:] = [v if "ord" not in name else 2 for v, (name, _) in zip(values[1:], kinds[1:], strict=True)]
        with rt.reproducible():
            want = []
            for i in range(2):
                each = [v[i] if isinstance(v, list) else v for v in values]
                if base in ("addcmul", "addcdiv"):
                    number = float(each[3][i]) if torch.is_tensor(each[3]) else each[3]
                    want.append(getattr(torch, base)(*each[:3], value=number))
                elif base in ("maximum", "minimum") and not torch.is_tensor(each[1]):
                    want.append(getattr(torch, {"maximum": "clamp_min", "minimum": "clamp_max"}[base])(*each))
                else:
                    want.append(getattr(torch, base)(*each))
            ours = overload(*values)
        ours = values[0] if ours is None else ours
        assert len(ours) == 2 and all(same(a, b) for a, b in zip(ours, want, strict=True)), overload


def test_numbers_in_place_of_tensors():
    x, half = numbers(4, 5), torch.tensor(2.5)
    with rt.reproducible():
        for mode in ("floor", "trunc"):
            assert same(torch.div(x, 2.5, rounding_mode=mode), torch.div(x, half, rounding_mode=mode))
            assert same(x.clone().div_(2.5, rounding_mode=mode), torch.div(x, half, rounding_mode=mode))
        for name in ("sub", "fmod", "remainder", "floor_divide", "clamp_max", "xlogy"):
            function, in_place = getattr(torch, name), getattr(torch.Tensor, f"{name}_")
            assert same(function(x, 2.5), function(x, half)) and same(in_place(x.clone(), 2.5), function(x, half))
        assert same(torch.xlogy(2.5, x), torch.xlogy(half, x)) and same(torch.remainder(2.5, x), torch.remainder(half, x))


def test_other_forms():
    """Operators that PyTorch calls where a gradient, a mode or an index wants it."""
    x, w, aten = numbers(6, 5), numbers(3, 5), torch.ops.aten
    index, values = [torch.tensor([1, 1, 4])], numbers(3, 5)
    with rt.reproducible():
        added = x.index_add(0, index[0], values)
        assert same(aten._unsafe_index_put(x, index, values, True), added)
        assert same(aten._index_put_impl_(x.clone(), index, values, True), added)
        for at in (torch.tensor([[1, -5, 4], [-2, 0, 0]]), torch.tensor([-5]), torch.tensor(4)):
            for terms in (numbers(5), numbers(*at.shape, 5)):
                want = x.index_put((at[..., None], torch.arange(5)), terms, accumulate=True)
                assert same(x.index_put((at,), terms, accumulate=True), want)
        with pytest.raises(IndexError):
            x.index_put((torch.tensor([6]),), values[:1], accumulate=True)
        assert same(aten.gelu_(x.clone()), aten.gelu(x)) and same(aten.relu_(x.clone()), aten.relu(x))
        assert same(aten.hardswish_(x.clone()), aten.hardswish(x)) and same(aten.hardtanh_(x.clone()), aten.hardtanh(x))
        assert same(aten.linear(x, w, x[0, :3]), aten.addmm(x[0, :3], x, w.t()))
        assert same(aten.norm.Scalar(x, 3), aten.linalg_vector_norm(x, 3))
        of_a_format = aten.norm.ScalarOpt_dim_dtype(x, 2, [1], False, dtype=torch.float64)
        assert same(of_a_format, aten.linalg_vector_norm(x, 2, [1], dtype=torch.float64))
        places = index[0][:, None].expand(3, 5)
        assert same(x.scatter(0, places, values, reduce="add"), added)
        assert same(x.clone().scatter_(0, places, values, reduce="add"), added)
        ones = x.index_add(0, index[0], torch.ones(3, 5), alpha=0.1)
        assert same(x.scatter(0, places, 0.1, reduce="add"), ones)
        assert same(x.clone().scatter_(0, places, 0.1, reduce="add"), ones)


def test_random_operators():
    """With their own generator and with the default one they draw the same; numbers come from where they should."""
    x, rates = numbers(4, 50), torch.full((4, 50), 0.25)
    calls = {
        "rand": lambda g: torch.rand(200, generator=g),
        "randn": lambda g: torch.randn(200, generator=g),
        "randint": lambda g: torch.randint(7, (200,), generator=g),
        "randint from": lambda g: torch.randint(3, 7, (200,), generator=g),
        "randperm": lambda g: torch.randperm(200, generator=g),
        "bernoulli": lambda g: torch.bernoulli(x, 0.25, generator=g),
        "bernoulli_": lambda g: torch.empty(4, 50).bernoulli_(rates, generator=g),
        "bernoulli of": lambda g: torch.bernoulli(rates, generator=g),
        "normal": lambda g: torch.normal(2.0, rates, generator=g),
    }
    with rt.reproducible():
        for name, call in calls.items():
            torch.manual_seed(5)
            assert torch.equal(call(None), call(torch.Generator().manual_seed(5))), name
        for name in ("bernoulli", "bernoulli_", "bernoulli of"):
            assert 0.1 < float(calls[name](None).mean()) < 0.4
        assert sorted(torch.randperm(9).tolist()) == list(range(9))
        assert 0 <= float(torch.rand_like(x).min()) and float(torch.rand_like(x).max()) < 1
        assert set(torch.randint_like(x, 3, 5).flatten().tolist()) == {3.0, 4.0}
        made, kept = torch.ops.aten.native_dropout(x, 0.5, True)
        assert torch.equal(made, torch.where(kept, 2 * x, 0.0)) and 50 < int(kept.sum()) < 150
        with pytest.raises(RuntimeError, match="lambda"):
            torch.empty(3).exponential_(0)


def test_binary64():
    """The nearest number to the exact one: rational numbers, and mpmath's functions of 200 bits."""
    mpmath = pytest.importorskip("mpmath")
    x, y = numbers(40).double() / 3, numbers(2, 20).double().flatten() / 7
    exact, other = ([Fraction(float(v)) for v in t] for t in (x, y))
    with rt.reproducible():
        rational = {
            "add": (x + y, [a + b for a, b in zip(exact, other, strict=True)]),
            "sub": (torch.sub(x, y, alpha=0.3), [a - b * Fraction(0.3) for a, b in zip(exact, other, strict=True)]),
            "mul": (x * y, [a * b for a, b in zip(exact, other, strict=True)]),
            "div": (x / y, [a / b for a, b in zip(exact, other, strict=True)]),
            "lerp": (x.lerp(y, 0.3), [a + (b - a) * Fraction(0.3) for a, b in zip(exact, other, strict=True)]),
            "addcmul": (x.addcmul(x, y), [a + a * b for a, b in zip(exact, other, strict=True)]),
            "sum": (x.sum()[None], [sum(exact)]),
            "mean": (x.mean()[None], [sum(exact) / 40]),
            "dot": ((x @ y)[None], [sum(a * b for a, b in zip(exact, other, strict=True))]),
            "floor": (torch.div(x * 1e30, y, rounding_mode="floor"), None),
        }
        functions = {
            f: getattr(torch, f)(x)
            for f in ("exp", "expm1", "sin", "cos", "tan", "atan", "sinh", "asinh", "tanh", "erf", "erfc")
        }
        functions |= {"log": x.abs().log(), "sqrt": x.abs().sqrt()}
    scaled = [Fraction(float(v)) for v in x * 1e30]
    rational["floor"] = (rational["floor"][0], [Fraction(a // b) for a, b in zip(scaled, other, strict=True)])
    for name, (ours, want) in rational.items():
        assert ours.tolist() == [float(v) for v in want], name
    with mpmath.workprec(200):
        for name, ours in functions.items():
            arguments_of = x.abs() if name in ("log", "sqrt") else x
            assert ours.tolist() == [float(getattr(mpmath, name)(mpmath.mpf(float(v)))) for v in arguments_of], name


def test_control():
    """The check finds results of binary32 arithmetic."""
    x = torch.randn(4, 300, generator=torch.Generator().manual_seed(1))
    assert wrong(x.exp().sum(1, dtype=torch.float32), x.double().exp().sum(1))
    assert wrong(x.half().exp() * 3, x.half().double().exp() * 3)
