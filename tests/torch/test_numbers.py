"""Powers that PyTorch's optimisers take of Python's numbers: correctly rounded inside of reproducible(), whatever the C library does."""

import os
import pickle
import platform
import subprocess
import sys

import gmpy2
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
import repmath.torch as rt  # noqa: E402
from repmath.torch import _optimizer_numbers  # noqa: E402
from repmath.torch._optimizer_numbers import Number  # noqa: E402


def exact_power(x, y):
    """MPFR's, rounded once to binary64: wide enough for its double rounding to be seen, subnormal numbers included."""
    with gmpy2.context(precision=53, emin=-1073, emax=1024, subnormalize=True):
        return float(gmpy2.mpfr(x) ** gmpy2.mpfr(y))


def test_powers():
    """Against MPFR: all steps of a training for betas as they are used, and the powers of the other optimisers."""
    pairs = [(b / 1000, float(s)) for b in (900, 909, 950, 980, 995, 997, 998, 999) for s in range(1, 3000)]
    pairs += [(0.96, s * 0.004) for s in range(1, 2000)]
    pairs += [(1 + 1e-4 * s, 0.75) for s in range(1, 500)] + [(float(s), -0.8) for s in range(1, 500)]
    pairs += [
        (0.5, 1074.0),
        (0.5, 1075.0),
        (0.9, 7000.0),
        (-0.9, 3.0),
        (-0.9, 4.0),
        (2.0, 1023.0),
        (5e-324, 0.5),
        (-3.0, -5.0),
    ]
    wrong = [(x, y) for x, y in pairs if Number(x) ** y != exact_power(x, y) or x ** Number(y) != exact_power(x, y)]
    assert not wrong
    assert all(type(Number(x) ** y) is type(x ** Number(y)) is Number for x, y in pairs[:10])
    if platform.libc_ver()[0] == "glibc" and platform.machine() == "x86_64":
        # The control: the C library's own powers are not all correctly rounded.
        assert any(
            x**y != exact_power(x, y) for x, y in ((b / 10000, s) for b in range(9900, 9999) for s in range(200, 1000))
        )


@pytest.mark.parametrize(
    "x, y",
    [
        (0.0, -1.0),
        (-8.0, 1 / 3),
        (1e300, 2.0),
        (float("inf"), -1.0),
        (float("nan"), 0.0),
        (0.0, 0.0),
        (-0.0, 3.0),
        (1.0, float("inf")),
    ]
    + [(-2.0, float("-inf")), (1e-300, 2.0), (-1e-300, 3.0), (4.0, 0), (2, 0.5)],
)
def test_powers_that_python_decides(x, y):
    def call(a, b):
        try:
            return repr(a**b)
        except (ArithmeticError, ValueError) as error:
            return type(error), str(error)

    want = call(float(x), float(y))
    if want[0] is OverflowError:
        want = OverflowError, "(34, 'Numerical result out of range')"
    assert call(Number(x), y) == want == call(x, Number(y))


def test_a_number_is_a_float():
    n = Number(0.997)
    for made in (n + 1, 1 - n, n * 2, 2 / n, n / 3, -n, abs(n), n - n, 1 + n * 2.5):
        assert type(made) is Number
    assert 1 - n == 1 - 0.997 and type(n < 2) is bool and type(float(n)) is float
    assert type(pickle.loads(pickle.dumps(n))) is float and torch.tensor(n, dtype=torch.float64).item() == 0.997
    t = torch.ones(2, dtype=torch.float64)
    assert torch.equal(n * t, 0.997 * t) and torch.equal(t - n, t - 0.997)
    with pytest.raises(TypeError):
        pow(n, 2, 3)
    with pytest.raises(TypeError):
        n ** "2"


def test_only_optimisers_get_such_numbers():
    with rt.reproducible():
        p = torch.ones(3, requires_grad=True)
        p.grad = torch.ones(3)
        update = torch.optim.NAdam([p], lr=torch.tensor(0.002))
        update.step()
        assert type(torch.ones(()).item()) is float

    def leaves(value):
        if isinstance(value, dict):
            return [v for w in value.values() for v in leaves(w)]
        return [v for w in value for v in leaves(w)] if isinstance(value, (list, tuple)) else [value]

    assert not any(isinstance(v, Number) for v in leaves(update.state_dict()))


def digests():
    """Of optimisers at the steps where powers of the C library differ between CPUs."""
    found = []
    with rt.reproducible():
        torch.manual_seed(1)
        start, g = torch.randn(200, dtype=torch.float64), torch.randn(200, dtype=torch.float64)
        for kind in ("Adam", "AdamW", "NAdam", "Adamax", "RAdam", "ASGD"):
            for foreach in (False, True):
                p = start.clone().requires_grad_()
                p.grad = g
                options = {} if kind == "ASGD" else {"betas": (0.9, 0.997)}
                update = getattr(torch.optim, kind)([p], foreach=foreach, **options)
                update.step()
                for step in range(258, 278):
                    update.state[p]["step"].fill_(step - 1)
                    update.step()
                found.append(rt.digest(p, update))
    return found


@pytest.mark.long
def test_optimisers_with_another_c_library():
    """glibc without its kernels for fused multiplication gives other powers: no bit of an optimiser changes. The control: without ours
    they change."""
    if platform.libc_ver()[0] != "glibc" or platform.machine() != "x86_64":
        pytest.skip("the C library's kernels are chosen by glibc's tunables on x86-64")
    here = os.path.dirname(__file__)
    program = f"import sys; sys.path.insert(0, {here!r}); import test_numbers as t; print(0.997**267); print(*t.digests());"
    program += "t._optimizer_numbers.power = float.__pow__; print(*t.digests())"
    found = []
    for tunables in ("", "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4"):
        environment = os.environ | {"GLIBC_TUNABLES": tunables}
        found.append(
            subprocess.run(
                [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
            ).stdout
        )
    (power, ours, plain), (other_power, our_others, plain_others) = (text.splitlines() for text in found)
    assert ours == our_others and len(set(ours.split())) > 6
    assert (plain != plain_others) == (power != other_power)
    assert _optimizer_numbers.power is not float.__pow__
