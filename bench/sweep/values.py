"""The data of the sweep: its values decide whether they meet a library's slow paths."""

import numpy as np

# By format: the least exponent of a normal number, the greatest, and the bits of the significand.
FORMATS = {"f32": (-126, 127, 24), "f64": (-1022, 1023, 53), "bf16": (-126, 127, 8), "f16": (-14, 15, 11)}


def gaussian(rng, shape, fmt):
    return rng.standard_normal(shape)


def masked(rng, shape, fmt):
    """Beyond the diagonal of the last two axes -inf, as in the scores of causal attention."""
    x = rng.standard_normal(shape)
    if x.ndim == 0:
        return x
    columns = np.arange(x.shape[-1])
    rows = np.arange(x.shape[-2])[:, None] * (x.shape[-1] / x.shape[-2]) if x.ndim > 1 else x.shape[-1] // 2
    return np.where(columns > rows, -np.inf, x)


def some(rng, x, value, every=64):
    """x with the value at about one in so many places, one at least."""
    at = rng.random(x.shape) < 1 / every
    at.reshape(-1)[:1] = True
    return np.where(at, value, x)


def nan(rng, shape, fmt):
    return some(rng, rng.standard_normal(shape), np.nan)


def inf(rng, shape, fmt):
    return some(rng, rng.standard_normal(shape), np.inf)


def zeros(rng, shape, fmt):
    return np.zeros(shape)


def relu(rng, shape, fmt):
    return np.maximum(rng.standard_normal(shape), 0)


def onehot(rng, shape, fmt):
    x = np.zeros(shape)
    if x.ndim and x.size:
        rows = x.reshape(-1, x.shape[-1])
        rows[np.arange(len(rows)), rng.integers(0, x.shape[-1], len(rows))] = 1
    return x


def integers(rng, shape, fmt):
    return rng.integers(-8, 9, shape).astype("f8")


def powers(rng, shape, fmt):
    return np.ldexp(rng.choice([-1.0, 1.0], shape), rng.integers(-4, 5, shape))


def constant(rng, shape, fmt):
    return np.full(shape, 0.7)


def subnormal(rng, shape, fmt):
    least, _, bits = FORMATS[fmt]
    return np.ldexp(np.trunc(rng.standard_normal(shape) * 2.0 ** (bits - 3)), least - bits + 1)


def wide(rng, shape, fmt):
    """Exponents over half of the format's range, of both signs."""
    least, most, _ = FORMATS[fmt]
    return np.ldexp(rng.uniform(1, 2, shape) * rng.choice([-1.0, 1.0], shape), rng.integers(least // 2, most // 2 + 1, shape))


def sharp(rng, shape, fmt):
    """One element of a row far above the rest, as in the scores of a trained classifier."""
    x = rng.standard_normal(shape)
    return x + 30 * onehot(rng, shape, fmt)


def ties(rng, shape, fmt):
    """Numbers of few bits beside 1, and half a unit of its last place: sums and products of them lie in the middle of two neighbours."""
    _, _, bits = FORMATS[fmt]
    near = 1 + rng.integers(0, 8, shape) * 2.0 ** (1 - bits)
    return np.where(rng.random(shape) < 0.5, near, 2.0**-bits) * rng.choice([-1.0, 1.0], shape)


VALUES = {
    f.__name__: f
    for f in (
        gaussian, masked, nan, inf, zeros, relu, onehot, integers, powers, constant, subnormal, wide, sharp, ties,
    )
}  # fmt: skip


def make(values, shape, fmt, seed):
    """Binary64 numbers; what they are in the format is for the library that takes them to say."""
    rng = np.random.default_rng([seed, *map(ord, values), *shape])
    return np.asarray(VALUES[values](rng, shape, fmt), "f8")
