/* The number of threads changes no bit; a forked child computes after its parent used threads, and while they hold locks; two
 * threads at once do not disturb each other. */
#include <pthread.h>
#include <stdatomic.h>
#if !defined(_WIN32) /* no process is forked there */
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "check.h"

enum { N = 300000, M = 100, K = 300 };

struct results {
  double exp64[N];
  float exp32[N], sum, dot, c[M * M];
};
static double x64[N];
static float x32[N], y32[N];

/* One round of everything, from inputs that begin at `from`. */
static void compute(struct results *r, int from) {
  int64_t n = N - from;
  memset(r, 0, sizeof *r);
  rm_vexp_f64(n, x64 + from, 8, r->exp64, 8);
  rm_vexp_f32(n, x32 + from, 4, r->exp32, 4);
  rm_sum_f32(n, x32 + from, 4, &r->sum);
  rm_dot_f32(n, x32 + from, 4, y32 + from, 4, &r->dot);
  rm_matmul_f32(RM_ROW_MAJOR, RM_NO_TRANS, RM_NO_TRANS, M, M, K, x32 + from, K, y32 + from, M, NULL, r->c, M);
}

static struct results expected[2], mine[2];

static void *repeat(void *arg) {
  int which = *(int *)arg;
  int wrong = 0;
  for (int i = 0; i < 5; i++) {
    compute(&mine[which], which);
    wrong += memcmp(&mine[which], &expected[which], sizeof *expected) != 0;
  }
  *(int *)arg = wrong;
  return NULL;
}

/* Whether a short transform of 1, 0, 0 ... is all ones. */
static int transform(int64_t n) {
  static const float x[16] = {1.0f};
  float out[16];
  const ptrdiff_t stride = 8;
  if (rm_fft(RM_FORMAT_F32, RM_FFT_COMPLEX, -1, RM_FFT_SCALE_ONE, 1, &n, 1, x, &stride, out, &stride) != RM_OK) return 0;
  for (int i = 0; i < 2 * n; i++)
    if (out[i] != (float)(i % 2 == 0)) return 0;
  return 1;
}

/* Transforms all the time, so that it often has the lock of the plans. */
static atomic_int stop;
static void *transform_always(void *unused) {
  while (!atomic_load(&stop)) (void)transform(2);
  return unused;
}

int main(void) {
  require_isa();
  uint64_t state = 17;
  for (int i = 0; i < N; i++) {
    x64[i] = (double)(int64_t)next_random(&state) * 0x1p-58;
    x32[i] = (float)x64[i];
    y32[i] = (float)(int64_t)next_random(&state) * 0x1p-60f;
  }
  CHECK(rm_set_num_threads(1) == RM_OK);
  compute(&expected[0], 0);
  compute(&expected[1], 1);
  static const int counts[] = {2, 3, 8};
  for (int i = 0; i < 3; i++) {
    CHECK(rm_set_num_threads(counts[i]) == RM_OK && rm_get_num_threads() == counts[i]);
    compute(&mine[0], 0);
    CHECK(memcmp(&mine[0], &expected[0], sizeof *expected) == 0);
  }

#if !defined(_WIN32)
  pid_t child = fork();
  if (child == 0) {
    alarm(60); /* a lost thread pool shows as a hang */
    compute(&mine[0], 0);
    _exit(memcmp(&mine[0], &expected[0], sizeof *expected) != 0);
  }
  int status = -1;
  CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);

  pthread_t always;
  CHECK(pthread_create(&always, NULL, transform_always, NULL) == 0);
  int hanging = 0;
  for (int i = 0; i < 300 && !hanging; i++) {
    child = fork();
    if (child == 0) {
      alarm(20); /* a lock of a thread that the child has not shows as a hang */
      _exit(!transform(3));
    }
    hanging = child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  }
  CHECK(!hanging);
  atomic_store(&stop, 1);
  pthread_join(always, NULL);
#endif

  pthread_t threads[2];
  int which[2] = {0, 1};
  for (int i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], NULL, repeat, &which[i]) == 0);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  CHECK(which[0] == 0);
  CHECK(which[1] == 0);
  return finish();
}
