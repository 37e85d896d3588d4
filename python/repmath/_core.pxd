# What _core calls: the C library, the ufuncs' C code beside it, and the floating-point environment.

from libc.stdint cimport int32_t, int64_t

cdef extern from "<fenv.h>" nogil:
    ctypedef struct fenv_t:
        pass
    int fegetenv(fenv_t *env)
    int fesetenv(const fenv_t *env)
    int feupdateenv(const fenv_t *env)
    int feclearexcept(int which)
    int fetestexcept(int which)
    const fenv_t *FE_DFL_ENV
    int FE_INVALID, FE_OVERFLOW

cdef extern from "environment.h" nogil:
    bint rm_py_has_default_environment()
    unsigned rm_py_get_flags()
    void rm_py_set_flags(unsigned flags)

cdef extern from "ufuncs.h":
    const char *RM_PY_COMPILER
    int rm_py_import_numpy() except -1
    int rm_py_layout(object array, int most, size_t *base, ptrdiff_t *stride) except -1
    dict rm_py_elementwise_ufuncs()
    dict rm_py_reduction_gufuncs()
    dict rm_py_rounded_ufuncs(int mode)
    dict rm_py_power_ufuncs(int mode)
    int rm_py_promote_powers_to_double(object ufuncs) except -1
    int rm_py_add_bfloat16_powers(object ufuncs, object dtype_class) except -1
    int rm_py_set_scoped(object ufuncs, object function) except -1
    void rm_py_open_scopes(long more)
    int rm_py_promote_to_double(object ufuncs) except -1
    int rm_py_add_bfloat16(object ufuncs, object dtype_class) except -1
    int rm_py_add_bfloat16_reductions(object gufuncs, object dtype_class) except -1
    int rm_py_add_float8(object ufuncs, object dtype_class, int format) except -1
    ctypedef void rm_py_function() noexcept nogil
    int rm_py_functions(const char *name, rm_py_function **of_format)
    bint rm_py_same_float(object a, object b)

cdef extern from "short_rows.h":
    int64_t rm_py_short_products(int format, int64_t outer, int64_t n, int64_t inner, const void *x, void *out, unsigned char *open) nogil
    int rm_py_short_norm(int64_t n, const float *x, float *out) nogil

cdef extern from "samples.h":
    ctypedef struct rm_py_sample:
        int format, dims
        int64_t channels, size, points, taps
        const int64_t *at
        const double *weight
        const double *slope
    int64_t rm_py_sample_workspace(const rm_py_sample *s)
    void rm_py_turn(int64_t rows, int64_t columns, int size, const void *from_, void *to) nogil
    int rm_py_sample_gradients(const rm_py_sample *s, const void *g, const void *x, void *dx, void *dgrid, double *workspace) nogil

cdef extern from "factors.h":
    void rm_py_multiply(int64_t n, const float *x, double *m, int64_t *e, double *exceptional) nogil
    void rm_py_product_ends(int64_t n, const int64_t *count, int digits, const double *m, const int64_t *e, double *low, double *high) nogil

cdef extern from "decompositions.h":
    ctypedef struct rm_py_sweep:
        int64_t rounds, half
        const int64_t *pair
        int most
        double least
    ctypedef struct rm_py_matrix:
        double *at
        int64_t row, column
    int rm_py_orthogonal_rows(const rm_py_sweep *sweep, int64_t n, int64_t m, double *columns, double *v,
                              double *work) nogil
    void rm_py_diagonal(const rm_py_sweep *sweep, int64_t n, double *a, double *v, double *work) nogil
    int rm_py_reflectors(int64_t m, int64_t n, double *a, double *taus, double *work) nogil
    int rm_py_reflected(int64_t m, int64_t n, const double *a, int64_t count, const double *taus, int transposed, int64_t k,
                        double *c, double *work) nogil
    int64_t rm_py_eigh_numbers(int64_t n) nogil
    void rm_py_eigh(const rm_py_sweep *sweep, int64_t n, const double *a, double *values, double *vectors, double *work) nogil
    int64_t rm_py_svd_numbers(int64_t m, int64_t n, int64_t wanted) nogil
    int rm_py_svd(const rm_py_sweep *sweep, int64_t m, int64_t n, const rm_py_matrix *a, double *s, int64_t wanted, const rm_py_matrix *u,
                  const rm_py_matrix *v, double *work) nogil
    int rm_py_qr(int64_t m, int64_t n, double *factors, int64_t columns, double *q, double *r, double *taus, double *work) nogil

cdef extern from "steps.h":
    ctypedef void rm_py_step_function() noexcept nogil
    ctypedef struct rm_py_step:
        unsigned char kind, which, wide, number, arity
        unsigned char operand[3]
        rm_py_step_function *function[4]
    ctypedef struct rm_py_number:
        double value
        unsigned long long bits
        int held
    ctypedef struct rm_py_strided:
        const char *data
        int format, ndim
        int64_t shape[8]
        ptrdiff_t stride[8]
    int RM_PY_STEP_FUNCTION, RM_PY_STEP_FORMULA, RM_PY_STEP_SCALED, RM_PY_STEP_WIDE, RM_PY_STEP_OWN, RM_PY_STEP_COMPARE
    int RM_PY_STEP_BOTH, RM_PY_STEP_EITHER, RM_PY_STEP_NOT, RM_PY_STEP_CHOOSE, RM_PY_STEP_NEGATED, RM_PY_STEP_CLAMPED
    int RM_PY_STEP_TOWARD_ZERO, RM_PY_STEP_WHOLE, RM_PY_STEP_REQUIRED
    int RM_PY_LESS, RM_PY_AT_MOST, RM_PY_MORE, RM_PY_AT_LEAST, RM_PY_EQUAL, RM_PY_IS_NAN, RM_PY_IS_INFINITE
    int RM_PY_WHOLE_NEAREST, RM_PY_WHOLE_FLOOR, RM_PY_WHOLE_TRUNC, RM_PY_NO_OPERAND
    ctypedef struct rm_py_runs:
        const char *x
        int64_t length
        ptrdiff_t size, step
        int outer, same
        int64_t at[8]
        int64_t shape[8]
        ptrdiff_t stride[8]
    void rm_py_copy_runs(rm_py_runs *runs, int64_t count, char *to) nogil
    bint rm_py_spread(const rm_py_strided *x, int ndim, const int64_t *shape, char *to) nogil
    void rm_py_without_nan(int format, int64_t n, const void *x, void *to) nogil
    int rm_py_converted(int from_format, int to, int64_t n, const void *x, void *out) nogil
    int rm_py_added(int wide, int64_t n, const int64_t *at, int64_t size, const double *x, double *sum) nogil
    void rm_py_divided(int64_t rows, int64_t cols, double *x, const double *by) nogil
    bint rm_py_run_steps(const rm_py_step *step, int steps, int inputs, const char *const *data, const int *formats,
                         const rm_py_number *number, int own, int64_t n, void *out) nogil

cdef extern from "float8.h":
    int RM_PY_E4M3FN, RM_PY_E5M2
    unsigned char rm_py_float8_round(double x, int format) nogil

cdef extern from "repmath/repmath.h":
    ctypedef int rm_status
    const char *rm_version()
    const char *rm_isa()
    rm_status rm_isa_status()
    int rm_isa_available(const char *name)
    rm_status rm_set_num_threads(int n)
    int rm_get_num_threads()
    int RM_SPEC_VERSION
    int RM_ROUND_NEAREST, RM_ROUND_TOWARD_ZERO, RM_ROUND_DOWN, RM_ROUND_UP
    rm_status rm_sum(int format_x, long long n, const void *x, ptrdiff_t sx, int format_out, void *out) nogil
    rm_status rm_mean(int format_x, long long n, const void *x, ptrdiff_t sx, int format_out, void *out) nogil
    rm_status rm_sum_axes(int format_x, const int64_t *size, const ptrdiff_t *stride, const void *x, int format_out, void *out) nogil
    rm_status rm_mean_axes(int format_x, const int64_t *size, const ptrdiff_t *stride, const void *x, int format_out, void *out) nogil
    rm_status rm_norm(int format_x, long long n, const void *x, ptrdiff_t sx, int format_out, void *out) nogil
    rm_status rm_var(int format_x, long long n, const void *x, ptrdiff_t sx, int format_out, void *out, double ddof) nogil
    rm_status rm_std(int format_x, long long n, const void *x, ptrdiff_t sx, int format_out, void *out, double ddof) nogil
    rm_status rm_products(int format_x, int64_t rows, int64_t n, const void *x, int partial, int format_out, void *out,
                          unsigned char *undecided) nogil
    rm_status rm_cumsum_rows(int format_x, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t sx, int format_out,
                             void *out, ptrdiff_t row_out, ptrdiff_t so) nogil
    ctypedef struct rm_reduction_stats:
        unsigned long long fast, double_double, accumulator
    void rm_get_reduction_stats(rm_reduction_stats *out)
    void rm_reset_reduction_stats()
    rm_status rm_index_add(int format, long long rows, long long cols, void *out, ptrdiff_t row_out, ptrdiff_t col_out,
                           long long n, const int64_t *index, ptrdiff_t stride_index, const void *src, ptrdiff_t row_src,
                           ptrdiff_t col_src) nogil
    rm_status rm_segment_sum(int format, long long rows, long long cols, void *out, ptrdiff_t row_out, ptrdiff_t col_out,
                             long long n, const int64_t *index, ptrdiff_t stride_index, const void *src, ptrdiff_t row_src,
                             ptrdiff_t col_src) nogil
    int RM_FORMAT_F16, RM_FORMAT_BF16, RM_FORMAT_F32, RM_FORMAT_F64
    ctypedef unsigned short rm_f16
    ctypedef unsigned short rm_bf16
    ctypedef struct rm_accumulator:
        pass
    ctypedef struct rm_sgd_options:
        double lr, momentum, dampening, weight_decay
        int nesterov, maximize, first
    ctypedef struct rm_adam_options:
        double lr, beta1, beta2, eps, weight_decay
        int64_t step
        int decoupled, maximize
    rm_status rm_sgd_step(int format, long long n, void *p, const void *g, void *b, const rm_sgd_options *options) nogil
    rm_status rm_random_sgd_step(int format, long long n, void *p, const void *g, void *b, const rm_sgd_options *options,
                                 const rm_random_rounding *r) nogil
    rm_status rm_random_adam_step(int format, long long n, void *p, const void *g, void *m, void *v, void *w,
                                  const rm_adam_options *options, const rm_random_rounding *r) nogil
    rm_status rm_adam_step(int format, long long n, void *p, const void *g, void *m, void *v, void *w,
                           const rm_adam_options *options) nogil
    ctypedef struct rm_recurrence:
        double first[2]
        double a[2]
        double b[2]
        double c[2]
        int divided
    ctypedef struct rm_even_series:
        int order, sign, scaled, terms
        const double *c
    ctypedef struct rm_digamma_derivative:
        int order
        const double *c
    rm_status rm_recurrence_values(const rm_recurrence *f, int format_x, int format, int64_t n, const void *x, const double *degree,
                                   int64_t step, void *out, unsigned char *undecided, int64_t *left) nogil
    rm_status rm_even_series_values(const rm_even_series *f, int format_x, int format, int64_t n, const void *x, void *out,
                                    unsigned char *undecided, int64_t *left) nogil
    rm_status rm_digamma_derivatives(const rm_digamma_derivative *f, int format_x, int format, int64_t n, const void *x, void *out,
                                     unsigned char *undecided, int64_t *left) nogil
    rm_status rm_special_values(int function, int format, int64_t n, const double *a, const double *x, void *out, unsigned char *undecided,
                                int64_t *left) nogil
    rm_status rm_formula(int formula, int format, int64_t n, double a, const void *x, const void *y, const void *z, void *out) nogil
    rm_status rm_convert(int from_format, int to_format, int64_t n, const void *x, void *out) nogil
    rm_status rm_glu(int format, int64_t rows, int64_t n, const void *x, void *out) nogil
    rm_status rm_glu_gradient(int format, int64_t rows, int64_t n, const void *g, const void *x, void *out) nogil
    int RM_FORMULA_SCALED, RM_FORMULA_OVER, RM_FORMULA_UNDER, RM_FORMULA_ADDED, RM_FORMULA_PLUS, RM_FORMULA_BETWEEN
    int RM_FORMULA_PRODUCT, RM_FORMULA_QUOTIENT, RM_FORMULA_TANH, RM_FORMULA_SIGMOID
    int RM_FORMULA_MAX_SCALAR, RM_FORMULA_MIN_SCALAR, RM_FORMULA_MAX, RM_FORMULA_MIN, RM_FORMULA_GATE, RM_FORMULA_MIX
    int RM_FORMULA_HARDSIGMOID, RM_FORMULA_HARDSIGMOID_GRADIENT, RM_FORMULA_HARDSWISH, RM_FORMULA_HARDSWISH_GRADIENT
    int RM_FORMULA_LEAKY, RM_FORMULA_LEAKY_GRADIENT, RM_FORMULA_SHRINK
    int RM_FORMULA_FLOOR, RM_FORMULA_TRUNC, RM_FORMULA_FMOD, RM_FORMULA_REMAINDER, RM_FORMULA_REMAINDER_OF
    rm_status rm_clip_to_norm(int format, long long n, void *g, const rm_accumulator *squares, double max_norm) nogil
    rm_status rm_root_of_total(const rm_accumulator *squares, double *out) nogil
    int rm_status_code(rm_status status)
    int RM_ERR_INDEX, RM_ERR_MEMORY
    rm_status rm_cholesky(int format, int64_t batch, int64_t n, const void *a, ptrdiff_t next_a, ptrdiff_t row_a, ptrdiff_t col_a,
                          void *l, int32_t *info) nogil
    rm_status rm_lu_factor(int format, int64_t batch, int64_t m, int64_t n, const void *a, ptrdiff_t next_a, ptrdiff_t row_a,
                           ptrdiff_t col_a, void *lu, int32_t *pivots, int32_t *info) nogil
    rm_status rm_solve(int format, int64_t batch, int64_t n, int64_t k, const void *a, ptrdiff_t next_a, ptrdiff_t row_a,
                       ptrdiff_t col_a, const void *b, ptrdiff_t next_b, ptrdiff_t row_b, ptrdiff_t col_b, void *x,
                       int32_t *info) nogil
    rm_status rm_solve_triangular(int format, int upper, int unit, int64_t batch, int64_t n, int64_t k, const void *a,
                                  ptrdiff_t next_a, ptrdiff_t row_a, ptrdiff_t col_a, const void *b, ptrdiff_t next_b,
                                  ptrdiff_t row_b, ptrdiff_t col_b, void *x, int32_t *info) nogil
    rm_status rm_det(int format, int64_t batch, int64_t n, const void *a, ptrdiff_t next_a, ptrdiff_t row_a, ptrdiff_t col_a,
                     void *det) nogil
    rm_status rm_slogdet(int format, int64_t batch, int64_t n, const void *a, ptrdiff_t next_a, ptrdiff_t row_a,
                         ptrdiff_t col_a, void *sign, void *log_size) nogil
    ctypedef struct rm_conv:
        int dims
        int64_t batch, channels_in, channels_out, groups
        int64_t kernel[3]
        int64_t stride[3]
        int64_t dilation[3]
        int64_t padding_low[3]
        int64_t padding_high[3]
        int64_t size "in"[3]
    rm_status rm_conv_forward(int format, const rm_conv *conv, const void *x, const ptrdiff_t *sx, const void *w,
                              const ptrdiff_t *sw, const void *bias, ptrdiff_t sb, void *y, const ptrdiff_t *sy) nogil
    rm_status rm_conv_grad_input(int format, const rm_conv *conv, const void *g, const ptrdiff_t *sg, const void *w,
                                 const ptrdiff_t *sw, const void *bias, ptrdiff_t sb, void *gx, const ptrdiff_t *sgx) nogil
    rm_status rm_conv_grad_weight(int format, const rm_conv *conv, const void *x, const ptrdiff_t *sx, const void *g,
                                  const ptrdiff_t *sg, void *gw, const ptrdiff_t *sgw) nogil
    void rm_random_block(unsigned long long seed, unsigned long long stream, unsigned long long counter, unsigned int *out) nogil
    rm_status rm_random_words32(unsigned long long seed, unsigned long long stream, long long first, long long n, void *out,
                                ptrdiff_t so) nogil
    rm_status rm_random_words64(unsigned long long seed, unsigned long long stream, long long first, long long n, void *out,
                                ptrdiff_t so) nogil
    rm_status rm_random_uniform(int format, unsigned long long seed, unsigned long long stream, long long first, long long n,
                                double low, double high, void *out, ptrdiff_t so) nogil
    rm_status rm_random_normal(int format, unsigned long long seed, unsigned long long stream, long long first, long long n,
                               double mean, double std, void *out, ptrdiff_t so) nogil
    rm_status rm_random_truncated_normal(int format, unsigned long long seed, unsigned long long stream, long long first,
                                         long long n, double mean, double std, double low, double high, void *out,
                                         ptrdiff_t so) nogil
    rm_status rm_random_bernoulli(unsigned long long seed, unsigned long long stream, long long first, long long n, double p,
                                  void *out, ptrdiff_t so) nogil
    rm_status rm_random_integers(unsigned long long seed, unsigned long long stream, long long first, long long n, long long low,
                                 long long last, void *out, ptrdiff_t so) nogil
    rm_status rm_random_permutation(unsigned long long seed, unsigned long long stream, long long first, long long n, void *out,
                                    ptrdiff_t so) nogil
    rm_status rm_dropout(int format, unsigned long long seed, unsigned long long stream, long long first, long long n, double p,
                         const void *x, ptrdiff_t sx, void *out, ptrdiff_t so) nogil
    const char *rm_status_message(rm_status status)
    rm_status rm_softmax(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x, void *y,
                         ptrdiff_t row_y, ptrdiff_t stride_y) nogil
    rm_status rm_log_softmax(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x, void *y,
                             ptrdiff_t row_y, ptrdiff_t stride_y) nogil
    rm_status rm_logsumexp(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x, void *y,
                           ptrdiff_t stride_y) nogil
    rm_status rm_softmax_backward(int format, int64_t rows, int64_t n, const void *g, ptrdiff_t row_g, ptrdiff_t stride_g,
                                  const void *y, ptrdiff_t row_y, ptrdiff_t stride_y, void *dx, ptrdiff_t row_dx,
                                  ptrdiff_t stride_dx) nogil
    ctypedef struct rm_norm_sets:
        int centered
        int64_t sets[2]
        int64_t outer, inner
    rm_status rm_normalize(int format, const rm_norm_sets *sets, const void *x, const ptrdiff_t *sx, const void *w,
                           const ptrdiff_t *sw, const void *b, const ptrdiff_t *sb, const void *mean, const ptrdiff_t *sm,
                           const void *variance, const ptrdiff_t *sv, double eps, void *y, const ptrdiff_t *sy) nogil
    rm_status rm_normalize_with_statistics(int format, const rm_norm_sets *sets, const void *x, const ptrdiff_t *sx, const void *w, const ptrdiff_t *sw,
                                           const void *b, const ptrdiff_t *sb, double eps, void *y, const ptrdiff_t *sy, void *mean, void *root) nogil
    rm_status rm_normalize_backward(int format, const rm_norm_sets *sets, const void *g, const ptrdiff_t *sg, const void *x,
                                    const ptrdiff_t *sx, const void *w, const ptrdiff_t *sw, const void *mean, const ptrdiff_t *sm,
                                    const void *variance, const ptrdiff_t *sv, double eps, void *dx, const ptrdiff_t *sdx) nogil
    rm_status rm_norm_rows_f32(int64_t rows, int64_t n, const float *x, float *norms) nogil
    rm_status rm_weight_norm_f32(int64_t rows, int64_t n, const float *v, const float *g, float *w, float *lengths) nogil
    rm_status rm_weight_norm_backward_f32(int64_t rows, int64_t n, const float *r, const float *v, const float *g, float *dv, float *dg) nogil
    rm_status rm_normalize_backward_weight(int format, const rm_norm_sets *sets, const void *g, const ptrdiff_t *sg, const void *x,
                                           const ptrdiff_t *sx, const void *mean, const ptrdiff_t *sm, const void *variance,
                                           const ptrdiff_t *sv, double eps, void *dw, const ptrdiff_t *sdw) nogil
    ctypedef struct rm_cross_entropy_problem:
        int64_t rows, n
        const void *x
        ptrdiff_t row_x, stride_x
        const int64_t *target
        ptrdiff_t stride_target
        const void *probability
        ptrdiff_t row_probability, stride_probability
        const void *weight
        ptrdiff_t stride_weight
        int64_t ignore_index
        double label_smoothing
        int reduction
    rm_status rm_cross_entropy(int format, const rm_cross_entropy_problem *problem, void *loss, ptrdiff_t stride_loss) nogil
    rm_status rm_cross_entropy_backward(int format, const rm_cross_entropy_problem *problem, const void *g, ptrdiff_t stride_g,
                                        void *dx, ptrdiff_t row_dx, ptrdiff_t stride_dx) nogil
    rm_status rm_nll_loss(int format, const rm_cross_entropy_problem *problem, void *loss, ptrdiff_t stride_loss) nogil
    rm_status rm_nll_loss_backward(int format, const rm_cross_entropy_problem *problem, const void *g, ptrdiff_t stride_g,
                                   void *dx, ptrdiff_t row_dx, ptrdiff_t stride_dx) nogil
    rm_status rm_bce_with_logits(int format, int reduction, int64_t n, const void *x, ptrdiff_t stride_x, const void *y,
                                 ptrdiff_t stride_y, const void *weight, ptrdiff_t stride_weight, const void *pos_weight,
                                 ptrdiff_t stride_pos_weight, void *out, ptrdiff_t stride_out) nogil
    rm_status rm_bce_with_logits_backward(int format, int reduction, int64_t n, const void *g, ptrdiff_t stride_g, const void *x,
                                          ptrdiff_t stride_x, const void *y, ptrdiff_t stride_y, const void *weight,
                                          ptrdiff_t stride_weight, const void *pos_weight, ptrdiff_t stride_pos_weight, void *dx,
                                          ptrdiff_t stride_dx) nogil
    rm_status rm_kl_div(int format, int reduction, int log_target, int64_t count, int64_t n, const void *x, ptrdiff_t stride_x,
                        const void *t, ptrdiff_t stride_t, void *out, ptrdiff_t stride_out) nogil
    rm_status rm_kl_div_backward(int format, int reduction, int log_target, int64_t count, int64_t n, const void *g,
                                 ptrdiff_t stride_g, const void *t, ptrdiff_t stride_t, void *dx, ptrdiff_t stride_dx) nogil
    rm_status rm_dot_f32(int64_t n, const float *x, ptrdiff_t stride_x, const float *y, ptrdiff_t stride_y, float *out) nogil
    rm_status rm_dot_f64(int64_t n, const double *x, ptrdiff_t stride_x, const double *y, ptrdiff_t stride_y, double *out) nogil
    rm_status rm_matmul_batched(int format, int format_out, int64_t batch, int64_t m, int64_t n, int64_t k, const void *a, ptrdiff_t next_a,
                                ptrdiff_t row_a, ptrdiff_t col_a, const void *b, ptrdiff_t next_b, ptrdiff_t row_b, ptrdiff_t col_b,
                                const void *bias, ptrdiff_t next_bias, ptrdiff_t stride_bias, void *c, ptrdiff_t next_c, ptrdiff_t row_c,
                                ptrdiff_t col_c) nogil
    int RM_ROW_MAJOR, RM_NO_TRANS, RM_TRANS
    rm_status rm_gemm(int format, int layout, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k, double alpha,
                      const void *a, int64_t lda, const void *b, int64_t ldb, double beta, void *c, int64_t ldc) nogil
    rm_status rm_log_softmax_backward(int format, int64_t rows, int64_t n, const void *g, ptrdiff_t row_g, ptrdiff_t stride_g,
                                      const void *y, ptrdiff_t row_y, ptrdiff_t stride_y, void *dx, ptrdiff_t row_dx,
                                      ptrdiff_t stride_dx) nogil
    ctypedef struct rm_pool:
        int dims, adaptive
        int64_t batch, channels
        int64_t in_ "in"[3]
        int64_t out[3]
        int64_t kernel[3]
        int64_t stride[3]
        int64_t dilation[3]
        int64_t padding[3]
    rm_status rm_max_pool(int format, const rm_pool *pool, const void *x, const ptrdiff_t *strides_x, void *y,
                          const ptrdiff_t *strides_y, int64_t *index, const ptrdiff_t *strides_index) nogil
    rm_status rm_avg_pool(int format, const rm_pool *pool, int include_pad, int64_t divisor, const void *x,
                          const ptrdiff_t *strides_x, void *y, const ptrdiff_t *strides_y) nogil
    rm_status rm_avg_pool_backward(int format, const rm_pool *pool, int include_pad, int64_t divisor, const void *g,
                                   const ptrdiff_t *strides_g, void *gx, const ptrdiff_t *strides_gx) nogil
    ctypedef struct rm_gather:
        int64_t lines, elements, inner, points, taps, group
        const int64_t *first
        const int64_t *at
        const double *weight
        int mean
    rm_status rm_gather_sum(int format_x, int format, const rm_gather *gather, const void *x, const ptrdiff_t *strides_x, void *y) nogil
    ctypedef struct rm_grid_sample:
        int dims, mode, padding, align_corners
        int64_t size[3]
        int64_t samples, points
    rm_status rm_grid_terms(int format, const rm_grid_sample *grid, const void *coordinates, int64_t *at, double *weight,
                            double *slope) nogil
    int RM_FFT_COMPLEX, RM_FFT_FROM_REAL, RM_FFT_TO_REAL, RM_FFT_SCALE_ONE, RM_FFT_SCALE_ROOT, RM_FFT_SCALE_N
    rm_status rm_fft(int format, int kind, int sign, int scale, int rank, const int64_t *size, int transformed, const void *x,
                     const ptrdiff_t *stride_x, void *out, const ptrdiff_t *stride_out) nogil
    rm_status rm_regression_loss(int loss, double p, int format, int reduction, int64_t n, const void *x, ptrdiff_t stride_x,
                                 const void *y, ptrdiff_t stride_y, void *out, ptrdiff_t stride_out) nogil
    rm_status rm_regression_loss_backward(int loss, double p, int format, int reduction, int64_t n, const void *g,
                                          ptrdiff_t stride_g, const void *x, ptrdiff_t stride_x, const void *y,
                                          ptrdiff_t stride_y, void *dx, ptrdiff_t stride_dx) nogil
    int RM_ACCUMULATOR_BYTES
    rm_accumulator *rm_accumulator_new() nogil
    void rm_accumulator_free(rm_accumulator *acc) nogil
    rm_status rm_accumulator_add_f16(rm_accumulator *acc, long long n, const rm_f16 *x, ptrdiff_t sx) nogil
    rm_status rm_accumulator_add_bf16(rm_accumulator *acc, long long n, const rm_bf16 *x, ptrdiff_t sx) nogil
    rm_status rm_accumulator_add_f32(rm_accumulator *acc, long long n, const float *x, ptrdiff_t sx) nogil
    rm_status rm_accumulator_add_f64(rm_accumulator *acc, long long n, const double *x, ptrdiff_t sx) nogil
    rm_status rm_accumulator_add_products_f16(rm_accumulator *acc, long long n, const rm_f16 *x, ptrdiff_t sx,
                                              const rm_f16 *y, ptrdiff_t sy) nogil
    rm_status rm_accumulator_add_products_bf16(rm_accumulator *acc, long long n, const rm_bf16 *x, ptrdiff_t sx,
                                               const rm_bf16 *y, ptrdiff_t sy) nogil
    rm_status rm_accumulator_add_products_f32(rm_accumulator *acc, long long n, const float *x, ptrdiff_t sx,
                                              const float *y, ptrdiff_t sy) nogil
    rm_status rm_accumulator_add_products_f64(rm_accumulator *acc, long long n, const double *x, ptrdiff_t sx,
                                              const double *y, ptrdiff_t sy) nogil
    rm_status rm_accumulator_merge(rm_accumulator *into, const rm_accumulator *other) nogil
    rm_status rm_accumulator_subtract(rm_accumulator *into, const rm_accumulator *other) nogil
    rm_status rm_accumulator_rounded_f16(const rm_accumulator *acc, rm_f16 *out, int rounding) nogil
    rm_status rm_accumulator_rounded_bf16(const rm_accumulator *acc, rm_bf16 *out, int rounding) nogil
    rm_status rm_accumulator_rounded_f32(const rm_accumulator *acc, float *out, int rounding) nogil
    rm_status rm_accumulator_rounded_f64(const rm_accumulator *acc, double *out, int rounding) nogil
    rm_status rm_accumulator_write(const rm_accumulator *acc, unsigned char *bytes, size_t size) nogil
    rm_status rm_accumulator_read(rm_accumulator *acc, const unsigned char *bytes, size_t size) nogil
    ctypedef struct rm_random_rounding:
        int mode
        unsigned long long seed, stream
        long long first
    ctypedef struct rm_random_operand:
        const void *base
        ptrdiff_t row, column
    int RM_ROUND_STOCHASTIC, RM_ROUND_RANDOM, RM_ROUND_UP_DOWN, RM_ERR_ENUM
    rm_status rm_random_elementwise(const char *function, int format, long long n, const void *const *x, const ptrdiff_t *stride,
                                    void *out, ptrdiff_t stride_out, const rm_random_rounding *r) nogil
    rm_status rm_random_sums(int format, int out_format, long long rows, long long n, const void *x, ptrdiff_t stride_row,
                             ptrdiff_t stride, void *out, const rm_random_rounding *r) nogil
    rm_status rm_random_matmul(int format, int out_format, long long m, long long n, long long k, const rm_random_operand *a,
                               const rm_random_operand *b, const rm_random_operand *bias, void *c,
                               const rm_random_rounding *r) nogil
    rm_status rm_random_matmul_batched(int format, int out_format, long long batch, long long m, long long n, long long k,
                                       const rm_random_operand *a, ptrdiff_t next_a, const rm_random_operand *b,
                                       ptrdiff_t next_b, const rm_random_operand *bias, ptrdiff_t next_bias, void *c,
                                       const rm_random_rounding *r) nogil
    rm_status rm_random_conv(int format, const rm_conv *conv, const void *x, const ptrdiff_t *sx, const void *w,
                             const ptrdiff_t *sw, const void *bias, ptrdiff_t sb, void *out, int part,
                             const rm_random_rounding *r) nogil
    ctypedef struct rm_ball_results:
        double *middle
        double *radius
        double *mean
        double *mean_radius
        double *root
        double *root_radius
        const rm_random_rounding *rounding
        int64_t *left
        int64_t *count
    void rm_balls_of_next(const rm_ball_results *results) nogil
    rm_status rm_random_balls(int format, long long n, const double *middle, const double *radius, void *out,
                              unsigned char *undecided, const rm_random_rounding *r) nogil
    rm_status rm_random_formula(int formula, int format, long long n, double a, const void *x, const void *y, const void *z,
                                void *out, int64_t *open, int64_t *left, const rm_random_rounding *r) nogil
    rm_status rm_sums_in_parts(int64_t rows, int64_t n, const double *x, ptrdiff_t row_x, const double *y, ptrdiff_t row_y,
                               double *high, double *low, double *radius) nogil
    rm_status rm_random_steps(int format, long long n, void *x, const rm_random_rounding *r) nogil
    rm_status rm_random_rounding_words(unsigned long long seed, unsigned long long stream, long long first, long long n,
                                       unsigned int *out) nogil
