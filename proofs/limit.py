"""The smallest results of a composed kernel: those at which it begins to leave its argument undecided.

There its bound is a NaN, so that a box in which the result may be on either side of the limit has two branches: on that with the NaN there is
nothing to show, as the rounding test leaves the argument undecided."""

from fractions import Fraction

from . import composed, computed
from .computed import ORDER, PRECISION, Computed, within
from .graph import Graph, Kernel
from .kinds import PARTS
from .taylor import Model, ctx
from .values import EmptyBox, Node


class Limit(Computed):
    def op_select(self, args: list) -> Node:
        mask = self.nodes[args[0]].const
        if mask is not None and self.nodes[args[1] if mask else args[2]].model is None:
            raise EmptyBox
        return super().op_select(args)


def analyse(kernel: Kernel, graph: Graph, low_end: Fraction, high_end: Fraction, choices: dict, piece) -> Limit:
    ctx.prec, Model.order = PRECISION, ORDER
    return Limit(graph, kernel.format, *within(low_end, high_end), choices, parts=PARTS.get(kernel.function, {}))


measure, all_pieces = composed.measure, computed.all_pieces
