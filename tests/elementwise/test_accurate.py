"""The accurate phases against MPFR: every function, format and rule; each tier alone; and controls in which a bound is made too
small and the tests must notice."""

import ctypes
import re
import subprocess
import sys
from fractions import Fraction

import mpmath
import numpy as np
import oracle
import pytest
import ranges
from accurate_phase import APPROXIMATE, FORMATS, RULES, accurate, check, compiled  # noqa: F401 (fixtures)


@pytest.fixture(scope="session")
def multiprecision(compiled):
    """The driver of the rounding step and of the multiprecision evaluations."""
    library = ctypes.CDLL(str(compiled("multiprecision_driver.c")))
    library.rm_test_round_dd.restype = ctypes.c_uint64
    library.rm_test_round.restype = ctypes.c_uint64
    return library


# The builds vary fastest: what the oracle computed is then still known.
@pytest.mark.sample(8, "function", "fmt", "rule")
@pytest.mark.parametrize("name", ["all", "mp"])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("function", oracle.UNARY)
def test_special_and_random(accurate, name, function, fmt, rule):
    check(accurate(name, function), function, oracle.special_values(fmt), fmt, rule, with_flags=True)
    check(accurate(name, function), function, oracle.random_values(fmt, 3000, 1), fmt, rule)


@pytest.mark.sample(4, "function", "rule")
@pytest.mark.parametrize("name", ["all", "mp"])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("function", oracle.UNARY)
def test_hard_cases(accurate, name, function, rule):
    check(accurate(name, function), function, oracle.hard_cases(function), "f64", rule)


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", ["mp-from-1-limb", "mp-8-limbs"])
@pytest.mark.parametrize("function", oracle.UNARY)
def test_other_precisions(accurate, name, function):
    """With one limb the stated error is a good part of an ulp: a bound that is too small would show."""
    check(accurate(name, function), function, oracle.hard_cases(function), "f64", "nearest")
    check(accurate(name, function), function, oracle.random_values("f64", 20000, 2), "f64", "nearest")


def interesting(function, n):
    """Arguments for which the function is neither saturated nor a closed form."""
    rng = np.random.default_rng(3)
    low, high = ranges.RANGES[function][0]
    return rng.uniform(low, high, n)


@pytest.mark.parametrize("function", APPROXIMATE)
def test_control_multiprecision(accurate, function):
    """With an error bound 2^20 times too small, one limb returns wrong bits: the bound of the multiprecision evaluation is needed."""
    x, wrong = interesting(function, 100000), accurate("control-mp", function)
    parts = (x[i : i + 500] for i in range(0, x.size, 500))  # the first that is wrong is enough
    assert any((wrong(part, "f64")[0] != oracle.values(function, part, "f64")).any() for part in parts)


@pytest.mark.sample(6)
@pytest.mark.parametrize("function", APPROXIMATE)
def test_control_double_double(accurate, function):
    """With its bound 2^20 times too small, the double-double tier returns wrong bits for hard cases."""
    x = oracle.hard_cases(function)
    got, _ = accurate("control-dd", function)(x, "f64")
    assert (got != oracle.values(function, x, "f64")).any()


def exact_rounding(value: Fraction, fmt: str, rule: str) -> tuple[int, int]:
    """IEEE 754 rounding of a rational number, by definition: bits and overflow flag."""
    precision, emax, uint = oracle.FORMATS[fmt]
    size, negative = abs(value), value < 0
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** exponent:
        exponent -= 1
    quantum = Fraction(2) ** (max(exponent, 1 - emax) - (precision - 1))
    q, rest = divmod(size, quantum)
    if rule == "nearest":
        q += rest * 2 > quantum or (rest * 2 == quantum and q % 2 == 1)
    elif rule != "toward_zero":
        q += rest > 0 and (rule == "down") == negative
    top = (2 * emax + 1) << (precision - 1)
    sign = int(negative) << (8 * uint.itemsize - 1)
    if q * quantum >= Fraction(2) ** (emax + 1):
        to_infinity = rule == "nearest" or (rule == "down") == negative and rule != "toward_zero"
        return sign | (top if to_infinity else top - 1), oracle.OVERFLOW
    return sign | int(q) + ((max(exponent, 1 - emax) - (1 - emax)) << (precision - 1)), 0


@pytest.mark.sample(4)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("fmt", FORMATS)
def test_rounding_step(multiprecision, fmt, rule):
    """rm_round_bits against the definition: widths, ties, subnormals, overflow, and the interval form."""
    precision, emax, _ = oracle.FORMATS[fmt]
    rng = np.random.default_rng(5)
    flags, undecided = ctypes.c_uint32(), ctypes.c_int()
    call = multiprecision.rm_test_round
    for _ in range(4000):
        width = int(rng.integers(1, 129))
        m = int.from_bytes(rng.bytes(16), "little") >> (128 - width) | 1 << (width - 1)
        if rng.random() < 0.5 and width > precision + 1:  # at and around a tie or a number
            cut = width - precision - 1
            m = (m >> cut << cut) + int(rng.integers(-1, 2))
        e = int(rng.integers(-emax - 2 * precision - 10, emax + 12)) - width
        negative = int(rng.integers(0, 2))
        err = 0 if rng.random() < 0.5 else 1 << int(rng.integers(0, min(width, 63)))
        flags.value = 0
        bits = call(
            negative,
            ctypes.c_uint64(m >> 64),
            ctypes.c_uint64(m & (2**64 - 1)),
            ctypes.c_int64(e),
            ctypes.c_uint64(err),
            FORMATS.index(fmt),
            RULES.index(rule),
            ctypes.byref(flags),
            ctypes.byref(undecided),
        )
        sign, unit = (-1) ** negative, Fraction(2) ** e
        hair = Fraction(1, 2**200)
        ends = [m - err + hair, m + err - hair] if err else [Fraction(m)]
        if ends[0] <= 0:
            assert undecided.value
            continue
        want = {exact_rounding(sign * end * unit, fmt, rule) for end in ends}
        if undecided.value:  # may also be said of an interval that ends at a boundary up to the units it is kept in
            wider = [m - err - 4, m + err + 4]
            assert err and (wider[0] <= 0 or len({exact_rounding(sign * end * unit, fmt, rule) for end in wider}) > 1)
        else:
            assert want == {(bits, flags.value)}


@pytest.mark.sample(4)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("fmt", FORMATS)
def test_rounding_of_double_double(multiprecision, fmt, rule):
    precision, emax, _ = oracle.FORMATS[fmt]
    rng = np.random.default_rng(6)
    flags, undecided = ctypes.c_uint32(), ctypes.c_int()
    call = multiprecision.rm_test_round_dd
    decided = 0
    for _ in range(4000):
        scale = int(rng.integers(max(-emax - precision, -900), min(emax + 2, 1000)))
        hi = float(rng.uniform(1, 2) if rng.random() < 0.5 else 1 + rng.integers(0, 2**12) * 2.0**-12) * 2.0**scale
        hi *= float(rng.choice([-1.0, 1.0]))
        lo = hi * float(rng.uniform(-1, 1)) * 2.0 ** -float(rng.integers(9, 100)) if rng.random() < 0.9 else 0.0
        err = hi * 2.0 ** -float(rng.integers(40, 100))
        flags.value = 0
        bits = call(
            ctypes.c_double(hi),
            ctypes.c_double(lo),
            ctypes.c_double(err),
            FORMATS.index(fmt),
            RULES.index(rule),
            ctypes.byref(flags),
            ctypes.byref(undecided),
        )
        middle, margin = Fraction(hi) + Fraction(lo), abs(Fraction(err))
        want = {exact_rounding(middle - margin, fmt, rule), exact_rounding(middle + margin, fmt, rule)}
        if not undecided.value:
            decided += 1
            assert want == {(bits, flags.value)}
    assert decided > 1500


# What mpmath has under another name.
MPMATH = {
    "exp2": lambda x: mpmath.power(2, x),
    "exp10": lambda x: mpmath.power(10, x),
    "erf_half": lambda x: mpmath.erf(x / mpmath.sqrt(2)),
    "ndtr": mpmath.ncdf,
    "erfcx": lambda x: mpmath.exp(x * x) * mpmath.erfc(x),
    "log_ndtr": lambda x: mpmath.log(mpmath.erfc(-x / mpmath.sqrt(2)) / 2),
}
EVALUATIONS = re.findall(
    r"^int rm_mp_test_(\w+)\(.*;$", (oracle.ROOT / "tests/support/multiprecision_driver.c").read_text(), re.M
)


@pytest.mark.sample(4)
@pytest.mark.parametrize("limbs", [1, 2, 4, 16])
@pytest.mark.parametrize("function", EVALUATIONS)
def test_stated_errors_of_the_multiprecision_path(multiprecision, function, limbs):
    """The evaluation alone, against mpmath: within the error that it states, which is not absurdly large either."""
    call = getattr(multiprecision, f"rm_mp_test_{function}")
    f = MPMATH.get(function) or getattr(mpmath, function)
    v, err = (ctypes.c_uint64 * 17)(), ctypes.c_uint64()
    tiny = np.random.default_rng(8).uniform(-1, 1, 100) * 2.0**-20
    x = np.concatenate([interesting(function.removesuffix("_half"), 300), abs(tiny) + 1 if function == "log" else tiny])
    if function in ("erfcx", "log_ndtr"):  # the asymptotic series, from 45 resp. 63 on
        far = 10.0 ** np.random.default_rng(9).uniform(1.81, 18, 50)
        x = np.concatenate([x, far if function == "erfcx" else -far])
    worst = 0
    with mpmath.workprec(64 * limbs + 300):
        for value in x.tolist():
            scale = call(ctypes.c_double(value), limbs, v, ctypes.byref(err))
            units = sum(v[i] << (64 * i) for i in range(limbs + 1))
            want = abs(f(mpmath.mpf(value)))
            worst = max(worst, abs(units - mpmath.ldexp(want, 64 * limbs - scale)) / err.value)
    assert 2.0**-12 < worst < 1


SIGMOID_ARGUMENTS = [  # t(x), t'(x), and the largest |x| for x > 0
    (lambda x: x, lambda x: 1, 38),
    (lambda x: 2 * x, lambda x: 2, 19),
    (lambda x: mpmath.sqrt(8 / mpmath.pi) * (x + mpmath.mpf(44715) / 10**6 * x**3),
     lambda x: mpmath.sqrt(8 / mpmath.pi) * (1 + 3 * mpmath.mpf(44715) / 10**6 * x**2), 7.4),
]  # fmt: skip


@pytest.mark.parametrize("limbs", [1, 2, 4, 16])
@pytest.mark.parametrize("shape", range(3))
@pytest.mark.parametrize("argument", range(3))
def test_stated_errors_of_the_sigmoid_family(multiprecision, argument, shape, limbs):
    """The same for the sigmoid, its derivative and that of x sigmoid(t(x)); arguments down to e^-|t| near 2^-1000."""
    t, slope, most = SIGMOID_ARGUMENTS[argument]
    v, err = (ctypes.c_uint64 * 17)(), ctypes.c_uint64()
    rng = np.random.default_rng(9)
    x = np.concatenate([rng.uniform(-most, most, 150), rng.uniform(-1, 1, 50) * 2.0**-20, -most * rng.uniform(1, 2.5, 30)])
    worst = 0
    with mpmath.workprec(64 * limbs + 1200):
        for value in map(mpmath.mpf, x.tolist()):
            scale = multiprecision.rm_test_sigmoid_mp(ctypes.c_double(value), argument, shape, limbs, v, ctypes.byref(err))
            units = sum(v[i] << (64 * i) for i in range(limbs + 1))
            s, r = 1 / (1 + mpmath.exp(-t(value))), 1 / (1 + mpmath.exp(t(value)))
            want = abs([s, s * r, s * (1 + value * slope(value) * r)][shape])
            worst = max(worst, abs(units - mpmath.ldexp(want, 64 * limbs - scale)) / err.value)
    assert 2.0**-12 < worst < 1


@pytest.mark.parametrize("limbs", [2, 4, 8])
@pytest.mark.parametrize("function", ["lgamma", "digamma"])
def test_stated_errors_of_the_gamma_functions(multiprecision, function, limbs):
    call = getattr(multiprecision, f"rm_test_{function}_mp")
    v, err = (ctypes.c_uint64 * 17)(), ctypes.c_uint64()
    rng = np.random.default_rng(10)
    x = np.concatenate(
        [rng.uniform(-0.5, 20, 25), rng.uniform(0, 400, 15), rng.uniform(-1, 1, 8) * 2.0**-20, 10.0 ** rng.uniform(2, 300, 8)]
    )
    worst = 0
    with mpmath.workprec(64 * limbs + 1200):
        for value in map(mpmath.mpf, x.tolist()):
            scale = call(ctypes.c_double(value), limbs, v, ctypes.byref(err))
            units = sum(v[i] << (64 * i) for i in range(limbs + 1))
            if function == "digamma":
                want = mpmath.digamma(value) + (1 / value if abs(value) < 0.5 else 0)
            else:
                want = mpmath.loggamma(value) if value > 0 else mpmath.log(abs(mpmath.gamma(value)))
            worst = max(worst, abs(units - mpmath.ldexp(abs(want), 64 * limbs - scale)) / err.value)
    assert 2.0**-12 < worst < 1


def test_tables_are_what_the_generator_writes():
    subprocess.run([sys.executable, oracle.ROOT / "crlibm/fp/mp_gen.py", "--check"], check=True)
