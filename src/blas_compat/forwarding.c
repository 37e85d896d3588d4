/* Forwards the routines that are not computed here: each name jumps to the routine of that name in the library that
 * REPMATH_BLAS names.
 *
 * A jump keeps every argument and result as the caller left it, whatever its type, which a C function could not. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* A caller cannot be told: BLAS has no statuses. */
static void missing(void) {
  fprintf(
      stderr,
      "repmath_blas: a routine was called that it passes on; set REPMATH_BLAS to the path of a BLAS library that has it\n");
  exit(EXIT_FAILURE);
}

#define RM_PASS_ON(name) __attribute__((visibility("hidden"))) void (*rm_blas_at_##name)(void) = missing;
#include "names.def"
#undef RM_PASS_ON

#if defined(__x86_64__)
#define RM_JUMP(slot) "jmp *" slot "(%rip)\n"
#elif defined(__aarch64__)
#define RM_JUMP(slot) "adrp x16, " slot "\nldr x16, [x16, :lo12:" slot "]\nbr x16\n"
#endif
#define RM_PASS_ON(name) \
  __asm__(".text\n.globl " #name "\n.type " #name ",%function\n" #name ":\n" RM_JUMP("rm_blas_at_" #name));
#include "names.def"
#undef RM_PASS_ON

/* The jumps themselves: a library that finds these under their names is this one again. */
#define RM_PASS_ON(name) extern const char rm_blas_jump_##name[] __asm__(#name);
#include "names.def"
#undef RM_PASS_ON

__attribute__((constructor)) static void find(void) {
  static const struct {
    const char *name;
    void (**at)(void);
    const char *jump;
  } routines[] = {
#define RM_PASS_ON(name) {#name, &rm_blas_at_##name, rm_blas_jump_##name},
#include "names.def"
#undef RM_PASS_ON
  };
  const char *path = getenv("REPMATH_BLAS");
  if (!path || !*path) return;
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "repmath_blas: REPMATH_BLAS=%s cannot be loaded: %s\n", path, dlerror());
    return;
  }
  for (size_t i = 0; i < sizeof routines / sizeof *routines; i++) {
    void *found = dlsym(library, routines[i].name);
    if (found && found != (const void *)routines[i].jump) *(void **)routines[i].at = found;
  }
}
