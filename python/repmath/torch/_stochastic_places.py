"""Where in a program an operator is called: the phase of a training step, and the layer of a model."""

import operator
import threading
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.modules import module as _modules
from torch.optim import optimizer as _optimizers

PHASES = ("forward", "backward", "step")


@dataclass(frozen=True)
class Rounding:
    """A call of an operator that rounds, inside `repmath.torch.stochastic`.

    Attributes
    ----------
    number : int
        Of the first array that the call rounds: arrays are numbered in program order from 0.
    operator : str
        With its overload, such as "mm.default".
    phase : {"forward", "backward", "step"}
        step is inside an optimiser's `step`, backward inside autograd, forward everything else.
    layer : str
        The path of the innermost module as `named_modules` of the outermost one gives it, or that one's class; of a gradient, the layer
        whose forward pass it belongs to. Empty outside modules.
    """

    number: int
    operator: str
    phase: str
    layer: str


class Places:
    """Follows modules and optimisers of this thread while it is entered."""

    def __init__(self) -> None:
        self._thread = 0
        self._handles: list[Any] = []
        self._stack: list[str] = []
        self._names: dict[int, str] = {}
        self._stepping = 0
        self._made: dict[int, str] = {}  # by autograd's sequence number: the layer that made the node

    def __enter__(self) -> "Places":
        self._thread = threading.get_ident()
        self._stack, self._stepping, self._made = [], 0, {}
        self._handles = [
            _modules.register_module_forward_pre_hook(self._enters),
            _modules.register_module_forward_hook(self._leaves, always_call=True),
            _optimizers.register_optimizer_step_pre_hook(self._steps),
            _optimizers.register_optimizer_step_post_hook(self._stepped),
        ]
        return self

    def __exit__(self, *exception: Any) -> None:
        for handle in self._handles:
            handle.remove()

    def _here(self) -> bool:
        return threading.get_ident() == self._thread

    def _enters(self, module: torch.nn.Module, arguments: Any) -> None:
        if not self._here():
            return
        if not self._stack:
            self._names = {id(m): name for name, m in module.named_modules()}
            self._stepping = 0  # an optimiser's step that raised is over; its closure is a forward pass
        self._stack.append(self._names.get(id(module)) or type(module).__name__)

    def _leaves(self, module: torch.nn.Module, arguments: Any, result: Any) -> None:
        if self._here() and self._stack:
            self._stack.pop()

    def _steps(self, optimizer: Any, arguments: Any, options: Any) -> None:
        if self._here():
            self._stepping += 1

    def _stepped(self, optimizer: Any, arguments: Any, options: Any) -> None:
        if self._here():
            self._stepping = max(0, self._stepping - 1)

    def here(self) -> tuple[str, str]:
        """Phase and layer of the operator that is being called."""
        autograd: Any = torch._C._autograd
        backward = torch._C._current_graph_task_id() != -1
        phase = "backward" if backward else "step" if self._stepping and not self._stack else "forward"
        if self._stack:
            layer = self._stack[-1]
            if not backward:
                self._made[autograd._get_sequence_nr() - 1] = layer  # the node of this operator exists: autograd is above
            return phase, layer
        node = torch._C._current_autograd_node() if backward else None
        return phase, "" if node is None else self._made.get(node._sequence_nr(), "")


def _number(name: str, value: Any, bits: int) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}")
    number = operator.index(value)
    if not 0 <= number < 2**bits:
        raise ValueError(f"{name} must be from 0 to 2**{bits} - 1, not {number}")
    return number


def _terms(value: Any) -> int:
    if isinstance(value, (str, bool)) or not hasattr(value, "__index__") or operator.index(value) < 1:
        raise ValueError(f'sums must be "exact" or an integer of at least 1, not {value!r}')
    return operator.index(value)


def _patterns(name: str, value: Any) -> tuple[str, ...]:
    patterns = (value,) if isinstance(value, str) else tuple(value)
    if not all(isinstance(p, str) for p in patterns):
        raise TypeError(f"{name} must be names of operators, which may have *")
    return patterns


def _phases(value: Any) -> tuple[str, ...]:
    phases = (value,) if isinstance(value, str) else tuple(value)
    for phase in phases:
        if phase not in PHASES:
            raise ValueError(f"phases must be of {', '.join(PHASES)}, not {phase!r}")
    return phases
