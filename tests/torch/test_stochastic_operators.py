"""Operators that stochastic() rounds by their results in binary64: PyTorch's own samples against the exact values of their definitions and the words
of their elements."""

import itertools
import math
import re

import pytest

pytest.importorskip("expecttest", reason="expecttest, which PyTorch's samples need, is not installed")

import aten_rows  # noqa: E402, F401
import gmpy2  # noqa: E402
import numpy as np  # noqa: E402
import rounding_oracle  # noqa: E402
import tools_path  # noqa: E402
from drawn_gradients import beta_derivative, gamma_derivative  # noqa: E402
from stochastic_calls import FORMATS, NARROW, OPERATORS_OF_SAMPLES, SAMPLE, SEED, bits, calls, check, runs  # noqa: E402, F401

torch = pytest.importorskip("torch")

from repmath._random_balls import Last  # noqa: E402
from repmath.torch import (  # noqa: E402
    UncoveredOperatorError,
    _stochastic,
    _stochastic_complex,
    _stochastic_exact,
    _stochastic_lists,
    _stochastic_matrices,
    _stochastic_operators,
    _stochastic_quick,
    _stochastic_steps,
    _stochastic_wide,
    reproducible,
    stochastic,
)
from repmath.torch._aten.table import OF_GPUS, OPERATORS, lines  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


# Those without a handler of their own, whose elements may need an enclosure.
ENCLOSED = (
    *"remainder floor_divide i0 special.i1 cumsum cumprod prod var std var_mean std_mean logsumexp nansum trace index_add scatter_add".split(),
    *"index_put baddbmm addbmm addmv addr linalg.cross nn.functional.avg_pool2d nn.functional.avg_pool3d lerp deg2rad".split(),
    *"nn.functional.adaptive_avg_pool2d nn.functional.adaptive_avg_pool3d nn.functional.leaky_relu nn.functional.hardsigmoid".split(),
    *"nn.functional.glu nn.functional.prelu nn.functional.softshrink nn.functional.huber_loss nn.functional.smooth_l1_loss".split(),
    *"nn.functional.embedding_bag special.i0e special.i1e special.bessel_j0 special.bessel_y1 special.zeta igamma".split(),
    *"special.modified_bessel_k0 special.scaled_modified_bessel_k1 special.spherical_bessel_j0 special.airy_ai".split(),
    *"special.chebyshev_polynomial_t special.laguerre_polynomial_l special.hermite_polynomial_h addmm".split(),
)


# What an index, segments or classes choose.
CHOSEN = (
    "index_reduce[mean]",
    "index_reduce[prod]",
    "_segment_reduce[lengths]",
    "_segment_reduce[offsets]",
    "nn.functional.nll_loss",
)


@pytest.mark.parametrize("name", OPERATORS_OF_SAMPLES)
def test_samples(name, calls):
    assert runs(name, "stochastic", calls) > 0


@pytest.mark.parametrize("name", ["cumsum", "nn.functional.avg_pool2d", "index_add", "nn.functional.adaptive_avg_pool2d"])
def test_equal_chances(name, calls):
    """Of sums of numbers of few digits, none of which is a number of a narrower format."""
    assert runs(name, "random", calls, (torch.float32,)) > 0


def test_words_of_another_element_are_seen(monkeypatch, calls):
    """A control: words from element 1 on, and a stream that all results share."""
    place = _stochastic_wide._random_modes.place
    monkeypatch.setattr(
        _stochastic_wide._random_modes, "place", lambda mode, seed, stream: (*place(mode, seed, stream)[:3], 1)
    )
    with pytest.raises(AssertionError, match="element"):
        runs("cumsum", "stochastic", calls)
    monkeypatch.setattr(_stochastic_wide._random_modes, "place", lambda mode, seed, stream: place(mode, seed, SAMPLE << 32))
    with pytest.raises(AssertionError, match="element"):
        runs("var_mean", "stochastic", calls)


def test_a_value_that_depends_on_the_format_is_refused(monkeypatch):
    monkeypatch.setattr(_stochastic_wide, "has", lambda name: True)
    x = torch.linspace(0.1, 1, 2000)
    with stochastic(), pytest.raises(UncoveredOperatorError, match=r"mish.*it is not there"):
        torch.nn.functional.mish(x)
    with stochastic(strict=False) as block:
        torch.nn.functional.mish(x)
    assert sum(block.uncovered.values()) == 1


def test_what_binary64_leaves_open_is_decided():
    """A sum that is 2^-100 above the threshold of its word, on it, and below: binary64 has it below."""
    v = 2 * int(rounding_oracle.words(1, 0, 0, 1)[0]) + 1
    x = torch.tensor([1.0, (v >> 12) * 2.0**-44, (v & 4095) * 2.0**-56, 0.0])
    for more, away in ((2.0**-100, 1), (2.0**-149, 1), (0.0, 0), (-(2.0**-149), 0)):
        x[3] = more
        with stochastic(1):
            assert float(torch.ops.aten.nansum(x)) == 1 + away * 2.0**-23


@pytest.fixture
def open_balls(monkeypatch):
    """Binary64 decides nothing."""
    balls = _stochastic_wide._random_modes.balls

    def none(*arguments):
        made, undecided = balls(*arguments)
        middle = np.asarray(arguments[0])
        return np.where(middle == 0, made, np.zeros_like(made)), middle != 0

    monkeypatch.setattr(_stochastic_wide._random_modes, "balls", none)
    monkeypatch.setattr(_stochastic_wide, "_share", lambda call: (0.0, 1.0))


@pytest.mark.parametrize(("name", "mode"), list(zip((*ENCLOSED, *CHOSEN), itertools.cycle(("stochastic", "random")))))
def test_every_element_by_enclosures(name, mode, calls, open_balls):
    assert runs(name, mode, calls, (torch.float32,), 2) > 0


# In binary64 every element is enclosed.
@pytest.mark.parametrize(("name", "mode"), list(zip((*ENCLOSED, *CHOSEN), itertools.cycle(("random", "stochastic")))))
def test_every_element_of_float64(name, mode, calls):
    assert runs(name, mode, calls, (torch.float64,), 2) > 0


@pytest.mark.parametrize("mode", rounding_oracle.OF_VALUES)
def test_enclosures_of_other_calls(mode, calls, open_balls):
    """Of gradients whose windows overlap, factors that are no whole numbers, and functions of two numbers."""
    x = torch.rand(2, 3, 7, 6, generator=torch.Generator().manual_seed(3)) - 0.4
    aten, a = torch.ops.aten, x[0, 0]
    with stochastic(SEED, SAMPLE, mode):
        aten.avg_pool2d_backward(x, torch.zeros(2, 3, 14, 10), [3, 2], [2, 2], [1, 1], False, False, None)
        aten._adaptive_avg_pool2d_backward(x[..., :3, :2], torch.zeros(2, 3, 7, 5))
        aten.addmm_(a.clone(), a, a[:6], beta=0.3, alpha=1.7)
        aten.index_add(a, 0, torch.tensor([0, 1, 0]), a[:3], alpha=0.625)
        aten.polygamma(3, a.abs() + 0.1)
        aten.igammac(a.abs() + 0.5, a.abs() + 0.2)
        aten.div(a, a.roll(1), rounding_mode="trunc")
        aten.div(torch.arange(6), a)
    assert sum(check(*call, mode) for call in calls) > 90


@pytest.mark.parametrize("mode", rounding_oracle.OF_VALUES)
def test_own_operators_by_enclosures(mode, open_balls):
    """They are PyTorch's, whose arguments have other names; also where binary64 has 0."""
    x = torch.rand(6, 5, generator=torch.Generator().manual_seed(3)) * 9 - 5
    x[0], w, b = torch.tensor([0.0, -0.0, 3.0, -3.0, -7.0]), x[:3] / 7, x[0, :3] + 1
    aten, own, image = torch.ops.aten, torch.ops.repmath, x.reshape(1, 1, 6, 5)
    calls = (
        (own.hardsigmoid, (x,), aten.hardsigmoid, (x,)),
        (own.hardsigmoid_backward, (x * 3, x), aten.hardsigmoid_backward, (x * 3, x)),
        (own.leaky_relu, (x, 0.3), aten.leaky_relu, (x, 0.3)),
        (own.leaky_relu_backward, (x * 3, x, 0.3), aten.leaky_relu_backward, (x * 3, x, 0.3, False)),
        (own.cumsum, (x, 1), aten.cumsum, (x, 1)),
        (own.logsumexp, (x, 1), aten.logsumexp, (x, [1])),
        (own.var, (x, [1], False, 1.0), aten.var, (x, [1])),
        (own.std, (x, [1], False, 1.0), aten.std, (x, [1])),
        (own.linear, (x, w, b), aten.linear, (x, w, b)),
        (own.sum, (x, [1], False), aten.nansum, (x, [1])),
        (own.avg_pool, (image, [2, 2], [2, 1], [0, 1], False, True, 0), aten.avg_pool2d, (image, [2, 2], [2, 1], [0, 1])),
        (own.adaptive_avg_pool, (image, [3, 2]), aten._adaptive_avg_pool2d, (image, [3, 2])),
    )
    for number, (ours, given, theirs, others) in enumerate(calls):
        with stochastic(SEED, number, mode) as block:
            made = ours(*given)
        with stochastic(SEED, number, mode) as same:
            wanted = theirs(*others)
        assert block.calls == same.calls == 1 and bits(made).tolist() == bits(wanted).tolist(), ours


def rational(call, stream, wanted, mode):
    """A call in a block gives these rational numbers, rounded under the mode."""
    with stochastic(SEED, stream, mode):
        made = call()
    made = made[0] if isinstance(made, tuple) else made
    words = rounding_oracle.words(SEED, stream << 32, 0, made.numel()).tolist()
    want = [rounding_oracle.rounded(v, FORMATS[made.dtype], mode, w) if v else 0 for v, w in zip(wanted, words, strict=True)]
    assert [b & ~(v == 0) << 63 if v == 0 else b for b, v in zip(bits(made).tolist(), wanted, strict=True)] == want


@pytest.mark.parametrize("mode", rounding_oracle.OF_VALUES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_quantised_numbers_and_triangular_systems(dtype, mode, open_balls):
    generator, q = torch.Generator().manual_seed(5), lambda t: [gmpy2.mpq(v) for v in t.reshape(-1).tolist()]
    x = torch.randn(3, 4, generator=generator).to(dtype) * 3
    scale, zero = torch.tensor([0.3, 1.1, 0.7, 0.25]), torch.tensor([0, 1, -3, 2], dtype=torch.int32)
    wanted = []
    for i, v in enumerate(q(x)):
        size, z = gmpy2.mpq(float(scale[i % 4])), int(zero[i % 4])
        wanted.append((max(-4, min(round(v / size) + z, 5)) - z) * size)
    fake = torch.ops.aten.fake_quantize_per_channel_affine_cachemask
    rational(lambda: fake(x, scale, zero, 1, -4, 5), 1, wanted, mode)
    a, b = torch.randn(4, 4, generator=generator).to(dtype), torch.randn(4, 2, generator=generator).to(dtype)
    m, right, found = q(a), q(b), [0] * 8
    for k in range(2):
        for i in reversed(range(4)):
            rest = right[2 * i + k] - sum(m[4 * i + j] * found[2 * j + k] for j in range(i + 1, 4))
            found[2 * i + k] = rest / m[5 * i]
    rational(lambda: torch.linalg.solve_triangular(a, b, upper=True), 2, found, mode)
    rational(
        lambda: torch.linalg.solve_triangular(a.mT, b.mT, upper=False, left=False),
        3,
        [found[2 * i + k] for k in range(2) for i in range(4)],
        mode,
    )
    rational(lambda: torch.ops.aten.triangular_solve(b, a.mT, upper=False, transpose=True), 4, found, mode)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_own_losses_of_pairs(dtype, open_balls):
    generator, own, q = torch.Generator().manual_seed(6), torch.ops.repmath, gmpy2.mpq
    x, t = torch.randn(5, generator=generator).to(dtype), torch.rand(5, generator=generator).to(dtype)
    pairs = [(q(a), q(b)) for a, b in zip(x.tolist(), t.tolist(), strict=True)]
    losses = {
        "mse": lambda a, b: (a - b) ** 2,
        "l1": lambda a, b: abs(a - b),
        "smooth_l1": lambda a, b: (a - b) ** 2 if abs(a - b) < q(1, 2) else abs(a - b) - q(1, 4),
        "huber": lambda a, b: (a - b) ** 2 / 2 if abs(a - b) <= q(1, 2) else (abs(a - b) - q(1, 4)) / 2,
    }
    for stream, (name, loss) in enumerate(losses.items()):
        each = [loss(a, b) for a, b in pairs]
        rational(lambda n=name: own.pair_loss(x, t, n, 0.5, "none"), 2 * stream, each, "stochastic")
        rational(lambda n=name: own.pair_loss(x, t, n, 0.5, "mean"), 2 * stream + 1, [sum(each) / 5], "stochastic")
    with gmpy2.context(precision=1400):
        shares = [q(b * (gmpy2.log(gmpy2.mpfr(b)) - a)) for a, b in pairs]
    rational(lambda: own.kl_div(x, t, "none", False), 20, shares, "stochastic")
    rational(lambda: own.kl_div(x, t, "sum", False), 21, [sum(shares)], "stochastic")
    g = torch.tensor(0.7, dtype=dtype)
    rational(lambda: own.kl_div_backward(g, x, t, "mean", False), 22, [-q(float(g)) * b / 5 for _, b in pairs], "stochastic")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_weighted_logits_and_inverses(dtype, open_balls):
    generator, own, q = torch.Generator().manual_seed(7), torch.ops.repmath, gmpy2.mpq
    x, y, w = ((torch.rand(4, generator=generator) * 4 - k).to(dtype) for k in (2, 0, 0))
    p, g = torch.tensor(1.5, dtype=dtype), torch.tensor(0.3, dtype=dtype)
    losses, slopes = [], []
    with gmpy2.context(precision=1400):
        for a, b, c in zip(x.tolist(), y.tolist(), w.tolist(), strict=True):
            e, share = gmpy2.exp(gmpy2.mpfr(a)), 1 + q(1, 2) * q(b)
            losses.append(q(c * ((1 - q(b)) * q(a) + share * gmpy2.log(1 + 1 / e))))
            slopes.append(q(c * q(float(g)) * ((1 - q(b)) - share / (1 + e))) / 4)
    rational(lambda: own.binary_cross_entropy_with_logits(x, y, w, "none", p), 1, losses, "stochastic")
    rational(lambda: own.binary_cross_entropy_with_logits(x, y, w, "mean", p), 2, [sum(losses) / 4], "stochastic")
    rational(lambda: own.binary_cross_entropy_with_logits_backward(g, x, y, w, "mean", p), 3, slopes, "stochastic")
    a = torch.randn(2, 2, generator=generator).to(dtype)
    i, j, k, m = (q(v) for v in a.reshape(-1).tolist())
    d = i * m - j * k
    rational(lambda: torch.linalg.inv_ex(a)[0], 4, [m / d, -j / d, -k / d, i / d], "random")


def test_float64_beside_its_largest_number():
    """A sum that rounds to nearest to an infinity, and down at random where its word says so; beyond 2^1024 it is one."""
    big = float(np.finfo(np.float64).max)
    x = torch.tensor([[big, 2.0**970], [big, 2.0**971], [1.0, -1.0]], dtype=torch.float64)
    word = rounding_oracle.words(4, 0, 0, 1)[0]
    with stochastic(4):
        made = torch.ops.aten.nansum(x, [1])
    assert made.tolist() == [big if word >= 2**31 else math.inf, math.inf, 0.0]
    with stochastic(4):
        made = torch.ops.aten.div(
            torch.tensor([3.0, -3.0, 0.0, 7.0]).double(), torch.tensor([0.0, 0.0, 0.0, 2.0]).double(), rounding_mode="trunc"
        )
    assert made[:2].tolist() == [math.inf, -math.inf] and math.isnan(made[2]) and made[3] == 3


@pytest.mark.parametrize(("spoiled", "dtype"), [("slices", torch.float32), ("word", torch.float32), ("word", torch.float64)])
def test_enclosures_that_are_wrong_are_seen(monkeypatch, spoiled, dtype, calls, open_balls):
    """Controls: a slice that is left out, which in float64 the result to nearest shows, so that it is refused, and words of other elements."""
    if spoiled == "slices":
        slices = _stochastic_exact._slices
        monkeypatch.setattr(_stochastic_exact, "_slices", lambda a, bits: slices(a, bits)[:-1])
    else:
        words = Last.words
        monkeypatch.setattr(Last, "words", lambda last, places: words(last, [p + 1 for p in places]))
    with pytest.raises(AssertionError, match="element"):
        runs("cumsum", "stochastic", calls, (dtype,))


# Lines whose words name a format, or what depends on one, and why their values do not.
SAID = {
    "divide_by_mode": "the whole number is that of x/y, and then rounded",
    "degrees": "the factor is one number",
    "radians": "the factor is one number",
    "zeta": "infinite is a value, at a pole",
    "to_copy": "the format is that of the result, which an argument names",
    "unscale": "finite are arguments",
}


def test_values_are_those_of_numbers():
    admitted = [line for line in OPERATORS.values() if _stochastic_wide.has(line.name)]
    assert len(admitted) > 200 and not _stochastic_wide.has("_amp_update_scale_.default")
    assert {
        line.function for line in admitted if re.search("format|finite|epsilon|binary", tools_path.returned()[line.name])
    } == set(SAID)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("shares", [False, True])
def test_losses_with_weights_and_smoothing(shares, reduction):
    """Cross entropy and its gradient, whose elements may all be decided."""
    generator = torch.Generator().manual_seed(2)
    x, weight = torch.randn(5, 4, generator=generator).requires_grad_(), torch.tensor([0.5, 1.0, 2.0, 0.25])
    target = torch.rand(5, 4, generator=generator) if shares else torch.tensor([0, 3, -100, 1, 2])
    with stochastic(SEED, SAMPLE) as block:
        got = torch.nn.functional.cross_entropy(x, target, weight, label_smoothing=0.1, reduction=reduction)
        got.backward(torch.ones_like(got))
    assert block.calls == 2 and not block.uncovered
    with gmpy2.context(precision=1400):
        rows = [[gmpy2.mpq(v) for v in row] for row in x.tolist()]
        w, eps = [gmpy2.mpq(v) for v in weight.tolist()], gmpy2.mpq(0.1)
        chosen = target.tolist() if shares else [[float(t == c) for c in range(4)] for t in target.tolist()]
        counts = [True] * 5 if shares else (target != -100).tolist()
        n = 1
        if reduction == "mean":
            n = 5 if shares else sum(w[t] for t in target.tolist() if t >= 0)
        losses, slopes = [], []
        for row, p, used in zip(rows, chosen, counts, strict=True):
            u = [((1 - eps) * gmpy2.mpq(v) + eps / 4) * a * used for v, a in zip(p, w, strict=True)]
            e = [gmpy2.exp(gmpy2.mpfr(v)) for v in row]
            log = gmpy2.log(sum(e))
            losses.append(sum((a * (log - v) for a, v in zip(u, row, strict=True)), gmpy2.mpfr(0)))
            slopes += [gmpy2.mpq((v / sum(e) * sum(u) - a) / n) for v, a in zip(e, u, strict=True)]
        values = [gmpy2.mpq(v) for v in losses] if reduction == "none" else [gmpy2.mpq(sum(losses) / n)]
    for number, (made, wanted) in enumerate(((got.detach(), values), (x.grad, slopes))):
        words = rounding_oracle.words(SEED, (SAMPLE << 32) + number, 0, len(wanted)).tolist()
        want = [rounding_oracle.rounded(v, "f32", "stochastic", a) if v else 0 for v, a in zip(wanted, words, strict=True)]
        assert bits(made).tolist() == want


@pytest.mark.parametrize("mode", rounding_oracle.OF_VALUES)
def test_weights_that_cancel(mode):
    """A mean over weights that add up to 0 is infinite or NaN, as to nearest."""
    x, target, weight = (
        torch.tensor([[0.0, 1.0], [1.0, 3.0]], requires_grad=True),
        torch.tensor([0, 1]),
        torch.tensor([1.0, -1.0]),
    )
    found = []
    for block in (reproducible(), stochastic(SEED, SAMPLE, mode)):
        with block:
            got = torch.nn.functional.cross_entropy(x, target, weight)
            (slope,) = torch.autograd.grad(got, x, torch.tensor(1.0))
        found.append((float(got), slope.tolist()))
    assert found == [(math.inf, [[-math.inf, math.inf], [-math.inf, math.inf]])] * 2


def test_copies_to_narrower_formats_round():
    x = torch.rand(50, generator=torch.Generator().manual_seed(1))
    made = torch.zeros(50, dtype=torch.bfloat16)
    with stochastic(SEED, SAMPLE) as block:
        made.copy_(x)
        same = torch.zeros(50).copy_(x)
        want = x.to(torch.bfloat16)
    assert block.calls == 3 and same.equal(x)
    with stochastic(SEED, SAMPLE):
        assert x.to(torch.bfloat16).equal(made) and not want.equal(made)


@pytest.mark.parametrize("mode", rounding_oracle.OF_VALUES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["f32", "f64"])
def test_gradients_of_gamma_and_beta_numbers(mode, dtype, open_balls):
    """Each element is enclosed; of the number 0 it is 0."""
    a, x = torch.tensor([0.02, 0.5, 1.75, 8.0, 3.0], dtype=dtype), torch.tensor([2.0**-20, 0.3, 1.1, 9.5, 0.0], dtype=dtype)
    total, y = (
        a + torch.tensor([0.25, 1.0, 20.0, 2.0, 9.0], dtype=dtype),
        torch.tensor([0.5, 0.9, 0.1, 0.75, 0.0], dtype=dtype),
    )
    with stochastic(SEED, SAMPLE, mode) as block:
        found = torch._standard_gamma_grad(a, x), torch._dirichlet_grad(y, a, total)
    assert block.calls == 2
    rows = [v.tolist() for v in (a, x, y, total)]
    values = [
        [gamma_derivative(p, v) for p, v in zip(rows[0], rows[1], strict=True) if v],
        [beta_derivative(v, p, c) for v, p, c in zip(rows[2], rows[0], rows[3], strict=True) if v],
    ]
    for number, (made, exact) in enumerate(zip(found, values, strict=True)):
        words = rounding_oracle.words(SEED, (SAMPLE << 32) + number, 0, 5).tolist()
        rationals = [gmpy2.mpq(int(v.man) * (-1) ** v._mpf_[0]) * gmpy2.mpq(2) ** v.exp for v in exact]
        wanted = [rounding_oracle.rounded(v, FORMATS[dtype], mode, w) for v, w in zip(rationals, words, strict=False)]
        assert bits(made).tolist() == [*wanted, 0]


def test_every_operator_that_rounds_has_a_way():
    """Published tools leave parts of the library to nearest. Here each line of the table that rounds has a rounding at random, or its name stands below: it raises."""
    parts = (
        _stochastic,
        _stochastic_complex,
        _stochastic_lists,
        _stochastic_matrices,
        _stochastic_quick,
        _stochastic_steps,
        _stochastic_wide,
    )
    block, of_complex, lists, matrices, quick, steps, wide = parts
    raises = set()
    for line in lines():
        name = line.name
        if line.way not in ("rounds", "composes") or line.function in _stochastic_operators._SELECTS:
            continue
        if name.startswith("_foreach_"):
            base, overload = name.removeprefix("_foreach_").split(".")
            found = base.removesuffix("_") in lists.SELECTS or lists.single(base, overload) is not None
        else:
            found = (
                any(name in handlers for handlers in (block.HANDLERS, block.FORMULAS, quick.HANDLERS, steps.WRITE))
                or wide.has(name)
                or steps.has(name)
                or line.function in matrices.FUNCTIONS
                or line.function in of_complex._MAKE
            )
        if not found:
            raises.add(name)
    attention = {
        f"_scaled_dot_product_flash_attention_for_cpu{end}.default" for end in ("", "_backward")
    }  # which is composed in blocks
    of_gpus = {line.name for line in OPERATORS.values() if line.name in OF_GPUS and line.way in ("rounds", "composes")}
    assert raises == attention | of_gpus
    assert all(name in _stochastic_operators._ROUNDS for name in raises)
