"""sinpi, cospi and tanpi: half_turn (f32) and dd_half_turn (f64).

|x| = k unit + t, exactly: the kernel adds a large constant M whose last place is the unit, takes it away again and subtracts that from |x|. M is
3/2 of 2^52 units, and |x| at most 2^52 units/4, so that the sum is below 2^53 units: it is rounded to the nearest multiple, of ties to either. So
|t| <= unit/2, and the difference is exact, by Sterbenz's lemma where k is not 0. This is checked of the graph (Rest), and from t on it is analysed
for every k that makes a difference: what comes of k are the last bits of the sum, those of k, as M has zeros there.

The numbers of the format from unit/2 on are multiples of the last place of unit/2, and so is t where k is not 0; only t = x may be smaller. Where a
result is 0 or infinite at t = 0, boxes of other k end at that place: t = 0 itself gives 0 exactly (checked by evaluation: zeros) or is a pole, which the
kernel is not entered for. Of cospi in f32 that holds for |t| = 1/2.

Tables take four bits of k. In double-double the fifth one reaches the signs alone, so that of the second sixteen k one box each is analysed."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, arb_poly, ctx

from . import composed, prove
from .angles import octaves
from .composed import Composed
from .graph import PRECISION, Graph, Kernel, bits_of, evaluate, parse, recorded
from .taylor import ZERO, Model
from .values import Node, grid_of

UNIT = {"sinpi": Fraction(1), "cospi": Fraction(1), "tanpi": Fraction(1, 2)}
DD_UNIT = Fraction(1, 16)
COUNT = {"sinpi": 2, "cospi": 2, "tanpi": 4}
TOP = -(2**63)


@dataclass(frozen=True)
class Turn(prove.Piece):
    k: int = 0


def unit_of(kernel: Kernel) -> Fraction:
    return DD_UNIT if kernel.format == "f64" else UNIT[kernel.function]


class Rest:
    """The nodes of a graph up to t: the argument, its size, the sum z, that less the constant, and t."""

    def __init__(self, kernel: Kernel, graph: Graph):
        nodes = graph.nodes
        self.x = nodes.index(("input", ["x"]))
        self.size = nodes.index(("abs", [self.x]))
        magic = Fraction(3, 2) * 2**52 * unit_of(kernel)
        (constant,) = [i for i, (op, args) in enumerate(nodes) if op == "const" and float.fromhex(args[0]) == magic]
        self.z = nodes.index(("add", [self.size, constant]))
        self.whole = nodes.index(("sub", [self.z, constant]))
        plain = [
            (op, args) if "error" not in op else tuple(args[-2:]) for op, args in nodes
        ]  # t has the shape of a sum's error
        self.t = plain.index(("sub", [self.size, self.whole]))
        self.bits = nodes.index(("bits", [self.z]))
        self.before = {self.size, self.z, self.whole}
        assert bits_of(float(magic)) % 2**32 == 0
        assert all(0 <= i.low and i.high <= 2**50 * unit_of(kernel) for i in kernel.domain)
        # What else uses these is the sign of x.
        for i, (op, args) in enumerate(nodes):
            operands = [*args[:3], *args[-1]] if "error" in op else args
            used = {a for a in operands if type(a) is int} & (self.before | {self.x})
            assert not used or i in (*self.before, self.t, self.bits) or op in ("bits", "copysign") and used == {self.x}


class FromRest(Composed):
    """The graph from t on, for one k and x > 0."""

    def __init__(self, kernel: Kernel, graph: Graph, k: int, *arguments, parts: dict[str, int]):
        self.rest, self.k = Rest(kernel, graph), k
        super().__init__(graph, *arguments, parts=parts)

    def step(self, op: str, args: list) -> Node:
        rest = self.rest
        if self.index == rest.x or self.index in rest.before:
            return Node()
        if self.index == rest.bits:
            return self.number(self.k)
        if op == "bits" and args[0] == rest.x:
            return self.number(0)
        if op == "copysign" and args[1] == rest.x:  # of a zero
            assert self.nodes[args[0]].const == 0
            return self.constant(0)
        if self.index != rest.t:
            return super().step(op, args)
        v = Node()
        v.model, v.E, v.ends = Model(arb_poly([self.centre, self.width])), ZERO, (self.low, self.high)
        bits, lowest = PRECISION[self.format]
        smallest = min(abs(self.low), abs(self.high)) if self.low * self.high > 0 else Fraction(0)
        self.finish(v)
        if smallest:
            power = grid_of(Fraction(2) ** (smallest.numerator.bit_length() - smallest.denominator.bit_length()))
            power -= Fraction(2) ** power > smallest
            v.grid = max(power - bits + 1, lowest)
        else:
            v.grid = lowest
        return v

    def op_neg(self, args: list) -> Node:
        return self.constant(0) if self.nodes[args[0]].const == 0 else super().op_neg(args)


def value(function: str, k: int, unit: Fraction) -> Callable:
    """The function of t, at k units and t."""
    turn = k * unit  # in half-turns
    if function == "cospi" and unit != 1:
        return value("sinpi", k + 8, unit)
    sign = -1 if function != "tanpi" and turn % 2 >= 1 else 1
    part, pi = turn % 1, arb.pi()
    if function == "cospi":
        return lambda t: sign * (pi * (arb(1) / 2 - (t if t.coeffs()[0].mid() > 0 else -t))).sin()
    if function == "tanpi" and part == Fraction(1, 2):
        return lambda t: -(pi * t).cos() / (pi * t).sin()
    name = "sin" if function == "sinpi" else "tan"
    away = pi * part.numerator / part.denominator
    return lambda t: sign * getattr(pi * t + away if part else pi * t, name)()


def analyse(kernel: Kernel, graph: Graph, low_end: Fraction, high_end: Fraction, choices: dict, piece: Turn) -> FromRest:
    parts = {}
    if kernel.format == "f64":
        ctx.prec, Model.order = composed.PRECISION, composed.ORDER
        parts = {"rough_reciprocal": 4 if piece.k == 0 else 2}
    return FromRest(kernel, graph, piece.k, kernel.format, low_end, high_end, choices, parts=parts)


def measure(kernel: Kernel, analysis: FromRest, function) -> tuple[arb, arb]:
    del function
    f = value(kernel.function, analysis.k, unit_of(kernel))
    return (composed if kernel.format == "f64" else prove).measure(kernel, analysis, f)


def zeros(kernel: Kernel) -> None:
    """Where t = 0 gives a zero, hi and lo are 0."""
    if kernel.format != "f64":
        return
    for fma in (True, False):
        graph = parse(recorded(kernel.name), fma)
        at = {"sinpi": (1, 2, 3, 2.0**46), "cospi": (0.5, 1.5, 2.5), "tanpi": (1, 2, 3, 2.0**46)}[kernel.function]
        for x in at:
            out = evaluate(graph, {"x": float(x)})
            assert out["hi"] == 0 == out["lo"], (kernel.name, x)


def all_pieces(kernel: Kernel) -> list[prove.Piece]:
    zeros(kernel)
    unit, (bits, _), (interval,) = unit_of(kernel), PRECISION[kernel.format], kernel.domain
    half, place = unit / 2, unit / 2 / 2 ** (bits - 1)
    count = 16 if kernel.format == "f64" else COUNT[kernel.function]
    pieces: list[prove.Piece] = []

    def add(k: int, boxes: list[tuple[Fraction, Fraction]], negative: bool) -> None:
        pieces.extend(Turn(*((-q, -p) if negative else (p, q)), k=k) for p, q in boxes)

    for k in range(count):
        for negative in (False, True):
            if kernel.function == "cospi" and kernel.format == "f32":  # towards 1/2, by octaves of the distance from it
                add(k, [(Fraction(0), Fraction(1, 4))], negative)
                add(k, [(half - q, half - p) for p, q in octaves(place, Fraction(1, 4))], negative)
            elif k * unit % 1 == 0 and kernel.function != "cospi":
                whole = k == 0 and not negative
                add(k, octaves(interval.low if whole else place, half), negative)
            elif k * unit % 1 == Fraction(1, 2) and kernel.function != "sinpi":
                add(k, octaves(place, half), negative)
            else:
                add(k, [(Fraction(0), half)], negative)
    if kernel.format == "f64":
        pieces += [Turn(half / 2, half, k=k) for k in range(16, 32)]
    return pieces
