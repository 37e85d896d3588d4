"""Products and norms of few numbers in binary64 with a bound (python/repmath/short_rows.c), beside boundaries of rounding. The oracle is made
of rationals; calls through PyTorch are beside those without prepared calls in test_prepared.py."""

import ctypes
import pathlib
import subprocess
from fractions import Fraction

import numpy as np
import pytest
import torch
from exact_oracle import round_rational
from prepared_calls import unprepared

from repmath import torch as rt

ROOT = pathlib.Path(__file__).resolve().parents[2]
aten = torch.ops.aten
OVERLOADS = (
    aten.prod.default, aten.prod.dim_int, aten.sum.default, aten.sum.dim_IntList, aten.mean.default, aten.mean.dim,
    aten.linalg_vector_norm.default,
)  # fmt: skip
OTHER = "int rm_py_converted(int from, int to, long n, const void *x, void *out) { return 1; }"


@pytest.fixture(scope="module", params=["1.0", "0x1p-20"])
def library(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    (folder / "other.c").write_text(OTHER)
    made = folder / "rows.so"
    sources = ROOT / "python/repmath/short_rows.c", ROOT / "python/repmath/samples.c", folder / "other.c"
    bound = f"-DRM_PY_ROWS_BOUND={request.param}"
    options = "-O2 -std=gnu11 -ffp-contract=off -shared -fPIC".split()
    subprocess.run(["cc", *options, f"-I{ROOT / 'include'}", bound, *map(str, sources), "-o", str(made), "-lm"], check=True)
    found = ctypes.CDLL(str(made))
    found.rm_py_short_products.restype = ctypes.c_int64
    return found, request.param == "1.0"


def products(lib, x):
    """Over the middle axis: how many are open, the products, and which are."""
    outer, n, inner = x.shape
    out, left = np.full((outer, inner), 7, "f4"), np.full((outer, inner), 7, "u1")
    sizes = [ctypes.c_int64(v) for v in (outer, n, inner)]
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (x, out, left)]
    return lib.rm_py_short_products(2, *sizes, *pointers), out, left


def rational_product(factors):
    made = Fraction(1)
    for v in factors:
        made *= Fraction(float(v))
    return made


def bits_of(value):
    return round_rational(value, "f32")


def factor_rows(rng, n, count, near_to):
    """Rows whose products are nearest to a midpoint of binary32 among many last factors."""
    rows = []
    for _ in range(count):
        row = rng.uniform(0.8, 1.24, n).astype("f4")
        near = (row[-1].view("u4") + np.arange(near_to, dtype="u4")).view("f4")
        start = rational_product(row[:-1])
        hi = float(start)
        lo = float(start - Fraction(hi))
        p = hi * near.astype("f8") + lo * near.astype("f8")
        quantum = np.exp2(np.floor(np.log2(p)) - 23)
        row[-1] = near[np.argmin(np.abs(np.mod(p / quantum, 1) - 0.5))]
        rows.append(row)
    return np.array(rows)


def test_products(library):
    lib, right = library
    rng, wrong, opened = np.random.default_rng(3), 0, 0
    for n in (2, 3, 5, 8, 30, 70, 1500):  # the roundings of many factors reach as far as the midpoints
        rows = factor_rows(rng, n, 30, 1 << (21 if n == 1500 else 16))
        # Of these, so near to midpoints as 2^-16 of a place: terms of a few roundings decide; factors of 2^-29 and of odd numbers are ties.
        ties = np.ones((40, n), "f4")
        ties[:, 0], ties[:, -1] = 1 + 2.0**-12, 1 + (2 * np.arange(40) + 1) * 2.0**-12 + 2.0**-23
        beside = ties.copy()
        beside[:, n // 2] *= np.float32(1 + 2.0**-23) if n > 2 else 1
        for x in (rows, ties, beside):
            want = np.array([bits_of(rational_product(row)) for row in x], "u4")
            for shaped in (np.ascontiguousarray(x.T)[None], x[:, :, None]):
                left, out, which = products(lib, shaped)
                assert left == which.sum()
                opened += left
                wrong += (out.ravel().view("u4") != want)[which.ravel() == 0].sum()
    assert (wrong == 0) == right, wrong
    assert opened < 600


def test_products_of_special_factors(library):
    lib, _ = library
    x = np.array([[0, -1, 2], [np.inf, 0, 1], [np.nan, 2, 3], [-np.inf, 2, 2], [1e-30, 1e-30, 1e30], [1e30, 1e30, 1]], "f4")
    with np.errstate(all="ignore"):
        want = np.array([-0.0, np.nan, np.nan, -np.inf, 1e-30, np.inf], "f4")
    for shaped in (np.ascontiguousarray(x.T)[None], x[:, :, None]):
        _, out, which = products(lib, shaped)
        same = out.ravel().view("u4") == want.view("u4")
        assert (same | (which.ravel() == 1) | (np.arange(6) == 4)).all() and not which.ravel()[:4].any()
        assert out.ravel()[1].view("u4") == 0x7FC00000
    small, tall = np.full((3, 40, 2), 1e-30, "f4"), np.full((3, 200, 1), 1e30, "f4")
    for n in (5, 8, 9, 16, 17, 33, 100):  # far from 1 on the way
        far = np.concatenate([np.full(n, 3e38, "f4"), np.full(n, 2e-38, "f4")])
        for shaped in (far.reshape(1, -1, 1), np.ascontiguousarray(np.stack([far, far], 1)[None])):
            left, out, which = products(lib, shaped)
            assert left == -1 or (out.view("u4") == bits_of(rational_product(far)))[which == 0].all()
    assert products(lib, small)[0] == products(lib, tall)[0] == -1  # the range of binary64 is left


def test_norms(library):
    """Roots of sums of squares beside midpoints: the last number makes them so."""
    lib, right = library
    rng, wrong, opened = np.random.default_rng(4), 0, 0
    for n in (2, 3, 8, 40, 64):
        for _ in range(60):
            x = rng.standard_normal(n).astype("f4")
            near = (np.float32(0.5).view("u4") + rng.integers(1 << 16) + np.arange(1 << 16, dtype="u4")).view("f4")
            rest = sum(Fraction(float(v)) ** 2 for v in x[:-1])
            root = np.sqrt(float(rest) + near.astype("f8") ** 2)
            quantum = np.exp2(np.floor(np.log2(root)) - 23)
            x[-1] = near[np.argmin(np.abs(np.mod(root / quantum, 1) - 0.5))]
            total = rest + Fraction(float(x[-1])) ** 2
            y = ctypes.c_float()
            if n == 8:  # 5 k is a midpoint, and the root is just above it
                k = 2 * int(rng.integers(1677723, 2796201)) + 1
                x[:] = 3 * k, 4 * k, 2.0**-10, *[0.0] * 5
                total = Fraction(25 * k * k) + Fraction(1, 2**20)
            if not lib.rm_py_short_norm(ctypes.c_int64(n), ctypes.c_void_p(x.ctypes.data), ctypes.byref(y)):
                opened += 1
                continue
            got = Fraction(y.value)
            half = Fraction(float(np.spacing(np.float32(y.value)))) / 2
            wrong += not (got - half) ** 2 <= total <= (got + half) ** 2
    assert (wrong == 0) == right, wrong
    assert opened < 150


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_calls(dtype):
    """As without prepared calls: products with ties and special numbers, sums of all numbers of arrays that are not dense, short norms."""
    g = torch.Generator().manual_seed(5)
    x = torch.randn(6, 5, 40, generator=g).to(dtype)
    whole = torch.randint(-9, 10, (6, 5, 40), generator=g).to(dtype)
    special = x.clone()
    special[0, 0, :6] = torch.tensor([0.0, torch.nan, torch.inf, -torch.inf, -0.0, 1e30]).to(dtype)
    for a in (x, whole, special):
        calls = [(aten.prod.dim_int, a, d) for d in range(3)] + [(aten.prod.default, a), (aten.prod.dim_int, a, 1, True)]
        calls += [
            (aten.sum.default, a[:, :, ::3]),
            (aten.mean.default, a[:, ::2]),
            (aten.sum.dim_IntList, a.mT[1:], [0, 1, 2], True),
        ]
        calls += [(aten.linalg_vector_norm.default, a[..., :7].contiguous(), 2, [-1]), (aten.prod.default, a[::2])]
        for call, *arguments in calls:
            with rt.reproducible():
                made = call(*arguments)
                with unprepared(*OVERLOADS):
                    want = call(*arguments)
            assert made.shape == want.shape and made.dtype is want.dtype
            kind = torch.int16 if made.element_size() == 2 else torch.int32
            assert torch.equal(made.contiguous().view(kind), want.contiguous().view(kind)), call
