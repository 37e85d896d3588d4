"""asin and acos, which take sqrt(1 - x^2) in two parts: composed.py, and that 1 - x^2 = h + hl exactly.

h = 1 - RN(x^2) and hl is what it leaves. So RN(h + hl) is a rounding of 1 - x^2, and with s the root of it hl - (s^2 - h) is
1 - x^2 - s^2: the rounding of x^2, which is large beside h where |x| is near 1, does not count.

With d = 1 - |x|, x^2 = (1 - 2d) + d^2, and 1 - 2d = 2|x| - 1 is a number for 1/2 <= |x| <= 1. So x^2 is rounded by at most d^2, and h
is as near to s^2 as vf64_mul_err asks for."""

import math
from fractions import Fraction

from flint import ctx

from . import composed
from .composed import Composed
from .graph import Graph, Kernel, bits_of
from .kinds import PARTS
from .taylor import Model, ball, up
from .values import Node


class Circle(Composed):
    def op_mul(self, args: list) -> Node:
        v, a = super().op_mul(args), self.nodes[args[0]]
        if args[0] == args[1] and a.ends is not None and v.rho != 0:
            smallest = min(abs(a.ends[0]), abs(a.ends[1]))
            if a.ends[0] * a.ends[1] > 0 and smallest >= Fraction(1, 2) and max(abs(e) for e in a.ends) <= 1 and a.E == 0:
                v.rho = v.E = min(v.rho, up(ball((1 - smallest) ** 2)))
        return v

    def smaller(self, args: list, want: int) -> Node:
        """A minimum or maximum with a constant c that is not c is on one side of it."""
        v, key = super().smaller(args, want), ("bits", self.index)
        for k, other in (args, args[::-1]):
            c = self.nodes[other].const
            if c is None or c <= 0 or self.nodes[k].const is not None or v.parts[0][0] != k:
                continue
            first, last = self.choices.get(("bits", k), (0, bits_of(math.inf)))
            smallest, largest = (bits_of(float(c)), last) if want > 0 else (first, bits_of(float(c)))
            first, last = self.choices.get(key, (smallest, largest))
            self.choices[key] = max(first, smallest), min(last, largest)
        return v

    def leaves(self, h: int, hl: int) -> bool:
        """Whether h + hl is 1 - x^2 exactly, x being the argument: hl = ((1 - h) - p) - (x^2 - p), h = 1 - p, p = RN(x^2)."""
        op, args = self.graph.nodes[h]
        kind, parts = self.graph.nodes[hl]
        if op != "sub" or kind != "sub" or self.nodes[args[0]].const != 1 or self.nodes[hl].rho != 0:
            return False
        (error, of), (residue, product), p = self.graph.nodes[parts[0]], self.graph.nodes[parts[1]], args[1]
        exact = error == "fast_two_sum_error" and of[:5] == [args[0], p, h, -1, 1] and self.nodes[parts[0]].rho == 0
        square = residue == "mul_err" and product[0] == product[1] and product[2] == p and self.nodes[parts[1]].rho == 0
        return exact and square and self.graph.nodes[p] == ("mul", product[:2]) and self.nodes[product[0]].E == 0

    def op_add(self, args: list) -> Node:
        if not self.leaves(*args):
            return super().op_add(args)
        v = Node()
        v.model, v.E = self.nodes[args[0]].model + self.nodes[args[1]].model, self.nodes[args[0]].E * 0
        return self.round(v, None)

    def op_sub(self, args: list) -> Node:
        if self.nodes[args[0]].const == 0:
            return self.op_neg(args[1:])  # 0 - b: exact
        op, of = self.graph.nodes[args[1]]
        if op != "mul_err" or of[0] != of[1] or not self.leaves(of[2], args[0]):
            return super().op_sub(args)
        e, s, v = self.nodes[args[1]], self.nodes[of[0]], Node()
        v.model = self.nodes[of[2]].model + self.nodes[args[0]].model - s.model * s.model
        v.parts, v.E = ((of[0], self.wide(s).scale(ball(-2))),), up(2 * s.size * s.E + e.rho)
        self.round(v, None)
        v.rho = up(v.rho + e.rho)
        return v


def analyse(kernel: Kernel, graph: Graph, low_end: Fraction, high_end: Fraction, choices: dict, piece) -> Circle:
    ctx.prec, Model.order = composed.PRECISION, composed.ORDER
    ends = composed.within(low_end, high_end)
    return Circle(graph, kernel.format, *ends, choices, parts=PARTS.get(kernel.function, {}))


measure, all_pieces = composed.measure, composed.all_pieces
