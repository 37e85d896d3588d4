"""Losses of classes, logits and logarithms, their gradients, statistics of some elements and numbers of 8 bits, of NumPy arrays under the modes "stochastic" and "random".

Each is rounded from its result in binary64, with the half of a last place that this is off; what that leaves open, and every element of float64, is enclosed from its definition over rational
numbers and intervals. An infinite logit counts as the limit, as in the definitions; a value that is infinite or NaN is that of rounding to nearest."""

import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from . import _float8, _random_modes, _scatter, _scope, nn
from ._accumulator import Accumulator
from ._clipping import clip_grad_norm
from ._dtypes import F64
from ._random_balls import Interval
from ._random_functions import At, _rows, _wide, point
from ._scope import DIRECTED_MODES

_Array = np.ndarray[Any, Any]
_Value = Callable[[int, int], Interval]  # of a place in C order, to so many bits


def _sum(terms: Iterable[Interval], bits: int) -> Interval:
    total = point(0, bits)
    for term in terms:
        total = total + term
    return total


def _exactly(v: Any) -> Fraction:
    """OverflowError or ValueError of what is not finite."""
    return Fraction(float(v))


def _again(call: dict[str, Any], *names: str) -> Any:
    """The result of the call in binary64."""
    options = {k: v for k, v in call.items() if k not in ("function", "old")}
    for name in names:
        if options.get(name) is not None:
            options[name] = _wide(options[name])
    return np.asarray(call["function"](**options))


# --- cross entropy and nll


class _Classes:
    """Rows of logits, with the weights q of their logarithms."""

    def __init__(self, call: dict[str, Any], logarithms: bool) -> None:
        """logarithms: the input has them; else they are made of it."""
        x, target = _wide(call["input"]), np.asarray(call["target"])
        self.logarithms, self.reduction = logarithms, call["reduction"]
        self.axis = 0 if x.ndim == 1 else 1
        self.moved = np.moveaxis(x, self.axis, -1).shape
        self.x = np.moveaxis(x, self.axis, -1).reshape(-1, x.shape[self.axis])
        rows, self.n = self.x.shape
        self.w = np.ones(self.n) if call["weight"] is None else _wide(call["weight"])
        self.p: Any = None
        self.t: Any = None
        self.smoothing = Fraction(float(call.get("label_smoothing", 0.0)))
        if target.dtype.kind in "iu":
            classes = target.reshape(-1).astype(np.int64)
            self.used = classes != call["ignore_index"]
            self.t = np.where(self.used, classes, 0)
            parts = [_exactly(self.w[c]) for c in self.t[self.used]] if self.reduction == "mean" else []
            self.divisor = sum(parts, Fraction(0)) if self.reduction == "mean" else Fraction(1)
        else:
            self.used = np.ones(rows, bool)
            self.p = np.moveaxis(_wide(target), self.axis, -1).reshape(-1, self.n)
            self.divisor = Fraction(rows if self.reduction == "mean" else 1)

    def shares(self, row: int) -> list[Fraction]:
        """q of a row."""
        s = self.smoothing
        if self.p is None:
            p = [Fraction(int(c == self.t[row])) for c in range(self.n)]
        else:
            p = [_exactly(v) for v in self.p[row]]
        made = [(1 - s) * v + s / self.n for v in p]
        return [q * _exactly(w) if q or not math.isfinite(w) else Fraction(0) for q, w in zip(made, self.w, strict=True)]

    def exponentials(self, row: int, bits: int) -> tuple[Fraction, list[Interval]]:
        """The largest of a row, and what the others are to it; minus infinity has 0."""
        line = self.x[row].tolist()
        top = _exactly(max(line))
        return top, [point(0, bits) if v == -math.inf else point(_exactly(v) - top, bits).exp() for v in line]

    def loss(self, row: int, bits: int) -> Interval:
        if not self.used[row]:
            return point(0, bits)
        q = self.shares(row)
        line = [_exactly(v) if share else Fraction(0) for v, share in zip(self.x[row].tolist(), q, strict=True)]
        chosen = sum((a * b for a, b in zip(q, line, strict=True)), Fraction(0))
        if self.logarithms:
            return point(-chosen, bits)
        top, parts = self.exponentials(row, bits)
        every = sum(q, Fraction(0))
        return point(every * top - chosen, bits) + _sum(parts, bits).log() * point(every, bits)

    def losses(self, place: int, bits: int) -> Interval:
        if self.reduction == "none":
            return self.loss(place, bits)
        if not self.divisor:
            raise ValueError
        return _sum((self.loss(i, bits) for i in range(len(self.x))), bits) / point(self.divisor, bits)

    def gradient(self, g: _Array, place: int, bits: int) -> Interval:
        """By the input, at a place of (rows, classes)."""
        row, c = divmod(place, self.n)
        if not self.used[row]:
            return point(0, bits)
        if not self.divisor:
            raise ValueError
        q = self.shares(row)
        factor = point(_exactly(g[row]) / self.divisor, bits)
        if self.logarithms:
            return factor * point(-q[c], bits)
        _, parts = self.exponentials(row, bits)
        return factor * (parts[c] / _sum(parts, bits) * point(sum(q, Fraction(0)), bits) - point(q[c], bits))


def _by_classes(logarithms: bool) -> Callable[..., _Array]:
    def made(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
        rows = _Classes(call, logarithms)
        return at.enclosed(nearest, rows.losses, _again(call, *_wides(call)))

    return made


def _wides(call: dict[str, Any]) -> tuple[str, ...]:
    shares = () if np.asarray(call["target"]).dtype.kind in "iu" else ("target",)
    return ("grad_output", "input", "weight", *shares)


def _by_classes_backward(logarithms: bool) -> Callable[..., _Array]:
    def made(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
        rows = _Classes(call, logarithms)
        g = np.broadcast_to(_wide(call["grad_output"]).reshape(-1), (len(rows.x),))
        order = np.moveaxis(np.arange(nearest.size).reshape(rows.moved), -1, rows.axis).reshape(-1)
        return at.enclosed(nearest, lambda i, bits: rows.gradient(g, int(order[i]), bits), _again(call, *_wides(call)))

    return made


# --- losses of logits and of logarithms


def _reduced(call: dict[str, Any], size: int, each: _Value) -> _Value:
    kind = call["reduction"]
    if kind == "none":
        return each
    first = int(np.shape(call["input"])[0]) if kind == "batchmean" else size
    n = 1 if kind == "sum" else first

    def whole(_: int, bits: int) -> Interval:
        if not n:
            raise ValueError
        return _sum((each(i, bits) for i in range(size)), bits) / point(n, bits)

    return whole


def _scaled(call: dict[str, Any], size: int, slope: _Value) -> _Value:
    """g times a slope, over the number that the loss divides by."""
    g = np.broadcast_to(_wide(call["grad_output"]).reshape(-1), (size,))
    kind = call["reduction"]
    n = int(np.shape(call["input"])[0]) if kind == "batchmean" else size if kind == "mean" else 1
    return lambda i, bits: point(_exactly(g[i]) / n, bits) * slope(i, bits)


def _logits(call: dict[str, Any]) -> tuple[int, _Value, _Value]:
    """The size, w ((1 - y) x + l log(1 + e^-x)) with l = 1 + (p - 1) y, and its slope w (1 - y - l/(1 + e^x))."""
    x = _wide(call["input"])
    flat, y = x.reshape(-1), _wide(call["target"]).reshape(-1)
    w, p = (np.ones(x.shape) if call[n] is None else _wide(call[n]) for n in ("weight", "pos_weight"))
    w, p = (np.broadcast_to(v, x.shape).reshape(-1) for v in (w, p))

    def numbers(i: int) -> tuple[Fraction, Fraction, Fraction]:
        target = _exactly(y[i])
        return _exactly(w[i]), 1 - target, 1 + (_exactly(p[i]) - 1) * target

    def loss(i: int, bits: int) -> Interval:
        factor, rest, share = numbers(i)
        if not factor:
            return point(0, bits)
        v = float(flat[i])
        if math.isinf(v):
            if rest if v > 0 else share - rest:
                raise OverflowError
            return point(0, bits)
        a = _exactly(v)
        small = (point(-abs(a), bits).exp() + 1.0).log() * point(share, bits)
        return point(factor, bits) * (point(a * rest if a > 0 else a * (rest - share), bits) + small)

    def slope(i: int, bits: int) -> Interval:
        factor, rest, share = numbers(i)
        v = float(flat[i])
        if math.isinf(v):
            return point(factor * (rest if v > 0 else rest - share), bits)
        a = _exactly(v)
        e = point(-abs(a), bits).exp()
        lost = (e if a > 0 else point(1, bits)) / (e + 1.0)
        return point(factor, bits) * (point(rest, bits) - lost * point(share, bits))

    return x.size, loss, slope


def _divergence(call: dict[str, Any]) -> tuple[int, _Value, _Value]:
    """The size, t (log t - x) and its slope."""
    x, t = (_wide(call[n]).reshape(-1) for n in ("input", "target"))
    logarithms = bool(call["log_target"])

    def loss(i: int, bits: int) -> Interval:
        v = float(t[i])
        if v == (-math.inf if logarithms else 0):
            return point(0, bits)
        a, b = _exactly(x[i]), _exactly(v)
        if logarithms:
            return point(b - a, bits) * point(b, bits).exp() if b != a else point(0, bits)
        if b < 0:
            raise ValueError
        return point(b, bits) * (point(b, bits).log() - point(a, bits))

    def slope(i: int, bits: int) -> Interval:
        v = float(t[i])
        if v == -math.inf and logarithms:
            return point(0, bits)
        b = _exactly(v)
        if b < 0 and not logarithms:
            raise ValueError
        return -point(b, bits).exp() if logarithms else point(-b, bits)

    return x.size, loss, slope


def _of_elements(
    parts: Callable[[dict[str, Any]], tuple[int, _Value, _Value]], gradient: bool, *wides: str
) -> Callable[..., _Array]:
    def made(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
        size, loss, slope = parts(call)
        value = _scaled(call, size, slope) if gradient else _reduced(call, size, loss)
        return at.enclosed(nearest, value, _again(call, "grad_output", "input", "target", *wides))

    return made


# --- statistics of some elements


def _of_some(what: str) -> Callable[..., _Array]:
    """mean, var, std of the elements where `where` is true, and of integers beyond 2^53."""

    def made(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
        a = np.asarray(call["a"])
        rows = _rows(a, call["axis"])
        chosen = np.ones(rows.shape, bool)
        if call["where"] is not True:
            chosen = _rows(np.broadcast_to(np.asarray(call["where"], bool), a.shape), call["axis"])
        less = Fraction(0)
        if what != "mean":
            less = Fraction(float(call["ddof"] if call["correction"] is None else call["correction"]))

        def value(i: int, bits: int) -> Interval:
            kept = rows[i][chosen[i]]
            row = [Fraction(int(v)) for v in kept.tolist()] if kept.dtype.kind in "iub" else [_exactly(v) for v in kept]
            if not row:
                raise ValueError
            mean = sum(row, Fraction(0)) / len(row)
            if what == "mean":
                return point(mean, bits)
            n = len(row) - less
            if n <= 0:
                raise ValueError
            variance = point(sum(((v - mean) ** 2 for v in row), Fraction(0)) / n, bits)
            return variance.sqrt() if what == "std" else variance

        options = {k: v for k, v in call.items() if k not in ("function", "old", "out")} | {"dtype": F64}
        return at.enclosed(nearest, value, np.asarray(call["function"](**options)))

    return made


def _bincount(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
    where, terms = np.asarray(call["x"]), np.asarray(call["weights"])
    order = np.argsort(where, kind="stable")
    ends = np.searchsorted(where[order], np.arange(nearest.size + 1))
    whole = terms.dtype.kind in "iub"

    def value(i: int) -> Fraction:
        chosen = terms[order[ends[i] : ends[i + 1]]]
        return sum((Fraction(int(v)) for v in chosen) if whole else map(_exactly, chosen), Fraction(0))

    wide = call["function"](where, terms if whole else _wide(terms), call["minlength"])
    return at.rational(nearest, value, np.asarray(wide))


# --- numbers of an 8-bit format

_EIGHT = {"float8_e4m3fn": (4, -9, Fraction(448), True), "float8_e5m2": (3, -16, Fraction(57344), False)}


def _to_float8(at: At, nearest: Any, call: dict[str, Any]) -> Any:
    """k q or (k + 1) q with the quantum q of the format; beyond the largest number as to nearest."""
    x = np.ascontiguousarray(call["x"], np.float64)
    bits, least, most, single = _EIGHT[nearest.dtype.name]
    flat = x.reshape(-1)
    size = np.abs(np.where(np.isfinite(flat), flat, 0.0))
    quantum = np.ldexp(1.0, np.maximum(np.frexp(size)[1] - bits, least))
    k = np.floor(size / quantum)  # by a power of two
    f = size / quantum - k
    words = _random_modes.words(flat.size, at.seed, at.stream)
    if at.mode == "stochastic":
        # f - T, both of at most 53 bits, has the sign of the exact difference.
        away = f > (words + 0.5) * 2.0**-32
    elif at.mode in DIRECTED_MODES:
        outwards = (at.mode != "toward_zero") & (np.signbit(flat) == (at.mode == "down"))
        away = (f != 0) & outwards
    else:
        away = (f != 0) & (words >= 2**31)
    made = (k + away) * quantum
    if at.mode in DIRECTED_MODES:
        made = np.where(outwards, made, np.minimum(made, float(most)))
    beyond = made > float(most)
    made = np.where(beyond, np.nan if single else np.inf, made)
    result = np.copysign(made, flat).astype(nearest.dtype)
    codes = np.where(
        np.isfinite(flat) & ~(beyond & single), result.view(np.uint8), np.asarray(nearest).reshape(-1).view(np.uint8)
    )
    if single:
        codes = np.where(beyond & np.isfinite(flat), np.uint8(0x7F), codes)
    return codes.astype(np.uint8).view(nearest.dtype).reshape(x.shape)


def step8(array: Any, seed: int, stream: int) -> Any:
    """The last step of the mode up_down."""
    codes = np.ascontiguousarray(array).view(np.uint8)
    size, largest = (codes & 0x7F).astype(np.int16), 0x7E if array.dtype.name == "float8_e4m3fn" else 0x7B
    up = _random_modes.words(codes.size, seed, stream).reshape(codes.shape) >= 2**31
    moved = np.minimum(size + np.where(up, 1, -1), largest)
    made = np.where((size == 0) | (size > largest), size, moved).astype(np.uint8)
    return (made | codes & 0x80).view(array.dtype)


_scope._GIVEN["up_down of 8 bits"] = step8

# --- gradients that are scaled to a norm


@_scope.handler("clip_grad_norm")
def _clip(mode: str, grads: Any, max_norm: Any, *, seed: int, stream: int) -> Any:
    """The gradients are the arrays of the call, in order, the norm is the last one."""
    if not isinstance(grads, (np.ndarray, Mapping, type(None))) and isinstance(grads, Iterable):
        grads = list(grads)
    given = [grads] if isinstance(grads, np.ndarray) else grads.values() if isinstance(grads, Mapping) else grads
    arrays = [g for g in given or () if isinstance(g, np.ndarray)]
    old = [np.array(g) for g in arrays]
    norm = np.array(clip_grad_norm(grads, max_norm))

    def at(r: int) -> At:
        return At(mode, seed, _random_modes.part(stream, r * _random_modes.APART))

    if mode == "up_down":
        for r, g in enumerate([*arrays, norm]):
            g[...] = _random_modes.up_down(g, seed, at(r).stream)
        return float(norm)
    squares = Accumulator()
    for g in old:
        squares.add_products(g.reshape(-1), g.reshape(-1))
    if not np.isfinite(norm) and not all(np.isfinite(g).all() for g in old):
        return float(norm)
    total, most = squares._exact(), _exactly(max_norm)
    if most**2 < total:
        wide = [g.astype(F64) for g in old]
        clip_grad_norm(wide, max_norm)
        for r, (g, was, near) in enumerate(zip(arrays, old, wide, strict=True)):
            flat = was.reshape(-1)

            def value(i: int, bits: int, flat: _Array = flat) -> Interval:
                return point(_exactly(flat[i]) * most, bits) / point(total, bits).sqrt()

            g[...] = at(r).enclosed(np.array(g), value, near)
    return float(at(len(arrays)).enclosed(norm, lambda i, bits: point(total, bits).sqrt(), norm))


_TWO = ("weight", "pos_weight")
FUNCTIONS: dict[str, tuple[Any, Callable[[At, Any, dict[str, Any]], Any]]] = {
    "cross_entropy": (nn.cross_entropy, _by_classes(False)),
    "cross_entropy_backward": (nn.cross_entropy_backward, _by_classes_backward(False)),
    "nll_loss": (nn.nll_loss, _by_classes(True)),
    "nll_loss_backward": (nn.nll_loss_backward, _by_classes_backward(True)),
    "binary_cross_entropy_with_logits": (nn.binary_cross_entropy_with_logits, _of_elements(_logits, False, *_TWO)),
    "binary_cross_entropy_with_logits_backward": (
        nn.binary_cross_entropy_with_logits_backward,
        _of_elements(_logits, True, *_TWO),
    ),
    "kl_div": (nn.kl_div, _of_elements(_divergence, False)),
    "kl_div_backward": (nn.kl_div_backward, _of_elements(_divergence, True)),
    "bincount": (_scatter.bincount, _bincount),
    "to_float8": (_float8.to_float8, _to_float8),
}
# Calls that the formulas of other modules leave to these.
OTHERS: dict[str, Callable[[At, Any, dict[str, Any]], Any]] = {name: _of_some(name) for name in ("mean", "var", "std")}
