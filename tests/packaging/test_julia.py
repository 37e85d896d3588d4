"""The Julia package finds the installed library, and its results are those of the Python package, bit for bit."""

import pathlib
import re

import numpy as np
from native import ROOT, need, run

import repmath

PACKAGE = ROOT / "examples/julia/Repmath"
SOURCE = (PACKAGE / "src/Repmath.jl").read_text()
LIB = pathlib.Path(repmath.get_include()).parent / "lib"
ONE, TWO = (re.findall(r":(\w+)", re.search(rf"const {name} = \[(.*?)\]", SOURCE, re.S)[1]) for name in ("ONE", "TWO"))


def test_every_function_is_there():
    """Julia has the functions of one and two arguments, but for gradients."""
    ufuncs = {name: u.nin for name, u in repmath._core.ufuncs.items() if u.nin < 3 and not name.endswith("_backward")}
    assert {**dict.fromkeys(ONE, 1), **dict.fromkeys(TWO, 2)} == ufuncs


REFUSED = [
    "exp(big(1.0))",
    "exp(Float16[1])",
    "add([1, 2], [1, 2, 3])",
    "dot([1], [1, 2])",
    "matmul([1 2], [1 2])",
]


def test_bits(tmp_path):
    (program,) = need("julia")
    code = f"""
import Repmath
file = open("{tmp_path}/out", "w")
put(x) = write(file, x)
refused(f) = try f(); 0.0 catch e; e isa Union{{ArgumentError,DimensionMismatch}} ? 1.0 : rethrow() end
for T in (Float32, Float64)
    x, y = T[0.1, 0.5, 0.7, 0.3], T[0.25, 1.5, 0.9, 2.0]
    for name in Repmath.ONE
        f = getfield(Repmath, name)
        put(f(x)); put(f(x[1])); put(f(view(x, 4:-2:1)))
    end
    for name in Repmath.TWO
        f = getfield(Repmath, name)
        put(f(x, y)); put(f(x, T(2))); put(f(T(2), y)); put(f(x[2], y[2]))
    end
    put(Repmath.sum(T[1, 1e30, 1, -1e30, 0.5])); put(Repmath.mean(x)); put(Repmath.norm(x)); put(Repmath.dot(x, y))
    put(Repmath.matmul(reshape([x; y], 2, 4), reshape([x; y], 4, 2)))
end
put(Repmath.exp([1 2; 3 4])); put(Repmath.add(1, 2.5)); put(Repmath.sum(1:4)); put(Repmath.dot([1, 2], [3.0, 4]))
put(Repmath.add(1f0, [1.0])); put(Repmath.sum(Float64[]))
{"".join(f"put(refused(() -> Repmath.{call}));" for call in REFUSED)}
close(file)
"""
    (tmp_path / "code.jl").write_text(code)
    environment = {"JULIA_DEPOT_PATH": f"{tmp_path}/depot:", "REPMATH_LIBRARY": str(LIB / "librepmath")}
    run(program, "--startup-file=no", "-O0", f"--project={PACKAGE}", tmp_path / "code.jl", env=environment)
    parts = []
    for dtype in (np.float32, np.float64):
        x, y = np.array([0.1, 0.5, 0.7, 0.3], dtype), np.array([0.25, 1.5, 0.9, 2.0], dtype)
        both = np.concatenate([x, y])
        with np.errstate(all="ignore"):
            for f in (repmath._core.ufuncs[name] for name in ONE):
                parts += [f(x), f(x[0]), f(x[::-2])]
            for f in (repmath._core.ufuncs[name] for name in TWO):
                parts += [f(x, y), f(x, dtype(2)), f(dtype(2), y), f(x[1], y[1])]
        parts += [dtype(2.5), repmath.mean(x), repmath.norm(x), repmath.dot(x, y)]
        parts += [repmath.matmul(both.reshape(4, 2).T, both.reshape(2, 4).T).T]
    parts += [repmath.exp(np.array([1.0, 3, 2, 4])), 3.5, 10.0, 11.0, np.array([2.0]), 0.0, *[1.0] * len(REFUSED)]
    assert (tmp_path / "out").read_bytes() == b"".join(np.ascontiguousarray(part).tobytes() for part in parts)
