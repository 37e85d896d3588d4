"""The arithmetics of the accurate phases, crlibm/enclosure/dd_ball.h and ball.h, against exact rationals and mpmath: the true result, for operands
anywhere within their errors, lies within the claimed error; what can stay exact does; roundings are those of the true value."""

import ctypes
import functools
import math
import os
import subprocess

import gmpy2
import numpy as np
import oracle
import pytest
from exact_oracle import FORMATS, rational_of, round_rational
from gmpy2 import mpq, mpz
from native import need

OPERATIONS = ["add", "sub", "mul", "div", "sqrt", "pow", "exp", "expm1", "log", "log1p", "scale", "neg"]
BINARY = {"add", "sub", "mul", "div"}
PUT = 40  # limbs of a ball that the driver gives back


@functools.cache
def mpfr(bits):
    context = gmpy2.context()
    context.precision, context.emax, context.emin = bits, gmpy2.get_emax_max(), gmpy2.get_emin_min()
    return context


def exact(x):
    return mpq(*x.as_integer_ratio())


class Driver:
    def __init__(self, path, put=PUT):
        self.library = ctypes.CDLL(str(path))
        self.put = put

    def __call__(self, number, operation, x, y, k, limbs=4, fmt="f64", rule="nearest"):
        n = len(x)
        x, y, k = np.ascontiguousarray(x, np.float64), np.ascontiguousarray(y, np.float64), np.ascontiguousarray(k, np.int64)
        results = np.empty((n, 3)) if number == "dd_ball" else np.zeros((n, self.put + 4), np.uint64)
        sign, decided = np.empty(n, np.int32), np.empty(n, np.int32)
        flags, bits = np.empty(n, np.uint32), np.zeros(n, np.uint64)
        getattr(self.library, "rm_test_" + number)(
            OPERATIONS.index(operation), limbs, ctypes.c_int64(n),
            *(ctypes.c_void_p(a.ctypes.data) for a in (x, y, k, results)),
            list(oracle.FORMATS).index(fmt), list(oracle.RULES).index(rule),
            *(ctypes.c_void_p(a.ctypes.data) for a in (sign, decided, flags, bits)),
        )  # fmt: skip
        values = (
            [dd_ball_value(r) for r in results.tolist()] if number == "dd_ball" else [ball_value(r) for r in results.tolist()]
        )
        return values, sign, decided, flags, bits


def dd_ball_value(r):
    """(the middle, the error or None) of a result."""
    return exact(r[0]) + exact(r[1]), exact(r[2]) if math.isfinite(r[2]) else None


def ball_value(r):
    negative, length, e = r[0], r[1], r[2] - (r[2] >> 63 << 64)
    err = np.uint64(r[3]).view(np.float64)
    assert length <= len(r) - 4
    if not np.isfinite(err):
        return mpq(0), None
    m = mpz(0)
    for limb in reversed(r[4 : 4 + length]):
        m = m << 64 | limb
    unit = mpq(2) ** e
    return (-m if negative else m) * unit, exact(float(err)) * unit


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    (compiler,) = need(os.environ.get("CC", "cc"))

    @functools.cache
    def compile_driver(*options):
        path = tmp_path_factory.mktemp("ball") / "driver.so"
        flags = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-fPIC", "-shared", *options]
        sources = [oracle.ROOT / "tests/support/ball_driver.c", oracle.ROOT / "src/reduce/superaccumulator.c"]
        subprocess.run([compiler, *flags, "-o", path, *sources], check=True)
        put = [int(option.split("=")[1]) for option in options if option.startswith("-DRM_TEST_PUT")]
        return Driver(path, *put)

    return compile_driver


FMA = [["-mavx2", "-mfma"]] if "fma" in open("/proc/cpuinfo").read() else []
BUILDS = [[], *FMA]


def numbers(rng, n, spread, inexact=0.5):
    """Operands (hi, lo, exponent of the error): of many sizes, short and long, exact or not."""
    size = rng.choice([0, 1, 2, 3, 4, 5], n)
    high = min(spread, 1000)
    x = np.ldexp(rng.uniform(1, 2, n), rng.integers(-spread, high + 1, n))
    x = np.where(size == 0, rng.integers(0, 20, n), x)
    x = np.where(size == 1, np.ldexp(1.0, rng.integers(-spread, high + 1, n)), x)
    x = np.where(size == 2, rng.uniform(0.5, 1.5, n).astype(np.float32), x)
    x = np.where(size == 3, 1 + rng.choice([-1, 1], n) * 2.0 ** -rng.integers(1, 53, n), x)
    x = x * rng.choice([-1, 1], n)
    depth = rng.choice([54, 55, 60, 100, 300], n)
    low = np.where(rng.random(n) < 0.6, x * rng.uniform(-1, 1, n) * 2.0**-depth, 0)
    lost = np.maximum(np.frexp(x)[1] - rng.choice([20, 50, 90, 107, 120, 300], n), -1020)  # of a normal number
    return np.stack([x, low, np.where(rng.random(n) < inexact, lost, np.nan)], 1)


def operands(operation, n, seed, spread=60, inexact=0.5):
    rng = np.random.default_rng(seed)
    x, y = numbers(rng, n, spread, inexact), numbers(rng, n, spread, inexact)
    k = rng.integers(0, 40, n)
    if operation in {"add", "sub"}:  # half of them cancel
        near = rng.random(n) < 0.5
        y[near, 0] = x[near, 0] * (1 + rng.choice([0, 2.0**-52, 2.0**-30], near.sum())) * rng.choice([1, -1], near.sum())
        y[near, 1] *= rng.choice([0, 1], near.sum())
    if operation == "sqrt":
        x[:, :2] *= np.sign(x[:, :1]) + (x[:, :1] == 0)
        square = rng.random(n) < 0.3
        x[square, 0], x[square, 1] = np.round(x[square, 0] * 2.0**20 % 2.0**26) ** 2, 0
    if operation in {"log"}:
        x[:, :2] *= np.sign(x[:, :1]) + (x[:, :1] == 0)
    if operation in {"exp", "expm1"}:
        big = np.abs(x[:, 0]) > 700
        x[big, 0] = rng.uniform(-5000, 5000, big.sum())
        x[big, 1], x[big, 2] = 0, np.where(np.isnan(x[big, 2]), np.nan, -60)
    if operation == "log1p":
        low = x[:, 0] <= -1
        x[low, :2] *= -1
    if operation == "scale":
        k = rng.integers(-200, 200, n)
    return x, y, k


def actual(rng, v):
    """A number that the operand may be: an end of its interval, or one inside."""
    middle = exact(v[0]) + exact(v[1])
    return middle if v[2] != v[2] else middle + mpq(int(rng.integers(-4, 5)), 4) * mpq(2) ** int(v[2])


def within(operation, a, b, k, middle, err, bits):
    """Whether the true result is within err of middle; None when it does not exist."""
    if operation == "sqrt":
        if a < 0:
            return None
        low, high = middle - err, middle + err
        return high >= 0 and high * high >= a and (low <= 0 or low * low <= a)
    if operation == "div":
        return None if b == 0 else abs(middle * b - a) <= err * abs(b)
    if operation in {"add", "sub", "mul", "pow", "scale", "neg"}:
        truth = {
            "add": lambda: a + b, "sub": lambda: a - b, "mul": lambda: a * b, "pow": lambda: a**k,
            "scale": lambda: a * mpq(2) ** k, "neg": lambda: -a,
        }[operation]()  # fmt: skip
        return abs(middle - truth) <= err
    if operation in {"log", "log1p"} and a <= (0 if operation == "log" else -1):
        return None
    with mpfr(bits):
        one = gmpy2.mpfr(1)  # 1 + a in full: an argument of log1p, or of log, near 1
        f = {"exp": gmpy2.exp, "expm1": gmpy2.expm1, "log": lambda v: gmpy2.log(v * one), "log1p": gmpy2.log1p}[operation]
        truth = f(gmpy2.mpfr(a, bits))
        return abs(mpq(truth) - middle) <= err + abs(mpq(truth)) * mpq(1, 1 << (bits - 400))


def violations(run, number, operation, count, seed, limbs=4, bits=1600, **kwargs):
    """(results outside their claimed error, results that are unknown, results)"""
    x, y, k = operands(operation, count, seed, **kwargs)
    values, sign, *_ = run(number, operation, x, y, k, limbs)
    rng, bad, unknown = np.random.default_rng(seed), [], 0
    for i, (middle, err) in enumerate(values):
        if err is None:
            unknown += 1
            continue
        a, b = actual(rng, x[i]), actual(rng, y[i])
        inside = within(operation, a, b, int(k[i]), middle, err, bits)
        positive = 0 if abs(middle) <= err and err else (middle > 0) - (middle < 0)
        claimed = int(sign[i])
        if inside is False or (claimed != 2 and claimed != positive):
            bad.append((x[i].tolist(), y[i].tolist(), int(k[i]), claimed))
    return bad, unknown, values


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("options", BUILDS, ids=lambda options: "fma" if options else "base")
def test_dd_ball_is_within_its_error(driver, operation, options):
    for seed, spread in enumerate([60, 480, 1074]):
        bad, unknown, values = violations(
            driver(*options), "dd_ball", operation, 2000, seed, bits=6000 if spread > 480 else 2600, spread=spread
        )
        assert not bad, bad[:3]
        assert unknown < 0.6 * len(values) or spread > 480


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("limbs", [2, 4, 11])
def test_ball_is_within_its_error(driver, operation, limbs):
    for seed, spread in enumerate([60, 480]):
        bad, unknown, values = violations(driver(), "ball", operation, 1000, seed + 10, limbs, bits=2600, spread=spread)
        assert not bad, bad[:3]
        assert unknown < 0.5 * len(values)


@pytest.mark.sample(4)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("limbs", [70, 512])
def test_long_balls(driver, operation, limbs):
    run = driver("-DRM_TEST_PUT=512")
    for seed, inexact in enumerate([0.5, 0]):
        bad, _, values = violations(run, "ball", operation, 30, seed + 40, limbs, bits=34000, inexact=inexact)
        assert not bad, bad[:3]
    if operation in {"div", "sqrt"}:  # of exact operands all but two limbs are known
        known = [(middle, err) for middle, err in values if err is not None]
        assert len(known) > 15 and all(err <= abs(middle) * mpq(1, 1 << (64 * limbs - 128)) for middle, err in known)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("number", ["dd_ball", "ball"])
def test_control_half_of_the_error(driver, number, operation):
    """Operands at the ends of their intervals: half of what is claimed does not hold."""
    run = driver("-DRM_TEST_SHRINK=0.49")
    assert violations(run, number, operation, 300, 20, inexact=1)[0]


@pytest.mark.parametrize("operation", [f for f in OPERATIONS if f not in {"scale", "neg"}])
@pytest.mark.parametrize("number", ["dd_ball", "ball"])
def test_control_no_error(driver, number, operation):
    """Exact operands: without the error of the operation itself results are wrong."""
    run = driver("-DRM_TEST_SHRINK=0.0")
    assert violations(run, number, operation, 400, 21, limbs=2, inexact=0)[0]


@pytest.mark.parametrize("operation", [f for f in OPERATIONS if f not in {"scale", "neg"}])
@pytest.mark.parametrize("number", ["dd_ball", "ball"])
def test_errors_are_small(driver, number, operation):
    """Of exact operands: some 2^-100 of a double-double result (functions less), all but two limbs and what exp and log lose of a ball;
    cancelled digits of an operand's are lost too."""
    x, y, k = operands(operation, 2000, 22, inexact=0)
    x[:, 1] = y[:, 1] = 0
    values, *_ = driver()(number, operation, x, y, k % 8, limbs=6)
    sizes = [(abs(middle), err) for middle, err in values if err is not None and middle]
    assert len(sizes) > 1000
    lost = {"exp": 68, "expm1": 61, "log": 61, "log1p": 61}.get(operation, 98) if number == "dd_ball" else 64 * 4 - 8
    assert all(err <= size * mpq(1, 1 << lost) for size, err in sizes)


@pytest.mark.parametrize("operation", ["exp", "expm1", "log", "log1p"])
@pytest.mark.parametrize("limbs", [15, 16, 17, 40, 130, 512])
def test_errors_of_long_balls(driver, operation, limbs):
    """Functions of exact numbers know all but a few limbs, however many there are, and however near to 0 the argument."""
    run = driver("-DRM_TEST_PUT=512")
    x = np.array([0.7, 1.5, 700, 2.0**-20, 1 + 2.0**-52, 3 * 2.0**-45, 2.0**-150, 1e-300, 5e-324, 1e300])
    x = x[[1, 3, 8] if limbs == 512 else slice(None)]
    if operation in {"exp", "expm1"}:
        x = np.concatenate([x[x < 1e5], [-0.7, -(2.0**-900)] if limbs < 512 else [-745.2]])
    operand = np.stack([x, 0 * x, np.full(len(x), np.nan)], 1)
    values, *_ = run("ball", operation, operand, operand, np.zeros(len(x)), limbs)
    for a, (middle, err) in zip(x.tolist(), values):
        bits = 64 * limbs + 1400
        assert within(operation, exact(a), None, 0, middle, err, bits), a
        lost = 64 * (
            8 if limbs == 512 else 6 if operation == "log" and abs(a - 1) < 0.1 else 5
        )  # log is absolutely exact near 1
        assert 0 < err <= abs(middle) * mpq(1, 1 << max(64 * limbs - lost, 64)), (a, float(err / abs(middle)))


def test_exact_balls_stay_exact(driver):
    """Sums, products and quotients that fit, powers, scalings, and the roots of squares."""
    rng = np.random.default_rng(23)
    n = 1000
    a, b = rng.integers(1, 2**26, (2, n)).astype(float) * 2.0 ** rng.integers(-30, 30, (2, n))
    pair = np.stack([np.stack([v, 0 * v, np.full(n, np.nan)], 1) for v in (a * b, b)])
    square = np.stack([a * a, 0 * a, np.full(n, np.nan)], 1)
    for operation, x, want in [
        ("add", pair[0], lambda i: exact(a[i] * b[i]) + exact(b[i])),
        ("sub", pair[0], lambda i: exact(a[i] * b[i]) - exact(b[i])),
        ("mul", pair[0], lambda i: exact(a[i] * b[i]) * exact(b[i])),
        ("div", pair[0], lambda i: exact(a[i])),
        ("pow", pair[0], lambda i: exact(a[i] * b[i]) ** 5),
        ("scale", pair[0], lambda i: exact(a[i] * b[i]) * 32),
        ("sqrt", square, lambda i: exact(a[i])),
    ]:
        values, *_ = driver()("ball", operation, x, pair[1], np.full(n, 5), limbs=8)
        assert values == [(want(i), 0) for i in range(n)], operation
    values, *_ = driver()("dd_ball", "div", pair[0], pair[1], np.full(n, 5))
    assert values == [(exact(a[i]), 0) for i in range(n)]


@pytest.mark.parametrize("rule", oracle.RULES)
@pytest.mark.parametrize("fmt", oracle.FORMATS)
@pytest.mark.parametrize("number", ["dd_ball", "ball"])
def test_roundings(driver, number, fmt, rule):
    """Sums beside numbers of the format and midpoints of two, of all sizes: what is decided is the rounding of both ends; a ball whose
    ends round alike is decided; where values are boundaries or far from them, the one boundary in the interval is the value."""
    rng, n = np.random.default_rng(24), 1000
    _, _, fraction, least, infinity, shift = FORMATS[fmt]
    bits = rng.integers(0, (infinity << fraction) - 1, n)
    bits = np.where(rng.random(n) < 0.2, rng.integers(0, 4 << fraction, n), bits)  # subnormal numbers too
    low = [rational_of(int(b), fmt) for b in bits]
    step = [rational_of(int(b) + 1, fmt) - v for b, v in zip(bits, low)]
    x, y = np.full((n, 3), np.nan), np.full((n, 3), np.nan)
    x[:, 0] = [float(v) for v in low]
    y[:, 0] = [float(s) / 2 * w for s, w in zip(step, rng.choice([0, 1, 0.5, 2], n))]  # 0 below 2^-1074
    quantum = np.array([math.frexp(float(s))[1] for s in step])
    x[:, 1] = np.where(
        rng.random(n) < 0.5, 0, rng.choice([-1, 1], n) * 2.0 ** np.maximum(quantum - rng.integers(20, 60, n), -1074)
    )
    y[:, 1] = 0
    y[:, 2] = np.where(rng.random(n) < 0.3, np.nan, np.maximum(quantum - rng.integers(10, 60, n), -1020))
    x[:, :2] *= rng.choice([-1, 1], n)[:, None]
    y[:, :2] *= np.sign(x[:, :1]) + (x[:, :1] == 0)
    values, _, decided, _, got = driver()(number, "add", x, y, np.full(n, 3000), fmt=fmt, rule=rule)
    zeros = {0, 1 << shift}
    counts = [0, 0, 0]
    for i, (middle, err) in enumerate(values):
        if err is None:
            assert not decided[i]
            continue
        counts[decided[i]] += 1
        ends = [round_rational(v, fmt, rule) for v in (middle - err, middle + err)]
        if decided[i] == 1:
            assert ends[0] == ends[1] == got[i], (x[i], y[i])
        elif number == "ball" and decided[i] == 0:
            assert ends[0] != ends[1]
        elif decided[i] == 2:
            inside = [rational_of(int(got[i]), fmt)]
            if rule == "nearest":  # the midpoints beside it
                size, negative = int(got[i]) & ~(1 << shift), int(got[i]) >> shift
                beside = [s for s in (size - 1, size + 1) if s >= 0]
                inside = [(rational_of(size, fmt) + rational_of(s, fmt)) / (-2 if negative else 2) for s in beside]
                inside += [0] if size == 0 else []
                assert size % 2 == 0
            assert sum(abs(mpq(v) - middle) <= err for v in inside) == 1 or set(ends) <= zeros, (x[i], y[i])
    assert counts[1] > n // 4
    if number == "ball":
        assert counts[2] > 20


def test_a_wide_interval_is_no_boundary(driver):
    """1 + 2^-53 within 2^j is the midpoint where values are that or 2^(j+3) away, and undecided where they may be 2^(j-1) away."""
    j = np.repeat(np.arange(-60, -1000, -40), 2)
    n = len(j)
    x, y = np.zeros((n, 3)), np.zeros((n, 3))
    x[:], y[:, 2] = [1, 2.0**-53, np.nan], j
    for limbs in [18, 40]:
        _, _, decided, _, bits = driver()("ball", "add", x, y, j + np.tile([3, -1], n // 2), limbs)
        assert decided.tolist() == [2, 0] * (n // 2)
        assert (bits[::2] == np.float64(1).view(np.uint64)).all()


@pytest.mark.parametrize("limbs", [2, 80])
def test_totals(driver, limbs):
    rng = np.random.default_rng(25)
    for count in [0, 1, 2, 50]:
        for spread in [0, 30, 1000]:
            for _ in range(20):
                x, y = (
                    rng.standard_normal((2, count)) * 2.0 ** rng.integers(-spread, spread + 1, (2, count)).astype(float) * 0.5
                )
                if count == 2 and spread < 1000:
                    x[1], y[1] = -x[0], y[0]
                dd, ball = np.empty((1, 3)), np.zeros((1, PUT + 4), np.uint64)
                driver().library.rm_test_total(
                    ctypes.c_int64(count), *(ctypes.c_void_p(a.ctypes.data) for a in (x, y)), limbs,
                    *(ctypes.c_void_p(a.ctypes.data) for a in (dd, ball)),
                )  # fmt: skip
                total = sum((exact(a) * exact(b) for a, b in zip(x.tolist(), y.tolist())), mpq(0))
                middle, err = dd_ball_value(dd.tolist()[0])
                assert err is None or abs(middle - total) <= err
                assert err is None or spread > 30 or err <= abs(total) * mpq(1, 1 << 100)
                if ball[0, 1] <= PUT:
                    middle, err = ball_value(ball.tolist()[0])
                    assert abs(middle - total) <= err and (limbs == 2 or err == 0)


def test_exp_of_huge_arguments(driver):
    """Below -2^40 a ball lies between 0 and 2^-2^40, and rounds; above nothing is known."""
    x = np.array(
        [[-1e300, 0, np.nan], [-(2.0**45), 0, 10], [-(2.0**30), 0, np.nan], [2.0**45, 0, np.nan], [1e300, 0, np.nan]]
    )
    n = len(x)
    lib, k = driver().library, np.zeros(n, np.int64)
    results, sign, decided = np.zeros((n, PUT + 4), np.uint64), np.empty(n, np.int32), np.empty(n, np.int32)
    flags, bits = np.empty(n, np.uint32), np.zeros(n, np.uint64)
    lib.rm_test_ball(
        OPERATIONS.index("exp"), 4, ctypes.c_int64(n), *(ctypes.c_void_p(a.ctypes.data) for a in (x, x, k, results)), 3, 0,
        *(ctypes.c_void_p(a.ctypes.data) for a in (sign, decided, flags, bits)),
    )  # fmt: skip
    assert decided.tolist() == [1, 1, 1, 0, 0] and bits[:3].tolist() == [0, 0, 0]
    assert (results[:3, 2].astype(np.int64) < -(2**29)).all()
