"""The functions of other libraries for each function, as calls that write into a given array, and typical arguments."""

import numpy as np

from repmath._dtypes import FORMATS

SCIPY = {"sigmoid": "expit", "log_sigmoid": "log_expit", "lgamma": "gammaln"}
# PyTorch's names where they differ, and those that are not public functions with an `out`.
TORCH = {
    "exp10": None,
    "cbrt": None,
    "fma": "addcmul",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "add": "add",
    "power": "pow",
}
ACTIVATIONS = ("sigmoid", "log_sigmoid", "softplus", "silu", "gelu", "gelu_tanh")
# Arguments (low, high) uniformly; else normal with standard deviation 2.
RANGES = {
    **dict.fromkeys(("log", "log2", "log10", "sqrt", "rsqrt"), (2.0**-6, 8.0)),
    **dict.fromkeys(("asin", "acos", "atanh"), (-1.0, 1.0)),
    "acosh": (1.0, 8.0),
    "log1p": (-0.9, 8.0),
    **dict.fromkeys(("lgamma", "digamma", "trigamma"), (0.1, 30.0)),
    "betaln": (0.0, 20.0),
    **dict.fromkeys(("gamma", "i0", "i0e", "i1", "i1e", "j0", "j1"), (0.1, 20.0)),
}
SPECIAL = ("gamma", "i0", "i0e", "i1", "i1e", "j0", "j1")  # those of repmath.special that have vectors


POWERS = ("pown", "rootn", "compound")  # of a number and an integer of 64 bits


def group(function, arity):
    """The functions whose speed is judged together."""
    if function in POWERS:
        return "powers with an integer"
    if function.endswith("_backward"):
        return "gradients"
    if function in SPECIAL:
        return "special"
    if function in ACTIVATIONS:
        return "activations"
    return "elementary" if arity == 1 else "several arguments"


def inputs(function, arity, fmt, n):
    """Arguments for which the function is neither saturated nor trivial."""
    rng = np.random.default_rng(n)
    if function in POWERS:
        x = rng.uniform(0.1, 4, n) - (function == "compound")
        return [x.astype(FORMATS[fmt]), rng.integers(1, 9, n) * rng.choice([-1, 1], n)]
    if function == "pow":
        x = [rng.uniform(0.1, 4, n), rng.uniform(-3, 3, n)]
    elif function in RANGES:
        x = [rng.uniform(*RANGES[function], n) for _ in range(arity)]
    else:
        x = [rng.standard_normal(n) * 2 for _ in range(arity)]
    return [v.astype(FORMATS[fmt]) for v in x]


def rivals(function, fmt, x):
    """name -> a call without arguments."""
    return {name: call for name, (call, _) in with_results(function, fmt, x).items()}


def result(function, fmt, x, name):
    """What the library `name` gives."""
    call, read = with_results(function, fmt, x)[name]
    call()
    return read()


def with_results(function, fmt, x):
    """name -> (a call without arguments, a function that reads its result). pown's are those of a power with a number, which the integer is made."""
    found = {}
    if function in POWERS:
        function, x = ("power" if function == "pown" else function), [x[0], x[1].astype(x[0].dtype)]
    numpy_function = getattr(np, function, None)
    if isinstance(numpy_function, np.ufunc):
        out = np.empty_like(x[0])
        try:
            numpy_function(*[v[:1] for v in x])
            found["NumPy"] = (lambda: numpy_function(*x, out=out)), (lambda: out)
        except TypeError:
            pass
    if "NumPy" not in found and fmt in ("f32", "f64"):
        import scipy.special

        scipy_function = getattr(scipy.special, SCIPY.get(function, function), None)
        if isinstance(scipy_function, np.ufunc):
            scipy_out = np.empty_like(x[0])
            found["SciPy"] = (lambda: scipy_function(*x, out=scipy_out)), (lambda: scipy_out)
    try:
        import torch
    except ImportError:
        return found
    torch.set_num_threads(1)
    tensors = [torch.from_numpy(v.view("i2")).view(torch.bfloat16) if fmt == "bf16" else torch.from_numpy(v) for v in x]
    target = torch.empty_like(tensors[0])
    call = by_torch(torch, function, tensors, target)
    if call is not None:
        try:
            call()
        except RuntimeError:  # not implemented for this type
            return found
        as_numpy = target.view(torch.int16).numpy().view(x[0].dtype) if fmt == "bf16" else target.numpy()
        found["PyTorch"] = call, lambda: as_numpy
    return found


def by_torch(torch, function, t, out):
    aten = torch.ops.aten
    if function in ("add", "subtract", "multiply", "divide", "fma"):
        f = getattr(torch, TORCH[function])
        return (lambda: f(t[2], t[0], t[1], out=out)) if function == "fma" else lambda: f(*t, out=out)
    private = {
        "silu": lambda: aten.silu.out(*t, out=out),
        "gelu": lambda: aten.gelu.out(*t, out=out),
        "gelu_tanh": lambda: aten.gelu.out(*t, approximate="tanh", out=out),
        "softplus": lambda: aten.softplus.out(*t, out=out),
        "log_sigmoid": lambda: aten.log_sigmoid.out(*t, out=out),
        "silu_backward": lambda: aten.silu_backward.grad_input(*t, grad_input=out),
        "gelu_backward": lambda: aten.gelu_backward.grad_input(*t, grad_input=out),
        "gelu_tanh_backward": lambda: aten.gelu_backward.grad_input(*t, approximate="tanh", grad_input=out),
    }
    if function in private:
        return private[function]
    if function in ("tanh_backward", "sigmoid_backward"):  # they take the forward result: as functions of (g, x), after it
        forward, y = getattr(torch, function.removesuffix("_backward")), torch.empty_like(out)
        return lambda: getattr(aten, function).grad_input(t[0], forward(t[1], out=y), grad_input=out)
    f = getattr(torch, TORCH.get(function, function) or "", None) or getattr(torch.special, function, None)
    return None if f is None or function.endswith("_backward") else lambda: f(*t, out=out)
