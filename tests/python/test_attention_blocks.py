"""Attention in blocks of rows, which leave out keys that a mask hides from all of their rows, has the bits of attention in one piece."""

import numpy as np
import pytest
from exact_oracle import bits
from numpy_dtypes import DTYPES

from repmath import nn
from repmath.nn import _attention as attention

LENGTH, KEYS = 23, 19


@pytest.fixture(params=DTYPES, ids=lambda d: d.name)
def arrays(request):
    rng = np.random.default_rng(9)
    shapes = (2, 3, LENGTH, 4), (2, 3, KEYS, 4), (2, 3, KEYS, 5), (2, 3, LENGTH, 5)
    return [rng.standard_normal(shape).astype(request.param) for shape in shapes]


def masks(dtype):
    causal, padding = np.tri(LENGTH, KEYS, dtype=bool), np.arange(KEYS) < np.array([11, 7]).reshape(2, 1, 1, 1)
    left = np.arange(KEYS) >= 4
    added = np.where(causal, np.linspace(-1, 1, KEYS), -np.inf).astype(dtype)
    return {
        "causal": causal,
        "causal and padding": causal & padding & left,
        "padding": padding,
        "none for some": causal & (np.arange(LENGTH)[:, None] >= 9),
        "none": np.zeros((1, 1), bool),
        "numbers": added,
        "NaN behind": np.where(np.arange(KEYS) == 17, np.array(np.nan, dtype), added),
    }


def run(case, q, k, v, g):
    options = {"is_causal": True} if case is None else {"attn_mask": case}
    return [
        nn.scaled_dot_product_attention(q, k, v, **options),
        *nn.scaled_dot_product_attention_backward(g, q, k, v, **options),
    ]


def check(monkeypatch, case, *given):
    """Whether both ways have the same bits; and how many calls found blocks."""
    found, whole = [], attention._blocks
    want = run(case, *given)
    with monkeypatch.context() as patch:
        patch.setattr(attention, "_WORTH", 0)
        patch.setattr(attention, "_ROWS", 4)
        patch.setattr(attention, "_blocks", lambda *a: found.append(whole(*a)) or found[-1])
        got = run(case, *given)
    same = [(bits(a) == bits(b)).all() for a, b in zip(got, want, strict=True)]
    return all(same), sum(map(bool, found))


@np.errstate(all="ignore")
def test_masks(monkeypatch, arrays):
    for name, mask in {**masks(arrays[0].dtype), "is_causal": None}.items():
        same, blocks = check(monkeypatch, mask, *arrays)
        assert same and blocks == 2 * (name != "NaN behind"), name


@np.errstate(all="ignore")
@pytest.mark.parametrize("which", range(4))
def test_numbers_that_are_not_finite(monkeypatch, arrays, which):
    """A product with a weight of 0 is NaN, so that hidden keys matter."""
    for value in (np.nan, np.inf):
        given = [a.copy() for a in arrays]
        given[which][1, 2, 17, 1] = value
        for mask in (None, masks(given[0].dtype)["padding"]):
            same, blocks = check(monkeypatch, mask, *given)
            assert same and blocks == (which == 3)


@np.errstate(all="ignore")
def test_overflow(monkeypatch, arrays):
    """Scores beyond the format make rows of NaN; and gradients of hidden weights beyond it do."""
    most = 2.0 ** {"float16": 15, "bfloat16": 127, "float32": 127, "float64": 1023}[arrays[0].dtype.name]
    for q_times, g_times in ((most / 64, 1), (1, most / 8)):
        q, k, v, g = arrays
        for sign in (1, -1):
            given = (q * q.dtype.type(q_times) * sign).astype(q.dtype), k * k.dtype.type(64), v, g * g.dtype.type(g_times)
            assert check(monkeypatch, None, *(a.astype(q.dtype) for a in given))[0]


def test_control(monkeypatch, arrays):
    """One key less than a row may see changes results."""
    whole = attention._blocks
    monkeypatch.setattr(attention, "_blocks", lambda *a: [(rows, max(1, reach - 1)) for rows, reach in whole(*a)])
    assert not check(monkeypatch, None, *arrays)[0]
