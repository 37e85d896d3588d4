"""A digest for each operator call, and the first call in which two runs differ."""

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from .._digest import digest as digest_of_arrays
from ..certificate import arguments_apart
from ._errors import call_site
from ._tensors import as_array

# Operators that write their first argument without reading it.
_OVERWRITTEN = ("bernoulli_", "copy_", "exponential_", "fill_", "normal_", "random_", "uniform_", "zero_")


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from _tensors(v)
    elif isinstance(value, dict):
        for v in value.values():
            yield from _tensors(v)


def _digest(value: Any) -> str:
    with _disable_current_modes():
        return digest_of_arrays(*(as_array(t.detach().cpu()) for t in _tensors(value)))


def _text(value: Any) -> str:
    """An argument in words, the same on every machine: of a tensor its dtype, shape and digest. Devices, layouts and generators,
    which say nothing of the numbers, count by their kind."""
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)} {_digest(value)}"
    if isinstance(value, (torch.UntypedStorage, torch.TypedStorage)):  # of a tensor that is read from a file
        with _disable_current_modes():
            storage = value.untyped() if isinstance(value, torch.TypedStorage) else value
            return f"storage {_digest(torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage))}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, complex, str, torch.dtype)):
        return repr(value)
    return type(value).__name__


@dataclass(frozen=True)
class Call:
    """One call: the operator, SHA-256 of what went in (tensors, numbers, texts) and of the tensors that came out, where it was
    made, and its arguments one by one: of a tensor the dtype, shape and SHA-256."""

    operator: str
    inputs: str
    outputs: str
    site: str
    arguments: tuple[str, ...] = ()


class trace(TorchDispatchMode):
    """Record a digest of each operator call's tensors: `with repmath.torch.trace() as t:`.

    Enter it inside of `reproducible`, when that is used: what is recorded are then the
    operators as the model calls them.

    Attributes
    ----------
    calls : list of Call
        In the order in which they returned.

    Notes
    -----
    Tensors that an operator makes without setting them (`empty`) count by shape and dtype.
    """

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = func.__name__.split(".")[0]
        read = [_text(v) for v in (args[1:] if name in _OVERWRITTEN else args)]
        read += [f"{k}={_text(v)}" for k, v in sorted(kwargs.items()) if k != "out"]
        inputs = hashlib.sha256("\n".join(read).encode()).hexdigest()
        result = func(*args, **kwargs)
        if name.startswith(("empty", "new_empty")):
            outputs = str([(str(t.dtype), tuple(t.shape)) for t in _tensors(result)])
        else:
            outputs = _digest(args[:1] if name.endswith("_") else result)
        self.calls.append(Call(str(func), inputs, outputs, call_site(), tuple(read)))
        return result

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the calls to a file, a line of JSON each."""
        with open(path, "w", encoding="utf-8") as file:
            for call in self.calls:
                file.write(json.dumps(asdict(call)) + "\n")

    @staticmethod
    def load(path: str | os.PathLike[str]) -> "trace":
        """The trace that `save` wrote.

        Raises
        ------
        ValueError
            The file is not one.
        """
        made = trace()
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                try:
                    call = json.loads(line)
                    made.calls.append(Call(**{**call, "arguments": tuple(call["arguments"])}))
                except (KeyError, TypeError, ValueError):
                    raise ValueError(f"{os.fspath(path)}, line {number}: this is no call of a trace") from None
        return made


@dataclass(frozen=True)
class Difference:
    """The first call at which two traces part.

    Attributes
    ----------
    index : int
        Its number, from 0.
    a, b : Call or None
        The calls; None where a trace has ended.
    what : str
        "operator" (other operators were called, or one run ended), "inputs" (they had
        other inputs, which no operator had made) or "outputs" (of equal inputs one made
        other outputs).
    """

    index: int
    a: Call | None
    b: Call | None
    what: str

    def __str__(self) -> str:
        def name(call: Call | None) -> str:
            return "the end" if call is None else f"{call.operator} at {call.site}"

        if self.what == "operator":
            return f"call {self.index}: {name(self.a)} against {name(self.b)}"
        text = f"call {self.index}, {name(self.a)}: the {self.what} differ"
        if self.a is not None and self.b is not None:
            text += "; " + arguments_apart(self.a.arguments, self.b.arguments)
        return text


def first_difference(a: Any, b: Any) -> Difference | None:
    """The first call at which two runs parted.

    Parameters
    ----------
    a, b : trace or path
        Traces, or files that `trace.save` wrote, here or on other machines.

    Returns
    -------
    Difference or None
        None where all calls agree.
    """
    first, second = (t if isinstance(t, trace) else trace.load(t) for t in (a, b))
    for i in range(max(len(first.calls), len(second.calls))):
        x = first.calls[i] if i < len(first.calls) else None
        y = second.calls[i] if i < len(second.calls) else None
        if x is None or y is None or x.operator != y.operator:
            return Difference(i, x, y, "operator")
        if x.inputs != y.inputs:
            return Difference(i, x, y, "inputs")
        if x.outputs != y.outputs:
            return Difference(i, x, y, "outputs")
    return None
