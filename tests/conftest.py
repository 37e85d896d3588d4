"""What all tests share: the C library, and which tests run only when asked for.

The library under test is the one REPMATH_LIBRARY names, or a build of this tree, made once in build/native/default.
"""

import ctypes
import importlib
import os
import pathlib
import sys
import zlib

import elementwise_library  # noqa: E402
import native  # noqa: E402
import pytest

HERE = pathlib.Path(__file__).parent

# With several processes (pytest-xdist, --dist loadfile) the longest files begin first: those that build the library, then the others.
LONG = (
    "cuda/test_emulated.py",
    "elementwise/test_accurate.py",
    "torch/test_ddp.py",
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


def pytest_addoption(parser):
    parser.addoption(
        "--quick",
        action="store_true",
        help="leave out tests marked long, and all but a fixed sample of the cases of those marked sample (as `make test` does)",
    )


def pytest_configure(config):
    if hasattr(config.option, "loadscopereorder"):  # pytest-xdist would begin with the files of most tests
        config.option.loadscopereorder = False


def of_sample(items):
    """The cases that --quick keeps: of each test that is marked sample(n, *names), those whose hash is 0 modulo n, or the one of the least.

    The hash is of all parameters, or of those named: cases that share what an oracle computed stay together."""
    kept, least = set(), {}
    for item in items:
        mark = item.get_closest_marker("sample")
        if mark is None:
            kept.add(item)
            continue
        one_of, *names = mark.args
        params = getattr(item, "callspec", None) and item.callspec.params
        assert params and set(names) <= set(params), f"{item.nodeid}: marked sample without such parameters"
        text = "-".join(str(params[name]) for name in names) if names else item.callspec.id
        number = zlib.crc32(f"{item.originalname}-{text}".encode())
        if number % one_of == 0:
            kept.add(item)
        least.setdefault((item.path, item.originalname), []).append((number, item))
    for cases in least.values():
        if not any(item in kept for _, item in cases):
            smallest = min(number for number, _ in cases)
            kept.update(item for number, item in cases if number == smallest)
    return kept


def pytest_collection_modifyitems(config, items):
    rank = {HERE / name: number for number, name in enumerate(LONG)}
    items.sort(key=lambda item: rank.get(item.path, len(LONG)))
    if config.getoption("quick"):
        sample = of_sample(items)
        left = [item for item in items if item not in sample or "long" in item.keywords]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item in sample and "long" not in item.keywords]
    if os.environ.get("REPMATH_EXHAUSTIVE"):
        return
    skip = pytest.mark.skip(reason="runs for minutes; REPMATH_EXHAUSTIVE=1 or `make test-exhaustive` asks for it")
    for item in items:
        if "exhaustive" in item.keywords:
            item.add_marker(skip)


def pytest_terminal_summary(terminalreporter, config):
    if config.getoption("quick"):
        terminalreporter.write_line(
            "--quick: long tests and most cases of tests marked sample were left out; `make test-long` runs them"
        )


@pytest.fixture(scope="session")
def quick(request) -> bool:
    """Whether a test is to take the small one of its sizes."""
    return request.config.getoption("quick")


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
