"""Calls of the operators of the table with tensors and numbers of several formats, made of PyTorch's samples and of the schemas."""

import contextlib
import functools
import itertools

import opinfo_cases as cases
import opinfo_names as names
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from repmath.torch._aten.table import OPERATORS

DIGITS = {torch.float16: 11, torch.bfloat16: 8, torch.float32: 24}
SLOW = ("nn.functional.max_unpool", "grid_sampler_3d")  # their samples take seconds


class _Recorder(TorchDispatchMode):
    """The first call of each operator of the table."""

    def __init__(self):
        super().__init__()
        self.found = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in OPERATORS and func not in self.found:
            self.found[func] = copied(args), copied(kwargs)
        return func(*args, **kwargs)


def copied(value):
    """With tensors of their own, which are dense."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone(memory_format=torch.contiguous_format)
    if isinstance(value, (list, tuple)):
        return type(value)(copied(v) for v in value)
    if isinstance(value, dict):
        return {k: copied(v) for k, v in value.items()}
    return value


def _synthetic(overload):
    """Arguments of an operator of tensors and numbers alone; None of another one."""
    args = []
    for a in overload._schema.arguments:
        if a.kwarg_only or a.is_out:
            break
        kind = str(a.type)
        if a.has_default_value() and kind not in ("Tensor", "number"):
            break
        make = {
            "Tensor": lambda: torch.rand(2, 3) + 0.25,
            "List[Tensor]": lambda: [torch.rand(2, 3) + 0.25, torch.rand(4) + 0.25],
            "number": lambda: 0.75,
            "float": lambda: 0.75,
            "List[number]": lambda: [0.75, 0.3],
        }.get(kind)
        if make is None:
            return None
        args.append(make())
    return tuple(args), {}


def _works(overload, args, kwargs):
    try:
        overload(*copied(args), **copied(kwargs))
    except (RuntimeError, TypeError, ValueError, IndexError):
        return False
    return True


def _derived(overload, found):
    """The arguments of the form that returns what this one writes, or synthetic ones."""
    schema = [(a.name, str(a.type)) for a in overload._schema.arguments if not a.is_out]
    base = overload.overloadpacket.__name__
    for other, (args, kwargs) in list(found.items()):
        same = other.overloadpacket.__name__.rstrip("_") == base.rstrip("_")
        if same and [(a.name, str(a.type)) for a in other._schema.arguments if not a.is_out] == schema:
            kwargs = {k: v for k, v in kwargs.items() if k != "out"}
            yield args, kwargs
    made = _synthetic(overload)
    if made is not None:
        yield made
        if made[0] and isinstance(made[0][-1], torch.Tensor):  # numbers as tensors
            yield (*made[0][:-1], torch.tensor(0.3)), {}


def _further():
    """Calls that neither a sample nor a schema gives."""
    index = torch.tensor([2, 0, 1])
    reduced = {"reduce": "add"}
    return {
        "masked_fill.Tensor": ((torch.rand(5), torch.rand(5) > 0.5, torch.tensor(0.3)), {}),
        "masked_fill_.Tensor": ((torch.rand(5), torch.rand(5) > 0.5, torch.tensor(0.3)), {}),
        "scatter.reduce": ((torch.rand(4), 0, index, torch.rand(3)), reduced),
        "scatter_.reduce": ((torch.rand(4), 0, index, torch.rand(3)), reduced),
        "scatter.value_reduce": ((torch.rand(4), 0, index, 0.3), reduced),
        "scatter_.value_reduce": ((torch.rand(4), 0, index, 0.3), reduced),
        "embedding_renorm_.default": ((torch.rand(4, 3), index, 0.5, 2.0), {}),
        "div.Scalar_mode": ((torch.rand(4), 0.3), {"rounding_mode": "floor"}),
        "div_.Scalar_mode": ((torch.rand(4), 0.3), {"rounding_mode": "floor"}),
        "prod.dim_int": ((torch.rand(4, 3), 0), {}),
        "_index_put_impl_.default": ((torch.rand(4), [index], torch.rand(3)), {}),
        "_unsafe_index_put.default": ((torch.rand(4), [index], torch.rand(3)), {}),
    }


@functools.cache
def calls():
    """Overload -> arguments of a call that plain PyTorch takes, in float32."""
    torch.manual_seed(1)
    recorder = _Recorder()
    for name, op in cases.DATABASE.items():
        if name in names.OUTSIDE or name in names.WITHOUT_SAMPLES or name.startswith(SLOW):
            continue
        original, cases.Recorder = cases.Recorder, lambda: _Calls(recorder)
        try:
            cases.reached(op, 1)
        finally:
            cases.Recorder = original
    found = recorder.found
    for name, call in _further().items():
        packet, _, overload = name.partition(".")
        found.setdefault(getattr(getattr(torch.ops.aten, packet), overload), call)
    for overload in OPERATORS:
        if overload in found:
            continue
        for args, kwargs in _derived(overload, found):
            out = [a.name for a in overload._schema.arguments if a.is_out]
            if out:
                with contextlib.suppress(RuntimeError, TypeError, ValueError, IndexError):
                    made = getattr(overload.overloadpacket, _functional(overload))(*copied(args), **copied(kwargs))
                    if isinstance(made, torch.Tensor):
                        kwargs = {**kwargs, out[0]: torch.empty_like(made)}
            if _works(overload, args, kwargs):
                found[overload] = args, kwargs
                break
    return found


def _functional(overload):
    """The name of the form without `out`."""
    wanted = [(a.name, str(a.type)) for a in overload._schema.arguments if not a.is_out]
    for name in overload.overloadpacket.overloads():
        other = getattr(overload.overloadpacket, name)
        if other is not overload and [(a.name, str(a.type)) for a in other._schema.arguments] == wanted:
            return name
    raise ValueError(f"{overload} has no such form")


class _Calls:
    """The recorder as the mode that opinfo_cases makes for each operator."""

    def __init__(self, recorder):
        self.recorder, self.calls = recorder, []

    def __enter__(self):
        self.recorder.__enter__()
        return self

    def __exit__(self, *exception):
        return self.recorder.__exit__(*exception)


def beside_midpoints(t, dtype):
    """Numbers of binary64 near those of a tensor, a little beside a midpoint of two numbers of the format, on the side that ties to even
    do not take: rounded to binary32 first they become ties of 16 bits."""
    digits = DIGITS[dtype]
    fraction, exponent = torch.frexp(t.double())
    m = torch.round(fraction * 2.0**digits)
    side = torch.where(m.remainder(2) == 0, 1.0, -1.0)
    near = torch.ldexp((m + 0.5 + side * 2.0 ** -(28 - digits if digits < 24 else 8)) * 2.0**-digits, exponent)
    return torch.where(t == 0, t.double(), near)


def _whole(t, dtype=torch.float16):
    """Integers with more digits than 16-bit formats have, and beyond their ties; beside bfloat16 more than binary32 has."""
    if dtype is torch.float16:
        return (t.double() * 8).round().to(torch.int64) * 4096 + 2049
    m = (t.double() * 64).round().to(torch.int64)
    return (2 * m + 1) * 2**22 + torch.where(m % 2 == 0, 1, -1)


def places(args, kwargs):
    """Where floating-point tensors and floats are: paths of indices and names."""
    found = []

    def look(value, path):
        if (isinstance(value, torch.Tensor) and value.is_floating_point()) or isinstance(value, float):
            found.append(path)
        elif isinstance(value, (list, tuple)):
            for i, v in enumerate(value):
                look(v, (*path, i))

    for i, v in enumerate(args):
        look(v, (i,))
    for k, v in kwargs.items():
        look(v, (k,))
    return found


def replaced(value, path, change):
    """The arguments with what is at a place changed."""
    head, *rest = path
    if isinstance(value, dict):
        return {k: (replaced(v, rest, change) if rest else change(v)) if k == head else v for k, v in value.items()}
    return type(value)((replaced(v, rest, change) if rest else change(v)) if i == head else v for i, v in enumerate(value))


def _changed(args, kwargs, path, change):
    if isinstance(path[0], str):
        return args, replaced(kwargs, path, change)
    return replaced(args, path, change), kwargs


def variants(overload, args, kwargs):
    """What is mixed, and the arguments: a tensor of another format, of integers or without axes, a number that the format lacks."""
    for dtype in DIGITS:
        plain = cases.to(args, dtype), cases.to(kwargs, dtype)
        for path in places(args, kwargs):
            value = functools.reduce(lambda v, at: v[at], path, {**dict(enumerate(args)), **kwargs})
            if isinstance(value, float):
                near = float(beside_midpoints(torch.tensor(value), dtype))
                yield f"{dtype}, number {path}", *_changed(*plain, path, lambda v, near=near: near)
                continue
            ways = {
                "float64": lambda v, dtype=dtype: beside_midpoints(v, dtype),
                "int64": lambda v, dtype=dtype: _whole(v, dtype),
                "no axes": lambda v, dtype=dtype: beside_midpoints(v.reshape(-1)[:1].sum(), dtype),
            }
            for way, change in ways.items():
                if way == "no axes" and (not value.numel() or path[0] == "out"):
                    continue
                yield f"{dtype}, {way} {path}", *_changed(*plain, path, change)
        wide = tuple(cases.to(v, torch.float64) for v in (args, kwargs))
        spoilt = _every(wide[0], dtype), _every(wide[1], dtype)
        yield f"{dtype} of float64", *spoilt
        if isinstance(kwargs.get("out"), torch.Tensor) and kwargs["out"].is_floating_point():
            yield f"{dtype}, out", spoilt[0], {**spoilt[1], "out": spoilt[1]["out"].to(dtype)}
        if overload.overloadpacket.__name__.endswith("_"):
            paths = [p for p in places(args, kwargs) if p[0] == 0]
            into = spoilt[0]
            for path in paths:
                into = replaced(into, path, lambda t, dtype=dtype: t.to(dtype))
            yield f"{dtype}, in place", into, spoilt[1]
        if any(a.name == "dtype" for a in overload._schema.arguments):
            yield f"{dtype}, dtype of float64", spoilt[0], {**spoilt[1], "dtype": dtype}
            whole = tuple(_every(v, dtype, lambda t, dtype=dtype: _whole(t, dtype)) for v in wide)
            yield f"{dtype}, dtype of int64", whole[0], {**whole[1], "dtype": dtype}
    yield "int64", _every(args, None, _whole), _every(kwargs, None, _whole)


def _every(value, dtype, change=None):
    """All floating-point tensors changed."""
    change = change or (lambda t: beside_midpoints(t, dtype))
    if isinstance(value, torch.Tensor):
        return change(value) if value.is_floating_point() else value
    if isinstance(value, (list, tuple)):
        return type(value)(_every(v, dtype, change) for v in value)
    if isinstance(value, dict):
        return {k: _every(v, dtype, change) for k, v in value.items()}
    return value


def widened(value, like):
    """The same arguments in binary64: with tensors of integers where the sample has floats."""
    if isinstance(value, torch.dtype):
        return torch.float64
    if isinstance(value, torch.Tensor):
        floats = value.is_floating_point() or (isinstance(like, torch.Tensor) and like.is_floating_point())
        return value.double() if floats else value
    if isinstance(value, (list, tuple)):
        return type(value)(widened(v, w) for v, w in zip(value, like, strict=True))
    if isinstance(value, dict):
        return {k: widened(v, like.get(k)) for k, v in value.items()}
    return value


def results(overload, args, kwargs, mode=contextlib.nullcontext):
    """The floating-point and other tensors that a call returns or writes; or the error."""
    args, kwargs = copied(args), copied(kwargs)
    try:
        with mode():
            made = overload(*args, **kwargs)
    except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError, AttributeError, KeyError) as error:
        return error
    return cases.tensors(args[:1]) if made is None else cases.tensors([made])


def pairs(a, b):
    return itertools.zip_longest(a, b)
