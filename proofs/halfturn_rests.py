"""dd_half_turn_rest: what tanpi takes the tangent of, rh + rl = pi t within 2^-104 |rh|, t = |x| - k/16 as in halfturns.py.

For such rh and rl, |rl| being at most half a last place of rh, tan_dd is proved (dd_angle: angles.py): for every k modulo 16, every reduced argument of
at most pi/32, and those down to 2^-61 beside a pole (here t is a multiple of 2^-54 then) and to 2^-960 beside 0. The bound is the kernel's, no
error of the reduction being added to it."""

from fractions import Fraction

from flint import arb, ctx

from .angles import NEAREST, SMALLEST, octaves
from .composed import PRECISION
from .graph import Graph, Kernel
from .halfturns import DD_UNIT, FromRest, Turn, zeros
from .taylor import Model, taylor, up

ORDER = 4


def analyse(kernel: Kernel, graph: Graph, low_end: Fraction, high_end: Fraction, choices: dict, piece: Turn) -> FromRest:
    ctx.prec, Model.order = PRECISION, ORDER
    return FromRest(kernel, graph, piece.k, kernel.format, low_end, high_end, choices, parts={})


def measure(kernel: Kernel, analysis: FromRest, function) -> tuple[arb, arb]:
    del kernel, function
    hi, lo, err = (analysis.output(k) for k in ("hi", "lo", "err"))
    t = taylor(lambda s: arb.pi() * s, analysis.centre, analysis.width)
    error = (hi.model + lo.model - t).sup()
    return up((error + analysis.roundings({"hi": 1, "lo": 1})) / err.smallest), arb(0)


def all_pieces(kernel: Kernel) -> list[Turn]:
    """k makes no difference here."""
    zeros(kernel)
    assert SMALLEST == kernel.domain[0].low and NEAREST < Fraction(1, 2**54)
    boxes = octaves(SMALLEST, DD_UNIT / 2)
    return [Turn(*sorted((sign * a, sign * b)), k=0) for a, b in boxes for sign in (1, -1)]
