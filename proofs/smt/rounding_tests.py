"""The lemmas of the rounding tests (Ziv, ACM TOMS 1991), by z3: what a test accepts, every number within the bound rounds alike.

    python -m proofs.smt.rounding_tests

plain     vf64_undecided, on the bits of y as 64-bit integers, for every y, every bound that is a power of two and each of the
          formats: a lane that is not undecided has no midpoint of the format within the bound.
between   vf64_undecided_f64 and vf32_undecided, on real numbers: RN is any monotone function; hi + (lo + err) and hi + (lo - err) round
          alike, and each of lo + err, lo - err is rounded by at most rho. Then every number within err - rho of hi + lo rounds to it.
multiple  vf64_undecided_any and _within: adding M = 1.5 2^52 q to y rounds it to a multiple of q, nearest, ties to even, when |y| <
          2^51 q; on integers, for a significand of `bits` bits: y is a multiple of 2^-8 q here (a sticky rest is all that matters).

Each lemma has a mutant that z3 must refute: otherwise the statement would say nothing."""

import sys

import z3

DROPPED = {"f32": 29, "f16": 42, "bf16": 45}  # of the 53 bits of binary64


def holds(statement) -> bool:
    """Whether the statement is true for all values of its variables."""
    solver = z3.Solver()
    solver.set("timeout", 120_000)
    solver.add(z3.Not(statement))
    verdict = solver.check()
    if verdict == z3.unknown:
        raise RuntimeError(f"z3 did not decide: {solver.reason_unknown()}")
    return verdict == z3.unsat


def plain(dropped: int, log_bound: int, mutant: bool = False):
    """`dropped` bits of y are rounded away, the error is below 2^log_bound units of its last place."""
    y = z3.BitVec("y", 64)
    half, bound = 1 << (dropped - 1), 1 << log_bound
    kept = (2 * half - 1) & ~(2 * bound - 1)
    undecided = ((y + (half if mutant else half + bound)) & kept) == 0
    rest = y & (2 * half - 1)
    distance = z3.If(z3.UGE(rest, half), rest - half, half - rest)
    return z3.Implies(z3.Not(undecided), z3.UGE(distance, bound))


def between(mutant: bool = False):
    rounded = z3.Function("RN", z3.RealSort(), z3.RealSort())
    hi, lo, err, rho, above, below, value = z3.Reals("hi lo err rho above below value")
    low, high = hi + below, hi + above
    monotone = z3.And(*(z3.Implies(a <= b, rounded(a) <= rounded(b)) for a in (low, value, high) for b in (low, value, high)))
    near = err if mutant else err - rho
    given = z3.And(
        err >= 0,
        rho >= 0,
        z3.And(above - (lo + err) <= rho, (lo + err) - above <= rho),
        z3.And(below - (lo - err) <= rho, (lo - err) - below <= rho),
        z3.And(value - (hi + lo) <= near, (hi + lo) - value <= near),
        rounded(high) == rounded(low),
        monotone,
    )
    return z3.Implies(given, rounded(value) == rounded(high))


def multiple(bits: int = 53, mutant: bool = False):
    """Numbers in units of 2^-8 q. M + y lies in one binade, whose last place is q: its rounding is that to a multiple of 2^8. With
    a magic number that is odd, ties would go to odd multiples: the mutant."""
    width = bits + 12
    y = z3.BitVec("y", width)
    unit = 1 << 8
    magic = (3 << (bits - 2)) * unit + (unit if mutant else 0)

    def nearest(v):
        down = v & ~(unit - 1)
        rest = v & (unit - 1)
        odd = (v & unit) != 0
        return z3.If(z3.Or(z3.UGT(rest, unit // 2), z3.And(rest == unit // 2, odd)), down + unit, down)

    limit = (1 << (bits - 2)) * unit
    inside = z3.And(y > -limit, y < limit)
    total = z3.BitVecVal(magic, width) + y
    in_binade = z3.And(z3.UGE(total, (1 << (bits - 1)) * unit), z3.ULE(total, (1 << bits) * unit))
    return z3.Implies(inside, z3.And(in_binade, nearest(total) - magic == nearest(y)))


def lemmas() -> dict:
    """Name to (statement, mutant)."""
    cases = {
        f"plain {fmt} 2^{k}": (plain(dropped, k), plain(dropped, k, mutant=True))
        for fmt, dropped in DROPPED.items()
        for k in range(1, dropped - 2)
    }
    cases["between"] = (between(), between(mutant=True))
    cases["multiple"] = (multiple(), multiple(mutant=True))
    return cases


def hold_all(cases: dict) -> int:
    """How many lemmas were proved, of statements and mutants; raises where one is not, or a mutant is."""
    for name, (statement, mutant) in cases.items():
        if not holds(statement):
            raise AssertionError(f"{name} does not hold")
        if holds(mutant):
            raise AssertionError(f"the mutant of {name} is not refuted")
    return len(cases)


def check() -> int:
    """How many lemmas were proved; raises where one is not, or a mutant is."""
    return hold_all(lemmas())


if __name__ == "__main__":
    print(f"{check()} lemmas of the rounding tests proved, as many mutants refuted")
    sys.exit(0)
