"""The CUDA library without a GPU: it compiles where nvcc is installed, and its threads' code, run on the host (tests/cuda/emulate.h),
gives the CPU library's bits. With a GPU, tests/cuda/run.py does more."""

import concurrent.futures
import hashlib
import os
import re
import signal
import subprocess

import golden_sets
import oracle
import pytest
from native import (
    FMA,
    HAS_FMA,
    ROOT,
    build,
    declared_functions,
    default_build,
    emulated_cuda,
    for_platforms,
    need,
    run,
    symbols,
    tool,
)

OPTIONS = ["-x", "c++", "-std=gnu++17", "-O1", "-ffp-contract=off", "-DRM_TEST_EMULATE", f"-I{ROOT / 'include'}", f"-I{ROOT}"]
OPTIONS += ["-include", str(ROOT / "tests/cuda/emulate.h")]


# What is compiled again for a control, and without fused operations: sums, and functions of each family.
CONTROLLED = ["exp", "log", "sin", "erf", "gelu", "silu_backward", "pow"]

# As src/cuda/CMakeLists.txt has it.
FUNCTION = """
#include "crlibm/{0}/{0}.h"
#include "crlibm/{0}/{0}_accurate.h"
#include "src/cuda/elementwise.h"

RM_CUDA_FUNCTION({0}, {1})
"""


def compiled(jobs):
    """Object files of (source, where, flags)."""
    cc, cxx = need("cc", "c++")

    def compile_one(job):
        source, where, flags = job
        target = where / (source.name + ".o")
        run(*([cc, "-O1"] if source.suffix == ".c" else [cxx, *OPTIONS, *flags]), "-c", source, "-o", target)
        return target

    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(compile_one, jobs))


def linked(program, objects, library=None):
    """A program of these objects, and of an emulated library for what they lack."""
    (cxx,) = need("c++")
    folders = (library or emulated_cuda()).parent, default_build()
    paths = [flag for folder in folders for flag in (f"-L{folder}", f"-Wl,-rpath,{folder}")]
    run(cxx, *objects, *paths, "-lrepmath_cuda", "-lrepmath", "-o", program)
    return program


def built(source):
    """The object file of this source in the emulated library: a program that has others of its objects takes it as it is."""
    name = source.removeprefix("src/cuda/") if source.startswith("src/cuda/") else "__/" + source.removeprefix("src/")
    path = emulated_cuda().parent / f"CMakeFiles/repmath_cuda.dir/{name}.o"
    assert path.exists(), f"{source} is not of the library"
    return path


@pytest.fixture(scope="module")
def main(tmp_path_factory):
    return compiled([(ROOT / "tests/cuda/test_cuda.cpp", tmp_path_factory.mktemp("main"), [])])


def emulated(main, where, *flags):
    """tests/cuda/test_cuda for the host. With flags, CONTROLLED and sums are compiled with them."""
    objects = list(main)
    if flags:
        jobs = [(ROOT / "src/cuda/row_reductions.cu", where, flags)]
        for k in range(2):  # together they compile faster than each for itself
            source = where / f"functions{k}.cu"
            source.write_text("".join(FUNCTION.format(name, oracle.ARITY[name]) for name in CONTROLLED[k::2]))
            jobs.append((source, where, flags))
        others = "src/common/overlap.c", "src/reduce/statistics_args.c", "src/cuda/memory.cu", "src/cuda/table.cu"
        objects += [*compiled(jobs), *map(built, others)]
    return linked(where / "test_cuda", objects)


@pytest.fixture(scope="module")
def program(main, tmp_path_factory):
    return emulated(main, tmp_path_factory.mktemp("emulated"))


def test_the_launchers_give_the_cpu_bits(program):
    out = run(program)
    counted = re.search(r"(\d+) passed, 0 failed", out)
    assert counted and int(counted[1]) > 100, out


@pytest.mark.long
def test_the_launchers_give_the_cpu_bits_without_fma(main, tmp_path):
    if not HAS_FMA:
        pytest.skip("this CPU has no FMA, or no option for it: the test above was without")
    assert re.search(r"\d+ passed, 0 failed", run(emulated(main, tmp_path, "-mno-fma")))


@pytest.mark.parametrize("fmt", ["f16", "bf16"])
def test_golden_digests_of_every_16_bit_input(program, fmt):
    inputs = golden_sets.inputs(fmt).tobytes()
    for name in oracle.UNARY:
        out = subprocess.run([program, "apply", name, fmt], input=inputs, stdout=subprocess.PIPE, check=True).stdout
        assert hashlib.sha256(out).hexdigest() == golden_sets.published(name, fmt), name


@pytest.mark.long
def test_a_wrong_bound_is_seen(main, tmp_path):
    """The control: with bounds made smaller, the comparison fails."""
    flags = ["-DRM_CFG_BOUND_SHRINK=0x1p-20", *(FMA if HAS_FMA else [])]
    bad = emulated(main, tmp_path, *flags)
    with pytest.raises(pytest.fail.Exception, match=r"\d+ passed, [1-9]\d* failed"):
        run(bad)


@for_platforms("nvcc takes minutes")
def test_it_compiles_for_one_architecture(tmp_path):
    # Nothing of it is run: up to the code of a virtual architecture, and to that of a device where inline assembly is checked.
    nvcc, _ = need("nvcc", "nm")
    quick = ("CMAKE_BUILD_TYPE=Quick", "CMAKE_CUDA_FLAGS=-Xcicc=-O1", "CMAKE_CUDA_ARCHITECTURES=80-virtual")
    where = build("cuda_check", "REPMATH_CUDA=ON", *quick, targets=("repmath_cuda",))
    options = [
        "-cubin",
        "-arch=sm_90",
        "-std=c++17",
        "--fmad=false",
        "-Xcicc=-O1",
        "-Xptxas=-O0",
        f"-I{ROOT}",
        f"-I{ROOT / 'include'}",
    ]
    run(nvcc, *options, ROOT / "src/cuda/matmul_b64.cu", "-o", tmp_path / "matmul_b64.cubin")
    library = where / "src/cuda/librepmath_cuda.so"
    exports_what_is_declared(library)
    assert "cudart" not in run("readelf", "-d", library)


def exports_what_is_declared(library):
    declared = set()
    for header in sorted((ROOT / "include/repmath").glob("cuda*.h")):
        declared |= declared_functions(header.read_text())
    exported = symbols(library, "--defined-only")
    assert {name for name in exported if name.startswith("rm_")} == declared


def test_the_library_exports_what_its_headers_declare():
    need("nm")
    exports_what_is_declared(emulated_cuda())


def test_the_option_off_and_auto(tmp_path):
    (cmake,) = need("cmake")
    assert "CUDA library: OFF" in run(cmake, "-S", ROOT, "-B", tmp_path / "off", "-DREPMATH_CUDA=OFF")
    smi = tool("nvidia-smi")
    if smi is None or subprocess.run([smi, "-L"], capture_output=True).returncode:
        assert "CUDA library: OFF" in run(cmake, "-S", ROOT, "-B", tmp_path / "auto")
    with pytest.raises(pytest.fail.Exception, match="REPMATH_CUDA is AUTO, ON or OFF"):
        run(cmake, "-S", ROOT, "-B", tmp_path / "bad", "-DREPMATH_CUDA=maybe")


def emulated_parts(where, test, kernels, shared, variants, least=100):
    """A test program of its own for each of `variants`: the first is that of the library; for the others, `kernels` are compiled with their
    flags, and linked with what they need of the library's `shared`. What each printed, and its counts, `least` or more."""
    folders = [where / str(k) for k in range(len(variants))]
    for folder in folders:
        folder.mkdir(parents=True)
    assert variants[0] == []
    jobs = [(ROOT / f"tests/cuda/{test}.cpp", folders[0], [])]
    jobs += [(ROOT / source, folders[k], flags) for k, flags in enumerate(variants) if k for source in kernels]
    objects = compiled(jobs)
    counts = []
    for k, folder in enumerate(folders):
        others = [built(source) for source in ("src/cuda/memory.cu", *shared) if k]
        own = [o for o in objects if o.parent in (folders[0], folder)] + others
        out = subprocess.run([linked(folder / test, own)], capture_output=True, text=True).stdout
        counted = re.search(r"(\d+) passed, (\d+) failed", out)
        assert counted and int(counted[1]) >= least, out
        counts.append((int(counted[2]), out))
    return counts


SHRINK, STRICT = "-DRM_CFG_BOUND_SHRINK=0x1p-20", "-DRM_CFG_EMULATE_STRICT"

# The first thread gives the others {0}.
SHARING = """
#include "src/cuda/launch.h"
static void kernel(int *out) {{
  static {1} shared;
  int own = 7;
  if (threadIdx.x == 0) shared = {0};
  __syncthreads();
  out[threadIdx.x] = {2};
  __syncthreads();
}}
int main() {{
  int out[64];
  RM_START(kernel, 1, 64, nullptr, out);
  return out[63] != 7;
}}
"""


def test_a_thread_that_reads_anothers_variable_is_seen(tmp_path):
    """On a device a pointer to a thread's own variable leads another thread elsewhere."""
    status = {}
    for name, parts in {"value": ("own", "int", "shared"), "pointer": ("&own", "int *", "*shared")}.items():
        source = tmp_path / f"{name}.cu"
        source.write_text(SHARING.format(*parts))
        program = linked(tmp_path / name, compiled([(source, tmp_path, [])]))
        status[name] = subprocess.run([program]).returncode
    assert status == {"value": 0, "pointer": -signal.SIGSEGV}


# Threads read shared memory that none of them has written, or wait for each other in two places.
UNWRITTEN = """
#include "src/cuda/launch.h"
static void kernel(int *out, unsigned first) {
  __shared__ int shared;
  if (threadIdx.x < first) shared = 7;
  if (threadIdx.x < 40) __syncthreads();
  else __syncthreads()BARRIERS;
  out[threadIdx.x] = shared;
  __syncthreads();
}
int main(int argc, char **) {
  int out[64];
  for (int first = 1; first >= 0; first--) RM_START(kernel, 1, 64, nullptr, out, argc > 1 ? 1u : unsigned(first));
  return out[63] != 7;
}
"""


def test_what_the_strict_device_sees(tmp_path):
    """What a kernel before has left in shared memory is gone, and threads that wait in two places are an error; without the option neither is."""
    status = {}
    same = UNWRITTEN.replace(
        "  if (threadIdx.x < 40) __syncthreads();\n  else __syncthreads()BARRIERS;", "  __syncthreads();"
    )
    apart = UNWRITTEN.replace("BARRIERS", "")
    for name, text, flags in (("left", same, []), ("left", same, [STRICT]), ("apart", apart, []), ("apart", apart, [STRICT])):
        source = tmp_path / f"{name}{len(flags)}.cu"
        source.write_text(text)
        program = linked(tmp_path / source.stem, compiled([(source, tmp_path, flags)]))
        status[source.stem] = subprocess.run(
            [program, *(["written"] if name == "apart" else [])], stderr=subprocess.DEVNULL
        ).returncode
    assert status == {"left0": 0, "left1": 1, "apart0": 0, "apart1": -signal.SIGABRT}


# Elements are listed by one kernel, out of the map too, and taken by another: by threads, and by blocks.
TAKEN = """
#include <initializer_list>

#include "{0}"
static unsigned seen[5000];
static void list(rm_undecided_set u, int64_t step, bool mapped) {{
  for (int64_t i = 64 * blockIdx.x + 2 * threadIdx.x; i < u.n && i < 64 * blockIdx.x + 2 * threadIdx.x + 2; i++)
    if (i % step == 0 && mapped) atomicOr(u.map() + i / 32, 1u << (i % 32));
    else if (i % step == 0) u.add(i);
  __syncthreads();
  if (mapped && threadIdx.x < 2 && 2 * blockIdx.x + threadIdx.x < u.words())
    u.list_bits(2 * blockIdx.x + threadIdx.x, u.map()[2 * blockIdx.x + threadIdx.x]);
}}
static void take(rm_undecided_set u) {{
  each_undecided(u, [](int64_t i) {{ atomicAdd(seen + i, 1u); }});
}}
static void take_by_blocks(rm_undecided_set u) {{
  each_undecided_of_block(u, [](int64_t i) {{
    if (threadIdx.x == 31) atomicAdd(seen + i, 1u);
  }});
}}
int main() {{
  int wrong = 0;
  for (int64_t n : {{1, 4, 31, 33, 500, 1024, 5000}})
    for (int64_t step : {{1, 2, 7, 300, 6000}})
      for (int way = 0; way < 6; way++) {{
        const workspace work(rm_undecided_set::bytes(n), nullptr);
        rm_undecided_set u;
        const bool all = way / 2 == 2;
        wrong += undecided_begin(&u, work, n, all) != RM_OK;
        memset(seen, 0, sizeof seen);
        if (!all) RM_START(list, (n + 63) / 64, 32, nullptr, u, step, way / 2 == 1);
        if (way % 2) RM_START(take_by_blocks, 3, 32, nullptr, u);
        else RM_START(take, 3, 32, nullptr, u);
        for (int64_t i = 0; i < 5000; i++) wrong += seen[i] != unsigned(i < n && (all || i % step == 0));
      }}
  return wrong ? 1 : 0;
}}
"""


def test_what_is_undecided_is_taken_once(tmp_path):
    """Whether it is in the list or in the map behind it; and the controls: a list whose map nobody looks at, and one of which workers that come
    again begin too late."""
    source = (ROOT / "src/cuda/undecided.h").read_text()
    changes = {
        "right": ("", ""),
        "no map": ("if (count == listed || first", "if (first >= 0 || first"),
        "too late": ("return workers + static_cast", "return workers + 1 + static_cast"),
        "no bits": ("if (!take_down(word * 32 + k)) left |= 1u << k;", "if (!take_down(word * 32 + k)) left |= 2u << k;"),
    }
    status = {}
    for name, (right, wrong) in changes.items():
        assert right in source
        header = tmp_path / f"{name}.h"
        header.write_text(re.sub(r'(#include )"(?!/)', rf'\1"{ROOT}/src/cuda/', source.replace(right, wrong)))
        program = tmp_path / f"{name}.cu"
        program.write_text(TAKEN.format(header))
        objects = [*compiled([(program, tmp_path, [])]), built("src/cuda/memory.cu")]
        status[name] = subprocess.run([linked(tmp_path / name, objects)]).returncode
    assert status == {"right": 0, "no map": 1, "too late": 1, "no bits": 1}


def test_random_numbers_give_the_cpu_bits(tmp_path):
    """And the controls: a generator that is one round short, and bounds made smaller, are seen."""
    short = tmp_path / "philox_short.h"
    philox = (ROOT / "src/common/philox.h").read_text()
    text = philox.replace("RM_PHILOX_ROUNDS = 10", "RM_PHILOX_ROUNDS = 9")
    assert text != philox
    short.write_text(text.replace('"../../crlibm', f'"{ROOT}/crlibm'))
    shared = ["src/cuda/random_normal.cu", "src/random/args.c", "src/random/truncated_exact.c", "src/common/overlap.c"]
    counts = emulated_parts(
        tmp_path, "test_cuda_random", ["src/cuda/random.cu"], shared, [[], ["-include", str(short)], [SHRINK]]
    )
    for k, (failed, out) in enumerate(counts):
        assert (failed == 0) == (k == 0), out


def test_permutations_give_the_cpu_bits(tmp_path):
    """And with so few bits of each draw that many are equal: the controls say that not all are used, and nothing else."""
    variants = [[], ["-DRM_CFG_PERMUTATION_BITS=8"], ["-DRM_CFG_PERMUTATION_BITS=3"]]
    shared = ["src/random/args.c", "src/random/truncated_exact.c", "src/common/overlap.c"]
    counts = emulated_parts(tmp_path, "test_cuda_permutation", ["src/cuda/permutation.cu"], shared, variants, least=18)
    for k, (_, out) in enumerate(counts):
        assert re.findall("FAILED (.*)", out) == (["all bits are used"] if k else []), out


def test_optimisers_give_the_cpu_bits(tmp_path):
    """And the control. What the fast step leaves open, down to numbers of 32,768 bits, is finished as on the CPU."""
    kernels = ["src/cuda/adam.cu", "src/cuda/clip.cu", "src/cuda/sgd.cu"]
    shared = ["src/cuda/optimizers_accurate.cu", "src/nn/optim/args.c"]
    (good, out), (bad, _) = emulated_parts(tmp_path, "test_cuda_optim", kernels, shared, [[], [SHRINK]])
    assert good == 0 and bad, out


def test_formulas_give_the_cpu_bits(tmp_path):
    """And the control. Every three of the special numbers, and numbers beyond the bounds of the fast step."""
    shared = ["src/cuda/formulas_accurate.cu", "src/nn/formula/args.c"]
    (good, out), (bad, found) = emulated_parts(
        tmp_path, "test_cuda_formulas", ["src/cuda/formulas.cu"], shared, [[], [SHRINK]]
    )
    assert good == 0 and bad, out
    assert "FAILED beside a midpoint" in found


def test_rows_give_the_cpu_bits(tmp_path):
    """And the control. Long and short rows, in place, backward, misaligned, with every kind of number."""
    kernels = ["src/cuda/entropy.cu", "src/cuda/norms.cu", "src/cuda/softmax.cu"]
    shared = [
        "src/cuda/entropy_accurate.cu",
        "src/cuda/norms_accurate.cu",
        "src/cuda/softmax_accurate.cu",
        "src/common/overlap.c",
    ]
    shared += ["src/nn/cross_entropy/args.c", "src/nn/norm/args.c", "src/nn/rows/args.c", "src/nn/softmax/args.c"]
    (good, out), (_, bad) = emulated_parts(tmp_path, "test_cuda_rows", kernels, shared, [[], [SHRINK]])
    assert good == 0, out
    for name in ("log_softmax", "cross_entropy", "normalize", "weights of columns", "weights of sets", "variances beside"):
        assert f"FAILED {name}" in bad, bad


def test_what_threads_share_of_rows_of_f64_is_seen(tmp_path):
    """The control: with a wrong term in what they share of a result or of a sum, bits differ. What is left to one thread has it right."""
    terms = {
        "norms": ("rm_dd_ball_sub(d, d, &s->sum)", "rm_dd_ball_add(d, d, &s->sum)"),
        "entropy": ("rm_dd_ball_sub(&y, &y, &t)", "rm_dd_ball_add(&y, &y, &t)"),
        "softmax": ("rm_dd_ball_sub(&v, &v, &t)", "rm_dd_ball_add(&v, &v, &t)"),
    }
    changed = []
    for name, (right, wrong) in terms.items():
        header, source = (ROOT / f"src/cuda/{name}{part}" for part in ("_decide.h", "_accurate.cu"))
        assert right in header.read_text()
        (tmp_path / header.name).write_text(header.read_text().replace(right, wrong))
        text = source.read_text().replace(f'"{header.name}"', f'"{tmp_path / header.name}"').replace('"../', f'"{ROOT}/src/')
        (tmp_path / source.name).write_text(re.sub(r'(#include )"(?!/)', rf'\1"{ROOT}/src/cuda/', text))
        changed.append((tmp_path / source.name, tmp_path, []))
    objects = compiled([(ROOT / "tests/cuda/test_cuda_rows.cpp", tmp_path, []), *changed])
    others = ["src/cuda/memory.cu", "src/common/overlap.c", *(f"src/cuda/{name}.cu" for name in terms)]
    others += [f"src/nn/{name}/args.c" for name in ("cross_entropy", "norm", "rows", "softmax")]
    out = subprocess.run([linked(tmp_path / "rows", objects + [*map(built, others)])], capture_output=True, text=True).stdout
    seen = "normalize", "normalize_backward", "normalize_backward_weight", "cross_entropy_backward", "log_softmax"
    for name in seen:
        assert f"FAILED {name}\n" in out, (name, out)


def test_what_long_rows_decide_in_double_double(tmp_path):
    """With bounds made larger many results of a row in shared memory are computed again in double-double, and rows with too many are put back
    and left to the accurate phase; and the controls: a wrong term in either, and rows that are not put back, are seen."""
    changes = {
        "right": (),
        "softmax_whole.h": (
            "else rm_dd_ball_sub(&v, &v, &t), rm_dd_ball_sub",
            "else rm_dd_ball_sub(&v, &v, &t), rm_dd_ball_add",
        ),
        "entropy_whole.h": ("rm_dd_ball_mul(&v, &divisor, &all);", "rm_dd_ball_add(&v, &divisor, &all);"),
        "norms_whole.h": ("rm_dd_ball_div(&y, &y, &statistics.root);", "rm_dd_ball_mul(&y, &y, &statistics.root);"),
        "whole_exp.h": ("if (i == skip) continue;", "if (i == skip + 1) continue;"),
        "whole_rows.h": ("if (to != from) return;", "return;"),
    }
    compiled_for = {}
    jobs = [(ROOT / "tests/cuda/test_cuda_rows.cpp", tmp_path, [])]
    for name, change in changes.items():
        folder = tmp_path / name.removesuffix(".h")
        folder.mkdir()
        for header in changes:
            if header == "right":
                continue
            text = (ROOT / "src/cuda" / header).read_text()
            if header == name:
                assert change[0] in text
                text = text.replace(*change)
            for other in changes:
                text = text.replace(f'"{other}"', f'"{folder / other}"')
            (folder / header).write_text(re.sub(r'(#include )"(?!/)', rf'\1"{ROOT}/src/cuda/', text))
        for source in ("softmax", "entropy", "norms"):
            text = (ROOT / f"src/cuda/{source}.cu").read_text().replace(f'"{source}_whole.h"', f'"{folder / source}_whole.h"')
            (folder / f"{source}.cu").write_text(re.sub(r'(#include )"(?!/)', rf'\1"{ROOT}/src/cuda/', text))
            jobs.append((folder / f"{source}.cu", folder, ["-DRM_CFG_BOUND_SHRINK=0x1p9", *(FMA if HAS_FMA else [])]))
        compiled_for[name] = folder
    objects = compiled(jobs)
    others = [f"src/cuda/{name}.cu" for name in ("memory", "softmax_accurate", "entropy_accurate", "norms_accurate")]
    others += ["src/common/overlap.c", *(f"src/nn/{name}/args.c" for name in ("cross_entropy", "norm", "rows", "softmax"))]
    seen = {}
    for name, folder in compiled_for.items():
        own = [objects[0], *(o for o in objects if o.parent == folder), *map(built, others)]
        out = subprocess.run([linked(folder / "rows", own)], capture_output=True, text=True).stdout
        seen[name] = set(re.findall(r"FAILED (.*)", out))
    assert seen["right"] == set(), seen
    assert "log_softmax" in seen["softmax_whole.h"] and "cross_entropy_backward" in seen["entropy_whole.h"], seen
    assert "normalize" in seen["norms_whole.h"], seen
    assert "softmax" in seen["whole_exp.h"] and "log_softmax" in seen["whole_rows.h"], seen


def test_pooling_gives_the_cpu_bits(tmp_path):
    """And the control."""
    shared = ["src/cuda/pooling_accurate.cu", "src/nn/pool/args.c", "src/common/overlap.c"]
    (good, out), (bad, _) = emulated_parts(tmp_path, "test_cuda_pooling", ["src/cuda/pooling.cu"], shared, [[], [SHRINK]])
    assert good == 0 and bad, out


def test_reductions_give_the_cpu_bits(tmp_path):
    """And the controls: bounds made smaller, and blocks that drop the last accumulator, are seen."""
    short = tmp_path / "accumulate_short.h"
    accumulate = (ROOT / "src/cuda/accumulate.h").read_text()
    text = accumulate.replace("i + half < count;", "i + half < count - 1;")
    assert text != accumulate
    short.write_text(re.sub(r'(#include )"', rf'\1"{ROOT}/src/cuda/', text))
    kernels = ["src/cuda/cumsum.cu", "src/cuda/scatter.cu"]  # others have their controls below
    shared = ["src/cuda/row_reductions.cu", "src/common/overlap.c"]
    shared += ["src/reduce/scatter_args.c", "src/reduce/statistics_args.c"]
    variants = [[], [SHRINK], ["-include", str(short)]]
    counts = emulated_parts(tmp_path, "test_cuda_reductions", kernels, shared, variants)
    seen = [{name for name in ("mean", "cumsum", "index_add", "segment_sum") if f"FAILED {name}" in out} for _, out in counts]
    assert [failed == 0 for failed, _ in counts] == [True, False, False], counts
    assert seen == [set(), {"cumsum", "index_add", "segment_sum"}, {"index_add", "segment_sum"}]


@pytest.mark.long
def test_functions_of_rows_give_the_cpu_bits(tmp_path):
    """And the controls: bounds made smaller, and threads whose sums are not joined, are seen. Long rows and many short ones, columns,
    misaligned, at rounding boundaries, with every kind of number. And of vectors, which are one row."""
    short = tmp_path / "row_totals_short.h"
    totals = (ROOT / "src/cuda/row_totals.h").read_text()
    text = totals.replace("if (lane < half) rm_partial_join", "if (lane + 1 < half) rm_partial_join")
    assert text != totals
    text = re.sub(r'(#include )"\.\./\.\./', rf'\1"{ROOT}/', text)
    text = re.sub(r'(#include )"\.\./', rf'\1"{ROOT}/src/', text)
    overlap = f'extern "C" {{\n#include "{ROOT}/src/common/overlap.h"\n}}\n'  # it declares functions of C
    short.write_text(overlap + re.sub(r'(#include )"(?!/)', rf'\1"{ROOT}/src/cuda/', text))
    kernels = ["src/cuda/row_reductions.cu", "src/cuda/cumsum.cu"]
    shared = ["src/common/overlap.c", "src/reduce/statistics_args.c"]
    variants = [[], [SHRINK], ["-include", str(short)]]
    (good, out), (_, bad), (_, unjoined) = emulated_parts(tmp_path, "test_cuda_row_reductions", kernels, shared, variants)
    assert good == 0, out
    for name in ("sum", "mean", "dot", "cumsum"):
        assert f"FAILED {name} of rows" in bad, bad
    for name in ("sum", "mean", "norm", "dot", "var", "std"):
        assert f"FAILED {name} of rows" in unjoined and f"FAILED {name} of a vector" in unjoined, unjoined
    assert "FAILED sum of a vector" in bad and "FAILED mean of a vector" in bad, bad


def test_losses_give_the_cpu_bits(tmp_path):
    """And the controls. Elements and sums, down to what big numbers decide."""
    for test, of, checks, seen in (
        (
            "test_cuda_losses",
            ["losses", "losses_accurate", "nll"],
            ["loss/args", "cross_entropy/args"],
            "a quotient beside a tie",
        ),
        ("test_cuda_wide_losses", ["bce", "kl_div", "dd_losses_accurate"], ["loss/args"], "a sum beside a tie"),
    ):
        shared = [f"src/nn/{name}.c" for name in [*checks, "rows/args"]] + ["src/common/overlap.c"]
        kernels = [f"src/cuda/{name}.cu" for name in of]
        (good, out), (bad, found) = emulated_parts(tmp_path / test, test, kernels, shared, [[], [SHRINK]])
        assert good == 0 and bad, out
        assert f"FAILED {seen}" in found


@pytest.mark.long
def test_products_give_the_cpu_bits(tmp_path):
    """Of matrices, and convolutions; multiplied by each thread, and by warps (mma) with threads in an order of chance. And the controls:
    bounds made smaller, retries that leave out the sum of one thread, lanes of mma in another order, and padding that begins one element late
    are seen."""
    short = tmp_path / "retry_short.h"
    retry = (ROOT / "src/cuda/retry.h").read_text()
    text = retry.replace("if (t < half) part[t].join", "if (t < half - 1) part[t].join")
    assert text != retry
    text = re.sub(r'(#include )"\.\./', rf'\1"{ROOT}/src/', text)
    short.write_text(re.sub(r'(#include )"(?!/)', rf'\1"{ROOT}/src/cuda/', text))
    late = tmp_path / "conv_late.h"
    conv = (ROOT / "src/cuda/conv_async.h").read_text()
    text = conv.replace("i.at[e]) <", "i.at[e]) <=")
    assert text != conv
    late.write_text(re.sub(r'(#include )"(?!/)', rf'\1"{ROOT}/src/cuda/', text))
    kernels = ["src/cuda/matmul_b64.cu", "src/cuda/matmul_dd.cu"]
    shared = [f"src/cuda/{name}.cu" for name in ("matmul", "matmul_crt", "integer_ratio", "convolution")]
    shared += ["src/blas/gemm/args.c", "src/blas/conv/args.c", "src/common/overlap.c"]
    variants = [[], ["-DRM_CFG_EMULATE_MMA", STRICT], [SHRINK], ["-include", str(short)]]
    variants += [
        ["-DRM_CFG_EMULATE_MMA", *more] for more in (["-DRM_CFG_EMULATE_PERMUTED"], ["-include", str(late)], [SHRINK])
    ]
    counts = emulated_parts(tmp_path, "test_cuda_products", kernels, shared, variants)
    assert [failed == 0 for failed, _ in counts] == [True, True, False, False, False, False, False], counts
    assert all("FAILED forward" in out for _, out in counts[4:]), counts[4:]


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(p.stem for p in (ROOT / "tests/cuda").glob("test_cuda*.cpp")))
def test_blocks_as_on_a_device(name, tmp_path):
    """Every launcher, the accurate phases too, with blocks as large as on a device, whose threads run in an order of chance over shared memory
    that holds NaNs, and must meet at the same barriers (RM_CFG_EMULATE_STRICT)."""
    library = emulated_cuda("emulated_strict", STRICT)
    program = linked(tmp_path / name, compiled([(ROOT / f"tests/cuda/{name}.cpp", tmp_path, [STRICT])]), library)
    done = subprocess.run([program], capture_output=True, text=True)
    counted = re.search(r"(\d+) passed, 0 failed", done.stdout)
    assert done.returncode == 0 and counted and int(counted[1]) > 10, done.stdout[-8000:] + done.stderr


def test_products_by_integers_give_the_cpu_bits(tmp_path):
    """Products modulo small numbers, some rows and columns at a time, and the choice between them and others; and the controls: a bound half as
    large is seen beside ties, one made much smaller, lanes of the matrix instructions in another order, and an inverse that is one too large."""
    wrong = tmp_path / "crt_wrong.h"
    text = (ROOT / "src/cuda/crt.h").read_text()
    changed = text.replace("% p != 1) t.inverse[i]++;", "% p != 1) t.inverse[i]++;\n    if (i == 7) t.inverse[i]++;")
    assert changed != text
    wrong.write_text(re.sub(r'(#include )"(?!/|\.)', rf'\1"{ROOT}/src/cuda/', changed.replace('"../', f'"{ROOT}/src/')))
    kernels = ["src/cuda/matmul_crt.cu"]
    shared = [f"src/cuda/{name}.cu" for name in ("matmul", "convolution", "integer_ratio", "matmul_b64", "matmul_dd")]
    shared += ["src/blas/gemm/args.c", "src/blas/conv/args.c", "src/common/overlap.c"]
    parts = "-DRM_CFG_CRT_ROOM=1048576"
    more = [[parts, STRICT], [SHRINK], ["-DRM_CFG_BOUND_SHRINK=0.5"], ["-DRM_CFG_EMULATE_PERMUTED"], ["-include", str(wrong)]]
    counts = emulated_parts(tmp_path, "test_cuda_integers", kernels, shared, [[], *more])
    assert [failed == 0 for failed, _ in counts] == [True, True, False, False, False, False], counts
    assert all(f"FAILED beside a tie, format {fmt}" in counts[3][1] for fmt in range(4)), counts[3]
