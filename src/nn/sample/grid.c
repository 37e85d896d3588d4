/* Computes the places of a grid in an image, and the weights of the elements around them, in binary64. Each step rounds, and
 * the order of the steps is part of the definition. */
#include "../../../include/repmath/sampling.h"
#include "../../common/elements.h"
#include "../../runtime/env.h"

enum { FORMAT = 1, GRID, COORDINATES, AT, WEIGHT };
enum { MAX_TAPS = 4 }; /* taps along an axis */

/* What a coordinate takes along its axis: indices, -1 outside, weights, and slopes of these. */
typedef struct {
  int64_t at[MAX_TAPS];
  double weight[MAX_TAPS], slope[MAX_TAPS];
} taps;

static const double FAR_AWAY = -100.0; /* outside of any image, and so are the elements around it */

static int is_place(double x) { return __builtin_fabs(x) < 0x1p31; }
static double down(double x) { /* |x| < 2^31 */
  const double whole = (double)(int64_t)x;
  return whole > x ? whole - 1.0 : whole;
}
static double nearest(double x) { return (x + 0x1.8p52) - 0x1.8p52; } /* |x| < 2^51, ties to even */

/* x modulo an integer below 2^32, x >= 0; exactly, as fmod. */
static double modulo(double x, int64_t by) {
  if (!rm_is_finite(x)) return rm_from_bits64(rm_nan_bits(RM_F64));
  if (x < 0x1p62) {
    const int64_t whole = (int64_t)x;
    return (double)(whole % by) + (x - (double)whole);
  }
  int e;
  uint64_t m = rm_decompose(x, &e) % (uint64_t)by;
  for (; e > 0; e--) m = 2 * m % (uint64_t)by;
  return (double)m;
}

/* x mirrored at the middles of the outermost elements, or at their outer edges, and the slope of this. */
static double mirrored(double x, int64_t size, int align_corners, double *slope) {
  const double low = align_corners ? 0.0 : -0.5;
  const int64_t span = align_corners ? size - 1 : size;
  *slope = 0.0;
  if (span == 0) return 0.0;
  const double away = x - low, distance = __builtin_fabs(away), rest = modulo(distance, span),
               turns = distance / (double)span;
  /* Quotients of 2^53 and more are even. */
  const int back = turns < 0x1p53 && ((int64_t)turns & 1);
  *slope = (away < 0.0) != back ? -1.0 : 1.0;
  return (back ? (double)span - rest : rest) + low;
}

static double padded(double x, int64_t size, const rm_grid_sample *g, double *slope) {
  const double last = (double)size - 1.0;
  *slope = 1.0;
  if (g->padding == RM_PADDING_REFLECTION) x = mirrored(x, size, g->align_corners, slope);
  if (g->padding != RM_PADDING_ZEROS) {
    if (!(x > 0.0 && x < last)) *slope = 0.0;
    if (x < 0.0) x = 0.0;
    if (x > last) x = last;
  }
  return is_place(x) ? x : FAR_AWAY;
}

/* Keys' cubics of slope -3/4, t after the second of the four elements. */
static double near(double x) { return ((-0.75 + 2.0) * x - (-0.75 + 3.0)) * x * x + 1.0; }
static double far(double x) { return ((-0.75 * x - 5.0 * -0.75) * x + 8.0 * -0.75) * x - 4.0 * -0.75; }
static double near_slope(double x) { return (3.0 * (-0.75 + 2.0) * x - 2.0 * (-0.75 + 3.0)) * x; }
static double far_slope(double x) { return (3.0 * -0.75 * x - 10.0 * -0.75) * x + 8.0 * -0.75; }

static void take(taps *t, double x, int64_t size, const rm_grid_sample *g) {
  const double n = (double)size;
  double scale = g->align_corners ? (n - 1.0) / 2.0 : n / 2.0, inner;
  double at[MAX_TAPS];
  int count = 1;
  if (rm_is_nan(x)) x = -1.0;
  x = g->align_corners ? (x + 1.0) / 2.0 * (n - 1.0) : ((x + 1.0) * n - 1.0) / 2.0;
  if (g->mode == RM_SAMPLE_CUBIC) {
    if (!is_place(x)) x = FAR_AWAY;
    const double first = down(x), s = x - first;
    count = 4;
    t->weight[0] = far(s + 1.0), t->weight[1] = near(s), t->weight[2] = near(1.0 - s), t->weight[3] = far(2.0 - s);
    t->slope[0] = far_slope(s + 1.0), t->slope[1] = near_slope(s);
    t->slope[2] = -near_slope(1.0 - s), t->slope[3] = -far_slope(2.0 - s);
    for (int i = 0; i < 4; i++) at[i] = nearest(padded(first + (double)(i - 1), size, g, &inner));
  } else {
    x = padded(x, size, g, &inner);
    scale *= inner;
    if (g->mode == RM_SAMPLE_NEAREST) {
      at[0] = nearest(x);
      t->weight[0] = 1.0, t->slope[0] = 0.0;
    } else {
      count = 2;
      at[0] = down(x), at[1] = at[0] + 1.0;
      t->weight[0] = at[1] - x, t->weight[1] = x - at[0];
      t->slope[0] = -1.0, t->slope[1] = 1.0;
    }
  }
  for (int i = 0; i < count; i++) {
    t->at[i] = at[i] >= 0.0 && at[i] < n ? (int64_t)at[i] : -1;
    t->slope[i] *= scale;
  }
}

/* The combinations of the taps of a place's coordinates, that of the last one fastest. */
static void combine(const rm_grid_sample *g, const taps *t, int each, int64_t p, int64_t count, int64_t *at, double *weight,
                    double *slope) {
  for (int64_t k = 0; k < count; k++) {
    int which[3] = {0};
    int64_t left = k, element = 0, stride = 1;
    for (int d = g->dims - 1; d >= 0; d--) which[d] = (int)(left % each), left /= each;
    double w = t[0].weight[which[0]];
    for (int d = 0; d < g->dims; d++) {
      const int64_t here = t[d].at[which[d]];
      element = here < 0 || element < 0 ? -1 : element + here * stride;
      stride *= g->size[d];
      if (d) w *= t[d].weight[which[d]];
    }
    at[k * g->points + p] = element;
    weight[k * g->points + p] = w;
    for (int i = 0; slope && i < g->dims; i++) {
      double s = i ? t[0].weight[which[0]] : t[0].slope[which[0]];
      for (int d = 1; d < g->dims; d++) s *= d == i ? t[d].slope[which[d]] : t[d].weight[which[d]];
      slope[(i * count + k) * g->points + p] = element < 0 ? 0.0 : s;
    }
  }
}

/* The same of two taps in each of two dimensions, as most calls have them: no step is another. */
static void combine_four(const rm_grid_sample *g, const taps *t, int64_t p, int64_t *at, double *weight, double *slope) {
  for (int k = 0; k < 4; k++) {
    const int first = k >> 1, second = k & 1;
    const int64_t x = t[0].at[first], y = t[1].at[second], element = (x | y) < 0 ? -1 : x + y * g->size[0];
    at[k * g->points + p] = element;
    weight[k * g->points + p] = t[0].weight[first] * t[1].weight[second];
    if (!slope) continue;
    slope[k * g->points + p] = element < 0 ? 0.0 : t[0].slope[first] * t[1].weight[second];
    slope[(4 + k) * g->points + p] = element < 0 ? 0.0 : t[0].weight[first] * t[1].slope[second];
  }
}

rm_status rm_grid_terms(int format, const rm_grid_sample *g, const void *coordinates, int64_t *at, double *weight,
                        double *slope) {
  if (format < RM_F16 || format > RM_F64) return RM_STATUS(RM_ERR_ENUM, FORMAT);
  if (!g) return RM_STATUS(RM_ERR_NULL, GRID);
  if (g->dims < 2 || g->dims > 3 || g->mode < RM_SAMPLE_LINEAR || g->mode > RM_SAMPLE_CUBIC ||
      (g->mode == RM_SAMPLE_CUBIC && g->dims != 2) || g->padding < RM_PADDING_ZEROS || g->padding > RM_PADDING_REFLECTION)
    return RM_STATUS(RM_ERR_ENUM, GRID);
  for (int d = 0; d < g->dims; d++)
    if (g->size[d] < 1 || g->size[d] > INT32_MAX) return RM_STATUS(RM_ERR_SIZE, GRID);
  if (g->samples < 0 || g->points < 0) return RM_STATUS(RM_ERR_SIZE, GRID);
  if (g->samples == 0 || g->points == 0) return RM_OK;
  if (!coordinates) return RM_STATUS(RM_ERR_NULL, COORDINATES);
  if (!at) return RM_STATUS(RM_ERR_NULL, AT);
  if (!weight) return RM_STATUS(RM_ERR_NULL, WEIGHT);
  const int each = g->mode == RM_SAMPLE_CUBIC ? 4 : g->mode == RM_SAMPLE_NEAREST ? 1 : 2;
  const int64_t count = each * each * (g->dims == 3 ? each : 1), terms = count * g->points;
  const int size = rm_size_of(format);
  const char *from = coordinates;
  const rm_env env = rm_env_enter();
  for (int64_t s = 0; s < g->samples; s++)
    for (int64_t p = 0; p < g->points; p++, from += g->dims * size) {
      taps t[3];
      for (int d = 0; d < g->dims; d++) take(&t[d], rm_read_element(from + d * size, format), g->size[d], g);
      double *const slopes = slope ? slope + s * terms * g->dims : NULL;
      if (count == 4 && g->dims == 2) combine_four(g, t, p, at + s * terms, weight + s * terms, slopes);
      else combine(g, t, each, p, count, at + s * terms, weight + s * terms, slopes);
    }
  rm_env_leave(env, 0);
  return RM_OK;
}
