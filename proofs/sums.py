"""logaddexp in f64: big + log(1 + e^-d), for every big.

hi = RN(big + lh), lo = RN(t + ll), t the error of hi, exactly: at most u |hi|, u = 2^-53. lo rounds by u (u |hi| + |ll|), and lo + err of the
rounding test by as much again and u err. So with err = c |hi| + e the shares are 2 u^2 in c, and the error of lh + ll and 2 u |ll| in e, which are analysed
for d + dl in two parts (x is the real number d + dl; angles.py), exp by its bound. The roundings of err, and u err, are 2^-51 of it."""

from collections.abc import Callable
from fractions import Fraction

from flint import arb, arb_series, ctx

from . import composed, prove
from .angles import Angle
from .composed import ORDER, PRECISION
from .engine import Analysis
from .graph import Graph, Kernel
from .taylor import Model, SplitBox, ball, taylor, up
from .values import Node

U = Fraction(1, 2**53)
SLACK = 1 - 4 * U  # of what is rounded three times, and of the rounding of lo + err


def number(graph: Graph, k: int) -> Fraction:
    op, args = graph.nodes[k]
    assert op == "const"
    return Fraction(float.fromhex(args[0]))


def multiplied(graph: Graph, k: int) -> tuple:
    """(a, b, c) of a b + c, with one rounding or two."""
    op, args = graph.nodes[k]
    if op == "mad":
        return tuple(args)
    assert op == "add" and graph.nodes[args[0]][0] == "mul"
    return (*graph.nodes[args[0]][1], args[1])


def softplus(x: arb_series) -> arb_series:
    """log(1 + e^-x), its constant term with its accuracy relative to it."""
    t = (-x).exp()
    return arb_series([t.coeffs()[0].log1p(), *(1 + t).log().coeffs()[1:]], prec=x.prec)


class Tail(Angle):
    """The graph up to lh, ll and e, which are the outputs here."""

    def __init__(self, graph: Graph, *arguments):
        hi, lo, err = (graph.outputs[name] for name in ("hi", "lo", "err"))
        op, (big, lh) = graph.nodes[hi]
        assert op == "add" and graph.nodes[big] == ("input", ["big"])
        op, (left, ll) = graph.nodes[lo]
        assert op == "add" and graph.nodes[left][0] == "two_sum_error" and graph.nodes[left][1][:3] == [big, lh, hi]
        size, c, e = multiplied(graph, err)
        assert graph.nodes[size] == ("abs", [hi])
        self.share = 2 * U**2 / (number(graph, c) * SLACK)
        self.needed, stack = set(), [lh, ll, e]
        while stack:
            k = stack.pop()
            if k not in self.needed:
                self.needed.add(k)
                stack += [a for a in graph.nodes[k][1] if isinstance(a, int) and 0 <= a < k]
        assert big not in self.needed
        super().__init__(0, {}, Graph(graph.nodes, {"hi": lh, "lo": ll, "err": e}), *arguments)

    def step(self, op: str, args: list) -> Node:
        return super().step(op, args) if self.index in self.needed else Node()


def analyse(
    kernel: Kernel, graph: Graph, low_end: Fraction, high_end: Fraction, choices: dict, piece: prove.Piece
) -> Analysis:
    ctx.prec, Model.order = PRECISION, ORDER
    return Tail(graph, kernel.format, low_end, high_end, choices)


def measure(kernel: Kernel, analysis: Tail, function: Callable) -> tuple[arb, arb]:
    del function
    f = taylor(softplus, analysis.centre, analysis.width)
    hi, lo, err = (analysis.output(k) for k in ("hi", "lo", "err"))
    if not err.smallest > 0:
        raise SplitBox
    error = up((hi.model + lo.model - f).sup_pieces(4) + ball(2 * U / SLACK) * lo.size)
    share = up(error / err.smallest + analysis.roundings_over({"hi": 1, "lo": 1}, err)) / ball(SLACK)
    return max(up(share), up(ball(analysis.share))), arb(0)


all_pieces = composed.all_pieces
