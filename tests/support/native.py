"""Builds of the C library for the tests that need one beside the wheel's. Kept in build/native and reused: a second run only
rebuilds what changed."""

import contextlib
import fcntl
import functools
import hashlib
import importlib.util
import json
import os
import pathlib
import platform
import re
import shlex
import shutil
import subprocess
import sys

import bound_sites
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILDS = ROOT / "build" / "native"


def tool(name: str) -> str | None:
    """A program on the path or beside the running Python (cmake and ninja come from wheels)."""
    beside = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ.get("PATH", "")])
    return shutil.which(name, path=beside)


def need(*names: str) -> list[str]:
    """The paths of these programs; skips the test, saying which is missing."""
    missing = [name for name in names if tool(name) is None]
    if missing:
        pytest.skip("not installed: " + ", ".join(missing))
    return [tool(name) for name in names]


def run(*command, env=None, **kwargs) -> str:
    """Run a command and return what it printed; fail with all of its output."""
    done = subprocess.run(
        [str(part) for part in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, **(env or {})},
        **kwargs,
    )
    if done.returncode != 0:
        pytest.fail(f"{' '.join(map(str, command))} -> {done.returncode}\n{done.stdout[-8000:]}", pytrace=False)
    return done.stdout


@contextlib.contextmanager
def locked(name: str):
    """One process at a time builds a directory, also when the tests run in parallel."""
    BUILDS.mkdir(parents=True, exist_ok=True)
    with open(BUILDS / f"{name}.lock", "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@functools.cache
def build(name: str, *options: str, targets: tuple[str, ...] = ("all",), source: pathlib.Path = ROOT) -> pathlib.Path:
    """Configure and build the library as build/native/<name>; options are -D definitions without the -D."""
    (cmake,) = need("cmake")
    where = BUILDS / name
    generator = ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}"] if tool("ninja") else []
    definitions = {"REPMATH_CUDA": "OFF", "CMAKE_UNITY_BUILD": "ON", **dict(option.split("=", 1) for option in options)}
    with locked(name):
        run(cmake, "-S", source, "-B", where, *generator, *(f"-D{key}={value}" for key, value in definitions.items()))
        run(cmake, "--build", where, "--target", *targets, "-j", os.cpu_count() or 1)
    return where


def for_platforms(why: str) -> pytest.MarkDecorator:
    """Marks a test that `make platforms` runs, since its builds or an emulator take minutes."""
    return pytest.mark.skipif(os.environ.get("REPMATH_PLATFORMS") != "1", reason=f"REPMATH_PLATFORMS is not 1: {why}")


def preset(name: str, kind: str = "configurePresets") -> dict:
    """A preset of CMakePresets.json."""
    known = json.loads((ROOT / "CMakePresets.json").read_text())[kind]
    return next(p for p in known if p["name"] == name)


def definitions_of(name: str) -> tuple[str, ...]:
    """What a preset and the one that it inherits from define, as options of `build`."""
    found = preset(name)
    own = tuple(f"{key}={value}" for key, value in found["cacheVariables"].items())
    return definitions_of(found["inherits"]) + own if "inherits" in found else own


# For builds that run few numbers: no option changes a bit, and without forced inlining (crlibm/config.h) they are compiled in a
# fourth of the time.
QUICK = "-O1 -DRM_CFG_CALLS"

# The flags and the environment of the preset `asan`.
ASAN_FLAGS = preset("asan")["cacheVariables"]["CMAKE_C_FLAGS"]
ASAN_ENVIRONMENT = preset("asan", "testPresets")["environment"]


def default_build() -> pathlib.Path:
    """The plain build, with the C tests and the BLAS. `make` has built the package in its folder: most of it is there."""
    ours = ("SKBUILD=OFF", "REPMATH_XLA=OFF", "CMAKE_BUILD_TYPE=Release", "CMAKE_UNITY_BUILD=OFF")
    return build("default", *ours, "REPMATH_BUILD_TESTS=ON", "REPMATH_BLAS_COMPAT=ON")


# As on a device, where a fused operation is one instruction.
FMA = ["-mfma"] if platform.machine() in ("x86_64", "AMD64") else []
HAS_FMA = bool(FMA) and "fma" in pathlib.Path("/proc/cpuinfo").read_text()


def emulated_cuda(name: str = "emulated", *more: str) -> pathlib.Path:
    """librepmath_cuda with the host as its device (tests/cuda/emulate.h), and more options of the compiler under another name."""
    need("c++")
    flags = " ".join([QUICK, *(FMA if HAS_FMA else []), *more])
    options = *definitions_of("cuda-emulated"), f"CMAKE_CXX_FLAGS={flags}"
    return build(name, *options, targets=("repmath_cuda",)) / "src/cuda/librepmath_cuda.so"


def control_library() -> pathlib.Path:
    """The library with a factor for each error bound (bound_sites.py), for controls: 2^-20 until a test sets it."""
    where = BUILDS / "control-sources"
    options = "CMAKE_BUILD_TYPE=Control", f"CMAKE_C_FLAGS={QUICK}"
    with locked("control-sources"):  # nobody builds what another process still writes
        bound_sites.copy_sources(where)
        return build("control-factors", *options, targets=("repmath",), source=where) / "librepmath.so"


@functools.cache
def driver(source: pathlib.Path, *options: str) -> pathlib.Path:
    """A shared library of one file of the tests, which includes headers of the library. It is compiled once for all processes, and again
    when anything that it may include has changed. Without forced inlining, as the library's own accurate phases are: the driver of all of
    them takes a fourteenth of the time."""
    (cc,) = need(os.environ.get("CC", "cc"))
    flags = ["-std=gnu11", "-O1", "-ffp-contract=off", "-fPIC", "-shared", "-DRM_CFG_CALLS", *options]
    known = hashlib.sha256(repr((cc, *flags)).encode())
    included = [
        p
        for folder in ("crlibm", "src", "include")
        for p in (ROOT / folder).rglob("*")
        if p.suffix in (".c", ".h", ".inl", ".inc", ".def")
    ]
    for file in [source, *sorted(included)]:
        known.update(file.read_bytes())
    path = BUILDS / f"{source.stem}-{known.hexdigest()[:16]}.so"
    with locked(path.stem):
        if not path.exists():
            run(cc, *flags, "-o", path.with_suffix(".new"), source)
            path.with_suffix(".new").rename(path)
    return path


def cross_aarch64(*flags: str) -> tuple[pathlib.Path, str]:
    """The build for aarch64, with flags for the compiler one of its own, and its emulator; the programs are static, so the emulator needs no
    system image."""
    cc, qemu = need("aarch64-linux-gnu-gcc", "qemu-aarch64")
    where = build(
        "aarch64-control" if flags else "aarch64",
        "CMAKE_SYSTEM_NAME=Linux",
        "CMAKE_SYSTEM_PROCESSOR=aarch64",
        f"CMAKE_C_COMPILER={cc}",
        "CMAKE_EXE_LINKER_FLAGS=-static",
        "CMAKE_BUILD_TYPE=Cross",
        f"CMAKE_C_FLAGS={' '.join([QUICK, *flags])}",
        "REPMATH_BUILD_TESTS=ON",
    )
    return where, qemu


def mingw() -> str:
    """gcc for Windows on x86-64, with threads."""
    names = "x86_64-w64-mingw32-gcc-posix", "x86_64-w64-mingw32-gcc"
    found = next((tool(name) for name in names if tool(name)), None)
    if not found:
        pytest.skip("not installed: x86_64-w64-mingw32-gcc (Debian's gcc-mingw-w64-x86-64-posix)")
    return found


def zig() -> str:
    """The program of the package ziglang: clang with the C libraries of other systems."""
    found = tool("zig")
    if not found and importlib.util.find_spec("ziglang"):
        found = str(pathlib.Path(importlib.util.find_spec("ziglang").origin).parent / "zig")
    if not found:
        pytest.skip("not installed: zig (pip install ziglang)")
    return found


def cross_zig(name: str, target: str, system: str, processor: str) -> pathlib.Path:
    """The build of the library and the C tests for another system, by zig's clang and linker."""
    wrappers = BUILDS / "zig"
    with locked("zig"):
        wrappers.mkdir(exist_ok=True)
        for program, words in ((f"cc-{target}", f"cc -target {target}"), ("ar", "ar"), ("ranlib", "ranlib")):
            path = wrappers / program
            text = f'#!/bin/sh\nexec {shlex.quote(zig())} {words} "$@"\n'
            if not path.exists() or path.read_text() != text:
                path.write_text(text)
                path.chmod(0o755)
    return build(
        name,
        f"CMAKE_SYSTEM_NAME={system}",
        f"CMAKE_SYSTEM_PROCESSOR={processor}",
        f"CMAKE_C_COMPILER={wrappers / f'cc-{target}'}",
        f"CMAKE_AR={wrappers / 'ar'}",
        f"CMAKE_RANLIB={wrappers / 'ranlib'}",
        "CMAKE_BUILD_TYPE=Cross",
        f"CMAKE_C_FLAGS={QUICK}",
        "REPMATH_BUILD_TESTS=ON",
    )


def available_isas(where: pathlib.Path) -> list[str]:
    """The builds that this CPU can run, as test_isa reports them."""
    lines = run(where / "tests/c/test_isa").splitlines()
    return [line.split(":")[0] for line in lines if line.endswith(": available")]


DIGEST_PROGRAMS = ("digest_sample", "digest_operators")


def digests(where: pathlib.Path, *args, programs=DIGEST_PROGRAMS, env=None, wrapper=()) -> dict[str, str]:
    """What the digest programs of a build print, as a dict."""
    lines = [line for name in programs for line in run(*wrapper, where / "tests/c" / name, *args, env=env).splitlines()]
    found = dict(line.split() for line in lines)
    assert len(found) == len(lines)
    return found


def declared_functions(text: str) -> set[str]:
    """Functions that a header declares with RM_API."""
    return set(re.findall(r"^RM_API [^;(]*?\b(rm_\w+)\(", text, re.M))


def symbols(library, *flags):
    (nm,) = need("nm")
    lines = run(nm, "-D", "--format=posix", *flags, library).splitlines()
    return {line.split()[0].split("@")[0] for line in lines}
