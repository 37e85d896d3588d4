# Steps of optimisers, and gradients clipped to a norm.

def sgd_step(format, unsigned char[::1] p, const unsigned char[::1] g, unsigned char[::1] b, double lr, double momentum,
             double dampening, double weight_decay, bint nesterov, bint maximize, bint first):
    """rm_sgd_step on arrays as bytes, of one size and not empty; b is None without momentum."""
    cdef int f
    cdef Py_ssize_t size
    cdef rm_status status
    cdef rm_sgd_options o = rm_sgd_options(lr, momentum, dampening, weight_decay, nesterov, maximize, first)
    f, size = _FORMATS[format]
    cdef long long n = p.shape[0] // size
    cdef void *buffer = NULL if b is None else &b[0]
    with nogil:
        status = rm_sgd_step(f, n, &p[0], &g[0], buffer, &o)
    _raise(status)


def adam_step(format, unsigned char[::1] p, const unsigned char[::1] g, unsigned char[::1] m, unsigned char[::1] v,
              unsigned char[::1] w, double lr, double beta1, double beta2, double eps, double weight_decay, int64_t step,
              bint decoupled, bint maximize):
    """rm_adam_step on arrays as bytes, of one size and not empty; w is None without amsgrad."""
    cdef int f
    cdef Py_ssize_t size
    cdef rm_status status
    cdef rm_adam_options o = rm_adam_options(lr, beta1, beta2, eps, weight_decay, step, decoupled, maximize)
    f, size = _FORMATS[format]
    cdef long long n = p.shape[0] // size
    cdef void *largest = NULL if w is None else &w[0]
    with nogil:
        status = rm_adam_step(f, n, &p[0], &g[0], &m[0], &v[0], largest, &o)
    _raise(status)


def random_sgd_step(place, format, unsigned char[::1] p, const unsigned char[::1] g, unsigned char[::1] b, double lr,
                    double momentum, double dampening, double weight_decay, bint nesterov, bint maximize, bint first):
    """rm_random_sgd_step, as sgd_step; place is (mode, seed, stream, first element)."""
    cdef int f
    cdef Py_ssize_t size
    cdef rm_status status
    cdef rm_random_rounding r = _random_rounding(place)
    cdef rm_sgd_options o = rm_sgd_options(lr, momentum, dampening, weight_decay, nesterov, maximize, first)
    f, size = _FORMATS[format]
    cdef long long n = p.shape[0] // size
    cdef void *buffer = NULL if b is None else &b[0]
    with nogil:
        status = rm_random_sgd_step(f, n, &p[0], &g[0], buffer, &o, &r)
    _raise(status)


def random_adam_step(place, format, unsigned char[::1] p, const unsigned char[::1] g, unsigned char[::1] m,
                     unsigned char[::1] v, unsigned char[::1] w, double lr, double beta1, double beta2, double eps,
                     double weight_decay, int64_t step, bint decoupled, bint maximize):
    """rm_random_adam_step, as adam_step; place is (mode, seed, stream, first element)."""
    cdef int f
    cdef Py_ssize_t size
    cdef rm_status status
    cdef rm_random_rounding r = _random_rounding(place)
    cdef rm_adam_options o = rm_adam_options(lr, beta1, beta2, eps, weight_decay, step, decoupled, maximize)
    f, size = _FORMATS[format]
    cdef long long n = p.shape[0] // size
    cdef void *largest = NULL if w is None else &w[0]
    with nogil:
        status = rm_random_adam_step(f, n, &p[0], &g[0], &m[0], &v[0], largest, &o, &r)
    _raise(status)


def clip_to_norm(format, unsigned char[::1] g, ExactSum squares, double max_norm):
    """rm_clip_to_norm on an array as bytes, not empty."""
    cdef int f
    cdef Py_ssize_t size
    cdef rm_status status
    f, size = _FORMATS[format]
    cdef long long n = g.shape[0] // size
    with nogil:
        status = rm_clip_to_norm(f, n, &g[0], squares.acc, max_norm)
    _raise(status)
