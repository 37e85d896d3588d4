"""The published digests and the inputs behind them; golden/README.md is the definition in words. NumPy only."""

import hashlib
import json
import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np

# The package carries them; in a source tree they lie with the tests.
FOLDER = next(
    p / "golden" for p in pathlib.Path(__file__).resolve().parents for p in (p, p / "tests") if (p / "golden").is_dir()
)
STRIDE = 257  # a prime near 256: about 2^24 inputs, over all exponents and all residues of the low bits
COUNT = 1 << 20  # f64 inputs, and tuples of the functions of several arguments in every format
CHUNK = 1 << 22
# format -> precision, largest exponent, type of the bits
FORMATS: dict[str, tuple[int, int, np.dtype[Any]]] = {
    "f16": (11, 15, np.dtype(np.uint16)),
    "bf16": (8, 127, np.dtype(np.uint16)),
    "f32": (24, 127, np.dtype(np.uint32)),
    "f64": (53, 1023, np.dtype(np.uint64)),
}


def _splitmix64(i: np.ndarray) -> np.ndarray:
    """The generator's output number i, i from 0."""
    z = (i + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _spread(fmt: str, stream: np.ndarray, odd: np.ndarray) -> np.ndarray:
    """Numbers from the stream's top bits; where `odd`, the exponent field f becomes low + f mod (high - low)."""
    precision, emax, uint = FORMATS[fmt]
    z = stream >> np.uint64(64 - 8 * uint.itemsize)
    ones = np.uint64(2 * emax + 1)
    low, high = np.uint64(max(emax - 40, 0)), np.uint64(min(emax + 11, 2 * emax))
    place = np.uint64(precision - 1)
    field = low + ((z >> place) & ones) % (high - low)
    near = (z & ~(ones << place)) | field << place
    bits: np.ndarray = np.where(odd, near, z).astype(uint)
    return bits


def arguments(fmt: str, arity: int, count: int = COUNT) -> tuple[np.ndarray, ...]:
    """The bits of the generated set: one array per argument."""
    i = np.arange(count, dtype=np.uint64)
    odd = (i & np.uint64(1)).astype(bool)
    return tuple(_spread(fmt, _splitmix64(i * np.uint64(arity) + np.uint64(k)), odd) for k in range(arity))


def chunks(fmt: str, arity: int = 1, exhaustive: bool = False) -> Iterator[tuple[np.ndarray, ...]]:
    """The bits of a function's inputs, in order, in pieces."""
    if arity > 1 or fmt == "f64":
        yield arguments(fmt, arity)
    elif fmt != "f32":
        yield (np.arange(1 << 16, dtype=np.uint16),)
    else:
        step = 1 if exhaustive else STRIDE
        first = np.arange(0, CHUNK * step, step, dtype=np.uint64)
        for start in range(0, 1 << 32, CHUNK * step):
            part = first[: -(-((1 << 32) - start) // step)]
            yield ((part + np.uint64(start)).astype(np.uint32),)


def size(fmt: str, arity: int = 1, exhaustive: bool = False) -> int:
    """The number of inputs that `chunks` yields."""
    if arity > 1 or fmt == "f64":
        return COUNT
    if fmt == "f32":
        return -(-(1 << 32) // (1 if exhaustive else STRIDE))
    return 1 << 16


def sha256(bits: np.ndarray) -> str:
    """The digest of results given as bits."""
    return hashlib.sha256(bits.astype(bits.dtype.newbyteorder("<")).tobytes()).hexdigest()


def load(function: str) -> dict[str, Any]:
    """Format -> digests of a function; empty when none are published."""
    path = FOLDER / f"{function}.json"
    if not path.exists():
        return {}
    formats: dict[str, Any] = json.loads(path.read_text())["formats"]
    return formats


def published(function: str, fmt: str, exhaustive: bool = False) -> str | None:
    """The digest over the set that `chunks` gives."""
    entry: dict[str, Any] = load(function).get(fmt, {})
    if "strided" in entry and not exhaustive:
        entry = entry["strided"]
    digest: str | None = entry.get("sha256")
    return digest
