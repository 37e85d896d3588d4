"""rm_nll_loss and its gradient against exact rationals, in every format; repmath.nn's function of them."""

import ctypes
from fractions import Fraction

import numpy as np
import pytest
from exact_oracle import CANONICAL_NAN, bits, rounded
from nll_library import NAMES, S, backward, forward, problem
from reductions_library import ENUM, NULL, OVERLAP, SIZE, pointer, status
from statistics_library import dtype_of

INDEX = 12


def real(v):
    return Fraction(float(v))


@pytest.mark.sample(4)
@pytest.mark.parametrize("fmt", NAMES)
def test_values(isa_library, fmt):
    rng = np.random.default_rng(5)
    dtype = dtype_of(fmt)
    for rows, n in ((1, 1), (7, 3), (40, 5), (600, 2)):
        for scale in (1.0, 2.0**-14, "cancel")[: 3 if rows < 600 else 1]:
            x = rng.standard_normal((rows, n)) * (1.0 if scale == "cancel" else scale)
            x = (np.where(rng.random(x.shape) < 0.5, 512.0, -512.0) + x if scale == "cancel" else x).astype(dtype)
            target = rng.integers(0, n, rows)
            target[rng.random(rows) < 0.2] = -100
            target[0] = 0
            for weight in (None, rng.random(n).astype(dtype), np.round(rng.standard_normal(n) * 2 + 5).astype(dtype)):
                w = [Fraction(1)] * n if weight is None else [real(v) for v in weight]
                kept = [(i, t) for i, t in enumerate(target) if t >= 0]
                each = [-real(x[i, t]) * w[t] if t >= 0 else Fraction(0) for i, t in enumerate(target)]
                divisor = sum(w[t] for _, t in kept)
                for reduction, want in enumerate((each, [sum(each) / divisor], [sum(each)])):
                    assert forward(isa_library, fmt, x, target, weight, reduction) == [rounded(v, dtype) for v in want]
                    g = rng.standard_normal(rows if reduction == 0 else 1).astype(dtype)
                    gradient = [[0] * n for _ in range(rows)]
                    for i, t in kept:
                        v = -real(g[i if reduction == 0 else 0]) * w[t]
                        gradient[i][t] = rounded(v / divisor if reduction == 1 else v, dtype)
                    assert backward(isa_library, fmt, g, x, target, weight, reduction) == gradient


@pytest.mark.parametrize("fmt", NAMES)
def test_special(isa_library, fmt):
    dtype, nan = dtype_of(fmt), CANONICAL_NAN[fmt]
    inf, sign = int(bits(np.array(np.inf, dtype))), 1 << (8 * dtype.itemsize - 1)
    x = np.array([[-np.inf, 1.0], [np.inf, 2.0], [np.nan, 3.0]], dtype)
    target, ignored = np.array([0, 0, 0]), np.full(3, -100)
    assert forward(isa_library, fmt, x, target, None, 0) == [inf, inf | sign, nan]
    assert forward(isa_library, fmt, x, target, None, 1) == [nan]
    assert forward(isa_library, fmt, x[:1], target[:1], None, 1) == [inf]
    assert forward(isa_library, fmt, x, ignored, None, 0) == [0, 0, 0]
    assert forward(isa_library, fmt, x, ignored, None, 1) == [nan] and forward(isa_library, fmt, x, ignored, None, 2) == [0]
    zero = np.zeros(2, dtype)
    assert forward(isa_library, fmt, x, target, zero, 0) == [nan, nan, nan]
    assert forward(isa_library, fmt, x[:, 1:], target, zero, 1) == [nan]
    assert backward(isa_library, fmt, np.array([np.inf], dtype), x[:, 1:], target, None, 2) == [[inf | sign]] * 3
    assert backward(isa_library, fmt, np.ones(1, dtype), x, target, zero, 1) == [[nan, 0]] * 3


def test_bad_arguments(isa_library):
    x, out = np.ones((2, 3), "f4"), np.full(2, 7, "f4")
    four = S(4)

    def call(p, fmt=2, to=out):
        return isa_library.rm_nll_loss(fmt, ctypes.byref(p) if p is not None else None, pointer(to), four)

    good = problem(x, np.array([0, 2]), None, 0)
    assert call(good, fmt=4) == status(ENUM, 1) and call(None) == status(NULL, 2)
    assert call(good, to=None) == status(NULL, 3) and call(good, to=x) == status(OVERLAP, 3)
    for name, value, code in (("rows", -1, SIZE), ("reduction", 3, ENUM), ("x", None, NULL), ("target", None, NULL)):
        bad = problem(x, np.array([0, 2]), None, 0)
        setattr(bad, name, value)
        assert call(bad) == status(code, 2), name
    for target in ([0, 3], [-1, 0]):
        assert call(problem(x, np.array(target), None, 0)) == status(INDEX, 2)
    assert (out == 7).all()


def test_python():
    from repmath import nn

    x = np.array([[[1.0, 2.0], [3.0, 5.0]]], "f4")  # (1, 2 classes, 2)
    assert nn.nll_loss(x, [[0, 1]], reduction="none").tolist() == [[-1.0, -5.0]]
    assert nn.nll_loss(x, [[0, 1]], weight=[1.0, 3.0]) == -4 and nn.nll_loss(x[0], [1, -100], ignore_index=-100) == -2
    assert nn.nll_loss(x[0, 0], 1) == -2
    got = nn.nll_loss_backward(np.float32(2), x, [[0, 1]])
    assert got.shape == x.shape and got.tolist() == [[[-1.0, 0.0], [0.0, -1.0]]]
    with pytest.raises(IndexError, match="target"):
        nn.nll_loss(x, [[0, 2]])
    with pytest.raises(TypeError, match="target"):
        nn.nll_loss(x, [[0.5, 1.0]])
    with pytest.raises(ValueError, match="target"):
        nn.nll_loss(x, [0, 1])
    with pytest.raises(ValueError, match="grad_output"):
        nn.nll_loss_backward(np.ones(2, "f4"), x, [[0, 1]])
