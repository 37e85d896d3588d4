/* REPMATH_ISA: an available build is the one that runs; an unknown or unavailable one is an error and writes nothing. Each
 * case runs in a child, because the choice is made once. */
#if defined(_WIN32)
#include <process.h>
#else
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "check.h"

static int case_usable(const char *name) {
  int bad = rm_isa_status() != RM_OK || !rm_isa() || strcmp(rm_isa(), name) != 0;
  double x = 0, y = 77;
  return bad || rm_vexp_f64(1, &x, 8, &y, 8) != RM_OK || y != 1;
}

static int case_unusable(const char *name) {
  (void)name;
  double x = 0, y = 77;
  float a = 0, b = 77;
  if (rm_isa_status() != RM_ERR_ISA || rm_isa() != NULL) return 1;
  if (rm_status_code(rm_vexp_f64(1, &x, 8, &y, 8)) != RM_ERR_ISA) return 2;
  if (rm_status_code(rm_sum_f32(1, &a, 4, &b)) != RM_ERR_ISA) return 3;
  if (rm_status_code(rm_dot_f32(1, &a, 4, &a, 4, &b)) != RM_ERR_ISA) return 4;
  if (rm_status_code(rm_matmul_f32(RM_ROW_MAJOR, RM_NO_TRANS, RM_NO_TRANS, 1, 1, 1, &a, 1, &a, 1, NULL, &b, 1)) != RM_ERR_ISA)
    return 5;
  return y != 77 || b != 77;
}

static int case_default(const char *name) {
  (void)name;
  return rm_isa_status() != RM_OK || !rm_isa() || !rm_isa_available(rm_isa());
}

#if defined(_WIN32)
/* No process is forked there: the program is started once more, with the number of the case. */
static int (*const cases[])(const char *) = {case_usable, case_unusable, case_default};
static const char *program;
static int in_child(int (*body)(const char *), const char *name) {
  char number[] = "0";
  while (cases[number[0] - '0'] != body) number[0]++;
  fflush(stdout);
  _putenv_s("REPMATH_ISA", name ? name : "");
  const intptr_t status = _spawnl(_P_WAIT, program, "test_isa", number, (char *)NULL);
  return (int)status;
}
#else
static int in_child(int (*body)(const char *), const char *name) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    if (name) setenv("REPMATH_ISA", name, 1);
    else unsetenv("REPMATH_ISA");
    _exit(body(name));
  }
  int status = -1;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}
#endif

int main(int argc, char **argv) {
#if defined(_WIN32)
  program = argv[0];
  if (argc > 1) return cases[argv[1][0] - '0'](getenv("REPMATH_ISA"));
#else
  (void)argc;
  (void)argv;
#endif
  static const char *const known[] = {"base", "avx2", "avx512", "avx512bf16", "amx", "neon"};
  CHECK(rm_isa_available("base"));
  for (int i = 0; i < (int)(sizeof known / sizeof *known); i++) {
    int here = rm_isa_available(known[i]);
    printf("%s: %s\n", known[i], here ? "available" : "not available");
    CHECK_FOR(in_child(here ? case_usable : case_unusable, known[i]) == 0, known[i]);
  }
  static const char *const unknown[] = {"sse9", "AVX2", "base ", "avx"};
  for (int i = 0; i < 4; i++) {
    CHECK_FOR(!rm_isa_available(unknown[i]), unknown[i]);
    CHECK_FOR(in_child(case_unusable, unknown[i]) == 0, unknown[i]);
  }
  CHECK(!rm_isa_available(NULL));
  CHECK(in_child(case_default, NULL) == 0);
  CHECK(in_child(case_default, "") == 0);
  return finish();
}
