"""The R package builds against the wheel's library, and its results are those of the Python package, bit for bit."""

import pathlib
import re

import numpy as np
import pytest
from native import ROOT, need, run

import repmath

SOURCE = ROOT / "examples/r/repmath"


def lists() -> dict[int, list[str]]:
    """The functions of R/repmath.R, by their number of arguments."""
    vectors = re.findall(r"c\(\s*(\"[^)]*)\)", (SOURCE / "R/repmath.R").read_text())
    return {n: re.findall(r'"(\w+)"', vector) for n, vector in enumerate(vectors, 1)}


def test_every_function_is_there():
    """R has the functions of one and two arguments, but for gradients."""
    names = {name for name, ufunc in repmath._core.ufuncs.items() if ufunc.nin < 3 and not name.endswith("_backward")}
    assert {name for listed in lists().values() for name in listed} == names
    assert all(repmath._core.ufuncs[name].nin == n for n, listed in lists().items() for name in listed)


@pytest.fixture(scope="module")
def r(tmp_path_factory):
    """Runs R's code with the package and returns the doubles that it writes."""
    program, script, _ = need("R", "Rscript", "pkg-config")
    prefix = pathlib.Path(repmath.get_include()).parent
    where = tmp_path_factory.mktemp("r")
    environment = {"PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig"), "R_LIBS": str(where)}
    run("cp", "-r", SOURCE, where / "source")
    options = ["--no-docs", "--no-byte-compile", "--no-test-load", f"--library={where}"]
    run(program, "CMD", "INSTALL", *options, where / "source", env=environment)

    def results(code):
        (where / "code.R").write_text(
            f'file <- file("{where}/out", "wb")\nput <- function(x) writeBin(as.double(x), file)\n{code}\nclose(file)\n'
        )
        run(script, where / "code.R", env=environment)
        return np.fromfile(where / "out")

    return results


def same(a, b):
    return np.array_equal(np.asarray(a, float).view(np.uint64), np.asarray(b, float).view(np.uint64))


def test_bits(r):
    x, y = np.array([0.1, 0.5, 0.7, 0.3]), np.array([0.25, 1.5, 0.9, 2.0])
    code = "x <- c(0.1, 0.5, 0.7, 0.3)\ny <- c(0.25, 1.5, 0.9, 2)\n"
    code += "".join(f"put(repmath::{name}(x))\n" for name in lists()[1])
    code += "".join(f"put(repmath::{name}(x, y))\nput(repmath::{name}(x, 2))\n" for name in lists()[2])
    code += "put(repmath::sum(c(1, 1e100, 1, -1e100, 0.5)))\nput(repmath::mean(x))\nput(repmath::norm(x))\nput(repmath::dot(x, y))\n"
    code += "put(repmath::matmul(matrix(c(x, y), 2, 4), matrix(c(x, y), 4, 2)))\nput(dim(repmath::exp(matrix(x, 2, 2))))"
    found = r(code)
    ufuncs, both = repmath._core.ufuncs, np.concatenate([x, y])
    with np.errstate(all="ignore"):
        parts = [ufuncs[name](x) for name in lists()[1]]
        parts += [ufuncs[name](x, other) for name in lists()[2] for other in (y, 2.0)]
    parts += [[2.5, repmath.mean(x), repmath.norm(x), repmath.dot(x, y)]]
    parts += [repmath.matmul(both.reshape(4, 2).T, both.reshape(2, 4).T).T.ravel(), [2, 2]]
    expected = np.concatenate([np.asarray(part, float) for part in parts])
    assert len(found) == len(expected)
    wrong = ~((found == expected) | (np.isnan(found) & np.isnan(expected)))
    assert not wrong.any() and same(found[~np.isnan(found)], expected[~np.isnan(expected)])


def test_sum_is_exact(r):
    assert r("put(sum(c(1, 1e100, 1, -1e100)))\nput(repmath::sum(c(1, 1e100, 1, -1e100)))").tolist()[1] == 2


def test_wrong_arguments(r):
    calls = ['exp("a")', "add(c(1, 2), c(1, 2, 3))", "dot(1, c(1, 2))", "matmul(1, 2)", "matmul(diag(2), diag(3))"]
    code = "".join(f"put(inherits(try(repmath::{call}, silent = TRUE), 'try-error'))\n" for call in calls)
    assert r(code).tolist() == [1] * len(calls)
