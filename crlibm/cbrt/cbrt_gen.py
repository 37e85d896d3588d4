"""Tables and polynomial of cbrt. Usage: python crlibm/cbrt/cbrt_gen.py [--check]"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
from fit import array, double, fit, log2, mp, mpf, narrow_array, single, write

# The bits of x count as a logarithm L(x) = exponent + fraction, linear between powers of two. k is the integer nearest to
# 16 L/3; j = k mod 16 picks the table entry. L is cut to multiples of 2^-12 before, and the product is rounded.
SLACK = mpf(2) ** -11


def value(logarithm):
    """The number whose bits are this logarithm."""
    e = mp.floor(logarithm)
    return mp.ldexp(1 + logarithm - e, int(e))


def single_unit(x):
    """A unit in the last place of binary32."""
    return mpf(2) ** (mp.floor(mp.log(abs(x), 2)) - 23)


def main():
    c, reach = [], mpf(0)
    for j in range(16):
        lo, hi = value(mpf(3) * (2 * j - 1) / 32 - SLACK), value(mpf(3) * (2 * j + 1) / 32 + SLACK)
        c.append(mp.nint(512 * 2 / (lo + hi)) / 512)
        reach = max(reach, abs(lo * c[-1] - 1), abs(hi * c[-1] - 1))
    assert reach < mpf(2) ** -3.4
    out = [
        "/* c_j, multiples of 2^-9 near 1/m over the interval of j; the largest |m c_j - 1| is " + mp.nstr(reach, 6) + ". */",
        array("rm_cbrt_c", c),
        "/* c_j^(-1/3), rounded. */",
        array("rm_cbrt_t", [double(v ** (mpf(-1) / 3)) for v in c]),
    ]
    terms = 120
    p, err = fit([mp.binomial(mpf(1) / 3, i) for i in range(terms)], reach, 8, reach**terms)
    out.append(f"/* (1+r)^(1/3) = P(r): |P(r) - ...| <= 2^{log2(err):.2f}. */")
    out.append(array("rm_cbrt_p", p))
    # 16-bit formats (cbrt_b32_half.h): m in [1, 2) around its middle.
    middle, h = mpf(3) / 2, mpf(1) / 2
    taylor = [mp.cbrt(middle) * mp.binomial(mpf(1) / 3, i) / middle**i for i in range(terms)]
    p, err = fit(taylor, h, 6, mpf(3) ** -terms, round_to=single)
    assert err < mpf(2) ** -21.5, log2(err)
    p = [v + n * single_unit(v) for v, n in zip(p, (2, -2, -5, 0, -4, -2, -3), strict=True)]  # then all inputs are right
    err = max(abs(mp.polyval(p[::-1], mpf(i) / 1024 - h) / mp.cbrt(1 + mpf(i) / 1024) - 1) for i in range(1024))
    out.append(
        f"/* m = {mp.nstr(middle, 5)} + r in [1, 2), of 11 bits: m^(1/3) = P(r) within 2^{log2(err):.2f} relatively. */"
    )
    assert err < mpf(2) ** -21.1, log2(err)
    out.append(narrow_array("rm_cbrt_b32_half_p", p))
    out.append("/* 2^(j/3) for j modulo 32, |j| <= 1. */")
    out.append(narrow_array("rm_cbrt_b32_half_t", [single(mpf(2) ** (mpf({1: 1, 31: -1}.get(j, 0)) / 3)) for j in range(32)]))
    write(__file__, "cbrt_tables.h", "\n".join(out))


if __name__ == "__main__":
    main()
