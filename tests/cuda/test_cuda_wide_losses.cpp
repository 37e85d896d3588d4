/* The launchers of binary cross entropy, Kullback-Leibler divergence and their gradients against the CPU library, every byte
 * of the output (device.h). */
#include "loss_samples.h"

/* Y: targets, between 0 and 1 or of any kind; P: weights of the positive class. */
static void unit_targets(const layout &l, int array) {
  rm_random_uniform(l.format, 9, static_cast<uint64_t>(l.k), 0, l.n, 0, 1, l.at(cpu, array), l.stride());
}
static void bce(const layout &l, int kind, int reduction) {
  const ptrdiff_t s = l.stride(), sp = l.k % 7 == 6 ? 0 : s; /* one pos_weight for all */
  fill_arrays(l, kind);
  if (l.k % 4) unit_targets(l, Y);
  char saved[sizeof cpu];
  memcpy(saved, cpu, sizeof cpu);
  snprintf(what, sizeof what, "bce_with_logits: format %d, kind %d, reduction %d, layout %d, n %d", l.format, kind, reduction,
           l.k, static_cast<int>(l.n));
  auto weight = [&](char *base) { return l.k % 3 == 1 ? nullptr : l.at(base, W); };
  auto positive = [&](char *base) { return l.k % 5 < 2 ? nullptr : l.at(base, P); };
  both([&](char *base, bool device) -> rm_status {
    return SIDE(device, bce_with_logits, l.format, reduction, l.n, l.at(base, X), s, l.at(base, Y), s, weight(base), s,
                positive(base), sp, l.out(base), s);
  });
  memcpy(cpu, saved, sizeof cpu);
  both([&](char *base, bool device) -> rm_status {
    return SIDE(device, bce_with_logits_backward, l.format, reduction, l.n, l.at(base, G), s, l.at(base, X), s, l.at(base, Y),
                s, weight(base), s, positive(base), sp, l.out(base), s);
  });
}
static void kl_div(const layout &l, int kind, int reduction, int log_target) {
  const ptrdiff_t s = l.stride();
  const int64_t count = l.n && l.k % 2 ? (l.n + 2) / 3 : l.n;
  fill_arrays(l, kind);
  if (!log_target && l.k % 4) unit_targets(l, Y);
  if (kind == SHORT && l.k % 3 == 0) /* terms that cancel: t - x is 1, -1, 0 in turn, of the same t */
    for (int64_t i = 0; i < l.n; i++) {
      const double t = static_cast<double>(i / 6) * (l.k % 2 ? 9000 : -3);
      put(l.at(cpu, Y) + i * s, l.format, t);
      put(l.at(cpu, X) + i * s, l.format, t + (i % 3 == 2 ? 0 : i % 3 ? 1 : -1) + (i == l.n - 1 && l.k % 2 ? 1 : 0));
    }
  char saved[sizeof cpu];
  memcpy(saved, cpu, sizeof cpu);
  snprintf(what, sizeof what, "kl_div, log_target %d: format %d, kind %d, reduction %d, layout %d, n %d", log_target,
           l.format, kind, reduction, l.k, static_cast<int>(l.n));
  both([&](char *base, bool device) -> rm_status {
    return SIDE(device, kl_div, l.format, reduction, log_target, count, l.n, l.at(base, X), s, l.at(base, Y), s, l.out(base),
                s);
  });
  memcpy(cpu, saved, sizeof cpu);
  both([&](char *base, bool device) -> rm_status {
    return SIDE(device, kl_div_backward, l.format, reduction, log_target, count, l.n, l.at(base, G), s, l.at(base, Y), s,
                l.out(base), s);
  });
}

/* Sums of -x, by y = 2, p = 1/2 or t = 1, that are a tie and hairs as large as the errors of two parts, where a big number
 * cancels. */
static void sums_beside_ties() {
  const int format = RM_FORMAT_F32, n = 8;
  for (int round = 0; round < 200; round++) {
    const double big = ldexp(1, 54 + static_cast<int>(random_word() % 14)), tie = odd_number(0x1p24, 0x1p25),
                 part = fmod(tie, 4096);
    clear();
    for (int i = 0; i < n; i++) {
      const double hair = big * 0x1p-106 * (random_word() * 0x1p-31 - 1);
      put(cpu + 4 * i, format, i == 0 ? big : i == 1 ? tie - part : i == 2 ? part : i == 7 ? -big : hair);
      put(cpu + Y * ROOM + 4 * i, format, 2);
      put(cpu + P * ROOM + 4 * i, format, 0.5);
      put(cpu + W * ROOM + 4 * i, format, 1);
    }
    snprintf(what, sizeof what, "a sum beside a tie");
    both([&](char *base, bool device) -> rm_status {
      return SIDE(device, bce_with_logits, format, RM_REDUCTION_SUM, n, base, 4, base + Y * ROOM, 4, nullptr, 0,
                  base + P * ROOM, 4, base + OUT * ROOM, 4);
    });
    both([&](char *base, bool device) -> rm_status {
      return SIDE(device, kl_div, format, RM_REDUCTION_SUM, 0, n, n, base, 4, base + W * ROOM, 4, base + OUT * ROOM, 4);
    });
  }
}

/* A tie but for logarithms below the tail, with factors of both signs. */
static void sums_beside_tails() {
  const int format = RM_FORMAT_F32, n = 3;
  const double x[] = {0x1p24, 0x1p14, 9000}, y[] = {0, 0, 1}, last[] = {-0.5, 0.5, -2};
  for (double third : last) {
    const double w[] = {1, 0x1p-14, third};
    clear();
    for (int i = 0; i < n; i++) {
      put(cpu + 4 * i, format, x[i]);
      put(cpu + Y * ROOM + 4 * i, format, y[i]);
      put(cpu + W * ROOM + 4 * i, format, w[i]);
    }
    snprintf(what, sizeof what, "a sum beside a tail");
    both([&](char *base, bool device) -> rm_status {
      return SIDE(device, bce_with_logits, format, RM_REDUCTION_SUM, n, base, 4, base + Y * ROOM, 4, base + W * ROOM, 4,
                  nullptr, 0, base + OUT * ROOM, 4);
    });
  }
}

/* A tie of the first two, but for e^t (t - x) far below, or beside logarithms that cancel. */
static void kl_div_beside_tails() {
  const int format = RM_FORMAT_F32;
  static const struct {
    int log_target, n;
    double x[7], t[7];
  } cases[] = {
      {1, 3, {1, 0x1p-24, 0}, {0, 0, -1e9}},
      {1, 3, {1, 0x1p-24, -1.5e9}, {0, 0, -1e9}},
      {1, 5, {1, 0x1p-24, -1e5, -3e5, 0}, {0, 0, -2e5, -2e5, -3e5}},
      {0, 7, {1, 0x1p-24, 0, 0, 0, 0, 0}, {1, 1, 2, 0.5, 0.5, 0.5, 0.5}},
  };
  for (const auto &c : cases) {
    clear();
    for (int i = 0; i < c.n; i++) {
      put(cpu + 4 * i, format, c.x[i]);
      put(cpu + Y * ROOM + 4 * i, format, c.t[i]);
    }
    snprintf(what, sizeof what, "kl_div beside a tail");
    both([&](char *base, bool device) -> rm_status {
      return SIDE(device, kl_div, format, RM_REDUCTION_SUM, c.log_target, c.n, c.n, base, 4, base + Y * ROOM, 4,
                  base + OUT * ROOM, 4);
    });
  }
}

static void dd_losses() {
  static const int64_t sizes[] = {0, 1, 6, 33, 300};
  for (int format = 0; format < 4; format++)
    for (int kind = 0; kind < ALL_KINDS; kind++)
      for (int reduction = 0; reduction < 3; reduction++)
        for (int k = 0; k < 4; k++) {
          const int64_t n = sizes[(k + kind + reduction) % (kind == EXTREME ? 4 : 5)];
          bce({format, n, k + 5 * kind + reduction}, kind, reduction);
          kl_div({format, n, k + 3 * kind + reduction}, kind, reduction, k % 2);
        }
  sums_beside_ties();
  sums_beside_tails();
  kl_div_beside_tails();
}

static void wide_refusals() {
  clear();
  memcpy(gpu, cpu, sizeof gpu);
  char *x = gpu, *y = gpu + Y * ROOM, *w = gpu + W * ROOM, *out = gpu + OUT * ROOM;
  SAME(bce_with_logits, 4, 0, 4, x, 8, y, 8, w, 8, nullptr, 8, out, 8);
  SAME(bce_with_logits, 3, 3, 4, x, 8, y, 8, w, 8, nullptr, 8, out, 8);
  SAME(bce_with_logits, 3, 0, -4, x, 8, y, 8, w, 8, nullptr, 8, out, 8);
  SAME(bce_with_logits, 3, 0, 4, nullptr, 8, y, 8, w, 8, nullptr, 8, out, 8);
  SAME(bce_with_logits, 3, 0, 4, x, 8, nullptr, 8, w, 8, nullptr, 8, out, 8);
  SAME(bce_with_logits, 3, 1, 4, x, 8, y, 8, w, 8, nullptr, 8, nullptr, 8);
  SAME(bce_with_logits, 3, 0, 4, x, 8, y, 8, w, 8, nullptr, 8, w, 16);
  SAME(bce_with_logits, 3, 0, 0, nullptr, 8, nullptr, 8, w, 8, nullptr, 8, nullptr, 8);
  SAME(bce_with_logits_backward, 3, 0, 4, nullptr, 8, x, 8, y, 8, w, 8, nullptr, 8, out, 8);
  SAME(bce_with_logits_backward, 3, 1, 4, out, 8, x, 8, y, 8, w, 8, nullptr, 8, out, 8);
  SAME(bce_with_logits_backward, 3, 0, 4, w, 8, x, 8, y, 8, w, 8, nullptr, 8, nullptr, 8);
  SAME(kl_div, 4, 0, 0, 4, 4, x, 8, y, 8, out, 8);
  SAME(kl_div, 3, 3, 0, 4, 4, x, 8, y, 8, out, 8);
  SAME(kl_div, 3, 0, 2, 4, 4, x, 8, y, 8, out, 8);
  SAME(kl_div, 3, 1, 0, 0, 4, x, 8, y, 8, out, 8);
  SAME(kl_div, 3, 1, 0, -1, 4, x, 8, y, 8, out, 8);
  SAME(kl_div, 3, 0, 0, 4, -4, x, 8, y, 8, out, 8);
  SAME(kl_div, 3, 0, 0, 4, 4, nullptr, 8, y, 8, out, 8);
  SAME(kl_div, 3, 0, 0, 4, 4, x, 8, y, 8, nullptr, 8);
  SAME(kl_div, 3, 0, 0, 4, 4, x, 8, y, 8, y, 4);
  SAME(kl_div_backward, 3, 0, 0, 4, 4, nullptr, 8, y, 8, out, 8);
  SAME(kl_div_backward, 3, 0, 0, 4, 4, x, 8, nullptr, 8, out, 8);
  SAME(kl_div_backward, 3, 0, 0, 4, 4, x, 8, y, 8, nullptr, 8);
  check(memcmp(cpu, gpu, sizeof gpu) == 0, "nothing is written");
}

int main() {
  dd_losses();
  wide_refusals();
  return checked();
}
