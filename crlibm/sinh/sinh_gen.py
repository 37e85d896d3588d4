"""Polynomials of sinh and cosh. Usage: python crlibm/sinh/sinh_gen.py [--check]"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
from fit import array, fit, log2, mp, mpf, write

H = mp.log(2) / 32 * (1 + mpf(2) ** -20)  # |r| of exp's reduction
TERMS = 40


def series(first, scale=1):
    """Coefficients in r of scale (1/first! + r^2/(first+2)! + r^4/(first+4)! + ...)."""
    return [scale / mp.factorial(first + i) if i % 2 == 0 else mpf(0) for i in range(TERMS)]


def even(first, degree, scale=1):
    """A polynomial in r^2 for it: the Chebyshev expansion of an even function has no odd terms."""
    coefficients, error = fit(series(first, scale), H, degree, H**TERMS)
    assert not any(coefficients[1::2])
    return coefficients[::2], error


def main():
    out = []
    for name, first, degree, scale, text in (
        ("rm_sinh_s32", 3, 2, mpf(1) / 2, "sinh r = r (1 + 2 r^2 S(r^2))"),
        ("rm_sinh_c32", 2, 2, mpf(1) / 2, "cosh r = 1 + 2 r^2 C(r^2)"),
        ("rm_sinh_s64", 3, 4, 1, "sinh r = r + r^3 S(r^2)"),
        ("rm_sinh_c64", 4, 4, 1, "cosh r = 1 + r^2/2 + r^4 C(r^2)"),
    ):
        p, err = even(first, degree, scale)
        out.append(f"/* {text}, |r| <= ln2/32: within 2^{log2(err):.2f} of {text[text.index('(r^2)') - 1]}. */")
        out.append(array(name, p))
    write(__file__, "sinh_tables.h", "\n".join(out))


if __name__ == "__main__":
    main()
