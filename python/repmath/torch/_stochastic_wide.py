"""Operators of stochastic() that round once and have no handler of their own, by their results in binary64.

The exact value x of such an operator is that of its line in `_aten/operators.txt`, a function of the numbers in its arguments, whatever format holds
these. So the operator on copies in binary64 returns c = RN(x) of that format, and |x - c| ≤ 2^-53 |c| + 2^-1075: a ball that a narrower format
decides by the word of the element, all but some 2^-27 of the elements in binary32. The radius 2^-53 |c| (1 + 2^-50) + 2^-1074 is computed with one
rounding of a product and one of a sum, each of at most 2^-53 of itself.

Where c is 0, infinite or NaN the result is that of rounding to nearest: x is 0, or below 2^-1075, which each stochastic rounding to a narrower
format takes to 0 with x's sign, as rounding to nearest does; or beyond 2^1023; or there is none. The other modes move what is not 0, however small: they have
a zero where x is a sum of numbers or of products of two, over whole numbers (SUMS), which are multiples of 2^-298.

Sums, that is S/n with S the sum of numbers of the arguments, a whole n and c a number of the narrower format, are known to be c where
2 n 2^-53 |c| < u for the least of the last bits that are set, u, of all arguments and of c: S - n c is a multiple of u, and below it. The
other modes need it, since such numbers are their boundaries; results of few terms are such numbers often.

What the ball leaves open, `_stochastic_values` encloses to as many bits as are needed: an operator that is not there raises. Under the other modes, so is
what binary64 has as 0, and under those of one direction what it has as infinite of finite arguments, which may be the largest number. Results in binary64 itself are all enclosed, but NaN; an infinity too where the arguments are finite, since a value that lies below
2^1024 may be rounded down, and where the enclosure divides by 0 it is one. The enclosure, rounded to nearest, has to give what the operator gave.

That the value is one of numbers, and not of their format, is read off the lines: what they return names a format only to round to it, and so do the
functions of the library's own operators (`_OWN_COMPOSED` are of several roundings). The lines that name one, or say "finite" or "binary64", are listed in
tests/torch/test_stochastic_operators.py with what they mean: one, `_amp_update_scale_`, keeps a number where its product is infinite in the format, and is not
here. An error in this reading shows where the ball, rounded to nearest, does not give what the operator gives in its own format; that is asked of every
element."""

import contextlib
import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
import torch

from .. import _random_modes
from .._random_balls import Interval, Last
from ._aten.common import held
from ._aten.table import OF_GPUS, lines
from ._errors import UncoveredOperatorError
from ._stochastic_exact import NARROW, Call, Unknown, divisors, widened
from ._stochastic_values import enclose
from ._tensors import FORMATS
from ._tensors import array_inside as as_array

_PLAIN = (
    "cumsum|index_add|scatter_add|index_put|_unsafe_index_put|(_?upsample_nearest|reflection_pad|replication_pad).*_backward|unfold_backward|col2im|trace|"
    "nansum|(adaptive_|fractional_)?max_pool"
)
PLAIN = re.compile(_PLAIN)  # sums of numbers
SUMS = re.compile(
    f"{_PLAIN}|_?(adaptive_)?avg_pool|vdot|baddbmm|addbmm|addmv|addr|linear|linalg_cross"
)  # of products, over whole numbers, too
# Their value depends on the format, their arguments are changed, their results are complex, or they round to a format that an argument names.
_APART = re.compile(
    "_amp_update_scale|arange|linspace|.*batch_norm|_fft|histc|_histogramdd|bincount|angle|copy_|native_layer_norm|native_group_norm"
)
_NAMES = {
    line.name
    for line in lines()
    if line.way == "rounds"
    and not _APART.match(line.name)
    and not line.name.startswith("_foreach")
    and line.name not in OF_GPUS
}


_COMPOSED = {f"repmath::{line.function}.default" for line in lines() if line.way == "composes"}
_OWN_COMPOSED = re.compile("repmath::(.*norm|scaled_dot_product|.*_gate|batch_norm)")


def has(name: str) -> bool:
    return name in _NAMES or (name.startswith("repmath::") and not _OWN_COMPOSED.match(name) and name not in _COMPOSED)


def _listed(made: Any) -> list[Any]:
    return list(made) if isinstance(made, (list, tuple)) else [made]


def _has_floats(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_has_floats, value))
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _of_integers(value: Any) -> Any:
    """Integers that binary64 holds, in binary64, where all tensors of a call are such."""
    if isinstance(value, torch.Tensor):
        with torch._C._DisableTorchDispatch():
            if not held(value, torch.float64):
                raise Unknown("of integers beyond 2**53 it is")
            return value.to(torch.float64)
    return [_of_integers(v) for v in value] if isinstance(value, (list, tuple)) else widened(value)


def rounded(at: Any, name: str, func: Any, args: Any, kwargs: Any, nearest: Any) -> Any:
    """The results of a call, whose results to nearest are `nearest`; each array of them has words of its own.

    Raises
    ------
    Unknown
        Formats, values or elements beside a threshold that are not here.
    """
    try:
        if all(v.dtype is torch.float64 for v in _listed(nearest) if isinstance(v, torch.Tensor) and v.dtype in FORMATS):
            wide = _listed(nearest)
        else:
            given = args[:1] if name.startswith("fake_quantize_per_channel") else args  # whose scale has one format
            each = widened if any(map(_has_floats, (*args, *kwargs.values()))) else _of_integers
            named = {k: each(v) for k, v in kwargs.items()}
            if name.startswith("kaiser_window"):  # which takes its format from no tensor
                named["dtype"] = torch.float64
            wide = _listed(func(*(each(v) for v in given), *args[len(given) :], **named))
    except (UncoveredOperatorError, TypeError, ValueError, RuntimeError):
        raise Unknown("it is") from None
    zeros = at.words["mode"] == "stochastic" or SUMS.match(name) is not None
    found: list[Any] = []
    first = True
    for number, (near, far) in enumerate(zip(_listed(nearest), wide, strict=True)):
        if not isinstance(near, torch.Tensor) or near.dtype not in FORMATS:
            found.append(near)
            continue
        if far.dtype is not torch.float64:
            raise Unknown("of other formats it is")
        if not first:
            at.next()
        first = False
        array = as_array(near)
        call = Call(func, args, kwargs, number, array.shape)
        found.append(_settled(at, call, array, as_array(far), zeros) if near.dtype in NARROW else _enclosed(at, call, array))
    return tuple(found) if isinstance(nearest, (list, tuple)) else found[0]


def _last_bit(a: Any) -> Any:
    """The place of the last bit that is set, of numbers of formats below binary64; infinity for 0 and what is not finite."""
    m, e = np.frexp(np.where(np.isfinite(a), a, 0.0))
    whole = np.abs(m * 2.0**53).astype(np.int64)
    return np.where(whole == 0, np.inf, np.ldexp((whole & -whole).astype(np.float64), e - 53))


def _share(call: Call) -> tuple[float, float]:
    """u of the arguments, and n; 0 and 1 where the result is no such sum."""
    name = call.func.overloadpacket.__name__
    tensors = [v for v in call.values.values() if isinstance(v, torch.Tensor) and v.dtype in NARROW]
    if "avg_pool" in name and call.func.namespace == "aten":
        n = divisors(call, name)
        tensors = tensors[:1]  # of gradients the other only says its shape
    elif PLAIN.match(name) is None or not isinstance(call.values.get("alpha", 1), int):
        return 0.0, 1.0
    else:
        n = 1
    last = (float(_last_bit(as_array(t).astype(np.float64)).min(initial=np.inf)) for t in tensors)
    return min(last, default=0.0), float(min(n, 2**53))


def _enclosed(at: Any, call: Call, near: Any) -> Any:
    """Results in binary64."""
    finite = np.isfinite(near)
    if not finite.all() and _are_finite(call):
        finite = ~np.isnan(near)
    made, left = np.array(near, order="C"), np.flatnonzero(finite).tolist()
    if not left:
        return made
    plain, value = near.reshape(-1), enclose(call, left)

    def checked(places: list[int], bits: int) -> list[Interval]:
        found = value(places, bits)
        for place, v in zip(places, found, strict=True):
            if not _nearest(v.low) <= plain[place] <= _nearest(v.high):
                raise Unknown("with a value that depends on the format it is")
        return found

    words = at.words
    last = Last(near.dtype, _random_modes.place(words["mode"], words["seed"], words["stream"]))
    flat = made.reshape(-1)
    last.enclosed(flat, [i for i in left if math.isfinite(plain[i])], checked)
    _large(last, flat, [i for i in left if math.isinf(plain[i])], checked)
    return np.where((made == 0) & (near == 0), near, made)  # the sign of a zero is that of rounding to nearest


def _are_finite(call: Call) -> bool:
    """Whether all arguments are."""
    given = (v for v in call.values.values() if isinstance(v, torch.Tensor) and v.is_floating_point())
    return all(bool(v.isfinite().all()) for v in given)


def _large(last: Last, flat: Any, left: list[int], value: Any) -> None:
    """Results at these places, which are infinite to nearest."""
    for i in left:
        with contextlib.suppress(ZeroDivisionError):  # a quotient by 0 is infinite
            last.enclosed(flat, [i], value)


def _nearest(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return -math.inf if value < 0 else math.inf


def _settled(at: Any, call: Call, near: Any, c: Any, zeros: bool) -> Any:
    with np.errstate(all="ignore"):
        plain = np.isfinite(c) & (c != 0)
        radius = np.where(plain, np.abs(c) * (2.0**-53 * (1 + 2.0**-50)) + 2.0**-1074, 0.0)
        wide = near.astype(np.float64)
        # Rounding is monotonic: what is rounded lies between the ends' roundings.
        low, high = ((c + sign * radius).astype(near.dtype).astype(np.float64) for sign in (-1, 1))
        same = np.where(plain, (low <= wide) & (wide <= high), (wide == c) | (np.isnan(wide) & np.isnan(c)))
    if not same.all():
        raise Unknown("with a value that depends on the format it is")
    words = at.words
    place = _random_modes.place(words["mode"], words["seed"], words["stream"])
    made, undecided = _random_modes.balls(np.where(plain, c, 0.0), radius, near.dtype, place)
    if undecided.any():
        u, n = _share(call)
        exact = undecided & (wide == c) & (np.abs(c) * (n * 2.0**-52) < np.minimum(u, _last_bit(c)))
        made, undecided = np.where(exact, near, made), undecided & ~exact
    if not zeros:
        undecided |= c == 0
    large = np.isinf(c) if words["mode"] in _random_modes.DIRECTED_MODES and _are_finite(call) else np.zeros(c.shape, bool)
    if undecided.any() or large.any():
        left, beyond = np.flatnonzero(undecided).tolist(), np.flatnonzero(large).tolist()
        made, last = np.where(large, near, made), Last(near.dtype, place)
        last.enclosed(made.reshape(-1), left, enclose(call, left))
        _large(last, made.reshape(-1), beyond, enclose(call, beyond))
    # A zero has the sign that rounding to nearest gives it.
    return np.where(plain | large | (undecided & (made != 0)), made, near)
