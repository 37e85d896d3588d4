"""The ufuncs of labelled arrays: pandas and xarray dispatch by __array_ufunc__ and keep their labels; the bits are those of the arrays inside."""

import numpy as np
import pytest

import repmath

X = np.array([0.1, 0.5, 2.0], np.float32)


def test_pandas():
    pandas = pytest.importorskip("pandas")
    series = pandas.Series(X, index=["a", "b", "c"], name="x")
    found = repmath.exp(series)
    assert isinstance(found, pandas.Series) and list(found.index) == ["a", "b", "c"] and found.name == "x"
    assert found.dtype == np.float32 and found.to_numpy().tobytes() == repmath.exp(X).tobytes()
    other = pandas.Series(X, index=["c", "b", "a"])  # aligned by label before the sum
    assert repmath.add(series, other).to_numpy().tobytes() == repmath.add(X, X[::-1]).tobytes()
    frame = pandas.DataFrame({"x": X, "y": X + 1})
    assert repmath.log(frame)["y"].to_numpy().tobytes() == repmath.log(X + 1).tobytes()
    assert repmath.sum(series.to_numpy()) == repmath.sum(X)


def test_xarray():
    xarray = pytest.importorskip("xarray")
    array = xarray.DataArray(np.stack([X, X + 1]), dims=("row", "column"), coords={"row": [10, 20]})
    found = repmath.exp(array)
    assert isinstance(found, xarray.DataArray) and found.dims == array.dims and list(found.row) == [10, 20]
    assert found.values.tobytes() == repmath.exp(array.values).tobytes()
    total = repmath.add(array, array[0])  # broadcast by the names of the axes
    assert total.values.tobytes() == repmath.add(array.values, X).tobytes()
    means = xarray.apply_ufunc(repmath.mean, array, input_core_dims=[["column"]], kwargs={"axis": -1})
    assert means.dims == ("row",) and means.values.tobytes() == repmath.mean(array.values, axis=-1).tobytes()
