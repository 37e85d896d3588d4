"""Calls of every public function of NumPy arrays for tests of scopes of repmath.rounding; what rounds nothing is named here."""

from copy import deepcopy

import numpy as np
import public_calls
import pytest

from repmath import array_api, optim, random, rounding

SAMPLES = 24  # of the modes "random" and "up_down" an element that is rounded is the same in all with a chance of 2^-23
# Results that are moved, selected, counted or drawn: outside and inside they are the same, and no array has a number.
NOTHING = (
    {"digest", "embedding", "fftshift", "ifftshift"}
    | {f"{kind}max_pool{d}d" for kind in ("", "adaptive_") for d in (1, 2, 3)}
    | set(random.__all__) - {"dropout", "dropout_backward"}
)
# Functions whose calls here have exact results; with a third of their arguments they have not.
THIRDS = {"bincount", "scatter_add", "cho_factor", "cholesky", "det", "matrix_power", "slogdet"}
# Sums of one number, or quotients by a power of two: test_scope_gradients.py has others.
EXACT = {f"{kind}_pool{d}d_backward" for kind in ("max", "avg") for d in (1, 2, 3)}
# Integers, signs and truth values beside what is rounded.
BESIDE = {"slogdet", "lu_factor", "cho_factor", "matrix_rank"}
IN_PLACE = {"sgd_step", "adam_step", "adamw_step", "clip_grad_norm"}

CALLS = [
    pytest.param(getattr(module, name), arguments, keywords, id=f"{module.__name__}.{name}")
    for module, calls in public_calls.CALLS.items()
    for name, arguments, keywords in calls
]


def flat(made):
    if isinstance(made, (tuple, list)):
        return [array for part in made for array in flat(part)]
    return [] if made is None else [np.array(made)]


def third(v):
    """A third, and of vectors, whose sums may be exact, other parts of each element."""
    if not isinstance(v, np.ndarray) or v.dtype.kind != "f":
        return v
    return v / v.dtype.type(3) if v.shape == (3, 3) else v * np.linspace(0.01, 97, v.size, dtype=v.dtype).reshape(v.shape)


def run(function, arguments, keywords):
    arguments = deepcopy(arguments)
    if function.__name__ in THIRDS:
        arguments = tuple(map(third, arguments))
    made = flat(function(*arguments, **deepcopy(keywords)))
    if function.__name__ in IN_PLACE:
        written = [v for v in arguments if isinstance(v, np.ndarray)]
        made += written[:1] + written[2:] if function is not optim.clip_grad_norm else written
    return made


def rounds_nothing(function):
    """Draws have names that functions of `special` have, too."""
    return function.__name__ in NOTHING and function.__module__ != "repmath.special"


def differ(function, arguments, keywords, mode):
    """For each array of the results, whether it is not the same in all samples; and the numbers of arrays that a call has."""
    seen = []
    for sample in range(SAMPLES):
        with rounding.scope(mode, seed=3, sample=sample) as block:
            seen.append([(v.tobytes(), v.dtype.kind) for v in run(function, arguments, keywords)])
    return [(len({v[i][0] for v in seen}) > 1, kind) for i, (_, kind) in enumerate(seen[0])], block.calls


A = np.array([[1.3, -0.7, 2.9], [0.3, 0.9, 1.1], [0.4, 1.9, -0.6]], "f4")
B = A[::-1] * np.float32(1.1)
LINES = [
    *((array_api, name, (A, B), {}) for name in ("floor_divide", "remainder", "matmul", "vecdot", "tensordot", "atan2", "pow", "divide")),
    *((array_api, name, (A,), {}) for name in ("diff", "sum", "mean", "var", "std", "prod", "reciprocal", "square", "exp")),
    *((array_api, name, (A,), {"axis": 0}) for name in ("cumulative_sum", "cumulative_prod")),
    (array_api, "linspace", (0.1, 1.0, 7), {}),
    *((array_api.linalg, name, (A[0], B[1]), {}) for name in ("outer", "cross", "vecdot")),
    *((array_api.linalg, name, (A @ A.T / 3,), {}) for name in ("cholesky", "det", "eigh", "eigvalsh", "inv", "pinv", "qr", "svd", "svdvals", "trace", "slogdet")),
    *((array_api.linalg, "matrix_norm", (A,), {"ord": k}) for k in ("fro", "nuc", 1, -1, 2, -2, np.inf)),
    *((array_api.linalg, "vector_norm", (A,), {"ord": k}) for k in (1, 2)),
    *((array_api.linalg, name, (A, B), {}) for name in ("matmul", "solve", "tensordot")),
    (array_api.linalg, "matrix_power", (A, 3), {}),
]  # fmt: skip
