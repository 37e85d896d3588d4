"""Arguments whose results lie beside the middle of two numbers."""

import gmpy2
import numpy as np


def multiples_beside_ties(factor, count):
    """Integers n below 2^52 for which n times the factor is near half an integer: random ones, to which denominators of convergents below a random
    power of two are added while that brings them nearer."""
    denominators, rest = [0, 1], factor
    while denominators[0] < 2**51:
        term = int(rest)
        denominators = [term * denominators[0] + denominators[1], *denominators]
        rest = 1 / (rest - term)
    rng, found = np.random.default_rng(24), []
    for n, bits in zip(rng.integers(2**51, 2**52 - 2**49, count).tolist(), rng.integers(20, 51, count).tolist(), strict=True):
        for q in sorted(q for q in denominators if 0 < q < 2**bits):
            n -= q * int(gmpy2.rint(off_tie(n * factor) / (off_tie(q * factor + 0.5))))
        if 0 < n < 2**52:
            found.append(n)
    return found


def off_tie(v):
    """The distance to the nearest half of an integer, with its sign."""
    return v - gmpy2.floor(v) - 0.5


def tiny(function):
    """Different subnormal numbers whose results, a constant times them, are beside ties: some within 2^-40 of a unit."""
    with gmpy2.context(gmpy2.context(), precision=300):
        root = gmpy2.sqrt(gmpy2.const_pi()) / 2
        factor = root if function == "erfinv" else 1 / root
        beside = sorted(set(multiples_beside_ties(factor, 500)))
        away = [abs(off_tie(n * factor)) for n in beside]
        assert len(beside) > 200 and max(away) < 2**-10 and min(away) < 2**-40
    return np.array(beside) * 2.0**-1074
