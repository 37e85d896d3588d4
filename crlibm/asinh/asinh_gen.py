"""Polynomial of asinh near 0. Usage: python crlibm/asinh/asinh_gen.py [--check]"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
from fit import array, fit, log2, mp, mpf, write

H = mpf(2) ** -10  # of z = x^2, |x| <= 2^-5


def main():
    # asinh x = x + x z P(z): (-1)^k (2k)! / (4^k k!^2 (2k+1)) are the coefficients of asinh x / x in z.
    taylor = [(-1) ** k * mp.binomial(2 * k, k) / mpf(4) ** k / (2 * k + 1) for k in range(1, 41)]
    p, err = fit(taylor, H, 2, H**40)
    out = [f"/* asinh x = x + x z P(z), z = x^2 <= 2^-10: |P(z) - ...| <= 2^{log2(err):.2f}. */", array("rm_asinh_p32", p)]
    write(__file__, "asinh_tables.h", "\n".join(out))


if __name__ == "__main__":
    main()
