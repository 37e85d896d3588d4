"""The bound of a kernel over its domain, box by box."""

import math
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, ctx

from .definitions import DEFINITIONS
from .engine import Analysis, Choice, EmptyBox, half_place
from .graph import Graph, Interval, Kernel, parse, recorded
from .taylor import Model, SplitBox, ball, low, pow2, taylor, up

# Working precision, order of the models, parts in which the approximation error is taken, and how often a box is cut to bring
# the bound below `close` times the claim, then below the claim.
SETTINGS = {"f32": (160, 10, 4), "f64": (320, 14, 4)}
CLOSE, CUTS, MORE_CUTS = {"f32": 0.95, "f64": 1.0}, 5, 14
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


def measure(kernel: Kernel, analysis: Analysis, function) -> tuple[arb, arb]:
    """Upper bounds of error/claim and of error/|function| over the box."""
    f = taylor(function, analysis.centre, analysis.width)
    pieces = SETTINGS[kernel.format][2]
    least = low(f.enclosure())
    if kernel.kind == "dd":
        hi, lo, err = (analysis.output(k) for k in ("hi", "lo", "err"))
        error = up((hi.model + lo.model - f).sup_pieces(pieces) + analysis.roundings({"hi": 1, "lo": 1}))
        error = up(error + half_place(up(lo.size + err.size)))
        if not err.least > 0:
            raise SplitBox
        return up(error / err.least), arb(0)
    error = up((analysis.output("y").model - f).sup_pieces(pieces) + analysis.roundings({"y": 1}))
    if kernel.kind == "eval_g_within":
        err = analysis.output("err")
        if not err.least > 0:
            raise SplitBox
        return up((error + analysis.output("y").size * pow2(-52)) / err.least), arb(0)
    if not least > 0:
        raise SplitBox
    relative = up(error / least)
    if kernel.test == "any":
        relative = up(relative + pow2(-53))
    # The claim is relative to the computed value, which is this close to the function's.
    claim = ball(analysis.output("claim").const)
    return up(relative / claim * (1 + pow2(-36))), relative


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
    boxes = [(pole + a, pole + b) if right else (pole - b, pole - a) for a, b in zip(cuts, cuts[1:])]
    return boxes if boxes else [(low_end, high_end)]


def prove_box(kernel: Kernel, graph: Graph, box: tuple[Fraction, Fraction], close: float | None = None) -> Result:
    """The result over a box, cut as often as is needed."""
    if close is None:
        close = CLOSE[kernel.format]
    function = DEFINITIONS[kernel.function]
    ctx.prec, Model.order = SETTINGS[kernel.format][:2]
    result = NOTHING
    stack = [(*box, {}, 0, 0)]
    while stack:
        a, b, choices, depth, cuts = stack.pop()
        if depth > DEEPEST:
            raise RuntimeError(f"{kernel.name}: no bound between {float(a).hex()} and {float(b).hex()}")
        try:
            analysis = Analysis(graph, kernel.format, a, b, choices)
            ratio, relative = measure(kernel, analysis, function)
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


def prove(kernel: Kernel, fma: bool, boxes: list | None = None, text: str | None = None) -> Result:
    """The result over the domain, or over the given ones of its first boxes. Ends at the first box whose bound is above the claim."""
    graph = parse(recorded(kernel.name) if text is None else text, fma)
    result = NOTHING
    for box in all_boxes(kernel) if boxes is None else boxes:
        result = result.join(prove_box(kernel, graph, box))
        if result.ratio > 1:
            break
    return result


def all_boxes(kernel: Kernel) -> list[tuple[Fraction, Fraction]]:
    return [box for interval in kernel.domain for box in first_boxes(interval)]
