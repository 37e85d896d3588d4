"""proofs/integer_powers.py: pown, rootn and compound are within what their header says; smaller statements and other tables are rejected, and what it adds
to the certificates is there at numbers near 1."""

import shutil
import sys
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from native import ROOT

sys.path.insert(0, str(ROOT))

from proofs import integer_powers  # noqa: E402


def test_the_sources_hold():
    found = dict(integer_powers.checks())
    assert len(found) == 12 and max(found.values()) <= 1


CHANGED = [
    (integer_powers.POWN, "RM_BOUND(0x1.cp-40)", "RM_BOUND(0x1.8p-40)", "e^z in binary64"),
    (integer_powers.POWN, "So z is within 132u", "So z is within 70u", "compound: z in binary64"),
    (
        integer_powers.POW,
        "RM_POW_EXPONENT_DD_ERR 0x1.28p-78",
        "RM_POW_EXPONENT_DD_ERR 0x1.b8p-79",
        "compound: z in two parts",
    ),
    (integer_powers.POW_TABLES, "-0x1.ffffffffffff3p-2, 0x1.5", "-0x1.ffff0p-2, 0x1.5", "compound: z in binary64"),
]


@pytest.mark.parametrize("path, old, new, name", CHANGED)
def test_control_smaller_statements_and_other_tables(tmp_path, path, old, new, name):
    for each in integer_powers.SOURCES:
        (tmp_path / each).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / each, tmp_path / each)
    text = (tmp_path / path).read_text()
    assert old in text
    (tmp_path / path).write_text(text.replace(old, new))
    before, after = dict(integer_powers.checks()), dict(integer_powers.checks(tmp_path))
    assert after[name] > 1 or (path == integer_powers.POW_TABLES and after[name] > 1.05 * before[name])


def test_control_another_interval_of_one(tmp_path):
    for each in integer_powers.SOURCES:
        (tmp_path / each).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / each, tmp_path / each)
    path = tmp_path / integer_powers.LOG_TABLES
    text = path.read_text()
    assert "0x3fe6800000000000" in text
    path.write_text(text.replace("0x3fe6800000000000", "0x3fe7000000000000"))
    with pytest.raises(AssertionError):
        dict(integer_powers.checks(tmp_path))


def test_what_is_said_of_sums():
    """a = RN(1 + x), e = 1 + x - a: 0 for numbers of 24 bits from 2^-29 on, else at most half of a - 1, and a logarithm that is not far below it."""
    rng = np.random.default_rng(5)
    single = (np.exp2(rng.uniform(-29, 53, 4000)) * rng.choice([-1, 1], 4000)).astype(np.float32)
    single = single[single > -1]
    for x in map(float, single):
        a = 1.0 + x
        assert Fraction(a) == 1 + Fraction(x) or a >= 2.0**52
    with mpmath.workprec(300):
        for x in map(float, np.exp2(rng.uniform(-60, -29, 4000)) * rng.choice([-1, 1], 4000)):
            a = 1.0 + x
            e, r = 1 + Fraction(x) - Fraction(a), Fraction(a) - 1
            if r:
                assert abs(e / Fraction(a)) <= (1 + 2 * integer_powers.NEAR) / 2 * abs(r)
                assert abs(mpmath.log1p(x)) >= 0.49 * abs(float(r))
