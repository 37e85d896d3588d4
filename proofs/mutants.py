"""Mutants of a kernel: each constant and table entry one unit in its last place up and down, and its bound halved.

A mutant is rejected where the changed graph, evaluated exactly on numbers, errs by more than the claimed bound. All numbers whose mutants
are not rejected are then off at once, each by as much as a unit either way (loose.py), and the bound is proved again with that: what
holds for all of them together holds for each by itself. Where that fails on a box, the number to which the result is most sensitive there is taken
out and its mutants are tried on more numbers of that box; if none rejects them, they are proved one by one. What is then left is open.

    python -m proofs.mutants              renews what changed since proofs/mutants.json was written, or is not in it
    python -m proofs.mutants erf_f32 ...  these kernels"""

import argparse
import json
import math
import multiprocessing
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

from flint import arb, arb_series, ctx

from . import graph as graphs
from . import prove
from .definitions import DEFINITIONS, constant
from .graph import HERE, Graph, Kernel, bits_of, digest, double_of, evaluate, inwards, kernels, parse, recorded
from .kinds import hook
from .loose import Place, fixed, loose, sensitivities
from .taylor import SplitBox, ball, exact, log2, low, pow2
from .trig import CUTS, Reduced, binades, cut_of, last_convergent, nodes_after, pi
from .two import COMPOSED, Pair, function_of

RESULTS = HERE / "mutants.json"
POINTS = 200  # at which the graph is evaluated
TRIES = 6  # of them for each changed number
ALONE = 40.0  # seconds in which a kernel's mutants are proved one by one
# Kinds of kernels whose arguments are not made here.
UNTRIED = ("dd_2", "dd_pow_log", "dd_pow_exp", "dd_sum", "dd_angle_turned", "dd_scaled")
COMPARISONS = ("lt", "le", "eq", "ne", "min", "max", "unord")


def neighbours(word: str, integer: bool) -> list[str]:
    """A number of the graph's text, one unit in the last place down and up."""
    value = double_of(int(word)) if integer else float.fromhex(word)
    near = [math.nextafter(value, direction) for direction in (-math.inf, math.inf)]
    return [str(bits_of(v)) if integer else v.hex() for v in near]


def numbers(text: str) -> Iterator[tuple[int, int, list[str]]]:
    """(line, word, the line's words) of what is changed: all but zeros, NaN, infinities and the claim."""
    lines = text.splitlines()
    claims = {int(line.split("#")[1]) for line in lines if line.startswith(("out claim", "out given"))}
    for at, line in enumerate(lines):
        words = line.split()
        if words[0] not in ("const", "lookup", "ilookup") or at in claims:
            continue
        for k, word in enumerate(words[1:], 1):
            if word.startswith("#"):
                continue
            value = double_of(int(word)) if words[0] == "ilookup" else float.fromhex(word)
            if value and math.isfinite(value):
                yield at, k, words


def changed_to(text: str, place: Place, word: str) -> str:
    lines = text.splitlines()
    words = lines[place[0]].split()
    words[place[1]] = word
    lines[place[0]] = " ".join(words)
    return "\n".join(lines) + "\n"


def mutants(text: str) -> list[tuple[str, str]]:
    """(what is changed, the changed text)."""
    return [
        (f"{at}.{k - 1}", changed_to(text, (at, k), other))
        for at, k, words in numbers(text)
        for other in neighbours(words[k], words[0] == "ilookup")
    ]


# Evaluation on numbers. What composed.py takes as known is e^(x + xl) to 400 bits, in two parts.


def known_exponential(x: float, low_part: float) -> Fraction:
    before, ctx.prec = ctx.prec, 400
    value = exact(ball(Fraction(x) + Fraction(low_part)).exp())
    ctx.prec = before
    return value


graphs.NUMERIC.update(
    exp_value=known_exponential,
    exp_hi=float,
    exp_lo=lambda value, hi: float(value - Fraction(hi)),
)


def runnable(graph: Graph, turn: int) -> Graph:
    """The inputs, with a number for what the analysis chooses."""
    nodes = [
        ("exp_value", args[:2]) if op == "exp_value" else ("iconst", [str(turn)]) if op == "turn" else (op, args)
        for op, args in graph.nodes
    ]
    return Graph(nodes, graph.outputs)


class Point:
    """Inputs of a kernel, and the function's value there."""

    def __init__(self, kernel: Kernel, inputs: dict[str, float], function: Callable, turn: int = 0):
        self.kernel, self.inputs, self.function, self.turn, self.value = kernel, inputs, function, turn, None

    def truth(self) -> arb:
        if self.value is None:
            ctx.prec = 600
            self.value = self.function()
        return self.value

    def error(self, graph: Graph) -> Fraction:
        """Over the claimed bound, from below."""
        out = evaluate(runnable(graph, self.turn), self.inputs)
        f, kind = self.truth(), self.kernel.kind
        ctx.prec = 600
        y = Fraction(out["y"]) if "y" in out else Fraction(out["hi"]) + Fraction(out["lo"])
        if kind.startswith("dd_steps"):  # before the scaling by a power of two
            f = f * pow2(round(math.log2(abs(float(y))) - log2(f))) if y else f
        if kind.startswith("dd_turns"):  # less the multiple that is nearest
            f = f - arb.pi() / 16 * round(exact((f - ball(y)) / (arb.pi() / 16)))
        bound = abs(Fraction(out["claim"]) * y) if "claim" in out else Fraction(out["err"])
        return exact((low(ball(y) - f) / ball(bound)).lower()) if bound else Fraction(0)


def of_one(kernel: Kernel, x: Fraction) -> Callable:
    function = COMPOSED.get(kernel.kind) or DEFINITIONS[kernel.function]
    if kernel.kind == "tail":
        return lambda: constant(DEFINITIONS[kernel.function](arb_series([0], prec=2), arb_series([-ball(x), 1], prec=2)))
    if kernel.kind.startswith("dd_turns"):
        return lambda: ball(x)
    return lambda: constant(function(arb_series([ball(x), 1], prec=2)))


def point(kernel: Kernel, x: Fraction, rng: random.Random, piece: prove.Piece | None = None) -> Point:
    if isinstance(piece, Pair) and not piece.zero:
        larger = Fraction(rng.randrange(2**23, 2**24), 2**23)
        smaller = inwards(f"{x * larger}", "f32", 1)
        first, second = (smaller, larger) if piece.smaller == "first" else (larger, smaller)
        function, ratio = function_of(piece, DEFINITIONS[kernel.function]), smaller / larger
        degree = kernel.function == "hypot"  # of the function, homogeneous in both
        return Point(
            kernel,
            {"first": float(first * piece.signs[0]), "second": float(second * piece.signs[1])},
            lambda: constant(function(arb_series([ball(ratio), 1], prec=2))) * (ball(larger) if degree else 1),
        )
    fmt = "f64" if kernel.kind in ("pow_exp", "tail") else kernel.format
    inputs = {"x": float(inwards(f"{x}", fmt, 1)), "g": 1.0}
    if kernel.kind == "dd_steps_low":
        inputs["low"] = rng.uniform(-1, 1) * 2.0**-43
        total = Fraction(inputs["x"]) + Fraction(inputs["low"])
        return Point(kernel, inputs, lambda: ball(total).exp())
    if kernel.kind == "dd_angle":
        turn = rng.randrange(16)
        inputs["low"] = rng.uniform(-1, 1) * math.ulp(inputs["x"]) / 2
        r = Fraction(inputs["x"]) + Fraction(inputs["low"])
        of = {"sin": arb.sin, "cos": arb.cos, "tan": arb.tan}[kernel.function]
        return Point(kernel, inputs, lambda: of(ball(r) + arb.pi() * turn / 16), turn)
    return Point(kernel, inputs, of_one(kernel, Fraction(inputs["x"])))


def points(kernel: Kernel) -> list[Point]:
    rng, found = random.Random(kernel.name), []
    if kernel.kind == "eval_2":
        pieces = [p for p in prove_pieces(kernel) if not p.zero]
        near = [p for p in pieces if p.high > Fraction(1, 2**10)]
        for _ in range(POINTS):
            p = rng.choice(rng.choice((pieces, near)))
            found.append(point(kernel, p.low + (p.high - p.low) * Fraction(rng.randrange(2**60), 2**60), rng, p))
        return found
    if kernel.kind == "trig_large":  # the numbers of each binade that are nearest to a zero or a pole
        for first, last, grid in binades(kernel):
            unit, half_pi = Fraction(2) ** grid, pi() / 2
            q = [last_convergent(unit / half_pi, 2**bits) for bits in range(2, 25)]
            some = {a * k + b for a in q for b in (0, *q) for k in range(int(first / unit / a), int(last / unit / a) + 1)[:8]}
            turns = {x: x / half_pi for m in some if first <= (x := m * unit) <= last}
            near = sorted(turns, key=lambda x: abs(turns[x] - round(turns[x])))
            odd = [x for x in near if round(turns[x]) % 2]
            found += [point(kernel, x, rng) for x in {*near[:4], *odd[:4], *near[-1:]}]
        return found
    boxes = [
        [(i.low, i.high)] if i.low < i.pole < i.high else prove.first_boxes(i) for i in hook(kernel.kind, "domain")(kernel)
    ]
    near = [[box for box in part if max(abs(v) for v in box) >= Fraction(1, 2**12)] or part for part in boxes]
    for _ in range(POINTS):
        a, b = rng.choice(rng.choice(rng.choice((boxes, near, near))))
        found.append(point(kernel, a + (b - a) * Fraction(rng.randrange(1, 2**60), 2**60), rng))
    return found


def observed(kernel: Kernel, graph: Graph, x: Fraction) -> Fraction:
    """The error at x over the claimed bound, from below."""
    return point(kernel, x, random.Random(1)).error(graph)


def entries_at(text: str, where: Point) -> set[Place]:
    """The table entries that the computation takes."""
    lines = text.splitlines()
    tables = {at: line.split()[1] for at, line in enumerate(lines) if line.startswith(("lookup", "ilookup"))}
    more = "".join(f"out at{at} {index}\n" for at, index in tables.items())
    out = evaluate(runnable(parse(text + more, True), where.turn), where.inputs)
    return {(at, 2 + (int(out[f"at{at}"]) & 15)) for at in tables}


def rejected_at(text: str, place: Place, where: list[Point]) -> list[bool]:
    """Of the mutants of a number, whether one of the points rejects it."""
    words = text.splitlines()[place[0]].split()
    found = []
    for other in neighbours(words[place[1]], words[0] == "ilookup"):
        changed = parse(changed_to(text, place, other), True)
        found.append(any(refutes(p, changed) for p in where))
    return found


def evaluates(where: Point, graph: Graph) -> bool:
    """Whether the graph has a value there; the evaluation of roots stops at some ends of the range."""
    try:
        return where.error(graph) >= 0
    except (OverflowError, ZeroDivisionError):
        return False


def refutes(where: Point, graph: Graph) -> bool:
    try:
        return where.error(graph) > 1
    except (OverflowError, ZeroDivisionError, ValueError):  # infinities and NaN, which no right kernel gives
        return True


# Proofs.


def prove_pieces(kernel: Kernel) -> list[prove.Piece]:
    return hook(kernel.kind, "all_pieces")(kernel)


def approximations(text: str) -> set[Place]:
    """The places of numbers that may be off in the analysis: none that anything is compared with, and no magic numbers."""
    lines = [line.split() for line in text.splitlines()]
    compared = {int(word[1:]) for line in lines if line[0] in COMPARISONS for word in line[1:] if word[0] == "#"}
    found = set()
    for at, k, words in numbers(text):
        value = double_of(int(words[k])) if words[0] == "ilookup" else float.fromhex(words[k])
        if at not in compared and not (abs(value) >= 2.0**35 and math.frexp(value)[0] == 0.75):
            found.add((at, k))
    return found


def ratio(kernel: Kernel, graph: Graph, piece: prove.Piece) -> prove.Result | None:
    """Nothing: no bound at all."""
    try:
        return hook(kernel.kind, "prove_piece")(kernel, graph, piece)
    except (AssertionError, NotImplementedError, RuntimeError, SplitBox, ValueError):
        return None


def loosely(kernel: Kernel, graph: Graph, places: set[Place], pieces: list[prove.Piece], units: int = 1) -> bool:
    """Whether the bound holds on these pieces with all numbers at these places off by as much as so many units."""
    with loose(places, units):
        results = (ratio(kernel, graph, piece) for piece in pieces)
        return all(r is not None and r.ratio <= 1 for r in results)


def settled(kernel: Kernel, graph: Graph, places: set[Place], pieces: list[prove.Piece]) -> tuple[set[Place], dict]:
    """The places at which all numbers may be off at once on all pieces, and for the others a box that does not allow it."""
    places, out = set(places), {}
    for piece in pieces:
        while places:
            with loose(places):
                result = ratio(kernel, graph, piece)
                if result is not None and result.ratio <= 1:
                    break
                if result is not None:
                    found = sensitivities(places)
                    worst = max(found, key=lambda at: found[at]) if found else min(places)
                    chosen, box = [worst], result.at
                else:
                    chosen, box = [], (float(piece.low), float(piece.high))
            if result is None:
                chosen = [at for at in sorted(places) if not loosely(kernel, graph, {at}, [piece])] or [min(places)]
            for at in chosen:
                places.discard(at)
                out[at] = piece, box
    return places, out


def proved(kernel: Kernel, graph: Graph, pieces: list[prove.Piece], until: float) -> bool:
    for piece in pieces:
        if time.process_time() > until:
            return False
        result = ratio(kernel, graph, piece)
        if result is None or result.ratio > 1:
            return False
    return True


def reduced(
    kernel: Kernel, text: str, graph: Graph, chosen: list[tuple[Place, str]], pieces: list[prove.Piece]
) -> set[tuple[Place, str]]:
    """Of these mutants of numbers that only the reduction by pi reads, those with which the bound holds: each gives the reduced argument with
    errors of its own (trig.py), and what follows is proved for all of these errors together."""
    if not all(isinstance(piece, Reduced) for piece in pieces) or not pieces:
        return set()
    cut, good, bounds_of = cut_of(kernel, graph), set(), []
    most = max(b.most for b in cut.bounds)
    for place, other in chosen:
        if place[0] in nodes_after(cut):
            continue
        try:
            changed = cut_of(kernel, parse(changed_to(text, place, other), True))
        except (AssertionError, ValueError):  # no reduction any more
            continue
        pairs = zip(changed.bounds, cut.bounds, strict=False)
        worse = [b for b, a in pairs if b.relative > 4 * a.relative or b.absolute > 4 * a.absolute]
        same = (changed.end, changed.signs) == (cut.end, cut.signs) and max(b.most for b in changed.bounds) <= most
        if same and not worse:
            good.add((place, other))
            bounds_of += changed.bounds
    CUTS[id(graph)] = replace(cut, bounds=[*cut.bounds, *set(bounds_of)])
    try:
        return good if proved(kernel, graph, pieces, math.inf) else set()
    finally:
        CUTS[id(graph)] = cut


def halved(text: str) -> str:
    """The graph with half of its bound."""
    lines = text.splitlines()
    nodes = [line for line in lines if not line.startswith("out")]
    outputs = {line.split()[1]: line.split()[2] for line in lines if line.startswith("out")}
    name = "claim" if "claim" in outputs else "err"
    if name == "claim":  # a constant
        value = float.fromhex(nodes[int(outputs[name][1:])].split()[1])
        nodes.append(f"const {(value / 2).hex()}")
    else:
        nodes += ["const 0x1p-1", f"mul {outputs[name]} #{len(nodes)}"]
    outputs[name] = f"#{len(nodes) - 1}"
    return "\n".join([*nodes, *(f"out {key} {value}" for key, value in outputs.items())]) + "\n"


def tried(name: str) -> dict:
    """What becomes of a kernel's mutants, with fused operations."""
    kernel, text = kernels()[name], recorded(name)
    graph, rng = parse(text, True), random.Random(name)
    where = [p for p in points(kernel) if evaluates(p, graph)]
    lines, pieces = text.splitlines(), prove_pieces(kernel)
    uses = [(p, entries_at(text, p)) for p in where]
    seen = max(p.error(graph) for p in where)
    assert seen <= 1, "the kernel itself is rejected"
    held: dict[Place, list[bool]] = {}  # what evaluation finds for the two mutants
    for at, k, _ in numbers(text):
        chosen = [p for p, used in uses if lines[at].startswith("const") or (at, k) in used][:TRIES]
        held[at, k] = rejected_at(text, (at, k), chosen)
    kept = {place for place, found in held.items() if not all(found)}
    unmoved = fixed(kernel, graph)
    may = {place for place in kept & approximations(text) if place[0] not in unmoved}
    together, out = settled(kernel, graph, may, pieces)
    assert not any(any(held[place]) for place in together), "rejected and proved"
    evaluated = time.process_time()
    alone = opened = 0
    left, tries = [], []
    for place in sorted(kept - together):
        if place in out:  # more numbers, of the box that does not allow it
            piece, box = out[place]
            a, b = (Fraction(v) for v in box)
            if piece.multiples is None and not isinstance(piece, Pair) and kernel.kind != "dd_angle":
                more = [point(kernel, a + (b - a) * Fraction(rng.randrange(2**60), 2**60), rng) for _ in range(2 * TRIES)]
            else:
                more = []
        else:
            more = []
        more += [p for p, used in uses if lines[place[0]].startswith("const") or place in used][TRIES:][: 10 * TRIES]
        held[place] = [one or other for one, other in zip(held[place], rejected_at(text, place, more), strict=True)]
        words = lines[place[0]].split()
        for other, rejected in zip(neighbours(words[place[1]], words[0] == "ilookup"), held[place], strict=True):
            if not rejected:
                tries.append((place, other))
    before_cut = reduced(kernel, text, graph, tries, pieces)
    for place, other in tries:
        changed = parse(changed_to(text, place, other), True)
        good = (place, other) in before_cut or proved(kernel, changed, pieces, evaluated + ALONE)
        alone, opened = alone + good, opened + (not good)
        left += [] if good else [f"{place[0]}.{place[1] - 1} {lines[place[0]].split()[0]} {other}"]
    refuted = sum(sum(found) for place, found in held.items() if place not in together)
    return {
        "kernel": digest(kernel),
        "mutants": 2 * len(held),
        "rejected": refuted,
        "together": 2 * len(together),
        "alone": alone,
        "open": opened,
        "left": left,
        "seen": f"{float(seen):.2f}",
    }


def tried_halved(name: str) -> str:
    """Whether half of the bound is rejected, proved, or neither."""
    kernel, text = kernels()[name], recorded(name)
    graph = parse(halved(text), True)
    if any(refutes(p, graph) for p in points(kernel) if evaluates(p, graph)):
        return "rejected"
    return "proved too" if proved(kernel, graph, prove_pieces(kernel), math.inf) else "not proved"


def results() -> dict[str, dict]:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def keep(name: str, found: dict) -> None:
    RESULTS.write_text(json.dumps(dict(sorted({**results(), name: found}.items())), indent=1) + "\n")
    print(name, {key: value for key, value in found.items() if key != "kernel"}, flush=True)


def task(arguments: tuple[str, str, float]) -> tuple[str, str, dict | str | None]:
    what, name, until = arguments
    if time.time() > until:
        return what, name, None
    return what, name, tried(name) if what == "mutants" else tried_halved(name)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="kernel")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin with no kernel after so long")
    arguments = parser.parse_args()
    held = {name: found for name, found in results().items() if name in kernels()}
    known = [k for k in kernels().values() if k.kind not in UNTRIED]
    changed = [k.name for k in known if held.get(k.name, {}).get("kernel") != digest(k)]
    chosen = arguments.names or changed
    halves = [k.name for k in known if k.name in chosen or not arguments.names and "halved" not in held.get(k.name, {})]
    until, left = time.time() + arguments.seconds, []
    tasks = [("mutants", name, until) for name in chosen] + [("halved", name, until) for name in halves]
    with multiprocessing.Pool(arguments.processes) as pool:
        for what, name, found in pool.imap(task, tasks):  # in order: a kernel's bound after its mutants
            if found is None:
                left.append(f"{name} ({what})")
            else:
                keep(name, found if isinstance(found, dict) else {**results()[name], what: found})
    if left:
        print(f"not tried in {arguments.seconds:.0f} s: {', '.join(left)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
