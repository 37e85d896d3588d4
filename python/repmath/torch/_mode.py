"""reproducible(): the dispatch mode that replaces ATen's operators by those of the table."""

import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch._library.custom_ops import OPDEFS
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor
from torch.utils._python_dispatch import TorchDispatchMode

from .. import _core
from . import (
    _blocks,
    _dispatch_key,
    _functions,  # noqa: F401
    _parameters,
    _workers,  # noqa: F401
)
from ._aten import devices, prepared, sparse, sparse_products, vision  # noqa: F401
from ._aten.collectives import functions as collectives
from ._aten.common import Uncovered
from ._aten.guards import own_error, tensors_in
from ._aten.table import FUNCTIONS
from ._blocks import current
from ._device_tensors import KINDS
from ._errors import UncoveredOperatorError, call_site, callers_frame
from ._exact import engine, graph
from ._exact.gradients import Gradients


def _holds_float(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return bool(value.is_floating_point() or value.is_complex())
    if isinstance(value, (list, tuple)):
        return any(_holds_float(v) for v in value)
    return False


def _foreign(args: Any, kwargs: Any) -> torch.device | None:
    """A device that is not the CPU, of an argument or for the result."""
    for v in args:
        if isinstance(v, torch.Tensor):
            if not v.is_cpu:
                return v.device
        elif isinstance(v, (list, tuple)):
            found = _foreign(v, None)
            if found is not None:
                return found
    if kwargs:
        device = kwargs.get("device")
        if device is not None and device.type != "cpu":
            return device
        return _foreign(kwargs.values(), None)
    return None


def _layout(args: Any, kwargs: Any) -> str | None:
    """What an argument is that is not laid out by strides, and so has no array: no function of the table has taken such a tensor."""
    for t in tensors_in((*args, *kwargs.values())):
        if t.is_nested:
            return "nested"
        if t.layout is not torch.strided:
            return str(t.layout).removeprefix("torch.")
    return None


def _shapes_alone(func: Any, types: Any) -> bool:
    """Whether the call is about shapes and has no numbers: inside of FakeTensorMode, torch.export and their like."""
    if types:
        return any(issubclass(t, (FakeTensor, FunctionalTensor)) for t in types)
    return func in _FACTORIES and torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE) is not None


# Operators of torch.distributed; None: PyTorch's own.
_COLLECTIVES = collectives()
_FACTORIES = frozenset(f for f in FUNCTIONS if not any("Tensor" in str(a.type) for a in f._schema.arguments))


class reproducible:
    """Inside, PyTorch's operators are correctly rounded: `with repmath.torch.reproducible():`.

    Models, losses, backward passes and optimisers stay as they are. Every ATen operator
    that rounds is replaced by the function that the table of docs/aten.md names, whose
    result is its mathematical value, rounded once; random operators draw from
    counter-based streams that the call's generator seeds (`torch.manual_seed`).

    Parameters
    ----------
    strict : bool, optional
        True: an operator that is not in the table and handles floating-point numbers
        raises `UncoveredOperatorError`. False: PyTorch's own runs, and is counted in
        `uncovered`.
    gradients : {"exact"}, optional
        "exact": the gradient of a parameter is one exact sum over all its uses and all
        backward passes since it was last set, rounded once, so that no bit depends on how
        a batch is divided (docs/distributed.md). By default each operator's is rounded.

    Attributes
    ----------
    uncovered : Counter
        How often PyTorch's own operator ran, by name and reason, with ``strict=False``.
    places : Counter
        How often operators of tensors on a GPU ran, by name and place: "moved"
        (PyTorch's own, which moves elements), "on the device" (repmath's there) or "in main
        memory" (the CPU's, on copies). The bits are the same in each.

    Notes
    -----
    Seed, model, forward, backward and optimiser step must all be inside::

        with repmath.torch.reproducible():
            torch.manual_seed(0)
            model = make_model()
            optimizer = torch.optim.AdamW(model.parameters())
            ...
        print(repmath.torch.digest(model, optimizer))

    Weights that PyTorch draws outside depend on the CPU. Where a parameter that was made
    outside enters an operator, the block warns once (`OutsideParameterWarning`); `trust`
    says that its numbers are the same everywhere.

    Blocks nest, in any order of leaving; a block may be entered again. It counts for the
    thread and the context (PEP 567) that entered it. Leaving, also by an exception,
    restores what it changed: the modes of dispatch, PyTorch's use of oneDNN and the
    flushing of subnormal numbers. Inside, `torch.compile` compiles nothing: operators run
    one by one, and fullgraph=True raises. Tensors may be on the CPU, on "meta" or on CUDA
    devices, with the bits of the CPU (docs/reproducible.md#what-happens-on-a-gpu); on other
    devices it raises. Python's own arithmetic, as in schedulers of learning rates, is not changed.
    """

    def __init__(self, strict: bool = True, gradients: str | None = None) -> None:
        if not isinstance(strict, bool):
            raise TypeError(f"strict must be True or False, not {strict!r}")
        if gradients not in (None, "exact"):
            raise ValueError(f"gradients must be None or 'exact', not {gradients!r}")
        self.strict = strict
        self.uncovered: Counter[str] = Counter()
        self.places: Counter[tuple[str, str]] = Counter()
        self._looks = _parameters.LOOKS
        self._exact = None if gradients is None else Gradients()
        self._entries: list[_blocks.Entry] = []

    def __enter__(self) -> "reproducible":
        if self._exact is not None:
            engine.watch_steps()
        _blocks.enter(self, _Dispatch)
        return self

    def __exit__(self, *exception: Any) -> None:
        _blocks.leave(self)


# That of tensors and parameters.
_PLAIN = torch.Tensor.__torch_dispatch__


# What PyTorch's compiler does to the frames of this thread: None where it compiles none.
_compiling: Callable[[], Any] = torch._C._dynamo.eval_frame.get_eval_frame_callback


class _Dispatch(_core.Dispatch, TorchDispatchMode):  # type: ignore[misc,unused-ignore]
    def __init__(self, home: _blocks.Home) -> None:
        super().__init__()
        self.home, self.thread, self.rounding = home, threading.get_ident(), ()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.PROXY) is not None:
            return func(*args, **(kwargs or {}))  # make_fx records operators; PyTorch calls its mode after this one
        return super().__torch_dispatch__(func, types, args, kwargs)

    def by_key(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Called by the dispatch key for what no prepared call takes."""
        if any(type(t).__torch_dispatch__ is not _PLAIN for t in tensors_in((*args, *kwargs.values()))):
            return self.home.call_as_mode(func, args, kwargs)
        return self.general(func, (), args, kwargs)

    def general(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Called for what no prepared call takes."""
        if _compiling() is not None:
            return _uncompiled(self, func, types, args, kwargs)
        gradients = engine.of_block()
        if gradients is not None and gradients.depth:
            made = self._deferred(gradients, func, args, kwargs)
            if made is not NotImplemented:
                return made
        return self._general(func, types, args, kwargs)

    def _deferred(self, gradients: Gradients, func: Any, args: Any, kwargs: Any) -> Any:
        """What an operator of a backward pass with exact gradients returns, NotImplemented for one that does not enter."""
        try:
            made = gradients.called(self, func, args, kwargs)
        except Uncovered as error:
            raise UncoveredOperatorError(_name(func), call_site(), str(error)) from None
        return self.quick(func, args, kwargs) if made is NotImplemented else made

    def _general(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        entry = current(self.home)
        if entry is None or _shapes_alone(func, types):
            return func(*args, **kwargs)
        if any(t.__torch_dispatch__ is not _PLAIN for t in types):
            return NotImplemented  # a tensor made of several says of which operators, and these come here again
        if entry.block._looks:
            entry.block._looks -= 1
            if _parameters.look(func, args, callers_frame):
                entry.block._looks = 0
        if func in _COLLECTIVES:
            return self._collective(func, args, kwargs)
        device = _foreign(args, kwargs)
        if device is not None and device.type in KINDS:
            return self._on_device(func, args, kwargs, device)
        function: Any = FUNCTIONS.get(func, False)
        if function is None:
            return func(*args, **kwargs)
        if device is not None and device.type == "meta":
            return func(*args, **kwargs)  # shapes without numbers
        if function is False:
            return self._unknown(func, args, kwargs)
        if device is not None and not hasattr(function, "moves"):
            return self._own(func, args, kwargs, f"tensors on {device} are not")
        return self._call(function, func, args, kwargs)

    def _collective(self, func: Any, args: Any, kwargs: Any) -> Any:
        """What an operator of torch.distributed returns. Its errors, too, are those of all ranks."""
        function = _COLLECTIVES[func]
        if function is None:
            if func._schema.name in ("c10d::recv_", "c10d::recv_any_source_"):
                graph.receive(args[0])
            return func(*args, **kwargs)
        try:
            with _core.Environment():
                return function(*args, **kwargs)
        except Uncovered as error:
            return self._own(func, args, kwargs, str(error))

    def _on_device(self, func: Any, args: Any, kwargs: Any, device: torch.device) -> Any:
        """What an operator returns for tensors on a GPU, or one that it makes there."""
        entry = current(self.home)
        assert entry is not None
        if func.namespace != "repmath" and func not in FUNCTIONS and func._can_decompose():
            with self._again():
                result = func.decompose(*args, **kwargs)
            if result is not NotImplemented:
                return result
        try:
            place, made = devices.call(self._again, func, args, kwargs, device)
        except Uncovered as error:
            return self._own(func, args, kwargs, str(error))
        entry.block.places[_name(func), place] += 1
        return made

    def _call(self, function: Callable[..., Any], func: Any, args: Any, kwargs: Any) -> Any:
        try:
            with _core.Environment(), np.errstate(all="ignore"):
                return function(*args, **kwargs)
        except Exception as error:
            return self.failed(error, func, args, kwargs)

    def failed(self, error: Exception, func: Any, args: Any, kwargs: Any) -> Any:
        """What follows an error of a function of the table: PyTorch's own, or its refusal."""
        if isinstance(error, Uncovered):
            return self._own(func, args, kwargs, str(error))
        if not isinstance(error, (ValueError, TypeError, IndexError, RuntimeError)):
            raise error
        layout = _layout(args, kwargs)
        if layout == "nested":
            return self._own(
                func, args, kwargs, "nested tensors are not; torch.nested.to_padded_tensor(x, 0.0) is one that is"
            )
        if layout is not None:
            return self._sparse(func, args, kwargs, f"{layout} tensors are not; x.to_dense() is one that is")
        if isinstance(error, RuntimeError):
            raise error
        own_error(func, args, kwargs)
        return self._own(func, args, kwargs, str(error))

    def _sparse(self, func: Any, args: Any, kwargs: Any, reason: str) -> Any:
        """What an operator of the table, or of sparse tensors alone, returns for those."""
        function = sparse.FUNCTIONS.get(func)
        if function is None:
            return self._own(func, args, kwargs, reason)
        try:
            with _core.Environment(), np.errstate(all="ignore"):
                return function(*args, **kwargs)
        except Uncovered as error:
            return self._own(func, args, kwargs, str(error))

    def _unknown(self, func: Any, args: Any, kwargs: Any) -> Any:
        if func.namespace in ("profiler", "prim", "repmath") or func is _CHOICE:
            return func(*args, **kwargs)
        if func.namespace == "fsdp" and len({t.dtype for t in tensors_in((*args, *kwargs.values()))}) == 1:
            return func(*args, **kwargs)  # they move elements
        function = vision.FUNCTIONS.get(func._schema.name)
        if function is not None:
            return self._call(function, func, args, kwargs)
        if func in _OF_SPARSE:
            return self._sparse(func, args, kwargs, "")
        if func._can_decompose():  # in inference mode composed operators come as such
            with self._again():
                result = func.decompose(*args, **kwargs)
            if result is not NotImplemented:
                return result
        body = _body(func)
        if body is not None:
            with self._again():
                return body(*args, **kwargs)
        if _holds_float(args) or _holds_float(list(kwargs.values())):
            return self._own(func, args, kwargs, _absent(func))
        result = func(*args, **kwargs)
        if _holds_float(result):
            self._count(func, _absent(func))
        return result

    @contextlib.contextmanager
    def _again(self) -> Iterator[None]:
        """Operators that are called meanwhile come here, though one is being handled."""
        if self.home.by_key:
            _dispatch_key.exclude(False)
            try:
                yield
            finally:
                _dispatch_key.exclude(True)
        else:
            with self:
                yield

    def _own(self, func: Any, args: Any, kwargs: Any, reason: str) -> Any:
        """PyTorch's operator, where the innermost block allows it."""
        self._count(func, reason)
        return func(*args, **kwargs)

    def _count(self, func: Any, reason: str) -> None:
        entry = current(self.home)
        assert entry is not None
        if entry.block.strict:
            raise UncoveredOperatorError(_name(func), call_site(), reason) from None
        entry.block.uncovered[f"{_name(func)}: {reason}"] += 1


# What serves where operators have no definition, and for those of GPUs that the block does not let PyTorch choose.
_RECURRENT = "torch.nn.LSTM, GRU, RNN and their cells are composed of operators that are"
_ATTENTION = "torch.nn.functional.scaled_dot_product_attention serves"
_INSTEAD = {
    "_cudnn_rnn": _RECURRENT,
    "_cudnn_init": _RECURRENT,
    "miopen_rnn": _RECURRENT,
    "_thnn_fused": _RECURRENT,
    "_cudnn_ctc": "torch.nn.functional.ctc_loss serves",
    "miopen_ctc": "torch.nn.functional.ctc_loss serves",
    "_fused_dropout": "torch.nn.functional.dropout serves",
    "_fused_rms_norm": "torch.nn.functional.rms_norm serves",
    "cudnn_affine": "torch.nn.functional.affine_grid serves",
    "cudnn_grid": "torch.nn.functional.grid_sample serves",
    "batch_norm_": "statistics of a part of a batch; torch.nn.BatchNorm2d serves, within repmath.torch.distributed over all ranks",
    "_philox": "torch.rand and torch.randn, whose numbers depend on the seed alone, serve",
    "_cslt": "x.to_dense() serves",
    "_to_sparse_semi": "x.to_dense() serves",
    "_convert_weight": "a product with the weights as numbers serves",
    "_weight_int": "a product with the weights as numbers serves",
    "_mixed_dtypes": "a product with the weights as numbers serves",
    "_scaled_grouped": "torch.nn.functional.grouped_mm of numbers that are converted serves",
    "_scaled_dot": _ATTENTION,
    "_flash_att": _ATTENTION,
    "_efficient_att": _ATTENTION,
    "_cudnn_att": _ATTENTION,
    "_triton": _ATTENTION,
    "_fill_mem_eff": _ATTENTION,
    "linalg_eig": "the eigenvalues of a matrix that is not symmetric have no definition here; torch.linalg.eigh and svd have",
    "_linalg_eigvals": "the eigenvalues of a matrix that is not symmetric have no definition here; torch.linalg.eigvalsh and svdvals have",
    "sparse": "of sparse tensors there are sums, coalesce and products of matrices; x.to_dense() serves for all others",
    "_sparse": "of sparse tensors there are sums, coalesce and products of matrices; x.to_dense() serves for all others",
}


def _absent(func: Any) -> str:
    """Why an operator is refused that has no line, and what serves in its place."""
    name = func._schema.name.removeprefix("aten::")
    for start, text in _INSTEAD.items():
        if name.startswith(start):
            return f"it is not in the table of operators: {text}"
    return "it is not in the table of operators"


# Operators of sparse tensors alone: a line that the table lacks is not made up for by theirs.
_OF_SPARSE = sparse.FUNCTIONS.keys() - FUNCTIONS.keys()
_CHOICE = torch.ops.aten._fused_sdp_choice.default  # reads shapes alone


def _body(func: Any) -> Any:
    """The function of an operator that `torch.library.custom_op` made, which is itself one of operators."""
    made = OPDEFS.get(func._schema.name)
    return None if made is None else made._backend_fns.get("cpu", made._backend_fns.get(None))


_core.prepare_key(
    torch._C._dispatch_tls_set_dispatch_key_excluded,
    _dispatch_key.KEY,
    _blocks.dispatch_of_thread,
    torch._C._current_autograd_node,
    torch._C._is_any_autocast_enabled,
)
_dispatch_key.register(
    _core.called_by_key,
    [func for func, function in FUNCTIONS.items() if function is None and _dispatch_key.reads_nothing(func)],
)


_uncompiled: Callable[..., Any] = torch._disable_dynamo(_Dispatch._general)


def _name(func: Any) -> str:
    return str(func)


__all__ = ["UncoveredOperatorError", "reproducible"]
