"""Primitives under jit on a mesh of several devices: each device computes the part of the result that it has.

Without a rule XLA would gather the operands of a handler on every device. A rule names the axes of operands and results: those of a result
may be divided, and divide the operands that have them. An axis that a sum runs along, or that an operator reads as a whole, is not divided:
where it comes divided, devices exchange parts of the operands, along another axis if there is one, and else gather them. Of a product, whose operands
both are exchanged so, each device has a part of either: those of one go round. So every element is computed by one device from all of its terms, and has
the bits of one device.
"""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
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


def _devices(mesh: Any, axes: Sequence[Any]) -> int:
    """How many devices lie along axes of a mesh."""
    return math.prod(mesh.shape[s] for s in axes)


def _instead(
    of: dict[str, Any], ins: Sequence[Sequence[str]], outs: Sequence[Sequence[str]], arguments: Any, results: Any
) -> dict[str, Any]:
    """Axes of results to divide where operands are divided along an axis that a sum runs along, or that is read as a whole: then devices
    exchange parts of them."""
    sizes = {n: size for names, r in zip(outs, results, strict=True) for n, size in zip(names, r.shape, strict=True)}
    taken = {a for s in of.values() for a in _flat(s)}
    found: dict[str, Any] = {}
    for names, a in zip(ins, arguments, strict=True):
        for n, entry in zip(names, getattr(a.sharding, "spec", ()), strict=False):
            if n in sizes and not n.isupper():
                continue
            # All axes of the mesh at once where that is possible: a ring is of all of them, too.
            for s in (_flat(entry), *((one,) for one in _flat(entry))):
                free = [r for r in sizes if not r.isupper() and r not in of and r not in found]
                free = [r for r in free if sizes[r] and sizes[r] % _devices(a.sharding.mesh, s) == 0]
                if s and free and not taken & set(s):
                    found[max(free, key=lambda r: sizes[r])] = s
                    taken |= set(s)
    return found


@dataclass
class _Ring:
    """Parts of some operands go from device to device along axes of the mesh; a device's result has a part for each of them."""

    devices: tuple[Any, ...]  # the axes of the mesh
    axis: str  # of operands and of the result, along which the parts lie
    moving: Sequence[bool]  # which operands

    def run(self, names: Sequence[str], size: int, part: Callable[..., Any], given: Sequence[Any]) -> Any:
        """The result, of axes with these names, for a number of devices."""
        here, along = jax.lax.axis_index(self.devices), names.index(self.axis)
        following = [((i + 1) % size, i) for i in range(size)]
        one = part(*given)
        n = one.shape[along]
        shape = [*one.shape[:along], n * size, *one.shape[along + 1 :]]
        whole = jax.lax.dynamic_update_slice_in_dim(jnp.zeros(shape, one.dtype), one, here * n, along)
        for step in range(1, size):
            given = [
                jax.lax.ppermute(a, self.devices, following) if moves else a
                for a, moves in zip(given, self.moving, strict=True)
            ]
            first = (here + step) % size * n
            whole = jax.lax.dynamic_update_slice_in_dim(whole, part(*given), first, along)
        return whole


def _ring(of: dict[str, Any], ins: Sequence[Sequence[str]], outs: Sequence[Sequence[str]], arguments: Any) -> _Ring | None:
    """What goes round instead of being gathered: operands that are divided along an axis of the mesh, along which the result is divided
    an axis that they do not have, while they have another one."""
    if len(outs) != 1:
        return None
    divided = {n: _flat(s) for n, s in of.items()}
    for names, a in zip(ins, arguments, strict=True):
        here = [divided.get(n) for n in names]
        for s in map(_flat, getattr(a.sharding, "spec", ())):
            if s not in divided.values() or s in here:
                continue
            free = [n for n in names if n in outs[0] and not n.isupper() and n not in of]
            sizes = {n: a.shape[names.index(n)] for n in free}
            for axis in (n for n, size in sizes.items() if size and size % _devices(a.sharding.mesh, s) == 0):
                moving = [axis in other for other in ins]
                if not any(divided.get(n) == s for other, moves in zip(ins, moving, strict=True) if moves for n in other):
                    return _Ring(s, axis, moving)
    return None


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
            ring = _ring(of, ins, outs, arguments)

            def sharding(names: list[str], of: dict[str, Any]) -> Any:
                return NamedSharding(mesh, PartitionSpec(*(of.get(n) if n in reads else None for n in names)))

            def part(*args: Any) -> Any:
                return plain(*args, **given)

            def all_parts(*args: Any) -> Any:
                return part(*args) if ring is None else ring.run(outs[0], _devices(mesh, ring.devices), part, args)

            shardings = [sharding(names, of) for names in outs]
            of_operands = of if ring is None else of | {ring.axis: ring.devices}
            return (
                mesh,
                all_parts,
                shardings if multiple else shardings[0],
                tuple(sharding(names, of_operands) for names in ins),
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
