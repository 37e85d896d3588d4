"""The fixture of the tests of linear algebra."""

import pytest
from linalg_library import Linalg


@pytest.fixture(scope="module")
def lib(isa_library):
    """The library held to each instruction set in turn, with the calls of linalg_library.py."""
    return Linalg(isa_library)
