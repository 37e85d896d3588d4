/* Allocations of the library under test that fail: the one of a given number and all after it. For LD_PRELOAD, glibc. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t alignment, size_t n);

static atomic_long left = -1, failed; /* allocations before the first that fails; -1: none does */

/* Arms the interposer, or with -1 disarms it; returns how many have failed since the last call. */
long rm_test_fail_after(long n) {
  const long before = atomic_exchange(&failed, 0);
  atomic_store(&left, n);
  return before;
}

static int fails(const void *caller) {
  Dl_info info;
  if (atomic_load(&left) < 0 || !dladdr(caller, &info) || !info.dli_fname || !strstr(info.dli_fname, "librepmath")) return 0;
  long n = atomic_load(&left);
  while (n > 0)
    if (atomic_compare_exchange_weak(&left, &n, n - 1)) return 0;
  atomic_fetch_add(&failed, 1);
  errno = ENOMEM;
  return 1;
}

void *malloc(size_t n) { return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(p, n); }
void *aligned_alloc(size_t alignment, size_t n) {
  return fails(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, n);
}
int posix_memalign(void **p, size_t alignment, size_t n) {
  if (fails(__builtin_return_address(0))) return ENOMEM;
  *p = __libc_memalign(alignment, n);
  return *p ? 0 : ENOMEM;
}
