"""gcc and clang, every ISA build, and with and without threads: the same digests."""

import pytest
from native import available_isas, build, default_build, digests, need


@pytest.fixture(scope="module")
def expected():
    return digests(default_build() / "tests/c/digest_sample", env={"REPMATH_ISA": "base"})


def test_digests_cover_every_function(expected):
    from native import ROOT

    names = {
        line.split("(")[1].split(",")[0]
        for line in (ROOT / "crlibm/functions.def").read_text().splitlines()
        if line.startswith("RM_FUNCTION(")
    }
    for name in names | {"sum_dot", "matmul"}:
        assert any(key.startswith(name + "_f32.") for key in expected), name
    assert sum(key.startswith("random_") for key in expected) == 34
    assert all(len(value) == 64 for value in expected.values())
    assert len(set(expected.values())) > len(expected) * 0.9  # almost no two cases give the same results


def test_every_isa_gives_the_same_digests(expected):
    where = default_build()
    for isa in available_isas(where):
        assert digests(where / "tests/c/digest_sample", env={"REPMATH_ISA": isa}) == expected, isa


def test_any_number_of_threads_gives_the_same_digests(expected):
    where = default_build()
    for threads in ("1", "3"):
        assert digests(where / "tests/c/digest_sample", env={"REPMATH_NUM_THREADS": threads}) == expected, threads


def test_clang_gives_the_same_digests(expected):
    (clang,) = need("clang")
    where = build("clang", f"CMAKE_C_COMPILER={clang}", "REPMATH_BUILD_TESTS=ON", "REPMATH_OPENMP=OFF")
    for isa in available_isas(where):
        assert digests(where / "tests/c/digest_sample", env={"REPMATH_ISA": isa}) == expected, isa
