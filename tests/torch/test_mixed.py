"""Operators under reproducible() whose tensors and numbers have several formats, with results in place and in `out`: one rounding of the
exact value, or an error; PyTorch's errors and dtypes; PyTorch's rules of memory that overlaps."""

import math
import operator
import zlib
from fractions import Fraction

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("expecttest", reason="expecttest, which PyTorch's samples need, is not installed")

import mixed_cases as mixed  # noqa: E402
import opinfo_cases as cases  # noqa: E402
import tools_path  # noqa: E402
from exact_oracle import bits, round_rational  # noqa: E402

import repmath.torch as rt  # noqa: E402
from repmath.torch._aten.table import FUNCTIONS, OPERATORS  # noqa: E402

RETURNED = tools_path.returned()
ERRORS = (RuntimeError, TypeError, ValueError, IndexError)
FORMAT = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32"}
# Their values are not defined by their arguments, or the arguments' memory is their result.
ANY_NUMBERS = ("empty", "new_empty", "random_", "set_")
# A whole number beside 16 bits is rounded to these before the next number, or a threshold, is taken: PyTorch's definition.
OF_ROUNDED = ("nextafter", "threshold", "dist")
# PyTorch's own are off by more than is allowed: at and beside poles, and where waves are far from zero.
INEXACT = ("polygamma", "special_airy_ai", "special_bessel_")
# Weights and statistics have formats of their own (test_weights_beside_16_bits); what a forward pass keeps; shapes that the schema's arguments do not fit;
# composed of a product and a sum; degrees that PyTorch would count up to (test_polynomials.py).
OWN_RULES = (
    *(f"special_{kind}" for kind in ("chebyshev", "shifted", "hermite", "laguerre", "legendre")),
    "native_",
    "batch_norm_backward",
    "_native_batch_norm",
    "log_sigmoid_forward",
    "_weight_norm_interface",
    "_ctc_loss_backward",
    "multilabel_margin_loss_backward",
    "linear",
)


@pytest.fixture(autouse=True, scope="module")
def plain_pytorch():
    """One thread, and PyTorch's own loops: oneDNN has rules of its own for formats."""
    threads, enabled = torch.get_num_threads(), torch._C._get_mkldnn_enabled()
    torch.set_num_threads(1)
    torch._C._set_mkldnn_enabled(False)
    yield
    torch.set_num_threads(threads)
    torch._C._set_mkldnn_enabled(enabled)


def problem(overload, args, kwargs, sample, mode=rt.reproducible):
    """What is wrong with a call, or None. PyTorch's own in binary64 is the oracle, for formats of at most 24 digits."""
    line, name = OPERATORS[overload], overload.overloadpacket.__name__
    plain, ours = mixed.results(overload, args, kwargs), mixed.results(overload, args, kwargs, mode)
    if isinstance(plain, Exception):
        more = "not implemented for" in str(plain)  # PyTorch has no loop of this format
        return (
            None
            if isinstance(ours, ERRORS) or (more and not isinstance(ours, Exception))
            else f"no error, or {ours!r}: {plain}"
        )
    if isinstance(ours, Exception):
        return None if isinstance(ours, rt.UncoveredOperatorError) else repr(ours)
    if [(t.dtype, t.shape) for t in ours] != [(t.dtype, t.shape) for t in plain]:
        return f"results {[t.dtype for t in ours]}, PyTorch's {[t.dtype for t in plain]}"
    wide = mixed.results(overload, mixed.widened(args, sample[0]), mixed.widened(kwargs, sample[1]))
    of_complex = any(t.is_complex() for t in cases.tensors((args, kwargs)))  # which stay as they are
    if isinstance(wide, Exception) or of_complex or name.startswith(ANY_NUMBERS + OF_ROUNDED + INEXACT):
        return None
    for a, b, own in zip(ours, wide, plain, strict=False):
        if not a.is_floating_point() and not a.is_complex():
            if not torch.equal(a, own):
                return "integers"
        elif (
            a.dtype in FORMAT
            and b.is_floating_point()
            and not any(s in RETURNED[line.name] for s in ("one rounding each", "one rounding per"))
            and cases.wrong(a, b)
        ):
            return f"{a.reshape(-1)[:3].tolist()} of {b.reshape(-1)[:3].tolist()}"
    return None


def test_every_operator(quick):
    """Of each line of the table (with --quick, of a third), a call of PyTorch's samples, each of whose tensors and numbers is given another format."""
    found, checked = [], 0
    for overload, sample in mixed.calls().items():
        if quick and zlib.crc32(str(overload).encode()) % 3:
            continue
        if OPERATORS[overload].way == "draws" or overload.overloadpacket.__name__.startswith(OWN_RULES):
            continue
        for what, args, kwargs in mixed.variants(overload, *sample):
            checked += 1
            wrong = problem(overload, args, kwargs, sample)
            if wrong:
                found.append(f"{overload}, {what}: {wrong}")
    assert checked > (4000 if quick else 15000)
    assert not found, "\n".join(found[:20])


def test_control():
    """PyTorch's own operators do not pass: those that round, and those that move elements."""
    names = {
        "fill_.Tensor",
        "cat.out",
        "block_diag.out",
        "slice_scatter.default",
        "mul.Tensor",
        "sum.default",
        "full_like.default",
    }
    caught = set()
    for overload, sample in mixed.calls().items():
        name = str(overload).removeprefix("aten.")
        if name in names and any(
            problem(overload, a, k, sample, torch.no_grad) for _, a, k in mixed.variants(overload, *sample)
        ):
            caught.add(name)
    assert caught == names


def test_lines_without_a_call():
    """Those that no sample reaches are few, and take no numbers that would be converted."""
    here = [o for o in OPERATORS if torch._C._dispatch_has_computed_kernel_for_dispatch_key(o.name(), "CPU")]
    assert 30 < len(OPERATORS) - len(here) < 60  # those of GPUs alone, which test_gpu_names.py calls
    missing = sorted({OPERATORS[o].name for o in here} - {OPERATORS[o].name for o in mixed.calls()})
    assert len(missing) < 130, missing
    from repmath.torch._aten import moves

    converting = {*moves._TOGETHER, *moves._LIKE_FIRST, *moves._NUMBERS, *moves._LIMITS}
    assert not [name for name in missing if name.split(".")[0] in converting]


# Of each format, a number beside a midpoint: binary32 is its tie, which goes to the even number below.
BESIDE = {
    torch.float16: 1 + 2.0**-11 + 2.0**-30,
    torch.bfloat16: 1 + 2.0**-8 + 2.0**-30,
    torch.float32: 1 + 2.0**-24 + 2.0**-50,
}


def near(dtype):
    return torch.full((4,), BESIDE[dtype], dtype=torch.float64)


IN_PLACE = {
    "add_": lambda x, d: x.add_(near(d) - 1),
    "sub_": lambda x, d: x.sub_(1 - near(d)),
    "mul_": lambda x, d: x.mul_(near(d)),
    "div_": lambda x, d: x.div_(1 / near(d)),
    "pow_": lambda x, d: x.mul_(2).pow_(torch.log2(near(d))),
    "addcmul_": lambda x, d: x.addcmul_(near(d) - 1, torch.ones(4, dtype=torch.float64)),
    "addcdiv_": lambda x, d: x.addcdiv_(near(d) - 1, torch.ones(4, dtype=torch.float64)),
    "clamp_": lambda x, d: x.clamp_(min=near(d)),
    "copy_": lambda x, d: x.copy_(near(d)),
    "fill_": lambda x, d: x.fill_(near(d)[0]),
    "masked_fill_": lambda x, d: x.masked_fill_(x > 0, near(d)[0]),
    "index_fill_": lambda x, d: x.index_fill_(0, torch.arange(4), near(d)[0]),
    "_foreach_copy_": lambda x, d: torch._foreach_copy_([x], [near(d)]),
    "_foreach_add_": lambda x, d: torch._foreach_add_([x], [near(d) - 1]),
    "_foreach_mul_": lambda x, d: torch._foreach_mul_([x], near(d)[0]),
    "add out": lambda x, d: torch.add(near(d), torch.zeros(4), out=x),
    "copysign out": lambda x, d: torch.copysign(near(d), x, out=x),
    "cat out": lambda x, d: torch.cat([near(d)[:2], near(d)[:2]], out=x),
    "item": lambda x, d: x.__setitem__(slice(None), BESIDE[d]),
    "mask": lambda x, d: x.__setitem__(x > 0, BESIDE[d]),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_written_once(name):
    """What is written is the exact value rounded once to the format that is written."""
    for dtype, fmt in FORMAT.items():
        want = round_rational(Fraction(BESIDE[dtype]), fmt)
        x = torch.ones(4, dtype=dtype)
        with rt.reproducible():
            IN_PLACE[name](x, dtype)
        got = bits(rt._tensors.as_array(x))
        if name == "pow_":  # 2**log2(v) is near v alone
            assert (abs(got.astype(int) - want) <= 1).all()
        else:
            assert (got == want).all(), (dtype, x)


NUMBERS = {
    "tensor": lambda v, d: torch.tensor([v], dtype=d),
    "tensor of an array": lambda v, d: torch.tensor(np.array([v]), dtype=d),
    "as_tensor": lambda v, d: torch.as_tensor([v], dtype=d),
    "asarray": lambda v, d: torch.asarray([v], dtype=d),
    "new_tensor": lambda v, d: torch.ones(1, dtype=d).new_tensor([v]),
    "full": lambda v, d: torch.full((1,), v, dtype=d),
    "full_like": lambda v, d: torch.full_like(torch.ones(1, dtype=d), v),
    "new_full": lambda v, d: torch.ones(1).new_full((1,), v, dtype=d),
    "scalar_tensor": lambda v, d: torch.scalar_tensor(v, dtype=d)[None],
    "fill_": lambda v, d: torch.ones(1, dtype=d).fill_(v),
    "masked_fill": lambda v, d: torch.ones(1, dtype=d).masked_fill(torch.ones(1, dtype=torch.bool), v),
    "index_fill": lambda v, d: torch.ones(1, dtype=d).index_fill(0, torch.tensor([0]), v),
    "scatter": lambda v, d: torch.ones(1, dtype=d).scatter(0, torch.tensor([0]), v),
    "pad": lambda v, d: torch.nn.functional.pad(torch.ones(0, dtype=d), (0, 1), value=v),
    "nan_to_num": lambda v, d: torch.full((1,), torch.nan, dtype=d).nan_to_num(v),
    "threshold": lambda v, d: torch.nn.functional.threshold(torch.zeros(1, dtype=d), 0.5, v),
    "where": lambda v, d: torch.where(torch.tensor([False]), torch.ones(1, dtype=d), v),
    "where without axes": lambda v, d: torch.where(torch.tensor([False]), torch.ones(1, dtype=d), torch.tensor(v, dtype=torch.float64)),
    "clamp": lambda v, d: torch.ones(1, dtype=d).clamp(min=v),
    "hardtanh": lambda v, d: torch.nn.functional.hardtanh(torch.full((1,), 2.0, dtype=d), 0.0, v),
    "select_scatter": lambda v, d: torch.ones(1, dtype=d).select_scatter(torch.tensor(v, dtype=torch.float64), 0, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name):
    """Also subnormal ones, and the greatest; what is beyond them raises as PyTorch does, or is infinite."""
    for dtype, fmt in FORMAT.items():
        tiny = torch.finfo(dtype).smallest_normal * torch.finfo(dtype).eps
        for v in (BESIDE[dtype], 3 * BESIDE[dtype] / 2, tiny * 1.5 * (1 - 2.0**-30), tiny * 0.5 * (1 + 2.0**-30)):
            if name in ("clamp", "hardtanh") and not 1 <= v <= 2:
                continue
            with rt.reproducible():
                made = NUMBERS[name](v, dtype)
            assert made.dtype is dtype and bits(rt._tensors.as_array(made)).tolist() == [round_rational(Fraction(v), fmt)], v
        if name in ("clamp", "hardtanh"):  # the numbers are exact, and may be beyond
            continue
        large = float(torch.finfo(dtype).max) * 4
        outcomes = []
        for mode in (torch.no_grad, rt.reproducible):
            try:
                with mode():
                    outcomes.append(NUMBERS[name](large, dtype).tolist())
            except RuntimeError as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]


def test_thresholds_are_exact():
    one = torch.ones(1)
    with rt.reproducible():
        for beside, kept in ((1 - 2.0**-40, 1.0), (1 + 2.0**-40, 0.0), (1.0, 0.0)):
            for x in (one, one.half(), one.bfloat16(), one.double()):
                assert torch.nn.functional.threshold(x, beside, 0.0).item() == kept
                assert torch.nn.functional.hardshrink(x, beside).item() == kept
                assert torch.nn.functional.hardshrink(-x, beside).item() == -kept


@pytest.mark.parametrize("name", ["sum", "cumsum", "mean", "prod", "cumprod", "nansum"])
@pytest.mark.parametrize("dtype", list(FORMAT))
def test_integers_count_as_they_are(name, dtype):
    """The terms are not rounded to the format of the result."""
    given = torch.tensor([2049, 2049, 2049, 3, 2**24 + 1, -(2**30) - 1])
    exact = [Fraction(int(v)) for v in given]
    sums = [sum(exact[: i + 1]) for i in range(len(exact))]
    products = [exact[0]]
    for v in exact[1:]:
        products.append(products[-1] * v)
    want = {"sum": [sums[-1]], "nansum": [sums[-1]], "mean": [sums[-1] / len(exact)], "cumsum": sums, "prod": [products[-1]]}
    want["cumprod"] = products
    with rt.reproducible():
        made = getattr(torch, name)(given, **({"dim": 0} if name.startswith("cum") else {}), dtype=dtype)
    assert made.dtype is dtype
    assert bits(rt._tensors.as_array(made)).reshape(-1).tolist() == [round_rational(v, FORMAT[dtype]) for v in want[name]]
    with rt.reproducible():
        assert torch.tensor([2049] * 3).sum(dtype=torch.float16) == 6148


def test_operands_count_as_they_are():
    """Tensors without axes, and integers, beside a narrower format."""
    x = torch.randn(399, generator=torch.Generator().manual_seed(1))
    d, whole = torch.tensor(0.1, dtype=torch.float64), torch.arange(2**24 - 199, 2**24 + 200)
    exact, integers, tenth = [Fraction(float(v)) for v in x], [int(v) for v in whole], Fraction(0.1)
    with rt.reproducible():
        made = {
            "mul": (x * d, [v * tenth for v in exact]),
            "div": (x / d, [v / tenth for v in exact]),
            "add": (x + d, [v + tenth for v in exact]),
            "sub": (d - x, [tenth - v for v in exact]),
            "addcmul": (x.addcmul(x, d), [v + v * tenth for v in exact]),
            "alpha": (torch.add(x, d, alpha=3), [v + 3 * tenth for v in exact]),
            "integers": (x * whole, [v * i for v, i in zip(exact, integers, strict=True)]),
            "sum of both": (whole + x, [v + i for v, i in zip(exact, integers, strict=True)]),
            "remainder": (torch.remainder(x, d), [v % tenth for v in exact]),
            "maximum": (torch.maximum(x, d), [max(v, tenth) for v in exact]),
            "converted": ((whole * 2**30 + 1).to(torch.bfloat16), None),
        }
    assert made.pop("converted")[0].tolist() == [float(2**54)] * 399
    for name, (ours, want) in made.items():
        assert ours.dtype is torch.float32
        assert bits(ours.numpy()).tolist() == [round_rational(v, "f32") for v in want], name


def test_long_integers():
    """Conversions round once, however many digits an integer has."""
    generator = torch.Generator().manual_seed(2)
    given = torch.randint(-(2**63), 2**63 - 1, (300,), generator=generator)
    given[:6] = torch.tensor([2**63 - 1, -(2**63), 2**53 + 1, 2**62 + 2**38 + 1, 2**62 + 2**54 + 1, -(2**62) - 2**54 - 1])
    for dtype, fmt in {**FORMAT, torch.float64: "f64"}.items():
        with rt.reproducible():
            made = [
                given.to(dtype),
                torch.cat([torch.ones(0, dtype=dtype), given]),
                torch.ones(300, dtype=dtype).copy_(given),
            ]
        for t in made:
            assert bits(rt._tensors.as_array(t)).tolist() == [round_rational(Fraction(int(v)), fmt) for v in given]


def test_weights_beside_16_bits():
    """Those of float32 are taken, others refused as PyTorch refuses them."""
    x, w = torch.randn(4, 6, dtype=torch.bfloat16), torch.rand(6)
    with rt.reproducible():
        assert torch.nn.functional.layer_norm(x, (6,), w, w).dtype is torch.bfloat16
        assert torch.nn.functional.batch_norm(x, w.clone(), w.clone(), w, w, True).dtype is torch.bfloat16
        for bad in (w.double(), w.half()):
            with pytest.raises(RuntimeError):
                torch.nn.functional.layer_norm(x, (6,), bad, bad)
            with pytest.raises(RuntimeError):
                torch.nn.functional.linear(x, bad[None])


def outcome(call, mode):
    try:
        with mode():
            call()
    except ERRORS as error:
        return type(error), str(error).splitlines()[0]
    return None


def shifted(make):
    x = torch.arange(1.0, 9)
    return make(x[1:], x[:-1])


WRITTEN = {
    "add_": lambda t, y: t.add_(y),
    "mul_": lambda t, y: t.mul_(y),
    "copy_": lambda t, y: t.copy_(y),
    "exp out": lambda t, y: torch.exp(y, out=t),
    "add out": lambda t, y: torch.add(y, 1.0, out=t),
    "addcmul_": lambda t, y: t.addcmul_(y, y),
    "lerp_": lambda t, y: t.lerp_(y, 0.5),
    "clamp_ by tensors": lambda t, y: t.clamp_(min=y),
    "floor out": lambda t, y: torch.floor(y, out=t),
    "copysign_": lambda t, y: t.copysign_(y),
    "_foreach_add_": lambda t, y: torch._foreach_add_([t], [y]),
    "index_add_": lambda t, y: t.index_add_(0, torch.arange(7), y),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_memory_that_overlaps(name):
    """Elements that share memory, and arguments that lie over a part of what is written: PyTorch's errors, and nothing written."""
    for call in (
        lambda: shifted(WRITTEN[name]),
        lambda: WRITTEN[name](torch.ones(1).expand(7), torch.ones(7)),
    ):
        own, ours = outcome(call, torch.no_grad), outcome(call, rt.reproducible)
        assert own is not None and ours == own
    x = torch.arange(1.0, 9)
    before = x.clone()
    assert outcome(lambda: WRITTEN[name](x[1:], x[:-1]), rt.reproducible) and torch.equal(x, before)
    with rt.reproducible():  # the same elements, other ones of the same memory, and steps are allowed
        WRITTEN[name](x, x) if name != "index_add_" else x
        WRITTEN[name](x[:7] if name == "index_add_" else x[::2], torch.ones(7 if name == "index_add_" else 4))
        y = torch.ones(14)
        WRITTEN[name](y[:7], y[7:])
        WRITTEN[name](torch.ones(7, 2).t()[0], torch.ones(7))


def test_elements_that_share_memory():
    """PyTorch lets windows that overlap pass; what is left in them depends on the order of its loops."""
    with pytest.raises(rt.UncoveredOperatorError, match="share memory"), rt.reproducible():
        torch.ones(5).unfold(0, 3, 1).mul_(torch.rand(3, 3))


INTEGERS = {
    "add_": lambda x: x.add_(0.5),
    "sub_": lambda x: x.sub_(0.5),
    "mul_": lambda x: x.mul_(0.5),
    "div_": lambda x: x.div_(2),
    "pow_": lambda x: x.pow_(0.5),
    "clamp_": lambda x: x.clamp_(min=0.5),
    "exp_": lambda x: x.exp_(),
    "atan2_": lambda x: x.atan2_(torch.ones(3)),
    "addcmul_": lambda x: x.addcmul_(torch.ones(3), torch.ones(3)),
    "exp out": lambda x: torch.exp(torch.ones(3), out=x),
    "_foreach_mul_": lambda x: torch._foreach_mul_([x], 0.5),
    "where out": lambda x: torch.where(torch.ones(3) > 0, torch.ones(3), torch.ones(3), out=x),
}


@pytest.mark.parametrize("name", INTEGERS)
def test_floats_are_not_written_into_integers(name):
    for dtype in (torch.int32, torch.int64, torch.uint8, torch.bool):
        x = torch.ones(3, dtype=dtype)
        own = outcome(lambda: INTEGERS[name](x.clone()), torch.no_grad)  # noqa: B023
        ours = outcome(lambda: INTEGERS[name](x), rt.reproducible)  # noqa: B023
        assert own is not None and ours is not None and torch.equal(x, torch.ones(3, dtype=dtype))
        assert ours == own or issubclass(ours[0], RuntimeError)


def test_results_of_other_lists_are_not_half_written():
    """An error in the second of two tensors leaves the first as it was."""
    first, second = torch.ones(2), torch.ones(2, dtype=torch.int32)
    with pytest.raises(RuntimeError), rt.reproducible():
        torch._foreach_mul_([first, second], 0.5)
    assert torch.equal(first, torch.ones(2))


def test_shapes_of_results():
    for call in (lambda: torch.ones(3).add_(torch.ones(2, 3)), lambda: torch.ones(3).exp_().lerp_(torch.ones(2, 3), 0.5)):
        assert outcome(call, rt.reproducible) == outcome(call, torch.no_grad) is not None
    with rt.reproducible():
        out = torch.empty(0)
        assert torch.add(torch.ones(2), 0.1, out=out) is out and out.shape == (2,)


def test_operators_that_move_one_tensor_run_as_they_are():
    """No guard stands before views and gathered elements. Copies look for a norm's eps alone (test_integration.py)."""
    for name in (
        "view.default",
        "t.default",
        "expand.default",
        "slice.Tensor",
        "alias.default",
        "gather.default",
        "index_select.default",
    ):
        packet, _, overload = name.partition(".")
        assert FUNCTIONS[getattr(getattr(torch.ops.aten, packet), overload)] is None


COMPARISONS = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


def _compared(name):
    """Pairs of tensors and numbers on both sides of what PyTorch would round them to, and the exact outcomes."""
    tenth = [
        0.1,
        1 - 2.0**-40,
        1 + 2.0**-40,
        2.0**24 + 1,
        2**53 + 1,
        -(2**53) - 1,
        1e-46,
        -1e-46,
        1e39,
        -1e39,
        2**60 + 1,
        0.5,
        3,
        -7,
        True,
    ]
    for dtype in (*FORMAT, torch.float64):
        near = [float(torch.tensor(float(v), dtype=torch.float64).to(dtype)) for v in tenth]
        x = torch.tensor([*near, 0.0, -0.0, math.inf, -math.inf], dtype=torch.float64).to(dtype)
        yield from ((x, v, [float(e) for e in x]) for v in tenth)
    for dtype in (torch.int64, torch.int32, torch.int8, torch.uint8):
        limits = torch.iinfo(dtype)
        x = torch.tensor([limits.min, limits.max, 0, 1, 3, limits.max - 1], dtype=dtype)
        yield from ((x, v, x.tolist()) for v in (0.1, 1 - 2.0**-40, 1 + 2.0**-40, 0.5, 2.0**63, -1e30, 2.0**24 + 1))


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_are_of_the_numbers_as_they_are(name):
    exact, rounded = COMPARISONS[name], 0
    for x, value, elements in _compared(name):
        want = [exact(e, value) for e in elements]
        with rt.reproducible():
            made = [exact(x, value), getattr(x.clone(), f"{name}_")(value).bool()]
            made.append(getattr(torch, name)(x, value, out=torch.empty(0, dtype=torch.bool)))
            if isinstance(value, float):
                made.append(
                    getattr(torch, name)(x, torch.tensor(value, dtype=torch.float64)) if x.is_floating_point() else made[0]
                )
        for t in made:
            assert t.tolist() == want, (x.dtype, value)
        rounded += isinstance(value, float) and exact(x, value).tolist() != want
    assert rounded  # PyTorch's own differ: the pairs are such that rounding matters
    integers, floats = torch.tensor([2**24 + 1, 2**24 - 1, 3]), torch.tensor([2.0**24, 2.0**24, 3])
    with rt.reproducible():
        assert exact(integers, floats).tolist() == [
            exact(a, b) for a, b in zip(integers.tolist(), floats.tolist(), strict=True)
        ]
        assert exact(torch.tensor([math.nan]), 0.1).tolist() == [name == "ne"]
