"""Constants of ndtr and gelu. Usage: python crlibm/ndtr/ndtr_gen.py [--check]"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
from fit import double, hexa, mp, write


def main():
    out = []
    s = mp.sqrt(2) / 2
    out.append(f"#define RM_NDTR_SQRT_HALF {hexa(double(s))} /* RN(1/sqrt(2)) */")
    out.append(f"#define RM_NDTR_SQRT_HALF_LO {hexa(double(s - double(s)))} /* RN(the rest) */")
    out.append(f"#define RM_NDTR_2_SQRTPI {hexa(double(2 / mp.sqrt(mp.pi)))} /* RN(2/sqrt(pi)) */")
    write(__file__, "ndtr_tables.h", "\n".join(out) + "\n")


if __name__ == "__main__":
    main()
