"""Checks the results in f64 beyond a cut of the argument: python -m proofs.cuts.

A cut is where a kernel replaces its argument by another one, or where rm_<f>_decided knows the result. Formats below f64 do not need this check, as all
their numbers are compared with the oracle. Checked is the function: for every number from the cut on, the correctly rounded result is the stated
one, 0, a constant or the argument, because the function is nearer to it than to any midpoint. The range is divided until ball arithmetic shows
that for each piece. For settled results, the cut and the result are read from the source's graph, for gradients with the largest g too. (The sign
of a zero, which is that of g or the opposite one, is left to the tests where balls do not show it.)"""

import functools
import itertools
import math
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from flint import arb, arb_series, ctx

from .definitions import DEFINITIONS, constant
from .graph import HERE, ROOT, compiler, evaluate, parse
from .taylor import ball, log2, pow2, up
from .two import floor_log2
from .values import neighbour

LARGEST = Fraction(2**1024 - 2**971)
PIECES = 4000


@dataclass(frozen=True)
class Cut:
    """From `low` to `high`, the ends included, `distance` is f less the result, or the part of the argument by which f differs from it."""

    function: str
    low: Fraction
    high: Fraction
    distance: Callable
    largest: arb
    result: str


def ndtr_tail(x: arb) -> arb:
    return (x / arb(2).sqrt()).erfc() / 2


def sigmoid_tail(x: arb) -> arb:
    e = (-x).exp()
    return e / (1 + e)


def cubic_tail(x: arb) -> arb:
    """Of large x between 0 and that of x, its argument being larger."""
    if x.lower() > 2**60:
        return arb(0).union(sigmoid_tail(x))
    return sigmoid_tail((8 / arb.pi()).sqrt() * (x + arb(44715) / 1000000 * x**3))


def cubic_slope(x: arb) -> arb:
    return (8 / arb.pi()).sqrt() * (1 + 3 * arb(44715) / 1000000 * x * x)


BELOW_ONE, ABOVE_ONE, OF_ARGUMENT = pow2(-54), pow2(-53), pow2(-54)


def halfway() -> arb:
    """From pi/2 to the nearest midpoint of two numbers: the result is RN(pi/2)."""
    ctx.prec = 160
    value = arb.pi() / 2
    number = Fraction(float(value.mid()))
    return (pow2(-53) - abs(value - ball(number))).lower()


def clamped() -> list[Cut]:
    """Where the double-double kernels cut their argument, from the end of the domain of their proof or earlier."""
    return [
        Cut("tanh", Fraction(20), LARGEST, lambda x: 2 * sigmoid_tail(2 * x), BELOW_ONE, "1"),
        Cut("erf", Fraction(6), LARGEST, lambda x: x.erfc(), BELOW_ONE, "1"),
        Cut("erfc", Fraction(6), LARGEST, lambda x: x.erfc(), ABOVE_ONE, "2, of -x"),
        Cut("expm1", Fraction(60), LARGEST, lambda x: (-x).exp(), BELOW_ONE, "-1, of -x"),
        Cut("ndtr", Fraction(73, 2), LARGEST, ndtr_tail, BELOW_ONE, "1"),
        Cut("sigmoid", Fraction(670), LARGEST, sigmoid_tail, BELOW_ONE, "1"),
        Cut("atan", Fraction(2**100), LARGEST, lambda x: (1 / x).atan(), halfway(), "pi/2"),
        Cut("atanpi", Fraction(2**100), LARGEST, lambda x: (1 / x).atan() / arb.pi(), pow2(-55), "1/2"),
        Cut("silu", Fraction(670), LARGEST, sigmoid_tail, OF_ARGUMENT, "x"),
        Cut("gelu", Fraction(73, 2), LARGEST, ndtr_tail, OF_ARGUMENT, "x"),
        Cut("gelu_tanh", Fraction(20), LARGEST, cubic_tail, OF_ARGUMENT, "x"),
        Cut("softplus", Fraction(660), LARGEST, lambda x: (-x).exp().log1p() / x, OF_ARGUMENT, "x"),
        Cut("log_sigmoid", Fraction(660), LARGEST, lambda x: (-x).exp().log1p() / x, OF_ARGUMENT, "x, of -x"),
    ]


def hold(cut: Cut) -> int:
    """The number of pieces in which the distance is shown to be below the cut's bound; raises where it is not."""
    ctx.prec = 160
    stack, count = [], 0
    low = cut.low
    while low < cut.high:
        stack.append((low, min(2 * low, cut.high)))
        low *= 2
    while stack:
        a, b = stack.pop()
        count += 1
        if count > PIECES:
            raise AssertionError(f"{cut.function}: another result than {cut.result} beyond {float(cut.low)}")
        middle, half = ball((a + b) / 2), ball((b - a) / 2)
        if not abs(cut.distance(middle + arb(0, half))) < cut.largest:
            stack += [(a, (a + b) / 2), ((a + b) / 2, b)]
    return count


# Functions of one argument whose settled results are those of larger reductions, which have proofs of their own, and of zeros and infinities.
# Those of half-turns are settled at and beyond 2^53, where every number of binary64 is a whole one and even.
HALF_TURNS = {"sinpi", "cospi", "tanpi"}
OTHERWISE = {"sin", "cos", "tan", "cbrt", "sqrt", "rsqrt"} | HALF_TURNS


@functools.cache
def functions() -> dict[str, bool]:
    """Functions of one argument, and gradients: whether it is one."""
    text = (ROOT / "crlibm/functions.def").read_text()
    found = re.findall(r"^RM_FUNCTION\((\w+), \w+, (\d), (\d),", text, re.M)
    return {name: gradient == "1" for name, arity, gradient in found if arity == "1" or gradient == "1"}


def names() -> list[str]:
    return [name for name in functions() if name not in OTHERWISE]


def recorded_calls(names: list[str], call: str) -> dict[str, str]:
    """The graph of a call of each function, in C: {name} stands for the function, {x} for its arguments."""
    lines = []
    for name in names:
        x = 'vf64_input("g"), x' if functions()[name] else "x"
        lines.append(f'  rec_nodes = 0, printf("function {name}\\n"), x = vf64_input("x"), y = vf64_input("other");')
        lines.append("  " + call.replace("{name}", name).replace("{x}", x))
    main = "int main(void) {\n  vf64 x, y;\n  vm64 m;\n" + "\n".join(lines) + "\n  return 0;\n}\n"
    with tempfile.TemporaryDirectory(prefix="repmath-proofs-") as folder:
        source, program = Path(folder) / "calls.c", Path(folder) / "calls"
        source.write_text(main)
        command = [*compiler(), "-std=c11", "-O0", "-w", "-I", str(ROOT), "-I", str(HERE), "-include", str(HERE / "record.h")]
        for name in names:
            command += ["-include", str(ROOT / f"crlibm/{name}/{name}.h")]
        subprocess.run([*command, str(source), "-o", str(program)], check=True, capture_output=True, text=True)
        printed = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    found = {}
    for part in printed.split("function ")[1:]:
        name, text = part.split("\n", 1)
        outputs = [line for line in text.splitlines() if line.startswith("out ")]
        found[name] = "\n".join([line.split(" ", 1)[1] for line in text.splitlines() if line not in outputs] + outputs) + "\n"
    return found


def settled_graphs() -> dict[str, str]:
    """The recorded operations of rm_<f>_decided for f64: `other` is what the lane had."""
    return recorded_calls(
        names(), 'm = rm_{name}_decided({x}, RM_F64, &y), printf("out known #%d\\nout y #%d\\n", m.id, y.id);'
    )


@dataclass(frozen=True)
class Settled:
    """All numbers from low to high have this result: 0.0, -0.0, the argument or NaN; of gradients, where g is positive and at most `factor`."""

    function: str
    low: Fraction
    high: Fraction
    result: str
    factor: Fraction = Fraction(1)


def settled(function: str, text: str) -> list[Settled]:
    """Between the constants with which x, -x or |x| is compared, nothing changes, nor between those of |g|."""
    graph = parse(text, True)
    known = ("input", "const", "iconst", "from_bits", "abs", "neg", "lt", "le", "select", "mnot", "mor", "mand", "copysign")
    ends, sizes = {-LARGEST, LARGEST, Fraction(0)}, {LARGEST}

    def of(k: int) -> str:
        op, args = graph.nodes[k]
        assert op in ("const", "input", "abs", "neg"), (function, op)
        return op if op == "const" else args[0] if op == "input" else of(args[0])

    for op, args in graph.nodes:
        assert op in known, (function, op)
        if op in ("lt", "le"):
            for k, other in (args, args[::-1]):
                if of(k) == "const":
                    c = Fraction(float.fromhex(graph.nodes[k][1][0]))
                    if of(other) == "g":
                        sizes |= {c, neighbour(c, "f64", -1)}
                    else:
                        ends |= {c, -c}
    cuts, found = sorted(ends), []
    points = [(c, c) for c in cuts] + [(neighbour(a, "f64", 1), neighbour(b, "f64", -1)) for a, b in itertools.pairwise(cuts)]
    for low, high in sorted(points):
        at = [float(low), float((low + high) / 2), float(high)]
        for factor in sorted(sizes, reverse=True):
            outs = [evaluate(graph, {"x": x, "other": 0.25, "g": float(factor)}) for x in at]
            assert len({out["known"] for out in outs}) == 1
            if outs[0]["known"]:
                break
        if outs[0]["known"] and low != 0:
            if any(out["y"] != out["y"] for out in outs):
                assert all(out["y"] != out["y"] for out in outs), function
                found.append(Settled(function, low, high, "nan"))
                continue
            same = all(out["y"] == x for out, x in zip(outs, at, strict=True))
            zero = "-0" if math.copysign(1, outs[0]["y"]) < 0 else "0"
            assert same or all(out["y"] == 0 for out in outs), function
            factor = factor if function.endswith("_backward") else Fraction(1)
            found.append(Settled(function, low, high, "x" if same else zero, factor))
    return found


# The arguments at which the functions are real or infinite that are not so everywhere; the ends are.
REAL = {
    **dict.fromkeys(("log", "log2", "log10"), (Fraction(0), LARGEST)),
    **dict.fromkeys(("log1p", "log2p1", "log10p1"), (Fraction(-1), LARGEST)),
    "acosh": (Fraction(1), LARGEST),
    "ndtri": (Fraction(0), Fraction(1)),
    **dict.fromkeys(("asin", "acos", "asinpi", "acospi", "atanh", "erfinv"), (Fraction(-1), Fraction(1))),
}


# Where a series of definitions.py would cancel, or divide by what may be 0.
NUMBERS = {
    "sigmoid": lambda x: sigmoid_tail(-x),
    "silu": lambda x: x * sigmoid_tail(-x),
    "gelu": lambda x: x * ndtr_tail(-x),
    "gelu_tanh": lambda x: x * cubic_tail(-x),
    "softplus": lambda x: x.exp().log1p(),
    "log_sigmoid": lambda x: -(-x).exp().log1p(),
}


# Gradients for g = 1, where they are far from their zeros; sigmoid_tail(x) sigmoid_tail(-x) for the first.
BACKWARD = {
    "sigmoid_backward": lambda x: sigmoid_tail(abs(x)) * (1 - sigmoid_tail(abs(x))),
    "tanh_backward": lambda x: 4 * BACKWARD["sigmoid_backward"](2 * x),
    "softplus_backward": NUMBERS["sigmoid"],
    "log_sigmoid_backward": sigmoid_tail,
    "silu_backward": lambda x: sigmoid_tail(-x) * (1 + x * (1 - sigmoid_tail(-x))),
    "gelu_tanh_backward": lambda x: cubic_tail(-x) * (1 + x * cubic_slope(x) * (1 - cubic_tail(-x))),
    "gelu_backward": lambda x: ndtr_tail(-x) + x * (-x * x / 2).exp() / (2 * arb.pi()).sqrt(),
    "erf_backward": lambda x: 2 / arb.pi().sqrt() * (-x * x).exp(),
}


def value(function: str, x: arb) -> arb:
    if function in BACKWARD:
        return BACKWARD[function](x)
    if function in NUMBERS:
        return NUMBERS[function](x)
    return constant(DEFINITIONS[function](arb_series([x], prec=1)))


def hold_settled(piece: Settled) -> int:
    """The number of parts of the piece; raises where the result is not shown."""
    ctx.prec = 200
    if piece.result == "nan":
        low, high = REAL[piece.function]
        if not (piece.high < low or high < piece.low):
            raise AssertionError(f"{piece.function}: a number among {float(piece.low)} to {float(piece.high)}")
        return 1
    if piece.result == "x":
        # f(x) = x + a x^2 + b(x) x^3, b taken over the whole piece and 0.
        size = ball(max(abs(piece.low), abs(piece.high)))
        ctx.cap = 4
        a, b = (
            DEFINITIONS[piece.function](arb_series([centre, 1], prec=4)).coeffs() for centre in (arb(0), arb(0, up(size)))
        )
        exact = a[0] == 0 and a[1] == 1
        if not (exact and abs(a[2]) * size + up(b[3]) * size**2 < OF_ARGUMENT):
            raise AssertionError(f"{piece.function}: another result than x below {float(size)}")
        return 1
    sign = -1 if piece.result == "-0" else 1
    count, stack = 0, [(piece.low, piece.high)]
    while stack:
        a, b = stack.pop()
        count += 1
        f = value(piece.function, ball((a + b) / 2) + arb(0, ball((b - a) / 2))) * ball(piece.factor)
        if -pow2(-1075) < f < pow2(-1075) and not f * sign < 0:
            continue
        if piece.function == "exp2" and a == b == -1075:
            continue  # 2^-1075 is a tie between 0 and 2^-1074
        if count > PIECES or a == b:
            raise AssertionError(f"{piece.function}: not {piece.result} at {float(a)}")
        middle = nearest_middle(a, b)
        stack += [(a, middle), (middle, b)]
    return count


def nearest_middle(a: Fraction, b: Fraction) -> Fraction:
    """Of numbers of very different sizes the middle of their exponents."""
    if a < 0 < b or a == 0 or b == 0 or max(abs(a), abs(b)) < 4 * min(abs(a), abs(b)):
        return (a + b) / 2
    sign = 1 if a > 0 else -1
    return sign * Fraction(2) ** ((floor_log2(abs(a)) + floor_log2(abs(b)) + 1) // 2)


def sums() -> list[tuple[str, arb, arb]]:
    """(what, distance, bound), of two kinds: a power whose logarithm is below the constant of rm_pow_decided, with 2^-46 of it left for the logarithm's
    error (pow_range_b64), against half the smallest number of f64; a tail of logaddexp beyond the difference at which it is cut, against the
    smallest number that the loop then takes for the sum, with f32 for the formats below f64, as the widest of them."""
    ctx.prec = 160
    text = (ROOT / "crlibm/pow/pow.h").read_text()
    (smallest,) = re.findall(r"vf64_lt\(z, vf64_set1\(([-.0-9]+)\)\)", text)
    found = [("pow, 0", (ball(Fraction(smallest)) * (1 - pow2(-46))).exp(), pow2(-1075))]
    text = (ROOT / "crlibm/logaddexp/logaddexp.h").read_text()
    cuts = re.findall(r"end = vf64_set1\((\S+)\)", text)
    tails = re.findall(r"far = .*vf64_set1\((0x1p-\d+)\)", text)
    for cut, smallest, places in zip(cuts, tails, (25, 54), strict=True):
        found.append(
            ("logaddexp, the greater", (-ball(Fraction(cut))).exp() / ball(Fraction(float.fromhex(smallest))), pow2(-places))
        )
    return found


def check() -> dict[str, list[str]]:
    """The cuts that are shown to hold, by function."""
    found: dict[str, list[str]] = {}
    for cut in clamped():
        hold(cut)
        found.setdefault(cut.function, []).append(f"{cut.result} from {float(cut.low):g} on")
    for function, text in settled_graphs().items():
        for piece in settled(function, text):
            hold_settled(piece)
            found.setdefault(function, []).append(f"{piece.result} from {float(piece.low):.17g} to {float(piece.high):.17g}")
    for what, distance, largest in sums():
        if not distance < largest:
            raise AssertionError(what)
        found.setdefault(what, []).append(f"by {float(log2(largest) - log2(distance)):.2f} bits")
    return found


def main() -> int:
    for function, results in check().items():
        print(f"{function}: {'; '.join(results)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
