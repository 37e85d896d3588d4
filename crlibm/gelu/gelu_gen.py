"""Constants of gelu. Usage: python crlibm/gelu/gelu_gen.py [--check]"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
from fit import double, hexa, mp, write


def main():
    out = []
    s = mp.sqrt(2) / 2
    out.append(f"#define RM_GELU_SQRT_HALF {hexa(double(s))} /* RN(1/sqrt(2)) */")
    out.append(f"#define RM_GELU_SQRT_HALF_LO {hexa(double(s - double(s)))} /* RN(the rest) */")
    out.append(f"#define RM_GELU_2_SQRTPI {hexa(double(2 / mp.sqrt(mp.pi)))} /* RN(2/sqrt(pi)) */")
    write(__file__, "gelu_tables.h", "RM_GELU_TABLES_H", "\n".join(out) + "\n")


if __name__ == "__main__":
    main()
