"""proofs/rests.py: what series leave out, and coefficients of tables, are within what the sources state; smaller statements and wrong tables are
rejected."""

import shutil
import sys
from fractions import Fraction

import pytest
from flint import arb
from native import ROOT

sys.path.insert(0, str(ROOT))

from proofs import rests  # noqa: E402


def test_the_sources_hold():
    found = dict(rests.checks())
    assert len(found) == 28 and max(found.values()) <= 1


def test_rests_contain_what_is_left_out():
    """Stirling's series, and what Arb says of the functions."""
    source = rests.Source(ROOT)
    for derivative, name in ((False, "lgamma"), (True, "digamma")):
        table = source.pairs(f"rm_{name}_series")
        for x in map(arb, ("12.5", "13.25", "20", "1000")):
            w, h = 1 / (x * x), arb(1) / 2
            series = sum((rests.stirling(k, derivative) * w**k for k in range(len(table))), arb(0))
            exact = (
                x.digamma() - x.log() + 1 / (2 * x)
                if derivative
                else x.lgamma() - (x - h) * x.log() + x - (2 * arb.pi()).log() / 2
            )
            rest = exact + w * series if derivative else exact - series / x
            first = rests.stirling(len(table), derivative) * w ** len(table) * (w if derivative else 1 / x)
            assert abs(rest).lower() <= abs(first).upper()


SMALLER = [
    (rests.DD, "* 0x1p-105);\n}\n/* The sum", "* 0x1p-109);\n}\n/* The sum", "lgamma: coefficients of Taylor's series"),
    (rests.DD, "rm_gamma_widen(r, 0x1p-87);", "rm_gamma_widen(r, 0x1p-98);", "digamma: rest of Taylor's series"),
    (rests.DD, "RM_GAMMA_LAST]) * 0x1p-46);", "RM_GAMMA_LAST]) * 0x1p-52);", "lgamma: last terms of Taylor's series"),
    (rests.TABLES, "RM_GAMMA_SERIES_NEXT 0x1p25", "RM_GAMMA_SERIES_NEXT 0x1p24", "digamma: rest of Stirling's series"),
    (rests.DD, "sine, 0x1p-100);", "sine, 0x1p-106);", "cosine: rest"),
    (rests.DD, "_LO, 1, 0x1p-105)", "_LO, 1, 0x1p-110)", "log(2 pi)/2"),
    (rests.TABLES, "RM_LGAMMA_HALF_LOG_2PI_LO -0x1.65b5a1b7ff5dfp-55", "RM_LGAMMA_HALF_LOG_2PI_LO -0x1.65b5a1b7ff6dfp-55", "log(2 pi)/2"),
    (rests.TABLES, "0x1.5555555555555p-4, -0x1.6c", "0x1.5555555555595p-4, -0x1.6c", "betaln: rest of Stirling's series in binary64"),
    (rests.VDD, "TAYLOR_ERR RM_BOUND(0x1p-50)", "TAYLOR_ERR RM_BOUND(0x1p-52)", "lgamma: Taylor's series in vectors"),
    (rests.VDD, "TAYLOR_TERMS = 36", "TAYLOR_TERMS = 34", "digamma: Taylor's series in vectors"),
    (rests.VDD, "REST_ERR RM_BOUND(0x1p-49)", "REST_ERR RM_BOUND(0x1p-50)", "trigamma: its series in vectors"),
    (rests.TRIGAMMA, "SERIES_NEXT 0x1p30", "SERIES_NEXT 0x1p29", "trigamma: its series in vectors"),
    (rests.VDD, "TURN_ERR RM_BOUND(0x1p-50)", "TURN_ERR RM_BOUND(0x1p-52)", "sine: in vectors"),
    (rests.MP_TABLES, "0x6656656656656656", "0x6656656656656650", "multiprecision: coefficients of Stirling's series"),
]  # fmt: skip


@pytest.mark.parametrize("path, old, new, name", SMALLER)
def test_control_smaller_statements_and_wrong_tables(tmp_path, path, old, new, name):
    for each in rests.FILES:
        (tmp_path / each).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / each, tmp_path / each)
    text = (tmp_path / path).read_text()
    assert old in text
    (tmp_path / path).write_text(text.replace(old, new))
    assert dict(rests.checks(tmp_path))[name] > 1


def test_control_a_coefficient_off_by_a_unit():
    source = rests.Source(ROOT)
    values = source.pairs("rm_gamma_sine")
    assert (
        rests.share(
            rests.ball(values[3] * (1 + Fraction(1, 2**104))) - rests.turn(3, False), Fraction(1, 2**105) * abs(values[3])
        )
        > 1
    )
