"""What the tests of scopes share: formats, a seed and a sample, numbers, and an oracle of 1,400 bits."""

import gmpy2
import ml_dtypes
import numpy as np
import pytest

FORMATS = {"f2": "f16", ml_dtypes.bfloat16: "bf16", "f4": "f32", "f8": "f64"}
SEED, SAMPLE = 9, 4


@pytest.fixture(autouse=True)
def precision():
    with gmpy2.context(gmpy2.get_context(), precision=1400, emin=-(10**6), emax=10**6):
        yield


def numbers(dtype, *shape, seed=0):
    return np.random.default_rng(seed + sum(shape)).uniform(-2, 2, shape).astype(dtype)
