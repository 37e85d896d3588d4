"""f64 functions of one and of several arguments with magnitudes spread evenly over the whole range of exponents, and with results near
its bottom: where the low part of a double-double number, or of a product, would underflow. Against MPFR, under every rounding mode."""

import elementwise_library
import numpy as np
import oracle
import pytest
from exponent_ranges import spread

LEAST = -1074


def tails(rng, n):
    """Arguments at which functions of one argument leave the range, or results have all sizes down to the least."""
    return np.concatenate([rng.uniform(-a, a, n) for a in (760, 1100, 330, 40, 8)] + [spread(rng, LEAST, 1024, 2 * n)])


def quotients(rng, n):
    """Arguments of a quotient or of an angle that is between 2^-1080 and 2^-940."""
    x = spread(rng, -60, 1000, n)
    return np.ldexp(spread(rng, 0, 1, n), rng.integers(-1080, -940, n) + np.frexp(x)[1]), x


def samples(function, n, seed):
    """Tuples of arguments."""
    rng = np.random.default_rng(seed)
    wide = [spread(rng, LEAST, 1024, n) for _ in range(3)]
    low = [spread(rng, LEAST, -930, n) for _ in range(3)]
    parts = [tuple(wide[: oracle.ARITY[function]]), tuple(low[: oracle.ARITY[function]])]
    if function in ("divide", "atan2"):
        parts.append(quotients(rng, n))
    elif function in ("multiply", "fma"):
        x = spread(rng, -540, 540, n)
        y = np.ldexp(spread(rng, 0, 1, n), np.clip(rng.integers(-1080, -940, n) - np.frexp(x)[1], LEAST, 1023))
        parts.append((x, y, low[0]) if function == "fma" else (x, y))
        if function == "fma":  # the sum cancels, to the low part of the product or to nothing
            with np.errstate(all="ignore"):
                parts.append((x, y, -(x * y)))
    elif function == "pow":
        x = np.abs(spread(rng, -300, 300, n)) + 1e-300
        with np.errstate(all="ignore"):
            y = rng.uniform(-1080, -940, n) / np.log2(x)
        parts.append((x, np.where(np.isfinite(y), y, 1.0)))
        x = 1 + rng.uniform(-1, 1, n) * 2.0 ** -rng.integers(1, 52, n)
        parts.append((x, np.clip(spread(rng, LEAST, 40, n), -1e6, 1e6)))
    elif function == "logaddexp":
        x = -np.abs(spread(rng, -60, 5, n))
        parts.append((x, np.log(-np.expm1(x)) * (1 + rng.integers(-2, 3, n) * 2.0**-52)))  # sums near 1: results near 0
        parts.append((spread(rng, LEAST, -40, n), rng.uniform(-760, -20, n)))
    elif function == "betaln":  # both small, and so that the value is near 0: 1/B is about 1 + (x - 1) + (y - 1) beside 1
        parts.append(tuple(np.abs(v) for v in low[:2]))
        x = 1 + rng.uniform(-1, 1, n) * 2.0 ** -rng.integers(1, 40, n)
        parts.append((x, 2 - x))
    elif function in ("add", "subtract", "hypot"):
        parts.append((low[0], low[0] * rng.uniform(-2, 2, n)))
    else:  # (g, x): RN(g f'(x)), and f' itself may be tiny
        x = rng.choice(
            [rng.uniform(-3, 3, n), rng.uniform(-39, 39, n), rng.uniform(-760, 760, n), spread(rng, -300, 0, n)], axis=0
        )
        g = spread(rng, -1074, -900, n)
        parts += [(g, x), (spread(rng, -40, 1020, n), x)]
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))


def compare(function, x, rule=None, want=None):
    bits = tuple(oracle.to_bits(v, "f64") for v in x)
    if want is None:
        want = oracle.values(function, x if len(x) > 1 else x[0], "f64", rule or "nearest")
    for isa, library in elementwise_library.libraries().items():
        got = library.array(function, bits if len(bits) > 1 else bits[0], "f64", rule)
        wrong = np.flatnonzero(got != want)
        assert wrong.size == 0, (
            isa,
            wrong.size,
            [[float(v[i]).hex() for v in x] + [hex(got[i]), hex(want[i])] for i in wrong[:5]],
        )
    return want


@pytest.mark.parametrize("function", oracle.UNARY)
def test_one_argument(function):
    rng = np.random.default_rng(51)
    compare(function, (tails(rng, 800),))
    for rule in oracle.RULES:
        compare(function, (tails(rng, 40),), rule)


@pytest.mark.parametrize("function", oracle.SEVERAL)
def test_several_arguments(function):
    want = compare(function, samples(function, 700, 52))
    size = want & np.uint64((1 << 63) - 1)
    if function not in (
        "betaln",
        "logaddexp",
    ):  # which are 0, or no smaller than a step of their arguments or of these' exponentials
        assert (size < np.uint64(1 << 52)).sum() > 100 and (size > 0).sum() > 700  # subnormal results are among them
    for rule in oracle.RULES:
        compare(function, samples(function, 60, 53), rule)


def test_control_a_lost_low_part():
    """What a product rounds to twice, among subnormal numbers, is seen: 2^-53 of a result that underflows."""
    x = samples("fma", 700, 52)
    want = oracle.values("fma", x, "f64")
    with np.errstate(all="ignore"):
        twice = oracle.to_bits(x[0] * x[1] + x[2], "f64")
    with pytest.raises(AssertionError):
        compare("fma", x, want=twice)
    compare("fma", x, want=want)
