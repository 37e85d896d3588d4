"""Sums over the devices of a mesh, inside of shard_map."""

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from ._rows import mean, sum
from ._types import FORMATS, check

# Up to so many elements each device gets those of all devices, and adds them itself.
_SMALL = 4096


def _names(axis_name: Any) -> tuple[Any, ...]:
    return tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)


def _of_a_mesh(names: tuple[Any, ...]) -> None:
    mesh = jax.sharding.get_abstract_mesh().manual_axes
    for name in names:
        lax.axis_size(name)  # NameError where there is no such axis
        if name not in mesh:
            raise ValueError(
                f"axis_name: {name!r} is an axis of jax.vmap, not one of a mesh inside of jax.shard_map;"
                " repmath.jax.sum and mean take axes of arrays"
            )


def _over(reduce: Callable[..., Any], x: Any, names: tuple[Any, ...]) -> Any:
    devices = math.prod(lax.axis_size(name) for name in names)
    flat = x.reshape(-1)
    if flat.size <= _SMALL or devices == 1:
        return reduce(lax.all_gather(flat, names, to="invarying"), axis=0).reshape(x.shape)
    share = -(-flat.size // devices)
    rows = jnp.pad(flat, (0, share * devices - flat.size)).reshape(devices, share)
    mine = reduce(lax.all_to_all(rows, names, 0, 0), axis=0)
    return lax.all_gather(mine, names, tiled=True, to="invarying")[: flat.size].reshape(x.shape)


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def _total(x: Any, names: tuple[Any, ...]) -> Any:
    return _over(sum, x, names)


_total.defvjp(
    lambda x, names: (_over(sum, x, names), None),
    lambda names, _, g: (lax.pcast(g, names, to="varying"),),
)


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def _average(x: Any, names: tuple[Any, ...]) -> Any:
    return _over(mean, x, names)


def _average_backward(names: tuple[Any, ...], _: Any, g: Any) -> Any:
    from ._primitive import bind
    from ._rows import quotient_p

    devices = math.prod(lax.axis_size(name) for name in names)
    return (lax.pcast(bind(quotient_p, g.reshape(-1), divisor=devices).reshape(g.shape), names, to="varying"),)


_average.defvjp(lambda x, names: (_over(mean, x, names), None), _average_backward)


def _each(function: Callable[..., Any], x: Any, axis_name: Any, integers: Callable[..., Any]) -> Any:
    names = _names(axis_name)

    def one(a: Any) -> Any:
        a = jnp.asarray(a)
        check("x", a.dtype)
        if a.dtype not in FORMATS:
            return integers(a, names)
        _of_a_mesh(names)
        missing = tuple(n for n in names if n not in jax.typeof(a).mat.varying)
        return function(lax.pcast(a, missing, to="varying") if missing else a, names)

    return jax.tree.map(one, x)


def psum(x: Any, axis_name: Any) -> Any:
    """The sum over the devices of a mesh's axis, inside of shard_map: the exact sum, rounded once; jax.lax.psum's arguments.

    The order of the devices and the network's algorithm have no say. Each device adds its share
    of the elements of all devices. The gradient is that of the sum, for each device.

    Parameters
    ----------
    x : array_like, or a pytree of them
        Of float16, bfloat16, float32 or float64; integers and bool as by jax.lax.psum.
    axis_name : name, or a tuple of names
        Axes of the mesh.

    Returns
    -------
    jax.Array, or a pytree of them
        The same on all these devices.

    Raises
    ------
    TypeError
        A dtype is not supported.
    NameError
        There is no such axis, as jax.lax says it.
    ValueError
        The axis is one of `jax.vmap`.
    """
    return _each(_total, x, axis_name, lax.psum)


def pmean(x: Any, axis_name: Any) -> Any:
    """The mean over the devices of a mesh's axis, inside of shard_map: RN((exact sum)/number), as `psum`. The gradient is RN(g/number)."""
    return _each(_average, x, axis_name, lax.pmean)
