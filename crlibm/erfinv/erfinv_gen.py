"""Tables of G(w) = erfinv(x)/x, w = -log(1 - x^2). Usage: python crlibm/erfinv/erfinv_gen.py [--check]"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
from fit import array, double, fit, hexa, log2, mp, mpf, write

mp.prec = 700  # the recurrences below amplify errors

SHIFT = 8  # intervals: the quarters of the octaves of b = SHIFT + w
NEAR, FAR = (8, 128), (112, 1024)  # two tables
DEGREE = 10


def erfcx(a):
    return mp.exp(a * a) * mp.erfc(a)


def inverse(w):
    """erfinv(x) by Newton's method on erfc(y) = v = 1 - x, for y > 1 on its logarithm."""
    a = mp.exp(-w)
    v = a / (1 + mp.sqrt(1 - a))
    y = mp.sqrt(w) if w > 3 else mpf(mp.sqrt(w) * 0.9)
    step = mpf(1)
    while abs(step) > mpf(2) ** (40 - mp.prec) * y:
        e = mp.erfc(y)
        step = (mp.log(e / v) * e if w > 3 else e - v) * mp.exp(y * y) * mp.sqrt(mp.pi) / 2
        y += step
    return y


def over(a, x):
    """The power series a/x."""
    out = []
    for n in range(len(a)):
        out.append((a[n] - sum(out[k] * x[n - k] for k in range(n))) / x[0])
    return out


def taylor(c, terms):
    """The first Taylor coefficients of G at c > 0: x^2 = 1 - e^-w, y' = (sqrt(pi)/4) E/x, E = exp(y^2 - w), E' = E (2 y y' - 1)."""
    a = [mp.exp(-c)]
    for n in range(terms):
        a.append(-a[n] / (n + 1))
    x = [mp.sqrt(1 - a[0])]
    for n in range(1, terms):
        x.append((-a[n] - sum(x[k] * x[n - k] for k in range(1, n))) / (2 * x[0]))
    y = [inverse(c)]
    e, z, d = [mp.exp(y[0] ** 2 - c)], [], []
    for n in range(terms - 1):
        z.append((e[n] - sum(z[k] * x[n - k] for k in range(n))) / x[0])
        y.append(mp.sqrt(mp.pi) / 4 * z[n] / (n + 1))
        d.append(2 * sum(y[k] * (n + 1 - k) * y[n + 1 - k] for k in range(n + 1)) - (n == 0))
        e.append(sum(e[k] * d[n - k] for k in range(n + 1)) / (n + 1))
    return over(y, x)


def disc_dd_ball(c, h):
    """A radius R > h and a bound of |G| on |w - c| <= R. The Maclaurin coefficients of erfinv(x)/x in x^2 are positive (Carlitz,
    1963), so |G| <= erfinv(r)/r where |x|^2 = |1 - e^-w| <= r^2 < 1. It is largest on the circle: from a grid and the largest
    slope."""
    r, n = h * mpf("1.3" if c < 2 else "1.5"), 2000
    grid = max(abs(1 - mp.exp(-(c + r * mp.expjpi(mpf(2 * k) / n)))) for k in range(n))
    square = grid + r * mp.exp(r - c) * mp.pi / n
    assert square < 1
    return r, mp.erfinv(mp.sqrt(square)) / mp.sqrt(square)


def disc_far(c):
    """The same for larger c. y = erfinv(x) solves y' = F(y) = sqrt(pi)/4 (2 - v) W(y)/(1 - v), v = erfc y, W = exp(y^2) v. If
    |F| <= M on |y - y_c| <= p, the solution is analytic for |w - c| < p/M and stays in that disc. There |W| <= W(y_c - p) and
    |v| <= exp(-min Re y^2) W(y_c - p); the least Re y^2 is on the circle, (y_c - p)^2 for p <= y_c/2. And |x| >=
    sqrt(1 - e^-(c - R))."""
    y = inverse(c)
    p = y * mpf(49) / 100
    w = erfcx(y - p)
    v = mp.exp(-((y - p) ** 2)) * w
    m = mp.sqrt(mp.pi) / 4 * (2 + v) * w / (1 - v)
    r = min(p / m, c - 1)
    return r, (y + p) / mp.sqrt(1 - mp.exp(-(c - r)))


def table(name, first, last):
    rows, worst, slope, low = {}, mpf(0), mpf(0), mpf(first)
    while low < last:
        width = mpf(2) ** int(mp.floor(mp.log(low, 2))) / 4
        c, h = low + width / 2 - SHIFT, width / 2
        r, most = disc_dd_ball(c, h) if c < 4 else disc_far(c)
        terms = int(mp.ceil(mp.log(mpf(2) ** 64 * most / (1 - h / r), r / h)))
        remainder = most * (h / r) ** terms / (1 - h / r)
        t = taylor(c, terms)
        for w in (c - h, c + h):  # controls of the recurrences and of the bound
            assert (
                w == 0
                or abs(sum(v * (w - c) ** n for n, v in enumerate(t)) - inverse(w) / mp.sqrt(1 - mp.exp(-w))) < remainder
            )
        p, err = fit(t, h, DEGREE, remainder)
        least = t[0] - sum(abs(v) * h**n for n, v in enumerate(t) if n)
        rows[int(low / width + 4 * (mp.floor(mp.log(low, 2)) + 1022)) % 16] = p  # low/width is 4 ... 7
        worst = max(worst, err / least)
        slope = max(slope, (c + h) * sum(n * abs(v) * h ** (n - 1) for n, v in enumerate(t)) / least)
        low += width
    flat = [rows[j][n] if j in rows else mpf(0) for n in range(DEGREE + 1) for j in range(16)]
    return (
        f"/* {first} <= b < {last}. Relative error below 2^{log2(worst):.2f}; w G'/G below {float(slope):.3f}. */\n"
        + array(name, flat)
    )


def main():
    out = [
        "/* Coefficient n at [16 n + j], j the bits 50 to 53 of b = 8 + w: G(w) = erfinv(x)/x, w = -log(1 - x^2), in b - (centre of"
        "\n * the interval). */",
        table("rm_erfinv_near", *NEAR),
        table("rm_erfinv_far", *FAR),
        f"#define RM_ERFINV_HALF_SQRTPI {hexa(double(mp.sqrt(mp.pi) / 2))} /* RN(sqrt(pi)/2) */",
        f"#define RM_ERFINV_SQRT2 {hexa(double(mp.sqrt(2)))} /* RN(sqrt(2)) */",
        f"#define RM_ERFINV_SQRT2_LO {hexa(double(mp.sqrt(2) - double(mp.sqrt(2))))} /* RN(the rest) */",
    ]
    write(__file__, "erfinv_tables.h", "\n".join(out) + "\n")


if __name__ == "__main__":
    main()
