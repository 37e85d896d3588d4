"""What the passes of a leaf have been added to so far, so that a pass makes the sums of its own terms alone.

Between passes a leaf has a part of its sum: a binary64 number for each element, with a bound. The part of a pass is added
to it. u = 2^-53.

Parts of products, convolutions, scattered rows and norms come with the squares of bounds for rows and columns, as ranks
have them (partials.py). That bound holds (src/blas/gemm/bound_b64.h, src/blas/partials.c): a term passes at most t - 1
roundings on the way to the part of its use, and at most J where U <= J + 1 parts are added, first to last. Each of these
parts has been made with a bound for T = t + J + 1 roundings, and the bounds' squares are added too, J times at most, for
which they have room. Where more uses come than J + 1, all parts are made anew with J that is twice as large: so this
happens after 32, 66, 134 ... uses, and no bound is ever too short.

The part of sums of terms is the exact sum of a pass, rounded once: c_p with |c_p - S_p| <= u |c_p|. A = sum |c_p| is held
beside. The sum of P such parts passes P - 1 roundings, each of at most u (1 + u)^(P - 1) A, so that with P < 2^20 it is
within P u (1 + 2^-32) A of the exact one; A itself errs by P u relatively, and the square of the bound and its root by a
few u, for which 2^-30 is room. (All terms are multiples of 2^-149, so that nothing is subnormal, and below 2^192.)

Where the bound decides the rounding, the gradient is RN of the exact sum. Elsewhere it is made from the operands of all
passes: by the terms of single elements, or, of norms and where much is undecided, as a whole. So no bit depends on what is
held. What bounds do not cover (binary64, batch norms, several formats, parts of a parameter) is made of all operands in
each pass.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ... import _partials
from .._aten.common import Array
from .._tensors import FORMATS, as_tensor
from . import partials
from .records import Operand, Use, settle

_JOINS = 31
# Beyond this share of undecided elements the whole sum is made of the operands: single elements take a hundred times as long.
_FALLBACK = 128


@dataclass
class Held:
    """The part of the first `count` uses, in `parts` parts: its sums, the bounds of its rows and columns one after the other (A for
    sums of terms), and J. Their operands, of one format, are needed yet."""

    kind: int
    sums: Array
    bounds: Array
    count: int
    parts: int
    joins: int
    operands: list[Operand]
    formats: set[str]

    def takes(self, uses: Sequence[Use], shape: Sequence[int], dtype: torch.dtype) -> bool:
        """Whether what comes after the first uses can be added."""
        more = uses[self.count :]
        if self.kind == partials.NORMED:
            return partials.kind_of_passes(uses, shape, dtype) == self.kind
        found = partials.kind_of_passes(more, shape, dtype)
        alike = found == self.kind or (found == partials.ROUNDED and self.kind == partials.FACTORED and len(shape) == 2)
        return not more or (alike and partials.formats(more) == self.formats)


def extended(held: Held | None, uses: Sequence[Use], shape: Sequence[int], kind: int) -> Held:
    """The part of all uses of this kind. What is held of the first ones is changed."""
    if held is None or held.kind != kind or len(uses) > held.joins + 1:
        held = Held(kind, np.empty(0), np.empty(0), 0, 0, max(_JOINS, 2 * len(uses)), [], partials.formats(uses))
    for operand in held.operands:
        operand.check()
    more = uses[held.count :]
    if more:
        sums, bounds = partials.part(more, shape, kind, held.joins)
        if kind == partials.ROUNDED:
            bounds = np.abs(sums)
        if held.count:
            with np.errstate(all="ignore"):
                held.sums += sums
                held.bounds += bounds
        else:
            held.sums, held.bounds = sums, bounds
        held.count, held.parts = len(uses), held.parts + 1
        held.operands += [o for u in more for o in partials.operands_of(u.record)]
    return held


def rounded(
    held: Held | None, uses: Sequence[Use], shape: Sequence[int], dtype: torch.dtype
) -> tuple[torch.Tensor, Held | None]:
    """The exact sum of all uses, rounded once, and what is held of them from now on."""
    known = held is not None and held.takes(uses, shape, dtype)
    kind = held.kind if held is not None and known else partials.kind_of_passes(uses, shape, dtype)
    if kind == partials.OPERANDS:
        return settle(uses, shape, dtype), None
    held = extended(held if known else None, uses, shape, kind)
    rows, cols = partials.matrix(kind, shape)
    if kind == partials.ROUNDED:
        rows, cols = 1, held.sums.size
        with np.errstate(all="ignore"):
            bounds = np.full(1, (held.parts * 2.0**-53 * (1 + 2.0**-30)) ** 2), held.bounds**2
    else:
        bounds = held.bounds[:rows], held.bounds[rows:]
    made, open_ = _partials.rounded(held.sums.reshape(rows, cols), *bounds, FORMATS[dtype])
    if len(open_) * _FALLBACK > made.size or (len(open_) and kind == partials.NORMED):
        return settle(uses, shape, dtype), held
    if len(open_):
        exact = partials.decided_at(uses, open_, shape, dtype)
        if exact is None:
            _partials.decide(made, open_, partials.windows(uses, shape, open_))
        else:
            made.reshape(-1)[open_] = exact
    return as_tensor(made).view(tuple(shape)), held
