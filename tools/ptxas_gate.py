"""Compile the kernels of src/cuda as a release has them, and hold what ptxas reports of each to the limits below.

    python tools/ptxas_gate.py                            every file, for each architecture: minutes
    python tools/ptxas_gate.py --arch 90 clip cumsum      these files for one
    python tools/ptxas_gate.py --elementwise exp pow      elementwise functions too

A device reserves the stack of its deepest kernel for every thread that it can hold: a kilobyte is 270 MB on an H100. Numbers that registers have
no room for (spills) lie there too, where they cost a product its speed. And where the compiler does not know that an address is aligned, it loads
a number byte by byte, which kernels whose addresses are words must not do. Kernels whose time is that of memory must load and store words of 16 bytes.
The exit status is 1 where a kernel breaks a rule."""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
ARCHITECTURES = (80, 90, 120)
# As src/cuda/CMakeLists.txt has it; optimisation is nvcc's own, which is -O3.
FLAGS = "-std=c++17 --fmad=false --prec-div=true --prec-sqrt=true --ftz=false -DRM_CFG_BUILDING".split()

STACK = 512  # bytes of any kernel but those below
# Kernels whose threads run the last phase of a function, by parts of their names: few threads, but the whole device's stack.
DEEP = {
    "accurate_": 4096,  # numbers of any precision lie in memory of the stream (crlibm/enclosure/limbs.h), other values here
    "dd_ball_total_kernel": 3584,
    "total_kernel": 3584,
    "divisor_kernel": 2560,
    "loss_of_classes": 1024,  # a row's loss in double-double
    "each_of_classes": 1024,
    "random_kernel": 3584,  # normal numbers, down to integers of 16 limbs
    "words_kernel": 3200,  # elementwise functions with their accurate phase; gelu has 3,104 on sm_120
    "map_kernel": 3072,
}
PRODUCTS = ("dense_kernel", "async_kernel", "conv_kernel", "b64_tiles", "dd_tiles", "retry_kernel", "dense_norms", "crt_")
WORDS = ("async_kernel", "conv_kernel", "words_kernel")  # whose addresses are aligned; others load bytes where theirs are not
# Elementwise functions, their tables of 16-bit numbers, formulas, and steps of optimisers, where addresses are aligned.
WIDE = ("words_kernel", "shared_kernel", "cached_kernel", "formula_kernel", "step_kernel")

Kernel = collections.namedtuple("Kernel", "name stack spilled registers bytes wide")


def readable(names: list[str]) -> list[str]:
    """The names in C++, where c++filt is there."""
    tool = shutil.which("c++filt")
    if tool is None or not names:
        return names
    return subprocess.run([tool, "-p"], input="\n".join(names), capture_output=True, text=True, check=True).stdout.split("\n")


def reported(ptxas: str, ptx: str) -> list[Kernel]:
    """The kernels of a file: what ptxas says, how many instructions of theirs, calls aside, load single bytes, and how many load and how many
    store 16 bytes of global memory."""
    loads, entry = collections.Counter(), None
    wide = {"ld": collections.Counter(), "st": collections.Counter()}
    for line in ptx.splitlines():
        found = re.search(r"\.(entry|func)\b.*?(\w+)\($", line)
        if found:
            entry = found[2]
        elif re.search(r"\bld\.(global|shared|param|local)?\.?(nc\.)?[us]8", line) and ".param" not in line:
            loads[entry] += 1
        elif found := re.search(r"\b(ld|st)\.global(\.\w+)*?\.(v4\.\w32|v2\.\w64|b128)\b", line):
            wide[found[1]][entry] += 1
    made, name, stack, spilled = [], None, 0, 0
    for line in ptxas.splitlines():
        if found := re.search(r"Compiling entry function '(\S+)' for", line):
            name, own = found[1], False
        elif found := re.search(r"Function properties for (\S+)", line):
            own = found[1] == name
        elif found := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
            if own:
                stack, spilled = int(found[1]), int(found[2]) + int(found[3])
        elif (found := re.search(r"Used (\d+) registers", line)) and name:
            whole = re.search(r"(\d+) bytes cumulative stack", line)
            made.append(
                Kernel(
                    name,
                    max(stack, int(whole[1]) if whole else 0),
                    spilled,
                    int(found[1]),
                    loads[name],
                    (wide["ld"][name], wide["st"][name]),
                )
            )
            name = None
    return [k._replace(name=n) for k, n in zip(made, readable([k.name for k in made]))]


def compiled(source: pathlib.Path, architecture: int) -> list[Kernel]:
    """The kernels of a file for an architecture."""
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        raise SystemExit("ptxas_gate: nvcc is not installed")
    with tempfile.TemporaryDirectory() as folder:
        code = pathlib.Path(folder) / "code.ptx"
        include = [f"-I{ROOT}", f"-I{ROOT / 'include'}"]
        subprocess.run([nvcc, "-ptx", f"-arch=compute_{architecture}", *FLAGS, *include, source, "-o", code], check=True)
        command = [nvcc, "-cubin", f"-arch=sm_{architecture}", "-Xptxas=-v", code, "-o", pathlib.Path(folder) / "code.cubin"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"ptxas_gate: {source}: {done.stderr}")
        return reported(done.stdout + done.stderr, code.read_text())


def faults(k: Kernel) -> list[str]:
    """What is over a limit."""
    limit = max([size for part, size in DEEP.items() if part in k.name], default=STACK)
    found = [f"a stack of {k.stack} bytes, of {limit} at most"] if k.stack > limit else []
    if k.spilled and any(part in k.name for part in PRODUCTS):
        found.append(f"{k.spilled} bytes of spills in a product")
    if k.bytes and any(part in k.name for part in WORDS):
        found.append(f"{k.bytes} loads of single bytes")
    if not all(k.wide) and any(part in k.name for part in WIDE):
        found.append("{} loads and {} stores of 16 bytes".format(*k.wide))
    return found


def elementwise(name: str, folder: pathlib.Path) -> pathlib.Path:
    """The file of an elementwise function, as cmake/functions.cmake writes it."""
    sys.path.insert(0, str(ROOT / "tests/support"))
    import oracle

    lines = [f'#include "crlibm/{name}/{name}.h"', f'#include "crlibm/{name}/{name}_accurate.h"']
    lines += ['#include "src/cuda/elementwise.h"', f"RM_CUDA_FUNCTION({name}, {oracle.ARITY[name]})", ""]
    (folder / f"{name}.cu").write_text("\n".join(lines))
    return folder / f"{name}.cu"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE", help="files of src/cuda without .cu; all")
    parser.add_argument("--arch", nargs="*", type=int, default=ARCHITECTURES, help="compute capabilities, 80 90 120")
    parser.add_argument("--elementwise", nargs="*", default=[], metavar="NAME", help="elementwise functions")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    names = options.files or ([] if options.elementwise else sorted(p.stem for p in (ROOT / "src/cuda").glob("*.cu")))
    wrong = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        sources = [ROOT / f"src/cuda/{name}.cu" for name in names]
        sources += [elementwise(name, pathlib.Path(folder)) for name in options.elementwise]
        work = [(source, architecture) for architecture in options.arch for source in sources]
        for (source, architecture), kernels in zip(work, pool.map(lambda job: compiled(*job), work)):
            deepest = max((k.stack for k in kernels), default=0)
            print(f"{source.stem} sm_{architecture}: {len(kernels)} kernels, stacks of {deepest} bytes at most", flush=True)
            for k in kernels:
                for fault in faults(k):
                    wrong += 1
                    print(f"    {k.name}: {fault}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
