"""repmath.arrays: arrays that carry the namespace, alone and in scikit-learn. array_api_strict is the oracle of names and of types."""

import operator
import os
import subprocess
import sys

import numpy as np
import pytest

import repmath
from repmath import array_api
from repmath import arrays as xp

F = np.array([[0.1, -2.5, 3e30], [1.0, 7.25, -3e30]])
UNARY = [operator.neg, operator.pos, operator.abs]
BINARY = {
    operator.add: repmath.add,
    operator.sub: repmath.subtract,
    operator.mul: repmath.multiply,
    operator.truediv: repmath.divide,
    operator.pow: repmath.pow,
    operator.floordiv: array_api.floor_divide,
    operator.mod: array_api.remainder,
}
COMPARED = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


def same(found, expected):
    expected = np.asarray(expected)
    assert isinstance(found, xp.Array) and found.dtype == expected.dtype and found.shape == expected.shape
    assert np.asarray(found).tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_operators_are_repmaths(dtype):
    values, others = np.abs(F.astype(dtype)), F[::-1].astype(dtype)
    x, y = xp.asarray(values), xp.asarray(others)
    for sign, function in BINARY.items():
        with np.errstate(all="ignore"):
            same(sign(x, y), function(values, others))
            same(sign(x, 0.1), function(values, dtype(0.1)))
            same(sign(3, x), function(dtype(3), values))
            changed = xp.asarray(values, copy=True)
            same(getattr(operator, f"i{sign.__name__}")(changed, y), function(values, others))
            same(changed, function(values, others))
    for sign in COMPARED:
        same(sign(x, y), sign(values, others))
        same(sign(x, 1), sign(values, 1))
    for sign in UNARY:
        same(sign(y), sign(others))
    x, y = x / 1e20, y / 1e20
    same(x @ y.T, repmath.matmul(np.asarray(x), np.asarray(y).T))
    values = np.asarray(x)
    same(x.mT[1:, 0], values.T[1:, 0])


def test_integers_and_bools():
    x = np.array([5, 0, 3])
    for sign in (operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift, operator.add, operator.mul):
        same(sign(xp.asarray(x), 2), sign(x, 2))
        same(sign(2, xp.asarray(x)), sign(2, x))
    same(~xp.asarray(x > 1), ~(x > 1))
    assert bool(xp.asarray(True)) and int(xp.asarray(3)) == 3 and float(xp.asarray(0.5)) == 0.5 and [1, 2][xp.asarray(1)] == 2


def test_functions_take_and_return_these_arrays():
    x = xp.asarray(F)
    same(xp.exp(x[:, :2]), repmath.exp(F[:, :2]))
    same(xp.sum(x, axis=1), repmath.sum(F, axis=1))
    same(xp.concat([x, x], axis=0), np.concatenate([F, F]))
    same(xp.linalg.vector_norm(x), repmath.norm(F))
    same(xp.fft.rfft(x[:, :2]), repmath.fft.rfft(F[:, :2]))
    sign, size = xp.linalg.slogdet(xp.eye(2))
    same(sign, 1.0), same(size, 0.0)
    assert xp.linalg.slogdet(xp.eye(2)).logabsdet == 0 and [m.shape for m in xp.meshgrid(x[0], x[1])] == [(3, 3)] * 2
    assert xp.isdtype(x.dtype, "real floating") is True and xp.float32 is array_api.float32 and xp.finfo(x.dtype).bits == 64
    x[0, xp.asarray([True, False, True])] = xp.asarray([1.0, 2.0])
    same(x[0, :], [1.0, -2.5, 2.0])
    assert F[0, 0] == 1.0 and np.shares_memory(np.asarray(x), F)  # no copy is made
    F[0] = [0.1, -2.5, 3e30]
    assert np.from_dlpack(x)[1, 1] == 7.25


def test_namespace():
    x = xp.asarray([1.0])
    assert x.__array_namespace__() is xp is x.__array_namespace__(api_version="2024.12")
    assert x.device == "cpu" and x.to_device("cpu") == x and repr(x) == "Array([1.])" and x.size == x.ndim == len(x) == 1
    with pytest.raises(ValueError, match="api_version"):
        x.__array_namespace__(api_version="2099.12")
    with pytest.raises(TypeError):
        hash(x)


def test_errors():
    x = xp.asarray(np.ones(2, np.float32))
    for sign in (operator.add, operator.matmul, operator.lt):
        with pytest.raises(TypeError, match="array of NumPy"):
            sign(x, np.ones(2))
        with pytest.raises(TypeError, match="array of NumPy"):
            sign(np.ones(2), x)
    with pytest.raises(TypeError, match="float64"):
        x += xp.asarray(np.ones(2))
    with pytest.raises(TypeError):
        x + "a"
    assert (x == "a") is False and np.asarray(x).tolist() == [1, 1]


def test_names_and_types_are_the_standards():
    """What array_api_strict has, this namespace has; the types of results are its types."""
    strict = pytest.importorskip("array_api_strict")
    for theirs, ours in ((strict, xp), (strict.linalg, xp.linalg), (strict.fft, xp.fft)):
        names = theirs.__all__ if hasattr(theirs, "__all__") else [n for n in vars(theirs) if not n.startswith("_")]
        names = [
            n for n in names if n not in {"linalg", "fft"} and "flags" not in n.lower() and n != "Device"
        ]  # its own switches
        absent = {n for n in names if not n.startswith("__") and not hasattr(ours, n)}
        assert absent <= {"broadcast_shapes", "isin"}  # these two are of a later version
    methods = {n for n in dir(strict.asarray([1.0])) if n.startswith("__") and not hasattr(object, n)}
    absent = {n for n in methods if not hasattr(xp.Array, n)}
    of_python = {"__iter__", "__module__", "__dict__", "__weakref__", "__buffer__"}
    assert absent <= of_python
    for (
        name
    ) in "exp log sqrt sin sum mean std max argmax any isnan floor sign square cumulative_sum sort argsort nonzero".split():
        for dtype in ("float32", "float64"):
            pair = [getattr(space, name)(space.asarray([1.0, 0.5], dtype=getattr(space, dtype))) for space in (strict, xp)]
            theirs, ours = (p[0] if isinstance(p, tuple) else p for p in pair)
            assert str(theirs.dtype).split(".")[-1] == str(ours.dtype) and theirs.shape == ours.shape, name


SKLEARN = """
import numpy as np, sklearn
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler
from repmath import arrays

rng = np.random.default_rng(3)
x, y = rng.standard_normal((200, 4)) * [1, 1e3, 1e-3, 1] + 5, rng.integers(0, 3, 200)
order = rng.permutation(200)

def fitted(make, where, y_of):
    scaler = StandardScaler().fit(make(x[where]))
    bayes = GaussianNB().fit(scaler.transform(make(x[where])), y_of(y[where]))
    components = PCA(2, svd_solver="covariance_eigh").fit(scaler.transform(make(x[where]))).components_
    numbers = [components, scaler.mean_, scaler.var_, scaler.scale_, bayes.theta_, bayes.var_, bayes.predict_log_proba(scaler.transform(make(x[:9])))]
    return [type(n).__module__ for n in numbers], b"".join(np.asarray(n).tobytes() for n in numbers)

with sklearn.config_context(array_api_dispatch=True):
    kinds, straight = fitted(arrays.asarray, slice(None), arrays.asarray)
    again = fitted(arrays.asarray, order, arrays.asarray)[1]
    weights = Ridge(solver="svd").fit(arrays.asarray(x), arrays.asarray(y.astype(float))).coef_
    assert type(weights) is arrays.Array and np.allclose(np.asarray(weights), Ridge(solver="svd").fit(x, y.astype(float)).coef_)
print(set(kinds), straight == again)
print(fitted(np.asarray, slice(None), np.asarray)[1] == fitted(np.asarray, order, np.asarray)[1])
"""


def test_scikit_learn():
    """A scaler, a classifier and principal components take the arrays and return them; their numbers do not depend on the order of the samples. NumPy's do: the control."""
    for needed in ("sklearn", "array_api_compat"):
        pytest.importorskip(needed)
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}  # to be set before SciPy is imported
    done = subprocess.run([sys.executable, "-c", SKLEARN], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["{'repmath.arrays'} True", "False"]
