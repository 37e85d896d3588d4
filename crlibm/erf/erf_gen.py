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


def check_fast2sum(high, step, terms):
    """Fast2Sum of c_n and m = t (...) is exact when |c_n| >= |m| or c_n = 0; otherwise it is off by at most 2^-53 |m|, which
    counts t^n times in the result: that must stay below 2^-69 of it."""
    half = mpf(step) / 2
    for j in range(16):
        for n in range(terms):
            rest = sum(abs(high[i][j]) * half ** (i - n) for i in range(n + 1, len(high)))
            small = rest * half**n < mpf(2) ** -16 * high[0][j]
            assert high[n][j] == 0 or abs(high[n][j]) >= rest or small, (j, n)


def check_subnormals(c1):
    """A subnormal x = n 2^-149, n < 2^23, has the result RN(n c_1) in units of 2^-149: no midpoint within 2^-50 n of n 2/sqrt(pi).

    n 2/sqrt(pi) is within d of a midpoint only if n 4/sqrt(pi) is within 2d of an integer; the convergents of 4/sqrt(pi) give
    the smallest such distances among all n up to their denominators.
    """
    assert abs(c1 / (2 / mp.sqrt(mp.pi)) - 1) < mpf(2) ** -53
    value = 4 / mp.sqrt(mp.pi)
    x, p0, q0, p1, q1 = value, 1, 0, int(mp.floor(value)), 1
    distance = abs(q1 * value - p1)
    while True:
        x = 1 / (x - mp.floor(x))
        a = int(mp.floor(x))
        p0, q0, p1, q1 = p1, q1, a * p1 + p0, a * q1 + q0
        if q1 >= 2**23:
            break
        distance = abs(q1 * value - p1)
    assert distance > 2 * mpf(2) ** -50 * 2**23, mp.nstr(distance)


def main():
    out = []
    step = mpf(17) / 64
    cols, errors = columns(step, 9, 2)
    cols = [[double(v) for v in col] for col in cols]
    check_subnormals(cols[1][0])
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
    check_fast2sum(high, step, dd)
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
