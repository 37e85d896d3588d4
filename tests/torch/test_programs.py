"""What programs do beside operators: operators of their own, results in memory that grows, places drawn at random."""

import math
from fractions import Fraction

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import repmath.torch as rt  # noqa: E402

aten = torch.ops.aten


def numbers(*shape, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape))).to(dtype)


@torch.library.custom_op("repmath_tests::scaled_exp", mutates_args=())
def scaled_exp(x: torch.Tensor, factor: float) -> torch.Tensor:
    return (x * factor).exp()


@torch.library.custom_op("repmath_tests::add_one_", mutates_args=("x",))
def add_one_(x: torch.Tensor) -> None:
    x += 0.1


@torch.library.custom_op("repmath_tests::uncovered", mutates_args=())
def uncovered(x: torch.Tensor) -> torch.Tensor:
    return torch.linalg.eigvals(x)


def keep(ctx, inputs, output):
    ctx.made, ctx.factor = output, inputs[1]


scaled_exp.register_autograd(lambda ctx, g: (g * ctx.made * ctx.factor, None), setup_context=keep)


def test_operators_of_programs_run_inside():
    """The function of one that torch.library.custom_op makes is in the block: what it calls is the table's, or refused by its own name."""
    x = numbers(4, 300)
    with rt.reproducible():
        y = x.clone().requires_grad_()
        made = scaled_exp(y, 0.1)
        made.sum().backward()
        want = (x * 0.1).exp()
        assert torch.equal(made, want) and torch.equal(y.grad, want * 0.1)
        add_one_(z := x.clone())
        assert torch.equal(z, x + 0.1)
        with pytest.raises(rt.UncoveredOperatorError, match="aten._linalg_eigvals"):
            uncovered(x)
    assert not torch.equal(scaled_exp(x, 0.1), want)  # the control: PyTorch's own


def test_results_grow():
    """`out` of another shape, in the memory of a result that PyTorch cannot resize."""
    x = numbers(3, 4)
    with rt.reproducible():
        for out in (torch.randn(2), torch.randn(0), torch.randn(3, 5) @ torch.randn(5, 2)):
            made = torch.add(x, x, out=out)
            assert made is out and torch.equal(out, 2 * x)


def window_starts(u, size, window, made):
    """By rational numbers, as PyTorch's documentation cites them."""
    rate = Fraction(size - window, made - 1) if made > 1 else Fraction(0)
    found = [math.floor((i + Fraction(u)) * rate) - math.floor(Fraction(u) * rate) for i in range(made)]
    return [*found[:-1], size - window]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_fractional_pools(dtype):
    x, u = numbers(2, 3, 9, 11).to(dtype), torch.rand(2, 3, 2, generator=torch.Generator().manual_seed(1)).to(dtype)
    u = torch.where(u == 1, 0.5, u).to(dtype)
    x[0, 0, 4, 4] = math.nan
    with rt.reproducible():
        made, places = aten.fractional_max_pool2d(x, [2, 3], [5, 4], u)
    for n in range(2):
        for c in range(3):
            rows = window_starts(float(u[n, c, 1]), 9, 2, 5)
            columns = window_starts(float(u[n, c, 0]), 11, 3, 4)
            for i, row in enumerate(rows):
                for j, column in enumerate(columns):
                    window = x[n, c, row : row + 2, column : column + 3]
                    got, at = made[n, c, i, j], int(places[n, c, i, j])
                    assert torch.equal(x[n, c].reshape(-1)[at].isnan(), got.isnan())
                    assert bool(got.isnan()) if bool(window.isnan().any()) else got == window.max() == x[n, c].reshape(-1)[at]
    with rt.reproducible():
        with pytest.raises(RuntimeError):
            aten.fractional_max_pool2d(x, [2, 3], [9, 4], u)
        with pytest.raises(RuntimeError, match="too large"):  # of three axes PyTorch asks for one element more
            aten.fractional_max_pool3d(numbers(2, 4, 5, 6).to(dtype), [2, 2, 2], [3, 3, 3], torch.zeros(1, 2, 3, dtype=dtype))
        with pytest.raises(rt.UncoveredOperatorError, match="below 1"):
            aten.fractional_max_pool2d(x, [2, 3], [5, 4], torch.ones_like(u))
