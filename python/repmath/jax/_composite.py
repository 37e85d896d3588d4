"""Operators with a kernel for the value and one for each gradient: one primitive for the value, one for each gradient, one for tangents.

Derivatives without a kernel (forward mode, second derivatives, gradients with respect to other arguments) come from a formula: the same
real function, written in functions of this package, with one rounding per operation.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.interpreters import ad

from ._elementwise import apply
from ._primitive import bind, by_function, define, expand, is_linear, is_zero, zero_of
from ._rows import add_all

Formula = Callable[..., Any]


def _derivative(f: Formula, primals: Any, positions: Sequence[int], tangents: Any) -> Any:
    """The derivative of f at primals in the direction of tangents, which are those of the arguments at these positions."""

    def of(*chosen: Any) -> Any:
        arrays = list(primals)
        for i, x in zip(positions, chosen, strict=True):
            arrays[i] = x
        return f(*arrays)

    return jax.jvp(of, tuple(primals[i] for i in positions), tuple(tangents))[1]


class Composite:
    """An operator of arrays and parameters.

    `shapes` and `lower` are those of its primitive; `formula(*arrays, **params)` is its value in functions that can be differentiated;
    `gradients` maps positions of arguments to a lowering of (cotangent, *arrays). A gradient has the shape of its argument. `axes` is that
    of the primitive, and gives those of the gradients.
    """

    def __init__(
        self, name: str, shapes: Any, lower: Any, formula: Formula, gradients: dict[int, Any], axes: Any = None
    ) -> None:
        self.name, self.formula, self.axes = name, formula, axes
        self.kernels = {i: self._gradient(i, g) for i, g in gradients.items()}
        self.tangent_p = define(
            f"{name}_tangent",
            lambda *avals, active, **params: shapes(*avals[: len(avals) - len(active)], **params),
            by_function(self._tangent),
            jvp=self._tangent_jvp,
            transpose=self._transpose,
        )
        self.value_p = define(name, shapes, lower, jvp=self._jvp, axes=axes)

    def __call__(self, *arrays: Any, **params: Any) -> Any:
        return bind(self.value_p, *arrays, **params)

    def _jvp(self, primals: Any, tangents: Any, **params: Any) -> Any:
        y = self(*primals, **params)
        active = tuple(i for i, t in enumerate(tangents) if not is_zero(t))
        if not active:
            return y, zero_of(y)
        return y, bind(self.tangent_p, *primals, *(tangents[i] for i in active), active=active, **params)

    def _tangent(self, *operands: Any, active: tuple[int, ...], **params: Any) -> Any:
        """The derivative of the formula, in the direction of the last operands."""
        primals, tangents = operands[: -len(active)], operands[-len(active) :]
        return _derivative(lambda *arrays: self.formula(*arrays, **params), primals, active, tangents)

    def _tangent_jvp(self, primals: Any, tangents: Any, *, active: tuple[int, ...], **params: Any) -> Any:
        y = bind(self.tangent_p, *primals, active=active, **params)
        count = len(primals) - len(active)
        parts = []
        directions = tangents[count:]
        if not all(is_zero(t) for t in directions):
            filled = [ad.instantiate_zeros(t) for t in directions]
            parts.append(bind(self.tangent_p, *primals[:count], *filled, active=active, **params))
        moving = [i for i in range(count) if not is_zero(tangents[i])]
        if moving:
            given = [tangents[i] for i in moving]
            parts.append(_derivative(lambda *arrays: self._tangent(*arrays, active=active, **params), primals, moving, given))
        return y, add_all(parts, y)

    def _pullback(self, ct: Any, *arrays: Any, position: int, **params: Any) -> Any:
        """The gradient of the formula with respect to one argument."""

        def of(x: Any) -> Any:
            return self.formula(*arrays[:position], x, *arrays[position + 1 :], **params)

        return jax.vjp(of, arrays[position])[1](ct)[0]

    def _gradient(self, position: int, lower: Any) -> Any:
        def jvp(primals: Any, tangents: Any, **params: Any) -> Any:
            d = bind(self.kernels[position], *primals, **params)
            parts = []
            if not is_zero(tangents[0]):
                parts.append(bind(self.kernels[position], tangents[0], *primals[1:], **params))
            moving = [i for i, t in enumerate(tangents) if i > 0 and not is_zero(t)]
            if moving:
                given = [tangents[i] for i in moving]
                pullback = functools.partial(self._pullback, position=position, **params)
                parts.append(_derivative(pullback, primals, moving, given))
            return d, add_all(parts, d)

        def transpose(ct: Any, g: Any, *arrays: Any, **params: Any) -> Any:
            nothing = [None] * len(arrays)
            if is_zero(ct):
                return [ad.Zero(g.aval), *nothing]
            return [bind(self.tangent_p, *arrays, ct, active=(position,), **params), *nothing]

        def axes(count: int, **params: Any) -> Any:
            operands, results = self.axes(count - 1, **params)
            return [*results, *operands], [operands[position]]

        return define(
            f"{self.name}_gradient_{position}",
            lambda ct, *avals, **params: (avals[position].shape, avals[position].dtype),
            lower,
            jvp=jvp,
            transpose=transpose,
            axes=axes if self.axes is not None else None,
        )

    def _transpose(self, ct: Any, *operands: Any, active: tuple[int, ...], **params: Any) -> Any:
        count = len(operands) - len(active)
        primals = operands[:count]
        result: list[Any] = [None] * count
        for i, t in zip(active, operands[count:], strict=True):
            if not is_linear(t):
                result.append(None)
            elif is_zero(ct):
                result.append(ad.Zero(t.aval))
            elif i in self.kernels:
                result.append(bind(self.kernels[i], ct, *primals, **params))
            else:
                result.append(self._pullback(ct, *primals, position=i, **params))
        return result


def full(x: Any, value: float) -> Any:
    return jnp.full(x.shape, value, x.dtype)


def add(x: Any, y: Any) -> Any:
    return apply("add", x, expand(y, x.shape))


def subtract(x: Any, y: Any) -> Any:
    return apply("subtract", x, expand(y, x.shape))


def multiply(x: Any, y: Any) -> Any:
    return apply("multiply", x, expand(y, x.shape))


def divide(x: Any, y: Any) -> Any:
    return apply("divide", x, expand(y, x.shape))
