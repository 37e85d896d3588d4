"""The kernels of proofs/: their graphs, whole or with a line replaced, exact values, and the ratio of error to bound of a piece."""

import pathlib
import random
import subprocess
import sys
from fractions import Fraction

import flint

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from proofs import definitions, evidence, graph, kinds, prove, taylor  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULES = ("composed", "computed", "small", "circle")
KERNELS = [name for name, k in sorted(graph.kernels().items()) if kinds.KINDS[k.kind].module in MODULES]
POINTS = 12
BUILDS = {"fma": True, "base": False}


def whole(name: str, fma: bool) -> graph.Graph:
    """The kernel's graph with all operations of exp."""
    text = subprocess.run([graph.recorder(), name, "whole"], check=True, capture_output=True, text=True).stdout
    outputs = [line for line in text.splitlines() if line.startswith("out")]
    nodes = [line.split(" ", 1)[1] for line in text.splitlines() if not line.startswith("out")]
    return graph.parse("\n".join(nodes + outputs) + "\n", fma)


def value(function: str, x: Fraction) -> flint.arb:
    flint.ctx.prec = 600
    return definitions.constant(definitions.DEFINITIONS[function](flint.arb_series([taylor.ball(x), 1], prec=2)))


def ratio_at(name: str, text: str, fma: bool, low: Fraction, high: Fraction | None = None) -> flint.arb:
    kernel = graph.kernels()[name]
    return prove.prove_piece(kernel, graph.parse(text, fma), prove.Piece(low, low if high is None else high)).ratio


def kernel_of(name: str) -> graph.Kernel:
    return graph.kernels()[name]


def pieces(name: str) -> list:
    return kinds.hook(kernel_of(name).kind, "all_pieces")(kernel_of(name))


def ratio_of(name: str, text: str, fma: bool, piece: prove.Piece) -> flint.arb:
    return prove.prove_piece(kernel_of(name), graph.parse(text, fma), piece).ratio


def seen(out: dict, exact: flint.arb) -> flint.arb:
    """|hi + lo - exact|/err, from below."""
    return taylor.low(taylor.ball(Fraction(out["hi"]) + Fraction(out["lo"])) - exact) / taylor.ball(Fraction(out["err"]))


def replaced(text: str, old: str, new: str, at: int = 0) -> str:
    """The graph with another line in place of the one of these that are equal."""
    lines = text.splitlines()
    place = [i for i, line in enumerate(lines) if line == old][at]
    return "\n".join([*lines[:place], new, *lines[place + 1 :]]) + "\n"


def numbers(name: str, count: int) -> list[Fraction]:
    """Of the kernel's domain, spread over the octaves of the distance from the pole."""
    rng, found = random.Random(name), []
    for _ in range(count):
        low, high = rng.choice(prove.first_boxes(rng.choice(evidence.domain(kernel_of(name)))))
        found.append(Fraction(float(low + (high - low) * Fraction(rng.randrange(1, 2**60), 2**60))))
    return found
