"""What the accurate phases of lgamma and digamma leave out of their series, and how near the coefficients of their tables are: the numbers that
crlibm/lgamma/lgamma_dd.h, lgamma_vdd.h and lgamma_mp.h add to the bounds of what they compute, checked by ball arithmetic (Arb).

    python -m proofs.rests

Taylor's series at 2 has alternating coefficients (zeta(k) - 1)/k, zeta(k) - 1 <= 2^-k (1 + 2/(k - 1)), by the integral of t^-k. Stirling's series: by Binet,
for x > 0
    lgamma x - (x - 1/2) log x + x - log(2 pi)/2 = 2 int of arctan(t/x)/(e^(2 pi t) - 1),   digamma x - log x + 1/(2 x) = -2 int of t/((t^2 + x^2)(e^(2 pi t) - 1)).
arctan(t/x) and 1/(1 + (t/x)^2) lie between any two consecutive sums of their series in t/x, for all t > 0, hence the integrals lie between two consecutive
sums of Stirling's: what is left out is at most the first term that is. Sine and cosine alternate with falling terms."""

from __future__ import annotations

import pathlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import partial

from flint import arb, ctx, fmpq

from .graph import ROOT

FILES = TABLES, DD, VDD, MP, MP_TABLES, B64, TRIGAMMA = (
    *(f"crlibm/lgamma/lgamma{name}.h" for name in ("_tables", "_dd", "_vdd", "_mp", "_mp_tables", "_b64")),
    "crlibm/trigamma/trigamma_tables.h",
)
DIGITS = 700
U = Fraction(1, 2**53)


class Source:
    def __init__(self, root: pathlib.Path):
        self.text = {path: (root / path).read_text() for path in FILES}

    def numbers(self, name: str) -> list[Fraction]:
        (body,) = re.findall(
            rf"RM_TABLE \w+ {name}\[\d+\] = {{(.*?)}};", self.text[TABLES] + self.text[MP_TABLES] + self.text[TRIGAMMA], re.S
        )
        words = re.findall(r"-?0x[0-9a-f.]+(?:p[-+]?\d+)?", body)
        return [Fraction(float.fromhex(w)) if "p" in w else Fraction(int(w, 16)) for w in words]

    def pairs(self, name: str) -> list[Fraction]:
        values = self.numbers(name)
        return [a + b for a, b in zip(values[::2], values[1::2], strict=True)]

    def number(self, path: str, pattern: str) -> Fraction:
        """The one number that stands there."""
        (found,) = set(re.findall(pattern, self.text[path]))
        return Fraction(float.fromhex(found)) if found.startswith(("0x", "-0x")) else Fraction(found)


def ball(x: Fraction) -> arb:
    return arb(fmpq(x.numerator, x.denominator))


def zeta_less_one(k: int) -> arb:
    return arb(k).zeta() - 1


def taylor(k: int, derivative: bool) -> arb:
    """Of t^k in lgamma(2 + t)/t, or in digamma(2 + t)."""
    if k == 0:
        return 1 - arb.const_euler()
    c = zeta_less_one(k + 1)
    return (c if derivative else c / (k + 1)) * (1 if k % 2 else -1)


def stirling(k: int, derivative: bool) -> arb:
    """Of w^k in S: B_(2k+2)/((2k+2)(2k+1)), or without the last factor."""
    value = arb.bernoulli(2 * k + 2) / (2 * k + 2)
    return value if derivative else value / (2 * k + 1)


def turn(k: int, even: bool) -> arb:
    """Of r^2k in cos(pi r), or in sin(pi r)/(pi r)."""
    return (-1) ** k * arb.pi() ** (2 * k) / arb(2 * k + (0 if even else 1)).fac()


def share(found: arb, allowed: Fraction | arb) -> float:
    """Of what is allowed, upwards."""
    part = abs(found) / (allowed if isinstance(allowed, arb) else ball(allowed))
    return float(part.upper())


def table(source: Source, name: str, of: Callable[[int, bool], arb], second: bool) -> float:
    """How near the pairs are: 2^-105 of each."""
    near = source.number(DD, r"vf64_abs\(table\[2 \* k\]\) \* (0x1p-\d+)\);")
    return max(share(ball(v) - of(k, second), near * abs(v)) for k, v in enumerate(source.pairs(name)))


def taylor_rest(source: Source, name: str, derivative: bool) -> float:
    """What is left out for |t| <= 1/2: terms one by one, then (1 + 2/k) (2^-k + ...) 2^-k."""
    terms, allowed = len(source.pairs(name)), source.number(DD, r"rm_gamma_widen\(r, (0x1p-\d+)\);\n}\n\n/\* The asymptotic")
    assert terms == source.number(TABLES, r"#define RM_LGAMMA_TERMS (\d+)")
    far = terms + 100
    rest = sum((abs(taylor(k, derivative)) * arb(2) ** -k for k in range(terms, far)), arb(0))
    return share(rest + (1 + arb(2) / far) * arb(2) ** (-2 * far), allowed)


def taylor_last(source: Source, name: str, derivative: bool) -> float:
    """The terms that are summed in binary64: each coefficient is rounded (its second part left out), and so is each product and sum. E, L: error and
    size of the partial sum after a step."""
    (first,) = {int(source.number(DD, r"enum \{ RM_GAMMA_LAST = (\d+) \}"))}
    allowed = source.number(DD, r"vf64_abs\(table\[2 \* RM_GAMMA_LAST\]\) \* (0x1p-\d+)\);")
    values = source.numbers(name)
    high, low = values[::2], values[1::2]
    assert len(high) - first < 32
    size, error = abs(high[-1]), abs(low[-1])
    for k in range(len(high) - 2, first - 1, -1):
        moved = size / 2
        error = error / 2 + abs(low[k]) + U * moved * (1 + U) + U * (moved + abs(high[k])) * (1 + U) ** 2
        size = abs(high[k]) + moved * (1 + U) + U * size
    return float(error / (allowed * abs(high[first])))


def stirling_rest(source: Source, name: str, derivative: bool) -> float:
    """The first number left out, over what stands for it: w^14 is computed by four products of a w that is rounded once, fourteen times less 2^-53 each."""
    terms = len(source.pairs(name))
    assert terms == source.number(TABLES, r"#define RM_GAMMA_SERIES_TERMS (\d+)")
    product = re.findall(
        r"double w2 = w->hi \* w->hi, w4 = w2 \* w2;.*?rm_gamma_widen\(r, (.*?) \* RM_GAMMA_SERIES_NEXT\);",
        source.text[DD],
        re.S,
    )
    powers = {"w2": 2, "w4": 4}
    if len(product) != 1 or sum(powers[factor] for factor in product[0].split(" * ")) != terms:
        raise AssertionError("another power is left out")
    allowed = source.number(TABLES, r"#define RM_GAMMA_SERIES_NEXT (0x1p\d+)") * (1 - Fraction(1, 2**40))
    return share(stirling(terms, derivative), allowed)


def vector_taylor(source: Source, name: str, derivative: bool) -> float:
    """lgamma_vdd.h, |t| <= 1/2: the terms in binary64, as in taylor_last, which are largest beside their first one at the ends; what is left out of
    the table, and roundings of parts; each number in double-double over what is added to it, a multiple of 2^-105 of itself being added up."""
    first = int(source.number(VDD, rf"RM_{name.upper()}_TAYLOR_FIRST = (\d+)"))
    terms = int(source.number(VDD, r"RM_GAMMA_TAYLOR_TERMS = (\d+)"))
    allowed = source.number(VDD, r"#define RM_GAMMA_TAYLOR_ERR RM_BOUND\((\S+)\)")
    values = source.numbers(f"rm_{name}_taylor")
    high, low = values[::2][:terms], values[1::2][:terms]
    size, error = abs(high[-1]), abs(low[-1])
    for k in range(terms - 2, first - 1, -1):
        moved = size / 2
        error = error / 2 + abs(low[k]) + U * moved * (1 + U) + U * (moved + abs(high[k])) * (1 + U) ** 2
        size = abs(high[k]) + moved * (1 + U) + U * size
    tail = float(error / (allowed * abs(high[first])))
    far = terms + 100
    rest = sum((abs(taylor(k, derivative)) * arb(2) ** -k for k in range(terms, far)), arb(0))
    whole = source.number(VDD, r"vf64_add\(size, vf64_set1\((0x1p-\d+)\)\)") - Fraction(1, 2**99)
    left = share(rest + (1 + arb(2) / far) * arb(2) ** (-2 * far), whole)
    for k in range(first - 1, -1, -1):
        tail = max(tail, float(size / 2 / abs(high[k])))
        size = abs(high[k]) + size / 2 * (1 + Fraction(1, 2**50))
    assert size < 2
    return max(tail, left)


def vector_series(source: Source, name: str, of: Callable[[int], arb], head: int) -> float:
    """lgamma_vdd.h, x > 8.5: of the k-th term 3 k roundings of w, 2 k of Horner's rule, its coefficient's, the head's, and two of the products, over what
    the terms but the first are at least; and the first number left out, as in stirling_rest."""
    far = source.number(B64, r"#define RM_LGAMMA_FAR (\S+)")
    allowed = source.number(VDD, r"#define RM_GAMMA_REST_ERR RM_BOUND\((\S+)\)")
    values = source.numbers(f"rm_{name}_series")[::2]
    sizes = [abs(c) / far ** (2 * k) for k, c in enumerate(values)]
    assert all(b < a / 3 for a, b in zip(sizes[1:], sizes[2:], strict=False)), "terms that do not fall"
    roundings = sum((5 * k + 5) * size for k, size in enumerate(sizes) if k) * U * (1 + Fraction(1, 2**40))
    which = "TRIGAMMA" if name == "trigamma" else "GAMMA"
    following = source.number(TRIGAMMA if name == "trigamma" else TABLES, rf"#define RM_{which}_SERIES_NEXT (0x1p\d+)")
    return max(
        float(roundings / (allowed * (sizes[1] - sizes[2]))),
        share(of(len(values)), following * (1 - Fraction(1, 2**40))),
        float(sum(sizes) * far**-head),
    )


def vector_turn(source: Source, name: str, even: bool) -> float:
    """lgamma_vdd.h, |r| <= 1/2: of the k-th of the terms in binary64 k roundings of r^2, 2 (k + 1) of Horner's rule and its coefficient's; and what is
    left out."""
    first = int(source.number(VDD, r"RM_GAMMA_TURN_FIRST = (\d+)"))
    allowed = source.number(VDD, r"#define RM_GAMMA_TURN_ERR RM_BOUND\((\S+)\)")
    values = source.numbers(f"rm_gamma_{name}")[::2]
    roundings = sum((3 * k + 3) * abs(c) / 4**k for k, c in enumerate(values[first:])) * U * (1 + Fraction(1, 2**40))
    whole = source.number(VDD, r"v\.e = vf64_add\(v\.e, vf64_set1\((0x1p-\d+)\)\);")
    left = abs(turn(len(values), even)) * arb(2) ** (-2 * len(values))
    return max(float(roundings / (allowed * abs(values[first]))), share(left, whole))


def turn_rest(source: Source, name: str, even: bool) -> float:
    terms, allowed = len(source.pairs(name)), source.number(DD, r"rm_gamma_widen\((?:co)?sine, (0x1p-\d+)\);")
    assert terms == source.number(TABLES, r"#define RM_GAMMA_TURN_TERMS (\d+)")
    sizes = [abs(turn(k, even)) * arb(2) ** (-2 * k) for k in range(terms + 2)]
    assert all(b < a for a, b in zip(sizes[1:], sizes[2:], strict=False)), "terms that do not fall"
    return share(sizes[terms], allowed)


def half_log(source: Source) -> float:
    """log(2 pi)/2."""
    parts = [source.number(TABLES, rf"#define RM_LGAMMA_HALF_LOG_2PI{more} (\S+)") for more in ("", "_LO")]
    near = source.number(DD, r"RM_LGAMMA_HALF_LOG_2PI_LO, 1, (0x1p-\d+)\);")
    return share(ball(sum(parts)) - (2 * arb.pi()).log() / 2, near)


def limbs(source: Source, name: str) -> tuple[list[Fraction], Fraction]:
    """Fractions of so many limbs, and a unit of their last one."""
    count = int(source.number(MP_TABLES, r"#define RM_GAMMA_MP_LIMBS (\d+)"))
    words, unit = source.numbers(name), Fraction(1, 2 ** (64 * count))
    values = [
        sum((w * 2 ** (64 * i) for i, w in enumerate(words[k : k + count])), Fraction(0)) * unit
        for k in range(0, len(words), count)
    ]
    return values, unit


def short(value: Fraction, unit: Fraction, exact: arb) -> float:
    """A number that is cut: how much of a unit it lacks; it is not larger."""
    lacks = exact - ball(value)
    assert lacks >= 0 or lacks.contains(0), "a number that is larger"
    return share(lacks, unit)


def fixed_series(source: Source) -> float:
    """|B_2k|/(2k) 2^(-2 k BASE), k from 1 on; all below 2^-17 as the errors of powers take them, and the quotient 2^BASE/y is at most 1/2."""
    values, unit = limbs(source, "rm_gamma_mp_series_table")
    base = int(source.number(MP_TABLES, r"#define RM_GAMMA_MP_BASE (\d+)"))
    assert len(values) == source.number(MP_TABLES, r"#define RM_GAMMA_MP_TERMS (\d+)") and 2**base <= 256 // 2
    (power,) = re.findall(r"times an entry below 2\^-(\d+) ", source.text[MP])
    assert max(values) < Fraction(1, 2 ** int(power))
    return max(short(v, unit, abs(stirling(k, True)) * arb(2) ** (-2 * base * (k + 1))) for k, v in enumerate(values))


def fixed_rest(source: Source) -> float:
    """The first term left out for y >= 256, over half a unit of the most limbs, 2^-513."""
    terms = int(source.number(MP_TABLES, r"#define RM_GAMMA_MP_TERMS (\d+)"))
    most = int(source.number(MP, r"#define RM_GAMMA_MP_MAX (\d+)"))
    return share(abs(stirling(terms, True)) * arb(2) ** (-16 * (terms + 1)), Fraction(1, 2 ** (64 * most + 1)))


def fixed_half_log(source: Source) -> float:
    values, unit = limbs(source, "rm_gamma_mp_half_log_2pi")
    return short(values[0], unit, (2 * arb.pi()).log() / 2)


FAR, TOP = Fraction(17, 2), 17  # in binary64 Stirling's series begins above FAR; what betaln takes lgamma of is below TOP


def plain_rest(source: Source) -> float:
    """betaln in binary64: what the rounded coefficients and the first term left out are off at most, x = FAR, over 2^-54."""
    assert source.number(B64, r"#define RM_LGAMMA_FAR (\S+)") == FAR
    table = source.numbers("rm_lgamma_stirling")
    off = sum((abs(ball(c) - stirling(k, False)) * ball(FAR) ** -(2 * k + 1) for k, c in enumerate(table)), arb(0))
    return share(off + abs(stirling(len(table), False)) * ball(FAR) ** -(2 * len(table) + 1), Fraction(1, 2**54))


def moved_sum(c: arb) -> arb:
    """What lgamma changes by where its argument does by so many times itself, |digamma c| c = |c digamma(1 + c) - 1|, over the 2 + 2 |lgamma c| that
    betaln allows for it."""
    return abs(c * (1 + c).digamma() - 1) / (2 + 2 * abs((1 + c).lgamma() - c.log()))


def moved_sums() -> float:
    """Of all 0 < c <= TOP: below 1/64 it is (1 + c) over 2 at most, digamma being between -1 and 0 beside 1 and lgamma positive."""
    ends = [Fraction(k, 256) for k in range(4, 256 * TOP + 1)]
    parts = [share(moved_sum(ball(a).union(ball(b))), Fraction(1)) for a, b in zip(ends, ends[1:], strict=False)]
    return max(*parts, float(1 + ends[0]) / 2)


def checks(root: pathlib.Path = ROOT) -> Iterator[tuple[str, float]]:
    """(what, its share of what is allowed)."""
    source = Source(root)
    before, ctx.prec = ctx.prec, DIGITS
    try:
        for name, second in (("lgamma", False), ("digamma", True)):
            yield f"{name}: coefficients of Taylor's series", table(source, f"rm_{name}_taylor", taylor, second)
            yield f"{name}: rest of Taylor's series", taylor_rest(source, f"rm_{name}_taylor", second)
            yield f"{name}: last terms of Taylor's series", taylor_last(source, f"rm_{name}_taylor", second)
            yield f"{name}: coefficients of Stirling's series", table(source, f"rm_{name}_series", stirling, second)
            yield f"{name}: rest of Stirling's series", stirling_rest(source, f"rm_{name}_series", second)
            yield f"{name}: Taylor's series in vectors", vector_taylor(source, name, second)
            yield (
                f"{name}: Stirling's series in vectors",
                vector_series(source, name, partial(stirling, derivative=second), 1 + second),
            )
        yield (
            "trigamma: coefficients of its series",
            table(source, "rm_trigamma_series", lambda k, _: arb.bernoulli(2 * k + 2), False),
        )
        yield "trigamma: its series in vectors", vector_series(source, "trigamma", lambda k: arb.bernoulli(2 * k + 2), 3)
        yield "betaln: rest of Stirling's series in binary64", plain_rest(source)
        yield "betaln: sums of arguments, rounded", moved_sums()
        for name, second in (("sine", False), ("cosine", True)):
            yield f"{name}: coefficients", table(source, f"rm_gamma_{name}", turn, second)
            yield f"{name}: rest", turn_rest(source, f"rm_gamma_{name}", second)
            yield f"{name}: in vectors", vector_turn(source, name, second)
        yield "log(2 pi)/2", half_log(source)
        yield "multiprecision: coefficients of Stirling's series", fixed_series(source)
        yield "multiprecision: rest of Stirling's series", fixed_rest(source)
        yield "multiprecision: log(2 pi)/2", fixed_half_log(source)
    finally:
        ctx.prec = before


def reported(parts: Iterable[tuple[str, float]]) -> int:
    """Prints what share of what is allowed each part takes; 1 where one takes more."""
    bad = 0
    for what, part in parts:
        print(f"{what}: {part:.4f} of what is allowed")
        bad |= not part <= 1
    return bad


if __name__ == "__main__":
    sys.exit(reported(checks()))
