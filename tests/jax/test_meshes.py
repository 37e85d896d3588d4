"""Sums and products over meshes of 1, 2, 4 and 8 devices: the bits of one device."""

import re

import jax_checks  # noqa: F401  before JAX begins
import pytest

jax = pytest.importorskip("jax")

from fractions import Fraction  # noqa: E402

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from exact_oracle import FORMATS, exact_bits, round_rational  # noqa: E402
from jax import lax  # noqa: E402
from jax.sharding import AxisType, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import repmath as rm  # noqa: E402
import repmath.jax as rj  # noqa: E402

SIZES = (1, 2, 4, 8)
pytestmark = pytest.mark.skipif(len(jax.devices()) < 8, reason="JAX began with fewer devices in this process")


def _mesh(size, shape=None, names=("d",)):
    return jax.make_mesh(shape or (size,), names, axis_types=(AxisType.Auto,) * len(names), devices=jax.devices()[:size])


def _numbers(fmt, shape, special=False):
    """Numbers of far exponents, whose sums cancel."""
    rng = np.random.default_rng(7)
    spread = {"f16": 4, "bf16": 30, "f32": 30}[fmt]
    made = (rng.integers(-99, 100, shape) * np.exp2(rng.integers(-spread, spread, shape))).astype(FORMATS[fmt][0])
    if special:
        made.reshape(shape[0], -1)[0, :2], made.reshape(shape[0], -1)[-1, 1:3] = np.inf, (-np.inf, np.nan)
    return made


def _bits(a, fmt):
    return np.asarray(a).reshape(-1).view(FORMATS[fmt][1]).tolist()


def _over_devices(size, function, rows):
    """A function of each device's row, which is the same everywhere after it."""
    return jax.jit(jax.shard_map(lambda a: function(a[0]), mesh=_mesh(size), in_specs=P("d"), out_specs=P()))(rows)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("fmt", ["f16", "bf16", "f32"])
def test_psum_and_pmean_are_rounded_once(fmt, size):
    a = _numbers(fmt, (size, 5, 7), size > 1)
    columns = a.reshape(size, -1).astype(np.float64).T.tolist()
    sums = [exact_bits(c, fmt) for c in columns]
    assert _bits(_over_devices(size, lambda x: rj.psum(x, "d"), a), fmt) == sums
    assert _bits(_over_devices(size, lambda x: rj.psum({"a": [x]}, ("d",))["a"][0], a[::-1]), fmt) == sums
    means = [
        round_rational(sum(map(Fraction, c)) / size, fmt) if np.isfinite(c).all() else s
        for c, s in zip(columns, sums, strict=True)
    ]
    assert _bits(_over_devices(size, lambda x: rj.pmean(x, "d"), a), fmt) == means


@pytest.mark.parametrize("size", [2, 8])
def test_large_sums_by_shares(size):
    a = _numbers("f32", (size, 4999))
    expected = rm.sum(a, axis=0)
    assert _bits(_over_devices(size, lambda x: rj.psum(x, "d"), a), "f32") == _bits(expected, "f32")
    assert (
        _bits(_over_devices(size, lambda x: lax.psum(x, "d"), a), "f32") != _bits(expected, "f32") or size == 2
    )  # a control


def test_gradients_integers_and_two_axes():
    x = _numbers("f32", (4, 3))
    mesh = _mesh(4, (2, 2), ("a", "b"))

    def total(x, c):
        return rj.sum(rj.multiply(rj.psum(x[0], ("a", "b")), c))

    both = jax.jit(jax.grad(jax.shard_map(total, mesh=mesh, in_specs=(P(("a", "b")), P()), out_specs=P())))
    assert np.asarray(both(x, jnp.arange(3.0))).tolist() == [[0.0, 1.0, 2.0]] * 4
    part = jax.jit(jax.shard_map(lambda x: rj.psum(x, "b"), mesh=mesh, in_specs=P(("a", "b")), out_specs=P("a")))(x)
    assert _bits(part, "f32") == _bits(np.concatenate([rm.sum(x[:2], axis=0), rm.sum(x[2:], axis=0)]), "f32")
    mean = jax.shard_map(lambda x: rj.sum(rj.pmean(x[0], "d")), mesh=_mesh(4), in_specs=P("d"), out_specs=P())
    assert np.asarray(jax.jit(jax.grad(mean))(x)).tolist() == [[0.25] * 3] * 4
    whole = jax.shard_map(lambda n: rj.psum(n, "d"), mesh=_mesh(4), in_specs=P("d"), out_specs=P())(jnp.arange(4))
    assert whole.tolist() == [6]
    with pytest.raises(TypeError, match="x has dtype"):
        rj.psum(jnp.ones(2, jnp.complex64), "d")
    with pytest.raises(ValueError, match="axis_name: 'd' is an axis of jax.vmap"):
        jax.vmap(lambda x: rj.psum(x, "d"), axis_name="d")(jnp.ones(3))
    with pytest.raises(NameError, match="d"):
        rj.psum(jnp.ones(3), "d")


def _collectives(function, *arguments):
    """What XLA sends, of which shape; an all-to-all has several."""
    text = jax.jit(function).lower(*arguments).compile().as_text()
    kinds = "all-gather|all-reduce|all-to-all|collective-permute"
    return [(m[2], m[1]) for m in re.finditer(rf"= (\(.*?\)|\S+?)(?:\{{\S*)? ({kinds})\(", text)]


def _placed(mesh, x, *spec):
    return jax.device_put(x, NamedSharding(mesh, P(*spec)))


def _block(p, x):
    """Operators of a network, of rows."""
    h = rj.layer_norm(x, (16,), p["scale"], p["shift"])
    h = rj.gelu(rj.matmul(h, p["first"], bias=p["bias"]))
    h = rj.add(x, rj.matmul(rj.softmax(h), p["second"]))
    return rj.multiply(h, rj.rms_norm(h, (16,), p["scale"]))


def _weights():
    numbers = np.random.default_rng(3).standard_normal
    return {
        "scale": numbers(16, "f4"), "shift": numbers(16, "f4"), "bias": numbers(24, "f4"),
        "first": numbers((16, 24), "f4"), "second": numbers((24, 16), "f4"),
    }  # fmt: skip


@pytest.mark.parametrize("size", SIZES)
def test_a_network_under_jit_has_the_bits_of_one_device(size):
    mesh, p = _mesh(size), _weights()
    x = np.random.default_rng(4).standard_normal((16, 16), "f4")

    def loss(p, x):
        return rj.mean(rj.multiply(_block(p, x), _block(p, x)))

    expected = jax.jit(_block)(p, x), jax.jit(jax.grad(loss))(p, x)
    placed = {k: _placed(mesh, v) for k, v in p.items()}
    found = jax.jit(_block)(placed, _placed(mesh, x, "d")), jax.jit(jax.grad(loss))(placed, _placed(mesh, x, "d"))
    jax.tree.map(
        lambda a, b: np.testing.assert_array_equal(np.asarray(a).view("u4"), np.asarray(b).view("u4")), expected, found
    )
    assert _collectives(_block, placed, _placed(mesh, x, "d")) == []


def _images(p, x):
    """Operators of a network, of images: convolutions with one group and with one for each channel, norms, pools."""
    h = rj.max_pool2d(rj.conv_general_dilated(x, p["first"], (1, 1), "SAME", bias=p["bias"]), 2)
    h = rj.batch_norm(h, None, None, p["scale"], p["shift"], training=True)
    h = rj.conv_general_dilated(h, p["each"], (1, 1), "SAME", feature_group_count=16)
    h = rj.conv_general_dilated(h, p["groups"], (2, 2), "VALID", feature_group_count=2)
    h = rj.avg_pool2d(rj.batch_norm(h, p["shift"], p["scale"], p["scale"], p["shift"]), 2, 1)
    h = jnp.moveaxis(h, 1, -1)
    layout = "NHWC", "HWIO", "NHWC"
    h = rj.conv_general_dilated(h, p["back"], (1, 1), [(1, 1)] * 2, lhs_dilation=(2, 2), dimension_numbers=layout)
    h = h.reshape(len(h), -1)
    return rj.multiply(rj.embedding(jnp.argmax(h, axis=1), p["table"]), rj.sum(h, axis=1)[:, None])


def _weights_of_images():
    numbers = np.random.default_rng(3).standard_normal
    shapes = {
        "first": (16, 3, 3, 3),
        "bias": (16,),
        "each": (16, 1, 3, 3),
        "groups": (16, 8, 2, 2),
        "back": (3, 3, 16, 4),
        "table": (64, 5),
    }
    made = {name: numbers(shape, "f4") for name, shape in shapes.items()}
    return made | {"scale": 1 + np.abs(numbers(16, "f4")), "shift": numbers(16, "f4")}


@pytest.mark.parametrize("size", SIZES)
def test_images_under_jit_have_the_bits_of_one_device(size):
    """Of a divided batch, images are exchanged for channels where a norm needs the whole batch, and back."""
    mesh, p = _mesh(size), _weights_of_images()
    x = np.random.default_rng(4).standard_normal((8, 3, 15, 15), "f4")

    def loss(p, x):
        y = _images(p, x)
        return rj.sum(rj.multiply(y, y))

    gradient = jax.jit(jax.grad(loss, argnums=(0, 1)))
    expected = jax.jit(_images)(p, x), gradient(p, x)
    placed, images = {k: _placed(mesh, v) for k, v in p.items()}, _placed(mesh, x, "d")
    found = jax.jit(_images)(placed, images), gradient(placed, images)
    jax.tree.map(
        lambda a, b: np.testing.assert_array_equal(np.asarray(a).view("u4"), np.asarray(b).view("u4")), expected, found
    )
    assert [what for what, _ in _collectives(_images, placed, images)] == ["all-to-all"] * (2 if size > 1 else 0)


def test_channels_that_are_divided():
    """Weights of a layer that are divided over its output channels, as those of columns of a product: nothing is sent."""
    mesh, p = _mesh(4), _weights_of_images()
    x = np.random.default_rng(4).standard_normal((8, 3, 15, 15), "f4")

    def layer(x, w, b, scale):
        return rj.max_pool2d(
            rj.batch_norm(rj.conv_general_dilated(x, w, (1, 1), "SAME", bias=b), None, None, scale, b, training=True), 2
        )

    given = x, p["first"], p["bias"], p["scale"]
    placed = _placed(mesh, x), *(_placed(mesh, a, "d") for a in given[1:])
    assert _bits(jax.jit(layer)(*placed), "f32") == _bits(jax.jit(layer)(*given), "f32")
    assert _collectives(layer, *placed) == []


def test_what_is_sent():
    mesh = _mesh(4)
    x, w = _placed(mesh, np.ones((64, 32), "f4"), "d"), _placed(mesh, np.ones((32, 16), "f4"))
    assert _collectives(rj.matmul, x, w) == []
    assert (
        _collectives(rj.matmul, _placed(mesh, np.ones((64, 32), "f4")), _placed(mesh, np.ones((32, 16), "f4"), None, "d"))
        == []
    )
    # A sum over the divided axis: parts are exchanged, and only the result is gathered.
    assert ("all-gather", "f32[64,32]") not in _collectives(lambda x: rj.sum(x, axis=0), x)


@pytest.mark.parametrize("size", SIZES)
def test_gradients_of_weights_gather_no_activations(size):
    """Both operands of a product over the batch are exchanged for features, and those of the smaller one go round. The result is gathered."""
    mesh = _mesh(size)

    def gathered(columns, bias=None):
        x, g = _numbers("f32", (64, 32)), _numbers("f32", (64, columns))[::-1].copy()
        placed = [_placed(mesh, a, "d") for a in (x, g)]
        if bias is not None:
            placed.append(_placed(mesh, bias))
        assert _bits(jax.jit(_weight)(*placed), "f32") == _bits(rm.matmul(x.T, g, bias=bias), "f32")
        return [kind for kind in _collectives(_weight, *placed) if kind[0] == "all-gather"]

    def _weight(x, g, b=None):
        return rj.matmul(x.T, g, bias=b)

    result = [("all-gather", "f32[32,16]")] if size > 1 else []
    assert gathered(16) == result
    assert gathered(16, bias=np.arange(16, dtype="f4")) == result
    few = gathered(3)  # a control: a feature for each device is needed
    assert (("all-gather", "f32[64,3]") in few or ("all-gather", "f32[3,64]") in few) == (size > 1)


def test_tables_that_are_divided_over_their_rows():
    """Parts of the columns go round, so that no device has the whole table; a part of a size of 0 does not."""
    mesh, table, index = _mesh(4), _numbers("f32", (64, 8)), np.arange(0, 64, 2)[::-1].copy()
    placed = _placed(mesh, index), _placed(mesh, table, "d")
    assert _bits(jax.jit(rj.embedding)(*placed), "f32") == _bits(table[index], "f32")
    assert "f32[64,8]" not in [shape for what, shape in _collectives(rj.embedding, *placed) if what == "all-gather"]
    empty = _placed(mesh, np.ones((8, 4), "f4"), "d"), _placed(mesh, np.ones((8, 0), "f4"), "d")
    assert jax.jit(lambda x, g: rj.matmul(x.T, g))(*empty).shape == (4, 0)


def test_gradients_of_weights_on_meshes_of_two_axes():
    """A batch that is divided over both axes goes round on all devices."""
    mesh = _mesh(8, (2, 4), ("a", "b"))
    x, g = _numbers("f32", (64, 32)), _numbers("f32", (64, 16))[::-1].copy()
    for spec in ((("a", "b"),), ("a",), ("b",), ("a", "b")):
        placed = [_placed(mesh, a, *spec) for a in (x, g)]
        assert _bits(jax.jit(lambda x, g: rj.matmul(x.T, g))(*placed), "f32") == _bits(rm.matmul(x.T, g), "f32")
        if len(spec) == 1:
            gathered = [
                shape for what, shape in _collectives(lambda x, g: rj.matmul(x.T, g), *placed) if what == "all-gather"
            ]
            assert gathered == ["f32[32,16]"]


def test_axes_that_are_summed_or_read_as_a_whole():
    """Divided operands in every place: the bits are those of one device."""
    mesh = _mesh(8, (2, 4), ("a", "b"))
    x, y = _numbers("f32", (8, 12)), _numbers("f32", (12, 8))[:, ::-1].copy()
    product, total, rows = rm.matmul(x, y), rm.sum(x, axis=0), rm.nn.softmax(x)
    for spec in ((None, "b"), ("a", "b"), (("a", "b"),)):
        for other in (("b",), ("b", "a"), (None, "a")):
            assert _bits(jax.jit(rj.matmul)(_placed(mesh, x, *spec), _placed(mesh, y, *other)), "f32") == _bits(
                product, "f32"
            )
        assert _bits(jax.jit(rj.sum, static_argnums=1)(_placed(mesh, x, *spec), 0), "f32") == _bits(total, "f32")
        assert _bits(jax.jit(rj.softmax)(_placed(mesh, x, *spec)), "f32") == _bits(rows, "f32")


def test_jax_has_what_meshes_ask_for():
    """A canary: private interfaces of JAX."""
    from jax._src import dispatch

    assert isinstance(dispatch.prim_requires_devices_during_lowering, set)
    assert jax.config.jax_use_shardy_partitioner
