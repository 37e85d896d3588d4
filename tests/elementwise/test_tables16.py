"""Functions of several arguments in the 16-bit formats where they have ways of their own: gradients over a table of derivatives,
once it is in use, and fma in binary32. Every derivative times many g and dense triples against the base build, which has neither;
special values in every combination and random tuples against MPFR."""

import elementwise_library
import numpy as np
import oracle
import pytest
from elementwise_library import compare

SIGNIFICANDS = {"f16": 10, "bf16": 7}
every = np.arange(65536, dtype=np.uint16)
gradients = pytest.mark.parametrize("function", [f for f in oracle.SEVERAL if f.endswith("_backward")])
formats = pytest.mark.parametrize("fmt", SIGNIFICANDS)


def factors(fmt, count=100):
    """g: zeros, subnormals, powers of two and their neighbours, the greatest, infinity, NaN; and any."""
    top = 0x7C00 if fmt == "f16" else 0x7F80
    powers = np.arange(0, top + 1, (1 << SIGNIFICANDS[fmt]) * (1 if fmt == "f16" else 8))
    chosen = np.unique(np.concatenate([powers, powers[1:] - 1, powers + 1, [1, 2, 3, top - 1, top + 1, 0x7FFF]]))
    return np.concatenate([chosen, chosen + 0x8000, np.random.default_rng(51).integers(0, 65536, count)]).astype(np.uint16)


def start(library, function, fmt):
    """Ask for as many elements as bring the table into use."""
    library.array(function, (every, every), fmt)


def differing(function, fmt, bits, want, libraries):
    """How many results differ from those, by build."""
    return {isa: np.count_nonzero(lib.array(function, bits, fmt) != want) for isa, lib in libraries.items()}


@pytest.mark.sample(4)
@gradients
@formats
def test_every_derivative_times_many_factors(function, fmt):
    libraries = elementwise_library.libraries()
    g = factors(fmt)
    bits = np.repeat(g, every.size), np.tile(every, g.size)
    start(libraries["base"], function, fmt)
    assert not any(differing(function, fmt, bits, libraries["base"].array(function, bits, fmt), libraries).values())


@pytest.mark.sample(4)
@gradients
@formats
def test_against_mpfr(function, fmt):
    for library in elementwise_library.libraries().values():
        start(library, function, fmt)
    compare(function, oracle.special_tuples(fmt, 2), fmt)
    compare(function, oracle.random_tuples(fmt, 2, 20000, 52), fmt)
    rng = np.random.default_rng(53)
    x = tuple(oracle.to_double(oracle.narrow(rng.standard_normal(20000) * 2, fmt), fmt) for _ in range(2))
    compare(function, x, fmt)


def triples(fmt, n=1 << 20):
    """Triples for fma: any bits; of all sizes near each other; z cancelling x y or about to be moved by it over a midpoint; integers."""
    p, (rng, top) = SIGNIFICANDS[fmt], (np.random.default_rng(54), 0x7C00 if fmt == "f16" else 0x7F80)
    yield tuple(rng.integers(0, 65536, n).astype(np.uint16) for _ in range(3))
    bias = top >> (p + 1)
    for low in range(1, 2 * bias - 2, 3 if fmt == "f16" else 12):  # z about 2^(low - bias), x y about 2^(low - bias - shift)
        shift = rng.integers(-3, p + 8, n // 8)
        ez = np.full(n // 8, low)
        ex = rng.integers(0, 2 * bias, n // 8)
        ey = np.clip(ez - shift + bias - ex, 0, 2 * bias)
        fraction = [rng.integers(0, 1 << p, n // 8) & -(1 << rng.integers(0, p + 1, n // 8)) for _ in range(3)]
        sign = [rng.integers(0, 2, n // 8) << 15 for _ in range(3)]
        yield tuple((s | e << p | f).astype(np.uint16) for s, e, f in zip(sign, (ex, ey, ez), fraction, strict=True))
    yield tuple(oracle.narrow(rng.integers(-300, 300, n).astype(float), fmt) for _ in range(3))


@formats
def test_fma(fmt):
    libraries = elementwise_library.libraries()
    for bits in triples(fmt):
        assert not any(differing("fma", fmt, bits, libraries["base"].array("fma", bits, fmt), libraries).values())
        few = tuple(b[:400] for b in bits)
        compare("fma", tuple(oracle.to_double(b, fmt) for b in few), fmt)
