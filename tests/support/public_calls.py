"""At least one call of each public function of the NumPy side that takes arrays, with arguments that it takes."""

import ml_dtypes
import numpy as np

import repmath
from repmath import fft, linalg, nn, optim, random, special

BF16 = np.dtype(ml_dtypes.bfloat16)
rng = np.random.default_rng(5)


def floats(*shape, dtype="f4"):
    return rng.standard_normal(shape).astype(dtype)


X, Y, W = floats(4, 6), floats(4, 6), floats(6, 3)
IMAGE, KERNEL = floats(2, 3, 7, 6), floats(4, 3, 3, 2)
ROWS, TARGET = floats(5, 4), np.array([0, 3, 1, 1, 2])
INDEX = np.array([1, 0, 1])
SIGNAL, VOLUME = floats(2, 3, 9), floats(1, 2, 5, 4, 4)
DEFINITE = np.array([[4, 2, 1], [2, 5, 3], [1, 3, 6]], "f4")
POSITIVE = np.abs(floats(3)) + np.float32(0.5)


def pooled(d):
    return {1: SIGNAL, 2: IMAGE, 3: VOLUME}[d]


def convolutions():
    for d in (1, 2, 3):
        x, w = floats(2, 4, *(5, 4, 3)[:d]), floats(6, 4, *(2,) * d)
        f, transposed = getattr(repmath, f"conv{d}d"), getattr(repmath, f"conv_transpose{d}d")
        g = floats(*f(x, w).shape)
        yield f"conv{d}d", (x, w, floats(6))
        yield f"conv_transpose{d}d", (g, w, floats(4))
        assert transposed(g, w).shape == x.shape
        yield f"conv{d}d_grad_input", (x.shape, w, g)
        yield f"conv{d}d_grad_weight", (x, w.shape, g)


def pools():
    for d in (1, 2, 3):
        x = pooled(d)
        y, at = getattr(nn, f"max_pool{d}d")(x, 2, return_indices=True)
        yield f"max_pool{d}d", (x, 2, None, 0, 1, False, True)
        yield f"max_pool{d}d_backward", (y, x.shape, at)
        yield f"avg_pool{d}d", (x, 2)
        yield f"avg_pool{d}d_backward", (floats(*getattr(nn, f"avg_pool{d}d")(x, 2).shape), x.shape, 2)
        yield f"adaptive_max_pool{d}d", (x, 2, True)
        yield f"adaptive_avg_pool{d}d", (x, 2)
        yield f"adaptive_avg_pool{d}d_backward", (floats(*x.shape[:2], *(2,) * d), x.shape)


NOTHING: dict = {}
# module -> (name, arguments, keywords): at least one call of each function that takes arrays
CALLS = {
    repmath: [
        ("bincount", (TARGET, POSITIVE[[0, 1, 2, 0, 1]]), NOTHING),
        ("cumsum", (X,), {"axis": 1}),
        ("digest", (X, TARGET), NOTHING),
        ("dot", (X[0], Y[0]), NOTHING),
        ("dot", (X, W), NOTHING),
        ("einsum", ("ij,jk->ik", X, W), NOTHING),
        ("einsum", (X, [0, 1], W, [1, 2], [0, 2]), NOTHING),
        ("embedding_grad", (floats(3, 4), INDEX, 5), NOTHING),
        ("index_add", (X, INDEX, Y[:3]), NOTHING),
        ("matmul", (X, W), NOTHING),
        ("matmul", (X, W), {"bias": POSITIVE}),
        ("matvec", (X, Y[0]), NOTHING),
        ("mean", (X,), {"axis": 0, "where": Y > 0}),
        ("norm", (X,), NOTHING),
        ("scatter_add", (X, 0, TARGET[:3].reshape(1, 3) % 4, Y), NOTHING),
        ("segment_sum", (X, np.array([2, 0, 2, 1])), NOTHING),
        ("std", (X,), {"axis": 1}),
        ("sum", (X,), NOTHING),
        ("sum", (X,), {"axis": 0}),
        ("tensordot", (X, W), {"axes": 1}),
        ("to_float8", (X, ml_dtypes.float8_e5m2), NOTHING),
        ("var", (X,), {"ddof": 1}),
        ("vdot", (X, Y), NOTHING),
        ("vecdot", (X, Y), NOTHING),
        ("vecmat", (X[0], W), NOTHING),
        *((name, arguments, NOTHING) for name, arguments in convolutions()),
    ],
    nn: [
        ("batch_norm", (IMAGE, np.zeros(3, "f4"), np.ones(3, "f4"), POSITIVE, POSITIVE, True), NOTHING),
        ("batch_norm", (IMAGE, np.zeros(3, "f4"), np.ones(3, "f4")), NOTHING),
        ("batch_norm_backward", (IMAGE[::-1], IMAGE), {"weight": POSITIVE, "training": True}),
        ("binary_cross_entropy_with_logits", (X, np.abs(Y) % 1), {"pos_weight": floats(6) ** 2}),
        ("binary_cross_entropy_with_logits_backward", (np.float32(1.5) * np.ones((), "f4"), X, np.abs(Y) % 1), NOTHING),
        ("cross_entropy", (ROWS, TARGET), {"reduction": "none"}),
        ("cross_entropy", (ROWS, TARGET), NOTHING),
        ("cross_entropy_backward", (np.ones((), "f4"), ROWS, TARGET), NOTHING),
        ("embedding", (INDEX, X), NOTHING),
        ("group_norm", (IMAGE, 3, POSITIVE, POSITIVE), NOTHING),
        ("group_norm_backward", (IMAGE[::-1], IMAGE, 3, POSITIVE), NOTHING),
        ("huber_loss", (X, Y), NOTHING),
        ("huber_loss_backward", (np.ones((), "f4"), X, Y), NOTHING),
        ("instance_norm", (IMAGE, POSITIVE, POSITIVE), NOTHING),
        ("instance_norm_backward", (IMAGE[::-1], IMAGE, POSITIVE), NOTHING),
        ("kl_div", (X, np.abs(Y)), NOTHING),
        ("kl_div_backward", (np.ones((), "f4"), X, np.abs(Y)), NOTHING),
        ("l1_loss", (X, Y), {"reduction": "none"}),
        ("l1_loss_backward", (np.ones((), "f4"), X, Y), NOTHING),
        ("layer_norm", (X, 6, Y[0], Y[1]), NOTHING),
        ("layer_norm_backward", (Y, X, (6,), Y[0]), NOTHING),
        ("log_softmax", (X,), NOTHING),
        ("log_softmax_backward", (Y, nn.log_softmax(X)), NOTHING),
        ("logsumexp", (X,), NOTHING),
        ("mse_loss", (X, Y), NOTHING),
        ("mse_loss_backward", (np.ones((), "f4"), X, Y), NOTHING),
        ("nll_loss", (ROWS, TARGET), NOTHING),
        ("nll_loss_backward", (np.ones((), "f4"), ROWS, TARGET), NOTHING),
        ("rms_norm", (X, 6, Y[0]), NOTHING),
        ("rms_norm_backward", (Y, X, 6, Y[0]), NOTHING),
        ("scaled_dot_product_attention", (floats(2, 3, 4), floats(2, 5, 4), floats(2, 5, 4)), NOTHING),
        ("scaled_dot_product_attention_backward",
         (floats(2, 3, 4), floats(2, 3, 4), floats(2, 5, 4), floats(2, 5, 4), rng.random((3, 5)) < 0.7), NOTHING),
        ("smooth_l1_loss", (X, Y), NOTHING),
        ("smooth_l1_loss_backward", (np.ones((), "f4"), X, Y), NOTHING),
        ("softmax", (X,), {"dim": 0}),
        ("softmax_backward", (Y, nn.softmax(X)), NOTHING),
        *((name, arguments, NOTHING) for name, arguments in pools()),
    ],
    optim: [
        ("clip_grad_norm", (X, 0.5), NOTHING),
        ("sgd_step", (X, Y, floats(4, 6)), {"lr": 0.1, "momentum": 0.9}),
        ("adam_step", (X, Y, floats(4, 6), floats(4, 6) ** 2), {"step": 3, "weight_decay": 0.1}),
        ("adamw_step", (X, Y, floats(4, 6), floats(4, 6) ** 2, floats(4, 6) ** 2), {"step": 1}),
    ],
    fft: [
        *((name, (X,), NOTHING) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")),
        *((f"{name}{end}", (X,), {"norm": "ortho"}) for name in ("fft", "ifft", "rfft", "irfft") for end in ("2", "n")),
        ("fftshift", (X,), NOTHING),
        ("ifftshift", (X,), NOTHING),
    ],
    linalg: [
        ("cho_factor", (DEFINITE,), NOTHING),
        ("cholesky", (DEFINITE,), {"upper": True}),
        ("cross", (X[:, :3], Y[:, :3]), NOTHING),
        ("det", (DEFINITE,), NOTHING),
        ("eigh", (DEFINITE,), NOTHING),
        ("eigvalsh", (DEFINITE,), NOTHING),
        ("inv", (DEFINITE,), NOTHING),
        ("lu_factor", (X,), NOTHING),
        ("matrix_power", (DEFINITE, 3), NOTHING),
        ("matrix_rank", (X,), NOTHING),
        ("pinv", (X,), NOTHING),
        ("qr", (X,), NOTHING),
        ("slogdet", (DEFINITE,), NOTHING),
        ("solve", (DEFINITE, ROWS[:3]), NOTHING),
        ("solve_triangular", (DEFINITE, ROWS[0, :3]), {"lower": True}),
        ("svd", (X,), NOTHING),
        ("svdvals", (X,), NOTHING),
    ],
    special: [
        *((name, (X,), NOTHING) for name in ("i0", "i0e", "i1", "i1e", "j0", "j1")),
        *((name, (np.abs(X) + 0.1,), NOTHING) for name in ("k0", "k0e", "k1", "k1e", "y0", "y1")),
        ("gamma", (X,), NOTHING),
        *((name, (np.abs(X) + 1.5, np.abs(Y) + 0.1), NOTHING) for name in ("beta", "gammainc", "gammaincc", "zeta")),
    ],
    random: [
        ("beta", (7, None, np.abs(X) + 0.1, np.abs(Y) + 0.1), NOTHING),
        ("binomial", (7, None, np.arange(5), np.linspace(0.0, 1.0, 5)), NOTHING),
        ("chisquare", (7, None, np.abs(X) + 0.1), NOTHING),
        ("dirichlet", (7, None, np.abs(X) + 0.1), NOTHING),
        ("gamma", (7, None, np.abs(X) + 0.1, np.abs(Y) + 0.1), NOTHING),
        ("poisson", (7, None, np.abs(X)), NOTHING),
        ("dropout", (X, 0.4, 7), NOTHING),
        ("dropout_backward", (X, 0.4, 7), NOTHING),
        ("permutation", (7, X), NOTHING),
    ],
}  # fmt: skip
# Those that take no arrays, and classes, which have tests of their own.
WITHOUT = {
    repmath: {"Accumulator", "c_function", "config", "get_include", "get_num_threads", "reset_stats", "set_num_threads", "show_config", "stats"},
    fft: {"fftfreq", "rfftfreq"},
    linalg: {"LinAlgError", "cho_solve", "lu_solve"},  # they take tuples
    nn: set(),
    special: set(),
    optim: {"SGD", "Adam", "AdamW"} | {name for name in optim.__all__ if name.endswith("_schedule")},
    random: {"Stream", "bernoulli", "bits", "normal", "randint", "truncated_normal", "uniform"},
}  # fmt: skip
