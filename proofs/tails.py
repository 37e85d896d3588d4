"""The logistic function and its kin as power series over wide intervals of large arguments, where 1/(1 + e^-x) has coefficients that
cancel: they are written by e^-|x|. The same functions as in definitions.py, which prove.py evaluates on small boxes."""

from flint import arb


def exponential(x):
    """e^-|x|, and whether x > 0."""
    positive = bool(x.coeffs() and x.coeffs()[0] > 0)
    return (-x if positive else x).exp(), positive


def sigmoid(x):
    e, positive = exponential(x)
    return 1 / (1 + e) if positive else e / (1 + e)


def log1p(x):
    """Of x whose constant term is positive, with its accuracy relative to it."""
    series = (1 + x).log()
    return series - series.coeffs()[0] + x.coeffs()[0].log1p()


def softplus(x):
    e, positive = exponential(x)
    return x + log1p(e) if positive else log1p(e)


def cubic(x):
    return (8 / arb.pi()).sqrt() * (x + arb(44715) / 1000000 * x * x * x)


def cubic_slope(x):
    return (8 / arb.pi()).sqrt() * (1 + 3 * arb(44715) / 1000000 * x * x)


def swish_slope(x, t, slope):
    """The derivative of x sigmoid(t(x))."""
    return sigmoid(t) * (1 + x * slope * sigmoid(-t))


TAILS = {
    "sigmoid": sigmoid,
    "silu": lambda x: x * sigmoid(x),
    "gelu_tanh": lambda x: x * sigmoid(cubic(x)),
    "softplus": softplus,
    "log_sigmoid": lambda x: -softplus(-x),
    "tanh_backward": lambda x: 4 * sigmoid(2 * x) * sigmoid(-2 * x),
    "sigmoid_backward": lambda x: sigmoid(x) * sigmoid(-x),
    "softplus_backward": sigmoid,
    "log_sigmoid_backward": lambda x: sigmoid(-x),
    "silu_backward": lambda x: swish_slope(x, x, 1),
    "gelu_tanh_backward": lambda x: swish_slope(x, cubic(x), cubic_slope(x)),
}
