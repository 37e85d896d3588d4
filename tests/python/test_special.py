"""repmath.special: bits beside mpmath's of 400 bits and more, at random numbers and at ones whose values are beside boundaries of rounding; special values,
shapes, formats, errors; PyTorch's operators have the same bits."""

import functools
import inspect
import math

import ml_dtypes
import numpy as np
import pytest
from exact_oracle import number, round_rational
from gmpy2 import mpq

from repmath import special
from repmath._narrow import convert_array
from repmath._special import functions

mpmath = pytest.importorskip("mpmath", reason="mpmath is not installed")

BF16 = np.dtype(ml_dtypes.bfloat16)
KINDS = {"f16": np.dtype("f2"), "bf16": BF16, "f32": np.dtype("f4"), "f64": np.dtype("f8")}
DIGITS = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}
ONE = {
    "i0": lambda x: mpmath.besseli(0, x),
    "i0e": lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)),
    "i1": lambda x: mpmath.besseli(1, x),
    "i1e": lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)),
    "j0": lambda x: mpmath.besselj(0, x),
    "j1": lambda x: mpmath.besselj(1, x),
    "k0": lambda x: mpmath.besselk(0, x),
    "k0e": lambda x: mpmath.besselk(0, x) * mpmath.exp(x),
    "k1": lambda x: mpmath.besselk(1, x),
    "k1e": lambda x: mpmath.besselk(1, x) * mpmath.exp(x),
    "y0": lambda x: mpmath.bessely(0, x),
    "y1": lambda x: mpmath.bessely(1, x),
    "gamma": lambda x: mpmath.gamma(x),
}
TWO = {
    "gammainc": lambda a, x: mpmath.gammainc(a, 0, x, regularized=True),
    "gammaincc": lambda a, x: mpmath.gammainc(a, x, mpmath.inf, regularized=True),
    "zeta": lambda s, q: hurwitz(s, q),
    "beta": lambda a, b: mpmath.beta(a, b),
}
EVEN = ("i0", "i0e", "i1", "i1e", "j0", "j1")  # which are defined below 0
# Roots of J and Y, large and small numbers, ends of the ranges of series.
HARD = [
    2.404825557695773,
    3.8317059702075125,
    0.8935769662791675,
    2.197141326031017,
    25.0,
    64.25,
    70.5,
    600.0,
    1e-9,
    2.0**-12,
]
PAIRS = [(0.5, 0.25), (0.5, 30.0), (3.0, 4.5), (20.25, 22.0), (7.5, 90.0), (40.0, 3.0), (1e-3, 3.0), (2.0, 0.125)]
ORDERS = [(2.0, 1.0), (1.5, 0.125), (1.0078125, 4.0), (30.0, 0.75), (6.5, 300.0), (3.0, -2.5), (2.0, -0.25), (70.0, 1.0)]


def hurwitz(s, q):
    """Of q below 0 the terms up to 0 one by one, s a whole number."""
    first = [(q + k) ** -int(s) for k in range(max(0, -int(mpmath.floor(q))))]
    return mpmath.fsum([*first, mpmath.zeta(s, q + len(first))])


@functools.cache
def exact(name, *row):
    """The value as a rational number of 400 bits and more: the smaller an argument, the more."""
    small = max(0, *(-math.frexp(v)[1] for v in row))
    cancels = 4 * int(abs(row[0])) if name in EVEN else 0  # the series of J
    with mpmath.workprec(400 + 8 * small + cancels):
        sign, m, e, _ = (ONE | TWO)[name](*map(mpmath.mpf, row))._mpf_
        return (-1) ** sign * mpq(int(m)) * mpq(2) ** e


def rn(value, fmt):
    return number(round_rational(value, fmt), KINDS[fmt])


def wrong(name, fmt, made, *columns):
    """The rows whose result is not the rounded value."""
    rows = zip(*(np.asarray(c, "f8").tolist() for c in columns), strict=True)
    return [row for r, row in zip(made, rows, strict=True) if r != rn(exact(name, *row), fmt)]


def fields(name, fmt, seed=1, count=12):
    """Arguments of the format, as columns: random ones and those above."""
    rng = np.random.default_rng(seed)
    if name in TWO:
        first, second = 10 ** rng.uniform(-1, 1.5, count), 10 ** rng.uniform(-1, 1.5, count)
        first = first + 1.125 if name == "zeta" else first
        rows = np.array([*zip(first, second, strict=True), *(ORDERS if name == "zeta" else PAIRS)]).astype(KINDS[fmt])
        return rows[(rows[:, 0] > 1) | (name != "zeta")].T
    x = np.array([*10 ** rng.uniform(-3, 1.7, count), *HARD]).astype(KINDS[fmt])
    x = np.concatenate([x, -x]) if name in (*EVEN, "gamma") else x
    x = x[(x > 0) | (x != np.floor(x)) | (name != "gamma")]
    return [x[x != 0]]


@pytest.mark.parametrize("fmt", KINDS)
@pytest.mark.parametrize("name", special.__all__)
def test_bits(name, fmt):
    columns = fields(name, fmt)
    made = getattr(special, name)(*columns)
    assert made.dtype == KINDS[fmt] and wrong(name, fmt, made, *columns) == []
    moved = np.where(np.isfinite(made) & (made != 0), made * KINDS[fmt].type(1 + 2.0 ** (2 - DIGITS[fmt])), 1).astype(
        made.dtype
    )
    assert len(wrong(name, fmt, moved, *columns)) > len(made) // 2  # the control


def beside(name, fmt):
    """Arguments in three binades at which the value is as near to the middle of two numbers as 4096 neighbours have it."""
    found = []
    for base in (1.3, 3.3, 11.7):
        a = np.array([2.75] if name in TWO else [], "f8")
        x = float(np.array(base).astype(KINDS[fmt]))
        step = 2.0 ** (math.frexp(x)[1] - DIGITS[fmt])
        if fmt != "f64":  # all numbers of a binade, or some of them, by their values in binary64
            x = np.unique((2 ** math.floor(math.log2(x)) * (1 + np.arange(4096) / 4096)).astype(KINDS[fmt])).astype("f8")
            wide = getattr(special, name)(*a, x)
            unit = 2.0 ** (np.frexp(wide)[1] - DIGITS[fmt])
            off = np.abs(wide / unit % 1 - 0.5)
            found += [(*a, x[i]) for i in np.argsort(off)[:2].tolist()]
            continue
        value = exact(name, *a, x)
        slope = (exact(name, *a, x + 2**10 * step) - value) / 2**10
        unit = mpq(2) ** (math.frexp(float(value))[1] - 53)
        k = np.arange(4096)
        off = (float(value / unit % 1) + k * float(slope / unit % 1)) % 1
        found.append((*a, x + int(np.argmin(np.abs(off - 0.5))) * step))
    return np.array(found).T


@pytest.mark.parametrize("fmt", KINDS)
@pytest.mark.parametrize("name", special.__all__)
def test_beside_boundaries(name, fmt):
    columns = beside(name, fmt)
    made = getattr(special, name)(*columns.astype(KINDS[fmt]))
    assert wrong(name, fmt, made, *columns) == []
    values = [exact(name, *row) for row in columns.T.tolist()]
    near = mpq(2) ** (-DIGITS[fmt] - (8 if fmt in ("f32", "f64") else 1))
    turned = [rn(v * (1 + s * near), fmt) != rn(v, fmt) for v in values for s in (-1, 1)]
    assert any(turned)  # the control: values that are off by less than that are rounded to others


def test_special_values():
    inf, nan = math.inf, math.nan
    x = np.array([0.0, -0.0, inf, -inf, nan, -1.0])
    want = {
        "i0": [1.0, 1.0, inf, inf],
        "i0e": [1.0, 1.0, 0.0, 0.0],
        "i1": [0.0, -0.0, inf, -inf],
        "i1e": [0.0, -0.0, 0.0, -0.0],
        "j0": [1.0, 1.0, 0.0, 0.0],
        "j1": [0.0, -0.0, 0.0, -0.0],
        **dict.fromkeys(("y0", "y1"), [-inf, -inf, 0.0, nan]),
        **dict.fromkeys(("k0", "k0e", "k1", "k1e"), [inf, inf, 0.0, nan]),
        "gamma": [inf, -inf, inf, nan],
    }
    assert {*want, *TWO} == set(special.__all__)
    pairs = {
        "zeta": [(1, 2, inf), (0.5, 2, nan), (2, 0, inf), (2, -1, inf), (2.5, -1.5, nan), (inf, 2, 0.0), (2, inf, 0.0), (inf, 1, 1.0),
                 (inf, 0.5, inf), (2, -inf, nan), (inf, -inf, nan), (inf, -1.5, nan), (inf, -2, inf), (nan, 1, nan), (1, nan, nan)],
        "gammainc": [(0, 0, nan), (0, 1, 1.0), (1, 0, 0.0), (-1, 1, nan), (1, -1, nan), (inf, 1, 0.0), (1, inf, 1.0), (inf, inf, nan),
                     (nan, 1, nan), (1, nan, nan), (2.0**30, 1, 0.0), (5, 2.0**30, 1.0)],
    }  # fmt: skip
    pairs["beta"] = [(0, 1, inf), (3, 0, inf), (0, inf, nan), (inf, 0, nan), (inf, 2, 0.0), (0.5, inf, 0.0), (-1, 1, nan), (1, -0.5, nan),
                     (nan, 1, nan), (1, nan, nan), (1, 1, 1.0), (4, 1, 0.25), (2.0**30, 2.0**30, 0.0)]  # fmt: skip
    pairs["gammaincc"] = [(a, v, 1 - p) for a, v, p in pairs["gammainc"]]
    for dtype in KINDS.values():
        for name, values in want.items():
            made = getattr(special, name)(x.astype(dtype))
            assert made.dtype == dtype and np.isnan(made[4]) and np.isnan(made[5]) == (name not in EVEN)
            assert str(made[:4].astype("f8").tolist()) == str(values), name
        for name, rows in pairs.items():
            a, v, values = np.array(rows).T
            with np.errstate(over="ignore"):  # 2**30 is infinite in float16, and means the same
                made = getattr(special, name)(a.astype(dtype), v.astype(dtype))
            assert made.dtype == dtype and str(made.astype("f8").tolist()) == str(values.tolist()), (name, dtype)
    assert special.k1(5e-324) == inf and special.y1(5e-324) == -inf and special.i0(800.0) == inf


@pytest.mark.parametrize("fmt", KINDS)
def test_gamma_and_beta_from_end_to_end(fmt):
    """Factorials, which may be middles of two numbers; signs of small values; numbers whose values are beside the ends of the format; what double-double
    leaves undecided."""
    dtype = KINDS[fmt]
    rng = np.random.default_rng(5)
    x = [
        *range(1, 40),
        *range(165, 175),
        *-(10 ** rng.uniform(-8, 2.2, 30)),
        *rng.uniform(160, 172, 10),
        *rng.uniform(-191, -150, 20),
        5e-324,
        -1e-310,
    ]
    x = np.unique(np.array(x).astype(dtype))
    x = x[(x != 0) & ((x > 0) | (x != np.floor(x)))]
    made = special.gamma(x)
    assert wrong("gamma", fmt, made, x) == []
    assert np.array_equal(np.signbit(made), (x < 0) & (np.floor(x.astype("f8")) % 2 != 0))
    with np.errstate(over="ignore"):
        a = np.array([1, 1, 3.5, 1e-300, 1e-5, 1e-5, 2.0**60, 1e-4, 600, 40, 700.5], "f8").astype(dtype)
        b = np.array([3, 0.7, 1, 1e-300, 1e-6, 1e5, 0.5, 1e6, 600.5, 41, 0.25], "f8").astype(dtype)
    a, b = (v[np.isfinite(a) & np.isfinite(b) & (a > 0) & (b > 0)] for v in (a, b))
    assert wrong("beta", fmt, special.beta(a, b), a, b) == []
    assert np.array_equal(special.beta(a, b), special.beta(b, a))
    for name, columns in (("gamma", [x[::7]]), ("beta", [a, b])):
        own = [
            functions.FUNCTIONS[name](*row, dtype) for row in zip(*(c.astype("f8").tolist() for c in columns), strict=True)
        ]
        assert wrong(name, fmt, convert_array(np.array(own), dtype), *columns) == []
    with mpmath.workprec(4000):
        assert special.beta(1e300, 1e-3) == float(mpmath.beta(mpmath.mpf(1e300), mpmath.mpf(1e-3)))
    assert special.gamma(1e300) == np.inf and special.gamma(-1e5 - 0.5) == 0 and np.isnan(special.gamma(-(2.0**60)))


def test_shapes_and_formats():
    x = np.linspace(0.5, 9, 24).reshape(4, 6)
    for name in special.__all__:
        function = getattr(special, name)
        first = (np.float64(2.25),) if name in TWO else ()
        whole = function(*first, x)
        assert whole.shape == (4, 6) and whole.dtype == np.float64
        assert np.array_equal(function(*first, x.T), whole.T) and np.array_equal(
            function(*first, x[::2, ::-1]), whole[::2, ::-1]
        )
        assert np.array_equal(function(*first, x.astype(">f8")), whole) and np.array_equal(
            function(*first, x.tolist()), whole
        )
        assert function(*first, np.empty((0, 3))).shape == (0, 3)
        one = function(*first, 3.5)
        assert type(one) is np.float64 and one == function(*first, np.array([3.5]))[0]
        assert function(*first, 3) == function(*first, np.int8(3)) == function(*first, 3.0)
        assert function(*first, np.array([True])).dtype == np.float64
    a, v = np.array([[1.5], [2.5]], "f4"), np.array([0.5, 1.5, 4.0], "f4")
    made = special.gammainc(a, v)
    assert made.shape == (2, 3) and made.dtype == np.float32
    assert all(made[i, j] == special.gammainc(a[i, 0], v[j]) for i in range(2) for j in range(3))
    # A Python number takes the format of the array beside it; of several formats the result holds all.
    assert np.array_equal(special.zeta(v + 1, 0.1), special.zeta(v + 1, np.float32(0.1)))
    assert special.zeta(v + 1, 0.1).dtype == np.float32 and special.zeta(2, v.astype(BF16)).dtype == BF16
    assert not np.array_equal(special.zeta(v + 1, np.float64(0.1)), special.zeta(v + 1, 0.1))
    assert special.gammainc(v.astype("f2"), v.astype(BF16)).dtype == np.float32
    assert special.gammainc(v, np.arange(3)).dtype == special.gammainc(3, np.arange(3)).dtype == np.float64


def test_errors():
    for name in special.__all__:
        function, known = getattr(special, name), list(inspect.signature(getattr(special, name)).parameters)
        for place, argument in enumerate(known):
            for bad, error in (
                (1j, TypeError),
                ("1", TypeError),
                (None, TypeError),
                (np.array([None]), TypeError),
                (2**53 + 1, ValueError),
            ):
                with pytest.raises(error, match=rf"^{argument} "):
                    function(*(bad if i == place else 2.0 for i in range(len(known))))
    with pytest.raises(ValueError, match=r"a of shape \(2,\) and x of shape \(3,\) do not broadcast"):
        special.gammainc(np.ones(2), np.ones(3))
    with pytest.raises(ValueError, match="^a=1073741824.0 above 1048576"):
        special.gammaincc(2.0**30, 2.0**30)


NAMES = {
    **dict.fromkeys(("i0", "i0e", "i1", "i1e", "zeta"), ""),
    **dict.fromkeys(("j0", "j1", "y0", "y1"), "bessel_"),
    **dict.fromkeys(("k0", "k1"), "modified_bessel_"),
    **dict.fromkeys(("k0e", "k1e"), "scaled_modified_bessel_"),
    **dict.fromkeys(("gammainc", "gammaincc"), ""),
}


@pytest.mark.parametrize("name", NAMES)
def test_operators_of_torch_have_the_same_bits(name):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    import repmath.torch as rt

    rng = np.random.default_rng(3)
    operator = getattr(torch.special, NAMES[name] + name.removesuffix("e" if "scaled" in NAMES[name] else ""))
    ends = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 2.0, -1.5]
    columns = [[*10 ** rng.uniform(-4, 2.5, 40), *rng.permutation(ends)] for _ in range(1 + (name in TWO))]
    for fmt, dtype in zip(KINDS, (torch.float16, torch.bfloat16, torch.float32, torch.float64), strict=True):
        tensors = [torch.tensor(c, dtype=torch.float64).to(dtype) for c in columns]
        with rt.reproducible():
            theirs = operator(*tensors).double().numpy()
        made = getattr(special, name)(*(t.double().numpy().astype(KINDS[fmt]) for t in tensors))
        assert np.array_equal(made.astype("f8").view("i8"), theirs.view("i8")), fmt
