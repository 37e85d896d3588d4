/* How many roundings a term passes in the engine of matrix products (src/blas/gemm/bound_b64.h): the source of the library
 * over depths, in shapes, strides and blocks of many kinds, with patches as convolutions have them. products LONGEST
 * [ALLOWANCES LESS BY] */
#include "vocabulary.h"

#include "../../src/blas/conv/args.h"
#include "../../src/blas/gemm/epilogue_b64.h"
#include "../../src/blas/gemm/micro_dd.h"
#include "../../src/blas/gemm/tiles.h"
#include "../../src/blas/gemm/tiles_dot.h"

/* What a two-sum loses is a number that has not been rounded; products lose another one. */
static vf64 depth_two_sum(vf64 a, vf64 b, vf64 *lost) { return *lost = vf64_set1(1.0), vf64_add(a, b); }
static vf64 depth_mul_err(vf64 a, vf64 b, vf64 p) { return (void)a, (void)b, (void)p, vf64_set1(1.0); }
#define vf64_two_sum depth_two_sum
#define vf64_mul_err depth_mul_err
#include "../../src/blas/gemm/resolve_dd.h"
#undef vf64_two_sum
#undef vf64_mul_err

/* The ends of the engines, where the sums are: they are looked at, nothing is rounded, nothing is open. */
static record *now;
static char now_where[160];
static int64_t now_k, now_mark;
static double now_weight;
static void look(double sum, double norms);

static int depth_round_tile(const rm_epilogue_b64 *e, const rm_tile_b64 *t) {
  for (int i = 0; i < t->rows; i++)
    for (int j = 0; j < t->cols; j++) {
      const double a = e->row_bound[t->i + i], b = e->col_norm[t->j + j];
      look(t->sums[i * t->nv * RM_LANES + j], a > b ? a : b);
    }
  return 0;
}
#define rm_epilogue_tile_b64(e, tile, fmt, out) depth_round_tile(e, tile)
#define rm_has_no_specials_b64(e, tile, i, j, flagged, before) ((void)(before), 0)

/* The chains of the double-double engine: their lengths, and how many are joined. */
static int64_t dd_terms, dd_longest, dd_joins;
static void depth_micro_dd_run(int64_t kc, const double *a, const double *b, double *hi, double *lo, int first) {
  (void)a, (void)b, (void)hi, (void)lo;
  if (first) dd_joins = 0;
  else dd_joins++;
  dd_terms = kc > dd_terms ? kc : dd_terms;
  dd_longest = dd_joins > dd_longest ? dd_joins : dd_longest;
}
static rm_micro_dd_fn *depth_micro_dd(int nv) { return (void)nv, depth_micro_dd_run; }
#define rm_micro_dd depth_micro_dd

#include "../../src/blas/gemm/gemm_dd.h"
#include "../../src/blas/gemm/gemm_b64.h"

/* Of a sum without bias: t less the bias and the room that the bound has beyond it. A marked term may have fewer where its
 * weight is less: (t + 1) w_k roundings, of which the bias, the test and that room take three. */
static void look(double sum, double norms) {
  const double t = rm_roundings_b64(now_k) - 1.0;
  if (now_mark >= 0) {
    if (sum >= MARK) counted(now, sum - MARK - 1.0 + 2.0, (t + 1.0) * now_weight, now_where);
    return;
  }
  if (sum > 0.0) counted(now, sum - 1.0, t - 2.0, now_where);
  counted(record_of("norms"), norms - 1.0, (double)now_k + 5.0, now_where);
}

static char *work;
static size_t work_bytes;
static void engine(const rm_matmul_problem *p, int64_t row_cut, int64_t col_cut) {
  rm_tiers tiers = {0, 0, 0};
  for (int64_t i = 0; i < p->m; i += row_cut)
    for (int64_t j = 0; j < p->n; j += col_cut) {
      const rm_block block = {i, p->m - i < row_cut ? p->m - i : row_cut, j, p->n - j < col_cut ? p->n - j : col_cut};
      const size_t bytes = rm_work_b64(p, block.rows, block.cols) + 64;
      if (bytes > work_bytes) work = realloc(work, work_bytes = bytes);
      if (!work) exit(3);
      memset(work, 0, bytes);
      switch (p->fmt) {
        case RM_F16: rm_block_f16(p, &block, work, &tiers, 0); break;
        case RM_BF16: rm_block_bf16(p, &block, work, &tiers, 0); break;
        default: rm_block_f32(p, &block, work, &tiers, 0);
      }
    }
}

static const int sizes[] = {2, 2, 4};
static const uint32_t ones[] = {0x3c00, 0x3f80, 0x3f800000};
static char *elements(int fmt, int64_t n) {
  char *x = malloc((size_t)n * 4 + 64);
  if (!x) exit(3);
  for (int64_t i = 0; i < n; i++) memcpy(x + i * sizes[fmt], &ones[fmt], (size_t)sizes[fmt]);
  return x;
}

/* Where B's elements are neighbours: along terms, along lines, nowhere. */
static void dense(int fmt, int64_t m, int64_t n, int64_t k, int layout, int64_t row_cut, int64_t col_cut) {
  static const char *const names[] = {"terms of B", "lines of B", "strides of B"};
  static const char *const rows[] = {"one row, ", "rows, "};
  char name[64];
  const int size = sizes[fmt];
  char *a = elements(fmt, m * k), *b = elements(fmt, 2 * n * k), *c = malloc((size_t)(m * n) * 4 + 64);
  rm_matmul_problem p = rm_problem_of(fmt, 1);
  p.m = m, p.n = n, p.k = k;
  p.a = (rm_operand){a, k * size, size, 0};
  p.b = layout == 0   ? (rm_operand){b, k * size, size, 0}
        : layout == 1 ? (rm_operand){b, size, n * size, 0}
                      : (rm_operand){b, 2 * size, 2 * n * size, 0};
  p.c = (rm_target){c, n * 4, 4, 0, 0};
  snprintf(name, sizeof name, "%s%s", rows[m > 1], names[layout]);
  now = record_of(strdup(name)), now_k = k, now_mark = -1;
  snprintf(now_where, sizeof now_where, "format %d, %lld x %lld x %lld in %lld x %lld", fmt, (long long)m, (long long)k,
           (long long)n, (long long)row_cut, (long long)col_cut);
  engine(&p, row_cut, col_cut);
  free(a), free(b), free(c);
}

/* Every term marked in turn: its count and its weight. */
static void weights(int64_t k, int64_t step) {
  const int64_t n = RM_NR + 1, m = RM_MR + 1;
  char *a = elements(RM_F32, k), *b = elements(RM_F32, n * k), *c = malloc((size_t)(m * n) * 4 + 64);
  const float mark = (float)(MARK + 1.0), one = 1.0f;
  now = record_of("weights of terms"), now_k = k;
  for (int64_t q = 0; q < k; q += step) {
    rm_matmul_problem p = rm_problem_of(RM_F32, 1);
    p.m = m, p.n = n, p.k = k;
    p.a = (rm_operand){a, 0, 4, 0}, p.b = (rm_operand){b, 4, 4 * n, 0}, p.c = (rm_target){c, n * 4, 4, 0, 0};
    memcpy(a + 4 * q, &mark, 4);
    now_mark = q, now_weight = rm_weight(rm_weights_b64(k, q / RM_KC * RM_KC), q % RM_KC);
    snprintf(now_where, sizeof now_where, "K %lld, term %lld", (long long)k, (long long)q);
    engine(&p, m, n);
    memcpy(a + 4 * q, &one, 4);
  }
  now_mark = -1;
  free(a), free(b), free(c);
}

/* The double-double engine's chains (bound_dd.h). */
static void double_double(int64_t k) {
  char *a = elements(RM_F32, k), *c = malloc(64);
  rm_matmul_problem p = rm_problem_of(RM_F32, 1);
  rm_tiers tiers = {0, 0, 0};
  p.m = p.n = 1, p.k = k;
  p.a = p.b = (rm_operand){a, 0, 4, 0}, p.c = (rm_target){c, 4, 4, 0, 0};
  const rm_block block = {0, 1, 0, 1};
  const size_t bytes = rm_work_dd(&p, 1, 1) + 64;
  if (bytes > work_bytes) work = realloc(work, work_bytes = bytes);
  memset(work, 0, bytes);
  dd_terms = dd_longest = 0;
  const double n = (double)(k < RM_KC2 ? k : RM_KC2), b = (double)((k + RM_KC2 - 1) / RM_KC2); /* as in rm_bound_dd */
  rm_block_dd_f32(&p, &block, work, &tiers);
  char where[32];
  snprintf(where, sizeof where, "K %lld", (long long)k);
  counted(record_of("chains of double-double"), (double)dd_terms, n, where);
  counted(record_of("joins of double-double"), (double)dd_longest, b - 1.0, where);
  free(a), free(c);
}

static double deepest(const double *lanes) {
  double most = 0.0;
  for (int q = 0; q < RM_LANES; q++) most = lanes[q] > most ? lanes[q] : most;
  return most;
}

/* Of a check whose allowance has room everywhere, a control takes more. */
static void counted_with_room(record *r, double count, double allowed, const char *where) {
  counted(r, count, allowed - 19.0 * depth_less, where);
}

/* The sums of dot2_dd.h and of src/cuda/matmul_dd.cu, which has one lane: on the way to hi and to lo (bound_dd.h). Lanes
 * are joined one after the other. */
static void dot2(int64_t k) {
  char *a = elements(RM_F32, k), where[32];
  double his[RM_LANES], los[RM_LANES], sizes[RM_LANES];
  rm_matmul_problem p = rm_problem_of(RM_F32, 1);
  p.m = p.n = 1, p.k = k;
  p.a = p.b = (rm_operand){a, 0, 4, 0};
  rm_dot2_lanes(&p, 0, 1.0, 0, 1.0, his, los, sizes);
  snprintf(where, sizeof where, "K %lld", (long long)k);
  counted_with_room(record_of("double-double products again"), deepest(his) - 1.0 + RM_LANES, (double)k + 64.0, where);
  counted_with_room(record_of("what they lose"), deepest(los) - 1.0 + 1.0 + RM_LANES, 2.0 * ((double)k + 64.0), where);
  free(a);
}

/* The same of a tile (dot2_dd.h), of which one vector is flagged: each lane is a chain of its own, which the bias joins. */
static void dot2_tile(int64_t k) {
  static double x[RM_KC2 * RM_AW2], y[RM_KC2 * RM_LANES];
  const uint8_t flagged = 1;
  rm_dot2_tile sums;
  char where[32];
  snprintf(where, sizeof where, "K %lld, a tile", (long long)k);
  for (int i = 0; i < RM_KC2 * RM_AW2; i++) x[i] = 1.0;
  for (int i = 0; i < RM_KC2 * RM_LANES; i++) y[i] = 1.0;
  for (int64_t k0 = 0; k0 < k; k0 += RM_KC2)
    rm_dot2_panels(1, 1, k - k0 < RM_KC2 ? k - k0 : RM_KC2, x, y, &flagged, &sums, k0 == 0);
  counted_with_room(record_of("double-double products again"), deepest(sums.hi) - 1.0 + 1.0, (double)k + 64.0, where);
  counted_with_room(record_of("what they lose"), deepest(sums.lo) - 1.0 + 2.0, 2.0 * ((double)k + 64.0), where);
}

/* What the sums of digits leave undecided (tiles.c), beside the bias. */
static void tiles(int64_t k) {
  double lanes[RM_LANES];
  char *a = elements(RM_BF16, k), where[32];
  snprintf(where, sizeof where, "K %lld", (long long)k);
  vf64_store(lanes, rm_tiles_dot_lanes(a, a, k, RM_BF16));
  counted_with_room(record_of("tiles, what is undecided"), deepest(lanes) - 1.0 + RM_TILES_DOT_JOINS,
                    rm_roundings_b64(k) - 3.0, where);
  free(a);
}

static rm_status run_patches(const rm_matmul_problem *given, void *context) {
  rm_matmul_problem p = *given;
  (void)context;
  if (p.m == 0 || p.n == 0 || p.k == 0) return RM_OK;
  now_k = p.k, now_mark = -1;
  p.batch = 1;
  engine(&p, p.m, p.n);
  engine(&p, p.m / 2 + 1, 5);
  return RM_OK;
}

static void convolution(int64_t channels, int64_t out, int64_t w, int64_t kernel, int64_t stride, int64_t padding, int last) {
  const rm_conv_runner runner = {run_patches, 0, 0};
  rm_conv conv;
  int64_t sizes_out[3];
  memset(&conv, 0, sizeof conv);
  conv.dims = 2, conv.batch = 2, conv.channels_in = channels, conv.channels_out = out, conv.groups = 1;
  for (int d = 0; d < 2; d++) {
    conv.in[d] = d ? w : 5, conv.kernel[d] = d ? kernel : 2, conv.stride[d] = d ? stride : 1, conv.dilation[d] = 1;
    conv.padding_low[d] = conv.padding_high[d] = padding;
  }
  if (rm_conv_sizes(&conv, sizes_out)) return;
  const int64_t h = conv.in[0], oh = sizes_out[0], ow = sizes_out[1];
  const ptrdiff_t sx[] = {4 * channels * h * w, last ? 4 : 4 * h * w, last ? 4 * channels * w : 4 * w,
                          last ? 4 * channels : 4};
  const ptrdiff_t sw[] = {4 * channels * 2 * kernel, 8 * kernel, 4 * kernel, 4};
  const ptrdiff_t sy[] = {4 * out * oh * ow, last ? 4 : 4 * oh * ow, last ? 4 * out * ow : 4 * ow, last ? 4 * out : 4};
  char *x = elements(RM_F32, 2 * channels * h * w), *f = elements(RM_F32, out * channels * 2 * kernel),
       *y = elements(RM_F32, 2 * out * oh * ow);
  snprintf(now_where, sizeof now_where, "%lld channels, %lld out, width %lld, kernel %lld, stride %lld, padding %lld%s",
           (long long)channels, (long long)out, (long long)w, (long long)kernel, (long long)stride, (long long)padding,
           last ? ", channels last" : "");
  now = record_of("convolutions");
  rm_status s = rm_conv_forward_by(&runner, &(rm_conv_call){RM_F32, &conv, x, sx, f, sw, 0, 0, y, sy});
  now = record_of("gradients of images");
  s |= rm_conv_grad_input_by(&runner, &(rm_conv_call){RM_F32, &conv, y, sy, f, sw, 0, 0, x, sx});
  now = record_of("gradients of kernels");
  s |= rm_conv_grad_weight_by(&runner, RM_F32, &conv, x, sx, y, sy, f, sw);
  if (s) exit(4);
  free(x), free(f), free(y);
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  if (argc > 2) depth_less = atof(argv[2]);
  const int64_t longest = atoll(argv[1]);
  for (int fmt = 0; fmt < 3; fmt++)
    for (int layout = 0; layout < 3; layout++)
      for (int64_t k = 1; k <= 700; k += k < 20 ? 1 : 37 + layout) {
        dense(fmt, 1, RM_NR + 1, k, layout, 1, RM_NR + 1);
        dense(fmt, 1, 3, k, layout, 1, 2);
        dense(fmt, RM_MR + 1, RM_NR + 2, k, layout, RM_MR, RM_NR);
      }
  for (int layout = 0; layout < 3; layout++)
    for (int64_t k = 700; k <= longest; k += k / 3 + 61) {
      dense(RM_F32, 1, 5, k, layout, 1, 5);
      dense(RM_F32, 2, 3, k, layout, 2, 3);
    }
  for (int layout = 0; layout < 3; layout++) dense(RM_F32, 1, 2, longest, layout, 1, 2);
  for (int64_t k = 1; k < 1100; k = k * 2 + 5) weights(k, k > 300 ? 7 : 1);
  for (int64_t k = 1; k <= longest; k = k * 3 / 2 + 1) double_double(k), dot2(k), dot2_tile(k);
  if (RM_LANES == 8)
    for (int64_t k = RM_TILES_MIN_K; k <= RM_TILES_MAX_K; k++) tiles(k);
  for (int last = 0; last < 2; last++)
    for (int64_t kernel = 1; kernel <= 5; kernel += 2)
      for (int64_t stride = 1; stride <= 3; stride++) {
        convolution(3, 4, 17, kernel, stride, kernel / 2, last);
        convolution(70, RM_NR + 3, 9, kernel, stride, 1, last);
        convolution(1, 1, 40, kernel, stride, 0, last);
      }
  static const char *const all[] = {"one row, terms of B",
                                    "one row, lines of B",
                                    "one row, strides of B",
                                    "rows, terms of B",
                                    "rows, lines of B",
                                    "rows, strides of B",
                                    "norms",
                                    "weights of terms",
                                    "chains of double-double",
                                    "joins of double-double",
                                    "double-double products again",
                                    "what they lose",
                                    "convolutions",
                                    "gradients of images",
                                    "gradients of kernels",
                                    "tiles, what is undecided"};
  int bad = 0;
  for (size_t i = 0; i < sizeof all / sizeof *all - (RM_LANES != 8); i++) bad |= told(record_of(all[i]));
  return bad;
}
