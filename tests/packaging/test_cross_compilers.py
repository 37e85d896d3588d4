"""gcc and clang, every ISA build, and with and without threads: the same digests."""

import re

import pytest
from native import QUICK, ROOT, available_isas, build, control_library, default_build, digests, for_platforms, need


@pytest.fixture(scope="module")
def expected():
    return digests(default_build(), env={"REPMATH_ISA": "base"})


# Where digests have other names than their functions.
NAMES = {
    "regression_loss": "mse_",
    "regression_loss_backward": "huber_backward",
    "sgd_step": "sgd_p",
    "adam_step": "adam_p",
    "dropout": "random_",
}


def operators():
    """The digests' names of the functions that the headers of operators declare."""
    for header in ("nn", "losses", "pooling", "optim", "random", "formulas"):
        for name in re.findall(r"\brm_(\w+)\(", (ROOT / f"include/repmath/{header}.h").read_text()):
            yield NAMES.get(name, "random_" if name.startswith("random_") else name)


def test_digests_cover_every_function(expected):
    names = {
        line.split("(")[1].split(",")[0]
        for line in (ROOT / "crlibm/functions.def").read_text().splitlines()
        if line.startswith("RM_FUNCTION(")
    }
    for name in names | {"sum_dot", "matmul"}:
        assert any(key.startswith(name + "_f32.") for key in expected), name
    assert sum(key.startswith("random_") for key in expected) == 35
    for name in operators():
        assert sum(key.startswith(name) for key in expected) >= 3, name
    assert all(len(value) == 64 for value in expected.values())
    assert len(set(expected.values())) > len(expected) * 0.9  # almost no two cases give the same results


def test_every_isa_gives_the_same_digests(expected):
    where = default_build()
    for isa in available_isas(where):
        assert digests(where, env={"REPMATH_ISA": isa}) == expected, isa


def test_any_number_of_threads_gives_the_same_digests(expected):
    where = default_build()
    for threads in ("1", "3"):
        assert digests(where, env={"REPMATH_NUM_THREADS": threads}) == expected, threads


@for_platforms("a build by clang takes minutes")
def test_clang_gives_the_same_digests(expected):
    (clang,) = need("clang")
    quick = ("CMAKE_BUILD_TYPE=Quick", f"CMAKE_C_FLAGS={QUICK}")
    where = build("clang", f"CMAKE_C_COMPILER={clang}", "REPMATH_BUILD_TESTS=ON", "REPMATH_OPENMP=OFF", *quick)
    for isa in available_isas(where):
        assert digests(where, env={"REPMATH_ISA": isa}) == expected, isa


def test_shrunk_bounds_change_digests(expected):
    """A control: the operators' digests have cases in which wrong bounds show."""
    where, programs = default_build(), ["digest_operators"]
    for isa in available_isas(where):
        control = {"LD_PRELOAD": str(control_library()), "RM_TEST_CONTROL": "1"}
        found = digests(where, programs=programs, env={"REPMATH_ISA": isa} | control)
        for name in ("log_softmax_f32.tie", "adam_p_bf16.tie", "adam_p_f32.tie", "avg_pool_backward_f32.adaptive"):
            assert found[name] != expected[name], (isa, name)
