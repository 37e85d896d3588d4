"""Exact values of the operators of the table that reduce rows, or take them as wholes: products, moments, norms, softmax, losses."""

import math

import gmpy2
import torch
from aten_exact import PRECISION, define, exact, rn
from gmpy2 import mpfr, mpq

REDUCTIONS = ("none", "mean", "sum")


def wide():
    return gmpy2.context(precision=PRECISION, emax=2**40, emin=-(2**40))


def real(function):
    """A definition whose real numbers are those of MPFR at a high precision."""

    def of(call):
        with wide():
            return function(call)

    return of


def groups(shape, dim):
    """For each element of a reduction the places of what it is made of, in order."""
    ids = torch.arange(math.prod(shape)).view(shape)
    dims = [dim] if isinstance(dim, int) else list(dim or [])
    if not shape:
        return [[0]]
    dims = [d % len(shape) for d in dims] or list(range(len(shape)))
    others = [d for d in range(len(shape)) if d not in dims]
    n = math.prod(shape[d] for d in dims)
    if not n:
        return [[] for _ in range(math.prod(shape[d] for d in others))]
    return ids.permute(*others, *dims).reshape(-1, n).tolist()


def reduced(call, function, name="self", dim="dim"):
    """The function of the numbers of each sampled element's group; None where one is not finite."""
    x, rows = call.flat(name), groups(call[name].shape, call.values.get(dim))
    made = {}
    for i in call.places(call.outs[0]):
        row = [x[j] for j in rows[i]]
        made[i] = None if None in row else function(row)
    return made


@define("prod")
def _prod(call):
    return [reduced(call, lambda row: math.prod(row, start=mpq(1)))]


@define("cumprod")
def _cumprod(call):
    x, made = call.flat("self"), {}
    shape = call["self"].shape
    rows = groups(shape, call["dim"])
    where = {j: (row, k) for row in rows for k, j in enumerate(row)}
    for i in call.places(call.outs[0]):
        row, k = where[i]
        terms = [x[j] for j in row[: k + 1]]
        made[i] = None if None in terms else math.prod(terms, start=mpq(1))
    return [made]


def mean(row):
    return sum(row, mpq(0)) / len(row) if row else None


def variance(row, correction=1):
    middle, n = mean(row), len(row) - exact(1 if correction is None else correction)
    return None if n <= 0 or not row else sum(((v - middle) ** 2 for v in row), mpq(0)) / n


def root(v):
    return None if v is None else gmpy2.sqrt(mpfr(v))


@define("var")
def _var(call):
    return [reduced(call, lambda row: variance(row, call["correction"]))]


@define("std")
@real
def _std(call):
    return [reduced(call, lambda row: root(variance(row, call["correction"])))]


@define("var_mean")
def _var_mean(call):
    return [reduced(call, lambda row: variance(row, call["correction"])), reduced(call, mean)]


@define("std_mean")
@real
def _std_mean(call):
    return [reduced(call, lambda row: root(variance(row, call["correction"]))), reduced(call, mean)]


def norm(row, p):
    """Of the orders that are rounded once; None of another one (see aten_steps.py)."""
    sizes = [abs(v) for v in row]
    if p == 2:
        return root(sum((v * v for v in row), mpq(0)))
    if not sizes:
        return None if p < 0 or math.isinf(p) else mpq(0)
    simple = {
        0: lambda: mpq(sum(v != 0 for v in row)),
        1: lambda: sum(sizes, mpq(0)),
        math.inf: lambda: max(sizes),
        -math.inf: lambda: min(sizes),
    }
    return simple[p]() if p in simple else NotImplemented


# --- softmax


def softmax_rows(call, function, *names, dim="dim"):
    """The function of the rows of several tensors, and the place in the row."""
    columns = [call.flat(n) for n in names]
    rows = groups(call[names[0]].shape, call[dim])
    where = {j: (row, k) for row in rows for k, j in enumerate(row)}
    made = {}
    for i in call.places(call.outs[0]):
        row, k = where[i] if call[names[0]].shape else ([0], 0)
        given = [[column[j] for j in row] for column in columns]
        made[i] = None if any(None in g for g in given) else function(k, *given)
    return [made]


def exponentials(row):
    top = max(row)
    return [gmpy2.exp(mpfr(v - top)) for v in row], top


def _softmax(k, row):
    terms, _ = exponentials(row)
    return terms[k] / sum(terms)


def _log_softmax(k, row):
    terms, top = exponentials(row)
    rest = sum(t for j, t in enumerate(terms) if j != _top(row))
    return mpfr(row[k] - top) - gmpy2.log1p(rest)


def _top(row):
    return row.index(max(row))


define("softmax", "safe_softmax")(real(lambda call: softmax_rows(call, _softmax, "self")))
define("log_softmax")(real(lambda call: softmax_rows(call, _log_softmax, "self")))
define("softmax_backward")(
    real(
        lambda call: softmax_rows(
            call,
            lambda k, g, y: y[k] * (g[k] - sum((a * b for a, b in zip(g, y, strict=True)), mpq(0))),
            "grad_output",
            "output",
        )
    )
)
define("log_softmax_backward")(
    real(
        lambda call: softmax_rows(
            call, lambda k, g, y: mpfr(g[k]) - gmpy2.exp(mpfr(y[k])) * mpfr(sum(g, mpq(0))), "grad_output", "output"
        )
    )
)


@define("logsumexp")
@real
def _logsumexp(call):
    def of(row):
        terms, top = exponentials(row)
        return mpfr(top) + gmpy2.log1p(sum(t for j, t in enumerate(terms) if j != _top(row)))

    return [reduced(call, of)]


# --- norms: of each set of numbers, with a weight and a bias for each element


class Sets:
    """The sets of a norm's input: places by set, and for each place its weight's."""

    def __init__(self, call, shape, rows, weights, name="input"):
        self.call, self.rows, self.weights = call, rows, weights
        self.x = call.flat(name)
        self.where = {j: (s, k) for s, row in enumerate(rows) for k, j in enumerate(row)}
        self.w, self.b = (call.flat(n) if isinstance(call.values.get(n), torch.Tensor) else None for n in ("weight", "bias"))
        for n in ("weight", "bias"):  # beside 16 bits they are rounded first
            t = call.values.get(n)
            if isinstance(t, torch.Tensor) and t.dtype is not call[name].dtype:
                rounded = [exact(v) for v in t.to(call[name].dtype).reshape(-1).tolist()]
                self.w, self.b = (rounded, self.b) if n == "weight" else (self.w, rounded)

    def weight(self, j):
        return mpq(1) if self.w is None else self.w[self.weights[j]]

    def bias(self, j):
        return mpq(0) if self.b is None else self.b[self.weights[j]]

    def moments(self, s):
        row = [self.x[j] for j in self.rows[s]]
        return mean(row), variance(row, 0)

    def forward(self, eps, statistics=True):
        outs, made = self.call.outs, []
        values = {}
        for j in self.call.places(outs[0]):
            middle, spread = self.moments(self.where[j][0])
            values[j] = mpfr((self.x[j] - middle) * self.weight(j)) / root(spread + eps) + mpfr(self.bias(j))
        made.append(values)
        if statistics:
            made.append({s: self.moments(s)[0] for s in self.call.places(outs[1])})
            made.append({s: 1 / root(self.moments(s)[1] + eps) for s in self.call.places(outs[2])})
        return made

    def backward(self, g, eps, mask):
        """By the input, by the weights, by the biases."""
        scale, centred, total = {}, {}, {}
        for s, row in enumerate(self.rows):
            middle, spread = self.moments(s)
            scale[s] = 1 / root(spread + eps)
            for j in row:
                centred[j] = (self.x[j] - middle, s)
            total[s] = (
                sum((g[j] * self.weight(j) for j in row), mpq(0)) / len(row),
                sum((g[j] * self.weight(j) * centred[j][0] for j in row), mpq(0)) / len(row),
            )
        found = []
        outs = list(self.call.outs)
        if mask[0]:
            made = {}
            for j in self.call.places(outs.pop(0)):
                c, s = centred[j]
                first = g[j] * self.weight(j) - total[s][0]
                made[j] = scale[s] * (mpfr(first) - mpfr(c * total[s][1]) * scale[s] * scale[s])
            found.append(made)
        by_weight = {}
        for j in centred:
            by_weight.setdefault(self.weights[j], []).append(j)
        if mask[1]:
            made = {}
            for k in self.call.places(outs.pop(0)):
                parts = {}
                for j in by_weight[k]:
                    parts[centred[j][1]] = parts.get(centred[j][1], mpq(0)) + g[j] * centred[j][0]
                made[k] = sum((mpfr(v) * scale[s] for s, v in parts.items()), mpfr(0))
            found.append(made)
        if mask[2]:
            found.append({k: sum((g[j] for j in by_weight[k]), mpq(0)) for k in self.call.places(outs.pop(0))})
        return found


def layer_sets(call):
    shape, n = call["input"].shape, math.prod(call["normalized_shape"])
    rows = torch.arange(math.prod(shape)).view(-1, n).tolist()
    return Sets(call, shape, rows, [j % n for j in range(math.prod(shape))])


def group_sets(call):
    count, channels, inner = call["N"], call["C"], call["HxW"]
    rows = torch.arange(count * channels * inner).view(count * call["group"], -1).tolist()
    return Sets(call, None, rows, [j // inner % channels for j in range(count * channels * inner)])


def channel_sets(call):
    shape = call["input"].shape
    others = [d for d in range(len(shape)) if d != 1]
    rows = groups(shape, others)
    inner = math.prod(shape[2:])
    return Sets(call, shape, rows, [j // inner % shape[1] for j in range(math.prod(shape))])


def norm_operator(name, sets):
    def usable(call):
        return call["input"].numel() and all(v is not None for v in call.flat("input"))

    @define(name)
    @real
    def forward(call):
        if not usable(call):
            return None
        return sets(call).forward(exact(call["eps"]))

    @define(f"{name}_backward")
    @real
    def backward(call):
        if not usable(call):
            return None
        eps = call.values.get("eps")
        if eps is None:
            eps = call.values["stored eps"]
        return sets(call).backward(call.flat("grad_out"), exact(eps), call["output_mask"])


norm_operator("layer_norm", layer_sets)
norm_operator("group_norm", group_sets)


@define("batch_norm", "batch_norm_without_running", "batch_norm_with_update")
@real
def _batch_norm(call):
    sets = channel_sets(call)
    if call.values.get("training", True):
        return sets.forward(exact(call["eps"]))
    means, variances = call.flat("running_mean"), call.flat("running_var")
    made = {}
    for j in call.places(call.outs[0]):
        c = sets.weights[j]
        made[j] = mpfr((sets.x[j] - means[c]) * sets.weight(j)) / root(variances[c] + exact(call["eps"])) + mpfr(sets.bias(j))
    return [made]


@define("batch_norm_backward", "batch_norm_of_update_backward")
@real
def _batch_norm_backward(call):
    sets, g, mask = channel_sets(call), call.flat("grad_out"), call["output_mask"]
    eps = exact(call["eps"])
    if call.values.get("train", call.values.get("update")):
        return sets.backward(g, eps, mask)
    means, variances = call.flat("running_mean"), call.flat("running_var")
    outs, found = list(call.outs), []
    if mask[0]:
        made = {}
        for j in call.places(outs.pop(0)):
            made[j] = mpfr(g[j] * sets.weight(j)) / root(variances[sets.weights[j]] + eps)
        found.append(made)
    for k in (1, 2):
        if mask[k]:
            made = {}
            for c in call.places(outs.pop(0)):
                row = sets.rows[c]
                total = sum((g[j] * (sets.x[j] - means[c] if k == 1 else 1) for j in row), mpq(0))
                made[c] = mpfr(total) / root(variances[c] + eps) if k == 1 else total
            found.append(made)
    return found


# --- losses


def loss(name, value, slope, parameter=None):
    """Of the difference d of input and target: the mean or sum of `value`, and g times `slope` over the number."""

    def pairs(call):
        x, y = torch.broadcast_tensors(call["self"], call["target"])
        return [exact(a) - exact(b) for a, b in zip(x.reshape(-1).tolist(), y.reshape(-1).tolist(), strict=True)]

    def of(call):
        return exact(call[parameter]) if parameter else None

    @define(name)
    def forward(call):
        values = [value(d, of(call)) for d in pairs(call)]
        if call["reduction"]:
            return [{0: sum(values, mpq(0)) / (len(values) if call["reduction"] == 1 else 1)}]
        return [{i: values[i] for i in call.places(call.outs[0])}]

    @define(f"{name}_backward")
    def backward(call):
        differences, g = pairs(call), call.flat("grad_output")
        n = len(differences) if call["reduction"] == 1 else 1
        if call["reduction"] == 1 and len(g) == len(differences) > 1:  # of second derivatives: rounded before the division
            products = {i: g[i] * slope(differences[i], of(call)) for i in call.places(call.outs[0])}
            return [{i: mpq(rn(v, torch.float64) / n) for i, v in products.items()}]
        return [{i: (g[0] if len(g) == 1 else g[i]) * slope(differences[i], of(call)) / n for i in call.places(call.outs[0])}]


def sign(d):
    return (d > 0) - (d < 0)


loss("mse_loss", lambda d, _: d * d, lambda d, _: 2 * d)
loss(
    "smooth_l1_loss",
    lambda d, b: d * d / (2 * b) if abs(d) < b else abs(d) - b / 2,
    lambda d, b: d / b if abs(d) < b else sign(d),
    "beta",
)
loss(
    "huber_loss",
    lambda d, b: d * d / 2 if abs(d) <= b else b * (abs(d) - b / 2),
    lambda d, b: d if abs(d) < b else b * sign(d),
    "delta",
)


def classes(call):
    """The place of each target's number in the input, its weight, whether it counts."""
    x, target = call["self"], call["target"]
    axis = 0 if x.ndim == 1 else 1
    ids = torch.arange(x.numel()).view(x.shape)
    weights = call.flat("weight") if isinstance(call.values.get("weight"), torch.Tensor) else None
    found = []
    flat = ids.movedim(axis, -1).reshape(-1, x.shape[axis])
    for row, c in zip(flat.tolist(), target.reshape(-1).tolist(), strict=True):
        counts = c != call["ignore_index"]
        found.append((row[c] if counts else None, mpq(0) if not counts else weights[c] if weights else mpq(1)))
    return found


@define("nll_loss_forward")
def _nll(call):
    x, found = call.flat("self"), classes(call)
    total = sum((w for _, w in found), mpq(0))
    terms = [mpq(0) if j is None else -w * x[j] for j, w in found]
    if call["reduction"] == 0:
        return [{i: terms[i] for i in call.places(call.outs[0])}, None]
    value = sum(terms, mpq(0))
    return [{0: value if call["reduction"] == 2 else value / total if total else None}, {0: total}]


@define("nll_loss_backward")
def _nll_backward(call):
    g, found = call.flat("grad_output"), classes(call)
    total = sum((w for _, w in found), mpq(0)) if call["reduction"] == 1 else mpq(1)
    made = dict.fromkeys(call.places(call.outs[0]), mpq(0))
    for i, (j, w) in enumerate(found):
        if j in made:
            made[j] = -(g[i] if len(g) > 1 else g[0]) * w / total if total else None
    return [made]


@define("binary_cross_entropy_with_logits")
@real
def _bce(call):
    shape = call["self"].shape
    n = call["self"].numel()
    x, y, w, p = (
        [exact(v) for v in (torch.ones(()) if call.values.get(k) is None else call[k]).expand(shape).reshape(-1).tolist()]
        for k in ("self", "target", "weight", "pos_weight")
    )

    def of(i):
        over = gmpy2.log1p(gmpy2.exp(-abs(mpfr(x[i])))) + mpfr(max(-x[i], mpq(0)))
        return w[i] * ((1 - y[i]) * x[i] + (1 + (p[i] - 1) * y[i]) * over)

    if call["reduction"]:
        return [{0: sum((of(i) for i in range(n)), mpfr(0)) / (n if call["reduction"] == 1 else 1)}]
    return [{i: of(i) for i in call.places(call.outs[0])}]


# --- others


def logistic(v):
    return 1 / (1 + gmpy2.exp(-mpfr(v)))


@define("glu")
@real
def _glu(call):
    a, b = call["self"].chunk(2, call["dim"])
    at = call.places(call.outs[0])
    columns = [t.reshape(-1).tolist() for t in (a, b)]
    return [{i: mpfr(exact(columns[0][i])) * logistic(exact(columns[1][i])) for i in at}]


@define("scatter_reduce")
def _scatter_reduce(call):
    """sum: all that meets, in any order; the greatest and the least are PyTorch's; of a mean see aten_steps.py."""
    kind = call["reduce"]
    if kind in ("amax", "amin"):
        plain = call.run()[0].reshape(-1)
        return [{i: exact(float(plain[i])) for i in call.places(call.outs[0])}]
    x, index, src = call["self"], call["index"], call["src"]
    old, ids = call.flat("self"), torch.arange(x.numel()).view(x.shape)
    terms = {}
    if x.ndim == 0:
        return None
    source = src[tuple(slice(n) for n in index.shape)].reshape(-1).tolist()
    corner = ids[tuple(slice(n) if d != call["dim"] % x.ndim else slice(None) for d, n in enumerate(index.shape))]
    for v, j in zip(source, corner.gather(call["dim"], index).reshape(-1).tolist(), strict=True):
        terms.setdefault(j, []).append(exact(v))
    made = {}
    for i in call.places(call.outs[0]):
        parts = terms.get(i, [])
        if call["include_self"] or not parts:
            parts = [old[i], *parts]
        total = sum(parts, mpq(0))
        made[i] = (total, len(parts)) if kind == "mean" else total
        made[i] = math.prod(parts, start=mpq(1)) if kind == "prod" else made[i]
    if kind == "mean":
        made = {i: mpq(rn(t, call.dtype)) / n for i, (t, n) in made.items()}
    return [made]


REDUCED = {
    "prod": lambda row: math.prod(row, start=mpq(1)),
    "sum": lambda row: sum(row, mpq(0)),
    "mean": mean,
    "amax": max,
    "amin": min,
    "max": max,
    "min": min,
}


@define("index_reduce")
def _index_reduce(call):
    """The lines of a place together."""
    x, dim, index = call["self"], call["dim"], call["index"].reshape(-1).tolist()
    if x.ndim == 0:
        return None
    old = x.movedim(dim, 0).reshape(x.shape[dim], -1)
    lines = call["source"].movedim(dim, 0).reshape(len(index), -1)
    where = torch.arange(x.numel()).view(x.shape).movedim(dim, 0).reshape(old.shape)
    made = {}
    for i in call.places(call.outs[0]):
        row, column = divmod(int((where.reshape(-1) == i).nonzero()), old.shape[1])
        terms = [exact(float(lines[j, column])) for j, at in enumerate(index) if at == row]
        if call["include_self"] or not terms:
            terms = [exact(float(old[row, column])), *terms]
        made[i] = None if None in terms else REDUCED[call["reduce"]](terms)
    return [made]


def segments(call):
    """Of each element of the data the number of its segment; of each segment the elements."""
    data, axis = call["data"], call["axis"]
    lengths, offsets = call.values.get("lengths"), call.values.get("offsets")
    lengths = offsets.diff(dim=axis) if lengths is None else lengths
    inner = math.prod(data.shape[axis + 1 :])
    ids = torch.arange(data.numel()).reshape(-1, data.shape[axis], inner)
    starts = 0 if offsets is None else offsets.select(axis, 0).reshape(-1)
    of = [[] for _ in range(lengths.numel() * inner)]
    for outer, sizes in enumerate(lengths.reshape(-1, lengths.shape[axis]).tolist()):
        at = int(starts[outer]) if offsets is not None else 0
        for segment, size in enumerate(sizes):
            for k in range(inner):
                of[(outer * len(sizes) + segment) * inner + k] = ids[outer, at : at + size, k].tolist()
            at += size
    return {j: s for s, row in enumerate(of) for j in row}, of


@define("segment_reduce")
def _segment_reduce(call):
    x, kind, initial = call.flat("data"), call["reduce"], call.values.get("initial")
    _, rows = segments(call)
    made = {}
    for i in call.places(call.outs[0]):
        terms = [x[j] for j in rows[i]]
        n = len(terms)
        terms = terms if initial is None else [exact(initial), *terms]
        if None in terms or not terms:
            made[i] = None if terms or kind in ("max", "min", "mean") else REDUCED[kind]([])
        else:
            made[i] = REDUCED["sum"](terms) / max(n, 1) if kind == "mean" else REDUCED[kind](terms)
    return [made]


@define("segment_reduce_backward")
def _segment_reduce_backward(call):
    x, g, y = (call.flat(name) for name in ("data", "grad", "output"))
    kind, initial = call["reduce"], call.values.get("initial")
    of, rows = segments(call)
    made = {}
    for i in call.places(call.outs[0]):
        if i not in of:
            made[i] = mpq(0)
            continue
        row, slope = rows[of[i]], g[of[i]]
        if kind in ("max", "min"):
            chosen = [j for j in row if x[j] == y[of[i]]]
            made[i] = slope / len(chosen) if i in chosen else mpq(0)
        elif kind == "prod":
            others = [x[j] for j in row if j != i]
            made[i] = math.prod(others, start=slope * (1 if initial is None else exact(initial)))
        else:
            made[i] = slope / (len(row) if kind == "mean" else 1)
    return [made]


@define("masked_index_put")
def _masked_index_put(call):
    """At each place the sum of what the mask lets pass."""
    x = call["self"]
    if not x.numel():
        return None
    mask = call["mask"]
    held = [i if i is None else torch.where(mask, i, 0) for i in call["indices"]]
    at = torch.arange(x.numel()).view(x.shape)[tuple(slice(None) if i is None else i for i in held)]
    values, passed = call["values"].expand(at.shape), mask.expand(at.shape)
    sums = call.flat("self")
    for j, v, kept in zip(*(t.reshape(-1).tolist() for t in (at, values, passed)), strict=True):
        if kept:
            sums[j] = None if sums[j] is None or exact(v) is None else sums[j] + exact(v)
    return [{i: sums[i] for i in call.places(call.outs[0])}]


# --- bags


def bags(call):
    """Places of each bag, without those of padding."""
    indices, offsets = call["indices"].reshape(-1).tolist(), call["offsets"].tolist()
    found = {}
    for j, r in enumerate(indices):
        bag = sum(o <= j for o in offsets) - 1
        if r != call.values.get("padding_idx", -1):
            found.setdefault(bag, []).append((j, r))
    return found


@define("embedding_bag")
def _embedding_bag(call):
    """Sums and means are rounded once."""
    if call["mode"] == 2:
        return [{i: exact(float(call.run()[0].reshape(-1)[i])) for i in call.places(call.outs[0])}]
    rows, found = call["weight"].tolist(), bags(call)
    w = None if call.values.get("per_sample_weights") is None else call["per_sample_weights"].tolist()
    width, made = len(rows[0]), {}
    for i in call.places(call.outs[0]):
        places = found.get(i // width, [])
        total = sum((mpq(rows[r][i % width]) * (1 if w is None else mpq(w[j])) for j, r in places), mpq(0))
        made[i] = total / len(places) if call["mode"] == 1 and places else total
    return [made]
