"""Every input of the 16-bit formats, on every instruction set, against MPFR."""

import elementwise_library
import golden_sets
import numpy as np
import oracle
import pytest


@pytest.mark.sample(4)
@pytest.mark.parametrize("fmt", ["f16", "bf16"])
@pytest.mark.parametrize("function", oracle.UNARY)
def test_every_input(function, fmt):
    bits = golden_sets.inputs(fmt)
    want = oracle.values(function, oracle.to_double(bits, fmt), fmt)
    assert golden_sets.sha256(want) == golden_sets.published(function, fmt)
    for isa, library in elementwise_library.libraries().items():
        wrong = np.flatnonzero(library.array(function, bits, fmt) != want)
        assert wrong.size == 0, (isa, [hex(i) for i in wrong[:5]])
    library = next(iter(elementwise_library.libraries().values()))
    assert [library.scalar(function, int(b), fmt) for b in bits[::7]] == want[::7].tolist()
