"""The fixture of the tests of sums, products and statistics."""

import pytest
from reductions_library import Reductions


@pytest.fixture(scope="module")
def lib(isa_library):
    """The library held to each instruction set in turn, with the calls of reductions_library.py."""
    return Reductions(isa_library)
