"""exp2m1 and exp10m1 of large arguments: scaled.py, for the multiples that exp2 and exp10 take away (dd_scaled_base).

exp2's k is the integer nearest to 16 x exactly, since 16 x is a number and the sum with the large constant rounds to a multiple of 1/16. exp10's is
nearest to x times a constant up to the roundings of the product and the sum, as prove.step_pieces says. What prove.py checks of their steps holds
here too; from there on the operations are those of expm1."""

import itertools
from fractions import Fraction

from flint import arb

from . import prove, scaled
from .engine import Analysis
from .graph import Graph, Interval, Kernel
from .scaled import EXACT, ONE, Scaled, Scaling
from .taylor import SplitBox, ball, taylor, up
from .values import half_place

BASE = {"exp2m1": "exp2", "exp10m1": "exp10"}


def analyse(kernel: Kernel, graph: Graph, low_end: Fraction, high_end: Fraction, choices: dict, piece: Scaled) -> Analysis:
    return scaled.analyse(kernel, graph, low_end, high_end, choices, piece)


def measure(kernel: Kernel, analysis: Scaling, function) -> tuple[arb, arb]:
    del function
    multiples, log2 = analysis.multiples, arb(2).log()
    hi, lo, err = (analysis.output(k) for k in ("hi", "lo", "err"))
    if not err.smallest > 0:
        raise SplitBox
    # b^(t + k step) = 2^(k/16) b^t, but for the distance of step log b from ln2/16.
    logarithm = prove.LOGARITHM[BASE[kernel.function]]()
    f = taylor(lambda t: (logarithm * t).exp(), analysis.centre, analysis.width).scale((log2 * multiples.residue / 16).exp())
    away = up(f.sup() * up((logarithm * ball(multiples.step) - log2 / 16) * multiples.size()).expm1())
    f = f + analysis.nodes[analysis.graph.outputs[ONE]].model
    error = up((hi.model + lo.model - f).sup_pieces(4) + away + analysis.roundings({"hi": 1, "lo": 1, ONE: -1}))
    return up((error + half_place(up(lo.size + err.size))) / err.smallest), arb(0)


def all_pieces(kernel: Kernel) -> list[prove.Piece]:
    base = BASE[kernel.function]
    step, c = prove.STEPS[base]
    (interval,) = kernel.domain
    first, last = int(interval.low / step) - 1, int(interval.high / step) + 1
    if base == "exp2":
        assert step * c == 1
        half = step / 2
    else:
        half = step / 2 * (1 + Fraction(1, 2**20))
        assert half * c - last * abs(step * c - 1) - Fraction(1, 2**36) > Fraction(1, 2)
    pieces = []
    for (start, end), j in itertools.product(itertools.pairwise([first, *EXACT, last + 1]), range(16)):
        multiples = prove.Multiples(step, start, end - 1, j)
        for ends in ((-half, Fraction(0)), (Fraction(0), half)):
            pieces.append(Scaled(*ends, multiples, function="expm1"))  # whose -1 it is
    return pieces


def domain(kernel: Kernel) -> tuple[Interval, ...]:
    return kernel.domain
