"""cbrt and rsqrt in f64 for all normal numbers, from one octave of 8 resp. 4: dd_one_octave.

Lemma. Let x = B^a y, 1 <= y < B, B = 8 or 4. The kernel computes for x the same numbers as for y, each times 2^(d a) with an integer d, its
degree, and so hi, lo, err, the function and the rounding of lo + err (below) scale alike. What is checked here, on the recorded graph:

cbrt: the integer k, from which the table entries and the power of two follow, is greater by 16 a, for each of the 2046 2^12 values that the leading
bits of a normal number have, with fused operations and without (multiples_of_16). Then m is the same number, and with it all that is
computed before the scaling.

Both: the operands of every sum have one degree, and the exact result of every operation is a multiple of 2^g for y, so of 2^(g + d a) for x,
g + d a >= -1074 for all a of the range: no underflow changes a rounding (degrees). The word rsqrt gives any number within a relative bound,
for x as for y, and an exact product asks for factors below 2^996 and a product of at least 2^-968: x is below 2^996, and x r, x r^2 are
roots of x and near 1; in cbrt all factors are of degree 0.

The sum lo + err of the rounding test is such a multiple too, as both are."""

import functools
import math
from fractions import Fraction

import numpy as np
from flint import arb

from . import composed, prove
from .graph import Graph, Interval, Kernel, parse, recorded
from .values import grid_of

BASE = {"cbrt": 8, "rsqrt": 4}


def constants(graph: Graph) -> tuple[float, float]:
    """Of k: its factor and what is added, as the kernel has them."""
    ((count, factor, magic),) = [args for op, args in graph.nodes if op == "mad" and graph.nodes[args[0]][0] == "to_f64"]
    assert graph.nodes[graph.nodes[count][1][0]] == ("srl", [graph.nodes.index(("bits", [abs_of_x(graph)])), "40"])
    c, m = (float.fromhex(graph.nodes[k][1][0]) for k in (factor, magic))
    return c, m


def abs_of_x(graph: Graph) -> int:
    return graph.nodes.index(("abs", [graph.nodes.index(("input", ["x"]))]))


@functools.cache
def multiples_of_16(text: str) -> tuple[int, int]:
    """That k of 8 x is k of x plus 16, and the range of k. l = 2^12 (exponent + 1023) + leading bits; k is the integer nearest to c l + C,
    where the sum with C has units of 1."""
    c, magic = constants(parse(text, True))
    assert 2**52 < magic < 2**53 and magic == int(magic)
    leading = np.arange(1 << 12, 2047 << 12, dtype=np.int64)
    whole = leading.astype(np.float64)
    plain = (whole * c + magic).astype(np.int64) - 3 * 2**51
    # Fused: l c exactly, as two integers; RN to an integer is floor(l c + 1/2), there being no ties.
    n, shift = Fraction(c).numerator, grid_of(Fraction(c)) * -1
    assert n < 2**53 and shift > 40
    low = leading * (n & (2**26 - 1))
    high = leading * (n >> 26) + (low >> 26)
    rest, unit = (high & (2 ** (shift - 26) - 1)), 2 ** (shift - 26)
    tie = (rest == unit // 2) & ((low & (2**26 - 1)) == 0)
    assert not tie.any()
    fused = ((high + unit // 2) >> (shift - 26)) + int(magic) - 3 * 2**51
    for k in (plain, fused):
        assert (k[3 << 12 :] == k[: -3 << 12] + 16).all()
    return int(min(plain.min(), fused.min())), int(max(plain.max(), fused.max()))


def powers_of_two(kernel: Kernel) -> range:
    """Every a, x being B^a y."""
    if kernel.function == "cbrt":
        smallest, largest = multiples_of_16(recorded(kernel.name))
        return range(smallest >> 4, (largest >> 4) + 1)
    (interval,) = kernel.domain
    smallest, largest = (math.frexp(float(end))[1] - 1 for end in (interval.low, interval.high))
    return range(smallest // 2, largest // 2 + 1)


class Degrees:
    """(degree, grid, size) of every value for y: a multiple of 2^grid, at most 2^size; a 2^degree is the value's factor for B y."""

    def __init__(self, graph: Graph, function: str, scalings: range):
        self.graph, self.function, self.scalings = graph, function, scalings
        self.found: dict[int, tuple[int, int, int]] = {}
        for k in graph.outputs.values():
            self.value(k)

    def value(self, k: int) -> tuple[int, int, int]:
        if k not in self.found:
            op, args = self.graph.nodes[k]
            degree, grid, size = v = getattr(self, "op_" + op)(args)
            assert all(grid + degree * a >= -1074 for a in (self.scalings[0], self.scalings[-1])), (op, v)
            self.found[k] = v
        return self.found[k]

    def op_const(self, args: list) -> tuple[int, int, int]:
        q = Fraction(float.fromhex(args[0]))
        return 0, grid_of(q), grid_of(q) + abs(q / Fraction(2) ** grid_of(q)).numerator.bit_length()

    def op_mul(self, args: list) -> tuple[int, int, int]:
        a, b = (self.value(k) for k in args)
        return a[0] + b[0], a[1] + b[1], a[2] + b[2]

    def op_mul_err(self, args: list) -> tuple[int, int, int]:
        assert self.graph.nodes[args[2]] == ("mul", args[:2])
        return self.op_mul(args[:2])

    def op_sub(self, args: list) -> tuple[int, int, int]:
        return self.total(*(self.value(k) for k in args))

    op_add = op_sub

    def op_nmad(self, args: list) -> tuple[int, int, int]:
        return self.total(self.op_mul(args[:2]), self.value(args[2]))

    op_mad = op_nmad

    def op_fast_two_sum_error(self, args: list) -> tuple[int, int, int]:
        return getattr(self, "op_" + args[-2])(args[-1])

    def total(self, a: tuple, b: tuple) -> tuple[int, int, int]:
        assert a[0] == b[0], "a sum of values of different degrees"
        return a[0], min(a[1], b[1]), max(a[2], b[2]) + 1

    # What each kernel begins with.

    def op_input(self, args: list) -> tuple[int, int, int]:
        assert self.function == "rsqrt"
        return 2, -52, 2

    def op_rsqrt(self, args: list) -> tuple[int, int, int]:
        """Between 1/4 and 2."""
        assert self.graph.nodes[args[0]][0] == "input"
        return -1, -2 - 52, 1

    def op_rough_reciprocal(self, args: list) -> tuple[int, int, int]:
        """Of a positive number b of degree 0, which it is for y too: at least half of 1/b. Its own size is not used."""
        degree, _, size = self.value(args[0])
        assert degree == 0
        return 0, -size - 1 - 52, 0

    def op_from_bits(self, args: list) -> tuple[int, int, int]:
        """m, which is between 1/4 and 16, or a number whose exponent is increased by a. Of these u is between 1/4 and 4, by its bound (cbrt_b64)."""
        op, operands = self.graph.nodes[args[0]]
        if op == "isub":
            return 0, -2 - 52, 4
        assert op == "iadd" and self.graph.nodes[operands[1]][0] == "sll" and self.graph.nodes[operands[0]][0] == "bits"
        (k,) = self.graph.nodes[operands[0]][1]
        _, grid, size = self.value(k)
        return 1, grid, size


class CbrtDegrees(Degrees):
    def __init__(self, graph: Graph, scalings: range):
        (bits, _) = graph.nodes[graph.nodes[graph.outputs["hi"]][1][0]][1]
        (self.root,) = graph.nodes[bits][1]
        super().__init__(graph, "cbrt", scalings)

    def value(self, k: int) -> tuple[int, int, int]:
        return (0, -2 - 52, 2) if k == self.root else super().value(k)


def check(kernel: Kernel) -> None:
    """The lemma."""
    scalings = powers_of_two(kernel)
    for fma in (True, False):
        graph = parse(recorded(kernel.name), fma)
        found = CbrtDegrees(graph, scalings) if kernel.function == "cbrt" else Degrees(graph, kernel.function, scalings)
        degrees = {found.value(graph.outputs[name])[0] for name in ("hi", "lo", "err")}
        assert degrees == {1 if kernel.function == "cbrt" else -1}


def analyse(kernel: Kernel, graph: Graph, low_end: Fraction, high_end: Fraction, choices: dict, piece: prove.Piece):
    module = prove if kernel.function == "cbrt" else composed
    return module.analyse(kernel, graph, low_end, high_end, choices, piece)


def measure(kernel: Kernel, analysis, function) -> tuple[arb, arb]:
    module = prove if kernel.function == "cbrt" else composed
    return module.measure(kernel, analysis, function)


def all_pieces(kernel: Kernel) -> list[prove.Piece]:
    check(kernel)
    one = Fraction(1)
    return [prove.Piece(*box) for box in prove.first_boxes(Interval(one, one * BASE[kernel.function], Fraction(0)))]
