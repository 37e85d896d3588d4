"""Tables of log in binary32. Usage: python crlibm/log/log_b32_gen.py [--check]"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))

from fit import fit, log2, mp, mpf, narrow_array, single, single_literal, write

GRID = mpf(2) ** 16  # the high parts of logarithms are multiples of 1/GRID


def rows():
    """(c_j, lower and upper end of m) by index: 16 intervals in [0.75, 1), 16 in [1, 1.5)."""
    for j in range(32):
        low, width = (mpf(3) / 4 + mpf(j) / 64, mpf(1) / 64) if j < 16 else (1 + mpf(j - 16) / 32, mpf(1) / 32)
        high = low + width
        unit = 32 if j < 16 else 64  # then r = m c - 1 is exact
        c = mpf(1) if high == 1 or low == 1 else mp.nint(unit * 2 / (low + high)) / unit
        yield c, low, high


# Logarithms for the 16-bit formats that are off by some units in the last place, away from 0: with them every f16 result rounds right
# (log_b32_half.h); the nearest numbers put three results on the wrong midpoint.
MOVED = {"log": {9: 5, 11: 4, 17: 2}}


def main():
    table = list(rows())
    h = max(max(abs(low * c - 1), abs(high * c - 1)) for c, low, high in table)
    high_part = [mp.nint(-mp.log(c) * GRID) / GRID for c, _, _ in table]
    for (c, low, high), w in zip(table, high_part, strict=True):
        r = max(abs(low * c - 1), abs(high * c - 1))
        assert w == 0 or abs(w) >= r, "Fast2Sum of w and r"
        assert r <= mpf(1) / 32
    taylor = [(-1) ** i / mpf(i + 3) for i in range(60)]
    p, err = fit(taylor, h, 3, h**55, round_to=single)
    ln2 = mp.nint(mp.log(2) * GRID) / GRID
    out = [
        f"/* |r| <= {mp.nstr(h, 5)}; log(1 + r) = r - r^2/2 + r^3 P(r): |P(r) - ...| <= 2^{log2(err):.2f}. */",
        narrow_array("rm_log_b32_p", p),
        "/* c_j, and -log c_j in two parts. */",
        narrow_array("rm_log_b32_c", [c for c, _, _ in table]),
        narrow_array("rm_log_b32_hi", high_part),
        narrow_array("rm_log_b32_lo", [single(-mp.log(c) - w) for (c, _, _), w in zip(table, high_part, strict=True)]),
        f"#define RM_LOG_B32_LN2_HI {single_literal(ln2)}",
        f"#define RM_LOG_B32_LN2_LO {single_literal(single(mp.log(2) - ln2))}",
    ]
    for base in (2, 10):
        inverse = 1 / mp.log(base)
        out.append(f"#define RM_LOG_B32_INV_LN{base} {single_literal(single(inverse))} /* RN(1/ln{base}) */")
        out.append(
            f"#define RM_LOG_B32_INV_LN{base}_LO {single_literal(single(inverse - single(inverse)))} /* and the rest */"
        )
    # 16-bit formats (log_b32_half.h), to the bases e, 2 and 10; m in [1, 1.5) first.
    table = table[16:] + table[:16]
    out.append(narrow_array("rm_log_b32_half_c", [c for c, _, _ in table]))
    taylor = [(-1) ** i / mpf(i + 1) for i in range(60)]
    for name, unit in (("log", mpf(1)), ("log2", 1 / mp.log(2)), ("log10", 1 / mp.log(10))):
        p, err = fit([unit * v for v in taylor], h, 3, h**55, round_to=single)
        out.append(
            f"/* {name}(1 + r) = r P(r): |P(r) - ...| <= 2^{log2(err / unit):.2f} times P(0); and the logarithms of 1/c_j. */"
        )
        assert err / unit < mpf(2) ** -24.2
        out.append(narrow_array(f"rm_{name}_b32_half_p", p))
        logs = [single(-mp.log(c) * unit) for c, _, _ in table]
        for j, units in MOVED.get(name, {}).items():
            logs[j] += units * mpf(2) ** (mp.floor(mp.log(abs(logs[j]), 2)) - 23) * mp.sign(logs[j])
        out.append(narrow_array(f"rm_{name}_b32_half_l", logs))
    out.append(f"#define RM_LOG_B32_HALF_LN2 {single_literal(single(mp.log(2)))}")
    out.append(f"#define RM_LOG_B32_HALF_LOG10_2 {single_literal(single(mp.log10(2)))}")
    write(__file__, "log_b32_tables.h", "\n".join(out) + "\n")


if __name__ == "__main__":
    main()
