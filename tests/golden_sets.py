"""The inputs behind the golden digests of tests/golden (its README.md has the definition)."""

import hashlib
import json

import numpy as np
import oracle

GOLDEN = oracle.ROOT / "tests/golden"
F64_COUNT = 1 << 20
F32_STRIDE = 257  # a prime near 256: about 2^24 inputs, over all exponents and all residues of the low bits


def f64_inputs(count: int = F64_COUNT) -> np.ndarray:
    """Bits: splitmix64 of the index; for odd indices with the exponent field brought to 983 ... 1033."""
    i = np.arange(count, dtype=np.uint64)
    z = (i + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    field = (z >> np.uint64(52)) & np.uint64(0x7FF)
    near = (z & np.uint64(0x800FFFFFFFFFFFFF)) | (np.uint64(983) + field % np.uint64(51)) << np.uint64(52)
    return np.where(i & np.uint64(1), near, z)


def inputs(fmt: str) -> np.ndarray:
    """f16, bf16: every input; f32: the strided set; f64: the fixed set. As bits."""
    if fmt == "f64":
        return f64_inputs()
    if fmt == "f32":
        return np.arange(0, 1 << 32, F32_STRIDE, dtype=np.uint64).astype(np.uint32)
    return np.arange(65536, dtype=np.uint16)


def sha256(bits: np.ndarray) -> str:
    return hashlib.sha256(bits.astype(bits.dtype.newbyteorder("<")).tobytes()).hexdigest()


def load(fmt: str) -> dict:
    return json.loads((GOLDEN / f"{fmt}.json").read_text())["functions"]
