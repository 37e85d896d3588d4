"""What a type checker says of calls: read by tests/python/test_types.py, never run."""

from typing import Any, assert_type

import numpy as np

import repmath

array = np.ones((2, 3))
assert_type(repmath.sum(array), np.floating[Any])
assert_type(repmath.sum([1.0, 2.0]), np.floating[Any])
assert_type(repmath.sum(array, axis=0, out=np.zeros(3)), np.ndarray[tuple[int], np.dtype[np.float64]])
assert_type(repmath.mean(array, dtype=np.float32), np.floating[Any])
assert_type(repmath.var(array, correction=1), np.floating[Any])
assert_type(repmath.norm(array), np.floating[Any])
assert_type(repmath.exp(0.5), np.floating[Any])
assert_type(repmath.exp(array), np.ndarray[Any, Any])
assert_type(repmath.arctan2(array, 2.0), np.ndarray[Any, Any])
assert_type(repmath.Accumulator(array).round(np.float32), np.float32)
assert_type(repmath.Accumulator(array).round(), np.floating[Any])


class Foreign:
    def __dlpack__(self) -> Any: ...


assert_type(repmath.sum(Foreign(), axis=0), Foreign)
ufunc: np.ufunc = repmath.exp
repmath.sum(array, axis="rows")  # error
repmath.sum(array, keepdims="no")  # error
assert_type(repmath.sum(array), str)  # error
