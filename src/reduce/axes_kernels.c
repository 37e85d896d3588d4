/* The loops of sums and means over axes compute RM_LANES elements of the result at a time, one in each lane.
 *
 * Where neighbours in the result are neighbours in memory, vectors are read there (columns). Where the terms of one sum are,
 * and there are many, each sum has its own vectors, which are joined at the end (rows). Other terms are copied first, those
 * of RM_LANES sums side by side (gathered).
 *
 * How terms are added:
 * plain (formats below binary64, many terms): binary64 sums s of the terms and w of their magnitudes. If every term passes at
 * most D additions, |s - S| <= D u' A with A = sum |term|, u' = u/(1 - D u), u = 2^-53, and w >= A (1 - D u); so 1.01 2^-53 D
 * w covers it for D < 2^40. Sums of binary16 numbers with w <= 2^29 are exact: every term and partial sum is a multiple of
 * 2^-24 below 2^29. running, compensated: as in segment.h, beginning with 0 instead of the first term, which adds no error.
 * RM_RUNNING_BOUND covers both. rows of binary64: two-sums whose errors are summed, with the bound of sum_parts.h for
 * compensated sums.
 *
 * Elements that this leaves undecided are added again, compensated, then one by one. */
#include "axes.h"

#include "segment.h"
#include "sum_parts.h"

typedef enum { RM_AXES_PLAIN, RM_AXES_RUNNING, RM_AXES_COMPENSATED } rm_axes_kind;

enum {
  RM_AXES_VECTORS = RM_SEGMENT_VECTORS,
  RM_AXES_COPIED = 64,   /* terms of a sum that are copied at a time */
  RM_AXES_STRIP = 256,   /* columns whose plain sums are in the first-level cache at a time */
  RM_AXES_GROUPS = 512,  /* additions to these before they are joined to others */
  RM_AXES_ROW = 1 << 16, /* terms of a sum that a row may have: the sums of longer ones are rm_sum's */
  RM_AXES_SHORT = RM_SEGMENT_FEW < 4 * RM_LANES ? 4 * RM_LANES : RM_SEGMENT_FEW + 1 /* neighbours that it must have */
};

/* Approximate sums: c + r within err, c = RN(c + r). */
typedef struct {
  vf64 c, r, err;
} rm_axes_sum;

typedef struct {
  vf64 s, l, e;
} rm_axes_running;

RM_FN void rm_axes_add(rm_axes_running *a, vf64 x, const int kind) {
  if (kind == RM_AXES_PLAIN) {
    a->s = vf64_add(a->s, x);
    a->e = vf64_add(a->e, vf64_abs(x));
    return;
  }
  const rm_vpair h = rm_vpair_two_sum(a->s, x);
  a->s = h.hi;
  if (kind == RM_AXES_RUNNING) {
    a->l = h.lo;
    a->e = vf64_add(a->e, vf64_abs(h.lo));
  } else {
    const rm_vpair l = rm_vpair_two_sum(a->l, h.lo);
    a->l = l.hi;
    a->e = vf64_add(a->e, vf64_abs(l.lo));
  }
}

/* Of s and w, where terms passed `depth` additions. */
RM_FN rm_axes_sum rm_axes_plain_sum(vf64 s, vf64 w, double depth, const int fmt) {
  rm_axes_sum a = {s, vf64_set1(0.0), vf64_mul(vf64_set1(RM_BOUND(0x1.03p-53 * depth)), w)};
  if (fmt == RM_F16) a.err = vf64_select(vf64_le(w, vf64_set1(0x1p29)), vf64_set1(0.0), a.err);
  return a;
}

/* Of `terms` terms. The sum of two is s + l. */
RM_FN rm_axes_sum rm_axes_sum_of(const rm_axes_running *a, int64_t terms, const int fmt, const int kind) {
  if (kind == RM_AXES_PLAIN) return rm_axes_plain_sum(a->s, a->e, (double)terms, fmt);
  const vf64 zero = vf64_set1(0.0), err = vf64_mul(a->e, vf64_set1(RM_RUNNING_BOUND));
  if (kind == RM_AXES_RUNNING) return (rm_axes_sum){a->s, terms <= 2 ? a->l : zero, terms <= 2 ? zero : err};
  const rm_vpair sum = rm_vpair_two_sum(a->s, a->l);
  return (rm_axes_sum){sum.hi, sum.lo, err};
}

/* Adds the terms of nv vectors of sums, from p on; each vector's lanes are neighbours in memory. */
RM_FN void rm_axes_walk(rm_axes_running *a, const char *p, int64_t n1, ptrdiff_t s1, int64_t n2, ptrdiff_t s2, const int fmt,
                        const int nv, const int kind) {
  const int step = rm_size_of(fmt) * RM_LANES;
  for (int64_t k = 0; k < n1; k++, p += s1) {
    const char *q = p;
    for (int64_t l = 0; l < n2; l++, q += s2) {
      RM_UNROLL for (int v = 0; v < nv; v++) rm_axes_add(a + v, rm_load_elements(q + v * step, fmt), kind);
    }
  }
}

RM_FN void rm_axes_clear(rm_axes_running *a, const int nv) {
  RM_UNROLL for (int v = 0; v < nv; v++) a[v] = (rm_axes_running){vf64_set1(0.0), vf64_set1(0.0), vf64_set1(0.0)};
}

/* --------------------------------------------------------------------------------------------------------- rounding */

/* The quotient of approximate sums by n < 2^31, which is exact where n is a power of two.
 *
 * Else q = RN(c/n), and the remainder c - q n is a binary64 number: it is computed exactly, from q n = p + e. The sum of
 * remainder and r, and its quotient by n, are rounded: t is off by at most 2.1 2^-53 |t|. Where there is nothing left, q is
 * c/n. Quotients that may underflow, or whose remainders may, become NaN: they are undecided. */
RM_FN rm_axes_sum rm_axes_quotient(rm_axes_sum a, int64_t n) {
  const vf64 zero = vf64_set1(0.0), divisor = vf64_set1((double)n), smallest = vf64_set1(0x1p-900);
  const vm64 none = vf64_eq(a.c, zero);
  const vm64 sure = vm64_and(vm64_or(none, vf64_lt(smallest, vf64_abs(a.c))),
                             vm64_or(vf64_eq(a.r, zero), vf64_lt(smallest, vf64_abs(a.r))));
  vf64 err = vf64_div(a.err, divisor);
  vf64 q = vf64_div(a.c, divisor), t;
  if ((n & (n - 1)) == 0) {
    t = vf64_div(a.r, divisor);
    err = vf64_add(err, vf64_mul(err, vf64_set1(0x1p-50)));
  } else {
    const vf64 p = vf64_mul(q, divisor);
    const vf64 rest = vf64_sub(vf64_sub(a.c, p), vf64_mul_err(q, divisor, p));
    t = vf64_div(vf64_add(rest, a.r), divisor);
    err = vf64_add(vf64_mul(err, vf64_set1(1.0 + 0x1p-50)), vf64_mul(vf64_abs(t), vf64_set1(RM_BOUND(0x1p-51))));
  }
  /* An error that is not 0 may have become it. */
  err = vf64_select(vf64_eq(a.err, zero), err, vf64_add(err, vf64_set1(0x1p-1000)));
  const rm_vpair sum = rm_vpair_two_sum(q, t);
  return (rm_axes_sum){vf64_select(sure, sum.hi, vf64_set1(__builtin_nan(""))), sum.lo, err};
}

/* Rounds elements to `out`; returns the lanes that are undecided. `place`, where the first one belongs, is for the records of
 * proofs/exact. */
RM_NOINLINE uint32_t rm_axes_round(const rm_axes_problem *p, const char *place, rm_axes_sum a, unsigned char *out) {
  (void)place;
  if (p->mean) a = rm_axes_quotient(a, p->n1 * p->n2);
  switch (p->fmt_out) {
    case RM_F16: return rm_round_columns(a.c, a.r, a.err, RM_F16, out);
    case RM_BF16: return rm_round_columns(a.c, a.r, a.err, RM_BF16, out);
    case RM_F32: return rm_round_columns(a.c, a.r, a.err, RM_F32, out);
    default: return rm_round_columns(a.c, a.r, a.err, RM_F64, out);
  }
}

/* Puts terms of the sums `from` side by side, from the l-th of the k-th n2 on, where the next ones are then. Returns how
 * many. */
RM_FN int rm_axes_copy(const rm_axes_problem *p, const char *const *from, int64_t *k, int64_t *l, const int size,
                       unsigned char *to) {
  int terms = 0;
  while (terms < RM_AXES_COPIED && *k < p->n1) {
    const int64_t more = p->n2 - *l < RM_AXES_COPIED - terms ? p->n2 - *l : RM_AXES_COPIED - terms;
    ptrdiff_t offset = *k * p->s1 + *l * p->s2;
    for (int64_t j = 0; j < more; j++, offset += p->s2, terms++)
      for (int i = 0; i < RM_LANES; i++) __builtin_memcpy(to + (terms * RM_LANES + i) * size, from[i] + offset, (size_t)size);
    *l += more;
    if (*l == p->n2) *l = 0, ++*k;
  }
  return terms;
}

RM_FN rm_axes_sum rm_axes_gather(const rm_axes_problem *p, int64_t at, int count, const int fmt, int kind) {
  const int size = rm_size_of(fmt);
  unsigned char copied[RM_AXES_COPIED * RM_LANES * 8];
  const char *from[RM_LANES];
  for (int i = 0; i < RM_LANES; i++) from[i] = i == 0 || i < count ? rm_axes_terms(p, at + i) : from[0];
  rm_axes_running a;
  rm_axes_clear(&a, 1);
  int64_t k = 0, l = 0;
  while (k < p->n1) {
    const int terms = rm_axes_copy(p, from, &k, &l, size, copied);
    const char *q = (const char *)copied;
    if (kind == RM_AXES_PLAIN) rm_axes_walk(&a, q, 1, 0, terms, RM_LANES * size, fmt, 1, RM_AXES_PLAIN);
    else if (kind == RM_AXES_RUNNING) rm_axes_walk(&a, q, 1, 0, terms, RM_LANES * size, fmt, 1, RM_AXES_RUNNING);
    else rm_axes_walk(&a, q, 1, 0, terms, RM_LANES * size, fmt, 1, RM_AXES_COMPENSATED);
  }
  return rm_axes_sum_of(&a, p->n1 * p->n2, fmt, kind);
}

/* The sums of `count` elements, whose terms are copied. */
RM_NOINLINE rm_axes_sum rm_axes_gathered(const rm_axes_problem *p, int64_t at, int count, int kind) {
  switch (p->fmt) {
    case RM_F16: return rm_axes_gather(p, at, count, RM_F16, kind);
    case RM_BF16: return rm_axes_gather(p, at, count, RM_BF16, kind);
    case RM_F32: return rm_axes_gather(p, at, count, RM_F32, kind);
    default: return rm_axes_gather(p, at, count, RM_F64, kind);
  }
}

/* Elements from `at` on that are undecided: where that may help they are added again, then taken one by one. */
RM_COLD uint32_t rm_axes_rest(const rm_axes_problem *p, int64_t at, int count, vf64 c, uint32_t undecided, int again,
                              unsigned char *out, rm_tiers *tiers) {
  const int size = rm_size_of(p->fmt_out);
  double near[RM_LANES];
  uint32_t flags = 0, finite = 0;
  vf64_store(near, c);
  for (int i = 0; i < count; i++) finite |= (uint32_t)rm_is_finite(near[i]) << i;
  if (again && (undecided & finite)) { /* the lanes that are decided already get the same bits again */
    const uint32_t still = rm_axes_round(p, p->out + at * size, rm_axes_gathered(p, at, count, RM_AXES_COMPENSATED), out);
    tiers->double_double += __builtin_popcount(undecided & ~still);
    undecided &= still | ~finite;
  }
  if (p->fmt != RM_F64) { /* no sum of finite terms overflows */
    const uint32_t nan = vm64_bits(vf64_unord(c, c)) & undecided;
    const uint32_t known = undecided & ~finite & (nan && !rm_axes_nan_is_silent(p) ? ~nan : ~UINT32_C(0));
    tiers->fast += __builtin_popcount(known);
    undecided &= ~known;
    for (uint32_t m = known; m; m &= m - 1) {
      const int i = rm_ctz64(m);
      uint64_t bits = rm_nan_bits(p->fmt_out);
      if (!(nan >> i & 1)) bits = rm_infinity_bits(p->fmt_out) | (near[i] < 0.0 ? rm_sign_bit(p->fmt_out) : 0);
      __builtin_memcpy(out + i * size, &bits, (size_t)size);
    }
  }
  for (int i = 0; undecided >> i; i++)
    if (undecided >> i & 1) {
      const uint64_t bits = rm_axes_exactly(p, at + i, near[i], tiers, &flags);
      __builtin_memcpy(out + i * size, &bits, (size_t)size); /* little endian */
    }
  return flags;
}

/* A copy of a length that the compiler knows is a few moves; of others it may make `rep movs`, which is slow to start. */
RM_FN void rm_axes_put(char *to, const unsigned char *from, int count, int size) {
  if (count < RM_LANES) __builtin_memcpy(to, from, (size_t)(count * size));
  else if (size == 2) __builtin_memcpy(to, from, 2 * RM_LANES);
  else if (size == 4) __builtin_memcpy(to, from, 4 * RM_LANES);
  else __builtin_memcpy(to, from, 8 * RM_LANES);
}

RM_NOINLINE uint32_t rm_axes_finish(const rm_axes_problem *p, int64_t at, int count, rm_axes_sum a, int again,
                                    rm_tiers *tiers) {
  const uint32_t used = (uint32_t)((UINT64_C(1) << count) - 1);
  const int size = rm_size_of(p->fmt_out);
  unsigned char out[8 * RM_LANES] __attribute__((aligned(8)));
  uint32_t flags = 0;
  const uint32_t undecided = rm_axes_round(p, p->out + at * size, a, out) & used;
  tiers->fast += count - __builtin_popcount(undecided);
  if (RM_UNLIKELY(undecided)) flags = rm_axes_rest(p, at, count, a.c, undecided, again, out, tiers);
  rm_axes_put(p->out + at * size, out, count, size);
  return flags;
}

RM_NOINLINE uint32_t rm_axes_few(const rm_axes_problem *p, int64_t at, int count, rm_tiers *tiers) {
  const int64_t terms = p->n1 * p->n2;
  const int kind = p->fmt == RM_F64 && terms > 2                     ? RM_AXES_COMPENSATED
                   : p->fmt_out == RM_F64 || terms <= RM_SEGMENT_FEW ? RM_AXES_RUNNING
                                                                     : RM_AXES_PLAIN;
  return rm_axes_finish(p, at, count, rm_axes_gathered(p, at, count, kind), kind != RM_AXES_COMPENSATED && terms > 2, tiers);
}

/* ---------------------------------------------------------------------------------------------------------- columns */

/* Plain sums of `vectors` vectors of columns, from q on, which are read a row after the other. s and w: sums of terms and
 * magnitudes; every term passes GROUPS + 2 additions at most. Beyond, sums are joined by two-sums to hi and lo. With B of
 * them, each error of a two-sum is at most u' A, and their sum errs by less than B^2 u^2 A: below u A for B < 2^26. */
RM_FN double rm_axes_strip(const rm_axes_problem *p, const char *q, int vectors, const int fmt, vf64 *s, vf64 *w, vf64 *lo,
                           vf64 *size) {
  const int step = rm_size_of(fmt) * RM_LANES;
  const vf64 zero = vf64_set1(0.0);
  vf64 hi[RM_AXES_STRIP / RM_LANES];
  int groups = 0, joined = 0;
  for (int v = 0; v < vectors; v++) s[v] = w[v] = lo[v] = zero;
  for (int64_t k = 0; k < p->n1; k++, q += p->s1) {
    const char *t = q;
    for (int64_t l = 0; l < p->n2; groups++) {
      if (groups == RM_AXES_GROUPS) {
        for (int v = 0; v < vectors; v++) {
          const rm_vpair sum = rm_vpair_two_sum(joined ? hi[v] : zero, s[v]);
          hi[v] = sum.hi;
          lo[v] = vf64_add(lo[v], sum.lo);
          size[v] = vf64_add(joined ? size[v] : zero, w[v]);
          s[v] = w[v] = zero;
        }
        groups = 0, joined = 1;
      }
      if (p->n2 - l >= 4) {
        const char *const t1 = t + p->s2, *const t2 = t1 + p->s2, *const t3 = t2 + p->s2;
        for (int v = 0; v < vectors; v++) {
          const vf64 a = rm_load_elements(t + v * step, fmt), b = rm_load_elements(t1 + v * step, fmt);
          const vf64 c = rm_load_elements(t2 + v * step, fmt), d = rm_load_elements(t3 + v * step, fmt);
          s[v] = vf64_add(s[v], vf64_add(vf64_add(a, b), vf64_add(c, d)));
          w[v] = vf64_add(w[v], vf64_add(vf64_add(vf64_abs(a), vf64_abs(b)), vf64_add(vf64_abs(c), vf64_abs(d))));
        }
        t = t3 + p->s2, l += 4;
      } else {
        for (int v = 0; v < vectors; v++) {
          const vf64 a = rm_load_elements(t + v * step, fmt);
          s[v] = vf64_add(s[v], a);
          w[v] = vf64_add(w[v], vf64_abs(a));
        }
        t += p->s2, l++;
      }
    }
  }
  if (!joined) return groups + 2.0;
  for (int v = 0; v < vectors; v++) {
    const rm_vpair sum = rm_vpair_two_sum(hi[v], s[v]);
    lo[v] = vf64_add(lo[v], sum.lo);
    s[v] = sum.hi;
    w[v] = vf64_add(size[v], w[v]);
  }
  return RM_AXES_GROUPS + 4.0;
}

/* Whole vectors of columns, some at a time in registers. */
RM_FN uint32_t rm_axes_groups(const rm_axes_problem *p, int64_t at, int64_t count, const char *q, const int fmt,
                              const int kind, rm_tiers *tiers) {
  const int64_t terms = p->n1 * p->n2;
  const int step = rm_size_of(fmt) * RM_LANES;
  uint32_t flags = 0;
  while (count) {
    rm_axes_running a[RM_AXES_VECTORS];
    const int nv = count < RM_AXES_VECTORS * RM_LANES ? 1 : RM_AXES_VECTORS;
    rm_axes_clear(a, RM_AXES_VECTORS);
    if (nv == 1) rm_axes_walk(a, q, p->n1, p->s1, p->n2, p->s2, fmt, 1, kind);
    else rm_axes_walk(a, q, p->n1, p->s1, p->n2, p->s2, fmt, RM_AXES_VECTORS, kind);
    for (int v = 0; v < nv; v++, at += RM_LANES, count -= RM_LANES, q += step)
      flags |= rm_axes_finish(p, at, RM_LANES, rm_axes_sum_of(a + v, terms, fmt, kind), kind == RM_AXES_RUNNING && terms > 2,
                              tiers);
  }
  return flags;
}

/* Whole vectors of columns. */
RM_FN uint32_t rm_axes_columns(const rm_axes_problem *p, int64_t at, int64_t count, const int fmt, rm_tiers *tiers) {
  const int64_t terms = p->n1 * p->n2;
  const int step = rm_size_of(fmt) * RM_LANES;
  const char *q = rm_axes_terms(p, at);
  uint32_t flags = 0;
  if (fmt != RM_F64 && p->fmt_out != RM_F64 && terms > RM_SEGMENT_FEW) {
    vf64 s[RM_AXES_STRIP / RM_LANES], w[RM_AXES_STRIP / RM_LANES], lo[RM_AXES_STRIP / RM_LANES],
        size[RM_AXES_STRIP / RM_LANES];
    while (count) {
      const int vectors = (int)((count < RM_AXES_STRIP ? count : RM_AXES_STRIP) / RM_LANES);
      const double depth = rm_axes_strip(p, q, vectors, fmt, s, w, lo, size);
      for (int v = 0; v < vectors; v++) {
        const rm_vpair sum = rm_vpair_two_sum(s[v], lo[v]);
        rm_axes_sum a = rm_axes_plain_sum(sum.hi, w[v], depth, fmt);
        a.r = sum.lo;
        flags |= rm_axes_finish(p, at + v * RM_LANES, RM_LANES, a, 1, tiers);
      }
      at += vectors * RM_LANES, count -= vectors * RM_LANES, q += vectors * step;
    }
    return flags;
  }
  if (fmt != RM_F64 || terms <= 2) flags = rm_axes_groups(p, at, count, q, fmt, RM_AXES_RUNNING, tiers);
  else flags = rm_axes_groups(p, at, count, q, fmt, RM_AXES_COMPENSATED, tiers);
  return flags;
}

/* ------------------------------------------------------------------------------------------------------------- rows */

/* The sums of a row in vectors: hi + lo, and of magnitudes. */
RM_FN void rm_axes_row(const rm_axes_problem *p, const char *q, const int fmt, rm_running *r) {
  const int size = rm_size_of(fmt), compensated = fmt == RM_F64;
  const vf64 zero = vf64_set1(0.0);
  vf64 s[RM_CHAINS], e[RM_CHAINS], w[RM_CHAINS];
  RM_UNROLL for (int c = 0; c < RM_CHAINS; c++) s[c] = e[c] = w[c] = zero;
#define RM_AXES_TERM(c, value)                      \
  do {                                              \
    const vf64 x = value;                           \
    if (compensated) {                              \
      const rm_vpair t = rm_vpair_two_sum(s[c], x); \
      s[c] = t.hi;                                  \
      e[c] = vf64_add(e[c], t.lo);                  \
    } else {                                        \
      s[c] = vf64_add(s[c], x);                     \
    }                                               \
    w[c] = vf64_add(w[c], vf64_abs(x));             \
  } while (0)
  for (int64_t k = 0; k < p->n1; k++, q += p->s1) {
    int64_t l = 0;
    for (; l + RM_CHAINS * RM_LANES <= p->n2; l += RM_CHAINS * RM_LANES) {
      RM_UNROLL for (int c = 0; c < RM_CHAINS; c++) RM_AXES_TERM(c, rm_load_elements(q + (l + c * RM_LANES) * size, fmt));
    }
    for (; l + RM_LANES <= p->n2; l += RM_LANES) RM_AXES_TERM(0, rm_load_elements(q + l * size, fmt));
    if (l < p->n2) RM_AXES_TERM(1, rm_load_columns(q + l * size, size, (int)(p->n2 - l), fmt, 0));
  }
#undef RM_AXES_TERM
  r->lo = zero;
  if (compensated) {
    r->hi = s[0], r->lo = e[0];
    RM_UNROLL for (int c = 1; c < RM_CHAINS; c++) {
      const rm_vpair t = rm_vpair_two_sum(r->hi, s[c]);
      r->hi = t.hi;
      r->lo = vf64_add(r->lo, vf64_add(t.lo, e[c]));
    }
  } else {
    r->hi = vf64_add(vf64_add(s[0], s[1]), vf64_add(s[2], s[3]));
  }
  r->size = vf64_add(vf64_add(w[0], w[1]), vf64_add(w[2], w[3]));
}

/* One of the vectors of RM_LANES rows, for all of them: a lane each. */
RM_FN vf64 rm_axes_across(double (*of)[RM_LANES], int l) {
  double t[RM_LANES];
  for (int i = 0; i < RM_LANES; i++) t[i] = of[i][l];
  return vf64_load(t);
}

/* `count` rows. Every term passes an addition for each vector of its chain, three chains, and the other lanes. */
RM_FN uint32_t rm_axes_rows(const rm_axes_problem *p, int64_t at, int count, const int fmt, rm_tiers *tiers) {
  double hi[RM_LANES][RM_LANES], lo[RM_LANES][RM_LANES], size[RM_LANES][RM_LANES];
  for (int i = 0; i < RM_LANES; i++) {
    rm_running r;
    if (i < count) rm_axes_row(p, rm_axes_terms(p, at + i), fmt, &r);
    else r.hi = r.lo = r.size = vf64_set1(0.0);
    vf64_store(hi[i], r.hi);
    if (fmt == RM_F64) vf64_store(lo[i], r.lo);
    vf64_store(size[i], r.size);
  }
  const double vectors = (double)(p->n2 / (RM_CHAINS * RM_LANES)) + RM_CHAINS;
  const double depth = (double)p->n1 * vectors + RM_CHAINS + RM_LANES;
  vf64 w = rm_axes_across(size, 0), s = rm_axes_across(hi, 0), e = vf64_set1(0.0);
  if (fmt == RM_F64) e = rm_axes_across(lo, 0);
  for (int l = 1; l < RM_LANES; l++) {
    w = vf64_add(w, rm_axes_across(size, l));
    if (fmt == RM_F64) {
      const rm_vpair t = rm_vpair_two_sum(s, rm_axes_across(hi, l));
      s = t.hi;
      e = vf64_add(e, vf64_add(t.lo, rm_axes_across(lo, l)));
    } else {
      s = vf64_add(s, rm_axes_across(hi, l));
    }
  }
  if (fmt != RM_F64) return rm_axes_finish(p, at, count, rm_axes_plain_sum(s, w, depth, fmt), 0, tiers);
  const rm_vpair sum = rm_vpair_two_sum(s, e);
  const rm_axes_sum a = {sum.hi, sum.lo, vf64_mul(vf64_set1(rm_compensated_unit(depth + 1.0)), w)};
  return rm_axes_finish(p, at, count, a, 0, tiers);
}

/* -------------------------------------------------------------------------------------------------------------- all */

RM_FN uint32_t rm_axes_format(const rm_axes_problem *p, int64_t begin, int64_t end, const int fmt, rm_tiers *tiers) {
  const int64_t terms = p->n1 * p->n2;
  const int size = rm_size_of(fmt);
  uint32_t flags = 0;
  if (p->inner >= RM_LANES && p->inner > 1 && p->s_inner == size) {
    while (begin < end) { /* a row of columns at a time */
      const int64_t left = p->inner - begin % p->inner, count = left < end - begin ? left : end - begin;
      const int64_t whole = count / RM_LANES * RM_LANES;
      flags |= rm_axes_columns(p, begin, whole, fmt, tiers);
      begin += whole;
      if (whole == count) continue;
      const int few = (int)(count - whole);
      flags |= rm_axes_few(p, begin, few, tiers);
      begin += few;
    }
    return flags;
  }
  const int rows = p->s2 == size && p->n2 >= RM_AXES_SHORT && terms <= RM_AXES_ROW && (fmt == RM_F64 || p->fmt_out != RM_F64);
  for (; begin < end; begin += RM_LANES) {
    const int count = end - begin < RM_LANES ? (int)(end - begin) : RM_LANES;
    flags |= rows ? rm_axes_rows(p, begin, count, fmt, tiers) : rm_axes_few(p, begin, count, tiers);
  }
  return flags;
}

static uint32_t some(const rm_axes_problem *p, int64_t begin, int64_t end, rm_tiers *tiers) {
  switch (p->fmt) {
    case RM_F16: return rm_axes_format(p, begin, end, RM_F16, tiers);
    case RM_BF16: return rm_axes_format(p, begin, end, RM_BF16, tiers);
    case RM_F32: return rm_axes_format(p, begin, end, RM_F32, tiers);
    default: return rm_axes_format(p, begin, end, RM_F64, tiers);
  }
}

/* --------------------------------------------------------------------------------------------------------- prefixes */

#if RM_LANES > 1

/* Elements of RM_LANES lines side by side from those of `count` lines, or back; the last lines repeat the first one. */
RM_FN void rm_axes_beside(const char *from, ptrdiff_t row, ptrdiff_t step, int count, int terms, unsigned char *to,
                          const int size) {
  for (int i = 0; i < RM_LANES; i++) {
    const char *p = from + (i < count ? i * row : 0);
    for (int j = 0; j < terms; j++, p += step) __builtin_memcpy(to + (j * RM_LANES + i) * size, p, (size_t)size);
  }
}

RM_FN void rm_axes_apart(const unsigned char *from, char *to, ptrdiff_t row, ptrdiff_t step, int count, int terms,
                         const int size) {
  if (row == size && count == RM_LANES) {
    for (int j = 0; j < terms; j++, to += step) __builtin_memcpy(to, from + j * RM_LANES * size, (size_t)(RM_LANES * size));
    return;
  }
  for (int i = 0; i < count; i++) {
    char *p = to + i * row;
    for (int j = 0; j < terms; j++, p += step) __builtin_memcpy(p, from + (j * RM_LANES + i) * size, (size_t)size);
  }
}

/* Each element is the sum of the terms up to it, with the bound that this sum has over axes. */
RM_FN uint32_t rm_axes_prefixes(const rm_prefix_lines *p, const char *x, char *out, int count, const int fmt) {
  const int size = rm_size_of(fmt), size_out = rm_size_of(p->fmt_out), whole = count == RM_LANES && p->row_x == size;
  const int kind = fmt == RM_F64 || p->fmt_out == RM_F64 ? RM_AXES_COMPENSATED : RM_AXES_RUNNING;
  const uint32_t used = (uint32_t)((UINT64_C(1) << count) - 1);
  const rm_axes_problem rounding = {.fmt_out = p->fmt_out};
  unsigned char copied[RM_AXES_COPIED * RM_LANES * 8], sums[RM_AXES_COPIED * RM_LANES * 8] __attribute__((aligned(8)));
  rm_axes_running a;
  rm_axes_clear(&a, 1);
  uint32_t undecided = 0;
  for (int64_t k = 0; k < p->n; k += RM_AXES_COPIED) {
    const int terms = p->n - k < RM_AXES_COPIED ? (int)(p->n - k) : RM_AXES_COPIED;
    const char *from = x + k * p->s_x;
    if (!whole) rm_axes_beside(from, p->row_x, p->s_x, count, terms, copied, size);
    for (int j = 0; j < terms; j++) {
      rm_axes_add(&a, rm_load_elements(whole ? from + j * p->s_x : (const char *)copied + j * RM_LANES * size, fmt), kind);
      const rm_axes_sum sum = rm_axes_sum_of(&a, k + j + 1, fmt, kind);
      undecided |= rm_axes_round(&rounding, out + (k + j) * p->s_out, sum, sums + j * RM_LANES * size_out);
    }
    char *to = out + k * p->s_out;
    if (size_out == 2) rm_axes_apart(sums, to, p->row_out, p->s_out, count, terms, 2);
    else if (size_out == 4) rm_axes_apart(sums, to, p->row_out, p->s_out, count, terms, 4);
    else rm_axes_apart(sums, to, p->row_out, p->s_out, count, terms, 8);
    if (RM_UNLIKELY((undecided & used) == used)) break;
  }
  return undecided & used;
}

static uint32_t prefixes(const rm_prefix_lines *p, const char *x, char *out, int count) {
  switch (p->fmt) {
    case RM_F16: return rm_axes_prefixes(p, x, out, count, RM_F16);
    case RM_BF16: return rm_axes_prefixes(p, x, out, count, RM_BF16);
    case RM_F32: return rm_axes_prefixes(p, x, out, count, RM_F32);
    default: return rm_axes_prefixes(p, x, out, count, RM_F64);
  }
}
#define RM_PREFIXES prefixes

#else

#define RM_PREFIXES NULL /* rm_prefix_sums has the compiler's vectors */

#endif

const struct rm_axes_kernels RM_ISA_SYMBOL(rm_axes_table) = {some, RM_PREFIXES, RM_LANES};
