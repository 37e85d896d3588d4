"""The four formats as bits in unsigned integers, which is how the suite keeps every number."""

import numpy as np

# name: (unsigned type, bits of the fraction, sign's place)
FORMATS = {
    "f64": (np.dtype(np.uint64), 52, 63),
    "f32": (np.dtype(np.uint32), 23, 31),
    "f16": (np.dtype(np.uint16), 10, 15),
    "bf16": (np.dtype(np.uint16), 7, 15),
}
# Results that are no floating-point numbers.
INTEGERS = {"u8": np.dtype(np.uint8), "u32": np.dtype(np.uint32), "u64": np.dtype(np.uint64), "i64": np.dtype(np.int64)}


def unsigned(kind: str) -> np.dtype:
    """The type that holds the bits."""
    return FORMATS[kind][0] if kind in FORMATS else np.dtype(f"u{INTEGERS[kind].itemsize}")


def is_nan(bits: np.ndarray, kind: str) -> np.ndarray:
    if kind not in FORMATS:
        return np.zeros(bits.shape, bool)
    uint, fraction, sign = FORMATS[kind]
    infinity = ((1 << (sign - fraction)) - 1) << fraction
    return (bits & uint.type((1 << sign) - 1)) > uint.type(infinity)


def distance(a: int, b: int, kind: str) -> int:
    """How many numbers of the format b is from a, counting through the zeros, of which +0 and -0 are one apart."""
    if kind not in FORMATS:
        return abs(a - b)
    sign = FORMATS[kind][2]
    place = [(-1 - (v & ((1 << sign) - 1))) if v >> sign else v for v in (a, b)]
    return abs(place[0] - place[1])


def values(bits: np.ndarray, kind: str) -> np.ndarray:
    """Numbers to read; exact."""
    bits = np.ascontiguousarray(bits, unsigned(kind))
    if kind in INTEGERS:
        return bits.view(INTEGERS[kind])
    if kind == "bf16":
        return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return bits.view({"f64": np.float64, "f32": np.float32, "f16": np.float16}[kind])
