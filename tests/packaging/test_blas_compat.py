"""librepmath_blas: the ten routines against exact rationals, wrong arguments, what is passed on, and netlib's own test programs."""

import ctypes
import itertools
import os
import pathlib
import platform
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from exact_oracle import bits, exact, rounded, rounded_root
from flushing import flushing
from native import default_build, need

NETLIB = pathlib.Path(f"/usr/lib/{platform.machine()}-linux-gnu/blas")
TYPES = {"s": (np.dtype("f4"), ctypes.c_float), "d": (np.dtype("f8"), ctypes.c_double)}
LETTERS = pytest.mark.parametrize("letter", TYPES)
INT = ctypes.c_int


@pytest.fixture(scope="module")
def path():
    return default_build() / "src/blas_compat/librepmath_blas.so"


@pytest.fixture(scope="module")
def blas(path):
    return ctypes.CDLL(str(path))


@pytest.fixture
def rng():
    return np.random.default_rng(80)


def by_address(*values):
    return [ctypes.byref(INT(v)) if isinstance(v, int) else v for v in values]


def vector(rng, n, inc, dtype):
    """Memory, and the vector in it that BLAS sees."""
    memory = rng.standard_normal(max(1, 1 + (n - 1) * abs(inc))).astype(dtype)
    return memory, memory[:: abs(inc)][:n][:: 1 if inc > 0 else -1]


@LETTERS
@pytest.mark.parametrize("interface", ["fortran", "c"])
def test_level_1(blas, rng, letter, interface):
    dtype, c_type = TYPES[letter]

    def call(name, n, *vectors):
        f = getattr(blas, f"{letter}{name}_" if interface == "fortran" else f"cblas_{letter}{name}")
        f.restype = c_type
        flat = [v for x, inc in vectors for v in (ctypes.c_void_p(x.ctypes.data), inc)]
        return int(bits(dtype.type(f(*(by_address(n, *flat) if interface == "fortran" else (n, *flat))))))

    for n, incx, incy in itertools.product((0, 1, 7, 1300), (1, 3, -2), (1, -1, 2)):
        x, seen = vector(rng, n, incx, dtype)
        y, other = vector(rng, n, incy, dtype)
        seen[1::2] = -seen[: n - n % 2 : 2]  # sums cancel
        assert call("dot", n, (x, incx), (y, incy)) == rounded(exact(seen, other), dtype)
        assert call("nrm2", n, (x, incx)) == rounded_root(exact(seen, seen), dtype)
        assert call("asum", n, (x, incx)) == (rounded(exact(abs(seen)), dtype) if incx > 0 else 0)


def test_subnormal_numbers_where_the_caller_flushes(blas):
    d = np.array([-(2.0**-1074), -(2.0**-1070)])
    a, b, c = np.full(1, 2.0**100, "f4"), np.full(1, 2.0**60, "f4"), np.ones(1, "f4")
    blas.cblas_dasum.restype, least = ctypes.c_double, ctypes.c_float(2.0**-149)
    pd, pa, pb, pc = (ctypes.c_void_p(v.ctypes.data) for v in (d, a, b, c))
    with flushing():  # a float result would be converted in it
        double = blas.cblas_dasum(2, pd, 1)
        blas.cblas_sgemm(101, 111, 111, 1, 1, 1, least, pa, 1, pb, 1, ctypes.c_float(1.0), pc, 1)
    assert float(c[0]) == 1 + 2.0**11
    assert double == 17 * 2.0**-1074


def scaled(alpha, a, b, beta, c):
    total = [[Fraction(alpha) * exact(row, col) + Fraction(beta) * Fraction(float(old)) for col, old in zip(b.T, olds, strict=True)] for row, olds in zip(a, c, strict=True)]  # fmt: skip
    return [[rounded(t, c.dtype) for t in row] for row in total]


@LETTERS
def test_gemv(blas, rng, letter):
    dtype, c_type = TYPES[letter]
    m, n = 5, 3
    cases = itertools.product("NTc", (1, -2), (2, -1), ((1.0, 0.0), (-0.5, 3.0), (0.0, 2.0)))
    for trans, incx, incy, (alpha, beta) in cases:
        a = np.asfortranarray(rng.standard_normal((m, n)).astype(dtype))
        op = a if trans == "N" else a.T
        for interface in ("fortran", "columns", "rows"):
            x, seen = vector(rng, op.shape[1], incx, dtype)
            y, out = vector(rng, op.shape[0], incy, dtype)
            want = scaled(alpha, op, seen[:, None], beta, out[:, None])
            numbers = c_type(alpha), c_type(beta)
            xs, ys = (ctypes.c_void_p(v.ctypes.data) for v in (x, y))
            if interface == "fortran":
                arguments = by_address(m, n, ctypes.byref(numbers[0]), ctypes.c_void_p(a.ctypes.data), m, xs, incx)
                arguments += by_address(ctypes.byref(numbers[1]), ys, incy)
                getattr(blas, f"{letter}gemv_")(ctypes.c_char_p(trans.encode()), *arguments)
            else:
                stored = a if interface == "columns" else np.ascontiguousarray(a)
                lead = m if interface == "columns" else n
                code = {"N": 111, "T": 112, "c": 113}[trans]
                arguments = (m, n, numbers[0], ctypes.c_void_p(stored.ctypes.data), lead, xs, incx, numbers[1], ys, incy)
                getattr(blas, f"cblas_{letter}gemv")(102 if interface == "columns" else 101, code, *arguments)
            assert bits(out)[:, None].tolist() == want, (interface, trans, incx, incy, alpha, beta)


@LETTERS
def test_gemm(blas, rng, letter):
    dtype, c_type = TYPES[letter]
    m, n, k = 4, 5, 6
    for ta, tb, (alpha, beta) in itertools.product("NT", "Nt", ((1.0, 0.0), (0.75, -2.0))):
        a, b, c = (rng.standard_normal(s).astype(dtype) for s in ((m, k), (k, n), (m, n)))
        want = scaled(alpha, a, b, beta, c)
        stored = [
            np.asfortranarray(a if ta == "N" else a.T),
            np.asfortranarray(b if tb == "N" else b.T),
            np.asfortranarray(c),
        ]
        (pa, pb, pc), lead = [ctypes.c_void_p(v.ctypes.data) for v in stored], [v.shape[0] for v in stored]
        words = [ctypes.c_char_p(t.encode()) for t in (ta, tb)]
        factors = [ctypes.byref(c_type(v)) for v in (alpha, beta)]
        getattr(blas, f"{letter}gemm_")(
            *words, *by_address(m, n, k, factors[0], pa, lead[0], pb, lead[1], factors[1], pc, lead[2])
        )
        assert bits(stored[2]).tolist() == want
        rows = [(a if ta == "N" else a.T).copy(), (b if tb == "N" else b.T).copy(), c.copy()]
        (pa, pb, pc), lead = [ctypes.c_void_p(v.ctypes.data) for v in rows], [v.shape[1] for v in rows]
        codes = [111 if t == "N" else 112 for t in (ta, tb)]
        call = getattr(blas, f"cblas_{letter}gemm")
        call(101, *codes, m, n, k, c_type(alpha), pa, lead[0], pb, lead[1], c_type(beta), pc, lead[2])
        assert bits(rows[2]).tolist() == want


PROGRAM = r"""
#include <stdio.h>
#include <string.h>
double ddot_(const int *, const double *, const int *, const double *, const int *);
void dscal_(const int *, const double *, double *, const int *);
void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *, const double *, const int *,
            const double *, const int *, const double *, double *, const int *);
int main(int argc, char **argv) {
  const int n = 3, one = 1, bad = -1;
  const double x[] = {1e16, 1.0, -1e16}, y[] = {1.0, 1.0, 1.0}, half = 0.5;
  double z[] = {2.0, 4.0, 6.0};
  printf("%.17g\n", ddot_(&n, x, &one, y, &one));
  dgemm_("N", "N", &bad, &one, &one, &half, x, &one, y, &one, &half, z, &one);
  if (argc > 1 && strcmp(argv[1], "scale") == 0) dscal_(&n, &half, z, &one);
  printf("%g %g %g\n", z[0], z[1], z[2]);
  return 0;
}
"""


@pytest.fixture(scope="module")
def program(path, tmp_path_factory):
    (cc,) = need(os.environ.get("CC", "cc"))
    where = tmp_path_factory.mktemp("standard_blas")
    (where / "program.c").write_text(PROGRAM)
    search = [f"-Wl,-rpath,{path.parent}", f"-Wl,-rpath-link,{path.parent.parent.parent}"]
    subprocess.run([cc, where / "program.c", "-o", where / "program", path, *search], check=True)
    return where / "program"


def run(program, *arguments, environment=None, stdin=None):
    clean = {name: value for name, value in os.environ.items() if name != "REPMATH_BLAS"}
    return subprocess.run(
        [program, *arguments],
        capture_output=True,
        text=True,
        env=clean | (environment or {}),
        stdin=stdin,
        cwd=pathlib.Path(program).parent,
    )


def test_a_program_of_its_own(program):
    """It links like any BLAS; a wrong argument is reported and changes nothing."""
    done = run(program)
    assert (done.returncode, done.stdout) == (0, "1\n2 4 6\n")
    assert "argument 3 of DGEMM" in done.stderr


def test_what_is_passed_on(program, tmp_path):
    """dscal_ is not computed here: without a library that has it the program ends and says why. One that is usual is found without a name."""
    done = run(program, "scale")
    if done.returncode:
        assert done.returncode == 1 and "REPMATH_BLAS" in done.stderr and done.stdout in ("", "1\n")
    else:
        assert done.stdout == "1\n1 2 3\n"
    done = run(program, "scale", environment={"REPMATH_BLAS": str(tmp_path / "none.so")})
    assert done.returncode == 1 and "cannot be loaded" in done.stderr
    (cc,) = need(os.environ.get("CC", "cc"))
    (tmp_path / "other.c").write_text(
        "void dscal_(const int *n, const double *a, double *x, const int *inc) {\n"
        "  for (int i = 0; i < *n; i++) x[i * *inc] *= *a;\n}\n"
    )
    subprocess.run([cc, "-shared", "-fPIC", tmp_path / "other.c", "-o", tmp_path / "other.so"], check=True)
    done = run(program, "scale", environment={"REPMATH_BLAS": str(tmp_path / "other.so")})
    assert (done.returncode, done.stdout) == (0, "1\n1 2 3\n")


def test_arguments_pass_through_the_first_call(path, tmp_path):
    """The first call looks for the other library: numbers in registers and on the stack arrive as they were, also from two threads."""
    (cc,) = need(os.environ.get("CC", "cc"))
    (tmp_path / "other.c").write_text(
        "double cblas_dsdot(long a, long b, long c, long d, long e, long f, long g, double p, double q, double r, double s,\n"
        "                   double t, double u, double v, double w, double x) {\n"
        "  return a + 2 * b + 4 * c + 8 * d + 16 * e + 32 * f + 64 * g + p / 2 + q / 4 + r / 8 + s / 16 + t / 32 + u / 64 + v / 128 +\n"
        "         w / 256 + x / 512;\n}\n"
    )
    (tmp_path / "main.c").write_text(
        "#include <pthread.h>\n#include <stdio.h>\n"
        "double cblas_dsdot(long, long, long, long, long, long, long, double, double, double, double, double, double, double,\n"
        "                   double, double);\n"
        "static void *call(void *at) {\n"
        "  *(double *)at = cblas_dsdot(1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4, 5, 6, 7, 8, 9);\n  return at;\n}\n"
        "int main(void) {\n  pthread_t threads[2];\n  double found[2];\n"
        "  for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, call, &found[i]);\n"
        "  for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);\n"
        '  printf("%.17g %.17g\\n", found[0], found[1]);\n}\n'
    )
    subprocess.run([cc, "-shared", "-fPIC", tmp_path / "other.c", "-o", tmp_path / "other.so"], check=True)
    search = [f"-Wl,-rpath,{path.parent}", f"-Wl,-rpath-link,{path.parent.parent.parent}"]
    subprocess.run([cc, tmp_path / "main.c", "-o", tmp_path / "main", path, "-pthread", *search], check=True)
    expected = sum(2**i * (i + 1) for i in range(7)) + sum((i + 1) / 2 ** (i + 1) for i in range(9))
    done = run(tmp_path / "main", environment={"REPMATH_BLAS": str(tmp_path / "other.so")})
    assert (done.returncode, [float(v) for v in done.stdout.split()]) == (0, [expected, expected]), done.stderr


@pytest.mark.parametrize("program", ["R", "octave-cli"])
def test_an_interpreter(path, tmp_path, program):
    """Its products of vectors are exact, and its own solver, which calls routines that are passed on, works."""
    (found,) = need(program)
    (tmp_path / "libblas.so.3").symlink_to(path)
    environment = {"LD_LIBRARY_PATH": f"{tmp_path}:{path.parent.parent.parent}"}
    if program == "R":  # which sets LD_LIBRARY_PATH anew
        environment["LD_PRELOAD"] = str(path)
        script = "x <- c(1e16, 1, -1e16); cat(x %*% c(1, 1, 1), solve(matrix(c(1, 3, 2, 4), 2), c(1, 2)), fill = TRUE)"
        done = run(found, "--vanilla", "--slave", "-e", script, environment=environment)
    else:
        script = 'x = [1e16 1 -1e16]; printf("%g %g %g\\n", x * [1; 1; 1], [1 2; 3 4] \\ [1; 2])'
        done = run(found, "--norc", "--eval", script, environment=environment)
    assert (done.returncode, done.stdout.split()) == (0, ["1", "0", "0.5"]), done.stderr


TESTS = [(f"xblat{level}{letter}", level, f"{letter}blat{level}.in") for letter in "sd" for level in (1, 2, 3)]
TESTS += [(f"x{letter}cblat{level}", level, f"{letter}in{level}") for letter in "sd" for level in (1, 2, 3)]


@pytest.mark.parametrize(("name", "level", "data"), TESTS, ids=[t[0] for t in TESTS])
def test_netlib(path, tmp_path, name, level, data):
    """netlib's test programs, computations and error exits, with our routines in the place of the library's."""
    library = NETLIB / "libblas.so.3"
    if not (NETLIB / name).exists() or not library.exists():
        pytest.skip("not installed: libblas-test, netlib's test programs of BLAS")
    (tmp_path / "libblas.so.3").symlink_to(path)
    (tmp_path / name).symlink_to(NETLIB / name)
    environment = {"LD_LIBRARY_PATH": f"{tmp_path}:{path.parent.parent.parent}", "REPMATH_BLAS": str(library)}
    source = NETLIB / data
    with open(source if level > 1 else os.devnull) as stdin:
        done = run(tmp_path / name, environment=environment, stdin=stdin)
    said = done.stdout + done.stderr + "".join(f.read_text() for f in tmp_path.glob("*") if f.suffix in (".out", ".SUMM"))
    assert done.returncode == 0, said
    upper = said.upper()
    assert "PASS" in upper
    assert not any(word in upper for word in ("FAIL", "FATAL", "SUSPECT", "NOT DETECTED")), said
    if level > 1:
        assert f"GEM{'M' if level == 3 else 'V'}" in upper


BESIDE = """
import ctypes, sys
first, asked = (ctypes.CDLL(p, mode=ctypes.RTLD_GLOBAL) for p in sys.argv[1:])
asked.cblas_ddot.restype, v = ctypes.c_double, ctypes.c_double * 3
print(asked.cblas_ddot(3, v(1.0, 2.0**-53, 5e-324), 1, v(1.0, 1.0, 1.0), 1))
"""


def test_beside_another_blas(path):
    """Of a process that has loaded another one for all; the control is that one."""
    other = NETLIB / "libblas.so.3"
    if not other.exists():
        pytest.skip("netlib's BLAS is not installed")
    for asked, value in ((path, "1.0000000000000002"), (other, "1.0")):
        command = [sys.executable, "-c", BESIDE, str(other), str(asked)]
        assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == value
