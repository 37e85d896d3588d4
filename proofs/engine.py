"""Rigorous error bounds of a recorded kernel over a box of its argument.

Every node has a Taylor model of its ideal value (nothing rounded; the table rows and integers that the computation takes), a bound E
of computed - ideal, and a grid: the computed value is a multiple of 2^grid. A rounding is a variable rho, at most half a last
place, and 0 where the grid shows that the result is exact. Errors of sums and products by their error-free transformations are
exact functions of the numbers they are computed from. By the mean value theorem the rounding error of an output is at most the sum
of |d output/d rho| |rho|, the derivatives over everything between ideal and computed values: reverse differentiation over models
widened by E. So a rounding of hi that lo takes up again counts nothing. What is left, the ideal output minus the function, is a
Taylor model too.

Where the computation branches (a rounding to an integer, a table index, a selection), the box is cut, or each branch is analysed
for the part of the box on which it may be taken.

The words whose result differs between the instruction sets are taken as simd.h states them: mul_err is exact, or 2^-102 resp.
2^-77 |ab| for a residual; quotient and root are within 2^-51.9, reciprocal 2^-41.9, rsqrt 2^-40, the rough ones 2^-27."""

import math
from fractions import Fraction

from flint import arb, arb_poly

from .graph import INTEGER, PRECISION, SHIFTS, Graph, bits_of, double_of, signed
from .taylor import ONE, ZERO, Model, SplitBox, around, ball, exact, exponent, low, pow2, up
from .values import (
    BITS,
    MIN_EXPONENT,
    Bits,
    Choice,
    EmptyBox,
    Exponent,
    Multiples,
    Node,
    OctaveBits,
    Residue,
    downwards,
    grid_of,
    half_place,
    nearest,
    neighbour,
    upwards,
)

QUOTIENT = pow2(-52) * (arb(1) / 10 * arb(2).log()).exp()  # 2^-51.9
RECIPROCAL = pow2(10) * QUOTIENT
DERIVATIVES = 6  # order of the models of derivatives
BRANCHES = 4  # at most so many values of an integer in one box


class Analysis:
    """All nodes of a graph over a box [low, high] of the argument x."""

    def __init__(
        self, graph: Graph, fmt: str, low: Fraction, high: Fraction, choices: dict, multiples: Multiples | None = None
    ):
        self.graph, self.format, self.low, self.high, self.choices = graph, fmt, low, high, choices
        self.multiples = multiples
        self.centre, self.width = ball((low + high) / 2), ball((high - low) / 2)
        self.nodes: list[Node] = []
        for i, (op, args) in enumerate(graph.nodes):
            self.index = i
            self.nodes.append(self.step(op, args))

    def output(self, name: str) -> Node:
        return self.nodes[self.graph.outputs[name]]

    # What every node needs.

    def enclose(self, v: Node) -> arb:
        whole = v.model.enclosure() + around(v.E)
        return whole if v.per_k is None else whole + v.per_k * self.multiples.range()

    def plain(self, a: Node) -> Model:
        """The model with what is linear in k as an interval."""
        if a.per_k is None:
            return a.model
        part = a.per_k * self.multiples.range()
        return a.model + Model(arb_poly([part.mid()]), up(part.rad()))

    def linear(self, *terms: arb | None) -> arb | None:
        """Their sum; None stands for 0."""
        total = sum((t for t in terms if t is not None), ZERO)
        return None if total == 0 else total

    def finish(self, v: Node) -> Node:
        v.enclosure = self.enclose(v)
        v.size, v.smallest = up(v.enclosure), low(v.enclosure)
        return v

    def branch(self, kind: str, options: list):
        """The one of the (value, low, high) whose branch this analysis follows."""
        key = (kind, self.index)
        if key not in self.choices and len(options) > 1:
            raise Choice(key, options)
        value = self.choices.get(key, options[0][0])
        if all(value != option[0] for option in options):
            raise EmptyBox  # a part of the box in which this branch is not taken
        return value

    def computed(self, q: Fraction) -> Node:
        """A sum of constants, rounded: what branches elsewhere in a larger box may be one here."""
        return self.constant(Fraction(self.branch("value", [(nearest(q), self.low, self.high)])))

    def constant(self, q: Fraction | int) -> Node:
        v = Node()
        v.const = Fraction(q)
        v.ends, v.model, v.E, v.grid = (v.const, v.const), Model.const(ball(v.const)), ZERO, grid_of(v.const)
        return self.finish(v)

    def same(self, k: int) -> Node:
        a, v = self.nodes[k], Node()
        v.model, v.E, v.grid, v.const, v.ends, v.scaled, v.per_k = a.model, a.E, a.grid, a.const, a.ends, a.scaled, a.per_k
        v.parts = ((k, Model.const(ONE)),)
        return self.finish(v)

    def wide(self, a: Node) -> Model:
        return self.plain(a).widened(a.E)

    def round(self, v: Node, grid: int | None) -> Node:
        """v.model and v.E describe the exact result of an operation on computed operands, a multiple of 2^grid: round it."""
        v.exact = exact_result = self.enclose(v)
        m = up(exact_result)
        if m == 0:
            return self.constant(0)
        if v.scaled:
            return self.off_by(v, up(m * pow2(-BITS)))
        if grid is None or grid < MIN_EXPONENT or m > pow2(grid + BITS):
            v.rho = half_place(m)
            smallest = low(exact_result)
            last = max(exponent(smallest) - BITS, MIN_EXPONENT) if smallest > 0 else MIN_EXPONENT
            grid = last if grid is None else max(last, grid)
            v.E = up(v.E + v.rho)
        v.grid = grid
        return self.finish(v)

    def off_by(self, v: Node, rho: arb) -> Node:
        """A result within rho, with no known grid."""
        v.rho, v.E, v.grid = rho, up(v.E + rho), None
        return self.finish(v)

    def scaling(self, v: Node, args: list, products: bool) -> None:
        """A graph with a factor g is analysed for g = 1. What is g times a function of x is marked; its roundings count 2^-53 of
        it, which is true for every g as long as nothing underflows."""
        marks = [self.nodes[k].scaled for k in args]
        if not any(marks):
            return
        if (
            products
            and not (marks[0] and marks[1])
            and (len(marks) == 2 or marks[2] == (marks[0] or marks[1]))
            or not products
            and all(marks)
        ):
            v.scaled = True
        else:
            raise NotImplementedError("not a product with g")

    # Operations.

    def step(self, op: str, args: list) -> Node:
        of_bits = self.multiples is not None and not self.multiples.step
        if of_bits and op != "bits" and any(isinstance(k, int) and self.graph.nodes[k][0] == "input" for k in args):
            raise NotImplementedError("the argument itself, not its bits")
        if op in SHIFTS:
            return self.shift(op, args)
        if op in INTEGER:
            return self.integer(op, args)
        method = getattr(self, "op_" + op, None)
        if method is None:
            raise NotImplementedError(op)
        return method(args)

    def op_input(self, args: list) -> Node:
        if args[0] == "g":
            v = self.constant(1)
            v.const = v.ends = v.grid = None
            v.scaled = True
            return v
        v = Node()
        bits, lowest = PRECISION[self.format]
        v.model, v.E = Model(arb_poly([self.centre, self.width])), ZERO
        if self.multiples is not None and self.multiples.step:
            v.per_k = ball(self.multiples.step)
            self.finish(v)
            v.grid = max(exponent(v.smallest) - bits, lowest) if v.smallest > 0 else lowest
            return v
        v.ends = (self.low, self.high)
        smallest = min(abs(self.low), abs(self.high)) if self.low * self.high > 0 else 0
        v.grid = max(math.frexp(float(smallest))[1] - bits, lowest) if smallest else lowest
        return self.finish(v)

    def op_const(self, args: list) -> Node:
        return self.constant(Fraction(float.fromhex(args[0])))

    def op_add(self, args: list) -> Node:
        return self.sum(args, 1)

    def op_sub(self, args: list) -> Node:
        return self.sum(args, -1)

    def sum(self, args: list, sign: int) -> Node:
        a, b = (self.nodes[k] for k in args)
        if args[0] == args[1] and sign < 0:
            return self.constant(0)
        if args[0] == args[1] and a.const is None:
            v = Node()
            v.model, v.E, v.parts, v.scaled = a.model.scale(arb(2)), up(2 * a.E), ((args[0], Model.const(arb(2))),), a.scaled
            v.per_k = None if a.per_k is None else 2 * a.per_k
            return self.power_of_two(v, Fraction(2), a)
        if a.const is not None and b.const is not None:
            return self.computed(a.const + sign * b.const)
        if b.const == 0:
            return self.same(args[0])
        if a.const == 0 and sign > 0:
            return self.same(args[1])
        v = Node()
        self.scaling(v, args, products=False)
        v.model, v.E = (a.model + b.model if sign > 0 else a.model - b.model), up(a.E + b.E)
        v.per_k = self.linear(a.per_k, None if b.per_k is None else sign * b.per_k)
        v.parts = ((args[0], Model.const(ONE)), (args[1], Model.const(arb(sign))))
        return self.magic(v, args) or self.round(v, None if a.grid is None or b.grid is None else min(a.grid, b.grid))

    def op_mul(self, args: list) -> Node:
        a, b = (self.nodes[k] for k in args)
        if a.const == 0 or b.const == 0:
            return self.constant(0)
        if a.const is not None and b.const is not None:
            return self.constant(Fraction(nearest(a.const * b.const)))
        if a.const == 1 or b.const == 1:
            return self.same(args[1] if a.const == 1 else args[0])
        v = Node()
        self.scaling(v, args, products=True)
        v.model, v.per_k = self.product(a, b)
        v.E = up(a.size * b.E + b.size * a.E)  # |ab - AB| <= |a||b - B| + |B||a - A|
        v.parts = ((args[0], self.wide(b)), (args[1], self.wide(a)))
        for p, q in ((a, b), (b, a)):
            if (
                p.const is not None
                and abs(p.const).numerator == 1
                and abs(p.const).denominator & (abs(p.const).denominator - 1) == 0
            ):
                return self.power_of_two(v, p.const, q)
            if (
                p.const is not None
                and p.const.denominator == 1
                and abs(p.const.numerator) & (abs(p.const.numerator) - 1) == 0
            ):
                return self.power_of_two(v, p.const, q)
        return self.round(v, None if a.grid is None or b.grid is None else a.grid + b.grid)

    def product(self, a: Node, b: Node) -> tuple[Model, arb | None]:
        """The ideal product and its part that is linear in k."""
        if a.per_k is None and b.per_k is None:
            return a.model * b.model, None
        for p, q in ((a, b), (b, a)):
            if p.const is not None:
                return q.model.scale(ball(p.const)), q.per_k * ball(p.const)
        return self.plain(a) * self.plain(b), None

    def power_of_two(self, v: Node, factor: Fraction, a: Node) -> Node:
        """Exact, unless the result is subnormal."""
        v.grid = None if a.grid is None else a.grid + grid_of(factor)
        if not v.scaled and (v.grid is None or v.grid < MIN_EXPONENT) and a.smallest * ball(abs(factor)) < pow2(-1022):
            return self.off_by(v, pow2(MIN_EXPONENT - 1))
        return self.finish(v)

    def op_mad(self, args: list) -> Node:
        return self.fused(args, 1)

    def op_nmad(self, args: list) -> Node:
        return self.fused(args, -1)

    def fused(self, args: list, sign: int) -> Node:
        a, b, c = (self.nodes[k] for k in args)
        if a.const == 0 or b.const == 0:
            return self.same(args[2])
        if None not in (a.const, b.const, c.const):
            return self.computed(sign * a.const * b.const + c.const)
        v = Node()
        self.scaling(v, args, products=True)
        product, per_k = self.product(a, b)
        v.model = (product if sign > 0 else -product) + c.model
        v.per_k = self.linear(None if per_k is None else sign * per_k, c.per_k)
        v.E = up(a.size * b.E + b.size * a.E + c.E)
        da, db = self.wide(b), self.wide(a)
        v.parts = ((args[0], da if sign > 0 else -da), (args[1], db if sign > 0 else -db), (args[2], Model.const(ONE)))
        grids = (a.grid, b.grid, c.grid)
        return self.magic(v, args) or self.round(v, None if None in grids else min(a.grid + b.grid, c.grid))

    def op_mul_err(self, args: list) -> Node:
        a, b, p = (self.nodes[k] for k in args)
        op, factors = self.graph.nodes[args[2]]
        if None not in (a.const, b.const, p.const):
            return self.constant(a.const * b.const - p.const)
        if a.const == 0 or b.const == 0:
            return self.constant(0)
        v = Node()
        v.parts = ((args[0], self.wide(b)), (args[1], self.wide(a)), (args[2], Model.const(-ONE)))
        if not (a.size < pow2(996) and b.size < pow2(996)):
            raise SplitBox
        smallest = a.smallest * b.smallest
        if op == "mul" and sorted(factors) == sorted(args[:2]) and p.const is None:
            # Exact from 2^-968 on; below, parts underflow by 2^-1075 each, fewer than 2^5 of them.
            v.scaled = p.scaled
            v.model, v.E = Model.const(ZERO), p.rho
            v.grid = None if a.grid is None or b.grid is None else a.grid + b.grid
            if smallest >= pow2(-968) or v.scaled:
                return self.finish(v)
            return self.off_by(v, pow2(-1070))
        # A residual: p is near a b.
        if a.scaled or b.scaled or p.scaled:
            raise NotImplementedError("a residual with g")
        v.model, v.E = self.plain(a) * self.plain(b) - self.plain(p), up(a.size * b.E + b.size * a.E + p.E)
        distance, largest = up(v.model.enclosure() + around(v.E)), a.size * b.size
        if not smallest >= pow2(-968):
            raise SplitBox
        if distance < pow2(-50) * smallest:
            return self.off_by(v, up(largest * pow2(-102)))
        if distance < pow2(-25) * smallest:
            return self.off_by(v, up(largest * pow2(-77)))
        raise SplitBox

    def op_fast_two_sum_error(self, args: list) -> Node:
        a, b, s, sigma, sign, d, op, plain = args
        na, nb, ns = self.nodes[a], self.nodes[b], self.nodes[s]
        if None not in (na.const, nb.const, ns.const):
            return self.constant(sign * (na.const + sigma * nb.const - ns.const))
        if na.const == 0 or (nb.const == 0 and ns.const is None):
            return self.constant(0)  # s = a + sigma b exactly
        # Dekker: |a| >= |b|, or a is a multiple of the last place of b. s must be their rounded sum, not a branch (see magic) of it.
        ordered = na.smallest >= nb.size or (na.grid is not None and na.grid >= exponent(nb.size) - BITS)
        if self.chosen(ns) or not ordered:
            return self.step(op, plain)
        v = self.error_of_sum(a, b, s, sigma, sign)
        self.nodes[d].rho = ZERO  # s - a is exact then
        return v

    def op_two_sum_error(self, args: list) -> Node:
        a, b, s, op, plain = args
        na, nb, ns = self.nodes[a], self.nodes[b], self.nodes[s]
        if None not in (na.const, nb.const, ns.const):
            return self.constant(na.const + nb.const - ns.const)
        return self.step(op, plain) if self.chosen(ns) else self.error_of_sum(a, b, s, 1, 1)

    def chosen(self, v: Node) -> bool:
        """Whether the analysis follows one branch for the value, so that it is no longer the rounded result of its operands."""
        return v.const is not None or isinstance(v.integer, Residue)

    def error_of_sum(self, a: int, b: int, s: int, sigma: int, sign: int) -> Node:
        """sign (a + sigma b - s), exactly."""
        na, nb, ns, v = self.nodes[a], self.nodes[b], self.nodes[s], Node()
        v.model, v.E, v.scaled = Model.const(ZERO), ns.rho, ns.scaled
        v.parts = ((a, Model.const(arb(sign))), (b, Model.const(arb(sign * sigma))), (s, Model.const(arb(-sign))))
        v.grid = None if na.grid is None or nb.grid is None else min(na.grid, nb.grid)
        return self.finish(v)

    def op_neg(self, args: list) -> Node:
        a, v = self.nodes[args[0]], Node()
        v.model, v.E, v.grid, v.scaled = -a.model, a.E, a.grid, a.scaled
        v.per_k = None if a.per_k is None else -a.per_k
        v.parts = ((args[0], Model.const(-ONE)),)
        if a.const is not None:
            v.const = -a.const
        if a.ends:
            v.ends = (-a.ends[1], -a.ends[0])
        return self.finish(v)

    def sign_of(self, k: int) -> int:
        """Of a computed value; a zero counts as either."""
        a = self.nodes[k]
        if a.ends:
            return 1 if a.ends[0] >= 0 else -1 if a.ends[1] <= 0 else self.cut_input(k, Fraction(0), below=True)
        return 1 if a.enclosure >= 0 else -1 if a.enclosure <= 0 else 0

    def op_abs(self, args: list) -> Node:
        sign = self.sign_of(args[0])
        if sign > 0:
            return self.same(args[0])
        if sign < 0:
            return self.op_neg(args)
        a, v = self.nodes[args[0]], Node()
        half = up(self.plain(a).sup() / 2)
        v.model, v.E, v.grid, v.scaled = Model(arb_poly([half]), half), a.E, a.grid, a.scaled
        v.parts = ((args[0], Model(arb_poly([]), ONE)),)
        return self.finish(v)

    def op_copysign(self, args: list) -> Node:
        p, q = self.sign_of(args[0]), self.sign_of(args[1])
        if not p or not q:
            raise SplitBox
        return self.same(args[0]) if p == q else self.op_neg(args[:1])

    def order(self, k: int, m: int) -> int | None:
        """-1: k is at most m; 1: at least; None: not known."""
        a, b = self.comparable(k, m)
        if a.ends and b.ends:
            if a.ends[1] <= b.ends[0]:
                return -1
            if a.ends[0] >= b.ends[1]:
                return 1
            for one, other in ((k, b), (m, a)):
                if other.const is not None:
                    self.cut_input(one, other.const, below=True)
        d = self.difference(a, b)
        return -1 if d <= 0 else 1 if d >= 0 else None

    def cut_input(self, k: int, at: Fraction, below: bool) -> int:
        """The argument, or its negative (node k), passes `at` inside the box: cut there; `at` itself goes below or above."""
        ends = self.nodes[k].ends
        if ends == (-self.high, -self.low):
            at, below = -at, not below
        elif ends != (self.low, self.high):
            raise SplitBox
        before, after = neighbour(at, self.format, -1) if at else at, neighbour(at, self.format, 1) if at else at
        raise SplitBox((at, after) if below else (before, at))

    def difference(self, a: Node, b: Node) -> arb:
        """Of the computed values."""
        return (self.plain(a) - self.plain(b)).enclosure() + around(a.E + b.E)

    def comparable(self, k: int, m: int) -> tuple[Node, Node]:
        a, b = self.nodes[k], self.nodes[m]
        if a.scaled != b.scaled:
            raise NotImplementedError("a comparison with g")
        return a, b

    def op_min(self, args: list) -> Node:
        return self.smaller(args, -1)

    def op_max(self, args: list) -> Node:
        return self.smaller(args, 1)

    def smaller(self, args: list, want: int) -> Node:
        order = self.decide(self.order(*args), (-1, 1))
        return self.same(args[0] if order == want else args[1])

    def decide(self, value, options: tuple):
        """value, or if it is None one of the options, on the whole box."""
        return self.branch("case", [(o, self.low, self.high) for o in (options if value is None else (value,))])

    def mask(self, value: bool | None) -> Node:
        v = Node()
        v.const = self.decide(value, (True, False))
        return v

    def op_lt(self, args: list) -> Node:
        a, b = self.comparable(*args)
        if a.ends and b.ends:
            if a.ends[1] < b.ends[0]:
                return self.mask(True)
            if a.ends[0] >= b.ends[1]:
                return self.mask(False)
            if b.const is not None:
                self.cut_input(args[0], b.const, below=False)
            if a.const is not None:
                self.cut_input(args[1], a.const, below=True)
        d = self.difference(a, b)
        return self.mask(True if d < 0 else False if d >= 0 else None)

    def op_le(self, args: list) -> Node:
        v = self.op_lt(args[::-1])
        v.const = not v.const
        return v

    def op_unord(self, args: list) -> Node:
        return self.mask(False)

    def op_eq(self, args: list) -> Node:
        a, b = self.comparable(*args)
        if a.const is not None and b.const is not None:
            return self.mask(a.const == b.const)
        return self.mask(None if self.difference(a, b).contains(0) else False)

    def op_ne(self, args: list) -> Node:
        v = self.op_eq(args)
        v.const = not v.const
        return v

    def op_mand(self, args: list) -> Node:
        return self.mask(self.nodes[args[0]].const and self.nodes[args[1]].const)

    def op_mor(self, args: list) -> Node:
        return self.mask(self.nodes[args[0]].const or self.nodes[args[1]].const)

    def op_mandnot(self, args: list) -> Node:
        return self.mask(self.nodes[args[0]].const and not self.nodes[args[1]].const)

    def op_mnot(self, args: list) -> Node:
        return self.mask(not self.nodes[args[0]].const)

    def op_disjoint(self, args: list) -> Node:
        return self.mask(self.whole(args[0]) & self.whole(args[1]) == 0)

    def op_ieq(self, args: list) -> Node:
        return self.mask(self.whole(args[0]) == self.whole(args[1]))

    def op_select(self, args: list) -> Node:
        return self.same(args[1] if self.nodes[args[0]].const else args[2])

    # Quotients and roots.

    def quotient_model(self, args: list) -> Node:
        a, b, v = self.nodes[args[0]], self.nodes[args[1]], Node()
        if a.scaled or b.scaled:
            raise NotImplementedError("a quotient with g")
        inverse = self.wide(b).inverse()
        slope = self.wide(a) * inverse * inverse
        v.model = self.plain(a) * self.plain(b).inverse()
        v.parts = ((args[0], inverse), (args[1], -slope))
        v.E = up(a.E * inverse.sup() + b.E * slope.sup())
        return v

    def op_div(self, args: list) -> Node:
        return self.round(self.quotient_model(args), None)

    def op_quotient(self, args: list) -> Node:
        a, b = (self.nodes[k] for k in args)
        if not (pow2(-500) <= b.smallest and b.size <= pow2(500) and pow2(-960) <= a.smallest and a.size <= pow2(500)):
            raise SplitBox
        v = self.quotient_model(args)
        return self.off_by(v, up((v.model.sup() + v.E) * QUOTIENT))

    def inverse_within(self, args: list, relative: arb) -> Node:
        b, v = self.nodes[args[0]], Node()
        if not (pow2(-500) <= b.smallest and b.size <= pow2(500)):
            raise SplitBox
        inverse = self.wide(b).inverse()
        slope = inverse * inverse
        v.model, v.parts, v.E = self.plain(b).inverse(), ((args[0], -slope),), up(b.E * slope.sup())
        return self.off_by(v, up((v.model.sup() + v.E) * relative))

    def op_reciprocal(self, args: list) -> Node:
        return self.inverse_within(args, RECIPROCAL)

    def op_rough_reciprocal(self, args: list) -> Node:
        return self.inverse_within(args, pow2(-27))

    def root_model(self, args: list) -> Node:
        a, v = self.nodes[args[0]], Node()
        slope = self.wide(a).sqrt().inverse().scale(arb(1) / 2)
        v.model, v.parts, v.E = self.plain(a).sqrt(), ((args[0], slope),), up(a.E * slope.sup())
        return v

    def op_sqrt(self, args: list) -> Node:
        return self.round(self.root_model(args), None)

    def op_root(self, args: list) -> Node:
        a = self.nodes[args[0]]
        if not (pow2(-1000) <= a.smallest and a.size <= pow2(1000)):
            raise SplitBox
        v = self.root_model(args)
        return self.off_by(v, up((v.model.sup() + v.E) * QUOTIENT))

    def inverse_root_within(self, args: list, relative: arb) -> Node:
        a, v = self.nodes[args[0]], Node()
        if not pow2(-1000) <= a.smallest:
            raise SplitBox
        inverse = self.wide(a).sqrt().inverse()
        slope = (inverse * inverse * inverse).scale(arb(-1) / 2)
        v.model, v.parts, v.E = self.plain(a).sqrt().inverse(), ((args[0], slope),), up(a.E * slope.sup())
        return self.off_by(v, up((v.model.sup() + v.E) * relative))

    def op_rough_rsqrt(self, args: list) -> Node:
        return self.inverse_root_within(args, pow2(-27))

    def op_rsqrt(self, args: list) -> Node:
        return self.inverse_root_within(args, pow2(-40))

    # Roundings to an integer by a large constant.

    def magic(self, v: Node, args: list) -> Node | None:
        """A sum with 1.5 2^n that takes few values: a branch for each."""
        constants = [self.nodes[k].const for k in args if self.nodes[k].const is not None]
        if not any(c >= 2**35 and abs(math.frexp(float(c))[0] - 0.75) < 2.0**-30 for c in constants):
            return None
        if v.per_k is not None:
            magic = max(constants)
            return self.multiple(v, magic) if v.model.enclosure() > ball(magic / 2) else None
        enclosure = v.model.enclosure() + around(v.E)
        first, last = nearest(exact(enclosure.lower())), nearest(exact(enclosure.upper()))
        values = [first]
        while values[-1] < last:
            if len(values) > BRANCHES:
                if math.ulp(first) < 2.0**-12:
                    return None  # not a rounding to an integer
                raise SplitBox
            values.append(math.nextafter(values[-1], math.inf))
        half = Fraction(math.ulp(first)) / 2
        return self.constant(
            Fraction(self.branch("value", [(z, *self.where(v, Fraction(z) - half, Fraction(z) + half)) for z in values]))
        )

    def multiple(self, v: Node, magic: Fraction) -> Node:
        """magic + k, or with 16ths as its last place magic + k/16: what the kernel finds is this k."""
        unit = Fraction(math.ulp(float(magic)))
        off = (v.model.enclosure() + around(v.E) - ball(magic)) / ball(unit) + (
            v.per_k / ball(unit) - 1
        ) * self.multiples.range()
        if not off.overlaps(arb(0, 1) / 2):
            raise EmptyBox  # another k is nearer
        if up(off) > 1:
            raise SplitBox
        z = Node()
        z.model, z.E, z.grid, z.per_k = Model.const(ball(magic)), ZERO, grid_of(unit), ball(unit)
        z.integer = Residue((bits_of(float(magic)) + self.multiples.residue) & 15)
        return self.finish(z)

    def where(self, v: Node, smallest: Fraction, largest: Fraction) -> tuple[Fraction, Fraction]:
        """The part of the box in which the computed v may lie between the two: where its linear part does, up to the rest."""
        c = v.model.p.coeffs()
        if len(c) < 2 or c[1].contains(0):
            return self.low, self.high
        rest = v.model.r + v.E
        for k in c[2:]:
            rest = rest + up(k)
        ends = [(ball(q) - c[0] + around(rest)) / c[1] for q in (smallest, largest)]
        first, last = min(exact(e.lower()) for e in ends), max(exact(e.upper()) for e in ends)
        middle, half = (self.low + self.high) / 2, (self.high - self.low) / 2
        return max(self.low, middle + half * max(first, Fraction(-1))), min(self.high, middle + half * min(last, Fraction(1)))

    # Integers and bits.

    def number(self, value) -> Node:
        v = Node()
        v.integer = value
        return v

    def whole(self, k: int) -> int:
        value = self.nodes[k].integer
        if not isinstance(value, int):
            raise SplitBox
        return value

    def op_iconst(self, args: list) -> Node:
        return self.number(int(args[0]))

    def op_bits(self, args: list) -> Node:
        a = self.nodes[args[0]]
        if isinstance(a.integer, Residue):
            return self.number(a.integer)
        if self.multiples is not None and self.graph.nodes[args[0]][0] == "input":
            return self.number(OctaveBits(args[0]))
        return self.number(bits_of(float(a.const)) if a.const is not None else Bits(args[0]))

    def op_from_bits(self, args: list) -> Node:
        value = self.nodes[args[0]].integer
        if isinstance(value, int):
            return self.constant(Fraction(double_of(value)))
        if isinstance(value, tuple):
            if not 1 << 52 <= value[0] <= value[1] < 2047 << 52:
                raise SplitBox
            return self.unknown(*(Fraction(double_of(b)) for b in value))
        k, rest = divmod(value.offset, 1 << 52)
        if rest:
            raise NotImplementedError("from_bits")
        if k == 0:
            return self.op_neg([value.node]) if value.flip else self.same(value.node)
        a, v, factor = self.nodes[value.node], Node(), pow2(k)
        if a.per_k is not None:
            raise NotImplementedError("a scaling of a multiple")
        if value.flip or not (
            a.smallest >= pow2(-1022) and a.smallest * factor >= pow2(-1022) and a.size * factor < pow2(1023)
        ):
            raise SplitBox
        v.model, v.E, v.grid, v.scaled = (
            a.model.scale(factor),
            up(a.E * factor),
            None if a.grid is None else a.grid + k,
            a.scaled,
        )
        v.parts, v.origin = ((value.node, Model.const(factor)),), (value.node, value.offset)
        return self.finish(v)

    def unknown(self, smallest: Fraction, largest: Fraction) -> Node:
        """A number between the two, about which nothing else is known. Ideal and computed values count as the same: what is said of
        the error is said for each of them."""
        v = Node()
        v.model, v.E = Model(arb_poly([ball((smallest + largest) / 2)]), up(ball((largest - smallest) / 2))), ZERO
        return self.finish(v)

    def op_to_f64(self, args: list) -> Node:
        value = self.nodes[args[0]].integer
        if isinstance(value, int):
            return self.constant(value)
        if isinstance(value, Exponent) and value.shift == 0:
            if self.multiples.first == self.multiples.last:
                return self.constant(self.multiples.first)
            v = Node()
            v.model, v.E, v.grid, v.per_k = Model.const(ZERO), ZERO, 0, ONE
            return self.finish(v)
        if not isinstance(value, tuple):
            raise SplitBox
        v = self.unknown(*(Fraction(b) for b in value))
        v.grid = 0
        return v

    def range_of(self, b: Bits) -> tuple[int, int]:
        """The smallest and the largest bits (without the offset) of the computed number, which is positive, on this branch."""
        a = self.nodes[b.node]
        smallest, largest = (exact(e) for e in (a.enclosure.lower(), a.enclosure.upper()))
        if a.ends is not None:
            smallest, largest = a.ends
        elif a.exact is not None:  # rounding is monotone
            smallest, largest = (Fraction(nearest(exact(e))) for e in (a.exact.lower(), a.exact.upper()))
        if a.scaled or b.flip or smallest < 0:
            raise SplitBox
        first, last = bits_of(downwards(smallest)), bits_of(upwards(largest))
        if ("bits", b.node) in self.choices:
            part = self.choices["bits", b.node]
            first, last = max(first, part[0]), min(last, part[1])
        if first > last:
            raise EmptyBox
        return first, last

    def high_bits(self, b: Bits, count: int) -> int | tuple[int, int]:
        """(bits + offset) >> count: one number, by a branch if need be. Of the argument, where few bits are dropped, a range."""
        bits = self.range_of(b)
        first, last = ((v + b.offset) >> count for v in bits)
        if first == last:
            return first
        if self.nodes[b.node].ends is not None:
            if count <= 40:
                return (first, last)
            at = ((first + last + 1) // 2 << count) - b.offset
            self.cut_input(b.node, Fraction(double_of(at)), below=False)
        if last - first >= BRANCHES:
            raise SplitBox
        options = []
        for c in range(first, last + 1):
            part = max(bits[0], (c << count) - b.offset), min(bits[1], (c + 1 << count) - 1 - b.offset)
            # Numbers that round to one of these are between their neighbours.
            smallest, largest = (Fraction(double_of(v)) for v in (max(part[0] - 1, 0), part[1] + 1))
            options.append((part, *self.where(self.nodes[b.node], smallest, largest)))
        raise Choice(("bits", b.node), options)

    def shift(self, op: str, args: list) -> Node:
        value, count = self.nodes[args[0]].integer, int(args[1])
        if isinstance(value, int):
            return self.number(signed(SHIFTS[op](value, count)))
        if isinstance(value, OctaveBits) and op != "sll" and count <= 52:
            # (bits of m + offset) >> 52 must be 0, so that k is what the kernel finds.
            of_m = Bits(value.node, value.offset)
            if self.high_bits(of_m, 52) != 0:
                raise EmptyBox
            return self.number(Exponent(0) if count == 52 else Residue(self.high_bits(of_m, count) & 15))
        if op == "sll" or not isinstance(value, Bits):
            raise SplitBox
        return self.number(self.high_bits(value, count))

    def integer(self, op: str, args: list) -> Node:
        a, b = (self.nodes[k].integer for k in args)
        if isinstance(a, int) and isinstance(b, int):
            return self.number(signed(INTEGER[op](a, b)))
        if isinstance(a, OctaveBits):
            if isinstance(b, int) and op in ("iadd", "isub"):
                return self.number(OctaveBits(a.node, a.offset + (b if op == "iadd" else -b)))
            if op == "iand" and b == -(1 << 52) and self.high_bits(Bits(a.node, a.offset), 52) == 0:
                return self.number(Exponent(52))
            if op == "isub" and isinstance(b, Exponent) and b.shift == 52 and a.offset == 0:
                return self.number(Bits(a.node))
            raise NotImplementedError("bits of 2^k m")
        if isinstance(a, int) and op in ("iadd", "iand", "ixor"):
            a, b = b, a
        if isinstance(a, Bits) and isinstance(b, Bits) and op == "isub":
            origin = self.nodes[a.node].origin
            if origin and origin[0] == b.node and not (a.flip or b.flip):
                return self.number(origin[1] + a.offset - b.offset)
            (p, q), (r, t) = self.range_of(a), self.range_of(b)
            away = a.offset - b.offset
            return self.number((p - t + away, q - r + away))
        if isinstance(a, tuple) and isinstance(b, int) and op == "iadd":
            return self.number((a[0] + b, a[1] + b))
        if isinstance(a, Bits) and isinstance(b, int):
            if op in ("iadd", "isub"):
                return self.number(Bits(a.node, a.offset + (b if op == "iadd" else -b), a.flip))
            if op == "ixor" and b in (0, -(2**63)) and a.offset == 0:
                return self.number(Bits(a.node, 0, a.flip != (b != 0)))
            if op == "iand" and b == -(2**63) and a.offset == 0:
                sign = self.sign_of(a.node)
                if not sign:
                    raise SplitBox
                return self.number(-(2**63) if (sign < 0) != a.flip else 0)
            count = (-b).bit_length() - 1
            if op == "iand" and b == -(1 << count):
                high = self.high_bits(a, count)
                if isinstance(high, int):
                    return self.number(signed(high << count))
        raise SplitBox

    def lookup(self, args: list) -> str:
        value = self.nodes[args[0]].integer
        return args[1 + ((value.value if isinstance(value, Residue) else self.whole(args[0])) & 15)]

    def op_lookup(self, args: list) -> Node:
        return self.constant(Fraction(float.fromhex(self.lookup(args))))

    def op_ilookup(self, args: list) -> Node:
        return self.number(int(self.lookup(args)))

    # The sum of |d output/d rho| |rho|.

    def roundings(self, seeds: dict[str, int]) -> arb:
        derivative: list[Model | None] = [None] * len(self.nodes)
        for name, c in seeds.items():
            k, seed = self.graph.outputs[name], Model.const(arb(c))
            derivative[k] = seed if derivative[k] is None else derivative[k] + seed
        total, order = ZERO, Model.order
        Model.order = min(order, DERIVATIVES)
        for i in range(len(self.nodes) - 1, -1, -1):
            d = derivative[i]
            if d is None:
                continue
            v = self.nodes[i]
            if v.rho != 0:
                total = total + up(d.sup() * v.rho)
            for k, part in v.parts:
                if self.nodes[k].const is None:
                    t = d * part.fold()
                    derivative[k] = t if derivative[k] is None else derivative[k] + t
        Model.order = order
        return up(total)
