"""Correctly rounded elementwise results from MPFR (through gmpy2): the mathematical function, rounded once.

MPFR computes in the precision and exponent range of the target format and with `subnormalize`, which uses the ternary value of
the computation, so a subnormal result too is rounded once. Nothing here looks at the library.

A second, slower oracle (`rounded`) rounds an mpmath value by integer arithmetic; it shares no code with the first."""

import re
from pathlib import Path

import definitions
import gmpy2
import mpmath
import numpy as np

ROOT = Path(__file__).resolve().parents[2]

# precision in bits, greatest exponent, unsigned type of the bits
FORMATS = {
    "f16": (11, 15, np.dtype(np.uint16)),
    "bf16": (8, 127, np.dtype(np.uint16)),
    "f32": (24, 127, np.dtype(np.uint32)),
    "f64": (53, 1023, np.dtype(np.uint64)),
}
RULES = {
    "nearest": gmpy2.RoundToNearest,
    "toward_zero": gmpy2.RoundToZero,
    "down": gmpy2.RoundDown,
    "up": gmpy2.RoundUp,
}
INVALID, DIVBYZERO, OVERFLOW = 1, 2, 4

# name -> number of arguments
ARITY = {
    name: int(arity)
    for name, arity in re.findall(r"^RM_FUNCTION\((\w+), \w+, (\d),", (ROOT / "crlibm/functions.def").read_text(), re.M)
}
FUNCTIONS = list(ARITY)
UNARY = [name for name in FUNCTIONS if ARITY[name] == 1]
ALGEBRAIC = ["sqrt", "rsqrt", "cbrt"]  # of one argument: the accurate phase is exact, it has no bound and no precision
SEVERAL = [name for name in FUNCTIONS if ARITY[name] > 1]


def nan_bits(fmt: str) -> int:
    precision, emax, _ = FORMATS[fmt]
    return ((2 * emax + 1) << (precision - 1)) | 1 << (precision - 2)


def to_double(bits: np.ndarray, fmt: str) -> np.ndarray:
    """The values of numbers given as bits, exact."""
    bits = np.asarray(bits).astype(FORMATS[fmt][2], copy=False)
    with np.errstate(all="ignore"):
        if fmt == "f64":
            return bits.view(np.float64)
        if fmt == "f32":
            return bits.view(np.float32).astype(np.float64)
        if fmt == "f16":
            return bits.view(np.float16).astype(np.float64)
        return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def to_bits(values: np.ndarray, fmt: str) -> np.ndarray:
    """The bits of values that are numbers of the format; NaN becomes the canonical one."""
    values = np.asarray(values, dtype=np.float64)
    with np.errstate(all="ignore"):
        if fmt == "f64":
            bits = values.view(np.uint64).copy()
        elif fmt == "f32":
            bits = values.astype(np.float32).view(np.uint32)
        elif fmt == "f16":
            bits = values.astype(np.float16).view(np.uint16)
        else:
            bits = (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    bits[np.isnan(values)] = nan_bits(fmt)
    return bits


def context(fmt: str, rule: str = "nearest") -> gmpy2.context:
    precision, emax, _ = FORMATS[fmt]
    # MPFR's significands are in [1/2, 1), so its exponents are larger by one; the least number is 2^(emin - 1).
    return gmpy2.context(
        precision=precision, emax=emax + 1, emin=4 - (emax + 1) - precision, subnormalize=True, round=RULES[rule]
    )


def arguments(x) -> list[list[float]]:
    """The arguments as lists: x is one array, or a tuple of arrays for a function of several arguments."""
    return [np.asarray(v, dtype=np.float64).tolist() for v in (x if isinstance(x, tuple) else (x,))]


def results(function: str, x, target: gmpy2.context) -> np.ndarray:
    """function(x) rounded as the context says (a tuple: several arguments)."""
    if function in definitions.DEFINITIONS:
        f = definitions.DEFINITIONS[function]
        out = np.full(len(x[0] if isinstance(x, tuple) else x), np.nan)
        some = slice(None) if isinstance(x, tuple) else ~np.isnan(x)  # one argument: NaN for NaN
        rows = list(zip(*arguments(x if isinstance(x, tuple) else np.asarray(x)[some]), strict=True))
        out[some] = definitions.rounded(f, rows, target)
        return out
    with gmpy2.context(target):
        f, mpfr = definitions.MPFR.get(function) or getattr(gmpy2, function), gmpy2.mpfr
        if ARITY[function] == 1:
            return np.array([float(f(mpfr(v))) for v in arguments(x)[0]])
        return np.array([float(f(*map(mpfr, v))) for v in zip(*arguments(x), strict=True)])


def values(function: str, x, fmt: str, rule: str = "nearest") -> np.ndarray:
    """The bits of RN(function(x)), or another rule, for x that are numbers of the format (a tuple: several arguments)."""
    return to_bits(results(function, x, context(fmt, rule)), fmt)


def flags(function: str, x, fmt: str, rule: str = "nearest") -> np.ndarray:
    """The exceptions that each computation raises, of invalid, divide by zero and overflow. Quiet NaNs raise none."""
    rows = list(zip(*arguments(x), strict=True))
    out = np.zeros(len(rows), np.uint32)
    if function in definitions.DEFINITIONS:
        some = np.array([not any(v != v for v in row) for row in rows], dtype=bool)
        kept = [row for row, number in zip(rows, some, strict=True) if number]
        out[some] = definitions.exceptions(definitions.DEFINITIONS[function], kept, context(fmt, rule))
        return out
    with context(fmt, rule) as ctx:
        f = definitions.MPFR.get(function) or getattr(gmpy2, function)
        for i, row in enumerate(rows):
            if any(v != v for v in row):
                continue
            argument = [gmpy2.mpfr(v) for v in row]
            ctx.clear_flags()
            f(*argument)
            out[i] = INVALID * ctx.invalid + DIVBYZERO * ctx.divzero + OVERFLOW * ctx.overflow
    return out


def rounded(value: mpmath.mpf, fmt: str) -> int:
    """The bits of the number of the format nearest to a value known to far more bits, which is not a tie."""
    precision, emax, _ = FORMATS[fmt]
    sign, man, exp, bitcount = value._mpf_
    top = (2 * emax + 1) << (precision - 1)
    negative = int(sign) << (top.bit_length())
    if man == 0:
        return 0
    quantum = max(exp + bitcount - 1, 1 - emax) - (precision - 1)
    shift = quantum - exp
    if shift <= 0:
        q = int(man) << -shift
    else:
        q = (int(man) + (1 << (shift - 1))) >> shift
    bits = q + ((quantum - (1 - emax) + precision - 1) << (precision - 1))
    return negative | min(bits, top)


def hard_cases(function: str, fmt: str = "f64") -> np.ndarray:
    """The published hard cases of binary64, or the hardest of all f32 inputs, with their neighbours and negatives."""
    path = ROOT / f"tests/data/hardcases/{fmt}/{function}.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    kind = np.float64 if fmt == "f64" else np.float32
    x = np.array([float.fromhex(line) for line in lines if line and not line.startswith("#")]).astype(kind)
    x = np.concatenate([x, np.nextafter(x, kind(np.inf)), np.nextafter(x, kind(-np.inf))])
    bits = np.concatenate([x, -x]).view(FORMATS[fmt][2])
    return to_double(np.unique(bits), fmt)


def random_values(fmt: str, n: int, seed: int) -> np.ndarray:
    """Half uniform in the bits (all exponents, NaN and infinities too), half with magnitudes between 2^-40 and 2^11."""
    precision, emax, uint = FORMATS[fmt]
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2 ** (8 * uint.itemsize), n, dtype=np.uint64)
    low, high = max(emax - 40, 0), min(emax + 11, 2 * emax)
    field = rng.integers(low, high, n).astype(np.uint64)
    mask = np.uint64((2 * emax + 1) << (precision - 1))
    near = (bits & ~mask) | field << np.uint64(precision - 1)
    bits[1::2] = near[1::2]
    return to_double(bits.astype(uint), fmt)


def special_values(fmt: str) -> np.ndarray:
    """Zeros, infinities, NaN, least and greatest numbers, powers of two and thresholds, each with neighbours."""
    precision, emax, uint = FORMATS[fmt]
    one = 1 << (precision - 1)
    sign = 1 << (8 * uint.itemsize - 1)
    infinity = (2 * emax + 1) * one
    bits = {0, 1, 2, one - 1, one, one + 1, infinity, infinity - 1, nan_bits(fmt)}
    bits |= {e * one for e in range(1, 2 * emax + 1)}
    bits |= {e * one + 1 for e in range(1, 2 * emax + 1)} | {e * one - 1 for e in range(1, 2 * emax + 1)}
    # Around overflow and underflow of exp, saturation of tanh and erf, in this format and the others.
    for v in (88.72, 87.33, 103.97, 103.28, 11.09, 9.7, 16.6, 17.3, 92.3, 709.78, 708.39, 745.13, 744.44):
        bits |= threshold(v, fmt)
    for v in (19.0615, 9.01, 4.5, 3.12, 3.46, 5.92, 5.9375, 3.83, 3.92, 2.5, 2.4, 2.05, 6.0, 27.5, 2.0**-27, 0.6931, 1.0):
        bits |= threshold(v, fmt)
    # Exact powers of 2 and 10; around overflow, underflow and saturation of the other exponentials.
    bits |= {rounded(mpmath.mpf(n), fmt) for n in range(1, 31)}
    for v in (1074.5, 308.2547, 307.653, 323.3, 323.607, 710.4758, 37.43, 149.5, 133.5, 38.5318, 37.93, 45.1545, 40.338):
        bits |= threshold(v, fmt, 5)
    for v in (89.416, 17.329, 24.5, 15.5, 4.8165, 4.2144, 7.5257, 11.783, 8.318):
        bits |= threshold(v, fmt, 5)
    bits |= {b | sign for b in bits if b != nan_bits(fmt)}
    return to_double(np.array(sorted(bits), dtype=np.uint64).astype(uint), fmt)


def threshold(v: float, fmt: str, count: int = 40) -> set[int]:
    """The bits of some numbers on both sides of v, which every format can hold."""
    b = rounded(mpmath.mpf(v), fmt)
    return set(range(max(b - count, 0), b + count + 1))


def tuples(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Every combination of the arrays' elements, as one array an argument."""
    return tuple(a.ravel() for a in np.meshgrid(*arrays, indexing="ij"))


def special_tuples(fmt: str, arity: int) -> tuple[np.ndarray, ...]:
    """Combinations of numbers at which functions of several arguments have special cases."""
    precision, emax, _ = FORMATS[fmt]
    least, greatest = 2.0 ** (2 - emax - precision), (2.0 - 2.0 ** (1 - precision)) * 2.0**emax
    some = [0.0, least, 2.0 ** (1 - emax), 2.0**-precision, 0.5, 0.75, 1.0, 1.0 + 2.0 ** (1 - precision), 1.5, 2.0, 3.0, 4.0]
    some += [5.0, 7.0, 10.0, 2.0 ** (precision - 1) + 1, 2.0**precision, 2.0 ** (emax // 2), 2.0**emax, greatest, np.inf]
    one = np.array(some if arity == 2 else [0.0, least, 1.0, 1.5, 3.0, 2.0**emax, greatest, np.inf])
    one = np.concatenate([one, -one, [np.nan]])
    return tuples(*[one] * arity)


def hard_tuples(function: str) -> tuple[np.ndarray, ...]:
    """The published hard cases of a function of several arguments, binary64."""
    path = ROOT / f"tests/data/hardcases/f64/{function}.txt"
    rows = [line.replace(",", " ").split() for line in path.read_text().splitlines() if line and line[0] != "#"]
    return tuple(np.array([float.fromhex(row[k]) for row in rows]) for k in range(ARITY[function]))


def random_tuples(fmt: str, arity: int, n: int, seed: int) -> tuple[np.ndarray, ...]:
    """Independent random values, and in the second half nearby exponents, so that sums cancel."""
    columns = [random_values(fmt, n, seed + 1000 * k) for k in range(arity)]
    first = columns[0][n // 2 :]
    with np.errstate(all="ignore"):
        for k in range(1, arity):
            scale = np.random.default_rng(seed + k).uniform(-4, 4, len(first))
            columns[k][n // 2 :] = to_double(to_bits(first * scale, fmt) if fmt == "f64" else narrow(first * scale, fmt), fmt)
    return tuple(columns)


def narrow(x: np.ndarray, fmt: str) -> np.ndarray:
    """Bits of numbers of the format near x, somehow rounded: for making inputs."""
    with np.errstate(all="ignore"):
        return to_bits(
            x.astype(np.float16).astype(np.float64) if fmt == "f16" else x.astype(np.float32).astype(np.float64), fmt
        )
