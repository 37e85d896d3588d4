"""The functions of one argument: where their Taylor polynomials are taken, and where their results are known for another reason.

The bits of positive numbers, 0 to 0x7fffffff, are cut into pieces, those of negative numbers too unless the function is odd or even:
`series`: the definition, a map of power series. `constant`: from a number on the function stays between its value there and its limit, since
it is monotone, and both round to this result. `same`: from a number on |f(x)/x - 1| decreases, and is below 2^-26 there, so that x is the
result. `half`: x/2 and a hair more, of numbers so small that half of them lie on a midpoint. `turns`: sine and its kin, whose arguments are
reduced in integers. `result`: one argument, the result by definition (zeros, infinities, NaN, poles, numbers outside the domain)."""

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass

from flint import arb, arb_series, ctx

from .. import definitions
from ..definitions import DEFINITIONS, constant

INFINITY, NAN_BITS, SIGN = 0x7F800000, 0x7FC00000, 1 << 31
TINY, LARGEST = 2.0**-149, (2 - 2.0**-23) * 2.0**127
NAN, INF = math.nan, math.inf


def bits(x: float) -> int:
    (found,) = struct.unpack("<I", struct.pack("<f", x))
    assert number(found) == x or x != x, f"{x} is no number of binary32"
    return NAN_BITS if x != x else found


def number(b: int) -> float:
    (found,) = struct.unpack("<f", struct.pack("<I", b))
    return found


@dataclass(frozen=True)
class Piece:
    """Numbers of one sign, by the bits of their magnitudes, the last one included."""

    first: int
    last: int
    kind: str
    what: object = None


@dataclass(frozen=True)
class Function:
    """twin: 1 odd, 2 even: positive pieces serve both signs; 0 otherwise."""

    twin: int
    positive: tuple[Piece, ...]
    negative: tuple[Piece, ...]


def interval(low: float, high: float, kind: str, what: object = None) -> Piece:
    return Piece(bits(low), bits(high), kind, what)


def below(x: float) -> float:
    return number(bits(x) - 1)


def series(f: Callable, low: float = TINY, high: float = LARGEST) -> Piece:
    return interval(low, high, "series", f)


def one(x: float, result: float) -> Piece:
    return interval(x, x, "result", bits(result))


def undefined(low: float) -> Piece:
    """NaN from here up to infinity."""
    return interval(low, INF, "result", NAN_BITS)


def rounding_interval(y: int) -> tuple[arb, arb]:
    """The midpoints beside the number with these bits, without its sign."""
    y &= ~SIGN
    quantum = arb(2) ** (max(y >> 23, 1) - 150)
    if y == INFINITY:
        return arb(2) ** 128 - arb(2) ** 103, arb.pos_inf()
    m = y & 0x7FFFFF | (0x800000 if y >> 23 else 0)
    down = quantum / (4 if m == 0x800000 else 2)
    return m * quantum - down if y else arb(0), m * quantum + quantum / 2


def tail(f: Callable, x: float, limit, result: float, at_infinity: float | None = None) -> list[Piece]:
    """From x on the result is this one, and so at infinity, unless said."""
    low, high = rounding_interval(bits(result))
    sign = -1 if math.copysign(1.0, result) < 0 else 1
    value = constant(f(arb_series([arb(x)], prec=1))) * sign
    assert low < value < high and (sign * arb(limit) >= low and sign * arb(limit) < high or result == limit), (x, result)
    end = [] if at_infinity is None else [one(INF, at_infinity)]
    return [interval(abs(x), LARGEST if end else INF, "constant", bits(result)), *end]


def same(f: Callable, x: float) -> Piece:
    value = constant(f(arb_series([arb(x)], prec=1)))
    assert abs(value / arb(x) - 1) < arb(2) ** -26
    return interval(abs(x), INF, "same")


HALF = Piece(1, bits(2.0**-60) - 1, "half")
FROM_HALF = 2.0**-60


def erfinv(x):
    """By the inversion of the series of erf."""
    c, *rest = x.coeffs()
    ends = [end.erfinv() for end in (c.lower(), c.upper())]
    y = ends[0].union(ends[1])
    return inverted(lambda t: t.erf(), y, rest, x.prec)


def ndtri(x):
    c, *rest = x.coeffs()
    if c < 0.5:
        ends = [-(2 * end).erfcinv() for end in (c.lower(), c.upper())]
    else:
        ends = [(2 * end - 1).erfinv() for end in (c.lower(), c.upper())]
    return inverted(definitions.ndtr, ends[0].union(ends[1]) * arb(2).sqrt(), rest, x.prec)


def inverted(f: Callable, y: arb, rest: list, prec: int):
    """The series of the inverse, which is y at the constant term, at that and the other terms."""
    if not rest or prec < 2:
        return arb_series([y], prec=prec)
    slopes = f(arb_series([y, 1], prec=prec)).coeffs()[1:]
    if slopes[0].contains(0) or not slopes[0].is_finite():  # as where the argument reaches 1: a smaller run is tried
        return arb_series([arb("nan")] * prec, prec=prec)
    back = arb_series([0, *slopes], prec=prec).reversion().coeffs()[1:]
    assert len(rest) == 1, "the argument is a number and one term"
    out, power = [y], arb(1)
    for coefficient in back:
        power *= rest[0]
        out.append(coefficient * power)
    return arb_series(out, prec=prec)


def gelu(x):
    return x * definitions.ndtr(x)


def cbrt(x):
    return (x.log() / 3).exp()


def both(*pieces: Piece | list[Piece]) -> tuple[Piece, ...]:
    flat: list[Piece] = []
    for piece in pieces:
        flat += piece if isinstance(piece, list) else [piece]
    flat.append(Piece(INFINITY + 1, SIGN - 1, "result", NAN_BITS))
    at = 0
    for piece in flat:
        assert piece.first == at, f"{at:#x} is not covered"
        at = piece.last + 1
    assert at == SIGN
    return tuple(flat)


def table() -> dict[str, Function]:
    ctx.prec = 160
    d = dict(DEFINITIONS)
    exp, exp2, exp10, expm1, sigmoid, silu, tanh_gelu = (
        d[k] for k in ("exp", "exp2", "exp10", "expm1", "sigmoid", "silu", "gelu_tanh")
    )
    softplus, log_sigmoid, ndtr, erfc = (d[k] for k in ("softplus", "log_sigmoid", "ndtr", "erfc"))

    def zero(result: float = 0.0) -> Piece:
        return one(0.0, result)

    def growing(f, top, bottom):
        positive = both(zero(1.0), series(f, high=below(top)), tail(f, top, INF, INF))
        return Function(0, positive, both(zero(1.0), series(f, high=below(bottom)), tail(f, -bottom, 0, 0.0)))

    def logarithm(f):
        above = number(bits(1.0) + 1)
        positive = both(zero(-INF), series(f, high=below(1.0)), one(1.0, 0.0), series(f, low=above), one(INF, INF))
        return Function(0, positive, both(zero(-INF), undefined(TINY)))

    def odd(*pieces):
        return Function(1, both(zero(), *pieces), ())

    def turning(name, f, twin, at_zero):
        pieces = both(zero(at_zero), series(f, high=below(0.5)), interval(0.5, LARGEST, "turns", name), one(INF, NAN))
        return Function(twin, pieces, ())

    functions = {
        "exp": growing(exp, 89.0, 105.0),
        "exp2": growing(exp2, 129.0, 151.0),
        "exp10": growing(exp10, 39.0, 46.0),
        "expm1": Function(
            0,
            both(zero(), series(expm1, high=below(89.0)), tail(expm1, 89.0, INF, INF)),
            both(zero(-0.0), series(expm1, high=below(19.0)), tail(expm1, -19.0, -1, -1.0)),
        ),
        **{name: logarithm(d[name]) for name in ("log", "log2", "log10")},
        "log1p": Function(
            0,
            both(zero(), series(d["log1p"]), one(INF, INF)),
            both(zero(-0.0), series(d["log1p"], high=below(1.0)), one(1.0, -INF), undefined(number(bits(1.0) + 1))),
        ),
        "sin": turning("sin", lambda x: x.sin(), 1, 0.0),
        "cos": turning("cos", lambda x: x.cos(), 2, 1.0),
        "tan": turning("tan", lambda x: x.tan(), 1, 0.0),
        "asin": odd(series(d["asin"], high=1.0), undefined(number(bits(1.0) + 1))),
        "acos": Function(
            0,
            *(
                both(zero(number(0x3FC90FDB)), series(d["acos"], high=1.0), undefined(number(bits(1.0) + 1)))
                for _ in range(2)
            ),
        ),
        "atan": odd(series(d["atan"], high=below(2.0**27)), tail(d["atan"], 2.0**27, arb.pi() / 2, number(0x3FC90FDB))),
        "sinh": odd(series(d["sinh"], high=below(90.0)), tail(d["sinh"], 90.0, INF, INF)),
        "cosh": Function(2, both(zero(1.0), series(d["cosh"], high=below(90.0)), tail(d["cosh"], 90.0, INF, INF)), ()),
        "tanh": odd(series(d["tanh"], high=below(9.25)), tail(d["tanh"], 9.25, 1, 1.0)),
        "asinh": odd(series(d["asinh"]), one(INF, INF)),
        "acosh": Function(
            0,
            both(
                interval(0.0, below(1.0), "result", NAN_BITS),
                one(1.0, 0.0),
                series(d["acosh"], number(bits(1.0) + 1)),
                one(INF, INF),
            ),
            both(undefined(0.0)),
        ),
        "atanh": odd(series(d["atanh"], high=below(1.0)), one(1.0, INF), undefined(number(bits(1.0) + 1))),
        "erf": odd(series(d["erf"], high=below(3.921875)), tail(d["erf"], 3.921875, 1, 1.0)),
        "erfc": Function(
            0,
            both(zero(1.0), series(erfc, high=below(10.5)), tail(erfc, 10.5, 0, 0.0)),
            both(zero(1.0), series(erfc, high=below(4.5)), tail(erfc, -4.5, 2, 2.0)),
        ),
        "erfinv": odd(series(erfinv, high=below(1.0)), one(1.0, INF), undefined(number(bits(1.0) + 1))),
        "ndtr": Function(
            0,
            both(zero(0.5), series(ndtr, high=below(6.0)), tail(ndtr, 6.0, 1, 1.0)),
            both(zero(0.5), series(ndtr, high=below(15.0)), tail(ndtr, -15.0, 0, 0.0)),
        ),
        "ndtri": Function(
            0,
            both(
                zero(-INF),
                series(ndtri, high=below(0.5)),
                one(0.5, 0.0),
                series(ndtri, number(bits(0.5) + 1), below(1.0)),
                one(1.0, INF),
                undefined(number(bits(1.0) + 1)),
            ),
            both(zero(-INF), undefined(TINY)),
        ),
        "sqrt": Function(0, both(zero(), series(lambda x: x.sqrt()), one(INF, INF)), both(zero(-0.0), undefined(TINY))),
        "rsqrt": Function(0, both(zero(INF), series(d["rsqrt"]), one(INF, 0.0)), both(zero(-INF), undefined(TINY))),
        "cbrt": odd(series(cbrt), one(INF, INF)),
        "sigmoid": Function(
            0,
            both(zero(0.5), series(sigmoid, high=below(20.0)), tail(sigmoid, 20.0, 1, 1.0)),
            both(zero(0.5), series(sigmoid, high=below(105.0)), tail(sigmoid, -105.0, 0, 0.0)),
        ),
        "softplus": Function(
            0,
            both(zero(number(0x3F317218)), series(softplus, high=below(20.0)), same(softplus, 20.0)),
            both(zero(number(0x3F317218)), series(softplus, high=below(105.0)), tail(softplus, -105.0, 0, 0.0)),
        ),
        "log_sigmoid": Function(
            0,
            both(zero(number(0xBF317218)), series(log_sigmoid, high=below(105.0)), tail(log_sigmoid, 105.0, 0, -0.0)),
            both(zero(number(0xBF317218)), series(log_sigmoid, high=below(20.0)), same(log_sigmoid, -20.0)),
        ),
    }
    # x times a factor that goes from 1 to 0: x and -0 at the ends, beside 0 half of x and a little more (x^2 times less than 1/2).
    for name, f, top, bottom in (("silu", silu, 21.0, 112.0), ("gelu_tanh", tanh_gelu, 6.0, 11.5), ("gelu", gelu, 6.0, 15.0)):
        functions[name] = Function(
            0,
            both(zero(), HALF, series(f, FROM_HALF, below(top)), same(f, top)),
            both(zero(-0.0), HALF, series(f, FROM_HALF, below(bottom)), tail(f, -bottom, 0, -0.0)),
        )
    return functions
