/* Operators of deep learning, optimiser steps and random numbers: a digest a case (digest.h). The operators have rows and
 * planes that end within a vector, and results that only balls or the accumulator decide: without one of those the program
 * fails.
 * Usage: digest_operators [shrink]   (shrink: a divisor of the number of random elements, for slow emulators) */
#include "check.h"
#include "digest.h"

enum { ROWS = 5, N = 37, LONG = 1100 }; /* LONG: beyond a block of the losses */

static const struct format {
  const char *name;
  int id, size, precision;
} formats[] = {{"bf16", RM_FORMAT_BF16, 2, 8}, {"f32", RM_FORMAT_F32, 4, 24}, {"f64", RM_FORMAT_F64, 8, 53}};
static const struct format *F;

static void ok(rm_status status, const char *what) {
  if (!status) return;
  fprintf(stderr, "%s, %s: status %d\n", what, F->name, (int)status);
  exit(3);
}

static double power(int e) { return as_f64((uint64_t)(1023 + e) << 52); }

/* Element i of p is v, truncated to bf16, rounded to f32. */
static void put(void *p, int64_t i, double v) {
  const float single = (float)v;
  uint32_t bits;
  memcpy(&bits, &single, 4);
  const rm_bf16 half = (rm_bf16)(bits >> 16);
  const void *from = F->size == 2 ? (const void *)&half : F->size == 4 ? (const void *)&single : (const void *)&v;
  memcpy((char *)p + i * F->size, from, (size_t)F->size);
}

/* An array of just this length, so that a sanitizer sees what lies beside it: numbers between -4 and 4, some a few binades
 * smaller. */
static void *numbers(int64_t n, uint64_t seed) {
  void *p = allocate(n * F->size);
  for (int64_t i = 0; i < n; i++) {
    const uint64_t w = next_random(&seed);
    put(p, i, ((double)(w >> 11) * 0x1p-53 - 0.5) * (w % 5 ? 8.0 : 0x1p-6));
  }
  return p;
}
static void *positive(int64_t n, uint64_t seed) {
  void *p = numbers(n, seed);
  for (int64_t i = 0; i < n; i++) ((unsigned char *)p)[i * F->size + F->size - 1] &= 0x7f; /* lowest byte first */
  return p;
}
static void *listed(int64_t n, const double *v) {
  void *p = allocate(n * F->size);
  for (int64_t i = 0; i < n; i++) put(p, i, v[i]);
  return p;
}
static void *blank(int64_t n) {
  void *p = allocate(n * F->size);
  memset(p, 0x55, (size_t)(n * F->size));
  return p;
}
static void show(const char *what, const char *set, const void *y, int64_t n) {
  print_digest(what, F->name, set, y, n, F->size);
}
static int64_t by_accumulator(void) {
  rm_reduction_stats stats;
  rm_get_reduction_stats(&stats);
  return (int64_t)stats.accumulator;
}
/* Since rm_reset_reduction_stats, the fast ways have left something open; but those of a control's smaller bounds may not. */
static void was_undecided(const char *what) {
  if (by_accumulator() > 0 || getenv("RM_TEST_CONTROL")) return;
  fprintf(stderr, "%s, %s: decided at once\n", what, F->name);
  exit(4);
}

static void rows_of_exponentials(void) {
  const ptrdiff_t s = F->size, row = N * s;
  const int f = F->id;
  void *x = numbers(ROWS * N, 1), *g = numbers(ROWS * N, 2), *y = blank(ROWS * N), *d = blank(ROWS * N), *t = blank(ROWS);
  ok(rm_softmax(f, ROWS, N, x, row, s, y, row, s), "softmax");
  show("softmax", "rows", y, ROWS * N);
  ok(rm_softmax_backward(f, ROWS, N, g, row, s, y, row, s, d, row, s), "softmax_backward");
  show("softmax_backward", "rows", d, ROWS * N);
  ok(rm_softmax(f, N, ROWS, x, s, row, d, s, row), "softmax");
  show("softmax", "columns", d, ROWS * N);
  ok(rm_log_softmax(f, ROWS, N, x, row, s, y, row, s), "log_softmax");
  show("log_softmax", "rows", y, ROWS * N);
  ok(rm_log_softmax_backward(f, ROWS, N, g, row, s, y, row, s, d, row, s), "log_softmax_backward");
  show("log_softmax_backward", "rows", d, ROWS * N);
  ok(rm_logsumexp(f, ROWS, N, x, row, s, t, s), "logsumexp");
  show("logsumexp", "rows", t, ROWS);

  /* 1 - (B + 2), a tie for B = 2^precision, and an exponential beside it, of which the sign is enough. */
  const double beside[2] = {1.0, power(F->precision) + 2.0};
  void *h = listed(2, beside), *r = blank(2);
  ok(rm_log_softmax(f, 1, 2, h, 2 * s, s, r, 2 * s, s), "log_softmax");
  show("log_softmax", "tie", r, 2);
  free(h), free(r), free(x), free(g), free(y), free(d), free(t);
}

static void cross_entropies(void) {
  static const char *const sets[] = {"none", "mean", "sum"};
  static const int64_t target[ROWS] = {3, 0, -100, 36, 12};
  const ptrdiff_t s = F->size, row = N * s;
  const int f = F->id;
  void *x = numbers(ROWS * N, 3), *p = positive(ROWS * N, 4), *w = positive(N, 5), *g = numbers(ROWS, 6);
  void *y = blank(ROWS), *d = blank(ROWS * N);
  for (int reduction = RM_REDUCTION_NONE; reduction <= RM_REDUCTION_SUM; reduction++) {
    const int64_t results = reduction == RM_REDUCTION_NONE ? ROWS : 1;
    rm_cross_entropy_problem problem = {ROWS, N, x, row, s, target, 8, NULL, row, s, w, s, -100, 0.0, reduction};
    for (int which = 0; which < 2; which++) { /* classes, probabilities */
      if (which) problem.target = NULL, problem.probability = p, problem.label_smoothing = 0.1;
      ok(rm_cross_entropy(f, &problem, y, s), "cross_entropy");
      show(which ? "cross_entropy_soft" : "cross_entropy", sets[reduction], y, results);
      ok(rm_cross_entropy_backward(f, &problem, g, s, d, row, s), "cross_entropy_backward");
      show(which ? "cross_entropy_soft_backward" : "cross_entropy_backward", sets[reduction], d, ROWS * N);
    }
    problem.target = target, problem.probability = NULL;
    ok(rm_nll_loss(f, &problem, y, s), "nll_loss");
    show("nll_loss", sets[reduction], y, results);
    ok(rm_nll_loss_backward(f, &problem, g, s, d, row, s), "nll_loss_backward");
    show("nll_loss_backward", sets[reduction], d, ROWS * N);
  }
  const double big = power(F->precision), logits[2] = {1.0, big + 2.0}, terms[3] = {big, 1.0, 0x1p-120};
  const int64_t first[3] = {0, 0, 0};
  void *h = listed(2, logits), *t = listed(3, terms);
  const rm_cross_entropy_problem one = {1, 2, h, 2 * s, s, first, 8, NULL, 0, 0, NULL, 0, -100, 0.0, RM_REDUCTION_SUM};
  rm_reset_reduction_stats();
  ok(rm_cross_entropy(f, &one, y, s), "cross_entropy");
  was_undecided("cross_entropy");
  show("cross_entropy", "tie", y, 1);
  const rm_cross_entropy_problem three = {3, 1, t, s, s, first, 8, NULL, 0, 0, NULL, 0, -100, 0.0, RM_REDUCTION_SUM};
  rm_reset_reduction_stats();
  ok(rm_nll_loss(f, &three, y, s), "nll_loss");
  was_undecided("nll_loss");
  show("nll_loss", "tie", y, 1);
  free(h), free(t), free(x), free(p), free(w), free(g), free(y), free(d);
}

static void normalize(const char *set, const rm_norm_sets *sets, int64_t n, const ptrdiff_t *sx, int64_t weights,
                      const ptrdiff_t *sw) {
  const int f = F->id;
  void *x = numbers(n, 7), *g = numbers(n, 8), *w = numbers(weights, 9), *b = numbers(weights, 10), *y = blank(n),
       *dw = blank(weights);
  ok(rm_normalize(f, sets, x, sx, w, sw, b, sw, NULL, NULL, NULL, NULL, 1e-5, y, sx), set);
  show("normalize", set, y, n);
  const int64_t count = sets->sets[0] * sets->sets[1];
  void *mean = blank(count), *root = blank(count);
  ok(rm_normalize_with_statistics(f, sets, x, sx, w, sw, b, sw, 1e-5, y, sx, sets->centered ? mean : NULL, root), set);
  if (sets->centered) show("normalize_with_statistics_mean", set, mean, count);
  show("normalize_with_statistics_root", set, root, count);
  free(mean), free(root);
  ok(rm_normalize_backward(f, sets, g, sx, x, sx, w, sw, NULL, NULL, NULL, NULL, 1e-5, y, sx), set);
  show("normalize_backward", set, y, n);
  ok(rm_normalize_backward_weight(f, sets, g, sx, x, sx, NULL, NULL, NULL, NULL, 1e-5, dw, sw), set);
  show("normalize_backward_weight", set, dw, weights);
  if (sets->sets[0] == 1) { /* batch norm: also with given statistics */
    void *m = numbers(weights, 11), *v = positive(weights, 12);
    ok(rm_normalize(f, sets, x, sx, w, sw, b, sw, m, sw, v, sw, 1e-5, y, sx), set);
    show("normalize_given", set, y, n);
    ok(rm_normalize_backward(f, sets, g, sx, x, sx, w, sw, m, sw, v, sw, 1e-5, y, sx), set);
    show("normalize_given_backward", set, y, n);
    ok(rm_normalize_backward_weight(f, sets, g, sx, x, sx, m, sw, v, sw, 1e-5, dw, sw), set);
    show("normalize_given_backward_weight", set, dw, weights);
    free(m), free(v);
  }
  free(x), free(g), free(w), free(b), free(y), free(dw);
}

static void norms(void) {
  const ptrdiff_t s = F->size;
  const ptrdiff_t rows[4] = {N * s, N * s, 0, s}, last[4] = {0, 0, 0, s};
  normalize("layer", &(rm_norm_sets){1, {ROWS, 1}, 1, N}, ROWS * N, rows, N, last);
  normalize("rms", &(rm_norm_sets){0, {ROWS, 1}, 1, N}, ROWS * N, rows, N, last);
  /* (2, 6, 7) in three groups of two channels; (4, 3, 7) */
  const ptrdiff_t groups[4] = {42 * s, 14 * s, 7 * s, s}, by_channel[4] = {0, 2 * s, s, 0};
  normalize("group", &(rm_norm_sets){1, {2, 3}, 2, 7}, 84, groups, 6, by_channel);
  const ptrdiff_t batch[4] = {0, 7 * s, 21 * s, s}, by_set[4] = {0, s, 0, 0};
  normalize("batch", &(rm_norm_sets){1, {1, 3}, 4, 7}, 84, batch, 3, by_set);
}

/* Functions of rows of binary32 alone. */
static void rows_of_f32(void) {
  static const struct {
    const char *set;
    int64_t rows, n;
  } cases[] = {{"odd", ROWS, N}, {"short", 24, 8}, {"long", 2, LONG}};
  if (F->id != RM_FORMAT_F32) return;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const int64_t rows = cases[i].rows, n = cases[i].n;
    float *v = numbers(rows * n, 21), *r = numbers(rows * n, 22), *g = numbers(rows, 23), *w = blank(rows * n),
          *y = blank(rows);
    ok(rm_weight_norm_f32(rows, n, v, g, w, y), cases[i].set);
    show("weight_norm", cases[i].set, w, rows * n);
    show("weight_norm_lengths", cases[i].set, y, rows);
    ok(rm_weight_norm_backward_f32(rows, n, r, v, g, w, y), cases[i].set);
    show("weight_norm_backward", cases[i].set, w, rows * n);
    ok(rm_norm_rows_f32(rows, n, v, y), cases[i].set);
    show("norm_rows", cases[i].set, y, rows);
    free(v), free(r), free(g), free(w), free(y);
  }
}

static void regression_losses(void) {
  static const struct {
    const char *name;
    int loss;
    double p;
  } cases[] = {
      {"mse", RM_LOSS_MSE, 0}, {"l1", RM_LOSS_L1, 0}, {"smooth_l1", RM_LOSS_SMOOTH_L1, 0.3}, {"huber", RM_LOSS_HUBER, 0.7}};
  static const char *const sets[] = {"none", "mean", "sum"};
  const ptrdiff_t s = F->size;
  const int f = F->id;
  void *x = numbers(LONG, 13), *y = numbers(LONG, 14), *g = numbers(LONG, 15), *w = positive(LONG, 16),
       *p = positive(LONG, 17);
  void *out = blank(LONG);
  char name[64];
  for (int reduction = RM_REDUCTION_NONE; reduction <= RM_REDUCTION_SUM; reduction++) {
    const int64_t results = reduction == RM_REDUCTION_NONE ? LONG : 1;
    for (int c = 0; c < 4; c++) {
      ok(rm_regression_loss(cases[c].loss, cases[c].p, f, reduction, LONG, x, s, y, s, out, s), cases[c].name);
      show(cases[c].name, sets[reduction], out, results);
      ok(rm_regression_loss_backward(cases[c].loss, cases[c].p, f, reduction, LONG, g, s, x, s, y, s, out, s), cases[c].name);
      snprintf(name, sizeof name, "%s_backward", cases[c].name);
      show(name, sets[reduction], out, LONG);
    }
    const int64_t n = 3 * N;
    ok(rm_bce_with_logits(f, reduction, n, x, s, w, s, NULL, 0, p, s, out, s), "bce");
    show("bce_with_logits", sets[reduction], out, reduction == RM_REDUCTION_NONE ? n : 1);
    ok(rm_bce_with_logits_backward(f, reduction, n, g, s, x, s, w, s, p, s, NULL, 0, out, s), "bce_backward");
    show("bce_with_logits_backward", sets[reduction], out, n);
    for (int log_target = 0; log_target < 2; log_target++) {
      ok(rm_kl_div(f, reduction, log_target, n, n, x, s, w, s, out, s), "kl_div");
      show(log_target ? "kl_div_log_target" : "kl_div", sets[reduction], out, reduction == RM_REDUCTION_NONE ? n : 1);
      ok(rm_kl_div_backward(f, reduction, log_target, n, n, g, s, w, s, out, s), "kl_div_backward");
      show(log_target ? "kl_div_log_target_backward" : "kl_div_backward", sets[reduction], out, n);
    }
  }
  /* A tie, 2^precision + 1, and 2^-120 beside it; a weight of 1 + 2^(1 - precision) that makes 192 a tie, and e^-192 beside
   * it. */
  const double terms[3] = {power(F->precision), 1.0, 0x1p-120}, nothing[3] = {0, 0, 0}, logit = 192.0,
               weight = 1.0 + power(1 - F->precision);
  void *t = listed(3, terms), *o = listed(3, nothing), *h = listed(1, &logit), *v = listed(1, &weight);
  rm_reset_reduction_stats();
  ok(rm_regression_loss(RM_LOSS_L1, 0, f, RM_REDUCTION_SUM, 3, t, s, o, s, out, s), "l1");
  was_undecided("l1");
  show("l1", "tie", out, 1);
  rm_reset_reduction_stats();
  ok(rm_bce_with_logits(f, RM_REDUCTION_NONE, 1, h, s, o, s, v, s, NULL, 0, out, s), "bce");
  was_undecided("bce");
  show("bce_with_logits", "tie", out, 1);
  free(t), free(o), free(h), free(v), free(x), free(y), free(g), free(w), free(p), free(out);
}

static void pool(void) {
  const ptrdiff_t s = F->size;
  const int f = F->id;
  for (int adaptive = 0; adaptive < 2; adaptive++) {
    const rm_pool p = {2, adaptive, 2, 2, {7, 9}, {4, 5}, {3, 2}, {2, 2}, {1, 1}, {1, 1}};
    const ptrdiff_t sx[] = {126 * s, 63 * s, 9 * s, s}, sy[] = {40 * s, 20 * s, 5 * s, s}, si[] = {320, 160, 40, 8};
    const char *set = adaptive ? "adaptive" : "windows";
    void *x = numbers(252, 18), *g = numbers(80, 19), *y = blank(80), *gx = blank(252);
    int64_t *index = allocate(80 * 8);
    ok(rm_max_pool(f, &p, x, sx, y, sy, index, si), "max_pool");
    show("max_pool", set, y, 80);
    print_digest("max_pool_index", F->name, set, index, 80, 8);
    ok(rm_avg_pool(f, &p, 1, 0, x, sx, y, sy), "avg_pool");
    show("avg_pool", set, y, 80);
    ok(rm_avg_pool_backward(f, &p, 0, 0, g, sy, gx, sx), "avg_pool_backward");
    show("avg_pool_backward", set, gx, 252);
    free(x), free(g), free(y), free(gx), free(index);
  }
  const rm_pool line = {1, 0, 1, 1, {3}, {1}, {3}, {1}, {1}, {0}};
  const ptrdiff_t three[] = {3 * s, 3 * s, s}, one[] = {s, s, s};
  const double terms[3] = {power(F->precision), 1.0, 0x1p-120};
  void *t = listed(3, terms), *y = blank(1);
  rm_reset_reduction_stats();
  ok(rm_avg_pool(f, &line, 1, 1, t, three, y, one), "avg_pool");
  was_undecided("avg_pool");
  show("avg_pool", "tie", y, 1);
  free(t), free(y);
}

static void optimizers(void) {
  static const rm_sgd_options sgd[] = {
      {0.1, 0, 0, 0.01, 0, 0, 0}, {0.01, 0.9, 0.1, 0, 0, 1, 0}, {0.01, 0.9, 0, 0.1, 1, 0, 0}};
  static const rm_adam_options adam[] = {{1e-3, 0.9, 0.999, 1e-8, 0.01, 3, 0, 0}, {1e-2, 0.8, 0.99, 1e-6, 0.1, 1, 1, 1}};
  static const char *const sets[] = {"0", "1", "2"};
  const ptrdiff_t s = F->size;
  const int f = F->id;
  for (int c = 0; c < 5; c++) {
    void *p = numbers(N, 20), *g = numbers(N, 21), *m = numbers(N, 22), *v = positive(N, 23), *w = positive(N, 24);
    const int a = c - 3;
    ok(c < 3 ? rm_sgd_step(f, N, p, g, sgd[c].momentum > 0 ? m : NULL, &sgd[c])
             : rm_adam_step(f, N, p, g, m, v, a ? NULL : w, &adam[a]),
       "step");
    show(c < 3 ? "sgd_p" : "adam_p", sets[c < 3 ? c : a], p, N);
    show(c < 3 ? "sgd_m" : "adam_m", sets[c < 3 ? c : a], m, N);
    if (c >= 3) show("adam_v", sets[a], v, N), show("adam_w", sets[a], w, N);
    free(p), free(g), free(m), free(v), free(w);
  }
  /* After very many steps: beside a tie by less than any precision of the fast ways. */
  const rm_adam_options late = {0.5, 0.5, 0.5, 0, 0, 45000, 0, 0};
  const double at[4] = {1.5, 0.0, 4.0 * power(1 - F->precision), 8.0};
  void *p = listed(1, at), *g = listed(1, at + 1), *m = listed(1, at + 2), *v = listed(1, at + 3);
  ok(rm_adam_step(f, 1, p, g, m, v, NULL, &late), "adam");
  show("adam_p", "tie", p, 1);
  free(p), free(g), free(m), free(v);

  void *x = numbers(N, 25);
  double root;
  rm_accumulator *acc = rm_accumulator_new();
  if (!acc) exit(2);
  ok(F->size == 2   ? rm_accumulator_add_products_bf16(acc, N, x, s, x, s)
     : F->size == 4 ? rm_accumulator_add_products_f32(acc, N, x, s, x, s)
                    : rm_accumulator_add_products_f64(acc, N, x, s, x, s),
     "squares");
  ok(rm_root_of_total(acc, &root), "root_of_total");
  print_digest("root_of_total", F->name, "n", &root, 1, 8);
  ok(rm_clip_to_norm(f, N, x, acc, 1.7), "clip_to_norm");
  show("clip_to_norm", "n", x, N);
  rm_accumulator_free(acc);
  free(x);
}

/* Each formula, of N elements. */
static void formulas(void) {
  static const char *const sets[] = {"scaled",     "over",       "under",    "added", "plus",
                                     "between",    "product",    "quotient", "tanh",  "sigmoid",
                                     "max_scalar", "min_scalar", "max",      "min",   "gate"};
  void *x = numbers(N, 31), *y = numbers(N, 32), *z = positive(N, 33);
  for (int i = 0; i < 15; i++) {
    void *out = blank(N);
    ok(rm_formula(i, F->id, N, 0.3, x, y, z, out), "formula");
    show("formula", sets[i], out, N);
    free(out);
  }
  free(x), free(y), free(z);
}

/* Rows of two halves; formats below binary64. */
static void gates(void) {
  if (F->id == RM_FORMAT_F64) return;
  void *x = numbers(2 * N, 61), *g = numbers(N, 62), *out = blank(2 * N);
  ok(rm_glu(F->id, 1, N, x, out), "glu");
  show("glu", "rows", out, N);
  ok(rm_glu_gradient(F->id, 1, N, g, x, out), "glu_gradient");
  show("glu_gradient", "rows", out, 2 * N);
  ok(rm_glu_gradient(F->id, N, 1, g, x, out), "glu_gradient");
  show("glu_gradient", "pairs", out, 2 * N);
  free(x), free(g), free(out);
}

/* Elements of the format, rounded to each one. */
static void conversions(void) {
  static const struct {
    const char *name;
    int id, size;
  } to[] = {{"f16", RM_FORMAT_F16, 2}, {"bf16", RM_FORMAT_BF16, 2}, {"f32", RM_FORMAT_F32, 4}, {"f64", RM_FORMAT_F64, 8}};
  void *x = numbers(LONG, 34);
  for (int i = 0; i < 4; i++) {
    void *out = allocate(LONG * to[i].size);
    ok(rm_convert(F->id, to[i].id, LONG, x, out), "convert");
    print_digest("convert", F->name, to[i].name, out, LONG, to[i].size);
    free(out);
  }
  free(x);
}

/* Fourier transforms whose passes transpose, interleave less than a vector or are convolutions; one, and some with a lane
 * each, whose elements or whose neighbours lie beside each other. */
static void transforms(void) {
  static const int64_t lengths[] = {3, 60, 64, 134, 243, 343, 1009, 2048};
  if (F->size == 2) return;
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
    for (int way = 0; way < 3; way++) {
      const int64_t n = lengths[i], many = way ? 9 : 1, size[2] = {many, n};
      const ptrdiff_t one = 2 * F->size, row = way == 2 ? one : n * one, stride[2] = {row, way == 2 ? many * one : one};
      void *x = numbers(2 * many * n, (uint64_t)n + 77), *y = blank(2 * many * n);
      char set[32];
      ok(rm_fft(F->id, RM_FFT_COMPLEX, way == 1 ? 1 : -1, RM_FFT_SCALE_N, 2, size, 1, x, stride, y, stride), "fft");
      (void)snprintf(set, sizeof set, "%dx%d_%s", (int)many, (int)n, way == 2 ? "columns" : "rows");
      show("fft", set, y, 2 * many * n);
      free(x);
      free(y);
    }
}

/* Every distribution, and dropout, of elements that begin within a block. */
static void random_numbers(int64_t shrink) {
  static const struct {
    const char *name;
    int size;
  } all[] = {{"f16", 2}, {"bf16", 2}, {"f32", 4}, {"f64", 8}};
  const uint64_t seed = UINT64_C(0x9e3779b97f4a7c15), stream = UINT64_C(0x100000003);
  const int64_t n = 100000 / shrink, first = 1003;
  double *x = allocate(n * 8), *y = allocate(n * 8);
  for (int fmt = 0; fmt < 4; fmt++) {
    const int size = all[fmt].size;
    for (int which = 0; which < 7; which++) {
      static const char *const sets[] = {"unit", "range", "normal", "scaled", "dropout", "halves", "truncated"};
      const rm_status status =
          which > 5   ? rm_random_truncated_normal(fmt, seed, stream, first, n, 0.1, 0.7, -0.5, 2, y, size)
          : which < 2 ? rm_random_uniform(fmt, seed, stream, first, n, which ? -0.3 : 0, which ? 0.7 : 1, x, size)
          : which < 4 ? rm_random_normal(fmt, seed, stream, first, n, which > 2 ? 0.7 : 0, which > 2 ? 0.02 : 1, x, size)
                      : rm_dropout(fmt, seed, stream, first, n, which > 4 ? 0.5 : 0.1, x, size, y, size);
      if (status) exit(3);
      print_digest("random", all[fmt].name, sets[which], which < 4 ? x : y, n, size);
    }
  }
  uint32_t block[4];
  rm_random_block(seed, stream, 1003, block);
  print_digest("random", "block", "1003", block, 4, 4);
  if (rm_random_words32(seed, stream, first, n, (uint32_t *)(void *)x, 4)) exit(3);
  print_digest("random", "words", "32", x, n, 4);
  if (rm_random_words64(seed, stream, first, n, (uint64_t *)(void *)x, 8)) exit(3);
  print_digest("random", "words", "64", x, n, 8);
  if (rm_random_bernoulli(seed, stream, first, n, 0.3, (uint8_t *)(void *)x, 2)) exit(3);
  for (int64_t i = 0; i < n; i++) ((unsigned char *)x)[2 * i + 1] = 0;
  print_digest("random", "trials", "0.3", x, n, 2);
  if (rm_random_integers(seed, stream, first, n, -5, 99, (int64_t *)(void *)x, 8)) exit(3);
  print_digest("random", "integers", "small", x, n, 8);
  if (rm_random_integers(seed, stream, first, n, -1, INT64_MAX, (int64_t *)(void *)x, 8)) exit(3);
  print_digest("random", "integers", "large", x, n, 8);
  if (rm_random_permutation(seed, stream, first, n, (int64_t *)(void *)x, 8)) exit(3);
  print_digest("random", "permutation", "n", x, n, 8);
  free(x);
  free(y);
}

int main(int argc, char **argv) {
  const int64_t shrink = argc > 1 ? atoi(argv[1]) : 1;
  if (shrink < 1 || !rm_isa()) return 2;
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    F = &formats[i];
    rows_of_exponentials();
    cross_entropies();
    norms();
    rows_of_f32();
    regression_losses();
    pool();
    optimizers();
    formulas();
    gates();
    conversions();
    transforms();
  }
  random_numbers(shrink);
  return 0;
}
