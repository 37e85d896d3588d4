"""Random calls whose paths depend on layout or on special values: sums over any axes of any view, products with an infinite old element, rows
with one dominant element, norms of sets that are constant or not finite, weight gradients of norms whose roots are multiples of each other; compared
with exact numbers."""

import math
import warnings
from fractions import Fraction

import elementwise_library
import gemm_library
import normalization_library
import numpy as np
import pytest
import softmax_library
from attack import numbers
from exact_oracle import CANONICAL_NAN, FORMATS, bits, exact_bits, rounded
from logit_relations import logits, polynomial, run, times
from real_oracle import precise
from reductions_library import Reductions

import repmath

NAMES = list(FORMATS)


@pytest.fixture(scope="module")
def libraries():
    found = elementwise_library.libraries()
    return [found[name].library for name in found]


def spoilt(rng, x):
    """Random numbers with some special ones, or many."""
    share = float(rng.choice([0.0, 0.0, 0.02, 0.3]))
    special = rng.choice([np.inf, -np.inf, np.nan, -0.0, 0.0], x.shape, p=[0.3, 0.3, 0.1, 0.2, 0.1])
    return np.where(rng.random(x.shape) < share, special, x).astype(x.dtype)


def view(rng, x):
    """An array of this shape in any layout: transposed, every other element, backwards, repeated, not aligned."""
    order = rng.permutation(x.ndim)
    x = np.array(x.transpose(order), order="C").transpose(np.argsort(order))
    for i in range(x.ndim):
        what = rng.random()
        if what < 0.15:
            x = np.flip(np.ascontiguousarray(np.flip(x, i)), i)
        elif what < 0.3:
            wide = np.full((*x.shape[:i], 2 * x.shape[i], *x.shape[i + 1 :]), 7, x.dtype)
            at = (slice(None),) * i + (slice(None, None, 2),)
            wide[at] = x
            x = wide[at]
        elif what < 0.35 and x.shape[i]:
            x = np.broadcast_to(np.take(x, [0], i), x.shape)
    if rng.random() < 0.1 and x.size:
        room = np.zeros(x.nbytes + 1, np.uint8)
        odd = room[1:].view(x.dtype).reshape(x.shape)
        odd[...] = x
        x = odd
    return x


def expected_warnings(terms, code, fmt):
    """The warnings of a sum of these; a NaN or an infinity among them causes none by itself."""
    if any(np.isnan(terms)):
        return set()
    if code == CANONICAL_NAN[fmt]:
        return {"invalid"}
    infinite = np.isinf(np.array(code, FORMATS[fmt][1]).view(FORMATS[fmt][0]).astype(float))
    return {"overflow"} if infinite and np.isfinite(terms).all() else set()


def test_sums_of_views(attack):
    """Compares every element, and the warnings."""
    paths, naive = set(), 0
    for rng in attack.rounds(120):
        fmt, to = (str(v) for v in rng.choice(NAMES, 2))
        to = fmt if rng.random() < 0.5 else to
        share = [0.03, 0.1, 0.1, 0.2, 0.2, 0.12, 0.1, 0.08, 0.07]
        shape = tuple(int(v) for v in rng.choice([0, 1, 1, 2, 3, 5, 17, 40, 150], rng.integers(0, 5), p=share))
        if np.prod(shape) > 8000:
            continue
        x = view(rng, spoilt(rng, numbers(rng, fmt, shape)))
        count = int(rng.integers(0, x.ndim + 1))
        axes = tuple(int(v) for v in rng.permutation(x.ndim)[:count]) if x.ndim and rng.random() < 0.8 else None
        keep, dtype = bool(rng.random() < 0.3), FORMATS[to][0]
        with np.errstate(all="warn"), warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            got = np.asarray(repmath.sum(x, axis=axes, dtype=None if to == fmt else dtype, keepdims=keep))
        summed = tuple(range(x.ndim)) if axes is None else axes
        assert got.dtype == dtype and got.shape == np.sum(np.zeros(x.shape), axis=summed, keepdims=keep).shape
        others = [i for i in range(x.ndim) if i not in summed]
        lines = (
            x.transpose(*others, *summed)
            .reshape(*(x.shape[i] for i in others), math.prod(x.shape[i] for i in summed))
            .astype(float)
        )
        found, wanted = got.reshape(lines.shape[:-1]), set()
        for i in np.ndindex(found.shape):
            code = exact_bits(lines[i], to)
            wanted |= expected_warnings(lines[i], code, to)
            assert int(bits(found[i])) == code, (fmt, to, x.shape, x.strides, axes, i)
        raised = {
            name for name in ("overflow", "invalid", "divide", "underflow") if any(name in str(w.message) for w in warned)
        }
        assert raised == wanted, (fmt, to, x.shape, x.strides, axes, raised, wanted)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            naive += int((bits(np.sum(x, axis=summed, dtype=dtype, keepdims=keep)) != bits(got)).any())
        if others and summed and x.size:
            place = np.empty((2, *found.shape), dtype)
            to_ = view(rng, place[0]) if rng.random() < 0.5 else place[:, ...][1]
            to_ = to_ if to_.flags.writeable else place[0]
            with np.errstate(all="ignore"):
                repmath.sum(x, axis=summed, dtype=dtype, out=to_)
                assert (bits(to_) == bits(found)).all()
            paths.add((fmt, to))
        if x.ndim and x.flags.writeable and others and fmt == to and x.size and len(others) == x.ndim - 1:
            own = np.ascontiguousarray(x)  # the result goes to where terms are
            with np.errstate(all="ignore"):
                repmath.sum(own, axis=summed, out=np.moveaxis(own, summed[0], 0)[0])
            assert (bits(np.moveaxis(own, summed[0], 0)[0]) == bits(found)).all()
    assert len(paths) > 8 and naive > 20  # the control: NumPy's sums differ


def test_products_with_old_elements(attack, libraries):
    for rng in attack.rounds(80):
        lib = Reductions(libraries[int(rng.integers(len(libraries)))])
        fmt = str(rng.choice(NAMES))
        m, n, k = (int(v) for v in rng.choice([1, 2, 3, 7, 16, 33], 3))
        a, b, c = (numbers(rng, fmt, s) for s in ((m, k), (k, n), (m, n)))
        if rng.random() < 0.6:
            c = spoilt(rng, c)
        if rng.random() < 0.4:
            a, b = spoilt(rng, a), spoilt(rng, b)
        if rng.random() < 0.3:  # whole rows and columns of infinities, as masks have them
            c[rng.integers(m)], c[:, rng.integers(n)] = -np.inf, rng.choice([np.inf, -np.inf])
        factors = [1.0, -1.0, 0.0, 0.125, 1 / 3, 1e-300, 1.7e308, 5e-324, np.inf, -np.inf, np.nan]
        share = np.array([6, 3, 2, 3, 3, 1, 1, 1, 1, 1, 1]) / 23
        alpha, beta = (float(v) for v in rng.choice(factors, 2, p=share))
        gemm_library.check(lib, fmt, alpha, a, b, beta, c)


def test_sharp_rows(attack, libraries):
    """An element far above the others, whose differences end in midpoints; some others are far below, equal, or masked."""
    for rng in attack.rounds(40):
        lib = libraries[int(rng.integers(len(libraries)))]
        fmt = str(rng.choice(NAMES))
        dtype, digits = FORMATS[fmt][0], FORMATS[fmt][2] + 1
        n = int(rng.choice([2, 3, 5, 9, 40]))
        top = float(rng.choice([0, 1, 7, 64, 1000, 30000])) + float(rng.integers(0, 16)) * 2.0 ** -int(
            rng.integers(0, digits)
        )
        gap = float(rng.choice([5, 40, 100, 150, 170, 176, 350, 745, 2000, 8192, 9000, 20000]))
        x = top - gap * (1 + rng.integers(0, 3, n)) - rng.integers(0, 4, n) * 2.0 ** -rng.integers(0, digits, n)
        x[rng.integers(n)] = top
        if rng.random() < 0.3:
            x[rng.random(n) < 0.3] = -np.inf
            x[rng.integers(n)] = top
        if rng.random() < 0.2:
            x *= 2.0 ** -int(rng.integers(0, 20))
        x = np.clip(x, -6e4, 6e4, where=np.isfinite(x), out=x)[None].astype(dtype)
        for what in ("log_softmax", "logsumexp", "softmax"):
            got = softmax_library.result(lib, what, fmt, x)[0].tolist()
            assert got == softmax_library.expected(what, fmt, x[0]), (what, fmt, x.tolist())


WIDE = 6000  # bits: sums of products over the whole range of binary64


def expected(*arguments):
    return precise(normalization_library.expected.function, WIDE)(*arguments)


def test_norms_of_special_sets(attack, libraries):
    """Sets that are constant, or have something that is not finite, beside others; what is not finite is NaN in its own set only."""
    for rng in attack.rounds(30):
        lib = libraries[int(rng.integers(len(libraries)))]
        fmt, norm = str(rng.choice(NAMES)), str(rng.choice(["layer", "rms", "group", "batch"]))
        dtype = FORMATS[fmt][0]
        shape = (int(rng.integers(1, 4)), 4, int(rng.choice([1, 2, 3, 8])))
        x, g = (numbers(rng, fmt, shape) for _ in range(2))
        if fmt in ("f32", "bf16", "f64"):
            x, g = (v if np.abs(v.astype(float)).max() < 1e30 else np.sign(v).astype(dtype) for v in (x, g))
        if rng.random() < 0.7:
            x[rng.integers(shape[0]), rng.integers(4)] = x.flat[0]
        if rng.random() < 0.3:
            x[:, :2] = x.flat[0]
        if rng.random() < 0.5:
            g[...] = g.flat[0]
        size = shape[2] if norm in ("layer", "rms") else shape[1]
        w, b = (numbers(rng, fmt, (size,)) for _ in range(2))
        w, b = (np.where(np.abs(v.astype(float)) < 1e30, v, 1).astype(dtype) for v in (w, b))
        eps = float(rng.choice([1e-5, 0.25, 1e-12]))
        want = expected(norm, fmt, x, w, b, g, eps)
        got = normalization_library.results(lib, norm, fmt, x, w, b, g, eps)
        for one, other, what in zip(got, want, ("y", "dx", "dw"), strict=True):
            assert (one == other).all(), (what, norm, fmt, x.tolist(), g.tolist(), w.tolist(), eps)
        _, places = normalization_library.geometry(norm, x)
        bad = list(places.values())[int(rng.integers(len(places)))]
        x[bad[int(rng.integers(len(bad)))][0]] = rng.choice([np.nan, np.inf, -np.inf])
        y, dx, dw = normalization_library.results(lib, norm, fmt, x, w, b, g, eps)
        here = np.zeros(shape, bool)
        for i, _ in bad:
            here[i] = True
        nan = CANONICAL_NAN[fmt]
        assert (y[here] == nan).all() and (dx[here] == nan).all() and (dw[[k for _, k in bad]] == nan).all()
        assert (y[~here] == want[0][~here]).all() and (dx[~here] == want[1][~here]).all()


def test_weight_gradients_by_classes(attack, libraries):
    """Sets in rational ratios: the rational parts of sums of roots are exact."""
    decided = 0
    for rng in attack.rounds(20):
        lib = libraries[int(rng.integers(len(libraries)))]
        fmt, norm = str(rng.choice(NAMES)), str(rng.choice(["layer", "rms"]))
        dtype, rows, gs = FORMATS[fmt][0], [], []
        for _ in range(int(rng.integers(1, 5))):
            base, g = rng.integers(-4, 5, 3), rng.integers(-3, 4, 3)
            base[0] += base.std() == 0
            parts = rng.integers(-3, 4, 4)
            for scale, part in zip((1, 2, -3, 5), parts, strict=True):  # of each row the sign of the scale, times the part
                rows.append(base * scale + (0 if norm == "rms" else rng.integers(-3, 4)))
                gs.append(g * part)
            if rng.random() < 0.8:
                rows.append(base)
                gs.append(-g * int(parts @ [1, 1, -1, 1]))
        x, g = np.array([rows]).astype(dtype), np.array([gs]).astype(dtype)
        want = [normalization_library.rational(v) for v in normalization_library.by_classes(norm, x, g, 0.0)]
        got = normalization_library.results(lib, norm, fmt, x, np.ones(3, dtype), np.zeros(3, dtype), g, 0.0)[2]
        for value, code in zip(want, got.tolist(), strict=True):
            if value is not None:
                decided += 1
                assert code == rounded(value, np.dtype(dtype)), (norm, fmt, x.tolist(), g.tolist())
    assert decided > 10


def test_cross_entropy_relations(attack, libraries):
    """Products of random factors with weights that make their logarithms cancel, or that are 1/8 beside."""
    for rng in attack.rounds(10):
        lib = libraries[int(rng.integers(len(libraries)))]
        fmt = str(rng.choice(NAMES))
        factors = [polynomial(1, *rng.integers(0, 2, rng.integers(1, 4))) for _ in range(3)]
        powers = rng.integers(0, 2, (4, 3))
        rows = [times(*(f for f, k in zip(factors, each, strict=True) for _ in range(k))) for each in powers]
        relation = rng.integers(-3, 4, 4)
        unit = Fraction(int(rng.integers(1, 8)), 8)
        x = logits(rows, unit, rng.integers(-2, 3, 4), np.dtype(FORMATS[fmt][0]))
        weights = [int(v) for v in relation] + [-sum(int(v) for v in column) for column in (relation[:, None] * powers).T]
        x += logits(factors, unit, [0] * 3, np.dtype(FORMATS[fmt][0]))
        parts = [Fraction(1), Fraction(1, 4)]
        total = run(lib, fmt, x, weights, parts, 2)
        assert total == (0, rounded(sum(parts), np.dtype(FORMATS[fmt][0]))), (fmt, rows, weights)
        left = [i for i, row in enumerate(rows + factors) if sum(row.values()) > 1]
        if left:  # the control
            weights[int(rng.choice(left))] += 0.125
            status, code = run(lib, fmt, x, weights, parts, 2)
            assert status == 0 and code != total[1]
