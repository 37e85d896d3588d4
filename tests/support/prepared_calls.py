"""Calls of operators under reproducible() and by the table's functions, with the bits of their results."""

import contextlib

import torch

import repmath.torch as rt
from repmath import _core
from repmath.torch._aten.common import Uncovered
from repmath.torch._aten.table import FUNCTIONS

FORMATS = {torch.float16: torch.int16, torch.bfloat16: torch.int16, torch.float32: torch.int32, torch.float64: torch.int64}
NUMBERS = (2, 0.5, -1, 0.1, 0.0, -0.0, 1.0, 3, 2.0**-30, 65504.0, 1e30, float("inf"), float("-inf"), float("nan"))


def values(dtype, n, seed):
    """Numbers of all kinds: special ones, ties of sums, subnormal numbers, neighbours of 1."""
    info = torch.finfo(dtype)
    special = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), info.max, -info.max, info.tiny, info.smallest_normal / 2]
    special += [1.0, -1.0, 1 + info.eps, 1 - info.eps / 2, info.eps / 2, 3.0, 0.5, 1e-3]
    generator = torch.Generator().manual_seed(seed)
    made = torch.randn(n, generator=generator, dtype=torch.float64) * 2.0 ** torch.randint(-6, 6, (n,), generator=generator)
    at = torch.randint(0, 2 * len(special), (n,), generator=generator)
    chosen = torch.tensor(special + special[:1] * len(special), dtype=torch.float64)[at]
    return torch.where(at < len(special), chosen, made).to(dtype)


@contextlib.contextmanager
def table_alone():
    """The environment of the table's functions, whose steps are then not prepared calls either."""
    before = _core.serve_table(False)
    try:
        with _core.Environment():
            yield
    finally:
        _core.serve_table(before)


@contextlib.contextmanager
def unprepared(*overloads):
    """These operators by the table's functions alone, which a test may have changed."""
    before = [_core.prepare_call(overload, None) for overload in overloads]
    try:
        yield
    finally:
        for overload, prepared in zip(overloads, before, strict=True):
            _core.prepare_call(overload, prepared)


def copied(args, kwargs):
    """Copies of the tensors, which lie in memory as these do."""
    made = [a.new_empty_strided(a.shape, a.stride()).copy_(a) if isinstance(a, torch.Tensor) else a for a in args]
    return made, dict(kwargs)


def bits(t):
    return t.dtype, t.shape, t.contiguous().view(FORMATS[t.dtype]).reshape(-1).tolist()


def result(function, overload, args, kwargs):
    """The bits of the result, or "refused"."""
    args, kwargs = copied(args, kwargs)
    if any(a.is_out for a in overload._schema.arguments):
        tensors = [a for a in args if isinstance(a, torch.Tensor)]
        kwargs["out"] = torch.zeros(torch.broadcast_shapes(*(t.shape for t in tensors)), dtype=tensors[0].dtype)
    try:
        made = function(*args, **kwargs)
    except (rt.UncoveredOperatorError, Uncovered, RuntimeError, TypeError, ValueError):
        return "refused"
    if kwargs.get("out") is not None:
        assert made is kwargs["out"]
    if overload.overloadpacket.__name__.endswith("_"):
        assert made is args[0]
    made, *rest = made if isinstance(made, tuple) else (made,)
    assert type(made) is torch.Tensor and not made.requires_grad and not any(t.numel() for t in rest)
    return *bits(made), made.stride()


def by_table(overload, args, kwargs):
    def function(*a, **k):
        with table_alone():
            return FUNCTIONS[overload](*a, **k)

    return result(function, overload, args, kwargs)


def by_mode(overload, args, kwargs):
    with rt.reproducible():
        return result(overload, overload, args, kwargs)


def with_storages(value):
    """The same arguments over copies of their storages: what lies before a tensor's elements comes along, and what is shared stays so."""
    storages = {}

    def copy(v):
        if isinstance(v, torch.Tensor):
            storage = v.untyped_storage()
            made = storages.setdefault(storage.data_ptr(), storage.clone())
            return torch.empty(0, dtype=v.dtype).set_(made, v.storage_offset(), v.shape, v.stride())
        if isinstance(v, (list, tuple)):
            return type(v)(copy(w) for w in v)
        return {k: copy(w) for k, w in v.items()} if isinstance(v, dict) else v

    return copy(value)


def all_bits(value, steps=False):
    """The bits of tensors, None, and lists of them; with `steps` how they lie in memory too."""
    if isinstance(value, torch.Tensor):
        held = value.detach().contiguous()
        held = held.view(FORMATS[value.dtype]) if value.dtype in FORMATS else held
        assert not steps or (type(value) is torch.Tensor and not value._is_view())
        return (value.dtype, value.shape, value.stride() if steps else None, held.reshape(-1).tolist())
    return [all_bits(v, steps) for v in value] if isinstance(value, (list, tuple)) else value


def outcome(function, args, kwargs):
    """The bits of what a function returns and of its arguments afterwards; "refused" for an error, which the mode takes from PyTorch."""
    args, kwargs = with_storages((args, kwargs))
    try:
        made = function(*args, **kwargs)
    except (rt.UncoveredOperatorError, Uncovered, RuntimeError, TypeError, ValueError, IndexError):
        return "refused", all_bits(args)
    return all_bits(made), all_bits(args)


def check_alike(calls, general):
    """For each call, of an overload, arguments and keywords: whether a prepared call took it. The outcome must be that of the table's function,
    and what is new must lie in memory as the table's does."""

    def of_table(overload):
        return lambda *args, **kwargs: FUNCTIONS[overload](*args, **kwargs)

    ours, taken = [], []
    with rt.reproducible():
        for overload, args, kwargs in calls:
            del general[:]
            made = [outcome(overload, args, kwargs)]
            if overload not in general and not overload._schema.is_mutable:
                made.append(all_bits(overload(*with_storages(args), **with_storages(kwargs)), True))
            ours.append(made)
            taken.append(overload not in general)
    with table_alone():
        for (overload, args, kwargs), (found, *lies) in zip(calls, ours, strict=True):
            want = outcome(of_table(overload), args, kwargs)
            assert found == want, (overload, args, kwargs, found, want)
            if lies:
                made = FUNCTIONS[overload](*with_storages(args), **with_storages(kwargs))
                steps = [None if t is None else t.stride() for t in (made if isinstance(made, (tuple, list)) else [made])]
                found = [None if t is None else t[2] for t in (lies[0] if isinstance(lies[0], list) else lies)]
                assert found == steps, (overload, args, kwargs, found, steps)
    return taken


def tensor(dtype, *shape, seed=1, special=False):
    made = values(dtype, int(torch.Size(shape).numel()), seed)
    return (made if special else made.nan_to_num(1, 2, -3)).view(shape)


def gaps(t):
    """The same numbers in a tensor whose last axis has gaps, or whose axes are turned."""
    wide = t.new_zeros((*t.shape[:-1], 2 * t.shape[-1] + 1))
    wide[..., 1::2] = t
    return wide[..., 1::2]


def turned(t):
    return t.transpose(0, -1).contiguous().transpose(0, -1)


def checked(calls, general):
    """Each of the calls, which say whether they are prepared; None where that depends on the numbers."""
    several = list(calls)
    wanted = [quick for quick, *_ in several]
    taken = check_alike([(overload, *(rest if len(rest) == 2 else (*rest, {}))) for _, overload, *rest in several], general)
    for (quick, *call), was in zip(several, taken, strict=True):
        assert quick in (None, was), call
    assert any(taken) == any(quick is not False for quick in wanted)
