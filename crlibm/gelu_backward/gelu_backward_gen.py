"""Tables of D(a) = W(a/sqrt(2))/2 - a/sqrt(2 pi), a >= 0, W(a) = exp(a^2) erfc(a). The derivative of gelu at -a is
exp(-a^2/2) D(a).

Usage: python crlibm/gelu_backward/gelu_backward_gen.py [--check]"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "erfc"))
import erfc_gen
from fit import array, double, fit, hexa, log2, mp, mpf, write

MOST = mpf(79) / 4  # the intervals reach it
DEGREE = 9
SLOPE = 1 / mp.sqrt(2 * mp.pi)


def value(a):
    return erfc_gen.erfcx(a / mp.sqrt(2)) / 2 - a * SLOPE


def taylor(c):
    """Taylor coefficients of D at c."""
    d = [v / mp.sqrt(2) ** i / 2 for i, v in enumerate(erfc_gen.taylor(c / mp.sqrt(2)))]
    return [d[0] - c * SLOPE, d[1] - SLOPE, *d[2:]]


def main():
    out = []
    root = mp.findroot(value, 0.7518)
    scale = double(15 / MOST * (1 - mpf(2) ** -40))
    rows, centres, worst = {}, {}, mpf(0)
    for j, low, width in erfc_gen.quarters(1, 16, 12):
        # b = 1 + a scale, in two roundings: the ends may move by 2^-51.
        first, last = [(b - 1) / scale for b in (low * (1 - mpf(2) ** -51), (low + width) * (1 + mpf(2) ** -51))]
        first = max(first, mpf(0))
        c = double(root if first < root < last else (first + last) / 2)
        t, h = taylor(c), max(c - first, last - c)
        rest = erfc_gen.remainder(c / mp.sqrt(2), h / mp.sqrt(2))
        if first < root < last:
            # D = t[0] + (a - c) (t[1] + ...); no f32 number a is so near that t[0] matters. D is convex: |D/(a - c)| is least
            # at an end.
            assert abs(c * 2**24 - mp.nint(c * 2**24)) > 2**-10 and abs(t[0]) < mpf(2) ** -53
            p, err = fit(t[1:], h, DEGREE - 1, rest / h)
            p = [double(t[0]), *p]
            least = min(abs(value(last) / (last - c)), abs(value(first) / (first - c)))
        else:
            p, err = fit(t, h, DEGREE, rest)
            least = min(abs(value(first)), abs(value(last)))
        rows[j], centres[j], worst = p, c, max(worst, err / least)
    out.append(f"#define RM_GELU_SLOPE_SCALE32 {hexa(scale)}")
    out.append(f"#define RM_GELU_SLOPE_MAX32 {float(MOST)}")
    out.append("/* The centre c of interval j, the bits 50 to 53 of 1 + a scale; one is the zero of D. */")
    out.append(array("rm_gelu_slope_c32", [centres[j] for j in range(16)]))
    out.append(f"/* Coefficient n at [16 n + j]: D(a) in a - c. Error relative to D 2^{log2(worst):.2f}. */")
    out.append(array("rm_gelu_slope_p32", [v for n in range(DEGREE + 1) for v in erfc_gen.flat(rows, n)]))
    above = double(root) if double(root) > root else double(root) + mpf(2) ** -53
    assert value(above) < 0 < value(above - mpf(2) ** -53)
    out.append(f"#define RM_GELU_SLOPE_ZERO {hexa(above)} /* the least number a with D(a) < 0 */")
    out.append(f"#define RM_GELU_SLOPE_K {hexa(double(SLOPE))} /* RN(1/sqrt(2 pi)) */")
    out.append(f"#define RM_GELU_SLOPE_K_LO {hexa(double(SLOPE - double(SLOPE)))} /* RN(the rest) */")
    write(__file__, "gelu_backward_tables.h", "\n".join(out) + "\n")


if __name__ == "__main__":
    main()
