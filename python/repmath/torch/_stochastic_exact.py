"""Values of operators of `_stochastic_wide`, enclosed to any number of bits: for the few elements whose results in binary64 leave their roundings open.

Each is written from its line in `_aten/operators.txt`, over rational numbers and `Interval`; what is rational is exact. So a threshold that a value lies
beside, or on, is told from it.

Sums, of numbers or of products, are taken apart by the operator itself (SUMS). Such an operator is linear in each tensor of a term: of its parts, an
argument of whole numbers for each tensor, it returns the sum S of whole numbers divided by whole numbers whose least common multiple is at most N, rounded to
binary64. Arguments are cut into slices of few bits, each of which is whole in a unit of its own, so that the result r is small: where 2 N² |r| < 2^53 the
value is the one quotient of denominator N or less within 2^-53 |r| of r, since two such quotients differ by 1/N² at least. The values of all slices, times their
units, are added as rational numbers.

Functions that are no quotients are those of `_special` and `_aten`, by the enclosures that these give to `enclosures.decided`."""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import torch

from .._random_balls import Interval
from .._random_special import enclosed
from .._special import bessel, functions
from ._aten import polynomials, zeta
from ._aten.common import deciding
from ._tensors import FORMATS
from ._tensors import array_inside as as_array
from ._tensors import tensor_inside as as_tensor

Value: TypeAlias = Callable[[int, int], Interval]  # of a place in C order, to so many bits
NARROW = {kind for kind in FORMATS if kind is not torch.float64}


class Unknown(Exception):
    """Not here, and why."""


OPEN = "of elements within 2^-52 of a threshold it is"


class Call:
    """A call by the names of its arguments, and the shape of the result that is asked about. The library's own operators have `input` where PyTorch has
    `self`, which stands for it here."""

    def __init__(self, func: Any, args: Any, kwargs: Any, number: int, shape: tuple[int, ...]) -> None:
        self.func, self.number, self.shape = func, number, shape
        own, arguments = func.namespace == "repmath", func._schema.arguments
        self.names = ["self" if own and a.name == "input" else a.name for a in arguments]
        given = (a.default_value if a.has_default_value() else None for a in arguments)
        self.values = dict(zip(self.names, given, strict=True)) | dict(zip(self.names, args, strict=False)) | kwargs
        self.positional = len(args)  # all, of the library's own

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def array(self, name: str) -> Any:
        return np.asarray(as_array(self.values[name]), np.float64)

    def run(self, changes: dict[str, Any]) -> Any:
        """The result with other arguments, in binary64."""
        wide = {n: widened(v) for n, v in self.values.items()} | changes
        args = [wide[n] for n in self.names[: self.positional]]
        made = self.func(*args, **{n: wide[n] for n in self.names[self.positional :]})
        return as_array(made[self.number] if isinstance(made, (list, tuple)) else made).reshape(-1)


def widened(value: Any) -> Any:
    """An argument in binary64, of formats below."""
    if isinstance(value, torch.Tensor):
        if value.is_floating_point() or value.is_complex():
            if value.dtype not in FORMATS or not value.is_cpu:
                raise Unknown("of other formats it is")
            return value.to(torch.float64)
        return value
    if isinstance(value, torch.dtype):
        return torch.float64 if value in NARROW else value
    if isinstance(value, (list, tuple)):
        return type(value)(widened(v) for v in value)
    return value


def _floats(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def number(value: float) -> Fraction:
    if not math.isfinite(value):
        raise Unknown("of infinities and NaN it is")
    return Fraction(value)


# --- elements of formulas

_HALF = Fraction(1, 2)


def _clipped(x: Fraction, size: Fraction) -> Fraction:
    return max(-size, min(x, size))


def _rrelu(g: Fraction, x: Fraction, noise: Fraction, low: Fraction, high: Fraction, trained: Fraction) -> Fraction:
    if trained and float(high) - float(low) > 1e-6:
        return g * noise
    return g if x > 0 else g * Fraction((float(low) + float(high)) / 2)


def smooth(x: Fraction, y: Fraction, beta: Fraction) -> Fraction:
    d = abs(x - y)
    return d * d / (2 * beta) if d < beta else d - beta / 2


def huber(x: Fraction, y: Fraction, delta: Fraction) -> Fraction:
    d = abs(x - y)
    return d * d / 2 if d <= delta else delta * (d - delta / 2)


ELEMENTS: dict[str, tuple[str, Callable[..., Fraction]]] = {
    "add": ("self other alpha", lambda x, y, a: x + a * y),
    "sub": ("self other alpha", lambda x, y, a: x - a * y),
    "mul": ("self other", lambda x, y: x * y),
    "rsub": ("self other alpha", lambda x, y, a: y - a * x),
    "deg2rad": ("self", lambda x: x * Fraction(0.017453292519943295)),
    "rad2deg": ("self", lambda x: x * Fraction(57.29577951308232)),
    "lerp": ("self end weight", lambda x, y, w: x + w * (y - x)),
    "leaky_relu": ("self negative_slope", lambda x, a: x if x > 0 else a * x),
    "leaky_relu_backward": ("grad_output self negative_slope", lambda g, x, a: g if x > 0 else a * g),
    "_prelu_kernel": ("self weight", lambda x, w: x if x > 0 else w * x),
    "hardsigmoid": ("self", lambda x: max(Fraction(0), min((x + 3) / 6, Fraction(1)))),
    "hardsigmoid_backward": ("grad_output self", lambda g, x: g / 6 if -3 < x < 3 else Fraction(0)),
    "softshrink": ("self lambd", lambda x, a: x - _clipped(x, a)),
    "floor_divide": ("self other", lambda x, y: Fraction(x // y)),
    "remainder": ("self other", lambda x, y: x - y * (x // y)),
    "native_dropout_backward": ("grad_output mask scale", lambda g, kept, a: g * a if kept else Fraction(0)),
    "rrelu_with_noise_backward": ("grad_output self noise lower upper training", _rrelu),
}


def element(call: Call, names: str, formula: Callable[..., Fraction]) -> Value:
    columns = []
    for name in names.split():
        given = call[name]
        array = np.asarray(as_array(given)) if isinstance(given, torch.Tensor) else np.asarray(given)
        columns.append(np.broadcast_to(array.astype(np.float64), call.shape))

    def value(place: int, bits: int) -> Interval:
        at = np.unravel_index(place, call.shape)
        return point(formula(*(number(float(c[at])) for c in columns)), bits)

    return value


def point(value: Fraction | int, bits: int) -> Interval:
    exact = Fraction(value)
    return Interval(exact, exact, bits)


def _divided(call: Call) -> Value:
    whole: dict[Any, Callable[[Fraction], Fraction]] = {
        None: lambda q: q,
        "floor": lambda q: Fraction(q // 1),
        "trunc": lambda q: Fraction(int(q)),
    }
    mode = whole[call.values.get("rounding_mode")]  # integers are divided without one
    return element(call, "self other", lambda x, y: mode(x / y))


def _prelu_backward(call: Call) -> Value:
    def of_x(g: Fraction, x: Fraction, w: Fraction) -> Fraction:
        return g if x > 0 else w * g

    def of_weight(g: Fraction, x: Fraction, w: Fraction) -> Fraction:
        return Fraction(0) if x > 0 else x * g

    return element(call, "grad_output self weight", of_weight if call.number else of_x)


def _loss(name: str, formula: Callable[[Fraction, Fraction, Fraction], Fraction]) -> Callable[[Call], Value]:
    """A loss of pairs: each one, their sum, or their mean."""

    def make(call: Call) -> Value:
        if call["reduction"] == 0:
            return element(call, f"self target {name}", formula)
        x, y = (v.reshape(-1).tolist() for v in np.broadcast_arrays(call.array("self"), call.array("target")))
        size = number(call[name])

        def value(place: int, bits: int) -> Interval:
            total = sum((formula(number(a), number(b), size) for a, b in zip(x, y, strict=True)), Fraction(0))
            return point(total / len(x) if call["reduction"] == 1 else total, bits)

        return value

    return make


def _glu(call: Call) -> Value:
    x, y = np.split(call.array("self"), 2, call["dim"])
    left, right = x.reshape(-1), y.reshape(-1)

    def value(place: int, bits: int) -> Interval:
        a, b = (point(number(float(v[place])), bits) for v in (left, right))
        e = (b if b.low < 0 else -b).exp()
        return a * (e if b.low < 0 else 1.0) / (e + 1.0)

    return value


# --- rows


def _axes(dims: Any, axes: int) -> tuple[int, ...]:
    if dims is None or dims == []:
        return tuple(range(axes))
    return tuple(d % axes for d in ([dims] if isinstance(dims, int) else dims)) if axes else ()


def _rows(call: Call, name: str, dims: Any) -> Any:
    """The rows that are reduced, in C order of the result."""
    a = call.array(name)
    axes = _axes(dims, a.ndim)
    kept = [d for d in range(a.ndim) if d not in axes]
    return a.transpose(*kept, *axes).reshape(math.prod(a.shape[d] for d in kept), -1)


def _reduced(call: Call, rows: Any, formula: Callable[..., Any]) -> Value:
    def value(place: int, bits: int) -> Interval:
        made = formula(*(number(v) for v in rows[place].tolist()))
        return made(bits) if callable(made) else point(made, bits)

    return value


def _product(*row: Fraction) -> Fraction:
    return math.prod(row, start=Fraction(1))


def _cumulative_product(call: Call) -> Value:
    a = call.array("self")
    axis = call["dim"] % max(a.ndim, 1)
    lines = np.moveaxis(a, axis, -1) if a.ndim else a.reshape(1)

    def value(place: int, bits: int) -> Interval:
        at = list(np.unravel_index(place, call.shape)) if a.ndim else [0]
        k = at.pop(axis)
        return point(_product(*(number(v) for v in lines[tuple(at)][: k + 1].tolist())), bits)

    return value


def _moment(root: bool, name: str = "self") -> Callable[[Call], Value]:
    """The variance or its root; in a second result the mean."""

    def make(call: Call) -> Value:
        rows = _rows(call, name, call["dim"])
        correction = call["correction"]
        less = number(float(1 if correction is None else correction))

        def formula(*row: Fraction) -> Any:
            mean = sum(row, Fraction(0)) / len(row)
            if call.number:
                return mean
            variance = sum(((v - mean) ** 2 for v in row), Fraction(0)) / max(len(row) - less, Fraction(0))
            return (lambda bits: point(variance, bits).sqrt()) if root else variance

        return _reduced(call, rows, formula)

    return make


def _log_sum(call: Call) -> Value:
    def formula(*row: Fraction) -> Any:
        top = max(row)

        def value(bits: int) -> Interval:
            total = point(0, bits)
            for v in row:
                total = total + point(v - top, bits).exp()
            return total.log() + point(top, bits)

        return value

    return _reduced(call, _rows(call, "self", call["dim"]), formula)


# --- sums, by the operator itself

# The tensors of each term, and the argument that multiplies it.
_TERMS: dict[str, list[tuple[tuple[str, ...], str | None]]] = {
    **dict.fromkeys(
        ("cumsum", "col2im", "trace", "nansum", "_adaptive_avg_pool2d", "_adaptive_avg_pool3d"), [(("self",), None)]
    ),
    **dict.fromkeys(("avg_pool2d", "avg_pool3d"), [(("self",), None)]),
    "index_add": [(("self",), None), (("source",), "alpha")],
    "scatter_add": [(("self",), None), (("src",), None)],
    **dict.fromkeys(("index_put", "_index_put_impl", "_unsafe_index_put"), [(("self",), None), (("values",), None)]),
    "_unsafe_masked_index_put_accumulate": [(("self",), None), (("values",), None)],
    "unfold_backward": [(("grad_in",), None)],
    "addmm": [(("self",), "beta"), (("mat1", "mat2"), "alpha")],
    "addmv": [(("self",), "beta"), (("mat", "vec"), "alpha")],
    "addr": [(("self",), "beta"), (("vec1", "vec2"), "alpha")],
    **dict.fromkeys(("addbmm", "baddbmm"), [(("self",), "beta"), (("batch1", "batch2"), "alpha")]),
    "linalg_cross": [(("self", "other"), None)],
    "vdot": [(("self", "other"), None)],
    "_grouped_mm": [(("self", "mat2"), None)],
    "_embedding_bag_per_sample_weights_backward": [(("grad", "weight"), None)],
    **dict.fromkeys(("sum", "mean", "over", "avg_pool", "adaptive_avg_pool"), [(("self",), None)]),
    **dict.fromkeys(("max_pool_backward", "avg_pool_backward", "adaptive_avg_pool_backward"), [(("grad_output",), None)]),
    "embedding_grad": [(("grad_output",), None)],
    "conv_grad_input": [(("grad_output", "weight"), None)],
}
_GRADIENTS = (
    "_pad1d_backward",
    "_pad2d_backward",
    "_pad3d_backward",
    "_upsample_nearest_exact1d_backward",
    "_upsample_nearest_exact2d_backward",
    "_upsample_nearest_exact3d_backward",
    "upsample_nearest1d_backward",
    "upsample_nearest2d_backward",
    "upsample_nearest3d_backward",
    "max_pool2d_backward",
    "max_pool3d_backward",
    "max_pool3d_with_indices_backward",
    "avg_pool2d_backward",
    "avg_pool3d_backward",
)


def _terms(call: Call, name: str) -> list[tuple[tuple[str, ...], str | None]] | None:
    if name.endswith(_GRADIENTS):
        return [(("grad_output",), None)]
    if name in ("linear", "conv", "conv_transpose"):
        return [(("bias",), None), ((call.names[0], "weight"), None)]
    if name == "conv_grad_weight":
        return [(("grad_output", "self"), None)]
    if name == "scatter" and call.values.get("reduce") == "add" and isinstance(call.values.get("src"), torch.Tensor):
        return [(("self",), None), (("src",), None)]
    if name in ("_embedding_bag", "_embedding_bag_forward_only") and call["mode"] != 2:
        return [(("weight",) if call["per_sample_weights"] is None else ("weight", "per_sample_weights"), None)]
    return _TERMS.get(name)


def divisors(call: Call, name: str) -> int:
    """N: what every divisor divides, of sums that are divided; 1 of others."""
    if name.startswith("_embedding_bag"):
        return math.lcm(*range(1, int(call["indices"].numel()) + 1)) if call["mode"] == 1 else 1
    if name == "over":
        return int(call["n"])
    if name == "mean":
        return max(1, int(call["self"].numel()) // max(1, math.prod(call.shape)))
    if "avg_pool" not in name:
        return 1
    if call.func.namespace == "repmath":
        return _own_divisors(call, name)
    dims = int(name.removesuffix("_backward")[-2])
    if "adaptive" in name:
        big, small = (call["self"], call["grad_output"].shape) if name.endswith("_backward") else (call["self"], call.shape)
        return _bins(big.shape[-dims:], small[-dims:])
    if call["divisor_override"]:
        return abs(int(call["divisor_override"]))
    sizes = call["kernel_size"]
    sizes = list(sizes) * dims if len(sizes) == 1 else sizes
    if any(call["padding"] or ()) or call["ceil_mode"]:
        return math.prod(math.lcm(*range(1, k + 1)) for k in sizes)
    return math.prod(sizes)


def _bins(sizes: Any, counts: Any) -> int:
    """What the sizes of all bins divide that `counts` numbers of bins have along axes of these sizes."""
    return math.prod(
        math.lcm(*{-(-(i + 1) * n // m) - i * n // m for i in range(m)}) for n, m in zip(sizes, counts, strict=True)
    )


def _own_divisors(call: Call, name: str) -> int:
    """Of the library's own average pools."""
    if name.startswith("adaptive"):
        if name.endswith("_backward"):
            dims = len(call["input_size"]) - 2
            return _bins(call["input_size"][-dims:], call["grad_output"].shape[-dims:])
        dims = len(call["output_size"])
        return _bins(call["self"].shape[-dims:], call.shape[-dims:])
    if call["divisor"]:
        return abs(int(call["divisor"]))
    if any(call["padding"]) or call["ceil_mode"]:
        return math.prod(math.lcm(*range(1, k + 1)) for k in call["kernel"])
    return math.prod(call["kernel"])


def _slices(a: Any, bits: int) -> list[tuple[Any, int]]:
    """Arrays of whole numbers below 2^bits, and exponents: times 2 to these they add up to the finite elements of one."""
    rest, found = np.where(np.isfinite(a), a, 0.0), []
    while rest.any():
        unit = math.frexp(float(np.abs(rest).max()))[1] - bits
        part = np.trunc(np.ldexp(rest, -unit))
        found.append((part, unit))
        rest = rest - np.ldexp(part, unit)
    return found


def sums(call: Call, name: str, places: list[int]) -> dict[int, Fraction]:
    """The values at these places."""
    terms = _terms(call, name)
    if terms is None:
        raise Unknown(OPEN)
    n = divisors(call, name)
    floats = [k for k, v in call.values.items() if _floats(v)]
    factors = {k: 1 for _, k in terms if k is not None}
    none = {k: torch.zeros_like(call[k], dtype=torch.float64) for k in floats}
    found = dict.fromkeys(places, Fraction(0))
    for tensors, factor in terms:
        if any(call[k] is None for k in tensors):
            continue
        scale = number(float(1 if factor is None else call[factor]))
        for bits in (12, 8, 4):
            if 2 * n * n >> (53 - bits * len(tensors)):
                continue
            total = _added(call, none | factors, tensors, [_slices(call.array(k), bits) for k in tensors], n, places)
            if total is not None:
                break
        else:
            raise Unknown("of elements within 2^-52 of a threshold, over so many, it is")
        for place, value in zip(places, total, strict=True):
            found[place] += scale * value
    return found


def _added(call: Call, fixed: Any, tensors: Any, slices: Any, n: int, places: list[int]) -> list[Fraction] | None:
    total = [Fraction(0)] * len(places)
    for parts in itertools.product(*slices):
        unit = Fraction(2) ** sum(e for _, e in parts)
        changes = {k: as_tensor(np.array(v)) for k, (v, _) in zip(tensors, parts, strict=True)}
        made = call.run({k: v.clone() if isinstance(v, torch.Tensor) else v for k, v in fixed.items()} | changes)
        for i, r in enumerate(made[places].tolist()):
            share = Fraction(r)
            if 2 * n * n * abs(share) >= 2**53:
                return None
            total[i] += share.limit_denominator(n) * unit
    return total


# --- functions of `_aten`


def _pointwise(names: str, which: str, function: Callable[..., float], at_zero: int | None = None) -> Callable[[Call], Value]:
    def make(call: Call) -> Value:
        columns = [
            np.broadcast_to(call.array(n) if isinstance(call[n], torch.Tensor) else np.float64(call[n]), call.shape)
            for n in names.split()
        ]

        def value(place: int, bits: int) -> Interval:
            at = np.unravel_index(place, call.shape)
            if at_zero is not None and columns[0][at] == 0:
                return point(at_zero, bits)
            with deciding():
                return enclosed(which, function, tuple(float(c[at]) for c in columns), bits)

        return value

    return make


def _polynomial(name: str) -> Callable[[Call], Value]:
    family = polynomials.FAMILIES[name]

    def make(call: Call) -> Value:
        return element(
            call,
            "x n",
            lambda x, n: Fraction(*polynomials._exact(family, x, int(n))) if int(n) > 0 else Fraction(int(n) == 0),
        )

    return make


_BESSEL_NAMES = {
    "i0": "i0 special_modified_bessel_i0",
    "i1": "special_i1 special_modified_bessel_i1",
    "i0e": "special_i0e",
    "i1e": "special_i1e",
    "j0": "special_bessel_j0",
    "j1": "special_bessel_j1",
}
_SPECIAL_NAMES = {
    "y0": "special_bessel_y0",
    "y1": "special_bessel_y1",
    "k0": "special_modified_bessel_k0",
    "k1": "special_modified_bessel_k1",
    "k0e": "special_scaled_modified_bessel_k0",
    "k1e": "special_scaled_modified_bessel_k1",
    "spherical_j0": "special_spherical_bessel_j0",
    "airy": "special_airy_ai",
}


def _bessel(kind: tuple[int, int, bool]) -> Callable[..., float]:
    return lambda x, dtype: bessel.one(x, *kind, dtype)


def _kaiser(call: Call) -> Value:
    """Of a window: place, and what a function of places gives."""
    length, beta = int(call["window_length"]), float(call.values.get("beta", 12.0))
    d = length if call.values.get("periodic", True) else length - 1

    def value(place: int, bits: int) -> Interval:
        if length < 2:
            return point(1, bits)
        j = float(min(place, d - place))
        return enclosed("kaiser", lambda i, dtype: bessel.kaiser([int(i)], d, beta, dtype)[0], (j,), bits)

    return value


MADE: dict[str, Callable[[Call], Value]] = {
    "kaiser_window": _kaiser,
    "div": _divided,
    "_prelu_kernel_backward": _prelu_backward,
    "smooth_l1_loss": _loss("beta", smooth),
    "huber_loss": _loss("delta", huber),
    "glu": _glu,
    "prod": lambda call: _reduced(call, _rows(call, "self", call.values.get("dim")), _product),
    "cumprod": _cumulative_product,
    "var": _moment(False),
    "std": _moment(True),
    "var_mean": _moment(False),
    "std_mean": _moment(True),
    "logsumexp": _log_sum,
    **{
        name: _pointwise("self", which, _bessel(kind), int(kind[0] == 0))
        for which, kind in bessel.KINDS.items()
        for name in _BESSEL_NAMES[which].split()
    },
    **{
        name: _pointwise(
            "x" if which in ("k0e", "k1e", "spherical_j0", "airy") else "self", which, functions.FUNCTIONS[which]
        )
        for which, name in _SPECIAL_NAMES.items()
    },
    "special_zeta": _pointwise("self other", "zeta", functions.FUNCTIONS["zeta"]),
    "igamma": _pointwise("self other", "igamma", functions.FUNCTIONS["igamma"]),
    "igammac": _pointwise("self other", "igammac", functions.FUNCTIONS["igammac"]),
    "polygamma": _pointwise("self n", "polygamma", lambda x, n, dtype: zeta._one(x, int(n), dtype)),
    **{f"special_{name}": _polynomial(name) for name in polynomials.FAMILIES},
}
