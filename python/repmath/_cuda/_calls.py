"""The functions of `_core` for arrays on a device: the same names and arguments, but arrays where `_core` takes their bytes.

Indices that are out of range are not reported: results are then NaN, as the headers of the library say."""

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from ._array import Array, Place, Unsupported, download, new, strides_of, upload
from ._library import call, check, checked, format_of, is_index_error
from ._structures import AdamOptions, Conv, CrossEntropy, Int, NormSets, Pool, SGDOptions, StepArrays, StepScale, Stride

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}
_LOSSES = {"mse": 0, "l1": 1, "smooth_l1": 2, "huber": 3}


def _address(a: Array | None) -> Any:
    if a is not None and not isinstance(a, Array):
        raise Unsupported("an operand is in main memory")
    return None if a is None else a.pointer


def _with(a: Array | None, axes: int) -> list[Any]:
    """The pointer and so many strides; zeros without an array."""
    return [_address(a), *(Stride(0 if a is None or k >= a.ndim else a.strides[k]) for k in range(axes))]


def _of(a: Array | None) -> list[Any]:
    """The pointer and all strides as an array."""
    return [_address(a), strides_of(a)]


def softmax(what: str, format: str, first: Array, second: Array | None, out: Array) -> None:
    """As _core.softmax."""
    rows, n = first.shape
    given = _with(first, 2) + ([] if second is None else _with(second, 2))
    checked(f"rm_cuda_{what}", format_of(format), rows, n, *given, *_with(out, out.ndim), out.place.queue)


def normalize(
    what: str,
    format: str,
    centered: bool,
    x: Array,
    g: Array | None,
    w: Array | None,
    b: Array | None,
    mean: Array | None,
    variance: Array | None,
    eps: float,
    out: Array,
    weight_strides: Sequence[int] | None = None,
) -> None:
    """As _core.normalize."""
    if what == "found":
        normalize("forward", format, centered, x, None, w, b, None, None, eps, out)
        norm_statistics(format, centered, x, eps, mean, variance)
        return
    sets = NormSets(centered, x.shape[:2], *x.shape[2:])
    result = _of(out) if weight_strides is None else [_address(out), (Stride * 4)(*weight_strides)]
    names = {"forward": "normalize", "input": "normalize_backward", "weight": "normalize_backward_weight"}
    arrays = {"forward": (x, w, b, mean, variance), "input": (g, x, w, mean, variance), "weight": (g, x, mean, variance)}
    given = [part for a in arrays[what] for part in _of(a)]
    checked(f"rm_cuda_{names[what]}", format_of(format), ctypes.byref(sets), *given, float(eps), *result, out.place.queue)


def norm_statistics(
    format: str,
    centered: bool,
    x: Array,
    eps: float,
    mean: Array | None,
    root: Array | None,
    momentum: float = 0.0,
    running_format: str = "f32",
    running_mean: Array | None = None,
    running_var: Array | None = None,
) -> None:
    """Mean and 1/sqrt(variance + eps) of each set, and running statistics, in contiguous arrays."""
    for a in (mean, root, running_mean, running_var):
        if a is not None and not a.flags.c_contiguous:
            raise Unsupported("statistics with gaps between them")
    sets = NormSets(centered, x.shape[:2], *x.shape[2:])
    running = float(momentum), format_of(running_format), _address(running_mean), _address(running_var)
    checked(
        "rm_cuda_norm_statistics", format_of(format), ctypes.byref(sets), *_of(x), float(eps), _address(mean), _address(root), *running,
        x.place.queue,
    )  # fmt: skip


def cross_entropy(
    logits: bool,
    format: str,
    x: Array,
    target: Array | None,
    probability: Array | None,
    weight: Array | None,
    ignore_index: int,
    label_smoothing: float,
    reduction: str,
    g: Array | None,
    out: Array,
) -> int:
    """As _core.cross_entropy."""
    rows, n = x.shape
    problem = CrossEntropy(
        rows,
        n,
        *_with(x, 2),
        *_with(target, 1),
        *_with(probability, 2),
        *_with(weight, 1),
        ignore_index,
        label_smoothing,
        _REDUCTIONS[reduction],
    )
    name = f"rm_cuda_{'cross_entropy' if logits else 'nll_loss'}{'' if g is None else '_backward'}"
    given = [*_with(out, 1)] if g is None else [*_with(g, 1), *_with(out, 2)]
    return _indexed(call(name, format_of(format), ctypes.byref(problem), *given, out.place.queue))


def _indexed(status: int) -> int:
    """0, or the code that an index is out of range; other errors are raised."""
    if is_index_error(status):
        return _core.ERR_INDEX
    check(status)
    return 0


def regression_loss(loss: str, p: float, format: str, reduction: str, g: Any, x: Array, y: Array, out: Array) -> None:
    """As _core.regression_loss."""
    options = Int(_LOSSES[loss]), float(p), format_of(format), Int(_REDUCTIONS[reduction]), x.shape[0]
    arrays = [part for a in ((x, y, out) if g is None else (g, x, y, out)) for part in _with(a, 1)]
    checked(f"rm_cuda_regression_loss{'' if g is None else '_backward'}", *options, *arrays, out.place.queue)


def bce_with_logits(
    format: str, reduction: str, g: Any, x: Array, y: Array, weight: Any, pos_weight: Any, out: Array
) -> None:
    """As _core.bce_with_logits."""
    options = format_of(format), Int(_REDUCTIONS[reduction]), x.shape[0]
    arrays = [part for a in ([] if g is None else [g]) + [x, y, weight, pos_weight, out] for part in _with(a, 1)]
    checked(f"rm_cuda_bce_with_logits{'' if g is None else '_backward'}", *options, *arrays, out.place.queue)


def kl_div(format: str, reduction: str, log_target: bool, count: int, g: Any, x: Array, t: Array, out: Array) -> None:
    """As _core.kl_div."""
    options = format_of(format), Int(_REDUCTIONS[reduction]), Int(log_target), count, t.shape[0]
    arrays = [part for a in ((x, t, out) if g is None else (g, t, out)) for part in _with(a, 1)]
    checked(f"rm_cuda_kl_div{'' if g is None else '_backward'}", *options, *arrays, out.place.queue)


def formula(name: str, format: str, a: float, arrays: list[Array], out: Array) -> None:
    """As _core.formula, of arrays of one axis whose elements lie one after the other."""
    which = Int(_core._FORMULAS[name])  # type: ignore[attr-defined]
    given = [_address(x) for x in (*arrays, None, None)[:3]]
    checked("rm_cuda_formula", which, format_of(format), out.size, float(a), *given, _address(out), out.place.queue)


def gemm(format: str, trans_a: bool, trans_b: bool, alpha: float, a: Array, b: Array, beta: float, c: Array) -> None:
    """As _core.gemm."""
    k = a.shape[1] if trans_a else a.shape[2]
    first, second = (_with(x.transpose(0, 2, 1) if turned else x, 3) for x, turned in ((a, trans_a), (b, trans_b)))
    given = [float(alpha), *first, *second, float(beta), *_with(c, 3)]
    checked("rm_cuda_gemm_batched", format_of(format), *c.shape, k, *given, c.place.queue)


def convolve(what: str, format: str, sizes: Any, first: Array, second: Array, bias: Array | None, out: Array) -> None:
    """As _core.convolve."""
    counts, size, *windows = sizes
    conv = Conv(len(size), *counts, size, *windows)
    given = [*_of(first), *_of(second), *([] if what == "grad_weight" else _with(bias, 1)), *_of(out)]
    checked(f"rm_cuda_conv_{what}", format_of(format), ctypes.byref(conv), *given, out.place.queue)


def pool(
    what: str, format: str, sizes: Any, include_pad: bool, divisor: int, first: Array, out: Array, index: Array | None
) -> None:
    """As _core.pool."""
    counts, size, result, windows = sizes
    description = Pool(len(size), windows is None, *counts, size, result, *(windows or ()))
    if what == "max_pool":
        given = [*_of(first), *_of(out), *_of(index)]
    else:
        given = [Int(include_pad), divisor, *_of(first), *_of(out)]
    checked(f"rm_cuda_{what}", format_of(format), ctypes.byref(description), *given, out.place.queue)


def scatter(add: bool, format: str, rows: int, cols: int, out: Array, index: Array, src: Array) -> int:
    """As _core.scatter, of arrays in C order."""
    size = out.itemsize
    places = [_address(out), Stride(cols * size), Stride(size), index.size, *_with(index, 1)]
    source = [_address(src), Stride(cols * size), Stride(size)]
    name = f"rm_cuda_{'index_add' if add else 'segment_sum'}"
    return _indexed(call(name, format_of(format), rows, cols, *places, *source, out.place.queue))


def row_statistic(what: str, format_x: str, format_out: str, x: Array, out: Array, mask: Any, ddof: float) -> None:
    """As _core.row_statistic."""
    if mask is not None:
        raise Unsupported("all elements count on a device")
    rest = [float(ddof)] if what in ("var", "std") else []
    result = format_of(format_out), *_with(out, 1), *rest
    checked(f"rm_cuda_{what}_rows", format_of(format_x), *x.shape, *_with(x, 2), *result, out.place.queue)


def cumsum_rows(format_x: str, format_out: str, x: Array, out: Array) -> None:
    """The cumulative sums of each row of x."""
    result = format_of(format_out), *_with(out, 2), out.place.queue
    checked("rm_cuda_cumsum_rows", format_of(format_x), *x.shape, *_with(x, 2), *result)


def random_fill(
    what: str, place: Any, out: Array, format: str = "f64", a: Any = 0, b: Any = 0, x: Any = None, ends: Any = ()
) -> None:
    """As _core.random_fill, of what reads an array: dropout."""
    words = [ctypes.c_uint64(word) for word in place[:2]]
    arrays = [_address(x), out.itemsize, _address(out), out.itemsize]
    checked("rm_cuda_dropout", format_of(format), *words, place[2], out.size, float(a), *arrays, out.place.queue)


def random_bernoulli(seed: int, p: float, out: Array) -> None:
    """1 with probability p, or 0, as repmath.random.bernoulli of this seed, in bytes that lie one after the other."""
    words = ctypes.c_uint64(seed), ctypes.c_uint64(0), 0
    checked("rm_cuda_random_bernoulli", *words, out.size, float(p), _address(out), Stride(1), out.place.queue)


class ExactSum:
    """As _core.ExactSum, of products."""

    def __init__(self, place: Place) -> None:
        self.total = upload(place, np.zeros(256))  # RM_CUDA_ACCUMULATOR_BYTES zeros

    def add_products(self, format: str, x: Array, y: Array) -> None:
        """Add the products of the elements of two lines."""
        arrays = [*_with(x, 1), *_with(y, 1)]
        checked("rm_cuda_add_products", format_of(format), x.size, *arrays, _address(self.total), self.total.place.queue)

    def root(self) -> float:
        """RN of the root of the total, in float64."""
        out = new(self.total.place, (), np.float64)
        checked("rm_cuda_root_of_total", _address(self.total), _address(out), self.total.place.queue)
        return float(download(out))


def clip_to_norm(format: str, g: Array, squares: ExactSum, max_norm: float) -> None:
    """As _core.clip_to_norm."""
    checked(
        "rm_cuda_clip_to_norm",
        format_of(format),
        g.size,
        _address(g),
        _address(squares.total),
        float(max_norm),
        g.place.queue,
    )


def _step(name: str, format: str, arrays: list[Array | None], options: Any) -> None:
    p = arrays[0]
    assert p is not None
    checked(name, format_of(format), p.size, *map(_address, arrays), ctypes.byref(options), p.place.queue)


def sgd_step(format: str, p: Array, g: Array, b: Array | None, *options: Any) -> None:
    """As _core.sgd_step: the options are those of rm_sgd_options."""
    _step("rm_cuda_sgd_step", format, [p, g, b], SGDOptions(*options))


def adam_step(format: str, p: Array, g: Array, m: Array, v: Array, w: Array | None, *options: Any) -> None:
    """As _core.adam_step: the options are those of rm_adam_options."""
    _step("rm_cuda_adam_step", format, [p, g, m, v, w], AdamOptions(*options))


def _steps(name: str, format: str, tensors: Sequence[Sequence[Array | None]], options: Any, scale: Any) -> None:
    """One call for tensors of one format; each has a parameter, a gradient, its states and its count of steps. scale: what divides gradients, and
    whether the step is left out, each one number on the device, or None."""
    first = tensors[0][0]
    assert first is not None
    rows = [(t[0].size, *(None if a is None or not a.size else a.address for a in t)) for t in tensors if t[0] is not None]
    given = (StepArrays * len(rows))(*rows)
    read = StepScale(*(None if a is None else a.address for a in scale))
    checked(name, format_of(format), len(rows), given, ctypes.byref(options), ctypes.byref(read), first.place.queue)


def sgd_steps(format: str, tensors: Sequence[Sequence[Array | None]], scale: Any, *options: Any) -> None:
    """sgd_step of several tensors."""
    _steps("rm_cuda_sgd_steps", format, tensors, SGDOptions(*options), scale)


def adam_steps(format: str, tensors: Sequence[Sequence[Array | None]], scale: Any, *options: Any) -> None:
    """adam_step of several tensors."""
    _steps("rm_cuda_adam_steps", format, tensors, AdamOptions(*options), scale)
