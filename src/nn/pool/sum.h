/* Averages of windows: the fast phase, and double-double. It is also device code.
 *
 * A sum by two-sums: sum + low is off by the roundings of low alone, of which there are at most 2 (terms + 2), each at most u
 * times the sum z of the magnitudes of what two-sums have left over: 1.1 (terms + 2) 2^-52 z covers that and the rounding of
 * z, in whatever order rows and elements of a window were joined. z = 0 says that sum is exact. A bound of 0 says so too, so
 * one that is not is kept from underflow by 2^-1073: z may be as small as the smallest number.
 * Then q = RN(sum/D) and the format's number nearest to q is that nearest to sum/D, unless q is a midpoint of the format and
 * not the exact quotient: rounding to binary64 is monotone, and a midpoint is a number there. */
#pragma once

#include "../../../crlibm/enclosure/dd_ball.h"
#include "../../reduce/statistics.h"
#include "args.h"

typedef struct {
  double sum, low, size; /* size: z */
} rm_pool_total;

/* Adds a number, or a sum, and what it left over. */
RM_FN void rm_pool_add(rm_pool_total *t, double sum, double low, double size) {
  double e;
  t->sum = rm_two_sum(t->sum, sum, &e);
  t->low += low + e;
  t->size += size + __builtin_fabs(e);
}

/* RN((sum + low)/divisor), sum + low within err of the sum and err = 0 where sum is exact; 0 where this does not decide. */
RM_FN int rm_pool_quotient(double sum, double low, double err, int64_t divisor, int format, uint64_t *bits) {
  const double by = (double)divisor, q = (err == 0.0 ? sum : sum + low) / by, size = __builtin_fabs(q);
  if (divisor >= INT64_C(1) << 20 || !(size < 0x1p1000)) return 0;
  if (format == RM_F64) {
    if (err == 0.0) {
      *bits = sum == 0.0 ? 0 : rm_bits64(q);
      return 1;
    }
    if ((divisor & (divisor - 1)) || size < 0x1p-900) return 0;
    const double h = sum / by, l = low / by, e = RM_BOUND(err / by) + __builtin_fabs(l) * 0x1p-52, down = h + (l - e),
                 up = h + (l + e);
    *bits = rm_bits64(down);
    return *bits == rm_bits64(up);
  }
  /* f: a number of binary32; boundaries of the format are numbers there but for the midpoints of its own. */
  const double max = format == RM_F16 ? 0x1.ffcp15 : 0x1.fep127, min = format == RM_F16 ? 0x1p-14 : 0x1p-126;
  if (q == 0.0 && err == 0.0) {
    *bits = 0;
    return 1;
  }
  if (!(size < max && size >= 2.0 * min)) return 0;
  const int dropped = 53 - rm_precision(format);
  const uint64_t half = UINT64_C(1) << (dropped - 1), m = rm_bits64(q), rest = m & (2 * half - 1);
  if (err == 0.0) {
    if (rest == half && q * by != sum) return 0; /* few bits times few bits: exact */
  } else {
    /* q is off by two roundings and err/D: in units of its last place, 2^-52 of it or more apart. */
    const double units = RM_BOUND(err / by / size * 0x1p53 + 4.0);
    const double away = rest > half ? (double)(rest - half) : (double)(half - rest);
    if (!(away > units)) return 0;
  }
  /* To nearest, ties to even, in integers: the significand's carry adds to the exponent. */
  const uint64_t kept = m >> dropped, up = rest > half || (rest == half && (kept & 1));
  const uint64_t magnitude = ((kept & ((UINT64_C(1) << (63 - dropped)) - 1)) + up) -
                             ((uint64_t)(1023 - rm_emax(format)) << (rm_precision(format) - 1));
  *bits = magnitude | (m >> 63 ? rm_sign_bit(format) : 0);
  return 1;
}

/* The average of a window of `terms` elements; 0 where this does not decide. */
RM_FN int rm_pool_decide(const rm_pool_total *t, int64_t terms, int64_t divisor, int format, uint64_t *bits,
                         rm_row_state *state) {
  const double err = t->size == 0.0 ? 0.0 : t->size * ((double)(terms + 2) * 0x1.2p-52) + 0x1p-1073;
  if (rm_pool_quotient(t->sum, t->low, err, divisor, format, bits)) {
    state->tiers.fast++;
    return 1;
  }
  const rm_sum_function function = {(uint64_t)divisor, 0, 0};
  double lo;
  const double hi = rm_two_sum(t->sum, t->low, &lo);
  if (!(rm_is_finite(err) && rm_is_finite(hi) && rm_function_decide(&function, hi, lo, err, format, bits, &state->flags)))
    return 0;
  state->tiers.double_double++;
  return 1;
}

/* An average whose elements have different divisors, in a format below binary64; 0 where this does not decide. A sum of n
 * quotients, each rounded by u of it, is rounded n - 1 times more, by u of at most (1 + 2^-30) times the sum of their
 * magnitudes, which is itself rounded by as much: (n + 2) u of that, for n below 2^20. Nothing overflows or underflows:
 * elements are 0 or between 2^-149 and 2^128, products of the axes' divisors below 2^53. Zeros alone have the sum 0. */
RM_FN int rm_pool_decide_mixed(const rm_pool_window *w, uint64_t *bits, rm_row_state *state) {
  const rm_pool_problem *f = w->pool;
  const int64_t limit = INT64_C(1) << 17;
  double sum = 0.0, size = 0.0, n = 0.0;
  if (f->format == RM_F64) return 0;
  for (int64_t a = w->first[0]; a < w->end[0]; a++)
    for (int64_t b = w->first[1]; b < w->end[1]; b++)
      for (int64_t c = w->first[2]; c < w->end[2]; c++) {
        const int64_t i = f->axis[0].divisor[a], j = f->axis[1].divisor[b], k = f->axis[2].divisor[c];
        if (i > limit || j > limit || k > limit) return 0;
        const double v = rm_to_double(rm_read_bits(rm_pool_element(f, w->plane, a, b, c), f->format), f->format),
                     q = v / ((double)i * (double)j * (double)k);
        sum += q, size += __builtin_fabs(q), n += 1.0;
      }
  if (!(n < 0x1p20) || !rm_pool_quotient(sum, 0.0, size * ((n + 3.0) * 0x1p-53), 1, f->format, bits)) return 0;
  state->tiers.fast++;
  return 1;
}
