"""pown, rootn and compound as compositions of what is proved of pow and exp: what crlibm/pown/pown.h adds to these bounds, by rational numbers and ball
arithmetic (Arb).

    python -m proofs.integer_powers

z = n L or L/n, L = log a for a = |x|, or for a + e = 1 + x, a the rounded sum, by log a + e/a. The certificates are those of log a for any normal a
(pow_range_b64, pow_log_dd) and of e^z (exp_row_b64; pow_exp_dd, which holds for every z that is within its bound of what is computed and whose low part is below
2^-42). u = 2^-53; e is at most half a last place of a.

compound. Where a = 1, L is e - e^2/2 ... Elsewhere |e| <= |a - 1|/2, both below 2 and above: a last place is twice as large above. So |e/a| is at most
(1 + 2^-28)/2 of |a - 1| where |a - 1| <= 2^-29. Above that, e = 0 for an x of 24 bits, or a >= 2^53: x is a multiple of 2^-52 and a below 2, or of 2^(j-23) and a
at most 2^(j+1) + 1, j <= 52. In binary64 log a of such an a near 1 is r + r^2 P(r), r = a - 1 exactly, by the interval of the table that has c = 1 and no
logarithm: the sum rounds by u, r^2 P by a few u of 2^-30 |r|, and P is off as the table says.

In two parts, with lh + ll = log a: c = e/a in two parts is within u^2 |c|, the square and its product round below 3 u^2 |c|, the cube is below u^2 |c|/3; the sum of the
low parts, |he| <= u (|lh| + |c|) and |ll| <= u |lh|, rounds by u^2 (2 |lh| + |c|), and that with the rest of c, below 3/2 u |c|, by u^2 (2 |lh| + 5/2 |c|). Where
|a - 1| > 2^-20, |c| is below 2^-32 |L| and the certificate holds of log a. Nearer to 1 the table's interval has c = 1 and log a is r - r^2/2 + r^3/3 + r^4 Q, r exact: products of
two parts, and sums of low parts that are below 4u |r| together and round ten times at most, the fourth power below 2^-60 |r| within 2^-47 of itself."""

from __future__ import annotations

import json
import pathlib
import re
import sys
from collections.abc import Iterator
from fractions import Fraction

from flint import arb, ctx, fmpq

from .graph import ROOT
from .rests import reported

POWN, POW, POW_TABLES, LOG, LOG_TABLES = (
    f"crlibm/{name}.h" for name in ("pown/pown", "pow/pow_dd", "pow/pow_tables", "log/log_b64", "log/log_tables")
)
SOURCES = (POWN, POW, POW_TABLES, LOG, LOG_TABLES)
U = Fraction(1, 2**53)
NEAR = Fraction(1, 2**29)  # where compound in binary64 has 1 + x that rounds
SINGLE, DOUBLE = 104, Fraction(7083, 10)  # |z| of results that are no zero or infinity below f64; where f64 is decided


def power(n: int) -> Fraction:
    return Fraction(2) ** n


class Source:
    def __init__(self, root: pathlib.Path):
        self.text = {path: (root / path).read_text() for path in SOURCES}

    def number(self, path: str, pattern: str) -> Fraction:
        (found,) = set(re.findall(pattern, self.text[path]))
        return Fraction(float.fromhex(found) if "x" in found else float(found))

    def table(self, path: str, name: str) -> list[Fraction]:
        (body,) = re.findall(rf"RM_TABLE double {name}\[\d+\] = {{(.*?)}};", self.text[path], re.S)
        return [Fraction(float.fromhex(w)) for w in body.replace(",", " ").split()]


def certified(kernel: str) -> Fraction:
    """The greater checked error, as a multiple of the claim where that is the kernel's own."""
    held = json.loads((ROOT / f"proofs/certificates/{kernel}.json").read_text())
    ratio = max(Fraction(str(held[build]["ratio"])) + power(-13) for build in ("fma", "base"))  # figures of four digits
    return ratio * (Fraction(float.fromhex(held["claimed"])) if held["claimed"].startswith("0x") else 1)


def ball(x: Fraction) -> arb:
    return arb(fmpq(x.numerator, x.denominator))


def share(x: arb | Fraction, allowed: Fraction) -> float:
    found = (ball(x) if isinstance(x, Fraction) else x) / ball(allowed)
    return float(found.upper()) * (1 + 2**-40)


def interval_of_one(source: Source) -> int:
    """The entry of the table of logarithms for the numbers within 2^-20 of 1, which has c = 1 and no logarithm: k and m are 0 and the number there."""
    offset = int(
        re.findall(r"#define RM_LOG_OFFSET (?:INT64_C\()?(0x[0-9a-f]+)", source.text[LOG] + source.text[LOG_TABLES])[0], 16
    )
    one = 1023 << 52
    entries = {(bits - offset >> 48) & 15 for bits in (one - (1 << 33), one - 1, one, one + (1 << 32))}
    assert {bits - offset >> 52 for bits in (one - (1 << 33), one + (1 << 32))} == {0}
    assert len(entries) == 1
    (entry,) = entries
    assert source.table(LOG_TABLES, "rm_log_c")[entry] == 1 and source.table(LOG_TABLES, "rm_log_l")[entry] == 0
    return entry


def plain_log_near_one(source: Source) -> Fraction:
    """Of log a in binary64, a within 2^-29 of 1, relatively to r = a - 1: the polynomial is off by what its table is, the powers beyond it are below 2^-200."""
    interval_of_one(source)
    table = source.table(POW_TABLES, "rm_pow_p32")
    off = sum((abs(c - Fraction((-1) ** (k + 1), k + 2)) * NEAR**k for k, c in enumerate(table)), power(-200))
    return U * (1 + NEAR) + NEAR * (off + 8 * U)


def plain(source: Source, kind: str) -> Fraction:
    """z in binary64, relatively."""
    last = U  # n L or L/n
    if kind != "compound":
        return (1 + certified("pow_range_b64")) * (1 + last) - 1
    far = (
        (1 + certified("pow_range_b64")) * (1 + 2 * U) - 1 + U * U
    )  # a >= 2^53: log a >= 36, e/a <= u and its error beside that
    half = (1 + 2 * NEAR) / 2  # |c| over |r|
    least = 1 - NEAR - half  # |L| over |r|
    parts = plain_log_near_one(source) + U * half + U * half / 2  # of |r|: log a, e/a, its square
    near = (parts / least) * (1 + U) + U
    return (1 + max(near, far)) * (1 + last) - 1


def stated_plain(source: Source) -> Fraction:
    """What the header says of z, in u."""
    return source.number(POWN, r"So z is within (\d+)u with the roundings") * U


def whole_plain(source: Source) -> arb:
    """e^z in binary64, for every z that the header allows."""
    return ball(SINGLE * stated_plain(source)).exp() * (1 + ball(certified("exp_row_b64"))) - 1


def pairs_added(source: Source, kind: str) -> Fraction:
    """What is added to the certificate of the logarithm, relatively to L, and the certificate itself."""
    log = certified("pow_log_dd")
    if kind == "pown":
        return log  # of which the product is a part
    if kind == "rootn":
        return log + 5 * U * U  # (rest + ll)/n: two roundings of at most 2u |q|
    interval_of_one(source)
    c, head = Fraction(1, 2) / Fraction(49, 100), 1 / Fraction(49, 100)  # of |L|, nearest to 1
    near = head * (40 * U * U + power(-107)) + sums(c, head)
    far = log * (1 + power(-31)) + sums(power(-32), 1 + power(-31))
    return max(near, far) + 4 * U * U  # the product with n: two roundings below u^2 each


def sums(c: Fraction, head: Fraction) -> Fraction:
    """What e/a and the sums with it err by, of |L|."""
    return U * U * (Fraction(47, 6) * c + 4 * head) * (1 + power(-40))


def low_part(kind: str) -> Fraction:
    """Of z: half a last place of it, which is at most 2^-44 for |z| < 1024, and n times the low part of the logarithm."""
    place = power(-44)
    if kind != "compound":
        return place + U * DOUBLE * (1 + power(-40))
    # |a - 1| >= 2^-44: |c| <= 2^-9 (1 + 2^-8) of |L|; nearer |z| <= 2^51 |L| <= 2^51 3/2 2^-44, |lh| and |c| at most 2.05 and 1.03 |L|.
    c = power(-9) * (1 + power(-8))
    far = place + U * DOUBLE * (2 * (1 + c) + Fraction(5, 2) * c)
    z = power(7) * Fraction(3, 2)
    return max(far, U * z * (1 + 2 * Fraction(205, 100) + Fraction(5, 2) * Fraction(103, 100)))


def checks(root: pathlib.Path = ROOT) -> Iterator[tuple[str, float]]:
    """(what, its share of what is allowed)."""
    source = Source(root)
    before, ctx.prec = ctx.prec, 300
    try:
        allowed = source.number(POWN, r"#define RM_POWN_B64_ERR RM_BOUND\((\S+)\)")
        exponent = source.number(POW, r"#define RM_POW_EXPONENT_DD_ERR (\S+)")
        yield "results below f64 that are no zero or infinity: |z|", share(150 * ball(Fraction(2)).log(), Fraction(SINGLE))
        for kind in ("pown", "rootn", "compound"):
            yield f"{kind}: z in binary64", share(plain(source, kind), stated_plain(source))
            yield f"{kind}: z in two parts", share(pairs_added(source, kind), exponent)
            yield f"{kind}: the low part of z", share(low_part(kind), power(-42))
        yield "e^z in binary64", share(whole_plain(source), allowed)
        yield "e^z in two parts", float(certified("pow_exp_dd"))
    finally:
        ctx.prec = before


if __name__ == "__main__":
    sys.exit(reported(checks()))
