"""The array functions with a rounding mode: as MPFR has it, on one thread and on several; nearest is the plain function."""

import ctypes

import elementwise_library
import numpy as np
import oracle
import pytest
import ranges


@pytest.mark.sample(3)
@pytest.mark.parametrize("rule", oracle.RULES)
@pytest.mark.parametrize("fmt", ["f32", "f64"])
@pytest.mark.parametrize("function", oracle.FUNCTIONS)
def test_against_mpfr(function, fmt, rule):
    arity, rng = oracle.ARITY[function], np.random.default_rng(41)
    boxes = ranges.RANGES[function][0]
    x = [rng.uniform(low, high, 3000) for low, high in (boxes if arity > 1 else [boxes])]
    x = tuple(oracle.to_double(oracle.narrow(v, fmt) if fmt == "f32" else v.view(np.uint64), fmt) for v in x)
    x = tuple(np.concatenate(pair) for pair in zip(x, oracle.random_tuples(fmt, arity, 1000, 42), strict=True))
    want = oracle.values(function, x if arity > 1 else x[0], fmt, rule)
    bits = tuple(oracle.to_bits(v, fmt) for v in x)
    for isa, library in elementwise_library.libraries().items():
        wrong = np.flatnonzero(library.array(function, bits, fmt, rule) != want)
        assert wrong.size == 0, (isa, [[float(v[i]).hex() for v in x] for i in wrong[:5]])


def test_a_rule_that_does_not_exist():
    library = next(iter(elementwise_library.libraries().values())).library
    x, y = np.ones(3), np.full(3, 7.0)
    for rule in (-1, 4):
        pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (x, y)]
        stride = ctypes.c_ssize_t(8)
        status = library.rm_vexp_rounded_f64(ctypes.c_int64(3), pointers[0], stride, pointers[1], stride, ctypes.c_int(rule))
        assert (status & 0xFF, status >> 8) == (4, 6)
    assert (y == 7.0).all()
