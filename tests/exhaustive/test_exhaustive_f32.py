"""Every input of every f32 function: chosen by `make test-exhaustive`. The strided sample is in elementwise/test_f32.py."""

import oracle
import pytest
import run


@pytest.mark.exhaustive
@pytest.mark.parametrize("function", oracle.UNARY)
def test_every_input(function):
    run.main(["--function", function])
