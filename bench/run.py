"""Measure repmath against NumPy, SciPy and PyTorch: python bench/run.py [--quick]

Writes bench/results/<instruction set>.json and prints a table. The instruction sets below the best one are measured in
processes of their own, with NumPy and PyTorch held to the same one.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

# Libraries measured in turns share the cores: a thread that spins after its library's call would slow the next library's.
# GNU OpenMP's and OpenBLAS's idle threads sleep instead, for all alike. Matrix products have pauses, and threads that wait as installed.
IDLE_THREADS_SLEEP = {"OMP_WAIT_POLICY": "passive", "OPENBLAS_THREAD_TIMEOUT": "4"}

RESULTS = pathlib.Path(__file__).resolve().parent / "results"


def show(results):
    for r in results:
        seconds = r.get("seconds", {}).get("repmath")
        if seconds is None:  # a mean of ratios
            speed = " " * 18
        elif "n" in r:
            speed = f"{1e9 * seconds / r['n']:7.3f} ns/element"
        elif "gflops" in r:
            speed = f"{r['gflops']['repmath']:7.1f} GFLOP/s   "
        else:
            speed = f"{1e6 * seconds:7.2f} us         "
        ratios = []
        for other, ratio in r["ratio"].items():
            target = r["targets"].get(other)
            mark = "" if target is None else f" ({'ok' if target['met'] else 'MISSED'}, <= {target['at most']:g})"
            ratios.append(f"{ratio:6.2f} x {other}{mark}")
        print(f"{r['case']:32} {speed}  {'  '.join(ratios)}", flush=True)


def measured(path, about, elementwise):
    """What is elementwise, or what is not, in an earlier file of the same machine and libraries."""
    earlier = json.loads(path.read_text()) if path.exists() else {"machine": None}
    if earlier["machine"] != about:
        sys.exit(f"{path.name} is missing, or of another machine or other versions: run without --elementwise and --rest")
    return [r for r in earlier["results"] if ("function" in r) == elementwise]


def matmuls(quick, **environment):
    """The results of products.matmuls in a process of its own."""
    own = {name: value for name, value in os.environ.items() if name not in IDLE_THREADS_SLEEP} | environment
    command = [sys.executable, pathlib.Path(__file__).with_name("products.py"), *["--quick"] * quick]
    return json.loads(subprocess.run(command, env=own, check=True, capture_output=True, text=True).stdout)


def wide_kernels(results, quick):
    """Adds the ratio to NumPy's matmul by OpenBLAS's AVX-512 kernels, which it does not choose on every CPU that has AVX-512."""
    ratios = {r["case"]: r["ratio"]["NumPy"] for r in matmuls(quick, OPENBLAS_CORETYPE="SkylakeX") if "f32" in r["case"]}
    for r in results:
        if r["case"] in ratios:
            r["ratio"]["NumPy, AVX-512 kernels"] = ratios[r["case"]]


def measure(quick, functions, only):
    import machine
    import reductions
    import summary
    from targets import judge

    import elementwise

    about = machine.describe()
    print(f"\n{about['cpu']}, {about['isa']}; {about['blas']}; {about['versions']}; {about['environment']}", flush=True)
    path = RESULTS / f"{about['isa']}.json"
    results = measured(path, about, True) if only == "rest" else []  # before minutes are spent
    others = measured(path, about, False) if only == "elementwise" else []
    if only != "rest":
        results = judge(elementwise.run(quick, functions), about["isa"])
    show(results)
    groups = summary.summary(results, about["isa"])
    summary.show(groups)
    if functions:
        return
    if only != "elementwise":
        held = about["environment"].get("NPY_DISABLE_CPU_FEATURES")
        others = matmuls(quick) + ([] if held else reductions.run(quick))
        if about["isa"] in ("avx512", "avx512bf16", "amx"):
            wide_kernels(others, quick)
        show(judge(others, about["isa"]))
    results += others
    RESULTS.mkdir(exist_ok=True)
    path.write_text(json.dumps({"machine": about, "summary": groups, "results": results}, indent=1) + "\n")


def held_to_avx2():
    """The environment in which all three libraries use AVX2."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    wide = [f for f in __cpu_dispatch__ if __cpu_features__.get(f) and ("512" in f or f == "X86_V4")]
    return {
        "REPMATH_ISA": "avx2",
        "NPY_DISABLE_CPU_FEATURES": " ".join(wide),
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="fewer and shorter batches: to see that it runs")
    parser.add_argument("--one", action="store_true", help="only the instruction set of this environment")
    parser.add_argument("--function", action="append", help="only these; nothing is written")
    parser.add_argument(
        "--elementwise", action="store_const", dest="only", const="elementwise", help="the functions again; the rest stays"
    )
    parser.add_argument("--rest", action="store_const", dest="only", const="rest", help="the rest again; the functions stay")
    args = parser.parse_args()
    for name, value in IDLE_THREADS_SLEEP.items():
        os.environ.setdefault(name, value)
    measure(args.quick, args.function, args.only)
    import repmath

    if not args.one and repmath.config()["isa"] in ("avx512", "avx512bf16", "amx"):
        command = [sys.executable, __file__, "--one", *(["--quick"] * args.quick), *([f"--{args.only}"] if args.only else [])]
        command += [word for name in args.function or [] for word in ("--function", name)]
        subprocess.run(command, env=os.environ | held_to_avx2(), check=True)


if __name__ == "__main__":
    main()
