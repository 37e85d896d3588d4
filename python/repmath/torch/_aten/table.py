"""The table of operators.txt: how each of ATen's operators is computed."""

import inspect
import pathlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from . import (  # noqa: F401
    complex_numbers,
    compositions,
    copy_gradients,
    ctc,
    decompositions,
    distances,
    elementwise,
    embedding_bag,
    fake_quantize,
    foreach_fused,
    fourier,
    fractional_pools,
    gpu_names,
    grid_sample,
    grouped,
    histograms,
    interpolation,
    layers,
    linear_algebra,
    linspace,
    margin_losses,
    matmul_conv,
    multistep,
    polynomials,
    prod,
    quotients,
    random,
    reductions,
    special,
    weight_norm,
    windows,
    zeta,
)
from .common import KERNELS, check_cast, narrower, write
from .comparisons import comparison
from .guards import check_written, floats_in, of_one_format, own_error, resized
from .moves import mover


@dataclass(frozen=True)
class Operator:
    """A line of the table."""

    name: str
    way: str  # moves, rounds, composes, draws
    function: str


def lines() -> Iterator[Operator]:
    """The table, line by line. A wheel has it without the texts of what is returned."""
    places = [pathlib.Path(__file__).with_name(f"operators.{end}") for end in ("short", "txt")]
    text = next(place for place in places if place.exists()).read_text(encoding="utf-8")
    for line in text.splitlines():
        if line and not line.startswith("#"):
            yield Operator(*[*line.split("  "), ""][:3])


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


def _into(overload: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its result written into its first argument."""
    takes_out = "out" in inspect.signature(function).parameters

    def call(x: Any, *arguments: Any, **keywords: Any) -> Any:
        check_written(overload, x, (x, *arguments), keywords, (*arguments, *keywords.values()))
        if keywords.get("dtype") is not None:
            own_error(overload, (x, *arguments), keywords)
        if takes_out:
            return write(x, function(x, *arguments, out=x, **keywords))
        return write(x, function(x, *arguments, **keywords))

    return call


def _into_each(overload: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of lists with its results written into the tensors of the first one, when all of them are known."""

    def call(x: Any, *arguments: Any, **keywords: Any) -> Any:
        for i, t in enumerate(x):
            others = [v[i] if isinstance(v, (list, tuple)) and len(v) == len(x) else v for v in arguments]
            check_written(overload, t, (x, *arguments), keywords, others)
        made = function(x, *arguments, outs=[torch.empty_like(t) for t in x], **keywords)
        for t, result in zip(x, made, strict=True):
            write(t, result)
        return None

    return call


def _out(overload: Any, function: Callable[..., Any], of_its_format: bool) -> Callable[..., Any]:
    takes_out = "out" in inspect.signature(function).parameters

    def call(*arguments: Any, out: torch.Tensor, **keywords: Any) -> Any:
        check_written(overload, out, arguments, {"out": out, **keywords}, (*arguments, *keywords.values()))
        if not of_its_format and not floats_in((*arguments, *keywords.values())):
            own_error(overload, arguments, {"out": out, **keywords})
        made = function(*arguments, **keywords)
        if made.dtype is not out.dtype:
            if of_its_format:
                raise TypeError(f"a result of {made.dtype} into a tensor of {out.dtype}")
            own_error(overload, arguments, {"out": out, **keywords})
        if takes_out and narrower(made.dtype, out) is not made.dtype:
            made = function(*arguments, out=torch.empty(made.shape, dtype=out.dtype), **keywords)
        check_cast(out, made)
        if out.shape != made.shape:
            resized(out, made.shape)
        return write(out, made)

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


# Whose tensors may be of several formats: they count as they are, and PyTorch's promotion gives that of the result.
_SEVERAL_FORMATS = frozenset(
    """add subtract rsub multiply divide power clamp clamp_min clamp_max maximum minimum addcmul addcdiv divide_by_mode floor_divide
    fmod remainder atan2 to_copy copy sum mean cumsum prod cumprod nansum layer_norm layer_norm_backward rms_norm rms_norm_backward
    group_norm group_norm_backward batch_norm batch_norm_without_running batch_norm_without_training batch_norm_backward arange arange_step linspace logspace index_copy
    hann_window hamming_window blackman_window bartlett_window kaiser_window
    attention_backward ctc_loss_backward fft_c2c fft_r2c fft_c2r masked_scale batch_norm_cudnn batch_norm_backward_cudnn
    attention_flash_backward attention_efficient_backward attention_cudnn_backward""".split()
) | frozenset(polynomials.FAMILIES)


def _entry(operator: Operator, overload: Any) -> Callable[..., Any] | None:
    if operator.way == "moves":
        return comparison(overload) or mover(overload)
    function = KERNELS[operator.function]
    exact = getattr(function, "integers", False)
    several = (
        operator.way == "draws" or operator.function in _SEVERAL_FORMATS or operator.function.startswith(("foreach", "fused"))
    )
    base = operator.name.split(".")[0]
    if base.endswith("_") and not getattr(function, "writes", False):
        function = (_into_each if base.startswith("_foreach") else _into)(overload, function)
    elif _taken(overload)[1]:
        function = _out(overload, function, operator.way == "draws")
    of_floats = function
    if not several:
        function = of_one_format(overload, function)
    if not exact or operator.way == "draws":
        made = function
    else:

        def made(*arguments: Any, **keywords: Any) -> Any:
            if _exact(arguments) and _exact(keywords.values()):
                return overload(*arguments, **keywords)
            return function(*arguments, **keywords)

        made.integers = True  # type: ignore[attr-defined]
    if made is not of_floats:
        made.of_floats = of_floats  # type: ignore[attr-defined]  # for tensors of one format alone, which need no check
    return made


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
OF_GPUS = frozenset(  # those that PyTorch has for GPUs alone
    line.name for f, line in OPERATORS.items() if not torch._C._dispatch_has_computed_kernel_for_dispatch_key(f.name(), "CPU")
)
