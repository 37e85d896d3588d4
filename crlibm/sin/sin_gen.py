"""Tables and polynomials of sin, cos and tan. Usage: python crlibm/sin/sin_gen.py [--check]"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
from fit import array, double, fit, hexa, log2, log2_below, mp, mpf, narrow_array, single, single_literal, write

PI = +mp.pi
TERMS = 30


def even(coefficients):
    """Of a power series in r^2, as one in r."""
    return [v for c in coefficients for v in (c, mpf(0))]


def sin_series(skip):
    """(sin r - the first `skip` terms) / r^(2 skip + 1)."""
    return even([(-1) ** i / mp.factorial(2 * i + 1) for i in range(skip, skip + TERMS)])


def cos_series(skip):
    """(cos r - the first `skip` terms) / r^(2 skip)."""
    return even([(-1) ** i / mp.factorial(2 * i) for i in range(skip, skip + TERMS)])


def cut(x, weight):
    """x rounded to a multiple of 2^weight."""
    return mp.nint(x * mpf(2) ** -weight) * mpf(2) ** weight


def closest(precision, exponents):
    """The least distance of a number m 2^(e+1-precision), m < 2^precision, e in exponents, from a multiple (not 0) of pi/2.

    |m a - p|, a = 2^(e+1-precision) 2/pi, m below the denominator of a convergent of a, is least at an earlier convergent (best
    approximations)."""
    least = mpf(2)
    with mp.workprec(2400):
        for e in exponents:
            a = x = mpf(2) ** (e + 1 - precision) * 2 / mp.pi
            p0, q0, p1, q1 = 0, 1, 1, 0
            while True:
                n = int(mp.floor(x))
                p0, q0, p1, q1 = p1, q1, n * p1 + p0, n * q1 + q0
                if q1 >> precision:
                    break
                if p1:
                    least = min(least, abs(q1 * a - p1) * mp.pi / 2)
                x = 1 / (x - n)
    return least


def check_f16():
    """Sines and cosines of normal f16 numbers are normal but at five, where they are more than 2^-16 from a midpoint of f16,
    relatively, so that neither the error of an evaluation nor rounding through f32 matters."""
    found = []
    with mp.workprec(120):
        for e in range(-14, 16):
            for m in range(1024, 2048):
                x = m * mpf(2) ** (e - 10)
                for y in (abs(mp.sin(x)), abs(mp.cos(x))):
                    if y < mpf(2) ** -14:
                        found.append(x)
                        units = y * mpf(2) ** 24
                        assert abs(units - mp.floor(units) - mpf(1) / 2) > units * mpf(2) ** -16
    assert found == [mpf(2) ** -14, 177.5, 355, 532.5, 710], found


def chunks(group):
    """1/pi without its multiples of 2^(6 - 8 group), in three parts: 29 bits, 28 bits, the rest rounded."""
    with mp.workprec(600):
        unit = mpf(2) ** (6 - 8 * group)
        rest = 1 / mp.pi - mp.floor(1 / mp.pi / unit) * unit
        parts = []
        for bits in (29, 28):
            unit = unit / mpf(2) ** bits
            parts.append(mp.floor(rest / unit) * unit)
            rest -= parts[-1]
        return [*parts, double(rest)]


def words(name, values, comment):
    lines = [", ".join(f"0x{v:016x}" for v in values[i : i + 5]) for i in range(0, len(values), 5)]
    return f"/* {comment} */\nRM_TABLE uint64_t {name}[{len(values)}] = {{\n  " + ",\n  ".join(lines) + "};\n"


def main():
    check_f16()
    out = []
    # f32: pi in two parts, and sin on [-pi/2, pi/2].
    c1 = cut(PI, -33)
    c2 = double(PI - c1)
    out.append(f"#define RM_SIN_INV_PI {hexa(double(1 / PI))} /* RN(1/pi) */")
    out.append(f"#define RM_SIN_PI_HI {hexa(c1)} /* pi as a multiple of 2^-33 */")
    out.append(f"#define RM_SIN_PI_LO {hexa(c2)} /* and the rest: off by 2^{log2(abs(PI - c1 - c2)):.2f} */")
    out.append(f"#define RM_SIN_PI {hexa(double(PI))} /* RN(pi) */")
    assert abs(c2) < mpf(2) ** -37.4 and abs(PI - c1 - c2) < mpf(2) ** -91.8
    reach = PI / 2 * (1 + mpf(2) ** -14)
    p, err = fit(sin_series(0), reach, 12, mpf(2) ** -150)
    smallest = mp.sin(reach) / reach
    out.append(f"/* sin r = r P(r^2), |r| <= pi/2 (1 + 2^-14): within 2^{log2(err / smallest):.2f} relatively. */")
    assert err / smallest < mpf(2) ** -43.5
    out.append(array("rm_sin_p32", p[::2]))
    near, far = closest(24, range(0, 19)), closest(24, range(0, 128))
    out.append(
        f"/* f32: |x - k pi/2| >= 2^{log2_below(near):.2f} for |x| < 2^19, 2^{log2_below(far):.2f} for all, k != 0. */"
    )
    assert near > mpf(2) ** -28 and far > mpf(2) ** -29.3
    out.append(
        "/* 1/pi for 2^(18 + 8 g) <= |x| < 2^(26 + 8 g), without the bits that make multiples of 2, in parts of 29 and 28 bits"
    )
    out.append(" * and the rest. */")
    table = [chunks(g) if g < 14 else [mpf(0)] * 3 for g in range(16)]
    for i in range(3):
        out.append(array(f"rm_sin_inv_pi_{i}", [row[i] for row in table]))

    # 16-bit formats (sin_b32_half.h): pi in parts, all positive: 0 times them must not make +0 of -0.
    c1 = mp.floor(PI * 2**22) / 2**22
    c2 = mp.floor((PI - c1) * 2**46) / 2**46
    c3 = single(PI - c1 - c2)
    out.append(f"#define RM_SIN_B32_HALF_INV_PI {single_literal(single(1 / PI))}")
    out.append(f"#define RM_SIN_B32_HALF_PI_HI {single_literal(c1)}")
    out.append(f"#define RM_SIN_B32_HALF_PI_LO {single_literal(c2)}")
    out.append(
        f"#define RM_SIN_B32_HALF_PI_REST {single_literal(c3)} /* all three are off by 2^{log2(abs(PI - c1 - c2 - c3)):.2f} */"
    )
    assert min(c1, c2, c3) > 0 and single(c1) == c1 and single(c2) == c2 and abs(PI - c1 - c2 - c3) < mpf(2) ** -70
    reach = PI / 2 * (1 + mpf(2) ** -11)
    p, err = fit(sin_series(1), reach, 6, mpf(2) ** -100, round_to=single)
    relative = err * reach**2 / (mp.sin(reach) / reach)
    near, all_f16 = min(closest(11, range(0, 10)), closest(8, range(0, 10))), closest(11, range(0, 16))
    out.append(f"/* sin r = r + r^3 P(r^2), |r| <= pi/2 (1 + 2^-11): within 2^{log2(relative):.2f} relatively. */")
    out.append(
        f"/* f16 and bf16: |x - k pi/2| >= 2^{log2_below(near):.2f} for |x| < 1024; all of f16: 2^{log2_below(all_f16):.2f}. k != 0 */"
    )
    assert all_f16 > mpf(2) ** -18
    assert relative < mpf(2) ** -23 and near > mpf(2) ** -16.5
    out.append(narrow_array("rm_sin_b32_half_p", p[::2]))

    # f64: pi/16 in three parts, sin and cos of its multiples, and the series on [-pi/32, pi/32].
    step = PI / 16
    c1 = cut(step, -33)
    c2 = cut(step - c1, -64)
    c3 = double(step - c1 - c2)
    out.append(f"#define RM_SIN_INV_STEP {hexa(double(1 / step))} /* RN(16/pi) */")
    out.append(f"#define RM_SIN_STEP_1 {hexa(c1)} /* pi/16 as a multiple of 2^-33, */")
    out.append(f"#define RM_SIN_STEP_2 {hexa(c2)} /* the rest as one of 2^-64, */")
    out.append(f"#define RM_SIN_STEP_3 {hexa(c3)} /* and the rest: off by 2^{log2(abs(step - c1 - c2 - c3)):.2f} */")
    assert abs(c2) <= mpf(2) ** -36.9 and abs(c3) <= mpf(2) ** -66 and abs(step - c1 - c2 - c3) < mpf(2) ** -119
    out.append(f"#define RM_SIN_STEP {hexa(double(step))} /* RN(pi/16) */")
    out.append(f"#define RM_SIN_STEP_LO {hexa(double(step - double(step)))} /* RN(pi/16 - RM_SIN_STEP) */")
    third = double(mpf(1) / 3)
    out.append(f"#define RM_SIN_THIRD {hexa(third)} /* RN(1/3) */")
    out.append(f"#define RM_SIN_THIRD_LO {hexa(double(mpf(1) / 3 - third))} /* RN(1/3 - RM_SIN_THIRD) */")
    reach = step / 2 * (1 + mpf(2) ** -11)
    p, err = fit(sin_series(2), reach, 6, mpf(2) ** -200)
    out.append(f"/* sin r = r - r^3/6 + r^5 P(r^2), |r| <= pi/32: |P - ...| <= 2^{log2(err):.2f}. */")
    assert err < mpf(2) ** -60.5
    out.append(array("rm_sin_p64", p[::2]))
    p, err = fit(cos_series(2), reach, 6, mpf(2) ** -200)
    out.append(f"/* cos r = 1 - r^2/2 + r^4 Q(r^2), |r| <= pi/32: |Q - ...| <= 2^{log2(err):.2f}. */")
    assert err < mpf(2) ** -58.5
    out.append(array("rm_sin_q64", p[::2]))
    for name, f in (
        ("sin", lambda j: mp.sin(j * step) if j else mpf(0)),
        ("cos", lambda j: mp.cos(j * step) if j != 8 else mpf(0)),
    ):
        high = [double(f(j)) for j in range(16)]
        out.append(f"/* {name}(j pi/16), rounded, and the rest. */")
        out.append(array(f"rm_sin_t_{name}", high))
        out.append(array(f"rm_sin_t_{name}_lo", [double(f(j) - h) for j, h in enumerate(high)]))

    # Any precision.
    least = closest(53, range(0, 1024))
    out.append(f"/* f64: |x - k pi/2| >= 2^{log2_below(least):.2f} for all x, k != 0. */")
    assert least > mpf(2) ** -61
    with mp.workprec(2400):
        bits = int(mp.floor(2 / mp.pi * mpf(2) ** 2176))
        out.append(
            words(
                "rm_sin_2_pi", [bits >> (64 * i) & (2**64 - 1) for i in range(33, -1, -1)], "2/pi, 2176 bits, highest first."
            )
        )
        bits = int(mp.floor(mp.pi / 2 * mpf(2) ** 1088))
        out.append(
            words(
                "rm_sin_pi_2",
                [bits >> (64 * i) & (2**64 - 1) for i in range(18)],
                "pi/2: 17 fraction limbs and the integer limb, lowest first, rounded down.",
            )
        )
    write(__file__, "sin_tables.h", "\n".join(out) + "\n")


if __name__ == "__main__":
    main()
