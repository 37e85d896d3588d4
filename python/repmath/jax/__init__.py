"""Correctly rounded operators for JAX: under `jit`, `grad`, `jvp`, `vmap`, `scan` and `shard_map`, with the bits of `repmath`.

Names and arguments are those of jax.numpy, jax.nn and jax.lax where these have the function, else those of torch.nn.functional.
Needs JAX, which `pip install repmath[jax]` brings. docs/jax.md says what each gradient is and where JAX itself rounds.
"""

from ._version import check as _check

_check()

from . import _elementwise  # noqa: E402
from ._elementwise import *  # noqa: E402, F403
from ._products import dot_general, matmul  # noqa: E402
from ._rows import log_softmax, logsumexp, mean, softmax, sum  # noqa: E402, A004

__all__ = [*_elementwise.__all__, "dot_general", "log_softmax", "logsumexp", "matmul", "mean", "softmax", "sum"]
