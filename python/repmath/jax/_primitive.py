"""How a handler becomes a primitive of JAX.

Every primitive takes arrays with any number of leading axes before those that it works on, equal for all of its arguments: they are a
stack of independent problems. `vmap` adds one such axis.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.xla_metadata import set_xla_metadata
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jax.sharding import PartitionSpec

from .. import _scope
from . import (
    _library,  # noqa: F401  registers the handlers
    _meshes,
)

Rule = Callable[..., Any]

# Scopes of random rounding are refused where a primitive is traced or evaluated. A function that JAX has compiled before does neither, unless what it
# is traced with differs: metadata that no one reads.
_scope.BESIDE.append(lambda: set_xla_metadata(repmath_scope="1"))


def _attribute(value: Any) -> Any:
    """A parameter as the attribute that a handler reads: 64-bit integers, binary64 numbers, or an array of integers."""
    if isinstance(value, float):
        return np.float64(value)
    if isinstance(value, tuple):
        return np.array(value, np.int64)
    return np.int64(value)


def by_handler(target: str, attributes: Callable[..., dict[str, Any]] = lambda **params: params) -> Rule:
    """Lower to a call of a handler of librepmath_xla."""
    call = jax.ffi.ffi_lowering(f"rm_xla_{target}")

    def lower(ctx: Any, *operands: Any, **params: Any) -> Any:
        given = {name: _attribute(value) for name, value in attributes(**params).items()}
        return call(ctx, *operands, **given)

    return lower


def by_function(function: Rule, multiple: bool = False) -> Rule:
    """Lower to what a function of JAX arrays does."""
    return mlir.lower_fun(function, multiple_results=multiple)  # type: ignore[no-any-return]


def _same_axes(*operands: Any) -> list[Any]:
    """Inside shard_map, all operands varying along the mesh axes along which one of them varies."""
    if len(operands) == 1 or not any(isinstance(x, jax.core.Tracer) for x in operands):
        return list(operands)
    varying = [jax.typeof(x).mat.varying for x in operands]
    union = frozenset().union(*varying)
    return [
        jax.lax.pcast(x, tuple(union - own), to="varying") if union - own else x
        for x, own in zip(operands, varying, strict=True)
    ]


def _like(aval: Any, shape: Sequence[int], dtype: Any) -> Any:
    """An abstract array on the mesh of another one, varying with it along the axes of shard_map; not sharded otherwise."""
    sharding = aval.sharding.update(spec=PartitionSpec(*[None] * len(shape)))
    return aval.update(shape=tuple(shape), dtype=np.dtype(dtype), weak_type=False, sharding=sharding)


def expand(x: Any, shape: Sequence[int]) -> Any:
    """x broadcast to a shape. Its gradient is an exact sum."""
    shape = tuple(shape)
    return x if x.shape == shape else bind(expand_p, x, shape=shape)


def stacked(p: Primitive, multiple: bool) -> Rule:
    """The batching rule of a primitive that takes stacks: operands without the axis are repeated."""

    def rule(args: Sequence[Any], axes: Sequence[int | None], **params: Any) -> Any:
        size = next(x.shape[d] for x, d in zip(args, axes, strict=True) if d is not None)
        moved = [expand(x, (size, *x.shape)) if d is None else jnp.moveaxis(x, d, 0) for x, d in zip(args, axes, strict=True)]
        out = bind(p, *moved, **params)
        return (out, [0] * len(out)) if multiple else (out, 0)

    return rule


def define(
    name: str,
    shapes: Callable[..., Any],
    lower: Rule,
    *,
    jvp: Rule | None = None,
    transpose: Rule | None = None,
    batch: Rule | None = None,
    multiple: bool = False,
    axes: "_meshes.Rule | None" = None,
    of_part: Callable[..., dict[str, Any]] | None = None,
) -> Primitive:
    """A primitive. `shapes` computes the result's shape and dtype, or a list for several results, from the abstract operands.

    `axes` names the last axes of operands and results, for meshes of several devices; without it, operands are gathered there. `of_part`
    computes the parameters for a device's parts of the operands from these and those for the whole, where they have sizes of divided axes.
    """
    p = Primitive(f"repmath_{name}")
    p.multiple_results = multiple

    def abstract(*avals: Any, **params: Any) -> Any:
        _scope.refuse(f"repmath.jax: {name}")
        result = shapes(*avals, **params)
        return [_like(avals[0], *r) for r in result] if multiple else _like(avals[0], *result)

    @functools.cache
    def compiled(params: tuple[tuple[str, Any], ...]) -> Any:
        return jax.jit(lambda *args: p.bind(*args, **dict(params)))

    def evaluate(*args: Any, **params: Any) -> Any:
        _scope.refuse(f"repmath.jax: {name}")
        if jax.config.jax_disable_jit:  # under which jax.jit would call the primitive again
            with jax.disable_jit(False):
                return compiled(tuple(params.items()))(*args)
        return compiled(tuple(params.items()))(*args)

    p.def_abstract_eval(abstract)
    p.def_impl(evaluate)
    _meshes.needs_devices(p)
    if axes is not None:

        def plain(*args: Any, **params: Any) -> Any:
            return p.bind(*args, **(params if of_part is None else of_part(*args, **params)))

        lower = _meshes.divided(name, plain, lower, axes, multiple)
    mlir.register_lowering(p, lower, platform="cpu")
    batching.primitive_batchers[p] = batch or stacked(p, multiple)

    def refuse(*args: Any, **params: Any) -> Any:
        raise NotImplementedError(f"repmath.jax: {name} has no derivative; see docs/jax.md#which-gradients-are-rounded-once")

    ad.primitive_jvps[p] = jvp or refuse
    if transpose is not None:
        ad.primitive_transposes[p] = transpose
    return p


def bind(p: Primitive, /, *operands: Any, **params: Any) -> Any:
    return p.bind(*_same_axes(*operands), **params)


def zero_of(value: Any) -> Any:
    """The tangent zero of a value."""
    return ad.Zero(jax.typeof(value).to_tangent_aval())


def is_zero(tangent: Any) -> bool:
    return isinstance(tangent, ad.Zero)


def is_linear(x: Any) -> bool:
    """Whether an operand of a transposition is the one whose cotangent is wanted."""
    return bool(ad.is_undefined_primal(x))


# Broadcasting. Its transposition is an exact sum, which `_rows` registers.


def _expand_jvp(primals: Any, tangents: Any, *, shape: tuple[int, ...]) -> Any:
    (x,), (t,) = primals, tangents
    y = expand(x, shape)
    return y, zero_of(y) if is_zero(t) else expand(t, shape)


def _expand_batch(args: Any, axes: Any, *, shape: tuple[int, ...]) -> Any:
    x = jnp.moveaxis(args[0], axes[0], 0)
    padded = x.reshape(x.shape[0], *[1] * (len(shape) - x.ndim + 1), *x.shape[1:])
    return expand(padded, (x.shape[0], *shape)), 0


expand_p: Any = define(
    "expand",
    lambda x, *, shape: (shape, x.dtype),
    by_function(lambda x, *, shape: jnp.broadcast_to(x, shape)),
    jvp=_expand_jvp,
    batch=_expand_batch,
)


def size_of(shape: Sequence[int]) -> int:
    return math.prod(shape)
