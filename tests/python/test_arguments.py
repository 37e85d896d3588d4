"""Bad arguments of every public function over arrays: an error that names the argument, and nothing written. Arrays that mean more than
their elements (masked, labelled, with units, computed later) are bad arguments, too."""

import inspect

import numpy as np
import pytest
from public_calls import CALLS, W, X, Y

import repmath
from repmath import fft, nn, optim

SLOTS = [
    (module, name, arguments, keywords, place)
    for module, calls in CALLS.items()
    for name, arguments, keywords in calls
    for place in [*range(len(arguments)), *keywords]
    if isinstance((arguments if isinstance(place, int) else keywords)[place], (np.ndarray, np.generic))
]
slots = pytest.mark.parametrize("module, name, arguments, keywords, place", SLOTS, ids=[f"{s[1]}-{s[4]}" for s in SLOTS])


class Labelled:
    """An array with labels, which implements NumPy's ufuncs itself, as those of pandas and xarray do."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype)

    def __array_ufunc__(self, ufunc, method, *inputs, **keywords):
        return Labelled(getattr(ufunc, method)(*(x.values if isinstance(x, Labelled) else x for x in inputs), **keywords))


class Later:
    """An array that is computed when it is asked for, which implements NumPy's functions itself, as those of dask do."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        raise AssertionError("computed whole")

    def __array_function__(self, function, types, arguments, keywords):
        return NotImplemented


class Quantity(np.ndarray):
    """An array with a unit, as those of astropy."""

    def __array_ufunc__(self, ufunc, method, *inputs, **keywords):
        return NotImplemented


CONTAINERS = {
    "masked": lambda a: np.ma.masked_array(a, np.zeros(np.shape(a), bool)),
    "labelled": Labelled,
    "later": Later,
    "quantity": lambda a: np.asarray(a).view(Quantity),
}
NO_ARRAYS = {
    "None": lambda a: None,
    "text": lambda a: "text",
    "objects": lambda a: np.full(np.shape(a), None, object),
    "complex": lambda a: np.asarray(a) * 1j,
    "no array": lambda a: object(),
    "dict": lambda a: {"a": 1},
    "set": lambda a: {1, 2},
}
RANKS = {
    "one number": lambda a: np.ravel(a)[0],
    "more axes": lambda a: np.asarray(a)[None, None, None, None, None],
    "no rows": lambda a: np.atleast_1d(a)[:0],
    "a row less": lambda a: np.atleast_1d(a)[:-1],
}


def parameter(function, place):
    """The name of an argument, and whether None is among what the function takes for it. A name of *arguments has no end."""
    if isinstance(place, str):
        found = inspect.signature(function).parameters[place]
        return place, "None" in str(found.annotation) or found.default is None
    known = list(inspect.signature(function).parameters.values())
    for i, p in enumerate(known):
        if p.kind is p.VAR_POSITIONAL and place >= i:
            return p.name, False
    return known[place].name, "None" in str(known[place].annotation) or known[place].default is None


def attempt(function, arguments, keywords, place, change):
    """The error of the call with one argument changed, or None; if there is one, all other arrays are as they were."""
    changed = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    named = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in keywords.items()}
    where = changed if isinstance(place, int) else named
    where[place] = change(where[place])
    others = [a for a in [*changed, *named.values()] if isinstance(a, np.ndarray) and a.dtype != object]
    before = [a.tobytes() for a in others]
    try:
        function(*changed, **named)
    except Exception as error:
        assert [a.tobytes() for a in others] == before
        return error
    return None


@slots
def test_containers(module, name, arguments, keywords, place):
    function = getattr(module, name)
    known, _ = parameter(function, place)
    for kind, change in CONTAINERS.items():
        error = attempt(function, arguments, keywords, place, change)
        assert type(error) is TypeError and known in str(error), (kind, error)
        assert "would be" in str(error) and "pass" in str(error), (kind, error)


# permutation and shifts move elements of any type, transforms are of complex numbers.
ANY_TYPE = {("permutation", "objects"), ("permutation", "complex"), ("digest", "complex"), ("digest", "dict")}
ANY_TYPE |= {(name, kind) for name in ("fftshift", "ifftshift") for kind in ("objects", "complex")}
ANY_TYPE |= {(name, "complex") for name in fft.__all__ if not name.startswith(("rfft", "ihfft"))}


@slots
def test_no_arrays(module, name, arguments, keywords, place):
    function = getattr(module, name)
    known, optional = parameter(function, place)
    for kind, change in NO_ARRAYS.items():
        error = attempt(function, arguments, keywords, place, change)
        if (name, kind) in ANY_TYPE:
            assert error is None
        elif kind == "None" and optional:
            assert error is None or (type(error) in (ValueError, TypeError) and known in str(error))
        elif name == "einsum":  # whose operands have numbers
            assert type(error) in (TypeError, ValueError) and ("operand" in str(error) or "subscripts" in str(error)), error
        else:
            assert type(error) is TypeError and known in str(error), (kind, error)


@slots
def test_shapes(module, name, arguments, keywords, place):
    """What has another shape is taken, or refused with the name of an argument."""
    function = getattr(module, name)
    names = list(inspect.signature(function).parameters)
    for kind, change in RANKS.items():
        error = attempt(function, arguments, keywords, place, change)
        assert error is None or isinstance(error, (ValueError, IndexError, TypeError)), (kind, error)
        assert error is None or any(n in str(error) for n in [*names, "operand"]), (kind, error)


def test_the_sweep_reaches_every_array():
    assert len(SLOTS) > 200
    assert {(m.__name__, n) for m, n, *_ in SLOTS} >= {
        ("repmath.nn", "kl_div"), ("repmath", "sum"), ("repmath", "conv_transpose2d"), ("repmath.optim", "adam_step")
    }  # fmt: skip


@pytest.mark.parametrize("module", ["pandas", "xarray", "dask.array"])
def test_real_ones(module):
    library = pytest.importorskip(module)
    make = {
        "pandas": lambda: library.DataFrame(X.astype("f8")),
        "xarray": lambda: library.DataArray(X.astype("f8")),
        "dask.array": lambda: library.from_array(X.astype("f8")),
    }[module]
    for name in ("sum", "mean", "var", "norm", "cumsum", "digest"):
        with pytest.raises(TypeError, match=f"{module.split('.')[0]}.*would be lost"):
            getattr(repmath, name)(make())
    with pytest.raises(TypeError, match="x2 is a"):
        repmath.matmul(np.ones((2, 4)), make())
    with pytest.raises(TypeError, match="x1 is a"):
        repmath.matmul(make(), make())
    with pytest.raises(TypeError, match="input is a"):
        nn.softmax(make())
    # NumPy dispatches ufuncs, which keep what it is, and its elements are right.
    result = repmath.exp(make())
    assert type(result) is type(make())
    assert np.asarray(result).tobytes() == repmath.exp(X.astype("f8")).tobytes()


def test_others():
    masked = np.ma.masked_array([1.0, 2.0], [False, True])
    for call in (
        lambda: repmath.sum(masked),
        lambda: repmath.sum(np.ones(2), where=masked),
        lambda: repmath.dot(masked, np.ones(2)),
        lambda: repmath.sum(np.ones((2, 2)), axis=0, out=masked),
        lambda: repmath.Accumulator(masked),
        lambda: repmath.Accumulator().add_products(np.ones(2), masked),
        lambda: optim.SGD([masked]),
        lambda: optim.SGD([np.ones(2)]).step([masked]),
        lambda: optim.clip_grad_norm({"w": masked}, 1.0),
    ):
        with pytest.raises(TypeError, match="masked array, whose mask would be ignored"):
            call()
    assert repmath.sum(masked.data, where=~np.ma.getmaskarray(masked)) == 1.0  # as the message says
    for call in (
        lambda: optim.SGD(None),
        lambda: optim.SGD([np.ones(2)]).step(None),
        lambda: optim.clip_grad_norm(None, 1.0),
    ):
        with pytest.raises(TypeError, match="(params|grads) must be arrays"):
            call()
    with pytest.raises(TypeError, match="where has dtype int64"):
        repmath.mean(np.ones(2), where=np.array([1, 0]))


def test_what_numpy_takes_is_taken(tmp_path):
    """Plain subclasses of ndarray, numbers, sequences, buffers, and objects with __array__ alone."""

    class Plain:
        def __array__(self, dtype=None, copy=None):
            return np.array([1.0, 2.0])

    kept = np.memmap(tmp_path / "numbers", np.float64, "w+", shape=2)
    kept[:] = 1.0, 2.0
    for x in ([1.0, 2.0], (1, 2), range(1, 3), kept, Plain(), memoryview(np.array([1.0, 2.0]))):
        assert repmath.sum(x) == 3.0 and repmath.norm(x) == repmath.sqrt(5.0)
    assert repmath.sum(3) == repmath.sum(np.float32(3)) == repmath.sum(np.array(3)) == 3.0
    assert np.array_equal(repmath.matmul(X, W), repmath.matmul(X.tolist(), W.tolist(), dtype="f4"))
    assert nn.mse_loss(X.tolist(), Y.tolist()).dtype == np.float64


# Parameters that are numbers or dtypes, whose helpers are shared; each with what is bad for it.
BAD_NUMBERS = ("text", object(), [None], float("nan"), 1j, 1.5, 2**70, np.ones((2, 2)))
INTEGERS = ("axis", "dim", "ignore_index", "input_size", "shape", "normalized_shape", "num_groups")


def test_numbers():
    tried = 0
    for module, calls in CALLS.items():
        for name, arguments, keywords in calls:
            function = getattr(module, name)
            known = inspect.signature(function).parameters
            for place, p in enumerate(known):
                if p not in (*INTEGERS, "eps", "dtype") or name in ("to_float8", "scatter_add"):
                    continue
                for bad in BAD_NUMBERS:
                    if p == "eps" and isinstance(bad, (float, int)) and bad == bad:
                        continue
                    changed, named = list(arguments), dict(keywords)
                    if known[p].kind is not known[p].KEYWORD_ONLY and place < len(changed):
                        changed[place] = bad
                    else:
                        named[p] = bad
                    tried += 1
                    with pytest.raises((TypeError, ValueError), match=p):
                        function(*changed, **named)
    assert tried > 500
