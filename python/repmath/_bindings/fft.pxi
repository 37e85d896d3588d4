# Discrete Fourier transforms.

_FFT_KINDS = {"complex": RM_FFT_COMPLEX, "from real": RM_FFT_FROM_REAL, "to real": RM_FFT_TO_REAL}
_FFT_SCALES = {"one": RM_FFT_SCALE_ONE, "root": RM_FFT_SCALE_ROOT, "n": RM_FFT_SCALE_N}


def fft(str format, str kind, int sign, str scale, lengths, x, out):
    """Transform the last axes of x, of these lengths, into out; strides are any, and the axes before count transforms."""
    cdef int64_t size[64]
    cdef ptrdiff_t strides[2][64]
    cdef int f, i, which = _FFT_KINDS[kind], by = _FFT_SCALES[scale], rank = x.ndim, transformed = len(lengths)
    cdef size_t data_x, data_out
    cdef rm_status status
    f, _ = _FORMATS[format]
    for i in range(rank):
        size[i] = lengths[i - rank + transformed] if i >= rank - transformed else x.shape[i]
    rm_py_layout(x, rank, &data_x, strides[0])
    rm_py_layout(out, rank, &data_out, strides[1])
    with nogil:
        status = rm_fft(f, which, sign, by, rank, size, transformed, <void *>data_x, strides[0], <void *>data_out, strides[1])
    _raise(status)
