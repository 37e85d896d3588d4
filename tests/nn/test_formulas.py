"""rm_formula against exact rationals, bit by bit, on every instruction set."""

import ctypes
import functools
from fractions import Fraction

import elementwise_library
import flushing
import native
import numpy as np
import pytest
from exact_oracle import FORMATS, rational_of, round_rational
from formula_library import FORMULAS, run
from optimizers_library import FMT, KINDS, bits, random
from reductions_library import ENUM, I64, NULL, OK, OVERLAP, SIZE, pointer, status

PRODUCTS = ("scaled", "over", "under", "tanh", "sigmoid")
NUMBERS = [0.1, 1 / 0.9, -3.0, 0.5, 1.0, 0.0, -1e-3, 0.999, 1e-250, np.inf, np.nan]


def ieee(formula, a, values):
    """The formula by IEEE 754's operations over the signs of what is finite; None where that has a finite value."""
    with np.errstate(all="ignore"):

        def bounded(v):
            return np.float64(v if not np.isfinite(v) else np.sign(v) if v else v)

        name, _, function = formula
        if name == "tanh":
            x, y = values
            factor = np.float64(1 - abs(y)) if np.isfinite(y) else 1 - np.float64(y) * np.float64(y)
            result = bounded(x) * bounded(factor)
        elif name == "sigmoid":
            result = bounded(values[0]) * bounded(values[1]) * bounded(1 - values[1])
        elif name == "between":
            result = bounded(1 - a) * bounded(values[0]) + bounded(a) * bounded(values[1])
        else:
            result = function(bounded(a), *(bounded(v) for v in values))
        return result


def expected(formula, fmt, a, codes):
    return value_bits(FORMULAS.index(formula), fmt, a, tuple(codes))


@functools.cache  # for all instruction sets
def value_bits(which, fmt, a, codes):
    """The bits of one result."""
    formula = FORMULAS[which]
    _, _, fraction, _, infinity, sign_shift = FORMATS[fmt]
    dtype = np.dtype(FORMATS[fmt][0])
    values = [float(np.array(c).astype(f"u{dtype.itemsize}").view(dtype)) for c in codes]
    special = ieee(formula, a, values)
    negative = bool(np.signbit(special))
    if np.isnan(special):
        return (infinity << fraction) | (1 << (fraction - 1))
    if np.isinf(special):
        return (negative << sign_shift) | (infinity << fraction)
    name, _, function = formula
    if name in PRODUCTS and special == 0:
        return negative << sign_shift
    exact = [rational_of(c, fmt) for c in codes]
    if name == "under" and np.isinf(values[0]) or name == "over" and np.isinf(a):
        return negative << sign_shift
    if name == "quotient" and np.isinf(values[2]):
        return round_rational(exact[0], fmt)
    value = function(Fraction(a), *exact)
    code = round_rational(value, fmt)
    return code or (int(name in PRODUCTS and value < 0) << sign_shift)


def data(rng, fmt, n, name):
    """x, y, z: those of optimisers, the second also within [-1, 1]."""
    x = random(rng, fmt, n, name)[:3]
    if name == "integers":
        x[1] = x[1] * x.dtype.type(0.25)
    return x


def check(lib, fmt, arrays, numbers):
    for which, formula in enumerate(FORMULAS):
        used = list(arrays[: formula[1]])
        for a in numbers if formula[0] not in ("tanh", "sigmoid") else [0.0]:
            code, got = run(lib, which, fmt, a, used)
            assert code == OK
            want = [
                expected(formula, fmt, a, [int(v) for v in column]) for column in zip(*(bits(x) for x in used), strict=True)
            ]
            wrong = np.nonzero(bits(got) != np.array(want, np.uint64).astype(bits(got).dtype))[0]
            assert not len(wrong), (
                formula[0],
                a,
                [([float(x[i]) for x in used], float(got[i]), hex(want[i])) for i in wrong[:3]],
            )


@FMT
@pytest.mark.parametrize("name", KINDS)
def test_hard_data(isa_library, name, fmt):
    rng = np.random.default_rng(80 + KINDS.index(name))
    check(isa_library, fmt, data(rng, fmt, 17, name), NUMBERS if name == "special" else rng.permutation(NUMBERS)[:4].tolist())


@FMT
def test_gradients_near_one(isa_library, fmt):
    """Results of tanh and the sigmoid beside 1, where 1 - y and 1 - y^2 cancel."""
    rng = np.random.default_rng(90)
    x = random(rng, fmt, 40, "gaussian")[:3]
    one = np.ones((), x.dtype)
    unit = 2.0 ** -(FORMATS[fmt][2] + 1)
    x[1] = (1 - rng.integers(0, 20, 40) * unit).astype(x.dtype) * rng.choice([-one, one], 40)
    check(isa_library, fmt, x, [0.1])


def test_one_less_a_square_beside_midpoints(isa_library):
    """x (1 - y^2) for y at which 1 - y^2 cancels but the error of the square does not, within 2^-86 of a midpoint of binary64, relatively."""
    path = native.ROOT / "tests/data/hardcases/f64/formula_tanh.txt"
    cases = [line.split() for line in path.read_text().splitlines() if not line.startswith("#")]
    x, y = (np.array([float.fromhex(case[k]) for case in cases]) for k in (0, 1))
    assert len(x) == 60
    code, got = run(isa_library, [f[0] for f in FORMULAS].index("tanh"), "f64", 0.0, [x, y])
    assert code == OK
    want = [round_rational(Fraction(float(u)) * (1 - Fraction(float(v)) ** 2), "f64") for u, v in zip(x, y, strict=True)]
    signs = np.signbit(x).astype(np.uint64) << np.uint64(63)
    assert (bits(got) == (np.array(want, np.uint64) | signs)).all()


def near_ties(seed):
    """Numbers a such that a x lies 2^-54 of it beside a midpoint of f32, or less."""
    rng = np.random.default_rng(seed)
    for _ in range(40):
        x = random(rng, "f32", 5, "gaussian")[:3]
        x[0] = np.abs(x[0]) + np.float32(0.5)
        midpoint = 1 + (int(rng.integers(0, 2**23)) + 0.5) * 2.0**-23
        yield x, midpoint / float(x[0, 0])


def test_beside_midpoints(isa_library):
    for x, a in near_ties(91):
        check(isa_library, "f32", x, [a])


def test_control():
    """With error bounds 2^20 times too small, results beside midpoints are wrong."""
    path = native.control_library()
    for isa, library in elementwise_library.libraries(path).items():
        rng = np.random.default_rng(92)
        wrong = 0
        for _ in range(300):  # x + a y/z within 2^-52 of a midpoint
            x = np.abs(random(rng, "f32", 8, "gaussian")[:3]) + np.float32(0.25)
            x[0] = 0
            a = (1 + (int(rng.integers(0, 2**23)) + 0.5) * 2.0**-23) / (float(x[1, 0]) / float(x[2, 0]))
            got = run(library.library, 7, "f32", a, list(x))[1]
            wrong += int(bits(got)[0]) != expected(FORMULAS[7], "f32", a, [int(v) for v in bits(x)[:, 0]])
        assert wrong, isa


def at_ties(fmt):
    """x, y, z and a: sums of two or three products that are ties, or beside one by less than the last place of binary64."""
    bits_of = FORMATS[fmt][2] + 1
    unit = 2.0 ** (1 - bits_of)
    for odd in (0, 1):
        x = 1 + (2 * np.arange(12) + odd) * unit
        yield x, x + unit, np.full(12, 0.5), 0.5  # (x + y)/2
        yield x, x + 2 * unit, np.full(12, 0.25), 0.25
        yield x, np.full(12, 1.5 * unit), np.full(12, 2.0), 1 / 3  # 1/3 rounds down
        yield x, np.full(12, -1.5 * unit), np.full(12, 1.0), 1 / 3
        yield x, np.full(12, 0.625 * unit), np.full(12, -1.0), 0.8  # 0.8 rounds up
        if fmt == "f32":
            yield x, np.full(12, 2.0**36), np.full(12, 2.0**-60), 2.0**-60  # (1 - z) x is in two parts
        yield x, -x, -x, 0.5
        yield -x * 0, x * 0, -x, 0.5


BELOW = pytest.mark.parametrize("fmt", [f for f in FORMATS if f != "f64"])


@BELOW
def test_ties(isa_library, fmt):
    ties = 0
    for *arrays, a in at_ties(fmt):
        arrays = [v.astype(FORMATS[fmt][0]) for v in arrays]
        check(isa_library, fmt, arrays, [a])
        code, got = run(isa_library, 15, fmt, 0.0, arrays)  # the mix
        x, y, z = ([Fraction(float(u)) for u in v] for v in arrays)
        assert code == OK
        exact = [(1 - w) * u + w * v for u, v, w in zip(x, y, z, strict=True)]
        assert bits(got).tolist() == [round_rational(e, fmt) for e in exact]
        ties += sum(e.numerator.bit_length() == FORMATS[fmt][2] + 2 for e in exact)
    assert ties > 20


@pytest.mark.parametrize("fmt", FORMATS)
def test_quotients_without_rest(isa_library, fmt):
    """x + a y/z where a y/z is a number, or one less a little, and the sum a tie."""
    unit = 2.0 ** -FORMATS[fmt][2]
    for odd in (0, 1):
        x = 1 + (2 * np.arange(12) + odd) * unit
        for y, z, a in (
            (x, x, unit / 2),
            (x, -x, unit / 2),
            (np.full(12, 1.5 * unit), np.full(12, 3.0), 1.0),
            (np.full(12, 1.5 * unit), np.full(12, 1.0), 1 / 3),
            (np.full(12, 0.0), x, 1.0),
            (x, np.full(12, -1.0), 1.0),
            (np.full(12, 2.5 * unit), np.full(12, 7.0), 1.4),
        ):
            check(isa_library, fmt, [v.astype(FORMATS[fmt][0]) for v in (x, y, z)], [a])


def test_control_of_ties():
    """Binary64's own rounding of the same sums, rounded again, is wrong in some."""
    wrong = 0
    for x, y, _, a in at_ties("f32"):
        twice = (x + a * y).astype("f4")
        wrong += sum(
            int(b) != round_rational(Fraction(u) + Fraction(a) * Fraction(v), "f32")
            for b, u, v in zip(bits(twice), x.tolist(), y.tolist(), strict=True)
        )
    assert wrong > 20


@FMT
def test_exceptions(isa_library, fmt):
    """What is not finite in vectors: the result is that of one element beside others, and so are the exceptions."""
    libm = ctypes.CDLL(None)
    quiet = [0.0, -0.0, 1.5, -3.0, np.inf, -np.inf, np.nan]
    signalling = np.array([np.inf], FORMATS[fmt][0])
    bits(signalling)[0] |= 1
    for which, formula in enumerate(FORMULAS[:8]):
        name, arrays, _ = formula
        columns = np.array(np.meshgrid(*[quiet] * arrays)).reshape(arrays, -1).astype(FORMATS[fmt][0])
        columns = np.concatenate([columns, np.repeat(signalling, arrays)[:, None]], axis=1)
        for a in (0.25, 0.0) if name != "over" else (0.25,):
            for column in columns.T:
                used = [np.full(19, v) for v in column]
                libm.feclearexcept(61)
                code, got = run(isa_library, which, fmt, a, used)
                raised = libm.fetestexcept(29)
                assert code == OK
                codes = [int(bits(v)[0]) for v in used]
                assert set(bits(got).tolist()) == {expected(formula, fmt, a, codes)}, (name, a, column)
                values = [float(v) for v in column]
                is_nan = np.isnan(got[0])
                snan = codes[0] == int(bits(signalling)[0])
                invalid = 1 if snan or (is_nan and not np.isnan(values).any()) else 0
                below = {"under": values[0], "quotient": values[-1]}.get(name, 1.0)
                pole = 4 if np.isinf(float(got[0])) and below == 0 else 0
                assert raised == invalid | pole, (name, a, column)


def chosen(which, a, x, y):
    """The bits of one choice; zeros are told apart."""
    if np.isnan(x) and which != 14 or (which > 11 and which < 14 and np.isnan(y)):
        return np.nan
    if which == 14:
        return x if np.isnan(y) or y > a else 0.0
    pair = [float(x), a if which < 12 else float(y)]
    key = lambda v: (v, not np.signbit(v))  # noqa: E731
    return (max if which in (10, 12) else min)(pair, key=key)


@FMT
@pytest.mark.parametrize("name", ["gaussian", "tiny", "special"])
def test_choices(isa_library, name, fmt):
    rng = np.random.default_rng(94)
    x = data(rng, fmt, 203, name)
    x[1, ::5] = x[0, ::5]
    for which in range(10, 15):
        used = list(x[: 1 + (which >= 12)])
        for a in (0.0, -0.0, 0.5, -np.inf, np.inf, 2.0**-24):
            code, got = run(isa_library, which, fmt, a, used)
            assert code == OK
            with np.errstate(all="ignore"):
                want = np.array([chosen(which, a, float(u), float(v)) for u, v in zip(x[0], x[1], strict=True)]).astype(
                    x.dtype
                )
            assert (bits(got) == bits(want)).all(), (which, a)


@FMT
def test_limits_beside_midpoints(isa_library, fmt):
    """A limit that the format does not hold is rounded once: not through binary32, whose midpoints of 16-bit formats are ties."""
    rng = np.random.default_rng(95)
    x = random(rng, fmt, 20, "gaussian")[0]
    half = 2.0 ** -(FORMATS[fmt][2] + 1)
    for size in (1.0, 2.0**-14 * half, 1e-40, 2.0**14):
        for beside in (half, half + 2.0**-40, half - 2.0**-40, 3 * half + 2.0**-40, 3 * half - 2.0**-40):
            for a in (size * (1 + beside), -size * (1 + beside)):
                limit = round_rational(Fraction(a), fmt) or int(a < 0) << FORMATS[fmt][5]
                for which, beyond in ((10, x < a), (11, x > a)):
                    code, got = run(isa_library, which, fmt, a, [x])
                    assert code == OK
                    assert (bits(got) == np.where(beyond, limit, bits(x))).all(), (which, a)


@FMT
def test_in_place_threads_and_flushing(isa_library, fmt):
    """The same bits into an argument, in any pieces, by any number of threads, whatever the caller's environment."""
    rng = np.random.default_rng(93)
    x = data(rng, fmt, 70001, "tiny" if fmt == "f32" else "gaussian")
    for which, formula in enumerate(FORMULAS):
        used = list(x[: formula[1]])
        want = bits(run(isa_library, which, fmt, 0.3, used)[1])
        isa_library.rm_set_num_threads(3)
        with flushing.flushing():
            threaded = run(isa_library, which, fmt, 0.3, used)[1]
        isa_library.rm_set_num_threads(1)
        assert (bits(threaded) == want).all()
        for k in range(formula[1]):
            copies = [v.copy() for v in used]
            run(isa_library, which, fmt, 0.3, copies, copies[k])
            assert (bits(copies[k]) == want).all()
        pieces = [run(isa_library, which, fmt, 0.3, [v[i : i + 777].copy() for v in used])[1] for i in range(0, 70001, 777)]
        assert (bits(np.concatenate(pieces)) == want).all()


def test_bad_arguments(library):
    x = np.ones(8, np.float32)
    call = library.rm_formula
    one = ctypes.c_double(1.0)
    assert call(-1, 2, I64(8), one, pointer(x), None, None, pointer(x)) == status(ENUM, 1)
    assert call(28, 2, I64(8), one, pointer(x), None, None, pointer(x)) == status(ENUM, 1)
    assert call(0, 4, I64(8), one, pointer(x), None, None, pointer(x)) == status(ENUM, 2)
    assert call(0, 2, I64(-1), one, pointer(x), None, None, pointer(x)) == status(SIZE, 3)
    assert call(0, 2, I64(8), one, None, None, None, pointer(x)) == status(NULL, 5)
    assert call(4, 2, I64(8), one, pointer(x), None, None, pointer(x)) == status(NULL, 6)
    assert call(6, 2, I64(8), one, pointer(x), pointer(x), None, pointer(x)) == status(NULL, 7)
    assert call(0, 2, I64(8), one, pointer(x), None, None, None) == status(NULL, 8)
    assert call(0, 2, I64(4), one, pointer(x), None, None, pointer(x[1:])) == status(OVERLAP, 8)
    assert (x == 1).all()
