"""The rational approximation of tan for f32. Usage: python crlibm/tan/tan_gen.py [--check]"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
from fit import array, double, log2, mp, mpf, to_chebyshev, write

REACH = mp.pi / 4 * (1 + mpf(2) ** -14)
TERMS = 60


def interpolate(p_degree, q_degree):
    """P, Q of these degrees, Q_0 = 1, with P(u) cos r = Q(u) sin r / r at the Chebyshev points of [0, REACH^2], u = r^2."""
    n = p_degree + q_degree + 1
    rows, right = mp.matrix(n), mp.matrix(n, 1)
    for i in range(n):
        u = REACH**2 * (1 + mp.cos((2 * i + 1) * mp.pi / (2 * n))) / 2
        c, s = mp.cos(mp.sqrt(u)), mp.sin(mp.sqrt(u)) / mp.sqrt(u)
        for j in range(p_degree + 1):
            rows[i, j] = c * u**j
        for j in range(1, q_degree + 1):
            rows[i, p_degree + j] = -s * u**j
        right[i] = s
    a = mp.lu_solve(rows, right)
    p, q = list(a[: p_degree + 1]), [mpf(1)] + list(a[p_degree + 1 :])
    return [double(c) for c in p], [double(c) for c in q]


def times_series(p, series):
    """Taylor coefficients in u of a polynomial times a series."""
    return [sum(p[j] * series[i - j] for j in range(len(p)) if 0 <= i - j < len(series)) for i in range(len(p) + len(series))]


def bound(p, q):
    """A bound of |r P/Q / tan r - 1|: |P cos r - Q sin r / r| by its Chebyshev coefficients (all |T_k| <= 1), as a function
    of r in [-REACH, REACH], over the least Q sin r / r."""
    cos = [(-1) ** i / mp.factorial(2 * i) for i in range(TERMS)]
    sin = [(-1) ** i / mp.factorial(2 * i + 1) for i in range(TERMS)]
    difference = [a - b for a, b in zip(times_series(p, cos), times_series(q, sin))]
    in_r = [v * REACH ** (2 * i) for i, a in enumerate(difference) for v in (a, mpf(0))]
    in_r[1::2] = [mpf(0)] * len(difference)
    worst = sum(abs(c) for c in to_chebyshev(in_r)) + mpf(2) ** -300
    assert q[1] < 0 and -q[1] > sum(i * abs(c) for i, c in enumerate(q[2:], 2))  # on [0, 1] Q falls, and so does sin r / r
    least = sum(c * REACH ** (2 * i) for i, c in enumerate(q)) * mp.sin(REACH) / REACH
    return worst / least


def check_f16():
    """Of f16, tan overflows at +-177.5 only; its results from normal x are normal but at +-355 and +-710, where they are more
    than 2^-16 from a midpoint of f16, relatively (so that neither our error nor rounding through f32 matters)."""
    overflow, subnormal = [], []
    with mp.workprec(120):
        for e in range(-14, 16):
            for m in range(1024, 2048):
                x = m * mpf(2) ** (e - 10)
                if (y := abs(mp.tan(x))) >= 65504:
                    overflow.append(x)
                elif y < mpf(2) ** -14:
                    subnormal.append(x)
    assert overflow == [177.5] and subnormal == [355, 710], (overflow, subnormal)
    for x in subnormal:
        units = abs(mp.tan(x)) * mpf(2) ** 24
        assert abs(units - mp.floor(units) - mpf(1) / 2) > units * mpf(2) ** -16


def main():
    check_f16()
    p, q = interpolate(2, 3)
    err = bound(p, q)
    assert err < mpf(2) ** -43
    out = [
        f"/* tan r = r P(r^2) / Q(r^2), |r| <= pi/4 (1 + 2^-14): within 2^{log2(err):.2f} relatively. */",
        array("rm_tan_p32", p),
        array("rm_tan_q32", q),
    ]
    write(__file__, "tan_tables.h", "\n".join(out) + "\n")


if __name__ == "__main__":
    main()
