"""Tables of erf: one polynomial an interval, 16 intervals. Usage: python crlibm/erf/erf_gen.py [--check]"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
from fit import array, double, fit, hexa, log2, mp, mpf, write

TERMS = 60


def taylor(c):
    """Taylor coefficients of erf at c: (2/sqrt(pi)) e^(-c^2) (-1)^(n-1) H_(n-1)(c) / n! for n >= 1."""
    h = [mpf(1), 2 * c]
    while len(h) < TERMS:
        n = len(h)
        h.append(2 * c * h[-1] - 2 * (n - 1) * h[-2])
    scale = 2 / mp.sqrt(mp.pi) * mp.exp(-c * c)
    return [mp.erf(c)] + [scale * (-1) ** (n - 1) * h[n - 1] / mp.factorial(n) for n in range(1, TERMS)]


def columns(step, degree, exact_terms):
    """Coefficient n of all 16 intervals, for n = 0..degree, and the largest error of an interval.

    The first `exact_terms` coefficients are returned unrounded from Taylor's series; the others are fitted.
    |erf^(n)(c)| <= 1.09 2^(n/2) sqrt(n!) 2/sqrt(pi) (Cramer's bound of Hermite functions) makes the tail negligible.
    """
    half = mpf(step) / 2 * (1 + mpf(2) ** -30)
    rows, errors = [], []
    for j in range(16):
        t = taylor(j * mpf(step))
        tail = mpf(2) ** -190
        p, err = fit(t[exact_terms:], half, degree - exact_terms, tail)
        errors.append(err * half**exact_terms)
        rows.append(t[:exact_terms] + p)
    return [[row[n] for row in rows] for n in range(degree + 1)], errors


def main():
    out = []
    step = mpf(17) / 64
    cols, errors = columns(step, 9, 2)
    cols = [[double(v) for v in col] for col in cols]
    flat = [v for col in cols for v in col]
    out.append(f"#define RM_ERF_STEP32 {hexa(step)} /* 17/64: the intervals of f32 are centred at its multiples */")
    out.append(f"#define RM_ERF_INV_STEP32 {hexa(double(1 / step))}")
    out.append(
        "/* Coefficient n of interval j at [16 n + j]: erf(c_j + t) for |t| <= 17/128. Errors: interval 0 relative to |t| "
        f"2^{log2(errors[0] / (step / 2)):.2f}, the others 2^{log2(max(errors[1:])):.2f}. */"
    )
    out.append(array("rm_erf_p32", flat))
    step = mpf(25) / 64
    dd = 5
    cols, errors = columns(step, 18, dd)
    high = [[double(v) for v in col] for col in cols]
    low = [[double(v - h) for v, h in zip(cols[n], high[n])] for n in range(dd)]
    out.append(f"#define RM_ERF_STEP64 {hexa(step)} /* 25/64 */")
    out.append(f"#define RM_ERF_INV_STEP64 {hexa(double(1 / step))}")
    out.append(
        f"/* The same for f64, |t| <= 25/128, degree 18; coefficients 0 to 4 in two parts. Errors 2^{log2(errors[0]):.2f} "
        f"(interval 0), 2^{log2(max(errors[1:])):.2f}. */"
    )
    out.append(array("rm_erf_p64", [v for col in high for v in col]))
    out.append(array("rm_erf_p64_lo", [v for col in low for v in col]))
    write(__file__, "erf_tables.h", "RM_ERF_TABLES_H", "\n".join(out) + "\n")


if __name__ == "__main__":
    main()
