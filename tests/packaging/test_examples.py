"""The examples build against an installation, run, and print the known correct bits."""

import os
import pathlib
import shlex
import shutil

import mpmath
import numpy as np
import pytest
from native import ROOT, default_build, need, run, tool

EXAMPLES = ROOT / "examples"


def bits(value, width) -> str:
    """The correctly rounded value of an mpmath number, as the examples print it."""
    # 24 or 53 bits, nearest even: mpmath rounds so, and no value here is near the ends of the format.
    with mpmath.workprec(24 if width == 32 else 53):
        rounded = float(+value)
    return f"{np.float32(rounded).view(np.uint32):08x}" if width == 32 else f"{np.float64(rounded).view(np.uint64):016x}"


def expected() -> list[str]:
    with mpmath.workprec(300):
        e = mpmath.exp(1)
        logs = [mpmath.log(k) for k in (1, 2, 3)]
    return [
        f"exp_f64(1) {bits(e, 64)}",
        f"exp_f32(1) {bits(e, 32)}",
        "log_f32(1 2 3) " + " ".join(bits(v, 32) for v in logs),
        f"sum_f64 {bits(mpmath.mpf('1.5'), 64)}",
        "matmul_f32 " + " ".join(bits(mpmath.mpf(v), 32) for v in (19, 22, 43, 50)),
    ]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    (cmake,) = need("cmake")
    prefix = tmp_path_factory.mktemp("prefix")
    run(cmake, "--install", default_build(), "--prefix", prefix)
    return prefix


def pkg_config(prefix, *args) -> list[str]:
    (program,) = need("pkg-config")
    return shlex.split(run(program, *args, "repmath", env=pkg_config_env(prefix)))


def pkg_config_env(prefix) -> dict[str, str]:
    return {"PKG_CONFIG_PATH": str(next(prefix.glob("lib*/**/pkgconfig")))}


def rpath(prefix) -> str:
    return f"-Wl,-rpath,{next(prefix.glob('lib*/**/pkgconfig')).parent}"


def check(text: str):
    assert text.lower().split("\n")[:-1] == expected()


def test_c(installed, tmp_path):
    (cc,) = need("cc")
    flags = pkg_config(installed, "--cflags", "--libs")
    run(cc, "-Wall", "-Werror", EXAMPLES / "c/example.c", *flags, rpath(installed), "-o", tmp_path / "example")
    check(run(tmp_path / "example"))


def test_cpp(installed, tmp_path):
    cmake, _ = need("cmake", "c++")
    run(cmake, "-S", EXAMPLES / "cpp", "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={installed}")
    run(cmake, "--build", tmp_path)
    check(run(tmp_path / "example"))
    check(run(tmp_path / "example_static"))


def test_cpp_and_c_with_the_wheel(tmp_path):
    """The Python package has the shared library alone."""
    repmath = pytest.importorskip("repmath", reason="the Python package is not installed")
    prefix, (cmake, _, cc) = pathlib.Path(repmath.get_include()).parent, need("cmake", "c++", "cc")
    if not list(prefix.glob("lib*/**/pkgconfig")):
        pytest.skip("the Python package has no C library")
    run(cmake, "-S", EXAMPLES / "cpp", "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={prefix}")
    run(cmake, "--build", tmp_path)
    check(run(tmp_path / "example"))
    assert not (tmp_path / "example_static").exists()
    flags = pkg_config(prefix, "--cflags", "--libs")
    run(cc, EXAMPLES / "c/example.c", *flags, rpath(prefix), "-o", tmp_path / "example_c")
    check(run(tmp_path / "example_c"))


def test_fortran(installed, tmp_path):
    (gfortran,) = need("gfortran")
    sources = [EXAMPLES / "fortran/repmath.f90", EXAMPLES / "fortran/example.f90"]
    flags = pkg_config(installed, "--libs")
    run(gfortran, "-Wall", *sources, *flags, rpath(installed), "-o", "example", cwd=tmp_path)
    check(run(tmp_path / "example"))


def test_rust(installed, tmp_path):
    cargo, _ = need("cargo", "rustc")
    shutil.copytree(EXAMPLES / "rust", tmp_path / "rust", ignore=shutil.ignore_patterns("target"))
    env = {**pkg_config_env(installed), "CARGO_TARGET_DIR": str(tmp_path / "target"), "CARGO_NET_OFFLINE": "true"}
    run(cargo, "build", "--quiet", cwd=tmp_path / "rust", env=env)
    check(run(tmp_path / "target/debug/example"))


def test_julia(installed, tmp_path):
    program, _ = need("julia", "pkg-config")
    env = {**pkg_config_env(installed), "JULIA_DEPOT_PATH": f"{tmp_path}:"}
    check(
        run(program, "--startup-file=no", f"--project={EXAMPLES / 'julia/Repmath'}", EXAMPLES / "julia/example.jl", env=env)
    )


def test_examples_print_the_same_cases():
    """The five programs name the same cases, so that one list of expected lines serves all."""
    for name in ["c/example.c", "cpp/example.cpp", "fortran/example.f90", "rust/src/main.rs", "julia/example.jl"]:
        text = (EXAMPLES / name).read_text()
        for line in expected():
            assert line.split()[0].split("(")[0] in text, (name, line)
    assert not os.path.exists(EXAMPLES / "rust/target")
    assert tool("cmake")
