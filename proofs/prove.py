"""The bound of a kernel over its domain, box by box."""

import itertools
import math
import re
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, ctx

from .definitions import DEFINITIONS
from .engine import Analysis
from .graph import ROOT, Graph, Interval, Kernel, parse, parse_domain, recorded
from .kinds import hook
from .taylor import ZERO, Model, SplitBox, ball, low, pow2, taylor, up
from .values import Choice, EmptyBox, Multiples, half_place

# Working precision, order of the models, parts in which the approximation error is taken, and how often a box is cut to bring
# the bound below `close` times the claim, then below the claim.
SETTINGS = {"f32": (160, 10, 4), "f64": (320, 14, 4)}
CLOSE, CUTS, MORE_CUTS = 1.0, 5, 14
DEEPEST = 200


@dataclass
class Result:
    """The largest error/claim over the boxes, where it was, and how many boxes there were."""

    ratio: arb
    at: tuple[float, float] | None
    boxes: int
    relative: arb  # the largest bound of error/|function|, where the claim is relative

    def join(self, other: "Result") -> "Result":
        worst = self if self.ratio >= other.ratio else other
        relative = self.relative if self.relative >= other.relative else other.relative
        return Result(worst.ratio, worst.at, self.boxes + other.boxes, relative)


NOTHING = Result(arb(0), None, 0, arb(0))


def analyse(kernel: Kernel, graph: Graph, low_end: Fraction, high_end: Fraction, choices: dict, piece: "Piece") -> Analysis:
    """The graph over a part of the piece, on the branches that were chosen."""
    return Analysis(graph, kernel.format, low_end, high_end, choices, piece.multiples)


def measure(kernel: Kernel, analysis: Analysis, function) -> tuple[arb, arb]:
    """Upper bounds of error/claim and of error/|function| over the box."""
    f = taylor(function, analysis.centre, analysis.width)
    multiples = analysis.multiples
    pieces = SETTINGS[kernel.format][2]
    smallest = low(f.enclosure())
    if kernel.kind.startswith("dd"):
        hi, lo, err = (analysis.output(k) for k in ("hi", "lo", "err"))
        away = ZERO
        if kernel.kind == "dd_octaves" and multiples:
            # The function of 2^k m is that of m plus k times that of 2.
            constant = taylor(function, arb(2), ZERO).enclosure() if kernel.function != "log2" else arb(1)
            if multiples.first == multiples.last:
                f = f + Model.const(constant * multiples.first)
            else:
                away = up((analysis.linear(hi.per_k, lo.per_k) - constant) * multiples.size())
        if kernel.kind == "dd_steps" and multiples:
            # exp of c (x + step k) is that of c x times 2^(k/16), but for the distance of c step from ln2/16.
            logarithm = LOGARITHM[kernel.function]()
            f = f.scale((arb(2).log() * multiples.residue / 16).exp())
            distance = (logarithm * ball(multiples.step) - arb(2).log() / 16) * multiples.size()
            away = up(f.sup() * up(distance).expm1())
        error = up((hi.model + lo.model - f).sup_pieces(pieces) + away + analysis.roundings({"hi": 1, "lo": 1}))
        error = up(error + half_place(up(lo.size + err.size)))
        if not err.smallest > 0:
            raise SplitBox
        return up(error / err.smallest), arb(0)
    error = up((analysis.output("y").model - f).sup_pieces(pieces) + analysis.roundings({"y": 1}))
    if kernel.kind == "eval_g_within":
        err = analysis.output("err")
        if not err.smallest > 0:
            raise SplitBox
        return up((error + analysis.output("y").size * pow2(-52)) / err.smallest), arb(0)
    if not smallest > 0:
        raise SplitBox
    relative = up(error / smallest)
    if kernel.test == "any":
        relative = up(relative + pow2(-53))
    # The claim is relative to the computed value, which is this close to the function's.
    claim = ball(analysis.output("claim").const)
    return up(relative / claim * (1 + pow2(-36))), relative


LOGARITHM = {"exp": lambda: arb(1), "exp2": lambda: arb(2).log(), "exp10": lambda: arb(10).log()}
# Where rm_log_reduce begins its octave of m.
OCTAVE = Fraction(45, 64)
EXP_LIMIT = {"exp": Fraction("708.3"), "exp2": Fraction(1022), "exp10": Fraction("307.6")}


def powers(largest: int) -> list[tuple[int, int]]:
    """1 ... largest, in ranges that grow by eight: the first ones are where most depends on k."""
    edges = [1, 2, 4, *(1 << i for i in range(5, largest.bit_length(), 3)), largest + 1]
    return [(a, b - 1) for a, b in itertools.pairwise(edges)]


def octave_pieces() -> list["Piece"]:
    """Every positive normal number but 1, as 2^k m: k = 0 with m near 1 finely, other k together."""
    far = powers(1024)
    ranges = [*far, *((-last, -first) for first, last in far)]
    near = [Interval(OCTAVE, 1 - Fraction(1, 2**53), Fraction(1)), Interval(1 + Fraction(1, 2**52), 2 * OCTAVE, Fraction(1))]
    pieces = [Piece(*box) for interval in near for box in first_boxes(interval)]
    return pieces + [Piece(OCTAVE, 2 * OCTAVE, Multiples(Fraction(0), *k)) for k in ranges]


def step_pieces(kernel: Kernel) -> list["Piece"]:
    """Every |x| up to the limit as k step + t: the kernel's k is the integer nearest to x times a constant c, up to the rounding of the
    product and the sum, and step c = 1 up to 2^-50 or so. So |t| is at most half a step (1 + 2^-20), which is checked here."""
    step, c = STEPS[kernel.function]
    limit, half = EXP_LIMIT[kernel.function], step / 2 * (1 + Fraction(1, 2**20))
    largest = int(limit / step) + 1
    assert half * c - largest * abs(step * c - 1) - Fraction(1, 2**36) > Fraction(1, 2)
    none = Multiples(step, 0, 0)
    pieces = [Piece(*box, none) for sign in (1, -1) for box in first_boxes(signed_interval(Fraction(1, 2**1074), half, sign))]
    for first, last in powers(largest):
        for sign in (1, -1):
            ends = (first, last) if sign > 0 else (-last, -first)
            for residue in {k & 15 for k in range(ends[0], min(ends[1], ends[0] + 15) + 1)}:
                multiples = Multiples(step, *ends, residue)
                pieces += [Piece(-half, Fraction(0), multiples), Piece(Fraction(0), half, multiples)]
    return pieces


def signed_interval(low_end: Fraction, high_end: Fraction, sign: int) -> Interval:
    return Interval(low_end, high_end, Fraction(0)) if sign > 0 else Interval(-high_end, -low_end, Fraction(0))


def constants_of_steps() -> dict:
    """The step of x and the constant c by which the kernels of exp, exp2 and exp10 find k."""
    text = (ROOT / "crlibm/exp/exp_tables.h").read_text()
    value = {n: Fraction(float.fromhex(v)) for n, v in re.findall(r"^#define (\w+) (-?0x\S+)", text, re.M)}
    step = value["RM_EXP_STEP_HI"] + value["RM_EXP_STEP_LO"]
    ln10 = value["RM_EXP10_LN_HI"] + value["RM_EXP10_LN_LO"]
    return {
        "exp": (step, value["RM_EXP_INV_STEP"]),
        "exp2": (Fraction(1, 16), Fraction(16)),
        "exp10": (Fraction(nearest_quotient(step, ln10)), value["RM_EXP_INV_STEP"] * value["RM_EXP10_LN_HI"]),
    }


def nearest_quotient(a: Fraction, b: Fraction) -> Fraction:
    """a/b to 200 bits, a binary fraction."""
    return Fraction(round(a / b * 2**200), 2**200)


def first_boxes(interval: Interval) -> list[tuple[Fraction, Fraction]]:
    """Octaves of the distance from the pole."""
    low_end, high_end, pole = interval.low, interval.high, interval.pole
    if low_end < pole < high_end:
        raise ValueError("a pole inside an interval")
    right = low_end >= pole
    near, far = (low_end - pole, high_end - pole) if right else (pole - high_end, pole - low_end)
    cuts = [near]
    power = Fraction(2) ** (math.frexp(float(near))[1]) if near else Fraction(2) ** -1074
    while power < far:
        if power > near:
            cuts.append(power)
        power *= 2
    cuts.append(far)
    boxes = [(pole + a, pole + b) if right else (pole - b, pole - a) for a, b in itertools.pairwise(cuts)]
    return boxes if boxes else [(low_end, high_end)]


@dataclass(frozen=True)
class Piece:
    """A box of the argument, or of what is left of it when multiples are taken away."""

    low: Fraction
    high: Fraction
    multiples: Multiples | None = None


def prove_piece(kernel: Kernel, graph: Graph, piece: Piece, close: float = CLOSE) -> Result:
    """The result over a piece of the domain, cut as often as is needed."""
    analysed, measured = hook(kernel.kind, "analyse"), hook(kernel.kind, "measure")
    function = DEFINITIONS[kernel.function]
    ctx.prec, Model.order = SETTINGS[kernel.format][:2]
    result = NOTHING
    stack = [(piece.low, piece.high, {}, 0, 0)]
    while stack:
        a, b, choices, depth, cuts = stack.pop()
        if depth > DEEPEST:
            raise RuntimeError(f"{kernel.name}: no bound between {float(a).hex()} and {float(b).hex()}")
        try:
            analysis = analysed(kernel, graph, a, b, choices, piece)
            ratio, relative = measured(kernel, analysis, function)
        except SplitBox as split:
            # Without its branches: the parts find their own.
            if split.at is None:
                middle = (a + b) / 2
                stack += [(a, middle, {}, depth + 1, cuts), (middle, b, {}, depth + 1, cuts)]
            else:
                parts = ((a, min(b, split.at[0])), (max(a, split.at[1]), b))
                stack += [(p, q, {}, depth + 1, cuts) for p, q in parts if p <= q]
            continue
        except Choice as choice:
            stack += [(p, q, {**choices, choice.node: v}, depth + 1, cuts) for v, p, q in choice.options if p <= q]
            continue
        except EmptyBox:
            continue
        if a < b and (ratio > close and cuts < CUTS or ratio > 1 and cuts < MORE_CUTS):
            middle = (a + b) / 2
            stack += [(a, middle, choices, depth + 1, cuts + 1), (middle, b, choices, depth + 1, cuts + 1)]
            continue
        result = result.join(Result(ratio, (float(a), float(b)), 1, relative))
        if ratio > 1:
            return result
    return result


def prove(kernel: Kernel, fma: bool, pieces: list[Piece] | None = None) -> Result:
    """The result over the domain, or over the given pieces. Ends at the first box whose bound is above the claim."""
    graph = parse(recorded(kernel.name), fma)
    result = NOTHING
    piecewise = hook(kernel.kind, "prove_piece")
    for piece in hook(kernel.kind, "all_pieces")(kernel) if pieces is None else pieces:
        result = result.join(piecewise(kernel, graph, piece))
        if result.ratio > 1:
            break
    return result


def all_pieces(kernel: Kernel) -> list[Piece]:
    if kernel.kind == "dd_octaves":
        return octave_pieces()
    if kernel.kind == "dd_steps":
        return step_pieces(kernel)
    return [Piece(*box) for interval in kernel.domain for box in first_boxes(interval)]


def domain(kernel: Kernel) -> tuple[Interval, ...]:
    """The numbers for which the kernel's bound is proved."""
    if kernel.kind == "dd_octaves":
        return parse_domain(
            "0x1p-1022..0.5, 0.5..0x1.fffffffffffffp-1@1, 0x1.0000000000001p0..2@1, 2..0x1.fffffffffffffp1023", "f64"
        )
    if kernel.kind == "dd_steps":
        return parse_domain(f"+-0x1p-1074..{float(EXP_LIMIT[kernel.function])!r}", "f64")
    return kernel.domain


STEPS = constants_of_steps()
