"""Array functions whose output overlaps an argument or itself: the steps are taken in order, on every instruction set.

Each case lays arguments and output out in one piece of memory. The expected memory comes from a loop in Python that reads the
arguments of one step, calls the function of single values, and stores the result, before it turns to the next step."""

import ctypes

import elementwise_library
import native
import numpy as np
import oracle
import pytest

FORMATS = list(oracle.FORMATS)
NUMBERS = 420  # elements of the memory
# Steps, then place and stride of each array in elements, the output's last. None: an argument elsewhere.
PLACES = {
    1: [
        (100, (150, 1), (150, 1)),
        (100, (150, 1), (151, 1)),
        (100, (150, 1), (149, 1)),
        (100, (150, 1), (155, 1)),
        (100, (150, 1), (117, 1)),
        (100, (150, 1), (183, 1)),
        (100, (249, -1), (150, 1)),
        (100, (0, 2), (101, 2)),
        (100, (0, 2), (100, 2)),
        (60, (0, 2), (20, 3)),
        (60, (0, 3), (20, 2)),
        (60, (7, 0), (0, 1)),
        (60, (300, 1), (7, 0)),
        (60, (7, 0), (7, 0)),
        (100, (350, -3), (20, 3)),
    ],
    2: [
        (100, (7, 0), (100, 1), (7, 0)),  # ufunc.reduce
        (100, (100, 1), (7, 0), (7, 0)),
        (100, (7, 0), (7, 0), (7, 0)),
        (100, (100, 1), (0, 1), (101, 1)),  # ufunc.accumulate
        (100, (0, 1), (100, 3), (103, 3)),
        (100, (100, 1), (100, 1), (100, 1)),
        (100, (100, 1), (100, 1), (117, 1)),
        (100, (100, 1), (117, 1), (109, 1)),
        (100, (100, 1), (92, 1), (100, 1)),
        (100, (101, 2), (0, 1), (100, 2)),
        (100, (299, -1), (0, 1), (100, 1)),
    ],
    3: [
        (100, (7, 0), (100, 1), (220, 1), (7, 0)),
        (100, (200, 1), (100, 1), (7, 0), (7, 0)),
        (100, (0, 1), (99, 1), (100, 1), (100, 1)),
        (100, (0, 1), (100, 2), (120, 1), (111, 1)),
    ],
}
ALL = [
    (name, fmt)
    for name in oracle.FUNCTIONS
    for fmt in FORMATS
    if oracle.ARITY[name] > 1 or name in ("exp", "log", "sqrt", "tanh")
]


def memory(fmt, seed):
    """Numbers for which no function saturates at once, a zero and an infinity among them, beginning at an odd multiple of their size."""
    rng = np.random.default_rng(seed)
    values = rng.choice([-1.0, 1.0], NUMBERS) * np.exp2(rng.uniform(-3, 1, NUMBERS))
    values[rng.integers(0, NUMBERS, 3)] = 0.0, np.inf, 1e-6
    if fmt != "f64":
        values = oracle.to_double(oracle.narrow(values, fmt), fmt)
    return oracle.to_bits(values, fmt)


def in_steps(library, function, fmt, bits, n, places):
    bits = bits.copy()
    *inputs, out = places
    for i in range(n):
        row = tuple(int(bits[at + i * stride]) for at, stride in inputs)
        bits[out[0] + i * out[1]] = library.scalar(function, row, fmt)
    return bits


def called(library, function, fmt, bits, n, places, rule=None, shift=0):
    """The memory after the call; every array begins `shift` bytes later than it would."""
    raw = np.zeros(bits.nbytes + shift, np.uint8)
    raw[shift:] = bits.view(np.uint8)
    size = bits.itemsize
    arrays = [
        v
        for at, stride in places
        for v in (ctypes.c_void_p(raw.ctypes.data + shift + at * size), ctypes.c_ssize_t(stride * size))
    ]
    name = f"rm_v{function}_{fmt}" if rule is None else f"rm_v{function}_rounded_{fmt}"
    rules = [] if rule is None else [ctypes.c_int(list(oracle.RULES).index(rule))]
    assert getattr(library.library, name)(ctypes.c_int64(n), *arrays, *rules) == 0
    return raw[shift:].copy().view(bits.dtype)


@pytest.mark.parametrize("function, fmt", ALL)
def test_steps_in_order(function, fmt):
    bits = memory(fmt, 11)
    base = next(iter(elementwise_library.libraries().values()))
    for n, *places in PLACES[oracle.ARITY[function]]:
        want = in_steps(base, function, fmt, bits, n, places)
        for isa, library in elementwise_library.libraries().items():
            for shift in (0, 1):
                found = called(library, function, fmt, bits, n, places, shift=shift)
                assert np.array_equal(found, want), (isa, n, places, np.flatnonzero(found != want)[:5])


@pytest.mark.parametrize("fmt", FORMATS)
def test_under_a_rule(fmt):
    """rm_vadd_rounded_<format> with the sum that it makes of a line by steps of its own: each rounded up."""
    bits, (n, *places) = memory(fmt, 12), PLACES[2][0]
    for library in elementwise_library.libraries().values():
        want = bits.copy()
        for i in range(n):
            pair = tuple(np.array([want[at + i * stride]]) for at, stride in places[:2])
            want[places[2][0]] = library.array("add", pair, fmt, "up")[0]
        assert np.array_equal(called(library, "add", fmt, bits, n, places, rule="up"), want)


def test_bytes_apart():
    """An output a few bytes from its argument, which no element of another step is."""
    base = next(iter(elementwise_library.libraries().values()))
    for offset in (-12, -9, -8, -4, -1, 1, 4, 8, 12, 20):
        raw = np.zeros(1000, np.uint8)
        raw[:800] = np.random.default_rng(13).uniform(1, 2, 100).view(np.uint8)
        want = raw.copy()
        for i in range(40):
            value = want[80 + 8 * i :][:8].copy().view(np.uint64)
            want[80 + offset + 8 * i :][:8] = np.array([base.scalar("sqrt", int(value[0]), "f64")], np.uint64).view(np.uint8)
        for isa, library in elementwise_library.libraries().items():
            found = raw.copy()
            at, stride = found.ctypes.data + 80, ctypes.c_ssize_t(8)
            call = library.library.rm_vsqrt_f64
            assert call(ctypes.c_int64(40), ctypes.c_void_p(at), stride, ctypes.c_void_p(at + offset), stride) == 0
            assert np.array_equal(found, want), (isa, offset)


def unsafe(together, n, out, x, size):
    """Whether two steps, one of which writes what the other reads or writes, are taken at once."""
    for i in range(n):
        for j in range(max(0, i - together + 1), min(n, i + together)):
            apart = abs(out[0] + i * out[1] - x[0] - j * x[1])
            if (
                (i != j and abs((i - j) * out[1]) < size)
                or (i != j and apart < size)
                or (i == j and 0 < apart < size and together > 1)
            ):
                return True
    return False


def test_steps_together(tmp_path):
    """rm_steps_together against the definition, over small places and strides: never more steps than may be taken at once, and no
    fewer where the strides are equal. The control: one step more is unsafe there."""
    (cc,) = native.need("cc")
    native.run(cc, "-shared", "-fPIC", "-O1", oracle.ROOT / "src/common/overlap.c", "-o", tmp_path / "overlap.so")
    call = ctypes.CDLL(str(tmp_path / "overlap.so")).rm_steps_together
    call.restype = ctypes.c_int64
    rng, limited, whole = np.random.default_rng(14), 0, 0
    for _ in range(20000):
        n, size = int(rng.integers(1, 9)), int(rng.choice([1, 2, 4]))
        out, x = (
            (int(rng.integers(-20, 20)), int(rng.integers(-12, 13))),
            (int(rng.integers(-20, 20)), int(rng.integers(-12, 13))),
        )
        if rng.random() < 0.5:
            x = (x[0], out[1])
        where = [part for at, stride in (out, x) for part in (ctypes.c_void_p(10000 + at), ctypes.c_ssize_t(stride))]
        found = call(ctypes.c_int64(n), *where, ctypes.c_int(size))
        assert 1 <= found <= n
        assert found == 1 or not unsafe(found, n, out, x, size), (n, size, out, x, found)
        if out[1] == x[1] and found < n:
            assert unsafe(found + 1, n, out, x, size), (n, size, out, x, found)
            limited += found > 1
        whole += found == n > 1
    assert limited > 500 and whole > 500
