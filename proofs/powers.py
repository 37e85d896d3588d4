"""pow in f64, a composition: z = y log x in two parts, then e^z.

dd_pow_log: the logarithm of 2^k m, many k at once, times y (a factor g, which is analysed as 1). What it claims is the bound that pow_dd.h
names, relative to the high part; for |y| >= 2^-900 the product is at least 2^-954, |log x| being at least 2^-53, so that its error is exact
and the low part, which may underflow twice, is off by 2^-120 of it at most. |z| <= 708.3 there, and the low part contains half a last place
of it and |y| times half a last place of the logarithm: both together are below 2^-42.

dd_pow_range: the same for rm_pow_exponent, which is made for f32 numbers, at any others: from it the loop knows the range of the result.

dd_pow_exp: e^(x + xl), |xl| < 2^-42, before the scaling as rm_exp_fast_dd rounds it (steps.py), for every z that the first bound
allows."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from flint import arb

from . import prove, steps
from .engine import Analysis
from .graph import Graph, Interval, Kernel
from .taylor import Model, SplitBox, ball, pow2, up
from .values import Node

UNDERFLOW = pow2(-120)
ALONE = {"dd_pow_log": ("log", "dd_octaves"), "dd_pow_range": ("log", "dd_octaves"), "dd_pow_exp": ("exp", "dd_steps")}


def part(kernel: Kernel) -> Kernel:
    """The kernel whose boxes and definition this one has."""
    function, kind = ALONE[kernel.kind]
    return replace(kernel, function=function, kind=kind)


class Factor(Analysis):
    def step(self, op: str, args: list) -> Node:
        inputs = [k for k in args if isinstance(k, int) and self.graph.nodes[k][0] == "input"]
        if inputs and all(self.graph.nodes[k][1] == ["g"] for k in inputs):  # is no bits of 2^k m, and need not be
            return getattr(self, "op_" + op)(args)
        return super().step(op, args)

    def product(self, a: Node, b: Node) -> tuple[Model, arb | None]:
        """By the factor, which is 1, what is linear in k stays so."""
        for p, q in ((a, b), (b, a)):
            if p.scaled and p.per_k is None and p.E == 0 and p.model.r == 0 and p.model.p.coeffs() == [1]:
                return q.model, q.per_k
        return super().product(a, b)


def analyse(
    kernel: Kernel, graph: Graph, low_end: Fraction, high_end: Fraction, choices: dict, piece: prove.Piece
) -> Analysis:
    kind = steps.WithLow if kernel.kind == "dd_pow_exp" else Factor
    return kind(graph, kernel.format, low_end, high_end, choices, piece.multiples)


def measure(kernel: Kernel, analysis: Analysis, function: Callable) -> tuple[arb, arb]:
    del function
    log = kernel.kind != "dd_pow_exp"
    definition = (lambda x: x.log()) if log else (lambda x: x.exp())
    ratio, nothing = prove.measure(part(kernel), analysis, definition)
    hi, lo, err = (analysis.output(k) for k in ("hi", "lo", "err"))
    if log:
        claim = ball(analysis.output("claim").const)
        ratio = up(ratio + UNDERFLOW / claim)
        return ratio, up(ratio * claim)
    if not (hi.enclosure > 0 and lo.size <= steps.PARTS * hi.smallest):
        raise SplitBox
    at = analysis.multiples
    largest = ball(at.step * at.size() + max(abs(analysis.low), abs(analysis.high)))
    given = ball(analysis.output("given").const) * (1 + pow2(-30))
    return up(ratio + hi.size * (1 + pow2(-18)) * (largest * given).expm1() / err.smallest), nothing


def all_pieces(kernel: Kernel) -> list[prove.Piece]:
    return prove.all_pieces(part(kernel))


def domain(kernel: Kernel) -> tuple[Interval, ...]:
    return prove.domain(part(kernel))
