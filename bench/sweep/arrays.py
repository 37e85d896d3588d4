"""The NumPy side: each function of arrays beside NumPy's, SciPy's where NumPy has none, or PyTorch's where neither has one.

The arrays are made before; results are allocated by both sides, and by neither where a ufunc writes into one that is given.
"""

import functools

import numpy as np

import repmath
from repmath import nn, optim
from repmath._dtypes import FORMATS

from ..rivals import inputs, rivals
from . import values
from .cases import DTYPES, Calls, Skip, crossed
from .functions import VALUES, Shape

SIZES = {"16 Ki": 1 << 14, "1": 1, "100": 100, "strided": 1 << 14, "4 Mi": 1 << 22}
SHAPES = ((256, 256), (16, 4096), (4096, 8), (4, 4), (1, 1024), (2048, 2048))


def calls(ours, name, theirs):
    """Neither is told of overflow."""
    return Calls({"repmath": ours, name: theirs}, dict.fromkeys(("repmath", name), lambda: np.errstate(all="ignore")))


def array(data, shape, dtype, seed=0):
    return values.make(data, tuple(shape), dtype, seed).astype(FORMATS[dtype])


def laid(shape, data, dtype, seed=0):
    size, layout = shape
    if layout == "transposed":
        return array(data, size[::-1], dtype, seed).T
    if layout == "sliced":
        return array(data, (*size[:-1], 2 * size[-1]), dtype, seed)[..., ::2]
    if layout == "broadcast":
        return np.broadcast_to(array(data, (1, *size[1:]), dtype, seed), size)
    return array(data, size, dtype, seed)


def elementwise_calls(function, ufunc, size, dtype, data, direction):
    n = SIZES[size]
    x = inputs(function, ufunc.nin, dtype, 2 * n if size == "strided" else n)
    if data != "gaussian":
        x[0] = array(data, x[0].shape, dtype)
    if size == "strided":
        x = [v[::2] for v in x]
    out = np.empty_like(x[0])
    with np.errstate(all="ignore"):
        other = rivals(function, dtype, x)
    if not other:
        raise Skip("no library has it")
    name, call = next(iter(other.items()))
    return calls(lambda: ufunc(*x, out=out), name, call)


def beside(name):
    """NumPy's function of that name."""
    ours, theirs = getattr(repmath, name), getattr(np, name)
    return lambda **options: (lambda *x: ours(*x, **options), lambda *x: theirs(*x, **options))


def of_scipy(name, ours):
    import scipy.special

    def call(x):
        return getattr(scipy.special, name)(x, axis=-1)

    call.library = "SciPy"
    return (lambda x: ours(x, -1)), call


def of_torch(ours, theirs):
    """theirs takes tensors that share the arrays' memory."""
    import torch

    def call(*x):
        with torch.no_grad():
            return theirs(*x)

    call.library = "PyTorch"
    return ours, call


def numbers(shape, high, seed=0):
    return np.random.default_rng(seed).integers(0, high, shape)


def added(x, index, source):
    x = x.copy()
    np.add.at(x, index, source)
    return x


def scattered(x, source):
    at = numbers(source.shape, x.shape[0], 3)
    x = x.copy()
    np.add.at(x, (at, np.arange(x.shape[1])[None]), source)
    return x


def convolution(dims):
    import torch

    f = getattr(torch.nn.functional, f"conv{dims}d")
    return of_torch(getattr(repmath, f"conv{dims}d"), f)


# name -> (ours, the other's), and the shapes of the operands by that of the first
def table():
    import torch
    from torch.nn import functional as F

    one = lambda s: (s,)  # noqa: E731
    row = lambda s: (s, s[-1:], s[-1:])  # noqa: E731
    two = lambda s: (s, s)  # noqa: E731
    reductions = {
        f"{name} {'all' if axis is None else f'over {axis}'}": (beside(name)(axis=axis), one)
        for name in ("sum", "mean", "var", "std")
        for axis in (1, 0, None)
    }
    found = {
        **reductions,
        "cumsum over 1": (beside("cumsum")(axis=1), one),
        "cumsum over 0": (beside("cumsum")(axis=0), one),
        "norm": ((repmath.norm, np.linalg.norm), one),
        "norm over 1": ((lambda x: repmath.norm(x, axis=1), lambda x: np.linalg.norm(x, axis=1)), one),
        "matmul": (beside("matmul")(), lambda s: (s, (s[1], min(s[1], 128)))),
        "matmul, transposed": ((lambda x, y: repmath.matmul(x, y.T), lambda x, y: x @ y.T), lambda s: (s, (min(s[0], 128), s[1]))),
        "matvec": (beside("matvec")(), lambda s: (s, s[1:])),
        "vecmat": ((lambda x, y: repmath.vecmat(y, x), lambda x, y: np.vecmat(y, x)), lambda s: (s, s[:1])),
        "vecdot": (beside("vecdot")(), two),
        "vdot": (beside("vdot")(), two),
        "dot": ((lambda x, y: repmath.dot(x.reshape(-1), y.reshape(-1)), lambda x, y: np.dot(x.reshape(-1), y.reshape(-1))), two),
        "tensordot": (beside("tensordot")(axes=2), two),
        "einsum ij,jk": (
            (lambda x, y: repmath.einsum("ij,jk->ik", x, y), lambda x, y: np.einsum("ij,jk->ik", x, y, optimize=True)),
            lambda s: (s, (s[1], 16)),
        ),
        "einsum ij->j": ((lambda x: repmath.einsum("ij->j", x), lambda x: np.einsum("ij->j", x)), one),
        "bincount": (
            (
                lambda x: repmath.bincount(numbers(x.shape[:1], 16), x[:, 0]),
                lambda x: np.bincount(numbers(x.shape[:1], 16), x[:, 0]),
            ),
            one,
        ),
        "index_add": (
            (
                lambda x, y: repmath.index_add(x, numbers(len(y), len(x)), y),
                lambda x, y: added(x, numbers(len(y), len(x)), y),
            ),
            two,
        ),
        "scatter_add": (
            (lambda x, y: repmath.scatter_add(x, 0, numbers(y.shape, x.shape[0], 3), y), scattered),
            two,
        ),
        "softmax": (of_scipy("softmax", nn.softmax), one),
        "log_softmax": (of_scipy("log_softmax", nn.log_softmax), one),
        "logsumexp": (of_scipy("logsumexp", nn.logsumexp), one),
        "layer_norm": (
            of_torch(lambda x, w, b: nn.layer_norm(x, x.shape[-1], w, b), lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b)), row,
        ),
        "rms_norm": (
            of_torch(lambda x, w: nn.rms_norm(x, x.shape[-1], w, 1e-5), lambda x, w: F.rms_norm(x, x.shape[-1:], w, 1e-5)),
            lambda s: row(s)[:2],
        ),
        "cross_entropy": (
            of_torch(
                lambda x: nn.cross_entropy(x, numbers(len(x), x.shape[1])),
                lambda x: F.cross_entropy(x, torch.from_numpy(numbers(len(x), x.shape[1]))),
            ),
            one,
        ),
        "mse_loss": (of_torch(nn.mse_loss, F.mse_loss), two),
        "l1_loss": (of_torch(nn.l1_loss, F.l1_loss), two),
        "smooth_l1_loss": (of_torch(nn.smooth_l1_loss, F.smooth_l1_loss), two),
        "huber_loss": (of_torch(nn.huber_loss, F.huber_loss), two),
        "batch_norm": (
            of_torch(
                lambda x, w, b: nn.batch_norm(x, None, None, w, b, True), lambda x, w, b: F.batch_norm(x, None, None, w, b, True)
            ),
            row,
        ),
        "softmax_backward": (
            of_torch(nn.softmax_backward, lambda g, y: torch._softmax_backward_data(g, y, -1, g.dtype)), two,
        ),
        "adam_step": (
            of_torch(
                lambda p, g, m, v: optim.adam_step(p, g, m, abs(v), step=3), lambda p, g, m, v: stepped(torch, p, g, m, v),
            ),
            lambda s: (s,) * 4,
        ),
        "max_pool2d": (
            of_torch(lambda x: nn.max_pool2d(x, 2), lambda x: F.max_pool2d(x, 2)), lambda s: ((4, 4, *image(s)),)
        ),
        "avg_pool2d": (
            of_torch(lambda x: nn.avg_pool2d(x, 2), lambda x: F.avg_pool2d(x, 2)), lambda s: ((4, 4, *image(s)),)
        ),
        "conv2d": (convolution(2), lambda s: ((4, 4, *image(s)), (8, 4, 3, 3))),
        "conv1d": (convolution(1), lambda s: ((4, 4, max(8, s[1])), (8, 4, 3))),
    }  # fmt: skip
    return found


@functools.cache
def definite(n, dtype):
    x = array("gaussian", (n, n), dtype)
    return (x @ x.T + n * np.eye(n)).astype(x.dtype)


# As table(), of square matrices.
def linear():
    import scipy.linalg

    import repmath.linalg as ours

    def factored(x):
        return scipy.linalg.lu_factor(x, check_finite=False)

    factored.library = "SciPy"
    one = lambda s: (s,)  # noqa: E731
    found = {name: ((getattr(ours, name), getattr(np.linalg, name)), one) for name in ("det", "inv")}
    found["solve"] = (ours.solve, np.linalg.solve), lambda s: (s, s[:1])
    found["lu_factor"] = (ours.lu_factor, factored), one
    formats = {np.dtype(FORMATS[name]): name for name in ("f32", "f64")}
    found["cholesky"] = (
        tuple(lambda x, call=call: call(definite(len(x), formats[x.dtype])) for call in (ours.cholesky, np.linalg.cholesky)),
        one,
    )
    return found


def image(s):
    return (28, 28) if s[0] * s[1] > 1000 else (8, 8)


def stepped(torch, p, g, m, v):
    step = torch.tensor(2.0)
    torch.optim._functional.adam(
        [p], [g], [m], [v.abs()], [], [step], amsgrad=False, beta1=0.9, beta2=0.999, lr=1e-3, weight_decay=0.0, eps=1e-8, maximize=False
    )  # fmt: skip


def function_calls(entry, shape, dtype, data, direction):
    (ours, theirs), operands = entry
    size, _ = shape
    shapes = operands(size)
    x = laid(shape, data, dtype) if shapes[0] == size else array(data, shapes[0], dtype)
    x = [x, *(array("gaussian", s, dtype, i + 1) for i, s in enumerate(shapes[1:]))]
    name = getattr(theirs, "library", "NumPy")
    if name == "PyTorch":
        import torch

        if any(0 in v.strides for v in x):
            raise Skip("PyTorch takes no array that is not its own")
        arrays = [v.view("i2") if dtype == "bf16" else v for v in x]
        given = [torch.from_numpy(v).view(torch.bfloat16) if dtype == "bf16" else torch.from_numpy(v) for v in arrays]
    else:
        given = x
    try:
        with np.errstate(all="ignore"):
            theirs(*given)
    except (TypeError, ValueError, RuntimeError) as error:
        raise Skip(f"{name}: {str(error).splitlines()[0][:100]}") from None
    return calls(lambda: ours(*x), name, lambda: theirs(*given))


def cases():
    for function, ufunc in repmath._core.ufuncs.items():
        yield from crossed(
            "NumPy elementwise", function, list(SIZES), functools.partial(elementwise_calls, function, ufunc), VALUES, DTYPES,
            large=("4 Mi",),
        )  # fmt: skip
    shapes = [Shape((s, "contiguous")) for s in SHAPES] + [
        Shape((SHAPES[0], layout)) for layout in ("transposed", "sliced", "broadcast")
    ]
    for name, entry in table().items():
        yield from crossed(
            "NumPy functions", name, shapes, functools.partial(function_calls, entry), VALUES, ("f32", "f64", "bf16", "f16"),
            large=[s for s in shapes if s[0] == (2048, 2048)],
        )  # fmt: skip
    for name, entry in linear().items():
        yield from crossed(
            "NumPy functions", f"linalg.{name}", [Shape(((n, n), "contiguous")) for n in (64, 512, 8)],
            functools.partial(function_calls, entry), ("gaussian",), ("f32", "f64"),
        )  # fmt: skip
