"""Every operator that PyTorch has samples of: the samples themselves, which are small; elementwise functions and reductions on many shapes too."""

import functools
import itertools
import warnings

import numpy as np
import torch
from torch.utils._pytree import tree_map_only

from .cases import Calls, Case, Skip, crossed
from .tensors import LAYOUTS, TORCH, WITHIN, attempt, floats, gradients, laid, pair

SAMPLES = 6  # of the first 48 of each operator, evenly
ELEMENTWISE = {
    "64 Ki": (256, 256), "4x4": (4, 4), "1": (1,), "transposed": (256, 256), "sliced": (256, 256), "4 Mi": (2048, 2048),
}  # fmt: skip
REDUCED = ((256, 256), (64, 4096), (4096, 8), (4, 4), (4, 16, 128, 8), (2048, 2048))


@functools.cache
def database():
    from torch.testing._internal.common_methods_invocations import op_db

    return {op.name + (f"[{op.variant_test_name}]" if op.variant_test_name else ""): op for op in op_db}


@functools.lru_cache(maxsize=4)
def first_samples(key, dtype, gradients):
    op = database()[key]
    torch.default_generator.manual_seed(len(key))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return attempt(lambda: list(itertools.islice(op.sample_inputs_func(op, "cpu", TORCH[dtype], gradients), 48)))


def copied(value):
    return tree_map_only(torch.Tensor, lambda t: t.detach().clone().requires_grad_(t.requires_grad), value)


def restoring(tensor):
    """A function that gives the tensor the elements that it has now; without PyTorch, whose calls are what is measured."""
    if tensor.is_complex() or tensor.dtype is torch.bool:
        raise Skip("no numbers of floating point")
    whole = (
        tensor.detach().view({2: torch.int16, 4: torch.int32, 8: torch.int64, 1: torch.int8}[tensor.element_size()]).numpy()
    )
    return functools.partial(np.copyto, whole, whole.copy())


def sample_calls(key, number, dtype, direction):
    op = database()[key]
    if TORCH[dtype] not in op.supported_dtypes("cpu"):
        raise Skip("PyTorch has it not in this format")
    found = first_samples(key, dtype, direction == "backward")
    at = number * len(found) // SAMPLES if len(found) > SAMPLES else number
    if at >= len(found):
        raise Skip("no further sample")
    sample = found[at]
    arguments = (sample.input, *sample.args), sample.kwargs
    if not floats(arguments) and direction != "forward":
        raise Skip("no gradient")
    if direction == "in place" and (op.inplace_variant is None or not isinstance(sample.input, torch.Tensor)):
        raise Skip("nothing in place")
    if direction != "backward":
        args, keywords = copied(arguments)
        call, restore = (op.inplace_variant, restoring(args[0])) if direction == "in place" else (op, None)

        def forward():
            if restore is not None:
                restore()
            with torch.no_grad():
                return call(*args, **keywords)

        result = attempt(forward)
        if not floats([result, arguments]):
            raise Skip("no numbers of floating point")
        return Calls(dict.fromkeys(WITHIN, forward), WITHIN)

    def graph():
        args, keywords = copied(arguments)
        leaves = [t for t in floats((args, keywords)) if t.requires_grad]
        results = [t for t in floats(op(*args, **keywords)) if t.requires_grad]
        return results, leaves

    return gradients(graph)


def samples():
    for key in database():
        for number, dtype, direction in itertools.product(
            range(SAMPLES), ("f32", "bf16", "f64", "f16"), ("forward", "backward", "in place")
        ):
            yield Case(
                "samples", key, dtype, f"sample {number}", "samples", direction,
                lambda a=key, b=number, c=dtype, d=direction: sample_calls(a, b, c, d),
                number + ("f32", "bf16", "f64", "f16").index(dtype),
            )  # fmt: skip


def within_domain(x, domain):
    """The finite numbers moved to where the function has a value."""
    low, high = domain
    finite = x.isfinite()
    if low is not None and high is not None:
        moved = (x.double() / (1 + x.double().abs()) * (high - low) / 2 + (high + low) / 2).to(x.dtype)
    elif low is not None:
        moved = low + x.abs()
    elif high is not None:
        moved = high - x.abs()
    else:
        return x
    return torch.where(finite, moved, x)


def elementwise_calls(key, arity, shape, dtype, data, direction):
    op = database()[key]
    if TORCH[dtype] not in op.supported_dtypes("cpu"):
        raise Skip("PyTorch has it not in this format")
    layout = shape if shape in LAYOUTS else "contiguous"
    size = ELEMENTWISE[shape] if shape in ELEMENTWISE else (256, 256)
    operands = [laid(layout, data if i == 0 else "gaussian", size, dtype, i) for i in range(arity)]
    if arity == 1:
        operands = [within_domain(operands[0], getattr(op, "domain", None) or (None, None))]
    elif shape == "row":
        operands[1] = operands[1][:1]
    elif shape == "column":
        operands[1] = operands[1][:, :1]
    elif shape == "number":
        return pair(lambda x: op(x, 0.7), operands[:1], direction)
    return pair(lambda *x: op(*x), operands, direction)


UNARY_OF_NN = (
    "gelu relu relu6 elu celu selu mish silu softplus softsign softshrink hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid "
    "tanhshrink threshold"
)
VALUES = (
    "gaussian",
    "masked",
    "nan",
    "inf",
    "zeros",
    "relu",
    "onehot",
    "integers",
    "powers",
    "constant",
    "subnormal",
    "wide",
    "ties",
)


def elementwise():
    from torch.testing._internal.opinfo.core import BinaryUfuncInfo, UnaryUfuncInfo

    of_nn = {f"nn.functional.{name}" for name in UNARY_OF_NN.split()}
    for key, op in database().items():
        if key.startswith("_refs") or torch.float32 not in op.supported_dtypes("cpu"):
            continue
        arity = 1 if isinstance(op, UnaryUfuncInfo) or key in of_nn else 2 if isinstance(op, BinaryUfuncInfo) else 0
        if arity:
            shapes = [*ELEMENTWISE, "broadcast"] + ["row", "column", "number"] * (arity == 2)
            yield from crossed(
                "elementwise", key, shapes, functools.partial(elementwise_calls, key, arity), VALUES,
                directions=("forward", "backward"), large=("4 Mi",),
            )  # fmt: skip


def reduction_calls(key, shape, dtype, data, direction):
    op = database()[key]
    if TORCH[dtype] not in op.supported_dtypes("cpu"):
        raise Skip("PyTorch has it not in this format")
    size, axes, layout = shape
    x = laid(layout, data, size, dtype)
    keywords = {} if axes is None else {"dim": axes}
    return pair(lambda x: op(x, **keywords), [x], direction)


class Reduced(tuple):
    """Shape, axes and layout, as a name too."""

    def __str__(self):
        size, axes, layout = self
        which = "all" if axes is None else f"over {axes}"
        return "x".join(map(str, size)) + f" {which}" + f" {layout}" * (layout != "contiguous")


def reductions():
    from torch.testing._internal.opinfo.core import ReductionOpInfo

    shapes = [Reduced((size, axes, "contiguous")) for size in REDUCED for axes in (*range(len(size)), None)]
    shapes.insert(0, shapes.pop(1))
    shapes += [Reduced(((256, 256), axes, layout)) for layout in LAYOUTS[1:] for axes in (0, 1, None)]
    large = [s for s in shapes if s[0] == (2048, 2048)]
    for key, op in database().items():
        if isinstance(op, ReductionOpInfo) and torch.float32 in op.supported_dtypes("cpu"):
            yield from crossed(
                "reductions", key, shapes, functools.partial(reduction_calls, key), VALUES,
                directions=("forward", "backward"), large=large,
            )  # fmt: skip
