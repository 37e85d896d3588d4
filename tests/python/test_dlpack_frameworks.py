"""PyTorch's and JAX's arrays in the NumPy-facing functions: the bits of NumPy, no copy, and no gradient lost unseen."""

import subprocess
import sys

import numpy as np
import pytest
from dlpack_producer import address, ml_dtypes

import repmath
from repmath import _dlpack, nn, optim
from repmath._environment import guarded
from repmath.dlpack import from_dlpack

BF16 = np.dtype(ml_dtypes.bfloat16)
FORMATS = ["float16", "bfloat16", "float32", "float64"]
rng = np.random.default_rng(11)


def as_numpy(name, *shape):
    dtype = BF16 if name == "bfloat16" else np.dtype(name)
    return rng.standard_normal(shape).astype(dtype)


def same(got, want):
    return got.dtype == want.dtype and got.shape == want.shape and got.tobytes() == want.tobytes()


seen: list[int] = []


@guarded
def negate(x):
    """What a public function does, with the address of its argument told."""
    seen.append(address(x))
    return np.negative(x)


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="needs PyTorch")


@pytest.mark.parametrize("name", FORMATS)
def test_torch_tensors_are_not_copied(torch, name):
    a = as_numpy(name, 4, 6)
    for t in (
        torch.from_dlpack(_dlpack.Exported(a)),
        torch.from_dlpack(_dlpack.Exported(a)).clone().t()[1::2, 1:],
        torch.zeros(3, dtype=getattr(torch, name)).expand(2, 3),
        torch.ones((), dtype=getattr(torch, name)),
        torch.empty(2, 3, 4, 5, dtype=getattr(torch, name)).fill_(2).to(memory_format=torch.channels_last),
    ):
        x = from_dlpack(t)
        assert address(x) == t.data_ptr() and x.shape == tuple(t.shape) and x.flags.writeable
        assert [s * t.element_size() for s in t.stride()] == list(x.strides)
        assert same(from_dlpack(torch.from_dlpack(_dlpack.Exported(x))), x)
        result = negate(t)
        assert seen.pop() == t.data_ptr() and result.dtype == t.dtype and same(from_dlpack(result), np.negative(x))
    made = torch.from_dlpack(_dlpack.Exported(a))
    assert made.data_ptr() == address(a)


@pytest.mark.parametrize("name", FORMATS)
def test_torch_results_have_the_bits_of_numpy(torch, name):
    dtype = getattr(torch, name)
    a, b = as_numpy(name, 4, 6), as_numpy(name, 6, 3)
    x, y = from_torch = [torch.from_dlpack(_dlpack.Exported(v.copy())) for v in (a, b)]
    for call in (
        lambda p, q: repmath.matmul(p, q),
        lambda p, q: nn.softmax(p),
        lambda p, q: repmath.sum(p, axis=0),
        lambda p, q: repmath.mean(p),
        lambda p, q: repmath.dlpack.gelu(p),
    ):
        got, want = call(*from_torch), call(a, b)
        assert type(got) is torch.Tensor and got.dtype == dtype and same(from_dlpack(got), np.asarray(want))
    out = torch.zeros(4, 3, dtype=dtype)
    assert repmath.matmul(x, y, out) is out and same(from_dlpack(out), repmath.matmul(a, b))
    index = torch.tensor([1, 0, 1])
    at = x.data_ptr()
    assert repmath.index_add(x, index, x[:3].clone(), out=x) is x and x.data_ptr() == at
    assert same(from_dlpack(x), repmath.index_add(a, index.numpy(), a[:3]))
    values, places = nn.max_pool2d(torch.ones(1, 1, 4, 4, dtype=dtype), 2, return_indices=True)
    assert values.dtype == dtype and places.dtype == torch.int64
    assert repmath.digest(x) == repmath.digest(from_dlpack(x)) and repmath.matmul(x, b).dtype == dtype


def test_torch_optimisers_update_tensors(torch):
    p = {"w": as_numpy("float32", 3, 4), "b": as_numpy("bfloat16", 4)}
    g = {"w": as_numpy("float32", 3, 4), "b": as_numpy("bfloat16", 4)}
    tensors = {k: torch.from_dlpack(_dlpack.Exported(v.copy())).requires_grad_() for k, v in p.items()}
    one, other = optim.AdamW(p), optim.AdamW({k: t.detach() for k, t in tensors.items()})
    for _ in range(2):
        one.step(g)
        other.step({k: torch.from_dlpack(_dlpack.Exported(v)) for k, v in g.items()})
    assert all(same(from_dlpack(tensors[k].detach()), p[k]) for k in p)
    with pytest.raises(BufferError, match="require gradient"):
        optim.SGD(tensors)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")
def test_torch_gradients_are_not_lost_unseen(torch):
    x = torch.ones(3, requires_grad=True)
    for call in (nn.softmax, repmath.sum, repmath.dlpack.exp, lambda t: repmath.matmul(t, t), repmath.digest):
        with pytest.raises(BufferError, match="require gradient, use tensor.detach"):
            call(x)
    with pytest.raises(RuntimeError, match="requires grad"):
        repmath.exp(x)
    with pytest.raises(BufferError) as caught:
        repmath.mean(x * 2)
    assert caught.value.__notes__ == ["repmath: from the argument a"]
    assert type(nn.softmax(x.detach())) is torch.Tensor
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(torch.ones(3), torch.ones(3))
        with pytest.raises(BufferError, match="input carries a tangent"):
            nn.softmax(dual)
    for transform in (torch.vmap(nn.softmax), torch.func.grad(lambda t: nn.softmax(t).sum())):
        with pytest.raises((RuntimeError, BufferError)):
            transform(torch.ones(2, 3))


def test_torch_tensors_whose_memory_is_not_their_value(torch):
    conjugate = torch.ones(2, dtype=torch.complex64).mul(1j).conj()
    with pytest.raises(BufferError, match="conjugate bit"):
        from_dlpack(conjugate)
    assert conjugate.imag.is_neg()
    with pytest.raises(BufferError, match="a has the negative bit set"):
        repmath.sum(conjugate.imag)
    assert repmath.sum(conjugate.imag.resolve_neg()) == -2
    for t in (torch.eye(2).to_sparse(), torch.ones(2, device="meta")):
        with pytest.raises((BufferError, ValueError)) as caught:
            repmath.sum(t)
        assert caught.value.__notes__ == ["repmath: from the argument a"]


# NumPy asks __array_wrap__ for more arguments than PyTorch's has.
@pytest.mark.filterwarnings("ignore:.*__array_wrap__.*:DeprecationWarning")
def test_torch_tensors_in_ufuncs(torch):
    """What docs/dlpack.md says of NumPy's own way."""
    t = torch.tensor([0.5, 2.0])
    assert type(repmath.exp(t)) is torch.Tensor and same(repmath.exp(t).numpy(), repmath.exp(t.numpy()))
    with pytest.raises(TypeError, match="BFloat16"):
        repmath.exp(t.bfloat16())
    with pytest.raises(TypeError, match="ArrayType"):
        repmath.exp(t, out=torch.zeros(2))
    out = torch.zeros(2, dtype=torch.bfloat16)
    assert repmath.dlpack.exp(t.bfloat16(), out=out) is out
    assert same(from_dlpack(out), repmath.exp(t.numpy().astype(BF16)))


@pytest.fixture(scope="module")
def jnp():
    return pytest.importorskip("jax.numpy", reason="needs JAX")


@pytest.mark.parametrize("name", FORMATS[:3])
def test_jax_arrays(jnp, name):
    a, b = as_numpy(name, 4, 6), as_numpy(name, 6, 3)
    x, y = jnp.asarray(a), jnp.asarray(b)
    seen_by_us = from_dlpack(x)
    assert address(seen_by_us) == x.unsafe_buffer_pointer() and not seen_by_us.flags.writeable and same(seen_by_us, a)
    for call in (
        lambda p, q: repmath.matmul(p, q),
        lambda p, q: nn.softmax(p),
        lambda p, q: repmath.sum(p, axis=0),
        lambda p, q: repmath.mean(p),
        lambda p, q: repmath.dlpack.gelu(p),
        lambda p, q: repmath.sum(q.T, axis=0),
    ):
        got, want = call(x, y), call(a, b)
        assert type(got) is type(x) and same(np.asarray(got), np.asarray(want))
    # aligned as JAX wants it, memory is not copied on the way back
    room = np.zeros(256, np.uint8)
    aligned = room[-address(room) % 64 :][:64].view(a.dtype)
    assert jnp.from_dlpack(_dlpack.Exported(aligned)).unsafe_buffer_pointer() == address(aligned)


def test_jax_arrays_are_not_written(jnp):
    x, g = jnp.arange(6.0), jnp.ones(6)
    for call, text in (
        (lambda: repmath.cumsum(x, out=x), "out is read-only"),
        (lambda: repmath.index_add(g, [1], g[:1], out=x), "out is read-only"),
        (lambda: repmath.dlpack.exp(g, out=x), "read-only"),
        (lambda: optim.sgd_step(x, g, lr=0.1), "param is read-only"),
        (lambda: optim.SGD({"w": x}), r"params\['w'\] is read-only"),
        (lambda: optim.clip_grad_norm([x], 0.1), "read-only"),
        (lambda: nn.batch_norm(jnp.ones((3, 6)), x, None, training=True), "running_mean is read-only"),
    ):
        with pytest.raises(ValueError, match=text):
            call()
    assert np.asarray(x).tolist() == [0, 1, 2, 3, 4, 5]


def test_jax_without_64_bits_rounds_nothing_twice(jnp):
    import jax

    integers = jnp.arange(5)
    with pytest.raises(TypeError, match="the result is float64, for which float32"):
        repmath.mean(integers)
    assert repmath.mean(integers, dtype=np.float32) == 2
    places = nn.max_pool1d(jnp.ones((1, 1, 4)), 2, return_indices=True)[1]
    assert places.tolist() == [[[0, 2]]]  # integers that fit
    with jax.enable_x64(True):
        assert repmath.mean(integers).dtype == np.float64


def test_jax_traces_are_refused(jnp):
    import jax

    for transform in (jax.jit(nn.softmax), jax.vmap(nn.softmax), jax.grad(lambda t: nn.softmax(t).sum())):
        with pytest.raises(BufferError, match="input is a .*Tracer.* repmath.jax"):
            transform(jnp.ones((2, 3)))


def test_two_frameworks_do_not_mix(torch, jnp):
    with pytest.raises(TypeError, match="x1 is an array of torch and x2 one of jax"):
        repmath.matmul(torch.ones(2, 2), jnp.ones((2, 2)))


def test_importing_repmath_imports_no_framework():
    code = "import sys, repmath; print([m for m in ('torch', 'jax', 'jaxlib') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
