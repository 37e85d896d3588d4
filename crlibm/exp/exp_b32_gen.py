"""Tables of exp in binary32. Usage: python crlibm/exp/exp_b32_gen.py [--check]"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))

from fit import fit, log2, mp, mpf, narrow_array, single, single_literal, write

STEP = mp.log(2) / 32
UNIT = mpf(2) ** -29
GOOD = mpf(2) ** -38.3


def table_value(j):
    """(D, T): 2^(j/32) e^D is within GOOD of the binary32 number T, |D| as small as possible."""
    for size in range(1 << 16):
        for units in {size, -size}:
            value = mp.exp(STEP * j + UNIT * units)
            if abs(single(value) / value - 1) < GOOD:
                return UNIT * units, single(value)
    raise ValueError(j)


def main():
    rows = [table_value(j) for j in range(32)]
    ln2, ln10 = single(32 * STEP), single(mp.log(10))
    h = STEP / 2 * (1 + mpf(2) ** -10) + max(abs(d) for d, _ in rows)
    p, err = fit([1 / mp.factorial(i + 2) for i in range(30)], h, 2, h**25, round_to=single)
    out = [
        f"/* |r| <= {mp.nstr(h, 5)}; e^r = 1 + r + r^2 P(r): r^2 |P(r) - ...| <= 2^{log2(err * h * h):.2f}. */",
        narrow_array("rm_exp_b32_p", p),
        "/* T_j = 2^(j/32) e^(D_j). */",
        narrow_array("rm_exp_b32_t", [t for _, t in rows]),
        narrow_array("rm_exp_b32_d", [d for d, _ in rows]),
        f"#define RM_EXP_B32_INV_LN2 {single_literal(single(1 / mp.log(2)))}",
        f"#define RM_EXP_B32_LN2 {single_literal(ln2)}",
        f"#define RM_EXP_B32_LN2_LO {single_literal(single(32 * STEP - ln2))}",
        f"#define RM_EXP_B32_LN10 {single_literal(ln10)}",
        f"#define RM_EXP_B32_LN10_LO {single_literal(single(mp.log(10) - ln10))}",
    ]
    # 16-bit formats (exp_b32_half.h): (e^r - 1)/r and (2^r - 1)/r.
    for name, unit, h in (("exp", mpf(1), mp.log(2) / 2 * (1 + mpf(2) ** -10)), ("exp2", mp.log(2), mpf(1) / 2)):
        p, err = fit([unit ** (i + 1) / mp.factorial(i + 1) for i in range(30)], h, 4, h**25, round_to=single)
        relative = err * h * mp.exp(unit * h)
        out.append(f"/* |r| <= {mp.nstr(h, 5)}: 1 + r P(r) is within 2^{log2(relative):.2f} relatively. */")
        assert relative < mpf(2) ** -21.5, log2(relative)
        out.append(narrow_array(f"rm_{name}_b32_half_p", p))
    write(__file__, "exp_b32_tables.h", "\n".join(out) + "\n")


if __name__ == "__main__":
    main()
