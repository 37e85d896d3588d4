"""Normalizations of which an element, or an element of a gradient, is beside a tie: eps is chosen so."""

import functools
import itertools
from fractions import Fraction

import mpmath
import numpy as np
from exact_oracle import bits, number, rational_of, rounded
from normalization_library import geometry
from real_oracle import fraction
from statistics_library import dtype_of

NORMS = ["layer", "rms", "group", "batch"]
PARTS = ["result", "by x", "by w"]
BITS = 700


def rationals(x):
    return [Fraction(float(v)) for v in np.ravel(x)]


def real(v):
    return mpmath.mpf(v.numerator) / v.denominator


class Element:
    """One element of the result or of a gradient: a sum of P/sqrt(V + eps) (1 - Q/(V + eps)) over sets, and a constant."""

    def __init__(self, norm, x, w, b, g, part, at):
        self.terms, self.constant = [], Fraction(0)
        weights, biases = rationals(w), rationals(b)
        for members in geometry(norm, x)[1].values():
            place = [j for j, (i, k) in enumerate(members) if (k == at if part == "by w" else i == at)]
            if not place:
                continue
            v, gs = (rationals([a[i] for i, _ in members]) for a in (x, g))
            n, ks = len(v), [k for _, k in members]
            mean = Fraction(0) if norm == "rms" else sum(v) / n
            variance = sum((a - mean) ** 2 for a in v) / n
            if part == "result":
                self.terms.append(((v[place[0]] - mean) * weights[ks[place[0]]], variance, Fraction(0)))
                self.constant = biases[ks[place[0]]]
            elif part == "by w":
                self.terms.append((sum(gs[j] * (v[j] - mean) for j in place), variance, Fraction(0)))
            else:
                h = [a * weights[k] for a, k in zip(gs, ks, strict=True)]
                first = Fraction(0) if norm == "rms" else sum(h) / n
                second = sum(a * (c - mean) for a, c in zip(h, v, strict=True)) / n
                self.terms.append((h[place[0]] - first, variance, (v[place[0]] - mean) * second))

    def __call__(self, eps):
        out = real(self.constant)
        for p, variance, q in self.terms:
            v = real(variance) + eps
            out += (real(p) - real(q) / v) / mpmath.sqrt(v)
        return out


def beside_tie(element, fmt, start):
    """The two neighbours of an eps near `start` at which the element is a tie of the format, the tie, and how near they come to it."""
    with mpmath.workprec(BITS):
        begin = element(mpmath.mpf(start))
        dtype = dtype_of(fmt)
        code = rounded(fraction(begin), dtype)
        near = [rational_of(c, fmt) for c in (code - 1, code, code + 1)]
        ties = [(a + b) / 2 for a, b in zip(near, near[1:], strict=False)]
        away = element(mpmath.mpf(start) * 2) - begin
        ties = [t for t in ties if (real(t) - begin) * away > 0]  # reached by more eps
        if not ties:
            return None
        tie = real(ties[0])
        low, high = mpmath.mpf(start), mpmath.mpf(start) * 2
        for _ in range(40):  # one step moves far enough
            if (element(high) - tie) * (begin - tie) < 0:
                break
            low, high = high, high * 2
        else:
            return None
        eps = mpmath.findroot(
            lambda e: element(e) - tie, (low, high), solver="anderson", tol=mpmath.ldexp(1, -500), verify=False
        )
        if not low <= eps <= high:
            return None
        below = float(eps)
        below = below if mpmath.mpf(below) <= eps else float(np.nextafter(below, 0))
        above = float(np.nextafter(below, np.inf))
        distance = max(abs(element(mpmath.mpf(e)) - tie) / abs(tie) for e in (below, above))
        return below, above, ties[0], distance


def erring_set(fmt, lanes, side):
    """Numbers whose squares are added in chains of 32 (src/nn/rows/step.h): a big one, and others of half a place of its square and a
    hair, so that each addition rounds up (side +1) or down."""
    heads = 4 * lanes
    big = 2.0**8 if fmt == "f16" else 1.0
    small = np.array(big * 2.0**-26.5).astype(dtype_of(fmt))
    unit = Fraction(big) ** 2 / 2**53
    while (Fraction(float(small)) ** 2 > unit) != (side > 0):
        small = number(int(bits(small)) + side, small.dtype)
    x = np.full(32 * heads, small)
    x[:heads] = big
    x[1:heads:2] = -big
    return x.astype(dtype_of(fmt))


def case(norm, fmt, lanes, side, seed):
    """Sets of adversarial squares, or small ones; the weights and the gradient are random."""
    rng = np.random.default_rng(seed)
    dtype = dtype_of(fmt)
    if lanes and norm in ("layer", "rms"):
        x = erring_set(fmt, lanes, side)[None, None]
    elif lanes:  # sets are of blocks: the chains are along one of them
        x = np.tile(erring_set(fmt, lanes, side), (1, 2, 1))
    else:
        x = rng.standard_normal((2, 4, 5) if norm != "group" else (2, 2, 9)).astype(dtype)
    n = x.shape[2] if norm in ("layer", "rms") else x.shape[1]
    w, b, g = ((1 + rng.random(s)).astype(dtype) for s in (n, n, x.shape))
    g = np.where(rng.random(g.shape) < 0.5, g, -g).astype(dtype)
    return x, w, (b - dtype.type(1)).astype(dtype), g


@functools.cache
def boundary_cases(norm, fmt, part, biased=True, count=9):
    cases = []
    for seed, (lanes, side) in enumerate([(0, 1), *itertools.product((1, 2, 4, 8), (1, -1))][:count]):
        x, w, b, g = case(norm, fmt, lanes, side, seed)
        at = 0 if part == "by w" else (0, 0, 0)
        b = b if biased else np.zeros_like(b)
        element = Element(norm, x, w, b, g, part, at)
        variance = float(element.terms[0][1])
        start = variance * (2.0**-53 if fmt == "f64" else 2.0**-20)
        found = beside_tie(element, fmt, start)
        if found is not None:
            cases.append((x, w, b, g, element, at, found))
    return cases
