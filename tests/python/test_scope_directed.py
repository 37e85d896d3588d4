"""The modes of one direction in scopes of repmath.rounding: every public function of NumPy arrays, against the results that the mode "random" has and values of MPFR."""

from fractions import Fraction

import gmpy2
import ml_dtypes
import numpy as np
import oracle
import pytest
import rounding_oracle
import scope_walk
from scope_walk import CALLS, LINES, rounds_nothing, run

import repmath
from repmath import _core, array_api, nn, optim, rounding

MODES = rounding_oracle.DIRECTED
KINDS = {"f16": np.dtype("f2"), "bf16": np.dtype(ml_dtypes.bfloat16), "f32": np.dtype("f4"), "f64": np.dtype("f8")}
SAMPLES = 32  # of "random": a number that is rounded is the same in all with a chance of 2^-31
# Each of their arrays is made of rounded ones; other tests have their steps by rational numbers.
STEPS = {
    *("scaled_dot_product_attention", "scaled_dot_product_attention_backward", "sgd_step", "adam_step", "adamw_step"),
    *(
        "cholesky",
        "cho_factor",
        "lu_factor",
        "matrix_power",
        "pinv",
        "qr",
        "eigh",
        "eigvalsh",
        "svd",
        "svdvals",
        "matrix_norm",
    ),
}


def bits(a):
    a = np.ascontiguousarray(a)
    return a.view(np.dtype(f"u{a.dtype.itemsize}")).reshape(-1).tolist()


def parts(arrays):
    """Real numbers, of each array of a result."""
    for a in arrays:
        yield from (a.real, a.imag) if a.dtype.kind == "c" else (a,)


def within(mode, function, arguments, keywords, sample=0):
    with rounding.scope(mode, seed=3, sample=sample) as block:
        made = list(parts(run(function, arguments, keywords)))
    return made, block.calls


def check(function, arguments, keywords, name):
    plain = list(parts(run(function, arguments, keywords)))
    found = {mode: within(mode, function, arguments, keywords) for mode in MODES}
    if rounds_nothing(function):
        same = [v.tobytes() for v in plain]
        assert all(calls == 0 and [v.tobytes() for v in made] == same for made, calls in found.values())
        return
    assert all(calls for _, calls in found.values())
    (zero, _), (down, _), (up, _) = (found[mode] for mode in MODES)
    if name in STEPS:
        assert [*map(bits, down)] != [*map(bits, up)]
        return
    samples = [within("random", function, arguments, keywords, i)[0] for i in range(SAMPLES)]
    for i, like in enumerate(plain):
        if like.dtype.kind not in "fV":
            continue
        every = np.stack([s[i].astype(np.float64) for s in samples])
        low, high = every.min(0), every.max(0)
        assert np.array_equal(down[i].astype(np.float64), low, equal_nan=True)
        assert np.array_equal(up[i].astype(np.float64), high, equal_nan=True)
        assert np.array_equal(zero[i].astype(np.float64), np.where(np.abs(low) < np.abs(high), low, high), equal_nan=True)
        near = like.astype(np.float64)
        assert (np.isnan(near) | (near == low) | (near == high)).all()


@pytest.mark.parametrize(("function", "arguments", "keywords"), CALLS)
def test_the_ends_of_random_rounding(function, arguments, keywords):
    """Down and up are the two numbers that "random" chooses from, to nearest is one of them."""
    check(function, arguments, keywords, function.__name__)


@pytest.mark.parametrize(("module", "name", "arguments", "keywords"), LINES)
def test_array_api(module, name, arguments, keywords):
    check(getattr(module, name), arguments, keywords, name)


def test_what_rounds_to_nearest_is_seen(monkeypatch):
    """A control."""
    x = np.array([0.1, 0.7, 1.3], "f4")
    check(nn.softmax, (x,), {}, "softmax")
    plain = nn.softmax(x)
    own = repmath._scope._HANDLERS["softmax"]
    monkeypatch.setitem(
        repmath._scope._HANDLERS, "softmax", lambda mode, *rest, **words: plain if mode == "up" else own(mode, *rest, **words)
    )
    with pytest.raises(AssertionError):
        check(nn.softmax, (x,), {}, "softmax")


@pytest.mark.parametrize("fmt", list(KINDS))
def test_elementwise_functions(fmt):
    """By MPFR and the definitions."""
    x = np.array([0.3, 0.7, -0.9, 0.45]).astype(KINDS[fmt])
    for name, ufunc in _core.ufuncs.items():
        first = np.abs(x) + x.dtype.type(1) if name in ("acosh", "log") else x
        arguments = [(first * x.dtype.type(7.3) ** k).astype(x.dtype) for k in range(ufunc.nin)]
        rows = list(zip(*(a.astype(np.float64).tolist() for a in arguments), strict=True))
        for mode in MODES:
            with rounding.scope(mode) as block, np.errstate(all="ignore"):
                found = ufunc(*arguments)
            assert block.calls == 1 and found.dtype == x.dtype
            assert bits(found) == rounding_oracle.array_of(name, rows, fmt, mode, [0] * len(rows)).tolist(), (name, mode)


@pytest.mark.parametrize("fmt", list(KINDS))
@pytest.mark.parametrize("mode", MODES)
def test_beyond_the_largest_number(mode, fmt):
    """IEEE 754's overflow: the largest number, or infinity in its direction. Every value below is beyond it, and each of another kind of function."""
    dtype, most = KINDS[fmt], float(ml_dtypes.finfo(KINDS[fmt]).max)
    for sign in (1, -1):
        x = np.array([[most, most]]).astype(dtype) * dtype.type(sign)
        one = np.ones((1, 2), dtype)
        calls = [
            lambda x=x: repmath.add(x, x), lambda x=x: repmath.sum(x, axis=1), lambda x=x, o=one: repmath.matmul(x, o.T),
            lambda x=x: repmath.cumsum(x, axis=1)[:, 1:], lambda x=x: array_api.prod(np.concatenate((x[:, :1], np.abs(x[:, 1:])), 1), axis=1),
            lambda x=x, o=one: nn.mse_loss_backward(x, 4 * o, o, reduction="none"), lambda x=x, o=one: repmath.vecdot(x, o),
            lambda x=x, o=one: repmath.conv1d(x[None], o[None]), lambda x=x: repmath.segment_sum(x[0], np.zeros(2, int), 1),
            lambda x=x, d=dtype: nn.layer_norm(np.array([[0, 0, 1]], d), 3, weight=np.resize(x, 3))[:, 2:],
        ]  # fmt: skip
        inward = float(np.copysign(most, sign))
        outward = mode == ("up" if sign > 0 else "down")
        for i, call in enumerate(calls):
            with rounding.scope(mode), np.errstate(all="ignore"):
                found = np.asarray(call()).reshape(-1).astype(np.float64)
            assert (found == (sign * np.inf if outward else inward)).all(), i
        with rounding.scope(mode), np.errstate(all="ignore"):
            assert repmath.add(x * dtype.type(np.inf), one).tolist() == [[sign * np.inf] * 2]


def test_statistics_beyond_the_largest_number():
    """The inverse root of a norm's variance is 1e9, or 70,000, where f16 ends at 65,504; of no variance, and no eps, there is none."""
    x = np.full((1, 4), 0.5, "f2")
    for squares, function, eps in ((False, nn.layer_norm, 1e-18), (False, nn.layer_norm, 2.0e-10)):
        for mode, want in (("down", 65504.0), ("toward_zero", 65504.0), ("up", np.inf), ("random", np.inf)):
            with rounding.scope(mode):
                assert float(function(x, 4, eps=eps, return_statistics=True)[2].reshape(-1)[0]) == want, (squares, mode)
    with rounding.scope("down"), np.errstate(all="ignore"):
        assert np.isnan(nn.layer_norm(x, 4, eps=0.0, return_statistics=True)[2]).all()


def test_zeros():
    """Elementwise functions have IEEE 754's signs; sums, products and what is composed have +0."""
    x, none = np.array([1.5, -0.0], "f4"), np.array([0.0, 0.0], "f4")
    for mode in MODES:
        with rounding.scope(mode):
            made = repmath.subtract(x, x)
            assert not made.any() and np.signbit(made).tolist() == [mode == "down"] * 2
            assert np.signbit(repmath.multiply(x, none)).tolist() == [False, True]
            for total in (
                repmath.sum(np.array([1.5, -1.5], "f4")),
                repmath.matmul(x, none),
                nn.mse_loss(x, x),
                repmath.mean(x - x),
            ):
                assert total == 0 and not np.signbit(total)
            tiny = np.array([1e-30, -1e-30], "f4")
            made = repmath.multiply(tiny, np.array([1e-30, 1e-30], "f4"))
            least = float(np.nextafter(np.float32(0), np.float32(1)))
            want = [least if mode == "up" else 0.0, -least if mode == "down" else -0.0]
            assert made.tolist() == want and np.signbit(made).tolist() == [False, True]


def test_limits_of_special_functions():
    """What is known without being evaluated, beyond every number or below, is no infinity and no zero; poles are."""
    f = repmath.special
    for fmt in ("f4", "f8"):
        most, least = float(np.finfo(fmt).max), float(np.finfo(fmt).smallest_subnormal)
        for mode in MODES:
            large, small = (np.inf, least) if mode == "up" else (most, 0.0)
            below = np.inf if mode == "down" else most  # of a number below 0
            x = np.array([3000.0], fmt)
            with rounding.scope(mode):
                assert f.i0(x) == f.i0(-x) == f.i1(x) == f.gamma(x) == large and f.i1(-x) == -below
                assert (
                    f.k0(x)
                    == f.k1(x)
                    == f.zeta(x, x)
                    == f.beta(x, x)
                    == f.gammaincc(x / 3000, x)
                    == f.gamma(-x - 1.5)
                    == small
                )
                assert f.gamma(-x - 0.5) == (-least if mode == "down" else 0.0)
                assert np.isinf(f.k0(x * 0)) and np.isinf(f.i0(x * np.inf)) and np.isinf(f.gamma(x * 0))


def test_values_beside_numbers():
    """A sum that differs from a number by a part in 2^1000 of it goes to the neighbour; the number itself stays."""
    for mode in MODES:
        for sign in (1, -1):
            for hair in (0, 2.0**-1000, -(2.0**-1000)):
                x = np.array([sign * 1.5, hair])
                value = Fraction(sign * 1.5) + Fraction(hair)
                with rounding.scope(mode):
                    found = [
                        repmath.sum(x),
                        repmath.mean(x * 2),
                        repmath.cumsum(x)[1],
                        repmath.dot(x, np.ones(2)),
                        repmath.add(x[:1], x[1:])[0],
                    ]
                assert {b for v in found for b in bits(v)} == {rounding_oracle.rounded(value, "f64", mode, 0)}


def test_they_ask_no_words():
    x = np.linspace(0.1, 3, 50, dtype="f4")
    for mode in MODES:
        made = []
        for seed, sample in ((0, 0), (5, 0), (0, 7)):
            with rounding.scope(mode, seed=seed, sample=sample) as block:
                made.append(bits(repmath.exp(x)) + bits(nn.softmax(x)) + bits(repmath.matmul(x, x)))
            assert block.calls == 3
        assert made[0] == made[1] == made[2]
        assert made[0][:50] == bits(rounding.exp(x, mode))
        with rounding.scope("stochastic") as outer:
            with rounding.scope(mode):
                assert bits(repmath.exp(x)) == made[0][:50]
            assert outer.calls == 0


def test_steps_and_layouts():
    """Optimisers by name; `out` and views."""
    p, g = np.linspace(0.1, 1, 7, dtype="f4"), np.linspace(-1, 1, 7, dtype="f4")
    for mode in MODES:
        made = []
        for _ in range(2):
            made.append([p.copy(), g, np.zeros(7, "f4"), np.zeros(7, "f4")])
        optim.adam_step(*made[0], step=1, rounding=mode)
        with rounding.scope(mode):
            optim.adam_step(*made[1], step=1)
        assert bits(made[0][0]) == bits(made[1][0])
        x, out = np.linspace(0.1, 3, 12, dtype="f4").reshape(3, 4), np.empty((4, 3), "f4").T
        with rounding.scope(mode):
            want = bits(repmath.exp(x))
            assert repmath.exp(np.asfortranarray(x), out=out) is out and bits(out) == want
            assert repmath.add.reduce is not None
            with pytest.raises(TypeError, match="random rounding"):
                repmath.add.reduce(x)


def test_the_oracle_has_the_directions():
    """Of rationals by MPFR."""
    for v in (
        Fraction(1, 3),
        Fraction(-7, 10),
        Fraction(10**39),
        Fraction(-(10**39)),
        Fraction(3, 2),
        Fraction(1, 2**150),
        Fraction(-1, 2**150),
    ):
        for mode, how in zip(MODES, (gmpy2.RoundToZero, gmpy2.RoundDown, gmpy2.RoundUp), strict=True):
            with gmpy2.context(gmpy2.ieee(32), round=how, subnormalize=True):
                want = float(gmpy2.mpfr(gmpy2.mpq(v.numerator, v.denominator)))
            assert bits(np.float32(want)) == [rounding_oracle.rounded(v, "f32", mode, 0)]
    assert oracle.ARITY["exp"] == 1 and scope_walk.CALLS
