"""Further names of functions: those of NumPy and of SciPy, where they differ. Each names the same object."""

NAMES = {
    # NumPy
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "power": "pow",
    "true_divide": "divide",
    # scipy.special
    "expit": "sigmoid",
    "gammaln": "lgamma",
    "log_expit": "log_sigmoid",
    "psi": "digamma",
}
