"""expm1, sinh and cosh of large arguments, many multiples of the step at once: dd_scaled.

The kernels multiply by s = 2^(k/16) resp. 2^(k/16 - 1), k = 16 n + j. What is computed with s has the factor 2^n, which changes no operation,
so that the graph is analysed for n = 0, s being a table entry. Two operands have no such factor. expm1 adds -1, which over 2^n is a number
c = -2^-n: here it is a midpoint and an error, and the latter enters the result and the function, e^x + c, alike. sinh and cosh have
2^(-k/16 - 1) beside s; over 2^n this is between 0 and 2^-2n, of which nothing else is used, and what the functions are beside e^x/2 counts as
an error. Nothing overflows up to 670, and of all values only the product of 2^(-k/16 - 1) and a table entry may be subnormal: it is rounded
by 2^-1075, nothing against s."""

import itertools
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from . import prove
from .engine import Analysis
from .graph import Graph, Interval, Kernel
from .taylor import Model, SplitBox, ball, taylor, up
from .values import Node, Residue, grid_of, half_place

ONE = "one"  # what -2^-n is among the graph's outputs
EXACT = (16 * 53,)  # up to here 2^-n is a multiple of s's last place
FACTOR = {"expm1": Fraction(1), "sinh": Fraction(1, 2), "cosh": Fraction(1, 2)}  # of e^x


class Exponent(Residue):
    """sign k + offset, for all k of the residue."""

    def __init__(self, value: int, sign: int, offset: int):
        super().__init__(value)
        self.sign, self.offset = sign, offset


@dataclass(frozen=True)
class Scaled(prove.Piece):
    function: str = ""


def powers(piece: Scaled) -> tuple[Fraction, Fraction]:
    """2^-n of the last and the first k."""
    return Fraction(1, 2 ** (piece.multiples.last // 16)), Fraction(1, 2 ** (piece.multiples.first // 16))


class Scaling(Analysis):
    def __init__(self, piece: Scaled, *arguments):
        self.piece = piece
        super().__init__(*arguments, piece.multiples)

    def op_const(self, args: list) -> Node:
        """-2^-n counts as a number of which only the last place of the smallest is known, the same wherever it is used."""
        if self.piece.function != "expm1" or float.fromhex(args[0]) != -1:
            return super().op_const(args)
        uses = {op for op, operands in self.graph.nodes if self.index in operands}
        assert uses <= {"add", "sub", "fast_two_sum_error", "two_sum_error"}, uses
        smallest, largest = powers(self.piece)
        v = Node()
        v.model, v.grid = Model.const(ball(-(largest + smallest) / 2)), grid_of(smallest)
        v.rho = v.E = up(ball((largest - smallest) / 2))
        self.graph.outputs[ONE] = self.index
        return self.finish(v)

    def integer(self, op: str, args: list) -> Node:
        a, b = (self.nodes[k].integer for k in args)
        if op == "isub" and isinstance(a, Residue) and isinstance(b, int):
            return self.number(Exponent(a.value - b, 1, -b))
        if op == "isub" and isinstance(a, int) and isinstance(b, Residue):
            return self.number(Exponent(a - b.value, -1, a))
        return super().integer(op, args)

    def op_scale(self, args: list) -> Node:
        """2^(m/16), m being k, or sign k + offset."""
        m = self.nodes[args[0]].integer
        if not isinstance(m, Residue):
            raise NotImplementedError("a power of another number")
        if isinstance(m, Exponent) and m.sign < 0:
            # At most 2^(offset/16 - n), and over 2^n.
            return self.unknown(Fraction(0), powers(self.piece)[1] ** 2 * Fraction(2) ** -(-m.offset // 16))
        j = self.piece.multiples.residue + (m.offset if isinstance(m, Exponent) else 0)
        return self.constant(Fraction(float.fromhex(args[1 + (j & 15)])) * Fraction(2) ** (j >> 4))


def analyse(kernel: Kernel, graph: Graph, low_end: Fraction, high_end: Fraction, choices: dict, piece: Scaled) -> Analysis:
    return Scaling(piece, graph, kernel.format, low_end, high_end, choices)


def measure(kernel: Kernel, analysis: Scaling, function) -> tuple[arb, arb]:
    multiples, log2 = analysis.multiples, arb(2).log()
    hi, lo, err = (analysis.output(k) for k in ("hi", "lo", "err"))
    if not err.smallest > 0:
        raise SplitBox
    # e^(t + k step) = 2^(k/16) e^t, but for the distance of the step from ln2/16.
    factor = ball(FACTOR[kernel.function]) * (log2 * multiples.residue / 16).exp()
    f = taylor(lambda t: t.exp(), analysis.centre, analysis.width).scale(factor)
    away = up(f.sup() * up((ball(multiples.step) - log2 / 16) * multiples.size()).expm1())
    seeds = {"hi": 1, "lo": 1}
    if kernel.function == "expm1":
        f, seeds[ONE] = f + analysis.nodes[analysis.graph.outputs[ONE]].model, -1
    else:
        away = away + ball(powers(analysis.piece)[1] ** 2)
    error = up((hi.model + lo.model - f).sup_pieces(4) + away + analysis.roundings(seeds))
    return up((error + half_place(up(lo.size + err.size))) / err.smallest), arb(0)


def all_pieces(kernel: Kernel) -> list[prove.Piece]:
    """Every x of the domain as k step + t, as prove.step_pieces says."""
    step, c = prove.STEPS["exp"]
    (interval,) = kernel.domain
    half = step / 2 * (1 + Fraction(1, 2**20))
    first, last = int(interval.low / step) - 1, int(interval.high / step) + 1
    assert half * c - last * abs(step * c - 1) - Fraction(1, 2**36) > Fraction(1, 2)
    edges = [first, *(EXACT if kernel.function == "expm1" else ()), last + 1]
    pieces = []
    for (start, end), j in itertools.product(itertools.pairwise(edges), range(16)):
        multiples = prove.Multiples(step, start, end - 1, j)
        for ends in ((-half, Fraction(0)), (Fraction(0), half)):
            pieces.append(Scaled(*ends, multiples, function=kernel.function))
    return pieces


def domain(kernel: Kernel) -> tuple[Interval, ...]:
    return kernel.domain
