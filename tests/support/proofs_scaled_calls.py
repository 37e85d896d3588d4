"""What proofs/test_scaled.py and other tests share."""

import random
import sys
from fractions import Fraction

import flint
from proofs_composed_calls import ROOT

sys.path.insert(0, str(ROOT))
from proofs import evidence, graph, kinds, prove, taylor  # noqa: E402

POINTS = 12


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
