"""Operators composed of functions of the other files, with one rounding per step."""

from typing import TypeAlias

import torch

from ... import random
from .._formula import formula
from .._tensors import FORMATS, as_tensor
from .common import KERNELS, Uncovered, apply, convert, kernel
from .random import seed

_Number: TypeAlias = float | int
_Generator: TypeAlias = torch.Generator | None


def _scaled(x: torch.Tensor, a: _Number) -> torch.Tensor:
    return x if a == 1 else formula("scaled", float(a), x)


def below_elu(x: torch.Tensor, alpha: _Number, scale: _Number = 1, input_scale: _Number = 1) -> torch.Tensor:
    """What elu is where x is not above 0."""
    return _scaled(_scaled(apply("expm1", _scaled(x, input_scale)), alpha), scale)


def elu_slope(g: torch.Tensor, x: torch.Tensor, alpha: _Number, scale: _Number = 1, input_scale: _Number = 1) -> torch.Tensor:
    """Its gradient there."""
    slope = _scaled(_scaled(apply("exp", _scaled(x, input_scale)), alpha), scale)
    return apply("multiply", _scaled(g, input_scale), slope)


@kernel
def elu(x: torch.Tensor, alpha: _Number = 1, scale: _Number = 1, input_scale: _Number = 1) -> torch.Tensor:
    return torch.where(x > 0, _scaled(x, scale), below_elu(x, alpha, scale, input_scale))


@kernel
def elu_backward(
    g: torch.Tensor, alpha: _Number, scale: _Number, input_scale: _Number, is_result: bool, x: torch.Tensor
) -> torch.Tensor:
    if is_result:
        below = apply("multiply", _scaled(g, input_scale), KERNELS["add"](x, float(alpha) * float(scale)))
    else:
        below = elu_slope(g, x, alpha, scale, input_scale)
    return torch.where(x > 0, _scaled(g, scale), below)


@kernel
def mish(x: torch.Tensor) -> torch.Tensor:
    return apply("multiply", x, apply("tanh", apply("softplus", x)))


def _reduced(x: torch.Tensor, reduction: int) -> torch.Tensor:
    return x if reduction == 0 else KERNELS["mean" if reduction == 1 else "sum"](x)


@kernel
def binary_cross_entropy(
    x: torch.Tensor, y: torch.Tensor, weight: torch.Tensor | None = None, reduction: int = 1
) -> torch.Tensor:
    """Logarithms are held to -100 or more, as PyTorch has it."""
    if not bool(((x >= 0) & (x <= 1)).all()):
        raise ValueError("all elements of input should be between 0 and 1")
    low, high = (formula("max_scalar", -100.0, apply(name, v)) for name, v in (("log", x), ("log1p", x.neg())))
    made = KERNELS["lerp"](high, low, y).neg()
    return _reduced(made if weight is None else apply("multiply", made, weight), reduction)


@kernel
def binary_cross_entropy_backward(
    g: torch.Tensor, x: torch.Tensor, y: torch.Tensor, weight: torch.Tensor | None = None, reduction: int = 1
) -> torch.Tensor:
    below = formula("max_scalar", 1e-12, apply("multiply", x, apply("subtract", 1.0, x)))
    made = apply("divide", apply("multiply", g, apply("subtract", x, y)), below)
    if weight is not None:
        made = apply("multiply", made, weight)
    return KERNELS["divide"](made, x.numel()) if reduction == 1 else made


# draws


@kernel
def exponential(x: torch.Tensor, rate: float = 1, *, generator: _Generator = None) -> torch.Tensor:
    """-log(1 - u), then divided by the rate."""
    if x.dtype not in FORMATS:
        raise Uncovered(f"tensors of {x.dtype}")
    if not rate > 0:
        raise ValueError(f"rate must be positive, not {rate}")
    u = as_tensor(random.uniform(seed(generator), tuple(x.shape), dtype=FORMATS[x.dtype]))
    made = apply("log1p", u.neg()).neg()
    return made if rate == 1 else KERNELS["divide"](made, float(rate))


def _wide_uniform(x: torch.Tensor, generator: _Generator) -> torch.Tensor:
    return as_tensor(random.uniform(seed(generator), tuple(x.shape)))


@kernel
def log_normal(x: torch.Tensor, mean: float = 1, std: float = 2, *, generator: _Generator = None) -> torch.Tensor:
    """exp of a normal number of the format."""
    if not std > 0:
        raise ValueError(f"std must be positive, not {std}")
    return apply("exp", KERNELS["normal"](x, float(mean), float(std), generator=generator))


@kernel
def geometric(x: torch.Tensor, p: float, *, generator: _Generator = None) -> torch.Tensor:
    """The whole number not below log(1 - u)/log(1 - p), and 1 or more."""
    if not 0 < p < 1:
        raise ValueError(f"p must be between 0 and 1, not {p}")
    rate = apply("log1p", torch.tensor(-float(p), dtype=torch.float64))
    made = apply("divide", apply("log1p", _wide_uniform(x, generator).neg()), rate).ceil()
    return convert(formula("max_scalar", 1.0, made), x.dtype)


@kernel
def cauchy(x: torch.Tensor, median: float = 0, sigma: float = 1, *, generator: _Generator = None) -> torch.Tensor:
    """median + sigma tan(pi (u - 1/2))."""
    if not sigma > 0:
        raise ValueError(f"sigma must be positive, not {sigma}")
    turn = apply("subtract", _wide_uniform(x, generator), 0.5)  # exact
    slope = apply("tan", KERNELS["multiply"](turn, 3.141592653589793))
    return convert(apply("fma", slope, float(sigma), float(median)), x.dtype)


@kernel
def multinomial(p: torch.Tensor, samples: int, replacement: bool = False, *, generator: _Generator = None) -> torch.Tensor:
    """The greatest of p/e, e exponential; with replacement of as many rows of e, without it the greatest ones."""
    if p.dtype not in FORMATS:
        raise Uncovered(f"tensors of {p.dtype}")
    if p.ndim not in (1, 2) or samples < 1 or bool(((p < 0) | ~p.isfinite()).any()) or bool((p.sum(-1) == 0).any()):
        raise ValueError("p must be rows of probabilities, and samples positive")
    shape = (*p.shape[:-1], samples, p.shape[-1]) if replacement else p.shape
    race = apply(
        "divide", p.unsqueeze(-2).expand(shape) if replacement else p, exponential(p.new_empty(shape), generator=generator)
    )
    race = torch.where(race.isnan(), race.new_zeros(()), race)  # 0/0
    if replacement:
        return race.argmax(-1)
    if bool(((p > 0).sum(-1) < samples).any()):
        raise ValueError("fewer categories than samples without replacement")
    return race.topk(samples, -1).indices


def _slope(lower: _Number, upper: _Number) -> float:
    return (float(lower) + float(upper)) / 2


@kernel
def rrelu_with_noise(
    x: torch.Tensor,
    noise: torch.Tensor,
    lower: _Number = 1 / 8,
    upper: _Number = 1 / 3,
    training: bool = False,
    generator: _Generator = None,
) -> torch.Tensor:
    """The slope of each number that is not above 0 is drawn, and put into `noise`; where not trained, it is the mean of the limits."""
    if lower > upper:
        raise ValueError(f"limits {lower}, {upper}")
    if not training:
        return KERNELS["leaky_relu"](x, _slope(lower, upper))
    drawn = KERNELS["uniform"](x, float(lower), float(upper), generator=generator)
    noise.copy_(torch.where(x <= 0, drawn, drawn.new_ones(())))
    return apply("multiply", x, noise)


@kernel
def rrelu_with_noise_backward(
    g: torch.Tensor,
    x: torch.Tensor,
    noise: torch.Tensor,
    lower: _Number,
    upper: _Number,
    training: bool,
    self_is_result: bool,
) -> torch.Tensor:
    if training and float(upper) - float(lower) > 1e-6:
        return apply("multiply", g, noise)
    return KERNELS["leaky_relu_backward"](g, x, _slope(lower, upper), self_is_result)
