"""Sums and products beside a tie of the result on aarch64, by programs under an emulator: the data of test_boundaries.py."""

import boundary_data as data
import native
import numpy as np
import pytest
from boundary_products import WINDOWS, boundaries, check, windows, wrong
from convolution_library import FORMATS
from reductions_library import OK

ALL = [*data.SHAPES, "f64"]
EMULATED = pytest.mark.parametrize("isa", ["base", "neon"])


class Emulated:
    """The library for aarch64 under an emulator, by programs that take their data from a file."""

    def __init__(self, isa, folder, *flags):
        self.where, self.qemu = native.cross_aarch64(*flags)
        self.environment, self.file = {"REPMATH_ISA": isa}, folder / "data"

    def run(self, program, *arguments):
        return native.run(self.qemu, self.where / "tests/c" / program, *arguments, env=self.environment)

    def products(self, fmt, b, m, n, by_terms, *scaling, old=()):
        """The bits of the elements; scaling is alpha and beta, for a matrix of elements `old`."""
        self.file.write_bytes(b.x.tobytes() + b.y.tobytes() + np.array(old, b.x.dtype).tobytes())
        out = self.run("product_of", FORMATS.index(fmt), m, n, b.k, by_terms, self.file, *scaling).split()
        assert len(out) == m * n
        return [int(word, 16) for word in out]

    def convolution(self, g, what, fmt, first, second, out):
        """As a Convolution is called."""
        self.file.write_bytes(first.tobytes() + second.tobytes())
        c = g.struct()
        number = ["forward", "grad_input", "grad_weight"].index(what), FORMATS.index(fmt)
        rows = [list(row) for row in (c.in_, c.kernel, c.stride, c.dilation, c.padding_low, c.padding_high)]
        self.run(
            "convolution_of", *number, c.dims, c.batch, c.channels_in, c.channels_out, c.groups, *sum(rows, []), self.file
        )
        out[...] = np.frombuffer(self.file.read_bytes(), out.dtype).reshape(out.shape)
        return OK


def check_products(emulated, fmt):
    checked = 0
    for b, _, name in boundaries(fmt, 40_000, chains=[(256, 1), (128, 1), (256, 2)]):
        for m, n, by_terms in ((1, 3, 1), (1, 3, 0), (3, 1, 1), (2, 2, 1)):
            assert emulated.products(fmt, b, m, n, by_terms) == [b.bits] * (m * n), (fmt, name, m, n, by_terms)
            checked += 1
    assert checked


def check_scaling(emulated, fmt):
    """The half place comes from beta C, and twice the result is what it must be (test_bias_batch_and_scaling)."""
    for b, tie, name in boundaries(fmt, 300, addend=True, chains=[(256, 1), (128, 1), (128, 2)]):
        for m, n, by_terms in ((1, 3, 1), (1, 3, 0), (2, 9, 1), (3, 1, 1)):
            found = emulated.products(fmt, b, m, n, by_terms, 0.5, -0.25, old=[-2 * tie])
            half = np.array(found, f"u{b.x.dtype.itemsize}").view(b.x.dtype).astype("f8")
            check((half * 2).astype(b.x.dtype), b, name, m, n, by_terms)


def check_windows(emulated, fmt):
    for case in WINDOWS:
        for got, b, name in windows(emulated.convolution, fmt, *WINDOWS[case]):
            check(got, b, case, name)


@pytest.mark.long
@EMULATED
@pytest.mark.parametrize("fmt", ALL)
def test_products(isa, fmt, tmp_path):
    check_products(Emulated(isa, tmp_path), fmt)


@pytest.mark.long
@EMULATED
@pytest.mark.parametrize("fmt", ALL)
def test_scaling(isa, fmt, tmp_path):
    check_scaling(Emulated(isa, tmp_path), fmt)


@pytest.mark.long
@EMULATED
@pytest.mark.parametrize("fmt", ALL)
def test_windows(isa, fmt, tmp_path):
    check_windows(Emulated(isa, tmp_path), fmt)


@pytest.mark.exhaustive
@EMULATED
def test_control_with_smaller_bounds(isa, tmp_path):
    """With all bounds 2^20 times smaller each of these sees wrong bits."""
    emulated = Emulated(isa, tmp_path, "-DRM_CFG_BOUND_SHRINK=0x1p-20f")
    for fmt in ("f32", "f64"):
        assert wrong(check_products, emulated, fmt) and wrong(check_scaling, emulated, fmt)
    for fmt in ALL:
        assert wrong(check_windows, emulated, fmt)
