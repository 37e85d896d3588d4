"""One SHA-256 for the contents of arrays."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._environment import guarded

_BLOCK = 1 << 20  # elements hashed at a time, so that no copy of a large array is made


def _canonical_nan(block: np.ndarray) -> np.ndarray:
    """The block with every NaN made quiet, positive and without payload: the NaN that repmath returns."""
    if block.dtype.kind in "fcV":
        nan = np.isnan(block)
        if nan.any():
            block = block.copy()
            if block.dtype.kind == "c":  # either part may be the NaN
                parts = block.view(block.real.dtype)
                parts[np.isnan(parts)] = np.nan
            else:
                block[nan] = np.nan
    return block


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        for key in sorted(value, key=str):
            yield from _flat(value[key])
    else:
        yield value


def digest(*arrays: ArrayLike | Mapping[Any, Any]) -> str:
    """SHA-256 of the values of arrays, in hexadecimal.

    Parameters
    ----------
    *arrays : array_like, or mapping to such
        Of any shape and of type bool, integer, float16, bfloat16, float32,
        float64 or complex64, complex128. A mapping counts with its values, in
        the order of their keys as text.

    Returns
    -------
    str
        64 hexadecimal digits.

    Raises
    ------
    TypeError
        An argument has another dtype.

    Notes
    -----
    For each array in turn, what is hashed is: its header, the ASCII text
    ``name(d0,d1,...)\\n`` of the dtype's name and the lengths (``float32(2,3)``,
    ``float64()`` for a scalar), then its elements in C order, each little
    endian. So memory layout and byte order do not count; type and shape do.
    Every NaN is hashed as the one canonical NaN of its format (sign 0, quiet,
    payload 0), because platforms differ in NaNs that repmath did not make.
    -0 and +0 differ.
    """
    return _of_arrays(*(a for value in arrays for a in _flat(value)))


@guarded
def _of_arrays(*arrays: ArrayLike) -> str:
    sha = hashlib.sha256()
    for position, array in enumerate(arrays):
        try:
            a = np.asarray(array)
        except ValueError:
            raise TypeError(
                f"arrays[{position}] is a {type(array).__name__} that is no array: give its arrays one by one"
            ) from None
        if a.dtype.kind == "O":
            raise TypeError(
                f"arrays[{position}] is a {type(array).__name__}, which has no portable bytes: give its arrays one by one"
            )
        name = a.dtype.name
        if not (a.dtype.kind in "bui" or name in ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")):
            raise TypeError(f"arrays[{position}] has dtype {a.dtype}, which has no portable bytes")
        sha.update(f"{name}({','.join(map(str, a.shape))})\n".encode())
        flat = a.reshape(-1) if a.flags.c_contiguous else a.flat
        for start in range(0, a.size, _BLOCK):
            block = _canonical_nan(flat[start : start + _BLOCK])
            sha.update(np.ascontiguousarray(block, block.dtype.newbyteorder("<")).view(np.uint8))
    return sha.hexdigest()
