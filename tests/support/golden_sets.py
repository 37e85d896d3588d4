"""The inputs and digests of python/repmath/_golden.py, read from the source tree: these tests need no installed package."""

import importlib.util
import json

import numpy as np
import oracle

_spec = importlib.util.spec_from_file_location("repmath_golden", oracle.ROOT / "python/repmath/_golden.py")
golden = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(golden)

F32_STRIDE = golden.STRIDE
sha256, load, published = golden.sha256, golden.load, golden.published


def inputs(fmt: str) -> np.ndarray:
    """The set of a function of one argument (f32: the strided one), as bits."""
    return np.concatenate([chunk[0] for chunk in golden.chunks(fmt)])


def tuples(fmt: str, arity: int) -> tuple[np.ndarray, ...]:
    """The set of a function of several arguments, as bits."""
    return golden.arguments(fmt, arity)


def write(function: str, formats: dict) -> None:
    """tests/golden/<function>.json."""
    text = json.dumps({"spec": 1, "function": function, "formats": formats}, indent=2) + "\n"
    (golden.FOLDER / f"{function}.json").write_text(text)
