"""Accumulators stored as bytes that were changed: an error, or the total that the bytes spell, whatever is done with it then."""

from fractions import Fraction

import numpy as np
from exact_oracle import FORMATS, bits_of, round_rational

import repmath

HEADER, POINT = 8, 68 * 32  # bytes before the digits; bits below the point


def spelled(data):
    return Fraction(int.from_bytes(data[HEADER:], "little", signed=True), 1 << POINT)


def changed(rng, data):
    data = bytearray(data)
    kind = rng.integers(5)
    if kind == 0:
        for _ in range(rng.integers(1, 4)):
            data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
    elif kind == 1:  # digits alone
        at = int(rng.integers(HEADER, len(data) - 8))
        data[at : at + 8] = rng.bytes(8)
    elif kind == 2:
        del data[int(rng.integers(len(data))) :]
    elif kind == 3:
        data += rng.bytes(int(rng.integers(1, 20)))
    else:  # all digits, small enough for the range
        low = int(rng.integers(HEADER, len(data) - 40))
        data[low : low + 32] = rng.bytes(32)
    return bytes(data)


def test_mutated_bytes(attack):
    read = refused = 0
    for rng in attack.rounds(300):
        total = repmath.Accumulator(rng.standard_normal(5) * 2.0 ** rng.integers(-500, 500))
        good = total.to_bytes()
        data = changed(rng, good)
        try:
            other = repmath.Accumulator.from_bytes(data)
        except ValueError:
            assert len(data) != len(good) or data[:HEADER] != good[:HEADER]
            refused += 1
            continue
        read += 1
        assert len(data) == len(good)
        if data[5] == 0:  # no special term has been seen
            value = spelled(data)
            for fmt in FORMATS:
                assert bits_of(other.round(FORMATS[fmt][0]), fmt) == round_rational(value, fmt), (fmt, value)
            if abs(value) < 2**2000:
                other.merge(total)
                assert bits_of(other.round(), "f64") == round_rational(value + spelled(good), "f64")
                other.subtract(np.array([1.5, -0.25]))
                assert bits_of(other.round(), "f64") == round_rational(value + spelled(good) - Fraction(5, 4), "f64")
        else:
            assert not np.isfinite(float(other.round()))
        assert repmath.Accumulator.from_bytes(other.to_bytes()).to_bytes() == other.to_bytes()
    assert min(read, refused) > 20
    # The control: bytes read with a digit more below the point spell another number.
    one = repmath.Accumulator([1.0])
    assert spelled(one.to_bytes()) == 1 != spelled(one.to_bytes()) / 2**32
