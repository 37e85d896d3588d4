"""dd_log_ndtr: log_ndtr, -(q + ql) + (lh + ll), the logarithm by its bound (logs.py), the exponential by its own (computed.py).

q + ql = x^2/2 exactly for x < 0, else both are 0 (what underflows is far below the parts of the bound). The logarithm is of X = xh + xl, W/2 resp. 1 - v, or where
the table gives 1 of 1 + U, U = -v; what these are off by over the smaller of the two arguments is compared with the part of the bound for it, `part`. The
rest of the bound is 1.25 e + 2^-104 |sum|, e the logarithm's. With u = 2^-53: of e, u (|ll| + e) is left for the rounding test, and ROOM |lh|; u |ll| <= SHARE e
(log_parts_dd). ll - ql rounds by u (|ll| + |ql|), the sum with low by u (|low| + |ll| + |ql|), as does lo + err, so that with what is left
    e + 2 u |ll| + u (2 |low| + 3 |ql|) + 3 u err,
|low| <= u |sum|, |ql| <= u q: the bound has room for all but u^2 (q + |sum|), which is compared with what is left of e."""

from fractions import Fraction

from flint import arb, ctx

from . import computed
from .composed import PRECISION, within
from .computed import ORDER, Computed
from .definitions import DEFINITIONS
from .graph import Graph, Kernel
from .log_parts import SHARE
from .logs import ROOM, LogKnown
from .taylor import Model, SplitBox, ball, low, pow2, taylor, up


def part_of(graph: Graph) -> int:
    """The part of the bound for the argument; that the graph ends as said, with q of all of x."""
    nodes = graph.nodes
    hi, lo, err = (graph.outputs[k] for k in ("hi", "lo", "err"))
    (value,) = [i for i, (op, _) in enumerate(nodes) if op == "log_value"]
    lh = nodes.index(("log_hi", [value]))
    ll, e = nodes.index(("log_lo", [value, lh])), nodes.index(("log_err", [lh]))
    op, (negated, added) = nodes[hi]
    assert (op, added, nodes[negated][0]) == ("add", lh, "neg")
    op, (rest, other) = nodes[lo]
    assert op == "add" and nodes[rest][0] == "two_sum_error" and nodes[rest][1][:3] == [negated, lh, hi]
    op, (first, ql) = nodes[other]
    assert (op, first) == ("sub", ll)
    negative, q, zero = nodes[nodes[negated][1][0]][1]
    again, square, nothing = nodes[ql][1]
    assert negative == again and zero == nothing and nodes[zero] == ("const", ["0x0p+0"])
    m, a = nodes[q][1]
    assert nodes[square] == ("mul_err", [m, a, q]) and nodes[q][0] == nodes[m][0] == "mul" and nodes[m][1][0] == a
    assert nodes[nodes[m][1][1]] == ("const", ["0x1p-1"]) and nodes[a][0] == "min"

    def last(k: int, factor: str) -> int:
        """c of the sum of a product with the factor and c."""
        op, args = nodes[k]
        if op == "add":
            args = [*nodes[args[0]][1], args[1]]
        assert nodes[args[1]] == ("const", [factor])
        return args[2]

    inner = last(err, "0x1p-104")
    part = last(inner, "0x1.4p+0")
    op, args = nodes[inner]
    assert e in (args if op == "mad" else nodes[args[0]][1])
    return part


def not_clipped(graph: Graph) -> Fraction:
    """Up to which size of x < 0 q is of x: a is the smaller of that and |x|."""
    nodes = graph.nodes
    negated = nodes[graph.outputs["hi"]][1][0]
    a = nodes[nodes[nodes[nodes[negated][1][0]][1][1]][1][1]][1]
    (limit,) = [args[0] for op, args in (nodes[k] for k in a) if op == "const"]
    assert ("abs", [nodes.index(("input", ["x"]))]) in [nodes[k] for k in a]
    return Fraction(float.fromhex(limit))


class LogNdtr(LogKnown, Computed):
    def is_error_of(self, k: int, s: int) -> bool:
        """Through a selection and a change of sign of both."""
        nodes = self.graph.nodes
        while nodes[k][0] == nodes[s][0] in ("select", "neg"):
            if nodes[k][0] == "select":
                assert nodes[k][1][0] == nodes[s][1][0]
                at = 1 if self.nodes[nodes[k][1][0]].const else 2
            else:
                at = 0
            k, s = nodes[k][1][at], nodes[s][1][at]
        return super().is_error_of(k, s)


def analyse(kernel: Kernel, graph: Graph, low_end: Fraction, high_end: Fraction, choices: dict, piece) -> LogNdtr:
    ctx.prec, Model.order = PRECISION, ORDER
    part = part_of(graph)
    assert not_clipped(graph) >= -kernel.domain[0].low
    graph = Graph(graph.nodes, {**graph.outputs, "part": part})
    return LogNdtr(graph, kernel.format, *within(low_end, high_end), choices, parts={})


def argument(analysis: LogNdtr):
    if analysis.high <= 0 and not analysis.near:
        return lambda x: DEFINITIONS["erfcx"](-x / arb(2).sqrt()) / 2
    if analysis.near:
        return lambda x: -DEFINITIONS["ndtr"](-x)
    return lambda x: 1 - DEFINITIONS["ndtr"](-x)


def measure(kernel: Kernel, analysis: LogNdtr, function) -> tuple[arb, arb]:
    del function
    if analysis.low < 0 < analysis.high:
        raise SplitBox((Fraction(-1, 2**1074), Fraction(0)))
    names, part = ("uh", "ul") if analysis.near else ("xh", "xl"), analysis.output("part")
    parts = [analysis.output(name).model for name in names]
    if not part.smallest > 0:
        raise SplitBox
    f = taylor(argument(analysis), analysis.centre, analysis.width)
    off = up((parts[0] + parts[1] - f).sup_pieces(4) / part.smallest)
    off = up(off + analysis.roundings_over({name: 1 for name in names}, part))
    away = up(off * part.size)
    smallest = low(arb(analysis.smallest_argument) - away)
    if not smallest > 0:
        raise SplitBox
    largest = up(ball(analysis.high) ** 2 if analysis.high > -analysis.low else ball(analysis.low) ** 2) / 2
    logarithm = low(analysis.value)
    q = largest if analysis.high <= 0 else arb(0)
    assert 1 + 2 * SHARE + Fraction(1, 2**20) < Fraction(5, 4)
    if not pow2(-106) * (2 * q + up(analysis.value)) * 2 < ROOM * logarithm / 2:
        raise SplitBox
    return up(off / smallest * (1 + pow2(-40))), arb(0)


all_pieces = computed.all_pieces
