"""Tables and polynomials of pow. Usage: python crlibm/pow/pow_gen.py [--check]"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "log"))
import log_gen
from fit import array, double, fit, hexa, log2, mp, mpf, narrow_array, single, single_literal, write

GRID = mpf(2) ** 42  # that of rm_log_l_hi
SCALE = 239  # r1 SCALE, |r1| <= 2^-5, rounds to -7 ... 7


def first():
    """The intervals of log: (c_j, least and greatest r1 = m c_j - 1)."""
    rows = []
    for j in range(16):
        lo, hi = log_gen.interval(j)
        c = mpf(1) if lo < 1 < hi else mp.nint(512 * 2 / (lo + hi)) / 512
        rows.append((c, lo * c - 1, hi * c - 1))
    return rows


def second():
    """d_i, i = -7 ... 7 modulo 16, and the largest |(1 + r1) d_i - 1|, r1 rounded wrongly by 2^-50."""
    d, reach = [mpf(1)] * 16, mpf(0)
    for i in range(-7, 8):
        d[i % 16] = mp.nint(mpf(2) ** 16 / (1 + mpf(i) / SCALE)) / 2**16
        for edge in (i - mpf(1) / 2, i + mpf(1) / 2):
            reach = max(reach, abs((1 + edge / SCALE) * d[i % 16] - 1) + mpf(2) ** -49)
    return d, reach


def check(d, reach):
    """Fast2Sum of w = -log c_j - log d_i and r needs w = 0 or |w| >= |r|; log x is k ln2 more, |k| >= 1 and |w| < 0.36."""
    for c, low, high in first():
        assert max(-low, high) <= mpf(2) ** -5
        for i in range(-7, 8):
            if (i + mpf(1) / 2) / SCALE < low or (i - mpf(1) / 2) / SCALE > high:
                continue
            w = -mp.log(c) - mp.log(d[i % 16])
            assert abs(w) < 0.36
            assert (c == 1 and i == 0) or abs(w) > 1.9 * reach


def main():
    out = []
    h = mpf(2) ** -5
    p, err = fit([(-1) ** (i + 1) / mpf(i + 2) for i in range(60)], h, 7, h**60)
    out.append(f"/* log(1+r) = r + r^2 P(r), |r| <= 2^-5: |P(r) - ...| <= 2^{log2(err):.2f}. */")
    out.append(array("rm_pow_p32", p))
    d, reach = second()
    check(d, reach)
    out.append(f"#define RM_POW_SCALE {hexa(SCALE)} /* {SCALE} */")
    out.append(
        f"/* d_i near 1/(1 + i/SCALE), multiples of 2^-16, i = -7 ... 7 modulo 16, r1 SCALE rounded: |(1 + r1) d_i - 1| <= "
        f"2^{log2(reach):.2f}. */"
    )
    out.append(array("rm_pow_d", d))
    logs = [-mp.log(v) for v in d]
    high = [mp.nint(v * GRID) / GRID for v in logs]
    out.append("/* -log d_i as a multiple of 2^-42 and the rest. */")
    out.append(array("rm_pow_l_hi", high))
    out.append(array("rm_pow_l_lo", [double(a - b) for a, b in zip(logs, high)]))
    q, err = fit([(-1) ** (i + 1) / mpf(i + 4) for i in range(60)], reach, 5, reach**60)
    out.append(f"/* log(1+r) = r - r^2/2 + r^3/3 + r^4 Q(r): |Q(r) - ...| <= 2^{log2(err):.2f}. */")
    out.append(array("rm_pow_p64", q))
    third = double(mpf(1) / 3)
    out.append(f"#define RM_POW_THIRD {hexa(third)} /* RN(1/3) */")
    out.append(f"#define RM_POW_THIRD_LO {hexa(double(mpf(1) / 3 - third))} /* RN(1/3 - RM_POW_THIRD) */")
    # 16-bit formats (pow_b32_half.h)
    h = (1 + mpf(2) ** -20) / 25
    p, err = fit([1 / mpf(2 * i + 3) for i in range(40)], h, 3, h**40, round_to=single)
    assert err * h < mpf(2) ** -25
    out.append(
        f"/* log((1 + s)/(1 - s)) = 2 s (1 + s^2 P(s^2)), |s| <= (1 + 2^-20)/5: s^2 |P - ...| <= 2^{log2(err * h):.2f}. */"
    )
    out.append(narrow_array("rm_pow_b32_half_p", p))
    out.append(f"#define RM_POW_B32_HALF_2_LN2 {single_literal(single(2 / mp.log(2)))}")
    write(__file__, "pow_tables.h", "\n".join(out) + "\n")


if __name__ == "__main__":
    main()
