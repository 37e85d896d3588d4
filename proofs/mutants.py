"""Mutants of a kernel: each constant and table entry one unit in its last place up and down, each integer constant and each count of a shift one up and
down, and its bound halved.

A mutant is rejected where the changed graph, evaluated exactly on numbers, errs by more than the claimed bound (points.py). All numbers whose mutants
are not rejected are then off at once, each by as much as a unit either way (loose.py), and the bound is proved again with that, piece by piece: what
holds for all of them together holds for each by itself. Where that fails on a piece, the numbers to which the result is most sensitive are proved there
by themselves, and at last each mutant of such a number, exactly. A mutant that no number rejects, but with which the bound is not shown on some piece,
is refused: `make proofs` fails with it. What the time does not suffice for is open, and so is a number with a meaning beside its value:
proofs/mutants.json says which.

A piece at which a table entry is not read needs no proof for the entry's mutants: the kernel computes the same there. What a kind of proof states of
constants outside the analysis of its pieces is checked for each mutant too (premises).

    python -m proofs.mutants              renews what changed since proofs/mutants.json was written, or is not in it
    python -m proofs.mutants --all        everything
    python -m proofs.mutants erf_b64 ...  these kernels
    python -m proofs.mutants --left 600   what is open in proofs/mutants.json, half of a bound too, with so many seconds for each kernel"""

import argparse
import contextlib
import functools
import json
import math
import multiprocessing
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from flint import arb

from . import angles, halfturns, log_ndtr, octaves, pairs, prove, quantiles, scaled, sums, two
from .graph import HERE, Graph, Kernel, bits_of, digest, double_of, evaluate, kernels, parse, recorded
from .kinds import KINDS, hook
from .loose import SUMS, Place, fixed, loose, read, sensitivities
from .points import TABLES, Point, entries_at, evaluates, known, observed, point, points, refutes
from .taylor import SplitBox
from .trig import CUTS, Reduced, cut_of, nodes_after
from .two import Pair
from .values import Choice, EmptyBox

__all__ = ["entries_at", "observed", "points"]
RESULTS = HERE / "mutants.json"
TRIES = 6  # numbers on which each mutant is evaluated
ALONE = 60.0  # seconds in which a kernel's mutants are proved one by one
HALVED = 30.0  # seconds for half of the bound
OFTEN = 6  # pieces at which a number has to be proved alone, after which it is so at all others too
MEANS_MORE = "stands for more than its value, which the analysis does not follow"
LATE = f"not proved in {ALONE:.0f} s"
FATES = ("rejected", "refused", "together", "alone", "open")
COMPARISONS = ("lt", "le", "eq", "ne", "min", "max", "unord")
SHIFTS = ("sll", "srl", "sra")
OCTAVES = ("dd_octaves", "dd_pow_log", "dd_pow_range")  # their pieces are of the octave that begins at prove.OCTAVE
STEPPED = (
    "dd_steps",
    "dd_steps_exact",
    "dd_steps_low",
    "dd_pow_exp",
    "dd_scaled",
    "dd_scaled_base",
    "dd_turns",
    "dd_turns_far",
)
SCALED = ("scaled", "scaled_bases")  # modules
Mutant = tuple[Place, str]  # a place of the text, and what stands there instead


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
        if words[0] not in ("const", *TABLES) or at in claims:
            continue
        for k, word in enumerate(words[1:], 1):
            if word.startswith("#"):
                continue
            value = double_of(int(word)) if words[0] == "ilookup" else float.fromhex(word)
            if value and math.isfinite(value):
                yield at, k, words


def integers(text: str) -> Iterator[tuple[int, int, list[str]]]:
    """The same of integer constants and counts of shifts."""
    for at, line in enumerate(text.splitlines()):
        words = line.split()
        if words[0] == "iconst":
            yield at, 1, words
        elif words[0] in SHIFTS:
            yield at, 2, words


def changed_to(text: str, place: Place, word: str) -> str:
    lines = text.splitlines()
    words = lines[place[0]].split()
    words[place[1]] = word
    lines[place[0]] = " ".join(words)
    return "\n".join(lines) + "\n"


def others(words: list[str], k: int) -> list[str]:
    """What stands instead of the word in the two mutants."""
    if words[0] == "iconst" or words[0] in SHIFTS:
        return [str(int(words[k]) + by) for by in (-1, 1)]
    return neighbours(words[k], words[0] == "ilookup")


def mutants(text: str) -> list[tuple[str, str]]:
    """(what is changed, the changed text), of numbers."""
    return [
        (f"{at}.{k - 1}", changed_to(text, (at, k), other)) for at, k, words in numbers(text) for other in others(words, k)
    ]


def rejected_at(text: str, place: Place, where: list[Point]) -> list[bool]:
    """Of the mutants of a number, whether one of the points rejects it."""
    words = text.splitlines()[place[0]].split()
    return [rejects(text, (place, other), where) for other in others(words, place[1])]


def rejects(text: str, mutant: Mutant, where: list[Point]) -> bool:
    try:
        changed = parse(changed_to(text, *mutant), True)
    except (ValueError, KeyError, IndexError):
        return True
    return any(refutes(p, changed) for p in where)


# Proofs.


def prove_pieces(kernel: Kernel) -> list[prove.Piece]:
    return hook(kernel.kind, "all_pieces")(kernel)


def is_magic(value: float) -> bool:
    return abs(value) >= 2.0**35 and math.frexp(value)[0] == 0.75


def compared(text: str) -> set[int]:
    """The lines of what something is compared with."""
    lines = [line.split() for line in text.splitlines()]
    return {int(word[1:]) for line in lines if line[0] in COMPARISONS for word in line[1:] if word[0] == "#"}


def approximations(text: str) -> set[Place]:
    """The places of numbers that may be off in the analysis: all but magic numbers and what is taken as an operation of its own."""
    found = set()
    for at, k, words in numbers(text):
        value = double_of(int(words[k])) if words[0] == "ilookup" else float.fromhex(words[k])
        if words[0] != "scale" and not is_magic(value):
            found.add((at, k))
    return found


def read_as_written(kernel: Kernel, graph: Graph) -> set[int]:
    """The nodes of whose numbers a kind of proof takes more than the value that the analysis has (fixed: of the reduction by pi, all of it)."""
    found, module = fixed(kernel, graph), KINDS[kernel.kind].module
    everything = set(range(len(graph.nodes)))
    if module in ("quantiles", "sums"):  # constants of the step, by its shape; the share of the result
        return everything - analysed_part(kernel, graph)
    if module in ("log_ranges", "log_bases") or kernel.kind == "dd_log_known":  # the shape of what comes before the logarithm
        return everything
    if module == "log_ndtr":  # the shape of what comes after it, with its numbers
        return after_logarithm(graph)
    if module in SCALED:  # -1 stands for -2^-n
        return {k for k, (op, args) in enumerate(graph.nodes) if op == "const" and abs(float.fromhex(args[0])) == 1}
    return found


def after_logarithm(graph: Graph) -> set[int]:
    """All nodes but those of which the logarithm's arguments and the part of the bound for them are made, and the constants that these nodes read too."""
    arguments, stack = set(), [*(graph.outputs[k] for k in ("xh", "xl", "uh", "ul")), log_ndtr.part_of(graph)]
    while stack:
        k = stack.pop()
        if k not in arguments:
            arguments.add(k)
            stack += operands(graph, k)
    others = set(range(len(graph.nodes))) - arguments
    return others | {a for k in others for a in operands(graph, k) if graph.nodes[a][0] == "const"}


def operands(graph: Graph, k: int) -> list[int]:
    op, args = graph.nodes[k]
    return [a for a in ([*args[:3], *args[-1]] if op in SUMS else args) if isinstance(a, int)]


def analysed_part(kernel: Kernel, graph: Graph) -> set[int]:
    """The nodes that the analysis of these kinds goes through: what it holds before it begins with a box."""
    at = prove_pieces(kernel)[-1].high
    whole, arguments = sums.Tail, (graph, kernel.format, at, at, {})
    if KINDS[kernel.kind].module == "quantiles":
        whole, arguments = quantiles.Step, (graph, kernel.kind == "dd_step_small", *arguments[1:])
    analysis = whole.__new__(whole)
    with contextlib.suppress(Choice, EmptyBox, SplitBox):
        whole.__init__(analysis, *arguments)
    return analysis.needed


@functools.cache
def before_magic(text: str) -> set[int]:
    """The lines on which sums with a magic number depend: by these the kernel finds the multiple that it takes away."""
    lines = [line.split() for line in text.splitlines()]
    operands = [[int(w[1:]) for w in words[1:] if w[0] == "#"] for words in lines]
    magic = {k for k, words in enumerate(lines) if words[0] == "const" and is_magic(float.fromhex(words[1]))}
    stack = [k for k, words in enumerate(lines) if words[0] in ("add", "mad") and magic & set(operands[k])]
    found: set[int] = set()
    while stack:
        k = stack.pop()
        if k not in found and k < len(lines):
            found.add(k)
            stack += operands[k]
    return found


@functools.cache
def nearest_multiples(kernel: Kernel) -> bool:
    """Whether the constant by which the kernel finds the nearest multiple may be off by 2^-52 of it, as much as a unit of one of its factors."""
    for factor in (1 - Fraction(1, 2**52), 1 + Fraction(1, 2**52)):
        steps = {name: (step, c * factor) for name, (step, c) in prove.STEPS.items()}
        value = angles.constants()
        value["RM_SIN_INV_STEP"] *= factor
        with replaced(prove, STEPS=steps), replaced(angles, constants=functools.partial(dict, value)):
            try:
                prove_pieces(kernel)
            except AssertionError:
                return False
    return True


@contextlib.contextmanager
def replaced(module: Any, **values: Any) -> Iterator[None]:
    before = {name: getattr(module, name) for name in values}
    try:
        for name, value in values.items():
            setattr(module, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)


def premises(kernel: Kernel, text: str, mutant: Mutant) -> bool:
    """Whether what the kind's pieces are based on holds of the changed graph too.

    Multiples: the constant by which the kernel finds the nearest one may be off by a unit of one of its factors. One octave for all: the lemma is
    checked of the changed graph (octaves.py). Half-turns: where the result is 0 it is so with the change (halfturns.py)."""
    (at, _), _ = mutant
    try:
        if kernel.kind in STEPPED and at in before_magic(text):
            return nearest_multiples(kernel)
        if KINDS[kernel.kind].module in ("halfturns", "halfturn_rests"):
            with replaced(halfturns, recorded=lambda name: changed_to(text, *mutant)):
                halfturns.zeros(kernel)
        if kernel.kind == "dd_one_octave":
            octaves_of_changed(kernel, text, changed_to(text, *mutant))
    except (AssertionError, ArithmeticError, ValueError):
        return False
    return True


def octaves_of_changed(kernel: Kernel, text: str, changed: str) -> None:
    """The lemma. Which multiples of 16 there are depends on two constants only."""
    whole = octaves.multiples_of_16

    def multiples_of_16(other: str) -> tuple[int, int]:
        same = octaves.constants(parse(other, True)) == octaves.constants(parse(text, True))
        return whole(text if same else other)

    with replaced(octaves, recorded=lambda name: changed, multiples_of_16=multiples_of_16):
        octaves.check(kernel)


def pieces_of(kernel: Kernel, text: str, mutant: Mutant | None) -> list[prove.Piece]:
    """The pieces of the domain; a mutant may begin its octave elsewhere, or not be symmetric."""
    if mutant is None:
        return prove_pieces(kernel)
    (at, k), other = mutant
    if kernel.kind in ("eval_2", "dd_2"):  # of symmetric arguments one sign
        changed = {"recorded": lambda name: changed_to(text, *mutant)}
        with replaced(two, **changed), replaced(pairs, **changed):
            return prove_pieces(kernel)
    if kernel.kind not in OCTAVES:
        return prove_pieces(kernel)
    words = text.splitlines()[at].split()
    if words[0] != "iconst" or double_of(int(words[k])) != float(prove.OCTAVE):
        return prove_pieces(kernel)
    with replaced(prove, OCTAVE=Fraction(double_of(int(other)))):
        return prove_pieces(kernel)


def ratio(kernel: Kernel, graph: Graph, piece: prove.Piece) -> prove.Result | None:
    """Nothing: no bound at all."""
    try:
        return hook(kernel.kind, "prove_piece")(kernel, graph, piece)
    except (
        ArithmeticError,
        AssertionError,
        AttributeError,
        IndexError,
        KeyError,
        NotImplementedError,
        RuntimeError,
        SplitBox,
        TypeError,
        ValueError,
    ):
        return None


def holds(result: prove.Result | None) -> bool:
    return result is not None and bool(result.ratio <= 1)


def loosely(kernel: Kernel, graph: Graph, places: set[Place], pieces: list[prove.Piece], units: int = 1) -> bool:
    """Whether the bound holds on these pieces with all numbers at these places off by as much as so many units."""
    with loose(places, units):
        return all(holds(ratio(kernel, graph, piece)) for piece in pieces)


def unsettled(
    kernel: Kernel, graph: Graph, places: set[Place], piece: prove.Piece, soft: set[int]
) -> tuple[dict[Place, tuple], bool]:
    """Of these places those with which the bound does not hold on the piece while the number is off, each by itself, and a box where it does not;
    and whether some of them do, so that the whole piece was analysed. `soft`: the lines of what something is compared with."""
    out: dict[Place, tuple] = {}
    stack, whole = [places], False
    while stack:
        group = stack.pop()
        if not group:
            continue
        with loose(group):
            result = ratio(kernel, graph, piece)
            found = sensitivities(group) if result is not None else {}
        if holds(result):
            whole = True
            continue
        if len(group) == 1:
            out[next(iter(group))] = result.at if result is not None and result.at else (float(piece.low), float(piece.high))
            continue
        ordered = sorted(found, key=lambda at: found[at], reverse=True)
        dropped = {at for at in group if at[0] in soft} or set(ordered[: math.ceil(len(ordered) / 4)])
        if not dropped or dropped == group:
            dropped = set(sorted(group)[: len(group) // 2])
        stack += [dropped, group - dropped]
    return out, whole


@dataclass
class Settled:
    """Pieces by number: where each place has to be proved alone, with a box; and which table entries are read at each."""

    alone: dict[Place, dict[int, tuple]] = field(default_factory=dict)
    entries: list[set[Place]] = field(default_factory=list)


def settled(
    kernel: Kernel, graph: Graph, places: set[Place], pieces: list[prove.Piece], soft: set[int], tables: bool = True
) -> Settled:
    """`tables`: whether it matters which table entries are read where."""
    found, often = Settled(), set()
    for n, piece in enumerate(pieces):
        with read() as entries:
            out, whole = unsettled(kernel, graph, places - often, piece, soft)
            if not whole and tables:
                assert holds(ratio(kernel, graph, piece))
        found.entries.append(set(entries))
        unread = {at for at in often if graph.nodes[at[0]][0] in TABLES} - entries
        for place in {**out, **dict.fromkeys(often - unread)}:
            found.alone.setdefault(place, {})[n] = out.get(place, (float(piece.low), float(piece.high)))
        often |= {place for place in out if len(found.alone[place]) >= OFTEN}
    return found


def proved(kernel: Kernel, graph: Graph, pieces: list[prove.Piece], until: float) -> bool | None:
    """None: not all of them in time."""
    for piece in pieces:
        if time.process_time() > until:
            return None
        if not holds(ratio(kernel, graph, piece)):
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
    largest = max(b.largest for b in cut.bounds)
    for place, other in chosen:
        if place[0] in nodes_after(cut):
            continue
        try:
            changed = cut_of(kernel, parse(changed_to(text, place, other), True))
        except (
            ArithmeticError,
            AssertionError,
            IndexError,
            KeyError,
            NotImplementedError,
            TypeError,
            ValueError,
        ):  # no reduction any more
            continue
        pairs = zip(changed.bounds, cut.bounds, strict=False)
        worse = [b for b, a in pairs if b.relative > 4 * a.relative or b.absolute > 4 * a.absolute]
        same = (changed.end, changed.signs) == (cut.end, cut.signs) and max(b.largest for b in changed.bounds) <= largest
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


def in_box(kernel: Kernel, piece: prove.Piece, box: tuple, rng: random.Random) -> list[Point]:
    """More numbers, of the box that does not allow a change."""
    if piece.multiples is not None or isinstance(piece, (Pair, Reduced)) or kernel.kind.startswith(("dd_angle", "dd_step_")):
        return []
    a, b = (Fraction(v) for v in box)
    return [point(kernel, a + (b - a) * Fraction(rng.randrange(2**60), 2**60), rng) for _ in range(2 * TRIES)]


class Trial:
    """What becomes of a kernel's mutants, with fused operations."""

    def __init__(self, name: str):
        self.kernel, self.text, self.rng = kernels()[name], recorded(name), random.Random(name)
        self.lines, self.graph = self.text.splitlines(), parse(self.text, True)
        self.pieces = prove_pieces(self.kernel)
        self.where = [p for p in points(self.kernel) if evaluates(p, self.graph)]
        self.seen = max(p.error(self.graph) for p in self.where)
        assert self.seen <= 1, "the kernel itself is rejected"
        self.whole = {(at, k) for at, k, _ in integers(self.text)}
        places = [(at, k, words) for of in (numbers, integers) for at, k, words in of(self.text)]
        self.fate: dict[Mutant, str] = {((at, k), other): "" for at, k, words in places for other in others(words, k)}

    def means_more(self, place: Place) -> bool:
        return of_size_only(self.graph, place[0]) or means_more(self.kernel, self.lines[place[0]].split())

    def left(self, place: Place | None = None) -> list[Mutant]:
        return [m for m, fate in self.fate.items() if not fate and place in (None, m[0])]

    def evaluate(self) -> None:
        uses = [(p, entries_at(self.text, p)) for p in self.where]
        for mutant in self.fate:
            place = mutant[0]
            table = self.lines[place[0]].startswith(TABLES)
            some = [p for p, used in uses if not table or place in used]
            if rejects(self.text, mutant, some[: 8 * TRIES if place in self.whole else TRIES]):
                self.fate[mutant] = "rejected"

    def settle(self) -> Settled:
        """All numbers neither of whose mutants is rejected, off at once."""
        kept = {place for place in approximations(self.text) if len(self.left(place)) == 2}
        as_written = read_as_written(self.kernel, self.graph)
        may = {place for place in kept if place[0] not in as_written}
        for place in set(may):
            if not all(premises(self.kernel, self.text, m) for m in self.left(place)):
                may.discard(place)
        tables = any(self.lines[m[0][0]].startswith(TABLES) for m in self.left())
        if not may and not tables:
            return Settled()
        found = settled(self.kernel, self.graph, may, self.pieces, compared(self.text), tables)
        for place in may - set(found.alone):
            for mutant in self.left(place):
                self.fate[mutant] = "together"
        return found

    def alone(self, found: Settled, until: float) -> None:
        """What is left, mutant by mutant, on the pieces that are left."""
        for place, at in found.alone.items():
            for mutant in self.left(place):
                n = min(at)
                if rejects(self.text, mutant, in_box(self.kernel, self.pieces[n], at[n], self.rng)):
                    self.fate[mutant] = "rejected"
        apart = unread(self.kernel, self.graph)
        for mutant in self.left():
            if mutant[0][0] in apart or stays_nan(self.lines, mutant) or widens(self.lines, mutant):
                self.fate[mutant] = "alone"
            elif self.means_more(mutant[0]) and other_multiple(self.kernel, self.text, mutant, self.where):
                self.fate[mutant] = "rejected"
        for mutant in reduced(self.kernel, self.text, self.graph, self.left(), self.pieces):
            self.fate[mutant] = "alone"
        powers = [m for m in self.left() if of_size_only(self.graph, m[0][0])]
        if powers and larger_powers(self.kernel, self.graph, self.pieces, until):
            self.fate.update(dict.fromkeys(powers, "together"))
        for mutant in self.left():
            place, other = mutant
            if self.means_more(place):
                self.fate[mutant] = "rejected" if rejects(self.text, mutant, self.where) else "open"
                continue
            if not premises(self.kernel, self.text, mutant):
                self.fate[mutant] = "refused"
                continue
            if place in found.alone:
                pieces = [self.pieces[n] for n in found.alone[place]]
            elif found.entries and self.lines[place[0]].startswith(TABLES):
                pieces = [p for p, entries in zip(self.pieces, found.entries, strict=True) if place in entries]
            else:
                pieces = list(pieces_of(self.kernel, self.text, mutant))
                self.rng.shuffle(pieces)  # one at which it fails comes early
            ends = at_ends(self.kernel, self.text, mutant, self.pieces)
            ends = at_steps(self.kernel, self.lines, mutant, self.pieces) if ends is None else ends
            pieces = pieces if ends is None else ends
            if self.lines[place[0]].startswith("lookup"):
                pieces = [p for p in pieces if may_read(self.lines, place, p)]
            try:
                changed = parse(changed_to(self.text, place, other), True)
            except (ValueError, KeyError):
                self.fate[mutant] = "refused"
                continue
            result = proved(self.kernel, changed, pieces, until)
            if not result and rejects(self.text, mutant, self.where):
                self.fate[mutant] = "rejected"
            else:
                self.fate[mutant] = {True: "alone", False: "refused", None: "open"}[result]

    def report(self) -> dict:
        def counts(some: list[Mutant]) -> dict[str, int]:
            fates = [self.fate[m] for m in some]
            return {"mutants": len(fates)} | {fate: fates.count(fate) for fate in FATES}

        def names(fate: str) -> list[str]:
            return [f"{p[0]}.{p[1] - 1} {self.lines[p[0]].split()[0]} {o}" for (p, o), f in self.fate.items() if f == fate]

        return {
            "kernel": digest(self.kernel),
            **counts([m for m in self.fate if m[0] not in self.whole]),
            "integers": counts([m for m in self.fate if m[0] in self.whole]),
            "unproved": names("refused"),
            "left": {
                name: MEANS_MORE if self.means_more(m[0]) else LATE
                for name, m in zip(names("open"), (m for m, fate in self.fate.items() if fate == "open"), strict=True)
            },
            "seen": f"{float(self.seen):.2f}",
        }


def means_more(kernel: Kernel, words: list[str]) -> bool:
    """Whether a number has a meaning beside its value, so that the analysis does not follow the mutant: -1 stands for -2^-n (scaled.py), and
    with the magic number of a reduction by pi the multiple, which is no output, would be another one."""
    if words[0] != "const":
        return False
    value = float.fromhex(words[1])
    if kernel.kind.startswith("dd_turns"):
        return is_magic(value)
    return value == -1 and KINDS[kernel.kind].module in SCALED and kernel.function not in ("sinh", "cosh")


def of_size_only(graph: Graph, at: int) -> bool:
    """Whether of these powers of two the analysis takes the size: of 2^(offset - k) (scaled.py)."""
    op, args = graph.nodes[at]
    of, operands = graph.nodes[args[0]] if op == "scale" else ("", [])
    return of == "isub" and graph.nodes[operands[0]][0] == "iconst"


def unread(kernel: Kernel, graph: Graph) -> set[int]:
    """The nodes that the result of a step does not depend on: those of the other side of u = 1/16, which is a kernel of its own."""
    if KINDS[kernel.kind].module != "quantiles":
        return set()
    uh, taken = graph.nodes.index(("input", ["uh"])), 1 if kernel.kind == "dd_step_small" else 2
    found: set[int] = set()
    stack = list(graph.outputs.values())
    while stack:
        k = stack.pop()
        if k in found:
            continue
        found.add(k)
        op, args = graph.nodes[k]
        if op == "select" and graph.nodes[args[0]][0] == "le" and graph.nodes[args[0]][1][0] == uh:
            args = [args[0], args[taken]]
        elif op in ("fast_two_sum_error", "two_sum_error"):
            args = [*args[:3], *args[-1]]
        stack += [a for a in args if isinstance(a, int)]
    return set(range(len(graph.nodes))) - found


def stays_nan(lines: list[str], mutant: Mutant) -> bool:
    """Whether an integer is the bits of a NaN before and after, and nothing but these."""
    (at, k), other = mutant
    words = lines[at].split()
    if words[0] != "iconst" or not (math.isnan(double_of(int(words[k]))) and math.isnan(double_of(int(other)))):
        return False
    users = [line.split() for line in lines if f"#{at}" in line.split()]
    return bool(users) and all(words[0] == "from_bits" for words in users)


def widens(lines: list[str], mutant: Mutant) -> bool:
    """Whether a number is larger and stands only before a magnitude in the last sum of the bound, which thereby is larger and nothing else."""
    (at, k), other = mutant
    words = lines[at].split()
    users = [line.split() for line in lines if f"#{at}" in line.split()]
    if (
        words[0] != "const"
        or not 0 < float.fromhex(words[k]) < float.fromhex(other)
        or len(users) != 1
        or users[0][0] != "mad"
    ):
        return False
    first, second, rest = users[0][1:]
    factor = second if first == f"#{at}" else first
    total = [
        line.split()[1] for line in lines if line.startswith("out") and lines[int(line.split()[2][1:])].split() == users[0]
    ]
    return rest != f"#{at}" and total == ["err"] and lines[int(factor[1:])].startswith("abs")


def other_multiple(kernel: Kernel, text: str, mutant: Mutant, where: list[Point]) -> bool:
    """Whether the kernel takes another multiple of pi/16 for the nearest one: its last bits are those of the sum with the magic number."""
    lines = text.splitlines()
    magic = [k for k, line in enumerate(lines) if line.startswith("const") and is_magic(float.fromhex(line.split()[1]))]
    if not kernel.kind.startswith("dd_turns") or mutant[0][0] not in magic:
        return False
    (total,) = [k for k, line in enumerate(lines) if line.startswith("mad") and f"#{magic[0]}" in line.split()]
    for changed, wanted in ((text, True), (changed_to(text, *mutant), False)):
        graph = parse(f"{changed}out z #{total}\n", True)
        for p in where[:TRIES]:
            z = evaluate(graph, p.inputs)["z"]
            multiple = round(Fraction(p.inputs["x"]) / known(lambda: arb.pi() / 16))
            if ((bits_of(z) - multiple) % 32 == 0) is not wanted:
                return False
    return True


def before_index(lines: list[str], at: int) -> int | None:
    """Of an integer that is added to the bits of a number, of which the upper ones then choose an entry and the middle of its interval: the number."""
    users = [(k, line.split()) for k, line in enumerate(lines) if f"#{at}" in line.split()]
    if len(users) != 1 or users[0][1][0] != "iadd":
        return None
    total, (_, *operands) = users[0]
    (bits,) = [lines[int(w[1:])].split() for w in operands if w != f"#{at}"]
    after = [line.split() for line in lines if f"#{total}" in line.split()]
    masks = [lines[int(w[1:])].split() for words in after if words[0] == "iand" for w in words[1:] if w != f"#{total}"]
    shifts = [2 ** int(words[2]) for words in after if words[0] == "srl"]
    chooses = {words[0] for words in after} == {"srl", "iand"} and all(words[0] == "iconst" for words in masks)
    if not chooses or any(-int(words[1]) != shifts[0] for words in masks) or bits[0] != "bits":
        return None
    return int(bits[1][1:])


def of_size(lines: list[str], number: int) -> Callable[[float], float] | None:
    """The number by the argument's size, with which it rises: by magnitudes, smaller ones, and sums and products with numbers above 0."""
    words = lines[number].split()
    if words[0] == "input":
        return abs if words[1] == "x" else None
    if words[0] not in ("abs", "min", "add", "mul"):
        return None
    operands = [lines[int(w[1:])].split() for w in words[1:]]
    constants = [float.fromhex(w[1]) for w in operands if w[0] == "const"]
    inner = [int(w[1:]) for w, of in zip(words[1:], operands, strict=True) if of[0] != "const"]
    before = of_size(lines, inner[0]) if len(inner) == 1 and all(c > 0 for c in constants) else None
    return before and (
        lambda x: evaluate(
            Graph(
                [("input", ["x"]), *(("const", [c.hex()]) for c in constants), (words[0], [*range(1 + len(constants))])],
                {"y": 1 + len(constants)},
            ),
            {"x": before(x)},
        )["y"]
    )


def at_ends(kernel: Kernel, text: str, mutant: Mutant, pieces: list[prove.Piece]) -> list[prove.Piece] | None:
    """Where such an integer chooses another entry, one unit off: at the arguments whose number has as bits, with the larger of both integers, a multiple of
    the interval's. All arguments that give it are a piece. None: of another integer nothing is known here."""
    (at, k), other = mutant
    lines = text.splitlines()
    number = before_index(lines, at) if lines[at].startswith("iconst") else None
    size = of_size(lines, number) if number is not None else None
    if size is None or any(p.multiples is not None or isinstance(p, (Pair, Reduced)) for p in pieces):
        return None
    larger, (shift,) = (
        max(int(lines[at].split()[k]), int(other)),
        {
            int(words[2])
            for words in map(str.split, lines)
            if words[0] == "srl" and f"#{at}" in lines[int(words[1][1:])].split()
        },
    )
    found = []
    for sign in {1 if p.high > 0 else -1 for p in pieces}:
        sizes = [abs(v) for p in pieces for v in (p.low, p.high) if (p.high > 0) == (sign > 0)]
        low, high = bits_of(float(min(sizes))), bits_of(float(max(sizes)))
        first, last = (bits_of(size(double_of(x))) + larger >> shift for x in (low, high))
        for multiple in range(first, last + 1):
            ends = [first_with(size, low, high, (multiple << shift) - larger + more) for more in (0, 1)]
            if ends[0] < ends[1]:
                a, b = sorted(sign * Fraction(double_of(x)) for x in (ends[0], ends[1] - 1))
                found.append(prove.Piece(a - abs(a) / 2**50, b + abs(b) / 2**50))
    return found


def at_steps(kernel: Kernel, lines: list[str], mutant: Mutant, pieces: list[prove.Piece]) -> list[prove.Piece] | None:
    """The same of what a logarithm of two parts takes from the bits of a number: the entry, the interval's end and the exponent are others only where the number
    is an end of the 16 intervals of an octave, or the one before. For logaddexp the number is 1 + e^-x, rounded."""
    (at, _), _ = mutant
    begin = bits_of(float(prove.OCTAVE))
    users = {line.split()[0] for line in lines if f"#{at}" in line.split()}
    if kernel.kind not in ("dd_log_sum", "dd_log_parts", "dd_sum") or lines[at] != f"iconst {begin}" or users != {"isub"}:
        return None
    ends, near, found = [Fraction(double_of(begin + (j << 48))) for j in range(33)], Fraction(1, 2**48), []
    if kernel.kind == "dd_sum":  # the sum is within 2^-52 of 1 + e^-x
        ends = [known(lambda: -(arb(1) * (end - 1).numerator / (end - 1).denominator).log()) for end in ends if 1 < end < 2]  # noqa: B023
        near = Fraction(1, 2**40)
    for piece in pieces:
        for end in ends:
            low, high = max(piece.low, end - near * abs(end)), min(piece.high, end + near * abs(end))
            if low < high:
                found.append(replace(piece, low=low, high=high))
    return found


def may_read(lines: list[str], place: Place, piece: prove.Piece) -> bool:
    """Whether the entry is read on a piece, as far as the index is known to rise with the argument's size."""
    index = lines[int(lines[place[0]].split()[1][1:])].split()
    total = lines[int(index[1][1:])].split() if index[0] == "srl" else [""]
    whole = [int(w[1:]) for w in total[1:] if lines[int(w[1:])].startswith("iconst")] if total[0] == "iadd" else []
    number = before_index(lines, whole[0]) if len(whole) == 1 else None
    size = of_size(lines, number) if number is not None else None
    if size is None or piece.multiples is not None or isinstance(piece, (Pair, Reduced)):
        return True
    low, high = sorted(abs(float(v)) for v in (piece.low, piece.high))
    if piece.low < 0 < piece.high:
        low = 0.0
    added, shift = int(lines[whole[0]].split()[1]), int(index[2])
    first, last = (bits_of(size(v)) + added >> shift for v in (math.nextafter(low, 0), math.nextafter(high, math.inf)))
    return (place[1] - 2 - first) % 16 <= last - first


def first_with(size: Callable[[float], float], low: int, high: int, wanted: int) -> int:
    """The bits of the first argument, of these, whose number has at least these bits; high + 1: none has."""
    high += 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if bits_of(size(double_of(middle))) >= wanted else (middle + 1, high)
    return low


def larger_powers(kernel: Kernel, graph: Graph, pieces: list[prove.Piece], until: float) -> bool | None:
    """Whether the bound holds with all of these up to 2^-50 larger than they are."""
    whole = scaled.powers
    with replaced(scaled, powers=lambda piece: tuple(v * (1 + Fraction(1, 2**50)) for v in whole(piece))):
        return proved(kernel, graph, pieces, until)


def parsed_mutant(text: str, name: str) -> Mutant:
    """As Trial.report names it."""
    at, _, other = name.split(" ")
    line, word = at.split(".")
    return (int(line), int(word) + 1), other


def tried_again(name: str, seconds: float) -> dict:
    """The result that is kept, with what becomes of the mutants that are open in it."""
    held, trial = results()[name], Trial(name)
    assert held["kernel"] == digest(trial.kernel), "the kernel has changed"
    until = time.process_time() + seconds
    trial.fate = {parsed_mutant(trial.text, key): "" for key in held["left"]}
    trial.alone(Settled(), until)
    found = trial.report()
    for counts, more in ((held, found), (held["integers"], found["integers"])):
        for fate in FATES:
            counts[fate] += more[fate] if fate != "open" else more["open"] - more["mutants"]
    held["unproved"] += found["unproved"]
    held["left"] = found["left"]
    if held["halved"] == "open":
        held["halved"] = tried_halved(name, seconds)
    return held


def tried(name: str) -> dict:
    trial = Trial(name)
    trial.evaluate()
    found = trial.settle()
    trial.alone(found, time.process_time() + ALONE)
    return trial.report()


def tried_halved(name: str, seconds: float = HALVED) -> str:
    """Whether half of the bound is rejected, proved, or neither."""
    kernel, text = kernels()[name], recorded(name)
    graph = parse(halved(text), True)
    if any(refutes(p, graph) for p in points(kernel) if evaluates(p, graph)):
        return "rejected"
    pieces = list(prove_pieces(kernel))
    random.Random(name).shuffle(pieces)  # one at which it fails comes early
    found = proved(kernel, graph, pieces, time.process_time() + seconds)
    return {True: "proved too", False: "not proved", None: "open"}[found]


def results() -> dict[str, dict]:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def keep(name: str, found: dict) -> None:
    RESULTS.write_text(json.dumps(dict(sorted({**results(), name: found}.items())), indent=1) + "\n")
    print(name, {key: value for key, value in found.items() if key != "kernel"}, flush=True)


def task(arguments: tuple[str, float]) -> tuple[str, dict | None]:
    name, until = arguments
    if time.time() > until:
        return name, None
    found, held = tried(name), results().get(name, {})
    known = held.get("halved") if held.get("kernel") == found["kernel"] else None
    return name, {**found, "halved": known or tried_halved(name)}


def boxes(name: str) -> int:
    """As many as its proof had."""
    path = HERE / "certificates" / f"{name}.json"
    return json.loads(path.read_text())["fma"]["boxes"] if path.exists() else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="kernel")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--left", type=float, metavar="seconds", help="for each kernel that has mutants left")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin with no kernel after so long")
    arguments = parser.parse_args()
    if arguments.left:
        for name in arguments.names or [
            name for name, found in results().items() if found["left"] or found["halved"] == "open"
        ]:
            keep(name, tried_again(name, arguments.left))
        return 0
    held = {name: found for name, found in results().items() if name in kernels()}
    RESULTS.write_text(json.dumps(held, indent=1) + "\n")
    changed = [k.name for k in kernels().values() if held.get(k.name, {}).get("kernel") != digest(k)]
    chosen = arguments.names or sorted(kernels() if arguments.all else changed, key=boxes)
    until, left = time.time() + arguments.seconds, []
    with multiprocessing.Pool(arguments.processes) as pool:
        for name, found in pool.imap_unordered(task, [(name, until) for name in chosen]):
            if found is None:
                left.append(name)
            else:
                keep(name, found)
    if left:
        print(f"not tried in {arguments.seconds:.0f} s: {', '.join(left)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
