"""What proofs/test_composed.py and other tests share."""

import pathlib
import subprocess
import sys
from fractions import Fraction

import flint

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from proofs import definitions, graph, kinds, prove, taylor  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULES = ("composed", "computed", "small", "circle")
KERNELS = [name for name, k in sorted(graph.kernels().items()) if kinds.KINDS[k.kind].module in MODULES]
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
