"""Which operators a model uses, forward and backward, and whether they are covered."""

import time
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ._aten.table import OPERATORS
from ._mode import reproducible
from ._trace import _tensors


@dataclass
class Line:
    """An operator in one phase: how often, in how many seconds, and why not, where a call was not covered."""

    operator: str
    phase: str
    calls: int = 0
    seconds: float = 0.0
    way: str = ""
    reasons: list[str] = field(default_factory=list)

    @property
    def covered(self) -> bool:
        return not self.reasons


class Audit:
    """The lines of `audit`; `str` makes the table."""

    def __init__(self, lines: list[Line]) -> None:
        self.lines = lines

    @property
    def uncovered(self) -> list[str]:
        """The names of operators of which a call was not covered."""
        return sorted({line.operator for line in self.lines if not line.covered})

    def __str__(self) -> str:
        rows = [f"{'operator':58} {'phase':8} {'calls':>6} {'ms':>9}  covered"]
        for line in sorted(self.lines, key=lambda v: (v.phase != "forward", -v.seconds)):
            covered = line.way if line.covered else "NO: " + "; ".join(line.reasons)
            rows.append(f"{line.operator:58} {line.phase:8} {line.calls:6d} {1e3 * line.seconds:9.2f}  {covered}")
        return "\n".join(rows)


class _Counter(TorchDispatchMode):
    def __init__(self, mode: reproducible) -> None:
        super().__init__()
        self.mode, self.phase = mode, "forward"
        self.lines: dict[tuple[str, str], Line] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        before = dict(self.mode.uncovered)
        start = time.perf_counter()
        try:
            return func(*args, **(kwargs or {}))
        finally:
            seconds = time.perf_counter() - start
            operator = OPERATORS.get(func)
            line = self.lines.setdefault((self.phase, str(func)), Line(str(func), self.phase))
            line.way = operator.way if operator else "moves"
            line.calls += 1
            line.seconds += seconds
            for text, count in self.mode.uncovered.items():
                reason = text.partition(": ")[2]
                if count != before.get(text, 0) and reason not in line.reasons:
                    line.reasons.append(reason)


def audit(model: Any, *inputs: Any, **options: Any) -> Audit:
    """Run a model once, forward and backward, and print which operators it calls and whether they are covered.

    Parameters
    ----------
    model : callable
        A module or a function of tensors.
    *inputs, **options
        What it is called with.

    Returns
    -------
    Audit
        Its lines have operator, phase ("forward", "backward"), number of calls, seconds,
        and whether each call was covered. Nothing is changed but gradients, which are
        those that were there, and what a forward pass changes by itself: running statistics and the state of random generators.

    Notes
    -----
    The backward pass is that of the sum of all results that have gradients. Operators
    that are not covered run as PyTorch's own.
    """
    parameters = list(model.parameters()) if isinstance(model, torch.nn.Module) else []
    kept = [p.grad for p in parameters]
    try:
        asked = reproducible(strict=False)
        asked._looks = 0  # the bits of the weights are not the question
        with asked as mode, _Counter(mode) as counter:
            results = [t for t in _tensors(_plain(model(*inputs, **options))) if t.requires_grad and t.is_floating_point()]
            counter.phase = "backward"
            if results:
                torch.autograd.backward([t.sum() for t in results])
    finally:
        for p, g in zip(parameters, kept, strict=True):
            p.grad = g
    made = Audit(list(counter.lines.values()))
    print(made)
    return made


def _plain(value: Any) -> Any:
    """Results as lists: models also return mappings that are no dict."""
    return list(value.values()) if hasattr(value, "values") and not isinstance(value, torch.Tensor) else value
