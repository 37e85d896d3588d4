"""Stochastic erfinv and ndtri of float64, by enclosures: against values of 320 digits and their words."""

import gmpy2
import numpy as np
import pytest
import rounding_oracle

from repmath import _random_inverses, _random_modes, rounding

SEED, STREAM = 3, 9
rng = np.random.default_rng(8)
ARGUMENTS = {
    "erfinv": np.concatenate([rng.uniform(-1, 1, 40), [1 - 2.0**-53, 2.0**-300, 1e-5, -1 + 2.0**-50, 2.0**-1070]]),
    "ndtri": np.concatenate([rng.uniform(0, 1, 40), [1e-300, 2.0**-1074, 1 - 2.0**-53, 0.5 + 2.0**-53, 1e-20]]),
}


def wrong(name):
    x = ARGUMENTS[name]
    made = getattr(rounding, name)(x, "stochastic", seed=SEED, stream=STREAM).view("u8").tolist()
    words = rounding_oracle.words(SEED, STREAM, 0, x.size).tolist()
    exact = [rounding_oracle.exact_value(name, [v]) for v in x.tolist()]
    return sum(b != rounding_oracle.rounded(v, "f64", "stochastic", w) for b, v, w in zip(made, exact, words, strict=True))


@pytest.mark.parametrize("name", ARGUMENTS)
def test_values(name):
    assert wrong(name) == 0


@pytest.mark.parametrize("name", ARGUMENTS)
def test_words_of_other_elements_are_seen(monkeypatch, name):
    """A control."""
    other = lambda name, x, at, out: _random_inverses.elementwise(name, x, (*at[:3], 1), out)  # noqa: E731
    monkeypatch.setitem(_random_modes.BY_ENCLOSURES, name, other)
    assert wrong(name) > 0


@pytest.mark.parametrize("y", [2.0**-40, 0.3, 1.0, 5.8, 26.0])
def test_erf_is_enclosed(y):
    made = _random_inverses.erf(_random_inverses.Fraction(y), 900)
    with gmpy2.context(precision=6000):
        value = gmpy2.mpq(gmpy2.erf(gmpy2.mpfr(y)))
    assert gmpy2.mpq(made.low) < value < gmpy2.mpq(made.high) and made.high - made.low < _random_inverses.Fraction(1, 2**800)


def test_special_values_and_flags():
    with np.errstate(all="ignore"):
        made = rounding.erfinv(np.array([0.0, -0.0, 1.0, -1.0, 2.0, np.nan]), "stochastic")
        assert made[:4].tolist() == [0, 0, np.inf, -np.inf] and np.signbit(made[1]) and np.isnan(made[4:]).all()
        assert rounding.ndtri(np.array([0.5, 0.0, 1.0]), "stochastic").tolist() == [0.0, -np.inf, np.inf]
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        rounding.erfinv(np.array([1.0]), "stochastic")
