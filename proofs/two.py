"""Kernels of two arguments.

hypot and atan2 are homogeneous: with b the size of the larger argument and rho b that of the other one, every value is a function of rho
times a power of b. A power of two changes nothing, so 1 <= b < 2, and the graph is analysed for b = 1 with its degrees kept
(Homogeneous): a rounding of a value of degree d is 2^-53 of it, or none where its grid shows that for every b. Arguments that are 0 are
pieces of their own, and signs too, but where the graph shows that they do not matter.
All of f32 is the domain: no value on the way comes near the ends of binary64's range, as products have at most two factors.

pow and logaddexp are compositions: a first kernel gives an argument within a relative error, its own bound, and the second one is analysed
for arguments with that error (Given)."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, arb_poly

from . import prove
from .engine import Analysis
from .graph import Graph, Interval, Kernel, bits_of, parse, recorded
from .prove import Piece, first_boxes
from .taylor import ZERO, Model, SplitBox, ball, exact, pow2, up
from .values import BITS, Bits, EmptyBox, Node, downwards, upwards

SIGNIFICAND = 24
# Of two positive f32 numbers, the smaller one over the larger one.
RATIOS = Interval(Fraction(1, 2**277), Fraction(1), Fraction(0))
# From 0 up to here one box is enough.
TINY = Fraction(1, 2**60)


def floor_log2(q: Fraction) -> int:
    e = q.numerator.bit_length() - q.denominator.bit_length()
    return e if Fraction(2) ** e <= q else e - 1


@dataclass(frozen=True)
class Pair(Piece):
    """A box of the ratio, which argument is the smaller one, and the signs; or one of the two is 0."""

    smaller: str = "first"
    signs: tuple[int, int] = (1, 1)
    zero: str = ""


@dataclass(frozen=True)
class Ratio:
    """The bits of a less those of b, plus an offset: a/b is between the two."""

    smallest: Fraction
    largest: Fraction


class Homogeneous(Analysis):
    """Node.scaled is the degree."""

    def __init__(self, graph: Graph, low_end: Fraction, high_end: Fraction, choices: dict, piece: Pair):
        self.piece = piece
        self.opaque: dict[int, tuple[Fraction, Fraction]] = {}  # numbers of which a range is known
        super().__init__(graph, "f32", low_end, high_end, choices)

    def op_input(self, args: list) -> Node:
        if args[0] == self.piece.zero:
            return self.constant(0)
        sign, v = self.piece.signs[args[0] == "second"], Node()
        if args[0] == self.piece.smaller and not self.piece.zero:
            v.model, smallest = Model(arb_poly([self.centre, self.width])), floor_log2(self.low) + 1
        else:
            v.model, smallest = Model.const(arb(1)), 1
        v.model = v.model if sign > 0 else -v.model
        # As 1 <= b, the number is at least 2^(smallest - 1), and has 24 bits.
        v.E, v.grid, v.scaled = ZERO, smallest - SIGNIFICAND, 1
        return self.finish(v)

    def scaling(self, v: Node, args: list, products: bool) -> None:
        degrees = [int(self.nodes[k].scaled) for k in args if self.nodes[k].const != 0]
        if products and len(degrees) > 1:
            degrees = [degrees[0] + degrees[1], *degrees[2:]]
        if len(set(degrees)) != 1:
            raise NotImplementedError("not homogeneous")
        v.scaled = degrees[0]

    def round(self, v: Node, grid: int | None) -> Node:
        if not v.scaled:
            return super().round(v, grid)
        v.exact = self.enclose(v)
        m = up(v.exact)
        if grid is not None and v.scaled > 0 and m * pow2(v.scaled) <= pow2(grid + BITS):
            v.grid = grid
            return self.finish(v)
        return self.off_by(v, up(m * pow2(-BITS)))

    def comparable(self, k: int, m: int) -> tuple[Node, Node]:
        a, b = self.nodes[k], self.nodes[m]
        if a.scaled != b.scaled and a.const != 0 and b.const != 0:
            raise NotImplementedError("a comparison of different degrees")
        return a, b

    def smaller(self, args: list, want: int) -> Node:
        k, m = args
        if k in self.opaque and self.nodes[m].const is not None:
            pick = min if want < 0 else max
            return self.between(*(pick(end, self.nodes[m].const) for end in self.opaque[k]))
        b = self.nodes[m].const
        if self.nodes[k].scaled == 1 and b is not None and 0 < b < Fraction(1, 2**400):
            # A positive f32 number, and a constant far below all of them.
            if not self.nodes[k].enclosure > 0:
                raise SplitBox
            return self.same(k if want > 0 else m)
        return super().smaller(args, want)

    def between(self, smallest: Fraction, largest: Fraction) -> Node:
        self.opaque[self.index] = (smallest, largest)
        return self.unknown(smallest, largest)

    def range_of(self, b: Bits) -> tuple[int, int]:
        """By the ends themselves: an enclosure is wider, and a clamped number would be outside its bounds."""
        if b.node not in self.opaque:
            return super().range_of(b)
        smallest, largest = self.opaque[b.node]
        first, last = bits_of(downwards(smallest)), bits_of(upwards(largest))
        if ("bits", b.node) in self.choices:
            part = self.choices["bits", b.node]
            first, last = max(first, part[0]), min(last, part[1])
        if first > last:
            raise EmptyBox
        return first, last

    def integer(self, op: str, args: list) -> Node:
        a, b = (self.nodes[k].integer for k in args)
        if op == "isub":
            first, second = (self.nodes[k.node] if isinstance(k, Bits) else None for k in (a, b))
            if first is not None and second is not None and first.scaled == second.scaled == 1:
                return self.number(self.ratio(first, second))
            if first is not None and first.scaled == 1 and isinstance(b, int) and b == (1023 - 500) << 52:
                return self.number(Ratio(Fraction(2**350), Fraction(2**630)))  # any f32 number, over 2^-500
            if a == 0 and second is not None and second.scaled == 1:
                # Less than the bits of 2^-60, negative or a NaN; min and max of a NaN and a number give the number.
                return self.number(Ratio(Fraction(-1), Fraction(1, 2**60)))
        if isinstance(a, Ratio):
            if op != "iadd" or b != 1023 << 52:
                raise NotImplementedError("bits of a ratio")
            return self.number(a)
        return super().integer(op, args)

    def ratio(self, a: Node, b: Node) -> Ratio:
        """With a = 2^p (1 + f) and b = 2^q (1 + g) the difference of the bits, plus those of 1, are those of r = 2^(p-q) (1 + f - g) for f >=
        g, else 2^(p-q-1) (2 + f - g). With a/b = 2^k c, 1 <= c < 2, that is 2^k (c + g (c - 1)), g <= 2/c - 1, resp. 2^k (c + (2 - c) (1 -
        g)/2), g >= 2/c - 1: both from 2^k c up to 2^k (3 - 2/c), which grows with a/b."""
        if not (a.enclosure > 0 and b.enclosure > 0):
            raise SplitBox
        quotient = a.enclosure / b.enclosure
        largest = exact(quotient.upper())
        power = Fraction(2) ** floor_log2(largest)
        return Ratio(exact(quotient.lower()), power * (3 - 2 * power / largest))

    def op_from_bits(self, args: list) -> Node:
        value = self.nodes[args[0]].integer
        return self.between(value.smallest, value.largest) if isinstance(value, Ratio) else super().op_from_bits(args)

    def op_reciprocal(self, args: list) -> Node:
        return self.with_degree(super().op_reciprocal, args, -1)

    def op_root(self, args: list) -> Node:
        return self.with_degree(super().op_root, args, Fraction(1, 2))

    def with_degree(self, operation: Callable, args: list, factor: Fraction | int) -> Node:
        """The word's domain, 2^-500 to 2^500 at least, has all values of degree 1 or 2 in it; b = 1 may be outside."""
        a = self.nodes[args[0]]
        v = operation(args)
        degree = a.scaled * factor
        assert degree == int(degree)
        v.scaled = int(degree)
        return v


class Given(Analysis):
    """A graph whose argument, a binary64 number, is within a relative error of x."""

    def __init__(self, graph: Graph, low_end: Fraction, high_end: Fraction, choices: dict):
        (name,) = graph.nodes[graph.outputs["given"]][1]
        self.relative = Fraction(float.fromhex(name))
        super().__init__(graph, "f64", low_end, high_end, choices)

    def op_input(self, args: list) -> Node:
        v = Node()
        v.model = Model(arb_poly([self.centre, self.width]))
        v.rho = v.E = up(ball(self.relative * max(abs(self.low), abs(self.high))))
        return self.finish(v)


def function_of(piece: Pair, function: Callable) -> Callable:
    """Of the ratio, for a larger argument of size 1; beside a 0 the other one is 1."""
    first, second = piece.signs
    if piece.zero:
        return lambda r: function(0 * r + (first if piece.zero == "second" else 0), second if piece.zero == "first" else 0)
    if piece.smaller == "first":
        return lambda r: function(first * r, second)
    return lambda r: function(first, second * r)


def symmetric(graph: Graph, name: str) -> bool:
    """Whether the sign of the argument changes nothing but the sign of the result."""
    node = next(k for k, (op, args) in enumerate(graph.nodes) if op == "input" and args == [name])
    uses = [(k, op, args) for k, (op, args) in enumerate(graph.nodes) if node in args]
    return all(
        op == "abs"
        or op in ("mul", "mad")
        and args[:2] == [node, node]
        and node not in args[2:]
        or op == "copysign"
        and args[0] != node
        and k == graph.outputs["y"]
        for k, op, args in uses
    )


# The parts of pow.
COMPOSED = {"pow_log": lambda x: x.log(), "pow_exp": lambda x: x.exp()}


def analyse(kernel: Kernel, graph: Graph, low_end: Fraction, high_end: Fraction, choices: dict, piece: Piece) -> Analysis:
    if isinstance(piece, Pair):
        return Homogeneous(graph, low_end, high_end, choices, piece)
    if "given" in graph.outputs:
        return Given(graph, low_end, high_end, choices)
    return prove.analyse(kernel, graph, low_end, high_end, choices, piece)


def measure(kernel: Kernel, analysis: Analysis, function: Callable) -> tuple[arb, arb]:
    if isinstance(analysis, Homogeneous):
        return prove.measure(kernel, analysis, function_of(analysis.piece, function))
    if kernel.kind == "tail":
        return prove.measure(kernel, analysis, lambda d: function(0, -d))
    return prove.measure(kernel, analysis, COMPOSED[kernel.kind])


def all_pieces(kernel: Kernel) -> list[Piece]:
    if kernel.kind == "eval_2":
        graph, one = parse(recorded(kernel.name), True), Fraction(1)
        choices = [(1,) if symmetric(graph, name) else (1, -1) for name in ("first", "second")]
        signs = list(itertools.product(*choices))
        pieces = [
            Pair(*box, smaller=name, signs=s) for box in first_boxes(RATIOS) for name in ("first", "second") for s in signs
        ]
        # The angle of 0 and a positive number is 0, exactly.
        zeros = [Pair(one, one, signs=s, zero=zero) for s in signs for zero in ("first", "second")]
        return pieces + [p for p in zeros if kernel.function != "atan2" or p.zero == "second" or p.signs[1] < 0]
    if kernel.kind == "pow_log":
        return prove.all_pieces(kernel)
    pieces = []
    for interval in kernel.domain:
        if interval.low > 0:
            pieces += [Piece(*box) for box in first_boxes(interval)]
        else:
            pieces += [Piece(interval.low, interval.high)]
    return pieces


def domain(kernel: Kernel) -> tuple[Interval, ...]:
    return (RATIOS,) if kernel.kind == "eval_2" else kernel.domain
