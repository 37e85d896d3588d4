"""The data beside boundaries of rounding reach paths that few calls take, and are needed there: on the control library (path_sites.py) each
path is counted, its results are right with whole bounds and wrong with smaller ones."""

import ctypes
import itertools
import time

import boundary_data as data
import bounds
import elementwise_library
import numpy as np
import path_sites
import pytest
from bound_sites import sites
from boundary_products import SIDES, WINDOWS, windows
from convolution_library import FORMATS, Convolution, dtype_of
from exact_oracle import bits
from reductions_library import I64, NO_TRANS, OK, ROW_MAJOR, TRANS, Reductions, pointer

F64 = ctypes.c_double
CHAINS = [s.number for s in sites() if s.name == "t * 0x1p-53 * (1.0 + slack)"]  # the bound of sums of products in binary64
TAPS = [s.number for s in sites() if s.name.startswith("(double)(l.taps + 1)")]  # of depthwise convolutions
TWO_PARTS = [s.number for s in sites() if s.name.startswith("0x1p-105 * b * n * n")]
LANES = {"base": 1, "avx2": 4, "avx512": 8, "neon": 2}
assert len(CHAINS) == len(TAPS) == len(TWO_PARTS) == 1


@pytest.fixture(scope="module", params=elementwise_library.ISAS)
def control(request):
    if request.param not in bounds.controls():
        pytest.skip(f"this CPU cannot run the {request.param} build")
    return bounds.controls()[request.param]


class Counts:
    """How often paths have been reached since it was made."""

    def __init__(self, control):
        self.counts = (ctypes.c_long * len(path_sites.PATHS)).in_dll(control.library, "rm_reached")
        self.first = list(self.counts)

    def of(self, name):
        k = path_sites.NUMBER[name]
        return self.counts[k] - self.first[k]


# ------------------------------------------------------------------------------------------------------------------- windows

# The paths of each geometry; how much smaller the bound must be. It is a product of norms, of which that of the image has the great value
# as often as taps meet it.
APART, ROWS_APART = "window of lines apart along x", "window of lines apart along y"
REACHED = {
    "padded": ((), 1 / 2),
    "apart": ((APART,), 1 / 4),
    "plane apart": ((APART, ROWS_APART), 1 / 4),
    "plane far apart": ((APART, ROWS_APART), 1 / 4),
    "terms apart": (("window of terms apart",), 1 / 4),
    "both apart": ((APART, ROWS_APART, "window of terms apart"), 1 / 4),
    "short lines": ((), 1 / 4),
    "space": (("window in three dimensions",), 1 / 8),
    "space apart": ((APART, "window in three dimensions", "window of three dimensions apart"), 1 / 4),
    "parts": (("window in parts",), 1 / 16),
    "back": (("window of terms that go back",), 1 / 4),
    "back in space": (("window of terms that go back", "window in three dimensions"), 1 / 8),
    "kernels": ((), 1 / 4),
    "kernels apart": ((APART,), 1 / 4),
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("fmt", FORMATS)
def test_windows(control, fmt):
    number = TWO_PARTS if fmt == "f64" else CHAINS
    for case, (paths, factor) in REACHED.items():
        counts = Counts(control)
        assert all(np.all(bits(got) == b.bits) for got, b, _ in windows(Convolution(control.library), fmt, *WINDOWS[case])), (
            case
        )
        for path in ("window", *paths):
            assert counts.of(path), (case, path)
        if case == "short lines":
            assert control.isa == "base" or counts.of(
                f"window vectors of {'three rows and more' if control.isa == 'avx512' else 'two rows'}"
            )
        with control.shrink(1 / 8 if fmt == "f64" else factor, number):
            wrong = [
                bool(np.any(bits(got) != b.bits)) for got, b, _ in windows(Convolution(control.library), fmt, *WINDOWS[case])
            ]
        assert any(wrong), case


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("case", ["one channel", "one channel apart", "one channel back"])
def test_windows_of_one_channel(control, fmt, case):
    """Which have a chain over the taps, but in binary64, where they are products in two parts."""
    number, factor = (TWO_PARTS, 1 / 16) if fmt == "f64" else (TAPS, 1 / 2)
    conv = Convolution(control.library)
    assert all(np.all(bits(got) == b.bits) for got, b, _ in windows(conv, fmt, *WINDOWS[case]))
    with control.shrink(factor, number):
        assert any(np.any(bits(got) != b.bits) for got, b, _ in windows(conv, fmt, *WINDOWS[case]))


# ------------------------------------------------------------------------------------- panels that a helping thread takes


def together(control, fmt, b, out):
    """out = x y^T for 64 rows x and 112 columns y by two threads of which one leaves panels to the other; the columns that these had."""
    lib, shape = Reductions(control.library), (64, 112)
    waits = ctypes.c_int.in_dll(control.library, "rm_owners_wait")
    helped = (ctypes.c_char * path_sites.HELPED).in_dll(control.library, "rm_helped")
    a, lines = np.tile(b.x, (shape[0], 1)), np.tile(b.y, (shape[1], 1))
    ctypes.memset(helped, 0, path_sites.HELPED)
    before = lib.c.rm_get_num_threads()
    lib.threads(2)
    waits.value = 1
    try:
        strides = (pointer(a), I64(0), *map(I64, a.strides)), (pointer(lines), I64(0), *map(I64, lines.strides[::-1]))
        number = FORMATS.index(fmt)
        sizes = [I64(v) for v in (1, *shape, b.k)]
        bias = pointer(None), I64(0), I64(0)
        assert (
            lib.c.rm_matmul_batched(
                number, number, *sizes, *strides[0], *strides[1], *bias, pointer(out), I64(0), *map(I64, out.strides)
            )
            == OK
        )
    finally:
        waits.value = 0
        lib.threads(before)
    return np.flatnonzero(np.frombuffer(helped.raw, "u1")[: shape[1]])


@pytest.mark.parametrize("fmt", data.SHAPES)
def test_panels_of_a_helping_thread(control, fmt):
    """Which the owner of a block leaves to a thread that has no block left: it packs their columns, adds up and rounds them."""
    chain = 128 if control.isa == "avx512" else 256
    for side in SIDES:
        b, _ = data.products(fmt, 300, tuple(data.chain_places(300, chain, 1)[:260]), side)
        for factor in (1.0, 0.5):
            late = time.monotonic() + 60
            while True:  # a thread that comes late finds no panel, as on a machine with much else to do
                out = np.full((64, 112), 7, dtype_of(fmt))
                with control.shrink(factor, CHAINS):
                    columns = together(control, fmt, b, out)
                right = bits(out) == b.bits
                if factor == 1.0:
                    assert right.all()
                if len(columns) or time.monotonic() > late:
                    break
            assert len(columns), "no thread helped"
            assert factor == 1.0 or not right[:, columns].any(), side


# ---------------------------------------------------------------------------------- scaled products that are stored whole


@pytest.mark.parametrize("fmt", data.SHAPES)
def test_scaled_vectors(control, fmt):
    """RN(S/2 - C/4) of rows that are whole vectors, and more: one vector, a tile with a part of one, more tiles than one."""
    number, chain = FORMATS.index(fmt), 128 if control.isa == "avx512" else 256
    counts = Counts(control)
    for side, (m, n) in itertools.product(SIDES, ((1, 8), (2, 17), (9, 40))):
        k, lanes = (4096, LANES[control.isa]) if m == 1 else (300, 1)  # one row has chains in each lane
        b, tie = data.products(fmt, k, tuple(data.chain_places(k, chain, lanes)[: k - 40]), side, True)
        for factor in (1.0, 0.5):
            a, lines, c = np.tile(b.x, (m, 1)), np.tile(b.y, (n, 1)), np.full((m, n), -2 * tie, dtype_of(fmt))
            matrices = F64(0.5), pointer(a), I64(k), pointer(lines), I64(k), F64(-0.25), pointer(c), I64(n)
            before = counts.of("scaled vectors stored whole")
            with control.shrink(factor, CHAINS):
                assert control.library.rm_gemm(number, ROW_MAJOR, NO_TRANS, TRANS, I64(m), I64(n), I64(k), *matrices) == OK
            right = bits((c.astype("f8") * 2).astype(c.dtype)) == b.bits
            stored = counts.of("scaled vectors stored whole") - before
            # With whole bounds no element is decided here; with smaller ones all are, wrongly, and stored vector by vector.
            assert (
                (right.all() and not stored)
                if factor == 1.0
                else (not right.any() and stored == m * (n // LANES[control.isa]))
            )
