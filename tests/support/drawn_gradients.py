"""Derivatives of gamma and beta numbers by their parameters, by differences in many digits."""

import mpmath


def gamma_derivative(a, x):
    """-(dF/da)/f by a difference of 1e-40 around a, of 130 digits: within some 1e-75."""
    with mpmath.workdps(130):
        a, x, h = mpmath.mpf(a), mpmath.mpf(x), mpmath.mpf(10) ** -40
        f = [mpmath.gammainc(a + s * h, 0, x, regularized=True) for s in (1, -1)]
        return -(f[0] - f[1]) / (2 * h) / (x ** (a - 1) * mpmath.exp(-x) / mpmath.gamma(a))


def beta_derivative(x, a, c):
    with mpmath.workdps(130):
        x, a, b, h = mpmath.mpf(x), mpmath.mpf(a), mpmath.mpf(c) - mpmath.mpf(a), mpmath.mpf(10) ** -40
        f = [mpmath.betainc(a + s * h, b, 0, x, regularized=True) for s in (1, -1)]
        return -(f[0] - f[1]) / (2 * h) / ((1 - x) ** b * x ** (a - 1) / mpmath.beta(a, b))
