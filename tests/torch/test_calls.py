"""Calls under reproducible() whose arguments take another way: numbers in the place of tensors, packed sequences, complex numbers, a gradient for each
element of a mean. They return what the definition says, or are refused by the operator's name."""

import itertools
from fractions import Fraction

import mpmath
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("expecttest", reason="expecttest, which PyTorch's samples need, is not installed")
import opinfo_cases as cases  # noqa: E402
from exact_oracle import bits, round_rational  # noqa: E402
from torch_derivatives import along, close, numbers, objects  # noqa: E402

import repmath.torch as rt  # noqa: E402
from repmath.torch._tensors import as_array  # noqa: E402

NAMES = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64"}


@pytest.mark.parametrize("dtype", NAMES, ids=str)
def test_a_number_before_a_tensor(dtype):
    t = (numbers(40) * 3).to(dtype)
    for number, alpha in ((0.5, 2.0), (0.1, -0.3), (3, 0.1), (1e-3, 1)):
        exact = [Fraction(number) + sign * Fraction(alpha) * Fraction(float(v)) for sign in (1, -1) for v in t]
        with rt.reproducible():
            made = torch.cat([torch.add(number, t, alpha=alpha), torch.sub(number, t, alpha=alpha)])
        assert made.dtype is dtype and bits(as_array(made)).tolist() == [round_rational(v, NAMES[dtype]) for v in exact]


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("name", ["LSTM", "GRU", "RNN"])
def test_packed_sequences(name, bidirectional):
    """Each has the bits of a call of its own, with states that are given or not."""
    torch.manual_seed(1)
    layer = getattr(torch.nn, name)(5, 6, 2, bidirectional=bidirectional)
    x, lengths = torch.randn(7, 3, 5), [7, 4, 2]
    state = torch.randn(2 * (1 + bidirectional), 3, 6)
    rnn = torch.nn.utils.rnn
    for given in (None, (state, state.flip(0)) if name == "LSTM" else state):
        with rt.reproducible():
            made, last = layer(rnn.pack_padded_sequence(x, lengths), given)
            made, _ = rnn.pad_packed_sequence(made)
            for i, n in enumerate(lengths):
                own = (
                    given
                    if given is None
                    else tuple(s[:, i : i + 1] for s in given)
                    if name == "LSTM"
                    else given[:, i : i + 1]
                )
                want, end = layer(x[:n, i : i + 1], own)
                assert torch.equal(made[:n, i : i + 1], want)
                for a, b in zip(*((v if name == "LSTM" else (v,)) for v in (last, end)), strict=True):
                    assert torch.equal(a[:, i : i + 1], b)


def test_complex_numbers_are_refused_by_name():
    """Or PyTorch refuses them too; what only moves them has its result."""
    refused = 0
    for name, op in cases.DATABASE.items():
        if torch.complex64 not in op.supported_dtypes("cpu") or name.startswith("jiterator"):
            continue
        for sample in itertools.islice(op.sample_inputs_func(op, "cpu", torch.complex64, False), 2):
            try:
                with rt.reproducible():
                    op(sample.input, *sample.args, **sample.kwargs)
            except rt.UncoveredOperatorError:
                refused += 1
            except Exception as error:
                with pytest.raises(type(error)):
                    op(sample.input, *sample.args, **sample.kwargs)
    assert refused > 100


@pytest.mark.parametrize("name", ["addmm", "addmv", "addbmm", "baddbmm", "addr"])
def test_products_of_other_formats(name):
    ones = {1: torch.ones(3), 2: torch.ones(3, 3), 3: torch.ones(3, 3, 3)}
    c, a, b = {"addmm": (2, 2, 2), "addmv": (1, 2, 1), "addbmm": (2, 3, 3), "baddbmm": (3, 3, 3), "addr": (2, 1, 1)}[name]
    function = getattr(torch, name)
    for dtype in (torch.complex64, torch.complex128):
        matrices = [ones[n].to(dtype) for n in (c, a, b)]
        if name in ("addbmm", "addr"):
            with pytest.raises(rt.UncoveredOperatorError, match=f"aten.{name}.default"), rt.reproducible():
                function(*matrices)
        else:
            with rt.reproducible():
                assert torch.equal(function(*matrices), torch.full_like(matrices[0], 4))
    wide = ones[c].double()
    with pytest.raises(RuntimeError), rt.reproducible():
        function(wide, ones[a], ones[b], beta=0.5)


def root_of(name, reduction):
    """The root of 1 and a loss of x and 1/8."""
    function, options = (
        getattr(torch.nn.functional, name),
        {"smooth_l1_loss": {"beta": 0.5}, "huber_loss": {"delta": 0.5}}.get(name, {}),
    )
    return lambda x: function(x, torch.full_like(x, 0.125), reduction=reduction, **options).add(1.0).sqrt().sum()


def exact_root(name, reduction):
    def term(v):
        d = v - mpmath.mpf(0.125)
        if name == "mse_loss":
            return d * d
        inner = d * d / 2 if abs(d) < 0.5 else (abs(d) - mpmath.mpf(0.25)) / 2
        return inner * 2 if name == "smooth_l1_loss" else inner

    def call(x):
        terms = [term(v) for v in x]
        if reduction == "none":
            return sum(mpmath.sqrt(1 + v) for v in terms)
        return mpmath.sqrt(1 + mpmath.fsum(terms) / (len(terms) if reduction == "mean" else 1))

    return call


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", ["mse_loss", "smooth_l1_loss", "huber_loss"])
def test_second_derivatives_of_losses(name, reduction):
    """Where the loss enters the result nonlinearly, as in a root, the gradient by the loss's gradient is one for each element."""
    x, v = numbers(7), numbers(7, seed=2)
    with mpmath.workprec(400):
        exact, units = exact_root(name, reduction), objects(torch.eye(7))
        want = [along(lambda at, u=u: along(exact, at, objects(v)), objects(x), u) for u in units]
        for dtype, sure in ((torch.float32, 17), (torch.float64, 45)):
            with rt.reproducible():
                y = x.to(dtype).requires_grad_()
                (g,) = torch.autograd.grad(root_of(name, reduction)(y), y, create_graph=True)
                (h,) = torch.autograd.grad((g * v.to(dtype)).sum(), y)
            assert h.dtype is dtype and close(h, want, sure)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
def test_a_gradient_for_each_element_of_a_mean(dtype):
    """As the table says: 2 g (x - y) and the quotient are rounded to binary64, and the result to the format."""
    g, x, y = (numbers(33, seed=i).to(dtype) for i in range(3))
    with rt.reproducible():
        made = torch.ops.aten.mse_loss_backward(g, x, y, 1)
        total = torch.ops.aten.mse_loss_backward(g, x, y, 2)
    exact = [2 * Fraction(float(a)) * (Fraction(float(b)) - Fraction(float(c))) for a, b, c in zip(g, x, y, strict=True)]
    want = [round_rational(Fraction(float(v) / 33), NAMES[dtype]) for v in exact]
    assert bits(as_array(made)).tolist() == want
    assert bits(as_array(total)).tolist() == [round_rational(v, NAMES[dtype]) for v in exact]
    with pytest.raises((RuntimeError, rt.UncoveredOperatorError)), rt.reproducible():
        torch.ops.aten.mse_loss_backward(g[:5], x, y, 1)


def test_nested_tensors():
    """Ragged rows are made of operators that are covered; other nested tensors are refused by the operator's name."""
    rows = [numbers(2, 3).float(), numbers(4, 3, seed=2).float()]
    w = numbers(5, 3, seed=3).float()
    ragged, other = torch.nested.nested_tensor(rows, layout=torch.jagged), torch.nested.nested_tensor(rows)
    with rt.reproducible():
        made = torch.nn.functional.linear((ragged * 0.1).exp(), w)
        want = torch.nn.functional.linear((torch.cat(rows) * 0.1).exp(), w)
    assert torch.equal(made.values(), want)
    with pytest.raises(rt.UncoveredOperatorError, match=r"aten.mul.*nested tensors are not"), rt.reproducible():
        other * 0.1
    loose = rt.reproducible(strict=False)
    with loose:
        made = other * 0.5
    assert torch.equal(made.unbind()[1], rows[1] * 0.5) and sum(loose.uncovered.values()) == 1
