# The structures of DLPack 1 (https://dmlc.github.io/dlpack/latest/c_api.html).

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef struct Device:
    int32_t type, id

cdef struct Type:
    uint8_t code, bits
    uint16_t lanes

cdef struct Tensor:
    void *data
    Device device
    int32_t ndim
    Type type
    int64_t *shape
    int64_t *strides
    uint64_t byte_offset

# How a library lends its tensors to C code, without a capsule for each.
cdef struct ExchangeAPI:
    uint32_t major, minor
    void *previous
    void *allocator
    void *managed_from_object
    void *object_from_managed
    int (*tensor_from_object)(void *object, Tensor *out) noexcept
    void *stream
