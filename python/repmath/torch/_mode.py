"""The block in which ATen's operators are those of the table."""

import contextlib
import threading
import traceback
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from .. import _core
from ._aten.common import Uncovered
from ._aten.table import FUNCTIONS


class UncoveredOperatorError(RuntimeError):
    """An operator was called that rounds and has no correctly rounded form here.

    Attributes
    ----------
    operator : str
        Its name, with the overload.
    call_site : str
        File and line of the innermost frame outside of PyTorch and repmath.
    """

    def __init__(self, operator: str, call_site: str, reason: str) -> None:
        self.operator, self.call_site = operator, call_site
        super().__init__(
            f"{operator}, called at {call_site}, is not covered: {reason}. Write it with operators that are (docs/torch.md lists them), "
            "or use reproducible(strict=False), which runs PyTorch's own and reports it."
        )


def call_site() -> str:
    """The innermost frame that is neither PyTorch's nor repmath's."""
    packages = tuple(f"{root}" for root in (torch.__path__[0], *_package_paths()))
    for frame in reversed(traceback.extract_stack()):
        if not frame.filename.startswith(packages):
            return f"{frame.filename}:{frame.lineno}"
    return "an unknown place"


def _package_paths() -> list[str]:
    import repmath

    return list(repmath.__path__)


def _holds_float(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return bool(value.is_floating_point() or value.is_complex())
    if isinstance(value, (list, tuple)):
        return any(_holds_float(v) for v in value)
    return False


def _own_error(func: Any, args: Any, kwargs: Any) -> None:
    """Raise what PyTorch raises for arguments of these shapes and types. It is asked with copies: nothing of the caller's is written."""

    def bare(v: Any) -> Any:
        if isinstance(v, torch.Tensor):
            return torch.empty_like(v) if v.is_floating_point() else v.clone()
        if isinstance(v, (list, tuple)):
            return type(v)(bare(w) for w in v)
        return v

    func(*bare(tuple(args)), **{key: bare(v) for key, v in kwargs.items()})


def _foreign(arguments: Any) -> torch.device | None:
    """A device that is not the CPU."""
    for v in arguments:
        if isinstance(v, torch.Tensor) and v.device.type != "cpu":
            return v.device
    return None


class reproducible:
    """Inside, PyTorch's operators are correctly rounded: `with repmath.torch.reproducible():`.

    Models, losses, backward passes and optimisers stay as they are. Every ATen operator
    that rounds is replaced by the function that the table of docs/torch.md names, whose
    result is its mathematical value, rounded once; random operators draw from
    counter-based streams that the call's generator seeds (`torch.manual_seed`).

    Parameters
    ----------
    strict : bool, optional
        True: an operator that is not in the table and handles floating-point numbers
        raises `UncoveredOperatorError`. False: PyTorch's own runs, and is counted in
        `uncovered`.

    Attributes
    ----------
    uncovered : Counter
        How often PyTorch's own operator ran, by name and reason, with ``strict=False``.

    Notes
    -----
    Forward, backward and optimiser step must all run inside. Blocks nest; a block may be
    entered again. Leaving one, also by an exception, restores what it changed: the
    dispatch mode, PyTorch's use of oneDNN and the flushing of subnormal numbers. It
    counts for the thread that entered it. Inside, `torch.compile` compiles nothing:
    operators run one by one, and fullgraph=True raises. On devices other than the CPU
    it raises.
    """

    def __init__(self, strict: bool = True) -> None:
        if not isinstance(strict, bool):
            raise TypeError(f"strict must be True or False, not {strict!r}")
        self.strict = strict
        self.uncovered: Counter[str] = Counter()

    def __enter__(self) -> "reproducible":
        if not _active.blocks:
            flushes = bool(torch.full((), 5e-324, dtype=torch.float64).mul(1.0) == 0)
            saved = torch._C._get_mkldnn_enabled(), flushes
            # Fused layers of oneDNN, as that of the LSTM, are then composed of operators of the table.
            torch._C._set_mkldnn_enabled(False)
            torch.set_flush_denormal(False)
            _active.saved, _active.modes = saved, contextlib.ExitStack()
            _active.modes.enter_context(_Functions())
            _active.modes.enter_context(_Dispatch())
        _active.blocks.append(self)
        return self

    def __exit__(self, *exception: Any) -> None:
        _active.blocks.pop()
        if _active.blocks:
            return
        try:
            _active.modes.__exit__(*exception)
        finally:
            mkldnn, flushes = _active.saved
            torch._C._set_mkldnn_enabled(mkldnn)
            torch.set_flush_denormal(flushes)


class _Active(threading.local):
    """The blocks that this thread is in, and the one mode that serves them: functions of the table call PyTorch beneath it."""

    def __init__(self) -> None:
        self.blocks: list[reproducible] = []
        self.modes: Any = None
        self.saved = (True, False)


_active = _Active()


class _Functions(TorchFunctionMode):
    """Functions that PyTorch composes in one way or another, depending on the layout of their arguments, before operators are called."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is _LINEAR:
            return _linear(*args, **(kwargs or {}))
        if func in _RECURRENT and not kwargs:
            return _recurrent(func, *args)
        if func is _ATTENTION:
            return _attention(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


_LINEAR = torch.nn.functional.linear


def _linear(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """With the bias inside the one rounding: of inputs of three axes that are not contiguous, and of more axes, it is added afterwards."""
    if bias is None or input.ndim < 3:
        return _LINEAR(input, weight, bias)
    return _LINEAR(input.reshape(-1, input.shape[-1]), weight, bias).view(*input.shape[:-1], weight.shape[0])


_RECURRENT = (torch.lstm, torch.gru, torch.rnn_tanh, torch.rnn_relu)


def _recurrent(func: Any, input: torch.Tensor, *rest: Any) -> Any:
    """Of an input that is contiguous by steps, for which the bias of its product is inside the one rounding."""
    if len(rest) != 8 or not isinstance(rest[1], (list, tuple)):  # packed sequences: products of two axes
        return func(input, *rest)
    *middle, batch_first = rest
    if not batch_first:
        return func(input.contiguous(), *middle, False)
    output, *states = func(input.transpose(0, 1).contiguous(), *middle, False)
    return (output.transpose(0, 1), *states)


_ATTENTION = torch.nn.functional.multi_head_attention_forward


def _attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *rest: Any, **options: Any) -> Any:
    """Of contiguous inputs, for the linear maps inside, which are out of sight here. One tensor that is given twice stays one: where all
    three are the same, PyTorch takes one product with the weights of all."""
    dense = {id(t): t.contiguous() for t in (query, key, value)}
    return _ATTENTION(*(dense[id(t)] for t in (query, key, value)), *rest, **options)


class _Dispatch(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        function: Any = FUNCTIONS.get(func, False)
        if function is None:
            return func(*args, **kwargs)
        if function is False:
            return self._unknown(func, args, kwargs)
        device = _foreign(args)
        if device is not None:
            return self._own(func, args, kwargs, f"tensors on {device} are not")
        return self._call(function, func, args, kwargs)

    def _call(self, function: Callable[..., Any], func: Any, args: Any, kwargs: Any) -> Any:
        try:
            with _core.Environment():
                return function(*args, **kwargs)
        except Uncovered as reason:
            return self._own(func, args, kwargs, str(reason))
        except (ValueError, TypeError, IndexError) as error:
            _own_error(func, args, kwargs)
            return self._own(func, args, kwargs, str(error))

    def _unknown(self, func: Any, args: Any, kwargs: Any) -> Any:
        if func.namespace in ("profiler", "prim", "repmath"):
            return func(*args, **kwargs)
        if func._can_decompose():  # in inference mode composed operators come as such
            with self:
                result = func.decompose(*args, **kwargs)
            if result is not NotImplemented:
                return result
        if _holds_float(args) or _holds_float(list(kwargs.values())):
            return self._own(func, args, kwargs, "it is not in the table of operators")
        result = func(*args, **kwargs)
        if _holds_float(result) and _active.blocks[-1].strict:
            raise UncoveredOperatorError(_name(func), call_site(), "it is not in the table of operators")
        return result

    def _own(self, func: Any, args: Any, kwargs: Any, reason: str) -> Any:
        """PyTorch's operator, where the innermost block allows it."""
        block = _active.blocks[-1]
        if block.strict:
            raise UncoveredOperatorError(_name(func), call_site(), reason) from None
        block.uncovered[f"{_name(func)}: {reason}"] += 1
        return func(*args, **kwargs)


def _name(func: Any) -> str:
    return str(func)


__all__ = ["UncoveredOperatorError", "reproducible"]
