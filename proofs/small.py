"""Composed kernels (composed.py) where e^-|x| is so small beside 1 that the sum of the two needs more bits than the others have: softplus from
2^-158 down to the end of its double-double kernel, 2^-952. log_sigmoid is its mirror image, operation by operation."""

from fractions import Fraction

from . import composed, prove
from .composed import ORDER, Composed, within
from .graph import Graph, Kernel
from .kinds import PARTS
from .taylor import Model, ctx

PRECISION = 1200
WIDTH = Fraction(1, 4)  # of the first boxes, so that the models converge

measure = composed.measure


def analyse(kernel: Kernel, graph: Graph, low_end: Fraction, high_end: Fraction, choices: dict, piece) -> Composed:
    ctx.prec, Model.order = PRECISION, ORDER
    return Composed(graph, kernel.format, *within(low_end, high_end), choices, parts=PARTS.get(kernel.function, {}))


def all_pieces(kernel: Kernel) -> list[prove.Piece]:
    (interval,) = kernel.domain
    count = int((interval.high - interval.low) / WIDTH) + 1
    step = (interval.high - interval.low) / count
    return [prove.Piece(interval.low + i * step, interval.low + (i + 1) * step) for i in range(count)]
