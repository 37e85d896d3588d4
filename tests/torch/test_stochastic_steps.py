"""Operators of stochastic() that are composed of several roundings: each array that is rounded on the way against rational numbers and words of its own,
element i of array number r having the word of element r * 2^40 + i of the call's stream."""

import math

import gmpy2
import numpy as np
import pytest
import rounding_oracle

torch = pytest.importorskip("torch")

from repmath.torch import _stochastic_steps, reproducible, stochastic  # noqa: E402
from repmath.torch._aten import common  # noqa: E402
from repmath.torch._stepwise import HERE  # noqa: E402

FORMATS = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64"}
BITS = {"f16": np.uint16, "bf16": np.uint16, "f32": np.uint32, "f64": np.uint64}
SEED, SAMPLE = 5, 2
F, aten = torch.nn.functional, torch.ops.aten
mpq = gmpy2.mpq


def number(bits, fmt):
    """The number that bits of a format stand for."""
    if fmt == "bf16":
        return float(np.array([bits << 16], np.uint32).view(np.float32)[0])
    return float(np.array([bits], BITS[fmt]).view(BITS[fmt]().dtype.str.replace("u", "f"))[0])


def exact(values):
    """A tensor, or numbers, as an object array of rational numbers."""
    array = np.asarray(values.detach().double().numpy() if isinstance(values, torch.Tensor) else values, np.float64)
    made = np.empty(array.shape, object)
    for i in np.ndindex(*array.shape):
        made[i] = mpq(float(array[i]))
    return made


class Own:
    """Rounds arrays of exact values, one after the other."""

    def __init__(self, mode, fmt, call=0):
        self.mode, self.fmt, self.stream, self.arrays = mode, fmt, (SAMPLE << 32) + call, 0

    def to(self, fmt, values):
        values = np.asarray(values, object)
        flat = values.reshape(-1).tolist()
        words = rounding_oracle.words(SEED, self.stream, self.arrays << 40, len(flat)).tolist()
        self.arrays += 1
        made = np.empty(len(flat), object)
        for i, (v, w) in enumerate(zip(flat, words, strict=True)):
            made[i] = mpq(number(rounding_oracle.rounded(v, fmt, self.mode, w), fmt)) if v else mpq(0)
        return made.reshape(values.shape)

    def own(self, values):
        return self.to(self.fmt, values)

    def wide(self, values):
        return self.to("f64", values)

    def f(self, fmt, name, *arrays):
        """A function of definitions.py or MPFR."""
        columns = np.broadcast_arrays(*(np.asarray(a, object) for a in arrays))
        values = np.empty(columns[0].shape, object)
        for i in np.ndindex(*values.shape):
            values[i] = rounding_oracle.exact_value(name, [float(c[i]) for c in columns]) or mpq(0)
        return self.to(fmt, values)

    def w(self, name, *arrays):
        return self.f("f64", name, *arrays)

    def o(self, name, *arrays):
        return self.f(self.fmt, name, *arrays)


def root(values):
    """To 1,400 bits; squares exactly."""
    made = np.empty(np.shape(values), object)
    with gmpy2.context(precision=1400):
        for i in np.ndindex(*made.shape):
            v = mpq(np.asarray(values, object)[i])
            n, d = gmpy2.isqrt(v.numerator), gmpy2.isqrt(v.denominator)
            made[i] = mpq(n, d) if n * n == v.numerator and d * d == v.denominator else mpq(gmpy2.sqrt(gmpy2.mpfr(v)))
    return made


def numbers(*shape, dtype=torch.float32, seed=0, low=-3.0, high=3.0):
    generator = torch.Generator().manual_seed(seed + 7 * sum(shape))
    return (torch.rand(shape, generator=generator, dtype=torch.float64) * (high - low) + low).to(dtype)


def choose(mask, a, b):
    return np.where(np.asarray(mask, bool), a, b)


# Each case: the call, of a format, and the same by steps of `Own`.


def mish(dtype):
    x = numbers(9, dtype=dtype)
    return lambda: F.mish(x), lambda o: o.own(exact(x) * o.o("tanh", o.o("softplus", exact(x))))


def mish_backward(dtype):
    x, g = numbers(9, dtype=dtype), numbers(9, dtype=dtype, seed=1)

    def steps(o):
        t = o.w("tanh", o.w("softplus", exact(x)))
        s = o.w("sigmoid", exact(x))
        inner = o.wide(o.wide(exact(x) * s) * (1 - t * t))
        return o.narrow(o.wide(exact(g) * o.wide(t + inner)))

    return lambda: aten.mish_backward(g, x), steps


def narrow(o, values):
    """The conversion of binary64 numbers; to binary64 there is none."""
    return values if o.fmt == "f64" else o.own(values)


Own.narrow = narrow


def elu(dtype):
    x, a, s = numbers(9, dtype=dtype), 0.7, 1.3

    def steps(o):
        above = o.own(exact(x) * mpq(s))
        return choose(
            x.numpy(force=True) > 0 if dtype is not torch.bfloat16 else (x > 0).numpy(),
            above,
            o.own(o.own(o.o("expm1", exact(x)) * mpq(a)) * mpq(s)),
        )

    return lambda: aten.elu(x, a, s, 1.0), steps


def elu_backward(dtype):
    x, g, a, s, i = numbers(9, dtype=dtype), numbers(9, dtype=dtype, seed=1), 0.7, 1.3, 0.9

    def steps(o):
        slope = o.own(o.own(o.o("exp", o.own(exact(x) * mpq(i))) * mpq(a)) * mpq(s))
        below = o.own(o.own(exact(g) * mpq(i)) * slope)
        return choose((x > 0).numpy(), o.own(exact(g) * mpq(s)), below)

    return lambda: aten.elu_backward(g, a, s, i, False, x), steps


def celu(dtype):
    x = numbers(9, dtype=dtype)

    def steps(o):
        below = o.wide(o.w("expm1", o.wide(exact(x) / mpq(1.7))) * mpq(1.7))
        return choose((x > 0).numpy(), exact(x), o.narrow(below))

    return lambda: aten.celu(x, 1.7), steps


def softplus(dtype):
    x = numbers(9, dtype=dtype)
    return lambda: F.softplus(x, 1.7), lambda o: o.narrow(o.wide(o.w("softplus", o.wide(exact(x) * mpq(1.7))) / mpq(1.7)))


def logit(dtype):
    x = numbers(9, dtype=dtype, low=0.05, high=0.95)
    return lambda: torch.logit(x), lambda o: o.narrow(o.w("log", o.wide(exact(x) / o.wide(1 - exact(x)))))


def logit_backward(dtype):
    x, g = numbers(9, dtype=dtype, low=0.05, high=0.95), numbers(9, dtype=dtype)

    def steps(o):
        return o.narrow(o.wide(exact(g) / o.wide(exact(x) * o.wide(1 - exact(x)))))

    return lambda: aten.logit_backward(g, x), steps


def glu_backward(dtype):
    x, g = numbers(3, 8, dtype=dtype), numbers(3, 4, dtype=dtype, seed=1)

    def steps(o):
        a, b = exact(x)[:, :4], exact(x)[:, 4:]
        first = o.o("softplus_backward", exact(g), b)
        return np.concatenate((first, o.o("sigmoid_backward", o.wide(exact(g) * a), b)), 1)

    return lambda: aten.glu_backward(g, x, 1), steps


def hardswish(dtype):
    """In binary64, below its line is one rounding."""
    x = numbers(9, dtype=torch.float64, low=-2.9, high=2.9)
    return lambda: F.hardswish(x), lambda o: o.wide(exact(x) * o.wide(mpq(1, 2) + exact(x) / 6))


def sinc(dtype):
    x = numbers(9, dtype=dtype, low=0.6, high=1.4)
    pi = mpq(3.141592653589793)

    def steps(o):
        sine = o.w("sin", o.wide(o.wide(exact(x) - 1) * pi))
        return o.narrow(o.wide(-sine / o.wide(exact(x) * pi)))

    return lambda: torch.sinc(x), steps


def ldexp(dtype):
    x, n = numbers(9, dtype=dtype), torch.arange(9) - 4
    return lambda: torch.ldexp(x, n), lambda o: o.narrow(o.wide(exact(x) * o.w("exp2", exact(n))))


def logaddexp2(dtype):
    x, y = numbers(9, dtype=dtype), numbers(9, dtype=dtype, seed=1)

    def steps(o):
        a, b = exact(torch.maximum(x, y)), exact(torch.minimum(x, y))
        more = o.wide(o.w("log1p", o.w("exp2", o.wide(b - a))) * mpq(1.4426950408889634))
        return o.narrow(o.wide(a + more))

    return lambda: torch.logaddexp2(x, y), steps


def mvlgamma(dtype):
    x = numbers(5, dtype=dtype, low=3.0, high=9.0)

    def steps(o):
        terms = o.w("lgamma", o.wide(exact(x)[:, None] - exact([0.0, 0.5, 1.0])))
        return o.narrow(o.wide(o.wide(terms.sum(1)) + mpq(1.5 * math.log(math.pi))))

    return lambda: torch.mvlgamma(x, 3), steps


def logcumsumexp(dtype):
    x = numbers(3, 4, dtype=dtype)

    def steps(o):
        made = [exact(x)[:, 0]]
        for k in range(1, 4):
            made.append(o.w("logaddexp", made[-1], exact(x)[:, k]))
        return o.narrow(np.stack(made, 1))

    return lambda: torch.logcumsumexp(x, 1), steps


def norm_of_order_3(dtype):
    x = numbers(3, 5, dtype=dtype)

    def steps(o):
        sums = o.wide(o.w("pow", abs(exact(x)), mpq(3)).sum(1))
        return o.narrow(o.w("pow", sums, mpq(1.0 / 3)))

    return lambda: torch.linalg.vector_norm(x, 3.0, 1), steps


def norm_of_order_1(dtype):
    x = numbers(3, 5, dtype=dtype)
    return lambda: torch.linalg.vector_norm(x, 1.0, 1), lambda o: o.own(abs(exact(x)).sum(1))


def dist(dtype):
    x, y = numbers(7, dtype=dtype), numbers(7, dtype=dtype, seed=1)
    return lambda: torch.dist(x, y), lambda o: o.own(root((o.own(exact(x) - exact(y)) ** 2).sum()))


def cdist(dtype):
    x, y = numbers(3, 4, dtype=dtype), numbers(2, 4, dtype=dtype, seed=1)

    def steps(o):
        return o.own(root((o.wide(exact(x)[:, None] - exact(y)[None]) ** 2).sum(-1)))

    return lambda: aten._cdist_forward(x, y, 2.0, None), steps


def cdist_backward(dtype):
    x, y, g = numbers(3, 4, dtype=dtype), numbers(2, 4, dtype=dtype, seed=1), numbers(3, 2, dtype=dtype, seed=2)
    distance = torch.cdist(x, y) if dtype in (torch.float32, torch.float64) else numbers(3, 2, dtype=dtype, low=1.0)

    def steps(o):
        d = o.wide(exact(x)[:, None] - exact(y)[None])
        h = exact(g)[..., None]
        o.wide(h * np.sign(d))  # which the order 1 has
        return o.own(o.wide(o.wide(h * d) / exact(distance)[..., None]).sum(-2))

    return lambda: aten._cdist_backward(g, x, y, 2.0, distance), steps


def pdist_backward(dtype):
    x, g, distance = numbers(3, 4, dtype=dtype), numbers(3, dtype=dtype, seed=2), numbers(3, dtype=dtype, low=1.0)

    def steps(o):
        first, second = [0, 0, 1], [1, 2, 2]
        d = o.wide(exact(x)[first] - exact(x)[second])
        h = exact(g)[:, None]
        o.wide(h * np.sign(d))
        slopes, sums = o.wide(o.wide(h * d) / exact(distance)[:, None]), exact(np.zeros((3, 4)))
        for k in range(3):
            sums[first[k]] += slopes[k]
            sums[second[k]] -= slopes[k]
        return o.narrow(o.wide(sums))

    return lambda: aten._pdist_backward(g, x, 2.0, distance), steps


def renorm(dtype):
    x = numbers(3, 5, dtype=dtype)

    def steps(o):
        norms = o.wide(root((exact(x) ** 2).sum(1, keepdims=True)))
        held = o.wide(mpq(0.5) / o.wide(norms + mpq(1e-7)))
        return o.narrow(o.wide(exact(x) * held))

    return lambda: torch.renorm(x, 2, 0, 0.5), steps


def weight_norm(dtype):
    v, g = numbers(3, 5, dtype=dtype), numbers(3, 1, dtype=dtype, seed=1)

    def steps(o):
        norms = o.wide(root((exact(v) ** 2).sum(1, keepdims=True)))
        return o.narrow(o.wide(o.wide(exact(v) * exact(g)) / norms))

    return lambda: aten._weight_norm_interface(v, g, 0)[0], steps


def weight_norm_backward(dtype):
    v, g, r = numbers(3, 5, dtype=dtype), numbers(3, 1, dtype=dtype, seed=1), numbers(3, 5, dtype=dtype, seed=2)

    def steps(o):
        norm = o.wide(root((exact(v) ** 2).sum(1, keepdims=True)))
        by_g = o.wide(o.wide((exact(r) * exact(v)).sum(1, keepdims=True)) / norm)
        rest = o.wide(exact(r) - o.wide(exact(v) * o.wide(by_g / norm)))
        return o.narrow(o.wide(o.wide(rest * exact(g)) / norm))

    return lambda: aten._weight_norm_interface_backward(r, v, g, g, 0)[0], steps


def binary_cross_entropy(dtype):
    x, y, w = (
        numbers(7, dtype=dtype, low=0.1, high=0.9),
        numbers(7, dtype=dtype, low=0.1, high=0.9, seed=1),
        numbers(7, dtype=dtype, low=0.1),
    )

    def steps(o):
        low = o.o("log", exact(x))
        high = o.o("log1p", -exact(x))
        each = -o.own((1 - exact(y)) * high + exact(y) * low)
        return o.own(o.own(each * exact(w)).sum() / 7)

    return lambda: F.binary_cross_entropy(x, y, w), steps


def binary_cross_entropy_backward(dtype):
    x, y, g = (
        numbers(7, dtype=dtype, low=0.1, high=0.9),
        numbers(7, dtype=dtype, low=0.1, high=0.9, seed=1),
        numbers(1, dtype=dtype)[0],
    )

    def steps(o):
        below = o.own(exact(x) * o.own(1 - exact(x)))
        above = o.own(exact(g) * o.own(exact(x) - exact(y)))
        return o.own(o.own(above / below) / 7)

    return lambda: aten.binary_cross_entropy_backward(g, x, y, None, 1), steps


def soft_margin(dtype):
    x, y = numbers(7, dtype=dtype), numbers(7, dtype=dtype, seed=1).sign()
    return lambda: F.soft_margin_loss(x, y), lambda o: o.own(o.w("softplus", -o.wide(exact(x) * exact(y))).sum() / 7)


def multi_margin(dtype):
    dtype = dtype if dtype in (torch.float32, torch.float64) else torch.float32
    x, t = numbers(4, 3, dtype=dtype), torch.tensor([0, 2, 1, 1])

    def steps(o):
        rows, at = exact(x), np.arange(4)
        room = o.wide(o.wide(1 - rows[at, t.numpy()])[:, None] + rows)
        room[at, t.numpy()] = 0
        room = o.wide(choose(room > 0, room, mpq(0)) ** 2)
        return o.own(room.sum() / 12)

    return lambda: F.multi_margin_loss(x, t, p=2), steps


def trilinear(dtype):
    """Below binary64 the products of two numbers are exact there."""
    a, b, w = numbers(2, 3, dtype=dtype), numbers(2, 4, dtype=dtype, seed=1), numbers(5, 3, 4, dtype=dtype, seed=2)

    def steps(o):
        pair = o.wide(exact(a)[:, None, :, None] * exact(w)[None])
        return o.own((pair * exact(b)[:, None, None, :]).sum((2, 3)))

    return lambda: aten._trilinear(a, w, b, [1, 3], [0], [1, 2], [2, 3]), steps


def smooth_l1_backward(dtype):
    x, y, g = numbers(9, dtype=dtype), numbers(9, dtype=dtype, seed=1), numbers(1, dtype=dtype, seed=3)[0]

    def steps(o):
        d = exact(x) - exact(y)
        slope = choose(abs(d) < mpq(0.7), d / mpq(0.7), np.sign(d))
        return o.own(exact(g) * slope / 9)

    return lambda: aten.smooth_l1_loss_backward(g, x, y, 1, 0.7), steps


def huber_backward_of_second_derivatives(dtype):
    x, y, g = numbers(9, dtype=dtype), numbers(9, dtype=dtype, seed=1), numbers(9, dtype=dtype, seed=3)

    def steps(o):
        d = exact(x) - exact(y)
        wide = o.wide(exact(g) * choose(abs(d) <= mpq(0.7), d, np.sign(d) * mpq(0.7)))
        return o.narrow(o.wide(wide / 9))

    return lambda: aten.huber_loss_backward(g, x, y, 1, 0.7), steps


def linspace(dtype):
    start, end = numbers(2, dtype=dtype)
    return lambda: torch.linspace(start, end, 7, dtype=dtype), lambda o: o.own(
        np.array([exact(start)[()] + k * (exact(end)[()] - exact(start)[()]) / 6 for k in range(7)], object)
    )


def logspace(dtype):
    start, end = numbers(2, dtype=dtype)

    def steps(o):
        a, b = exact(start)[()], exact(end)[()]
        return o.narrow(o.w("pow", exact(2.5), o.wide(np.array([a + k * (b - a) / 6 for k in range(7)], object))))

    return lambda: torch.logspace(start, end, 7, 2.5, dtype=dtype), steps


def histogram(dtype):
    dtype = dtype if dtype is torch.float64 else torch.float32
    x, w = numbers(9, dtype=dtype, low=0.1, high=2.0), numbers(9, dtype=dtype, low=0.1)
    edges = torch.tensor([0.0, 0.7, 1.1, 2.5], dtype=dtype)

    def steps(o):
        sums = exact(np.zeros(3))
        for v, u in zip(exact(x), exact(w), strict=True):
            sums[sum(v >= e for e in exact(edges)) - 1] += u
        sums = o.own(sums)
        widths = o.own(exact(edges)[1:] - exact(edges)[:-1])
        total = o.own(sums.sum())
        return o.own(o.own(sums / total) / widths)

    return lambda: torch.histogram(x, edges, weight=w, density=True)[0], steps


def angle(dtype):
    x = numbers(9, dtype=dtype)
    with gmpy2.context(precision=1400):
        pi = mpq(gmpy2.const_pi())
    return lambda: torch.angle(x), lambda o: choose((x < 0).numpy(), o.own(np.full(9, pi, object)), mpq(0))


def scatter_reduce_prod(dtype):
    x, s, index = numbers(4, dtype=dtype), numbers(4, dtype=dtype, seed=1), torch.tensor([0, 1, 2, 3])

    def steps(o):
        return o.own(exact(x) * exact(s))

    return lambda: torch.scatter_reduce(x, 0, index, s, "prod"), steps


def ctc(dtype):
    """One sample, whose text is a b: none stands for the logarithm of 0, which adds nothing."""
    dtype = dtype if dtype is torch.float64 else torch.float32
    scores = torch.log_softmax(numbers(4, 1, 3), -1).to(dtype)

    def steps(o):
        classes, skips = [0, 1, 0, 2, 0], [False, False, False, True, False]

        def either(a, b):
            both = [x is not None and y is not None for x, y in zip(a, b, strict=True)]
            pairs = [(x, y) if t else (mpq(0), mpq(0)) for x, y, t in zip(a, b, both, strict=True)]
            made = o.w("logaddexp", np.array([p for p, _ in pairs], object), np.array([q for _, q in pairs], object))
            return [m if t else (x if y is None else y) for m, t, x, y in zip(made, both, a, b, strict=True)]

        rows = exact(scores)[:, 0]
        now = [rows[0][0], rows[0][1], None, None, None]
        for row in rows[1:]:
            last = now
            now = either(now, [None, *now[:-1]])
            now = either(now, [v if t else None for v, t in zip([None, None, *last[:-2]], skips, strict=True)])
            added = o.wide(np.array([mpq(0) if v is None else v + row[c] for v, c in zip(now, classes, strict=True)], object))
            now = [None if v is None else w for v, w in zip(now, added, strict=True)]
        return o.narrow(-np.array(either(now[4:], now[3:4]), object))

    return lambda: aten._ctc_loss(scores, torch.tensor([[1, 2]]), [4], [2])[0], steps


def scatter_reduce_mean(dtype):
    x, s = numbers(4, dtype=dtype), numbers(6, dtype=dtype, seed=1)
    index = torch.tensor([0, 1, 1, 3, 0, 0])

    def steps(o):
        sums = exact(x).copy()
        for k, i in enumerate(index.tolist()):
            sums[i] += exact(s)[k]
        return o.narrow(o.wide(o.own(sums) / exact([4, 3, 1, 2])))

    return lambda: torch.scatter_reduce(x, 0, index, s, "mean"), steps


def embedding_bag_backward(dtype):
    g, table = numbers(2, 3, dtype=dtype), numbers(4, 3, dtype=dtype, seed=1).requires_grad_()
    index, offsets = torch.tensor([0, 1, 1, 3, 2]), torch.tensor([0, 3])

    def call():
        made = F.embedding_bag(index, table, offsets, mode="mean")
        return torch.autograd.grad(made, table, g)[0]

    def steps(o):
        o.stream += 1  # after the forward call
        lines = o.wide(exact(g)[[0, 0, 0, 1, 1]] / exact([3, 3, 3, 2, 2])[:, None])
        made = exact(np.zeros((4, 3)))
        single = o.own(np.stack((lines[0], lines[4], lines[3])))  # rows with one place come together
        made[0], made[2], made[3] = single
        made[1] = o.own((lines[1] + lines[2])[None])[0]
        return made

    return call, steps


def grid_sample(dtype):
    """Weights of 1/4 and the like, which are exact."""
    x, grid = numbers(1, 2, 3, 3, dtype=dtype), torch.tensor([[[[-0.5, 0.25], [0.5, -0.75]]]], dtype=dtype)

    def steps(o):
        made = []
        for u, v in grid[0, 0].double().tolist():
            a, b = mpq(u) + 1, mpq(v) + 1  # columns and rows of three, of corners
            i, j = int(a), int(b)
            s, t = a - i, b - j
            p = exact(x)[0]
            made.append(
                (1 - t) * ((1 - s) * p[:, j, i] + s * p[:, j, i + 1])
                + t * ((1 - s) * p[:, j + 1, i] + s * p[:, j + 1, i + 1])
            )
        return np.moveaxis(o.own(np.stack(made)[None]), 2, 1)[:, :, None]

    return lambda: F.grid_sample(x, grid, align_corners=True), steps


def affine_grid(dtype):
    theta = numbers(1, 2, 3, dtype=dtype)

    def steps(o):
        places = [(mpq(x), mpq(y), mpq(1)) for y in (-1.0, 0.0, 1.0) for x in (-1.0, 1.0)]
        rows = np.array(
            [[sum(p * q for p, q in zip(row, place, strict=True)) for row in exact(theta)[0]] for place in places], object
        )
        return o.own(rows).reshape(1, 3, 2, 2)

    return lambda: F.affine_grid(theta, [1, 1, 3, 2], align_corners=True), steps


def fused_adagrad(dtype):
    p, g, s = (numbers(5, dtype=dtype, seed=k) for k in range(3))
    s = s.abs()
    steps_done = torch.tensor(3.0)

    def call():
        q, t = p.clone(), s.clone()
        torch._fused_adagrad_([q], [g], [t], [steps_done], lr=0.1, lr_decay=0.25, weight_decay=0.5, eps=0.125, maximize=False)
        return q

    def steps(o):
        h = o.own(exact(g) + mpq(0.5) * exact(p))
        total = o.own(exact(s) + h * h)
        below = o.own(o.own(root(total)) + mpq(0.125))
        return o.own(exact(p) - mpq(0.1 / 1.5) * h / below)

    return call, steps


def unscaled(dtype):
    g = [numbers(4, dtype=dtype, seed=k) for k in range(2)]

    def call():
        held = [t.clone() for t in g]
        torch._amp_foreach_non_finite_check_and_unscale_(held, torch.zeros(1), torch.tensor([0.3]))
        return torch.stack(held)

    def steps(o):
        factor = mpq(float(torch.tensor(0.3)))
        return np.stack([o.own(exact(t) * factor) for t in g])

    return call, steps


def places(length, periodic):
    """min(i, d - i) and d."""
    d = length if periodic else length - 1
    return np.array([mpq(min(i, d - i)) for i in range(length)], object), mpq(d)


def hann_window(dtype):
    j, d = places(11, True)

    def steps(o):
        s = o.w("sinpi", o.wide(j / d))
        return o.narrow(o.wide(s * s))

    return lambda: torch.hann_window(11, dtype=dtype), steps


def hamming_window(dtype):
    j, d = places(10, False)

    def steps(o):
        turned = o.wide(o.w("cospi", o.wide(2 * j / d)) * mpq(0.4))
        return o.narrow(o.wide(mpq(0.55) - turned))

    return lambda: torch.hamming_window(10, False, alpha=0.55, beta=0.4, dtype=dtype), steps


def blackman_window(dtype):
    j, d = places(9, False)

    def steps(o):
        once, twice = (o.w("cospi", o.wide(k * j / d)) for k in (2, 4))
        less = o.wide(mpq(0.42) - o.wide(once * mpq(0.5)))
        return o.narrow(o.wide(less + o.wide(twice * mpq(0.08))))

    return lambda: torch.blackman_window(9, False, dtype=dtype), steps


def bartlett_window(dtype):
    j, d = places(11, True)
    return lambda: torch.bartlett_window(11, dtype=dtype), lambda o: o.narrow(o.wide(2 * j / d))


def kaiser_window(dtype):
    """A quotient of Bessel functions, rounded once: their series, of which the terms from the 150th on are below 2^-1000."""
    (j, d), beta = places(11, False), mpq(7.25)

    def i0(square):
        total = term = mpq(1)
        for k in range(1, 150):
            term *= square / (4 * k * k)
            total += term
        return total

    values = np.array([i0(beta * beta * 4 * i * (d - i) / (d * d)) / i0(beta * beta) for i in j], object)
    return lambda: torch.kaiser_window(11, False, beta=7.25, dtype=dtype), lambda o: o.own(values)


CASES = [
    kaiser_window,
    hann_window, hamming_window, blackman_window, bartlett_window,
    mish, mish_backward, elu, elu_backward, celu, softplus, logit, logit_backward, glu_backward, hardswish, sinc, ldexp, logaddexp2, mvlgamma,
    logcumsumexp, norm_of_order_3, norm_of_order_1, dist, cdist, cdist_backward, pdist_backward, renorm, weight_norm, weight_norm_backward,
    binary_cross_entropy, binary_cross_entropy_backward, soft_margin, multi_margin, scatter_reduce_mean, embedding_bag_backward, grid_sample,
    affine_grid, fused_adagrad, unscaled, trilinear, smooth_l1_backward, huber_backward_of_second_derivatives, linspace, logspace, histogram, angle,
    scatter_reduce_prod, ctc,
]  # fmt: skip


def compare(case, dtype, mode):
    call, steps = case(dtype)
    with stochastic(SEED, SAMPLE, mode) as block:
        made = call()
    assert not block.uncovered
    fmt = FORMATS[made.dtype]
    want = np.broadcast_to(steps(Own(mode, fmt)), made.shape)
    got = exact(made)
    wrong = [i for i in np.ndindex(*got.shape) if got[i] != want[i]]
    assert not wrong, (case.__name__, dtype, wrong[:3], [(float(got[i]), float(want[i])) for i in wrong[:3]])


@pytest.mark.parametrize("mode", rounding_oracle.OF_VALUES)
@pytest.mark.parametrize("dtype", list(FORMATS), ids=FORMATS.values())
@pytest.mark.parametrize("case", CASES)
def test_steps(case, dtype, mode):
    compare(case, dtype, mode)


def test_windows_have_numbers_of_arrays():
    """In every mode, also where a window has no numbers of its own to round: of one element, or of none; a Kaiser window, too."""
    made = {}
    for mode in (*rounding_oracle.MODES, *rounding_oracle.DIRECTED):
        with stochastic(SEED, SAMPLE, mode) as block:
            made[mode] = [getattr(torch, f"{name}_window")(24) for name in ("hann", "hamming", "blackman", "bartlett")]
            assert block.calls == 4
            assert mode == "up_down" or torch.hann_window(1).tolist() == [1.0]  # up_down moves numbers of the format too
            assert torch.hann_window(0).tolist() == []
            assert mode == "up_down" or torch.kaiser_window(1).tolist() == [1.0]
            made[mode].insert(0, torch.kaiser_window(24))
    with reproducible():
        plain = [getattr(torch, f"{name}_window")(24) for name in ("kaiser", "hann", "hamming", "blackman", "bartlett")]
    for found in made.values():
        assert not any(torch.equal(a, b) for a, b in zip(found[:4], plain[:4], strict=True))


@pytest.mark.parametrize("spoiled", ["words", "nearest"])
def test_controls(monkeypatch, spoiled):
    """Steps that share their words, and a step that rounds to nearest, are seen."""
    if spoiled == "words":
        monkeypatch.setattr(_stochastic_steps, "_APART", 0)
    else:
        apply = _stochastic_steps.Steps.apply
        monkeypatch.setattr(
            _stochastic_steps.Steps,
            "apply",
            lambda steps, name, *rest: plain(steps, name, *rest) if name == "tanh" else apply(steps, name, *rest),
        )
    with pytest.raises(AssertionError, match="mish"):
        compare(mish, torch.float32, "stochastic")


def plain(steps, name, values, dtype, out):
    HERE.steps = None
    made = common.apply(name, *values, dtype=dtype, out=out)
    HERE.steps = steps
    return steps._done(made)


@pytest.mark.parametrize("mode", rounding_oracle.OF_VALUES)
@pytest.mark.parametrize("dtype", list(FORMATS), ids=FORMATS.values())
def test_norms_by_given_statistics(dtype, mode):
    x, g, mean = numbers(4, 3, 2, dtype=dtype), numbers(4, 3, 2, dtype=dtype, seed=1), numbers(3, dtype=dtype, seed=2)
    w, v, eps = numbers(3, dtype=dtype, seed=3), numbers(3, dtype=dtype, low=0.5, seed=4), 0.25
    gain = numbers(2, dtype=dtype, seed=5)
    with stochastic(SEED, SAMPLE, mode) as block:
        made = aten.native_batch_norm_backward(g, x, w, mean, v, None, None, False, eps, [True] * 3)
        trained = torch.ops.aten._batch_norm_with_update(x, w, w, mean.clone(), v.clone(), 0.1, eps)[0]
        squares = torch.ops.repmath.rms_norm_backward(g, x, [2], gain, eps)[:2]
    assert block.calls == 9 and not block.uncovered
    a, h = exact(x), exact(g)
    columns = [exact(t)[:, None] for t in (w, mean, v)]
    s = root(columns[2] + mpq(eps))
    n = mpq(8)
    mu = a.sum((0, 2)) / n
    d = a - mu[:, None]
    spread = root((d * d).sum((0, 2)) / n + mpq(eps))[:, None]
    r2 = (a * a).sum(2, keepdims=True) / 2 + mpq(eps)
    r, k = root(r2), h * exact(gain)
    wanted = [
        (made[0], h * columns[0] / s),
        (made[1], ((a - columns[1]) * h).sum((0, 2)) / s[:, 0]),
        (made[2], h.sum((0, 2))),
        (trained, d * columns[0] / spread + columns[0]),
        None, None,
        (squares[0], (k - a * ((k * a).sum(2, keepdims=True) / (r2 * 2))) / r),
        (squares[1], (h * a / r).sum((0, 1))),
    ]  # fmt: skip
    for call, pair in enumerate(wanted):
        if pair is not None:
            got, values = pair
            own = Own(mode, FORMATS[dtype], call)
            assert exact(got).reshape(-1).tolist() == own.own(values).reshape(-1).tolist(), call


@pytest.mark.parametrize("mode", (*rounding_oracle.MODES, *rounding_oracle.DIRECTED))
@pytest.mark.parametrize("dtype", list(FORMATS)[1:], ids=list(FORMATS.values())[1:])
def test_fused_steps(dtype, mode):
    """They are those of repmath.optim, with four streams for each parameter."""
    from repmath import optim
    from repmath.torch._tensors import as_array

    p = [numbers(n, dtype=dtype, seed=n) for n in (5, 3)]
    g, m = ([numbers(t.numel(), dtype=dtype, seed=k) for t in p] for k in (7, 8))
    v, top = ([numbers(t.numel(), dtype=dtype, low=0.1, seed=k) for t in p] for k in (9, 10))
    ours, wanted = ([[t.clone() for t in ts] for ts in (p, g, m, v, top)] for _ in range(2))
    count = [torch.tensor(3.0)] * 2
    options = {"lr": 0.1, "beta1": 0.5, "beta2": 0.75, "weight_decay": 0.25, "eps": 1e-3, "amsgrad": True, "maximize": False}
    sgd = {"weight_decay": 0.25, "momentum": 0.5, "lr": 0.1, "dampening": 0.0, "nesterov": True, "maximize": False}
    with stochastic(SEED, SAMPLE, mode) as block:
        torch._fused_adamw_(*ours, count, **options)
        torch._fused_sgd_(ours[0], ours[1], ours[2], is_first_step=False, **sgd)
        torch.exp(ours[0][0])
    assert block.calls == 17
    for i in range(2):
        words = {"rounding": mode, "seed": SEED}
        arrays = [as_array(t[i]) for t in wanted]
        optim.adamw_step(
            *arrays, step=3, lr=0.1, betas=(0.5, 0.75), eps=1e-3, weight_decay=0.25, stream=(SAMPLE << 32) + 4 * i, **words
        )
        optim.sgd_step(
            *arrays[:3], lr=0.1, momentum=0.5, weight_decay=0.25, nesterov=True, stream=(SAMPLE << 32) + 8 + 4 * i, **words
        )
        assert all(a[i].equal(b[i]) for a, b in zip(ours, wanted, strict=True))


@pytest.mark.parametrize("dtype", list(FORMATS)[1:], ids=list(FORMATS.values())[1:])
def test_fused_adagrad_moves_up_or_down(dtype):
    """Each parameter and its state, by a step from what rounding to nearest gives; nothing where infinities were found."""
    p = [numbers(n, dtype=dtype, seed=n) for n in (5, 3)]
    g = [numbers(t.numel(), dtype=dtype, seed=7) for t in p]
    s = [numbers(t.numel(), dtype=dtype, low=0.1, seed=8) for t in p]
    options = {"lr": 0.1, "lr_decay": 0.25, "weight_decay": 0.5, "eps": 0.125, "maximize": False}
    made, near, left = ([[t.clone() for t in ts] for ts in (p, s)] for _ in range(3))
    count = [torch.tensor(3.0)] * 2
    with stochastic(SEED, SAMPLE, "up_down") as block:
        torch._fused_adagrad_(made[0], g, made[1], count, **options)
        torch._fused_adagrad_(
            left[0], g, left[1], count, **options, grad_scale=torch.tensor(1.0), found_inf=torch.tensor(1.0)
        )
    with reproducible():
        torch._fused_adagrad_(near[0], g, near[1], count, **options)
    assert block.calls == 16 and not block.uncovered
    for k in range(2):
        assert left[0][k].equal(p[k]) and left[1][k].equal(s[k])
        for j in range(2):
            each = rounding_oracle.words(SEED, (SAMPLE << 32) + 4 * k + j, 0, near[j][k].numel()).tolist()
            way = torch.tensor([math.inf if int(w) >> 31 else 0.0 for w in each], dtype=torch.float64)
            size = near[j][k].double().abs()
            moved = torch.nextafter(near[j][k].abs(), way.to(dtype)) if dtype in (torch.float32, torch.float64) else None
            if moved is not None:
                assert made[j][k].abs().equal(moved)
            assert (((made[j][k].double().abs() > size) == (way > 0)) & (made[j][k].double().abs() != size)).all()


def test_fused_adam_counts_whole_steps():
    """The count of steps is moved by a last place too, and stays the number that it is next to."""
    p = torch.nn.Parameter(numbers(9))
    optimizer = torch.optim.AdamW([p], fused=True)
    with stochastic(SEED, SAMPLE, "up_down") as block:
        for _ in range(3):
            p.grad = numbers(9, seed=2)
            optimizer.step()
    assert not block.uncovered and p.isfinite().all()


def test_gradients_over_a_scale():
    """They are divided in the fourth stream of the first parameter, one array after the other."""
    g, p, b = ([numbers(5, seed=k + i) for i in range(2)] for k in (1, 3, 5))
    made = [t.clone() for t in g]
    with stochastic(SEED, SAMPLE):
        torch._fused_sgd_(p, made, b, weight_decay=0.0, momentum=0.5, lr=0.1, dampening=0.0, nesterov=False, maximize=False, is_first_step=False,
                          grad_scale=torch.tensor(3.0), found_inf=torch.tensor(0.0))  # fmt: skip
    own = Own("stochastic", "f32", 3)
    for old, new in zip(g, made, strict=True):
        assert exact(new).tolist() == own.own(exact(old) / 3).tolist()


@pytest.mark.parametrize("mode", rounding_oracle.OF_VALUES)
def test_lists_are_calls_of_each(mode):
    x, y, z = ([numbers(4, seed=3 * k + i, low=0.1) for i in range(2)] for k in range(3))
    calls = [
        (lambda: torch._foreach_addcmul(x, y, z, value=0.3), lambda i: torch.addcmul(x[i], y[i], z[i], value=0.3)),
        (lambda: torch._foreach_addcdiv(x, y, z, [0.3, 0.7]), lambda i: torch.addcdiv(x[i], y[i], z[i], value=(0.3, 0.7)[i])),
        (
            lambda: torch._foreach_addcmul(x, y, z, torch.tensor([0.5, 0.25])),
            lambda i: torch.addcmul(x[i], y[i], z[i], value=(0.5, 0.25)[i]),
        ),
        (lambda: torch._foreach_add(x, y, alpha=0.3), lambda i: torch.add(x[i], y[i], alpha=0.3)),
        (lambda: torch._foreach_sin(x), lambda i: torch.sin(x[i])),
        (lambda: torch._foreach_pow(x, y), lambda i: torch.pow(x[i], y[i])),
        (lambda: torch._foreach_pow(1.5, y), lambda i: torch.pow(1.5, y[i])),
        (lambda: torch._foreach_lerp(x, y, z), lambda i: torch.lerp(x[i], y[i], z[i])),
        (lambda: torch._foreach_norm(x, 2), lambda i: torch.linalg.vector_norm(x[i])),
        (lambda: torch._foreach_norm(x, 3), lambda i: torch.linalg.vector_norm(x[i], 3)),
        (lambda: torch._foreach_maximum(x, y), lambda i: torch.maximum(x[i], y[i])),
    ]
    with stochastic(SEED, SAMPLE, mode) as block:
        together = [lists() for lists, _ in calls]
    with stochastic(SEED, SAMPLE, mode) as other:
        for k, (_, one) in enumerate(calls):
            other.calls = 2 * k
            for i in range(2):
                other.calls = 2 * k + i
                assert one(i).equal(together[k][i]), (k, i)
    assert block.calls == 2 * len(calls) and not block.uncovered
    made = [t.clone() for t in x]
    with stochastic(SEED, SAMPLE, mode):
        torch._foreach_addcmul_(made, y, z, value=0.3)
    assert all(a.equal(b) for a, b in zip(made, together[0], strict=True))


def test_up_down_moves_lists_in_place():
    x = [numbers(4, seed=i) for i in range(2)]
    made = [t.clone() for t in x]
    with stochastic(SEED, SAMPLE, "up_down"):
        torch._foreach_sqrt_([t.abs_() for t in made])
    with stochastic(SEED, SAMPLE, "up_down"):
        wanted = torch._foreach_sqrt([t.abs() for t in x])
    assert len(wanted) == 2


def test_numbers_after_a_composed_operator_stay():
    """A call has the numbers of its results alone, so that a filter changes no other word."""
    x = numbers(9)
    with stochastic(SEED, SAMPLE) as block:
        F.mish(x)
        first = torch.exp(x)
    with stochastic(SEED, SAMPLE, exclude="mish*"):
        near = F.mish(x)
        second = torch.exp(x)
    with reproducible():
        assert near.equal(F.mish(x))
    assert first.equal(second) and block.calls == 2
