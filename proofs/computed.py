"""Composed kernels (composed.py) whose exponential has a computed argument, of two parts: ndtr, gelu, gelu_tanh, the gradients of erf
and of these. Also that of silu, whose numerator passes zero as that of gelu_tanh does: a quotient has the sign of its numerator.

The low part of the argument compensates roundings of the high part, which cancels in the derivative of their sum. The outputs
depend on these roundings through the sum alone, as e^(a + b) has the same derivative by both, so the derivative by such a rounding is that
of the outputs by the exponential, times e^(a + b), times that of the sum: the first two are intervals, and differences of intervals
would not cancel. What the roundings amount to in the sum bounds how far the exponential is from its ideal value, too.

Where an index into a table is found by the sum of a number and a constant, the branch tells more about the number than the box does: a lower
bound of the number says of which power of two it is a multiple.

The boxes are so small from the start that the models converge, because a box that is cut after its branches were chosen is branched again."""

import copy
import math
from fractions import Fraction

from . import composed, prove
from .composed import PRECISION, SMALL, Composed, within
from .engine import DERIVATIVES
from .graph import Graph, Kernel, double_of
from .kinds import PARTS
from .taylor import ONE, ZERO, Model, arb, ctx, up
from .values import BITS, Node

ORDER = 14
RISE = Fraction(1, 2)  # of the exponential's argument in a box, at most
# The derivative of the argument at |x| = a is at most that; where it is not given, a + 1.
SLOPES = {
    "silu_backward": lambda a: 1,
    "erf_backward": lambda a: 2 * a + 1,
    "gelu_tanh": lambda a: Fraction(8, 5) + Fraction(11, 50) * a * a,
    "gelu_tanh_backward": lambda a: Fraction(8, 5) + Fraction(11, 50) * a * a,
}


def difference(nodes: list, args: list) -> tuple | None:
    """(a, b, s) of (a - (s - z)) - (b + z), z = s - a, s = a - b: Knuth's sum of a and -b."""
    (op, u), (other, v) = (nodes[k] if "error" not in nodes[k][0] else nodes[k][1][-2:] for k in args)
    if op != "sub" or other != "add":
        return None
    (a, st), (b, z) = u, v
    if nodes[z][0] != "sub" or nodes[z][1][1] != a:
        return None
    s = nodes[z][1][0]
    return (a, b, s) if nodes[st] == ("sub", [s, z]) and nodes[s] == ("sub", [a, b]) else None


class Computed(Composed):
    def __init__(self, *arguments, **options):
        self.moved: dict[int, arb] = {}  # for each exponential: how far roundings move its argument
        super().__init__(*arguments, **options)

    def op_copysign(self, args: list) -> Node:
        """A quotient by a positive number has the sign of its numerator already, whatever that is."""
        op, operands = self.graph.nodes[args[0]]
        if op == "quotient" and operands[0] == args[1] and self.sign_of(operands[1]) > 0:
            return self.same(args[0])
        return super().op_copysign(args)

    def op_exp_value(self, args: list) -> Node:
        order = Model.order
        Model.order = min(order, DERIVATIVES)
        found = self.derivatives({k: Model.const(ONE) for k in args[:2]})
        Model.order = order
        moved = up(sum((d.sup() * v.rho for d, v in zip(found, self.nodes, strict=True) if d is not None), ZERO))
        self.moved[self.index] = moved
        v = super().op_exp_value(args)
        v.E = up(v.parts[0][1].sup() * moved + v.rho)
        return self.finish(v)

    def op_sub(self, args: list) -> Node:
        found = difference(self.graph.nodes, args)
        if found and not any(self.chosen(self.nodes[k]) for k in found):
            return self.error_of_sum(*found, -1, 1)
        k = args[0]
        whole, smallest = self.nodes[k], self.smallest_by_branch(k)
        if smallest is not None and smallest > 0 and whole.grid is not None:
            self.nodes[k] = copy.copy(whole)
            # Being a double, it is not below the double nearest to that either.
            self.nodes[k].grid = max(whole.grid, math.frexp(float(smallest))[1] - BITS)
        v = super().op_sub(args)
        self.nodes[k] = whole
        return v

    def smallest_by_branch(self, k: int) -> Fraction | None:
        """A lower bound of the computed number, where its sum with a constant has the bits of this branch: sums from half a place
        below them on are rounded to them."""
        for (kind, m), part in self.choices.items():
            if kind != "bits" or self.graph.nodes[m][0] != "add" or k not in self.graph.nodes[m][1]:
                continue
            constants = [self.nodes[j].const for j in self.graph.nodes[m][1] if j != k]
            if len(constants) == 1 and constants[0] is not None:
                first, before = (Fraction(double_of(b)) for b in (part[0], part[0] - 1))
                return (first + before) / 2 - constants[0]
        return None

    def derivatives(self, seeds: dict[int, Model]) -> list[Model | None]:
        """Of the sum of the seeds' nodes by every node, an exponential standing for itself."""
        found: list[Model | None] = [None] * len(self.nodes)
        for k, seed in seeds.items():
            found[k] = seed if found[k] is None else found[k] + seed
        for i in range(len(self.nodes) - 1, -1, -1):
            d = found[i]
            if d is None or self.graph.nodes[i][0] == "exp_value":
                continue
            for k, slope in self.nodes[i].parts:
                if self.nodes[k].const is None:
                    t = d * slope.fold()
                    found[k] = t if found[k] is None else found[k] + t
        return found

    def roundings_over(self, seeds: dict[str, int], err: Node) -> arb:
        order, total = Model.order, ZERO
        Model.order = min(order, DERIVATIVES)
        inverse = Model(self.plain(err).fold().p, up(self.plain(err).fold().r + err.E)).inverse()
        outputs = self.derivatives({self.graph.outputs[name]: Model.const(arb(c)) for name, c in seeds.items()})
        for i, d in enumerate(outputs):
            v = self.nodes[i]
            if d is None:
                continue
            if v.rho != 0:
                part = up(d.sup() * v.rho / err.smallest)
                if part > SMALL and i in self.relative:  # as in composed.py
                    value = Model(v.model.fold().p, up(v.model.fold().r + v.E))
                    part = min(part, up((d * value * inverse).sup() * self.relative[i]))
                total = total + part
            if self.graph.nodes[i][0] == "exp_value":
                total = total + (d * v.parts[0][1].fold() * inverse).sup() * self.moved[i]
        Model.order = order
        return up(total)


def analyse(kernel: Kernel, graph: Graph, low_end: Fraction, high_end: Fraction, choices: dict, piece) -> Computed:
    ctx.prec, Model.order = PRECISION, ORDER
    return Computed(graph, kernel.format, *within(low_end, high_end), choices, parts=PARTS.get(kernel.function, {}))


measure = composed.measure


def all_pieces(kernel: Kernel) -> list[prove.Piece]:
    slope, pieces = SLOPES.get(kernel.function, lambda a: a + 1), []
    for p in composed.all_pieces(kernel):
        count = math.ceil((p.high - p.low) * slope(max(abs(p.low), abs(p.high))) / RISE)
        step = (p.high - p.low) / count
        pieces += [prove.Piece(p.low + i * step, p.low + (i + 1) * step) for i in range(count)]
    return pieces
