"""Complex numbers: each part of a sum, a product, a quotient and a product of matrices is rounded once; functions are composed."""

import functools
from typing import Any, TypeAlias

import numpy as np
import torch

from ... import _contractions, _random_modes
from .._stepwise import HERE
from .._tensors import as_array, as_tensor
from . import elementwise, matmul_conv, multistep, reductions  # noqa: F401  # extended here
from .common import KERNELS, PARTS, Uncovered, apply, convert, integers, kernel, products, widened, write
from .complex_quotients import quotients

_Tensor: TypeAlias = torch.Tensor


def _is_complex(v: Any) -> bool:
    return v.is_complex() if isinstance(v, torch.Tensor) else isinstance(v, complex)


def _format(*values: Any) -> torch.dtype:
    found = torch.result_type(*values)
    if found not in PARTS:
        raise Uncovered(f"results of {found}")
    return found


def _parts(v: Any, dtype: torch.dtype) -> tuple[Any, Any]:
    """The real part and the imaginary part, of the format's precision; a number's as it is."""
    if not isinstance(v, torch.Tensor):
        number = complex(v)
        return number.real, number.imag
    pairs = torch.view_as_real(convert(v, dtype).resolve_conj())
    return pairs[..., 0], pairs[..., 1]


def _joined(re: _Tensor, im: _Tensor) -> _Tensor:
    return torch.complex(re.contiguous(), im.contiguous())


def _added(real: Any, x: Any, y: Any, alpha: Any = 1) -> _Tensor:
    if isinstance(alpha, complex):
        raise Uncovered("a complex alpha")
    dtype = _format(x, y)
    (a, b), (c, d) = _parts(x, dtype), _parts(y, dtype)
    return _joined(real(a, c, alpha=alpha), real(b, d, alpha=alpha))


def _number(v: Any, dtype: torch.dtype) -> _Tensor:
    wide = torch.tensor(v, dtype=torch.complex128)
    made = wide.to(dtype)
    if not torch.equal(made.to(wide.dtype), wide):
        raise Uncovered("a number that the format does not hold")
    return made


def _by_parts(real: Any, x: _Tensor, y: Any, dtype: torch.dtype) -> _Tensor:
    """A function of each part of x and of real numbers."""
    y = convert(y, PARTS[dtype]) if isinstance(y, torch.Tensor) else y
    # The parts have random words of their own, and an array of no numbers has no pairs.
    if HERE.steps is not None or not isinstance(x, torch.Tensor) or not x.numel():
        a, b = _parts(x, dtype)
        return _joined(real(a, y), real(b, y))
    pairs = torch.view_as_real(convert(x, dtype).resolve_conj())
    return torch.view_as_complex(real(pairs, y[..., None] if isinstance(y, torch.Tensor) else y).contiguous())


def _multiplied(real: Any, x: Any, y: Any) -> _Tensor:
    dtype = _format(x, y)
    if not _is_complex(x):
        x, y = y, x
    if not _is_complex(y):
        return _by_parts(real, x, y, dtype)
    a, b = _parts(x, dtype)
    if not isinstance(y, torch.Tensor):
        y = _number(y, dtype)
    a, b, c, d = (as_array(t) for t in torch.broadcast_tensors(a, b, *_parts(y, dtype)))
    left = np.stack((a, b), -1)
    dot = _contractions.vecdot if HERE.steps is None else HERE.steps.dots
    re, im = (dot(left, np.stack(pair, -1)) for pair in ((c, -d), (d, c)))
    return _joined(as_tensor(np.asarray(re)), as_tensor(np.asarray(im)))


def _divided(real: Any, x: Any, y: Any, rounding_mode: str | None = None) -> _Tensor:
    if rounding_mode is not None:
        raise Uncovered(f"rounding_mode={rounding_mode!r}")
    dtype = _format(x, y)
    if _is_complex(y):
        given: list[Any] = []
        for v in (x, y):
            if not isinstance(v, torch.Tensor):
                v = _number(v, dtype)
            given += _parts(v, dtype)
        arrays = [np.ascontiguousarray(as_array(t)) for t in torch.broadcast_tensors(*given)]
        return _joined(*(as_tensor(a) for a in (quotients if HERE.steps is None else HERE.steps.quotients)(*arrays)))
    return _by_parts(real, x, y, dtype)


def _extend(name: str, of_complex: Any) -> None:
    """Lets a function take complex numbers too."""
    real = KERNELS[name]

    @functools.wraps(real)
    def call(x: Any, y: Any, *others: Any, out: _Tensor | None = None, **keywords: Any) -> _Tensor:
        if not (_is_complex(x) or _is_complex(y)):
            made: _Tensor = real(x, y, *others, **keywords) if out is None else real(x, y, *others, out=out, **keywords)
            return made
        made = of_complex(real, x, y, *others, **keywords)
        return made if out is None else write(out, made)

    KERNELS[name] = call


def _extend_sum(name: str) -> None:
    """The same of a reduction."""
    real = KERNELS[name]

    @functools.wraps(real)
    def call(x: Any, *arguments: Any, dtype: torch.dtype | None = None, **keywords: Any) -> _Tensor:
        if not _is_complex(x):
            made: _Tensor = real(x, *arguments, dtype=dtype, **keywords)
            return made
        if dtype not in (None, x.dtype):
            raise Uncovered(f"dtype={dtype}")
        return _joined(*(real(part, *arguments, **keywords) for part in _parts(x, x.dtype)))

    KERNELS[name] = call


@functools.wraps(KERNELS["reciprocal"])
def _reciprocal(x: Any, *, out: _Tensor | None = None) -> _Tensor:
    if not _is_complex(x):
        made: _Tensor = _real_reciprocal(x, out=out)
        return made
    made = KERNELS["divide"](1.0, x)
    return made if out is None else write(out, made)


_real_reciprocal = KERNELS["reciprocal"]
KERNELS["reciprocal"] = _reciprocal


def _squared(real: Any, x: Any, y: Any) -> _Tensor:
    if isinstance(y, torch.Tensor) or y not in (1, 2) or not _is_complex(x):
        raise Uncovered("complex powers, but those of exponents 1 and 2")
    return x.clone() if y == 1 else _multiplied(KERNELS["multiply"], x, x)


# --- products of matrices: each part of an element is one exact sum


def _sides(a: _Tensor, b: _Tensor, columns: int = -1) -> tuple[tuple[_Tensor, _Tensor], tuple[_Tensor, _Tensor]]:
    """Real factors, whose products are the real and the imaginary parts. `columns`: the summed axis of the first one; of the second it
    is the last but one, or the only one."""
    dtype = _format(a, b)
    (re, im), (re2, im2) = _parts(a, dtype), _parts(b, dtype)
    left, rows = torch.cat((re, im), columns), -2 if b.ndim > 1 else -1
    return (left, torch.cat((re2, im2.neg()), rows)), (left, torch.cat((im2, re2), rows))


def _extend_product(name: str) -> None:
    real = KERNELS[name]

    @functools.wraps(real)
    def call(a: _Tensor, b: _Tensor, **keywords: Any) -> _Tensor:
        if not (_is_complex(a) or _is_complex(b)):
            made: _Tensor = real(a, b, **keywords)
            return made
        if keywords:
            raise Uncovered(f"{next(iter(keywords))} of complex matrices")
        if HERE.steps is not None:
            return _joined(*(as_tensor(products(as_array(p), as_array(q))) for p, q in _sides(a, b)))
        return _joined(*(real(*side) for side in _sides(a, b)))

    KERNELS[name] = call


def _in_two(x: Any, factor: float) -> list[Any]:
    """Two binary64 arrays whose sum is the factor times a finite array."""
    parts = _random_modes.in_two(x.astype(np.float64), factor) if np.isfinite(x).all() else None
    if parts is None:
        raise Uncovered(
            "alpha or beta beside numbers that are not finite, or whose products float64 does not hold in two parts"
        )
    return list(parts)


def _with_factors(c: Any, a: Any, b: Any, beta: float, alpha: float) -> Any:
    """beta c + alpha a b as one sum of products of binary64 numbers, the parts of beta c times 1. A factor of 0 leaves what it multiplies unread."""
    vector = b.ndim == 1
    b = b[..., None] if vector else b
    shape = (*a.shape[:-1], b.shape[-1])
    c = np.broadcast_to(c[..., None] if vector else c, shape)
    left, right = [np.zeros((*a.shape[:-1], 1))], [np.zeros((*b.shape[:-2], 1, b.shape[-1]))]
    if alpha:
        left += _in_two(a, alpha)
        right += [b.astype(np.float64)] * 2
    if beta:
        if not np.isfinite(b).all():
            raise Uncovered("alpha or beta beside numbers that are not finite")
        ones = np.broadcast_to(np.eye(a.shape[-2]), (*a.shape[:-1], a.shape[-2]))
        left += [ones, ones]
        right += _in_two(c, beta)
    made = products(np.concatenate(left, -1), np.concatenate(right, -2), dtype=a.dtype)
    return made[..., 0] if vector else made


def _extend_product_and_sum(name: str) -> None:
    real = KERNELS[name]

    @functools.wraps(real)
    def call(c: _Tensor, a: _Tensor, b: _Tensor, *, beta: Any = 1, alpha: Any = 1) -> _Tensor:
        if not any(map(_is_complex, (a, b, c))):
            plain: _Tensor = real(c, a, b, beta=beta, alpha=alpha)
            return plain
        if _is_complex(beta) or _is_complex(alpha):
            raise Uncovered("a complex alpha or beta")
        terms = (t.contiguous() for t in _parts(c, _format(a, c)))
        if HERE.steps is not None:
            pairs = zip(terms, _sides(a, b), strict=True)
            if beta != 1 or alpha != 1:
                by = float(beta), float(alpha)
                made = [as_tensor(_with_factors(as_array(t), as_array(p), as_array(q), *by)) for t, (p, q) in pairs]
                return _joined(*made)
            return _joined(*(as_tensor(products(as_array(p), as_array(q), bias=as_array(t))) for t, (p, q) in pairs))
        return _joined(*(real(t, *side, beta=beta, alpha=alpha) for t, side in zip(terms, _sides(a, b), strict=True)))

    KERNELS[name] = call


_extend("add", _added)
_extend("subtract", _added)
_extend("multiply", _multiplied)
_extend("divide", _divided)
_extend_sum("sum")
_extend_sum("mean")
_extend("power", _squared)
for _name in ("mm", "bmm", "mv", "dot"):
    _extend_product(_name)
for _name in ("addmm", "baddbmm", "addmv"):
    _extend_product_and_sum(_name)


@integers
@kernel
def vdot(a: _Tensor, b: _Tensor) -> _Tensor:
    made: _Tensor = KERNELS["dot"](a.conj(), b)
    return made


def _allclose(real: Any, x: _Tensor, y: _Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """By magnitudes, in binary64."""
    (a, b), (c, d) = ([widened(t) for t in _parts(v, v.dtype)] for v in (x, y))
    far = apply("hypot", apply("subtract", a, c), apply("subtract", b, d))
    limit = KERNELS["add"](KERNELS["multiply"](apply("hypot", c, d), float(rtol)), float(atol))
    same = ((a == c) & (b == d)) | (far.isfinite() & (far <= limit))
    return bool((same | (far.isnan() & limit.isnan()) if equal_nan else same).all())


_extend("allclose", _allclose)


# --- functions: the magnitude is rounded once; others are composed, in binary64


@kernel
def polar(magnitude: _Tensor, angle: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Of magnitude times cosine and sine."""
    dtype = torch.result_type(magnitude, angle)
    r, angle = widened(magnitude), widened(angle)
    both = (convert(apply("multiply", r, apply(name, angle)), dtype) for name in ("cos", "sin"))
    made = _joined(*torch.broadcast_tensors(*both))
    return made if out is None else write(out, made)


def _function(name: str, of_parts: Any) -> None:
    """Lets a function of real numbers take complex ones, by binary64 numbers of their parts."""
    real = KERNELS[name]

    @functools.wraps(real)
    def call(z: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
        if not _is_complex(z):
            own: _Tensor = real(z) if out is None else real(z, out=out)
            return own
        if z.dtype not in PARTS:
            raise Uncovered(f"tensors of {z.dtype}")
        a, b = (widened(t.contiguous()) for t in _parts(z, z.dtype))
        found = of_parts(a, b)
        if isinstance(found, torch.Tensor):
            made = convert(found, PARTS[z.dtype])
        else:
            made = _joined(*(convert(t, PARTS[z.dtype]) for t in found))
        return made if out is None else write(out, made)

    KERNELS[name] = call


def _exp(a: _Tensor, b: _Tensor) -> tuple[_Tensor, _Tensor]:
    """exp(a) cos(b) and exp(a) sin(b); of a real number its exponential and b."""
    size = apply("exp", a)
    re, im = (apply("multiply", size, apply(name, b)) for name in ("cos", "sin"))
    return re, torch.where(b == 0, b, im)


def _log(a: _Tensor, b: _Tensor) -> tuple[_Tensor, _Tensor]:
    return apply("log", apply("hypot", a, b)), apply("atan2", b, a)


def _direction(a: _Tensor, b: _Tensor) -> tuple[_Tensor, _Tensor]:
    """Each part over the magnitude; 0 of 0."""
    size = apply("hypot", a, b)
    size = torch.where(size == 0, size.new_ones(()), size)
    return apply("divide", a, size), apply("divide", b, size)


def _sqrt(a: _Tensor, b: _Tensor) -> tuple[_Tensor, _Tensor]:
    """t and b/(2 t), t the root of half of abs(a) + abs(z); exchanged, with the sign of b, where a < 0."""
    half = apply("multiply", apply("add", a.abs(), apply("hypot", a, b)), 0.5)
    t = apply("sqrt", half)
    other = apply("divide", b.abs(), apply("multiply", t, 2.0))
    other = torch.where(t == 0, t, other)
    return torch.where(a < 0, other, t), torch.copysign(torch.where(a < 0, t, other), b)


_function("exp", _exp)
_function("log", _log)
_function("direction", _direction)
_function("sqrt", _sqrt)
_function("angle", lambda a, b: apply("atan2", b, a))
