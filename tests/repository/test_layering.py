"""The repository's rules, as tests: who may include whom, who knows compilers and CPUs, what is generated, how long files are.

Each rule is a function of {path: text}, so that a control can show that it flags a bad example."""

import ast
import pathlib
import posixpath
import re
import subprocess
import sys

import pytest
from native import ROOT
from sources import C_SUFFIXES, SOURCES


def repository() -> dict[str, str]:
    files = {}
    for top in SOURCES:
        for path in sorted((ROOT / top).rglob("*")):
            if (
                path.suffix in {*C_SUFFIXES, ".py", ".pyx", ".pxd", ".pxi", ".pyi", ".cpp", ".f90", ".rs"}
                and "target" not in path.parts
            ):
                files[path.relative_to(ROOT).as_posix()] = path.read_text()
    return files


def without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)


def includes(path: str, text: str) -> list[tuple[str, bool]]:
    """(what a C file includes, in quotes?), quoted names resolved against the repository's root."""
    found = re.findall(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', text, re.M)
    here = posixpath.dirname(path)
    return [
        (posixpath.normpath(posixpath.join(here, quoted)), True) if quoted else (angled, False) for quoted, angled in found
    ]


# What the parts of the C code may include of each other, lowest first. A prefix ending in / is a folder.
CORE = ["crlibm/", "include/repmath/"]
RUNTIME = ["src/runtime/", *CORE]
COMMON = ["src/common/", *RUNTIME]
REDUCE = ["src/reduce/", *COMMON]
ALLOWED = {
    "crlibm/": ["crlibm/"],
    "include/repmath/": ["include/repmath/"],
    "src/runtime/": RUNTIME,
    "src/common/": COMMON,
    "src/elementwise/": ["src/elementwise/", *COMMON],
    "src/reduce/": REDUCE,
    "src/blas/": ["src/blas/", *REDUCE],
    "src/random/": ["src/random/", *COMMON],
    "src/fft/": ["src/fft/", *REDUCE],
    "src/special/": ["src/special/", *COMMON],
    "src/rounding/": ["src/rounding/", "src/random/", "src/elementwise/", *REDUCE],
    "src/linalg/": ["src/linalg/", *REDUCE],  # products of src/blas by its public functions
    "src/nn/": ["src/nn/", "src/elementwise/", "src/random/", "src/blas/", *REDUCE],
    "src/blas_compat/": ["src/blas_compat/", "include/repmath/"],
    "src/xla/": [
        "src/xla/",
        "include/repmath/",
        "crlibm/functions.def",
        "crlibm/powers.def",
    ],  # the manifests are lists, not code
    "src/cuda/": ["src/cuda/", "src/elementwise/", "src/blas/", "src/random/", "src/nn/", *REDUCE],
    "python/": ["python/", "crlibm/functions.def", "crlibm/powers.def"],  # the manifests are lists, not code
}
INTRINSICS = {
    "immintrin.h": [
        "crlibm/simd/avx2.h",
        "crlibm/simd/avx512.h",
        "crlibm/simd/amx.h",
        "crlibm/simd/bf16.h",
        "crlibm/simd/bytes.h",
    ],
    "arm_neon.h": ["crlibm/simd/neon.h"],
}


def bad_includes(files: dict[str, str]) -> list[str]:
    bad = []
    for path, text in files.items():
        if not path.endswith(C_SUFFIXES) and not path.endswith((".pyx", ".pxd", ".pxi")):
            continue
        part = next((p for p in ALLOWED if path.startswith(p)), None)
        if part is None:
            continue
        for target, quoted in includes(path, text):
            if quoted:
                if not any(target == a or (a.endswith("/") and target.startswith(a)) for a in ALLOWED[part]):
                    bad.append(f"{path} includes {target}")
            elif part == "crlibm/" and target != "stdint.h" and path not in INTRINSICS.get(target, []):
                bad.append(f"{path} includes <{target}>")
            elif part == "include/repmath/" and target not in {"stddef.h", "stdint.h"}:
                bad.append(f"{path} includes <{target}>")
            elif part == "python/" and target.startswith(("crlibm", "src")):
                bad.append(f"{path} includes <{target}>")
    return bad


def include_circles(files: dict[str, str]) -> list[str]:
    """Files of C that include themselves by way of others."""
    graph = {
        path: [target for target, quoted in includes(path, text) if quoted and target in files]
        for path, text in files.items()
        if path.startswith(("crlibm/", "src/", "include/")) and path.endswith(C_SUFFIXES)
    }

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        queue = [start]
        while queue:
            new = [t for t in graph[queue.pop()] if t not in seen]
            seen.update(new)
            queue += new
        return seen

    return [f"{path} includes itself by way of others" for path in graph if path in reached(path)]


COMPILERS = r"\b(__GNUC__|__clang__|_MSC_VER|__INTEL_COMPILER|__CUDACC__|__CUDA_ARCH__|__FMA__|__AVX\w*__|__has_builtin)\b"


def bad_compiler_knowledge(files: dict[str, str]) -> list[str]:
    return [
        f"{path} asks for {match[0]}"
        for path, text in files.items()
        if path.startswith("crlibm/") and path != "crlibm/config.h" and path.endswith(C_SUFFIXES)
        for match in re.finditer(COMPILERS, without_comments(text))
    ]


CPU = r"\b(__builtin_cpu_supports|__builtin_cpu_init|__get_cpuid\w*|__cpuid\w*|cpuid|getauxval|_xgetbv)\b"


def bad_cpu_knowledge(files: dict[str, str]) -> list[str]:
    return [
        f"{path} asks the CPU: {match[0]}"
        for path, text in files.items()
        if path.startswith(("crlibm/", "src/", "python/")) and not path.startswith("src/runtime/")
        for match in re.finditer(CPU, without_comments(text))
    ]


LOUD = r"\b(printf|fprintf|puts|putchar|perror|abort|assert|exit|_exit|__builtin_trap|__builtin_unreachable)\s*\("


def bad_side_effects(files: dict[str, str]) -> list[str]:
    """The library prints nothing and never ends the process. The BLAS is another one: its callers can be told in no other way."""
    return [
        f"{path} calls {match[1]}"
        for path, text in files.items()
        if path.startswith(("crlibm/", "src/")) and not path.startswith("src/blas_compat/") and path.endswith(C_SUFFIXES)
        for match in re.finditer(LOUD, without_comments(text))
    ]


def imported_modules(text: str) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            prefix = "." * node.level + (node.module or "")
            names |= {prefix} | {
                f"{prefix.rstrip('.')}.{alias.name}" if node.module else prefix + alias.name for alias in node.names
            }
    return names


def bad_imports(files: dict[str, str]) -> list[str]:
    """Cython <- Python <- torch, jax <- command line: frameworks only in their folders, and never each other's."""
    bad = []
    for path, text in files.items():
        if not path.startswith("python/repmath/") or not path.endswith(".py"):
            continue
        folder = path.removeprefix("python/repmath/").split("/")[0].removesuffix(".py")
        for name in imported_modules(text):
            top = name.lstrip(".").removeprefix("repmath.").split(".")[0]
            if top in {"torch", "jax", "jaxlib"} and not (folder == top or (folder, top) in {("jax", "jaxlib")}):
                if folder not in {"cli", "__main__", "study"}:  # studies run models
                    bad.append(f"{path} imports {name}")
            if top == "cli" and folder not in {"cli", "__main__"}:
                bad.append(f"{path} imports {name}")
    return bad


def module_name(path: str) -> str:
    return path.removeprefix("python/").rsplit(".", 1)[0].removesuffix("/__init__").replace("/", ".")


def bad_import_circles(files: dict[str, str]) -> list[str]:
    """Imports of the package that lead back to where they stand, those inside of functions too."""
    package = {
        path: text for path, text in files.items() if path.startswith("python/repmath/") and path.endswith((".py", ".pyx"))
    }
    known = {module_name(path): path for path in package}
    graph: dict[str, set[str]] = {path: set() for path in package}
    for path, text in package.items():
        if path.endswith(".pyx"):
            continue
        folder = module_name(path).split(".")[: None if path.endswith("/__init__.py") else -1]
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.ImportFrom) or not node.level:
                continue
            base = ".".join([*folder[: len(folder) - node.level + 1], *([node.module] if node.module else [])])
            for alias in node.names:
                target = known.get(f"{base}.{alias.name}") or known.get(base)
                graph[path] |= {target} - {None, path}
    reached = {path: set(targets) for path, targets in graph.items()}
    for middle in package:
        for path in package:
            if middle in reached[path]:
                reached[path] |= reached[middle]
    return [f"{path} imports itself through others" for path in package if path in reached[path]]


OWN = re.compile(r"_?RM_\w|REPMATH_\w|rm_\w|_GNU_SOURCE$")
VOCABULARY = re.compile(r"v([fium](16|32|64)|bytes)_\w")
FUNCTION = re.compile(r"^(?:[A-Za-z_][\w \t*]*?[\s*])([A-Za-z_]\w*)\s*\((?:[^;{}()]|\([^()]*\))*\)\s*\{", re.M)
DIRECTIVE = re.compile(r"^[ \t]*#.*(?:\\\n.*)*", re.M)


def bad_names(files: dict[str, str]) -> list[str]:
    """Macros, and functions of files that others include, begin with RM_ or rm_; those of CUDA's headers are in an unnamed namespace instead."""
    bad = []
    for path, text in files.items():
        if not path.startswith(("crlibm/", "src/", "include/")) or not path.endswith(C_SUFFIXES):
            continue
        code = without_comments(text)
        names = re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", code, re.M)
        if path.endswith((".h", ".inl", ".inc")) and not (path.startswith("src/cuda/") and "\nnamespace {" in code):
            names += FUNCTION.findall(DIRECTIVE.sub("", code))
        own = (OWN, VOCABULARY) if path.startswith("crlibm/simd/") else (OWN,)
        bad += [f"{path} defines {name}" for name in names if not any(p.match(name) for p in own)]
    return bad


# An internal function of so many parameters takes a problem instead: the arguments of the call in one struct (docs/architecture.md).
MANY = 10
SIGNATURE = re.compile(r"^(?:[A-Za-z_][\w \t*&<>:,]*?[\s*&])([A-Za-z_]\w*)\s*\(((?:[^;{}()]|\([^()]*\))*)\)\s*[{;]", re.M)


def bad_parameters(files: dict[str, str]) -> list[str]:
    public = {
        name for path, text in files.items() if path.startswith("include/") for name in re.findall(r"\b(rm_\w+)\s*\(", text)
    }
    return [
        f"{path}: {m[1]} has {n} parameters"
        for path, text in files.items()
        if path.startswith(("crlibm/", "src/", "python/", "proofs/")) and path.endswith((*C_SUFFIXES, ".cpp"))
        for m in SIGNATURE.finditer(DIRECTIVE.sub("", without_comments(text)))
        if m[1] not in public and (n := 1 + re.sub(r"\([^()]*\)|<[^<>]*>", "", m[2]).count(",")) >= MANY
    ]


MAX_COLUMNS = 126  # as in .clang-format, which leaves comments alone


def bad_widths(files: dict[str, str]) -> list[str]:
    """Lines of C. Generated files have their generators' layout, and a list (.def) has a line for each entry."""
    return [
        f"{path}:{k} has {len(line)} columns"
        for path, text in files.items()
        if path.endswith((*C_SUFFIXES, ".cpp")) and not path.endswith(".def") and "Generated by" not in text[:1000]
        for k, line in enumerate(text.split("\n"), 1)
        if len(line) > MAX_COLUMNS
    ]


MAX_LINES = 900


def bad_lengths(files: dict[str, str]) -> list[str]:
    return [f"{path} has {n} lines" for path, text in files.items() if (n := text.count("\n")) > MAX_LINES]


def bad_test_imports(files: dict[str, str]) -> list[str]:
    """What test files share is in tests/support, or beside them in a file that is no test."""
    return [
        f"{path} imports {name}"
        for path, text in files.items()
        if path.startswith(("tests/", "proofs/")) and path.endswith(".py")
        for name in sorted(imported_modules(text))
        if name.lstrip(".").startswith("test_")
    ]


RULES = {
    "includes": (bad_includes, {"crlibm/exp/exp.h": '#include "../../src/runtime/env.h"\n', "src/blas/a.c": '#include "../nn/b.h"\n'}),
    "standard headers": (bad_includes, {"crlibm/exp/exp.h": "#include <math.h>\n", "crlibm/fp/a.h": "#include <immintrin.h>\n"}),
    "circles": (include_circles, {"src/a.h": '#include "b.h"\n', "src/b.h": '#include "../crlibm/c.h"\n', "crlibm/c.h": '#include "../src/a.h"\n'}),
    "compilers": (bad_compiler_knowledge, {"crlibm/exp/exp.h": "#ifdef __clang__\n", "crlibm/fp/a.h": "#if defined(__CUDACC__)\n"}),
    "cpu": (bad_cpu_knowledge, {"src/blas/a.c": "int f(void) { return __builtin_cpu_supports(0); }\n", "crlibm/a.h": "getauxval(1)\n"}),
    "side effects": (bad_side_effects, {"src/blas/a.c": 'void f(void) { printf("x"); }\n', "crlibm/a.h": "abort();\n"}),
    "imports": (bad_imports, {"python/repmath/a.py": "import torch\n", "python/repmath/torch/a.py": "from ..jax import b\n"}),
    "import circles": (bad_import_circles, {"python/repmath/a.py": "from . import b\n", "python/repmath/b.py": "def f():\n    from .a import x\n"}),
    "names": (bad_names, {"src/a.inl": "static int f(int x) {\n", "src/cuda/b.h": "int g() {\n", "src/c.c": "#define PART 3\n", "crlibm/d.h": "RM_FN vf64 vf64_e(void) {\n"}),
    "parameters": (bad_parameters, {"src/a.c": "static int f(int a, " + "const char *(*g)(int, int), " * 8 + "int b) {\n", "src/cuda/a.h": "T g(" + "p<int, 2> x, " * 9 + "int b);\n"}),
    "widths": (bad_widths, {"src/a.c": "int x;\n/* " + "x" * 124 + "\n*/\n", "crlibm/a.h": "y" * 127}),
    "test imports": (bad_test_imports, {"tests/nn/test_a.py": "from test_b import c\n", "tests/python/a.py": "import test_c\n"}),
    "lengths": (bad_lengths, {"src/a.c": "x\n" * 901, "tests/a.py": "\n" * 1000}),
}  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
def test_rule_holds(rule):
    check, _ = RULES[rule]
    assert check(repository()) == []


@pytest.mark.parametrize("rule", RULES)
def test_rule_flags_a_bad_example(rule):
    """The control: each of the bad files is named."""
    check, bad = RULES[rule]
    found = check(bad)
    assert len(found) >= len(bad) and all(any(line.startswith(path) for line in found) for path in bad)


def test_comments_do_not_count():
    assert bad_cpu_knowledge({"src/blas/a.c": "/* the only user of cpuid is dispatch */\n// cpuid\n"}) == []


GENERATORS = sorted(
    p.relative_to(ROOT).as_posix()
    for p in [ROOT / "tools/gen_api.py", *(ROOT / "crlibm").rglob("*_gen.py"), ROOT / "crlibm/exp/exp_budget.py"]
)


@pytest.mark.sample(3)
@pytest.mark.parametrize("script", GENERATORS)
def test_generated_files_are_fresh(script):
    done = subprocess.run([sys.executable, script, "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_manifest_functions_have_their_folder():
    text = (ROOT / "crlibm/functions.def").read_text()
    names = re.findall(r"^RM_FUNCTION\((\w+),", text, re.M)
    assert names
    for name in names:
        assert (ROOT / f"crlibm/{name}/{name}.h").exists(), name


# Where a tolerance stands: CONTRIBUTING.md says what for.
TOLERANCE = re.compile(r"allclose\(|approx\(|assert_close|gradcheck|isclose|assert.*<=? *\d*\.?\d*e-\d|<= np\.abs")
TOLERANT = {
    "tests/jax/test_elementwise.py",  # derivatives
    "tests/jax/test_nn.py",  # derivatives
    "tests/jax/test_powers.py",  # derivatives
    "tests/jax/test_special.py",  # derivatives
    "tests/python/test_array_api.py",  # the meaning of the standard's names, beside the bits
    "tests/python/test_arrays.py",  # weights of scikit-learn's estimators, beside its own
    "tests/python/test_linalg.py",  # the meaning of NumPy's and SciPy's names, beside the bits
    "tests/python/test_orthogonal.py",  # NumPy's pseudoinverse, beside the bits of the steps
    "tests/python/test_random.py",  # moments; gains of PyTorch
    "tests/python/test_study.py",  # estimates of digits, which are no exact values
    "tests/python/test_ufuncs.py",  # a first look beside the bits
    "tests/torch/test_alignments.py",  # ctc_loss, which is composed
    "tests/torch/test_chains.py",  # composed operators
    "tests/torch/test_complex.py",  # derivatives, beside the bits of the steps
    "tests/torch/test_decompositions.py",  # derivatives; PyTorch's definition, beside the bits of the steps
    "tests/torch/test_images.py",  # PyTorch's definition
    "tests/torch/test_linear_algebra.py",  # derivatives; PyTorch's definition
    "tests/torch/test_mode.py",  # PyTorch's definition
    "tests/torch/test_modules.py",  # PyTorch's modules, beside the bits of the functions
    "tests/torch/test_operators.py",  # derivatives
    "tests/torch/test_powers.py",  # derivatives
    "tests/support/integration_program.py",  # what torch.func composes, beside its digests
    "tests/torch/test_sparse.py",  # steps of optimisers, beside the bits of gradients
    "tests/torch/test_wholes.py",  # second derivatives, and what PyTorch composes
}


def test_tolerances_are_where_they_are_said_to_be():
    tests = [p for p in (ROOT / "tests").rglob("*.py") if p.name != "test_layering.py"]
    assert {p.relative_to(ROOT).as_posix() for p in tests if TOLERANCE.search(p.read_text())} == TOLERANT


def settings_without_effect(texts):
    """What is put by -DRM_CFG_... in these texts and read by no source: a compiler says nothing of it."""
    sources = [p for folder in ("crlibm", "src", "include", "tests", "proofs") for p in (ROOT / folder).rglob("*")]
    read = set()
    for path in sources:
        if path.suffix in (".c", ".h", ".cu", ".cpp", ".def"):
            read |= set(re.findall(r"\bRM_CFG_\w+", path.read_text()))
    return sorted(set(re.findall(r"-D(RM_CFG_\w+)", "\n".join(texts))) - read)


def test_settings_that_tests_compile_with_are_read():
    files = [
        p
        for folder in ("tests", "proofs", "tools", "cmake")
        for p in (ROOT / folder).rglob("*")
        if p.suffix in (".py", ".cmake")
    ]
    assert settings_without_effect([p.read_text() for p in files if p != pathlib.Path(__file__).resolve()]) == []
    assert settings_without_effect(['"-DRM_CFG_NO_SUCH=1"']) == ["RM_CFG_NO_SUCH"]
