"""Rounding to odd, and the sign of pow: lemmas about bits, by z3 and by all numbers of small formats.

    python -m proofs.smt.odd

twice    a number rounded to odd, then to nearest in a precision smaller by two bits or more, is the number rounded to nearest (Boldo and
         Melquiond, IEEE Trans. Computers 57, 2008): for every number of 53 bits and a rest, and the places that f32, f16 and bf16 drop.
sign     rm_pow_sign: y + 1.5 2^52 ends in the parity of y where y is an integer below 2^51, and taking 1.5 2^52 away again gives y where y is an
         integer and nowhere else. A class for each place of y's last bit; where |y| < 1/2 the sum is the constant.
to_odd   vf64_to_odd: of s = RN(v) and the rest e, v rounded to odd, powers of two, where places change, included.
fma      rm_fma_once without fused operations: with u = x y, th + tl = z + ul, vh + vl = uh + th in two parts, vh + odd(tl + vl) rounds x y + z
         once (which they prove for any precision from 5 bits on if nothing under- or overflows; fma.h leaves lanes in which something does undecided).

The last two are run for all numbers of formats of a few bits with unbounded exponents: a change of scale changes nothing, and beyond a distance of
three precisions z only says to which side the rest is. Each has a mutant that must fail.

The functions here are written for any precision, those of the library in C for 53 bits: source.py compiles the library's, and compares them with
these of 53 bits on the cases that the lemmas distinguish."""

import itertools
import sys
from fractions import Fraction

import z3

from .rounding_tests import DROPPED, hold_all

REST = 4  # places below the last of 53 bits: a sticky rest is all that matters
MAGIC = 3 << 51


def nearest(v, places: int):
    """The bits of v with the last `places` rounded away, ties to even."""
    unit = z3.BitVecVal(1, v.size()) << places
    rest, down = v & (unit - 1), v & ~(unit - 1)
    up = z3.Or(z3.UGT(rest, unit >> 1), z3.And(rest == unit >> 1, down & unit != 0))
    return z3.If(up, down + unit, down)


def twice(dropped: int):
    v = z3.BitVec("v", 64)
    low = (1 << REST) - 1
    odd = (v & ~low) | z3.If(v & low != 0, z3.BitVecVal(1 << REST, 64), z3.BitVecVal(0, 64))
    return z3.Implies(z3.ULT(v, 1 << (53 + REST)), nearest(odd, dropped + REST) == nearest(v, dropped + REST))


def sign_of(m, negative, places: int, magic: int = MAGIC):
    """What rm_pow_sign computes of |y| = m 2^-places, 2^52 <= m < 2^53: whether y is an integer, and the last bit of t = magic + y, which has the
    last place 1, so that its bits count from 2^52."""
    unit = 1 << places
    y = z3.If(negative, -m, m)
    t = nearest(y + magic * unit, places)
    bits = z3.LShR(t, places) - (1 << 52) + (1075 << 52)
    return t - magic * unit == y, bits & 1


def sign(places: int, magic: int = MAGIC, mutant: bool = False):
    """The mutant counts halves as integers."""
    m, negative = z3.BitVec("m", 128), z3.Bool("negative")
    unit = 1 << places
    integer, last = sign_of(m, negative, places, magic)
    whole = m & ((unit >> 1 if mutant else unit) - 1) == 0
    right = z3.And(integer == whole, z3.Implies(whole, last == z3.LShR(m, places) & 1))
    return z3.Implies(z3.And(z3.UGE(m, 1 << 52), z3.ULT(m, 1 << 53)), right)


def lemmas() -> dict:
    """Name to (statement, mutant)."""
    cases = {f"twice {fmt}": (twice(dropped), twice(1)) for fmt, dropped in DROPPED.items()}
    cases["twice, two bits"] = (twice(2), twice(1))
    cases |= {f"sign 2^-{places}": (sign(places), sign(places, mutant=True)) for places in range(2, 54)}
    return cases


# Formats of p bits, exponents unbounded. A number is m 2^e; its bits are those of a binary format: the next number's are one more.


def exponent(v: Fraction) -> int:
    """2^e <= |v| < 2^(e+1)."""
    e = v.numerator.bit_length() - v.denominator.bit_length()
    return e if abs(v) >= Fraction(2) ** e else e - 1


def rounded(v: Fraction, p: int) -> Fraction:
    """To nearest, ties to even."""
    if v == 0:
        return v
    unit = Fraction(2) ** (exponent(v) - p + 1)
    return round(v / unit) * unit


def bits(v: Fraction, p: int) -> int:
    """Of |v|, from some number on."""
    e = exponent(v)
    m = abs(v) / Fraction(2) ** (e - p + 1)
    assert m.denominator == 1
    return (e + 1000) * 2 ** (p - 1) + int(m) - 2 ** (p - 1)


def number(b: int, p: int) -> Fraction:
    e, m = divmod(b, 2 ** (p - 1))
    return (m + 2 ** (p - 1)) * Fraction(2) ** (e - 1000 - p + 1)


def to_odd(s: Fraction, e: Fraction, p: int) -> Fraction:
    """vf64_to_odd. A rest beside s = 0 is 0."""
    if e == 0 or bits(s, p) & 1:
        return s
    away = 1 if (s < 0) == (e < 0) else -1
    return (1 if s > 0 else -1) * number(bits(s, p) + away, p)


def odd(v: Fraction, p: int) -> Fraction:
    """The definition: v, or of its two neighbours the one whose last bit is 1."""
    if v == 0:
        return v
    unit = Fraction(2) ** (exponent(v) - p + 1)
    m = abs(v) // unit
    return v if m * unit == abs(v) else (1 if v > 0 else -1) * unit * (m | 1)


def wrong_to_odd(p: int, away: int = 1) -> int:
    """Numbers v of p + 3 bits in three binades whose s and e do not give odd(v)."""
    wrong = 0
    for n in range(2 ** (p + 2), 2 ** (p + 5)):
        for v in (Fraction(n), Fraction(-n)):
            s = rounded(v, p)
            wrong += to_odd(s, away * (v - s), p) != odd(v, p)
    return wrong


def two_sum(a: Fraction, b: Fraction, p: int) -> tuple[Fraction, Fraction]:
    """Both are numbers of the format: Knuth's algorithm is exact."""
    s = rounded(a + b, p)
    return s, a + b - s


def fma(x: Fraction, y: Fraction, z: Fraction, p: int, last=to_odd) -> Fraction:
    """rm_fma_once without fused operations."""
    uh = rounded(x * y, p)
    th, tl = two_sum(z, x * y - uh, p)
    vh, vl = two_sum(uh, th, p)
    s, e = two_sum(tl, vl, p)
    return rounded(vh + last(s, e, p), p)


def wrong_fma(p: int, last=to_odd) -> int:
    """How many x, y, z give another result than RN(x y + z)."""
    significands = range(2 ** (p - 1), 2**p)
    wrong = 0
    for m, n in itertools.combinations_with_replacement(significands, 2):
        for k, e, side in itertools.product(significands, range(-3 * p, 3 * p + 1), (1, -1)):
            z = side * k * Fraction(2) ** (e + p)
            wrong += fma(Fraction(m), Fraction(n), z, p, last) != rounded(m * n + z, p)
        wrong += fma(Fraction(m), Fraction(n), Fraction(0), p, last) != rounded(Fraction(m * n), p)
    return wrong


def check() -> int:
    """How many lemmas hold; raises where one does not, or a mutant does."""
    cases = lemmas()
    hold_all(cases)
    for p in (3, 4, 5, 8):
        if wrong_to_odd(p) or not wrong_to_odd(p, away=-1):
            raise AssertionError(f"to_odd of {p} bits")
    for p in (4, 5):
        if wrong_fma(p) or not wrong_fma(p, last=lambda s, e, bits: s):
            raise AssertionError(f"fma of {p} bits")
    from . import source

    source.check()
    return len(cases) + 2


if __name__ == "__main__":
    print(f"{check()} lemmas of rounding to odd and of the sign of pow proved, as many mutants refuted")
    sys.exit(0)
