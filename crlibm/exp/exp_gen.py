"""Tables and polynomials of exp. Usage: python crlibm/exp/exp_gen.py [--check]"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
import struct

from fit import array, double, fit, hexa, log2, mp, mpf, write

TABLE = 16
# |r| <= ln2/32 plus what a rounding of k the other way adds (spec of the reduction in exp_b64.h and exp_dd.h).
H = mp.log(2) / 32 * (1 + mpf(2) ** -20)


def exp_taylor(skip, n=40):
    """Taylor coefficients of (e^r - sum_{i<skip} r^i/i!) / r^skip."""
    return [1 / mp.factorial(i + skip) for i in range(n)]


def bits(x):
    return struct.unpack("<Q", struct.pack("<d", float(x)))[0]


def main():
    out = []
    tail = H**41  # far below every remainder after 40 terms
    # e^r = 1 + r p(r), for f32
    p, err = fit(exp_taylor(1), H, 4, tail)
    out.append(f"/* e^r = 1 + r P(r), |r| <= ln2/32: |P(r) - (e^r - 1)/r| <= 2^{log2(err):.2f}. */")
    out.append(array("rm_exp_p32", p))
    # 2^(d/16) = 1 + d q(d), for f32: the same in steps of the table
    step = mp.log(2) / TABLE
    half = H / step
    q, err = fit([a * step ** (i + 1) for i, a in enumerate(exp_taylor(1))], half, 4, tail * step)
    out.append(f"/* 2^(d/16) = 1 + d Q(d), |d| <= 1/2 (1 + 2^-20): |Q(d) - (2^(d/16) - 1)/d| <= 2^{log2(err):.2f}. */")
    out.append(array("rm_exp_q32", q))
    # e^r = 1 + r + r^2/2 + r^3 q(r), for f64
    q, err = fit(exp_taylor(3), H, 5, tail)
    out.append(f"/* e^r = 1 + r + r^2/2 + r^3 Q(r), |r| <= ln2/32: |Q(r) - ...| <= 2^{log2(err):.2f}. */")
    out.append(array("rm_exp_p64", q))
    # e^r = 1 + r + r^2/2 + r^3/6 + r^4/24 + r^5 q(r), for rows of f64
    q, err = fit(exp_taylor(5), H, 5, tail)
    out.append(f"/* e^r = 1 + r + r^2/2 + r^3/6 + r^4/24 + r^5 Q(r), |r| <= ln2/32: |Q(r) - ...| <= 2^{log2(err):.2f}. */")
    out.append(array("rm_exp_wide_q", q))
    hi = [double(mpf(2) ** (mpf(j) / TABLE)) for j in range(TABLE)]
    lo = [double(mpf(2) ** (mpf(j) / TABLE) - h) for j, h in enumerate(hi)]
    out.append("/* RN(2^(j/16)) with j 2^48 taken from its bits, so that adding (16 k + j) 2^48 gives 2^(k + j/16). */")
    out.append(
        "RM_TABLE int64_t rm_exp_t[16] = {\n  "
        + ",\n  ".join(
            ", ".join(f"{bits(h) - (j << 48):#x}" for j, h in list(enumerate(hi))[i : i + 4]) for i in range(0, 16, 4)
        )
        + "};\n"
    )
    out.append("/* RN(2^(j/16)). */")
    out.append(array("rm_exp_t_hi", hi))
    out.append("/* (2^(j/16) - RN(2^(j/16))) / RN(2^(j/16)), rounded. */")
    out.append(array("rm_exp_t_lo", [double(lo[j] / hi[j]) for j in range(TABLE)]))
    out.append(f"#define RM_EXP_INV_STEP {hexa(1 / step)} /* RN(16/ln2) */")
    out.append(f"#define RM_EXP_STEP {hexa(step)} /* RN(ln2/16) */")
    high = mp.floor(step * mpf(2) ** 42) / mpf(2) ** 42
    out.append(
        f"#define RM_EXP_STEP_HI {hexa(high)} /* ln2/16 cut to a multiple of 2^-42: k times it is exact, |k| < 2^15 */"
    )
    out.append(f"#define RM_EXP_STEP_LO {hexa(step - high)} /* RN(ln2/16 - RM_EXP_STEP_HI) */")
    out.append(f"#define RM_EXP_STEP_LO2 {hexa(step - high - double(step - high))} /* what RM_EXP_STEP_LO leaves, rounded */")
    out.append("\n/* exp2 and exp10: 2^x = e^(x ln2), 10^x = 2^(x log2(10)) = e^(x ln10). */")
    out.append(f"#define RM_EXP10_INV_STEP {hexa(TABLE * mp.log(10, 2))} /* RN(16 log2(10)) */")
    for base in 2, 10:
        high = double(mp.log(base))
        out.append(f"#define RM_EXP{base}_LN_HI {hexa(high)} /* RN(ln{base}) */")
        out.append(f"#define RM_EXP{base}_LN_LO {hexa(mp.log(base) - high)} /* RN(ln{base} - RM_EXP{base}_LN_HI) */")
    write(__file__, "exp_tables.h", "\n".join(out) + "\n")


if __name__ == "__main__":
    main()
