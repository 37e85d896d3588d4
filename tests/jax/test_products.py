"""repmath.jax: sums, matrix products and convolutions have the bits of repmath, and so have their gradients."""

import numpy as np
import pytest
from jax_checks import jax, numbers, same

import repmath as rm
import repmath.jax as rj

jnp, lax = jax.numpy, jax.lax
BF16 = np.dtype(jnp.bfloat16)


@pytest.mark.parametrize("dtype", [np.float16, BF16, np.float32], ids=str)
def test_sums_and_means(dtype):
    x = (numbers(1, 5, 3, 600) * np.float32(100)).astype(dtype)
    axes = [None, 0, 1, -1, (0, 2), (0, 1), ()]
    found = jax.jit(lambda x: [(rj.sum(x, a), rj.mean(x, a, keepdims=True)) for a in axes])(x)
    for axis, (total, average) in zip(axes, found, strict=True):
        same(total, rm.sum(x, axis=axis))
        same(average, rm.mean(x, axis=axis, keepdims=True))


def test_gradients_of_sums_and_means():
    x, g = numbers(1, 4, 3), numbers(2, 4)
    total, average, around = jax.jit(
        lambda x, g: (
            jax.vjp(lambda x: rj.sum(x, 1), x)[1](g)[0],
            jax.vjp(lambda x: rj.mean(x, 1), x)[1](g)[0],
            jax.vjp(lambda x: jax.vmap(lambda x: rj.sum(x, (0, 2)))(x), x[..., None, None])[1](g[:, None])[0],
        )
    )(x, g)
    same(around, np.broadcast_to(g[:, None], x.shape)[..., None, None])
    same(total, np.broadcast_to(g[:, None], x.shape))
    same(average, np.broadcast_to(rm.divide(g, np.float32(3))[:, None], x.shape))


@pytest.mark.parametrize("dtype", [BF16, np.float32], ids=str)
def test_matmul_and_its_gradients(dtype):
    a, b, c = (numbers(i, *s).astype(dtype) for i, s in enumerate([(2, 5, 7), (7, 3), (3,)]))
    g = numbers(9, 2, 5, 3).astype(dtype)
    y, d = jax.jit(lambda a, b, c, g: (lambda y, f: (y, f(g)))(*jax.vjp(lambda a, b, c: rj.matmul(a, b, bias=c), a, b, c)))(
        a, b, c, g
    )
    rows, grads = a.reshape(10, 7), g.reshape(10, 3)
    same(y, rm.matmul(a, b, bias=c))
    same(d[0], rm.matmul(g, b.T))
    same(d[1], rm.matmul(rows.T, grads))
    same(d[2], rm.sum(grads, axis=0))


def test_shapes_of_matmul():
    shapes = [
        ((7,), (7,)),
        ((5, 7), (7,)),
        ((7,), (7, 3)),
        ((2, 1, 5, 7), (4, 7, 3)),
        ((2, 5, 7), (2, 7, 3)),
        ((3, 0), (0, 2)),
    ]
    pairs = [(numbers(1, *s), numbers(2, *t)) for s, t in shapes]
    products = jax.jit(lambda pairs: [rj.matmul(*pair) for pair in pairs])(pairs)
    for (a, b), found in zip(pairs, products, strict=True):
        same(found, rm.matmul(a, b))
    wide = rj.matmul(pairs[4][0].astype(BF16), pairs[4][1].astype(BF16), preferred_element_type=np.float32)
    same(wide, rm.matmul(pairs[4][0].astype(BF16), pairs[4][1].astype(BF16), dtype=np.float32))
    for a, b, message in [
        ((5, 7), (6, 3), "has 7 elements but b has 6"),
        ((), (3,), "a is a scalar"),
        ((2, 5, 7), (3, 7, 3), "broadcast"),
    ]:
        with pytest.raises(ValueError, match=message):
            rj.matmul(np.ones(a, np.float32), np.ones(b, np.float32))
    with pytest.raises(ValueError, match="bias has shape"):
        rj.matmul(*pairs[1], bias=np.ones(2, np.float32))


def test_dot_general():
    x, y = numbers(1, 4, 2, 5, 3), numbers(2, 3, 6, 2, 4)
    numbers_of = (((0, 3), (3, 0)), ((1,), (2,)))
    same(rj.dot_general(x, y, numbers_of), rm.einsum("abcd,dxba->bcx", x, y))
    d = jax.jit(jax.grad(lambda x, y: rj.sum(rj.dot_general(x, y, numbers_of)), argnums=(0, 1)))(x, y)
    g = np.ones((2, 5, 6), np.float32)
    same(d[0], rm.einsum("bcx,dxba->abcd", g, y))
    same(d[1], rm.einsum("bcx,abcd->dxba", g, x))


def test_dot_general_takes_what_jax_s_takes():
    """Also from Flax, whose layers have it as an argument."""
    x, y = numbers(1, 4, 3), numbers(2, 3, 5)
    axes = (((1,), (0,)), ((), ()))
    for precision in (None, "highest", jax.lax.Precision.DEFAULT, ("high", "high")):
        same(rj.dot_general(x, y, axes, precision), rm.matmul(x, y))
    wide = rj.dot_general(x.astype(BF16), y.astype(BF16), axes, None, np.float32)
    same(wide, rm.matmul(x.astype(BF16), y.astype(BF16), dtype=np.float32))
    with pytest.raises(TypeError, match="out_sharding"):
        rj.dot_general(x, y, axes, out_sharding=jax.sharding.PartitionSpec())
    linen = pytest.importorskip("flax.linen")
    layer = linen.Dense(5, use_bias=False, dot_general=rj.dot_general)
    same(layer.apply({"params": {"kernel": y}}, x), rm.matmul(x, y))


def test_an_exported_function():
    x = numbers(1, 4, 3)
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    with pytest.raises(ValueError, match="custom calls"):
        jax.export.export(jax.jit(rj.exp))(shape)
    exported = jax.export.export(jax.jit(rj.exp), disabled_checks=rj.export_checks())(shape)
    same(exported.call(x), rm.exp(x))


def test_vmap_changes_no_bit():
    """And a gradient through vmap is one exact sum over the examples too, by either operand."""
    a, b = numbers(1, 3, 5, 7), numbers(2, 3, 7, 2)
    one, two, three, left, right = jax.jit(
        lambda: (
            jax.vmap(rj.matmul, (0, None))(a, b[0]),
            jax.vmap(rj.matmul, (None, 0))(a[0], b),
            jax.vmap(rj.matmul, (0, 0), 1)(a, b),
            jax.grad(lambda w: rj.sum(jax.vmap(lambda x: rj.matmul(w, x))(b)))(a[0]),
            jax.grad(lambda w: rj.sum(jax.vmap(lambda x: rj.matmul(x, w))(a)))(b[0]),
        )
    )()
    same(one, rm.matmul(a, b[0]))
    same(two, rm.matmul(a[0], b))
    same(three, np.moveaxis(rm.matmul(a, b), 0, 1))
    same(left, rm.matmul(np.ones((5, 6), "f4"), np.swapaxes(b, 1, 2).reshape(6, 7)))
    same(right, rm.matmul(a.reshape(15, 7).T, np.ones((15, 2), "f4")))


CONVOLUTIONS = [(1, (2, 4, 9), (6, 2, 3)), (2, (2, 4, 9, 8), (6, 2, 3, 2)), (3, (1, 4, 5, 6, 4), (6, 2, 3, 2, 2))]


@pytest.mark.parametrize("dims, shape_x, shape_w", CONVOLUTIONS, ids=["1d", "2d", "3d"])
def test_convolution_and_its_gradients(dims, shape_x, shape_w):
    x, w, b = numbers(1, *shape_x), numbers(2, *shape_w), numbers(3, 6)
    options = {"stride": 2, "padding": 1, "groups": 2}
    y = getattr(rm, f"conv{dims}d")(x, w, b, **options)
    g = numbers(4, *y.shape)

    def f(x, w, b):
        return rj.conv_general_dilated(x, w, (2,) * dims, ((1, 1),) * dims, feature_group_count=2, bias=b)

    found, d = jax.jit(lambda x, w, b, g: (lambda y, back: (y, back(g)))(*jax.vjp(f, x, w, b)))(x, w, b, g)
    same(found, y)
    same(d[0], getattr(rm, f"conv{dims}d_grad_input")(x.shape, w, g, **options))
    same(d[1], getattr(rm, f"conv{dims}d_grad_weight")(x, w.shape, g, **options))
    same(d[2], rm.sum(g, axis=(0, *range(2, dims + 2))))


def exact(x, w, *arguments, **options):
    """jax.lax's convolution of small integers in float32: exact, so it shows which elements meet, whatever the layout."""
    return lax.conv_general_dilated(x, w, *arguments, **options)


LAYOUTS = [
    ((2, 9, 8, 4), (3, 2, 4, 6), ((1, 1), "SAME"), {"dimension_numbers": ("NHWC", "HWIO", "NHWC")}),
    ((9, 2, 4, 8), (6, 3, 4, 2), ((2, 1), "VALID"), {"dimension_numbers": ("HNCW", "OHIW", "CWHN")}),
    ((2, 6, 5, 4), (4, 6, 3, 2), ((1, 1), ((1, 2), (1, 1))), {"lhs_dilation": (2, 3), "rhs_dilation": (2, 1)}),
    ((2, 6, 5, 4), (4, 3, 3, 2), ((1, 1), ((1, 2), (0, 1))), {"lhs_dilation": (2, 2), "feature_group_count": 2}),
    ((2, 6, 5, 4), (6, 6, 3, 2), ((1, 1), ((-1, 2), (1, -1))), {}),
]


def test_layouts_paddings_and_dilations():
    rng = np.random.default_rng(0)
    cases = [(rng.integers(-9, 9, s).astype("f4"), rng.integers(-9, 9, t).astype("f4")) for s, t, _, _ in LAYOUTS]

    def every(function):
        def run(cases):
            results = []
            for (x, w), (_, _, arguments, options) in zip(cases, LAYOUTS, strict=True):
                y, back = jax.vjp(lambda x, w, a=arguments, o=options: function(x, w, *a, **o), x, w)
                results.append((y, *back(jnp.round(y / 4))))
            return results

        return jax.jit(run)(cases)

    for ours, theirs in zip(every(rj.conv_general_dilated), every(exact), strict=True):
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(a, b)  # not the bits: -0 and +0


def test_vmap_of_convolution():
    x, w = numbers(1, 2, 6, 5, 4), numbers(2, 3, 6, 3, 2)
    xs, ws = numbers(3, 3, 2, 6, 5, 4), numbers(4, 3, 3, 6, 3, 2)

    def f(x, w):
        return rj.conv_general_dilated(x, w, (1, 1), "VALID")

    found = jax.jit(
        lambda: [jax.vmap(f, a)(*v) for a, v in [((0, None), (xs, w)), ((None, 0), (x, ws)), ((0, 0), (xs, ws))]]
    )()
    same(found[0], np.stack([rm.conv2d(x, w) for x in xs]))
    same(found[1], np.stack([rm.conv2d(x, w) for w in ws]))
    same(found[2], np.stack([rm.conv2d(x, w) for x, w in zip(xs, ws, strict=True)]))
    each, whole = jax.jit(
        lambda: (
            jax.vmap(lambda x: jax.grad(lambda w: rj.sum(f(x, w)))(w))(xs),
            jax.grad(lambda w: rj.sum(jax.vmap(lambda x: f(x, w))(xs)))(w),
        )
    )()
    one = np.ones(found[0].shape, "f4")
    same(each, np.stack([rm.conv2d_grad_weight(x, w.shape, g) for x, g in zip(xs, one, strict=True)]))
    same(whole, rm.conv2d_grad_weight(xs.reshape(6, 6, 5, 4), w.shape, one.reshape(6, *one.shape[2:])))


def test_second_derivatives_are_right():
    """Products of matrices and convolutions are bilinear: the second derivative of sum f(x, w)**2 in float64 integers is exact."""
    rng = np.random.default_rng(1)
    a, b = rng.integers(-5, 5, (3, 4)).astype("f8"), rng.integers(-5, 5, (4, 2)).astype("f8")
    x, w = rng.integers(-5, 5, (1, 2, 5)).astype("f8"), rng.integers(-5, 5, (3, 2, 2)).astype("f8")

    def loss(multiply, product, convolution, p):
        y, z = product(a, p[0]), convolution(x, p[1], (2,), ((1, 0),))
        return multiply(y, y).sum() + multiply(z, multiply(z, z)).sum()

    p, v = (b, w), (b + 1, w - 2)

    def forward_over_reverse(f):
        return jax.jvp(jax.grad(f), (p,), (v,))[1]

    def reverse_over_reverse(f):
        return jax.grad(lambda p: sum((g * t).sum() for g, t in zip(jax.grad(f)(p), v, strict=True)))(p)

    with jax.enable_x64(True):
        theirs = jax.jit(lambda: forward_over_reverse(lambda p: loss(jnp.multiply, jnp.matmul, exact, p)))()
        for order in (forward_over_reverse, reverse_over_reverse):
            ours = jax.jit(lambda o=order: o(lambda p: loss(rj.multiply, rj.matmul, rj.conv_general_dilated, p)))()
            jax.tree.map(np.testing.assert_array_equal, ours, theirs)
