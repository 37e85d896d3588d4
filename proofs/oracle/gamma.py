"""The definitions of functions.py, and those of the gamma function's relatives and of later functions. These stand apart: the certificates of
evaluations in binary32 (b32.py) name the version of functions.py that they were measured with, and need not be measured again for them."""

from collections.abc import Callable

from flint import arb, arb_series

from .. import definitions
from ..definitions import DEFINITIONS, constant
from . import functions
from .functions import (
    INF,
    LARGEST,
    NAN,
    TINY,
    Function,
    Piece,
    below,
    bits,
    both,
    interval,
    number,
    one,
    series,
    tail,
    undefined,
)
from .periods import COSECANT, COTANGENT, FROM, LOG_OF_SINE, Reflected


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


def trigamma(x):
    def of_angle(angle, other):
        return (arb.pi() / angle.sin()) ** 2 - log_gamma_series(other, 2)

    return reflected(x, lambda t: log_gamma_series(t, 2), of_angle)


def entr(x):
    return -x * x.log()


def infinite(low: float) -> list[Piece]:
    """Numbers below this one have infinite results: those of trigamma are above 2^129 there."""
    return [interval(TINY, below(low), "result", bits(INF))] if low > TINY else []


def of_poles(f: Callable, reflected: Reflected, at_infinity: float, low: float = TINY) -> tuple[Piece, ...]:
    """Negative numbers: at poles below 128 the series says nothing, and MPFR decides; from 2^23 on all numbers are poles."""
    return both(
        one(0.0, INF),
        infinite(low),
        series(f, low, below(FROM)),
        interval(FROM, below(2.0**23), "reflected", reflected),
        interval(2.0**23, LARGEST, "result", bits(reflected.pole)),
        one(INF, at_infinity),
    )


def of_half_turns(shape: str, twin: int, at_zero: float) -> Function:
    """From 2^24 on all numbers are even."""
    sine, cosine = (lambda x: (x * arb.pi()).sin()), (lambda x: (x * arb.pi()).cos())
    f = {"sin": sine, "cos": cosine, "tan": lambda x: sine(x) / cosine(x)}[shape]
    return Function(
        twin,
        both(
            one(0.0, at_zero),
            series(f, high=below(0.25)),
            interval(0.25, below(2.0**24), "half_turns", shape),
            interval(2.0**24, LARGEST, "result", bits(at_zero)),
            one(INF, NAN),
        ),
        (),
    )


def power_less_one(base: int) -> Callable:
    return lambda x: definitions.expm1(x * arb(base).log())


def of_one_more(base: int) -> Callable:
    return lambda x: definitions.log1p(x) / arb(base).log()


def table() -> dict[str, Function]:
    functions.ctx.prec = 160
    asin, acos, atan = (DEFINITIONS[name] for name in ("asin", "acos", "atan"))
    past_one = undefined(number(bits(1.0) + 1))
    log_ndtr, half = DEFINITIONS["log_ndtr"], number(0xBF317218)
    return {
        **functions.table(),
        "sinpi": of_half_turns("sin", 1, 0.0),
        "cospi": of_half_turns("cos", 2, 1.0),
        "tanpi": of_half_turns("tan", 1, 0.0),
        **{
            name: Function(
                0,
                both(one(0.0, 0.0), series(power_less_one(base), high=below(top)), tail(power_less_one(base), top, INF, INF)),
                both(
                    one(0.0, -0.0),
                    series(power_less_one(base), high=below(bottom)),
                    tail(power_less_one(base), -bottom, -1, -1.0),
                ),
            )
            for name, base, top, bottom in (("exp2m1", 2, 129.0, 27.0), ("exp10m1", 10, 39.0, 9.0))
        },
        **{
            name: Function(
                0,
                both(one(0.0, 0.0), series(of_one_more(base)), one(INF, INF)),
                both(one(0.0, -0.0), series(of_one_more(base), high=below(1.0)), one(1.0, -INF), past_one),
            )
            for name, base in (("log2p1", 2), ("log10p1", 10))
        },
        "asinpi": Function(
            1, both(one(0.0, 0.0), series(lambda x: asin(x) / arb.pi(), high=below(1.0)), one(1.0, 0.5), past_one), ()
        ),
        "acospi": Function(
            0,
            both(one(0.0, 0.5), series(lambda x: acos(x) / arb.pi(), high=below(1.0)), one(1.0, 0.0), past_one),
            both(one(0.0, 0.5), series(lambda x: acos(x) / arb.pi(), high=below(1.0)), one(1.0, 1.0), past_one),
        ),
        "atanpi": Function(
            1,
            both(
                one(0.0, 0.0),
                series(lambda x: atan(x) / arb.pi(), high=below(2.0**27)),
                tail(lambda x: atan(x) / arb.pi(), 2.0**27, 0.5, 0.5),
            ),
            (),
        ),
        "erfcx": Function(
            0,
            both(one(0.0, 1.0), series(DEFINITIONS["erfcx"]), one(INF, 0.0)),
            both(one(0.0, 1.0), series(DEFINITIONS["erfcx"], high=below(9.5)), tail(DEFINITIONS["erfcx"], -9.5, INF, INF)),
        ),
        "log_ndtr": Function(
            0,
            both(one(0.0, half), series(log_ndtr, high=below(14.5)), tail(log_ndtr, 14.5, 0, -0.0)),
            both(one(0.0, half), series(log_ndtr, high=below(1.5 * 2.0**64)), tail(log_ndtr, -1.5 * 2.0**64, -INF, -INF)),
        ),
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
            of_poles(lgamma, Reflected(lambda x: -log_gamma_series(1 - x, 0), LOG_OF_SINE, INF), INF),
        ),
        "digamma": Function(
            0,
            both(one(0.0, -INF), series(digamma), one(INF, INF)),
            of_poles(digamma, Reflected(lambda x: log_gamma_series(1 - x, 1), COTANGENT, NAN), NAN),
        ),
        "trigamma": Function(
            0,
            both(one(0.0, INF), infinite(2.0**-65), series(trigamma, 2.0**-65), one(INF, 0.0)),
            of_poles(trigamma, Reflected(lambda x: -log_gamma_series(1 - x, 2), COSECANT, INF), NAN, 2.0**-65),
        ),
        "entr": Function(
            0,
            both(
                one(0.0, 0.0),
                series(entr, high=below(1.0)),
                one(1.0, -0.0),
                series(entr, number(bits(1.0) + 1)),
                one(INF, -INF),
            ),
            both(one(0.0, 0.0), interval(number(1), LARGEST, "result", bits(-INF)), one(INF, -INF)),
        ),
    }
