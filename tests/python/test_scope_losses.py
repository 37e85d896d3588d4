"""Losses, attention, channels last, statistics, special functions and steps in scopes of repmath.rounding: against values of 1,400 bits and the words of each array."""

import itertools
from fractions import Fraction

import gmpy2
import ml_dtypes
import mpmath
import numpy as np
import pytest
import rounding_oracle
from scope_numbers import FORMATS, SAMPLE, SEED, numbers, precision  # noqa: F401 (fixture)

import repmath
from repmath import _random_functions, array_api, nn, optim, random, rounding

exact = np.vectorize(lambda v: gmpy2.mpfr(float(v)), otypes=[object])
exp, log, root = (np.vectorize(f, otypes=[object]) for f in (gmpy2.exp, gmpy2.log, gmpy2.sqrt))
KINDS = {fmt: np.dtype(dtype) for dtype, fmt in FORMATS.items()}


def bits(a):
    a = np.ascontiguousarray(a)
    return a.view(np.dtype(f"u{a.dtype.itemsize}")).reshape(-1).tolist()


def fraction(v):
    return v if isinstance(v, Fraction) else Fraction(*map(int, gmpy2.mpfr(v).as_integer_ratio()))


def wanted(values, fmt, mode, r=0, number=0):
    flat = [fraction(v) for v in np.asarray(values, object).reshape(-1)]
    words = rounding_oracle.words(SEED, (SAMPLE << 32) + number, r << 40, len(flat)).tolist()
    return [rounding_oracle.rounded(v, fmt, mode, w) if v else 0 for v, w in zip(flat, words, strict=True)]


def stored(values, fmt, mode, r=0, number=0):
    """The numbers that an array is rounded to, and their exact values."""
    kind = KINDS[fmt]
    made = np.array(wanted(values, fmt, mode, r, number), f"u{kind.itemsize}").view(kind).reshape(np.shape(values))
    return made, exact(made)


def shares(x):
    e = exp(x)
    return e / e.sum(-1, keepdims=True)


def windows(x, w, groups=1, bias=None):
    """A convolution of (N, C, L) by (O, C/groups, K), one element of padding and steps of two, as (N, O, M)."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1)), constant_values=gmpy2.mpfr(0))
    n, c, k = x.shape[0], w.shape[1], w.shape[2]
    count = (padded.shape[2] - k) // 2 + 1
    made = np.empty((n, w.shape[0], count), object)
    for i, o, m in np.ndindex(made.shape):
        first = o // (w.shape[0] // groups) * c
        made[i, o, m] = (padded[i, first : first + c, 2 * m : 2 * m + k] * w[o]).sum() + (bias[o] if bias is not None else 0)
    return made


def cases(dtype):
    """Calls, and the exact values of their arrays."""
    x, y, g, v = (numbers(dtype, 3, 4, seed=i) for i in range(4))
    w = np.abs(numbers(dtype, 4, seed=2)) + np.dtype(dtype).type(0.25)
    a, b, h, u = map(exact, (x, y, g, w))
    t = np.array([1, 3, 0])
    one = np.eye(4)[t].astype(int)
    p = np.abs(v) / 4
    smooth = gmpy2.mpfr(0.1)
    logs = log(exp(a).sum(1, keepdims=True)) - a
    q = ((1 - smooth) * one + smooth / 4) * u
    by_shares = ((1 - smooth) * exact(p) + smooth / 4) * u
    soft = shares(a)
    both = exact(p)
    logits = u * ((1 - both) * a + (1 + (h - 1) * both) * log(1 + exp(-a)))
    slope = u * (1 - both - (1 + (h - 1) * both) / (1 + exp(a)))
    divergence = both * (log(both) - a)
    image, kernel = numbers(dtype, 2, 4, 7), numbers(dtype, 6, 2, 3)
    last = np.ascontiguousarray(np.moveaxis(image, 1, -1))
    chosen = np.array([[1, 0, 1, 1], [0, 1, 1, 0], [1, 1, 1, 1]], bool)
    kept = [a[i][chosen[i]] for i in range(3)]
    means = [k.sum() / len(k) for k in kept]
    variances = [((k - m) ** 2).sum() / len(k) for k, m in zip(kept, means, strict=True)]
    stack = numbers(dtype, 2, 3, 4, seed=7)
    big = exact(stack)
    d = a - a.sum(1, keepdims=True) / 4
    inverse = 1 / root((d * d).sum(1, keepdims=True) / 4 + gmpy2.mpfr(0.5))
    eps = gmpy2.mpfr(float(nn._normalization._rms_eps(None, x)))
    three, running = numbers(dtype, 2, 4, 3), np.abs(numbers(dtype, 4, seed=5))
    e3, r = exact(three), exact(running)[:, None]
    g3 = numbers(dtype, 2, 4, 3, seed=1)
    h3 = exact(g3)
    scaled = 1 / root(r + gmpy2.mpfr(0.5))
    length = root((a * a).sum() + (b * b).sum())
    half = np.dtype(dtype).type(1.5)
    return {
        "cross_entropy with weights": (lambda: nn.cross_entropy(x, t, w, label_smoothing=0.1), [(q * logs).sum() / u[t].sum()]),
        "cross_entropy of what counts": (lambda: nn.cross_entropy(x, np.array([1, -100, 0]), w), [(u[1] * logs[0, 1] + u[0] * logs[2, 0]) / (u[1] + u[0])]),
        "cross_entropy of shares": (lambda: nn.cross_entropy(x, p, w, label_smoothing=0.1, reduction="none"), [(by_shares * logs).sum(1)]),
        "cross_entropy of the mean of shares": (lambda: nn.cross_entropy(x, p), [(both * logs).sum() / 3]),
        "cross_entropy_backward": (
            lambda: nn.cross_entropy_backward(half, x, t, w, label_smoothing=0.1),
            [gmpy2.mpfr(1.5) / u[t].sum() * (q.sum(1, keepdims=True) * soft - q)],
        ),
        "cross_entropy_backward of shares": (
            lambda: nn.cross_entropy_backward(g[:, 0].copy(), x, p, w, reduction="none"),
            [h[:, :1] * ((both * u).sum(1, keepdims=True) * soft - both * u)],
        ),
        "nll_loss with weights": (lambda: nn.nll_loss(x, t, w), [-(u[t] * a[np.arange(3), t]).sum() / u[t].sum()]),
        "nll_loss_backward": (lambda: nn.nll_loss_backward(half, x, t, w), [-gmpy2.mpfr(1.5) * one * u / u[t].sum()]),
        "bce with weights": (lambda: nn.binary_cross_entropy_with_logits(x, p, w, pos_weight=g), [logits.sum() / 12]),
        "bce of each": (lambda: nn.binary_cross_entropy_with_logits(x, p, w, pos_weight=g, reduction="none"), [logits]),
        "bce_backward": (lambda: nn.binary_cross_entropy_with_logits_backward(half, x, p, w, pos_weight=g), [gmpy2.mpfr(1.5) * slope / 12]),
        "kl_div": (lambda: nn.kl_div(x, p, reduction="batchmean"), [divergence.sum() / 3]),
        "kl_div of each": (lambda: nn.kl_div(x, p, reduction="none"), [divergence]),
        "kl_div by logarithms": (lambda: nn.kl_div(x, y, log_target=True), [(exp(b) * (b - a)).sum() / 12]),
        "kl_div_backward": (lambda: nn.kl_div_backward(half, x, p), [-gmpy2.mpfr(1.5) * both / 12]),
        "kl_div_backward by logarithms": (lambda: nn.kl_div_backward(g, x, y, reduction="none", log_target=True), [-h * exp(b)]),
        "conv1d, channels last": (
            lambda: repmath.conv1d(last, kernel, w[[0, 1, 2, 3, 0, 1]], 2, 1, groups=2, channels_last=True),
            [np.moveaxis(windows(exact(image), exact(kernel), 2, u[[0, 1, 2, 3, 0, 1]]), 1, -1)],
        ),
        "mean of some": (lambda: repmath.mean(x, 1, where=chosen), [np.array(means)]),
        "var of some": (lambda: repmath.var(x, 1, where=chosen), [np.array(variances)]),
        "std of some": (lambda: repmath.std(x, 1, where=chosen), [root(np.array(variances))]),
        "sum of some": (lambda: repmath.sum(x, 1, where=chosen), [np.array([k.sum() for k in kept])]),
        "sum and more": (lambda: repmath.sum(x, 0, initial=0.1), [a.sum(0) + gmpy2.mpfr(0.1)]),
        "bincount": (lambda: repmath.bincount(np.array([2, 0, 2]), x[:, 0]), [np.array([a[1, 0], 0, a[0, 0] + a[2, 0]])]),
        "dot of matrices": (lambda: repmath.dot(x, stack.swapaxes(1, 2)), [(a[:, None, None] * big[None]).sum(-1)]),
        "dot with a number": (lambda: repmath.dot(x, y[0, 0]), [a * b[0, 0]]),
        "products of a sum": (lambda: array_api.cumulative_prod(x, axis=1, include_initial=True), [np.concatenate((exact(np.ones((3, 1))), np.cumprod(a, 1)), 1)]),
        "layer_norm and statistics": (lambda: nn.layer_norm(x, 4, eps=0.5, return_statistics=True), [d * inverse, a.sum(1) / 4, inverse]),
        "rms_norm with its eps": (lambda: nn.rms_norm(x, 4), [a / root((a * a).sum(1, keepdims=True) / 4 + eps)]),
        "batch_norm_backward": (
            lambda: nn.batch_norm_backward(g3, three, running, running, w, False, 0.5),
            [h3 * u[:, None] * scaled, (h3 * (e3 - r) * scaled).sum((0, 2)), h3.sum((0, 2))],
        ),
        "clip_grad_norm": (lambda: clipped((x, y)), [a * gmpy2.mpfr(0.3) / length, b * gmpy2.mpfr(0.3) / length, length]),
        "running statistics": (
            lambda: renewed(three, running),
            [
                None,
                gmpy2.mpfr(0.75) * r[:, 0] + gmpy2.mpfr(0.25) * e3.sum((0, 2)) / 6,
                gmpy2.mpfr(0.75) * r[:, 0] + gmpy2.mpfr(0.25) * ((e3 - e3.sum((0, 2), keepdims=True) / 6) ** 2).sum((0, 2)) / 5,
            ],
        ),
        "dropout": (
            lambda: random.dropout(x, 0.3, 5),
            [np.where(random.dropout(np.ones((3, 4)), 0.3, 5) != 0, a / (1 - gmpy2.mpfr(0.3)), 0)],
        ),
    }  # fmt: skip


def clipped(arrays):
    copies = [v.copy() for v in arrays]
    norm = optim.clip_grad_norm(iter(copies), 0.3)
    return *copies, np.float64(norm)


def renewed(x, running):
    mean, var = running.copy(), running.copy()
    return nn.batch_norm(x, mean, var, training=True, momentum=0.25), mean, var


def check(name, dtype, mode, number=0):
    call, values = cases(dtype)[name]
    plain = call()
    with rounding.scope(mode, seed=SEED, sample=SAMPLE) as block:
        made = call()
    assert block.calls == 1
    made, plain = (list(v) if isinstance(v, tuple) else [v] for v in (made, plain))
    for r, (got, near, exact_ones) in enumerate(zip(made, plain, values, strict=True)):
        assert type(got) is type(near) and got.dtype == near.dtype and got.shape == near.shape
        if exact_ones is not None:
            fmt = {v: k for k, v in KINDS.items()}[got.dtype]
            want = wanted(exact_ones, fmt, mode, r)
            assert [i for i, (p, q) in enumerate(zip(bits(got), want, strict=True)) if p != q and q] == [], (name, r)


NAMES = list(cases("f4"))


@pytest.mark.parametrize("mode", ["stochastic", "random", *rounding_oracle.DIRECTED])
@pytest.mark.parametrize("dtype", list(FORMATS), ids=FORMATS.values())
def test_functions(dtype, mode):
    for name in NAMES:
        check(name, dtype, mode)


@pytest.mark.parametrize("mode", ["stochastic", "random", *rounding_oracle.DIRECTED])
def test_what_binary64_leaves_open(monkeypatch, mode):
    balls = _random_functions._random_modes.balls

    def none(*arguments):
        made, _ = balls(*arguments)
        return np.zeros_like(made), np.asarray(arguments[0]) != 0

    monkeypatch.setattr(_random_functions._random_modes, "balls", none)
    for name in NAMES:
        check(name, "f4", mode)


@pytest.mark.parametrize(
    "name", ["cross_entropy of shares", "kl_div of each", "conv1d, channels last", "clip_grad_norm", "running statistics"]
)
def test_words_of_other_elements_are_seen(monkeypatch, name):
    """A control."""
    place = _random_functions._random_modes.place
    monkeypatch.setattr(_random_functions._random_modes, "place", lambda *words: (*place(*words)[:3], place(*words)[3] + 1))
    with pytest.raises(AssertionError, match=name):
        for dtype in ("f4", "f2"):
            check(name, dtype, "stochastic")


@pytest.mark.parametrize("mode", ["stochastic", "random", *rounding_oracle.DIRECTED])
@pytest.mark.parametrize("dtype", list(FORMATS), ids=FORMATS.values())
def test_attention(dtype, mode):
    """Scores, weights, weights after dropout, the result; and the gradients."""
    fmt = FORMATS[dtype]
    q, k, v, g = (numbers(dtype, 2, n, 3, seed=i) for i, n in enumerate((4, 5, 5, 4)))
    mask = np.random.default_rng(1).random((4, 5)) < 0.7
    mask[:, 0] = True
    scale = gmpy2.mpfr(float(nn._attention._scale(None, 3)))
    added = np.where(mask, gmpy2.mpfr(0), gmpy2.mpfr(-1e5))  # whose exponentials are 0 in every format
    drop = random.dropout(np.ones((2, 4, 5)), 0.25, 3) != 0
    eq, ek, ev, eg = map(exact, (q, k, v, g))

    def product(a, b):
        return np.stack([(x[:, None] * y.T[None]).sum(-1) for x, y in zip(a, b, strict=True)])

    def weights():
        _, scores = stored(scale * product(eq, ek.swapaxes(1, 2)), fmt, mode, 0)
        return stored(np.where(mask, shares(scores + added), 0), fmt, mode, 1)[1]

    p = weights()
    plain, kept = stored(product(p, ev), fmt, mode, 2)[0], stored(np.where(drop, p / gmpy2.mpfr(0.75), 0), fmt, mode, 2)[1]
    with rounding.scope(mode, seed=SEED, sample=SAMPLE) as block:
        assert bits(nn.scaled_dot_product_attention(q, k, v, mask)) == bits(plain)
    with rounding.scope(mode, seed=SEED, sample=SAMPLE) as block:
        found = nn.scaled_dot_product_attention(q, k, v, mask, 0.25, seed=3)
    assert bits(found) == bits(stored(product(kept, ev), fmt, mode, 3)[0])
    dv, _ = stored(product(kept.swapaxes(1, 2), eg), fmt, mode, 3)
    _, dp = stored(product(eg, ev.swapaxes(1, 2)), fmt, mode, 4)
    _, dp = stored(np.where(drop, dp / gmpy2.mpfr(0.75), 0), fmt, mode, 5)
    _, ds = stored(p * (dp - (dp * p).sum(-1, keepdims=True)), fmt, mode, 6)
    dq, _ = stored(scale * product(ds, ek), fmt, mode, 7)
    dk, _ = stored(scale * product(ds.swapaxes(1, 2), eq), fmt, mode, 8)
    with rounding.scope(mode, seed=SEED, sample=SAMPLE) as block:
        made = nn.scaled_dot_product_attention_backward(g, q, k, v, mask, dropout_p=0.25, seed=3)
    assert block.calls == 1
    for got, want in zip(made, (dq, dk, dv), strict=True):
        assert got.dtype == want.dtype and bits(got + want.dtype.type(0)) == bits(want + want.dtype.type(0))


SPECIAL = {
    **{f"{kind}{n}": (lambda x, kind=kind, n=n: getattr(mpmath, f"bessel{kind}")(n, x)) for kind in "ijky" for n in (0, 1)},
    **{f"i{n}e": (lambda x, n=n: mpmath.besseli(n, x) * mpmath.exp(-abs(x))) for n in (0, 1)},
    **{f"k{n}e": (lambda x, n=n: mpmath.besselk(n, x) * mpmath.exp(x)) for n in (0, 1)},
    "zeta": lambda x, q: mpmath.zeta(x, q),
    "gammainc": lambda a, x: mpmath.gammainc(a, 0, x, regularized=True),
    "gammaincc": lambda a, x: mpmath.gammainc(a, x, regularized=True),
    "gamma": mpmath.gamma,
    "beta": mpmath.beta,
}


@pytest.mark.parametrize("mode", ["stochastic", "random", *rounding_oracle.DIRECTED])
@pytest.mark.parametrize("name", SPECIAL)
def test_special(name, mode):
    assert set(SPECIAL) == set(repmath.special.__all__)
    for dtype, fmt in FORMATS.items():
        x = np.abs(numbers(dtype, 5, seed=1)) + np.dtype(dtype).type(1.25)
        more = [np.abs(numbers(dtype, 5, seed=2)) + np.dtype(dtype).type(0.25)] * (
            name in ("zeta", "gammainc", "gammaincc", "beta")
        )
        with rounding.scope(mode, seed=SEED, sample=SAMPLE) as block:
            found = getattr(repmath.special, name)(x, *more)
        assert block.calls == 1 and found.dtype == x.dtype
        with mpmath.workprec(300):
            values = [SPECIAL[name](*(mpmath.mpf(float(v)) for v in row)) for row in zip(x, *more, strict=True)]
            flat = [Fraction(*map(int, v.as_integer_ratio())) for v in values] if hasattr(values[0], "as_integer_ratio") else [
                Fraction(int(v.man) * (-1 if v < 0 else 1)) * Fraction(2) ** int(v.exp) if v.man >= 0 else None for v in values
            ]  # fmt: skip
        assert bits(found) == wanted(flat, fmt, mode)


def test_special_values_beyond_what_is_enclosed():
    """zeta(70, 1) is 1 + 2^-70 and a little more, K_0(800) below every number, gammaincc(3, 900) as well: the mode random moves them."""
    x = np.full(64, 70.0)
    with rounding.scope("random", seed=SEED, sample=SAMPLE):
        near, small, tail = (
            repmath.special.zeta(x, 1.0),
            repmath.special.k0(np.full(64, 800.0)),
            repmath.special.gammaincc(np.full(64, 3.0), 900.0),
        )
        whole = repmath.special.gammainc(np.full(64, 3.0), 900.0)
    assert set(near.tolist()) == {1.0, 1 + 2.0**-52}
    assert set(small.tolist()) == set(tail.tolist()) == {0.0, 2.0**-1074}
    assert set(whole.tolist()) == {1.0, 1 - 2.0**-53}
    with rounding.scope("stochastic", seed=SEED, sample=SAMPLE):
        assert set(repmath.special.zeta(x, 1.0).tolist()) == {1.0} and not repmath.special.k0(np.full(64, 800.0)).any()


@pytest.mark.parametrize("kind", [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
@pytest.mark.parametrize("mode", [*rounding_oracle.MODES, *rounding_oracle.DIRECTED])
def test_numbers_of_eight_bits(kind, mode):
    """By all numbers of the format, in order."""
    all_ones = np.arange(128, dtype=np.uint8).view(kind).astype("f8")
    table = all_ones[np.isfinite(all_ones)]
    assert (np.diff(table) > 0).all()
    x = np.concatenate(
        [table[:-1] + f * np.diff(table) for f in (0, 0.1, 0.5, 0.9)] + [[table[-1], table[-1] * 1.01, np.inf, np.nan]]
    )
    x = np.concatenate((x, -x))
    with rounding.scope(mode, seed=SEED, sample=SAMPLE) as block:
        found = repmath.to_float8(x, kind)
    assert block.calls == 1 and found.dtype == kind
    words = rounding_oracle.words(SEED, SAMPLE << 32, 0, x.size).tolist()
    nearest = repmath.to_float8(x, kind)
    beyond = float(np.array(np.inf, kind).astype("f8"))
    step = table[-1] - table[-2]
    for v, word, got, near in zip(x.tolist(), words, found.astype("f8").tolist(), nearest.astype("f8").tolist(), strict=True):
        if not np.isfinite(v):
            want = near
        elif mode == "up_down":
            size = abs(near)
            k = int(np.searchsorted(table, size)) if np.isfinite(size) else None
            want = near if k in (None, 0) else np.copysign(table[min(k + (1 if word >> 31 else -1), len(table) - 1)], v)
        else:
            size = Fraction(abs(v))
            k = int(np.searchsorted(table, float(size), side="right")) - 1
            gap = Fraction(table[k + 1]) - Fraction(table[k]) if k + 1 < len(table) else Fraction(step)
            f = (size - Fraction(table[k])) / gap
            if mode in rounding_oracle.DIRECTED:
                away = f != 0 and mode == ("up" if v > 0 else "down")
            else:
                away = f > Fraction(2 * word + 1, 2**33) if mode == "stochastic" else f != 0 and word >> 31
            want = np.copysign(table[k + away] if k + away < len(table) else beyond, v)
        assert got == want or (np.isnan(got) and np.isnan(want)), (v, word)


@pytest.mark.parametrize("mode", [*rounding_oracle.MODES, *rounding_oracle.DIRECTED])
def test_steps_have_four_numbers(mode):
    """As with the rounding that their arguments name."""
    p, g, m, v = (np.abs(numbers("f4", 3, 4, seed=i)) for i in range(4))

    def three(**words):
        made = [[a.copy() for a in (p, g, m, v)] for _ in range(3)]
        names = [{k: w + 4 * i if k == "stream" else w for k, w in words.items()} for i in range(3)]
        optim.sgd_step(*made[0][:3], lr=0.1, momentum=0.9, **names[0])
        optim.adam_step(*made[1], step=2, **names[1])
        optim.adamw_step(*made[2], step=1, **names[2])
        return made

    want = three(rounding=mode, seed=SEED, stream=SAMPLE << 32)
    with rounding.scope(mode, seed=SEED, sample=SAMPLE) as block:
        found = three()
        assert block.calls == 12
        own = [p.copy(), g]
        optim.sgd_step(*own, lr=0.1, rounding="nearest")
        assert block.calls == 12
    plain = [p.copy(), g]
    optim.sgd_step(*plain, lr=0.1)
    assert bits(own[0]) == bits(plain[0])
    assert all(bits(a) == bits(b) for a, b in zip(itertools.chain(*found), itertools.chain(*want), strict=True))
    assert any(bits(a) != bits(b) for a, b in zip(itertools.chain(*found), itertools.chain(*three()), strict=True))


@pytest.mark.parametrize("mode", ["stochastic", "random", *rounding_oracle.DIRECTED])
def test_cho_factor_and_products_of_three(mode):
    m = np.array([[4, 2, 1], [2, 5, 3], [1, 3, 6]], "f4") / np.float32(3)
    x, y, z = numbers("f4", 2, 3), numbers("f4", 3, 4), numbers("f4", 4, 2)
    with rounding.scope(mode, seed=SEED, sample=SAMPLE):
        factor, lower = repmath.linalg.cho_factor(m, lower=True)
        made = repmath.einsum("ij,jk,kl->il", x, y, z)
    with rounding.scope(mode, seed=SEED, sample=SAMPLE):
        assert lower is True and bits(factor) == bits(repmath.linalg.cholesky(m))
    _, first = stored((exact(x)[:, :, None] * exact(y)[None]).sum(1), "f32", mode, 0, 1)
    assert bits(made) == wanted((first[:, :, None] * exact(z)[None]).sum(1), "f32", mode, 1, 1)


def test_infinities_are_limits():
    x = np.array([[-np.inf, 0.3, 1.1], [0.2, -np.inf, 0.7], [0.1, np.nan, 0.4]])
    with rounding.scope("random", seed=1):
        each = nn.cross_entropy(x, np.array([1, 0, 0]), reduction="none")
        slope = nn.cross_entropy_backward(np.ones(3), x, np.array([1, 0, 0]), reduction="none")
        bce = nn.binary_cross_entropy_with_logits(
            np.array([np.inf, -np.inf, np.inf]), np.array([1.0, 0.0, 0.3]), reduction="none"
        )
        conv = repmath.conv1d(np.array([[[1.1, np.inf, 0.3, 0.7, 0.9]]]), np.array([[[0.3, 0.7]]]), padding=1)
    with gmpy2.context(precision=200):
        lost = [gmpy2.log(1 + gmpy2.exp(gmpy2.mpfr(b) - gmpy2.mpfr(a))) for a, b in ((0.3, 1.1), (0.2, 0.7))]
    assert np.isnan(each[2]) and np.isnan(slope[2]).all() and slope[0, 0] == slope[1, 1] == 0
    words = rounding_oracle.words(1, 0, 0, 3).tolist()
    assert bits(each[:2]) == [
        rounding_oracle.rounded(fraction(v), "f64", "random", w) for v, w in zip(lost, words, strict=False)
    ]
    assert bce[:2].tolist() == [0, 0] and bce[2] == np.inf
    assert np.isinf(conv[0, 0, 1:3]).all() and np.isfinite(conv[0, 0, [0, 3, 4, 5]]).all()
    words = rounding_oracle.words(1, 3 << 0, 0, 6).tolist()
    assert bits(conv[0, 0, 5:]) == [rounding_oracle.rounded(Fraction(0.9) * Fraction(0.3), "f64", "random", words[5])]
