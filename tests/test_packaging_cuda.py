"""The CUDA library without a GPU: it compiles where nvcc is installed, and its threads' code, run on the host (tests/cuda/emulate.h),
gives the CPU library's bits. With a GPU, tests/cuda/run.py does more."""

import concurrent.futures
import hashlib
import os
import platform
import re
import subprocess

import golden_sets
import oracle
import pytest
from native import ROOT, build, default_build, need, run, tool
from test_packaging_install import declared_functions, symbols

SOURCES = ["src/cuda/reduce.cu", "tests/cuda/test_cuda.cpp"]

OPTIONS = ["-x", "c++", "-std=gnu++17", "-O1", "-ffp-contract=off", "-DRM_TEST_EMULATE", f"-I{ROOT / 'include'}", f"-I{ROOT}"]
OPTIONS += ["-include", str(ROOT / "tests/cuda/emulate.h")]


# What is compiled again for a control, and without fused operations: sums, and functions of each family.
CONTROLLED = {"reduce.cu", "exp.cu", "log.cu", "sin.cu", "erf.cu", "gelu.cu", "silu_backward.cu", "pow.cu"}

# As src/cuda/CMakeLists.txt has it, there one translation unit a function. Here those that are not compiled again share four.
FUNCTION = """
#include "crlibm/{0}/{0}.h"
#include "crlibm/{0}/{0}_slow.h"
#include "src/cuda/elementwise.h"

RM_CUDA_FUNCTION({0}, {1})
"""


def emulated(where, *flags, others=None):
    """tests/cuda/test_cuda for the host; flags tell one build from another. With `others`, the folder of another build, only the
    sources of CONTROLLED are compiled with them, and the rest is that build's."""
    cc, cxx = need("cc", "c++")
    library = default_build()
    sources = [ROOT / source for source in [*SOURCES, "src/reduce/overlap.c"]]
    alone = [f for f in oracle.ARITY if f + ".cu" in CONTROLLED]
    rest = [f for f in oracle.ARITY if f not in alone]
    for functions in [*([f] for f in alone), *(rest[k::4] for k in range(4))]:
        sources.append(where / f"{functions[0]}.cu")
        sources[-1].write_text("".join(FUNCTION.format(f, oracle.ARITY[f]) for f in functions))

    def compile_one(source):
        if others and source.name not in CONTROLLED:
            return others / (source.name + ".o")
        target = where / (source.name + ".o")
        if source.suffix == ".c":
            run(cc, "-O1", "-c", source, "-o", target)
        else:
            run(cxx, *OPTIONS, *flags, "-c", source, "-o", target)
        return target

    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        objects = list(pool.map(compile_one, sources))
    run(cxx, *objects, f"-L{library}", "-lrepmath", f"-Wl,-rpath,{library}", "-o", where / "test_cuda")
    return where / "test_cuda"


FMA = ["-mfma"] if platform.machine() in ("x86_64", "AMD64") else []


# As on a device, where a fused operation is one instruction.
HAS_FMA = FMA and "fma" in open("/proc/cpuinfo").read()


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return emulated(tmp_path_factory.mktemp("emulated"), *(FMA if HAS_FMA else []))


def test_the_launchers_give_the_cpu_bits(program):
    out = run(program)
    counted = re.search(r"(\d+) passed, 0 failed", out)
    assert counted and int(counted[1]) > 100, out


def test_the_launchers_give_the_cpu_bits_without_fma(program, tmp_path):
    if not HAS_FMA:
        pytest.skip("this CPU has no FMA, or no option for it: the test above was without")
    assert re.search(r"\d+ passed, 0 failed", run(emulated(tmp_path, others=program.parent)))


@pytest.mark.parametrize("fmt", ["f16", "bf16"])
def test_golden_digests_of_every_16_bit_input(program, fmt):
    inputs = golden_sets.inputs(fmt).tobytes()
    for name in oracle.UNARY:
        out = subprocess.run([program, "apply", name, fmt], input=inputs, stdout=subprocess.PIPE, check=True).stdout
        assert hashlib.sha256(out).hexdigest() == golden_sets.published(name, fmt), name


def test_a_wrong_bound_is_seen(program, tmp_path):
    """The control: with bounds made smaller, the comparison fails."""
    flags = ["-DRM_CFG_BOUND_SHRINK=0x1p-20", *(FMA if HAS_FMA else [])]
    bad = emulated(tmp_path, *flags, others=program.parent)
    with pytest.raises(pytest.fail.Exception, match=r"\d+ passed, [1-9]\d* failed"):
        run(bad)


def test_it_compiles_for_one_architecture():
    need("nvcc", "nm")
    quick = ("CMAKE_BUILD_TYPE=Quick", "CMAKE_CUDA_FLAGS=-Xcicc=-O1 -Xptxas=-O0")  # nothing of it is run
    where = build("cuda_check", "REPMATH_CUDA=ON", "CMAKE_CUDA_ARCHITECTURES=80", *quick, targets=("repmath_cuda",))
    library = where / "src/cuda/librepmath_cuda.so"
    declared = set()
    for header in sorted((ROOT / "include/repmath").glob("cuda*.h")):
        declared |= declared_functions(header.read_text())
    exported = symbols(library, "--defined-only")
    assert {name for name in exported if name.startswith("rm_")} == declared
    assert "cudart" not in run("readelf", "-d", library)


def test_the_option_off_and_auto(tmp_path):
    (cmake,) = need("cmake")
    assert "CUDA library: OFF" in run(cmake, "-S", ROOT, "-B", tmp_path / "off", "-DREPMATH_CUDA=OFF")
    smi = tool("nvidia-smi")
    if smi is None or subprocess.run([smi, "-L"], capture_output=True).returncode:
        assert "CUDA library: OFF" in run(cmake, "-S", ROOT, "-B", tmp_path / "auto")
    with pytest.raises(pytest.fail.Exception, match="REPMATH_CUDA is AUTO, ON or OFF"):
        run(cmake, "-S", ROOT, "-B", tmp_path / "bad", "-DREPMATH_CUDA=maybe")


def emulated_parts(where, test, kernels, shared, variants, least=100):
    """A test program of its own for each of `variants`, flags that `kernels` are compiled with; what it printed, and its counts, `least`
    or more."""
    cc, cxx = need("cc", "c++")
    library = default_build()

    def compile_one(job):
        source, target, flags = job
        run(*([cc, "-O1"] if source.suffix == ".c" else [cxx, *OPTIONS, *flags]), "-c", source, "-o", target)
        return target

    jobs = [
        [(ROOT / source, where / (source.replace("/", "_") + ".o"), []) for source in [f"tests/cuda/{test}.cpp", *shared]]
    ]
    jobs += [
        [(ROOT / source, where / f"{source.replace('/', '_')}{k}.o", flags) for source in kernels]
        for k, flags in enumerate(variants)
    ]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        objects = [list(pool.map(compile_one, part)) for part in jobs]
    counts = []
    for k in range(len(variants)):
        program = where / f"{test}{k}"
        run(cxx, *objects[0], *objects[k + 1], f"-L{library}", "-lrepmath", f"-Wl,-rpath,{library}", "-o", program)
        out = subprocess.run([program], capture_output=True, text=True).stdout
        counted = re.search(r"(\d+) passed, (\d+) failed", out)
        assert counted and int(counted[1]) >= least, out
        counts.append((int(counted[2]), out))
    return counts


SHRINK = "-DRM_CFG_BOUND_SHRINK=0x1p-20"


def test_random_numbers_give_the_cpu_bits(tmp_path):
    """And the controls: a generator that is one round short, and bounds made smaller, are seen."""
    short = tmp_path / "philox_short.h"
    philox = (ROOT / "src/random/philox.h").read_text()
    text = philox.replace("RM_PHILOX_ROUNDS = 10", "RM_PHILOX_ROUNDS = 9")
    assert text != philox
    short.write_text(text.replace('"../../crlibm', f'"{ROOT}/crlibm'))
    shared = ["src/cuda/random_normal.cu", "src/random/job.c", "src/random/truncated_exact.c", "src/reduce/overlap.c"]
    counts = emulated_parts(
        tmp_path, "test_cuda_random", ["src/cuda/random.cu"], shared, [[], ["-include", str(short)], [SHRINK]]
    )
    for k, (failed, out) in enumerate(counts):
        assert (failed == 0) == (k == 0), out


def test_permutations_give_the_cpu_bits(tmp_path):
    """And with so few bits of each draw that many are equal: the controls say that not all are used, and nothing else."""
    variants = [[], ["-DRM_CFG_PERMUTATION_BITS=8"], ["-DRM_CFG_PERMUTATION_BITS=3"]]
    shared = ["src/random/job.c", "src/random/truncated_exact.c", "src/reduce/overlap.c"]
    counts = emulated_parts(tmp_path, "test_cuda_permutation", ["src/cuda/permutation.cu"], shared, variants, least=18)
    for k, (_, out) in enumerate(counts):
        assert re.findall("FAILED (.*)", out) == (["all bits are used"] if k else []), out


def test_optimisers_give_the_cpu_bits(tmp_path):
    """And the control. What the fast step leaves open, down to numbers of 32,768 bits, is finished as on the CPU."""
    kernels = ["src/cuda/adam.cu", "src/cuda/clip.cu", "src/cuda/sgd.cu"]
    shared = ["src/cuda/optimizers_slow.cu", "src/nn/optimizers_job.c"]
    (good, out), (bad, _) = emulated_parts(tmp_path, "test_cuda_optim", kernels, shared, [[], [SHRINK]])
    assert good == 0 and bad, out


def test_formulas_give_the_cpu_bits(tmp_path):
    """And the control. Every three of the special numbers, and numbers beyond the bounds of the fast step."""
    shared = ["src/cuda/formulas_slow.cu", "src/nn/formulas_job.c"]
    (good, out), (bad, found) = emulated_parts(
        tmp_path, "test_cuda_formulas", ["src/cuda/formulas.cu"], shared, [[], [SHRINK]]
    )
    assert good == 0 and bad, out
    assert "FAILED beside a midpoint" in found


def test_rows_give_the_cpu_bits(tmp_path):
    """And the control. Long and short rows, in place, backward, misaligned, with every kind of number."""
    kernels = ["src/cuda/entropy.cu", "src/cuda/norms.cu", "src/cuda/softmax.cu"]
    shared = ["src/cuda/entropy_slow.cu", "src/cuda/norms_slow.cu", "src/cuda/softmax_slow.cu", "src/reduce/overlap.c"]
    shared += ["src/nn/cross_entropy_job.c", "src/nn/norms_job.c", "src/nn/row_apart.c", "src/nn/softmax_job.c"]
    (good, out), (_, bad) = emulated_parts(tmp_path, "test_cuda_rows", kernels, shared, [[], [SHRINK]])
    assert good == 0, out
    for name in ("log_softmax", "cross_entropy", "normalize", "weights of columns", "weights of sets"):
        assert f"FAILED {name}" in bad, bad


def test_pooling_gives_the_cpu_bits(tmp_path):
    """And the control."""
    shared = ["src/cuda/pooling_slow.cu", "src/nn/pooling_job.c", "src/reduce/overlap.c"]
    (good, out), (bad, _) = emulated_parts(tmp_path, "test_cuda_pooling", ["src/cuda/pooling.cu"], shared, [[], [SHRINK]])
    assert good == 0 and bad, out


def test_reductions_give_the_cpu_bits(tmp_path):
    """And the controls: bounds made smaller, and blocks that drop the last accumulator, are seen."""
    short = tmp_path / "accumulate_short.h"
    accumulate = (ROOT / "src/cuda/accumulate.h").read_text()
    text = accumulate.replace("i + half < count;", "i + half < count - 1;")
    assert text != accumulate
    short.write_text(re.sub(r'(#include )"', rf'\1"{ROOT}/src/cuda/', text))
    kernels = ["src/cuda/cumsum.cu", "src/cuda/scatter.cu", "src/cuda/statistics.cu"]
    shared = ["src/reduce/overlap.c", "src/reduce/scatter_job.c", "src/reduce/statistics_job.c"]
    counts = emulated_parts(tmp_path, "test_cuda_reductions", kernels, shared, [[], [SHRINK], ["-include", str(short)]])
    seen = [{name for name in ("mean", "cumsum", "index_add", "segment_sum") if f"FAILED {name}" in out} for _, out in counts]
    assert [failed == 0 for failed, _ in counts] == [True, False, False], counts
    assert seen == [set(), {"cumsum", "index_add", "segment_sum"}, {"mean", "index_add", "segment_sum"}]


def test_losses_give_the_cpu_bits(tmp_path):
    """And the controls. Elements and sums, down to what big numbers decide."""
    for test, of, jobs, seen in (
        ("test_cuda_losses", ["losses", "losses_slow", "nll"], ["losses_job", "nll_job"], "a quotient beside a tie"),
        ("test_cuda_wide_losses", ["bce", "kl_div", "wide_losses_slow"], ["wide_loss_job"], "a sum beside a tie"),
    ):
        shared = [f"src/nn/{job}.c" for job in [*jobs, "row_apart"]] + ["src/reduce/overlap.c"]
        kernels = [f"src/cuda/{name}.cu" for name in of]
        (good, out), (bad, found) = emulated_parts(tmp_path, test, kernels, shared, [[], [SHRINK]])
        assert good == 0 and bad, out
        assert f"FAILED {seen}" in found


def test_products_give_the_cpu_bits(tmp_path):
    """Of matrices, and convolutions; multiplied by each thread, and by warps (mma). And the control."""
    kernels = ["src/cuda/matmul_narrow.cu", "src/cuda/matmul_f64.cu"]
    shared = ["src/cuda/matmul.cu", "src/cuda/convolution.cu", "src/cuda/reduce.cu"]
    shared += ["src/blas/check.c", "src/blas/convolution_job.c", "src/reduce/overlap.c"]
    variants = [FMA if HAS_FMA else [], ["-DRM_CFG_EMULATE_MMA"], [SHRINK]]
    (good, out), (by_warps, warps), (bad, _) = emulated_parts(tmp_path, "test_cuda_products", kernels, shared, variants)
    assert good == 0 and by_warps == 0 and bad, out + warps
