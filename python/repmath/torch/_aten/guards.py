"""Checks of operators that write into a tensor of the caller: PyTorch's rules of overlap, with the errors that PyTorch raises."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch

from .common import Uncovered


def tensors_in(values: Iterable[Any]) -> Iterator[torch.Tensor]:
    """The tensors among arguments, also those in lists."""
    for v in values:
        if isinstance(v, torch.Tensor):
            yield v
        elif isinstance(v, (list, tuple)):
            yield from tensors_in(v)


_SMALL = 1 << 24  # bytes of floating-point numbers that are copied, for errors that depend on them


class _Replicas:
    """Copies of arguments, which share memory as the arguments do."""

    def __init__(self) -> None:
        self._storages: dict[int, torch.UntypedStorage] = {}

    def __call__(self, v: Any) -> Any:
        if isinstance(v, torch.Tensor):
            return self._tensor(v)
        if isinstance(v, (list, tuple)):
            return type(v)(self(w) for w in v)
        return v

    def _tensor(self, t: torch.Tensor) -> torch.Tensor:
        if (
            t.device.type != "cpu"
            or t.layout is not torch.strided
            or type(t) is not torch.Tensor
            or t.is_conj()
            or t.is_neg()
        ):
            return torch.empty_like(t) if t.is_floating_point() else t.clone()
        storage = t.untyped_storage()
        # Storages without memory have one address, and none is shared in a way that matters.
        made = self._storages.get(storage.data_ptr()) if storage.data_ptr() else None
        if made is None or made.nbytes() < storage.nbytes():
            copied = not t.is_floating_point() or storage.nbytes() <= _SMALL
            made = storage.clone() if copied else torch.UntypedStorage(storage.nbytes())
            self._storages[storage.data_ptr()] = made
        return torch.empty(0, dtype=t.dtype).set_(made, t.storage_offset(), t.shape, t.stride())


def own_error(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Raise what PyTorch raises for such arguments, or return what it returns. It is asked with copies: nothing of the caller's is written."""
    replica = _Replicas()
    try:
        return func(*replica(tuple(args)), **{key: replica(v) for key, v in kwargs.items()})
    except NotImplementedError as error:
        if "Could not run" in str(error):  # it is a GPU's alone
            raise Uncovered("such tensors, of which PyTorch has no operator on the CPU that says what is wrong") from None
        raise


def floats_in(values: Iterable[Any]) -> set[torch.dtype]:
    """The floating-point dtypes of tensors among arguments."""
    return {t.dtype for t in tensors_in(values) if t.is_floating_point() or t.is_complex()}


# Arguments that are integers or bool beside floating-point numbers.
_PLACES = frozenset(
    """index indices target targets offs offsets offset2bag bag_size maximum_indices mask attn_mask is_target input_lengths target_lengths
    lengths self_indices condition pivots reserve""".split()
)

_TOLERANCES = ("atol", "rtol")  # which have formats of their own


def of_one_format(overload: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function for calls whose tensors are of one format. Of others PyTorch says whether they are allowed, and what they return:
    integers are its own, and a result of another dtype than its is not covered."""
    classes = overload.overloadpacket.__name__.startswith(("nll_", "multi", "_ctc"))  # whose targets are integers
    names = _PLACES if classes else _PLACES - {"target"}
    weighs = "upsample" in overload.overloadpacket.__name__
    places = frozenset(i for i, a in enumerate(overload._schema.arguments) if a.name in names)

    def call(*args: Any, **kwargs: Any) -> Any:
        floats = floats_in(args)
        if kwargs:
            floats |= floats_in(v for key, v in kwargs.items() if key not in _TOLERANCES) | ({kwargs.get("dtype")} - {None})
        if len(floats) == 1 and not any(
            isinstance(v, torch.Tensor) and i not in places and not v.is_floating_point() for i, v in enumerate(args)
        ):
            return function(*args, **kwargs)
        own = [t.dtype for t in tensors_in([own_error(overload, args, kwargs)])]
        if own and not any(dtype.is_floating_point or dtype.is_complex for dtype in own):
            if weighs:
                raise Uncovered(
                    f"images of {own[0]}, whose weights PyTorch rounds in its own way; resize one of floating-point numbers, and round it"
                )
            return overload(*args, **kwargs)
        made = function(*args, **kwargs)
        ours = [t.dtype for t in tensors_in([made])]
        if ours != own and made is not None:
            raise Uncovered(f"results of {', '.join(map(str, own))} of tensors of several formats")
        return made

    return call


def resized(t: torch.Tensor, shape: Sequence[int]) -> None:
    """Give a tensor that is written another shape. Memory of an array does not grow: a tensor over such memory gets memory of its own."""
    if t.untyped_storage().resizable():
        t.resize_(shape)
    else:
        t.set_(torch.empty(shape, dtype=t.dtype))


def _shares(t: torch.Tensor) -> bool:
    """Whether elements of the tensor may share memory: steps along an axis do not pass over all that is within."""
    reach = 0
    for step, n in sorted(zip(t.stride(), t.shape, strict=True)):
        if n > 1:
            if step <= reach:
                return True
            reach += step * (n - 1)
    return False


def _beside(t: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether the memory of two tensors meets, other than element by element."""
    start, begin = t.data_ptr(), other.data_ptr()
    if start == begin and t.stride() == other.stride() and t.shape == other.shape:
        return False
    end, stop = (p + v.itemsize * (1 + sum(s * (n - 1) for s, n in zip(v.stride(), v.shape, strict=True)))
                 for p, v in ((start, t), (begin, other)))  # fmt: skip
    return bool(begin < end and start < stop)


def _meets(t: torch.Tensor, storage: int, others: Iterable[Any]) -> bool:
    """Whether one of the arguments overlaps a part of t, whose storage begins there."""
    for v in others:
        if isinstance(v, torch.Tensor):
            if v is t or v.layout is not torch.strided or not v.is_cpu:
                continue
            if v._is_zerotensor():  # zeros that PyTorch keeps without memory
                continue
            if v.untyped_storage().data_ptr() == storage:
                if t.numel() and v.numel() and _beside(t, v):
                    return True
        elif isinstance(v, (list, tuple)) and _meets(t, storage, v):
            return True
    return False


def check_written(func: Any, t: torch.Tensor, args: Sequence[Any], kwargs: dict[str, Any], others: Iterable[Any]) -> None:
    """Raise before anything is written to `t` where PyTorch refuses it: elements that share memory, arguments that lie over a part of it.
    Elements that share memory in a way that PyTorch lets pass would depend on the order of its loops: they are not covered."""
    if t.layout is not torch.strided or not t.is_cpu:
        return
    shared = not t.is_contiguous() and _shares(t)
    if shared or _meets(t, t.untyped_storage().data_ptr(), others):
        own_error(func, args, kwargs)
    if shared:
        raise Uncovered("a tensor that is written has elements that share memory")
