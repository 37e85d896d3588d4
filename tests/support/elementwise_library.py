"""The elementwise functions of the C library through ctypes, as bits in and bits out, one instance per instruction set.

The library is the one that REPMATH_LIBRARY names, or the default build."""

import ctypes
import functools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import native
import numpy as np
import oracle
import pytest

ISAS = ("base", "avx2", "avx512", "neon")
ENGINES = ("amx", "avx512bf16")  # avx512 with another engine for products: only their tests run on them
SCALAR = {"f16": ctypes.c_uint16, "bf16": ctypes.c_uint16, "f32": ctypes.c_float, "f64": ctypes.c_double}


class Library:
    def __init__(self, path, isa: str | None = None):
        """The build is chosen at the first call, from the environment: so it is made here."""
        saved = os.environ.get("REPMATH_ISA")
        if isa is not None:
            os.environ["REPMATH_ISA"] = isa
        try:
            self.library = ctypes.CDLL(str(path))
            self.library.rm_isa.restype = ctypes.c_char_p
            self.isa = (self.library.rm_isa() or b"").decode()
        finally:
            os.environ.pop("REPMATH_ISA", None)
            if saved is not None:
                os.environ["REPMATH_ISA"] = saved
        assert isa is None or self.isa == isa

    def array(self, function: str, bits, fmt: str, rule: str | None = None) -> np.ndarray:
        """rm_v<function>_<fmt> on numbers given as bits (a tuple: several arguments), or its form with a rounding mode."""
        uint = oracle.FORMATS[fmt][2]
        arrays = [np.ascontiguousarray(b, dtype=uint) for b in (bits if isinstance(bits, tuple) else (bits,))]
        arrays.append(np.empty_like(arrays[0]))
        call = getattr(self.library, f"rm_v{function}_{fmt}" if rule is None else f"rm_v{function}_rounded_{fmt}")
        stride = ctypes.c_ssize_t(uint.itemsize)
        parameters = [v for a in arrays for v in (a.ctypes.data_as(ctypes.c_void_p), stride)]
        if rule is not None:
            parameters.append(ctypes.c_int(list(oracle.RULES).index(rule)))
        assert call(ctypes.c_int64(arrays[0].size), *parameters) == 0
        return arrays[-1]

    def scalar(self, function: str, bits, fmt: str) -> int:
        """rm_<function>_<fmt>."""
        call, uint = getattr(self.library, f"rm_{function}_{fmt}"), oracle.FORMATS[fmt][2]
        row = bits if isinstance(bits, tuple) else (bits,)
        call.restype, call.argtypes = SCALAR[fmt], [SCALAR[fmt]] * len(row)
        if SCALAR[fmt] is ctypes.c_uint16:
            return call(*map(int, row))
        kind = np.float32 if fmt == "f32" else np.float64
        return int(kind(call(*[float(uint.type(b).view(kind)) for b in row])).view(uint))


@functools.cache
def path() -> pathlib.Path:
    given = os.environ.get("REPMATH_LIBRARY")
    return pathlib.Path(given) if given else native.default_build() / "librepmath.so"


@functools.cache
def libraries(file: pathlib.Path | None = None, fresh: bool = False, isas: tuple[str, ...] = ISAS) -> dict[str, Library]:
    """One instance per build that this CPU can run. Each is a copy of the file, since a file is loaded only once; `fresh` ones are others
    than those that every test shares."""
    file = file or path()
    found, first = {}, Library(file)
    first.library.rm_isa_available.argtypes = [ctypes.c_char_p]
    for isa in isas:
        if first.library.rm_isa_available(isa.encode()):
            with tempfile.TemporaryDirectory() as folder:
                copy = shutil.copy(file, pathlib.Path(folder) / f"librepmath-{isa}.so")
                found[isa] = Library(copy, isa)
    return found


def check_script(code: str, isa: str) -> None:
    """Runs Python code, which finds this folder in sys.argv[1] and prints "checked" at its end, in a process held to an instruction set."""
    pytest.importorskip("torch")
    if isa not in libraries(isas=(*ISAS, *ENGINES)):
        pytest.skip(f"this CPU cannot run the {isa} build")
    command = [sys.executable, "-c", code, os.path.dirname(__file__)]
    done = subprocess.run(command, env={**os.environ, "REPMATH_ISA": isa}, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "checked" in done.stdout, done.stdout + done.stderr


def compare(function, x, fmt, want=None):
    """The function on each instruction set against the oracle, or `want`; returns the bits of the arguments and of the results."""
    bits = tuple(oracle.to_bits(v, fmt) for v in x)
    want = oracle.values(function, x, fmt) if want is None else want
    for isa, library in libraries().items():
        wrong = np.flatnonzero(library.array(function, bits, fmt) != want)
        assert wrong.size == 0, (isa, wrong.size, [[float(v[i]).hex() for v in x] for i in wrong[:5]])
    return bits, want
