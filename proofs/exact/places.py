"""Which number each record of a rounding test is about: pairs (record, exact number), from records, the number of lanes and the numbers of a case."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np

from proofs.exact.library import KINDS


def of_kinds(records, *kinds):
    return records[np.isin(records["kind"], [KIND[k] for k in kinds])]


KIND = {name: number for number, name in enumerate(KINDS)}


def in_order(records, lanes, values):
    """A record for each number, in their order, or none, by each test; or tests of vectors, whose last lanes are nobody's."""
    pairs = []
    for kind in ("row", "settle", "reach", "ends", "known"):
        some = of_kinds(records, kind)
        whole = -(-len(values) // lanes) * lanes
        if kind == "row" and len(some) not in (0, len(values), whole):
            pairs += in_attempts(some, values)
            continue
        if len(some) not in (0, len(values), whole):
            raise ValueError(f"{len(some)} records of {kind} for {len(values)} numbers")
        pairs += zip(some[: len(values)], values, strict=False)
    return pairs


def in_attempts(records, values):
    """A record for each number, and then for each that the attempt before left open, or for each again where all are left open."""
    pairs, asked, all_again = [], list(values), False
    while len(records):
        if len(records) < len(asked):
            raise ValueError(f"{len(records)} records of row for {len(asked)} numbers")
        now, records = records[: len(asked)], records[len(asked) :]
        pairs += zip(now, asked, strict=True)
        left = [v for r, v in zip(now, asked, strict=True) if not r["decided"]]
        again = [r for r in records[: len(left)] if not r["decided"]]
        all_again = all_again or len(records) not in (len(left), len(left) + len(again))
        asked = asked if all_again else left
    return pairs


def the_same(records, lanes, values):
    """All are about one number."""
    return [(r, values[0]) for r in of_kinds(records, "row", "known", "sum", "function", "ends")]


def of_scaled(records, lanes, values):
    """All are about one sum of squares, or about that of numbers times a power of 2 (src/reduce/statistics.c)."""

    def scaled(r):
        apart = float(r["hi"]) / mpmath.mpf(values[0].numerator) * values[0].denominator if values[0] else 0
        return values[0] * Fraction(4) ** (round(mpmath.log(apart, 4)) if apart else 0)

    return [(r, scaled(r)) for r in of_kinds(records, "known", "sum", "function")]


def by_second_tier(records, lanes, values):
    """All second tiers are about one number; what first ones are about is made on the way."""
    return [(r, values[0]) for r in of_kinds(records, "known")]


def by_place(records, lanes, values):
    """Second tiers say which element they are about; first tiers take them in their order."""
    pairs = in_order(of_kinds(records, "row", "ends", "settle", "reach"), lanes, values)
    return pairs + [(r, values[int(r["more"])]) for r in of_kinds(records, "known")]


def in_two_attempts(records, lanes, values):
    """Second tiers alone: where the first of two leaves a number open, the next record is about it too."""
    pairs, at, second = [], 0, False
    for r in of_kinds(records, "known"):
        if at == len(values):
            raise ValueError("more records than numbers")
        pairs.append((r, values[at]))
        second = not second and not r["decided"]
        at += not second
    if pairs and at != len(values):
        raise ValueError(f"records of {at} of {len(values)} numbers")
    return pairs
