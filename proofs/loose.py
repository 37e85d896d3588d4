"""A graph some of whose numbers are off by a unit in their last place, all at once.

A number at one of the chosen places is a variable, as a rounding error is: within a unit of what the text says, a multiple of half of that unit,
and not a constant for the analysis. So what holds on a box holds for each mutant of one of these numbers, and for all of them together. A
table of bits gives such a number too where its entry is only added to and read as a number again; any other use stops.

What something is compared with may be off too: where the comparison then has either outcome, both are followed.

The analyses of all kinds derive from Analysis (engine.py), whose steps are replaced for a while. Where trig.py follows linear forms up to
the reduced argument, it takes the numbers as they are: of these none may be loose (fixed)."""

import contextlib
import math
from collections.abc import Callable, Iterator

from flint import arb

from .composed import Composed
from .engine import Analysis
from .graph import Graph, Kernel
from .kinds import KINDS
from .taylor import ZERO, Model, ball, exponent, up
from .trig import cut_of
from .values import Node, Residue

Place = tuple[int, int]  # a line of the text, and a word of it
SUMS = ("fast_two_sum_error", "two_sum_error")


class LooseBits(int):
    """The bits of a number that is a unit off at most."""


class Last:
    """The analysis that bounded its roundings last."""

    analysis: Analysis | None = None


@contextlib.contextmanager
def loose(places: set[Place], units: int = 1) -> Iterator[None]:
    """While it lasts, the numbers at these places are loose, in graphs with fused operations, whose nodes are the lines of the text."""
    names = ("step", "product", "op_const", "op_lookup", "op_ilookup")
    before: dict[str, Callable] = {name: getattr(Analysis, name) for name in names}

    def off(self: Analysis, value) -> Node:
        unit, v = arb(math.ulp(float(value))), Node()
        v.model, v.E, v.rho, v.grid = Model.const(ball(value)), up(units * unit), up(units * unit), exponent(unit) - 2
        return self.finish(v)

    def step(self: Analysis, op: str, args: list) -> Node:
        soft = op not in SUMS and any(isinstance(k, int) and type(self.nodes[k].integer) is LooseBits for k in args)
        v = before["step"](self, op, args)
        if not soft:
            return v
        if op == "from_bits" and v.const is not None:
            return off(self, v.const)
        if op not in ("iadd", "isub") or not isinstance(v.integer, int):
            raise NotImplementedError("bits of a number that is off")
        v.integer = LooseBits(v.integer)
        return v

    def product(self: Analysis, a: Node, b: Node) -> tuple[Model, arb | None]:
        """By a number that is off what is linear in k stays so: its ideal value is a constant."""
        for p, q in ((a, b), (b, a)):
            if (
                p.const is None
                and p.per_k is None
                and p.rho != 0
                and p.model.r == 0
                and p.model.p.length() == 1
                and not p.parts
            ):
                (c,) = p.model.p.coeffs()
                return q.model.scale(c), None if q.per_k is None else q.per_k * c
        return before["product"](self, a, b)

    def op_const(self: Analysis, args: list) -> Node:
        v = before["op_const"](self, args)
        return off(self, v.const) if (self.index, 1) in places else v

    def entry(self: Analysis, args: list) -> Place:
        value = self.nodes[args[0]].integer
        return self.index, 2 + ((value.value if isinstance(value, Residue) else self.whole(args[0])) & 15)

    def op_lookup(self: Analysis, args: list) -> Node:
        v = before["op_lookup"](self, args)
        return off(self, v.const) if entry(self, args) in places else v

    def op_ilookup(self: Analysis, args: list) -> Node:
        v = before["op_ilookup"](self, args)
        if entry(self, args) in places:
            v.integer = LooseBits(v.integer)
        return v

    roundings, over = Analysis.roundings, Composed.roundings_over

    def noted(whole: Callable) -> Callable:
        def called(self: Analysis, *args) -> arb:
            Last.analysis = self
            return whole(self, *args)

        return called

    try:
        for name, method in zip(names, (step, product, op_const, op_lookup, op_ilookup), strict=True):
            setattr(Analysis, name, method)
        Analysis.roundings = noted(roundings)
        Composed.roundings_over = noted(over)
        yield
    finally:
        for name in names:
            setattr(Analysis, name, before[name])
        Analysis.roundings = roundings
        Composed.roundings_over = over


@contextlib.contextmanager
def read() -> Iterator[set[Place]]:
    """The table entries that analyses read while it lasts."""
    found: set[Place] = set()
    whole = Analysis.lookup

    def lookup(self: Analysis, args: list) -> str:
        value = self.nodes[args[0]].integer
        found.add((self.index, 2 + ((value.value if isinstance(value, Residue) else self.whole(args[0])) & 15)))
        return whole(self, args)

    Analysis.lookup = lookup
    try:
        yield found
    finally:
        Analysis.lookup = whole


def sensitivities(places: set[Place]) -> dict[Place, arb]:
    """On the box that was analysed last: |d result/d number| times a unit of the number."""
    analysis = Last.analysis
    if analysis is None:
        return {}
    derivative: list[Model | None] = [None] * len(analysis.nodes)
    for name in ("y", "hi", "lo"):
        if name in analysis.graph.outputs:
            k, one = analysis.graph.outputs[name], Model.const(arb(1))
            derivative[k] = one if derivative[k] is None else derivative[k] + one
    found: dict[Place, arb] = {}
    for i in range(len(analysis.nodes) - 1, -1, -1):
        d, v = derivative[i], analysis.nodes[i]
        if d is None:
            continue
        op = analysis.graph.nodes[i][0]
        if v.rho != 0 and op in ("const", "lookup", "from_bits"):
            for at in reading(analysis, i) & places:
                found[at] = up(found.get(at, ZERO) + up(d.sup() * v.rho))
        for k, part in v.parts:
            if analysis.nodes[k].const is None:
                t = d * part.fold()
                derivative[k] = t if derivative[k] is None else derivative[k] + t
    return found


def reading(analysis: Analysis, i: int) -> set[Place]:
    """The place whose number node i is, or the places of which it may be made."""
    op, args = analysis.graph.nodes[i]
    if op == "const":
        return {(i, 1)}
    if op in ("lookup", "ilookup"):
        value = analysis.nodes[args[0]].integer
        at = value.value if isinstance(value, Residue) else value
        return {(i, 2 + (at & 15))} if isinstance(at, int) else set()
    return set().union(*(reading(analysis, k) for k in args if isinstance(k, int) and op in ("from_bits", "iadd", "isub")))


def fixed(kernel: Kernel, graph: Graph) -> set[int]:
    """The nodes that trig.py takes as they are: what comes before the reduced argument and its signs."""
    if KINDS[kernel.kind].module != "trig":
        return set()
    cut = cut_of(kernel, graph)
    found: set[int] = set()
    stack = [cut.end, *cut.signs]
    while stack:
        k = stack.pop()
        if k not in found:
            found.add(k)
            op, args = graph.nodes[k]
            stack += [a for a in args if isinstance(a, int)] if op not in SUMS else [*args[:3], *args[-1]]
    return found
