"""The bounds of the evaluations of the 16-bit formats in binary32 (crlibm/*/*_b32_half.h): of one argument for all numbers, of two for all pairs,
on each instruction set whose loops use them; and their rounding tests, and the derivatives in the gradients' tables.

    python -m proofs.oracle.b32_half [--all | --check] [--fraction 1/16] [function ...]

as proofs.oracle.b32; a fraction is of the first arguments of pairs.

What is claimed is RM_HALF_CLAIM_<f> of the header, relative to the result, where the loop tests the results with less or nothing because all of
them are known to be right: then that is shown too, for every number. Of two arguments it is the test's own bound."""

import argparse
import ctypes
import json
import re
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, arb_series, ctx

from ..definitions import DEFINITIONS, constant
from ..graph import HERE, ROOT
from . import check, source
from .blocks import up

sys.path.insert(0, str(ROOT / "tests/support"))
import definitions  # noqa: E402
import gmpy2  # noqa: E402
import oracle as mpfr  # noqa: E402

CHECKER = ("b32_half.py", "b32_half.c", "pairs.c", "estimates.c")
CERTIFICATES = HERE / "certificates" / "b32_half"
INPUTS, PARTS, TERMS = 65536, 2048, 9
FORMATS = ("f16", "bf16")
PAIRS = {"atan2": 1, "pow": 2, "logaddexp": 3}
# The last first argument of pairs: atan2 takes |y|, pow is left to binary64 for negative x, logaddexp has all.
LAST = {"atan2": (0, 0x7FFF), "pow": (0, 0x7FFF), "logaddexp": (0, 0xFFFF)}


@dataclass(frozen=True)
class Evaluation:
    function: str
    isas: tuple[str, ...]

    @property
    def header(self) -> str:
        return f"crlibm/{self.function}/{self.function}_b32_half.h"

    @property
    def root(self) -> str:
        return f"rm_{self.function}_b32_half"

    @property
    def pair(self) -> bool:
        return self.function in PAIRS

    @property
    def estimate(self) -> bool:
        """Whether it begins with an estimate of the CPU's: then it is measured with all that can be (tests/proofs/test_b32.py finds others)."""
        return self.function == "rsqrt"


def evaluations() -> dict[str, Evaluation]:
    found = {}
    for path in sorted((ROOT / "crlibm").glob("*/*_b32_half.h")):
        used = re.search(r"^#define RM_HALF_(\w+) (RM_B32\w*)$", path.read_text(), re.M)
        found[used[1]] = Evaluation(used[1], ("avx512",) if used[2] == "RM_B32_FULL" else ("avx2", "avx512"))
    return found


# One argument.


@dataclass
class Exact:
    """The values at numbers of a format, to 100 bits (NaN where there is none), and their results by MPFR."""

    numbers: np.ndarray
    values: list
    results: np.ndarray


def exact_values(function: str, fmt: str, which: Iterable[int] = range(INPUTS)) -> Exact:
    numbers = np.array(list(which), dtype="<u2")
    doubles = mpfr.to_double(numbers, fmt)
    values = []
    with definitions.wide(160):
        for x in doubles:
            try:
                value = definitions.value(function, gmpy2.mpfr(float(x)))
            except definitions.Exact as e:
                value = e.value
            values.append(value)
    return Exact(numbers, values, mpfr.values(function, doubles, fmt))


def compiled(evaluation: Evaluation, isa: str, *flags: str) -> ctypes.CDLL:
    names = [f'-DRM_FUNCTION_HEADER="{evaluation.header}"', f"-DRM_EVALUATED={evaluation.function}", f"-I{ROOT / 'include'}"]
    if evaluation.pair:
        names.append(f"-DRM_PAIR={PAIRS[evaluation.function]}")
        return check.compile_c(
            "pairs.c", "-O3", "-fno-math-errno", "-fno-trapping-math", *flags, *source.ISAS[isa], *names, "-lm"
        )
    if evaluation.estimate:
        return check.compile_c("estimates.c", "-O3", *flags, *source.ISAS[isa], *names)
    return check.compile_c("b32_half.c", "-DRM_ONE_ARGUMENT", *flags, *source.ISAS[isa], *names)


def one_argument(loaded: ctypes.CDLL, fmt: str, exact: Exact, times: float = 1.0) -> dict:
    """The largest error over the bound (times a factor) among the lanes that are decided, and how many of these are beyond it or wrong."""
    values = (ctypes.c_float * INPUTS)()
    results, undecided = (ctypes.c_uint16 * INPUTS)(), (ctypes.c_uint8 * INPUTS)()
    function = getattr(loaded, f"rm_half_{fmt}")
    function.restype = ctypes.c_double
    bound = gmpy2.mpfr(function(values, results, undecided) * times)
    taken = np.frombuffer(undecided, dtype="u1")[exact.numbers] == 0
    computed = np.frombuffer(values, dtype="<f4")
    worst, at, beyond = 0.0, 0, 0
    half_unit = gmpy2.mpfr(2) ** -150
    with definitions.wide(160):
        for i in np.flatnonzero(taken).tolist():
            value, k = exact.values[i], int(exact.numbers[i])
            error = abs(gmpy2.mpfr(float(computed[k])) - value)
            if abs(value) < 2.0**-126:  # a subnormal number of binary32 is rounded once more
                error = max(error - half_unit, gmpy2.mpfr(0))
            ratio = float(error / (bound * abs(value))) if error else 0.0
            beyond += not ratio <= 1
            if ratio > worst:
                worst, at = ratio, k
    right = exact.results[taken].astype("<u2")
    wrong = int(np.count_nonzero(np.frombuffer(results, dtype="<u2")[exact.numbers[taken]] != right))
    return {"ratio": worst, "at": f"{at:#06x}", "undecided": int(np.count_nonzero(~taken)), "beyond": beyond, "wrong": wrong}


class EstimatesFound(ctypes.Structure):
    _fields_ = [
        ("ratio", ctypes.c_double),
        *[(name, ctypes.c_int64) for name in ("estimates", "beyond", "wrong", "undecided")],
        ("at", ctypes.c_uint32),
    ]


def every_estimate(loaded: ctypes.CDLL, fmt: str, exact: Exact, times: float = 1.0) -> dict:
    """As one_argument, with all estimates of the accuracy that makers of CPUs state. Undecided is a number that some estimate leaves undecided."""
    count = len(exact.numbers)
    padding = -count % 32
    numbers = np.concatenate([exact.numbers, np.zeros(padding, "<u2")])  # 1/sqrt(0) is left undecided
    values = np.concatenate([np.array([float(v) for v in exact.values]), np.full(padding, np.inf)])
    right = np.concatenate([exact.results.astype("<u2"), np.zeros(padding, "<u2")])
    found = EstimatesFound()
    arrays = [array.ctypes.data_as(ctypes.c_void_p) for array in (numbers, values, right)]
    loaded.rm_every_estimate(
        FORMATS.index(fmt), ctypes.c_int64(len(numbers)), *arrays, ctypes.c_double(times), ctypes.byref(found)
    )
    return {
        "ratio": found.ratio,
        "at": f"{found.at:#06x}",
        "undecided": found.undecided - padding,
        "estimates": found.estimates,
        "beyond": found.beyond,
        "wrong": found.wrong,
    }


def reciprocals(step: int, first: int = 0, *flags: str) -> float:
    """The largest |b r - 1| of vf32_reciprocal on AVX-512, over one in `step` of the numbers from 1 to 2 and all estimates. A power of two
    changes neither side of it."""
    loaded = compiled(evaluations()["rsqrt"], "avx512", *flags)
    loaded.rm_reciprocals.restype = ctypes.c_double
    one = 0x3F800000
    return loaded.rm_reciprocals(one + first, step, ctypes.c_int64((1 << 23) // step))


# Two arguments.


class Pairs(ctypes.Structure):
    _fields_ = [("logarithms", ctypes.c_double * INPUTS), ("c", ctypes.c_double * TERMS * PARTS)]


class PairsFound(ctypes.Structure):
    _fields_ = [
        *[(name, ctypes.c_int64) for name in ("pairs", "undecided", "bad")],
        ("ratio", ctypes.c_double),
        ("at", ctypes.c_uint32),
        ("bad_at", ctypes.c_uint32),
    ]


SERIES_BELOW, SERIES_ERROR = 0.25, 2.0**-69


def arc_over_argument(r):
    """atan(r)/r, below 1/4 by 16 terms of its alternating series, which leave less than the next one, 2^-64/33."""
    c = constant(r)
    if c.lower() > SERIES_BELOW:
        return r.atan() / r
    square, total = r * r, arb_series([0], prec=r.prec)
    for k in reversed(range(16)):
        total = total * square + arb(-1 if k % 2 else 1) / (2 * k + 1)
    return total


def polynomials(function: str) -> tuple[Callable, int, arb]:
    """The function on [0, parts/scale], in how many parts, and the scale."""
    if function == "atan2":
        return arc_over_argument, 128, arb(128)
    if function == "pow":
        return lambda x: (x * arb(2).log()).exp(), 129, arb(128)
    return lambda x: DEFINITIONS["softplus"](-x), 86 * 16 + 1, arb(16)


def tables(function: str, fmt: str) -> Pairs:
    """Each polynomial within 2^-46 of the function, relatively, its coefficients rounded; the sum of their sizes at most 1.5 times it."""
    made = Pairs()
    f, parts, scale = polynomials(function)
    ctx.prec, ctx.cap = 320, TERMS + 1
    for j in range(parts):
        centre, width = arb(2 * j + 1) / (2 * scale), 1 / (2 * scale)
        terms = f(arb_series([centre, width], prec=TERMS)).coeffs()[:TERMS]
        rest = arb(SERIES_ERROR if function == "atan2" else 0) + up(
            f(arb_series([centre + arb(0, width.upper()), width], prec=TERMS + 1)).coeffs()[TERMS]
        )
        error, total = rest, arb(0)
        for k, c in enumerate(terms):
            made.c[j][k] = float(c.mid())
            error += up(c - arb(made.c[j][k]))
            total += up(c)
        least = abs(terms[0]).lower() * 2 - total
        assert error <= least * arb(2) ** -46 and total <= least * 1.5, (function, j)
    if function == "pow":
        numbers = mpfr.to_double(np.arange(INPUTS, dtype="<u2"), fmt)
        with definitions.wide():
            for k, x in enumerate(numbers.tolist()):
                made.logarithms[k] = float(gmpy2.log2(gmpy2.mpfr(x))) if 0 < x < float("inf") else 0.0
    return made


def two_arguments(loaded: ctypes.CDLL, function: str, fmt: str, made: Pairs, step: int = 1, first: int = 0) -> PairsFound:
    found = PairsFound()
    low, last = LAST[function]
    getattr(loaded, f"rm_pairs_{fmt}")(ctypes.byref(made), low + first, last, step, ctypes.byref(found))
    return found


# Certificates.


def path_of(evaluation: Evaluation):
    return CERTIFICATES / f"{evaluation.function}.json"


def certificate(evaluation: Evaluation) -> dict | None:
    path = path_of(evaluation)
    return json.loads(path.read_text()) if path.exists() else None


def macros(evaluation: Evaluation) -> str:
    """What the header says of its bound, of tests and of inputs: it is part of the digest."""
    return "\n".join(
        re.findall(rf"^#define RM_HALF_.*_{evaluation.function}\b.*$", (ROOT / evaluation.header).read_text(), re.M)
    )


def digest(evaluation: Evaluation, isa: str) -> str:
    return source.digest_of(source.digest(evaluation.header, evaluation.root, isa) + macros(evaluation))


def outdated(evaluation: Evaluation) -> str:
    held = certificate(evaluation)
    if held is None:
        return "has no certificate"
    if held["checker"] != source.checker(*CHECKER):
        return "was measured by another version of the checker"
    for isa in evaluation.isas:
        if held[isa]["source"] != digest(evaluation, isa):
            return f"changed since it was run ({isa})"
        if any(held[isa][fmt]["ratio"] > 1 for fmt in FORMATS):
            return f"has an error above its bound ({isa})"
    return ""


def prove(evaluation: Evaluation, step: int) -> bool:
    name, good = evaluation.function, True
    held: dict = {"checker": source.checker(*CHECKER), "share": f"1/{step}" if evaluation.pair and step > 1 else "1"}
    started = time.process_time()
    known = {fmt: tables(name, fmt) if evaluation.pair else exact_values(name, fmt) for fmt in FORMATS}
    for isa in evaluation.isas:
        if not source.runs(isa):
            print(f"{name}: this CPU has no {isa}", flush=True)
            return False
        loaded = compiled(evaluation, isa)
        held[isa] = {"source": digest(evaluation, isa)}
        for fmt in FORMATS:
            if evaluation.pair:
                found = two_arguments(loaded, name, fmt, known[fmt], step, step // 3)
                entry = {"ratio": found.ratio, "at": f"{found.at:#010x}", "pairs": found.pairs, "undecided": found.undecided}
                bad, where = found.bad, f"{found.bad_at:#010x}"
            else:
                entry = (every_estimate if evaluation.estimate else one_argument)(loaded, fmt, known[fmt])
                bad, where = entry.pop("beyond") + entry.pop("wrong"), entry["at"]
            entry["ratio"] = -(-entry["ratio"] * 10**4 // 1) / 10**4
            held[isa][fmt] = entry
            print(f"{name}, {isa}, {fmt}: {entry}, {bad} bad, {time.process_time() - started:.0f} s", flush=True)
            if bad:
                print(f"  the first or worst is {where}", flush=True)
            good &= bad == 0
    was = certificate(evaluation)
    more = was and not outdated(evaluation) and Fraction(was["share"]) > Fraction(held["share"])
    if good and not more:  # a share of the pairs does not replace a larger one
        CERTIFICATES.mkdir(exist_ok=True)
        path_of(evaluation).write_text(json.dumps(held, indent=1) + "\n")
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = evaluations()
    parser.add_argument("names", nargs="*", metavar="function", choices=[[], *known])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--fraction", type=Fraction, default=Fraction(1))
    options = parser.parse_args()
    reasons = {name: outdated(e) for name, e in known.items()}
    if options.check:
        for name, reason in reasons.items():
            if reason:
                print(f"{name} {reason}: run make proofs")
        return int(any(reasons.values()))
    good = True
    for name, evaluation in known.items():
        if name in options.names if options.names else options.all or reasons[name]:
            good &= prove(evaluation, options.fraction.denominator)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
