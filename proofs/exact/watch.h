/* What the rounding tests of the library are given, written down. run.py compiles the library with each call f(...) of a test
 * listed there made WATCH_f(...): the arguments are recorded, with the place of the call, and f is called. Where exact_open
 * is 1 the tests of the first tiers leave all open, so that the second tiers see every element. Macros of one caller know its
 * variables by name. */
#ifndef RM_PROOF_WATCH_H
#define RM_PROOF_WATCH_H

#include <stdint.h>

enum exact_kind {
  EXACT_ROW, /* hi within err, which includes 2^-52 of it */
  EXACT_SETTLE, /* hi + lo within err */
  EXACT_REACH, /* hi within err, which includes the rounding of hi -+ err */
  EXACT_ENDS, /* hi + lo within err, which includes the rounding of lo -+ err */
  EXACT_KNOWN, /* hi + lo within err; err = 0: exactly that */
  EXACT_SUM, /* the same of a sum, before its function is taken */
  EXACT_TARGET, /* hi + lo within err, of the one class that counts */
  EXACT_DEVIATIONS, /* a sum of squares of differences from `more` */
  EXACT_FUNCTION, /* a sum of which a function is rounded */
  EXACT_PART /* a term of the number that the next record is about */
};
struct exact_record {
  int32_t kind, decided, site, shift;
  double hi, lo, err, more;
  const void *at;
};
extern int exact_open;
extern int64_t exact_place;
/* Where the result is stored that the next records are about, and the power of two by which these are scaled. */
extern const void *exact_at;
extern int exact_shift;
/* Transforms (src/fft): whether f32 passes double-double first, and of each lane the result and its power of two. */
extern int exact_long;
extern const void *exact_result[16];
extern const int *exact_exponent;
void exact_watch_of(int32_t *site, const char *file, int line, int kind, int decided, double hi, double lo, double err,
                    double more);
#define exact_watch(kind, decided, hi, lo, err, more)                             \
  ({                                                                              \
    static int32_t site_;                                                         \
    exact_watch_of(&site_, __FILE__, __LINE__, kind, decided, hi, lo, err, more); \
  })

#define EXACT_ALL vf64_eq(vf64_set1(0.0), vf64_set1(0.0))
#define EXACT_LANES(kind, count, m, h, l, e)                              \
  do {                                                                    \
    double h_[RM_LANES], l_[RM_LANES], e_[RM_LANES];                      \
    const uint32_t left_ = (m);                                           \
    vf64_store(h_, h), vf64_store(l_, l), vf64_store(e_, e);              \
    for (int k_ = 0; k_ < RM_LANES && k_ < (count); k_++)                 \
      exact_watch(kind, !(left_ >> k_ & 1), h_[k_], l_[k_], e_[k_], 0.0); \
  } while (0)
#define EXACT_NONE vf64_set1(0.0)

/* Products (src/blas): each record says where its element of C is stored. PLACE(k): of lane k. */
#define EXACT_EACH_LANE ((1u << RM_LANES) - 1)
#define EXACT_PLACES(kind, count, m, h, l, e, PLACE)                                            \
  do {                                                                                          \
    double h_[RM_LANES], l_[RM_LANES], e_[RM_LANES];                                            \
    const uint32_t left_ = (m);                                                                 \
    const int64_t count_ = (count);                                                             \
    vf64_store(h_, h), vf64_store(l_, l), vf64_store(e_, e);                                    \
    for (int k_ = 0; k_ < RM_LANES && k_ < count_; k_++)                                        \
      exact_at = PLACE(k_), exact_watch(kind, !(left_ >> k_ & 1), h_[k_], l_[k_], e_[k_], 0.0); \
    exact_at = 0;                                                                               \
  } while (0)
#define EXACT_TILE(k) rm_output_at(&e->output, i0 + i, j0 + v * RM_LANES + (k))
#define WATCH_rm_round_vector(c, err, out, fmt)                                                               \
  ({                                                                                                          \
    const vf64 c__ = (c), err__ = (err);                                                                      \
    const uint32_t m__ = rm_round_vector(c__, err__, out, fmt);                                               \
    EXACT_PLACES(EXACT_KNOWN, e->block->cols - (j0 + v * RM_LANES), m__, c__, EXACT_NONE, err__, EXACT_TILE); \
    exact_open ? EXACT_EACH_LANE : m__;                                                                       \
  })
/* Depthwise convolutions (src/blas/conv/kernels.c): a vector of a row of results, and its lanes that are tested again; a
 * position of several channels (depthwise_channels.h); a tap of their gradients (depthwise_weights.h). */
#define EXACT_RESULT(k) (t->out + (i + (k)) * t->step)
#define EXACT_RESULT_LEFT(k) (undecided >> (k) & 1 ? EXACT_RESULT(k) : 0)
#define EXACT_RESULTS(count, PLACE, c, err, out, fmt)                     \
  ({                                                                      \
    const vf64 c__ = (c), err__ = (err);                                  \
    const uint32_t m__ = rm_round_vector(c__, err__, out, fmt);           \
    EXACT_PLACES(EXACT_KNOWN, count, m__, c__, EXACT_NONE, err__, PLACE); \
    exact_open ? EXACT_EACH_LANE : m__;                                   \
  })
#define WATCH_rm_round_vector_of_row(c, err, out, fmt) EXACT_RESULTS(lanes, EXACT_RESULT, c, err, out, fmt)
#define WATCH_rm_round_vector_of_lanes(c, err, out, fmt) EXACT_RESULTS(RM_LANES, EXACT_RESULT_LEFT, c, err, out, fmt)
#define EXACT_WEIGHT(k) (at + (group + (k)) * p->next_c)
#define WATCH_rm_round_vector_of_weights(c, err, out, fmt) EXACT_RESULTS(lanes, EXACT_WEIGHT, c, err, out, fmt)
#define EXACT_CHANNEL(k) (out + (k) * next)
#define WATCH_rm_round_vector_of_channels(c, err, out_, fmt) EXACT_RESULTS(lanes, EXACT_CHANNEL, c, err, out_, fmt)
#define WATCH_rm_decide_b64_of_channel(c, err, fmt, bits)                                                         \
  ({                                                                                                              \
    const double c__ = (c), err__ = (err);                                                                        \
    const int known__ = rm_decide_b64(c__, err__, fmt, bits);                                                     \
    exact_at = to, exact_watch(EXACT_KNOWN, known__, c__, 0.0, err__, 0.0), exact_at = 0, !exact_open && known__; \
  })
#define WATCH_rm_pair_to_odd_of_channel(hi, lo) \
  (exact_at = to, exact_watch(EXACT_KNOWN, 1, hi, lo, 0.0, 0.0), exact_at = 0, rm_pair_to_odd(hi, lo))
#define WATCH_rm_pair_to_odd_of_lane(hi, lo) \
  (exact_at = EXACT_RESULT(l), exact_watch(EXACT_KNOWN, 1, hi, lo, 0.0, 0.0), exact_at = 0, rm_pair_to_odd(hi, lo))
/* Vectors that the fast phase leaves (src/blas/gemm/vectors_b64.h): the sums of their lanes `exact` are what they should be,
 * and with alpha and beta what is made of these is within the margin. */
#define EXACT_CERTIFIED(k) (exact >> (k) & 1 ? rm_output_at(&e->output, i, j + (k)) : 0)
#define WATCH_vf64_store_between_f32(p, low, high)                                              \
  ({                                                                                            \
    const uint32_t m__ = vf64_store_between_f32(p, low, high);                                  \
    EXACT_PLACES(EXACT_KNOWN, lanes, m__ | ~exact, value, EXACT_NONE, margin, EXACT_CERTIFIED); \
    exact_open ? EXACT_EACH_LANE : m__;                                                         \
  })
#define WATCH_rm_round_vector_16(c, err, out, fmt)                                       \
  ({                                                                                     \
    const uint32_t m__ = rm_round_vector_16(c, err, out, fmt);                           \
    EXACT_PLACES(EXACT_KNOWN, lanes, m__ | ~exact, c, EXACT_NONE, err, EXACT_CERTIFIED); \
    exact_open ? EXACT_EACH_LANE : m__;                                                  \
  })
#define WATCH_rm_round_double(x, fmt) \
  (exact_at = EXACT_CERTIFIED(l), exact_watch(EXACT_KNOWN, 1, x, 0.0, 0.0, 0.0), exact_at = 0, rm_round_double(x, fmt))
#define EXACT_ROW_AT(k) ((const char *)p__ + 4 * (k))
#define WATCH_vf64_store_differing_f32(p, low, high)                                           \
  ({                                                                                           \
    float *const p__ = (p);                                                                    \
    const uint32_t m__ = vf64_store_differing_f32(p__, low, high);                             \
    EXACT_PLACES(EXACT_REACH, RM_LANES, m__, c, EXACT_NONE, vf64_mul(rb, norm), EXACT_ROW_AT); \
    exact_open ? EXACT_EACH_LANE : m__;                                                        \
  })
#define EXACT_TILE_DD(k) rm_output_at(&w->output, row, col + (k))
/* Where it is asked again, lanes that were decided before have their results in the place of the old numbers. */
#define WATCH_rm_round_scaled_again(s, shift, fmt, out) EXACT_ROUND_SCALED(t->flagged[x], s, shift, fmt, out)
#define WATCH_rm_round_scaled(s, shift, fmt, out) EXACT_ROUND_SCALED(~UINT32_C(0), s, shift, fmt, out)
#define EXACT_ROUND_SCALED(some, s, shift, fmt, out)                                                                     \
  ({                                                                                                                     \
    const rm_scaled s__ = (s);                                                                                           \
    const uint32_t m__ = rm_round_scaled(s__, shift, fmt, out), good__ = vm64_bits(s__.good) & (some);                   \
    const int one__ = lanes;                                                                                             \
    for (int l__ = 0; l__ < one__; l__++)                                                                                \
      if (good__ >> l__ & 1) { /* where the bias could be scaled */                                                      \
        double h__[RM_LANES], low__[RM_LANES], e__[RM_LANES];                                                            \
        vf64_store(h__, s__.hi), vf64_store(low__, s__.lo), vf64_store(e__, s__.err);                                    \
        exact_at = EXACT_TILE_DD(l__), exact_shift = (int)(shift).v[l__];                                                \
        exact_watch((fmt) == RM_F64 ? EXACT_ENDS : EXACT_KNOWN, !(m__ >> l__ & 1), h__[l__], low__[l__], e__[l__], 0.0); \
      }                                                                                                                  \
    exact_at = 0, exact_shift = 0;                                                                                       \
    exact_open ? EXACT_EACH_LANE : m__;                                                                                  \
  })
/* Element (i, j) of a problem. */
#define EXACT_TARGET_OF(p, i, j)                      \
  ({                                                  \
    ptrdiff_t row_, col_;                             \
    rm_offsets((p)->c.rows, (p)->c.row, i, 1, &row_); \
    rm_offsets((p)->c.cols, (p)->c.col, j, 1, &col_); \
    (p)->c.base + row_ + col_;                        \
  })
#define EXACT_ELEMENT(known, hi, lo, err, p, i, j) \
  (exact_at = EXACT_TARGET_OF(p, i, j), exact_watch(EXACT_KNOWN, known, hi, lo, err, 0.0), exact_at = 0)
#define WATCH_rm_decide_b64(c, err, fmt, bits)                                    \
  ({                                                                              \
    const int known__ = rm_decide_b64(c, err, fmt, bits);                         \
    EXACT_ELEMENT(known__, c, 0.0, err, p, r->block->row + i, r->block->col + j); \
    exact_open ? 0 : known__;                                                     \
  })
#define WATCH_rm_decide_sum_b64(s, err, fmt, bits)                                        \
  ({                                                                                      \
    const int known__ = rm_decide_sum_b64(s, err, fmt, bits);                             \
    EXACT_ELEMENT(known__, (s).hi, (s).lo, err, p, r->block->row + i, r->block->col + j); \
    exact_open ? 0 : known__;                                                             \
  })
/* What the certificate of exactness says: that is the sum. */
#define WATCH_rm_pair_to_odd(hi, lo) \
  (EXACT_ELEMENT(1, hi, lo, 0.0, p, r->block->row + i, r->block->col + j), rm_pair_to_odd(hi, lo))
#define WATCH_rm_decide_scaled(s, err, back, fmt, bits)                \
  ({                                                                   \
    const rm_pair s__ = (s);                                           \
    const double err__ = (err);                                        \
    const int known__ = rm_decide_scaled(s__, err__, back, fmt, bits); \
    exact_shift = -(back);                                             \
    EXACT_ELEMENT(known__, s__.hi, s__.lo, err__, p, row, col);        \
    exact_shift = 0;                                                   \
    exact_open ? 0 : known__;                                          \
  })
#define WATCH_rm_decide_pair(v, err, granule, fmt, bits, flags)            \
  ({                                                                       \
    const int known__ = rm_decide_pair(v, err, granule, fmt, bits, flags); \
    EXACT_ELEMENT(known__, (v).hi, (v).lo, err, p, row, col);              \
    exact_open ? 0 : known__;                                              \
  })

/* The loops of rows ask a shorter test first, which is true only where this one finds no lane: here this one is asked. */
#define WATCH_rm_row_is_clear(y, err) ((void)(y), (void)(err), 0)
#define WATCH_rm_row_doubt(y, err, fmt)                                       \
  ({                                                                          \
    const vf64 y__ = (y), err__ = (err);                                      \
    const vm64 m__ = rm_row_doubt(y__, err__, fmt);                           \
    EXACT_LANES(EXACT_ROW, s->n - i, vm64_bits(m__), y__, EXACT_NONE, err__); \
    exact_open ? EXACT_ALL : m__;                                             \
  })
#define WATCH_rm_row_decide(y, err, fmt, bits) (!exact_open && rm_row_decide(y, err, fmt, bits))
#define WATCH_rm_step_round(y, err, reach, fmt, r)                                                             \
  ({                                                                                                           \
    const rm_vpair y__ = (y);                                                                                  \
    const vf64 err__ = (err), reach__ = (reach);                                                               \
    const vm64 m__ = rm_step_round(y__, err__, reach__, fmt, r);                                               \
    EXACT_LANES((fmt) == RM_F64 ? EXACT_ENDS : EXACT_SETTLE, RM_LANES, vm64_bits(m__), y__.hi, y__.lo, err__); \
    if ((fmt) != RM_F64) EXACT_LANES(EXACT_REACH, RM_LANES, vm64_bits(m__), y__.hi, EXACT_NONE, reach__);      \
    exact_open ? EXACT_ALL : m__;                                                                              \
  })
/* The records of a vector that is decided anew (src/nn/optim/loop.h) say where its first parameter is. */
#define WATCH_rm_step_decide_diverged(o, a, undecided, fmt, y, flags)                      \
  ({                                                                                       \
    exact_at = (a)->p;                                                                     \
    const uint32_t left__ = rm_step_decide_diverged((o), (a), (undecided), fmt, y, flags); \
    exact_at = 0;                                                                          \
    left__;                                                                                \
  })
#define WATCH_vf64_undecided_f64(hi, lo, err, y)                          \
  ({                                                                      \
    const vf64 hi__ = (hi), lo__ = (lo), err__ = (err);                   \
    const vm64 m__ = vf64_undecided_f64(hi__, lo__, err__, y);            \
    EXACT_LANES(EXACT_ENDS, RM_LANES, vm64_bits(m__), hi__, lo__, err__); \
    exact_open ? EXACT_ALL : m__;                                         \
  })
#define WATCH_vf64_undecided_within(y, err, fmt)                              \
  ({                                                                          \
    const vf64 y__ = (y), err__ = (err);                                      \
    const vm64 m__ = vf64_undecided_within(y__, err__, fmt);                  \
    EXACT_LANES(EXACT_ROW, RM_LANES, vm64_bits(m__), y__, EXACT_NONE, err__); \
    exact_open ? EXACT_ALL : m__;                                             \
  })
#define WATCH_vf64_undecided_any(y, rel, fmt)                                                                     \
  ({                                                                                                              \
    const vf64 y__ = (y);                                                                                         \
    const vm64 m__ = vf64_undecided_any(y__, rel, fmt);                                                           \
    EXACT_LANES(EXACT_REACH, RM_LANES, vm64_bits(m__), y__, EXACT_NONE, vf64_mul(vf64_abs(y__), vf64_set1(rel))); \
    exact_open ? EXACT_ALL : m__;                                                                                 \
  })
#define WATCH_rm_round_columns(c, r, err, fmt, out)                   \
  ({                                                                  \
    const vf64 c__ = (c), r__ = (r), err__ = (err);                   \
    const uint32_t m__ = rm_round_columns(c__, r__, err__, fmt, out); \
    EXACT_LANES(EXACT_KNOWN, RM_LANES, m__, c__, r__, err__);         \
    exact_open ? (1u << RM_LANES) - 1 : m__;                          \
  })
#define WATCH_rm_round_sums(c, r, err, fmt, out)                   \
  ({                                                               \
    const vf64 c__ = (c), r__ = (r), err__ = (err);                \
    const uint32_t m__ = rm_round_sums(c__, r__, err__, fmt, out); \
    EXACT_LANES(EXACT_KNOWN, RM_LANES, m__, c__, r__, err__);      \
    exact_open ? (1u << RM_LANES) - 1 : m__;                       \
  })
/* Elements of src/reduce/axes_kernels.c: the records of its rm_round_columns say where the first one is stored. */
#define WATCH_rm_axes_round(p, place, a, to)             \
  ({                                                     \
    exact_at = (place);                                  \
    const uint32_t m__ = rm_axes_round(p, place, a, to); \
    exact_at = 0;                                        \
    m__;                                                 \
  })
#define WATCH_rm_partial_known(s, p, tier, hi, lo, err)                                                                    \
  ({                                                                                                                       \
    const int known__ = rm_partial_known(s, p, tier, hi, lo, err);                                                         \
    exact_watch((p)->shift ? EXACT_DEVIATIONS : EXACT_SUM, known__, *(hi), *(lo), *(err), (p)->shift ? *(p)->shift : 0.0); \
    known__;                                                                                                               \
  })
#define WATCH_decide(hi, lo, err, fmt, bits) (!exact_open && decide(hi, lo, err, fmt, bits))
#define WATCH_rm_function_decide(f, hi, lo, err, format, bits, flags)            \
  ({                                                                             \
    const int known__ = rm_function_decide(f, hi, lo, err, format, bits, flags); \
    exact_watch(EXACT_FUNCTION, known__, hi, lo, err, (double)(f)->divisor);     \
    exact_open ? 0 : known__;                                                    \
  })
#define WATCH_rm_pool_quotient(sum, low, err, divisor, format, bits)                            \
  ({                                                                                            \
    const int known__ = rm_pool_quotient(sum, low, err, divisor, format, bits);                 \
    exact_watch(EXACT_KNOWN, known__, sum, (err) == 0.0 ? 0.0 : (low), err, (double)(divisor)); \
    exact_open ? 0 : known__;                                                                   \
  })
/* A weight whose gradient is 0, which takes the place of a second tier (src/nn/norm/weight_row.h). */
#define WATCH_rm_norm_weight_is_flat(f, range)                   \
  ({                                                             \
    const int flat__ = rm_norm_weight_is_flat(f, range);         \
    if (flat__) exact_watch(EXACT_KNOWN, 1, 0.0, 0.0, 0.0, 0.0); \
    flat__;                                                      \
  })
/* The rounded mean, or reciprocal root, of a set. */
#define WATCH_rm_norm_store_statistic(r, kind, value, near, ball, to, state) \
  (exact_at = (to), rm_norm_store_statistic(r, kind, value, near, ball, to, state), exact_at = 0)
/* A row of averages (src/nn/pool/api.c): records of its vectors, in order, say where it begins. Then its result r. */
#define WATCH_average_vectors(f, a, out, state)                     \
  ({                                                                \
    exact_at = y;                                                   \
    const int64_t left__ = average_vectors((f), (a), (out), state); \
    exact_at = 0;                                                   \
    left__;                                                         \
  })
#define WATCH_AVERAGE_AT (y + r / f->axis[2].results * f->sy[1] + r % f->axis[2].results * f->sy[4])
#define WATCH_rm_pool_decide(total, terms, divisor, format, bits, state) \
  (exact_at = WATCH_AVERAGE_AT, rm_pool_decide(total, terms, divisor, format, bits, state))
#define WATCH_rm_pool_decide_mixed(t, bits, state) (exact_at = WATCH_AVERAGE_AT, rm_pool_decide_mixed(t, bits, state))
#define WATCH_rm_pool_exactly(t, divisor, uniform, state) \
  (exact_at = WATCH_AVERAGE_AT, rm_pool_exactly(t, divisor, uniform, state))
#define WATCH_rm_prefix_decide_block(h, l, b, count, fmt, bits)                                          \
  ({                                                                                                     \
    for (int k_ = 0; k_ < (count); k_++) exact_watch(EXACT_KNOWN, 1, (h)[k_], (l)[k_], 1.01 * (b), 0.0); \
    !exact_open &&rm_prefix_decide_block(h, l, b, count, fmt, bits);                                     \
  })
#define WATCH_rm_prefix_decide(h, l, b, fmt, bits) (!exact_open && rm_prefix_decide(h, l, b, fmt, bits))
/* The gradient at the class that counts (src/nn/cross_entropy/row.h). */
#define WATCH_rm_round_dd(hi, lo, err, k, format, rule, flags, undecided)                \
  ({                                                                                     \
    const uint64_t bits__ = rm_round_dd(hi, lo, err, k, format, rule, flags, undecided); \
    exact_watch(EXACT_TARGET, !*(undecided), hi, lo, err, (double)r.target);             \
    if (exact_open) *(undecided) = 1;                                                    \
    bits__;                                                                              \
  })
/* The element that a second tier is asked for. */
#define WATCH_rm_decide(near, ball, row, i, format, state) (exact_place = (i), rm_decide(near, ball, row, i, format, state))
#define WATCH_rm_wide_write(near, i, out, flags) (exact_place = (i), rm_wide_write(near, i, out, flags))
#define WATCH_rm_decide_separated(near, ball, row, i, separation, format, state) \
  (exact_place = (i), rm_decide_separated(near, ball, row, i, separation, format, state))
#define WATCH_rm_dd_ball_round(a, format, rule, flags, bits)                                  \
  ({                                                                                          \
    const rm_dd_ball near__ = *(a);                                                           \
    const int known__ = rm_dd_ball_round(&near__, format, rule, flags, bits);                 \
    exact_watch(EXACT_KNOWN, known__, near__.hi, near__.lo, near__.err, (double)exact_place); \
    known__;                                                                                  \
  })

/* Entries of factorizations (src/linalg/recurrence.c): `at` is the entry of A, `more` what is made of the difference. */
#define WATCH_approximate(d, tier, v)            \
  ({                                             \
    exact_at = (d)->a;                           \
    const int known__ = approximate(d, tier, v); \
    exact_at = 0;                                \
    known__;                                     \
  })
#define WATCH_decide_entry(v, format, bits)                                   \
  ({                                                                          \
    const approximation v__ = (v);                                            \
    const int known__ = decide(v__, format, bits);                            \
    exact_at = d->a;                                                          \
    exact_watch(EXACT_KNOWN, known__, v__.hi, v__.lo, v__.err, (double)what); \
    exact_at = 0;                                                             \
    exact_open ? 0 : known__;                                                 \
  })
/* Element `at` of the solution of a system (src/linalg/system.c), a sum of terms. */
#define WATCH_settle(x, stride, terms, err, shift, format, bits, flags)                                                      \
  ({                                                                                                                         \
    const double *const x__ = (x), err__ = (err);                                                                            \
    const int64_t stride__ = (stride);                                                                                       \
    const int shift__ = (shift), known__ = settle(x__, stride__, terms, err__, shift__, format, bits, flags);                \
    exact_shift = -shift__;                                                                                                  \
    for (int t__ = 0; t__ + 1 < (terms); t__++) exact_watch(EXACT_PART, known__, x__[t__ * stride__], 0.0, 0.0, (double)at); \
    exact_watch(EXACT_SETTLE, known__, x__[((terms) - 1) * stride__], 0.0, err__, (double)at);                               \
    exact_shift = 0;                                                                                                         \
    exact_open ? 0 : known__;                                                                                                \
  })
#define WATCH_settle_determinant(d, f, det, log, flags)                  \
  ({                                                                     \
    const int known__ = settle(d, f, det, log, flags);                   \
    exact_shift = -(int)(f)->e;                                          \
    exact_watch(EXACT_SETTLE, known__, (f)->hi, (f)->lo, (f)->err, 0.0); \
    exact_shift = 0;                                                     \
    exact_open ? 0 : known__;                                            \
  })

/* Sums under the random modes (src/rounding/sums.c), and the element they are about. */
#define WATCH_decide_at_random(s, j, terms, exact, format, mode, bits, flags)  \
  ({                                                                           \
    exact_at = p->out + place * rm_size_of(p->out_format);                     \
    const int known__ = decide(s, j, terms, exact, format, mode, bits, flags); \
    exact_at = 0;                                                              \
    known__;                                                                   \
  })
#define WATCH_rm_round_dd_at_random(hi, lo, err, k, format, rule, flags, undecided)      \
  ({                                                                                     \
    const uint64_t bits__ = rm_round_dd(hi, lo, err, k, format, rule, flags, undecided); \
    exact_watch(EXACT_KNOWN, !*(undecided), hi, lo, err, 0.0);                           \
    if (exact_open) *(undecided) = 1;                                                    \
    bits__;                                                                              \
  })

/* Transforms: `more` is twice the index of the element, and 1 where the imaginary part of the buffer is meant. */
#define WATCH_is_long(p) (exact_long || is_long(p))
#define WATCH_round_row(t, b, from, row, factor, err, exponent)                            \
  ({                                                                                       \
    for (int64_t l__ = 0; l__ < width; l__++)                                              \
      exact_result[l__] = first + l__ < p->batches ? rm_fft_output(p, first + l__) : NULL; \
    exact_exponent = (exponent);                                                           \
    round_row(t, b, from, row, factor, err, exponent);                                     \
  })
#define EXACT_PARTS(kind, scaled, m, h, l, e)                                                                                \
  do {                                                                                                                       \
    double h_[RM_LANES], l_[RM_LANES], e_[RM_LANES];                                                                         \
    const uint32_t left_ = (m);                                                                                              \
    vf64_store(h_, h), vf64_store(l_, l), vf64_store(e_, e);                                                                 \
    for (int k_ = 0; k_ < RM_LANES && i + k_ < count; k_++) {                                                                \
      const int64_t place_ = begin + i + k_, lane_ = place_ % work->width;                                                   \
      exact_at = exact_result[lane_], exact_shift = (scaled) ? -exact_exponent[lane_] : 0;                                   \
      if (exact_at) exact_watch(kind, !(left_ >> k_ & 1), h_[k_], l_[k_], e_[k_], (double)(2 * (place_ / work->width) + c)); \
    }                                                                                                                        \
    exact_at = 0, exact_shift = 0;                                                                                           \
  } while (0)
#define WATCH_undecided_part_f32(y, err, fmt)                            \
  ({                                                                     \
    const vf64 y__ = (y), err__ = (err);                                 \
    const vm64 m__ = vf64_undecided_within(y__, err__, fmt);             \
    EXACT_PARTS(EXACT_REACH, 0, vm64_bits(m__), y__, EXACT_NONE, err__); \
    exact_open ? EXACT_ALL : m__;                                        \
  })
#define WATCH_undecided_part_f64(hi, lo, err, y)                   \
  ({                                                               \
    const vf64 hi__ = (hi), lo__ = (lo), err__ = (err);            \
    const vm64 m__ = vf64_undecided_f64(hi__, lo__, err__, y);     \
    EXACT_PARTS(EXACT_ENDS, 1, vm64_bits(m__), hi__, lo__, err__); \
    exact_open ? EXACT_ALL : m__;                                  \
  })
/* The double-double value of a part, without the factor of the transform (src/fft/decide.c). */
#define WATCH_rm_ball_round(b, format, rule, flags, bits)                                                                \
  ({                                                                                                                     \
    const int known__ = rm_ball_round(b, format, rule, flags, bits);                                                     \
    const double *const v__ = rm_fft_value(d->open, k, imaginary);                                                       \
    exact_at = d->open->out, exact_shift = -d->open->exponent;                                                           \
    if (n == 0) exact_watch(EXACT_SUM, known__, v__[0], v__[d->open->plane], d->open->err, (double)(2 * k + imaginary)); \
    exact_at = 0, exact_shift = 0;                                                                                       \
    known__;                                                                                                             \
  })
/* The same of a number that was made alone. */
#define WATCH_rm_ball_round_of_number(b, format, rule, flags, bits)                                                  \
  ({                                                                                                                 \
    const int known__ = rm_ball_round(b, format, rule, flags, bits);                                                 \
    const double *const v__ = rm_fft_value(t, part->k, part->imaginary);                                             \
    exact_at = t->out, exact_shift = -t->exponent;                                                                   \
    exact_watch(EXACT_SUM, known__, v__[0], v__[t->plane], t->err, (double)(2 * part->k + part->imaginary));         \
    exact_at = 0, exact_shift = 0;                                                                                   \
    known__;                                                                                                         \
  })

#endif
