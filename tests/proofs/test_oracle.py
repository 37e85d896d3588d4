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
from proofs.oracle import blocks, check, functions, gamma, periods  # noqa: E402
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


POLES = ("lgamma", "digamma", "trigamma")  # at negative whole numbers, which the polynomials do not leave out


@pytest.mark.parametrize("name", mpfr.UNARY)
def test_enclosures_contain_the_values(name):
    """Of random numbers and of the first and last ones of blocks, by MPFR, at 200 bits: and they are narrow."""
    rng, seen = random.Random(name), 0
    while seen < 6:
        for block in periods.of_segment(FUNCTIONS[name], rng.randrange(1 << 16)):
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


def with_wrong_bits(function):
    """The function, the last bit of every result wrong."""

    def changed(n, x, stride_x, y, stride_y):
        status = function(ctypes.c_int64(n), x, ctypes.c_ssize_t(stride_x), y, ctypes.c_ssize_t(stride_y))
        np.ctypeslib.as_array(ctypes.cast(y, ctypes.POINTER(ctypes.c_uint32)), (n,))[:] ^= np.uint32(1)
        return status

    return SIGNATURE(changed)


@pytest.mark.parametrize("low", [0.25, 0.75, 2.5, 3.0, 257.0, 2.0**22, 2.0**23 + 2.0**20])
@pytest.mark.parametrize("name", ["sinpi", "cospi", "tanpi"])
def test_periods_contain_the_values(library, name, low):
    """Zeros and poles are known, MPFR decides next to nothing, and every wrong bit is found."""
    (block,) = given = check.array(periods.of_segment(FUNCTIONS[name], bits(low) // blocks.SEGMENT))
    assert block.kind == periods.HALF_TURNS
    block.count, real = 512, getattr(library, f"rm_v{name}_f32")
    found = check.compare(name, real, given)
    assert found.wrong == [] and found.resolved <= 1
    assert len(check.compare(name, with_wrong_bits(real), given).wrong) == 1024


@pytest.mark.parametrize("low", [128.0, 129.5, 3000.0, 2.0**16 + 0.5, 2.0**21 + 2.0**17, 2.0**23 - 1024])
@pytest.mark.parametrize("name", ["lgamma", "digamma", "trigamma"])
def test_reflected_values(library, name, low):
    given = check.array(periods.of_segment(FUNCTIONS[name], bits(low) + SIGN >> 16))
    assert {block.kind for block in given} == {periods.REFLECTED}
    for block in given:
        block.count = 512 // len(given)
    real = getattr(library, f"rm_v{name}_f32")
    found = check.compare(name, real, given)
    assert found.wrong == [] and found.resolved <= 1
    assert len(check.compare(name, with_wrong_bits(real), given).wrong) == found.inputs


def said(block, i: int) -> tuple[Fraction, Fraction] | int:
    """The ends of what such a block says of its i-th number, or the bits of the result."""
    out = (ctypes.c_int64 * 4)()
    tables = blocks.turns_tables(), periods.fractions()
    check.rounded().rm_oracle_value(ctypes.byref(block), *tables, ctypes.c_uint32(i), out)
    v, error, scale, known = out
    unit = Fraction(2) ** -scale
    return ((v - error) * unit, (v + error) * unit) if known == 0xFFFFFFFF else known


@pytest.mark.parametrize("name", ["sinpi", "cospi", "tanpi", "lgamma", "digamma", "trigamma"])
def test_enclosures_in_periods_contain_the_values(name):
    """By MPFR, of random numbers and of those beside zeros and poles; a result is known at these alone."""
    rng, sign = random.Random(name), 0 if FUNCTIONS[name].twin else SIGN
    kind = periods.HALF_TURNS if FUNCTIONS[name].twin else periods.REFLECTED
    low, high = (-2, 24) if FUNCTIONS[name].twin else (7, 23)
    need("cc")
    for _ in range(60):
        x = 2.0 ** rng.uniform(low, high)
        x = rng.choice((x, round(x), round(x) + 0.5, round(2 * x) / 2 * (1 + 2.0**-22)))
        given = int(np.float32(max(2.0**low, min(x, 2.0**high - 2))).view(np.uint32)) | sign
        found = periods.of_segment(FUNCTIONS[name], given // blocks.SEGMENT)
        (block,) = [b for b in found if b.first <= given < b.first + b.count]
        assert block.kind == kind
        ends, whole = said(block, given - block.first), (2 * number(given)).is_integer()
        try:
            with definitions.wide():
                value = definitions.value(name, gmpy2.mpfr(number(given)))
        except definitions.Exact as e:
            value = e.value
        if isinstance(ends, int):
            assert whole and bits(float(value)) == ends
            continue
        assert gmpy2.is_finite(value) and value != 0
        assert ends[0] < Fraction(*value.as_integer_ratio()) < ends[1], (name, hex(given))
        assert ends[1] - ends[0] < max(abs(ends[1]), Fraction(1, 16)) * Fraction(1, 2**32)


def test_fractions_are_those_of_the_functions():
    """By MPFR, at random ones and at both ends."""
    rng = random.Random(2)
    with gmpy2.context(precision=200):
        for table, f in zip(periods.fractions(), (log_of_sine, cotangent, cosecant), strict=True):
            for j in (
                1,
                2,
                63,
                64,
                1 << 15,
                (1 << 16) - 64,
                (1 << 16) - 63,
                (1 << 16) - 1,
                *(rng.randrange(1, 1 << 16) for _ in range(50)),
            ):
                value = f(gmpy2.mpfr(j) / (1 << 16)) * gmpy2.mpfr(2) ** table.scale_of(j)
                assert abs(table.v[j] - value) < table.error, j


def log_of_sine(f):
    return gmpy2.log(gmpy2.const_pi() / gmpy2.sin(gmpy2.const_pi() * f))


def cosecant(f):
    return (gmpy2.const_pi() / gmpy2.sin(gmpy2.const_pi() * f)) ** 2


def cotangent(f):
    return gmpy2.const_pi() * gmpy2.cot(gmpy2.const_pi() * f)


def test_the_command(tmp_path, monkeypatch, library, capsys):
    """`python -m proofs.oracle` with a library of its own; what it finds goes to a file."""
    monkeypatch.setattr(driver, "RESULTS", tmp_path / "results.json")
    monkeypatch.setattr("sys.argv", ["oracle", "log2p1", "--fraction", "1/16384", "--offset", "3"])
    assert driver.main() == 0
    assert driver.results()["log2p1"]["inputs"] == 4 * blocks.SEGMENT and "0 wrong" in capsys.readouterr().out


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
