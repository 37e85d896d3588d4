"""repmath.jax: operators of deep learning and their gradients have the bits of repmath.nn; other derivatives are right."""

import numpy as np
import pytest
from jax_checks import jax, numbers, same

import repmath as rm
import repmath.jax as rj
from repmath import nn

jnp = jax.numpy
BF16 = np.dtype(jnp.bfloat16)


def check(pairs, arrays, wanted, dtype=np.float32):
    """pairs: name -> function of the arrays; wanted: name -> (value, function from a cotangent to the first gradients, None: not
    compared). All are compiled as one program."""
    values = jax.eval_shape(lambda a: {name: f(*a) for name, f in pairs.items()}, arrays)
    cotangents = {name: numbers(90, *v.shape).astype(dtype) for name, v in values.items()}

    def run(arrays, cotangents):
        results = {}
        for name, f in pairs.items():
            y, back = jax.vjp(f, *arrays)
            results[name] = (y, back(cotangents[name]))
        return results

    for name, (y, gradients) in jax.jit(run)(arrays, cotangents).items():
        value, backward = wanted[name]
        same(y, value)
        known = backward(cotangents[name])
        for found, w in zip(gradients, [*known, *[None] * (len(arrays) - len(known))], strict=True):
            if w is not None:
                same(found, w)


@pytest.mark.parametrize("dtype", [BF16, np.float32], ids=str)
def test_softmax_family(dtype):
    x = numbers(1, 4, 5, 6).astype(dtype)
    x[0, 0, 0] = -np.inf
    pairs, wanted = {}, {}
    for axis in (-1, 0, 1):
        for name in ("softmax", "log_softmax"):
            y = getattr(nn, name)(x, axis)
            pairs[name, axis] = lambda x, n=name, a=axis: getattr(rj, n)(x, a)
            wanted[name, axis] = (y, lambda g, n=name, y=y, a=axis: [getattr(nn, n + "_backward")(g, y, a)])
        pairs["logsumexp", axis] = lambda x, a=axis: rj.logsumexp(x, a)
        p = nn.softmax(x, axis)
        wanted["logsumexp", axis] = (
            nn.logsumexp(x, axis),
            lambda g, p=p, a=axis: [rm.multiply(np.broadcast_to(np.expand_dims(g, a), p.shape), p)],
        )
    check(pairs, (x,), wanted, dtype)


def test_norms():
    x, w, b = numbers(1, 3, 4, 5), numbers(2, 4), numbers(3, 4)
    v, c = numbers(4, 5), numbers(5, 5)
    mean, variance = numbers(6, 4), rm.multiply(numbers(7, 4), numbers(7, 4))

    def both(back, others):
        return lambda g: [*back(g), *[None] * others]

    pairs = {
        "layer": lambda x, w, b, v, c: rj.layer_norm(x, 5, v, c),
        "rms": lambda x, w, b, v, c: rj.rms_norm(x, (4, 5)),
        "group": lambda x, w, b, v, c: rj.group_norm(x, 2, w, b),
        "instance": lambda x, w, b, v, c: rj.instance_norm(x, w),
        "batch": lambda x, w, b, v, c: rj.batch_norm(x, weight=w, bias=b, training=True),
        "given": lambda x, w, b, v, c: rj.batch_norm(x, mean, variance, w, b),
    }
    plain = {
        "layer": (nn.layer_norm(x, 5, v, c), lambda g: reorder(nn.layer_norm_backward(g, x, 5, v), weights=False)),
        "rms": (nn.rms_norm(x, (4, 5)), lambda g: [nn.rms_norm_backward(g, x, (4, 5))[0], *[None] * 4]),
        "group": (nn.group_norm(x, 2, w, b), lambda g: reorder(nn.group_norm_backward(g, x, 2, w))),
        "instance": (nn.instance_norm(x, w), lambda g: [*nn.instance_norm_backward(g, x, w)[:2], None, None, None]),
        "batch": (
            nn.batch_norm(x, None, None, w, b, training=True),
            lambda g: reorder(nn.batch_norm_backward(g, x, weight=w)),
        ),
        "given": (
            nn.batch_norm(x, mean, variance, w, b),
            lambda g: reorder(nn.batch_norm_backward(g, x, mean, variance, w, training=False)),
        ),
    }

    def reorder(gradients, weights=True):
        dx, dw, db = gradients
        return [dx, dw, db, None, None] if weights else [dx, None, None, dw, db]

    check(pairs, (x, w, b, v, c), plain)


def test_running_statistics():
    x, mean, variance = numbers(1, 6, 3, 2), numbers(2, 3), np.ones(3, "f4")
    found = jax.jit(rj.batch_norm_statistics)(x, mean, variance)
    nn.batch_norm(x, mean, variance, training=True)
    same(found[0], mean)
    same(found[1], variance)


def test_cross_entropy():
    x, w = numbers(1, 6, 5), np.abs(numbers(2, 5))
    target = np.array([0, 1, 4, 2, 3, -100], "i4")
    probability = nn.softmax(numbers(3, 6, 5))
    images, labels = numbers(4, 2, 3, 4), np.array([[0, 2, 1, 1], [2, 2, 0, 1]], "i4")
    pairs, wanted = {}, {}

    def case(name, f, value, back, argument, **options):
        pairs[name] = lambda *arrays: f(arrays[argument], **options)
        wanted[name] = (value, lambda g: [back(g) if i == argument else None for i in range(2)])

    for reduction in ("mean", "sum", "none"):
        for i, options in enumerate([{}, {"weight": w, "label_smoothing": 0.25}]):
            options = options | {"reduction": reduction}
            case(
                (reduction, str(i)),
                lambda x, **o: rj.cross_entropy(x, target, **o),
                nn.cross_entropy(x, target, **options),
                lambda g, o=options: nn.cross_entropy_backward(g, x, target, **o),
                0,
                **options,
            )
        case(
            (reduction, "nll"),
            lambda x, reduction: rj.nll_loss(x, target, w, reduction=reduction),
            nn.nll_loss(x, target, w, reduction=reduction),
            lambda g, r=reduction: nn.nll_loss_backward(g, x, target, w, reduction=r),
            0,
            reduction=reduction,
        )
        case(
            (reduction, "images"),
            lambda x, reduction: rj.cross_entropy(x, labels, reduction=reduction),
            nn.cross_entropy(images, labels, reduction=reduction),
            lambda g, r=reduction: nn.cross_entropy_backward(g, images, labels, reduction=r),
            1,
            reduction=reduction,
        )
    case(
        ("mean", "probabilities"),
        lambda x: rj.cross_entropy(x, probability),
        nn.cross_entropy(x, probability),
        lambda g: nn.cross_entropy_backward(g, x, probability),
        0,
    )
    check(pairs, (x, images), wanted)
    with pytest.raises(Exception, match="argument 'target'"):
        jax.block_until_ready(rj.cross_entropy(x, np.full(6, 5)))
    with pytest.raises(ValueError, match="target has shape"):
        rj.cross_entropy(x, target[:5])


def test_attention():
    q, k, v = numbers(1, 2, 3, 4), numbers(2, 2, 5, 4), numbers(3, 2, 5, 6)
    mask = numbers(4, 3, 5)
    mask[1] = -np.inf  # a row of nothing
    place = {"dropout_p": 0.25, "seed": 5, "stream": 3}
    options = {"plain": {}, "causal": {"is_causal": True, "scale": 0.3}, "masked": {"attn_mask": mask}, "dropped": place}
    check(
        {n: lambda q, k, v, o=o: rj.scaled_dot_product_attention(q, k, v, **o) for n, o in options.items()},
        (q, k, v),
        {
            n: (
                nn.scaled_dot_product_attention(q, k, v, **o),
                lambda g, o=o: nn.scaled_dot_product_attention_backward(g, q, k, v, **o),
            )
            for n, o in options.items()
        },
    )


def test_no_elements():
    """A gradient by a weight that nothing is multiplied with is zero, and not what was in memory."""
    x, w = np.zeros((0, 5), "f4"), np.ones(5, "f4")
    d = jax.jit(lambda: jax.vjp(lambda x, w: rj.layer_norm(x, 5, w, w), x, w)[1](jnp.zeros((0, 5))))()
    same(d[1], np.zeros(5, "f4"))
    same(rj.batch_norm(x, training=True), x)
    same(rj.cross_entropy(x, np.zeros(0, "i4")), nn.cross_entropy(x, np.zeros(0, "i4")))
    same(rj.sum(x, 0), np.zeros(5, "f4"))
    same(rj.logsumexp(x.T, 1), nn.logsumexp(x.T, 1))


def test_losses_of_pairs():
    x, y, w = numbers(1, 6, 5), np.abs(numbers(2, 6, 5)), np.abs(numbers(3, 5))
    pairs, wanted = {}, {}
    for reduction in ("mean", "sum", "none"):
        r = {"reduction": reduction}
        for name, o in [("mse_loss", {}), ("l1_loss", {}), ("smooth_l1_loss", {"beta": 0.3}), ("huber_loss", {"delta": 0.7})]:
            pairs[name, reduction] = lambda x, y, n=name, o=o, r=r: getattr(rj, n)(x, y, **o, **r)
            wanted[name, reduction] = (
                getattr(nn, name)(x, y, **o, **r),
                lambda g, n=name, o=o, r=r: (lambda d: [d, -d])(getattr(nn, n + "_backward")(g, x, y, **o, **r)),
            )
        options = {"weight": w, "pos_weight": w, **r}
        pairs["bce", reduction] = lambda x, _, o=options: rj.binary_cross_entropy_with_logits(x, y, **o)
        wanted["bce", reduction] = (
            nn.binary_cross_entropy_with_logits(x, y, **options),
            lambda g, o=options: [nn.binary_cross_entropy_with_logits_backward(g, x, y, **o)],
        )
        for log_target in (False, True):
            pairs[f"kl{log_target}", reduction] = lambda x, _, r=r, t=log_target: rj.kl_div(x, y, log_target=t, **r)
            wanted[f"kl{log_target}", reduction] = (
                nn.kl_div(x, y, log_target=log_target, **r),
                lambda g, r=r, t=log_target: [nn.kl_div_backward(g, x, y, log_target=t, **r)],
            )
    pairs["batch", "mean"] = lambda x, _: rj.kl_div(x, y, reduction="batchmean")
    wanted["batch", "mean"] = (
        nn.kl_div(x, y, reduction="batchmean"),
        lambda g: [nn.kl_div_backward(g, x, y, reduction="batchmean")],
    )
    check(pairs, (x, y), wanted)


def test_pooling():
    x = numbers(1, 2, 3, 8, 7)
    x[0, 0, :4] = 1  # ties
    y, index = nn.max_pool2d(x, 3, 2, 1, return_indices=True)
    adaptive, places = nn.adaptive_max_pool2d(x, (3, 2), return_indices=True)
    pairs = {
        "max": lambda x: rj.max_pool2d(x, 3, 2, 1),
        "avg": lambda x: rj.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        "max1": lambda x: rj.max_pool1d(x[0, 0], 2),
        "adaptive": lambda x: rj.adaptive_max_pool2d(x, (3, 2)),
        "average": lambda x: rj.adaptive_avg_pool2d(x, (3, 2)),
    }
    wanted = {
        "max": (y, lambda g: [nn.max_pool2d_backward(g, x.shape, index)]),
        "avg": (
            nn.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
            lambda g: [nn.avg_pool2d_backward(g, x.shape, 3, 2, 1, count_include_pad=False)],
        ),
        "max1": (nn.max_pool1d(x[0, 0], 2), lambda g: [None]),
        "adaptive": (adaptive, lambda g: [nn.max_pool2d_backward(g, x.shape, places)]),
        "average": (nn.adaptive_avg_pool2d(x, (3, 2)), lambda g: [nn.adaptive_avg_pool2d_backward(g, x.shape)]),
    }
    check(pairs, (x,), wanted)
    same(rj.max_pool2d(x, 3, 2, 1, return_indices=True)[1], index.astype("i4"))
    same(jax.vmap(lambda x: rj.max_pool2d(x, 3, 2, 1))(x), y)


def test_embedding():
    table, index = numbers(1, 7, 3), np.array([[0, 3], [6, 3]], "i4")
    check(
        {"rows": lambda t: rj.embedding(index, t), "sums": lambda t: rj.segment_sum(t, np.arange(7) % 3, 4)},
        (table,),
        {
            "rows": (table[index], lambda g: [rm.embedding_grad(g, index, 7)]),
            "sums": (rm.segment_sum(table, np.arange(7) % 3, 4), lambda g: [g[np.arange(7) % 3]]),
        },
    )


@pytest.mark.parametrize("dtype", [np.float16, BF16, np.float32], ids=str)
def test_segment_sums_of_single_elements(dtype):
    """Ids that come once, whose sums are the elements, and ids that come twice: -0 is +0, NaN the canonical one."""
    x = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.5, -1e-7], dtype)
    apart, meeting = np.array([7, 2, 0, 3, 9, 5, 1, 4]), np.array([7, 2, 0, 3, 9, 5, 2, 4])
    sums = jax.jit(lambda x: [rj.segment_sum(x, ids, 10) for ids in (apart, meeting)])(x)
    for found, ids in zip(sums, (apart, meeting), strict=True):
        assert np.asarray(found).tobytes() == rm.segment_sum(x, ids, 10).tobytes()
    with pytest.raises(Exception, match="argument 'index'"):
        jax.block_until_ready(rj.segment_sum(x, apart + 1, 10))


# Forward mode and second derivatives follow the formulas. Values are held to repmath.nn above; here derivatives are held to values, by
# differences in float64 along a line. A wrong term would be seen in the first digit.


def test_other_derivatives():
    x, y, w = numbers(1, 3, 4, dtype="f8"), np.abs(numbers(2, 3, 4, dtype="f8")), np.abs(numbers(3, 4, dtype="f8"))
    t, v, step = np.array([0, 3, 1]), numbers(4, 3, 4, dtype="f8"), 2.0**-13
    cases = {
        "softmax": lambda x: rj.multiply(rj.softmax(x), y),
        "log_softmax": lambda x: rj.multiply(rj.log_softmax(x, 0), y),
        "logsumexp": lambda x: rj.logsumexp(x, -1),
        "layer": lambda x: rj.multiply(rj.layer_norm(x, 4, w, w), y),
        "batch": lambda x: rj.multiply(rj.batch_norm(x, training=True), y),
        "rms": lambda x: rj.multiply(rj.rms_norm(x, 4, w, eps=0.1), y),
        "cross_entropy": lambda x: rj.cross_entropy(x, t, w, label_smoothing=0.1),
        "nll": lambda x: rj.nll_loss(rj.multiply(x, x), t),
        "bce": lambda x: rj.binary_cross_entropy_with_logits(x, y, w, pos_weight=w),
        "kl": lambda x: rj.kl_div(rj.multiply(x, x), y),
        "avg_pool": lambda x: rj.sin(rj.avg_pool1d(x, 2)),
        "max_pool": lambda x: rj.sin(rj.max_pool1d(x, 2)),
    }

    def pull(f, x):
        return jax.grad(lambda x: rj.sum(f(x)))(x)

    def derivatives(f):
        return jax.jvp(lambda x: rj.sum(f(x)), (x,), (v,))[1], jax.jvp(lambda x: pull(f, x), (x,), (v,))[1]

    with jax.enable_x64(True):
        found = jax.jit(lambda: {name: derivatives(f) for name, f in cases.items()})()
        twice = ("softmax", "layer", "cross_entropy")  # in reverse, one of each kind
        pulled = jax.jit(
            lambda: {name: jax.grad(lambda x, f=cases[name]: rj.sum(rj.multiply(pull(f, x), v)))(x) for name in twice}
        )()
        at = np.stack([x + k * step * v for k in (-2, -1, 0, 1, 2)])
        values = jax.jit(lambda: {name: jax.vmap(lambda p, f=f: rj.sum(f(p)))(at) for name, f in cases.items()})()
    for name, (forward, forward_back) in found.items():
        a, b, c, d, e = (float(value) for value in values[name])
        first = (a - 8 * b + 8 * d - e) / (12 * step)
        second = (-a + 16 * b - 30 * c + 16 * d - e) / (12 * step**2)
        assert abs(float(forward) - first) < 1e-7 * (1 + abs(first)), name
        for h in [forward_back, *([pulled[name]] if name in twice else [])]:
            assert abs(float(np.sum(np.asarray(h) * v)) - second) < 1e-5 * (1 + abs(second)), name
