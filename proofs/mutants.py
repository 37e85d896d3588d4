"""Mutants of a kernel: each constant and table entry one unit in its last place up and down, and its bound halved.

A changed number is rejected where the changed graph, evaluated on numbers, errs by more than the claimed bound. All that are not are
changed together: the analysis takes each as known within a unit of its last place, and the bound must still hold on every box. What passes
neither way, and numbers that are compared with or are tables of bits, is left open. The halved bound passes or does not; beside it stands the largest error seen at random arguments.

    python -m proofs.mutants erf_f32 ...      renews these kernels in proofs/mutants.json (about the time of their proofs)"""

import json
import math
import random
import sys
from collections.abc import Iterator
from fractions import Fraction

from flint import arb_series, ctx

from . import prove
from .definitions import DEFINITIONS, constant
from .engine import Analysis
from .evidence import domain
from .graph import HERE, Graph, Kernel, bits_of, digest, double_of, evaluate, inwards, kernels, parse, recorded
from .kinds import KINDS, hook
from .taylor import ZERO, ball, exact, log2, low, pow2
from .values import Node

RESULTS = HERE / "mutants.json"
POINTS = 160  # at which the graph is evaluated
TRIES = 3  # of them for each changed number
COMPARISONS = ("lt", "le", "eq", "ne", "min", "max", "unord")


def neighbours(word: str, integer: bool) -> list[str]:
    """A number of the graph's text, one unit in the last place down and up."""
    value = double_of(int(word)) if integer else float.fromhex(word)
    near = [math.nextafter(value, direction) for direction in (-math.inf, math.inf)]
    return [str(bits_of(v)) if integer else v.hex() for v in near]


def numbers(text: str) -> Iterator[tuple[int, int, list[str]]]:
    """(line, word, the line's words) of what is changed. Zeros, powers of two and magic numbers are no approximations and stay; so does the
    claim."""
    lines = text.splitlines()
    claims = {int(line.split("#")[1]) for line in lines if line.startswith("out claim")}
    for at, line in enumerate(lines):
        words = line.split()
        if words[0] not in ("const", "lookup", "ilookup") or at in claims:
            continue
        for k, word in enumerate(words[1:], 1):
            if word.startswith("#"):
                continue
            value = double_of(int(word)) if words[0] == "ilookup" else float.fromhex(word)
            if abs(math.frexp(value)[0]) not in (0.0, 0.5, 0.75):
                yield at, k, words


def mutants(text: str) -> list[tuple[str, str]]:
    """(what is changed, the changed text)."""
    lines, found = text.splitlines(), []
    for at, k, words in numbers(text):
        for other in neighbours(words[k], words[0] == "ilookup"):
            changed = " ".join([*words[:k], other, *words[k + 1 :]])
            found.append((f"{at}.{k - 1}", "\n".join([*lines[:at], changed, *lines[at + 1 :]]) + "\n"))
    return found


def observed(kernel: Kernel, graph: Graph, x: Fraction) -> Fraction:
    """The error at x over the claimed bound, from below."""
    out = evaluate(graph, {"x": float(x), "g": 1.0})
    ctx.prec = 600
    f = constant(DEFINITIONS[kernel.function](arb_series([ball(x), 1], prec=2)))
    y = Fraction(out["y"]) if "y" in out else Fraction(out["hi"]) + Fraction(out["lo"])
    if kernel.kind == "dd_steps":  # before the scaling by a power of two
        f = f * pow2(round(math.log2(float(y)) - log2(f)))
    bound = abs(Fraction(out["claim"]) * y) if "claim" in out else Fraction(out["err"])
    return exact((low(ball(y) - f) / ball(bound)).lower()) if bound else Fraction(0)


def points(kernel: Kernel) -> list[Fraction]:
    rng, found = random.Random(kernel.name), []
    for _ in range(POINTS):
        a, b = rng.choice(prove.first_boxes(rng.choice(domain(kernel))))
        found.append(inwards(f"{a + (b - a) * Fraction(rng.randrange(1, 2**60), 2**60)}", kernel.format, 1))
    return found


def entries_at(text: str, x: Fraction) -> set[tuple[int, int]]:
    """The table entries (line, word) that the computation takes at x."""
    lines = text.splitlines()
    tables = {at: line.split()[1] for at, line in enumerate(lines) if line.startswith(("lookup", "ilookup"))}
    more = "".join(f"out at{at} {index}\n" for at, index in tables.items())
    out = evaluate(parse(text + more, True), {"x": float(x), "g": 1.0})
    return {(at, 2 + (int(out[f"at{at}"]) & 15)) for at in tables}


def approximations(text: str) -> frozenset[tuple[int, int]]:
    """The places of numbers that may be a unit off in the analysis: none that anything is compared with, and no tables of bits."""
    lines = [line.split() for line in text.splitlines()]
    compared = {int(word[1:]) for line in lines if line[0] in COMPARISONS for word in line[1:] if word[0] == "#"}
    return frozenset((at, k) for at, k, words in numbers(text) if at not in compared and words[0] != "ilookup")


class Loose(Analysis):
    """A graph whose numbers at some places (line, word) may be a unit in their last place off."""

    places: frozenset[tuple[int, int]] = frozenset()
    units = 1

    def loosened(self, v: Node, word: int) -> Node:
        if (self.index, word) not in self.places or v.const is None:
            return v
        w = Node()
        w.model, w.E = v.model, ZERO
        return self.off_by(w, ball(self.units * Fraction(math.ulp(float(v.const)))))

    def op_const(self, args: list) -> Node:
        return self.loosened(super().op_const(args), 1)

    def op_lookup(self, args: list) -> Node:
        return self.loosened(super().op_lookup(args), 2 + (self.whole(args[0]) & 15))


def loosely(
    kernel: Kernel, graph: Graph, places: frozenset[tuple[int, int]], pieces: list[prove.Piece], units: int = 1
) -> prove.Result:
    """The checked error over the claimed bound with all numbers at these places off by as much as so many units."""
    whole, chosen = prove.analyse, type("Chosen", (Loose,), {"places": places, "units": units})

    def analyse(
        kernel: Kernel, graph: Graph, low_end: Fraction, high_end: Fraction, choices: dict, piece: prove.Piece
    ) -> Analysis:
        return chosen(graph, kernel.format, low_end, high_end, choices, piece.multiples)

    prove.analyse = analyse
    try:
        result = prove.NOTHING
        for piece in pieces:
            result = result.join(prove.prove_piece(kernel, graph, piece))
            if result.ratio > 1:
                break
        return result
    finally:
        prove.analyse = whole


def holds(kernel: Kernel, graph: Graph, places: frozenset[tuple[int, int]]) -> bool:
    try:
        return bool(loosely(kernel, graph, places, prove.all_pieces(kernel)).ratio <= 1)
    except (RuntimeError, NotImplementedError):
        return False


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
    graph, where = parse(text, True), points(kernel)
    uses = [(x, entries_at(text, x)) for x in where]
    seen = max(observed(kernel, graph, x) for x in where)
    lines, kept = text.splitlines(), []  # the places of mutants that no number rejects
    changes = mutants(text)
    for what, changed in changes:
        at, word = (int(v) for v in what.split("."))
        place, other = (at, word + 1), parse(changed, True)
        chosen = [x for x, used in uses if lines[at].startswith("const") or place in used][:TRIES]
        if not any(observed(kernel, other, x) > 1 for x in chosen):
            kept.append(place)
    places = frozenset(kept) & approximations(text)
    harmless = sum(place in places for place in kept) if holds(kernel, graph, places) else 0
    return {
        "kernel": digest(kernel),
        "mutants": len(changes),
        "rejected": len(changes) - len(kept),
        "harmless": harmless,
        "open": len(kept) - harmless,
        "halved": "proved too" if all_within(kernel, parse(halved(text), True)) else "not proved",
        "seen": f"{float(seen):.2f}",
    }


def all_within(kernel: Kernel, graph: Graph) -> bool:
    try:
        return all(prove.prove_piece(kernel, graph, piece).ratio <= 1 for piece in prove.all_pieces(kernel))
    except RuntimeError:
        return False


def rejected(name: str, text: str, fma: bool = True) -> bool:
    kernel, graph = kernels()[name], parse(text, fma)
    piecewise, pieces = hook(kernel.kind, "prove_piece"), hook(kernel.kind, "all_pieces")(kernel)
    try:
        return any(piecewise(kernel, graph, piece).ratio > 1 for piece in pieces)
    except (AssertionError, RuntimeError):  # no bound at all, or a reduction that no longer is one (trig.py)
        return True


def results() -> dict[str, dict]:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def main() -> int:
    direct = [k.name for k in kernels().values() if KINDS[k.kind].module == "prove" and k.kind in ("eval", "eval_g", "dd")]
    for name in sys.argv[1:] or direct:
        found = tried(name)
        print(name, {key: value for key, value in found.items() if key != "kernel"}, flush=True)
        RESULTS.write_text(json.dumps(dict(sorted({**results(), name: found}.items())), indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
