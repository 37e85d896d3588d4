"""Tables and polynomials of log. Usage: python crlibm/log/log_gen.py [--check]"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
from fit import array, double, fit, hexa, log2, mp, mpf, write

# The significand of x is brought to [LOW, 2 LOW): bits of x minus OFFSET have the exponent in their upper 12 bits and the
# table index in the next 4. OFFSET is chosen so that 1 lies inside an interval, whose c is exactly 1.
OFFSET = 0x3FE6800000000000
LOW = mpf(1) / 2 + mpf(0x68) / 512  # 0.703125


def interval(j):
    """The interval of significands with index j: [lo, hi)."""

    # bits = OFFSET + (j << 48) .. : a grid of 2^-5 below 1 and of 2^-4 above.
    def value(b):
        e = (b >> 52) - 1023
        return (1 + mpf(b & ((1 << 52) - 1)) / mpf(2) ** 52) * mpf(2) ** e

    return value(OFFSET + (j << 48)), value(OFFSET + ((j + 1) << 48))


def main():
    c, reach = [], mpf(0)
    for j in range(16):
        lo, hi = interval(j)
        best = mpf(1) if lo < 1 < hi else mp.nint(512 * 2 / (lo + hi)) / 512
        c.append(best)
        reach = max(reach, abs(lo * best - 1), abs(hi * best - 1))
    assert reach < mpf(2) ** -4.9
    h = reach
    out = [
        f"#define RM_LOG_OFFSET INT64_C({OFFSET:#x})",
        "/* c_j, multiples of 2^-9 near 1/m over the interval of j; the largest |m c_j - 1| is " + mp.nstr(reach, 6) + ". */",
        array("rm_log_c", c),
    ]
    p, err = fit([(-1) ** (i + 1) / mpf(i + 2) for i in range(60)], h, 5, h**60)
    out.append(f"/* log(1+r) = r + r^2 P(r): |P(r) - ...| <= 2^{log2(err):.2f}. */")
    out.append(array("rm_log_p32", p))
    q, err = fit([(-1) ** i / mpf(i + 3) for i in range(60)], h, 9, h**60)
    out.append(f"/* log(1+r) = r - r^2/2 + r^3 Q(r): |Q(r) - ...| <= 2^{log2(err):.2f}. */")
    out.append(array("rm_log_p64", q))
    logs = [-mp.log(v) for v in c]
    out.append("/* -log c_j, rounded. */")
    out.append(array("rm_log_l", [double(v) for v in logs]))
    grid = mpf(2) ** 42
    high = [mp.nint(v * grid) / grid for v in logs]
    out.append("/* -log c_j as a multiple of 2^-42 and the rest. */")
    out.append(array("rm_log_l_hi", high))
    out.append(array("rm_log_l_lo", [double(a - b) for a, b in zip(logs, high)]))
    ln2 = mp.log(2)
    hi = mp.nint(ln2 * grid) / grid
    out.append(f"#define RM_LOG_LN2 {hexa(double(ln2))} /* RN(ln2) */")
    out.append(f"#define RM_LOG_LN2_HI {hexa(hi)} /* ln2 as a multiple of 2^-42 */")
    out.append(f"#define RM_LOG_LN2_LO {hexa(double(ln2 - hi))} /* and the rest */")
    for base, name in ((2, "LN2"), (10, "LN10")):
        inverse = 1 / mp.log(base)
        out.append(f"#define RM_LOG_INV_{name} {hexa(double(inverse))} /* RN(1/ln{base}) */")
        out.append(f"#define RM_LOG_INV_{name}_LO {hexa(double(inverse - double(inverse)))} /* and the rest */")
    write(__file__, "log_tables.h", "\n".join(out) + "\n")


if __name__ == "__main__":
    main()
