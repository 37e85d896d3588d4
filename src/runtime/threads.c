/* The number of threads, and a test whether the system refuses a thread: OpenMP's runtime would end the process. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "threads.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#if defined(_WIN32)
#include <windows.h>
#else
#include <unistd.h>
#endif
#if defined(__linux__)
#include <sched.h>
#endif
#if defined(_OPENMP)
#include <omp.h>
#endif

#include "../../include/repmath/core.h"
#include "env.h"

static atomic_int threads_set; /* 0: not yet decided */
static atomic_int forked_child;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

#if defined(_WIN32) /* no process is forked there */
static void watch_fork(void) {}
#else
static void in_child(void) { atomic_store(&forked_child, 1); }
static void watch_fork(void) { pthread_atfork(NULL, NULL, in_child); }
#endif

/* Returns the positive number at the start of the variable, else 0. */
static int from_environment(const char *name) {
  const char *text = getenv(name);
  long n = text ? strtol(text, NULL, 10) : 0;
  return n > 0 && n <= 4096 ? (int)n : 0;
}

/* Of those that the process may use, where the system says which. */
static int cpus_of_process(void) {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
#endif
#if defined(_WIN32)
  DWORD_PTR process, machine;
  int n = 0;
  if (GetProcessAffinityMask(GetCurrentProcess(), &process, &machine))
    for (; process; process &= process - 1) n++;
#else
  const long n = sysconf(_SC_NPROCESSORS_ONLN);
#endif
  return n < 1 ? 1 : n > 4096 ? 4096 : (int)n;
}

int rm_get_num_threads(void) {
  int n = atomic_load(&threads_set);
  if (n == 0) {
    n = from_environment("REPMATH_NUM_THREADS");
    if (n == 0) n = from_environment("OMP_NUM_THREADS");
    if (n == 0) n = cpus_of_process();
    atomic_store(&threads_set, n);
  }
  return n;
}

rm_status rm_set_num_threads(int n) {
  if (n < 1 || n > 4096) return RM_STATUS(RM_ERR_SIZE, 1);
  atomic_store(&threads_set, n);
  return RM_OK;
}

#if defined(_OPENMP)
/* OpenMP's runtime ends the process where the system refuses it a thread. So before the first region of n threads that a
 * thread enters, as many others are created and end again; each waits for the thread that asks, so that they exist at once.
 * The runtime keeps a pool for each thread that enters regions: threads that it ends and creates again have existed
 * before. */
static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;
static void *wait_for_all(void *unused) {
  pthread_mutex_lock(&asking);
  pthread_mutex_unlock(&asking);
  return unused;
}
static int can_have(int n) {
  static _Thread_local int had = 1;
  if (n <= had) return 1;
  pthread_t *threads = malloc((size_t)n * sizeof *threads);
  if (!threads) return 0;
  int made = 0;
  pthread_mutex_lock(&asking);
#if !defined(_WIN32) /* where signals go to no thread */
  sigset_t all, before;
  sigfillset(&all); /* the caller's handlers run in none of them */
  pthread_sigmask(SIG_SETMASK, &all, &before);
#endif
  while (made < n - 1 && pthread_create(threads + made, NULL, wait_for_all, NULL) == 0) made++;
#if !defined(_WIN32)
  pthread_sigmask(SIG_SETMASK, &before, NULL);
#endif
  pthread_mutex_unlock(&asking);
  for (int i = 0; i < made; i++) pthread_join(threads[i], NULL);
  free(threads);
  if (made == n - 1) had = n;
  return made == n - 1;
}
#endif

int rm_threads_for(int64_t chunks) {
#if defined(_OPENMP)
  if (chunks < 2) return 1;
  pthread_once(&fork_once, watch_fork);
  if (atomic_load(&forked_child) || omp_in_parallel()) return 1;
  int n = rm_get_num_threads();
  if (chunks < n) n = (int)chunks;
  return can_have(n) ? n : 1;
#else
  (void)chunks;
  (void)fork_once;
  (void)&forked_child;
  (void)watch_fork;
  return 1;
#endif
}

uint32_t rm_in_parts(int64_t n, int64_t grain, rm_part_fn *part, const void *context) {
  const int threads = n < 2 * grain ? 1 : rm_threads_for(n / grain);
  if (threads == 1) return n > 0 ? part(context, 0, n) : 0; /* entering a parallel region takes longer than a few elements */
  const int64_t unit = 64, units = (n + unit - 1) / unit;
  uint32_t flags = 0;
#if defined(_OPENMP)
#pragma omp parallel for num_threads(threads) schedule(static) reduction(| : flags)
#endif
  for (int t = 0; t < threads; t++) {
    const rm_env worker = rm_env_enter();
    const int64_t begin = units * t / threads * unit, end = units * (t + 1) / threads * unit;
    if (begin < end) flags |= part(context, begin, end < n ? end : n);
    rm_env_leave(worker, 0);
  }
  return flags;
}
