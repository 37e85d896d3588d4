"""dd_log_base: log2p1 and log10p1, whose parts are those of log1p times a constant (rm_log_product_dd).

h + l = log(1 + x) within e as log1p_dd is proved, 2^-53 (|l| + e) being in e, and e >= ROOM |h| (logs.py); 2^-53 |l| <= SHARE e (log_parts_dd, log1p_parts_dd).
What is computed, u = 2^-53, C + CL near the factor c, |CL| = k C:
    hi, p     h C exactly in two parts
    inner     RN(h CL + p), a product of its own without fused operations: u (u + 2 k) |h| C
    lo        RN(l C + inner): u |lo|, and without fused operations u |l| C; |lo| <= |l| C + 2.1 (u + k) |h| C
    left out  l CL and l (c - C - CL): 1.01 k |l| C; h (c - C - CL)
    test      u (|lo| + err), less what is in e for it, u |l| C
So the error is C (e + (2 u + 1.01 k) |l| + 8 u (u + k) |h| + 2 u e) + |h| |c - C - CL|, and what underflows is below 2^-1072, e above 2^-1050. err is e times a
constant D. That this is enough, and that the graph is that of log1p with these steps behind it, is checked here; there are no boxes."""

from fractions import Fraction

from flint import arb, ctx

from . import prove
from .graph import Graph, Kernel, kernels, parse, recorded
from .log_parts import SHARE
from .logs import ROOM
from .taylor import ball, pow2, up

U = pow2(-53)
FACTOR = {"log2p1": lambda: 1 / arb(2).log(), "log10p1": lambda: 1 / arb(10).log()}


def before(graph: Graph) -> list:
    """The nodes up to the logarithm."""
    (at,) = [i for i, (op, _) in enumerate(graph.nodes) if op == "log_value"]
    return graph.nodes[: at + 1]


def constants(name: str, graph: Graph) -> tuple[Fraction, Fraction, Fraction]:
    """C, CL and D."""
    own, nodes = before(graph), graph.nodes
    assert own in [before(parse(recorded("log1p_dd"), fma)) for fma in (True, False)]
    assert kernels()[name].domain == kernels()["log1p_dd"].domain
    value = len(own) - 1
    h = nodes.index(("log_hi", [value]))
    rest, e = nodes.index(("log_lo", [value, h])), nodes.index(("log_err", [h]))
    hi, lo, err = (graph.outputs[k] for k in ("hi", "lo", "err"))

    def constant(k: int) -> Fraction:
        assert nodes[k][0] == "const"
        return Fraction(float.fromhex(nodes[k][1][0]))

    def product_and_sum(k: int) -> list:
        op, args = nodes[k]
        if op == "mad":
            return args
        assert op == "add" and nodes[args[0]][0] == "mul"
        return [*nodes[args[0]][1], args[1]]

    op, (first, c) = nodes[hi]
    assert op == "mul" and first == h
    second, again, inner = product_and_sum(lo)
    assert (second, again) == (rest, c)
    first, low, p = product_and_sum(inner)
    assert first == h and nodes[p] == ("mul_err", [h, c, hi])
    op, (part, factor) = nodes[err]
    assert (op, part) == ("mul", e)
    return constant(c), constant(low), constant(factor)


def ratio(name: str, graph: Graph) -> arb:
    """What the bound has to be over what it is."""
    ctx.prec = 256
    c, low, factor = (ball(v) for v in constants(name, graph))
    k, away = abs(low) / c, abs(FACTOR[kernels()[name].function]() - c - low)
    of_l = (2 * U + k * 101 / 100) / U * ball(SHARE)  # |l| over e
    of_h = (8 * U * (U + k) + away / c) / ROOM
    return up(c * (1 + of_l + of_h + 2 * U + pow2(-20)) * (1 + pow2(-40)) / factor)


def prove_piece(kernel: Kernel, graph: Graph, piece: prove.Piece, close: float = prove.CLOSE) -> prove.Result:
    del close
    return prove.Result(ratio(kernel.name, graph), (float(piece.low), float(piece.high)), 1, arb(0))


def all_pieces(kernel: Kernel) -> list[prove.Piece]:
    return [prove.Piece(i.low, i.high) for i in kernel.domain]
