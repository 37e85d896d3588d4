"""Published test data: NumPy's validation sets at 0 ULP, and the tables of Boost that scipy.special tests with. Where a
table disagrees, MPFR must side with the library, and the disagreement is one that is known."""

import pathlib

import elementwise_library
import numpy as np
import oracle
import pytest

NAMES = {"arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctanh": "atanh"}
# Rows of NumPy's sets that are not correctly rounded: (function, bits of the input).
WRONG = {
    ("cos", 0x3FDC1A3F3838347E),
    ("exp", 0xC086234F00000000),
    ("sin", 0xBFA04EC6BC209D90),
    ("log", 0x3F7FFFFE),
    ("log", 0x3F4B0569),
}
SETS = sorted((pathlib.Path(np.__file__).parent / "_core/tests/data").glob("umath-validation-set-*.csv"))


@pytest.mark.parametrize("path", SETS, ids=lambda p: p.stem.rsplit("-", 1)[1])
def test_numpy(path):
    name = path.stem.rsplit("-", 1)[1]
    function = NAMES.get(name, name)
    if function not in oracle.FUNCTIONS:
        pytest.skip(f"there is no {function}")
    lines = path.read_text().splitlines()
    rows = [line.split(",")[:3] for line in lines if line.startswith("np.float")]
    for kind, fmt in (("np.float32", "f32"), ("np.float64", "f64")):
        uint = oracle.FORMATS[fmt][2]
        x = np.array([int(row[1], 16) for row in rows if row[0] == kind], dtype=uint)
        table = oracle.to_bits(
            oracle.to_double(np.array([int(row[2], 16) for row in rows if row[0] == kind], uint), fmt), fmt
        )
        for isa, library in elementwise_library.libraries().items():
            got = library.array(function, x, fmt)
            differ = np.flatnonzero(got != table)
            assert {(function, int(b)) for b in x[differ]} <= WRONG, (isa, [hex(b) for b in x[differ]])
            assert np.array_equal(got[differ], oracle.values(function, oracle.to_double(x[differ], fmt), fmt))


def test_numpy_s_sets_are_there():
    if not SETS:
        pytest.skip("this NumPy was installed without its test data")
    assert len(SETS) >= 20


TABLES = {
    "erf": ["erf_data_ipp-erf_data", "erf_large_data_ipp-erf_large_data", "erf_small_data_ipp-erf_small_data"],
    "erfc": ["erf_data_ipp-erf_data", "erf_large_data_ipp-erf_large_data"],
    "erfinv": ["erf_inv_data_ipp-erf_inv_data"],
    "expm1": ["log1p_expm1_data_ipp-log1p_expm1_data"],
    "log1p": ["log1p_expm1_data_ipp-log1p_expm1_data"],
}
COLUMN = {"erfc": 2, "expm1": 2}


@pytest.mark.parametrize("function", TABLES)
def test_boost(function):
    """The tables give decimals, rounded to binary64 when they were stored: a row is compared where its input was not changed."""
    if function not in oracle.FUNCTIONS:
        pytest.skip(f"there is no {function}")
    import scipy.special

    path = pathlib.Path(scipy.special.__file__).parent / "tests/data/boost.npz"
    if not path.exists():
        pytest.skip("this SciPy was installed without its test data")
    data = np.load(path)
    rows = np.concatenate([data[key] for key in TABLES[function]])
    x, table = rows[:, 0].copy(), rows[:, COLUMN.get(function, 1)].copy()
    want = oracle.values(function, x, "f64")
    for isa, library in elementwise_library.libraries().items():
        assert np.array_equal(library.array(function, x.view(np.uint64), "f64"), want), isa
    near = np.abs(want.view(np.int64) - table.view(np.int64)) <= 1
    assert near.mean() > 0.95
