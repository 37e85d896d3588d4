"""Arrays of a GPU through DLPack, with the host as the device (tests/cuda/emulate.h): the bits of the same call with NumPy arrays, in
the caller's framework and memory, in the order of its streams."""

import ctypes
import gc
import types

import numpy as np
import pytest
from dlpack_producer import Framework, Producer, address, ml_dtypes, numbers
from dlpack_samples import flat
from dlpack_samples import same as equal
from native import emulated_cuda
from public_calls import CALLS, X, Y, floats

import repmath
from repmath import _dlpack
from repmath._cuda import _array, _library, _staging

GPU = (2, 0)


class Record(ctypes.Structure):
    """emulated_record."""

    _fields_ = [("blocks", ctypes.c_int64)] + [(name, ctypes.c_void_p) for name in ("released_on", "waiting", "awaited")]
    _fields_ += [(name, ctypes.c_int64) for name in ("host_waits", "before_refusal", "captured", "taken")]


class CudaFramework(Framework):
    """Its results are arrays over the memory that repmath lends, taken on a stream of its own."""

    stream = 7

    def from_dlpack(self, x):
        assert x.__dlpack_device__() == GPU
        capsule = x.__dlpack__(stream=self.stream, max_version=(1, 0))
        at, shape, strides, dtype, read_only, memory = _dlpack.on_device("result", capsule)
        assert not read_only
        buffer = (ctypes.c_char * max(1, int(np.prod(shape)) * dtype.itemsize)).from_address(at or ctypes.addressof(Record()))
        array = self.Array(np.ndarray(shape, dtype, buffer, 0, strides), device=GPU)
        array.memory = memory
        return array

    def of(self, array, **keywords):
        return self.Array(array, device=GPU, **keywords)


def same(got, want):
    """Whether results are equal; arrays are the framework's."""
    for one, other in zip(flat(got), flat(want), strict=True):
        if isinstance(other, (np.ndarray, np.generic)):
            assert one.device == GPU and equal(one.array, np.asarray(other))
        else:
            assert one == other and type(one) is type(other)


@pytest.fixture(scope="module")
def device():
    """The emulated library in place of a GPU's; what its device records."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REPMATH_CUDA_LIBRARY", str(emulated_cuda()))
        _library.load.cache_clear()
        ask = _library.load().emulated_device
        ask.restype = ctypes.POINTER(Record)
        yield ask().contents
    _library.load.cache_clear()


@pytest.fixture
def how(device):
    """Counts calls by where they were computed, from the beginning of the test."""
    _staging.calls.clear()
    return _staging.calls


# What is computed in main memory: other functions have launchers.
IN_MAIN_MEMORY = {
    "beta", "bincount", "binomial", "chisquare", "digest", "dirichlet", "embedding", "gamma", "max_pool1d_backward", "max_pool2d_backward",
    "max_pool3d_backward", "permutation", "poisson", "scatter_add", "segment_sum", "to_float8",
}  # fmt: skip


@pytest.mark.parametrize(
    ("module", "name", "arguments", "keywords"),
    [(module, *call) for module, calls in CALLS.items() for call in calls],
    ids=lambda part: part if isinstance(part, str) else None,
)
def test_a_call_has_the_bits_of_numpy_on_the_device(how, module, name, arguments, keywords):
    function, framework = getattr(module, name), CudaFramework("gpu")
    own = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    expected = function(*own, **keywords)
    lent = [framework.of(a.copy()) if isinstance(a, np.ndarray) else a for a in arguments]
    others = {key: framework.of(v) if isinstance(v, np.ndarray) else v for key, v in keywords.items()}
    got = function(*lent, **others)
    same(got, expected)
    for a, b in zip(lent, own, strict=True):  # what is written in place, too
        if isinstance(b, np.ndarray):
            assert a.array.tobytes() == b.tobytes()
            assert all(deleted == 1 for deleted in a.deleted)
    masked = name == "scaled_dot_product_attention_backward"
    in_main_memory = (
        name in IN_MAIN_MEMORY or module in (repmath.fft, repmath.linalg, repmath.special) or "where" in keywords or masked
    )
    assert how == {"in main memory" if in_main_memory else "on the device": 1}


@pytest.mark.parametrize("dtype", ["f2", ml_dtypes.bfloat16, "f4", "f8"], ids=str)
def test_elementwise_functions(how, dtype):
    framework = CudaFramework("gpu")
    values = [floats(5, 12), np.abs(floats(5, 12)) % 1, floats(1, 12)]
    for name, ufunc in repmath._core.ufuncs.items():
        arguments = [v.astype(dtype)[:, ::2] for v in values[: ufunc.nin]]
        with np.errstate(all="ignore"):
            expected = ufunc(*arguments)
        got = getattr(repmath.dlpack, name)(*map(framework.of, arguments))
        same(got, expected)
        out = framework.of(np.zeros((6, 5), dtype).T)
        assert getattr(repmath.dlpack, name)(*map(framework.of, arguments), out=out) is out
        same(out, expected)
    assert set(how) == {"on the device"}
    x = floats(3, 4).astype(dtype)
    same(repmath.dlpack.multiply(framework.of(x), 2), repmath.multiply(x, x.dtype.type(2)))


def test_formats_and_sizes(how):
    framework = CudaFramework("gpu")
    for dtype in ("f2", ml_dtypes.bfloat16, "f4", "f8"):
        a, b = floats(2, 1, 5, 7).astype(dtype), floats(3, 7, 4).astype(dtype)
        same(repmath.matmul(framework.of(a), framework.of(b)), repmath.matmul(a, b))
        same(repmath.sum(framework.of(a), axis=(0, 3)), repmath.sum(a, axis=(0, 3)))
        line = floats(5000).astype(dtype)
        same(repmath.sum(framework.of(line)), repmath.sum(line))
        same(repmath.dot(framework.of(line), framework.of(line)), repmath.dot(line, line))
        same(repmath.sum(framework.of(line[:0])), repmath.sum(line[:0]))
        same(repmath.matmul(framework.of(a[..., :0]), framework.of(b[:, :0])), repmath.matmul(a[..., :0], b[:, :0]))
    assert set(how) == {"on the device"}
    how.clear()
    same(repmath.sum(framework.of(np.arange(10))), repmath.sum(np.arange(10)))  # not of a format of the launchers
    same(repmath.matmul(framework.of(X), framework.of(X.T.astype("f8"))), repmath.matmul(X, X.T.astype("f8")))
    same(repmath.sum(framework.of(X), dtype="f8"), repmath.sum(X, dtype="f8"))
    same(repmath.dlpack.add(framework.of(X), Y), repmath.add(X, Y))
    same(repmath.rounding.exp(framework.of(X), "down"), repmath.rounding.exp(X, "down"))
    assert how == {"in main memory": 5}
    total = repmath.Accumulator(framework.of(X))
    total.add_products(framework.of(X), framework.of(Y))
    expected = repmath.Accumulator(X)
    expected.add_products(X, Y)
    assert total.to_bytes() == expected.to_bytes()


def test_views_are_those_of_numpy(device):
    """And reshape copies only where NumPy has to."""
    place, rng = _array.Place(0, 1), np.random.default_rng(3)

    def lent(a):
        return _array.Array(place, address(a), a.shape, a.strides, a.dtype, a)

    copies = 0
    for trial in range(400):
        shape = tuple(rng.integers(0 if trial % 9 == 0 else 1, 5, rng.integers(1, 6)))
        a = numbers(np.dtype(rng.choice(["u1", "f2", "f4", "f8", "c16"])), shape, trial)
        a = a.transpose(rng.permutation(a.ndim))
        steps = tuple(slice(None, None, int(rng.choice([1, 1, 1, 2, -1]))) for _ in a.shape)
        index = steps[: rng.integers(0, a.ndim + 1)]
        base, a, x = a, a[index], lent(a)[index]
        wanted = tuple(rng.permutation([n for n in a.shape for n in ((2, n // 2) if n and n % 2 == 0 else (n,))]))
        if trial % 3 == 0:
            wanted = (-1, *a.shape[-1:]) if a.size else a.shape
        for view in (
            lambda v: v.T,
            lambda v, wanted=wanted: v.reshape(wanted),
            lambda v: np.moveaxis(v, 0, -1),
            lambda v: v[None, ..., 0:],
        ):
            want, got = view(a), view(x)
            assert got.shape == want.shape and _array.download(got).tobytes() == want.tobytes()
            if a.size:
                assert (got.owner is base) == np.shares_memory(want, a)
                copies += got.owner is not base
        assert _array.overlap(x, x) == (a.size > 0)
    assert copies > 50
    wide = numbers(np.dtype("f4"), (2,) * 12).transpose(range(11, -1, -1))
    assert _array.download(lent(wide)).tobytes() == wide.tobytes()  # more axes than a launch carries
    with pytest.raises(ValueError, match="cannot reshape"):
        lent(wide).reshape(3, -1)


def test_elements_are_not_read_here(device):
    x = _array.upload(_array.Place(0, 1), X)
    for use in (
        np.asarray,
        np.add,
        bool,
        float,
        np.concatenate,
        memoryview,
        lambda v: v[np.array([0])],
        lambda v: v.max(),
        hash,
    ):
        if use is not hash:
            with pytest.raises((_array.Unsupported, TypeError)):
                use(x, x) if use is np.add else use(x)
    assert not hasattr(x, "__array_interface__") and not hasattr(x, "__dlpack__")


def test_memory_is_given_back(device):
    framework = CudaFramework("gpu")
    gc.collect()
    before = device.blocks
    a = framework.of(X.copy())
    results = [
        repmath.nn.softmax(a),
        repmath.matmul(a, framework.of(X.T)),
        repmath.nn.embedding(framework.of(np.array([1])), a),
    ]
    assert device.blocks == before + 3
    with pytest.raises(ValueError, match="do not|elements"):
        repmath.matmul(a, a)
    del results
    gc.collect()
    assert device.blocks == before and all(n == 1 for n in a.deleted)
    assert device.released_on == framework.stream  # after what the consumer's stream does with it


def test_a_refused_call_keeps_the_message_and_leaves_nothing(device):
    """Each allocation and each filling of memory of a call, refused: the error is that call's alone, and all memory is given back."""
    framework, before = CudaFramework("gpu"), device.blocks
    index, probabilities = np.array([1, 0, 1]), floats(3, 5)
    calls = [
        lambda: repmath.index_add(framework.of(X.copy()), framework.of(index), framework.of(X[:3].copy())),
        lambda: repmath.matmul(framework.of(X.T.copy()), framework.of(X.copy())),
        lambda: repmath.nn.nll_loss(framework.of(probabilities), framework.of(np.array([0, 4, 2]))),
        lambda: repmath.nn.cross_entropy(framework.of(probabilities), framework.of(np.array([0, 4, 2]))),
        lambda: repmath.mean(framework.of(X.copy()), axis=1),
    ]

    def bits(call):
        got = call()  # whose memory lasts as long
        return got.array.tobytes()

    for call in calls:
        want, refused = bits(call), 0
        for after in range(30):
            device.before_refusal = after
            try:
                got = bits(call)
            except (RuntimeError, MemoryError) as error:
                assert "cudaErrorMemoryAllocation: out of memory" in str(error)
                refused += 1
            else:
                assert device.before_refusal >= 0 and got == want  # the call asks for no more
                break
            finally:
                device.before_refusal = -1
            assert bits(call) == want  # the error is not told again
        assert refused == after >= 2
    gc.collect()
    assert device.blocks == before


@pytest.mark.parametrize("wrong", [False, True])
def test_indices_out_of_range_are_seen_on_request(device, wrong):
    framework = CudaFramework("gpu")
    on_device = framework.of(X.copy())
    targets, scores = np.array([0, 7 if wrong else 4, 2]), floats(3, 5)
    repmath.dlpack.check_indices(on_device)
    for call in (
        lambda: repmath.index_add(
            framework.of(X.copy()), framework.of(targets % 8 // (1 if wrong else 4)), framework.of(X[:3].copy())
        ),
        lambda: repmath.nn.nll_loss(framework.of(scores), framework.of(targets)),
        lambda: repmath.nn.cross_entropy(framework.of(scores), framework.of(targets)),
    ):
        got = call()
        assert np.isnan(got.array).all() == wrong
        if wrong:
            with pytest.raises(IndexError, match="out of range in a call on this device"):
                repmath.dlpack.check_indices(on_device)
        repmath.dlpack.check_indices(on_device)
    repmath.dlpack.check_indices(X)
    with pytest.raises(TypeError, match="x must be an array, not int"):
        repmath.dlpack.check_indices(3)


def test_workspaces_of_the_caller(device):
    """A call measures what it takes, launches nothing meanwhile, and then takes that and nothing else; with less it is an error that says so."""
    x, out = floats(5, 40), np.full((5, 40), 7.0, np.float32)
    arguments = (
        _library.format_of("f32"),
        5,
        40,
        x.ctypes.data_as(ctypes.c_void_p),
        ctypes.c_ssize_t(160),
        ctypes.c_ssize_t(4),
    )
    arguments += out.ctypes.data_as(ctypes.c_void_p), ctypes.c_ssize_t(160), ctypes.c_ssize_t(4), None
    library, size = _library.load(), ctypes.c_size_t()
    taken = device.taken
    library.rm_cuda_measure_workspace()
    _library.checked("rm_cuda_softmax", *arguments)
    library.rm_cuda_end_workspace(ctypes.byref(size))
    assert size.value > 0 and device.taken == taken and (out == 7).all()
    memory = np.empty(size.value + 256, np.uint8)
    first = memory.ctypes.data + -memory.ctypes.data % 256
    for given in (size.value - 256, size.value):
        assert library.rm_cuda_use_workspace(ctypes.c_size_t(given), ctypes.c_void_p(first)) == 0
        try:
            if given < size.value:
                with pytest.raises(RuntimeError, match=f"more than the {given} bytes of workspace that it was given"):
                    _library.checked("rm_cuda_softmax", *arguments)
            else:
                _library.checked("rm_cuda_softmax", *arguments)
        finally:
            library.rm_cuda_end_workspace(None)
    assert device.taken == taken and equal(out, repmath.nn.softmax(x))
    _library.checked("rm_cuda_softmax", *arguments)
    assert device.taken > taken  # of the library's pool again
    for wrong in (None, first + 8):
        assert library.rm_cuda_use_workspace(ctypes.c_size_t(256), ctypes.c_void_p(wrong))


def test_streams(device, monkeypatch):
    framework = CudaFramework("gpu")
    a = framework.of(X.copy(), read_only=True)
    device.waiting = device.awaited = None
    waits = device.host_waits
    kept = repmath.nn.softmax(a)
    assert a.asked == [{"stream": 1, "max_version": (1, 3)}]  # the default stream, for which others wait
    assert (device.waiting, device.awaited) == (7, 1) and device.host_waits == waits  # and the consumer's for it
    repmath.optim.sgd_step(framework.of(X.copy()), framework.of(Y), lr=0.1)
    assert device.host_waits > waits  # of who uses what is written, nothing is known

    # A framework that says what stream it is on.
    cupy = types.SimpleNamespace(cuda=types.SimpleNamespace(get_current_stream=lambda: types.SimpleNamespace(ptr=33)))
    monkeypatch.setitem(__import__("sys").modules, "cupy", cupy)
    own, waits = CudaFramework("cupy"), device.host_waits
    b, g = own.of(X.copy()), own.of(Y)
    repmath.optim.sgd_step(b, g, lr=0.1)
    assert b.asked[0]["stream"] == g.asked[0]["stream"] == 33 and device.host_waits == waits
    other = Producer(Y, device=GPU)  # of none: one call is on one stream
    repmath.optim.sgd_step(own.of(X.copy()), other, lr=0.1)
    repmath.dlpack.add(Producer(X, device=GPU), b)
    assert [other.asked[0]["stream"], b.asked[1]["stream"]] == [33, 1] and device.host_waits == waits + 1

    x = _array.upload(_array.Place(0, 5), X)
    for stream, expected in ((None, (1, 5)), (2, (2, 5)), (-1, (None, None)), (5, (None, None))):
        device.waiting = device.awaited = None
        _dlpack.Exported(x, GPU).__dlpack__(stream=stream)
        assert (device.waiting, device.awaited) == expected
    for stream in (0, -2):
        with pytest.raises(BufferError, match="stream must be"):
            _dlpack.Exported(x, GPU).__dlpack__(stream=stream)
    with pytest.raises(BufferError, match="on device .2, 0."):
        _dlpack.Exported(x, GPU).__dlpack__(dl_device=(1, 0))
    del kept


def test_what_is_written_and_what_is_not(how):
    framework = CudaFramework("gpu")
    for extra in (dict(versioned=False), dict(read_only=True)):
        with pytest.raises(ValueError, match="param is read-only"):
            repmath.optim.sgd_step(framework.of(X.copy(), **extra), framework.of(Y), lr=0.1)
        with pytest.raises(ValueError, match="out is read-only"):
            repmath.dlpack.exp(framework.of(X), out=framework.of(np.zeros_like(X), **extra))
        same(repmath.dlpack.exp(framework.of(X, **extra)), repmath.exp(X))
    out = framework.of(np.zeros((4, 4), "f4"))
    assert repmath.matmul(framework.of(X), framework.of(Y.T), out=out) is out
    same(out, repmath.matmul(X, Y.T))
    total = framework.of(X.copy())  # computed in main memory, and written back
    assert repmath.scatter_add(total, 0, framework.of(np.zeros((1, 6), int)), framework.of(Y), out=total) is total
    same(total, repmath.scatter_add(X, 0, np.zeros((1, 6), int), Y))
    norms = [repmath.optim.clip_grad_norm(g, 0.5) for g in (X.copy(), framework.of(X.copy()))]
    assert norms[0] == norms[1]
    managed = Producer(X, device=(13, 0))  # memory of both sides; of no framework: NumPy's come back
    assert repmath.nn.softmax(managed).tobytes() == repmath.nn.softmax(X).tobytes()
    same(repmath.matmul(managed, framework.of(Y.T)), repmath.matmul(X, Y.T))


def test_errors(device, monkeypatch):
    framework = CudaFramework("gpu")
    x = framework.of(X)
    with pytest.raises(TypeError, match="x1 is on device CUDA 0 and x2 in main memory"):
        repmath.matmul(x, framework.Array(X.T))
    with pytest.raises(TypeError, match="x1 is on device CUDA 0 and x2 on device CUDA 1"):
        repmath.matmul(x, framework.Array(X.T, device=(2, 1)))
    with pytest.raises(RuntimeError, match="device refused"):
        repmath.nn.softmax(framework.Array(X, device=(2, 1)))
    with pytest.raises(BufferError, match=r"params\[0\] is on device CUDA 0"):
        repmath.optim.SGD([x], lr=0.1)
    with pytest.raises(ValueError, match="the last axis of x1 has 6 elements"):
        repmath.matmul(x, x)
    with pytest.raises(ValueError, match="target has shape"):
        repmath.nn.cross_entropy(x, framework.of(np.array([1])))
    with pytest.raises(ValueError, match="out has shape"):
        repmath.dlpack.exp(x, out=framework.of(X.T.copy()))
    # An index is read on the device: there is no error to raise.
    assert np.isnan(repmath.nn.cross_entropy(framework.of(X), framework.of(np.array([1, 9, 0, 2]))).array)
    monkeypatch.setenv("REPMATH_CUDA_LIBRARY", "/nowhere/librepmath_cuda.so")
    _library.load.cache_clear()
    with pytest.raises(BufferError, match="^input is on device CUDA 0; move it to main memory, or: .*REPMATH_CUDA"):
        repmath.nn.softmax(x)
    monkeypatch.undo()
    _library.load.cache_clear()


def test_a_wrong_launch_is_seen(device, monkeypatch):
    """The control: with strides that are not those of the array, the comparison fails."""
    framework = CudaFramework("gpu")
    monkeypatch.setattr(_array.Array, "_in_order", lambda _: True)
    with pytest.raises(AssertionError):
        same(repmath.dlpack.exp(framework.of(X.T)), repmath.exp(X.T))


def test_results_in_memory_of_pytorch():
    """A result lies in PyTorch's memory, so that its allocator knows who uses it: any part of it becomes a tensor over it."""
    torch = pytest.importorskip("torch")
    lent = _array.Lent(torch.arange(48, dtype=torch.uint8))  # main memory, as that of a device
    for kind in (np.dtype("<f4"), np.dtype("<f8"), np.dtype("<i8"), np.dtype("<f2"), ml_dtypes.bfloat16):
        kind = np.dtype(kind)
        size = kind.itemsize
        part = _array.Array(_array.Place(0, 1), lent.address + size, (2, 2), (2 * size, size), kind, lent)
        tensor = lent.over(part.T)
        assert str(tensor.dtype).removeprefix("torch.") == kind.name and tensor.data_ptr() == lent.address + size
        assert tensor.shape == (2, 2) and tensor.stride() == (1, 2)
        assert tensor.untyped_storage().data_ptr() == lent.tensor.untyped_storage().data_ptr()
