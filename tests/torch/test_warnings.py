"""Under reproducible() operators give no warnings of floating-point errors, as PyTorch's own do: neither prepared calls nor the table's functions."""

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import torch.nn.functional as F  # noqa: E402
from prepared_calls import unprepared  # noqa: E402

import repmath  # noqa: E402
import repmath.torch as rt  # noqa: E402
from repmath.torch._aten.table import FUNCTIONS  # noqa: E402

LARGE = torch.finfo(torch.float32).max
CALLS = {
    "add": lambda x: x + x,
    "mul by a number": lambda x: x * 3.7,
    "exp": lambda x: x.exp(),
    "log": lambda x: (-x).log() + (x * 0).log(),
    "sum": lambda x: x.sum(),
    "sum over an axis": lambda x: x.sum(0),
    "cumsum": lambda x: x.cumsum(0),
    "mean and var": lambda x: torch.var_mean(x),
    "matmul": lambda x: x @ x,
    "addmm": lambda x: torch.addmm(x[0], x, x),
    "linear": lambda x: F.linear(x, x, x[0]),
    "bmm": lambda x: torch.bmm(x[None], x[None]),
    "conv1d": lambda x: F.conv1d(x[None], x[:, :, None][:, :4], x[0]),
    "softmax": lambda x: F.softmax(x * 0 - torch.inf, -1),
    "layer_norm": lambda x: F.layer_norm(x / 0, (4,)),
    "index_add": lambda x: x.index_add(0, torch.tensor([0, 0]), x[:2]),
    "prod": lambda x: x.prod(),
    "to bf16": lambda x: (x * 1.0).to(torch.float16),
    "_foreach_add": lambda x: torch._foreach_add([x], [x]),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("prepared", (True, False), ids=("prepared", "table"))
def test_silent(call, prepared):
    x = torch.full((4, 4), LARGE)
    with warnings.catch_warnings(), np.errstate(all="warn"), unprepared(*(() if prepared else FUNCTIONS)):
        warnings.simplefilter("error")
        with rt.reproducible():
            call(x)
            with torch.no_grad():
                call(x.to(torch.bfloat16) if call is not CALLS["to bf16"] else x)


def test_functions_of_numpy_warn_inside_too():
    """A control: those that are called by name."""
    with rt.reproducible(), pytest.warns(RuntimeWarning, match="overflow"):
        repmath.sum(np.full(4, LARGE, np.float32))
