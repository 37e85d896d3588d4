"""Products of 16-bit formats by the CPU's tiles (`amx`) and by its products of pairs (`avx512bf16`, of bf16 alone), which only these and convolutions
use: against exact sums, and bit by bit against the one-lane build."""

import ctypes
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import elementwise_library
import numpy as np
import pair_data
import pytest
import tile_data
from boundary_products import boundaries, check, layouts, product
from convolution_library import Convolution, Geometry, dtype_of
from exact_oracle import bits, matmul_bits
from reductions_library import OK, Reductions

FMT = pytest.mark.parametrize("fmt", ["bf16", "f16"])
# Large enough for tiles and pairs (rm_tiles_engine in src/blas/gemm/tiles.h, rm_chains_engine in chains_b32.h).
SHAPES = [
    (97, 83, 129),
    (70, 300, 75),
    (33, 130, 500),
    (41, 47, 2049),
    (64, 129, 191),
    (26, 200, 1000),
    (200, 26, 1024),
    (64, 64, 4096),
]


def held_to(isa, file=None):
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(file or elementwise_library.path(), pathlib.Path(folder) / f"tiles-{isa}.so")
        return Reductions(elementwise_library.Library(copy, isa).library)


def need(isa):
    if not ctypes.CDLL(str(elementwise_library.path())).rm_isa_available(isa.encode()):
        pytest.skip(f"this CPU, its system or the compiler of this build has no {isa}")
    return held_to(isa)


@pytest.fixture(scope="module")
def tiles():
    return need("amx")


@pytest.fixture(scope="module")
def pairs():
    return need("avx512bf16")


@pytest.fixture(params=elementwise_library.ENGINES)
def engine(request, fmt):
    if request.param == "avx512bf16" and fmt != "bf16":
        pytest.skip("the instruction multiplies bf16 numbers")
    return request.getfixturevalue({"amx": "tiles", "avx512bf16": "pairs"}[request.param])


@pytest.fixture(scope="module")
def plain():
    return held_to("base")


@pytest.fixture
def rng():
    return np.random.default_rng(2024)


def data(rng, kind, shape, fmt):
    """Of any kind that the digits of a row meet: none left out, some, all but the largest, none that is finite."""
    x, dtype = rng.standard_normal(shape), dtype_of(fmt)
    if kind == "integers":
        x = rng.integers(-9, 10, shape).astype(float)
    elif kind == "wide":
        x *= 2.0 ** rng.integers(-12, 13, shape)
    elif kind == "spread":
        x *= 2.0 ** (rng.integers(-13, 13, shape) if fmt == "f16" else rng.integers(-100, 60, shape))
    elif kind == "sparse":
        x *= rng.random(shape) < 0.1
    elif kind == "large":
        x *= 2.0 ** (13 if fmt == "f16" else 125)
    elif kind == "small":
        x *= 2.0 ** (-22 if fmt == "f16" else -128)
    elif kind == "special":
        x[rng.random(shape) < 0.002] = np.inf
        x[rng.random(shape) < 0.001] = np.nan
        x[rng.random(shape) < 0.05] = -0.0
    elif kind == "bits":
        return rng.integers(0, 65536, shape).astype(np.uint16).view(dtype)
    with np.errstate(over="ignore"):
        return x.astype(dtype)


KINDS = ["gaussian", "integers", "wide", "spread", "sparse", "large", "small", "special", "bits"]


@FMT
@pytest.mark.parametrize("kind", KINDS)
def test_against_the_slow_path(engine, plain, rng, fmt, kind):
    for m, n, k in SHAPES:
        a, b, bias = (data(rng, kind, s, fmt) for s in ((m, k), (k, n), (n,)))
        other = data(rng, rng.choice(KINDS), (k, n), fmt)
        for right, add in ((b, None), (np.asfortranarray(b), bias), (other, bias), (np.repeat(b, 2, axis=1)[:, ::2], None)):
            left = np.asfortranarray(a) if add is None else a
            got, want = (product(lib, fmt, left[None], right[None], add) for lib in (engine, plain))
            assert np.array_equal(bits(got), bits(want)), (m, n, k, np.argwhere(bits(got) != bits(want))[:4])


@FMT
@pytest.mark.parametrize("kind", KINDS[:5])
def test_against_exact_sums(engine, rng, fmt, kind):
    m, n, k = SHAPES[0]
    a, b, bias = (data(rng, kind, s, fmt) for s in ((m, k), (k, n), (n,)))
    rows = rng.choice(m, 30, replace=False)
    for add in (None, bias):
        got = product(engine, fmt, a[None], b[None], add)[0]
        assert np.array_equal(bits(got[rows]), matmul_bits(a[rows], b, fmt, add))


@FMT
def test_beside_ties(engine, fmt):
    """A row and a column that meet beside a tie, among others: nearer to it than the digits tell."""
    for a, b, i, j, want in [*tile_data.beside_ties(fmt, 60), *tile_data.remainders(fmt)]:
        got = bits(product(engine, fmt, a[None], b[None])[0])
        assert got[i, j] == want, (a.shape, b.shape, i, j)


@FMT
@pytest.mark.parametrize("k", [300, 4096])
def test_at_the_bound_of_binary64(engine, fmt, k):
    """The data of test_boundaries.py: what the digits leave is a dot product in binary64, and that errs by all that its bound counts."""
    for b, _, name in boundaries(fmt, k, chains=[(128, 1), (128, 8)][k > 1000 :]):
        for layout, left, right in layouts(b.x, b.y, 65, 74):
            check(product(engine, fmt, left[None], right[None]), b, name, layout)
        rng = np.random.default_rng(k)
        left, right = data(rng, "gaussian", (66, k), fmt), data(rng, "gaussian", (k, 75), fmt)
        left[20], right[:, 33] = b.x, b.y
        check(product(engine, fmt, left[None], right[None])[0, 20, 33], b, name, "among others")


@FMT
def test_exact_sums_are_known_at_once(tiles, rng, fmt):
    """Integers have no digits left out: their ties are decided by the sum itself."""
    a, b = (rng.integers(-8, 9, s).astype(dtype_of(fmt)) for s in ((64, 512), (512, 64)))
    tiles.stats()
    assert np.array_equal(bits(product(tiles, fmt, a[None], b[None])[0]), matmul_bits(a, b, fmt))
    assert tiles.stats() == (64 * 64, 0, 0)


@pytest.mark.parametrize("k", [64, 100, 128, 160, 1000, 4096])
def test_at_the_bound_of_chains(pairs, k):
    """Sums in binary32 that err by all that their bound counts."""
    for side in (1, -1):
        b = pair_data.boundary(k, side)
        for layout, left, right in layouts(b.x, b.y, 65, 74):
            check(product(pairs, "bf16", left[None], right[None]), b, side, layout)
        rng = np.random.default_rng(k)
        left, right = data(rng, "gaussian", (66, k), "bf16"), data(rng, "gaussian", (k, 75), "bf16")
        left[20], right[:, 33] = b.x, b.y
        check(product(pairs, "bf16", left[None], right[None])[0, 20, 33], b, side, "among others")


def test_chains_decide_what_they_can(pairs, rng):
    """Of Gaussian numbers few elements go on to other tiers, and zeros are known at once."""
    a, b = (data(rng, "gaussian", s, "bf16") for s in ((96, 256), (256, 96)))
    a[::2] = 0
    pairs.stats()
    product(pairs, "bf16", a[None], b[None])
    fast, *later = pairs.stats()
    assert sum(later) < 10 < fast


@FMT
def test_largest_digits(engine, plain, fmt):
    """All digits as large as they can be, at the longest sums."""
    for x in (1.9921875, -1.9921875, 1.0, 1.0 + 2.0**-7):
        a, b = (np.full(s, x, dtype_of(fmt)) for s in ((48, 4096), (4096, 49)))
        a[:, ::2] *= dtype_of(fmt).type(0.00390625)  # the other digits
        got, want = (product(lib, fmt, a[None], b[None]) for lib in (engine, plain))
        assert np.array_equal(bits(got), bits(want))


@FMT
def test_batches_and_threads(engine, plain, rng, fmt):
    for batch, m, n, k in ((5, 100, 90, 130), (1, 600, 1100, 70), (2, 130, 140, 2100)):
        a, b = data(rng, "gaussian", (batch, m, k), fmt), data(rng, "gaussian", (batch, k, n), fmt)
        a[0, 3, 5], b[-1, 7, 2] = np.inf, np.nan
        want = product(plain, fmt, a, b)
        for threads in (1, 2):
            engine.threads(threads)
            assert np.array_equal(bits(product(engine, fmt, a, b)), bits(want)), (threads, m)
    engine.threads(1)


@FMT
def test_convolutions(engine, plain, rng, fmt):
    fast, slow = Convolution(engine.c), Convolution(plain.c)
    for g in (
        Geometry(2, 48, 64, (12, 14), 3, low=1),
        Geometry(1, 40, 48, (26, 20), (3, 2), stride=2, dilation=(1, 2), low=(2, 1)),
        Geometry(3, 96, 128, (100,), 4, groups=2),
        Geometry(2, 80, 96, (12, 12), 1),
    ):
        for what, shapes in (
            ("forward", (g.x_shape, g.w_shape, g.y_shape)),
            ("grad_input", (g.y_shape, g.w_shape, g.x_shape)),
            ("grad_weight", (g.x_shape, g.y_shape, g.w_shape)),
        ):
            for kind in ("gaussian", "integers", "special"):
                first, second = (data(rng, kind, s, fmt) for s in shapes[:2])
                results = [np.full(shapes[2], 7, dtype_of(fmt)) for _ in range(2)]
                for conv, out in zip((fast, slow), results, strict=True):
                    assert conv(g, what, fmt, first, second, out) == OK
                assert np.array_equal(*map(bits, results)), (g.kernel, what, kind)


SMALL_STACK = """
import ctypes, sys
class Stack(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t)]
memory = ctypes.create_string_buffer(4096)
assert ctypes.CDLL(None).sigaltstack(ctypes.byref(Stack(ctypes.addressof(memory), 0, 4096)), None) == 0
lib = ctypes.CDLL(sys.argv[1])
lib.rm_isa.restype = ctypes.c_char_p
print(lib.rm_isa(), lib.rm_isa_available(b"amx"))
"""


def test_refused_where_a_signal_has_no_room(tiles):
    """An alternate stack that cannot hold the state of tiles: Linux refuses, and the build for avx512 is used without them."""
    env = {k: v for k, v in os.environ.items() if k != "REPMATH_ISA"}
    command = [sys.executable, "-c", SMALL_STACK, str(elementwise_library.path())]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.stdout.split() in (["b'avx512'", "0"], ["b'avx512bf16'", "0"]), done.stdout + done.stderr
