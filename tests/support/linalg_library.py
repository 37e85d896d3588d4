"""The functions of repmath/linalg.h by ctypes, on NumPy arrays of any strides, and their definitions in rational numbers."""

from __future__ import annotations

import ctypes
from fractions import Fraction

import flint
import numpy as np
from exact_oracle import round_rational, rounded_root
from reductions_library import I64, OK, P, pointer

FORMATS = {np.dtype("f4"): "f32", np.dtype("f8"): "f64"}
UNSIGNED = {4: np.uint32, 8: np.uint64}
UNDECIDED = 13


def bits(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x).view(UNSIGNED[x.dtype.itemsize])


def number_of(dtype) -> int:
    return 2 if np.dtype(dtype) == np.float32 else 3


class Linalg:
    """Each call takes a batch of matrices (3 axes)."""

    def __init__(self, library):
        self.c = library if isinstance(library, ctypes.CDLL) else ctypes.CDLL(str(library))

    def threads(self, n: int) -> None:
        assert self.c.rm_set_num_threads(n) == OK

    def cholesky(self, a):
        batch, n, _ = a.shape
        out, info = np.full(a.shape, 7, a.dtype), np.full(batch, 7, np.int32)
        status = self.c.rm_cholesky(
            number_of(a.dtype), I64(batch), I64(n), pointer(a), *map(I64, a.strides), pointer(out), pointer(info)
        )
        assert status == OK
        return out, info

    def lu_factor(self, a):
        batch, m, n = a.shape
        out, info = np.full(a.shape, 7, a.dtype), np.full(batch, 7, np.int32)
        pivots = np.full((batch, min(m, n)), 7, np.int32)
        sizes = I64(batch), I64(m), I64(n)
        status = self.c.rm_lu_factor(
            number_of(a.dtype), *sizes, pointer(a), *map(I64, a.strides), pointer(out), pointer(pivots), pointer(info)
        )
        assert status == OK
        return out, pivots, info

    def solve(self, a, b, triangle=None, unit=False, expected=OK):
        """triangle: None, "lower" or "upper"; b None: the inverse."""
        batch, n, _ = a.shape
        k = n if b is None else b.shape[2]
        out, info = np.full((batch, n, k), 7, a.dtype), np.full(batch, 7, np.int32)
        sizes = I64(batch), I64(n), I64(k)
        right = (P(None), I64(0), I64(0), I64(0)) if b is None else (pointer(b), *map(I64, b.strides))
        rest = (*sizes, pointer(a), *map(I64, a.strides), *right, pointer(out), pointer(info))
        if triangle is None:
            status = self.c.rm_solve(number_of(a.dtype), *rest)
        else:
            status = self.c.rm_solve_triangular(number_of(a.dtype), int(triangle == "upper"), int(unit), *rest)
        assert status == expected
        return out, info

    def det(self, a):
        out = np.full(len(a), 7, a.dtype)
        status = self.c.rm_det(
            number_of(a.dtype), I64(len(a)), I64(a.shape[1]), pointer(a), *map(I64, a.strides), pointer(out)
        )
        assert status == OK
        return out

    def slogdet(self, a):
        sign, log = np.full(len(a), 7, a.dtype), np.full(len(a), 7, a.dtype)
        args = I64(len(a)), I64(a.shape[1]), pointer(a), *map(I64, a.strides)
        assert self.c.rm_slogdet(number_of(a.dtype), *args, pointer(sign), pointer(log)) == OK
        return sign, log


def rational(x) -> Fraction:
    return Fraction(*float(x).as_integer_ratio())


def exact_matrix(a: np.ndarray) -> flint.fmpq_mat:
    entries = [flint.fmpq(*float(x).as_integer_ratio()) for x in a.ravel()]
    return flint.fmpq_mat(a.shape[0], a.shape[1], entries)


def _rounded(value, dtype) -> int:
    return round_rational(Fraction(int(value.p), int(value.q)), FORMATS[np.dtype(dtype)])


def exact_solution(a: np.ndarray, b: np.ndarray | None):
    """The bits of the rounded solution of one system; None for a singular matrix."""
    n = len(a)
    try:
        x = exact_matrix(a).solve(exact_matrix(np.eye(n) if b is None else b)) if n else None
    except ZeroDivisionError:
        return None
    k = n if b is None else b.shape[1]
    return np.array([[_rounded(x[i, j], a.dtype) for j in range(k)] for i in range(n)], UNSIGNED[a.dtype.itemsize]).reshape(
        n, k
    )


def exact_determinant(a: np.ndarray) -> Fraction:
    d = exact_matrix(a).det() if len(a) else flint.fmpq(1)
    return Fraction(int(d.p), int(d.q))


def determinant_bits(a: np.ndarray) -> int:
    return round_rational(exact_determinant(a), FORMATS[a.dtype])


def log_bits(d: Fraction, dtype) -> int:
    """RN(log |d|), with as many bits as separate it from every boundary of rounding."""
    fmt = FORMATS[np.dtype(dtype)]
    d = abs(d)
    if d == 1:
        return 0
    precision = 200
    while True:
        x = flint.ctx
        x.prec = precision
        value = flint.arb(flint.fmpq(d.numerator, d.denominator)).log()
        low, high = (Fraction(*_ratio(end)) for end in (value.lower(), value.upper()))
        if round_rational(low, fmt) == round_rational(high, fmt):
            return round_rational(low, fmt)
        precision *= 2


def _ratio(x) -> tuple[int, int]:
    m, e = x.man_exp()
    m, e = int(m), int(e)
    return (m << e, 1) if e >= 0 else (m, 1 << -e)


def recurrence_cholesky(a: np.ndarray):
    """Bits of L, and info, by the definition, for finite entries."""
    n, fmt, dtype = len(a), FORMATS[a.dtype], a.dtype
    out = np.zeros((n, n), UNSIGNED[dtype.itemsize])
    values = [[Fraction(0)] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            s = rational(a[i, j]) - sum((values[i][k] * values[j][k] for k in range(j)), Fraction(0))
            if i == j and s <= 0:
                out[i:, :] = np.tril(np.full((n, n), nan_bits(dtype), out.dtype))[i:]
                return out, i + 1
            word = rounded_root(s, dtype) if i == j else round_rational(s / values[j][j], fmt)
            out[i, j] = word
            values[i][j] = rational(np.array(word, out.dtype).view(dtype)[()])
    return out, 0


def nan_bits(dtype) -> int:
    return 0x7FC00000 if np.dtype(dtype) == np.float32 else 0x7FF8000000000000


def recurrence_lu(a: np.ndarray):
    """Bits of L and U, pivots and info by the definition, for finite entries and results."""
    m, n = a.shape
    fmt, dtype = FORMATS[a.dtype], a.dtype
    kind = UNSIGNED[dtype.itemsize]
    out = np.zeros((m, n), kind)
    rows = [[rational(x) for x in row] for row in a]
    values = [[Fraction(0)] * n for _ in range(m)]
    pivots, info = [], 0

    def number(word):
        return rational(np.array(word, kind).view(dtype)[()])

    for j in range(min(m, n)):
        sums = [rows[i][j] - sum((values[i][k] * values[k][j] for k in range(j)), Fraction(0)) for i in range(j, m)]
        words = [round_rational(s, fmt) for s in sums]
        best = max(range(len(words)), key=lambda i: (abs(number(words[i])), -i))
        p = j + best
        pivots.append(p + 1)
        for table in (rows, values):
            table[j], table[p] = table[p], table[j]
        out[[j, p]] = out[[p, j]]
        for table in (sums, words):
            table[0], table[best] = table[best], table[0]
        out[j, j], values[j][j] = words[0], number(words[0])
        if values[j][j] == 0 and not info:
            info = j + 1
        for i in range(j + 1, m):
            word = words[i - j] if values[j][j] == 0 else round_rational(sums[i - j] / values[j][j], fmt)
            out[i, j], values[i][j] = word, number(word)
        for c in range(j + 1, n):
            word = round_rational(rows[j][c] - sum((values[j][k] * values[k][c] for k in range(j)), Fraction(0)), fmt)
            out[j, c], values[j][c] = word, number(word)
    return out, pivots, info
