"""dd_log_parts, dd_log_parts_near: of the double-double logarithm, as logs.py proves it, that 2^-53 |lo| <= SHARE err: what later operations round of
lo is a part of err. The domains and boxes are those of dd_log_sum and dd_log_near."""

from dataclasses import replace
from fractions import Fraction

from flint import arb, ctx

from . import logs, prove
from .engine import Analysis
from .graph import Graph, Interval, Kernel
from .logs import WithLow
from .taylor import Model, SplitBox, ball, pow2, up

SHARE = Fraction(3, 25)  # lo is little else than t, and err 12 2^-53 |t|
PRECISION, ORDER = 128, 6  # of the models: sizes are all that is needed
LIKE = {"dd_log_parts": "dd_log_sum", "dd_log_parts_near": "dd_log_near"}


def as_logs(kernel: Kernel) -> Kernel:
    return replace(kernel, kind=LIKE[kernel.kind])


def analyse(kernel: Kernel, graph: Graph, low_end: Fraction, high_end: Fraction, choices: dict, piece) -> Analysis:
    ctx.prec, Model.order = PRECISION, ORDER
    return WithLow(piece, graph, kernel.format, low_end, high_end, choices)


def measure(kernel: Kernel, analysis: Analysis, function) -> tuple[arb, arb]:
    del kernel, function
    lo, err = analysis.output("lo"), analysis.output("err")
    if not err.smallest > 0:
        raise SplitBox
    return up(lo.size * pow2(-53) / (err.smallest * ball(SHARE))), arb(0)


def all_pieces(kernel: Kernel) -> list[prove.Piece]:
    return logs.all_pieces(as_logs(kernel))


def domain(kernel: Kernel) -> tuple[Interval, ...]:
    return logs.domain(as_logs(kernel))
