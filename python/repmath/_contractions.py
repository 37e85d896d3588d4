"""vdot, vecdot, matvec, vecmat, tensordot, einsum: sums of products, each exact and rounded once.

A contraction of two operands is one matrix product: labels of both that the result keeps count the products, labels of one that it
keeps are rows and columns, and all others are terms. An operand without a label that is summed repeats along it (stride 0), so that
no sum is rounded before the products are.
"""

import math
import operator
from collections.abc import Hashable, Sequence
from typing import Any, SupportsIndex

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple
from numpy.lib.stride_tricks import as_strided
from numpy.typing import ArrayLike, DTypeLike

from . import _core
from ._arguments import integer
from ._dtypes import F32, F64, NAMES, check, common, is_integer
from ._environment import guarded
from ._memory import asarray, on_device
from ._reductions import _check_out, _deliver, _dot, _matmul_general, _result_dtype, dot, matmul
from ._reductions import sum as _sum

_add = _core.ufuncs["add"]
_multiply = _core.ufuncs["multiply"]

_Labels = list[Hashable]

_FEW = 1 << 18  # elements that one thread multiplies


def _distinct(x: np.ndarray, labels: _Labels) -> tuple[np.ndarray, _Labels]:
    """A view of the diagonals selected by repeated labels, with each label once."""
    names = list(dict.fromkeys(labels))
    if len(names) == len(labels):
        return x, labels
    places = {name: [i for i, label in enumerate(labels) if label == name] for name in names}
    shape = [x.shape[places[name][0]] for name in names]
    strides = [sum(x.strides[i] for i in places[name]) for name in names]
    return as_strided(x, shape, strides, writeable=False), names


def _narrowed(x: np.ndarray, labels: _Labels, sizes: dict[Hashable, int]) -> tuple[np.ndarray, _Labels]:
    """Without the axes of length 1 that are to be broadcast: the elements do not depend on them."""
    stays = [x.shape[i] == sizes[label] for i, label in enumerate(labels)]
    kept = [label for label, stay in zip(labels, stays, strict=True) if stay]
    return x[tuple(slice(None) if stay else 0 for stay in stays)], kept


def _products(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Sums of one product each: a product that is exactly zero is +0."""
    value: np.ndarray = _multiply(x, y)
    value[(value == 0) & ((x == 0) | (y == 0))] = 0
    return value


def _contract(
    x: np.ndarray, lx: _Labels, y: np.ndarray, ly: _Labels, out: _Labels, sizes: dict[Hashable, int], result: np.dtype[Any]
) -> np.ndarray:
    """The sum of x y over the labels that are not in out; every label of out is in lx or ly, one of them of its full length."""
    x, lx = _narrowed(*_distinct(x, lx), sizes)
    y, ly = _narrowed(*_distinct(y, ly), sizes)
    batch = [label for label in out if label in lx and label in ly]
    rows = [label for label in out if label in lx and label not in ly]
    columns = [label for label in out if label in ly and label not in lx]
    terms = [label for label in dict.fromkeys([*lx, *ly]) if label not in out]

    def arranged(v: np.ndarray, labels: _Labels, wanted: _Labels) -> np.ndarray:
        """v with the axes of `wanted`, those that it lacks repeated."""
        order = [labels.index(label) for label in wanted if label in labels]
        full = v.transpose(order)[tuple(slice(None) if label in labels else None for label in wanted)]
        return np.broadcast_to(full, [sizes[label] for label in wanted])

    b, n, k, m = [math.prod(sizes[label] for label in group) for group in (batch, rows, terms, columns)]
    left = arranged(x, lx, batch + rows + terms).reshape(b, n, k)
    right = arranged(y, ly, batch + terms + columns).reshape(b, k, m)
    alike = n == m == 1 and left.dtype == right.dtype == result
    if alike and k == 1:
        value = _products(left.reshape(b), right.reshape(b))
    elif alike and result in (F32, F64):
        value = asarray(_dot(left[:, 0, :], right[:, :, 0]))
    else:
        value = asarray(_matmul_general(left, right, None, None, result))
    made = batch + rows + columns
    return value.reshape([sizes[label] for label in made]).transpose([made.index(label) for label in out])


def _sizes(operands: Sequence[np.ndarray], labels: Sequence[_Labels]) -> dict[Hashable, int]:
    """The length of each label; 1 broadcasts, other lengths must agree (ValueError)."""
    sizes: dict[Hashable, int] = {}
    for place, (x, names) in enumerate(zip(operands, labels, strict=True)):
        own: dict[Hashable, int] = {}
        for n, label in zip(x.shape, names, strict=True):
            if own.setdefault(label, n) != n:
                raise ValueError(f"einsum: operand {place} has lengths {own[label]} and {n} for the one label {label!r}")
            if sizes.setdefault(label, n) == 1:
                sizes[label] = n
            elif n not in (1, sizes[label]):
                raise ValueError(
                    f"einsum: operand {place} has length {n} for label {label!r}, an earlier one has {sizes[label]}"
                )
    return sizes


def _split(term: str, what: str) -> tuple[list[str], list[str], bool]:
    """The labels before and after an ellipsis, and whether there is one."""
    parts = term.split("...")
    if len(parts) > 2 or not all(c.isalpha() for part in parts for c in part):
        raise ValueError(f"einsum: {what} {term!r} may hold letters and one ellipsis '...'")
    return list(parts[0]), list(parts[-1]) if len(parts) == 2 else [], len(parts) == 2


def _parse(subscripts: str, operands: Sequence[np.ndarray]) -> tuple[list[_Labels], _Labels]:
    """The labels of each operand and of the result; axes of an ellipsis have integers, counted from its end."""
    text = subscripts.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(operands):
        raise ValueError(f"einsum: subscripts {subscripts!r} describe {len(terms)} operands, {len(operands)} are given")
    labels: list[_Labels] = []
    widest = 0
    for place, (term, x) in enumerate(zip(terms, operands, strict=True)):
        before, after, dots = _split(term, "the subscript")
        free = x.ndim - len(before) - len(after)
        if free < 0 or (free and not dots):
            raise ValueError(f"einsum: subscript {term!r} does not match operand {place}, which has {x.ndim} axes")
        labels.append([*before, *range(-free, 0), *after])
        widest = max(widest, free)
    every: list[str] = [c for term in terms for c in term if c != "."]
    if not arrow:
        return labels, [*range(-widest, 0), *sorted(c for c in set(every) if every.count(c) == 1)]
    before, after, dots = _split(output, "the output")
    named = before + after
    for c in named:
        if named.count(c) > 1 or c not in every:
            raise ValueError(f"einsum: output label {c!r} must be a label of an operand, and stand once")
    if widest and not dots:
        raise ValueError(f"einsum: the output {output!r} lacks the ellipsis '...' of the operands")
    return labels, [*before, *range(-widest if dots else 0, 0), *after]


def _from_lists(arguments: Sequence[Any]) -> tuple[str, list[Any]]:
    """einsum(op0, [0, 1], op1, [1, 2], [0, 2]) as a string and operands. NumPy orders the result by the integers."""
    operands = list(arguments[: len(arguments) // 2 * 2 : 2])
    lists = list(arguments[1 : len(arguments) // 2 * 2 : 2])
    last = [arguments[-1]] if len(arguments) % 2 else []
    try:
        rows = [[v if v is Ellipsis else operator.index(v) for v in labels] for labels in lists + last]
        integers = sorted({v for labels in rows for v in labels if v is not Ellipsis})
        if integers and integers[0] < 0:
            raise ValueError
        # Letters in the order of the integers, which is that of the result.
        names = {v: chr((65 if i < 26 else 71 if i < 52 else 0x4E00) + i) for i, v in enumerate(integers)}
        terms = ["".join("..." if v is Ellipsis else names[v] for v in labels) for labels in rows]
    except (TypeError, KeyError, ValueError):
        raise ValueError("einsum: give subscripts as a string, or operands each followed by a list of integers") from None
    return ",".join(terms[: len(lists)]) + "".join("->" + term for term in terms[len(lists) :]), operands


def _path(optimize: Any, labels: list[_Labels], out: _Labels, shapes: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Which operands each step takes, as opt_einsum and NumPy write it: they are removed, their product comes last."""
    if optimize is False or optimize is None:
        return []
    if optimize is True or isinstance(optimize, str):
        try:
            import opt_einsum
        except ImportError:
            raise ImportError(
                "optimize='greedy' and the like need opt_einsum (pip install repmath[einsum]); or give the path as a list"
            ) from None
        symbols: dict[Hashable, str] = {}
        for label in (label for names in labels for label in names):
            symbols.setdefault(label, opt_einsum.get_symbol(len(symbols)))
        terms = ["".join(symbols[label] for label in names) for names in [*labels, out]]
        subscripts = ",".join(terms[:-1]) + "->" + terms[-1]
        found = opt_einsum.contract_path(
            subscripts, *shapes, shapes=True, optimize="greedy" if optimize is True else optimize
        )
        return [tuple(step) for step in found[0]]
    steps = [step for step in optimize if step != "einsum_path"]
    left = len(labels)
    for step in steps:
        if not step or len(set(step)) != len(step) or not all(0 <= int(i) < left for i in step):
            raise ValueError(f"einsum: step {step} of the path in optimize must name some of the {left} operands then left")
        left -= len(step) - 1
    return [tuple(int(i) for i in step) for step in steps]


def _in_steps(
    arrays: list[np.ndarray], labels: list[_Labels], out: _Labels, path: list[tuple[int, ...]], contract: Any
) -> tuple[np.ndarray, _Labels]:
    """The contraction of all operands, two at a time, and its labels."""
    # A length of 1 that broadcasts stays 1 until it meets the other length.
    for positions in [*path, tuple(range(len(arrays)))]:
        chosen = sorted(p for p in positions if p < len(arrays))
        taken = [(arrays[p], labels[p]) for p in chosen]
        others = [p for p in range(len(arrays)) if p not in chosen]
        arrays, labels = [arrays[p] for p in others], [labels[p] for p in others]
        value, names = taken[0]
        for i, (y, ly) in enumerate(taken[1:], 1):
            rest = labels + [more for _, more in taken[i + 1 :]]
            needed = set(out).union(*rest)
            kept = [label for label in dict.fromkeys([*names, *ly]) if label in needed] if rest else out
            value, names = contract(value, names, y, ly, kept), kept
        arrays.append(value)
        labels.append(names)
    return arrays[0], labels[0]


@guarded
def einsum(
    subscripts: Any,
    *operands: Any,
    out: np.ndarray | None = None,
    dtype: DTypeLike | None = None,
    optimize: Any = False,
) -> Any:
    """Sums of products in Einstein's notation: every contraction of two operands exact and rounded once.

    Parameters
    ----------
    subscripts : str
        As in numpy.einsum: ``"ij,jk->ik"``, implicit output, repeated labels of one
        operand for its diagonal, ``...`` for axes that broadcast; an axis of
        length 1 broadcasts. Or operands that are each followed by a list of
        integers, and at last the list of the result.
    operands : array_like
        Of float16, bfloat16, float32, float64, integers or bool.
    out : ndarray, optional
        Where to put the result: of its shape, and of a dtype that holds it.
    dtype : dtype, optional
        The format of the result: by default the operands' common one, float64
        for integers and bool.
    optimize : bool, str or list of tuples, optional
        The order in which three or more operands are contracted. False: from
        left to right, ((a b) c) d. A list, as numpy.einsum_path and
        opt_einsum.contract_path give it: in this order. True or a name such as
        "greedy" or "optimal": in the order that opt_einsum finds, which may
        change with its version.

    Returns
    -------
    ndarray or scalar
        With one or two operands ``RN(sum of products)``, one rounding, whatever is
        summed: also labels that one operand alone has. With more, one rounding
        a step: each step contracts two operands, keeps the labels that the
        result or a later step needs, and is rounded to the format of the
        result. The path and the operands decide all bits; False and a list do
        not depend on the machine or on any other library. An exact zero is +0.

    Raises
    ------
    ValueError
        `subscripts` does not match the operands, their lengths differ, the path
        does not fit, or `out` is read-only or of another shape.
    TypeError
        An operand, `dtype` or `out` has a dtype that is not supported.
    ImportError
        `optimize` is True or a name and opt_einsum is not installed.

    Notes
    -----
    A label that one operand alone has and the result has not repeats the other
    operand along it: the work is that of a product with as many more terms.
    """
    if not isinstance(subscripts, str):
        subscripts, given = _from_lists([subscripts, *operands])
        operands = tuple(given)
    arrays = [asarray(x) for x in operands]
    for place, x in enumerate(arrays):
        check(f"operand {place}", x.dtype)
    if not arrays:
        raise ValueError("einsum: there is no operand")
    labels, out_labels = _parse(subscripts, arrays)
    sizes = _sizes(arrays, labels)
    result = _result_dtype(dtype, *(x.dtype for x in arrays))
    if out is not None:
        _check_out(out, tuple(sizes[label] for label in out_labels), result)
    path = _path(optimize, labels, out_labels, [x.shape for x in arrays])

    def contract(x: np.ndarray, lx: _Labels, y: np.ndarray, ly: _Labels, kept: _Labels) -> np.ndarray:
        return _contract(x, lx, y, ly, kept, _sizes([x, y], [lx, ly]), result)

    value, names = _in_steps(arrays, labels, out_labels, path, contract)
    if len(operands) == 1:
        value, names = _distinct(value, names)
        kept = [label for label in names if label in out_labels]
        summed = tuple(i for i, label in enumerate(names) if label not in out_labels)
        if not summed and not is_integer(value.dtype) and common(value.dtype, result) == result:
            value = asarray(_add(value.astype(result), result.type(0)))  # sums of one term: zeros and NaNs have one sign
        else:
            value = asarray(_sum(value, axis=summed, dtype=result))
        value = value.transpose([kept.index(label) for label in out_labels])
    return _deliver(value, out)


@guarded
def tensordot(a: ArrayLike, b: ArrayLike, axes: Any = 2) -> Any:
    """Tensor product summed over pairs of axes, as numpy.tensordot: exact sums of products, rounded once.

    Parameters
    ----------
    a, b : array_like
        Of float16, bfloat16, float32, float64, integers or bool.
    axes : int or pair of ints or of sequences of ints, optional
        N: the last N axes of `a` with the first N of `b`, in order. A pair: the
        axes of `a`, and those of `b` that they are summed with.

    Returns
    -------
    ndarray or scalar
        The axes of `a` that are not summed, then those of `b`. Each element is
        ``RN(sum of products)`` in the operands' common format (float64 for
        integers and bool). An exact zero is +0.

    Raises
    ------
    ValueError
        The axes do not pair up, are repeated, differ in length, or are out of
        range (numpy.exceptions.AxisError).
    TypeError
        An operand has a dtype that is not supported.
    """
    x, y = asarray(a), asarray(b)
    check("a", x.dtype)
    check("b", y.dtype)
    try:
        first, second = axes
    except TypeError:
        n = int(axes)
        if not 0 <= n <= min(x.ndim, y.ndim):
            raise ValueError(f"tensordot: axes={n} with operands of {x.ndim} and {y.ndim} axes") from None
        first, second = range(x.ndim - n, x.ndim), range(n)
    of_x, of_y = normalize_axis_tuple(first, x.ndim, "axes"), normalize_axis_tuple(second, y.ndim, "axes")
    if [x.shape[i] for i in of_x] != [y.shape[i] for i in of_y]:
        raise ValueError(
            f"tensordot: the axes to sum over have lengths {[x.shape[i] for i in of_x]} and {[y.shape[i] for i in of_y]}"
        )
    lx: _Labels = list(range(x.ndim))
    ly: _Labels = [of_x[of_y.index(i)] if i in of_y else x.ndim + i for i in range(y.ndim)]
    kept = [label for i, label in enumerate(lx) if i not in of_x] + [label for i, label in enumerate(ly) if i not in of_y]
    sizes = dict(zip([*lx, *ly], [*x.shape, *y.shape], strict=True))
    return _deliver(_contract(x, lx, y, ly, kept, sizes, _result_dtype(None, x.dtype, y.dtype)), None)


@guarded
def vdot(a: ArrayLike, b: ArrayLike, /) -> Any:
    """Dot product of all elements of two arrays of real numbers: the exact sum of products, rounded once.

    Parameters
    ----------
    a, b : array_like
        Of equally many elements, taken in C order. dtypes as in matmul.

    Returns
    -------
    scalar
        ``RN(sum over k of a[k] b[k])``, as dot.

    Raises
    ------
    ValueError
        The numbers of elements differ.
    TypeError
        An operand has a dtype that is not supported.
    """
    x, y = asarray(a).reshape(-1), asarray(b).reshape(-1)
    check("a", x.dtype)
    check("b", y.dtype)
    if x.size != y.size:
        raise ValueError(f"vdot: a has {x.size} elements and b has {y.size}")
    return dot(x, y)


@guarded
def vecdot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    out: np.ndarray | None = None,
    *,
    axis: SupportsIndex = -1,
    dtype: DTypeLike | None = None,
) -> Any:
    """Dot products of vectors that lie along an axis: exact sums of products, rounded once.

    Parameters
    ----------
    x1, x2 : array_like
        The axis has one length in both; the others broadcast. dtypes as in
        matmul.
    out : ndarray, optional
        Where to put the result: of its shape, and of a dtype that holds it.
    axis : int, optional
        The axis of the vectors, in each operand; by default the last.
    dtype : dtype, optional
        The format of the result, as in matmul.

    Returns
    -------
    ndarray or scalar
        ``RN(sum over k of x1[..., k] x2[..., k])``.

    Raises
    ------
    ValueError
        Shapes do not match, or `out` is read-only or of another shape.
    TypeError
        An operand, `dtype` or `out` has a dtype that is not supported.
    """
    vectors = []
    for name, v in (("x1", asarray(x1)), ("x2", asarray(x2))):
        check(name, v.dtype)
        if v.ndim == 0:
            raise ValueError(f"vecdot: {name} is a scalar; it must have at least one axis")
        vectors.append(np.moveaxis(v, normalize_axis_index(integer("axis", axis), v.ndim), -1))
    x, y = vectors
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(f"vecdot: x1 has vectors of {x.shape[-1]} elements, x2 of {y.shape[-1]}")
    try:
        np.broadcast_shapes(x.shape[:-1], y.shape[:-1])
    except ValueError:
        raise ValueError(
            f"vecdot: the axes of x1 and x2 but the vectors' do not broadcast: {x.shape} and {y.shape}"
        ) from None
    if out is None and dtype is None and x.ndim > 1 and x.shape == y.shape and x.dtype == y.dtype and x.dtype in (F32, F64):
        if not on_device(x) and x.flags.c_contiguous and y.flags.c_contiguous and 0 < x.size <= _FEW:
            made = np.empty(x.shape[:-1], x.dtype)
            width = x.shape[-1]
            _core.row_dots(NAMES[x.dtype], x.reshape(-1, width), y.reshape(-1, width), made)
            if np.isfinite(made).all():  # otherwise NumPy's ufuncs warn
                return made
    return einsum("...k,...k->...", x, y, out=out, dtype=dtype)


@guarded
def matvec(x1: ArrayLike, x2: ArrayLike, /, out: np.ndarray | None = None, *, dtype: DTypeLike | None = None) -> Any:
    """Matrices times vectors, of shapes (..., m, n) and (..., n): exact sums of products, rounded once.

    Parameters
    ----------
    x1, x2 : array_like
        The leading axes broadcast. dtypes as in matmul.
    out : ndarray, optional
        Where to put the result: of its shape, and of a dtype that holds it.
    dtype : dtype, optional
        The format of the result, as in matmul.

    Returns
    -------
    ndarray
        Of shape (..., m): ``RN(sum over k of x1[..., i, k] x2[..., k])``.

    Raises
    ------
    ValueError
        Shapes do not match, or `out` is read-only or of another shape.
    TypeError
        An operand, `dtype` or `out` has a dtype that is not supported.
    """
    matrix, vector = asarray(x1), asarray(x2)
    check("x1", matrix.dtype)
    check("x2", vector.dtype)
    if matrix.ndim < 2 or vector.ndim < 1:
        raise ValueError("matvec: x1 must have at least two axes and x2 at least one")
    return _into(matmul(matrix, vector[..., None], dtype=dtype)[..., 0], out)


@guarded
def vecmat(x1: ArrayLike, x2: ArrayLike, /, out: np.ndarray | None = None, *, dtype: DTypeLike | None = None) -> Any:
    """Vectors times matrices, of shapes (..., n) and (..., n, m): exact sums of products, rounded once.

    Parameters
    ----------
    x1, x2, out, dtype
        As in matvec.

    Returns
    -------
    ndarray
        Of shape (..., m): ``RN(sum over k of x1[..., k] x2[..., k, j])``.

    Raises
    ------
    ValueError, TypeError
        As in matvec.
    """
    vector, matrix = asarray(x1), asarray(x2)
    check("x1", vector.dtype)
    check("x2", matrix.dtype)
    if vector.ndim < 1 or matrix.ndim < 2:
        raise ValueError("vecmat: x1 must have at least one axis and x2 at least two")
    return _into(matmul(vector[..., None, :], matrix, dtype=dtype)[..., 0, :], out)


def _into(value: np.ndarray, out: np.ndarray | None) -> Any:
    if out is not None:
        _check_out(out, value.shape, value.dtype)
    return _deliver(value, out)
