# Prepared calls of softmax along an axis, and of attention.


cdef rm_status _row_function(int which, int f, int64_t rows, int64_t n, const char *x, const char *z, char *y, ptrdiff_t row,
                             ptrdiff_t step) noexcept nogil:
    """softmax, log_softmax or the gradient of either, over rows of the same strides in all arrays."""
    if which == 0:
        return rm_softmax(f, rows, n, x, row, step, y, row, step)
    if which == 1:
        return rm_log_softmax(f, rows, n, x, row, step, y, row, step)
    if which == 3:
        return rm_softmax_backward(f, rows, n, x, row, step, z, row, step, y, row, step)
    return rm_log_softmax_backward(f, rows, n, x, row, step, z, row, step, y, row, step)


cdef bint _is_masked(int f, int64_t n, const char *scores, ptrdiff_t step) noexcept nogil:
    """Whether all scores of a row are minus infinity."""
    cdef int64_t i
    cdef uint16_t infinite = 0xFC00 if f == RM_FORMAT_F16 else 0xFF80
    for i in range(n):
        if f == RM_FORMAT_F64:
            if (<uint64_t *>(scores + i * step))[0] != (<uint64_t>0xFFF << 52):
                return False
        elif f == RM_FORMAT_F32:
            if (<uint32_t *>(scores + i * step))[0] != <uint32_t>0xFF800000:
                return False
        elif (<uint16_t *>(scores + i * step))[0] != infinite:
            return False
    return True


cdef class Rows(Call):
    """softmax, log_softmax and their gradients, along an axis; with `safe` rows of minus infinities become zeros."""

    cdef int which, tensors
    cdef bint safe

    def __init__(self, what, bint safe=False):
        self.which, self.safe = _SOFTMAX[what], safe
        self.tensors = 1 if self.which < 3 else 2

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand x, z, y
        cdef int64_t outer = 1, inner = 1, n, i, k, part
        cdef ptrdiff_t size
        cdef int dim, d, f, which = self.which
        cdef rm_status status = 0
        if kwargs or len(args) != self.tensors + (2 if not self.safe else 1) or type(args[self.tensors]) is not int:
            return NotImplemented
        held, z.data = _read(args[0], &x), NULL
        if held is None or (self.tensors == 1 and not self.safe and args[2] is not False):
            return NotImplemented
        if self.tensors == 2:
            other = _read(args[1], &z)
            if other is None or z.format != x.format or not _same_shape(&x, &z) or args[3] is not args[0].dtype:
                return NotImplemented
        dim = args[self.tensors]
        if not -x.ndim <= dim < x.ndim:
            return NotImplemented
        dim += x.ndim if dim < 0 else 0
        for d in range(dim):
            outer *= x.shape[d]
        for d in range(dim + 1, x.ndim):
            inner *= x.shape[d]
        f, size, n = x.format, _SIZES[x.format], x.shape[dim]
        out = _new(args[0], x.shape, x.ndim, &y)
        with nogil:
            if inner == 1:
                status = _row_function(which, f, outer, n, x.data, z.data, y.data, n * size, size)
            else:
                part = n * inner * size
                for i in range(outer):
                    status |= _row_function(which, f, inner, n, x.data + i * part, z.data + (i * part if z.data is not NULL else 0),
                                            y.data + i * part, size, inner * size)
            for i in range(outer * inner if self.safe else 0):
                part = (i // inner * n * inner + i % inner) * size
                if _is_masked(f, n, x.data + part, inner * size):
                    for k in range(n):
                        memset(y.data + part + k * inner * size, 0, size)
        _raise(status)
        return out


cdef object _bool = None
cdef uint64_t[4] _NAN_BITS  # by RM_FORMAT_...
_NAN_BITS[:] = [0x7E00, 0x7FC0, 0x7FC00000, 0x7FF8 << 48]


def prepare_attention(torch):
    """What the calls use of PyTorch."""
    global _bool
    _bool = torch.bool


cdef struct Heads:
    Operand q, k, v
    int64_t count, rows, length, keys, width, depth  # matrices and their rows; queries, keys, their width and that of values
    double scale


cdef class Attention(Call):
    """_scaled_dot_product_flash_attention_for_cpu and its gradient for few scores: products, masks and softmax, one after the other.

    Parameters
    ----------
    scale : callable
        What scores are multiplied by where it is not given, of the width of queries.
    laid_out, heads_within_rows : callable
        Results with the strides of PyTorch's: the result, which are the query's, and a gradient.
    gradient : bool
    """

    cdef object scale, laid_out, heads_within_rows
    cdef bint gradient
    cdef dict scales  # by width

    def __init__(self, scale, laid_out, heads_within_rows, bint gradient=False):
        self.scale, self.gradient, self.scales = scale, gradient, {}
        self.laid_out, self.heads_within_rows = laid_out, heads_within_rows

    cdef object _understood(self, tuple args, dict kwargs, Heads *h, rm_py_strided *mask, int *masked, bint *causal):
        """Returns what must be kept alive of queries, keys and values, or None if they are not understood. masked is 0 for no mask, 1 for
        numbers, 2 for booleans."""
        cdef int given = <int>len(args), at = 1 if self.gradient else 0, d
        cdef double dropped
        cdef int64_t m
        if not (given == 8 if self.gradient else 3 <= given <= 5):
            return None
        scale = mask_of = None
        for key, v in kwargs.items() if kwargs else ():
            if key == "attn_mask":
                mask_of = v
            elif key == "scale":
                scale = v
            else:
                return None
        options = args[6:8] if self.gradient else args[3:5]
        causal[0] = len(options) == 2 and options[1]
        if (options and (not _number(options[0], &dropped) or dropped != 0)) or (causal[0] and mask_of is not None):
            return None
        held = _read(args[at], &h.q), _read(args[at + 1], &h.k), _read(args[at + 2], &h.v)
        if held[0] is None or held[1] is None or held[2] is None or h.q.ndim != 4 or h.k.ndim != 4 or h.v.ndim != 4:
            return None
        if h.q.shape[0] != h.k.shape[0] or h.q.shape[1] % h.k.shape[1] != 0:
            return None
        for d in range(2):
            if h.k.shape[d] != h.v.shape[d]:
                return None
        h.count, h.length, h.keys, h.width, h.depth = h.k.shape[0] * h.k.shape[1], h.q.shape[2], h.k.shape[2], h.q.shape[3], h.v.shape[3]
        h.rows = h.length * (h.q.shape[1] // h.k.shape[1])  # heads that share keys lie side by side
        if h.k.shape[3] != h.width or h.v.shape[2] != h.keys or h.q.format != h.k.format or h.q.format != h.v.format:
            return None
        if h.count * h.rows * h.keys > SMALL:
            return None
        masked[0] = 1 if causal[0] else 0
        if mask_of is not None:
            if not _strided(mask_of, mask, &m) or mask.ndim > 4:
                return None
            masked[0] = 1 if mask.format == h.q.format else 2 if mask_of.dtype is _bool else 0
            if masked[0] == 0:
                return None
            for d in range(mask.ndim):
                m = h.q.shape[d + 4 - mask.ndim] if d + 4 - mask.ndim < 3 else h.keys
                if mask.shape[d] != 1 and mask.shape[d] != m:
                    return None
        if scale is None:
            found = self.scales.get(h.width)
            if found is None:
                found = self.scales[h.width] = self.scale(None, h.width)
            h.scale = found
        elif not _number(scale, &h.scale):
            return None
        return held

    cdef object run(self, tuple args, dict kwargs):
        cdef Heads h
        cdef Operand g, out, dq, dk, dv
        cdef rm_py_strided mask
        cdef int64_t shape[4]
        cdef int masked = 0, d
        cdef bint causal = False
        cdef int64_t terms, i
        cdef Memory memory
        cdef rm_status status = 0
        held = self._understood(args, kwargs, &h, &mask, &masked, &causal)
        if held is None:
            return NotImplemented
        for d in range(4):
            shape[d] = h.q.shape[d]
        shape[3], terms = h.depth, h.count * h.rows * h.keys
        if self.gradient:
            held_g = _read(args[0], &g)
            if held_g is None or g.format != h.q.format or g.ndim != 4:
                return NotImplemented
            for d in range(4):
                if g.shape[d] != shape[d]:
                    return NotImplemented
        memory = Memory(32 * terms)  # scores, weights, and the gradients of both
        if masked and not causal:
            shape[2], shape[3] = h.length, h.keys
            rm_py_spread(&mask, 4, shape, memory.data + (8 * terms if masked == 2 else 0))
            shape[3] = h.depth
        if not self.gradient:
            made = _new(args[0], shape, 4, &out)
            with nogil:
                status = _weights_of(&h, masked, causal, memory.data)
                if status == 0:
                    status = _stacked(&h, False, False, 1.0, h.rows, h.depth, h.keys, memory.data + 8 * terms, h.v.data, False, out.data)
            _raise(status)
            sums = _new(args[0], h.q.shape, 3, &g)  # PyTorch's gradient reads them, and the library's none
            for i in range(g.n):
                memcpy(g.data + i * _SIZES[g.format], &_NAN_BITS[g.format], _SIZES[g.format])
            return self.laid_out(made, args[0]), sums
        gradients = _new(args[1], h.q.shape, 4, &dq), _new(args[2], h.k.shape, 4, &dk), _new(args[3], h.v.shape, 4, &dv)
        with nogil:
            status = _weights_of(&h, masked, causal, memory.data)
            if status == 0:
                status = _slopes(&h, g.data, memory.data + 8 * terms, memory.data + 16 * terms, dq.data, dk.data, dv.data)
        _raise(status)
        return tuple([self.heads_within_rows(made) for made in gradients])


cdef rm_status _stacked(const Heads *h, bint trans_a, bint trans_b, double alpha, int64_t m, int64_t n, int64_t k, const char *a, const char *b,
                        bint added, char *c) noexcept nogil:
    """The products of stacks of matrices; or what they add to c."""
    cdef ptrdiff_t size = _SIZES[h.q.format]
    cdef int64_t i
    cdef rm_status status = 0
    if alpha == 1.0 and not added:
        return rm_matmul_batched(h.q.format, h.q.format, h.count, m, n, k, a, m * k * size, size if trans_a else k * size, m * size if trans_a else size,
                                 b, k * n * size, size if trans_b else n * size, k * size if trans_b else size, NULL, 0, 0, c, m * n * size, n * size,
                                 size)
    for i in range(h.count):
        status = rm_gemm(h.q.format, RM_ROW_MAJOR, RM_TRANS if trans_a else RM_NO_TRANS, RM_TRANS if trans_b else RM_NO_TRANS, m, n, k, alpha,
                         a + i * m * k * size, m if trans_a else k, b + i * k * n * size, k if trans_b else n, 1.0 if added else 0.0,
                         c + i * m * n * size, n)
        if status != 0:
            break
    return status


cdef rm_status _weights_of(const Heads *h, int masked, bint causal, char *memory) noexcept nogil:
    """Computes the scores, added to a mask of numbers if there is one, and behind them their softmax, which a mask of booleans may precede."""
    cdef int f = h.q.format
    cdef ptrdiff_t size = _SIZES[f]
    cdef int64_t terms = h.count * h.rows * h.keys, i
    cdef char *weights = memory + 8 * terms
    cdef uint64_t zero = 0, infinite
    cdef rm_status status
    # Minus infinity.
    infinite = 0xFC00 if f == RM_FORMAT_F16 else 0xFF80 if f == RM_FORMAT_BF16 else 0xFF800000
    if f == RM_FORMAT_F64:
        infinite = <uint64_t>0xFFF << 52
    if masked == 2 or causal:
        for i in range(terms):
            if i % h.keys <= i // h.keys % h.length if causal else (<double *>weights)[i] != 0:
                memcpy(memory + i * size, &zero, size)
            else:
                memcpy(memory + i * size, &infinite, size)
    status = _stacked(h, False, True, h.scale, h.rows, h.keys, h.width, h.q.data, h.k.data, masked != 0, memory)
    if status == 0:
        status = rm_softmax(f, terms // h.keys, h.keys, memory, h.keys * size, size, weights, h.keys * size, size)
    for i in range(terms // h.keys if masked and not causal else 0):
        if _is_masked(f, h.keys, memory + i * h.keys * size, size):
            memset(weights + i * h.keys * size, 0, h.keys * size)
    return status


cdef rm_status _slopes(const Heads *h, const char *g, const char *weights, char *memory, char *dq, char *dk, char *dv) noexcept nogil:
    """The gradients with respect to queries, keys and values."""
    cdef ptrdiff_t size = _SIZES[h.q.format]
    cdef int64_t terms = h.count * h.rows * h.keys
    cdef char *slopes = memory + 8 * terms
    cdef rm_status status = _stacked(h, False, True, 1.0, h.rows, h.keys, h.depth, g, h.v.data, False, memory)
    if status == 0:
        status = rm_softmax_backward(h.q.format, terms // h.keys, h.keys, memory, h.keys * size, size, weights, h.keys * size, size, slopes,
                                     h.keys * size, size)
    if status == 0:
        status = _stacked(h, True, False, 1.0, h.keys, h.depth, h.rows, weights, g, False, dv)
    if status == 0:
        status = _stacked(h, False, False, h.scale, h.rows, h.width, h.keys, slopes, h.k.data, False, dq)
    if status == 0:
        status = _stacked(h, True, False, h.scale, h.keys, h.width, h.rows, slopes, h.q.data, False, dk)
    return status
