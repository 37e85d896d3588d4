"""Kernels that take a multiple of pi from their argument: sin, cos and tan.

The graph is cut at the reduced argument r. Up to r every value is a linear form in the argument x and in whole numbers K, which the
kernel finds by adding a large constant, plus an error: Reduction follows these forms through the graph, for all x of a binade and
all K at once. Grids and sizes show which operations are exact; the sizes follow from what is known of each K, that it is nearest to
another form. So r is near t = x - pi times the sum of the K. No number of the binade is nearer to a multiple of pi/2 than the
rational approximations of its unit over pi/2 allow (nearest_multiple), which bounds |t| from below.

From r on the graph is analysed as that of any kernel (engine.py), the argument being t, with an error, and K even or odd. Small
arguments, from which no multiple is taken, are analysed by the whole graph."""

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from flint import arb, arb_poly, ctx

from . import prove
from .engine import Analysis
from .graph import PRECISION, Graph, Interval, Kernel, bits_of, signed
from .prove import Piece, first_boxes
from .taylor import Model, ball, exact, up
from .values import Node, grid_of

BITS, EPSILON = 53, Fraction(1, 2**53)
PI_BITS = 1400
# Up to here the whole graph is analysed; nothing is for cos, from which half of pi is always taken. |t| stays below it.
WHOLE = {"sin": 2, "cos": 0, "tan": 1}
# The smallest binade that is followed on its own. Below, only cos is asked for, and x is small beside t.
MIN_BINADE = -12


@functools.cache
def pi() -> Fraction:
    """To PI_BITS bits."""
    before, ctx.prec = ctx.prec, PI_BITS + 64
    value = exact(arb.pi())
    ctx.prec = before
    return Fraction(math.floor(value * 2**PI_BITS), 2**PI_BITS)


# Above all that pi() instead of pi makes: it is off by 2^-PI_BITS, and is multiplied by numbers below 2^1100.
PI_ERROR = Fraction(1, 2 ** (PI_BITS - 1100))


def last_convergent(alpha: Fraction, largest: int) -> int:
    """The largest denominator up to `largest` of the convergents of alpha."""
    before, last, p, q = 1, 0, alpha.numerator, alpha.denominator
    while q:
        a, rest = divmod(p, q)
        if a * last + before > largest:
            break
        before, last, p, q = last, a * last + before, q, rest
    return last


@functools.cache
def nearest_multiple(exponent: int, bits: int) -> Fraction:
    """A lower bound of |m 2^exponent - j pi/2| for whole m and j, 0 < m < 2^bits: of all these m, the denominator of a convergent of
    2^exponent/(pi/2) comes nearest to a whole number (Lagrange: no m below the next denominator does better)."""
    alpha = Fraction(2) ** (exponent + 1) / pi()
    turns = last_convergent(alpha, 2**bits - 1) * alpha
    return abs(turns - round(turns)) * pi() / 2 - PI_ERROR


# A linear form: coefficients of "x", of the numbers K, and of "1".
Terms = dict


def combined(*parts: tuple[Fraction | int, Terms]) -> Terms:
    total: Terms = {}
    for factor, terms in parts:
        for name, c in terms.items():
            total[name] = total.get(name, Fraction(0)) + factor * c
    return {name: c for name, c in total.items() if c}


@dataclass(frozen=True)
class Form:
    """A computed value, within `absolute` + `relative` |form| of a linear form. It is a multiple of 2^grid (None: unknown) and at most
    `size`. A sum that is exact only up to the size `above` says so."""

    terms: Terms
    grid: int | None
    size: Fraction
    absolute: Fraction = Fraction(0)
    relative: Fraction = Fraction(0)
    above: Fraction | None = None

    def error(self) -> Fraction:
        return self.absolute + self.relative * (self.size + self.absolute) / (1 - self.relative)

    @property
    def constant(self) -> Fraction | None:
        return self.terms.get("1", Fraction(0)) if set(self.terms) <= {"1"} and not self.error() else None


def constant_form(value: Fraction) -> Form:
    return Form(combined((1, {"1": value})), grid_of(value), abs(value))


@dataclass(frozen=True)
class Whole:
    """A number K that the kernel found: |form - unit K| <= within. The rounded value is at least `smallest` from every multiple of the unit."""

    form: Terms
    unit: Fraction
    within: Fraction
    smallest: Fraction = Fraction(0)


class Fork(Exception):
    """Both cases of a sum have to be followed: small enough to be exact, or not."""

    def __init__(self, node: int):
        super().__init__("exact or not")
        self.node = node


class Reduction:
    """The forms of a graph for the numbers low <= |x| <= high, multiples of 2^grid. `small` says of sums whether they are exact."""

    def __init__(self, graph: Graph, low: Fraction, high: Fraction, grid: int, small: dict[int, bool]):
        self.graph, self.low, self.high, self.grid, self.small = graph, low, high, grid, small
        self.wholes: list[Whole] = []
        self.forms: list[Form | None] = []
        self.integers: dict[int, int] = {}
        self.ranges: dict[int, tuple[int, int]] = {}
        self.rounded_products: list[int] = []
        for i, (op, args) in enumerate(graph.nodes):
            self.index = i
            self.forms.append(self.step(op, args))
        self.end, self.signs = self.cut()

    def bound(self, terms: Terms) -> Fraction:
        """Of the size of a form: what is known of each K, the last one first, then of x."""
        total = Fraction(0)
        for i in reversed(range(len(self.wholes))):
            if i in terms:
                whole = self.wholes[i]
                factor = terms[i] / whole.unit  # c K = factor (unit K - form) + factor form
                total += abs(factor) * whole.within
                terms = combined((1, terms), (-factor, {i: whole.unit}), (factor, whole.form))
        return total + abs(terms.get("x", Fraction(0))) * self.high + abs(terms.get("1", Fraction(0)))

    def rounded(self, terms: Terms, grid: int | None, absolute: Fraction, relative: Fraction, largest: Fraction) -> Form:
        """To nearest: an exact result, at most `largest`, that is a multiple of 2^grid and near the form as said. It does not underflow
        (product)."""
        size = min(self.bound(terms) * (1 + relative) + absolute, largest)
        above = None if grid is None else Fraction(2) ** (grid + BITS)
        if above is not None and size > above and self.small.get(self.index):
            size = above
        if above is not None and size <= above:
            return Form(terms, grid, size, absolute, relative)
        absolute, relative = absolute * (1 + EPSILON), relative + EPSILON * (1 + relative)
        return Form(terms, None, size * (1 + EPSILON), absolute, relative, above)

    def step(self, op: str, args: list) -> Form | None:
        if op in ("fast_two_sum_error", "two_sum_error"):
            op, args = args[-2:]
        if op == "input":
            return Form({"x": Fraction(1)}, self.grid, self.high)
        if op == "abs" and self.graph.nodes[args[0]][0] == "input":
            return self.forms[args[0]]  # bounds are the same for both signs; from here on x stands for its size
        if op == "const":
            return constant_form(Fraction(float.fromhex(args[0])))
        if op == "lookup" and args[0] in self.integers:
            return constant_form(Fraction(float.fromhex(args[1 + (self.integers[args[0]] & 15)])))
        if op == "from_bits":
            return self.middle(args[0])
        if op in ("bits", "iconst", "isub", "srl"):
            return self.integer(op, args)
        forms = [self.forms[k] for k in args if isinstance(k, int)]
        if op not in ("add", "sub", "mul", "mad", "nmad") or None in forms:
            return None
        if op in ("add", "sub"):
            a, b = forms
            error, grid = a.error() + b.error(), None if None in (a.grid, b.grid) else min(a.grid, b.grid)
            if 0 in (a.constant, b.constant) and op == "add" or b.constant == 0:
                return a if b.constant == 0 else b
            return self.sum(combined((1, a.terms), (1 if op == "add" else -1, b.terms)), grid, error, forms, a.size + b.size)
        product = self.product(*forms[:2])
        if product is None:
            return None
        terms, grid, absolute, relative, size = product
        if op == "mul":
            return self.rounded(terms, grid, absolute, relative, size)
        c = forms[2]
        error = absolute + relative * size + c.error()
        grid = None if None in (grid, c.grid) else min(grid, c.grid)
        return self.sum(combined((1 if op == "mad" else -1, terms), (1, c.terms)), grid, error, forms, size + c.size)

    def product(self, a: Form, b: Form) -> tuple | None:
        """Terms, grid, errors and size of the exact product with a constant."""
        if a.constant is None:
            a, b = b, a
        if a.constant is None:
            return None
        c, grid = a.constant, None if b.grid is None else b.grid + grid_of(a.constant)
        if grid is None:
            self.rounded_products.append(self.index)  # normal if it is the reduced argument: compared()
        else:
            assert grid >= -1074 or abs(c) * Fraction(2) ** b.grid >= Fraction(1, 2**1022)
        size = abs(c) * (b.size + b.absolute) / (1 - b.relative)
        return combined((c, b.terms)), grid, abs(c) * b.absolute, b.relative, size

    def integer(self, op: str, args: list) -> None:
        """What the tables are indexed by: the exponent of x, one number in the binade."""
        if op == "iconst":
            self.integers[self.index] = int(args[0])
        elif op == "bits":
            if self.graph.nodes[args[0]][0] == "abs" and self.forms[args[0]] is not None:
                self.ranges[self.index] = (bits_of(float(self.low)), bits_of(float(self.high)))
        elif args[0] in self.ranges:
            first, last = self.ranges[args[0]]
            if op == "isub" and args[1] in self.integers:
                self.ranges[self.index] = (first - self.integers[args[1]], last - self.integers[args[1]])
            elif op == "srl" and first >> int(args[1]) == last >> int(args[1]) >= 0:
                self.integers[self.index] = first >> int(args[1])

    def sum(self, terms: Terms, grid: int | None, error: Fraction, forms: list, largest: Fraction) -> Form:
        """A sum; with a large constant in it, that and a K."""
        constants = [f.constant for f in forms if f.constant is not None]
        magic = max(constants, default=Fraction(0))
        if magic < 2**35 or not set(terms) - {"1"}:
            return self.rounded(terms, grid, error, Fraction(0), largest)
        if abs(terms.get("1", Fraction(0))) < 2**30:  # taken away again
            return self.rounded(terms, grid, error, Fraction(0), largest)
        assert abs(math.frexp(float(magic))[0] - 0.75) < 2.0**-30
        unit, form = Fraction(math.ulp(float(magic))), combined((1, terms), (-magic, {"1": Fraction(1)}))
        sums = [
            k for k, f in enumerate(self.forms) if any(f is g for g in forms) and self.graph.nodes[k][0] in ("add", "sub")
        ]
        for k in sums:
            if self.forms[k].above is not None and k not in self.small:
                raise Fork(k)
        size = self.bound(form) + error
        if sums:
            size = min(size, self.forms[sums[0]].size)
        assert size + unit < magic / 4  # the result has the constant's last place
        if size < unit / 2:
            return constant_form(magic)
        self.wholes.append(Whole(form, unit, unit / 2 + error, self.distance(sums, size, unit)))
        return Form({len(self.wholes) - 1: unit, "1": magic}, grid_of(unit), magic + size + unit)

    def distance(self, sums: list[int], size: Fraction, unit: Fraction) -> Fraction:
        """From the multiples of the unit, of a sum that is known to be too large to be exact."""
        for k in sums:
            if self.small.get(k) is False:
                smallest = self.forms[k].above
                assert smallest is not None
                below = math.floor(smallest / unit) * unit
                return max(min(smallest - below, below + unit - size), Fraction(0))
        return Fraction(0)

    def middle(self, k: int) -> Form | None:
        """A number made of the bits of z with the last 16 replaced by 2^15: the middle of 2^16 places, which has z in it."""
        op, args = self.graph.nodes[k]
        if op != "ior" or self.graph.nodes[args[1]] != ("iconst", ["32768"]):
            return None
        op, args = self.graph.nodes[args[0]]
        if op != "iand" or self.graph.nodes[args[1]] != ("iconst", ["-65536"]) or self.graph.nodes[args[0]][0] != "bits":
            return None
        z = self.forms[self.graph.nodes[args[0]][1][0]]
        if z is None or "1" not in z.terms:
            return None
        ((i, unit),) = [(name, c) for name, c in z.terms.items() if name != "1"]
        whole, magic, step = self.wholes[i], z.terms["1"], unit * 2**16
        assert unit == whole.unit and magic % step == 0
        form = combined((1, whole.form), (-step / 2, {"1": Fraction(1)}))
        self.wholes.append(Whole(form, step, whole.within + step / 2))
        return Form({len(self.wholes) - 1: step, "1": magic + step / 2}, grid_of(step / 2), z.size + step)

    def cut(self) -> tuple[int, dict[int, tuple[int, int]]]:
        """The reduced argument, and the nodes whose bits make the sign, with their value for K = 0 and how many of the last bits K even or
        odd decides (the sign of x: none). All paths from the outputs to x pass one of these."""
        ends, signs, stack, seen = set(), {}, list(self.graph.outputs.values()), set()
        while stack:
            k = stack.pop()
            op, args = self.graph.nodes[k]
            form = self.forms[k]
            if k in seen or form is not None and form.constant is not None:
                continue
            seen.add(k)
            if form is not None:
                ends.add(k)
                continue
            if op == "bits" and (z := self.forms[args[0]]) is not None:
                inner = self.graph.nodes[args[0]][0]
                if inner == "input":
                    signs[k] = (0, 0)
                    continue
                if inner == "from_bits" or z.size >= 2**35:
                    signs[k] = (bits_of(float(z.terms["1"])), 17 if inner == "from_bits" else 1)
                    continue
            stack += [a for a in args if isinstance(a, int)]
        (end,) = ends
        return end, signs


@dataclass(frozen=True)
class Bound:
    """|r - t| <= absolute + relative |t|, smallest <= |t| <= largest."""

    absolute: Fraction
    relative: Fraction
    smallest: Fraction
    largest: Fraction


def compared(kernel: Kernel, reduction: Reduction) -> Bound:
    """The form of r beside t = x - pi (sum of the unit K)."""
    form = reduction.forms[reduction.end]
    assert form is not None and set(reduction.rounded_products) <= {reduction.end}
    names = [name for name in form.terms if name not in ("x", "1")]
    if names:
        (ratio,) = {form.terms[name] / reduction.wholes[name].unit for name in names}
    else:
        assert kernel.function != "cos"
        ratio = -pi()
    # The form is factor (t + rest), |rest| as below; half a K is in it for cos.
    factor = -ratio / pi()
    assert form.terms.get("1", 0) == (ratio / 2 if kernel.function == "cos" else 0)
    turns = form.terms["x"] / (factor * pi()) - 1 / pi()
    even = Fraction(2) ** (1 - reduction.grid)  # times x is an even number
    rest = abs(turns - round(turns / even) * even) * pi() * reduction.high + PI_ERROR
    absolute = form.absolute + (1 + form.relative) * factor * rest
    relative = form.relative * factor + abs(factor - 1)
    largest = min(reduction.bound(form.terms), form.size + form.error()) / factor + rest
    if reduction.high <= 1:
        smallest = pi() / 2 - reduction.high - PI_ERROR  # of cos
    else:
        smallest = nearest_multiple(reduction.grid, PRECISION[kernel.format][0])
    for i, whole in enumerate(reduction.wholes):
        if whole.smallest:
            scale = form.terms[i] / whole.unit
            other = reduction.bound(combined((1, form.terms), (-scale, {i: whole.unit}), (scale, whole.form)))
            smallest = max(smallest, (abs(scale) * (whole.smallest - whole.within + whole.unit / 2) - other) / factor - rest)
    assert smallest > 0 and relative < 1 and absolute < smallest / 2
    assert largest < 2 and (kernel.function == "cos" or reduction.low > largest)  # so that no K is 0
    return Bound(*(upwards(v) for v in (absolute, relative)), smallest, upwards(largest))


def binades(kernel: Kernel) -> list[tuple[Fraction, Fraction, int]]:
    """Smallest and largest number and grid."""
    bits, lowest = PRECISION[kernel.format]
    found = []
    for interval in kernel.domain:
        low, high = max(interval.low, Fraction(WHOLE[kernel.function])), interval.high
        if low < Fraction(2) ** MIN_BINADE:
            found.append((low, Fraction(2) ** MIN_BINADE, lowest))
            low = Fraction(2) ** MIN_BINADE
        while low <= high:
            e = math.frexp(float(low))[1]
            grid = max(e - bits, lowest)
            found.append((low, min(high, Fraction(2) ** e - Fraction(2) ** grid), grid))
            low = Fraction(2) ** e
    return found


def upwards(q: Fraction, bits: int = 20) -> Fraction:
    """q or a little more, with few bits."""
    if q == 0:
        return q
    unit = Fraction(2) ** (q.numerator.bit_length() - q.denominator.bit_length() - bits)
    return math.ceil(q / unit) * unit


@dataclass(frozen=True)
class Cut:
    """A graph's reduced argument: its node, the nodes of its signs, and its bounds in each binade."""

    graph: Graph
    end: int
    signs: dict[int, tuple[int, int]]
    bounds: list[Bound]

    def error(self, smallest: Fraction, largest: Fraction) -> Fraction:
        """The largest error of r where smallest <= |t| <= largest, a nearest multiple being so near."""
        here = [b.absolute + b.relative * largest for b in self.bounds if b.smallest <= largest and b.largest >= smallest]
        return max(here, default=Fraction(0))


CUTS: dict[int, Cut] = {}


def cut_of(kernel: Kernel, graph: Graph) -> Cut:
    key = id(graph)  # the graph is kept, so that no other one gets the number
    if key in CUTS and CUTS[key].graph is graph:
        return CUTS[key]
    found, ends = [], set()
    for low, high, grid in binades(kernel):
        cases: list[dict[int, bool]] = [{}]
        while cases:
            small = cases.pop()
            try:
                reduction = Reduction(graph, low, high, grid, small)
            except Fork as fork:
                cases += [{**small, fork.node: True}, {**small, fork.node: False}]
                continue
            found.append(compared(kernel, reduction))
            ends.add((reduction.end, tuple(sorted(reduction.signs.items()))))
    ((end, signs),) = ends
    CUTS[key] = Cut(graph, end, dict(signs), found)
    return CUTS[key]


@dataclass(frozen=True)
class Reduced(Piece):
    """A box of t, and the nodes of signs that count as odd numbers K or as that of x < 0."""

    ones: tuple[int, ...] = ()


@dataclass(frozen=True)
class LastBits:
    """An integer of which the last `count` bits are known."""

    value: int
    count: int


class ReducedAnalysis(Analysis):
    """The graph from the reduced argument on. What comes before is left out."""

    def __init__(self, cut: Cut, fmt: str, low: Fraction, high: Fraction, choices: dict, ones: tuple[int, ...]):
        self.cut, self.ones = cut, ones
        self.needed = nodes_after(cut)
        super().__init__(cut.graph, fmt, low, high, choices)

    def step(self, op: str, args: list) -> Node:
        if self.index == self.cut.end:
            v = Node()
            nearest, farthest = sorted((abs(self.low), abs(self.high)))
            v.model, v.rho = Model(arb_poly([self.centre, self.width])), up(ball(self.cut.error(nearest, farthest)))
            v.E = v.rho
            return self.finish(v)
        if self.index in self.cut.signs:
            value, count = self.cut.signs[self.index]
            one = self.index in self.ones
            if count == 0:
                return self.number(-(2**63) if one else 0)
            return self.number(LastBits((value + (one << count - 1)) % 2**count, count))
        return super().step(op, args) if self.index in self.needed else Node()

    def shift(self, op: str, args: list) -> Node:
        value, count = self.nodes[args[0]].integer, int(args[1])
        if not isinstance(value, LastBits):
            return super().shift(op, args)
        assert op == "sll"
        known = LastBits(value.value << count, value.count + count)
        return self.number(signed(known.value) if known.count >= 64 else known)

    def integer(self, op: str, args: list) -> Node:
        a, b = (self.nodes[k].integer for k in args)
        if not (isinstance(a, LastBits) and isinstance(b, LastBits)):
            return super().integer(op, args)
        assert op == "ixor"
        count = min(a.count, b.count)
        return self.number(LastBits((a.value ^ b.value) % 2**count, count))

    def op_disjoint(self, args: list) -> Node:
        a, b = self.nodes[args[0]].integer, self.whole(args[1])
        if not isinstance(a, LastBits):
            return super().op_disjoint(args)
        assert 0 <= b < 2**a.count
        return self.mask(a.value & b == 0)


def nodes_after(cut: Cut) -> set[int]:
    """The nodes on which the outputs depend, back to the cut."""
    found: set[int] = set()
    stack = list(cut.graph.outputs.values())
    while stack:
        k = stack.pop()
        if k not in found:
            found.add(k)
            stack += [] if k == cut.end or k in cut.signs else [a for a in cut.graph.nodes[k][1] if isinstance(a, int)]
    return found


def of_reduced(kernel: Kernel, analysis: ReducedAnalysis) -> Callable:
    """The function of x as one of t, for K and signs as they are here."""
    odd = sum(node in analysis.ones for node, (_, count) in analysis.cut.signs.items() if count) % 2 == 1
    negative = any(node in analysis.ones for node, (_, count) in analysis.cut.signs.items() if not count)
    if kernel.function == "tan":
        sign = -1 if odd != negative else 1
        return (lambda t: sign * t.cos() / t.sin()) if odd else (lambda t: sign * t.sin() / t.cos())
    # cos: half a pi more than the K say, so that sin t, K = 0, is -cos x.
    sign = -1 if (odd != negative) != (kernel.function == "cos") else 1
    return lambda t: sign * t.sin()


def analyse(kernel: Kernel, graph: Graph, low: Fraction, high: Fraction, choices: dict, piece: Piece) -> Analysis:
    if isinstance(piece, Reduced):
        return ReducedAnalysis(cut_of(kernel, graph), kernel.format, low, high, choices, piece.ones)
    return prove.analyse(kernel, graph, low, high, choices, piece)


def measure(kernel: Kernel, analysis: Analysis, function: Callable) -> tuple[arb, arb]:
    return prove.measure(
        kernel, analysis, of_reduced(kernel, analysis) if isinstance(analysis, ReducedAnalysis) else function
    )


def prove_piece(kernel: Kernel, graph: Graph, piece: Piece, close: float = prove.CLOSE) -> prove.Result:
    """Boxes of t on every branch of the signs."""
    if not isinstance(piece, Reduced):
        return prove.prove_piece(kernel, graph, piece, close)
    cut, result = cut_of(kernel, graph), prove.NOTHING
    if any(b.largest > end_of(kernel) for b in cut.bounds):
        raise RuntimeError(f"{kernel.name}: a reduced argument beyond {float(end_of(kernel))}")
    for n in range(len(cut.signs) + 1):
        for ones in itertools.combinations(cut.signs, n):
            result = result.join(prove.prove_piece(kernel, graph, replace(piece, ones=ones), close))
    return result


def end_of(kernel: Kernel) -> Fraction:
    """Half the distance of the multiples, and 2^-10 of it more."""
    return upwards(pi() / (4 if kernel.function == "tan" else 2) * (1 + Fraction(1, 2**10)))


def start_of(kernel: Kernel) -> Fraction:
    """The distance of the domain's numbers from the multiples that are taken away."""
    bits = PRECISION[kernel.format][0]
    smallest = min(nearest_multiple(grid, bits) for _, high, grid in binades(kernel) if high > 1)
    return -upwards(-smallest)


def all_pieces(kernel: Kernel) -> list[Piece]:
    whole = []
    if WHOLE[kernel.function]:
        inside = [replace(i, high=min(i.high, Fraction(WHOLE[kernel.function]))) for i in kernel.domain]
        whole = [Piece(*box) for i in inside if i.low <= i.high for box in first_boxes(i)]
    near, far = start_of(kernel), end_of(kernel)
    both = (Interval(near, far, Fraction(0)), Interval(-far, -near, Fraction(0)))
    return whole + [Reduced(*box) for interval in both for box in first_boxes(interval)]
