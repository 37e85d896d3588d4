"""lgamma and digamma of x < -1/2, by their values of a = -x and by what proofs/gamma.py says of r = a - the nearest integer: with
S = sin(pi r)/(pi r),

    lgamma x = -log(a |r| S) - lgamma a,    digamma x = digamma a + 1/a + cos(pi r)/(r S).

And the three cases of betaln, by lgamma, by logarithms and by Stirling's series (S of 1/x, which is a claim of its own).

A computed number is an atom; what it stands for is that number off by its error."""

import json
import pathlib
from fractions import Fraction

from ..rests import Source
from .algebra import Algebra, Size, U, Value, atom, minus, number, plus, times
from .check import QUOTIENT, ROOT
from .host import constants
from .rows import Given, at_most, certified, not_evaluated

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


QUOTIENT_WITHIN = ROOM * QUOTIENT
SUBTRACTED = Fraction(23, 10) * U  # of c - 1, c = a + b > 8.5, both rounded
BETALN = "crlibm/betaln/betaln_b64.h"
TABLES = "crlibm/lgamma/lgamma_tables.h"


def moved(algebra: Algebra, value: Value) -> Value:
    """lgamma c, `value`, of the exact sum: c rounds, which changes it by (2 + 2 |lgamma c|) u at most (proofs/rests.py)."""
    return plus(value, algebra.error(ROOM * 2 * U), times(value, algebra.error(ROOM * 2 * U)))


def betaln(root: pathlib.Path) -> list[Given]:
    """Case by case: b <= 8.5, a <= 8.5 < b, and beyond. Of the calls of one function the k-th gives w<k>, l<k>, s<k>."""
    series = constants(root, BETALN)["RM_BETALN_SERIES_ERR"]
    half_log = constants(root, TABLES)["RM_LGAMMA_HALF_LOG_2PI"]
    less = plus(atom("b"), number(Fraction(-1, 2)))

    def computed() -> dict[str, Value]:
        names = ("a", "b", "log", *(f"{letter}{k}" for letter, count in (("w", 3), ("l", 2), ("s", 3)) for k in range(count)))
        return {name: atom(name) for name in names}

    def near(algebra: Algebra) -> dict[str, Value]:
        own = certified("lgamma_row_b64")
        of_a, of_b, of_c = (algebra.off(atom(f"w{k}"), own) for k in range(3))
        return computed() | {"exact": plus(of_a, of_b, minus(moved(algebra, of_c)))}

    def beyond(algebra: Algebra, both: bool) -> dict[str, Value]:
        log1p = certified("log1p_row_b64")
        p = times(atom("less"), algebra.off(atom("l0"), (1 + log1p) * (1 + QUOTIENT_WITHIN) - 1))
        argument = QUOTIENT_WITHIN if both else SUBTRACTED
        q = times(atom("a"), algebra.off(atom("l1"), (1 + log1p) * (1 + argument) - 1))
        rests = [plus(atom(f"s{k}"), algebra.error(series)) for k in range(3)]
        if both:
            half = times(number(Fraction(1, 2)), algebra.off(atom("log"), certified("log_b64")))
            first = plus(number(half_log), algebra.error(U), rests[0], minus(half))
        else:
            first = plus(algebra.off(atom("w0"), certified("lgamma_row_b64")), atom("a"))
        return computed() | {"exact": plus(first, minus(plus(p, q)), rests[1], minus(rests[2]))}

    p, q = (("l0", 1), ("less", 1)), (("a", 1), ("l1", 1))
    limits: dict[str, Size] = {f"s{k}": {(): Fraction(1, 96)} for k in range(3)} | {"log": {q: Fraction(1, 2)}}

    def case(name: str, far: bool, both: bool, make, sizes: Size) -> Given:
        def below(atom_: str) -> Size | None:
            return sizes if atom_.startswith("|") else limits.get(atom_)

        choices = (("mand", True), ("lt", far), ("mnot", both))
        return Given(name, "betaln-2-0-0", (), not_evaluated, (("less", less),), make=make, limits=below, choices=choices)

    def sum_of(*monomials: tuple[tuple[str, int], ...]) -> Size:
        return dict.fromkeys(((), *monomials), Fraction(5, 4))  # log(a)/2 is below a quarter of q, the other numbers below 1

    whole, a = tuple(((f"w{k}", 1),) for k in range(3)), (("a", 1),)
    return [
        case("betaln, b <= 8.5", False, False, near, sum_of(*whole)),
        case("betaln, a <= 8.5 < b", True, False, lambda algebra: beyond(algebra, False), sum_of(whole[0], a, p, q)),
        case("betaln, 8.5 < a", True, True, lambda algebra: beyond(algebra, True), sum_of(p, q)),
    ]


def series(root: pathlib.Path) -> Given:
    """S of v = 1/x below 2/17, v within 2^-51.9, with the coefficients as they are: these and what is left out are within 2^-54 (proofs/rests.py)."""
    table = Source(root).numbers("rm_lgamma_stirling")

    def make(algebra: Algebra) -> dict[str, Value]:
        exact = algebra.error(Fraction(1, 2**54))
        for k, c in enumerate(table):
            power = 2 * k + 1
            exact = plus(exact, algebra.off(times(number(c), atom("v", power)), ROOM * power * QUOTIENT))
        return {"v": atom("v"), "exact": exact}

    return Given("betaln, Stirling's series", "betaln-2-1-0", (), not_evaluated, make=make, limits=at_most(v=Fraction(2, 17)))


def reflections() -> list[Given]:
    return [lgamma(), digamma()]


def everything(root: pathlib.Path) -> list[Given]:
    return [*reflections(), *betaln(root), series(root)]
