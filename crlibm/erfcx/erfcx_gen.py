"""Constants of erfcx and log_ndtr. Usage: python crlibm/erfcx/erfcx_gen.py [--check]"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
from fit import double, hexa, mp, write


def main():
    out = []
    for name, text, value in (
        ("RM_ERFCX_FAR", "1/sqrt(pi)", 1 / mp.sqrt(mp.pi)),
        ("RM_ERFCX_FAR_HALF", "1/sqrt(2 pi)", 1 / mp.sqrt(2 * mp.pi)),
    ):
        out.append(f"#define {name} {hexa(double(value))} /* RN({text}) */")
        out.append(f"#define {name}_LO {hexa(double(value - double(value)))} /* RN(the rest) */")
    write(__file__, "erfcx_tables.h", "\n".join(out) + "\n")


if __name__ == "__main__":
    main()
