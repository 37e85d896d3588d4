"""Operators under reproducible() on PyTorch's own samples, against the same operators in binary64.

Every OpInfo is here but those that opinfo_names.py names. A result must be a number of its format that some number beside the binary64
value rounds to: that value is itself off by some units of its last place, of the largest element where sums cancel. Composed
functions, which round at each step, may be off by some units of rounding. The arithmetic of float64 is compared with rational numbers
and mpmath's.
"""

from fractions import Fraction

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("expecttest", reason="expecttest, which PyTorch's samples need, is not installed")

import opinfo_cases as cases  # noqa: E402
import opinfo_names as names  # noqa: E402
from opinfo_cases import DATABASE, arguments, samples, scale_of, steps, tensors, to, wrong  # noqa: E402

import repmath.torch as rt  # noqa: E402
from repmath.torch._aten.table import OPERATORS  # noqa: E402

TESTED = [name for name in DATABASE if name not in {*names.OUTSIDE, *names.WITHOUT_SAMPLES}]
# Those of the clamps are no errors of PyTorch's operators, but of its reference implementations.
REFUSING = [name for name in TESTED if DATABASE[name].error_inputs_func is not None and not name.startswith("clamp_")]
COUNTS = {torch.float32: 8, torch.float16: 3, torch.bfloat16: 3}


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """The samples are small: threads only cost time."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_the_names_are_pytorchs():
    """What a newer PyTorch has in addition is tested; what it does not have any more must go."""
    known = [*names.OUTSIDE, *names.WITHOUT_SAMPLES, *names.ANY_NUMBERS, *names.REFUSED, *names.GRADIENT_COMPOSED]
    assert set(known) <= set(DATABASE)


def in_the_block(name, refused, call):
    """What the call returns inside; None where it is refused for the known reason."""
    try:
        with rt.reproducible():
            return call()
    except rt.UncoveredOperatorError as error:
        refused.append(str(error))
        assert name in names.REFUSED and names.REFUSED[name] in str(error)
        return None


def differs_by_design(name, sample):
    """softplus is the function itself beyond its threshold."""
    return name == "nn.functional.softplus" and sample.kwargs.get("threshold", 20) < 20


@pytest.mark.parametrize("name", TESTED)
def test_samples(name):
    op, checked, refused = DATABASE[name], 0, []
    for dtype in (d for d in COUNTS if d in op.supported_dtypes("cpu")):
        for number, sample in enumerate(samples(op, dtype, COUNTS[dtype])):
            args, keywords = arguments(sample, dtype)
            try:
                plain = tensors(op(*args, **keywords))
            except (RuntimeError, NotImplementedError):
                continue  # no sample of this format
            if differs_by_design(name, sample):
                continue
            ours = in_the_block(name, refused, lambda: tensors(op(*args, **keywords)))  # noqa: B023
            if ours is None:
                continue
            checked += 1
            compare(name, op, args, keywords, ours, plain)
            if number == 0 and name not in names.ANY_NUMBERS:
                written_has_the_same_bits(op, dtype, sample, ours)
    assert checked, refused


def compare(name, op, args, keywords, ours, plain):
    if name.startswith(("native_", "_native")):  # statistics are not returned
        ours, plain = ours[:1], plain[:1]
    assert [(t.shape, t.dtype) for t in ours] == [(t.shape, t.dtype) for t in plain]
    if name in names.ANY_NUMBERS:
        return
    wide = tensors(op(*to(args, torch.float64), **to(keywords, torch.float64)))
    scale = scale_of(args, keywords, wide)
    for a, b in zip(ours, wide, strict=False):
        if not a.is_floating_point():
            assert a.is_complex() or torch.equal(a, b)
        elif name == "nextafter":
            assert torch.equal(a, plain[0])
        elif name in names.COMPOSED or a.dtype is torch.float64:
            assert steps(a, b, scale) <= names.STEPS.get(name, 8)
        else:
            assert wrong(a, b) == 0


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.numpy(force=True).tobytes() == b.numpy(force=True).tobytes()


def written_has_the_same_bits(op, dtype, sample, ours):
    """In place, and with out=, where PyTorch allows it."""
    if dtype is torch.bfloat16:
        return
    for way in (cases.in_place, cases.with_out):
        plain = way(op, *arguments(sample, dtype))
        if plain is not None and plain.is_floating_point():
            made = way(op, *arguments(sample, dtype), mode=rt.reproducible())
            assert made is not None and same(made, ours[0]), way.__name__


@pytest.mark.parametrize("name", REFUSING)
def test_errors(name):
    """What PyTorch refuses is refused in the same way."""
    for bad in DATABASE[name].error_inputs("cpu"):
        s = bad.sample_input
        with pytest.raises(bad.error_type), rt.reproducible():
            DATABASE[name](s.input, *s.args, **s.kwargs)


def test_every_operator_of_the_table_is_reached():
    """By some tested name, or it is named with its own test; and an operator that is covered by now is no longer outside."""
    rounding = {str(o) for o, line in OPERATORS.items() if line.way != "moves" and str(o) == f"aten.{line.name}"}
    reached = {name: {str(o) for o in cases.reached(op, 8)} for name, op in DATABASE.items()}
    by_tested = set().union(*(reached[name] for name in TESTED))
    elsewhere = {o for group in names.UNREACHED.values() for o in group}
    assert sorted(set().union(*reached.values()) & rounding - by_tested - elsewhere) == []
    assert sorted(rounding - by_tested) == sorted(elsewhere)


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


def test_control():
    """The check finds results of binary32 arithmetic."""
    x = torch.randn(4, 300, generator=torch.Generator().manual_seed(1))
    assert wrong(x.exp().sum(1, dtype=torch.float32), x.double().exp().sum(1))
    assert wrong(x.half().exp() * 3, x.half().double().exp() * 3)
