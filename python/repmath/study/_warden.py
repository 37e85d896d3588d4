"""x + y + z in every order and grouping: how many values come of three numbers (Warden's question)."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

import repmath


def _stepwise(add: Callable[[Any, Any], Any], x: Any, y: Any, z: Any) -> list[Any]:
    return [add(add(x, y), z), add(x, add(y, z))]


def warden(triples: Any = None, *, count: int = 1000, seed: int = 0, dtype: Any = np.float32) -> dict[str, Any]:
    """The different values of x + y + z over all six orders and both groupings, in steps that are rounded and as one exact sum.

    Parameters
    ----------
    triples : array_like, optional
        Of shape (..., 3); by default `count` normal triples of `seed`.
    dtype : dtype

    Returns
    -------
    dict
        "rows": for each triple its numbers and how many values steps and the exact sum gave; "most" and "share" with more than one.
    """
    if triples is None:
        if isinstance(seed, bool) or not hasattr(seed, "__index__") or seed < 0:
            raise ValueError(f"seed must be an integer from 0 on, not {seed!r}")
        triples = np.random.default_rng(seed).standard_normal((count, 3))
    terms = np.asarray(triples, dtype)
    if terms.shape[-1:] != (3,):
        raise ValueError(f"triples must have 3 numbers each, not shape {terms.shape}")
    rows = []
    for triple in terms.reshape(-1, 3):
        steps: set[bytes] = set()
        exact: set[bytes] = set()
        for permuted in itertools.permutations(triple):
            steps.update(np.asarray(v).tobytes() for v in _stepwise(np.add, *permuted))
            exact.add(np.asarray(repmath.sum(np.array(permuted, terms.dtype))).tobytes())
        rows.append({"x": triple[0], "y": triple[1], "z": triple[2], "steps": len(steps), "repmath": len(exact)})
    return {
        "rows": rows,
        "steps_most": max(r["steps"] for r in rows),
        "steps_share": sum(r["steps"] > 1 for r in rows) / len(rows),
        "repmath_most": max(r["repmath"] for r in rows),
    }
