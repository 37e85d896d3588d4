"""`repmath verify`: compute results again and compare their SHA-256 with the published digests in golden/.

golden/README.md defines the inputs; f16 and bf16 are run in full, f64 on its fixed set, f32 on every 257th input or, with
`exhaustive`, on all 2^32.
"""

import hashlib
import json
import pathlib
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from . import _core
from ._dtypes import FORMATS

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"
STRIDE = 257
F64_COUNT = 1 << 20
_CHUNK = 1 << 22


def f64_inputs(count: int = F64_COUNT) -> np.ndarray:
    """The bits of the f64 set: splitmix64 of the index; odd ones with the exponent field brought to 983 ... 1033."""
    i = np.arange(count, dtype=np.uint64)
    z = (i + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    field = (z >> np.uint64(52)) & np.uint64(0x7FF)
    near = (z & np.uint64(0x800FFFFFFFFFFFFF)) | (np.uint64(983) + field % np.uint64(51)) << np.uint64(52)
    return np.where(i & np.uint64(1), near, z)


def chunks(fmt: str, exhaustive: bool) -> Iterator[np.ndarray]:
    """The bits of the inputs, in order."""
    if fmt in ("f16", "bf16"):
        yield np.arange(1 << 16, dtype=np.uint16)
    elif fmt == "f64":
        yield f64_inputs()
    else:
        step = 1 if exhaustive else STRIDE
        first = np.arange(0, _CHUNK * step, step, dtype=np.uint64)
        for start in range(0, 1 << 32, _CHUNK * step):
            part = first[: -(-((1 << 32) - start) // step)]
            yield (part + np.uint64(start)).astype(np.uint32)


class Progress:
    """A bar on a terminal's stderr, nothing elsewhere."""

    def __init__(self, title: str, total: int) -> None:
        self.title, self.total, self.done, self.shown = title, total, 0, 0.0
        self.active = sys.stderr.isatty()

    def add(self, n: int) -> None:
        self.done += n
        now = time.monotonic()
        if self.active and now - self.shown > 0.1:
            self.shown = now
            part = self.done / self.total
            print(f"\r{self.title} [{'#' * round(30 * part):30}] {100 * part:3.0f} %", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self.active:
            print("\r" + " " * (len(self.title) + 40) + "\r", end="", file=sys.stderr, flush=True)


def result_digest(function: str, fmt: str, exhaustive: bool = False) -> str:
    """The SHA-256 of a function's results over its set of inputs."""
    ufunc, dtype = _core.ufuncs[function], FORMATS[fmt]
    total = {"f32": (1 << 32) // (1 if exhaustive else STRIDE), "f64": F64_COUNT}.get(fmt, 1 << 16)
    progress = Progress(f"{function} {fmt}", total)
    sha = hashlib.sha256()
    hashing: Future[Any] | None = None
    # Hashing takes longer than computing: it runs beside the next chunk, in order.
    with ThreadPoolExecutor(1) as pool, np.errstate(all="ignore"):
        for bits in chunks(fmt, exhaustive):
            y = ufunc(bits.view(dtype))
            words = y.view(bits.dtype).astype(bits.dtype.newbyteorder("<"), copy=False)
            if hashing is not None:
                hashing.result()
            hashing = pool.submit(sha.update, words.view(np.uint8))
            progress.add(bits.size)
    progress.clear()
    return sha.hexdigest()


def published(fmt: str) -> dict[str, Any]:
    """Function -> its digests."""
    functions: dict[str, Any] = json.loads((GOLDEN / f"{fmt}.json").read_text())["functions"]
    return functions


def main(functions: Sequence[str] | None = None, formats: Sequence[str] | None = None, exhaustive: bool = False) -> int:
    """Print one line a function and format. Returns 1 when a digest differs or cannot be had, else 0."""
    status = 0
    for fmt in ("f16", "bf16", "f32", "f64"):
        if formats and fmt not in formats:
            continue
        if fmt not in FORMATS:
            print(f"{fmt}: not checked, since ml_dtypes, which gives NumPy this format, is not installed")
            continue
        expected = published(fmt)
        for function in functions or _core.ufuncs:
            entry = expected.get(function, {})
            golden = (entry.get("strided", {}) if fmt == "f32" and not exhaustive else entry).get("sha256")
            if golden is None:
                print(f"{function:12} {fmt:5} no digest is published")
                status = 1
                continue
            started = time.perf_counter()
            good = result_digest(function, fmt, exhaustive) == golden
            seconds = time.perf_counter() - started
            print(f"{function:12} {fmt:5} {'ok' if good else 'DIFFERS'}   {golden[:16]}...  {seconds:5.1f} s", flush=True)
            if not good:
                print(f"repmath verify: {function} {fmt} differs on {_core.isa()}", file=sys.stderr, flush=True)
                status = 1
    return status
