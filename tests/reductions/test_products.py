"""rm_products beside exact products: all formats, boundaries, factors of any size, what decides by itself, threads, bad arguments."""

import ctypes
import sys

import numpy as np
import pytest
from native import ROOT
from reductions_library import ENUM, I64, NULL, OK, SIZE, pointer, status

sys.path.insert(0, str(ROOT / "tests/controls"))

from factor_data import FORMATS, beside_midpoints, call, product_bits, rows_of_factors  # noqa: E402


@pytest.mark.parametrize("fmt", list(FORMATS))
def test_every_pair_of_formats(lib, fmt):
    rng, open_ = np.random.default_rng(3), 0
    for x in rows_of_factors(rng, fmt):
        for out in FORMATS:
            want = np.array([[product_bits(row[: k + 1], out) for k in range(x.shape[1])] for row in x.astype(float)])
            part, undecided = call(lib.c, x, fmt, out, True)
            assert ((part == want) | (undecided == 1)).all()
            for rows in (24, 1, 3):
                whole, left = call(lib.c, x[:rows], fmt, out, False)
                assert ((whole[:, 0] == want[:rows, -1]) | (left[:, 0] == 1)).all()
            open_ += int(undecided.sum())
    assert open_ < 600  # of some 12,000: (1 + 2^-52) (1 - 2^-52) and the like beside ties


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65, 130, 257])
def test_lengths(lib, n):
    rng = np.random.default_rng(n)
    for rows in (1, 2, 7, 8, 9, 17):
        x = rng.standard_normal((rows, n)) * np.ldexp(1.0, rng.integers(-200, 200, (rows, n)))
        want = np.array([product_bits(row, "f64") for row in x], np.uint64)
        for partial in (False, True):
            made, undecided = call(lib.c, x, "f64", "f64", partial)
            assert (made[:, -1] == want).all() and not undecided.any()
            assert not partial or (made[:, 0] == x[:, 0].view(np.uint64)).all()


@pytest.mark.parametrize("fmt", list(FORMATS))
def test_exponents_of_long_rows(lib, fmt):
    """Those of a row, or of a part of it, add up to many times what a number's field holds, and cancel or do not."""
    rng, kind = np.random.default_rng(7), FORMATS[fmt][0]
    for n in (1000, 4000):
        far = np.ldexp(1.0, 12 if fmt == "f16" else 100)
        near = 1 + rng.integers(0, 2, n) * (0.0 if fmt in ("f16", "bf16") else 2.0**-20)
        x = np.array([near, near, near, near, near, near, rng.uniform(0.5, 1.0, n), rng.uniform(1.0, 2.0, n)])
        x[0, : n // 2] *= far
        x[0, n // 2 : n // 2 * 2] /= far  # one half against the other
        x[1, ::2] *= far
        x[1, 1 : n // 2 * 2 : 2] /= far
        x[2] *= far
        x[3] /= far
        x[4, ::8] *= far  # of one lane alone
        x[4, 1::8] /= far
        x[5, :: n // 70] *= far
        x = (x * rng.choice([-1.0, 1.0], x.shape)).astype(kind)
        want = np.array([product_bits(row, fmt) for row in x.astype(float)])
        for part, rows in ((slice(None), want), (slice(0, 1), want[:1])):
            made, undecided = call(lib.c, x[part], fmt, fmt, False)
            assert ((made[:, -1] == rows) | (undecided[:, -1] == 1)).all()
            assert undecided.sum() <= 2
            if fmt != "f32":
                made, undecided = call(lib.c, x[part], fmt, "f32", False)
                rows = np.array([product_bits(row, "f32") for row in x[part].astype(float)])
                assert ((made[:, -1] == rows) | (undecided[:, -1] == 1)).all()


def test_beside_midpoints(lib):
    """What double-double does not decide is said to be undecided, and not all of it is."""
    rows = beside_midpoints(np.random.default_rng(4), 60)
    want = np.array([product_bits(row, "f64") for row in rows.tolist()], np.uint64)
    for partial in (False, True):
        made, undecided = call(lib.c, rows, "f64", "f64", partial)
        assert ((made[:, -1] == want) == (undecided[:, -1] == 0))[undecided[:, -1] == 0].all()
        assert 0 < undecided[:, -1].sum() < 60


def test_in_place(lib):
    rng = np.random.default_rng(5)
    x = rng.standard_normal((19, 77))
    want, undecided = call(lib.c, x, "f64", "f64", True)
    arguments = 3, I64(19), I64(77), pointer(x), 1, 3, pointer(x), pointer(undecided)
    assert lib.c.rm_products(*arguments) == OK and (x.view(np.uint64) == want).all()


def test_many_rows(lib):
    """As many as several threads take."""
    x = 1 + np.random.default_rng(6).standard_normal((3000, 40)) * 0.1
    made, undecided = call(lib.c, x, "f64", "f64", False)
    rows = [call(lib.c, row[None], "f64", "f64", False) for row in x]
    assert not undecided.any() and (made[:, 0] == [v[0, 0] for v, _ in rows]).all()


def test_bad_arguments_write_nothing(lib):
    x, out, undecided = np.ones((2, 3)), np.full((2, 3), 7.0), np.full((2, 3), 7, np.uint8)
    good = [3, I64(2), I64(3), pointer(x), 1, 3, pointer(out), pointer(undecided)]
    wrong = (
        (0, 4, ENUM),
        (1, I64(-1), SIZE),
        (2, I64(-1), SIZE),
        (2, I64(2**62), SIZE),
        (3, None, NULL),
        (5, -1, ENUM),
        (6, None, NULL),
        (7, None, NULL),
    )
    for position, value, code in wrong:
        arguments = [ctypes.c_void_p(None) if a is None else a for a in [*good[:position], value, *good[position + 1 :]]]
        assert lib.c.rm_products(*arguments) == status(code, position + 1)
    assert (out == 7).all() and (undecided == 7).all()
    assert lib.c.rm_products(3, I64(0), I64(3), None, 0, 3, None, None) == OK
    assert lib.c.rm_products(3, I64(3), I64(0), None, 1, 3, None, None) == OK
    ones = np.zeros(3)
    assert lib.c.rm_products(3, I64(3), I64(0), None, 0, 3, pointer(ones), pointer(undecided)) == OK
    assert (ones == 1).all() and not undecided.ravel()[:3].any()
