"""Which operators a block of stochastic() has to do with."""

from typing import Any

from . import _stochastic_complex, _stochastic_direct, _stochastic_resize, _stochastic_steps
from ._aten.table import lines

# What is selected is not rounded, where its tensors have one format.
_SELECTS = set(
    "fmod frac magnitude direction relu threshold_backward softshrink_backward hardtanh hardtanh_backward clamp clamp_min clamp_max amax amin "
    "aminmax fmax fmin maximum minimum index_copy put max_pool2d max_pool3d "
    "adaptive_max_pool2d adaptive_max_pool3d fractional_max_pool2d fractional_max_pool3d".split()
)
# What draws and then computes with the draws.
_DRAWS = ("native_dropout", "rrelu_with_noise")
_ROUNDS = {
    line.name
    for line in lines()
    if (line.way in ("rounds", "composes") and line.function not in _SELECTS) or line.function in _DRAWS
}
# Of the library's own operators, that PyTorch's functions call in a block, these do not round, or draw.
_OWN_SELECTS = set("broadcast_to relu relu_backward embedding max_pool_pick max_pool adaptive_max_pool".split())
COPIES = ("copy_.default", "_to_copy.default")  # which to a format that holds the numbers round nothing
_OF_LISTS = ("_foreach_", "_fused_", "_amp_foreach_")


class About:
    """What the mode knows of an operator. The name is None where it neither rounds, nor may of sparse tensors or complex numbers, which it may
    make of real ones."""

    __slots__ = ("direct", "func", "least", "makes", "may_be_complex", "moves", "name", "rounds")

    def __init__(self, func: Any) -> None:
        name = func.name().removeprefix("aten::")
        name = name if "." in name else f"{name}.default"
        if func.namespace == "repmath":
            self.rounds = name.removeprefix("repmath::").removesuffix(".default") not in _OWN_SELECTS
        else:
            self.rounds = func.namespace == "aten" and name in _ROUNDS
        self.func = func
        self.may_be_complex = func.namespace == "aten" and _stochastic_complex.may_take(func)
        self.makes = self.may_be_complex and _stochastic_complex.makes(func)
        self.name = name if self.rounds or self.may_be_complex or _stochastic_steps.may_be_sparse(name) else None
        self.least = _stochastic_resize.ROUNDINGS.get(name, 1)  # arrays that have a number
        self.direct = _stochastic_direct.call_of(func) if self.rounds and func.namespace == "aten" else None
        # Whether up_down moves what it returns always, and no more.
        self.moves = self.rounds and name not in (*_stochastic_steps.WRITE, *COPIES) and not name.startswith(_OF_LISTS)
