# cython: language_level=3, freethreading_compatible=True
"""DLPack capsules seen as NumPy arrays, and arrays as capsules, without a copy.

The structures, in _dlpack.pxd, are those of DLPack 1; capsules without a version are those of 0.8.
NumPy's own from_dlpack knows neither bfloat16 nor 8-bit formats.
"""

from cpython.buffer cimport PyBuffer_FillInfo
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_New, PyCapsule_SetName
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

import numpy as np

cdef extern from "Python.h":
    int Py_IsInitialized() nogil

ctypedef void (*Deleter)(void *) noexcept nogil

cdef struct Managed:
    Tensor tensor
    void *context
    Deleter deleter

cdef struct ManagedVersioned:
    uint32_t major, minor
    void *context
    Deleter deleter
    uint64_t flags
    Tensor tensor

cdef enum:
    READ_ONLY = 1
    COPIED = 2
    CPU = 1
    MAX_AXES = 64  # of a NumPy array

cdef const char *PLAIN = "dltensor"
cdef const char *VERSIONED = "dltensor_versioned"
cdef const char *USED_PLAIN = "used_dltensor"
cdef const char *USED_VERSIONED = "used_dltensor_versioned"

# Kinds of numbers by their code. What ml_dtypes has none of, and what is packed into less than a byte, is not here.
_INTEGER, _UNSIGNED, _FLOAT, _BFLOAT, _COMPLEX, _BOOL = 0, 1, 2, 4, 5, 6
_FLOAT8 = {
    7: "float8_e3m4", 8: "float8_e4m3", 9: "float8_e4m3b11fnuz", 10: "float8_e4m3fn", 11: "float8_e4m3fnuz", 12: "float8_e5m2",
    13: "float8_e5m2fnuz", 14: "float8_e8m0fnu",
}


_KINDS = {
    _INTEGER: ("i", (8, 16, 32, 64)), _UNSIGNED: ("u", (8, 16, 32, 64)), _FLOAT: ("f", (16, 32, 64)), _COMPLEX: ("c", (64, 128)),
    _BOOL: ("b", (8,)),
}
# (code, bits) -> dtype, and the other way round
_DTYPES = {(code, bits): np.dtype(f"{kind}{bits // 8}") for code, (kind, sizes) in _KINDS.items() for bits in sizes}
_CODES = {dtype: code for code, dtype in _DTYPES.items()}


def add_types(ml_dtypes):
    """Also know the types that this module has."""
    _DTYPES[_BFLOAT, 16] = np.dtype(ml_dtypes.bfloat16)
    for code, name in _FLOAT8.items():
        if hasattr(ml_dtypes, name):
            _DTYPES[code, 8] = np.dtype(getattr(ml_dtypes, name))
    _CODES.update({dtype: code for code, dtype in _DTYPES.items()})


# Where a host program may read: main memory, and that which CUDA or ROCm have pinned.
HOST = frozenset((1, 3, 11))
# Where CUDA may: a device's memory, and managed memory.
CUDA = frozenset((2, 13))
OF_CUDA = 2


cdef class _Memory:
    """Memory that somebody lends: arrays over it have it as their base, and the last of them gives it back."""

    cdef void *managed
    cdef Deleter deleter
    cdef char *start
    cdef Py_ssize_t length
    cdef bint read_only

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        PyBuffer_FillInfo(buffer, self, self.start, self.length, self.read_only, flags)

    def __dealloc__(self):
        if self.managed is not NULL and self.deleter is not NULL:
            self.deleter(self.managed)


# What an argument is, by its type: a NumPy array or what becomes one; an array of another library, which DLPack can bring here; an array
# that means more than its elements; none.
ORDINARY, FOREIGN, CONTAINER, NO_ARRAY = 0, 1, 2, 3
cdef dict _kinds = {
    np.ndarray: 0, float: 0, int: 0, bool: 0, complex: 0, list: 0, tuple: 0, type(None): 3, str: 3, bytes: 3, dict: 3, np.float32: 0,
    np.float64: 0,
}
cdef object _classify


def classify_by(classify):
    """A function from other types to what they are."""
    global _classify
    _classify = classify


def is_ordinary(kind):
    """Objects of this type are known to all functions."""
    _kinds[kind] = ORDINARY


cdef int _kind_of(object x) except -1:
    kind = type(x)
    found = _kinds.get(kind)
    if found is None:
        found = _kinds[kind] = _classify(kind)
    return found


def kind_of(x):
    """What x is as an argument."""
    return _kind_of(x)


def is_foreign(x):
    """Whether x is an array of another library, which DLPack can bring here."""
    return _kind_of(x) == 1


def any_foreign(tuple arguments, dict keywords):
    """Whether one of them is."""
    return look(arguments, keywords, b"", 0, {}) & 1 != 0


def look(tuple arguments, dict keywords, bytes takes, int rest, dict named):
    """1 where an argument is an array of another library; 2 more where one is at fault, by what its parameter takes (_arguments.py)."""
    cdef int found = 0, kind, taken
    cdef const unsigned char *each = takes
    cdef Py_ssize_t i, known = len(takes)
    for i, x in enumerate(arguments):
        kind = _kind_of(x)
        if kind == 0:
            continue
        taken = each[i] if i < known else rest
        found |= 1 if kind == 1 else 2 if kind == 2 or taken == 2 or (taken == 1 and x is not None) else 0
    for name, x in keywords.items():
        kind = _kind_of(x)
        if kind == 0:
            continue
        taken = named.get(name, 0)
        found |= 1 if kind == 1 else 2 if kind == 2 or taken == 2 or (taken == 1 and x is not None) else 0
    return found


def device_of(x):
    """The kind of device and its number. Compilers of Python that follow calls, such as PyTorch's, do not follow this one."""
    kind, number = x.__dlpack_device__()
    return int(kind), int(number)


cdef tuple _lent(name, capsule, kinds):
    """What a capsule lends: (memory, its first byte's place before element 0, shape, strides in bytes, dtype, read-only). Memory is None
    where there are no elements. It is read-only where that is asked for, or cannot be known."""
    cdef ManagedVersioned *versioned = NULL
    cdef Managed *plain = NULL
    cdef Tensor *t
    cdef bint read_only = True  # a capsule without a version has no word for it
    cdef _Memory memory
    if PyCapsule_IsValid(capsule, VERSIONED):
        versioned = <ManagedVersioned *>PyCapsule_GetPointer(capsule, VERSIONED)
        if versioned.major != 1:  # nothing else of it has a known place
            raise BufferError(f"{name} comes by version {versioned.major}.{versioned.minor} of DLPack; version 1 is known here")
        read_only = versioned.flags & READ_ONLY
        t = &versioned.tensor
    elif PyCapsule_IsValid(capsule, PLAIN):
        plain = <Managed *>PyCapsule_GetPointer(capsule, PLAIN)
        t = &plain.tensor
    else:
        raise BufferError(f"{name}: what its __dlpack__ returned is no DLPack capsule that is still unused")
    if t.device.type not in kinds:
        raise BufferError(f"{name} is in the memory of device ({t.device.type}, {t.device.id})")
    dtype = _DTYPES.get((t.type.code, t.type.bits)) if t.type.lanes == 1 else None
    if dtype is None:
        raise TypeError(
            f"{name} has elements of DLPack's type code {t.type.code} with {t.type.bits} bits and {t.type.lanes} lanes, for which "
            f"there is no array here{'' if (_BFLOAT, 16) in _DTYPES else '; bfloat16 and 8-bit formats need ml_dtypes'}"
        )
    if not 0 <= t.ndim <= MAX_AXES:
        raise BufferError(f"{name} has {t.ndim} axes")
    shape = tuple([t.shape[i] for i in range(t.ndim)])
    if min(shape, default=0) < 0:
        raise BufferError(f"{name} has shape {shape}")
    size = dtype.itemsize
    strides = []
    step = size
    for i in range(t.ndim - 1, -1, -1):
        strides.append(step if t.strides is NULL else t.strides[i] * size)
        step *= shape[i]
    strides.reverse()
    if 0 in shape:  # nothing to lend
        return None, 0, shape, strides, dtype, read_only
    # The bytes from the lowest address to the highest.
    spans = [(n - 1) * s for n, s in zip(shape, strides)]
    below, above = sum([s for s in spans if s < 0]), sum([s for s in spans if s > 0]) + size
    if above - below >= 1 << 62 or t.data is NULL:
        raise BufferError(f"{name} has no memory for shape {shape} and strides of {strides} bytes")
    memory = _Memory()
    memory.start = <char *>t.data + <ptrdiff_t>t.byte_offset + <ptrdiff_t>below
    memory.length = above - below
    memory.read_only = read_only
    # From here on it is ours to give back.
    if versioned is not NULL:
        PyCapsule_SetName(capsule, USED_VERSIONED)
        memory.managed, memory.deleter = versioned, versioned.deleter
    else:
        PyCapsule_SetName(capsule, USED_PLAIN)
        memory.managed, memory.deleter = plain, plain.deleter
    return memory, -below, shape, strides, dtype, read_only


def as_array(name, capsule):
    """An array over the memory that a capsule lends. It is read-only where that is asked for, or cannot be known."""
    memory, first, shape, strides, dtype, read_only = _lent(name, capsule, HOST)
    if memory is None:
        empty = np.empty(shape, dtype)
        empty.flags.writeable = not read_only
        return empty
    return np.ndarray(shape, dtype, memory, first, strides)


def on_device(name, capsule):
    """The parts of an array on a GPU: (address, shape, strides in bytes, dtype, read-only, what keeps the memory)."""
    memory, first, shape, strides, dtype, read_only = _lent(name, capsule, CUDA)
    address = 0 if memory is None else <size_t>(<_Memory>memory).start + <size_t>first
    return address, shape, strides, dtype, read_only, memory


cdef struct Export:
    # What a capsule points to, with the array that it keeps alive and room for shape and strides behind it.
    ManagedVersioned versioned
    Managed plain
    PyObject *array


cdef void _release(Export *export) noexcept with gil:
    Py_DECREF(<object>export.array)
    free(export)


# Consumers may call these from any thread, and after the interpreter has ended.
cdef void _delete_versioned(void *managed) noexcept nogil:
    if Py_IsInitialized():
        _release(<Export *>(<ManagedVersioned *>managed).context)


cdef void _delete_plain(void *managed) noexcept nogil:
    if Py_IsInitialized():
        _release(<Export *>(<Managed *>managed).context)


cdef void _unused(object capsule) noexcept:
    """The destructor of a capsule: whoever takes the memory renames the capsule, and then calls the deleter."""
    if PyCapsule_IsValid(capsule, VERSIONED):
        _delete_versioned(PyCapsule_GetPointer(capsule, VERSIONED))
    elif PyCapsule_IsValid(capsule, PLAIN):
        _delete_plain(PyCapsule_GetPointer(capsule, PLAIN))


cdef class Exported:
    """An array for another library's from_dlpack: of NumPy, or with a device (kind, number) one of `_cuda`."""

    cdef object array, device

    def __init__(self, array, device=(CPU, 0)):
        if array.dtype not in _CODES:
            raise TypeError(f"DLPack has no type for elements of {array.dtype}")
        self.array, self.device = array, device

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        cdef bint in_main_memory = self.device[0] == CPU
        if dl_device is not None and tuple(dl_device) != self.device:
            where = "in main memory" if in_main_memory else f"on device {self.device}"
            raise BufferError(f"the array is {where}, not on device {tuple(dl_device)}")
        if in_main_memory and stream is not None:
            raise BufferError("main memory has no streams: stream must be None")
        array = self.array.copy() if copy or [s for s in self.array.strides if s % self.array.itemsize] else self.array
        cdef bint versioned = max_version is not None and max_version[0] >= 1
        if not versioned and not array.flags.writeable:
            raise BufferError("the array is read-only, which a capsule without a version cannot say")
        if not in_main_memory:
            array.order(stream)
        cdef int i, ndim = array.ndim
        cdef Export *e = <Export *>malloc(sizeof(Export) + 2 * ndim * sizeof(int64_t))
        if e is NULL:
            raise MemoryError("no memory for a capsule")
        cdef Tensor *t = &e.plain.tensor
        t.shape = <int64_t *>(e + 1)
        t.strides = t.shape + ndim
        size, shape, strides = array.itemsize, array.shape, array.strides
        for i in range(ndim):
            t.shape[i] = shape[i]
            t.strides[i] = strides[i] // size
        t.data = <void *><size_t>(array.__array_interface__["data"][0] if in_main_memory else array.address)
        t.device = Device(self.device[0], self.device[1])
        t.ndim = ndim
        t.type.code, t.type.bits = _CODES[array.dtype]
        t.type.lanes = 1
        t.byte_offset = 0
        e.plain.context = e.versioned.context = e
        e.plain.deleter, e.versioned.deleter = _delete_plain, _delete_versioned
        e.versioned.major, e.versioned.minor = 1, 0
        e.versioned.flags = (0 if array.flags.writeable else READ_ONLY) | (0 if array is self.array else COPIED)
        e.versioned.tensor = t[0]
        e.array = <PyObject *>array
        Py_INCREF(array)
        try:
            if versioned:
                return PyCapsule_New(&e.versioned, VERSIONED, _unused)
            return PyCapsule_New(&e.plain, PLAIN, _unused)
        except BaseException:
            _release(e)
            raise
