"""index_add, scatter_add, segment_sum, embedding_grad, bincount: the semantics of PyTorch, JAX and NumPy, with exact sums."""

import itertools

import numpy as np
import pytest
from exact_oracle import bits, exact_bits
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy_dtypes import DTYPES

import repmath
from repmath._dtypes import NAMES

RNG = np.random.default_rng(60)


@pytest.fixture(params=DTYPES, ids=lambda d: d.name)
def dtype(request):
    return request.param


def values(shape, dtype, scale=6):
    return (RNG.standard_normal(shape) * 2.0 ** RNG.integers(-scale, scale + 1, shape)).astype(dtype)


def check(got, terms):
    """got: an array; terms: index -> the numbers whose sum it is. Elements without an entry are not looked at."""
    for place, numbers in terms.items():
        assert int(bits(got[place])) == exact_bits(numbers, NAMES[got.dtype]), place


def contributions(pairs):
    found = {}
    for place, number in pairs:
        found.setdefault(place, []).append(number)
    return found


@pytest.mark.parametrize("shape", [(7,), (5, 6), (4, 5, 3), (2, 3, 4, 2)], ids=str)
def test_index_add(dtype, shape):
    x = values(shape, dtype)
    before = x.copy()
    for axis in range(-x.ndim, x.ndim):
        index = RNG.integers(0, shape[axis], 9)
        source = values((*shape[: axis % x.ndim], 9, *shape[axis % x.ndim + 1 :]), dtype)
        got = repmath.index_add(x, index, source, axis=axis)
        assert got.shape == shape and got.dtype == dtype and got.flags.c_contiguous
        moved, s = np.moveaxis(x, axis, 0), np.moveaxis(source, axis, 0)
        terms = contributions(
            ((int(index[i]), *j), s[(i, *j)]) for i in range(9) for j in itertools.product(*map(range, s.shape[1:]))
        )
        check(np.moveaxis(got, axis, 0), {k: [*v, moved[k]] for k, v in terms.items()})
        named = np.isin(np.arange(shape[axis]), index)
        assert np.array_equal(np.moveaxis(got, axis, 0)[~named], moved[~named])
        order = RNG.permutation(9)
        again = repmath.index_add(x, index[order], np.take(source, order, axis), axis)
        assert np.array_equal(bits(again), bits(got))
    assert np.array_equal(x, before)


@pytest.mark.parametrize("shape, index_shape, src_shape", [
    ((7,), (9,), (10,)), ((5, 6), (8, 4), (9, 6)), ((5, 6), (3, 9), (3, 9)), ((4, 5, 3), (4, 5, 3), (4, 6, 3)), ((3, 2, 4), (2, 2, 6), (5, 2, 6)),
])  # fmt: skip
def test_scatter_add(dtype, shape, index_shape, src_shape):
    x, src = values(shape, dtype), values(src_shape, dtype)
    done = 0
    for axis in range(-x.ndim, x.ndim):
        if any(i > s for k, (i, s) in enumerate(zip(index_shape, shape, strict=True)) if k != axis % x.ndim):
            continue
        index = RNG.integers(0, shape[axis], index_shape)
        got = repmath.scatter_add(x, axis, index, src)
        assert got.shape == shape and got.dtype == dtype

        def place(i, axis=axis % x.ndim, index=index):
            return (*i[:axis], int(index[i]), *i[axis + 1 :])

        terms = contributions((place(i), src[i]) for i in itertools.product(*map(range, index_shape)))
        check(got, {k: [*v, x[k]] for k, v in terms.items()})
        rest = np.ones(shape, bool)
        rest[tuple(np.array(list(terms)).T)] = False
        assert np.array_equal(got[rest], x[rest])
        done += 1
    assert done


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_scatter_add_of_whole_slices(dtype, axis):
    """An index that is broadcast along the other axes, beside the same one written out, whose places are found one by one."""
    x, src = values((4, 5, 3), dtype), values((9, 9, 9), dtype)
    axis %= 3
    shape = tuple(8 if k == axis else n for k, n in enumerate(x.shape))
    line = RNG.integers(0, x.shape[axis], 8).reshape([8 if k == axis else 1 for k in range(3)])
    index = np.broadcast_to(line, shape)
    want = repmath.scatter_add(x, axis, index.copy(), src)
    assert np.array_equal(bits(repmath.scatter_add(x, axis, index, src)), bits(want))
    same = x.copy()
    assert repmath.scatter_add(same, axis, index, src, out=same) is same and np.array_equal(bits(same), bits(want))
    with pytest.raises(IndexError, match="index"):
        repmath.scatter_add(x, axis, np.broadcast_to(line + 5, shape), src)


def test_segment_sum(dtype):
    for shape in ((30,), (30, 4), (30, 2, 3), (30, 0)):
        data, ids = values(shape, dtype), RNG.integers(0, 7, 30)
        ids[ids == 3] = 5  # a segment without slices
        for segments in (None, 7, 12):
            got = repmath.segment_sum(data, ids, segments)
            assert got.shape == (segments or ids.max() + 1, *shape[1:]) and got.dtype == dtype
            check(
                got, contributions(((int(k), *j), data[(i, *j)]) for i, k in enumerate(ids) for j in np.ndindex(*shape[1:]))
            )
            empty = ~np.isin(np.arange(len(got)), ids)
            assert empty.any() or segments is None
            assert not bits(got)[empty].any()
    assert repmath.segment_sum(np.zeros((0, 3), dtype), []).shape == (0, 3)
    assert repmath.segment_sum(np.zeros((0, 3), dtype), [], 2).tolist() == [[0] * 3] * 2


@pytest.mark.parametrize("shape", [(), (9,), (3, 5), (2, 3, 2)], ids=str)
@pytest.mark.parametrize("padding", [None, 0, -1])
def test_embedding_grad(dtype, shape, padding):
    index, g = RNG.integers(0, 6, shape), values((*shape, 5), dtype)
    index = np.asarray(index)
    got = repmath.embedding_grad(g, index, 6, padding_idx=padding)
    assert got.shape == (6, 5) and got.dtype == dtype
    terms = contributions(((int(index[i]), j), g[(*i, j)]) for i in np.ndindex(*shape) for j in range(5))
    check(got, {k: v for k, v in terms.items() if padding is None or k[0] != padding % 6})
    rest = ~np.isin(np.arange(6), index)
    if padding is not None:
        rest[padding] = True
    assert not bits(got)[rest].any()


def test_bincount(dtype):
    x, weights = RNG.integers(0, 20, 100), values(100, dtype)
    got = repmath.bincount(x, weights)
    assert got.dtype == dtype and got.shape == (x.max() + 1,)
    check(got, contributions(((int(k),), w) for k, w in zip(x, weights, strict=True)))
    assert repmath.bincount(x, weights, minlength=30).shape == (30,)
    assert np.array_equal(repmath.bincount(x), np.bincount(x)) and repmath.bincount(x).dtype == np.int64
    assert np.array_equal(repmath.bincount(x, minlength=25), np.bincount(x, minlength=25))
    for empty in ([], np.zeros(0, np.int64)):
        assert repmath.bincount(empty).tolist() == [] and repmath.bincount(empty, minlength=2).tolist() == [0, 0]
        assert repmath.bincount(empty, np.zeros(0, dtype), 2).dtype == dtype


def test_bincount_of_integer_weights():
    x = np.array([0, 1, 0, 1, 1, 3])
    weights = np.array([2**63 - 1, 2**53 + 1, -(2**63), 2**53 + 1, 1, True])
    got = repmath.bincount(x, weights)
    assert got.dtype == np.float64 and got.tolist() == [-1.0, float(2**54 + 3), 0.0, 1.0]
    assert repmath.bincount(x, x > 0).tolist() == [0, 3, 0, 1]


def test_as_pytorch_does():
    torch = pytest.importorskip("torch")
    x, src = (RNG.integers(-50, 50, (6, 8)).astype("f4") for _ in range(2))  # exact whatever the order
    for axis in (0, 1, -1):
        index = RNG.integers(0, x.shape[axis], (5, 7))
        want = torch.scatter_add(torch.from_numpy(x), axis, torch.from_numpy(index), torch.from_numpy(src)).numpy()
        assert np.array_equal(repmath.scatter_add(x, axis, index, src), want)
        index = RNG.integers(0, x.shape[axis], x.shape[axis])
        want = torch.index_add(torch.from_numpy(x), axis, torch.from_numpy(index), torch.from_numpy(src)).numpy()
        assert np.array_equal(repmath.index_add(x, index, src, axis), want)
    index, g = RNG.integers(0, 9, (4, 3)), RNG.integers(-50, 50, (4, 3, 5)).astype("f4")
    table = torch.zeros(9, 5, requires_grad=True)
    torch.nn.functional.embedding(torch.from_numpy(index), table, padding_idx=2).backward(torch.from_numpy(g))
    assert np.array_equal(repmath.embedding_grad(g, index, 9, padding_idx=2), table.grad.numpy())


def test_common_formats():
    for a, b in itertools.product(DTYPES, DTYPES):
        x, src, index = values((4, 3), a, 2), values((6, 3), b, 2), RNG.integers(0, 4, 6)
        got = repmath.index_add(x, index, src)
        assert got.dtype == repmath._dtypes.common(a, b)
        terms = contributions(((int(index[i]), j), src[i, j]) for i in range(6) for j in range(3))
        check(got, {k: [*v, x[k]] for k, v in terms.items()})
    assert repmath.index_add([1, 2], [0, 0], [1, 5]).tolist() == [7.0, 2.0]
    assert repmath.segment_sum(np.ones((3, 2), "i1"), [1, 1, 0]).dtype == np.float64


def test_layouts_and_byte_order(dtype):
    x, src, index = values((6, 5), dtype), values((8, 5), dtype), RNG.integers(0, 6, 8)
    want = repmath.index_add(x, index, src)
    swapped = (lambda v: v.astype(v.dtype.newbyteorder(">"))) if dtype.kind == "f" else np.copy
    for f in (np.asfortranarray, lambda v: v[::-1, ::-1].copy()[::-1, ::-1], lambda v: np.repeat(v, 2, 0)[::2], swapped):
        assert np.array_equal(bits(repmath.index_add(f(x), index, f(src))), bits(want))
        assert np.array_equal(bits(repmath.index_add(f(x).T, index, f(src).T, axis=1)), bits(want.T))
    for kind in ("i1", "u1", "i4", "u8", ">i8"):
        assert np.array_equal(bits(repmath.index_add(x, index.astype(kind), src)), bits(want))
    every_other = np.repeat(index, 2)[::2]
    assert np.array_equal(bits(repmath.index_add(x, every_other, src)), bits(want))


def test_out(dtype):
    x, src, index = values((6, 5), dtype), values((8, 5), dtype), RNG.integers(0, 6, 8)
    flat = RNG.integers(0, 6, (8, 5))
    for f, args in ((repmath.index_add, lambda x: (x, index, src)), (repmath.scatter_add, lambda x: (x, 0, flat, src))):
        want, out = f(*args(x)), np.zeros((6, 5), dtype)
        assert f(*args(x), out=out) is out and np.array_equal(out, want)
        wide = np.zeros((6, 10), np.float64)[:, ::2]
        assert f(*args(x), out=wide) is wide and np.array_equal(wide, want)
        same = x.copy()
        assert f(*args(same), out=same) is same and np.array_equal(same, want)
        same = np.asfortranarray(x)
        assert f(*args(same), out=same) is same and np.array_equal(same, want)
        with pytest.raises(ValueError, match="out has shape"):
            f(*args(x), out=np.zeros((5, 6), dtype))
        with pytest.raises(TypeError, match="out has dtype"):
            f(*args(x), out=np.zeros((6, 5), "i2"))
        with pytest.raises(TypeError, match="out must be an ndarray"):
            f(*args(x), out=[1])
        out.flags.writeable = False
        with pytest.raises(ValueError, match="out is read-only"):
            f(*args(x), out=out)
    doubled = values((6, 5), dtype)
    want = repmath.index_add(doubled, np.arange(6), doubled.copy())
    assert np.array_equal(repmath.index_add(doubled, np.arange(6), doubled, out=doubled), want)


def test_out_is_not_written_on_an_error():
    out = np.full((3, 2), 7.0)
    for bad in (3, -1, 2**40):
        for call in (
            lambda bad=bad: repmath.index_add(out, [0, bad], np.ones((2, 2)), out=out),
            lambda bad=bad: repmath.index_add(np.ones((3, 2)), [0, bad], np.ones((2, 2)), out=out),
            lambda bad=bad: repmath.scatter_add(out, 0, [[0, bad]], np.ones((2, 2)), out=out),
        ):
            with pytest.raises(IndexError, match=f"index has {bad}; its values must be from 0 to 2"):
                call()
    assert (out == 7).all()


def test_bad_arguments():
    x, one = np.ones((3, 2)), np.ones((1, 2))
    raises = pytest.raises
    for index in ([0.0], np.array([True]), ["a"], np.zeros(1)):
        with raises(TypeError, match="index has dtype"):
            repmath.index_add(x, index, one)
    with raises(TypeError, match="segment_ids has dtype"):
        repmath.segment_sum(x, [0.0, 1.0, 2.0])
    with raises(TypeError, match="x has dtype complex128"):
        repmath.index_add(x * 1j, [0], one)
    with raises(TypeError, match="source has dtype complex128"):
        repmath.index_add(x, [0], one * 1j)
    with raises(ValueError, match="source has integers beyond"):
        repmath.index_add(x, [0], np.full((1, 2), 2**60 + 1))
    with raises(ValueError, match="x is a scalar"):
        repmath.index_add(1.0, [0], 1.0)
    with raises(ValueError, match="index has shape"):
        repmath.index_add(x, [[0]], one)
    with raises(ValueError, match="source has shape"):
        repmath.index_add(x, [0, 1], one)
    with raises(np.exceptions.AxisError):
        repmath.index_add(x, [0], one, axis=2)
    with raises(IndexError, match="index must be empty"):
        repmath.index_add(np.ones((0, 2)), [0], one)
    with raises(ValueError, match="x is a scalar"):
        repmath.scatter_add(1.0, 0, 0, 1.0)
    with raises(ValueError, match="equally many axes"):
        repmath.scatter_add(x, 0, [0], one)
    with raises(ValueError, match="beyond that of src"):
        repmath.scatter_add(x, 0, [[0, 0, 0]], one)
    with raises(ValueError, match="beyond that of x"):
        repmath.scatter_add(x, 0, [[0, 0, 0]], np.ones((1, 3)))
    with raises(np.exceptions.AxisError):
        repmath.scatter_add(x, -3, [[0]], one)
    with raises(TypeError, match="src has dtype"):
        repmath.scatter_add(x, 0, [[0]], one * 1j)
    with raises(ValueError, match="segment_ids has -1; its values must be from 0 to 3"):
        repmath.segment_sum(x, [0, -1, 3])
    with raises(ValueError, match="segment_ids has 3"):
        repmath.segment_sum(x, [0, 1, 3], 3)
    with raises(ValueError, match="segment_ids has shape"):
        repmath.segment_sum(x, [0, 1])
    with raises(ValueError, match="num_segments must not be negative"):
        repmath.segment_sum(x, [0, 1, 2], -1)
    with raises(TypeError, match="num_segments must be an integer"):
        repmath.segment_sum(x, [0, 1, 2], 3.0)
    with raises(ValueError, match="data is a scalar"):
        repmath.segment_sum(1.0, [])
    with raises(ValueError, match="g has shape"):
        repmath.embedding_grad(x, [0, 1], 3)
    with raises(IndexError, match="index has 5"):
        repmath.embedding_grad(x, [0, 1, 5], 3)
    with raises(IndexError, match="padding_idx must be from -3 to 2"):
        repmath.embedding_grad(x, [0, 1, 2], 3, padding_idx=3)
    with raises(TypeError, match="padding_idx must be an integer"):
        repmath.embedding_grad(x, [0, 1, 2], 3, padding_idx=1.0)
    with raises(TypeError, match="num_embeddings must be an integer"):
        repmath.embedding_grad(x, [0, 1, 2], None)
    with raises(ValueError, match="x has negative values"):
        repmath.bincount([0, -1])
    with raises(ValueError, match="x has shape"):
        repmath.bincount([[0]])
    with raises(TypeError, match="x has dtype float64"):
        repmath.bincount([0.0])
    with raises(ValueError, match="weights has shape"):
        repmath.bincount([0, 1], [1.0])
    with raises(TypeError, match="weights has dtype"):
        repmath.bincount([0], [1j])
    with raises(ValueError, match="minlength must not be negative"):
        repmath.bincount([0], minlength=-1)


def test_zero_sizes(dtype):
    x = np.ones((3, 0), dtype)
    assert repmath.index_add(x, [2, 2], np.ones((2, 0), dtype)).shape == (3, 0)
    assert repmath.index_add(np.ones((3, 2), dtype), [], np.ones((0, 2), dtype)).tolist() == [[1, 1]] * 3
    assert repmath.index_add(np.ones((0, 2), dtype), [], np.ones((0, 2), dtype)).shape == (0, 2)
    assert (
        repmath.scatter_add(np.ones((3, 2), dtype), 1, np.zeros((0, 2), int), np.ones((3, 2), dtype)).tolist() == [[1, 1]] * 3
    )
    assert repmath.embedding_grad(np.ones((0, 4), dtype), [], 2).tolist() == [[0] * 4] * 2
    assert repmath.embedding_grad(np.ones((2, 0), dtype), [0, 1], 2).shape == (2, 0)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_numbers(data):
    """All bit patterns, any shape, axis and index."""
    dtype = data.draw(st.sampled_from(DTYPES))
    code = np.dtype(f"u{dtype.itemsize}")
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=6))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    n = data.draw(st.integers(0, 25))
    k = axis % len(shape)
    x = data.draw(hnp.arrays(code, shape)).view(dtype)
    source = data.draw(hnp.arrays(code, (*shape[:k], n, *shape[k + 1 :]))).view(dtype)
    index = data.draw(hnp.arrays(np.int64, n, elements=st.integers(0, shape[k] - 1)))
    got = np.moveaxis(repmath.index_add(x, index, source, axis), k, 0)
    moved, s = np.moveaxis(x, k, 0), np.moveaxis(source, k, 0)
    for row in range(shape[k]):
        for j in np.ndindex(*moved.shape[1:]):
            terms = [*s[(index == row, *j)], moved[(row, *j)]]
            want = exact_bits(terms, NAMES[dtype]) if len(terms) > 1 else int(bits(np.array(moved))[(row, *j)])
            assert int(bits(np.array(got))[(row, *j)]) == want
