"""Dtypes: jax.numpy's promotion, to one of the formats that operators round to."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

FORMATS = tuple(np.dtype(t) for t in (jnp.float16, jnp.bfloat16, jnp.float32, jnp.float64))


def check(name: str, dtype: Any) -> None:
    """Raise a TypeError that names the argument unless its dtype is a supported format or an integer."""
    if np.dtype(dtype) not in FORMATS and np.dtype(dtype).kind not in "biu":
        raise TypeError(f"{name} has dtype {dtype}; it must be float16, bfloat16, float32, float64, an integer type or bool")


def together(**arrays: Any) -> list[Any]:
    """The arrays in their common format: jax.numpy's promotion, integers alone to its default floating point type. None stays."""
    given = {name: a for name, a in arrays.items() if a is not None}
    first, *others = given.values()
    if isinstance(first, jax.Array) and first.dtype in FORMATS and not first.weak_type:  # the usual call
        if all(isinstance(a, jax.Array) and a.dtype == first.dtype and not a.weak_type for a in others):
            return list(arrays.values())
    for name, a in given.items():
        check(name, jnp.result_type(a))
    common = jnp.result_type(*given.values())
    if np.dtype(common) not in FORMATS:
        common = jnp.result_type(*given.values(), 1.0)
    return [None if a is None else jnp.asarray(a, common) for a in arrays.values()]


def integers(name: str, array: Any) -> Any:
    """The array, which must have integers, as int32 or int64."""
    a = jnp.asarray(array)
    if a.dtype.kind not in "iu":
        raise TypeError(f"{name} has dtype {a.dtype}; it must have integers")
    wanted = np.int64 if a.dtype.itemsize == 8 or a.dtype == np.uint32 else np.int32
    return a.astype(jnp.result_type(wanted))
