"""All 2^32 inputs of each f32 function, on every instruction set of this CPU.

    python tests/exhaustive/run.py [--function NAME ...] [--isa NAME ...] [--stride N | --sample] [--jobs N] [--update]

For each function: the digests of all instruction sets must agree with each other and with tests/golden/f32.json; a strided
sample of about 2^24 inputs and every input that the fast kernel left undecided must agree with MPFR. --sample runs the strided
set only (seconds a function); --stride N another one, without a golden digest. --update writes tests/golden/f32.json, and the
files of the other formats, after all comparisons with MPFR have succeeded.

The static library is the one that REPMATH_STATIC_LIBRARY names, or the default build."""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import golden_sets  # noqa: E402
import native  # noqa: E402
import numpy as np  # noqa: E402
import oracle  # noqa: E402

ISAS = ("base", "avx2", "avx512", "neon")


class Mismatch(Exception):
    """A result differs from another instruction set's, the golden one or MPFR's."""


def compile_program(folder: pathlib.Path) -> pathlib.Path:
    given = os.environ.get("REPMATH_STATIC_LIBRARY")
    library = pathlib.Path(given) if given else native.default_build() / "librepmath.a"
    program = folder / "exhaustive_f32"
    sources = [HERE / "exhaustive_f32.c", HERE / "trace_slow.c", library]
    options = ["-std=gnu11", "-O3", "-ffp-contract=off", "-DRM_CFG_STATIC", f"-I{oracle.ROOT / 'include'}"]
    command = [os.environ.get("CC", "cc"), *options, *sources, "-fopenmp", "-lpthread", "-lm", "-o", program]
    subprocess.run(command, check=True)
    return program


def run(program, function, isa, stride, file=None):
    """One run: a dict of what it printed, or None when the CPU cannot run this build."""
    command = [program, function, str(stride), *([file] if file else [])]
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


def mpfr_digest(pool, function, bits):
    chunks = np.array_split(bits, 64)
    return golden_sets.sha256(np.concatenate(list(pool.map(mpfr_chunk, [function] * 64, chunks))))


def check_undecided(function, isa, file):
    pairs = np.fromfile(file, dtype="<u4").reshape(-1, 2)
    want = mpfr_chunk(function, pairs[:, 0].copy())
    wrong = np.flatnonzero(pairs[:, 1] != want)
    if wrong.size:
        raise Mismatch(f"{function} on {isa}: undecided inputs rounded wrongly: {[hex(b) for b in pairs[wrong[:5], 0]]}")


def compare(function, what, digests, want):
    """digests by name; want None: they must agree with each other."""
    found = {**digests, **({"golden": want} if want else {})}
    if len(set(found.values())) != 1:
        raise Mismatch(f"{function}, {what}: {found}")


def check_function(function, isas, program, folder, pool, jobs, stride, golden):
    """Returns the entry of tests/golden/f32.json."""

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
    known = golden.get(function, {})
    expected = {1: known.get("sha256"), golden_sets.F32_STRIDE: known.get("strided", {}).get("sha256")}
    compare(function, f"stride {stride}", {i: r["sha256"] for i, r in every.items()}, expected.get(stride))
    for isa in isas:
        check_undecided(function, isa, folder / f"{function}.{isa}")
    strided = {i: r["sha256"] for i, r in sample.items()}
    strided["MPFR"] = mpfr_digest(pool, function, golden_sets.inputs("f32"))
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


def write(fmt, functions):
    text = json.dumps({"spec": 1, "format": fmt, "functions": functions}, indent=2) + "\n"
    (golden_sets.GOLDEN / f"{fmt}.json").write_text(text)


def update_others(pool):
    """The digests of the other formats are MPFR's own."""
    for fmt in ("f16", "bf16", "f64"):
        bits = golden_sets.inputs(fmt)
        functions = {}
        for function in oracle.FUNCTIONS:
            chunks = [oracle.to_double(b, fmt) for b in np.array_split(bits, 64)]
            results = pool.map(oracle.values, [function] * 64, chunks, [fmt] * 64)
            functions[function] = {"sha256": golden_sets.sha256(np.concatenate(list(results))), "inputs": len(bits)}
        write(fmt, functions)


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
    functions = options.function or oracle.FUNCTIONS
    if options.update and (stride != 1 or functions != oracle.FUNCTIONS):
        parser.error("--update needs all inputs of all functions")
    present = (golden_sets.GOLDEN / "f32.json").exists()
    golden = golden_sets.load("f32") if present and not options.update else {}
    entries = {}
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        folder = pathlib.Path(name)
        program = compile_program(folder)
        isas = [isa for isa in options.isa or ISAS if run(program, functions[0], isa, 1 << 31)]
        if not isas:
            parser.error("no such build on this CPU")
        for function in functions:
            entries[function] = check_function(function, isas, program, folder, pool, options.jobs, stride, golden)
        if options.update:
            write("f32", entries)
            update_others(pool)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Mismatch as error:
        sys.exit(f"MISMATCH {error}")
