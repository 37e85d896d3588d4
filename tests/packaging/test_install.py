"""The installed C library: exported symbols, CMake package, pkg-config file, relocation."""

import ctypes.util
import importlib.util
import io
import os
import pathlib
import re
import shlex
import shutil
import sys
import zipfile

import pytest
from native import ROOT, declared_functions, default_build, need, run, symbols, tool

HEADERS = [
    "convolution.h",
    "core.h",
    "elementwise.h",
    "elementwise_rounded.h",
    "fft.h",
    "formulas.h",
    "linalg.h",
    "losses.h",
    "nn.h",
    "optim.h",
    "partials.h",
    "pooling.h",
    "powers.h",
    "random.h",
    "reductions.h",
    "rounding.h",
    "sampling.h",
    "scatter.h",
    "special.h",
]
# What a library that neither prints nor ends the process has no use for.
FORBIDDEN = set("abort exit _exit __assert_fail printf __printf_chk fprintf __fprintf_chk puts putchar".split())


@pytest.fixture(scope="session", params=["plain", "wheel"])
def prefix(request, tmp_path_factory):
    """Where the C library is installed: by cmake --install, moved since; and inside the Python package."""
    if request.param == "wheel":
        if importlib.util.find_spec("repmath") is None:
            pytest.skip("the Python package is not installed")
        import repmath

        return pathlib.Path(repmath.get_include()).parent
    first = tmp_path_factory.mktemp("installed") / "first"
    run(tool("cmake"), "--install", default_build(), "--prefix", first)
    moved = first.parent / "moved here"
    shutil.move(first, moved)
    return moved


def is_wheel(prefix):
    return bool(list(prefix.glob("_core*.so")))


def libdir(prefix):
    return next(prefix.glob("lib*/**/librepmath.so")).parent


def test_headers_parser_sees_functions():
    text = 'RM_API rm_status rm_a(int x);\nRM_API const char *rm_b(void);\n/* rm_c(void) */\n#define RM_API rm_d("x")\n'
    assert declared_functions(text) == {"rm_a", "rm_b"}


def test_exactly_the_declared_symbols_are_exported(prefix):
    declared = set()
    for name in HEADERS:
        declared |= declared_functions((prefix / "include/repmath" / name).read_text())
    assert len(declared) > 40
    exported = symbols(libdir(prefix) / "librepmath.so", "--defined-only")
    assert exported == declared


def test_imports_nothing_that_prints_or_ends_the_process(prefix):
    imported = symbols(libdir(prefix) / "librepmath.so", "--undefined-only")
    assert "malloc" in imported or "aligned_alloc" in imported or "posix_memalign" in imported
    assert not imported & FORBIDDEN


def test_imports_no_mathematical_function(prefix):
    """The host's libm has no part in any result."""
    imported = symbols(libdir(prefix) / "librepmath.so", "--undefined-only")
    libm = ctypes.util.find_library("m")
    names = set("exp expf log logf sqrt sqrtf pow fma fmaf ldexp frexp floor rint nearbyint".split())
    assert libm and not imported & names


def test_library_is_versioned(prefix):
    (readelf,) = need("readelf")
    if is_wheel(prefix):
        pytest.skip("a wheel holds no symbolic links: its library has no version in the name")
    version = re.search(r'RM_VERSION "(\d+)\.(\d+)\.(\d+)"', (ROOT / "include/repmath/core.h").read_text())
    soname = f"librepmath.so.{version[1]}.{version[2]}" if version[1] == "0" else f"librepmath.so.{version[1]}"
    assert f"[{soname}]" in run(readelf, "-d", libdir(prefix) / "librepmath.so")
    assert (libdir(prefix) / soname).exists()


def test_no_file_holds_the_prefix(prefix):
    old = str(prefix.parent / "first").encode()  # where the plain one was installed first
    for path in prefix.rglob("*"):
        if path.is_file() and path.suffix in {".cmake", ".pc", ".h"}:
            text = path.read_bytes()
            assert old not in text and str(ROOT).encode() not in text, path


CONSUMER = """
cmake_minimum_required(VERSION 3.15)
project(consumer LANGUAGES C)
find_package(repmath 0.1 CONFIG REQUIRED)
foreach(lib ${libraries})
  add_executable(use_${lib} use.c)
  target_link_libraries(use_${lib} PRIVATE repmath::${lib})
endforeach()
"""
USE = """
#include <repmath/repmath.h>
int main(void) {
  float x[2] = {1, 2}, out = 0;
  return rm_sum_f32(2, x, 4, &out) != RM_OK || out != 3 || rm_exp_f64(0) != 1;
}
"""


def test_find_package_from_a_moved_prefix(prefix, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(CONSUMER)
    (tmp_path / "use.c").write_text(USE)
    where = tmp_path / "build"
    names = ["repmath"] if is_wheel(prefix) else ["repmath", "repmath_static"]
    options = [f"-DCMAKE_PREFIX_PATH={prefix}", f"-Dlibraries={';'.join(names)}"]
    run(tool("cmake"), "-S", tmp_path, "-B", where, *options)
    run(tool("cmake"), "--build", where)
    for name in names:
        run(where / f"use_{name}")


@pytest.mark.parametrize("kind", ["shared", "static"])
def test_pkg_config_from_a_moved_prefix(prefix, tmp_path, kind):
    pkg_config, cc = need("pkg-config", "cc")
    env = {"PKG_CONFIG_PATH": str(libdir(prefix) / "pkgconfig")}
    if kind == "static" and is_wheel(prefix):
        pytest.skip("a wheel has no static library")
    static = ["--static"] if kind == "static" else []
    flags = shlex.split(run(pkg_config, *static, "--cflags", "--libs", "repmath", env=env))
    if kind == "static":  # the static one by its file name, since both lie in one folder
        flags = [str(libdir(prefix) / "librepmath.a") if flag == "-lrepmath" else flag for flag in flags]
    else:
        flags.append(f"-Wl,-rpath,{libdir(prefix)}")
    (tmp_path / "use.c").write_text(USE)
    run(cc, "-std=c99", "-pedantic-errors", "-Wall", "-Werror", tmp_path / "use.c", *flags, "-o", tmp_path / "use")
    run(tmp_path / "use")


def test_a_wheel_has_the_blas(prefix):
    """For programs that no Python starts: it finds the library beside it."""
    if not is_wheel(prefix) or sys.platform != "linux":
        pytest.skip("built alone, the BLAS is an option")
    code = """
import ctypes, sys
from ctypes import byref, c_double, c_int
blas = ctypes.CDLL(sys.argv[1])
blas.ddot_.restype = c_double
print(blas.ddot_(byref(c_int(3)), (c_double * 3)(1e16, 1, -1e16), byref(c_int(1)), (c_double * 3)(1, 1, 1), byref(c_int(1))))
"""
    found = run(sys.executable, "-c", code, libdir(prefix) / "librepmath_blas.so", env={"LD_LIBRARY_PATH": ""})
    assert found == "1.0\n"


def test_a_wheel_is_small(prefix):
    """Under 4 MiB as a file; the libraries make nearly all of it."""
    if not is_wheel(prefix):
        pytest.skip("the size is that of a wheel")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in prefix.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                archive.write(path, path.relative_to(prefix))
    assert packed.tell() < 4 << 20 and not list(prefix.rglob("*.a"))


def test_install_libdir_is_respected(tmp_path):
    """CMAKE_INSTALL_LIBDIR may be anything relative; the package and the .pc file still find their prefix."""
    where = tmp_path / "build"
    cmake, pkg_config = need("cmake", "pkg-config")
    run(cmake, "-S", ROOT, "-B", where, "-DCMAKE_INSTALL_LIBDIR=lib/deep/er", "-DREPMATH_CUDA=OFF")
    pc = (where / "repmath.pc").read_text()
    assert "prefix=${pcfiledir}/../../../.." in pc and "libdir=${prefix}/lib/deep/er" in pc
    out = run(pkg_config, "--variable=prefix", "repmath", env={"PKG_CONFIG_PATH": str(where)})
    assert os.path.normpath(out.strip()) == os.path.normpath(where / "../../../..")
