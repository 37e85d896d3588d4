"""rm_sgd_step and rm_adam_step against exact rationals, bit by bit, on every instruction set."""

import ctypes
import time

import elementwise_library
import flushing
import native
import numpy as np
import optimizers_oracle as reference
import pytest
from optimizers_library import (
    ADAM,
    ADAM_CASES,
    FMT,
    KINDS,
    NAMES,
    SGD,
    SGD_CASES,
    Adam,
    Sgd,
    Squares,
    adam,
    bits,
    clip,
    expected,
    kind,
    random,
    sgd,
)
from reductions_library import ENUM, I64, NULL, OK, OVERLAP, RANGE, SIZE, pointer, status


def check(lib, function, fmt, options, x):
    want, got = expected(function, fmt, options, x), x.copy()
    assert function(lib, fmt, options, got) == OK
    wrong = np.argwhere(bits(got) != want)
    assert not len(wrong), (
        options,
        [(w.tolist(), x[:, w[1]].tolist(), got[:, w[1]].tolist(), hex(want[tuple(w)])) for w in wrong[:3]],
    )


@FMT
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("function", [sgd, adam])
def test_hard_data(isa_library, function, name, fmt):
    rng = np.random.default_rng(60 + KINDS.index(name))
    for options in SGD_CASES if function is sgd else ADAM_CASES:
        check(isa_library, function, fmt, options, random(rng, fmt, 31, name))


def rates_to_boundaries(seed, count=60):
    """(options, elements of f32) with lr such that the first p' of Adam lies within some 2^-52 of its decrement from a midpoint."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        x = random(rng, "f32", 3, "gaussian")
        x[0] = 1 + np.abs(x[0])
        _, m, v, _ = reference.adam(ADAM, "f32", *(int(e) for e in bits(x)[:4, 0]), None)
        mean, s = float(reference.value(m, "f32")), float(reference.value(v, "f32"))
        ratio = mean / (1 - ADAM["beta1"] ** 3) / (np.sqrt(s / (1 - ADAM["beta2"] ** 3)) + ADAM["eps"])
        unit = 2.0**-23 * 2.0 ** np.floor(np.log2(x[0, 0]))
        yield {"lr": abs(float((rng.integers(1, 2000) + 0.5) * unit / ratio))}, x


def test_beside_boundaries(isa_library):
    for options, x in rates_to_boundaries(70):
        check(isa_library, adam, "f32", options, x)


@pytest.mark.parametrize("beta1, beta2, eps, v", [
    (0.5, 0.5, 0.0, 4.0),  # the quotient is above its limit: 2^-t against 2^-t/2
    (0.25, 0.5, 0.0, 4.0),  # and below
    (0.5, 0.25, 0.25, 0.0),  # no second moment at all
    (0.5, 0.0, 0.0, 1.0),
])  # fmt: skip
def test_a_hair_beside_ties(isa_library, beta1, beta2, eps, v):
    """After very many steps p' is beside a tie that it has for a limit, by less than any precision shows."""
    for sign in (1, -1):
        for k in (0.5, 1.5, 2.5):
            check(isa_library, adam, "f32", *hair(beta1, beta2, eps, v, 45000, k, sign))


def hair(beta1, beta2, eps, v, step, k, sign):
    """Options and an element of f32 whose p' has a tie for its limit: 1.5 less k units."""
    m = sign * (np.sqrt(v) + eps) * 2 * k * 2.0**-23
    x = np.zeros((5, 1), np.float32)
    x[0], x[2], x[3] = 1.5, m / beta1 if beta1 else 0.0, v / beta2 if beta2 else 0.0
    x[1] = np.sqrt(v) if beta2 == 0 else m if beta1 == 0 else 0.0
    if beta2 == 0 and beta1:
        x[2] = (m - (1 - beta1) * x[1]) / beta1
    if beta1 == 0 and beta2:
        x[3] = (v - (1 - beta2) * m * m) / beta2
    return {"lr": 0.5, "beta1": beta1, "beta2": beta2, "eps": eps, "step": step}, x


@pytest.mark.parametrize("step", [1 << 53, 1 << 62, (1 << 63) - 1])
def test_steps_beyond_counting(isa_library, step):
    """Beside a tie p' has the side that it has at any large step; elsewhere it is the limit. No step takes long."""
    for beta1, beta2, eps, v in [
        (0.5, 0.5, 0.0, 4.0), (0.25, 0.5, 0.0, 4.0), (0.5, 0.25, 0.25, 0.0), (0.5, 0.0, 0.0, 1.0), (0.5, 0.25, 0.25, 4.0), (0.0, 0.5, 0.25, 4.0)
    ]:  # fmt: skip
        for sign in (1, -1):
            for k in (0.5, 1.0, 1.5):
                options, x = hair(beta1, beta2, eps, v, 45000, k, sign)
                want, got = expected(adam, "f32", options, x), x.copy()
                assert adam(isa_library, "f32", options | {"step": step}, got) == OK
                assert np.array_equal(bits(got), want), (options, step, k, sign)
    for fmt in NAMES:  # powers of long numbers leave every range
        for name in ("gaussian", "huge", "integers"):
            x = random(np.random.default_rng(90), fmt, 15, name)
            for options in ({}, {"beta1": 0.1, "beta2": 0.2}, {"eps": 0.0, "lr": 0.5, "beta1": 0.75}):
                want, got = expected(adam, fmt, options | {"step": 10**6 if options else 10**8}, x), x.copy()
                start = time.process_time()
                assert adam(isa_library, fmt, options | {"step": step}, got) == OK
                assert time.process_time() - start < 1
                assert np.array_equal(bits(got), want), (options, step)


def test_a_large_parameter_after_many_steps(isa_library):
    x = np.array([[-2.4e241], [1.0], [1.0], [1.0], [0.0]])
    for step in (1 << 53, 1 << 62):
        got = x.copy()
        assert adam(isa_library, "f64", {"step": step}, got) == OK
        assert got[0, 0] == -2.4e241


def test_many_short_results(isa_library):
    """f16 after 10^5 steps with betas of 1/2 and no eps: every fourth element has a tie or a number for its limit."""
    rng = np.random.default_rng(91)
    x = np.zeros((5, 400), np.float16)
    x[0], x[2] = rng.integers(-2000, 2000, 400) / 8, rng.integers(-200, 200, 400) / 16
    x[3] = 2.0 ** (2 * rng.integers(-3, 3, 400) + 1)
    options = {"lr": 0.5, "beta1": 0.5, "beta2": 0.5, "eps": 0.0, "step": 100000}
    want, got = expected(adam, "f16", options | {"step": 30000}, x), x.copy()
    start = time.process_time()
    assert adam(isa_library, "f16", options, got) == OK
    assert time.process_time() - start < 0.2
    assert np.array_equal(bits(got), want)


def exact_ties(rng, count):
    """Options and elements of f64 whose p' is a tie at a step of many digits: s/D2 is a square and L a multiple of D1."""
    for _ in range(count):
        t = int(rng.integers(1, 12))
        options = {"lr": 1.0, "beta1": 0.75, "beta2": 0.0, "eps": 0.0, "step": t}
        x = np.zeros((5, 1))
        d1 = 1 - 0.75**t
        g = 2.0 ** rng.integers(-3, 3)  # v' = g^2, so the quotient is m'/(D1 g)
        k = float(rng.integers(0, 64)) + 0.5
        m = d1 * g * k * 2.0**-52
        x[0], x[1], x[2] = 1.0 if rng.random() < 0.5 else 1.5, g, (m - 0.25 * g) / 0.75
        yield options, x


def test_exact_ties_after_steps(isa_library):
    for options, x in exact_ties(np.random.default_rng(92), 40):
        check(isa_library, adam, "f64", options, x)


def test_control():
    """With error bounds 2^20 times too small, results beside boundaries are wrong."""
    path = native.control_library()
    for isa, library in elementwise_library.libraries(path).items():
        wrong = 0
        for options, x in rates_to_boundaries(70):
            got = x.copy()
            assert adam(library.library, "f32", options, got) == OK
            wrong += (bits(got) != expected(adam, "f32", options, x)).any()
        assert wrong, isa


@FMT
def test_tails_and_neighbours(isa_library, fmt):
    """Every length up to a few vectors; what lies beside the arrays is left alone, and the gradient too."""
    rng = np.random.default_rng(71)
    for n in range(0, 20):
        for function, options in ((sgd, SGD_CASES[2]), (adam, ADAM_CASES[0])):
            whole = np.ascontiguousarray(np.pad(random(rng, fmt, n, "gaussian"), ((0, 0), (3, 3)), constant_values=7))
            before, x = whole.copy(), [whole[k, 3 : 3 + n] for k in range(5)]
            want = expected(function, fmt, options, np.ascontiguousarray(np.stack(x)))
            assert function(isa_library, fmt, options, x) == OK
            assert np.array_equal(bits(whole)[:, 3 : 3 + n], want)
            assert np.array_equal(bits(whole)[:, :3], bits(before)[:, :3]) and np.array_equal(
                bits(whole)[:, -3:], bits(before)[:, -3:]
            )
            assert np.array_equal(bits(whole)[1], bits(before)[1])


def test_long_arrays_and_threads(isa_library):
    """Many elements: those of a smaller call, whatever the number of threads; a sample against the oracle."""
    rng = np.random.default_rng(72)
    start = random(rng, "f32", 70001, "gaussian")
    start[:, ::7] = 0
    for function, options in ((sgd, SGD_CASES[5]), (adam, ADAM_CASES[4])):
        results = []
        for threads in (1, 2, 3):
            assert isa_library.rm_set_num_threads(threads) == OK
            x = start.copy()
            assert function(isa_library, "f32", options, x) == OK
            results.append(x)
        assert isa_library.rm_set_num_threads(1) == OK
        assert all(np.array_equal(bits(results[0]), bits(x)) for x in results[1:])
        pick = np.ascontiguousarray(np.arange(start.shape[1]) % 997 == 5)
        sample = np.ascontiguousarray(start[:, pick])
        assert np.array_equal(bits(np.ascontiguousarray(results[0][:, pick])), expected(function, "f32", options, sample))


def test_where_subnormal_numbers_are_flushed(isa_library):
    x = random(np.random.default_rng(73), "f32", 40, "tiny")
    for function, options in ((sgd, SGD_CASES[2]), (adam, ADAM_CASES[11])):
        want, got = expected(function, "f32", options, x), x.copy()
        with flushing.flushing():
            assert function(isa_library, "f32", options, got) == OK
        assert np.array_equal(bits(got), want)


def test_flags(isa_library):
    """Invalid, division by zero and overflow, when and only when an operation of the formula asks for them."""
    libm = ctypes.CDLL(None)
    inf, nan, big = np.inf, np.nan, 3e38

    def raised(function, options, elements):
        x = np.repeat(np.array(elements, np.float32)[:, None], 3, axis=1).copy()
        libm.feclearexcept(61)
        assert function(isa_library, "f32", options, x) == OK
        return libm.fetestexcept(1 | 4 | 8)

    for function, options, elements, want in [
        (sgd, {}, [1, 2, 0, 0, 0], 0),
        (sgd, {"lr": 1.0}, [big, -big, 0, 0, 0], 8),
        (sgd, {"lr": 1.0}, [inf, inf, 0, 0, 0], 1),
        (sgd, {"lr": 0.0}, [1, inf, 0, 0, 0], 1),
        (sgd, {}, [nan, inf, 0, 0, 0], 0),
        (sgd, {}, [inf, 1, 0, 0, 0], 0),
        (adam, {}, [1, 1e-30, 0, 0, 0], 0),
        (adam, {"eps": 0.0}, [1, 0, 1, 0, 0], 4),
        (adam, {"eps": 0.0}, [1, 0, 0, 0, 0], 1),
        (adam, {}, [1, 1, 1, -1, 0], 1),
        (adam, {}, [1, 3e38, 0, 0, 0], 8),
        (adam, {}, [1, nan, 0, 0, 0], 0),
        (adam, {}, [1, 1, 1, inf, 0], 0),
        (adam, {}, [1, 3e38, 1, inf, 0], 0),
        (adam, {"amsgrad": 1}, [1, 3e38, 0, 0, inf], 8),
        (adam, {"beta2": 0.0}, [1, 1, 1, inf, 0], 1),
        (sgd, {"momentum": 0.5}, [nan, 1, nan, 0, 0], 0),
    ]:
        assert raised(function, options, elements) == want, (function, options, elements)


@FMT
def test_diverged(isa_library, fmt):
    """NaN and infinite gradients, parameters and states in any lanes, beside finite ones and squares about the overflow threshold."""
    rng = np.random.default_rng(74)
    top = np.sqrt(float(np.finfo(np.float32).max if fmt == "bf16" else np.finfo(kind(fmt)).max))
    for function, cases in ((sgd, SGD_CASES), (adam, ADAM_CASES)):
        for options in cases:
            x = random(rng, fmt, 40, "gaussian")
            with np.errstate(all="ignore"):
                large = (top * 2.0 ** rng.uniform(-2, 12, 40) * rng.choice([-1, 1], 40)).astype(kind(fmt))
            x[1] = np.where(rng.random(40) < 0.4, large, x[1])
            x[3] = np.where(rng.random(40) < 0.3, np.inf, x[3])
            x[:, rng.random(40) < 0.2] = np.nan
            x[rng.integers(0, 5, 8), rng.integers(0, 40, 8)] = np.nan
            x[rng.integers(0, 3, 8), rng.integers(0, 40, 8)] = -0.0
            check(isa_library, function, fmt, options, np.ascontiguousarray(x))


def test_bad_input(isa_library):
    lib, x = isa_library, np.ones((5, 4), np.float32)
    before = x.copy()
    at = [pointer(x[k]) for k in range(5)]

    def s(**changes):
        return ctypes.byref(Sgd(**(SGD | changes)))

    def a(**changes):
        return ctypes.byref(Adam(**(ADAM | changes)))

    f32, n = 2, I64(4)
    for got, want in [
        (lib.rm_sgd_step(4, n, at[0], at[1], None, s()), status(ENUM, 1)),
        (lib.rm_sgd_step(f32, I64(-1), at[0], at[1], None, s()), status(SIZE, 2)),
        (lib.rm_sgd_step(f32, n, None, at[1], None, s()), status(NULL, 3)),
        (lib.rm_sgd_step(f32, n, at[0], None, None, s()), status(NULL, 4)),
        (lib.rm_sgd_step(f32, n, at[0], at[1], None, s(momentum=0.9)), status(NULL, 5)),
        (lib.rm_sgd_step(f32, n, at[0], at[1], None, None), status(NULL, 6)),
        (lib.rm_sgd_step(f32, n, at[0], at[0], None, s()), status(OVERLAP, 4)),
        (lib.rm_sgd_step(f32, n, at[0], at[1], pointer(x[0][2:]), s(momentum=0.9)), status(OVERLAP, 5)),
        *((lib.rm_sgd_step(f32, n, at[0], at[1], at[2], s(**{k: v})), status(RANGE, 6)) for k, v in [
            ("lr", -1.0), ("lr", np.nan), ("lr", np.inf), ("momentum", -0.1), ("weight_decay", -1.0), ("dampening", np.inf),
            ("nesterov", 1),
        ]),
        (lib.rm_adam_step(-1, n, *at, a()), status(ENUM, 1)),
        (lib.rm_adam_step(f32, n, *at[:3], None, None, a()), status(NULL, 6)),
        (lib.rm_adam_step(f32, n, *at[:4], at[0], a()), status(OVERLAP, 7)),
        *((lib.rm_adam_step(f32, n, *at, a(**{k: v})), status(RANGE, 8)) for k, v in [
            ("lr", -1.0), ("beta1", 1.0), ("beta2", -0.5), ("beta2", np.nan), ("eps", -1e-8), ("weight_decay", np.inf), ("step", 0),
        ]),
    ]:  # fmt: skip
        assert got == want
    assert np.array_equal(x, before)
    assert lib.rm_adam_step(f32, I64(0), None, None, None, None, None, a()) == OK


@FMT
@pytest.mark.parametrize("name", KINDS)
def test_clipping(isa_library, fmt, name):
    """Factors of all sizes, rational ones among them: norms 5, 13 and 4, and limits that make ties."""
    rng = np.random.default_rng(80)
    arrays = [random(rng, fmt, n, name)[1] for n in (1, 19)]
    arrays += [np.array(v, kind(fmt)) for v in ([3, 4], [3, -4, 12], [1, 1, 1, 1] * 4, [0, 0, -0.0], [])]
    for x in arrays:
        total = reference.squares((int(b), fmt) for b in bits(x))
        squares = Squares(isa_library, fmt, x)
        for limit in [0.0, 1.0, 2.5, 1e-3, 5.0, 1e-250, 1e300] + [squares.root()] * bool(np.isfinite(squares.root())):
            got = x.copy()
            assert clip(isa_library, fmt, got, squares, limit) == OK
            want = [reference.clipped(int(b), fmt, total, limit) for b in bits(x)]
            assert bits(got).tolist() == want, (limit, x)


def test_roots_of_totals(isa_library):
    rng = np.random.default_rng(81)
    for _ in range(200):
        x = rng.standard_normal(5) * 2.0 ** rng.integers(-500, 500)
        total = reference.squares((int(b), "f64") for b in bits(x))
        r, _ = reference.root(total, 400)
        assert np.float64(Squares(isa_library, "f64", x).root()).view(np.uint64) == reference.round_rational(r, "f64")
    assert Squares(isa_library, "f64").root() == 0
    assert Squares(isa_library, "f64", np.array([np.inf])).root() == np.inf


def test_clipping_of_long_arrays(isa_library):
    x = np.tile(np.random.default_rng(82).standard_normal(1001).astype(np.float32), 150)
    squares, results = Squares(isa_library, "f32", x), []
    for threads in (1, 2):
        assert isa_library.rm_set_num_threads(threads) == OK
        results.append(x.copy())
        assert clip(isa_library, "f32", results[-1], squares, 0.5) == OK
    assert isa_library.rm_set_num_threads(1) == OK
    total = 150 * reference.squares((int(b), "f32") for b in bits(x[:1001]))
    assert np.array_equal(bits(results[0]), bits(results[1]))
    for i in range(0, len(x), 997):
        assert bits(results[0])[i] == reference.clipped(int(bits(x)[i]), "f32", total, 0.5)


def test_bad_clipping(isa_library):
    x, less, size = np.ones(3, np.float32), np.full(3, -1, np.float32), ctypes.c_ssize_t(4)
    squares, negative = Squares(isa_library, "f32", x), Squares(isa_library, "f32")
    assert isa_library.rm_accumulator_add_f32(negative.at, I64(3), pointer(less), size) == OK
    one = ctypes.c_double(1)
    for got, want in [
        (clip(isa_library, "f32", x, None, 1.0), status(NULL, 4)),
        (clip(isa_library, "f32", x, squares, -1.0), status(RANGE, 5)),
        (clip(isa_library, "f32", x, squares, np.nan), status(RANGE, 5)),
        (clip(isa_library, "f32", x, squares, np.inf), status(RANGE, 5)),
        (clip(isa_library, "f32", x, negative, 1.0), status(RANGE, 4)),
        (isa_library.rm_clip_to_norm(4, I64(3), pointer(x), squares.at, one), status(ENUM, 1)),
        (isa_library.rm_clip_to_norm(2, I64(-3), pointer(x), squares.at, one), status(SIZE, 2)),
        (isa_library.rm_clip_to_norm(2, I64(3), None, squares.at, one), status(NULL, 3)),
        (isa_library.rm_root_of_total(squares.at, None), status(NULL, 2)),
    ]:
        assert got == want
    assert (x == 1).all()
