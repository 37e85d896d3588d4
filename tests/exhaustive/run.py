"""All 2^32 inputs of each f32 function of one argument, on every instruction set of this CPU.

    python tests/exhaustive/run.py [--function NAME ...] [--isa NAME ...] [--stride N | --sample] [--jobs N] [--update]

For each function: the digests of all instruction sets must agree with each other and with tests/golden; a strided sample of
about 2^24 inputs and every input that the fast kernel left undecided must agree with MPFR. --sample runs the strided set only
(seconds a function); --stride N another one, without a golden digest. --update writes tests/golden/<function>.json, all formats,
after all comparisons with MPFR have succeeded; functions of several arguments have this only.

The static library is the one that REPMATH_STATIC_LIBRARY names, or the default build."""

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE.parent / "controls")]

import golden_sets  # noqa: E402
import native  # noqa: E402
import numpy as np  # noqa: E402
import oracle  # noqa: E402

ISAS = ("base", "avx2", "avx512", "neon")


class Mismatch(Exception):
    """A result differs from another instruction set's, the golden one or MPFR's."""


def compile_program(folder: pathlib.Path, function: str) -> pathlib.Path:
    given = os.environ.get("REPMATH_STATIC_LIBRARY")
    library = pathlib.Path(given) if given else native.default_build() / "librepmath.a"
    program = folder / f"exhaustive_{function}"
    headers = [
        f'-DRM_TEST_{kind}_HEADER="{oracle.ROOT}/crlibm/{function}/{name}.h"'
        for kind, name in (("FAST", function), ("ACCURATE", f"{function}_accurate"))
    ]
    sources = [HERE / "exhaustive_f32.c", HERE / "trace_accurate.c", library]
    options = ["-std=gnu11", "-O3", "-ffp-contract=off", "-DRM_CFG_STATIC", f"-I{oracle.ROOT / 'include'}"]
    options += [f"-DRM_TEST_FUNCTION={function}", *headers]
    # The library's object of complete functions defines the name that trace_accurate.c has: the linker takes the first one.
    command = [
        os.environ.get("CC", "cc"),
        *options,
        *sources,
        "-Wl,-z,muldefs",
        "-fopenmp",
        "-lpthread",
        "-lm",
        "-o",
        program,
    ]
    subprocess.run(command, check=True)
    return program


def run(program, function, isa, stride, file=None):
    """One run: a dict of what it printed, or None when the CPU cannot run this build."""
    command = [program, str(stride), *([file] if file else [])]
    done = subprocess.run(command, env={**os.environ, "REPMATH_ISA": isa}, capture_output=True, text=True)
    if done.returncode == 2:
        return None
    if done.returncode != 0:
        raise Mismatch(f"{function} on {isa}: exit status {done.returncode}\n{done.stderr}")
    name, used, _, inputs, sha256, undecided = done.stdout.split()
    assert (name, used) == (function, isa)
    return {"inputs": int(inputs), "sha256": sha256, "undecided": int(undecided)}


def mpfr_chunk(function, bits):
    return oracle.values(function, oracle.to_double(bits, "f32"), "f32")


def mpfr(pool, function, bits):
    return np.concatenate(list(pool.map(mpfr_chunk, [function] * 64, np.array_split(bits, 64))))


def check_undecided(pool, function, isa, file):
    pairs = np.fromfile(file, dtype="<u4").reshape(-1, 2)
    want = mpfr(pool, function, pairs[:, 0].copy())
    wrong = np.flatnonzero(pairs[:, 1] != want)
    if wrong.size:
        raise Mismatch(f"{function} on {isa}: undecided inputs rounded wrongly: {[hex(b) for b in pairs[wrong[:5], 0]]}")


def compare(function, what, digests, want):
    """digests by name; want None: they must agree with each other."""
    found = {**digests, **({"golden": want} if want else {})}
    if len(set(found.values())) != 1:
        raise Mismatch(f"{function}, {what}: {found}")


def check_function(function, isas, program, folder, pool, jobs, stride, known):
    """Returns the f32 entry of tests/golden/<function>.json."""

    def one(isa):
        file = folder / f"{function}.{isa}"
        return run(program, function, isa, golden_sets.F32_STRIDE), run(program, function, isa, stride, file)

    with concurrent.futures.ThreadPoolExecutor(jobs) as threads:
        both = dict(zip(isas, threads.map(one, isas), strict=True))
    sample = {isa: results[0] for isa, results in both.items()}
    every = {isa: results[1] for isa, results in both.items()}
    for isa, result in every.items():
        print(
            f"{function:6} {isa:7} {result['inputs']} inputs {result['sha256']} undecided {result['undecided']}", flush=True
        )
    expected = {1: known.get("sha256"), golden_sets.F32_STRIDE: known.get("strided", {}).get("sha256")}
    compare(function, f"stride {stride}", {i: r["sha256"] for i, r in every.items()}, expected.get(stride))
    for isa in isas:
        check_undecided(pool, function, isa, folder / f"{function}.{isa}")
    strided = {i: r["sha256"] for i, r in sample.items()}
    strided["MPFR"] = golden_sets.sha256(mpfr(pool, function, golden_sets.inputs("f32")))
    compare(function, "strided sample", strided, expected[golden_sets.F32_STRIDE])
    first = isas[0]
    return {
        "sha256": every[first]["sha256"],
        "inputs": every[first]["inputs"],
        "strided": {
            "stride": golden_sets.F32_STRIDE,
            "inputs": sample[first]["inputs"],
            "sha256": strided["MPFR"],
        },
    }


def other_formats(pool, function):
    """The digests of the other formats are MPFR's own; all formats for a function of several arguments."""
    arity, formats = oracle.ARITY[function], {}
    for fmt in ("f16", "bf16", "f32", "f64"):
        if arity == 1 and fmt == "f32":
            continue
        bits = (golden_sets.inputs(fmt),) if arity == 1 else golden_sets.tuples(fmt, arity)
        parts = zip(*[np.array_split(oracle.to_double(b, fmt), 64) for b in bits], strict=True)
        arguments = [part if arity > 1 else part[0] for part in parts]
        results = pool.map(oracle.values, [function] * 64, arguments, [fmt] * 64)
        formats[fmt] = {"sha256": golden_sets.sha256(np.concatenate(list(results))), "inputs": len(bits[0])}
    return formats


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--function", action="append", choices=oracle.FUNCTIONS)
    parser.add_argument("--isa", action="append", choices=ISAS)
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("--sample", action="store_true", help=f"stride {golden_sets.F32_STRIDE}")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args(arguments)
    stride = golden_sets.F32_STRIDE if options.sample else options.stride
    if options.update and stride != 1:
        parser.error("--update needs all inputs")
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        folder = pathlib.Path(name)
        for function in options.function or oracle.FUNCTIONS:
            formats = {}
            if oracle.ARITY[function] == 1:
                program = compile_program(folder, function)
                isas = [isa for isa in options.isa or ISAS if run(program, function, isa, 1 << 31)]
                if not isas:
                    parser.error("no such build on this CPU")
                known = {} if options.update else golden_sets.load(function).get("f32", {})
                formats["f32"] = check_function(function, isas, program, folder, pool, options.jobs, stride, known)
            if options.update:
                formats |= other_formats(pool, function)
                golden_sets.write(function, {fmt: formats[fmt] for fmt in oracle.FORMATS if fmt in formats})
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Mismatch as error:
        sys.exit(f"MISMATCH {error}")
