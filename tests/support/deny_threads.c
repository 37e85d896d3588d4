/* pthread_create as it is, or refused: for programs that load this first (LD_PRELOAD). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int allowed = 1 << 30, created;
void allow_threads(int n) { allowed = n; }
int threads_created(void) { return created; }

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
  int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
  if (atomic_fetch_sub(&allowed, 1) <= 0) return EAGAIN;
  atomic_fetch_add(&created, 1);
  return real(thread, attributes, start, argument);
}
