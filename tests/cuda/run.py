"""Build the CUDA library for the GPU that is here and compare its bits with the CPU library's and with the golden digests.

Usage: python tests/cuda/run.py      (what `make test-cuda` runs; needs nvcc, a GPU, cmake)"""

import hashlib
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "tests" / folder) for folder in ("support", "controls")]

import golden_sets  # noqa: E402
import native  # noqa: E402
import oracle  # noqa: E402

SCALE = "50"  # sizes of the comparison with the CPU, against 1 for the emulation on the host


def stop(reason: str):
    print(f"test-cuda: {reason}")
    raise SystemExit(2)


def golden(program: pathlib.Path, say=print, each=map) -> tuple[int, int]:
    """Digests of every function of one argument and format over the golden inputs: how many are right, how many wrong. `each` is
    map, or what runs several at a time."""
    inputs = {fmt: golden_sets.inputs(fmt) for fmt in ("f16", "bf16", "f32", "f64")}

    def right(case: tuple[str, str]) -> bool:
        fmt, name = case
        start = time.perf_counter()
        command = [program, "apply", name, fmt]
        out = subprocess.run(command, input=inputs[fmt].tobytes(), stdout=subprocess.PIPE, check=True).stdout
        ok = hashlib.sha256(out).hexdigest() == golden_sets.published(name, fmt)
        verdict = "right" if ok else "WRONG"
        say(f"{name}_{fmt}: {inputs[fmt].size} inputs, golden digest {verdict}, {time.perf_counter() - start:.1f} s")
        return ok

    found = list(each(right, [(fmt, name) for fmt in inputs for name in oracle.UNARY]))
    return found.count(True), found.count(False)


def build() -> pathlib.Path:
    """The folder of the CUDA library for the GPU that is here, and of its test programs."""
    for name in ("nvcc", "nvidia-smi", "cmake"):
        if native.tool(name) is None:
            stop(f"{name} is not installed")
    query = ["nvidia-smi", "--query-gpu=name,compute_cap", "--format=csv,noheader"]
    gpu = subprocess.run(query, capture_output=True, text=True)
    if gpu.returncode or not gpu.stdout.strip():
        stop("there is no GPU")
    print(gpu.stdout.strip())
    architecture = gpu.stdout.split("\n")[0].split(",")[-1].strip().replace(".", "")
    return native.build("cuda", "REPMATH_CUDA=ON", "REPMATH_BUILD_TESTS=ON", f"CMAKE_CUDA_ARCHITECTURES={architecture}")


def main():
    where = build()
    program = where / "src/cuda/test_cuda"
    others = [where / "src/cuda" / source.stem for source in sorted(HERE.glob("test_cuda_*.cpp"))]
    commands = [[each, SCALE] for each in [program, *others]]
    differ = [command[0].name for command in commands if subprocess.run(command).returncode]
    right, wrong = golden(program)
    print(f"golden digests: {right} right, {wrong} wrong")
    print(f"programs that found other bits than the CPU's: {', '.join(differ) or 'none'}")
    return bool(differ) or wrong != 0


if __name__ == "__main__":
    sys.exit(main())
