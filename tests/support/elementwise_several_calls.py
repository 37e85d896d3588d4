"""What elementwise/test_several.py and other tests share."""

import elementwise_library
import numpy as np
import oracle
from slow_calls import RULES, check, compiled, slow  # noqa: F401 (fixtures)


def compare(function, x, fmt, want=None):
    bits = tuple(oracle.to_bits(v, fmt) for v in x)
    want = oracle.values(function, x, fmt) if want is None else want
    for isa, library in elementwise_library.libraries().items():
        wrong = np.flatnonzero(library.array(function, bits, fmt) != want)
        assert wrong.size == 0, (isa, wrong.size, [[float(v[i]).hex() for v in x] for i in wrong[:5]])
    return bits, want
