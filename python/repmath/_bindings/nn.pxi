# Softmax, normalisation, losses, pooling and formulas.

_SOFTMAX = {"softmax": 0, "log_softmax": 1, "logsumexp": 2, "softmax_backward": 3, "log_softmax_backward": 4}


cdef _balls_of_next(balls, rm_random_rounding *rounding, int64_t *count):
    """Asks for balls, in arrays of binary64 like the results and statistics, or for nothing where that is None. A seventh and an eighth of them are
    indices of results that are left, and the place of a rounding, which is put to *rounding: then results are rounded, and *count of them left."""
    cdef rm_ball_results r
    cdef double *to[6]
    cdef int i
    if balls is None:
        return
    for i in range(6):
        to[i] = <double *>_view(balls[i] if i < len(balls) else None).base
    r.rounding, r.left, r.count = NULL, NULL, count
    count[0] = 0
    if len(balls) == 8:
        r.left = <int64_t *>_view(balls[6]).base
        rounding[0] = _random_rounding(balls[7])
        r.rounding = rounding
    r.middle, r.radius, r.mean, r.mean_radius, r.root, r.root_radius = to[0], to[1], to[2], to[3], to[4], to[5]
    rm_balls_of_next(&r)


def softmax(what, format, first, second, out, balls=None):
    """rm_<what> over arrays of rows; second: y of a gradient, else None. balls: middles and radii of the results, or what
    `_balls_of_next` says. Returns how many results are left."""
    cdef View a = _view(first), b = _view(second), y = _view(out)
    cdef rm_status status = 0
    cdef int f, which = _SOFTMAX[what]
    cdef int64_t rows = first.shape[0], n = first.shape[1], left = 0
    cdef rm_random_rounding rounding
    f, _ = _FORMATS[format]
    _balls_of_next(balls, &rounding, &left)
    with nogil:
        if which == 0:
            status = rm_softmax(f, rows, n, <void *>a.base, a.stride[0], a.stride[1], <void *>y.base, y.stride[0], y.stride[1])
        elif which == 1:
            status = rm_log_softmax(f, rows, n, <void *>a.base, a.stride[0], a.stride[1], <void *>y.base, y.stride[0],
                                    y.stride[1])
        elif which == 2:
            status = rm_logsumexp(f, rows, n, <void *>a.base, a.stride[0], a.stride[1], <void *>y.base, y.stride[0])
        elif which == 3:
            status = rm_softmax_backward(f, rows, n, <void *>a.base, a.stride[0], a.stride[1], <void *>b.base, b.stride[0],
                                         b.stride[1], <void *>y.base, y.stride[0], y.stride[1])
        else:
            status = rm_log_softmax_backward(f, rows, n, <void *>a.base, a.stride[0], a.stride[1], <void *>b.base, b.stride[0], b.stride[1],
                                             <void *>y.base, y.stride[0], y.stride[1])
    _raise(status)
    return left


def normalize(what, format, bint centered, x, g, w, b, mean, variance, double eps, out, weight_strides=None, balls=None):
    """rm_normalize and its gradients: arrays of four axes, (sets, sets, blocks, elements); w, b, mean and variance may be None. To be "found",
    mean and variance are contiguous arrays of an element a set, of the mean and 1/sqrt(variance + eps). balls: middles and radii of the
    results, of the means and of the roots, or what `_balls_of_next` says. Returns how many results are left."""
    cdef View a = _view(x), h = _view(g), u = _view(w), v = _view(b), m = _view(mean), s = _view(variance), y = _view(out)
    cdef rm_norm_sets sets
    cdef rm_random_rounding rounding
    cdef int64_t left = 0
    cdef rm_status status
    cdef int f, which = {"forward": 0, "input": 1, "weight": 2, "found": 3}[what]
    f, _ = _FORMATS[format]
    sets.centered = centered
    sets.sets[0], sets.sets[1], sets.outer, sets.inner = x.shape
    for i in range(4 if weight_strides is not None else 0):
        y.stride[i] = weight_strides[i]
    _balls_of_next(balls, &rounding, &left)
    with nogil:
        if which == 0:
            status = rm_normalize(f, &sets, <void *>a.base, a.stride, <void *>u.base, u.stride, <void *>v.base, v.stride,
                                  <void *>m.base, m.stride, <void *>s.base, s.stride, eps, <void *>y.base, y.stride)
        elif which == 3:
            status = rm_normalize_with_statistics(f, &sets, <void *>a.base, a.stride, <void *>u.base, u.stride, <void *>v.base, v.stride, eps,
                                                  <void *>y.base, y.stride, <void *>m.base, <void *>s.base)
        elif which == 1:
            status = rm_normalize_backward(f, &sets, <void *>h.base, h.stride, <void *>a.base, a.stride, <void *>u.base, u.stride,
                                           <void *>m.base, m.stride, <void *>s.base, s.stride, eps, <void *>y.base, y.stride)
        else:
            status = rm_normalize_backward_weight(f, &sets, <void *>h.base, h.stride, <void *>a.base, a.stride, <void *>m.base, m.stride,
                                                  <void *>s.base, s.stride, eps, <void *>y.base, y.stride)
    _raise(status)
    return left


_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def cross_entropy(bint logits, format, x, target, probability, weight, int64_t ignore_index, double label_smoothing, reduction, g,
                  out):
    """rm_cross_entropy, or without logits rm_nll_loss, or with a gradient g their gradients, over rows. Returns the status."""
    cdef View a = _view(x), t = _view(target), p = _view(probability), w = _view(weight), h = _view(g), y = _view(out)
    cdef rm_cross_entropy_problem c
    cdef rm_status status
    cdef int f
    cdef bint backward = g is not None
    f, _ = _FORMATS[format]
    c.rows, c.n = x.shape
    c.x, c.row_x, c.stride_x = <void *>a.base, a.stride[0], a.stride[1]
    c.target, c.stride_target = <const int64_t *>t.base, t.stride[0]
    c.probability, c.row_probability, c.stride_probability = <void *>p.base, p.stride[0], p.stride[1]
    c.weight, c.stride_weight = <void *>w.base, w.stride[0]
    c.ignore_index, c.label_smoothing, c.reduction = ignore_index, label_smoothing, _REDUCTIONS[reduction]
    with nogil:
        if backward and not logits:
            status = rm_nll_loss_backward(f, &c, <void *>h.base, h.stride[0], <void *>y.base, y.stride[0], y.stride[1])
        elif not logits:
            status = rm_nll_loss(f, &c, <void *>y.base, y.stride[0])
        elif backward:
            status = rm_cross_entropy_backward(f, &c, <void *>h.base, h.stride[0], <void *>y.base, y.stride[0], y.stride[1])
        else:
            status = rm_cross_entropy(f, &c, <void *>y.base, y.stride[0])
    if rm_status_code(status) != RM_ERR_INDEX:
        _raise(status)
    return rm_status_code(status)


_REGRESSION_LOSSES = {"mse": 0, "l1": 1, "smooth_l1": 2, "huber": 3}


def regression_loss(loss, double p, format, reduction, g, x, y, out):
    """rm_regression_loss, or with g its gradient; arrays have one axis."""
    cdef View vg = _view(g), vx = _view(x), vy = _view(y), to = _view(out)
    cdef int which = _REGRESSION_LOSSES[loss], how = _REDUCTIONS[reduction], f
    cdef bint backward = g is not None
    cdef int64_t n = x.shape[0]
    cdef rm_status status
    f, _ = _FORMATS[format]
    with nogil:
        if backward:
            status = rm_regression_loss_backward(which, p, f, how, n, <void *>vg.base, vg.stride[0], <void *>vx.base, vx.stride[0],
                                                 <void *>vy.base, vy.stride[0], <void *>to.base, to.stride[0])
        else:
            status = rm_regression_loss(which, p, f, how, n, <void *>vx.base, vx.stride[0], <void *>vy.base, vy.stride[0],
                                        <void *>to.base, to.stride[0])
    _raise(status)


def bce_with_logits(format, reduction, g, x, y, weight, pos_weight, out):
    """rm_bce_with_logits, or with g its gradient; arrays have one axis."""
    cdef View vg = _view(g), vx = _view(x), vy = _view(y), vw = _view(weight), vp = _view(pos_weight), to = _view(out)
    cdef int how = _REDUCTIONS[reduction], f
    cdef bint backward = g is not None
    cdef int64_t n = x.shape[0]
    cdef rm_status status
    f, _ = _FORMATS[format]
    with nogil:
        if backward:
            status = rm_bce_with_logits_backward(f, how, n, <void *>vg.base, vg.stride[0], <void *>vx.base, vx.stride[0],
                                                 <void *>vy.base, vy.stride[0], <void *>vw.base, vw.stride[0],
                                                 <void *>vp.base, vp.stride[0], <void *>to.base, to.stride[0])
        else:
            status = rm_bce_with_logits(f, how, n, <void *>vx.base, vx.stride[0], <void *>vy.base, vy.stride[0],
                                        <void *>vw.base, vw.stride[0], <void *>vp.base, vp.stride[0], <void *>to.base,
                                        to.stride[0])
    _raise(status)


def kl_div(format, reduction, bint log_target, int64_t count, g, x, t, out):
    """rm_kl_div, or with g its gradient, without x; arrays have one axis."""
    cdef View vg = _view(g), vx = _view(x), vt = _view(t), to = _view(out)
    cdef int how = _REDUCTIONS[reduction], f
    cdef bint backward = g is not None
    cdef int64_t n = t.shape[0]
    cdef rm_status status
    f, _ = _FORMATS[format]
    with nogil:
        if backward:
            status = rm_kl_div_backward(f, how, log_target, count, n, <void *>vg.base, vg.stride[0], <void *>vt.base, vt.stride[0],
                                        <void *>to.base, to.stride[0])
        else:
            status = rm_kl_div(f, how, log_target, count, n, <void *>vx.base, vx.stride[0], <void *>vt.base, vt.stride[0],
                               <void *>to.base, to.stride[0])
    _raise(status)


def pool(what, format, sizes, bint include_pad, int64_t divisor, first, out, index):
    """rm_max_pool, rm_avg_pool or rm_avg_pool_backward; sizes are those of rm_pool, windows None when they are adaptive."""
    cdef rm_pool p
    cdef View a = _view(first), y = _view(out), at = _view(index)
    cdef rm_status status
    cdef int f
    f, _ = _FORMATS[format]
    (p.batch, p.channels), size, result, windows = sizes
    p.dims = len(size)
    p.adaptive = windows is None
    for j in range(p.dims):
        p.in_[j], p.out[j] = size[j], result[j]
        if windows is not None:
            p.kernel[j], p.stride[j], p.dilation[j], p.padding[j] = (w[j] for w in windows)
    cdef int which = {"max_pool": 0, "avg_pool": 1, "avg_pool_backward": 2}[what]
    with nogil:
        if which == 0:
            status = rm_max_pool(f, &p, <void *>a.base, a.stride, <void *>y.base, y.stride, <int64_t *>at.base, at.stride)
        elif which == 1:
            status = rm_avg_pool(f, &p, include_pad, divisor, <void *>a.base, a.stride, <void *>y.base, y.stride)
        else:
            status = rm_avg_pool_backward(f, &p, include_pad, divisor, <void *>a.base, a.stride, <void *>y.base, y.stride)
    _raise(status)


def gather_sum(format_x, format, x, at, weight, first, int64_t group, bint mean, out):
    """rm_gather_sum: x has the axes (line, element, inner), out (line, point, inner); the last axes of at and weight are (taps, points), or with
    `first` that of the terms. All but x are contiguous; weight and first may be None."""
    cdef View a = _view(x), where = _view(at), w = _view(weight), begins = _view(first), y = _view(out)
    cdef rm_gather g
    cdef rm_status status
    cdef int from_, to
    from_, _ = _FORMATS[format_x]
    to, _ = _FORMATS[format]
    g.lines, g.elements, g.inner = x.shape
    g.points = out.shape[1]
    g.taps = 0 if first is not None else at.shape[at.ndim - 2]
    g.group, g.mean = group, mean
    g.first, g.at, g.weight = <const int64_t *>begins.base, <const int64_t *>where.base, <const double *>w.base
    with nogil:
        status = rm_gather_sum(from_, to, &g, <void *>a.base, a.stride, <void *>y.base)
    _raise(status)


def grid_terms(format, grid, sizes, int mode, int padding, bint align_corners, at, weight, slope):
    """rm_grid_terms of a contiguous grid (samples, points, dims); slope may be None."""
    cdef View from_ = _view(grid), where = _view(at), w = _view(weight), s = _view(slope)
    cdef rm_grid_sample g
    cdef rm_status status
    cdef int f
    f, _ = _FORMATS[format]
    g.samples, g.points, g.dims = grid.shape
    g.mode, g.padding, g.align_corners = mode, padding, align_corners
    for j in range(min(g.dims, 3)):
        g.size[j] = sizes[j]
    with nogil:
        status = rm_grid_terms(f, &g, <void *>from_.base, <int64_t *>where.base, <double *>w.base, <double *>s.base)
    _raise(status)


_FORMULAS = {
    "scaled": RM_FORMULA_SCALED, "over": RM_FORMULA_OVER, "under": RM_FORMULA_UNDER, "added": RM_FORMULA_ADDED,
    "plus": RM_FORMULA_PLUS, "between": RM_FORMULA_BETWEEN, "product": RM_FORMULA_PRODUCT, "quotient": RM_FORMULA_QUOTIENT,
    "tanh": RM_FORMULA_TANH, "sigmoid": RM_FORMULA_SIGMOID, "max_scalar": RM_FORMULA_MAX_SCALAR, "min_scalar": RM_FORMULA_MIN_SCALAR,
    "max": RM_FORMULA_MAX, "min": RM_FORMULA_MIN, "gate": RM_FORMULA_GATE, "mix": RM_FORMULA_MIX,
    "hardsigmoid": RM_FORMULA_HARDSIGMOID, "hardsigmoid_backward": RM_FORMULA_HARDSIGMOID_GRADIENT,
    "hardswish": RM_FORMULA_HARDSWISH, "hardswish_backward": RM_FORMULA_HARDSWISH_GRADIENT,
    "leaky": RM_FORMULA_LEAKY, "leaky_backward": RM_FORMULA_LEAKY_GRADIENT, "shrink": RM_FORMULA_SHRINK,
    "floor": RM_FORMULA_FLOOR, "trunc": RM_FORMULA_TRUNC, "fmod": RM_FORMULA_FMOD, "remainder": RM_FORMULA_REMAINDER,
    "remainder_of": RM_FORMULA_REMAINDER_OF
}


def formula(name, format, int64_t n, double a, size_t x, size_t y, size_t z, size_t out):
    """rm_formula on n elements of contiguous arrays, which are given by their addresses: 0 for one that it does not use."""
    cdef int which = _FORMULAS[name], f
    cdef rm_status status
    f, _ = _FORMATS[format]
    with nogil:
        status = rm_formula(which, f, n, a, <const void *>x, <const void *>y, <const void *>z, <void *>out)
    _raise(status)
