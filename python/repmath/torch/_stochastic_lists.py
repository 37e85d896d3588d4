"""Operators of stochastic() on lists of tensors: what they are for each."""

from collections.abc import Iterator
from typing import Any

import torch

SELECTS = ("maximum", "minimum", "clamp_min", "clamp_max", "abs", "max")
_UNARY = "acos asin atan cos cosh erf erfc exp expm1 frac log log10 log1p log2 reciprocal rsqrt sigmoid sin sinh sqrt tan tanh".split()
# The operator of one tensor.
_SINGLE = {
    **{
        f"{op}.{kind}": f"{op}.Tensor"
        for op in ("add", "sub", "mul", "div")
        for kind in ("List", "Scalar", "ScalarList", "Tensor")
    },
    **{f"{op}.default": f"{op}.default" for op in _UNARY},
    **{f"{op}.{kind}": f"{op}.default" for op in ("addcmul", "addcdiv") for kind in ("Scalar", "ScalarList", "Tensor")},
    "norm.Scalar": "linalg_vector_norm.default",
    "lerp.List": "lerp.Tensor",
    "lerp.Scalar": "lerp.Scalar",
    "lerp.ScalarList": "lerp.Scalar",
    "pow.List": "pow.Tensor_Tensor",
    "pow.Scalar": "pow.Tensor_Scalar",
    "pow.ScalarList": "pow.Tensor_Scalar",
    "pow.ScalarAndTensor": "pow.Scalar",
}


def single(base: str, overload: str) -> str | None:
    return _SINGLE.get(f"{base.removesuffix('_')}.{overload}")


def each(name: str, args: Any, kwargs: Any) -> Iterator[tuple[Any, tuple[Any, ...], dict[str, Any]]]:
    """The calls that a call of lists is, in their order."""
    packet, kind = name.split(".")
    overload = getattr(getattr(torch.ops.aten, packet), kind)
    by_elements = packet in ("addcmul", "addcdiv")  # numbers are given by name there; a tensor has one for each call
    size = len(next(v for v in args if isinstance(v, (list, tuple))))

    def listed(v: Any) -> Any:
        return (
            v if isinstance(v, (list, tuple)) else v.tolist() if by_elements and isinstance(v, torch.Tensor) else [v] * size
        )

    positional = [listed(v) for v in (args[:3] if by_elements else args)]
    named = {"value" if by_elements else n: listed(v) for n, v in kwargs.items()}
    if by_elements and len(args) > 3:
        named["value"] = listed(args[3])
    for i, values in enumerate(zip(*positional, strict=True)):
        yield overload, values, {n: v[i] for n, v in named.items()}
