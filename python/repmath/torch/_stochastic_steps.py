"""Operators of stochastic() that are composed of several roundings: the functions of `_aten` that compose them, whose steps round at random here.

While such a function runs, `_stepwise.HERE` has a `Steps`, and what the function rounds by (`_aten.common.apply`, formulas, conversions, sums, products) asks
it. Every array that is rounded on the way has a number r, from 0, in the order in which the function makes them; element i of it has the word of
element r * 2^40 + i of the stream of the call's first array (specification section 1a). What is selected, moved or exact on the way has none."""

import contextlib
import copy
import functools
import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import torch

from .. import (
    _core,
    _decompositions,
    _prod,
    _random_decompositions,
    _random_modes,
    _scatter,
    _spaced,
    _statistics,
    nn,
    optim,
)
from .._random_inverses import pi
from . import _dispatch_key, _stochastic_rows
from ._aten import common, complex_quotients, embedding_bag, foreach_fused, sparse
from ._aten.common import KERNELS, Array, Uncovered
from ._aten.guards import tensors_in
from ._aten.table import OPERATORS, lines
from ._formula import formula as plain_formula
from ._stepwise import HERE
from ._stochastic_exact import point
from ._tensors import FORMATS
from ._tensors import array_inside as as_array
from ._tensors import tensor_inside as as_tensor

_Made = TypeVar("_Made")
_APART = 40  # bits of an element's place among those of one array
_SELECT = frozenset({"max_scalar", "min_scalar", "max", "min", "gate"})
# Whose steps are those of `_aten.common`, and of the methods below.
_FUNCTIONS = frozenset(
    "round_decimals logaddexp2 sinc ldexp logit logit_backward polar logspace allclose scaled_softplus scaled_softplus_backward hardswish "
    "hardswish_backward elu elu_backward mish mish_backward celu mvlgamma glu_backward vector_norm norm_dim dist cdist_forward cdist_backward "
    "pdist_forward pdist_backward renorm embedding_renorm logcumsumexp scatter_reduce embedding_bag_backward histogram histogram_of_edges "
    "histogramdd histogramdd_of_edges trilinear mse_loss_backward smooth_l1_loss_backward huber_loss_backward binary_cross_entropy "
    "binary_cross_entropy_backward soft_margin_loss soft_margin_loss_backward multi_margin_loss multi_margin_loss_backward "
    "multilabel_margin_loss_forward multilabel_margin_loss_backward ctc_loss ctc_loss_backward grid_sampler grid_sampler_backward affine_grid "
    "weight_norm weight_norm_backward hann_window hamming_window blackman_window bartlett_window".split()
)
# Whose steps are those of `_decompositions`.
_DECOMPOSE = frozenset(
    "geqrf linalg_qr linalg_householder_product ormqr linalg_eigh linalg_svd linalg_pinv linalg_lstsq matrix_exp".split()
)
# They round each of their arrays once, which have a number of their own.
_ONCE = frozenset("arange arange_step linspace histogramdd_edges histc angle bincount".split())
_NAMES = {line.name for line in lines() if line.function in _FUNCTIONS | _ONCE | _DECOMPOSE}
# They write into their arguments themselves.
WRITE = frozenset(
    f"{name}_.{kind}"
    for name in ("_fused_adam", "_fused_adamw", "_fused_sgd", "_fused_adagrad")
    for kind in ("default", "tensor_lr")
) | {"_amp_foreach_non_finite_check_and_unscale_.default", "_amp_update_scale_.default"}


OPTIMISERS = frozenset(f"_fused_{name}_.{kind}" for name in ("adam", "adamw", "sgd") for kind in ("default", "tensor_lr"))


def tensors(value: Any) -> Iterator[torch.Tensor]:
    """Those of the formats."""
    return (t for t in tensors_in([value]) if t.dtype in FORMATS)


# What rounds of sparse tensors, beside what has a line in the table: products, and what brings elements of one place together.
_SPARSE = frozenset(
    f"{name}.default"
    for name in "_sparse_mm _sparse_sparse_matmul _sparse_addmm sparse_sampled_addmm _sparse_mm_reduce_impl _sparse_mm_reduce_impl_backward".split()
)
_COALESCE = frozenset(
    "_coalesce.default _to_dense.default _to_sparse.default _to_sparse.sparse_dim _to_sparse_csr.default _to_sparse_csc.default sparse_mask.default".split()
)


def may_be_sparse(name: str) -> bool:
    return name in _SPARSE or name in _COALESCE


def is_sparse(name: str, rounds: bool, args: Any) -> bool:
    """Whether a call rounds numbers of a sparse tensor."""
    found = [t for t in tensors(args) if t.layout is not torch.strided]
    if name in _COALESCE:
        return any(t.layout is torch.sparse_coo and not t.is_coalesced() for t in found)
    return bool(found) and (rounds or name in _SPARSE)


def has(name: str) -> bool:
    return name in _NAMES


def _rounds(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that makes one array, or none that is rounded."""

    @functools.wraps(method)
    def call(steps: "Steps", *arguments: Any, **options: Any) -> Any:
        HERE.steps = None
        try:
            return method(steps, *arguments, **options)
        finally:
            HERE.steps = steps

    return call


class Steps:
    """What rounds the steps of one call. The methods are those of `_aten.common`."""

    def __init__(self, at: Any, stream: int | None = None, once: bool = False) -> None:
        self.at = at if once else copy.copy(at)
        self.at.into = None
        self.once = once
        self.stream = int(at.words["stream"]) if stream is None else stream
        self.at.words = at.words | {"stream": self.stream}
        self.count = 0

    def _done(self, made: _Made) -> _Made:
        """The array has had its words; the next one has others."""
        if self.once:
            self.at.next()
            return made
        self.count += 1
        if self.count >= 1 << (62 - _APART):
            raise RuntimeError(f"a call has at most 2**{62 - _APART} arrays that are rounded")
        self.at.words = self.at.words | {"stream": _random_modes.part(self.stream, self.count << _APART)}
        return made

    def _formula(self, nearest: Any, formula: Callable[..., Any], *values: Any, divisors: tuple[int, ...] = ()) -> Any:
        """Of elements; a zero has the sign that rounding to nearest gives it."""
        nearest = np.asarray(nearest)
        made = _stochastic_rows.elementwise(self.at, nearest, formula, *values, divisors=divisors)
        return np.where((made == 0) & (nearest == 0), nearest, made)

    @_rounds
    def apply(self, name: str, values: tuple[Any, ...], dtype: Any, out: Any) -> torch.Tensor:
        result = common.format_of(*values) if dtype is None else dtype
        if result not in FORMATS:
            raise Uncovered(f"results of {result}")
        target = common.narrower(result, out)
        arrays: list[Any] = []
        plain = target is result
        for v in values:
            if not isinstance(v, torch.Tensor):
                number = common.same_number(float(v), result)
                plain = plain and number is not None
                arrays.append(np.asarray(float(v)) if number is None else number)
            elif common.held(v, result):
                arrays.append(as_array(common.convert(v, result)))
            else:
                plain = False
                arrays.append(as_array(common.in_binary64(v)))
        if plain:
            made = as_tensor(np.asarray(self.at.elementwise(name, *arrays)))
        else:
            made = as_tensor(self._narrow(name, FORMATS[target], *(np.asarray(a, np.float64) for a in arrays)))
        self._done(made)
        return made if out is None else common.write(out, made)

    def _narrow(self, name: str, target: Any, *arrays: Array) -> Any:
        """A function of binary64 numbers, rounded once to a narrower format."""
        nearest = common.once(name, target, *arrays)
        if name == "sigmoid_backward":
            return self._formula(nearest, _of_sigmoid, arrays[0], np.abs(arrays[1]))
        if name not in _ARITHMETIC:
            raise self.at.lacks(f"{name} of numbers that its format does not hold is")
        return self._formula(nearest, _ARITHMETIC[name], *arrays, divisors=(1,) if name == "divide" else ())

    @_rounds
    def formula(self, name: str, a: float, tensors: tuple[torch.Tensor, ...], out: Any) -> torch.Tensor:
        made = self._of_formula(name, a, tensors, tensors[0].dtype)
        return made if out is None or made is out else out.copy_(made)

    def _of_formula(self, name: str, a: float, tensors: Any, dtype: torch.dtype) -> torch.Tensor:
        tensors = torch.broadcast_tensors(*tensors)
        if name in _SELECT:
            return plain_formula(name, a, *tensors)
        if name not in common.RATIONAL:
            raise self.at.lacks(f"the step {name} is")
        made = self.at.formula(name, a, *tensors) if tensors[0].dtype is dtype and name != "mix" else None
        if made is None:
            nearest = as_array(
                common.formula_of(name, a, *tensors, dtype=dtype, out=torch.empty(tensors[0].shape, dtype=dtype))
            )
            divisors = {"over": (0,), "under": (1,), "quotient": (3,)}.get(name, ())
            made = self._formula(nearest, common.RATIONAL[name], a, *tensors, divisors=divisors)
        return self._done(as_tensor(np.asarray(made)))

    @_rounds
    def formula_of(self, name: str, a: float, tensors: tuple[torch.Tensor, ...], dtype: Any, out: Any) -> torch.Tensor:
        result = tensors[0].dtype if dtype is None else dtype
        if result not in FORMATS:
            raise Uncovered(f"results of {result}")
        target = common.narrower(result, out)
        if all(common.held(t, target) for t in tensors):
            made = self._of_formula(name, a, [common.convert(t, target) for t in tensors], target)
        else:
            made = self._of_formula(name, a, [common.in_binary64(t) for t in tensors], target)
        return made if out is None else common.write(out, made)

    @_rounds
    def convert(self, t: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        nearest = common.convert(t, dtype)
        if dtype in FORMATS and t.dtype not in FORMATS and not common.held(t, dtype):
            t = common.in_binary64(t)
        if t.dtype not in FORMATS or dtype not in FORMATS or torch.promote_types(t.dtype, dtype) is dtype:
            return nearest
        return self._done(as_tensor(np.asarray(_stochastic_rows.convert(self.at, as_array(nearest), t))))

    @_rounds
    def step(self, name: str, *arrays: Any) -> Array:
        return self._done(np.asarray(self.at.elementwise(name, *np.broadcast_arrays(*arrays))))

    @_rounds
    def total(self, a: Array, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Array:
        return self._done(np.asarray(_random_modes.sum(a, axis=axis, keepdims=keepdims, dtype=dtype, **self.at.words)))

    def _rows(self, a: Array, axis: Any, nearest: Array, formula: Callable[[Any, Any], Any]) -> Array:
        """A formula of rows, which are what the axes of an array have."""
        if not a.size:
            return nearest
        axes = (
            tuple(range(a.ndim))
            if axis is None or not a.ndim
            else tuple(d % a.ndim for d in ([axis] if isinstance(axis, int) else axis))
        )
        kept = [d for d in range(a.ndim) if d not in axes]
        rows = a.transpose(*kept, *axes).reshape(nearest.size, -1).astype(np.float64)
        bad = ~np.isfinite(rows).all(-1, keepdims=True)
        skip = bad.reshape(nearest.shape)
        if skip.all():
            return nearest
        values = np.where(bad, 0.0, rows), np.full((1, 1), float(rows.shape[1]))
        made = self.at.last(nearest, skip).formula(formula, *values, place=lambda r: r.reshape(nearest.shape))
        return np.asarray(self.at.known(made, nearest, skip))

    @_rounds
    def average(self, a: Array, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Array:
        nearest = np.asarray(_statistics.mean(a, axis=axis, keepdims=keepdims, dtype=dtype))
        return self._done(self._rows(a, axis, nearest, lambda x, n: x.total() / n))

    @_rounds
    def length(self, a: Array, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Array:
        nearest = np.asarray(_statistics.norm(a, axis=axis, keepdims=keepdims, dtype=dtype))
        return self._done(self._rows(a, axis, nearest, lambda x, n: (x * x).total().sqrt()))

    @_rounds
    def products(self, a: Array, b: Array, dtype: Any = None, bias: Any = None) -> Array:
        words = {key: self.at.words[key] for key in ("seed", "stream")}
        return self._done(np.asarray(_random_modes.matmul(a, b, self.at.words["mode"], bias=bias, dtype=dtype, **words)))

    def dots(self, a: Array, b: Array) -> Array:
        """Of the last axes."""
        made: Array = self.products(a[..., None, :], b[..., None])
        return made[..., 0, 0]

    @_rounds
    def quotients(self, *parts: Array) -> tuple[Array, Array]:
        """The parts of quotients of complex numbers."""
        narrow = parts[0].dtype != np.float64
        nearest = complex_quotients.quotients(*parts)
        wide = complex_quotients.quotients(*(v.astype(np.float64) for v in parts)) if narrow else nearest
        rows = list(zip(*(v.reshape(-1).tolist() for v in parts), strict=True))

        def value(i: int, part: int) -> Fraction | None:
            if not all(map(math.isfinite, rows[i])) or not any(rows[i][2:]):
                return None
            a, b, c, d = map(Fraction, rows[i])
            return (b * c - a * d if part else a * c + b * d) / (c * c + d * d)

        first, second = (self._exactly(nearest[k], functools.partial(value, part=k), wide[k]) for k in (0, 1))
        return first, second

    @_rounds
    def multiples(self, start: float, step: float, n: int, form: Any) -> Array:
        """start + i step."""
        first, by, wide = Fraction(start), Fraction(step), np.zeros(n)
        wide[:] = _core.ufuncs["fma"](np.float64(step), np.arange(n, dtype=np.float64), np.float64(start))
        return self._exactly(common.convert_array(wide, np.dtype(form)), lambda i: first + i * by, wide)

    def _scattered(self, nearest: Array, terms: Array, at: Array) -> Array:
        if not np.isfinite(terms).all():
            raise self.at.lacks("of infinities and NaN it is")
        flat = _stochastic_rows.scattered(self.at, nearest.reshape(-1, terms.shape[1]), terms, at)
        return self._done(np.asarray(flat).reshape(nearest.shape))

    def _exactly(self, nearest: Array, value: Callable[[int], Fraction | None], wide: Any = None) -> Array:
        """Elements whose values are rational numbers, None where they are not finite. `wide` has them rounded to binary64."""
        made = np.array(nearest, order="C")
        flat, left = made.reshape(-1), list(range(made.size))
        if wide is not None and nearest.dtype != np.float64:
            c = np.asarray(wide, np.float64).reshape(-1)
            good = np.isfinite(c) & (c != 0)
            place = _random_modes.place(*(self.at.words[key] for key in ("mode", "seed", "stream")))
            radius = np.where(good, np.abs(c) * (2.0**-53 * (1 + 2.0**-50)) + 2.0**-1074, 0.0)
            found, undecided = _random_modes.balls(np.where(good, c, 0.0), radius, nearest.dtype, place)
            flat[good & ~undecided] = found[good & ~undecided]
            left = np.flatnonzero(~good | undecided).tolist()
        values = {i: value(i) for i in left}
        left = [i for i in left if values[i]]
        self.at.last(made).enclosed(flat, left, lambda places, bits: [point(values[i] or 0, bits) for i in places])
        return self._done(made)

    @_rounds
    def spaced(self, limits: Any, steps: int, form: Any, base: float | None) -> Array:
        """Numbers that are equally far apart, or powers of a base with these exponents."""
        start, end = (Fraction(v) for v in limits)
        kind = np.dtype(np.float64) if base is not None else np.dtype(form)
        made = self._exactly(
            _spaced.spaced(limits[0], limits[1], max(steps - 1, 1), steps, kind),
            lambda i: start + i * (end - start) / max(steps - 1, 1),
        )
        if base is None:
            return made
        powers = as_tensor(self._done(np.asarray(self.at.elementwise("pow", np.full(made.shape, base), made))))
        if np.dtype(form) == np.float64:
            return as_array(powers)
        nearest = common.convert_array(as_array(powers), np.dtype(form))
        return self._done(np.asarray(_stochastic_rows.convert(self.at, nearest, powers)))

    @_rounds
    def product(self, a: Array, axis: Any, keepdims: bool, dtype: Any) -> Array:
        rows = np.moveaxis(a, axis, -1) if axis is not None else a.reshape(-1)
        nearest = np.asarray(_prod.product(rows, dtype, False))
        flat = rows.reshape(-1, rows.shape[-1]).astype(np.float64)

        def value(i: int) -> Fraction | None:
            return math.prod(map(Fraction, flat[i].tolist()), start=Fraction(1)) if np.isfinite(flat[i]).all() else None

        made = self._exactly(nearest, value)
        return np.expand_dims(made, axis if axis is not None else tuple(range(a.ndim))) if keepdims else made

    @_rounds
    def contracted(self, a: Array, b: Array, axes: list[int], dtype: Any) -> Array:
        """Sums over axes of the products of two arrays, which are broadcast."""
        a, b = np.broadcast_arrays(a, b)
        kept = [d for d in range(a.ndim) if d not in axes]
        shape = tuple(a.shape[d] for d in kept)
        rows = (v.transpose(*kept, *axes).reshape(math.prod(shape), -1) for v in (a, b))
        left, right = (np.ascontiguousarray(v) for v in rows)
        words = {key: self.at.words[key] for key in ("seed", "stream")}
        made = _random_modes.matmul(left[:, None], right[..., None], self.at.words["mode"], dtype=dtype, **words)
        return self._done(np.asarray(made).reshape(shape))

    @_rounds
    def loss_gradient(
        self, name: str, g: torch.Tensor, x: torch.Tensor, y: torch.Tensor, reduction: int, *limit: float
    ) -> Array:
        """Of losses of pairs: g times the slope, divided by the number of pairs where it is that of a mean."""
        columns = [np.broadcast_to(as_array(t.to(torch.float64)), x.shape).reshape(-1).tolist() for t in (g, x, y)]
        n, kind = x.numel() if reduction == 1 else 1, ("none", "mean", "sum")[reduction]
        options = dict(zip(("delta",) if name == "huber_loss" else ("beta",), limit, strict=False))
        function = getattr(nn, f"{name}_backward")

        def of(*tensors: torch.Tensor) -> Array:
            return np.asarray(function(*(as_array(t) for t in tensors), reduction=kind, **options))

        size = Fraction(float(limit[0])) if limit else Fraction(1)

        def value(i: int) -> Fraction | None:
            each = [c[i] for c in columns]
            if not all(map(math.isfinite, each)):
                return None
            h, a, b = map(Fraction, each)
            d = a - b
            if name == "mse_loss":
                slope = 2 * d
            elif name == "huber_loss":
                slope = max(-size, min(d, size))
            else:
                slope = d / size if abs(d) < size else Fraction((d > 0) - (d < 0))
            return h * slope / n

        return self._exactly(of(g, x, y), value, of(*(t.to(torch.float64) for t in (g, x, y))))

    @_rounds
    def half_turns(self, shape: Any, dtype: torch.dtype) -> torch.Tensor:
        """pi, in an array."""
        made = np.full(tuple(shape), np.pi).astype(FORMATS[dtype])
        self.at.last(made).enclosed(made.reshape(-1), list(range(made.size)), lambda places, bits: [pi(600) for _ in places])
        return as_tensor(self._done(made))

    @_rounds
    def segment_sum(self, terms: Array, at: Array, count: int) -> Array:
        nearest = np.asarray(_scatter.segment_sum(terms, at, count))
        if not nearest.size or not terms.size:
            return self._done(nearest)
        return self._scattered(nearest, terms.reshape(len(terms), -1).astype(np.float64), at.reshape(-1))

    def _sum_of(
        self, name: str, tensors: tuple[torch.Tensor, ...], value: Callable[[int], Fraction], *between: Any, **options: Any
    ) -> torch.Tensor:
        """A function of the table of tensors of one format, of which the first may come before other arguments; its values are rational."""

        def of(*given: torch.Tensor) -> Array:
            return as_array(KERNELS[name](given[0], *between, *given[1:], **options))

        def finite(i: int) -> Fraction | None:
            try:
                return value(i)
            except (ValueError, OverflowError):  # of infinities and NaN
                return None

        return as_tensor(self._exactly(of(*tensors), finite, of(*(t.to(torch.float64) for t in tensors))))

    @_rounds
    def index_add(self, x: torch.Tensor, index: torch.Tensor, values: torch.Tensor, alpha: float) -> torch.Tensor:
        """Along the first axis."""
        start, terms = (as_array(t.to(torch.float64)).reshape(len(t), -1) for t in (x, values))
        at, factor, width = as_array(index), Fraction(alpha), max(start.shape[1], 1)

        def value(i: int) -> Fraction:
            row, column = divmod(i, width)
            some = terms[at == row, column].tolist()
            return Fraction(float(start[row, column])) + factor * sum(map(Fraction, some), Fraction(0))

        if not x.numel():
            return x.clone()
        return self._sum_of("index_add", (x, values), value, 0, index, alpha=alpha)

    @_rounds
    def product_and_sum(
        self, name: str, c: torch.Tensor, a: torch.Tensor, b: torch.Tensor, *, beta: float, alpha: float
    ) -> torch.Tensor:
        """beta c + alpha a b."""
        shape = (*a.shape[:-1], b.shape[-1])
        start, left, right = (as_array(t.to(torch.float64)) for t in (c, a, b))
        start = np.broadcast_to(start, shape)

        def value(i: int) -> Fraction:
            *batch, row, column = (int(v) for v in np.unravel_index(i, shape))
            line: Any = (*batch, row)
            down: Any = (*batch, slice(None), column)
            pairs = zip(left[line].tolist(), right[down].tolist(), strict=True)
            total = sum((Fraction(p) * Fraction(q) for p, q in pairs), Fraction(0))
            own = (
                Fraction(float(start[(*batch, row, column)])) * Fraction(beta) if beta else 0
            )  # a factor of 0 leaves out what it multiplies
            return own + total * Fraction(alpha)

        return self._sum_of(name, (c, a, b), value, beta=beta, alpha=alpha)

    @_rounds
    def weighted(
        self, weights: torch.Tensor, lines: torch.Tensor, bags: torch.Tensor, size: int, dtype: torch.dtype
    ) -> torch.Tensor:
        """The sums of the weighted lines of each bag."""
        factors, rows, at = as_array(weights.to(torch.float64)), as_array(lines.to(torch.float64)), as_array(bags)
        width = max(rows.shape[1], 1)

        def of(kind: torch.dtype) -> Array:
            return as_array(
                embedding_bag._collected(lines, bags, size, lines.shape[1], kind, embedding_bag._weighted(weights, kind))
            )

        def value(i: int) -> Fraction | None:
            row, column = divmod(i, width)
            pairs = zip(factors[at == row].tolist(), rows[at == row, column].tolist(), strict=True)
            return sum((Fraction(p) * Fraction(q) for p, q in pairs), Fraction(0))

        return as_tensor(self._exactly(of(dtype), value, of(torch.float64)))

    @_rounds
    def scatter_add(self, x: Array, axis: int, index: Array, source: Array) -> Array:
        """Each element of x with those of the source whose place along the axis the index gives."""
        nearest = np.asarray(_scatter.scatter_add(x, axis, index, source))
        if not nearest.size:
            return self._done(nearest)
        places: list[Any] = list(np.indices(index.shape))
        places[axis % x.ndim] = index
        flat = np.ravel_multi_index(places, x.shape).reshape(-1)
        terms = np.concatenate((x.reshape(-1), source.reshape(-1))).astype(np.float64)
        return self._scattered(nearest, terms[:, None], np.concatenate((np.arange(x.size), flat)))


def _of_sigmoid(g: Any, size: Any) -> Any:
    e = (-size).exp()
    return g * e / ((e + 1.0) * (e + 1.0))


_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "fma": lambda x, y, z: x * y + z,
}


@contextlib.contextmanager
def _running(steps: Steps | None) -> Iterator[None]:
    """Operators that are called meanwhile are PyTorch's own: a function of the table calls those that move and select."""
    with torch._C._DisableTorchDispatch(), _dispatch_key.native(), _core.Environment(), np.errstate(all="ignore"):
        HERE.steps = steps
        try:
            yield
        finally:
            HERE.steps = None


def rounded(at: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """The results of a call that its function composes."""
    if OPERATORS[func].function in _DECOMPOSE:
        with _decompositions.arithmetic(_random_decompositions.words_of(at.words)), _running(None):
            return KERNELS[OPERATORS[func].function](*args, **kwargs)
    with _running(Steps(at, once=OPERATORS[func].function in _ONCE)):
        return KERNELS[OPERATORS[func].function](*args, **kwargs)


def sparse_function(func: Any) -> Any:
    """The function of an operator of sparse tensors that rounds."""
    return sparse.FUNCTIONS.get(func)


def of_sparse(at: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """The results of a call of sparse tensors, of which each array of values is one."""
    with _running(Steps(at)):
        return sparse.FUNCTIONS[func](*args, **kwargs)


def values_of(t: torch.Tensor) -> torch.Tensor:
    """What a tensor's elements lie in."""
    if t.layout is torch.strided:
        return t
    with torch._C._DisableTorchDispatch():
        return t._values() if t.layout is torch.sparse_coo else t.values()


def written(at: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """An operator that writes into its arguments: a fused step of an optimiser has, for each parameter, the streams of four arrays: the parameter, the first and the second state, and of its gradient divided by a
    scale."""
    name, words = func.overloadpacket.__name__, at.words
    seed, stream = words["seed"], int(words["stream"])

    def numbered(step: Callable[..., None]) -> Callable[..., None]:
        number = itertools.count()

        def call(*arrays: Any, **options: Any) -> None:
            step(*arrays, **options, rounding=words["mode"], seed=seed, stream=stream + 4 * next(number))

        return call

    if name in ("_fused_adam_", "_fused_adamw_"):
        function = foreach_fused._scaled(
            foreach_fused._adam(numbered(optim.adam_step if name == "_fused_adam_" else optim.adamw_step))
        )
    elif name == "_fused_sgd_":
        function = foreach_fused._scaled(functools.partial(foreach_fused._sgd, numbered(optim.sgd_step)))
    else:
        with _running(Steps(at)):
            return KERNELS[OPERATORS[func].function](*args, **kwargs)
    with _running(Steps(at, stream + 3)):
        return function(*args, **kwargs)


def moved(at: Any, found_inf: Any, *lists: Any) -> None:
    """Moves parameters and their states up or down after a fused step, unless it was left out: each parameter has four numbers of arrays."""
    if found_inf is not None and found_inf.item():
        return
    for k, together in enumerate(zip(*lists, strict=True)):
        for j, result in enumerate(together):
            array = as_array(result)
            array[...] = _random_modes.up_down(array, at.words["seed"], int(at.words["stream"]) + 4 * k + j, own=True)
