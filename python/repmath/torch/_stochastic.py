"""stochastic(): a block of reproducible() whose operators round at random, each with words of its own (specification section 1a)."""

import fnmatch
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import repmath

from .. import _core, _random_convolution, _random_modes, rounding
from .._dtypes import NAMES
from .._random_matrices import Refused
from . import (
    _blocks,
    _dispatch_key,
    _stochastic_complex,
    _stochastic_direct,
    _stochastic_draws,
    _stochastic_eight,
    _stochastic_lists,
    _stochastic_matrices,
    _stochastic_operators,
    _stochastic_quick,
    _stochastic_resize,
    _stochastic_rows,
    _stochastic_statistics,
    _stochastic_steps,
    _stochastic_wide,
)
from ._aten.common import Uncovered, same_number
from ._errors import UncoveredOperatorError, call_site
from ._mode import reproducible
from ._stochastic_call import _axes, _Lacks, _Place
from ._stochastic_complex import _as_arrays, _as_tensors
from ._stochastic_exact import Unknown
from ._stochastic_operators import About
from ._stochastic_places import PHASES, Places, Rounding, _number, _patterns, _phases, _terms
from ._stochastic_steps import tensors as _tensors
from ._tensors import FORMATS
from ._tensors import array_inside as as_array
from ._tensors import tensor_inside as as_tensor


def _format(*values: Any) -> Any:
    """The one format of the tensors among the values."""
    kinds = {v.dtype for v in values if isinstance(v, torch.Tensor)}
    if len(kinds) != 1 or next(iter(kinds)) not in FORMATS:
        raise _Lacks("its tensors have several formats, or integers")
    if any(isinstance(v, torch.Tensor) and not v.is_cpu for v in values):
        raise _Lacks("its tensors are not on the CPU")
    return next(iter(kinds))


def _array(value: Any) -> Any:
    return as_array(value) if isinstance(value, torch.Tensor) else float(value)


def _held(value: Any, dtype: torch.dtype) -> bool:
    """Whether a number is one of the format."""
    return isinstance(value, torch.Tensor) or same_number(float(value), dtype) is not None


def _unary(name: str) -> Callable[..., Any]:
    def function(at: _Place, x: torch.Tensor) -> Any:
        _format(x)
        return at.elementwise(name, as_array(x))

    return function


def _sum(sign: int) -> Callable[..., Any]:
    def function(at: _Place, x: Any, y: Any, *, alpha: Any = 1) -> Any:
        dtype = _format(x, y)
        if alpha == 1 and _held(x, dtype) and _held(y, dtype):
            return at.elementwise("add" if sign > 0 else "subtract", *_numbers(dtype, x, y))
        made = None
        if isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor):
            made = at.formula("plus", sign * alpha, x, y)
        elif isinstance(x, torch.Tensor) and alpha == 1:
            made = at.formula("added", sign * y, x)
        if made is not None:
            return made
        return at.combination((_array(x), 1.0), (_array(y), sign * float(alpha)), dtype=FORMATS[dtype])

    return function


def _numbers(dtype: torch.dtype, *values: Any) -> list[Any]:
    """Arrays; Python's numbers as scalars of the format, which holds them."""
    return [as_array(v) if isinstance(v, torch.Tensor) else np.asarray(v, FORMATS[dtype]) for v in values]


def _multiply(at: _Place, x: Any, y: Any) -> Any:
    dtype = _format(x, y)
    if _held(x, dtype) and _held(y, dtype):
        return at.elementwise("multiply", *_numbers(dtype, x, y))
    tensor, number = (x, y) if isinstance(x, torch.Tensor) else (y, x)
    quick = at.formula("scaled", number, tensor)
    if quick is not None:
        return quick
    a, b = _array(x), _array(y)
    made = at.combination((a, b), dtype=FORMATS[dtype])
    exact_zero = (np.asarray(a) == 0) | (np.asarray(b) == 0)  # a product has the sign of its factors, a sum of zeros has none
    negative = np.signbit(np.asarray(a, np.float64)) ^ np.signbit(np.asarray(b, np.float64))
    return np.where(exact_zero & negative & (made == 0), np.asarray(-0.0, made.dtype), made)


def _divide(at: _Place, x: Any, y: Any) -> Any:
    dtype = _format(x, y)
    if _held(x, dtype) and _held(y, dtype):
        return at.elementwise("divide", *_numbers(dtype, x, y))
    if dtype is torch.float64:
        raise _Lacks("a divisor is no number of the format")
    over = isinstance(x, torch.Tensor)
    made = at.formula("over" if over else "under", y if over else x, x if over else y)
    if made is not None:
        return made
    wide = np.asarray(_array(x), np.float64), np.asarray(_array(y), np.float64)
    with np.errstate(all="ignore"):
        nearest = np.asarray(repmath.divide(*wide)).astype(FORMATS[dtype])  # of infinities, NaN and zeros
    return _stochastic_rows.divide(at, nearest, x, y)


def _reciprocal(at: _Place, x: torch.Tensor) -> Any:
    return _divide(at, 1, x)


def _power(at: _Place, x: torch.Tensor, exponent: Any) -> Any:
    dtype = _format(x)
    if exponent == 2:
        return at.elementwise("multiply", as_array(x), as_array(x))
    if not _held(exponent, dtype):
        raise _Lacks("an exponent is no number of the format")
    return at.elementwise("pow", *_numbers(dtype, x, exponent))


def _polygamma(at: _Place, n: int, x: torch.Tensor) -> Any:
    if n:
        raise _Lacks("it is")
    return _unary("digamma")(at, x)


def _gelu(at: _Place, x: torch.Tensor, *, approximate: str = "none") -> Any:
    _format(x)
    return at.elementwise("gelu" if approximate == "none" else "gelu_tanh", as_array(x))


def _gelu_backward(at: _Place, g: torch.Tensor, x: torch.Tensor, *, approximate: str = "none") -> Any:
    _format(g, x)
    return at.elementwise("gelu_backward" if approximate == "none" else "gelu_tanh_backward", as_array(g), as_array(x))


def _function(name: str, names: str) -> Callable[..., Any]:
    """A function of tensors and numbers that their format holds."""

    def function(at: _Place, *values: Any, **more: Any) -> Any:
        given = dict(zip(names.split(), values, strict=False)) | more
        held = [given[n] for n in names.split() if n != "buffer"]
        dtype = _format(*held)
        if not all(_held(v, dtype) for v in held):
            raise _Lacks("a number that its format does not hold is")
        return at.elementwise(name, *_numbers(dtype, *held))

    return function


def _log_sigmoid(at: _Place, x: torch.Tensor) -> Any:
    """With PyTorch's buffer, which is empty."""
    _format(x)
    return at.elementwise("log_sigmoid", as_array(x)), np.empty(0, as_array(x).dtype)


def _slope(g: Any, y: Any, sigmoid: bool) -> Any:
    return g * y * (1.0 - y) if sigmoid else g * (1.0 - y * y)


def _of_result(at: _Place, g: torch.Tensor, y: torch.Tensor, sigmoid: bool) -> Any:
    """The gradient of tanh, g (1 - y²), or of the sigmoid, g y (1 - y): products of two numbers are exact in binary64."""
    dtype = _format(g, y)
    if dtype is torch.float64:
        a, b = np.broadcast_arrays(as_array(g), as_array(y))
        with np.errstate(all="ignore"):
            nearest = _slope(a, b, sigmoid)  # of infinities and NaN
        return _stochastic_rows.elementwise(at, nearest, lambda g, y: _slope(g, y, sigmoid), a, b)
    made = at.formula("sigmoid" if sigmoid else "tanh", 0, g, y)
    if made is not None:
        return made
    a, b = np.broadcast_arrays(_array(g).astype(np.float64), _array(y).astype(np.float64))
    with np.errstate(all="ignore"):
        pairs = ((a, b), (-(a * b), b)) if sigmoid else ((a, 1.0), (-a, b * b))
    return at.combination(*pairs, dtype=FORMATS[dtype])


def _decided(name: str) -> Callable[..., Any]:
    """A formula of a number and tensors, where binary64 decides all of it."""

    def function(at: _Place, *tensors: torch.Tensor, value: Any = 1) -> Any:
        _format(*tensors)
        made = at.formula(name, value, *tensors)
        if made is None:
            raise _Lacks("it is")  # its formula in _stochastic_rows takes over
        return made

    return function


def _softplus(at: _Place, *tensors: torch.Tensor, beta: Any) -> Any:
    """Or its gradient, of g and x. PyTorch's threshold changes nothing here."""
    _format(*tensors)
    if beta != 1:
        raise _Lacks("of another beta than 1 it is")
    return at.elementwise("softplus" if len(tensors) == 1 else "softplus_backward", *(as_array(t) for t in tensors))


def _silu_backward(at: _Place, g: torch.Tensor, x: torch.Tensor) -> Any:
    _format(g, x)
    return at.elementwise("silu_backward", as_array(g), as_array(x))


def _total(at: _Place, x: torch.Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    wanted = FORMATS[_format(x) if dtype is None else dtype]
    axes = None if dim is None or (isinstance(dim, (list, tuple)) and not dim) else dim
    return at.total(as_array(x), tuple(axes) if isinstance(axes, list) else axes, keepdim, wanted)


def _mean(at: _Place, x: torch.Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    wanted = FORMATS[_format(x) if dtype is None else dtype]
    array = as_array(x)
    axes = _axes(array, None if dim == [] else dim)
    n = int(np.prod([array.shape[d] for d in axes], dtype=np.int64))
    if n == 0 or n & (n - 1):
        if n == 0 or dtype is not None:
            raise _Lacks("a mean over a number that is no power of two, to another format, is")
        nearest = as_array(torch.ops.aten.mean.dim(x, list(axes), keepdim))
        return _stochastic_rows.mean(at, nearest, x, axes)
    kept = [d for d in range(array.ndim) if d not in axes]
    rows = array.transpose(*kept, *axes).reshape(-1, n).astype(np.float64)
    made = at.product(rows, np.full((n, 1), 1.0 / n), wanted)
    shape = [1 if d in axes else s for d, s in enumerate(array.shape)] if keepdim else [array.shape[d] for d in kept]
    return made.reshape(shape)


def _matmul(at: _Place, a: torch.Tensor, b: torch.Tensor) -> Any:
    dtype = _format(a, b)
    return at.products(as_array(a), as_array(b), FORMATS[dtype])


def _addmm(at: _Place, bias: torch.Tensor, a: torch.Tensor, b: torch.Tensor, *, beta: Any = 1, alpha: Any = 1) -> Any:
    dtype = _format(bias, a, b)
    if beta != 1 or alpha != 1:
        raise _Lacks("factors other than 1 are")
    return at.products(as_array(a), as_array(b), FORMATS[dtype], as_array(bias))


def _linear(at: _Place, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> Any:
    dtype = _format(x, weight) if bias is None else _format(x, weight, bias)
    return at.products(
        as_array(x), as_array(weight).swapaxes(-1, -2), FORMATS[dtype], None if bias is None else as_array(bias)
    )


def _baddbmm(at: _Place, bias: torch.Tensor, a: torch.Tensor, b: torch.Tensor, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return _addmm(at, bias, a, b, beta=beta, alpha=alpha)


def _copy(at: _Place, into: torch.Tensor, x: torch.Tensor, non_blocking: bool = False) -> Any:
    """To a wider format, or its own, a copy rounds nothing; nor does one of integers that the format holds, or to integers."""
    if _stochastic_eight.is_one(into.dtype) and into.dtype is not x.dtype and not x.is_complex():
        at.into = None
        wide = x.expand(into.shape)
        return into.copy_(_stochastic_eight.rounded(at, wide.to(into.dtype), wide))
    if _stochastic_eight.is_one(x.dtype) and into.dtype in FORMATS:
        at.into = None
        return into.copy_(x)
    if into.dtype not in FORMATS or (not x.is_floating_point() and _stochastic_rows.held(x, into.dtype)):
        at.into = None
        return into.copy_(x)
    kinds = x.dtype in FORMATS or not x.is_floating_point()
    if not kinds or (into.dtype is not x.dtype and into.dtype.itemsize < 8 and x.dtype.itemsize <= into.dtype.itemsize == 2):
        raise _Lacks("from this format it is")
    at.into = None
    if into.dtype is x.dtype or into.dtype.itemsize > x.dtype.itemsize:
        return into.copy_(x)
    wide = x.expand(into.shape)
    nearest = as_array(wide.to(into.dtype))
    return into.copy_(as_tensor(_stochastic_rows.convert(at, nearest, wide)))


def _rounds_nothing(x: Any, made: Any) -> bool:
    """Whether a copy has the numbers of x, in their format or a wider one."""
    if not isinstance(x, torch.Tensor) or not isinstance(made, torch.Tensor):
        return False
    known = x.dtype in FORMATS or _stochastic_eight.is_one(x.dtype)
    wider = known and made.dtype in FORMATS and made.dtype.itemsize > x.dtype.itemsize
    return made.dtype is x.dtype or wider


def _products(at: _Place, dtype: torch.dtype) -> Callable[..., Any]:
    return lambda a, b, bias: at.products(a, b, FORMATS[dtype], bias)


def _plain(*arrays: Any) -> None:
    with np.errstate(all="ignore"):
        if not all(np.isfinite(a.sum()) or np.isfinite(a).all() for a in arrays):
            raise _Lacks("of infinities and NaN it is")  # padding must not meet them


def _convolved(
    at: _Place,
    what: str,
    first: Any,
    second: Any,
    bias: Any,
    shape: Any,
    steps: Any,
    groups: int,
    here: Any,
    there: Any,
    kernel: Any,
) -> Any:
    """A convolution from `here` to `there`, shapes of arrays, or a gradient of it, of this shape, in a format below binary64."""
    stride, padding, dilation = ([int(n) for n in each] for each in steps)
    after = [  # so much that the sizes are those of `there`
        (m - 1) * s + d * (k - 1) + 1 - n - p
        for m, s, d, k, n, p in zip(there[2:], stride, dilation, kernel, here[2:], padding, strict=True)
    ]
    made = np.empty(shape, first.dtype)
    sizes = (here[0], here[1], there[1], groups), here[2:], kernel, stride, dilation, padding, after
    words = at.words
    place = _random_modes.place(words["mode"], words["seed"], words["stream"])
    if made.size:
        _core.convolve(what, NAMES[made.dtype], sizes, first, second, bias, made, place)
    return made


def _each(x: Any, *sizes: Any) -> list[Any]:
    """Sizes of each axis; one stands for all."""
    return [list(v) * (x.ndim - 2) if len(v) == 1 else list(v) for v in sizes]


def _convolution(
    at: _Place,
    x: Any,
    w: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    out_padding: Any,
    groups: int,
) -> Any:
    dtype = _format(x, w) if bias is None else _format(x, w, bias)
    a, b, add = as_array(x), as_array(w), None if bias is None else as_array(bias)
    _plain(a, b)
    stride, padding, dilation, out_padding = _each(x, stride, padding, dilation, out_padding)
    taps = [e * (k - 1) for e, k in zip(dilation, w.shape[2:], strict=True)]
    each = zip(x.shape[2:], stride, padding, taps, strict=True)
    if transposed:
        sizes = [(n - 1) * s - 2 * p + t + o + 1 for (n, s, p, t), o in zip(each, out_padding, strict=True)]
        shape = (x.shape[0], w.shape[1] * groups, *sizes)
    else:
        shape = (x.shape[0], w.shape[0], *((n + 2 * p - t - 1) // s + 1 for n, s, p, t in each))
    if dtype is not torch.float64 and at.block.terms is None and at.by_words:
        steps, kernel = (stride, padding, dilation), tuple(w.shape[2:])
        if transposed:
            return _convolved(at, "grad_input", a, b, add, shape, steps, groups, shape, a.shape, kernel)
        return _convolved(at, "forward", a, b, add, shape, steps, groups, a.shape, shape, kernel)
    step = (stride, padding, dilation, groups)
    if transposed:
        return _random_convolution.grad_input(_products(at, dtype), a, b, shape, *step, add)
    return _random_convolution.forward(_products(at, dtype), a, b, add, *step)


def _convolution_backward(
    at: _Place, g: Any, x: Any, w: Any, bias_sizes: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
    out_padding: Any, groups: int, mask: Any,
) -> Any:  # fmt: skip
    dtype = _format(g, x, w)
    a, b, c = as_array(g), as_array(x), as_array(w)
    _plain(a, b, c)
    stride, padding, dilation = _each(x, stride, padding, dilation)
    step = (stride, padding, dilation, groups)
    narrow, kernel = dtype is not torch.float64 and at.block.terms is None and at.by_words, tuple(w.shape[2:])

    def of_x() -> Any:
        if narrow and transposed:
            return _convolved(at, "forward", a, c, None, b.shape, step[:3], groups, a.shape, b.shape, kernel)
        if narrow:
            return _convolved(at, "grad_input", a, c, None, b.shape, step[:3], groups, b.shape, a.shape, kernel)
        if transposed:
            return _random_convolution.forward(_products(at, dtype), a, c, None, *step)
        return _random_convolution.grad_input(_products(at, dtype), a, c, b.shape, *step)

    def of_weight() -> Any:
        pair = (b, a) if transposed else (a, b)
        if narrow:
            out, source = pair
            return _convolved(
                at, "grad_weight", source, out, None, c.shape, step[:3], groups, source.shape, out.shape, kernel
            )
        return _random_convolution.grad_weight(_products(at, dtype), *pair, c.shape, *step)

    gradients = (of_x, of_weight, lambda: _total(at, g, [0, *range(2, g.ndim)]))
    found: list[Any] = [None, None, None]
    for i in (i for i in range(3) if mask[i]):
        if any(v is not None for v in found):
            at.next()
        found[i] = gradients[i]()
    return tuple(found)


_UNARY = "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc sqrt rsqrt sigmoid silu log_sigmoid"

HANDLERS: dict[str, Callable[..., Any]] = {
    **{f"{name}{mark}.default": _unary(name) for name in _UNARY.split() for mark in ("", "_")},
    **{f"add{mark}.{kind}": _sum(1) for mark in ("", "_") for kind in ("Tensor", "Scalar")},
    **{f"sub{mark}.{kind}": _sum(-1) for mark in ("", "_") for kind in ("Tensor", "Scalar")},
    **{f"mul{mark}.{kind}": _multiply for mark in ("", "_") for kind in ("Tensor", "Scalar")},
    **{f"div{mark}.{kind}": _divide for mark in ("", "_") for kind in ("Tensor", "Scalar")},
    "reciprocal.default": _reciprocal,
    "pow.Tensor_Scalar": _power,
    "reciprocal_.default": _reciprocal,
    **{f"rsub.{kind}": lambda at, x, y, alpha=1: _sum(-1)(at, y, x, alpha=alpha) for kind in ("Tensor", "Scalar")},
    **{f"{name}{mark}.default": _unary(name) for name in ("digamma", "erfinv", "lgamma") for mark in ("", "_")},
    **{f"special_{name}.default": _unary(name) for name in ("entr", "erfcx", "log_ndtr", "ndtri")},
    **{f"{name}{mark}.default": _function(name, "x y") for name in ("atan2", "hypot") for mark in ("", "_")},
    "logaddexp.default": _function("logaddexp", "x y"),
    "special_xlog1py.default": _function("xlog1py", "x y"),
    **{f"xlogy{mark}.{kind}": _function("xlogy", "x y") for mark in ("", "_") for kind in ("Tensor", "Scalar_Other")},
    "xlogy.Scalar_Self": _function("xlogy", "x y"),
    **{f"pow{mark}.Tensor_Tensor": _function("pow", "x y") for mark in ("", "_")},
    "pow_.Tensor": _function("pow", "x y"),
    "pow_.Scalar": _power,
    "pow.Scalar": _function("pow", "x y"),
    "polygamma.default": _polygamma,
    "polygamma_.default": lambda at, x, n: _polygamma(at, n, x),
    "log_sigmoid_forward.default": _log_sigmoid,
    "log_sigmoid_backward.default": _function("log_sigmoid_backward", "g x buffer"),
    "gelu_.default": _gelu,
    "gelu.default": _gelu,
    "gelu_backward.default": _gelu_backward,
    "silu_backward.default": _silu_backward,
    "softplus.default": lambda at, x, beta=1, threshold=20: _softplus(at, x, beta=beta),
    "softplus_backward.default": lambda at, g, x, beta, threshold: _softplus(at, g, x, beta=beta),
    "tanh_backward.default": lambda at, g, y: _of_result(at, g, y, False),
    "sigmoid_backward.default": lambda at, g, y: _of_result(at, g, y, True),
    **{f"addcmul{mark}.default": _decided("product") for mark in ("", "_")},
    **{f"addcdiv{mark}.default": _decided("quotient") for mark in ("", "_")},
    **{f"lerp{mark}.Scalar": lambda at, x, y, weight: _decided("between")(at, x, y, value=weight) for mark in ("", "_")},
    "sum.default": _total,
    "sum.dim_IntList": _total,
    "mean.default": _mean,
    "mean.dim": _mean,
    "mm.default": _matmul,
    "bmm.default": _matmul,
    "mv.default": _matmul,
    "dot.default": _matmul,
    "addmm.default": _addmm,
    "linear.default": _linear,
    "baddbmm.default": _baddbmm,
    "copy_.default": _copy,
    "convolution.default": _convolution,
    "convolution_backward.default": _convolution_backward,
    **_stochastic_resize.HANDLERS,
}


def _own(name: str) -> Callable[..., Any]:
    def function(at: _Place, *tensors: torch.Tensor) -> Any:
        _format(*tensors)
        return at.elementwise(name, *(as_array(t) for t in tensors))

    return function


HANDLERS |= {f"repmath::{name}.default": _own(name) for name in repmath._core.ufuncs if hasattr(rounding, name)}
HANDLERS |= {"repmath::matmul.default": _matmul, **_stochastic_draws.HANDLERS}
FORMULAS: dict[str, Callable[..., Any]] = {
    **_stochastic_rows.HANDLERS,
    **_stochastic_statistics.HANDLERS,
    **_stochastic_draws.FORMULAS,
}


class stochastic:
    """Inside, PyTorch's operators round at random, or in one direction: `with repmath.torch.stochastic(seed=0, sample=3):`.

    The block is one of `reproducible()`; what it computes is the same on every machine, for each sample. Operators that only
    move elements, and random numbers, are those of `reproducible()`; quotients of dropout and products of rrelu are rounded. Each array that is rounded has a number, in program order, and
    its elements have the words of stream sample * 2**32 + that number (specification section 1a).

    Parameters
    ----------
    seed : int
        From 0 to 2**64 - 1.
    sample : int
        From 0 to 2**32 - 1: samples are independent.
    mode : {"stochastic", "random", "up_down", "toward_zero", "down", "up"}
        up_down has every operator that returns its results, the others those that docs/studies.md names: nearly all that `reproducible()` has. The last
        three ask no words: an operator that rounds once gives the nearest number of the format on that side of its exact value.
    only, exclude : str or iterable of str
        Names of operators with their overloads, such as ``"mm.default"`` or ``"add*"``, or of layers, such as ``"encoder.*"`` or ``"*.norm"``. Others round
        to nearest; they keep their numbers, so that a filter changes no word of the rest.
    phases : str or iterable of str
        Of "forward", "backward" and "step" (an optimiser's): operators of the other phases round to nearest and keep their numbers.
    where : callable, optional
        Of a `Rounding` (number, operator, phase, layer); one that it returns False for rounds to nearest and keeps its numbers. Operators that
        the filters above leave out are not asked about.
    sums : "exact" or int
        An integer of at least 1: sums over axes, matrix products and convolutions round their running sum after every so many terms, in its format, as
        128 models the blocks of float32 kernels. Means, norms, softmax, losses and sums by index have one rounding always; so have products with
        factors (`alpha`, `beta`), addmv, addbmm and vdot, the sums, convolutions and `linear` of repmath.torch.functional, and up_down.
    strict : bool
        True: an operator that rounds and lacks the mode raises `UncoveredOperatorError`. False: it rounds to nearest and is counted in
        `uncovered`.

    Attributes
    ----------
    calls : int
        How many arrays were rounded.
    uncovered : Counter
        Operators that rounded to nearest, with `strict=False`.
    """

    def __init__(
        self,
        seed: int = 0,
        sample: int = 0,
        mode: str = "stochastic",
        *,
        only: Any = ("*",),
        exclude: Any = (),
        phases: Any = PHASES,
        where: Callable[[Rounding], bool] | None = None,
        sums: str | int = "exact",
        strict: bool = True,
    ) -> None:
        if not isinstance(mode, str) or mode not in _random_modes.MODES:
            raise ValueError(f"mode must be one of {', '.join(_random_modes.MODES)}, not {mode!r}")
        if not isinstance(strict, bool):
            raise TypeError(f"strict must be True or False, not {strict!r}")
        self.seed, self.sample, self.mode = _number("seed", seed, 64), _number("sample", sample, 32), mode
        if where is not None and not callable(where):
            raise TypeError(f"where must be callable, not {type(where).__name__}")
        self.only, self.exclude, self.strict = _patterns("only", only), _patterns("exclude", exclude), strict
        self.phases, self.where = _phases(phases), where
        self.terms = None if sums == "exact" else _terms(sums)
        if self.terms is not None and mode == "up_down":
            raise ValueError('sums must be "exact" where mode is "up_down"')
        self._all = self.only == ("*",) and not self.exclude and set(self.phases) == set(PHASES) and where is None
        self._direct = self._all and mode == "stochastic" and self.terms is None
        self._places = Places()
        self.calls = 0
        self.uncovered: Counter[str] = Counter()
        self._blocks: list[tuple[reproducible, _Mode, _blocks.Home]] = []

    def __enter__(self) -> "stochastic":
        block, mode = reproducible(), _Mode(self)
        block.__enter__()
        home = _blocks.own()
        assert home is not None
        try:
            home.round_by(mode)
        except BaseException:
            block.__exit__()
            raise
        if not self._blocks:
            self.calls = 0  # a block that is entered again computes the same
            if not self._all:
                self._places.__enter__()
        self._blocks.append((block, mode, home))
        return self

    def __exit__(self, *exception: Any) -> None:
        block, mode, home = self._blocks.pop()
        if not self._blocks:
            if not self._all:
                self._places.__exit__(*exception)
        try:
            home.stop_rounding_by(mode)
        finally:
            block.__exit__(*exception)

    def _takes(self, name: str, number: int) -> bool:
        if self._all:
            return True
        phase, layer = self._places.here()

        def found(patterns: tuple[str, ...]) -> bool:
            return any(fnmatch.fnmatchcase(name, p) or (layer and fnmatch.fnmatchcase(layer, p)) for p in patterns)

        if phase not in self.phases or not found(self.only) or found(self.exclude):
            return False
        return self.where is None or bool(self.where(Rounding(number, name, phase, layer)))

    def _lacks(self, name: str, reason: str) -> None:
        if self.strict:
            raise UncoveredOperatorError(f"aten.{name}", call_site(), f"under {self.mode} rounding {reason} not there")
        self.uncovered[f"{name}: {reason} not there"] += 1


def _attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False, *,
    scale: float | None = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    """Attention as PyTorch composes it, since each step rounds; a mask of truth values is what PyTorch makes of it."""
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        attn_mask = torch.zeros_like(attn_mask, dtype=query.dtype).masked_fill(attn_mask.logical_not(), float("-inf"))
    options = {"scale": scale, "enable_gqa": enable_gqa}
    return torch.ops.aten._scaled_dot_product_attention_math(
        query, key, value, attn_mask, dropout_p, is_causal, None, **options
    )[0]


_dispatch_key.register_steps({"scaled_dot_product_attention": _attention})


class _Mode(TorchDispatchMode):
    """Sees every operator before the library does: by the library's key, or as a mode above the library's."""

    def __init__(self, block: stochastic) -> None:
        super().__init__()
        self.block = block

    about = About

    def called(self, dispatch: _core.Dispatch, about: About, args: Any, kwargs: Any, simple: bool) -> Any:
        """What an operator returns that may round, of plain tensors of the CPU: where that is simple, there are some, and all are of one of the
        formats. Those that are called meanwhile are rounded to nearest by `dispatch`, or by blocks around this one."""
        block, func, name = self.block, about.func, about.name
        assert name is not None
        if not simple or about.makes or "dtype" in kwargs or "out" in kwargs:
            return self._handled(about, name, args, kwargs)
        if not about.rounds:
            return func(*args, **kwargs)
        number = block.calls
        if about.direct is not None and block._direct and number < 2**32:
            made = _stochastic_direct.made(about, block, args, kwargs)
            if made is not NotImplemented:
                block.calls = number + 1
                return made
        if block.mode != "up_down" or not block._all or not about.moves or number >= 2**32:
            return self._numbered(name, number, func, args, kwargs, of_complex=any(isinstance(v, complex) for v in args))
        try:
            made = func(*args, **kwargs) if dispatch.rounding else dispatch.nearest(func, args, kwargs)
            if _core.tensor_steps(made, block.seed, (block.sample << 32) + number):
                block.calls = number + about.least
                return made
            self._perturbed(_Place(block), name, made)
        except BaseException:
            block.calls = number + 1
            raise
        block.calls = number + max(about.least, sum(1 for _ in _tensors(made)))
        return made

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs, about = kwargs or {}, About(func)
        return func(*args, **kwargs) if about.name is None else self._handled(about, about.name, args, kwargs)

    def _handled(self, about: About, name: str, args: Any, kwargs: Any) -> Any:
        block, func, rounds = self.block, about.func, about.rounds
        if (base := _stochastic_complex.without_out(func, kwargs)) is not None:
            other = About(base)
            made = self._handled(other, str(other.name), args, {k: v for k, v in kwargs.items() if k != "out"})
            return _stochastic_complex.written(kwargs["out"], made)
        of_sparse = _stochastic_steps.is_sparse(name, rounds, args)
        of_complex = about.may_be_complex and _stochastic_complex.takes(func, args, kwargs)
        if not rounds and not of_complex and not of_sparse:
            return func(*args, **kwargs)
        if not of_complex and not any(True for _ in _tensors((args, list(kwargs.values())))):
            made = func(*args, **kwargs)  # of integers, or of none
            if not any(t.is_cpu for t in _tensors(made)):
                return made
            if block.mode != "up_down" and name != "_to_copy.default":
                args, kwargs = _stochastic_complex.as_floats(made, args, kwargs)
        return self._numbered(name, block.calls, func, args, kwargs, of_sparse, of_complex)

    def _numbered(
        self, name: str, number: int, func: Any, args: Any, kwargs: Any, of_sparse: bool = False, of_complex: bool = False
    ) -> Any:
        block = self.block
        try:
            if of_sparse:
                made = self._sparse(_Place(block), name, number, func, args, kwargs)
            else:
                made = self._rounded(_Place(block), name, number, func, args, kwargs, of_complex)
        except BaseException:
            block.calls = number + 1
            raise
        # Each array has a number, however it was rounded; those of a list that was changed in place, and those between the steps of a call, too.
        count = sum(1 for _ in _stochastic_complex.results(args[0] if made is None else made))
        least = 4 * count if name.startswith("_fused_") else _stochastic_resize.ROUNDINGS.get(name, 1)
        block.calls = number + max(least, count)
        return made

    def _rounded(self, at: _Place, name: str, number: int, func: Any, args: Any, kwargs: Any, of_complex: bool) -> Any:
        block = self.block
        if not block._takes(name, number):
            return func(*args, **kwargs)
        if name in _stochastic_steps.WRITE and (block.mode != "up_down" or name in _stochastic_steps.OPTIMISERS):
            return self._written(at, name, func, args, kwargs)
        if block.mode == "up_down":
            made = func(*args, **kwargs)
            if made is None and name.startswith("_fused_adagrad_"):
                return _stochastic_steps.moved(at, kwargs.get("found_inf"), args[0], args[2])
            if made is None and name.startswith(("_foreach_", "_amp_foreach_")):
                self._perturbed(at, name, args[0])
                return None
            if (
                name in _stochastic_operators.COPIES
                and len(args) > (name == "copy_.default")
                and _rounds_nothing(args[name == "copy_.default"], made)
            ):
                return made
            if isinstance(made, torch.Tensor) and _stochastic_eight.is_one(made.dtype):
                return _stochastic_eight.moved(at, made)
            return self._perturbed(at, name, made)
        if name.startswith("_foreach_"):
            return self._list(at, name, func, args, kwargs)
        one = self._complex if of_complex else self._one
        if not name.split(".")[0].endswith("_"):
            return one(at, name, func, args, kwargs)
        at.into = args[0]
        made = one(at, name, func, args, kwargs)
        if made is not args[0]:
            args[0].copy_(made)
        return args[0]

    def _sparse(self, at: _Place, name: str, number: int, func: Any, args: Any, kwargs: Any) -> Any:
        block = self.block
        if not block._takes(name, number):
            return func(*args, **kwargs)
        if _stochastic_steps.sparse_function(func) is None:
            block._lacks(name, "of sparse tensors it is")
            return func(*args, **kwargs)
        if block.mode == "up_down":
            return self._perturbed(at, name, func(*args, **kwargs))
        try:
            return _stochastic_steps.of_sparse(at, func, args, kwargs)
        except (_Lacks, Uncovered) as error:
            block._lacks(name, f"of {error} it is")
            return func(*args, **kwargs)

    def _complex(self, at: _Place, name: str, func: Any, args: Any, kwargs: Any) -> Any:
        try:
            return _stochastic_complex.rounded(at, func, args, kwargs)
        except (_Lacks, Uncovered) as error:
            self.block._lacks(name, f"of {error} it is")
            return func(*args, **kwargs)

    def _list(self, at: _Place, name: str, func: Any, args: Any, kwargs: Any) -> Any:
        """A call of many tensors as one call for each, where that is there."""
        block = self.block
        base, _, overload = name.removeprefix("_foreach_").partition(".")
        inplace = base.endswith("_")
        if base.removesuffix("_") in _stochastic_lists.SELECTS:
            return func(*args, **kwargs)
        single = _stochastic_lists.single(base, overload)
        if single is None:
            block._lacks(name, "it is")
            return func(*args, **kwargs)
        made = []
        for i, (each, values, keywords) in enumerate(_stochastic_lists.each(single, args, kwargs)):
            if i > 0:
                at.next()
            before = block.calls
            at.into = args[0][i] if inplace else None
            made.append(self._one(at, single, each, values, keywords))
            block.calls = before
        if not inplace:
            return made
        for old, new in zip(args[0], made, strict=True):
            if new is not old:
                old.copy_(new)
        return None

    def _written(self, at: _Place, name: str, func: Any, args: Any, kwargs: Any) -> Any:
        """An operator that writes into its arguments itself."""
        try:
            return _stochastic_steps.written(at, func, args, kwargs)
        except _Lacks as error:
            reason = str(error)
        except Uncovered as error:
            reason = f"of {error} it is"
        self.block._lacks(name, reason)
        return func(*args, **kwargs)

    def _one(self, at: _Place, name: str, func: Any, args: Any, kwargs: Any) -> Any:
        """The results of a call: of its handler, of its formula, or rounded to nearest."""
        handler, formula = HANDLERS.get(name), FORMULAS.get(name)
        reason, nearest, inplace = "it is", None, name.split(".")[0].endswith("_")
        if handler is not None:
            try:
                return _as_tensors(handler(at, *args, **kwargs))
            except _Lacks as error:
                reason = str(error)
        quick = _stochastic_quick.HANDLERS.get(name)
        if quick is not None and not kwargs:
            words, calls = at.words, self.block.calls
            try:
                if name in _stochastic_quick.WRITES and args[3] is not None and args[5]:
                    nearest = func(*args)
                return _as_tensors(quick(at, *args))
            except _stochastic_quick.Slow:
                at.words, self.block.calls = words, calls
        if formula is not None:
            try:
                if nearest is None:
                    nearest = func(args[0].clone() if inplace else args[0], *args[1:], **kwargs)
                if isinstance(nearest, torch.Tensor) and _stochastic_eight.is_one(nearest.dtype):
                    return nearest if nearest.dtype is args[0].dtype else _stochastic_eight.rounded(at, nearest, args[0])
                if not args[0].numel() or not any(t.numel() for t in _tensors(nearest)):
                    return nearest
                if name == "_to_copy.default":
                    wanted, given = nearest.dtype, args[0].dtype
                    if wanted not in FORMATS or wanted is given or wanted.itemsize > given.itemsize:
                        return nearest
                else:
                    _format(*_tensors((args, list(kwargs.values()))))
                return _as_tensors(formula(at, _as_arrays(nearest), *args, **kwargs))
            except _Lacks as error:
                reason = str(error)
        if nearest is None:
            nearest = func(args[0].clone() if inplace else args[0], *args[1:], **kwargs)
        if _stochastic_wide.has(name):
            words, calls = at.words, self.block.calls
            try:
                return _as_tensors(_stochastic_wide.rounded(at, name, func, args, kwargs, nearest))
            except Unknown as error:
                at.words, self.block.calls = words, calls
                reason = str(error) if reason == "it is" else reason
        elif (matrices := _stochastic_matrices.function_of(func)) is not None:
            try:
                return _stochastic_matrices.rounded(at, matrices, nearest, args, kwargs)
            except Refused as error:
                reason = f"of matrices {error} it is"
        elif _stochastic_steps.has(name):
            try:
                return _stochastic_steps.rounded(at, func, args, kwargs)
            except _Lacks as error:
                reason = str(error)
            except Uncovered as error:
                reason = f"of {error} it is"
        self.block._lacks(name, reason)
        return nearest

    def _perturbed(self, at: _Place, name: str, made: Any) -> Any:
        found = list(_stochastic_complex.results(made))
        if made is None:
            self.block._lacks(name, "an operator without a result is")
        for i, result in enumerate(found):
            if i > 0:
                at.next()
            for r, part in enumerate(_stochastic_complex.parts_of(_stochastic_steps.values_of(result))):
                array, stream = as_array(part), at.words["stream"]
                stream = _random_modes.part(stream, r * _random_modes.APART) if r else stream
                moved = _random_modes.up_down(array, at.words["seed"], stream, own=True)
                if moved is not array:
                    array[...] = moved
        return made
