"""Tables of W(a) = exp(a^2) erfc(a), a >= 0. Usage: python crlibm/erfc/erfc_gen.py [--check]"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
from fit import array, double, fit, hexa, log2, mp, mpf, write

TERMS = 90
mp.prec = 1200  # the recurrence of the Taylor coefficients amplifies errors

SHIFT32 = mpf(5) / 8  # intervals of f32: b = 1 + a/SHIFT32 in quarters of an octave, 1 <= b < 16
DEGREE32 = 9
SHIFT64 = 2  # f64: b = SHIFT64 + a rounded to a quarter of an octave, 2 <= b < 30
DEGREE64 = 19
DD = 6  # coefficients in two parts


def erfcx(a):
    return mp.exp(a * a) * mp.erfc(a)


def taylor(c):
    """Taylor coefficients of W at c, from W' = 2 a W - 2/sqrt(pi)."""
    w = [erfcx(c), 2 * c * erfcx(c) - 2 / mp.sqrt(mp.pi)]
    for n in range(1, TERMS - 1):
        w.append((2 * c * w[n] + 2 * w[n - 1]) / (n + 1))
    return w


def remainder(c, h):
    """Of Taylor's series on [c - h, c + h].

    W(a) = 2/sqrt(pi) integral exp(-s^2 - 2 a s) ds over s > 0 is completely monotone: |W^(n)| is largest at the left end l.
    |W^(n)(l)|/n! is at most 1/Gamma(n/2 + 1) for l >= 0 (its value at 0), and 1/(sqrt(pi) l^(n+1)) (leaving out exp(-s^2)).
    For l < 0, exp(-2 l s) <= exp(2 l^2) exp(s^2/2) makes it at most exp(2 l^2) 2^((n+1)/2)/Gamma(n/2 + 1).
    """
    low, n = c - h, TERMS
    bound = mpf(h) ** n / mp.gamma(mpf(n) / 2 + 1)
    if low < 0:
        return bound * mp.exp(2 * low * low) * mpf(2) ** ((n + 1) / 2)
    if low > 0:
        bound = min(bound, (h / low) ** n / low / mp.sqrt(mp.pi))
    return bound


def quarters(first, last, index):
    """(position in the table, left end, width) of the quarters of octaves in [first, last); index: of first, modulo 16."""
    out, low = [], mpf(first)
    while low < last:
        octave = mpf(2) ** int(mp.floor(mp.log(low, 2)))
        out.append((index % 16, low, octave / 4))
        low, index = low + octave / 4, index + 1
    return out


def roundings(coefficients, h):
    """A bound, in units of 2^-53 of the value, of the roundings in P of erfc_dd.h, on [-h, h].

    A term of P carries the roundings of its product, of powers of t and of the sums that it enters: 3 for the first, 4 for the
    second, 7 for the next two, fewer than 20 for the others.
    """
    terms = [abs(c) * h**i for i, c in enumerate(coefficients)]
    passes = [3, 4, 7, 7] + [20] * len(terms)
    return sum(n * t for n, t in zip(passes, terms)) / (terms[0] - sum(terms[1:]))


def flat(rows, n):
    return [rows[j][n] for j in range(16)]


def main():
    out = []
    # f32: the polynomial in t = b - (centre of the interval); bits 50 to 53 of b = 1 have the index 12.
    rows, worst = {}, mpf(0)
    for j, low, width in quarters(1, 16, 12):
        c, h = (low + width / 2 - 1) * SHIFT32, width / 2 * SHIFT32
        p, err = fit([v * SHIFT32**i for i, v in enumerate(taylor(c))], width / 2, DEGREE32, remainder(c, h))
        rows[j] = p
        worst = max(worst, err / erfcx(c + h))
    out.append(f"#define RM_ERFCX_SCALE32 {hexa(double(1 / SHIFT32))} /* 1/{SHIFT32}: b = 1 + a times it */")
    out.append(f"#define RM_ERFCX_SCALE32_HALF {hexa(double(1 / SHIFT32 / mp.sqrt(2)))} /* for a = |x|/sqrt(2) */")
    out.append(
        "/* Coefficient n at [16 n + j], j the bits 50 to 53 of b: W(a) in b - (centre of the interval). Relative error "
        f"2^{log2(worst):.2f}. */"
    )
    out.append(array("rm_erfcx_p32", [v for n in range(DEGREE32 + 1) for v in flat(rows, n)]))
    # f64: centres c = b - 2, from 0 on; |t| is half the wider of the two quarters beside it, and t >= 0 for c = 0.
    high, low, worst, quotient = {}, {}, mpf(0), mpf(0)
    for j, b, width in quarters(2, 30, 0):
        c, h = b - SHIFT64, width / 2
        t = taylor(c)
        p, err = fit(t[DD:], h, DEGREE64 - DD, remainder(c, h) / h**DD)
        # Fast2Sum: each coefficient exceeds what follows.
        row = t[:DD] + p
        for n in range(DD):
            assert abs(row[n]) > 2 * sum(abs(row[i]) * h ** (i - n) for i in range(n + 1, len(row)))
        assert roundings(p, h) < 5
        high[j] = [double(v) for v in row]
        low[j] = [double(v - double(v)) for v in t[:DD]]
        worst = max(worst, err * h**DD / erfcx(c + h))
        quotient = max(quotient, abs(p[0]) * 2 * h**DD / erfcx(c + h))
    out.append(
        f"/* The same for f64, degree {DEGREE64}, in a - c, c + 2 the nearest quarter of an octave to a + 2: relative error\n"
        f" * 2^{log2(worst):.2f}; terms from n = {DD} on below 2^{log2(quotient):.2f} W. */"
    )
    out.append(array("rm_erfcx_p64", [v for n in range(DEGREE64 + 1) for v in flat(high, n)]))
    out.append(f"/* Low parts of the coefficients 0 to {DD - 1}. */")
    out.append(array("rm_erfcx_p64_lo", [v for n in range(DD) for v in flat(low, n)]))
    write(__file__, "erfc_tables.h", "\n".join(out) + "\n")


if __name__ == "__main__":
    main()
