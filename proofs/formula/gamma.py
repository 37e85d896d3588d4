"""lgamma and digamma of x < -1/2, by their values of a = -x and by what proofs/gamma.py says of r = a - the nearest integer: with
S = sin(pi r)/(pi r),

    lgamma x = -log(a |r| S) - lgamma a,    digamma x = digamma a + 1/a + cos(pi r)/(r S).

A computed number is an atom; what it stands for is that number off by its error."""

import json
from fractions import Fraction

from .algebra import Algebra, Size, U, Value, atom, minus, plus, times
from .check import ROOT
from .rows import Given, certified, not_evaluated

ROOM = 1 + Fraction(1, 2**30)


def share_of(kernel: str) -> Fraction:
    """Of the err that the kernel gives, rounded tests included."""
    held = json.loads((ROOT / f"proofs/certificates/{kernel}.json").read_text())
    return Fraction(max(held[build]["ratio"] for build in ("fma", "base")))


def lgamma() -> Given:
    def make(algebra: Algebra) -> dict[str, Value]:
        product = ROOM * (2 * U + certified("lgamma_turn_b64"))  # relatively, of a |r| S; absolutely of its logarithm
        logarithm = plus(algebra.off(atom("l"), certified("log_row_b64")), algebra.error(product))
        exact = minus(plus(logarithm, algebra.off(atom("w"), certified("lgamma_b64"))))
        return {"x": atom("x"), "r": atom("r"), "sine": atom("S"), "log": atom("l"), "whole": atom("w"), "exact": exact}

    def limits(name: str) -> Size | None:
        return {(("l", 1),): ROOM, (("w", 1),): ROOM} if name.startswith("|") else None

    return Given("lgamma, reflected", "reflected-2-0-0", (), not_evaluated, make=make, limits=limits)


WITHIN = Fraction(13, 16)  # the share of err that kernels.def states of digamma
COSINE = Fraction(5, 2**53)  # and the bound of its cosine


def digamma() -> Given:
    """Of the whole, |w| <= 2^48 more: beside 2^-48 (1 + |q/p|) it is at most 0.75 + |q/p|, beside 2^-41 log x at most log x. And 1/(|r| S) =
    pi/|sin(pi r)| is at most pi (1 + |cot(pi r)|), so that it is within 3.15 and the computed quotient."""
    turn = (("S", -1), ("c", 1), ("r", -1))

    def make(algebra: Algebra) -> dict[str, Value]:
        off = ROOM * certified("lgamma_turn_b64")
        cosine = plus(
            algebra.off(atom("c"), off), times(atom("r"), times(atom("S"), times(atom("T"), algebra.error(ROOM * COSINE))))
        )
        quotient = times(cosine, times(atom("r", -1), atom("S", -1)))
        whole = plus(atom("w"), times(algebra.error(WITHIN * share_of("digamma_b64")), atom("more")))
        return {
            **{
                "x": atom("x"),
                "r": atom("r"),
                "sine": atom("S"),
                "cosine": atom("c"),
                "whole": atom("w"),
                "more": atom("more"),
            },
            "exact": plus(whole, atom("x", -1), quotient),
        }

    def limits(name: str) -> Size | None:
        if name.startswith("|"):  # a sum of these
            return {(("w", 1),): ROOM, (("x", -1),): ROOM, turn: ROOM}
        return {
            "w": {(("more", 1),): Fraction(2**48)},
            "T": {(): Fraction(315, 100), turn: Fraction(101, 100)},
        }.get(name)

    return Given("digamma, reflected", "reflected-2-1-0", (), not_evaluated, make=make, limits=limits)


def reflections() -> list[Given]:
    return [lgamma(), digamma()]
