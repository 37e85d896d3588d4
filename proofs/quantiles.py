"""erfinv and ndtri in f64: the step of rm_erfinv_step_dd, and for ndtri the product with sqrt(2), for any y within START of the result.

x is y here. z = y + d is the result, u = erf z, v = erfc z = 1 - u, each in two parts, |d| <= START z; START is proved of y by itself (the kernels
of RM_PROOF_START; ndtri's has the factor RN(sqrt 2), two roundings of 2^-53). With c = sqrt(pi)/2 and W(y) = e^(y^2) erfc y,

    R = c (W - v e^(y^2)) = c e^(y^2) (u - erf y) = the integral of e^(-2 y t - t^2) over t from 0 to d,

so R = d - y d^2 - d^3/3 + A, |A| <= |d| s^2/2 e^s, s = 2 y |d| + d^2, and d is R + y R^2 up to the terms that `left_out` adds up. W, or erf y where u <= 1/16,
and the factor e^(y^2) of the latter are analysed (engine.py) with all that they come from; exp has its bound (exp_sum_dd). The other operations
are few and the same in every box: `Shape` finds them in the recorded graph, or stops, and `step` counts their roundings, a product and a
sum without FMA for a mad. With U = 2^-53:

    p + pl      for (vh + vl)(e + el), |el| <= 2^-19 e, |vl| <= U vh: vl el is left out; the roundings of vl e, of its sum with p's error, of
                vh el and of the last sum: U (3 2^-19 + 6 U) of the product
    w - p, uh - h   exact (Sterbenz): each is within a factor of 2 of the other
    wl - pl, ul - l, the sum with this, c, the product   U of each
    lo          r + y r^2, three roundings

The roundings of numbers below the normal range are 2^-1075 each, TINY in all."""

from dataclasses import dataclass
from fractions import Fraction

from flint import arb, ctx

from . import composed, prove
from .composed import EXP_MAX, ORDER, PRECISION, Composed
from .graph import Graph, Kernel
from .steps import LOW
from .steps import PARTS as PARTS_OF_EXP
from .sums import multiplied, number
from .taylor import Model, SplitBox, ball, low, pow2, taylor, up
from .values import Node

START = pow2(-40)
U, TINY = pow2(-53), pow2(-1070)
MORE = 1 + pow2(-40)  # for products of what is 1 but for a few roundings
SPLIT = Fraction(1, 16)  # of u


@dataclass
class Shape:
    """The operations of the step: `parts` are the two of erf or of W with their bound; e what it is multiplied by (near) or the exponential's bound."""

    near: bool
    parts: tuple[int, int, int]
    e: int
    c: Fraction
    factor: Fraction  # of err
    share: Fraction  # of the high part in err
    root: tuple[Fraction, Fraction, Fraction] | None  # sqrt(2) in two parts, and the factor of err


def shape(graph: Graph, near: bool) -> Shape:
    nodes = graph.nodes

    def parted(k: int, op: str) -> list:
        assert nodes[k][0] == op, (k, nodes[k], op)
        return nodes[k][1]

    def same(*pairs: tuple) -> None:
        assert all(a == b for a, b in pairs), pairs

    y, uh, ul, vh, vl = (nodes.index(("input", [name])) for name in ("x", "uh", "ul", "vh", "vl"))
    hi, lo, err = (graph.outputs[name] for name in ("hi", "lo", "err"))
    root = None
    if hi != y:
        first, s = parted(hi, "mul")
        lo, again, rest = multiplied(graph, lo)
        other, s_low, left = multiplied(graph, rest)
        err, factor = parted(err, "mul")
        same((first, y), (again, s), (other, y), (parted(left, "mul_err"), [y, s, hi]))
        root = number(graph, s), number(graph, s_low), number(graph, factor)
    yr, r, again = multiplied(graph, lo)
    same((parted(yr, "mul"), [y, r]), (again, r))
    mask, *values = parted(r, "select")
    test, *bounds = parted(err, "select")
    compared, limit = parted(mask, "le")
    same((test, mask), (compared, uh), (number(graph, limit), SPLIT))
    value, bound = (values[0], bounds[0]) if near else (values[1], bounds[1])
    first, total = parted(value, "mul")
    high, low_part = (parted(k, "sub") for k in parted(total, "add"))
    sum_, factor = parted(bound, "mul")
    size, share, err = multiplied(graph, sum_)
    if near:
        c, e = parted(first, "mul")
        same((high, [uh, size]), (low_part[0], ul))
        parts = size, low_part[1], err
    else:
        c, (w, p) = first, high
        wl, pl = low_part
        again, el, rest = multiplied(graph, pl)
        low_v, e, left = multiplied(graph, rest)
        value, whole = parted(el, "exp_lo")
        q, ql, _ = parted(value, "exp_value")
        third, ee, err = multiplied(graph, err)
        same(
            (size, w),
            (parted(p, "mul"), [vh, e]),
            (again, vh),
            (low_v, vl),
            (parted(left, "mul_err"), [vh, e, p]),
            (whole, e),
        )
        same((parted(e, "exp_hi"), [value]), (parted(q, "mul"), [y, y]), (parted(ql, "mul_err"), [y, y, q]), (third, vh))
        e, claim = parted(ee, "mul")
        same((e, whole), (number(graph, claim), Fraction(float.fromhex(nodes[value][1][2]))))
        parts, e = (w, wl, err), claim
    return Shape(near, parts, e, number(graph, c), number(graph, factor), number(graph, share), root)


class Step(Composed):
    """Of the graph only what W, or erf y and its factor, come from."""

    def __init__(self, graph: Graph, near: bool, *arguments):
        self.shape = shape(graph, near)
        self.needed, stack = set(), [*self.shape.parts, self.shape.e]
        while stack:
            k = stack.pop()
            if k not in self.needed:
                self.needed.add(k)
                stack += [a for a in graph.nodes[k][1] if isinstance(a, int)]
        outputs = dict(zip(("hi", "lo", "err"), self.shape.parts, strict=True), e=self.shape.e)
        super().__init__(Graph(graph.nodes, outputs), *arguments, parts={})

    def step(self, op: str, args: list) -> Node:
        return super().step(op, args) if self.index in self.needed else Node()


def left_out(y: arb, d: arb) -> tuple[arb, arb]:
    """Bounds of |R| and of |R + y R^2 - d|."""
    s = 2 * y * d + d * d
    a = d * s * s / 2 * s.exp()
    away = y * d * d + d**3 / 3 + a  # |R - d|
    return up(d * s.exp()), up(d**3 / 3 + a + y * away * (2 * d + away))


def analyse(kernel: Kernel, graph: Graph, low_end: Fraction, high_end: Fraction, choices: dict, piece) -> Step:
    ctx.prec, Model.order = PRECISION, ORDER
    return Step(graph, kernel.kind == "dd_step_small", kernel.format, *composed.within(low_end, high_end), choices)


def measure(kernel: Kernel, analysis: Step, function) -> tuple[arb, arb]:
    del function
    found = analysis.shape
    y, c, exact = ball(analysis.high), ball(found.c), arb.pi().sqrt() / 2
    d = START * y * (1 + 2 * START)
    largest, rest = left_out(y, d)
    distance = up(largest / exact)  # |W - v e^(y^2)|, and more than |u - erf y|
    definition = (lambda x: x.erf()) if found.near else (lambda x: (x * x).exp() * x.erfc())
    h, hl, err = (analysis.output(name) for name in ("hi", "lo", "err"))
    error = up((h.model + hl.model - taylor(definition, analysis.centre, analysis.width)).sup_pieces(4))
    error = up(error + analysis.roundings({"hi": 1, "lo": 1}))
    if not (err.smallest > 0 and distance + h.size * pow2(-15) < h.smallest / 4):
        raise SplitBox
    if found.near:
        e, scale = analysis.output("e"), up((y * y).exp())
        off = up((e.model - taylor(lambda x: (x * x).exp(), analysis.centre, analysis.width)).sup() + e.E)
        relative = up(abs(c / exact - 1) + off + 2 * U)  # of c e, with the rounding
        error = up(error + U * (hl.size + 2 * U * h.size) * MORE)
        bound = err.smallest + h.smallest * ball(found.share)
    else:
        claim = ball(analysis.output("e").const)
        if not (y * y <= EXP_MAX - 1 and EXP_MAX * U <= LOW):
            raise SplitBox
        product = (h.size + hl.size + error + distance) * MORE  # v e^(y^2)
        low_part = U * product * (3 * PARTS_OF_EXP + 6 * U) * (1 + pow2(-16))
        by_exp = product * claim * (1 + pow2(-16))
        sizes = hl.size + product * (PARTS_OF_EXP + 4 * U) * (1 + pow2(-16))
        error = up(error + low_part + by_exp + U * sizes)
        scale, relative = arb(1), up(abs(c / exact - 1))
        smallest = (h.smallest - hl.size - error - distance) * (1 - pow2(-18))  # vh e
        bound = err.smallest + h.smallest * ball(found.share) + low(smallest) * claim
    total = distance + error  # the two differences' sum
    of_r = up(exact * scale * (1 + relative) * (error + U * total) * MORE + largest * relative)
    r = (largest + of_r) * MORE
    of_r = up(of_r + U * r)
    r = r + of_r
    away = up(rest + of_r * (1 + 2 * y * r) + U * (r + 4 * y * r * r) * MORE + TINY)
    size, bound = (r + y * r * r) * MORE, bound * ball(found.factor) * (1 - pow2(-50))
    if found.root:
        s, s_low, factor = map(ball, found.root)
        two, low_size = arb(2).sqrt(), (abs(s_low) + U * s) * y * MORE
        away = up(
            two * away + y * abs(s + s_low - two) + abs(s - two) * size + U * (2 * low_size + 2 * s * size + low_size) * MORE
        )
        size, bound = (s * size + low_size) * MORE, bound * factor * (1 - pow2(-50))
    return up((away + U * (size + bound) * MORE) / low(bound)), arb(0)


def all_pieces(kernel: Kernel) -> list[prove.Piece]:
    ctx.prec = PRECISION
    split, (interval,) = ball(SPLIT).erfinv(), kernel.domain
    if kernel.kind == "dd_step_small":
        assert split * (1 + pow2(-38)) < ball(interval.high)
    else:
        assert ball(interval.low) < split * (1 - pow2(-38))
    return composed.all_pieces(kernel)
