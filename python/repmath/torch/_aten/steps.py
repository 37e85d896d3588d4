"""Operators that are composed of elementwise steps, as programs of prepared calls: the steps of the table's functions, in their order."""

import functools
from collections.abc import Callable
from typing import Any, TypeAlias

from ... import _core

_NUMBER = 64  # operands from here on are numbers


class _Register:
    """What a step is given or makes."""

    def __init__(self, place: int, wide: bool = False) -> None:
        self.place, self.wide = place, wide


class _Argument:
    """A number among the arguments, or what follows from one."""

    def __init__(self, place: int, how: str = "") -> None:
        self.place, self.how = place, how

    def __neg__(self) -> "_Argument":
        return _Argument(self.place, "-")

    def __rsub__(self, one: float) -> "_Argument":
        assert one == 1
        return _Argument(self.place, "1-")


class Program:
    """Collects the steps while a recipe runs on registers. A function of functions.def is a method of its name."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, Any, tuple[int, ...], int | None, bool]] = []
        self.numbers: list[tuple[str, float]] = []
        self.registers = 0

    def _number(self, value: Any) -> int:
        entry = (value.how, value.place) if isinstance(value, _Argument) else ("constant", float(value))
        if entry not in self.numbers or entry[1] != entry[1]:
            self.numbers.append(entry)
        return len(self.numbers) - 1 - self.numbers[::-1].index(entry) if entry[1] == entry[1] else len(self.numbers) - 1

    def _place(self, v: Any) -> int:
        return v.place if isinstance(v, _Register) else _NUMBER + self._number(v)

    def _step(self, kind: str, which: Any, *operands: Any, number: Any = None, wide: bool | None = None) -> _Register:
        wide = any(getattr(v, "wide", False) for v in operands) if wide is None else wide
        places = tuple(self._place(v) for v in operands)
        self.steps.append((kind, which, places, None if number is None else self._number(number), wide))
        self.registers += 1
        return _Register(self.registers - 1, wide)

    def __getattr__(self, name: str) -> Callable[..., _Register]:
        if name not in _core.ufuncs:
            raise AttributeError(name)
        return lambda *operands, wide=None: self._step("function", name, *operands, wide=wide)

    def formula(self, name: str, a: Any, *operands: Any) -> _Register:
        return self._step("formula", name, *operands, number=a)

    def scaled(self, x: _Register, a: Any) -> _Register:
        return self._step("scaled", None, x, number=a)

    def wide(self, x: Any) -> Any:
        return self._step("wide", None, x, wide=True) if isinstance(x, _Register) else x

    def own(self, x: _Register) -> _Register:
        return self._step("own", None, x, wide=False)

    def once(self, x: _Register) -> _Register:
        """Of a function's rounded result in binary64: not taken beside a boundary of rounding, where this does not tell the value's side."""
        return self._step("own", "once", x, wide=False)

    def compare(self, which: str, *operands: Any, wide: bool | None = None) -> _Register:
        made = self._step("compare", which, *operands, wide=wide)
        made.wide = False
        return made

    def either(self, a: _Register, b: _Register) -> _Register:
        return self._step("either", None, a, b)

    def both(self, a: _Register, b: _Register) -> _Register:
        return self._step("both", None, a, b)

    def negation(self, a: _Register) -> _Register:
        return self._step("not", None, a)

    def where(self, mask: _Register, a: Any, b: Any, wide: bool | None = None) -> _Register:
        return self._step("choose", None, mask, a, b, wide=wide)

    def differ(self, a: Any, b: Any) -> _Register:
        """Whether one of two numbers of binary64 is below 0 and the other one above."""
        first = self.both(self.compare("<", a, 0.0, wide=True), self.compare(">", b, 0.0, wide=True))
        return self.either(first, self.both(self.compare(">", a, 0.0, wide=True), self.compare("<", b, 0.0, wide=True)))

    def require(self, mask: _Register) -> None:
        """Where the mask is not set everywhere the call is not taken."""
        self._step("required", None, mask)

    def clamped(self, x: _Register, limit: float, least: float) -> _Register:
        """Of binary64: x between -limit and limit, and 0 where it is smaller than `least`."""
        return self._step("clamped", None, x, limit, least)

    def toward_zero(self, x: _Register, y: Any) -> _Register:
        """Of binary64: the quotient toward zero as a whole number, and this rounded."""
        return self._step("toward_zero", None, self.divide(x, y), x, y)

    def neg(self, x: _Register) -> _Register:
        return self._step("negated", None, x)

    def whole(self, which: str, x: _Register) -> _Register:
        return self._step("whole", which, x)


P: TypeAlias = Program
R: TypeAlias = _Register


def _mish_backward(p: P, g: R, x: R) -> R:
    wide = p.wide(x)
    t = p.tanh(p.softplus(wide))
    inner = p.formula("tanh", 0.0, p.multiply(wide, p.sigmoid(wide)), t)
    inner = p.where(p.compare("infinite", wide), 0.0, inner)
    return p.own(p.multiply(p.wide(g), p.add(t, inner)))


def _elu(p: P, x: R, alpha: Any, scale: Any, input_scale: Any) -> R:
    below = p.scaled(p.scaled(p.expm1(p.scaled(x, input_scale)), alpha), scale)
    return p.where(p.compare(">", x, 0.0), p.scaled(x, scale), below)


def _elu_backward(p: P, g: R, alpha: Any, scale: Any, input_scale: Any, x: R) -> R:
    slope = p.scaled(p.scaled(p.exp(p.scaled(x, input_scale)), alpha), scale)
    below = p.multiply(p.scaled(g, input_scale), slope)
    return p.where(p.compare(">", x, 0.0), p.scaled(g, scale), below)


def _celu(p: P, x: R, alpha: Any) -> R:
    below = p.multiply(p.expm1(p.divide(p.wide(x), alpha)), alpha)
    return p.where(p.compare(">", x, 0.0), x, p.own(below))


def _logit(p: P, x: R, eps: Any = None) -> R:
    wide = p.wide(x)
    if eps is not None:
        wide = p.formula("min_scalar", 1 - eps, p.formula("max_scalar", eps, wide))
    return p.own(p.log(p.divide(wide, p.subtract(1.0, wide))))


def _logit_backward(p: P, g: R, x: R, eps: Any = None) -> R:
    wide = p.wide(x)
    made = p.own(p.divide(p.wide(g), p.multiply(wide, p.subtract(1.0, wide))))
    low, high, outside = (0.0, 1.0, float("nan")) if eps is None else (eps, 1 - eps, 0.0)
    return p.where(p.either(p.compare("<", wide, low), p.compare(">", wide, high)), outside, made)


def _rest(p: P, a: Any, b: Any) -> tuple[R, R]:
    """The quotient toward zero, a whole number below 2**53, and what is left of a: the steps of _toward_zero."""
    q = p.whole("trunc", p.divide(a, b))
    rest = p.fma(p.neg(q), b, a)
    one = p.where(p.compare("<", q, 0.0), -1.0, 1.0, wide=True)
    q = p.where(p.differ(rest, a), p.subtract(q, one), q)
    p.require(p.both(p.compare("<", q, 2.0**53), p.compare(">", q, -(2.0**53))))
    p.require(p.negation(p.compare("infinite", b, wide=True)))
    return q, p.fma(p.neg(q), b, a)


def _quotient(mode: str) -> Callable[[P, R, Any], R]:
    def made(p: P, x: R, y: Any) -> R:
        a, b = p.wide(x), p.wide(y)
        q, rest = _rest(p, a, b)
        if mode == "floor":
            left = p.negation(p.compare("==", rest, 0.0))
            q = p.where(p.both(left, p.differ(a, b)), p.subtract(q, 1.0), q)
        zero = p.multiply(p.multiply(a, 0.0), b)  # with the sign of the quotient
        return p.own(p.where(p.compare("==", q, 0.0), zero, q))

    return made


def _remainder(p: P, x: Any, y: R) -> R:
    a, b = p.wide(x), p.wide(y)
    _, rest = _rest(p, a, b)
    signed = p.where(p.compare("==", rest, 0.0), p.multiply(a, 0.0, wide=True), rest)  # a zero has the sign of a
    return p.where(p.differ(rest, b), p.once(p.add(rest, b)), p.own(signed))


def _fmod(p: P, x: Any, y: R) -> R:
    a, b = p.wide(x), p.wide(y)
    _, rest = _rest(p, a, b)
    return p.own(p.where(p.compare("==", rest, 0.0), p.multiply(a, 0.0, wide=True), rest))


def _sinc(p: P, x: R) -> R:
    wide, pi = p.wide(x), 3.141592653589793
    whole = p.whole("nearest", wide)
    sine = p.sin(p.multiply(p.subtract(wide, whole), pi))
    even = p.compare("==", p.multiply(p.whole("floor", p.multiply(whole, 0.5)), 2.0), whole)
    sine = p.where(even, sine, p.neg(sine))
    made = p.divide(sine, p.multiply(wide, pi))
    return p.own(p.where(p.compare("==", wide, 0.0), 1.0, made))


def _round_decimals(p: P, x: R, decimals: int) -> R:
    tens = float(10 ** abs(decimals))
    first, second = (p.multiply, p.divide) if decimals > 0 else (p.divide, p.multiply)
    return p.own(second(p.whole("nearest", first(p.wide(x), tens)), tens))


def _logaddexp2(p: P, x: R, y: R) -> R:
    a, b = p.wide(x), p.wide(y)
    above, below = p.formula("max", 0.0, a, b), p.formula("min", 0.0, a, b)
    more = p.multiply(p.log1p(p.exp2(p.subtract(below, above))), 1.4426950408889634)
    return p.own(p.add(above, p.where(p.compare("==", above, below), 1.0, more)))


def _choice(name: str) -> Callable[[P, R, R], R]:
    def made(p: P, a: R, b: R) -> R:
        inner = p.where(p.compare("nan", b), a, p.formula(name, 0.0, a, b))
        return p.where(p.compare("nan", a), b, inner)

    return made


def _hardtanh_backward(p: P, g: R, x: R, low: Any, high: Any) -> R:
    return p.formula("gate", -high, p.formula("gate", low, g, x), p.neg(x))


def _softshrink(p: P, x: R, limit: Any) -> R:
    p.require(p.compare(">=", limit, 0.0, wide=True))
    return p.formula("shrink", limit, x)


def _softshrink_in_two(p: P, x: R, limit: Any) -> R:
    """Of binary64: the sum on either side of the limits."""
    p.require(p.compare(">=", limit, 0.0, wide=True))
    inner = p.where(p.compare("nan", x), x, 0.0)
    below = p.where(p.compare("<", x, -limit), p.add(x, limit), inner)
    return p.where(p.compare(">", x, limit), p.subtract(x, limit), below)


def _half_and(p: P, x: R, n: float) -> R:
    """RN(1/2 + x/n) of the nearest x from -3 to 3. Beside 1/2 no number is nearer than 2**-54: for smaller x it is that of 0."""
    return p.formula("quotient", 1.0, 0.5, p.clamped(x, 3.0, 2.0**-60), n)


def _hardsigmoid(p: P, x: R) -> R:
    """Of binary64, as those below: no format holds 1/6."""
    return _half_and(p, x, 6.0)


def _hardsigmoid_backward(p: P, g: R, x: R) -> R:
    return p.where(p.both(p.compare(">", x, -3.0), p.compare("<", x, 3.0)), p.formula("over", 6.0, g), 0.0)


def _hardswish(p: P, x: R) -> R:
    """From 3 on the factor is 1."""
    return p.where(p.compare("<=", x, -3.0), 0.0, p.multiply(x, _hardsigmoid(p, x)))


def _hardswish_backward(p: P, g: R, x: R) -> R:
    below = p.where(p.compare("<", x, -3.0), 0.0, p.multiply(g, _half_and(p, x, 3.0)))
    return p.where(p.compare(">", x, 3.0), g, below)


def _softshrink_backward(p: P, g: R, x: R, limit: Any) -> R:
    return p.formula("gate", limit, g, p.formula("max", 0.0, x, p.neg(x)))


def _in_formula(name: str) -> Callable[[P, Any, Any], R]:
    """Of two tensors, or of one and a number that may be none of the format."""
    return lambda p, x, y: p.formula(name, y, x) if isinstance(y, _Argument) else p.formula(name, 0.0, x, y)


def _held(p: P, x: R, low: R | None = None, high: R | None = None) -> R:
    made = x if low is None else p.formula("max", 0.0, x, low)
    return made if high is None else p.formula("min", 0.0, made, high)


def _entropy(p: P, x: R, y: R, weight: Any = None) -> R:
    p.require(p.both(p.compare(">=", x, 0.0), p.compare("<=", x, 1.0)))
    low, high = (p.formula("max_scalar", -100.0, v) for v in (p.log(x), p.log1p(p.neg(x))))
    made = p.neg(p.formula("mix", 0.0, high, low, y))
    return made if weight is None else p.multiply(made, weight)


def _entropy_backward(mean: bool) -> Callable[..., R]:
    def made(p: P, g: R, x: R, y: R, weight: Any = None) -> R:
        below = p.formula("max_scalar", 1e-12, p.multiply(x, p.subtract(1.0, x)))
        slope = p.divide(p.multiply(g, p.subtract(x, y)), below)
        slope = slope if weight is None else p.multiply(slope, weight)
        return p.formula("over", _Argument(1, "count"), slope) if mean else slope

    return made


def _soft_margin(p: P, x: R, y: R) -> R:
    return p.softplus(p.neg(p.multiply(p.wide(x), p.wide(y))))


def _soft_margin_backward(mean: bool) -> Callable[..., R]:
    def made(p: P, g: R, x: R, y: R) -> R:
        received = p.multiply(p.wide(g), p.neg(p.wide(y)))
        slope = p.multiply(received, p.sigmoid(p.neg(p.multiply(p.wide(x), p.wide(y)))))
        return p.own(p.divide(slope, _Argument(1, "count")) if mean else slope)

    return made


# By the table's function: recipes, of which the first that takes the arguments is taken. With each, arguments that must be as they are here (a
# keyword's name, or a place; ... for any), places of "numbers" that PyTorch has as tensors, "doubles": tensors of binary64 alone, and "large": of any
# size, as those of LARGE are.
RECIPES: dict[str, list[tuple[Callable[..., R], dict[Any, Any]]]] = {
    "mish": [(lambda p, x: p.multiply(x, p.tanh(p.softplus(x))), {})],
    "mish_backward": [(_mish_backward, {})],
    "elu": [(_elu, {})],
    "elu_backward": [(_elu_backward, {4: False})],
    "celu": [(_celu, {})],
    "logit": [(_logit, {1: None}), (_logit, {})],
    "logit_backward": [(_logit_backward, {2: None}), (_logit_backward, {})],
    "sinc": [(_sinc, {})],
    **{
        f"{name}.{overload}": [(lambda p, x, y, name=name: p.once(getattr(p, name)(p.wide(x), p.wide(y))), {})]
        for name, overload in (
            ("xlogy", "Scalar_Self"),
            ("xlogy", "Scalar_Other"),
            ("xlog1py", "self_scalar"),
            ("xlog1py", "other_scalar"),
        )
    },
    "round_decimals": [
        (functools.partial(_round_decimals, decimals=n), {"decimals": n}) for n in (1, 2, 3, 4, 5, 6, -1, -2, -3)
    ],
    "logaddexp2": [(_logaddexp2, {})],
    "fmax": [(_choice("max"), {})],
    "fmin": [(_choice("min"), {})],
    "softshrink": [(_softshrink, {}), (_softshrink_in_two, {"doubles": True})],
    "hardsigmoid": [(_hardsigmoid, {"doubles": True})],
    "hardsigmoid_backward": [(_hardsigmoid_backward, {"doubles": True})],
    "hardswish": [(_hardswish, {"doubles": True})],
    "hardswish_backward": [(_hardswish_backward, {"doubles": True})],
    "leaky_relu": [(lambda p, x, a: p.where(p.compare(">", x, 0.0), x, p.formula("scaled", a, x)), {"doubles": True})],
    "softshrink_backward": [(_softshrink_backward, {})],
    "hardtanh_backward": [(_hardtanh_backward, {})],
    "leaky_relu_backward": [
        (lambda p, g, x, a: p.formula("leaky_backward", a, g, x), {3: ...}),
        (
            lambda p, g, x, a: p.where(p.compare(">", x, 0.0), g, p.formula("scaled", a, g)),
            {3: ..., "doubles": True},
        ),
    ],
    "prelu": [(lambda p, x, w: p.where(p.compare(">", x, 0.0), x, p.multiply(w, x)), {})],
    "degrees": [(lambda p, x: p.formula("scaled", 57.29577951308232, x), {})],
    "radians": [(lambda p, x: p.formula("scaled", 0.017453292519943295, x), {})],
    "frac": [(lambda p, x: p.subtract(x, p.whole("trunc", x)), {})],
    "ldexp": [(lambda p, x, n: p.own(p.multiply(p.wide(x), p.exp2(p.wide(n)))), {})],
    "scaled_softplus": [
        (lambda p, x, threshold: p.softplus(x), {1: 1.0}),
        (lambda p, x, b, threshold: p.own(p.divide(p.softplus(p.multiply(p.wide(x), b)), b)), {}),
    ],
    "scaled_softplus_backward": [
        (lambda p, g, x, threshold: p.softplus_backward(g, x), {2: 1.0}),
        (lambda p, g, x, b, threshold: p.own(p.softplus_backward(p.wide(g), p.multiply(p.wide(x), b))), {}),
    ],
    "log_sigmoid_forward": [(lambda p, x: p.log_sigmoid(x), {})],
    "log_sigmoid_backward": [(lambda p, g, x: p.log_sigmoid_backward(g, x), {2: ...})],
    "gelu": [(lambda p, x: p.gelu_tanh(x), {"approximate": "tanh"})],
    "gelu_backward": [(lambda p, g, x: p.gelu_tanh_backward(g, x), {"approximate": "tanh"})],
    "glu": [(lambda p, a, b: p.softplus_backward(a, b), {1: ...})],
    "divide_by_mode": [
        (lambda p, x, y: p.toward_zero(x, y), {"rounding_mode": "trunc", "doubles": True, "large": True} | numbers)
        for numbers in ({}, {"numbers": (1,)})
    ]
    + [
        (recipe, {"rounding_mode": mode} | numbers)
        for mode in ("floor", "trunc")
        for recipe in (_in_formula(mode), _quotient(mode))
        for numbers in ({}, {"numbers": (1,)})
    ]
    + [(lambda p, x, y: p.divide(x, y), {"rounding_mode": None})],
    "floor_divide": [
        (recipe, numbers) for recipe in (_in_formula("floor"), _quotient("floor")) for numbers in ({}, {"numbers": (1,)})
    ],
    "rsub": [(lambda p, x, y: p.subtract(y, x), {2: 1.0, "alpha": 1.0})],
    "power.Scalar": [(lambda p, x, y: p.pow(x, y), {})],
    "fmod": [(_in_formula("fmod"), {}), (_fmod, {})],
    "remainder": [(_in_formula("remainder"), {}), (_remainder, {})],
    "remainder.Scalar_Tensor": [(lambda p, a, x: p.formula("remainder_of", a, x), {}), (_remainder, {})],
    "fmod.Scalar": [(lambda p, x, a: p.formula("fmod", a, x), {}), (_fmod, {})],
    "remainder.Scalar": [(lambda p, x, a: p.formula("remainder", a, x), {}), (_remainder, {})],
    "clamp.Tensor": [
        (lambda p, x, low: _held(p, x, low), {2: None}),
        (lambda p, x, high: _held(p, x, None, high), {1: None}),
        (lambda p, x, low, high: _held(p, x, low, high), {}),
    ],
    "clamp_min.Tensor": [(lambda p, x, low: _held(p, x, low), {})],
    "clamp_max.Tensor": [(lambda p, x, high: _held(p, x, None, high), {})],
    "binary_cross_entropy_backward": [
        (_entropy_backward(reduction == 1), weight | {4: reduction}) for reduction in (1, 0, 2) for weight in ({3: None}, {})
    ],
    "soft_margin_loss_backward": [(_soft_margin_backward(reduction == 1), {3: reduction}) for reduction in (1, 0, 2)],
}

# The terms of losses, which a reduction follows as the last argument: the recipes, with what must be as it is here, and whether they are of binary64.
TERMS: dict[str, tuple[list[tuple[Callable[..., R], dict[Any, Any]]], bool]] = {
    "binary_cross_entropy": ([(_entropy, {2: None}), (_entropy, {})], False),
    "soft_margin_loss": ([(_soft_margin, {})], True),
}


def calls(overload: Any, name: str, into: str) -> list[_core.Call]:
    """The calls of an overload for which its table's function has recipes here."""
    if (name == "power" and into == "first") or (
        name == "glu" and into == "out"
    ):  # of a tensor and a number; of another shape
        return []
    own = f"{name}.{overload._overloadname.removesuffix('_out')}"
    return [_call(overload, name, recipe, same, into) for recipe, same in RECIPES.get(own, RECIPES.get(name, []))]


def loss(overload: Any, name: str) -> _core.Call:
    """The call of a loss that has terms here."""
    recipes, wide = TERMS[name]
    place = len(overload._schema.arguments) - 1
    terms = [_call(overload, name, recipe, same | {place: 1}, "new", wide) for recipe, same in recipes]
    return _core.Collected(terms[0] if len(terms) == 1 else _core.Either(*terms), place)


def gate_backward() -> _core.Call:
    """That of glu_backward: of a gradient and two halves."""
    made: list[_core.Steps] = []
    arguments: list[tuple[str, str | None, Any, Any]] = [("tensor", None, None, None)] * 3
    recipes: tuple[Callable[..., Any], ...] = (
        lambda p, g, a, b: p.softplus_backward(g, b),
        lambda p, g, a, b: p.once(p.sigmoid_backward(p.multiply(p.wide(g), p.wide(a)), p.wide(b))),
    )
    for recipe in recipes:
        program = Program()
        program.registers = 3
        recipe(program, *map(_Register, range(3)))
        made.append(_core.Steps(arguments, program.numbers, program.steps, "new"))
    return _core.GateGradient(*made)


# What steps compute faster than the table's functions for tensors of any size.
LARGE = frozenset(
    """celu degrees elu elu_backward fmax fmin hardsigmoid hardsigmoid_backward hardswish hardswish_backward hardtanh_backward ldexp
    leaky_relu leaky_relu_backward logaddexp2 logit prelu radians rsub softshrink softshrink_backward""".split()
)


def _call(
    overload: Any, name: str, recipe: Callable[..., R], same: dict[Any, Any], into: str, wide: bool = False
) -> _core.Steps:
    arguments: list[tuple[str, str | None, Any, Any]] = []
    handles: list[Any] = []
    program = Program()
    for i, a in enumerate(a for a in overload._schema.arguments if not a.is_out):
        named = a.name if a.kwarg_only else None
        key = a.name if a.kwarg_only else i
        default = a.default_value if a.has_default_value() else None
        if key in same and same[key] is ...:
            arguments.append(("alike" if "Tensor" in str(a.type) else "any", named, default, None))
        elif key in same:
            arguments.append(("same", named, default, same[key]))
        elif "Tensor" in str(a.type) and i not in same.get("numbers", ()):
            arguments.append(("whole" if name == "ldexp" and i == 1 else "tensor", named, None, None))
            handles.append(_Register(program.registers))
            program.registers += 1
        elif str(a.type) in ("bool", "str", "Optional[str]", "Optional[Generator]"):
            raise ValueError(f"{overload} has an argument {a.name}")
        else:
            arguments.append(("number", named, default, None))
            handles.append(_Argument(i))
    if name == "glu":
        handles.append(_Register(program.registers))
        program.registers += 1
    recipe(program, *handles)
    halves, more = name == "glu", name == "log_sigmoid_forward"
    large, doubles = name in LARGE or same.get("large", False), same.get("doubles", False)
    return _core.Steps(arguments, program.numbers, program.steps, into, halves, more, wide, large, doubles)


def _exponential(p: P, u: R, rate: Any) -> R:
    return p.formula("over", rate, p.neg(p.log1p(p.neg(u))))


def _geometric(p: P, u: R, chance: Any) -> R:
    made = p.divide(p.log1p(p.neg(u)), p.log1p(-chance, wide=True))
    return p.own(p.formula("max_scalar", 1.0, p.neg(p.whole("floor", p.neg(made)))))


def _cauchy(p: P, u: R, median: Any, sigma: Any) -> R:
    return p.own(p.fma(p.tan(p.multiply(p.subtract(u, 0.5), 3.141592653589793)), sigma, median))


# Of one random number and the numbers of the call.
_OF_DRAWS: dict[str, tuple[Callable[..., R], int]] = {
    "exponential": (_exponential, 1),
    "log_normal": (lambda p, z, mean, std: p.exp(z), 2),
    "geometric": (_geometric, 1),
    "cauchy": (_cauchy, 2),
}


def of_draws(name: str) -> _core.Steps:
    """The steps behind a draw; the last number of the call must be positive."""
    recipe, numbers = _OF_DRAWS[name]
    program = Program()
    program.registers = 1
    recipe(program, _Register(0, name in ("geometric", "cauchy")), *(_Argument(i) for i in range(numbers)))
    arguments: list[tuple[str, str | None, Any, Any]] = [("number", None, None, None)] * numbers
    return _core.Steps(arguments, program.numbers, program.steps, "first")
