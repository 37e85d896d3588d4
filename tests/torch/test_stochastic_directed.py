"""stochastic() in the modes of one direction: PyTorch's own samples against exact values of their definitions, and against the results of the same operators in
binary64, which lie between the same two numbers of a narrower format as the value does."""

from fractions import Fraction

import pytest

pytest.importorskip("expecttest", reason="expecttest, which PyTorch's samples need, is not installed")

import rounding_oracle  # noqa: E402
from opinfo_cases import DATABASE, samples, tensors  # noqa: E402
from opinfo_runs import TESTED, torch  # noqa: E402
from stochastic_calls import OPERATORS_OF_SAMPLES, SLOW, WITHOUT, bits, calls, run, runs, walk  # noqa: E402, F401
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from repmath import _random_modes  # noqa: E402
from repmath.torch import UncoveredOperatorError, _stochastic_quick, reproducible, stochastic  # noqa: E402
from repmath.torch._aten.table import OPERATORS  # noqa: E402
from repmath.torch._stochastic_operators import _SELECTS  # noqa: E402

MODES = rounding_oracle.DIRECTED
NARROW = (torch.float32, torch.bfloat16, torch.float16)
pytestmark = pytest.mark.filterwarnings("ignore")


class Recorded(TorchDispatchMode):
    """Keeps the calls of operators that round, with copies of their arguments."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        line = OPERATORS.get(func)
        if line is None or line.way != "rounds" or line.function in _SELECTS:
            return func(*args, **(kwargs or {}))
        kept = copied((args, kwargs or {}))
        made = func(*args, **(kwargs or {}))
        self.calls.append((func, *kept, copied(made)))
        return made


def copied(value):
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, (list, tuple)):
        return type(value)(map(copied, value)) if type(value) in (list, tuple) else tuple(map(copied, value))
    return {k: copied(v) for k, v in value.items()} if isinstance(value, dict) else value


def widened(value):
    if isinstance(value, torch.dtype):
        return torch.float64 if value.is_floating_point else value
    if isinstance(value, torch.Tensor):
        return value.double() if value.is_floating_point() else value
    if isinstance(value, (list, tuple)):
        return type(value)(map(widened, value))
    return {k: widened(v) for k, v in value.items()} if isinstance(value, dict) else value


def directed(c, near, mode):
    """Binary64 numbers that are none of the narrow format, in a direction; `near` has them to nearest."""
    n = near.double()
    over = n.abs() > c.abs()
    away = {"toward_zero": torch.zeros_like(over), "down": c < 0, "up": c > 0}[mode]
    toward = torch.where(over, torch.nextafter(near, torch.zeros_like(near)), near)
    beyond = torch.where(
        over, near, torch.nextafter(near, torch.copysign(torch.full_like(near, torch.inf), c.to(near.dtype)))
    )
    return torch.where(away, beyond, toward)


def compare(name, mode, dtypes=NARROW, most=3):
    """How many elements whose values are between two numbers of their format were compared."""
    op, compared = DATABASE[name], 0
    for dtype in (d for d in dtypes if d in op.supported_dtypes("cpu")):
        for gradients in (False, True) if op.supports_autograd and dtype in op.supported_backward_dtypes("cpu") else (False,):
            for sample in samples(op, dtype, most if dtype is torch.float32 else 1, gradients):
                try:
                    with stochastic(mode=mode), Recorded() as seen:
                        run(op, sample, dtype, gradients)
                except (RuntimeError, ValueError, TypeError, NotImplementedError, AssertionError, IndexError):
                    pass
                for call in seen.calls:
                    compared += check(*call, mode)
    return compared


def check(func, args, keywords, made, mode):
    compared = 0
    if func.overloadpacket.__name__ in ("copy_", "_to_copy") or any(t.is_complex() for t in tensors((args, made))):
        return 0
    try:
        with reproducible():
            near = func(*copied(args), **copied(keywords))
            wide = func(*widened(args), **widened(keywords))
    except (UncoveredOperatorError, RuntimeError, TypeError, ValueError):
        return 0
    for found, n, c in zip(tensors(made), tensors(near), tensors(wide), strict=True):
        if found.dtype not in NARROW or c.dtype is not torch.float64 or found.layout is not torch.strided:
            continue
        between = c.isfinite() & (c.to(found.dtype).double() != c)
        between &= n == c.to(found.dtype)  # else the operator itself rounds several times
        want = torch.where(between, directed(c, n, mode), found)
        same = (found == want) | ~between
        assert same.all(), (func, args, found[~same], n[~same], c[~same], want[~same])
        compared += int(between.sum())
    return compared


@pytest.mark.sample(40)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", [n for n in TESTED if not n.startswith(WITHOUT) and n not in SLOW])
def test_samples_beside_binary64(name, mode):
    compare(name, mode)


@pytest.mark.sample(40)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", [n for n in TESTED if not n.startswith(WITHOUT)])
def test_all_of_them_run(name, mode):
    """What reproducible() has, strictly; in binary64 and of complex numbers too."""
    walk(name, mode, NARROW if name in SLOW else (*NARROW, torch.float64, torch.complex64))


@pytest.mark.sample(3)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", OPERATORS_OF_SAMPLES)
def test_samples_by_their_definitions(name, mode, calls):  # noqa: F811
    if (name, mode) == ("logsumexp", "up"):  # MPFR cannot tell some values from numbers
        x = torch.tensor([1000.0, -1000.0])
        with stochastic(mode=mode):
            assert torch.logsumexp(x, 0) == torch.nextafter(x[0], 2 * x[0])
        return
    assert runs(name, mode, calls, (*NARROW, torch.float64) if name in ("cumsum", "prod", "hypot") else NARROW) > 0


FMTS = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64"}
HAIRS = {torch.float16: 2.0**-20, torch.bfloat16: 2.0**-120, torch.float32: 2.0**-140, torch.float64: 2.0**-1000}
aten = torch.ops.aten
# Of x = (a, h), a number and what is far below its last place, each of another family: the value is a + h.
SUMS = {
    "add": lambda x: x[:1] + x[1:],
    "add_": lambda x: x[:1].clone().add_(x[1:]),
    "add with alpha": lambda x: torch.add(x[:1], x[1:] / 2, alpha=2),
    "sub": lambda x: x[:1] - -x[1:],
    "addcmul": lambda x: torch.addcmul(x[:1], x[1:], torch.ones_like(x[:1])),
    "addcdiv": lambda x: torch.addcdiv(x[:1], x[1:], torch.ones_like(x[:1])),
    "lerp": lambda x: torch.lerp(x[:1], x[:1] + 0, 0.5) if x[1] == 0 else x.sum(0, keepdim=True),
    "sum": torch.sum,
    "sum of an axis": lambda x: x[None].sum(1),
    "mean": lambda x: (x * 2).mean(),
    "mean of three": lambda x: torch.cat((x * 3, x[:1] * 0)).mean(),
    "nansum": lambda x: aten.nansum(x),
    "cumsum": lambda x: torch.cumsum(x, 0)[1:],
    "dot": lambda x: torch.dot(x, torch.ones_like(x)),
    "mv": lambda x: torch.mv(x[None], torch.ones_like(x)),
    "mm": lambda x: torch.mm(x[None], torch.ones_like(x)[:, None]),
    "bmm": lambda x: torch.bmm(x[None, None], torch.ones_like(x)[None, :, None]),
    "addmm": lambda x: torch.addmm(x[1:], x[None, :1], torch.ones_like(x[:1])[:, None]),
    "baddbmm": lambda x: torch.baddbmm(x[None, None, 1:], x[None, None, :1], torch.ones_like(x[:1])[None, None]),
    "linear": lambda x: torch.nn.functional.linear(x, torch.ones_like(x)[None]),
    "conv1d": lambda x: torch.conv1d(x[None, None], torch.ones_like(x)[None, None]),
    "conv1d with a bias": lambda x: torch.conv1d(x[None, None, :1], torch.ones_like(x[:1])[None, None], x[1:]),
    "conv_transpose1d": lambda x: torch.conv_transpose1d(x[None, None], torch.ones_like(x)[None, None])[..., 1:2],
    "conv2d": lambda x: torch.conv2d(x[None, None, None], torch.ones_like(x)[None, None, None]),
    "avg_pool1d": lambda x: torch.avg_pool1d(2 * x[None], 2),
    "index_add": lambda x: torch.index_add(x[:1], 0, torch.tensor([0]), x[1:]),
    "scatter_add": lambda x: torch.scatter_add(x[:1], 0, torch.tensor([0]), x[1:]),
    "trace": lambda x: torch.trace(torch.diag(x)),
    "einsum": lambda x: torch.einsum("i,i->", x, torch.ones_like(x)),
    "sparse": lambda x: torch.sparse_coo_tensor([[0, 0]], x, (1,)).coalesce().values(),
    "prod": lambda x: torch.prod(torch.stack((x[0] + 0 * x[1], torch.ones_like(x[0])))) if x[1] == 0 else x.sum(),
}  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SUMS)
def test_values_beside_numbers(name, mode):
    """The neighbour, however near the value is; the number itself stays. Sums that are made before are exact in binary64, or of a number and 0."""
    for dtype, size in HAIRS.items():
        for sign in (1.0, -1.0):
            for hair in (0.0, size, -size):
                x = torch.tensor([sign * 1.5, hair], dtype=torch.float64).to(dtype)
                with stochastic(mode=mode):
                    made = SUMS[name](x)
                value = Fraction(sign * 1.5) + Fraction(hair)
                want = rounding_oracle.rounded(value, FMTS[dtype], mode, 0)
                assert bits(made).tolist() == [want], (dtype, sign, hair, made)


LARGE = {
    "add": lambda x: x[:1] + x[1:],
    "multiply": lambda x: x * 2,
    "divide": lambda x: x / 0.5,
    "divide by no number of a format": lambda x: x / 0.3,
    "sum": torch.sum,
    "mm": lambda x: torch.mm(x[None], torch.ones_like(x)[:, None]),
    "conv1d": lambda x: torch.conv1d(x[None, None], torch.ones_like(x)[None, None]),
    "cumsum": lambda x: torch.cumsum(x, 0)[1:],
    "cumprod": lambda x: torch.cumprod(torch.cat((x[:1], *(x.abs()[:1],) * 40)), 0)[40:],
    "prod": lambda x: torch.prod(torch.cat((x[:1], *(x.abs()[:1],) * 40))),
    "exp": lambda x: x.sign() * torch.exp(x.abs() / 2),
    "sinh": lambda x: torch.sinh(x / 4),
    "index_add": lambda x: torch.index_add(x[:1], 0, torch.tensor([0]), x[1:]),
    "addcmul": lambda x: torch.addcmul(x[:1], x[1:], torch.ones_like(x[:1])),
    "mse": lambda x: x.sign()[:1] * torch.nn.functional.mse_loss(x, -x),
    "norm": lambda x: x.sign()[:1] * torch.linalg.vector_norm(x),
    "i1": lambda x: torch.special.i1(x / 4),
    "layer_norm": lambda x: torch.nn.functional.layer_norm(torch.tensor([0.0, 0, 1], dtype=x.dtype), (3,), x[:1].expand(3).contiguous())[2:],
}  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", LARGE)
def test_beyond_the_largest_number(name, mode):
    """IEEE 754's overflow: the largest number, or infinity in its direction."""
    for dtype in FMTS:
        most = torch.finfo(dtype).max
        for sign in (1, -1):
            x = torch.full((2,), sign * most, dtype=dtype)
            with stochastic(mode=mode):
                made = LARGE[name](x)
            outward = mode == ("up" if sign > 0 else "down")
            if name in ("exp", "mse", "norm"):  # whose value is above 0; a product with a sign comes after it
                outward = mode == "up"
            assert made.reshape(-1).tolist() == [sign * (torch.inf if outward else most)] * made.numel(), (dtype, sign, made)
            with stochastic(mode=mode):
                assert (x * torch.inf).tolist() == [sign * torch.inf] * 2


def test_zeros_and_what_is_below_every_number():
    """Zeros are exact: they stay. A value that is not 0 goes to the least number on the side of its direction."""
    for dtype in FMTS:
        least = float(torch.nextafter(torch.zeros((), dtype=torch.float64), torch.ones((), dtype=torch.float64)))
        if dtype is not torch.float64:
            least = float(torch.tensor([1], dtype=torch.int16 if dtype.itemsize == 2 else torch.int32).view(dtype))
        x = torch.tensor([0.0, -1e4, -torch.inf], dtype=dtype)
        for mode in MODES:
            above = least if mode == "up" else 0.0
            with stochastic(mode=mode):
                shares, difference = torch.softmax(x, 0), x[:1] - x[:1]
                small = torch.cumprod(torch.full((1000,), -0.125, dtype=dtype), 0)[-2:]
                total = torch.sum(torch.tensor([1.5, -1.5], dtype=dtype))
                same = torch.softmax(torch.zeros(4, dtype=dtype), 0)
                powers = torch.exp(x[1:2]), torch.sigmoid(x[1:2]), torch.special.modified_bessel_k0(-x[1:2])
            assert shares[1:].tolist() == [above, 0.0], (dtype, mode)
            assert [float(p) for p in powers] == [above] * 3, (dtype, mode)
            assert difference == 0 and bool(torch.signbit(difference)) == (mode == "down")
            assert total == 0 and not torch.signbit(total)
            assert same.tolist() == [0.25] * 4
            assert small.tolist() == [-least if mode == "down" else -0.0, above]


@pytest.mark.parametrize("mode", MODES)
def test_conversions(mode):
    """Beyond the largest number, below the least, beside a number, and numbers; integers too."""
    values = [1e300, -1e300, 1e-300, -1e-300, 1 + 2.0**-50, -1 - 2.0**-50, 1 - 2.0**-50, 0.1, 1.5, -2.0, 0.0]
    x, integers = torch.tensor(values, dtype=torch.float64), [2**53 + 1, -(2**62) - 1, 2**24 + 1, 4096, -3]
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        with stochastic(mode=mode) as block:
            made, into = x.to(dtype), torch.empty(len(values), dtype=dtype).copy_(x)
            whole = torch.tensor(integers).to(dtype)
        assert block.calls == 3 - (dtype is torch.float64)  # a tensor of this format is the result itself
        wanted = [rounding_oracle.rounded(Fraction(v), FMTS[dtype], mode, 0) if v else 0 for v in values]
        assert bits(made).tolist() == bits(into).tolist() == wanted, dtype
        assert bits(whole).tolist() == [rounding_oracle.rounded(Fraction(v), FMTS[dtype], mode, 0) for v in integers], dtype


def test_limits_of_special_functions():
    """Poles and limits are exact; what is returned without being evaluated, near 1 or beyond every number, is no number of the format."""
    f, before = torch.special, {torch.float32: 1 - 2.0**-24, torch.float64: 1 - 2.0**-53}
    for dtype, below in before.items():
        x = torch.tensor([0.0, torch.inf], dtype=dtype)
        tiny, far = (torch.tensor([v], dtype=dtype) for v in (2.0**-60, 3000.0))
        for mode in MODES:
            with stochastic(mode=mode):
                assert f.modified_bessel_k0(x).tolist() == [torch.inf, 0.0]
                assert f.bessel_y0(x).tolist() == [-torch.inf, 0.0]
                assert torch.polygamma(1, x).tolist() == [torch.inf, 0.0]
                assert torch.polygamma(0, x[:1]).tolist() == [-torch.inf]
                assert f.zeta(x[1:], x[1:]).tolist() == [0.0] and f.zeta(x[:1] + 2, x[:1]).tolist() == [torch.inf]
                assert f.spherical_bessel_j0(tiny).tolist() == [1.0 if mode == "up" else below]
                assert torch.igamma(far, tiny).tolist() == [above_zero(dtype) if mode == "up" else 0.0]
                assert torch.igammac(far, tiny).tolist() == [1.0 if mode == "up" else below]
                assert f.airy_ai(far).tolist() == [above_zero(dtype) if mode == "up" else 0.0]
    for mode in rounding_oracle.OF_VALUES:
        x = torch.linspace(0.1, 3, 8, dtype=torch.float64)
        with stochastic(mode=mode):
            made = torch.polygamma(0, x)
        with stochastic(mode=mode):
            assert torch.equal(made, torch.digamma(x))


def above_zero(dtype):
    return {torch.float32: 2.0**-149, torch.float64: 2.0**-1074}[dtype]


def test_they_ask_no_words_and_filters_hold():
    x = torch.linspace(0.1, 3, 40)
    with reproducible():
        plain = torch.exp(x)
    for mode in MODES:
        made = []
        for seed, sample in ((0, 0), (5, 0), (0, 7)):
            with stochastic(seed, sample, mode) as block:
                made.append(
                    torch.cat(
                        (torch.exp(x), torch.softmax(x, 0), x[None] @ x[:, None].sum(1, keepdim=True).expand(40, 1)[:, 0])
                    )
                )
            assert block.calls == 4
        assert torch.equal(made[0], made[1]) and torch.equal(made[0], made[2])
        for options in ({"exclude": "exp*"}, {"only": "sum*"}, {"phases": "backward"}):
            with stochastic(mode=mode, **options):
                assert torch.equal(torch.exp(x), plain) and not torch.equal(made[0][:40], plain)
        with stochastic(mode="stochastic") as outer:
            with stochastic(mode=mode):
                assert torch.equal(torch.exp(x), made[0][:40])
            assert outer.calls == 0


def test_the_interval_of_a_network():
    """Sums of products of positive numbers, and functions that grow: what is rounded down stays below the exact value, and what is rounded up above it."""
    with reproducible():
        torch.manual_seed(0)
        layers = [torch.rand(6, 6) for _ in range(3)]
        x = torch.rand(5, 6)
        exact = x.double()
        for w in layers:
            exact = torch.sigmoid(exact @ w.double())
    ends = []
    for mode in ("down", "up"):
        with stochastic(mode=mode):
            y = x
            for w in layers:
                y = torch.sigmoid(y @ w)
        ends.append(y.double())
    assert (ends[0] < exact).all() and (exact < ends[1]).all() and (ends[1] - ends[0] < 2.0**-16).all()


def test_what_rounds_to_nearest_is_seen(monkeypatch):
    """A control: a softmax of one direction that is that to nearest, and balls that are."""
    place = _stochastic_quick._ask
    compare("softmax", "up", (torch.float32,))
    with monkeypatch.context() as patch:
        patch.setattr(_stochastic_quick, "_settle", lambda at, made, *rest, **more: made)
        patch.setattr(_stochastic_quick, "_ask", lambda at, made, *balls: (None, None))
        with pytest.raises(AssertionError):
            compare("softmax", "up", (torch.float32,))
    assert place is _stochastic_quick._ask
    balls = _random_modes.balls
    monkeypatch.setattr(_random_modes, "balls", lambda m, r, d, place: (balls(m, r, d, place)[0] * 0 + m.astype(d), r < 0))
    with pytest.raises(AssertionError):
        compare("cumsum", "down", (torch.float32,))
