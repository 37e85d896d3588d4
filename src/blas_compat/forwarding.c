/* Forwards the routines that are not computed here: each name jumps to the routine of that name in another library, which
 * REPMATH_BLAS names.
 *
 * A jump keeps every argument and result as the caller left it, whatever its type, which a C function could not. The other
 * library is looked for at the first call and not when this one is loaded: a program's own initialization may call a routine
 * before that of this library has run. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* Where each name jumps to: at first to a piece of code that looks for the other library. */
#define RM_PASS_ON(name)                                                          \
  extern __attribute__((visibility("hidden"))) const char rm_blas_first_##name[]; \
  __attribute__((visibility("hidden"))) const void *rm_blas_at_##name = rm_blas_first_##name;
#include "names.def"
#undef RM_PASS_ON

__attribute__((visibility("hidden"))) void rm_blas_find(void);

/* rm_blas_resolve calls rm_blas_find with all registers kept that may hold arguments. */
#if defined(__x86_64__)
#define RM_JUMP(slot) "jmp *" slot "(%rip)\n"
#define RM_RESOLVE "call rm_blas_resolve\n"
__asm__(".text\n.type rm_blas_resolve,%function\nrm_blas_resolve:\n"
        "push %rbp\nmov %rsp, %rbp\n"
        "push %rax\npush %rdi\npush %rsi\npush %rdx\npush %rcx\npush %r8\npush %r9\npush %r10\n"
        "and $-16, %rsp\nsub $128, %rsp\n"
        "movups %xmm0, (%rsp)\nmovups %xmm1, 16(%rsp)\nmovups %xmm2, 32(%rsp)\nmovups %xmm3, 48(%rsp)\n"
        "movups %xmm4, 64(%rsp)\nmovups %xmm5, 80(%rsp)\nmovups %xmm6, 96(%rsp)\nmovups %xmm7, 112(%rsp)\n"
        "call rm_blas_find\n"
        "movups (%rsp), %xmm0\nmovups 16(%rsp), %xmm1\nmovups 32(%rsp), %xmm2\nmovups 48(%rsp), %xmm3\n"
        "movups 64(%rsp), %xmm4\nmovups 80(%rsp), %xmm5\nmovups 96(%rsp), %xmm6\nmovups 112(%rsp), %xmm7\n"
        "lea -64(%rbp), %rsp\n"
        "pop %r10\npop %r9\npop %r8\npop %rcx\npop %rdx\npop %rsi\npop %rdi\npop %rax\npop %rbp\nret\n");
#elif defined(__aarch64__)
#define RM_JUMP(slot) "adrp x16, " slot "\nldr x16, [x16, :lo12:" slot "]\nbr x16\n"
#define RM_RESOLVE "stp x29, x30, [sp, -16]!\nbl rm_blas_resolve\nldp x29, x30, [sp], 16\n"
__asm__(".text\n.type rm_blas_resolve,%function\nrm_blas_resolve:\n"
        "stp x29, x30, [sp, -224]!\nmov x29, sp\n"
        "stp x0, x1, [sp, 16]\nstp x2, x3, [sp, 32]\nstp x4, x5, [sp, 48]\nstp x6, x7, [sp, 64]\nstr x8, [sp, 80]\n"
        "stp q0, q1, [sp, 96]\nstp q2, q3, [sp, 128]\nstp q4, q5, [sp, 160]\nstp q6, q7, [sp, 192]\n"
        "bl rm_blas_find\n"
        "ldp x0, x1, [sp, 16]\nldp x2, x3, [sp, 32]\nldp x4, x5, [sp, 48]\nldp x6, x7, [sp, 64]\nldr x8, [sp, 80]\n"
        "ldp q0, q1, [sp, 96]\nldp q2, q3, [sp, 128]\nldp q4, q5, [sp, 160]\nldp q6, q7, [sp, 192]\n"
        "ldp x29, x30, [sp], 224\nret\n");
#endif
#define RM_PASS_ON(name)                                                                                    \
  __asm__(".text\n.globl " #name "\n.type " #name ",%function\n" #name                                      \
          ":\n" RM_JUMP("rm_blas_at_" #name) ".hidden rm_blas_first_" #name "\n.globl rm_blas_first_" #name \
                                             "\nrm_blas_first_" #name ":\n" RM_RESOLVE RM_JUMP("rm_blas_at_" #name));
#include "names.def"
#undef RM_PASS_ON

/* The jumps themselves: a library that finds these under their names is this one again. */
#define RM_PASS_ON(name) extern const char rm_blas_jump_##name[] __asm__(#name);
#include "names.def"
#undef RM_PASS_ON

static const struct routine {
  const char *name;
  const void **at;
  const char *jump;
} routines[] = {
#define RM_PASS_ON(name) {#name, &rm_blas_at_##name, rm_blas_jump_##name},
#include "names.def"
#undef RM_PASS_ON
};

/* Where there is no such routine. A caller cannot be told: BLAS has no statuses. */
static void missing(void) {
  fprintf(
      stderr,
      "repmath_blas: a routine was called that it passes on; set REPMATH_BLAS to the path of a BLAS library that has it\n");
  exit(EXIT_FAILURE);
}

/* The library that is named; without a name one that is where distributions install them. */
static void *other_library(void) {
  const char *path = getenv("REPMATH_BLAS");
  if (path && *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) fprintf(stderr, "repmath_blas: REPMATH_BLAS=%s cannot be loaded: %s\n", path, dlerror());
    return library;
  }
  static const char *const usual[] = {
      "libopenblas.so.0",
      "libblis.so.4",
#if defined(__x86_64__)
      "/usr/lib/x86_64-linux-gnu/blas/libblas.so.3",
#elif defined(__aarch64__)
      "/usr/lib/aarch64-linux-gnu/blas/libblas.so.3",
#endif
      "/usr/lib64/libblas.so.3",
      "/usr/lib/libblas.so.3",
  };
  for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
    void *library = dlopen(usual[i], RTLD_NOW | RTLD_LOCAL);
    if (library && dlsym(library, routines[0].name) != (const void *)routines[0].jump) return library;
    if (library) dlclose(library);
  }
  return NULL;
}

static void find(void) {
  void *library = other_library();
  for (size_t i = 0; i < sizeof routines / sizeof *routines; i++) {
    const void *found = library ? dlsym(library, routines[i].name) : NULL;
    if (!found || found == (const void *)routines[i].jump) found = (const void *)missing;
    __atomic_store_n(routines[i].at, found, __ATOMIC_RELEASE);
  }
}

void rm_blas_find(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  static _Thread_local int finding;
  if (finding) missing(); /* the other library's initialization calls a routine of its own by a name that leads here */
  finding = 1;
  (void)pthread_once(&once, find);
  finding = 0;
}
