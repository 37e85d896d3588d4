"""What the lemmas of odd.py are about is the library's source: its functions, compiled without fused operations, give on numbers of 53 bits what the
functions of odd.py give. A change of one of both that is not made in the other is found here: `edit` makes one for a control.

The numbers are those at which the lemmas have a case of their own: last bits 0 and 1, ends of binades, ties and neighbours of ties, sums that cancel,
and z from far below to far above x y."""

import itertools
import os
import pathlib
import random
import shlex
import struct
import subprocess
import tempfile
from collections.abc import Callable
from fractions import Fraction

import z3

from ..exact.library import copied
from .odd import fma, rounded, sign_of, to_odd

PROGRAM = r"""
#include <stdio.h>
#include "crlibm/config.h"
#undef RM_HAS_FMA
#define RM_HAS_FMA 0
#include "crlibm/fma/fma.h"
#include "crlibm/pow/pow.h"
static double number(void) {
  uint64_t bits;
  return fread(&bits, sizeof bits, 1, stdin) == 1 ? rm_from_bits64(bits) : 0.0;
}
static void print(double v) { printf("%a\n", v); }
int main(void) {
  for (int kind = getchar(); kind != EOF; kind = getchar()) {
    const double x = number(), y = number(), z = number();
    double r = 0.0;
    vm64 m = vf64_lt(x, x);
    if (kind == 'o') print(vf64_to_odd(x, y));
    if (kind == 'f') m = rm_fma_once(x, y, z, &r), print(vm64_bits(m) ? 0x1p1023 : r);
    if (kind == 's') {
      vm64 integer;
      const vi64 top = rm_pow_sign(-1.0, y, &integer);
      print((vm64_bits(integer) ? 2.0 : 0.0) + (vf64_lt(vf64_from_bits(vi64_or(top, vf64_bits(1.0))), 0.0) ? 1.0 : 0.0));
    }
  }
  return 0;
}
"""
LEFT = Fraction(2) ** 1023  # what the program prints where rm_fma_once leaves the argument undecided
Case = tuple[str, Fraction, Fraction, Fraction]


def compiled(folder: pathlib.Path, edit: dict[str, list[tuple[str, str]]] | None = None) -> pathlib.Path:
    copied(folder, edit or {})
    (folder / "odd.c").write_text(PROGRAM)
    options = ["-std=gnu11", "-O1", "-w", "-ffp-contract=off", "-I", folder]
    subprocess.run(
        [*shlex.split(os.environ.get("CC", "cc")), *options, folder / "odd.c", "-lm", "-o", folder / "odd"], check=True
    )
    return folder / "odd"


def significands(source: random.Random) -> list[int]:
    few = [2**52, 2**52 + 1, 2**52 + 2, 2**53 - 1, 2**53 - 2, 3 << 51, (3 << 51) + 1]
    return few + [source.getrandbits(52) | 1 << 52 for _ in range(4)]


def cases(seed: int = 1) -> list[Case]:
    source = random.Random(seed)
    found: list[Case] = []
    zero = Fraction(0)
    for m, side in itertools.product(significands(source), (1, -1)):
        s = Fraction(side * m)
        for e in (zero, *(Fraction(k * t, 2**8) for k in (1, 64, 127, 128) for t in (1, -1))):
            if rounded(s + e, 53) == s:  # the rest of a sum
                found.append(("o", s, e, zero))
    for m, places, side in itertools.product(significands(source), range(2, 54), (1, -1)):
        half = 1 << (places - 1)  # integers, halves and their neighbours
        for n in {m, m & -half, m & -(2 * half), (m & -half) + 1}:
            if 2**52 <= n < 2**53:
                found.append(("s", zero, Fraction(side * n, 2**places), zero))
    for m, n in itertools.combinations(significands(source), 2):
        product = Fraction(m * n)
        high = rounded(product, 53)
        unit = Fraction(2**53)
        near = [
            -high,
            high - product,
            product - high,
            unit / 2,
            unit / 2 - 1,
            -unit / 4,
            -high + unit,
            3 * unit / 2 - product,
        ]
        near += [
            Fraction(source.getrandbits(52) | 1 << 52) * Fraction(2) ** e for e in (-170, -54, -1, 0, 1, 52, 53, 54, 107, 170)
        ]
        for z in near:
            z = rounded(z, 53)
            found += [("f", Fraction(m), Fraction(n), z), ("f", Fraction(-m), Fraction(n), z)]
    return found


def expected(case: Case) -> Fraction:
    """By odd.py."""
    kind, x, y, z = case
    if kind == "o":
        return to_odd(x, y, 53)
    if kind == "f":
        return fma(x, y, z, 53)
    m, places = abs(y), 0
    while m < 2**52:
        m, places = 2 * m, places + 1
    integer, last = (z3.simplify(v) for v in sign_of(z3.BitVecVal(int(m), 128), z3.BoolVal(y < 0), places))
    return Fraction(2 * z3.is_true(integer) + last.as_long())


def differences(
    program: pathlib.Path, of: list[Case] | None = None, value: Callable[[Case], Fraction] = expected
) -> list[Case]:
    """The cases in which the library's function gives another result."""
    of = cases() if of is None else of
    given = b"".join(kind.encode() + struct.pack("<3d", *map(float, numbers)) for kind, *numbers in of)
    printed = subprocess.run([program], input=given, capture_output=True, check=True).stdout.decode().split()
    assert len(printed) == len(of)
    return [case for case, r in zip(of, printed, strict=True) if Fraction(float.fromhex(r)) != value(case)]


def check() -> int:
    """How many cases were compared; raises where one differs."""
    with tempfile.TemporaryDirectory() as name:
        wrong = differences(compiled(pathlib.Path(name)))
    if wrong:
        raise AssertionError(f"the library's source differs from odd.py, first at {wrong[0]}")
    return len(cases())
