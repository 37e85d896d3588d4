"""How many digits of a computation's results hold under perturbed roundings."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from ._digits import Digits, digits

Block = Callable[[int], AbstractContextManager[Any]]


def _arrays(found: Any) -> dict[str, np.ndarray]:
    if not isinstance(found, dict) or not found:
        raise TypeError("step must return a dict of arrays, by names")
    return {str(k): np.array(v.detach() if hasattr(v, "detach") else v, np.float64) for k, v in found.items()}


def variability(
    step: Callable[[], dict[str, Any]],
    samples: int = 10,
    *,
    block: Block,
    reference: bool = True,
    most: int = 4096,
    **options: Any,
) -> dict[str, Digits]:
    """Digits of each result of a step, over samples that are perturbed differently.

    Parameters
    ----------
    step : callable
        Returns a dict of arrays or tensors, and computes the same in every call.
    samples : int
        At least 2.
    block : callable
        Of the number of a sample; returns the block in which the step runs: `lambda i: repmath.torch.stochastic(seed=0, sample=i)`.
    reference : bool
        Check first that the step gives the same results twice in block(0).
    most : int
        Elements of each array that are kept, at a fixed stride.
    **options
        Of `digits`.

    Raises
    ------
    ValueError
        There are too few samples, or the step varies by itself.
    """
    if isinstance(samples, bool) or not hasattr(samples, "__index__") or samples < 2:
        raise ValueError(f"samples must be an integer of at least 2, not {samples!r}")

    def sample(i: int) -> dict[str, np.ndarray]:
        with block(i):
            found = _arrays(step())
        return {k: v.reshape(-1)[:: max(1, -(-v.size // most))] for k, v in found.items()}

    first = sample(0)
    if reference:
        again = sample(0)
        for name, value in first.items():
            if name not in again or value.tobytes() != again[name].tobytes():
                raise ValueError(f"step is not deterministic: {name!r} differs between two calls of one sample")
    runs = [first, *(sample(i) for i in range(1, samples))]
    return {name: digits(np.stack([r[name] for r in runs]), **options) for name in first}
