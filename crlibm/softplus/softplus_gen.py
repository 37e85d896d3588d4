"""Tables of softplus. Usage: python crlibm/softplus/softplus_gen.py [--check]"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
from fit import array, double, mp, mpf, write


def main():
    c = []
    for j in range(16):
        # 1 + t for 16 t nearest to j; j = 15 for all above
        low = 1 + max(mpf(j) - 0.5, 0) / 16
        high = mpf(2) if j == 15 else 1 + (mpf(j) + 0.5) / 16
        best = mpf(1) if j == 0 else mp.nint(1024 * 2 / (low + high)) / 1024
        assert max(abs(low * best - 1), abs(high * best - 1)) <= mpf(2) ** -5
        assert j == 0 or mp.log(low) > mpf(2) ** -5.1
        c.append(best)
    out = [
        "/* c_j near 1/(1 + t), 16 t nearest to j (j = 15: up to t = 1), multiples of 2^-10; |(1 + t) c_j - 1| <= 2^-5. */",
        array("rm_softplus_c", c),
        "/* -log c_j, rounded. */",
        array("rm_softplus_l", [double(-mp.log(v)) for v in c]),
    ]
    write(__file__, "softplus_tables.h", "\n".join(out) + "\n")


if __name__ == "__main__":
    main()
