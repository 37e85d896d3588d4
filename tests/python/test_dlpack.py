"""The reader of DLPack capsules: every kind of capsule, and what is given back. Producers are made by hand, with ctypes."""

import threading
import weakref

import numpy as np
import pytest
from dlpack_producer import DTYPES, NARROW, Producer, address, in_poison, layouts, numbers

import repmath
from repmath import _dlpack
from repmath._cuda import _library
from repmath.dlpack import from_dlpack


def agrees(producer, expected):
    """Whether the array over a producer's memory is the expected one: elements bit by bit, strides, address."""
    try:
        got = from_dlpack(producer)
    except BufferError:
        return False
    same_place = expected.size == 0 or address(got) == address(expected)
    return (
        got.dtype == expected.dtype
        and got.shape == expected.shape
        and (expected.size == 0 or all(s == t for s, t, n in zip(got.strides, expected.strides, got.shape) if n > 1))
        and got.tobytes() == expected.tobytes()
        and same_place
    )


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.name)
@pytest.mark.parametrize("versioned", [True, False], ids=["versioned", "legacy"])
def test_every_type_and_layout(dtype, versioned):
    for name, a in layouts(dtype).items():
        for byte_offset in (0, 1, dtype.itemsize, 4096 + dtype.itemsize):
            inside = in_poison(a, byte_offset)
            assert inside.tobytes() == a.tobytes()
            assert agrees(Producer(inside, versioned=versioned, byte_offset=byte_offset), inside), (name, byte_offset)


def test_strides_may_be_absent():
    for name, a in layouts(np.dtype("f4")).items():
        if a.flags.c_contiguous:
            inside = in_poison(a, 8)
            assert agrees(Producer(inside, null_strides=True, byte_offset=8), inside), name
    assert agrees(Producer(np.zeros((0, 3), "f4"), null_strides=True), np.zeros((0, 3), "f4"))


def test_data_may_be_absent_of_an_empty_array():
    def nowhere(tensor, managed):
        tensor.data = None

    got = from_dlpack(Producer(np.zeros((2, 0), "f8"), change=nowhere))
    assert got.shape == (2, 0) and got.dtype == np.float64
    with pytest.raises(BufferError, match="no memory"):
        from_dlpack(Producer(np.zeros((2, 1), "f8"), change=nowhere))


# A reader that overlooks a field sees what the real one sees when the field is lost on the way.
@pytest.mark.parametrize(
    "layout, overlooked",
    [
        ("contiguous", "byte_offset"),
        ("backwards", "byte_offset"),
        ("transposed", "strides"),
        ("backwards", "strides"),
        ("repeated", "strides"),
    ],
)
def test_control_a_reader_that_overlooks_a_field_is_seen(layout, overlooked):
    def lose(tensor, managed):
        setattr(tensor, overlooked, 0 if overlooked == "byte_offset" else None)

    a = layouts(np.dtype("f4"))[layout]
    inside = in_poison(a, 64)
    assert agrees(Producer(inside, byte_offset=64), inside)
    assert not agrees(Producer(inside, byte_offset=64, change=lose), inside)


def test_read_only_is_honoured():
    def unheard(tensor, managed):
        managed.flags = 0

    a = np.ones((2, 3), "f4")
    assert from_dlpack(Producer(a)).flags.writeable
    assert not from_dlpack(Producer(a, read_only=True)).flags.writeable
    assert not from_dlpack(Producer(a, versioned=False)).flags.writeable  # which cannot say that it may be written
    assert not from_dlpack(Producer(a[:0], read_only=True)).flags.writeable
    # control: a reader that overlooked the flag would be seen
    assert from_dlpack(Producer(a, read_only=True, change=unheard)).flags.writeable
    with pytest.raises(ValueError):
        from_dlpack(Producer(a, read_only=True)).flags.writeable = True


@pytest.mark.parametrize("versioned", [True, False], ids=["versioned", "legacy"])
def test_memory_is_given_back_once(versioned):
    a = np.arange(24.0).reshape(4, 6)
    p = Producer(a, versioned=versioned)
    x = from_dlpack(p)
    assert p.deleted == [0]
    part = x[1:, ::2].T
    del x
    assert p.deleted == [0] and part[0, 0] == 6  # a view keeps it
    del part
    assert p.deleted == [1]
    # in another thread
    x = [from_dlpack(p)]
    thread = threading.Thread(target=x.clear)
    thread.start()
    thread.join()
    assert p.deleted == [1, 1]
    # a capsule that nobody takes, and one that is taken twice
    capsule = p.__dlpack__()
    del capsule
    capsule = p.__dlpack__()
    x = _dlpack.as_array("x", capsule)
    with pytest.raises(BufferError, match="unused"):
        _dlpack.as_array("x", capsule)
    del capsule
    assert p.deleted == [1, 1, 1, 0]
    del x
    assert p.deleted == [1, 1, 1, 1]
    assert from_dlpack(Producer(a, versioned=versioned, deleter=False))[1, 1] == 7  # there need be none
    # an empty array holds on to nothing
    p = Producer(a[:0], versioned=versioned)
    assert from_dlpack(p).shape == (0, 6) and p.deleted == [1]


def code(tensor, managed):
    tensor.code = 3


def bits(tensor, managed):
    tensor.bits = 24


def lanes(tensor, managed):
    tensor.lanes = 4


def nibble(tensor, managed):
    tensor.code, tensor.bits = 17, 4


def axes(tensor, managed):
    tensor.ndim = 65


def no_axes(tensor, managed):
    tensor.ndim = -1


def length(tensor, managed):
    tensor.shape[0] = -3


def too_long(tensor, managed):
    tensor.shape[0] = 2**61


def device(tensor, managed):
    tensor.device_type = 2


@pytest.mark.parametrize(
    "change, error, text",
    [
        (code, TypeError, "type code 3"),
        (bits, TypeError, "24 bits"),
        (lanes, TypeError, "4 lanes"),
        (nibble, TypeError, "type code 17 with 4 bits"),
        (axes, BufferError, "65 axes"),
        (no_axes, BufferError, "-1 axes"),
        (length, BufferError, r"shape \(-3, 3\)"),
        (too_long, BufferError, "no memory"),
        (device, BufferError, r"device \(2, 0\)"),
    ],
    ids=lambda v: v.__name__ if callable(v) else None,
)
@pytest.mark.parametrize("versioned", [True, False], ids=["versioned", "legacy"])
def test_what_cannot_be_read_is_refused_and_given_back(change, error, text, versioned):
    p = Producer(np.zeros((2, 3), "f4"), versioned=versioned, change=change)
    with pytest.raises(error, match=text) as caught:
        repmath.nn.softmax(p)
    assert str(caught.value).startswith("input ")
    del caught
    assert p.deleted == [1]


def test_other_versions():
    a = np.ones(3, "f4")
    p = Producer(a, version=(2, 0))
    with pytest.raises(BufferError, match=r"x comes by version 2\.0 of DLPack"):
        from_dlpack(p)
    assert p.deleted == [1]
    assert from_dlpack(Producer(a, version=(1, 99)))[0] == 1

    class Old(Producer):
        def __dlpack__(self, *, stream=-7):
            return super().__dlpack__(stream=stream)

    p = Old(a, versioned=False)
    assert from_dlpack(p)[2] == 1 and p.asked == [{"stream": None}]

    class Broken(Producer):
        def __dlpack__(self, **keywords):
            raise TypeError("of its own")

    with pytest.raises(TypeError, match="of its own") as caught:
        repmath.sum(Broken(a))
    assert "argument a" in caught.value.__notes__[0]


def test_devices_and_streams(monkeypatch):
    monkeypatch.setenv("REPMATH_CUDA_LIBRARY", "/nowhere/librepmath_cuda.so")
    _library.load.cache_clear()
    a = np.ones(3, "f4")
    for kind in (1, 3, 11):  # main memory, by whomever it is pinned
        p = Producer(a, device=(kind, 0))
        assert from_dlpack(p)[0] == 1
        assert p.asked == [{"stream": None, "max_version": (1, 3)}]
    for kind, text in ((2, "CUDA 4"), (10, "ROCm 4"), (8, "Metal 4"), (99, "type 99 4")):
        p = Producer(a, device=(kind, 4))
        with pytest.raises(BufferError, match=f"^weight is on device .*{text}"):
            repmath.nn.layer_norm(np.ones((2, 3), "f4"), 3, weight=p)
        assert p.asked == []  # nothing was asked for


def test_no_array_and_no_capsule():
    class Wrong(Producer):
        def __dlpack__(self, **keywords):
            return 5

    with pytest.raises(BufferError, match="no DLPack capsule"):
        from_dlpack(Wrong(np.ones(3)))
    with pytest.raises(TypeError, match="list has not"):
        from_dlpack([1.0])
    a = np.ones(3)
    assert from_dlpack(a) is a


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.name)
@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (1, 3)])
def test_arrays_go_out_as_they_are(dtype, version):
    for name, a in layouts(dtype).items():
        if version in (None, (0, 8)) and not a.flags.writeable:
            with pytest.raises(BufferError, match="read-only"):
                _dlpack.Exported(a).__dlpack__(max_version=version)
            continue
        got = _dlpack.as_array("x", _dlpack.Exported(a).__dlpack__(max_version=version))
        assert got.tobytes() == a.tobytes() and got.dtype == a.dtype and got.shape == a.shape, name
        assert a.size == 0 or (address(got) == address(a) and got.strides == a.strides)
        assert got.flags.writeable == (a.flags.writeable and version not in (None, (0, 8)))


def test_arrays_that_went_out_live_as_long_as_they_are_used():
    class Array(np.ndarray):
        pass

    for taken in (True, False):
        for version in (None, (1, 0)):
            a = np.arange(5.0).view(Array)
            alive = weakref.ref(a)
            capsule = _dlpack.Exported(a).__dlpack__(max_version=version)
            del a
            got = _dlpack.as_array("x", capsule) if taken else None
            del capsule
            assert (alive() is not None) == taken
            assert got is None or got[4] == 4
            del got
            assert alive() is None


def test_what_goes_out_is_asked_for_properly():
    e = _dlpack.Exported(np.arange(4.0))
    assert e.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError, match="stream must be None"):
        e.__dlpack__(stream=1)
    with pytest.raises(BufferError, match="not on device"):
        e.__dlpack__(dl_device=(2, 0))
    copied = _dlpack.as_array("x", e.__dlpack__(copy=True, dl_device=(1, 0), max_version=(1, 0)))
    same = _dlpack.as_array("x", e.__dlpack__(max_version=(1, 0)))
    assert address(copied) != address(same) and copied.tobytes() == same.tobytes()
    for wrong in (np.zeros(3, ">f4"), np.zeros(3, "O"), np.zeros(3, "M8[s]")):
        with pytest.raises(TypeError, match="no type"):
            _dlpack.Exported(wrong)
    column = np.zeros(3, [("a", "i1"), ("b", "f4")])["b"]  # 5 bytes apart
    column[:] = 1, 2, 3
    assert _dlpack.as_array("x", _dlpack.Exported(column).__dlpack__(max_version=(1, 0))).tolist() == [1, 2, 3]


def test_numpy_agrees():
    """NumPy's own reader and writer, for the types that they know."""
    for dtype in DTYPES:
        if dtype.name in NARROW:
            continue
        for name, a in layouts(dtype).items():
            assert np.from_dlpack(_dlpack.Exported(a)).tobytes() == a.tobytes(), name
            b = numbers(dtype, (3, 4))[:, ::2]
            assert _dlpack.as_array("b", b.__dlpack__(max_version=(1, 0))).tobytes() == b.tobytes()
