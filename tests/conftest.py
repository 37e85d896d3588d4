"""What all tests share: the C library, and which tests run only when asked for.

The library under test is the one REPMATH_LIBRARY names, or a build of this tree, made once in build/native/default.
"""

import ctypes
import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import elementwise_library  # noqa: E402

# With several processes (pytest-xdist, --dist loadfile) the longest files begin first: those that build the library, then the others.
LONG = (
    "test_packaging_sanitizers.py",
    "test_packaging_cuda.py",
    "test_slow.py",
    "test_cross_aarch64.py",
    "test_cross_compilers.py",
    "test_elementwise_several.py",
    "test_elementwise_controls.py",
    "test_elementwise_f32.py",
    "test_packaging_c.py",
    "test_python_verify.py",
)


def pytest_configure(config):
    if hasattr(config.option, "loadscopereorder"):  # pytest-xdist would begin with the files of most tests
        config.option.loadscopereorder = False


def pytest_collection_modifyitems(config, items):
    items.sort(key=lambda item: LONG.index(item.path.name) if item.path.name in LONG else len(LONG))
    if os.environ.get("REPMATH_EXHAUSTIVE"):
        return
    skip = pytest.mark.skip(reason="runs for minutes; REPMATH_EXHAUSTIVE=1 or `make test-exhaustive` asks for it")
    for item in items:
        if "exhaustive" in item.keywords:
            item.add_marker(skip)


@pytest.fixture(scope="session")
def library_path() -> str:
    """The path of the shared C library under test."""
    named = os.environ.get("REPMATH_LIBRARY")
    if named:
        return named
    import native

    suffix = "dylib" if sys.platform == "darwin" else "so"
    return str(native.default_build() / f"librepmath.{suffix}")


@pytest.fixture(scope="session")
def library(library_path) -> ctypes.CDLL:
    """The shared C library, loaded."""
    return ctypes.CDLL(library_path)


@pytest.fixture(scope="module", params=elementwise_library.ISAS)
def isa_library(request) -> ctypes.CDLL:
    """The library held to each instruction set in turn."""
    found = elementwise_library.libraries()
    if request.param not in found:
        pytest.skip(f"this CPU cannot run the {request.param} build")
    return found[request.param].library
