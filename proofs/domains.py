"""The arguments in f64 for which the double-double kernels are entered and that are in no proof's domain: python -m proofs.domains.
Kernels of which no argument is in one are left out: in the table of docs/evidence.md they have no figure.

A function's kernel is entered where rm_<f>_special does not say otherwise; that condition is read from the source's graph and evaluated between the
constants that it compares with. Left over are those arguments which are neither in the domain of a certificate, nor beyond a cut of cuts.py, nor at an edge of edges.py; single
numbers at which an evaluation of the graph shows the bound being left out. Kernels of |x| are proved for positive numbers."""

import functools
import itertools
import sys
from fractions import Fraction

from flint import ctx

from .cuts import LARGEST, clamped, functions, recorded_calls, value
from .edges import BEYOND, EDGES
from .graph import Graph, Kernel, bits_of, double_of, evaluate, kernels, parse, recorded
from .kinds import hook
from .prove import EXP_LIMIT, STEPS
from .taylor import ball
from .values import neighbour

Range = tuple[Fraction, Fraction]
TURNED = {"sin", "cos", "tan"}  # by the reduction of sin, of |x|
OF_MINUS = {"log_sigmoid": "softplus"}  # the other kernel called with -x, its parts negated
STARTED = {"erfinv", "ndtri"}  # their domains in x are those of the first approximation
NOT_DD = {"sqrt"}
KNOWN = {"input", "const", "iconst", "abs", "neg", "bits", "lt", "le", "ltu", "unord", "isub", "mnot", "mor", "mand"}


@functools.cache
def special_graphs() -> dict[str, Graph]:
    """rm_<f>_special for f64, of functions of one argument and gradients; not of those whose kernels in double-double have no certificate at all."""
    call = 'm = rm_{name}_special({x}, RM_F64), printf("out special #%d\\n", m.id);'
    proved_some = {
        kernel.function for kernel in kernels().values() if kernel.format == "f64" and kernel.kind.startswith("dd")
    }
    graphs = recorded_calls([name for name in functions() if name not in NOT_DD and name in proved_some], call)
    return {name: without_poles(parse(text, True)) for name, text in graphs.items()}


def without_poles(graph: Graph) -> Graph:
    """Equalities are those of tanpi's poles, single numbers up to which it is proved: here they count as entered, as x < x does."""
    nodes = [("lt", [0, 0]) if op == "eq" else (op, args) for op, args in graph.nodes]
    needed: set[int] = {0}
    stack = list(graph.outputs.values())
    while stack:
        k = stack.pop()
        needed.add(k)
        stack += [a for a in nodes[k][1] if isinstance(a, int) and a not in needed]
    return Graph([node if i in needed else ("const", ["0x0p+0"]) for i, node in enumerate(nodes)], graph.outputs)


def pieces(graph: Graph) -> list[Range]:
    """Between the constants and the numbers beside them the condition does not change."""
    assert {op for op, _ in graph.nodes} <= KNOWN, {op for op, _ in graph.nodes} - KNOWN
    ends = {Fraction(0), LARGEST}
    for op, arguments in graph.nodes:
        if op == "const" and (c := float.fromhex(arguments[0])) - c == 0:
            ends.add(abs(Fraction(c)))
    whole = [int(arguments[0]) for op, arguments in graph.nodes if op == "iconst"]
    for k in {*whole, *(a + b for a in whole for b in whole)}:
        ends |= {Fraction(double_of(b)) for b in (k - 1, k, k + 1) if 0 < b <= bits_of(float(LARGEST))}
    cuts = sorted(ends | {-c for c in ends})
    between = [(neighbour(a, "f64", 1), neighbour(b, "f64", -1)) for a, b in itertools.pairwise(cuts)]
    return sorted([(c, c) for c in cuts] + [piece for piece in between if piece[0] <= piece[1]])


def entered(graph: Graph) -> list[Range]:
    found: list[Range] = []
    for low, high in pieces(graph):
        special = {evaluate(graph, {"x": float(x), "g": 1.0, "other": 0.0})["special"] for x in (low, (low + high) / 2, high)}
        assert len(special) == 1
        if not special.pop():
            found.append((low, high))
    return found


def proved(name: str) -> list[Range]:
    """The domains of certificates, what is beyond the cuts of cuts.py, and the edges of edges.py."""
    found: list[Range] = []
    for kernel in kernels().values():
        if kernel.format != "f64" or kernel.kind == "row" or (kernel.kind == "start") != (name in STARTED):
            continue
        intervals = [(i.low, i.high) for i in hook(kernel.kind, "domain")(kernel)]
        if kernel.kind == "dd_steps":
            intervals += beyond(kernel)
        if kernel.name in BEYOND:
            intervals.append(BEYOND[kernel.name])
        if kernel.name == "sin_reduction_dd" if name in TURNED else kernel.function == name:
            found += intervals
        if kernel.function == OF_MINUS.get(name):
            found += [(-high, -low) for low, high in intervals]
    for cut in clamped():
        if cut.function == name and not cut.result.startswith("x"):  # a constant; the others are among the edges
            found.append((-cut.high, -cut.low) if cut.result.endswith("of -x") else (cut.low, cut.high))
    if all(low >= 0 for low, _ in found):  # where a kernel is not entered below 0, this adds nothing
        found += [(-high, -low) for low, high in found]
    for edge in EDGES:
        if edge.function == name:
            found += [(edge.low, edge.high), *([(-edge.high, -edge.low)] if edge.both else [])]
    return found


def beyond(kernel: Kernel) -> list[Range]:
    """The numbers beyond the end of the domain that the pieces of the proof hold too: up to a quarter of a step beyond it."""
    last = max(p.multiples.last for p in hook(kernel.kind, "all_pieces")(kernel))
    end = EXP_LIMIT[kernel.function] + STEPS[kernel.function][0] / 4
    assert end < (last + Fraction(1, 4)) * STEPS[kernel.function][0]  # so that k is at most `last`
    return [(-end, -EXP_LIMIT[kernel.function]), (EXP_LIMIT[kernel.function], end)]


def less(whole: list[Range], known: list[Range]) -> list[Range]:
    for a, b in known:
        left = []
        for low, high in whole:
            if high < a or b < low:
                left.append((low, high))
                continue
            if low < a:
                left.append((low, neighbour(a, "f64", -1)))
            if b < high:
                left.append((neighbour(b, "f64", 1), high))
        whole = left
    joined: list[Range] = []
    for low, high in sorted(whole):
        if joined and neighbour(joined[-1][1], "f64", 1) == low:
            joined[-1] = joined[-1][0], high
        else:
            joined.append((low, high))
    return joined


def holds_at(name: str, x: Fraction) -> bool:
    """Whether the kernel's operations, evaluated at a number with fused operations and without, are within its bound. Where that asks for more than
    single operations (a logarithm or exponential by its bound, a quotient by 0), it is not shown."""
    ctx.prec = 400
    if f"{name}_dd" not in kernels():
        return False
    for fma in (True, False):
        graph = parse(recorded(f"{name}_dd"), fma)
        if any(op.startswith(("exp_", "log_")) for op, _ in graph.nodes):
            return False
        try:
            out = evaluate(graph, {"x": float(x)})
        except (KeyError, ZeroDivisionError):
            return False
        if not abs(ball(Fraction(out["hi"]) + Fraction(out["lo"])) - value(name, ball(x))) <= ball(Fraction(out["err"])):
            return False
    return True


def left_over() -> dict[str, list[Range]]:
    found = {}
    for name, graph in special_graphs().items():
        ranges = less(entered(graph), proved(name))
        found[name] = [(low, high) for low, high in ranges if low != high or not holds_at(name, low)]
    return {name: ranges for name, ranges in found.items() if ranges}


def text(ranges: list[Range]) -> str:
    return ", ".join(f"{float(a):.6g}" if a == b else f"{float(a):.6g} to {float(b):.6g}" for a, b in ranges)


def main() -> int:
    for name, ranges in left_over().items():
        print(f"{name}: {text(ranges)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
