"""Other systems: what depends on the system compiled for each of them; with REPMATH_PLATFORMS=1 (`make platforms`) the whole library, linked for
macOS, and run for Windows under wine and for musl."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest
from native import BUILDS, QUICK, ROOT, build, cross_zig, default_build, digests, for_platforms, mingw, need, run, zig

whole = for_platforms("the whole library takes minutes")

# Files with the system's own functions, and the tests that use more of them.
OF_THE_SYSTEM = [
    "src/runtime/threads.c",
    "src/runtime/dispatch.c",
    "src/nn/rows/parallel.c",
    "tests/c/test_isa.c",
    "tests/c/test_threads.c",
]
ZIG = {
    "x86_64-macos": ("Darwin", "x86_64"),
    "aarch64-macos": ("Darwin", "arm64"),
    "x86_64-linux-musl": ("Linux", "x86_64"),
    "aarch64-linux-musl": ("Linux", "aarch64"),
    "aarch64-windows-gnu": ("Windows", "ARM64"),
}
FLAGS = [
    "-std=gnu11",
    "-O1",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-unknown-pragmas",
    "-I",
    ROOT / "include",
    "-DRM_CFG_STATIC",
]


@pytest.mark.parametrize("source", OF_THE_SYSTEM)
def test_windows_compiles(source):
    run(mingw(), *FLAGS, "-fsyntax-only", "-fopenmp", ROOT / source)


@whole
@pytest.mark.parametrize("target", ZIG)
@pytest.mark.parametrize("source", OF_THE_SYSTEM)
def test_zig_compiles(target, source, tmp_path):
    run(zig(), "cc", "-target", target, *FLAGS, "-c", "-o", tmp_path / "object.o", ROOT / source)


def test_control_posix_is_missed():
    """The compiler for Windows has its own headers, not this system's."""
    program = "#include <sys/wait.h>\nint main(void) { return 0; }\n"
    done = subprocess.run([mingw(), "-fsyntax-only", "-xc", "-"], input=program, text=True, capture_output=True)
    assert done.returncode != 0 and "sys/wait.h" in done.stderr


def preprocessed(*flags: str) -> str:
    (clang,) = need("clang")
    program = '#include "repmath/repmath.h"\n'
    done = subprocess.run(
        [clang, "-E", "-P", "-ffreestanding", "-I", str(ROOT / "include"), *flags, "-"],
        input=program,
        text=True,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


FOREIGN_TO_MSVC = r"__attribute__|__int128|_Complex|__asm__|__restrict__|__typeof__"


@pytest.mark.parametrize("language", ["-std=c11", "-std=c++17"])
@pytest.mark.parametrize("use", ["-DRM_CFG_BUILDING", "-DRM_CFG_STATIC", "-URM_CFG_STATIC"])
def test_headers_hold_nothing_that_msvc_lacks(language, use):
    flags = ["--target=x86_64-pc-windows-msvc", "-x", "c++" if "++" in language else "c", language]
    text = preprocessed(*flags, use)
    assert "rm_exp_f64" in text and not re.search(FOREIGN_TO_MSVC, text)
    assert ("__declspec(dllimport)" in text) == (use == "-URM_CFG_STATIC")
    (clang,) = need("clang")
    run(clang, *flags, use, "-fms-compatibility", "-fsyntax-only", "-ffreestanding", "-Wall", "-Werror", "-I", ROOT / "include",
        ROOT / "include/repmath/repmath.h")  # fmt: skip


def test_control_attributes_are_seen():
    assert re.search(FOREIGN_TO_MSVC, preprocessed("--target=x86_64-linux-gnu", "-x", "c"))


def beside(name: str) -> str:
    """The folder of a library of the compiler for Windows."""
    return os.path.dirname(os.path.realpath(run(mingw(), f"-print-file-name={name}").strip()))


@pytest.fixture(scope="module")
def windows(tmp_path_factory):
    """The build for Windows, and how to run a program of it under a build for an instruction set."""
    (wine,) = need("wine")
    compiler = mingw()
    where = build(
        "windows",
        "CMAKE_SYSTEM_NAME=Windows",
        "CMAKE_SYSTEM_PROCESSOR=AMD64",
        f"CMAKE_C_COMPILER={compiler}",
        "CMAKE_BUILD_TYPE=Cross",
        f"CMAKE_C_FLAGS={QUICK}",
        "REPMATH_BUILD_TESTS=ON",
    )
    environment = {
        "WINEDEBUG": "-all",
        "WINEPREFIX": str(tmp_path_factory.mktemp("wine")),
        "WINEPATH": ";".join({beside(name) for name in ("libgomp-1.dll", "libwinpthread-1.dll", "libgcc_s_seh-1.dll")}),
    }

    def start(name, isa="", *arguments):
        """What the program prints. It is not waited for once it has said how it ended: wine keeps a process that had threads."""
        process = subprocess.Popen(
            [wine, str(where / "tests/c" / f"{name}.exe"), *map(str, arguments)],
            env={**os.environ, **environment, "REPMATH_ISA": isa},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        lines = []
        for line in process.stdout:
            lines.append(line.strip())
            if re.fullmatch(r"\d+ passed, \d+ failed", line.strip()):
                process.kill()
        process.wait()
        return lines

    return start


@whole
@pytest.mark.parametrize("isa", ["base", "avx2", "avx512"])
@pytest.mark.parametrize("name", ["test_status", "test_env", "test_strides", "test_threads", "test_table16"])
def test_windows(windows, name, isa):
    lines = windows(name, isa)
    if lines and lines[-1].startswith("skipped"):
        pytest.skip(lines[-1])
    assert lines and re.fullmatch(r"[1-9]\d* passed, 0 failed", lines[-1]), lines


@whole
def test_windows_chooses_a_build(windows):
    lines = windows("test_isa")
    assert "avx2: available" in lines or "avx2: not available" in lines
    assert "amx: not available" in lines and lines[-1].endswith(" 0 failed"), lines


@whole
@pytest.mark.parametrize("program", ["digest_sample", "digest_operators"])
def test_windows_bits(windows, program):
    lines = windows(program, "", 20)
    assert dict(line.split() for line in lines) == digests(default_build(), 20, programs=[program])


@whole
@pytest.mark.parametrize("target", [target for target in ZIG if "macos" in target])
def test_macos_links(target):
    where = cross_zig(f"zig-{target}", target, *ZIG[target])
    found = where / "librepmath.dylib"
    head = found.read_bytes()[:8]
    assert head == b"\xcf\xfa\xed\xfe" + (
        b"\x0c\0\0\x01" if target.startswith("aarch64") else b"\x07\0\0\x01"
    )  # 64 bits, its machine
    assert b"_rm_exp_f64\0" in found.read_bytes()
    assert (where / "tests/c/test_status").exists()


@whole
@pytest.mark.timeout(3600)  # the first time zig builds mingw's libraries
def test_windows_on_arm_links():
    target = "aarch64-windows-gnu"
    where = cross_zig(f"zig-{target}", target, *ZIG[target])
    found = (where / "librepmath.dll").read_bytes()
    head = int.from_bytes(found[60:64], "little")  # where the header of a portable executable is
    assert found[head : head + 6] == b"PE\0\0\x64\xaa"  # its machine
    assert b"rm_exp_f64\0" in found
    assert (where / "tests/c/test_status.exe").exists()


@whole
@pytest.mark.skipif(os.uname().sysname != "Linux", reason="a wheel for Linux")
def test_manylinux(tmp_path):
    """The wheel needs glibc, in the newest version that was there to link, and gcc's OpenMP, which auditwheel puts beside it."""
    for module in ("auditwheel", "scikit_build_core"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"not installed: {module}")
    folder = f"--config-settings=build-dir={BUILDS / 'default'}"
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", folder, "-w", tmp_path, ROOT)
    (wheel,) = tmp_path.glob("*.whl")
    said = " ".join(run(sys.executable, "-m", "auditwheel", "show", wheel).split())
    assert re.search(r'constrains the platform tag to "manylinux_2_\d+_\w+"', said), said
    assert set(re.findall(r"(lib[\w+.-]*\.so\S*) with versions", said)) <= {"libc.so.6", "libm.so.6", "libgomp.so.1"}, said


def musl() -> pathlib.Path:
    """The build for musl by Debian's wrapper of gcc. zig builds musl anew for the flags of each instruction set."""
    (compiler,) = need("musl-gcc")
    return build(
        "musl",
        "CMAKE_SYSTEM_NAME=Linux",
        "CMAKE_SYSTEM_PROCESSOR=x86_64",
        f"CMAKE_C_COMPILER={compiler}",
        "CMAKE_BUILD_TYPE=Cross",
        f"CMAKE_C_FLAGS={QUICK}",
        "REPMATH_OPENMP=OFF",  # gcc's library of threads is glibc's
        "REPMATH_BUILD_TESTS=ON",
    )


@whole
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="runs on x86-64")
@pytest.mark.parametrize("compiler", ["gcc", "zig"])
def test_musl_bits(compiler):
    target = "x86_64-linux-musl"
    where = musl() if compiler == "gcc" else cross_zig(f"zig-{target}", target, *ZIG[target])
    for name in ("test_status", "test_env", "test_strides", "test_isa", "test_threads"):
        out = run(where / "tests/c" / name)
        assert re.search(r"\d+ passed, 0 failed", out), out
    assert digests(where, 20) == digests(default_build(), 20)
