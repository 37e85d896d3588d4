"""Tables of tanh in binary32. Usage: python crlibm/tanh/tanh_b32_gen.py [--check]"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))

from fit import mp, mpf, narrow_array, single_literal, write
from piecewise import tables

DEGREE = 9
SHIFT = mpf(17) / 16  # a + SHIFT indexes by exponent and three bits: intervals of 1/8 in [1, 2), 1/4 in [2, 4), 1/2, 1
SLACK = mpf(2) ** -20  # the kernel adds this much less, so that a >= c_j/2 also after the rounding of the sum


def taylor(c, n=45):
    """Taylor coefficients of tanh at c, from y' = 1 - y^2."""
    y = [mp.tanh(c)]
    while len(y) <= n:
        square = sum(a * b for a, b in zip(y, reversed(y), strict=True))
        y.append((int(len(y) == 1) - square) / len(y))
    return y


def main():
    centres, hs = [mpf(0)] * 32, [mpf(0)] * 32
    for octave in range(4):
        for i in range(8):
            width = mpf(2) ** octave / 8
            # Index as the low five bits of (bits >> 20), bits those of a + SHIFT with the exponent field 127 + octave.
            j = (((127 + octave) << 3) + i) & 31
            centres[j] = mpf(2) ** octave + i * width + width / 2 - SHIFT
            hs[j] = width / 2 + 2 * SLACK  # the sum is rounded by at most 2^-21
    taylors = [taylor(c) for c in centres]
    body = tables("rm_tanh_b32", taylors, centres, hs, DEGREE)
    body += f"#define RM_TANH_B32_DEGREE {DEGREE}\n#define RM_TANH_B32_SHIFT {single_literal(SHIFT - SLACK)}\n"
    body += narrow_array("rm_tanh_b32_centre", centres)
    write(__file__, "tanh_b32_tables.h", body)


if __name__ == "__main__":
    main()
