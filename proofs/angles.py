"""sin, cos and tan in f64: the reduction |x| = k pi/16 + r, r = rh + rl, and the functions of the reduced argument.

dd_turns: the reduction. x is t + k step for a step near pi/16, all k of a range at once, and the claim is that of rh + rl against
x - k pi/16: within k times the kernel's constant, less 2^-20 of it, and 2^-104 |rh|.

dd_angle: from rh and rl on, for every k modulo 16. The box is that of the real number R = rh + rl; rh is R but for half its last place,
and rl is what it leaves. What the reduction is off by relative to rh counts as an error of the result, the slope being at most that
of the bound; the rest of it, r_err, the kernel adds to its bound itself. cos is the sine for k + 8 (dd_angle_turned).

For tan the kernel adds r_err (1 + |q|)/|D|, q = tan and D = cos of the argument, and (1 + |q|)/|D| >= 1 + q^2, the slope. Where r_err is at most
2^-50 of the distance from the zero or pole of tan nearby, the reciprocal's 2^-27 and the growth of the slope within r_err are in the 2^-20 that
the reduction's proof leaves. Where it is more, err is more than 2^-51 of the result, and nothing is decided."""

import itertools
import math
import re
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, ctx

from . import prove
from .composed import ORDER, PRECISION, Composed
from .engine import Analysis
from .graph import ROOT, Graph, Kernel
from .taylor import ONE, ZERO, Model, SplitBox, exact, exponent, pow2, taylor, up
from .trig import nearest_multiple
from .values import BITS, MIN_EXPONENT, Multiples, Node, half_place

RELATIVE = pow2(-104)  # of rh: record.c has the same
SMALLEST = Fraction(1, 2**960)
NEAREST = Fraction(1, 2**61)  # to a multiple of pi/2, of the numbers up to RM_SIN_DD_FAR


def constants() -> dict[str, Fraction]:
    text = (ROOT / "crlibm/sin/sin_tables.h").read_text() + (ROOT / "crlibm/sin/sin_dd.h").read_text()
    found = re.findall(r"^#define (RM_SIN_(?:INV_STEP|STEP|STEP_\w+|DD_MAX|DD_FAR)) (-?0x\S+|[\d.]+)", text, re.M)
    return {name: Fraction(float.fromhex(v) if "0x" in v else float(v)) for name, v in found}


def sixteenth(bits: int = 400) -> Fraction:
    """pi/16, off by less than 2^-bits."""
    before, ctx.prec = ctx.prec, bits + 64
    value = exact(arb.pi().mid()) / 16
    ctx.prec = before
    return value


# The k, modulo 16, at whose multiples the function is 0 or has a pole.
POLES = {"sin": (0,), "cos": (8,), "tan": (0, 8)}
STEP, HALF = sixteenth(), sixteenth() / 2 * (1 + Fraction(1, 2**11))


@dataclass(frozen=True)
class Turn(prove.Piece):
    turn: int = 0


class Angle(Composed):
    def __init__(self, turn: int, parts: dict[str, int], *arguments):
        self.turn = turn
        super().__init__(*arguments, parts=parts)

    def op_turn(self, args: list) -> Node:
        return self.number(self.turn)

    def op_input(self, args: list) -> Node:
        if args[0] == "low":
            whole = self.graph.nodes.index(("input", ["x"]))
            v = Node()
            v.model, v.E, v.grid, v.parts = (
                Model.const(ZERO),
                self.nodes[whole].rho,
                MIN_EXPONENT,
                ((whole, Model.const(-ONE)),),
            )
            return self.finish(v)
        v = super().op_input(args)
        v.ends = None
        v.rho = v.E = half_place(v.size)
        self.finish(v)
        v.grid = max(exponent(v.smallest) - BITS, MIN_EXPONENT) if v.smallest > 0 else MIN_EXPONENT
        return v


class Reduction(Analysis):
    def multiple(self, v: Node, magic: Fraction) -> Node:
        z = super().multiple(v, magic)
        if self.multiples.first == self.multiples.last == 0:
            constant = self.constant(magic)
            constant.integer = z.integer
            return constant
        return z


def analyse(kernel: Kernel, graph: Graph, low_end: Fraction, high_end: Fraction, choices: dict, piece) -> Analysis:
    ctx.prec, Model.order = PRECISION, ORDER
    if isinstance(piece, Turn):
        parts = {"rough_reciprocal": 4 if piece.turn == 0 else 2}
        return Angle(piece.turn, parts, graph, kernel.format, low_end, high_end, choices)
    return Reduction(graph, kernel.format, low_end, high_end, choices, piece.multiples)


def of_angle(function: str, turn: int):
    """The kernel's function of s = r; for cos the sine, whose sign the kernel changes for k from 16 on."""
    if function == "cos":
        return of_angle("sin", (turn + 8) % 16)
    return lambda s: getattr(s + arb.pi() * turn / 16, function)() if turn else getattr(s, function)()


def measure(kernel: Kernel, analysis: Analysis, function) -> tuple[arb, arb]:
    hi, lo, err = (analysis.output(k) for k in ("hi", "lo", "err"))
    if not err.smallest > 0:
        raise SplitBox
    if not isinstance(analysis, Angle):
        t = taylor(lambda s: s, analysis.centre, analysis.width)
        at = analysis.multiples
        # x - k pi/16 = t, but for the bits of pi/16 beyond STEP.
        away = up((analysis.linear(hi.per_k, lo.per_k) or ZERO) * at.size()) + pow2(-390) * at.size()
        error = up((hi.model + lo.model - t).sup() + away + analysis.roundings({"hi": 1, "lo": 1}))
        return up(error / err.smallest), arb(0)
    f = taylor(of_angle(kernel.function, analysis.turn), analysis.centre, analysis.width)
    error = (hi.model + lo.model - f).sup_pieces(4)
    slope = ONE if kernel.function != "tan" else up(1 + f.enclosure() ** 2)
    reduced = analysis.nodes[analysis.graph.nodes.index(("input", ["x"]))].size
    error = up(error + half_place(up(lo.size + err.size)) + slope * reduced * RELATIVE)
    return up(error / err.smallest + analysis.roundings_over({"hi": 1, "lo": 1}, err)), arb(0)


def turns(kernel: Kernel) -> list[prove.Piece]:
    """x = t + k pi/16: the kernel's k is the integer nearest to x times a constant c, up to the rounding of the product and the sum."""
    value = constants()
    c = value["RM_SIN_INV_STEP"]
    far = kernel.kind == "dd_turns_far"
    largest = value["RM_SIN_DD_FAR" if far else "RM_SIN_DD_MAX"]
    first = math.floor(value["RM_SIN_DD_MAX"] / STEP) - 1 if far else 1
    last = math.ceil(largest / STEP) + 1
    # |x c - k| <= 1/2 + x c 2^-52, so that |t| is at most this.
    assert abs(c * STEP - 1) * last + last * Fraction(1, 2**52) < Fraction(1, 2**11) / 2
    edges = [first]
    while edges[-1] <= last:
        edges.append(min(max(edges[-1] + 1, edges[-1] * 3 // 2), last + 1) if edges[-1] < last else last + 1)
    cuts = [HALF / 2**i for i in range(16)]
    boxes = [*itertools.pairwise(cuts), (cuts[-1], Fraction(0))]
    pieces = []
    for a, b in itertools.pairwise(edges):
        multiples = Multiples(STEP, a, b - 1)
        pieces += [prove.Piece(*sorted((sign * p, sign * q)), multiples) for p, q in boxes for sign in (1, -1)]
    if not far:
        none = Multiples(STEP, 0, 0)
        pieces += [prove.Piece(HALF / 2 ** (i + 1), HALF / 2**i, none) for i in range(956)]
    return pieces


def all_pieces(kernel: Kernel) -> list[prove.Piece]:
    if kernel.kind.startswith("dd_turns"):
        return turns(kernel)
    # No multiple of pi/2 but 0 is nearer to a number.
    far = int(constants()["RM_SIN_DD_FAR"]).bit_length()
    assert all(nearest_multiple(exponent, 53) > NEAREST for exponent in range(-56, far - 52))
    pieces = []
    for turn in range(16):
        if turn in POLES[kernel.function]:
            boxes = octaves(NEAREST, HALF)
        else:
            boxes = [(Fraction(0), HALF)]
        pieces += [Turn(*sorted((sign * p, sign * q)), turn=turn) for p, q in boxes for sign in (1, -1)]
    return pieces + [Turn(*box) for box in octaves(SMALLEST, NEAREST)]


def octaves(low_end: Fraction, high_end: Fraction) -> list[tuple[Fraction, Fraction]]:
    cuts = [high_end]
    while cuts[-1] > low_end:
        cuts.append(max(cuts[-1] / 2, low_end))
    return [(q, p) for p, q in itertools.pairwise(cuts)]


def domain(kernel: Kernel) -> tuple[prove.Interval, ...]:
    value = constants()
    if kernel.kind == "dd_turns":
        return (prove.Interval(SMALLEST, value["RM_SIN_DD_MAX"], Fraction(0)),)
    if kernel.kind == "dd_turns_far":
        return (prove.Interval(value["RM_SIN_DD_MAX"], value["RM_SIN_DD_FAR"], Fraction(0)),)
    return prove.Interval(SMALLEST, HALF, Fraction(0)), prove.Interval(-HALF, -SMALLEST, Fraction(0))
