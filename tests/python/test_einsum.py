"""einsum, tensordot, vdot, vecdot, matvec, vecmat against sums of fractions over every assignment of the labels."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from exact_oracle import bits, rounded
from numpy_dtypes import DTYPES

import repmath

RNG = np.random.default_rng(60)


def contraction(terms, out, arrays, dtype):
    """The rounded exact sums of products as an array. terms: a string an operand; an axis of length 1 repeats."""
    sizes = {}
    for term, x in zip(terms, arrays, strict=True):
        for label, n in zip(term, x.shape, strict=True):
            sizes[label] = n if sizes.get(label, 1) == 1 else sizes[label]
    names = [*out, *(label for label in sizes if label not in out)]
    totals = {}
    for place in itertools.product(*(range(sizes[label]) for label in names)):
        at = dict(zip(names, place, strict=True))
        product = Fraction(1)
        for term, x in zip(terms, arrays, strict=True):
            value = x[tuple(at[label] if n > 1 else 0 for label, n in zip(term, x.shape, strict=True))]
            product *= int(value) if x.dtype.kind in "bui" else Fraction(float(value))
        key = place[: len(out)]
        totals[key] = totals.get(key, Fraction(0)) + product
    result = np.zeros([sizes[label] for label in out], dtype)
    codes = result.view(f"u{dtype.itemsize}")
    for key, total in totals.items():
        codes[key] = rounded(total, dtype)
    return result


def left_to_right(terms, out, arrays, dtype):
    value, term = arrays[0], terms[0]
    if len(arrays) == 1:
        return contraction([term], out, [value], dtype)
    for i in range(1, len(arrays)):
        later = "".join(terms[i + 1 :])
        names = dict.fromkeys(term + terms[i])
        kept = out if i == len(arrays) - 1 else "".join(label for label in names if label in out + later)
        value = contraction([term, terms[i]], kept, [value, arrays[i]], dtype)
        term = kept
    return value


def random_case(count, broadcast, spread):
    sizes = {label: int(RNG.choice([0, 1, 2, 3, 4], p=[0.03, 0.12, 0.3, 0.35, 0.2])) for label in "abcde"}
    terms, arrays = [], []
    for _ in range(count):
        term = "".join(RNG.choice(list(sizes), RNG.integers(0, 4)))
        shape = [sizes[label] for label in term]
        if broadcast:
            narrow = {label for label in term if RNG.random() < 0.3 and sizes[label]}
            shape = [1 if label in narrow else sizes[label] for label in term]
        terms.append(term)
        arrays.append(RNG.standard_normal(shape) * 2.0 ** RNG.integers(-spread, spread + 1, shape))
    present = sorted(set("".join(terms)))
    out = "".join(RNG.permutation([label for label in present if RNG.random() < 0.5])) if present else ""
    return terms, out, arrays


def same(got, want):
    assert np.shape(got) == want.shape and got.dtype == want.dtype
    assert np.array_equal(bits(np.ravel(got)), bits(np.ravel(want)))


@pytest.mark.parametrize("count", [1, 2, 2, 2, 3, 4])
@pytest.mark.parametrize("broadcast", [False, True])
def test_random_subscripts(count, broadcast):
    for _ in range(60):
        operand, result = (DTYPES[RNG.integers(len(DTYPES))] for _ in range(2))
        narrow = np.dtype("f2") in (operand, result)
        terms, out, arrays = random_case(count, broadcast, 1 if narrow else 20)  # no overflow
        arrays = [x.astype(operand) for x in arrays]
        got = repmath.einsum(",".join(terms) + "->" + out, *arrays, dtype=result)
        same(got, left_to_right(terms, out, arrays, result))


def test_subscripts_are_those_of_numpy():
    """Small integers: NumPy's sums are exact as well."""
    a, b, c = (RNG.integers(-5, 6, shape).astype("f8") for shape in ((3, 4), (4, 5), (2, 3, 3)))
    for subscripts, operands in (
        ("ij,jk", (a, b)),
        ("ji", (a,)),
        ("ba,bc", (a, a)),
        ("i...,...", (a, a[0])),
        ("...ij->...ji", (c,)),
        ("...ii->...i", (c,)),
        ("...ii", (c,)),
        ("bij,...jk->b...ik", (c, a)),
        (" i j , j k -> k i ", (a, b)),
        ("ij,ij,ij->", (a, a, a)),
        ("...,...->...", (c, c[0])),
        (",->", (np.float64(3), np.float64(4))),
        ("i,->i", (a[0], np.float64(4))),
    ):
        got, want = repmath.einsum(subscripts, *operands), np.einsum(subscripts, *operands)
        assert np.shape(got) == np.shape(want) and np.array_equal(got, want), subscripts
    same(repmath.einsum(a, [0, 1], b, [1, 2], [2, 0]), np.einsum(a, [0, 1], b, [1, 2], [2, 0]) + 0)
    same(repmath.einsum(a, [7, 60], b, [60, 2]), (a @ b).T + 0)
    same(repmath.einsum(c, [Ellipsis, 1], [1, Ellipsis]), np.moveaxis(c, -1, 0) + 0)


def test_one_rounding_where_one_operand_alone_has_a_label():
    """Terms that cancel only before anything is rounded: the sum over l of a alone would lose the small one."""
    a = np.array([[1e16, 1.0, -1e16]])
    b = np.array([3.0])
    assert repmath.einsum("kl,k->", a, b) == 3.0 and repmath.einsum("k,kl->", b, a) == 3.0
    third = np.float32(1) / np.float32(3)
    x = np.array([[third, 2.0**-30]], "f4")
    got = repmath.einsum("kl,k->", x, x[0, :1])
    assert int(bits(got)) == rounded(Fraction(float(third)) * (Fraction(float(third)) + Fraction(1, 2**30)), got.dtype)


def test_integers_and_special_values():
    big = np.array([2**62, 1, -(2**62)])
    assert repmath.einsum("i,i->", big, np.ones(3, int)) == 1.0
    same(repmath.einsum("i,j->ij", big, big), contraction(["i", "j"], "ij", [big, big], np.dtype("f8")))
    inf, nan = np.inf, np.nan
    got = repmath.einsum("ij,j->i", np.array([[inf, 1], [inf, -inf], [nan, 1], [0.0, -0.0]]), np.ones(2))
    assert got[0] == inf and np.isnan(got[1:3]).all() and not np.signbit(got[3])
    assert np.isnan(repmath.einsum("i,i->", [0.0], [inf]))
    assert repmath.einsum("i->", np.array([1e308, 1e308, -1e308])) == 1e308
    assert repmath.einsum("ij,jk->ik", np.zeros((2, 0)), np.zeros((0, 3))).tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.name)
def test_sums_of_one_term(dtype):
    """Elementwise products, transposes and diagonals: an exact zero is +0, a product too small for the format keeps its sign."""
    tiny = float(np.finfo(dtype).smallest_subnormal) if dtype.kind == "f" else 2.0**-133
    x, y = np.array([[0.0, -0.0, 3.0, -tiny], [-2.0, tiny, -tiny, 1.5]]), np.array([-1.0, 5.0, -0.0, tiny])
    x, y = x.astype(dtype), y.astype(dtype)
    same(repmath.einsum("ij,j->ij", x, y), contraction(["ij", "j"], "ij", [x, y], dtype))
    got = repmath.einsum("ij,ij->ji", x, x[:, ::-1])
    want = [repmath.sum(repmath.vecdot(x[i, j : j + 1], x[i, 3 - j : 4 - j])) for j in range(4) for i in range(2)]
    assert np.array_equal(got.ravel(), np.array(want, dtype))
    assert not np.signbit(repmath.einsum("ij->ji", x)[:2, 0]).any()
    for result in DTYPES:
        same(repmath.einsum("ij->ji", x, dtype=result), contraction(["ij"], "ji", [x], result))
    code = int(bits(np.array(np.nan, dtype))) & ~(1 << (8 * dtype.itemsize - 1))
    assert int(bits(repmath.einsum("->", -np.array(np.nan, dtype)))) == code


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_and_layouts(threads):
    before = repmath.get_num_threads()
    repmath.set_num_threads(threads)
    try:
        a, b = RNG.standard_normal((5, 40, 30)), RNG.standard_normal((30, 5, 50))
        want = np.stack([repmath.matmul(a[i], b[:, i]) for i in range(5)])
        same(repmath.einsum("bij,jbk->bik", a, b), want)
        same(repmath.einsum("bij,jbk->bik", np.asfortranarray(a), b[:, :, ::-1][:, :, ::-1]), want)
        same(repmath.einsum("jib,jbk->kbi", a.transpose(2, 1, 0), b), want.transpose(2, 0, 1).copy())
    finally:
        repmath.set_num_threads(before)


def test_paths():
    x = [RNG.standard_normal(shape).astype("f4") for shape in ((4, 5), (5, 6), (6, 3), (3, 4))]
    text = "ab,bc,cd,de->ae"
    pair = repmath.einsum
    want = pair("ac,ce->ae", pair("ab,bc->ac", x[0], x[1]), pair("cd,de->ce", x[2], x[3]))
    for path in ([(0, 1), (0, 1), (0, 1)], ["einsum_path", (2, 3), (0, 1), (0, 1)], [(0, 1), (0, 1)]):
        same(repmath.einsum(text, *x, optimize=path), want)
    in_order = pair("ad,de->ae", pair("ac,cd->ad", pair("ab,bc->ac", x[0], x[1]), x[2]), x[3])
    for path in (False, None, [], [(0, 1, 2, 3)], [(0, 1), (0, 2), (0, 1)]):
        got = repmath.einsum(text, *x, optimize=path)
        same(got, in_order)
    for bad in ([(0, 4)], [(0, 0)], [()], [(0, 1), (0, 3)], [(-1, 0)]):
        with pytest.raises(ValueError, match="path in optimize"):
            repmath.einsum(text, *x, optimize=bad)


@pytest.mark.parametrize("name", [True, "greedy", "optimal"])
def test_paths_of_opt_einsum(name):
    opt_einsum = pytest.importorskip("opt_einsum")
    x = [RNG.standard_normal(shape) for shape in ((4, 50), (50, 6), (6, 3), (1, 3))]
    text = "ab,bc,cd,ed->ae"
    path, _ = opt_einsum.contract_path(text, *x, optimize="greedy" if name is True else name)
    same(repmath.einsum(text, *x, optimize=name), repmath.einsum(text, *x, optimize=path))


def test_tensordot():
    a, b = RNG.standard_normal((3, 4, 5)).astype("f4"), RNG.standard_normal((5, 4, 2)).astype("f4")
    for axes, subscripts in (
        (1, ("abc", "cde", "abde")),
        (0, ("abc", "def", "abcdef")),
        ((2, 0), ("abc", "cde", "abde")),
        (([1, 2], [1, 0]), ("abc", "cbd", "ad")),
        (((-1, 1), (0, -2)), ("abc", "cbd", "ad")),
        (([], []), ("abc", "def", "abcdef")),
    ):
        same(repmath.tensordot(a, b, axes), contraction(subscripts[:2], subscripts[2], [a, b], np.dtype("f4")))
    same(repmath.tensordot(b, b.copy(), axes=3), contraction(["abc", "abc"], "", [b, b], np.dtype("f4")))
    for bad in (2, 4, -1, ([0], [0, 1]), ([1], [0]), ([0, 0], [0, 0]), ([5], [0])):
        with pytest.raises(ValueError):
            repmath.tensordot(a, b, axes=bad)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.name)
def test_vectors_and_matrices(dtype):
    m, v = RNG.standard_normal((2, 3, 4)).astype(dtype), RNG.standard_normal((2, 4)).astype(dtype)
    same(repmath.matvec(m, v), contraction(["bij", "bj"], "bi", [m, v], dtype))
    same(repmath.matvec(m, v[0]), contraction(["bij", "j"], "bi", [m, v[0]], dtype))
    same(repmath.vecmat(v, m.transpose(0, 2, 1)), contraction(["bj", "bij"], "bi", [v, m], dtype))
    same(repmath.vecdot(m, v[:, None]), contraction(["bij", "bj"], "bi", [m, v], dtype))
    same(repmath.vecdot(m, m[:, :1], axis=0, dtype="f8"), contraction(["bij", "bkj"], "ij", [m, m[:, :1]], np.dtype("f8")))
    same(repmath.vdot(m, m[::-1]), contraction(["bij", "bij"], "", [m, m[::-1]], dtype))
    out = np.zeros((2, 3))
    for call in (lambda: repmath.matvec(m, v, out=out), lambda: repmath.einsum("bij,bj->bi", m, v, out=out)):
        out[...] = 7
        assert call() is out and np.array_equal(out, repmath.matvec(m, v).astype("f8"))


def test_errors_write_nothing():
    a = np.ones((3, 4))
    out = np.full((3, 3), 7.0)
    for subscripts, operands, match in (
        ("ij,jk->ik", (a, a), "operand 1 has length 3 for label 'j'"),
        ("ij->ik", (a,), "output label 'k'"),
        ("ij->ii", (a,), "output label 'i'"),
        ("ii->i", (a,), "lengths 3 and 4 for the one label"),
        ("ij,jk", (a,), "describe 2 operands"),
        ("i", (a,), "does not match operand 0"),
        ("ijk", (a,), "does not match operand 0"),
        ("i1->i", (a,), "may hold letters"),
        ("i..j->i", (a,), "may hold letters"),
        ("i...->i", (a,), "lacks the ellipsis"),
        ("ij->j", (a,), "out has shape"),
        ("", (), "there is no operand"),
    ):
        with pytest.raises(ValueError, match=match):
            repmath.einsum(subscripts, *operands, out=out)
    with pytest.raises(TypeError, match="operand 1 has dtype complex128"):
        repmath.einsum("i,i", a[0], a[0] * 1j)
    with pytest.raises(ValueError, match="subscripts as a string"):
        repmath.einsum(a, ["x"], [0])
    with pytest.raises(TypeError, match="dtype must be one of"):
        repmath.einsum("ij", a, dtype=int)
    for call, match in (
        (lambda: repmath.vdot([1.0], [1.0, 2.0]), "vdot: a has 1"),
        (lambda: repmath.vecdot([1.0], [1.0, 2.0]), "vecdot: x1 has vectors of 1"),
        (lambda: repmath.vecdot(1.0, [1.0, 2.0]), "x1 is a scalar"),
        (lambda: repmath.matvec([1.0], [1.0]), "matvec: x1"),
        (lambda: repmath.vecmat([1.0], [1.0]), "vecmat: x1"),
        (lambda: repmath.matvec(a, [1.0]), "the last axis of x1 has 4 elements"),
    ):
        with pytest.raises(ValueError, match=match):
            call()
    assert (out == 7).all()
