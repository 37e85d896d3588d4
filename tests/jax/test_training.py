"""repmath.jax: optimisers, random numbers, transformations of whole programs, and a network trained to the bits of the NumPy face."""

import sys

import numpy as np
import pytest
from jax_checks import jax, numbers, same

import repmath as rm
import repmath.jax as rj
from repmath import optim

jnp, lax = jax.numpy, jax.lax
BF16 = np.dtype(jnp.bfloat16)


OPTIMIZERS = {
    "sgd": (lambda: rj.sgd(0.1), lambda p: optim.SGD(p, 0.1)),
    "nesterov": (
        lambda: rj.sgd(0.1, 0.9, weight_decay=1e-3, nesterov=True),
        lambda p: optim.SGD(p, 0.1, 0.9, weight_decay=1e-3, nesterov=True),
    ),
    "dampened": (lambda: rj.sgd(0.1, 0.9, dampening=0.5), lambda p: optim.SGD(p, 0.1, 0.9, dampening=0.5)),
    "adam": (lambda: rj.adam(1e-2, maximize=True), lambda p: optim.Adam(p, 1e-2, maximize=True)),
    "adamw": (lambda: rj.adamw(1e-2, amsgrad=True), lambda p: optim.AdamW(p, 1e-2, amsgrad=True)),
}


@pytest.mark.parametrize("add", ["repmath", "optax"])
def test_optimizers(add):
    """All of them in one program; optax.apply_updates adds an update to a parameter and gets the new parameter."""
    apply = (
        rj.apply_updates if add == "repmath" else pytest.importorskip("optax", reason="Optax is not installed").apply_updates
    )
    ours = {name: make() for name, (make, _) in OPTIMIZERS.items()}
    params = {name: {"a": numbers(1, 5, 3), "b": numbers(2, 4).astype(BF16)} for name in ours}
    theirs = {name: make({k: v for k, v in params[name].items()}) for name, (_, make) in OPTIMIZERS.items()}
    new = jax.tree.map(jnp.array, params)
    states = {name: o.init(new[name]) for name, o in ours.items()}

    @jax.jit
    def step(params, states, grads):
        out = {}
        for name, o in ours.items():
            updates, state = o.update(grads, states[name], params[name])
            out[name] = (apply(params[name], updates), state)
        return {n: p for n, (p, _) in out.items()}, {n: s for n, (_, s) in out.items()}

    for i in range(3):
        grads = {"a": numbers(10 + i, 5, 3), "b": numbers(20 + i, 4).astype(BF16)}
        new, states = step(new, states, grads)
        for name, o in theirs.items():
            o.step(grads)
            for k, v in params[name].items():
                same(new[name][k], v)
    assert int(states["adam"].count) == 3


@pytest.mark.parametrize("chained", [False, True])
def test_a_step_after_several_gradients(chained):
    """multi_steps is the optimiser's step by the exact mean; until then parameters and states stay. Inside of jit and outside."""
    inner = rj.adamw(1e-2)
    if chained:
        inner = pytest.importorskip("optax", reason="Optax is not installed").chain(inner)
    ours, every = rj.multi_steps(inner, 3), 3
    params = {"a": numbers(1, 5, 3), "b": numbers(2, 4).astype(BF16)}
    theirs = optim.AdamW({k: v for k, v in params.items()}, 1e-2)
    new = jax.tree.map(jnp.array, params)
    state, step = ours.init(new), jax.jit(lambda g, s, p: (lambda u, t: (rj.apply_updates(p, u), t))(*ours.update(g, s, p)))
    seen = {"a": [], "b": []}
    for i in range(7):
        grads = {"a": numbers(10 + i, 5, 3), "b": numbers(20 + i, 4).astype(BF16)}
        new, state = step(grads, state, new)
        for k, v in grads.items():
            seen[k].append(v)
        if i % every == every - 1:
            theirs.step({k: rm.mean(np.stack(v), axis=0) for k, v in seen.items()})
            seen = {"a": [], "b": []}
        for k, v in params.items():
            same(new[k], v)
    assert int(state.count) == 1
    updates, _ = ours.update(grads, state, new)
    same(rj.apply_updates(new, updates)["a"], params["a"])
    means = np.mean(np.stack([numbers(10 + i, 5, 3) for i in range(3)]), axis=0)
    assert not np.array_equal(means, rm.mean(np.stack([numbers(10 + i, 5, 3) for i in range(3)]), axis=0))  # data that tell


@pytest.mark.parametrize("compiled", [False, True])
def test_multi_steps_of_optax(compiled):
    """It multiplies updates by True or False in a branch; parameters that XLA's arithmetic would change stay as they are in between."""
    optax = pytest.importorskip("optax", reason="Optax is not installed")
    params = {"a": numbers(1, 5, 3), "b": numbers(2, 4).astype(BF16)}
    params["a"][0] = [1e-40, -0.0, np.inf]
    params["b"][:2] = [1e-40, np.nan]
    wrapped, theirs = optax.MultiSteps(rj.adamw(1e-2), 2), optim.AdamW({k: v for k, v in params.items()}, 1e-2)
    update = jax.jit(wrapped.update) if compiled else wrapped.update
    new = jax.tree.map(jnp.array, params)
    state = wrapped.init(new)
    for i in range(6 if compiled else 2):
        grads = {k: np.full_like(v, i % 3 - 0.5) for k, v in params.items()}  # whose mean is exact in every arithmetic
        updates, state = update(grads, state, new)
        new = optax.apply_updates(new, updates)
        if i % 2:
            theirs.step({k: (np.full_like(v, (i % 3 + (i - 1) % 3) / 2 - 0.5)) for k, v in params.items()})
        for k, v in params.items():
            same(new[k], v)


@pytest.mark.parametrize(
    ("make", "constants"),
    [(rj.adam, ["b1", "b2", "eps", "weight_decay"]), (rj.sgd, ["momentum", "dampening", "weight_decay"])],
)
def test_an_injected_rate(make, constants):
    """The rate may be injected, and changed in the state, inside of a jitted function; the other hyperparameters are constants."""
    optax = pytest.importorskip("optax", reason="Optax is not installed")
    p, g = numbers(1, 50), numbers(2, 50)
    injected = optax.inject_hyperparams(make, static_args=constants)(learning_rate=0.5)
    state = injected.init(p)
    state.hyperparams["learning_rate"] = jnp.float32(0.25)
    same(jax.jit(injected.update)(g, state, p)[0] + p, make(0.25).update(g, make(0.25).init(p), p)[0] + p)
    with pytest.raises(TypeError, match=rf"^{constants[0]} must be a Python number.*static_args=.*weight_decay"):
        optax.inject_hyperparams(make)(learning_rate=0.5).init(p)
    if make is rj.adam:
        with pytest.raises(ValueError, match="^b2 must be"):
            make(0.1, b2=1.0)


def test_arguments_of_multi_steps():
    for bad, error in [(0, ValueError), (2.0, TypeError), (True, TypeError)]:
        with pytest.raises(error, match="every must be"):
            rj.multi_steps(rj.sgd(0.1), bad)
    o, p = rj.multi_steps(rj.sgd(0.1), 2), jnp.ones(3)
    with pytest.raises(ValueError, match="update needs params"):
        o.update(p, o.init(p))
    with pytest.raises(ValueError, match="a gradient or state has shape"):
        o.update(jnp.ones(2), o.init(p), p)


def test_rates():
    """A Python number is exact; an array counts as what it holds; a schedule sees the number of steps."""
    p, g = numbers(1, 50), numbers(2, 50)
    for rate, exact in [(0.1, 0.1), (np.float32(0.1), float(np.float32(0.1))), (lambda count: 0.5 / (count + 1), 0.5)]:
        o, q = rj.sgd(rate), p.copy()
        updates, _ = o.update(g, o.init(p), p)
        optim.SGD([q], exact).step([g])
        same(rj.apply_updates(p, updates), q)


def test_an_update_is_nothing_but_an_update():
    o, p = rj.adam(1e-3), jnp.ones(3)
    updates, state = o.update(p, o.init(p), p)
    with pytest.raises(TypeError):
        updates * 2.0
    for change in (lambda u: u * 2.0, lambda u: u / 2, lambda u: u.astype(jnp.float32)):
        with pytest.raises(TypeError, match="kept or dropped"):
            p + jax.tree.map(change, updates)
    for change in (lambda u: jax.tree.map(jnp.add, u, u), lambda u: jax.tree.map(lambda v: 3 * v, u)):
        with pytest.raises(TypeError, match="kept or dropped"):
            p + change(updates)
        assert jnp.isnan(jax.jit(lambda p, u, change=change: p + change(u))(p, updates)).all()
    assert repr(jax.jit(lambda u: u)(updates)) == repr(updates) == f"Updated({p + updates!r})"
    assert "mark=" in repr(jax.tree.map(jnp.zeros_like, updates)) and "mark=None" in repr(
        jax.tree.map(lambda _: None, updates)
    )
    same(p + jax.tree.map(jnp.zeros_like, updates), p)
    same(p + jax.jit(lambda u: u)(updates), p + updates)
    batch = jax.vmap(lambda q: o.update(q, state, q)[0])(jnp.stack([p, p]))
    same(jnp.stack([p, p]) + batch, jnp.stack([p + updates] * 2))
    with pytest.raises(TypeError, match="must come from repmath.jax.optim"):
        rj.apply_updates(p, p)
    with pytest.raises(ValueError, match="needs params"):
        o.update(p, state)
    with pytest.raises(ValueError, match="the update is of a parameter of shape"):
        jnp.ones(2) + updates
    with pytest.raises(ValueError, match="^b1 must be"):
        rj.adam(1e-3, b1=1.5)
    with pytest.raises(NotImplementedError, match="no derivative"):
        jax.grad(lambda p: rj.apply_updates(p, o.update(p, state, p)[0]).sum())(p)


def test_random_numbers():
    ours, theirs = rj.random, rm.random
    found = jax.jit(
        lambda: (
            ours.uniform(5, (3, 4), -1, 2, stream=2, offset=7),
            ours.normal(2**63 + 5, 6, 1.5, 0.1, dtype=BF16),
            ours.truncated_normal(1, 9, low=-1.0),
            ours.bernoulli(1, 9, 0.3),
            ours.randint(1, 9, -5, 100),
            ours.permutation(1, 10),
            ours.bits(1, 5),
        )
    )()
    wanted = (
        theirs.uniform(5, (3, 4), -1, 2, stream=2, offset=7, dtype="f4"),
        theirs.normal(2**63 + 5, 6, 1.5, 0.1, dtype=BF16),
        theirs.truncated_normal(1, 9, low=-1.0, dtype="f4"),
        theirs.bernoulli(1, 9, 0.3),
        theirs.randint(1, 9, -5, 100, dtype="i4"),
        theirs.permutation(1, 10).astype("i4"),
        theirs.bits(1, 5),
    )
    for a, b in zip(found, wanted, strict=True):
        same(a, b)
    with pytest.raises(ValueError, match="p must be from 0 to 1"):
        ours.bernoulli(1, 3, 1.5)
    with pytest.raises(ValueError, match="seed must be"):
        ours.uniform(-1, 3)


def test_random_numbers_of_traced_places():
    """The number of a step may be the stream; vmap over it, and dropout with its gradient."""
    x = numbers(1, 5, 4)
    rows = jax.jit(jax.vmap(lambda i: rj.random.uniform(3, 4, stream=i)))(jnp.arange(3))
    same(rows, np.stack([rm.random.uniform(3, 4, stream=i, dtype="f4") for i in range(3)]))
    y, g = jax.jit(lambda x, i: (lambda y, back: (y, back(x)[0]))(*jax.vjp(lambda x: rj.dropout(x, 0.3, 9, stream=i), x)))(
        x, 4
    )
    same(y, rm.random.dropout(x, 0.3, 9, stream=4))
    same(g, rm.random.dropout_backward(x, 0.3, 9, stream=4))
    with pytest.raises(Exception, match="argument 'offset'"):
        jax.block_until_ready(jax.jit(lambda i: rj.random.uniform(3, 4, offset=i))(-1))


def test_scan_and_checkpoint():
    """A recurrence: its gradient is the chain of exact products, added by JAX step by step."""
    w, h = numbers(1, 4, 4), numbers(2, 3, 4)

    def f(h, w):
        return lax.scan(lambda h, _: (rj.tanh(rj.matmul(h, w)), None), h, None, length=3)[0]

    y, (d,) = jax.jit(lambda h: (lambda y, back: (y, back(jnp.ones_like(y))))(*jax.vjp(lambda h: f(h, w), h)))(h)
    steps = []
    for _ in range(3):
        steps.append(rm.matmul(h, w))
        h = rm.tanh(steps[-1])
    g = np.ones_like(h)
    for z in reversed(steps):
        g = rm.matmul(rm.tanh_backward(g, z), w.T)
    same(y, h)
    same(d, g)
    again = jax.jit(jax.vmap(jax.grad(jax.checkpoint(lambda h: rj.sum(f(h, w))))))(numbers(2, 3, 4)[:, None])
    same(np.asarray(again)[:, 0], g)


def test_shard_map():
    """Examples on two devices: no bit changes, and a gradient of replicated weights is the sum of two exact ones."""
    if len(jax.devices()) < 2:
        pytest.skip("JAX began with one device in this process")
    from jax.sharding import AxisType
    from jax.sharding import PartitionSpec as P

    x, w = numbers(1, 8, 4), numbers(2, 4, 3)
    mesh = jax.make_mesh((2,), ("d",), axis_types=(AxisType.Auto,))

    def f(w, x):
        return rj.softmax(rj.matmul(rj.gelu(x), w))

    y = jax.jit(jax.shard_map(f, mesh=mesh, in_specs=(P(), P("d")), out_specs=P("d")))(w, x)
    same(y, rm.nn.softmax(rm.matmul(rm.gelu(x), w)))

    def loss(w, x):
        return lax.psum(rj.sum(rj.matmul(x, w)), "d")

    d = jax.jit(jax.grad(jax.shard_map(loss, mesh=mesh, in_specs=(P(), P("d")), out_specs=P())))(w, x)
    halves = [rm.matmul(part.T, np.ones((4, 3), "f4")) for part in (x[:4], x[4:])]
    same(d, rm.add(*halves))


def test_network_has_the_bits_of_numpy(example):
    """Three steps in both; and the gradient is that of the same images in another order, to the bit."""
    ours, digest = example("digits_jax")
    assert digest == example("digits_numpy")[1]
    (x, y), _ = ours.digits.data(96)
    params, order = ours.digits.weights(), np.arange(32)[::-1]
    gradients = jax.jit(jax.grad(ours.loss))
    one, other = gradients(params, x[:32], y[:32]), gradients(params, x[:32][order], y[:32][order])
    jax.tree.map(same, one, other)
    rows = jax.jit(ours.forward)
    same(rows(params, x[:32])[3:4], rows(params, x[3:4]))


def test_network_in_flax(example):
    pytest.importorskip("flax", reason="Flax is not installed")
    pytest.importorskip("optax", reason="Optax is not installed")
    assert example("digits_flax")[1] == example("digits_numpy")[1]


def test_other_versions_are_refused(monkeypatch):
    from repmath.jax import _version

    monkeypatch.setattr(jax, "__version__", "0.4.30")
    with pytest.raises(ImportError, match=r"needs JAX 0\.10 or newer, and JAX 0\.4\.30 is installed: pip install"):
        _version.check()
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(ImportError, match=r"pip install 'repmath\[jax\]'"):
        _version.check()
