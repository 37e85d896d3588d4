/* The launchers of matrix products and convolutions against the CPU library, every byte of the output (device.h). */
#include <initializer_list>

#include "products.h"

/* Strides of an array of 2 + dims sizes, channels first or last. */
static void strides_of(ptrdiff_t *s, int dims, int64_t channels, const int64_t *spatial, ptrdiff_t size, bool last) {
  ptrdiff_t step = size * (last ? channels : 1);
  for (int j = dims - 1; j >= 0; j--) s[2 + j] = step, step *= spatial[j];
  s[1] = last ? size : step;
  s[0] = last ? step : step * channels;
}

/* Of one tap: channels of x of the second half that take back those of the first, by the same weights; channels last. */
static void cancel(int format, const rm_conv &conv, int low) {
  const int64_t k = conv.channels_in, half = k / 2, size = widths[format];
  make_cancelling(format, conv.in[0], conv.channels_out, k, low);
  for (int64_t o = 0; o < conv.channels_out; o++) {
    char *const w = cpu + ROOM + o * k * size;
    memcpy(w + half * size, w, static_cast<size_t>(half * size));
  }
  memcpy(gpu, cpu, sizeof gpu);
}

static void convolution(int format, int kind, int variant, const rm_conv &conv, int64_t elements = 4000, int low = 0) {
  int64_t out[3] = {0, 0, 0};
  ptrdiff_t sx[5], sw[5], sy[5];
  const ptrdiff_t s = widths[format];
  const bool last = variant & 1;
  rm_conv_output_size(&conv, out);
  strides_of(sx, conv.dims, conv.channels_in, conv.in, s, last);
  strides_of(sw, conv.dims, conv.channels_in / conv.groups, conv.kernel, s, last);
  strides_of(sy, conv.dims, conv.channels_out, out, s, last);
  auto run = [&](const char *name, auto on_cpu, auto on_gpu) {
    char what[96];
    snprintf(what, sizeof what, "%s format %d kind %d variant %d, %d dimensions, %d groups", name, format, kind, variant,
             conv.dims, static_cast<int>(conv.groups));
    fill_arrays(format, kind, elements);
    if (low) cancel(format, conv, low);
    auto call = [&](char *base, auto f, auto... stream) {
      base += variant & 2 ? 1 : 0;
      return f(base, base + ROOM, variant & 4 ? base + 2 * ROOM : nullptr, base + 3 * ROOM, stream...);
    };
    compare_memory(what, cpu, gpu, [&] { return call(cpu, on_cpu); }, [&] { return call(gpu, on_gpu); });
  };
  run(
      "forward",
      [&](char *x, char *w, char *b, char *y) { return rm_conv_forward(format, &conv, x, sx, w, sw, b, s, y, sy); },
      [&](char *x, char *w, char *b, char *y) {
        return rm_cuda_conv_forward(format, &conv, x, sx, w, sw, b, s, y, sy, nullptr);
      });
  run(
      "gradient of x",
      [&](char *g, char *w, char *b, char *x) { return rm_conv_grad_input(format, &conv, g, sy, w, sw, b, s, x, sx); },
      [&](char *g, char *w, char *b, char *x) {
        return rm_cuda_conv_grad_input(format, &conv, g, sy, w, sw, b, s, x, sx, nullptr);
      });
  run(
      "gradient of w",
      [&](char *x, char *g, char *, char *w) { return rm_conv_grad_weight(format, &conv, x, sx, g, sy, w, sw); },
      [&](char *x, char *g, char *, char *w) {
        return rm_cuda_conv_grad_weight(format, &conv, x, sx, g, sy, w, sw, nullptr);
      });
}

static void arguments() {
  const rm_conv conv = {1, 1, 1, 1, 1, {4}, {9}, {1}, {1}, {0}, {0}}, bad = {4, 1, 1, 1, 1, {4}, {2}, {1}, {1}, {0}, {0}};
  const ptrdiff_t s[] = {4, 4, 4};
  float x[4] = {1, 2, 3, 4}, y[4];
  check(rm_cuda_conv_forward(RM_FORMAT_F32, &conv, x, s, x, s, nullptr, 0, y, s, nullptr) == RM_OK, "an empty result");
  check(rm_cuda_conv_forward(RM_FORMAT_F32, &bad, x, s, x, s, nullptr, 0, y, s, nullptr) == RM_STATUS(RM_ERR_SIZE, 2),
        "dimensions");
  check(rm_cuda_conv_grad_weight(9, &conv, x, s, x, s, y, s, nullptr) == RM_STATUS(RM_ERR_ENUM, 1), "a format");
  check(rm_cuda_gemm(RM_FORMAT_F32, 7, RM_NO_TRANS, RM_NO_TRANS, 1, 1, 1, 1.0, x, 1, x, 1, 0.0, y, 1, nullptr) ==
            RM_STATUS(RM_ERR_ENUM, 2),
        "a layout");
  check(rm_cuda_matmul_batched(RM_FORMAT_F64, RM_FORMAT_F32, 1, 1, 1, 1, x, 0, 4, 4, x, 0, 4, 4, nullptr, 0, 0, y, 0, 4, 4,
                               nullptr) == RM_STATUS(RM_ERR_ENUM, 2),
        "a format of results");
#define BATCHED(format, batch, m, a, b, c) \
  rm_cuda_gemm_batched(format, batch, m, 1, 1, 2.0, a, 4, 4, 4, b, 4, 4, 4, 0.0, c, 4, 4, 4, nullptr)
  check(BATCHED(9, 1, 1, x, x, y) == RM_STATUS(RM_ERR_ENUM, 1) && BATCHED(2, -1, 1, x, x, y) == RM_STATUS(RM_ERR_SIZE, 2) &&
            BATCHED(2, 2, -1, x, x, y) == RM_STATUS(RM_ERR_SIZE, 3) &&
            BATCHED(2, 2, 1, nullptr, x, y) == RM_STATUS(RM_ERR_NULL, 7) &&
            BATCHED(2, 2, 1, x, nullptr, y) == RM_STATUS(RM_ERR_NULL, 11) &&
            BATCHED(2, 2, 1, x, x, nullptr) == RM_STATUS(RM_ERR_NULL, 16) &&
            BATCHED(2, 2, 1, x, x, x + 1) == RM_STATUS(RM_ERR_OVERLAP, 16),
        "arguments of a batch");
  check(BATCHED(2, 0, 1, nullptr, nullptr, nullptr) == RM_OK, "no batch");
  check(rm_cuda_matmul_strided_f32(0, 1, 1, nullptr, 4, 4, nullptr, 4, 4, nullptr, 0, nullptr, 4, 4, nullptr) == RM_OK,
        "no rows");
  check(rm_cuda_matmul_strided_f64(1, 1, -1, nullptr, 0, 0, nullptr, 0, 0, nullptr, 0, nullptr, 0, 0, nullptr) ==
            RM_STATUS(RM_ERR_SIZE, 3),
        "a size");
}

int main(int argc, char **) {
  if (rm_cuda_devices() == 0) {
    printf("skipped: no device\n");
    return 77;
  }
  arguments();
  static const int64_t shapes[][4] = {{1, 1, 1, 1},    {2, 3, 5, 0},    {1, 64, 64, 16},
                                      {2, 65, 17, 33}, {1, 9, 20, 700}, {3, 1, 70, 40}};
  int variant = 0;
  for (int format = 0; format < 4; format++)
    for (int kind = 0; kind < KINDS; kind++) {
      for (const int64_t *s : shapes) {
        variant = (variant + 7) % 32;
        batched(format, format, kind, variant, s[0], s[1], s[2], s[3]);
        if (format < 2) batched(format, RM_FORMAT_F32, kind, variant, s[0], s[1], s[2], s[3]);
      }
      gemm(format, kind, kind, 1.0, 1.0);
      gemm(format, kind, kind + 1, -2.5, 0.0);
      gemm(format, kind, kind + 2, kind % 2 ? 1e-300 : 0.0, kind % 3 ? 3.0 : 1e300);
      gemm_batched(format, kind, kind % 4, kind % 3 ? -0.75 : 0.0, kind % 2 ? 1.0 : 0.0, 7, kind % 5 ? 30 : 1, 20);
      gemm_batched(format, kind, kind % 4, kind % 3 ? 1.0 : 0.25, 0.0, 33, 9, kind % 4 * 13);
    }
  for (int64_t k : {64, 300}) {
    batched(RM_FORMAT_F32, RM_FORMAT_F32, WIDE, 0, 1, 40, 40, k, 27);
    batched(RM_FORMAT_F64, RM_FORMAT_F64, WIDE, 0, 1, 40, 40, k, 52);
  }
  const int step = argc > 1 ? 1 : 3; /* the host takes long for a tile */
  /* Tiles of 128 x 128 with each factor in either order (dense_async.h), and their ends. */
  for (int kind = 0; kind < KINDS; kind += step) {
    gemm(RM_FORMAT_F32, kind, kind % 8, 1.0, 0.0, 132, 136, kind % 3 * 4 + 33, 140);
    batched(RM_FORMAT_F32, RM_FORMAT_F32, kind, kind % 2 * 16 + kind % 4 / 2 * 2, 2, 68, 72, 20);
  }
  for (int variant = 0; variant < 8; variant += step) gemm(RM_FORMAT_F32, WIDE, variant, 1.0, 0.5, 70, 66, 290, 292);
  if (argc > 1) { /* a GPU */
    for (int variant = 0; variant < 4; variant++) gemm(RM_FORMAT_F32, FAR, 2 * variant, 1.0, 0.0, 400, 390, 600, 604);
    batched(RM_FORMAT_F32, RM_FORMAT_F32, WIDE, 16, 1, 300, 310, 290);
    batched(RM_FORMAT_BF16, RM_FORMAT_F32, FAR, 0, 1, 300, 310, 290);
    batched(RM_FORMAT_F64, RM_FORMAT_F64, WIDE, 0, 1, 200, 210, 220);
    for (int variant = 0; variant < 16; variant += 5) batched(RM_FORMAT_F64, RM_FORMAT_F64, FAR, variant, 1, 130, 140, 600);
  }
  static const rm_conv convolutions[] = {
      {1, 2, 3, 5, 1, {20}, {4}, {1}, {1}, {0}, {0}},
      {1, 1, 4, 4, 4, {17}, {3}, {2}, {3}, {3}, {2}},
      {2, 2, 3, 6, 1, {9, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
      {2, 1, 4, 6, 2, {11, 7}, {3, 2}, {2, 3}, {2, 1}, {2, 0}, {1, 1}},
      {3, 1, 2, 3, 1, {4, 5, 6}, {2, 3, 2}, {1, 2, 1}, {1, 1, 2}, {1, 1, 0}, {0, 1, 1}},
  };
  for (const rm_conv &conv : convolutions)
    for (int format = 0; format < 4; format++)
      for (int kind = 0; kind < KINDS; kind++) convolution(format, kind, variant++ % 8, conv);
  /* Several tiles with chains that end inside of them (conv_async.h), each operand in either order. */
  static const rm_conv large[] = {
      {2, 2, 35, 70, 1, {9, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
      {2, 1, 4, 140, 2, {21, 14}, {3, 2}, {2, 1}, {1, 2}, {1, 2}, {0, 1}},
  };
  const int kinds[] = {WIDE, FAR, INFINITE};
  for (const rm_conv &conv : large)
    for (int k = 0; k < 3; k++) convolution(RM_FORMAT_F32, kinds[k], (5 * k + (&conv == large)) % 6, conv, 26000);
  const rm_conv one_tap = {1, 1, 300, 40, 1, {50}, {1}, {1}, {1}, {0}, {0}};
  convolution(RM_FORMAT_F32, WIDE, 1, one_tap, 15000, 27);
  return checked();
}
