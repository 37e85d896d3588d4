"""Constants of erf_backward. Usage: python crlibm/erf_backward/erf_backward_gen.py [--check]"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
from fit import double, hexa, mp, write


def main():
    out = []
    c = 2 / mp.sqrt(mp.pi)
    out.append(f"#define RM_ERF_SLOPE {hexa(double(c))} /* RN(2/sqrt(pi)) */")
    out.append(f"#define RM_ERF_SLOPE_LO {hexa(double(c - double(c)))} /* RN(the rest) */")
    write(__file__, "erf_backward_tables.h", "\n".join(out) + "\n")


if __name__ == "__main__":
    main()
