"""Operators of stochastic() that round once and have no handler of their own, by their results in binary64.

The exact value x of such an operator is that of its line in `_aten/operators.txt`, a function of the numbers in its arguments, whatever format holds
these. So the operator on copies in binary64 returns c = RN(x) of that format, and |x - c| ≤ 2^-53 |c| + 2^-1075: a ball that a narrower format
decides by the word of the element, all but some 2^-27 of the elements in binary32. The radius 2^-53 |c| (1 + 2^-50) + 2^-1074 is computed with one
rounding of a product and one of a sum, each of at most 2^-53 of itself.

Where c is 0, infinite or NaN the result is that of rounding to nearest: x is 0, or below 2^-1075, which each stochastic rounding to a narrower
format takes to 0 with x's sign, as rounding to nearest does; or beyond 2^1023; or there is none. The mode random moves what is not 0, however small: it has
a zero where x is a sum of numbers or of products of two, over whole numbers (SUMS), which are multiples of 2^-298.

Sums, that is S/n with S the sum of numbers of the arguments, a whole n and c a number of the narrower format, are known to be c where
2 n 2^-53 |c| < u for the least of the last bits that are set, u, of all arguments and of c: S - n c is a multiple of u, and below it. The
mode random needs it, since such numbers are boundaries of it; results of few terms are such numbers often.

A line whose value depends on the format, which would make the ball another number's, shows: rounded to nearest the ball must give what the operator
gives in its own format. That is asked of every element."""

import math
import re
from typing import Any

import numpy as np
import torch

from .. import _random_modes
from ._aten.table import lines
from ._errors import UncoveredOperatorError
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
# Their arguments are changed, their results are complex, or they round to a format that an argument names.
_APART = re.compile(
    "arange|linspace|.*batch_norm|_fft|histc|_histogramdd|bincount|angle|copy_|native_layer_norm|native_group_norm"
)
_NAMES = {
    line.name
    for line in lines()
    if line.way == "rounds" and not _APART.match(line.name) and not line.name.startswith("_foreach")
}
_NARROW = {kind for kind in FORMATS if kind is not torch.float64}


class Unknown(Exception):
    """Not here, and why."""


def has(name: str) -> bool:
    return name in _NAMES or (name.startswith("repmath::") and "norm" not in name)


def _widened(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        if value.is_floating_point() or value.is_complex():
            if value.dtype not in _NARROW or not value.is_cpu:
                raise Unknown("of float64 and other formats it is")
            return value.to(torch.float64)
        return value
    if isinstance(value, torch.dtype):
        return torch.float64 if value in _NARROW else value
    if isinstance(value, (list, tuple)):
        return type(value)(_widened(v) for v in value)
    return value


def _listed(made: Any) -> list[Any]:
    return list(made) if isinstance(made, (list, tuple)) else [made]


def rounded(at: Any, name: str, func: Any, args: Any, kwargs: Any, nearest: Any) -> Any:
    """The results of a call, whose results to nearest are `nearest`; each array of them has words of its own.

    Raises
    ------
    Unknown
        Formats, values or elements beside a threshold that are not here.
    """
    try:
        wide = _listed(func(*(_widened(v) for v in args), **{k: _widened(v) for k, v in kwargs.items()}))
    except (UncoveredOperatorError, TypeError, ValueError, RuntimeError):
        raise Unknown("it is") from None
    zeros = at.words["mode"] == "stochastic" or SUMS.match(name) is not None
    found: list[Any] = []
    first = True
    for near, far in zip(_listed(nearest), wide, strict=True):
        if not isinstance(near, torch.Tensor) or near.dtype not in FORMATS:
            found.append(near)
            continue
        if near.dtype not in _NARROW or far.dtype is not torch.float64:
            raise Unknown("to float64 it is")
        if not first:
            at.next()
        first = False
        found.append(_settled(at, as_array(near), as_array(far), zeros, lambda: _share(func, args, kwargs)))
    return tuple(found) if isinstance(nearest, (list, tuple)) else found[0]


def _last_bit(a: Any) -> Any:
    """The place of the last bit that is set, of numbers of formats below binary64; infinity for 0 and what is not finite."""
    m, e = np.frexp(np.where(np.isfinite(a), a, 0.0))
    whole = np.abs(m * 2.0**53).astype(np.int64)
    return np.where(whole == 0, np.inf, np.ldexp((whole & -whole).astype(np.float64), e - 53))


def _share(func: Any, args: Any, kwargs: Any) -> tuple[float, float]:
    """u of the arguments, and the greatest n; 0 and 1 where the result is no such sum."""
    name = func.overloadpacket.__name__
    tensors = [v for v in args if isinstance(v, torch.Tensor) and v.dtype in _NARROW]
    n: int | None = 1
    if "avg_pool" in name:
        named = dict(zip((a.name for a in func._schema.arguments), args, strict=False)) | kwargs
        n = _window(name, named)
        tensors = tensors[:1]  # of gradients the other only says its shape
    elif PLAIN.match(name) is None or not isinstance(kwargs.get("alpha", 1), int):
        n = None
    if n is None:
        return 0.0, 1.0
    last = (float(_last_bit(as_array(t).astype(np.float64)).min(initial=np.inf)) for t in tensors)
    return min(last, default=0.0), float(n)


def _window(name: str, named: dict[str, Any]) -> int | None:
    """The greatest number that sums of windows are divided by; of gradients, where quotients by several would be added, None."""
    back, dims = name.endswith("_backward"), int(name.removesuffix("_backward")[-2])
    if "adaptive" in name:
        big, small = (named["self"], named["grad_output"].shape) if back else (named["self"], named["output_size"])
        pairs = list(zip(big.shape[-dims:], small[-dims:], strict=True))
        return None if back and any(a % max(b, 1) for a, b in pairs) else math.prod(a for a, _ in pairs)
    divisor, sizes = named.get("divisor_override"), named["kernel_size"]
    if divisor:
        return abs(int(divisor))
    padded = any(named.get("padding") or ()) and named.get("count_include_pad") is False
    if back and (padded or named.get("ceil_mode")):
        return None
    whole: int = math.prod(sizes)
    return whole**dims if len(sizes) == 1 else whole


def _settled(at: Any, near: Any, c: Any, zeros: bool, share: Any) -> Any:
    with np.errstate(all="ignore"):
        plain = np.isfinite(c) & (c != 0)
        radius = np.where(plain, np.abs(c) * (2.0**-53 * (1 + 2.0**-50)) + 2.0**-1074, 0.0)
        wide = near.astype(np.float64)
        # Rounding is monotonic: what is rounded lies between the ends' roundings.
        low, high = ((c + sign * radius).astype(near.dtype).astype(np.float64) for sign in (-1, 1))
        same = np.where(plain, (low <= wide) & (wide <= high), (wide == c) | (np.isnan(wide) & np.isnan(c)))
    if not same.all():
        raise Unknown("with a value that depends on the format it is")
    if not zeros and (c == 0).any():
        raise Unknown("of what may be 0 it is")
    words = at.words
    place = _random_modes.place(words["mode"], words["seed"], words["stream"])
    made, undecided = _random_modes.balls(np.where(plain, c, 0.0), radius, near.dtype, place)
    if undecided.any():
        u, n = share()
        exact = undecided & (wide == c) & (np.abs(c) * (n * 2.0**-52) < np.minimum(u, _last_bit(c)))
        made, undecided = np.where(exact, near, made), undecided & ~exact
    if undecided.any():
        raise Unknown("of elements within 2^-52 of a threshold it is")
    return np.where(plain, made, near) if not plain.all() else made
