"""dd_log_range: kernels that end with the logarithm, as logs.py proves them, for arguments up to the end of the range.

The kernels limit a root, taking it of c, the smaller of the argument and 2^90. Beside 2^90 the root of 2^180 (1 + 2^-180) is compared with the
argument; as a binary64 number it is at most the one after 2^90. The box is cut there: beyond it the argument is the larger one.

The rounding error of a sum is at most the smaller of its operands, since the larger one is a binary64 number too: that of 1 + x is at most 1."""

from fractions import Fraction

from flint import ctx

from . import composed, logs
from .composed import PRECISION
from .engine import Analysis
from .graph import Graph, Kernel
from .logs import ORDER, LogKnown
from .taylor import Model, exact, pow2
from .values import Node, downwards


class LogRange(LogKnown):
    def error_of_sum(self, a: int, b: int, s: int, sigma: int, sign: int) -> Node:
        v = super().error_of_sum(a, b, s, sigma, sign)
        v.E = min(v.E, self.nodes[a].size, self.nodes[b].size)
        return self.finish(v)

    def smaller(self, args: list, want: int) -> Node:
        for k, other in (args, args[::-1]):
            ends, root = self.nodes[other].ends, self.nodes[k]
            if k not in self.deviation or not ends:
                continue
            largest = Fraction(downwards(exact(root.enclosure.upper())))
            if ends[0] >= largest:
                if want < 0:
                    self.deviation[self.index] = self.deviation[k]
                return self.same(other if want > 0 else k)
            if root.size - root.smallest < pow2(-50) * root.smallest and largest < ends[1]:
                self.cut_input(other, largest, below=True)
        return super().smaller(args, want)


def analyse(kernel: Kernel, graph: Graph, low_end: Fraction, high_end: Fraction, choices: dict, piece) -> Analysis:
    ctx.prec, Model.order = PRECISION, ORDER
    return LogRange(graph, kernel.format, *composed.within(low_end, high_end), choices, parts={})


def measure(kernel: Kernel, analysis: LogRange, function):
    return logs.known(kernel, analysis)


all_pieces = composed.all_pieces
