"""The operators of the table that are composed: each step rounded once, and so the bits of the result, again by exact numbers.

`COMPOSED` names them, at the end; their lines in the table, and so docs/aten.md, say of each which steps round ("one rounding each", ...). Steps in binary64
are Python's arithmetic, whose sums, products, quotients are rounded once, and MPFR's functions. A number that a definition returns is rounded to
the format of the result.
"""

import bisect
import math

import aten_exact
import aten_rows
import gmpy2
import numpy as np
import torch
from aten_exact import by_mpfr, define, rn
from gmpy2 import mpfr, mpq

NARROW = (torch.float16, torch.bfloat16, torch.float32)
before = set(aten_exact.DEFINITIONS)
# Of one rounding, and defined as such, but for some formats and options: of binary64, whose products are not held; of second derivatives of
# losses; of a mean, whose sum is rounded first.
PARTLY = {
    "hardswish",
    "hardswish_backward",
    "trilinear",
    "mse_loss_backward",
    "smooth_l1_loss_backward",
    "huber_loss_backward",
    "scatter_reduce",
}


def number(v):
    """A number of binary64 that is to be rounded to the format of the result; special ones are themselves."""
    return mpq(v) if math.isfinite(v) else v


def function(name, *row):
    """RN of a function in binary64; PyTorch's at infinities and NaN, where it is exact."""
    if all(map(math.isfinite, row)):
        return by_mpfr(name, *map(float, row), dtype=torch.float64)
    own = {"softplus": torch.nn.functional.softplus}.get(name) or getattr(torch, name)
    return float(own(*(torch.tensor(float(v), dtype=torch.float64) for v in row)))


def into(v, dtype):
    """A number, or an exact value, rounded to a format."""
    if isinstance(v, float) and not math.isfinite(v):
        return v
    return rn(mpq(v), dtype)


def steps(names, of, *arguments):
    """Elementwise: `of` takes the format and the numbers of the arguments."""

    @define(*names.split())
    def definition(call):
        out = call.outs[0]
        at = call.places(out)
        rows = zip(*(call.column(a, out.shape, at) for a in arguments), strict=True)
        return [{i: number(of(out.dtype, *row)) for i, row in zip(at, rows, strict=True)}]


def scaled(x, a, dtype):
    return x if a == 1 else into(mpq(x) * mpq(float(a)), dtype)


def in_format(name, x, dtype):
    return by_mpfr(name, float(x), dtype=dtype)


def elu(dtype, x, alpha, scale, input_scale):
    if x > 0:
        return scaled(x, scale, dtype)
    inner = in_format("expm1", scaled(x, input_scale, dtype), dtype)
    return scaled(scaled(inner, alpha, dtype), scale, dtype)


def elu_backward(dtype, g, alpha, scale, input_scale, is_result, x):
    if x > 0:
        return scaled(g, scale, dtype)
    if is_result:
        slope = into(mpq(x) + mpq(float(alpha) * float(scale)), dtype)
    else:
        slope = scaled(scaled(in_format("exp", scaled(x, input_scale, dtype), dtype), alpha, dtype), scale, dtype)
    return into(mpq(scaled(g, input_scale, dtype)) * mpq(slope), dtype)


def mish(dtype, x):
    return into(mpq(x) * mpq(in_format("tanh", in_format("softplus", x, dtype), dtype)), dtype)


def mish_backward(dtype, g, x):
    t = function("tanh", function("softplus", x))
    inner = rn(mpq(x * function("sigmoid", x)) * (1 - mpq(t) ** 2), torch.float64)
    return g * (t + inner)


def celu(dtype, x, alpha):
    return x if x > 0 else function("expm1", x / float(alpha)) * float(alpha)


def softplus(dtype, x, beta, threshold):
    if beta == 1:
        return in_format("softplus", x, dtype)
    return function("softplus", x * float(beta)) / float(beta)


def softplus_backward(dtype, g, x, beta, threshold):
    if beta == 1:
        return by_mpfr("softplus_backward", g, x, dtype=dtype)
    return by_mpfr("softplus_backward", g, x * float(beta), dtype=torch.float64)


def logit(dtype, x, eps):
    x = float(x)
    if eps is not None:
        x = min(max(x, eps), 1 - eps)
    if x == 1:
        return math.inf
    return -math.inf if x == 0 else math.nan if not 0 < x < 1 else function("log", x / (1 - x))


def logit_backward(dtype, g, x, eps):
    low, outside = (0.0, math.nan) if eps is None else (float(eps), 0.0)
    if x < low or x > 1 - low:
        return outside
    below = x * (1 - x)
    return math.copysign(math.inf, g) if below == 0 else g / below


def mvlgamma(dtype, x, p):
    arguments = [x - j / 2 for j in range(p)]
    if any(v <= 0 and v == round(v) for v in arguments if math.isfinite(v)):
        return math.inf
    terms = [function("lgamma", v) for v in arguments]
    if not all(map(math.isfinite, terms)):
        return sum(terms)
    return into(sum(map(mpq, terms)), torch.float64) + p * (p - 1) / 4 * math.log(math.pi)


def round_decimals(dtype, x, decimals):
    if not decimals:
        return float(torch.tensor(x, dtype=torch.float64).round())
    tens = float(10 ** abs(decimals))
    return round(x * tens) / tens if decimals > 0 else round(x / tens) * tens


def sinc(dtype, x):
    whole = float(round(x))
    sine = function("sin", (x - whole) * 3.141592653589793)
    return 1.0 if x == 0 else (sine if whole % 2 == 0 else -sine) / (x * 3.141592653589793)


def logaddexp2(dtype, x, y):
    above, below = max(x, y), min(x, y)
    more = function("log1p", function("exp2", below - above)) * 1.4426950408889634
    return above + (1.0 if above == below else more)


steps("elu", elu, "self", "alpha", "scale", "input_scale")
steps("elu_backward", elu_backward, "grad_output", "alpha", "scale", "input_scale", "is_result", "self_or_result")
steps("mish", mish, "self")
steps("mish_backward", mish_backward, "grad_output", "self")
steps("celu", celu, "self", "alpha")
steps("scaled_softplus", softplus, "self", "beta", "threshold")
steps("scaled_softplus_backward", softplus_backward, "grad_output", "self", "beta", "threshold")
steps("logit", logit, "self", "eps")
steps("logit_backward", logit_backward, "grad_output", "self", "eps")
steps("mvlgamma", mvlgamma, "self", "p")
steps("round_decimals", round_decimals, "self", "decimals")
steps("ldexp", lambda dtype, x, n: float(x) * function("exp2", float(n)), "self", "other")
steps("sinc", sinc, "self")
steps("logaddexp2", logaddexp2, "self", "other")


@define("glu_backward")
@aten_rows.real
def _glu_backward(call):
    """Beside the first half g s, beside the second g a s (1 - s), of which g a is rounded in binary64."""
    x, g, dim = call["self"], call["grad_output"], call["dim"]
    dim %= x.ndim
    halves = x.chunk(2, dim)
    n = halves[0].shape[dim]
    ids = torch.arange(x.numel()).view(x.shape)
    columns = [t.reshape(-1).tolist() for t in (g, *halves)]
    place = {j: k for half in ids.chunk(2, dim) for k, j in enumerate(half.reshape(-1).tolist())}
    second = set(ids.narrow(dim, n, n).reshape(-1).tolist())
    made = {}
    for i in call.places(call.outs[0]):
        h, a, b = (c[place[i]] for c in columns)
        s = aten_rows.logistic(mpq(b))
        made[i] = mpfr(mpq(h * a)) * s * (1 - s) if i in second else mpfr(mpq(h)) * s
    return [made]


@define("logcumsumexp")
def _logcumsumexp(call):
    x, made = call["self"].double().reshape(-1).tolist(), {}
    if call["self"].ndim == 0:
        return [{0: number(x[0])}]
    for row in aten_rows.groups(call["self"].shape, call["dim"]):
        now = None
        for j in row:
            now = x[j] if now is None else function("logaddexp", now, x[j])
            made[j] = number(now)
    return [{i: made[i] for i in call.places(call.outs[0])}]


@define("logspace")
def _logspace(call):
    start, end = (mpq(float(call[k])) for k in ("start", "end"))
    n, base = call["steps"], float(call["base"])
    step = (end - start) / (n - 1) if n > 1 else mpq(0)
    return [
        {
            i: number(by_mpfr("pow", base, rn(start + i * step, torch.float64), dtype=torch.float64))
            for i in call.places(call.outs[0])
        }
    ]


# --- norms and distances


def general_norm(row, p):
    """Of exact numbers: those that are rounded once, or the steps in binary64."""
    made = aten_rows.norm(row, p)
    if made is not NotImplemented:
        return made
    powers = [function("pow", float(abs(v)), p) for v in row]
    total = rn(sum(map(mpq, powers), mpq(0)), torch.float64) if all(map(math.isfinite, powers)) else math.inf
    return number(function("pow", total, 1.0 / p))


def norm_operator(name, order):
    @define(name)
    @aten_rows.real
    def of(call):
        p = call[order]
        return [aten_rows.reduced(call, lambda row: general_norm(row, 2.0 if p is None else float(p)))]


norm_operator("vector_norm", "ord")
norm_operator("norm_dim", "p")


@define("dist")
@aten_rows.real
def _dist(call):
    a, b = torch.broadcast_tensors(call["self"], call["other"])
    rest = [
        mpq(into(mpq(x) - mpq(y), call.dtype)) for x, y in zip(a.reshape(-1).tolist(), b.reshape(-1).tolist(), strict=True)
    ]
    return [{0: general_norm(rest, float(call["p"]))}]


def differences(a, b):
    """Of two rows, rounded to binary64."""
    return [x - y for x, y in zip(a, b, strict=True)]


@define("cdist_forward")
@aten_rows.real
def _cdist(call):
    shape = call.outs[0].shape
    a, b = (call[k].double() for k in ("x1", "x2"))
    n = math.prod(shape[:-2])
    a, b = (t.expand(*shape[:-2], *t.shape[-2:]).reshape(n, *t.shape[-2:]).tolist() for t in (a, b))
    p, made = float(2.0 if call.values.get("p") is None else call["p"]), {}
    for i in call.places(call.outs[0]):
        z, rest = divmod(i, shape[-2] * shape[-1])
        row = differences(a[z][rest // shape[-1]], b[z][rest % shape[-1]])
        made[i] = general_norm([mpq(v) for v in row], p)
    return [made]


@define("pdist_forward")
@aten_rows.real
def _pdist(call):
    x = call["self"].double().tolist()
    pairs = [(i, j) for i in range(len(x)) for j in range(i + 1, len(x))]
    rows = {i: differences(*(x[k] for k in pairs[i])) for i in call.places(call.outs[0])}
    return [{i: general_norm([mpq(v) for v in row], float(call["p"])) for i, row in rows.items()}]


def slope(g, d, p, distance, dtype):
    """g times the derivative of the distance by a difference."""
    if p == 0 or (p == 2 and distance == 0) or d == 0:
        return 0.0
    signed = math.copysign(g, g * d) if d else 0.0
    if p == 1:
        return signed
    if math.isinf(p):
        return signed if into(mpq(abs(d)), dtype) == distance else 0.0
    if p == 2:
        return g * d / distance
    return function("pow", abs(d), p - 1) * signed / function("pow", distance, p - 1) if distance else 0.0


@define("cdist_backward")
def _cdist_backward(call):
    g, x, y, distance = (call[k].double() for k in ("grad", "x1", "x2", "cdist"))
    batch = distance.shape[:-2]
    n = math.prod(batch)
    x, y, g, distance = (t.expand(*batch, *t.shape[-2:]).reshape(n, *t.shape[-2:]).tolist() for t in (x, y, g, distance))
    rows, width = len(x[0]), len(x[0][0])
    made = {}
    for i in call.places(call.outs[0]):
        z, r, c = i // (rows * width), i // width % rows, i % width
        made[i] = sum(
            (
                mpq(slope(g[z][r][k], x[z][r][c] - other[c], float(call["p"]), distance[z][r][k], call.dtype))
                for k, other in enumerate(y[z])
            ),
            mpq(0),
        )
    return [made]


@define("pdist_backward")
def _pdist_backward(call):
    """The sum is rounded to binary64 where the format is narrower, and then to this."""
    x, g, distance = call["self"].double().tolist(), *(call[k].double().tolist() for k in ("grad", "pdist"))
    pairs = [(i, j) for i in range(len(x)) for j in range(i + 1, len(x))]
    width, made = len(x[0]), {}
    for i in call.places(call.outs[0]):
        r, c = divmod(i, width)
        total = mpq(0)
        for (a, b), h, d in zip(pairs, g, distance, strict=True):
            if r in (a, b):
                part = mpq(slope(h, x[a][c] - x[b][c], float(call["p"]), d, call.dtype))
                total += part if r == a else -part
        made[i] = mpq(rn(total, torch.float64))
    return [made]


@define("renorm")
def _renorm(call):
    x, dim = call["self"], call["dim"] % call["self"].ndim
    flat, limit = x.double().reshape(-1).tolist(), float(call["maxnorm"])
    made = {}
    with aten_rows.wide():
        rows = aten_rows.groups(x.shape, [d for d in range(x.ndim) if d != dim])
        norms = [general_norm([mpq(flat[j]) for j in row], float(call["p"])) for row in rows]
    inner = math.prod(x.shape[dim + 1 :])
    for i in call.places(call.outs[0]):
        norm = rn(norms[i // inner % x.shape[dim]], torch.float64)
        made[i] = mpq(flat[i] * (limit / (norm + 1e-7))) if norm > limit else mpq(flat[i])
    return [made]


# --- losses


def over(total, n, dtype=torch.float64):
    return rn(total, dtype) / n


def reduced(terms, reduction):
    """The exact mean or sum of numbers of binary64."""
    total = sum(map(mpq, terms), mpq(0))
    return [total / len(terms) if reduction == 1 else total]


def finish(call, terms):
    return [
        dict(enumerate(reduced(terms, call["reduction"])))
        if call["reduction"]
        else {i: mpq(terms[i]) for i in call.places(call.outs[0])}
    ]


@define("binary_cross_entropy")
def _bce(call):
    """By the format's own steps; the sum or mean of these is rounded again."""
    x, y = (call[k].expand(call["self"].shape).reshape(-1).tolist() for k in ("self", "target"))
    w = None if call["weight"] is None else call["weight"].expand(call["self"].shape).reshape(-1).tolist()
    dtype, terms = call.dtype, []
    for i, (a, b) in enumerate(zip(x, y, strict=True)):
        low = max(in_format("log", a, dtype), -100.0) if a else -100.0
        high = max(in_format("log1p", -a, dtype), -100.0) if a != 1 else -100.0
        value = -into((1 - mpq(b)) * mpq(high) + mpq(b) * mpq(low), dtype)
        terms.append(value if w is None else into(mpq(value) * mpq(w[i]), dtype))
    return finish(call, terms)


@define("binary_cross_entropy_backward")
def _bce_backward(call):
    dtype, at = call.dtype, call.places(call.outs[0])
    names = ("grad_output", "self", "target", "weight")
    made = {}
    for i, g, x, y, w in zip(at, *(call.column(n, call.outs[0].shape, at) for n in names), strict=True):
        below = into(mpq(max(into(mpq(x) * mpq(into(1 - mpq(x), dtype)), dtype), 1e-12)), dtype)
        value = into(mpq(into(mpq(g) * mpq(into(mpq(x) - mpq(y), dtype)), dtype)) / mpq(below), dtype)
        value = value if w is None else into(mpq(value) * mpq(w), dtype)
        made[i] = mpq(value) / (call["self"].numel() if call["reduction"] == 1 else 1)
    return [made]


@define("soft_margin_loss")
def _soft_margin(call):
    x, y = (call[k].double().expand(call["self"].shape).reshape(-1).tolist() for k in ("self", "target"))
    return finish(call, [function("softplus", -(a * b)) for a, b in zip(x, y, strict=True)])


@define("soft_margin_loss_backward")
def _soft_margin_backward(call):
    at, n = call.places(call.outs[0]), call["self"].numel()
    made = {}
    for i, g, x, y in zip(
        at, *(call.column(k, call.outs[0].shape, at) for k in ("grad_output", "self", "target")), strict=True
    ):
        value = g * -y * function("sigmoid", -(x * y))
        made[i] = mpq(value / n if call["reduction"] == 1 else value)
    return [made]


def margin_rows(call):
    """For each row: the place of the target, the rooms that are above 0, the target's weight."""
    x = call["self"].double().reshape(-1, call["self"].shape[-1] if call["self"].ndim else 1).tolist()
    w = None if call.values.get("weight") is None else call["weight"].double().tolist()
    for row, c in zip(x, call["target"].reshape(-1).tolist(), strict=True):
        room = [0.0 if k == c else max((float(call["margin"]) - row[c]) + v, 0.0) for k, v in enumerate(row)]
        yield c, room, None if w is None else w[c]


@define("multi_margin_loss")
def _multi_margin(call):
    terms, n = [], 1
    for _, room, w in margin_rows(call):
        n = len(room)
        row = [v * v for v in room] if call["p"] == 2 else room
        terms.append([v if w is None else v * w for v in row])
    if call["reduction"] == 0:
        values = [reduced(row, 1)[0] for row in terms]
        return [{i: values[i] for i in call.places(call.outs[0])}]
    every = [v for row in terms for v in row]
    if call["reduction"] == 1:
        return [{0: reduced(every, 1)[0]}]
    return [{0: mpq(over(reduced(every, 2)[0], n))}]


@define("multi_margin_loss_backward")
def _multi_margin_backward(call):
    g, flat, n = call["grad_output"].double().reshape(-1).tolist(), [], 1
    for r, (c, room, w) in enumerate(margin_rows(call)):
        n = len(room)
        row = []
        for v in room:
            s = (1.0 if call["p"] == 1 else v + v) if v > 0 else 0.0
            s = s if w is None else s * w
            row.append(s * g[r if len(g) > 1 else 0])
        row[c] = -rn(sum(map(mpq, row), mpq(0)), torch.float64)
        flat += row
    return [{i: mpq(flat[i] / (len(flat) if call["reduction"] == 1 else n)) for i in call.places(call.outs[0])}]


def label_rows(call):
    """For each row its targets, and for each of these the rooms of the other classes."""
    width = call["self"].shape[-1] if call["self"].ndim else 1
    for row, line in zip(*(call[k].reshape(-1, width).tolist() for k in ("self", "target")), strict=True):
        labels = line[: next((k for k, c in enumerate(line) if c < 0), len(line))]
        yield (
            labels,
            [[0.0 if k in labels else max((1.0 - row[c]) + v, 0.0) for k, v in enumerate(row)] for c in labels],
            len(row),
        )


@define("multilabel_margin_loss_forward")
def _multilabel(call):
    sums, n = [], 1
    for _, rooms, n in label_rows(call):  # noqa: B007
        sums.append(rn(sum((mpq(v) for room in rooms for v in room), mpq(0)), torch.float64))
    among = [mpq(int(k in labels)) for labels, _, width in label_rows(call) for k in range(width)]
    if call["reduction"]:
        sums = [rn(reduced(sums, call["reduction"])[0], torch.float64)]
    return [
        {i: mpq(sums[i] / n) for i in call.places(call.outs[0])},
        {i: among[i] for i in call.places(call.outs[1])},
    ]


@define("multilabel_margin_loss_backward")
def _multilabel_backward(call):
    g, flat, n = call["grad_output"].double().reshape(-1).tolist(), [], 1
    for r, (labels, rooms, n) in enumerate(label_rows(call)):  # noqa: B007
        counts = [float(sum(room[k] > 0 for room in rooms)) for k in range(n)]
        for c, room in zip(labels, rooms, strict=True):
            counts[c] -= sum(v > 0 for v in room)
        flat += [v * g[r if len(g) > 1 else 0] for v in counts]
    return [{i: mpq(flat[i] / (len(flat) if call["reduction"] == 1 else n)) for i in call.places(call.outs[0])}]


# --- attention: scores, softmax and result in the format


@define("attention", "attention_backward")
def _attention(call):
    q, k, v = (call[n].tolist() for n in ("query", "key", "value"))
    if call["query"].shape[1] != call["key"].shape[1]:
        return None
    dtype, scale = call.dtype, call.values.get("scale")
    scale = mpq(1.0 / math.sqrt(call["query"].shape[-1]) if scale is None else scale)
    mask = call.values.get("attn_mask")
    batch, heads, length, width = call["query"].shape
    mask = None if mask is None else mask.expand(batch, heads, length, call["key"].shape[2])

    def dot(a, b, factor=1, more=0):
        return rn(factor * sum((mpq(x) * mpq(y) for x, y in zip(a, b, strict=True)), mpq(0)) + more, dtype)

    def weights(b, h):
        rows = []
        for i in range(length):
            row = []
            for j, key in enumerate(k[b][h]):
                given = None if mask is None else mask[b, h, i, j].item()
                hidden = given is False or given == -math.inf or (call["is_causal"] and j > i)
                more = mpq(0) if given is None or isinstance(given, bool) or hidden else mpq(given)
                row.append(None if hidden else mpq(dot(q[b][h][i], key, scale, more)))
            seen = [s for s in row if s is not None]
            if not seen:
                rows.append([0.0] * len(row))
                continue
            with aten_rows.wide():
                terms = [mpfr(0) if s is None else gmpy2.exp(mpfr(s - max(seen))) for s in row]
                rows.append([rn(t / sum(terms), dtype) for t in terms])
        return rows

    first = sorted({divmod(i // (length * call.outs[0].shape[-1]), heads) for i in call.places(call.outs[0])})[:2]
    outs = [dict() for _ in call.outs]
    for b, h in first:
        p = weights(b, h)
        turned = list(zip(*v[b][h], strict=True))
        if "grad_out" not in call.values:
            parts = [[[dot(row, column) for column in turned] for row in p]]
        else:
            g = call["grad_out"].tolist()[b][h]
            dp = [[dot(row, value) for value in v[b][h]] for row in g]
            ds = []
            for row, back in zip(p, dp, strict=True):
                inner = sum((mpq(x) * mpq(y) for x, y in zip(row, back, strict=True)), mpq(0))
                ds.append([rn(mpq(x) * (mpq(y) - inner), dtype) for x, y in zip(row, back, strict=True)])
            keys, queries = (list(zip(*t[b][h], strict=True)) for t in (k, q))
            columns, shares = list(zip(*ds, strict=True)), list(zip(*p, strict=True))
            parts = [
                [[dot(row, c, scale) for c in keys] for row in ds],
                [[dot(row, c, scale) for c in queries] for row in columns],
                [[dot(row, c) for c in zip(*g, strict=True)] for row in shares],
            ]
        for made, part, out in zip(outs, parts, call.outs, strict=False):
            size = out.shape[-1] * out.shape[-2]
            flat = [v for row in part for v in row]
            made |= {(b * heads + h) * size + i: flat[i] for i in range(size)}
    return [m if m else None for m in outs]


# --- bags


@define("embedding_bag_backward")
def _embedding_bag_backward(call):
    if call["mode"] == 2:
        return None
    g, found = call["grad"].tolist(), aten_rows.bags(call)
    w = None if call.values.get("per_sample_weights") is None else call["per_sample_weights"].tolist()
    width, totals = len(g[0]), {}
    for bag, places in found.items():
        for j, r in places:
            for c in range(width):
                v = g[bag][c] / len(places) if call["mode"] == 1 else g[bag][c]
                totals[r * width + c] = totals.get(r * width + c, mpq(0)) + mpq(v) * (1 if w is None else mpq(w[j]))
    return [{i: totals.get(i, mpq(0)) for i in call.places(call.outs[0])}]


# --- images in another size: along one axis after the other a matrix of weights, which are rounded to the format


def keys(x, a):
    """The cubic of Keys' paper, whose slope at 1 is a."""
    x = abs(x)
    if x <= 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else mpq(0)


def places(n, m, align_corners, scale):
    """Where the elements of the result lie among those of the argument, and how far from each other."""
    if align_corners:
        step = mpq(n - 1, m - 1) if m > 1 else mpq(0)
        return [i * step for i in range(m)], step
    step = 1 / mpq(scale) if scale is not None and scale > 0 else mpq(n, m)
    return [(i + mpq(1, 2)) * step - mpq(1, 2) for i in range(m)], step


def tent_row(at, n, step):
    """Between two elements; before the first, and after the last, these."""
    row, at = [mpq(0)] * n, max(at, mpq(0))
    first = min(math.floor(at), n - 1)
    part = min(at - first, mpq(1)) if first + 1 < n else mpq(0)
    row[first] += 1 - part
    row[min(first + 1, n - 1)] += part
    return row


def cubic_row(at, n, step):
    row = [mpq(0)] * n
    for k in range(math.floor(at) - 1, math.floor(at) + 3):
        row[min(max(k, 0), n - 1)] += keys(at - k, mpq(-3, 4))
    return row


def wider_tent_row(at, n, step):
    """Of all elements within the reach of the filter, which is wider where the result is smaller; divided by their sum."""
    wider = max(step, mpq(1))
    low, high = (math.floor(at + mpq(1, 2) + side * wider + mpq(1, 2)) for side in (-1, 1))
    row = [max(1 - abs((k - at) / wider), mpq(0)) if low <= k < high else mpq(0) for k in range(n)]
    total = sum(row, mpq(0))
    return [w / total for w in row] if total else row


def along(x, table, axis, dtype):
    """The sums of products with the rows of a table, rounded."""
    made = np.empty((*x.shape[:axis], len(table), *x.shape[axis + 1 :]), object)
    lines = np.moveaxis(x, axis, -1)
    for i, row in enumerate(table):
        taken = [(k, w) for k, w in enumerate(row) if w]
        target = np.moveaxis(made, axis, -1)
        for at in np.ndindex(lines.shape[:-1]):
            target[(*at, i)] = mpq(rn(sum((w * lines[(*at, k)] for k, w in taken), mpq(0)), dtype))
    return made


def interpolation(name, row_of, edges=True):
    """`edges`: whether align_corners puts the outermost elements onto each other; else it changes their distance alone."""

    def taken(call, argument, back):
        t = call[argument]
        dims = t.ndim - 2
        scales = [v for k, v in call.values.items() if k.startswith("scales")]
        x = np.array([mpq(v) for v in t.reshape(-1).tolist()], object).reshape(t.shape)
        sizes = list((call["input_size"] if back else t.shape)[2:])
        for axis in range(dims) if back else reversed(range(dims)):
            n, m = sizes[axis], call["output_size"][axis]
            at, step = places(n, m, call["align_corners"], scales[axis] if axis < len(scales) else None)
            if not edges:
                at = [(i + mpq(1, 2)) * step - mpq(1, 2) for i in range(m)]
            table = [[mpq(rn(w, call.dtype)) for w in row_of(p, n, step)] for p in at]
            x = along(x, list(zip(*table, strict=True)) if back else table, axis + 2, call.dtype)
        flat = x.reshape(-1)
        return [{i: flat[i] for i in call.places(call.outs[0])}]

    define(name)(lambda call: taken(call, "self" if "self" in call.values else "input", False))
    define(f"{name}_backward")(lambda call: taken(call, "grad_output", True))


interpolation("upsample_linear1d", tent_row)
interpolation("upsample_bilinear2d", tent_row)
interpolation("upsample_trilinear3d", tent_row)
interpolation("upsample_bicubic2d", cubic_row)
interpolation("_upsample_bilinear2d_aa", wider_tent_row, edges=False)


def weighed(call, edges):
    """Counts or sums of weights from one edge to the next, as densities where this is asked for."""
    x, dtype, n = call["self"].reshape(-1).tolist(), call.dtype, len(edges) - 1
    weights = [1.0] * len(x) if call["weight"] is None else call["weight"].reshape(-1).tolist()
    sums = [mpq(0)] * n
    for v, w in zip(x, weights, strict=True):
        at = [k for k in range(n) if edges[k] <= v < edges[k + 1] or (k == n - 1 and v == edges[n])]
        if at:
            sums[at[-1]] += mpq(w)
    made = [rn(v, dtype) for v in sums]
    if call["density"]:
        total = rn(sum(map(mpq, made), mpq(0)), dtype)
        widths = [rn(mpq(b) - mpq(a), dtype) for a, b in zip(edges, edges[1:], strict=False)]
        if total == 0 or 0 in widths:
            return None
        made = [rn(mpq(rn(mpq(v) / mpq(total), dtype)) / mpq(w), dtype) for v, w in zip(made, widths, strict=True)]
    return {i: mpq(made[i]) for i in call.places(call.outs[0])}


@define("histogram")
def _histogram(call):
    exact = edges_of([mpq(v) for v in call["self"].reshape(-1).tolist()], call["bins"], call["range"])
    edges = [rn(v, call.dtype) for v in exact]
    return [weighed(call, edges), {i: exact[i] for i in call.places(call.outs[1])}]


def edges_of(x, bins, limits):
    """Of equal bins over the range, or that of the numbers."""
    low, high = map(mpq, limits) if limits is not None else (min(x), max(x)) if x else (mpq(0), mpq(1))
    if low == high:
        low, high = low - mpq(1, 2), high + mpq(1, 2)
    return [low + k * (high - low) / bins for k in range(bins + 1)]


def columns(call):
    rows = call["self"].reshape(-1, call["self"].shape[-1])
    return [[mpq(v) for v in column] for column in rows.t().tolist()]


def edges_of_each(call):
    limits = call["range"]
    return [
        edges_of(x, n, None if limits is None else limits[2 * i : 2 * i + 2])
        for i, (x, n) in enumerate(zip(columns(call), call["bins"], strict=True))
    ]


@define("histogramdd_edges")
def _histogramdd_edges(call):
    return [{i: e[i] for i in call.places(out)} for e, out in zip(edges_of_each(call), call.outs, strict=True)]


@define("histogramdd")
def _histogramdd(call):
    """A box by its number; a number of the last bin of a dimension may be its upper edge. Edges that are not in order are bisected."""
    dtype = call.dtype
    edges = [[rn(v, dtype) for v in e] for e in edges_of_each(call)]
    points = list(zip(*columns(call), strict=True))
    weights = [mpq(1)] * len(points) if call["weight"] is None else [mpq(v) for v in call["weight"].reshape(-1).tolist()]
    shape, sums = [len(e) - 1 for e in edges], {}
    for point, w in zip(points, weights, strict=True):
        bins = [
            [min(bisect.bisect_right(e, v) - 1, n - 1)][: e[0] <= v <= e[n]]
            if sorted(e) != e
            else [k for k in range(n) if e[k] <= v < e[k + 1] or (k == n - 1 and v == e[n])][-1:]
            for v, e, n in zip(point, edges, shape, strict=True)
        ]
        if all(bins):
            at = tuple(k for (k,) in bins)
            sums[at] = sums.get(at, mpq(0)) + w
    made = {at: mpq(rn(v, dtype)) for at, v in sums.items()}
    total = rn(sum(made.values(), mpq(0)), dtype)
    wanted = {}
    for i in call.places(call.outs[0]):
        at = tuple(int(k) for k in np.unravel_index(i, shape))
        v = made.get(at, mpq(0))
        if call["density"]:
            widths = [mpq(rn(mpq(e[k + 1]) - mpq(e[k]), dtype)) for e, k in zip(edges, at, strict=True)]
            if total == 0 or 0 in widths:
                v = None
            else:
                v = mpq(rn(v / mpq(total), dtype))
                for w in widths:
                    v = mpq(rn(v / w, dtype))
        wanted[i] = v
    return [wanted]


COMPOSED = (set(aten_exact.DEFINITIONS) - before - {"histogramdd_edges"}) | PARTLY
