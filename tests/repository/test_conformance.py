"""The conformance suite: the library has the bits that it asks for, and a library that has one wrong bit is found."""

import importlib
import json
import pathlib
import subprocess
import sys

import native
import numpy as np
import pytest
import tools_path

pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
pytest.importorskip("gmpy2", reason="gmpy2 is not installed")

SOME = [
    "exp",
    "pow",
    "fma",
    "rootn",
    "sum",
    "norm",
    "var",
    "cumsum",
    "matmul",
    "block",
    "words32",
    "uniform",
    "normal",
    "integers",
]


@pytest.fixture
def suite(monkeypatch):
    """Its modules, by name."""
    monkeypatch.syspath_prepend(str(tools_path.ROOT))
    return lambda name: importlib.import_module(f"conformance.{name}")


def groups(suite, operations, formats, count=20):
    return suite("cases").groups(suite("__main__").selection(operations, formats), count, 1)


def test_every_operation_of_the_library_in_16_bits(suite):
    """Through Python. All functions of the manifest are among them."""
    (found,) = suite("__main__").run([suite("namespaces").of("repmath")], groups(suite, [], ["f16"]), {})
    assert suite("report").conforms(found), suite("report").text(found)
    done = {r["operation"] for r in found["rows"]}
    assert {*tools_path.manifest(), *tools_path.powers(), *suite("cases").operations()} - done == {"block"}
    assert [m["operation"] for m in found["missing"]] == ["block"]


def test_the_c_library(suite):
    """By its table: the functions of one value, and those of arrays, which must write nothing beside their results."""
    path = native.default_build() / "librepmath.so"
    library = suite("c_abi").Library("librepmath.so", path, suite("c_abi").table("repmath"))
    (found,) = suite("__main__").run([library], groups(suite, SOME, ["f32", "bf16"]), {})
    assert suite("report").conforms(found), suite("report").text(found)
    assert {r["operation"] for r in found["rows"]} == set(SOME)
    assert {
        "rm_exp_f32",
        "rm_vexp_f32",
        "rm_rootn_f32",
        "rm_vrootn_bf16",
        "rm_matmul_bf16",
        "rm_gemm",
        "rm_random_block",
    } <= {r["by"] for r in found["rows"]}


def test_a_blas():
    """By the table of CBLAS: the names of BLAS over the library's exact sums. In a process of its own: another BLAS that a test has
    loaded for all would answer to these names."""
    path = native.default_build() / "src/blas_compat/librepmath_blas.so"
    chosen = [
        f"--{k}={v}"
        for k, v in (*(("operation", o) for o in ("dot", "norm", "matmul")), ("format", "f64"), ("format", "f32"))
    ]
    command = [sys.executable, "-m", "conformance", "--library", str(path), "--table", "cblas", "--count", "20", *chosen]
    found = subprocess.run(command, cwd=native.ROOT, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr
    assert "6 operations in a format" in found.stdout


def test_one_wrong_bit_is_found(suite):
    """The last bit of one result of a function and of a sum."""

    class Wrong(suite("namespaces").Repmath):
        def bits(self, result, kind):
            found = super().bits(result, kind).copy()
            if found.size in (1, 1000) and not self.flipped.get(found.size):
                found[found.size // 2] ^= 1
                self.flipped[found.size] = True
            return found

    library = Wrong("repmath")
    library.flipped = {}
    made = list(groups(suite, ["tanh", "sum"], ["f32"]))
    tanh = made[0]
    tanh.arguments, tanh.want, tanh.sources = (tanh.arguments[0][:1000],), tanh.want[:1000], [(0, "special")]
    (found,) = suite("__main__").run([library], iter(made), {})
    assert not suite("report").conforms(found)
    by = {r["operation"]: r for r in found["rows"]}
    assert [(r["wrong"], r["furthest"], r["other NaN"]) for r in by.values()] == [(1, 1, 0), (1, 1, 0)]
    (example,) = by["tanh"]["examples"]
    assert f"{tanh.arguments[0][500]:#010x}" in example["given"]["x"] and f"{tanh.want[500]:#010x}" in example["expected"]
    assert by["tanh"]["sources"] == {"special": [1, 1000]}
    assert "tanh f32" in suite("report").page(found) and "2 wrong" in suite("report").text(found)


def test_nan_of_other_bits_are_counted_apart(suite):
    class Other(suite("namespaces").Repmath):
        def bits(self, result, kind):
            found = super().bits(result, kind)
            return np.where(suite("formats").is_nan(found, kind), found | found.dtype.type(1 << 31), found)

    (found,) = suite("__main__").run([Other("repmath")], groups(suite, ["log"], ["f32"]), {})
    assert found["wrong"] == 0 and found["other NaN"] > 0 and not suite("report").conforms(found)


def test_files(suite, tmp_path, capsys):
    """Cases as files; results as files; without the oracles; one digit that is another."""
    main, folder = suite("__main__").main, tmp_path / "cases"
    chosen = [word for o in SOME for word in ("--operation", o)] + ["--format", "bf16", "--count", "20"]
    assert main([*chosen, "--write", str(folder)]) == 0
    for made in groups(suite, SOME, ["bf16"]):
        read = suite("files").read(folder / f"{made.operation}.{made.format}.txt")
        assert (read.operation, read.format, read.family, read.result) == (
            made.operation,
            made.format,
            made.family,
            made.result,
        )
        assert read.sources == made.sources and np.array_equal(read.expected, made.expected)
        assert all(map(np.array_equal, read.arguments, made.arguments)) and len(read.calls) == len(made.calls)
        for a, b in zip(read.calls, made.calls, strict=True):
            assert a.parameters == b.parameters and all(map(np.array_equal, a.arrays, b.arrays))
    for name in ("repmath", str(folder)):
        assert main(["--library", name, "--cases", str(folder)]) == 0, capsys.readouterr().out
    results = tmp_path / "results"
    results.mkdir()
    for path in folder.iterdir():  # the results alone, as a program writes them
        rows = [line.rpartition("=")[2].strip() for line in path.read_text().splitlines()[1:]]
        if path.name == "exp.bf16.txt":
            rows[7] = f"{int(rows[7], 16) ^ 1:04x}"
        (results / path.name).write_text("\n".join(rows) + "\n")
    assert main(["--library", str(results), "--cases", str(folder), "--out", str(tmp_path)]) == 1
    found = json.loads((tmp_path / "results.json").read_text())
    assert found["wrong"] == 1 and [r["operation"] for r in found["rows"] if r["wrong"]] == ["exp"]
    assert "exp bf16" in (tmp_path / "results.html").read_text()


LIBRARY = """
#include <math.h>
#include <stdint.h>
double my_fabs(double x) { return x; }
float sqrt_but_one(float x) { return x == 3.0f ? 1.75f : sqrtf(x); }
double naive(int n, const double *x) { double s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }
int too_far(int64_t n, const float *x, float *out) { for (int64_t i = 0; i <= n; i++) out[i] = x[i > 0 ? i - 1 : 0]; return 0; }
int refuses(int64_t n, const float *x, float *out) { return 3; }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    (cc,) = native.need("cc")
    folder = tmp_path_factory.mktemp("library")
    (folder / "own.c").write_text(LIBRARY)
    native.run(cc, "-shared", "-fPIC", "-O1", "-o", folder / "libown.so", folder / "own.c", "-lm")
    return folder / "libown.so"


def test_a_library_of_c(suite, library, tmp_path, capsys):
    """A table for symbols of one's own: one wrong square root, and sums that round on the way."""
    table = tmp_path / "own.txt"
    table.write_text(
        "# mine\nsqrt : f32 : value sqrt_but_one(x)\n\nsum : f64 : value naive(n:int, *x)\nexp : f64 : value absent(x)\n"
    )
    options = ["--library", str(library), "--count", "20", "--out", str(tmp_path)]
    operations = ["--operation", "sqrt", "--operation", "sum", "--operation", "exp", "--format", "f32", "--format", "f64"]
    assert suite("__main__").main([*options, *operations, "--table", str(table)]) == 1
    found = {(r["operation"], r["format"]): r for r in json.loads((tmp_path / "libown.so.json").read_text())["rows"]}
    assert set(found) == {("sqrt", "f32"), ("sum", "f64")}
    assert found["sqrt", "f32"]["wrong"] >= 1
    assert {e["given"]["x"] for e in found["sqrt", "f32"]["examples"]} == {"3.0 (0x40400000)"}
    assert found["sum", "f64"]["sources"]["special"][0] > 0
    assert suite("__main__").main(options) == 2 and "--table" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("exp f64 value exp(x)", "it is not OPERATIONS"),
        ("exp : f64 : double exp(x)", "the result is value, status or void, not double"),
        ("exp : f64 : value exp(t)", "what is t?"),
        ("exp : f64 : value exp(*t)", "there is no array \\*t"),
        ("exp : f64 : value exp(1:long)", "what is 1:long?"),
    ],
)
def test_a_table_that_says_nothing(suite, tmp_path, line, message):
    (tmp_path / "t.txt").write_text(f"\n{line}\n")
    with pytest.raises(suite("c_abi").TableError, match=f"t.txt, line 2: {message}".replace("?", "\\?")):
        suite("c_abi").table(tmp_path / "t.txt")


@pytest.mark.parametrize(("symbol", "message"), [("too_far", "writes beyond its results"), ("refuses", "the status is 3")])
def test_calls_that_fail(suite, library, symbol, message):
    c = suite("c_abi")
    one = c.Library("own", library, [c.parsed(f"sqrt : f32 : status {symbol}(n, *x, *out)")])
    with pytest.raises(RuntimeError, match=message):
        one.run(next(groups(suite, ["sqrt"], ["f32"])))


def test_the_examples(suite):
    """NumPy, SciPy and the system's libm are run; what they lack is told."""
    libraries = [suite("namespaces").of("numpy"), suite("namespaces").of("scipy"), suite("c_abi").glibc()]
    found = suite("__main__").run(libraries, groups(suite, ["erf", "atan2", "sum", "words32"], ["f32", "bf16"]), {})
    done = [{(r["operation"], r["format"]) for r in f["rows"]} for f in found]
    assert done == [{("atan2", "f32"), ("sum", "f32")}, {("erf", "f32")}, {("erf", "f32"), ("atan2", "f32")}]
    assert ("sum", "bf16") in {(m["operation"], m["format"]) for m in found[0]["missing"]}
    table = suite("report").markdown(found)
    assert table.splitlines()[0] == "|  | numpy f32 | scipy f32 | glibc f32 |"


def test_a_module_and_what_is_none(suite, capsys):
    """Any namespace that Python imports; errors say what was wrong."""
    assert suite("namespaces").of("math").name == "math"
    for name in ("no_such_module", "./none.so"):
        assert suite("__main__").main(["--library", name]) == 2
        assert "conformance: " in capsys.readouterr().err
    with pytest.raises(SystemExit):
        suite("__main__").main([])
    assert pathlib.Path(sys.modules["conformance"].__file__).is_relative_to(tools_path.ROOT)
