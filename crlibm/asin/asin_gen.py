"""The polynomial of asin. Usage: python crlibm/asin/asin_gen.py [--check]"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
from fit import array, fit, hexa, log2, mp, mpf, write

TERMS = 320
DEGREE = 8


def main():
    half = mpf(1) / 2
    # (asin s - s)/s^3, s^2 = u: the coefficient of s^(2k) is (2k+2)! / (4^(k+1) (k+1)!^2 (2k+3)), below 1/6.
    taylor = [mpf(0)] * TERMS
    for i in range(0, TERMS, 2):
        k = i // 2 + 1
        taylor[i] = mp.binomial(2 * k, k) / mpf(4) ** k / (2 * k + 1)
    p, err = fit(taylor, half, 2 * DEGREE, half**TERMS)
    assert all(v == 0 for v in p[1::2])
    out = [
        f"/* asin s = s + s^3 P(s^2), |s| <= 1/2: |P - ...| <= 2^{log2(err):.2f}. */",
        array("rm_asin_p32", p[::2]),
        f"#define RM_ASIN_PI {hexa(mp.pi)} /* RN(pi) */",
    ]
    write(__file__, "asin_tables.h", "\n".join(out) + "\n")


if __name__ == "__main__":
    main()
