"""rm_index_add and rm_segment_sum against exact integers, bit by bit, on every instruction set."""

import ctypes
import itertools

import elementwise_library
import native
import numpy as np
import pytest
import reduction_data as data
from exact_oracle import CANONICAL_NAN, FORMATS, bits, exact_bits
from reductions_library import ENUM, FE_INVALID, FE_OVERFLOW, I64, NULL, OK, OVERLAP, SIZE, Reductions, pointer, status

INDEX = 12
NAMES = ["f16", "bf16", "f32", "f64"]  # the order of RM_FORMAT_...
FMT = pytest.mark.parametrize("fmt", NAMES)
FUNCTIONS = ("index_add", "segment_sum")
KINDS = sorted({f.__name__ for pair in data.PAIRS.values() for f in pair})


@pytest.fixture(scope="module", params=elementwise_library.ISAS)
def lib(request):
    found = elementwise_library.libraries()
    if request.param not in found:
        pytest.skip(f"this CPU cannot run the {request.param} build")
    return Reductions(found[request.param].library)


@pytest.fixture
def rng():
    return np.random.default_rng(50)


def kind(fmt):
    return np.dtype(FORMATS[fmt][0])


def call(lib, function, fmt, out, index, src):
    """The status; out is written."""
    view = lambda x: (pointer(x), I64(x.strides[0]), I64(x.strides[1]))  # noqa: E731
    f = getattr(lib.c, f"rm_{function}")
    sizes = I64(out.shape[0]), I64(out.shape[1])
    return f(NAMES.index(fmt), *sizes, *view(out), I64(len(index)), pointer(index), I64(index.strides[0]), *view(src))


def expected(function, fmt, out, index, src):
    """The bits that the specification asks for."""
    want = bits(np.ascontiguousarray(out)).copy() if function == "index_add" else np.zeros(out.shape, FORMATS[fmt][1])
    for row in np.unique(index):
        for col in range(out.shape[1]):
            terms = list(src[index == row, col]) + ([out[row, col]] if function == "index_add" else [])
            want[row, col] = exact_bits(terms, fmt)
    return want


def check(lib, fmt, out, index, src):
    for function in FUNCTIONS:
        want, got = expected(function, fmt, out, index, src), out.copy()
        assert call(lib, function, fmt, got, index, src) == OK
        wrong = np.argwhere(bits(got) != want)
        assert not len(wrong), f"{function}: {len(wrong)} of {want.size}, first {wrong[0]}"


def hard(rng, name, fmt, m, n):
    """Hard data, in a 16-bit format with its exponents."""
    if fmt in ("f32", "f64"):
        return getattr(data, name)(rng, kind(fmt).type, m, n)
    scale = {"spread": 2.0 ** rng.integers(-12, 8, (m, n)), "tiny": 2.0 ** (-14 if fmt == "f16" else -126)}
    scale |= {"subnormal": float(np.array(1, np.uint16).view(kind(fmt))), "huge": 2.0 ** (14 if fmt == "f16" else 126)}
    base = getattr(data, name if name not in scale else "gaussian")(rng, np.float32, m, n)
    with np.errstate(all="ignore"):
        return np.clip(base * np.float64(scale.get(name, 1.0)), -60000, 60000).astype(kind(fmt))


@FMT
@pytest.mark.parametrize("name", KINDS)
def test_hard_data(lib, rng, fmt, name):
    for n, rows, cols in ((40, 7, 37), (150, 3, 9), (30, 100, 5)):
        src, out = hard(rng, name, fmt, n, cols), hard(rng, name, fmt, rows, cols)
        check(lib, fmt, out, rng.integers(0, rows, n), src)


@FMT
def test_shapes(lib, rng, fmt):
    """Every number of columns around whole vectors and blocks; few and many contributions; empty destinations."""
    for cols in (*range(1, 20), 31, 32, 33, 47, 65):
        for n, rows in ((1, 1), (5, 9), (40, 2)):
            src, out = hard(rng, "gaussian", fmt, n, cols), hard(rng, "gaussian", fmt, rows, cols)
            check(lib, fmt, out, rng.integers(0, rows, n), src)
