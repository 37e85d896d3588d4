"""Tables of crlibm/simd/piecewise.h with a bound of the error in each interval."""

from fit import fit, log2, mp, mpf, narrow_array, single


def half_ulp(magnitude):
    """The largest rounding error of a binary32 operation whose result is at most this large."""
    return mpf(2) ** (mp.floor(mp.log(magnitude, 2)) - 24) if magnitude else mpf(0)


def interval(taylor, h, degree):
    """The coefficients of f = F + t G + t^2 c_2 + t^3 V on |t| <= h, and three numbers: a bound of the error of the part e =
    G_low + ... that multiplies t, with the fit's; the largest |e|; the error of the constant term."""
    f, g, c2 = single(taylor[0]), single(taylor[1]), single(taylor[2])
    f_low, g_low = single(taylor[0] - f), single(taylor[1] - g)
    rest, fit_error = fit(taylor[3:], h, degree - 3, h**40, round_to=single)
    error = abs(taylor[1] - g - g_low) + h * abs(taylor[2] - c2) + h**2 * fit_error
    magnitude, v_error = abs(rest[-1]), mpf(0)
    for c in reversed(rest[:-1]):  # Horner
        magnitude = abs(c) + h * magnitude
        v_error = h * v_error + half_ulp(magnitude)
    error += h**2 * v_error + half_ulp(h**2) * magnitude
    magnitude = abs(g_low) + h**2 * magnitude
    error += half_ulp(magnitude)
    magnitude += half_ulp(abs(g) + h * abs(c2))  # the exact error of s = RN(G + t c_2)
    error += half_ulp(magnitude)
    return [f, f_low, g, g_low, c2, *rest], error, magnitude, abs(taylor[0] - f - f_low)


def bound(row, h, error, magnitude, constant):
    """|hi + lo - f| in an interval with F != 0, and the roundings of lo, lo +- err."""
    f, f_low, g, _, c2 = row[:5]
    total = constant + h * error
    magnitude = abs(f_low) + h * magnitude
    total += half_ulp(magnitude)
    magnitude += half_ulp(abs(f) + h * abs(g) + h**2 * abs(c2))
    return total + 2 * half_ulp(magnitude)


def bound_at_zero(row, h, error, magnitude):
    """The same over |t| where F = 0: a rounding of a number v is below 2^-24 |v|, and every part has the factor t."""
    largest = magnitude + mpf(2) ** -24 * (abs(row[2]) + h * abs(row[4]))
    return error + mpf(2) ** -24 * (magnitude + 2 * largest)


def tables(name, taylors, centres, hs, degree):
    """C tables <name>_rows and <name>_err: the error is below err[j] |x|, x = c_j + t, |t| <= h_j. Centres are >= 0, and F = 0 at
    the centre 0."""
    rows, errors = [], []
    for taylor, c, h in zip(taylors, centres, hs, strict=True):
        row, error, magnitude, constant = interval(taylor, h, degree)
        rows.append(row)
        errors.append(bound(row, h, error, magnitude, constant) / (c - h) if c else bound_at_zero(row, h, error, magnitude))
    flat = [row[n] for n in range(degree + 3) for row in rows]
    worst = max(e * (c - h) for e, c, h in zip(errors, centres, hs, strict=True) if c)
    at_zero = errors[list(centres).index(0)]
    return (
        f"/* Absolute errors below 2^{log2(worst):.2f}; around 0 below 2^{log2(at_zero):.2f} |x|. */\n"
        + narrow_array(f"{name}_rows", flat)
        + "/* The error bound of interval j over |x|. */\n"
        + narrow_array(f"{name}_err", [single(e * (1 + mpf(2) ** -20)) for e in errors])
    )
