"""hypot and atan2 in f64: homogeneous, as two.py has it, with the quotients, roots and two-part results of composed.py.

The larger argument is b times a power of two, 1 <= b < 2, and the graph is analysed for b = 1. Underflow depends on that power of two, which is at
smallest `smallest`: in a value of degree d its error of 2^-1075 counts as 2^-1075/smallest^d. That is added to the roundings of products that may be so small,
and 2^-1070/smallest^d to the errors of products that mul_err gives.

hypot: its domain is that of x^2 + y^2, so that the larger argument is at least 2^-431, and the smaller one is arbitrary. atan2: both
arguments are between 2^-480 and 2^480, or one of them is 0; where their ratio is at most r, the larger one is at least 2^-480/r."""

import itertools
from collections.abc import Callable
from fractions import Fraction

from flint import arb, arb_poly, ctx

from . import composed, prove
from .composed import ORDER, PRECISION, Composed
from .engine import Analysis
from .graph import Graph, Interval, Kernel, parse, recorded
from .taylor import ZERO, Model, SplitBox, ball, pow2, up
from .two import TINY, Homogeneous, Pair, Ratio, first_boxes, floor_log2, function_of
from .values import BITS, Bits, Node

SMALLEST = {"hypot": Fraction(1, 2**431), "atan2": Fraction(1, 2**480)}
RATIOS = {
    "hypot": Interval(Fraction(0), Fraction(1), Fraction(0)),
    "atan2": Interval(Fraction(1, 2**960), Fraction(1), Fraction(0)),
}
PARTS = {"hypot": {"rsqrt": 2}}
NORMAL, EXACT = pow2(-1022), pow2(-968)


class DoublePair(Homogeneous, Composed):
    def __init__(self, function: str, graph: Graph, low_end: Fraction, high_end: Fraction, choices: dict, piece: Pair):
        self.piece = piece
        self.opaque: dict[int, tuple[Fraction, Fraction]] = {}
        self.both = function == "atan2" and not piece.zero  # are at least SMALLEST
        self.larger = ball(SMALLEST[function] / (high_end if self.both else 1))
        Composed.__init__(self, graph, "f64", low_end, high_end, choices, parts=PARTS.get(function, {}))

    def op_input(self, args: list) -> Node:
        if args[0] == self.piece.zero:
            return self.constant(0)
        sign, v = self.piece.signs[args[0] == "second"], Node()
        if args[0] == self.piece.smaller and not self.piece.zero:
            v.model, v.grid = Model(arb_poly([self.centre, self.width])), None
            smallest = self.low
        else:
            v.model, smallest = Model.const(arb(1)), Fraction(1)
        v.model = v.model if sign > 0 else -v.model
        v.E, v.grid, v.scaled = ZERO, floor_log2(smallest) + 1 - BITS if smallest else None, 1
        return self.finish(v)

    def scale(self, v: Node) -> arb:
        """A lower bound of the numbers that the value stands for, in units of it."""
        return self.larger**v.scaled if v.scaled > 0 else pow2(512 * int(v.scaled))

    def round(self, v: Node, grid: int | None) -> Node:
        if not v.scaled:
            return Composed.round(self, v, grid)
        v.exact = exact = self.enclose(v)
        m = up(exact)
        lost = ZERO
        if self.graph.nodes[self.index][0] in ("mul", "mad", "nmad"):
            smallest = exact.lower() if exact > 0 else (-exact).lower() if exact < 0 else ZERO
            if not smallest * self.scale(v) > NORMAL:
                lost = up(pow2(-1075) / self.scale(v))
        if grid is not None and v.scaled > 0 and m * pow2(int(v.scaled)) <= pow2(grid + BITS):
            v.grid = grid
            if lost == 0:
                return self.finish(v)
            rho = lost
        else:
            rho = up(m * pow2(-BITS) + lost)
        relative = pow2(-BITS) * (1 + pow2(-BITS + 1)) if lost == 0 else None
        return self.off_by(v, rho, relative)

    def off_by(self, v: Node, rho: arb, relative: arb | None = None) -> Node:
        v = super().off_by(v, rho, relative)
        if v.scaled and v.scaled < 0:
            v.grid = None
        return v

    def op_sub(self, args: list) -> Node:
        return self.op_neg(args[1:]) if self.nodes[args[0]].const == 0 else super().op_sub(args)  # 0 - b: exact

    def smaller(self, args: list, want: int) -> Node:
        a, b = (self.nodes[k] for k in args)
        assert not (a.scaled and b.const) or b.const < SMALLEST["atan2"]
        return super().smaller(args, want)

    def integer(self, op: str, args: list) -> Node:
        a, b = (self.nodes[k].integer for k in args)
        first = self.nodes[a.node] if isinstance(a, Bits) else None
        if op == "isub" and first is not None and first.scaled == 1 and b == (1023 - 500) << 52:
            return self.number(Ratio(Fraction(2**19), Fraction(2**981)))  # an argument over 2^-500
        return super().integer(op, args)

    def without_degrees(self, operation: Callable, args: list, degree: int) -> Node:
        """An operation that knows no degrees: its relative errors are the same for every b, where its domain is right."""
        nodes = [self.nodes[k] for k in args]
        kept = [a.scaled for a in nodes]
        for a in nodes:
            a.scaled = False
        try:
            v = operation(args)
        finally:
            for a, scaled in zip(nodes, kept, strict=True):
                a.scaled = scaled
        if degree:
            v.scaled = degree
        if degree < 0:
            v.grid = None
        return v

    def op_quotient(self, args: list) -> Node:
        a, b = (self.nodes[k] for k in args)
        if a.const == 0:
            return self.constant(0)
        assert a.scaled == b.scaled == 1
        # A numerator that passes zero is 0 or a multiple of 2^grid; one that is an argument is at least SMALLEST.
        smallest = self.larger * (a.smallest if a.smallest > 0 or a.grid is None else pow2(a.grid))
        if self.both and self.argument(args[0]):
            smallest = ball(SMALLEST["atan2"])
        if not (smallest >= EXACT and pow2(-19) <= b.smallest and b.size <= pow2(19)):
            raise SplitBox
        return self.without_degrees(super().op_quotient, args, 0)

    def argument(self, k: int) -> bool:
        """Whether the value is an argument, or its negative."""
        v = self.nodes[k]
        if self.graph.nodes[k][0] == "input":
            return True
        if v.E != 0 or len(v.parts) != 1:
            return False
        ((of, slope),) = v.parts
        return slope.r == 0 and slope.p.coeffs() in ([1], [-1]) and self.argument(of)

    def op_rough_reciprocal(self, args: list) -> Node:
        (b,) = (self.nodes[k] for k in args)
        if not (b.scaled == 1 and pow2(-19) <= b.smallest and b.size <= pow2(19)):
            raise SplitBox
        return self.without_degrees(super().op_rough_reciprocal, args, -1)

    def op_rsqrt(self, args: list) -> Node:
        (a,) = (self.nodes[k] for k in args)
        if not (a.scaled == 2 and a.smallest * self.scale(a) >= pow2(-1000)):
            raise SplitBox
        return self.without_degrees(super().op_rsqrt, args, -1)

    def op_mul_err(self, args: list) -> Node:
        a, b, p = (self.nodes[k] for k in args)
        if p.const == 0 and 0 in (a.const, b.const):
            return self.constant(0)
        v = super().op_mul_err(args)
        product = self.graph.nodes[args[2]][0] == "mul"
        if product and p.scaled and v.const is None and not a.smallest * b.smallest * self.scale(p) >= EXACT:
            v = self.off_by(v, up(pow2(-1070) / self.scale(p)))
        return v


def analyse(kernel: Kernel, graph: Graph, low_end: Fraction, high_end: Fraction, choices: dict, piece: Pair) -> Analysis:
    ctx.prec, Model.order = PRECISION, ORDER
    return DoublePair(kernel.function, graph, low_end, high_end, choices, piece)


def measure(kernel: Kernel, analysis: DoublePair, function: Callable) -> tuple[arb, arb]:
    return composed.measure(kernel, analysis, function_of(analysis.piece, function))


def uses(graph: Graph, node: int) -> list[tuple[int, str, list]]:
    """The operations that have the node as an operand, those that are the error of a sum as they are written."""
    operations = [args[-2:] if op.endswith("two_sum_error") else (op, args) for op, args in graph.nodes]
    return [
        (k, op, args) for k, (op, args) in enumerate(operations) if op not in ("input", "const", "iconst") and node in args
    ]


def symmetric(graph: Graph, name: str) -> bool:
    """Whether the sign of the argument does not matter, or changes only those of hi and lo: it occurs in squares, as its size, and as a sign bit
    that is put to the results in the end."""
    node = graph.nodes.index(("input", [name]))
    signs = [node]
    for k, op, args in uses(graph, node):
        if op == "bits":
            signs.append(k)
        elif op != "abs" and not (op in ("mul", "mad", "mul_err") and args[:2] == [node, node] and node not in args[2:]):
            return False
    for k in signs[1:]:
        for sign, op, args in uses(graph, k):
            if op != "iand" or graph.nodes[args[1 - args.index(k)]] != ("iconst", [str(-(2**63))]):
                return False
            ends = [
                graph.nodes[end][0] == "from_bits" and end
                for m, kind, _ in uses(graph, sign)
                if kind == "ixor"
                for end, *_ in uses(graph, m)
            ]
            if len(uses(graph, sign)) != len(ends) or sorted(ends) != sorted((graph.outputs["hi"], graph.outputs["lo"])):
                return False
    return True


def all_pieces(kernel: Kernel) -> list[prove.Piece]:
    graph, one = parse(recorded(kernel.name), True), Fraction(1)
    choices = [(1,) if symmetric(graph, name) else (1, -1) for name in ("first", "second")]
    signs, smallest, pieces = list(itertools.product(*choices)), RATIOS[kernel.function].low, []
    for name, s in itertools.product(("first", "second"), signs):
        boxes = first_boxes(Interval(TINY, one, Fraction(0)))
        if kernel.function == "atan2" and name == "first" and s[1] > 0:  # small angles
            boxes += first_boxes(Interval(smallest, TINY, Fraction(0)))
        elif kernel.function == "atan2":  # beside a multiple of pi/2: boxes that the precision of the models tells from 0
            boxes += [(TINY / 2 ** (180 * i + 180), TINY / 2 ** (180 * i)) for i in range(5)]
        else:
            boxes.append((smallest, TINY))
        pieces += [Pair(*box, smaller=name, signs=s) for box in boxes]
    if kernel.function == "hypot":
        return pieces
    # The angle of 0 and a positive number is 0, exactly.
    zeros = [Pair(one, one, signs=s, zero=zero) for s in signs for zero in ("first", "second")]
    return pieces + [p for p in zeros if p.zero == "second" or p.signs[1] < 0]


def domain(kernel: Kernel) -> tuple[Interval, ...]:
    return (RATIOS[kernel.function],)
