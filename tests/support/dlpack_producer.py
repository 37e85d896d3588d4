"""Producers of DLPack capsules made by hand with ctypes: every kind of capsule, and a count of what is given back.

The structures are written from the DLPack specification and share nothing with the reader under test.
"""

import ctypes
import itertools

import numpy as np
import pytest

ml_dtypes = pytest.importorskip("ml_dtypes", reason="needs ml_dtypes, for bfloat16 and the 8-bit formats")

CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
NARROW = {
    "bfloat16": 4,
    "float8_e3m4": 7,
    "float8_e4m3": 8,
    "float8_e4m3b11fnuz": 9,
    "float8_e4m3fn": 10,
    "float8_e4m3fnuz": 11,
    "float8_e5m2": 12,
    "float8_e5m2fnuz": 13,
    "float8_e8m0fnu": 14,
}
DTYPES = [np.dtype(code) for code in "i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16 ?".split()] + [
    np.dtype(getattr(ml_dtypes, name)) for name in NARROW
]

_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_Destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Legacy(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", _Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


# Functions of its own: argument types set on those of ctypes.pythonapi are everyone's, and jax.ffi sets others.
_python = ctypes.PyDLL(None)
_new = _python.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_is_valid = _python.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, [ctypes.c_void_p, ctypes.c_char_p]
_pointer = _python.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p]
NAMES = {Legacy: b"dltensor", Versioned: b"dltensor_versioned"}

_lent: dict[int, object] = {}  # what a capsule points to, until its deleter has been called


@_Destructor
def _unused(capsule):
    """Python calls it when a capsule dies: one that nobody took gives its memory back."""
    for kind, name in NAMES.items():
        if _is_valid(capsule, name):
            managed = kind.from_address(_pointer(capsule, name))
            if managed.deleter:
                managed.deleter(ctypes.addressof(managed))


class Producer:
    """An array with __dlpack__ and no framework. `deleted` counts, for each capsule, how often its deleter was called.

    `change` is called with the tensor and the whole structure before a capsule goes out.
    """

    def __init__(self, array, *, versioned=True, read_only=False, null_strides=False, byte_offset=0, device=(1, 0),
                 version=(1, 1), deleter=True, change=None):  # fmt: skip
        self.array, self.versioned, self.read_only, self.null_strides = array, versioned, read_only, null_strides
        self.byte_offset, self.device, self.version, self.has_deleter = byte_offset, device, version, deleter
        self.change = change
        self.deleted: list[int] = []
        self.asked: list[dict] = []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **keywords):
        self.asked.append(keywords)
        a = self.array
        kind = Versioned if self.versioned else Legacy
        managed = kind()
        t = managed.tensor
        t.data = address(a) - self.byte_offset
        t.byte_offset = self.byte_offset
        t.device_type, t.device_id = self.device
        t.ndim = a.ndim
        t.code = NARROW.get(a.dtype.name, CODES.get(a.dtype.kind))
        t.bits, t.lanes = a.dtype.itemsize * 8, 1
        sizes = (ctypes.c_int64 * max(1, 2 * a.ndim))(*a.shape, *(s // a.dtype.itemsize for s in a.strides))
        t.shape = ctypes.cast(sizes, ctypes.POINTER(ctypes.c_int64))
        if not self.null_strides:
            t.strides = ctypes.cast(ctypes.addressof(sizes) + 8 * a.ndim, ctypes.POINTER(ctypes.c_int64))
        number = len(self.deleted)
        self.deleted.append(0)

        def delete(pointer, self=self):
            self.deleted[number] += 1
            _lent.pop(pointer, None)

        callback = _Deleter(delete)
        if self.has_deleter:
            managed.deleter = callback
        if self.versioned:
            managed.major, managed.minor = self.version
            managed.flags = int(self.read_only)
        if self.change:
            self.change(t, managed)
        _lent[ctypes.addressof(managed)] = managed, sizes, callback, a
        return _new(ctypes.addressof(managed), NAMES[kind], ctypes.cast(_unused, ctypes.c_void_p))


def address(a):
    return a.__array_interface__["data"][0]


def in_poison(a, before=0):
    """The array's elements and strides again, inside a larger buffer of other bytes, so many of them `before` the lowest."""
    if a.size == 0:
        return a.copy()
    spans = [(n - 1) * s for n, s in zip(a.shape, a.strides)]
    low, high = sum(s for s in spans if s < 0), sum(s for s in spans if s > 0) + a.dtype.itemsize
    buffer = np.full(before + high - low + 64, 0x55, np.uint8)
    inside = np.ndarray(a.shape, a.dtype, buffer, before - low, a.strides)
    inside[...] = a
    return inside


def numbers(dtype, shape, seed=0):
    """Any bytes as elements: every bit of them counts; a bool is 0 or 1."""
    rng = np.random.default_rng(seed)
    count = int(np.prod(shape))
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(bool)
    return np.frombuffer(rng.bytes(count * dtype.itemsize), np.uint8).copy().view(dtype).reshape(shape)


def layouts(dtype):
    """name -> array, of every kind of strides."""
    a = numbers(dtype, (4, 5, 6))
    return {
        "contiguous": a,
        "transposed": a.transpose(2, 0, 1),
        "every other": a[::2, 1:, ::3],
        "backwards": a[::-1, :, ::-2],
        "repeated": np.broadcast_to(a[:, :1, 2:3], (4, 5, 6)),
        "one axis": a[1, :, 3],
        "scalar": a[2, 3, 4, ...],
        "one element": a[:1, :1, :1],
        "empty": a[:, :0],
    }


class Framework:
    """A framework of its own: its arrays are known by a namespace, and results come back through its from_dlpack."""

    def __init__(self, name):
        self.__name__ = name
        self.taken = []
        serial = itertools.count()
        framework = self

        class Array(Producer):
            def __init__(self, array, **keywords):
                super().__init__(array, **keywords)
                self.serial = next(serial)

            def __array_namespace__(self, api_version=None):
                return framework

        self.Array = Array

    def from_dlpack(self, x):
        assert x.__dlpack_device__() == (1, 0)
        from repmath import _dlpack  # the reader has tests of its own

        array = _dlpack.as_array("result", x.__dlpack__(max_version=(1, 0)))
        self.taken.append(array)
        return self.Array(array)
