"""`repmath verify`: compute results again and compare their SHA-256 with the published digests in golden/.

golden/README.md defines the inputs: f16 and bf16 are run in full, f64 and the functions of several arguments on fixed sets,
f32 on every 257th input or, with `exhaustive`, on all 2^32.
"""

import hashlib
import sys
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from . import _core, _golden, _published_operators
from ._dtypes import FORMATS


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
    progress = Progress(f"{function} {fmt}", _golden.size(fmt, ufunc.nin, exhaustive))
    sha = hashlib.sha256()
    hashing: Future[Any] | None = None
    # Hashing takes longer than computing: it runs beside the next chunk, in order.
    with ThreadPoolExecutor(1) as pool, np.errstate(all="ignore"):
        for bits in _golden.chunks(fmt, ufunc.nin, exhaustive):
            y = ufunc(*[b.view(dtype) for b in bits])
            words = y.view(bits[0].dtype).astype(bits[0].dtype.newbyteorder("<"), copy=False)
            if hashing is not None:
                hashing.result()
            hashing = pool.submit(sha.update, words.view(np.uint8))
            progress.add(bits[0].size)
    progress.clear()
    return sha.hexdigest()


def main(functions: Sequence[str] | None = None, formats: Sequence[str] | None = None, exhaustive: bool = False) -> int:
    """Print one line a function and format, and a sentence. Returns 1 when a digest differs or cannot be had, else 0."""
    agree = differ = missing = 0
    for fmt in ("f16", "bf16", "f32", "f64"):
        if formats and fmt not in formats:
            continue
        if fmt not in FORMATS:
            print(f"{fmt}: not checked, since ml_dtypes, which gives NumPy this format, is not installed")
            continue
        for function in functions or _core.ufuncs:
            golden = _golden.published(function, fmt, exhaustive)
            if golden is None:
                print(f"{function:20} {fmt:5} no digest is published")
                missing += 1
                continue
            started = time.perf_counter()
            good = result_digest(function, fmt, exhaustive) == golden
            seconds = time.perf_counter() - started
            print(f"{function:20} {fmt:5} {'ok' if good else 'DIFFERS'}   {golden[:16]}...  {seconds:5.1f} s", flush=True)
            agree, differ = agree + good, differ + (not good)
            if not good:
                print(f"repmath verify: {function} {fmt} differs on {_core.isa()}", file=sys.stderr, flush=True)
    if not functions:
        right, wrong = _operators(formats)
        agree, differ = agree + right, differ + wrong
    if not functions and not formats:
        good = _training()
        agree, differ = agree + good, differ + (not good)
    print(_sentence(agree, differ, missing))
    return int(differ + missing > 0)


def _sentence(agree: int, differ: int, missing: int) -> str:
    here = f"repmath {_core.library_version()} on {_core.isa()}"
    if differ or missing:
        return f"{here}: of {agree + differ + missing} results {differ} differ from the published ones, and of {missing} none is published."
    return f"{here}: {f'all {agree} results are the published ones' if agree != 1 else 'the result is the published one'}, bit for bit."


def _operators(formats: Sequence[str] | None) -> tuple[int, int]:
    """How many operators agree with the published digests, and how many do not."""
    counts = [0, 0]
    for name, published in _published_operators.load().items():
        for fmt in _published_operators.formats(name):
            if formats and fmt not in formats:
                continue
            started = time.perf_counter()
            good = _published_operators.compute(name, fmt) == published[fmt]
            seconds = time.perf_counter() - started
            counts[not good] += 1
            print(f"{name:25} {fmt:5} {'ok' if good else 'DIFFERS'}   {published[fmt][:16]}...  {seconds:5.1f} s", flush=True)
            if not good:
                print(f"repmath verify: {name} {fmt} differs on {_core.isa()}", file=sys.stderr, flush=True)
    return counts[0], counts[1]


def _training() -> bool:
    """Whether a training of the demo's network ends with the published weights."""
    from .demo import published, runs

    started = time.perf_counter()
    run = runs.generated_run()
    try:
        runs.execute(run)
    except (RuntimeError, FileNotFoundError) as error:
        print(f"repmath verify: no training: {error}", file=sys.stderr, flush=True)
        return False
    good, sentence = published.compare("generated", run)
    seconds = time.perf_counter() - started
    print(
        f"a training of {run.steps} steps {'ok' if good else 'DIFFERS'}   {run.digest[:16]}...  {seconds:5.1f} s: {sentence}"
    )
    if not good:
        print(f"repmath verify: the training {sentence} on {_core.isa()}", file=sys.stderr, flush=True)
    return good
