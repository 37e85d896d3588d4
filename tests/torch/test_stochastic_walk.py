"""stochastic() over PyTorch's own samples, strictly: what runs under reproducible() runs there, and every operator that rounds floats has numbers of arrays."""

import pytest

pytest.importorskip("expecttest", reason="expecttest, which PyTorch's samples need, is not installed")

from opinfo_cases import DATABASE, arguments, samples, tensors  # noqa: E402
from opinfo_runs import TESTED, torch  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from repmath.torch import UncoveredOperatorError, _stochastic_operators, reproducible, stochastic  # noqa: E402
from repmath.torch._aten.table import OPERATORS  # noqa: E402

FORMATS = (torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.complex64)
pytestmark = pytest.mark.filterwarnings("ignore")
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


def walk(name, mode, dtypes=FORMATS):
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


@pytest.mark.sample(25)
@pytest.mark.parametrize("mode", ["stochastic", "up_down"])
@pytest.mark.parametrize("name", [n for n in TESTED if not n.startswith(WITHOUT)])
def test_samples(name, mode):
    walk(name, mode, FORMATS[:3] if name in SLOW else FORMATS)


def test_an_operator_without_a_number_is_seen(monkeypatch):
    """The control: exp taken for one that selects by the block, not by the table."""
    monkeypatch.setattr(_stochastic_operators, "_ROUNDS", _stochastic_operators._ROUNDS - {"exp.default"})
    with pytest.raises(AssertionError, match="exp"):
        walk("exp", "stochastic", FORMATS[:1])
