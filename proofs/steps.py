"""exp and its kin, many multiples of the step at once, where prove.py's boxes do not serve.

dd_steps_exact: exp2, whose k is the integer nearest to 16 x exactly, so that |x - k/16| <= 1/32.

dd_steps_low: e^(x + xl), |xl| < 2^-42, which other kernels take as known (composed.py). The box is that of the real number X = x + xl:
the argument x is X but for a rounding of up to 2^-42, and xl is what it leaves. The bound is relative to hi, and hi and lo are scaled
by a power of two afterwards, exactly: from e^-670 on, the product's two parts are above 2^-968 and its low part's last place is
above 2^-1074."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

from flint import arb

from . import prove
from .engine import Analysis
from .graph import Graph, Interval, Kernel
from .taylor import ONE, ZERO, Model, SplitBox, exponent, pow2
from .values import BITS, MIN_EXPONENT, Multiples, Node

LOW = pow2(-42)
PARTS = pow2(-19)  # of hi: what lo is at most


class WithLow(Analysis):
    def op_input(self, args: list) -> Node:
        if args[0] == "low":
            whole = self.graph.nodes.index(("input", ["x"]))
            v = Node()
            v.model, v.E, v.grid, v.parts = Model.const(ZERO), LOW, MIN_EXPONENT, ((whole, Model.const(-ONE)),)
            return self.finish(v)
        v = super().op_input(args)
        v.rho = v.E = LOW
        self.finish(v)
        v.grid = max(exponent(v.smallest) - BITS, MIN_EXPONENT) if v.smallest > 0 else MIN_EXPONENT
        return v

    def multiple(self, v: Node, magic: Fraction) -> Node:
        z = super().multiple(v, magic)
        if self.multiples.first == self.multiples.last == 0:
            constant = self.constant(magic)
            constant.integer = z.integer
            return constant
        return z


class Exact(Analysis):
    def op_input(self, args: list) -> Node:
        """The grid of one k's arguments by their ends: as balls they pass the power of two where two steps meet."""
        v, at = super().op_input(args), self.multiples
        ends = [abs(end + at.step * k) for end in (self.low, self.high) for k in (at.first, at.last)]
        if at.first == at.last and (self.low + at.step * at.first) * (self.high + at.step * at.last) > 0:
            v.grid = max(v.grid, math.frexp(float(min(ends)))[1] - BITS)
        return v


def analyse(kernel: Kernel, graph: Graph, low_end: Fraction, high_end: Fraction, choices: dict, piece) -> Analysis:
    kind = WithLow if kernel.kind == "dd_steps_low" else Exact
    return kind(graph, kernel.format, low_end, high_end, choices, piece.multiples)


def measure(kernel: Kernel, analysis: Analysis, function) -> tuple[arb, arb]:
    if kernel.kind == "dd_steps_low":
        hi, lo = analysis.output("hi"), analysis.output("lo")
        if not (hi.enclosure > 0 and lo.size <= PARTS * hi.smallest):
            raise SplitBox
    return prove.measure(replace(kernel, kind="dd_steps"), analysis, function)


def all_pieces(kernel: Kernel) -> list[prove.Piece]:
    if kernel.kind == "dd_steps_low":
        pieces = [p for p in prove.step_pieces(kernel) if p.multiples.first or p.multiples.last]
        half = max(p.high for p in pieces)
        none = Multiples(prove.STEPS[kernel.function][0], 0, 0)
        return pieces + [prove.Piece(-half, Fraction(0), none), prove.Piece(Fraction(0), half, none)]
    step, c = prove.STEPS[kernel.function]
    assert step * c == 1
    limit, half = prove.EXP_LIMIT[kernel.function], step / 2
    none, smallest = Multiples(step, 0, 0), Fraction(1, 2**1074)
    near = [Interval(smallest, half, Fraction(0)), Interval(-half, -smallest, Fraction(0))]
    pieces = [prove.Piece(*box, none) for interval in near for box in prove.first_boxes(interval)]
    for (first, last), sign in itertools.product(prove.powers(int(limit / step) + 1), (1, -1)):
        ends = (first, last) if sign > 0 else (-last, -first)
        for residue in sorted({k & 15 for k in range(ends[0], min(ends[1], ends[0] + 15) + 1)}):
            multiples = Multiples(step, *ends, residue)
            pieces += [prove.Piece(-half, Fraction(0), multiples), prove.Piece(Fraction(0), half, multiples)]
    return pieces


def domain(kernel: Kernel) -> tuple[Interval, ...]:
    return prove.domain(replace(kernel, kind="dd_steps"))
