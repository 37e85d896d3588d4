"""Losses with margins: one rounding per step in binary64; sums and means are exact and rounded once to the format."""

from typing import Any, TypeAlias

import torch

from .._tensors import FORMATS, as_array, as_tensor
from .common import Uncovered, apply, average, convert, kernel, total, widened

_Number: TypeAlias = float | int
_Maybe: TypeAlias = torch.Tensor | None


def _reduced(terms: torch.Tensor, reduction: int, dtype: torch.dtype, axis: Any = None) -> torch.Tensor:
    """Of numbers of binary64: themselves, their mean or their sum, in the format."""
    if dtype not in FORMATS:
        raise Uncovered(f"tensors of {dtype}")
    if reduction == 0:
        return convert(terms, dtype)
    function = average if reduction == 1 else total
    return as_tensor(function(as_array(terms), axis, dtype=FORMATS[dtype]))


def _over(x: torch.Tensor, n: int) -> torch.Tensor:
    return apply("divide", x, float(n))


@kernel
def soft_margin_loss(x: torch.Tensor, y: torch.Tensor, reduction: int = 1) -> torch.Tensor:
    """log(1 + exp(-x y))."""
    return _reduced(apply("softplus", apply("multiply", widened(x), widened(y)).neg()), reduction, x.dtype)


@kernel
def soft_margin_loss_backward(g: torch.Tensor, x: torch.Tensor, y: torch.Tensor, reduction: int) -> torch.Tensor:
    """-g y/(1 + exp(x y))."""
    slope = apply("sigmoid", apply("multiply", widened(x), widened(y)).neg())
    made = apply("multiply", apply("multiply", widened(g), widened(y).neg()), slope)
    return convert(_over(made, x.numel()) if reduction == 1 else made, x.dtype)


def _rows(t: torch.Tensor) -> torch.Tensor:
    return t.reshape(-1, t.shape[-1] if t.ndim else 1)


def _margins(
    x: torch.Tensor, target: torch.Tensor, p: _Number, margin: _Number, weight: _Maybe
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, _Maybe]:
    """Rows of x in binary64, the places of the targets, margin - x[target] + x elsewhere and 0 there, the targets' weights."""
    if p not in (1, 2) or x.ndim > 2 or x.shape[-1:] == (0,):
        raise ValueError(f"p={p} of shape {tuple(x.shape)}")
    rows, at = _rows(widened(x)), target.reshape(-1, 1)
    if at.shape[0] != rows.shape[0] or (weight is not None and weight.shape != rows.shape[1:]):
        raise ValueError("sizes that do not fit")
    if bool(((at < 0) | (at >= rows.shape[1])).any()):
        raise IndexError("a target that is no class")
    room = apply("add", apply("subtract", float(margin), rows.gather(1, at)), rows).scatter(1, at, 0.0)
    return rows, at, torch.where(room <= 0, room.new_zeros(()), room), None if weight is None else widened(weight)[at]


@kernel
def multi_margin_loss(
    x: torch.Tensor, target: torch.Tensor, p: _Number = 1, margin: _Number = 1, weight: _Maybe = None, reduction: int = 1
) -> torch.Tensor:
    _, _, terms, weights = _margins(x, target, p, margin, weight)
    if p == 2:
        terms = apply("multiply", terms, terms)
    if weights is not None:
        terms = apply("multiply", terms, weights)
    if reduction == 2:
        return convert(_over(_reduced(terms, 2, torch.float64), terms.shape[1]), x.dtype)
    made = _reduced(terms, 1, x.dtype, None if reduction else 1)
    return made if reduction else made.view(target.shape)


@kernel
def multi_margin_loss_backward(
    g: torch.Tensor,
    x: torch.Tensor,
    target: torch.Tensor,
    p: _Number,
    margin: _Number,
    weight: _Maybe = None,
    reduction: int = 1,
) -> torch.Tensor:
    """w g, or 2 z w g, where z is above 0, over the number of terms; for the target less the sum of these."""
    rows, at, room, weights = _margins(x, target, p, margin, weight)
    slope = (room > 0).to(torch.float64) if p == 1 else apply("add", room, room)
    if weights is not None:
        slope = apply("multiply", slope, weights)
    made = apply("multiply", slope, widened(g).reshape(-1, 1))
    made = torch.where(room > 0, made, made.new_zeros(()))
    sums = as_tensor(total(as_array(made), 1, True)).neg()
    made = made.scatter(1, at, sums)
    return convert(_over(made, rows.numel() if reduction == 1 else rows.shape[1]), x.dtype).view(x.shape)


def _labels(x: torch.Tensor, target: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor], torch.Tensor]:
    """Rows of x in binary64, the targets of each up to the first that is negative, and which classes are among them."""
    if x.ndim > 2 or x.shape[-1:] == (0,) or _rows(x).shape != _rows(target).shape:
        raise ValueError("sizes that do not fit")
    rows, lines = _rows(widened(x)), _rows(target)
    lists = [line[: int((line < 0).to(torch.int8).argmax()) if bool((line < 0).any()) else len(line)] for line in lines]
    if any(len(at) and int(at.max()) >= rows.shape[1] for at in lists):
        raise IndexError("a target that is no class")
    among = torch.zeros(rows.shape, dtype=torch.bool)
    for line, at in zip(among, lists, strict=True):
        line[at] = True
    return rows, lists, among


def _rooms(rows: torch.Tensor, lists: list[torch.Tensor], among: torch.Tensor) -> list[torch.Tensor]:
    """For each row 1 - x[target] + x of the other classes, a line for each of its targets; 0 where it is not above 0."""
    made = []
    for line, at, inside in zip(rows, lists, among, strict=True):
        room = apply("add", apply("subtract", 1.0, line[at])[:, None], line[None])
        made.append(torch.where((room <= 0) | inside, room.new_zeros(()), room))
    return made


@kernel
def multilabel_margin_loss_forward(
    x: torch.Tensor, target: torch.Tensor, reduction: int
) -> tuple[torch.Tensor, torch.Tensor]:
    rows, lists, among = _labels(x, target)
    sums = [_reduced(room, 2, torch.float64) for room in _rooms(rows, lists, among)]
    each = torch.stack(sums) if sums else rows.new_zeros(0)
    if reduction:
        each = _reduced(each, reduction, torch.float64)
    made = convert(_over(each, rows.shape[1]), x.dtype)
    return made.view(x.shape[:-1] if reduction == 0 else ()), among.to(x.dtype).view(target.shape)


@kernel
def multilabel_margin_loss_backward(
    g: torch.Tensor, x: torch.Tensor, target: torch.Tensor, reduction: int, is_target: torch.Tensor
) -> torch.Tensor:
    """g times how many terms a class increases less those that it decreases, over the number of terms."""
    rows, lists, among = _labels(x, target)
    counts = torch.zeros_like(rows)
    for line, at, room in zip(counts, lists, _rooms(rows, lists, among), strict=True):
        above = (room > 0).to(torch.float64)
        line += above.sum(0)
        line.index_add_(0, at, -above.sum(1))
    made = apply("multiply", counts, widened(g).reshape(-1, 1))
    return convert(_over(made, rows.numel() if reduction == 1 else rows.shape[1]), x.dtype).view(x.shape)
