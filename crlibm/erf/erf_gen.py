"""Tables of erf: one polynomial for f32, one for each interval for f64. Usage: python crlibm/erf/erf_gen.py [--check]"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
from fit import array, bound, double, fit, from_chebyshev, hexa, log2, mp, mpf, write

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


U32 = mpf(31) / 2  # f32: u = x^2 is below it


def series():
    """Taylor coefficients at u0 = U32/2 of erf(x)/x, u = x^2: 2/sqrt(pi) times the integral of e^(-u s^2), s from 0 to 1.

    Coefficient n is (-1)^n/n! times that of s^(2n) e^(-u0 s^2), an incomplete gamma function, and below 2/n!: what follows the first
    80 is below 4 u0^80/80! < 2^-150.
    """
    u0 = U32 / 2
    return [
        (-1) ** n / mp.sqrt(mp.pi) * mp.gammainc(n + mpf(1) / 2, 0, u0) / u0 ** (n + mpf(1) / 2) / mp.factorial(n)
        for n in range(80)
    ]


def weighted_fit(f, c1, degree):
    """Coefficients of q in powers of u - U32/2, such that c1 + u q is near to f = erf(x)/x relatively: Remez's exchange."""
    h = U32 / 2
    grid = [h - h * mp.cos(mp.pi * k / 1000) for k in range(1, 1001)]
    values = [mp.polyval(f[::-1], u - h) for u in grid]
    chosen = [round(1000 * (k + 0.5) / (degree + 2)) for k in range(degree + 2)]
    for _ in range(12):
        rows, right = mp.matrix(degree + 2), mp.matrix(degree + 2, 1)
        for i, at in enumerate(chosen):
            t = [mpf(1), grid[at] / h - 1]
            while len(t) <= degree:
                t.append(2 * t[1] * t[-1] - t[-2])
            for k, value in enumerate(t):
                rows[i, k] = grid[at] * value / values[at]
            rows[i, degree + 1] = (-1) ** i
            right[i] = 1 - c1 / values[at]
        solution = mp.lu_solve(rows, right)
        q = [a / h**n for n, a in enumerate(from_chebyshev(list(solution[: degree + 1])))]
        errors = [(c1 + u * mp.polyval(q[::-1], u - h)) / v - 1 for u, v in zip(grid, values)]
        chosen = []
        for k, e in enumerate(errors):  # the largest of each run of one sign
            if chosen and mp.sign(errors[chosen[-1]]) == mp.sign(e):
                chosen[-1] = max(chosen[-1], k, key=lambda j: abs(errors[j]))
            else:
                chosen.append(k)
        assert len(chosen) == degree + 2
    return q


def relative_error(f, c1, q):
    """A bound of |(c1 + u q)/f - 1| on [0, U32]: on 64 parts, where f falls, so that its least value is at the end."""
    h, parts, most = U32 / 2, 64, mpf(0)
    p = [c1 + h * q[0]] + [h * q[n] + q[n - 1] for n in range(1, len(q))] + [q[-1]]
    rest = [(p[n] if n < len(p) else 0) - f[n] for n in range(len(f))]
    for part in range(parts):
        centre, half = (2 * part + 1) * h / parts - h, h / parts
        moved = list(rest)  # Taylor's series at another centre, by Horner
        for i in range(len(moved)):
            for k in range(len(moved) - 2, i - 1, -1):
                moved[k] += centre * moved[k + 1]
        most = max(most, bound([], moved, half, mpf(2) ** -150) / mp.polyval(f[::-1], centre + half))
    return most


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
    c1, f = double(2 / mp.sqrt(mp.pi)), series()
    check_subnormals(c1)
    q = [double(a) for a in weighted_fit(f, c1, 20)]
    sizes = sum((n + 6) * abs(a) * (U32 / 2) ** n for n, a in enumerate(q))
    rounding = mpf(2) ** -53 * U32 * sizes / (mp.erf(mp.sqrt(U32)) / mp.sqrt(U32))
    out.append(f"#define RM_ERF_U32 {hexa(U32)} /* 31/2 */")
    out.append(f"#define RM_ERF_C1 {hexa(c1)} /* 2/sqrt(pi) */")
    out.append(
        "/* erf(x)/x = C1 + u q(u - 31/4), u = x^2 <= 31/2. Errors relative to erf(x)/x: of q "
        f"2^{log2(relative_error(f, c1, q)):.2f}, of roundings 2^{log2(rounding):.2f}. */"
    )
    out.append(array("rm_erf_q32", q))
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
    write(__file__, "erf_tables.h", "\n".join(out) + "\n")


if __name__ == "__main__":
    main()
