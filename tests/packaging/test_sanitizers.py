"""The C tests and the digest programs under AddressSanitizer and UndefinedBehaviorSanitizer, with REPMATH_PLATFORMS=1 (`make platforms`)."""

import re

import pytest
from native import (
    ASAN_ENVIRONMENT,
    ASAN_FLAGS,
    available_isas,
    build,
    default_build,
    definitions_of,
    digests,
    for_platforms,
    need,
    run,
)

pytestmark = for_platforms("a build with sanitizers takes minutes")


@pytest.fixture(scope="module")
def sanitized():
    need("cc")
    return build("asan", *definitions_of("asan"))


@pytest.mark.parametrize("name", ["test_status", "test_env", "test_strides", "test_threads", "test_table16", "test_isa"])
def test_c_tests_are_clean(sanitized, name):
    for isa in available_isas(sanitized) if name != "test_isa" else [""]:
        out = run(sanitized / "tests/c" / name, env={**ASAN_ENVIRONMENT, "REPMATH_ISA": isa})
        assert re.search(r"\d+ passed, 0 failed", out), out


def test_the_digest_programs_are_clean(sanitized):
    """And the sanitized build gives the same results."""
    expected = digests(default_build(), 100)
    for isa in available_isas(sanitized):
        assert digests(sanitized, 100, env={**ASAN_ENVIRONMENT, "REPMATH_ISA": isa}) == expected, isa


def test_the_sanitizers_are_on(sanitized, tmp_path):
    """A control: the same flags catch a read past the end."""
    (cc,) = need("cc")
    source = tmp_path / "bad.c"
    source.write_text("int main(int n, char **v) { (void)v; volatile int a[2] = {0, 0}; return a[n + 2]; }\n")
    run(cc, *ASAN_FLAGS.split(), source, "-o", tmp_path / "bad")
    with pytest.raises(pytest.fail.Exception, match="runtime error|AddressSanitizer"):
        run(tmp_path / "bad")
