"""Which operators of the table behind docs/aten.md the cases of the sweep call."""

import warnings

from torch.utils._python_dispatch import TorchDispatchMode

from repmath.torch._aten.table import lines

from .cases import Skip
from .worker import chosen


class Recorder(TorchDispatchMode):
    """The names of the operators that PyTorch calls, with the overload."""

    def __init__(self):
        super().__init__()
        self.names = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.add(str(func).removeprefix("aten."))
        return func(*args, **(kwargs or {}))


def uncalled(options):
    """Names of the operators that round, and that no case calls in PyTorch: the first of each function, and samples, are called there once."""
    warnings.simplefilter("ignore")
    recorder = Recorder()
    for case in chosen(options):
        if not case.group.startswith(("NumPy", "models")) and (case.far == 0 or case.group == "samples"):
            try:
                calls = case.make().calls
                with recorder:
                    calls["PyTorch"]()
            except Skip:
                pass
            except Exception as error:  # one that the library does not take is listed by the sweep itself
                print(f"{case.key}: {type(error).__name__}")
    return [line.name for line in lines() if line.way != "moves" and line.name not in recorder.names]
