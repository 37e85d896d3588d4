"""Every public function of NumPy arrays in scopes of repmath.rounding: what rounds differs between samples, and what rounds nothing is named here."""

import numpy as np
import pytest
from scope_walk import BESIDE, CALLS, EXACT, LINES, A, B, differ, rounds_nothing, run

import repmath
from repmath import _core, nn, rounding


@pytest.mark.parametrize("mode", ["random", "up_down"])
@pytest.mark.parametrize(("function", "arguments", "keywords"), CALLS)
def test_nothing_rounds_to_nearest_unnoticed(function, arguments, keywords, mode):
    name = function.__name__
    found, calls = differ(function, arguments, keywords, mode)
    if rounds_nothing(function):
        plain = run(function, arguments, keywords)
        with rounding.scope(mode, seed=3) as block:
            made = run(function, arguments, keywords)
        assert block.calls == calls == 0
        assert [v.tobytes() for v in made] == [v.tobytes() for v in plain]
    elif name == "matrix_rank":
        assert found == [(False, "i")]
    elif not (name in EXACT and mode == "random"):
        assert calls and all(
            moved or (name in BESIDE and (kind in "ib" or i == 0)) for i, (moved, kind) in enumerate(found)
        ), found
        assert any(moved for moved, _ in found)


@pytest.mark.parametrize(("function", "arguments", "keywords"), CALLS)
def test_stochastic_too(function, arguments, keywords):
    """Every function takes the mode, and has the same bits again."""
    made = []
    for _ in range(2):
        with rounding.scope("stochastic", seed=3, sample=5) as block:
            made.append([v.tobytes() for v in run(function, arguments, keywords)])
    assert made[0] == made[1] and (block.calls > 0) == (not rounds_nothing(function))


def test_what_rounds_to_nearest_is_seen(monkeypatch):
    """A control: a function that is as outside."""
    x = np.array([0.1, 0.7, 1.3], "f4")
    assert differ(nn.softmax, (x,), {}, "random")[0] == [(True, "f")]
    plain = nn.softmax(x)
    monkeypatch.setitem(repmath._scope._HANDLERS, "softmax", lambda *arguments, **words: plain)
    assert differ(nn.softmax, (x,), {}, "random")[0] == [(False, "f")]


@pytest.mark.parametrize("mode", ["random", "up_down"])
def test_elementwise_functions(mode):
    x = np.array([0.3, 0.7, 0.9], "f4")
    still = {"negative", "positive", "absolute", "maximum", "minimum", "fmax", "fmin"}
    for name, ufunc in _core.ufuncs.items():
        first = x + 1 if name in ("acosh", "log") else x
        arguments = tuple(first * np.float32(7.3) ** k for k in range(ufunc.nin))
        assert np.isfinite(ufunc(*arguments)).all(), name
        assert differ(ufunc, arguments, {}, mode)[0] == [(name not in still, "f")], name
    for name, ufunc in _core.powers.items():
        assert differ(ufunc, (x, np.int64(3)), {}, mode)[0] == [(True, "f")], name


@pytest.mark.parametrize("mode", rounding.RANDOM_MODES)
@pytest.mark.parametrize(("module", "name", "arguments", "keywords"), LINES)
def test_array_api(module, name, arguments, keywords, mode):
    """Numbers whose quotients are whole are not among these arguments, but for one that is below 1 and 0."""
    if name == "floor_divide":
        arguments = (A * np.float32(1e9), B)
    found, calls = differ(getattr(module, name), arguments, keywords, mode)
    assert calls and any(moved for moved, _ in found) and (name in BESIDE or all(moved for moved, _ in found))
