"""Public functions over arrays that have __dlpack__: the bits of the same call with NumPy arrays, in the caller's framework."""

import numpy as np
import pytest
from dlpack_producer import Framework, Producer, address, in_poison
from dlpack_samples import flat, same
from public_calls import BF16, CALLS, IMAGE, INDEX, WITHOUT, W, X, Y, floats

import repmath
from repmath import nn, optim, random
from repmath._environment import guarded


@pytest.mark.parametrize("module", CALLS, ids=lambda m: m.__name__)
def test_every_public_function_is_called(module):
    functions = {n for n in module.__all__ if callable(getattr(module, n)) and not isinstance(getattr(module, n), np.ufunc)}
    assert {name for name, _, _ in CALLS[module]} == functions - WITHOUT[module]


@pytest.mark.parametrize(
    "module, name, arguments, keywords",
    [(m, *call) for m, calls in CALLS.items() for call in calls],
    ids=[name for calls in CALLS.values() for name, _, _ in calls],
)
def test_a_call_has_the_bits_of_numpy_and_the_kind_of_the_caller(module, name, arguments, keywords):
    function = getattr(module, name)
    ours = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    expected = flat(function(*ours, **keywords))
    fake = Framework("fake")

    def lent(a):
        return fake.Array(in_poison(a, 8), byte_offset=8) if isinstance(a, np.ndarray) else a

    theirs = [lent(a) for a in arguments]
    with_keywords = {k: lent(v) for k, v in keywords.items()}
    result = flat(function(*theirs, **with_keywords))
    assert len(result) == len(expected)
    for got, want in zip(result, expected, strict=True):
        if isinstance(want, (np.ndarray, np.generic)):
            assert type(got) is fake.Array and same(got.array, np.asarray(want))
        else:
            assert got == want and type(got) is type(want)  # a digest, a float, nothing
    for a, b in zip(ours, theirs, strict=True):  # what is updated in place is theirs
        assert not isinstance(a, np.ndarray) or same(b.array, a)
    lenders = [x for x in [*theirs, *with_keywords.values()] if isinstance(x, Producer)]
    del result, got, fake.taken[:]
    assert [p.deleted for p in lenders] == [[1]] * len(lenders)


def test_a_result_that_is_an_argument_is_the_callers_own():
    fake = Framework("fake")
    x, out = fake.Array(X.copy()), fake.Array(np.zeros((4, 6), "f4"))
    assert repmath.cumsum(x, axis=0, out=out) is out and same(out.array, repmath.cumsum(X, axis=0))
    assert repmath.index_add(x, INDEX, Y[:3], out=x) is x and same(x.array, repmath.index_add(X, INDEX, Y[:3]))
    assert x.deleted == [1, 1]  # x and out of one call are one capsule
    for call in (
        lambda out: repmath.matmul(X, W, out),
        lambda out: repmath.sum(X[:, :3, None] * W[:4, None], axis=2, out=out),
        lambda out: repmath.dot(X, W, out=out),
    ):
        out = fake.Array(np.zeros((4, 3), "f4"))
        assert call(out) is out and same(out.array, call(np.zeros((4, 3), "f4")))


def test_nothing_is_copied():
    seen = []

    @guarded
    def negate(x):
        seen.append(address(x))
        return np.negative(x)

    fake = Framework("fake")
    x = fake.Array(X[::2, ::-1])
    y = negate(x)
    assert seen == [address(x.array)]
    assert address(y.array) == address(fake.taken[0]) and same(y.array, -X[::2, ::-1])
    assert isinstance(y.array.base, repmath._dlpack._Memory)


READ_ONLY = {"read only": {"read_only": True}, "legacy": {"versioned": False}}


@pytest.mark.parametrize("how", READ_ONLY)
def test_read_only_arrays_are_not_written(how):
    def lent(a):
        return Producer(a, **READ_ONLY[how])

    square = np.ones((6, 6), "f4")
    calls = {
        "out": [
            lambda p: repmath.sum(floats(6, 6, 3), axis=2, out=p),
            lambda p: repmath.matmul(square, square, out=p),
            lambda p: repmath.dot(square, square, out=p),
            lambda p: repmath.cumsum(square, axis=0, out=p),
            lambda p: repmath.index_add(square, [1], square[:1], out=p),
            lambda p: repmath.index_add(p, [1], square[:1], out=p),
            lambda p: repmath.scatter_add(square, 0, [[1]], square, out=p),
            lambda p: repmath.einsum("ij,jk->ik", square, square, out=p),
            lambda p: repmath.conv1d(square[None], square[:, :, None], out=p[None] if isinstance(p, np.ndarray) else p),
            lambda p: repmath.dlpack.exp(square, out=p),
        ],
        "param": [
            lambda p: optim.sgd_step(p, square, lr=1.0),
            lambda p: optim.adam_step(p, square, square.copy(), square.copy(), step=1),
            lambda p: optim.SGD([p]),
            lambda p: optim.AdamW({"a": p}),
        ],
        "grads": [lambda p: optim.clip_grad_norm(p, 0.1), lambda p: optim.clip_grad_norm({"w": p, "v": square}, 0.1)],
        "exp_avg": [lambda p: optim.adam_step(square.copy(), square, p, square.copy(), step=1)],
        "buffer": [lambda p: optim.sgd_step(square.copy(), square, p, lr=1.0, momentum=0.5)],
    }  # fmt: skip
    for name, some in calls.items():
        for number, call in enumerate(some):
            a = floats(6, 6)
            if name == "out" and number == 8:
                a = floats(1, 6, 6)
            before = a.tobytes()
            with pytest.raises(ValueError, match=f"{name}.*read-only"):
                call(lent(a))
            assert a.tobytes() == before, (name, number)
    running = np.zeros(3, "f4")
    with pytest.raises(ValueError, match="running_mean is read-only"):
        nn.batch_norm(IMAGE, lent(running), None, training=True)
    assert not running.any()


def test_optimisers_update_the_memory_of_the_caller():
    for kind, options in ((optim.SGD, {"momentum": 0.9}), (optim.Adam, {"amsgrad": True}), (optim.AdamW, {})):
        p = {"w": floats(3, 4), "b": floats(4).astype(BF16)}
        g = {"w": floats(3, 4), "b": floats(4).astype(BF16)}
        theirs = {k: Producer(in_poison(a, 16), byte_offset=16) for k, a in p.items()}
        one, other = kind(p, **options), kind(theirs, **options)
        for _ in range(3):
            one.step(g)
            other.step({k: Producer(a.copy(), read_only=True) for k, a in g.items()})
        assert all(same(theirs[k].array, p[k]) for k in p)
        state = one.state_dict()
        lent = {
            k: {n: Producer(v.copy(), read_only=True) if isinstance(v, np.ndarray) else v for n, v in s.items()}
            for k, s in state["state"].items()
        }
        other.load_state_dict({"options": state["options"], "state": lent})
        one.step(g)
        other.step(g)
        assert all(same(theirs[k].array, p[k]) for k in p)
    single = Producer(np.ones((2, 2), "f4"))
    optim.SGD(single, lr=0.5).step(Producer(np.ones((2, 2), "f4")))
    assert (single.array == 0.5).all()
    gradients = [Producer(floats(5)), None, Producer(floats(2, 2).astype(BF16))]
    copies = [None if g is None else g.array.copy() for g in gradients]
    assert optim.clip_grad_norm(gradients, 0.5) == optim.clip_grad_norm(copies, 0.5)
    assert all(g is None or same(g.array, c) for g, c in zip(gradients, copies))


def test_two_frameworks_do_not_mix():
    one, two = Framework("one"), Framework("two")
    with pytest.raises(TypeError, match="x1 is an array of one and x2 one of two"):
        repmath.matmul(one.Array(X), two.Array(W))
    with pytest.raises(TypeError, match="weight is an array of one and bias one of two"):
        nn.layer_norm(X, 6, weight=one.Array(Y[0]), bias=two.Array(Y[0]))
    # NumPy arrays, numbers, and producers of no framework go with any
    for other in (W, Producer(W)):
        result = repmath.matmul(one.Array(X), other)
        assert type(result) is one.Array and same(result.array, repmath.matmul(X, W))
    assert same(repmath.matmul(Producer(X), Producer(W)), repmath.matmul(X, W))


def test_accumulators_streams_and_rules():
    total = repmath.Accumulator(Producer(X))
    total.add(Producer(Y.astype(BF16)))
    total.add_products(Producer(X), Y)
    total -= Producer(W)
    expected = repmath.Accumulator(X)
    expected.add(Y.astype(BF16))
    expected.add_products(X, Y)
    expected -= W
    assert total.to_bytes() == expected.to_bytes()
    for use in (lambda s, x: s.dropout(x, 0.5), lambda s, x: s.permutation(x)):
        one, other = random.Stream(3), random.Stream(3)
        for _ in range(2):
            assert same(use(one, Producer(X)), use(other, X))
    fake = Framework("fake")
    assert same(repmath.rounding.exp(fake.Array(X), "up").array, repmath.rounding.exp(X, "up"))
    assert same(repmath.rounding.multiply(X, fake.Array(Y), mode="down").array, repmath.rounding.multiply(X, Y, "down"))


@pytest.mark.parametrize("dtype", ["f2", BF16, "f4", "f8"], ids=str)
def test_elementwise_functions_by_another_way(dtype):
    fake = Framework("fake")
    x, y = X.astype(dtype), Y.astype(dtype)
    for name, ufunc in repmath._core.ufuncs.items():
        if name not in ("exp", "gelu", "silu_backward", "multiply", "fma", "pow"):
            continue
        arguments = [x, y, x][: ufunc.nin]
        with np.errstate(all="ignore"):
            want = ufunc(*arguments)
            got = getattr(repmath.dlpack, name)(*(fake.Array(in_poison(a, 4), byte_offset=4) for a in arguments))
            assert same(got.array, want), name
            out = fake.Array(np.zeros_like(x))
            assert getattr(repmath.dlpack, name)(*map(fake.Array, arguments), out=out) is out and same(out.array, want)
    assert same(repmath.dlpack.multiply(fake.Array(x), 2.0).array, repmath.multiply(x, 2.0))
    some = fake.Array(x > 0)
    assert same(
        repmath.dlpack.exp(fake.Array(x), where=some, out=fake.Array(np.ones_like(x))).array,
        repmath.exp(x, where=x > 0, out=np.ones_like(x)),
    )
    assert same(repmath.dlpack.exp(x), repmath.exp(x))
    assert set(repmath.dlpack.__all__) == {"check_indices", "from_dlpack", *repmath._core.ufuncs}
    with pytest.raises(BufferError, match="y is on device CUDA 0"):
        repmath.dlpack.add(x, Producer(y, device=(2, 0)))


def test_numpy_callers_notice_nothing():
    class Sub(np.ndarray):
        pass

    for x in (X, X.view(Sub), X.tolist(), X[0, 0], 3, 2.5):
        assert isinstance(repmath.mean(x), np.floating)
        assert isinstance(nn.softmax(x), np.ndarray)
        assert not repmath._dlpack.is_foreign(x)
    assert same(repmath.sum(X.tolist()), repmath.sum(X.astype("f8")))
    assert repmath.matmul.__doc__ and repmath.mean.__wrapped__
