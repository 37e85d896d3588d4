"""Random sums, products and optimiser steps against rationals: formats, shapes, strides, exponents and cancellation drawn at random."""

import numpy as np
import optimizers_oracle
from attack import numbers
from exact_oracle import FORMATS, bits, exact_bits

import repmath
from repmath import optim

NAMES = list(FORMATS)


def strided(rng, x):
    """The same numbers in another layout."""
    if x.ndim and rng.random() < 0.5:
        wide = np.ones((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
        wide[..., ::2] = x
        return wide[..., ::2]
    return np.asfortranarray(x) if rng.random() < 0.5 else x


def test_sums_and_products(attack):
    ties = 0
    for rng in attack.rounds(150):
        fmt = str(rng.choice(NAMES))
        n, k, m = (int(v) for v in rng.integers(1, 12, 3))
        k = int(rng.choice([k, 60, 200]))
        a, b, bias = numbers(rng, fmt, (n, k)), numbers(rng, fmt, (k, m)), numbers(rng, fmt, (m,))
        with np.errstate(all="ignore"):
            product = repmath.matmul(strided(rng, a), strided(rng, b), bias=bias)
            rows, total = repmath.sum(strided(rng, a), axis=1), repmath.sum(strided(rng, a))
            prefix = repmath.cumsum(a[0])
        for i in range(n):
            assert int(bits(rows[i])) == exact_bits(a[i], fmt)
            for j in rng.permutation(m)[:3]:
                assert int(bits(product[i, j])) == exact_bits([*zip(a[i], b[:, j], strict=True), bias[j]], fmt), (fmt, i, j)
        assert int(bits(total)) == exact_bits(a.ravel(), fmt)
        at = int(rng.integers(k))
        assert int(bits(prefix[at])) == exact_bits(a[0, : at + 1], fmt)
        with np.errstate(all="ignore"):
            ties += int(np.sum(np.add.accumulate(a[0]) != prefix))
    assert ties > 100  # the control: sums rounded step by step are others


def states(rng, fmt, n):
    return np.abs(numbers(rng, fmt, n))


def test_optimiser_steps(attack):
    for rng in attack.rounds(60):
        fmt, n = str(rng.choice(NAMES)), int(rng.integers(1, 9))
        p, g, m = (numbers(rng, fmt, n) for _ in range(3))
        v = states(rng, fmt, n)
        rate, decay = float(rng.choice([0.1, 1e-3, 3.0, 2.0**-7])), float(rng.choice([0.0, 0.01]))
        old = [[int(bits(x)) for x in array] for array in (p, g, m, v)]
        with np.errstate(all="ignore"):
            if rng.random() < 0.5:
                options = {"lr": rate, "momentum": float(rng.choice([0.0, 0.9])), "dampening": 0.0, "weight_decay": decay,
                           "nesterov": False, "maximize": bool(rng.random() < 0.5), "first": False}  # fmt: skip
                buffer = m if options["momentum"] else None
                optim.sgd_step(p, g, buffer, **options)
                want = [optimizers_oracle.sgd(options, fmt, a, b, c)[:2] for a, b, c, _ in zip(*old, strict=True)]
                found = [
                    (int(bits(a)), int(bits(b)) if options["momentum"] else w[1]) for a, b, w in zip(p, m, want, strict=True)
                ]
            else:
                options = {
                    "lr": rate,
                    "eps": 1e-8,
                    "weight_decay": decay,
                    "maximize": False,
                    "step": int(rng.integers(1, 400)),
                }
                optim.adam_step(p, g, m, v, betas=(0.9, 0.999), **options)
                full = options | {"beta1": 0.9, "beta2": 0.999, "decoupled": False}
                want = [optimizers_oracle.adam(full, fmt, a, b, c, d, None)[:3] for a, b, c, d in zip(*old, strict=True)]
                found = [tuple(int(bits(x)) for x in row) for row in zip(p, m, v, strict=True)]
        assert found == [tuple(w) for w in want], (fmt, options)
