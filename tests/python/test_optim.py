"""repmath.optim: the steps are those of the exact reference, whatever the layout of the arrays; schedules against mpmath."""

import mpmath
import numpy as np
import optimizers_oracle as reference
import pytest
import rounding_oracle
from exact_oracle import FORMATS
from gmpy2 import mpq

import repmath
from repmath import optim

FMT = pytest.mark.parametrize("fmt", FORMATS)


def kind(fmt):
    return np.dtype(FORMATS[fmt][0])


def bits(x):
    return np.ascontiguousarray(x).view(np.dtype(f"u{x.dtype.itemsize}"))


def integers(x):
    return [int(b) for b in bits(x).reshape(-1)]


SGD = {"lr": 0.1, "momentum": 0.9, "dampening": 0.0, "weight_decay": 0.01, "nesterov": False, "maximize": False}
ADAM = {"lr": 1e-2, "betas": (0.9, 0.99), "eps": 1e-8, "weight_decay": 0.1, "maximize": False}


def reference_adam(o, decoupled, step):
    beta1, beta2 = o["betas"]
    return {**o, "beta1": beta1, "beta2": beta2, "step": step, "decoupled": decoupled}


LAYOUTS = {
    "contiguous": lambda a: a,
    "fortran": np.asfortranarray,
    "strided": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "reversed": lambda a: np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1],
    "zero-dimensional": lambda a: a[:1, 0].reshape(()).copy(),
    "empty": lambda a: a[:0],
}


@FMT
@pytest.mark.parametrize("layout", LAYOUTS)
def test_steps(fmt, layout):
    rng = np.random.default_rng(90)
    arrays = [LAYOUTS[layout](np.abs(rng.standard_normal((3, 5))).astype(kind(fmt))) for _ in range(5)]
    p, g, m, v, w = arrays
    before = [integers(a) for a in arrays]
    optim.sgd_step(p, g, m, **SGD)
    want = [reference.sgd({**SGD, "first": False}, fmt, *e[:3]) for e in zip(*before, strict=True)]
    assert [integers(p), integers(m)] == ([list(c) for c in zip(*want, strict=True)] or [[], []])
    for f, decoupled in ((optim.adam_step, False), (optim.adamw_step, True)):
        before = [integers(a) for a in arrays]
        f(p, g, m, v, w, step=7, **ADAM)
        o = reference_adam(ADAM, decoupled, 7)
        want = [reference.adam(o, fmt, *e) for e in zip(*before, strict=True)]
        assert [integers(a) for a in (p, m, v, w)] == ([list(c) for c in zip(*want, strict=True)] or [[]] * 4)
        assert integers(g) == before[1]


@pytest.mark.parametrize("structure", ["list", "dict", "array"])
def test_sgd_over_steps(structure):
    rng = np.random.default_rng(91)
    params = {"a": rng.standard_normal(4).astype("f4"), "b": rng.standard_normal((2, 2)).astype("f8")}
    if structure == "array":
        del params["b"]
    own = {k: (integers(p), [0] * p.size) for k, p in params.items()}
    take = {"list": lambda d: list(d.values()), "dict": dict, "array": lambda d: d["a"]}[structure]
    optimizer = optim.SGD(take(params), **SGD)
    for step in range(3):
        grads = {k: rng.standard_normal(p.shape).astype(p.dtype) for k, p in params.items()}
        optimizer.step(take(grads))
        for k, p in params.items():
            fmt = "f32" if p.dtype == np.float32 else "f64"
            rows = zip(own[k][0], integers(grads[k]), own[k][1], strict=True)
            new = [reference.sgd({**SGD, "first": step == 0}, fmt, *row) for row in rows]
            own[k] = [e[0] for e in new], [e[1] for e in new]
            assert integers(p) == own[k][0]
    params["a"][:] = 0
    optimizer.lr = 0.0
    optimizer.step({"list": [None] * 2, "dict": {}, "array": [None]}[structure])  # nothing to do


@pytest.mark.parametrize("make", [optim.Adam, optim.AdamW])
@pytest.mark.parametrize("amsgrad", [False, True])
def test_adam_over_steps_and_state(make, amsgrad):
    rng = np.random.default_rng(92)
    start = rng.standard_normal(5).astype("f4")
    p, grads = start.copy(), [rng.standard_normal(5).astype("f4") for _ in range(4)]
    optimizer = make([p], amsgrad=amsgrad, **ADAM)
    own = [(b, 0, 0, 0 if amsgrad else None) for b in integers(p)]
    for step, g in enumerate(grads):
        if step == 2:
            saved, held = optimizer.state_dict(), p.copy()
        optimizer.step([g])
        o = reference_adam(ADAM, make is optim.AdamW, step + 1)
        own = [reference.adam(o, "f32", e[0], b, *e[1:]) for e, b in zip(own, integers(g), strict=True)]
        assert integers(p) == [e[0] for e in own]
    again = make([held], lr=7.0)
    again.load_state_dict(saved)
    for g in grads[2:]:
        again.step([g])
    assert np.array_equal(held, p) and again.lr == ADAM["lr"]
    assert saved["state"][0]["step"] == 2


def test_state_of_another_optimizer_is_refused():
    p = np.ones(3, "f4")
    adam, sgd = optim.Adam([p]), optim.SGD([p], momentum=0.5)
    adam.step([p.copy()])
    sgd.step([p.copy()])
    other = optim.Adam([np.ones(4, "f4")], lr=0.5)
    for bad in (sgd.state_dict(), {}, {"options": adam.state_dict()["options"]}, adam.state_dict()):
        with pytest.raises(ValueError):
            other.load_state_dict(bad)
        assert other.lr == 0.5 and other.state == {}
    changed = adam.state_dict()
    changed["options"]["betas"] = (1.0, 0.5)
    with pytest.raises(ValueError, match="betas"):
        adam.load_state_dict(changed)
    assert adam.betas == (0.9, 0.999)


def test_bad_steps():
    p, g, m, v = (np.ones(3, "f4") for _ in range(4))
    before = p.copy()
    for error, match, call in [
        (TypeError, "param", lambda: optim.sgd_step([1.0], g, lr=1)),
        (TypeError, "dtype", lambda: optim.sgd_step(np.ones(3, int), g, lr=1)),
        (TypeError, "byte order", lambda: optim.sgd_step(np.ones(3, ">f4"), g, lr=1)),
        (TypeError, "lr", lambda: optim.sgd_step(p, g, lr="fast")),
        (ValueError, "grad", lambda: optim.sgd_step(p, g[:2], lr=1)),
        (ValueError, "grad", lambda: optim.sgd_step(p, g.astype("f8"), lr=1)),
        (ValueError, "shares memory", lambda: optim.sgd_step(p, p, lr=1)),
        (ValueError, "buffer", lambda: optim.sgd_step(p, g, lr=1, momentum=0.5)),
        (ValueError, "nesterov", lambda: optim.sgd_step(p, g, m, lr=1, nesterov=True)),
        (ValueError, "lr", lambda: optim.sgd_step(p, g, lr=-1)),
        (ValueError, "lr", lambda: optim.sgd_step(p, g, lr=float("nan"))),
        (ValueError, "lr", lambda: optim.sgd_step(p, g, lr=10**400)),
        (ValueError, "dampening", lambda: optim.sgd_step(p, g, m, lr=1, momentum=0.5, dampening=float("inf"))),
        (ValueError, r"betas\[0\]", lambda: optim.adam_step(p, g, m, v, step=1, betas=(1.0, 0.5))),
        (TypeError, "betas", lambda: optim.adam_step(p, g, m, v, step=1, betas=0.9)),
        (ValueError, "step", lambda: optim.adam_step(p, g, m, v, step=0)),
        (ValueError, "step", lambda: optim.adam_step(p, g, m, v, step=2**63)),
        (TypeError, "step", lambda: optim.adam_step(p, g, m, v, step=1.5)),
        (ValueError, "exp_avg_sq shares", lambda: optim.adam_step(p, g, m, m, step=1)),
        (ValueError, "empty", lambda: optim.SGD([])),
        (ValueError, "weight_decay", lambda: optim.AdamW([p], weight_decay=-1)),
        (TypeError, r"params\[1\]", lambda: optim.SGD([p, 3])),
        (ValueError, "2 arrays for 1", lambda: optim.SGD([p]).step([g, g])),
        (ValueError, "no parameter", lambda: optim.SGD({"a": p}).step({"b": g})),
        (TypeError, "dict", lambda: optim.SGD({"a": p}).step([g])),
        (ValueError, r"grads\[0\]", lambda: optim.SGD([p]).step([g[:1]])),
        (ValueError, r"grads\[0\]", lambda: optim.SGD([p]).step([p])),
        (ValueError, "max_norm", lambda: optim.clip_grad_norm([p], -1)),
        (TypeError, r"grads\[1\]", lambda: optim.clip_grad_norm([p, 3], 1)),
    ]:
        with pytest.raises(error, match=match):
            call()
    frozen = np.ones(3, "f4")
    frozen.flags.writeable = False
    for call in (
        lambda: optim.sgd_step(frozen, g, lr=1),
        lambda: optim.clip_grad_norm([g, frozen], 0.5),
        lambda: optim.SGD([frozen]),
    ):
        with pytest.raises(ValueError, match="read-only"):
            call()
    assert all((a == before).all() for a in (p, g, m, v))


def test_clip_grad_norm():
    """Arrays of several dtypes and layouts are one vector."""
    rng = np.random.default_rng(93)
    arrays = {
        "f32": rng.standard_normal((4, 6)).astype("f4")[:, ::2],
        "f64": rng.standard_normal(7) * 1e-3,
        "f16": rng.standard_normal(5).astype("f2"),
        "none": None,
        "bf16": rng.standard_normal(3).astype(kind("bf16")),
    }
    held = [(b, fmt) for fmt, a in arrays.items() if a is not None for b in integers(a)]
    total = reference.squares(held)
    root, _ = reference.root(total, 400)
    want = {fmt: [reference.clipped(b, f, total, 0.75) for b, f in held if f == fmt] for fmt in arrays}
    norm = optim.clip_grad_norm(arrays, 0.75)
    assert np.float64(norm).view(np.uint64) == reference.round_rational(root, "f64")
    assert all(integers(a) == want[fmt] for fmt, a in arrays.items() if a is not None)
    again = {fmt: integers(a) for fmt, a in arrays.items() if a is not None}
    assert optim.clip_grad_norm([a for a in arrays.values() if a is not None], 1e6) < 0.76
    assert all(integers(a) == again[fmt] for fmt, a in arrays.items() if a is not None)
    one = np.array([3.0, 4.0], "f4")
    assert optim.clip_grad_norm(one, 2.5) == 5 and one.tolist() == [1.5, 2.0]
    assert optim.clip_grad_norm([], 1.0) == 0 and optim.clip_grad_norm([np.empty(0, "f4")], 1.0) == 0


# ---- schedules ----


def rounded(x):
    """RN of a number known to 600 digits."""
    sign, man, exp, _ = mpmath.mpf(x)._mpf_
    return np.uint64(reference.round_rational(mpq(-man if sign else man) * mpq(2) ** exp, "f64")).view(np.float64)


def annealed(a, b, x):
    return b + (a - b) * (1 + mpmath.cospi(x)) / 2


def rates(rng, n):
    return (rng.uniform(1, 2, n) * 2.0 ** rng.integers(-20, 5, n)).tolist()


@pytest.fixture
def digits():
    with mpmath.workdps(600):
        yield


def test_powers(digits):
    rng = np.random.default_rng(94)
    for lr, gamma in zip(
        rates(rng, 60), rng.choice([0.1, 0.5, 0.9, 0.999, 0.75, 1.0, 0.0, 1.5, 2.0**-52], 60).tolist(), strict=True
    ):
        for step in rng.integers(0, [1, 10, 100, 100000]).tolist():
            exact = mpmath.mpf(lr) * mpmath.mpf(gamma) ** step
            assert optim.exponential_schedule(lr, step, gamma) == rounded(exact)
            assert optim.step_schedule(lr, 7 * step + 6, 7, gamma) == rounded(exact)
        k = int(rng.integers(0, 5))
        assert optim.multistep_schedule(lr, 50, [50] * k + [51, 90], gamma) == rounded(
            mpmath.mpf(lr) * mpmath.mpf(gamma) ** k
        )
    assert optim.exponential_schedule(1.0, 1074, 0.5) == 2.0**-1074 and optim.exponential_schedule(1.0, 1075, 0.5) == 0
    assert optim.exponential_schedule(3.0, 1075, 0.5) == 2.0**-1073  # a tie: 1.5 quanta
    assert optim.exponential_schedule(1.0, 10**12, 1.5) == np.inf and optim.exponential_schedule(1.0, 10**12, 0.5) == 0
    assert optim.exponential_schedule(0.0, 10**12, 1.5) == 0


def test_cosine(digits):
    rng = np.random.default_rng(95)
    for lr, low in zip(rates(rng, 100), [*rates(rng, 90), *[0.0] * 10], strict=True):
        n = int(rng.choice([1, 2, 3, 6, 7, 1000, 12345]))
        step = int(rng.integers(0, 3 * n))
        assert optim.cosine_schedule(lr, step, n, low) == rounded(
            annealed(mpmath.mpf(lr), mpmath.mpf(low), mpmath.mpf(step) / n)
        )
    assert optim.cosine_schedule(0.3, 0, 10) == 0.3 and optim.cosine_schedule(0.3, 10, 10, 0.1) == 0.1
    assert optim.cosine_schedule(1.0, 5, 10) == 0.5 and optim.cosine_schedule(1.0, 10, 30) == 0.75


def test_linear_and_warm_up(digits):
    rng = np.random.default_rng(96)
    for lr, start, end in zip(rates(rng, 100), rates(rng, 100), rates(rng, 100), strict=True):
        n = int(rng.integers(1, 50))
        step = int(rng.integers(0, 60))
        share = mpmath.mpf(min(step, n)) / n
        assert optim.linear_schedule(lr, step, n, start, end) == rounded(
            mpmath.mpf(lr) * (start + (mpmath.mpf(end) - start) * share)
        )
        assert optim.warm_up_schedule(lr, step, n) == rounded(mpmath.mpf(lr) * min(step + 1, n) / n)


def test_one_cycle(digits):
    rng = np.random.default_rng(97)
    for top, div, last in zip(rates(rng, 100), rates(rng, 100), rates(rng, 100), strict=True):
        n, share = int(rng.integers(1, 300)), float(rng.choice([0.0, 0.3, 0.25, 1.0, rng.random()]))
        step = int(rng.integers(0, n))
        low, peak = mpmath.mpf(top) / div, mpmath.mpf(share) * n - 1
        if step <= peak:
            want = annealed(low, mpmath.mpf(top), step / peak) if peak else mpmath.mpf(top)
        else:
            begin = max(peak, mpmath.mpf(0))
            want = annealed(mpmath.mpf(top), low / last, (step - begin) / (n - 1 - begin)) if n - 1 > begin else low / last
        assert optim.one_cycle_schedule(top, step, n, share, div, last) == rounded(want)


def test_bad_schedules():
    for error, match, call in [
        (ValueError, "step must be at least 0", lambda: optim.exponential_schedule(1.0, -1, 0.5)),
        (TypeError, "step must be an integer", lambda: optim.exponential_schedule(1.0, 1.5, 0.5)),
        (ValueError, "gamma", lambda: optim.exponential_schedule(1.0, 1, -0.5)),
        (TypeError, "lr", lambda: optim.step_schedule(None, 1, 5)),
        (ValueError, "step_size", lambda: optim.step_schedule(1.0, 1, 0)),
        (ValueError, "milestones", lambda: optim.multistep_schedule(1.0, 1, [-1])),
        (ValueError, "steps", lambda: optim.cosine_schedule(1.0, 1, 0)),
        (ValueError, "eta_min", lambda: optim.cosine_schedule(1.0, 1, 5, float("nan"))),
        (ValueError, "end", lambda: optim.linear_schedule(1.0, 1, 5, 0.5, float("inf"))),
        (ValueError, "steps", lambda: optim.warm_up_schedule(1.0, 1, 0)),
        (ValueError, "step must be less", lambda: optim.one_cycle_schedule(1.0, 5, 5)),
        (ValueError, "pct_start", lambda: optim.one_cycle_schedule(1.0, 4, 5, 1.5)),
        (ValueError, "div_factor", lambda: optim.one_cycle_schedule(1.0, 4, 5, div_factor=0)),
    ]:
        with pytest.raises(error, match=match):
            call()


def test_names():
    assert repmath.optim is optim and all(hasattr(optim, name) for name in optim.__all__)


ROUNDINGS = (*rounding_oracle.MODES, *rounding_oracle.DIRECTED)


def words(mode, seed, stream, n):
    each = [rounding_oracle.words(seed, stream + k, 0, n).tolist() for k in range(3)]
    return [(mode, w) for w in zip(*each, strict=True)]


@FMT
@pytest.mark.parametrize("mode", ROUNDINGS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_steps_at_random(layout, mode, fmt):
    """An element's words are those of its place in C order, whatever the layout."""
    rng = np.random.default_rng(93)
    arrays = [LAYOUTS[layout](np.abs(rng.standard_normal((3, 5))).astype(kind(fmt))) for _ in range(5)]
    p, g, m, v, w = arrays
    at = {"rounding": mode, "seed": 9, "stream": 2**64 - 2}
    each = words(mode, 9, 2**64 - 2, 15) if p.size else []
    each = [(mode, (a, b, c)) for (_, (a, b, _)), c in zip(each, rounding_oracle.words(9, 0, 0, 15).tolist(), strict=False)]
    before = [integers(a) for a in arrays]
    optim.sgd_step(p, g, m, **SGD, **at)
    want = [reference.sgd({**SGD, "first": False}, fmt, *e, *a) for *e, a in zip(*before[:3], each, strict=False)]
    assert [integers(p), integers(m)] == ([list(c) for c in zip(*want, strict=True)] or [[], []])
    for f, decoupled in ((optim.adam_step, False), (optim.adamw_step, True)):
        before = [integers(a) for a in arrays]
        f(p, g, m, v, w, step=7, **ADAM, **at)
        o = reference_adam(ADAM, decoupled, 7)
        want = [reference.adam(o, fmt, a, b, c, d, e, *r) for a, b, c, d, e, r in zip(*before, each, strict=False)]
        assert [integers(a) for a in (p, m, v, w)] == ([list(c) for c in zip(*want, strict=True)] or [[], [], [], []])


@pytest.mark.parametrize("make", [optim.SGD, optim.Adam, optim.AdamW])
def test_optimizers_at_random(make):
    """Streams depend on the step and the number of the parameter alone; a run goes on from its state dict."""
    rng = np.random.default_rng(94)
    start = {"a": rng.standard_normal(40).astype(kind("bf16")), "b": rng.standard_normal((3, 5)).astype(kind("bf16"))}
    grads = [{k: rng.standard_normal(v.shape).astype(v.dtype) for k, v in start.items()} for _ in range(4)]
    options = {"momentum": 0.9} if make is optim.SGD else {}
    params = {k: v.copy() for k, v in start.items()}
    optimizer = make(params, lr=0.01, rounding="stochastic", seed=5, **options)
    one = {k: v.copy() for k, v in start.items()}
    states: dict = {k: [np.zeros_like(v) for _ in range(2)] for k, v in start.items()}
    for t, g in enumerate(grads, 1):
        optimizer.step({"a": g["a"], "b": None} if t == 1 else g)
        for k, name in enumerate(one):
            if t == 1 and name == "b":
                continue
            own = t - (name == "b")
            at = {"rounding": "stochastic", "seed": 5, "stream": 2**32 * own + 4 * k}
            if make is optim.SGD:
                optim.sgd_step(one[name], g[name], states[name][0], lr=0.01, momentum=0.9, first=own == 1, **at)
            else:
                f = optim.adam_step if make is optim.Adam else optim.adamw_step
                f(one[name], g[name], *states[name], step=own, lr=0.01, **at)
        if t == 2:
            kept, copies = optimizer.state_dict(), {k: v.copy() for k, v in params.items()}
            optimizer = make(copies, lr=0.5, rounding="stochastic", seed=5, **options)
            optimizer.load_state_dict(kept)
            params = copies
    assert all((integers(params[k]) == integers(one[k])) for k in one)
    other = {k: v.copy() for k, v in start.items()}
    make(other, lr=0.01, rounding="stochastic", seed=6, **options).step(grads[0])
    first = {k: v.copy() for k, v in start.items()}
    make(first, lr=0.01, rounding="stochastic", seed=5, **options).step(grads[0])
    assert integers(other["a"]) != integers(first["a"])


def test_small_updates_are_kept_in_the_mean():
    """To nearest a bfloat16 weight stays; stochastic rounding moves the mean of many by the sum of the updates."""
    for rounding, least, most in (("nearest", 1.0, 1.0), ("stochastic", 0.9, 0.95)):
        p = np.ones(4096, kind("bf16"))
        optimizer = optim.SGD([p], lr=2.0**-13, rounding=rounding, seed=1)
        for _ in range(600):
            optimizer.step([np.ones_like(p)])
        assert least <= p.astype(np.float64).mean() <= most  # exactly 1 - 600 * 2**-13 = 0.9268


@pytest.mark.parametrize(
    ("options", "error", "name"),
    [
        ({"rounding": "sometimes"}, ValueError, "rounding"),
        ({"rounding": None}, ValueError, "rounding"),
        ({"rounding": "stochastic", "seed": -1}, ValueError, "seed"),
        ({"rounding": "nearest", "seed": 0.5}, TypeError, "seed"),
        ({"rounding": "random", "stream": 2**64}, ValueError, "stream"),
    ],
)
def test_bad_roundings_write_nothing(options, error, name):
    p, g, m, v = np.ones((4, 3), np.float32)
    with pytest.raises(error, match=name):
        optim.sgd_step(p, g, lr=1.0, **options)
    with pytest.raises(error, match=name):
        optim.adam_step(p, g, m, v, step=1, **options)
    if "stream" not in options and options["rounding"] is not None:
        with pytest.raises(error, match=name):
            optim.SGD([p], **options)
        optimizer = optim.AdamW([p])
        optimizer.rounding, optimizer.seed = options["rounding"], options.get("seed", 0)
        with pytest.raises(error, match=name):
            optimizer.step([g])
    assert (p == 1).all() and (m == 1).all()
    late = optim.SGD([p], rounding="stochastic")
    late.state[0] = {"step": 2**32 - 1}
    with pytest.raises(ValueError, match="2\\*\\*32"):
        late.step([g])
