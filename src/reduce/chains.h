/* Vector sums of terms x[i] or x[i] y[i]. A block of CHAIN vectors for each of four accumulators is summed apart and joined
 * to the running double-double sum, so that accumulation chains stay short.
 *
 * plain (terms of the formats below binary64; their products are exact in it): one rounding per addition. A block sum passes
 * CHAIN + 2 additions: it errs by at most (CHAIN + 2) u' sum |term|. The running sum adds an error of order depth^2 u^2
 * (sum_parts.h). compensated: the errors of additions, and of products, are kept and summed too. */
#pragma once

#include "../common/elements.h"
#include "kernels.h"
#include "vector_pair.h"

/* Terms that are joined to a running sum at a time, of which a chain adds RM_CHAIN at most. On a device, where gathered terms
 * would fill the stack of every thread, it adds 4: that is within the bounds, which count blocks. */
enum { RM_CHAINS = 4, RM_CHAIN_BLOCK = (RM_DEVICE ? 4 : RM_CHAIN) * RM_CHAINS * RM_LANES };

/* n elements from the i-th on as binary64, and `pad` up to whole vectors of all chains. */
RM_FN void rm_gather_terms(double *buffer, rm_terms x, int64_t i, int n, const int fmt, double pad) {
  const char *p = x.base + i * x.stride;
  for (int k = 0; k < n; k++, p += x.stride) buffer[k] = rm_read_element(p, fmt);
  for (int k = n; k % (RM_CHAINS * RM_LANES); k++) buffer[k] = pad;
}

typedef struct {
  vf64 hi, lo, size;
} rm_running;

/* Prefetches one cache line per vector or for several: the hardware's prefetchers stop at the end of a page. */
RM_FN void rm_prefetch_ahead(const char *x, const char *y, ptrdiff_t at, int c, const int fmt) {
#if RM_DEVICE
  (void)x, (void)y, (void)at, (void)c, (void)fmt;
#else
  enum { LINE = 64 };
  const int bytes = RM_LANES * rm_size_of(fmt);
  if (c * bytes % LINE) return;
  __builtin_prefetch(x + at);
  if (y) __builtin_prefetch(y + at);
#endif
}

/* One block of `count` terms (a multiple of RM_CHAINS RM_LANES) joined to the running sum; what lies `ahead` bytes further is
 * prefetched. */
RM_FN void rm_plain_block(rm_running *r, const char *x, const int fx, const char *y, const int fy, int count,
                          ptrdiff_t ahead) {
  vf64 s[RM_CHAINS], w[RM_CHAINS];
  RM_UNROLL for (int c = 0; c < RM_CHAINS; c++) s[c] = w[c] = vf64_set1(0.0);
  for (int i = 0; i < count; i += RM_CHAINS * RM_LANES) {
    RM_UNROLL for (int c = 0; c < RM_CHAINS; c++) {
      rm_prefetch_ahead(x, y, (i + c * RM_LANES) * rm_size_of(fx) + ahead, c, fx);
      vf64 p = rm_load_elements(x + (i + c * RM_LANES) * rm_size_of(fx), fx);
      if (y) p = vf64_mul(p, rm_load_elements(y + (i + c * RM_LANES) * rm_size_of(fy), fy));
      s[c] = vf64_add(s[c], p);
      w[c] = vf64_add(w[c], vf64_abs(p));
    }
  }
  rm_vpair t = rm_vpair_two_sum(r->hi, vf64_add(vf64_add(s[0], s[1]), vf64_add(s[2], s[3])));
  r->hi = t.hi;
  r->lo = vf64_add(r->lo, t.lo);
  r->size = vf64_add(r->size, vf64_add(vf64_add(w[0], w[1]), vf64_add(w[2], w[3])));
}

RM_FN void rm_compensated_block(rm_running *r, const char *x, const int fx, const char *y, const int fy, int count,
                                const int exact, ptrdiff_t ahead) {
  vf64 s[RM_CHAINS], e[RM_CHAINS], w[RM_CHAINS];
  RM_UNROLL for (int c = 0; c < RM_CHAINS; c++) s[c] = e[c] = w[c] = vf64_set1(0.0);
  for (int i = 0; i < count; i += RM_CHAINS * RM_LANES) {
    RM_UNROLL for (int c = 0; c < RM_CHAINS; c++) {
      rm_prefetch_ahead(x, y, (i + c * RM_LANES) * rm_size_of(fx) + ahead, c, fx);
      vf64 a = rm_load_elements(x + (i + c * RM_LANES) * rm_size_of(fx), fx), p = a, q = vf64_set1(0.0);
      if (y) {
        vf64 b = rm_load_elements(y + (i + c * RM_LANES) * rm_size_of(fy), fy);
        p = vf64_mul(a, b);
        if (!exact) q = vf64_mul_err(a, b, p);
      }
      rm_vpair t = rm_vpair_two_sum(s[c], p);
      s[c] = t.hi;
      e[c] = vf64_add(e[c], y && !exact ? vf64_add(t.lo, q) : t.lo);
      w[c] = vf64_add(w[c], vf64_abs(p));
    }
  }
  RM_UNROLL for (int c = 0; c < RM_CHAINS; c++) {
    rm_vpair t = rm_vpair_two_sum(r->hi, s[c]);
    r->hi = t.hi;
    r->lo = vf64_add(r->lo, vf64_add(t.lo, e[c]));
    r->size = vf64_add(r->size, w[c]);
  }
}

/* The same of (x - c)^2; where x = c, as padding is, that adds nothing. */
RM_FN void rm_deviations_block(rm_running *r, const char *x, const int fmt, vf64 c0, int count, const int compensated) {
  vf64 s[RM_CHAINS], e[RM_CHAINS], w[RM_CHAINS];
  RM_UNROLL for (int c = 0; c < RM_CHAINS; c++) s[c] = e[c] = w[c] = vf64_set1(0.0);
  for (int i = 0; i < count; i += RM_CHAINS * RM_LANES) {
    RM_UNROLL for (int c = 0; c < RM_CHAINS; c++) {
      const vf64 a = rm_load_elements(x + (i + c * RM_LANES) * rm_size_of(fmt), fmt);
      if (compensated) {
        const rm_vpair d = rm_vpair_two_sum(a, vf64_neg(c0));
        const vf64 p = vf64_mul(d.hi, d.hi), q = vf64_mul_err(d.hi, d.hi, p);
        const rm_vpair t = rm_vpair_two_sum(s[c], p);
        s[c] = t.hi;
        e[c] = vf64_add(e[c], vf64_add(t.lo, vf64_add(q, vf64_mul(vf64_add(d.hi, d.hi), d.lo))));
        w[c] = vf64_add(w[c], p);
      } else {
        const vf64 d = vf64_sub(a, c0);
        s[c] = vf64_add(s[c], vf64_mul(d, d));
      }
    }
  }
  if (compensated) {
    RM_UNROLL for (int c = 0; c < RM_CHAINS; c++) {
      const rm_vpair t = rm_vpair_two_sum(r->hi, s[c]);
      r->hi = t.hi;
      r->lo = vf64_add(r->lo, vf64_add(t.lo, e[c]));
      r->size = vf64_add(r->size, w[c]);
    }
  } else {
    const vf64 sum = vf64_add(vf64_add(s[0], s[1]), vf64_add(s[2], s[3]));
    const rm_vpair t = rm_vpair_two_sum(r->hi, sum);
    r->hi = t.hi;
    r->lo = vf64_add(r->lo, t.lo);
    r->size = vf64_add(r->size, sum);
  }
}

/* Joins the lanes. */
RM_STATIC void rm_finish(const rm_running *r, double blocks, rm_partial *out) {
  double hi[RM_LANES], lo[RM_LANES], size[RM_LANES];
  vf64_store(hi, r->hi);
  vf64_store(lo, r->lo);
  vf64_store(size, r->size);
  *out = (rm_partial){hi[0], lo[0], size[0], RM_CHAIN + RM_CHAINS * blocks + RM_LANES + 1.0};
  for (int l = 1; l < RM_LANES; l++) {
    double e;
    out->hi = rm_two_sum(out->hi, hi[l], &e);
    out->lo += e + lo[l];
    out->size += size[l];
  }
}

/* One block from memory or from gathered binary64 copies: both operands in the format `as`. */
RM_FN void rm_add_block(rm_running *r, const char *x, const char *y, const int as, int count, const int compensated,
                        const int exact, ptrdiff_t ahead) {
  if (compensated) rm_compensated_block(r, x, as, y, as, count, exact, ahead);
  else rm_plain_block(r, x, as, y, as, count, ahead);
}

/* fmt, compensated and has_y are constants at every call. */
RM_FN void rm_sum_terms(int64_t n, rm_terms x, rm_terms y, const int fmt, const int compensated, const int has_y,
                        rm_partial *out) {
  enum { AHEAD = 4096 }; /* bytes */
  const vf64 zero = vf64_set1(0.0);
  const int size = rm_size_of(fmt), exact = fmt != RM_F64;
  const int direct = !RM_DEVICE && x.stride == size && (!has_y || y.stride == size); /* a device would need them aligned */
  rm_running r = {zero, zero, zero};
  double blocks = 0.0;
  int64_t i = 0;
  if (direct)
    for (; i + RM_CHAIN_BLOCK <= n; i += RM_CHAIN_BLOCK, blocks += 1.0)
      rm_add_block(&r, x.base + i * size, has_y ? y.base + i * size : 0, fmt, RM_CHAIN_BLOCK, compensated, exact,
                   i + RM_CHAIN_BLOCK + AHEAD / size <= n ? AHEAD : 0);
  const int unit = RM_CHAINS * RM_LANES;
  if (direct && n - i >= unit) { /* of the last block what fills vectors */
    const int count = (int)((n - i) / unit * unit);
    rm_add_block(&r, x.base + i * size, has_y ? y.base + i * size : 0, fmt, count, compensated, exact, 0);
    i += count, blocks += 1.0;
  }
  for (; i < n; i += RM_CHAIN_BLOCK, blocks += 1.0) {
    double bx[RM_CHAIN_BLOCK], by[RM_CHAIN_BLOCK];
    int count = n - i < RM_CHAIN_BLOCK ? (int)(n - i) : RM_CHAIN_BLOCK;
    rm_gather_terms(bx, x, i, count, fmt, 0.0);
    if (has_y) rm_gather_terms(by, y, i, count, fmt, 0.0);
    rm_add_block(&r, (const char *)bx, has_y ? (const char *)by : 0, RM_F64, (count + unit - 1) / unit * unit, compensated,
                 exact, 0);
  }
  rm_finish(&r, blocks, out);
}

#if RM_DEVICE /* for what is seldom: one function is compiled sooner than sixteen */
RM_COLD void rm_sum_format(int64_t n, rm_terms x, rm_terms y, int fmt, const int compensated, const int has_y,
                           rm_partial *out) {
  rm_sum_terms(n, x, y, fmt, compensated, has_y, out);
}
#else
/* rm_sum_terms with its constants. */
RM_FN void rm_sum_format(int64_t n, rm_terms x, rm_terms y, int fmt, const int compensated, const int has_y,
                         rm_partial *out) {
  switch (fmt) {
    case RM_F16: rm_sum_terms(n, x, y, RM_F16, compensated, has_y, out); return;
    case RM_BF16: rm_sum_terms(n, x, y, RM_BF16, compensated, has_y, out); return;
    case RM_F32: rm_sum_terms(n, x, y, RM_F32, compensated, has_y, out); return;
    default: rm_sum_terms(n, x, y, RM_F64, compensated, has_y, out); return;
  }
}
#endif
RM_STATIC void rm_plain(int64_t n, rm_terms x, rm_terms y, int fmt, rm_partial *out) {
  if (y.base) rm_sum_format(n, x, y, fmt, 0, 1, out);
  else rm_sum_format(n, x, y, fmt, 0, 0, out);
}
RM_STATIC void rm_compensated(int64_t n, rm_terms x, rm_terms y, int fmt, rm_partial *out) {
  if (y.base) rm_sum_format(n, x, y, fmt, 1, 1, out);
  else rm_sum_format(n, x, y, fmt, 1, 0, out);
}

/* fmt and compensated are constants at every call. */
RM_FN void rm_sum_deviations(int64_t n, rm_terms x, double shift, const int fmt, const int compensated, rm_partial *out) {
  const vf64 zero = vf64_set1(0.0), c = vf64_set1(shift);
  const int size = rm_size_of(fmt);
  rm_running r = {zero, zero, zero};
  double blocks = 0.0;
  int64_t i = 0;
  if (!RM_DEVICE && x.stride == size)
    for (; i + RM_CHAIN_BLOCK <= n; i += RM_CHAIN_BLOCK, blocks += 1.0)
      rm_deviations_block(&r, x.base + i * size, fmt, c, RM_CHAIN_BLOCK, compensated);
  for (; i < n; i += RM_CHAIN_BLOCK, blocks += 1.0) {
    double buffer[RM_CHAIN_BLOCK];
    const int unit = RM_CHAINS * RM_LANES;
    const int count = n - i < RM_CHAIN_BLOCK ? (int)(n - i) : RM_CHAIN_BLOCK;
    rm_gather_terms(buffer, x, i, count, fmt, shift);
    rm_deviations_block(&r, (const char *)buffer, RM_F64, c, (count + unit - 1) / unit * unit, compensated);
  }
  rm_finish(&r, blocks, out);
}
RM_FN void rm_deviations_format(int64_t n, rm_terms x, double shift, int fmt, const int compensated, rm_partial *out) {
  switch (fmt) {
    case RM_F16: rm_sum_deviations(n, x, shift, RM_F16, compensated, out); return;
    case RM_BF16: rm_sum_deviations(n, x, shift, RM_BF16, compensated, out); return;
    case RM_F32: rm_sum_deviations(n, x, shift, RM_F32, compensated, out); return;
    default: rm_sum_deviations(n, x, shift, RM_F64, 1, out); return; /* its only tier */
  }
}
RM_STATIC void rm_deviations(int64_t n, rm_terms x, double shift, int fmt, int compensated, rm_partial *out) {
  if (compensated) rm_deviations_format(n, x, shift, fmt, 1, out);
  else rm_deviations_format(n, x, shift, fmt, 0, out);
}

/* For M = 1.5 2^52 g the sum p + M rounds to a multiple of g, or of a larger power of two: where (p + M) - M gives back p, p
 * is a multiple of g. */
RM_FN vm64 rm_no_multiples(vf64 p, vf64 m) { return vm64_andnot(vf64_eq(m, m), vf64_eq(vf64_sub(vf64_add(p, m), m), p)); }
RM_FN int rm_all_multiples(int64_t n, rm_terms x, rm_terms y, const int fmt, double g) {
  const vf64 m = vf64_set1(0x1.8p52 * g);
  const int size = rm_size_of(fmt), beside = !RM_DEVICE && x.stride == size && (!y.base || y.stride == size);
  int64_t i = 0;
  for (; beside && i + RM_LANES <= n; i += RM_LANES) {
    vf64 p = rm_load_elements(x.base + i * size, fmt);
    if (y.base) p = vf64_mul(p, rm_load_elements(y.base + i * size, fmt));
    if (!vm64_none(rm_no_multiples(p, m))) return 0;
  }
  for (; i < n; i += RM_CHAIN_BLOCK) {
    double bx[RM_CHAIN_BLOCK], by[RM_CHAIN_BLOCK];
    int count = n - i < RM_CHAIN_BLOCK ? (int)(n - i) : RM_CHAIN_BLOCK;
    rm_gather_terms(bx, x, i, count, fmt, 0.0);
    if (y.base) rm_gather_terms(by, y, i, count, fmt, 0.0);
    vm64 bad = vf64_lt(m, m);
    for (int k = 0; k < count; k += RM_LANES) {
      vf64 p = vf64_load(bx + k);
      if (y.base) p = vf64_mul(p, vf64_load(by + k));
      bad = vm64_or(bad, rm_no_multiples(p, m));
    }
    if (!vm64_none(bad)) return 0;
  }
  return 1;
}
RM_STATIC int rm_multiples(int64_t n, rm_terms x, rm_terms y, int fmt, double g) {
  switch (fmt) {
    case RM_F16: return rm_all_multiples(n, x, y, RM_F16, g);
    case RM_BF16: return rm_all_multiples(n, x, y, RM_BF16, g);
    case RM_F32: return rm_all_multiples(n, x, y, RM_F32, g);
    default: return rm_all_multiples(n, x, y, RM_F64, g);
  }
}
