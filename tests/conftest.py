"""What all tests share: the C library, and which tests run only when asked for.

The library under test is the one REPMATH_LIBRARY names, or a build of this tree, made once in build/native/default.
"""

import ctypes
import importlib
import os
import pathlib
import sys

import elementwise_library  # noqa: E402
import native  # noqa: E402
import pytest

HERE = pathlib.Path(__file__).parent

# With several processes (pytest-xdist, --dist loadfile) the longest files begin first: those that build the library, then the others.
LONG = (
    "packaging/test_sanitizers.py",
    "cuda/test_emulated.py",
    "elementwise/test_accurate.py",
    "packaging/test_cross_aarch64.py",
    "packaging/test_cross_compilers.py",
    "elementwise/test_several.py",
    "elementwise/test_controls.py",
    "elementwise/test_f32.py",
    "packaging/test_c.py",
    "python/test_verify.py",
    "proofs/test_exact.py",
    "torch/test_operators.py",
    "torch/test_opinfo_isas.py",
    "torch/test_opinfo.py",
    "torch/test_opinfo_gradients.py",
    "nn/test_optimizers.py",
)


def pytest_configure(config):
    if hasattr(config.option, "loadscopereorder"):  # pytest-xdist would begin with the files of most tests
        config.option.loadscopereorder = False


def pytest_collection_modifyitems(config, items):
    rank = {HERE / name: number for number, name in enumerate(LONG)}
    items.sort(key=lambda item: rank.get(item.path, len(LONG)))
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


@pytest.fixture
def example(monkeypatch, capsys):
    """Runs a script of examples/python in this process, on images of its own: what it prints last is the digest of its weights."""
    import repmath

    monkeypatch.syspath_prepend(str(native.ROOT / "examples/python"))
    images, labels = repmath.random.uniform(1, (120, 1, 8, 8), dtype="f4"), repmath.random.randint(2, 120, 10).astype("i4")
    data = ((images[:96], labels[:96]), (images[96:], labels[96:]))
    monkeypatch.setattr(importlib.import_module("digits"), "data", lambda images, generated=False: data)

    def run(name, *options):
        monkeypatch.setattr(sys, "argv", [name, "--steps", "3", "--images", "96", *options])
        script = importlib.import_module(name)
        script.main()
        return script, capsys.readouterr().out.split()[-1]

    return run
