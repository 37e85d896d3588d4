/* The errors of binary32 evaluations (lanes.h), measured against enclosures of the function (oracle.h).
 *
 * Where the rounding test, RN(hi + (lo + err)) = RN(hi + (lo - err)), decides a lane, the function's value must lie between
 * the two sums: that is what the bound is claimed for, roundings of lo +- err included. */
#include <string.h>

#include "lanes.h"

/* What was found: lanes that were asked for, that the test left open, whose bound holds, and that are right though the bound
 * says nothing, being tiny (|x| < 2^-100, or where half of x is all that the block knows) or of a piece with one result;
 * others are bad. The largest error over the bound, and where. */
struct rm_within {
  int64_t inputs, open, within, known, bad;
  double ratio;
  uint32_t at, bad_at;
};

static inline uint32_t bits_of(float v) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}

/* Above 1 where the bound does not hold, and `least` where it is not above that. The test's result was multiplied by a power
 * of two and perhaps negated before it was returned; so are hi and lo here. All is exact in binary64 but the sums with V, and
 * these are off by less than a unit. */
static inline double ratio_of(int64_t v, int64_t below, int64_t above, int scale, const struct rm_lanes *l, int i,
                              double least) {
  const uint32_t before = bits_of(l->before[i]), after = bits_of(l->after[i]);
  const int negative = (before ^ after) >> 31, k = scale + (int)(after >> 23 & 0xff) - (int)(before >> 23 & 0xff);
  const uint64_t power = (uint64_t)(k > -1000 && k < 1000 ? k + 1023 : 0) << 52;
  double unit;
  memcpy(&unit, &power, sizeof unit);
  const double h = l->hi[i] * unit, lo = l->lo[i] * unit;
  if (!(h < 0x1p62 && h > -0x1p62) || h != (double)(int64_t)h || (before & 0x7fffffff) == 0) return __builtin_inf();
  const int64_t more = negative ? below : above, less = negative ? above : below;
  const double rest = (double)((negative ? -v : v) - (int64_t)h) - lo;
  const double over = rest + (double)more + 1, room_over = l->up[i] * unit - lo, under = (double)less + 1 - rest,
               room_under = lo - l->down[i] * unit;
  if (over <= least * room_over && under <= least * room_under) return least;
  const double a = over / room_over, c = under / room_under;
  return a == a && c == c ? (a > c ? a : c) : __builtin_inf();
}

static void look(const struct rm_block *b, const struct rm_values *values, int n, int twin, const float *x,
                 const struct rm_lanes *l, struct rm_within *found) {
  const int odd = twin && b->twin == 1;
  const int64_t below = odd ? b->above : b->below, above = odd ? b->below : b->above;
  found->inputs += n;
  for (int i = 0; i < n; i++) {
    if (l->open[i]) {
      found->open++;
      continue;
    }
    const uint32_t in = bits_of(x[i]), out = bits_of(l->after[i]);
    int known;
    if (b->kind == RM_POLYNOMIAL) {
      const int64_t v = odd ? -values->v[i] : values->v[i];
      const double ratio = ratio_of(v, below, above, b->scale, l, i, found->ratio);
      if (ratio <= 1) {
        found->within++;
        if (ratio > found->ratio) found->ratio = ratio, found->at = in;
        continue;
      }
      known = ((in & 0x7fffffff) < 0x0d800000 || below + above == 1) && rm_shown(v, below, above, b->scale, out);
    } else {
      known = (b->kind == RM_CONSTANT ? (uint32_t)b->c[0] ^ (uint32_t)odd << 31 : in) == out;
    }
    if (known) found->known++;
    else if (found->bad++ == 0) found->bad_at = in;
  }
}

static void add(struct rm_within *to, const struct rm_within *part) {
  if (part->bad && !to->bad) to->bad_at = part->bad_at;
  if (part->ratio > to->ratio) to->ratio = part->ratio, to->at = part->at;
  to->inputs += part->inputs, to->open += part->open, to->within += part->within, to->known += part->known,
      to->bad += part->bad;
}

/* found[k] of evaluations[k], two at most. Where both give the same bits, what one has found is the other's. */
void rm_oracle_within(const struct rm_block *blocks, int64_t count, rm_evaluate *const *evaluations, int how_many,
                      struct rm_within *found) {
  static struct rm_values values;
  static struct rm_lanes lanes[2];
  static float x[RM_CHUNK];
  for (const struct rm_block *b = blocks; b < blocks + count; b++)
    for (uint32_t from = 0; from < b->count; from += RM_CHUNK) {
      const int n = b->count - from < RM_CHUNK ? (int)(b->count - from) : RM_CHUNK;
      if (b->kind == RM_POLYNOMIAL) rm_values_of(b, 0, from, n, &values);
      for (int twin = 0; twin <= (b->twin != 0); twin++) {
        for (int i = 0; i < RM_CHUNK; i++) {
          const uint32_t bits = (b->first + from + (uint32_t)(i < n ? i : 0)) ^ (uint32_t)twin << 31;
          memcpy(x + i, &bits, sizeof bits);
        }
        for (int k = 0; k < how_many; k++) {
          evaluations[k](x, lanes + k);
          static struct rm_within part;
          if (k == 0 || memcmp(lanes, lanes + 1, sizeof *lanes)) {
            part = (struct rm_within){.ratio = found[k].ratio, .at = found[k].at};
            look(b, &values, n, twin, x, lanes + k, &part);
          }
          add(found + k, &part);
        }
      }
    }
}
