/* The kernel table of the one build that a proof compiles, and what its rounding tests were given (watch.h). */
#include <stdlib.h>
#include <string.h>

#include "../../crlibm/config.h"
#include "../../include/repmath/core.h"
#include "../../src/runtime/kernels.h"
#include "../../src/nn/rows/kernels.h"
#include "../../src/random/kernels.h"
#include "watch.h"

extern const struct rm_reduce_kernels RM_ISA_SYMBOL(rm_reduce_table);
extern const struct rm_blas_kernels RM_ISA_SYMBOL(rm_blas_table);
extern const struct rm_nn_kernels RM_ISA_SYMBOL(rm_nn_table);
extern const struct rm_random_kernels RM_ISA_SYMBOL(rm_random_table);

const struct rm_kernels *rm_kernels_get(void) {
  static struct rm_kernels table;
  table.name = RM_ISA_NAME;
  table.reduce = &RM_ISA_SYMBOL(rm_reduce_table);
  table.blas = &RM_ISA_SYMBOL(rm_blas_table);
  table.nn = &RM_ISA_SYMBOL(rm_nn_table);
  table.random = &RM_ISA_SYMBOL(rm_random_table);
  return &table;
}
const char *rm_isa(void) { return RM_ISA_NAME; }

enum { ROOM = 1 << 20, SITES = 1 << 12 };
static struct exact_record records[ROOM];
static int64_t made;
static struct {
  const char *file;
  int line;
} sites[SITES];
static int32_t some = 1; /* 0 is none */
int exact_open, exact_shift;
int64_t exact_place;
const void *exact_at;
void exact_watch_of(int32_t *site, const char *file, int line, int kind, int decided, double hi, double lo, double err, double more) {
  if (!*site) {
    if (some == SITES) abort();
    sites[some].file = file, sites[some].line = line, *site = some++;
  }
  if (made < ROOM) records[made] = (struct exact_record){kind, decided, *site, exact_shift, hi, lo, err, more, exact_at};
  made++;
}
/* The file of a call that has made records, and its line; NULL: there are no more. */
const char *exact_site(int32_t site, int *line) {
  *line = site < some ? sites[site].line : 0;
  return site < some ? sites[site].file : NULL;
}
/* The records since the last call, and how many there are: more than `room` were lost. */
int64_t exact_take(struct exact_record *to, int64_t room) {
  const int64_t n = made;
  memcpy(to, records, (size_t)(n < room ? n : room) * sizeof *to);
  made = 0;
  return n;
}
