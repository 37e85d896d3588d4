"""The operators' table of docs/evidence.md: it names tests that exist, and says of them what their source says. That the page is the one which
the command writes is a test of proofs/test_certificates.py."""

import pytest
import tools_path  # noqa: F401

from proofs import evidence_operators as operators


def every_test():
    return [t for o in operators.OPERATORS for kind in (o.oracle, o.boundaries, o.controls) for t in kind.split()]


def test_every_test_exists_and_names_its_formats():
    for test in every_test():
        assert operators.formats(test) <= set(operators.FORMATS), test
        assert operators.formats(test), test
    with pytest.raises(LookupError, match="no such test"):
        operators.formats("nn_softmax.valuez")
    with pytest.raises(LookupError, match="no such test"):
        operators.formats("nn_controls.hinge")


def test_what_is_read_from_a_test():
    """Formats by parametrize and by the body; instruction sets by a fixture, a fixture of the file, a loop."""
    assert operators.formats("reductions.matmul") == {"f32", "f64"}
    assert operators.formats("boundaries.tiles") == set(operators.FORMATS)
    assert operators.formats("nn_controls.bce") == {"f32"}
    assert operators.on_every_isa("nn_softmax.values") and operators.on_every_isa("boundaries.tiles")
    assert operators.on_every_isa("nn_controls.bce")
    assert operators.formats("boundaries_exact.python_and_torch") == set(operators.FORMATS)  # of a program
    assert not operators.on_every_isa("reductions.control_with_bounds_too_small")


def test_every_operator_has_evidence():
    """Exact values in every format, data at boundaries and a control in one or more."""
    for o in operators.OPERATORS:
        for fmt in operators.FORMATS:
            oracle, boundaries, _ = (int(n) for n in operators.cell(o, fmt).split(" / "))
            assert oracle or boundaries, (o.name, fmt)
        assert o.boundaries and o.controls, o.name
