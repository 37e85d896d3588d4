"""Every condition of the vector code is in tests/controls/guards.txt, and the witnesses there are true: without the condition, and only then, a
function is wrong."""

import bounds
import guards
import pytest
from bound_sites import guards as conditions

SHOWN = [
    (guard.number, guards.witness(text.strip()))
    for guard in conditions()
    for text in guards.catalogue().get((guard.file, guard.text), "").split("; ")
    if text.strip().split(" ")[0] in guards.MODES
]


def test_every_condition_is_listed():
    known = {(guard.file, guard.text) for guard in conditions()}
    listed = guards.catalogue()
    assert sorted(known - set(listed)) == [], "python tests/controls/guards.py looks for what shows these"
    assert sorted(set(listed) - known) == []
    kinds = [text.split(":")[0].split(" ")[0] for shown in listed.values() for text in shown.split("; ")]
    assert set(kinds) <= {*guards.MODES, "data", "speed", "same", "open"}


@pytest.mark.sample(4)
@pytest.mark.parametrize("number, found", SHOWN, ids=lambda v: f"{v.function}-{v.fmt}" if not isinstance(v, int) else str(v))
def test_a_condition_left_out_is_seen(number, found):
    guard, checked = conditions()[number], 0
    for isa, control in bounds.chosen(found.isas).items():
        assert guards.is_wrong(guards.Conditions(control), guard, found), f"{isa}: {guard.file}: {guard.text}"
        checked += 1
    assert checked or found.isas
