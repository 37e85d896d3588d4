"""Enclosures of the values of operators of `_stochastic_wide`, as `_stochastic_exact` has them: losses with weights, what is grouped by an index, triangular
systems, and the library's own operators."""

import decimal
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import torch

from .._draws import gradients
from .._draws.enclosures import Arithmetic
from .._random_balls import Interval
from ._aten import grouped
from ._stochastic_exact import ELEMENTS, MADE, Call, Value, element, huber, number, point, smooth, sums
from ._tensors import array_inside as as_array

_ZERO = Fraction(0)


def _reduction(call: Call) -> str:
    kind = call["reduction"]
    return ("none", "mean", "sum")[kind] if isinstance(kind, int) else str(kind)


def _added(each: Callable[[int, int], Interval], count: int, over: Fraction, reduction: str) -> Value:
    """Elements, their sum, or their sum divided by a number."""

    def value(place: int, bits: int) -> Interval:
        if reduction == "none":
            return each(place, bits)
        total = point(0, bits)
        for i in range(count):
            total = total + each(i, bits + 32)
        return total / point(over, bits) if reduction != "sum" else total

    return value


# --- losses


class _Classes:
    """Rows of classes of a loss of chosen ones: numbers (R, C), targets, weights, and which are counted."""

    def __init__(self, call: Call) -> None:
        x = call.array("self")
        self.moved = x.ndim > 1
        self.shape = (x.shape[0], *x.shape[2:], x.shape[1]) if self.moved else x.shape
        self.rows = (np.moveaxis(x, 1, -1) if self.moved else x).reshape(-1, self.shape[-1])
        self.target = np.asarray(as_array(call["target"])).reshape(-1).tolist()
        given = call["weight"]
        self.weight = (
            [number(v) for v in call.array("weight").tolist()] if given is not None else [Fraction(1)] * self.shape[-1]
        )
        self.ignored = int(call["ignore_index"])

    def of(self, row: int) -> Fraction:
        """The weight of a row."""
        return _ZERO if self.target[row] == self.ignored else self.weight[self.target[row]]

    def total(self) -> Fraction:
        return sum((self.of(i) for i in range(len(self.target))), _ZERO)


def _chosen(call: Call) -> Value:
    """nll_loss, and the sum of its weights."""
    given, kind = _Classes(call), _reduction(call)
    if call.number:
        return lambda place, bits: point(_ZERO if kind == "none" else given.total(), bits)

    def each(row: int, bits: int) -> Interval:
        weight = given.of(row)
        return point(-weight * number(float(given.rows[row, given.target[row]])) if weight else _ZERO, bits)

    return _added(each, len(given.target), given.total(), kind)


def _chosen_backward(call: Call) -> Value:
    given, kind = _Classes(call), _reduction(call)
    g = call.array("grad_output").reshape(-1)
    places = np.arange(math.prod(given.shape)).reshape(given.shape)
    origin = (np.moveaxis(places, -1, 1) if given.moved else places).reshape(-1)  # of an element, its place in the rows
    over = given.total() if kind == "mean" else Fraction(1)

    def value(place: int, bits: int) -> Interval:
        row, column = divmod(int(origin[place]), given.shape[-1])
        weight = given.of(row) if given.target[row] == column else _ZERO
        return point(-weight * number(float(g[row if g.size > 1 else 0])) / over if weight else _ZERO, bits)

    return value


def _pairs(call: Call, *names: str) -> list[Any]:
    return [v.reshape(-1) for v in np.broadcast_arrays(*(call.array(n) for n in names))]


def _kl(call: Call) -> Value:
    x, t = _pairs(call, "self", "target")

    def each(i: int, bits: int) -> Interval:
        a, b = point(number(float(x[i])), bits), point(number(float(t[i])), bits)
        if call["log_target"]:
            return b.exp() * (b - a)
        return b * (b.log() - a) if b.low > 0 else point(_ZERO, bits)

    over = call["self"].shape[0] if _reduction(call) == "batchmean" else max(x.size, 1)
    return _added(each, x.size, Fraction(over), _reduction(call))


def _kl_backward(call: Call) -> Value:
    t = call.array("target").reshape(-1)
    g, kind = call.array("grad_output").reshape(-1), _reduction(call)
    over = {"mean": t.size, "batchmean": call["self"].shape[0] if call["self"].ndim else 1}.get(kind, 1)

    def value(place: int, bits: int) -> Interval:
        a = point(number(float(t[place])), bits)
        share = a.exp() if call["log_target"] else a
        return share * point(-number(float(g[place if g.size > 1 else 0])) / over, bits)

    return value


_LOSSES: dict[str, tuple[Callable[..., Fraction], Callable[..., Fraction]]] = {
    "mse": (lambda x, y, p: (x - y) ** 2, lambda x, y, p: 2 * (x - y)),
    "l1": (lambda x, y, p: abs(x - y), lambda x, y, p: Fraction((x > y) - (x < y))),
    "smooth_l1": (smooth, lambda x, y, p: (x - y) / p if abs(x - y) < p else Fraction((x > y) - (x < y))),
    "huber": (huber, lambda x, y, p: max(-p, min(x - y, p))),
}


def _pair_loss(call: Call) -> Value:
    formula, slope = _LOSSES[call["loss"]]
    x, y = _pairs(call, "self", "target")
    parameter, kind = number(call["parameter"]), _reduction(call)
    if "grad_output" not in call.values:

        def each(i: int, bits: int) -> Interval:
            return point(formula(number(float(x[i])), number(float(y[i])), parameter), bits)

        return _added(each, x.size, Fraction(max(x.size, 1)), kind)
    g = call.array("grad_output").reshape(-1)
    over = x.size if kind == "mean" else 1

    def value(place: int, bits: int) -> Interval:
        made = slope(number(float(x[place])), number(float(y[place])), parameter)
        return point(made * number(float(g[place if g.size > 1 else 0])) / over, bits)

    return value


def _logits(call: Call) -> Value:
    """w ((1 - y) x + l (log(1 + e^-|x|) + max(-x, 0))), l = 1 + (p - 1) y, or the gradient by x: w g (1 - y - l/(1 + e^x))."""
    size = call["self"].numel()
    x, y, w, p = (
        np.broadcast_to(1.0 if call[n] is None else call.array(n), call["self"].shape).reshape(-1)
        for n in ("self", "target", "weight", "pos_weight")
    )
    g = call.array("grad_output").reshape(-1) if "grad_output" in call.values else None

    def each(i: int, bits: int) -> Interval:
        a, b, weight, positive = (number(float(v[i])) for v in (x, y, w, p))
        share, e = 1 + (positive - 1) * b, point(-abs(a), bits).exp()
        if g is None:
            return ((e + 1.0).log() + point(max(-a, Fraction(0)), bits)) * point(weight * share, bits) + point(
                weight * (1 - b) * a, bits
            )
        other = (e if a >= 0 else point(1, bits)) / (e + 1.0)  # 1/(1 + e^x)
        slope = weight * number(float(g[i if g.size > 1 else 0])) / (size if kind == "mean" else 1)
        return (point(1 - b, bits) - other * point(share, bits)) * point(slope, bits)

    kind = _reduction(call)
    return _added(each, size, Fraction(max(size, 1)), "none" if g is not None else kind)


# --- groups


def _folded(terms: list[Fraction], reduce: str, count: int) -> Fraction:
    if reduce in ("max", "amax", "min", "amin"):
        return max(terms) if reduce.endswith("max") else min(terms)
    if reduce == "prod":
        return math.prod(terms, start=Fraction(1))
    return sum(terms, _ZERO) / (count if reduce == "mean" else 1)


def _index_reduce(call: Call) -> Value:
    x, dim, index = call.array("self"), call["dim"], np.asarray(as_array(call["index"])).reshape(-1)
    rows = np.moveaxis(np.atleast_1d(x), dim, 0)
    rows = rows.reshape(rows.shape[0], -1)
    source = np.moveaxis(np.atleast_1d(call.array("source")), dim if x.ndim else 0, 0).reshape(index.size, -1)
    places = np.moveaxis(np.arange(x.size).reshape(np.atleast_1d(x).shape), dim, 0).reshape(rows.shape)
    where = {int(p): (i, k) for (i, k), p in np.ndenumerate(places)}

    def value(place: int, bits: int) -> Interval:
        i, k = where[place]
        terms = [number(float(v)) for v in source[index == i, k]]
        own = [number(float(rows[i, k]))] if call["include_self"] or not terms else []
        return point(_folded(own + terms, call["reduce"] if terms else "sum", len(own) + len(terms)), bits)

    return value


def _segments(call: Call) -> tuple[Any, Any, int, Any, list[Fraction]]:
    first, length = grouped._segments(call["data"], call["lengths"], call["offsets"], call["axis"])
    behind = math.prod(call["data"].shape[call["axis"] + 1 :])
    rows = call.array("data").reshape(-1, behind)
    start = [] if call["initial"] is None else [number(float(call["initial"]))]
    return first.tolist(), length.tolist(), behind, rows, start


def _segment_reduce(call: Call) -> Value:
    first, length, behind, rows, start = _segments(call)

    def value(place: int, bits: int) -> Interval:
        s, k = divmod(place, behind)
        terms = [number(float(v)) for v in rows[first[s] : first[s] + length[s], k]]
        if not terms:
            return point(_folded(start, "sum", 1) if start or call["reduce"] != "prod" else 1, bits)
        return point(_folded(start + terms, call["reduce"], length[s]), bits)

    return value


def _segment_reduce_backward(call: Call) -> Value:
    first, length, behind, rows, start = _segments(call)
    g, made = call.array("grad").reshape(-1, behind), call.array("output").reshape(-1, behind)
    segment = {i: s for s in range(len(first)) for i in range(first[s], first[s] + length[s])}

    def value(place: int, bits: int) -> Interval:
        i, k = divmod(place, behind)
        if i not in segment:
            return point(_ZERO, bits)
        s = segment[i]
        slope = number(float(g[s, k]))
        column = rows[first[s] : first[s] + length[s], k]
        if call["reduce"] == "mean":
            slope /= length[s]
        elif call["reduce"] == "prod":
            slope *= _folded(start + [number(float(v)) for j, v in enumerate(column, first[s]) if j != i], "prod", 1)
        elif call["reduce"] in ("max", "min"):
            chosen = column == made[s, k]
            slope = slope / int(chosen.sum()) if rows[i, k] == made[s, k] else _ZERO
        return point(slope, bits)

    return value


def _quantized(call: Call) -> Value:
    scale, zero = (
        np.asarray(as_array(v)) if isinstance(v, torch.Tensor) else np.asarray(v) for v in (call["scale"], call["zero_point"])
    )
    if "axis" in call.values:
        shape = [-1 if i == call["axis"] % len(call.shape) else 1 for i in range(len(call.shape))]
        scale, zero = scale.reshape(shape), zero.reshape(shape)
    columns = [np.broadcast_to(v, call.shape).reshape(-1) for v in (call.array("self"), scale.astype(np.float64), zero)]
    if "fake_quant_enabled" in call.values and not int(call["fake_quant_enabled"]):
        return element(call, "self", lambda x: x)

    def value(place: int, bits: int) -> Interval:
        x, size, z = number(float(columns[0][place])), number(float(columns[1][place])), int(columns[2][place])
        return point((max(call["quant_min"], min(round(x / size) + z, call["quant_max"])) - z) * size, bits)

    return value


# --- triangular systems


def _triangular(call: Call) -> Value:
    old = call.func.overloadpacket.__name__ == "triangular_solve"
    if old and call.number:
        return element(call, "A", lambda a: a)
    a, b = (call.array("A"), call.array("self")) if old else (call.array("self"), call.array("B"))
    upper, left = call["upper"], old or call["left"]
    if old and call["transpose"]:
        a, upper = np.swapaxes(a, -1, -2), not upper
    if not left:  # X A = B is the transpose of this system
        a, b, upper = np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2), not upper
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    n, columns = b.shape[-2:]
    a, b = (
        np.broadcast_to(a, (*batch, n, n)).reshape(-1, n, n),
        np.broadcast_to(b, (*batch, *b.shape[-2:])).reshape(-1, n, columns),
    )
    found: dict[tuple[int, int], list[Fraction]] = {}

    def solved(m: int, k: int) -> list[Fraction]:
        x = [_ZERO] * n
        for i in reversed(range(n)) if upper else range(n):
            others = range(i + 1, n) if upper else range(i)
            rest = number(float(b[m, i, k])) - sum((number(float(a[m, i, j])) * x[j] for j in others), _ZERO)
            x[i] = rest if call["unitriangular"] else rest / number(float(a[m, i, i]))
        return x

    def value(place: int, bits: int) -> Interval:
        rest, second = divmod(place, columns if left else n)
        m, first = divmod(rest, n if left else columns)
        i, k = (first, second) if left else (second, first)
        if (m, k) not in found:
            found[m, k] = solved(m, k)
        return point(found[m, k][i], bits)

    return value


def _inverse(call: Call) -> Value:
    """Of matrices, by elimination."""
    a = call.array("A")
    n = a.shape[-1]
    stack = a.reshape(-1, n, n)
    found: dict[int, list[list[Fraction]]] = {}

    def inverted(matrix: Any) -> list[list[Fraction]]:
        rows = [[number(float(v)) for v in row] + [Fraction(i == j) for j in range(n)] for i, row in enumerate(matrix)]
        for k in range(n):
            pivot = next(i for i in range(k, n) if rows[i][k])
            rows[k], rows[pivot] = rows[pivot], rows[k]
            rows[k] = [v / rows[k][k] for v in rows[k]]
            for i in range(n):
                if i != k and rows[i][k]:
                    rows[i] = [v - rows[i][k] * u for v, u in zip(rows[i], rows[k], strict=True)]
        return [row[n:] for row in rows]

    def value(place: int, bits: int) -> Interval:
        m, i, j = place // (n * n), place // n % n, place % n
        if m not in found:
            found[m] = inverted(stack[m])
        return point(found[m][i][j], bits)

    return value


def _drawn_gradient(call: Call, kind: Callable[[float], str], *names: str) -> Value:
    """Of gamma or beta numbers: shapes, numbers, and sums of shapes."""
    a, x, c = (np.broadcast_to(call.array(n), call.shape).reshape(-1) for n in names)

    def value(place: int, bits: int) -> Interval:
        number = float(x[place])
        if number == 0:
            return point(_ZERO, bits)
        by = Arithmetic(bits * 10 // 33 + 10)
        with decimal.localcontext(by.near):
            v = gradients._within(kind(number), float(a[place]), number, float(c[place]), by)
        return Interval(Fraction(v.low), Fraction(v.high), bits)

    return value


_MORE: dict[str, Callable[[Call], Value]] = {
    "_standard_gamma_grad": lambda call: _drawn_gradient(call, lambda x: "gamma", "self", "output", "self"),
    "_dirichlet_grad": lambda call: _drawn_gradient(call, lambda x: "low" if x <= 0.5 else "high", "alpha", "x", "total"),
    **dict.fromkeys(("nll_loss", "nll_loss_forward", "nll_loss2d_forward"), _chosen),
    **dict.fromkeys(("nll_loss_backward", "nll_loss2d_backward"), _chosen_backward),
    "kl_div": _kl,
    "kl_div_backward": _kl_backward,
    **dict.fromkeys(("pair_loss", "pair_loss_backward"), _pair_loss),
    "index_reduce": _index_reduce,
    "segment_reduce": _segment_reduce,
    "_segment_reduce_backward": _segment_reduce_backward,
    **dict.fromkeys(
        (
            "fake_quantize_per_tensor_affine_cachemask",
            "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
            "fake_quantize_per_channel_affine_cachemask",
        ),
        _quantized,
    ),
    **dict.fromkeys(("linalg_solve_triangular", "triangular_solve"), _triangular),
    "linalg_inv_ex": _inverse,
    **dict.fromkeys(("binary_cross_entropy_with_logits", "binary_cross_entropy_with_logits_backward"), _logits),
}


def enclose(call: Call, places: list[int]) -> Callable[[list[int], int], list[Interval]]:
    """Intervals of the values at some of these places, to so many bits.

    Raises
    ------
    Unknown
        An operator or arguments that are not here; while intervals are asked for, too.
    """
    name = call.func.overloadpacket.__name__
    name = name.removesuffix("_") if not any(name in there for there in (ELEMENTS, MADE, _MORE)) else name
    if name in MADE or name in _MORE:
        value = (MADE | _MORE)[name](call)
    elif name in ELEMENTS:
        value = element(call, *ELEMENTS[name])
    else:
        found = sums(call, name, places)

        def value(place: int, bits: int) -> Interval:
            return point(found[place], bits)

    return lambda some, bits: [value(place, bits) for place in some]
