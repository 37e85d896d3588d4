"""Double-double kernels that are composed of others, or divide: what the engine needs to know beside single operations.

exp: where kernels.def asks for it (RM_PROOF_DD_COMPOSED), a call of rm_exp_sum_dd is recorded as a value e^(x + xl) (1 + d), |d| within
the bound that the certificate exp_sum_dd holds, and two parts hi + lo that are this value exactly, |lo| <= 2^-19 |hi|. A sum of just
these two parts is a rounding of the value, so that the boxes need not follow the steps of the reduction.

Quotients and roots: the residual of q = vf64_quotient(a, b), that is q b - a, is below 2^-51.9 |a| by what simd.h says of q, so that
vf64_mul_err gives it within 2^-102 |q b| also where a passes zero in the box; likewise for the square of vf64_root(a).

Where a later operation makes up for the error of a word, the interval in which it lies may be taken in parts, one at a time (kinds.py says
in how many; any number is a proof).

A graph with a factor g: quotients scale with their numerator, a comparison of a result with the limits of exact products holds by the
domain (the claim is for every g for which the result is between them, and not 0)."""

import math
from fractions import Fraction

from flint import arb, arb_poly, arb_series, ctx

from . import prove
from .engine import DERIVATIVES, QUOTIENT, Analysis
from .graph import Graph, Kernel
from .kinds import PARTS
from .steps import LOW
from .steps import PARTS as PARTS_OF_EXP
from .tails import TAILS
from .taylor import ONE, ZERO, Model, SplitBox, around, ball, exponent, pow2, taylor, up
from .values import BITS, MIN_EXPONENT, Bits, EmptyBox, Node, half_place, neighbour

PRECISION, ORDER = 256, 14  # of the models
EXP_MAX = 670
QUOTIENT_MIN = pow2(-968)
SMALL = pow2(-8)  # a part of the bound


def exponential(a: Model) -> Model:
    """e^a, by Taylor's theorem with Lagrange's remainder for the polynomial; e^(p + r) is within e^p (e^r - 1) of e^p."""
    n = Model.order
    ctx.cap = n + 2
    terms = arb_series(a.p.coeffs() or [ZERO], prec=n + 1).exp().coeffs()
    wide = arb_series(a.p(arb_poly([around(ONE), ONE])).coeffs() or [ZERO], prec=n + 2).exp().coeffs()
    rest = up(wide[n + 1]) if len(wide) > n + 1 else ZERO
    if not rest.is_finite():
        raise SplitBox
    e = Model(arb_poly(terms), rest)
    return e.widened(up(e.sup() * a.r.expm1())) if a.r != 0 else e


class Composed(Analysis):
    def __init__(self, *arguments, parts: dict[str, int]):
        self.relative: dict[int, arb] = {}
        self.parts = parts
        super().__init__(*arguments)

    def offset(self, largest: arb) -> tuple[arb, arb]:
        """The middle and half the width of one part of [-largest, largest], in which the error of the word lies."""
        count = self.parts.get(self.graph.nodes[self.index][0], 1)
        part = self.branch("part", [(i, self.low, self.high) for i in range(count)])
        return largest * (2 * part + 1 - count) / count, largest / count

    def parts_of_exp(self, args: list) -> int | None:
        """The value whose two parts these nodes are."""
        (one, first), (other, second) = (self.graph.nodes[k] for k in args)
        if one == "exp_hi" and other == "exp_lo" and first[0] == second[0]:
            return first[0]
        return None

    def op_exp_value(self, args: list) -> Node:
        a, b = (self.nodes[k] for k in args[:2])
        if not (a.size <= EXP_MAX and b.size <= LOW):
            raise SplitBox
        error = ball(Fraction(float.fromhex(args[2])))
        v = Node()
        v.model = exponential(self.plain(a) + self.plain(b))
        slope = exponential(self.wide(a) + self.wide(b))
        v.parts = ((args[0], slope), (args[1], slope))
        v.E = up(slope.sup() * (a.E + b.E))
        error = up(error * (1 + pow2(-16)))  # the claim is relative to hi
        return self.off_by(v, up(slope.sup() * error), error)

    def op_exp_hi(self, args: list) -> Node:
        a, v = self.nodes[args[0]], Node()
        middle, half = self.offset(PARTS_OF_EXP * (1 + pow2(-17)))
        v.model, v.E = a.model.scale(1 + middle), up(a.E * (1 + middle))
        v.parts, v.origin = ((args[0], Model.const(1 + middle)),), middle
        return self.off_by(v, up(a.size * half), up(half * (1 + pow2(-16))))

    def op_exp_lo(self, args: list) -> Node:
        a, hi, v = self.nodes[args[0]], self.nodes[args[1]], Node()
        v.model, v.E = a.model.scale(-hi.origin), up(hi.rho + a.E * hi.origin)
        v.parts = ((args[0], Model.const(ONE)), (args[1], Model.const(-ONE)))
        return self.finish(v)

    def op_add(self, args: list) -> Node:
        whole = self.parts_of_exp(args)
        if whole is None:
            v, ends = super().op_add(args), self.nodes[args[0]].ends
            if args[0] == args[1] and ends is not None:
                v.ends = (2 * ends[0], 2 * ends[1])
            return v
        a, v = self.nodes[whole], Node()
        v.model, v.E, v.parts = a.model, a.E, ((whole, Model.const(ONE)),)
        return self.round(v, None)

    def error_of_sum(self, a: int, b: int, s: int, sigma: int, sign: int) -> Node:
        whole = self.parts_of_exp([a, b]) if sigma > 0 else None
        if whole is None:
            return super().error_of_sum(a, b, s, sigma, sign)
        v = Node()
        v.model, v.E = Model.const(ZERO), self.nodes[s].rho
        v.parts = ((whole, Model.const(arb(sign))), (s, Model.const(arb(-sign))))
        return self.finish(v)

    # Roundings relative to the bound.

    def off_by(self, v: Node, rho: arb, relative: arb | None = None) -> Node:
        """`relative`: the same error is also at most this part of the computed value's exact counterpart."""
        if relative is not None:
            self.relative[self.index] = relative
        result = super().off_by(v, rho)
        if self.graph.nodes[self.index][0] != "exp_value" and result.smallest > 0:
            result.grid = max(exponent(result.smallest) - BITS, MIN_EXPONENT)  # the results of all words are numbers
        return result

    def round(self, v: Node, grid: int | None) -> Node:
        result = super().round(v, grid)
        if result.rho != 0 and result.smallest > pow2(-1000):
            self.relative[self.index] = pow2(-53) * (1 + pow2(-52))
        return result

    def roundings_over(self, seeds: dict[str, int], err: Node) -> arb:
        """The sum of |d output/d rho| |rho|/err. Where rho is a part of the value, the product is taken over the box, not the
        largest of each factor: what varies like err does not make the boxes small."""
        derivative: list[Model | None] = [None] * len(self.nodes)
        for name, c in seeds.items():
            k, seed = self.graph.outputs[name], Model.const(arb(c))
            derivative[k] = seed if derivative[k] is None else derivative[k] + seed
        total, order = ZERO, Model.order
        Model.order = min(order, DERIVATIVES)
        inverse = Model(self.plain(err).fold().p, up(self.plain(err).fold().r + err.E)).inverse()
        for i in range(len(self.nodes) - 1, -1, -1):
            d = derivative[i]
            if d is None:
                continue
            v = self.nodes[i]
            if v.rho != 0:
                part = up(d.sup() * v.rho / err.smallest)
                if part > SMALL and i in self.relative:
                    value = Model(v.model.fold().p, up(v.model.fold().r + v.E))
                    part = min(part, up((d * value * inverse).sup() * self.relative[i]))
                total = total + part
            for k, slope in v.parts:
                if self.nodes[k].const is None:
                    t = d * slope.fold()
                    derivative[k] = t if derivative[k] is None else derivative[k] + t
        Model.order = order
        return up(total)

    # Quotients and roots.

    def quotient_model(self, args: list) -> Node:
        a, b, v = self.nodes[args[0]], self.nodes[args[1]], Node()
        if b.scaled:
            raise NotImplementedError("a quotient by g")
        inverse = self.wide(b).inverse()
        slope = self.wide(a) * inverse * inverse
        v.model, v.scaled = self.plain(a) * self.plain(b).inverse(), a.scaled
        v.parts = ((args[0], inverse), (args[1], -slope))
        v.E = up(a.E * inverse.sup() + b.E * slope.sup())
        return v

    def op_quotient(self, args: list) -> Node:
        a, b = (self.nodes[k] for k in args)
        if a.const == 0:
            return self.constant(0)
        # A numerator that passes zero is 0 or a multiple of 2^grid.
        smallest = a.smallest if a.smallest > 0 or a.grid is None else pow2(a.grid)
        normal = a.scaled or (smallest >= QUOTIENT_MIN and smallest >= QUOTIENT_MIN * b.size)
        if not (pow2(-500) <= b.smallest and b.size <= pow2(500) and normal and a.size <= pow2(500)):
            raise SplitBox
        v = self.quotient_model(args)
        return self.off_by(v, up((v.model.sup() + v.E) * QUOTIENT), QUOTIENT)

    def op_mul_err(self, args: list) -> Node:
        a, b, p = (self.nodes[k] for k in args)
        op, operands = self.graph.nodes[args[0]]
        quotient = op == "quotient" and operands == [args[2], args[1]]
        root = op == "root" and args[0] == args[1] and operands == [args[2]]
        if not (quotient or root) or p.const == 0:
            return self.residual_with_g(args) if a.scaled or b.scaled or p.scaled else super().op_mul_err(args)
        if not (a.size < pow2(996) and b.size < pow2(996)):
            raise SplitBox
        v = Node()
        v.parts = ((args[0], self.wide(b)), (args[1], self.wide(a)), (args[2], Model.const(-ONE)))
        v.model, v.scaled = Model.const(ZERO), p.scaled
        v.E = up(2 * p.size * 2 * QUOTIENT)  # |q b - a|, and |s^2 - a| <= 2.1 2^-51.9 a
        return self.off_by(v, up(a.size * b.size * pow2(-102)))

    def residual_with_g(self, args: list) -> Node:
        op, factors = self.graph.nodes[args[2]]
        if op != "mul" or sorted(factors) != sorted(args[:2]):
            raise NotImplementedError("a residual with g")
        return super().op_mul_err(args)

    def op_rough_reciprocal(self, args: list) -> Node:
        """Roundings that a residual takes up again are multiplied by this one number, which derivatives over an interval do not
        know."""
        b, v = self.nodes[args[0]], Node()
        if not (pow2(-500) <= b.smallest and b.size <= pow2(500)):
            raise SplitBox
        middle, half = self.offset(pow2(-27))
        inverse = self.wide(b).inverse()
        slope = (inverse * inverse).scale(-1 - middle)
        v.model, v.parts = self.plain(b).inverse().scale(1 + middle), ((args[0], slope),)
        v.E = up(b.E * slope.sup())
        return self.off_by(v, up(inverse.sup() * half))

    def op_rsqrt(self, args: list) -> Node:
        """What a step of Newton's iteration leaves of the relative error d is a multiple of d^2, of which derivatives over the whole
        interval give twice as much."""
        a, v = self.nodes[args[0]], Node()
        if not pow2(-1000) <= a.smallest:
            raise SplitBox
        middle, half = self.offset(pow2(-40))
        inverse = self.wide(a).sqrt().inverse()
        slope = (inverse * inverse * inverse).scale(arb(-1) / 2 * (1 + middle))
        v.model = self.plain(a).sqrt().inverse().scale(1 + middle)
        v.parts, v.E = ((args[0], slope),), up(a.E * slope.sup())
        return self.off_by(v, up(inverse.sup() * half), up(half * (1 + pow2(-30))))

    # Comparisons with g.

    def op_le(self, args: list) -> Node:
        a, b = (self.nodes[k] for k in args)
        if a.scaled == b.scaled:
            return super().op_le(args)
        if a.const != Fraction(2) ** -960 and b.const != Fraction(2) ** 1020:
            raise NotImplementedError("a comparison with g")
        return self.mask(True)

    def op_eq(self, args: list) -> Node:
        a, b = (self.nodes[k] for k in args)
        if a.scaled == b.scaled:
            return super().op_eq(args)
        if a.const != 0 and b.const != 0:
            raise NotImplementedError("a comparison with g")
        return self.mask(False)

    def op_from_bits(self, args: list) -> Node:
        value = self.nodes[args[0]].integer
        if isinstance(value, int) and value & 0x7FF << 52 == 0x7FF << 52:
            return Node()  # a NaN: what uses it stops
        v = super().op_from_bits(args)
        if isinstance(value, Bits) and value.offset == 0 and not value.flip:
            v.origin = (value.node, 0)  # the same bits
        return v


def within(low_end: Fraction, high_end: Fraction) -> tuple[Fraction, Fraction]:
    """The smallest and the largest number of the format between the two."""
    first, last = Fraction(float(low_end)), Fraction(float(high_end))
    first = neighbour(first, "f64", 1) if first < low_end else first
    last = neighbour(last, "f64", -1) if last > high_end else last
    if first > last:
        raise EmptyBox
    return first, last


def analyse(kernel: Kernel, graph: Graph, low_end: Fraction, high_end: Fraction, choices: dict, piece) -> Composed:
    ctx.prec, Model.order = PRECISION, ORDER
    return Composed(graph, kernel.format, *within(low_end, high_end), choices, parts=PARTS.get(kernel.function, {}))


def measure(kernel: Kernel, analysis: Analysis, function) -> tuple[arb, arb]:
    """Upper bounds of error/err over the box, and nothing."""
    f = taylor(TAILS.get(kernel.function, function), analysis.centre, analysis.width)
    hi, lo, err = (analysis.output(k) for k in ("hi", "lo", "err"))
    error = (hi.model + lo.model - f).sup_pieces(4)
    last = up(lo.size + err.size)
    # With g, places begin anywhere.
    error = up(error + (last * pow2(-53) if hi.scaled else half_place(last)))
    if not err.smallest > 0:
        raise SplitBox
    return up(error / err.smallest + analysis.roundings_over({"hi": 1, "lo": 1}, err)), arb(0)


def all_pieces(kernel: Kernel) -> list[prove.Piece]:
    """Octaves of the distance from the pole, not wider than 1."""
    pieces = []
    for interval in kernel.domain:
        for low_end, high_end in prove.first_boxes(interval):
            count = math.ceil(high_end - low_end) if high_end <= 1024 else 1
            step = (high_end - low_end) / count
            pieces += [prove.Piece(low_end + i * step, low_end + (i + 1) * step) for i in range(count)]
    return pieces
