"""repmath.Accumulator against exact rationals: any split, order, format and rule gives the rounded exact total."""

import copy
import pickle
import threading
from fractions import Fraction

import numpy as np
import pytest
from exact_oracle import bits, exact, rounded
from hypothesis import given
from hypothesis import strategies as st
from numpy_dtypes import DTYPES

import repmath
from repmath import Accumulator

RULES = ["nearest", "toward_zero", "down", "up"]
FIRST, DIGITS = 8, 134  # where the digits of the byte string begin, and how many there are


@pytest.fixture(params=DTYPES, ids=lambda d: d.name)
def dtype(request):
    return request.param


def terms(rng, n, dtype):
    e = {2: 6, 4: 60, 8: 300}[dtype.itemsize]
    return (rng.standard_normal(n) * 2.0 ** rng.integers(-e, e + 1, n)).astype(dtype)


def check_all(acc, value):
    with np.errstate(over="ignore"):
        for dtype in DTYPES:
            for rule in RULES:
                got = acc.round(dtype, rule)
                assert got.dtype == dtype
                assert int(bits(got)) == rounded(value, dtype, rule), (dtype, rule)


def test_terms_and_products(dtype):
    rng = np.random.default_rng(1)
    for n in (0, 1, 2, 77, 1000):
        x, y, z = (terms(rng, n, dtype) for _ in range(3))
        acc = Accumulator(z)
        acc.add_products(x, y)
        check_all(acc, exact(z) + exact(x, y))
        acc.subtract(z)
        check_all(acc, exact(x, y))


def test_splits_orders_and_merges_give_the_same_bytes(dtype):
    rng = np.random.default_rng(2)
    x = terms(rng, 600, dtype)
    whole = Accumulator(x).to_bytes()
    for _ in range(5):
        parts = [Accumulator(part) for part in np.split(rng.permutation(x), np.sort(rng.integers(0, 601, 5)))]
        total = Accumulator()
        for part in parts:
            total += part
        assert total.to_bytes() == whole
        assert sum(parts[1:], parts[0]).to_bytes() == whole
    assert Accumulator(x[::-1].reshape(20, 30).T).to_bytes() == whole
    zero = Accumulator(x) - Accumulator(x)
    assert zero.to_bytes() == Accumulator().to_bytes() and bits(zero.round(dtype)) == 0


def test_formats_may_be_mixed():
    rng = np.random.default_rng(3)
    acc, value = Accumulator(), Fraction(0)
    for a in DTYPES:
        for b in DTYPES:
            x, y = terms(rng, 50, a), terms(rng, 50, b)
            acc.add_products(x, y)
            value += exact(x, y)
    check_all(acc, value)


def test_integers_count_exactly():
    big = np.array([2**63 - 1, -(2**63), 2**53 + 1])
    acc = Accumulator(big)
    acc.add(np.array([2**64 - 1], np.uint64))
    acc.add([True, False, True])
    acc.add_products(big, big[::-1])
    value = sum(map(int, big)) + 2**64 - 1 + 2 + sum(int(a) * int(b) for a, b in zip(big, big[::-1], strict=True))
    check_all(acc, Fraction(value))


def test_products_broadcast():
    x, y = np.arange(6.0).reshape(2, 3), np.array([1.0, 10.0, 100.0])
    acc = Accumulator()
    acc.add_products(x, y)
    acc += 0.5
    acc -= [1.5]
    assert float(acc) == (x * y).sum() - 1
    with pytest.raises(ValueError):
        acc.add_products(np.ones(3), np.ones(4))
    assert float(acc) == (x * y).sum() - 1


def test_views_and_byte_order():
    x = np.arange(40, dtype=">f4")
    assert Accumulator(x[::-3]).to_bytes() == Accumulator(x[::-3].astype("f4")).to_bytes()
    odd = np.zeros(41, np.uint8)[1:].view("f8")
    odd[:] = [1.5, 2, 3, 4, 5]
    assert float(Accumulator(odd)) == 15.5


def test_special_values(dtype):
    one = lambda v: Accumulator(np.array([v], dtype))  # noqa: E731
    infinity = np.inf
    assert one(infinity).round(dtype) == infinity
    assert (one(1) - one(infinity)).round(dtype) == -infinity
    made = one(infinity) - one(infinity)
    with np.errstate(invalid="ignore"):
        assert np.isnan(made.round(dtype).astype("f8"))
        assert np.isnan((one(np.nan) + one(1)).round(dtype).astype("f8"))
        product = Accumulator()
        product.add_products(np.array([0], dtype), np.array([infinity], dtype))
        assert np.isnan(product.round(dtype).astype("f8"))
    assert bits(one(-0.0).round(dtype)) == 0


def test_huge_totals_come_back():
    largest = np.finfo("f8").max
    acc = Accumulator()
    acc.add_products(np.full(1000, largest), np.full(1000, largest))
    with np.errstate(over="ignore"):
        assert acc.round() == np.inf and acc.round(mode="down") == largest
    acc.add(5e-324)
    acc.add_products(np.full(1000, -largest), np.full(1000, largest))
    assert acc.round() == 5e-324


def test_a_total_beyond_the_range_is_refused():
    acc = Accumulator()
    acc.add_products([np.finfo("f8").max], [np.finfo("f8").max])
    doublings = 0
    while True:
        before = acc.to_bytes()
        try:
            acc.merge(acc)
        except OverflowError as error:
            assert "beyond" in str(error)
            break
        doublings += 1
    assert doublings >= 60 and acc.to_bytes() == before
    acc -= acc
    assert bits(acc.round()) == 0


def test_copies_and_pickles():
    acc = Accumulator([1.5, 2.0**-1074, np.pi * 1e200])
    for other in (acc.copy(), copy.copy(acc), copy.deepcopy(acc), pickle.loads(pickle.dumps(acc))):
        assert other is not acc and other.to_bytes() == acc.to_bytes()
        other.add(1)
        assert other.to_bytes() != acc.to_bytes()
    assert "e+200" in repr(acc)


def test_the_bytes_are_those_of_version_1():
    """Little-endian digits of 32 bits from 2^-2176 up, two's complement; so that files stay readable."""
    data = Accumulator([3.0, -(2.0**-20)]).to_bytes()
    assert len(data) == FIRST + 4 * DIGITS == 544
    assert data[:FIRST] == b"RMAC\x01\x00\x00\x00"
    value = Fraction(int.from_bytes(data[FIRST:], "little", signed=True), 2**2176)
    assert value == 3 - Fraction(1, 2**20)
    negative = Accumulator([-3.0]).to_bytes()
    assert int.from_bytes(negative[FIRST:], "little", signed=True) == -3 << 2176


@given(st.binary(max_size=600) | st.binary(min_size=544, max_size=544).map(lambda b: b"RMAC\x01" + b[5:]))
def test_malformed_bytes_are_an_error(data):
    good = len(data) == 544 and data[:5] == b"RMAC\x01" and data[5] < 32 and data[6:8] == b"\0\0"
    if not good:
        with pytest.raises(ValueError, match="data"):
            Accumulator.from_bytes(data)
        return
    assert Accumulator.from_bytes(data).to_bytes() == data


@given(st.binary(min_size=4 * DIGITS, max_size=4 * DIGITS))
def test_any_digits_are_a_total(digits):
    data = b"RMAC\x01\0\0\0" + digits
    acc = Accumulator.from_bytes(data)
    value = Fraction(int.from_bytes(digits, "little", signed=True), 2**2176)
    assert acc.to_bytes() == data
    with np.errstate(over="ignore"):
        assert int(bits(acc.round())) == rounded(value, np.dtype("f8"))


def test_threads_may_share_one():
    x = terms(np.random.default_rng(4), 20000, np.dtype("f8"))
    acc = Accumulator()
    workers = [threading.Thread(target=acc.add, args=(part,)) for part in np.split(x, 8)]
    [w.start() for w in workers]
    [w.join() for w in workers]
    assert acc.to_bytes() == Accumulator(x).to_bytes()


@pytest.mark.parametrize("bad", [1j, "a", np.longdouble(1), None, [object()]])
def test_other_types_are_refused(bad):
    acc = Accumulator([2.0])
    for call in (acc.add, acc.subtract, lambda v: acc.add_products(v, 1.0), lambda v: acc.add_products(1.0, v)):
        with pytest.raises(TypeError):
            call(bad)
    assert float(acc) == 2


def test_bad_arguments():
    acc = Accumulator([2.0])
    with pytest.raises(TypeError, match="dtype must be one of"):
        acc.round(np.int32)
    with pytest.raises(ValueError, match="mode must be one of"):
        acc.round(mode="nearby")
    with pytest.raises(TypeError, match="other must be an Accumulator"):
        acc.merge(2.0)
    with pytest.raises(TypeError):
        Accumulator.from_bytes("text")
    with pytest.raises(TypeError):
        acc + 1.0
    assert float(acc) == 2 and repmath.Accumulator is Accumulator


def test_at_the_end_of_the_range():
    """Products that fit are added, one more beyond the range is an error that adds nothing: of 2**63 largest products."""
    big = np.finfo("f8").max
    acc = Accumulator()
    acc.add_products([big], [big])
    value = exact([big], [big])
    for _ in range(63):
        acc.merge(acc)
        value *= 2
    for sign in (1, -1):
        before = acc.to_bytes()
        with pytest.raises(OverflowError):
            acc.add_products([sign * big] * 3000, [big] * 3000)
        with pytest.raises(OverflowError):
            acc.merge(acc)
        assert acc.to_bytes() == before
        acc.add_products([sign * big] * 1000, [big] * 1000)  # still fits
        value += sign * 1000 * exact([big], [big])
        check_all(acc, value)
        acc.add([sign * 1.0, 2.0**-1074])
        value += sign + Fraction(2) ** -1074
        check_all(acc, value)
        negative = Accumulator()
        negative -= acc
        acc, value = negative, -value


def test_integers_times_infinity():
    for n in (2**60, -(2**60), 2**60 + 1, -(2**60) - 1, 2**63 - 1, -(2**63), 2**53 + 1, 2**32, -5, 1, 0):
        acc = Accumulator()
        acc.add_products(np.array([n, 2**60 + 1]), np.array([np.inf, 1.0]))
        want = np.float64(n) * np.inf if n else np.nan
        assert np.array_equal(acc.round(), want, equal_nan=True), n
