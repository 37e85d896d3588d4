"""Whether a sum of factors times logarithms of polynomials is 0 (src/nn/cross_entropy/logarithms.c), against products that are multiplied out, exactly, under the
sanitizers: sums that are 0 by their construction, and the same with one coefficient, exponent or factor changed."""

import itertools
import math
import subprocess
from fractions import Fraction

import numpy as np
import pytest
from logit_relations import RELATIONS, polynomial, times
from native import ASAN_ENVIRONMENT, ASAN_FLAGS, ROOT, need, run

NONE = -math.inf


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    (cc,) = need("cc")
    path = tmp_path_factory.mktemp("logarithms") / "logarithms"
    run(
        cc,
        "-std=gnu11",
        "-O1",
        "-w",
        *ASAN_FLAGS.split(),
        ROOT / "tests/c/logarithms.c",
        ROOT / "src/nn/cross_entropy/logarithms.c",
        "-o",
        path,
    )
    return path


def parts(value):
    high = float(value)
    low = float(Fraction(value) - Fraction(high))
    assert Fraction(high) + Fraction(low) == value
    return f"{high!r} {low!r}"


def ask(program, sums):
    lines = []
    for rows, factors, least in sums:
        lines.append(f"{least} {len(rows)}")
        for row, factor in zip(rows, factors, strict=True):
            lines.append(f"{parts(Fraction(factor))} {len(row)}")
            lines += [f"{parts(-Fraction(e))} {count}" for e, count in sorted(row.items())]
    done = subprocess.run([program], input="\n".join(lines) + "\n", capture_output=True, text=True, env=ASAN_ENVIRONMENT)
    assert done.returncode == 0, done.stderr[-4000:]
    return [int(v) for v in done.stdout.split()]


def is_zero(rows, factors, least):
    """By multiplying out; the factors are multiples of 1/4."""
    whole = [int(4 * Fraction(f)) for f in factors]
    common = math.gcd(*whole) or 1
    sides = []
    for sign in (1, -1):
        heads = [{e: n for e, n in row.items() if -e >= least} for row in rows]
        sides.append(times(*(h for h, f in zip(heads, whole, strict=True) for _ in range(max(0, sign * f // common)))))
    return int(sides[0] == sides[1])


def spread(rows, unit):
    return [{Fraction(unit) * e: n for e, n in row.items()} for row in rows]


def sums(rng):
    """Sums that are 0, and the same with a small change."""
    unit = Fraction(int(rng.integers(1, 2**20)), 2 ** int(rng.integers(0, 40)))
    if rng.random() < 0.5:
        rows, factors = RELATIONS[int(rng.integers(len(RELATIONS)))]
        rows = spread(rows, unit)
    else:  # of two or three variables
        units = [Fraction(int(v), 2**24) for v in rng.integers(1, 2**30, 3)]
        atoms = [{u * e: n for e, n in polynomial(1, *rng.integers(0, 3, rng.integers(1, 4))).items()} for u in units]
        powers = rng.integers(0, 2, (3, 3))
        rows = [times(*(a for a, k in zip(atoms, each, strict=True) if k)) for each in powers] + atoms
        first = [int(v) for v in rng.integers(-2, 3, 3)]
        factors = first + [-int(v) for v in np.array(first) @ powers]
    yield rows, factors
    rows, i = [dict(row) for row in rows], int(rng.integers(len(rows)))
    exponents = sorted(rows[i])
    what = rng.random()
    if what < 0.3:
        factors = list(factors)
        factors[i] += 0.25
    elif what < 0.6:
        rows[i][exponents[int(rng.integers(len(exponents)))]] += 1
    elif what < 0.8:
        rows[i] = {e: 2 * n for e, n in rows[i].items()}  # only the constant
    else:
        last = rows[i].pop(exponents[-1])
        rows[i][exponents[-1] + unit * int(rng.choice([1, 7, 1000]))] = last if len(exponents) > 1 else 1
        rows[i].setdefault(Fraction(0), 1)
    yield rows, factors


@pytest.mark.long
def test_random_sums(program):
    asked, wanted = [], []
    for seed in range(60):
        for rows, factors in sums(np.random.default_rng(seed)):
            exponents = sorted({e for row in rows for e in row})
            for least in (NONE, -float(exponents[len(exponents) // 2])):
                asked.append((rows, factors, least))
                wanted.append(is_zero(rows, factors, least))
    found = ask(program, asked)
    wrong = [(a, b, c) for a, b, c in zip(asked, found, wanted, strict=True) if b != c]
    assert not [w for w in wrong if w[1] > w[2]]  # never a sum that is not 0
    assert not wrong, (len(wrong), wrong[0])
    assert 60 < sum(wanted) < len(wanted) - 60


def test_sums_that_vanish_to_a_high_order(program):
    """Only the last coefficients differ, or one in the middle, or what one prime divides."""
    one = polynomial(1, 1)
    for far in (2, 63, 64, 65, 4000, 2**18):
        rows = [times(one, {0: 1, far: 1}), one, {0: 1, far: 1}, {0: 1, far + 1: 1}]
        asked = [
            (rows, w, NONE)
            for w in ([1, -1, -1, 0], [1, -1, 0, 0], [1, -1, 0, -1], [1, -1, -2, 1], [2**61 - 1, 1 - 2**61, 0, 0])
        ]
        assert ask(program, asked) == [1, 0, 0, 0, 0]
        assert ask(program, [(rows, [1, -1, 0, 0], -far + 0.5)]) == [1]
        assert ask(program, [(spread(rows, Fraction(1, 2**1000)), [1, -1, -1, 0], NONE)]) == [1]


def test_large_factors_and_exponents(program):
    """Factors of thousands of bits, and exponents from one end of binary64 to the other."""
    for (rows, factors), scale in itertools.product(RELATIONS, (Fraction(2) ** 900 + 1, Fraction(1) + Fraction(1, 2**1000))):
        assert ask(program, [(rows, [scale * Fraction(f) for f in factors], NONE)]) == [1]
    a, b = {0: 1, Fraction(2) ** 1000: 1}, {0: 1, Fraction(1, 2**1000): 1}
    assert ask(program, [([a, b, times(a, b)], [1, 1, -1], NONE), ([a, b, times(a, b)], [1, 1, -2], NONE)]) == [1, 0]
    assert ask(program, [([{0: 1}, {0: 2}, {0: 4}], [5, 2, -1], NONE), ([{0: 3}, {0: 2}], [5, -8], NONE)]) == [1, 0]
