"""Numbers on which a kernel's graph is evaluated exactly, and the function's value there: what finds mutants (mutants.py) that err by more than the
claimed bound.

For each kind of kernel `point` makes the inputs that the kernel may meet: a second part within what the kind's proof allows, a factor, the
complements of a quantile's argument. What a recorded graph takes as known (the exponential in two parts, the logarithm, powers of two) is
evaluated to 400 bits."""

import math
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from flint import arb, arb_series, ctx

from . import graph as graphs
from . import log_parts, logs, prove
from .definitions import DEFINITIONS, constant
from .gamma import TURNS
from .graph import Graph, Interval, Kernel, evaluate, inwards, parse
from .kinds import hook
from .loose import Place
from .tails import TAILS
from .taylor import ball, exact, log2, low, pow2
from .trig import binades, last_convergent, pi
from .two import COMPOSED, Pair, function_of

POINTS = 200
TABLES = ("lookup", "ilookup", "scale")
KNOWN = 400  # bits of what is taken as known
ARITHMETIC = (OverflowError, ZeroDivisionError, ValueError)  # infinities and NaN
SMALL_STEP = Fraction(553, 10000)  # between the two steps of erfinv


def known(value: Callable[[], arb]) -> Fraction:
    before, ctx.prec = ctx.prec, KNOWN
    try:
        return exact(value())
    finally:
        ctx.prec = before


def known_logarithm(xh: float, xl: float, uh: float, ul: float) -> Fraction:
    if logs.NEAR[0] <= Fraction(xh) < logs.NEAR[1]:
        return known(lambda: (ball(Fraction(uh)) + ball(Fraction(ul))).log1p())
    return known(lambda: ball(Fraction(xh) + Fraction(xl)).log())


graphs.NUMERIC.update(
    exp_value=lambda x, low_part: known(lambda: ball(Fraction(x) + Fraction(low_part)).exp()),
    exp_hi=float,
    exp_lo=lambda value, hi: float(value - Fraction(hi)),
    log_value=known_logarithm,
    log_hi=float,
    log_lo=lambda value, hi: float(value - Fraction(hi)),
    log_err=lambda hi: abs(hi) * float(logs.ROOM),  # what of it is left for others (logs.py)
)


def power_of_two(entries: list[str]) -> str:
    """The operation that takes one of the 16 powers and scales it: of k the last 16 bits count."""
    name = "scale " + " ".join(entries)
    graphs.NUMERIC[name] = lambda k: math.ldexp(float.fromhex(entries[k & 15]), ((k + 2**15) % 2**16 - 2**15) >> 4)
    return name


def runnable(graph: Graph, turn: int) -> Graph:
    """The inputs, with a number for what the analysis chooses."""
    nodes = []
    for op, args in graph.nodes:
        if op == "exp_value":
            args = args[:2]
        elif op == "turn":
            op, args = "iconst", [str(turn)]
        elif op == "low":
            op, args = "input", ["low"]
        elif op == "scale":
            op, args = power_of_two(args[1:]), args[:1]
        nodes.append((op, args))
    return Graph(nodes, graph.outputs)


class Point:
    """Inputs of a kernel, and the function's value there."""

    def __init__(self, kernel: Kernel, inputs: dict[str, float], function: Callable, turn: int = 0):
        self.kernel, self.inputs, self.function, self.turn, self.value = kernel, inputs, function, turn, None

    def truth(self) -> arb:
        if self.value is None:
            for ctx.prec in (600, 1800):
                self.value = self.function()
                if self.value.rel_accuracy_bits() >= 250:
                    break
        return self.value

    def error(self, graph: Graph) -> Fraction:
        """Over the claimed bound, from below."""
        out = evaluate(runnable(graph, self.turn), self.inputs)
        f, kind = self.truth(), self.kernel.kind
        ctx.prec = 600
        y = Fraction(out["y"]) if "y" in out else Fraction(out["hi"]) + Fraction(out["lo"])
        if kind.startswith("dd_steps") or kind == "dd_pow_exp":  # before the scaling by a power of two
            f = f * pow2(round(math.log2(abs(float(y))) - log2(f))) if y else f
        if kind.startswith("dd_turns"):  # less the multiple that is nearest
            f = f - arb.pi() / 16 * round(exact((f - ball(y)) / (arb.pi() / 16)))
        bound = abs(Fraction(out["claim"]) * y) if "claim" in out else Fraction(out["err"])
        return exact((low(ball(y) - f) / ball(bound)).lower()) if bound else Fraction(0)


def of_one(kernel: Kernel, x: Fraction) -> Callable:
    function = COMPOSED.get(kernel.kind) or DEFINITIONS[kernel.function]
    if kernel.kind.startswith("turn"):
        function = TURNS[kernel.function]
    if kernel.kind == "tail":
        return lambda: constant(DEFINITIONS[kernel.function](arb_series([0], prec=2), arb_series([-ball(x), 1], prec=2)))
    if kernel.kind.startswith("dd_turns"):
        return lambda: ball(x)
    if kernel.kind == "dd_half_turn_rest":
        return lambda: arb.pi() * ball(x - Fraction(round(16 * x), 16))
    if abs(x) > 1 and kernel.kind.startswith(("dd_composed", "dd_computed", "dd_small")):
        function = TAILS.get(kernel.function, function)
    return lambda: constant(function(arb_series([ball(x), 1], prec=2)))


def of_two(kernel: Kernel, ratio: Fraction, piece: Pair, rng: random.Random) -> Point:
    """Of a homogeneous function."""
    larger = Fraction(rng.randrange(2**23, 2**24), 2**23)
    if kernel.format == "f64":
        larger += Fraction(rng.randrange(2**29), 2**52)
        larger *= 2**440 if ratio < Fraction(1, 2**400) else 1
    smaller = inwards(f"{max(ratio * larger, Fraction(1, 2**470))}", kernel.format, 1)
    first, second = (smaller, larger) if piece.smaller == "first" else (larger, smaller)
    function, ratio = function_of(piece, DEFINITIONS[kernel.function]), smaller / larger
    degree = kernel.function == "hypot"  # of the function, homogeneous in both
    return Point(
        kernel,
        {"first": float(first * piece.signs[0]), "second": float(second * piece.signs[1])},
        lambda: constant(function(arb_series([ball(ratio), 1], prec=2))) * (ball(larger) if degree else 1),
    )


def of_angle(kernel: Kernel, x: float, rng: random.Random) -> Point:
    turn, low_part = rng.randrange(16), rng.uniform(-1, 1) * math.ulp(x) / 2
    r, cosine = Fraction(x) + Fraction(low_part), kernel.kind == "dd_angle_turned"
    of = {"sin": arb.sin, "cos": arb.sin if cosine else arb.cos, "tan": arb.tan}[kernel.function]
    of_turn = (turn + 8) % 16 if cosine else turn
    return Point(kernel, {"x": x, "low": low_part}, lambda: of(ball(r) + arb.pi() * of_turn / 16), turn)


def of_step(kernel: Kernel, z: float, rng: random.Random) -> Point:
    """A first approximation of the result whose erf is u, or whose erfc is v, one of them being a number, both in two parts."""
    near = kernel.kind == "dd_step_small"
    at = ball(min(Fraction(z), SMALL_STEP) if near else max(Fraction(z), Fraction(56, 1000)))
    u = Fraction(float(known(lambda: at.erf()))) if near else 1 - Fraction(float(known(lambda: at.erfc())))
    result = (lambda: ball(u).erfinv()) if near else (lambda: ball(1 - u).erfcinv())
    inputs = {"x": float(known(result) * (1 + Fraction(rng.uniform(-1, 1)) / 2**41))}
    for name, part in (("u", u), ("v", 1 - u)):
        inputs[f"{name}h"] = float(part)
        inputs[f"{name}l"] = float(part - Fraction(float(part)))
    root = kernel.function == "ndtri"
    return Point(kernel, inputs, lambda: result() * (arb(2).sqrt() if root else 1))


def of_parts(kernel: Kernel, x: float, rng: random.Random) -> Point:
    """An argument of two parts."""
    largest = {"dd_log_near": abs(x) * 2.0**-53, "dd_log_sum": x * 2.0**-49 if x < 2.0**1021 else 0.0}
    low_part = rng.uniform(-1, 1) * largest.get(kernel.kind, 2.0**-43)
    total, inputs = Fraction(x) + Fraction(low_part), {"x": x, "low": low_part}
    if kernel.kind == "dd_sum":
        big = inputs["big"] = rng.choice((-1, 1)) * 2.0 ** rng.uniform(-6, 6)
        return Point(kernel, inputs, lambda: ball(Fraction(big)) + (-ball(total)).exp().log1p())
    functions = {"dd_log_near": arb.log1p, "dd_log_sum": arb.log}
    of = functions.get(kernel.kind, arb.exp)
    return Point(kernel, inputs, lambda: of(ball(total)))


def of_factor(kernel: Kernel, x: float, rng: random.Random) -> Point:
    g = rng.choice((-1, 1)) * rng.uniform(1, 2)
    return Point(kernel, {"x": x, "g": g}, lambda: ball(Fraction(g)) * ball(Fraction(x)).log())


MAKERS = {
    "dd_angle": of_angle,
    "dd_angle_turned": of_angle,
    "dd_step": of_step,
    "dd_step_small": of_step,
    "dd_steps_low": of_parts,
    "dd_pow_exp": of_parts,
    "dd_log_sum": of_parts,
    "dd_log_near": of_parts,
    "dd_sum": of_parts,
    "dd_pow_log": of_factor,
    "dd_pow_range": of_factor,
}


def point(kernel: Kernel, x: Fraction, rng: random.Random, piece: prove.Piece | None = None) -> Point:
    if isinstance(piece, Pair) and not piece.zero:
        return of_two(kernel, x, piece, rng)
    fmt = "f64" if kernel.kind in ("pow_exp", "tail") else kernel.format
    number = float(inwards(f"{x}", fmt, 1))
    if kernel.kind in log_parts.LIKE:
        kernel = log_parts.as_logs(kernel)
    if kernel.kind in MAKERS:
        return MAKERS[kernel.kind](kernel, number, rng)
    return Point(kernel, {"x": number, "g": 1.0}, of_one(kernel, Fraction(number)))


def points(kernel: Kernel) -> list[Point]:
    rng, found = random.Random(kernel.name), []
    if kernel.kind in ("eval_2", "dd_2"):
        pieces = [p for p in hook(kernel.kind, "all_pieces")(kernel) if not p.zero]
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
    if kernel.kind == "dd_one_octave":  # which stands for all
        intervals = [Interval(Fraction(1), Fraction(4), Fraction(0))]
    else:
        intervals = hook(kernel.kind, "domain")(kernel)
    if kernel.kind == "half_turn":  # where numbers are not whole ones, of which nothing is seen
        intervals = [replace(i, high=Fraction(2**20)) for i in intervals]
    boxes = [[(i.low, i.high)] if i.low < i.pole < i.high else prove.first_boxes(i) for i in intervals]
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
    tables = {at: line.split()[1] for at, line in enumerate(lines) if line.startswith(TABLES)}
    more = "".join(f"out at{at} {index}\n" for at, index in tables.items())
    out = evaluate(runnable(parse(text + more, True), where.turn), where.inputs)
    return {(at, 2 + (int(out[f"at{at}"]) & 15)) for at in tables}


def evaluates(where: Point, graph: Graph) -> bool:
    """Whether the graph has a value there; the evaluation of roots stops at some ends of the range."""
    try:
        return where.error(graph) >= 0
    except ARITHMETIC:
        return False


def refutes(where: Point, graph: Graph) -> bool:
    try:
        return where.error(graph) > 1
    except ARITHMETIC:  # which no right kernel gives
        return True
