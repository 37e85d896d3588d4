"""Long rows against mpmath with 200 digits, and gradients against differences of the definitions in multiprecision arithmetic."""

import mpmath
import numpy as np
import pytest
from real_oracle import reals, rounded_real

from repmath import nn

DIGITS = 230
LONG = 65_537


def bits(x):
    return np.ascontiguousarray(x).view({2: "u2", 4: "u4", 8: "u8"}[x.dtype.itemsize]).ravel().tolist()


def expected(values, dtype):
    return [rounded_real(v, np.dtype(dtype)) for v in values]


@pytest.fixture(scope="module")
def row():
    """A row of scores, the places that are looked at, and the sum of the exponentials."""
    x = (8 * np.random.default_rng(65_537).standard_normal(LONG)).astype("f4")
    with mpmath.workdps(DIGITS):
        return x, [0, 1, LONG // 2, LONG - 1, int(x.argmax()), int(x.argmin())], mpmath.fsum(map(mpmath.exp, reals(x)))


def test_long_rows_of_exponentials(row):
    x, places, total = row
    with mpmath.workdps(DIGITS):
        log_total, some = mpmath.log(total), reals(x[places])
        assert bits(nn.softmax(x, 0)[places]) == expected([mpmath.exp(v) / total for v in some], "f4")
        assert bits(nn.log_softmax(x, 0)[places]) == expected([v - log_total for v in some], "f4")
        assert bits(np.asarray(nn.logsumexp(x, 0))) == expected([log_total], "f4")
        target = np.array([places[2]])
        assert bits(np.asarray(nn.cross_entropy(x[None], target))) == expected([log_total - some[2]], "f4")


@pytest.mark.parametrize("n", [1, 2, 3, 31, 1024, 4097, LONG])
def test_norms_of_every_length(n):
    rng = np.random.default_rng(n)
    x, w, b = (rng.standard_normal(n).astype("f4") for _ in range(3))
    x += np.float32(1000)  # mean beyond spread
    places = sorted({0, n // 2, n - 1})
    with mpmath.workdps(DIGITS):
        values, eps = reals(x), mpmath.mpf(1e-5)
        mean = mpmath.fsum(values) / n
        root = mpmath.sqrt(mpmath.fsum((v - mean) ** 2 for v in values) / n + eps)
        square_root = mpmath.sqrt(mpmath.fsum(v * v for v in values) / n + eps)
        at = [(values[k], mpmath.mpf(float(w[k])), mpmath.mpf(float(b[k]))) for k in places]
        layer = nn.layer_norm(x, (n,), w, b, 1e-5)
        assert bits(layer[places]) == expected([(v - mean) / root * s + o for v, s, o in at], "f4")
        assert bits(nn.rms_norm(x, (n,), w, 1e-5)[places]) == expected([v / square_root * s for v, s, _ in at], "f4")


H = mpmath.mpf(2) ** -300  # differences of step h are off by h**2, far below what decides a rounding


def slope(loss, x, k):
    """The derivative of loss by element k of the list x, by a central difference."""
    ends = [loss([v + s * H if i == k else v for i, v in enumerate(x)]) for s in (1, -1)]
    return (ends[0] - ends[1]) / (2 * H)


def layer_of(w, eps):
    def values(x):
        mean = mpmath.fsum(x) / len(x)
        root = mpmath.sqrt(mpmath.fsum((v - mean) ** 2 for v in x) / len(x) + eps)
        return [(v - mean) / root * s for v, s in zip(x, w, strict=True)]

    return values


def rms_of(w, eps):
    def values(x):
        root = mpmath.sqrt(mpmath.fsum(v * v for v in x) / len(x) + eps)
        return [v / root * s for v, s in zip(x, w, strict=True)]

    return values


def log_softmax_of(x):
    total = mpmath.log(mpmath.fsum(map(mpmath.exp, x)))
    return [v - total for v in x]


def softmax_of(x):
    total = mpmath.fsum(map(mpmath.exp, x))
    return [mpmath.exp(v) / total for v in x]


def derivatives(values, g, x):
    loss = lambda at: mpmath.fsum(a * b for a, b in zip(reals(g), values(at), strict=True))  # noqa: E731
    return [slope(loss, reals(x), k) for k in range(x.size)]


@pytest.fixture(scope="module", params=["f4", "f8"])
def arrays(request):
    return np.random.default_rng(3).standard_normal((3, 7)).astype(request.param)


def test_differences_of_norms(arrays):
    g, x, w = arrays
    with mpmath.workprec(1400):
        for made, of in (
            (nn.layer_norm_backward(g, x, (7,), w, 1e-5)[0], layer_of),
            (nn.rms_norm_backward(g, x, (7,), w, eps=1e-5)[0], rms_of),
        ):
            assert bits(made) == expected(derivatives(of(reals(w), mpmath.mpf(1e-5)), g, x), x.dtype)


def test_differences_of_losses(arrays):
    x, y, _ = arrays
    one = np.ones((), x.dtype)
    with mpmath.workprec(1400):
        targets = reals(y)
        squares = lambda at: mpmath.fsum((a - b) ** 2 for a, b in zip(at, targets, strict=True)) / x.size  # noqa: E731
        made = nn.mse_loss_backward(one, x, y)
        assert bits(made) == expected([slope(squares, reals(x), k) for k in range(x.size)], x.dtype)
        entropy = lambda at: -log_softmax_of(at)[2]  # noqa: E731
        made = nn.cross_entropy_backward(one, x[None], np.array([2]))
        assert bits(made) == expected([slope(entropy, reals(x), k) for k in range(x.size)], x.dtype)


def smooth_l1(a, b):
    d = abs(a - b)
    return d * d / 2 if d < 1 else d - mpmath.mpf(1) / 2


ELEMENTS = {
    "smooth_l1_loss": smooth_l1,
    "huber_loss": smooth_l1,  # the same where the threshold is 1
    "l1_loss": lambda a, b: abs(a - b),
    "binary_cross_entropy_with_logits": lambda a, b: (1 - b) * a + mpmath.log(1 + mpmath.exp(-a)),
    "kl_div": lambda a, b: b * (mpmath.log(b) - a),
}


@pytest.mark.parametrize("name", ELEMENTS)
def test_differences_of_elements(name, arrays):
    x, y, g = 2 * arrays[0], abs(arrays[1]), abs(arrays[2][:1]).reshape(())
    made = getattr(nn, f"{name}_backward")(g, x, y, reduction="sum")
    with mpmath.workprec(1400):
        loss = lambda at: float(g) * mpmath.fsum(ELEMENTS[name](a, b) for a, b in zip(at, reals(y), strict=True))  # noqa: E731
        assert bits(made) == expected([slope(loss, reals(x), k) for k in range(x.size)], x.dtype)


def test_differences_of_statistics_over_several_axes(arrays):
    """Batch norm and group norm of (2, 2, 5) arrays, by their exact statistics."""
    rng = np.random.default_rng(8)
    g, x = rng.standard_normal((2, 2, 2, 5)).astype(arrays.dtype)
    one = layer_of([mpmath.mpf(1)] * 10, mpmath.mpf(1e-5))
    channels = nn.batch_norm_backward(g, x, None, None, None, True, 1e-5)[0]
    groups = nn.group_norm_backward(g, x, 1, None, 1e-5)[0]
    with mpmath.workprec(1400):
        for k in range(2):
            assert bits(channels[:, k]) == expected(derivatives(one, g[:, k].ravel(), x[:, k].ravel()), x.dtype)
            assert bits(groups[k]) == expected(derivatives(one, g[k].ravel(), x[k].ravel()), x.dtype)


def test_differences_of_softmax(arrays):
    """Their gradients are functions of the rounded result, so that they are the derivative but for that rounding."""
    g, x, _ = arrays
    near = 64 * float(np.finfo(x.dtype).eps)
    with mpmath.workprec(1400):
        for made, values in (
            (nn.softmax_backward(g, nn.softmax(x, 0), 0), softmax_of),
            (nn.log_softmax_backward(g, nn.log_softmax(x, 0), 0), log_softmax_of),
        ):
            wanted = derivatives(values, g, x)
            assert all(abs(a - b) <= near for a, b in zip(reals(made), wanted, strict=True))
            assert not all(abs(a - b) <= near for a, b in zip(reals(made[::-1]), wanted, strict=True))


def test_control(arrays):
    """A unit in the last place is seen."""
    g, x, w = arrays
    with mpmath.workprec(1400):
        wanted = expected(derivatives(layer_of(reals(w), mpmath.mpf(1e-5)), g, x), x.dtype)
        made = nn.layer_norm_backward(g, x, (7,), w, 1e-5)[0]
        assert all(a != b for a, b in zip(bits(np.nextafter(made, np.inf, dtype=x.dtype)), wanted, strict=True))
