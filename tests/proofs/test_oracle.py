"""proofs/oracle: binary32 results beside hard cases against polynomials in integers, and that these find every wrong bit. `make oracle`
runs all 2^32 numbers."""

import ctypes
import math
import random
from fractions import Fraction

import native
import numpy as np
import oracle as mpfr
import pytest

pytest.importorskip("flint")

import definitions  # noqa: E402
import gmpy2  # noqa: E402
from native import need  # noqa: E402

from proofs.oracle import __main__ as driver  # noqa: E402
from proofs.oracle import blocks, check, functions, gamma  # noqa: E402
from proofs.oracle.functions import SIGN, bits, number  # noqa: E402

FUNCTIONS = gamma.table()
SEGMENTS = 4  # a function, of 65,536 numbers, and as many of the other sign
FLOATS = ctypes.POINTER(ctypes.c_float)
SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int64, FLOATS, ctypes.c_ssize_t, FLOATS, ctypes.c_ssize_t)


@pytest.fixture(scope="module")
def library():
    need("cc")
    return ctypes.CDLL(str(native.default_build() / "librepmath.so"))


def segment_of(name: str, b: int) -> int:
    return ((b & SIGN - 1) if FUNCTIONS[name].twin else b) // blocks.SEGMENT


def hardest(name: str) -> list[int]:
    """The bits of the numbers whose results are nearest to a midpoint."""
    path = mpfr.ROOT / f"tests/data/hardcases/f32/{name}.txt"
    lines = path.read_text().splitlines() if path.exists() else ["0x1.8p0"]  # sqrt has none
    return [bits(float.fromhex(line)) for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("name", mpfr.UNARY)
def test_results_beside_hard_cases(library, name):
    chosen = sorted({segment_of(name, b) for b in hardest(name)[: 8 * SEGMENTS]})[:SEGMENTS]
    found = check.run(name, FUNCTIONS[name], getattr(library, f"rm_v{name}_f32"), chosen)
    assert found.wrong == []
    assert found.inputs == len(chosen) * blocks.SEGMENT * (2 if FUNCTIONS[name].twin else 1)
    assert found.resolved <= found.inputs * 2**-16 + 1  # the enclosures decide nearly all


@pytest.mark.parametrize("name", mpfr.UNARY)
def test_a_flipped_bit_is_found(library, name):
    """The last bit of the result at the hardest case, and the sign of one at random."""
    rng = random.Random(name)
    real = getattr(library, f"rm_v{name}_f32")
    for target, bit in ((hardest(name)[0], 1), (rng.randrange(1 << 32), 1), (rng.randrange(1 << 32), SIGN)):

        def changed(n, x, stride_x, y, stride_y, target=target, bit=bit):
            status = real(ctypes.c_int64(n), x, ctypes.c_ssize_t(stride_x), y, ctypes.c_ssize_t(stride_y))
            given = np.ctypeslib.as_array(ctypes.cast(x, ctypes.POINTER(ctypes.c_uint32)), (n,))
            np.ctypeslib.as_array(ctypes.cast(y, ctypes.POINTER(ctypes.c_uint32)), (n,))[given == target] ^= np.uint32(bit)
            return status

        found = check.run(name, FUNCTIONS[name], SIGNATURE(changed), [segment_of(name, target)])
        assert [x for x, _, _ in found.wrong] == [target]


def value_at(block, i: int) -> tuple[Fraction, Fraction]:
    """The ends of what a polynomial block says of its i-th number, by Python's integers."""
    v, s = block.c[block.degree], (i << 64 - block.power) - (1 << 63) if block.power else 0
    for c in reversed(block.c[: block.degree]):
        v = c + (v * s >> 63)
    unit = Fraction(2) ** -block.scale
    return (v - block.below) * unit, (v + block.above) * unit


POLES = ("lgamma", "digamma", "tanpi")  # at integers or halves of such, which the blocks do not leave out


@pytest.mark.parametrize("name", mpfr.UNARY)
def test_enclosures_contain_the_values(name):
    """Of random numbers and of the first and last ones of blocks, by MPFR, at 200 bits: and they are narrow."""
    rng, seen = random.Random(name), 0
    while seen < 6:
        for block in blocks.blocks(FUNCTIONS[name], rng.randrange(1 << 16)):
            if block.kind != blocks.POLYNOMIAL:
                break
            for i in {0, block.count - 1, rng.randrange(block.count)}:
                low, high = value_at(block, i)
                try:
                    with definitions.wide():
                        value = definitions.value(name, gmpy2.mpfr(number(block.first + i)))
                except definitions.Exact as e:
                    value = e.value
                if name in POLES and not gmpy2.is_finite(value):
                    continue  # MPFR decides there
                if value == 0:  # and there: exactly 0, as sinpi of integers, which nothing relative encloses
                    assert low < 0 < high
                    continue
                assert low < Fraction(*value.as_integer_ratio()) < high, (name, hex(block.first + i))
                assert high - low < abs(high) * Fraction(1, 2 ** (27 if block.below + block.above == 1 else 40))
            seen += 1
            if seen % 3 == 0:
                break


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_turns_contain_the_values(library, name):
    """The largest numbers, all results of one segment wrong by a bit: all are found."""
    real = getattr(library, f"rm_v{name}_f32")
    given = check.array(blocks.blocks(FUNCTIONS[name], bits(2.0**127) // blocks.SEGMENT))
    assert [b.kind for b in given] == [blocks.TURNS]

    def changed(n, x, stride_x, y, stride_y):
        status = real(ctypes.c_int64(n), x, ctypes.c_ssize_t(stride_x), y, ctypes.c_ssize_t(stride_y))
        np.ctypeslib.as_array(ctypes.cast(y, ctypes.POINTER(ctypes.c_uint32)), (n,))[:] ^= np.uint32(1)
        return status

    given[0].count = 2048
    assert len(check.compare(name, SIGNATURE(changed), given).wrong) == 4096
    assert check.compare(name, real, given).wrong == []


def test_tails_and_pieces_are_checked():
    """A tail whose end rounds to something else, a gap between pieces, x where the result is not x."""
    with pytest.raises(AssertionError):
        functions.tail(functions.DEFINITIONS["exp"], 80.0, math.inf, math.inf)
    with pytest.raises(AssertionError):
        functions.tail(functions.DEFINITIONS["tanh"], 8.0, 1, 1.0)
    with pytest.raises(AssertionError):
        functions.tail(functions.DEFINITIONS["tanh"], 10.0, 1, number(bits(1.0) - 1))
    with pytest.raises(AssertionError):
        functions.both(functions.one(0.0, 1.0), functions.series(math.exp, low=1.0))
    with pytest.raises(AssertionError):
        functions.same(functions.DEFINITIONS["softplus"], 10.0)


def test_results_of_whole_runs_are_of_these_bits():
    """What results.json says of a function belongs to the published digest of its results."""
    for name, held in driver.results().items():
        assert held["golden"] == driver.golden(name) and held["wrong"] == 0
        assert held["inputs"] <= 1 << 32 and (held["share"] != "1" or held["inputs"] == 1 << 32)
