/* Threads over rows (parallel.h). */
#include "parallel.h"

#include <string.h>

#include "../../../crlibm/fp/round.h"
#include "../../../include/repmath/rounding.h"
#include "../../common/aligned.h"
#include "../../runtime/env.h"
#include "../../runtime/threads.h"

enum { ELEMENTS_PER_THREAD = 1 << 14 };

static rm_row_state state_of(const struct rm_nn_kernels *kernels, char *memory, size_t pitch, int buffers) {
  double *const work = (double *)memory;
  return (rm_row_state){.k = kernels,
                        .work = work,
                        .undecided = (int64_t *)(work + pitch * (size_t)(buffers + 1)),
                        .pitch = pitch,
                        .buffers = buffers};
}

static void some_rows(int64_t begin, int64_t end, rm_row_fn *f, const void *operation, rm_row_state *state) {
  const rm_env env = rm_env_enter();
  state->flags = 0;
  state->tiers = (rm_tiers){0, 0, 0};
  for (int64_t row = begin; row < end; row++) {
    state->limbs = 0;
    f(operation, row, state);
  }
  rm_stats_add(state->tiers.fast, state->tiers.double_double, state->tiers.accumulator);
  rm_env_leave(env, 0);
}

rm_status rm_each_row(int64_t rows, int64_t n, int buffers, rm_row_fn *f, const void *operation) {
  const struct rm_nn_kernels *kernels = rm_nn_kernels();
  if (!kernels) return RM_ERR_ISA;
  if (rows == 0) return RM_OK;
  const int64_t limit = INT64_C(1) << 40;
  if (n > limit) return RM_ERR_MEMORY;
  const size_t pitch = ((size_t)n + 2 * RM_ROW_PAD - 1) / RM_ROW_PAD * RM_ROW_PAD;
  const int64_t pieces = n > ELEMENTS_PER_THREAD || rows > limit ? rows : rows * (n + 1) / ELEMENTS_PER_THREAD;
  int threads = pieces < 2 ? 1 : rm_threads_for(pieces < rows ? pieces : rows);
  const size_t bytes = pitch * ((size_t)(buffers + 1) * sizeof(double) + sizeof(int64_t));
  char *memory = rm_aligned_alloc(bytes * (size_t)threads);
  if (!memory) return RM_ERR_MEMORY;
  uint32_t flags = 0;
  int failure = 0;
  if (threads == 1) { /* entering a parallel region takes longer than a short row */
    rm_row_state state = state_of(kernels, memory, pitch, buffers);
    some_rows(0, rows, f, operation, &state);
    flags = state.flags, failure = state.failure;
  } else {
#if defined(_OPENMP)
#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(| : flags, failure)
#endif
    for (int t = 0; t < threads; t++) {
      rm_row_state state = state_of(kernels, memory + bytes * (size_t)t, pitch, buffers);
      some_rows(rows / threads * t + (t < rows % threads ? t : rows % threads),
                rows / threads * (t + 1) + (t + 1 < rows % threads ? t + 1 : rows % threads), f, operation, &state);
      flags |= state.flags, failure |= state.failure;
    }
  }
  rm_aligned_free(memory);
  rm_env_leave(rm_env_enter(), flags);
  return rm_row_status(failure);
}

static _Thread_local rm_ball_results asked;

void rm_balls_of_next(const rm_ball_results *results) { asked = *results; }

const rm_row_balls *rm_row_balls_asked(rm_row_balls *b, const void *origin) {
  const rm_ball_results a = asked;
  asked = (rm_ball_results){.middle = NULL};
  *b = (rm_row_balls){a.middle, a.radius, a.mean, a.mean_radius, a.root, a.root_radius, origin, a.rounding, a.left, a.count};
  return a.middle ? b : NULL;
}

void rm_row_spread(const rm_row_state *s, int64_t from, const rm_row_array *out, int64_t row, int64_t n, int format) {
  const int size = rm_size_of(format);
  if (out->stride == size) return;
  const char *results = (const char *)rm_row_buffer(s, s->buffers) + from * size;
  char *to = rm_row_at(out, row);
  for (int64_t i = 0; i < n; i++) memcpy(to + i * out->stride, results + i * size, (size_t)size);
}
