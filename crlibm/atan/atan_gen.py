"""Tables and polynomials of atan. Usage: python crlibm/atan/atan_gen.py [--check]"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
from fit import array, double, fit, log2, mp, mpf, narrow_array, single, single_literal, write

TERMS = 160


def sector(e, h):
    """The ratios a/b whose bits differ by e + h/2 to e + (h + 1)/2 exponents: a piecewise linear logarithm to base 2.

    A difference e + D means a/b = 2^e (1 + d) with 2/(2 - D) <= 1 + d <= 1 + D.
    """
    lo, hi = (mpf(1), mpf(3) / 2) if h == 0 else (mpf(4) / 3, mpf(2))
    return lo * mpf(2) ** e, hi * mpf(2) ** e


def main():
    cosine, sine, angle, reach = [None] * 16, [None] * 16, [None] * 16, mpf(0)
    for e in range(-4, 4):
        for h in (0, 1):
            j = (2 * (1023 + e) + h) % 16
            lo, hi = sector(e, h)
            if (e, h) == (-4, 0):  # and everything below
                c, s = mpf(1), mpf(0)
                reach = max(reach, hi)
            elif (e, h) == (3, 1):  # and everything above
                c, s = mpf(0), mpf(1)
                reach = max(reach, 1 / lo)
            else:
                middle = mp.tan((mp.atan(lo) + mp.atan(hi)) / 2)
                c, s = (mpf(1), mp.nint(256 * middle) / 256) if middle <= 1 else (mp.nint(256 / middle) / 256, mpf(1))
                # Sterbenz: a c - b s is exact for rounded products within a factor of two.
                assert mpf(0.6) < lo * c / s and hi * c / s < mpf(1.6)
                reach = max(reach, (s - lo * c) / (c + lo * s), (hi * c - s) / (c + hi * s))
            cosine[j], sine[j], angle[j] = c, s, mp.pi / 2 if c == 0 else mp.atan(s / c)
    reach *= 1 + mpf(2) ** -40
    out = [
        f"/* Directions (C_j, S_j), multiples of 2^-8: |t| <= {mp.nstr(reach, 6)} in every sector. */",
        array("rm_atan_cos", cosine),
        array("rm_atan_sin", sine),
    ]
    high = [double(v) for v in angle]
    out.append("/* Their angles, in two parts. */")
    out.append(array("rm_atan_angle", high))
    out.append(array("rm_atan_angle_lo", [double(v - h) for v, h in zip(angle, high)]))

    def even(start, degree, reach=reach, round_to=double):
        """(atan t - the terms below t^start) / t^start, a polynomial in t^2."""
        taylor = [mpf(0)] * TERMS
        for i in range(0, TERMS, 2):
            n = i + start
            taylor[i] = (-1) ** ((n - 1) // 2) / mpf(n)
        p, err = fit(taylor, reach, 2 * degree, reach**TERMS, round_to)
        assert all(v == 0 for v in p[1::2])
        return p[::2], err

    p, err = even(3, 3)
    out.append(f"/* atan t = t + t^3 P(t^2), |t| <= {mp.nstr(reach, 6)}: |P - ...| <= 2^{log2(err):.2f}. */")
    out.append(array("rm_atan_p32", p))
    q, err = even(5, 5)
    out.append(f"/* atan t = t - t^3/3 + t^5 Q(t^2): |Q - ...| <= 2^{log2(err):.2f}. */")
    out.append(array("rm_atan_p64", q))
    third = double(mpf(-1) / 3)
    out.append("/* -1/3 in two parts. */")
    out.append(array("rm_atan_third", [third, double(mpf(-1) / 3 - third)]))
    pi = double(mp.pi)
    out.append("/* pi in two parts. */")
    out.append(array("rm_atan_pi", [pi, double(mp.pi - pi)]))
    # 16-bit formats (atan2_b32_half.h), |q| up to tan(pi/8): q or (1 - q)/(1 + q) of 0 <= q <= 1.
    half = (mp.sqrt(2) - 1) * (1 + mpf(2) ** -20)
    p, err = even(3, 4, half, single)
    out.append(f"/* atan q = q + q^3 P(q^2), |q| <= tan(pi/8) (1 + 2^-20): |P - ...| <= 2^{log2(err):.2f}. */")
    assert err * half**2 * half / mp.atan(half) < mpf(2) ** -24
    out.append(narrow_array("rm_atan_b32_half_p", p))
    quarter = single(mp.pi / 4)
    out.append(f"#define RM_ATAN_B32_HALF_PI_4_HI {single_literal(quarter)} /* RN24(pi/4), and the rest */")
    out.append(f"#define RM_ATAN_B32_HALF_PI_4_LO {single_literal(single(mp.pi / 4 - quarter))}")
    write(__file__, "atan_tables.h", "\n".join(out))


if __name__ == "__main__":
    main()
