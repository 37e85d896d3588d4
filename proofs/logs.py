"""The double-double logarithm for arguments of two parts, by itself, and the kernels that end with it.

dd_log_sum: log(xh + xl) as rm_log_dd_of gives it, xh normal, |xl| <= 2^-48 xh, for all xh below 2^1023 (from 2^1022 on |xl| <= 2^-120 xh). The
argument is 2^k M, M the box; m = xh 2^-k is M but for xl 2^-k, which the kernel scales by 2^-k, found from the bits of m and xh.
dd_log_near: log(1 + uh + ul) as rm_log_sum_dd gives it with k = 0 and the table's 1, |ul| <= 2^-53 |uh|, |uh| >= 2^-960.
In both the error is below err - 2^-53 (|lo| + err) - ROOM |hi|, err <= 2^-58 |hi| and |lo| is at most 2^-9 |hi|, near 1 (2^-50 + hi^2) |hi|.

dd_log_known: a kernel whose last step is rm_log_near_dd(xh, xl, uh, ul), its result halved or not, and whose err is the logarithm's and
a part of its own. The logarithm is of X = xh + xl, or where the table gives 1 (xh in NEAR), of 1 + U, U = uh + ul; the function is half or
all of log(1 + u), u as in ARGUMENTS. So hi + lo differs from the function by two errors. One is the logarithm's, for which its err stands, ROOM |hi|
and 2^-53 (|lo| + err) included. The other is |U - u|, or |X - 1 - u|, over the smaller of the two arguments. It is compared with the part of the
kernel's err that is not the logarithm's, together with ROOM |hi| (less the roundings of err, 2^-53 2^-58 |hi| each)."""

import re
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, arb_poly, ctx

from . import composed, prove
from .composed import PRECISION, Composed
from .engine import QUOTIENT, Analysis
from .graph import ROOT, Graph, Interval, Kernel, double_of
from .taylor import ONE, ZERO, Model, SplitBox, ball, exponent, low, pow2, taylor, up
from .values import BITS, Bits, Multiples, Node, OctaveBits

ORDER = 28  # of the models: roots over an octave
ROOM, ERR, LO = pow2(-88), pow2(-58), pow2(-9)
LOW_FAR, LOW_LOST, LOW_NEAR = pow2(-48), pow2(-120), pow2(-53)
NEAR = (Fraction(63, 64), Fraction(33, 32))  # xh for which the table gives 1: from the first on, below the second
SMALLEST_NEAR = Fraction(1, 2**960)
MAX_EXPONENT, MAX_LOST, MIN_EXPONENT = 1022, 1023, -1022  # exponents
SLACK = Fraction(1, 2**46)  # boxes are this much larger than the certified ones, as X is not xh


def share_of_lo(hi: arb, near: bool) -> arb:
    return pow2(-50) + hi * hi if near else LO


class Power:
    """The bits of 2^-k, or these less those of 1."""


@dataclass(frozen=True)
class Octave(prove.Piece):
    lost: bool = False


class WithLow(Analysis):
    """The argument's first part; `low` is the second."""

    def __init__(self, piece: Octave, *arguments):
        self.far, self.lost = piece.multiples is not None, getattr(piece, "lost", False)
        super().__init__(*arguments, piece.multiples)

    def op_input(self, args: list) -> Node:
        v = super().op_input(args)
        v.ends = None
        v.rho = v.E = up(v.size * (LOW_LOST if self.lost else LOW_FAR if self.far else LOW_NEAR) * (1 + pow2(-40)))
        self.finish(v)
        v.grid = exponent(v.smallest) - BITS
        return v

    def op_low(self, args: list) -> Node:
        if self.lost:
            return self.constant(0)
        whole, v = self.graph.nodes.index(("input", ["x"])), Node()
        v.model, v.E, v.parts = Model.const(ZERO), self.nodes[whole].rho, ((whole, Model.const(-ONE)),)
        return self.finish(v)

    def integer(self, op: str, args: list) -> Node:
        a, b = (self.nodes[k].integer for k in args)
        if op == "isub" and isinstance(a, Bits) and isinstance(b, OctaveBits) and a.offset == b.offset == 0:
            assert self.graph.nodes[a.node][0] == "from_bits" and self.nodes[a.node].parts[0][0] == b.node  # m and 2^k m
            return self.number(Power())
        if op == "iadd" and any(isinstance(v, Power) for v in (a, b)):
            assert 1023 << 52 in (a, b)
            return self.number(Power())
        return super().integer(op, args)

    def op_from_bits(self, args: list) -> Node:
        value = self.nodes[args[0]].integer
        return self.number(value) if isinstance(value, Power) else super().op_from_bits(args)

    def op_mul(self, args: list) -> Node:
        if any(isinstance(self.nodes[k].integer, Power) for k in args):
            (part,) = [k for k in args if self.graph.nodes[k][0] == "low"]
            v = self.same(part)
            return self.off_by(v, pow2(-1074)) if v.const is None else v
        return super().op_mul(args)


def rough_root(nodes: list, k: int) -> tuple[int, int, int] | None:
    """(s, r, v) if node k is r + r (1 - s r), r the rough inverse root of v."""
    op, args = nodes[k]
    if op == "add" and nodes[args[0]][0] == "mul":
        args = [*nodes[args[0]][1], args[1]]
    elif op != "mad":
        return None
    r, e, again = args
    if again != r or nodes[r][0] != "rough_rsqrt":
        return None
    op, args = nodes[e]
    if op == "sub" and nodes[args[1]][0] == "mul":
        args = [*nodes[args[1]][1], args[0]]
    elif op != "nmad":
        return None
    one = nodes[args[2]]
    return (args[0], r, nodes[r][1][0]) if args[1] == r and one[0] == "const" and float.fromhex(one[1][0]) == 1 else None


def needed(graph: Graph, smallest: Fraction) -> set[int]:
    """The nodes that the outputs depend on where the argument is at least this: beyond a constant that it is compared with, a selection leaves
    one of its operands out, in which numbers may be of any size."""
    found, stack = set(), list(graph.outputs.values())
    while stack:
        k = stack.pop()
        if k in found:
            continue
        found.add(k)
        op, args = graph.nodes[k]
        operands = [a for a in args if isinstance(a, int)]
        if op == "select" and graph.nodes[args[0]][0] == "lt":
            limit, other = (graph.nodes[a] for a in graph.nodes[args[0]][1])
            while other[0] == "abs":
                other = graph.nodes[other[1][0]]
            if limit[0] == "const" and other[0] == "input" and smallest > Fraction(float.fromhex(limit[1][0])):
                operands = args[:2]
        stack += operands
    return found


def at_most(nodes: list, b: int, a: int) -> bool:
    """Whether b <= a by the operations they come from, both being positive."""
    op, args = nodes[b]
    if b == a or nodes[a][0] == "max" and b in nodes[a][1] or op == "min" and a in args:
        return True
    if op == "max":
        return all(at_most(nodes, k, a) for k in args)
    return op == "sub" and args[0] == a and nodes[args[1]] == ("const", ["0x1p+0"])


class LogKnown(Composed):
    near = False

    def __init__(self, graph: Graph, fmt: str, smallest: Fraction, *arguments, parts: dict):
        self.needed = needed(graph, smallest)
        self.errors: set[int] = set()  # of sums, exactly
        self.deviation: dict[int, tuple[int, arb]] = {}  # of a value from the root of a node's computed value, relatively
        self.inverse_roots: set[int] = set()
        super().__init__(graph, fmt, smallest, *arguments, parts=parts)

    def step(self, op: str, args: list) -> Node:
        return super().step(op, args) if self.index in self.needed else Node()

    def op_mul(self, args: list) -> Node:
        """x^2 for 1 <= x < 2 is (1 + 2 d) + d^2, d = x - 1, and 1 + 2 d = 2 x - 1 is a number: it is rounded by d^2 at most.

        a b - A B = B (a - A) + a (b - B): one slope need not be taken over an interval, of a square and beside an inverse root."""
        v, (a, b) = super().op_mul(args), (self.nodes[k] for k in args)
        if args[0] == args[1] and a.ends is not None and a.E == 0 and v.rho != 0 and 1 <= a.ends[0] and a.ends[1] < 2:
            v.rho = v.E = min(v.rho, up(ball((a.ends[1] - 1) ** 2)))
        if len(v.parts) == 2 and (args[0] == args[1] or args[1] in self.inverse_roots):
            v.parts = ((args[0], self.plain(b)), (args[1], self.wide(a)))
        return v

    def op_mul_err(self, args: list) -> Node:
        v = super().op_mul_err(args)
        if args[0] == args[1] and len(v.parts) == 3:
            v.parts = ((args[0], self.plain(self.nodes[args[0]])), *v.parts[1:])
        return v

    def op_root(self, args: list) -> Node:
        self.deviation[self.index] = (args[0], QUOTIENT)
        return super().op_root(args)

    def op_sub(self, args: list) -> Node:
        """x - 1 rounds to x from 2^55 on: below it the numbers are 2 apart, or more."""
        a, b = (self.nodes[k] for k in args)
        if b.const == 1 and a.ends is not None and a.ends[0] >= 2**55:
            return self.same(args[0])
        return super().op_sub(args)

    def refined(self, s: int, r: int, k: int) -> Node:
        """r + r (1 - s r): with s = (1 + d)/R, r = R (1 + e), R = 1/sqrt(v), |e| <= 2^-27, it is R (1 - e^2 - d (1 + e)^2), and the roundings of
        s r (where it rounds) and of the sum are 2^-53 each, the others below 2^-78."""
        a, v = self.nodes[k], Node()
        inverse = self.wide(a).sqrt().inverse()
        of, d = self.deviation.get(s, (None, ZERO))
        if of != k:
            d = up((self.wide(self.nodes[s]) * inverse - Model.const(ONE)).sup())
        if not d < pow2(-30):
            raise SplitBox
        self.inverse_roots.add(self.index)
        slope = (inverse * inverse * inverse).scale(arb(-1) / 2)
        v.model, v.parts, v.E = self.plain(a).sqrt().inverse(), ((k, slope),), up(a.E * slope.sup())
        return self.off_by(v, up(inverse.sup() * (d * (1 + pow2(-25)) + pow2(-54) + pow2(-52) * (1 + pow2(-20)) + pow2(-78))))

    def op_mad(self, args: list) -> Node:
        found = rough_root(self.graph.nodes, self.index)
        return self.refined(*found) if found else super().op_mad(args)

    def op_add(self, args: list) -> Node:
        found = rough_root(self.graph.nodes, self.index)
        if found:
            return self.refined(*found)
        if not self.leaves(*args):
            return super().op_add(args)
        v = Node()
        v.model, v.E = self.nodes[args[0]].model + self.nodes[args[1]].model, ZERO
        return self.round(v, None)

    def leaves(self, q: int, rest: int) -> bool:
        """Whether q + rest is x^2 - 1 exactly, x being the argument: q = p - 1, p = RN(x^2), and rest the errors of the two."""
        nodes = self.graph.nodes
        (op, args), (kind, parts) = nodes[q], nodes[rest]
        if (
            op != "sub"
            or kind != "add"
            or self.nodes[args[1]].const != 1
            or self.nodes[q].rho != 0
            or self.nodes[rest].rho != 0
        ):
            return False
        (error, of), (residue, product), p = nodes[parts[0]], nodes[parts[1]], args[0]
        exact = error == "fast_two_sum_error" and of[:4] == [p, args[1], q, -1]
        square = residue == "mul_err" and product[0] == product[1] and product[2] == p and self.nodes[parts[1]].rho == 0
        return exact and square and nodes[p] == ("mul", product[:2]) and self.nodes[product[0]].E == 0

    def smaller(self, args: list, want: int) -> Node:
        """Of a root and a number that may be on either side of it, but is near: the root, moved by at most their distance."""
        for k, other in (args, args[::-1]):
            if k not in self.deviation:
                continue
            (of, by), root = self.deviation[k], self.nodes[k]
            away = self.difference(self.nodes[other], root) * want
            if self.order(*args) is None and away < pow2(-48) * root.smallest:
                largest = up(max(away.upper(), ZERO))
                self.deviation[self.index] = (of, up(by + largest / root.smallest * (1 + pow2(-40))))
                return self.off_by(self.same(k), largest)
        v = super().smaller(args, want)
        if v.parts[0][0] in self.deviation:
            self.deviation[self.index] = self.deviation[v.parts[0][0]]
        return v

    def op_fast_two_sum_error(self, args: list) -> Node:
        a, b, s, sigma, sign, d = args[:6]
        operands = [self.nodes[k] for k in (a, b, s)]
        if at_most(self.graph.nodes, b, a) and all(v.const is None and v.enclosure > 0 for v in operands):
            v = self.error_of_sum(a, b, s, sigma, sign)
            self.nodes[d].rho = ZERO
            return v
        return super().op_fast_two_sum_error(args)

    def error_of_sum(self, a: int, b: int, s: int, sigma: int, sign: int) -> Node:
        self.errors.add(self.index)
        return super().error_of_sum(a, b, s, sigma, sign)

    def is_error_of(self, k: int, s: int) -> bool:
        """Whether the node is what s leaves of a sum, exactly, so that it is at most 2^-53 |s|."""
        op, args = self.graph.nodes[k]
        return self.nodes[k].const == 0 or op == "fast_two_sum_error" and args[2] == s and k in self.errors

    def op_log_value(self, args: list) -> Node:
        xh, xl, uh, ul = args
        x, y = self.nodes[xh].enclosure, self.nodes[uh]
        inside = x >= ball(NEAR[0]) and x < ball(NEAR[1])
        outside = x < ball(NEAR[0]) or x >= ball(NEAR[1])
        self.near = bool(self.decide(True if inside else False if outside else None, (True, False)))
        if self.near:
            if not (self.is_error_of(ul, uh) and y.smallest >= ball(SMALLEST_NEAR)):
                raise SplitBox
            whole = 1 + y.enclosure + self.nodes[ul].enclosure
            value = (y.enclosure + self.nodes[ul].enclosure).log1p()
        else:
            first, second = self.nodes[xh], self.nodes[xl]
            share = LOW_FAR if first.size < pow2(MAX_EXPONENT) else LOW_LOST
            if not (first.enclosure >= pow2(-1022) and first.size < pow2(MAX_LOST) and second.size <= first.smallest * share):
                raise SplitBox
            whole = first.enclosure + second.enclosure
            value = whole.log()
        if not (value > 0 or value < 0):
            raise SplitBox
        self.smallest_argument, self.value = low(whole), value
        v = Node()
        v.model, v.E = Model(arb_poly([value.mid()]), up(value.rad())), ZERO
        return self.finish(v)

    def op_log_hi(self, args: list) -> Node:
        a, v = self.nodes[args[0]], Node()
        v.model, v.E = a.model.widened(up(a.size * 2 * share_of_lo(2 * a.size, self.near))), ZERO
        return self.finish(v)

    def op_log_lo(self, args: list) -> Node:
        v = Node()
        v.model, v.E = (
            Model(arb_poly([]), up(self.nodes[args[1]].size * share_of_lo(self.nodes[args[1]].size, self.near))),
            ZERO,
        )
        return self.finish(v)

    def op_log_err(self, args: list) -> Node:
        """What of it is left for others."""
        v, size = Node(), self.op_abs(args)
        v.model, v.E = size.model.scale(ROOM * (1 - pow2(-20))), ZERO
        return self.finish(v)


def halved(graph: Graph, name: str, op: str) -> bool:
    """Whether the output is half of this part of the logarithm; or it is the part itself."""
    kind, args = graph.nodes[graph.outputs[name]]
    if kind == op:
        return False
    parts = {graph.nodes[k][0]: graph.nodes[k][1] for k in args}
    assert kind == "mul" and parts["const"] == ["0x1p-1"] and op in parts
    return True


def root_of_square(x, sign):
    """sqrt(x^2 + sign)."""
    return (x * x + 1).sqrt() if sign > 0 else ((x - 1) * (x + 1)).sqrt()


# u, the function being log(1 + u), or half of it for atanh.
ARGUMENTS = {
    "log1p": lambda x: x,
    "atanh": lambda x: 2 * x / (1 - x),
    "asinh": lambda x: x + x * x / (1 + root_of_square(x, 1)),
    "acosh": lambda x: x - 1 + root_of_square(x, -1),
}
LARGE = Fraction(2) ** 80


def argument(kernel: Kernel, analysis: LogKnown) -> Model:
    """u. From 2^80 on asinh and acosh have 2 x - 1 +- 1/x."""
    if kernel.function in ("asinh", "acosh") and analysis.low >= LARGE:
        return Model(arb_poly([2 * analysis.centre - 1, 2 * analysis.width]), up(1 / ball(analysis.low)))
    try:
        return taylor(ARGUMENTS[kernel.function], analysis.centre, analysis.width)
    except ValueError:  # a denominator that may be 0
        raise SplitBox from None


def analyse(kernel: Kernel, graph: Graph, low_end: Fraction, high_end: Fraction, choices: dict, piece) -> Analysis:
    ctx.prec, Model.order = PRECISION, ORDER
    if kernel.kind == "dd_log_known":
        return LogKnown(graph, kernel.format, *composed.within(low_end, high_end), choices, parts={})
    return WithLow(piece, graph, kernel.format, low_end, high_end, choices)


def measure(kernel: Kernel, analysis, function) -> tuple[arb, arb]:
    return known(kernel, analysis) if kernel.kind == "dd_log_known" else by_itself(analysis, function)


def known(kernel: Kernel, analysis: LogKnown) -> tuple[arb, arb]:
    graph, u = analysis.graph, argument(kernel, analysis)
    half = halved(graph, "hi", "log_hi")
    assert half == halved(graph, "lo", "log_lo") == (kernel.function == "atanh")
    names = ("uh", "ul") if analysis.near else ("xh", "xl")
    parts = [analysis.output(name).model for name in names]
    off = parts[0] + parts[1] - u if analysis.near else parts[0] + parts[1] - Model.const(ONE) - u
    away = up(off.sup_pieces(4) + analysis.roundings({name: 1 for name in names}))
    smallest = analysis.smallest_argument - away  # of both arguments
    if not smallest > 0:
        raise SplitBox
    error = up(away / low(smallest) / (2 if half else 1))
    err = analysis.output("err")
    if not err.smallest > 0:
        raise SplitBox
    return up((error + err.size * pow2(-53)) / err.smallest), arb(0)


def by_itself(analysis: WithLow, function) -> tuple[arb, arb]:
    multiples, away, log2 = analysis.multiples, ZERO, arb(2).log()
    hi, lo, err = (analysis.output(k) for k in ("hi", "lo", "err"))
    f = taylor(function, analysis.centre, analysis.width)
    if multiples is not None:
        if multiples.first == multiples.last:
            f = f + Model.const(log2 * multiples.first)
        else:
            away = up((analysis.linear(hi.per_k, lo.per_k) - log2) * multiples.size())
    if not (
        err.smallest > 0
        and err.size <= ERR * hi.smallest
        and lo.size <= share_of_lo(hi.smallest, multiples is None) * hi.smallest
    ):
        raise SplitBox
    error = up((hi.model + lo.model - f).sup_pieces(4) + away + analysis.roundings({"hi": 1, "lo": 1}))
    return up((error + (lo.size + err.size) * pow2(-53) + hi.size * ROOM) / err.smallest), arb(0)


def all_pieces(kernel: Kernel) -> list[prove.Piece]:
    if kernel.kind == "dd_log_known":
        return composed.all_pieces(kernel)
    check_dd_ball()
    zero = Fraction(0)
    if kernel.kind == "dd_log_near":
        smallest = SMALLEST_NEAR / 2
        intervals = Interval(smallest, NEAR[1] - 1 + SLACK, zero), Interval(NEAR[0] - 1 - SLACK, -smallest, zero)
        return [prove.Piece(*box) for interval in intervals for box in prove.first_boxes(interval)]
    first, last = prove.OCTAVE - SLACK, 2 * prove.OCTAVE + SLACK
    none = Multiples(zero, 0, 0)
    pieces: list[prove.Piece] = [Octave(first, NEAR[0] + SLACK, none), Octave(NEAR[1] - SLACK, last, none)]
    ranges = [*prove.powers(MAX_EXPONENT), *((-b, -a) for a, b in prove.powers(-MIN_EXPONENT))]
    pieces += [Octave(first, last, Multiples(zero, *k)) for k in ranges]
    return [*pieces, Octave(first, last, Multiples(zero, MAX_EXPONENT + 1, MAX_EXPONENT + 1), lost=True)]


def check_dd_ball() -> None:
    """That NEAR is where m is xh and the table gives 1."""
    text = (ROOT / "crlibm/log/log_tables.h").read_text()
    offset = int(re.findall(r"RM_LOG_OFFSET INT64_C\((0x\w+)\)", text)[0], 16)
    (table,) = re.findall(r"rm_log_c\[16\] = \{(.*?)\}", text, re.S)
    one = [float.fromhex(v) for v in table.split(",")].index(1.0)
    assert prove.OCTAVE == Fraction(double_of(offset))
    assert NEAR == tuple(Fraction(double_of(offset + (k << 48))) for k in (one, one + 1))


def domain(kernel: Kernel) -> tuple[Interval, ...]:
    if kernel.kind == "dd_log_known":
        return kernel.domain
    zero = Fraction(0)
    if kernel.kind == "dd_log_near":
        return Interval(NEAR[0] - 1, -SMALLEST_NEAR, zero), Interval(SMALLEST_NEAR, NEAR[1] - 1, zero)
    return (Interval(Fraction(1, 2**1022), Fraction(2) ** 1023 * (1 - Fraction(1, 2**53)), zero),)
