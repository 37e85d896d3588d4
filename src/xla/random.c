/* Random numbers: the position in the streams is an array (..., 3, 2) of uint32, the halves (low, high) of the seed, the
 * stream and the first element. */
#include "call.h"

enum { WORDS32, UNIFORM, NORMAL, TRUNCATED_NORMAL, BERNOULLI, INTEGERS, PERMUTATION };

typedef struct {
  uint64_t seed, stream;
  int64_t first;
} place_t;

static place_t place_of(const XLA_FFI_Buffer *b, int64_t i) {
  const uint32_t *w = (const uint32_t *)b->data + 6 * i;
  return (place_t){w[0] | (uint64_t)w[1] << 32, w[2] | (uint64_t)w[3] << 32, (int64_t)(w[4] | (uint64_t)w[5] << 32)};
}

static rm_status fill(rm_call *call) {
  const int64_t kind = rm_xla_integer(call, "kind"), low = rm_xla_integer(call, "low"), last = rm_xla_integer(call, "last");
  const double a = rm_xla_real(call, "a"), b = rm_xla_real(call, "b"), least = rm_xla_real(call, "least");
  const double most = rm_xla_real(call, "most");
  const XLA_FFI_Buffer *place = rm_xla_argument(call, 0);
  XLA_FFI_Buffer *result = rm_xla_result(call, 0);
  if (call->missing) { return RM_ERR_ENUM; }
  const int64_t stack = rm_xla_count(place, 0, place->rank - 2), total = rm_xla_size(result), n = stack ? total / stack : 0;
  const int whole = kind == INTEGERS || kind == PERMUTATION, narrow = whole && result->dtype != XLA_FFI_DataType_S64;
  const int format = rm_xla_format(result);
  const ptrdiff_t size = whole ? 8 : kind == BERNOULLI ? 1 : kind == WORDS32 ? 4 : rm_xla_bytes(format);
  char *out = narrow ? rm_xla_scratch(call, 8 * total) : result->data;
  if (!out && total) { return RM_ERR_MEMORY; }
  rm_status status = RM_OK;
  for (int64_t i = 0; i < stack && status == RM_OK; i++) {
    const place_t p = place_of(place, i);
    void *to = out + i * n * size;
    switch (kind) {
      case WORDS32: status = rm_random_words32(p.seed, p.stream, p.first, n, to, size); break;
      case UNIFORM: status = rm_random_uniform(format, p.seed, p.stream, p.first, n, a, b, to, size); break;
      case NORMAL: status = rm_random_normal(format, p.seed, p.stream, p.first, n, a, b, to, size); break;
      case TRUNCATED_NORMAL:
        status = rm_random_truncated_normal(format, p.seed, p.stream, p.first, n, a, b, least, most, to, size);
        break;
      case BERNOULLI: status = rm_random_bernoulli(p.seed, p.stream, p.first, n, a, to, size); break;
      case INTEGERS: status = rm_random_integers(p.seed, p.stream, p.first, n, low, last, to, size); break;
      case PERMUTATION: status = rm_random_permutation(p.seed, p.stream, p.first, n, to, size); break;
      default: return RM_ERR_ENUM;
    }
  }
  if (status == RM_OK && narrow) { rm_xla_put_integers((const int64_t *)(const void *)out, result); }
  return rm_status_code(status) == RM_ERR_RANGE ? RM_STATUS(RM_ERR_RANGE, 1) : status;
}

/* x (...), place (..., 3, 2) with the leading axes of the stack. */
static rm_status dropout(rm_call *call) {
  const double p = rm_xla_real(call, "p");
  const XLA_FFI_Buffer *x = rm_xla_argument(call, 0), *place = rm_xla_argument(call, 1);
  XLA_FFI_Buffer *result = rm_xla_result(call, 0);
  if (call->missing) { return RM_ERR_ENUM; }
  const int format = rm_xla_format(x);
  const ptrdiff_t size = rm_xla_bytes(format);
  const int64_t stack = rm_xla_count(place, 0, place->rank - 2), n = stack ? rm_xla_size(x) / stack : 0;
  rm_status status = RM_OK;
  for (int64_t i = 0; i < stack && status == RM_OK; i++) {
    const place_t at = place_of(place, i);
    status = rm_dropout(format, at.seed, at.stream, at.first, n, p, (const char *)x->data + i * n * size, size,
                        (char *)result->data + i * n * size, size);
  }
  return rm_status_code(status) == RM_ERR_RANGE ? RM_STATUS(RM_ERR_RANGE, 1) : status;
}

static const char *const names[] = {"offset", NULL};
RM_XLA_HANDLER(rm_xla_random, fill, names)
RM_XLA_HANDLER(rm_xla_dropout, dropout, names)
