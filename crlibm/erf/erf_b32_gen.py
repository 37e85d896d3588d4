"""Tables of erf in binary32. Usage: python crlibm/erf/erf_b32_gen.py [--check]"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))

from fit import mp, mpf, single_literal, write
from piecewise import tables

STEP = mpf(1) / 8  # erf x > 1 - 2^-25 from 3.92 on: the last interval, around 31/8, is the last needed
DEGREE = 7


def taylor(c, n=45):
    """Taylor coefficients of erf at c: its derivative is 2/sqrt(pi) e^(-c^2) g(t), g = e^(-2ct - t^2), g' = -(2c + 2t) g."""
    g = [mpf(1), -2 * c]
    while len(g) < n:
        g.append(-2 * (c * g[-1] + g[-2]) / len(g))
    scale = 2 / mp.sqrt(mp.pi) * mp.exp(-c * c)
    return [mp.erf(c)] + [scale * v / (i + 1) for i, v in enumerate(g)]


def main():
    centres = [STEP * j for j in range(32)]
    taylors = [taylor(c) for c in centres]
    hs = [STEP / 2 * (1 + mpf(2) ** -20)] * 32
    body = tables("rm_erf_b32", taylors, centres, hs, DEGREE)
    body += f"#define RM_ERF_B32_DEGREE {DEGREE}\n#define RM_ERF_B32_STEP {single_literal(STEP)}\n"
    write(__file__, "erf_b32_tables.h", body)


if __name__ == "__main__":
    main()
