"""Fourier transforms, and the arithmetic of complex numbers that they and their gradients need: each part is rounded once."""

import functools
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import torch

from ... import _contractions
from ...fft import _transform
from .._tensors import as_array, as_tensor
from . import elementwise, reductions  # noqa: F401  # whose functions are extended here
from .common import KERNELS, PARTS, Uncovered, convert, kernel, write

_Tensor: TypeAlias = torch.Tensor

_SCALES = ("one", "root", "n")
_KINDS = {torch.float32: False, torch.float64: False, torch.complex64: True, torch.complex128: True}


def _transformed(x: _Tensor, dim: Sequence[int], lengths: Sequence[int], kind: str, sign: int, normalization: int) -> _Tensor:
    if x.dtype not in _KINDS:
        raise Uncovered(f"tensors of {x.dtype}")
    if not dim:
        return x.clone()
    axes = tuple(d % x.ndim for d in dim)
    made: _Tensor = as_tensor(_transform(as_array(x), axes, tuple(lengths), kind, sign, _SCALES[normalization]))
    return made


@kernel
def fft_c2c(x: _Tensor, dim: Sequence[int], normalization: int, forward: bool) -> _Tensor:
    return _transformed(x, dim, [x.shape[d] for d in dim], "complex", -1 if forward else 1, normalization)


@kernel
def fft_r2c(x: _Tensor, dim: Sequence[int], normalization: int, onesided: bool) -> _Tensor:
    lengths = [x.shape[d] for d in dim]
    if not dim:
        raise Uncovered("dim=()")
    return _transformed(x, dim, lengths, "from real" if onesided else "complex", -1, normalization)


@kernel
def fft_c2r(x: _Tensor, dim: Sequence[int], normalization: int, last_dim_size: int) -> _Tensor:
    if not dim:
        raise Uncovered("dim=()")
    lengths = [*(x.shape[d] for d in dim[:-1]), last_dim_size]
    return _transformed(x, dim, lengths, "to real", 1, normalization)


# --- complex numbers


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


def _multiplied(real: Any, x: Any, y: Any) -> _Tensor:
    dtype = _format(x, y)
    if not _is_complex(x):
        x, y = y, x
    a, b = _parts(x, dtype)
    if not _is_complex(y):
        y = convert(y, PARTS[dtype]) if isinstance(y, torch.Tensor) else y
        return _joined(real(a, y), real(b, y))
    if not isinstance(y, torch.Tensor):
        y = torch.tensor(y, dtype=torch.complex128)
        if dtype is not torch.complex128 and not torch.equal(y.to(dtype).to(y.dtype), y):
            raise Uncovered("a complex number that the format does not hold")
    a, b, c, d = (as_array(t) for t in torch.broadcast_tensors(a, b, *_parts(y, dtype)))
    left = np.stack((a, b), -1)
    re = _contractions.vecdot(left, np.stack((c, -d), -1))
    im = _contractions.vecdot(left, np.stack((d, c), -1))
    return _joined(as_tensor(np.asarray(re)), as_tensor(np.asarray(im)))


def _divided(real: Any, x: Any, y: Any, rounding_mode: str | None = None) -> _Tensor:
    if _is_complex(y) or rounding_mode is not None:
        raise Uncovered("a complex divisor" if rounding_mode is None else f"rounding_mode={rounding_mode!r}")
    dtype = _format(x, y)
    a, b = _parts(x, dtype)
    y = convert(y, PARTS[dtype]) if isinstance(y, torch.Tensor) else y
    return _joined(real(a, y), real(b, y))


def _extend(name: str, of_complex: Any) -> None:
    """Lets a function take complex numbers too."""
    real = KERNELS[name]

    @functools.wraps(real)
    def call(x: Any, y: Any, *, out: _Tensor | None = None, **keywords: Any) -> _Tensor:
        if not (_is_complex(x) or _is_complex(y)):
            made: _Tensor = real(x, y, **keywords) if out is None else real(x, y, out=out, **keywords)
            return made
        made = of_complex(real, x, y, **keywords)
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


_extend("add", _added)
_extend("subtract", _added)
_extend("multiply", _multiplied)
_extend("divide", _divided)
_extend_sum("sum")
_extend_sum("mean")
