"""Functions of NumPy arrays under the modes "stochastic" and "random", in scopes of `repmath.rounding`: their exact value, rounded once by the word of the element.

Means, norms, softmax and losses are formulas of rows over the arithmetics of `_random_balls`: binary64 with a radius, double-double, rational numbers. Products and sums are those of
`_random_modes`. Values that are rational numbers of few terms, such as prefix sums, are rounded from binary64, with the half of a last place that it is off, and by rational numbers
where that leaves the rounding open. What is infinite or NaN, or an exact zero, is as it is to nearest.

Each is given the call's arguments by name, and the result to nearest, which has shape, format and all errors of the function."""

import contextlib
import itertools
import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from . import _contractions, _prod, _random_modes, _reductions, _scatter, _statistics, array_api, nn
from ._dtypes import NAMES
from ._random_balls import Interval, Last

_Array = np.ndarray[Any, Any]


class Lacks(Exception):
    """A call without these modes; the text says which argument."""


class At:
    """Mode, seed and stream of a call."""

    def __init__(self, mode: str, seed: int, stream: int) -> None:
        self.mode, self.seed, self.stream = mode, seed, stream
        self.place = _random_modes.place(mode, seed, stream)

    def last(self, nearest: _Array, skip: Any = False) -> Last:
        return Last(nearest.dtype, self.place, skip)

    def formula(
        self, nearest: _Array, skip: _Array, formula: Callable[..., Any], *values: Any, place: Callable[[Any], Any]
    ) -> _Array:
        """A formula of rows; where `skip` is true its value is known, or there is none."""
        if not nearest.size or skip.all():
            return nearest
        made = self.last(nearest, skip).formula(formula, *values, place=place)
        return np.where(skip | ((made == 0) & (nearest == 0)), nearest, made)

    def rational(self, nearest: _Array, value: Callable[[int], Fraction], wide: _Array) -> _Array:
        """As `enclosed`, of rational values."""
        return self.enclosed(nearest, lambda place, bits: point(value(place), bits), wide)

    def enclosed(self, nearest: _Array, value: Callable[[int, int], Interval], wide: _Array) -> _Array:
        """Values by their place in C order, to so many bits; `wide` has them rounded to binary64."""
        made = np.array(nearest, order="C")
        flat, c = made.reshape(-1), np.asarray(wide, np.float64).reshape(-1)
        left = np.arange(made.size)
        if nearest.dtype != np.float64:
            plain = np.isfinite(c) & (c != 0)
            radius = np.where(plain, np.abs(c) * (2.0**-53 * (1 + 2.0**-50)) + 2.0**-1074, 0.0)
            found, open_ = _random_modes.balls(np.where(plain, c, 0.0), radius, nearest.dtype, self.place)
            flat[plain & ~open_] = found[plain & ~open_]
            # A value that binary64 has as 0 is too small to move by a threshold, but other modes move it; beyond binary64 only
            # those of one direction give anything but infinities.
            left = np.flatnonzero((plain & open_) | (~plain & ~np.isnan(c) & (self.mode != "stochastic")))
        values: dict[int, Interval] = {}
        for i in left.tolist():
            with contextlib.suppress(OverflowError, ValueError):  # of infinities and NaN: the result to nearest is theirs
                exact = value(i, 128)
                if exact.low or exact.high:
                    values[i] = exact

        def enclose(places: list[int], bits: int) -> list[Interval]:
            return [values[i] if bits <= 128 or values[i].low == values[i].high else value(i, bits) for i in places]

        self.last(made).enclosed(flat, list(values), enclose)
        return made

    def matmul(self, a: _Array, b: _Array, dtype: Any) -> _Array:
        return np.asarray(_random_modes.matmul(a, b, self.mode, dtype=dtype, seed=self.seed, stream=self.stream))


def _wide(x: Any) -> _Array:
    """In binary64, which has to hold it."""
    a = np.asarray(x)
    if a.dtype.kind in "iu" and a.size and (int(a.max()) > 2**53 or int(a.min()) < -(2**53)):
        raise Lacks("integers beyond 2**53")
    if a.dtype not in NAMES and a.dtype.kind not in "iub":
        raise Lacks(f"{a.dtype}")
    return a.astype(np.float64)


def point(value: Fraction | int, bits: int) -> Interval:
    exact = Fraction(value)
    return Interval(exact, exact, bits)


def _number(v: float, axes: int = 2) -> _Array:
    return np.full((1,) * axes, v)


def _axes(a: _Array, axis: Any) -> tuple[int, ...]:
    return tuple(range(a.ndim)) if axis is None else tuple(np.lib.array_utils.normalize_axis_tuple(axis, a.ndim))


def _rows(a: _Array, axis: Any) -> _Array:
    """What the axes have, a row for each element of the result."""
    axes = _axes(a, axis)
    kept = [d for d in range(a.ndim) if d not in axes]
    return a.transpose(*kept, *axes).reshape(math.prod(a.shape[d] for d in kept), -1)


def _reduction(formula: Callable[..., Any], name: str = "a") -> Callable[..., _Array]:
    """A formula of rows and their length."""

    def made(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
        if call.get("where", True) is not True:
            raise Lacks("where")
        rows = _rows(_wide(call[name]), call["axis"])
        less = 0.0
        if "ddof" in call:
            less = float(call["ddof"] if call["correction"] is None else call["correction"])
        bad = ~np.isfinite(rows).all(-1) | (rows.shape[1] - less <= 0)
        skip = bad.reshape(nearest.shape)
        values = np.where(bad[:, None], 0.0, rows), _number(float(rows.shape[1])), _number(rows.shape[1] - less)
        return at.formula(nearest, skip, formula, *values, place=lambda r: r.reshape(nearest.shape))

    return made


def _variance(x: Any, n: Any, less: Any) -> Any:
    d = x - x.total() / n
    return d.dot(d) / less


# --- prefixes and products


def _lines(a: _Array, axis: Any) -> tuple[_Array, Callable[[int, tuple[int, ...]], tuple[int, int]]]:
    """Lines along an axis, and which line and element is a place of the result."""
    if axis is None:
        return a.reshape(1, -1), lambda place, shape: (0, place)
    moved = np.moveaxis(a, axis, -1)

    def where(place: int, shape: tuple[int, ...]) -> tuple[int, int]:
        at = list(np.unravel_index(place, shape))
        k = at.pop(axis)
        return (int(np.ravel_multi_index(at, moved.shape[:-1])) if at else 0), int(k)

    return moved.reshape(-1, moved.shape[-1]), where


def _cumsum(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
    a = _wide(call["a"])
    lines, where = _lines(a, call["axis"])
    known: dict[int, list[Fraction]] = {}

    def value(place: int) -> Fraction:
        row, k = where(place, nearest.shape)
        sums = known.setdefault(row, [])
        while len(sums) <= k:
            sums.append((sums[-1] if sums else Fraction(0)) + Fraction(float(lines[row, len(sums)])))
        return sums[k]

    return at.rational(nearest, value, np.asarray(_statistics.cumsum(a, axis=call["axis"])))


def _product(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
    rows = _rows(_wide(call["x"]), call["axis"])
    wide = _prod.product(rows, np.dtype(np.float64), False)

    def value(i: int) -> Fraction:
        return math.prod(map(Fraction, rows[i].tolist()), start=Fraction(1))

    return at.rational(nearest, value, wide)


def _prefix_product(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
    a, more = _wide(call["x"]), bool(call["include_initial"])
    axis = call["axis"] if call["axis"] is not None else 0
    lines, where = _lines(a, axis)

    def value(place: int) -> Fraction:
        row, k = where(place, nearest.shape)
        return math.prod(map(Fraction, lines[row, : k + 1 - more].tolist()), start=Fraction(1))

    return at.rational(nearest, value, np.asarray(array_api.cumulative_prod(a, axis=axis, include_initial=more)))


# --- sums of products of two arrays


def _contracted(at: At, shape: Any, x: _Array, y: _Array, dtype: Any) -> _Array:
    """The products of two arrays, whose last axes are added; the others are those of the result, and broadcast."""
    left, right = (np.broadcast_to(v, (*shape, v.shape[-1])).reshape(-1, v.shape[-1]) for v in (x, y))
    return at.matmul(left[:, None], right[..., None], dtype).reshape(shape)


def _checked(*arrays: Any) -> list[_Array]:
    made = [np.asarray(v) for v in arrays]
    return [a if a.dtype in NAMES else _wide(a) for a in made]


def _vecdot(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
    x, y = (np.moveaxis(v, call["axis"], -1) for v in _checked(call["x1"], call["x2"]))
    return _contracted(at, nearest.shape, x, y, nearest.dtype)


def _vdot(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
    x, y = _checked(call["a"], call["b"])
    return _contracted(at, nearest.shape, x.reshape(-1), y.reshape(-1), nearest.dtype)


def _matvec(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
    x, y = _checked(call["x1"], call["x2"])
    return _contracted(at, nearest.shape, x, y[..., None, :], nearest.dtype)


def _vecmat(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
    x, y = _checked(call["x1"], call["x2"])
    return _contracted(at, nearest.shape, x[..., None, :], y.swapaxes(-1, -2), nearest.dtype)


def _tensordot(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
    x, y = _checked(call["a"], call["b"])
    axes = call["axes"]
    if hasattr(axes, "__index__"):
        n = int(axes)
        first, second = list(range(x.ndim - n, x.ndim)), list(range(n))
    else:
        first, second = ([int(v)] if hasattr(v, "__index__") else [int(i) for i in v] for v in axes)
    first, second = [d % x.ndim for d in first], [d % y.ndim for d in second]
    kept = [d for d in range(x.ndim) if d not in first], [d for d in range(y.ndim) if d not in second]
    k = math.prod(x.shape[d] for d in first)
    left = (
        x.transpose(*kept[0], *first).reshape(-1, k) if k else np.zeros((math.prod(x.shape[d] for d in kept[0]), 0), x.dtype)
    )
    right = (
        y.transpose(*second, *kept[1]).reshape(k, -1) if k else np.zeros((0, math.prod(y.shape[d] for d in kept[1])), y.dtype)
    )
    return at.matmul(left, right, nearest.dtype).reshape(nearest.shape)


def _dot(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
    x, y = _checked(call["a"], call["b"])
    if not x.ndim or not y.ndim:
        return at.matmul(x.reshape(-1, 1), y.reshape(1, -1), nearest.dtype).reshape(nearest.shape)
    return _tensordot(at, nearest, {"a": x, "b": y, "axes": ([-1], [-2 if y.ndim > 1 else 0])})


def _einsum(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
    """Contractions of more than two operands are arrays of the call, in their order."""
    subscripts, operands = call["subscripts"], call["operands"]
    if not isinstance(subscripts, str):
        subscripts, operands = _contractions._from_lists([subscripts, *operands])
    arrays = _checked(*operands)
    labels, out = _contractions._parse(subscripts, arrays)
    if len(arrays) == 1:
        arrays.append(np.ones((), arrays[0].dtype))
        labels = [*labels, []]
    path = _contractions._path(call["optimize"], labels, out, [a.shape for a in arrays])
    count = itertools.count()

    def contract(x: _Array, lx: Any, y: _Array, ly: Any, kept: Any) -> _Array:
        own = At(at.mode, at.seed, _random_modes.part(at.stream, next(count) * _random_modes.APART))
        return _contraction(own, [(x, lx), (y, ly)], kept, nearest.dtype)

    return _contractions._in_steps(arrays, labels, out, path, contract)[0]


def _contraction(at: At, operands: Any, out: Any, dtype: Any) -> _Array:
    parts = [_contractions._distinct(a, names) for a, names in operands]
    sizes: dict[Any, int] = {}
    for a, names in parts:
        for name, n in zip(names, a.shape, strict=True):
            sizes[name] = max(n, sizes.get(name, 1)) if n and sizes.get(name, 1) else 0
    order = [*out, *(name for name in sizes if name not in out)]
    shape = tuple(sizes[name] for name in out)
    laid = []
    for a, names in parts:
        a = np.asarray(a).transpose([names.index(name) for name in order if name in names])
        a = a.reshape([n for name, n in _spread(order, names, a.shape)])
        laid.append(np.broadcast_to(a, [sizes[name] for name in order]).reshape(*shape, -1))
    return _contracted(at, shape, laid[0], laid[1], dtype)


def _spread(order: Iterable[Any], names: Any, shape: Any) -> Iterable[tuple[Any, int]]:
    """The lengths of an array's axes among all labels, 1 where it has none."""
    lengths = iter(shape)
    return [(name, next(lengths) if name in names else 1) for name in order]


# --- rows of nn


def _along(a: _Array, dim: int) -> tuple[_Array, Callable[[Any], _Array]]:
    """Rows along an axis, and what brings rows back."""
    if a.ndim == 0:
        return a.reshape(1, 1), lambda r: np.ascontiguousarray(r).reshape(())
    moved = np.moveaxis(a, dim, -1)
    return moved.reshape(-1, moved.shape[-1]), lambda r: np.ascontiguousarray(np.moveaxis(r.reshape(moved.shape), -1, dim))


def _finite(a: _Array) -> _Array:
    return np.where(np.isfinite(a), a, 0.0)


def _largest(rows: _Array) -> tuple[_Array, _Array, _Array, _Array]:
    """Rows without what is not finite, their maxima, 1 for what counts and 0 for -infinity, and which rows have a value."""
    finite = np.isfinite(rows)
    good = (finite | (rows == -np.inf)).all(-1, keepdims=True) & finite.any(-1, keepdims=True)
    m = np.where(good, np.where(finite, rows, -np.inf).max(-1, keepdims=True, initial=-np.inf), 0.0)
    use = (finite & good) | ~good
    return np.where(finite & good, rows, m), m, use.astype(np.float64), good


def _shares(x: Any, m: Any, w: Any) -> Any:
    e = (x - m).exp() * w
    return e / e.total()


def _logs(x: Any, m: Any, w: Any) -> Any:
    return (x - m) - ((x - m).exp() * w).total().log()


def _softmax(logarithm: bool) -> Callable[..., _Array]:
    def made(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
        rows, back = _along(_wide(call["input"]), call["dim"])
        x, m, w, good = _largest(rows)
        skip = back(np.broadcast_to(~good, rows.shape) | (~np.isfinite(rows) if logarithm else False))
        return at.formula(nearest, skip, _logs if logarithm else _shares, x, m, w, place=back)

    return made


def _log_sum(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
    rows = _rows(_wide(call["input"]), call["dim"])
    x, m, w, good = _largest(rows)
    skip = ~good.reshape(nearest.shape)
    return at.formula(
        nearest,
        skip,
        lambda x, m, w: ((x - m).exp() * w).total().log() + m,
        x,
        m,
        w,
        place=lambda r: r.reshape(nearest.shape),
    )


def _softmax_backward(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
    (g, back), (y, _) = (_along(_wide(call[n]), call["dim"]) for n in ("grad_output", "output"))
    skip = back(np.broadcast_to(~(np.isfinite(g) & np.isfinite(y)).all(-1, keepdims=True), g.shape))
    return at.formula(nearest, skip, lambda g, y: y * (g - (g * y).total()), _finite(g), _finite(y), place=back)


def _log_softmax_backward(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
    (g, back), (y, _) = (_along(_wide(call[n]), call["dim"]) for n in ("grad_output", "output"))
    none = y == -np.inf  # exp(y) = 0
    skip = back(np.broadcast_to(~np.isfinite(g).all(-1, keepdims=True) | ~(np.isfinite(y) | none), g.shape))
    values = _finite(g), _finite(y), (~none).astype(np.float64)
    return at.formula(nearest, skip, lambda g, y, w: g - y.exp() * w * g.total(), *values, place=back)


def _normalised(x: Any, w: Any, b: Any, eps: Any, n: Any) -> Any:
    d = x - x.total() / n
    return d * w / (d.dot(d) / n + eps).sqrt() + b


def _by_squares(x: Any, w: Any, b: Any, eps: Any, n: Any) -> Any:
    return x * w / ((x * x).total() / n + eps).sqrt() + b


def _norm(
    at: At, nearest: _Array, rows: _Array, w: _Array, b: _Array, eps: float, back: Callable[[Any], Any], squares: bool
) -> _Array:
    """Rows with factors and terms of their elements, or one of each row."""
    bad = ~np.isfinite(rows).all(-1, keepdims=True)
    # Where the variance and eps are not above 0 the results are NaN.
    skip = back(bad | ~np.isfinite(np.broadcast_to(w + b, rows.shape))) | np.isnan(nearest)
    values = np.where(bad, 0.0, rows), _finite(w), _finite(b), _number(eps), _number(float(rows.shape[1]))
    return at.formula(nearest, skip, _by_squares if squares else _normalised, *values, place=back)


def _weight(call: dict[str, Any], name: str, shape: Any) -> _Array:
    given = call.get(name)
    return np.full(shape, float(name == "weight")) if given is None else _wide(given).reshape(shape)


def parts(at: At, nearest: Any, *functions: Callable[[At, _Array], _Array]) -> Any:
    """The results that there are, each with words of its own."""
    found: list[Any] = []
    count = 0
    for near, function in zip(nearest, functions, strict=False):
        if near is None:
            found.append(None)
            continue
        own = At(at.mode, at.seed, _random_modes.part(at.stream, count * _random_modes.APART))
        found.append(function(own, near))
        count += 1
    return tuple(found)


def with_statistics(
    at: At, nearest: Any, rows: _Array, w: _Array, b: _Array, eps: float, back: Callable[[Any], Any], squares: bool
) -> Any:
    """As `_norm`, and the statistics if `nearest` has them."""
    if not isinstance(nearest, tuple):
        return _norm(at, nearest, rows, w, b, eps, back, squares)
    good = np.isfinite(rows).all(-1, keepdims=True)
    finite = np.where(good, rows, 0.0)
    values = finite, _number(eps), _number(float(rows.shape[1]))

    def statistic(formula: Callable[..., Any]) -> Callable[[At, _Array], _Array]:
        def made(at: At, near: _Array) -> _Array:
            skip = np.isnan(near) | ~good.reshape(near.shape)
            return at.formula(near, skip, formula, *values, place=lambda r: r.reshape(near.shape))

        return made

    def inverse(x: Any, eps: Any, n: Any) -> Any:
        d = x if squares else x - x.total() / n
        return 1.0 / (d.dot(d) / n + eps).sqrt()

    means = [] if squares else [statistic(lambda x, eps, n: x.total() / n)]
    return parts(at, nearest, lambda at, near: _norm(at, near, rows, w, b, eps, back, squares), *means, statistic(inverse))


def _layer_norm(squares: bool) -> Callable[..., _Array]:
    def made(at: At, nearest: Any, call: dict[str, Any]) -> Any:
        shape = call["normalized_shape"]
        size = math.prod(shape) if isinstance(shape, (tuple, list)) else int(shape)
        rows = _wide(call["input"]).reshape(-1, size)
        first = nearest[0] if isinstance(nearest, tuple) else nearest
        eps = nn._normalization._rms_eps(call["eps"], first) if squares else float(call["eps"])
        w, b = (_weight(call, n, (1, size)) for n in ("weight", "bias"))
        return with_statistics(at, nearest, rows, w, b, eps, lambda r: np.ascontiguousarray(r).reshape(first.shape), squares)

    return made


def _group_norm(at: At, nearest: Any, call: dict[str, Any]) -> Any:
    x = _wide(call["input"])
    n, c = x.shape[:2]
    groups = int(call["num_groups"]) if "num_groups" in call else c
    inner = math.prod(x.shape[2:])
    rows = x.reshape(n * groups, -1)
    w, b = (np.tile(np.repeat(_weight(call, name, (c,)), inner).reshape(groups, -1), (n, 1)) for name in ("weight", "bias"))
    return with_statistics(
        at, nearest, rows, w, b, float(call["eps"]), lambda r: np.ascontiguousarray(r).reshape(x.shape), False
    )


# --- losses


def _loss(of: Callable[..., Fraction], limit: str = "") -> Callable[..., _Array]:
    """Losses of pairs, rational numbers."""

    def made(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
        x, y = (_wide(call[n]).reshape(-1) for n in ("input", "target"))
        size = Fraction(float(call[limit])) if limit else Fraction(1)
        kind = call["reduction"]

        def one(i: int) -> Fraction:
            return of(Fraction(float(x[i])) - Fraction(float(y[i])), size)

        def value(i: int) -> Fraction:
            if kind == "none":
                return one(i)
            total = sum(map(one, range(x.size)), Fraction(0))
            return total / x.size if kind == "mean" else total

        function = call["function"]
        options = {limit: call[limit]} if limit else {}
        return at.rational(
            nearest,
            value,
            np.asarray(
                function(x.reshape(np.shape(call["input"])), y.reshape(np.shape(call["target"])), reduction=kind, **options)
            ),
        )

    return made


def _smooth(d: Fraction, beta: Fraction) -> Fraction:
    d = abs(d)
    return d * d / (2 * beta) if d < beta else d - beta / 2


def _huber(d: Fraction, delta: Fraction) -> Fraction:
    d = abs(d)
    return d * d / 2 if d <= delta else delta * (d - delta / 2)


# --- sums by an index


def _scattered(at: At, nearest: _Array, terms: _Array, index: _Array, wide: _Array) -> _Array:
    """Element i of the result is the sum of the terms whose index is i."""
    order = np.argsort(index, kind="stable")
    ends = np.searchsorted(index[order], np.arange(nearest.size + 1))

    def value(i: int) -> Fraction:
        return sum(map(Fraction, terms[order[ends[i] : ends[i + 1]]].tolist()), Fraction(0))

    return at.rational(nearest, value, wide)


def _segment_sum(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
    data, ids = _wide(call["data"]), np.asarray(call["segment_ids"]).reshape(-1)
    width = math.prod(nearest.shape[1:])
    places = (ids[:, None] * width + np.arange(width)).reshape(-1)
    wide = np.asarray(_scatter.segment_sum(data, call["segment_ids"], nearest.shape[0]))
    return _scattered(at, nearest, data.reshape(-1), places, wide)


def _scatter_add(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
    x, source, index = _wide(call["x"]), _wide(call["src"]), np.asarray(call["index"])
    axis = int(call["axis"]) % max(x.ndim, 1)
    places: list[Any] = list(np.indices(index.shape))
    places[axis] = index
    flat = np.ravel_multi_index(places, x.shape).reshape(-1)
    part = source[tuple(slice(n) for n in index.shape)]
    wide = np.asarray(_scatter.scatter_add(x, axis, index, source))
    return _scattered(
        at, nearest, np.concatenate((x.reshape(-1), part.reshape(-1))), np.concatenate((np.arange(x.size), flat)), wide
    )


def _index_add(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
    x, source, index = _wide(call["x"]), _wide(call["source"]), np.asarray(call["index"])
    axis = int(call["axis"]) % max(x.ndim, 1)
    wide = np.asarray(_scatter.index_add(x, index, source, axis=axis))
    number = np.moveaxis(np.arange(x.size).reshape(x.shape), axis, 0)
    lines = np.moveaxis(source, axis, 0).reshape(index.size, -1)
    places = number.reshape(x.shape[axis], -1)[index.reshape(-1)]
    return _scattered(
        at,
        nearest,
        np.concatenate((x.reshape(-1), lines.reshape(-1))),
        np.concatenate((np.arange(x.size), places.reshape(-1))),
        wide,
    )


FUNCTIONS: dict[str, tuple[Any, Callable[[At, _Array, dict[str, Any]], _Array]]] = {
    "mean": (_statistics.mean, _reduction(lambda x, n, less: x.total() / n)),
    "var": (_statistics.var, _reduction(_variance)),
    "std": (_statistics.std, _reduction(lambda x, n, less: _variance(x, n, less).sqrt())),
    "norm": (_statistics.norm, _reduction(lambda x, n, less: (x * x).total().sqrt(), "x")),
    "_dot_general": (_reductions._dot_general, _dot),
    "cumsum": (_statistics.cumsum, _cumsum),
    "prod": (array_api.prod, _product),
    "cumulative_prod": (array_api.cumulative_prod, _prefix_product),
    "vecdot": (_contractions.vecdot, _vecdot),
    "vdot": (_contractions.vdot, _vdot),
    "matvec": (_contractions.matvec, _matvec),
    "vecmat": (_contractions.vecmat, _vecmat),
    "tensordot": (_contractions.tensordot, _tensordot),
    "einsum": (_contractions.einsum, _einsum),
    "softmax": (nn.softmax, _softmax(False)),
    "log_softmax": (nn.log_softmax, _softmax(True)),
    "logsumexp": (nn.logsumexp, _log_sum),
    "softmax_backward": (nn.softmax_backward, _softmax_backward),
    "log_softmax_backward": (nn.log_softmax_backward, _log_softmax_backward),
    "layer_norm": (nn.layer_norm, _layer_norm(False)),
    "rms_norm": (nn.rms_norm, _layer_norm(True)),
    "group_norm": (nn.group_norm, _group_norm),
    "instance_norm": (nn.instance_norm, _group_norm),
    "mse_loss": (nn.mse_loss, _loss(lambda d, size: d * d)),
    "l1_loss": (nn.l1_loss, _loss(lambda d, size: abs(d))),
    "smooth_l1_loss": (nn.smooth_l1_loss, _loss(_smooth, "beta")),
    "huber_loss": (nn.huber_loss, _loss(_huber, "delta")),
    "segment_sum": (_scatter.segment_sum, _segment_sum),
    "scatter_add": (_scatter.scatter_add, _scatter_add),
    "index_add": (_scatter.index_add, _index_add),
}
