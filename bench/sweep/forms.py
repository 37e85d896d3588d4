"""Operators of which PyTorch has no samples, or small ones alone: on lists of tensors, with numbers, random, ranges, conversions.

What is in place changes its tensor by little or nothing, so that many calls meet the same kind of numbers.
"""

import functools

import torch
from torch.nn import functional as F

LITTLE = 2.0**-30
COUNT = 8  # tensors of a list


def lists(f, n=1):
    """f of n lists of tensors of one shape."""
    return lambda s: (lambda *x: f(*(list(x[i * COUNT : (i + 1) * COUNT]) for i in range(n))), (s,) * (n * COUNT))


def foreach(name, *numbers, lists_=1, **options):
    return lists(lambda *x: getattr(torch, f"_foreach_{name}")(*x, *numbers, **options), lists_)


@functools.cache
def one_each(shape, dtype):
    return [torch.ones(shape, dtype=dtype) for _ in range(COUNT)]


ONES = [1.0] * COUNT
LISTS = {
    "_foreach_abs": foreach("abs"),
    "_foreach_sqrt": foreach("sqrt"),
    "_foreach_sqrt_": foreach("sqrt_"),
    "_foreach_reciprocal_": foreach("reciprocal_"),
    "_foreach_norm": foreach("norm"),
    "_foreach_pow number": foreach("pow", 3.0),
    "_foreach_add": foreach("add", lists_=2),
    "_foreach_add number": foreach("add", 0.7),
    "_foreach_add numbers": foreach("add", ONES),
    "_foreach_add_": foreach("add_", lists_=2, alpha=LITTLE),
    "_foreach_add_ number": foreach("add_", LITTLE),
    "_foreach_add_ numbers": foreach("add_", [LITTLE] * COUNT),
    "_foreach_sub": foreach("sub", lists_=2),
    "_foreach_sub_ number": foreach("sub_", LITTLE),
    "_foreach_mul": foreach("mul", lists_=2),
    "_foreach_mul number": foreach("mul", 0.7),
    "_foreach_mul numbers": foreach("mul", ONES),
    "_foreach_mul_ number": foreach("mul_", 1.0),
    "_foreach_mul_ numbers": foreach("mul_", ONES),
    "_foreach_mul_ tensor": lists(lambda x: torch._foreach_mul_(x, torch.ones(()))),
    "_foreach_div numbers": foreach("div", ONES),
    "_foreach_div_ number": foreach("div_", 1.0),
    "_foreach_div_ numbers": foreach("div_", ONES),
    "_foreach_div_ tensor": lists(lambda x: torch._foreach_div_(x, torch.ones(()))),
    "_foreach_add_ tensor": lists(lambda x: torch._foreach_add_(x, torch.full((), LITTLE, dtype=x[0].dtype))),
    "_foreach_mul tensor": lists(lambda x: torch._foreach_mul(x, torch.ones((), dtype=x[0].dtype))),
    "_foreach_mul_": lists(lambda x: torch._foreach_mul_(x, one_each(x[0].shape, x[0].dtype))),
    "_foreach_div_": lists(lambda x: torch._foreach_div_(x, one_each(x[0].shape, x[0].dtype))),
    "_foreach_lerp_ numbers": foreach("lerp_", [LITTLE] * COUNT, lists_=2),
    "_foreach_maximum_": foreach("maximum_", lists_=2),
    "_foreach_addcmul_": foreach("addcmul_", LITTLE, lists_=3),
    "_foreach_addcmul_ numbers": foreach("addcmul_", [LITTLE] * COUNT, lists_=3),
    "_foreach_addcdiv_": foreach("addcdiv_", LITTLE, lists_=3),
    "_foreach_addcdiv_ numbers": foreach("addcdiv_", [LITTLE] * COUNT, lists_=3),
    "_foreach_lerp_": foreach("lerp_", LITTLE, lists_=2),
    "stack and sum": lists(lambda x: torch.stack(x).sum(0)),
}


def one(f):
    return lambda s: (f, (s,))


def two(f):
    return lambda s: (f, (s, s))


NUMBERS = {
    "add_ a number": one(lambda x: x.add_(LITTLE)),
    "sub_ a number": one(lambda x: x.sub_(LITTLE)),
    "mul_ a number": one(lambda x: x.mul_(1.0)),
    "div_ a number": one(lambda x: x.div_(1.0)),
    "add_ with alpha": two(lambda x, y: x.add_(y, alpha=LITTLE)),
    "mul_ a tensor of one element": one(lambda x: x.mul_(torch.ones((), dtype=x.dtype))),
    "addcmul_": two(lambda x, y: x.addcmul_(y, y, value=LITTLE)),
    "addcdiv_": two(lambda x, y: x.addcdiv_(y, y, value=LITTLE)),
    "lerp a number": two(lambda x, y: x.lerp(y, 0.1)),
    "lerp_ a number": two(lambda x, y: x.lerp_(y, LITTLE)),
    "clamp numbers": one(lambda x: x.clamp(-0.5, 0.5)),
    "clamp_max_": one(lambda x: x.clamp_max_(0.7)),
    "div floor, a number": one(lambda x: torch.div(x, 0.7, rounding_mode="floor")),
    "div_ trunc, a number": one(lambda x: x.div_(1.0, rounding_mode="trunc")),
    "floor_divide a number": one(lambda x: x // 0.7),
    "floor_divide_ a number": one(lambda x: x.floor_divide_(1.0)),
    "fmod a number": one(lambda x: x.fmod(0.7)),
    "fmod_ a number": one(lambda x: x.fmod_(0.7)),
    "remainder a number": one(lambda x: x % 0.7),
    "remainder_ a number": one(lambda x: x.remainder_(0.7)),
    "remainder of a number": one(lambda x: torch.remainder(0.7, x)),
    "number less x": one(lambda x: 1 - x),
    "number over x": one(lambda x: 1 / x),
    "pow 2": one(lambda x: x**2),
    "pow 3": one(lambda x: x**3),
    "pow of a number": one(lambda x: 2.0**x),
    "xlogy number, x": one(lambda x: torch.xlogy(0.7, x)),
    "xlogy x, number": one(lambda x: torch.xlogy(x, 0.7)),
    "xlogy_ x, number": one(lambda x: x.xlogy_(2.718281828459045)),
    "gelu tanh": one(lambda x: F.gelu(x, approximate="tanh")),
    "add integers": one(lambda x: x + torch.ones(x.shape, dtype=torch.int64)),
    "mul bool": one(lambda x: x * (x > 0)),
    "masked_fill": one(lambda x: x.masked_fill(x > 0, -1e9)),
    "to float32": one(lambda x: x.to(torch.float32)),
    "to float64": one(lambda x: x.to(torch.float64)),
    "to bfloat16": one(lambda x: x.to(torch.bfloat16)),
    "to float16": one(lambda x: x.to(torch.float16)),
    "copy_ to bfloat16": one(lambda x: torch.empty(x.shape, dtype=torch.bfloat16).copy_(x)),
    "contiguous": one(lambda x: x.mT.contiguous()),
    "cat": two(lambda x, y: torch.cat((x, y))),
    "index_put_": two(lambda x, y: torch.ops.aten._index_put_impl_(x, (torch.zeros(1, dtype=torch.int64),), y[:1])),
    "scatter add": one(lambda x: x.scatter(0, torch.zeros(x.shape, dtype=torch.int64), x, reduce="add")),
}
RANDOM = {
    "rand_like": one(torch.rand_like),
    "randn_like": one(torch.randn_like),
    "randint_like": one(lambda x: torch.randint_like(x, 100)),
    "bernoulli": one(lambda x: x.sigmoid().bernoulli()),
    "bernoulli_ 0.3": one(lambda x: x.bernoulli_(0.3)),
    "normal_": one(lambda x: x.normal_(1, 2)),
    "normal of tensors": two(lambda x, y: torch.normal(x, y.abs())),
    "uniform_": one(lambda x: x.uniform_(-1, 1)),
    "exponential_": one(lambda x: x.exponential_()),
    "log_normal_": one(lambda x: x.log_normal_()),
    "cauchy_": one(lambda x: x.cauchy_()),
    "geometric_": one(lambda x: x.geometric_(0.3)),
    "dropout": one(lambda x: F.dropout(x, 0.1)),
    "alpha_dropout": one(lambda x: F.alpha_dropout(x, 0.1)),
    "rrelu": one(lambda x: F.rrelu(x, training=True)),
    "multinomial": one(lambda x: x.abs().multinomial(2)),
    "randperm": one(lambda x: torch.randperm(x.numel())),
    "linspace": one(lambda x: torch.linspace(0, 0.7, x.numel(), dtype=x.dtype)),
    "arange": one(lambda x: torch.arange(0, 0.7 * x.numel(), 0.7, dtype=x.dtype)[: x.numel()]),
    "logspace": one(lambda x: torch.logspace(0, 0.7, x.numel(), dtype=x.dtype)),
    "full_like": one(lambda x: torch.full_like(x, 0.7)),
}
SHAPES = ((256, 256), (4, 4), (2048, 2048))
