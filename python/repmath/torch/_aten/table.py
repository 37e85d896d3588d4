"""The table of operators.txt: what is done for each of ATen's operators."""

import inspect
import pathlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from .._tensors import FORMATS
from . import (  # noqa: F401
    alignments,
    bags,
    chains,
    compositions,
    contractions,
    copies,
    distances,
    draws,
    elementwise,
    interpolation,
    layers,
    margins,
    parametrizations,
    products,
    quotients,
    ranges,
    reductions,
    sampling,
    steps,
)
from .common import KERNELS, Uncovered


@dataclass(frozen=True)
class Operator:
    """A line of the table."""

    name: str
    way: str  # moves, rounds, draws
    function: str
    returns: str


def lines() -> Iterator[Operator]:
    """The table, line by line."""
    text = pathlib.Path(__file__).with_name("operators.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, way, *rest = line.split("  ")
            function, returns = rest if rest else ("", "its elements as they are")
            yield Operator(name, way, function, returns)


def _exact(values: Iterable[Any]) -> bool:
    """Whether these are integers, with no float that would make the result one."""
    for v in values:
        if isinstance(v, torch.Tensor):
            if v.is_floating_point() or v.is_complex():
                return False
        elif isinstance(v, torch.dtype):
            if v.is_floating_point or v.is_complex:
                return False
        elif isinstance(v, (list, tuple)):
            if not _exact(v):
                return False
        elif isinstance(v, (float, complex)):
            return False
    return True


def _into(of_lists: bool, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its result written into its first argument."""
    takes_out = "out" in inspect.signature(function).parameters

    def call(x: Any, *arguments: Any, **keywords: Any) -> Any:
        if of_lists:
            for t, made in zip(x, function(x, *arguments, **keywords), strict=True):
                _write(t, made)
            return None
        if takes_out:
            return _write(x, function(x, *arguments, out=x, **keywords))
        return _write(x, function(x, *arguments, **keywords))

    return call


def _write(t: torch.Tensor, made: torch.Tensor) -> torch.Tensor:
    if made is t:
        return t
    if not torch.can_cast(made.dtype, t.dtype):
        raise TypeError(f"a result of {made.dtype} into a tensor of {t.dtype}")
    if made.dtype is not t.dtype and made.dtype in FORMATS and t.dtype in FORMATS:
        raise Uncovered(f"a result of {made.dtype} into a tensor of {t.dtype}, which would round twice")
    return t.copy_(made)


def _out(function: Callable[..., Any], of_its_format: bool) -> Callable[..., Any]:
    def call(*arguments: Any, out: torch.Tensor, **keywords: Any) -> Any:
        made = function(*arguments, **keywords)
        if of_its_format and made.dtype is not out.dtype:
            raise TypeError(f"a result of {made.dtype} into a tensor of {out.dtype}")
        if out.shape != made.shape:
            out.resize_(made.shape)
        return _write(out, made)

    return call


def _taken(overload: Any) -> tuple[list[tuple[str, str]], int]:
    """The arguments of an overload, and how many more of them are results to be written into."""
    arguments = overload._schema.arguments
    results = [a for a in arguments if a.is_out]
    return [(a.name, str(a.type)) for a in arguments if not a.is_out], len(results)


def _with_out(overload: Any) -> Any:
    """The overload that takes the same arguments and `out`, or None."""
    packet = overload.overloadpacket
    for name in packet.overloads():
        other = getattr(packet, name)
        if (
            other is not overload
            and _taken(other) == (_taken(overload)[0], 1)
            and any(a.name == "out" for a in other._schema.arguments)
        ):
            return other
    return None


def _entry(operator: Operator, overload: Any) -> Callable[..., Any] | None:
    if operator.way == "moves":
        return None
    function = KERNELS[operator.function]
    exact = getattr(function, "integers", False)
    base = operator.name.split(".")[0]
    if base.endswith("_") and not operator.function.startswith("fused"):
        function = _into(base.startswith("_foreach"), function)
    elif _taken(overload)[1]:
        function = _out(function, operator.way == "draws")
    if not exact or operator.way == "draws":
        return function

    def call(*arguments: Any, **keywords: Any) -> Any:
        if _exact(arguments) and _exact(keywords.values()):
            return overload(*arguments, **keywords)
        return function(*arguments, **keywords)

    return call


def _load() -> tuple[dict[Any, Operator], dict[Any, Callable[..., Any] | None]]:
    operators: dict[Any, Operator] = {}
    functions: dict[Any, Callable[..., Any] | None] = {}
    for operator in lines():
        name, _, overload_name = operator.name.partition(".")
        packet = getattr(torch.ops.aten, name, None)
        overload = getattr(packet, overload_name, None) if packet is not None else None
        if overload is None:
            continue
        other = None if name.endswith("_") or len(overload._schema.returns) != 1 else _with_out(overload)
        for form in (overload, other):
            if form is not None:
                operators[form] = operator
                functions[form] = _entry(operator, form)
    return operators, functions


# Operator overload -> its line, and the function that takes its arguments; None: PyTorch's own.
OPERATORS, FUNCTIONS = _load()
