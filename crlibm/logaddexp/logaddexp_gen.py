"""Polynomial of logaddexp in binary32. Usage: python crlibm/logaddexp/logaddexp_gen.py [--check]"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
from fit import fit, log2, mpf, narrow_array, single, write

TERMS = 60


def main():
    h = (1 + mpf(2) ** -20) / 9
    p, err = fit([1 / mpf(2 * i + 3) for i in range(TERMS)], h, 4, h**TERMS, round_to=single)
    assert err * h < mpf(2) ** -26
    out = [
        f"/* log((1 + s)/(1 - s)) = 2 s (1 + s^2 P(s^2)), |s| <= (1 + 2^-20)/3: s^2 |P - ...| <= 2^{log2(err * h):.2f}. */",
        narrow_array("rm_logaddexp_b32_half_p", p),
    ]
    write(__file__, "logaddexp_tables.h", "\n".join(out))


if __name__ == "__main__":
    main()
