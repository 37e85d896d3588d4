"""Random operators draw from counter-based streams, whose key the generator of the call gives.

Each call takes 64 bits of its generator (the default one, or the one that is given), which PyTorch draws by integer arithmetic
alone, and these are the seed of `repmath.random`. So manual_seed, saved states and generators of one's own work as usual.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import torch

from ... import random
from ..._cuda import _calls
from ..._draws import gradients
from ..._narrow import narrow
from .._device_tensors import as_device_array
from .._formula import formula
from .._tensors import FORMATS, as_array, as_tensor
from .common import KERNELS, Uncovered, apply, format_of, integers, kernel

_Generator: TypeAlias = torch.Generator | None
_Maybe: TypeAlias = torch.dtype | None


def seed(generator: _Generator = None) -> int:
    return int(torch.empty((), dtype=torch.int64).random_(generator=generator))


def _format(dtype: _Maybe) -> Any:
    chosen = torch.get_default_dtype() if dtype is None else dtype
    if chosen not in FORMATS:
        raise Uncovered(f"dtype={chosen}")
    return FORMATS[chosen]


def _check(layout: Any = None, device: Any = None, pin_memory: Any = None, memory_format: Any = None) -> None:
    if device is not None and torch.device(device).type != "cpu":
        raise Uncovered(f"device={device}")


@kernel
def rand(size: Sequence[int], *, generator: _Generator = None, dtype: _Maybe = None, **options: Any) -> torch.Tensor:
    _check(**options)
    return as_tensor(random.uniform(seed(generator), tuple(size), dtype=_format(dtype)))


@kernel
def randn(size: Sequence[int], *, generator: _Generator = None, dtype: _Maybe = None, **options: Any) -> torch.Tensor:
    _check(**options)
    return as_tensor(random.normal(seed(generator), tuple(size), dtype=_format(dtype)))


@kernel
def rand_like(x: torch.Tensor, *, dtype: _Maybe = None, generator: _Generator = None, **options: Any) -> torch.Tensor:
    return rand(x.shape, generator=generator, dtype=x.dtype if dtype is None else dtype, **options)


@kernel
def randn_like(x: torch.Tensor, *, dtype: _Maybe = None, generator: _Generator = None, **options: Any) -> torch.Tensor:
    return randn(x.shape, generator=generator, dtype=x.dtype if dtype is None else dtype, **options)


@kernel
def uniform(x: torch.Tensor, low: float = 0, high: float = 1, *, generator: _Generator = None) -> torch.Tensor:
    return as_tensor(random.uniform(seed(generator), tuple(x.shape), low, high, dtype=_format(x.dtype)))


@kernel
def normal(x: torch.Tensor, mean: float = 0, std: float = 1, *, generator: _Generator = None) -> torch.Tensor:
    return as_tensor(random.normal(seed(generator), tuple(x.shape), mean, std, dtype=_format(x.dtype)))


@integers
@kernel
def bernoulli(x: torch.Tensor, p: float = 0.5, *, generator: _Generator = None) -> torch.Tensor:
    if not x.is_cpu and 0 <= p <= 1:
        made = torch.empty(x.shape, dtype=torch.uint8, device=x.device)
        _calls.random_bernoulli(seed(generator), p, as_device_array(made))
        return made.to(x.dtype)
    return as_tensor(random.bernoulli(seed(generator), tuple(x.shape), float(p))).to(x.dtype)


@kernel
def bernoulli_of(x: torch.Tensor, p: torch.Tensor | None = None, *, generator: _Generator = None) -> torch.Tensor:
    """Of probabilities that are tensors: 1 where a float64 uniform number is below."""
    chances = x if p is None else p.expand(x.shape)
    if bool(((chances < 0) | (chances > 1) | chances.isnan()).any()):
        raise ValueError("probabilities must be between 0 and 1")
    _format(chances.dtype)
    return (as_tensor(random.uniform(seed(generator), tuple(x.shape))) < chances.to(torch.float64)).to(x.dtype)


@kernel
def normal_of(mean: Any, std: Any, size: Any = None, *, generator: _Generator = None, **options: Any) -> torch.Tensor:
    """RN(mean + std z), z normal numbers of the result's format; of two numbers in one rounding with z."""
    if size is not None:
        return normal(torch.empty(tuple(size), **options), float(mean), float(std), generator=generator)
    if bool(torch.any(torch.as_tensor(std) < 0)):
        raise ValueError("std must not be negative")
    both = [v for v in (mean, std) if isinstance(v, torch.Tensor)]
    shape = torch.broadcast_shapes(*(v.shape for v in both))
    z = randn(shape, generator=generator, dtype=format_of(*both))
    return apply("fma", z, std, mean) if isinstance(std, torch.Tensor) else KERNELS["add"](mean, z, alpha=std)


@kernel
def native_dropout(x: torch.Tensor, p: float, train: bool | None) -> Any:
    """x / (1 - p) where it is kept, rounded once."""
    if train is False or p == 0:
        return x.clone(), torch.ones_like(x, dtype=torch.bool)
    key = seed()
    made = as_tensor(random.dropout(as_array(x), p, key))
    kept = as_tensor(random.dropout(as_array(torch.ones_like(x)), 0.5 if p == 1 else p, key)) != 0
    return made, kept & (p != 1)


@kernel
def native_dropout_backward(g: torch.Tensor, mask: torch.Tensor, scale: float) -> torch.Tensor:
    return torch.where(mask, formula("scaled", float(scale), g), g.new_zeros(()))


def _held(name: str, x: torch.Tensor) -> Any:
    """A tensor of parameters as an array."""
    _format(x.dtype)
    if not x.is_cpu:
        raise Uncovered(f"{name} on {x.device.type}")
    return as_array(x.detach())


@kernel
def standard_gamma(x: torch.Tensor, generator: _Generator = None) -> torch.Tensor:
    return as_tensor(random.gamma(seed(generator), None, _held("x", x), dtype=_format(x.dtype))).reshape(x.shape)


@kernel
def sample_dirichlet(x: torch.Tensor, generator: _Generator = None) -> torch.Tensor:
    return as_tensor(random.dirichlet(seed(generator), None, _held("x", x), dtype=_format(x.dtype)))


def _derived(of: torch.dtype, fill: Any, **given: torch.Tensor) -> torch.Tensor:
    """A derivative in the format: `fill` writes it for what is given, as binary64 numbers."""
    held = _format(of)
    shape = torch.broadcast_shapes(*(v.shape for v in given.values()))
    values = [np.broadcast_to(_held(n, v).astype(np.float64), shape).reshape(-1) for n, v in given.items()]
    made = np.empty(values[0].size, held)
    fill(*values, made)
    return as_tensor(made.reshape(tuple(shape)))


@kernel
def standard_gamma_grad(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return _derived(x.dtype, gradients.gamma_gradient, a=a, x=x)


@kernel
def dirichlet_grad(x: torch.Tensor, alpha: torch.Tensor, total: torch.Tensor) -> torch.Tensor:
    return _derived(x.dtype, gradients.dirichlet_gradient, alpha=alpha, x=x, total=total)


def _counted(made: Any, dtype: torch.dtype) -> torch.Tensor:
    """Whole numbers up to 2^53, rounded once to the format."""
    rounded = narrow(np.asarray(made, np.float64), _format(dtype), lambda at: np.zeros(at[0].shape))
    return as_tensor(rounded)


@kernel
def poisson(x: torch.Tensor, generator: _Generator = None) -> torch.Tensor:
    return _counted(random.poisson(seed(generator), None, _held("x", x)), x.dtype)


@kernel
def binomial(count: torch.Tensor, prob: torch.Tensor, generator: _Generator = None) -> torch.Tensor:
    n, p = _held("count", count), _held("prob", prob)
    return _counted(random.binomial(seed(generator), None, n, p), count.dtype)


@integers
@kernel
def randint(low: int, high: Any = None, size: Any = None, **options: Any) -> torch.Tensor:
    """randint(high, size) or randint(low, high, size)."""
    if size is None:
        low, high, size = 0, low, high
    dtype = options.pop("dtype", None)
    generator = options.pop("generator", None)
    _check(**options)
    made = as_tensor(random.randint(seed(generator), tuple(size), low, high))
    return made.to(torch.int64 if dtype is None else dtype)


@integers
@kernel
def randperm(n: int, *, generator: _Generator = None, dtype: _Maybe = None, **options: Any) -> torch.Tensor:
    _check(**options)
    return as_tensor(random.permutation(seed(generator), n)).to(torch.int64 if dtype is None else dtype)


@integers
@kernel
def randint_like(x: torch.Tensor, low: int, high: Any = None, **options: Any) -> torch.Tensor:
    """randint_like(x, high) or randint_like(x, low, high)."""
    options["dtype"] = options.get("dtype") or x.dtype
    return randint(0, low, x.shape, **options) if high is None else randint(low, high, x.shape, **options)
