"""Controls: with error bounds made 2^20 times too small (RM_CFG_BOUND_SHRINK), the fast kernels return wrong bits, and the
test data catch it. So the rounding tests of the kernels are needed, and these tests would see it if one were missing."""

import json

import bounds
import elementwise_library
import golden_sets
import native
import numpy as np
import oracle
import pytest
import ties
from bounds_without_input import NO_BOUND, NO_INPUT


def test_where_no_input_depends_on_a_bound_every_input_was_run():
    for function, fmt in NO_INPUT:
        if fmt != "f64":
            golden = json.loads((oracle.ROOT / f"tests/golden/{function}.json").read_text())["formats"][fmt]
            assert golden["inputs"] == 2 ** (8 * oracle.FORMATS[fmt][2].itemsize), (function, fmt)
    listed = {key[0] for key in bounds.catalogue()}
    assert {f"crlibm/{f}/{f}_dd.h" for f, fmt in NO_INPUT if fmt == "f64"} <= listed


def cases(function, fmt):
    """Arguments and results, as bits."""
    if fmt == "f16":  # every input: there are so few that bf16 has no case that depends on the bound
        bits = golden_sets.inputs(fmt)
        want = next(iter(elementwise_library.libraries().values())).array(function, bits, fmt)
        assert golden_sets.sha256(want) == golden_sets.published(function, fmt)  # the oracle's: elementwise/test_f16_bf16.py
        return bits, want
    x = oracle.hard_cases(function, fmt)
    return oracle.to_bits(x, fmt), oracle.values(function, x, fmt)


@pytest.fixture(scope="module")
def shrunk():
    return elementwise_library.libraries(native.control_library())


@pytest.mark.sample(4)
@pytest.mark.parametrize("fmt", ["f16", "f32", "f64"])
@pytest.mark.parametrize("function", [f for f in oracle.UNARY if f not in NO_BOUND])
def test_a_bound_that_is_too_small_is_caught(shrunk, function, fmt):
    bits, want = cases(function, fmt)
    caught = {isa for isa, library in shrunk.items() if (library.array(function, bits, fmt) != want).any()}
    assert caught == set(shrunk) - NO_INPUT.get((function, fmt), set())


@pytest.mark.parametrize("function", oracle.UNARY)
def test_the_same_cases_are_right_with_the_true_bounds(function):
    x = oracle.hard_cases(function, "f32")
    bits, want = oracle.to_bits(x, "f32"), oracle.values(function, x, "f32")
    for isa, library in elementwise_library.libraries().items():
        assert np.array_equal(library.array(function, bits, "f32"), want), isa


def test_scaled_arguments_with_a_bound_that_is_too_small(shrunk):
    """erfinv of subnormal numbers. That of erf is closer than 2^-87 there, which no such data show."""
    x = ties.tiny("erfinv")
    want = oracle.values("erfinv", x, "f64")
    for isa, library in shrunk.items():
        assert np.any(library.array("erfinv", x.view(np.uint64), "f64") != want), isa


def test_gradients_by_a_table_of_derivatives(shrunk):
    """Of what the base build, which has no such table, has right in the control library too, the others have some wrong. In f16:
    bf16 has 128 significands for g and few x, and none depends on the bound."""
    rng = np.random.default_rng(61)
    bits = tuple(oracle.narrow(rng.standard_normal(1 << 22) * 2, "f16") for _ in range(2))
    want = elementwise_library.libraries()["base"].array("sigmoid_backward", bits, "f16")
    wrong = {isa: library.array("sigmoid_backward", bits, "f16") != want for isa, library in shrunk.items()}
    caught = {isa for isa in shrunk if (wrong[isa] & ~wrong["base"]).any()}
    assert caught == set(shrunk) & {"avx2", "avx512"}
