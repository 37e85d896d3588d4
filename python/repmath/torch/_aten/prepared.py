"""Calls that are prepared in C, which the mode tries before the table's functions: for the operators that models call most often."""

import functools
from typing import Any

import torch

from ... import _core, _decompositions
from ..._special import functions
from ...nn._attention import _scale
from .. import _blocks, _parameters
from .._deviations import MARK
from .._stepwise import HERE
from .._tensors import fills_memory
from . import foreach_fused, histograms, interpolation, polynomials, special, steps, zeta
from .common import KERNELS, Kernel
from .guards import check_written
from .layers import heads_within_rows, laid_out
from .table import FUNCTIONS, OPERATORS

# By the table's function: what its prepared call is made of.
RECIPES: dict[str, dict[str, Any]] = {
    name: {"rule": "operands", "tensors": _core.ufuncs[name].nin, "function": name}
    for name in _core.ufuncs
    if _core.ufuncs[name].nin == 1 or name in ("hypot", "logaddexp", "atan2", "xlogy", "xlog1py", "silu_backward")
}
RECIPES |= {
    "gelu": {"rule": "gelu", "tensors": 1, "function": "gelu"},
    "gelu_backward": {"rule": "gelu", "tensors": 2, "function": "gelu_backward"},
    "add": {"rule": "sum", "tensors": 2, "function": "add", "other": "add", "formula": "added"},
    "subtract": {"rule": "sum", "tensors": 2, "function": "subtract", "other": "add", "formula": "added", "sign": -1},
    "multiply": {"rule": "operands", "tensors": 2, "function": "multiply", "formula": "scaled"},
    "divide": {"rule": "operands", "tensors": 2, "function": "divide", "formula": "over"},
    "power": {"rule": "power", "tensors": 2, "function": "pow", "other": "multiply"},
    "reciprocal": {"rule": "before", "tensors": 1, "function": "divide", "default": 1.0},
    "rsub": {"rule": "before", "tensors": 1, "function": "subtract"},
    "relu": {"rule": "formula", "tensors": 1, "formula": "max_scalar"},
    "threshold_backward": {"rule": "formula", "tensors": 2, "formula": "gate", "number": 2},
    "tanh_backward": {"rule": "formula", "tensors": 2, "formula": "tanh"},
    "sigmoid_backward": {"rule": "formula", "tensors": 2, "formula": "sigmoid"},
    "maximum": {"rule": "formula", "tensors": 2, "formula": "max"},
    "minimum": {"rule": "formula", "tensors": 2, "formula": "min"},
    "addcmul": {"rule": "formula", "tensors": 3, "formula": "product", "number": "value", "default": 1.0},
    "addcdiv": {"rule": "formula", "tensors": 3, "formula": "quotient", "number": "value", "default": 1.0},
    "lerp": {"rule": "formula", "tensors": 2, "formula": "between", "number": 2},
    "lerp.Tensor": {"rule": "formula", "tensors": 3, "formula": "mix"},
    "leaky_relu": {"rule": "formula", "tensors": 1, "formula": "leaky", "number": 1, "default": 0.01},
    "floor_divide": {"rule": "formula", "tensors": 2, "formula": "floor"},
    **{
        name: {"rule": "formula", "tensors": tensors, "formula": name}
        for tensors, names in (
            (1, ("hardsigmoid", "hardswish")),
            (2, ("hardsigmoid_backward", "hardswish_backward", "fmod", "remainder")),
        )
        for name in names
    },
    "clamp": {"rule": "clamp", "tensors": 1, "formula": "max_scalar"},
    "clamp_min": {"rule": "clamp", "tensors": 1, "formula": "max_scalar"},
    "clamp_max": {"rule": "clamp", "tensors": 1, "formula": "min_scalar"},
    "hardtanh": {"rule": "clamp", "tensors": 1, "formula": "max_scalar"},
}

# Of lists of tensors: what each tensor's call is made of, and how many lists there are. A formula's number is the argument behind them.
LISTS: dict[str, tuple[dict[str, Any], int]] = {
    **{
        f"foreach_{name}_{kind}": (RECIPES[function], lists)
        for name, function in {"add": "add", "sub": "subtract", "mul": "multiply", "div": "divide"}.items()
        for kind, lists in (("list", 2), ("number", 1))
    },
    **{f"foreach_{name}": (RECIPES[name], 1) for name in foreach_fused.UNARY if name in RECIPES},
    "foreach_pow": (RECIPES["power"], 1),
    "foreach_pow_list": (RECIPES["power"], 2),
    "foreach_maximum": (RECIPES["maximum"], 2),
    "foreach_minimum": (RECIPES["minimum"], 2),
    "foreach_clamp_min": (RECIPES["clamp_min"], 1),
    "foreach_clamp_max": (RECIPES["clamp_max"], 1),
    "foreach_lerp": (RECIPES["lerp"], 2),
    "foreach_lerp_list": (RECIPES["lerp.Tensor"], 3),
    "foreach_addcmul": (RECIPES["addcmul"] | {"number": 3}, 3),
    "foreach_addcdiv": (RECIPES["addcdiv"] | {"number": 3}, 3),
}

_PLACES = ("scatter_add", "index_add", "index_put", "put", "scatter_with", "scatter_reduce", "index_reduce")
_GENERAL = ("addmm", "baddbmm", "addmv", "addr", "addbmm")

# By the table's function: prepared calls that make a new tensor.
_MAKERS: dict[str, Any] = {
    **{name: _core.Rows(name) for name in ("softmax", "log_softmax", "softmax_backward", "log_softmax_backward")},
    "safe_softmax": _core.Rows("softmax", True),
    "layer_norm": _core.LayerNorm(MARK),
    "layer_norm_backward": _core.LayerNormGradient(MARK),
    "group_norm": _core.GroupNorm(MARK),
    "group_norm_backward": _core.GroupNormGradient(MARK),
    "batch_norm": _core.BatchNorm(True, True),
    "batch_norm_without_running": _core.BatchNorm(False, True),
    "batch_norm_without_training": _core.BatchNorm(True, False),
    "batch_norm_backward": _core.BatchNormGradient(),
    "mm": _core.Product(2),
    "bmm": _core.Product(3),
    "mv": _core.Vectors(2),
    **{name: _core.Vectors(1) for name in ("dot", "vdot")},
    "linear": _core.Linear(),
    "trilinear": _core.Trilinear(),
    "addmm": _core.Either(_core.Product(2, True), _core.General("addmm", "new")),
    **{name: _core.General(name, "new") for name in _GENERAL if name != "addmm"},
    "attention": _core.Attention(_scale, laid_out, heads_within_rows),
    "attention_backward": _core.Attention(_scale, laid_out, heads_within_rows, True),
    "convolution": _core.Convolution(),
    "convolution_backward": _core.ConvolutionGradient(),
    **{f"{what}_pool{dims}d": _core.Pool(what, dims) for what in ("max", "avg") for dims in (2, 3)},
    **{f"adaptive_{what}_pool{dims}d": _core.Pool(what, dims, True) for what in ("max", "avg") for dims in (2, 3)},
    **{f"avg_pool{dims}d_backward": _core.PoolGradient(dims) for dims in (2, 3)},
    **{f"adaptive_avg_pool{dims}d_backward": _core.PoolGradient(dims, True) for dims in (2, 3)},
    **{f"max_pool{dims}d_backward": _core.MaximaGradient(dims) for dims in (2, 3)},
    "nll_loss_forward": _core.ClassLoss(),
    "nll_loss_backward": _core.ClassLossGradient(),
    **{f"{name}_loss": _core.PairLoss(name) for name in ("mse", "smooth_l1", "huber")},
    **{f"{name}_loss_backward": _core.PairLoss(name, True) for name in ("mse", "smooth_l1", "huber")},
    "binary_cross_entropy_with_logits": _core.LogitLoss(),
    "glu_backward": steps.gate_backward(),
    "weight_norm": _core.WeightNorm(),
    "weight_norm_backward": _core.WeightNorm(True),
    "cdist_forward": _core.Distances(False),
    "cdist_backward": _core.Distances(False, True),
    "pdist_forward": _core.Distances(True),
    "pdist_backward": _core.Distances(True, True),
    "dist": _core.Distance(),
    "linalg_cross": _core.Cross(),
    "grid_sampler": _core.GridSample(),
    "grid_sampler_backward": _core.GridSample(True),
    "multi_margin_loss": _core.Margins(False),
    "multi_margin_loss_backward": _core.Margins(False, True),
    "multilabel_margin_loss_forward": _core.Margins(True),
    "multilabel_margin_loss_backward": _core.Margins(True, True),
    "histc": _core.Histogram(histograms.edges_of),
    "bincount": _core.WeightedCounts(),
    "linspace": _core.Spaced(),
    "segment_reduce": _core.Segments(False),
    "segment_reduce_backward": _core.Segments(True),
    **{
        name: _core.Counts(name)
        for name in ("histogram", "histogram_of_edges", "histogramdd", "histogramdd_edges", "histogramdd_of_edges")
    },
    **{f"fractional_max_pool{dims}d": _core.FractionalPool(dims) for dims in (2, 3)},
    **{f"fractional_max_pool{dims}d_backward": _core.FractionalPoolGradient(dims) for dims in (2, 3)},
    "embedding_dense_backward": _core.EmbeddingGradient(),
    "embedding_bag_backward": _core.BagGradient(),
    "embedding_bag_weights_backward": _core.BagWeightGradient(),
    **{name: _core.Resized(terms(False), dims) for name, (dims, terms) in interpolation.SIZED.items()},
    **{f"{name}_backward": _core.Resized(terms(True), dims, True) for name, (dims, terms) in interpolation.SIZED.items()},
    **{
        name: _core.Total(name)
        for name in ("sum", "mean", "var", "std", "nansum", "var_mean", "std_mean", "logsumexp", "prod")
    },
    "trace": _core.Trace(),
    "vector_norm": _core.Total("norm"),
    "norm_dim": _core.Total("norm"),
    "foreach_norm": _core.Norms(),
    **polynomials.CALLS,
    **special.CALLS,
    "polygamma": zeta.CALL,
}

# The same, but not for the table's functions as steps of others, whose arithmetic may be another (_decompositions.HERE).
_DECOMPOSED: dict[str, Any] = {
    "linalg_eigh": _core.Eigh(_decompositions._rounds),
    "linalg_svd": _core.Svd(_decompositions._rounds),
    "linalg_qr": _core.Qr(),
    "linalg_pinv": _core.Inverted(_decompositions._rounds, False),
    "linalg_lstsq": _core.Inverted(_decompositions._rounds, True),
}


_FILLS = frozenset(
    {
        torch.ops.aten.full.default,
        torch.ops.aten.scalar_tensor.default,
        torch.ops.aten.arange.default,
        torch.ops.aten.arange.start,
        torch.ops.aten.arange.start_step,
    }
)


# What is exact as PyTorch computes it, but for the bits of a NaN.
_CLEANED = frozenset(
    getattr(torch.ops.aten, f"{name}{place}").default
    for name in ("ceil", "floor", "trunc", "round", "frac", "nextafter")
    for place in ("", "_")
) | {torch.ops.aten.angle.default}


def _call(overload: Any, function: Any) -> _core.Call | None:
    """The prepared call of an operator; None where it has none."""
    if function is None:
        return _core.Passed()
    if overload is torch.ops.aten.clone.default:
        return _core.Cloned(MARK, overload)
    if overload in _FILLS:
        return _core.Filled(overload, overload.overloadpacket is torch.ops.aten.arange)
    if getattr(function, "plainly", False) or getattr(function, "compares", False):
        return _core.Moved(overload, hasattr(function, "compares"))
    if overload in _CLEANED:
        return _core.Cleaned(overload, len(overload._schema.arguments))
    name = OPERATORS[overload].function
    into = "new"
    if overload.overloadpacket.__name__.endswith("_"):
        into = "first"
    elif any(a.is_out for a in overload._schema.arguments):
        into = "out"
    if name in ("magnitude", "foreach_abs"):
        return None if into == "out" else _core.Moved(overload, real=True)
    if name == "to_copy":
        return _core.Cast(overload) if into == "new" else None
    if name in LISTS:
        recipe, lists = LISTS[name]
        return None if into == "out" else _core.Foreach(_core.Elementwise(into="new", **recipe), lists, into == "first")
    if name in ("fused_adam", "fused_adamw", "fused_sgd"):
        return _core.Fused(name.removeprefix("fused_"))
    if name in functions.NUMBERS:
        tensors = 2 if name in special.OF_TWO else 1
        return _core.Pointwise(functions.NUMBERS[name], tensors, into) if into != "out" else None
    if name in _PLACES:
        return None if into == "out" else _core.Scattered(name, into)
    if OPERATORS[overload].way == "draws":
        return _drawn(overload, name, into)
    if name == "copy":
        return _core.Copied(overload) if into == "first" else None
    if name in ("amax", "amin", "aminmax"):
        return _core.Extreme(overload) if into == "new" else None
    if name in ("cumsum", "cumprod", "logcumsumexp"):
        return None if into == "out" else _core.Prefixes(name, into)
    if name in _GENERAL and into == "first":
        return _core.General(name, into)
    if name in ("renorm", "index_copy"):
        return None if into == "out" else (_core.Renorm if name == "renorm" else _core.LineCopy)(into)
    if name == "embedding_bag":
        return _core.Bags(overload) if into == "new" else None
    if name == "embedding_renorm":
        return _core.Renorm(into, True) if into == "first" else None
    if name in steps.TERMS:
        return steps.loss(overload, name) if into == "new" else None
    if name in _MAKERS or name in _DECOMPOSED:
        made: _core.Call = _MAKERS[name] if name in _MAKERS else _DECOMPOSED[name]
        return made if into == "new" else _core.Given(made) if into == "out" else None
    # An overload's recipe goes before that of the function.
    own = RECIPES.get(f"{name}.{overload._overloadname.removesuffix('_out')}", RECIPES.get(name))
    found = ([] if own is None else [_core.Elementwise(into=into, **own)]) + steps.calls(overload, name, into)
    return None if not found else found[0] if len(found) == 1 else _core.Either(*found)


# What follows from random numbers: the draw, the numbers that are not given, and whether it is of binary64.
_AFTER: dict[str, tuple[str, tuple[float, float], bool]] = {
    "exponential": ("uniform", (1.0, 1.0), False),
    "log_normal": ("normal", (1.0, 2.0), False),
    "geometric": ("uniform", (0.0, 1.0), True),
    "cauchy": ("uniform", (0.0, 1.0), True),
}


def _drawn(overload: Any, name: str, into: str) -> _core.Call | None:
    if into == "out":
        return None
    if name == "normal_of" and overload._overloadname != "float_float":
        return _core.NormalOf() if overload._overloadname == "Tensor_Tensor" else None
    if name == "multinomial":
        return _core.Race()
    if name in ("bernoulli_of", "rrelu_with_noise"):
        return (_core.Chances if name == "bernoulli_of" else _core.NoisySlopes)(into)
    if name in _AFTER:
        draw, numbers, wide = _AFTER[name]
        return _core.Drawn(draw, into, numbers, steps=steps.of_draws(name), wide=wide) if into == "first" else None
    for like in ("rand", "randn", "randint"):
        if name == f"{like}_like":
            return _core.Drawn(like, into, like=True)
    if name in ("uniform", "normal", "rand", "randn", "randint", "randperm", "normal_of"):
        return _core.Drawn(name, into) if into == ("first" if name in ("uniform", "normal") else "new") else None
    return _core.Drawn(name, into, (0.5, 0.0)) if name == "bernoulli" and into == "first" else None


def _tried(call: _core.Call, function: Kernel) -> Kernel:
    """A table's function, as a step of others: its call is tried first."""

    @functools.wraps(function)
    def either(*args: Any, **kwargs: Any) -> Any:
        made: Any = call(*args, **kwargs) if HERE.steps is None else NotImplemented
        return function(*args, **kwargs) if made is NotImplemented else made

    return either


_FEW = 1 << 12  # elements up to which steps are taken for any operator


def _packed(t: torch.Tensor) -> torch.Tensor:
    """A tensor whose elements lie apart, or are repeated, as one that fills its memory, in the order that PyTorch gives a result of it."""
    return t if t.is_contiguous() or fills_memory(t) else torch.empty_like(t).copy_(t)


def _without_gaps(overload: Any, call: _core.Call, function: Any, large: bool) -> Any:
    """The table's function of an operator whose steps, which take tensors without gaps, are faster for copies."""
    in_place = overload.overloadpacket.__name__.endswith("_")

    def before(function: Any) -> Any:
        def either(*args: Any, **kwargs: Any) -> Any:
            tensors = [t for t in args if isinstance(t, torch.Tensor)]
            some = large or (kwargs.get("rounding_mode") == "trunc" and bool(tensors) and tensors[0].dtype is torch.float64)
            if HERE.steps is None and "out" not in kwargs and (some or all(t.numel() <= _FEW for t in tensors)):
                packed = [_packed(t) if isinstance(t, torch.Tensor) else t for t in args]
                if any(a is not b for a, b in zip(packed, args, strict=True)):
                    if in_place:
                        check_written(overload, args[0], args, kwargs, args[1:])
                    made: Any = call(*packed, **kwargs)
                    if made is not NotImplemented:
                        return args[0].copy_(made) if in_place and made is not args[0] else made
            return function(*args, **kwargs)

        return either

    made = before(function)
    if hasattr(function, "of_floats"):
        made.of_floats = before(function.of_floats)
    if hasattr(function, "integers"):
        made.integers = function.integers
    return made


def _prepare() -> None:
    _core.prepare_making(torch)
    _core.prepare_attention(torch)
    _core.prepare_torch(torch, _blocks.entered, _parameters.known_parameters)
    _core.prepare_functions(FUNCTIONS)
    for overload, function in list(FUNCTIONS.items()):
        call = _call(overload, function)
        if call is not None:
            _core.prepare_call(overload, call)
        name = OPERATORS[overload].function
        if call is not None and name in steps.RECIPES and name != "glu":
            FUNCTIONS[overload] = _without_gaps(overload, call, function, name in steps.LARGE)
    simple = {name: _core.Elementwise(into="new", **recipe) for name, recipe in RECIPES.items() if name in KERNELS}
    places = {name: _core.Scattered(name, "new") for name in _PLACES}
    for name, call in (simple | places | _MAKERS).items():
        KERNELS[name] = _tried(call, KERNELS[name])


_prepare()
