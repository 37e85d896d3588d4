"""Checks the error bounds of optimiser steps, formulas, rows, terms of losses and random draws in the library's own expression graphs (record.c)
and host code (host.py), as polynomials in errors (algebra.py): a bound holds for all data of the ranges that its comment names, in which no
product is inexact for its smallness. Rows and draws are in rows.py and draws.py.

    python -m proofs.formula.check [--write]     --write: proofs/formula/shares.json, from which docs/evidence.md is made
"""

from __future__ import annotations

import json
import math
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from ..exact.library import ROOT, copied
from .algebra import Algebra, Size, U, Unknown, Value, atom, exact_part, is_power, merged, minus, number, plus, power, times

SHARES = pathlib.Path(__file__).resolve().parent / "shares.json"
# A draw is a new number, and so is what is proved by itself.
LGAMMA, DIGAMMA = "crlibm/lgamma/lgamma_b64.h", "crlibm/digamma/digamma_b64.h"
BETALN = "crlibm/betaln/betaln_b64.h"
RENAMED = [
    ("src/random/uniform.h", "u = rm_unit_doubles(", "u = rec_unit("),
    (LGAMMA, "RM_NOINLINE vf64 rm_lgamma_eval(vf64 x) {", "RM_FN vf64 rec_lgamma(vf64 x) {"),
    (LGAMMA, "RM_FN vf64 rm_gamma_turn(vf64 a, vf64 *sine) {", "RM_FN vf64 rec_turn(vf64 a, vf64 *sine) {"),
    (DIGAMMA, "RM_NOINLINE vf64 rm_digamma_within(vf64 x, vf64 *err) {", "RM_FN vf64 rec_digamma(vf64 x, vf64 *err) {"),
    (DIGAMMA, "RM_FN vf64 rm_gamma_turned(vf64 r) {", "RM_FN vf64 rec_turned(vf64 r) {"),
    (BETALN, "RM_FN vf64 rm_betaln_rest(vf64 x) {", "RM_FN vf64 rec_betaln_rest(vf64 x) {"),
]
UNUSED = ["-ffunction-sections", "-Wl,--gc-sections"]  # what nothing records is left out, with what it would call
QUOTIENT, ROUGH = power(-51.9), Fraction(1, 2**27)  # crlibm/simd/simd.h


@dataclass
class Graph:
    nodes: list[tuple[str, list[str]]] = field(default_factory=list)
    names: dict[float, str] = field(default_factory=dict)
    tests: dict[str, dict[str, int]] = field(default_factory=dict)


def program(folder: pathlib.Path, edit: dict[str, list[tuple[str, str]]] | None = None) -> pathlib.Path:
    """The recorder of a copy of the sources; edit: for controls."""
    copied(folder, edit or {})
    for name in ("proofs/record.h", "proofs/formula/record.c"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text((ROOT / name).read_text())
    for path, old, new in RENAMED:
        text = (folder / path).read_text()
        assert text.count(old) == 1, old
        (folder / path).write_text(text.replace(old, new))
    cc = shlex.split(os.environ.get("CC", "cc"))
    options = [
        "-std=gnu11",
        "-O0",
        "-w",
        *UNUSED,
        "-I",
        folder / "include",
        "-I",
        folder,
        "-include",
        folder / "proofs/record.h",
    ]
    subprocess.run([*cc, *options, folder / "proofs/formula/record.c", "-lm", "-o", folder / "record"], check=True)
    return folder / "record"


def recorded(recorder: pathlib.Path, what: str) -> Graph:
    text = subprocess.run([recorder, what], check=True, stdout=subprocess.PIPE, text=True).stdout
    graph = Graph()
    for line in text.splitlines():
        first, *rest = line.split()
        if first == "name":
            graph.names[float.fromhex(rest[1])] = rest[0]
        elif first == "out":
            test, part = rest[0].split(".")
            graph.tests.setdefault(test, {})[part] = int(rest[1][1:])
        else:
            assert int(first) == len(graph.nodes)
            graph.nodes.append((rest[0], rest[1:]))
    return graph


def with_sums(graph: Graph, ordered: bool) -> Graph:
    """The same, where what a sum leaves over is one node: by Knuth's two-sum, or, where sums are said to be `ordered`, the shorter one."""

    def of(k: str, op: str) -> list[str]:
        found, arguments = graph.nodes[int(k[1:])]
        return arguments if found == op else ["", ""]

    nodes = list(graph.nodes)
    for i, (op, arguments) in enumerate(graph.nodes):
        if op == "add":  # (a - (s - t)) + (b - t), s = a + b, t = s - a
            (a, back), (b, t) = of(arguments[0], "sub"), of(arguments[1], "sub")
            if a and b and back and of(back, "sub")[1] == t:
                s = of(back, "sub")[0]
                if of(s, "add") == [a, b] and of(t, "sub") == [s, a]:
                    nodes[i] = "rest", [a, b, s]
        elif op == "sub" and ordered:  # b - (s - a), s = a + b; (a - s) - b, s = a - b
            b, back = arguments
            s, a = of(back, "sub")
            if s and of(s, "add") == [a, b]:
                nodes[i] = "short_rest", [a, b, s]
            a, s = of(b, "sub")
            if s and of(s, "sub") == [a, back]:
                nodes[i] = "short_rest_less", [a, back, s]
    return Graph(nodes, graph.names, graph.tests)


class Evaluation:
    """The nodes of a graph as values, or as sizes (of magnitudes)."""

    def __init__(self, graph: Graph, claim: Claim, fma: bool):
        graph = with_sums(graph, claim.ordered)
        self.algebra, self.graph, self.fma, self.claim = Algebra(), graph, fma, claim
        self.known = claim.numbers(self.algebra)
        self.own: dict[int, str] = {}  # sums whose magnitude is taken: numbers of their own
        self.taken = set() if claim.positive else {int(a[0][1:]) for op, a in graph.nodes if op == "abs"}
        if not claim.positive:
            self.taken |= {parts["hi"] for test, parts in graph.tests.items() if test.startswith("row")}
        self.values: dict[int, Value] = {}
        self.sizes: dict[int, Size] = {}  # at least this, for every sign of the atoms
        self.inputs: dict[str, Value] = {}
        self.divisors = {int(a[1][1:]) for op, a in graph.nodes if op == "quotient"}
        for i in range(len(graph.nodes)):
            self.node(i)

    def input(self, name: str) -> Value:
        if name not in self.inputs:
            self.inputs[name] = self.known[name] if name in self.known else self.claim.given(self.algebra, name)
        return self.inputs[name]

    def constant(self, x: float) -> Value:
        """A number, or one that is given, perhaps times a power of two."""
        for of, name in self.graph.names.items():
            if math.frexp(x)[0] == math.frexp(of)[0]:
                return times(number(Fraction(x) / Fraction(of)), self.input(name))
        return number(Fraction(x))

    def node(self, i: int) -> None:
        op, arguments = self.graph.nodes[i]
        ids = [int(a[1:]) for a in arguments if a.startswith("#")]
        if op == "const":
            x = float.fromhex(arguments[0])
            if x - x == 0:
                self.values[i] = self.constant(x)
            return
        if op == "input":
            self.values[i] = self.input(arguments[0])
            return
        if op == "select":
            compared, (first, *_) = self.graph.nodes[ids[0]]
            goes = self.claim.choose(compared, self.graph.nodes[int(first[1:])][0])
            k = ids[1] if goes else ids[2]
            for found in (self.values, self.sizes, self.own):
                if goes is not None and k in found:
                    found[i] = found[k]
            return
        if any(k in self.sizes for k in ids):
            try:
                self.magnitude(i, op, ids)
            except Unknown:
                if not self.claim.positive:
                    raise
            if not self.claim.positive:
                return
        if op == "abs":
            self.absolute(i, ids[0])
        elif all(k in self.values for k in ids):
            value = self.operation(op, ids, i)
            if value is not None:
                value = self.algebra.pruned(value)
                if i in self.divisors:
                    before = dict(self.algebra.sums)
                    value = self.algebra.divisor(value)
                    if self.algebra.sums != before:
                        self.values = {k: self.algebra.replaced(v) for k, v in self.values.items()}
                        self.inputs = {k: self.algebra.replaced(v) for k, v in self.inputs.items()}
                self.values[i] = value

    def absolute(self, i: int, k: int) -> None:
        """A magnitude is used as one alone, unless all are numbers that are not negative."""
        value = self.values[k]
        if k in self.own:
            self.sizes[i] = {((self.own[k], 1),): Fraction(1)}
        elif not value:
            self.sizes[i] = {}
        else:
            exact = exact_part(value)
            if len(exact) == 1:
                (((atoms, _), c),) = exact.items()
                sizes = self.algebra.size({key: v for key, v in value.items() if key[1]})
                relative = within(sizes, {atoms: abs(c)}, self.claim.below)
                self.sizes[i] = {atoms: abs(c) * (1 - relative)}
            elif not self.claim.positive:
                raise Unknown(f"the magnitude of a sum of {[atoms for atoms, _ in exact]}")
        self.values[i] = value if self.claim.positive else {}

    def named(self, value: Value) -> Value:
        """A sum for which the claim has an atom."""
        for name, by in self.claim.sums:
            if value == by:
                return atom(name)
        return value

    def rounded(self, value: Value, i: int = -1) -> Value:
        if i in self.taken and len({atoms for atoms, _ in value}) > 1:
            self.own[i] = f"|#{i}|"
            return self.algebra.named(value, f"#{i}")
        return self.algebra.off(value, U)

    def product(self, a: Value, b: Value) -> Value:
        exact = times(a, b)
        return exact if is_power(a) or is_power(b) else self.rounded(exact)

    def operation(self, op: str, ids: list[int], i: int = -1) -> Value | None:
        v = [self.values[k] for k in ids]
        if op in ("add", "sub"):
            other = minus(v[1]) if op == "sub" else v[1]
            whole = self.named(plus(v[0], other))
            return whole if not v[0] or not other else self.rounded(whole, i)
        if op == "neg":
            return minus(v[0])
        if op == "mul":
            short = self.claim.short and all(self.graph.nodes[k][0] == "input" for k in ids)  # 48 bits at most
            return times(*v) if short else self.product(*v)
        if op in ("mad", "nmad"):
            if op == "nmad":
                v[0] = minus(v[0])
            whole = plus(times(v[0], v[1]), v[2]) if self.fma else plus(self.product(v[0], v[1]), v[2])
            return self.rounded(whole, i) if self.fma or (v[2] and times(v[0], v[1])) else whole
        if op == "rest":
            return plus(self.named(plus(v[0], v[1])), minus(v[2]))
        if op in ("short_rest", "short_rest_less"):
            return plus(self.named(plus(v[0], v[1] if op == "short_rest" else minus(v[1]))), minus(v[2]))
        if op == "max":  # either
            return v[1]
        if op == "mul_err":
            made = self.graph.nodes[ids[2]]
            factors = [self.graph.nodes[int(k[1:])] if k.startswith("#") else k for k in made[1]]
            if made[0] != "mul" or sorted(map(str, factors)) != sorted(str(self.graph.nodes[k]) for k in ids[:2]):
                raise Unknown("the error of another product")
            return plus(times(v[0], v[1]), minus(v[2]))
        if op in ("root", "rough_rsqrt"):
            ((atoms, errors), c), *more = v[0].items()
            if more or errors or c != 1 or any(k % 2 for _, k in atoms):
                raise Unknown("the root of no square")
            sign = 1 if op == "root" else -1
            root = {(tuple((name, sign * k // 2) for name, k in atoms), ()): Fraction(1)}
            return self.algebra.off(root, QUOTIENT if op == "root" else ROUGH)
        if op in ("quotient", "rough_reciprocal"):
            below = self.algebra.one_monomial(self.algebra.replaced(v[-1]) if op == "quotient" else self.values[ids[0]])
            above = self.algebra.one_monomial(v[0]) if op == "quotient" else ((), Fraction(1), Fraction(0))
            own = QUOTIENT if op == "quotient" else ROUGH
            relative = (1 + above[2]) * (1 + own) / (1 - below[2]) - 1
            atoms = merged(above[0], tuple((name, -k) for name, k in below[0]))
            return self.algebra.off({(atoms, ()): above[1] / below[1]}, relative)
        return None  # masks, selections: of what is open

    def magnitude(self, i: int, op: str, ids: list[int]) -> None:
        """Sums and products of magnitudes and positive numbers, from below."""

        def given(k: int) -> bool:
            op, arguments = self.graph.nodes[k]
            return op in ("const", "input", "select") or (
                op in ("add", "quotient") and all(given(int(a[1:])) for a in arguments)
            )

        def size(k: int) -> Size:
            if k in self.sizes:
                return self.sizes[k]
            if not given(k):
                raise Unknown("a bound made of a number that may be negative")
            return self.algebra.smallest(self.values[k])  # a constant, an error, |keep| and lr are not negative

        def sum_of(a: Size, b: Size) -> Size:
            return {key: a.get(key, Fraction(0)) + b.get(key, Fraction(0)) for key in {*a, *b}}

        def product_of(a: Size, b: Size) -> Size:
            out: Size = {}
            for x, c in a.items():
                for y, d in b.items():
                    key = merged(x, y)
                    out[key] = out.get(key, Fraction(0)) + c * d
            return out

        if op == "add":
            out = sum_of(size(ids[0]), size(ids[1]))
        elif op == "mul":
            out = product_of(size(ids[0]), size(ids[1]))
        elif op == "mad":
            out = sum_of(product_of(size(ids[0]), size(ids[1])), size(ids[2]))
        else:
            return
        self.values[i] = {}
        self.sizes[i] = {key: c * (1 - U) ** 2 for key, c in out.items()}


def within(sizes: Size, allowed: Size, below: Callable[[str], Size | None]) -> Fraction:
    """The largest share of what is allowed that a size has in a monomial; below: what an atom is at most, by others."""
    changed = True
    while changed:
        more: Size = {}
        changed = False
        for atoms, c in sizes.items():
            term: Size = {atoms: c}
            name = next((name for name, k in atoms if k > 0 and atoms not in allowed and below(name)), None)
            if name:  # one of its powers
                rest = merged(atoms, ((name, -1),))
                term = {merged(rest, x): c * d for x, d in (below(name) or {}).items()}
                changed = True
            for x, d in term.items():
                more[x] = more.get(x, Fraction(0)) + d
        sizes = more
    worst = Fraction(0)
    for atoms, c in sizes.items():
        if not c:
            continue
        if not allowed.get(atoms):
            raise Unknown(f"an error in {atoms}, of which the bound has nothing: {[*allowed]}")
        worst = max(worst, c / allowed[atoms])
    return worst


def share(e: Evaluation, test: str, exact: Value) -> Fraction:
    """The largest share of its allowance that the error of a test has in a monomial."""
    kind, parts = test.rstrip("0123456789"), e.graph.tests[test]
    replaced = e.algebra.replaced
    hi, lo = replaced(e.values[parts["hi"]]), replaced(e.values[parts["lo"]])
    off = plus(hi, lo, minus(replaced(exact)))
    if exact_part(off):
        raise Unknown(f"{test} evaluates something else: {exact_part(off)}")
    sizes = e.algebra.by_sums(e.algebra.size(off))
    own = {"ends": U, "reach": U, "row": 2 * U}.get(kind, 0)  # the test's own rounding: of lo, and else of hi
    if own:
        made = e.algebra.size(lo) if kind == "ends" else e.algebra.size(hi)
        if kind != "ends" and parts["hi"] in e.own:
            made = {((e.own[parts["hi"]], 1),): Fraction(1)}
        for atoms, c in e.algebra.by_sums(made).items():
            sizes[atoms] = sizes.get(atoms, Fraction(0)) + c * own
    err = parts["err"]
    bound = e.sizes[err] if err in e.sizes else e.algebra.smallest(e.values[err])
    allowed = {atoms: c * (1 - (U if kind in ("ends", "reach") else 0)) for atoms, c in bound.items()}
    mine = e.own.get(parts["hi"], "")

    def below(name: str) -> Size | None:
        """Where a claim names the magnitude of the result, that is "own"."""
        found = e.claim.below(name)
        return found and {tuple((mine if x == "own" else x, k) for x, k in atoms): c for atoms, c in found.items()}

    return within(sizes, allowed, below)


# ------------------------------------------------------------------------------------------------- numbers that are given


def two_parts(algebra: Algebra, name: str, exact: Value, within: Fraction) -> Value:
    """hi and lo of a number that both together are `within` of."""
    key = f"part of {sorted(exact)}"
    if key not in algebra.bounds:
        algebra.bounds[key] = U
        algebra.bounds[key + "'"] = within
    first, rest = {((), (key,)): Fraction(1)}, {((), (key + "'",)): Fraction(1)}
    return times(exact, plus(number(1), first)) if name == "hi" else times(exact, plus(minus(first), rest))


def optimizer_numbers(algebra: Algebra, name: str) -> Value:
    stem, _, part = name.partition(".")
    if part:
        within = power(-85) if stem in ("rate", "eps") else power(-100)
        return two_parts(algebra, part, atom(stem), within)
    if name == "r1":  # the new v, of which a root is taken
        return atom("root", 2)
    return atom(name)


def formula_numbers(algebra: Algebra, name: str) -> Value:
    stem, _, part = name.partition(".")
    return two_parts(algebra, part, atom(stem), power(-100)) if part else atom({"p": "x", "m": "y"}.get(name, name))


A = atom


@dataclass(frozen=True)
class Claim:
    name: str  # in tables
    what: str  # of the recorder
    exact: tuple[Value, ...]  # by test, in their order
    given: Callable[[Algebra, str], Value]
    sums: tuple[tuple[str, Value], ...] = ()  # atoms for sums of exact numbers
    ordered: bool = False  # whether sums have their larger number first where they are short
    positive: bool = False  # whether what absolute values are taken of is not negative

    def numbers(self, algebra: Algebra) -> dict[str, Value]:
        """What is known of numbers by more than their names."""
        return {}

    def choose(self, op: str, first: str) -> bool | None:
        """How a selection by this comparison of what the operation `first` gives goes; None where nothing depends on it."""
        return None

    def below(self, name: str) -> Size | None:
        return None

    @property
    def short(self) -> bool:
        """Whether numbers from memory have at most 24 bits."""
        return self.what.split("-")[1] != "3"


def formulas(fmt: int, label: str) -> list[Claim]:
    a, x, y, z, one = A("a"), A("x"), A("y"), A("z"), number(1)
    left = plus(one, minus(y))
    exact = {
        (0, "a x"): times(a, x),
        (1, "x / a"): times(x, A("a", -1)),
        (2, "a / x"): times(a, A("x", -1)),
        (3, "x + a"): plus(x, a),
        (4, "x + a y"): plus(x, times(a, y)),
        (5, "(1 - a) x + a y"): plus(times(A("keep"), x), times(a, y)),
        (6, "x + a y z"): plus(x, times(times(a, y), z)),
        (7, "x + a y / z"): plus(x, times(times(a, y), A("z", -1))),
        (8, "x (1 - y^2)"): times(times(x, A("1-y")), A("1+y")),
        (9, "x y (1 - y)"): times(times(x, y), A("1-y")),
        (15, "(1 - z) x + z y"): plus(times(A("1-z"), x), times(z, y)),
    }
    return [
        Claim(
            f"`{name}`, {label}",
            f"formula-{fmt}-{which}-0",
            (value,),
            formula_numbers,
            (("1-y", left), ("1+y", plus(one, y)), ("1-z", plus(one, minus(z)))),
        )
        for (which, name), value in exact.items()
    ]


def claims() -> list[Claim]:
    found = []
    for fmt, label in ((2, "formats below binary64"), (3, "binary64")):
        for coupled in (0, 1):
            d = plus(A("g"), times(A("decay"), A("p"))) if coupled else A("g")
            direction = ", coupled decay" if coupled else ""
            m = plus(times(A("beta1"), A("m")), times(A("keep1"), d))
            v = plus(times(A("beta2"), A("v")), times(A("keep2"), times(d, d)))
            below = plus(A("root"), A("eps"))
            p = (plus(times(A("a"), A("p")), minus(times(times(A("rate"), A("r0")), A("root+eps", -1)))), below)
            found.append(Claim(f"Adam{direction}, {label}", f"adam-{fmt}-{coupled}-0", (m, v, p[0]), optimizer_numbers))
            found.append(Claim(f"AMSGrad{direction}, {label}", f"adam-{fmt}-{coupled}-1", (m, v, p[0]), optimizer_numbers))
            for mode, name in enumerate(("SGD", "SGD with momentum", "SGD with Nesterov's momentum")):
                b = plus(times(A("beta1"), A("m")), times(A("keep1"), d))
                step = (d, A("r0"), plus(d, times(A("beta1"), A("r0"))))[mode]
                new = plus(A("p"), minus(times(A("lr"), step)))
                found.append(
                    Claim(
                        f"{name}{direction}, {label}",
                        f"sgd-{fmt}-{coupled}-{mode}",
                        (b, new) if mode else (new,),
                        optimizer_numbers,
                    )
                )
        found += formulas(fmt, label)
    return found


def everything(root: pathlib.Path) -> tuple[list[Claim], list]:
    """All claims of graphs, and those of host code, by the sources below root."""
    from . import dd_ball, draws, gamma, linear, rows

    found, hosts = [*claims(), *rows.softmax(root)], [*dd_ball.operations(root), *linear.everything(root)]
    for family in (rows.entropy, rows.norms, draws.everything):
        graphs, numbers = family(root)
        found, hosts = found + graphs, hosts + numbers
    return found + gamma.everything(root), hosts


def check(recorder: pathlib.Path, claim: Claim, fma: bool) -> dict[str, Fraction]:
    """The shares of a claim's tests."""
    e = Evaluation(recorded(recorder, claim.what), claim, fma)
    exact = {i: value for i, value in enumerate(claim.exact)} or {0: e.known["exact"]}
    return {test: share(e, test, exact[int(test.lstrip("abcdefghijklmnopqrstuvwxyz"))]) for test in e.graph.tests}


def upwards(part: Fraction) -> float:
    return math.ceil(part * 10**4) / 10**4


def shares(recorder: pathlib.Path) -> dict[str, list[float]]:
    """The largest share of a bound, with FMA and without, of every claim; four digits, upwards. (Host code has no fused operations.)"""
    graphs, computed = everything(recorder.parent)
    found = {c.name: [upwards(max(check(recorder, c, fma).values())) for fma in (True, False)] for c in graphs}
    return found | {c.name: [upwards(c.share())] * 2 for c in computed}


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        found = shares(program(pathlib.Path(name)))
    for claim, (fused, plain) in found.items():
        print(f"{claim}: {fused:.4f} of the bound with FMA, {plain:.4f} without")
    if "--write" in sys.argv[1:]:
        SHARES.write_text(json.dumps(found, indent=1) + "\n")
    return any(part > 1 for pair in found.values() for part in pair)


if __name__ == "__main__":
    sys.exit(main())
