"""sum, dot and matmul: exact sums, rounded once. Arguments are normalised here; the C library computes."""

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.typing import ArrayLike, DTypeLike

from . import _core, _dlpack, _scope
from ._arguments import integers
from ._blocks import BLOCK, finite_terms, halves, row_sums, short_rows, sums_in_blocks
from ._dtypes import F32, F64, FORMATS, NAMES, beyond_f64, check, common, is_integer
from ._environment import guarded
from ._memory import asarray, is_array, on_device
from ._narrow import narrow
from ._sums import over_axes

_sum = _core.gufuncs["sum"]
_dot = _core.gufuncs["dot"]
_matmul = _core.gufuncs["matmul"]
_matmul_bias = _core.gufuncs["matmul_bias"]
_same_float = _core.same_float

_ZERO = 0  # the default of `initial`, known by identity
_GATHERED = BLOCK  # float64 elements gathered at a time to decide boundary cases


def _result_dtype(dtype: DTypeLike | None, *operands: np.dtype[Any]) -> np.dtype[Any]:
    if dtype is None:
        return common(*operands)
    if isinstance(dtype, np.dtype) and dtype in NAMES:
        return dtype
    names = ", ".join(str(d) for d in FORMATS.values())
    try:
        result: np.dtype[Any] = np.dtype(dtype)
    except (TypeError, ValueError):
        raise TypeError(f"dtype must be one of {names}, not {dtype!r}") from None
    if result not in FORMATS.values():
        raise TypeError(f"dtype must be one of {names}, not {result}")
    return result


def _working(result: np.dtype[Any], *operands: np.dtype[Any]) -> np.dtype[Any]:
    """The format the C library computes in: it holds every operand exactly and is no narrower than the result."""
    small = all(d.itemsize <= 2 or d.newbyteorder("=") == F32 for d in operands)
    return F32 if small and result != F64 else F64


def _terms(a: np.ndarray, working: np.dtype[Any]) -> list[np.ndarray]:
    """Arrays of `working` whose exact sum is a: one, or two for integers that need more than 53 bits.

    Both parts of an integer have its sign, and neither is 0 unless it is: its product with an infinity is then that of each.
    """
    if beyond_f64(a):
        low = np.fmod(a, a.dtype.type(2**32))
        first, second = (a - low).astype(working), low.astype(working)
        whole = (first == 0) | (second == 0)  # of a one float64 holds the whole, and its half
        first[whole] = second[whole] = (first[whole] + second[whole]) / 2
        return [first, second]
    return [a.astype(working, copy=False)]


def sums_of_halves(x: np.ndarray, axes: tuple[int, ...], mask: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The sums of the low and of the high halves of integers of 64 bits over these axes, fewer than 2**31 of them."""
    order = "<" if x.dtype.newbyteorder("=").newbyteorder("<") == x.dtype else ">"
    halves = [("low", order + "u4"), ("high", order + x.dtype.kind + "4")]
    parts = x.view(halves if order == "<" else halves[::-1])
    chosen: Any = True if mask is None else mask
    low, high = (np.asarray(np.sum(parts[name], axis=axes, dtype=np.int64, where=chosen)) for name in ("low", "high"))
    return low, high


def _integer_terms(x: np.ndarray, axes: tuple[int, ...], mask: np.ndarray | None) -> list[np.ndarray]:
    """float64 arrays whose exact sum is that of the integers over these axes, fewer than 2**31 of them: they are added as integers, those
    of 64 bits by halves, so that no copy of them is made."""
    if x.dtype.itemsize < 8:
        chosen: Any = True if mask is None else mask
        return _terms(np.asarray(np.sum(x, axis=axes, dtype=np.int64, where=chosen)), F64)
    low, high = sums_of_halves(x, axes, mask)
    return [term * 2.0**32 for term in _terms(high, F64)] + _terms(low, F64)


def _axes(
    x: np.ndarray, axis: int | tuple[int, ...] | None, keepdims: bool
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """The reduced axes, the lengths of the others, the shape of the result."""
    axes = tuple(range(x.ndim)) if axis is None else normalize_axis_tuple(integers("axis", axis), x.ndim, "axis")
    kept = tuple(n for i, n in enumerate(x.shape) if i not in axes)
    return axes, kept, tuple(1 if i in axes else n for i, n in enumerate(x.shape)) if keepdims else kept


def _check_out(out: Any, shape: tuple[int, ...], result: np.dtype[Any]) -> None:
    """Checks arguments before anything is computed or written."""
    if not is_array(out):
        raise TypeError(f"out must be an ndarray, not {type(out).__name__}")
    if out.shape != shape:
        raise ValueError(f"out has shape {out.shape}, the result has shape {shape}")
    if not np.can_cast(result, out.dtype, "safe"):
        hint = (
            f"pass dtype={out.dtype}"
            if out.dtype in FORMATS.values()
            else f"it must be one of {', '.join(map(str, FORMATS.values()))}"
        )
        raise TypeError(f"out has dtype {out.dtype}, which does not hold the {result} result; {hint}")
    if not out.flags.writeable:
        raise ValueError("out is read-only")


def mask_of(where: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
    """`where` as an array of bool of this shape."""
    mask = np.asarray(where)
    if mask.dtype != bool:
        raise TypeError(f"where has dtype {mask.dtype}; it must be bool")
    try:
        return np.broadcast_to(mask, shape)
    except ValueError:
        raise ValueError(f"where has shape {mask.shape}, which does not broadcast to that of a, {shape}") from None


def _deliver(value: Any, out: np.ndarray | None) -> Any:
    if out is None:
        return value[()]  # a scalar when 0-d
    out[...] = value
    return out


def sum(
    a: ArrayLike,
    axis: int | tuple[int, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: np.ndarray | None = None,
    keepdims: bool = False,
    initial: Any = _ZERO,
    where: ArrayLike = True,
) -> Any:
    """Sum over axes: the exact sum, rounded once.

    Parameters
    ----------
    a : array_like
        Of float16, bfloat16, float32, float64, integers or bool, any shape.
    axis : int or tuple of ints, optional
        The axes to sum over; all by default. Negative ones count from the end.
    dtype : dtype, optional
        The format of the result: by default that of `a`, float64 for integers
        and bool. Whatever it is, the exact sum is rounded once, to it.
    out : ndarray, optional
        Where to put the result: of its shape, and of a dtype that holds it.
    keepdims : bool, optional
        Keep the summed axes, with length 1.
    initial : scalar, optional
        One more exact term of every sum.
    where : array_like of bool, optional
        Which elements are terms. Broadcast to the shape of `a`.

    Returns
    -------
    ndarray or scalar
        ``RN(initial + sum of terms)``. A sum of no terms, and every exact zero, is
        +0. A NaN term, or infinities of both signs, give NaN; otherwise an
        infinity wins. Integers count exactly, however large.

    Raises
    ------
    TypeError
        `a`, `initial`, `dtype` or `out` has a dtype that is not supported.
    ValueError
        `out` is read-only or not of the result's shape; `axis` is repeated or
        out of range (numpy.exceptions.AxisError).

    Notes
    -----
    The result does not depend on the order or the layout of the elements.

    Examples
    --------
    >>> import repmath
    >>> repmath.sum([1.0, 1e100, 1.0, -1e100]).item()
    2.0
    """
    if _scope.OPEN:
        keywords = {"axis": axis, "dtype": dtype, "out": out, "keepdims": keepdims, "initial": initial, "where": where}
        if (made := _scope.call(sum, (a,), keywords)) is not NotImplemented:
            return made
    floats = _same_float(a, a)
    x: Any = a if floats or _dlpack.kind_of(a) != _dlpack.ORDINARY else asarray(a)
    # The usual call, without the arguments' machinery.
    if axis is None and dtype is None and out is None and where is True and initial is _ZERO and not keepdims:
        if (floats or _same_float(x, x)) and x.flags.c_contiguous:
            return _sum(x.reshape(-1))
    return _sum_general(x, axis, dtype, out, keepdims, initial, where)


@guarded
def _sum_general(
    a: ArrayLike, axis: Any, dtype: Any, out: np.ndarray | None, keepdims: bool, initial: Any, where: ArrayLike
) -> Any:
    x = asarray(a)
    check("a", x.dtype)
    result = _result_dtype(dtype, x.dtype)
    axes, kept, shape = _axes(x, axis, keepdims)
    if out is not None:
        _check_out(out, shape, result)
    mask = None if where is True else mask_of(where, x.shape)
    if mask is not None and on_device(x):
        x = np.where(mask, x, np.zeros((), x.dtype))

    extra = np.asarray(initial)
    check("initial", extra.dtype)
    if extra.ndim:
        raise ValueError(f"initial must be a scalar, not an array of shape {extra.shape}")
    no_extra = bool(extra == 0)
    # A Python float that float32 holds need not make the sum a float64 one.
    fits32 = no_extra or (not is_integer(extra.dtype) and float(np.float32(extra)) == float(extra))
    working = _working(result, x.dtype) if fits32 else F64
    if on_device(x) and x.dtype == result and no_extra:
        working = result  # the sums there are rounded once to any format

    if mask is None and no_extra and not on_device(x):
        value = over_axes("sum", x, axes, result, warn=True)
        if value is not None:
            return _deliver(value.reshape(shape), out)
    count = math.prod(x.shape[i] for i in axes)
    if is_integer(x.dtype) and not on_device(x) and count < 2**31 and math.prod(kept) <= BLOCK:
        working = F64
        terms = [term[..., None] for term in _integer_terms(x, axes, mask)]
        if not no_extra:
            terms += [np.broadcast_to(t, (*kept, 1)) for t in _terms(extra, working)]
        x = np.concatenate(terms, axis=-1)
        return _deliver(np.reshape(_rounded_rows(x, working, result), shape), out)
    terms_of_extra = [] if no_extra else _terms(extra, working)
    if not on_device(x):
        others = [i for i in range(x.ndim) if i not in axes]
        order = others + sorted(axes, key=lambda i: -abs(x.strides[i]))  # the order of terms does not matter
        x, mask = x.transpose(order), None if mask is None else mask.transpose(order)
        copied = mask is not None or x.dtype != working or terms_of_extra or not _is_one_axis(x, len(kept))
        if (copied and x.size > BLOCK) or (working != result and math.prod(kept) > BLOCK):
            value = np.empty(kept, result)
            if not no_extra:
                terms_of_extra = _terms(extra, F64)
            sums_in_blocks(value, x, mask, terms_of_extra, _as_rows, lambda rows: _rounded_rows(rows, F64, result))
            return _deliver(value.reshape(shape), out)
        if mask is not None:
            x = np.where(mask, x, np.zeros((), x.dtype))
    elif len(axes) < x.ndim:
        x = np.moveaxis(x, axes, range(x.ndim - len(axes), x.ndim))
    x = x.reshape(*kept, count)
    terms = _terms(x, working) + [np.broadcast_to(t, (*kept, 1)) for t in terms_of_extra]
    x = terms[0] if len(terms) == 1 else np.concatenate(terms, axis=-1)

    return _deliver(np.reshape(_rounded_rows(x, working, result), shape), out)


def _is_one_axis(x: np.ndarray, kept: int) -> bool:
    """Whether the axes from `kept` on can be merged into one without a copy."""
    steps = [(n, step) for n, step in zip(x.shape[kept:], x.strides[kept:], strict=True) if n != 1]
    return all(step == inner * n for (_, step), (n, inner) in zip(steps[:-1], steps[1:], strict=True))


def _as_rows(x: np.ndarray, mask: np.ndarray | None, kept: int) -> np.ndarray:
    """x with the axes from `kept` on as one, the last, where the mask has it; integers in float64."""
    chosen = x if mask is None else np.where(mask, x, np.zeros((), x.dtype))
    rows = chosen.reshape(*x.shape[:kept], math.prod(x.shape[kept:]))
    if not is_integer(x.dtype):
        return rows.astype(x.dtype.newbyteorder("="), copy=False)
    terms = _terms(rows, F64)
    return terms[0] if len(terms) == 1 else np.concatenate(terms, axis=-1)


def _rounded_rows(x: np.ndarray, working: np.dtype[Any], result: np.dtype[Any]) -> Any:
    """The sums over the last axis, computed in `working`, rounded once to `result`."""
    s = row_sums(x)
    if working != result:
        s = narrow(s, result, lambda index: _sign_of_rest_of_sum(x, s, index))
    return s


def _sign_of_rest_of_sum(x: np.ndarray, s: Any, index: tuple[np.ndarray, ...]) -> np.ndarray:
    rows = x.reshape(np.atleast_1d(s).shape + x.shape[-1:])
    values = np.atleast_1d(s)[index].astype(F64)
    signs = np.empty(len(values))
    for start in range(0, len(values), max(1, _GATHERED // (x.shape[-1] + 1))):
        part = slice(start, start + max(1, _GATHERED // (x.shape[-1] + 1)))
        at = tuple(i[part] for i in index)
        if x.shape[-1] > BLOCK:
            chosen = short_rows(rows[tuple(int(i[0]) for i in at)], None, 0, _as_rows)[None]
        else:
            chosen = rows[at].astype(F64, copy=False)
        # Multiples of the smallest subnormal: the difference does not underflow, its rounding has its sign.
        signs[part] = np.sign(_sum(np.concatenate([chosen, -values[part, None]], axis=-1)))
    return signs


def matmul(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    out: np.ndarray | None = None,
    *,
    bias: ArrayLike | None = None,
    dtype: DTypeLike | None = None,
) -> Any:
    """Matrix product of two arrays: each element the exact sum of products, rounded once.

    Parameters
    ----------
    x1, x2 : array_like
        Of shapes (..., n, k) and (..., k, m), or (k,) for either; the leading
        axes broadcast, as in numpy.matmul. Of float16, bfloat16, float32,
        float64, integers or bool.
    out : ndarray, optional
        Where to put the result: of its shape, and of a dtype that holds it.
    bias : array_like, optional
        Of shape (..., m): one more exact term of each element.
    dtype : dtype, optional
        The format of the result: by default the operands' common one, float64
        for integers and bool. The exact value is rounded once, to it.

    Returns
    -------
    ndarray or scalar
        Of shape (..., n, m), without the axes that one-dimensional operands
        lack: ``RN(sum over k of x1[i,k] x2[k,j] + bias[j])``. An exact zero is +0.
        A NaN, a product 0*inf or infinities of both signs give NaN;
        otherwise an infinity wins. Integers count exactly, however large.

    Raises
    ------
    ValueError
        Shapes do not match, an operand has no axes, or `out` is read-only or
        of another shape.
    TypeError
        An operand, `dtype` or `out` has a dtype that is not supported.

    Examples
    --------
    >>> import numpy as np
    >>> import repmath
    >>> repmath.matmul(np.array([[1e100, 1.0, -1e100]]), np.ones((3, 2)))
    array([[1., 1.]])
    """
    if _scope.OPEN:
        keywords = {"out": out, "bias": bias, "dtype": dtype}
        if (made := _scope.call(matmul, (x1, x2), keywords)) is not NotImplemented:
            return made
    try:
        if bias is None and dtype is None and _same_float(x1, x2):
            if out is None:
                return _matmul(x1, x2)
            if isinstance(out, np.ndarray) and out.dtype == np.asarray(x1).dtype and not _shares_memory(out, x1, x2):
                return _matmul(x1, x2, out=out, casting="safe")
    except (ValueError, TypeError):
        shape = _check_shapes(x1, x2, None, "matmul")  # says it in the caller's names
        if out is not None:
            _check_out(out, shape, np.asarray(x1).dtype)
        raise
    return _matmul_general(x1, x2, out, bias, dtype)


def _shares_memory(out: Any, *inputs: Any) -> bool:
    """Whether out may overlap an input: NumPy's gufuncs copy for most overlaps, but not when out is an input."""
    return any(x is not None and np.may_share_memory(out, x) for x in inputs)


def _check_shapes(x1: Any, x2: Any, bias: Any, function: str) -> tuple[int, ...]:
    """The shape of the product; a ValueError that names the argument if the shapes do not match."""
    for name, x in (("x1", x1), ("x2", x2)):
        if x.ndim == 0:
            raise ValueError(f"{function}: {name} is a scalar; it must have at least one axis")
    k1, k2 = x1.shape[-1], x2.shape[-2 if x2.ndim > 1 else -1]
    if k1 != k2:
        raise ValueError(
            f"{function}: the last axis of x1 has {k1} elements but x2 has {k2} to multiply them with "
            f"(shapes {x1.shape} and {x2.shape})"
        )
    rows = x1.shape[-2:-1]
    columns = x2.shape[-1:] if x2.ndim > 1 else ()
    batches = [x1.shape[:-2], x2.shape[:-2]]
    if bias is not None:
        if columns and bias.shape[-1:] != columns:
            raise ValueError(f"{function}: bias has shape {bias.shape}; its last axis must have {columns[0]} elements")
        batches.append(bias.shape[: bias.ndim - len(columns)])
    try:
        batch = np.broadcast_shapes(*batches)
    except ValueError:
        names = "x1, x2 and bias" if bias is not None else "x1 and x2"
        raise ValueError(f"{function}: the leading axes of {names} do not broadcast: {batches}") from None
    return (*batch, *rows, *columns)


_BEYOND_BIAS = "bias holds integers beyond 2**53, which float64 does not hold; convert it to a float dtype"


def _distinct(x: np.ndarray) -> np.ndarray:
    """x with length 1 along the leading axes that it repeats."""
    return x[tuple(slice(0, 1) if step == 0 else slice(None) for step in x.strides[:-2])]


@dataclasses.dataclass(frozen=True)
class _Product:
    """A matrix product whose operands or results are to be converted, in blocks of its rows and columns; of long vectors, in blocks of
    their terms."""

    working: np.dtype[Any]
    result: np.dtype[Any]
    of_halves: bool  # integers of 64 bits may be sums of two float64 numbers: four products

    def _size(self, x: np.ndarray) -> int:
        """Elements of the converted copies."""
        return 0 if x.dtype == self.working else _distinct(x).size * (4 if self.of_halves else 1)

    def is_large(self, a: np.ndarray, b: np.ndarray, results: int) -> bool:
        """Whether more is to be converted than a block."""
        of_halves = self.of_halves and (beyond_f64(a) or beyond_f64(b))
        factor = 4 if of_halves else 1
        converted = math.prod(a.shape) * (a.dtype != self.working or of_halves) + math.prod(b.shape) * (
            b.dtype != self.working or of_halves
        )
        return converted * factor + 4 * results * (self.working != self.result) > 2 * BLOCK

    def compute(self, value: np.ndarray, a: np.ndarray, b: np.ndarray, bias: np.ndarray | None) -> None:
        """Write a b + bias into value; the leading axes of all are the same."""
        of_a, of_b = self._size(a), self._size(b)
        if self.of_halves:  # the float64 operand of an integer one is repeated
            of_a, of_b = _distinct(a).size * 4, _distinct(b).size * 4
        if of_a + of_b + 4 * value.size * (self.working != self.result) > 2 * BLOCK and value.size:
            batch = value.shape[:-2]
            if math.prod(batch) > 1:
                axis = max(range(len(batch)), key=lambda i: batch[i])
                for half in halves(batch[axis]):
                    at = (slice(None),) * axis + (half,)
                    self.compute(value[at], a[at], b[at], None if bias is None else bias[at])
                return
            rows, columns = value.shape[-2:]
            if rows > 1 and (of_a >= of_b or columns == 1):
                for half in halves(rows):
                    self.compute(value[..., half, :], a[..., half, :], b, bias)
                return
            if columns > 1:
                for half in halves(columns):
                    self.compute(value[..., half], a, b[..., half], None if bias is None else bias[..., half])
                return
            terms = self._terms_of_dot(a.reshape(-1), b.reshape(-1))
            if terms is not None:
                row = np.array([[*terms, 0.0 if bias is None else bias.reshape(-1)[0]]], F64)
                value[...] = np.reshape(_rounded_rows(row, F64, self.result), value.shape)
                return
        value[...] = _product(_distinct(a), _distinct(b), bias, self.working, self.result, None)

    def _terms_of_dot(self, x: np.ndarray, y: np.ndarray) -> list[float] | None:
        """float64 numbers whose exact sum is the dot product of vectors. None where there are none, as of a product that is not finite,
        and of float64 and another float, whose products may be no multiples of 2**-1074."""
        doubles = any(v.dtype.newbyteorder("=") == F64 for v in (x, y))
        if doubles and not any(is_integer(v.dtype) for v in (x, y)):
            return None
        total = _core.ExactSum()
        step = BLOCK // 4
        for start in range(0, len(x), step):
            first, second = (_terms(v[start : start + step], F64) for v in (x, y))
            for p in first:
                for q in second:
                    total.add_products("f64", *(np.ascontiguousarray(v).view(np.uint8) for v in (p, q)))
        return finite_terms(total)


@guarded
def _matmul_general(x1: ArrayLike, x2: ArrayLike, out: np.ndarray | None, bias: ArrayLike | None, dtype: Any) -> Any:
    a, b = asarray(x1), asarray(x2)
    c = None if bias is None else asarray(bias)
    operands = [a.dtype, b.dtype] + ([] if c is None else [c.dtype])
    for name, d in zip(("x1", "x2", "bias"), operands, strict=False):
        check(name, d)
    result = _result_dtype(dtype, *operands)
    shape = _check_shapes(a, b, c, "matmul")
    if out is not None:
        _check_out(out, shape, result)
    narrow_all = result.itemsize == 2 and all(d == result for d in operands)  # the engine rounds once to 16 bits itself
    working = result if narrow_all else _working(result, *operands)
    if not on_device(a) and not on_device(b):
        of_b = (slice(None), None) if b.ndim == 1 else ()
        work = _Product(working, result, any(is_integer(d) and d.itemsize == 8 for d in operands[:2]))
        left, right = a[None] if a.ndim == 1 else a, b[of_b]
        bias = None if c is None else (c[..., None] if b.ndim == 1 else c)
        if work.is_large(left, right, math.prod(shape)):
            if bias is not None and beyond_f64(bias):
                raise TypeError(_BEYOND_BIAS)
            value = (
                out
                if out is not None and out.dtype == result and not _shares_memory(out, a, b, c)
                else np.empty(shape, result)
            )
            full = value[..., None, :] if a.ndim == 1 and b.ndim > 1 else value
            full = full[..., None] if b.ndim == 1 else full
            full = full[..., None, :] if a.ndim == 1 and b.ndim == 1 else full
            batch = full.shape[:-2]
            left, right = (np.broadcast_to(v, batch + v.shape[-2:]) for v in (left, right))
            work.compute(full, left, right, None if bias is None else np.broadcast_to(bias, batch + full.shape[-1:]))
            return out if value is out else _deliver(value, out)

    return _product(a, b, c, working, result, out)


def _product(
    a: np.ndarray, b: np.ndarray, c: np.ndarray | None, working: np.dtype[Any], result: np.dtype[Any], out: np.ndarray | None
) -> Any:
    """RN(a b + c), computed in `working`."""
    terms_a, terms_b = _terms(a, working), _terms(b, working)
    pairs = [(p, q) for p in terms_a for q in terms_b]  # (a1 + a2)(b1 + b2), all products exact
    a = pairs[0][0] if len(pairs) == 1 else np.concatenate([p for p, _ in pairs], axis=-1)
    b = pairs[0][1] if len(pairs) == 1 else np.concatenate([q for _, q in pairs], axis=-2 if b.ndim > 1 else 0)
    if c is not None:
        terms_c = _terms(c, working)
        if len(terms_c) > 1:
            raise TypeError(_BEYOND_BIAS)
        c = terms_c[0]

    direct = out if working == result and out is not None and not _shares_memory(out, a, b, c) else None
    keywords = {} if direct is None else {"out": direct, "casting": "safe"}
    s = _matmul(a, b, **keywords) if c is None else _matmul_bias(a, b, c, **keywords)
    if direct is not None:
        return out
    if working != result:
        s = narrow(s, result, lambda index: _sign_of_rest_of_matmul(a, b, c, s, index))
    return _deliver(asarray(s), out)


def _sign_of_rest_of_matmul(
    a: np.ndarray, b: np.ndarray, c: np.ndarray | None, s: Any, index: tuple[np.ndarray, ...]
) -> np.ndarray:
    """The signs of sum_k a b + c - s, each by an exact dot product with two more terms."""
    rows, columns = a.ndim > 1, b.ndim > 1
    s = np.atleast_1d(s)
    # Index arrays with an axis for rows and one for columns, whichever the product has; then the batch axes before them.
    index_i = index[-2 if columns else -1] if rows else np.zeros_like(index[0])
    index_j = index[-1] if columns else np.zeros_like(index[0])
    batch = s.shape[: s.ndim - rows - columns] if rows or columns else ()
    index_batch = index[: len(batch)]
    full_a = np.broadcast_to(a if rows else a[None, :], batch + (a.shape[-2:] if rows else (1, a.shape[-1])))
    full_b = np.swapaxes(b, -1, -2) if columns else b[None, :]
    full_b = np.broadcast_to(full_b, batch + full_b.shape[-2:])
    full_c = None
    if c is not None:
        full_c = np.broadcast_to(c if columns else c[..., None], batch + ((b.shape[-1],) if columns else (1,)))
    count = len(index[0])
    k = a.shape[-1]
    signs = np.empty(count)
    step = max(1, _GATHERED // (k + 2))
    for start in range(0, count, step):
        at = slice(start, start + step)
        where = tuple(i[at] for i in index_batch)
        n = len(index_i[at])
        x = np.ones((n, k + 2))
        y = np.zeros((n, k + 2))
        x[:, :k] = full_a[(*where, index_i[at])]
        y[:, :k] = full_b[(*where, index_j[at])]
        if full_c is not None:
            y[:, k] = full_c[(*where, index_j[at])]
        y[:, k + 1] = -s[tuple(i[at] for i in index)].astype(F64)
        signs[at] = _signs_of_dot(x, y)
    return signs


def _signs_of_dot(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The signs of exact dot products. A rest too small for float64 rounds to a zero with its sign, seen from both sides."""
    with np.errstate(over="ignore"):
        r, opposite = _dot(x, y), _dot(-x, y)
    return np.where(r != 0, np.sign(r), np.where(np.signbit(r), -1.0, np.where(np.signbit(opposite), 1.0, 0.0)))


def dot(a: ArrayLike, b: ArrayLike, out: np.ndarray | None = None) -> Any:
    """Dot product of two arrays, with the shapes of numpy.dot: exact sums of products, rounded once.

    Parameters
    ----------
    a, b : array_like
        The last axis of `a` is multiplied with the last but one of `b`, or its
        only one. A scalar multiplies every element. dtypes as in matmul.
    out : ndarray, optional
        Where to put the result: of its shape, and of a dtype that holds it.

    Returns
    -------
    ndarray or scalar
        ``RN(sum over k of a[..., k] b[..., k, :])``, in the operands' common format
        (float64 for integers and bool). An exact zero is +0.

    Raises
    ------
    ValueError
        Shapes do not match, or `out` is read-only or of another shape.
    TypeError
        An operand or `out` has a dtype that is not supported.

    Examples
    --------
    >>> import repmath
    >>> repmath.dot([1e100, 1.0, -1e100], [1.0, 1.0, 1.0]).item()
    1.0
    """
    if _scope.OPEN and (made := _scope.call(dot, (a, b), {"out": out})) is not NotImplemented:
        return made
    if _same_float(a, b):
        x, y = np.asarray(a), np.asarray(b)
        if x.ndim == 1 and y.ndim == 1 and out is None and x.shape == y.shape:
            return _dot(x, y)
    return _dot_general(a, b, out)


@guarded
def _dot_general(a: ArrayLike, b: ArrayLike, out: np.ndarray | None) -> Any:
    x, y = asarray(a), asarray(b)
    check("a", x.dtype)
    check("b", y.dtype)
    if x.ndim == 0 or y.ndim == 0:
        # One term a sum: a column times a row of one element each.
        shape = x.shape + y.shape
        value = _matmul_general(x.reshape(-1, 1), y.reshape(1, -1), None, None, None)
    else:
        k1, k2 = x.shape[-1], y.shape[-2 if y.ndim > 1 else -1]
        if k1 != k2:
            raise ValueError(
                f"dot: the last axis of a has {k1} elements but b has {k2} to multiply them with "
                f"(shapes {x.shape} and {y.shape})"
            )
        right = y
        left = x if x.ndim == 1 else x.reshape(math.prod(x.shape[:-1]), k1)
        shape = x.shape[:-1] + (y.shape[:-2] + y.shape[-1:] if y.ndim > 1 else ())
        if y.ndim > 1:
            right = np.moveaxis(y, -2, 0).reshape(k1, math.prod(y.shape[:-2]) * y.shape[-1])
        value = _matmul_general(left, right, None, None, None)
    value = np.reshape(asarray(value), shape)
    if out is not None:
        _check_out(out, shape, value.dtype)
    return _deliver(value, out)
