"""Operators that PyTorch's dispatcher knows, of the namespace `repmath`.

An operator is a schema, a kernel over CPU tensors, the shape of its result, and rules: for the gradient, for a tangent (forward mode),
for a batch (vmap). Rules are written in operators that have rules themselves, so that gradients have gradients. What has no rule
raises: nothing is silently zero.

Rules name what they need by their parameters: arguments of the schema, `output` (`output1`, ... of several), `shapes` and `needs` (of the
tensor arguments, in order). Tensors that a gradient's rule does not name are not kept for the backward pass.
"""

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import _C
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import forward_ad
from torch.autograd.function import _SingleLevelFunction

from ... import _core
from .._tensors import FORMATS

_LIBRARY = torch.library.Library("repmath", "DEF")
_BELOW_AUTOGRAD = _C._after_autograd_keyset
# The keys below autograd of a plain CPU tensor when no mode is on: then the kernel may be called without the dispatcher.
_PLAIN = (_C._dispatch_keys(torch.empty(0)) & _BELOW_AUTOGRAD).raw_repr() & ~_C.DispatchKeySet(
    _C.DispatchKey.ADInplaceOrView
).raw_repr()

_Rule = Callable[..., Any]

# overload -> its kernel
KERNELS: dict[Any, _Rule] = {}


def check_formats(names: tuple[str, ...], tensors: tuple[torch.Tensor | None, ...]) -> None:
    """Raise TypeError, naming the argument, unless all have one of the four formats, the same."""
    first = None
    for name, t in zip(names, tensors, strict=True):
        if t is None:
            continue
        if t.dtype not in FORMATS:
            raise TypeError(f"{name} has dtype {t.dtype}; it must be float16, bfloat16, float32 or float64")
        if first is not None and t.dtype != first[1]:
            raise TypeError(f"{name} has dtype {t.dtype}, {first[0]} has {first[1]}; they must be equal")
        first = first or (name, t.dtype)


def _parameters(rule: _Rule) -> tuple[str, ...]:
    """What a rule names, after its first parameter."""
    return tuple(inspect.signature(rule).parameters)[1:]


def _no_derivative(what: str, name: str) -> NotImplementedError:
    return NotImplementedError(f"repmath::{name} has no {what}; see docs/torch.md#which-derivatives-are-there")


class Operator:
    """An operator; a call goes through the dispatcher.

    Parameters
    ----------
    schema : str
        As torch.library takes it, without defaults.
    kernel : callable
        Of the arguments, on the CPU.
    fake : callable
        Of the arguments: new tensors of the results' shape and dtype, whose contents do not matter. It checks the arguments.
    gradient : callable, optional
        ``gradient(g, ...)``, g the gradient of the first result: the gradients of the tensor arguments, in order. Other results have
        none.
    tangent : callable, optional
        ``tangent(ts, ...)``, ts the tangents of the tensor arguments, in order, or None: the tangent of the first result.
    batch : callable, optional
        Of the operator: what torch.library.register_vmap takes. Otherwise it runs once for each element of the batch.
    """

    def __init__(
        self,
        schema: str,
        kernel: _Rule,
        fake: _Rule,
        gradient: _Rule | None = None,
        tangent: _Rule | None = None,
        batch: Callable[["Operator"], _Rule] | None = None,
    ) -> None:
        self.name = schema.split("(")[0]
        self.kernel = kernel
        _LIBRARY.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
        self.overload = getattr(torch.ops.repmath, self.name).default
        KERNELS[self.overload] = kernel
        _core.prepare_call(self.overload, _core.Passed())
        arguments = self.overload._schema.arguments
        self.arguments = tuple(a.name for a in arguments)
        self.tensors = tuple(i for i, a in enumerate(arguments) if "Tensor" in str(a.type))
        self.several = len(self.overload._schema.returns) > 1
        self.gradient: _Rule | None = None
        self.gradient_names: tuple[str, ...] = ()
        self.tangent: _Rule | None = None
        self.tangent_names: tuple[str, ...] = ()
        if gradient is not None:
            self.set_gradient(gradient, _parameters(gradient))
        if tangent is not None:
            self.set_tangent(tangent, _parameters(tangent))
        self.node: Any = type(
            f"Repmath{''.join(part.capitalize() for part in self.name.split('_'))}", (_Node,), {"operator": self}
        )
        _LIBRARY.impl(self.name, kernel, "CPU")
        torch.library.register_fake(f"repmath::{self.name}", fake, lib=_LIBRARY)
        _LIBRARY.impl(self.name, self._autograd, "Autograd", with_keyset=True)
        torch.library.register_vmap(f"repmath::{self.name}", batch(self) if batch else self._one_by_one, lib=_LIBRARY)

    def set_gradient(self, rule: _Rule, names: tuple[str, ...]) -> None:
        """The rule for gradients, and what it is called with after g."""
        self.gradient, self.gradient_names = rule, names

    def set_tangent(self, rule: _Rule, names: tuple[str, ...]) -> None:
        """The rule for tangents, and what it is called with after ts."""
        self.tangent, self.tangent_names = rule, names

    def __call__(self, *args: Any) -> Any:
        return self.overload(*args)

    def _autograd(self, keyset: Any, *args: Any) -> Any:
        forward = (
            forward_ad._current_level >= 0
            and _C._is_fwd_grad_enabled()
            and any(args[i] is not None and forward_ad.unpack_dual(args[i]).tangent is not None for i in self.tensors)
        )
        if forward and self.tangent is None:
            raise _no_derivative("tangent (forward mode)", self.name)
        if forward or (torch.is_grad_enabled() and _C._any_requires_grad(*args)):
            if _C._are_functorch_transforms_active():
                with enable_single_level_autograd_function():
                    return self.node.apply((keyset, forward), *args)
            return self.node.apply((keyset, forward), *args)
        return self._below(keyset, args)

    def _below(self, keyset: Any, args: tuple[Any, ...]) -> Any:
        rest = keyset & _BELOW_AUTOGRAD
        if rest.raw_repr() == _PLAIN:
            return self.kernel(*args)
        with _C._AutoDispatchBelowAutograd():
            return self.overload.redispatch(rest, *args)

    def _named(self, names: tuple[str, ...], args: Any, results: tuple[Any, ...]) -> list[Any]:
        """What the parameters of a rule stand for; `shapes` and `needs` apart."""
        found = []
        for name in names:
            if name in self.arguments:
                found.append(args[self.arguments.index(name)])
            else:
                found.append(results[int(name.removeprefix("output") or 0)])
        return found

    def _one_by_one(self, info: Any, in_dims: tuple[Any, ...], *args: Any) -> tuple[Any, Any]:
        """vmap: a call for each element of the batch."""
        if info.batch_size == 0:
            raise ValueError(f"repmath::{self.name} does not run under vmap over an axis without elements")
        results = [
            self.overload(*(a.select(d, i) if isinstance(d, int) else a for a, d in zip(args, in_dims, strict=True)))
            for i in range(info.batch_size)
        ]
        if self.several:
            return tuple(torch.stack(r) for r in zip(*results, strict=True)), (0,) * len(results[0])
        return torch.stack(results), 0


class _Node(_SingleLevelFunction):
    """The operator in the graph of the backward pass."""

    operator: Operator

    @classmethod
    def _keep(cls, ctx: Any, args: tuple[Any, ...], results: tuple[Any, ...]) -> None:
        op, kept = cls.operator, []
        ctx.rest = {}
        for name in op.gradient_names:
            if name == "shapes":
                ctx.rest[name] = tuple(None if args[i] is None else args[i].shape for i in op.tensors)
            elif name != "needs":
                (value,) = op._named((name,), args, results)
                if isinstance(value, torch.Tensor):
                    kept.append(value)
                else:
                    ctx.rest[name] = value
        ctx.save_for_backward(*kept)

    @classmethod
    def forward(cls, ctx: Any, mode: Any, *args: Any) -> Any:  # type: ignore[override,unused-ignore]
        op, (keyset, forward) = cls.operator, mode
        if _C._are_functorch_transforms_active():
            # The levels below follow gradients and tangents too.
            with torch.enable_grad(), forward_ad._set_fwd_grad_enabled(True):
                result = op._below(keyset, args)
        else:
            result = op._below(keyset, args)
        results = result if op.several else (result,)
        ctx.set_materialize_grads(False)
        if op.gradient is not None:
            cls._keep(ctx, args, results)
        if op.several:  # without a rule all stay in the graph: whoever wants a gradient through any of them is told
            ctx.mark_non_differentiable(*(r for r in results[1:] if op.gradient is not None or not r.is_floating_point()))
        if forward:
            ctx.call = args, results
        return result

    @classmethod
    def jvp(cls, ctx: Any, mode: Any, *tangents: Any) -> Any:  # type: ignore[override,unused-ignore]
        op = cls.operator
        assert op.tangent is not None
        args, results = ctx.call
        del ctx.call
        primals = list(args)
        for i in op.tensors:
            if args[i] is not None:
                primals[i] = forward_ad.unpack_dual(args[i]).primal
        with forward_ad._set_fwd_grad_enabled(True):  # tangents of outer levels
            tangent = op.tangent([tangents[i] for i in op.tensors], *op._named(op.tangent_names, primals, results))
        return (tangent, *(None for _ in results[1:])) if op.several else tangent

    @classmethod
    def backward(cls, ctx: Any, *grads: Any) -> Any:  # type: ignore[override,unused-ignore]
        op = cls.operator
        if op.gradient is None:
            raise _no_derivative("derivative", op.name)
        result: list[Any] = [None] * (len(op.arguments) + 1)
        if grads[0] is None:
            return tuple(result)
        kept, values = iter(ctx.saved_tensors), []
        needs = tuple(ctx.needs_input_grad[i + 1] for i in op.tensors)
        for name in op.gradient_names:
            if name == "needs":
                values.append(needs)
            else:
                values.append(ctx.rest[name] if name in ctx.rest else next(kept))
        found = op.gradient(grads[0], *values)
        for i, need, g in zip(op.tensors, needs, found, strict=True):
            if need:
                result[i + 1] = g
        return tuple(result)


def no_gradient(name: str, argument: str) -> NotImplementedError:
    """The error for an argument that has no gradient."""
    return NotImplementedError(f"repmath::{name} has no gradient with respect to {argument}; pass {argument}.detach()")


def folded(op: Operator) -> _Rule:
    """vmap of an operator over samples, of one tensor: the batch's axis and that of the samples are one."""

    def rule(info: Any, in_dims: tuple[Any, ...], input: torch.Tensor, *rest: Any) -> tuple[Any, Any]:
        moved = input.movedim(in_dims[0], 0)
        results = op(moved.flatten(0, 1), *rest)
        if op.several:
            return tuple(r.unflatten(0, moved.shape[:2]) for r in results), (0,) * len(results)
        return results.unflatten(0, moved.shape[:2]), 0

    return rule
