"""The published digests of operators beside the elementwise functions, and the calls behind them, for `repmath verify`.

Each call takes arrays made of `repmath.random`, whose elements are functions of seed and index, spread over some twenty binades by a
product with powers of two; the digest is `repmath.digest` of all that it returns. `python tools/publish_operators.py` writes the file.
"""

import json
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _contractions, _convolution, _core, _reductions, _scatter, _statistics, fft, linalg, nn, optim, random
from ._digest import digest
from ._dtypes import FORMATS

FILE = pathlib.Path(__file__).with_name("published_operators.json")


def load() -> dict[str, dict[str, str]]:
    """Operator -> format -> digest."""
    found: dict[str, dict[str, str]] = json.loads(FILE.read_text())["operators"] if FILE.exists() else {}
    return found


def compute(name: str, fmt: str) -> str:
    """The digest of an operator's results here."""
    result = OPERATORS[name](Source(FORMATS[fmt]))
    return digest(*(result if isinstance(result, (tuple, list)) else [result]))


def formats(name: str) -> list[str]:
    """Those in which there is the operator, and whose format NumPy has here."""
    return [
        f for f in (("f32", "f64") if name.startswith(("fft", "linalg")) else ("f16", "bf16", "f32", "f64")) if f in FORMATS
    ]


class Source:
    """Arrays of one format, each with a seed of its own."""

    def __init__(self, dtype: Any) -> None:
        self.dtype, self.seed = np.dtype(dtype), 0

    def plain(self, *shape: int) -> Any:
        """Normally distributed numbers."""
        self.seed += 1
        return random.normal(self.seed, shape, dtype=self.dtype)

    def wide(self, *shape: int) -> Any:
        """The same times powers of two: sums of them cancel at many places."""
        x = self.plain(*shape)
        powers = random.randint(self.seed, shape, -12, 5, stream=1)
        return np.ldexp(x.astype(np.float64), powers).astype(self.dtype)

    def index(self, below: int, *shape: int) -> Any:
        self.seed += 1
        return random.randint(self.seed, shape, 0, below)


def _convolution_gradients(s: Source) -> Any:
    x, w = s.plain(2, 6, 9, 8), s.plain(4, 3, 3, 3)
    g = _convolution.conv2d(x, w, padding=1, groups=2)
    return (
        _convolution.conv2d_grad_input(x.shape, w, g, padding=1, groups=2),
        _convolution.conv2d_grad_weight(x, w.shape, g, padding=1, groups=2),
    )


def _step(function: Callable[..., Any], states: int, **hyperparameters: Any) -> Callable[[Source], Any]:
    def call(s: Source) -> Any:
        arrays = [s.plain(1000), s.wide(1000), *(abs(s.plain(1000)) for _ in range(states))]
        function(*arrays, **hyperparameters)
        return [arrays[0], *arrays[2:]]

    return call


def _power(ufunc: np.ufunc) -> Callable[[Source], Any]:
    def call(s: Source) -> Any:
        with np.errstate(all="ignore"):
            x, n = s.wide(4000), s.index(41, 4000) - 20
            return ufunc(x, n), ufunc(abs(s.plain(4000)), n)

    return call


def _definite(s: Source) -> Any:
    a = s.plain(20, 24)
    return _reductions.matmul(a, a.T)


OPERATORS: dict[str, Callable[[Source], Any]] = {
    "sum": lambda s: (_reductions.sum(x := s.wide(64, 500), axis=1), _reductions.sum(x, axis=0), _reductions.sum(x)),
    "cumsum": lambda s: _statistics.cumsum(s.wide(30, 200), axis=1),
    "mean": lambda s: _statistics.mean(s.wide(64, 500), axis=1),
    "var": lambda s: _statistics.var(s.plain(64, 200), axis=1),
    "norm": lambda s: _statistics.norm(s.plain(64, 200), axis=1),
    "dot": lambda s: _reductions.dot(s.wide(5000), s.wide(5000)),
    "matmul": lambda s: (_reductions.matmul(a := s.wide(40, 300), b := s.wide(300, 50)), _reductions.matmul(a[:1], b)),
    "matmul with a bias": lambda s: _reductions.matmul(s.plain(40, 300), s.plain(300, 50), bias=s.wide(50)),
    "einsum": lambda s: _contractions.einsum("bij,bkj->bik", s.wide(3, 20, 60), s.wide(3, 30, 60)),
    "conv2d": lambda s: _convolution.conv2d(s.plain(2, 6, 15, 14), s.plain(8, 6, 3, 3), s.plain(8), stride=2, padding=1),
    "gradients of conv2d": _convolution_gradients,
    "conv_transpose2d": lambda s: _convolution.conv_transpose2d(s.plain(2, 6, 7, 6), s.plain(6, 5, 3, 3), stride=2),
    "index_add": lambda s: _scatter.index_add(s.wide(40, 6), s.index(40, 900), s.wide(900, 6)),
    "embedding_grad": lambda s: _scatter.embedding_grad(s.wide(900, 6), s.index(40, 900), 40),
    "softmax": lambda s: (y := nn.softmax(s.plain(64, 150), 1), nn.softmax_backward(s.plain(64, 150), y, 1)),
    "log_softmax": lambda s: nn.log_softmax(s.wide(64, 150), 1),
    "logsumexp": lambda s: nn.logsumexp(s.plain(64, 150), 1),
    "layer_norm": lambda s: nn.layer_norm(s.plain(64, 150), 150, s.plain(150), s.plain(150)),
    "gradients of layer_norm": lambda s: nn.layer_norm_backward(s.plain(64, 150), s.plain(64, 150), 150, s.plain(150)),
    "rms_norm": lambda s: nn.rms_norm(s.plain(64, 150), 150, s.plain(150)),
    "group_norm": lambda s: nn.group_norm(s.plain(4, 12, 30), 3, s.plain(12), s.plain(12)),
    "batch_norm": lambda s: nn.batch_norm(s.plain(8, 12, 30), None, None, s.plain(12), s.plain(12), training=True),
    "cross_entropy": lambda s: nn.cross_entropy(s.plain(64, 50), s.index(50, 64), reduction="none"),
    "gradient of cross_entropy": lambda s: nn.cross_entropy_backward(s.plain(), s.plain(64, 50), s.index(50, 64)),
    "mse_loss": lambda s: nn.mse_loss(s.wide(900), s.wide(900)),
    "avg_pool2d": lambda s: nn.avg_pool2d(s.wide(2, 3, 20, 20), 3, 2),
    "attention": lambda s: nn.scaled_dot_product_attention(
        s.plain(2, 2, 24, 16), s.plain(2, 2, 24, 16), s.plain(2, 2, 24, 16), is_causal=True
    ),
    "sgd step": _step(optim.sgd_step, 1, lr=0.1, momentum=0.9, weight_decay=0.01),
    "adamw step": _step(optim.adamw_step, 2, step=7, lr=0.001, weight_decay=0.01),
    "random": lambda s: (random.uniform(1, (5000,), dtype=s.dtype), s.plain(5000), random.permutation(1, 500)),
    "dropout": lambda s: random.dropout(s.plain(5000), 0.3, 1),
    "fft": lambda s: (fft.fft(s.plain(5, 96)), fft.rfft(s.wide(5, 101))),
    "linalg.cholesky": lambda s: linalg.cholesky(_definite(s)),
    "linalg.solve": lambda s: (linalg.solve(a := s.plain(20, 20), s.plain(20, 3)), linalg.inv(a), linalg.det(a)),
    **{name: _power(ufunc) for name, ufunc in _core.powers.items()},
}
