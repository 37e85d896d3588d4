/* The public function: divides transforms among threads, runs the fast phase, and hands what it leaves undecided to
 * double-double and to decide.c. */
#include <stdlib.h>
#include <string.h>

#include "../../crlibm/fp/round.h"
#include "../common/aligned.h"
#include "../common/stats.h"
#include "../runtime/env.h"
#include "../runtime/threads.h"
#include "problem.h"

enum {
  TOGETHER = 1 << 14, /* elements of transforms that are computed beside each other, in the lanes of vectors */
  ELEMENTS_A_THREAD = 1 << 12
};

/* Buffers of one tier for transforms of a call. */
typedef struct {
  rm_fft_work work;
  double *memory, *re, *im, *err; /* results of one row; bounds of the transforms that are computed together */
  uint8_t *open;
  uint8_t zero[RM_FFT_PAD]; /* of each transform: bit 0, its real parts are all 0; bit 1, its imaginary parts are */
} buffers;

/* What a thread has. */
typedef struct {
  const rm_fft_problem *problem;
  const struct rm_fft_kernels *kernels;
  const rm_fft_plan *const *plan; /* of the format's tier */
  const rm_fft_plan *more[RM_FFT_RANK]; /* double-double for f32: made when it is needed */
  double loss[RM_FFT_TIERS];
  buffers tier[RM_FFT_TIERS];
  rm_fft_part *part;
  int64_t parts, room;
  int main; /* the tier that every transform passes */
  int64_t exact;
  uint32_t flags;
  rm_status status;
} worker;

static int make_buffers(buffers *b, const rm_fft_problem *p, const rm_fft_plan *const *plan, int tier, int64_t width) {
  const int64_t planes = tier == RM_FFT_B64 ? 2 : 4, plane = (p->n * width + 2 * RM_FFT_PAD) & ~(int64_t)7;
  const int64_t row = (p->length[p->rank - 1] * width + 2 * RM_FFT_PAD) & ~(int64_t)7;
  int64_t scratch = 0;
  for (int axis = 0; axis < p->rank; axis++)
    for (int i = 0; i < plan[axis]->passes; i++) {
      const int64_t own = rm_fft_scratch(plan[axis]->pass + i);
      scratch = own > scratch ? own : scratch;
    }
  const int64_t count = 2 * planes * plane + scratch + 2 * row + RM_FFT_PAD + (row + 7) / 8;
  double *at = rm_aligned_alloc((size_t)count * sizeof(double));
  if (!at) return 0;
  memset(at, 0, (size_t)(2 * planes * plane) * sizeof(double)); /* the ends of planes are read */
  b->memory = at;
  b->work = (rm_fft_work){
      p->rank, plan, p->n, width, plane, planes / 2, p->inverse, {at, at + planes * plane}, at + 2 * planes * plane};
  at += 2 * planes * plane + scratch;
  b->re = at, b->im = at + row, b->err = at + 2 * row;
  b->open = (uint8_t *)(b->err + RM_FFT_PAD);
  return 1;
}

/* The factor of the sum in two parts, within 2^-104 of it, relatively. */
static void factor_of(const rm_fft_problem *p, double factor[2]) {
  const double n = (double)p->n; /* exact: below 2^53 */
  factor[0] = 1.0, factor[1] = 0.0;
  if (p->scale == RM_FFT_SCALE_ONE) return;
  double divisor[2] = {n, 0.0};
  if (p->scale == RM_FFT_SCALE_ROOT) { /* r + (n - r^2)/(2 r), the square of the second term left out */
    const double r = __builtin_sqrt(n), square = r * r;
    divisor[0] = rm_two_sum(r, ((n - square) - rm_two_prod_error(r, r, square)) / (2.0 * r), divisor + 1);
  }
  const double q = 1.0 / divisor[0], p0 = q * divisor[0];
  const double rest = ((1.0 - p0) - rm_two_prod_error(q, divisor[0], p0)) - q * divisor[1];
  factor[0] = rm_two_sum(q, rest / divisor[0], factor + 1);
}

static void scale_all(double *x, int64_t count, int64_t step, double first, double second) {
  for (int64_t i = 0; i < count; i++) x[i * step] = x[i * step] * first * second;
}

/* The factors 2 of transforms to real numbers. */
static void weigh(const rm_fft_problem *p, double *x, int64_t step) {
  if (p->kind != RM_FFT_TO_REAL) return;
  const int64_t last = p->length[p->rank - 1];
  for (int64_t row = 0; row < p->rows; row++)
    for (int64_t j = 1; j < p->in_last; j++)
      if (2 * j != last) x[(row * last + j) * step] *= 2.0;
}

/* The bound of a transform's errors, without its factor: kernels.h. A sum of squares of n numbers in binary64 is within (n +
 * 4) 2^-53 of itself for n < 2^40. The factor (3 units, with its product) and the test (2 units) are included. */
static double bound_of(double norm2, const rm_fft_problem *p, double loss, int tier) {
  const double norm = __builtin_sqrt(norm2 * (double)p->n) * (1.0 + 0x1p-10);
  return RM_BOUND((loss + 6.0) * (tier == RM_FFT_B64 ? 0x1p-53 : 0x1p-103) * norm);
}

static double loss_along(const rm_fft_plan *plan, int last) {
  return plan->loss - (last ? plan->less * (1.0 - 0x1p-40) : 0.0);
}

/* What the input of a transform is. */
enum { ZERO, NOT_FINITE, FINITE };

/* Whether elements of transforms that are computed beside each other lie beside each other. */
static int are_neighbours(const char *const *x, int64_t count, int64_t width, int64_t size) {
  if (width == 1 || count < width) return 0;
  for (int64_t lane = 1; lane < count; lane++)
    if (x[lane] != x[0] + lane * size) return 0;
  return 1;
}

/* Reads the elements of transforms at x[0], ..., x[count - 1] into the lanes of the buffer. */
static void read_elements(const worker *t, const buffers *b, const char *const *x, int64_t count, double *re, double *im) {
  const rm_fft_problem *const p = t->problem;
  const int64_t width = b->work.width, last = p->length[p->rank - 1], absent = (last - p->in_last) * width;
  const int parts = p->kind == RM_FFT_FROM_REAL ? 1 : 2;
  const int size = parts * rm_size_of(p->format), near = p->stride_x[p->rank - 1] == size;
  const int beside = near && width > 1 && count == width, alone = near && width == 1 && p->format == RM_F32;
  const int across = p->format == RM_F32 && are_neighbours(x, count, width, size);
  for (int64_t row = 0; row < p->rows; row++, re += last * width, im += last * width) {
    const char *at[RM_FFT_PAD];
    if (!beside && !alone && !across) {
      for (int64_t lane = 0; lane < count; lane++) rm_fft_read_row(p, x[lane], row, re + lane, im + lane, width);
      continue;
    }
    for (int64_t lane = 0; lane < count; lane++) at[lane] = x[lane] + rm_fft_row_x(p, row);
    if (beside) t->kernels->read_lanes(at, p->in_last, parts, re, im, p->format);
    else if (alone) t->kernels->read_row(at[0], p->in_last, parts, re, im);
    else
      for (int64_t j = 0; j < p->in_last; j++)
        t->kernels->read_row(at[0] + j * p->stride_x[p->rank - 1], width, parts, re + j * width, im + j * width);
    memset(re + p->in_last * width, 0, (size_t)absent * sizeof *re);
    memset(im + p->in_last * width, 0, (size_t)absent * sizeof *im);
  }
}

/* Makes the largest component of a transform in double-double a number in [1, 2). */
static int scale_lane(const rm_fft_problem *p, buffers *b, int64_t lane, double most) {
  int exponent;
  rm_decompose(most, &exponent);
  exponent += 52;
  const int up = -exponent / 2;
  const double f = rm_pow2(up), g = rm_pow2(-exponent - up);
  for (int c = 0; c < 4; c += 2) scale_all(b->work.buffer[0] + c * b->work.plane + lane, p->n, b->work.width, f, g);
  return exponent;
}

/* Reads transforms, scales them (double-double), and bounds their errors. */
static void read_transforms(const worker *t, buffers *b, int tier, const char *const *x, int64_t count, int *state,
                            int *exponent) {
  const rm_fft_problem *const p = t->problem;
  const int64_t width = b->work.width, plane = b->work.plane, all = p->n * width;
  double *const first = b->work.buffer[0], *const second = first + (tier == RM_FFT_B64 ? 1 : 2) * plane;
  rm_fft_survey s[2] = {{{0.0}}};
  read_elements(t, b, x, count, p->inverse ? second : first, p->inverse ? first : second);
  for (int64_t lane = 0; lane < width; lane++) state[lane] = FINITE, exponent[lane] = 0;
  if (tier == RM_FFT_DD) {
    memset(first + plane, 0, (size_t)all * sizeof *first);
    memset(second + plane, 0, (size_t)all * sizeof *first);
    for (int c = 0; c < 2; c++) t->kernels->magnitudes(c ? second : first, all, (int)width, s + c);
    for (int64_t lane = 0; lane < count; lane++) {
      const double larger = s[0].most[lane] > s[1].most[lane] ? s[0].most[lane] : s[1].most[lane];
      if (s[0].none[lane] + s[1].none[lane] != 0.0) state[lane] = NOT_FINITE;
      else if (larger > 0.0) exponent[lane] = scale_lane(p, b, lane, larger);
    }
  }
  for (int64_t lane = 0; lane < count; lane++) weigh(p, first + lane, width), weigh(p, second + lane, width);
  for (int c = 0; c < 2; c++) t->kernels->squares(c ? second : first, all, (int)width, s + c);
  for (int64_t lane = 0; lane < width; lane++) {
    const double norm2 = s[0].squares[lane] + s[1].squares[lane];
    b->zero[lane] = 0;
    for (int c = 0; c < 2; c++) /* no square of a number of f32 is rounded to 0 */
      b->zero[lane] |= (uint8_t)(((tier == RM_FFT_DD ? s[c].most[lane] : s[c].squares[lane]) == 0.0) << c);
    if (!(norm2 < rm_from_bits64(UINT64_C(0x7ff0000000000000)))) state[lane] = NOT_FINITE;
    if (norm2 == 0.0 || lane >= count) state[lane] = ZERO;
    b->err[lane] = state[lane] == FINITE ? bound_of(norm2, p, t->loss[tier], tier) : 0.0;
    if (lane >= count) b->zero[lane] = 0, exponent[lane] = 0;
  }
}

static int note(worker *t, int64_t k, int imaginary) {
  if (t->parts == t->room) {
    const int64_t room = t->room ? 2 * t->room : 256;
    rm_fft_part *const part = realloc(t->part, (size_t)room * sizeof *part);
    if (!part) return 0;
    t->part = part, t->room = room;
  }
  t->part[t->parts++] = (rm_fft_part){k, imaginary};
  return 1;
}

/* Puts `count` results of a row to their places: those of lane `lane`, or pairs, where im is NULL. */
static void write_row(const rm_fft_problem *p, char *at, const void *re, const void *im, int64_t count, int64_t step,
                      int64_t lane) {
  const ptrdiff_t stride = p->stride_out[p->rank - 1];
  const int real = p->kind == RM_FFT_TO_REAL;
  if (!im && stride == 8 && step == 1) {
    memcpy(at, re, 8 * (size_t)count);
  } else if (!im) {
    for (int64_t k = 0; k < count; k++) memcpy(at + k * stride, (const float *)re + 2 * (k * step + lane), 8);
  } else if (p->format == RM_F32) {
    const float *const a = (const float *)re + lane, *const b = (const float *)im + lane;
    for (int64_t k = 0; k < count; k++) {
      memcpy(at + k * stride, a + k * step, 4);
      if (!real) memcpy(at + k * stride + 4, b + k * step, 4);
    }
  } else {
    const double *const a = (const double *)re + lane, *const b = (const double *)im + lane;
    for (int64_t k = 0; k < count; k++) {
      memcpy(at + k * stride, a + k * step, 8);
      if (!real) memcpy(at + k * stride + 8, b + k * step, 8);
    }
  }
}

/* Whether rounded results are made as pairs. */
static int in_pairs(const rm_fft_problem *p) { return p->format == RM_F32 && p->kind != RM_FFT_TO_REAL; }

/* y 2^e where this is a normal number; else the part is undecided. */
static int scaled(double *y, int exponent) {
  const int e = (int)(rm_bits64(*y) >> 52 & 2047) - 1023 + exponent;
  if (e < -1022 || e > 1023) return 0;
  const int half = exponent / 2;
  *y = *y * rm_pow2(half) * rm_pow2(exponent - half);
  return 1;
}

/* The imaginary parts of the transform of real numbers, and the real parts of that of imaginary ones, are 0 where indices are
 * their own opposites: the roots of unity are 1 and -1 there. */
static void put_zeros(const rm_fft_problem *p, buffers *b, int64_t row) {
  const int64_t last = p->length[p->rank - 1], width = b->work.width;
  int64_t rest = row;
  for (int axis = p->rank - 2; axis >= 0; axis--) {
    if (2 * (rest % p->length[axis]) % p->length[axis]) return;
    rest /= p->length[axis];
  }
  for (int64_t k = 0; k <= last / 2; k += last % 2 ? last : last / 2)
    for (int64_t i = k * width; i < (k + 1) * width; i++) {
      const int zero = b->zero[i % width];
      b->open[i] &= (uint8_t)~zero;
      for (int c = 0; c < 2; c++) {
        void *const part = c ? b->im : b->re;
        if (!(zero >> c & 1)) continue;
        if (in_pairs(p)) ((float *)b->re)[2 * i + (c != p->inverse)] = 0.0f;
        else if (p->format == RM_F32) ((float *)part)[i] = 0.0f;
        else ((double *)part)[i] = 0.0;
      }
    }
}

/* Rounds the results of one row of all lanes; open parts are left for note_open. `from` is the transformed buffer. */
static int round_row(const worker *t, buffers *b, const double *from, int64_t row, const double *factor, const double *err,
                     const int *exponent) {
  const rm_fft_problem *const p = t->problem;
  const int64_t width = b->work.width, count = p->out_last * width;
  const int wide = p->format == RM_F64;
  rm_fft_round_fn *const round = wide ? t->kernels->round_f64 : t->kernels->round_f32;
  int any = round(&b->work, from, row * p->length[p->rank - 1] * width, count, factor, err, b->re, in_pairs(p) ? NULL : b->im,
                  b->open);
  if (wide)
    for (int64_t i = 0; i < count; i++) {
      const int e = exponent[i % width];
      if (e == 0) continue;
      if (!(b->open[i] & 1) && !scaled(b->re + i, e)) b->open[i] |= 1, any = 1;
      if (!(b->open[i] & 2) && !scaled(b->im + i, e)) b->open[i] |= 2, any = 1;
    }
  uint8_t zero = 0, open = 0;
  for (int64_t lane = 0; lane < width; lane++) zero |= b->zero[lane];
  if (!zero) return any;
  put_zeros(p, b, row);
  for (int64_t i = 0; any && i < count; i++) open |= b->open[i];
  return open != 0;
}

/* The next result of a lane that has an undecided part, or count. */
static int64_t next_open(const buffers *b, int64_t k, int64_t count, int64_t lane) {
  const int64_t width = b->work.width;
  for (uint64_t some; k + 8 <= count && width == 1; k += 8) {
    memcpy(&some, b->open + k, 8);
    if (some) break;
  }
  while (k < count && !b->open[k * width + lane]) k++;
  return k;
}

static rm_status decide_open(worker *t, buffers *b, const double *from, int64_t lane, int exponent, const char *x,
                             char *out) {
  const rm_fft_open open = {t->problem, x, out, from + lane, b->work.plane, b->work.width, b->err[lane], exponent};
  return rm_fft_decide(&open, t->part, t->parts, &t->flags);
}

static void zeros(const rm_fft_problem *p, char *out) {
  for (int64_t row = 0; row < p->rows; row++)
    for (int64_t k = 0; k < p->out_last; k++)
      for (int c = 0; c < (p->kind == RM_FFT_TO_REAL ? 1 : 2); c++)
        rm_fft_write(p, out, row * p->length[p->rank - 1] + k, c, 0);
}

/* Of a few parts the numbers alone: a number takes the operations of about two passes, and a transform those of all. A large
 * prime, which is the radix of the last pass, has another bound then. Parts that stay undecided stay in the list. */
static void decide_few(worker *t, buffers *b, int exponent, const char *x, char *out) {
  const rm_fft_problem *const p = t->problem;
  const int passes = t->more[0]->passes;
  if (!t->kernels->one || p->rank > 1 || t->parts > passes || t->more[0]->pass[passes - 1].chirp) return;
  double number[4];
  const rm_fft_open open = {p, x, out, number, 1, 0, b->err[0], exponent};
  int64_t left = 0, k = -1;
  for (int64_t i = 0; i < t->parts; i++) {
    if (t->part[i].k != k) t->kernels->one(&b->work, k = t->part[i].k, number);
    if (!rm_fft_decide_quickly(&open, t->part + i, &t->flags)) t->part[left++] = t->part[i];
  }
  t->parts = left;
}

/* The double-double tier of one transform of f32. */
static rm_status decide_f32(worker *t, const char *x, char *out) {
  buffers *const b = &t->tier[RM_FFT_DD];
  int state, exponent;
  if (!b->memory) {
    t->loss[RM_FFT_DD] = 0.0;
    for (int axis = 0; axis < t->problem->rank; axis++) {
      if (!t->more[axis]) t->more[axis] = rm_fft_plan_get(t->problem->length[axis], RM_FFT_DD);
      if (!t->more[axis]) return RM_ERR_MEMORY;
      t->loss[RM_FFT_DD] += loss_along(t->more[axis], axis == t->problem->rank - 1);
    }
    if (!make_buffers(b, t->problem, t->more, RM_FFT_DD, 1)) return RM_ERR_MEMORY;
  }
  read_transforms(t, b, RM_FFT_DD, &x, 1, &state, &exponent);
  decide_few(t, b, exponent, x, out);
  if (!t->parts) return RM_OK;
  const int from = t->kernels->transform[RM_FFT_DD](&b->work);
  return decide_open(t, b, b->work.buffer[from], 0, exponent, x, out);
}

/* The transforms of numbers [first, first + count), count <= width, of which each has a lane. */
static rm_status transform_some(worker *t, int64_t first, int64_t count) {
  const rm_fft_problem *const p = t->problem;
  const int tier = t->main;
  buffers *const b = &t->tier[tier];
  const int64_t width = b->work.width, last = p->length[p->rank - 1];
  int state[RM_FFT_PAD], exponent[RM_FFT_PAD];
  rm_status status = RM_OK;
  const char *input[RM_FFT_PAD];
  char *output[RM_FFT_PAD];
  for (int64_t lane = 0; lane < count; lane++)
    input[lane] = rm_fft_input(p, first + lane), output[lane] = rm_fft_output(p, first + lane);
  const int across = in_pairs(p) && are_neighbours((const char *const *)output, count, width, 8);
  read_transforms(t, b, tier, input, count, state, exponent);
  const double *const from = b->work.buffer[t->kernels->transform[tier](&b->work)];
  double by[2], factor[RM_FFT_PAD], err[RM_FFT_PAD];
  factor_of(p, by);
  factor[1] = by[1];
  for (int64_t lane = 0; lane < width; lane++) {
    err[lane] = b->err[lane] * by[0];
    if (lane == 0 || p->format == RM_F32) factor[lane] = by[0];
    if (tier == RM_FFT_B64 || p->format == RM_F64) continue;
    factor[lane] *= rm_pow2(exponent[lane]),
        err[lane] *= rm_pow2(exponent[lane]); /* elements of f32, and no part leaves binary64 */
  }
  const int wanted = p->kind != RM_FFT_TO_REAL ? 3 : p->inverse ? 2 : 1;
  uint32_t again = 0;
  for (int64_t row = 0; row < p->rows; row++) {
    const int any = round_row(t, b, from, row, factor, err, exponent);
    if (across) {
      char *const at = output[0] + rm_fft_row_out(p, row);
      for (int64_t k = 0; k < p->out_last; k++)
        memcpy(at + k * p->stride_out[p->rank - 1], (const float *)b->re + 2 * k * width, 8 * (size_t)width);
    }
    for (int64_t lane = 0; lane < count; lane++) {
      if (state[lane] != FINITE) continue;
      char *const at = output[lane] + rm_fft_row_out(p, row);
      if (!across && in_pairs(p)) write_row(p, at, b->re, NULL, p->out_last, width, lane);
      else if (!across) write_row(p, at, p->inverse ? b->im : b->re, p->inverse ? b->re : b->im, p->out_last, width, lane);
      if (any && width == 1) again = 1;
      for (int64_t k = 0; any && k < p->out_last && !(again >> lane & 1); k++)
        if (b->open[k * width + lane] & wanted) again |= 1u << lane;
    }
  }
  for (int64_t lane = 0; lane < count; lane++) {
    char *const out = output[lane];
    const char *const x = input[lane];
    rm_status s = RM_OK;
    if (state[lane] == ZERO) zeros(p, out);
    if (state[lane] == NOT_FINITE) s = rm_fft_not_finite(p, x, out, &t->flags);
    if (state[lane] == FINITE && again >> lane & 1) {
      t->parts = 0;
      for (int64_t row = 0; row < p->rows && !s; row++) {
        /* The test's results were those of one row. */
        if (p->rows > 1 && !round_row(t, b, from, row, factor, err, exponent)) continue;
        for (int64_t k = 0; (k = next_open(b, k, p->out_last, lane)) < p->out_last; k++)
          for (int c = 0; c < 2; c++)
            if (b->open[k * width + lane] & wanted & 1 << c && !note(t, row * last + k, c != p->inverse)) s = RM_ERR_MEMORY;
      }
      t->exact += t->parts;
      t->parts = s ? 0 : rm_fft_decide_rational(p, x, out, t->part, t->parts, &t->flags);
      if (!s && t->parts)
        s = tier == RM_FFT_DD ? decide_open(t, b, from, lane, exponent[lane], x, out) : decide_f32(t, x, out);
    }
    if (s) status = s;
  }
  return status;
}

static void transform_part(worker *t, int64_t begin, int64_t end) {
  const rm_env env = rm_env_enter();
  const int64_t width = t->tier[t->main].work.width;
  for (int64_t i = begin; i < end; i += width) {
    const rm_status s = transform_some(t, i, end - i < width ? end - i : width);
    if (s) t->status = s;
  }
  rm_env_leave(env, 0);
}

/* Whether f32 transforms are likely to have so many undecided parts that all results are computed again (decide_few): about
 * 2^-24 n^1.5 times the bound in last places, where results are as large as the norm of the input. Then double-double is the
 * first tier. */
static int is_long(const rm_fft_problem *p) {
  double loss = 6.0;
  int passes = 0;
  for (int axis = 0; axis < p->rank; axis++) loss += rm_fft_loss_about(p->length[axis], &passes);
  const double n = (double)p->n;
  return n * __builtin_sqrt(n) * loss > 0x1p24 * (p->rank > 1 ? 2 : passes + 2);
}

static rm_status run(const rm_fft_problem *p, const struct rm_fft_kernels *kernels, uint32_t *flags) {
  const int tier = p->format == RM_F64 || is_long(p) ? RM_FFT_DD : RM_FFT_B64;
  const rm_fft_plan *plan[RM_FFT_RANK] = {0};
  worker shared = {.problem = p, .kernels = kernels, .plan = plan, .main = tier};
  rm_status status = RM_OK;
  for (int axis = 0; axis < p->rank && !status; axis++) {
    plan[axis] = rm_fft_plan_get(p->length[axis], tier);
    if (!plan[axis]) status = RM_ERR_MEMORY;
    else shared.loss[tier] += loss_along(plan[axis], axis == p->rank - 1);
  }
  const int beside = p->batches >= kernels->lanes && p->n * kernels->lanes <= TOGETHER;
  const int64_t width = beside ? kernels->lanes : 1;
  const int64_t groups = (p->batches + width - 1) / width;
  int64_t chunks = p->n > ELEMENTS_A_THREAD ? groups : groups * p->n * width / ELEMENTS_A_THREAD;
  if (chunks > groups) chunks = groups;
  const int threads = status || chunks < 2 ? 1 : rm_threads_for(chunks);
  worker *const all = status ? NULL : calloc((size_t)threads, sizeof *all);
  if (!status && !all) status = RM_ERR_MEMORY;
  for (int i = 0; i < threads && !status; i++) {
    all[i] = shared;
    if (!make_buffers(&all[i].tier[tier], p, plan, tier, width)) status = RM_ERR_MEMORY;
  }
  if (!status) {
    if (threads == 1) {
      transform_part(all, 0, p->batches);
    } else {
#if defined(_OPENMP)
#pragma omp parallel for num_threads(threads) schedule(static, 1)
#endif
      for (int i = 0; i < threads; i++) {
        const int64_t begin = groups * i / threads * width, end = groups * (i + 1) / threads * width;
        transform_part(all + i, begin, end < p->batches ? end : p->batches);
      }
    }
  }
  for (int i = 0; i < threads && all; i++) {
    for (int k = 0; k < RM_FFT_TIERS; k++) rm_aligned_free(all[i].tier[k].memory);
    free(all[i].part);
    for (int axis = 0; axis < p->rank; axis++) rm_fft_plan_release(all[i].more[axis]);
    *flags |= all[i].flags;
    if (all[i].status) status = all[i].status;
    shared.exact += all[i].exact;
  }
  free(all);
  for (int axis = 0; axis < p->rank; axis++) rm_fft_plan_release(plan[axis]);
  const int64_t results = p->batches * p->rows * p->out_last * (p->kind == RM_FFT_TO_REAL ? 1 : 2);
  rm_stats_add(tier == RM_FFT_B64 ? results - shared.exact : 0, tier == RM_FFT_DD ? results - shared.exact : 0, shared.exact);
  return status;
}

rm_status rm_fft(int format, int kind, int sign, int scale, int rank, const int64_t *size, int transformed, const void *x,
                 const ptrdiff_t *stride_x, void *out, const ptrdiff_t *stride_out) {
  const struct rm_fft_kernels *kernels = rm_fft_kernels();
  rm_fft_problem p = {.format = format, .kind = kind, .inverse = sign == 1, .scale = scale, .x = x, .out = out};
  if (!kernels) return RM_ERR_ISA;
  if (sign != 1 && sign != -1) return RM_STATUS(RM_ERR_ENUM, 3);
  rm_status status = rm_fft_check(&p, rank, size, transformed, stride_x, stride_out);
  if (status || p.batches == 0) return status;
  uint32_t flags = 0;
  const rm_env env = rm_env_enter();
  status = run(&p, kernels, &flags);
  rm_env_leave(env, flags);
  return status;
}
