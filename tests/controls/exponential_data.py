"""Data of bound_data.py beside boundaries of rounding for rows of binary64 with exponentials: the last logit is solved for, and takes what the others leave of
their sum."""

import math

import mpmath
import numpy as np
from cross_entropy_library import NONE, backward, problem
from softmax_library import result


def beside(value):
    """The binary64 numbers next to a value, and the value's own."""
    middle = float(value)
    return [math.nextafter(middle, -math.inf), middle, math.nextafter(middle, math.inf)]


def exponentials_in_two_parts(lib, rng):
    """Softmax of the second logit, and log_softmax of the first."""
    soft, logs = [], []
    with mpmath.workprec(300):
        exp, log, expm1 = (lambda v, f=f: f(mpmath.mpf(v)) for f in (mpmath.exp, mpmath.log, mpmath.expm1))
        for _ in range(150):
            a, b = rng.uniform(-8, -0.1, 2).tolist()
            below = exp(a) / (1 + exp(a) + exp(b))
            y = float(below)
            y = y if y < below else math.nextafter(y, 0.0)
            rest = exp(a) / (mpmath.mpf(y) - mpmath.mpf(math.ulp(y)) / 2) - (1 + exp(a) + exp(b))
            soft += [[0.0, a, b, c] for c in beside(log(rest))]
            y = float(log(1 + exp(b)))
            logs += [[0.0, b, c] for c in beside(log(expm1(mpmath.mpf(y) + mpmath.mpf(math.ulp(y)) / 2) - exp(b))) if c < b]
    found = result(lib, "softmax", "f64", np.array(soft)).ravel().tolist()
    return found + result(lib, "log_softmax", "f64", np.array(logs)).ravel().tolist()


def tiny_exponentials(lib, rng):
    """Softmax of the second logit, below the normal range."""
    soft = []
    with mpmath.workprec(300):
        for _ in range(150):
            middle = (mpmath.mpf(int(rng.integers(1, 2**40))) + 0.5) * mpmath.mpf(2) ** -1074
            a = math.nextafter(float(mpmath.log(middle)), 0.0)
            rest = mpmath.exp(mpmath.mpf(a)) / middle - 1
            b = math.nextafter(float(mpmath.log(rest)), -math.inf)
            c = float(mpmath.log(rest - mpmath.exp(mpmath.mpf(b))))
            soft += [[0.0, a, b, v] for v in beside(c)]
    return result(lib, "softmax", "f64", np.array(soft)).ravel().tolist()


def weighted_classes_in_two_parts(lib, rng):
    """The gradient of cross entropy at the second class, by the probability of the third one, with smoothing and without."""
    found = []
    with mpmath.workprec(300):
        for k in range(240):
            smoothing = 0.25 if k % 2 else 0.0
            x = [0.0, *rng.uniform(-3, -0.1, 2).tolist()]
            p, q = rng.uniform(0.2, 0.9, 2).tolist()
            e = [mpmath.exp(mpmath.mpf(v)) for v in x]
            share = e[1] / mpmath.fsum(e)
            y = ((1 - smoothing) * q + mpmath.mpf(smoothing) / 3) - share * (
                (1 - smoothing) * (mpmath.mpf(p) + q) + smoothing
            )
            near = float(y)
            near = near if near < y else math.nextafter(near, -math.inf)
            rest = (y - (mpmath.mpf(near) - mpmath.mpf(math.ulp(near)) / 2)) / share / (1 - smoothing)
            rows = np.array([[p, q, r] for r in beside(rest)])
            xs = np.tile(x, (len(rows), 1))
            gradient = backward(lib, "f64", problem(xs, None, rows, None, smoothing, NONE), np.ones(len(rows)))
            found += gradient[:, 1].tolist()
    return found
