"""Products in the matrix engine under the random rounding modes: the bits of the sums that are taken one by one, and data beside thresholds, on
every instruction set with one and two threads."""

import ctypes
import hashlib
import os
import pathlib
import subprocess
import sys
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
import rounding_oracle
from reductions_library import ENUM, NULL, OK, OVERLAP, RANGE, SIZE, status

import repmath
from repmath import _core, rounding

DTYPES = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16), "f32": np.dtype(np.float32)}
SEED, STREAM = 2**61 + 5, 3 * 2**32 + 1
SHAPES = [
    (1, 1, 1, 1), (2, 1, 7, 30), (3, 5, 1, 40), (1, 8, 24, 16), (2, 9, 25, 130), (1, 17, 50, 300), (5, 4, 6, 3), (1, 1, 70, 300),
    (1, 70, 1, 300), (2, 33, 13, 1), (1, 150, 90, 40), (3, 6, 11, 0),
]  # fmt: skip


def bits(x):
    return np.ascontiguousarray(x).view(np.dtype(f"u{x.dtype.itemsize}"))


def matrices(rng, kind, *shape):
    x = rng.standard_normal(shape)
    if kind == "integers":
        x = np.rint(3 * x)
    if kind == "wide":
        x = x * 2.0 ** rng.integers(-12, 4, shape)
    if kind == "small":  # results among the subnormal numbers of f16, and zeros
        x = np.where(rng.random(shape) < 0.4, 0.0, x * 2.0**-9)
    if kind == "special":
        values = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 6e4, 2.0**-24])
        x = np.where(rng.random(shape) < 0.02, values[rng.integers(0, values.size, shape)], x)
    return x


def slow(a, b, bias, out, mode):
    """Each product by its own sums."""
    made = np.empty((*a.shape[:-1], b.shape[-1]), DTYPES[out])
    size = made[0].size
    for q in range(len(a)):
        part = None if bias is None else bias[q]
        names = next(k for k, v in DTYPES.items() if v == a.dtype), out
        _core.random_matmul(*names, a[q], b[q], part, made[q], (mode, SEED, STREAM, q * size))
    return made


LAYOUTS = [
    lambda a: a,
    lambda a: np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2),
    lambda a: np.repeat(a, 2, axis=-1)[..., ::2][:, ::-1],
]


def digest():
    """Compares everything; what is printed must not depend on the machine."""
    rng = np.random.default_rng(5)
    found = hashlib.sha256()
    with np.errstate(all="ignore"):
        for number, (batch, m, n, k) in enumerate(SHAPES):
            for kind in ("plain", "integers", "wide", "small", "special"):
                for fmt, dtype in DTYPES.items():
                    mode = ("stochastic", "random")[(number + len(kind)) % 2]
                    a = LAYOUTS[number % 3](matrices(rng, kind, batch, m, k).astype(dtype))
                    b = LAYOUTS[(number + len(fmt)) % 3](matrices(rng, kind, batch, k, n).astype(dtype))
                    bias = None if number % 2 else np.broadcast_to(matrices(rng, kind, n).astype(dtype), (batch, m, n))
                    if number % 4 == 2:
                        bias = matrices(rng, kind, batch, m, n).astype(dtype)
                    for out in {fmt, "f32"}:
                        got = rounding.matmul(a, b, mode, bias=bias, dtype=DTYPES[out], seed=SEED, stream=STREAM)
                        want = slow(a, b, bias, out, mode)
                        assert (bits(got) == bits(want)).all(), (batch, m, n, k, kind, fmt, out, mode)
                        found.update(bits(got).tobytes() if out != "f32" or fmt == "f32" else b"")
    return found.hexdigest()


def beside_thresholds(n):
    """1 + y with y next to the threshold of the element's word, as a product of two terms."""
    t = (rounding.words(n, SEED, STREAM).astype(np.float64) + 0.5) * 2.0**-55
    y = t.astype(np.float32)
    return np.where(np.arange(n) % 2 == 0, np.nextafter(y, np.float32(0)), np.nextafter(y, np.float32(1)))


def check_beside_thresholds(n=20000):
    y = beside_thresholds(n)
    words = rounding.words(n, SEED, STREAM).tolist()
    want = [rounding_oracle.rounded(1 + Fraction(v), "f32", "stochastic", w) for v, w in zip(y.tolist(), words, strict=True)]
    one = np.ones(n, np.float32)
    columns = rounding.matmul(np.ones((1, 2), np.float32), np.stack([one, y]), "stochastic", seed=SEED, stream=STREAM)
    rows = rounding.matmul(np.stack([one, y], 1), np.ones((2, 1), np.float32), "stochastic", seed=SEED, stream=STREAM)
    square = rounding.matmul(
        np.stack([one, y], 1).reshape(-1, 8, 2), np.ones((2, 1), np.float32), "stochastic", seed=SEED, stream=STREAM
    )
    for got in (columns, rows, square):
        assert bits(got).reshape(-1).tolist() == want


SCRIPT = "import sys; sys.path[:0] = {paths!r}; import test_random_products as t; t.check_beside_thresholds(4000); print(t.digest())"


def test_one_digest():
    seen = set()
    here = pathlib.Path(__file__).parent
    paths = [str(here), str(here.parent / "support"), str(here.parent / "controls")]
    for isa in repmath._core.available_isas():
        for threads in ("1", "2"):
            environment = os.environ | {"REPMATH_ISA": isa, "REPMATH_NUM_THREADS": threads}
            done = subprocess.run(
                [sys.executable, "-c", SCRIPT.format(paths=paths)],
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, (isa, threads, done.stderr[-2000:])
            seen.add(done.stdout)
    assert len(seen) == 1


def test_blocks_and_threads():
    """Several blocks of C, and panels that another thread takes: elements against rationals."""
    rng = np.random.default_rng(6)
    a, b = rng.standard_normal((600, 160)).astype("f4"), rng.standard_normal((160, 1101)).astype("f4")
    found = []
    for threads in (1, 2):
        repmath.set_num_threads(threads)
        found.append(rounding.matmul(a, b, "stochastic", seed=SEED, stream=STREAM))
    assert (bits(found[0]) == bits(found[1])).all()
    words = rounding.words(found[0].size, SEED, STREAM).reshape(found[0].shape)
    for i, j in [(0, 0), (599, 1100), (511, 1055), (512, 1056), *rng.integers(0, 600, (60, 2)).tolist()]:
        exact = sum((Fraction(p) * Fraction(q) for p, q in zip(a[i].tolist(), b[:, j].tolist(), strict=True)), Fraction(0))
        want = rounding_oracle.rounded(exact, "f32", "stochastic", int(words[i, j]))
        assert int(bits(found[0])[i, j]) == want
        nearest = rounding_oracle.rounded(exact, "f32", "stochastic", int(words[i, j]) ^ 0x80000000)
        assert nearest != want or abs(nearest - want) <= 1


def test_up_down_is_a_step_from_nearest():
    rng = np.random.default_rng(7)
    for dtype in DTYPES.values():
        a, b = rng.standard_normal((2, 9, 30)).astype(dtype), rng.standard_normal((2, 30, 11)).astype(dtype)
        got = rounding.matmul(a, b, "up_down", seed=SEED, stream=STREAM)
        step = np.where(rounding.words(got.size, SEED, STREAM).reshape(got.shape) >> 31, 1, -1)
        assert (bits(got).astype(np.int64) == bits(repmath.matmul(a, b)).astype(np.int64) + step).all()
        edge = np.array([0, -0.0, np.inf, -np.inf, np.nan, float(np.finfo("f4").max)]).astype("f4")
        if dtype == np.float32:
            moved = repmath._random_modes.up_down(np.tile(edge, 40), SEED, STREAM)
            assert (bits(moved).reshape(40, 6)[:, :5] == bits(edge)[:5]).all()
            assert set(bits(moved).reshape(40, 6)[:, 5].tolist()) == {0x7F7FFFFF, 0x7F7FFFFE}


def moved(x, words):
    """Numbers of binary32, as their bits, by the definition: a step of the magnitude, which zeros, infinities and NaN do not make, nor the largest number up."""
    size, up = x & np.uint32(0x7FFFFFFF), words >> 31 == 1
    stays = (size == 0) | (size >= 0x7F800000) | (up & (size == 0x7F7FFFFF))
    return np.where(stays, x, x + np.where(up, 1, 2**32 - 1).astype(np.uint32))


def steps_of_this_instruction_set():
    rng, edges = (
        np.random.default_rng(9),
        [0, 1, 0x7FFFFF, 0x800000, 0x7F7FFFFE, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FFFFFFF],
    )
    for n in (*range(1, 70), 511, 512, 513, 5000):
        x = rng.integers(0, 2**32, n, dtype=np.uint32)
        x[::2] = rng.choice(np.array(edges, np.uint32), x[::2].size) | rng.choice(
            np.array([0, 1 << 31], np.uint32), x[::2].size
        )
        for first in (0, 1, 2, 3, 2**61):
            words, made = np.empty(n, np.uint32), x.copy()
            _core.rounding_words(SEED, STREAM, first, words)
            _core.random_steps("f32", made.view(np.float32), ("up_down", SEED, STREAM, first))
            assert (made == moved(x, words)).all(), (n, first)
            if n > 100:  # controls: by another word, and numbers that do not stay
                assert (made != moved(x, np.roll(words, 1))).any()
                assert (made != x + np.where(words >> 31, 1, 2**32 - 1).astype(np.uint32)).any()


def test_up_down_in_every_instruction_set():
    """Vectors of binary32 numbers, and what is left of them, beside the ends of the range."""
    code = "import test_random_products as t; t.steps_of_this_instruction_set()"
    for isa in repmath._core.available_isas():
        environment = os.environ | {
            "REPMATH_ISA": isa,
            "PYTHONPATH": os.pathsep.join([str(pathlib.Path(__file__).parent), *sys.path]),
        }
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (isa, done.stderr[-2000:])


def test_controls():
    """Words by another order, or of another stream, give other bits."""
    rng = np.random.default_rng(8)
    a, b = rng.standard_normal((40, 50)).astype("f4"), rng.standard_normal((50, 30)).astype("f4")
    got = rounding.matmul(a, b, "stochastic", seed=SEED, stream=STREAM)
    other = rounding.matmul(b.T, a.T, "stochastic", seed=SEED, stream=STREAM).T
    assert (bits(got) != bits(other)).any()
    assert (bits(got) != bits(rounding.matmul(a, b, "stochastic", seed=SEED, stream=STREAM + 1))).any()
    with pytest.raises(AssertionError):  # the words of elements 1, 2, ... in place of 0, 1, ...
        shifted = np.empty((40, 30), np.float32)
        _core.random_products("f32", "f32", a[None], b[None], None, shifted[None], ("stochastic", SEED, STREAM, 1))
        assert (bits(got) == bits(shifted)).all()


class Operand(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("row", ctypes.c_ssize_t), ("column", ctypes.c_ssize_t)]


class Rounding(ctypes.Structure):
    _fields_ = [("mode", ctypes.c_int32), ("seed", ctypes.c_uint64), ("stream", ctypes.c_uint64), ("first", ctypes.c_int64)]


def test_statuses(library):
    x = np.ones((2, 3, 3), np.float32)
    c = np.full((2, 3, 3), 7, np.float32)
    f = library.rm_random_matmul_batched
    n, step = ctypes.c_int64, ctypes.c_ssize_t
    good = ctypes.byref(Operand(x.ctypes.data, 12, 4))

    def call(
        fmt=2, out=2, batch=2, m=3, cols=3, k=3, a=good, b=good, bias=None, to=c.ctypes.data, r=(4, 1, 2, 0)
    ):  # fmt: skip
        rounds = r and ctypes.byref(Rounding(*r))
        return f(
            fmt, out, n(batch), n(m), n(cols), n(k), a, step(36), b, step(36), bias, step(0), ctypes.c_void_p(to), rounds
        )

    nothing = ctypes.byref(Operand(None, 0, 0))
    for options, want in [
        ({"fmt": 3}, status(ENUM, 1)), ({"out": 0}, status(ENUM, 2)), ({"out": 3}, status(ENUM, 2)), ({"batch": -1}, status(SIZE, 3)),
        ({"m": -1}, status(SIZE, 4)), ({"cols": 2**31}, status(SIZE, 5)), ({"k": -1}, status(SIZE, 6)), ({"a": None}, status(NULL, 7)),
        ({"b": nothing}, status(NULL, 9)), ({"to": None}, status(NULL, 13)), ({"to": x.ctypes.data + 8}, status(OVERLAP, 13)),
        ({"bias": ctypes.byref(Operand(c.ctypes.data, 0, 4))}, status(OVERLAP, 13)), ({"r": None}, status(NULL, 14)),
        ({"r": (6, 0, 0, 0)}, status(ENUM, 14)), ({"r": (3, 0, 0, 0)}, status(ENUM, 14)), ({"r": (4, 0, 0, -1)}, status(RANGE, 14)),
        ({"r": (4, 0, 0, 2**62 - 17)}, status(RANGE, 14)), ({"m": 0}, OK), ({"batch": 0, "a": None}, OK),
    ]:  # fmt: skip
        assert call(**options) == want, options
    assert (c == 7).all() and (x == 1).all()
    assert call(k=0, a=None, b=None) == OK
    assert (c == 0).all()
    assert call() == OK
    assert (c == 3).all()
