"""repmath.rounding.scope: NumPy functions inside are those of repmath.rounding with the words of their number, and nothing rounds to nearest."""

import asyncio
import threading

import ml_dtypes
import numpy as np
import pytest
import rounding_oracle

import repmath
from repmath import _core, _random_modes, nn, random, rounding

BF16 = np.dtype(ml_dtypes.bfloat16)
rng = np.random.default_rng(3)
X, Y = rng.uniform(0.5, 2, (2, 3, 4)).astype("f4")


def bits(x):
    x = np.ascontiguousarray(x)
    return x.view(np.dtype(f"u{x.dtype.itemsize}")).tolist()


@pytest.mark.parametrize("mode", rounding.RANDOM_MODES)
def test_functions_have_the_words_of_their_number(mode):
    """exp by the oracle; the others as repmath.rounding's, which have tests against it."""
    sample = 7
    with rounding.scope(mode, seed=5, sample=sample) as block:
        found = [
            repmath.exp(X), repmath.add(X, Y), repmath.fma(X, Y, X), repmath.sum(X, axis=1), repmath.matmul(X, Y.T), X[0].sum(), repmath.dot(X[0], Y[0]),
            repmath.sqrt(X.astype(BF16)), repmath.matmul(X, Y.T, bias=X[:, 0], dtype=np.float32), repmath.sum(X, keepdims=True),
        ]  # fmt: skip
        assert block.calls == 9
    at = [{"seed": 5, "stream": sample * 2**32 + i} for i in range(9)]
    want = [
        rounding.exp(X, mode, **at[0]), rounding.add(X, Y, mode, **at[1]), rounding.fma(X, Y, X, mode, **at[2]), rounding.sum(X, mode, 1, **at[3]),
        rounding.matmul(X, Y.T, mode, **at[4]), X[0].sum(), rounding.dot(X[0], Y[0], mode, **at[5]), rounding.sqrt(X.astype(BF16), mode, **at[6]),
        rounding.matmul(X, Y.T, mode, bias=X[:, 0], dtype=np.float32, **at[7]), rounding.sum(X, mode, keepdims=True, **at[8]),
    ]  # fmt: skip
    for got, value in zip(found, want, strict=True):
        assert got.dtype == value.dtype and got.shape == value.shape and bits(got) == bits(value)
    words = rounding_oracle.words(5, sample * 2**32, 0, X.size)
    exact = rounding_oracle.array_of("exp", [(float(v),) for v in X.reshape(-1)], "f32", mode, words).tolist()
    assert bits(found[0].reshape(-1)) == exact
    assert bits(found[0]) != bits(repmath.exp(X))
    assert bits(repmath.exp(X)) == bits(repmath.exp(X.copy()))


def test_out_where_and_numbers():
    out = np.full(X.shape, 9, "f4")
    with rounding.scope("stochastic", seed=1) as block:
        assert repmath.exp(X, out=out) is out
        assert repmath.exp(X, out) is out
        repmath.exp(X, out=out, where=X > 1)
        assert isinstance(repmath.exp(1.5), np.float64)
        with pytest.raises(TypeError, match="dtype"):
            repmath.exp(X, dtype="f8")
        with pytest.raises(TypeError, match="arguments"):
            repmath.add(X)
        assert block.calls >= 4
    total = np.empty(3, "f4")
    with rounding.scope("random", seed=2):
        assert repmath.sum(X, axis=1, out=total) is total


def test_what_lacks_a_mode_raises():
    """Nothing rounds to nearest inside; the control is that all of it does outside."""
    calls = [
        lambda: repmath.add.reduce(X),
        lambda: repmath.multiply.accumulate(X),
        lambda: repmath.multiply.reduceat(X, [0, 1]),
        lambda: repmath.add.at(X.copy(), 0, 1.0),
        lambda: repmath.multiply.outer(X[0], Y[0]),
    ]
    for call in calls:
        call()
        with rounding.scope("stochastic"), pytest.raises(TypeError, match="random rounding|stochastic rounding"):
            call()
        call()


def test_up_down_has_every_function():
    with rounding.scope("up_down", seed=4) as block:
        first = nn.softmax(X)
        mean = repmath.mean(X)
        normed = nn.layer_norm(X, 4)
        values, places = np.asarray(repmath.cumsum(X)), random.normal(1, 5)
        assert block.calls == 4
    assert bits(places) == bits(random.normal(1, 5))
    for i, (got, plain) in enumerate(
        [(first, nn.softmax(X)), (mean, repmath.mean(X)), (normed, nn.layer_norm(X, 4)), (values, repmath.cumsum(X))]
    ):
        assert bits(got) == bits(_random_modes.up_down(np.asarray(plain), 4, i))


def test_nested_scopes_threads_and_tasks():
    plain = bits(repmath.exp(X))
    seen = []
    with rounding.scope("stochastic", seed=1) as outer:
        one = repmath.exp(X)
        with rounding.scope("stochastic", seed=2) as inner:
            assert bits(repmath.exp(X)) == bits(rounding.exp(X, "stochastic", seed=2))
            assert (inner.calls, outer.calls) == (1, 1)
        two = repmath.exp(X)
        thread = threading.Thread(target=lambda: seen.append(bits(repmath.exp(X))))
        thread.start()
        thread.join()
    assert seen == [plain]
    assert bits(two) == bits(rounding.exp(X, "stochastic", seed=1, stream=1)) != bits(one)
    with outer:  # entered again it computes the same
        assert bits(repmath.exp(X)) == bits(one)

    async def inside():
        with rounding.scope("stochastic", seed=1):
            await asyncio.sleep(0.01)
            return bits(repmath.exp(X))

    async def both():
        task = asyncio.create_task(inside())
        await asyncio.sleep(0)
        return bits(repmath.exp(X)), await task

    assert asyncio.run(both()) == (plain, bits(one))
    with pytest.raises(ZeroDivisionError), rounding.scope("random"):
        raise ZeroDivisionError
    assert bits(repmath.exp(X)) == plain
    assert bits(repmath.add.reduce(X)) == bits(repmath.add.reduce(X.copy()))
    _core.open_scopes(0)


@pytest.mark.parametrize(
    ("arguments", "error", "name"),
    [
        (("sometimes", {}), ValueError, "mode"),
        ((None, {}), ValueError, "mode"),
        (("random", {"seed": -1}), ValueError, "seed"),
        (("random", {"seed": 2**64}), ValueError, "seed"),
        (("random", {"seed": 1.0}), TypeError, "seed"),
        (("random", {"sample": 2**32}), ValueError, "sample"),
        (("random", {"sample": True}), TypeError, "sample"),
    ],
)
def test_errors_name_the_argument(arguments, error, name):
    mode, options = arguments
    with pytest.raises(error, match=name):
        rounding.scope(mode, **options)


def test_words_do_not_depend_on_the_thread():
    """Published tools have a stream of words for each thread: here a scope has the same bits in any, also where several are open at once."""
    seen, ready = [], threading.Barrier(3)

    def inside():
        ready.wait()
        with rounding.scope("stochastic", seed=1):
            seen.append(bits(repmath.exp(X)) + bits(repmath.sum(X)))

    threads = [threading.Thread(target=inside) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with rounding.scope("stochastic", seed=1):
        want = bits(repmath.exp(X)) + bits(repmath.sum(X))
    assert seen == [want] * 3
