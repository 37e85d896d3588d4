"""What determinism costs: the time of a step under PyTorch, PyTorch's deterministic mode, and repmath's reproducible()."""

import time
from collections.abc import Callable
from typing import Any

from ._failures import naming, takes
from ._needs import need


def cost(step: Callable[[], Any], *, repeats: int = 5) -> dict[str, dict[str, float]]:
    """The least time of a step in each mode, interleaved, and its ratio to PyTorch's.

    Parameters
    ----------
    step : callable
        Does the same work in every call: a training step, say.
    repeats : int
        Calls in each mode, after one that is not counted.

    Returns
    -------
    dict
        "pytorch", "deterministic" and "repmath", each with "seconds" and "ratio".

    Raises
    ------
    ValueError
        `repeats` is out of its range.
    TypeError
        The step takes arguments.
    RuntimeError
        The step raised, whose error is the cause.
    """
    takes("step", step, "no arguments")
    torch = need("torch", "the cost of determinism")
    import repmath.torch

    if isinstance(repeats, bool) or not hasattr(repeats, "__index__") or repeats < 1:
        raise ValueError(f"repeats must be an integer of at least 1, not {repeats!r}")
    before = torch.are_deterministic_algorithms_enabled()

    def deterministic() -> None:
        torch.use_deterministic_algorithms(True)
        try:
            step()
        finally:
            torch.use_deterministic_algorithms(before)

    def ours() -> None:
        with repmath.torch.reproducible():
            step()

    modes: dict[str, Callable[[], Any]] = {"pytorch": step, "deterministic": deterministic, "repmath": ours}
    least = dict.fromkeys(modes, float("inf"))
    for i in range(repeats + 1):
        for name, run in modes.items():
            start = time.perf_counter()
            with naming(f"step under {name}, call {i} of {repeats},"):
                run()
            if i > 0:
                least[name] = min(least[name], time.perf_counter() - start)
    return {name: {"seconds": t, "ratio": t / least["pytorch"]} for name, t in least.items()}
