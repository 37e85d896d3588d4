"""Calls of operators in blocks of stochastic() over PyTorch's own samples: against exact values of their definitions, and whether each array has a number."""

import aten_exact
import aten_rows  # noqa: F401
import gmpy2
import numpy as np
import pytest
import rounding_oracle
from opinfo_cases import DATABASE, arguments, samples, tensors
from opinfo_runs import torch
from torch.utils._python_dispatch import TorchDispatchMode

from repmath.torch import (
    UncoveredOperatorError,
    _stochastic,
    _stochastic_direct,
    _stochastic_operators,
    reproducible,
    stochastic,
)
from repmath.torch._aten.table import OPERATORS
from repmath.torch._tensors import as_tensor

FORMATS = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64"}
NARROW = tuple(FORMATS)[:3]
SEED, SAMPLE = 11, 3


@pytest.fixture
def calls(monkeypatch):
    """The calls that are rounded: name, overload, arguments, results, number of the first array."""
    made, rounded = [], _stochastic._Mode._one
    exact = lambda function, *row, dtype: rounding_oracle.exact_value(function, row)  # noqa: E731
    monkeypatch.setattr(aten_exact, "by_mpfr", exact)

    def recorded(mode, at, name, func, args, kwargs):
        before, number = aten_exact.kept((args, kwargs)), at.words["stream"] & (2**32 - 1)
        found = rounded(mode, at, name, func, args, kwargs)
        made.append((func, *before, list(found) if isinstance(found, tuple) else [found], number))
        return found

    direct = _stochastic_direct.made

    def recorded_directly(about, block, args, kwargs):
        before, number = aten_exact.kept((args, kwargs)), block.calls
        found = direct(about, block, args, kwargs)
        if found is not NotImplemented:
            made.append((about.func, *before, [found], number))
        return found

    monkeypatch.setattr(_stochastic._Mode, "_one", recorded)
    monkeypatch.setattr(_stochastic_direct, "made", recorded_directly)
    return made


def bits(t):
    return (
        t.contiguous()
        .view({2: torch.int16, 4: torch.int32, 8: torch.int64}[t.element_size()])
        .reshape(-1)
        .numpy()
        .view(f"u{t.element_size()}")
    )


def check(func, args, keywords, found, number, mode):
    """How many elements have the bits of their exact values and words."""
    line = OPERATORS.get(func)
    if line is None or line.function not in aten_exact.DEFINITIONS:
        return 0
    results = [torch.from_numpy(r) if isinstance(r, np.ndarray) and r.dtype.name != "bfloat16" else r for r in found]
    results = [as_tensor(r) if isinstance(r, np.ndarray) else r for r in results]
    floats = [t for t in results if isinstance(t, torch.Tensor) and t.dtype in FORMATS]
    expected = aten_exact.DEFINITIONS[line.function](aten_exact.Call(func, args, keywords, results))
    compared = 0
    for out, wanted in zip([t for t in results if isinstance(t, torch.Tensor)], expected or (), strict=False):
        if wanted is None or out.dtype not in FORMATS:
            continue
        stream = (SAMPLE << 32) + number + [t is out for t in floats].index(True)
        words, ours = rounding_oracle.words(SEED, stream, 0, out.numel()), bits(out)
        for i, value in wanted.items():
            value = aten_exact.recognised(value) if value is not None and not isinstance(value, float) else None
            if value is None or value == 0 or not gmpy2.is_finite(value):
                continue
            compared += 1
            want = rounding_oracle.rounded(value, FORMATS[out.dtype], mode, int(words[i]))
            assert int(ours[i]) == want, f"{func}: element {i} of {value}"
    return compared


def runs(name, mode, calls, dtypes=NARROW, most=4):
    op, compared = DATABASE[name], 0
    for dtype in (d for d in dtypes if d in op.supported_dtypes("cpu")):
        for sample in samples(op, dtype, most if dtype is torch.float32 else 2):
            args, keywords = arguments(sample, dtype)
            try:
                with stochastic(SEED, SAMPLE, mode):
                    op(*args, **keywords)
            except (UncoveredOperatorError, RuntimeError, ValueError, TypeError):
                pass
            made, calls[:] = calls[:], []
            for call in made:
                compared += check(*call, mode)
    return compared


# By PyTorch's names.
OPERATORS_OF_SAMPLES = (
    "pow rsub remainder floor_divide atan2 hypot logaddexp xlogy special.xlog1py special.entr lgamma digamma i0 special.i1 cumsum cumprod "
    "prod var std var_mean std_mean logsumexp nansum trace index_add scatter_add index_put baddbmm addbmm addmv addr linalg.cross "
    "nn.functional.avg_pool2d nn.functional.avg_pool3d nn.functional.adaptive_avg_pool2d nn.functional.adaptive_avg_pool3d "
    "nn.functional.leaky_relu nn.functional.hardsigmoid nn.functional.glu nn.functional.prelu nn.functional.softshrink nn.functional.logsigmoid "
    "nn.functional.huber_loss nn.functional.smooth_l1_loss lerp deg2rad special.hermite_polynomial_h"
).split()


WALKED = (torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.complex64)
# A sample that reads outside its memory, and what needs a GPU.
WITHOUT = ("as_strided[partial_views]", "jiterator")
# In binary64 an element takes a second.
SLOW = ("erfinv", "special.ndtri")


class Numbered(TorchDispatchMode):
    """Counts operators that round floats, and sees whether the block numbers what they return."""

    def __init__(self, block):
        super().__init__()
        self.block, self.missed, self.rounded = block, [], 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        before = self.block.calls
        made = func(*args, **(kwargs or {}))
        line = OPERATORS.get(func)
        rounds = (
            line is not None and line.way in ("rounds", "composes") and line.function not in _stochastic_operators._SELECTS
        )
        if rounds and any(t.is_floating_point() or t.is_complex() for t in tensors(made) if t.layout is torch.strided):
            self.rounded += 1
            if self.block.calls == before:
                self.missed.append(str(func))
        return made


def leaves(value, kept):
    if isinstance(value, torch.Tensor):
        made = value.detach().clone()
        if value.requires_grad:
            kept.append(made.requires_grad_())
        return made
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(leaves(v, kept) for v in value)
    return {k: leaves(v, kept) for k, v in value.items()} if isinstance(value, dict) else value


def run(op, sample, dtype, gradients):
    kept = []
    args, keywords = (leaves(v, kept) for v in arguments(sample, dtype, gradients))
    if not gradients:
        return tensors(op(*args, **keywords))
    made = [t for t in tensors(op(*args, **keywords)) if t.requires_grad]
    cotangents = [torch.full_like(t, 0.6180339887) for t in made]
    return [*made, *(torch.autograd.grad(made, kept, cotangents, allow_unused=True) if made and kept else ())]


def walk(name, mode, dtypes=WALKED):
    """How many operators were rounded."""
    op, rounded = DATABASE[name], 0
    for dtype in dtypes:
        if dtype not in op.supported_dtypes("cpu"):
            continue
        for gradients in (False, True) if op.supports_autograd and dtype in op.supported_backward_dtypes("cpu") else (False,):
            for sample in samples(op, dtype, 3 if dtype is torch.float32 else 1, gradients):
                try:
                    with reproducible():
                        run(op, sample, dtype, gradients)
                except (
                    UncoveredOperatorError,
                    RuntimeError,
                    ValueError,
                    TypeError,
                    NotImplementedError,
                    AssertionError,
                    IndexError,
                ):
                    continue  # not there, or a sample without gradients
                with stochastic(3, 1, mode) as block, Numbered(block) as seen:
                    run(op, sample, dtype, gradients)
                assert not seen.missed, (dtype, seen.missed)
                rounded += seen.rounded
    return rounded
