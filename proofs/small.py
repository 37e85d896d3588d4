"""Composed kernels (composed.py) where e^-|x| is so small beside 1 that the sum of the two needs more bits than the others have: softplus from
2^-158 down to the end of its double-double kernel, 2^-952, and log_sigmoid, which is its mirror image."""

from fractions import Fraction

from . import composed
from .composed import ORDER, Composed, within
from .graph import Graph, Kernel
from .kinds import PARTS
from .taylor import Model, ctx

PRECISION = 1200

measure, all_pieces = composed.measure, composed.all_pieces


def analyse(kernel: Kernel, graph: Graph, low_end: Fraction, high_end: Fraction, choices: dict, piece) -> Composed:
    ctx.prec, Model.order = PRECISION, ORDER
    return Composed(graph, kernel.format, *within(low_end, high_end), choices, parts=PARTS.get(kernel.function, {}))
