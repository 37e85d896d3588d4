# ExactSum, the accumulator of the C library.

_MODES = {
    "nearest": RM_ROUND_NEAREST,
    "toward_zero": RM_ROUND_TOWARD_ZERO,
    "down": RM_ROUND_DOWN,
    "up": RM_ROUND_UP,
}


cdef _check_range(rm_status status):
    if status != 0:
        raise OverflowError("the total is beyond what an accumulator holds")


cdef class ExactSum:
    """rm_accumulator. Numbers are given as their bytes, with the name of their format."""

    cdef rm_accumulator *acc

    def __cinit__(self):
        self.acc = rm_accumulator_new()
        if self.acc is NULL:
            raise MemoryError("no memory for an accumulator")

    def __dealloc__(self):
        rm_accumulator_free(self.acc)

    def add(self, format, const unsigned char[::1] x):
        cdef int f
        cdef Py_ssize_t size, n
        f, size = _FORMATS[format]
        n = x.shape[0] // size
        if n == 0:
            return
        cdef const void *p = &x[0]
        cdef rm_status status
        with nogil:
            if f == RM_FORMAT_F16:
                status = rm_accumulator_add_f16(self.acc, n, <const rm_f16 *>p, size)
            elif f == RM_FORMAT_BF16:
                status = rm_accumulator_add_bf16(self.acc, n, <const rm_bf16 *>p, size)
            elif f == RM_FORMAT_F32:
                status = rm_accumulator_add_f32(self.acc, n, <const float *>p, size)
            else:
                status = rm_accumulator_add_f64(self.acc, n, <const double *>p, size)
        _check_range(status)

    def root(self):
        """RN of the root of the total, in float64."""
        cdef double out
        cdef rm_status status
        with nogil:
            status = rm_root_of_total(self.acc, &out)
        _raise(status)
        return out

    def add_products(self, format, const unsigned char[::1] x, const unsigned char[::1] y):
        cdef int f
        cdef Py_ssize_t size, n
        assert x.shape[0] == y.shape[0]
        f, size = _FORMATS[format]
        n = x.shape[0] // size
        if n == 0:
            return
        cdef const void *p = &x[0]
        cdef rm_status status
        cdef const void *q = &y[0]
        with nogil:
            if f == RM_FORMAT_F16:
                status = rm_accumulator_add_products_f16(self.acc, n, <const rm_f16 *>p, size, <const rm_f16 *>q, size)
            elif f == RM_FORMAT_BF16:
                status = rm_accumulator_add_products_bf16(self.acc, n, <const rm_bf16 *>p, size, <const rm_bf16 *>q, size)
            elif f == RM_FORMAT_F32:
                status = rm_accumulator_add_products_f32(self.acc, n, <const float *>p, size, <const float *>q, size)
            else:
                status = rm_accumulator_add_products_f64(self.acc, n, <const double *>p, size, <const double *>q, size)
        _check_range(status)

    def merge(self, ExactSum other not None):
        _check_range(rm_accumulator_merge(self.acc, other.acc))

    def subtract(self, ExactSum other not None):
        _check_range(rm_accumulator_subtract(self.acc, other.acc))

    def round(self, format, unsigned char[::1] out, mode):
        cdef int f, rounding = _MODES[mode]
        f, _ = _FORMATS[format]
        cdef void *p = &out[0]
        if f == RM_FORMAT_F16:
            rm_accumulator_rounded_f16(self.acc, <rm_f16 *>p, rounding)
        elif f == RM_FORMAT_BF16:
            rm_accumulator_rounded_bf16(self.acc, <rm_bf16 *>p, rounding)
        elif f == RM_FORMAT_F32:
            rm_accumulator_rounded_f32(self.acc, <float *>p, rounding)
        else:
            rm_accumulator_rounded_f64(self.acc, <double *>p, rounding)

    def write(self):
        out = bytearray(RM_ACCUMULATOR_BYTES)
        cdef unsigned char[::1] view = out
        rm_accumulator_write(self.acc, &view[0], view.shape[0])
        return bytes(out)

    def read(self, const unsigned char[::1] data):
        """Replace the total. ValueError when the bytes are no accumulator's; the total then stays."""
        if data.shape[0] != RM_ACCUMULATOR_BYTES:
            raise ValueError(f"data has {data.shape[0]} bytes, an accumulator has {RM_ACCUMULATOR_BYTES}")
        cdef rm_status status = rm_accumulator_read(self.acc, &data[0], data.shape[0])
        if status != 0:
            raise ValueError("data is not the byte string of an accumulator of version 1")
