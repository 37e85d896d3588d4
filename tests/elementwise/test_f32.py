"""f32: special values and random inputs against MPFR, the strided golden set against its digest, on every instruction set. All
2^32 inputs are run by tests/exhaustive/run.py."""

import hashlib

import elementwise_library
import golden_sets
import numpy as np
import oracle
import pytest


@pytest.mark.parametrize("function", oracle.UNARY)
def test_against_mpfr(function):
    # Few random inputs: the strided digest below is that of MPFR's results for 2^24.
    x = np.concatenate([oracle.special_values("f32"), oracle.random_values("f32", 10000, 11)])
    bits, want = oracle.to_bits(x, "f32"), oracle.values(function, x, "f32")
    for isa, library in elementwise_library.libraries().items():
        wrong = np.flatnonzero(library.array(function, bits, "f32") != want)
        assert wrong.size == 0, (isa, [float(x[i]).hex() for i in wrong[:5]])
    library = next(iter(elementwise_library.libraries().values()))
    some = slice(None, None, 97)
    assert [library.scalar(function, int(b), "f32") for b in bits[some]] == want[some].tolist()


@pytest.mark.sample(5)
@pytest.mark.parametrize("function", oracle.UNARY)
def test_strided_digest(function):
    bits, want = golden_sets.inputs("f32"), golden_sets.load(function)["f32"]["strided"]
    assert want["stride"] == golden_sets.F32_STRIDE
    for isa, library in elementwise_library.libraries().items():
        assert golden_sets.sha256(library.array(function, bits, "f32")) == want["sha256"], isa


@pytest.mark.exhaustive
def test_every_input_of_one_function():
    """All 2^32 inputs of log, which leaves the most inputs undecided, by array calls on the best instruction set."""
    found = elementwise_library.libraries()
    library = next(found[isa] for isa in ("avx512", "neon", "avx2", "base") if isa in found)
    chunk, sha = 1 << 20, hashlib.sha256()  # near enough to stay in a cache
    first = np.arange(chunk, dtype=np.uint32)
    for start in range(0, 1 << 32, chunk):
        sha.update(library.array("log", first + np.uint32(start), "f32").astype("<u4", copy=False))
    assert sha.hexdigest() == golden_sets.published("log", "f32", exhaustive=True)
