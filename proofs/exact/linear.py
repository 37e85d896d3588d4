"""Factorizations, systems and determinants with adversarial data (cases.py). What an entry is made of are the rounded entries before it, so that its
exact value is computed from the results."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
from linalg_library import Linalg, exact_determinant, exact_matrix

from proofs.exact.cases import Case, exactly, kind_of, lossy
from proofs.exact.places import KIND, of_kinds

FORMATS: dict[str, Any] = dict.fromkeys(
    ("roots", "quotients", "differences", "cholesky", "lu", "solve", "solve_triangle", "inverse", "determinant"),
    ("f32", "f64"),
)
AS_IT_IS, QUOTIENT, ROOT = range(3)  # src/linalg/recurrence.c
SIZES = [1, 2, 3, 5, 8, 17]


def powers(rng, n):
    return 2.0 ** rng.integers(-12, 13, n)


def square(rng, fmt, n, kinds=6):
    """A matrix whose sums cancel, which is nearly singular, of integers, or of magnitudes far apart."""
    kind = int(rng.integers(0, kinds))
    if kind == 0:
        x = np.stack([lossy(rng, "f32", n, int(rng.choice([0, 1, 3, 5]))) for _ in range(n)]).astype("f8")
        x += np.diag(rng.choice([-1.0, 1.0], n) * 2.0 ** rng.integers(-2, 3))
    elif kind == 1:
        x = rng.standard_normal((n, n))
        x[:, -1] = x[:, 0] * (1 + 2.0**-12 * rng.standard_normal(n))
    elif kind == 2:
        x = rng.integers(-9, 10, (n, n)).astype("f8")
    elif kind == 3:
        x = 1.0 / (np.arange(n)[:, None] + np.arange(n)[None] + 1)
    else:
        x = rng.standard_normal((n, n))
    if kind % 2:
        x = powers(rng, n)[:, None] * x * powers(rng, n)
    return x.astype(kind_of(fmt))


def definite(rng, fmt, n):
    """A symmetric matrix, some not quite positive."""
    x = square(rng, "f64", n)
    a = x @ x.T
    a += np.diag(np.diag(a)) * float(rng.choice([1.0, 2.0**-20, 2.0**-48, 0.0]))
    p = powers(rng, n)
    with np.errstate(over="ignore"):
        a = (p[:, None] * a * p).astype(kind_of(fmt))
    return np.tril(a) + np.tril(a, -1).T


def strided(rng, a):
    """The same matrix, its elements no neighbours."""
    return np.asfortranarray(a) if rng.random() < 0.5 else np.repeat(a, 2, axis=1)[:, ::2]


def by_entry(a, terms, other, kinds, known):
    """Pairs of the records about entries of a: terms(i, j): the sum that is subtracted; other(i, j): what the difference is divided by. `known`:
    the entries of which this can be said."""
    at = {a.ctypes.data + i * a.strides[0] + j * a.strides[1]: (i, j) for i, j in np.ndindex(*a.shape)}

    def place(records, lanes, none):
        pairs = []
        for r in of_kinds(records, *kinds):
            entry = at.get(int(r["at"]))
            if entry is None or not known(*entry):
                continue
            total = terms(*entry)
            if r["kind"] == KIND["sum"]:
                pairs.append((r, total))
                continue
            difference = Fraction(float(a[entry])) - total
            what = int(r["more"])
            if what == QUOTIENT:
                difference /= other(*entry)
            elif what == ROOT:
                difference = mpmath.sqrt(mpmath.mpf(difference.numerator) / difference.denominator)
            pairs.append((r, difference))
        return pairs

    return place


def roots(rng, fmt):
    """Of diagonal matrices: nothing but the root errs."""
    a = np.diag((1 + 3 * rng.random(24)) * 2.0 ** rng.integers(-90, 90, 24)).astype(kind_of(fmt))
    return factored(rng, a)


def cholesky(rng, fmt):
    return factored(rng, definite(rng, fmt, int(rng.choice([*SIZES, 40]))))


def factored(rng, a):
    n, a = len(a), strided(rng, a)
    found: dict[str, Any] = {}

    def run(lib):
        out, info = Linalg(lib).cholesky(a[None])
        rows = int(info[0]) - 1 if info[0] else n
        found["rows"] = rows if np.isfinite(out[0, :rows]).all() else 0
        found["l"] = np.array(exactly(out[0, : found["rows"]]), object).reshape(-1, n)

    def terms(i, j):
        return sum((x * y for x, y in zip(found["l"][i, :j], found["l"][j, :j], strict=True)), Fraction(0))

    place = by_entry(a, terms, lambda i, j: found["l"][j, j], ("sum", "known"), lambda i, j: j <= i < found["rows"])
    return Case(run, [], place, (a,))


def quotients(rng, fmt):
    """Of a column: nothing but the quotients errs."""
    return decomposed(rng, lossy(rng, fmt, 30, int(rng.choice([1, 4, 5]))).reshape(30, 1))


def differences(rng, fmt):
    """In the second row they are products subtracted from numbers."""
    a = (rng.standard_normal((2, 40)) * 2.0 ** rng.integers(-60, 60, (1, 40))).astype(kind_of(fmt))
    return decomposed(rng, a, (AS_IT_IS,))


def lu(rng, fmt):
    n, m = int(rng.choice(SIZES)), int(rng.choice(SIZES))
    return decomposed(rng, square(rng, fmt, max(m, n))[:m, :n])


def decomposed(rng, a, what=(AS_IT_IS, QUOTIENT)):
    (m, n), a = a.shape, strided(rng, a)
    found: dict[str, Any] = {}

    def run(lib):
        out, pivots, _ = Linalg(lib).lu_factor(a[None])
        order = list(range(m))
        for j, p in enumerate(pivots[0]):
            order[j], order[p - 1] = order[p - 1], order[j]
        found["place"] = {row: i for i, row in enumerate(order)}
        finite = bool(np.isfinite(out).all())
        found["lu"] = np.array(exactly(out[0]), object).reshape(m, n) if finite else None

    def terms(row, j):
        i, x = found["place"][row], found["lu"]
        k = min(i, j)
        return sum((p * q for p, q in zip(x[i, :k], x[:k, j], strict=True)), Fraction(0))

    place = by_entry(a, terms, lambda row, j: found["lu"][j, j], ("sum", "known"), lambda i, j: found["lu"] is not None)
    return Case(run, [], lambda *given: [(r, v) for r, v in place(*given) if int(r["more"]) in what], (a,))


def terms_of(records, values):
    """The last term of each element's sum, with what is left for it."""
    pairs, before = [], []
    for r in of_kinds(records, "part", "settle"):
        if r["kind"] == KIND["part"]:
            before.append(Fraction(float(r["hi"])))
            continue
        last = r.copy()
        last["shift"] = 0
        exact = values[int(r["more"])] * Fraction(2) ** int(r["shift"])
        pairs.append((last, exact - sum(before, Fraction(0))))
        before = []
    return pairs


def system(what):
    def case(rng, fmt):
        n = int(rng.choice(SIZES))
        a = square(rng, fmt, n)
        b = None if what == "inverse" else np.stack([lossy(rng, fmt, n, int(rng.choice([1, 3, 5]))) for _ in range(2)], 1)
        if b is not None and rng.random() < 0.4:  # short solutions, that are found
            with np.errstate(over="ignore"):
                b = (a.astype("f8") @ rng.integers(-3, 4, (n, 2))).astype(a.dtype)
        triangle, unit = None, False
        if what == "solve_triangle":
            triangle, unit = str(rng.choice(["lower", "upper"])), bool(rng.integers(0, 2))
        read = a.astype("f8")
        if triangle:
            read = np.tril(read) if triangle == "lower" else np.triu(read)
        if unit:
            np.fill_diagonal(read, 1.0)
        a = strided(rng, a)
        right = np.eye(n) if b is None else b.astype("f8")
        values: list[Any] = []
        if np.isfinite(right).all():
            try:
                x = exact_matrix(read).solve(exact_matrix(right))
                values = [Fraction(int(v.p), int(v.q)) for v in x.entries()]
            except ZeroDivisionError:
                pass

        def run(lib):
            Linalg(lib).solve(a[None], None if b is None else b[None], triangle, unit)

        return Case(run, values, lambda records, lanes, v: terms_of(records, v) if v else [], (a, b))

    return case


def determinant(rng, fmt):
    n = int(rng.choice(SIZES))
    a = strided(rng, square(rng, fmt, n))
    value = exact_determinant(np.ascontiguousarray(a).astype("f8"))
    log = rng.random() < 0.3

    def run(lib):
        (Linalg(lib).slogdet if log else Linalg(lib).det)(a[None])

    return Case(run, [value], lambda records, lanes, v: [(r, v[0]) for r in of_kinds(records, "settle")], (a,))


OPERATORS: dict[str, Callable[..., Case]] = {
    "roots": roots,
    "quotients": quotients,
    "differences": differences,
    "cholesky": cholesky,
    "lu": lu,
    "solve": system("solve"),
    "solve_triangle": system("solve_triangle"),
    "inverse": system("inverse"),
    "determinant": determinant,
}
