"""The ufuncs behave as NumPy's do, and give the C library's bits whatever the layout."""

import pickle
import warnings

import numpy as np
import pytest

import repmath

ml_dtypes = pytest.importorskip("ml_dtypes")
BF16 = np.dtype(ml_dtypes.bfloat16)
FUNCTIONS = list(repmath._core.ufuncs)
DTYPES = [np.dtype("f2"), BF16, np.dtype("f4"), np.dtype("f8")]
EXP = repmath.exp


def bits(a):
    a = np.asarray(a)
    return a.view(f"u{a.dtype.itemsize}") if a.ndim else a.reshape(1).view(f"u{a.dtype.itemsize}")


def same(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and np.array_equal(bits(a), bits(b))


def sample(dtype, n=1000):
    rng = np.random.default_rng(5)
    return np.abs(rng.standard_normal(n) * 2 + 0.01).astype(dtype)


# The loops of all functions come from the same macros: what NumPy makes of them is tested with these.
@pytest.fixture(params=["exp", "log", "tanh", "erf"])
def f(request):
    return getattr(repmath, request.param)


@pytest.fixture(params=DTYPES, ids=lambda d: d.name)
def dtype(request):
    return request.param


def test_manifest_and_module_agree():
    import tools_path

    assert tools_path.manifest() == FUNCTIONS
    assert set(FUNCTIONS) <= set(repmath.__all__)


def test_kind(f):
    assert isinstance(f, np.ufunc)
    assert (f.nin, f.nout, f.identity) == (1, 1, None)
    assert f.types[:3] == ["e->e", "f->f", "d->d"]
    assert pickle.loads(pickle.dumps(f)) is f
    for section in ("Parameters", "Returns", "Raises"):
        assert section in f.__doc__


def test_type_is_kept(f, dtype):
    assert f(sample(dtype)).dtype == dtype
    assert f(sample(dtype)[0]).dtype == dtype  # a scalar too


def test_near_numpy(f, dtype):
    """A wrong loop would be far off; the tests of the functions themselves look at the last bit."""
    import scipy.special

    x = sample(dtype)
    reference = getattr(np, f.__name__, None) or getattr(scipy.special, f.__name__)
    expected = reference(x.astype("f8"))
    error = np.abs(f(x).astype("f8") - expected)
    assert np.all(error <= np.abs(expected) * float(ml_dtypes.finfo(dtype).eps) + 1e-7)


@pytest.mark.parametrize("integer", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_integers_become_float64(integer):
    x = np.array([0, 1], integer)
    assert same(EXP(x), EXP(x.astype("f8")))
    assert EXP(x, dtype="f4").dtype == np.float32
    assert EXP(x, out=np.empty(2, "f4"), dtype="f4").dtype == np.float32


def test_python_scalars():
    for value in (1, True, 1.0):
        assert same(EXP(value), EXP(np.float64(1)))
    assert EXP([1.0, 2.0]).dtype == np.float64


@pytest.mark.parametrize("bad", [1j, np.longdouble(1), "1", None, np.datetime64(1, "s"), np.array([1.0], object)])
def test_other_types_are_errors(f, bad):
    with pytest.raises(TypeError):
        f(bad)


def test_layouts_do_not_matter(f, dtype):
    x = sample(dtype, 24 * 10).reshape(4, 6, 10)
    expected = f(x)
    one_by_one = np.array([f(v) for v in x.ravel()], dtype).reshape(x.shape)
    assert same(expected, one_by_one)
    assert same(f(np.asfortranarray(x)), expected)
    assert same(f(x.T), expected.T.copy())
    assert same(f(x[::-1, ::2, ::-3]), expected[::-1, ::2, ::-3].copy())
    assert same(f(np.broadcast_to(x[0, 0], (5, 10))), np.broadcast_to(expected[0, 0], (5, 10)).copy())
    assert same(f(x[:0]), expected[:0])
    assert same(f(x[1, 2, 3]), expected[1, 2, 3])
    assert same(f(np.array(x[1, 2, 3])), expected[1, 2, 3])


def test_unaligned(f, dtype):
    x = sample(dtype)
    raw = np.zeros(x.nbytes + 1, np.uint8)
    raw[1:] = x.view(np.uint8)
    unaligned = raw[1:].view(dtype)
    assert not unaligned.flags.aligned
    assert same(f(unaligned), f(x))
    target = np.zeros(x.nbytes + 1, np.uint8)[1:].view(dtype)
    f(x, out=target)
    assert same(target.copy(), f(x))


@pytest.mark.parametrize("code", ["f2", "f4", "f8"])
def test_byte_swapped(f, code):
    x = sample(np.dtype(code))
    assert same(f(x.astype(">" + code)), f(x))
    out = np.empty(x.shape, ">" + code)
    f(x, out=out)
    assert same(out.astype(code), f(x))


def test_large(f):
    x = sample("f4", 300_001)
    assert same(f(x), np.concatenate([f(part) for part in np.array_split(x, 7)]))


def test_out(f, dtype):
    x = sample(dtype, 100)
    expected = f(x)
    out = np.zeros(100, dtype)
    assert f(x, out=out) is out and same(out, expected)
    out = np.zeros((3, 100), dtype)
    assert same(f(x, out=out), np.broadcast_to(expected, (3, 100)).copy())
    y = x.copy()
    assert f(y, out=y) is y and same(y, expected)
    y = x.copy()  # overlapping, shifted
    f(y[:-1], out=y[1:])
    assert same(y[1:], expected[:-1])
    y = x.copy()
    f(y, out=y[::-1])
    assert same(y[::-1].copy(), expected)


def test_where(f, dtype):
    x = sample(dtype, 100)
    mask = np.arange(100) % 3 == 0
    out = np.ones(100, dtype)
    f(x, out=out, where=mask)
    assert same(out[mask], f(x)[mask])
    assert np.all(out[~mask] == 1)


def test_errors_leave_out_untouched(f):
    x = sample("f4", 10)
    for out in (np.ones(9, "f4"), np.ones(10, "i4")):
        before = out.copy()
        with pytest.raises((ValueError, TypeError)):
            f(x, out=out)
        assert same(out, before)
    out = np.ones(10, "f4")
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        f(x, out=out)
    assert np.all(out == 1)
    with pytest.raises(TypeError):
        f(np.array([1j, 2j]), out=np.ones(2))


def test_dtype_chooses_the_loop():
    x = np.array([0.3, 0.7], "f4")
    assert same(EXP(x, dtype="f8"), EXP(x.astype("f8")))
    assert same(EXP(x.astype("f2"), dtype="f4"), EXP(x.astype("f2").astype("f4")))
    with pytest.raises(TypeError):
        EXP(x.astype("f8"), dtype="f4", casting="safe")


def test_array_ufunc_protocol():
    class Wrapped:
        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            return ufunc, method

    assert EXP(Wrapped()) == (EXP, "__call__")


def test_subclass_is_kept():
    x = np.ma.masked_array([1.0, 2.0], mask=[False, True])
    assert isinstance(EXP(np.matrix([[1.0]])), np.matrix)
    assert EXP(x).mask.tolist() == [False, True]


SPECIAL = [
    ("exp", [800.0], "overflow"),
    ("log", [0.0], "divide by zero"),
    ("log", [-0.0], "divide by zero"),
    ("log", [-1.0], "invalid value"),
    ("log", [-np.inf], "invalid value"),
]


@pytest.mark.parametrize("name, x, message", SPECIAL)
def test_warnings(name, x, message, dtype):
    x = np.array(x * 40, dtype)
    f = getattr(repmath, name)
    with pytest.warns(RuntimeWarning, match=message) as seen:
        f(x)
    assert len(seen) == 1
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match=message):
        f(x)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        f(x)


def test_no_spurious_warnings(f, dtype):
    x = np.array([0.0, 1.0, 0.5, 3.0, np.inf, np.nan] if f.__name__ != "log" else [1.0, 0.5, 3.0, np.inf, np.nan], dtype)
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        for n in (1, 3, 8, 64, 1000):
            f(np.resize(x, n))
        if f.__name__ == "exp":
            f(np.array([-np.inf, -1000.0], dtype))


def test_canonical_nan(f, dtype):
    canonical = {"float16": 0x7E00, "bfloat16": 0x7FC0, "float32": 0x7FC00000, "float64": 0x7FF8000000000000}[dtype.name]
    unsigned = f"u{dtype.itemsize}"
    strange = (np.array([canonical], unsigned) | 3 | (1 << (8 * dtype.itemsize - 1))).astype(unsigned).view(dtype)
    assert bits(f(strange))[0] == canonical
    assert bits(f(np.resize(strange, 100))).tolist() == [canonical] * 100


def test_two_arguments():
    x, y = np.array([1.5, 2.0, -0.0]), np.array([[2.0], [0.5]])
    assert repmath.add(x, y).shape == (2, 3)
    assert repmath.pow(np.float32([2, 3]), 2).dtype == np.float32
    assert repmath.pow([2, 3], [3, 2]).tolist() == [8.0, 9.0]
    assert repmath.add(np.arange(3), np.int8(1)).dtype == np.float64
    assert repmath.fma(2.0, 3.0, 4).tolist() == 10.0
    assert repmath.add(x[::-1], x[::2][:1]).tolist() == [1.5, 3.5, 3.0]
    with pytest.raises(TypeError):
        repmath.add(x, 1j)
