"""The C tests, by ctest, under every ISA build."""

import re

from native import available_isas, default_build, need, run


def test_c_tests_under_every_isa():
    where = default_build()
    (ctest,) = need("ctest")
    out = run(ctest, "--test-dir", where, "--output-on-failure", "--verbose")
    print(out)
    isas = available_isas(where)
    assert "base" in isas
    for isa in isas:
        for name in ("test_status", "test_env", "test_strides", "test_threads", "test_table16"):
            assert re.search(rf"{name}\.{isa} \.+ +Passed", out), f"{name}.{isa} did not run"
    counts = [int(n) for n in re.findall(r"(\d+) passed, 0 failed", out)]
    assert len(counts) >= 1 + 4 * len(isas) and min(counts) > 5
