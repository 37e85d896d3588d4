"""proofs/oracle: the bounds of the evaluations in binary32, of binary32 (crlibm/*/*_b32.h) and of the 16-bit formats (*_b32_half.h). Each is
seen again where its certificate found the largest error; smaller bounds and changed coefficients are rejected. `make proofs` runs all."""

import ctypes
import math
import os
import random
import re
import shutil
from fractions import Fraction

import gmpy2
import native
import numpy as np
import oracle as mpfr
import pytest
from native import need

pytest.importorskip("flint")

from proofs.oracle import b32, b32_half, blocks, functions, source  # noqa: E402
from proofs.oracle.functions import SIGN, bits  # noqa: E402

FUNCTIONS = functions.table()
B32, HALF = b32.evaluations(), b32_half.evaluations()
LANES = [(name, isa) for name, e in B32.items() for isa in e.isas]
ONE = [(name, isa) for name, e in HALF.items() for isa in e.isas if not e.pair]
PAIRS = [(name, isa) for name, e in HALF.items() for isa in e.isas if e.pair]
GRADIENTS = [name for name in mpfr.FUNCTIONS if name.endswith("_backward")]


def can_run(isa: str) -> None:
    need("cc")
    if not source.runs(isa):
        pytest.skip(f"this CPU has no {isa}")


@pytest.mark.parametrize("name", B32)
def test_b32_evaluations_have_their_certificates(name):
    assert b32.outdated(B32[name]) == ""


@pytest.mark.parametrize("name", HALF)
def test_16_bit_evaluations_have_their_certificates(name):
    assert b32_half.outdated(HALF[name]) == ""


@pytest.mark.sample(4)
@pytest.mark.parametrize("name,isa", LANES)
def test_the_largest_error_of_a_b32_evaluation(name, isa):
    """Control: a bound of a quarter of that error (lo +- err rounds, so that not every smaller one shows)."""
    can_run(isa)
    held = b32.certificate(B32[name])[isa]
    at, ratio = int(held["at"], 16), held["ratio"]
    some = [((at & SIGN - 1) if FUNCTIONS[name].twin else at) // blocks.SEGMENT]
    (found,) = b32.within([b32.compiled(B32[name], isa)], FUNCTIONS[name], some)
    assert found.bad == 0 and ratio - 2**-13 <= found.ratio <= ratio and found.at == at
    loaded = b32.compiled(B32[name], isa, f"-DRM_CFG_BOUND_SHRINK={ratio / 4!r}f")
    assert b32.within([loaded], FUNCTIONS[name], some)[0].bad > 0


def test_two_instruction_sets_are_told_apart():
    """What one evaluation has found counts for the other only where all bits agree."""
    can_run("avx512")
    true, small = (b32.compiled(B32["exp"], "avx512", *flags) for flags in ((), ("-DRM_CFG_BOUND_SHRINK=0x1p-20f",)))
    for loaded, bad in (((true, small), (False, True)), ((small, true), (True, False)), ((true, true), (False, False))):
        found = b32.within(list(loaded), FUNCTIONS["exp"], [bits(1.5) // blocks.SEGMENT])
        assert tuple(f.bad > 0 for f in found) == bad and {f.inputs for f in found} == {blocks.SEGMENT}


def changed_table(folder, table: str, times: int) -> str:
    """A copy of crlibm whose table has the first few of its inexact numbers off by 2^-20."""
    shutil.copytree(mpfr.ROOT / "crlibm", folder / "crlibm", dirs_exist_ok=True)
    path = folder / "crlibm" / table
    text = path.read_text()
    words = [
        w
        for w in text.split()
        if w.strip("-").startswith("0x1.") and "f" in w.split("p")[1] and w.split("p")[0].rstrip("0")[-1] != "."
    ]
    for old in words[:times]:
        number, power = old.split("p", 1)
        text = text.replace(old, f"{(float.fromhex(number) * (1 + 2.0**-20)).hex().split('p')[0]}p{power}")
    path.write_text(text)
    return f"-I{folder}"


@pytest.mark.parametrize("name,table", [(n, f"{n}/{n}_b32_tables.h") for n in ("exp", "log", "tanh")])
def test_a_changed_table_of_a_b32_evaluation_is_found(tmp_path, name, table):
    isa, evaluation = B32[name].isas[-1], B32[name]
    can_run(isa)
    flag = changed_table(tmp_path, table, 3)
    text = source.reached(source.preprocessed(evaluation.header, isa, tmp_path), evaluation.root)
    assert source.digest_of("\n".join(text)) != source.digest(evaluation.header, evaluation.root, isa)
    chosen = range(bits(0.125) // blocks.SEGMENT, bits(4.0) // blocks.SEGMENT, 8)
    assert b32.within([b32.compiled(evaluation, isa, flag)], FUNCTIONS[name], chosen)[0].bad > 0
    assert b32.within([b32.compiled(evaluation, isa)], FUNCTIONS[name], chosen)[0].bad == 0


# The 16-bit formats.


@pytest.mark.sample(3)
@pytest.mark.parametrize("name,isa", ONE)
def test_the_largest_error_of_16_bit_numbers(tmp_path, name, isa):
    """One in 13 of all numbers, and the worst one. Controls: a bound below that error, a changed coefficient."""
    can_run(isa)
    held = b32_half.certificate(HALF[name])[isa]
    loaded = b32_half.compiled(HALF[name], isa)
    for fmt in b32_half.FORMATS:
        worst = int(held[fmt]["at"], 16)
        exact = b32_half.exact_values(name, fmt, [worst, *range(random.Random(name).randrange(13), b32_half.INPUTS, 13)])
        measured = b32_half.every_estimate if HALF[name].estimate else b32_half.one_argument
        found = measured(loaded, fmt, exact)
        assert found["beyond"] == found["wrong"] == 0
        assert found["at"] == held[fmt]["at"] and 0 <= held[fmt]["ratio"] - found["ratio"] < 2**-13
        assert measured(loaded, fmt, exact, held[fmt]["ratio"] * 0.99)["beyond"] > 0
    if name in ("exp", "log", "sin", "cbrt"):
        table = {"cbrt": "cbrt/cbrt_tables.h", "sin": "sin/sin_tables.h"}.get(name, f"{name}/{name}_b32_tables.h")
        found = b32_half.one_argument(b32_half.compiled(HALF[name], isa, changed_table(tmp_path, table, 1000)), fmt, exact)
        assert found["beyond"] > 0


def test_estimates_of_the_cpu_are_in_no_other_evaluation():
    """What estimates.c covers. Control: the pattern finds them there."""
    need("cc")
    found = {"b32": set(), "b32_half": set()}
    for kind, known in (("b32", B32), ("b32_half", HALF)):
        for name, e in known.items():
            for isa in e.isas:
                text = "".join(source.reached(source.preprocessed(e.header, isa), e.root))
                found[kind] |= {name} if re.search(r"_r(sqrt|cp)(14)?_[ps][sd]", text) else set()
    assert found == {"b32": {"sigmoid", "silu"}, "b32_half": {name for name, e in HALF.items() if e.estimate}}


def test_reciprocals_of_all_estimates(tmp_path):
    """Of one in 61 numbers. The bound that simd.h states is 2^-23.9. Control: one step less, which leaves the estimate's own error."""
    can_run("avx512")
    assert 2**-24 < b32_half.reciprocals(61, 7) < 2**-23.9
    shutil.copytree(mpfr.ROOT / "crlibm", tmp_path / "crlibm")
    path = tmp_path / "crlibm/simd/avx512.h"
    step = "_mm512_fmadd_ps(r, _mm512_fnmadd_ps(b, r, _mm512_set1_ps(1.0f)), r)"
    assert step in path.read_text()
    path.write_text(path.read_text().replace(step, "r"))
    assert b32_half.reciprocals(61, 7, f"-I{tmp_path}") > 2**-14.1


@pytest.mark.exhaustive
def test_reciprocals_of_all_numbers_and_estimates():
    can_run("avx512")
    assert b32_half.reciprocals(1) < 2**-23.91


@pytest.mark.sample(3)
@pytest.mark.parametrize("name,isa", PAIRS)
def test_the_largest_error_of_16_bit_pairs(name, isa):
    """All pairs with the worst first argument and with three others. Control: a bound a little below the error."""
    can_run(isa)
    held = b32_half.certificate(HALF[name])[isa]
    loaded = b32_half.compiled(HALF[name], isa)
    for fmt in b32_half.FORMATS:
        made, ratio, first = b32_half.tables(name, fmt), held[fmt]["ratio"], int(held[fmt]["at"], 16) >> 16
        found = b32_half.two_arguments(loaded, name, fmt, made, 1 << 20, first)
        assert found.bad == 0 and ratio - 2**-13 <= found.ratio <= ratio and found.at == int(held[fmt]["at"], 16)
        found = b32_half.two_arguments(loaded, name, fmt, made, 11003, random.Random(name).randrange(10000))
        assert found.bad == 0 and found.ratio <= ratio and found.undecided < 0.8 * found.pairs
        shrunk = b32_half.compiled(HALF[name], isa, f"-DRM_CFG_BOUND_SHRINK={ratio * 0.98!r}")
        assert b32_half.two_arguments(shrunk, name, fmt, made, 1 << 20, first).bad > 0


def test_values_of_pairs_are_those_of_mpfr():
    """The polynomials against MPFR: within the 2^-46 for which they are made."""
    rng = random.Random(5)
    with gmpy2.context(precision=200):
        for name, top, f in (
            ("atan2", 1.0, lambda x: gmpy2.atan(x) / x if x else gmpy2.mpfr(1)),
            ("pow", 1.0, gmpy2.exp2),
            ("logaddexp", 86.0, lambda x: gmpy2.log1p(gmpy2.exp(-x))),
        ):
            made, (_, parts, scale) = b32_half.tables(name, "f16"), b32_half.polynomials(name)
            for x in [rng.random() * top for _ in range(200)] + [0.0, top * (1 - 2.0**-50)]:
                u = Fraction(x) * int(float(scale))
                j = int(u)
                s, v = 2 * (u - j) - 1, Fraction(0)
                for c in reversed(made.c[j]):
                    v = Fraction(c) + s * v
                value = Fraction(*f(gmpy2.mpfr(x)).as_integer_ratio())
                assert j < parts and abs(v - value) <= abs(value) * Fraction(1, 2**46), (name, x)


# Relative bounds with which loops call the tests: RM_HALF_ERR_<f> of the functions, and of the gradients. That of f16 rounds v (1 -+ rel), and so
# covers rel less 2^-24.
RELATIVE = {"f16": (0.0, 2.0**-22, 2.0**-21, 2.0**-17), "bf16": (0.0, 2.0**-23, 2.0**-22, 2.0**-21, 2.0**-15)}


@pytest.mark.parametrize("isa", source.ISAS)
@pytest.mark.parametrize("fmt", b32_half.FORMATS)
def test_rounding_tests_of_16_bit_results(isa, fmt):
    """Around all midpoints, and numbers by steps: where a lane is decided, whatever is within the bound rounds to its result. Control:
    that is not so of twice the bound and a unit more."""
    can_run(isa)
    loaded = b32_half.compiled(HALF["rsqrt"], isa)
    loaded.rm_half_tests.restype = ctypes.c_int64
    step, half = (0x2000, 0x1000) if fmt == "f16" else (0x10000, 0x8000)
    code = list(mpfr.FORMATS).index(fmt)

    def run(rel, claimed, first, by, count):
        undecided, at = ctypes.c_int64(0), ctypes.c_uint32(0)
        wrong = loaded.rm_half_tests(
            code,
            ctypes.c_float(rel),
            ctypes.c_float(claimed),
            ctypes.c_uint32(first % 2**32),
            ctypes.c_uint32(by),
            ctypes.c_int64(count),
            ctypes.byref(undecided),
            ctypes.byref(at),
        )
        return wrong, undecided.value, hex(at.value)

    for rel in RELATIVE[fmt]:
        covered = rel - 2.0**-24 if rel and fmt == "f16" else rel
        units = int(rel * 2**24)
        near = sorted({*range(-3, 4), *(s * (k * units + d) for s in (1, -1) for k in (1, 2) for d in (-2, -1, 0, 1, 2))})
        caught = 0
        for off in near:
            wrong, undecided, at = run(rel, covered, half + off, step, 2**32 // step)
            assert wrong == 0, (rel, off, at)
            caught += run(rel, 2 * rel + 2.0**-23, half + off, step, 2**32 // step)[0]
        assert caught > 0
        wrong, undecided, at = run(rel, covered, 12345, 4099, 1 << 20)
        assert wrong == 0 and undecided < 2**19, (rel, at)


def test_gradients_of_16_bit_formats_are_within_their_bound():
    """half_gradient.c: D = d (1 + a), P = g D (1 + b), |a D| <= u |D|, |b| <= u of P or of g D: |P - g d| < 2^-22.99 |P|, and each of
    P (1 -+ 2^-22), rounded by 2^-24 of itself, is beyond that."""
    u = Fraction(1, 2**24)
    # |P - gD| <= u |P|; |gD - gd| <= u |gD| <= u (1 + u) |P|, since |gD| <= |P| + u |P|.
    total = u + u * (1 + u)
    assert total < Fraction(2.0**-22.99) and u + u * (1 + u) ** 5 > total
    assert (1 + Fraction(1, 2**22)) * (1 - u) > 1 + total and (1 - Fraction(1, 2**22)) * (1 + u) < 1 - total


@pytest.mark.parametrize("name", GRADIENTS)
def test_derivatives_of_16_bit_numbers(name):
    """What the tables of gradients are made of: f32 results for g = 1 at the numbers of the formats. All of them where REPMATH_EXHAUSTIVE is set."""
    step = 1 if os.environ.get("REPMATH_EXHAUSTIVE") else 67
    library = ctypes.CDLL(str(native.default_build() / "librepmath.so"))
    for fmt in b32_half.FORMATS:
        x = mpfr.to_double(np.arange(math.floor(step / 3), b32_half.INPUTS, step, dtype="<u2"), fmt).astype("<f4")
        one, y = np.ones_like(x), np.empty_like(x)
        pointers = [v.ctypes.data_as(ctypes.c_void_p) for v in (one, x, y)]
        stride = ctypes.c_ssize_t(4)
        status = getattr(library, f"rm_v{name}_f32")(
            ctypes.c_int64(len(x)), pointers[0], stride, pointers[1], stride, pointers[2], stride
        )
        right = mpfr.values(name, (one.astype(float), x.astype(float)), "f32")
        assert status == 0 and np.array_equal(y.view("<u4"), np.asarray(right).astype("<u4"))
