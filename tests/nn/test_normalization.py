"""rm_normalize and its gradients against mpmath, on every instruction set: layer, group, batch and root mean square norms in every format."""

import ctypes
import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from exact_oracle import CANONICAL_NAN, rounded
from normalization_library import FOUR, NAMES, Sets, by_classes, expected, geometry, rational, results, values
from real_oracle import precise, reals, rounded_real, rounded_recognised
from reductions_library import NULL, OK, OVERLAP, SIZE, Reductions, pointer, status
from softmax_library import kind
from statistics_library import dtype_of


def data(rng, fmt, shape, which):
    x = rng.standard_normal(shape)
    x = {
        "plain": x,
        "far": x * 1e-2 + 50,
        "integers": np.round(x * 2),
        "small": x * 1e-4,
        "constant": np.full(shape, x.flat[0]),
    }[which]
    return x.astype(dtype_of(fmt))


@pytest.mark.sample(3)
@pytest.mark.parametrize("fmt", NAMES)
@pytest.mark.parametrize("norm", ["layer", "rms", "group", "batch"])
@pytest.mark.parametrize("which", ["plain", "far", "integers", "small", "constant"])
def test_values(isa_library, norm, fmt, which):
    rng = np.random.default_rng(3)
    for shape, eps in (((2, 4, 5), 1e-5), ((3, 2, 1), 0.25), ((1, 2, 35), 1e-5)):
        x = data(rng, fmt, shape, which)
        n = shape[2] if norm in ("layer", "rms") else shape[1]
        w, b, g = (rng.standard_normal(s).astype(x.dtype) for s in (n, n, shape))
        w[::3], b[::2] = 1, 0
        if which == "integers":
            g = np.round(g)
        got = results(isa_library, norm, fmt, x, w, b, g, eps)
        for one, other in zip(got, expected(norm, fmt, x, w, b, g, eps), strict=True):
            assert (one == other).all()


@pytest.mark.parametrize("fmt", NAMES)
@pytest.mark.parametrize("norm", ["layer", "rms", "batch"])
def test_eps_below_zero(isa_library, norm, fmt):
    """Variance + eps may cancel: down to a hair, to 0, or below, where the set is NaN."""
    rng, found = np.random.default_rng(8), {True: 0, False: 0}
    for which, shape in itertools.product(
        ("plain", "far", "integers", "small", "constant"), ((4, 1, 1), (1, 1, 9), (3, 1, 16))
    ):
        if norm != "batch":
            shape = 1, 1, math.prod(shape)
        x = data(rng, fmt, shape, which)
        n = shape[2] if norm != "batch" else 1
        w, b, g = (rng.standard_normal(s).astype(x.dtype) for s in (n, n, shape))
        v = [Fraction(float(a)) for a in x.flat]
        mean = 0 if norm == "rms" else sum(v) / len(v)
        variance = sum((a - mean) ** 2 for a in v) / len(v)
        near = float(variance)
        for eps in (
            -0.5 * near,
            -near,
            *(-np.nextafter(near, t) for t in (0.0, np.inf)),
            -near * (1 - 1e-9),
            -(2.0**-200),
            -0.5,
        ):
            got, positive = results(isa_library, norm, fmt, x, w, b, g, eps), variance + Fraction(float(eps)) > 0
            found[positive] += 1
            if positive:
                for one, other in zip(got, expected(norm, fmt, x, w, b, g, eps), strict=True):
                    assert (one == other).all(), (which, shape, eps)
            else:
                assert all((part == CANONICAL_NAN[fmt]).all() for part in got), (which, shape, eps)
    assert min(found.values()) > 20


@pytest.mark.parametrize("norm", ["layer", "rms", "batch"])
def test_signs_of_tiny_results(isa_library, norm):
    """Of an element beside the mean, or a gradient of 0 beside another, nothing but the sign may be left. Sums of these numbers are exact, or not 0."""
    near, far = [1.0, 2.0**-60, 2.0**-400, -(2.0**-60), 0.25], [1e90, 2e90, 3e90, 5e90]
    tiny = [5e-324, 0.0, 0.0, 0.0]
    for row, g, w in (
        (near, [1e-300, 2e-300, 1e-300, 1e-300, 1e-300], 1e-300),
        (near, [1e-250, -1e-250, -1e-250, 1e-250, 1e-250], -1e-300),
        (near, [0.0] * 5, 1e-300),
        (far, tiny, 1.0),
        (far, tiny, -1e-200),
        ([1e150, 1e150, -1e150, 3e150], tiny, 1.0),
        ([1.0, 2.0, 3.0, 5.0], tiny, 1e-100),
        ([1.0, 2.0, 3.0], tiny[:3], 1.0),
        ([0.25, 2.0**-100], tiny[:2], 1.0),
    ):
        x = np.array(row).reshape((len(row), 1, 1) if norm == "batch" else (1, 1, len(row)))
        h, u, b = np.array(g).reshape(x.shape), np.full(x.shape[2], w), np.zeros(x.shape[2])
        got = results(isa_library, norm, "f64", x, u, b, h, 1e-5)
        for one, other in zip(got, precise(values)(norm, x, u, b, h, 1e-5), strict=True):
            want = [rounded_real(v, np.dtype(np.float64), exact=v == 0) for v in other.reshape(-1)]
            assert one.reshape(-1).tolist() == want, (row, g, w)


@pytest.mark.sample(4)
@pytest.mark.parametrize("fmt", NAMES)
@pytest.mark.parametrize("norm", ["layer", "rms", "group", "batch"])
def test_flat_gradients(isa_library, norm, fmt):
    """Gradients that are equal throughout: where a mean is taken away nothing of them is left, and of constant sets nothing is at any weight.
    One that is not equal is none of these."""
    rng = np.random.default_rng(6)
    lib = Reductions(isa_library)
    for which, flat in itertools.product(("plain", "far", "constant"), (True, False)):
        x = data(rng, fmt, (3, 2, 35), which)
        n = 35 if norm in ("layer", "rms") else 2
        w, b, g = np.full(n, 1.5, x.dtype), np.zeros(n, x.dtype), np.full(x.shape, 0.75, x.dtype)
        if not flat:
            g[1, 1, 30] = 1
        lib.stats()
        got = results(isa_library, norm, fmt, x, w, b, g, 1e-5)
        exactly = lib.stats()[2]
        for one, other in zip(got, expected(norm, fmt, x, w, b, g, 1e-5), strict=True):
            assert (one == other).all()
        if flat and norm != "rms":
            assert not got[1].any() and (which != "constant" or not got[2].any())
            assert fmt == "f64" or exactly < x.size / 4


@pytest.mark.parametrize("fmt", NAMES)
@pytest.mark.parametrize("length", [3, 128, 129])
def test_blocks_of_any_length(isa_library, fmt, length):
    """Sets of blocks that are copied next to each other, of longer ones, and of such whose elements lie apart have the bits of one block with
    all elements. Sets are ordinary, constant with a NaN in one gradient, and not finite."""
    rng = np.random.default_rng(7)
    x, g = rng.standard_normal((2, 5, 3, length)).astype(dtype_of(fmt))
    x[:, 1], g[2, 1, 1], x[4, 2, 0] = 0.75, np.nan, np.inf
    w, b = rng.standard_normal((2, 3)).astype(x.dtype)
    rows = [np.ascontiguousarray(a.swapaxes(0, 1)).reshape(1, 3, -1) for a in (x, g)]
    want = results(isa_library, "batch", fmt, rows[0], w, b, rows[1], 1e-5)
    want = [*(a.reshape(3, 5, length).swapaxes(0, 1) for a in want[:2]), want[2]]
    for order in "CF":
        got = results(isa_library, "batch", fmt, np.array(x, order=order), w, b, np.array(g, order=order), 1e-5)
        assert all((one == other).all() for one, other in zip(got, want, strict=True))
    other = results(isa_library, "batch", fmt, x, w, b, g, 0.5)
    assert all((one != other).any() for one, other in zip(other, want, strict=True))  # the control


def statistics(lib, norm, fmt, x, eps, weight=None):
    """The bits of the result, of the means (None of root mean squares) and of the roots, one after the other."""
    (sets, sx, sw), places = geometry(norm, x)
    y, found = np.full(x.shape, 7, kind(fmt)), [np.full(len(places), 7, kind(fmt)) for _ in range(2)]
    mean = None if norm == "rms" else pointer(found[0])
    given = (None, None) if weight is None else (pointer(weight), sw)
    f, e, sy = NAMES.index(fmt), ctypes.c_double(eps), geometry(norm, y)[0][1]
    call = f, ctypes.byref(sets), pointer(x), sx, *given, None, None, e, pointer(y), sy, mean, pointer(found[1])
    assert lib.rm_normalize_with_statistics(*call) == OK
    return y, None if mean is None else found[0], found[1]


@precise
def expected_statistics(norm, fmt, x, eps):
    means, roots = [], []
    for members in geometry(norm, x)[1].values():
        v = reals([x[i] for i, _ in members])
        mean = mpmath.mpf(0) if norm == "rms" else mpmath.fsum(v) / len(v)
        variance = mpmath.fsum((a - mean) ** 2 for a in v) / len(v) + mpmath.mpf(eps)
        means.append(rounded_recognised(mean, dtype_of(fmt)))
        roots.append(rounded_recognised(1 / mpmath.sqrt(variance), dtype_of(fmt)))
    return None if norm == "rms" else means, roots


@pytest.mark.parametrize("fmt", NAMES)
@pytest.mark.parametrize("norm", ["layer", "rms", "group", "batch"])
def test_statistics(isa_library, norm, fmt):
    """The result is that of rm_normalize, and so is NaN in all three."""
    rng = np.random.default_rng(5)
    for which in ("plain", "far", "integers", "small", "constant"):
        for shape, eps in (((2, 4, 5), 1e-5), ((3, 2, 1), 0.25), ((2, 2, 35), 1e-5)):
            x = data(rng, fmt, shape, which)
            w = rng.standard_normal(shape[2] if norm in ("layer", "rms") else shape[1]).astype(x.dtype)
            y, mean, root = statistics(isa_library, norm, fmt, x, eps, w)
            assert (y == results(isa_library, norm, fmt, x, w, np.zeros_like(w), x, eps)[0]).all()
            means, roots = expected_statistics(norm, fmt, x, eps)
            assert root.tolist() == roots and (mean is None or mean.tolist() == means)
    x = np.array([[[1.0, np.nan], [np.inf, 1.0], [2.0, 2.0], [3.0, 1.0]]]).astype(dtype_of(fmt))
    y, mean, root = statistics(isa_library, "layer", fmt, x, 0.0)
    assert (root[:3] == CANONICAL_NAN[fmt]).all() and (mean[:3] == CANONICAL_NAN[fmt]).all()
    assert [root[3]] == expected_statistics("layer", fmt, x[:, 3:], 0.0)[1]


def beside_midpoints(fmt):
    """Sets whose means are midpoints, or beside them by what no sum of the format's numbers shows; and eps by which roots are."""
    dtype, bits = dtype_of(fmt), {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}[fmt]
    least = {"f16": -24, "bf16": -133, "f32": -149, "f64": -1074}[fmt]
    unit = 2.0 ** (1 - bits)
    rows = [[1.0 + k * unit, 1.0 + (k + 1) * unit, s * 2.0**least, 0.0] for k in (0, 1, 6) for s in (-1, 0, 1)]
    roots = [1 + (k + 0.5) * unit for k in (0, 1, 6)] if fmt != "f64" else []
    near = [float(1 / mpmath.mpf(r) ** 2) for r in roots]
    return np.array(rows, np.float64).astype(dtype)[None], [
        e for v in near for e in (np.nextafter(v, 0), v, np.nextafter(v, 2))
    ]


@pytest.mark.parametrize("fmt", NAMES)
def test_statistics_beside_midpoints(isa_library, fmt):
    x, epsilons = beside_midpoints(fmt)
    y, mean, _ = statistics(isa_library, "layer", fmt, x, 1e-5)
    assert mean.tolist() == expected_statistics("layer", fmt, x, 1e-5)[0]
    ones = np.ones((1, 1, 3), dtype_of(fmt))
    found = [statistics(isa_library, "layer", fmt, ones, eps)[2].tolist() for eps in epsilons]
    assert found == [expected_statistics("layer", fmt, ones, eps)[1] for eps in epsilons]
    # The control: a mean of binary64, rounded again, is another number somewhere.
    wide = x.astype(np.float64).mean(2).astype(x.dtype)
    assert (wide.view(kind(fmt)) != mean.reshape(wide.shape)).any() or fmt == "f16"  # whose sums are exact in binary64


def test_statistics_arguments(isa_library):
    x, out, root = np.ones((2, 3, 4), "f4"), np.full((2, 3, 4), 7, "f4"), np.full(6, 7, "f4")
    (sets, sx, _), _ = geometry("layer", x)

    def call(mean=None, to=None, centered=1, eps=1e-5, y=out):
        sets.centered = centered
        given = 2, ctypes.byref(sets), pointer(x), sx, None, None, None, None, ctypes.c_double(eps), pointer(y), sx
        return isa_library.rm_normalize_with_statistics(*given, pointer(mean), pointer(to))

    assert call(root, centered=0) == status(10, 12)
    for bad in (x, out):
        assert call(bad) == status(OVERLAP, 12) and call(None, bad) == status(OVERLAP, 13)
    assert call(root, root) == status(OVERLAP, 13)
    assert call(eps=-np.inf) == call(eps=np.nan) == status(10, 9)
    assert call(y=None) == status(NULL, 10)
    assert (out == 7).all() and (root == 7).all()
    assert call() == call(None, root) == OK


def test_ties(isa_library):
    """x/sqrt(mean of squares) w + b is rational here, and a midpoint."""
    x = np.array([[[4.0, 12.0, 3.0, 84.0, 0.0]]], "f4")  # the squares add up to 85^2: eps makes the root 40
    w = np.full(5, 10.0, "f4")
    b = np.array([2.0**24, 2.0**24 + 2, -(2.0**24), 2.0**25, 1.0], "f4")
    got = results(isa_library, "rms", "f32", x, w, b, x, 1600 - 85**2 / 5)
    exact = x[0, 0].astype("f8") * w / 40 + b
    assert (got[0][0, 0].view("f4") == exact.astype("f4")).all() and (exact != exact.astype("f4")).sum() == 4


@pytest.mark.parametrize("fmt", NAMES)
def test_weights_that_cancel(isa_library, fmt):
    """The gradient by a weight is exactly 0, or a midpoint, where sets of one irrational root cancel or add up to a rational set's; the other
    roots differ, so that no digits show it: sums of up to four roots, in turns."""
    dtype = dtype_of(fmt)
    sets = [(1.0, -2.0, 4.0), (0.0, 1.0, 5.0), (3.0, 3.5, -1.0)]
    x = np.array([[v for v in sets for _ in range(2)] + sets]).astype(dtype)
    g = np.array([[(s, 2 * s, -s) for _ in sets for s in (1.0, -2.0)] + [(1.0, 2.0, -1.0)] * 3]).astype(dtype)
    (_, _, dw) = results(isa_library, "layer", fmt, x, np.ones(3, dtype), np.zeros(3, dtype), g, 1e-3)
    assert dw.tolist() == [0, 0, 0]
    many = np.random.default_rng(1).standard_normal((1, 9, 3)).astype(dtype)
    many = np.concatenate([many, -many], axis=1)  # nine roots
    w, b = np.ones(3, dtype), np.zeros(3, dtype)
    assert results(isa_library, "layer", fmt, many, w, b, np.ones_like(many), 1e-5)[2].tolist() == [0, 0, 0]
    x = np.concatenate([x, np.array([[(0.0, 3.0, 0.0)]], dtype)], axis=1)  # its root, with eps, is sqrt(18 + 9 eps) = 9
    g = np.concatenate([g, np.array([[(5.0, 5.0, 5.0)]], dtype)], axis=1)
    w, b = np.ones(3, dtype), np.zeros(3, dtype)
    (_, _, dw) = results(isa_library, "layer", fmt, x, w, b, g, 7.0)
    assert dw.tolist() == expected("layer", fmt, x, w, b, g, 7.0)[2].tolist()


@pytest.mark.parametrize("fmt", NAMES)
@pytest.mark.parametrize("norm", ["layer", "rms"])
def test_weights_of_square_ratios(isa_library, norm, fmt):
    """Roots of different squares in the ratio of squares cancel, or add up to a midpoint beside rational roots: more classes than are kept at once."""
    dtype, rng = dtype_of(fmt), np.random.default_rng(5)
    unit = 2.0 ** (1 - {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}[fmt])
    whole = {"layer": [0, 0, 4, 4], "rms": [1, 1, 3, 5]}[norm]  # deviations -2, -2, 2, 2 over 2; roots 3
    third = {"layer": [1, 1, 5, 5], "rms": [2, 2, 6, 10]}[norm]
    for round_ in range(4):
        rows, gs = [], []
        for _ in range(6):
            base = rng.integers(-4, 5, 4)
            base[0] += base.std() == 0
            g = rng.integers(-3, 4, 4)
            for scale, factor in ((1, 1), (2, 2), (-3, 1), (6, -2)) if norm == "rms" else ((1, 3), (2, -1), (-3, 1), (5, -1)):
                rows.append(base * scale + (0 if norm == "rms" else rng.integers(-3, 4)))
                gs.append(g * factor)
        assert sum(np.sign(s) * f for s, f in ((1, 1), (2, 2), (-3, 1), (6, -2))) == 0
        order = rng.permutation(len(rows))
        hairs = np.array([1, (round_ + 0.5) * unit]) * (
            3 if norm == "rms" else -1
        )  # the first weight's gradient is their sum, over that
        x = np.array([[*(rows[k] for k in order), whole, third]]).astype(dtype)
        g = np.array([[*(gs[k] for k in order), [hairs[0]] * 4, [hairs[1]] * 4]]).astype(dtype)
        want = [rational(v) for v in by_classes(norm, x, g, 0.0)]
        assert None not in want and abs(want[0]) == 1 + (round_ + Fraction(1, 2)) * Fraction(unit)
        assert rounded(want[0] * Fraction(2**200 + 1, 2**200), dtype) != rounded(
            want[0] * Fraction(2**200 - 1, 2**200), dtype
        )
        dw = results(isa_library, norm, fmt, x, np.ones(4, dtype), np.zeros(4, dtype), g, 0.0)[2]
        assert dw.tolist() == [rounded(v, dtype) for v in want]
        hair = np.array([[[-(2.0**-120), 0, 0, 0]]]).astype(dtype)  # the control: an irrational part decides
        if fmt != "f16":  # has no such numbers
            odd = np.array([[[1, 2, 0, 5]]]).astype(dtype)
            for sign in (1, -1):
                y, h = np.concatenate([x, odd], axis=1), np.concatenate([g, sign * hair], axis=1)
                assert rational(by_classes(norm, y, h, 0.0)[0]) is None
                dw = results(isa_library, norm, fmt, y, np.ones(4, dtype), np.zeros(4, dtype), h, 0.0)[2]
                side = sign if norm == "layer" else -sign  # the deviation of 1 is -1, or 1
                assert dw[0] == rounded(want[0] + side * Fraction(1, 2**120), dtype)


@pytest.mark.parametrize("fmt", NAMES)
def test_weights_of_square_ratios_with_eps(isa_library, fmt):
    """The same where eps makes squares of one class: small sets whose squares, with 1/2, are some number times squares."""
    dtype, found = dtype_of(fmt), {}
    for row in itertools.product(range(5), repeat=3):
        for k, part in by_classes("layer", np.array(row, dtype)[None, None], np.ones((1, 1, 3)), 0.5)[0].items():
            if part:
                found.setdefault(k, {})[abs(part)] = (row, part)
    rows, gs = [], []
    for (first, a), (second, b) in (list(v.values())[:2] for v in found.values() if len(v) > 1):
        ratio = a / b  # g_1 a + g_2 b = 0
        g1, g2 = ratio.denominator, -ratio.numerator
        if max(abs(g1), abs(g2)) < 128:
            rows += [first, second]
            gs += [(g1, 0, 0), (g2, 0, 0)]
    assert len(rows) > 10
    x, g = np.array([rows]).astype(dtype), np.array([gs]).astype(dtype)
    assert [rational(v) for v in by_classes("layer", x, g, 0.5)] == [0, 0, 0]
    w, b = np.ones(3, dtype), np.zeros(3, dtype)
    assert results(isa_library, "layer", fmt, x, w, b, g, 0.5)[2].tolist() == [0, 0, 0]
    g[0, 0, 0] += 1  # the control
    got = results(isa_library, "layer", fmt, x, w, b, g, 0.5)[2].tolist()
    assert got == expected("layer", fmt, x, w, b, g, 0.5)[2].tolist() and got[0] != 0


def test_special_sets(isa_library):
    for fmt in NAMES:
        nan = CANONICAL_NAN[fmt]
        x = np.array([[[1.0, 2.0, 4.0], [1.0, np.nan, 2.0], [1.0, np.inf, 2.0], [3.0, 3.0, 3.0]]]).astype(dtype_of(fmt))
        w, b = np.ones(3, x.dtype), np.zeros(3, x.dtype)
        y, dx, _ = results(isa_library, "layer", fmt, x, w, b, x, 0.0)
        assert (y[0, 1:] == nan).all() and (dx[0, 1:] == nan).all() and (y[0, 0] != nan).all()
        y, _, _ = results(isa_library, "layer", fmt, x, w, b, x, 1e-5)
        assert (y[0, 3] == 0).all()
        w[1] = np.inf
        y, _, _ = results(isa_library, "layer", fmt, x, w, b, x, 1e-5)
        assert y[0, 3, 1] == nan and y[0, 0, 0] != nan


def test_given_statistics(isa_library):
    rng = np.random.default_rng(9)
    for fmt in NAMES:
        x, g = (rng.standard_normal((3, 2, 4)).astype(dtype_of(fmt)) for _ in range(2))
        mean, variance = rng.standard_normal(2).astype(x.dtype), np.array([0.5, 2.0], x.dtype)
        (sets, sx, sw), _ = geometry("batch", x)
        y, dx, dw = np.empty(x.shape, kind(fmt)), np.empty(x.shape, kind(fmt)), np.empty(2, kind(fmt))
        f, e, s = NAMES.index(fmt), ctypes.c_double(1e-3), ctypes.byref(sets)
        given = (pointer(mean), sw, pointer(variance), sw)
        none = (None, None)
        assert isa_library.rm_normalize(f, s, pointer(x), sx, *none, *none, *given, e, pointer(y), sx) == OK
        assert (
            isa_library.rm_normalize_backward(f, s, pointer(g), sx, pointer(x), sx, *none, *given, e, pointer(dx), sx) == OK
        )
        assert (
            isa_library.rm_normalize_backward_weight(f, s, pointer(g), sx, pointer(x), sx, *given, e, pointer(dw), sw) == OK
        )
        with mpmath.workprec(1400):
            for c in range(2):
                m, root = reals(mean)[c], mpmath.sqrt(reals(variance)[c] + mpmath.mpf(1e-3))
                xs, gs = reals(x[:, c]), reals(g[:, c])
                assert y[:, c].ravel().tolist() == [rounded_recognised((v - m) / root, dtype_of(fmt)) for v in xs]
                assert dx[:, c].ravel().tolist() == [rounded_recognised(v / root, dtype_of(fmt)) for v in gs]
                assert int(dw[c]) == rounded_recognised(
                    mpmath.fsum(a * (v - m) for a, v in zip(gs, xs, strict=True)) / root, dtype_of(fmt)
                )


def test_given_statistics_of_infinite_elements(isa_library):
    """The gradient by x is g w/sqrt(v + eps), whatever x is."""
    for fmt in NAMES:
        x, g = (
            np.array([[[np.inf]], [[-np.inf]], [[1.0]]]).astype(dtype_of(fmt)),
            np.array([[[3.0]], [[5.0]], [[-7.0]]]).astype(dtype_of(fmt)),
        )
        mean, variance = np.zeros(1, x.dtype), np.ones(1, x.dtype)
        (sets, sx, sw), _ = geometry("batch", x)
        dx, none, given = np.empty(x.shape, kind(fmt)), (None, None), (pointer(mean), sw, pointer(variance), sw)
        f, e, s = NAMES.index(fmt), ctypes.c_double(2.0), ctypes.byref(sets)
        assert (
            isa_library.rm_normalize_backward(f, s, pointer(g), sx, pointer(x), sx, *none, *given, e, pointer(dx), sx) == OK
        )
        with mpmath.workprec(1400):
            assert dx.ravel().tolist() == [rounded_recognised(v / mpmath.sqrt(3), dtype_of(fmt)) for v in reals(g)]


def test_bad_arguments(isa_library):
    x = np.ones((2, 3, 4), "f4")
    out = np.full((2, 3, 4), 7, "f4")
    (sets, sx, sw), _ = geometry("layer", x)
    none, eps = (None, None), ctypes.c_double(0.1)

    def call(*, base=x, strides=sx, s=sets, e=eps, to=out, mean=none):
        a = None if base is None else pointer(base)
        o = None if to is None else pointer(to)
        return isa_library.rm_normalize(2, ctypes.byref(s), a, strides, *none, *none, *mean, *none, e, o, sx)

    assert call(base=None) == status(NULL, 3) and call(strides=None) == status(NULL, 4) and call(to=None) == status(NULL, 14)
    assert call(mean=(pointer(x), sx)) == status(NULL, 11)
    assert call(s=Sets(1, (-1, 1), 1, 1)) == status(SIZE, 2)
    assert call(e=ctypes.c_double(np.inf)) == status(10, 13) and call(e=ctypes.c_double(np.nan)) == status(10, 13)
    assert call(base=out, strides=FOUR(48, 16, 0, 0)) == status(OVERLAP, 14)
    assert (out == 7).all()
