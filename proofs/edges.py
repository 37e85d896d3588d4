"""What the fast phases of f64 store at the edges of the kernels' domains: python -m proofs.edges.

Beside 0, where products underflow, and at single numbers such as 1 for acos the bounds of certificates do not apply, since operations are exact there
or leave their stated ranges. Here the whole fast phase, Ziv's rounding test and the sign included, is recorded and followed with enclosures of the
computed numbers: rounding is monotone, so that the results of an operation on all numbers of two intervals lie between the rounded ends. A number
that is the argument times a power of two, exactly, is known as such; so is the sum of it and what is too small to change it. The argument is a
single number, or any of a binade. Shown is that each lane is undecided, or that the correctly rounded result is stored: the argument, its half
or a number, to which the function is nearer than to any midpoint (`claim`, by ball arithmetic).

The words of simd.h, also outside of their stated ranges. mul_err: a b - p where p = RN(a b) and |a b| >= 2^-968; else within 2^-1070 of it (fewer than 2^5 parts underflow, by 2^-1075 each); 0 where p = a b
and a is 0 or 2^k, k >= 0: b's parts by Veltkamp's splitting are exact, and so are their products with 2^k. quotient(a, b): within 2^-51.9 of
a/b or 2^-1070, and a/b itself for b = 2^k: divided and multiplied it is exact; with an estimate r = (1 + d)/b, |d| < 2^-27.9, it is
RN(a/b + d (a/b - q0)) with q0 = RN(a r), and the last part is below 2^-55.7 |a/b| + 2^-1102, less than a quarter of the last place. Beyond 2^996 both may give a NaN instead, which
every operation passes on, up to Ziv's rounding test, so that the lane is undecided. root(0) = 0."""

import functools
import itertools
import math
import multiprocessing
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from flint import arb, ctx

from . import prove
from .cuts import (
    BELOW_ONE,
    LARGEST,
    OF_ARGUMENT,
    Cut,
    Settled,
    cubic_slope,
    cubic_tail,
    functions,
    halfway,
    hold,
    hold_settled,
    ndtr_tail,
    recorded_calls,
    sigmoid_tail,
    value,
)
from .graph import INTEGER, SHIFTS, Graph, bits_of, double_of, kernels, parse, recorded, signed
from .kinds import hook
from .taylor import ball, exact, pow2, up
from .two import floor_log2
from .values import neighbour

TINY = Fraction(2) ** -1074
UNDERFLOW = Fraction(2) ** -1070
EXACT_FROM = Fraction(2) ** -968
SPLIT = Fraction(2) ** 996  # from there on the parts of a number may overflow, and a word be a NaN
QUOTIENT, ROUGH = Fraction(1, 2**51), Fraction(1, 2**26)
TOP = -(2**63)


class Unknown(Exception):
    """An operation of which nothing is known here."""


def rounded(q: Fraction) -> Fraction:
    if abs(q) > LARGEST:
        raise Unknown("overflow")
    return Fraction(float(q))


def is_power(q: Fraction) -> bool:
    return q > 0 and q.numerator & (q.numerator - 1) == 0 and q.denominator & (q.denominator - 1) == 0


@dataclass(frozen=True)
class Number:
    """All of [low, high], `times` the argument if that is known; it is a NaN where low > high. negative: the sign, of zeros too. unsure: or a NaN."""

    low: Fraction
    high: Fraction
    times: Fraction | None = None
    negative: bool | None = None
    unsure: bool = False

    @property
    def const(self) -> Fraction | None:
        return self.low if self.low == self.high else None

    @property
    def nan(self) -> bool:
        return self.low > self.high

    @property
    def size(self) -> Fraction:
        return max(abs(self.low), abs(self.high))


NAN = Number(Fraction(1), Fraction(-1))


@dataclass(frozen=True)
class Integer:
    """A number's bits, with another sign if `flip`, or an integer, or only its top bit, or between which it lies."""

    value: int | None = None
    of: Number | None = None
    flip: bool = False
    top: bool | None = None
    ends: tuple[int, int] | None = None


def number(low: Fraction, high: Fraction, times: Fraction | None = None, negative: bool | None = None) -> Number:
    if negative is None and (low > 0 or high < 0):
        negative = high < 0
    return Number(low, high, times, negative)


class Lane:
    """The nodes of a graph for `name` in [low, high], which are of one binade, or one number; `others` are numbers. A zero has the sign of `negative`."""

    def __init__(self, graph: Graph, low: Fraction, high: Fraction, name: str, others: dict[str, Number], negative: bool):
        self.graph, self.others, self.name = graph, others, name
        self.argument = number(low, high, Fraction(1) if low != high else None, negative)
        smallest = min(abs(low), abs(high))
        self.place = max(Fraction(2) ** (floor_log2(smallest) - 52), TINY) if smallest else TINY
        self.least_place = self.place / 2 if smallest > Fraction(2) ** -1022 else self.place
        self.nodes: list = []
        for op, args in graph.nodes:
            rest = self.error_of_sum(op, args)
            if op in ("fast_two_sum_error", "two_sum_error"):
                op, args = args[-2:]
            self.nodes.append(self.step(op, args))
            if rest is not None and self.nodes[-1].size > rest:
                self.nodes[-1] = number(-rest, rest)

    def error_of_sum(self, op: str, args: list) -> Fraction | None:
        """The most that a sum by Knuth's or Dekker's algorithm is off, where that is exact and no number of the interval overflows."""
        if op not in ("fast_two_sum_error", "two_sum_error"):
            return None
        a, b, s = (self.nodes[k] for k in args[:3])
        if (
            a.nan
            or b.nan
            or s.nan
            or op == "fast_two_sum_error"
            and min(abs(a.low), abs(a.high)) * (a.low * a.high > 0) < b.size
        ):
            return None
        return s.size * Fraction(1, 2**53)

    def step(self, op: str, args: list):
        if op in INTEGER:
            return self.integer(op, *(self.nodes[k] for k in args))
        if op in SHIFTS:
            a = self.nodes[args[0]]
            return (
                Integer(signed(SHIFTS[op](a.value, int(args[1]))))
                if a.value is not None
                else self.shifted(op, a, int(args[1]))
            )
        if op in ("input", "const", "iconst", "lookup", "ilookup"):
            return getattr(self, "op_" + op)(args)
        values = [self.nodes[k] for k in args]
        if op not in ("select", "lt", "le", "eq", "ne", "unord") and any(isinstance(v, Number) and v.nan for v in values):
            if op in ("min", "max", "bits"):
                raise Unknown("a NaN")
            return NAN
        if op == "mul_err":
            product = self.graph.nodes[args[2]]
            found = self.error_of_product(*values, product[0] == "mul" and sorted(product[1]) == sorted(args[:2]))
        elif hasattr(self, "op_" + op):
            found = getattr(self, "op_" + op)(*values)
        else:
            raise Unknown(op)
        if any(isinstance(v, Number) and v.unsure for v in values):
            # What may be a NaN stays so; a comparison with it may be false.
            if isinstance(found, Number) and op not in ("min", "max"):
                return replace(found, unsure=True)
            if op in ("lt", "le", "eq"):
                return False if found is False else None
            if op == "ne":
                return True if found is True else None
            raise Unknown("what may be a NaN")
        return found

    # Numbers.

    def op_input(self, args: list) -> Number:
        return self.argument if args[0] == self.name else self.others[args[0]]

    def op_const(self, args: list) -> Number:
        value = float.fromhex(args[0])
        # An infinity is only compared here: a sum or product with it is not rounded, and stops.
        c = Fraction(value) if value - value == 0 else Fraction(2) ** 1100 * (1 if value > 0 else -1)
        return Number(c, c, None, args[0].startswith("-"))

    def same_sum(self, v: Number, rest: Fraction) -> bool:
        """Whether v plus anything of at most `rest` in size rounds to v, v being the argument times a power of two."""
        return v.times is not None and rest < (self.least_place * abs(v.times) if self.place > TINY else TINY) / 2

    def total(self, a: Number, b: Number) -> Number:
        """a + b, where b need not be a number of the format: exact, then rounded."""
        for p, q in ((a, b), (b, a)):
            if q.const == 0:
                if p.const == 0:
                    negative = False if False in (p.negative, q.negative) else True if p.negative and q.negative else None
                    return Number(Fraction(0), Fraction(0), None, negative)
                return number(rounded(p.low), rounded(p.high), p.times)
            if self.same_sum(p, q.size):
                return p
        if a.times is not None and b.times is not None:
            times = a.times + b.times
            if times == 0:
                return Number(Fraction(0), Fraction(0), None, False)
            found = self.multiple(times)
            if found is not None:
                return found
        zero = False if a.const is not None and a.const == -(b.const if b.const is not None else a.const + 1) else None
        return number(rounded(a.low + b.low), rounded(a.high + b.high), None, zero)

    def multiple(self, times: Fraction) -> Number | None:
        """times the argument, if that is a number whatever the argument is."""
        ends = sorted((times * self.argument.low, times * self.argument.high))
        if not is_power(abs(times)) or self.place * abs(times) < 2 * TINY and abs(times) < 1 or max(map(abs, ends)) > LARGEST:
            return None
        return number(*ends, times, self.argument.negative ^ (times < 0))

    def op_add(self, a: Number, b: Number) -> Number:
        return self.total(a, b)

    def op_neg(self, a: Number) -> Number:
        return Number(-a.high, -a.low, None if a.times is None else -a.times, None if a.negative is None else not a.negative)

    def op_sub(self, a: Number, b: Number) -> Number:
        return self.total(a, self.op_neg(b))

    def product(self, a: Number, b: Number) -> Number:
        """Exact, not rounded."""
        ends = [p * q for p in (a.low, a.high) for q in (b.low, b.high)]
        negative = None if None in (a.negative, b.negative) else a.negative ^ b.negative
        found = number(min(ends), max(ends), None, negative)
        for p, q in ((a, b), (b, a)):
            if p.const and q.times is not None and (made := self.multiple(p.const * q.times)) is not None:
                return made
        return found

    def op_mul(self, a: Number, b: Number) -> Number:
        p = self.product(a, b)
        return p if p.times is not None else number(rounded(p.low), rounded(p.high), None, p.negative)

    def op_mad(self, a: Number, b: Number, c: Number) -> Number:
        return self.total(self.product(a, b), c)

    def op_nmad(self, a: Number, b: Number, c: Number) -> Number:
        return self.total(self.op_neg(self.product(a, b)), c)

    def error_of_product(self, a: Number, b: Number, p: Number, rounds: bool) -> Number:
        """rounds: p is RN(a b)."""
        exact = self.product(a, b)
        zero = Number(Fraction(0), Fraction(0))
        if max(a.size, b.size, exact.size) >= SPLIT:
            zero = replace(zero, unsure=True)
        if p.const == 0 and 16 * exact.size < TINY:
            return zero  # as every product of parts is
        for factor, other in ((a, b), (b, a)):
            if factor.const and is_power(abs(factor.const)) and abs(factor.const) >= 1:
                same = other.times is not None and p.times == factor.const * other.times
                if same or other.const is not None and p.const == factor.const * other.const:
                    return zero
        if rounds and None not in (a.const, b.const, p.const) and EXACT_FROM <= abs(exact.low) and not zero.unsure:
            return number(exact.low - p.low, exact.low - p.low)
        if rounds:
            rest = exact.size * Fraction(1, 2**52) + UNDERFLOW
            return replace(number(-rest, rest), unsure=zero.unsure)
        rest = (exact.size + p.size) * Fraction(1, 2**49) + UNDERFLOW
        return replace(number(exact.low - p.high - rest, exact.high - p.low + rest), unsure=zero.unsure)

    def op_quotient(self, a: Number, b: Number) -> Number:
        if not (b.low > 0 and Fraction(1, 2**500) <= b.low and b.high <= 2**500):
            raise Unknown("a quotient by what may be 0")
        if a.const == 0:
            return Number(Fraction(0), Fraction(0), None, a.negative)
        if b.const is not None and is_power(b.const):
            found = self.multiple(a.times / b.const) if a.times is not None else None
            if found is not None or a.const is not None:
                found = found or number(rounded(a.const / b.const), rounded(a.const / b.const))
                return replace(found, unsure=max(a.size, found.size) >= SPLIT)
        if a.size > Fraction(2) ** 500:
            raise Unknown("a quotient of a large number")
        ends = [p / q for p in (a.low, a.high) for q in (b.low, b.high)]
        off = max(map(abs, ends)) * QUOTIENT + UNDERFLOW
        return number(min(ends) - off, max(ends) + off)

    def op_rough_reciprocal(self, b: Number) -> Number:
        if not b.low > 0:
            raise Unknown("a reciprocal of what may be 0")
        return number((1 - ROUGH) / b.high, (1 + ROUGH) / b.low)

    op_reciprocal = op_rough_reciprocal

    def op_root(self, a: Number) -> Number:
        if a.const == 0:
            return Number(Fraction(0), Fraction(0), None, False)
        low, high = self.roots(a)
        return number(low * (1 - QUOTIENT), high * (1 + QUOTIENT))

    def roots(self, a: Number) -> tuple[Fraction, Fraction]:
        if not Fraction(1, 2**1000) <= a.low <= a.high <= 2**1000:
            raise Unknown("a root of what may be 0")
        scale = 1 << 600
        low, high = (math.isqrt(v * scale * scale // 1) for v in (a.low, a.high))
        return Fraction(low, scale), Fraction(high + 1, scale)

    def op_rough_rsqrt(self, a: Number) -> Number:
        """With the root of 0 comes between 2^499 and 2^501."""
        if a.const == 0:
            return number(Fraction(2**499), Fraction(2**501))
        low, high = self.roots(a)
        return number((1 - ROUGH) / high, (1 + ROUGH) / low)

    op_rsqrt = op_rough_rsqrt

    def op_abs(self, a: Number) -> Number:
        if a.negative is not None:
            return self.op_neg(a) if a.negative else a
        return Number(Fraction(0), a.size, None, False)

    def op_copysign(self, a: Number, b: Number) -> Number:
        size = self.op_abs(a)
        if b.negative is None:
            return number(-size.high, size.high)
        return self.op_neg(size) if b.negative else size

    def ordered(self, a: Number, b: Number, want: int) -> Number:
        if want * a.high <= want * b.low and want > 0 or want < 0 and a.low >= b.high:
            return a
        if want * b.high <= want * a.low and want > 0 or want < 0 and b.low >= a.high:
            return b
        pick = min if want > 0 else max
        return number(pick(a.low, b.low), pick(a.high, b.high))

    def op_min(self, a: Number, b: Number) -> Number:
        return self.ordered(a, b, 1)

    def op_max(self, a: Number, b: Number) -> Number:
        return self.ordered(a, b, -1)

    # Masks: True, False, or None.

    def op_lt(self, a: Number, b: Number) -> bool | None:
        return False if a.nan or b.nan or a.low >= b.high else True if a.high < b.low else None

    def op_le(self, a: Number, b: Number) -> bool | None:
        return False if a.nan or b.nan or a.low > b.high else True if a.high <= b.low else None

    def op_eq(self, a: Number, b: Number) -> bool | None:
        if a.nan or b.nan or a.high < b.low or b.high < a.low:
            return False
        return True if a.const is not None and a.const == b.const or a.times is not None and a.times == b.times else None

    def op_ne(self, a: Number, b: Number) -> bool | None:
        return self.op_mnot(self.op_eq(a, b))

    def op_unord(self, a: Number, b: Number) -> bool:
        return a.nan or b.nan

    def op_mnot(self, m: bool | None) -> bool | None:
        return None if m is None else not m

    def op_mand(self, a: bool | None, b: bool | None) -> bool | None:
        return False if False in (a, b) else None if None in (a, b) else True

    def op_mor(self, a: bool | None, b: bool | None) -> bool | None:
        return True if True in (a, b) else None if None in (a, b) else False

    def op_mandnot(self, a: bool | None, b: bool | None) -> bool | None:
        return self.op_mand(a, self.op_mnot(b))

    def op_select(self, m: bool | None, a, b):
        if m is not None:
            return a if m else b
        if isinstance(a, Integer):
            raise Unknown("a selection")
        if a.nan or b.nan:
            return replace(b if a.nan else a, unsure=True)
        times = a.times if a.times == b.times else None
        return number(min(a.low, b.low), max(a.high, b.high), times, a.negative if a.negative == b.negative else None)

    # Integers.

    def op_iconst(self, args: list) -> Integer:
        return Integer(int(args[0]))

    def op_bits(self, a: Number) -> Integer:
        if a.const is not None and (a.const or a.negative is not None):
            b = bits_of(float(abs(a.const)))
            return Integer(b + TOP if a.negative else b)
        ends = (bits_of(float(a.low)), bits_of(float(a.high))) if a.negative is False else None
        return Integer(None, a, False, a.negative, ends)

    def op_from_bits(self, a: Integer) -> Number:
        if a.of is not None:
            return self.op_neg(a.of) if a.flip else a.of
        if a.value is None:
            if a.ends is None or not 0 <= a.ends[0] <= a.ends[1] <= bits_of(float(LARGEST)):
                raise Unknown("unknown bits")
            return number(*(Fraction(double_of(v)) for v in a.ends))
        v = double_of(a.value)
        if v - v != 0:
            if v == v:
                raise Unknown("an infinity")
            return NAN
        return Number(Fraction(v), Fraction(v), None, a.value < 0)

    def op_to_f64(self, a: Integer) -> Number:
        if a.value is None:
            raise Unknown("an unknown integer")
        return number(rounded(Fraction(a.value)), rounded(Fraction(a.value)), None, a.value < 0)

    def shifted(self, op: str, a: Integer, count: int) -> Integer:
        if op == "sll" or a.ends is None or a.ends[0] < 0:
            return Integer()
        first, last = (v >> count for v in a.ends)
        return Integer(first) if first == last else Integer(ends=(first, last))

    def integer(self, op: str, a: Integer, b: Integer) -> Integer:
        if a.value is not None and b.value is not None:
            return Integer(signed(INTEGER[op](a.value, b.value)))
        if op in ("iadd", "isub"):
            ends = [(v.value, v.value) if v.value is not None else v.ends for v in (a, b)]
            if None in ends:
                return Integer()
            (first, last), other = ends[0], ends[1] if op == "iadd" else (-ends[1][1], -ends[1][0])
            first, last = first + other[0], last + other[1]
            return Integer(ends=(first, last)) if TOP <= first <= last < -TOP else Integer()
        if a.value is not None:
            a, b = b, a
        if b.value is None:
            if op == "ixor" and None not in (a.top, b.top):
                return Integer(top=a.top ^ b.top)
            return Integer()
        if op == "iand" and b.value == TOP and a.top is not None:
            return Integer(TOP if a.top else 0)
        if op == "iand" and b.value == 0:
            return Integer(0)
        if op == "ixor":
            top = None if a.top is None else a.top ^ (b.value < 0)
            return Integer(None, a.of, a.flip ^ (b.value == TOP), top) if b.value in (0, TOP) else Integer(top=top)
        return Integer()

    def op_ltu(self, a: Integer, b: Integer) -> bool | None:
        return a.value % 2**64 < b.value % 2**64 if None not in (a.value, b.value) else None

    def op_ieq(self, a: Integer, b: Integer) -> bool | None:
        return a.value == b.value if None not in (a.value, b.value) else None

    def row(self, args: list) -> str:
        k = self.nodes[args[0]].value
        if k is None:
            raise Unknown("a row of a table")
        return args[1 + (k & 15)]

    def op_lookup(self, args: list) -> Number:
        return self.op_const([self.row(args)])

    def op_ilookup(self, args: list) -> Integer:
        return Integer(int(self.row(args)))


# What the fast phase is shown to store: the argument, half of it, nothing (undecided), or the number nearest to a constant.
Value = Callable[[], arb]
CONSTANTS: dict[str, Value] = {
    "0": lambda: arb(0),
    "1": lambda: arb(1),
    "pi/2": lambda: arb.pi() / 2,
    "-pi/2": lambda: -arb.pi() / 2,
    "pi": lambda: arb.pi(),
    "1/2": lambda: arb(1) / 2,
    "-1/2": lambda: arb(-1) / 2,
}


@dataclass(frozen=True)
class Edge:
    """Every x from low to high, and those of the other sign if `both`; a gradient for every g, which takes the place of x then."""

    function: str
    low: Fraction
    high: Fraction
    result: str  # "x", "undecided", "g", "g/2", or a constant's name
    both: bool = False

    @property
    def gradient(self) -> bool:
        return functions()[self.function]


# Beyond, a product has an infinity or a NaN for a result, so that the comparison with the limit of exact products gives a NaN for a bound.
EXACT, LARGEST_FACTOR = Fraction(2) ** 1020, Fraction(2) ** 1021
# Between these the argument of the exponential in gelu_tanh passes 670, to which it is cut.
CROSSED = Fraction(20.7435), Fraction(20.74352)
ZERO, ONE, BELOW = Fraction(0), Fraction(1), neighbour(Fraction(1, 2**960), "f64", -1)
EDGES = [
    *(Edge(name, TINY, BELOW, "x", both=True) for name in ("expm1", "sin", "tan", "sinh")),
    *(
        Edge(name, ZERO, ZERO, "x")
        for name in (
            "expm1",
            "sin",
            "tan",
            "tanpi",
            "sinh",
            "log1p",
            "log2p1",
            "log10p1",
            "erfinv",
            "gelu",
            "silu",
            "gelu_tanh",
        )
    ),
    *(Edge("cos", *ends, "1", both=True) for ends in ((ZERO, ZERO), (TINY, BELOW))),
    *(Edge("acos", *ends, "pi/2", both=True) for ends in ((ZERO, ZERO), (TINY, BELOW))),
    *(Edge(name, TINY, neighbour(Fraction(1, 2**959), "f64", -1), "undecided", both=True) for name in ("silu", "gelu_tanh")),
    Edge("asin", ONE, ONE, "pi/2"),
    Edge("asin", -ONE, -ONE, "-pi/2"),
    Edge("acos", ONE, ONE, "0"),
    Edge("acos", -ONE, -ONE, "pi"),
    *(Edge("acospi", *ends, "1/2", both=True) for ends in ((ZERO, ZERO), (TINY, BELOW))),
    Edge("asinpi", ONE, ONE, "1/2"),
    Edge("asinpi", -ONE, -ONE, "-1/2"),
    Edge("acospi", ONE, ONE, "0"),
    Edge("acospi", -ONE, -ONE, "1"),
    Edge("acosh", ONE, ONE, "0"),
    Edge("ndtri", ONE / 2, ONE / 2, "0"),
    Edge("gelu_tanh_backward", ZERO, ZERO, "g/2"),
    Edge("softplus_backward", Fraction(700), LARGEST, "g"),
    Edge("log_sigmoid_backward", -LARGEST, Fraction(-700), "g"),
    Edge("silu_backward", Fraction(700), LARGEST, "g"),
    Edge("gelu_backward", Fraction(34), LARGEST, "g"),
    Edge("gelu_tanh_backward", *CROSSED, "g"),
    Edge("gelu_tanh_backward", CROSSED[1], LARGEST, "g"),
    Edge("silu", Fraction(700), LARGEST, "x"),
    Edge("gelu", Fraction(73, 2), LARGEST, "x"),
    Edge("gelu_tanh", *CROSSED, "x"),
    Edge("gelu_tanh", CROSSED[1], LARGEST, "x"),
    Edge("softplus", Fraction(1000), LARGEST, "x"),
    Edge("log_sigmoid", -LARGEST, Fraction(-1000), "x"),
]


# Numbers beyond the domain of a certificate, up to where the kernel is entered or an edge begins: the bound is proved for them here, as there.
BEYOND = {
    "erfcx_dd": (Fraction(-25.8), Fraction(math.nextafter(-25.8, 0))),
    "erfc_dd": (Fraction(math.nextafter(25.8, 0)), Fraction(25.8)),
    "gelu_tanh_dd": (Fraction(math.nextafter(20.7, 0)), CROSSED[0]),
    "gelu_tanh_backward_dd": (Fraction(math.nextafter(20.7, 0)), CROSSED[0]),
}


def bound_beyond(name: str, fma: bool, text: str | None = None) -> arb:
    """The largest error over the kernel's bound at the numbers beyond; `text`: another graph."""
    kernel, (low, high) = kernels()[name], BEYOND[name]
    parsed, cuts = parse(text or recorded(name), fma), 10
    result = prove.NOTHING
    for i in range(cuts):
        piece = prove.Piece(low + (high - low) * i / cuts, low + (high - low) * (i + 1) / cuts)
        result = result.join(hook(kernel.kind, "prove_piece")(kernel, parsed, piece))
    return result.ratio


def less_one(s: arb, p: arb) -> arb:
    """(1 - s) (1 + p s) - 1."""
    return p * s - s - p * s * s


# Where a result is the factor or the argument: the function over it, less 1.
DISTANCES: dict[str, Callable[[arb], arb]] = {
    "softplus_backward": sigmoid_tail,
    "log_sigmoid_backward": lambda x: sigmoid_tail(-x),
    "silu_backward": lambda x: less_one(sigmoid_tail(x), x),
    "gelu_backward": lambda x: ndtr_tail(x) - x * (-x * x / 2).exp() / (2 * arb.pi()).sqrt(),
    "gelu_tanh_backward": lambda x: less_one(cubic_tail(x), x * cubic_slope(x)),
    "silu": sigmoid_tail,
    "gelu": ndtr_tail,
    "gelu_tanh": cubic_tail,
    "softplus": lambda x: (-x).exp().log1p() / x,
    "log_sigmoid": lambda x: x.exp().log1p() / x,
}


@functools.cache
def fast_graph(name: str, fma: bool) -> Graph:
    """rm_<f>_fast_f64, both parts of its branches."""
    call = "{ rec_both_branches = 1; vf64 a[2] = { {x} }; m = rm_{name}_fast_f64(a, &y); "
    return parse(recorded_calls([name], call + 'printf("out undecided #%d\\nout y #%d\\n", m.id, y.id); }')[name], fma)


def binades(low: Fraction, high: Fraction) -> list[tuple[Fraction, Fraction]]:
    """Of the limit of exact products, which belongs to the numbers below it, the rest of its binade is apart."""
    found = []
    while low <= high:
        power = Fraction(2) ** floor_log2(low)
        last = min(low if low == EXACT else 2 * power - max(power / 2**52, TINY), high)
        found.append((low, last))
        low = last + max(power / 2**52, TINY)
    return found


def parts(edge: Edge) -> list[tuple[Fraction, Fraction, bool]]:
    """Intervals of the number that varies, and its sign."""
    if edge.gradient:
        ends = [(ZERO, ZERO), *binades(TINY, LARGEST_FACTOR)]
    elif edge.low == edge.high:
        ends = [(abs(edge.low), abs(edge.low))]
    else:
        ends = binades(*sorted((abs(edge.low), abs(edge.high))))
    signs = (False, True) if edge.gradient or edge.low == 0 or edge.both else (edge.low < 0,)
    return [(-high, -low, True) if negative else (low, high, False) for low, high in ends for negative in signs]


def nearest_to(value: arb) -> Fraction:
    low, high = (float(exact(v)) for v in (value.lower(), value.upper()))
    assert low == high
    return Fraction(low)


def stored(edge: Edge, fma: bool, low: Fraction, high: Fraction, negative: bool, graph: Graph | None = None) -> bool:
    """Whether each lane is undecided or stores the edge's result."""
    graph = graph or fast_graph(edge.function, fma)
    zero = Number(ZERO, ZERO, None, negative=False)
    others = {"x": Number(edge.low, edge.high, None, edge.low < 0)} if edge.gradient else {}
    lane = Lane(graph, low, high, "g" if edge.gradient else "x", others | {"other": zero}, negative)
    undecided, y = (lane.nodes[graph.outputs[name]] for name in ("undecided", "y"))
    if undecided is True:
        return True
    if edge.result == "undecided" or y.nan:
        return False
    if edge.result in ("x", "g", "g/2"):
        factor = Fraction(1, 2) if edge.result == "g/2" else Fraction(1)
        if low == high == 0:
            return y.const == 0 and y.negative is negative
        return y.times == factor or low == high and y.const == factor * low
    ctx.prec = 160
    expected = nearest_to(CONSTANTS[edge.result]())
    return y.const == expected and (expected != 0 or y.negative is False)


def hold_claim(edge: Edge) -> None:
    """That the result is the correctly rounded one; raises where it is not shown. (That of "undecided" is no claim; f(0) = 0 of functions that are 0 there.)"""
    ctx.prec = 320
    if edge.function in DISTANCES and edge.result in ("g", "x") and edge.low != 0:
        ends = sorted((abs(edge.low), abs(edge.high)))
        sign = -1 if edge.low < 0 else 1
        hold(Cut(edge.function, *ends, lambda x: DISTANCES[edge.function](sign * x), OF_ARGUMENT, edge.result))
        return
    if edge.result == "x" and edge.low != 0:
        for ends in ((edge.low, edge.high), (-edge.high, -edge.low)):
            hold_settled(Settled(edge.function, *ends, "x"))
        return
    if edge.result == "undecided":
        return
    middle, half = ball((edge.high + edge.low) / 2), ball((edge.high - edge.low) / 2)
    if edge.low == TINY:
        middle, half = arb(0), ball(edge.high)
    x = middle + arb(0, up(half))
    inverse = {"acos": x.acos, "asin": x.asin, "acosh": x.acosh, "ndtri": lambda: x - arb(0).erfc() / 2}
    inverse |= {"acospi": lambda: x.acos() / arb.pi(), "asinpi": lambda: x.asin() / arb.pi()}
    f = inverse[edge.function]() if edge.function in inverse else value(edge.function, x)
    if edge.result == "g/2":
        distance, room = abs(f - arb(1) / 2), pow2(-200)
    else:
        distance = abs(f - CONSTANTS["0" if edge.result == "x" else edge.result]())
        room = {"1": BELOW_ONE, "pi/2": halfway()}.get(edge.result, pow2(-200))
    if not distance < room:
        raise AssertionError(f"{edge.function}: not {edge.result} at {float(edge.low)}")


def check(edges: list[Edge] = EDGES, step: int = 1) -> dict[str, int]:
    """How many intervals were shown, by function: every step-th of those of an edge, the last one always."""
    found: dict[str, int] = {}
    for edge in edges:
        hold_claim(edge)
        chosen = parts(edge)
        chosen = chosen[::step] + ([chosen[-1]] if (len(chosen) - 1) % step else [])
        for fma, part in itertools.product((True, False), chosen):
            if not stored(edge, fma, *part):
                low, high = float(part[0]), float(part[1])
                raise AssertionError(f"{edge.function}: not {edge.result} between {low.hex()} and {high.hex()}, fma {fma}")
            found[edge.function] = found.get(edge.function, 0) + 1
    return found


def main() -> int:
    for name, fma in itertools.product(BEYOND, (True, False)):
        ratio = bound_beyond(name, fma)
        assert ratio <= 1, name
        print(f"{name} beyond its certificate: {float(ratio):.3f} of the bound")
    with multiprocessing.Pool() as pool:
        for edge, found in zip(EDGES, pool.imap(check, [[edge] for edge in EDGES]), strict=True):
            print(
                f"{edge.function}: {edge.result} from {float(edge.low):g} to {float(edge.high):g}, {found[edge.function]} intervals"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
