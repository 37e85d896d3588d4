"""Primitives under jit on a mesh of several devices: each device computes the part of the result that it has.

Without a rule XLA would gather the operands of a handler on every device. A rule names the axes of operands and results: those of a result
may be divided, and divide the operands that have them. An axis that a sum runs along, or that an operator reads as a whole, is not divided:
where it comes divided, devices exchange parts of the operands, along another axis if there is one, and else gather them. So every element is computed by one device from all of its terms, and has the bits of one device.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.experimental.custom_partitioning import custom_partitioning
from jax.interpreters import mlir
from jax.sharding import NamedSharding, PartitionSpec

try:  # a private set of JAX: without it operands are gathered
    from jax._src.dispatch import prim_requires_devices_during_lowering as _NEED_DEVICES
except ImportError:
    _NEED_DEVICES = set()

# The last axes of each operand and of each result, by letters, for a number of operands and the parameters. Those before them are leading axes.
# What a capital letter names is read as a whole.
Rule = Callable[..., tuple[Sequence[str], Sequence[str]]]


def _named(letters: str, ndim: int) -> list[str]:
    return [f"l{i}" for i in range(ndim - len(letters))] + list(letters)


def _axes(rule: Rule, inputs: Sequence[int], outputs: Sequence[int], params: Any) -> tuple[list[list[str]], list[list[str]]]:
    """Names of the axes of operands and results of so many axes."""
    operands, results = rule(len(inputs), **params)
    return (
        [_named(letters, n) for letters, n in zip(operands, inputs, strict=True)],
        [_named(letters, n) for letters, n in zip(results, outputs, strict=True)],
    )


def _several(context: Any) -> bool:
    """Whether XLA divides the arrays of a module among devices."""
    if getattr(context, "manual_axes", None):
        return False  # inside of shard_map
    if hasattr(context, "device_assignment"):
        return context.device_assignment is not None and len(context.device_assignment) > 1
    return hasattr(context, "mesh") and context.mesh.size > 1


def _flat(entry: Any) -> tuple[Any, ...]:
    """The axes of a mesh that an entry of a PartitionSpec names."""
    return () if entry is None else entry if isinstance(entry, tuple) else (entry,)


def _instead(
    of: dict[str, Any], ins: Sequence[Sequence[str]], outs: Sequence[Sequence[str]], arguments: Any, results: Any
) -> dict[str, Any]:
    """Axes of results to divide where operands are divided along an axis that a sum runs along, or that is read as a whole: then devices
    exchange parts of them."""
    sizes = {n: size for names, r in zip(outs, results, strict=True) for n, size in zip(names, r.shape, strict=True)}
    taken = {a for s in of.values() for a in _flat(s)}
    found: dict[str, Any] = {}
    for names, a in zip(ins, arguments, strict=True):
        along = [(n, s) for n, entry in zip(names, getattr(a.sharding, "spec", ()), strict=False) for s in _flat(entry)]
        for n, s in along:
            if (n in sizes and not n.isupper()) or s in taken:
                continue
            free = [r for r in sizes if not r.isupper() and r not in of and r not in found]
            free = [r for r in free if sizes[r] and sizes[r] % a.sharding.mesh.shape[s] == 0]
            if free:
                found[max(free, key=lambda r: sizes[r])] = s
                taken.add(s)
    return found


def needs_devices(primitive: Any) -> None:
    """Let JAX say at the lowering of a primitive, and of those that it is lowered to, which devices there are: custom partitioning asks."""
    _NEED_DEVICES.add(primitive)


def divided(
    name: str, plain: Callable[..., Any], lower: Callable[..., Any], rule: Rule, multiple: bool
) -> Callable[..., Any]:
    """The lowering of a primitive; `plain` binds it."""

    @functools.cache
    def partitioned(params: tuple[tuple[str, Any], ...]) -> Any:
        given = dict(params)

        def partition(mesh: Any, arguments: Any, results: Any) -> Any:
            listed = results if multiple else [results]
            ins, outs = _axes(rule, [len(a.shape) for a in arguments], [len(r.shape) for r in listed], given)
            of: dict[str, Any] = {}
            for names, r in zip(outs, listed, strict=True):
                spec = getattr(r.sharding, "spec", PartitionSpec())
                of |= {n: s for n, s in zip(names, spec, strict=False) if s is not None and not n.isupper()}
            of |= _instead(of, ins, outs, arguments, listed)
            reads = {n for names in outs for n in names if not n.isupper()}

            def sharding(names: list[str]) -> Any:
                return NamedSharding(mesh, PartitionSpec(*(of.get(n) if n in reads else None for n in names)))

            shardings = [sharding(names) for names in outs]
            return (
                mesh,
                lambda *args: plain(*args, **given),
                shardings if multiple else shardings[0],
                tuple(sharding(names) for names in ins),
            )

        def factors(mesh: Any, values: Any, results: Any) -> Any:
            ins, outs = _axes(rule, [v.rank for v in values], [r.rank for r in results], given)
            return f"{', '.join(map(' '.join, ins))} -> {', '.join(map(' '.join, outs))}", {}

        made = custom_partitioning(lambda *args: plain(*args, **given))
        made.def_partition(partition=partition, sharding_rule=factors)
        return made

    def lowering(ctx: Any, *operands: Any, **params: Any) -> Any:
        if not _several(ctx.module_context.axis_context) or not jax.config.jax_use_shardy_partitioner:
            return lower(ctx, *operands, **params)
        function = partitioned(tuple(params.items()))
        return mlir.lower_fun(function, multiple_results=multiple)(ctx, *operands)

    lowering.__name__ = f"lower_{name}"
    return lowering
