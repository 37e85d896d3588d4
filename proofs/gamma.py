"""The gamma functions in binary64: digamma within the err that its kernel gives, and what both are reflected by.

turn, turn_within: of a = the nearest integer + r, sin(pi r)/(pi r) for lgamma and cos(pi r) for digamma, both even in r. The domain is that of r > 0: for a
below 1/2 the kernels find the integer 0, and of other a they compute the same numbers, since r is exact. What is reflected is a formula
(formula/draws.py)."""

from dataclasses import replace
from fractions import Fraction

from flint import arb

from . import prove
from .engine import Analysis
from .graph import Graph, Kernel
from .taylor import SplitBox, pow2
from .values import Node

TURNS = {
    "lgamma": lambda r: (arb.pi() * r).sin() / (arb.pi() * r),
    "digamma": lambda r: (arb.pi() * r).cos(),
}


class WithZeros(Analysis):
    def op_quotient(self, args: list) -> Node:
        """Of 0 it is 0 (simd.h)."""
        a, b = (self.nodes[k] for k in args)
        if a.const != 0:
            return super().op_quotient(args)
        if not (pow2(-500) <= b.smallest and b.size <= pow2(500)):
            raise SplitBox
        return self.constant(0)


def analyse(kernel: Kernel, graph: Graph, low_end: Fraction, high_end: Fraction, choices: dict, piece) -> Analysis:
    return WithZeros(graph, kernel.format, low_end, high_end, choices, piece.multiples)


def measure(kernel: Kernel, analysis: Analysis, function) -> tuple[arb, arb]:
    kind = "eval" if kernel.kind == "turn" else "eval_g_within"
    return prove.measure(replace(kernel, kind=kind), analysis, TURNS[kernel.function] if "turn" in kernel.kind else function)
