"""What a small call of each operator that rounds takes longer under reproducible(): the operators that the sweep's cases call, one by one.

The calls are those that PyTorch makes of its operators in small cases: of each overload of the table the one whose tensors, results
included, have about as many elements as a matrix of 4x4. A time is the least of short batches in turn, inside and outside of a block; it is that
of the CPU, which other processes lengthen less.
"""

import contextlib
import math
import statistics
import time
import types
import warnings

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map_only

import repmath.torch
from repmath.torch._aten.table import OPERATORS

from .cases import Skip
from .worker import chosen, threads

ELEMENTS, MAX_ELEMENTS, ROUNDS, CALLS = 16, 256, 20, 16


def copies(value):
    """Tensors of their own memory that lie in it as these do, with what is behind them: statistics of a layer hold more than their elements."""

    def copied(t):
        storage = t.untyped_storage().clone()
        return torch.empty(0, dtype=t.dtype).set_(storage, t.storage_offset(), t.shape, t.stride())

    return tree_map_only(torch.Tensor, lambda t: copied(t.detach()), value)


def tensors_of(*values):
    return [t for t in tree_flatten(values)[0] if isinstance(t, torch.Tensor)]


def plain(t):
    """Whether a tensor is small, of a kind that a model has, and can be copied so."""
    kinds = torch.float32, torch.int64, torch.bool
    return (
        type(t) in (torch.Tensor, torch.nn.Parameter)
        and t.layout is torch.strided
        and t.dtype in kinds
        and t.numel() <= MAX_ELEMENTS
    )


class Recorder(TorchDispatchMode):
    """The arguments of each operator that rounds, of the call on tensors nearest to the size in question."""

    def __init__(self):
        super().__init__()
        self.calls, self.far = {}, {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        operator, given = OPERATORS.get(func), None
        if operator is not None and operator.way != "moves" and not types and all(map(plain, tensors_of(args, kwargs))):
            given = copies((args, kwargs or {}))  # before the call, which may write
        made = func(*args, **(kwargs or {}))
        if given is not None:
            largest = max((t.numel() for t in tensors_of(given, made)), default=ELEMENTS)
            far = abs(math.log2(max(largest, 0.01) / ELEMENTS))
            if largest <= MAX_ELEMENTS and far < self.far.get(func, 99.0):
                self.far[func], self.calls[func] = far, given
        return made


def recorded():
    """Overload -> arguments and keywords: those of PyTorch's run, and those of ours, for gradients that need what our operators have made."""
    recorders = {"PyTorch": Recorder(), "repmath": Recorder()}
    options = types.SimpleNamespace(group=None, only=None, dtype=["f32"], values=None, direction=None, quick=True, all=False)
    for case in chosen(options):
        if case.group.startswith(("NumPy", "models")) or (case.far > 0 and case.group != "samples" and case.shape != "4x4"):
            continue
        for name, recorder in recorders.items():
            # What a case is not for, or the library does not take, is listed by the sweep itself.
            with contextlib.suppress(Skip, RuntimeError, TypeError, ValueError):
                made = case.make()
                with made.within[name](), recorder:
                    made.calls[name]()
    theirs, ours = (recorder.calls for recorder in recorders.values())
    return {func: [calls[func] for calls in (theirs, ours) if func in calls] for func in {**theirs, **ours}}


def seconds(func, arguments, within):
    """Of one call, the mean of a few. What is written in place is new for each, so that it stays of one kind."""
    given = [copies(arguments) for _ in range(CALLS)] if func._schema.is_mutable else [arguments] * CALLS
    with within():
        started = time.process_time()
        for args, keywords in given:
            func(*args, **keywords)
        return (time.process_time() - started) / CALLS


def overheads():
    """By overload, seconds under the mode and outside."""
    threads(1)
    found = {}
    block = repmath.torch.reproducible()  # of which the first calls look at parameters
    modes = (lambda: block), contextlib.nullcontext
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calls = recorded()
    with torch.no_grad():
        for func, several in calls.items():
            for arguments in several:
                with contextlib.suppress(RuntimeError):  # not covered
                    least = [math.inf, math.inf]
                    for _ in range(ROUNDS):
                        for i, within in enumerate(modes):
                            least[i] = min(least[i], seconds(func, arguments, within))
                    found[str(func).removeprefix("aten.").removesuffix(".default")] = tuple(least)
                    break
    return found


def table():
    """Lines of names and microseconds, in their order."""
    found = sorted((inside - outside, outside, name) for name, (inside, outside) in overheads().items())
    for longer, outside, name in found:
        yield f"{name:56} {1e6 * longer:9.1f} us beyond {1e6 * outside:7.1f}"
    yield f"{'median of ' + str(len(found)):56} {1e6 * statistics.median(longer for longer, *_ in found):9.1f} us"
