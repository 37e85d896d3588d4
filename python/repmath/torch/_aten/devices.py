"""Operators of tensors on a GPU, with the bits of the CPU.

An operator that only moves elements is PyTorch's own on the device. If the library for the GPU has an operator's function, the table's function
computes it there, on arrays of `_cuda`. Every other operator is the CPU's, prepared calls and refusals included, on copies in main memory.
"""

import functools
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from ... import _core
from ..._cuda import _library
from ..._cuda._array import Unsupported
from .._deviations import HEAD
from .._device_tensors import KINDS, is_on_device, sent
from .._dispatch_key import reads_nothing
from .._ops.operator import KERNELS as KERNELS_OF
from .._tensors import FORMATS, fills_memory
from .common import Uncovered
from .guards import tensors_in
from .linspace import is_own
from .table import FUNCTIONS, OPERATORS

#: Where an operator ran: PyTorch's own on the device, the library's there, or the CPU's on copies.
MOVED, COMPUTED, STAGED = "moved", "on the device", "in main memory"

# Operators that move elements and for which PyTorch's kernels for a GPU round nothing, whatever their order, and keep NaN as they are; by the
# name that all overloads share. Others that move elements (ties of maxima and sorts, two values for one place, signs of NaN) are the CPU's.
_MOVES = frozenset(
    """_foreach_clone _foreach_copy_ _foreach_zero_ all any bitwise_and bitwise_and_ bitwise_not bitwise_not_ bitwise_or bitwise_or_
    bitwise_xor bitwise_xor_ cat clone constant_pad_nd diagonal_backward diagonal_copy diagonal_scatter embedding eq eq_ equal expand_copy
    fill fill_ flip full full_like gather ge ge_ gt gt_ index index_select isfinite isinf isnan isneginf isposinf item le le_ lift lift_fresh
    lift_fresh_copy logical_and logical_and_ logical_not logical_not_ logical_or logical_or_ logical_xor logical_xor_ lt lt_ masked_fill
    masked_fill_ masked_select ne ne_ new_full new_ones new_zeros nonzero ones ones_like permute_copy repeat resize_ roll scalar_tensor
    select_backward select_copy select_scatter set_ slice_backward slice_copy slice_scatter split_with_sizes_copy squeeze_copy stack t_copy
    transpose_copy tril tril_ triu triu_ unbind_copy unfold_copy unsqueeze_copy view_copy where zero_ zeros zeros_like
    _local_scalar_dense _reshape_alias _unsafe_view _efficientzerotensor _has_same_storage_numel _new_zeros_with_same_feature_meta is_same_size is_pinned""".split()
)
# Operators that make elements of Python's numbers, which PyTorch rounds twice in 16 bits.
_OF_NUMBERS = frozenset(
    "constant_pad_nd fill fill_ full full_like masked_fill masked_fill_ new_full scalar_tensor where".split()
)
# Operators without numbers.
_WITHOUT_NUMBERS = frozenset(("record_stream", "_record_function_enter_new", "_record_function_exit"))
_RANGES = frozenset(("arange", "arange_step"))
# Functions of the table that add, multiply and compare integers, and raise no error that depends on their values.
_OF_INTEGERS = frozenset("add subtract rsub multiply sum maximum minimum clamp clamp_min clamp_max".split())


def device_of(values: Any) -> torch.device | None:
    """The device of the first tensor on a GPU, or the GPU that is named."""
    for v in values:
        if isinstance(v, torch.Tensor):
            if not v.is_cpu and v.device.type in KINDS:
                return v.device
        elif isinstance(v, torch.device):
            if v.type in KINDS:
                return v
        elif isinstance(v, (list, tuple)):
            found = device_of(v)
            if found is not None:
                return found
    return None


def _formats(args: Any, kwargs: Any) -> set[torch.dtype]:
    """The formats of tensors among the arguments, and that of the result if one is given."""
    found = {t.dtype for t in tensors_in((*args, *kwargs.values())) if t.is_floating_point() or t.is_complex()}
    dtype = kwargs.get("dtype")
    return found | {dtype} if dtype is not None and dtype.is_floating_point else found


# --- PyTorch's own


def _kept(source: torch.dtype, to: torch.dtype) -> bool:
    """Whether PyTorch's kernels convert these elements without rounding and keep NaN as they are."""
    if source is to:
        return True
    if source.is_floating_point or source.is_complex:
        return source is torch.bfloat16 and to is torch.float32
    return not to.is_complex and (not to.is_floating_point or (source.itemsize <= 2 and to.itemsize >= 4))


def _moves(func: Any, function: Any, args: Any, kwargs: Any) -> bool:
    """Whether PyTorch's own operator does the same on the device."""
    base = func.overloadpacket.__name__
    if base in _WITHOUT_NUMBERS or reads_nothing(func):
        return True
    if function is False:
        return False
    operator = OPERATORS[func].function
    if operator == "copy":
        return bool(_kept(args[1].dtype, args[0].dtype))
    if operator in _RANGES:
        return is_own(*args, **kwargs)
    if operator == "to_copy":
        return _kept(args[0].dtype, kwargs.get("dtype") or args[0].dtype)
    formats = _formats(args, kwargs)
    if not formats and operator in _OF_INTEGERS:
        return not any(isinstance(v, float) for v in (*args, *kwargs.values()))
    if base not in _MOVES or len(formats) > 1:
        return False
    narrow = any(dtype.itemsize < 4 for dtype in formats)
    return not (narrow and base in _OF_NUMBERS) and not _several(base, args)


def _several(base: str, args: Any) -> bool:
    """Whether integers are among floating-point numbers, where they would be converted."""
    if base not in ("cat", "stack", "where", "eq", "ne", "lt", "le", "gt", "ge"):
        return False
    dtypes = {t.dtype for t in tensors_in(args if base != "where" else args[1:])}
    return len(dtypes) > 1


# --- the library's


# Functions of the table, and operators of repmath, that launch kernels of the library on the device and convert nothing on the way. They raise
# for arguments that they do not support before anything is written.
_LAUNCHING = frozenset(_core.ufuncs) | frozenset(
    """add subtract rsub multiply divide reciprocal power gelu gelu_backward tanh_backward sigmoid_backward log_sigmoid_forward log_sigmoid_backward
    relu threshold_backward clamp clamp_min clamp_max hardtanh hardtanh_backward maximum minimum lerp addcmul addcdiv glu
    softmax log_softmax softmax_backward log_softmax_backward layer_norm layer_norm_backward group_norm group_norm_backward
    batch_norm batch_norm_without_running batch_norm_without_training batch_norm_backward
    mse_loss smooth_l1_loss huber_loss mse_loss_backward smooth_l1_loss_backward huber_loss_backward
    mm bmm mv dot addmm linear convolution convolution_backward sum mean vector_norm norm_dim var std var_mean std_mean cumsum
    nll_loss_forward nll_loss_backward mm_wider bmm_wider addmm_wider baddbmm_wider native_dropout native_dropout_backward masked_scale max_pool2d_backward max_pool3d_backward
    max_pool2d avg_pool2d avg_pool2d_backward adaptive_avg_pool2d adaptive_avg_pool2d_backward max_pool3d avg_pool3d avg_pool3d_backward
    adaptive_avg_pool3d adaptive_avg_pool3d_backward attention attention_backward
    embedding_dense_backward index_add bernoulli safe_softmax conv_cudnn conv_transpose_cudnn conv_miopen conv_transpose_miopen conv_depthwise
    conv_relu conv_add_relu batch_norm_cudnn batch_norm_backward_cudnn attention_flash attention_flash_backward attention_efficient
    attention_efficient_backward attention_cudnn attention_cudnn_backward
    foreach_add_list foreach_add_number foreach_sub_list foreach_sub_number foreach_mul_list foreach_mul_number foreach_div_list
    foreach_div_number foreach_lerp foreach_lerp_list foreach_addcmul foreach_addcdiv foreach_sqrt foreach_reciprocal foreach_norm
    foreach_maximum foreach_clamp_min foreach_clamp_max foreach_pow fused_adam fused_adamw fused_sgd
    repmath::cross_entropy repmath::cross_entropy_backward repmath::binary_cross_entropy_with_logits
    repmath::binary_cross_entropy_with_logits_backward repmath::kl_div repmath::kl_div_backward repmath::rms_norm repmath::rms_norm_backward
    repmath::instance_norm repmath::instance_norm_backward repmath::softsign repmath::softsign_backward""".split()
)


@functools.cache
def _is_there() -> bool:
    """Whether the library for the device is installed; if not, a warning says how to get it."""
    try:
        _library.load()
    except ImportError as error:
        warnings.warn(f"operators of tensors on a GPU are computed in main memory: {error}", RuntimeWarning, stacklevel=2)
        return False
    return True


def _launching(func: Any, function: Any, args: Any, kwargs: Any) -> Any:
    """What computes this on the device, or None."""
    if function is False:
        kernel, name = KERNELS_OF.get(func), func._schema.name
    else:
        kernel, name = getattr(function, "of_floats", function), OPERATORS[func].function
    return kernel if name in _LAUNCHING and _computes(func, args, kwargs) else None


def computed(func: Any, function: Any, args: Any, kwargs: Any, device: torch.device) -> Any:
    """Calls the library for the device. Returns NotImplemented if it does not compute this; then nothing has been written."""
    kernel = _launching(func, function, args, kwargs)
    if kernel is None or not _is_there():
        return NotImplemented
    try:
        with _core.Environment(), _library.on_device(device.index or 0):
            return kernel(*args, **kwargs)
    except (Unsupported, Uncovered, ValueError, TypeError, IndexError, NotImplementedError):
        return NotImplemented  # the CPU's operator says what is wrong


def route(func: Any, args: Any, kwargs: Any) -> str:
    """Where an operator of tensors on a device is first tried, without a call."""
    function: Any = FUNCTIONS.get(func, False)
    if _moves(func, function, args, kwargs):
        return MOVED
    if function is not False and (_is_rounded_once(OPERATORS[func].function, args, kwargs) or _is_negation(func, args)):
        return COMPUTED
    return STAGED if _launching(func, function, args, kwargs) is None else COMPUTED


def _computes(func: Any, args: Any, kwargs: Any) -> bool:
    """Whether the library may compute on the device: all tensors are there, in one format, and none that is written overlaps others."""
    is_step = func.overloadpacket.__name__.startswith("_fused_")
    formats = _formats(args[:_STATES], {}) if is_step else _formats(args, kwargs)
    if len(formats) != 1 or not formats <= FORMATS.keys() or kwargs.get("device") is not None:
        return False
    given = list(tensors_in((*args, *kwargs.values())))
    if is_step:  # whose launchers know whether memory is shared
        return len({t.device for t in given}) == 1
    return len({t.device for t in given}) == 1 and not _meets(list(_written(func, args, kwargs)), given)


_STATES = 5  # the lists of a fused step before its counts of steps, which are binary32 whatever the others are


def _meets(written: list[torch.Tensor], given: list[torch.Tensor]) -> bool:
    """Whether a tensor that is written has elements that share memory, or may share memory with a tensor of another place or shape."""
    if not all(fills_memory(t) for t in written):
        return True
    storages = {t.untyped_storage().data_ptr() for t in written} - {0}
    places: dict[Any, bool] = {}  # of tensors in these storages: whether one is written
    for tensors, are_written in ((given, False), (written, True)):
        for t in tensors:
            if t.numel() and t.untyped_storage().data_ptr() in storages:
                places[t.data_ptr(), t.data_ptr() + _span(t), t.dtype, t.shape, t.stride()] = are_written
    every = last = 0  # where those before end, and those of them that are written
    for (begin, end, *_), is_written in sorted(places.items(), key=lambda item: item[0][:2]):
        if begin < (every if is_written else last):
            return True
        every, last = max(every, end), max(last, end) if is_written else last
    return False


def _span(t: torch.Tensor) -> int:
    """Bytes from the first element to the end of the last one."""
    return int(t.itemsize * (1 + sum((n - 1) * step for n, step in zip(t.shape, t.stride(), strict=True))))


# Arguments that operators write into though their schema does not say so.
_WRITTEN = {f"{name}_batch_norm": ("running_mean", "running_var") for name in ("native", "cudnn", "miopen")}


def _written(func: Any, args: Any, kwargs: Any) -> Iterator[torch.Tensor]:
    """The tensors that an operator writes into."""
    untold = _WRITTEN.get(func.overloadpacket.__name__, ())
    for i, a in enumerate(func._schema.arguments):
        if (a.alias_info is not None and a.alias_info.is_write) or a.name in untold:
            yield from tensors_in([args[i] if i < len(args) else kwargs.get(a.name)])


# --- the CPU's


# Operators whose only tensor on the device is written and not read.
_OVERWRITING = frozenset("uniform_ normal_ exponential_ random_ cauchy_ geometric_ log_normal_".split())


class _Copies:
    """Copies, in main memory, of the tensors on devices among the arguments of a call. Tensors that share memory have copies that do."""

    def __init__(self, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        self._overwrites = func.overloadpacket.__name__ in _OVERWRITING
        given = [t for t in tensors_in((*args, *kwargs.values())) if is_on_device(t)]
        self._first: dict[int, torch.Tensor] = {}  # a tensor for each address of a storage
        self._shared: dict[int, torch.UntypedStorage | None] = {}  # copies of storages that several tensors use
        self._made: dict[int, torch.Tensor] = {}  # copies by the identity of the tensor, which the arguments keep alive
        self._own: dict[int, torch.Tensor] = {}  # tensors by the identity of the copy
        for t in given:
            at = t.untyped_storage().data_ptr()
            if self._first.setdefault(at, t) is not t and at:
                self._shared[at] = None
        for t in _written(func, args, kwargs):
            if is_on_device(t) and not fills_memory(t):
                self._shared[t.untyped_storage().data_ptr()] = None
        self._shared.update(
            (t.untyped_storage().data_ptr(), None) for t in given if t.storage_offset() and _has_a_head(func, t)
        )

    def __call__(self, v: Any) -> Any:
        if isinstance(v, torch.Tensor):
            return self._of(v) if is_on_device(v) else v
        if isinstance(v, (list, tuple)):
            return type(v)(self(w) for w in v)
        if isinstance(v, torch.device):
            return torch.device("cpu") if v.type in KINDS else v
        if isinstance(v, torch.Generator) and v.device.type != "cpu":
            raise Uncovered(f"a generator on {v.device}: random numbers are drawn from one of the CPU")
        return v

    def _of(self, t: torch.Tensor) -> torch.Tensor:
        if id(t) in self._made:
            return self._made[id(t)]
        at = t.untyped_storage().data_ptr()
        if at in self._shared and not (t.is_conj() or t.is_neg()):
            storage = self._shared[at]
            if storage is None:
                storage = self._shared[at] = t.untyped_storage().cpu()
            made = torch.empty(0, dtype=t.dtype).set_(storage, t.storage_offset(), t.shape, t.stride())
        elif self._overwrites:
            made = torch.empty_strided(t.shape, t.stride(), dtype=t.dtype)
        else:
            made = t.detach().cpu()
        self._made[id(t)], self._own[id(made)] = made, t
        return made

    def write_back(self, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """Copies what was written back to the device."""
        for t in _written(func, args, kwargs):
            if is_on_device(t):
                copy = self._of(t)
                if copy.shape != t.shape:
                    t.resize_(copy.shape)
                t.copy_(copy)

    def returned(self, v: Any, device: torch.device | None) -> Any:
        """The result on the device; a result that is an argument is that argument."""
        if isinstance(v, torch.Tensor):
            if id(v) in self._own:
                return self._own[id(v)]
            return v if device is None else sent(v, device)
        return type(v)(self.returned(w, device) for w in v) if isinstance(v, (list, tuple)) else v


# Operators that take the result of a norm, in whose storage eps precedes the numbers.
_AFTER_NORMS = frozenset(("native_layer_norm_backward", "native_group_norm_backward", "detach", "clone"))


def _has_a_head(func: Any, t: torch.Tensor) -> bool:
    return func.overloadpacket.__name__ in _AFTER_NORMS and t.storage_offset() * t.itemsize == HEAD


# Operators whose tensors may be on several devices.
_APART = frozenset("index index_put index_put_ _index_put_impl_ copy_ _to_copy _unsafe_index _pack_padded_sequence".split())


def _check_together(func: Any, args: Any, kwargs: Any, device: torch.device) -> None:
    """Raises as PyTorch does for tensors on several devices."""
    if func.overloadpacket.__name__ in _APART:
        return
    for t in tensors_in((*args, *kwargs.values())):
        if t.device != device and t.ndim:
            raise RuntimeError(
                f"{func}: Expected all tensors to be on the same device, but found at least two devices, {device} and {t.device}!"
            )


def _target(func: Any, args: Any, kwargs: Any, device: torch.device) -> torch.device | None:
    """The device of the results, or None if they stay in main memory."""
    named = kwargs.get("device")
    if named is None:
        for i, a in enumerate(func._schema.arguments):
            if a.name == "device" and i < len(args):
                named = args[i]
    if named is not None:
        return torch.device(named) if torch.device(named).type in KINDS else None
    return device


def staged(again: Callable[..., Any], func: Any, args: Any, kwargs: Any, device: torch.device) -> Any:
    """Calls the CPU's operator on copies. `again` is a context in which operators are the library's."""
    _check_together(func, args, kwargs, device)
    copies = _Copies(func, args, kwargs)
    given, named = copies(tuple(args)), {key: copies(v) for key, v in kwargs.items()}
    with again():
        made = func(*given, **named)
    copies.write_back(func, args, kwargs)
    return copies.returned(made, _target(func, args, kwargs, device))


# Conversions of one instruction on a device, which rounds to nearest: a narrower number is made of the one that is given, not of a third.
_ROUNDED_ONCE = {(torch.float32, torch.bfloat16), (torch.float32, torch.float16), (torch.float64, torch.float32)}
# Formats whose negative the CPU has by the sign alone, of NaN too; in 16 bits that depends on where the numbers lie.
_WORDS = {torch.float32: torch.int32, torch.float64: torch.int64}


def _is_rounded_once(function: str, args: Any, kwargs: Any) -> bool:
    """Whether PyTorch's own conversion rounds as the CPU's, but for the bits of NaN."""
    if function == "copy":
        return (args[1].dtype, args[0].dtype) in _ROUNDED_ONCE
    return function == "to_copy" and (args[0].dtype, kwargs.get("dtype")) in _ROUNDED_ONCE


def _is_negation(func: Any, args: Any) -> bool:
    return func is torch.ops.aten.neg.default and args[0].dtype in _WORDS and not args[0].is_neg()


def _by_bits(func: Any, function: Any, args: Any, kwargs: Any) -> Any:
    """What PyTorch's operators on the device give if they are told what the CPU makes of NaN; NotImplemented where that is not all."""
    if function is False:
        return NotImplemented
    if _is_rounded_once(OPERATORS[func].function, args, kwargs):
        made = func(*args, **kwargs)
        return made.masked_fill_(made.isnan(), torch.nan)
    if _is_negation(func, args):  # a NaN changes its sign too
        words = args[0].view(_WORDS[args[0].dtype])
        return words.bitwise_xor(torch.iinfo(words.dtype).min).view(args[0].dtype)
    return NotImplemented


def call(again: Callable[..., Any], func: Any, args: Any, kwargs: Any, device: torch.device) -> tuple[str, Any]:
    """Calls an operator of tensors on a device. Returns where it was computed, and its result."""
    function: Any = FUNCTIONS.get(func, False)
    if _moves(func, function, args, kwargs):
        return MOVED, (func if function in (None, False) or func in _PLAIN_MOVES else function)(*args, **kwargs)
    made = _by_bits(func, function, args, kwargs)
    if made is NotImplemented:
        made = computed(func, function, args, kwargs, device)
    if made is not NotImplemented:
        return COMPUTED, made
    return STAGED, staged(again, func, args, kwargs, device)


# Functions of the table for tensors of the CPU. Where PyTorch's operator only moves elements, it is called in their place.
_PLAIN_MOVES = frozenset(f for f in FUNCTIONS if OPERATORS[f].function in ("copy", "to_copy", *_RANGES, *_OF_INTEGERS))
