"""SGD, Adam and AdamW in Optax's shape, with the bits of `repmath.optim`.

    optimizer = repmath.jax.optim.adam(1e-3)
    state = optimizer.init(params)
    updates, state = optimizer.update(grads, state, params)
    params = repmath.jax.optim.apply_updates(params, updates)      # or optax.apply_updates

Optax adds an update to a parameter, which rounds a second time. Here the new parameter is one real formula of the old one and of the
states, rounded once, so it cannot be told as a difference. An update is therefore a value of its own, `Updated`, which holds the new
parameter: adding it to the old one, as optax.apply_updates does, gives the new one. It can be kept or dropped as a whole (optax.MultiSteps), and
nothing else: where a transformation that comes after in optax.chain scales it, the addition raises TypeError. Those that come before, such as
clipping, see gradients as ever.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .._optimizers import _check_adam, _check_sgd
from ._primitive import bind, by_handler, define, expand
from ._rows import mean
from ._types import FORMATS


@jax.tree_util.register_pytree_node_class
class Updated:
    """What `update` returns for each parameter: the new parameter. ``old + updated`` is the new parameter.

    JAX sees two arrays of its shape: the bits of the new parameter as an integer, and a mark, 1. Where both are 0 the parameter stays as it is. So a
    wrapper may drop an update by zeros, or by a product with False, and keep it by one with True, as optax.MultiSteps does. Any other product and
    quotient has marks of another format or above 1, as the sum of two updates has. Its addition raises TypeError, and gives NaN for marks above 1 in a
    jitted function, where they are not known.
    """

    __slots__ = ("_dtype", "_leaves", "_value")
    __array_ufunc__ = None  # NumPy leaves `array + updated` to this class

    def __init__(self, value: Any) -> None:
        self._value = value  # so that nothing is computed where an update is added in the function that made it
        self._dtype = value.dtype
        self._leaves: tuple[Any, Any] | None = None

    def tree_flatten(self) -> tuple[tuple[Any, Any], Any]:
        """The bits and the marks."""
        if self._leaves is not None:
            return self._leaves, self._dtype
        return (_bits(self._value), jnp.ones(self._value.shape, jnp.uint8)), self._dtype

    @classmethod
    def tree_unflatten(cls, dtype: Any, leaves: Any) -> "Updated":
        """JAX puts things that are no arrays here too, so they are looked at where they are used."""
        made = object.__new__(cls)
        made._value, made._dtype, made._leaves = None, dtype, tuple(leaves)
        return made

    def __radd__(self, old: Any) -> Any:
        shape = self._value.shape if self._leaves is None else jnp.shape(self._leaves[0])
        if jnp.shape(old) != shape:
            raise ValueError(f"the update is of a parameter of shape {shape}, not {jnp.shape(old)}")
        if self._leaves is None:
            return self._value
        bits, mark = self._leaves
        was = _bits(jnp.asarray(old, self._dtype))
        known = jnp.shape(mark) == shape and mark.dtype == jnp.uint8 and bits.dtype == was.dtype
        if not known or (not isinstance(mark, jax.core.Tracer) and bool((mark > 1).any())):
            raise TypeError(
                "an update of repmath.jax.optim can be kept or dropped, not scaled or averaged: it holds the new parameter; "
                "see docs/jax.md#how-are-optimisers-used"
            )
        nan = _bits(jnp.full((), jnp.nan, self._dtype))
        return lax.bitcast_convert_type(jnp.where(mark == 1, bits, jnp.where(mark == 0, was, nan)), self._dtype)

    __add__ = __radd__

    def __repr__(self) -> str:
        if self._leaves is None:
            return f"Updated({self._value!r})"
        bits, mark = self._leaves
        if isinstance(mark, np.ndarray | jax.Array) and not isinstance(mark, jax.core.Tracer) and bool((mark == 1).all()):
            return f"Updated({lax.bitcast_convert_type(bits, self._dtype)!r})"
        return f"Updated(bits={bits!r}, mark={mark!r})"


def _bits(value: Any) -> Any:
    """The bits of numbers, as integers: XLA's arithmetic would lose subnormal ones."""
    return lax.bitcast_convert_type(value, f"uint{8 * value.dtype.itemsize}")


class GradientTransformation(NamedTuple):
    """A pair of functions, as optax.GradientTransformation has it."""

    init: Callable[..., Any]
    update: Callable[..., Any]


class SGDState(NamedTuple):
    """The number of steps made and the momentum of each parameter; None without momentum."""

    count: Any
    momentum_buffer: Any


class AdamState(NamedTuple):
    """The number of steps made and the moments of each parameter; the last is None without amsgrad."""

    count: Any
    exp_avg: Any
    exp_avg_sq: Any
    max_exp_avg_sq: Any


class MultiStepsState(NamedTuple):
    """How many gradients there are since the last step, these, in stacks, and the state of the optimiser."""

    count: Any
    gradients: Any
    inner: Any


def apply_updates(params: Any, updates: Any) -> Any:
    """The new parameters: what optax.apply_updates gives too."""

    def new(p: Any, u: Any) -> Any:
        if not isinstance(u, Updated):
            raise TypeError(
                f"updates must come from repmath.jax.optim, not be {type(u).__name__}: a sum would round again; "
                "see docs/jax.md#how-are-optimisers-used"
            )
        return p + u

    return jax.tree.map(new, params, updates)


def _batch(p: Any) -> Any:
    """The step number and the rate are numbers of the whole step: where they differ, one step after the other."""

    def rule(args: Any, axes: Any, **params: Any) -> Any:
        size = next(x.shape[d] for x, d in zip(args, axes, strict=True) if d is not None)
        moved = [expand(x, (size, *x.shape)) if d is None else jnp.moveaxis(x, d, 0) for x, d in zip(args, axes, strict=True)]
        if axes[0] is None and axes[1] is None:
            out = bind(p(), *args[:2], *moved[2:], **params)
        else:
            out = lax.map(lambda one: bind(p(), *one, **params), tuple(moved))
        return out, [0] * len(out)

    return rule


def _arrays(lr: Any, count: Any, p: Any, g: Any, *states: Any, **params: Any) -> Any:
    return [(x.shape, x.dtype) for x in (p, *states)]


sgd_p: Any = define("sgd_step", _arrays, by_handler("sgd"), batch=_batch(lambda: sgd_p), multiple=True)
adam_p: Any = define("adam_step", _arrays, by_handler("adam"), batch=_batch(lambda: adam_p), multiple=True)


def _rate(learning_rate: Any, count: Any) -> Any:
    """The rate as an operand: a Python number as the two halves of its bits, so that it is exact without float64."""
    rate = learning_rate(count) if callable(learning_rate) else learning_rate
    if isinstance(rate, (int, float)):
        return jnp.asarray(np.array([rate], np.float64).view(np.uint32))
    array = jnp.asarray(rate)
    if array.ndim or array.dtype not in FORMATS:
        raise TypeError(f"learning_rate must be a number, not an array of shape {array.shape} and dtype {array.dtype}")
    return array if array.dtype == np.float64 else array.astype(jnp.float32)


def _leaves(name: str, params: Any, *trees: Any) -> Any:
    """The leaves of params and of each tree, of one structure, shape by shape."""
    if params is None:
        raise ValueError(
            f"{name}: update needs params: the new parameters are a formula of the old ones; see docs/jax.md#how-are-optimisers-used"
        )
    leaves, structure = jax.tree.flatten(params)
    for p in leaves:
        if jnp.result_type(p) not in FORMATS:
            raise TypeError(
                f"{name}: a parameter has dtype {jnp.result_type(p)}; it must be float16, bfloat16, float32 or float64"
            )
    others = []
    for tree in trees:
        found = structure.flatten_up_to(tree)
        for p, x in zip(leaves, found, strict=True):
            if jnp.shape(x) != jnp.shape(p):
                raise ValueError(f"{name}: a gradient or state has shape {jnp.shape(x)}, its parameter has {jnp.shape(p)}")
        others.append([jnp.asarray(x, jnp.result_type(p)) for p, x in zip(leaves, found, strict=True)])
    return structure, [jnp.asarray(p) for p in leaves], others


def _steps(
    name: str, p: Any, learning_rate: Any, count: Any, params: Any, grads: Any, states: tuple[Any, ...], **options: Any
) -> tuple[Any, list[Any]]:
    """One step of each parameter: the updates, and the new states."""
    structure, old, (g, *buffers) = _leaves(name, params, grads, *states)
    rate = _rate(learning_rate, count)
    results = [bind(p, rate, count, *one, **options) for one in zip(old, g, *buffers, strict=True)]
    new = [structure.unflatten([r[i] for r in results]) for i in range(1, 1 + len(states))]
    return structure.unflatten([Updated(r[0]) for r in results]), new


def _zeros(params: Any) -> Any:
    return jax.tree.map(lambda p: jnp.zeros(jnp.shape(p), jnp.result_type(p)), params)


def _value(learning_rate: Any) -> float:
    """The rate where it is known, for the checks that repmath.optim makes too."""
    return float(learning_rate) if isinstance(learning_rate, (int, float)) else 0.0


def sgd(
    learning_rate: Any,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
    maximize: bool = False,
) -> GradientTransformation:
    """Stochastic gradient descent: the formulas and the bits of `repmath.optim.SGD`.

    Parameters
    ----------
    learning_rate : float, scalar or callable
        A Python number is taken exactly, as binary64; an array as what it holds; a function gives one of the number of steps made.
    momentum, dampening, weight_decay, nesterov, maximize
        As for `repmath.optim.SGD`.

    Raises
    ------
    TypeError, ValueError
        A hyperparameter is out of range.
    """
    _constants(momentum=momentum, dampening=dampening, weight_decay=weight_decay)
    _check_sgd(_value(learning_rate), momentum, dampening, weight_decay, nesterov)
    options = {
        "momentum": float(momentum),
        "dampening": float(dampening),
        "weight_decay": float(weight_decay),
        "nesterov": bool(nesterov),
        "maximize": bool(maximize),
    }

    def init(params: Any) -> SGDState:
        return SGDState(jnp.zeros((), jnp.int32), _zeros(params) if momentum else None)

    def update(grads: Any, state: SGDState, params: Any = None, **_: Any) -> tuple[Any, SGDState]:
        states = (state.momentum_buffer,) if momentum else ()
        updates, new = _steps("sgd", sgd_p, learning_rate, state.count, params, grads, states, **options)
        return updates, SGDState(state.count + 1, new[0] if new else None)

    return GradientTransformation(init, update)


def _constants(**numbers: Any) -> None:
    """All but the rate are constants of a compiled step. optax.inject_hyperparams makes arrays of them, rounded to float32."""
    for name, value in numbers.items():
        if isinstance(value, jax.Array):
            names = ", ".join(map(repr, numbers))
            raise TypeError(
                f"{name} must be a Python number, not an array; optax.inject_hyperparams takes static_args=({names})"
            )


def _adam(name: str, decoupled: bool, learning_rate: Any, amsgrad: bool, betas: Any, **numbers: Any) -> Any:
    _constants(b1=betas[0], b2=betas[1], eps=numbers["eps"], weight_decay=numbers["weight_decay"])
    _check_adam(_value(learning_rate), betas, numbers["eps"], numbers["weight_decay"], ("b1", "b2"))
    options = {
        "beta1": float(betas[0]),
        "beta2": float(betas[1]),
        "eps": float(numbers["eps"]),
        "weight_decay": float(numbers["weight_decay"]),
        "decoupled": decoupled,
        "maximize": bool(numbers["maximize"]),
    }

    def init(params: Any) -> AdamState:
        return AdamState(jnp.zeros((), jnp.int32), _zeros(params), _zeros(params), _zeros(params) if amsgrad else None)

    def update(grads: Any, state: AdamState, params: Any = None, **_: Any) -> tuple[Any, AdamState]:
        states = (state.exp_avg, state.exp_avg_sq, *([state.max_exp_avg_sq] if amsgrad else []))
        updates, new = _steps(name, adam_p, learning_rate, state.count, params, grads, states, **options)
        return updates, AdamState(state.count + 1, new[0], new[1], new[2] if amsgrad else None)

    return GradientTransformation(init, update)


def adam(
    learning_rate: Any,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    amsgrad: bool = False,
    maximize: bool = False,
) -> GradientTransformation:
    """Adam: the formulas and the bits of `repmath.optim.Adam`. `learning_rate` as for `sgd`; b1 and b2 are its betas."""
    numbers = {"eps": eps, "weight_decay": weight_decay, "maximize": maximize}
    return _adam("adam", False, learning_rate, amsgrad, (b1, b2), **numbers)  # type: ignore[no-any-return]


def adamw(
    learning_rate: Any,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 1e-2,
    amsgrad: bool = False,
    maximize: bool = False,
) -> GradientTransformation:
    """AdamW: the formulas and the bits of `repmath.optim.AdamW`, whose default `weight_decay` it has; the rest as for `adam`."""
    numbers = {"eps": eps, "weight_decay": weight_decay, "maximize": maximize}
    return _adam("adamw", True, learning_rate, amsgrad, (b1, b2), **numbers)  # type: ignore[no-any-return]


def multi_steps(optimizer: Any, every: int) -> GradientTransformation:
    """A step after each `every` gradients, by their mean: RN((exact sum)/every).

    `optax.MultiSteps` takes these optimisers too, and rounds the mean at every gradient, in XLA's arithmetic. Between two steps the parameters
    stay as they are.

    Parameters
    ----------
    optimizer : GradientTransformation
        One of this module, or an `optax.chain` of which it is the last.
    every : int
        The number of gradients of a step, which the state holds.

    Raises
    ------
    TypeError, ValueError
        `every` is no integer, or is below 1.
    """
    if isinstance(every, bool) or not isinstance(every, (int, np.integer)):
        raise TypeError(f"every must be an integer, not {type(every).__name__}")
    if every < 1:
        raise ValueError(f"every must be at least 1, not {every}")

    def init(params: Any) -> MultiStepsState:
        stacks = jax.tree.map(lambda p: jnp.zeros((every, *jnp.shape(p)), jnp.result_type(p)), params)
        return MultiStepsState(jnp.zeros((), jnp.int32), stacks, optimizer.init(params))

    def update(grads: Any, state: MultiStepsState, params: Any = None, **more: Any) -> tuple[Any, MultiStepsState]:
        structure, old, (g,) = _leaves("multi_steps", params, grads)
        stacks = [
            lax.dynamic_update_index_in_dim(s, v, state.count, 0) for s, v in zip(structure.flatten_up_to(state.gradients), g)
        ]

        def step(_: Any) -> Any:
            means = structure.unflatten([mean(s, axis=0) for s in stacks])
            return optimizer.update(means, state.inner, params, **more)

        kept = structure.unflatten([Updated(v) for v in old])
        updates, inner = lax.cond(state.count == every - 1, step, lambda _: (kept, state.inner), None)
        return updates, MultiStepsState((state.count + 1) % every, structure.unflatten(stacks), inner)

    return GradientTransformation(init, update)
