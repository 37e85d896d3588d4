"""One run of a training, in its own process: FILE FUNCTION SEED REPRODUCIBLE RESULT."""

import contextlib
import pathlib
import runpy
import sys
import time
from typing import Any

import numpy as np

from ._failures import takes


def main(path: str, name: str, seed: str, reproducible: str, result: str) -> None:
    sys.path.insert(0, str(pathlib.Path(path).resolve().parent))
    module = runpy.run_path(path)
    if name not in module:
        raise SystemExit(f"{path} has no function {name!r}")
    try:
        takes(name, module[name], "a seed, its one argument", 0)
    except TypeError as error:
        raise SystemExit(str(error)) from None
    if reproducible == "1":
        import repmath.torch

        block: contextlib.AbstractContextManager[object] = repmath.torch.reproducible()
    else:
        block = contextlib.nullcontext()
    start = time.perf_counter()
    with block:
        found = module[name](int(seed))
    seconds = time.perf_counter() - start
    if not isinstance(found, dict):
        raise SystemExit(f"{name} must return a dict of arrays, not {type(found).__name__}")
    missing = {"predictions", "labels", "weights"} - set(found)
    if missing:
        raise SystemExit(f"{name} returned no {min(missing)!r}")
    arrays: dict[str, Any] = {k: np.asarray(v) for k, v in found.items() if v is not None}
    for key, array in arrays.items():
        if array.dtype.kind not in "biuf":
            raise SystemExit(f"{name} must return an array of numbers as {key!r}, not {type(found[key]).__name__}")
    file = pathlib.Path(result)
    unfinished = file.with_name(f"{file.name}.part.npz")
    np.savez(unfinished, seconds=np.float64(seconds), **arrays)
    unfinished.replace(file)  # a file that is there is whole


if __name__ == "__main__":
    main(*sys.argv[1:])
