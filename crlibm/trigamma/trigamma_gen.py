"""Tables of trigamma. Usage: python crlibm/trigamma/trigamma_gen.py [--check]

Bernoulli's numbers B_2k, the coefficients of the asymptotic series 1/x + 1/(2 x^2) + the sum of B_2k/x^(2k + 1): for positive arguments what is left out
is below the first term left out, by Euler's and Maclaurin's formula for the sum of (x + j)^-2, all derivatives of which have one sign."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
from fit import array, double, mp, write

mp.prec = 800

SERIES = 8  # terms in binary64
SERIES_DD = 14  # in double-double


def main():
    bernoulli = [mp.bernoulli(2 * k) for k in range(1, SERIES_DD + 2)]
    pairs = [part for v in bernoulli[:SERIES_DD] for part in (double(v), double(v - double(v)))]
    out = [
        "/* Bernoulli's numbers B_2k, and the same in two parts each, RN and RN of the rest. */",
        array("rm_trigamma_stirling", [double(v) for v in bernoulli[:SERIES]]),
        f"#define RM_TRIGAMMA_SERIES_TERMS {SERIES_DD}",
        f"#define RM_TRIGAMMA_SERIES_NEXT 0x1p{int(mp.ceil(mp.log(abs(bernoulli[SERIES_DD]), 2)))} /* more than the next number */",
        array("rm_trigamma_series", pairs),
    ]
    write(__file__, "trigamma_tables.h", "\n".join(out) + "\n")


if __name__ == "__main__":
    main()
