"""The definitions of functions.py, and those of the gamma function's relatives. These stand apart: the certificates of evaluations in
binary32 (b32.py) name the version of functions.py that they were measured with, and need not be measured again for them."""

from collections.abc import Callable

from flint import arb, arb_series

from ..definitions import constant
from . import functions
from .functions import INF, LARGEST, NAN, Function, Piece, below, bits, both, interval, number, one, series


def log_gamma_series(x, derivatives: int):
    """lgamma of x > 0, or one of its derivatives, of a number and one term."""
    c, *rest = x.coeffs()
    scale = rest[0] if rest else arb(1)
    s = arb_series([c, scale], prec=x.prec + derivatives).lgamma()
    for _ in range(derivatives):
        s = s.derivative() / scale
    return arb_series(s.coeffs()[: x.prec], prec=x.prec)


def reflected(x, of_positive: Callable, of_angle: Callable):
    """of_positive(x) for x > 0, else of_angle(pi x, 1 - x); a series of NaN where sin(pi x) may be 0, so that a smaller run is tried."""
    if constant(x) > 0.25:
        return of_positive(x)
    angle = x * arb.pi()
    if constant(angle.sin()).contains(0):
        return arb_series([arb("nan")] * x.prec, prec=x.prec)
    return of_angle(angle, 1 - x)


def lgamma(x):
    def of_angle(angle, other):
        sine = angle.sin()
        return (arb.pi() / (sine if constant(sine) > 0 else -sine)).log() - log_gamma_series(other, 0)

    return reflected(x, lambda t: log_gamma_series(t, 0), of_angle)


def digamma(x):
    def of_angle(angle, other):
        return log_gamma_series(other, 1) - arb.pi() * angle.cos() / angle.sin()

    return reflected(x, lambda t: log_gamma_series(t, 1), of_angle)


def of_poles(f: Callable, pole: float, at_infinity: float) -> tuple[Piece, ...]:
    """Negative numbers: at integers, poles, the series says nothing and MPFR decides; from 2^23 on all numbers are integers."""
    return both(
        one(0.0, INF), series(f, high=below(2.0**23)), interval(2.0**23, LARGEST, "result", bits(pole)), one(INF, at_infinity)
    )


def table() -> dict[str, Function]:
    return {
        **functions.table(),
        "lgamma": Function(
            0,
            both(
                one(0.0, INF),
                series(lgamma, high=below(1.0)),
                one(1.0, 0.0),
                series(lgamma, number(bits(1.0) + 1), below(2.0)),
                one(2.0, 0.0),
                series(lgamma, number(bits(2.0) + 1)),
                one(INF, INF),
            ),
            of_poles(lgamma, INF, INF),
        ),
        "digamma": Function(0, both(one(0.0, -INF), series(digamma), one(INF, INF)), of_poles(digamma, NAN, NAN)),
    }
