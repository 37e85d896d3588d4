/* Vector loops over rows of binary64, compiled once per ISA. kernels.h states their accuracy, and rows/step.h proves it. */
#pragma once

#include "../../common/rounding_vector.h"
#include "step.h"

/* Rows are often a page long, and a hardware prefetcher stops at the end of a page: the loop prefetches the same place of the
 * next page. */
enum { RM_ROW_AHEAD = 4096, RM_ROW_LINE = 64 };
#if RM_DEVICE
#define RM_ROW_PREFETCH(p) ((void)(p))
#else
#define RM_ROW_PREFETCH(p) __builtin_prefetch(p)
#endif
RM_FN void rm_row_load_as(int64_t n, const char *x, ptrdiff_t stride, const int fmt, double pad, double *to) {
  int64_t i = 0;
  if (!RM_DEVICE && stride == rm_size_of(fmt)) /* a device would need it aligned */
    for (; i + RM_LANES <= n; i += RM_LANES) {
      if (i % RM_ROW_PAD == 0)
        for (int line = 0; line < RM_ROW_PAD * rm_size_of(fmt); line += RM_ROW_LINE)
          RM_ROW_PREFETCH(x + i * stride + line + RM_ROW_AHEAD);
      vf64_store(to + i, rm_load_elements(x + i * stride, fmt));
    }
  for (; i < n; i++) to[i] = rm_read_element(x + i * stride, fmt);
  const int64_t end = n > 0 ? (n + RM_ROW_PAD - 1) / RM_ROW_PAD * RM_ROW_PAD : RM_ROW_PAD;
  for (; i < end && i % RM_LANES; i++) to[i] = pad;
  for (; i < end; i += RM_LANES) vf64_store(to + i, vf64_set1(pad));
}
RM_STATIC void rm_row_load(int64_t n, const char *x, ptrdiff_t stride, int fmt, double pad, double *to) {
  switch (fmt) {
    case RM_F16: rm_row_load_as(n, x, stride, RM_F16, pad, to); break;
    case RM_BF16: rm_row_load_as(n, x, stride, RM_BF16, pad, to); break;
    case RM_F32: rm_row_load_as(n, x, stride, RM_F32, pad, to); break;
    default: rm_row_load_as(n, x, stride, RM_F64, pad, to);
  }
}

/* Rows that fit into one vector have loops over one, not four. */
RM_FN int rm_row_is_one(int64_t n) { return !RM_DEVICE && RM_LANES > 1 && n <= RM_LANES; }

RM_STATIC double rm_row_max(int64_t n, const double *x) {
  const int one = rm_row_is_one(n);
  vf64 m[4];
  vm64 bad = vf64_unord(vf64_load(x), vf64_load(x));
  RM_UNROLL for (int c = 0; c < 4; c++) m[c] = vf64_load(x + c * RM_LANES);
  for (int64_t i = 0; i < n && !one; i += 4 * RM_LANES) {
    RM_UNROLL for (int c = 0; c < 4; c++) {
      const vf64 v = vf64_load(x + i + c * RM_LANES);
      bad = vm64_or(bad, vf64_unord(v, v));
      m[c] = vf64_max(m[c], v);
    }
  }
  double t[RM_LANES], max;
  vf64_store(t, one ? m[0] : vf64_max(vf64_max(m[0], m[1]), vf64_max(m[2], m[3])));
  if (!vm64_none(bad)) return rm_from_bits64(rm_nan_bits(RM_F64));
  max = t[0];
  for (int k = 1; k < RM_LANES; k++) max = t[k] > max ? t[k] : max;
  return max;
}

RM_STATIC double rm_row_exponentials(int64_t n, const double *x, double shift, double *e) {
  const vf64 m = vf64_set1(shift);
  rm_row_sum sum = {vf64_set1(0.0), vf64_set1(0.0)};
  if (rm_row_is_one(n)) {
    sum.hi = rm_row_exp(vf64_sub(vf64_load(x), m));
    vf64_store(e, sum.hi);
    return rm_row_total_of(&sum, n);
  }
  for (int64_t i = 0; i < n; i += RM_ROW_BLOCK) {
    const int64_t end = i + RM_ROW_BLOCK < n ? i + RM_ROW_BLOCK : n;
    vf64 s[4];
    RM_UNROLL for (int c = 0; c < 4; c++) s[c] = vf64_set1(0.0);
    for (int64_t k = i; k < end; k += 4 * RM_LANES) {
      RM_UNROLL for (int c = 0; c < 4; c++) {
        const vf64 v = rm_row_exp(vf64_sub(vf64_load(x + k + c * RM_LANES), m));
        vf64_store(e + k + c * RM_LANES, v);
        s[c] = vf64_add(s[c], v);
      }
    }
    rm_row_join(&sum, s);
  }
  return rm_row_total_of(&sum, n);
}

RM_STATIC void rm_row_moments(int64_t n, const double *x, double shift, double *total, double *square) {
  const vf64 m = vf64_set1(shift);
  rm_row_sum s = {vf64_set1(0.0), vf64_set1(0.0)}, q = s;
  if (rm_row_is_one(n)) {
    s.hi = vf64_sub(vf64_load(x), m), q.hi = vf64_mul(s.hi, s.hi);
    *total = rm_row_total_of(&s, n), *square = rm_row_total_of(&q, n);
    return;
  }
  for (int64_t i = 0; i < n; i += RM_ROW_BLOCK) {
    const int64_t end = i + RM_ROW_BLOCK < n ? i + RM_ROW_BLOCK : n;
    vf64 a[4], b[4];
    RM_UNROLL for (int c = 0; c < 4; c++) a[c] = b[c] = vf64_set1(0.0);
    for (int64_t k = i; k < end; k += 4 * RM_LANES) {
      RM_UNROLL for (int c = 0; c < 4; c++) {
        const vf64 v = vf64_sub(vf64_load(x + k + c * RM_LANES), m);
        a[c] = vf64_add(a[c], v);
        b[c] = vf64_mad(v, v, b[c]);
      }
    }
    rm_row_join(&s, a);
    rm_row_join(&q, b);
  }
  *total = rm_row_total_of(&s, n);
  *square = rm_row_total_of(&q, n);
}

/* Sums of p, p^2 and p (x - shift); p is g w, which is put into h, or g where w is NULL. */
RM_FN void rm_row_gradient_sums(int64_t n, const double *g, const double *w, const double *x, double shift, double *h,
                                double *sums) {
  const vf64 m = vf64_set1(shift);
  rm_row_sum s[3];
  for (int j = 0; j < 3; j++) s[j].hi = s[j].lo = vf64_set1(0.0);
  if (rm_row_is_one(n)) {
    s[0].hi = vf64_load(g);
    if (w) {
      s[0].hi = vf64_mul(s[0].hi, vf64_load(w));
      vf64_store(h, s[0].hi);
    }
    s[1].hi = vf64_mul(s[0].hi, s[0].hi), s[2].hi = vf64_mul(s[0].hi, vf64_sub(vf64_load(x), m));
    for (int j = 0; j < 3; j++) sums[j] = rm_row_total_of(&s[j], n);
    return;
  }
  for (int64_t i = 0; i < n; i += RM_ROW_BLOCK) {
    const int64_t end = i + RM_ROW_BLOCK < n ? i + RM_ROW_BLOCK : n;
    vf64 t[3][4];
    RM_UNROLL for (int c = 0; c < 4; c++) t[0][c] = t[1][c] = t[2][c] = vf64_set1(0.0);
    for (int64_t k = i; k < end; k += 4 * RM_LANES) {
      RM_UNROLL for (int c = 0; c < 4; c++) {
        const int64_t at = k + c * RM_LANES;
        vf64 p = vf64_load(g + at);
        if (w) {
          p = vf64_mul(p, vf64_load(w + at));
          vf64_store(h + at, p);
        }
        t[0][c] = vf64_add(t[0][c], p);
        t[1][c] = vf64_mad(p, p, t[1][c]);
        t[2][c] = vf64_mad(p, vf64_sub(vf64_load(x + at), m), t[2][c]);
      }
    }
    for (int j = 0; j < 3; j++) rm_row_join(&s[j], t[j]);
  }
  for (int j = 0; j < 3; j++) sums[j] = rm_row_total_of(&s[j], n);
}

RM_STATIC void rm_row_weighted(int64_t n, const double *g, const double *w, const double *x, double shift, double *h,
                               double *sums) {
  rm_row_gradient_sums(n, g, w, x, shift, h, sums);
}
#if !RM_DEVICE
RM_STATIC void rm_row_gradients(int64_t n, const double *g, const double *x, double shift, double *sums) {
  rm_row_gradient_sums(n, g, NULL, x, shift, NULL, sums);
}
#endif

RM_STATIC void rm_row_columns(int64_t n, const double *g, const double *x, double c, double a, double rel, double err,
                              double *sum, double *bound) {
  const vf64 c0 = vf64_set1(c), a0 = vf64_set1(a), rel0 = vf64_set1(rel), err0 = vf64_set1(err);
  for (int64_t i = 0; i < n; i += RM_LANES) {
    vf64 s = vf64_load(sum + i), b = vf64_load(bound + i);
    rm_row_column(vf64_load(g + i), vf64_load(x + i), c0, a0, rel0, err0, &s, &b);
    vf64_store(sum + i, s);
    vf64_store(bound + i, b);
  }
}

RM_FN int64_t rm_row_store_as(const int op, const int fmt, const rm_row_store *s) {
  int64_t count = 0;
  for (int64_t i = 0; i < s->n; i += RM_LANES) {
    vf64 y, err;
#if RM_DEVICE
    const vm64 doubtful = rm_row_test(op, fmt, s, i, &y, &err);
    rm_row_put(y, fmt, s->out, i, s->n);
    if (__builtin_expect(vm64_none(doubtful), 1)) continue;
#else
    const vf64 u = rm_row_argument(op, fmt, s, i);
    rm_row_bounded(op, s, u, i, &y, &err);
    if (fmt == RM_F32 && __builtin_expect(rm_row_is_clear(y, err), 1)) {
      rm_row_put(y, fmt, s->out, i, s->n);
      continue;
    }
    vm64 doubtful = rm_row_doubt(y, err, fmt);
    if (op == RM_ROW_AFFINE || op == RM_ROW_AFFINE_SAME || op == RM_ROW_AFFINE_RAW || op == RM_ROW_SHIFTED ||
        op == RM_ROW_LESS_EXP)
      doubtful = vm64_and(doubtful, vm64_not(rm_row_not_finite(op, s, u, i, &y)));
    rm_row_put(y, fmt, s->out, i, s->n);
    if (__builtin_expect(vm64_none(doubtful), 1)) continue;
#endif
    const uint32_t bits = vm64_bits(doubtful);
    double value[RM_LANES], bound[RM_LANES];
    vf64_store(value, y);
    vf64_store(bound, err);
    for (int k = 0; k < RM_LANES && i + k < s->n; k++) {
      uint64_t result;
      if (!(bits >> k & 1)) continue;
      if (fmt != RM_F32 && rm_row_decide(value[k], bound[k], fmt, &result))
        rm_write_bits((char *)s->out + (i + k) * rm_size_of(fmt), result, fmt);
      else s->undecided[count++] = i + k;
    }
  }
  return count;
}

#if !RM_DEVICE
/* Lanes of balls at result `at` that vectors leave undecided: rounded one by one, or left where they are not finite. The
 * others, whose number it returns, go to `undecided`. Both are balls. */
RM_COLD int64_t rm_row_doubtful(const rm_row_store *s, int64_t i, int64_t at, uint32_t lanes, const double *m,
                                const double *r, const rm_words_chunk *words, int64_t word, int64_t *undecided) {
  const rm_row_balls *b = s->balls;
  int64_t count = 0;
  for (; lanes; lanes &= lanes - 1) {
    const int k = __builtin_ctz(lanes);
    uint64_t bits = 0;
    uint32_t ignored = 0;
    const rm_mode mode = rm_random_mode(b->rounding->mode, rm_chunk_word(words, word + k));
    if (!rm_round_within(m[k], r[k], s->fmt, mode, &bits, &ignored)) {
      rm_write_bits((char *)s->out + (i + k) * rm_size_of(s->fmt), bits, s->fmt);
      continue;
    }
    b->middle[at + k] = m[k], b->radius[at + k] = r[k];
    if (rm_is_finite(m[k]) && rm_is_finite(r[k])) undecided[count++] = i + k;
    else rm_row_leave(b, at + k);
  }
  return count;
}

/* Rounds balls under the stochastic mode (common/rounding_vector.h). As in rm_row_give, which see. */
RM_FN int64_t rm_row_round_at_random(int op, const int fmt, const rm_row_store *s) {
  const rm_row_balls *b = s->balls;
  const int64_t at = ((const char *)s->out - b->origin) / rm_size_of(s->fmt);
  int64_t count = 0;
  rm_row_store wide = *s;
  rm_words_chunk words;
  if (wide.slope < 2.0 && op == RM_ROW_LESS_EXP) wide.slope = 2.0;
  for (int64_t from = 0; from < s->n; from += RM_WORDS_CHUNK) {
    const int64_t n = s->n - from < RM_WORDS_CHUNK ? s->n - from : RM_WORDS_CHUNK;
    rm_words_fill(&words, b->rounding->seed, b->rounding->stream, b->rounding->first + at + from, n);
    for (int64_t j = 0; j < n; j += RM_LANES) {
      const int64_t i = from + j;
      vf64 y, err, m = vf64_add(rm_row_value(op, &wide, i, &err), vf64_set1(0.0));
      const vi64 add = rm_addends(rm_words_vector(words.word + j), 1, 53 - rm_precision(fmt));
      uint32_t left = vm64_bits(rm_round_ball_vector(m, err, add, fmt, &y));
      rm_row_put(y, fmt, s->out, i, s->n);
      if (RM_UNLIKELY(left)) {
        double middle[RM_LANES], radius[RM_LANES];
        vf64_store(middle, m), vf64_store(radius, err);
        if (n - j < RM_LANES) left &= (1u << (n - j)) - 1;
        count += rm_row_doubtful(s, i, at + i, left, middle, radius, &words, j, s->undecided + count);
      }
    }
  }
  return count;
}

/* Gives balls. Where e^v counts as 2^-245 the slope of a store, for results that are rounded to nearest, is less than what
 * the value may be off by, which is at most that much times a. */
RM_STATIC int64_t rm_row_give(int op, const rm_row_store *s) {
  const rm_row_balls *b = s->balls;
  if (b->rounding) return s->fmt == RM_F32 ? rm_row_round_at_random(op, RM_F32, s) : rm_row_round_at_random(op, s->fmt, s);
  const int64_t at = ((const char *)s->out - b->origin) / rm_size_of(s->fmt);
  rm_row_store wide = *s;
  if (wide.slope < 2.0 && op == RM_ROW_LESS_EXP) wide.slope = 2.0;
  for (int64_t i = 0; i < s->n; i += RM_LANES) {
    double m[RM_LANES], r[RM_LANES];
    const size_t bytes = (size_t)(s->n - i < RM_LANES ? s->n - i : RM_LANES) * sizeof *m;
    vf64 err;
    vf64_store(m, vf64_add(rm_row_value(op, &wide, i, &err), vf64_set1(0.0)));
    vf64_store(r, err);
    __builtin_memcpy(b->middle + at + i, m, bytes);
    __builtin_memcpy(b->radius + at + i, r, bytes);
  }
  return 0;
}
#endif

#if RM_DEVICE /* rare cases alone: one function compiles faster than many */
RM_COLD int64_t rm_row_round(rm_row_operation op, const rm_row_store *s) { return rm_row_store_as(op, s->fmt, s); }
#else
#define RM_ROW_FORMATS(op)                                  \
  case op:                                                  \
    switch (s->fmt) {                                       \
      case RM_F16: return rm_row_store_as(op, RM_F16, s);   \
      case RM_BF16: return rm_row_store_as(op, RM_BF16, s); \
      default: return rm_row_store_as(op, RM_F32, s);       \
    }
RM_STATIC int64_t rm_row_round(rm_row_operation op, const rm_row_store *s) {
  if (s->balls) return rm_row_give((int)op, s);
  switch (op) {
    RM_ROW_FORMATS(RM_ROW_SCALED)
    RM_ROW_FORMATS(RM_ROW_SHIFTED)
    RM_ROW_FORMATS(RM_ROW_WEIGHTED)
    RM_ROW_FORMATS(RM_ROW_LESS_EXP)
    RM_ROW_FORMATS(RM_ROW_DIFFERENCE)
    RM_ROW_FORMATS(RM_ROW_AFFINE)
    RM_ROW_FORMATS(RM_ROW_AFFINE_SAME)
    RM_ROW_FORMATS(RM_ROW_CENTERED)
    RM_ROW_FORMATS(RM_ROW_GIVEN)
    RM_ROW_FORMATS(RM_ROW_SCALED_RAW)
    RM_ROW_FORMATS(RM_ROW_AFFINE_RAW)
    default: return 0;
  }
}

#endif
