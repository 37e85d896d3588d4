"""Random numbers without state: element i of stream s under seed k is a function of (k, s, i), as in `repmath.random`, with its bits.

Seed, stream and offset are Python integers, or integer scalars of a traced program, such as the number of a training step; traced ones
must not be negative. Other parameters are Python numbers, taken exactly; those of `gamma`, `beta`, `dirichlet`, `chisquare`, `poisson` and `binomial` may be
arrays, NumPy's, taken exactly as float64, or JAX's, in their own format. `gamma` has derivatives by its parameters, the other draws have none.
"""

import math
import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.interpreters import ad

from .. import _distributions as _rules
from .. import _random_arguments as _checks
from .. import random as _numpy
from ._draws import draw, shape_of
from ._primitive import bind, by_handler, define, is_zero, size_of, zero_of
from ._types import FORMATS, together

_WORDS32, _UNIFORM, _NORMAL, _TRUNCATED_NORMAL, _BERNOULLI, _INTEGERS, _PERMUTATION = range(7)


def _halves(value: Any) -> Any:
    """An integer of 64 bits as two of 32, the low ones first."""
    if isinstance(value, int):
        return jnp.asarray(np.array([value & 0xFFFFFFFF, value >> 32 & 0xFFFFFFFF], np.uint32))
    if value.dtype.itemsize == 8:
        low, high = value & 0xFFFFFFFF, value >> 32
    else:
        wide = value if value.dtype == np.uint32 else value.astype(jnp.int32)
        low, high = wide, jnp.zeros_like(wide) if wide.dtype == np.uint32 else wide >> 31
    return jnp.stack([low.astype(jnp.uint32), high.astype(jnp.uint32)])


def _known(name: str, value: Any) -> Any:
    """A Python integer where the value is known, else a traced integer scalar."""
    if isinstance(value, jax.core.Tracer):
        if value.ndim or value.dtype.kind not in "iu":
            raise TypeError(f"{name} must be an integer, not an array of shape {value.shape} and dtype {value.dtype}")
        return value
    if isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, not bool")
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}") from None


def place(seed: Any, stream: Any, offset: Any, n: int) -> Any:
    """What handlers read: seed, stream and first element. The known ones are checked as `repmath.random` does."""
    given = [_known(*pair) for pair in (("seed", seed), ("stream", stream), ("offset", offset))]
    known = [0 if isinstance(v, jax.core.Tracer) else v for v in given]
    _checks._place(known[0], known[1], known[2], n)
    return jnp.stack([_halves(v) for v in given])


def _result(at: Any, *, kind: int, shape: tuple[int, ...], dtype: Any, **_: Any) -> Any:
    return (*at.shape[:-2], *shape), dtype


def _attributes(kind: int, shape: Any, dtype: Any, **params: Any) -> dict[str, Any]:
    defaults = {"a": 0.0, "b": 0.0, "least": 0.0, "most": 0.0, "low": 0, "last": 0}
    return {"kind": kind} | defaults | params


def _random_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    y = bind(random_p, *primals, **params)
    return y, zero_of(y)


random_p: Any = define("random", _result, by_handler("random", _attributes), jvp=_random_jvp)


def _fill(kind: int, at: tuple[Any, Any, Any], shape: Any, dtype: Any, **params: Any) -> Any:
    sizes = _checks._shape(shape)
    return bind(random_p, place(*at, size_of(sizes)), kind=kind, shape=sizes, dtype=np.dtype(dtype), **params)


def _float(dtype: Any) -> np.dtype[Any]:
    """The format asked for; None: jax.numpy's default. float64 needs jax_enable_x64, as everywhere in JAX."""
    wanted: np.dtype[Any] = np.dtype(jnp.result_type(float if dtype is None else dtype))
    return wanted


def bits(seed: Any, shape: Any = (), *, stream: Any = 0, offset: Any = 0) -> Any:
    """The generator's words of 32 bits, as `repmath.random.bits`."""
    return _fill(_WORDS32, (seed, stream, offset), shape, np.uint32)


def uniform(
    seed: Any, shape: Any = (), low: float = 0.0, high: float = 1.0, *, dtype: Any = None, stream: Any = 0, offset: Any = 0
) -> Any:
    """RN(low + u (high - low)), as `repmath.random.uniform`; float32 by default, float64 with jax_enable_x64."""
    wanted = _float(dtype)
    _numpy.uniform(0, 0, low, high, dtype=wanted)  # its errors
    return _fill(_UNIFORM, (seed, stream, offset), shape, wanted, a=float(low), b=float(high))


def normal(
    seed: Any, shape: Any = (), mean: float = 0.0, std: float = 1.0, *, dtype: Any = None, stream: Any = 0, offset: Any = 0
) -> Any:
    """RN(mean + std z), as `repmath.random.normal`; float32 by default, float64 with jax_enable_x64."""
    wanted = _float(dtype)
    _numpy.normal(0, 0, mean, std, dtype=wanted)
    return _fill(_NORMAL, (seed, stream, offset), shape, wanted, a=float(mean), b=float(std))


def truncated_normal(
    seed: Any,
    shape: Any = (),
    mean: float = 0.0,
    std: float = 1.0,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    dtype: Any = None,
    stream: Any = 0,
    offset: Any = 0,
) -> Any:
    """Normal numbers between two ends, as `repmath.random.truncated_normal`."""
    wanted = _float(dtype)
    _numpy.truncated_normal(0, 0, mean, std, low, high, dtype=wanted)
    numbers = {"a": float(mean), "b": float(std), "least": float(low), "most": float(high)}
    return _fill(_TRUNCATED_NORMAL, (seed, stream, offset), shape, wanted, **numbers)


def bernoulli(seed: Any, shape: Any = (), p: float = 0.5, *, stream: Any = 0, offset: Any = 0) -> Any:
    """True with probability p, as `repmath.random.bernoulli`."""
    return _fill(_BERNOULLI, (seed, stream, offset), shape, np.bool_, a=_checks._probability(p))


def randint(
    seed: Any, shape: Any = (), low: int = 0, high: int | None = None, *, dtype: Any = None, stream: Any = 0, offset: Any = 0
) -> Any:
    """Integers from low to high, excluded, as `repmath.random.randint`; int32 by default, int64 with jax_enable_x64."""
    wanted = np.dtype(jnp.result_type(int if dtype is None else dtype))
    if wanted not in (np.dtype(np.int32), np.dtype(np.int64)):
        raise TypeError(f"dtype must be int32 or int64, not {wanted}")
    _numpy.randint(0, 0, low, high, dtype=wanted)
    first, end = (0, low) if high is None else (low, high)
    return _fill(_INTEGERS, (seed, stream, offset), shape, wanted, low=int(first), last=int(end) - 1)


def _drawn(name: str, seed: Any, stream: Any, offset: Any, shape: tuple[int, ...], dtype: Any, **parameters: Any) -> Any:
    n = size_of(shape)
    return draw(name, place(seed, stream, offset, 2**62 + n if name == "beta" else n), shape, dtype, **parameters)


def gamma(
    seed: Any, shape: Any = None, a: Any = 1.0, scale: Any = 1.0, *, dtype: Any = None, stream: Any = 0, offset: Any = 0
) -> Any:
    """Gamma numbers RN(scale X), as `repmath.random.gamma`; float32 by default, float64 with jax_enable_x64.

    The derivative by `a` is RN(g), where g is that of a gamma number of the same probability (specification, section 6a), times `scale`.
    """
    return _drawn("gamma", seed, stream, offset, shape_of(shape, a, scale), _float(dtype), a=a, scale=scale)


def chisquare(seed: Any, shape: Any = None, df: Any = 1.0, *, dtype: Any = None, stream: Any = 0, offset: Any = 0) -> Any:
    """Chi-square numbers, as `repmath.random.chisquare`: gamma(seed, shape, df/2, 2)."""
    sizes = shape_of(shape, df)
    if isinstance(df, jax.Array):
        if df.dtype not in FORMATS:
            return _drawn("chisquare", seed, stream, offset, sizes, _float(dtype), df=df)
        half = df.astype(jnp.promote_types(df.dtype, np.float32)) * 0.5
    else:
        half = 0.5 * _rules._positive("df", df, 2.0)
    return _drawn("gamma", seed, stream, offset, sizes, _float(dtype), a=half, scale=2.0)


def beta(
    seed: Any, shape: Any = None, a: Any = 1.0, b: Any = 1.0, *, dtype: Any = None, stream: Any = 0, offset: Any = 0
) -> Any:
    """Beta numbers RN(X/(X + Y)), as `repmath.random.beta`."""
    return _drawn("beta", seed, stream, offset, shape_of(shape, a, b), _float(dtype), a=a, b=b)


def dirichlet(
    seed: Any, shape: Any = None, alpha: Any = (1.0, 1.0), *, dtype: Any = None, stream: Any = 0, offset: Any = 0
) -> Any:
    """Dirichlet numbers, whose rows are the last axis, as `repmath.random.dirichlet`."""
    sizes = shape_of(shape, alpha)
    if not sizes:
        raise ValueError("alpha must have at least one axis")
    return _drawn("dirichlet", seed, stream, offset, sizes, _float(dtype), alpha=alpha)


def poisson(seed: Any, shape: Any = None, mean: Any = 1.0, *, stream: Any = 0, offset: Any = 0) -> Any:
    """Poisson numbers, as `repmath.random.poisson`; int32, or int64 with jax_enable_x64. A number beyond int32 raises."""
    return _drawn("poisson", seed, stream, offset, shape_of(shape, mean), jnp.result_type(int), mean=mean)


def binomial(seed: Any, shape: Any = None, n: Any = 1, p: Any = 0.5, *, stream: Any = 0, offset: Any = 0) -> Any:
    """Binomial numbers, as `repmath.random.binomial`; int32, or int64 with jax_enable_x64. A number beyond int32 raises."""
    return _drawn("binomial", seed, stream, offset, shape_of(shape, n, p), jnp.result_type(int), n=n, p=p)


def permutation(seed: Any, x: Any, *, stream: Any = 0, offset: Any = 0) -> Any:
    """The numbers below x in random order, or an array with its first axis in that order, as `repmath.random.permutation`."""
    n = x if isinstance(x, (int, np.integer)) else jnp.shape(x)[0] if jnp.ndim(x) else None
    if n is None:
        raise ValueError("x must be an integer or have at least one axis")
    order = _fill(_PERMUTATION, (seed, stream, offset), int(n), jnp.result_type(int))
    return order if isinstance(x, (int, np.integer)) else jnp.asarray(x)[order]


def _dropout_jvp(primals: Any, tangents: Any, *, p: float) -> Any:
    x, at = primals
    y = bind(dropout_p, x, at, p=p)
    return y, zero_of(y) if is_zero(tangents[0]) else bind(dropout_p, tangents[0], at, p=p)


def _dropout_transpose(ct: Any, x: Any, at: Any, *, p: float) -> Any:
    return [ad.Zero(x.aval) if is_zero(ct) else bind(dropout_p, ct, at, p=p), None]


dropout_p: Any = define(
    "dropout", lambda x, at, *, p: (x.shape, x.dtype), by_handler("dropout"), jvp=_dropout_jvp, transpose=_dropout_transpose
)


def dropout(x: Any, p: float, seed: Any, *, stream: Any = 0, offset: Any = 0) -> Any:
    """+0 with probability p, else RN(x/(1 - p)), as `repmath.random.dropout`. The gradient is that of the gradient, with the same zeros."""
    (a,) = together(x=x)
    return bind(dropout_p, a, place(seed, stream, offset, size_of(a.shape)), p=_checks._probability(p))
